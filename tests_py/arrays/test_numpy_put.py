"""test_numpy_put.py: put, put_along_axis, putmask and place write what NumPy's do, with its errors; extensions."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OutOfBoundsError
from layouts import DTYPES, random_items
from numpy_answers import INDICES, OWN_WORDS, assert_numpys_write, matrix, memory, outcome
from numpy_put_arrays import WRITABLE, room, zeros

# ---- the forms that indices, values and masks may take

# NumPy rejects these, because they do not cast to int64 safely; gatherscatter compares them at full width.
WIDER = {"unsigned"}


@pytest.mark.parametrize("kind", [kind for kind in INDICES if kind not in OWN_WORDS | WIDER])
def test_put_indices(kind):
    assert_numpys_write(gs.put, np.put, zeros(), INDICES[kind], [1.5, 2.5, 3.5])
    assert_numpys_write(gs.put, np.put, zeros(), INDICES[kind], 7, mode="clip")


@pytest.mark.parametrize("kind", sorted(OWN_WORDS))
def test_put_of_no_indices_at_all(kind):
    for put in (np.put, gs.put):
        with pytest.raises(TypeError):
            put(np.zeros(3), INDICES[kind], 1)


def test_put_takes_uint64_at_full_width():
    a = np.zeros(3)
    gs.put(a, np.array([2, 0], "u8"), [1, 2])
    assert a.tolist() == [2, 0, 1]
    with pytest.raises(OutOfBoundsError, match=f"index {2**64 - 1} is out of bounds for axis 0 with size 3"):
        gs.put(a, np.array([2**64 - 1], "u8"), 1)


VALUES = {
    "int": 7,
    "negative": -1,
    "float": 1.5,
    "bool": True,
    "complex": 1j,
    "large": 300,
    "huge": 2**70,
    "infinity": float("inf"),
    "None": None,
    "string": "12",
    "word": "word",
    "bytes": b"12",
    "list": [1, 2, 3],
    "list of floats": [1.5, 2.5],
    "list of strings": ["1", "2"],
    "nested": [[1, 2], [3, 4]],
    "ragged": [[1], [2, 3]],
    "tuple": (1, 2),
    "range": range(1, 4),
    "empty": [],
    "dict": {},
    "0-d": np.array(1.5),
    "numpy float": np.float64(1.5),
    "numpy int": np.int8(-1),
    "ints": np.array([1, 2, 3]),
    "small ints": np.array([1, 2], "i1"),
    "floats": np.array([1.5, -2.5]),
    "complexes": np.array([1j]),
    "bools": np.array([True, False]),
    "swapped": np.array([1, 2], ">f4"),
    "strings": np.array(["1", "22"]),
    "bytes array": np.array([b"1", b"22"]),
    "objects": np.array([1, 2.5], object),
    "dates": np.array(["2024-02-29"], "M8[D]"),
    "date": np.datetime64("2024-02-29"),
    "durations": np.array([1, 2], "m8[m]"),
    "records": np.array([(1, 2)], "i4,f8"),
    "void": np.zeros(2, "V3"),
    "matrix": matrix([[1, 2]]),
    "masked": np.ma.array([1, 2], mask=[0, 1]),
    "memoryview": memoryview(b"\1\2"),
    "empty ints": np.zeros((0, 2), int),
    "empty floats": np.zeros(0),
}
CASTS_WARN = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
TARGETS = ["?", "i1", "u8", "f2", "f8", "c8", "S3", "U2", "V3", "M8[s]", "m8[s]", ">i4", "i4,f8", "c", "g"]


@CASTS_WARN
@pytest.mark.parametrize("dtype", TARGETS)
@pytest.mark.parametrize("kind", VALUES)
def test_values(kind, dtype):
    make, values = zeros((2, 3), dtype), VALUES[kind]
    assert_numpys_write(gs.put, np.put, make, [4, 1, 2, 0], values)
    assert_numpys_write(gs.putmask, np.putmask, make, [1, 1, 0, 1, 0, 1], values)
    assert_numpys_write(gs.place, np.place, make, [1, 1, 0, 1, 0, 1], values)


@pytest.mark.parametrize("dtype", TARGETS)
@pytest.mark.parametrize("kind", VALUES)
@CASTS_WARN
def test_values_along(kind, dtype):
    make, values, indices = zeros((2, 3), dtype), VALUES[kind], np.array([[0, 2], [1, 1]])
    expected = outcome(np.put_along_axis, make(), indices, values, 1)
    if isinstance(expected, Exception):  # an assignment has other texts for some errors
        target = make()
        with pytest.raises(type(expected)):
            gs.put_along_axis(target, indices, values, 1)
        assert memory(target) == memory(make())
    else:
        assert_numpys_write(gs.put_along_axis, np.put_along_axis, make, indices, values, 1)


def test_casts_warn_as_numpys_do():
    for put, put_along_axis in ((np.put, np.put_along_axis), (gs.put, gs.put_along_axis)):
        with pytest.warns(np.exceptions.ComplexWarning):
            put(np.zeros(2), [0], np.array([1j]))
        with pytest.warns(np.exceptions.ComplexWarning):
            put_along_axis(np.zeros(2), np.array([0]), np.array([1j]), 0)
        with pytest.warns(RuntimeWarning, match="invalid value"):
            put(np.zeros(2, int), [0], np.array([np.nan]))


MASKS = {
    "bools": np.array([[True, False, True], [False, False, True]]),
    "flat": np.array([True, False, True, False, False, True]),
    "other shape": np.array([[1, 0], [1, 0], [0, 1]]),
    "list": [1, 0, 0, 2, 0, 1],
    "floats": [0.5, 0, np.nan, -0.0, 1, 0],
    "strings": ["a", "", "b", "", "", "0"],
    "string array": np.array(["a", "", "b", "", "", "0"]),
    "objects": np.array([None, 1, "x", "", 0, []], object),
    "masked": np.ma.array([1, 0, 1, 0, 0, 1], mask=[1, 1, 0, 0, 0, 0]),
    "matrix": matrix([[1, 0, 0, 1, 1, 0]]),
    "dates": np.array([0, 1, 2, 0, 0, 0], "M8[s]"),
    "all": [1] * 6,
    "none": [0] * 6,
    "too short": [1, 0],
    "one": [1],
    "scalar": True,
    "empty": [],
    "ragged": [[1, 0], [1]],
    "None": None,
}


@pytest.mark.parametrize("values", [5, [1, 2], [1, 2, 3, 4, 5, 6, 7], [], np.array([2.5])], ids=repr)
@pytest.mark.parametrize("kind", MASKS)
def test_masks(kind, values):
    assert_numpys_write(gs.putmask, np.putmask, zeros(), MASKS[kind], values)
    assert_numpys_write(gs.place, np.place, zeros(), MASKS[kind], values)
    for layout in WRITABLE:
        assert_numpys_write(gs.putmask, np.putmask, room(layout=layout), MASKS[kind], values)
        assert_numpys_write(gs.place, np.place, room(layout=layout), MASKS[kind], values)


MODES = ["raise", "wrap", "clip", 0, 1, 2, None, np.int64(1), np.str_("clip"), b"clip"]
MODES += ["ra", "Raise", "CLIP", "x", "", b"c", True, 1.0, [], "\xe4"]


@pytest.mark.parametrize("values", [[0, 1], [-1, 5], [-100, 100, 7], 9], ids=repr)
@pytest.mark.parametrize("mode", MODES, ids=repr)
def test_put_modes(mode, values):
    for indices in (values, np.array(values)):
        assert_numpys_write(gs.put, np.put, room(), indices, [1, 2], mode)


def test_put_wrap_is_a_modulo():
    far = np.array([2**62, -(2**62) - 1, 2**63 - 1, -(2**63)])
    a = np.zeros(7)
    gs.put(a, far, [1, 2, 3, 4], mode="wrap")
    expected = np.zeros(7)
    expected[[int(i) % 7 for i in far]] = [1, 2, 3, 4]
    assert a.tolist() == expected.tolist()


def test_signatures_are_numpys():
    a = np.zeros(3)
    gs.put(a=a, ind=[1, 5], v=4, mode="wrap")
    gs.put_along_axis(arr=a, indices=np.array([0]), values=8, axis=0)
    assert a.tolist() == [8, 4, 4]
    gs.putmask(a, mask=[0, 0, 1], values=9)
    gs.place(arr=a, mask=[1, 0, 0], vals=7)
    assert a.tolist() == [7, 4, 9]
    for call in (
        lambda: gs.putmask(a=a, mask=[1, 0, 0], values=1),
        lambda: gs.put_along_axis(a, np.array([0]), 1),
        lambda: gs.put(a, [0], 1, "raise", "drop"),
    ):
        with pytest.raises(TypeError):
            call()


# ---- shapes, strides, dtypes


@pytest.mark.parametrize("layout", WRITABLE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout(dtype, layout):
    make = room((3, 4), DTYPES[dtype], layout)
    values = random_items((5,), DTYPES[dtype], np.random.default_rng(2))
    indices, along = np.array([[0, 11, -2], [5, 5, -12]]), np.array([[0, 3, 3], [-1, 2, 1], [0, 0, -4]])
    spread = random_items((3, 1), DTYPES[dtype], np.random.default_rng(3))
    mask = np.arange(12) % 3 != 1
    for mode in ("raise", "wrap", "clip"):
        assert_numpys_write(gs.put, np.put, make, indices, values, mode)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, make, along, spread, 1)
    assert_numpys_write(gs.putmask, np.putmask, make, mask, values)
    assert_numpys_write(gs.place, np.place, make, mask, values)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 24])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 6), (3, 1, 2), ()])
def test_values_begin_anew(shape, count):
    """In C order for values of any shape."""
    indices = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)[..., ::-1] if shape else np.array(4)
    values = np.arange(100.0, 100 + count)
    for own in (values, values.reshape(1, -1), values.reshape(-1, 1), values[::-1], np.asfortranarray([values] * 2)):
        assert_numpys_write(gs.put, np.put, zeros((3, 4)), indices, own)
        assert_numpys_write(gs.putmask, np.putmask, zeros((3, 4)), np.arange(12) % 5 != 2, own)
        assert_numpys_write(gs.place, np.place, zeros((3, 4)), np.arange(12) % 5 != 2, own)


def test_random_puts():
    rng = np.random.default_rng(7)
    for _ in range(300):
        rank = int(rng.integers(0, 5))
        shape = tuple(rng.integers(1, 5, rank))
        order = rng.permutation(rank)

        def make(shape=shape, order=order):
            array = np.arange(2 * np.prod(shape, dtype=int)).reshape((*shape, 2))[..., 0].transpose(order)
            return array[::-1] if array.ndim else array

        n, mode = make().size, str(rng.choice(["raise", "wrap", "clip"]))
        span = n if mode == "raise" and rng.random() < 0.8 else 3 * n
        indices = rng.integers(-span, span, tuple(rng.integers(0, 5, int(rng.integers(0, 3)))))
        values = rng.integers(-99, 0, tuple(rng.integers(0, 5, int(rng.integers(0, 3)))))
        assert_numpys_write(gs.put, np.put, make, indices, values, mode)


def test_random_puts_along_axis():
    rng = np.random.default_rng(8)
    for _ in range(300):
        shape = rng.integers(1, 5, int(rng.integers(1, 5)))
        axis = int(rng.integers(-len(shape), len(shape)))
        index_shape = np.where(rng.random(len(shape)) < 0.2, 1, shape)
        target_shape = np.where(rng.random(len(shape)) < 0.2, 1, shape)
        target_shape[axis], index_shape[axis] = shape[axis], rng.integers(0, 5)
        full = np.broadcast_shapes(tuple(np.delete(target_shape, axis)), tuple(np.delete(index_shape, axis)))
        full = tuple(np.insert(np.array(full, int), axis % len(shape), index_shape[axis]))
        values = rng.integers(-99, 0, tuple(1 if rng.random() < 0.3 else n for n in full[int(rng.integers(0, 3)) :]))
        span = shape[axis] if rng.random() < 0.8 else 2 * shape[axis]
        indices = rng.integers(-span, span, tuple(index_shape))
        make = room(tuple(target_shape), "i4", str(rng.choice(WRITABLE)))
        expected = outcome(np.put_along_axis, make(), indices, values, axis)
        if isinstance(expected, Exception):  # NumPy may find another bad index first
            target = make()
            with pytest.raises(OutOfBoundsError):
                gs.put_along_axis(target, indices, values, axis)
            assert isinstance(expected, IndexError) and memory(target) == memory(make())
        else:
            assert_numpys_write(gs.put_along_axis, np.put_along_axis, make, indices, values, axis)


def test_scalars_and_arrays_without_elements():
    for shape in ((), (1,), (0,), (2, 0)):
        for indices in (0, [0], [], -1, 1, [[0, 0]], np.zeros((0, 3), int)):
            for values in (5, [], [1, 2]):
                for mode in ("raise", "wrap", "clip"):
                    assert_numpys_write(gs.put, np.put, zeros(shape), indices, values, mode)
        for mask in (True, [True], [], [[False]]):
            for values in (5, [], [1, 2]):
                assert_numpys_write(gs.putmask, np.putmask, zeros(shape), mask, values)
                assert_numpys_write(gs.place, np.place, zeros(shape), mask, values)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros((2, 0)), np.zeros((2, 0), int), 5, 1)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros((2, 3)), np.zeros((2, 0), int), 5, 1)


def test_an_array_without_elements_drops_everything():
    a = np.zeros((2, 0))
    gs.put(a, [0, 5], 1, bounds="drop")
    gs.put(a, [0, 5], 1, mask=np.zeros(2, bool))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("size", [1000, 400_000])
def test_the_last_of_many_values_stays(size, threads):
    """For any number of threads, and from a few targets with many points each to as many targets as points."""
    rng = np.random.default_rng(size)
    with gs.thread_limit(threads):
        for targets in (3, size // 7, size):
            make, indices = zeros(targets, "i4"), rng.integers(-targets, targets, size)
            assert_numpys_write(gs.put, np.put, make, indices, np.arange(size))
            assert_numpys_write(gs.put, np.put, make, indices, np.arange(size // 3), "wrap")
            assert_numpys_write(gs.put_along_axis, np.put_along_axis, make, indices, np.arange(size), 0)
            rows = zeros((40, targets // 3 + 1), "i4")
            along = rng.integers(0, targets // 3 + 1, (40, size // 40))
            assert_numpys_write(gs.put_along_axis, np.put_along_axis, rows, along, np.arange(size // 40), 1)
        mask = rng.random(size) < 0.5
        assert_numpys_write(gs.putmask, np.putmask, zeros(size, "i8"), mask, np.arange(size // 3))
        assert_numpys_write(gs.place, np.place, zeros(size, "i8"), mask, np.arange(size // 3))


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("count", [1, 2, 3000, 8400, 9000])
def test_place_by_a_mask_that_is_true_everywhere(count, layout):
    """Values repeat in C order, whatever the order of the target in memory is."""
    for values in (np.arange(float(count)), np.arange(count).reshape(-1, 1)):
        results = []
        for place in (gs.place, np.place):
            a = np.zeros((60, 70, 4))
            a = {"C": a, "F": np.asfortranarray(a), "strided": a[::2, ::-1]}[layout]
            place(a, np.ones(a.shape, int), values)
            results.append(a)
        np.testing.assert_array_equal(*results)
    with pytest.raises(ValueError, match="empty"):
        gs.place(np.zeros(3), [1, 1, 1], [])
