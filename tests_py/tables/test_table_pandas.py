"""test_table_pandas.py: results equal pandas' take, reindex and assignment: dtypes, labels, attributes, subclasses."""

import gc
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
from gatherscatter import table
from gatherscatter._table import of_pandas
from gatherscatter.errors import DataTypeError, InvalidArgument

assert_frame, assert_series = pd.testing.assert_frame_equal, pd.testing.assert_series_equal


@pytest.fixture(params=["few rows", "many rows"], autouse=True)
def both_ways(request, monkeypatch):
    """Every test runs twice: with pandas' own take, as for small tables, and column by column, as for large ones."""
    if request.param == "many rows":
        monkeypatch.setattr(of_pandas, "FEW", 0)
        monkeypatch.setattr(of_pandas, "FEW_TO_MERGE", 0)


NUMPY = {
    **{name: pd.Series([1, 0, 3, 100], dtype=name) for name in ("int8", "uint16", "int32", "int64", "uint64")},
    **{name: pd.Series([1.5, np.nan, -0.0, np.inf], dtype=name) for name in ("float16", "float32", "float64")},
    "longdouble": pd.Series(np.array([1.5, np.nan, 3, 4], np.longdouble)),
    "complex64": pd.Series([1j, 2, np.nan, 4], dtype="complex64"),
    "bool": pd.Series([True, False, True, True]),
    "datetime64[s]": pd.Series(np.array(["2020", "NaT", "1900", "2500"], "M8[s]")),
    "datetime64[ns]": pd.Series(np.array(["2020", "NaT", "1900", "2100"], "M8[ns]")),
    "timedelta64[us]": pd.Series(np.array([1, "NaT", -3, 4], "m8[us]")),
}
OTHER = {
    "object": pd.Series([[1], None, "text", pd.Timestamp(0)], dtype=object),
    "object of texts": pd.Series(["a", "b", None, np.nan], dtype=object),
    "object of times": pd.Series([pd.Timestamp(i) for i in range(4)], dtype=object),
    "str": pd.Series(["a", None, "", "a longer text, out of line"]),
    "string[python]": pd.Series(["a", None, "", "b"], dtype="string[python]"),
    "string[pyarrow]": pd.Series(["a", None, "", "b"], dtype="string[pyarrow]"),
    "str, chunks": pd.concat([pd.Series(["a", None]), pd.Series(["", "b"])], ignore_index=True),
    "Int64": pd.Series([1, None, 3, 4], dtype="Int64"),
    "UInt8": pd.Series([1, None, 3, 4], dtype="UInt8"),
    "Float32": pd.Series([1.5, None, 3, 4], dtype="Float32"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "category": pd.Series(["x", None, "y", "x"], dtype=pd.CategoricalDtype(["y", "x", "unused"])),
    "ordered": pd.Series(["x", None, "y", "x"], dtype=pd.CategoricalDtype(["y", "x"], ordered=True)),
    "category of integers": pd.Series([3, 1, 3, 2], dtype="category"),
    "zoned": pd.Series(pd.to_datetime(["2020", None, "1900", "2100"], utc=True)).dt.tz_convert("Europe/Paris"),
    "period": pd.Series(pd.PeriodIndex(["2020-01", None, "2020-03", "2021-01"], freq="M")),
    "interval": pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2), (2, 3), (5, 9)])),
    "interval of floats": pd.Series(pd.arrays.IntervalArray.from_tuples([(0.5, 1), None, (2, 3), (5, 9)])),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 0, 3, 4])),
    "sparse floats": pd.Series(pd.arrays.SparseArray([np.nan, 2.5, np.nan, 1.0])),
    "arrow int64": pd.Series([1, None, 3, 4], dtype="int64[pyarrow]"),
    "arrow string": pd.Series(["a", None, "", "b"], dtype=pd.ArrowDtype(pa.string())),
    "arrow list": pd.Series([[1], None, [], [2, 3]], dtype=pd.ArrowDtype(pa.list_(pa.int8()))),
    "arrow struct": pd.Series(
        [{"a": 1}, None, {"a": None}, {"a": 4}], dtype=pd.ArrowDtype(pa.struct({"a": pa.int8()}))
    ),
    "arrow dictionary": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(["x", None, "y", "x"]).dictionary_encode()]))
    ),
    "arrow zoned": pd.Series(pd.to_datetime(["2020", None, "1900", "2100"], utc=True)).astype(
        pd.ArrowDtype(pa.timestamp("ms", "UTC"))
    ),
    "arrow decimal": pd.Series([1, None, 3, 4], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
}
COLUMNS = {name: series.rename("c") for name, series in (NUMPY | OTHER).items()}
INDEXES = {
    "range": pd.RangeIndex(10, 50, 10, name="r"),
    "integers": pd.Index([7, 7, 5, 6]),
    "texts": pd.Index(["a", "b", "b", "d"], name="t"),
    "objects": pd.Index([(1, 2), "x", None, 4], dtype=object, tupleize_cols=False),
    "bools": pd.Index([True, False, True, True]),
    "times": pd.date_range("2020", periods=4, name="day"),
    "zoned": pd.date_range("2020", periods=4, tz="Asia/Tokyo"),
    "periods": pd.period_range("2020", periods=4, freq="M"),
    "intervals": pd.interval_range(0, 4),
    "categories": pd.CategoricalIndex(["x", "y", "x", "y"]),
    "nullable": pd.Index([1, None, 3, 4], dtype="Int64"),
    "levels": pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a"), (3, "z")], names=["n", "s"]),
}
ROWS = [2, 0, -1, 0, 1]


