"""test_table_small.py: few rows: schemas that are known, common blocks of memory, what polars and pandas take."""

import gc
import importlib

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import _core, table
from gatherscatter._table import of_polars
from gatherscatter.errors import DataTypeError, NullIndexError


class Celsius(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.int64(), "tests.celsius")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


ROWS = [2, 0, -1]
ARROW = {
    "number": pa.array([1, None, 3, 4]),
    "text": pa.array(["a", "bb", None, ""]),
    "bool": pa.array([True, False, None, True]),
    "list": pa.array([[1], None, [], [2, 3]]),
    "key": pa.array(["x", "y", "x", None]).dictionary_encode(),
    "struct": pa.array([{"p": 1}, {"p": None}, None, {"p": 4}]),
    "null": pa.nulls(4),
    "extension": pa.ExtensionArray.from_storage(Celsius(), pa.array([1, 2, None, 4])),
}


# ---- pyarrow: schemas that are kept


def tables_of(metadata=None, names=tuple(ARROW)):
    schema = pa.schema([pa.field(name, ARROW[name].type, metadata={"of": name}) for name in names], metadata=metadata)
    whole = pa.table([ARROW[name] for name in names], schema=schema)
    yield whole
    yield whole.to_batches()[0]
    yield pa.concat_tables([whole[:1], whole[1:]])
    yield pa.concat_tables([whole, whole])[3:7]


def test_tables_of_pyarrow():
    for _ in range(2):
        for source in tables_of({"k": "v"}):
            for bounds, rows in (("raise", ROWS), ("nullify", ROWS), ("nullify", [0, None, 9]), ("raise", [])):
                result = table.gather(source, rows, bounds, negative="from_end")
                assert type(result) is type(source)
                assert result.schema.equals(source.schema, check_metadata=True)
                result.validate(full=True)
                expected = [source.to_pylist()[row] if row in range(-3, 4) else dict.fromkeys(ARROW) for row in rows]
                assert result.to_pylist() == expected


def test_more_schemas_than_are_kept():
    schemas = [{"n": str(n)} for n in range(12)] + [None]
    for _ in range(3):
        for metadata in schemas:
            source = next(tables_of(metadata))
            assert table.gather(source, ROWS).schema.equals(source.schema, check_metadata=True)
    for kind in (pa.int64(), pa.uint64(), pa.timestamp("s"), pa.timestamp("s", "UTC"), pa.float64()):
        source = pa.table({"a": pa.array([7, 8]).cast(kind, safe=False)})
        assert table.gather(source, [1]).column("a").type == kind
        flat = pa.table([source.column("a")], schema=pa.schema([pa.field("a", kind, nullable=False)]))
        assert not table.gather(flat, [1]).schema.field(0).nullable
        assert table.gather(flat, [1, 5], "nullify").schema.field(0).nullable


class Alike(pa.ExtensionType):
    """Types of different storage that say that they are equal."""

    def __init__(self, storage=None):
        super().__init__(storage or pa.int8(), "tests.alike")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls(storage_type)

    def __eq__(self, other):
        return isinstance(other, Alike)

    __hash__ = pa.ExtensionType.__hash__


def test_extension_types_are_not_kept():
    for storage in (pa.array([1, 2], pa.int8()), pa.array([3, 4], pa.int64()), pa.array(["a", "b"])):
        source = pa.table({"a": pa.ExtensionArray.from_storage(Alike(storage.type), storage)})
        result = table.gather(source, [1, 0])
        assert result["a"].chunk(0).storage.to_pylist() == storage.to_pylist()[::-1]


def test_tables_without_rows_or_columns():
    source = next(tables_of())
    for empty in (source[:0], source[:0].combine_chunks(), pa.table({}), pa.table({"a": pa.array([], pa.string())})):
        result = table.gather(empty, [])
        assert result.schema == empty.schema and result.num_rows == 0
    record = pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))
    assert table.gather(record, [1, 1, 4]).num_rows == 3


def test_a_schema_is_not_one_of_a_batch_that_contradicts_it():
    batch = next(tables_of(names=("number", "text"))).to_batches()[0]
    other = pa.schema([("number", pa.int64())])
    with pytest.raises(BufferError, match=r"op: .*n_children is 2"):
        _core.ArrowTable.of_batches([batch], other, False, "op")
    with pytest.raises(BufferError, match="n_buffers"):
        _core.ArrowTable.of_batches([batch], pa.schema([("number", pa.int64()), ("text", pa.int64())]), False, "op")


