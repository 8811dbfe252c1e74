"""test_table_labels.py: masks and partners of a pandas table are aligned by row labels, all others by position."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gatherscatter import table
from gatherscatter.compat import libcudf
from gatherscatter.errors import DataTypeError, InvalidArgument

MASK = [True, False, False, True]
ORDER = [2, 0, 3, 1]
INDEXES = {
    "range": pd.RangeIndex(10, 14),
    "integers": pd.Index([7, -1, 5, 6]),
    "texts": pd.Index(["a", "b", "", "d"]),
    "mixed": pd.Index([1, "1", 1.5, (1, 2)], dtype=object, tupleize_cols=False),
    "with NaN": pd.Index([1.5, np.nan, 0.0, 2.0]),
    "with None": pd.Index(["a", None, "b", "c"], dtype=object),
    "nullable": pd.Index([1, None, 3, 4], dtype="Int64"),
    "times": pd.DatetimeIndex(["2020", "NaT", "2022", "2021"]),
    "zoned": pd.date_range("2020", periods=4, tz="Asia/Tokyo"),
    "periods": pd.period_range("2020", periods=4, freq="M"),
    "intervals": pd.interval_range(0, 4),
    "overlapping intervals": pd.IntervalIndex.from_tuples([(0, 2), (1, 3), (0, 3), (5, 6)]),
    "categories": pd.CategoricalIndex(["x", "y", "z", "w"], ["w", "z", "y", "x"]),
    "levels": pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a"), (np.nan, "z")], names=["n", "s"]),
    "arrow": pd.Index(["a", "b", None, "d"], dtype=pd.ArrowDtype(pa.string())),
}
FRAME = pd.DataFrame({"v": [10, 11, 12, 13], "s": list("pqrs")})
NEW = pd.DataFrame({"v": [20, 21, 22, 23], "s": list("PQRS")})


def masks(index):
    """The mask with an index as labels, in each dtype that pandas has for masks."""
    for dtype in ("bool", "boolean", "bool[pyarrow]"):
        yield pd.Series(MASK, index=index, dtype=dtype)


def calls(frame, mask, shape=lambda frame: frame):
    """A call of every operator with a mask, and its result by position."""
    old, new = shape(frame), shape(NEW.set_axis(frame.index))
    return {
        "filter": (lambda: table.filter(old, mask), old.iloc[[0, 3]]),
        "boolean_mask_scatter": (
            lambda: table.boolean_mask_scatter(shape(NEW), old, mask),
            shape(pd.concat([NEW, FRAME]).iloc[[0, 5, 6, 1]].set_axis(frame.index)),
        ),
        "copy_if_else": (
            lambda: table.copy_if_else(old, new, mask),
            shape(pd.concat([NEW, FRAME]).iloc[[4, 1, 2, 7]].set_axis(frame.index)),
        ),
    }


def same(found, want):
    (pd.testing.assert_frame_equal if isinstance(want, pd.DataFrame) else pd.testing.assert_series_equal)(found, want)


def check(frame, mask):
    for shape in (lambda frame: frame, lambda frame: frame["v"]):
        for call, want in calls(frame, mask, shape).values():
            same(call(), want)


def refused(frame, mask, text):
    for call, _ in calls(frame, mask).values():
        with pytest.raises(InvalidArgument, match=text):
            call()


@pytest.mark.parametrize("name", INDEXES)
def test_a_mask_in_another_order_is_aligned(name):
    frame = FRAME.set_axis(INDEXES[name])
    for mask in masks(frame.index):
        check(frame, mask)
        check(frame, mask.take(ORDER))
        check(frame, mask.iloc[::-1])
    mask = pd.Series(MASK, index=frame.index).take(ORDER)
    same(table.filter(frame, mask), frame.loc[mask])


def test_the_example_of_pandas():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    mask = pd.Series([True, False, False], index=[2, 1, 0])
    assert table.filter(frame, mask)["a"].tolist() == frame.loc[mask]["a"].tolist() == [3]
    assert table.filter(frame["a"], mask).tolist() == [3]
    assert table.boolean_mask_scatter([0], frame, mask)["a"].tolist() == [1, 2, 0]
    assert table.copy_if_else(frame, frame * 10, mask)["a"].tolist() == [10, 20, 3]


@pytest.mark.parametrize("labels", [[5, 5, 6, 6], [np.nan, np.nan, 1, 2], [None, "a", "a", None]])
def test_labels_that_occur_twice_are_positions_in_the_same_order_only(labels):
    frame = FRAME.set_axis(pd.Index(labels))
    for mask in masks(pd.Index(labels)):
        check(frame, mask)
        refused(frame, mask.take(ORDER), "row labels of .* and boolean_mask differ in order, and some occur twice; ")


def test_other_labels_are_refused_by_name():
    frame = FRAME.set_axis(list("abcd"))
    refused(frame, pd.Series(MASK), "boolean_mask differ: boolean_mask has no 'a'; boolean_mask.to_numpy")
    refused(frame, pd.Series(MASK, list("abcx"), "boolean"), "boolean_mask has no 'd'; boolean_mask.array goes by")
    refused(frame, pd.Series(MASK, list("abca")), "differ in order, and some occur twice")
    refused(frame, pd.Series([True] * 3, list("abc")), "length|rows")
    refused(frame, pd.Series([True] * 5, list("abcde")), "length|rows")
    for call in (lambda mask: mask.to_numpy(), lambda mask: mask.array, lambda mask: mask.tolist()):
        check(frame, call(pd.Series(MASK)))
    check(frame, pd.Series([True, None, False, True], dtype="boolean").array)


def test_labels_that_pandas_would_find_elsewhere_are_no_equal_ones():
    """pandas' lookup finds a number in an interval and a text among times, but such labels are not equal."""
    frame = FRAME.set_axis([0.5, 1.5, 2.5, 3.5])
    refused(frame, pd.Series(MASK, pd.interval_range(0, 4)), "differ")
    times = pd.date_range("2020", periods=4)
    refused(FRAME.set_axis(times), pd.Series(MASK, times.astype(str)).take(ORDER), "differ")
    refused(FRAME.set_axis(times), pd.Series(MASK, times.tz_localize("UTC")), "differ")
    check(FRAME.set_axis(times), pd.Series(MASK, times.as_unit("s")).take(ORDER))
    check(FRAME.set_axis([1, 2, 3, 4]), pd.Series(MASK, [1.0, 2.0, 3.0, 4.0]).take(ORDER))


