"""test_numpy_classes.py: masked arrays, matrices, other subclasses, and classes that implement the functions."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OutOfBoundsError
from numpy_answers import matrix

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
        # NumPy aligns the masks of indices and data at their last axes: here an error, and wrong for square arrays.
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
    """The result is that of indexing; numpy.take drops the masks of fields."""
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
    """NumPy raises an error here."""
    assert gs.take_along_axis(MASKED, np.array([1, 0, 5]), None).tolist() == [None, 1, None]


@pytest.mark.parametrize("condition", [[1], [0, 1], [1, 1], [], [0, 0], np.ma.array([1, 1], mask=[1, 0])], ids=repr)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_compress_masked(condition, axis):
    for x in (np.ma.array(MASKED, fill_value=77), np.ma.array(MASKED.data), np.ma.array(MASKED, hard_mask=True)):
        found, expected = gs.compress(condition, x, axis), np.compress(condition, x, axis)
        assert_same_masked(found, expected)
        assert found.hardmask == expected.hardmask


def test_compress_masked_into():
    out = np.ma.array([9, 9, 9])
    assert gs.compress([1, 1, 0, 0, 0, 1], MASKED, out=out) is out
    assert out.tolist() == [1, None, None]
    with pytest.raises(OutOfBoundsError):
        gs.compress([1, 1, 0, 0, 0, 0, 1], MASKED, out=out)
    assert out.tolist() == [1, None, None]


WRITTEN = {
    "number": 7,
    "list": [7, 8],
    "array": np.array([7, 8, 9]),
    "unmasked": np.ma.array([7, 8, 9]),
    "masked": np.ma.array([7, 8, 9], mask=[0, 1, 0]),
    "all masked": np.ma.array([7, 8, 9], mask=True),
    "masked constant": np.ma.masked,
    "empty": [],
}
TARGETS = {
    "soft": lambda: np.ma.array(MASKED, fill_value=77, copy=True),
    "hard": lambda: np.ma.array(MASKED, hard_mask=True, copy=True),
    "unmasked": lambda: np.ma.array(MASKED.data, copy=True),
    "unmasked and hard": lambda: np.ma.array(MASKED.data, copy=True, hard_mask=True),
    "one masked": lambda: np.ma.array(MASKED.data, mask=[[1, 0, 0], [0, 0, 0]], copy=True),
}


def written(put, make, *args):
    target = make()
    assert put(target, *args) is None
    return target


@pytest.mark.parametrize("indices", [0, [1, 5, 2], np.array([[0], [-2]]), [], [1, 1]], ids=repr)
@pytest.mark.parametrize("value", WRITTEN)
@pytest.mark.parametrize("target", TARGETS)
def test_put_masked(target, value, indices):
    make, values, count = TARGETS[target], WRITTEN[value], np.size(indices)
    if target == "hard":
        # NumPy confuses flat and other indices here, and pads values with zeros. So the expected array is written item
        # by item, with repeated values as for a soft mask.
        data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
        values = np.ma.array(np.resize(data, count), mask=np.resize(mask, count))
        expected = make()
        for index, item in zip(np.ravel(indices), values if data.size else [], strict=bool(data.size)):
            if not MASKED.mask.flat[index]:
                expected.flat[index] = item
        assert_same_masked(written(gs.put, make, indices, WRITTEN[value]), expected)
        return
    found, expected = written(gs.put, make, indices, values), written(np.put, make, indices, values)
    assert_same_masked(found, expected)
    assert (np.ma.getmask(found) is np.ma.nomask) == (np.ma.getmask(expected) is np.ma.nomask)


@pytest.mark.parametrize("value", [value for value in WRITTEN if value not in ("empty", "list")])
@pytest.mark.parametrize("target", TARGETS)
def test_put_along_axis_masked(target, value):
    make, values, indices = TARGETS[target], WRITTEN[value], np.array([[1, 0, 1], [2, 2, 0]])
    for axis, index in ((1, indices), (0, indices % 2)):
        found = written(gs.put_along_axis, make, index, values, axis)
        assert_same_masked(found, written(np.put_along_axis, make, index, values, axis))


def test_put_along_axis_masked_and_flattened():
    """NumPy writes to a copy here, so the target does not change."""
    x = TARGETS["soft"]()
    gs.put_along_axis(x, np.array([1, 0]), np.ma.array([7, 8], mask=[0, 1]), None)
    assert x.tolist() == [[None, 7, 3], [4, 5, None]]


@pytest.mark.parametrize("hard", [False, True])
def test_masked_writes_are_all_or_nothing(hard):
    x = np.ma.array(MASKED, hard_mask=hard, copy=True)
    for call in (
        lambda: gs.put(x, [1, 0, 99], np.ma.array([7, 8, 9], mask=[0, 1, 0])),
        lambda: gs.put_along_axis(x, np.array([[1, 0], [0, 9]]), np.ma.masked, 1),
        lambda: gs.put(x, [1, 0, -7], np.ma.masked),
    ):
        with pytest.raises(OutOfBoundsError):
            call()
    assert_same_masked(x, MASKED)
    gs.put(x, [1, 0, 99], np.ma.array([7, 8, 9], mask=[0, 1, 0]), bounds="drop")
    gs.put(x, [3, 99], [7, 8], mask=np.array([True, False]))
    assert x.tolist() == [[None, None if hard else 7, 3], [7, 5, None]]


def test_put_masked_records():
    """The result is that of assignment; numpy.put leaves a mask of another dtype, which breaks the array."""
    item = np.array((7, 8.0), [("a", int), ("b", float)])
    x, expected = (np.ma.array([(1, 2.0), (3, 4.0)], mask=[(0, 1), (1, 0)], dtype=item.dtype) for _ in range(2))
    gs.put(x, [0], item)
    expected[[0]] = item
    assert x.tolist() == expected.tolist() == [(7, 8), (None, 4)]
    x.harden_mask()
    with pytest.raises(TypeError, match="hard mask"):
        gs.put(x, [0], item)


def test_putmask_and_place_leave_the_mask_alone():
    for ours, numpys in ((gs.putmask, np.putmask), (gs.place, np.place)):
        make = TARGETS["soft"]
        found, expected = (written(call, make, MASKED.data > 2, [7, 8]) for call in (ours, numpys))
        assert found.data.tolist() == expected.data.tolist() and found.mask.tolist() == MASKED.mask.tolist()


def test_masked_arrays_have_no_single_plan():
    with pytest.raises(TypeError, match="data and mask"):
        gs.plan(gs.take, np.ma.array([1, 2]), [0])
    out = np.zeros(1, int)
    for call in (
        lambda: gs.plan(gs.take, MASKED, [0], out=out),
        lambda: gs.plan(gs.take_along_axis, MASKED, np.array([0]), None, out=out),
        lambda: gs.plan(gs.compress, [0, 1], MASKED, out=out),
    ):
        with pytest.raises(TypeError, match="data and mask"):
            call()
    assert out.tolist() == [0]
    for x in (np.ma.array([1.0, 2.0]), np.ma.array([1.0, 2.0], mask=[0, 1], hard_mask=True)):
        with pytest.raises(TypeError, match="data and mask"):
            gs.plan(gs.put, x, [0], 7)
        with pytest.raises(TypeError, match="data and mask"):
            gs.plan(gs.put_along_axis, x, np.array([0]), 7, 0)
        assert x.data.tolist() == [1, 2]


class Labelled(np.ndarray):
    """A subclass with an attribute that is passed on."""

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
    part = gs.compress([True, False, True], x, 1)
    assert type(part) is Labelled and part.label == "metres"
    gs.put(x, index, index)
    gs.put_along_axis(x, np.array([[2], [2]]), 9, 1)
    gs.putmask(x, x == 3, x)
    assert x.tolist() == [[0, 1, 9], [3, 4, 9]] and x.label == "metres"


def test_matrices():
    m = matrix([[1, 2], [3, 4]])
    assert gs.compress([1, 0, 1], m).tolist() == np.compress([1, 0, 1], m).tolist() == [[1, 3]]
    assert type(gs.compress([0, 1], m, 0)) is np.matrix
    gs.put(m, [1, -1], matrix([[7, 8]]))
    gs.putmask(m, m == 1, m + 4)
    gs.place(m, m == 3, 6)
    gs.put_along_axis(m, np.array([[0], [0]]), matrix([[0], [9]]), 1)
    assert m.tolist() == [[0, 7], [9, 8]]


def test_memmaps(tmp_path):
    x = np.memmap(tmp_path / "x", "i4", "w+", shape=(4,))
    x[:] = [3, 1, 4, 1]
    assert gs.take(x, np.array([2, 0])).tolist() == [4, 3]
    assert gs.take_along_axis(x, np.array([2, 0]), 0).tolist() == [4, 3]
    gs.put(x, [0, 3], [7, 8])
    x.flush()
    assert np.fromfile(tmp_path / "x", "i4").tolist() == [7, 1, 4, 8]
    with pytest.raises(ValueError, match="read-only"):
        gs.put(np.memmap(tmp_path / "x", "i4", "r"), [0], 1)


class WithOwnTake(np.ndarray):
    def take(self, indices, axis=None, out=None, mode="raise"):
        return "its own", indices, axis, mode

    def compress(self, condition, axis=None, out=None):
        return "its own", condition, axis


class WithOwnWrites(np.ndarray):
    calls: tuple = ()

    def put(self, indices, values, mode="raise"):
        self.calls += (("put", indices, values, mode),)

    def __setitem__(self, place, values):
        self.calls += (("set", values),)


class WithFunctions:
    """An array that implements NumPy's functions itself, without DLPack."""

    def __array_function__(self, function, kinds, args, kwargs):
        return "its own", function.__name__, args[1:], kwargs


