"""test_numpy_along.py: take_along_axis has NumPy's results and errors; both functions as calls of the array API."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import EmptyAxisError, OutOfBoundsError, ShapeMismatchError
from numpy_answers import assert_numpys_answer, matrix, outcome

A = np.arange(6.0).reshape(2, 3)
I2 = np.array([[0, 1]])


# ---- take_along_axis


ALONG = {
    "ints": I2,
    "broadcast": np.array([[1], [0]]),
    "longer": np.array([[0, 1, 2, 2, -1], [0, 0, 0, 0, 0]]),
    "empty": np.zeros((2, 0), int),
    "1-d": np.array([0, 1]),
    "0-d": np.array(0),
    "3-d": np.zeros((1, 1, 1), int),
    "other rows": np.zeros((3, 1), int),
    "float": I2 + 0.0,
    "empty float": np.zeros((2, 0)),
    "bool": I2 > 0,
    "object": I2.astype(object),
    "string": I2.astype(str),
    "complex": I2 + 0j,
    "datetime": I2.astype("M8[s]"),
    "unsigned": I2.astype("u8"),
    "byte-swapped": I2.astype(">i2"),
    "matrix": matrix(I2),
    "masked": np.ma.array(I2, mask=[[0, 1]]),
    "too large": I2 + 2,
    "too small": I2 - 9,
}


@pytest.mark.parametrize("axis", [0, 1, -1, -2, None, 2, -3, 1.0, "1"])
@pytest.mark.parametrize("kind", ALONG)
@pytest.mark.parametrize("source", [A, A[:1], np.asfortranarray(A), matrix(A), np.array(3.0), A[0]], ids=np.shape)
def test_take_along_axis(source, kind, axis):
    expected = outcome(np.take_along_axis, source, ALONG[kind], axis)
    if isinstance(expected, IndexError) and "shape mismatch" in str(expected):
        with pytest.raises(ShapeMismatchError, match="shape mismatch: indexing arrays could not be broadcast"):
            gs.take_along_axis(source, ALONG[kind], axis)
    else:
        assert_numpys_answer(gs.take_along_axis, np.take_along_axis, source, ALONG[kind], axis)


def test_take_along_axis_names_both_shapes():
    with pytest.raises(ValueError, match=re.escape("(2, 3) (3, 1) on axis 0")) as error:
        gs.take_along_axis(A, np.zeros((3, 1), int), 1)
    assert isinstance(error.value, IndexError)


def test_take_along_axis_default_axis_is_the_last():
    assert gs.take_along_axis(A, np.array([[2], [0]])).tolist() == [[2], [3]]


def test_take_along_axis_accepts_lists():
    """NumPy rejects a list here; for gatherscatter a list is an index in every operator."""
    assert gs.take_along_axis([[1, 2, 3]], [[2, 0]], 1).tolist() == [[3, 1]]
    assert gs.take_along_axis(A, [[], []], 1).shape == (2, 0)
    for wrong in ([[0.5, 1.0]], [[True, False]], [["0", "1"]]):
        with pytest.raises(IndexError, match="must be an integer array"):
            gs.take_along_axis(A, wrong, 1)


def test_take_along_axis_of_nothing():
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 1 with size 0"):
        np.take_along_axis(np.zeros((2, 0)), I2, 1)
    with pytest.raises(OutOfBoundsError, match="index 0 is out of bounds for axis 1 with size 0"):
        gs.take_along_axis(np.zeros((2, 0)), I2, 1)


def test_take_along_axis_keywords():
    index = np.array([[0, 9], [-1, 1]])
    assert gs.take_along_axis(A, index, bounds="fill", fill_value=-1).tolist() == [[0, -1], [5, 4]]
    assert gs.take_along_axis(A, index, bounds="clip").tolist() == [[0, 2], [5, 4]]
    assert gs.take_along_axis(A, index, bounds="clip", negative="out_of_bounds").tolist() == [[0, 2], [3, 4]]
    mask = np.array([[True, False]])
    assert gs.take_along_axis(A, index, mask=mask, fill_value=8).tolist() == [[0, 8], [5, 8]]
    out = np.zeros((2, 2))
    assert gs.take_along_axis(A, index, bounds="wrap", out=out) is out and out.tolist() == [[0, 0], [5, 4]]
    with pytest.raises(OutOfBoundsError):
        gs.take_along_axis(A, index, out=out)
    assert out.tolist() == [[0, 0], [5, 4]]
    with pytest.raises(TypeError):
        gs.take_along_axis(A, index, 1, "fill")


def test_take_along_axis_with_argsort():
    rng = np.random.default_rng(7)
    x = rng.random((3, 4, 5))
    for axis in (0, 1, 2, -1):
        np.testing.assert_array_equal(gs.take_along_axis(x, np.argsort(x, axis), axis), np.sort(x, axis))


# ---- other libraries, through the array-API standard's calls


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_array_api_calls(library):
    xp = pytest.importorskip(library)
    x = xp.reshape(xp.arange(6), (2, 3))
    result = gs.take(x, xp.asarray([2, 0]), axis=1)
    assert type(result) is type(x) and result.dtype == x.dtype and result.tolist() == [[2, 0], [5, 3]]
    result = gs.take(x, xp.asarray([[2, 0]]), axis=-1)
    assert tuple(result.shape) == (2, 1, 2)
    result = gs.take_along_axis(x, xp.asarray([[2], [-1]]), axis=1)
    assert type(result) is type(x) and result.tolist() == [[2], [5]]
    assert gs.take_along_axis(x, xp.asarray([[2], [0]])).tolist() == [[2], [3]]
    assert gs.take(x, [5, 0]).tolist() == [5, 0]
    assert gs.take(x, 1, 0).tolist() == [3, 4, 5]
    assert gs.take(x, np.array([9, -1]), 1, mode="clip").tolist() == [[2, 0], [5, 3]]
    assert gs.take(x, np.array([9, -1]), 1, bounds="fill", fill_value=-5).tolist() == [[-5, 2], [-5, 5]]
    with pytest.raises(OutOfBoundsError):
        gs.take(x, xp.asarray([3]), axis=1)
    with pytest.raises(EmptyAxisError):
        gs.take(x[:, :0], xp.asarray([0]), axis=1)
    with pytest.raises(np.exceptions.AxisError):
        gs.take(x, xp.asarray([0]), axis=2)
    for wrong in (xp.ones(1), xp.ones(1) > 0):
        with pytest.raises(TypeError, match="integer"):
            gs.take(x, wrong)
        with pytest.raises((TypeError, ValueError)):
            gs.take_along_axis(x, wrong)


def test_a_numpy_array_by_indices_of_torch():
    torch = pytest.importorskip("torch")
    assert gs.take(A, torch.tensor([5, 0])).tolist() == [5, 0]
    assert gs.take_along_axis(A, torch.tensor([[2], [0]]), 1).tolist() == [[2], [3]]
    out = np.zeros(2)
    assert gs.take(A, torch.tensor([5, 0]), out=out) is out
    with pytest.raises(TypeError):
        gs.take(A, torch.tensor([0.5]))


def test_take_out_in_torch():
    torch = pytest.importorskip("torch")
    x, out = torch.arange(6), torch.zeros(2, dtype=torch.int64)
    assert gs.take(x, [5, 1], out=out) is out and out.tolist() == [5, 1]
    with pytest.raises(ValueError, match="shape"):
        gs.take(x, [5], out=out)


@pytest.mark.parametrize("values", [1, np.ones((1,) * 33, "f4")], ids=["number", "floats"])
def test_put_along_an_axis_beyond_the_32nd(values):
    found, expected = np.zeros((1,) * 32 + (4,)), np.zeros((1,) * 32 + (4,))
    index = np.zeros((1,) * 33, int)
    gs.put_along_axis(found, index, values, 32)
    expected[..., 0] = 1
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="could not be broadcast"):
        gs.put_along_axis(found, index, np.ones(2), 32)
