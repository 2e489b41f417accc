"""The laws of dual.py."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    beside,
    cases,
    constants,
    expect_close,
    milestone,
    numbers,
    programs,
    single_operations,
)

FORWARD = ("add", "sub", "mul", "div", "neg", "pow")
FORWARD_FUNCTIONS = ("exp", "log", "tanh", "sin")


def expect_tangent(program, stage, slopes):
    duals = [stage.Dual(x, slope) for x, slope in zip(program.inputs, slopes)]
    output = program.continue_from(duals)[-1]
    expect_close(output.data, program.output(), "data")
    want = math.fsum(s * g for s, g in zip(slopes, program.gradients()))
    expect_close(output.tangent, want, "tangent")


@milestone("1.12")
@given(program=single_operations(FORWARD), slopes=st.tuples(numbers(), numbers()))
def test_operators_carry_tangents(stage, program, slopes):
    """Each operator on Duals carries the tangents along, by its own rule."""
    expect_tangent(program, stage, slopes)


@milestone("1.12")
@given(program=single_operations(FORWARD_FUNCTIONS), slope=numbers())
def test_functions_carry_tangents(stage, program, slope):
    """Each function of a Dual multiplies the tangent by its slope."""
    expect_tangent(program, stage, [slope])


@milestone("1.12")
@given(
    program=programs(FORWARD + FORWARD_FUNCTIONS, reuse=True),
    slopes=st.tuples(numbers(), numbers(), numbers()),
)
def test_tangents_anywhere_in_an_expression(stage, program, slopes):
    """Through any expression, the tangent is what reverse mode gives, weighted by the inputs' tangents."""
    expect_tangent(program, stage, slopes)


@milestone("1.12", examples=20)
@given(slope=numbers())
def test_the_zeroth_power_at_zero(stage, slope):
    """`x ** 0` has the tangent 0, at x = 0 too."""
    power = stage.Dual(0.0, slope) ** 0
    expect_close(power.data, 1.0, "data")
    expect_close(power.tangent, 0.0, "tangent")


@beside
def derivative_of_power(derivative, x, exponent, factor):
    return derivative(lambda d: factor * d**exponent + d, x), derivative(lambda d: factor, x)


@milestone("1.12", examples=40)
@given(x=numbers(), exponent=cases([2, 3, 0]), factor=constants())
def test_derivative(stage, x, exponent, factor):
    """`derivative(f, x)` is the slope of f at x, a number; 0 where f does not use its argument."""
    slope, flat = derivative_of_power(stage.derivative, x, exponent, factor)
    expect_close(slope, factor * exponent * x ** (exponent - 1) + 1, "derivative")
    expect_close(flat, 0.0, "derivative of a constant")
