"""test_tile_scatter.py: tile_scatter compared with naive loops, and cuTile's rows about scatter by catalogue names."""

import numpy as np
import pytest

import gatherscatter as gs
import reference_write
from gatherscatter.errors import TileTypeError, TileValueError

F32 = np.dtype("f4")


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- rows of the catalogue

CASTS = {"f2": ["f2", "f4", "f8"], "f4": ["f4", "f8"], "i1": ["i1", "i2", "i8", "f2", "f4"], "i4": ["i4", "i8", "f4"]}
CASTS |= {"?": ["?", "i1", "u8", "f2", "f4"], "u1": ["u1", "u4", "f4"]}
REFUSED = {"f2": ["i4", "?", "i1"], "f4": ["f2", "i8"], "i1": ["u1", "?"], "i4": ["i1", "u8"], "u1": ["i2"]}


def pairs(table):
    return [(source, target) for source, targets in table.items() for target in targets]


@pytest.mark.parametrize("n", [128, 225, 260])
@pytest.mark.parametrize("tile", [128, 256])
@pytest.mark.parametrize(("source", "target"), pairs(CASTS))
def test_X_ct_1(n, tile, source, target):
    """A copy by tiles that extend past the end: the tail is neither read nor written, and the value is cast."""
    x = (np.arange(n) % 2 if source == "?" else np.arange(n) % 100).astype(source)
    room = np.full(n + 300, 77).astype(target)
    y = room[:n]
    for start in range(0, n, tile):
        index = np.arange(tile, dtype="i8") + start
        assert gs.tile_scatter(y, index, gs.tile_gather(x, index)) is None
    same(y, x.astype(target))
    same(room[n:], np.full(300, 77).astype(target))


@pytest.mark.parametrize(("source", "target"), pairs(REFUSED))
def test_X_ct_1_casts_that_are_refused(source, target):
    y = np.zeros(4, target)
    with pytest.raises(TileTypeError, match="tile_scatter: cannot implicitly cast value"):
        gs.tile_scatter(y, np.arange(4), np.ones(4, source))
    assert not y.any()


@pytest.mark.parametrize("shape", [(128, 128), (192, 192), (128, 192)])
@pytest.mark.parametrize("tile", [(64, 64), (128, 32)])
def test_X_ct_2(shape, tile):
    x = np.arange(shape[0] * shape[1], dtype="f4").reshape(shape)
    y = np.zeros(shape, "f4")
    for row in range(0, shape[0], tile[0]):
        for column in range(0, shape[1], tile[1]):
            at = np.arange(tile[0])[:, None] + row, np.arange(tile[1]) + column
            gs.tile_scatter(y, at, gs.tile_gather(x, at))
    same(y, x)


def test_ct_s_bounds():
    array = np.array([100, 101, 102, 103, 104], "f4")
    value = np.array([10, 11, 12, 13, 14, 15, 16, 17], "f4")
    gs.tile_scatter(array, np.arange(8, dtype="i4"), value)
    same(array, np.array([10, 11, 12, 13, 14], "f4"))


def test_ct_s_mask():
    array, mask = np.zeros(8, "f4"), np.array([True, False] * 4)
    value = np.arange(100, 108, dtype="f4")
    gs.tile_scatter(array, np.arange(8, dtype="i4"), value, mask=mask, check_bounds=False)
    same(array, np.array([100, 0, 102, 0, 104, 0, 106, 0], "f4"))


def test_X_ct_4():
    x, y = np.arange(10, 18, dtype="f4"), np.zeros(8, "f4")
    gs.tile_scatter(y, np.arange(8), gs.tile_gather(x, np.arange(8), check_bounds=False), check_bounds=False)
    same(y, x)


def test_X_ct_5():
    """The checked and unchecked calls have different plans; planning writes nothing."""
    y, i = np.zeros(8, "f4"), np.arange(8)
    checked, unchecked = (gs.explain(gs.tile_scatter, y, i, 1, check_bounds=check) for check in (True, False))
    assert checked.to_dict()["bounds"] == "drop" and unchecked.to_dict()["bounds"] == "raise"
    assert not y.any()


@pytest.mark.parametrize("latency", [None, 1, 5, 10])
def test_X_ct_7(latency):
    y = np.zeros(8, "f4")
    gs.tile_scatter(y, np.arange(8), np.arange(8, dtype="f4"), latency=latency)
    same(y, np.arange(8, dtype="f4"))


