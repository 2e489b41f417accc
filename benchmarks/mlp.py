"""Stage 3 beside PyTorch: a training step of a small network on inputs of MNIST's shape.

Both sides get the same weights and samples, the same loss and the same plain update
`p = p - rate * gradient`. Below each step stand its matrix products alone, numpy's beside torch's:
what they differ by is the work of two libraries for linear algebra, not of two frameworks.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from mmap import PAGESIZE

import numpy as np

from solutions.stage2_tensor.tensor import Tensor
from solutions.stage3_nn.layers import Linear, ReLU
from solutions.stage3_nn.losses import cross_entropy
from solutions.stage3_nn.module import Sequential

from .measure import agreed_losses, alternate, peak_growth, settled
from .pytorch import load_torch, opponent, threads, threads_line
from .report import Row

PACKAGES = ("numpy", "torch", "threadpoolctl")

SIZES = (784, 256, 128, 10)
RATE = 0.1
CLOCKS = {1: ("CPU time, one thread", time.process_time), 2: ("two threads", time.perf_counter)}
REST = 0.05  # seconds: each side's idle threads spin for a while, and would disturb the other

Step = Callable[[], object]


def run(
    sizes: tuple[int, ...] = SIZES,
    batches: tuple[int, ...] = (64, 128),
    turns: int = 25,
    steps: int = 6,
) -> Iterator[Row | str]:
    """Yield the rows of this benchmark, and lines that explain them."""
    torch = load_torch()
    yield opponent(torch)
    shape = "-".join(map(str, sizes))
    yield f"step         MLP {shape}, relu, cross-entropy, plain update, float32"
    yield f"             median of {turns} turns, each the mean of {steps} steps; the sides alternate"
    yield "products     the step's matrix products alone, without a framework"
    yield "peak memory  growth of the resident memory in five steps, in a process of its own, one thread"
    yield threads_line("one or two, as named, for each side", torch)
    for batch in batches:
        yield from time_rows(sizes, batch, turns, steps, torch)
        yield from memory_rows(sizes, batch, torch)


def time_rows(sizes: tuple[int, ...], batch: int, turns: int, steps: int, torch) -> Iterator[Row]:
    """Yield how long a step and its products take, on one thread and on two."""
    agreed_losses([t.step for t in trainings(sizes, batch, torch)], tolerance=1e-5)
    pairs = {
        "step": [t.step for t in trainings(sizes, batch, torch)],
        "products": products_of(sizes, batch, torch),
    }
    for count, (how, clock) in CLOCKS.items():
        for what, sides in pairs.items():
            with threads(count, torch), settled():
                seconds = alternate(
                    sides, turns=turns, steps=steps, warm_up=2, clock=clock, rest=REST
                )
            ours, theirs = [1e3 * s for s in seconds] if torch else (1e3 * seconds[0], None)
            yield Row(f"{what}, batch {batch}, {how}", ours, theirs, "ms")


def memory_rows(sizes: tuple[int, ...], batch: int, torch) -> Iterator[Row]:
    """Yield how far memory grows: from a fresh process on, and with all code loaded."""
    for warm, how in ((0, "fresh process"), (1, "after one sample")):
        ours = memory_of("ours", warm, batch, sizes)
        theirs = memory_of("theirs", warm, batch, sizes) if torch else None
        yield Row(f"peak memory, batch {batch}, {how}", ours, theirs, "MB")


# The training step.


class Ours:
    """A network of stage 3 and a batch."""

    def __init__(self, weights, x, y):
        self.model = Sequential(*layers(weights, self.linear, ReLU))
        self.parameters = list(self.model.parameters())
        self.x, self.y = Tensor(x), y

    @staticmethod
    def linear(weight, bias):
        layer = Linear(*weight.shape[::-1], generator=np.random.default_rng(0))
        layer.load_state_dict({"weight": weight, "bias": bias})
        return layer

    def step(self, count=None):
        """Train on the batch, or its first `count` samples, and return the loss before it."""
        loss = cross_entropy(self.model(self.x[:count]), self.y[:count])
        for p in self.parameters:
            p.grad = None
        loss.backward()
        for p in self.parameters:
            p.data -= RATE * p.grad
        return loss.item()


class Theirs:
    """The same in PyTorch."""

    def __init__(self, weights, x, y, torch):
        self.torch = torch
        self.model = torch.nn.Sequential(*layers(weights, self.linear, torch.nn.ReLU))
        self.parameters = list(self.model.parameters())
        self.x, self.y = torch.tensor(x), torch.tensor(y)

    def linear(self, weight, bias):
        layer = self.torch.nn.Linear(*weight.shape[::-1])
        state = {"weight": self.torch.tensor(weight), "bias": self.torch.tensor(bias)}
        layer.load_state_dict(state)
        return layer

    def step(self, count=None):
        """Train on the batch, or its first `count` samples, and return the loss before it."""
        logits = self.model(self.x[:count])
        loss = self.torch.nn.functional.cross_entropy(logits, self.y[:count])
        for p in self.parameters:
            p.grad = None
        loss.backward()
        with self.torch.no_grad():
            for p in self.parameters:
                p.add_(p.grad, alpha=-RATE)  # faster than torch.optim.SGD
        return loss.item()


def layers(weights, linear, relu) -> list:
    """Return the layers of a network: `linear` ones of these weights, `relu` between them."""
    found = [layer for weight in weights for layer in (linear(*weight), relu())]
    return found[:-1]


def trainings(sizes: tuple[int, ...], batch: int, torch) -> list[Ours | Theirs]:
    """Return fresh trainings, ours and theirs, if any: the same weights, the same batch."""
    start = drawn(sizes, batch)
    return [Ours(*start)] if torch is None else [Ours(*start), Theirs(*start, torch)]


def drawn(sizes: tuple[int, ...], batch: int):
    """Return pairs of weights (out, in) and biases, inputs, and classes."""
    generator = np.random.default_rng(0)
    weights = [
        (
            generator.standard_normal((n, m), np.float32) / np.float32(m**0.5),
            np.zeros(n, np.float32),
        )
        for m, n in pairwise(sizes)
    ]
    x = generator.random((batch, sizes[0]), np.float32)
    return weights, x, generator.integers(0, sizes[-1], batch)


# What it is made of.


def products_of(sizes: tuple[int, ...], batch: int, torch) -> list[Step]:
    """Return functions that do a step's matrix products: in numpy, and in torch, if any."""
    generator = np.random.default_rng(0)
    shapes = [s for m, n in pairwise(sizes) for s in ((batch, m), (n, m), (batch, n))]
    arrays = [generator.random(shape, np.float32) for shape in shapes]
    sides = [arrays] if torch is None else [arrays, [torch.tensor(a) for a in arrays]]
    return [lambda side=side: multiply(side) for side in sides]


