"""test_fill.py: which fill values a dtype accepts, and that padding has exactly that dtype in the input's library."""

from __future__ import annotations

import datetime
import types

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._values.fill import as_fill

INF, NAN = float("inf"), float("nan")

FITS = {
    "int8": [0, 127, -128, 7.0, True, np.int64(5), np.float32(3), np.array(7), np.uint64(9)],
    "uint8": [255, 0, 255.0, np.int8(3)],
    "int64": [2**63 - 1, -(2**63), 2.0**62],
    "uint64": [2**64 - 1, 2.0**63],
    "bool": [0, 1, True, False, 1.0, np.True_, np.int8(1)],
    "float16": [65504, 65519, -65504.0, 0.1, 1e-30, INF, -INF, NAN],
    "float32": [1, 0.1, 3.4028235e38, 2**24 + 1, INF, NAN, np.float64(2), np.longdouble(3), np.bool_(True), -0.0],
    "float64": [1e308, 2**53 + 1, INF, NAN, np.float16(1)],
    "longdouble": [2**60 + 1, np.longdouble("1e400"), NAN],
    ">f8": [1.5],
    ">i4": [-2],
    "complex64": [1, 0.5, 1j, complex(NAN, INF), True, np.complex128(2)],
    "complex128": [1e308j, np.clongdouble(1)],
    "clongdouble": [np.clongdouble(1), 2],
}

MISFITS = {
    "int8": [
        128,
        -129,
        7.5,
        NAN,
        INF,
        -INF,
        1j,
        1 + 0j,
        "a",
        "1",
        b"1",
        None.__class__,
        10**30,
        np.array([7]),
        (1,),
        [],
    ],
    "uint8": [256, -1, -1.0],
    "int64": [2**63, -(2**63) - 1, 2.0**63],
    "uint64": [2**64, -1, 2.0**64],
    "bool": [2, -1, 0.5, NAN, 1j, "True"],
    "float16": [65520, 1e5, -1e5, 10**400],
    "float32": [1e300, -1e300, 10**400, 3.5e38, 1j, "1.0", np.float64(1e39), np.longdouble("1e400")],
    "float64": [10**400, -(10**400), 1j, np.longdouble("1e400")],
    "complex64": [1e300, 1e300j, 10**400, "1j"],
}

ML_FITS = {
    "bfloat16": [1, 0.1, 3.39e38, INF, NAN],
    "float8_e4m3fn": [448, 460, -448, 0.3, NAN],
    "float8_e5m2": [57344, INF, NAN],
    "float8_e8m0fnu": [1, 300, 2.0**-100],
    "float4_e2m1fn": [6, 6.5, -6, 0.1],
    "int4": [7, -8, 3.0],
    "uint4": [15, 0],
}
ML_MISFITS = {
    "bfloat16": [1e39, 1j, "1", 10**40, 10**400],
    "float8_e4m3fn": [500, INF, -INF, 1e30, 2**70],
    "float8_e5m2": [1e9],
    "float8_e8m0fnu": [0, -1, INF],
    "float4_e2m1fn": [7, 100, INF, NAN],
    "int4": [8, -9, 2.5, NAN],
    "uint4": [16, -1],
}

RECORD = np.dtype([("a", "i1"), ("b", ">f4", (2,)), ("c", [("d", "S2"), ("e", "M8[s]")])])
DAY = np.datetime64("2020-01-02")
UNITLESS = np.timedelta64(5, "s").astype("m8")  # NumPy 2.5 warns of its constructor

OTHERS_FIT = {
    "M8[s]": [
        DAY,
        np.datetime64("NaT", "s"),
        datetime.datetime(2020, 1, 2, 3),
        datetime.date(2020, 1, 2),
        np.array(DAY),
    ],
    "M8[D]": [np.datetime64("2020-01-02T00:00:00")],
    ">M8[s]": [DAY],
    "m8[s]": [np.timedelta64(1, "D"), UNITLESS, datetime.timedelta(seconds=3), np.timedelta64("NaT", "s")],
    "S3": [b"", b"abc", np.bytes_(b"x"), np.array(b"ab")],
    "U2": ["", "ab", "é", np.str_("x")],
    ">U2": ["ab"],
    "V4": [b"abcd", b"ab", np.void(b"abcd")],
}
OTHERS_MISFIT = {
    "M8[s]": [1, True, 0.0, "2020", DAY.astype("M8[ms]") + np.timedelta64(1, "ms"), UNITLESS, b""],
    "M8[D]": [np.datetime64("2020-01-02T00:00:01"), datetime.datetime(2020, 1, 2, 3)],
    "M8[ns]": [np.datetime64("9999-01-01"), datetime.date(9999, 1, 1)],
    "m8[s]": [5, 0.5, np.timedelta64(1, "ms"), np.datetime64("NaT", "s"), "1"],
    "S3": [b"abcd", "abc", 1, None.__class__],
    "U2": ["abc", b"ab", 1],
    "V4": [b"abcde", "ab", 1, np.void(b"abcde")],
}


