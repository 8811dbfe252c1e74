"""test_table_overflow.py: results whose 32-bit offsets would overflow are split into chunks of unchanged type.

The largest offset is 2**31 - 1; a setting for tests lowers it here. Run ends of 16 bits have the limit 32767.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pyarrow as pa
import pytest

import reference_table as reference
from gatherscatter import _core, table
from table_maps import rng_of
from table_types import TYPES, How, build, in_chunks
from table_values import differences, lists_of, values

LIMIT = 1000


@contextlib.contextmanager
def offset_limit(limit):
    before = _core.set_offset_limit(limit)
    try:
        yield
    finally:
        assert _core.set_offset_limit(before) == limit


@pytest.fixture
def small_limit():
    with offset_limit(LIMIT):
        yield


def check_parts(result, like, want, least=2):
    """Check that a result has several chunks that together equal the oracle's rows."""
    result.validate(full=True)
    columns = result.columns if isinstance(result, pa.Table) else [result]
    assert len(columns) == len(want)
    for column, rows in zip(columns, want, strict=True):
        assert sum(len(chunk) for chunk in column.chunks) == len(rows)
        wrong = differences(column.type, values(column), rows)
        assert not wrong, f"{column.type}: {wrong}"
    split = columns[0]
    assert least <= split.num_chunks <= 2 * len(want[0]) and all(len(chunk) for chunk in split.chunks)
    if isinstance(like, pa.Table):
        assert result.schema.equals(like.schema, check_metadata=True)
    else:
        assert split.type.equals(like.type, check_metadata=True)


