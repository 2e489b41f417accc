"""The oracle is right, and what checks draw is tame, varied, and shrinks to a few lines."""

import math
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from grader.programs import ARITY, RULES, Const, Program, Step
from grader.runner import explore
from grader.strategies import (
    ARITHMETIC,
    EXPONENTS,
    FUNCTIONS,
    MAX_SLOPE,
    MAX_VALUE,
    cases,
    constants,
    each_of,
    fans,
    numbers,
    programs,
    single_operations,
)

EVERYTHING = ARITHMETIC + FUNCTIONS
STEP = 1e-4

# Written without the grader's rules, so that a slip in one shows.
PLAIN = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": math.pow,
    "powv": math.pow,
    "neg": lambda a: -a,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sigmoid": lambda a: (1 + math.tanh(a / 2)) / 2,
    "relu": lambda a: a if a > 0 else 0.0,
    "sin": math.sin,
    "cos": math.cos,
}

STRATEGIES = {
    f"programs of {name}, {'reuse' if reuse else 'trees'}, {'weighted' if weighted else 'plain'}": (
        programs(ops, reuse=reuse, weighted=weighted, steps=8)
    )
    for name, ops in {"arithmetic": ARITHMETIC, "everything": EVERYTHING}.items()
    for reuse in (True, False)
    for weighted in (True, False)
} | {
    "long programs of one input": programs(EVERYTHING, reuse=True, inputs=1, steps=14),
    "short programs of six inputs": programs(reuse=True, inputs=6, steps=2),
    "programs of products alone": programs(("mul",), reuse=True, steps=8),
    "programs of powers alone": programs(("pow", "powv"), reuse=True),
    "single operations": single_operations(EVERYTHING),
    "single operations, plain": single_operations(EVERYTHING, weighted=False),
    "single operations on twins": single_operations(
        ("add", "mul", "sub", "div", "powv"), twins=True
    ),
    "fans": fans(),
    "fans of everything": fans(EVERYTHING),
}

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
quick = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@cache
def drawn(strategy, count):
    """Draw examples once, to be looked at by several tests."""
    found = []

    @settings(quick, max_examples=count, phases=[Phase.generate])
    @given(strategy)
    def collect(program):
        found.append(program)

    collect()
    return found


def smallest(strategy, condition):
    """The smallest program with the property, shrunk in the phases that grading uses."""
    phases = [Phase.generate, Phase.shrink]
    return find(strategy, condition, settings=settings(quick, max_examples=1000, phases=phases))


def nodes_with(program, bump=None, by=0.0):
    """The value of every node, by plain arithmetic; node `bump` is moved `by` so much."""
    nodes = []
    for x in program.inputs:
        nodes.append(float(x) + (by if bump == len(nodes) else 0.0))
    for step in program.steps:
        operands = [x.value if isinstance(x, Const) else nodes[x] for x in step.operands]
        nodes.append(PLAIN[step.op](*operands) + (by if bump == len(nodes) else 0.0))
    return nodes