def cases(table):
    return [pytest.param(dtype, value, id=f"{dtype}-{value!r:.40}") for dtype in table for value in table[dtype]]


def held_by(dtype: np.dtype, value):
    """The value converted to the dtype. NumPy reads long doubles and arrays only through an array."""
    with np.errstate(over="ignore"):
        return np.array(value).astype(dtype) if isinstance(value, np.generic | np.ndarray) else np.array(value, dtype)


def check_fits(dtype: np.dtype, value):
    fill = as_fill("gather", np.zeros(2, dtype), value)
    assert isinstance(fill, np.ndarray) and fill.shape == () and fill.dtype == dtype
    assert repr(fill.item()) == repr(held_by(dtype, value).item())  # NaN and -0.0 included


@pytest.mark.parametrize(("dtype", "value"), cases(FITS | OTHERS_FIT))
def test_fits(dtype, value):
    check_fits(np.dtype(dtype), value)


@pytest.mark.parametrize(("dtype", "value"), cases(MISFITS | OTHERS_MISFIT))
def test_does_not_fit(dtype, value):
    with pytest.raises(ValueError, match=r"gather: fill_value .* does not fit dtype"):
        as_fill("gather", np.zeros(2, dtype), value)


@pytest.mark.parametrize(("dtype", "value"), cases(ML_FITS))
def test_ml_dtypes_fits(dtype, value):
    check_fits(np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype)), value)


@pytest.mark.parametrize(("dtype", "value"), cases(ML_MISFITS))
def test_ml_dtypes_does_not_fit(dtype, value):
    with pytest.raises(ValueError, match="does not fit dtype"):
        as_fill("gather", np.zeros(2, getattr(pytest.importorskip("ml_dtypes"), dtype)), value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, -(2**100), 2**127, np.uint64(2**64 - 1)])
def test_integers_of_more_than_64_bits_fit_a_bfloat16(value):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    fill = as_fill("gather", np.zeros(2, bfloat16), value)
    assert fill.shape == () and fill.dtype == bfloat16 and fill == bfloat16(float(value))


MOMENTS = ["M8[s]", "M8[D]", ">M8[ns]", "m8[us]", [("a", "M8[s]"), ("b", "i4"), ("c", [("d", "m8[D]", 2)])]]


@pytest.mark.parametrize("dtype", MOMENTS, ids=str)
def test_the_default_of_dates_and_durations_is_nat(dtype):
    """1970 is a date like any other. Fields of numbers and of text are 0 and empty."""
    array = np.ones(3, dtype)
    lost = np.zeros((), dtype)
    for part in [lost] if lost.dtype.names is None else [lost["a"], lost["c"]["d"]]:
        part[...] = "NaT"
    expected = np.array([array[1], lost[()]], array.dtype)
    outside, masked = {"bounds": "fill"}, {"mask": [True, False]}
    for index, words in (([1, 9], outside), ([1, 2], masked), ([1, 9], {"bounds": "fill", "mask": [True, False]})):
        points = np.array(index)
        for result in (
            gs.gather(array, index, axis=0, **words),
            gs.gather(array, 0, points, **words),
            gs.gather_nd(array, points[:, None], **words),
            gs.gather_nd(array, (points,), **words),
            gs.take(array, points, **words),
            gs.take_along_axis(array, points, 0, **words),
            gs.plan(gs.gather, array, points, axis=0, **words)(array, points, mask=words.get("mask")),
        ):
            assert result.dtype == array.dtype and result.tobytes() == expected.tobytes()
    assert gs.gather(array, [1, 9], axis=0, bounds="clip").tobytes() == array[1:].tobytes()


def test_the_default_of_dates_in_other_containers():
    array = np.ones(4, "M8[D]")
    expected = [np.datetime64(1, "D"), np.datetime64("NaT")]
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    seconds = xarray.DataArray(array.astype("M8[s]"))
    for result in (
        gs.take(da.from_array(array, chunks=2), [0, 9], bounds="fill").compute(),
        gs.gather(seconds, [0, 9], axis=0, bounds="fill").values,
        gs.take(np.ma.array(array), [0, 9], bounds="fill").data,
    ):
        np.testing.assert_array_equal(result, np.array(expected).astype(result.dtype))