@pytest.mark.parametrize("name", COLUMNS)
def test_gather_is_take(name):
    series = COLUMNS[name]
    want = series.take(ROWS)
    assert_series(table.gather(series, ROWS), want)
    got = table.gather(series, ROWS, "nullify", negative="from_end")
    assert_series(got, want)  # no row is missing, so the dtype does not change
    frame = series.to_frame()
    assert_frame(table.gather(frame, ROWS), frame.take(ROWS))
    assert_series(table.gather(series, []), series.take([]))
    assert_series(table.filter(series, [False, True, False, True]), series.take([1, 3]))


@pytest.mark.parametrize("name", COLUMNS)
def test_missing_rows_are_those_of_reindex(name):
    series = COLUMNS[name]
    want = series.reindex([2, 9, 0, 9])
    got = table.gather(series, [2, 4, 0, None], "nullify")
    assert_series(got.reset_index(drop=True), want.reset_index(drop=True))
    assert got.index.tolist()[::2] == [2, 0]
    assert got.index.isna().tolist() == [False, True, False, True]
    frame = table.gather(series.to_frame(), [2, 4, 0, None], "nullify")
    assert_frame(frame, got.to_frame())
    empty = series.iloc[:0]
    assert_series(
        table.gather(empty, [0, 1], "nullify").reset_index(drop=True), empty.reindex([8, 9]).reset_index(drop=True)
    )


@pytest.mark.parametrize("name", INDEXES)
def test_indexes(name):
    index = INDEXES[name]
    frame = pd.DataFrame({"v": [1.5, 2.5, 3.5, 4.5], "w": ["a", "b", "c", "d"]}, index=index)
    assert_frame(table.gather(frame, ROWS), frame.take(ROWS))
    assert_series(table.gather(frame["v"], ROWS), frame["v"].take(ROWS))
    assert_frame(table.filter(frame, [True, False, True, False]), frame.iloc[[0, 2]])
    missing = table.gather(frame, [3, None, 0], "nullify")
    assert missing.index.names == index.names
    assert type(missing.index) is type(index) or type(missing.index) is pd.Index
    if name == "levels":
        assert missing.index.tolist()[::2] == [(3, "z"), (1, "a")]
        assert all(pd.isna(label) for label in missing.index[1])
    else:
        assert missing.index[[0, 2]].tolist() == index[[3, 0]].tolist()
        assert missing.index.isna().tolist()[1]
    assert table.scatter([0.5, "z"], [1], frame).index.identical(index)


MIXED = pd.DataFrame({name.replace(" ", "_"): series for name, series in COLUMNS.items()})


