"""Programs as plain data: drawn once, run on anything, differentiated by an oracle of our own.

A `Program` is a straight list of steps on numbers. `run` carries it out on the
learner's objects; `values` and `adjoints` on plain floats, in forward mode. The oracle
shares no code with a learner's engine or with the solutions.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.remote import together

Partials = tuple[float, ...]


@dataclass(frozen=True)
class Const:
    """A plain number as an operand."""

    value: int | float


@dataclass(frozen=True)
class Step:
    """An operation on earlier nodes (by number) or constants."""

    op: str
    operands: tuple["int | Const", ...]


@dataclass(frozen=True)
class Rule:
    """One operation on plain floats: value, partial derivatives, and where it is well-behaved."""

    value: Callable[..., float]
    partials: Callable[..., Partials]
    safe: Callable[..., bool] = lambda *xs: True
    apply: Callable[..., Any] | None = (
        None  # on the learner's objects; None: the method of that name
    )


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def power_partials(a: float, b: float) -> Partials:
    in_base = b * a ** (b - 1) if b != 0 else 0.0
    in_exponent = a**b * math.log(a) if a > 0 else 0.0 if a == 0 else math.nan
    return in_base, in_exponent


def power_is_tame(a: float, b: float) -> bool:
    if abs(b) > 4 or abs(a) < 0.3 or abs(a) > 8:
        return False
    return a > 0 or float(b).is_integer()


RULES: dict[str, Rule] = {
    "add": Rule(operator.add, lambda a, b: (1.0, 1.0), apply=operator.add),
    "sub": Rule(operator.sub, lambda a, b: (1.0, -1.0), apply=operator.sub),
    "mul": Rule(operator.mul, lambda a, b: (b, a), apply=operator.mul),
    "div": Rule(
        operator.truediv,
        lambda a, b: (1 / b, -a / b**2),
        lambda a, b: abs(b) >= 0.2,
        operator.truediv,
    ),
    "pow": Rule(operator.pow, power_partials, power_is_tame, operator.pow),
    "powv": Rule(operator.pow, power_partials, power_is_tame, operator.pow),
    "neg": Rule(operator.neg, lambda a: (-1.0,), apply=operator.neg),
    "exp": Rule(math.exp, lambda a: (math.exp(a),), lambda a: -5 <= a <= 3),
    "log": Rule(math.log, lambda a: (1 / a,), lambda a: a >= 0.2),
    "sqrt": Rule(math.sqrt, lambda a: (0.5 / math.sqrt(a),), lambda a: a >= 0.2),
    "tanh": Rule(math.tanh, lambda a: (1 / math.cosh(a) ** 2,), lambda a: abs(a) <= 3),
    "sigmoid": Rule(sigmoid, lambda a: (sigmoid(a) * sigmoid(-a),), lambda a: abs(a) <= 4),
    "relu": Rule(
        lambda a: max(a, 0.0), lambda a: (1.0 if a > 0 else 0.0,), lambda a: abs(a) >= 0.05
    ),
    "sin": Rule(math.sin, lambda a: (math.cos(a),), lambda a: abs(a) <= 8),
    "cos": Rule(math.cos, lambda a: (-math.sin(a),), lambda a: abs(a) <= 8),
}
# "pow" has a number as its exponent, "powv" a node.
ARITY = dict.fromkeys(RULES, 1) | dict.fromkeys(("add", "sub", "mul", "div", "pow", "powv"), 2)


@dataclass(frozen=True)
class Program:
    """Inputs, then steps; node i is input i, or the result of step i - len(inputs).

    The output is the last node.
    """

    inputs: tuple[float, ...]
    steps: tuple[Step, ...]

    def run(self, make: Callable[[float], Any]) -> tuple[list[Any], Any]:
        """Carry the program out on objects that `make` makes of numbers: (inputs, output)."""
        nodes = self.run_nodes(make)
        return nodes[: len(self.inputs)], nodes[-1]

    def run_nodes(self, make: Callable[[float], Any]) -> list[Any]:
        """Carry the program out and return every node."""
        return together(make, lambda: self.apply_steps([make(x) for x in self.inputs]))

    def continue_from(self, inputs: Sequence[Any]) -> list[Any]:
        """Carry the steps out on given inputs and return every node."""
        return together(inputs[0], lambda: self.apply_steps(inputs))

    def apply_steps(self, inputs: Sequence[Any]) -> list[Any]:
        nodes = list(inputs)
        for step in self.steps:
            operands = [x.value if isinstance(x, Const) else nodes[x] for x in step.operands]
            apply = RULES[step.op].apply
            nodes.append(apply(*operands) if apply else getattr(operands[0], step.op)())
        return nodes

    def values(self) -> list[float]:
        """Return the value of every node, on plain floats."""
        return evaluate(self.inputs, self.steps)[0]

    def output(self) -> float:
        """Return the value of the last node."""
        return self.values()[-1]

    def adjoints(self) -> list[float]:
        """Return d output / d node for every node, by forward mode: each node is also an input."""
        return [float(x) for x in evaluate(self.inputs, self.steps)[1][-1]]

    def gradients(self) -> list[float]:
        """Return d output / d input for every input."""
        return self.adjoints()[: len(self.inputs)]

    def to_plain(self) -> tuple[list[float], list[Any]]:
        """Return inputs and steps as lists and tuples: [op, [("node", i) | ("const", c), ...]]."""
        steps = [
            [
                s.op,
                [("const", x.value) if isinstance(x, Const) else ("node", x) for x in s.operands],
            ]
            for s in self.steps
        ]
        return list(self.inputs), steps


@dataclass(frozen=True)
class ArrayProgram:
    """The same steps on arrays: `lanes` holds one program on plain numbers per element.

    Attributes:
        shape: of every array, filled from `lanes` row by row.
    """

    shape: tuple[int, ...]
    lanes: tuple[Program, ...]

    def arrays(self, dtype: str = "float32") -> list[np.ndarray]:
        """Return the inputs."""
        return self.gather(lambda lane: lane.inputs, dtype)

    def run_nodes(self, tensor: Callable[..., Any], dtype: str = "float32") -> list[Any]:
        """Carry the program out on tensors that require gradients, and return every node."""
        arrays, steps = self.arrays(dtype), self.lanes[0]
        return together(
            tensor,
            lambda: steps.apply_steps([tensor(x, requires_grad=True) for x in arrays]),
        )

    def run(self, tensor: Callable[..., Any], dtype: str = "float32") -> tuple[list[Any], Any]:
        """Carry the program out: (inputs, output)."""
        nodes = self.run_nodes(tensor, dtype)
        return nodes[: len(self.lanes[0].inputs)], nodes[-1]

    def values(self) -> list[np.ndarray]:
        """Return the value of every node, element by element on plain numbers."""
        return self.gather(lambda lane: lane.values())

    def output(self) -> np.ndarray:
        return self.values()[-1]

    def gradients(self) -> list[np.ndarray]:
        """Return d output / d input, element by element, for every input."""
        return self.gather(lambda lane: lane.gradients())

    def gather(
        self, numbers_of: Callable[[Program], Sequence[float]], dtype: str = "float64"
    ) -> list[np.ndarray]:
        columns = zip(*map(numbers_of, self.lanes), strict=True)
        return [np.array(column, dtype).reshape(self.shape) for column in columns]

    def reshaped(self, shape: tuple[int, ...]) -> "ArrayProgram":
        """Return the same program on arrays of another shape."""
        return ArrayProgram(shape, self.lanes)


def scaled(partial: float, tangent: np.ndarray) -> np.ndarray:
    """Return partial * tangent, where an undefined slope spoils only what really depends on it."""
    return np.where(tangent == 0, 0.0, partial * tangent)


def evaluate(inputs: Sequence[float], steps: Sequence[Step]) -> tuple[list[float], np.ndarray]:
    """Return the values of all nodes and their tangents, (nodes, nodes): row i is d node i / d node j."""
    count = len(inputs) + len(steps)
    values = [float(x) for x in inputs]
    tangents = np.eye(count)
    for i, step in enumerate(steps, start=len(inputs)):
        xs = [float(x.value) if isinstance(x, Const) else values[x] for x in step.operands]
        rule = RULES[step.op]
        values.append(float(rule.value(*xs)))
        for operand, partial in zip(step.operands, rule.partials(*xs), strict=True):
            if not isinstance(operand, Const):
                tangents[i] += scaled(partial, tangents[operand])
    return values, tangents
