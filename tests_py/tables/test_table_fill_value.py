"""test_table_fill_value.py: values in place of the nulls of rows that a gather does not find, beside a naive loop."""

import datetime
import random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from gatherscatter.errors import DataTypeError, InvalidArgument

dd = pytest.importorskip("dask.dataframe")
nw = pytest.importorskip("narwhals")

DAY = datetime.datetime(2024, 2, 29)
# Type, values of rows, and values in place of missing rows.
KINDS = {
    "integer": (pa.int64(), [0, -1, 2**53 + 1, 2**63 - 1], [0, -1, 2**53 + 1]),
    "byte": (pa.uint8(), [0, 7, 255], [0, 255]),
    "number": (pa.float32(), [0.5, -1.25, 3.0], [0.0, -0.5]),
    "flag": (pa.bool_(), [True, False], [True, False]),
    "text": (pa.string(), ["", "a", "ä" * 20], ["", "none", "ö" * 30]),
    "time": (pa.timestamp("us"), [DAY, DAY + datetime.timedelta(microseconds=1)], [DAY]),
    "word": (pa.dictionary(pa.int32(), pa.string()), ["x", "y", "z"], ["x", "y"]),
    "list": (pa.list_(pa.int64()), [[1, 2], [], [None]], [[], [7]]),
    "pair": (pa.struct([("a", pa.int16()), ("b", pa.string())]), [{"a": 1, "b": "x"}], [{"a": 0, "b": ""}]),
}
FLAT = ("integer", "byte", "number", "flag", "text", "time")


def a_table(draw, kinds, rows):
    columns = {}
    for at, kind in enumerate(kinds):
        dtype, values, _ = KINDS[kind]
        drawn = [draw.choice([*values, None]) for _ in range(rows)]
        cut = draw.randrange(rows + 1)
        words = pa.array(values) if kind == "word" else None
        parts = [pa.array(part, dtype) for part in (drawn[:cut], drawn[cut:])]
        if words is not None:  # all words in each dictionary, so that each library knows them
            parts = [
                pa.DictionaryArray.from_arrays(pa.array([v and values.index(v) for v in part], "i4"), words)
                for part in (drawn[:cut], drawn[cut:])
            ]
        columns[f"{kind}{at}"] = pa.chunked_array(parts, dtype)
    return pa.table(columns)


def a_map(draw, rows, size):
    return [draw.choice([None, rows, -rows - 1, 2**40, *range(-rows, rows)]) for _ in range(size)]


def naive(table, gather_map, fills):
    """A list of values for each column, by a loop over the rows of Python."""
    rows, result = table.to_pylist(), {name: [] for name in table.column_names}
    for number in gather_map:
        found = number is not None and -len(rows) <= number < len(rows)
        for name, values in result.items():
            values.append(rows[number][name] if found else fills.get(name))
    return result


def as_lists(table):
    return {name: table[name].to_pylist() for name in table.column_names}


def of_arrow(table, call):
    return as_lists(call(table))


def of_batch(table, call):
    batches = table.combine_chunks().to_batches()
    result = call(batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema))
    assert type(result) is pa.RecordBatch
    return as_lists(pa.table(result))


def of_columns_apart(table, call):
    """An object that only exports Arrow memory."""

    class Exported:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    return as_lists(pa.table(call(Exported())))


def of_polars(table, call):
    return call(pl.from_arrow(table)).to_dict(as_series=False)


def of_lazy(table, call):
    return call(pl.from_arrow(table).lazy()).collect().to_dict(as_series=False)


def of_narwhals(table, call):
    result = call(nw.from_native(pl.from_arrow(table)))
    return result.to_native().to_dict(as_series=False)


def of_parquet(table, call, folder):
    path = folder / "table.parquet"
    pq.write_table(table, path, row_group_size=2)
    return as_lists(call(str(path)))


def of_ipc(table, call, folder):
    path = folder / "table.arrow"
    feather.write_feather(table, path, chunksize=2)
    return as_lists(call(path))


def of_dataset(table, call, folder):
    pq.write_table(table, folder / "part.parquet", row_group_size=3)
    return as_lists(call(pa.dataset.dataset(folder / "part.parquet")))


IN_MEMORY = (of_arrow, of_batch, of_columns_apart, of_polars, of_lazy, of_narwhals)
IN_FILES = (of_parquet, of_ipc, of_dataset)