def test_labels_that_cannot_be_compared():
    labels = pd.Index([[1], [2], [3], [4]], dtype=object)
    check(FRAME.set_axis(labels), pd.Series(MASK, labels))
    refused(FRAME.set_axis(labels), pd.Series(MASK, labels).iloc[::-1], "cannot be compared .*unhashable")


@pytest.mark.parametrize("name", INDEXES)
def test_both_sides_of_a_choice_are_aligned(name):
    lhs, rhs = FRAME.set_axis(INDEXES[name]), NEW.set_axis(INDEXES[name])
    want = pd.concat([NEW, FRAME]).iloc[[4, 1, 2, 7]].set_axis(lhs.index)
    for mask in (MASK, np.array(MASK), pd.Series(MASK, lhs.index).take(ORDER)):
        same(table.copy_if_else(lhs, rhs.take(ORDER), mask), want)
        same(table.copy_if_else(lhs["v"], rhs["v"].iloc[::-1], mask), want["v"])


def test_a_choice_between_rows_of_other_labels_is_refused():
    lhs = FRAME.set_axis(list("abcd"))
    with pytest.raises(InvalidArgument, match=r"of lhs and rhs differ: rhs has no 'a'; rhs.set_axis\(lhs.in"):
        table.copy_if_else(lhs, NEW, MASK)
    same(table.copy_if_else(lhs, NEW.set_axis(lhs.index), MASK)["v"], pd.Series([10, 21, 22, 13], lhs.index, name="v"))
    with pytest.raises(InvalidArgument, match="occur twice"):
        table.copy_if_else(lhs.set_axis(list("aabb")), NEW.set_axis(list("abab")), MASK)


