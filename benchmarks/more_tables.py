"""The tables of `more_cases.py`: nested columns, masks of one value, wide small tables, columns of one library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from . import buffers
from .cases import SETS, Workload
from .tables import MIXED, _map, _rows, _table, _text, _work

WORDS = 1000


# ---- masks


def _mask(rows: int, truth: bool) -> pa.Array:
    return pa.array(np.full(rows, truth))


def filter(quick: bool, truth: bool) -> Workload:
    source = _table(MIXED, _rows(quick), seed=5)
    sets = [{"m": _mask(len(source), truth)} for _ in range(SETS)]
    return _work(source, sets, expected=lambda m: source.filter(m))


def if_else(quick: bool, truth: bool) -> Workload:
    source, other = (_table(MIXED, _rows(quick), seed=seed) for seed in (5, 6))
    sets = [{"m": _mask(len(source), truth)} for _ in range(SETS)]
    return _work(source, sets, expected=lambda m: source if truth else other, constants={"b": other})


# ---- nested columns


def nested(quick: bool, kind: str) -> Workload:
    """Up to three elements in each row, of texts of 8 bytes on average."""
    rows = _rows(quick)
    rng = np.random.default_rng(8)
    offsets = buffers.filled(np.concatenate([[0], np.cumsum(rng.integers(0, 4, rows))]), "int32")
    count = int(offsets[-1])
    starts, text = _text(count, 8, seed=9)
    texts = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(starts), pa.py_buffer(text)])
    ends = pa.Array.from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(offsets)])
    column: Any
    if kind == "map":
        column = pa.MapArray.from_arrays(ends, texts, pa.array(buffers.random((count,), "int32", seed=10)))
    elif kind == "list<dictionary>":
        numbers = buffers.filled(rng.integers(0, WORDS, count), "int32")
        words = pa.array([f"word number {k}" for k in range(WORDS)])
        column = pa.ListArray.from_arrays(ends, pa.DictionaryArray.from_arrays(pa.array(numbers), words))
    else:
        column = pa.ListArray.from_arrays(ends, texts)
    source = pa.table([column], ["c0"])
    sets = [{"i": _map(rows, rows, "int32", seed)} for seed in range(SETS)]
    return _work(source, sets, expected=lambda i: source.take(i))


# ---- few rows of many columns


def wide_few(quick: bool, width: int) -> Workload:
    """Five rows. `k` has the positions of `i` as a NumPy array."""
    source = _table((MIXED * (width // len(MIXED) + 1))[:width], 10, seed=7)
    maps = [np.random.default_rng(seed).permutation(10)[:5] for seed in range(SETS)]
    return _work(
        source,
        [{"i": pa.array(rows), "k": rows} for rows in maps],
        expected=lambda i, k: source.take(i),
    )


# ---- polars


def categories(quick: bool, count: int) -> Workload:
    """A Categorical column of 1,000 words; `numbers` has one of integers."""
    rows = _rows(quick)
    numbers = np.random.default_rng(8).integers(0, WORDS, rows)
    words = pa.array([f"word number {k}" for k in range(WORDS)])
    codes = pa.array(buffers.filled(numbers, "uint32"))
    source = pa.table([pa.DictionaryArray.from_arrays(codes, words)], ["c0"])
    plain = pa.table([pa.array(buffers.filled(numbers, "int32"))], ["c0"])
    sets = [{"i": _map(rows, min(count, rows), "uint32", seed)} for seed in range(SETS)]

    def same(result: pa.Table, expected: pa.Table) -> bool:
        # polars has codes of its own, and text of another type.
        mine, theirs = (table.column(0).cast(pa.string()).combine_chunks() for table in (result, expected))
        return bool(pa.types.is_dictionary(result.column(0).type) and mine.equals(theirs))

    work = _work(source, sets, expected=lambda i: source.take(i), constants={"numbers": plain})
    work.same = same
    return work


# ---- pandas


def _series(dtype: str, rows: int, seed: int) -> Any:
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, WORDS, rows)
    if dtype == "float64":
        return pd.Series(rng.standard_normal(rows))
    if dtype == "Int64":
        values = pd.array(numbers, dtype="Int64")
        values[rng.random(rows) < 0.1] = pd.NA
        return pd.Series(values)
    if dtype == "tz":
        return pd.Series(pd.DatetimeIndex(numbers * 10**15, tz="UTC").tz_convert("Europe/Berlin"))
    words = pd.Index([f"word number {k}" for k in range(WORDS)])
    return pd.Series(pd.Categorical.from_codes(numbers, words))


def _same(result: Any, expected: Any) -> bool:
    return bool(result.dtype == expected.dtype and result.equals(expected))


def _of_pandas(source: Any, sets: list[dict[str, Any]], expected: Any) -> Workload:
    return Workload(source, sets, np.empty(0), expected, adaptable=(), same=_same)


def series_gather(quick: bool, dtype: str, count: int = 100_000) -> Workload:
    rows = 1000 if quick else 100_000
    source = _series(dtype, rows, seed=1)
    sets = [{"i": np.random.default_rng(seed).integers(0, rows, min(count, rows))} for seed in range(SETS)]
    return _of_pandas(source, sets, lambda i: source.take(i))


def series_scatter(quick: bool, dtype: str) -> Workload:
    rows = 1000 if quick else 100_000
    target = _series(dtype, rows, seed=1)
    sets = [
        {"i": np.random.default_rng(seed).permutation(rows)[: rows // 10], "b": _series(dtype, rows // 10, 2 + seed)}
        for seed in range(SETS)
    ]

    def expected(i: np.ndarray, b: Any) -> Any:
        result = target.copy()
        result.iloc[i] = b.array
        return result

    return _of_pandas(target, sets, expected)