@pytest.mark.parametrize("form", [*IN_MEMORY, *IN_FILES], ids=lambda form: form.__name__)
@pytest.mark.parametrize("seed", range(25))
def test_tables(form, seed, tmp_path):
    draw = random.Random(seed)
    kinds = [draw.choice(list(KINDS)) for _ in range(draw.choice([1, 2, 5]))]
    table = a_table(draw, kinds, draw.choice([0, 1, 9]))
    gather_map = a_map(draw, table.num_rows, draw.choice([0, 1, 20]))
    named = draw.sample(table.column_names, draw.randrange(len(kinds) + 1))
    fills = {name: draw.choice(KINDS[name[:-1]][2]) for name in named}
    words = {"bounds": "nullify", "negative": "from_end", "fill_value": fills}
    planned = draw.random() < 0.3

    def call(source):
        given = source, gather_map
        if planned and form is not of_columns_apart:  # it has no length, so a plan refuses it
            return gs.plan(gs.table.gather, *given, **words)(*given)
        return gs.table.gather(*given, **words)

    result = form(table, call, tmp_path) if form in IN_FILES else form(table, call)
    assert result == naive(table, gather_map, fills)


@pytest.mark.parametrize("seed", range(40))
def test_frames_of_pandas_keep_dtypes_of_filled_columns(seed):
    draw = random.Random(seed)
    kinds = [draw.choice([*FLAT, "word"]) for _ in range(draw.choice([1, 3]))]
    table = a_table(draw, kinds, draw.choice([0, 1, 9]))
    backed = draw.random() < 0.3
    whole = {pa.int64(): pd.Int64Dtype()}
    frame = table.to_pandas(types_mapper=pd.ArrowDtype if backed else whole.get)
    frame = frame.set_axis(np.arange(len(frame)) * 10)
    for name in frame:  # a column without nulls has a dtype without nulls
        if name[:-1] in ("byte", "integer") and draw.random() < 0.5:
            frame[name] = frame[name].fillna(0).astype(name[:-1].replace("integer", "int64").replace("byte", "uint8"))
    gather_map = a_map(draw, len(frame), draw.choice([0, 1, 20]))
    fills = {n: draw.choice(KINDS[n[:-1]][2]) for n in draw.sample(list(frame), draw.randrange(len(kinds) + 1))}
    fills = {n: v for n, v in fills.items() if frame[n].dtype != object}
    words = {"bounds": "nullify", "negative": "from_end"}
    result = gs.table.gather(frame, gather_map, **words, fill_value=fills)
    plain = gs.table.gather(frame, gather_map, **words)
    pd.testing.assert_index_equal(result.index, plain.index)
    rows = [None if n is None or not -len(frame) <= n < len(frame) else n for n in gather_map]
    for name in frame:
        if name not in fills:
            pd.testing.assert_series_equal(result[name], plain[name])
            continue
        values = list(frame[name])
        expected = [fills[name] if n is None else values[n] for n in rows]
        assert result[name].dtype == frame[name].dtype
        assert all(a == b or (pd.isna(a) and pd.isna(b)) for a, b in zip(result[name], expected, strict=True))
        column = gs.table.gather(frame[name], gather_map, **words, fill_value=fills[name], index="reset")
        pd.testing.assert_series_equal(column, result[name].reset_index(drop=True))


@pytest.mark.parametrize("seed", range(10))
def test_relations_and_frames_of_dask(seed):
    draw = random.Random(seed)
    table = a_table(draw, [draw.choice(FLAT) for _ in range(3)], 9)
    gather_map = [n for n in a_map(draw, 9, 20) if n is not None]
    fills = {name: draw.choice(KINDS[name[:-1]][2]) for name in draw.sample(table.column_names, 2)}
    expected = naive(table, gather_map, fills)
    words = {"bounds": "nullify", "negative": "from_end", "fill_value": fills}
    relation = gs.table.gather(duckdb.from_arrow(table), gather_map, **words)
    assert list(zip(*expected.values(), strict=True)) == relation.fetchall()
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    lazy = gs.table.gather(dd.from_pandas(frame, npartitions=3), np.array(gather_map), **words)
    whole = gs.table.gather(frame, gather_map, **words)
    # Labels of Dask are nullable also where no row is missing.
    pd.testing.assert_frame_equal(lazy.compute(), whole, check_index_type=False)
    assert list(lazy.dtypes) == list(whole.dtypes)


