"""test_table_columns.py: `columns` of table.gather, for tables of every library."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.errors import InvalidArgument

DATA = {"n": [4, None, 6, 7], "^s.*$": ["a", "b", None, "d"], "l": [[1], [], None, [2, 3]]}
ARROW = pa.table(DATA).replace_schema_metadata({"of": "test"})
ROWS = [3, 0, -2]


class Producer:
    """A table of an unknown library."""

    def __arrow_c_stream__(self, requested_schema=None):
        return ARROW.__arrow_c_stream__(requested_schema)


TABLES = {
    "table": lambda: ARROW,
    "chunks": lambda: pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]),
    "batch": lambda: ARROW.combine_chunks().to_batches()[0],
    "polars": lambda: pl.DataFrame(DATA),
    "lazy": lambda: pl.DataFrame(DATA).lazy(),
    "pandas": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb": lambda: duckdb.from_arrow(ARROW),
    "producer": Producer,
    "own": lambda: _core.ArrowTable(ARROW),
}


def lists(result):
    """A table as one list for each column."""
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, pd.DataFrame):
        return {str(name): pa.array(result[name]).to_pylist() for name in result.columns}
    return pa.table(result).to_pydict()


@pytest.mark.parametrize("columns", [["l", "n"], ("^s.*$",), ["n", "^s.*$", "l"]])
@pytest.mark.parametrize("kind", TABLES)
def test_only_named_columns_in_their_order(kind, columns):
    source = TABLES[kind]()
    result = gs.table.gather(source, ROWS, columns=columns)
    expected = {name: [DATA[name][row] for row in ROWS] for name in columns}
    assert lists(result) == expected
    assert list(lists(result)) == list(columns)
    if kind != "producer":
        assert type(result) is type(source)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    ("columns", "text"),
    [(["n", "x"], "columns names 'x', but the source has 3 columns: 'n'"), (["n", "n"], "columns names 'n' twice")],
)
def test_names_that_do_not_fit(kind, columns, text):
    with pytest.raises(InvalidArgument, match=r"table\.gather") as caught:
        gs.table.gather(TABLES[kind](), ROWS, columns=columns)
    assert text in str(caught.value)


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_no_list_of_names(kind):
    with pytest.raises(TypeError, match="columns is 'n', expected a list of names"):
        gs.table.gather(TABLES[kind](), ROWS, columns="n")


@pytest.mark.parametrize(
    "column", [pa.array([1]), pa.chunked_array([[1]]), pl.Series([1]), pd.Series([1]), _core.ArrowTable(pa.array([1]))]
)
def test_a_column_has_no_columns(column):
    with pytest.raises(InvalidArgument, match="columns is for tables"):
        gs.table.gather(column, [0], columns=["n"])


def test_no_columns_of_polars():
    result = gs.table.gather(pl.DataFrame({"a": [1, 2]}), [0, 1, 0], columns=[])
    assert result.shape == (3, 0)


@pytest.mark.parametrize("kind", ["table", "batch", "pandas", "own"])
def test_no_columns(kind):
    result = gs.table.gather(TABLES[kind](), ROWS, columns=[])
    assert lists(result) == {}
    assert len(result) == 3


def test_relations_have_columns():
    with pytest.raises(InvalidArgument, match="DuckDB has no relation without columns"):
        gs.table.gather(TABLES["duckdb"](), ROWS, columns=[])


def test_a_name_that_two_columns_have():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
    with pytest.raises(InvalidArgument, match="several columns of that name"):
        gs.table.gather(twice, [0], columns=["a"])
    assert gs.table.gather(twice, [0, 0], columns=["b"]).to_pydict() == {"b": [2, 2]}


def test_names_of_pandas_are_compared_with_their_types():
    frame = pd.DataFrame([[1, 2, 3]], columns=[1, "1", True])
    for name, value in ((1, 1), ("1", 2), (True, 3)):
        result = gs.table.gather(frame, [0, 0], columns=[name])
        assert [type(n) for n in result.columns] == [type(name)]
        assert result.to_numpy().ravel().tolist() == [value, value]
    tuples = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), index=["x"])
    pd.testing.assert_frame_equal(gs.table.gather(tuples, [0], columns=[("b", 2)]), tuples[[("b", 2)]])


def test_pandas_compares_numbers_of_numpy_by_value():
    frame = pd.DataFrame(np.arange(6).reshape(2, 3), columns=np.array([10, 20, 30]))
    assert gs.table.gather(frame, [1], columns=[30, 10]).to_numpy().tolist() == [[5, 3]]


NUMPY_NAMES = [np.str_("l"), np.bytes_(b"b"), np.int16(7), np.uint64(8), np.float32(0.5), np.True_, np.timedelta64(9)]


@pytest.mark.parametrize("seed", range(20))
def test_names_of_numpy_are_those_of_python(seed):
    """Either side may have names of NumPy's types. A timedelta is no number."""
    rng = np.random.default_rng(seed)
    python = [name if isinstance(name, np.timedelta64) else name.item() for name in NUMPY_NAMES]
    own = [pair[rng.integers(2)] for pair in zip(NUMPY_NAMES, python, strict=True)]
    frame = pd.DataFrame(np.arange(14).reshape(2, 7), columns=pd.Index(own, dtype=object))
    places = rng.permutation(7)[: rng.integers(1, 8)]
    wanted = [(NUMPY_NAMES, python)[rng.integers(2)][place] for place in places]
    assert gs.table.gather(frame, [1], columns=wanted).to_numpy().tolist() == [(7 + places).tolist()]
    with pytest.raises(InvalidArgument):
        gs.table.gather(frame, [1], columns=[9])


@pytest.mark.parametrize("kind", TABLES)
def test_texts_of_numpy_name_columns(kind):
    expected = lists(gs.table.gather(TABLES[kind](), ROWS, columns=["n", "l"]))
    assert lists(gs.table.gather(TABLES[kind](), ROWS, columns=list(np.array(["n", "l"])))) == expected


def test_metadata_and_nullability_stay():
    result = gs.table.gather(ARROW, [0, None], "nullify", columns=["l"])
    assert result.schema.metadata == {b"of": b"test"}
    assert result.to_pydict() == {"l": [[1], None]}


def test_unused_columns_are_not_read():
    """A column that polars cannot hand over is no obstacle if it is not named."""
    frame = pl.DataFrame({"a": [1, 2], "o": pl.Series([object(), object()], dtype=pl.Object)})
    assert gs.table.gather(frame, [1], columns=["a"])["a"].to_list() == [2]


def test_memory_budget_is_for_files():
    with pytest.raises(InvalidArgument, match=r"memory_budget is for tables in files.*pyarrow\.Table"):
        gs.table.gather(ARROW, [0], memory_budget=1 << 20)
