"""test_documented_examples.py: the uniform calls on the examples, rules and error rows of the source documents.

The tables are in documented_cases.py; the strict interfaces run them in test_compat_*.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gatherscatter as gs
import reference
from documented_cases import (
    MS_AXIS_ERRORS,
    MS_DIM_ERRORS,
    PYPTO_ERRORS,
    ROWS,
    SCATTER_ROWS,
    X_MS,
    X_PP,
    arguments_of,
    value_of,
)
from gatherscatter.compat import mindspore


def call(name: str, arguments: dict):
    """The uniform call for a row. pypto's tile shape is ignored, because it never changes a result."""
    a = {k: v for k, v in arguments.items() if k != "tile_shape"}
    if name.startswith("ct"):
        return gs.tile_gather(a.pop("array"), a.pop("indices"), **a)
    if "dim" in a:
        negative = "out_of_bounds" if name.startswith("pp") else "from_end"
        return gs.gather(a["input"], a["dim"], a["index"], negative=negative)
    return gs.gather(a.pop("input"), negative="out_of_bounds", **a)


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    arguments, expected = ROWS[name]
    arguments = arguments_of(arguments)
    source = arguments["input" if "input" in arguments else "array"]
    expected = np.asarray(value_of(expected), source.dtype)
    result = call(name, arguments)
    assert result.dtype == source.dtype
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("ct")])
def test_row_in_torch(name):
    torch = pytest.importorskip("torch")
    arguments, expected = ROWS[name]
    arguments = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in arguments_of(arguments).items()}
    result = call(name, arguments)
    assert type(result) is torch.Tensor and result.dtype == arguments["input"].dtype
    expected = np.asarray(value_of(expected), result.numpy().dtype)
    np.testing.assert_array_equal(result.numpy(), expected, strict=True)


@pytest.mark.parametrize("name", SCATTER_ROWS)
def test_scatter_row(name):
    arguments, expected = SCATTER_ROWS[name]
    a = arguments_of(arguments)
    array = a.pop("array")
    assert gs.tile_scatter(array, a.pop("indices"), a.pop("value"), **a) is None
    np.testing.assert_array_equal(array, np.asarray(value_of(expected), array.dtype), strict=True)


def test_no_row_was_lost():
    counts = {
        prefix: sum(name.startswith(prefix) for name in ROWS) for prefix in ("ct-g", "pp-g", "ms-d", "ms-a", "X-ms")
    }
    assert counts == {"ct-g": 4, "pp-g": 15, "ms-d": 5, "ms-a": 6, "X-ms": 2}
    assert len(SCATTER_ROWS) == 2


# ---- cuTile


def test_ct_e_mask_bigger_than_index():
    array, mask = np.arange(8, dtype="f4"), np.ones(8, bool)
    with pytest.raises(TypeError) as error:
        gs.tile_gather(array, np.array([3], "i4"), mask=mask)
    assert isinstance(error.value, gs.errors.TileTypeError)


def test_ct_document_formula():
    """t[i, j, k] = array[ind0[i, j, 0], ind1[i, 0, k]] for ind0 (M, N, 1) and ind1 (M, 1, K)"""
    rng = np.random.default_rng(1)
    array, m, n, k = rng.random((5, 7)), 2, 3, 4
    ind0, ind1 = rng.integers(0, 5, (m, n, 1)), rng.integers(0, 7, (m, 1, k))
    t = gs.tile_gather(array, (ind0, ind1))
    assert t.shape == (m, n, k)
    for c in np.ndindex(m, n, k):
        assert t[c] == array[ind0[c[0], c[1], 0], ind1[c[0], 0, c[2]]]


def test_ct_document_bare_index_is_a_tuple_of_one():
    array, index = np.arange(5.0), np.array([4, -1, 9])
    np.testing.assert_array_equal(gs.tile_gather(array, index), gs.tile_gather(array, (index,)), strict=True)
    assert gs.tile_gather(array, index).tolist() == [4, 0, 0]