def test_where_one_side_has_no_labels_rows_go_by_position():
    mask = pd.Series(MASK, index=[9, 8, 7, 6])
    for target in (pa.table({"v": [10, 11, 12, 13]}), pl.DataFrame({"v": [10, 11, 12, 13]})):
        rhs = pd.DataFrame({"v": [1, 2, 3, 4]}, index=[3, 2, 1, 0])
        assert pa.table(table.filter(target, mask))["v"].to_pylist() == [10, 13]
        assert pa.table(table.copy_if_else(target, rhs, mask))["v"].to_pylist() == [10, 2, 3, 13]
    for mask in (MASK, np.array(MASK), pa.array(MASK), pl.Series(MASK), pd.array(MASK), pd.Index(MASK)):
        check(FRAME.set_axis(list("abcd")), mask)


def test_labels_of_sources_are_not_looked_at():
    """Source rows of a scatter are taken in order, because they are not rows of the target."""
    target, source = FRAME.set_axis(list("abcd")), NEW.set_axis([3, 2, 1, 0])
    assert table.scatter(source[:2], [3, 0], target)["v"].tolist() == [21, 11, 12, 20]
    assert table.boolean_mask_scatter(source, target, MASK)["v"].tolist() == [20, 11, 12, 21]


def test_maps_are_positions_never_labels():
    rows = pd.Series([3, 0], index=[1, 0])
    for frame in (FRAME, FRAME.set_axis([3, 2, 1, 0])):
        assert table.gather(frame, rows)["v"].tolist() == [13, 10]
        assert table.gather(frame, rows.set_axis(["x", "y"]))["v"].tolist() == [13, 10]
        assert table.scatter(NEW[:2], rows, frame)["v"].tolist() == [21, 11, 12, 20]


