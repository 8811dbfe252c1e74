"""test_scatter.py: scatter: documented examples, torch's results, sources, duplicates, bounds, masks, geometry."""

import numpy as np
import pytest

import gatherscatter as gs
import reference_write
from reference_reduce import REDUCTIONS

X = np.arange(12.0).reshape(3, 4)
INDEX = np.array([[2, 0, 1], [0, 2, 2]])
SRC = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
TORCH_NUMBERS = ["int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


def same_bytes(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


# ---- documented examples: torch's scatter_, scatter_add_, scatter_reduce_, and ONNX's ScatterElements

ZEROS, SRC_10, IN = np.zeros((3, 5), int), np.arange(1, 11).reshape(2, 5), np.array([1.0, 2.0, 3.0, 4.0])
AT, VALUES = [0, 1, 0, 1, 2, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
ADD = [[0, 1, 2, 0, 0], [0, 1, 2, 2, 2]]
ROW = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])

# name: input, dim, index, src, keywords, result
DOCUMENTED = {
    "torch scatter_ dim 0":
        (ZEROS, 0, [[0, 1, 2, 0]], SRC_10, {}, [[1, 0, 0, 4, 0], [0, 2, 0, 0, 0], [0, 0, 3, 0, 0]]),
    "torch scatter_ dim 1":
        (ZEROS, 1, [[0, 1, 2], [0, 1, 4]], SRC_10, {}, [[1, 2, 3, 0, 0], [6, 7, 0, 0, 8], [0, 0, 0, 0, 0]]),
    "torch scatter_ multiply":
        (np.full((2, 4), 2.0), 1, [[2], [3]], 1.23, {"reduce": "multiply"}, [[2, 2, 2.46, 2], [2, 2, 2, 2.46]]),
    "torch scatter_ add":
        (np.full((2, 4), 2.0), 1, [[2], [3]], 1.23, {"reduce": "add"}, [[2, 2, 3.23, 2], [2, 2, 2, 3.23]]),
    "torch scatter_add_ 1":
        (ZEROS, 0, ADD[:1], 1, {"reduce": "add"}, [[1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]),
    "torch scatter_add_ 2":
        (ZEROS, 0, ADD, np.ones((2, 5), int), {"reduce": "add"}, [[2, 0, 0, 1, 1], [0, 2, 0, 0, 0], [0, 0, 2, 1, 1]]),
    "torch scatter_reduce_ sum": (IN, 0, AT, VALUES, {"reduce": "sum"}, [5, 14, 8, 4]),
    "torch scatter_reduce_ sum, not self":
        (IN, 0, AT, VALUES, {"reduce": "sum", "include_self": False}, [4, 12, 5, 4]),
    "torch scatter_reduce_ amax": (6 - IN, 0, AT, VALUES, {"reduce": "amax"}, [5, 6, 5, 2]),
    "torch scatter_reduce_ amax, not self":
        (6 - IN, 0, AT, VALUES, {"reduce": "amax", "include_self": False}, [3, 6, 5, 2]),
    "onnx ScatterElements axis 0":
        (np.zeros((3, 3)), 0, [[1, 0, 2], [0, 2, 1]], [[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]], {},
         [[2.0, 1.1, 0], [1.0, 0, 2.2], [0, 2.1, 1.2]]),
    "onnx ScatterElements axis 1": (ROW, 1, [[1, 3]], [[1.1, 2.1]], {}, [[1, 1.1, 3, 2.1, 5]]),
    "onnx ScatterElements negative": (ROW, 1, [[1, -3]], [[1.1, 2.1]], {}, [[1, 1.1, 2.1, 4, 5]]),
    "onnx ScatterElements add": (ROW, 1, [[1, 1]], [[1.1, 2.1]], {"reduce": "add"}, [[1, 2 + 1.1 + 2.1, 3, 4, 5]]),
    "onnx ScatterElements mul": (ROW, 1, [[1, 1]], [[1.1, 2.1]], {"reduce": "mul"}, [[1, 2 * 1.1 * 2.1, 3, 4, 5]]),
    "onnx ScatterElements max": (ROW, 1, [[1, 1]], [[1.1, 2.1]], {"reduce": "max"}, [[1, 2.1, 3, 4, 5]]),
    "onnx ScatterElements min": (ROW, 1, [[1, 1]], [[1.1, 2.1]], {"reduce": "min"}, [[1, 1.1, 3, 4, 5]]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_example(name):
    x, dim, index, src, keywords, result = DOCUMENTED[name]
    before, expected = x.copy(), np.array(result, x.dtype)
    same(gs.scatter(x, dim, index, src, **keywords), expected)
    same(x, before)
    same(gs.scatter(before, dim, index, src, out=before, **keywords), expected)
    same(before, expected)


# ---- compared with torch


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [*TORCH_NUMBERS, "bool", "complex64"])
def test_torch_scatter(dtype, dim):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    generator = torch.Generator().manual_seed(3)
    x, src = (torch.randint(0, 50, (4, 5, 6), generator=generator).to(getattr(torch, dtype)) for _ in range(2))
    index = torch.argsort(torch.rand((4, 5, 6), generator=generator), dim)[:3, :4, :2]  # no duplicates
    result = gs.scatter(x, dim, index, src)
    assert type(result) is torch.Tensor and result.dtype is x.dtype
    assert torch.equal(result, x.scatter(dim, index, src))
    assert torch.equal(gs.scatter(x, dim, index, 1), x.scatter(dim, index, 1))


# ---- sources


@pytest.mark.parametrize(
    "src",
    [
        7,
        7.0,
        True,
        np.float64(7),
        np.int8(7),
        np.float16(7),
        np.array(7.0),
        np.array(7),
        [7],
        [[7]],
        [[7], [7]],
        [7] * 3,
    ],
    ids=repr,
)
def test_numbers_and_lists(src):
    same(gs.scatter(X, 0, INDEX, src), gs.scatter(X, 0, INDEX, np.full(INDEX.shape, float(np.ravel(src)[0]))))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_number_becomes_the_dtype(dtype):
    same(gs.scatter(np.zeros(3, dtype), 0, [1], 1), np.array([0, 1, 0], dtype))
    same(gs.scatter(np.zeros(3, dtype), 0, [1, 2], [1, 0]), np.array([0, 1, 0], dtype))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("M8[D]", np.datetime64("2024-02-29")),
        ("m8[s]", np.timedelta64(3, "m")),
        ("S3", b"abc"),
        ("U2", "ab"),
        ("V4", b"abcd"),
        (">i4", -2),
        ([("a", "i4"), ("b", "f8")], (3, 2.5)),
    ],
    ids=str,
)
def test_values_of_dtypes_without_numbers(dtype, value):
    x = np.zeros(4, dtype)
    expected = x.copy()
    expected[2] = value
    same_bytes(gs.scatter(x, 0, [2], value), expected)
    same_bytes(gs.scatter(x, 0, [2, 2], [value, value]), expected)
    same_bytes(gs.scatter(expected, 0, [2], 0 if np.dtype(dtype).names is None else (0, 0)), x)


def test_the_source_broadcasts_to_the_index():
    for shape in [(), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3)]:
        src = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
        same(gs.scatter(X, 0, INDEX, src), gs.scatter(X, 0, INDEX, np.broadcast_to(src, INDEX.shape).copy()))
    same(gs.scatter(X, 0, INDEX, np.broadcast_to(5.0, (2, 3))), gs.scatter(X, 0, INDEX, 5.0))


