"""test_tile.py: tile_gather compared with naive loops, and cuTile's rules and error rows by their catalogue names."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
import reference
from gatherscatter.errors import TileError, TileTypeError, TileValueError

I32, F32 = np.dtype("i4"), np.dtype("f4")
INDEX_DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"]


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- rows of the catalogue that run a kernel of cuTile


@pytest.mark.parametrize("n", [128, 225, 260])
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "i2", "i4", "i8", "?", "bf16"])
@pytest.mark.parametrize("tile", [128, 256])
def test_X_ct_1(n, dtype, tile):
    """Tiles that extend past the end: the tail is padding and is not read."""
    if dtype == "bf16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    x = (np.arange(n) % 100).astype(dtype)
    for start in range(0, n, tile):
        index = np.arange(tile, dtype="i8") + start
        expected = np.array([x[i] if i < n else 0 for i in index], dtype)
        same(gs.tile_gather(x, index), expected)


@pytest.mark.parametrize("shape", [(128, 128), (192, 192), (128, 192)])
@pytest.mark.parametrize("tile", [(64, 64), (128, 32)])
def test_X_ct_2(shape, tile):
    x = np.arange(shape[0] * shape[1], dtype="f4").reshape(shape)
    for row in range(0, shape[0], tile[0]):
        for column in range(0, shape[1], tile[1]):
            i, j = np.arange(tile[0]) + row, np.arange(tile[1]) + column
            expected = np.zeros(tile, "f4")
            part = x[row : row + tile[0], column : column + tile[1]]
            expected[: part.shape[0], : part.shape[1]] = part
            same(gs.tile_gather(x, (i[:, None], j)), expected)


def test_X_ct_3():
    result = gs.tile_gather(np.arange(100, 106, dtype="f4"), np.arange(8), padding_value=-np.inf)
    same(result, np.array([100, 101, 102, 103, 104, 105, -np.inf, -np.inf], "f4"))


def test_X_ct_4():
    x = np.arange(10, 18, dtype="f4")
    same(gs.tile_gather(x, np.arange(8), check_bounds=False), x)


def test_X_ct_5():
    """The checked and unchecked calls have different plans."""
    x, i = np.arange(10, dtype="f4"), np.arange(8)
    assert gs.explain(gs.tile_gather, x, i).to_dict()["bounds"] == "fill"
    assert gs.explain(gs.tile_gather, x, i, check_bounds=False).to_dict()["bounds"] == "raise"


def test_X_ct_6():
    x, mask = np.arange(8, dtype="f4"), np.array([True, False] * 4)
    result = gs.tile_gather(x, np.arange(8), mask=mask, padding_value=-999, check_bounds=False)
    same(result, np.array([0, -999, 2, -999, 4, -999, 6, -999], "f4"))


@pytest.mark.parametrize("latency", [None, 1, 5, 10])
def test_X_ct_7(latency):
    x = np.arange(8, dtype="f4")
    same(gs.tile_gather(x, np.arange(8), latency=latency), x)


def test_X_ct_8():
    offset = np.arange(8)
    result = gs.tile_gather(np.arange(100, 108, dtype="f4"), offset, mask=offset < 5, padding_value=-1)
    same(result, np.array([100, 101, 102, 103, 104, -1, -1, -1], "f4"))


def test_X_ct_9():
    x = np.arange(8, dtype="f4")
    same(gs.tile_gather(x, np.arange(8), mask=np.ones(1, bool)), x)


def test_X_ct_10():
    """The values of a gather are its padding, which never broadcasts the index."""
    with pytest.raises(TileTypeError, match="broadcastable"):
        gs.tile_gather(np.zeros(8, "f4"), np.zeros(1, int), padding_value=np.zeros(8, "f4"))


def test_X_ct_11():
    x = np.arange(64, dtype="f4").reshape(8, 8)
    rows, columns = np.array([0, 1, 2, 5, 3, 6, 7, 4]), np.array([0, 3, 1, 4, 7, 2, 5, 6])
    same(gs.tile_gather(x, (rows, columns)), np.array([x[r, c] for r, c in zip(rows, columns, strict=True)]))


def test_X_ct_12():
    """cuTile's tests write to a 0-d array; here one is read."""
    result = gs.tile_gather(np.array(77, "i4"), ())
    assert result == 77 and type(result) is np.int32
    assert gs.tile_gather(np.array(77, "i4"), (), mask=False, padding_value=-1) == -1