COLUMNS = {
    "numbers": ([[1, None], [], [3], [4, 5]], pa.int16()),
    "text": ([["a", "bc"], [None], [], ["d", "e"]], pa.string()),
    "lists": ([[[1], None], [[2, 3]], [[], [4]]], pa.list_(pa.int64())),
    "structs": ([[{"a": 1}, None], [{"a": None}], [{"a": 4}, {"a": 5}]], pa.struct([("a", pa.int8())])),
    "one chunk": ([[1, 2, 3, 4, 5]], pa.int8()),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("nullable", [True, False])
def test_a_table_of_one_column_is_read_column_by_column(kind, nullable):
    """Its chunks come by one stream in place of as many record batches; name, nullability and metadata are kept."""
    chunks, dtype = COLUMNS[kind]
    if not nullable:
        chunks = [[row for row in chunk if row is not None] for chunk in chunks]
    schema = pa.schema([pa.field("c", dtype, nullable, {"a": "b"})], {"k": "v"})
    source = pa.table([pa.chunked_array(chunks, dtype)], schema=schema)
    rows = list(range(source.num_rows))[::-1] * 2
    values = source["c"].to_pylist()
    result = table.gather(source, rows)
    assert result["c"].to_pylist() == [values[row] for row in rows]
    assert result.schema.equals(schema, check_metadata=True)
    mask = [row % 2 == 0 for row in range(source.num_rows)]
    assert table.filter(source.slice(1), mask[1:])["c"].to_pylist() == values[2::2]
    written = table.scatter(source.slice(0, 1), [2], source)
    assert written["c"].to_pylist() == [*values[:2], values[0], *values[3:]]


def test_dictionaries_of_the_chunks_of_one_column():
    chunks = [pa.array(words).dictionary_encode() for words in (["a", "b"], ["b", None, "c"], ["c", "a"])]
    source = pa.table({"c": pa.chunked_array(chunks)})
    assert table.gather(source, [6, 4, 3, 2, 0])["c"].to_pylist() == ["a", "c", None, "b", "a"]


def test_a_column_is_not_read_by_a_schema_that_contradicts_it():
    column = pa.chunked_array([[1], [2]])
    two = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    for schema in (pa.schema([("a", pa.string())]), two, pa.schema([])):
        assert _core.ArrowTable.of_column(column, schema, False, "op") is None


def test_one_column_whose_metadata_name_an_extension_type():
    """Files have such a field where the extension type is not registered: the schema has the type, the column not."""
    field = pa.field("c", pa.int64(), metadata={"ARROW:extension:name": "a.b", "ARROW:extension:metadata": "x"})
    for chunks in ([[1, 2, 3]], [[1, 2], [3]], [[], [1], [2, 3]]):
        source = pa.table([pa.chunked_array(chunks, pa.int64())], schema=pa.schema([field]))
        result = table.gather(source, [2, 0])
        assert result["c"].to_pylist() == [3, 1]
        assert result.schema.equals(source.schema, check_metadata=True)


def test_without_private_methods_of_pyarrow_batches_pass_by_the_protocol(monkeypatch):
    of_pyarrow = importlib.import_module("gatherscatter._table.of_pyarrow")
    for source in (source for source in tables_of({"k": "v"}) if isinstance(source, pa.Table)):
        batch = source.to_batches()[0]
        rows = [batch.num_rows - 1, 0, 0]
        by_address = [table.gather(form, rows) for form in (source, batch)]
        with monkeypatch.context() as patch:
            patch.setattr(of_pyarrow, "BY_ADDRESS", False)
            patch.setattr(of_pyarrow, "import_batch", None)
            patch.setattr("gatherscatter._table.row_gather.gathers", {})
            for form, wanted in zip((source, batch), by_address, strict=True):
                result = table.gather(form, rows)
                assert type(result) is type(wanted) and result.equals(wanted, check_metadata=True)


def test_a_column_outlives_its_neighbours():
    source = pa.table({f"c{c}": [c, c + 1, None] for c in range(40)})
    columns = [table.gather(source, [1, 2, 0]).column(c) for c in range(40)]
    gc.collect()
    for c, column in enumerate(columns):
        assert column.to_pylist() == [c + 1, None, c]
        assert all(buffer.address % 64 == 0 for buffer in column.chunk(0).buffers())


@pytest.mark.parametrize("kind", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_maps_of_pyarrow(kind):
    source = pa.table({"a": [5, 6, 7, 8]})
    rows = pa.array([3, 0, 2, 1], kind)
    for given, expected in ((rows, [8, 5, 7, 6]), (rows[1:3], [5, 7]), (rows[:0], []), (rows.take(pa.array([0])), [8])):
        assert table.gather(source, given)["a"].to_pylist() == expected
    with_null = pa.array([3, None], kind)
    assert table.gather(source, with_null, "nullify")["a"].to_pylist() == [8, None]
    with pytest.raises(NullIndexError, match="position 1"):
        table.gather(source, with_null)
    with pytest.raises(DataTypeError, match="mask"):
        table.filter(source, rows)
    with pytest.raises(gs.OutOfBoundsError, match="index 9"):
        table.gather(source, pa.array([9], kind))


# ---- pyarrow: rows that are gathered in one call


MAPS = {
    "array": np.array([2, 0, -1]),
    "strided array": np.array([2, 9, 0, 9, -1], np.int16)[::2],
    "column": pa.array([9, 2, 0, -1, 9], pa.int8())[1:4],
    "column with room for nulls": pa.array([None, 2, 0, 1], pa.uint64())[1:],
    "array in other byte order": np.array([2, 0, -1], ">i4"),
    "chunked column": pa.chunked_array([[2], [0, -1]]),
    "list": [2, 0, -1],
    "no rows": np.empty(0, np.int32),
    "no rows of a column": pa.array([], pa.int64()),
}


@pytest.mark.parametrize("name", MAPS)
def test_one_call_gives_what_the_general_way_gives(name, monkeypatch):
    sources = [*tables_of({"k": "v"}), next(tables_of())[1:], next(tables_of())[:0]]
    results = [table.gather(source, MAPS[name]) for source in sources if len(source) or not len(MAPS[name])]
    monkeypatch.setattr("gatherscatter._table.row_gather.gathers", {})
    wanted = [table.gather(source, MAPS[name]) for source in sources if len(source) or not len(MAPS[name])]
    for result, want in zip(results, wanted, strict=True):
        result.validate(full=True)
        assert type(result) is type(want) and result.equals(want, check_metadata=True)
        assert [c.num_chunks for c in getattr(result, "itercolumns", list)() if isinstance(c, pa.ChunkedArray)] == [
            c.num_chunks for c in getattr(want, "itercolumns", list)() if isinstance(c, pa.ChunkedArray)
        ]


@pytest.mark.parametrize("kind", ["array", "column"])
def test_one_call_names_the_bad_row(kind):
    rows = np.array([1, -5, 9])
    for source in (*tables_of(), next(tables_of())[:0]):
        with pytest.raises(gs.OutOfBoundsError, match=r"table\.gather") as caught:
            table.gather(source, rows if kind == "array" else pa.array(rows))
        first = 0 if len(source) == 0 else 1
        assert (caught.value.index, caught.value.position) == (rows[first], (first,))
    with pytest.raises(NullIndexError, match="position 0"):
        table.gather(next(tables_of()), pa.array([None, 9]))


@pytest.mark.parametrize("arguments", [(), (None,), (None, None, None)])
def test_one_call_has_two_arguments(arguments):
    gather = importlib.import_module("gatherscatter._table.registry").gathers[pa.Table]
    with pytest.raises(TypeError, match="a table and a map"):
        gather(*arguments)


# ---- polars: few rows of frames that are wide or have Categorical columns


def wide(columns):
    kinds = [
        pl.Series([1, None, 3, 4]),
        pl.Series(["a", "bb", None, "long enough to be no inline view"]),
        pl.Series([True, False, None, True]),
        pl.Series([[1], None, [], [2, 3]]),
        pl.Series([{"p": 1}, {"p": None}, None, {"p": 4}]),
        pl.Series(["x", "y", "x", None], dtype=pl.Categorical),
        pl.Series(["x", "y", "x", None], dtype=pl.Enum(["y", "x"])),
        pl.Series([1.5, float("nan"), None, -0.0]),
        pl.Series([1, 2, None, 4]).cast(pl.Datetime("us", "UTC")),
        pl.Series([1, 2, None, 4]).cast(pl.Decimal(20, 3)),
        pl.Series([b"", None, b"\0", b"b"]),
    ]
    return pl.DataFrame([kinds[c % len(kinds)].alias(f"c{c}") for c in range(columns)])


@pytest.mark.parametrize("width", [of_polars.WIDE + 7, 6], ids=["wide", "with a Categorical"])
@pytest.mark.parametrize("few", [0, 4096])
def test_frames_of_polars_that_it_exports_slowly(few, width, monkeypatch):
    monkeypatch.setattr(of_polars, "FEW", few)
    frame = wide(width)
    chunked = pl.concat([frame[:1], frame[1:]], rechunk=False)
    for source in (frame, chunked, frame[1:], frame.clear()):
        if few and source.height:
            monkeypatch.setattr(_core, "ArrowTable", None)  # nothing is exported
        for rows in ([2, 0, -1], np.array([1, 1]), pl.Series([0, 2]), pa.array([1]), range(2), []):
            if source.height or not len(rows):
                result = table.gather(source, rows)
                numbers = [
                    int(row) % source.height for row in (rows.to_pylist() if isinstance(rows, pa.Array) else rows)
                ]
                assert result.equals(source[numbers] if numbers else source.clear())
                assert result.schema == source.schema
        result = table.gather(source, [0, None, 9, -1], "nullify", negative="from_end")
        assert result.schema == source.schema
        assert result[1:3].null_count().sum_horizontal().item() == 2 * source.width
        if source.height:
            assert result[::3].equals(source[[0, source.height - 1]])
        with pytest.raises(gs.OutOfBoundsError) as error:
            table.gather(source, [0, 7, 1] if source.height else [7])
        assert error.value.index == 7 and error.value.size == source.height
        monkeypatch.undo()
        monkeypatch.setattr(of_polars, "FEW", few)


def test_wide_frames_of_polars_that_are_checked_or_lazy():
    frame = wide(of_polars.WIDE)
    assert table.gather(frame, ROWS, validate="full").equals(frame[[2, 0, 3]])
    assert table.gather(frame.lazy(), ROWS).collect().equals(frame[[2, 0, 3]])
    objects = frame.with_columns(pl.Series("object", [object()] * 4, dtype=pl.Object))
    with pytest.raises(DataTypeError, match="Object"):
        table.gather(objects, ROWS)
    written = table.scatter(frame[:1], [1], frame)
    assert written.equals(frame[[0, 0, 2, 3]])


# ---- pandas: replaced rows, and maps that pandas checks


@pytest.mark.parametrize("count", [0, 3, 4096, 10_000])
def test_replaced_rows(count):
    """Of every form of a selection: an overlay, row numbers, ranges; with the target first or last."""
    rng = np.random.default_rng(count)
    size = 10_000
    for share in (0.05, 0.9, 1.0):
        mask = rng.random(size) < share
        runs = np.arange(size) % 1000 < 1000 * share
        made = [
            _core.Selection.scatter(
                "op", rng.integers(0, size, count), None, (size,), (count + 1,), False, "raise", "from_end", -1
            ),
            _core.Selection.scatter(
                "op", rng.integers(0, size, count), None, (4000, 6000), (count + 1,), False, "raise", "from_end", -1
            ),
            _core.Selection.mask_scatter("op", mask, None, (size,), (size,), False, -1),
            _core.Selection.mask_scatter("op", runs, None, (size,), (5000, 5000), False, -1),
            _core.Selection.choose("op", mask, None, (size,), (size,), -1),
            _core.Selection.choose("op", runs, None, (size,), (size,), -1),
            _core.Selection.gather("op", rng.integers(0, 2 * size, count), None, (size, size), "raise", "from_end", -1),
            _core.Selection.gather("op", np.array([5, 2 * size]), None, (size,), "nullify", "from_end", -1),
        ]
        for selection in made:
            positions = selection.positions()
            to, rows = selection.replaced(size)
            assert to.tolist() == np.flatnonzero(positions >= size).tolist()
            assert rows.tolist() == (positions[to] - size).tolist()


def test_maps_that_pandas_checks():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": pd.array([1, None, 3], "Int64")}, index=[10, 20, 30])
    for source in (frame, frame["a"], frame["b"]):
        for rows in ([2, 0, -1, -3], [], [1]):
            given = np.array(rows, np.int64)
            result, expected = table.gather(source, given), source.take(rows)
            assert result.equals(expected) and result.index.equals(expected.index)
        for rows, bad in (([0, 3], 3), ([-4, 0], -4), ([2**62], 2**62), ([-(2**63)], -(2**63))):
            with pytest.raises(gs.OutOfBoundsError) as error:
                table.gather(source, np.array(rows))
            assert error.value.index == bad and error.value.size == 3
        with pytest.raises(gs.errors.InvalidArgument, match="one axis"):
            table.gather(source, np.array([[0, 1]]))
    assert table.gather(frame, np.array([0, 5]), "nullify").index.isna().tolist() == [False, True]
    with pytest.raises(gs.OutOfBoundsError):
        table.gather(frame, np.array([-1]), negative="out_of_bounds")
    assert len(table.gather(frame[:0], np.array([], np.int64))) == 0