def test_of_a_larger_source_the_leading_part_is_used():
    large = np.arange(20.0).reshape(4, 5)
    for shape in [(2, 3), (2, 5), (4, 3), (4, 5)]:
        src = large[: shape[0], : shape[1]]
        same(gs.scatter(X, 0, INDEX, src), gs.scatter(X, 0, INDEX, src[:2, :3].copy()))
        same(gs.scatter(X, 0, INDEX, src[::-1, ::-1]), gs.scatter(X, 0, INDEX, src[::-1, ::-1][:2, :3].copy()))


@pytest.mark.parametrize(
    "shape", [(2,), (4,), (1, 2), (2, 2), (3, 2), (1, 4), (5, 1), (1, 2, 3), (2, 3, 1), (0,), (0, 3)]
)
def test_shapes_of_sources_that_do_not_fit(shape):
    with pytest.raises(ValueError, match="scatter"):
        gs.scatter(X, 0, INDEX, np.zeros(shape))


@pytest.mark.parametrize("dtype", ["f4", "i8", "?", "c16", ">f8", "S8", "M8[s]"])
def test_an_array_has_exactly_the_dtype(dtype):
    with pytest.raises(TypeError, match="src has dtype"):
        gs.scatter(X, 0, INDEX, np.zeros(INDEX.shape, dtype))


