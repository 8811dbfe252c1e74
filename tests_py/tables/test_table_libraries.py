"""test_table_libraries.py: features of single libraries: metadata, extension types, own types, queries, connections."""

import datetime as dt
import gc
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import _core, table
from gatherscatter._table.of_duckdb import by_query
from gatherscatter.errors import DataTypeError


def values(column):
    return column.to_list() if isinstance(column, pl.Series) else column.to_pylist()


# --- pyarrow


def test_metadata_and_nullability():
    fields = [pa.field("a", pa.int8(), nullable=False, metadata={"unit": "m"}), pa.field("b", pa.string())]
    schema = pa.schema(fields, metadata={"origin": "here"})
    source = pa.table([[1, 2], ["x", "y"]], schema=schema)
    assert table.gather(source, [1]).schema.equals(schema, check_metadata=True)
    assert table.scatter([3, "z"], [0], source).schema.equals(schema, check_metadata=True)
    nullified = table.gather(source, [0, 5], "nullify")
    nullable = pa.schema([field.with_nullable(True) for field in fields], metadata=schema.metadata)
    assert nullified.schema.equals(nullable, check_metadata=True)
    assert nullified.to_pydict() == {"a": [1, None], "b": ["x", None]}


def test_pandas_metadata_goes_through_pyarrow():
    frame = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", "y"])}, index=pd.Index([5, 6], name="key"))
    pd.testing.assert_frame_equal(table.gather(pa.Table.from_pandas(frame), [1, 0]).to_pandas(), frame.iloc[[1, 0]])


class Unregistered(pa.ExtensionType):
    """An extension type that is not registered, so pyarrow imports it as its storage type."""

    def __init__(self):
        super().__init__(pa.int32(), "gatherscatter.test.unregistered")

    def __arrow_ext_serialize__(self):
        return b"x"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


EXTENSIONS = {
    "registered": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None, b"2" * 16], pa.binary(16))),
    "unregistered": pa.ExtensionArray.from_storage(Unregistered(), pa.array([1, None, 3], pa.int32())),
}
EXTENSIONS["nested"] = pa.ListArray.from_arrays([0, 1, 1, 3], EXTENSIONS["unregistered"])


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extension_types(name):
    array = EXTENSIONS[name]
    want = [array[2].as_py(), None, array[0].as_py()]
    schema = pa.schema([pa.field("x", array.type, metadata={"m": "1"}), pa.field("k", pa.int8(), nullable=False)])
    whole = pa.table([array, pa.array([1, 2, 3], pa.int8())], schema=schema)
    for source in (array, pa.chunked_array([array]), pa.chunked_array([array[:1], array[1:]])):
        result = table.gather(source, [2, None, 0], "nullify")
        assert (type(result), result.type, result.to_pylist()) == (type(source), array.type, want)
        assert table.scatter([array[2]], [0], source).to_pylist() == [array[i].as_py() for i in (2, 1, 2)]
    for source in (whole, whole.to_batches()[0]):
        result = table.gather(source, [2, 1])
        assert result.schema.equals(schema, check_metadata=True)
        assert result.column(0).to_pylist() == [array[2].as_py(), array[1].as_py()]
        nullified = table.gather(source, [0, 9], "nullify")
        assert nullified.schema.field(0).equals(schema.field(0), check_metadata=True)
        assert nullified.schema.field(1).nullable
        nullified.validate(full=True)


@pytest.fixture
def offsets_end_at_100():
    before = _core.set_offset_limit(100)
    yield
    _core.set_offset_limit(before)


def test_several_chunks_where_offsets_end(offsets_end_at_100):
    array = pa.array(["x" * 40, "y" * 50, None])
    want = ["x" * 40, "y" * 50, "y" * 50, None, "x" * 40]
    rows = [0, 1, 1, 2, 0]
    for source in (array, pa.chunked_array([array])):
        result = table.gather(source, rows)
        assert isinstance(result, pa.ChunkedArray)
        assert (result.type, result.num_chunks > 1, result.to_pylist()) == (array.type, True, want)
    result = table.gather(pa.table({"s": array}), rows)
    assert result["s"].num_chunks > 1
    assert result["s"].to_pylist() == want
    with pytest.raises(OverflowError, match="pass a Table"):
        table.gather(pa.record_batch({"s": array}), rows)


