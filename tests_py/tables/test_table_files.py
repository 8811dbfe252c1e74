"""test_table_files.py: table.gather of tables in files, compared with the same table in memory."""

import io
import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from child_process import run
from gatherscatter._table import row_groups
from gatherscatter._table.row_groups import PieceOfRow
from gatherscatter.errors import IndexTypeError, InvalidArgument, NullIndexError
from table_types import LAYOUTS, TYPES
from table_values import values

N = 57
GROUP = 10


def table_of(n=N, seed=0):
    """Rows of several types, with nulls and with names that resemble paths of nested columns."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "i": pa.array(rng.integers(-9, 9, n), pa.int32(), mask=rng.random(n) < 0.3),
            "s": [None if x < 0.2 else "t" * int(9 * x) for x in rng.random(n)],
            "l": [None if x < 0.1 else [1.5] * int(4 * x) for x in rng.random(n)],
            "r": [{"a": int(x), "b": None} for x in rng.integers(0, 9, n)],
            "r.a": pa.array(rng.random(n)),
            "b": rng.random(n) < 0.5,
        }
    ).replace_schema_metadata({"of": "test"})


TABLE = table_of()


def files_of(folder, table=TABLE, cuts=(0, 20, 20, 33)):
    """The table as Parquet files, one of them without rows, in row groups of 10 rows."""
    paths = []
    for at, (begin, end) in enumerate(zip(cuts, [*cuts[1:], len(table)], strict=True)):
        paths.append(f"{folder}/{at}.parquet")
        pq.write_table(table.slice(begin, end - begin), paths[-1], row_group_size=GROUP)
    return paths


def feather_of(folder, compression):
    pyarrow.feather.write_feather(TABLE, f"{folder}/all.feather", compression=compression, chunksize=GROUP)
    return Path(folder) / "all.feather"


def one_file(folder):
    pq.write_table(TABLE, f"{folder}/one.parquet", row_group_size=GROUP)
    return f"{folder}/one.parquet"


def in_memory(folder):
    return ds.dataset(TABLE.to_batches(max_chunksize=GROUP), schema=TABLE.schema)


SOURCES = {
    "data set": lambda folder: ds.dataset(files_of(folder)),
    "paths": files_of,
    "tuple of paths": lambda folder: tuple(map(Path, files_of(folder))),
    "path": one_file,
    "Path": lambda folder: Path(one_file(folder)),
    "ParquetFile": lambda folder: pq.ParquetFile(one_file(folder)),
    "buffered ParquetFile": lambda folder: pq.ParquetFile(one_file(folder), pre_buffer=True, memory_map=True),
    "file object": lambda folder: pq.ParquetFile(io.BytesIO(Path(one_file(folder)).read_bytes())),
    "feather": lambda folder: feather_of(folder, "lz4"),
    "mapped feather": lambda folder: feather_of(folder, "uncompressed"),
    "data set of feather": lambda folder: ds.dataset(feather_of(folder, "zstd"), format="feather"),
    "data set in memory": in_memory,
    "union": lambda folder: ds.dataset([ds.dataset(files_of(folder)[:2]), ds.dataset(files_of(folder)[2:])]),
}
MAPS = {
    "none": [],
    "one": [41],
    "ascending": list(range(N)),
    "descending": list(range(-1, -N - 1, -1)),
    "random": np.random.default_rng(1).integers(-N, N, 300),
    "clustered": np.arange(21, 29, dtype=np.uint8),
    "arrow": pa.array([56, 0, 0, 20, 19, 33]),
    "polars": pl.Series([3, 30]),
    "range": range(N - 1, -1, -7),
}


@pytest.mark.parametrize("columns", [None, ["r.a", "s"], ["r", "b", "i", "l"], []], ids=["all", "two", "four", "none"])
@pytest.mark.parametrize("rows", MAPS)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("threads", [1, 40])
def test_as_in_memory(tmp_path, kind, rows, columns, threads):
    with gs.thread_limit(threads):
        result = gs.table.gather(SOURCES[kind](tmp_path), MAPS[rows], columns=columns)
    expected = gs.table.gather(TABLE, MAPS[rows], columns=columns)
    result.validate(full=True)
    assert result.equals(expected)
    assert result.schema.equals(expected.schema)
    assert len(result) == len(MAPS[rows])
    whole = TABLE.to_pylist()
    numbers = [int(row) for row in (MAPS[rows].to_pylist() if rows == "arrow" else MAPS[rows])]
    if columns is None:
        assert result.to_pylist() == [whole[row] for row in numbers]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("validate", ["basic", "full"])
def test_maps_in_parts(tmp_path, monkeypatch, kind, validate):
    """Long maps are sorted in parts; some pieces are kept whole, of others a few rows or none are taken."""
    monkeypatch.setattr(row_groups, "SLICE", 7)
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.integers(20, 30, 30), np.arange(33, 57), [56, 1, 21], rng.integers(20, 40, 20)])
    for wanted in (rows, np.where(rng.random(len(rows)) < 0.2, N, rows), rows[:0], np.full(20, N)):
        for threads in (1, 3):
            with gs.thread_limit(threads):
                result = gs.table.gather(SOURCES[kind](tmp_path), wanted, bounds="nullify", validate=validate)
            assert result.equals(gs.table.gather(TABLE, wanted, bounds="nullify"))


@pytest.mark.parametrize("kind", SOURCES)
def test_bounds(tmp_path, kind):
    source = SOURCES[kind](tmp_path)
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.table.gather(source, [0, 7, N, -N - 1])
    with pytest.raises(gs.OutOfBoundsError) as expected:
        gs.table.gather(TABLE, [0, 7, N, -N - 1])
    assert caught.value == expected.value
    with pytest.raises(NullIndexError):
        gs.table.gather(source, [0, None])
    with pytest.raises(IndexTypeError):
        gs.table.gather(source, np.array([0.5]))
    rows = pa.array([3, None, 10**12, -1, N])
    for negative in ("from_end", "out_of_bounds"):
        result = gs.table.gather(source, rows, bounds="nullify", negative=negative)
        wanted = gs.table.gather(TABLE, rows, bounds="nullify", negative=negative)
        assert result.equals(wanted)
        assert result.schema.equals(wanted.schema)
    assert len(gs.table.gather(source, [3, 10**12], bounds="unchecked")) == 2
    assert gs.table.gather(source, [None, 10**9], bounds="nullify").num_rows == 2


def test_words_and_names(tmp_path):
    paths = files_of(tmp_path)
    with pytest.raises(InvalidArgument, match=r"columns names 'x', but the source has 6 columns: 'i', 's'"):
        gs.table.gather(paths, [0], columns=["x"])
    with pytest.raises(ValueError, match="bounds"):
        gs.table.gather(paths, [0], bounds="clip")
    with pytest.raises(ValueError, match="validate"):
        gs.table.gather(paths, [0], validate="much")
    assert gs.table.gather(paths, [50], validate="full").equals(TABLE.slice(50, 1))


def test_a_filter_is_refused(tmp_path):
    filtered = ds.dataset(files_of(tmp_path)).filter(ds.field("i") > 0)
    with pytest.raises(InvalidArgument, match=r"has a filter.*to_table"):
        gs.table.gather(filtered, [0])


def test_partitions_and_differing_schemas(tmp_path):
    """Columns come from folder names, are null where a file lacks them, and are cast to the type of the data set."""
    for key, kind in ((1, pa.int64()), (2, pa.int16())):
        folder = tmp_path / f"key={key}"
        folder.mkdir()
        columns = {"i": pa.array([key, None, 10 * key], kind)}
        if key == 1:
            columns["extra"] = pa.array(["x", "y", None])
        pq.write_table(pa.table(columns), folder / "part.parquet", row_group_size=2)
    schema = pa.schema([("extra", pa.string()), ("key", pa.int32()), ("i", pa.int64())])
    data = ds.dataset(tmp_path, partitioning="hive", schema=schema)
    rows = [5, 0, 3, 2, 2, 4, 1]
    whole = data.to_table()
    assert gs.table.gather(data, rows).equals(whole.take(rows))
    assert gs.table.gather(data, rows, columns=["key"]).to_pydict() == {"key": [2, 1, 2, 1, 1, 2, 1]}


@pytest.mark.parametrize("kind", ["ipc", "csv"])
def test_other_formats_with_partitions(tmp_path, kind):
    data = pa.table({"key": [1, 1, 2, 2, 2], "n": range(5), "t": list("abcde")})
    ds.write_dataset(data, tmp_path, format=kind, partitioning=ds.partitioning(pa.schema([("key", pa.int64())])))
    source = ds.dataset(tmp_path, format=kind, partitioning=ds.partitioning(pa.schema([("key", pa.int64())])))
    rows = [4, 0, 0, 3, -1, 1]
    expected = source.to_table().take([4, 0, 0, 3, 4, 1])
    assert gs.table.gather(source, rows).equals(expected)
    assert gs.table.gather(source, rows, columns=["t"]).equals(expected.select(["t"]))


def test_a_stream_of_many_batches(tmp_path):
    """A CSV file has no parts of known length: its rows are taken from batches, in the order of the map."""
    n = 200_000
    pa.csv.write_csv(pa.table({"n": np.arange(n), "t": np.arange(n) % 7}), tmp_path / "all.csv")
    options = ds.CsvFragmentScanOptions(read_options=pa.csv.ReadOptions(block_size=1 << 16))
    source = ds.dataset(tmp_path / "all.csv", format=ds.CsvFileFormat(default_fragment_scan_options=options))
    for rows in (np.random.default_rng(0).integers(-n, n, 5_000), np.arange(10), np.array([n - 1, 0])):
        result = gs.table.gather(source, rows)
        assert result["n"].to_numpy().tolist() == (rows % n).tolist()
        assert result["t"].to_numpy().tolist() == (rows % n % 7).tolist()


@pytest.mark.parametrize("name", TYPES)
def test_types(tmp_path, name):
    rng = np.random.default_rng(len(name))
    table = pa.table({"c": LAYOUTS["cut"](TYPES[name], rng)})
    with pa.ipc.new_file(tmp_path / "all.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=20)
    rows = rng.integers(-len(table), len(table), 50)
    result = gs.table.gather(tmp_path / "all.arrow", rows)
    assert result.schema.equals(table.schema, check_metadata=True)
    result.validate(full=True)
    assert repr(values(result["c"])) == repr(values(gs.table.gather(table, rows)["c"]))  # a NaN equals no NaN


# Types that Parquet does not store, or gives back as others; seconds of random timestamps exceed its milliseconds.
NOT_IN_PARQUET = ("view", "union", "run_end", "dictionary", "interval", "struct[]", "[0]", ", 0]", "[s", "decimal64")


@pytest.mark.parametrize("name", [name for name in TYPES if not any(word in name for word in NOT_IN_PARQUET)])
def test_types_of_parquet(tmp_path, name):
    pq.write_table(
        pa.table({"c": LAYOUTS["cut"](TYPES[name], np.random.default_rng(1))}),
        tmp_path / "c.parquet",
        row_group_size=20,
    )
    whole = pq.read_table(tmp_path / "c.parquet")
    rows = np.random.default_rng(2).integers(0, len(whole), 50)
    result = gs.table.gather(tmp_path / "c.parquet", rows)
    assert result.schema.equals(whole.schema)
    assert repr(values(result["c"])) == repr(values(gs.table.gather(whole, rows)["c"]))


def test_dictionaries_of_row_groups(tmp_path):
    """Each row group has a dictionary of its own; the result has all keys."""
    table = pa.table({"d": pa.array(["a", "b", "c", "d", None, "a", "e", "f"]).dictionary_encode()})
    paths = []
    for at in (0, 4):
        paths.append(f"{tmp_path}/{at}.parquet")
        part = pa.table({"d": pa.array(table["d"].to_pylist()[at : at + 4]).dictionary_encode()})
        pq.write_table(part, paths[-1], row_group_size=2)
    result = gs.table.gather(paths, [7, 0, 4, -2, 3])
    assert result.schema.field("d").type == table.schema.field("d").type
    assert result["d"].to_pylist() == ["f", "a", None, "e", "d"]


def test_only_wanted_row_groups_and_columns_are_read(tmp_path):
    """Bytes of other row groups and columns may be broken."""
    path = one_file(tmp_path)
    metadata = pq.ParquetFile(path).metadata
    kept = metadata.row_group(3).column(0)
    start = kept.dictionary_page_offset if kept.has_dictionary_page else kept.data_page_offset
    data = bytearray(Path(path).read_bytes())
    last = metadata.row_group(metadata.num_row_groups - 1)
    end = max(last.column(c).data_page_offset + last.column(c).total_compressed_size for c in range(last.num_columns))
    for at in range(4, min(end, len(data) - metadata.serialized_size - 8)):
        if not start <= at < start + kept.total_compressed_size:
            data[at] ^= 0xFF
    Path(path).write_bytes(data)
    for source in (path, pq.ParquetFile(path)):
        assert gs.table.gather(source, [39, 30], columns=["i"]).equals(TABLE.select(["i"]).take([39, 30]))
        with pytest.raises(OSError, match=r"table\.gather: row group 0 of .* cannot be read") as caught:
            gs.table.gather(source, [39, 0], columns=["i"])
        assert isinstance(source, pq.ParquetFile) or path in str(caught.value)


def test_each_row_group_is_read_once(tmp_path, monkeypatch):
    read = []
    original = pq.ParquetFile.read_row_group
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda *a, **k: read.append(a[1]) or original(*a, **k))
    gs.table.gather(pq.ParquetFile(one_file(tmp_path)), [50, 3, 51, 4, 50, 29])
    assert sorted(read) == [0, 2, 5]


@pytest.mark.parametrize("is_broken", [False, True])
def test_readers_serve_all_row_groups_of_a_file_and_are_closed(tmp_path, monkeypatch, is_broken):
    paths = files_of(tmp_path)
    data = ds.dataset(paths)
    gs.table.gather(data, range(N))  # the data set has the metadata of its files
    if is_broken:
        whole = bytearray(Path(paths[-1]).read_bytes())
        metadata = int.from_bytes(whole[-8:-4], "little") + 8
        whole[4:-metadata] = bytes(len(whole) - metadata - 4)
        Path(paths[-1]).write_bytes(whole)
    opened = []
    original = pq.ParquetFile.__init__
    monkeypatch.setattr(pq.ParquetFile, "__init__", lambda *a, **k: opened.append(a[0]) or original(*a, **k))
    for threads in (1, 3):
        opened.clear()
        with gs.thread_limit(threads):
            if is_broken:
                with pytest.raises(OSError, match=r"row group \d of .*3\.parquet cannot be read"):
                    gs.table.gather(data, range(N))
            else:
                assert gs.table.gather(data, range(N)).equals(TABLE)
        assert len(opened) == 3 if threads == 1 else len(opened) <= 3 * threads
        assert all(file.reader.closed for file in opened)


def test_files_that_are_none(tmp_path):
    (tmp_path / "text").write_text("no table")
    with pytest.raises(InvalidArgument, match="neither a Parquet file nor an Arrow IPC file"):
        gs.table.gather(tmp_path / "text", [0])
    with pytest.raises(InvalidArgument, match=r"is a folder: open it as pyarrow\.dataset\.dataset"):
        gs.table.gather(tmp_path, [0])
    with pytest.raises(FileNotFoundError, match="missing"):
        gs.table.gather(str(tmp_path / "missing.parquet"), [0])
    with pytest.raises(InvalidArgument, match=r"give files of one format"):
        gs.table.gather([one_file(tmp_path), feather_of(tmp_path, "lz4")], [0])
    (tmp_path / "cut.parquet").write_bytes(Path(one_file(tmp_path)).read_bytes()[:100])
    with pytest.raises(OSError, match=r"cut\.parquet"):
        gs.table.gather(tmp_path / "cut.parquet", [0])
    with pytest.raises(TypeError, match=r"served by gatherscatter\.gather"):
        gs.table.gather([], [0])
    with pytest.raises(TypeError):
        gs.table.gather(["a", 1], [0])


def test_a_file_that_was_replaced(tmp_path):
    source = ds.dataset(one_file(tmp_path))
    gs.table.gather(source, [0])  # the data set keeps the metadata of the file
    pq.write_table(TABLE.slice(0, 5), tmp_path / "one.parquet")
    with pytest.raises(OSError, match=r"one\.parquet"):
        gs.table.gather(source, [50])


CTRL_C = """
import os, signal, threading, time
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import gatherscatter as gs
from gatherscatter._table import file_pieces
original = file_pieces.Group.tables
decoded = []
def slow(self, columns):
    decoded.append(self.info.id)
    if len(decoded) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    return original(self, columns)
