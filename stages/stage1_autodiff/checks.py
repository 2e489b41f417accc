"""The laws of autodiff.py. Each check is one; its docstring is what a learner reads when it breaks."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ARITHMETIC,
    FUNCTIONS,
    beside,
    cases,
    each_of,
    expect,
    expect_close,
    expect_is,
    expect_kind,
    expect_raises,
    fans,
    milestone,
    numbers,
    programs,
    single_operations,
)

EVERYTHING = ARITHMETIC + FUNCTIONS
SMOOTH = tuple(op for op in EVERYTHING if op != "relu")
SUMS, PRODUCTS, POWERS = ("add", "sub", "neg"), ("mul", "div"), ("pow", "powv")


def expect_output(program, stage):
    _, output = program.run(stage.Value)
    expect_close(output.data, program.output(), "data")


def expect_gradients(program, stage):
    inputs, output = program.run(stage.Value)
    output.backward()
    for value, want in zip(inputs, program.gradients()):
        expect_close(value.grad, want, "gradient")


# 1.1 Values and arithmetic


@milestone("1.1", examples=20)
@given(x=numbers())
def test_a_value_holds_its_number(stage, x):
    """A new Value holds its number in `data`, and 0 in `grad`."""
    value = stage.Value(x)
    expect_close(value.data, x, "data")
    expect_close(value.grad, 0.0, "grad")


@milestone("1.1", examples=90)
@given(program=single_operations(SUMS, weighted=False))
def test_sums_and_differences(stage, program):
    """`a + b`, `a - b` and `-a` compute what they say, with a number on either side."""
    expect_output(program, stage)


@milestone("1.1", examples=90)
@given(program=single_operations(PRODUCTS, weighted=False))
def test_products_and_quotients(stage, program):
    """`a * b` and `a / b` compute what they say, with a number on either side."""
    expect_output(program, stage)


@milestone("1.1", examples=90)
@given(program=single_operations(POWERS, weighted=False))
def test_powers(stage, program):
    """`a ** b` computes what it says, with a number on either side."""
    expect_output(program, stage)


@milestone("1.1", examples=90)
@given(program=single_operations(ARITHMETIC, weighted=False))
def test_the_result_is_a_new_value(stage, program):
    """An operation returns a new Value and leaves its operands as they were."""
    inputs, output = program.run(stage.Value)
    expect_kind(output, stage.Value, "Value")
    for value, x in zip(inputs, program.inputs):
        expect(output is not value, "is one of the operands, not a new Value", label="the result")
        expect_close(value.data, x, "an operand's data")
        expect_close(value.grad, 0.0, "an operand's grad")


@milestone("1.1", examples=20)
@given(xs=st.lists(numbers(), min_size=1, max_size=4))
def test_sum_adds_up_a_list(stage, xs):
    """`sum` works on a list of Values: it starts with the number 0."""
    expect_close(sum(stage.Value(x) for x in xs).data, sum(xs), "data")


@milestone("1.1")
@given(program=programs(reuse=True))
def test_expressions(stage, program):
    """Expressions of any shape have the value that plain numbers give."""
    expect_output(program, stage)


@milestone("1.1", examples=30)
@given(x=numbers(-3.0, -0.3), exponent=cases([0.5, 1.5, -0.5]))
def test_no_fractional_power_of_a_negative_number(stage, x, exponent):
    """A negative number to a fractional power is an error."""
    a = stage.Value(x)
    expect_raises(("ValueError", "ArithmeticError"), lambda: a**exponent, "ValueError")


# 1.2 One operation, one local gradient


@milestone("1.2", examples=90)
@given(program=single_operations(SUMS))
def test_slopes_of_sums(stage, program):
    """Through `+` and `-`, a gradient reaches each operand times 1 or -1."""
    expect_gradients(program, stage)


@milestone("1.2", examples=90)
@given(program=single_operations(PRODUCTS))
def test_slopes_of_products(stage, program):
    """Through `*` and `/`, a gradient reaches each operand times the slope in it."""
    expect_gradients(program, stage)


@milestone("1.2", examples=90)
@given(program=single_operations(("pow",)))
def test_slopes_of_powers(stage, program):
    """The slope of `a ** n` is n times a ** (n - 1), times the gradient that arrives."""
    expect_gradients(program, stage)


@milestone("1.2", examples=90)
@given(program=single_operations(("powv",)))
def test_slopes_of_exponents(stage, program):
    """An exponent that is a Value has a slope as well: a ** b times log a."""
    expect_gradients(program, stage)


@milestone("1.2", examples=30)
@given(base=cases([0.0, 2.0, -3.0]), weight=numbers())
def test_slope_of_the_zeroth_power(stage, base, weight):
    """`x ** 0` is 1 with the slope 0, at x = 0 too."""
    a = stage.Value(base)
    output = a**0 * weight
    expect_close(output.data, weight, "data")
    output.backward()
    expect_close(a.grad, 0.0, "gradient")


@milestone("1.2", examples=20)
@given(base=cases([0.0, 2.0, -3.0]), weight=numbers())
def test_slope_of_the_first_power(stage, base, weight):
    """`x ** 1` is x with the slope 1, at x = 0 too."""
    a = stage.Value(base)
    (a**1 * weight).backward()
    expect_close(a.grad, weight, "gradient")


@milestone("1.2", examples=30)
@given(base=cases([0.0, -2.0, -3.0]), exponent=cases([2.0, 3.0]), weight=numbers())
def test_exponents_where_there_is_no_logarithm(stage, base, exponent, weight):
    """The gradient of an exponent is 0 at base 0 and NaN at a negative base; the base has its own."""
    a, b = stage.Value(base), stage.Value(exponent)
    (a**b * weight).backward()
    expect_close(a.grad, exponent * base ** (exponent - 1) * weight, "gradient of the base")
    expect_close(b.grad, 0.0 if base == 0 else math.nan, "gradient of the exponent")


@milestone("1.2", examples=90)
@given(program=single_operations(ARITHMETIC))
def test_backward_starts_with_one(stage, program):
    """The gradient of a result with respect to itself is 1."""
    _, output = program.run(stage.Value)
    output.backward()
    expect_close(output.grad, 1.0, "gradient")


# 1.3 The chain rule


@milestone("1.3")
@given(program=programs(steps=8))
def test_chain_rule(stage, program):
    """Through a tree of operations, slopes multiply along the way from the result to an input."""
    expect_gradients(program, stage)


@milestone("1.3")
@given(program=programs(steps=8))
def test_every_node_has_its_gradient(stage, program):
    """After backward, `grad` of every node in a tree is d(result)/d(node)."""
    nodes = program.run_nodes(stage.Value)
    nodes[-1].backward()
    for node, want in zip(nodes, program.adjoints()):
        expect_close(node.grad, want, "gradient")


@milestone("1.3", examples=40)
@given(program=programs(steps=5), step=st.just(1e-5))
def test_slopes_agree_with_finite_differences(stage, program, step):
    """Moving an input a little moves the result by the gradient times as much."""
    inputs, output = program.run(stage.Value)
    output.backward()
    for i, value in enumerate(inputs):
        ends = []
        for sign in (1, -1):
            moved = [x + sign * step * (i == j) for j, x in enumerate(program.inputs)]
            ends.append(program.continue_from([stage.Value(x) for x in moved])[-1].data)
        slope = (ends[0] - ends[1]) / (2 * step)
        expect_close(value.grad, slope, "gradient", rtol=1e-3, atol=1e-3)


# 1.4 A value used more than once


@milestone("1.4")
@given(program=single_operations(("add", "mul", "sub", "div", "powv"), twins=True))
def test_one_value_as_both_operands(stage, program):
    """In `a + a` or `a * a`, the value gets the gradients of both places."""
    expect_gradients(program, stage)


@milestone("1.4")
@given(program=fans())
def test_each_use_of_a_value_adds_its_gradient(stage, program):
    """Gradients of a value used more than once add up."""
    expect_gradients(program, stage)


@milestone("1.4")
@given(program=programs(reuse=True, steps=8))
def test_reuse_anywhere_in_a_graph(stage, program):
    """Gradients add up at inner nodes as well, before they are passed on."""
    expect_gradients(program, stage)


# 1.5 Order


@milestone("1.5")
@given(program=each_of(programs(reuse=True, steps=8), fans()))
def test_topological_order(stage, program):
    """`topological_order` lists every node once, parents before children, the root last."""
    nodes = program.run_nodes(stage.Value)
    order = stage.topological_order(nodes[-1])
    expect(isinstance(order, list | tuple), "is not a list", order, label="the order")
    position = {node: i for i, node in enumerate(order)}
    expect(len(position) == len(order), "lists a node twice", label="the order")
    for node in nodes:
        expect(node in position, "leaves out a node that the root depends on", label="the order")
    for node in order:
        for parent in node.parents:
            expect(parent in position, "leaves out a parent", label="the order")
            expect(position[parent] < position[node], "has a node before its parent", label="the order")
    expect_is(order[-1], nodes[-1], "does not end with the root", "the order")


@milestone("1.5")
@given(program=each_of(programs(reuse=True, steps=8, ops=("mul", "add", "neg")), fans(("mul", "add", "neg"))))
def test_a_gradient_is_complete_before_it_is_passed_on(stage, program):
    """A node passes its gradient on only when all its uses have contributed."""
    nodes = program.run_nodes(stage.Value)
    nodes[-1].backward()
    for node, want in zip(nodes, program.adjoints()):
        expect_close(node.grad, want, "gradient")


@beside
def doubled(Value, x, times):
    leaf = Value(x)
    value = leaf
    for _ in range(times):
        value = value + value
    value.backward()
    return leaf.grad


@milestone("1.5", examples=5)
@given(x=numbers(), times=st.integers(58, 62))
def test_each_node_is_visited_once(stage, x, times):
    """Sixty doublings are sixty nodes, not 2 ** 60 paths: backward is done at once."""
    expect_close(doubled(stage.Value, x, times), 2.0**times, "gradient")


# 1.6 Depth


@beside
def chain(Value, x, weight, length, swapped):
    leaf = Value(x)
    value = leaf
    for _ in range(length):
        value = leaf + value * weight if swapped else value * weight + leaf
    return leaf, value


def chain_by_hand(x, weight, length):
    value, slope = x, 1.0
    for _ in range(length):
        value, slope = value * weight + x, slope * weight + 1
    return value, slope


LONG = {"length": st.integers(9_000, 10_000), "weight": cases([0.5, -0.5, 0.9]), "swapped": st.booleans()}


@milestone("1.6", examples=4, seconds=10)
@given(x=numbers(), **LONG)
def test_a_long_chain_has_its_value(stage, x, weight, length, swapped):
    """A computation of 20,000 nodes is recorded without trouble."""
    _, value = chain(stage.Value, x, weight, length, swapped)
    expect_close(value.data, chain_by_hand(x, weight, length)[0], "data")


@beside
def order_of_chain(topological_order, value):
    order = topological_order(value)
    return len(order), order[-1] is value


@milestone("1.6", examples=4, seconds=10)
@given(x=numbers(), **LONG)
def test_a_long_chain_has_an_order(stage, x, weight, length, swapped):
    """`topological_order` works on a chain of 20,000 nodes: nothing in it is recursive."""
    _, value = chain(stage.Value, x, weight, length, swapped)
    count, ends_with_root = order_of_chain(stage.topological_order, value)
    expect(count > 2 * length, "leaves out nodes", count, label="the order")
    expect_is(ends_with_root, True, "does not end with the root", "the order")


@milestone("1.6", examples=4, seconds=10)
@given(x=numbers(), **LONG)
def test_a_long_chain_has_its_gradient(stage, x, weight, length, swapped):
    """Backward works on a chain of 20,000 nodes: nothing in it is recursive."""
    leaf, value = chain(stage.Value, x, weight, length, swapped)
    value.backward()
    expect_close(leaf.grad, chain_by_hand(x, weight, length)[1], "gradient")


@beside
def built_and_dropped(Value, x, length, backward):
    value = Value(x)
    for _ in range(length):
        value = value * 0.5 + 1.0
    if backward:
        value.backward()
    data = value.data
    del value
    return data


@milestone("1.6", examples=4, seconds=10)
@given(x=numbers(), backward=st.booleans())
def test_a_long_chain_can_be_dropped(stage, x, backward):
    """A chain of 20,000 nodes can be thrown away again."""
    expect_close(built_and_dropped(stage.Value, x, 10_000, backward), 2.0, "data")


# 1.7 Backward twice


@milestone("1.7", examples=40)
@given(first=programs(reuse=True, steps=3, inputs=1), second=programs(reuse=True, steps=3, inputs=1))
def test_two_losses_add_up(stage, first, second):
    """After backward of two losses, a leaf holds the sum of both gradients."""
    a = stage.Value(first.inputs[0])
    first.continue_from([a])[-1].backward()
    expect_close(a.grad, first.gradients()[0], "gradient of the first loss")
    moved = type(second)(first.inputs, second.steps)
    try:
        want = first.gradients()[0] + moved.gradients()[0]
    except (ArithmeticError, ValueError, TypeError):
        return
    if not abs(want) < 1e3:
        return
    moved.continue_from([a])[-1].backward()
    expect_close(a.grad, want, "gradient of both losses")


@milestone("1.7", examples=40)
@given(program=programs(reuse=True, steps=5))
def test_a_second_pass_adds_the_same_again(stage, program):
    """A second backward on the same result adds the same gradients to the leaves again."""
    inputs, output = program.run(stage.Value)
    output.backward()
    output.backward()
    for value, want in zip(inputs, program.gradients()):
        expect_close(value.grad, 2 * want, "gradient")


@milestone("1.7", examples=20)
@given(x=numbers(), times=st.integers(1, 3))
def test_a_leaf_is_its_own_loss(stage, x, times):
    """Backward on a leaf adds 1 to its own gradient, every time."""
    a = stage.Value(x)
    for _ in range(times):
        a.backward()
    expect_close(a.grad, float(times), "gradient")


@milestone("1.7", examples=40)
@given(program=programs(reuse=True, steps=5))
def test_a_cleared_gradient_starts_afresh(stage, program):
    """With the leaves' gradients set to 0 in between, a second backward gives the same as the first."""
    inputs, output = program.run(stage.Value)
    output.backward()
    for value in inputs:
        value.grad = 0.0
    output.backward()
    for value, want in zip(inputs, program.gradients()):
        expect_close(value.grad, want, "gradient")