def test_X_ct_9():
    y = np.zeros(8, "f4")
    gs.tile_scatter(y, np.arange(8), 1, mask=np.ones(1, bool))
    same(y, np.ones(8, "f4"))


def test_X_ct_10():
    """The value never broadcasts the index."""
    y = np.zeros(8, "f4")
    with pytest.raises(TileTypeError, match="broadcastable"):
        gs.tile_scatter(y, np.zeros(1, int), np.ones(8, "f4"))
    assert not y.any()


def test_X_ct_11():
    x, y = np.arange(1, 65, dtype="f4").reshape(8, 8), np.zeros((8, 8), "f4")
    at = np.array([0, 1, 2, 5, 3, 6, 7, 4]), np.array([0, 3, 1, 4, 7, 2, 5, 6])
    gs.tile_scatter(y, at, gs.tile_gather(x, at))
    chosen = np.zeros((8, 8), bool)
    chosen[at] = True
    same(y, np.where(chosen, x, np.float32(0)))


def test_X_ct_12():
    z = np.array(77, "i4")
    assert gs.tile_scatter(z, (), 5) is None and z == 5
    gs.tile_scatter(z, (), np.int32(6), mask=False)
    assert z == 5


# ---- against the oracle


@pytest.mark.parametrize("seed", range(40))
def test_random_tiles(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    array = rng.integers(0, 100, tuple(rng.integers(0, 5, rank))).astype(rng.choice(["i1", "f4", "f8", "c16", ">i2"]))
    array = array.transpose(rng.permutation(rank))[(slice(None, None, -1),) * rank]
    shape = tuple(rng.integers(1, 4, int(rng.integers(0, 4))))
    indices = []
    for n in array.shape:
        own = tuple(1 if rng.random() < 0.3 else m for m in shape[int(rng.integers(0, len(shape) + 1)) :])
        indices.append(rng.integers(-2, n + 2, own).astype(rng.choice(["i1", "i8", "i4"])))
    common = np.broadcast_shapes(*(i.shape for i in indices))
    mask = rng.random(tuple(1 if rng.random() < 0.3 else m for m in common)) < 0.7
    value = rng.integers(0, 100, common[int(rng.integers(0, len(common) + 1)) :]).astype(array.dtype)
    answer = reference_write.tile_scatter(array, tuple(indices), value, mask=mask)
    gs.tile_scatter(array, tuple(indices), value, mask=mask)
    same(array, answer.result)


def test_the_last_of_several_points_stays():
    y = np.zeros(3, int)
    gs.tile_scatter(y, np.array([[1, 1], [0, 1]]), np.array([[1, 2], [3, 4]]))
    same(y, np.array([3, 4, 0]))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"])
def test_every_index_dtype(dtype):
    info = np.iinfo(dtype)
    y = np.zeros(5)
    gs.tile_scatter(y, np.array([0, 4, 5, 100, info.min, info.max, info.max - 1], dtype), np.arange(1.0, 8.0))
    same(y, np.array([5.0 if info.min == 0 else 1.0, 0, 0, 0, 2]))


def test_negative_and_huge_indices_are_outside():
    y = np.zeros(5, int)
    for index in (-1, 5, 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 10**30):
        gs.tile_scatter(y, index, 9)
        gs.tile_scatter(y, (index,), 9)
    assert not y.any()
    gs.tile_scatter(np.zeros((3, 4)), (0, 5), 1)
    gs.tile_scatter(y, [2, 0], np.array([7, 8]))
    same(y, np.array([8, 0, 7, 0, 0]))


def test_empties():
    y = np.zeros((0, 2))
    gs.tile_scatter(y, ([0, 1], [0, 0]), 5)
    gs.tile_scatter(np.zeros((3, 2)), (np.zeros((0, 1), int), np.zeros(3, int)), 1.0)
    with pytest.raises(gs.OutOfBoundsError):
        gs.tile_scatter(y, (0, 0), 5, check_bounds=False)


# ---- values and their casts


@pytest.mark.parametrize(
    ("dtype", "value", "held"),
    [
        ("f4", 7, 7),
        ("f4", True, 1),
        ("f4", 0, 0),
        ("f2", 1e30, np.inf),
        ("f4", -np.inf, -np.inf),
        ("i1", 127, 127),
        ("i1", 0, 0),
        ("?", 1, True),
        ("?", 0, False),
        ("u8", 2**64 - 1, 2**64 - 1),
        ("c8", 2.5, 2.5),
        ("f8", np.float32(0.5), 0.5),
        ("i8", np.int8(-3), -3),
        ("M8[s]", 0, 0),
        ("S3", b"ab", b"ab"),
        ("S3", 0, b""),
        ([("a", "i4"), ("b", "f8")], 0, (0, 0)),
    ],
    ids=str,
)
def test_values_that_cast(dtype, value, held):
    y = np.ones(3, "S1").astype(dtype) if np.dtype(dtype).kind == "S" else np.ones(3, "i1").astype(dtype)
    expected = y.copy()
    expected[1] = held
    gs.tile_scatter(y, [1], value)
    assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("i1", 128, TileValueError),
        ("u1", -1, TileValueError),
        ("i4", 7.0, TileTypeError),
        ("?", 2, TileTypeError),
        ("?", 1.0, TileTypeError),
        ("f4", 1j, TileTypeError),
        ("f4", np.float64(1), TileTypeError),
        ("f4", None, TileTypeError),
        ("f4", "1", TileTypeError),
        ("S3", 1, TileTypeError),
        ("i4", np.uint8(1), TileTypeError),
        ("f4", 2**64, TileValueError),
    ],
    ids=str,
)
def test_values_that_do_not_cast(dtype, value, error):
    y = np.ones(3, "i1").astype(dtype)
    before = y.tobytes()
    with pytest.raises(error, match="tile_scatter"):
        gs.tile_scatter(y, [1], value)
    with pytest.raises(error, match="tile_scatter"):
        gs.tile_scatter(y, [1], value, mask=False)
    assert y.tobytes() == before


