"""test_table_file_memory.py: how many row groups of a table in files are decoded at a time, and the peak of memory."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from child_process import run_json
from gatherscatter.errors import InvalidArgument

MIB = 1 << 20


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


# ---- the peak of pyarrow's memory, for a file of which the decoded row groups take 96 MiB together

GROUPS, ROWS, WIDTH = 24, 1 << 16, 8
GROUP = 2 * WIDTH * ROWS * 8  # bytes of a row group in the file and decoded
THREADS = 4

SOURCES = {
    "path": "PATH",
    "ParquetFile": "pq.ParquetFile(PATH)",
    "data set with a column that the file lacks": (
        "ds.dataset(PATH, schema=pq.read_schema(PATH).append(pa.field('absent', pa.int8())))"
    ),
}

IMPORTS = "import numpy as np, pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq, gatherscatter as gs"
PEAK = """
rows = np.random.default_rng(1).integers(0, COUNT, 1 << 16)
result = gs.table.gather(source, rows, memory_budget=BUDGET)
assert (result["c0"].to_numpy() == rows).all()
print(pa.default_memory_pool().max_memory())
"""


@pytest.fixture(scope="module")
def many_groups(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    numbers = np.arange(GROUPS * ROWS)
    table = pa.table({f"c{column}": numbers for column in range(WIDTH)})
    pq.write_table(table, path, row_group_size=ROWS, compression="none", use_dictionary=False)
    return path


@pytest.mark.long
@pytest.mark.parametrize("budget", [None, GROUP + MIB])
@pytest.mark.parametrize("source", SOURCES)
def test_peak(many_groups, source, budget):
    values = f"PATH, COUNT, BUDGET = {str(many_groups)!r}, {GROUPS * ROWS}, {budget}"
    code = f"{values}\n{IMPORTS}\nsource = {SOURCES[source]}\n{PEAK}"
    peak = run_json(code, env={"GS_NUM_THREADS": str(THREADS)})
    at_once = THREADS if budget is None else 1
    # Threads of pyarrow may free the row group before late, and pages are decoded by copies of up to 1 MiB.
    allowed = 2 * at_once * (GROUP + MIB)
    assert GROUP / 2 <= peak <= allowed, f"{peak / MIB:.1f} MiB, allowed are {allowed / MIB:.1f}"
