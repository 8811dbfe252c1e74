"""Tables whose buffers are mapped IPC files: rows are right, and calls wait for few page faults."""

import os
import time

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from mapped_files import drop, major_faults, read_single_pages

ROWS = 1 << 20
KEPT = 0.12
INDEX = np.random.default_rng(1).choice(ROWS, 200, replace=False)
MASK = np.zeros(ROWS, bool)
MASK[INDEX] = True
COLUMNS = {
    "numbers": lambda random: pa.FixedSizeListArray.from_arrays(pa.array(random.random(ROWS * 10)), 10),
    "strings": lambda random: pa.array([f"{i:080d}" for i in range(ROWS)]),
    "lists": lambda random: pa.ListArray.from_arrays(
        np.arange(0, (ROWS + 1) * 10, 10, dtype=np.int32), pa.array(random.random(ROWS * 10))
    ),
    "binary": lambda random: pa.array([bytes([i % 256]) * 70 for i in range(ROWS)], pa.binary(70)),
}


@pytest.fixture(scope="module", params=COLUMNS)
def path(request, tmp_path_factory):
    name = tmp_path_factory.mktemp("ipc") / "x.arrow"
    table = pa.table({"x": COLUMNS[request.param](np.random.default_rng(2))})
    with pa.OSFile(str(name), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    return name


def mapped(path):
    """The table, whose buffers are those of the mapped file; the pages of its schema are in memory."""
    drop(path)
    time.sleep(KEPT)
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    for chunk in table["x"].chunks:
        largest = max(chunk.buffers(), key=lambda buffer: 0 if buffer is None else buffer.size)
        read_single_pages(largest.address, largest.size)
    return table


@pytest.mark.parametrize("rows", [INDEX, np.sort(INDEX), MASK], ids=["numbers", "sorted", "mask"])
def test_rows_of_a_cold_file(path, rows):
    in_memory = pa.ipc.open_file(path.read_bytes()).read_all()
    take = gs.table.filter if rows.dtype == bool else gs.table.gather
    expected = take(in_memory, rows)
    table = mapped(path)
    assert major_faults(lambda: table.take(pa.array(INDEX)))[1] >= 150
    del table
    table = mapped(path)
    result, faults = major_faults(lambda: take(table, rows))
    assert faults <= 12  # those of bitmaps and offsets, which are short
    assert result.equals(expected)
    assert result.equals(
        in_memory.take(pa.array(np.flatnonzero(rows) if rows.dtype == bool else rows)).combine_chunks()
    )


def test_a_file_that_was_truncated_is_an_error(tmp_path):
    path = tmp_path / "x.arrow"
    table = pa.table({"x": np.zeros(12 << 20)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    table = mapped(path)
    os.truncate(path, 20 << 20)
    time.sleep(KEPT)
    for rows in ([5, 7], np.arange(100_000) * 100):
        with pytest.raises(OSError, match=r"x\.arrow' has 20971520 bytes, but the array is mapped from it up to"):
            gs.table.gather(table, pa.array(rows))
