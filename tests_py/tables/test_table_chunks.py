"""test_table_chunks.py: tables in many chunks, whose columns of numbers are joined where many rows are taken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import table

ROWS = 40_000


def whole_table() -> pa.Table:
    rng = np.random.default_rng(0)
    keys = pa.array(rng.integers(0, 5, ROWS).astype(np.int8), mask=rng.random(ROWS) < 0.1)
    return pa.table(
        {
            "int": pa.array(rng.integers(0, 1000, ROWS)),
            "byte": pa.array(rng.integers(0, 100, ROWS).astype(np.int8), mask=rng.random(ROWS) < 0.3),
            "wide": pa.array([bytes(row) for row in rng.integers(0, 256, (ROWS, 3), np.uint8)], pa.binary(3)),
            "bool": pa.array(rng.random(ROWS) < 0.5, mask=rng.random(ROWS) < 0.2),
            "keys": pa.DictionaryArray.from_arrays(keys, pa.array(list("abcde"))),
            "text": pa.array([f"{n}" if n % 7 else None for n in range(ROWS)]),
            "list": pa.array([[n, None] if n % 5 else [] for n in range(ROWS)], pa.list_(pa.int32())),
        }
    )


def in_chunks(whole: pa.Table, cuts: list[int]) -> pa.Table:
    """Chunks of these lengths, each with buffers of its own, some of which have no nulls."""
    parts = [whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, ROWS], strict=True)]
    own = [pa.table([pa.concat_arrays(column.chunks) for column in part.columns], part.column_names) for part in parts]
    return pa.concat_tables(own)


CUTS = {
    "two": [1],
    "words": [64, 128, 4096],
    "odd": [1, 2, 67, 4099, 4100, 39_999],
    "many": list(range(7, ROWS, 7)),
}


@pytest.fixture(scope="module")
def whole() -> pa.Table:
    return whole_table()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cuts", CUTS)
def test_gather(whole, cuts, threads):
    source = in_chunks(whole, CUTS[cuts])
    rng = np.random.default_rng(1)
    with gs.thread_limit(threads):
        # Fewer rows than one of four are taken from the chunks, more from the joined columns.
        for count in (0, 1, 100, ROWS // 5, ROWS // 3, 2 * ROWS):
            rows = rng.integers(0, ROWS, count)
            result = table.gather(source, rows)
            result.validate(full=True)
            assert result.num_rows == count
            assert result.combine_chunks().equals(whole.take(pa.array(rows)).combine_chunks())


@pytest.mark.parametrize("cuts", CUTS)
def test_missing_rows(whole, cuts):
    source = in_chunks(whole, CUTS[cuts]).select(["int", "byte", "bool", "text"])
    rows = np.random.default_rng(2).integers(-ROWS // 4, ROWS, ROWS)
    result = table.gather(source, rows, "nullify", negative="out_of_bounds")
    result.validate(full=True)
    expected = whole.select(result.column_names).take(pa.array(rows, mask=rows < 0))
    assert result.combine_chunks().equals(expected.combine_chunks())


def test_only_numbers(whole):
    """No column needs the chunk of a row."""
    names = ["int", "byte", "wide", "bool", "keys"]
    source = in_chunks(whole, CUTS["odd"]).select(names)
    rows = np.random.default_rng(3).permutation(ROWS)
    assert table.gather(source, rows).combine_chunks().equals(whole.select(names).take(pa.array(rows)).combine_chunks())
    for name in names:
        column = table.gather(source[name], rows)
        assert column.combine_chunks().equals(whole[name].take(pa.array(rows)).combine_chunks())


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("key", [pa.int8(), pa.uint16(), pa.int64()])
def test_dictionaries_of_their_own(key, nulls):
    rng = np.random.default_rng(4)
    chunks = []
    for words in (["a", "b"], ["c", "a", "b"], ["b"], ["d", "c"]):
        keys = rng.integers(0, len(words), ROWS // 4)
        mask = rng.random(len(keys)) < 0.2 if nulls else None
        chunks.append(pa.DictionaryArray.from_arrays(pa.array(keys, key, mask=mask), pa.array(words)))
    source = pa.chunked_array(chunks)
    values = pa.concat_arrays([chunk.cast(pa.string()) for chunk in chunks])
    for rows in (rng.integers(0, ROWS, ROWS), np.arange(0, ROWS, 1000), np.arange(ROWS)):
        result = table.gather(source, rows)
        result.validate(full=True)
        assert result.chunk(0).dictionary.to_pylist() == ["a", "b", "c", "d"]
        assert result.cast(pa.string()).combine_chunks().equals(values.take(pa.array(rows)))


def test_a_bad_key_is_an_error_only_if_its_row_is_taken():
    good = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 20_000, pa.int32()), pa.array(["a", "b"]))
    bad = pa.DictionaryArray.from_arrays(pa.array([0, 7, 0, 9], pa.int32()), pa.array(["c"]), safe=False)
    source = pa.chunked_array([good, bad])
    rows = np.tile([0, 40_000], 20_000)
    assert set(table.gather(source, rows).to_pylist()) == {"a", "c"}
    with pytest.raises(BufferError, match="key 9 lies outside of its dictionary of 1 values"):
        table.gather(source, np.concatenate([rows, [40_003, 40_001], rows]))


RUNS = {"none": [0], "all": [1], "head": [1, 0], "long": [1, 0, 0, 1, 1, 0, 1], "tail": [0, 0, 0, 1]}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cuts", ["two", "odd"])
@pytest.mark.parametrize("runs", RUNS)
def test_masks_of_long_runs(whole, runs, cuts, threads):
    mask = np.resize(np.repeat(RUNS[runs], ROWS // len(RUNS[runs]) + 1), ROWS).astype(bool)
    source, other = in_chunks(whole, CUTS[cuts]), table.gather(whole, np.arange(ROWS)[::-1])
    both = pa.concat_tables([whole, other])
    number = np.arange(ROWS)
    with gs.thread_limit(threads):
        results = {
            "filter": (table.filter(source, mask), np.flatnonzero(mask)),
            "choose": (table.copy_if_else(source, other, mask), np.where(mask, number, ROWS + number)),
            "write": (
                table.boolean_mask_scatter(other, source, pa.array(mask)),
                np.where(mask, ROWS - 1 + np.cumsum(mask), number),
            ),
        }
        for result, rows in results.values():
            result.validate(full=True)
            assert result.combine_chunks().equals(both.take(pa.array(rows)).combine_chunks())
        filled = table.boolean_mask_scatter(5, source["int"], mask).to_numpy()
    np.testing.assert_array_equal(filled, np.where(mask, 5, whole["int"].to_numpy()))