@milestone("1.7", examples=40)
@given(program=programs(reuse=True, steps=5))
def test_inner_nodes_hold_the_latest_pass(stage, program):
    """A computed value's gradient is that of the latest pass alone."""
    nodes = program.run_nodes(stage.Value)
    nodes[-1].backward()
    nodes[-1].backward()
    count = len(program.inputs)
    for node, want in zip(nodes[count:], program.adjoints()[count:]):
        expect_close(node.grad, want, "gradient of a computed value")


@milestone("1.7", examples=40)
@given(x=numbers(), w=numbers(), v=numbers())
def test_two_losses_share_a_computed_value(stage, x, w, v):
    """Two losses may be computed from the same value: what the first pass left there is not passed on."""
    a = stage.Value(x)
    shared = a * w
    (shared * v).backward()
    (shared + 1).backward()
    expect_close(a.grad, w * v + w, "gradient")


# 1.8 Elementary functions


@milestone("1.8")
@given(program=single_operations(("exp", "log", "sqrt")))
def test_exp_log_sqrt(stage, program):
    """exp, log and sqrt have their values and slopes."""
    expect_output(program, stage)
    expect_gradients(program, stage)


@milestone("1.8")
@given(program=single_operations(("tanh", "sigmoid")))
def test_tanh_sigmoid(stage, program):
    """tanh and sigmoid have their values and slopes."""
    expect_output(program, stage)
    expect_gradients(program, stage)