@pytest.mark.parametrize(
    ("dtype", "src"),
    [
        ("i1", 128),
        ("i1", 1.5),
        ("u1", -1),
        ("?", 2),
        ("f4", 1e300),
        ("f4", 1j),
        ("i8", float("nan")),
        ("f8", "7"),
        ("i1", [1, 128]),
        ("i1", [[1], [0.5]]),
        ("f8", [1.0, "7"]),
        ("U2", "abc"),
        ("M8[D]", 5),
        ("f8", {}),
    ],
    ids=str,
)
def test_values_that_do_not_fit(dtype, src):
    with pytest.raises(ValueError, match=r"scatter: src .* does not fit dtype"):
        gs.scatter(np.zeros(4, dtype), 0, [0, 1], src)


@pytest.mark.parametrize("src", [None, [None, 1.0], [[1.0], [2.0, 3.0]]], ids=str)
def test_what_is_no_source(src):
    with pytest.raises((TypeError, ValueError), match="scatter: src"):
        gs.scatter(X, 0, INDEX, src)


def test_an_empty_list_is_a_source_for_an_empty_index():
    same(gs.scatter(np.arange(3.0), 0, [], []), np.arange(3.0))


# ---- duplicates


def test_the_last_in_flat_position_wins():
    same(gs.scatter(np.zeros(3, int), 0, [1, 0, 1, 1], [1, 2, 3, 4]), np.array([2, 4, 0]))
    same(gs.scatter(np.zeros(3, int), 0, [1, 0, 1, 1], [1, 2, 3, 4], duplicates="last"), np.array([2, 4, 0]))


def test_the_first_in_flat_position_wins():
    same(gs.scatter(np.zeros(3, int), 0, [1, 0, -2, 1], [1, 2, 3, 4], duplicates="first"), np.array([2, 1, 0]))


@pytest.mark.parametrize("duplicates", ["last", "first"])
def test_duplicates_in_many_points(duplicates):
    rng = np.random.default_rng(5)
    index = rng.integers(0, 1000, 300_000)
    expected = np.full(1000, -1)
    for value, place in enumerate(index.tolist()):
        if duplicates == "last" or expected[place] < 0:
            expected[place] = value
    same(gs.scatter(np.full(1000, -1), 0, index, np.arange(index.size), duplicates=duplicates), expected)


def test_an_error_names_both_positions():
    with pytest.raises(ValueError) as error:
        gs.scatter(X, 0, np.array([[0, 1, 2], [2, 1, 0], [0, 1, 1]]), 1.0, duplicates="error")
    assert not isinstance(error.value, gs.OutOfBoundsError)
    assert "(1, 1)" in str(error.value) and "(0, 1)" in str(error.value) and "scatter" in str(error.value)


def test_negative_and_positive_names_of_one_element_are_duplicates():
    with pytest.raises(ValueError, match=r"\(2,\).*\(0,\)|\(0,\).*\(2,\)"):
        gs.scatter(np.zeros(3), 0, [2, 0, -1], 1.0, duplicates="error")


@pytest.mark.parametrize(
    "keywords",
    [
        {"mask": [True, True, False, False]},
        {"bounds": "drop", "negative": "out_of_bounds"},
    ],
    ids=str,
)
def test_points_that_write_nothing_are_no_duplicates(keywords):
    result = gs.scatter(np.zeros(3, int), 0, [1, 2, -1, -1], [1, 2, 3, 4], duplicates="error", **keywords)
    same(result, np.array([0, 1, 2]))


def test_without_duplicates_there_is_no_error():
    same(gs.scatter(X, 1, np.argsort(-X, 1), X, duplicates="error"), X[:, ::-1])