def test_ct_document_effective_mask_is_mask_and_bounds():
    result = gs.tile_gather(np.arange(10, 14), [0, 1, -1, 4, 2], mask=np.array([1, 0, 1, 1, 1], bool), padding_value=-5)
    assert result.tolist() == [10, -5, -5, -5, 12]


# ---- pypto


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize(("name", "shape", "index_shape", "dims"), X_PP, ids=[row[0] for row in X_PP])
def test_pypto_shapes(name, shape, index_shape, dims, index_dtype):
    rng = np.random.default_rng(3)
    dtypes = ["f4", "f2", "i4", "i2", "i1", "u1", "u2", "u4"] if name == "X-pp-1" else ["f4"]
    for dim, dtype in itertools.product(dims, dtypes):
        x = rng.integers(0, 100, shape).astype(dtype)
        index = rng.integers(0, shape[dim], index_shape).astype(index_dtype)
        result = gs.gather(x, dim, index, negative="out_of_bounds")
        np.testing.assert_array_equal(result, reference.gather_dim(x, dim, index).result, strict=True)


def test_x_pp_1_view():
    """The view [10, 8] of the [10, 10] input, as in pypto's test cases."""
    x, index = np.arange(100.0).reshape(10, 10)[:, :8], np.full((5, 8), 9)
    np.testing.assert_array_equal(gs.gather(x, 0, index, negative="out_of_bounds"), np.tile(x[9], (5, 1)))


def test_x_pp_9():
    result = gs.gather(np.ones((2, 8), "f4"), 0, np.zeros((2, 8), "i8"), negative="out_of_bounds")
    np.testing.assert_array_equal(result, np.ones((2, 8), "f4"), strict=True)


