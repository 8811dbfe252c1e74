"""test_table_negative.py: negative row numbers where a number out of bounds is no error ask for their meaning."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import IndexTypeError, NegativeIndexError, NullIndexError, OutOfBoundsError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 5
SIGNED = ("int8", "int16", "int32", "int64")


def of_duckdb(values):
    return pytest.importorskip("duckdb").sql(f"select unnest({list(map(int, values))}::BIGINT[]) as v")


def of_dask(values):
    return pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame({"v": values}), npartitions=2)


SOURCES = {
    "pandas": lambda v: pd.DataFrame({"v": v}),
    "series": lambda v: pd.Series(v, name="v"),
    "arrow": lambda v: pa.table({"v": v}),
    "chunks": lambda v: pa.table({"v": pa.chunked_array([pa.array(v[:2]), pa.array(v[2:])])}),
    "polars": lambda v: pl.DataFrame({"v": v}),
    "lazy": lambda v: pl.LazyFrame({"v": v}),
    "duckdb": of_duckdb,
    "dask": of_dask,
}


def listed(result):
    """The values of a result of any kind, with None for a null."""
    if hasattr(result, "collect"):
        result = result.collect()
    if hasattr(result, "compute"):
        result = result.compute(scheduler="sync")
    if type(result).__module__.startswith(("duckdb", "_duckdb")):
        return [row[0] for row in result.fetchall()]
    column = result if isinstance(result, pd.Series) else result["v"]
    found = (
        column.tolist()
        if isinstance(column, pd.Series)
        else column.to_pylist()
        if hasattr(column, "to_pylist")
        else column.to_list()
    )
    return [None if value is None or value != value else int(value) for value in found]


class Chunked:
    """An object that has nothing but a stream of Arrow, as the columns of some libraries."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_stream__(self, requested_schema=None):
        return self.column.__arrow_c_stream__(requested_schema)