@milestone("1.8")
@given(program=single_operations(("relu",)))
def test_relu(stage, program):
    """relu passes what is positive, value and gradient alike, and nothing else."""
    expect_output(program, stage)
    expect_gradients(program, stage)


@milestone("1.8")
@given(program=single_operations(("sin", "cos")))
def test_sin_cos(stage, program):
    """sin and cos have their values and slopes."""
    expect_output(program, stage)
    expect_gradients(program, stage)


@milestone("1.8", examples=20)
@given(weight=numbers())
def test_relu_is_flat_at_zero(stage, weight):
    """At 0, the slope of relu is 0."""
    a = stage.Value(0.0)
    (a.relu() * weight).backward()
    expect_close(a.grad, 0.0, "gradient")


EXTREMES = {
    "tanh": lambda x: math.copysign(1.0, x),
    "sigmoid": lambda x: float(x > 0),
    "relu": lambda x: max(x, 0.0),
}


@milestone("1.8", examples=40)
@given(name=cases(sorted(EXTREMES)), x=cases([1000.0, -1000.0, 800.0, -750.0]), weight=numbers())
def test_extremes(stage, name, x, weight):
    """At plus and minus 1000, tanh, sigmoid and relu still have a value and a slope."""
    a = stage.Value(x)
    output = getattr(a, name)() * weight
    expect_close(output.data, EXTREMES[name](x) * weight, "data")
    output.backward()
    expect_close(a.grad, weight if name == "relu" and x > 0 else 0.0, "gradient")


