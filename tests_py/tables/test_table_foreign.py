"""test_table_foreign.py: errors of other libraries about unusual values and types become errors of gatherscatter."""

import datetime as dt
from decimal import Decimal
from unittest.mock import Mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import child_process
from gatherscatter import table
from gatherscatter._table import of_pandas
from gatherscatter.compat import libcudf
from gatherscatter.errors import DataTypeError, IndexTypeError

PLACE = pa.struct([pa.field("a", pa.int8(), nullable=False)])
MAP = pa.map_(pa.string(), pa.int8())

# --- scalars


NOTHING = pa.struct([])
PARIS = pa.timestamp("s", "Europe/Paris")
LATE = dt.datetime(9999, 12, 31, 23, 59, 59)
SCALARS = {
    "a NaN in a list": (pl.Series([[1]]), [Decimal("NaN")]),
    "a NaN in a struct": (pl.Series([{"a": 1}]), {"a": Decimal("NaN")}),
    "a NaN in a list, for ints": (pl.Series([1]), [Decimal("NaN")]),
    "NA in a list": (pl.Series(["x"]), [pd.NA]),
    "NaT in a list": (pl.Series([1.5]), [np.datetime64("NaT", "s")]),
    "an object for a struct without fields": (pl.Series([{}], dtype=pl.Struct([])), object()),
    "years": (pl.Series([1]), np.timedelta64(1, "Y")),
    "years for an array": (pa.array([1]), np.timedelta64(1, "Y")),
    "nanoseconds": (pa.array([3]), np.timedelta64(3, "ns")),
    "nanoseconds for pandas": (pd.Series([3]), np.timedelta64(3, "ns")),
    "nanoseconds for polars": (pl.Series([3]), np.timedelta64(3, "ns")),
    "a time that Python has not": (pa.nulls(1, PARIS), LATE),
    "a time that Python has not, in polars": (pl.Series([None], dtype=pl.Datetime("ms", "Europe/Paris")), LATE),
    "the end of time": (pa.nulls(1, PARIS), np.datetime64(10**18, "Y")),
    "masked": (pa.nulls(1, pa.date32()), np.ma.masked),
    "masked, in pandas": (pd.Series([dt.date(2020, 1, 1)], dtype=pd.ArrowDtype(pa.date32())), np.ma.masked),
    "masked, sparse": (pd.Series(pd.arrays.SparseArray([0])), np.ma.masked),
    "a struct with a name twice": (pa.nulls(1, pa.struct([("a", pa.int8()), ("a", pa.int8())])), (1, 2)),
    "an array": (pa.array([1]), pa.array([1])),
    "an array for polars": (pl.Series([1]), pa.array([1])),
    "an array for pandas": (pd.Series([1.5]), pa.array([1])),
    "a scalar for complex numbers": (pd.Series([1j]), pa.scalar(1)),
    "a scalar for sparse ones": (pd.Series(pd.arrays.SparseArray([1.5])), pa.scalar("x")),
    "a null entry of a map": (pa.nulls(1, MAP), [None]),
    "a null entry of a map in a list": (pa.nulls(1, pa.list_(MAP)), [[None]]),
    "a null entry of a map in a struct": (pa.nulls(1, pa.struct({"m": MAP})), {"m": [None]}),
    "a null entry of a map in pandas": (pd.Series([None], dtype=pd.ArrowDtype(MAP)), [None]),
    "a null entry of a map in DuckDB": ("NULL::MAP(VARCHAR, INTEGER)", [None]),
    "a null where none may be": (pa.nulls(1, PLACE), {"a": None}),
    "a null where none may be, in a list": (pa.nulls(1, pa.list_(pa.field("item", pa.int8(), False))), [1, None]),
    "a null where none may be, deep": (pa.nulls(1, pa.list_(PLACE)), [{"a": 1}, {"a": None}]),
}


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_that_does_not_fit_is_refused(name, capfd):
    """Values that may crash the process are tested in a child process."""
    if "null entry" in name:
        assert child_process.run(f"from test_table_foreign import refused\nrefused({name!r})").split() == ["refused"]
    else:
        refused(name)


def refused(name):
    target, value = SCALARS[name]
    if isinstance(target, str):
        target = duckdb.sql(f"SELECT {target} AS x")
    for give in ([value], {"x": value}):
        if isinstance(give, dict) and not isinstance(target, duckdb.DuckDBPyRelation):
            continue
        with pytest.raises(DataTypeError, match="does not hold"):
            table.scatter(give, [0], target)
    print("refused")


