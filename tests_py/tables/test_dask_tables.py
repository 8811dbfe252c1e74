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


def test_frames_of_parquet_files(tmp_path):
    """Partitions are files; their lengths are read when they are needed."""
    pytest.importorskip("pyarrow")
    for number, (first, end) in enumerate([(0, 20), (20, 21), (21, 50)]):
        FRAME.iloc[first:end].to_parquet(tmp_path / f"{number}.parquet", row_group_size=7)
    ddf = dd.read_parquet(tmp_path)
    frame = ddf.compute(scheduler="sync")
    assert ddf.npartitions > 1 and frame["n"].tolist() == FRAME["n"].tolist()
    rows = RNG.integers(-50, 50, 40)
    lazy = da.from_array(rows, chunks=9)
    for given in (rows, lazy):
        same(gs.table.gather(ddf, given), gs.table.gather(frame, rows))
        same(gs.table.gather(ddf[["f", "t"]], given), gs.table.gather(frame[["f", "t"]], rows))
        same(gs.table.scatter([-1, "x", 0.5], given, ddf), gs.table.scatter([-1, "x", 0.5], rows, frame))
    mask = np.arange(50) % 3 == 0
    same(
        gs.table.boolean_mask_scatter(ddf, ddf, da.from_array(mask, chunks=11)),
        gs.table.boolean_mask_scatter(frame, frame, mask),
    )
    with pytest.raises(gs.OutOfBoundsError, match="index 50"):
        gs.table.gather(ddf, [50])


def test_gather_with_missing_rows():
    rows = np.array([3, 99, -1, 7, -80])
    ddf = partitioned(FRAME, (20, 30))
    for given in (rows, da.from_array(rows, chunks=2)):
        made = gs.table.gather(ddf, given, bounds="nullify", negative="out_of_bounds")
        expected = gs.table.gather(FRAME, rows, bounds="nullify", negative="out_of_bounds")
        assert dict(made.dtypes) == dict(expected.dtypes)
        same(made, expected)
    same(gs.table.gather(ddf, [1, None], bounds="nullify"), gs.table.gather(FRAME, [1, None], bounds="nullify"))


def maps_of(rows):
    """A map with nulls, as each library writes it."""
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    return {
        "list": rows,
        "masked": np.ma.array([row or 0 for row in rows], mask=[row is None for row in rows]),
        "pandas": pd.Series(rows, dtype="Int64", index=[f"label {i}" for i in range(len(rows))]),
        "pandas of Arrow": pd.Series(rows, dtype="int16[pyarrow]"),
        "pyarrow": pa.array(rows, pa.int8()),
        "pyarrow in chunks": pa.chunked_array([rows[:2], rows[2:]], pa.int64()),
        "polars": pl.Series(rows),
    }


@pytest.mark.parametrize("kind", maps_of([0, 1, 2]))
def test_maps_of_every_library(kind):
    """As in memory: a null row number is a null row under "nullify", else an error; labels do not count."""
    ddf = partitioned(FRAME, (20, 0, 30))
    rows = maps_of([3, None, -1, 49, 20])[kind]
    how = {"bounds": "nullify", "negative": "from_end"}
    same(gs.table.gather(ddf, rows, **how), gs.table.gather(FRAME, rows, **how))
    for call in (gs.table.gather, lambda frame, rows: gs.table.scatter([0, "x", 1.5], rows, frame)):
        with pytest.raises(NullIndexError) as expected:
            call(FRAME, rows)
        with pytest.raises(NullIndexError) as caught:
            call(ddf, rows)
        assert str(caught.value) == str(expected.value)
        valid = maps_of([3, 7, -1, 49, 3])[kind]
        same(call(ddf, valid), call(FRAME, valid))
    same(gs.table.gather(ddf, range(40, 10, -3)), gs.table.gather(FRAME, range(40, 10, -3)))


@pytest.mark.parametrize(
    ("rows", "error"),
    [([1.5], IndexTypeError), (pd.Series([True]), IndexTypeError), (3, TypeError), ([[1]], ValueError)],
)
def test_what_is_no_map(rows, error):
    with pytest.raises(error) as expected:
        gs.table.gather(FRAME, rows)
    with pytest.raises(error) as caught:
        gs.table.gather(partitioned(FRAME), rows)
    assert str(caught.value) == str(expected.value)


def test_masks_of_every_library():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    mask = [None if i % 7 == 0 else i % 3 == 0 for i in range(50)]
    for given in (
        mask,
        pd.array(mask, "boolean"),
        pd.Series(mask, dtype="bool[pyarrow]"),
        pa.array(mask),
        pl.Series(mask),
    ):
        ddf = partitioned(FRAME)
        same(
            gs.table.boolean_mask_scatter([0, "", 1.5], ddf, given),
            gs.table.boolean_mask_scatter([0, "", 1.5], FRAME, given),
        )
    with pytest.raises(InvalidArgument, match="49"):
        gs.table.boolean_mask_scatter([0, "", 1.5], partitioned(FRAME), mask[1:])


