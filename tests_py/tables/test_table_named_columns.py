"""test_table_named_columns.py: scatters with partial=True, which change the columns that the values name alone."""

import datetime
import importlib

import numpy as np
import pytest

import gatherscatter as gs

COLUMNS = {"k": [1, 2, 3, 4], "v": [1.5, 2.5, None, 4.5], "name": ["a", "b", None, "dd"]}


def of_pyarrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


def of_chunks(columns):
    table = of_pyarrow(columns)
    return importlib.import_module("pyarrow").concat_tables([table.slice(0, 1), table.slice(1)])


def of_batch(columns):
    return of_pyarrow(columns).to_batches()[0]


def of_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def of_lazy(columns):
    return of_polars(columns).lazy()


def of_pandas(columns):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(columns, index=[f"r{i}" for i in range(len(columns["k"]))])


def of_duckdb(columns):
    return pytest.importorskip("duckdb").from_arrow(of_pyarrow(columns))


def of_narwhals(columns):
    return pytest.importorskip("narwhals").from_native(of_polars(columns))


def of_others(columns):
    return gs._core.ArrowTable(of_pyarrow(columns))


KINDS = [of_pyarrow, of_chunks, of_batch, of_polars, of_lazy, of_pandas, of_duckdb, of_narwhals, of_others]
EVERY = pytest.mark.parametrize("make", KINDS)


def columns_of(table):
    """The columns of a table of any library as lists, with None for nulls."""
    table = table.collect() if hasattr(table, "collect") else table
    if hasattr(table, "iloc"):
        return {name: [None if value != value else value for value in table[name].tolist()] for name in table.columns}
    if hasattr(table, "to_dict"):
        return table.to_dict(as_series=False)
    return importlib.import_module("pyarrow").table(table).to_pydict()


@EVERY
def test_scalars_change_the_named_columns_alone(make):
    target = make(COLUMNS)
    result = gs.table.scatter({"v": 0.0}, [1, -1], target, partial=True)
    assert type(result) is type(target)
    assert columns_of(result) == COLUMNS | {"v": [1.5, 0.0, None, 0.0]}
    both = gs.table.scatter({"name": None, "k": 9}, [0], target, partial=True)  # in any order
    assert columns_of(both) == COLUMNS | {"k": [9, 2, 3, 4], "name": [None, "b", None, "dd"]}
    assert columns_of(target) == COLUMNS


@EVERY
def test_a_mask_changes_the_named_columns_alone(make):
    result = gs.table.boolean_mask_scatter({"name": "?"}, make(COLUMNS), [False, None, True, False], partial=True)
    assert columns_of(result) == COLUMNS | {"name": ["a", "b", "?", "dd"]}


@EVERY
def test_a_table_of_some_columns(make):
    target = make(COLUMNS)
    part = make({"v": [8.0, 9.0], "k": [80, 90]})
    part = part.collect() if make is of_lazy else part
    result = gs.table.scatter(part, [3, 0], target, partial=True)
    assert columns_of(result) == COLUMNS | {"v": [9.0, 2.5, None, 8.0], "k": [90, 2, 3, 80]}


@EVERY
def test_all_names_are_a_scatter(make):
    everything = {"k": 9, "v": 0.5, "name": "z"}
    some = gs.table.scatter(everything, [2], make(COLUMNS), partial=True)
    assert columns_of(some) == columns_of(gs.table.scatter(everything, [2], make(COLUMNS)))


@pytest.mark.parametrize("make", [make for make in KINDS if make is not of_lazy])
def test_errors_name_the_columns_and_the_step(make):
    target = make(COLUMNS)
    with pytest.raises(gs.errors.InvalidArgument, match=r"lacks \['k', 'name'\]; partial=True"):
        gs.table.scatter({"v": 0.0}, [1], target)
    part = make({"v": [8.0, 9.0], "k": [80, 90]})
    rows_of_some = r"the target has 3 columns, the source has 2; partial=True changes the named columns alone$"
    with pytest.raises(gs.errors.InvalidArgument, match=rows_of_some):
        gs.table.scatter(part, [3, 0], target)
    with pytest.raises(gs.errors.InvalidArgument, match="has 2; partial=True"):
        gs.table.boolean_mask_scatter(part, target, [True, False, True, False])
    with pytest.raises(gs.errors.InvalidArgument, match=r"the source has 2$"):  # which has a column of its own
        gs.table.scatter(make({"k": [8], "w": [9]}), [1], target)
    with pytest.raises(gs.errors.InvalidArgument, match=r"has \['w'\], which the target does not have"):
        gs.table.scatter({"w": 0.0}, [1], target, partial=True)
    with pytest.raises(gs.errors.InvalidArgument, match="names no column"):
        gs.table.scatter({}, [1], target, partial=True)
    with pytest.raises(gs.errors.InvalidArgument, match="dict of scalars or a table"):
        gs.table.scatter([1, 2, 3], [1], target, partial=True)
    with pytest.raises(gs.errors.DataTypeError):
        gs.table.scatter({"k": 1.5}, [1], target, partial=True)
    with pytest.raises(gs.OutOfBoundsError):
        gs.table.scatter({"k": 1}, [4], target, partial=True)
    assert columns_of(target) == COLUMNS


