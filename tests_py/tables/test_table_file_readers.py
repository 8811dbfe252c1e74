"""test_table_file_readers.py: files without row groups, readers that fail, one reader in several threads."""

import errno
import io
from textwrap import dedent

import numpy as np
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


class FailingFile(io.BytesIO):
    """A file whose reads raise EIO once `left` bytes were read; None: it works."""

    left = None

    def read(self, size=-1):
        taken = super().read(size)
        if self.left is not None:
            self.left -= len(taken)
            if self.left < 0:
                raise OSError(errno.EIO, "the disk failed")
        return taken


def in_a_failing_file():
    """A table, and the file that has it in ten row groups."""
    numbers = np.arange(10_000)
    table = pa.table({"a": numbers, "s": [f"row {i}" for i in numbers], "l": [[i, None] for i in numbers]})
    file = FailingFile()
    pq.write_table(table, file, row_group_size=1000, compression="none", use_dictionary=False)
    return table, file


def whole_file(file):
    return pq.ParquetFile(pa.PythonFile(file, mode="r"))


def data_set(file):
    """Its row groups are read by several threads, each of which opens a reader."""
    form = ds.ParquetFileFormat()
    fragment = form.make_fragment(pa.PythonFile(file, mode="r"))
    return ds.FileSystemDataset([fragment], fragment.physical_schema, form)


@pytest.mark.parametrize("threads", [1, 3])
def test_files_of_the_caller_stay_open(threads):
    table, file = in_a_failing_file()
    source = data_set(file)
    with gs.thread_limit(threads):
        for _ in range(2):
            assert gs.table.gather(source, [9999, 5]).equals(table.take([9999, 5]))
    assert source.to_table().equals(table)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("opened", [whole_file, data_set])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_read_that_fails_reaches_the_caller(opened, share, threads):
    table, file = in_a_failing_file()
    rows = np.random.default_rng(2).integers(0, len(table), 3000)
    kept, content = rows.copy(), file.getvalue()
    source = opened(file)
    expected = table.take(rows)
    with gs.thread_limit(threads):
        assert gs.table.gather(source, rows).equals(expected)
        for _ in range(3):
            file.left = int(share * len(content))
            with pytest.raises(OSError, match=r"table\.gather: .* cannot be read: .*the disk failed") as caught:
                gs.table.gather(source, rows)
            assert caught.value.errno == errno.EIO
            file.left = None
            assert gs.table.gather(source, rows).equals(expected)
            assert gs.table.gather(source, rows, columns=["a"])["a"].to_pylist() == rows.tolist()
    assert (rows == kept).all() and file.getvalue() == content


@pytest.mark.parametrize("opened", [whole_file, data_set])
def test_a_file_that_fails_at_once_is_an_error_of_the_call_that_opens_it(opened):
    table, file = in_a_failing_file()
    file.left = 0
    with pytest.raises(OSError, match="the disk failed"):
        gs.table.gather(opened(file), [0])
    file.left = None
    assert gs.table.gather(opened(file), [5]).equals(table.slice(5, 1))