def test_structs_are_columns_where_they_are_columns():
    structs = [{"a": 1}, None, {"a": 3}]
    for source in (pa.array(structs), pa.chunked_array([structs]), pl.Series("t", structs)):
        result = table.gather(source, [1, 2])
        assert type(result) is type(source)
        assert values(result) == [None, {"a": 3}]
        assert values(table.scatter([{"a": 7}], [1], source)) == [{"a": 1}, {"a": 7}, {"a": 3}]


# --- polars

POLARS = pl.DataFrame(
    {
        "category": pl.Series(["x", "y", None], dtype=pl.Categorical),
        "enum": pl.Series(["x", "y", None], dtype=pl.Enum(["y", "x", "unused"])),
        "decimal": pl.Series([Decimal("1.10"), None, Decimal("3")], dtype=pl.Decimal(20, 3)),
        "list": [[1], None, []],
        "categories": pl.Series([["p"], None, ["q", "p"]], dtype=pl.List(pl.Categorical)),
        "struct": [{"p": 1, "q": "u"}, None, {"p": None, "q": "w"}],
        "null": [None] * 3,
        "array": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int8, 2)),
        "binary": [b"x", None, b""],
        "zoned": pl.Series([dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), None, None]),
        "duration": [dt.timedelta(1), None, None],
        "time": [dt.time(1), None, None],
        "date": [dt.date(2020, 1, 1), None, None],
        "bool": [True, None, False],
        "half": pl.Series([1, None, 3], dtype=pl.Float16),
        "int128": pl.Series([2**100, None, -3], dtype=pl.Int128),
        "uint128": pl.Series([2**127, None, 3], dtype=pl.UInt128),
    }
)


@pytest.mark.parametrize("name", POLARS.columns)
def test_types_of_polars(name):
    column = POLARS[name]
    values = column.to_list()
    for rows, bounds in (([2, 0, 0], "raise"), ([1, None, 0, 7], "nullify")):
        want = [None if r is None or r > 2 else values[r] for r in rows]
        for result in (table.gather(column, rows, bounds), table.gather(POLARS.select(name), rows, bounds)[name]):
            assert (result.name, result.dtype, result.to_list()) == (name, column.dtype, want)
    result = table.scatter(column, [2, 1, 0], column)
    assert (result.dtype, result.to_list()) == (column.dtype, values[::-1])
    result = table.scatter([values[0]], [1], column)
    assert (result.dtype, result.to_list()) == (column.dtype, [values[0], values[0], values[2]])


def test_objects_of_polars_are_refused():
    column = pl.Series("o", [object(), 1], dtype=pl.Object)
    for source in (column, pl.DataFrame({"i": [1, 2], "o": column})):
        with pytest.raises(DataTypeError, match=r"table.gather: .*'o'.*Object.*cast it first"):
            table.gather(source, [0])


ZERO = pl.Array(pl.Int8, 0)


@pytest.mark.parametrize(
    "dtype, value",
    [
        (ZERO, []),
        (pl.Array(pl.String, 0), []),
        (pl.Array(ZERO, 1), [[]]),
        (pl.Array(pl.Array(pl.Int8, 1), 0), []),
        (pl.List(ZERO), [[]]),
        (pl.Struct({"a": pl.Int8, "b": pl.List(ZERO)}), {"a": 1, "b": None}),
    ],
    ids=str,
)
@pytest.mark.parametrize("values", [[0, None], [0, 0], []])
def test_arrays_of_no_elements_are_refused(dtype, value, values):
    """polars panics when it imports them from Arrow, also its own ones."""
    column = pl.Series("z", [None if each is None else value for each in values], dtype=dtype)
    rows = list(range(len(column)))
    for source in (column, pl.DataFrame({"i": [1] * len(column), "z": column})):
        for call in (
            lambda source=source: table.gather(source, rows),
            lambda source=source: table.gather(source, [None], "nullify"),
            lambda source=source: table.scatter(source, rows, source),
            lambda source=source: table.filter(source, [True] * len(rows)),
            lambda source=source: table.copy_if_else(source, source, [True] * len(rows)),
        ):
            with pytest.raises(DataTypeError, match=r"'z' is of Array\(.*arrays of no elements.*cast it to a List"):
                call()


