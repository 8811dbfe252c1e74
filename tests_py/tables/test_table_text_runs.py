"""test_table_text_runs.py: text and lists of long runs of rows, whose bytes are copied in blocks of rows."""

import numpy as np
import pyarrow as pa
import pytest

from gatherscatter import table

ROWS = 3 * 4096 + 17  # some blocks of rows
KINDS = {
    "string": (pa.string(), np.int32, 1),
    "large_binary": (pa.large_binary(), np.int64, 1),
    "list": (pa.list_(pa.int16()), np.int32, 2),
}


def column(kind, nulls, hidden, seed=0):
    """Rows of 0 to 4 items, some of them null; with `hidden`, null rows have items too."""
    dtype, offset, width = KINDS[kind]
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, ROWS)
    valid = rng.random(ROWS) >= nulls
    if not hidden:
        lengths[~valid] = 0
    offsets = np.concatenate([[3], 3 + np.cumsum(lengths)]).astype(offset)  # the first items belong to no row
    items = rng.integers(48, 123, (offsets[-1] + 5) * width, np.uint8)
    validity = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    if kind == "list":
        child = pa.Array.from_buffers(pa.int16(), offsets[-1] + 5, [None, pa.py_buffer(items)])
        return pa.Array.from_buffers(dtype, ROWS, [validity, pa.py_buffer(offsets)], children=[child])
    return pa.Array.from_buffers(dtype, ROWS, [validity, pa.py_buffer(offsets), pa.py_buffer(items)])


def masks():
    every = np.ones(ROWS, bool)
    yield every
    for begin, end in ((0, 1), (5, 4096), (4095, 4097), (4096, 8192), (100, 3 * 4096 + 1)):
        mask = every.copy()
        mask[begin:end] = False
        yield mask
    yield ~every


def items_of(result, kind):
    """The items between the first and the last offset: null rows of a result have none."""
    total = 0
    for chunk in result.chunks if isinstance(result, pa.ChunkedArray) else [result]:
        offsets = np.frombuffer(chunk.buffers()[1], KINDS[kind][1])[chunk.offset : chunk.offset + len(chunk) + 1]
        total += int(offsets[-1] - offsets[0])
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nulls, hidden", [(0, False), (0.1, False), (0.1, True)])
@pytest.mark.parametrize("chunks", [1, 3])
def test_runs_of_rows(kind, nulls, hidden, chunks):
    whole, other = column(kind, nulls, hidden), column(kind, nulls, hidden, seed=1)
    parts = pa.chunked_array([whole[at : at + ROWS // chunks + 1] for at in range(0, ROWS, ROWS // chunks + 1)])
    values, others = whole.to_pylist(), other.to_pylist()
    for mask in masks():
        kept = table.filter(parts, mask)
        kept.validate(full=True)
        assert kept.to_pylist() == [value for value, keep in zip(values, mask, strict=True) if keep]
        assert items_of(kept, kind) == sum(len(value) for value in kept.to_pylist() if value is not None)
        chosen = table.copy_if_else(parts, other, mask)
        chosen.validate(full=True)
        assert chosen.to_pylist() == [a if keep else b for a, b, keep in zip(values, others, mask, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [1, 2000, 4096, 4097, ROWS - 1])
@pytest.mark.parametrize("value", [-1, 0, 1 << 30])
def test_offsets_out_of_order_are_refused(kind, at, value):
    good = column(kind, 0, False)
    buffers = good.buffers()
    offsets = np.frombuffer(buffers[1], KINDS[kind][1]).copy()
    offsets[at] = value
    if kind == "list":
        bad = pa.Array.from_buffers(good.type, ROWS, [None, pa.py_buffer(offsets)], children=[good.values])
    else:
        bad = pa.Array.from_buffers(good.type, ROWS, [None, pa.py_buffer(offsets), buffers[2]])
    with pytest.raises(BufferError, match="not in order"):
        table.filter(bad, np.ones(ROWS, bool))
