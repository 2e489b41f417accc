"""Stage 1 beside micrograd: a training step on the two moons, and a very long chain.

Both sides get the same points, first weights, loss and update; micrograd brings its own network.
Ours is measured twice: with a node for each weighted sum, as the course writes its neurons, and
in plain * and +, node for node what micrograd does.
"""

import math
import random
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace

from solutions.stage1_autodiff.autodiff import Value
from solutions.stage1_autodiff.network import weighted_sum

from .measure import Disagreement, agreed_losses, alternate
from .report import Row

PACKAGES = ("micrograd",)

RATE = 0.1
DECAY = 1e-4  # weight of the squared parameters in the loss, as in micrograd's demo
DEEP = 20_000  # nodes in a row, far beyond Python's recursion limit

Step = Callable[[], float]


def run(
    points: int = 100, hidden: int = 16, turns: int = 9, steps: int = 4, chain: int = 1_000_000
) -> Iterator[Row | str]:
    """Yield the rows of this benchmark, and lines that explain them."""
    sizes = [2, hidden, hidden, 1]
    micrograd = load_micrograd()
    shape = "-".join(map(str, sizes))
    yield f"moons step   MLP {shape}, {points} points, hinge loss + L2: forward, backward, update"
    yield f"             median of {turns} turns, each the mean of {steps} steps; the sides alternate"
    if micrograd is None:
        yield "theirs       not installed: pip install micrograd"
    agreed_losses(trainings(sizes, points, micrograd))

    sides = trainings(sizes, points, micrograd)
    default = alternate(sides, turns=turns, steps=steps)
    off = alternate(sides, turns=turns, steps=steps, collecting=False)
    for place, how in enumerate(["weighted_sum", "plain * and +"]):
        yield step_row(f"moons step, {how}", default, place)
        yield step_row(f"moons step, {how}, collector off", off, place)
    if micrograd is not None:
        yield "(off: it runs between the steps, unmeasured; only there are micrograd's graphs freed)"

    (seconds,) = alternate([lambda: climb(Value, chain)], turns=3, steps=1, warm_up=0)
    yield Row(f"chain of {chain:,} nodes, forward and backward", seconds, None, "s")
    if micrograd is not None:
        yield f"micrograd on a chain of {DEEP:,} nodes: {attempt(micrograd.Value, DEEP)}"


def load_micrograd() -> SimpleNamespace | None:
    """Return micrograd's Value and MLP, or None where it is not installed."""
    try:
        engine, nn = import_module("micrograd.engine"), import_module("micrograd.nn")
    except ImportError:
        return None
    return SimpleNamespace(Value=engine.Value, MLP=nn.MLP)


def step_row(name: str, seconds: list[float], place: int) -> Row:
    """Return a row in milliseconds; `seconds` holds ours at `place`, micrograd's third if at all."""
    theirs = seconds[2] * 1e3 if len(seconds) > 2 else None
    return Row(name, seconds[place] * 1e3, theirs, "ms")


# The training step.


def trainings(sizes: list[int], points: int, micrograd) -> list[Step]:
    """Return fresh trainings: ours with `weighted_sum`, ours in plain * and +, micrograd's if any.

    Every one starts from the same weights, on the same points.
    """
    moons = two_moons(points, random.Random(0))
    pairs = [(Value, Network(sizes, weighted_sum)), (Value, Network(sizes, plain_sum))]
    if micrograd is not None:
        pairs.append((micrograd.Value, micrograd.MLP(sizes[0], sizes[1:])))
    for _, network in pairs:
        generator = random.Random(1)
        for p in network.parameters():
            p.data = generator.uniform(-1, 1)
    return [training(value, network, *moons) for value, network in pairs]


def training(value, network, points, labels) -> Step:
    """Return a function that takes one training step and returns the loss before it.

    Written once for both engines, in the words of micrograd's demo. The graph dies with the step.
    """
    parameters = network.parameters()

    def step():
        inputs = [list(map(value, point)) for point in points]
        scores = list(map(network, inputs))
        losses = [(1 + -label * score).relu() for label, score in zip(labels, scores)]
        loss = sum(losses) * (1.0 / len(losses)) + DECAY * sum(p * p for p in parameters)
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= RATE * p.grad
        return loss.data

    return step


class Network:
    """The network of micrograd's `nn.MLP`, from our Values: relu neurons, the last layer linear."""

    def __init__(self, sizes, total):
        """Make the layers; `total` is the neuron's sum: `weighted_sum` or `plain_sum`."""
        self.total = total
        self.layers = [
            [([Value(0.0) for _ in range(inputs)], Value(0.0)) for _ in range(outputs)]
            for inputs, outputs in pairwise(sizes)
        ]

    def __call__(self, xs):
        """Return the answer, a Value, to a list of Values."""
        for layer in self.layers:
            xs = [self.total(weights, xs, bias) for weights, bias in layer]
            if layer is not self.layers[-1]:
                xs = [x.relu() for x in xs]
        return xs[0]

    def parameters(self):
        """Return the weights and the bias of every neuron, in micrograd's order."""
        return [p for layer in self.layers for weights, bias in layer for p in (*weights, bias)]


def plain_sum(weights, inputs, bias):
    """Return what `weighted_sum` returns, by one node for each * and +, as micrograd has it."""
    return sum((w * x for w, x in zip(weights, inputs)), bias)


def two_moons(count: int, generator: random.Random):
    """Return `count` points of two interleaved half circles with noise, and their labels 1, -1."""
    points, labels = [], []
    for i in range(count):
        angle = generator.uniform(0, math.pi)
        x, y = math.cos(angle), math.sin(angle)
        x, y = (x, y) if i % 2 else (1 - x, 0.5 - y)
        points.append((x + generator.gauss(0, 0.1), y + generator.gauss(0, 0.1)))
        labels.append(1 if i % 2 else -1)
    return points, labels


# The chain.


def climb(value, count: int) -> None:
    """Add x to itself `count` times, one node after the other, and walk back; check the slope."""
    x = value(1.0)
    total = x
    for _ in range(count):
        total = total + x
    total.backward()
    if x.grad != count + 1:
        raise Disagreement(f"the slope of {count + 1} x is {count + 1}, got {x.grad}")


def attempt(value, count: int) -> str:
    """Say how `climb` ends."""
    try:
        climb(value, count)
    except RecursionError as error:
        return f"RecursionError: {error}"
    return "done"