@milestone("1.8", examples=30)
@given(x=numbers(-3.0, -0.3), name=cases(["log", "sqrt"]))
def test_no_logarithm_of_a_negative_number(stage, x, name):
    """log and sqrt of a negative number are an error."""
    a = stage.Value(x)
    expect_raises(("ValueError", "ArithmeticError"), getattr(a, name), "ValueError")


@milestone("1.8")
@given(program=fans(FUNCTIONS))
def test_functions_add_their_gradients(stage, program):
    """A value that goes into several functions gets the sum of their gradients."""
    expect_gradients(program, stage)


@milestone("1.8")
@given(program=programs(EVERYTHING, reuse=True, steps=8))
def test_functions_anywhere_in_a_graph(stage, program):
    """Functions and operators mix freely."""
    expect_output(program, stage)
    expect_gradients(program, stage)


# 1.9 Trust, but verify


@beside
def verdict_on(gradient_check, Value, inputs, steps, cut):
    """Check the gradients of a program; with `cut`, input number `cut` is also multiplied in behind the graph's back."""
    import math
    import operator

    operators = {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
        "pow": operator.pow, "powv": operator.pow, "neg": operator.neg,
    }

    def f(*values):
        nodes = list(values)
        for op, operands in steps:
            xs = [x if kind == "const" else nodes[x] for kind, x in operands]
            nodes.append(operators[op](*xs) if op in operators else getattr(xs[0], op)())
        if cut is None:
            return nodes[-1]
        return nodes[-1] + Value(math.sin(values[cut].data)) * values[cut]

    return gradient_check(f, inputs)