@pytest.mark.parametrize(("index", "what"), [((8,), (4,)), ((1,), (8,)), ((), (1,)), ((2, 3), (2,)), ((3,), (1, 3))])
def test_mask_and_value_broadcast_one_way(index, what):
    y, i = np.zeros(9), np.zeros(index, int)
    with pytest.raises(TileTypeError, match=r"mask of shape .* is not broadcastable"):
        gs.tile_scatter(y, i, 1, mask=np.ones(what, bool))
    with pytest.raises(TileTypeError, match=r"value of shape .* is not broadcastable"):
        gs.tile_scatter(y, i, np.ones(what))
    assert not y.any()


# ---- mask and bounds


def test_the_mask_guards_without_bounds_check():
    y = np.zeros(5, int)
    mask = np.array([True, False, False, True])
    gs.tile_scatter(y, np.array([0, 99, -1, 4]), 7, mask=mask, check_bounds=False)
    same(y, np.array([7, 0, 0, 0, 7]))


@pytest.mark.parametrize("bad", [5, -1, 2**40])
@pytest.mark.parametrize("place", [0, 1, 499])
def test_an_unmasked_bad_index_raises_without_bounds_check(bad, place):
    y = np.zeros((3, 5))
    index = np.zeros(500, int)
    index[place] = bad
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.tile_scatter(y, (0, index), 1, check_bounds=False)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count) == (bad, (place,), 1, 5, 1)
    assert "tile_scatter accepts 0 to 4" in str(e) and not y.any()


# ---- errors of arguments


@pytest.mark.parametrize("indices", [np.array([0]), 0, [0], (), (0,), (0, 0, 0), None])
def test_a_tuple_of_the_ranks_length(indices):
    with pytest.raises(TileTypeError):
        gs.tile_scatter(np.zeros((2, 3)), indices, 1)


@pytest.mark.parametrize("index", [True, 1.0, np.array([1.0]), np.array([True]), "1", None, [0.5]], ids=repr)
def test_an_index_is_an_integer(index):
    with pytest.raises(TileTypeError, match="an index must be"):
        gs.tile_scatter(np.zeros(3), (index,), 1)


