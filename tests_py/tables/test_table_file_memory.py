"""test_table_file_memory.py: how many row groups of a table in files are decoded at a time, by threads and budget."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from gatherscatter.errors import InvalidArgument


def test_memory_budget(tmp_path):
    table = pa.table({"x": np.arange(40_000), "y": np.arange(40_000.0)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=10_000, compression="none", use_dictionary=False)
    rows = [39_999, 0, 12_345]
    for source in (tmp_path / "x.parquet", pq.ParquetFile(tmp_path / "x.parquet")):
        for budget in (400_000, 1 << 40, np.int64(1 << 20)):
            assert gs.table.gather(source, rows, memory_budget=budget).equals(table.take(rows))
        with pytest.raises(InvalidArgument, match=r"memory_budget is 100000 bytes, but row group \d of .* takes"):
            gs.table.gather(source, rows, memory_budget=100_000)
        assert gs.table.gather(source, rows, columns=["x"], memory_budget=200_000).num_columns == 1
    for budget, error in ((0, InvalidArgument), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="memory_budget is"):
            gs.table.gather(tmp_path / "x.parquet", rows, memory_budget=budget)


def test_memory_budget_of_text(tmp_path):
    """Text with a dictionary is longer than the file; what was decoded counts."""
    pq.write_table(pa.table({"s": ["x" * 1000] * 5_000}), tmp_path / "s.parquet")
    with pytest.raises(InvalidArgument, match=r"memory_budget is 100000 bytes, but row group 0 of .* takes 50\d{5} "):
        gs.table.gather(tmp_path / "s.parquet", [1], memory_budget=100_000)


@pytest.mark.parametrize("budget", [None, 400_000])
def test_threads(tmp_path, monkeypatch, budget):
    """No more pieces are decoded at a time than threads, or than the budget allows."""
    table = pa.table({"x": np.arange(160_000), "y": np.arange(160_000.0)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=10_000, compression="none", use_dictionary=False)
    from gatherscatter._table import file_pieces

    now, most, lock = 0, 0, threading.Lock()
    original = file_pieces.Group.tables

    def tables(self, columns):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        try:
            return original(self, columns)
        finally:
            with lock:
                now -= 1

    monkeypatch.setattr(file_pieces.Group, "tables", tables)
    rows = np.random.default_rng(0).integers(0, len(table), 2_000)
    with gs.thread_limit(3):
        assert gs.table.gather(tmp_path / "x.parquet", rows, memory_budget=budget).equals(table.take(rows))
    assert 1 <= most <= (3 if budget is None else 1)