def test_none_is_zero_bytes():
    for dtype in ("i4", "M8[s]", "S3", RECORD):
        assert as_fill("gather", np.zeros(2, dtype), None) is None


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[D]", "S3", "U2", "V5", RECORD], ids=str)
def test_zero_is_zero_bytes_where_there_are_no_numbers(dtype):
    array = np.frombuffer(bytes(range(1, 1 + 3 * np.dtype(dtype).itemsize)), "u1")
    array = array.view(dtype) if np.dtype(dtype).kind != "U" else np.array(["ab", "cd", "ef"], dtype)
    assert as_fill("gather", array, 0) is None
    result = gs.take(array, np.array([1, 9]), bounds="fill", fill_value=0)
    assert result.tobytes() == array[1:2].tobytes() + bytes(array.dtype.itemsize)


@pytest.mark.parametrize(
    "value",
    [
        (7, (0.5, 2), (b"xy", np.datetime64("2020-01-01"))),
        (7.0, 0.5, (b"x", np.datetime64("NaT", "s"))),
        np.zeros((), RECORD),
        np.ones(1, "u1").repeat(RECORD.itemsize).view(RECORD)[0],
    ],
    ids=["tuple", "broadcast", "0-d", "scalar"],
)
def test_structured_fits(value):
    fill = as_fill("gather", np.zeros(2, RECORD), value)
    assert fill.dtype == RECORD and fill.shape == ()
    assert fill.tobytes() == np.array(value, RECORD).tobytes()


@pytest.mark.parametrize(
    "value",
    [
        (7, 0.5),
        (200, 0.5, (b"x", DAY)),
        (7, 1e300, (b"x", DAY)),
        (7, (1, 2, 3), (b"x", DAY)),
        (7, 0.5, (b"xyz", DAY)),
        (7, 0.5, (b"x", DAY, 1)),
        (7.5, 0.5, (b"x", DAY)),
        [7, 0.5, (b"x", DAY)],
        5,
        b"x",
        np.zeros((), [("a", "i4")])[()],
    ],
    ids=repr,
)
def test_structured_does_not_fit(value):
    with pytest.raises(ValueError, match="does not fit dtype"):
        as_fill("gather", np.zeros(2, RECORD), value)


def test_the_message_stays_short():
    with pytest.raises(ValueError, match="does not fit dtype float64") as error:
        as_fill("gather", np.zeros(1), 10**4000)
    assert len(str(error.value)) < 150


def test_no_array_no_fill():
    with pytest.raises(TypeError, match="expected an array"):
        as_fill("gather", [1, 2], 5)


# ---- torch


TORCH_FITS = {
    "int8": [127, -128, 7.0, True, np.int64(3)],
    "uint8": [255],
    "uint16": [65535],
    "int64": [2**63 - 1, -(2**63)],
    "uint64": [2**64 - 1],
    "bool": [0, 1, True],
    "float16": [65504, 0.1, INF, NAN],
    "bfloat16": [1.5, 3.39e38, INF, np.float32(2)],
    "float32": [0.1, 3.4028235e38, -INF, 2**24 + 1],
    "float64": [1e308, NAN],
    "float8_e4m3fn": [448, -0.5, NAN],
    "float8_e5m2": [57344, INF],
    "complex64": [1, 1j, complex(NAN, INF)],
    "complex128": [1e308j],
}
TORCH_MISFITS = {
    "int8": [128, -129, 7.5, NAN, INF, 1j, "1"],
    "uint8": [-1, 256],
    "uint64": [-1, 2**64],
    "bool": [2, 0.5],
    "float16": [65520, 1e5],
    "bfloat16": [1e39, 1j],
    "float32": [1e300, 10**400, (1,)],
    "float8_e4m3fn": [500, INF],
    "float8_e5m2": [1e9],
    "complex64": [1e39, 1e39j, "1"],
}


@pytest.mark.parametrize(("dtype", "value"), cases(TORCH_FITS))
def test_torch_fits(dtype, value):
    torch = pytest.importorskip("torch")
    like = torch.empty(2, dtype=getattr(torch, dtype))
    fill = as_fill("gather", like, value)
    assert type(fill) is torch.Tensor and fill.shape == () and fill.dtype is like.dtype and not fill.requires_grad
    held = fill.to(torch.complex128) if like.is_complex() else fill.double() if like.is_floating_point() else fill
    tolerance = 0.07 if "float8" in dtype else 0.01
    if like.is_complex() or like.is_floating_point():
        np.testing.assert_allclose(held.item(), complex(value) if like.is_complex() else float(value), tolerance)
    else:
        assert held.item() == value


@pytest.mark.parametrize(("dtype", "value"), cases(TORCH_MISFITS))
def test_torch_does_not_fit(dtype, value):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="does not fit dtype torch"):
        as_fill("gather", torch.empty(2, dtype=getattr(torch, dtype)), value)