def test_hints_and_masks_have_their_types():
    y = np.zeros(3)
    for keywords, error in [
        ({"check_bounds": 1}, TileTypeError),
        ({"check_bounds": None}, TileTypeError),
        ({"latency": 0}, TileValueError),
        ({"latency": 11}, TileValueError),
        ({"latency": 1.0}, TileTypeError),
        ({"latency": True}, TileTypeError),
        ({"mask": 1}, TileTypeError),
        ({"mask": np.ones(1)}, TileTypeError),
    ]:
        with pytest.raises(error, match="tile_scatter"):
            gs.tile_scatter(y, [0], 1, **keywords)
    with pytest.raises(TypeError):
        gs.tile_scatter(array=y, indices=0, value=1)
    with pytest.raises(TypeError):
        gs.tile_scatter(y, 0)
    with pytest.raises(TileTypeError, match="not broadcastable"):
        gs.tile_scatter(np.zeros((2, 3)), (np.zeros(2, int), np.zeros(3, int)), 1)
    assert not y.any()


@pytest.mark.parametrize("array", [[1, 2, 3], 5, None, "abc", (1, 2)])
def test_an_array_is_expected(array):
    with pytest.raises(TileTypeError, match="expected an array"):
        gs.tile_scatter(array, 0, 1)


# ---- targets


def test_targets_that_cannot_be_written():
    y = np.zeros(5)
    y.flags.writeable = False
    for array in (y, np.broadcast_to(0.0, 5), np.lib.stride_tricks.as_strided(np.zeros(1), (5,), (0,))):
        with pytest.raises(ValueError, match="tile_scatter"):
            gs.tile_scatter(array, [0], 1)
        assert not array.any()


@pytest.mark.parametrize("layout", [np.s_[::2, ::2], np.s_[::-1, ::-1], np.s_[1:4, 3:7]], ids=str)
def test_views_are_written_through(layout):
    room = np.zeros((6, 8), int)
    view = room[layout]
    gs.tile_scatter(view, ([[0], [2], [9]], [1, 0]), np.arange(1, 7).reshape(3, 2))
    expected = np.zeros((6, 8), int)
    expected[layout][[0, 0, 2, 2], [1, 0, 1, 0]] = [1, 2, 3, 4]
    same(room, expected)


def test_a_value_that_overlaps_the_array():
    y = np.arange(6)
    gs.tile_scatter(y, np.arange(1, 6), y[:5])
    same(y, np.array([0, 0, 1, 2, 3, 4]))
    y = np.arange(6)
    gs.tile_scatter(y, y[::-1], y)
    same(y, np.arange(6)[::-1])


def test_a_plan_of_it():
    y, i = np.zeros(4), np.array([3, 9, 0])
    plan = gs.plan(gs.tile_scatter, y, i, np.ones(3))
    assert plan.to_dict()["op"] == "tile_scatter" and not y.any()
    assert plan(y, (i,), np.array([1.0, 2.0, 3.0]), out=y) is y
    same(y, np.array([3.0, 0, 0, 1]))


# ---- other libraries


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for dtype in (torch.bfloat16, torch.float32, torch.int8, torch.float8_e4m3fn):
        y = torch.ones((3, 4)).to(dtype)
        version = y._version
        assert gs.tile_scatter(y, (torch.tensor([[0], [2], [3]]), [1, -1]), 0) is None
        assert y.float().tolist() == [[1, 0, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1]] and y._version > version
    y = torch.zeros(3, dtype=torch.bfloat16)
    gs.tile_scatter(y, [0, 1, 2], 1.5, mask=torch.tensor([True, False, True]))
    assert y.tolist() == [1.5, 0, 1.5]
    gs.tile_scatter(y, [1], np.array([7], "i2"))
    assert y.tolist() == [1.5, 7, 1.5]
    with pytest.raises(TileTypeError, match="cannot implicitly cast"):
        gs.tile_scatter(y, [1], torch.tensor([1.0]))


def test_bfloat16_values_of_other_libraries():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    bfloat16 = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    y, value = np.zeros(3, bfloat16), torch.tensor([1.5], dtype=torch.bfloat16)
    gs.tile_scatter(y, [1], value)
    same(y, np.array([0, 1.5, 0], bfloat16))
    y = torch.zeros(3, dtype=torch.bfloat16)
    gs.tile_scatter(y, [1], np.array([1.5], bfloat16))
    assert y.tolist() == [0, 1.5, 0]


def test_jax_arrays_are_not_written_to():
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    x = jnp.arange(3.0)
    with pytest.raises(TypeError, match="immutable"):
        gs.tile_scatter(x, [0], 7)
    assert x.tolist() == [0, 1, 2]
    y = np.zeros(3, "f4")
    gs.tile_scatter(y, jnp.array([0, 2]), x[:2] + 1)
    same(y, np.array([1, 0, 2], "f4"))
