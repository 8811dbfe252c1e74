"""test_pandas_exact.py: labels and columns of pandas keep their values beside missing rows and in chunks of Arrow."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

import gatherscatter as gs

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from gatherscatter._table import of_pandas  # noqa: E402  # it needs pandas

BIG = 1099511627776000003  # an odd number above 2**53, as identifiers and hashes are


@pytest.fixture(params=["few rows", "many rows"], autouse=True)
def both_ways(request, monkeypatch):
    """Every test runs twice: with pandas' own take, as for small tables, and column by column, as for large ones."""
    if request.param == "many rows":
        monkeypatch.setattr(of_pandas, "FEW", 0)
        monkeypatch.setattr(of_pandas, "FEW_TO_MERGE", 0)


def random_integers(dtype, count, rng):
    """Integers of all magnitudes; float64 holds about half of them."""
    limits = np.iinfo(dtype)
    values = [int(rng.integers(0, 1 << 30)) << int(rng.integers(0, 36)) | int(rng.integers(0, 2)) for _ in range(count)]
    signs = rng.integers(0, 2, count) if limits.min < 0 else np.zeros(count, int)
    values = [max(limits.min, min(limits.max, -v if s else v)) for v, s in zip(values, signs, strict=True)]
    return np.array([limits.max, *values, limits.min][:count] if rng.random() < 0.3 else values, dtype)


