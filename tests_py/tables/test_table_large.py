"""test_table_large.py: more than 2**31 rows, elements and bytes, without physical memory where possible.

Null arrays, runs and lists of nulls have any number of rows and no memory, so most of these tests always run.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import table

MANY = 2**31 + 1000
ROWS = [-1, 0, 2**31 - 1, 2**31, 2**31 + 7, -(2**31), MANY - 1]


def without_memory(type: pa.DataType, data: np.ndarray, rows: int, valid: np.ndarray | None = None) -> pa.Array:
    """An array over zero pages that the system allocates only when they are written."""
    bits = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(type, rows, [bits, pa.py_buffer(data)])


def nothing(rows: int) -> pa.Array:
    """A null array without memory, which `pa.nulls` would allocate."""
    return pa.Array.from_buffers(pa.null(), rows, [None])


# ---- without memory


def test_null_arrays():
    source = pa.chunked_array([nothing(2**40), nothing(3), nothing(2**33)])
    size = len(source)
    for rows in ([0, size - 1, -size, 2**40 + 2], [], [2**32]):
        assert table.gather(source, rows).null_count == len(rows)
    for row in (size, -size - 1):
        with pytest.raises(gs.OutOfBoundsError) as caught:
            table.gather(source, [0, row])
        assert caught.value.size == size and caught.value.index == row
    assert len(table.gather(source, [size, -1], "nullify", negative="from_end")) == 2


def test_long_runs():
    """Run-end encoded rows beyond 2**31, alone and in a struct, and in chunks with more than 2**32 rows together."""
    ends = [2**31 - 1, 2**31, 2**32, 2**40]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int64()), pa.array(["a", "b", None, "d"]))
    rows = [2**31 - 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 - 1, -1, -(2**40), 0]
    want = ["a", "b", None, None, "d", "d", "d", "a", "a"]
    assert table.gather(runs, rows).to_pylist() == want
    assert table.gather(runs.slice(2**31), [0, 2**31]).to_pylist() == [None, "d"]
    struct = pa.StructArray.from_arrays([runs], ["r"])
    assert table.gather(struct, rows).to_pylist() == [{"r": value} for value in want]
    double = pa.chunked_array([runs, runs.slice(5)])
    assert table.gather(double, [2**40 - 1, 2**40, 2**41 - 6, 2**40 + 2**31 - 5]).to_pylist() == ["d", "a", "d", None]


def test_lists_of_more_than_2_31_elements():
    """Elements without bytes: 32-bit offsets of lists overflow after 2**31 elements, those of large lists do not."""
    step = 2**30
    lists = pa.ListArray.from_arrays(pa.array([0, step, 2 * step - 1, 2 * step - 1], pa.int32()), nothing(2 * step))
    result = table.gather(lists, [0, 1, 2, 0, 1, 0])
    assert isinstance(result, pa.ChunkedArray) and result.type == lists.type
    lengths = [length for chunk in result.chunks for length in np.diff(chunk.offsets.to_numpy()).tolist()]
    assert lengths == [step, step - 1, 0, step, step - 1, step]
    assert all(len(chunk.values) <= 2**31 - 1 for chunk in result.chunks)
    wide = pa.LargeListArray.from_arrays(pa.array([0, 3 * step, 2**40], pa.int64()), nothing(2**40))
    result = table.gather(wide, [0, 0, -1])
    assert isinstance(result, pa.Array)
    assert np.diff(result.offsets.to_numpy()).tolist() == [3 * step, 3 * step, 2**40 - 3 * step]


def test_fixed_lists_of_more_than_2_31_elements():
    lists = pa.FixedSizeListArray.from_arrays(nothing(2**34), 2**30)
    result = table.gather(lists, [15, 0, -16, 99], "nullify", negative="from_end")
    assert result.is_valid().to_pylist() == [True, True, True, False] and len(result.values) == 2**32


def test_views_of_more_than_2_31_elements():
    """Chunks with 2**31 - 1 elements each: one chunk with 32-bit offsets cannot hold them all."""
    most = 2**31 - 1
    offsets, sizes = pa.array([0, most - 5], pa.int32()), pa.array([most, 5], pa.int32())
    part = pa.ListViewArray.from_arrays(offsets, sizes, nothing(most))
    result = table.gather(pa.chunked_array([part, part, part]), [0, 5, 2, 3])
    result.validate(full=True)
    chunks = result.chunks if isinstance(result, pa.ChunkedArray) else [result]
    assert [size for chunk in chunks for size in chunk.sizes.to_pylist()] == [most, 5, most, 5]


# ---- with some memory


@pytest.mark.large
def test_more_than_2_31_rows():
    data = np.zeros(MANY, np.int8)
    for place, row in enumerate(ROWS):
        data[row] = place + 1
    source = without_memory(pa.int8(), data, MANY)
    want = data[np.array(ROWS)].tolist()
    for dtype in (np.int64, np.uint32, np.uint64):
        rows = np.array([row % MANY for row in ROWS], dtype)
        assert table.gather(source, rows).to_pylist() == want
    assert table.gather(source, ROWS).to_pylist() == want
    assert table.gather(source, [*ROWS, MANY, 2**32], "nullify").to_pylist() == [*want, None, None]
    with pytest.raises(gs.OutOfBoundsError):
        table.gather(source, np.array([MANY], np.uint32))
    chunks = pa.chunked_array([source, source.slice(7), source])
    rows = [2**32 - 1, 2**32, MANY + 2**31 - 7, 2 * MANY - 7 + 2**31, -1, MANY - 1, MANY]
    whole = [data[row % MANY] if row < MANY else None for row in rows]
    starts = [0, MANY, 2 * MANY - 7, 3 * MANY - 7]
    for place, row in enumerate(rows):
        row = row % starts[3]
        chunk = next(k for k in range(3) if row < starts[k + 1])
        whole[place] = int(data[row - starts[chunk] + (7 if chunk == 1 else 0)])
    assert table.gather(chunks, rows).to_pylist() == whole


@pytest.mark.large
def test_more_than_2_31_bits():
    """Bools with a validity bitmap; a mask of equal length selects rows at both ends."""
    bits, valid = np.zeros(MANY // 8 + 1, np.uint8), np.full(MANY // 8 + 1, 255, np.uint8)
    bits[2**31 // 8] = 0b1010
    valid[2**31 // 8 + 1] = 0b1111_0000
    source = without_memory(pa.bool_(), bits, MANY, valid)
    rows = [2**31 + k for k in range(16)]
    want = [False, True, False, True] + [False] * 4 + [None] * 4 + [False] * 4
    assert table.gather(source, rows).to_pylist() == want
    assert table.gather(source.slice(5), [row - 5 for row in rows]).to_pylist() == want
    chosen = np.zeros(MANY // 8 + 1, np.uint8)
    chosen[[0, 2**31 // 8, 2**31 // 8 + 1]] = [1, 0b1111, 0b0011_1000]
    mask = without_memory(pa.bool_(), chosen, MANY)
    assert table.filter(source, mask).to_pylist() == [False, False, True, False, True, None, False, False]


@pytest.mark.large
def test_results_of_more_than_2_31_rows():
    """A map of zeros, except for one row number far from the beginning."""
    rows = np.zeros(MANY, np.int8)
    rows[[2**31 - 1, 2**31, -1]] = [1, 2, 1]
    source = pa.array([True, False, None])
    result = table.gather(source, rows)
    assert isinstance(result, pa.Array) and len(result) == MANY and result.null_count == 1
    assert result.true_count == MANY - 3
    assert result.slice(2**31 - 2, 4).to_pylist() == [True, False, None, True] and result[-1].as_py() is False
    rows[-2] = 3
    with pytest.raises(gs.OutOfBoundsError) as caught:
        table.gather(source, rows)
    assert caught.value.position == (MANY - 2,) and caught.value.total == MANY


@pytest.mark.large
def test_more_than_2_31_bytes_of_text():
    """A large_string column of 3 GiB, of which only the selected rows are read."""
    step, count = 1 << 20, 3000
    data = np.zeros(step * count, np.uint8)
    for row in (0, 2047, 2048, 2999):
        data[row * step : row * step + 4] = list(f"{row:04}".encode())
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * step)
    source = pa.Array.from_buffers(pa.large_string(), count, [None, offsets, pa.py_buffer(data)])
    rows = [2999, 2048, 0, 2047, -1]
    result = table.gather(source, rows)
    assert [value.as_py()[:4] for value in result] == ["2999", "2048", "0000", "2047", "2999"]
    assert {len(value.as_py()) for value in result} == {step}
    result = table.gather(pa.chunked_array([source, source.slice(2040)]), [3007, 3008, 3959])
    assert [value.as_py()[:4] for value in result] == ["2047", "2048", "2999"]


@pytest.mark.large
def test_a_string_column_that_ends_in_two_chunks():
    """At the real limit: 2**31 - 1 bytes fill one chunk exactly, one byte more needs a second chunk."""
    step = 1 << 20
    source = pa.array(["x" * step, "y" * (step - 1), "z"])
    rows = np.zeros(2048, np.int64)
    rows[-1] = 1
    result = table.gather(source, rows)
    assert isinstance(result, pa.Array) and result.buffers()[2].size >= 2**31 - 1
    assert result[2047].as_py() == "y" * (step - 1) and result[2046].as_py() == "x" * step
    del result
    result = table.gather(pa.table({"s": source, "n": [1, 2, 3]}), np.append(rows, [2, 0]))
    column = result.column("s")
    assert column.type == pa.string() and column.num_chunks == 2 and result.num_rows == 2050
    result.validate()
    assert [value.as_py()[0] for value in column.slice(2046)] == ["x", "y", "z", "x"]
    assert result.column("n").slice(2046).to_pylist() == [1, 2, 3, 1]


@pytest.mark.large
def test_chunks_of_more_than_2_31_bytes_together():
    """Each chunk has 32-bit offsets, all together have more text than 32 bits can address; they are read in place."""
    step, count = 1 << 20, 1800
    data = np.zeros(step * count, np.uint8)
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * step)
    chunk = pa.Array.from_buffers(pa.string(), count, [None, offsets, pa.py_buffer(data)])
    data[1799 * step] = ord("e")
    source = pa.chunked_array([chunk, chunk, chunk.slice(1000)])
    result = table.gather(source, [1799, 3599, -1, 0])
    assert [value.as_py()[:1] for value in result.chunk(0)] == ["e", "e", "e", "\0"]
