"""array_strategies.py: strategies of hypothesis for arrays of any layout and for indices near the edges of an axis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from layouts import DTYPES, random_items
from second_reference import opaque

SIDES = st.integers(0, 6)
INDEX_DTYPES = [np.dtype(code) for code in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i2", ">u4", ">i8"]]


@st.composite
def strided(draw, shape, dtype=None, broadcast=True):
    """An array of this shape with random strides: steps, reversed, repeated, transposed, unaligned."""
    dtype = dtype or DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, 3, -1, -2] + [0] * broadcast)) for _ in shape]
    room_shape = [max(n * abs(step), 1) if step else 1 for n, step in zip(shape, steps, strict=True)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    contents = random_items(tuple(room_shape[d] for d in order), dtype, rng)
    room = np.ndarray(contents.shape, dtype, buffer=bytearray(contents.nbytes + 2), offset=draw(st.integers(0, 1)))
    opaque(room)[...] = opaque(contents)
    view = np.transpose(room, np.argsort(order)) if shape else room
    for axis, (n, step) in enumerate(zip(shape, steps, strict=True)):
        if step == 0 and n:
            view = np.broadcast_to(view, (*view.shape[:axis], n, *view.shape[axis + 1 :]))
        else:
            where = (slice(None),) * axis
            view = view[(*where, slice(None, None, step or 1))][(*where, slice(0, n))]
    assert view.shape == tuple(shape)
    return view


@st.composite
def index_array(draw, shape, n):
    """Indices for an axis of size n: inside, just outside, and the limits of their type."""
    dtype = draw(st.sampled_from(INDEX_DTYPES))
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    near = [v for v in (-n - 1, -n, -1, 0, n - 1, n, n + 1, low, high, 2**32, 2**63, -(2**31)) if low <= v <= high]
    inside = st.integers(0, min(max(n - 1, 0), high))
    elements = draw(st.sampled_from([inside, inside, st.integers(max(-n, low), min(max(n - 1, 0), high))]))
    if draw(st.booleans()):
        elements = st.one_of(inside, inside, st.sampled_from(near))
    values = draw(hnp.arrays(dtype, shape, elements=elements))
    laid = draw(strided(shape, dtype, broadcast=False))
    laid[...] = values
    return laid