MIXED = pd.DataFrame(
    {
        "flag": [True, False, True, True, False],
        "o": pd.Series([1, "x", None, (2,), "y"], dtype=object),
        "words": pd.Series(list("abcde"), dtype=object),
        "python": pd.Series(["a", None, "c", "d", "e"], dtype="string[python]"),
        "arrow": pd.Series(["a", None, "c", "d", "e"], dtype="string[pyarrow]"),
    }
)


@pytest.mark.parametrize("is_converted", [False, True])
def test_columns_keep_their_types(is_converted):
    """Bools beside a null row are objects in pandas; Dask makes strings of objects only in frames that it reads."""
    with dask.config.set({"dataframe.convert-string": is_converted}):
        ddf, other = dd.from_pandas(MIXED, npartitions=2), dd.from_pandas(MIXED.iloc[::-1], npartitions=2, sort=False)
    frame, source = ddf.compute(scheduler="sync"), other.compute(scheduler="sync")
    assert (frame["o"].dtype == object) != is_converted
    for rows in ([0, 9, 1], [3, None, 0, 4]):
        expected = gs.table.gather(frame, rows, bounds="nullify")
        made = gs.table.gather(ddf, rows, bounds="nullify")
        assert dict(made.dtypes) == dict(expected.dtypes)
        same(made, expected)
        same(gs.table.gather(ddf["flag"], rows, bounds="nullify"), expected["flag"])
    for rows in ([4, 0, 1], da.from_array(np.array([4, 0, 1]), chunks=2)):
        three = other.head(3, npartitions=-1, compute=False)
        same(gs.table.gather(ddf, rows), gs.table.gather(frame, [4, 0, 1]))
        same(gs.table.scatter(three, rows, ddf), gs.table.scatter(source[:3], [4, 0, 1], frame))
    mask = np.array([True, False, True, True, False])
    same(gs.table.boolean_mask_scatter(other, ddf, mask), gs.table.boolean_mask_scatter(source, frame, mask))


def test_bools_beside_a_missing_row():
    ddf = dd.from_pandas(pd.DataFrame({"e": [True, False, True]}), npartitions=2)
    made = gs.table.gather(ddf, [0, 9, 1], bounds="nullify").compute(scheduler="sync")["e"].tolist()
    assert made[0] is True and made[2] is False and pd.isna(made[1])


@pytest.mark.parametrize("kind", ["noted", "not noted"])
def test_masked_chunks_are_refused(kind):
    """Masked row numbers in memory are null; chunks would lose their masks, and are an error."""

    def masked(array, chunks):
        made = np.ma.array(array, mask=array == array[1])
        if kind == "noted":
            return da.from_array(made, chunks=chunks)
        plain = da.from_array(array, chunks=chunks)
        noted = np.empty(0, array.dtype)
        return plain.map_blocks(lambda block: np.ma.masked_equal(block, array[1]), dtype=array.dtype, meta=noted)

    ddf, rows, mask = partitioned(FRAME, (20, 30)), np.arange(8), np.arange(50) % 3 == 0
    first = partitioned(FRAME[:8], (3, 5))
    for chunks in (2, 5):
        calls = (
            lambda chunks=chunks: gs.table.gather(ddf, masked(rows, chunks)).compute(scheduler="sync"),
            lambda chunks=chunks: gs.table.scatter(first, masked(rows, chunks), ddf).compute(scheduler="sync"),
            lambda chunks=chunks: gs.table.boolean_mask_scatter(
                {"n": 0, "t": "", "f": 1.5}, ddf, masked(mask, chunks)
            ).compute(scheduler="sync"),
            lambda chunks=chunks: gs.table.boolean_mask_scatter(ddf, ddf, masked(mask, chunks)),
        )
        for call in calls:
            with pytest.raises(TypeError, match=r"the chunks of the ma(p|sk) are masked arrays"):
                call()


def test_later_writes_to_an_operand_do_not_change_the_result():
    ddf, mask, source = partitioned(FRAME, (20, 30)), np.arange(50) % 3 == 0, FRAME[["n", "f"]].iloc[::-1].copy()
    rows, scalars = np.array([3, 49, 0]), [-1, 0.5]
    target, frame = ddf[["n", "f"]], FRAME[["n", "f"]]
    lazy = da.from_array(rows, chunks=2)
    expected = [
        gs.table.gather(frame, rows),
        gs.table.scatter(source[:3], rows, frame),
        gs.table.scatter(scalars, rows, frame),
        gs.table.boolean_mask_scatter(source, frame, mask),
        gs.table.boolean_mask_scatter(scalars, frame, mask),
    ]
    made = [
        gs.table.gather(target, rows),
        gs.table.scatter(source[:3], lazy, target),
        gs.table.scatter(scalars, lazy, target),
        gs.table.boolean_mask_scatter(source, target, mask),
        gs.table.boolean_mask_scatter(scalars, target, mask),
    ]
    rows[:], mask[:], scalars[:] = 0, False, [0, 0.0]
    for name in ("n", "f"):
        source.loc[:, name] = 0
    for lazily, want in zip(made, expected, strict=True):
        same(lazily, want)