def test_a_column_has_no_parts():
    pd = pytest.importorskip("pandas")
    with pytest.raises(gs.errors.InvalidArgument, match="target is one column"):
        gs.table.scatter({"v": 0}, [0], pd.Series([1, 2], name="v"), partial=True)


def test_pandas_keeps_labels_dtypes_and_its_other_columns():
    pd = pytest.importorskip("pandas")
    target = of_pandas(COLUMNS).astype({"name": "category", "k": "Int8"})
    target.attrs["source"] = "x"
    result = gs.table.scatter({"k": 7}, [0], target, partial=True)
    assert result.index.equals(target.index) and result.dtypes.equals(target.dtypes) and result.attrs == target.attrs
    result.loc["r0", "v"] = -1.0  # a write to the result does not reach the target
    assert target["v"].tolist()[0] == 1.5
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(gs.errors.InvalidArgument, match="twice"):
        gs.table.scatter({"a": 0}, [0], twice, partial=True)


def test_partitions_of_dask():
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    target = of_pandas(COLUMNS)
    lazy = frames.from_pandas(target, npartitions=2)
    result = gs.table.scatter({"k": 9}, [3, 0], lazy, partial=True).compute()
    assert result["k"].tolist() == [9, 2, 3, 9] and result["v"].equals(target["v"])
    masked = gs.table.boolean_mask_scatter({"k": 9}, lazy, [False, True, True, False], partial=True).compute()
    assert masked["k"].tolist() == [1, 9, 9, 4]
    rows = gs.table.scatter(of_pandas({"k": [8, 7]}), [3, 0], lazy, partial=True).compute()
    assert rows["k"].tolist() == [7, 2, 3, 8]


def test_partial_is_a_bool():
    target = pytest.importorskip("pyarrow").table({"v": [1, 2], "w": [3, 4]})
    for call in (
        lambda: gs.table.scatter({"v": 0}, [0], target, partial="no"),
        lambda: gs.table.boolean_mask_scatter({"v": 0}, target, [True, False], partial=1),
    ):
        with pytest.raises(TypeError, match=r"partial is .*, expected a bool"):
            call()
    assert gs.table.scatter({"v": 0}, [0], target, partial=np.True_)["v"].to_pylist() == [0, 2]
    with pytest.raises(ValueError, match="partial=True"):
        gs.table.scatter({"v": 0}, [0], target, partial=np.False_)


class Records:
    """Records whose slice has an offset of its own, not of its columns, as Arrow's C interface allows."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__()


def test_records_with_an_offset():
    pa = pytest.importorskip("pyarrow")
    columns = [pa.array([None, 1, 2, 3, 4]), pa.array(["v", "w", "x", None, "z"])]
    target = Records(pa.StructArray.from_arrays(columns, names=["a", "b"]).slice(1, 3))
    found = gs.table.scatter({"a": 9}, [0, -1], target, partial=True)
    assert pa.record_batch(found).to_pydict() == {"a": [9, 2, 9], "b": ["w", "x", None]}
    found = gs.table.scatter({"b": None}, [1], target, partial=True)
    assert pa.record_batch(found).to_pydict() == {"a": [1, 2, 3], "b": ["w", None, None]}


def test_records_that_end_before_their_columns():
    pa = pytest.importorskip("pyarrow")
    columns = [pa.array([0, 1, 2, 3, 4]), pa.array(["v", "w", "x", None, "z"])]
    assert columns[1].null_count == 1  # asked for here, so that the count is exported
    target = Records(pa.StructArray.from_arrays(columns, names=["a", "b"]).slice(0, 3))
    found = pa.record_batch(gs.table.scatter({"a": 9}, [0, -1], target, partial=True))
    found.validate(full=True)
    assert found.to_pydict() == {"a": [9, 1, 9], "b": ["v", "w", "x"]}
    assert found.column("b").null_count == 0


def test_columns_of_objects_stay_columns_of_objects():
    """An array of text or times that is set in a frame becomes a column of text or times in pandas 3."""
    pd = pytest.importorskip("pandas")
    when = datetime.datetime(2020, 1, 1)
    values = {"text": ["a", "b"], "time": [when, when], "span": [when - when, when - when], "number": [1, 2]}
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in values.items()})
    for name, column in values.items():
        results = [
            gs.table.scatter({name: column[0]}, [1], frame, partial=True),
            gs.table.scatter(frame[[name]], [1, 0], frame, partial=True),
            gs.table.boolean_mask_scatter({name: column[0]}, frame, [True, False], partial=True),
            gs.table.gather(frame, [0, 2], "nullify", fill_value={name: column[1]}),
            gs.table.gather(frame.iloc[:0], [2], "nullify", fill_value={name: column[1]}),
        ]
        for result in results:
            assert result[name].dtype == object
            assert all(type(value) is type(column[0]) for value in result[name])
