"""test_reference_write.py: checks the oracles of the writing operators, against NumPy and torch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import reference_write
import second_reference_write
from layouts import DTYPES, random_items, to_torch, torch
from reference import Bad, Clash
from reference_reduce import FLOATS, QUIET_NAN, REDUCTIONS, combined, reducible

RNG = np.random.default_rng(21)
SOURCE = RNG.integers(-9, 9, (2, 3, 4)).astype(float)
KINDS = tuple(dict.fromkeys(REDUCTIONS.values()))


def items(values, dtype):
    return [np.array(value).astype(dtype).tobytes() for value in values]


def one(values, dtype, reduce):
    dtype = DTYPES[dtype]
    return np.frombuffer(combined(items(values, dtype), dtype, reduce), dtype)[0]


# ---- against NumPy


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_put_is_numpys(mode):
    for count, v in itertools.product((0, 1, 7, 40), (np.arange(3.0), np.arange(99.0), np.array(5.0), np.zeros(0))):
        ind = RNG.integers(-24, 24, count) if mode == "raise" else RNG.integers(-99, 99, count)
        expected = SOURCE.copy()
        np.put(expected, ind, v, mode=mode)
        negative = "out_of_bounds" if mode == "clip" else "from_end"
        answer = reference_write.put(SOURCE, ind, v, bounds=mode, negative=negative)
        np.testing.assert_array_equal(answer.result, expected, strict=True)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_put_along_axis_is_numpys(axis):
    if axis is None:
        indices, values = RNG.integers(-24, 24, 30), RNG.random(30)
    else:
        shape = [2, 1, 4] if axis % 3 != 1 else [1, 3, 4]
        shape[axis] = 6
        indices, values = RNG.integers(-SOURCE.shape[axis], SOURCE.shape[axis], shape), RNG.random(4 if axis < 2 else 1)
        if axis == -1:
            values = RNG.random(6)
    expected = SOURCE.copy()
    np.put_along_axis(expected, indices, values, axis)
    answer = reference_write.put_along_axis(SOURCE, indices, values, axis)
    np.testing.assert_array_equal(answer.result, expected, strict=True)


@pytest.mark.parametrize("count", [0, 1, 5, 24, 30])
def test_putmask_and_place_are_numpys(count):
    mask, values = RNG.random(SOURCE.shape) < 0.5, RNG.random(count)
    expected = SOURCE.copy()
    np.putmask(expected, mask, values)
    np.testing.assert_array_equal(reference_write.putmask(SOURCE, mask, values).result, expected, strict=True)
    if count:
        expected = SOURCE.copy()
        np.place(expected, mask, values)
        np.testing.assert_array_equal(reference_write.place(SOURCE, mask, values).result, expected, strict=True)


UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("kind", UFUNCS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float32", "float64"])
def test_reductions_are_those_of_numpys_ufuncs(dtype, kind):
    source, src = random_items((9,), DTYPES[dtype], RNG), random_items((200,), DTYPES[dtype], RNG)
    index, expected = RNG.integers(0, 7, 200), source.copy()
    with np.errstate(all="ignore"):
        UFUNCS[kind].at(expected, index, src)
    result = reference_write.scatter(source, 0, index, src, reduce=kind).result
    np.testing.assert_array_equal(result, expected, strict=True)
    assert result[7:].tobytes() == source[7:].tobytes()


def test_scatter_nd_is_assignment_to_an_index():
    indices = np.stack([np.array([0, 1, 1]), np.array([2, 0, -3])], axis=-1)
    for k in (1, 2):
        chosen = tuple(indices[..., j] for j in range(k))
        updates = RNG.random((3, *SOURCE.shape[k:]))
        expected = SOURCE.copy()
        expected[chosen] = updates
        np.testing.assert_array_equal(reference_write.scatter_nd(SOURCE, indices[:, :k], updates).result, expected)
    np.testing.assert_array_equal(reference_write.scatter_nd(SOURCE, np.zeros((2, 0), int), [[[1.0]]]).result, 1.0)


def test_scatter_nd_with_batch_axes_is_scatter_nd_per_batch():
    indices, updates = RNG.integers(0, 3, (2, 5, 1)), RNG.random((2, 5, 4))
    result = reference_write.scatter_nd(SOURCE, indices, updates, 1, reduce="add").result
    for b in range(2):
        np.testing.assert_array_equal(
            result[b], reference_write.scatter_nd(SOURCE[b], indices[b], updates[b], reduce="add").result
        )


def test_tile_scatter_skips_what_is_outside():
    result = reference_write.tile_scatter(np.arange(100, 105), (np.arange(-1, 8),), np.arange(9), mask=True).result
    assert result.tolist() == [1, 2, 3, 4, 5]
    bad = reference_write.tile_scatter(np.zeros(5), (np.array([0, 7, -1]),), np.zeros(()), check_bounds=False).bad
    assert bad == Bad(7, (1,), 0, 5, 2)


# ---- against torch


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(
    ("kind", "torchs"), [("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax"), ("mean", "mean")]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_with_reduce_is_torchs(dim, dtype, kind, torchs, include_self):
    pytest.importorskip("torch")
    source = RNG.integers(-9, 9, (4, 3, 5)).astype(dtype)
    shape = [3, 2, 4]
    shape[dim] = 6
    index, src = RNG.integers(0, source.shape[dim], shape), RNG.integers(-9, 9, (7, 7, 7)).astype(dtype)
    if kind in ("min", "max") and dtype.startswith("float"):
        src[0, 0, 0] = np.nan
    expected = torch.from_numpy(source).scatter_reduce(
        dim, torch.from_numpy(index), torch.from_numpy(src), torchs, include_self=include_self
    )
    result = reference_write.scatter(source, dim, index, src, reduce=kind, include_self=include_self).result
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-6)  # torch multiplies with 1/count in some places


def test_plain_scatter_is_torchs():
    pytest.importorskip("torch")
    index = np.stack([RNG.permutation(4)[:3] for _ in range(6)]).reshape(2, 3, 3)
    src = RNG.random((2, 5, 6))
    expected = torch.from_numpy(SOURCE).scatter(2, torch.from_numpy(index), torch.from_numpy(src)).numpy()
    np.testing.assert_array_equal(reference_write.scatter(SOURCE, 2, index, src).result, expected, strict=True)


@pytest.mark.parametrize("name", [name for name in FLOATS if name in DTYPES])
def test_narrow_floats_round_as_torch_does(name):
    """One addition. Above its range float8_e4m3fn is NaN here and in ml_dtypes; torch 2.13 gives the largest value."""
    pytest.importorskip("torch")
    dtype = DTYPES[name]
    a, b = random_items((500,), dtype, RNG), random_items((500,), dtype, RNG)
    ours = reference_write.scatter(a, 0, np.arange(500), b, reduce="add").result
    wide = torch.float64 if dtype.itemsize >= 4 else torch.float32
    total = to_torch(a).to(wide) + to_torch(b).to(wide)
    theirs = total.to(to_torch(a).dtype).to(torch.float64).numpy()
    compared = ~(total.abs() > 448).numpy() if name == "float8_e4m3fn" else slice(None)
    np.testing.assert_array_equal(ours.astype(float)[compared], theirs[compared])


# ---- duplicates


def test_duplicates():
    source, index, src = np.zeros(4, int), np.array([2, 1, 2, 1, 2]), np.arange(1, 6)
    assert reference_write.scatter(source, 0, index, src).result.tolist() == [0, 4, 5, 0]
    assert reference_write.scatter(source, 0, index, src, duplicates="first").result.tolist() == [0, 2, 1, 0]
    assert reference_write.scatter(source, 0, index, src, duplicates="error").bad == Clash((2,), (0,))
    assert second_reference_write.scatter(source, 0, index, src, duplicates="error").bad == Clash((2,), (0,))


def test_bounds_come_before_duplicates():
    index = np.array([1, 1, 9])
    assert reference_write.scatter(np.zeros(4), 0, index, np.zeros(3), duplicates="error").bad == Bad(9, (2,), 0, 4, 1)


def test_dropped_and_masked_points_are_no_duplicates():
    index, mask = np.array([9, 1, 9, 1]), np.array([True, True, True, False])
    answer = reference_write.scatter(np.zeros(3), 0, index, np.ones(4), bounds="drop", mask=mask, duplicates="error")
    assert answer.result.tolist() == [0, 1, 0]


# ---- arithmetic


def test_integers_wrap_and_their_mean_does_not():
    assert one([100, 100], "int8", "add") == -56
    assert one([16, 16], "uint8", "mul") == 0
    assert one([-(2**63), -1], "int64", "add") == 2**63 - 1
    assert one([100, 100, 100], "int8", "mean") == 100
    assert one([-1, 0], "int8", "mean") == -1
    assert one([1, 2], "uint8", "mean") == 1
    assert one([-7, 0, 0], "int64", "mean") == -3


def test_narrow_floats_are_rounded_once():
    assert one([2048, 1, 1], "float16", "add") == 2050  # 2048 + 1 is 2048 in float16
    assert np.isinf(one([60000, 60000], "float16", "add"))
    assert one([60000, 60000, -60000], "float16", "add") == 60000
    assert one([1.0, 2.0**-24, 2.0**-24], "float32", "add") == 1.0  # the sum is no wider than float32


def test_narrow_floats_of_other_libraries():
    pytest.importorskip("ml_dtypes")
    assert float(one([256, 1, 1], "bfloat16", "add")) == 258
    assert one([400, 400], "float8_e4m3fn", "add").tobytes() == b"\x7f"
    assert one([-400, 400, -400, -400], "float8_e4m3fn", "add").tobytes() == b"\x7f"
    assert np.isinf(float(one([57344, 57344], "float8_e5m2", "add")))


@pytest.mark.parametrize("dtype", [name for name in FLOATS if name in DTYPES])
@pytest.mark.parametrize("kind", KINDS)
def test_every_nan_is_the_same(kind, dtype):
    bits = {1: 0xFF, 2: 0xFFFF, 4: 0xFFC00001, 8: 0xFFF8000000000001}[DTYPES[dtype].itemsize]
    odd = np.array(bits, f"u{DTYPES[dtype].itemsize}").view(DTYPES[dtype])
    for values in ([odd], [1, odd], [odd, 1], [odd, odd, 2]):
        got = combined(items(values, DTYPES[dtype]), DTYPES[dtype], kind)
        assert int.from_bytes(got, "little") == QUIET_NAN[dtype]


def test_of_equal_values_the_earlier_one_stays():
    for kind in ("min", "max"):
        assert np.signbit(one([-0.0, 0.0], "float32", kind)) and not np.signbit(one([0.0, -0.0], "float16", kind))


def test_complex_numbers():
    assert one([1 + 2j, 3 - 1j], "complex64", "mul") == 5 + 5j
    assert one([1 + 2j, 3 - 1j], "complex128", "mean") == 2 + 0.5j
    part = one([complex(np.inf, 0), complex(0, 1)], "complex128", "mul")  # the plain formula has inf · 0, which is NaN
    assert part.real.tobytes() == np.uint64(QUIET_NAN["float64"]).tobytes() and part.imag == np.inf


def test_booleans():
    for kind, expected in {"add": [0, 1, 1, 1], "mul": [0, 0, 0, 1], "min": [0, 0, 0, 1], "max": [0, 1, 1, 1]}.items():
        assert [int(one([a, b], "bool", kind)) for a in (False, True) for b in (False, True)] == expected


def test_what_cannot_be_reduced():
    assert not any(reducible(DTYPES["V7"], kind) for kind in KINDS)
    assert not reducible(DTYPES["bool"], "mean") and not reducible(DTYPES["complex64"], "min")
    assert not any(reducible(DTYPES[name], "add") for name in ("longdouble", "timedelta64[s]", ">f4", "S3", "record"))


# ---- the second oracle compared with the first, beyond the cases of the contract


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [name for name, dtype in DTYPES.items() if reducible(dtype, "add")])
def test_both_oracles_agree_on_reductions(dtype, kind, include_self):
    if not reducible(DTYPES[dtype], kind):
        return
    source, src = random_items((3, 11), DTYPES[dtype], RNG), random_items((3, 60), DTYPES[dtype], RNG)
    index = np.minimum(RNG.zipf(1.3, (3, 60)) - 1, 9)
    answers = [
        oracle.scatter(source, 1, index, src, reduce=kind, include_self=include_self)
        for oracle in (reference_write, second_reference_write)
    ]
    assert answers[0].result.tobytes() == answers[1].result.tobytes()