def test_torch_scalars_are_values():
    torch = pytest.importorskip("torch")
    assert as_fill("gather", np.zeros(2, "i1"), torch.tensor(3)) == 3
    assert as_fill("gather", torch.zeros(2), torch.tensor(3)).item() == 3
    with pytest.raises(ValueError, match="does not fit"):
        as_fill("gather", torch.zeros(2), torch.zeros(1))


def test_no_gradient_is_lost_in_silence():
    torch = pytest.importorskip("torch")
    value = torch.tensor(1.5, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        as_fill("gather", np.zeros(2), value)
    assert as_fill("gather", torch.zeros(2), value).requires_grad
    with torch.no_grad():
        assert as_fill("gather", torch.zeros(2), value).item() == 1.5
    for padding in (value, value.reshape(1)):
        assert gs.tile_gather(torch.zeros(2, dtype=torch.float64), [9], padding_value=padding).requires_grad


def test_torch_dtypes_that_are_shells():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="cannot make a value of dtype"):
        as_fill("gather", torch.empty(2, dtype=torch.int4), 1)


# ---- JAX and other libraries


@pytest.mark.parametrize(("dtype", "value"), [("int8", -3), ("bfloat16", 2.5), ("float32", 0.1), ("complex64", 1j)])
def test_jax_fits(dtype, value):
    jnp = pytest.importorskip("jax.numpy")
    like = jnp.zeros(2, dtype)
    fill = as_fill("gather", like, value)
    assert type(fill) is np.ndarray and fill.dtype == like.dtype and fill.shape == ()  # jit would record a jax.Array
    assert fill.item() == like.dtype.type(value).item()


@pytest.mark.parametrize(("dtype", "value"), [("int8", 128), ("bfloat16", 1e39), ("float32", 1e39), ("bool", 2)])
def test_jax_does_not_fit(dtype, value):
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(ValueError, match="does not fit"):
        as_fill("gather", jnp.zeros(2, dtype), value)


def test_jax_never_narrows():
    """A 64-bit array that was created with x64 enabled keeps its dtype after x64 is disabled."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        like = jax.numpy.zeros(2, "int64")
    fill = as_fill("gather", like, 2**40)
    assert fill.dtype == np.int64 and int(fill) == 2**40


class Standard:
    """An array with the array-API standard only, and with dtypes that are not NumPy's."""

    def __init__(self, dtype: str, value: object = 0):
        self.dtype, self.value, self.device, self.shape = f"standard.{dtype}", value, "cpu", ()

    def item(self):
        return np.array(self.value, self.dtype.partition(".")[2]).item()

    def __array_namespace__(self):
        kinds = {"bool": "b", "integral": "iu", "real floating": "f", "complex floating": "c"}

        def numpy_dtype(dtype):
            return np.dtype(dtype.partition(".")[2])

        return types.SimpleNamespace(
            isdtype=lambda dtype, kind: numpy_dtype(dtype).kind in kinds[kind],
            iinfo=lambda dtype: np.iinfo(numpy_dtype(dtype)),
            finfo=lambda dtype: np.finfo(numpy_dtype(dtype)),
            full=lambda shape, value, dtype, device: Standard(dtype.partition(".")[2], value),
        )


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [("int16", -5, 2**15), ("uint8", 255, -1), ("bool", True, 2), ("float32", 0.5, 1e39), ("complex64", 1j, 1e39j)],
)
def test_array_api_libraries(dtype, good, bad):
    fill = as_fill("gather", Standard(dtype), good)
    assert isinstance(fill, Standard) and fill.dtype == f"standard.{dtype}" and fill.item() == good
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="does not fit"):
        as_fill("gather", Standard(dtype), bad)


def test_libraries_that_cannot_make_values():
    class Bare:
        dtype, shape = "float32", ()

    with pytest.raises(TypeError, match="cannot make a value"):
        as_fill("gather", Bare(), 1)


# ---- fill values in the operators


def test_fill_values_arrive_in_results():
    index = np.array([0, 9])
    for dtype, value in [("i1", -7), ("f4", 0.5), (">f8", NAN), ("c8", 1j), ("S3", b"xy"), ("M8[s]", DAY)]:
        x = np.zeros(3, dtype)
        expected = np.array([x[0], held_by(x.dtype, value)], dtype)
        for result in (
            gs.gather(x, 0, index, bounds="fill", fill_value=value),
            gs.gather(x, index, axis=0, bounds="fill", fill_value=value),
            gs.take(x, index, bounds="fill", fill_value=value),
            gs.take_along_axis(x, index, 0, bounds="fill", fill_value=value),
        ):
            np.testing.assert_array_equal(result, expected, strict=True)


def test_a_misfit_is_refused_even_if_unused():
    with pytest.raises(ValueError, match="take: fill_value 300 does not fit dtype int8"):
        gs.take(np.zeros(3, "i1"), np.array([0]), bounds="fill", fill_value=300)