class Exported:
    """An object that has nothing but an array of Arrow."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, requested_schema=None):
        return self.column.__arrow_c_array__(requested_schema)


def maps_of(rows, rng):
    """The same row numbers in several kinds of maps."""
    dtype = rng.choice(SIGNED)
    yield list(rows)
    yield np.array(rows, dtype)
    yield pa.array(rows, pa.type_for_alias(dtype))
    yield pd.Series(rows, dtype=str(dtype).replace("i", "I"))
    yield pl.Series(rows, dtype=pl.Int64)
    yield pa.chunked_array([rows[:2], rows[2:]], pa.int64())
    yield pd.Series(rows, dtype="Int64").astype(pd.ArrowDtype(pa.int64()))
    yield pd.Index(rows)
    yield np.ma.array(rows, mask=False)
    yield Exported(pa.array(rows, pa.int64()))
    yield Chunked(pa.chunked_array([rows[:1], rows[1:]], pa.int64()))
    yield pytest.importorskip("torch").tensor(rows)
    yield np.array([*rows, 0], dtype)[:-1][::-1][::-1]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("seed", range(6))
def test_a_gather_asks_and_does_what_is_given(kind, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 99, N)
    rows = [int(i) for i in rng.integers(-2 * N, 2 * N, int(rng.integers(1, 9)))]
    if seed % 2:
        rows = [-1, *rows]  # what get_indexer writes for "not found"
    source = SOURCES[kind](values)
    from_end = [int(values[i]) if -N <= i < N else None for i in rows]
    outside = [int(values[i]) if 0 <= i < N else None for i in rows]
    for given in maps_of(rows, rng):
        for negative, wanted in (("from_end", from_end), ("out_of_bounds", outside)):
            assert listed(gs.table.gather(source, given, bounds="nullify", negative=negative)) == wanted
        if min(rows) >= 0:
            assert listed(gs.table.gather(source, given, bounds="nullify")) == outside
            continue
        with pytest.raises(NegativeIndexError) as caught:
            listed(gs.table.gather(source, given, "nullify"))
        first = next(at for at, i in enumerate(rows) if i < 0)
        assert caught.value.index == rows[first] and caught.value.position == (first,)
        assert 'negative="out_of_bounds"' in str(caught.value) and 'negative="from_end"' in str(caught.value)
        if caught.value.count is not None:
            assert (caught.value.count, caught.value.total) == (sum(i < 0 for i in rows), len(rows))


@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind != "duckdb"])
@pytest.mark.parametrize("seed", range(4))
def test_a_scatter_asks_and_does_what_is_given(kind, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 99, N)
    rows = [int(i) for i in rng.integers(-2 * N, 2 * N, 7)]
    target = SOURCES[kind](values)
    for given in maps_of(rows, rng):
        for negative in ("from_end", "out_of_bounds"):
            wanted = values.tolist()
            for i in rows:
                if (0 if negative == "out_of_bounds" else -N) <= i < N:
                    wanted[i] = 7
            assert listed(gs.table.scatter([7], given, target, bounds="drop", negative=negative)) == wanted
        with pytest.raises(NegativeIndexError, match='"out_of_bounds" leaves its row out') as caught:
            listed(gs.table.scatter([7], given, target, bounds="drop"))
        assert caught.value.bounds == "drop"


def test_the_other_rules_count_negative_numbers_from_the_end():
    values = pa.array([10, 11, 12])
    assert gs.table.gather(values, [-1, 0]).to_pylist() == [12, 10]
    assert gs.table.gather(values, [-1, 0], "unchecked").to_pylist() == [12, 10]
    assert gs.table.scatter([7], [-1], values).to_pylist() == [10, 11, 7]
    with pytest.raises(OutOfBoundsError) as caught:
        gs.table.gather(values, [-4])
    assert type(caught.value) is OutOfBoundsError
    unsigned = np.array([1, 2**64 - 1], "u8")
    assert gs.table.gather(values, unsigned, "nullify").to_pylist() == [11, None]


@pytest.mark.parametrize("table", [pa.array([10, 11, 12]), pa.array([], pa.int64())])
def test_nulls_and_numbers_that_are_too_large_do_not_ask(table):
    assert gs.table.gather(table, [None, 2**70, 9], "nullify").to_pylist() == [None] * 3
    for rows in ([None, 9, -1, -2], [9, -(2**70)], range(-2, 1)):
        with pytest.raises(NegativeIndexError):
            gs.table.gather(table, rows, "nullify")
    with pytest.raises(NullIndexError):
        gs.table.gather(table, [None, -1])


@pytest.mark.parametrize("kind", ["list", "arrow", "polars", "pandas", "masked", "exported"])
@pytest.mark.parametrize("seed", range(3))
def test_what_lies_under_a_null_does_not_ask(kind, seed):
    rng = np.random.default_rng(seed)
    numbers, null = rng.integers(0, 9, 7), rng.random(7) < 0.5
    null[0] = True
    numbers[null] = -1
    given = {
        "list": lambda: [None if n else int(i) for i, n in zip(numbers, null, strict=True)],
        "arrow": lambda: pa.array(numbers, mask=null),
        "polars": lambda: pl.from_arrow(pa.array(numbers, mask=null)),
        "pandas": lambda: pd.array(pd.arrays.IntegerArray(numbers, null)),
        "masked": lambda: np.ma.array(numbers, mask=null),
        "exported": lambda: Exported(pa.array(numbers, mask=null)),
    }[kind]()
    source = pa.array(range(10, 19))
    wanted = [None if n else int(i) + 10 for i, n in zip(numbers, null, strict=True)]
    assert gs.table.gather(source, given, "nullify").to_pylist() == wanted
    if kind == "exported":
        numbers, null = np.append(numbers, -3), np.append(null, False)
        with pytest.raises(NegativeIndexError) as caught:
            gs.table.gather(source, Exported(pa.array(numbers, mask=null)), "nullify")
        assert (caught.value.index, caught.value.position, caught.value.count) == (-3, (7,), 1)


def test_a_stream_is_read_once():
    class Once(Chunked):
        def __arrow_c_stream__(self, requested_schema=None):
            column, self.column = self.column, pa.chunked_array([], pa.int64())
            return column.__arrow_c_stream__(requested_schema)

    source = pa.array([10, 11, 12])
    rows = Once(pa.chunked_array([[2, None], [9, 0, 2**48 - 1]], pa.int64()))
    assert gs.table.gather(source, rows, "nullify").to_pylist() == [12, None, None, 10, None]
    with pytest.raises(NegativeIndexError, match=r"index -2 at position \(2,\)"):
        gs.table.gather(source, Once(pa.chunked_array([[2**48 - 2, None], [-2, -1]], pa.int64())), "nullify")
    floats = Once(pa.chunked_array([[0.5]], pa.float64()))
    with pytest.raises(IndexTypeError):
        gs.table.gather(source, floats, "nullify")


def test_maps_of_dask_ask_when_they_are_computed():
    da = pytest.importorskip("dask.array")
    source = of_dask(range(10, 15))
    rows = da.from_array(np.array([0, 9, -1, -2]), chunks=2)
    result = gs.table.gather(source, rows, "nullify")
    with pytest.raises(NegativeIndexError) as caught:
        result.compute(scheduler="sync")
    assert (caught.value.index, caught.value.position, caught.value.bounds) == (-1, (2,), "nullify")
    assert listed(gs.table.gather(source, rows, "nullify", negative="out_of_bounds")) == [10, None, None, None]
    written = gs.table.scatter([7], rows, source, bounds="drop")
    with pytest.raises(NegativeIndexError) as caught:
        written.compute(scheduler="sync")
    assert caught.value.bounds == "drop"


def test_positions_in_lists_count_from_the_end_of_their_list():
    lists, maps = pa.array([[1, 2, 3], [4]]), pa.array([[0, -1], [0, 5]])
    assert gs.table.segmented_gather(lists, maps, "nullify").to_pylist() == [[1, 3], [4, None]]


def test_tables_in_files(tmp_path):
    path = tmp_path / "v.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"v": [10, 11, 12]}), path)
    assert listed(gs.table.gather(path, [-1, 0, 9], "nullify", negative="out_of_bounds")) == [None, 10, None]
    with pytest.raises(NegativeIndexError):
        gs.table.gather(path, [-1, 0, 9], "nullify")


def test_plans_keep_the_question():
    source = pa.array([10, 11, 12])
    plan = gs.plan(gs.table.gather, source, [0], bounds="nullify")
    assert plan(source, [2, 5]).to_pylist() == [12, None]
    with pytest.raises(NegativeIndexError):
        plan(source, [2, -1])
    given = gs.plan(gs.table.gather, source, [0], bounds="nullify", negative="out_of_bounds")
    assert given(source, [2, -1]).to_pylist() == [12, None]


def test_the_error_is_of_the_old_classes_and_can_be_copied():
    with pytest.raises(NegativeIndexError) as caught:
        gs.table.gather(pa.array([10]), [0, -1, -1], "nullify")
    error = caught.value
    assert isinstance(error, OutOfBoundsError) and str(error).endswith("(2 of 3 numbers are negative)")
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert again == error and str(again) == str(error) and type(again) is NegativeIndexError


def test_a_wrong_word_is_refused():
    for call in (
        lambda: gs.table.gather(pa.array([1]), [0], negative="end"),
        lambda: gs.table.scatter([1], [0], pa.array([1]), negative="refused"),
    ):
        with pytest.raises(ValueError, match='expected "from_end" or "out_of_bounds"'):
            call()