@pytest.mark.parametrize(
    "kind, value",
    [
        (MAP, [("a", 1), ("b", None)]),
        (MAP, {"a": 1, "b": None}),
        (MAP, []),
        (pa.list_(MAP), [[("a", 1)], None, []]),
        (pa.struct({"m": MAP, "n": MAP}), {"m": [("a", 1)], "n": None}),
        (pa.list_(PLACE), [{"a": 1}, None]),
        (pa.struct([pa.field("s", PLACE)]), {"s": None}),
    ],
)
def test_nested_scalars_that_fit(kind, value):
    want = list(value.items()) if kind == MAP and isinstance(value, dict) else value
    for target in (pa.nulls(2, kind), pa.chunked_array([pa.nulls(2, kind)])):
        result = table.scatter([value], [1], target)
        assert result.type == kind and result.to_pylist() == [None, want]
    one = pa.array([want], kind)[0]
    assert table.scatter([one], [0], pa.nulls(2, kind)).to_pylist() == [want, None]


# --- types that pandas passes to pyarrow


VIEWS = {
    "string_view": pa.array(["a", None, "b"], pa.string_view()),
    "binary_view": pa.array([b"a", None, b"b"], pa.binary_view()),
    "list_view": pa.array([[1], None, [2]], pa.list_view(pa.int8())),
    "list of string_view": pa.array([["a"], None, ["b"]], pa.list_(pa.string_view())),
    "map": pa.array([[("a", 1)], None, []], MAP),
}


@pytest.mark.parametrize("few", [0, 1 << 16], ids=["many rows", "few rows"])
@pytest.mark.parametrize("name", VIEWS)
def test_types_that_pyarrow_does_not_take(name, few, monkeypatch):
    monkeypatch.setattr(of_pandas, "FEW", few)
    monkeypatch.setattr(of_pandas, "FEW_TO_MERGE", few)
    array = VIEWS[name]
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])), index=[5, 6, 7], name="x")
    a, _, b = array.to_pylist()
    for result, want, labels in (
        (table.gather(column, [2, 0]), [b, a], [7, 5]),
        (table.gather(column.to_frame(), [2, 0])["x"], [b, a], [7, 5]),
        (table.filter(column, [False, True, True]), [None, b], [6, 7]),
        (table.scatter(column, [2, 1, 0], column), [b, None, a], [5, 6, 7]),
        (table.scatter([None], [0], column), [None, None, b], [5, 6, 7]),
    ):
        assert result.dtype == column.dtype and result.index.tolist() == labels
        assert pa.array(result).to_pylist() == want
    assert pa.array(table.gather(column, [2, None], "nullify")).to_pylist() == [b, None]


# --- pandas tables with partners of other libraries


STRANGE = {
    "the same name twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "mixed objects": pd.DataFrame({"a": [1, "x"]}),
    "objects": pd.DataFrame({"a": [object()]}),
    "complex": pd.DataFrame({"a": [1j]}),
    "sparse": pd.DataFrame({"a": pd.arrays.SparseArray([0, 1])}),
    "too large": pd.DataFrame({"a": [2**70]}),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_pandas_source_that_arrow_cannot_hold(name):
    source = STRANGE[name]
    for target in (pa.table({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}), duckdb.sql("SELECT 1 AS a")):
        with pytest.raises(
            DataTypeError, match=r"table.scatter: the pandas.DataFrame cannot be turned into Arrow memory: ."
        ):
            table.scatter(source, [0], target)
    if name != "the same name twice":
        with pytest.raises(DataTypeError, match=r"the pandas.Series cannot be turned into Arrow memory: ."):
            table.scatter(source["a"], [0], pa.array([1, 2]))


def test_a_data_frame_is_no_map_and_no_mask():
    for frame in (pd.DataFrame({"a": [0, 1]}), pd.DataFrame({"a": [True, False]}), STRANGE["mixed objects"]):
        for target in (pa.array([1, 2]), pd.Series([1, 2])):
            with pytest.raises(IndexTypeError, match=r"table.gather: the map is a DataFrame, expected integers"):
                table.gather(target, frame)
            with pytest.raises(DataTypeError, match=r"table.filter: the mask is a DataFrame, expected bools"):
                table.filter(target, frame)


# --- maps that are no row numbers


PERIODS = pd.Series(pd.period_range("1970", periods=2, freq="M"))


@pytest.mark.parametrize("storage", ["int8", "period"])
def test_an_extension_type_on_integers_is_no_map(storage):
    """Its values may be bools or periods, which are no row numbers in other forms either."""
    bools = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    given = bools if storage == "int8" else pa.array(PERIODS)
    lists = pa.ListArray.from_arrays([0, 2], given)
    for call in (
        lambda: table.gather(pa.array([5, 6]), given),
        lambda: table.gather(pa.array([5, 6]), pa.chunked_array([given])),
        lambda: table.scatter(pa.array([5, 6]), given, pa.array([7, 8])),
        lambda: table.gather(pd.Series([5, 6]), given),
        lambda: table.segmented_gather(pa.array([[5, 6]]), lists),
    ):
        with pytest.raises(IndexTypeError, match=r"a map consists of integers, got .* of an extension type$"):
            call()


# --- objects that look like pyarrow scalars


class Look:
    """An object with the method of a pyarrow scalar."""

    def as_py(self):
        return 1


class Words(str):
    def as_py(self):
        return "other"


@pytest.mark.parametrize(
    "target",
    [
        pl.Series("v", [1, 2]),
        pl.Series("v", ["a", "b"]),
        pd.Series([1, 2]),
        pd.Series(["a", "b"], dtype="string"),
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype=pd.ArrowDtype(pa.int64())),
        pa.array([1, 2]),
    ],
    ids=lambda target: f"{type(target).__module__} {getattr(target, 'dtype', None)}",
)
def test_values_that_only_look_like_scalars_of_pyarrow_are_refused(target):
    with pytest.raises(DataTypeError, match=r"does not hold .*Look.* \(Look\) without a change"):
        table.scatter([Look()], [0], target)


