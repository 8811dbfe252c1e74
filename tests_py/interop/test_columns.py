"""test_columns.py: columns of pandas, polars and pyarrow as indices, masks and values of array operators."""

from unittest.mock import Mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs


class OwnSeries(pd.Series):
    """A subclass in another module than pandas, as geopandas has one."""


class OwnPolars(pl.Series):
    pass


LABELS = ["columns", "null_count", "ndim", "dtype", "type"]  # labels of rows that are attributes of a Series as well

COLUMNS = {
    "polars": lambda values: pl.Series("v", values),
    "polars chunks": lambda values: pl.concat([pl.Series("v", values[:1]), pl.Series("v", values[1:])], rechunk=False),
    "pyarrow": pa.array,
    "pyarrow slice": lambda values: pa.array([values[0], *values])[1:],
    "pyarrow chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "pandas": lambda values: pd.Series(values, index=[7] * len(values)),
    "pandas index": pd.Index,
    "pandas nullable": lambda values: pd.Series(values, dtype=NULLABLE[type(values[0])]),
    "pandas nullable array": lambda values: pd.array(values, dtype=NULLABLE[type(values[0])]),
    "pandas arrow": lambda values: pd.Series(values, dtype=ARROW[type(values[0])]),
    "pandas arrow array": lambda values: pd.array(values, dtype=ARROW[type(values[0])]),
    "pandas numpy array": lambda values: pd.Series(values).array,
    "pandas labels": lambda values: pd.Series(values, index=[*LABELS, *range(len(values))][: len(values)]),
    "pandas subclass": OwnSeries,
    "polars subclass": OwnPolars,
}
NULLABLE = {int: "Int64", float: "Float64", bool: "boolean"}
ARROW = {int: "int64[pyarrow]", float: "double[pyarrow]", bool: "bool[pyarrow]"}
INDEX, MASK, VALUES = [2, 0, 1], [True, False, True], [7.5, 8.5, 9.5]
X = np.array([1.0, 2.0, 3.0])

WITH_NULLS = {
    "polars": lambda values: pl.Series([None, *values]),
    "pyarrow": lambda values: pa.array([None, *values]),
    "pyarrow chunks": lambda values: pa.chunked_array([pa.array([None, *values])]),
    "pandas nullable": lambda values: pd.Series([None, *values], dtype=NULLABLE[type(values[0])]),
    "pandas arrow": lambda values: pd.Series([None, *values], dtype=ARROW[type(values[0])]),
    "pandas subclass": lambda values: OwnSeries([None, *values], dtype=NULLABLE[type(values[0])]),
    "polars subclass": lambda values: OwnPolars([None, *values]),
}


def written(operator, *arguments, **keywords):
    """The first argument of a call that writes in place, after the call."""
    target = X.copy()
    operator(target, *arguments, **keywords)
    return target.tolist()


def values_of_every_call(of):
    """For each argument that takes values: a call with VALUES in that argument, as the answer of an array."""
    plan = gs.plan(gs.scatter, X, 0, np.array(INDEX), X)
    reverse = gs.plan(gs.gather, X, 0, np.array(INDEX))
    points = [[i] for i in INDEX]
    return {
        "src": lambda: gs.scatter(X, 0, INDEX, of(VALUES)).tolist(),
        "src, a list of them": lambda: gs.scatter(X[None], 0, [[0, 0, 0]], [of(VALUES)]).tolist(),
        "src, added": lambda: gs.scatter(X, 0, INDEX, of(VALUES), reduce="add").tolist(),
        "updates": lambda: gs.scatter_nd(X, points, of(VALUES)).tolist(),
        "value": lambda: written(gs.tile_scatter, np.array(INDEX), of(VALUES)),
        "padding_value": lambda: gs.tile_gather(X, [9, 1, 9], padding_value=of(VALUES)).tolist(),
        "v": lambda: written(gs.put, INDEX, of(VALUES)),
        "v, repeated": lambda: written(gs.put, [0, 1, 2, 0], of(VALUES)),
        "values along": lambda: written(gs.put_along_axis, np.array(INDEX), of(VALUES), 0),
        "values": lambda: written(gs.putmask, np.array(MASK), of(VALUES)),
        "vals": lambda: written(gs.place, np.array(MASK), of(VALUES)),
        "src of a plan": lambda: plan(X, np.array(INDEX), of(VALUES)).tolist(),
        "src of a plan turned round": lambda: reverse.scatter(X, np.array(INDEX), of(VALUES)).tolist(),
    }