@pytest.mark.parametrize("kind", KINDS)
def test_columns(kind):
    draw = random.Random(kind)
    table = a_table(draw, [kind], 7)
    gather_map, value = a_map(draw, 7, 15), KINDS[kind][2][0]
    (expected,) = naive(table, gather_map, {f"{kind}0": value}).values()
    fill_value = [value] if isinstance(value, (list, dict)) else value
    for column in (table.column(0), table.combine_chunks().column(0).chunk(0), pl.from_arrow(table)[f"{kind}0"]):
        result = gs.table.gather(column, gather_map, "nullify", negative="from_end", fill_value=fill_value)
        assert type(result) is type(column)
        assert (result.to_list() if isinstance(result, pl.Series) else result.to_pylist()) == expected


def test_a_lazy_call_keeps_its_values():
    fills = {"a": [1]}
    lazy = gs.table.gather(pl.LazyFrame({"a": [[5]], "b": [2]}), [3], bounds="nullify", fill_value=fills)
    dask = gs.table.gather(
        dd.from_pandas(pd.DataFrame({"a": [5]}), 1), [3], bounds="nullify", fill_value=(own := {"a": 1})
    )
    fills["a"].append(2)
    fills["b"] = own["a"] = 9
    assert lazy.collect().rows() == [([1], None)]
    assert lazy.select("b").collect().rows() == [(None,)]  # the query drops the column that has a value
    assert dask.compute()["a"].tolist() == [1]


def test_part_of_the_columns_and_left_joins():
    planes = pd.DataFrame({"tail": ["N1", "N2"], "seats": [55, 149], "year": [1999, 2004]})
    row = gs.table.rows_of(planes["tail"], ["N2", "N9"])
    result = gs.table.gather(
        planes, row, bounds="nullify", columns=["year", "seats"], fill_value={"seats": 0}, index="reset"
    )
    pd.testing.assert_frame_equal(result, pd.DataFrame({"year": [2004.0, np.nan], "seats": [149, 0]}))
    flagged = planes.set_flags(allows_duplicate_labels=False)
    assert gs.table.gather(flagged, [1, 7], bounds="nullify", fill_value={"seats": 0})["seats"].tolist() == [149, 0]


SOURCES = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(),
    "duckdb": duckdb.from_arrow,
    "dask": lambda table: dd.from_pandas(table.to_pandas(), 1),
}


@pytest.mark.parametrize("library", [*SOURCES, "parquet"])
def test_the_text_of_errors(library, tmp_path):
    table = pa.table({"tail": ["N1"], "seats": [5]})
    pq.write_table(table, tmp_path / "x.parquet")
    source = tmp_path / "x.parquet" if library == "parquet" else SOURCES[library](table)

    def call(fill_value, **words):
        result = gs.table.gather(source, [0], **{"bounds": "nullify", **words}, fill_value=fill_value)
        return result.collect() if library == "lazy" else result

    with pytest.raises(InvalidArgument, match="a value for 'places', a name that no column of the result has"):
        call({"places": 0})
    with pytest.raises(InvalidArgument, match="for 'seats', a name that no column of the result has"):
        call({"seats": 0}, columns=["tail"])
    with pytest.raises(
        InvalidArgument, match=r"fill_value names no columns, and the source is a table: .* \{'tail': 0\}"
    ):
        call(0)
    with pytest.raises(InvalidArgument, match='with bounds="raise" there are none: bounds="nullify" takes it'):
        call({"seats": 0}, bounds="raise")
    for value in (1.5, "a", True):
        with pytest.raises(DataTypeError, match="column 'seats'"):
            call({"seats": value})


def test_the_text_of_errors_of_columns():
    for column in (pa.array([1]), pl.Series([1]), pd.Series([1])):
        with pytest.raises(InvalidArgument, match=r"has no name: give its value alone|name that no column"):
            gs.table.gather(column, [0], "nullify", fill_value={"a": 1})
        with pytest.raises(InvalidArgument, match=r"has 2 values, and the source is one column: .* as \[\[..\]\]"):
            gs.table.gather(column, [0], "nullify", fill_value=[1, 2])
    assert gs.table.gather(pl.Series("a", [1]), [5], "nullify", fill_value={"a": 7}).to_list() == [7]
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidArgument, match="for 'a', a name that two columns have"):
        gs.table.gather(twice, [0], "nullify", fill_value={"a": 1})
    with pytest.raises(InvalidArgument, match="nullify"):
        gs.plan(gs.table.gather, pa.table({"a": [1]}), [0], fill_value={"a": 1})
