"""test_scatter_reduce.py: scatter with reduce: every dtype, torch's results, rounding, wrapping, NaN, order."""

import numpy as np
import pytest

import gatherscatter as gs
import reference_write
from reference_reduce import REDUCTIONS

X = np.arange(12.0).reshape(3, 4)
INDEX = np.array([[2, 0, 1], [0, 2, 2]])
SRC = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
ML_NUMBERS = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"]
NO_NUMBERS = ["S3", "U2", "V4", "M8[s]", "m8[s]", ">f8", ">i4", "g", [("a", "i4")]]
TORCH_NUMBERS = ["int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
TORCH_NAMES = {"add": "sum", "mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


def same_bytes(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


def numbers(name):
    if name in ML_NUMBERS:
        return np.dtype(getattr(pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed"), name))
    return np.dtype(name)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", [*NUMBERS, *ML_NUMBERS])
def test_reductions_of_every_dtype(dtype, reduce, include_self):
    dtype = numbers(dtype)
    rng = np.random.default_rng(6)
    x, src = (rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype) for shape in [(4, 5), (6, 5)])
    index = rng.integers(-4, 4, (6, 4))
    meaningless = (dtype.kind == "b" and reduce == "mean") or (
        dtype.kind == "c" and REDUCTIONS[reduce] in ("min", "max")
    )
    if meaningless:
        with pytest.raises(TypeError, match="scatter") as refusal:
            gs.scatter(x, 0, index, src, reduce=reduce, include_self=include_self)
        # The text names the kinds of numbers that would do, so not the one that came.
        assert ("bool, integers" if dtype.kind == "b" else "complex numbers") not in str(refusal.value)
        return
    result = gs.scatter(x, 0, index, src, reduce=reduce, include_self=include_self)
    answer = reference_write.scatter(x, 0, index, src, reduce=reduce, include_self=include_self)
    same_bytes(result, answer.result)


@pytest.mark.parametrize("reduce", ["add", "mul", "min", "max", "mean"])
@pytest.mark.parametrize("dtype", [*NUMBERS, *ML_NUMBERS])
def test_reductions_by_sorted_keys(dtype, reduce):
    # The value of a target is kept in a register while points repeat it: its bytes are those of one value at a time.
    dtype = numbers(dtype)
    if (dtype.kind == "b" and reduce == "mean") or (dtype.kind == "c" and reduce in ("min", "max")):
        return  # refused, as above
    rng = np.random.default_rng(7)
    runs = [1, 2, 7, 8, 9, 100, 257, 3, 300]
    index = np.repeat(rng.permutation(len(runs)), runs)
    special = [0.0, -0.0, 1.5, -1.5, 3.0, 1e-3] if dtype.kind not in "iub" else [0, 1, 2, 3, 77]
    src = rng.choice(special, len(index)).astype(dtype)
    if dtype.kind not in "iub":
        for value in (np.nan, np.inf, -np.inf):
            src[rng.integers(0, len(index), 2)] = value
    x = rng.choice(special, 2 * len(runs)).astype(dtype)
    mask = rng.random(len(index)) < 0.9
    for words in ({}, {"mask": mask}, {"include_self": False}):
        with np.errstate(all="ignore"):
            result = gs.scatter(x, 0, index, src, reduce=reduce, **words)
            answer = reference_write.scatter(x, 0, index, src, reduce=reduce, **words)
        same_bytes(result, answer.result)
    step = x[::2].copy()
    assert (
        gs.scatter(x[::2], 0, index, src, reduce=reduce).tobytes()
        == gs.scatter(step, 0, index, src, reduce=reduce).tobytes()
    )
    gs.scatter(x[::2], 0, index, src, reduce=reduce, out=x[::2])
    assert x[::2].tobytes() == gs.scatter(step, 0, index, src, reduce=reduce).tobytes()


def test_reductions_of_bool():
    x, index = np.array([False, True, False, True]), [0, 0, 1, 1]
    values = np.array([True, False, False, True])
    for reduce in ("add", "max"):
        same(gs.scatter(x, 0, index, values, reduce=reduce), np.array([True, True, False, True]))
    for reduce in ("mul", "min"):
        same(gs.scatter(x, 0, index, values, reduce=reduce), np.array([False, False, False, True]))


def test_integers_wrap_around():
    x = np.array([100, -100], np.int8)
    same(gs.scatter(x, 0, [0, 1], np.array([100, -100], np.int8), reduce="add"), np.array([-56, 56], np.int8))
    same(gs.scatter(x, 0, [0, 0], np.array([2, 2], np.int8), reduce="mul"), np.array([-112, -100], np.int8))


def test_an_integer_mean_is_rounded_down():
    x = np.array([0, 0, 10])
    same(gs.scatter(x, 0, [0, 1], [1, -1], reduce="mean"), np.array([0, -1, 10]))
    same(gs.scatter(x, 0, [2, 2], [3, 4], reduce="mean"), np.array([0, 0, 5]))
    same(gs.scatter(x, 0, [2, 2], [3, 4], reduce="mean", include_self=False), np.array([0, 0, 3]))


def test_narrow_floats_are_rounded_once():
    ones = np.ones(4096, np.float16)
    same(gs.scatter(np.zeros(1, np.float16), 0, np.zeros(4096, int), ones, reduce="add"), np.array([4096], np.float16))
    big = np.array([65504, 65504, -65504], np.float16)
    same(gs.scatter(np.zeros(1, np.float16), 0, [0, 0, 0], big, reduce="add"), np.array([65504], np.float16))
    with np.errstate(over="ignore"):
        same(gs.scatter(np.zeros(1, np.float16), 0, [0, 0], big[:2], reduce="add"), np.array([np.inf], np.float16))


def test_floats_are_added_in_flat_position():
    rng = np.random.default_rng(7)
    values, index = rng.standard_normal(20_000).astype(np.float32), rng.integers(0, 50, 20_000)
    expected = np.zeros(50, np.float32)
    np.add.at(expected, index, values)
    for threads in (1, 2, 3, 8):
        with gs.thread_limit(threads):
            same_bytes(gs.scatter(np.zeros(50, np.float32), 0, index, values, reduce="add"), expected)


def test_every_computed_nan_is_the_same():
    weird = np.array([0xFFC12345], np.uint32).view(np.float32)
    for reduce in REDUCTIONS:
        for src, x in [(weird, [1.0]), (np.array([np.inf], "f4"), [-np.inf]), (np.array([2.0], "f4"), weird)]:
            result = gs.scatter(np.array(x, np.float32), 0, [0], src, reduce=reduce)
            if np.isnan(result[0]):
                assert result.view(np.uint32)[0] == 0x7FC00000
            else:
                assert np.isinf(src[0])


def test_min_and_max_of_equal_values_keep_the_earlier():
    for reduce in ("min", "max"):
        for first, second in [(0.0, -0.0), (-0.0, 0.0)]:
            result = gs.scatter(np.array([first]), 0, [0], np.array([second]), reduce=reduce)
            assert np.signbit(result[0]) == np.signbit(first)
            result = gs.scatter(
                np.array([5.0]), 0, [0, 0], np.array([first, second]), reduce=reduce, include_self=False
            )
            assert np.signbit(result[0]) == np.signbit(first)


@pytest.mark.parametrize("reduce", ["add", "mean", "min"])
def test_what_is_not_hit_keeps_its_bytes(reduce):
    x = np.array([0xFFC12345, 0x7F800001, 0x80000000], np.uint32).view(np.float32)
    result = gs.scatter(x, 0, [2], 1.0, reduce=reduce, include_self=False)
    assert result[:2].tobytes() == x[:2].tobytes() and result[2] == 1


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("dtype", NO_NUMBERS, ids=str)
def test_dtypes_that_cannot_be_reduced(dtype, reduce):
    x = np.zeros(3, dtype)
    with pytest.raises(TypeError, match="scatter"):
        gs.scatter(x, 0, [0], x[:1], reduce=reduce)
    same_bytes(gs.scatter(x, 0, [0], x[:1]), x)


@pytest.mark.parametrize("reduce", ["plus", "", "ADD", "div", True, 1, np.add, ("add",)], ids=repr)
def test_words_of_reduce(reduce):
    with pytest.raises((TypeError, ValueError), match="reduce"):
        gs.scatter(X, 0, INDEX, SRC, reduce=reduce)


# ---- compared with torch


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", TORCH_NAMES)
@pytest.mark.parametrize("dtype", TORCH_NUMBERS)
def test_torch_scatter_reduce(dtype, reduce, include_self):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    generator = torch.Generator().manual_seed(4)
    low, high = (-2, 3) if reduce == "mul" else (-8, 9)  # small integers, whose sum does not depend on the order
    if dtype == "uint8":
        low = 0
    x, src = (torch.randint(low, high, (5, 7), generator=generator).to(getattr(torch, dtype)) for _ in range(2))
    index = torch.randint(0, 5, (4, 6), generator=generator)
    result = gs.scatter(x, 0, index, src, reduce=reduce, include_self=include_self)
    expected = x.scatter_reduce(0, index, src, TORCH_NAMES[reduce], include_self=include_self)
    if reduce == "mean" and dtype in ("float16", "bfloat16"):
        torch.testing.assert_close(result, expected)  # torch rounds the sum and the quotient, we round once
    else:
        assert torch.equal(result, expected)


def test_torch_nan():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    nan = float("nan")
    x, src, index = torch.tensor([1.0, nan, 3.0]), torch.tensor([nan, 5.0, 2.0, 9.0]), torch.tensor([0, 1, 2, 2])
    for reduce, name in TORCH_NAMES.items():
        for include_self in (True, False):
            expected = x.scatter_reduce(0, index, src, name, include_self=include_self)
            result = gs.scatter(x, 0, index, src, reduce=reduce, include_self=include_self)
            torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)
