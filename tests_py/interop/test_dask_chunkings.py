"""test_dask_chunkings.py: any chunks on every side give the answer of the naive loops, drawn by hypothesis."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
import reference
import reference_write

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
st = pytest.importorskip("hypothesis.strategies", reason="hypothesis is not installed")


@st.composite
def chunks_of(draw, shape):
    found = []
    for n in shape:
        cuts = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
        found.append(tuple(b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)))
    return tuple(found)


@st.composite
def calls(draw):
    """Data, an index along one axis, values, chunks for all three, and a rule."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=rank, max_size=rank)))
    dim = draw(st.integers(-rank, rank - 1))
    extents = [draw(st.integers(0, n)) for n in shape]
    extents[dim] = draw(st.integers(0, 8))
    bounds = draw(st.sampled_from(["fill", "clip", "wrap", "raise"]))
    seed = draw(st.integers(0, 99))
    reach = shape[dim] + 3 if bounds != "raise" else shape[dim]
    rng = np.random.default_rng(seed)
    arrays = (
        rng.integers(0, 100, shape),
        rng.integers(-reach, reach, extents),
        rng.integers(0, 100, extents),
    )
    lazy = [draw(st.booleans()) for _ in arrays]
    made = [
        da.from_array(a, chunks=draw(chunks_of(a.shape)), name=False) if is_lazy or at == 0 else a
        for at, (a, is_lazy) in enumerate(zip(arrays, lazy, strict=True))
    ]
    return dim, bounds, arrays, made


# Chunks of an index are joined to blocks of half this size: none, a few items, all of them.
SIZES = st.sampled_from(["1 B", "64 B", "128 MiB"])


@hypothesis.given(calls(), SIZES)
@hypothesis.settings(max_examples=180, deadline=None, derandomize=True)
def test_gather(call, size):
    dim, bounds, (x, index, _), (dx, di, _) = call
    with dask.config.set({"array.chunk-size": size}):
        made = gs.gather(dx, dim, di, bounds=bounds)
    expected = reference.gather_dim(x, dim, index, bounds=bounds).result
    np.testing.assert_array_equal(made.compute(scheduler="sync"), expected, strict=True)
    if index.size and isinstance(di, da.Array):
        assert made.chunks == di.chunks


@hypothesis.given(calls(), st.sampled_from([None, "add", "max"]), SIZES)
@hypothesis.settings(max_examples=180, deadline=None, derandomize=True)
def test_scatter(call, reduce, size):
    dim, bounds, (x, index, values), (dx, di, dv) = call
    bounds = "drop" if bounds == "fill" else bounds
    with dask.config.set({"array.chunk-size": size}):
        made = gs.scatter(dx, dim, di, dv, bounds=bounds, reduce=reduce)
    expected = reference_write.scatter(x, dim, index, values, bounds=bounds, reduce=reduce).result
    np.testing.assert_array_equal(made.compute(scheduler="sync"), expected, strict=True)
    assert made.chunks == dx.chunks