@milestone("1.9")
@given(program=programs(steps=5, reuse=True))
def test_right_gradients_are_accepted(stage, program):
    """`gradient_check` accepts a function whose gradients are right."""
    verdict = verdict_on(stage.gradient_check, stage.Value, *program.to_plain(), None)
    expect_is(verdict, True, "is not True", "gradient_check of a right gradient")


@milestone("1.9")
@given(program=programs(steps=4, reuse=True, inputs=3), which=st.integers(0, 2))
def test_wrong_gradients_are_refused(stage, program, which):
    """`gradient_check` refuses a function that hides part of its computation from the graph."""
    cut = which % len(program.inputs)
    verdict = verdict_on(stage.gradient_check, stage.Value, *program.to_plain(), cut)
    expect_is(verdict, False, "is not False", "gradient_check of a wrong gradient")


@beside
def verdict_on_unused(gradient_check, Value, inputs, used):
    def f(*values):
        return values[used] * values[used]

    return gradient_check(f, inputs)


@milestone("1.9", examples=20)
@given(xs=st.lists(numbers(), min_size=2, max_size=3), used=st.integers(0, 1))
def test_an_input_may_be_unused(stage, xs, used):
    """An input that does not reach the result has the gradient 0, and that is right."""
    verdict = verdict_on_unused(stage.gradient_check, stage.Value, xs, used)
    expect_is(verdict, True, "is not True", "gradient_check of a right gradient")


@beside
def verdict_on_product(gradient_check, xs, factors, step):
    def f(*values):
        product = values[0] * 1.0
        for value in values[1:]:
            product = product * value
        total = product
        for value, factor in zip(values, factors):
            total = total + value * factor
        return total

    return gradient_check(f, xs, step=step)


