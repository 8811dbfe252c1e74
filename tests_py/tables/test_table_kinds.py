"""test_table_kinds.py: results have the kind of the argument; objects that are no tables; tables that do not match."""

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import _core, table
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument

DATA = {"n": [4, None, 6, 7], "s": ["a", "b", None, "dddddddddddddddddddd"], "l": [[1], [], None, [2, 3]]}
ARROW = pa.table(DATA)


class Producer:
    """A table of an unknown library."""

    def __init__(self, data):
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


TABLES = {
    "table": lambda: ARROW,
    "chunks": lambda: pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1, 0), ARROW.slice(1)]),
    "batch": lambda: ARROW.combine_chunks().to_batches()[0],
    "polars": lambda: pl.DataFrame(DATA),
    "polars chunks": lambda: pl.concat([pl.DataFrame(DATA)[:3], pl.DataFrame(DATA)[3:]], rechunk=False),
    "lazy": lambda: pl.DataFrame(DATA).lazy(),
    "duckdb": lambda: duckdb.from_arrow(ARROW),
    "producer": lambda: Producer(ARROW),
    "own": lambda: _core.ArrowTable(ARROW),
}
COLUMNS = {
    "array": lambda: pa.array(DATA["s"]),
    "chunked": lambda: pa.chunked_array([DATA["s"][:1], [], DATA["s"][1:]]),
    "series": lambda: pl.Series("s", DATA["s"]),
    "column producer": lambda: Producer(pa.chunked_array([DATA["s"]])),
    "own column": lambda: _core.ArrowTable(pa.array(DATA["s"])),
}
COMES_BACK_AS = {"producer": _core.ArrowTable, "column producer": _core.ArrowTable}


def rows_of(data):
    """A table as a list of rows, a column as a list."""
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, (_core.ArrowTable, duckdb.DuckDBPyRelation)):
        is_table = not isinstance(data, _core.ArrowTable) or data.is_table
        data = pa.table(data) if is_table else pa.chunked_array(data)
    if isinstance(data, pl.DataFrame):
        return [list(row) for row in data.rows()]
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return [list(row.values()) for row in data.to_pylist()]
    return data.to_list() if isinstance(data, pl.Series) else data.to_pylist()


@pytest.fixture(params=[*TABLES, *COLUMNS])
def kind(request):
    return request.param


@pytest.fixture
def source(kind):
    return (TABLES | COLUMNS)[kind]()


@pytest.fixture
def want(kind):
    return rows_of(ARROW if kind in TABLES else ARROW["s"])


def check(result, source, kind, want):
    assert type(result) is COMES_BACK_AS.get(kind, type(source))
    assert rows_of(result) == want
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        assert result.lazy().collect_schema() == source.lazy().collect_schema()
    if isinstance(source, pl.Series):
        assert (result.name, result.dtype) == (source.name, source.dtype)
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        assert result.schema.equals(source.schema, check_metadata=True)
    if isinstance(source, pa.Table):
        assert all(column.num_chunks == 1 for column in result.columns)
    if isinstance(source, duckdb.DuckDBPyRelation):
        assert (result.columns, result.types) == (source.columns, source.types)


def test_gather(kind, source, want):
    check(table.gather(source, [2, 0, -1, 0]), source, kind, [want[2], want[0], want[3], want[0]])


def test_gather_keeps_the_kind_of_no_rows(kind, source):
    check(table.gather(source, []), source, kind, [])


def test_nullify(kind, source, want):
    null = [None] * len(DATA) if kind in TABLES else None
    check(
        table.gather(source, [3, None, 99, -99], "nullify", negative="from_end"),
        source,
        kind,
        [want[3], null, null, null],
    )


def test_scatter(kind, source, want):
    rows = table.gather(ARROW if kind in TABLES else ARROW["s"], [0, 3, 1])
    if kind in ("polars", "polars chunks", "lazy", "series"):
        rows = pl.DataFrame(rows) if kind != "series" else pl.Series(rows)
    check(table.scatter(rows, [2, -4, 2], source), source, kind, [want[3], want[1], want[1], want[3]])
    check(table.scatter(rows[:1], indices=[2], target=source), source, kind, [want[0], want[1], want[0], want[3]])


def test_scatter_of_a_kind_into_itself(kind, source, want):
    if kind == "lazy":
        with pytest.raises(TypeError, match="collect it first"):
            table.scatter(source, [1], source).collect()
    else:
        check(table.scatter(source, [3, 2, 1, 0], source), source, kind, want[::-1])


def test_boolean_mask_scatter(kind, source, want):
    if kind != "lazy":
        mask = [False, True, None, True]
        check(table.boolean_mask_scatter(source, source, mask), source, kind, [want[0], want[0], want[2], want[1]])


