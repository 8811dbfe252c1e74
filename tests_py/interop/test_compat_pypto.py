"""test_compat_pypto.py: gs.compat.pypto by its document and the rows of the catalogue (pp-..., X-pp-...)."""

from __future__ import annotations

import doctest
import inspect
import itertools

import numpy as np
import pytest

import gatherscatter as gs
from documented_cases import PYPTO_ERRORS, ROWS, X_PP, X_PP_TILES, arguments_of, value_of
from gatherscatter.compat import _tile_budget, _tile_options, pypto

X, INDEX = np.arange(15, dtype="i4").reshape(3, 5), np.array([[0, 1, 2, 0], [1, 2, 0, 1], [2, 2, 1, 0]], "i4")
ANSWER = [[0, 6, 12, 3], [5, 11, 2, 8], [10, 11, 7, 3]]


@pytest.fixture(autouse=True)
def no_tile():
    pypto.reset_options()
    yield
    pypto.reset_options()


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


def names(function) -> dict:
    return {p.name: p.default for p in inspect.signature(function).parameters.values()}


def test_signatures():
    empty = inspect.Parameter.empty
    assert names(pypto.gather) == {"input": empty, "dim": empty, "index": empty}
    assert names(pypto.options) == {"name": "", "vec_tile_shapes": None}
    assert inspect.signature(pypto.options).parameters["vec_tile_shapes"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(pypto.set_vec_tile_shapes).parameters["args"].kind is inspect.Parameter.VAR_POSITIONAL
    assert names(pypto.get_vec_tile_shapes) == names(pypto.reset_options) == {}
    budget = ["input_shape", "input_dtype", "index_shape", "index_dtype", "dim", "tile_shape", "budget_bytes"]
    assert list(names(pypto.tile_budget)) == budget and names(pypto.tile_budget)["budget_bytes"] == 196608
    assert pypto.TileBudget._fields == ("input_tile_elems", "index_tile_elems", "bytes", "fits")


@pytest.mark.parametrize("module", [pypto, _tile_budget, _tile_options])
def test_docstrings(module):
    results = doctest.testmod(module)
    assert results.attempted >= 1 and results.failed == 0


# ---- rows of the catalogue


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("pp")])
def test_row(name):
    arguments, expected = ROWS[name]
    a = arguments_of(arguments)
    with pypto.options(name, vec_tile_shapes=a.get("tile_shape")):
        result = pypto.gather(a["input"], a["dim"], a["index"])
    assert result.dtype == a["input"].dtype
    same(result, np.asarray(value_of(expected), result.dtype))


def test_pp_s_five():
    pypto.set_vec_tile_shapes(2, 2, 9, 13, 8)
    assert pypto.get_vec_tile_shapes() == [2, 2, 9, 13, 8]


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize(("name", "shape", "index_shape", "dims"), X_PP, ids=[row[0] for row in X_PP])
def test_X_pp(name, shape, index_shape, dims, index_dtype):
    """Every shape with every tile that its test case sets, and without a tile."""
    rng = np.random.default_rng(3)
    dtypes = ["f4", "f2", "i4", "i2", "i1", "u1", "u2", "u4"] if name == "X-pp-1" else ["f4"]
    for dim, dtype in itertools.product(dims, dtypes):
        x = rng.integers(0, 100, shape).astype(dtype)
        index = rng.integers(0, shape[dim], index_shape).astype(index_dtype)
        expected = np.take_along_axis(x[tuple(map(slice, np.maximum(index_shape, of_dim(shape, dim))))], index, dim)
        assert expected.shape == index_shape
        for tile in [None, *X_PP_TILES.get(name, [])]:
            with pypto.options(vec_tile_shapes=tile):
                same(pypto.gather(x, dim, index), expected)


def of_dim(shape, dim) -> list[int]:
    """0 on all axes except `dim`: the input is clipped to the index there, and is read in full along `dim`."""
    return [n if d == dim else 0 for d, n in enumerate(shape)]


@pytest.mark.parametrize("tile", [(3, 8), (3, 16)])
def test_X_pp_1_view(tile):
    """The view [10, 8] of the [10, 10] input, as in pypto's test cases."""
    x, index = np.arange(100.0).reshape(10, 10)[:, :8], np.full((5, 8), 9)
    with pypto.options(vec_tile_shapes=tile):
        same(pypto.gather(x, 0, index), np.tile(x[9], (5, 1)))