def indices_of_every_call(of):
    return {
        "gather": lambda: gs.gather(X, 0, of(INDEX)).tolist(),
        "gather axis": lambda: gs.gather(X, of(INDEX), axis=0).tolist(),
        "scatter": lambda: gs.scatter(X, 0, of(INDEX), np.array(VALUES)).tolist(),
        "gather_nd": lambda: float(gs.gather_nd(np.ones((3, 3, 3)), of(INDEX))),
        "tile_gather": lambda: gs.tile_gather(X, of(INDEX)).tolist(),
        "tile_gather tuple": lambda: gs.tile_gather(X, (of(INDEX),)).tolist(),
        "tile_scatter": lambda: written(gs.tile_scatter, of(INDEX), np.array(VALUES)),
        "take": lambda: gs.take(X, of(INDEX)).tolist(),
        "take axis": lambda: gs.take(X.reshape(1, 3), of(INDEX), axis=1).tolist(),
        "take_along_axis": lambda: gs.take_along_axis(X, of(INDEX), 0).tolist(),
        "put": lambda: written(gs.put, of(INDEX), np.array(VALUES)),
        "put_along_axis": lambda: written(gs.put_along_axis, of(INDEX), np.array(VALUES), 0),
        "plan": lambda: gs.plan(gs.gather, X, 0, of(INDEX))(X, of(INDEX)).tolist(),
    }


def masks_of_every_call(of):
    return {
        "gather": lambda: gs.gather(X, 0, INDEX, mask=of(MASK)).tolist(),
        "scatter": lambda: gs.scatter(X, 0, INDEX, 5.0, mask=of(MASK)).tolist(),
        "gather_nd": lambda: gs.gather_nd(X, [[i] for i in INDEX], mask=of(MASK)).tolist(),
        "tile_gather": lambda: gs.tile_gather(X, np.array(INDEX), mask=of(MASK)).tolist(),
        "tile_scatter": lambda: written(gs.tile_scatter, np.array(INDEX), 5.0, mask=of(MASK)),
        "take": lambda: gs.take(X, INDEX, mask=of(MASK)).tolist(),
        "take_along_axis": lambda: gs.take_along_axis(X, np.array(INDEX), 0, mask=of(MASK)).tolist(),
        "compress": lambda: gs.compress(of(MASK), X).tolist(),
        "put": lambda: written(gs.put, INDEX, 5.0, mask=of(MASK)),
        "putmask": lambda: written(gs.putmask, of(MASK), 5.0),
        "place": lambda: written(gs.place, of(MASK), [5.0, 6.0]),
    }


PLACES = {"values": values_of_every_call, "indices": indices_of_every_call, "masks": masks_of_every_call}
CALLS = [(place, call) for place, calls in PLACES.items() for call in calls(np.array)]


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize(("place", "call"), CALLS)
def test_a_column_is_what_its_values_are_in_an_array(place, call, kind):
    assert PLACES[place](COLUMNS[kind])[call]() == PLACES[place](np.array)[call]()


@pytest.mark.parametrize("kind", WITH_NULLS)
@pytest.mark.parametrize(("place", "call"), CALLS)
def test_nulls_are_said(place, call, kind):
    def with_null(values):
        return WITH_NULLS[kind](values[1:])

    with pytest.raises(
        ValueError, match=r"with a null, which a NumPy array cannot hold: fill or drop nulls first"
    ) as error:
        PLACES[place](with_null)[call]()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_of_another_dtype_are_refused(kind):
    with pytest.raises(TypeError, match="src has dtype int64, input has dtype float64"):
        gs.scatter(X, 0, INDEX, COLUMNS[kind]([1, 2, 3]))
    with pytest.raises(TypeError, match="index has dtype float64"):
        gs.gather(X, 0, COLUMNS[kind](VALUES))
    with pytest.raises(TypeError, match="mask"):
        gs.gather(X, 0, INDEX, mask=COLUMNS[kind](INDEX))


def test_types_that_numpy_has_not():
    with pytest.raises(TypeError, match=r"index is a polars\..*Series of Int128, which no NumPy array can hold"):
        gs.gather(X, 0, pl.Series([2**70, 1], dtype=pl.Int128))