def test_classes_with_their_own_answer():
    own = np.arange(3).view(WithOwnTake)
    assert gs.take(own, 1, 0, mode="wrap") == ("its own", 1, 0, "wrap") == np.take(own, 1, 0, mode="wrap")
    duck = WithFunctions()
    assert gs.take(duck, 1) == ("its own", "take", (1,), {"axis": None})
    assert gs.take_along_axis(duck, I2, 0) == ("its own", "take_along_axis", (I2, 0), {})
    assert gs.repeat(duck, 2, 0) == ("its own", "repeat", (2, 0), {})
    assert gs.roll(duck, 1, 0) == ("its own", "roll", (1, 0), {})
    assert gs.compress([1], own, 0) == ("its own", [1], 0) == np.compress([1], own, 0)
    for call in (
        lambda: gs.take(own, 1, bounds="fill"),
        lambda: gs.take(duck, 1, bounds="fill", fill_value=0),
        lambda: gs.take(duck, 1, bounds="clip"),
        lambda: gs.take_along_axis(duck, I2, bounds="fill"),
        lambda: gs.take_along_axis(duck, I2, out=A),
    ):
        with pytest.raises(TypeError, match="only takes NumPy's arguments"):
            call()


def test_classes_with_their_own_writes():
    own = np.arange(3).view(WithOwnWrites)
    gs.put(own, 1, 5, mode="clip")
    gs.put_along_axis(own, np.array([0]), 5, 0)
    assert own.calls == (("put", 1, 5, "clip"), ("set", 5))
    seen = []

    class Duck:
        def __array_function__(self, function, kinds, args, kwargs):
            seen.append((function.__name__, kwargs))

    duck = Duck()
    gs.put(duck, 1, 5, bounds="wrap")
    gs.put_along_axis(duck, I2, 5, 0)
    gs.putmask(duck, [True], 5)
    gs.place(duck, [True], 5)
    gs.compress([True], duck, axis=0)
    assert seen == [
        ("put", {"mode": "wrap"}),
        ("put_along_axis", {}),
        ("putmask", {}),
        ("place", {}),
        ("compress", {"axis": 0}),
    ]
    for call in (
        lambda: gs.put(own, 1, 5, bounds="drop"),
        lambda: gs.put(duck, 1, 5, mask=np.array(True)),
        lambda: gs.put(duck, 1, 5, bounds="clip"),
        lambda: gs.put_along_axis(duck, I2, 5, 0, bounds="drop"),
        lambda: gs.put_along_axis(own, I2, 5, 0, negative="out_of_bounds"),
    ):
        with pytest.raises(TypeError, match="only takes NumPy's arguments"):
            call()
    assert len(own.calls) == 2 and len(seen) == 5


# ---- pandas and similar libraries are recognised without an import


class Column:
    """The part of a pandas Series that an index needs."""

    ndim = 1
    dtype = np.dtype(np.int64)

    def __array__(self, dtype=None, copy=None):
        return np.array([2, 0])


Column.__module__ = "pandas.core.series"


class Table(Column):
    ndim = 2


Table.__module__ = "pandas.core.frame"


def test_a_column_is_an_index_and_a_table_is_not():
    assert gs.take(np.arange(3), Column()).tolist() == [2, 0]
    assert gs.take_along_axis(np.arange(3), Column(), 0).tolist() == [2, 0]
    a = np.zeros(3)
    gs.put(a, Column(), Column())
    gs.put_along_axis(a, Column(), 5, 0)
    gs.putmask(a, [0, 1, 0], Column())
    assert a.tolist() == [5, 0, 5] and gs.compress(Column(), a).tolist() == [5]
    for call in (lambda: gs.take(A, Table()), lambda: gs.take(Table(), [0]), lambda: gs.take_along_axis(A, Table())):
        with pytest.raises(TypeError, match=r"gatherscatter\.table"):
            call()