def multiply(arrays) -> None:
    """Multiply inputs, weights and gradients, layer by layer, as a step does."""
    for i in range(0, len(arrays), 3):
        x, weight, g = arrays[i : i + 3]
        _ = x @ weight.T
        _ = g.T @ x
        if i:  # the samples need no gradient
            _ = g @ weight


# Memory.


def memory_of(side: str, warm: int, batch: int, sizes: tuple[int, ...]) -> float:
    """Return by how many megabytes the resident memory of a new process grows in its first steps.

    With `warm`, it has taken a step on that many samples before, so that code is loaded.
    """
    numbers = map(str, (warm, batch, *sizes))
    command = [sys.executable, "-m", "benchmarks.mlp", side, *numbers]
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    done = subprocess.run(
        command, env={**os.environ, **one}, capture_output=True, text=True, check=True
    )
    return max(int(done.stdout), PAGESIZE) / 1e6  # of less, the system knows nothing


def main(side: str, *numbers: str) -> None:
    """Print that growth in bytes, for this process."""
    warm, batch, *sizes = map(int, numbers)
    start = drawn(tuple(sizes), batch)
    torch = load_torch() if side == "theirs" else None
    training = Ours(*start) if torch is None else Theirs(*start, torch)
    if warm:
        training.step(warm)
        for p in training.parameters:
            p.grad = None
    print(peak_growth(lambda: [training.step() for _ in range(5)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
