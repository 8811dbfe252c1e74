"""test_table_blocks.py: numbers of rows near the sizes of bitmap words and blocks, and rows for several threads."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import gatherscatter as gs
from gatherscatter import table
from parallel_calls import together
from table_maps import rng_of
from table_types import TYPES, How, build
from table_values import fingerprint

SIZES = (0, 1, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097)
COLUMNS = {
    "bool": pa.bool_(),
    "1": pa.int8(),
    "2": pa.int16(),
    "3": pa.binary(3),
    "4": pa.int32(),
    "5": pa.binary(5),
    "8": pa.int64(),
    "16": pa.decimal128(38, 0),
    "24": pa.binary(24),
    "32": pa.decimal256(70, 3),
    "string": pa.string(),
    "list": pa.list_(pa.int16()),
    "struct": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "dictionary": TYPES["dictionary[int8, string]"],
}


def table_of(rows: int, nulls: float) -> pa.Table:
    rng = rng_of((rows, nulls))
    columns = {name: build(type, rows, rng, How(nulls=nulls, cut=nulls > 0)) for name, type in COLUMNS.items()}
    return pa.table(columns)


def decoded(chunk: pa.Array) -> pa.Array:
    return chunk.dictionary.take(chunk.indices) if pa.types.is_dictionary(chunk.type) else chunk


def same(result: pa.Table, sources: list[pa.Table], rows: np.ndarray) -> None:
    """Check by pyarrow that the result has these rows of the concatenated sources; -1 is a null row."""
    result.validate(full=True)
    assert result.num_rows == len(rows)
    picks = pa.array(rows, pa.int64(), mask=rows < 0)
    for name, got in zip(result.column_names, result.columns, strict=True):
        chunks = [decoded(chunk) for source in sources for chunk in source[name].chunks]
        assert got.type == sources[0][name].type and got.num_chunks == 1
        got = decoded(got.chunk(0))
        want = pa.concat_arrays(chunks).take(picks)
        assert got.equals(want), name
        assert got.null_count == want.null_count


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("size", SIZES)
def test_sizes_of_the_result(size, nulls):
    source = table_of(100, nulls)
    rng = rng_of(size)
    rows = rng.integers(0, 100, size)
    same(table.gather(source, rows), [source], rows)
    missing = rng.random(size) < 0.2
    with_nulls = pa.array(np.where(missing, 77, rows), mask=missing)
    same(table.gather(source, with_nulls, "nullify"), [source], np.where(missing, -1, rows))
    beyond = np.where(missing, 100 + rows, rows)
    same(table.gather(source, beyond.astype(np.uint8), "nullify"), [source], np.where(missing, -1, rows))


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("size", SIZES)
def test_sizes_of_the_source(size, nulls):
    source = table_of(size, nulls)
    reverse = np.arange(size)[::-1]
    turned = table.gather(source, reverse)
    same(turned, [source], reverse)
    missing = np.array([-1, *range(size), -1])
    same(table.gather(source, [size, *range(size), -size - 1], "nullify", negative="from_end"), [source], missing)
    mask = rng_of(size).random(size) < 0.5
    same(table.filter(source, mask), [source], np.flatnonzero(mask))
    old, new = np.arange(size), np.arange(size, 2 * size)
    same(table.copy_if_else(source, turned, mask), [source, turned], np.where(mask, old, new))
    same(table.scatter(turned, old, source), [source, turned], new)
    old[mask] = new[: int(mask.sum())]
    same(table.boolean_mask_scatter(turned, source, mask), [source, turned], old)


# ---- many rows

MANY = 300_000


def many(rows: int = MANY) -> pa.Table:
    """Columns with nulls that are fast to make and to compare."""
    rng = rng_of("many")
    nulls = rng.random(rows) < 0.1
    numbers = rng.integers(0, 1 << 40, rows)
    lengths = rng.integers(0, 4, rows)
    offsets = pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32))
    elements = pa.array(rng.integers(0, 100, int(lengths.sum()), np.int8))
    text = pa.array(numbers).cast(pa.string())
    return pa.table(
        {
            "int64": pa.array(numbers, mask=nulls),
            "int8": pa.array(numbers.astype(np.int8)),
            "double": pa.array(rng.random(rows), mask=~nulls),
            "bool": pa.array(numbers % 2 == 0, mask=nulls),
            "string": pc.if_else(pa.array(nulls), None, text),
            "view": text.cast(pa.string_view()),
            "list": pa.ListArray.from_arrays(offsets, elements, mask=pa.array(nulls)),
            "list_view": pa.ListViewArray.from_arrays(offsets[:-1], pa.array(lengths.astype(np.int32)), elements),
            "fixed": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(2 * rows)), 2, mask=pa.array(nulls)),
            "decimal": pa.array(numbers).cast(pa.decimal128(38, 0)),
            "struct": pa.StructArray.from_arrays([pa.array(numbers), text], ["a", "b"], mask=pa.array(nulls)),
            "dictionary": pa.array(numbers % 50, mask=nulls).dictionary_encode(),
        }
    )


@pytest.fixture(scope="module")
def large() -> pa.Table:
    return many()


def calls(source: pa.Table) -> dict[str, object]:
    rng = rng_of("calls")
    rows = rng.integers(-MANY, MANY, MANY)
    missing = pa.array(np.abs(rows), mask=rng.random(MANY) < 0.1)
    mask = rng.random(MANY) < 0.4
    half = source.slice(0, MANY // 2)
    return {
        "gather": lambda: table.gather(source, rows),
        "nullify": lambda: table.gather(source, missing, "nullify"),
        "scatter": lambda: table.scatter(half, rows[: MANY // 2], source),
        "scalars": lambda: table.scatter([None] * source.num_columns, rows[: MANY // 5], source),
        "mask": lambda: table.boolean_mask_scatter(half, source, mask),
        "filter": lambda: table.filter(source, mask),
        "choice": lambda: table.copy_if_else(source, source.slice(0, MANY), mask),
    }


def digest(result: pa.Table) -> list[int | None]:
    """A checksum of each buffer, with its padding and the bytes of null rows."""
    buffers = [buffer for column in result.columns for chunk in column.chunks for buffer in chunk.buffers()]
    return [None if buffer is None else zlib.crc32(buffer) for buffer in buffers]


NAMES = ("gather", "nullify", "scatter", "scalars", "mask", "filter", "choice")


@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_threads_gives_the_same_bytes(name, large):
    call, results = calls(large)[name], []
    for threads in (1, 2, 5):
        with gs.thread_limit(threads):
            results.append(call())
        results[-1].validate(full=True)
    assert digest(results[0]) == digest(results[1]) == digest(results[2])


@pytest.mark.parametrize("name", ["gather", "nullify", "filter", "scatter", "mask", "choice"])
def test_many_rows_against_pyarrow(name, large):
    """Compared with pyarrow's take of the rows that the call selects; columns of views are cast to strings."""
    call, rng = calls(large)[name], rng_of("calls")
    rows = rng.integers(-MANY, MANY, MANY)
    nulls = rng.random(MANY) < 0.1
    mask = rng.random(MANY) < 0.4
    place = np.arange(MANY)
    if name == "gather":
        place = rows % MANY
    elif name == "nullify":
        place = np.where(nulls | (np.abs(rows) >= MANY), -1, np.abs(rows))
    elif name == "filter":
        place = np.flatnonzero(mask)
    elif name == "scatter":
        place[rows[: MANY // 2]] = np.arange(MANY // 2)
    elif name == "mask":
        place[mask] = np.arange(int(mask.sum()))
    taken = pa.array(place, mask=place < 0)
    result = call()
    for column in large.column_names:
        if "view" in column:
            assert [len(x.buffers()) for x in result[column].chunks] == [len(x.buffers()) for x in large[column].chunks]
            continue
        got, want = result[column], large[column].take(taken)
        if column == "dictionary":
            got, want = (x.cast(pa.int64()) for x in (got, want))
        assert got.equals(want), column
    views = result["view"].cast(pa.string())
    assert views.equals(large["view"].cast(pa.string()).take(taken))


@pytest.mark.parametrize("name", NAMES)
def test_calls_at_once(name, large):
    """Four Python threads share source, map and target."""
    call, before = calls(large)[name], fingerprint(large)
    expected = digest(call())
    results = {}
    together(4, lambda number: results.update({number: digest(call())}))
    assert all(results[number] == expected for number in range(4))
    assert fingerprint(large) == before


def test_errors_at_once(large):
    rows = np.arange(MANY)
    rows[[250_000, 299_999]] = MANY

    def work(number):
        with pytest.raises(gs.OutOfBoundsError) as caught:
            table.gather(large, rows)
        assert caught.value.position == (250_000,) and caught.value.count == 2

    together(4, work)
    for threads in (1, 2, 5):
        with gs.thread_limit(threads):
            work(0)