@pytest.mark.parametrize("kind", COLUMNS)
def test_booleans_are_written(kind):
    assert gs.scatter(np.zeros(3, bool), 0, INDEX, COLUMNS[kind](MASK)).tolist() == [False, True, True]


@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if kind != "pandas numpy array"])
def test_no_error_prints_a_column(kind):
    column = COLUMNS[kind](list(range(1000)))
    boom = [
        lambda: gs.gather(X, 0, INDEX, bounds="fill", fill_value=column),
        lambda: gs.gather(X, column, axis=column),
        lambda: gs.gather(X, [0], 0, column),
        lambda: gs.gather(X, 0, INDEX, bounds=column),
        lambda: gs.gather(X, 0, INDEX, negative=column),
        lambda: gs.scatter(X, column, INDEX, 1.0),
        lambda: gs.scatter(X, 0, INDEX, [column]),
        lambda: gs.scatter(X, 0, INDEX, [1.0, column]),
        lambda: gs.scatter(X, 0, INDEX, 1.0, reduce=column),
        lambda: gs.scatter(X, 0, INDEX, 1.0, reduce="add", include_self=column),
        lambda: gs.scatter(X, 0, INDEX, 1.0, duplicates=column),
        lambda: gs.scatter(X, 0, INDEX, column, out=column),
        lambda: gs.gather_nd(X, [[0]], column),
        lambda: gs.take(X, [0], bounds=column, mode="clip"),
        lambda: gs.take(X, [0], bounds="fill", fill_value=column),
        lambda: gs.tile_gather(X, [0], check_bounds=column),
        lambda: gs.tile_gather(X, [0], latency=column),
        lambda: gs.tile_gather(np.zeros(3, "M8[s]"), [0], padding_value=column),
        lambda: gs.gather(X, 0, INDEX, out=column),
        lambda: gs.plan(column, 1),
        lambda: gs.plan(None, column),
        lambda: gs.table.gather(pa.array([1]), [0], column),
        lambda: gs.table.gather(pa.array([1]), [column]),
        lambda: gs.table.scatter([column], [0], pa.array([1])),
    ]
    for call in boom:
        with pytest.raises((TypeError, ValueError)) as error:
            call()
        assert len(str(error.value)) < 300 and "998" not in str(error.value), str(error.value)


@pytest.mark.parametrize("kind", ["polars", "pyarrow chunks", "pandas nullable", "pandas arrow"])
def test_columns_are_not_written_to(kind):
    column = COLUMNS[kind]([1.0, 2.0, 3.0])
    for call in (lambda: gs.gather(X, 0, INDEX, out=column), lambda: gs.scatter(X, 0, INDEX, 9.0, out=column)):
        with pytest.raises(TypeError, match=r"out is of type .*, expected an array"):
            call()
    for call in (
        lambda: gs.put(column, [0], 9.0),
        lambda: gs.place(column, [True, False, True], 9.0),
        lambda: gs.put_along_axis(column, np.array([0]), 9.0, 0),
    ):
        with pytest.raises(TypeError):
            call()
    labels = pd.Index([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"out is of type pandas.*Index, expected an array"):
        gs.gather(X, 0, INDEX, out=labels)
    assert list(column) == list(COLUMNS[kind]([1.0, 2.0, 3.0]))


def dictionary(values):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values))), pa.array(values))


def runs(values):
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(values) + 1), pa.int32()), pa.array(values))


DECODED = {
    "dictionary": dictionary,
    "dictionary chunks": lambda values: pa.chunked_array([dictionary(values[1:])[:0], dictionary(values)]),
    "runs": runs,
    "runs slice": lambda values: runs([values[1], *values])[1:],
    "runs chunks": lambda values: pa.chunked_array([runs(values)[:1], runs(values)[1:]]),
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
    "pandas categorical": pd.Categorical,
    "pandas categorical index": pd.CategoricalIndex,
    "pandas nullable categories": lambda values: pd.Series(values, dtype=NULLABLE[type(values[-1])]).astype("category"),
    "pandas arrow dictionary": lambda values: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([dictionary(values)]))
    ),
    "pandas arrow runs": lambda values: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([runs(values)]))),
    "pandas sparse": lambda values: pd.Series(
        pd.arrays.SparseArray([np.nan if value is None else value for value in values])
    ),
}


