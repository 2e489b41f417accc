"""Stages 2 and 3 beside PyTorch, operation by operation: forward and backward on one thread.

Both sides get the same arrays and the same gradient of the result, and leave a new gradient in
every operand. Results and gradients are compared before anything is measured.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, where
from solutions.stage3_nn import functional as F
from solutions.stage3_nn.convolution import MaxPool2d, conv2d
from solutions.stage3_nn.losses import cross_entropy
from solutions.stage3_nn.normalisation import layer_norm

from .measure import Disagreement, alternate, settled
from .pytorch import load_torch, opponent, threads, threads_line
from .report import Row

PACKAGES = ("numpy", "torch", "threadpoolctl")

TOLERANCE = 1e-4  # of the largest element: float32, sums in another order


class Case(NamedTuple):
    """An operation: both sides map operands, made from the same arrays, to a result."""

    name: str
    operands: list[np.ndarray]
    ours: Callable
    theirs: Callable


def run(
    rows: int = 256, columns: int = 1024, images: int = 16, turns: int = 15, steps: int = 5
) -> Iterator[Row | str]:
    """Yield the rows of this benchmark, and lines that explain them."""
    torch = load_torch()
    yield opponent(torch)
    yield f"operations   forward and backward in float32, on {rows} x {columns} unless a shape is named"
    yield f"CPU time     median of {turns} turns, each the mean of {steps} steps; the sides alternate"
    yield threads_line("one for each side", torch)
    slowest = Row("", 0.0, 1.0, "ms")
    with threads(1, torch), settled():
        for case in cases(rows, columns, images, torch):
            sides = sides_of(case, torch)
            check(case.name, [side() for side in sides])
            seconds = [
                1e3 * s for s in alternate(sides, turns=turns, steps=steps, clock=time.process_time)
            ]
            row = Row(case.name, seconds[0], seconds[1] if torch else None, "ms")
            slowest = max(slowest, row, key=lambda row: row.ratio or 0.0)
            yield row
    if torch:
        yield f"the slowest, beside theirs: {slowest.name}, {slowest.ratio:.2f} times their time"


def cases(rows: int, columns: int, images: int, torch) -> Iterator[Case]:
    """Yield all operations. Theirs are looked up in torch only when they are called."""
    generator = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, np.float32)

    x, y, row = draw(rows, columns), draw(rows, columns), draw(columns)
    positive = np.exp(y)
    yield Case("add", [x, y], lambda x, y: x + y, lambda x, y: x + y)
    yield Case("add a row", [x, row], lambda x, y: x + y, lambda x, y: x + y)
    yield Case("mul", [x, y], lambda x, y: x * y, lambda x, y: x * y)
    yield Case("div", [x, positive], lambda x, y: x / y, lambda x, y: x / y)
    yield Case("exp", [x], Tensor.exp, lambda x: x.exp())
    yield Case("tanh", [x], Tensor.tanh, lambda x: x.tanh())
    yield Case("sigmoid", [x], Tensor.sigmoid, lambda x: x.sigmoid())
    yield Case("relu", [x], Tensor.relu, lambda x: x.relu())
    yield Case("gelu", [x], F.gelu, lambda x: torch.nn.functional.gelu(x))
    chosen = draw(rows, columns) > 0
    yield Case(
        "where",
        [x, y],
        lambda x, y: where(chosen, x, y),
        lambda x, y: torch.where(torch.from_numpy(chosen), x, y),
    )

    for axis in (0, 1):
        yield from reductions(x, axis)

    for shape in [(rows, rows), (2 * images, rows // 4, rows // 4)]:
        name = f"matmul, {' x '.join(map(str, shape))}"
        operands = [draw(*shape), draw(*shape)]
        yield Case(name, operands, lambda x, y: x @ y, lambda x, y: x @ y)

    chosen_rows = generator.integers(0, rows, 2 * rows)
    yield Case(
        f"{2 * rows} rows, with repeats",
        [x],
        lambda x: x[chosen_rows],
        lambda x: x[torch.from_numpy(chosen_rows)],
    )
    yield Case("slices", [x], lambda x: x[2:-2, ::2], lambda x: x[2:-2, ::2])

    image, kernels, bias = draw(images, 16, 28, 28), draw(32, 16, 3, 3), draw(32)
    yield Case(
        f"conv2d 3 x 3, {images} x 16 x 28 x 28 to 32 channels",
        [image, kernels, bias],
        lambda x, w, b: conv2d(x, w, b, padding=1),
        lambda x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1),
    )
    yield Case(
        f"max pool 2 x 2, {images} x 16 x 28 x 28",
        [image],
        MaxPool2d(2),
        lambda x: torch.nn.functional.max_pool2d(x, 2),
    )

    yield Case("softmax", [x], F.softmax, lambda x: x.softmax(-1))
    yield Case("log_softmax", [x], F.log_softmax, lambda x: x.log_softmax(-1))
    yield Case(
        "layer norm",
        [x, positive[0], row],
        lambda x, w, b: layer_norm(x, w, b, 1e-5),
        lambda x, w, b: torch.nn.functional.layer_norm(x, (columns,), w, b, 1e-5),
    )
    targets = generator.integers(0, columns, rows)
    yield Case(
        "cross-entropy",
        [x],
        lambda x: cross_entropy(x, targets),
        lambda x: torch.nn.functional.cross_entropy(x, torch.from_numpy(targets)),
    )


def reductions(x: np.ndarray, axis: int) -> Iterator[Case]:
    """Yield the reductions of x along an axis."""
    yield Case(f"sum, axis {axis}", [x], lambda x: x.sum(axis), lambda x: x.sum(axis))
    yield Case(f"mean, axis {axis}", [x], lambda x: x.mean(axis), lambda x: x.mean(axis))
    yield Case(f"max, axis {axis}", [x], lambda x: x.max(axis), lambda x: x.amax(axis))
    yield Case(f"var, axis {axis}", [x], lambda x: x.var(axis), lambda x: x.var(axis))


def sides_of(case: Case, torch) -> list[Callable[[], list[np.ndarray]]]:
    """Return ours and theirs, if any: functions that do the case and return its arrays.

    These are the result and the operands' gradients.
    """
    ours = [Tensor(x, requires_grad=True) for x in case.operands]
    upstream = np.random.default_rng(1).standard_normal(case.ours(*ours).shape, np.float32)

    def our_step() -> list[np.ndarray]:
        for x in ours:
            x.grad = None
        out = case.ours(*ours)
        out.backward(upstream)
        return [out.data, *(x.grad for x in ours)]

    if torch is None:
        return [our_step]
    theirs = [torch.tensor(x, requires_grad=True) for x in case.operands]
    their_upstream = torch.tensor(upstream)

    def their_step() -> list[np.ndarray]:
        for x in theirs:
            x.grad = None
        out = case.theirs(*theirs)
        out.backward(their_upstream)
        return [out.detach().numpy(), *(x.grad.numpy() for x in theirs)]

    return [our_step, their_step]


def check(name: str, answers: list[list[np.ndarray]]) -> None:
    """Raise Disagreement unless all sides have the same arrays."""
    words = ["result", *(f"gradient of operand {i + 1}" for i in range(len(answers[0]) - 1))]
    for answer in answers:
        for word, x, y in zip(words, answers[0], answer, strict=True):
            error = np.abs(x - y).max() if x.shape == y.shape else np.inf
            if not error <= TOLERANCE * max(1, np.abs(x).max()):
                raise Disagreement(f"{name}: the {word} differs by {error}")
