"""test_tile_padding.py: the padding values that tile_gather casts to the dtype of its array, and those it rejects."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import TileTypeError, TileValueError


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- literals

NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


def literal_answer(dtype: np.dtype, value) -> type | None:
    """cuTile's rule for a literal in a second implementation: the error class, or None if the cast is allowed."""
    if dtype.kind == "b":
        return None if type(value) in (bool, int) and value in (0, 1) else TileTypeError
    rank = {"i": 1, "u": 1, "f": 2, "c": 3}[dtype.kind]
    if {bool: 0, int: 1, float: 2, complex: 3}[type(value)] > rank:
        return TileTypeError
    if rank == 1 and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return TileValueError
    return None


LITERALS = [True, False, 0, 1, 2, -1, 127, 128, -128, -129, 255, 256, 2**31, 2**63, 2**64 - 1, 7.0, 0.5, 1e300]
LITERALS += [float("inf"), float("nan"), 1j]


@pytest.mark.parametrize("value", LITERALS, ids=repr)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_literals(dtype, value):
    array = np.ones(3, dtype)
    expected = literal_answer(array.dtype, value)
    for index in (0, 9):  # it is checked also if no point needs it
        if expected is not None:
            with pytest.raises(expected):
                gs.tile_gather(array, [index], padding_value=value)
    if expected is None:
        with np.errstate(over="ignore"):
            same(gs.tile_gather(array, [9], padding_value=value), np.array([value]).astype(dtype))


def test_texts_of_errors_for_padding_that_does_not_fit():
    with pytest.raises(TileValueError, match="128 is out of range of int8"):
        gs.tile_gather(np.zeros(3, "i1"), 0, padding_value=128)
    with pytest.raises(TileTypeError, match=r"cannot implicitly cast padding_value 7\.0 to int32"):
        gs.tile_gather(np.zeros(3, "i4"), 0, padding_value=7.0)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**400])
def test_literals_beyond_64_bits(value):
    with pytest.raises(TileValueError, match="out of range"):
        gs.tile_gather(np.zeros(3), 0, padding_value=value)


@pytest.mark.parametrize("value", [None, "x", b"x", [0, 1], (0,), object, datetime.date(2020, 1, 1)], ids=repr)
def test_what_is_no_padding_for_numbers(value):
    with pytest.raises(TileTypeError, match="cannot implicitly cast"):
        gs.tile_gather(np.zeros(3), 0, padding_value=value)


# ---- typed values. cuTile's promotion table: the common dtype of row and column, "-" where there is none.

PROMOTIONS = """
          bool  uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 bfloat16
bool      bool  uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 bfloat16
uint8     uint8 uint8 uint16 uint32 uint64 -    -     -     -     float16 float32 float64 bfloat16
uint16    uint16 uint16 uint16 uint32 uint64 - -   -     -     float16 float32 float64 bfloat16
uint32    uint32 uint32 uint32 uint32 uint64 - -   -     -     float16 float32 float64 bfloat16
uint64    uint64 uint64 uint64 uint64 uint64 - -   -     -     float16 float32 float64 bfloat16
int8      int8  -     -      -      -      int8 int16 int32 int64 float16 float32 float64 bfloat16
int16     int16 -     -      -      -      int16 int16 int32 int64 float16 float32 float64 bfloat16
int32     int32 -     -      -      -      int32 int32 int32 int64 float16 float32 float64 bfloat16
int64     int64 -     -      -      -      int64 int64 int64 int64 float16 float32 float64 bfloat16
float16   float16 float16 float16 float16 float16 float16 float16 float16 float16 float16 float32 float64 -
float32   float32 float32 float32 float32 float32 float32 float32 float32 float32 float32 float32 float64 float32
float64   float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64
bfloat16  bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 - float32 float64 bfloat16
"""
_HEAD, *_LINES = (line.split() for line in PROMOTIONS.strip().splitlines())
COMMON = {(line[0], column): common for line in _LINES for column, common in zip(_HEAD, line[1:], strict=True)}
NARROW = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"]


def dtype_of(name):
    return np.dtype(getattr(pytest.importorskip("ml_dtypes"), name) if "bf" in name or name in NARROW else name)