@pytest.mark.parametrize("reduce", [None, "add", "multiply"])
@pytest.mark.parametrize("dim", [0, 1])
def test_x_pp_13(dim, reduce):
    """pypto's scatter: input [3, 10], index [1, 9], src [2, 9], of which only the first row is read."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(6)
    x, src = rng.integers(0, 9, (3, 10)).astype("f4"), rng.integers(0, 9, (2, 9)).astype("f4")
    index = rng.permutation(10)[None, :9] if dim else rng.integers(0, 3, (1, 9))
    tensors = torch.from_numpy(x), dim, torch.from_numpy(index), torch.from_numpy(src)
    words = {"add": "sum", "multiply": "prod"}
    expected = torch.scatter_reduce(*tensors, words[reduce]) if reduce else torch.scatter(*tensors)
    np.testing.assert_array_equal(gs.scatter(x, dim, index, src, reduce=reduce), expected.numpy(), strict=True)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_pypto_document_formula(dim):
    rng = np.random.default_rng(dim)
    x, shape = rng.random((3, 4, 5)), [2, 3, 4]
    shape[dim] = 6
    index = rng.integers(0, x.shape[dim], shape)
    output = gs.gather(x, dim, index, negative="out_of_bounds")
    for i, j, k in np.ndindex(*shape):
        place = [i, j, k]
        place[dim] = index[i, j, k]
        assert output[i, j, k] == x[tuple(place)]


@pytest.mark.parametrize("name", PYPTO_ERRORS)
def test_pypto_error(name):
    error, dim, index = PYPTO_ERRORS[name]
    with pytest.raises(error):
        gs.gather(np.arange(15).reshape(3, 5), dim, index, negative="out_of_bounds")


# ---- MindSpore, elementwise along dim


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i4", "i8", "?", "c8", "c16"])  # X-ms-1, X-ms-4
@pytest.mark.parametrize(("name", "shape", "index_shape", "dim", "index_dtype"), X_MS, ids=[row[0] for row in X_MS])
def test_mindspore_dim_shapes(name, shape, index_shape, dim, index_dtype, dtype):
    rng = np.random.default_rng(4)
    n = shape[dim] if shape else 1
    x = rng.integers(0, 100, shape).astype(dtype)
    index = rng.integers(-n, n, index_shape).astype(index_dtype)  # n is added once to negative values
    result = gs.gather(x, dim, index)
    np.testing.assert_array_equal(np.asarray(result), reference.gather_dim(x, dim, index).result, strict=True)


def test_x_ms_6_transposed_input():
    x = np.arange(20.0).reshape(5, 4).T
    index = np.array([[0, 4, 2], [1, 1, 1], [3, 2, 0], [4, 0, 1]])
    np.testing.assert_array_equal(gs.gather(x, 1, index), np.take_along_axis(x, index, 1), strict=True)


def test_x_ms_8_two_batch_axes():
    x = np.arange(12).reshape(2, 1, 2, 3)
    result = gs.gather(np.moveaxis(x, (3, 2), (0, 1)), -1, np.zeros((3, 2, 2, 1), "i8"))
    expected = [[[[0], [6]], [[3], [9]]], [[[1], [7]], [[4], [10]]], [[[2], [8]], [[5], [11]]]]
    assert result.tolist() == expected


def test_mindspore_keywords_in_any_order():
    x, index = np.arange(6.0).reshape(2, 3), np.array([[0, 0], [1, 1]])
    np.testing.assert_array_equal(gs.gather(x, index=index, dim=1), gs.gather(x, 1, index), strict=True)


def test_mindspore_never_writes_into_the_index():
    index = np.array([[-1, -2], [1, -3]])
    gs.gather(np.arange(6.0).reshape(2, 3), 1, index)
    assert index.tolist() == [[-1, -2], [1, -3]]


@pytest.mark.parametrize("name", MS_DIM_ERRORS)
def test_mindspore_dim_error(name):
    error, dim, index = MS_DIM_ERRORS[name]
    with pytest.raises(error):
        gs.gather(np.arange(6.0).reshape(2, 3), dim, index)


def test_mindspore_non_empty_index_into_an_empty_axis():
    with pytest.raises(ValueError, match="index 0 is out of bounds for axis 1 with size 0"):
        gs.gather(np.zeros((2, 0)), 1, np.zeros((2, 1), "i8"))


# ---- MindSpore, slices along axis


def test_mindspore_axis_document_shape():
    """self.shape[:axis] + input_indices.shape[batch_dims:] + self.shape[axis + 1:]"""
    x, indices = np.zeros((2, 3, 4, 5)), np.zeros((2, 3, 6, 7), "i4")
    for batch_dims, axis in [(0, 0), (0, 3), (1, 1), (1, 3), (2, 2), (2, 3)]:
        result = gs.gather(x, input_indices=indices, axis=axis, batch_dims=batch_dims)
        assert result.shape == x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1 :]


def test_mindspore_axis_formula():
    """out[B, M, I, T] = self[B, M, input_indices[B, I], T]"""
    rng = np.random.default_rng(5)
    x, indices = rng.random((2, 3, 4, 5)), rng.integers(0, 4, (2, 6, 7))
    out = gs.gather(x, indices, axis=2, batch_dims=1)
    for b, m, i, j, t in np.ndindex(*out.shape):
        assert out[b, m, i, j, t] == x[b, m, indices[b, i, j], t]


@pytest.mark.parametrize("axis", [1, -1, np.array(1), np.array([1]), np.array([-1], "i1")])
def test_mindspore_axis_may_be_a_tensor_of_one(axis):
    x, rows = np.arange(12.0).reshape(3, 4), np.array([0, 2])
    assert mindspore.gather(x, rows, axis).tolist() == x[:, rows].tolist()
    if np.ndim(axis) == 0:  # the uniform operator takes an array with an axis for a second index
        assert gs.gather(x, rows, axis=axis).tolist() == x[:, rows].tolist()


@pytest.mark.parametrize("name", MS_AXIS_ERRORS)
def test_mindspore_axis_error(name):
    error, indices, keywords = MS_AXIS_ERRORS[name]
    with pytest.raises(error):
        mindspore.gather(np.arange(6.0).reshape(3, 2), input_indices=np.asarray(indices), **keywords)
    own = TypeError if np.ndim(keywords["axis"]) else error
    with pytest.raises(own):
        gs.gather(np.arange(6.0).reshape(3, 2), input_indices=indices, negative="out_of_bounds", **keywords)
