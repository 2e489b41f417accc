"""Laws that many checks of tensors share: an operation computes a formula and sends back its slopes.

The oracle is numpy in float64 for values, and finite differences over all elements for
gradients. It shares no code with any engine.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.arrays import spread
from grader.expectations import expect, expect_close, kind_of
from grader.programs import ArrayProgram

STEP = 1e-5
# Relative and absolute; single precision carries 7 digits, of which sums and powers cost some.
TOLERANCES = {"float32": (2e-4, 2e-4), "float64": (1e-6, 1e-6)}
Formula = Callable[..., Any]


def expect_array(got: Any, wanted: Any, dtype: Any, label: str) -> None:
    """An array of this dtype, of the shape and values of `wanted`, to the dtype's precision."""
    name = np.dtype(dtype).name
    rtol, atol = TOLERANCES.get(name, (0.0, 0.0))
    expect_close(got, np.asarray(wanted), label, rtol, atol, dtype=name)


def expect_operation(
    stage: Any,
    apply: Formula,
    formula: Formula,
    inputs: Sequence[np.ndarray],
    weights: Sequence[float],
    gradients: Sequence[Any] | None = None,
) -> None:
    """`apply` on Tensors computes `formula`, and `backward` gives every input its slopes.

    `weights` fill the gradient that arrives at the result. The slopes are measured,
    unless `gradients` states them. A second result of the same inputs adds to them.
    """
    dtype = inputs[0].dtype
    tensors = [stage.Tensor(x, requires_grad=True) for x in inputs]
    result = apply(*tensors)
    exact = [x.astype(np.float64) for x in inputs]
    value = np.asarray(formula(*exact))
    expect_array(result.data, value, dtype, "data")
    upstream = spread(weights, value.shape, dtype)
    result.backward(upstream)
    wanted = slopes(formula, exact, upstream) if gradients is None else gradients
    for tensor, want in zip(tensors, wanted, strict=True):
        expect_array(tensor.grad, want, dtype, "gradient")
    apply(*tensors).backward(upstream)
    for tensor, want in zip(tensors, wanted, strict=True):
        expect_array(tensor.grad, 2 * np.asarray(want), dtype, "gradient of two results")


def slopes(
    formula: Formula, inputs: Sequence[np.ndarray], upstream: np.ndarray
) -> list[np.ndarray]:
    """Return d sum(upstream * formula(inputs)) / d input, by central differences over all elements."""
    found = []
    for number, array in enumerate(inputs):
        slope = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in inputs]
                moved[number][place] += sign * STEP
                ends.append(np.asarray(formula(*moved)))
            slope[place] = (upstream * (ends[0] - ends[1])).sum() / (2 * STEP)
        found.append(slope)
    return found


def expect_program(stage: Any, program: ArrayProgram, weights: Sequence[float], dtype: str) -> None:
    """A program on tensors has the values and gradients of the same program on plain numbers."""
    inputs, output = program.run(stage.Tensor, dtype)
    expect_array(output.data, program.output(), dtype, "data")
    upstream = spread(weights, program.shape, dtype)
    output.backward(upstream)
    for tensor, slope in zip(inputs, program.gradients(), strict=True):
        expect_array(tensor.grad, upstream * slope, dtype, "gradient")


def expect_module(
    stage: Any,
    module: Any,
    names: Sequence[str],
    formula: Formula,
    inputs: Sequence[np.ndarray],
    weights: Sequence[float],
) -> None:
    """`module` computes `formula(*inputs, *parameters)` and sends slopes to inputs and parameters.

    `names` are the attributes that hold the parameters.
    """
    dtype = inputs[0].dtype
    tensors = [stage.Tensor(x, requires_grad=True) for x in inputs]
    parameters = [getattr(module, name) for name in names]
    held = [parameter.data for parameter in parameters]
    for name, array in zip(names, held, strict=True):
        expect_kind_of_array(array, f"{name}.data")
    exact = [x.astype(np.float64) for x in (*inputs, *held)]
    value = np.asarray(formula(*exact))
    result = module(*tensors)
    expect_array(result.data, value, dtype, "data")
    upstream = spread(weights, value.shape, dtype)
    result.backward(upstream)
    wanted = slopes(formula, exact, upstream)
    for tensor, want in zip(tensors, wanted, strict=False):
        expect_array(tensor.grad, want, dtype, "gradient of the input")
    for name, parameter, want in zip(names, parameters, wanted[len(inputs) :], strict=True):
        expect_array(parameter.grad, want, "float32", f"gradient of {name}")


def expect_kind_of_array(value: Any, label: str) -> None:
    """An array, of whatever shape."""
    expect(isinstance(value, np.ndarray), f"is {kind_of(value)}, not an array", value, label=label)
