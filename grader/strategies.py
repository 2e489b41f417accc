"""What checks draw: numbers that people can read, and programs over them.

Everything drawn is plain data. Programs are built forwards: a step that would leave
the well-behaved region (a pole, a kink, a number too large) is not taken, so nothing
is rejected afterwards, and what remains shrinks to a handful of lines.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from grader.programs import ARITY, RULES, ArrayProgram, Const, Program, Step

ARITHMETIC = ("add", "mul", "sub", "div", "neg", "pow", "powv")
FUNCTIONS = ("exp", "log", "sqrt", "tanh", "sigmoid", "relu", "sin", "cos")
SIMPLE = (2.0, 3.0, 0.5, -2.0, 1.5, -1.0, 0.7, -0.5)
EXPONENTS = (2, 3, -1, 0.5, -2, 1.5, 2.0, 0, 2.5, -0.5, 1)
WHOLE = (2, 3, -2, 5)
MAX_VALUE, MAX_SLOPE = 100.0, 1000.0


@cache
def numbers(low: float = -3.0, high: float = 3.0, away: float = 0.3) -> st.SearchStrategy[float]:
    """Floats of two digits in [low, high], at least `away` from 0; simple ones first."""
    steps = [k / 10 for k in range(round(low * 10), round(high * 10) + 1)]
    simple = [x for x in SIMPLE if low <= x <= high and abs(x) >= away]
    rest = [x for x in steps if abs(x) >= away and x not in simple and x not in (0.0, 1.0)]
    return st.sampled_from(simple + sorted(rest, key=lambda x: (abs(x), x)))


@cache
def constants() -> st.SearchStrategy[int | float]:
    """Plain numbers as operands: whole ones as int and as float, and others."""
    return st.one_of(st.sampled_from(WHOLE), numbers())


@cache
def positions(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def pick(draw: Any, items: Sequence[Any]) -> Any:
    """Draw one of `items`, the first ones first. (Building a strategy costs more than drawing.)"""
    return items[draw(positions(len(items)))] if len(items) > 1 else items[0]


class Builder:
    """Takes steps while they stay well-behaved, and knows every node's value and slopes."""

    def __init__(self, inputs: Sequence[float], room: int):
        self.inputs = tuple(inputs)
        self.steps: list[Step] = []
        self.values = [float(x) for x in inputs]
        self.uses = [0] * len(inputs)
        self.tangents = np.eye(len(inputs), len(inputs) + room)

    def take(self, op: str, *operands: int | Const) -> bool:
        """Append a step if its result and slopes stay moderate; say whether it was taken."""
        found = self.result(op, operands)
        if found is not None:
            self.append(op, operands, *found)
        return found is not None

    def result(self, op: str, operands: Sequence[int | Const]) -> tuple[float, np.ndarray] | None:
        """Return value and slopes of a step, or None where they are not moderate."""
        xs = [float(x.value) if isinstance(x, Const) else self.values[x] for x in operands]
        rule = RULES[op]
        if not rule.safe(*xs):
            return None
        value = rule.value(*xs)
        tangent = np.zeros(self.tangents.shape[1])
        for operand, partial in zip(operands, rule.partials(*xs), strict=True):
            if not isinstance(operand, Const):
                tangent += partial * self.tangents[operand]
        tangent[len(self.values)] = 1.0
        moderate = abs(value) <= MAX_VALUE and np.abs(tangent).max() <= MAX_SLOPE
        return (value, tangent) if moderate else None

    def append(
        self, op: str, operands: Sequence[int | Const], value: float, tangent: np.ndarray
    ) -> None:
        self.steps.append(Step(op, tuple(operands)))
        self.values.append(value)
        self.uses.append(0)
        self.tangents = np.vstack([self.tangents, tangent])
        for operand in operands:
            if not isinstance(operand, Const):
                self.uses[operand] += 1

    def unused(self) -> list[int]:
        return [i for i, count in enumerate(self.uses) if count == 0]

    def program(self) -> Program:
        """Return the program without the nodes that do not reach the last one."""
        count = len(self.inputs)
        needed = {len(self.values) - 1}
        for i in reversed(range(count, len(self.values))):
            if i in needed:
                needed |= {x for x in self.steps[i - count].operands if not isinstance(x, Const)}
        number = {old: new for new, old in enumerate(sorted(needed))}
        steps = tuple(
            Step(step.op, tuple(x if isinstance(x, Const) else number[x] for x in step.operands))
            for i, step in enumerate(self.steps, start=count)
            if i in needed
        )
        return Program(tuple(x for i, x in enumerate(self.inputs) if i in needed), steps)


