"""test_table_handed.py: rows that pandas and polars take themselves are the rows that we take, byte for byte.

docs/design.md, "Calls handed to other libraries", names the conditions. What is drawn here lies on both sides of them.
"""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pandas_dtypes = pytest.importorskip("pandas_dtypes", reason="pyarrow is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")


def drawn_map(rng, size, bounds):
    count = int(rng.integers(0, 3 * size))
    rows = rng.integers(-size, size, count).astype(rng.choice(["int64", "int64", "int32", "int8"]))
    if bounds == "nullify":
        rows = np.where(rows < 0, rows + size, rows)
        rows[rng.random(count) < 0.2] = size + 3
    return rows if rng.random() < 0.5 else np.repeat(rows, 2)[::2]


def pandas_index(rng, size):
    return [
        pd.RangeIndex(size),
        pd.RangeIndex(5, 5 + 3 * size, 3),
        pd.Index(rng.integers(0, 9, size), name="label"),
        pd.Index([f"row {n}" for n in rng.integers(0, 9, size)]),
        pd.date_range("2020-01-01", periods=size),
        pd.MultiIndex.from_arrays([rng.integers(0, 3, size), list("ab" * size)[:size]]),
    ][rng.integers(0, 6)]


def fixed_bytes(series):
    """The bytes of a column of numbers, in which NaNs differ; of other dtypes pandas compares the values."""
    is_fixed = isinstance(series.dtype, np.dtype) and series.dtype.kind != "O"
    return np.ascontiguousarray(series.to_numpy()).tobytes() if is_fixed else None


def assert_same_frame(found, expected, where):
    assert [str(dtype) for dtype in found.dtypes] == [str(dtype) for dtype in expected.dtypes], where
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_freq=False)
    for name in expected.columns:
        assert fixed_bytes(found[name]) == fixed_bytes(expected[name]), (*where, name)


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_pandas(seed, monkeypatch):
    of_pandas = pytest.importorskip("gatherscatter._table.of_pandas")
    rng = np.random.default_rng(seed)
    size, names = int(rng.integers(1, 12)), rng.choice(pandas_dtypes.NAMES, int(rng.integers(1, 5)), replace=False)
    index = pandas_index(rng, size)
    frame = pd.DataFrame({name: pandas_dtypes.column(name, size, rng) for name in names}).set_axis(index)
    bounds = str(rng.choice(["raise", "nullify"]))
    rows = drawn_map(rng, size, bounds)
    unique = rng.permutation(size)[: int(rng.integers(0, size + 1))]
    given = frame.iloc[rng.integers(0, size, len(unique))].reset_index(drop=True)
    calls = (lambda: gs.table.gather(frame, rows, bounds), lambda: gs.table.scatter(given, unique, frame))
    handed = [call() for call in calls]
    for limit in ("FEW", "FEW_TO_MERGE"):
        monkeypatch.setattr(of_pandas, limit, 0)
    for limit in ("MOST_BY_MAP", "MOST_WRITTEN"):
        monkeypatch.setattr(of_pandas, limit, -1)
    for found, call in zip(handed, calls, strict=True):
        assert_same_frame(found, call(), (list(names), bounds, rows.dtype, index))