@milestone("1.9", examples=40)
@given(
    xs=st.lists(numbers(), min_size=1, max_size=3),
    factors=st.tuples(numbers(), numbers(), numbers()),
    step=cases([0.5, 0.25, 0.125]),
)
def test_one_input_moves_at_a_time(stage, xs, factors, step):
    """A product of different inputs is straight in each: with one moved at a time, any step measures its slope."""
    verdict = verdict_on_product(stage.gradient_check, xs, factors, step)
    expect_is(verdict, True, "is not True", "gradient_check of a right gradient")


@beside
def verdict_on_line(gradient_check, Value, x, slope, hidden, tolerance):
    def f(value):
        return value * slope + Value(value.data * hidden)

    return gradient_check(f, [x], step=0.25, tolerance=tolerance)


@milestone("1.9")
@given(
    x=numbers(),
    slope=cases([0.25, 0.5, 2.0, -0.25, -3.0, 8.0]),
    share=cases([0.5, 0.8, 1.25, 2.0]),
    tolerance=cases([0.1, 0.01, 0.001]),
    sign=cases([1, -1]),
)
def test_the_tolerance_is_kept(stage, x, slope, share, tolerance, sign):
    """A gradient may be off by `tolerance` times max(1, |slope|), and no more."""
    room = tolerance * max(1.0, abs(slope))
    hidden = sign * share * room  # what the graph does not know of; the measured slope has it
    allowed = tolerance * max(1.0, abs(slope + hidden))
    verdict = verdict_on_line(stage.gradient_check, stage.Value, x, slope, hidden, tolerance)
    expect_is(verdict, abs(hidden) <= allowed, "is wrong", "gradient_check within the tolerance")


# 1.11 Gradients of gradients


@milestone("1.11")
@given(program=programs(EVERYTHING, reuse=True, steps=6))
def test_gradients_of_a_result(stage, program):
    """`gradients` returns d(output)/d(input) for each input, as Values, and leaves every `grad` alone."""
    inputs, output = program.run(stage.Value)
    found = stage.gradients(output, inputs)
    expect_close(len(found), len(inputs), "number of gradients")
    for gradient, want in zip(found, program.gradients()):
        expect_kind(gradient, stage.Value, "Value", "a gradient")
        expect_close(gradient.data, want, "gradient")
    for value in inputs:
        expect_close(value.grad, 0.0, "grad of an input")


def second_derivatives(program, row):
    """d2 output / d input[row] d input[j] for each j, by central differences of exact gradients."""
    step, ends = 1e-5, []
    for sign in (1, -1):
        moved = [x + sign * step * (i == row) for i, x in enumerate(program.inputs)]
        ends.append(type(program)(tuple(moved), program.steps).gradients())
    return [(a - b) / (2 * step) for a, b in zip(*ends)]


@milestone("1.11")
@given(program=programs(SMOOTH, reuse=True, steps=4), which=st.integers(0, 2))
def test_second_derivatives(stage, program, which):
    """The gradients can be differentiated again: twice gives the second derivative."""
    row = which % len(program.inputs)
    inputs, output = program.run(stage.Value)
    first = stage.gradients(output, inputs)[row]
    for gradient, want in zip(stage.gradients(first, inputs), second_derivatives(program, row)):
        expect_close(gradient.data, want, "second derivative", rtol=1e-4, atol=1e-3)


@milestone("1.11", examples=20)
@given(base=cases([0.0, 2.0, -3.0]), weight=numbers())
def test_gradients_of_the_zeroth_power(stage, base, weight):
    """The gradient of `x ** 0` is 0 here as well, at x = 0 too."""
    a = stage.Value(base)
    expect_close(stage.gradients(a**0 * weight, [a])[0].data, 0.0, "gradient")


@milestone("1.11", examples=20)
@given(x=numbers(), y=numbers())
def test_an_input_without_influence(stage, x, y):
    """An input that does not reach the output has the gradient 0."""
    a, b = stage.Value(x), stage.Value(y)
    expect_close(stage.gradients(a * a, [b, a])[0].data, 0.0, "gradient")