def largest_offset(array):
    """The largest of all 32-bit offsets in the array."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return largest_offset(array.storage)
    if pa.types.is_string(type) or pa.types.is_binary(type):
        offsets = np.frombuffer(array.buffers()[1], np.int32)
        return int(offsets[array.offset + len(array)]) if len(array) else 0
    own, children = 0, []
    if pa.types.is_map(type):
        own, children = array.offsets[-1].as_py(), [array.keys, array.items]
    elif pa.types.is_list(type):
        own, children = array.offsets[-1].as_py(), [array.values]
    elif pa.types.is_struct(type):
        children = [array.field(i) for i in range(type.num_fields)]
    elif pa.types.is_union(type):
        children = [array.field(i) for i in range(type.num_fields)]
        own = max((len(child) for child in children), default=0) if type.mode == "dense" else 0
    elif pa.types.is_run_end_encoded(type) or (pa.types.is_nested(type) and hasattr(array, "values")):
        children = [array.values]
    return max([own, *map(largest_offset, children)])


SPLIT = [
    *("string", "binary", "list[int16]", "map[string, int32]", "list[struct[list[string]]]", "labels"),
    *("list[list[list[int32]]]", "map[string, list[int32]]", "struct", "struct[struct[struct]]", "fixed_list[struct]"),
    *("large_list[string]", "large_list_view[string]", "list[dictionary]", "list[run_end]", "list[sparse_union]"),
    *("dense_union[list, dictionary]", "sparse_union", "dense_union", "list[list_view[int16]]", "struct[dense_union]"),
]
ROWS = 2000


@pytest.mark.parametrize("name", SPLIT)
def test_gather_splits(name, small_limit):
    rng = rng_of(name)
    source = in_chunks(TYPES[name], [40, 10], rng, How(nulls=0.1, cut=True))
    rows = [int(i) for i in rng.integers(-50, 50, ROWS)]
    want = reference.gather([values(source)], 50, rows)
    result = table.gather(source, rows)
    check_parts(result, source, want)
    assert max(largest_offset(chunk) for chunk in result.chunks) <= LIMIT
    check_parts(table.gather(source, [*rows, 99], "nullify", negative="from_end"), source, [[*want[0], None]])


@pytest.mark.parametrize("name", ["string", "list[int16]", "list[struct[list[string]]]", "fixed_list[struct]"])
def test_no_more_chunks_than_needed(name, small_limit):
    """A chunk ends where the next rows would not fit, so half as many chunks could not hold the rows."""
    rng = rng_of(name)
    source = build(TYPES[name], 50, rng, How())
    rows = rng.integers(0, 50, ROWS)
    result = table.gather(source, rows)
    _core.set_offset_limit(2**31 - 1)
    whole = table.gather(source, rows)
    _core.set_offset_limit(LIMIT)
    assert isinstance(whole, pa.Array) and result.num_chunks <= 2 * math.ceil(largest_offset(whole) / LIMIT) + 1


@pytest.mark.parametrize(
    "name", ["large_string", "large_binary", "string_view", "binary_view", "int64", "null", "bool"]
)
def test_what_has_no_small_offsets_is_never_split(name, small_limit):
    source = build(TYPES[name], 50, rng_of(name), How(nulls=0.1))
    rows = [int(i) for i in rng_of(name).integers(0, 50, ROWS)]
    result = table.gather(source, rows)
    assert isinstance(result, pa.Array)
    assert values(result) == reference.gather([values(source)], 50, rows)[0]


def test_exactly_full(small_limit):
    """As many bytes as the limit fit into one chunk; one byte more does not."""
    source = pa.array(["x" * 10, "y"])
    assert isinstance(table.gather(source, [0] * 100), pa.Array)
    result = table.gather(source, [0] * 100 + [1])
    assert isinstance(result, pa.ChunkedArray) and result.num_chunks == 2
    assert result.to_pylist() == ["x" * 10] * 100 + ["y"]
    lists = pa.array([list(range(10)), [1]])
    assert isinstance(table.gather(lists, [0] * 100), pa.Array)
    assert table.gather(lists, [0] * 100 + [1]).to_pylist() == [list(range(10))] * 100 + [[1]]


def test_rows_without_bytes_need_no_room(small_limit):
    source = pa.array(["x" * 1000, "", None])
    assert isinstance(table.gather(source, [0] + [1, 2] * 3000), pa.Array)


# ---- results of gathers


def test_split_results_have_the_kind_of_the_source(small_limit):
    rows = np.arange(500) % 3
    column = pa.array(["abcde", None, "fghij"])
    expected = [column[i].as_py() for i in rows]
    for source in (column, pa.chunked_array([column])):
        result = table.gather(source, rows)
        assert isinstance(result, pa.ChunkedArray) and result.num_chunks > 1 and result.to_pylist() == expected
    whole = pa.table({"s": column, "n": [1, 2, 3]}, metadata={"a": "b"})
    result = table.gather(whole, rows)
    check_parts(result, whole, reference.gather(lists_of(whole), 3, rows.tolist()))
    with pytest.raises(OverflowError, match=r"(?i)record.?batch|chunk|Table"):
        table.gather(whole.to_batches()[0], rows)
    small = table.gather(whole.to_batches()[0], rows[:100])
    assert isinstance(small, pa.RecordBatch) and small.num_rows == 100


def test_one_column_splits_all(small_limit):
    """Columns that would fit are split at the rows of the column that does not."""
    rng = rng_of("all")
    columns = {name: build(TYPES[name], 30, rng, How(nulls=0.2)) for name in ("string", "int32", "list[int16]", "bool")}
    source = pa.table(columns)
    rows = [int(i) for i in rng.integers(0, 30, ROWS)]
    result = table.gather(source, rows)
    check_parts(result, source, reference.gather(lists_of(source), 30, rows))
    assert result.to_reader().read_all().equals(result)


def test_one_row_that_does_not_fit(small_limit):
    with pytest.raises((OverflowError, ValueError), match="offsets"):
        table.gather(pa.array(["x" * 1001]), [0])
    assert len(table.gather(pa.array(["x" * 1000]), [0])) == 1


# ---- the other operators


def test_scatter_splits(small_limit):
    rng = rng_of("scatter")
    for name in ("string", "list[struct[list[string]]]"):
        source, target = (build(TYPES[name], n, rng, How(nulls=0.1)) for n in (300, 800))
        rows = [int(i) for i in rng.integers(-800, 800, 300)]
        want = reference.scatter([values(source)], 300, rows, [values(target)], 800)
        check_parts(table.scatter(source, rows, target), target, want)
        scalar = source[0]
        want = reference.scatter_scalars([values(source)[0]], rows, [values(target)], 800)
        check_parts(table.scatter([scalar], rows, target), target, want)


def test_masks_split(small_limit):
    rng = rng_of("masks")
    for name in ("string", "map[string, list[int32]]"):
        source, target = (build(TYPES[name], 800, rng, How(nulls=0.1)) for _ in range(2))
        bits = [bool(bit) for bit in rng.random(800) < 0.6]
        one, other = [values(source)], [values(target)]
        want = reference.boolean_mask_scatter(one, 800, other, 800, bits)
        check_parts(table.boolean_mask_scatter(source, target, bits), target, want)
        check_parts(table.filter(source, bits), source, reference.filter(one, 800, bits))
        check_parts(table.copy_if_else(source, target, bits), source, reference.copy_if_else(one, other, 800, bits))


def test_segmented_gather_splits(small_limit):
    lists = pa.array([["abcdefghij", None, ""], ["klmnopqrst"]] * 50)
    maps = pa.array([[0, 1, 0, 2], [0, 0]] * 50)
    result = table.segmented_gather(lists, maps)
    check_parts(result, lists, [reference.segmented_gather(values(lists), maps.to_pylist())])


# ---- run ends of 16 bits, dictionaries of few keys


@pytest.mark.parametrize("kind", ["column", "struct", "list"])
def test_short_run_ends(kind):
    """No chunk has more rows than its run ends can express, for any limit."""
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 7, 10], pa.int16()), pa.array(["a", None, "b"]))
    source = {
        "column": lambda: runs,
        "struct": lambda: pa.StructArray.from_arrays([runs], ["r"]),
        "list": lambda: pa.ListArray.from_arrays(pa.array(range(11), pa.int32()), runs),
    }[kind]()
    rows = rng_of(kind).integers(0, 10, 100_000)
    result = table.gather(source, rows)
    check_parts(result, source, reference.gather([values(source)], 10, rows.tolist()), least=4)
    assert max(len(chunk) for chunk in result.chunks) <= 2**15 - 1
    with pytest.raises(OverflowError):
        table.gather(pa.record_batch({"r": source}), rows)
    assert isinstance(table.gather(source, rows[: 2**15 - 1]), pa.Array)


@pytest.mark.parametrize("type", ["int32", "int64"])
def test_long_run_ends_are_not_split(type):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 7, 10], type), pa.array([1.5, None, -0.0]))
    rows = rng_of(type).integers(0, 10, 100_000)
    result = table.gather(runs, rows)
    result.validate(full=True)
    assert isinstance(result, pa.Array) and values(result) == reference.gather([values(runs)], 10, rows.tolist())[0]


def dictionary_of(keys, type):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(keys)), type), pa.array(keys))


@pytest.mark.parametrize(("type", "most"), [("int8", 128), ("uint8", 256), ("int16", 2**15), ("uint16", 2**16)])
def test_keys_that_do_not_fit(type, most):
    """A merged dictionary may have as many keys as its index type can express, and no more."""
    half = [f"a{i}" for i in range(most // 2)]
    first = dictionary_of(half, type)
    fits = dictionary_of([f"b{i}" for i in range(most // 2)], type)
    too_many = dictionary_of([f"b{i}" for i in range(most // 2 + 1)], type)
    rows = [0, most // 2, most - 1]
    result = table.gather(pa.chunked_array([first, fits]), rows)
    assert result.to_pylist() == ["a0", "b0", f"b{most // 2 - 1}"]
    assert len(result.chunk(0).dictionary) == most
    for call in (
        lambda: table.gather(pa.chunked_array([first, too_many]), rows),
        lambda: table.scatter(too_many[:1], [0], first),
        lambda: table.copy_if_else(first, too_many.slice(0, most // 2), [True] * (most // 2)),
    ):
        with pytest.raises((ValueError, OverflowError), match=r"(?i)dictionar|keys"):
            call()
    shared = dictionary_of(half[::-1], type)  # equal keys in another order add none
    result = table.gather(pa.chunked_array([first, shared]), rows)
    assert result.to_pylist() == ["a0", half[-1], half[0]] and len(result.chunk(0).dictionary) == most // 2


def test_the_offset_limit_is_that_of_the_format_by_default():
    """The function returns the previous limit, which no call has changed."""
    assert _core.set_offset_limit(5) == 2**31 - 1
    assert _core.set_offset_limit(2**31 - 1) == 5