@pytest.mark.parametrize("target", _HEAD)
@pytest.mark.parametrize("source", _HEAD)
def test_typed_padding(source, target):
    array = np.ones(3, dtype_of(target))
    padding = np.array([0, 1, 1]).astype(dtype_of(source))
    index = np.array([7, -1, 0])
    for value in (padding, padding[1], padding[1:2].reshape(())):  # tiles, NumPy scalars and 0-d arrays are all typed
        if COMMON[source, target] == target:
            result = gs.tile_gather(array, index, padding_value=value)
            expected = np.broadcast_to(value, 3).astype(array.dtype)
            assert result.dtype == array.dtype and result.tolist() == [*expected[:2].tolist(), array[0].item()]
        else:
            with pytest.raises(TileTypeError, match="cannot implicitly cast"):
                gs.tile_gather(array, np.zeros(3, int), padding_value=value)


@pytest.mark.parametrize("narrow", NARROW)
def test_narrow_floats_take_only_themselves_and_literals(narrow):
    array = np.ones(3, dtype_of(narrow))
    for own in (np.full(1, 2, array.dtype), np.array(2, array.dtype), array.dtype.type(2)):
        same(gs.tile_gather(array, [9], padding_value=own), np.full(1, 2, array.dtype))
    same(gs.tile_gather(array, [9], padding_value=2.0), np.full(1, 2, array.dtype))
    for other in ("float32", "bool", "int8"):
        with pytest.raises(TileTypeError):
            gs.tile_gather(array, [9], padding_value=np.ones(1, other))
        with pytest.raises(TileTypeError):
            gs.tile_gather(np.ones(3, other), [9], padding_value=np.ones(1, array.dtype))
    for other in NARROW:
        if other != narrow:
            with pytest.raises(TileTypeError):
                gs.tile_gather(array, [9], padding_value=dtype_of(other).type(2))


WIDENS = [("f2", "c8"), ("f4", "c8"), ("f8", "c16"), ("i8", "c8"), ("?", "c8"), ("c8", "c16"), ("f8", "g"), ("g", "G")]
NARROWS = [("f8", "c8"), ("c16", "c8"), ("c8", "f8"), ("c8", "?"), ("g", "f8"), ("G", "c16")]


@pytest.mark.parametrize(
    ("source", "target", "allowed"), [(*pair, True) for pair in WIDENS] + [(*pair, False) for pair in NARROWS]
)
def test_complex_numbers_continue_the_rules(source, target, allowed):
    array, padding = np.zeros(2, target), np.ones(1, source)
    if allowed:
        same(gs.tile_gather(array, [9], padding_value=padding), padding.astype(target))
    else:
        with pytest.raises(TileTypeError):
            gs.tile_gather(array, [9], padding_value=padding)


@pytest.mark.parametrize(("array", "padding"), [(">f4", "<f4"), ("<i2", ">i2"), (">f8", ">i4"), (">f4", ">f4")])
def test_byte_order_is_no_other_dtype(array, padding):
    result = gs.tile_gather(np.arange(3, dtype=array), [9, 2, -1], padding_value=np.array([5, 6, 7], padding))
    assert result.dtype == np.dtype(array) and result.tolist() == [5, 2, 7]


# ---- dtypes without numbers

RECORD = np.dtype([("a", "i4"), ("b", "S2")])
WITHOUT_NUMBERS = {
    "datetime": (np.array(["2020-01-01", "NaT"], "M8[s]"), np.datetime64("2021-02-03"), np.datetime64(5, "ms")),
    "timedelta": (np.array([1, 2], "m8[s]"), np.timedelta64(2, "m"), np.timedelta64(2, "ms")),
    "bytes": (np.array([b"ab", b"c"]), b"xy", b"xyz"),
    "str": (np.array(["ab", "c"]), "xy", "xyz"),
    "void": (np.array([b"ab", b"cd"], "V2"), np.void(b"xy"), b"xyz"),
    "record": (np.array([(1, b"a"), (2, b"b")], RECORD), (7, b"xy"), (7, b"xyz")),
}


