"""test_corrupt_columns.py: columns of pyarrow from a corrupt stream, whose lengths are beyond their buffers, as
arguments of calls on arrays; and columns beside masked arrays."""

import struct

import numpy as np
import pytest

import gatherscatter as gs

pa = pytest.importorskip("pyarrow")
N = 1237  # no other number of the stream
X = np.arange(9.0)
MASKED = np.ma.array(np.arange(9), mask=np.arange(9) % 3 == 0)


def corrupt(values):
    stream = pa.BufferOutputStream()
    batch = pa.record_batch({"a": pa.array(values)})
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    raw = stream.getvalue().to_pybytes().replace(struct.pack("<q", N), struct.pack("<q", 1 << 30))
    return pa.ipc.open_stream(raw).read_next_batch().column(0)


CALLS = {
    "take": lambda c, m: gs.take(X, c),
    "take, list": lambda c, m: gs.take(X, [c]),
    "take, masked": lambda c, m: gs.take(MASKED, c),
    "take_along_axis": lambda c, m: gs.take_along_axis(X, c, 0),
    "take_along_axis, list": lambda c, m: gs.take_along_axis(X[None], [c], 1),
    "put": lambda c, m: gs.put(X, c, 1),
    "put, list": lambda c, m: gs.put(X, [c], 1),
    "put, values": lambda c, m: gs.put(X, [1], c),
    "put, masked": lambda c, m: gs.put(MASKED, c, 1),
    "putmask": lambda c, m: gs.putmask(X, m, 1),
    "place": lambda c, m: gs.place(X, m, 1),
    "compress": lambda c, m: gs.compress(m, X),
    "repeat": lambda c, m: gs.repeat(X, c),
    "repeat, masked": lambda c, m: gs.repeat(MASKED, c),
    "roll": lambda c, m: gs.roll(X, c),
    "gather": lambda c, m: gs.gather(X, 0, c),
    "gather, mask": lambda c, m: gs.gather(X, 0, [1], mask=m),
    "gather_nd": lambda c, m: gs.gather_nd(X, (c,)),
    "scatter": lambda c, m: gs.scatter(X, 0, c, 1),
    "scatter, values": lambda c, m: gs.scatter(X, 0, [1], c),
    "tile_gather": lambda c, m: gs.tile_gather(X, (c,)),
    "plan": lambda c, m: gs.plan(gs.take, X, c),
}


@pytest.mark.parametrize("name", CALLS)
def test_columns_beyond_their_buffers_are_refused(name):
    before = X.copy(), MASKED.copy()
    with pytest.raises(BufferError, match="too small"):
        CALLS[name](corrupt(np.zeros(N, int)), corrupt(np.zeros(N, bool)))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(MASKED.filled(-1), before[1].filled(-1))


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_columns_are_indices_of_masked_arrays(library):
    module = pytest.importorskip(library)
    column = pa.array([4, 3]) if library == "pyarrow" else module.Series([4, 3])
    assert gs.take(MASKED, column).tolist() == [4, None]
    assert gs.take_along_axis(MASKED, column, 0).tolist() == [4, None]
    x = MASKED.copy()
    gs.put(x, column, [7, 8])
    assert x.tolist() == [None, 1, 2, 8, 7, 5, None, 7, 8]
    assert gs.repeat(x[:2], column).tolist() == [None] * 4 + [1] * 3