def test_lists_of_positions_belong_to_rows():
    lists = pd.Series([[1, 2], [3, 4]], index=["a", "b"], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    maps = pd.Series([[0], [1, 0]], index=["b", "a"], dtype=lists.dtype)
    assert [list(row) for row in table.segmented_gather(lists, maps)] == [[2, 1], [3]]
    assert [list(row) for row in table.segmented_gather(lists, maps.tolist())] == [[1], [4, 3]]
    with pytest.raises(InvalidArgument, match="source and gather_map_list differ: gather_map_list has no 'a'"):
        table.segmented_gather(lists, maps.set_axis([0, 1]))


def test_libcudf_ignores_labels():
    frame, mask = FRAME.set_axis(list("abcd")), pd.Series(MASK, list("dcba"))
    assert libcudf.apply_boolean_mask(frame, mask)["v"].tolist() == [10, 13]
    assert libcudf.boolean_mask_scatter(NEW, frame, mask)["v"].tolist() == [20, 11, 12, 21]
    assert libcudf.copy_if_else(frame, NEW, mask)["v"].tolist() == [10, 21, 22, 13]


@pytest.mark.parametrize("index", [["x", "y"], [0, 1], [1, 0]])
@pytest.mark.parametrize("shape", [lambda frame: frame, lambda frame: frame["a"]])
def test_a_frame_is_no_mask_whatever_its_labels(index, shape):
    target = shape(pd.DataFrame({"a": [1, 2]}, index=index))
    mask = pd.DataFrame({"m": [True, False]})
    for call in (
        lambda: table.filter(target, mask),
        lambda: table.boolean_mask_scatter(target, target, mask),
        lambda: table.boolean_mask_scatter([0], target, mask),
        lambda: table.copy_if_else(target, target, mask),
    ):
        with pytest.raises(DataTypeError, match="the mask is a DataFrame, expected bools"):
            call()


@pytest.mark.parametrize(
    "labels",
    [pd.RangeIndex(3), pd.Index([1, 2, 3], dtype="uint64"), pd.Index([0.5, 1.0, 9.0])],
    ids=["range", "uint64", "float"],
)
def test_numbers_in_overlapping_intervals_are_no_labels(labels):
    """pandas finds a number in each interval that contains it, so it returns more positions than there are labels."""
    intervals = pd.IntervalIndex.from_tuples([(0, 6), (2, 6), (0, 5)])
    mask = pd.Series([True, False, True], index=intervals)
    rows = pd.Series([10, 11, 12], index=labels)
    for call in (
        lambda: table.filter(rows, mask),
        lambda: table.filter(rows.set_axis(intervals), mask.set_axis(labels)),
        lambda: table.boolean_mask_scatter(5, rows, mask),
        lambda: table.copy_if_else(rows, rows.set_axis(intervals), [True, False, True]),
    ):
        with pytest.raises(InvalidArgument, match=r"row labels of .* differ"):
            call()


def drawn_labels(rng, size):
    """Unique labels of a dtype whose lookup finds equal labels only, or of one whose labels are compared again."""
    numbers = rng.permutation(3 * size)[:size] - size
    floats = numbers / 2
    floats[rng.random(size) < 1 / size] = np.nan
    return [
        lambda: pd.Index(numbers.astype(rng.choice(["int8", "int32", "int64"]))),
        lambda: pd.Index((numbers + size).astype(rng.choice(["uint8", "uint64"]))),
        lambda: pd.Index(floats),
        lambda: pd.RangeIndex(size),
        lambda: pd.DatetimeIndex(numbers.astype("datetime64[D]").astype("datetime64[ns]")),
        lambda: pd.DatetimeIndex(numbers.astype("datetime64[D]").astype("datetime64[ns]"), tz="UTC"),
        lambda: pd.TimedeltaIndex(numbers.astype("timedelta64[s]").astype("timedelta64[ns]")),
        lambda: pd.Index([f"row {n}" for n in numbers]),
        lambda: pd.Index([f"row {n}" for n in numbers], dtype=object),
        lambda: pd.Index(numbers, dtype="Int64"),
        lambda: pd.MultiIndex.from_arrays([numbers, ["a"] * size]),
    ][rng.integers(0, 11)]()


@pytest.mark.parametrize("seed", range(60))
def test_shuffled_labels_of_every_kind(seed, monkeypatch):
    """Labels whose lookup is exact are not compared again. Both ways give the row of the label, or the same error."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 30))
    labels = drawn_labels(rng, size)
    frame = pd.DataFrame({"a": np.arange(size)}, index=labels)
    truths = rng.random(size) < 0.5
    order = rng.permutation(size)
    theirs = labels.take(order)
    kinds = ["bool", "boolean", "object"]
    kind = kinds[rng.integers(0, 2)]
    change = rng.integers(0, 4)
    if change == 0:  # a label that the mask lacks
        theirs = theirs[:-1].append(theirs[:1])
    elif change == 1:  # labels of the table that occur twice
        frame = frame.set_axis(labels[:-1].append(labels[:1]))
    mask = pd.Series(truths[order], index=theirs).astype(kind)
    answers = []
    for exact in (True, False):
        if not exact:
            monkeypatch.setattr("gatherscatter._table.labels._finds_equal_labels", lambda labels, theirs: False)
        try:
            answers.append(table.filter(frame, mask)["a"].tolist())
        except InvalidArgument as error:
            answers.append(str(error))
    assert answers[0] == answers[1]
    if change > 1:
        assert answers[0] == np.flatnonzero(truths).tolist()
    elif not theirs.equals(frame.index):
        assert isinstance(answers[0], str)