@pytest.mark.parametrize("kind", WITHOUT_NUMBERS)
def test_padding_of_dtypes_without_numbers(kind):
    array, good, lossy = WITHOUT_NUMBERS[kind]
    zero = np.zeros((), array.dtype)
    for default in (gs.tile_gather(array, [9, 1]), gs.tile_gather(array, [9, 1], padding_value=0)):
        assert default.tobytes() == zero.tobytes() + array[1:].tobytes()
    one = np.array(good, array.dtype)
    for padding in (good, one, one[()], np.array([good, good], array.dtype)):
        result = gs.tile_gather(array, [9, 1], padding_value=padding)
        assert result.dtype == array.dtype and result.tobytes() == one.tobytes() + array[1:].tobytes()
    for wrong in (lossy, 1, 0.0, True, None, object(), np.zeros(2), np.int8(0), np.zeros(2, "V3")):
        with pytest.raises(TileTypeError, match="cannot implicitly cast"):
            gs.tile_gather(array, [9, 1], padding_value=wrong)


def test_records_of_one_size_are_not_one_dtype():
    array = np.zeros(2, RECORD)
    with pytest.raises(TileTypeError):
        gs.tile_gather(array, [9, 9], padding_value=np.zeros(2, [("x", "i2"), ("y", "V4")]))


# ---- other libraries


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_torch_padding_casts_as_elsewhere(dtype):
    torch = pytest.importorskip("torch")
    array = torch.ones(3).to(getattr(torch, dtype))
    for source in ("bool", "uint8", "int8", "int64", "float32", "bfloat16"):
        padding = torch.tensor([1, 0]).to(getattr(torch, source))
        if dtype == "complex64" or COMMON[source, dtype] == dtype:
            result = gs.tile_gather(array, [9, 9], padding_value=padding)
            assert result.dtype is array.dtype and result.tolist() == [1, 0]
        else:
            with pytest.raises(TileTypeError):
                gs.tile_gather(array, [9, 9], padding_value=padding)


def test_torch_literals():
    torch = pytest.importorskip("torch")
    for dtype, value, error in [
        (torch.int8, 128, TileValueError),
        (torch.int8, 7.0, TileTypeError),
        (torch.bool, 2, TileTypeError),
        (torch.float32, 1j, TileTypeError),
        (torch.uint64, -1, TileValueError),
    ]:
        with pytest.raises(error):
            gs.tile_gather(torch.zeros(3, dtype=dtype), 0, padding_value=value)
    assert gs.tile_gather(torch.zeros(3, dtype=torch.float8_e4m3fn), [9], padding_value=1.5).float().tolist() == [1.5]
    assert gs.tile_gather(torch.zeros(3, dtype=torch.float16), [9], padding_value=1e300).tolist() == [np.inf]


def test_libraries_mix_in_bfloat16():
    torch = pytest.importorskip("torch")
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    numpy_array, tensor = np.array([1.5, 2.5], bfloat16), torch.tensor([1.5, 2.5], dtype=torch.bfloat16)
    result = gs.tile_gather(numpy_array, [0, 9], padding_value=tensor)
    assert result.dtype == bfloat16 and result.tolist() == [1.5, 2.5]
    assert gs.tile_gather(tensor, [0, 9], padding_value=numpy_array).tolist() == [1.5, 2.5]
    assert gs.tile_gather(tensor.double(), [0, 9], padding_value=numpy_array).tolist() == [1.5, 2.5]


@pytest.mark.parametrize("spread", ["broadcast", "repeated rows", "rows of another array"])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16])
def test_columns_of_one_array_may_step_through_its_rows_differently(spread, dtype):
    table = np.random.default_rng(0).integers(0, 50, (6, 1000, 2)).astype(dtype)
    table[3:, :, 1] = 60  # outside of the second axis below; no row from here on belongs to the index
    second = {
        "broadcast": table[0, :, 1],
        "repeated rows": np.broadcast_to(table[0, :, 1], (3, 1000)),
        "rows of another array": table[2::-1, :, 1],
    }[spread]
    index, x = (table[:3, :, 0], second), np.arange(3000).reshape(50, 60)
    np.testing.assert_array_equal(gs.tile_gather(x, index, check_bounds=False), x[index])
    np.testing.assert_array_equal(gs.tile_gather(x[:, :50], index), x[index])
    target = np.zeros_like(x)
    gs.tile_scatter(target, index, np.broadcast_to(np.array(7), (3, 1000)))
    expected = np.zeros_like(x)
    expected[index] = 7
    np.testing.assert_array_equal(target, expected)