def test_X_pp_9():
    same(pypto.gather(np.ones((2, 8), "f4"), 0, np.zeros((2, 8), "i8")), np.ones((2, 8), "f4"))


def test_X_pp_10():
    """Tile (4, 16) of (8, 16) by (8, 16) along axis 0: the input tile is (8, 16), index and result tiles (4, 16)."""
    budget = pypto.tile_budget((8, 16), "f4", (8, 16), "i8", 0, (4, 16))
    assert budget[:2] == (8 * 16, 4 * 16)


def test_X_pp_11():
    for tile in [(8, 16), (1, 2, 3)]:
        assert pypto.set_vec_tile_shapes(*tile) is None
        assert pypto.get_vec_tile_shapes() == list(tile)


@pytest.mark.parametrize("tile", [(4, 0), (4, -1), (2,), (2, 2, 2), (2, 2, 2, 2, 2)], ids=str)
def test_X_pp_12(tile):
    """Setting such a tile is no error; the operator that uses it raises one."""
    pypto.set_vec_tile_shapes(*tile)
    assert pypto.get_vec_tile_shapes() == list(tile)
    with pytest.raises(ValueError, match=r"gather: tile \[.*\], expected 2 extents above 0"):
        pypto.gather(X, 0, INDEX)


# ---- the document: call, constraints, errors


def test_document_example():
    y = pypto.gather(X, 0, INDEX)
    assert y.tolist() == ANSWER and y.dtype == np.int32
    same(pypto.gather(index=INDEX, input=X, dim=0), y)


@pytest.mark.parametrize("dim", range(-3, 3))
def test_document_formula(dim):
    rng = np.random.default_rng(7)
    x, shape = rng.random((3, 4, 5)), [2, 3, 4]
    shape[dim] = 6
    index = rng.integers(0, x.shape[dim], shape)
    for tile in (None, (1, 2, 3)):
        with pypto.options(vec_tile_shapes=tile):
            output = pypto.gather(x, dim, index)
        for place in np.ndindex(*shape):
            source = list(place)
            source[dim] = index[place]
            assert output[place] == x[tuple(source)]


def test_document_tile_example():
    """Input [x, y, z], dim 1, index [m, t, p]: the tile [m1, t1, p1] divides m, t and p, and never y."""
    assert pypto.tile_budget((4, 9, 6), "f4", (3, 5, 6), "i4", 1, (2, 2, 3)) == (2 * 9 * 3, 2 * 2 * 3, 312, True)


@pytest.mark.parametrize("tile", [None, (2, 3)])
@pytest.mark.parametrize("name", PYPTO_ERRORS)
def test_document_error(name, tile):
    error, dim, index = PYPTO_ERRORS[name]
    with pypto.options(vec_tile_shapes=tile), pytest.raises(error):
        pypto.gather(X, dim, index)


@pytest.mark.parametrize("tile", [None, (2, 3)])
@pytest.mark.parametrize("shapes", [((0, 5), (0, 5)), ((3, 5), (0, 5)), ((3, 5), (3, 0)), ((3, 0), (3, 0))])
def test_document_empty_tensors_are_not_accepted(shapes, tile):
    with pypto.options(vec_tile_shapes=tile), pytest.raises(ValueError, match="empty"):
        pypto.gather(np.zeros(shapes[0]), 0, np.zeros(shapes[1], "i4"))


@pytest.mark.parametrize("tile", [None, (2, 3)])
@pytest.mark.parametrize("value", [3, -1, -3, 2**31, 2**32, 2**32 + 1, -(2**63), 2**63 - 1])
def test_values_are_compared_at_full_width(value, tile):
    index = np.zeros((3, 4), "i8")
    index[1, 2] = value
    with pypto.options(vec_tile_shapes=tile), pytest.raises(gs.OutOfBoundsError) as error:
        pypto.gather(X, 0, index)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count, e.from_end) == (value, (1, 2), 0, 3, 1, False)


def test_the_lowest_bad_position_whatever_the_tile():
    index = np.zeros((3, 4), "i4")
    index[0, 3], index[1, 0] = 7, 8  # (1, 0) is in the first tile of two columns, (0, 3) in the second
    for tile in (None, (3, 2), (1, 1), (2, 4)):
        with pypto.options(vec_tile_shapes=tile), pytest.raises(gs.OutOfBoundsError) as error:
            pypto.gather(X, 0, index)
        assert (error.value.index, error.value.position, error.value.count) == (7, (0, 3), 2)


# ---- strictness