def test_X_ct_13():
    x = np.arange(32, dtype="i4").reshape(8, 4)
    rows = np.array([6, 7, 8, 9])
    expected = np.concatenate([x[6:], np.zeros((2, 4), "i4")])
    same(gs.tile_gather(x, (rows[:, None], np.arange(4))), expected)


# ---- against the oracle


def check(array, indices, **keywords):
    """Compare with the loops, for any layout of the array."""
    padding = np.asarray(keywords.get("padding_value", np.zeros((), array.dtype))).astype(array.dtype)
    tuple_of = indices if isinstance(indices, tuple) else (indices,)
    answer = reference.tile_gather(array, tuple_of, mask=keywords.get("mask"), padding=padding)
    result = gs.tile_gather(array, indices, **keywords)
    np.testing.assert_array_equal(np.asarray(result), answer.result, strict=True)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype(dtype):
    info = np.iinfo(dtype)
    values = np.array([0, 4, 5, 100, info.min, info.max, info.max - 1], dtype)
    check(np.arange(10.0, 15.0), values, padding_value=-1.0)


def test_a_byte_beyond_127_is_itself():
    same(gs.tile_gather(np.arange(300), np.array([255], "u1")), np.array([255]))


@pytest.mark.parametrize("seed", range(20))
def test_random_tiles(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    array = rng.integers(0, 100, tuple(rng.integers(0, 5, rank))).astype(rng.choice(["i1", "f4", "f8", "c16", "i2"]))
    array = array.transpose(rng.permutation(rank))[(slice(None, None, -1),) * rank]
    shape = tuple(rng.integers(1, 4, int(rng.integers(0, 4))))
    indices = []
    for n in array.shape:
        own = tuple(1 if rng.random() < 0.3 else m for m in shape[int(rng.integers(0, len(shape) + 1)) :])
        indices.append(rng.integers(-2, n + 2, own).astype(rng.choice(["i1", "i8", "i4"])))
    common = np.broadcast_shapes(*(i.shape for i in indices))
    mask = rng.random(tuple(1 if rng.random() < 0.3 else m for m in common)) < 0.7
    padding = rng.integers(0, 100, common[int(rng.integers(0, len(common) + 1)) :]).astype(array.dtype)
    check(array, tuple(indices), mask=mask, padding_value=padding)


def test_index_types_mix():
    array = np.arange(24.0).reshape(2, 3, 4)
    check(array, (np.array([[0], [1]], "u1"), np.array([2, -1, 0], "i2"), 3))


def test_a_wrong_index_is_outside_even_if_the_offset_lands_inside():
    array = np.arange(12).reshape(3, 4)
    assert gs.tile_gather(array, (0, 5), padding_value=-1) == -1
    assert gs.tile_gather(array, (2, -1), padding_value=-1) == -1


@pytest.mark.parametrize("value", [2**31, 2**32, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, 10**30, -(10**30)])
def test_python_ints_of_any_size(value):
    assert gs.tile_gather(np.arange(5), value, padding_value=-1) == -1
    assert gs.tile_gather(np.arange(5), value, mask=False) == 0
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.tile_gather(np.arange(5), value, check_bounds=False)
    assert error.value.index == value


def test_lists_and_scalars_are_indices():
    array = np.arange(12).reshape(3, 4)
    same(gs.tile_gather(array, ([[0], [2]], [1, 9])), np.array([[1, 0], [9, 0]]))
    assert gs.tile_gather(array, (np.int8(2), np.uint64(3))) == 11
    same(gs.tile_gather(array[0], [2, 0]), np.array([2, 0]))
    same(gs.tile_gather(array[0], []), np.array([], int))


@pytest.mark.parametrize("n", [0, 3])
def test_empties(n):
    same(gs.tile_gather(np.zeros((n, 2)), (np.zeros((0, 1), int), np.zeros(3, int))), np.zeros((0, 3)))
    same(gs.tile_gather(np.zeros((0, 2)), ([0, 1], [0, 0]), padding_value=5), np.array([5.0, 5.0]))


def test_the_array_is_not_written_and_the_result_is_fresh():
    array = np.arange(5)
    array.flags.writeable = False
    result = gs.tile_gather(array, np.arange(5))
    result += 1
    same(array, np.arange(5))


# ---- mask and bounds


def test_the_mask_guards_without_bounds_check():
    array = np.arange(5)
    index = np.array([0, 99, -1, 4])
    mask = np.array([True, False, False, True])
    same(gs.tile_gather(array, index, mask=mask, padding_value=7, check_bounds=False), np.array([0, 7, 7, 4]))


@pytest.mark.parametrize("bad", [5, -1, 2**40])
def test_an_unmasked_bad_index_raises_without_bounds_check(bad):
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.tile_gather(np.zeros((3, 5)), (0, np.array([0, bad])), check_bounds=False)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count) == (bad, (1,), 1, 5, 1)
    assert "tile_gather accepts 0 to 4" in str(e)


