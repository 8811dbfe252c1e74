"""test_numpy_classes.py: masked arrays, matrices, other subclasses, and classes that answer for themselves."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OutOfBoundsError

A = np.arange(6.0).reshape(2, 3)
I2 = np.array([[0, 1]])


# ---- masked arrays


MASKED = np.ma.array([[1, 2, 3], [4, 5, 6]], mask=[[0, 1, 0], [0, 0, 1]])


def assert_same_masked(found, expected):
    assert type(found) is type(expected)
    if expected is not np.ma.masked:
        np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected), strict=True)
        np.testing.assert_array_equal(np.ma.filled(found, -1), np.ma.filled(expected, -1))
    if type(expected) is np.ma.MaskedArray:
        assert found.fill_value == expected.fill_value and found.dtype == expected.dtype


@pytest.mark.parametrize(
    "indices", [0, 1, [0, 1], np.array([[2], [-1]]), [], np.ma.array([0, 9], mask=[0, 1])], ids=repr
)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("unmasked", [False, True])
def test_take_masked(indices, axis, unmasked):
    x = np.ma.array(MASKED, fill_value=77)
    if unmasked:
        x = np.ma.array(x.data)
    if np.ma.isMaskedArray(indices) and axis is not None:
        # NumPy lines masks of indices and data up at their last axes: an error here, and wrong for square arrays.
        found = gs.take(x, indices, axis)
        plain = gs.take(x, [0, 0], axis)
        plain[(slice(None),) * axis + (1,)] = np.ma.masked
        assert_same_masked(found, plain)
        return
    if axis == 0 and isinstance(indices, np.ndarray):
        indices = indices % 2
    assert_same_masked(gs.take(x, indices, axis), np.take(x, indices, axis))
    assert_same_masked(gs.take(x, indices, axis, mode="clip"), np.take(x, indices, axis, mode="clip"))


def test_take_masked_into():
    for make in (lambda: np.ma.array([9, 9, 9], mask=[0, 0, 1]), lambda: np.zeros(3, int)):
        ours, numpys = make(), make()
        gs.take(MASKED, [0, 1, 5], out=ours)
        np.take(MASKED, [0, 1, 5], out=numpys)
        assert_same_masked(ours, numpys)
    out = np.ma.array([9, 9, 9])
    with pytest.raises(OutOfBoundsError):
        gs.take(MASKED, [0, 1, 99], out=out)
    assert out.tolist() == [9, 9, 9]


def test_take_masked_padding_is_no_masked_item():
    result = gs.take(MASKED, [0, 1, 99], bounds="fill", fill_value=-7)
    assert result.tolist() == [1, None, -7]


def test_take_masked_records():
    """As indexing gives them; numpy.take forgets the masks of fields."""
    x = np.ma.array([(1, 2.0), (3, 4.0)], mask=[(0, 1), (1, 0)], dtype=[("a", int), ("b", float)])
    found, expected = gs.take(x, [1, 0, 1]), x[[1, 0, 1]]
    assert type(found) is type(expected) and found.tolist() == expected.tolist() == [(None, 4), (1, None), (None, 4)]
    assert gs.take(x, 0).tolist() == x[0].tolist() == (1, None)


@pytest.mark.parametrize("axis", [0, 1])
def test_take_along_axis_masked(axis):
    indices = np.array([[1, 0, 1], [0, 1, 1]])
    for x in (np.ma.array(MASKED, fill_value=77), np.ma.array(MASKED.data)):
        assert_same_masked(gs.take_along_axis(x, indices, axis), np.take_along_axis(x, indices, axis))


def test_take_along_axis_masked_and_flattened():
    """NumPy has no answer here."""
    assert gs.take_along_axis(MASKED, np.array([1, 0, 5]), None).tolist() == [None, 1, None]


def test_masked_arrays_have_no_single_plan():
    with pytest.raises(TypeError, match="data and mask"):
        gs.plan(gs.take, np.ma.array([1, 2]), [0])


class Labelled(np.ndarray):
    """A subclass that carries something along."""

    label = None

    def __array_finalize__(self, obj):
        self.label = getattr(obj, "label", None)


def test_subclasses_carry_on():
    x = np.arange(6.0).reshape(2, 3).view(Labelled)
    x.label = "metres"
    for result in (gs.take(x, [0, 1], 1), gs.take(x, np.array([0])), gs.take_along_axis(x, I2, 1)):
        assert type(result) is Labelled and result.label == "metres"
    assert type(gs.take(x, 0)) is type(np.take(x, 0)) is np.float64
    index = np.array([0, 1]).view(Labelled)
    assert type(gs.take(A, index)) is np.ndarray


def test_memmaps(tmp_path):
    x = np.memmap(tmp_path / "x", "i4", "w+", shape=(4,))
    x[:] = [3, 1, 4, 1]
    assert gs.take(x, np.array([2, 0])).tolist() == [4, 3]
    assert gs.take_along_axis(x, np.array([2, 0]), 0).tolist() == [4, 3]


class WithOwnTake(np.ndarray):
    def take(self, indices, axis=None, out=None, mode="raise"):
        return "its own", indices, axis, mode


class WithFunctions:
    """An array that answers NumPy's functions itself, without DLPack."""

    def __array_function__(self, function, kinds, args, kwargs):
        return "its own", function.__name__, args[1:], kwargs


def test_classes_with_their_own_answer():
    own = np.arange(3).view(WithOwnTake)
    assert gs.take(own, 1, 0, mode="wrap") == ("its own", 1, 0, "wrap") == np.take(own, 1, 0, mode="wrap")
    duck = WithFunctions()
    assert gs.take(duck, 1) == ("its own", "take", (1,), {"axis": None, "out": None, "mode": "raise"})
    assert gs.take_along_axis(duck, I2, 0) == ("its own", "take_along_axis", (I2, 0), {})
    for call in (
        lambda: gs.take(own, 1, bounds="fill"),
        lambda: gs.take(duck, 1, fill_value=0),
        lambda: gs.take(duck, 1, bounds="clip"),
        lambda: gs.take_along_axis(duck, I2, bounds="fill"),
        lambda: gs.take_along_axis(duck, I2, out=A),
    ):
        with pytest.raises(TypeError, match="only takes NumPy's arguments"):
            call()


# ---- pandas and the like are met, not needed


class Column:
    """As much of a pandas Series as an index needs."""

    ndim = 1

    def __array__(self, dtype=None, copy=None):
        return np.array([2, 0])


Column.__module__ = "pandas.core.series"


class Table(Column):
    ndim = 2


Table.__module__ = "pandas.core.frame"


def test_a_column_is_an_index_and_a_table_is_not():
    assert gs.take(np.arange(3), Column()).tolist() == [2, 0]
    assert gs.take_along_axis(np.arange(3), Column(), 0).tolist() == [2, 0]
    for call in (lambda: gs.take(A, Table()), lambda: gs.take(Table(), [0]), lambda: gs.take_along_axis(A, Table())):
        with pytest.raises(TypeError, match=r"gatherscatter\.table"):
            call()
