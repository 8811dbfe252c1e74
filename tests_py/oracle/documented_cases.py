"""documented_cases.py: examples, shapes and error rows of the source documents and their tests, as tables.

They are verbatim facts (inputs, then `¦`, then keywords; `i32[1,2]` is a dtype and its values), with the names of the
catalogue that they were copied from: ct cuTile, pp pypto, ms MindSpore. The native calls and the strict interfaces run
all of these rows.
"""

from __future__ import annotations

import re

import numpy as np

DTYPE = {"b": "bool", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8"}
DTYPE |= {"u64": "u8", "f32": "f4", "f16": "f2", "f64": "f8"}
NAMES: dict[str, object] = {"T": True, "F": False, "nan": np.nan, "inf": np.inf}


class Typed:
    """A dtype in front of its values: `i32@[1,2]`, and `i32@77` for a 0-d array."""

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

# Scatters write in place: the answer is the array after the call.
SCATTER_ROWS = {
    "ct-s-bounds": (
        "array=f32[100,101,102,103,104]; indices=i32[0,1,2,3,4,5,6,7]; value=f32[10,11,12,13,14,15,16,17]",
        "[10,11,12,13,14]",
    ),
    "ct-s-mask": (
        "array=f32[0,0,0,0,0,0,0,0]; indices=i32[0,1,2,3,4,5,6,7]; "
        "value=f32[100,101,102,103,104,105,106,107] ¦ mask=b[T,F,T,F,T,F,T,F], check_bounds=F",
        "[100,0,102,0,104,0,106,0]",
    ),
}

# ---- pypto: name, input shape, index shape, dims

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

# Tile shapes that pypto's test cases set for them; for the other cases the catalogue lists none.
X_PP_TILES = {
    "X-pp-1": [(3, 8), (3, 16)],
    "X-pp-2": [(16, 8, 8), (5, 16, 8), (8, 9, 16)],
    "X-pp-3": [(5, 16, 8, 8), (8, 9, 13, 16)],
    "X-pp-4": [(32, 128)],
    "X-pp-5b": [(16, 32)],
    "X-pp-5c": [(64, 64)],
    "X-pp-5d": [(7, 64)],
    "X-pp-6": [(2, 2, 9, 13, 8)],
    "X-pp-7": [(23, 4)],
}

PYPTO_ERRORS = {
    "index.dim = input.dim": (ValueError, 0, np.zeros(3, "i4")),
    "index.shape[i] <= input.shape[i]": (ValueError, 0, np.zeros((3, 6), "i4")),
    "dim < input.dim": (ValueError, 2, np.zeros((3, 4), "i4")),
    "dim >= -input.dim": (ValueError, -3, np.zeros((3, 4), "i4")),
    "index beyond": (IndexError, 0, np.full((3, 4), 3, "i4")),
    "index negative": (IndexError, 0, np.full((3, 4), -1, "i4")),
    "index dtype": (TypeError, 0, np.zeros((3, 4), "f4")),
}

# ---- MindSpore: name, shape, index shape, dim, index dtype

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