def test_scalars(kind, source, want):
    values = [9, None, [8]] if kind in TABLES else ["new"]
    row = values if kind in TABLES else "new"
    check(table.scatter(values, [1], source), source, kind, [want[0], row, want[2], want[3]])
    check(table.boolean_mask_scatter(tuple(values), source, [True, False, False, None]), source, kind, [row, *want[1:]])


def test_scalars_by_name_and_alone(kind, source, want):
    if kind in TABLES:
        named = {"l": None, "n": 1, "s": "x"}
        check(table.scatter(named, [0], source), source, kind, [[1, "x", None], *want[1:]])
    else:
        check(table.scatter("x", [0], source), source, kind, ["x", *want[1:]])
        check(table.scatter(None, [0], source), source, kind, [None, *want[1:]])


def test_filter(kind, source, want):
    check(table.filter(source, [True, None, False, True]), source, kind, [want[0], want[3]])


def test_copy_if_else(kind, source, want):
    if kind != "lazy":
        other = table.gather(source, [3, 2, 1, 0])
        result = table.copy_if_else(source, other, [True, False, None, True])
        check(result, source, kind, [want[0], want[2], want[1], want[3]])


def test_copy_if_else_of_scalars(kind, source, want):
    row, mask = [9, "y", None] if kind in TABLES else "y", [True, False, None, True]
    new = row if kind in TABLES else "y"
    check(table.copy_if_else(source, row, mask), source, kind, [want[0], new, new, want[3]])
    check(table.copy_if_else(row, source, mask), source, kind, [new, want[1], want[2], new])


def test_the_target_is_left_as_it_was(kind, source, want):
    before = rows_of(pa.table(source) if kind == "producer" else source) if kind != "column producer" else want
    table.scatter([0, "0", [0]] if kind in TABLES else ["0"], [0, 1, 2, 3], source)
    assert before == want
    if "producer" not in kind:
        assert rows_of(source) == want


def test_full_validation(kind, source, want):
    check(table.gather(source, [1], validate="full"), source, kind, [want[1]])


def test_results_outlive_everything_else(kind, source, want):
    result = table.gather(source, [1, 1])
    del source
    gc.collect()
    assert rows_of(result) == [want[1], want[1]]


def test_negative_numbers_may_name_no_row(kind, source, want):
    null = [None] * len(DATA) if kind in TABLES else None
    found = np.array([2, -1, 0, -4], np.int8)
    result = table.gather(source, found, "nullify", negative="out_of_bounds")
    check(result, source, kind, [want[2], null, want[0], null])
    check(table.gather(source, [3, 1], negative="out_of_bounds"), source, kind, [want[3], want[1]])
    if kind != "lazy":
        with pytest.raises(gs.OutOfBoundsError, match="accepts 0 to 3") as e:
            table.gather(source, found, negative="out_of_bounds")
        assert (e.value.index, e.value.position, e.value.from_end, e.value.count) == (-1, (1,), False, 2)


def test_rows_that_are_not_found_are_left_out_of_a_scatter(kind, source, want):
    found = np.array([2, -1, 0, 9], np.int8)
    new = table.gather(source.collect() if kind == "lazy" else source, [3, 3, 1, 1])
    for given in (found, pa.array([2, None, 0, None]), found.tolist(), pd.Index(found), pl.Series(found)):
        result = table.scatter(new, given, source, bounds="drop", negative="out_of_bounds")
        check(result, source, kind, [want[1], want[1], want[3], want[3]])
    for none in ([], [-1, -1], np.full(4, 99)):
        some = table.gather(source.collect() if kind == "lazy" else source, [3] * len(none))
        check(table.scatter(some, none, source, bounds="drop", negative="out_of_bounds"), source, kind, want)
    if kind != "lazy" and not isinstance(source, Producer):
        result = gs.plan(table.scatter, new, found, source, bounds="drop", negative="out_of_bounds")(new, found, source)
        check(result, source, kind, [want[1], want[1], want[3], want[3]])
        with pytest.raises(gs.OutOfBoundsError, match="accepts 0 to 3") as e:
            table.scatter(new, found, source, negative="out_of_bounds")
        assert (e.value.index, e.value.position, e.value.from_end, e.value.count) == (-1, (1,), False, 2)


# --- no columns, no rows


def bare(rows):
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


