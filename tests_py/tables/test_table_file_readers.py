"""test_table_file_readers.py: files without row groups, one reader in several threads, scans that end early."""

from textwrap import dedent

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from child_process import run

SCHEMA = pa.schema([("i", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.float32()))])


def test_files_without_row_groups_and_batches(tmp_path):
    empty, one = SCHEMA.empty_table(), pa.nulls(1)
    pq.ParquetWriter(tmp_path / "e.parquet", SCHEMA).close()
    pa.ipc.new_file(tmp_path / "e.arrow", SCHEMA).close()
    (tmp_path / "folder").mkdir()
    of_no_files = ds.dataset(tmp_path / "folder", schema=SCHEMA)
    for source in (tmp_path / "e.parquet", pq.ParquetFile(tmp_path / "e.parquet"), tmp_path / "e.arrow", of_no_files):
        assert gs.table.gather(source, []).equals(empty)
        nulls = gs.table.gather(source, [0], bounds="nullify")
        assert nulls.schema == SCHEMA and all(column.to_pylist() == one.to_pylist() for column in nulls.columns)
        with pytest.raises(gs.OutOfBoundsError, match="axis is empty"):
            gs.table.gather(source, [0])


def test_threads_share_a_parquet_file(tmp_path):
    """In a process of its own, because two threads in one reader of pyarrow break its memory."""
    code = """
        import threading
        import numpy as np, pyarrow as pa, pyarrow.parquet as pq, gatherscatter as gs
        pq.write_table(pa.table({"a": np.arange(1000)}), PATH, row_group_size=100)
        file, right = pq.ParquetFile(PATH), []

        def gather(seed):
            rows = np.random.default_rng(seed).integers(0, 1000, 300)
            right.extend((gs.table.gather(file, rows)["a"].to_numpy() == rows).all() for _ in range(5))

        threads = [threading.Thread(target=gather, args=(seed,)) for seed in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(right) == 30 and all(right)
        """
    run(dedent(code).replace("PATH", repr(str(tmp_path / "x.parquet"))))


def test_a_scan_that_fails_reads_nothing_later(tmp_path):
    """In a process of its own, because reads of pyarrow that go on after the error used memory that was freed."""
    code = """
        import pyarrow as pa, pyarrow.dataset as ds, gatherscatter as gs
        words = pa.table({name: ["s%d" % k for k in range(4000)] for name in "si"})
        with pa.ipc.new_file(PATH, words.schema) as file:
            for batch in words.to_batches(max_chunksize=300): file.write_batch(batch)
        source = ds.dataset(PATH, schema=pa.schema([("i", pa.int64()), ("s", pa.string())]), format="ipc")
        gs.set_num_threads(4)
        for _ in range(200):
            try:
                gs.table.gather(source, range(0, 4000, 200), columns=["i"])
            except OSError as error:
                assert "x.arrow cannot be read" in str(error)
            else:
                raise AssertionError("text is not int64")
        """
    run(dedent(code).replace("PATH", repr(str(tmp_path / "x.arrow"))))