def test_all_dtypes_in_one_frame():
    assert_frame(table.gather(MIXED, ROWS), MIXED.take(ROWS))
    want = MIXED.reindex([2, 9, 0]).reset_index(drop=True)
    assert_frame(table.gather(MIXED, [2, 9, 0], "nullify").reset_index(drop=True), want)


def test_columns_of_all_kinds():
    values = [[1, 2.5, "a", 4], [5, 6.5, "b", 8]]
    for columns in (
        pd.Index(["x", "x", "y", "x"]),
        pd.MultiIndex.from_product([["p", "q"], [1, 2]], names=["u", None]),
        pd.Index([3, 1, 2, 0], name="numbers"),
        pd.date_range("2020", periods=4),
        pd.CategoricalIndex(["a", "b", "c", "d"]),
    ):
        frame = pd.DataFrame({i: list(c) for i, c in enumerate(zip(*values, strict=True))})
        frame.columns = columns
        assert_frame(table.gather(frame, [1, 1, 0]), frame.take([1, 1, 0]))
        want = pd.concat([frame.iloc[[1]], frame.iloc[[1]]]).set_axis(frame.index)
        assert_frame(table.scatter(frame.iloc[[1]], [0], frame), want)
        nullified = table.gather(frame, [0, None], "nullify")
        assert nullified.columns.identical(columns)
        assert nullified.iloc[1].isna().all()


def test_no_columns_and_no_rows():
    frame = pd.DataFrame(index=pd.Index(["a", "b"], name="k"))
    assert_frame(table.gather(frame, [1, 1, 0]), frame.take([1, 1, 0]))
    assert len(table.gather(frame, [1, None], "nullify")) == 2
    assert_frame(table.scatter(frame, [1, 0], frame), frame)
    assert_frame(table.scatter([], [1], frame), frame)
    empty = MIXED.iloc[:0]
    assert_frame(table.gather(empty, []), empty)
    assert_frame(table.scatter(empty, [], empty), empty)
    with pytest.raises(gs.OutOfBoundsError):
        table.gather(empty, [0])


def test_attributes_and_flags():
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    frame.attrs["unit"] = {"of": "a"}
    frame = frame.set_flags(allows_duplicate_labels=False)
    for result in (
        table.gather(frame, [1]),
        table.gather(frame, [1, None], "nullify"),
        table.filter(frame, [True, False]),
        table.scatter([5], [0], frame),
        table.copy_if_else(frame, frame, [True, False]),
        table.gather(frame["a"], [0]),
    ):
        assert result.attrs == {"unit": {"of": "a"}}
        assert not result.flags.allows_duplicate_labels
    with pytest.raises(pd.errors.DuplicateLabelError):
        table.gather(frame, [0, 0])


class Tagged(pd.DataFrame):
    """A subclass that follows pandas' documentation."""

    _metadata = ["tag"]  # noqa: RUF012 (pandas wants a list)

    @property
    def _constructor(self):
        return Tagged

    @property
    def _constructor_sliced(self):
        return TaggedSeries


class TaggedSeries(pd.Series):
    """The Series class of the subclass."""

    @property
    def _constructor(self):
        return TaggedSeries


def test_subclasses():
    frame = Tagged({"a": [1, 2], "b": ["x", "y"]})
    frame.tag = "kept"
    for result in (
        table.gather(frame, [1, 0]),
        table.gather(frame, [1, 9], "nullify"),
        table.scatter([7, "z"], [0], frame),
        table.filter(frame, [True, False]),
    ):
        assert type(result) is Tagged
        assert result.tag == "kept"
    assert type(table.gather(frame["a"], [1])) is TaggedSeries
    assert type(table.scatter([3], [1], frame["a"])) is TaggedSeries
    assert_frame(pd.DataFrame(table.gather(frame, [1, 0])), pd.DataFrame(frame).take([1, 0]))


