"""test_table_runs.py: run-end encoded columns with rows for several threads, compared with the run of each row."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import table

ROWS = 70_000
KINDS = {"int32": (pa.int32(), pa.int64()), "int64": (pa.int64(), pa.string())}


def encoded(kind: str, mean: int, rows: int = ROWS, seed: int = 0) -> tuple[pa.Array, np.ndarray]:
    """A column, a row of which is null now and then, and the run of each of its rows."""
    end, value = KINDS[kind]
    rng = np.random.default_rng(seed)
    ends = np.unique(np.append(np.cumsum(rng.integers(1, 2 * mean, rows)), rows))
    ends = ends[: np.searchsorted(ends, rows) + 1]
    numbers = pa.array(np.arange(len(ends)), mask=rng.random(len(ends)) < 0.1)
    column = pa.RunEndEncodedArray.from_arrays(pa.array(ends, end), numbers.cast(value))
    return column, np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


def check(result: pa.Array, column: pa.Array, runs: np.ndarray) -> None:
    """Check that the runs of the result are `runs` without repetition; -1 is a run of missing rows."""
    result.validate(full=True)
    last = np.flatnonzero(np.diff(runs, append=-2))
    assert result.type == column.type
    assert result.run_ends.to_numpy().tolist() == (last + 1).tolist()
    values = runs[last]
    assert result.values.equals(column.values.take(pa.array(values, mask=values < 0)))


def maps_of(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "random": rng.integers(0, rows, rows),
        "sorted": np.sort(rng.integers(0, rows, rows)),
        "all": np.arange(rows),
        "backwards": np.arange(rows)[::-1],
        "one": np.full(rows, rows - 1),
        "an eighth": rng.integers(0, rows, rows // 8),  # too few to write down the run of every row
        "an eighth, sorted": np.sort(rng.integers(0, rows, rows // 8)),
        "few": rng.integers(0, rows, 3),
        "none": np.empty(0, np.int64),
    }


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mean", [1, 3, 100, 100_000])
@pytest.mark.parametrize("kind", KINDS)
def test_gather(kind, mean, threads):
    column, runs = encoded(kind, mean)
    with gs.thread_limit(threads):
        for rows in maps_of(ROWS).values():
            check(table.gather(column, rows), column, runs[rows])


@pytest.mark.parametrize("kind", KINDS)
def test_slices(kind):
    column, runs = encoded(kind, 5)
    for first, length in itertools.product([0, 1, 777, ROWS - 5000], [1, 64, 5000]):
        rows = np.random.default_rng(2).integers(0, length, 6000)
        check(table.gather(column.slice(first, length), rows), column, runs[first : first + length][rows])


@pytest.mark.parametrize("count", [ROWS, ROWS // 8])
def test_missing_rows(count):
    column, runs = encoded("int32", 4)
    rows = np.random.default_rng(3).integers(-ROWS // 3, ROWS, count)
    result = table.gather(column, rows, "nullify", negative="out_of_bounds")
    check(result, column, np.where(rows < 0, -1, runs[rows]))


@pytest.mark.parametrize("order", ["random", "sorted"])
@pytest.mark.parametrize("count", [ROWS, ROWS // 8])
def test_chunks(count, order):
    """Rows of two chunks never share a run, although these are slices of one array."""
    column, runs = encoded("int64", 7)
    cuts = [0, 10, 20_000, 20_001, ROWS]
    chunked = pa.chunked_array([column.slice(a, b - a) for a, b in itertools.pairwise(cuts)])
    rows = np.random.default_rng(4).integers(0, ROWS, count)
    if order == "sorted":
        rows.sort()
    chunk = np.searchsorted(cuts, rows, "right")
    result = table.gather(chunked, rows).chunk(0)
    last = np.flatnonzero(np.diff(runs[rows] * 8 + chunk, append=-1))
    assert result.run_ends.to_numpy().tolist() == (last + 1).tolist()
    assert result.values.equals(column.values.take(pa.array(runs[rows[last]])))


@pytest.mark.parametrize("length", [1, 5, 3000])
def test_filter(length):
    column, runs = encoded("int32", 6)
    mask = np.repeat(np.random.default_rng(5).random(ROWS // length + 1) < 0.6, length)[:ROWS]
    check(table.filter(column, mask), column, runs[mask])


@pytest.mark.parametrize("share", [0.01, 0.2, 0.9])
def test_scatter(share):
    column, runs = encoded("int32", 6)
    source, source_runs = encoded("int32", 2, 40_000, seed=9)
    rows = np.random.default_rng(6).permutation(ROWS)[: int(share * len(source))]
    source = source[: len(rows)]
    result = table.scatter(source, rows, column)
    both = runs.copy()
    both[rows] = source_runs[: len(rows)] + len(column.values)
    whole = pa.RunEndEncodedArray.from_arrays(
        pa.array(np.arange(len(column.values) + len(source.values), dtype=np.int32) + 1),
        pa.concat_arrays([column.values, source.values]),
    )
    check(result, whole, both)


def test_lists():
    column, runs = encoded("int32", 3)
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, ROWS + 1, 4), pa.int32()), column)
    rows = np.random.default_rng(7).integers(0, len(lists), len(lists))
    check(table.gather(lists, rows).values, column, runs.reshape(-1, 4)[rows].reshape(-1))
    long = pa.ListArray.from_arrays(pa.array(np.arange(0, ROWS + 1, 100), pa.int32()), column)
    rows = np.random.default_rng(8).integers(0, len(long), len(long))
    check(table.gather(long, rows).values, column, runs.reshape(-1, 100)[rows].reshape(-1))


def test_structs():
    column, runs = encoded("int64", 30)
    rows = np.random.default_rng(10).integers(0, ROWS, ROWS)
    check(table.gather(pa.StructArray.from_arrays([column], ["x"]), rows).field(0), column, runs[rows])


@pytest.mark.parametrize("ends", [[5, 5, 9], [9, 1, 9], [3, -1, 9], [1, 2, 8], [7, 3, 9], [0, 0, 9]])
@pytest.mark.parametrize("rows", [range(9), [8, 0, 3], [0, 8] * 20_000])
def test_run_ends_that_are_wrong(ends, rows):
    """Such a column gives an error or values of its own, and never those of other memory."""
    memory = np.array([1, 2, 9], np.int32)  # pyarrow checks the run ends, and shares this memory
    column = pa.RunEndEncodedArray.from_arrays(pa.array(memory), pa.array([10, 11, 12]))
    memory[:] = ends
    assert column.run_ends.to_pylist() == ends
    mask = np.isin(np.arange(9), rows)
    for call in (lambda: table.gather(column, rows), lambda: table.filter(column, mask)):
        try:
            result = call()
        except BufferError as error:
            assert "run" in str(error)
        else:
            assert set(result.values.to_pylist()) <= {10, 11, 12}