EMPTY = pl.Struct([])


@pytest.mark.parametrize("dtype", [EMPTY, pl.List(EMPTY), pl.Struct({"a": EMPTY}), pl.List(pl.Null), pl.Null], ids=str)
def test_types_without_values(dtype):
    value = {EMPTY: {}, pl.List(EMPTY): [{}], pl.Struct({"a": EMPTY}): {"a": {}}, pl.List(pl.Null): [None]}.get(dtype)
    column = pl.Series("e", [value, None, value], dtype=dtype)
    result = table.gather(column, [1, 0, None], "nullify")
    assert (result.dtype, result.to_list()) == (dtype, [None, value, None])
    assert table.scatter([None], [0], column).to_list() == [None, None, value]


def test_enums_of_other_categories_are_another_type():
    target = pl.Series("e", ["x"], dtype=pl.Enum(["x", "y"]))
    with pytest.raises(DataTypeError, match=r"column 'e'.*Enum.*Enum"):
        table.scatter(pl.Series("e", ["z"], dtype=pl.Enum(["z", "x"])), [0], target)
    with pytest.raises(DataTypeError, match="'q'"):
        table.scatter(["q"], [0], target)


def test_categories_are_united():
    target = pl.Series("c", ["x", "y", None], dtype=pl.Categorical)
    assert table.scatter(pl.Series("c", ["z", "x"], dtype=pl.Categorical), [2, 0], target).to_list() == ["x", "y", "z"]
    assert table.scatter(["new"], [0], target).to_list() == ["new", "y", None]


def test_lazy_frames_are_served_when_collected():
    ran = []

    def seen(frame):
        ran.append(1)
        return frame

    lazy = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}).lazy().map_batches(seen)
    result = lazy.pipe(table.gather, [2, 0, 2])
    assert isinstance(result, pl.LazyFrame)
    assert result.collect_schema() == lazy.collect_schema()
    assert not ran
    # Steps after the gather are not moved before it.
    assert result.head(1).collect().rows() == [(3, "z")]
    assert result.filter(pl.col("a") == 3).collect().rows() == [(3, "z"), (3, "z")]
    assert result.select("b").collect().rows() == [("z",), ("x",), ("z",)]
    assert result.select(pl.len()).collect().item() == 3
    assert result.collect(engine="streaming").rows() == [(3, "z"), (1, "x"), (3, "z")]
    scattered = table.scatter({"a": 0, "b": None}, [1], lazy)
    assert scattered.select("b").collect().rows() == [("x",), (None,), ("z",)]
    assert table.filter(lazy, [True, False, True]).select("a").collect().rows() == [(1,), (3,)]
    other = pl.DataFrame({"a": [7, 8, 9], "b": ["p", "q", "r"]})
    chosen = table.copy_if_else(lazy, other, [True, False, True])
    assert chosen.collect().rows() == [(1, "x"), (8, "q"), (3, "z")]
    masked = table.boolean_mask_scatter(other, lazy, [False, False, True])
    assert masked.collect().rows() == [(1, "x"), (2, "y"), (7, "p")]
    assert ran


def test_errors_of_lazy_frames_keep_their_class():
    with pytest.raises(gs.OutOfBoundsError):
        pl.LazyFrame({"a": [1]}).pipe(table.gather, [5]).collect()


# --- DuckDB


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