def test_results_are_whole_frames():
    frame = pd.DataFrame({f"c{i}": np.arange(4.0) + i for i in range(5)} | {"s": list("abcd")})
    result = table.gather(frame, ROWS)
    assert_frame(result.copy(), frame.take(ROWS))
    assert_frame(pickle.loads(pickle.dumps(result)), frame.take(ROWS))
    result["c0"] = 0
    result.loc[2, "c1"] = -1.0
    result.insert(0, "new", range(5))
    assert frame["c0"].tolist() == [0, 1, 2, 3]
    assert frame["c1"].tolist() == [1, 2, 3, 4]
    scattered = table.scatter([9.0] * 5 + ["z"], [0], frame)
    scattered.iloc[1, 0] = 77.0
    assert frame["c0"].tolist() == [0, 1, 2, 3]
    del frame
    gc.collect()
    assert scattered["c4"].tolist() == [9.0, 5.0, 6.0, 7.0]


# --- scatter and related functions


@pytest.mark.parametrize("name", COLUMNS)
def test_scatter(name):
    target = COLUMNS[name].set_axis(list("pqrs"))
    before = target.copy()
    source = target.iloc[[3, 2, 0]].set_axis([5, 5, 5])
    want = target.take([0, 0, 2, 3]).set_axis(target.index)
    assert_series(table.scatter(source, [1, 2, 1], target), want)
    assert_frame(table.scatter(source.to_frame(), [1, 2, 1], target.to_frame()), want.to_frame())
    assert_series(table.scatter(source[:0], [], target), target)
    assert_series(target, before)
    want = target.take([0, 3, 2, 2]).set_axis(target.index)
    assert_series(table.boolean_mask_scatter(source, target, [None, True, False, True]), want)
    other = target.iloc[::-1].set_axis(target.index)
    want = target.take([0, 2, 1, 3]).set_axis(target.index)
    assert_series(table.copy_if_else(target, other, [True, False, None, True]), want)
    assert_series(target, before)


def test_all_dtypes_are_scattered_at_once():
    want = MIXED.take([0, 3, 2, 1])
    want.index = MIXED.index
    assert_frame(table.scatter(MIXED.iloc[[3, 1]], [1, 3], MIXED), want)