@pytest.mark.parametrize("round_", range(8))
def test_scatter(round_):
    """Also with rows that are written twice: the last one in the order of the map is kept."""
    count = int(RNG.integers(0, 60))
    rows, source = RNG.integers(-50, 50, count), FRAME.iloc[RNG.integers(0, 50, count)].reset_index(drop=True)
    expected = gs.table.scatter(source, rows, FRAME)
    for values in (source, partitioned(source)):
        for given in (rows, as_dask(rows, RNG)):
            same(gs.table.scatter(values, given, partitioned(FRAME)), expected)
    same(
        gs.table.scatter([-1, "x", 0.5], as_dask(rows, RNG), partitioned(FRAME)),
        gs.table.scatter([-1, "x", 0.5], rows, FRAME),
    )


@pytest.mark.parametrize("round_", range(4))
@pytest.mark.parametrize("negative", ["from_end", "out_of_bounds"])
def test_scatter_leaves_rows_out(round_, negative):
    count = int(RNG.integers(0, 60)) if round_ else 0
    rows, source = RNG.integers(-80, 80, count), FRAME.iloc[RNG.integers(0, 50, count)].reset_index(drop=True)
    how = {"bounds": "drop", "negative": negative}
    expected = gs.table.scatter(source, rows, FRAME, **how)
    for values in (source, partitioned(source)):
        for given in (rows, as_dask(rows, RNG)):
            same(gs.table.scatter(values, given, partitioned(FRAME), **how), expected)
    nowhere = as_dask(np.full(7, -99), RNG)
    same(gs.table.scatter([-1, "x", 0.5], nowhere, partitioned(FRAME), **how), FRAME)
    same(gs.table.scatter([-1, "x", 0.5], [None, 99], partitioned(FRAME), **how), FRAME)
    with pytest.raises(gs.OutOfBoundsError):
        gs.table.scatter([-1, "x", 0.5], [-1], partitioned(FRAME), negative="out_of_bounds").compute()


@pytest.mark.parametrize("chunks", [(0,), (0, 0, 0)])
def test_maps_and_masks_of_no_items_in_any_chunks(chunks):
    """Dask does not rechunk an array without items."""
    rows, mask = da.from_array(np.zeros(0, int), chunks=(chunks,)), da.from_array(np.zeros(0, bool), chunks=(chunks,))
    empty = FRAME.iloc[:0]
    for parts in ((50,), (20, 30), (0, 50, 0)):
        values = partitioned(FRAME, parts)
        same(gs.table.scatter(partitioned(empty, (0,) * len(parts)), rows, values), FRAME)
        same(gs.table.gather(values, rows), empty)
    for parts in ((0,), (0, 0)):
        same(gs.table.boolean_mask_scatter(partitioned(empty, parts), partitioned(empty, parts), mask), empty)


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


def writes(source, target):
    return (
        lambda: gs.table.scatter(source, [0, 2], target),
        lambda: gs.table.boolean_mask_scatter(source, target, [True, False, True]),
    )


SMALL = pd.DataFrame({"a": [1, 2, 3]})


def test_arrays_are_rows_and_not_one_value():
    ddf, values = dd.from_pandas(SMALL, npartitions=2), np.array([9, 8])
    for call in writes(values, ddf["a"]):
        made = call()
        values[:] = 0  # a later write does not change the result
        assert made.compute(scheduler="sync").tolist() == [9, 2, 8]
        values[:] = 9, 8
    for call in writes(np.array([9]), ddf["a"]):
        with pytest.raises(InvalidArgument, match="1 rows"):
            call()
    for call in writes(values, ddf):
        with pytest.raises(TypeError, match="is an array, the target is a table"):
            call()


def test_frames_of_narwhals_are_rows():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    ddf = dd.from_pandas(SMALL, npartitions=2)
    for call in writes(narwhals.from_native(pd.DataFrame({"a": [9, 8]})), ddf):
        assert call().compute(scheduler="sync")["a"].tolist() == [9, 2, 8]


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_tables_of_other_libraries_are_refused_in_the_call(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    for call in writes(make({"a": [9, 8]}), dd.from_pandas(SMALL, npartitions=2)):
        with pytest.raises(TypeError, match=r"x\.to_pandas\(\) makes one"):
            call()


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_nulls_of_a_lazy_mask_count_as_false(dtype):
    frame = pd.DataFrame({"a": [1, 2, 3], "e": pd.array([1, None, 5], dtype=dtype)})
    ddf = dd.from_pandas(frame, npartitions=2)
    made = gs.table.boolean_mask_scatter([0], ddf[["a"]], ddf["e"] > 2)
    assert made.compute(scheduler="sync")["a"].tolist() == [1, 2, 0]