class Lanes:
    """Builders in step, one for each element of the arrays that a program runs on."""

    def __init__(self, inputs: Sequence[Sequence[float]], room: int):
        self.lanes = [Builder(lane, room) for lane in zip(*inputs, strict=True)]

    def take(self, op: str, *operands: int | Const) -> bool:
        """Append a step if it suits every element; say whether it was taken."""
        found = [lane.result(op, operands) for lane in self.lanes]
        if any(result is None for result in found):
            return False
        for lane, result in zip(self.lanes, found, strict=True):
            lane.append(op, operands, *result)  # type: ignore[misc]
        return True

    @property
    def values(self) -> list[float]:
        return self.lanes[0].values

    @property
    def steps(self) -> list[Step]:
        return self.lanes[0].steps

    def unused(self) -> list[int]:
        return self.lanes[0].unused()

    def program(self) -> ArrayProgram:
        return ArrayProgram((len(self.lanes),), tuple(lane.program() for lane in self.lanes))


AnyBuilder = Builder | Lanes


def begin(inputs: Sequence[Any], room: int) -> AnyBuilder:
    """Return a builder on numbers, or on lists of them, one per element."""
    lanes = bool(inputs) and isinstance(inputs[0], list)
    return Lanes(inputs, room) if lanes else Builder(inputs, room)


def draw_inputs(
    draw: Any, count: int, lanes: int, low: float = -3.0, high: float = 3.0
) -> list[Any]:
    """Draw numbers, or lists of `lanes` of them."""
    pool = numbers(low, high)
    if not lanes:
        return [draw(pool) for _ in range(count)]
    return [[draw(pool) for _ in range(lanes)] for _ in range(count)]


@st.composite
def programs(
    draw: Any,
    ops: Sequence[str] = ARITHMETIC,
    reuse: bool = False,
    inputs: int = 3,
    steps: int = 6,
    weighted: bool = True,
    lanes: int = 0,
) -> Program | ArrayProgram:
    """Programs of at most `steps` operations out of `ops`, whose every node reaches the output.

    With `reuse`, nodes may be operands any number of times, twice of one step too;
    without, the program is a tree. Whatever is left over is added up at the end, and,
    where `weighted`, multiplied by a constant, so that no operation sees the gradient 1
    every time. Only `add` and `mul` are used beyond `ops`. With `lanes`, the program
    runs on arrays of so many elements.
    """
    count = 1 + draw(positions(inputs))
    builder = begin(draw_inputs(draw, count, lanes), room=3 * steps + 2 * inputs + 4)
    for _ in range(1 + draw(positions(steps))):
        op = pick(draw, ops)
        pool = list(range(len(builder.values))) if reuse else builder.unused()
        fitting = [k for k in shapes_of(op) if reuse or k.count("node") <= len(pool)]
        builder.take(op, *draw_operands(draw, pick(draw, fitting), pool, reuse))
    left = builder.unused()
    while len(left) > 1:
        if weighted and draw(positions(2)):
            builder.take("mul", left[0], Const(draw(numbers())))
            left = builder.unused()
        taken = builder.take("add", left[-1], left[0])
        if not taken:
            break
        left = builder.unused()
    if weighted:
        scale_last(draw, builder, needed=False)
    if not builder.steps:
        builder.take("add", 0, 0) if reuse else builder.take("add", 0, Const(2.0))
    return builder.program()


def shapes_of(op: str) -> list[tuple[str, ...]]:
    """What the operands of `op` may be: nodes, or one constant, written as an int or a float."""
    if ARITY[op] == 1:
        return [("node",)]
    if op == "pow":
        return [("node", "exponent")]
    right = [] if op == "powv" else [("node", "int"), ("node", "float")]
    return [("node", "node"), *right, ("int", "node"), ("float", "node")]