file_pieces.Group.tables = slow
for threads in (1, 2):
    decoded.clear()
    try:
        with gs.thread_limit(threads):
            gs.table.gather(path, np.arange(0, 57))
    except KeyboardInterrupt:
        assert 3 <= len(decoded) < 6, decoded
        assert threading.active_count() == 1
    else:
        raise SystemExit("not interrupted")
file_pieces.Group.tables = original
assert gs.table.gather(path, [56]).num_rows == 1
"""


def test_ctrl_c(tmp_path):
    run(f"path = {one_file(tmp_path)!r}\n{CTRL_C}")


@pytest.mark.parametrize(
    "sizes", [[7], [0, 5, 0, 0, 0, 0, 0, 0, 1, 0], [1] * 300, [1000] * 90_000, [1, 10**9, 0, 3, 2**33]]
)
def test_pieces_of_rows(sizes):
    """The table of buckets finds what a binary search finds."""
    ends = np.cumsum(sizes)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.integers(0, ends[-1], 1000), [0, ends[-1] - 1], ends[:-1][ends[:-1] < ends[-1]]])
    finder = PieceOfRow(ends, np.dtype(np.int64), PieceOfRow.BUCKETS)
    assert (finder.table is None) == (sizes == [0, 5, 0, 0, 0, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(finder(rows), np.searchsorted(ends, rows, side="right"))


def test_other_operators_name_their_next_step(tmp_path):
    with pytest.raises(TypeError, match="source is of type"):
        gs.table.filter(ds.dataset(files_of(tmp_path)), [True] * N)


def test_bytes_paths_are_no_tables(tmp_path):
    with pytest.raises(TypeError):
        gs.table.gather(os.fsencode(one_file(tmp_path)), [0])


def test_values_of_a_partition_replace_those_of_its_file(tmp_path):
    for format, write in (("parquet", pq.write_table), ("feather", pa.feather.write_feather)):
        for key in (1, 2):
            folder = tmp_path / format / f"k={key}"
            folder.mkdir(parents=True)
            write(pa.table({"a": [1, 2], "k": pa.array([7, 7], pa.int32())}), str(folder / f"x.{format}"))
        source = ds.dataset(tmp_path / format, format=format, partitioning="hive")
        expected = source.to_table().take([3, 0])
        assert gs.table.gather(source, [3, 0]).equals(expected)
        assert expected["k"].to_pylist() == [2, 1]


def test_files_are_open_one_at_a_time(tmp_path):
    resource = pytest.importorskip("resource")
    paths = [tmp_path / f"{n}.arrow" for n in range(80)]
    for n, path in enumerate(paths):
        pa.feather.write_feather(pa.table({"a": [n]}), str(path), compression="uncompressed")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 30, before[1]))
    try:
        assert gs.table.gather(paths, [79, 3])["a"].to_pylist() == [79, 3]
        assert gs.table.gather(paths, range(80))["a"].to_pylist() == list(range(80))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("name", ["s3://bucket/x.parquet", "file:///x.parquet", ""])
def test_names_that_are_not_paths(name):
    with pytest.raises(InvalidArgument, match=r"is not a path of a file here: open it as pyarrow\.dataset"):
        gs.table.gather(name, [0])


def test_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgument, match="is not a regular file"):
        gs.table.gather(tmp_path / "pipe", [0])
