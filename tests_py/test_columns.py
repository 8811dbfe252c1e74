"""test_columns.py: columns of pandas, polars and pyarrow in the place of arrays: as indices, masks and values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs


class OwnSeries(pd.Series):
    """As geopandas and others have one: of a module of its own."""


class OwnPolars(pl.Series):
    pass


LABELS = ["columns", "null_count", "ndim", "dtype", "type"]  # which pandas also gives as attributes

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
    """What a call in place leaves in its first argument."""
    target = X.copy()
    operator(target, *arguments, **keywords)
    return target.tolist()


def values_of_every_call(of):
    """Name of the argument: a call that takes it, and its answer with VALUES in an array."""
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

    with pytest.raises(ValueError, match=r"with a null, which no array holds: fill or drop them first") as error:
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
    with pytest.raises(TypeError, match=r"index is a polars\..*Series of Int128, which no array holds"):
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