def test_labels_of_a_result_are_its_own():
    """Renaming the index of a result does not rename that of the argument, as with pandas' own functions."""
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="key"))
    frame.columns.name = "columns"
    mask = [True, True]
    for call in (
        lambda target: table.scatter([7], [0], target),
        lambda target: table.scatter(target, [0, 1], target),
        lambda target: table.boolean_mask_scatter([7], target, mask),
        lambda target: table.copy_if_else(target, target, mask),
        lambda target: table.gather(target, [0, 1]),
        lambda target: table.gather(target, [0, None], "nullify"),
        lambda target: table.filter(target, mask),
    ):
        for target in (frame, frame["a"], frame.set_index([[1, 2], ["x", "y"]])):
            before = target.copy()
            result = call(target)
            result.index.names = [f"new {at}" for at in range(result.index.nlevels)]
            assert target.index.names == before.index.names
            if isinstance(target, pd.DataFrame):
                result.columns.name = "new"
                assert target.columns.name == "columns"
    lists = pd.Series([[1, 2]], index=pd.Index([3], name="key"), dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    table.segmented_gather(lists, [[0]]).index.name = "new"
    assert lists.index.name == "key"


@pytest.mark.parametrize(
    "mine, theirs",
    [
        ("int64", "int32"),
        ("int64", "float64"),
        ("int64", "Int64"),
        ("float64", "object"),
        ("datetime64[s]", "datetime64[ns]"),
        ("str", "object"),
        ("string[python]", "str"),
        ("int64[pyarrow]", "Int64"),
        ("Sparse[int64]", "int64"),
    ],
)
def test_dtypes_must_be_equal(mine, theirs):
    target = pd.DataFrame({"ok": [1], "x": pd.Series([0]).astype(mine)})
    source = pd.DataFrame({"ok": [1], "x": pd.Series([0]).astype(theirs)})
    with pytest.raises(DataTypeError, match=r"table.scatter: column 'x' is of .* in the target, .* in the source"):
        table.scatter(source, [0], target)
    with pytest.raises(DataTypeError):
        table.copy_if_else(target, source, [True])


def test_names_must_agree():
    target = pd.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(InvalidArgument, match=r"column 0 is called 'a' in the target, 'b' in the source"):
        table.scatter(target[["b", "a"]], [0], target)
    with pytest.raises(InvalidArgument, match=r"2 columns.*1"):
        table.scatter(target[["a"]], [0], target)
    with pytest.raises(InvalidArgument, match="is a column"):
        table.scatter(target["a"], [0], target)


def test_an_error_leaves_the_target():
    target = MIXED.copy()
    for call in (
        lambda: table.scatter(MIXED[:2], [0, 4], target),
        lambda: table.scatter(MIXED.iloc[:1], [0, 1], target),
        lambda: table.boolean_mask_scatter(MIXED.iloc[:1], target, [True] * 4),
    ):
        with pytest.raises(ValueError, match=r"table\."):
            call()
    assert_frame(target, MIXED)


def test_many_rows():
    rng = np.random.default_rng(5)
    n = 70_000
    frame = pd.DataFrame({"i": np.arange(n), "f": rng.random(n), "s": rng.integers(0, 99, n).astype(str)})
    rows = rng.integers(-n, n, n)
    assert_frame(table.gather(frame, rows), frame.take(rows))
    keys = rng.integers(0, 2 * n, n)
    want = frame.reindex(np.where(keys < n, keys, -1)).reset_index(drop=True)
    assert_frame(table.gather(frame, keys, "nullify").reset_index(drop=True), want)
    at = rng.permutation(n)[:1000]
    want = frame.copy()
    want.iloc[at] = frame.iloc[:1000]
    assert_frame(table.scatter(frame.iloc[:1000], at, frame), want)


# --- random tables

NAMES = sorted(COLUMNS)


@st.composite
def frames(draw):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    rows = draw(st.lists(st.integers(0, 3), max_size=7))
    index = draw(st.sampled_from(sorted(INDEXES)))
    frame = pd.DataFrame({at: COLUMNS[name].take(rows).array for at, name in enumerate(names)})
    frame.columns = names
    frame.index = INDEXES[index].take(rows)
    return frame


@given(frames(), st.data())
def test_generated_gathers(frame, data):
    n = len(frame)
    rows = data.draw(st.lists(st.integers(-n, n - 1), max_size=9)) if n else []
    assert_frame(table.gather(frame, rows), frame.take(rows))
    mask = data.draw(st.lists(st.sampled_from([True, False, None]), min_size=n, max_size=n))
    assert_frame(table.filter(frame, mask), frame.iloc[[i for i in range(n) if mask[i]]])
    some = data.draw(st.lists(st.one_of(st.none(), st.integers(-n - 2, n + 2)), max_size=9))
    found = [i if i is not None and -n <= i < n else None for i in some]
    labels = [-1 if i is None else i % n for i in found]
    want = frame.reset_index(drop=True).reindex(labels).reset_index(drop=True)
    got = table.gather(frame, some, "nullify", negative="from_end")
    assert_frame(got.reset_index(drop=True), want)
    if None not in found:
        assert_frame(got, frame.take(labels))


@given(frames(), st.data())
def test_generated_scatters(frame, data):
    n = len(frame)
    at = data.draw(st.lists(st.integers(-n, n - 1), max_size=n)) if n else []
    source = frame.iloc[::-1]
    first = source[: len(at)]
    take = list(range(n))
    for i, row in enumerate(at):
        take[row] = n - 1 - i
    want = frame.take(take)
    want.index = frame.index
    assert_frame(table.scatter(first, at, frame), want)
    mask = data.draw(st.lists(st.sampled_from([True, False, None]), min_size=n, max_size=n))
    trues = [i for i in range(n) if mask[i]]
    want = frame.take([n - 1 - trues.index(i) if i in trues else i for i in range(n)])
    want.index = frame.index
    assert_frame(table.boolean_mask_scatter(source, frame, mask), want)
    want = frame.take([i if mask[i] else n - 1 - i for i in range(n)])
    want.index = frame.index
    assert_frame(table.copy_if_else(frame, source.set_axis(frame.index), mask), want)