@pytest.mark.parametrize("wrap", [lambda b: b, lambda b: pa.Table.from_batches([b]), pl.DataFrame])
def test_rows_without_columns(wrap):
    source = wrap(bare(3))
    count = (lambda t: t.height) if isinstance(source, pl.DataFrame) else (lambda t: t.num_rows)
    assert count(source) == 3
    result = table.gather(source, [0, 0, 2, 1, 2])
    assert type(result) is type(source)
    assert count(result) == 5
    assert count(table.gather(source, [0, 9], "nullify")) == 2
    assert count(table.scatter([], [0], source)) == 3
    assert count(table.scatter(wrap(bare(2)), [0, 1], source)) == 3
    assert count(table.filter(source, [True, False, True])) == 2
    with pytest.raises(gs.OutOfBoundsError):
        table.gather(source, [3])


def test_nothing_of_nothing(kind, source):
    if kind in ("lazy", "duckdb", "producer", "column producer"):
        return
    empty = table.gather(source, [])
    assert rows_of(table.gather(empty, [])) == []
    assert rows_of(table.gather(empty, [0, None], "nullify")) == [[None] * 3 if kind in TABLES else None] * 2
    assert rows_of(table.scatter(empty, [], empty)) == []
    assert rows_of(table.scatter([1, "x", [1]] if kind in TABLES else ["x"], [], empty)) == []
    with pytest.raises(gs.OutOfBoundsError, match="empty"):
        table.gather(empty, [0])


# --- unusual tables


def test_columns_without_chunks():
    empty = pa.table({"a": pa.chunked_array([], pa.int8())})
    assert table.gather(empty, []).schema == empty.schema
    assert table.gather(empty, [0], "nullify").to_pydict() == {"a": [None]}
    assert table.scatter(empty, [], empty).num_rows == 0


def test_names_that_occur_twice():
    twice = pa.Table.from_arrays([pa.array([1, 2]), pa.array(["x", "y"])], names=["a", "a"])
    result = table.scatter([3, "z"], [0], table.gather(twice, [1, 0]))
    assert result.column_names == ["a", "a"]
    assert [column.to_pylist() for column in result.columns] == [[3, 1], ["z", "x"]]


def test_streams_that_can_be_read_once():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return reader().__arrow_c_stream__(requested_schema)

    def reader():
        return pa.RecordBatchReader.from_batches(ARROW.schema, ARROW.to_batches(max_chunksize=1))

    for source, kind in ((reader(), pa.Table), (Stream(), _core.ArrowTable)):
        result = table.gather(source, [3, 0])
        assert type(result) is kind
        assert pa.table(result).equals(ARROW.take([3, 0]))


def test_many_threads_share_a_table(kind, source, want):
    if kind == "duckdb":
        return  # a connection can be used by one thread at a time
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda row: rows_of(table.gather(source, [row, 0])), [0, 1, 2, 3] * 25))
    assert results == [[want[row], want[0]] for row in [0, 1, 2, 3] * 25]


# --- segmented gather

LISTS = [["a", "b", None], None, [], ["c"]]
POSITIONS = [[2, 0, -3], [0], [], [-1, 0]]
PICKED = [[None, "a", "a"], None, [], ["c", "c"]]


WRONG_POSITIONS = {
    "a float": ([[0], [0.5]], "row 1 of gather_map_list holds 0.5, which is no integer"),
    "NaN": ([[np.nan], [0]], "row 0 of gather_map_list holds nan, which is no integer"),
    "a bool": ([[0], [0, True]], "row 1 of gather_map_list holds True, which is no integer"),
    "text": ([["0"], [0]], "row 0 of gather_map_list holds '0', which is no integer"),
    "nested": ([[[0]], [0]], r"row 0 of gather_map_list holds \[0\], which is no integer"),
    "flat": ([0, 1], "row 0 of gather_map_list is 0, expected a list of positions"),
    "texts": (["ab", "c"], "row 0 of gather_map_list is 'ab', expected a list of positions"),
    "floats of NumPy": (np.array([[0.0], [1.0]]), "gather_map_list is of dtype float64, expected integers"),
    "bools of NumPy": (np.array([[True], [True]]), "gather_map_list is of dtype bool, expected integers"),
    "rows of NumPy": ([np.array([0.5]), [0]], "row 0 of gather_map_list holds 0.5"),
}


@pytest.mark.parametrize("name", WRONG_POSITIONS)
@pytest.mark.parametrize("wrap", [pa.array, pl.Series])
def test_positions_that_are_not_lists_of_integers(wrap, name):
    positions, text = WRONG_POSITIONS[name]
    with pytest.raises(IndexTypeError, match=rf"table.segmented_gather: {text}"):
        table.segmented_gather(wrap([["a", "b"], ["c"]]), positions)