@pytest.mark.parametrize("dtype", ["i1", "i2", "u1", "u2", "u4", "u8", "?", "f4", "f8", "c8", "m8[s]", "S1", "O"])
def test_index_dtypes_that_are_refused(dtype):
    index = np.zeros((3, 4), dtype)
    for tile in (None, (2, 3)):
        with pypto.options(vec_tile_shapes=tile), pytest.raises(TypeError, match="expected int32 or int64"):
            pypto.gather(X, 0, index)


@pytest.mark.parametrize("dtype", ["i4", "i8", ">i4", ">i8"])
def test_index_dtypes_that_are_taken(dtype):
    for tile in (None, (2, 3)):
        with pypto.options(vec_tile_shapes=tile):
            assert pypto.gather(X, 0, INDEX.astype(dtype)).tolist() == ANSWER


@pytest.mark.parametrize("tile", [None, (2, 3)])
@pytest.mark.parametrize("arguments", [(X.tolist(), 0, INDEX), (X, 0, INDEX.tolist()), (X, 0, 1), (None, 0, INDEX)])
def test_lists_are_no_tensors(arguments, tile):
    with pypto.options(vec_tile_shapes=tile), pytest.raises(TypeError, match="expected an array"):
        pypto.gather(*arguments)


@pytest.mark.parametrize("dim", [0.0, True, "0", None, np.float32(0), [0]])
def test_dim_is_an_integer(dim):
    with pytest.raises(TypeError, match="dim is"):
        pypto.gather(X, dim, INDEX)


@pytest.mark.parametrize("rank", range(1, 9))
def test_ranks(rank):
    x, index = np.arange(2**rank).reshape((2,) * rank), np.ones((2,) * rank, "i4")
    for tile in (None, (1,) * rank):
        with pypto.options(vec_tile_shapes=tile):
            same(pypto.gather(x, -1, index), np.take_along_axis(x, index, -1))


@pytest.mark.parametrize("rank", [0, 9])
def test_ranks_that_are_refused(rank):
    with pytest.raises(ValueError, match="rank"):
        pypto.gather(np.zeros((1,) * rank), 0, np.zeros((1,) * rank, "i4"))


@pytest.mark.parametrize("dtype", ["?", "i8", "f8", "c16", "m8[s]", "S3", "V5", "bfloat16", "float8_e4m3fn", ">i2"])
def test_every_dtype_of_plain_bytes_is_an_input(dtype):
    if "float" in dtype:
        dtype = getattr(pytest.importorskip("ml_dtypes"), dtype)
    x = np.frombuffer(bytes(range(1, 1 + 6 * np.dtype(dtype).itemsize)), np.uint8)
    x = np.ones(6, dtype) if np.dtype(dtype).kind == "b" else x.view(dtype)
    for tile in (None, (4,)):
        with pypto.options(vec_tile_shapes=tile):
            result = pypto.gather(x, 0, np.array([5, 0, 3, 3, 1, 2, 4], "i4"))
        items = [x[i : i + 1].tobytes() for i in (5, 0, 3, 3, 1, 2, 4)]
        assert result.dtype == x.dtype and result.tobytes() == b"".join(items)


# ---- other libraries, plans


@pytest.mark.parametrize("tile_shape", [None, (2, 3)])
def test_torch_and_jax(tile_shape):
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    with pypto.options(vec_tile_shapes=tile_shape):
        result = pypto.gather(torch.from_numpy(X).to(torch.bfloat16), 0, torch.from_numpy(INDEX))
        assert type(result) is torch.Tensor and result.dtype is torch.bfloat16 and result.tolist() == ANSWER
        result = pypto.gather(jnp.asarray(X), 0, INDEX)
        assert type(result) is type(jnp.asarray(X)) and result.tolist() == ANSWER
        for index in (torch.zeros(3, 4, dtype=torch.int16), jnp.zeros((3, 4), jnp.uint8)):
            with pytest.raises(TypeError, match="expected int32 or int64"):
                pypto.gather(X, 0, index)


def test_a_bare_producer_of_dlpack():
    class Producer:
        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    assert pypto.gather(X, 0, Producer(INDEX)).tolist() == ANSWER
    with pytest.raises(TypeError, match="expected int32 or int64"):
        pypto.gather(X, 0, Producer(INDEX.astype("i2")))


def test_plan():
    plan = gs.plan(pypto.gather, X, 0, INDEX)
    assert plan(X + 1, INDEX).tolist() == (np.array(ANSWER) + 1).tolist()
    assert plan.to_dict()["negative"] == "out_of_bounds"
