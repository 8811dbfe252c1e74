"""test_documented_examples.py: examples, rules and error rows of the source documents and their tests.

The tables are verbatim facts (inputs, then `¦`, then keywords; `i32[1,2]` is a dtype and its values), named as in the
catalogue that they were harvested into: ct cuTile, pp pypto, ms MindSpore.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import gatherscatter as gs
import reference

DTYPE = {"b": "bool", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8"}
DTYPE |= {"u64": "u8", "f32": "f4", "f16": "f2", "f64": "f8"}
NAMES: dict[str, object] = {"T": True, "F": False, "nan": np.nan, "inf": np.inf}


class Typed:
    """A dtype before its values: `i32@[1,2]`, and `i32@77` for a 0-d array."""

    def __init__(self, dtype: str):
        self.dtype = dtype

    def __matmul__(self, values):
        return np.array(values, self.dtype)


NAMES |= {name: Typed(dtype) for name, dtype in DTYPE.items()}


def value_of(text: str):
    """`i32[[0,1],[2,3]]` → array, `(i32[0], i32[1])` → tuple, `i32 77` → 0-d array, `-1` → int."""
    return eval(re.sub(r"\b([biuf]\d*)( (?=\d)|(?=\[))", r"\1@", text.strip()), {"__builtins__": {}}, dict(NAMES))


def arguments_of(text: str) -> dict:
    return {k.strip(): value_of(v) for k, v in (part.split("=", 1) for part in re.split(r";|¦|, (?=\w+=)", text))}


def call(name: str, arguments: dict):
    """The native call for a row. The tile shape of pypto never changes a result, so it has no place here."""
    a = {k: v for k, v in arguments.items() if k != "tile_shape"}
    if name.startswith("ct"):
        return gs.tile_gather(a.pop("array"), a.pop("indices"), **a)
    if "dim" in a:
        negative = "out_of_bounds" if name.startswith("pp") else "from_end"
        return gs.gather(a["input"], a["dim"], a["index"], negative=negative)
    return gs.gather(a.pop("input"), negative="out_of_bounds", **a)


PP_DOC = "input=i32[[0,1,2,3,4],[5,6,7,8,9],[10,11,12,13,14]]; index=i32[[0,1,2,0],[1,2,0,1],[2,2,1,0]] ¦ dim=0"
PP_DOC_ANSWER = "[[0,6,12,3],[5,11,2,8],[10,11,7,3]]"
MS_12 = "f32[[1,2,3,4],[5,6,7,8],[9,10,11,12]]"

ROWS = {
    "ct-g-pad-tile-1d": (
        "array=f32[100,101,102,103,104,105]; indices=i32[0,1,2,3,4,5,6,7] ¦ padding_value=f32[0,1,2,3,4,5,6,7]",
        "[100,101,102,103,104,105,6,7]",
    ),
    "ct-g-mask-bcast-2d": (
        "array=f32[[0,1,2,3],[4,5,6,7],[8,9,10,11],[12,13,14,15]]; indices=(i32[[0],[1],[2],[3]], i32[0,1,2,3]) ¦ "
        "mask=b[[T],[F],[T],[F]], padding_value=0, check_bounds=F",
        "[[0,1,2,3],[0,0,0,0],[8,9,10,11],[0,0,0,0]]",
    ),
    "ct-g-scalar-index": ("array=f32[7]; indices=0", "7"),
    "ct-g-0d-array": ("array=i32 77; indices=()", "77"),
    "pp-g-doc": (PP_DOC, PP_DOC_ANSWER),
    "pp-g-doc-tile-1x1": (PP_DOC + ", tile_shape=[1, 1]", PP_DOC_ANSWER),
    "pp-g-doc-tile-2x3": (PP_DOC + ", tile_shape=[2, 3]", PP_DOC_ANSWER),
    "pp-g-doc-tile-3x4": (PP_DOC + ", tile_shape=[3, 4]", PP_DOC_ANSWER),
    "pp-g-doc-tile-8x8": (PP_DOC + ", tile_shape=[8, 8]", PP_DOC_ANSWER),
    "pp-g-doc-tile-32x32": (PP_DOC + ", tile_shape=[32, 32]", PP_DOC_ANSWER),
    "pp-g-doc-tile-2x8": (PP_DOC + ", tile_shape=[2, 8]", PP_DOC_ANSWER),
    "pp-g-index-longer-last-dim": ("input=f32[[1,2],[4,5]]; index=i32[[0,1,1,0,1]] ¦ dim=1", "[[1,2,2,1,2]]"),
    "pp-g-1d": ("input=f32[1.5,2.5,3.5]; index=i32[2,0,0,1,2] ¦ dim=0", "[3.5,1.5,1.5,2.5,3.5]"),
    "pp-g-5d": (
        "input=f32[[[[[0,1],[2,3]],[[4,5],[6,7]]],[[[8,9],[10,11]],[[12,13],[14,15]]]]]; "
        "index=i32[[[[[0],[0]],[[0],[0]]]]] ¦ dim=3",
        "[[[[[0],[0]],[[4],[4]]]]]",
    ),
    "pp-g-dtype-uint16": ("input=u16[[1,2],[3,4]]; index=i32[[1,1],[0,1]] ¦ dim=1", "[[2,2],[3,4]]"),
    "pp-g-dtype-uint32": ("input=u32[[1,2],[3,4]]; index=i32[[1,1],[0,1]] ¦ dim=1", "[[2,2],[3,4]]"),
    "pp-g-dtype-int8": ("input=i8[[1,2],[3,4]]; index=i32[[1,1],[0,1]] ¦ dim=1", "[[2,2],[3,4]]"),
    "pp-g-dtype-uint8": ("input=u8[[1,2],[3,4]]; index=i32[[1,1],[0,1]] ¦ dim=1", "[[2,2],[3,4]]"),
    "pp-g-1x1": ("input=f32[[2.5]]; index=i64[[0]] ¦ dim=0, tile_shape=[32, 32]", "[[2.5]]"),
    "ms-d-doc": (
        "input=f32[[-0.1,0.3,3.6],[0.4,0.5,-3.2]]; index=i32[[0,0],[1,1]] ¦ dim=1",
        "f32[[-0.1,-0.1],[0.5,0.5]]",
    ),
    "ms-d-neg-dim-longer": (
        "input=i32[[[0,1,2],[3,4,5]],[[6,7,8],[9,10,11]]]; "
        "index=i32[[[2,1,0,2,2],[0,0,1,1,2]],[[1,1,1,1,1],[2,0,2,0,2]]] ¦ dim=-1",
        "[[[2,1,0,2,2],[3,3,4,4,5]],[[7,7,7,7,7],[11,9,11,9,11]]]",
    ),
    "ms-d-bool": ("input=b[[T,F],[F,T]]; index=i32[[1,1],[0,0],[1,0]] ¦ dim=0", "[[F,T],[T,F],[F,F]]"),
    "ms-d-special-values": (
        "input=f32[[nan,inf],[-inf,0]]; index=i64[[0,1],[1,0]] ¦ dim=0",
        "[[nan,0],[-inf,inf]]",
    ),
    "ms-d-8d": (
        "input=i32[[[[[[[[0,1]],[[2,3]]]]]]],[[[[[[[4,5]],[[6,7]]]]]]]]; "
        "index=i64[[[[[[[[0,0]]]]]]],[[[[[[[0,0]]]]]]]] ¦ dim=5",
        "[[[[[[[[0,1]]]]]]],[[[[[[[4,5]]]]]]]]",
    ),
    "ms-a-case1": ("input=f32[1,2,3,4,5,6,7]; input_indices=i32[0,2,4,2,6] ¦ axis=0, batch_dims=0", "[1,3,5,3,7]"),
    "ms-a-case3": (f"input={MS_12}; input_indices=i32[0,2] ¦ axis=0, batch_dims=0", "[[1,2,3,4],[9,10,11,12]]"),
    "ms-a-axis1": (f"input={MS_12}; input_indices=i32[0,2] ¦ axis=1, batch_dims=0", "[[1,3],[5,7],[9,11]]"),
    "ms-a-3d-axis0": (
        "input=f32[[[0,1],[2,3]],[[4,5],[6,7]],[[8,9],[10,11]]]; input_indices=i32[1,2] ¦ axis=0, batch_dims=0",
        "[[[4,5],[6,7]],[[8,9],[10,11]]]",
    ),
    "ms-a-batch-vmap": (
        "input=f32[[1,2,3],[4,5,6]]; input_indices=i32[[0,1],[1,2]] ¦ axis=1, batch_dims=1",
        "[[1,2],[5,6]]",
    ),
    "ms-a-uint64": ("input=u64[1,2,3,4,5,6,7]; input_indices=i64[0,2,4,2,6] ¦ axis=0, batch_dims=0", "[1,3,5,3,7]"),
    "X-ms-9": (
        "input=f32[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]]; input_indices=i32[[0,1],[1,0]] ¦ axis=-2, batch_dims=1",
        "[[[1,2,3],[4,5,6]],[[10,11,12],[7,8,9]]]",
    ),
    "X-ms-10": (
        "input=f32[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]]; input_indices=i32[[[0,1],[1,0]],[[0,1],[1,0]]] ¦ "
        "axis=2, batch_dims=2",
        "[[[1,2],[5,4]],[[7,8],[11,10]]]",
    ),
}


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


def test_no_row_was_lost():
    counts = {
        prefix: sum(name.startswith(prefix) for name in ROWS) for prefix in ("ct-g", "pp-g", "ms-d", "ms-a", "X-ms")
    }
    assert counts == {"ct-g": 4, "pp-g": 15, "ms-d": 5, "ms-a": 6, "X-ms": 2}


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

X_PP = [
    ("X-pp-1", (10, 10), (5, 9), (0,)),
    ("X-pp-2", (16, 16, 16), (8, 8, 8), (0, 1, 2)),
    ("X-pp-3", (16,) * 4, (8,) * 4, (0, 1, 2, 3)),
    ("X-pp-4", (145, 128), (17, 128), (1,)),
    ("X-pp-5a", (64, 80), (32, 64), (0,)),
    ("X-pp-5b", (32, 32), (32, 32), (1,)),
    ("X-pp-5c", (32, 37), (30, 32), (0,)),
    ("X-pp-5d", (19, 64), (13, 49), (1,)),
    ("X-pp-6", (2, 16, 16, 16, 16), (2, 8, 8, 8, 8), (3,)),
    ("X-pp-7", (23, 29), (4, 4), (0,)),
    ("X-pp-8a", (16, 64), (8, 32), (1, 0)),
    ("X-pp-8b", (16, 70), (8, 40), (1, 0)),
    ("X-pp-8c", (16, 70), (7, 32), (1, 0)),
]


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
    """The view [10, 8] of the [10, 10] input, as the test cases cut it."""
    x, index = np.arange(100.0).reshape(10, 10)[:, :8], np.full((5, 8), 9)
    np.testing.assert_array_equal(gs.gather(x, 0, index, negative="out_of_bounds"), np.tile(x[9], (5, 1)))


def test_x_pp_9():
    result = gs.gather(np.ones((2, 8), "f4"), 0, np.zeros((2, 8), "i8"), negative="out_of_bounds")
    np.testing.assert_array_equal(result, np.ones((2, 8), "f4"), strict=True)


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


PYPTO_ERRORS = {
    "index.dim = input.dim": (ValueError, 0, np.zeros(3, "i4")),
    "index.shape[i] <= input.shape[i]": (ValueError, 0, np.zeros((3, 6), "i4")),
    "dim < input.dim": (ValueError, 2, np.zeros((3, 4), "i4")),
    "dim >= -input.dim": (ValueError, -3, np.zeros((3, 4), "i4")),
    "index beyond": (IndexError, 0, np.full((3, 4), 3, "i4")),
    "index negative": (IndexError, 0, np.full((3, 4), -1, "i4")),
    "index dtype": (TypeError, 0, np.zeros((3, 4), "f4")),
}


@pytest.mark.parametrize("name", PYPTO_ERRORS)
def test_pypto_error(name):
    error, dim, index = PYPTO_ERRORS[name]
    with pytest.raises(error):
        gs.gather(np.arange(15).reshape(3, 5), dim, index, negative="out_of_bounds")


# ---- MindSpore, elementwise along dim

X_MS = [
    ("X-ms-1a", (5, 5, 5), (5, 3, 5), 1, "i4"),
    ("X-ms-1b", (5, 5, 5), (3, 5, 5), 0, "i8"),
    ("X-ms-1c", (5, 5, 5), (5, 5, 8), -1, "i4"),
    ("X-ms-2", (5, 5, 5), (5, 5, 8), -1, "i4"),
    ("X-ms-3a", (2, 3), (1, 3), 0, "i8"),
    ("X-ms-3b", (2, 3), (2, 2), 1, "i8"),
    ("X-ms-3c", (4, 5, 6), (4, 2, 6), 1, "i8"),
    ("X-ms-3d", (3, 4, 5), (3, 4, 2), 2, "i8"),
    ("X-ms-5a", (6,), (4,), 0, "i8"),
    ("X-ms-5b", (2, 1, 3, 1, 2, 2, 3), (2, 1, 2, 1, 2, 2, 3), 2, "i8"),
    ("X-ms-5c", (2, 1, 2, 1, 2, 2, 1, 3), (2, 1, 2, 1, 2, 2, 1, 5), -1, "i8"),
    ("X-ms-7a", (), (), 0, "i8"),
    ("X-ms-7b", (5,), (0,), 0, "i8"),
]


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i4", "i8", "?", "c8", "c16"])  # X-ms-1, X-ms-4
@pytest.mark.parametrize(("name", "shape", "index_shape", "dim", "index_dtype"), X_MS, ids=[row[0] for row in X_MS])
def test_mindspore_dim_shapes(name, shape, index_shape, dim, index_dtype, dtype):
    rng = np.random.default_rng(4)
    n = shape[dim] if shape else 1
    x = rng.integers(0, 100, shape).astype(dtype)
    index = rng.integers(-n, n, index_shape).astype(index_dtype)  # negatives wrap once
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


MS_DIM_ERRORS = {
    "index.rank != self.rank": (ValueError, 1, np.zeros(2, "i4")),
    "index.shape[axis] > self.shape[axis]": (ValueError, 1, np.zeros((3, 2), "i4")),
    "dim = rank": (ValueError, 2, np.zeros((2, 2), "i4")),
    "dim = -rank - 1": (ValueError, -3, np.zeros((2, 2), "i4")),
    "value = n": (ValueError, 1, np.full((2, 2), 3, "i4")),
    "value = -n - 1": (ValueError, 1, np.full((2, 2), -4, "i4")),
    "index float": (TypeError, 1, np.zeros((2, 2), "f4")),
    "index bool": (TypeError, 1, np.zeros((2, 2), bool)),
}


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
    x = np.arange(12.0).reshape(3, 4)
    assert gs.gather(x, [0, 2], axis=axis).tolist() == x[:, [0, 2]].tolist()


MS_AXIS_ERRORS = {
    "axis is neither int nor tensor": (TypeError, [0], {"axis": 0.0}),
    "axis is a string": (TypeError, [0], {"axis": "0"}),
    "axis is a tensor of two": (ValueError, [0], {"axis": np.array([0, 1])}),
    "axis is a tensor of none": (ValueError, [0], {"axis": np.array([], "i8")}),
    "axis is a float tensor": (TypeError, [0], {"axis": np.array([0.0])}),
    "axis = rank": (ValueError, [0], {"axis": 2}),
    "axis = -rank - 1": (ValueError, [0], {"axis": -3}),
    "indices float": (TypeError, np.array([0.0]), {"axis": 0}),
    "indices bool": (TypeError, np.array([True]), {"axis": 0}),
    "value = n": (RuntimeError, [3], {"axis": 0}),
    "value = -1": (RuntimeError, [-1], {"axis": 0}),
    "X-ms-11": (RuntimeError, [[0, 3], [3, 0]], {"axis": 0}),
    "batch_dims float": (TypeError, [0], {"axis": 0, "batch_dims": 0.0}),
    "batch_dims > rank of indices": (ValueError, [0], {"axis": 1, "batch_dims": 2}),
    "axis < batch_dims": (ValueError, [0, 0, 0], {"axis": 0, "batch_dims": 1}),
    "batch axes differ": (ValueError, [[0], [0]], {"axis": 1, "batch_dims": 1}),
}


@pytest.mark.parametrize("name", MS_AXIS_ERRORS)
def test_mindspore_axis_error(name):
    error, indices, keywords = MS_AXIS_ERRORS[name]
    with pytest.raises(error):
        gs.gather(np.arange(6.0).reshape(3, 2), input_indices=indices, negative="out_of_bounds", **keywords)
