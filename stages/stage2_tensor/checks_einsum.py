"""The laws of einsum: milestone 2.10."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ERRORS,
    arrays,
    cases,
    dtypes,
    each_of,
    expect_operation,
    expect_raises,
    milestone,
    raises,
    weights,
)

SIDES = {"i": 2, "j": 3, "k": 4, "b": 2, "c": 1}
FORMS = [
    "ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "i,j->ij", "ij,ij->ij", "ij,ij->", "ij,j->i", "bij,jk->bik",
    "ij->ji", "bij->bji", "ij,jk,k->i", "bi,bj,c->bij", "i,i->", "ij,jk", "ij,ij", "jk,ki", "ij, jk -> ik",
]  # fmt: skip
SUMMED = ["ij->i", "ij->", "ij,kj->i", "bij->j", "ij,k->i", "c,i->i"]


def terms(forms):
    """A string of subscripts and arrays that fit it; each form has its turn."""
    return each_of(*map(operands_of, forms))


@st.composite
def operands_of(draw, form):
    dtype = draw(dtypes())
    shapes = [tuple(SIDES[c] for c in term.strip()) for term in form.split("->")[0].split(",")]
    return form, [draw(arrays(shape, dtype)) for shape in shapes]


def expect_einsum(stage, case, weights):
    form, parts = case
    expect_operation(stage, lambda *xs: stage.einsum(form, *xs), lambda *xs: np.einsum(form, *xs), parts, weights)


@milestone("2.10", examples=80)
@given(case=terms(FORMS), weights=weights())
def test_products(stage, case, weights):
    """`einsum` computes the sum of products that the letters name, and its gradients."""
    expect_einsum(stage, case, weights)


@milestone("2.10", examples=60)
@given(case=terms(SUMMED), weights=weights())
def test_letters_that_are_only_summed_over(stage, case, weights):
    """A letter that only one operand has is summed over; its gradient is the same all along it."""
    expect_einsum(stage, case, weights)


@milestone("2.10", examples=10)
@given(form=cases(["ii->i", "ii", "i...->...i"]), array=arrays((2, 2), "float64"), weights=weights())
def test_letters_twice_and_ellipses(stage, form, array, weights):
    """A letter twice in one term, and an ellipsis, are a ValueError, or what numpy makes of them, with gradients."""
    square = stage.Tensor(array, requires_grad=True)
    if not raises(lambda: stage.einsum(form, square)):
        expect_operation(stage, lambda x: stage.einsum(form, x), lambda x: np.einsum(form, x), [array], weights)


@milestone("2.10", examples=20)
@given(form=cases(["ij,ij->ii", "ij,kj->il", "ij,jj->i", "i,j->i", "ij->ij,"]))
def test_subscripts_that_do_not_fit(stage, form):
    """Letters that do not fit the shapes, or that come twice in a term, are a ValueError."""
    a, b = stage.Tensor(np.ones((2, 3))), stage.Tensor(np.ones((2, 4)))
    expect_raises(ERRORS, lambda: stage.einsum(form, a, b), "ValueError")
