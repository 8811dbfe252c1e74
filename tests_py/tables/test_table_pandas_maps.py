"""test_table_pandas_maps.py: rows of pandas that are taken and written by a map of NumPy: labels, values, errors."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import table
from gatherscatter._table import of_pandas, pandas_maps
from gatherscatter.errors import InvalidArgument

assert_frame, assert_series = pd.testing.assert_frame_equal, pd.testing.assert_series_equal


@pytest.fixture(params=["few rows", "many rows"], autouse=True)
def both_ways(request, monkeypatch):
    if request.param == "many rows":
        monkeypatch.setattr(of_pandas, "FEW", 0)


COLUMNS = {
    **{name: pd.Series([1, 0, 3, 100], dtype=name) for name in ("int8", "uint64", "float32", "complex64")},
    "bool": pd.Series([True, False, True, True]),
    "times": pd.Series(np.array(["2020", "NaT", "1900", "2100"], "M8[ns]")),
    "durations": pd.Series(np.array([1, "NaT", -3, 4], "m8[us]")),
    "zoned": pd.Series(pd.to_datetime(["2020", None, "1900", "2100"], utc=True)).dt.tz_convert("Europe/Paris"),
    "period": pd.Series(pd.PeriodIndex(["2020-01", None, "2020-03", "2021-01"], freq="M")),
    "interval": pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2), (2, 3), (5, 9)])),
    "object": pd.Series([[1], None, "text", 4], dtype=object),
    "texts": pd.Series(["a", None, "", "a longer text, out of line"]),
    "string[python]": pd.Series(["a", None, "", "b"], dtype="string[python]"),
    "Int64": pd.Series([1, None, 3, 4], dtype="Int64"),
    "Float32": pd.Series([1.5, None, 3, 4], dtype="Float32"),
    "UInt8": pd.Series([200, None, 3, 4], dtype="UInt8"),
    "reversed": pd.Series([1, None, 3, 4], dtype="Int16").iloc[::-1].reset_index(drop=True),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "many categories": pd.Series(pd.Categorical.from_codes([299, -1, 0, 3], range(300))),
    "category": pd.Series(["x", None, "y", "x"], dtype=pd.CategoricalDtype(["y", "x", "unused"])),
    "ordered": pd.Series(["x", None, "y", "x"], dtype=pd.CategoricalDtype(["y", "x"], ordered=True)),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 0, 3, 4])),
    "arrow": pd.Series([1, None, 3, 4], dtype=pd.ArrowDtype(pa.int64())),
}


@pytest.mark.parametrize(
    "index",
    [
        None,
        pd.RangeIndex(5, 45, 10),
        pd.RangeIndex(3, -1, -1),
        pd.Index([4, 4, 1, 9], name="i"),
        pd.Index([0.5, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize(
    "rows", [[], [2], [-1], [1, 3], [3, 2, 1], [0, 2, 3], [0, 2, 2], [1, 1, 1], [0, -1, 2], [-4, -2]]
)
def test_labels_of_rows_are_those_of_take(index, rows):
    source = pd.Series([1.5, 2.5, 3.5, 4.5], index=index)
    rows = np.array(rows, np.intp)
    got, want = table.gather(source, rows), source.take(rows)
    assert_series(got, want, check_index_type="exact")
    assert_frame(table.gather(source.to_frame("a"), rows), source.to_frame("a").take(rows))
    rows[:] = 0  # the result does not share memory with the map
    assert_series(got, want)


@pytest.mark.parametrize("name", COLUMNS)
def test_gather_by_an_array_is_take(name):
    source = COLUMNS[name].set_axis([7, 5, 3, 1])
    frame = source.to_frame("a").assign(b=[1.5, 2.5, 3.5, 4.5])
    before, frame_before = source.copy(), frame.copy()
    for rows in ([], [1], [-1, 0], [3, 1, 2], [1, 1, 1, 1, 1], [0, -4, 0]):
        rows = np.array(rows, np.intp)
        got, want = table.gather(source, rows), source.take(rows)
        assert_series(got, want)
        assert type(got.array) is type(want.array)
        for part in pandas_maps.parts_of(got.array) or ():
            assert not any(np.shares_memory(part, mine) for mine in pandas_maps.parts_of(source.array))
        assert_frame(table.gather(frame, rows), frame.take(rows))
        if name not in ("sparse", "interval") and len(rows):  # which cannot be written to, or not by themselves
            got.iloc[0] = source.iloc[2]
    assert_series(source, before)
    assert_frame(frame, frame_before)
    for bad in (4, -5):
        with pytest.raises(gs.OutOfBoundsError, match=rf"index {bad} is out .*table\.gather") as caught:
            table.gather(source, np.array([0, bad]))
        assert caught.value.position == (1,)


@pytest.mark.parametrize("name", ["object", "sparse", "interval", "string[python]"])
def test_no_column_is_taken_by_the_map_where_another_one_cannot_be(name, monkeypatch):
    monkeypatch.setattr(of_pandas, "rows_at", lambda *_: pytest.fail("a column was taken in vain"))
    frame = COLUMNS["float32"].to_frame("a").assign(b=COLUMNS[name])
    rows = np.array([2, 0], np.intp)
    assert_frame(table.gather(frame, rows), frame.take(rows))


@pytest.mark.parametrize("name", COLUMNS)
def test_scatter_by_an_array_is_assignment(name):
    target = COLUMNS[name]
    source = target.iloc[[2, 0, 3]].reset_index(drop=True)
    before, new = target.copy(), list(source)
    for rows in ([], [1], [-1, 0], [3, 1, 2], [1, 1, 1], [0, -4, 0]):
        values = list(target)
        for at, row in enumerate(rows):
            values[row] = new[at]
        some = source[: len(rows)]
        got = table.scatter(some, np.array(rows, np.intp), target)
        assert_series(got, table.scatter(some, rows, target))
        assert got.dtype == target.dtype and repr(list(got)) == repr(values)
        frame = table.scatter(some.to_frame(), np.array(rows, np.intp), target.to_frame())
        assert_frame(frame, got.to_frame())
        assert_series(target, before)
    for bad in (4, -5):
        with pytest.raises(gs.OutOfBoundsError, match=rf"index {bad} is out .*table\.scatter") as caught:
            table.scatter(source[:2], np.array([0, bad]), target)
        assert caught.value.position == (1,)
        assert_series(target, before)
    with pytest.raises(InvalidArgument, match="4 rows"):
        table.scatter(source, np.arange(4), target)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("negative", ["from_end", "out_of_bounds"])
def test_scatter_leaves_rows_out_that_are_not_found(name, negative):
    target = COLUMNS[name]
    source, before = target.iloc[[2, 0, 3]].reset_index(drop=True), target.copy()
    new = list(source)
    for rows in ([], [1], [-1, 0], [3, -1, 2], [-1, -9, 7], [0, -4, 0], [4, 4, 1]):
        values = list(target)
        for at, row in enumerate(rows):
            if (0 if negative == "out_of_bounds" else -4) <= row < 4:
                values[row] = new[at]
        for given in (np.array(rows, np.intp), pd.Index(rows, dtype=int), rows):
            got = table.scatter(source[: len(rows)], given, target, bounds="drop", negative=negative)
            assert got.dtype == target.dtype and repr(list(got)) == repr(values)
        frame = table.scatter(source[: len(rows)].to_frame(), rows, target.to_frame(), bounds="drop", negative=negative)
        assert_frame(frame, got.to_frame())
        assert_series(target, before)


def test_categories_in_another_order_are_matched_by_value():
    target = pd.Series(["x", "y", "x"], dtype=pd.CategoricalDtype(["x", "y"]))
    source = pd.Series(["x", "y"], dtype=pd.CategoricalDtype(["y", "x"]))
    assert target.dtype == source.dtype
    got = table.scatter(source, np.array([1, 2]), target)
    assert got.tolist() == ["x", "x", "y"] and got.cat.categories.tolist() == ["x", "y"]