@pytest.mark.parametrize("mask", [True, np.True_, np.array(True), np.array([True]), [True], None])
def test_scalar_masks_that_pass(mask):
    same(gs.tile_gather(np.arange(3), np.array([2]), mask=mask), np.array([2]))


@pytest.mark.parametrize("mask", [False, np.False_, np.array(False), np.array([False]), [False]])
def test_scalar_masks_that_hide(mask):
    same(gs.tile_gather(np.arange(3), np.array([2, 99]), mask=mask, padding_value=-1), np.array([-1, -1]))


MASKS = [1, 0, 1.0, np.array([1, 0]), np.array([1.0, 0.0]), "x", [1, 0], np.array([True, None]), np.int8(1)]


@pytest.mark.parametrize("mask", MASKS, ids=repr)
def test_masks_that_are_not_boolean(mask):
    with pytest.raises(TileTypeError, match="mask must be boolean"):
        gs.tile_gather(np.arange(3), np.array([0, 1]), mask=mask)


@pytest.mark.parametrize(
    ("index", "what"), [((8,), (4,)), ((1,), (8,)), ((), (1,)), ((2, 3), (2,)), ((3,), (1, 3)), ((2, 1), (2, 3))]
)
def test_mask_and_padding_broadcast_one_way(index, what):
    array, i = np.arange(9.0), np.zeros(index, int)
    with pytest.raises(TileTypeError, match=r"mask of shape .* is not broadcastable"):
        gs.tile_gather(array, i, mask=np.ones(what, bool))
    with pytest.raises(TileTypeError, match=r"padding_value of shape .* is not broadcastable"):
        gs.tile_gather(array, i, padding_value=np.ones(what))


# ---- errors of indices, hints and arrays


@pytest.mark.parametrize("indices", [np.array([0]), 0, [0], (), (0,), (0, 0, 0), None])
def test_a_tuple_of_the_ranks_length(indices):
    with pytest.raises(TileTypeError):
        gs.tile_gather(np.zeros((2, 3)), indices)


@pytest.mark.parametrize("indices", [0, [0], np.array(0), (0,)])
def test_a_0d_array_takes_the_empty_tuple_only(indices):
    with pytest.raises(TileTypeError):
        gs.tile_gather(np.array(3), indices)


WRONG_INDICES = [True, np.True_, 1.0, np.float32(1), np.array([1.0]), np.array([True]), [True], [0.5], "1", None, 1j]
WRONG_INDICES += [np.array([1], object), np.array(["1"]), np.array([1], "m8[s]"), {0}]


@pytest.mark.parametrize("index", WRONG_INDICES, ids=repr)
def test_an_index_is_an_integer(index):
    with pytest.raises(TileTypeError, match="an index must be"):
        gs.tile_gather(np.arange(3), (index,))


def test_indices_that_do_not_broadcast():
    with pytest.raises(TileTypeError, match="not broadcastable"):
        gs.tile_gather(np.zeros((2, 3)), (np.zeros(2, int), np.zeros(3, int)))