@pytest.mark.parametrize("kind", DECODED)
@pytest.mark.parametrize(("place", "call"), CALLS)
def test_encoded_columns_are_decoded(place, call, kind):
    assert PLACES[place](DECODED[kind])[call]() == PLACES[place](np.array)[call]()


@pytest.mark.parametrize("kind", DECODED)
@pytest.mark.parametrize(("place", "call"), CALLS)
def test_nulls_among_encoded_values_are_said(place, call, kind):
    with pytest.raises(
        ValueError, match=r"with a null, which a NumPy array cannot hold: fill or drop nulls first"
    ) as error:
        PLACES[place](lambda values: DECODED[kind]([None, *values[1:]]))[call]()
    assert kind.startswith("pandas") == ("is a pandas." in str(error.value))


@pytest.mark.parametrize(("place", "call"), CALLS)
def test_a_pandas_column_of_arrow_is_called_a_pandas_column(place, call):
    with pytest.raises(ValueError, match=r"is a pandas\.Series with a null"):
        PLACES[place](lambda values: WITH_NULLS["pandas arrow"](values[1:]))[call]()


def test_a_null_among_row_numbers_is_answered_with_the_mask():
    rows = pd.Series([1, None], dtype="Int64")
    with pytest.raises(ValueError, match=r"fill or drop nulls first; mask= leaves out points"):
        gs.gather(np.arange(3.0), rows, axis=0)
    got = gs.gather(np.arange(3.0), rows.fillna(0), axis=0, mask=rows.notna(), fill_value=np.nan)
    np.testing.assert_array_equal(got, [1.0, np.nan])


def test_none_in_a_pandas_column_of_objects_is_a_null():
    a = np.zeros(3)
    with pytest.raises(ValueError, match=r"v is a pandas\.Series with a null"):
        gs.put(a, [0, 1], pd.Series([5, None], dtype=object))
    with pytest.raises(ValueError, match=r"mask is a pandas\.Series with a null"):
        gs.putmask(a, pd.Series([True, None, False], dtype=object), 7)
    assert a.tolist() == [0, 0, 0]


def test_nan_of_numpys_dtype_is_a_value():
    values = pd.Series([5, np.nan])
    assert np.array_equal(gs.scatter(np.zeros(2), 0, [0, 1], values), values, equal_nan=True)
    assert np.array_equal(gs.scatter(np.zeros(2), 0, [0, 1], values.array), values, equal_nan=True)
    moments = pd.Series(["2020-01-01", None], dtype="M8[ns]")
    assert np.isnat(gs.scatter(np.zeros(2, "M8[ns]"), 0, [0, 1], moments)).tolist() == [False, True]


def test_polars_arrays_are_further_axes_with_nulls_of_their_own():
    points, target = [[0, 0], [1, 1]], np.zeros((3, 2), int)
    whole = pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))
    assert gs.scatter(target, 0, points, whole).tolist() == [[1, 2], [3, 4], [0, 0]]
    cubes = pl.Series([[[1], [None]], [[2], [3]]], dtype=pl.Array(pl.Int64, (2, 1)))
    for values in ([[1, None], [2, 3]], [None, [2, 3]]):
        with pytest.raises(ValueError, match=r"src is a polars\.Series with (a null|2 nulls)"):
            gs.scatter(target.astype(float), 0, points, pl.Series(values, dtype=pl.Array(pl.Int64, 2)))
    with pytest.raises(ValueError, match=r"src is a polars\.Series with a null"):
        gs.scatter(np.zeros((3, 2, 1)), 0, np.zeros((2, 2, 1), int), cubes)


NO_VALUES = {
    "polars struct": lambda: pl.Series([{"a": 1}, {"a": 2}]),
    "polars struct with a null": lambda: pl.Series([{"a": 1.0, "b": 2.0}, {"a": None, "b": 3.0}]),
    "polars array of structs": lambda: pl.Series(
        [[{"a": 1}], [{"a": 2}]], dtype=pl.Array(pl.Struct({"a": pl.Int64}), 1)
    ),
    "polars list": lambda: pl.Series([[1], [2]]),
    "polars time": lambda: pl.Series([1, 2], dtype=pl.Time),
    "polars decimal": lambda: pl.Series([1, 2], dtype=pl.Decimal(10, 0)),
    "pyarrow struct": lambda: pa.array([{"a": 1}, {"a": 2}]),
    "pyarrow list": lambda: pa.array([[1], [2]]),
    "pyarrow decimal": lambda: pa.array([1, 2]).cast(pa.decimal128(20)),
    "pandas zoned time": lambda: pd.Series(pd.date_range("2020", periods=2, tz="UTC")),
    "pandas period": lambda: pd.Series(pd.period_range("2020", periods=2)),
    "pandas interval": lambda: pd.Series(pd.interval_range(0, 2)),
    "pandas arrow list": lambda: pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
}