@pytest.mark.parametrize("wrap", [pa.array, pl.Series])
def test_positions_of_numpy(wrap):
    source = wrap([["a", "b"], ["c"]])
    for positions in (np.array([[1, 0], [0, -1]], np.int8), [np.array([1, 0], np.uint8), (0, np.int64(-1))]):
        assert rows_of(table.segmented_gather(source, positions)) == [["b", "a"], ["c", "c"]]
    ragged = np.array([[1], [0, 0]], dtype=object)
    assert rows_of(table.segmented_gather(source, ragged)) == [["b"], ["c", "c"]]
    assert rows_of(table.segmented_gather(source, [[pd.NA, 0], [None]], "nullify")) == [[None, "a"], [None]]
    with pytest.raises(InvalidArgument, match=r"gather_map_list has shape \(2,\)"):
        table.segmented_gather(source, np.array([0, 0]))


@pytest.mark.parametrize("maps", ["lists", "same library", "pyarrow"])
@pytest.mark.parametrize("source", ["array", "chunked", "polars", "pandas", "producer"])
def test_segmented_gather(source, maps):
    array = pa.array(LISTS)
    wrap = {
        "array": lambda a: a,
        "chunked": lambda a: pa.chunked_array([a]),
        "polars": lambda a: pl.Series("l", a),
        "pandas": lambda a: pd.Series(a.to_pylist(), index=list("pqrs"), name="l", dtype=pd.ArrowDtype(a.type)),
        "producer": lambda a: Producer(pa.chunked_array([a])),
    }[source]
    lists = wrap(array)
    positions = pa.array(POSITIONS)
    positions = {"lists": POSITIONS, "pyarrow": positions, "same library": wrap(positions)}[maps]
    result = table.segmented_gather(lists, positions)
    assert type(result) is (_core.ArrowTable if source == "producer" else type(lists))
    if source == "pandas":
        assert (list(result.index), result.name, result.dtype) == (list("pqrs"), "l", lists.dtype)
        result = result.array.__arrow_array__()
    assert rows_of(result) == PICKED
    if source == "polars":
        assert (result.name, result.dtype) == ("l", lists.dtype)
    with pytest.raises(gs.OutOfBoundsError):
        table.segmented_gather(lists, [[3], [0], [], []])
    nullified = table.segmented_gather(lists, [[3, 1], [0], [0], [None]], "nullify")
    if source == "pandas":
        nullified = nullified.array.__arrow_array__()
    assert rows_of(nullified) == [[None, "b"], None, [None], [None]]


def test_segmented_gather_wants_columns_of_lists():
    with pytest.raises(InvalidArgument, match="source is a table"):
        table.segmented_gather(pa.table({"l": LISTS}), POSITIONS)
    with pytest.raises(InvalidArgument, match="gather_map_list is a table"):
        table.segmented_gather(pa.array(LISTS), pa.table({"l": POSITIONS}))
    with pytest.raises(DataTypeError, match=r"dtype object.*ArrowExtensionArray"):
        table.segmented_gather(pd.Series(LISTS), POSITIONS)
    with pytest.raises(InvalidArgument):
        table.segmented_gather(pa.array(LISTS), POSITIONS[:2])


def test_optional_libraries_are_not_imported():
    code = (
        "import sys, gatherscatter as gs; "
        "print([m for m in ('pyarrow', 'polars', 'pandas', 'duckdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import gatherscatter as gs, pandas as pd, polars as pl
frame = pl.DataFrame({"i": [1, 2], "s": ["x", None]})
assert gs.table.gather(frame, [1, 0, 9], "nullify").rows() == [(2, None), (1, "x"), (None, None)]
assert gs.table.scatter([5, "new"], [1], frame).rows() == [(1, "x"), (5, "new")]
frame = pd.DataFrame({"i": [1, 2], "s": ["x", None], "n": pd.array([1, None], "Int64")})
for many in range(2):
    pd.testing.assert_frame_equal(gs.table.gather(frame, [1, 0]), frame.take([1, 0]))
    assert gs.table.gather(frame, [1, 9], "nullify")["n"].isna().all()
    assert gs.table.scatter([5, "new", 7], [1], frame).iloc[1].tolist() == [5, "new", 7]
    gs._table.of_pandas.FEW = gs._table.of_pandas.FEW_TO_MERGE = 0
own = gs.table.gather(gs._core.ArrowTable(pl.DataFrame({"i": [1, 2]})), [1, 1])
assert pl.DataFrame(own).rows() == [(2,), (2,)]
try:
    gs.table.scatter([5], [0], own)
except TypeError as error:
    print(error)
"""


def test_without_pyarrow():
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == (
        "table.scatter: scalars and arrays for this target need pyarrow, which is not installed; "
        "a table of one row does not need it\n"
    )
