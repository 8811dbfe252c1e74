"""test_table_categories.py: a pandas target keeps its categories: other values are rejected, and none are added."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gatherscatter import table
from gatherscatter._table import of_pandas
from gatherscatter.compat import libcudf
from gatherscatter.errors import DataTypeError


@pytest.fixture(params=["few rows", "many rows"], autouse=True)
def both_ways(request, monkeypatch):
    if request.param == "many rows":
        monkeypatch.setattr(of_pandas, "FEW", 0)
        monkeypatch.setattr(of_pandas, "FEW_TO_MERGE", 0)


def dtype(*categories, ordered=False):
    return pd.CategoricalDtype(list(categories), ordered)


TARGET = pd.Series(["x", "y", None], dtype=dtype("y", "z", "x"), name="c")
ORDERED = TARGET.astype(dtype("y", "z", "x", ordered=True))


def written(source, target):
    """The results of writing one value over the first row by each operator, into a Series and a DataFrame."""
    yield table.scatter(source, [0], target)
    yield table.boolean_mask_scatter(source, target, [True, False, False])
    if isinstance(source, pd.Series):
        yield table.copy_if_else(target, source.take([0, 0, 0]).set_axis(target.index), [False, True, True])
        yield table.scatter(source.to_frame("c"), [0], target.to_frame())["c"]


@pytest.mark.parametrize("target", [TARGET, ORDERED])
@pytest.mark.parametrize("used", ["y", "z", None])
def test_the_categories_of_the_target_stay(target, used):
    ordered = target.cat.ordered
    same = pd.Series([used], dtype=target.dtype)
    more = pd.Series([used], dtype=dtype("p", "y", "q", "z", ordered=ordered))
    fewer = pd.Series([used], dtype=target.dtype).cat.remove_unused_categories()
    sources = [same, more, fewer, [used], pa.scalar(used, pa.string())]
    if not ordered:
        sources.append(pd.Series([used], dtype=dtype("x", "z", "y")))
    for source in sources:
        for result in written(source, target):
            assert result.dtype == target.dtype
            assert result.cat.categories.tolist() == ["y", "z", "x"]
            assert result.iloc[0] == used or (used is None and pd.isna(result.iloc[0]))
            assert result.iloc[1] == "y" and pd.isna(result.iloc[2])


@pytest.mark.parametrize("target", [TARGET, ORDERED])
def test_a_value_that_is_no_category_is_refused(target):
    before = target.copy()
    for source in (pd.Series(["new"], dtype=dtype("new", "y", ordered=target.cat.ordered)), ["new"], [5], [True]):
        with pytest.raises(DataTypeError, match=r"no category 'new' in|does not hold .* cat\.add_categories"):
            list(written(source, target))
    with pytest.raises(DataTypeError, match="column 'c' has no category 'new' in lhs: add it there first"):
        other = pd.DataFrame({"c": pd.Series(["new", "x", "x"], dtype=dtype("new", "x", ordered=target.cat.ordered))})
        table.copy_if_else(target.to_frame(), other, [True] * 3)
    pd.testing.assert_series_equal(target, before)


@pytest.mark.parametrize(
    "source, text",
    [
        (pd.Series(["y"], dtype=dtype("y", "x")), "has ordered categories on one side only"),
        (pd.Series(["x", "y"], dtype=dtype("x", "y", ordered=True)), "has categories in another order"),
        (pd.Series([1], dtype=dtype(1, 2, ordered=True)), "has categories of str and of int64"),
        (pd.Series(["y"]), "is of category in the target, str in the source"),
    ],
)
def test_columns_that_are_no_such_categories(source, text):
    with pytest.raises(DataTypeError, match=text):
        table.scatter(source, range(len(source)), ORDERED)


def test_a_source_without_a_value_has_no_categories_that_matter():
    for kind in (dtype(), dtype(1, 2), dtype("new")):
        assert table.scatter(pd.Series([None], dtype=kind), [0], TARGET).isna().tolist() == [True, False, True]


def test_categories_of_times_and_intervals():
    days = pd.Series(pd.date_range("2020", periods=2)).astype("category")
    bins = pd.Series(pd.cut([0.5, 1.5], [0, 1, 2]))
    for target, value, lookalike in ((days, days[1], "2020-01-02"), (bins, bins[1], 1.5)):
        assert table.scatter([value], [0], target).tolist() == [value, value]
        with pytest.raises(DataTypeError):
            table.scatter([lookalike], [0], target)


def test_dictionaries_of_arrow_are_united_in_pandas_too():
    values = pa.chunked_array([pa.array(["x", "y"]).dictionary_encode()])
    target = pd.Series(pd.arrays.ArrowExtensionArray(values))
    assert table.scatter(["new"], [0], target).tolist() == ["new", "y"]


def test_polars_has_open_categories_and_closed_enums():
    open_ones = pl.Series("c", ["x", "y"], dtype=pl.Categorical)
    assert table.scatter(["new"], [0], open_ones).to_list() == ["new", "y"]
    closed = pl.Series("c", ["x", "y"], dtype=pl.Enum(["y", "x"]))
    with pytest.raises(DataTypeError, match="does not hold 'new'"):
        table.scatter(["new"], [0], closed)


@pytest.mark.parametrize("call", ["scatter", "copy_if_else"])
def test_types_of_wide_frames_are_compared_in_linear_time(call, monkeypatch):
    asked = {"columns": 0, "dtypes": 0}
    for name in asked:
        plain = getattr(of_pandas.DataFrameFrame, name)

        def counted(self, name=name, plain=plain):
            asked[name] += 1
            return plain(self)

        monkeypatch.setattr(of_pandas.DataFrameFrame, name, counted)

    def answer(width):
        target = pd.DataFrame({f"c{k}": pd.Categorical(["a", "b"]) for k in range(width)})
        source = pd.DataFrame({f"c{k}": pd.Categorical(["b", "b"], ["b"]) for k in range(width)})
        for name in asked:
            asked[name] = 0
        if call == "scatter":
            result = table.scatter(source, [1, 0], target)
        else:
            result = table.copy_if_else(target, source, [False, False])
        assert (result == "b").all(axis=None)
        return dict(asked)

    assert answer(50) == answer(1)


def test_rows_that_are_not_used_may_have_any_category():
    target, source = pd.Series(pd.Categorical(["a", "b"])), pd.Series(pd.Categorical(["a", "q"]))
    for shape in (lambda column: column, lambda column: pd.DataFrame({"c": column})):
        old, new = shape(target), shape(source)
        for call in (
            lambda old=old, new=new: table.scatter(new[:1], [1], old),
            lambda old=old, new=new: libcudf.scatter(new, np.array([1]), old),
            lambda old=old, new=new: table.boolean_mask_scatter(new, old, [False, True]),
        ):
            result = call()
            result = result if isinstance(result, pd.Series) else result["c"]
            assert result.tolist() == ["a", "a"] and result.dtype == target.dtype
        for call in (
            lambda old=old, new=new: table.scatter(new, [1, 0], old),
            lambda old=old, new=new: table.boolean_mask_scatter(new, old, [True, True]),
            lambda old=old, new=new: table.copy_if_else(old, new, [True, False]),
        ):
            with pytest.raises(DataTypeError, match="no category 'q' in"):
                call()
        assert old.equals(shape(pd.Series(pd.Categorical(["a", "b"]))))


def test_categories_of_intervals_that_overlap():
    intervals = [pd.Interval(0, 2), pd.Interval(1, 3)]
    target = pd.Series(pd.Categorical(intervals))
    source = pd.Series(pd.Categorical(intervals[1:]))
    assert table.scatter(source, [0], target).tolist() == [intervals[1]] * 2
    with pytest.raises(DataTypeError, match="no category"):
        table.scatter(pd.Series(pd.Categorical([pd.Interval(0, 3)])), [0], target)