@pytest.mark.parametrize("kind", NO_VALUES)
def test_what_numpy_would_change_is_refused_by_name(kind):
    column, a = NO_VALUES[kind](), np.zeros(3)
    library = kind.partition(" ")[0]
    for call in (
        lambda: gs.gather(np.arange(10, 20), column, axis=0),
        lambda: gs.take(a, column),
        lambda: gs.scatter(np.zeros((3, 2)), 0, [[0, 0], [1, 1]], column),
        lambda: gs.put(a, [0, 1], column),
        lambda: gs.putmask(np.zeros(2), column, 1.0),
        lambda: gs.tile_gather(a, np.array([1, 9]), padding_value=column),
    ):
        with pytest.raises(TypeError, match=rf"is a {library}\.\w+ of .*, which no NumPy array can hold"):
            call()
    assert a.tolist() == [0, 0, 0]


def test_text_is_written_as_numpy_writes_it():
    for column in (
        pl.Series(["a", "b"]),
        pa.array(["a", "b"]),
        pd.Series(["a", "b"], dtype="string"),
        dictionary(["a", "b"]),
    ):
        a = np.zeros(2, "U3")
        gs.put(a, [1, 0], column)
        assert a.tolist() == ["b", "a"]


BYTES = pa.array([0, 1, 2], pa.int8())
BOOL8 = {
    "array": lambda: pa.ExtensionArray.from_storage(pa.bool8(), BYTES),
    "chunks": lambda: pa.chunked_array([BOOL8["array"]()]),
    "pandas": lambda: pd.Series(pd.arrays.ArrowExtensionArray(BOOL8["chunks"]())),
}


@pytest.mark.parametrize("kind", BOOL8)
def test_bool8_is_bool(kind):
    column = BOOL8[kind]()
    assert gs.gather(np.arange(1, 4), 0, [0, 1, 2], mask=column).tolist() == [0, 2, 3]
    assert gs.scatter(np.zeros(3, bool), 0, [0, 1, 2], column).view(np.uint8).tolist() == [0, 1, 1]


TABLES = {
    "pandas": lambda: pd.DataFrame({"a": [1, 2]}),
    "polars": lambda: pl.DataFrame({"a": [1, 2]}),
    "pyarrow": lambda: pa.table({"a": [1, 2]}),
    "pyarrow batch": lambda: pa.record_batch({"a": [1, 2]}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_no_values(kind):
    table, a = TABLES[kind](), np.zeros(2, int)
    for call in (
        lambda: gs.scatter(a, 0, [0, 1], table),
        lambda: gs.scatter_nd(a, [[0], [1]], table),
        lambda: gs.put(a, [0, 1], table),
        lambda: gs.putmask(a, [True, False], table),
        lambda: gs.place(a, [True, False], table),
        lambda: gs.put_along_axis(a, np.array([0, 1]), table, 0),
        lambda: gs.tile_gather(a, np.array([9]), padding_value=table),
        lambda: gs.tile_scatter(a, np.array([1]), table),
        lambda: gs.tile_gather(a, table),
        lambda: gs.put(a, table, 1),
    ):
        with pytest.raises(
            TypeError, match=r"is of type .*, expected an array; tables .* belong to gatherscatter\.table"
        ):
            call()
    assert a.tolist() == [0, 0]


@pytest.mark.parametrize("cls", [pd.Series, pd.Index, pl.Series, pa.ChunkedArray])
def test_a_mock_of_a_column_is_no_column(cls):
    mock = Mock(spec=cls)
    for call in (
        lambda: gs.gather(X, 0, mock),
        lambda: gs.gather(X, 0, [0], mask=mock),
        lambda: gs.gather_nd(X, mock),
        lambda: gs.take(X, mock),
        lambda: gs.put(X.copy(), mock, 1.0),
        lambda: gs.scatter(X, 0, [0], mock),
    ):
        with pytest.raises(TypeError, match=r"Mock"):
            call()
