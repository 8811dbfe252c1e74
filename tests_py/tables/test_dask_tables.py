"""test_dask_tables.py: the table operators that serve Dask DataFrames, against the same calls on pandas."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from dask_chunks import as_dask, random_lengths
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, NullIndexError

dask = pytest.importorskip("dask", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

RNG = np.random.default_rng(11)
FRAME = pd.DataFrame({"n": np.arange(50), "t": [f"row {i}" for i in range(50)], "f": RNG.random(50)})


def partitioned(frame, lengths=None):
    """The frame in partitions of random lengths, also of none, which Dask does not know."""
    lengths = random_lengths(len(frame), RNG, 6) if lengths is None else lengths
    ends = np.cumsum([0, *lengths])
    parts = [frame.iloc[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]  # noqa: RUF007
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])


def same(made, expected):
    assert made.npartitions >= 1
    result = made.compute(scheduler="sync")
    pd.testing.assert_frame_equal(result, expected) if expected.ndim == 2 else pd.testing.assert_series_equal(
        result, expected
    )


@pytest.mark.parametrize("round_", range(8))
def test_gather(round_):
    rows = RNG.integers(-50, 50, int(RNG.integers(0, 90)))
    ddf, lazy = partitioned(FRAME), as_dask(rows, RNG)
    expected = gs.table.gather(FRAME, rows)
    same(gs.table.gather(ddf, rows), expected)
    made = gs.table.gather(ddf, lazy)
    assert made.npartitions == lazy.numblocks[0]
    assert [len(made.get_partition(i).compute()) for i in range(made.npartitions)] == list(lazy.chunks[0])
    same(made, expected)
    same(gs.table.gather(ddf["f"], lazy), gs.table.gather(FRAME["f"], rows))


def test_gather_with_missing_rows():
    rows = np.array([3, 99, -1, 7, -80])
    ddf = partitioned(FRAME, (20, 30))
    for given in (rows, da.from_array(rows, chunks=2)):
        made = gs.table.gather(ddf, given, bounds="nullify", negative="out_of_bounds")
        expected = gs.table.gather(FRAME, rows, bounds="nullify", negative="out_of_bounds")
        assert dict(made.dtypes) == dict(expected.dtypes)
        same(made, expected)
    same(gs.table.gather(ddf, [1, None], bounds="nullify"), gs.table.gather(FRAME, [1, None], bounds="nullify"))


@pytest.mark.parametrize("round_", range(8))
def test_scatter(round_):
    """Also with rows that are written twice: the last one in the order of the map is kept."""
    count = int(RNG.integers(0, 60))
    rows, source = RNG.integers(-50, 50, count), FRAME.iloc[RNG.integers(0, 50, count + 3)].reset_index(drop=True)
    expected = gs.table.scatter(source, rows, FRAME)
    for values in (source, partitioned(source)):
        for given in (rows, as_dask(rows, RNG)):
            same(gs.table.scatter(values, given, partitioned(FRAME)), expected)
    same(
        gs.table.scatter([-1, "x", 0.5], as_dask(rows, RNG), partitioned(FRAME)),
        gs.table.scatter([-1, "x", 0.5], rows, FRAME),
    )


@pytest.mark.parametrize("round_", range(5))
def test_boolean_mask_scatter(round_):
    mask = RNG.random(50) < 0.4
    source = FRAME.iloc[::-1].reset_index(drop=True)
    expected = gs.table.boolean_mask_scatter(source, FRAME, mask)
    for values in (source, partitioned(source)):
        for given in (mask, as_dask(mask, RNG)):
            same(gs.table.boolean_mask_scatter(values, partitioned(FRAME), given), expected)
    scalars = {"n": 0, "t": "", "f": 1.5}
    same(
        gs.table.boolean_mask_scatter(scalars, partitioned(FRAME), as_dask(mask, RNG)),
        gs.table.boolean_mask_scatter(scalars, FRAME, mask),
    )
    nulls = [None if i % 7 == 0 else bool(value) for i, value in enumerate(mask)]
    same(
        gs.table.boolean_mask_scatter(scalars, partitioned(FRAME), nulls),
        gs.table.boolean_mask_scatter(scalars, FRAME, nulls),
    )


def test_lengths_are_computed_once():
    counted = []

    def load(i):
        counted.append(i)
        return FRAME.iloc[10 * i : 10 * i + 10]

    ddf = dd.from_map(load, range(5), meta=FRAME.iloc[:0])
    first, second = gs.table.gather(ddf, [1, 2]), gs.table.gather(ddf, [3])
    assert sorted(counted) == [0, 1, 2, 3, 4]
    first.compute(scheduler="sync")
    second.compute(scheduler="sync")
    assert counted[5:] == [0, 0]  # only the partition that has the rows


def test_errors():
    ddf = partitioned(FRAME, (20, 30))
    with pytest.raises(gs.OutOfBoundsError, match="index 50") as caught:
        gs.table.gather(ddf, [0, 50])
    assert (caught.value.index, caught.value.size) == (50, 50)
    late = gs.table.gather(ddf, da.from_array(np.array([0, 1, 2, 60, 4]), chunks=2))
    with pytest.raises(gs.OutOfBoundsError) as caught:
        late.compute(scheduler="sync")
    assert (caught.value.index, caught.value.position, caught.value.count) == (60, (3,), None)
    with pytest.raises(NullIndexError):
        gs.table.gather(ddf, [0, None])
    with pytest.raises(IndexTypeError):
        gs.table.gather(ddf, da.ones(3))
    with pytest.raises(ValueError, match=r"compute_chunk_sizes"):
        gs.table.gather(ddf, ddf["n"].to_dask_array())
    with pytest.raises(InvalidArgument, match="3 rows"):
        gs.table.scatter(FRAME.iloc[:3], [1, 2, 3, 4], ddf)
    with pytest.raises(InvalidArgument, match="true values"):
        gs.table.boolean_mask_scatter(FRAME.iloc[:3], ddf, np.ones(50, bool))
    with pytest.raises(DataTypeError):
        gs.table.boolean_mask_scatter(FRAME, ddf, np.ones(50))
    with pytest.raises(TypeError, match=r"x\.compute\(\)"):
        gs.table.filter(ddf, np.ones(50, bool))