@pytest.mark.parametrize("duplicates", ["first", "error"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_reductions_take_all_duplicates(reduce, duplicates):
    with pytest.raises(ValueError, match="duplicates"):
        gs.scatter(X, 0, INDEX, SRC, reduce=reduce, duplicates=duplicates)


def test_a_bad_index_comes_before_a_duplicate():
    with pytest.raises(gs.OutOfBoundsError):
        gs.scatter(X, 0, [[0, 0, 1], [0, 0, 9]], 1.0, duplicates="error")


@pytest.mark.parametrize("duplicates", ["any", "", "LAST", None, 1], ids=repr)
def test_words_of_duplicates(duplicates):
    with pytest.raises((TypeError, ValueError), match="duplicates"):
        gs.scatter(X, 0, INDEX, SRC, duplicates=duplicates)


# ---- bounds, negatives, masks


def test_negatives_count_from_the_end():
    same(gs.scatter(np.zeros(4, int), 0, [-1, -4], [1, 2]), np.array([2, 0, 0, 1]))


def test_drop():
    same(gs.scatter(np.zeros(4, int), 0, [4, -5, 3, 2**40], [1, 2, 3, 4], bounds="drop"), np.array([0, 0, 0, 3]))
    result = gs.scatter(np.zeros(4, int), 0, [-1, 0], [1, 2], bounds="drop", negative="out_of_bounds", reduce="add")
    same(result, np.array([2, 0, 0, 0]))


def test_clip_and_wrap():
    same(gs.scatter(np.zeros(4, int), 0, [9, -9], [1, 2], bounds="clip"), np.array([2, 0, 0, 1]))
    same(gs.scatter(np.zeros(4, int), 0, [9, -9], [1, 2], bounds="wrap"), np.array([0, 1, 0, 2]))


@pytest.mark.parametrize("bounds", ["raise", "deferred"])
@pytest.mark.parametrize("keywords", [{}, {"reduce": "add"}, {"duplicates": "first"}, {"duplicates": "error"}], ids=str)
def test_a_bad_index_raises(bounds, keywords):
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.scatter(X, 1, [[0, 1], [2, 4], [3, -5]], 1.0, bounds=bounds, **keywords)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count, e.total) == (4, (1, 1), 1, 4, 2, 6)
    assert "scatter accepts -4 to 3" in str(e)


def test_unchecked_gives_the_checked_result_for_valid_indices():
    same(gs.scatter(X, 0, INDEX, SRC, bounds="unchecked"), gs.scatter(X, 0, INDEX, SRC))


@pytest.mark.parametrize("bounds", ["fill", "nearest", None])
def test_unknown_bounds(bounds):
    with pytest.raises((TypeError, ValueError), match="bounds"):
        gs.scatter(X, 0, INDEX, SRC, bounds=bounds)


def test_masked_points_write_nothing_and_may_be_anywhere():
    index, mask = [99, 0, -99, 1], [False, True, False, True]
    same(gs.scatter(np.zeros(3, int), 0, index, [1, 2, 3, 4], mask=mask), np.array([2, 4, 0]))
    same(gs.scatter(np.full(3, 5), 0, index, 1, mask=mask, reduce="add"), np.array([6, 6, 5]))
    same(gs.scatter(X, 0, INDEX, SRC, mask=False), X)


def test_a_mask_broadcasts_one_way():
    for mask in ([[True], [False]], [True, False, True], True, np.array([[True, False, False]])):
        full = np.broadcast_to(mask, INDEX.shape).copy()
        same(gs.scatter(X, 0, INDEX, SRC, mask=mask), gs.scatter(X, 0, INDEX, SRC, mask=full))
    for mask in (np.ones((3, 3), bool), np.ones(2, bool), np.ones((1, 2, 3), bool)):
        with pytest.raises(ValueError):
            gs.scatter(X, 0, INDEX, SRC, mask=mask)
    with pytest.raises(TypeError):
        gs.scatter(X, 0, INDEX, SRC, mask=np.ones((2, 3), int))


# ---- shapes, dims and index types


@pytest.mark.parametrize("seed", range(40))
def test_random_calls(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, int(rng.integers(1, 5))).tolist())
    x = rng.integers(0, 99, shape).astype(rng.choice(["i1", "i4", "f8", "c16"]))
    x = x.transpose(rng.permutation(x.ndim))[(slice(None, None, -1),) * x.ndim]
    dim = int(rng.integers(-x.ndim, x.ndim))
    extent = [int(rng.integers(0, n + 1)) for n in x.shape]
    extent[dim] = int(rng.integers(0, 7))
    index = rng.integers(-x.shape[dim], x.shape[dim], extent).astype(rng.choice(["i1", "i8", ">i4", "i2"]))
    src = rng.integers(0, 99, [n + int(rng.integers(0, 3)) for n in extent]).astype(x.dtype)
    mask = rng.random(extent) < 0.7
    how = (
        {"duplicates": str(rng.choice(["last", "first"]))} if seed % 2 else {"reduce": str(rng.choice(["add", "mean"]))}
    )
    answer = reference_write.scatter(x, dim, index, src, mask=mask, **how)
    same_bytes(gs.scatter(x, dim, index, src, mask=mask, **how), answer.result)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"])