def polars_column(rng, size, number):
    numbers = rng.integers(0, 50, size)
    words = [f"word {n}" for n in numbers]
    floats = rng.standard_normal(size)
    floats[rng.random(size) < 0.2] = rng.choice([np.nan, np.inf, -0.0])
    made = [
        lambda: pl.Series(numbers).cast(pl.Int8),
        lambda: pl.Series(numbers).cast(pl.UInt64),
        lambda: pl.Series(floats),
        lambda: pl.Series(floats).cast(pl.Float32),
        lambda: pl.Series(numbers % 2 == 0),
        lambda: pl.Series(words),
        lambda: pl.Series([word.encode() for word in words]),
        lambda: pl.Series(words).cast(pl.Categorical),
        lambda: pl.Series(words).cast(pl.Enum(sorted(set(words)))),
        lambda: pl.Series(numbers).cast(pl.Date),
        lambda: pl.Series(numbers).cast(pl.Datetime("ms", "UTC")),
        lambda: pl.Series(numbers).cast(pl.Duration("us")),
        lambda: pl.Series(numbers).cast(pl.Decimal(9, 2)),
        lambda: pl.Series([[n, None] for n in numbers.tolist()]),
        lambda: pl.Series([[word] * (n % 3) for n, word in zip(numbers, words, strict=True)], dtype=pl.List(pl.String)),
        lambda: pl.Series([{"a": n, "b": str(n)} for n in numbers.tolist()]),
        lambda: pl.Series([[n, n + 1] for n in numbers.tolist()], dtype=pl.Array(pl.Int64, 2)),
        lambda: pl.Series([None] * size, dtype=pl.Null),
    ][number]()
    return made if rng.random() < 0.5 else made.set(pl.Series(rng.random(size) < 0.3), None)


def assert_same_polars(found, expected, where):
    assert found.schema == expected.schema, where
    assert found.equals(expected, null_equal=True), where
    for own, other in zip(found.get_columns(), expected.get_columns(), strict=True):
        if own.dtype.is_float():
            assert own.to_numpy().tobytes() == other.to_numpy().tobytes(), where


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_polars(seed, monkeypatch):
    of_polars = pytest.importorskip("gatherscatter._table.of_polars")
    rng = np.random.default_rng(seed)
    size, width = int(rng.integers(1, 12)), int(rng.choice([1, 3, 30]))
    columns = []
    for _ in range(width):
        try:
            columns.append(polars_column(rng, size, int(rng.integers(0, 18))))
        except pl.exceptions.PolarsError:  # this version cannot set nulls in it
            columns.append(pl.Series(rng.integers(0, 9, size)))
    frame = pl.DataFrame([column.alias(f"c{n}") for n, column in enumerate(columns)])
    bounds = str(rng.choice(["raise", "nullify"]))
    rows = drawn_map(rng, size, bounds)
    found = gs.table.gather(frame, rows, bounds)
    for limits in ({"FEW": 0}, {"WIDE": 0}):
        with monkeypatch.context() as patched:
            for name, limit in limits.items():
                patched.setattr(of_polars, name, limit)
            where = (limits, frame.schema, bounds, rows)
            assert_same_polars(found, gs.table.gather(frame, rows, bounds), where)


@pytest.mark.parametrize("seed", range(40))
def test_filters_of_polars(seed, monkeypatch):
    of_polars = pytest.importorskip("gatherscatter._table.of_polars")
    rng = np.random.default_rng(seed)
    size, width = int(rng.integers(1, 12)), int(rng.choice([1, 3, 30]))
    columns = [polars_column(rng, size, int(number)) for number in rng.integers(0, 11, width)]
    frame = pl.DataFrame([column.alias(f"c{n}") for n, column in enumerate(columns)])
    mask = rng.random(size) < rng.choice([0, 0.3, 1])
    given = [mask, mask.tolist(), pl.Series(mask), pl.Series(mask).set(pl.Series(rng.random(size) < 0.3), None)][
        seed % 4
    ]
    found = gs.table.filter(frame, given)
    kept = [bool(value) for value in given]
    assert_same_polars(found, frame.filter(pl.Series(kept, dtype=pl.Boolean)), (frame.schema, given))
    for limits in ({"FILTERED": 0}, {"WIDE": 0}):
        with monkeypatch.context() as patched:
            for name, limit in limits.items():
                patched.setattr(of_polars, name, limit)
            assert_same_polars(found, gs.table.filter(frame, given), (limits, frame.schema, given))
            lazy = gs.table.filter(frame.lazy(), given).collect()
            assert_same_polars(found, lazy, (limits, frame.schema, given))
    with pytest.raises(gs.errors.InvalidArgument):
        gs.table.filter(frame, np.ones(size + 1, bool))