DUCKDB = {
    "HUGEINT": "-170141183460469231731687303715884105",
    "UHUGEINT": "5",
    "DECIMAL(30,4)": "12.5",
    "UUID": "'47183823-2574-4bfd-b411-99ed177d3e43'",
    "ENUM('x', 'y')": "'y'",
    "JSON": """'{"a": 1}'""",
    "TIMESTAMP_NS": "'2020-01-01 00:00:00.000000001'",
    "INTERVAL": "'3 days'",
    "STRUCT(e ENUM('x', 'y'), u UUID)": "{'e': 'x', 'u': '47183823-2574-4bfd-b411-99ed177d3e43'}",
    "ENUM('x', 'y')[]": "['y', 'x']",
    "MAP(VARCHAR, UUID)": "map {'k': '47183823-2574-4bfd-b411-99ed177d3e43'}",
    "UNION(n INTEGER, s VARCHAR)": "5",
    "INTEGER[2]": "[1, 2]",
    "BLOB": "'ab'::BLOB",
}


@pytest.mark.parametrize("kind", DUCKDB)
def test_types_of_duckdb(connection, kind):
    source = connection.sql(f'SELECT CAST({DUCKDB[kind]} AS {kind}) AS "a ""b""" UNION ALL SELECT NULL')
    [value], [null] = source.fetchall()
    assert null is None
    result = table.gather(source, [1, 0, 0])
    assert (result.columns, result.types) == (source.columns, source.types)
    assert result.fetchall() == [(None,), (value,), (value,)]


@pytest.mark.parametrize("names", [["a", "a"], ["a", "A"], ["a", "a", "a_1", "b"], [' "', ' "'], ["ü", "Ü"]])
def test_names_that_occur_twice_stay(connection, names):
    quoted = [name.replace('"', '""') for name in names]
    source = connection.sql(
        "SELECT " + ", ".join(f'range + {at} AS "{n}"' for at, n in enumerate(quoted)) + " FROM range(3)"
    )
    assert source.columns == names
    row = tuple(range(len(names)))
    for result, want in (
        (table.gather(source, [0]), row),
        (table.filter(source, [True, False, False]), row),
        (table.scatter([5] * len(names), [0], source), (5,) * len(names)),
        (table.boolean_mask_scatter(source, source, [True, False, False]), row),
        (table.copy_if_else(source, source, [True] * 3), row),
    ):
        assert (result.columns, result.types) == (names, source.types)
        assert result.fetchall()[0] == want


@pytest.mark.parametrize("kind, value", [("BIT", "'101'"), ("TIMETZ", "'01:00:00+02'"), ("BIT[]", "['1']")])
def test_types_that_duckdb_does_not_hand_over(connection, kind, value):
    source = connection.sql(f"SELECT 1 AS i, CAST({value} AS {kind}) AS x")
    with pytest.raises(DataTypeError, match=r"column 'x'.*cast it first"):
        table.gather(source, [0])


def test_relations_stay_in_their_connection_and_alive(connection):
    connection.execute("CREATE TABLE t AS SELECT range AS i, 'x' || range AS s FROM range(5)")
    source = connection.table("t")
    result = table.gather(source, np.array([4, 1]))
    joined = source.set_alias("l").join(result.set_alias("r"), "l.i = r.i").order("l.i")
    assert joined.fetchall() == [(1, "x1", 1, "x1"), (4, "x4", 4, "x4")]
    connection.execute("DROP TABLE t")
    del source
    gc.collect()
    assert result.fetchall() == [(4, "x4"), (1, "x1")]
    assert result.fetchall() == [(4, "x4"), (1, "x1")]
    assert table.gather(result, [1]).fetchall() == [(1, "x1")]


def test_a_duckdb_relation_is_queried_on_its_own_connection(connection):
    source = connection.sql("SELECT range AS i FROM range(5)")
    result = by_query(source, _core.ArrowTable(pa.table({"i": [3, 4]})))
    gc.collect()
    assert result.fetchall() == [(3,), (4,)]
    assert source.set_alias("l").join(result.set_alias("r"), "l.i = r.i").fetchall() == [(3, 3), (4, 4)]