def test_every_index_dtype(dtype):
    same(gs.scatter(np.zeros(5, int), 0, np.array([4, 0], dtype), [1, 2]), np.array([2, 0, 0, 0, 1]))
    bad = np.iinfo(dtype).max
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.scatter(np.zeros(5), 0, np.array([0, bad], dtype), 1.0)
    assert error.value.index == bad


def test_rank_0_counts_as_one_element():
    result = gs.scatter(np.array(5.0), 0, np.array(0), 7.0)
    assert result == 7 and np.ndim(result) == 0
    assert gs.scatter(np.array(5.0), -1, -1, 7.0, reduce="add") == 12
    with pytest.raises(gs.OutOfBoundsError):
        gs.scatter(np.array(5.0), 0, 1, 7.0)
    with pytest.raises(np.exceptions.AxisError):
        gs.scatter(np.array(5.0), 1, 0, 7.0)


def test_empties():
    same(gs.scatter(X, 0, np.zeros((0, 4), int), 1.0), X)
    same(gs.scatter(np.zeros((0, 4)), 1, np.zeros((0, 2), int), 1.0), np.zeros((0, 4)))
    same(gs.scatter(np.zeros((3, 0)), 1, np.zeros((3, 0), int), 1.0, reduce="mean"), np.zeros((3, 0)))
    for bounds in ("raise", "clip", "wrap"):
        with pytest.raises(gs.OutOfBoundsError):
            gs.scatter(np.zeros((3, 0)), 1, np.zeros((3, 1), int), 1.0, bounds=bounds)
    same(gs.scatter(np.zeros((3, 0)), 1, np.zeros((3, 1), int), 1.0, bounds="drop"), np.zeros((3, 0)))


@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 1), (4,), ()])
def test_shapes_of_indices_that_do_not_fit(shape):
    with pytest.raises(ValueError):
        gs.scatter(X, 1, np.zeros(shape, int), 1.0)


@pytest.mark.parametrize("dim", [2, -3, 10**30])
def test_no_such_dim(dim):
    with pytest.raises(np.exceptions.AxisError):
        gs.scatter(X, dim, INDEX, SRC)


@pytest.mark.parametrize("dim", [None, True, 0.0, "0", np.True_], ids=repr)
def test_a_dim_is_an_integer(dim):
    with pytest.raises(TypeError, match=r"scatter: (dim|the second argument) is .*expected (a dim|an integer)"):
        gs.scatter(X, dim, INDEX, SRC)
    same(gs.scatter(X, np.int8(0), INDEX, SRC), gs.scatter(X, 0, INDEX, SRC))


@pytest.mark.parametrize("dim", [[0], np.array(0), np.array(0.0), np.array(True)], ids=repr)
def test_an_array_in_second_place_is_no_dim(dim):
    """It is the indices of the slices form, whose fourth argument is an axis."""
    with pytest.raises(TypeError, match=r"scatter: the second argument .* is the indices of slices, and the axis is"):
        gs.scatter(X, dim, INDEX, SRC)


@pytest.mark.parametrize("index", [INDEX * 1.0, INDEX > 0, None, "12", [[0.5]]], ids=repr)
def test_an_index_is_of_integers(index):
    with pytest.raises(TypeError):
        gs.scatter(X, 0, index, SRC)


@pytest.mark.parametrize("x", [None, "abc", 5, np.array([None, 1])], ids=repr)
def test_an_array_is_expected(x):
    with pytest.raises(TypeError):
        gs.scatter(x, 0, [0], np.zeros(1))
    with pytest.raises(TypeError):
        gs.scatter(x, 0, [0], 1.0)


def test_subclasses_that_carry_more_are_refused():
    with pytest.raises(TypeError, match="MaskedArray"):
        gs.scatter(np.ma.array([1.0, 2.0]), 0, [0], np.zeros(1))