def labels_of(kind, count, rng):
    """An index of `count` labels, of which none is missing."""
    integers = random_integers(np.int64, count, rng)
    if kind in ("int64", "uint64", "int8", "uint16"):
        return pd.Index(random_integers(kind, count, rng))
    if kind in ("Int64", "UInt64"):
        return pd.Index(random_integers(kind.lower(), count, rng), dtype=kind)
    if kind == "arrow":
        return pd.Index(integers, dtype="int64[pyarrow]")
    if kind == "arrow decimal":
        numbers = [decimal.Decimal(int(each)).scaleb(-7) for each in integers]
        return pd.Index(pd.array(pa.array(numbers, pa.decimal128(30, 7)), dtype=pd.ArrowDtype(pa.decimal128(30, 7))))
    if kind == "decimal":
        return pd.Index([decimal.Decimal(int(each)).scaleb(-7) for each in integers], dtype=object)
    if kind == "timestamps":
        return pd.DatetimeIndex(np.where(integers == np.iinfo(np.int64).min, 1, integers).view("M8[ns]"))
    if kind == "zoned":
        return pd.DatetimeIndex(np.abs(integers // 2).view("M8[ns]")).tz_localize("UTC").tz_convert("Asia/Tokyo")
    if kind == "timedeltas":
        return pd.TimedeltaIndex(np.where(integers == np.iinfo(np.int64).min, 1, integers).view("m8[ns]"))
    if kind == "categories":
        return pd.CategoricalIndex(integers)
    if kind == "intervals":
        left = np.minimum(integers, np.iinfo(np.int64).max - 1)
        return pd.IntervalIndex.from_arrays(left, left + 1)
    if kind == "objects":
        return pd.Index(integers.astype(object), dtype=object)
    if kind == "range":
        start = int(rng.integers(-BIG, BIG))
        return pd.RangeIndex(start, start + 3 * count, 3)
    assert kind == "levels"
    return pd.MultiIndex.from_arrays(
        [integers, labels_of("uint64", count, rng), labels_of("intervals", count, rng), list("ab" * count)[:count]],
        names=["n", None, "i", "s"],
    )


KINDS = [
    *("int64", "uint64", "int8", "uint16", "Int64", "UInt64", "arrow", "arrow decimal", "decimal", "timestamps"),
    *("zoned", "timedeltas", "categories", "intervals", "objects", "range", "levels"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_labels_beside_missing_rows_are_those_of_their_rows(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    count = int(rng.integers(1, 12))
    index = labels_of(kind, count, rng)
    if kind != "levels":
        index = index.rename("k")
    frame = pd.DataFrame({"v": np.arange(count), "w": list("xyz" * count)[:count]}, index=index)
    rows = [None if rng.random() < 0.3 else int(rng.integers(0, count)) for _ in range(9)] + [None]
    for source in (frame, frame["v"]):
        result = gs.table.gather(source, rows, "nullify")
        assert result.index.names == index.names
        given = index.tolist()
        for label, row in zip(result.index.tolist(), rows, strict=True):
            parts = label if kind == "levels" else (label,)
            assert all(map(pd.isna, parts)) if row is None else label == given[row]
        if kind in ("int64", "uint64", "int8", "uint16", "range"):  # whatever the values: no label becomes a float
            assert str(result.index.dtype).lower() == str(index.dtype)


def test_the_label_that_was_rounded():
    frame = pd.DataFrame({"v": [1.0, 2.0]}, index=[BIG, 5])
    assert gs.table.gather(frame, [0, 9], "nullify").index.tolist()[0] == BIG
    levels = frame.set_axis(pd.MultiIndex.from_tuples([(BIG, "a"), (BIG + 1, "b")], names=["n", "s"]))
    result = gs.table.gather(levels, [1, None, 0], "nullify")
    assert result.index.tolist()[::2] == [(BIG + 1, "b"), (BIG, "a")]
    assert result.reset_index()["n"].tolist()[::2] == [BIG + 1, BIG]


@pytest.mark.parametrize("dtype", ["int64", "uint64", ">i8", "sparse", "interval", "sparse uint64", "int32", "uint32"])
@pytest.mark.parametrize("seed", range(3))
def test_columns_beside_missing_rows_are_not_rounded(dtype, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    number = dtype.removeprefix("sparse ") if dtype not in ("sparse", "interval") else "int64"
    values = random_integers(number, count, rng).astype(number)
    if dtype == "interval":
        values = pd.arrays.IntervalArray.from_breaks(np.unique(np.append(values, np.arange(count)))[: count + 1])
        count = len(values)
    elif dtype.startswith("sparse"):
        values = pd.arrays.SparseArray(values)
    column = pd.Series(values, name="c")
    if not count:
        return
    rows = [None if rng.random() < 0.3 else int(rng.integers(0, count)) for _ in range(9)] + [None]
    for result in (
        gs.table.gather(column, rows, "nullify"),
        gs.table.gather(column.to_frame().assign(other=1), rows, "nullify")["c"],
    ):
        given = column.tolist()
        for value, row in zip(result.tolist(), rows, strict=True):
            assert pd.isna(value) if row is None else value == given[row]
    # Where floats hold all values, the dtype is that of pandas.
    if dtype == ">i8":  # pandas itself raises
        return
    small = column if dtype in ("int32", "uint32") else pd.Series(np.arange(count), dtype=number)
    want = small.reindex([0, count + 9])
    got = gs.table.gather(small, [0, None], "nullify")
    pd.testing.assert_series_equal(got.reset_index(drop=True), want.reset_index(drop=True))


def dictionary(*chunks):
    return pa.chunked_array([pa.array(list(chunk), pa.string()).dictionary_encode() for chunk in chunks])


def nested(column):
    """The dictionaries of a column inside of lists and structs."""
    chunks = [pa.ListArray.from_arrays(np.arange(len(chunk) + 1, dtype=np.int32), chunk) for chunk in column.chunks]
    return pa.chunked_array([pa.StructArray.from_arrays([chunk], ["k"]) for chunk in chunks])


CHUNKS = {
    "dictionaries": dictionary("abca", "xb", "", "c"),
    "dictionaries in lists": nested(dictionary("abca", "xb", "c")),
    "views": pa.chunked_array([pa.array(["a", "b"], pa.string_view()), pa.array(["c", None], pa.string_view())]),
    "texts": pa.chunked_array([["a", "b"], [], ["c", None]]),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_columns_of_arrow_in_several_chunks(name):
    column = pd.Series(pd.arrays.ArrowExtensionArray(CHUNKS[name]), name="c")
    values = CHUNKS[name].to_pylist()
    count = len(values)
    rng = np.random.default_rng(0)

    def check(result, want):
        for part in (result, result["c"]) if result.ndim == 2 else (result,):
            if part.ndim == 1:
                assert part.dtype == column.dtype and part.array.__arrow_array__().to_pylist() == want

    for source in (column, column.to_frame()):
        rows = rng.integers(0, count, 10)
        check(gs.table.gather(source, rows), [values[row] for row in rows])
        check(gs.table.gather(source, [*rows, None], "nullify"), [*(values[row] for row in rows), None])
        mask = rng.random(count) < 0.5
        check(gs.table.filter(source, mask), [value for value, keep in zip(values, mask, strict=True) if keep])
        target = list(values)
        target[count - 1], target[0] = values[1], values[2]
        check(gs.table.scatter(gs.table.gather(source, [1, 2]), [count - 1, 0], source), target)
        check(
            gs.table.boolean_mask_scatter(source, source, mask),
            [values[np.cumsum(mask)[row] - 1] if mask[row] else values[row] for row in range(count)],
        )


@pytest.mark.large
def test_texts_of_more_than_2_gib_in_chunks():
    chunk = pa.array(["x" * 1000 + str(at % 10) for at in range(800_000)], pa.string())
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([chunk] * 3)), name="c")
    count = len(column)
    ends = [value[-1] for value in ("0", "9")]
    for source in (column, column.to_frame()):
        results = [
            gs.table.gather(source, [0, count - 1]),
            gs.table.filter(source, np.isin(np.arange(count), [0, count - 1])),
            gs.table.gather(gs.table.scatter(["q"], [1], source), [0, count - 1]),
            gs.table.gather(gs.table.gather(source, np.arange(count)), [0, count - 1]),
        ]
        for result in results:
            assert (result if result.ndim == 1 else result["c"]).str[-1].tolist() == ends


def test_equal_labels_where_they_are_not_allowed():
    frame = pd.DataFrame({"v": [1, 2, 3]}, index=list("abc")).set_flags(allows_duplicate_labels=False)
    for source in (frame, frame["v"]):
        assert gs.table.gather(source, [2, 0]).index.tolist() == ["c", "a"]
        assert not gs.table.gather(source, [2, 0]).flags.allows_duplicate_labels
        for rows, bounds in (([0, 0], "raise"), (np.array([1, 1]), "raise"), ([None, None], "nullify")):
            message = r'^table\.gather: .*equal labels.*index="reset".*set_flags\(allows_duplicate_labels=True\)'
            with pytest.raises(gs.errors.InvalidArgument, match=message) as caught:
                gs.table.gather(source, rows, bounds)
            assert isinstance(caught.value, pd.errors.DuplicateLabelError)
            fresh = gs.table.gather(source, rows, bounds, index="reset")
            assert fresh.index.tolist() == [0, 1] and not fresh.flags.allows_duplicate_labels
        assert gs.table.filter(source, [True, False, True]).index.tolist() == ["a", "c"]
        written = gs.table.scatter([9], [1], source)
        assert written.index.tolist() == ["a", "b", "c"] and not written.flags.allows_duplicate_labels