@pytest.mark.parametrize("check_bounds", [1, 0, None, np.True_, "yes", 1.0])
def test_check_bounds_is_a_bool(check_bounds):
    with pytest.raises(TileTypeError, match="check_bounds"):
        gs.tile_gather(np.arange(3), 0, check_bounds=check_bounds)


@pytest.mark.parametrize("latency", [0, 11, -1, 10**20])
def test_latency_out_of_range(latency):
    with pytest.raises(TileValueError, match="latency"):
        gs.tile_gather(np.arange(3), 0, latency=latency)


@pytest.mark.parametrize("latency", [1.0, True, False, "5", np.int64(5), [5]])
def test_latency_is_an_int(latency):
    with pytest.raises(TileTypeError, match="latency"):
        gs.tile_gather(np.arange(3), 0, latency=latency)


@pytest.mark.parametrize("array", [[1, 2, 3], 5, None, "abc", (1, 2)])
def test_an_array_is_expected(array):
    with pytest.raises(TileTypeError, match="expected an array"):
        gs.tile_gather(array, 0)


def test_the_arguments_have_their_kinds():
    with pytest.raises(TypeError):
        gs.tile_gather(array=np.arange(3), indices=0)
    with pytest.raises(TypeError):
        gs.tile_gather(np.arange(3), 0, None)


def test_tile_errors_say_what_they_are():
    assert issubclass(TileTypeError, TileError) and issubclass(TileTypeError, TypeError)
    assert issubclass(TileValueError, TileError) and issubclass(TileValueError, ValueError)


# ---- other libraries


def test_torch():
    torch = pytest.importorskip("torch")
    array = torch.arange(12.0).reshape(3, 4).to(torch.bfloat16)
    rows, columns = torch.tensor([[0], [2], [3]]), torch.tensor([1, -1], dtype=torch.int8)
    result = gs.tile_gather(array, (rows, columns), padding_value=-1)
    assert type(result) is torch.Tensor and result.dtype is torch.bfloat16
    assert result.tolist() == [[1, -1], [9, -1], [-1, -1]]
    mask = torch.tensor([[True], [False], [True]])
    assert gs.tile_gather(array, (rows, columns), mask=mask).tolist() == [[1, 0], [0, 0], [0, 0]]
    assert gs.tile_gather(array, (0, 1)).shape == ()


def test_libraries_mix():
    torch = pytest.importorskip("torch")
    index, mask = np.array([0, 9, 2], "u2"), torch.tensor([True, True, False])
    padding = np.array([5, 6, 7], ">i4")
    result = gs.tile_gather(torch.arange(3.0), index, mask=mask, padding_value=padding)
    assert type(result) is torch.Tensor and result.tolist() == [0, 6, 7]
    result = gs.tile_gather(np.arange(3.0), torch.tensor([0, 9, 2]), mask=mask, padding_value=torch.tensor([5, 6, 7]))
    same(result, np.array([0.0, 6.0, 7.0]))
    result = gs.tile_gather(np.arange(3.0), [9], padding_value=torch.tensor([1.5], dtype=torch.bfloat16))
    same(result, np.array([1.5]))


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.arange(5.0)
    result = gs.tile_gather(array, jnp.array([0, 9, -1]), mask=jnp.array(True), padding_value=jnp.float32(7))
    assert type(result) is type(array) and result.dtype == array.dtype and result.tolist() == [0, 7, 7]
    assert gs.tile_gather(jnp.arange(3, dtype="bfloat16"), [9], padding_value=1.5).tolist() == [1.5]
    with pytest.raises(TileTypeError):
        gs.tile_gather(array, jnp.array([0.5]))
    with pytest.raises(TileTypeError):
        gs.tile_gather(array, jnp.array([0]), padding_value=np.float64(1))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_wrong_indices_and_masks_of_other_libraries(library):
    xp = pytest.importorskip(library)
    array = xp.arange(3)
    for index in (xp.ones(1), xp.ones(1) > 0):
        with pytest.raises(TileTypeError, match="an index must be"):
            gs.tile_gather(array, index)
    with pytest.raises(TileTypeError, match="mask must be boolean"):
        gs.tile_gather(array, array, mask=array)