def measured_slope(program, node):
    """d output / d node by central differences, and how far they can be trusted.

    Two step widths cancel the error of second order; what they still differ by bounds the rest.
    """

    def slope(step):
        ends = [nodes_with(program, node, sign * step)[-1] for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    fine, finer = ((4 * slope(step / 2) - slope(step)) / 3 for step in (STEP, STEP / 2))
    return finer, 10 * abs(fine - finer) + 1e-7 * max(1.0, abs(finer))


def operands_of(program):
    return [x for step in program.steps for x in step.operands]


def is_const(x, kind=(int, float)):
    return isinstance(x, Const) and type(x.value) in (kind if type(kind) is tuple else (kind,))


def uses(program):
    """How often each node is an operand."""
    nodes = [x for x in operands_of(program) if not isinstance(x, Const)]
    return [nodes.count(i) for i in range(len(program.inputs) + len(program.steps))]


def unreached(program):
    """The nodes that no way leads from to the output."""
    count = len(program.inputs)
    reached = {count + len(program.steps) - 1}
    for i in reversed(range(len(program.steps))):
        if count + i in reached:
            reached |= {x for x in program.steps[i].operands if not isinstance(x, Const)}
    return set(range(count + len(program.steps))) - reached


# The oracle.


@every_strategy
def test_the_oracle_agrees_with_finite_differences(strategy):
    trusts = []
    for program in drawn(strategy, 150):
        values, wanted = program.values(), program.adjoints()
        assert values == pytest.approx(nodes_with(program), rel=1e-12, abs=1e-12)
        assert program.output() == values[-1]
        assert program.gradients() == wanted[: len(program.inputs)]
        assert wanted[-1] == 1.0
        for node, want in enumerate(wanted):
            slope, trust = measured_slope(program, node)
            assert abs(want - slope) <= trust, (program, node)
            trusts.append(trust / max(1.0, abs(slope)))
    sharp = sum(trust < 1e-5 for trust in trusts)
    assert sharp > 0.98 * len(trusts)  # the measure is one that a wrong slope would not pass


@pytest.mark.parametrize("op", RULES)
def test_every_rule_agrees_with_finite_differences_wherever_it_is_safe(op):
    points = [k / 7 for k in range(-60, 61, 1 if ARITY[op] == 1 else 3)]
    pairs = [(a,) for a in points] if ARITY[op] == 1 else [(a, b) for a in points for b in points]
    safe = [xs for xs in pairs if RULES[op].safe(*xs)]
    assert len(safe) >= 20
    for xs in safe:
        program = Program(xs, (Step(op, tuple(range(ARITY[op]))),))
        assert program.output() == pytest.approx(PLAIN[op](*xs), rel=1e-12)
        for node, want in enumerate(RULES[op].partials(*xs)):
            if op in ("pow", "powv") and xs[0] < 0 and node == 1:
                assert math.isnan(want)  # there is no slope in the exponent of a negative base
            else:
                slope, trust = measured_slope(program, node)
                assert abs(want - slope) <= trust, xs


def test_the_slopes_at_the_corners_of_powers_are_those_of_the_text():
    def slopes(base, exponent):
        return Program((base, exponent), (Step("powv", (0, 1)),)).gradients()

    assert slopes(0.0, 0.0) == [0.0, 0.0]
    assert slopes(0.0, 2.0) == [0.0, 0.0]
    assert slopes(3.0, 0.0) == [0.0, pytest.approx(math.log(3))]


def test_a_negative_base_has_its_slope_where_the_exponent_has_none():
    base, exponent = Program((-3.0, 2.0), (Step("powv", (0, 1)),)).gradients()
    assert math.isnan(exponent)
    assert base == -6.0


def test_a_program_runs_on_any_object_with_the_operators_as_the_oracle_says():
    def lifted(function, flip=False):
        def method(*operands):
            numbers = [getattr(x, "number", x) for x in operands]
            return Number(function(*(reversed(numbers) if flip else numbers)))

        return method

    class Number:
        def __init__(self, number):
            self.number = number

    for op, name in {
        "add": "add",
        "sub": "sub",
        "mul": "mul",
        "div": "truediv",
        "pow": "pow",
    }.items():
        setattr(Number, f"__{name}__", lifted(PLAIN[op]))
        setattr(Number, f"__r{name}__", lifted(PLAIN[op], flip=True))
    Number.__neg__ = lifted(PLAIN["neg"])
    for op in FUNCTIONS:
        setattr(Number, op, lifted(PLAIN[op]))

    for program in drawn(programs(EVERYTHING, reuse=True), 100):
        inputs, output = program.run(Number)
        assert [x.number for x in inputs] == list(program.inputs)
        assert output.number == pytest.approx(program.output())
        nodes = program.continue_from(inputs)
        assert nodes[: len(inputs)] == inputs
        assert [x.number for x in nodes] == pytest.approx(program.values())


# The region that drawn programs stay in.


@every_strategy
def test_drawn_programs_stay_where_they_are_well_behaved(strategy):
    for program in drawn(strategy, 150):
        values = program.values()
        assert all(abs(x) <= MAX_VALUE for x in values), program
        assert all(abs(x) <= MAX_SLOPE for x in program.adjoints()), program
        assert 1 <= len(program.inputs) <= 6
        assert program.steps
        for number, step in enumerate(program.steps, start=len(program.inputs)):
            assert len(step.operands) == ARITY[step.op]
            assert all(is_const(x) or 0 <= x < number for x in step.operands)
            assert not all(is_const(x) for x in step.operands)
            xs = [x.value if isinstance(x, Const) else values[x] for x in step.operands]
            assert RULES[step.op].safe(*xs), (program, step)


@every_strategy
def test_numbers_in_a_program_are_short_to_read(strategy):
    for program in drawn(strategy, 150):
        shown = [*program.inputs, *(x.value for x in operands_of(program) if is_const(x))]
        assert all(len(repr(x)) <= 4 and abs(x) <= 5 for x in shown)
        assert 0.0 not in program.inputs
        assert 1.0 not in program.inputs


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("ops", [("mul", "neg"), ("add",), ("exp", "log"), ("pow",)])
def test_only_the_asked_operations_are_drawn_with_sums_and_weights(ops, reuse):
    for program in drawn(programs(ops, reuse=reuse), 60):
        assert {step.op for step in program.steps} <= {*ops, "add", "mul"}
        assert len(program.inputs) <= 3
    for program in drawn(programs(ops, reuse=reuse, steps=1, inputs=1, weighted=False), 40):
        assert {step.op for step in program.steps} <= {*ops, "add"}


def test_without_reuse_a_program_is_a_tree():
    for program in drawn(programs(EVERYTHING, steps=8), 150):
        assert max(uses(program)) == 1
        assert all(count <= 1 for count in uses(program))


def test_in_a_single_operation_the_operation_comes_first_and_a_weight_at_most_after_it():
    for program in drawn(STRATEGIES["single operations"], 150):
        assert [step.op for step in program.steps[1:]] in ([], ["mul"])
        if len(program.steps) == 2:
            node, weight = program.steps[1].operands
            assert node == len(program.inputs)
            assert is_const(weight)
    for program in drawn(STRATEGIES["single operations, plain"], 150):
        assert len(program.steps) == 1


def test_twins_are_one_input_on_both_sides():
    for program in drawn(single_operations(("add", "mul", "sub", "div", "powv"), twins=True), 100):
        assert len(program.inputs) == 1
        assert program.steps[0].operands == (0, 0)


def test_in_a_fan_one_input_is_used_more_than_once():
    for program in drawn(STRATEGIES["fans of everything"], 150):
        assert len(program.inputs) == 1
        assert uses(program)[0] >= 2


@every_strategy
def test_every_node_reaches_the_output(strategy):
    for program in drawn(strategy, 150):
        assert not unreached(program), program


def test_every_node_reaches_the_output_where_numbers_grow_too_large_to_be_added():
    for program in drawn(programs(("mul",), reuse=True, inputs=1, steps=14), 150):
        assert not unreached(program), program


# What can be drawn.


@pytest.mark.parametrize("op", EVERYTHING)
@pytest.mark.parametrize("strategy", [programs, single_operations, fans])
def test_every_operation_can_be_drawn(strategy, op):
    program = smallest(strategy(EVERYTHING), lambda p: op in {step.op for step in p.steps})
    assert len(program.steps) <= 4


BINARY = ("add", "sub", "mul", "div")


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("make", [programs, single_operations])
def test_a_number_can_stand_on_either_side_of_an_operator(make, op, side, kind):
    strategy = make((op,), weighted=False)
    program = smallest(strategy, lambda p: any(
        s.op == op and is_const(s.operands[side], kind) for s in p.steps
    ))  # fmt: skip
    assert len(program.steps) <= 2


@pytest.mark.parametrize("kind", [int, float])
def test_a_number_can_be_raised_to_a_node(kind):
    program = smallest(
        single_operations(("powv",)), lambda p: is_const(p.steps[0].operands[0], kind)
    )
    assert program.steps[0].operands[1] == 0


@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
def test_every_exponent_can_be_drawn(exponent):
    def has_it(program):
        found = program.steps[0].operands[1].value
        return found == exponent and type(found) is type(exponent)

    assert len(smallest(single_operations(("pow",)), has_it).steps) == 2


@pytest.mark.parametrize("op", [*BINARY, "powv"])
def test_one_node_can_be_both_operands(op):
    def has_twins(program):
        return any(s.op == op and s.operands[0] == s.operands[1] for s in program.steps)

    program = smallest(programs((op,), reuse=True), has_twins)
    assert len(program.steps) == 1
    assert program.steps[0].operands == (0, 0)


def test_an_inner_node_can_be_used_again_and_by_two_different_steps():
    def reused(program):
        counts = uses(program)[len(program.inputs) :]
        shared = [i for i, n in enumerate(counts, start=len(program.inputs)) if n > 1]
        return any(sum(i in s.operands for s in program.steps) > 1 for i in shared)

    assert len(smallest(programs(reuse=True), reused).steps) <= 4


def test_a_deeper_diamond_than_two_nodes_can_be_drawn():
    """An inner node is used by an early and by a late step, with a step between them."""

    def skips(program):
        count = len(program.inputs)
        return any(
            x >= count and number - x > 2 and uses(program)[x] > 1
            for number, step in enumerate(program.steps, start=count)
            for x in step.operands
            if not isinstance(x, Const)
        )

    assert len(smallest(programs(reuse=True, steps=8), skips).steps) <= 8


@pytest.mark.parametrize(
    "strategy", [programs(), programs(reuse=True), single_operations(("mul", "add"))]
)
def test_a_final_weight_can_be_drawn_so_that_the_gradient_on_its_way_is_not_one(strategy):
    def weighted(program):
        last = program.steps[-1]
        return len(program.steps) > 1 and last.op == "mul" and is_const(last.operands[1])

    program = smallest(strategy, weighted)
    assert len(program.steps) == 2
    assert program.adjoints()[-2] != 1.0


def test_the_last_operation_of_most_programs_sees_another_gradient_than_one():
    found = drawn(programs(EVERYTHING, reuse=True), 300)
    others = [
        p for p in found if any(x not in (0.0, 1.0) for x in p.adjoints()[len(p.inputs) : -1])
    ]
    assert len(others) > len(found) / 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_any_number_of_inputs_can_be_drawn_and_used(count):
    program = smallest(programs(inputs=3), lambda p: len(p.inputs) == count)
    assert len(program.steps) == max(1, count - 1)


def test_negative_inputs_and_both_signs_of_slopes_are_drawn():
    found = drawn(programs(EVERYTHING, reuse=True), 200)
    assert any(x < 0 for p in found for x in p.inputs)
    assert any(x > 0 for p in found for x in p.inputs)
    assert any(g < -0.1 for p in found for g in p.gradients())
    assert any(g > 0.1 for p in found for g in p.gradients())


@given(x=numbers(), y=numbers(0.3, 3.0), c=constants())
@settings(quick, max_examples=300)
def test_numbers_keep_away_from_nought_and_in_their_range(x, y, c):
    assert 0.3 <= abs(x) <= 3
    assert 0.3 <= y <= 3
    assert type(x) is type(y) is float
    assert type(c) in (int, float)
    assert 0.3 <= abs(c) <= 5


# What is left when a program shrinks: this is what learners read.


SMALLEST = {
    "any program": (programs(), lambda p: True, 1),
    "any program with reuse": (programs(reuse=True), lambda p: True, 1),
    "a node used twice": (programs(reuse=True), lambda p: max(uses(p)) > 1, 1),
    "a node used three times": (programs(reuse=True), lambda p: max(uses(p)) > 2, 3),
    "an inner node used twice": (
        programs(reuse=True), lambda p: max(uses(p)[len(p.inputs) :]) > 1, 2,
    ),
    "two operations in a row": (programs(), lambda p: len(p.steps) > 1, 2),
    "a fan": (fans(), lambda p: True, 3),
    "a single operation": (single_operations(), lambda p: True, 2),
    "a single operation, plain": (single_operations(weighted=False), lambda p: True, 1),
    "a function in a program": (
        programs(EVERYTHING), lambda p: any(s.op == "tanh" for s in p.steps), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("strategy", "condition", "steps"), SMALLEST.values(), ids=SMALLEST)
def test_what_is_left_is_as_short_as_can_be(strategy, condition, steps):
    program = smallest(strategy, condition)
    assert len(program.steps) <= steps
    assert len(program.inputs) <= 2


@pytest.mark.parametrize(
    "strategy", [programs(), programs(reuse=True), single_operations(), fans()]
)
def test_the_smallest_program_starts_from_two(strategy):
    assert smallest(strategy, lambda p: True).inputs[0] == 2.0


def test_a_drawn_program_reads_as_plain_data():
    program = Program((2.0,), (Step("mul", (0, Const(3))), Step("neg", (1,))))
    assert program.to_plain() == (
        [2.0],
        [["mul", [("node", 0), ("const", 3)]], ["neg", [("node", 1)]]],
    )


def test_drawing_depends_on_the_seed_alone():
    first, second = (
        drawn.__wrapped__(st.tuples(programs(reuse=True), fans()), 20) for _ in range(2)
    )
    assert first == second


# Parts: chance alone leaves a case out now and then.


def drawn_by(strategies, count, seed):
    def check(stage, **example): ...

    wrapped = given(**strategies)(check)
    found = []
    explore(wrapped, seed, count, found.append)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_every_part_of_a_strategy_gets_its_turn(seed):
    parts = each_of(st.integers(0, 9), st.integers(100, 109), st.integers(200, 209))
    found = [example["x"] // 100 for example in drawn_by({"x": parts}, 30, seed)]
    assert [found.count(k) for k in range(3)] == [10, 10, 10]
    assert set(found[:3]) == {0, 1, 2}


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_several_strategies_meet_in_all_ways(seed):
    strategies = {"x": cases([1, 2, 3]), "y": cases(["a", "b"]), "z": st.integers(0, 10**6)}
    found = drawn_by(strategies, 60, seed)
    assert len(found) == 60
    assert len({(e["x"], e["y"]) for e in found}) == 6
    assert [sum(e["x"] == k for e in found) for k in (1, 2, 3)] == [20, 20, 20]


@pytest.mark.parametrize("seed", range(3))
def test_every_operation_comes_with_every_shape_of_operands(seed):
    strategies = {"program": single_operations(("mul", "div"), weighted=False)}
    found = [e["program"].steps[0] for e in drawn_by(strategies, 90, seed)]
    shapes = {(s.op, *(type(getattr(x, "value", None)).__name__ for x in s.operands)) for s in found}
    assert len(shapes) == 10


def test_a_rare_part_is_shrunk_as_well():
    """A failure that only one of many parts shows is found again and made small."""
    parts = each_of(*[st.integers(1000 * k, 1000 * k + 999) for k in range(10)])
    seen = []

    def visit(example):
        seen.append(example["x"])
        if example["x"] >= 7000 and example["x"] < 8000:
            raise AssertionError

    def check(stage, x): ...

    with pytest.raises(AssertionError):
        explore(given(x=parts)(check), 3, 60, visit, shrink=True)
    assert min(x for x in seen if x >= 7000) == 7000
