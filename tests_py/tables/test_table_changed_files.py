"""Files that change: results own their memory, and a data set whose file was rewritten is an error."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from child_process import run
from table_types import LAYOUTS, TYPES
from table_values import values

LONG = [f"a long text, which is not inline, {k}" for k in range(40)]


def write_ipc(path, table, at_most=20, **options):
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table, max_chunksize=at_most)


def is_mapped(path):
    with open("/proc/self/maps") as lines:
        return any(str(path) in line for line in lines)


def is_unmapped_soon(path):
    """Threads of pyarrow may release the file a moment after the call."""
    end = time.monotonic() + 5
    while is_mapped(path) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_mapped(path)


def is_written_by_pyarrow(path, table):
    """Whether pyarrow reads back what it wrote, which it does not for dictionaries of some types."""
    try:
        write_ipc(path, table)
        with pa.OSFile(str(path)) as file:
            back = pa.ipc.open_file(file).read_all()
        back.validate()
        return repr(values(back["c"])) == repr(values(table["c"]))
    except (pa.ArrowException, OSError):
        return False


@pytest.mark.parametrize("name", TYPES)
def test_results_own_their_memory(tmp_path, name):
    """The file is overwritten in place after the call; no mapping of it is left."""
    rng = np.random.default_rng(len(name))
    column = LAYOUTS["cut"](TYPES[name], rng)
    keyed = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 0], chunk[:1]) for chunk in column.chunks[:1]])
    for at, given in enumerate((column, keyed) if name != "null" else (column,)):  # pyarrow 26 reads no such dictionary
        path = tmp_path / f"{at}.arrow"
        if not is_written_by_pyarrow(path, pa.table({"c": given})):
            assert at == 1
            continue
        rows = rng.integers(0, len(given), 30)
        expected = gs.table.gather(pa.table({"c": given}), rows)
        results = [gs.table.gather(path, rows), gs.table.gather(path, rows, "nullify", validate="full")]
        empty = gs.table.gather(path, [])
        assert is_unmapped_soon(path)
        path.write_bytes(b"\xff" * path.stat().st_size)
        for result in results:
            result.validate(full=name not in ("string", "labels"))
            assert repr(values(result["c"])) == repr(values(expected["c"]))
        assert empty.num_rows == 0


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_a_file_that_is_truncated_after_the_call(tmp_path, compression):
    """In a process of its own, because a page behind the end of a file ends the process."""
    keys = pa.DictionaryArray.from_arrays(pa.array(range(len(LONG)), pa.int8()), pa.array(LONG, pa.string_view()))
    table = pa.table(
        {
            "d": pa.array(LONG).dictionary_encode(),
            "v": pa.array(LONG, pa.string_view()),
            "l": pa.ListArray.from_arrays(range(len(LONG) + 1), keys),
        }
    )
    write_ipc(tmp_path / "x.arrow", table, compression=compression)
    code = f"""
    import os, pyarrow as pa, pyarrow.dataset as ds, gatherscatter as gs
    rows, path = [39, 0, 3, 25], {str(tmp_path / "x.arrow")!r}
    keyed = ds.dataset(path, format="ipc", schema=pa.schema([("v", pa.string_view()), ("absent", pa.int8())]))
    result, kept = gs.table.gather(path, rows), gs.table.gather(keyed, rows)
    os.truncate(path, 0)
    texts = ["a long text, which is not inline, %d" % k for k in rows]
    assert result["d"].to_pylist() == result["v"].to_pylist() == kept["v"].to_pylist() == texts
    assert result["l"].to_pylist() == [[text] for text in texts]
    """
    run("\n".join(line[4:] for line in code.splitlines()))


def test_only_the_text_of_the_rows_is_kept(tmp_path):
    table = pa.table({"v": pa.array(["x" * 1000] * 4000, pa.string_view())})
    write_ipc(tmp_path / "x.arrow", table, 4000)
    assert gs.table.gather(tmp_path / "x.arrow", [3, 3999]).get_total_buffer_size() < 10_000


# ---- data sets whose files were rewritten

FIRST = pa.table({"a": range(30), "b": range(100, 130)})
REWRITTEN = {
    "swapped columns": FIRST.select(["b", "a"]),
    "another type": FIRST.set_column(0, "a", pa.array([f"{k:020d}" for k in range(30)])),
    "fewer rows": FIRST.slice(0, 20),
    "more rows": pa.concat_tables([FIRST, FIRST]),
    "another name": FIRST.rename_columns(["a", "c"]),
}


def write(path, table):
    (pq.write_table(table, path, row_group_size=10) if path.suffix == ".parquet" else write_ipc(path, table, 10))


@pytest.mark.parametrize("kind", ["parquet", "filled"])
@pytest.mark.parametrize("change", REWRITTEN)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_parquet_file_that_was_rewritten(tmp_path, change, kind, threads):
    path = tmp_path / "x.parquet"
    write(path, FIRST)
    schema = FIRST.schema if kind == "parquet" else FIRST.schema.append(pa.field("absent", pa.int8()))
    source = ds.dataset([path], schema=schema)
    rows = [29, 0, 15, 3]
    with gs.thread_limit(threads):
        assert gs.table.gather(source, rows)["b"].to_pylist() == [129, 100, 115, 103]
        write(path, REWRITTEN[change])
        for _ in range(2):
            with pytest.raises(OSError, match=r"row group \d of .*x\.parquet .*has changed since the data set"):
                gs.table.gather(source, rows)
        write(path, FIRST)  # the very file again
        assert gs.table.gather(source, rows)["a"].to_pylist() == rows
        assert gs.table.gather(ds.dataset([path], schema=schema), rows)["a"].to_pylist() == rows


@pytest.mark.parametrize("change", REWRITTEN)
@pytest.mark.parametrize("is_keyed", [False, True])
def test_an_ipc_file_that_was_rewritten(tmp_path, change, is_keyed):
    (tmp_path / "k=1").mkdir()
    path = tmp_path / "k=1" / "x.arrow"
    write(path, FIRST)
    source = ds.dataset(tmp_path if is_keyed else path, format="ipc", partitioning="hive" if is_keyed else None)
    rows = [19, 0, 15, 3]
    assert gs.table.gather(source, rows)["b"].to_pylist() == [119, 100, 115, 103]
    write(path, REWRITTEN[change])
    if "rows" in change:  # the record batches are counted by each call
        assert gs.table.gather(source, rows)["a"].to_pylist() == rows
        return
    with pytest.raises(OSError, match=r"x\.arrow .*has changed since the data set"):
        gs.table.gather(source, rows)


def test_the_metadata_of_several_files(tmp_path):
    """Those in a `_metadata` file name the file of each column, and those in the file do not."""
    parts = []
    pq.write_to_dataset(FIRST, tmp_path, metadata_collector=parts)
    pq.write_metadata(FIRST.schema, tmp_path / "_metadata", metadata_collector=parts)
    source = ds.parquet_dataset(tmp_path / "_metadata")
    assert gs.table.gather(source, [29, 1])["b"].to_pylist() == [129, 101]
    (name,) = tmp_path.glob("*.parquet")
    for table in (FIRST.select(["b", "a"]), FIRST.slice(1)):
        write(name, table)
        with pytest.raises(OSError, match="has changed since the data set"):
            gs.table.gather(source, [29, 1])
