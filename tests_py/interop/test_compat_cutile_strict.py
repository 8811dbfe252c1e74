"""test_compat_cutile_strict.py: what gs.compat.cutile rejects (dtypes, ranks, casts, hints) and what it must accept."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.compat import cutile as ct

NUMPY_DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
NARROW_FLOATS = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"]
INDEX_DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- strictness: dtypes


def zeros(dtype: str):
    if dtype in NARROW_FLOATS:
        return np.zeros(4, getattr(pytest.importorskip("ml_dtypes"), dtype))
    return np.zeros(4, dtype)


@pytest.mark.parametrize("dtype", [*NUMPY_DTYPES, *NARROW_FLOATS])
def test_array_dtypes_that_cutile_has(dtype):
    array = zeros(dtype)
    one = np.ones(1, array.dtype)
    ct.scatter(array, np.array([2]), one)
    same(ct.gather(array, np.array([2, 9, -1]), padding_value=one), np.ones(3, array.dtype))
    same(ct.gather(array, np.array([2, 2])), np.ones(2, array.dtype))


@pytest.mark.parametrize("dtype", ["c8", "c16", "g", "m8[s]", "M8[D]", "S3", "U2", "V2", "i4,f4", "float8_e4m3b11fnuz"])
def test_array_dtypes_that_cutile_has_not(dtype):
    array = (
        np.zeros(4, pytest.importorskip("ml_dtypes").float8_e4m3b11fnuz) if dtype.startswith("float8") else zeros(dtype)
    )
    assert gs.tile_gather(array, np.array([0])).shape == (1,)  # the uniform call accepts it
    with pytest.raises(ct.TileTypeError, match="which cuTile does not have"):
        ct.gather(array, np.array([0]))
    before = array.tobytes()
    with pytest.raises(ct.TileTypeError, match="which cuTile does not have"):
        ct.scatter(array, np.array([0]), array[:1])
    assert array.tobytes() == before


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_index_dtypes(dtype):
    info = np.iinfo(dtype)
    array, index = np.arange(10.0, 15.0), np.array([0, 4, 5, 100, info.min, info.max], dtype)
    expected = [array[i] if 0 <= i < 5 else -1 for i in index.tolist()]
    assert ct.gather(array, index, padding_value=-1).tolist() == expected
    target = np.zeros(5)
    ct.scatter(target, index, np.arange(1.0, 7.0))
    assert target.tolist() == ([5 if dtype[0] == "u" else 1, 0, 0, 0, 2])


def test_index_dtypes_mix():
    array = np.arange(24.0).reshape(2, 3, 4)
    place = (np.array([[0], [1]], "u1"), np.array([2, -1, 0], "i2"), 3)
    assert ct.gather(array, place).tolist() == [[11, 0, 3], [23, 0, 15]]
    ct.scatter(array, place, 7)
    assert array[0, 2, 3] == array[1, 0, 3] == 7 and (array == 7).sum() == 5


WRONG_INDICES = [True, np.True_, 1.0, np.float32(1), np.array([1.0]), np.array([True]), [0], [1, 2], "1", None, (0,)]


@pytest.mark.parametrize("index", WRONG_INDICES, ids=repr)
def test_an_index_is_an_integer_scalar_or_array(index):
    array = np.arange(3)
    for call in (lambda: ct.gather(array, (index,)), lambda: ct.scatter(array, (index,), 0)):
        with pytest.raises(ct.TileTypeError, match="index"):
            call()
    assert array.tolist() == [0, 1, 2]


WRONG_MASKS = [1, 0, 1.0, "x", [True, False], [True], np.array([1, 0]), np.array([1.0, 0.0]), np.int8(1)]


@pytest.mark.parametrize("mask", WRONG_MASKS, ids=repr)
def test_a_mask_is_boolean(mask):
    array = np.arange(3)
    for call in (
        lambda: ct.gather(array, np.array([0, 1]), mask=mask),
        lambda: ct.scatter(array, np.array([0, 1]), 0, mask=mask),
    ):
        with pytest.raises(ct.TileTypeError, match="mask"):
            call()
    assert array.tolist() == [0, 1, 2]


CASTS = {
    "128 into int8": ("i1", 128, ct.TileValueError),
    "-1 into uint8": ("u1", -1, ct.TileValueError),
    "7.0 into int32": ("i4", 7.0, ct.TileTypeError),
    "2 into bool": ("?", 2, ct.TileTypeError),
    "1.0 into bool": ("?", 1.0, ct.TileTypeError),
    "1j into float32": ("f4", 1j, ct.TileTypeError),
    "int32 into int16": ("i2", np.array([1], "i4"), ct.TileTypeError),
    "uint8 into int16": ("i2", np.array([1], "u1"), ct.TileTypeError),
    "float64 into float32": ("f4", np.array([1.0]), ct.TileTypeError),
    "float32 into int64": ("i8", np.array([1], "f4"), ct.TileTypeError),
    "int8 into bool": ("?", np.array([1], "i1"), ct.TileTypeError),
    "None": ("f4", None, ct.TileTypeError),
    "a list": ("f4", [1.0], ct.TileTypeError),
    "True into float16": ("f2", True, None),
    "1 into bool": ("?", 1, None),
    "127 into int8": ("i1", 127, None),
    "uint64 into float16": ("f2", np.array([3], "u8"), None),
    "bool into uint8": ("u1", np.array([True]), None),
    "int16 into int64": ("i8", np.array([-3], "i2"), None),
    "float16 into float64": ("f8", np.array([0.5], "f2"), None),
}


@pytest.mark.parametrize("name", CASTS)
def test_padding_and_value_cast_implicitly(name):
    dtype, value, error = CASTS[name]
    array = np.zeros(3, dtype)
    if error is None:
        expected = np.asarray(value).reshape(1).astype(dtype)
        same(ct.gather(array, np.array([9]), padding_value=value), expected)
        ct.scatter(array, np.array([1]), value)
        same(array[1:2], expected)
        return
    for index in (0, 9):  # it is checked also if no point needs it
        with pytest.raises(error):
            ct.gather(array, np.array([index]), padding_value=value)
        with pytest.raises(error):
            ct.scatter(array, np.array([index]), value)
    assert not array.any()


# ---- strictness: ranks, lengths, hints


@pytest.mark.parametrize("indices", [np.array([0]), 0, (), (0,), (0, 0, 0), None])
def test_a_tuple_of_the_ranks_length(indices):
    array = np.zeros((2, 3))
    for call in (lambda: ct.gather(array, indices), lambda: ct.scatter(array, indices, 1)):
        with pytest.raises(ct.TileTypeError):
            call()
    assert not array.any()


@pytest.mark.parametrize("rank", range(7))
def test_every_rank(rank):
    array = np.arange(2**rank).reshape((2,) * rank)
    assert ct.gather(array, (1,) * rank) == 2**rank - 1
    ct.scatter(array, (0,) * rank, -1)
    assert array.flat[0] == -1
    with pytest.raises(ct.TileTypeError):
        ct.gather(array, (0,) * (rank + 1))


HINTS = [({"check_bounds": value}, ct.TileTypeError) for value in (1, 0, None, np.True_, "yes")]
HINTS += [({"latency": value}, ct.TileTypeError) for value in (1.0, True, "5", np.int64(5), [5])]
HINTS += [({"latency": value}, ct.TileValueError) for value in (0, 11, -1, 10**20)]


@pytest.mark.parametrize(("hint", "error"), HINTS, ids=[str(hint) for hint, _ in HINTS])
def test_hints(hint, error):
    array = np.arange(3)
    with pytest.raises(error, match=next(iter(hint))):
        ct.gather(array, 0, **hint)
    with pytest.raises(error, match=next(iter(hint))):
        ct.scatter(array, 0, 9, **hint)
    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize("array", [[1, 2, 3], 5, None, "abc"])
def test_an_array_is_expected(array):
    for call in (lambda: ct.gather(array, 0), lambda: ct.scatter(array, 0, 1)):
        with pytest.raises(ct.TileTypeError, match="expected an array"):
            call()


def test_a_target_that_cannot_be_written_to():
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    for target in (read_only, np.broadcast_to(np.zeros(1), 3)):
        with pytest.raises(ValueError):
            ct.scatter(target, 0, 1.0)
        assert not target.any()
