"""test_dask_dtypes.py: every dtype of pandas in the partitions of a Dask frame, against pandas' iloc and reindex."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import DataTypeError

dask = pytest.importorskip("dask", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
utils = pytest.importorskip("dask.dataframe.utils", reason="dask.dataframe is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pandas_dtypes as dtypes  # noqa: E402  # it needs pandas
from dask_chunks import random_lengths  # noqa: E402  # it needs Dask


def partitioned(frame, lengths, own_categories=True, meta=None):
    """The frame in partitions, of which each has the categories of its own values; Dask does not know them."""
    ends = np.cumsum([0, *lengths])
    parts = [frame.iloc[a:b].copy() for a, b in itertools.pairwise(ends)]
    meta = frame.iloc[:0] if meta is None else meta
    if own_categories:
        names = [name for name in frame if name.startswith("category")]
        meta = utils.clear_known_categories(meta, cols=names)
        for part in parts:
            for name in names:
                part[name] = part[name].cat.remove_unused_categories()
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)


def check(made, expected):
    """The computed result has the dtypes that Dask was told, and the values of the oracle."""
    result = made.compute(scheduler="sync")
    assert dict(made.dtypes) == dict(result.dtypes) and made._meta.index.dtype == result.index.dtype
    for name in expected:
        mine, want = result[name].reset_index(drop=True), expected[name].reset_index(drop=True)
        if isinstance(want.dtype, pd.CategoricalDtype):
            assert isinstance(mine.dtype, pd.CategoricalDtype) and mine.cat.ordered == want.cat.ordered, name
            mine, want = mine.astype(object), want.astype(object)
        pd.testing.assert_series_equal(mine, want)
    last = made.get_partition(made.npartitions - 1).compute(scheduler="sync")
    assert dict(last.dtypes) == dict(made.dtypes)
    return result


@pytest.mark.parametrize("seed", range(5))
def test_random_dtypes_in_random_partitions(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 25))
    names = [name for at, name in enumerate(dtypes.NAMES) if at % 5 == seed or name in dtypes.CATEGORIES]
    frame = pd.DataFrame({name: dtypes.column(name, rows, rng) for name in names})
    ddf = partitioned(frame, random_lengths(rows, rng, 5))
    count = int(rng.integers(0, 30))
    wanted = rng.integers(0, rows, count)
    given = da.from_array(wanted, chunks=max(1, count // 2)) if seed % 2 else wanted
    result = check(gs.table.gather(ddf, given), frame.iloc[wanted])
    assert result.index.tolist() == wanted.tolist()

    gaps = rng.random(count) < 0.3
    holes = np.where(gaps, -1, wanted)
    given = da.from_array(holes, chunks=max(1, count // 2)) if seed % 2 else holes
    made = gs.table.gather(ddf, given, "nullify", negative="out_of_bounds")
    beside_a_gap = frame.reindex([*holes, -1]).iloc[:-1]  # the dtypes of a result with a missing row
    result = check(made, beside_a_gap)
    assert [None if pd.isna(label) else label for label in result.index] == [
        None if row < 0 else row for row in holes.tolist()
    ]

    source = frame.iloc[rng.integers(0, rows, count)].reset_index(drop=True)
    both = pd.concat([frame, source], ignore_index=True)
    place = np.arange(rows)
    for at, row in enumerate(wanted):
        place[row] = rows + at
    expected = both.iloc[place]
    for name in expected:  # concat makes objects of some categories
        if expected[name].dtype != frame[name].dtype:
            expected = expected.assign(**{name: expected[name].astype(frame[name].dtype)})
    check(gs.table.scatter(source, wanted, ddf), expected)
    if count:
        check(gs.table.scatter(partitioned(source, random_lengths(count, rng, 3)), wanted, ddf), expected)
        mask = np.isin(np.arange(rows), wanted)
        rank = np.cumsum(mask) - 1
        expected = frame.iloc[[int(wanted[rank[row]]) if mask[row] else row for row in range(rows)]]
        check(gs.table.boolean_mask_scatter(ddf, ddf, mask), gs.table.boolean_mask_scatter(frame, frame, mask))


def category_frames(tmp_path):
    """Frames whose categories Dask does not know, as users make them; and their values."""
    frame = pd.DataFrame({"c": list("abcaxa"), "n": range(6)})
    yield dd.from_pandas(frame, npartitions=3).astype({"c": "category"}), frame["c"].tolist()
    for at in range(3):
        frame.iloc[2 * at : 2 * at + 2].to_csv(tmp_path / f"{at}.csv", index=False)
        frame.iloc[2 * at : 2 * at + 2].astype({"c": "category"}).to_parquet(tmp_path / f"{at}.parquet")
    yield dd.read_csv(str(tmp_path / "*.csv"), dtype={"c": "category"}), frame["c"].tolist()
    yield dd.read_parquet(tmp_path / "*.parquet"), frame["c"].tolist()
    yield dd.from_pandas(frame, npartitions=2).astype({"c": "category"}).set_index("n"), frame["c"].tolist()


def test_categories_that_dask_does_not_know(tmp_path):
    for ddf, values in category_frames(tmp_path):
        for rows, bounds in (([3, 2, 0, 4], "raise"), ([3, None, 4, 0], "nullify"), ([None], "nullify")):
            for source in (ddf, ddf["c"]):
                made = gs.table.gather(source, rows, bounds)
                result = made.compute(scheduler="sync")
                column = result if source is not ddf else result["c"]
                assert isinstance(column.dtype, pd.CategoricalDtype)
                assert column.dtype == (made.dtype if source is not ddf else made["c"].dtype)
                assert sorted(column.cat.categories) == list("abcx")
                assert column.astype(object).where(column.notna(), None).tolist() == [
                    None if row is None else values[row] for row in rows
                ]
        written = gs.table.scatter({"c": "x"}, [0], ddf[["c"]]).compute(scheduler="sync")
        assert written["c"].tolist() == ["x", *values[1:]] and written["c"].dtype == "category"
        with pytest.raises(DataTypeError):
            gs.table.scatter({"c": "q"}, [0], ddf[["c"]]).compute(scheduler="sync")


@pytest.mark.parametrize(
    ("parts", "ordered"),
    [
        ((["a", "b"], ["a", "c"]), False),  # no order of b and c is known
        ((["a", "b", "c"], ["b", "c"]), True),
        ((["a", "b"], ["b", "c"]), True),
        ((["b", "a"], ["a", "b"]), False),
        ((["a", "b"], []), True),
        (([1, 2], ["a"]), False),
    ],
)
def test_ordered_categories_keep_values_and_only_an_order_that_all_have(parts, ordered):
    columns = [pd.Series(pd.Categorical(part, categories=part, ordered=True), name="c").to_frame() for part in parts]
    ddf = dd.from_delayed([dask.delayed(part) for part in columns], meta=columns[0].iloc[:0], verify_meta=False)
    values = [value for part in parts for value in part]
    rows = np.arange(len(values))[::-1]
    for given in (rows, da.from_array(rows, chunks=1)):
        for bounds in ("raise", "nullify"):
            made = gs.table.gather(ddf, given, bounds)
            result = made.compute(scheduler="sync")["c"]
            assert result.tolist() == values[::-1] and result.cat.ordered is ordered and result.dtype == made["c"].dtype
            if ordered:
                for part in parts:
                    assert [each for each in result.cat.categories if each in part] == part


def test_categories_of_intervals_that_overlap():
    intervals = [pd.Interval(0, 2), pd.Interval(1, 3), pd.Interval(0, 3)]
    parts = [pd.DataFrame({"c": pd.Categorical(each)}) for each in (intervals[:2], intervals[1:])]
    ddf = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)
    assert gs.table.gather(ddf, [3, 0, 2]).compute(scheduler="sync")["c"].tolist() == [
        intervals[at] for at in (2, 0, 1)
    ]


def test_labels_of_categories():
    parts = [
        pd.DataFrame({"v": [1, 2]}, index=pd.CategoricalIndex(list(each), name="k")) for each in ("ab", "ca", "dx")
    ]
    ddf = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)
    made = gs.table.gather(ddf, [4, 0, 2, 1])
    result = made.compute(scheduler="sync")
    assert result.index.tolist() == ["d", "a", "c", "b"] and result.index.dtype == made._meta.index.dtype
    assert result.index.name == "k" and isinstance(result.index, pd.CategoricalIndex)


def test_values_for_rows_that_are_not_found():
    frame = pd.DataFrame({"n": [2**53 + 1, 2, 3], "c": list("aba"), "x": [1, 2, 3]})
    ddf = dd.from_pandas(frame, npartitions=2).astype({"c": "category"})
    for rows in (np.array([2, -1, 0]), da.from_array(np.array([2, -1, 0]), chunks=1)):
        made = gs.table.gather(ddf, rows, "nullify", negative="out_of_bounds", fill_value={"n": 7, "c": "b"})
        result = made.compute(scheduler="sync")
        assert dict(result.dtypes) == dict(made.dtypes)
        assert result["n"].tolist() == [3, 7, 2**53 + 1] and result["c"].tolist() == ["a", "b", "a"]
        assert result["x"].isna().tolist() == [False, True, False]


def test_integers_that_floats_would_round_are_an_error_where_dask_was_told_floats():
    frame = pd.DataFrame({"n": [2**53 + 1, 2, 3]})
    ddf = dd.from_pandas(frame, npartitions=2)
    assert gs.table.gather(ddf, [1, 9], "nullify").compute(scheduler="sync")["n"].tolist()[0] == 2
    with pytest.raises(DataTypeError, match=r"column 'n' has integers that float64.*Int64"):
        gs.table.gather(ddf, [0, 9], "nullify").compute(scheduler="sync")
    made = gs.table.gather(ddf.astype({"n": "Int64"}), [0, 9], "nullify").compute(scheduler="sync")
    assert made["n"].tolist()[0] == 2**53 + 1 and pd.isna(made["n"].tolist()[1])


def test_labels_are_not_rounded():
    labels = [2**53 + 1, 2**62 + 1, 7]
    ddf = dd.from_pandas(
        pd.DataFrame({"v": [1.0, 2.0, 3.0]}, index=pd.Index(labels, name="k")), npartitions=2, sort=False
    )
    for rows in (np.array([1, -1, 0]), da.from_array(np.array([1, -1, 0]), chunks=1)):
        made = gs.table.gather(ddf, rows, "nullify", negative="out_of_bounds").compute(scheduler="sync")
        assert made.index.tolist()[::2] == [labels[1], labels[0]] and made.index.name == "k"


def test_a_frame_made_anew_counts_its_rows_again(tmp_path):
    rows = {"first": 3, "second": 2}

    def load(name):
        return pd.DataFrame({"a": [f"{name} {i}" for i in range(rows[name])]})

    def frame():
        return dd.from_map(load, list(rows), meta=pd.DataFrame({"a": pd.Series(dtype=str)}))

    old = frame()
    lazily = gs.table.gather(old, [3])
    assert lazily.compute(scheduler="sync")["a"].tolist() == ["second 0"]
    rows["first"] = 5
    assert gs.table.gather(frame(), [3, 6]).compute(scheduler="sync")["a"].tolist() == ["first 3", "second 1"]
    for call in (
        lambda: gs.table.gather(old, [1]),
        lambda: gs.table.scatter(["x"], [0], old),
        lambda: gs.table.boolean_mask_scatter(["x"], old, [True] * 5),
    ):
        with pytest.raises(OSError, match=r"partition 0 has 5 rows, and had 3.*made anew"):
            call().compute(scheduler="sync")


def test_a_column_set_in_place_is_seen():
    ddf = dd.from_pandas(pd.DataFrame({"a": [1, 2, 3]}), npartitions=2)
    gs.table.gather(ddf, [0])
    ddf["b"] = ddf["a"].astype(str).astype("category")
    assert gs.table.gather(ddf, [2, 0]).compute(scheduler="sync")["b"].tolist() == ["3", "1"]


def test_columns_of_one_name():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False]}).set_axis(["a", "a"], axis=1)
    ddf = dd.from_delayed([dask.delayed(frame)], meta=frame.iloc[:0], verify_meta=False)
    result = gs.table.gather(ddf, [1, None], "nullify").compute(scheduler="sync")
    assert result.iloc[0].tolist() == [2, False] and result.iloc[1].isna().all()


def test_flags_against_duplicate_labels():
    frame = pd.DataFrame({"a": [1, 2, 3]}).set_flags(allows_duplicate_labels=False)
    ddf = dd.from_delayed([dask.delayed(frame)], meta=frame.iloc[:0], verify_meta=False)
    assert gs.table.gather(ddf, [2, 0]).compute(scheduler="sync")["a"].tolist() == [3, 1]
    with pytest.raises(gs.errors.InvalidArgument, match="equal labels"):
        gs.table.gather(ddf, [2, 2]).compute(scheduler="sync")