def test_values_that_only_look_like_scalars_of_pyarrow_are_themselves():
    one, word = Look(), Words("a")
    assert table.scatter([one], [0], pd.Series([1, 2], dtype=object))[0] is one
    assert table.scatter([word], [1], pl.Series(["x", "y"])).to_list() == ["x", "a"]
    assert table.scatter([word], [1], pd.Series(["x", "y"], dtype="string")).tolist() == ["x", "a"]
    assert table.scatter([pa.scalar(7)], [1], pl.Series([1, 2])).to_list() == [1, 7]
    assert table.scatter([pa.scalar(7)], [1], pd.Series([1, 2])).tolist() == [1, 7]


# --- depth


def lists(levels, kind=None):
    """A nested type with this number of levels."""
    kind = pa.int8()
    for _ in range(levels - 1):
        kind = pa.list_(kind)
    return kind


@pytest.mark.parametrize("levels", [2, 63, 64])
def test_as_many_levels_as_are_served(levels):
    assert table.gather(pa.nulls(3, lists(levels)), [2, 0]).type == lists(levels)
    source = pa.table({"x": pa.nulls(3, lists(levels - 1))})  # a table counts as one level
    assert table.gather(source, [2, 0]).schema == source.schema


@pytest.mark.parametrize("levels", [65, 66, 500])
def test_more_levels_are_refused(levels):
    one, inner = pa.nulls(3, lists(levels)), pa.nulls(3, lists(levels - 1))
    structs = pa.StructArray.from_arrays([inner.slice(0)], ["f"])
    for source, where in (
        (one, "the column"),
        (pa.chunked_array([one]), "the column"),
        (pa.table({"y": [1] * 3, "x": inner}), "column 'x'"),
        (pa.table([[1] * 3, inner], ["y", ""]), "column 1"),
        (pa.record_batch({"\u00e4": inner}), "column '\u00e4'"),
        (structs, "column 'f'"),  # in Arrow a struct array cannot be distinguished from a table
    ):
        text = f"^table.gather: {where}: its type is nested deeper than 64 levels, which is the limit$"
        with pytest.raises(BufferError, match=text):
            table.gather(source, [0])
    with pytest.raises(BufferError, match=r"^table.gather: .* nested deeper than 64 levels"):
        table.gather(pa.array([1]), one, "nullify")


@pytest.mark.parametrize(
    "call",
    [
        lambda mock: table.gather(mock, [0]),
        lambda mock: table.gather(pa.array([1]), mock),
        lambda mock: table.filter(pa.array([1]), mock),
        lambda mock: table.segmented_gather(mock, pa.array([[0]])),
        lambda mock: table.segmented_gather(pa.array([[0]]), mock),
        lambda mock: table.scatter(mock, [0], pa.array([1])),
        lambda mock: libcudf.gather(mock, np.array([0])),
    ],
)
def test_a_mock_of_a_column_is_no_column(call):
    with pytest.raises((BufferError, TypeError), match="Mock"):
        call(Mock(spec=pa.Array))
