"""What checks of tensors draw is what they say, and the laws built on it refuse what is wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stage import load

from grader.arrays import arrays, axes, indices, pairs_to_broadcast, shapes, spread, weights
from grader.codec import CodecError, Seed, decode, encode
from grader.expectations import Failed, expect_close
from grader.laws import expect_operation, slopes
from grader.worker import Worker

often = settings(max_examples=200, deadline=None, database=None)


@often
@given(data=st.data())
def test_every_index_is_one_that_numpy_takes(data):
    shape = data.draw(shapes(1, 3))
    array = np.arange(np.prod(shape)).reshape(shape)
    index = data.draw(indices(shape))
    assert array[index].size <= 4 * array.size * 4


def test_indices_of_every_kind_are_drawn():
    seen = set()

    @settings(max_examples=400, deadline=None, database=None)
    @given(index=indices((3, 2, 4)))
    def look(index):
        for part in index if isinstance(index, tuple) else (index,):
            kind = type(part).__name__
            seen.add(f"{part.dtype.kind} array" if kind == "ndarray" else kind)

    look()
    assert seen == {"int", "slice", "ellipsis", "NoneType", "i array", "b array"}


@often
@given(data=st.data(), rank=st.integers(0, 4))
def test_every_axis_is_one_that_numpy_takes(data, rank):
    np.zeros((1,) * rank).sum(axis=data.draw(axes(rank)))


@often
@given(pair=pairs_to_broadcast())
def test_pairs_broadcast(pair):
    np.broadcast_shapes(pair[0].shape, pair[1].shape)


def test_arrays_by_rows_and_by_columns_are_drawn():
    seen = set()

    @settings(max_examples=60, deadline=None, database=None)
    @given(array=arrays((2, 3)))
    def look(array):
        seen.add(array.flags.c_contiguous)
        assert array.shape == (2, 3)
        assert array.dtype == np.float32

    look()
    assert seen == {True, False}


@often
@given(drawn=weights(), shape=shapes())
def test_weights_fill_any_shape(drawn, shape):
    filled = spread(drawn, shape, "float64")
    assert filled.shape == shape
    assert set(filled.ravel().tolist()) <= set(drawn)


def test_slopes_are_measured_over_all_elements():
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    upstream = np.array([[1.0, 10.0], [100.0, 1000.0]])
    in_a, in_b = slopes(np.multiply, [a, b], upstream)
    assert np.allclose(in_a, [[403.0, 4030.0]])
    assert np.allclose(in_b, [[21.0], [2100.0]])


# The law of an operation, on an engine of a few lines, right and wrong in one place each.

ENGINE = """
import numpy as np

class Tensor:
    def __init__(self, data, requires_grad=False):
        self.data, self.grad = np.array(data), None

    def double(self):
        return Result(self, DATA)

class Result:
    def __init__(self, parent, data):
        self.parent, self.data = parent, data

    def backward(self, g):
        self.parent.grad = ACCUMULATED
"""
RIGHT = {"DATA": "2 * self.data", "ACCUMULATED": "2 * g + (0 if self.parent.grad is None else self.parent.grad)"}
WRONG = {
    "a value": {"DATA": "2.01 * self.data"},
    "a dtype": {"DATA": "2 * self.data.astype(float)"},
    "a shape": {"DATA": "2 * self.data[None]"},
    "a list for an array": {"DATA": "(2 * self.data).tolist()"},
    "a slope": {"ACCUMULATED": "g"},
    "a gradient's dtype": {"ACCUMULATED": "(2 * g).astype(float)"},
    "a gradient that overwrites": {"ACCUMULATED": "2 * g"},
    "no gradient": {"ACCUMULATED": "None"},
}


def law_on(tmp_path, changes):
    source = ENGINE
    for name, text in {**RIGHT, **changes}.items():
        source = source.replace(name, text)
    worker = Worker()
    try:
        session = load(worker, tmp_path, engine=source)
        array = np.array([[1.5, -2.0, 0.5]], "float32")
        expect_operation(session.stage, lambda x: x.double(), lambda x: 2 * x, [array], (1.0, -3.0))
    finally:
        worker.close()


def test_a_right_operation_passes(tmp_path):
    law_on(tmp_path, {})


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_a_wrong_operation_is_refused(tmp_path, changes):
    with pytest.raises(Failed):
        law_on(tmp_path, changes)


def test_a_number_of_numpys_passes_for_an_array_without_axes_and_a_plain_one_does_not():
    expect_close(np.float32(2.0), np.array(2.0), dtype="float32")
    with pytest.raises(Failed, match="not an array"):
        expect_close(2.0, np.array(2.0))


# On the wire.


def test_a_seed_arrives_as_a_generator():
    received = decode(encode(Seed(7)))
    assert received.random() == np.random.default_rng(7).random()


@pytest.mark.parametrize("name", ["float32", "int64", "bool"])
def test_a_dtype_crosses_by_name(name):
    assert decode(encode(np.dtype(name))) == np.dtype(name)


def test_a_dtype_of_text_does_not_cross():
    with pytest.raises(CodecError):
        encode(np.dtype("U3"))


@pytest.mark.parametrize("array", [np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3).T])
def test_an_array_that_lies_by_columns_arrives_so(array):
    received = decode(encode(array))
    assert np.array_equal(received, array)
    assert received.flags.f_contiguous
    assert not received.flags.c_contiguous
    assert received.flags.writeable