@cache
def shapes(ops: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Every operation with every shape of operands: one draw makes all equally likely."""
    return [(op, kinds) for op in ops for kinds in shapes_of(op)]


def draw_operands(
    draw: Any, kinds: Sequence[str], pool: Sequence[int], reuse: bool
) -> list[int | Const]:
    """Draw operands of the given kinds, nodes out of `pool`; without `reuse`, each node once."""
    operands: list[int | Const] = []
    for kind in kinds:
        if kind == "node":
            operands.append(pick(draw, [i for i in pool if reuse or i not in operands]))
        elif kind == "exponent":
            operands.append(Const(pick(draw, EXPONENTS)))
        else:
            operands.append(Const(draw(numbers()) if kind == "float" else pick(draw, WHOLE)))
    return operands


def each_of(*parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One of several strategies; a check draws from each of them equally often.

    Chance alone leaves one of ten cases out in one run of many; a mistake in it would pass.
    """
    whole = st.one_of(*parts)
    whole.parts = parts  # type: ignore[attr-defined]
    return whole


def cases(items: Sequence[Any]) -> st.SearchStrategy[Any]:
    """One of a few values, of which a check gets each equally often."""
    return each_of(*map(st.just, items))


def parts_of(strategy: Any) -> tuple[st.SearchStrategy[Any], ...]:
    """Return what `each_of` was given; for another strategy, itself."""
    return getattr(strategy, "parts", (strategy,))


def single_operations(
    ops: Sequence[str] = ARITHMETIC, weighted: bool = True, twins: bool = False, lanes: int = 0
) -> st.SearchStrategy[Program | ArrayProgram]:
    """One operation of `ops` on fresh inputs; where `weighted`, times a constant that is not 1.

    Each operation comes with each shape of operands. With `twins`, both operands are
    the same input. With `lanes`, inputs are arrays of so many elements.
    """
    cases = [(op, ("node", "node")) for op in ops] if twins else shapes(tuple(ops))
    return each_of(*[single_operation(op, kinds, weighted, twins, lanes) for op, kinds in cases])


@st.composite
def single_operation(
    draw: Any, op: str, kinds: tuple[str, ...], weighted: bool, twins: bool, lanes: int
) -> Program | ArrayProgram:
    count = 1 if twins else kinds.count("node")
    room = count + 3
    builder = begin(draw_inputs(draw, count, lanes), room)
    operands = [0, 0] if twins else draw_operands(draw, kinds, range(count), reuse=False)
    if not builder.take(op, *operands):  # these numbers do not suit it; 2 and 3 suit everything
        builder = begin([[x] * lanes if lanes else x for x in (2.0, 3.0)][:count], room)
        builder.take(
            op, *[0, 0] if twins else [x if isinstance(x, int) else Const(2) for x in operands]
        )
    if weighted:
        scale_last(draw, builder)
    return builder.program()


def fans(
    ops: Sequence[str] = ARITHMETIC, lanes: int = 0
) -> st.SearchStrategy[Program | ArrayProgram]:
    """One input, used by two or three operations, whose weighted results are added up.

    Each operation comes with each shape of operands, beside any others.
    """
    cases = shapes(tuple(ops))
    return each_of(*[fan(op, kinds, tuple(ops), lanes) for op, kinds in cases])


@st.composite
def fan(
    draw: Any, op: str, kinds: tuple[str, ...], ops: tuple[str, ...], lanes: int
) -> Program | ArrayProgram:
    builder = begin(draw_inputs(draw, 1, lanes, 0.3, 3.0), room=14)
    branches = []
    others = [pick(draw, shapes(ops)) for _ in range(1 + draw(positions(2)))]
    for name, form in [(op, kinds), *others]:
        if not builder.take(name, *draw_operands(draw, form, [0], reuse=True)):
            builder.take("add", 0, Const(draw(constants())))
        scale_last(draw, builder, needed=False)
        branches.append(len(builder.values) - 1)
    total = branches[0]
    for branch in branches[1:]:
        builder.take("add", *pick(draw, [(total, branch), (branch, total)]))
        total = len(builder.values) - 1
    return builder.program()


def scale_last(draw: Any, builder: AnyBuilder, needed: bool = True) -> None:
    """Multiply the last node by a constant; where not `needed`, perhaps."""
    last = len(builder.values) - 1
    if needed or draw(positions(2)):
        builder.take("mul", last, Const(draw(numbers()))) or builder.take("mul", last, Const(0.5))
