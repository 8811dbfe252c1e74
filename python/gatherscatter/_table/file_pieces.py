"""file_pieces.py: parts of a table in files that are decoded at once: row groups, record batches, fragments."""

from __future__ import annotations

import importlib
import struct
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from gatherscatter._table.paths import STEP_TO_DECRYPT

__all__ = ["Batch", "Group", "GroupOfFile", "MappedFile", "Piece", "Readers", "Stream", "mapped", "reading"]

pa: Any = importlib.import_module("pyarrow")
ds: Any = importlib.import_module("pyarrow.dataset")
pq: Any = importlib.import_module("pyarrow.parquet")


CHANGED = "it has changed since the data set was opened; open the data set anew"


@contextmanager
def reading(op: str, what: str) -> Iterator[None]:
    """Errors of pyarrow inside of the block become an OSError that names what could not be read."""
    try:
        yield
    except (MemoryError, FileNotFoundError, PermissionError):
        raise
    except (pa.ArrowException, OSError) as error:
        step = STEP_TO_DECRYPT if "decrypt" in str(error) else ""
        text = f"{op}: {what} cannot be read: {error}{step}"
        number = getattr(error, "errno", None)
        raise (OSError(text) if number is None else OSError(number, text)) from error


class Piece(ABC):
    """Rows of a table that follow each other and are decoded at once."""

    rows: int
    name: str
    is_mapped: bool = False  # whether its rows are memory of its file, which they keep open
    counts_memory: bool = True  # whether decoding it takes memory

    @abstractmethod
    def tables(self, columns: Sequence[int]) -> Iterable[Any]:
        """The rows of some of the wanted columns, by their places: tables that follow each other."""

    def bytes(self, columns: Sequence[int]) -> int:
        """About how much memory decoding takes; 0 where nothing is known."""
        return 0


class Readers:
    """Open readers of Parquet files. A reader serves one thread at a time; one that no thread uses is kept for the next
    row group of its file: of row groups of 16,384 rows and 8 columns, opening takes a fifth of the time.

    A data set may have kept the metadata of a file since long before the call. So the first thread that reads a file of
    it compares them with those that the file has now.
    """

    def __init__(self, most: int, are_new: bool = True) -> None:
        self.most, self.are_new = most, are_new
        self.idle: list[tuple[Any, Any]] = []  # fragments and their readers, the one that was used last at the end
        self.lock = threading.Lock()
        self.same: set[int] = set()  # identities of fragments, which the pieces keep

    def check(self, fragment: Any) -> None:
        """Raise OSError if a file is another one than that whose metadata the data set has."""
        if self.are_new or id(fragment) in self.same:
            return
        if not same_metadata(_metadata_now(fragment), fragment.metadata):
            raise OSError(CHANGED)
        self.same.add(id(fragment))

    @contextmanager
    def of(self, fragment: Any) -> Iterator[Any]:
        self.check(fragment)
        with self.lock:
            at = next((at for at, (other, _) in enumerate(self.idle) if other is fragment), None)
            reader = None if at is None else self.idle.pop(at)[1]
        if reader is None:
            reader = pq.ParquetFile(fragment.open(), metadata=fragment.metadata)
        try:
            yield reader
        except BaseException:
            _close(fragment, reader)
            raise
        with self.lock:
            self.idle.append((fragment, reader))
            late = self.idle[: max(0, len(self.idle) - self.most)]
            del self.idle[: len(late)]
        for fragment, reader in late:
            _close(fragment, reader)

    def close(self) -> None:
        while self.idle:
            _close(*self.idle.pop())


def _metadata_now(fragment: Any) -> Any:
    """The metadata that a file has now, read with the options of the data set, such as keys."""
    if fragment.filesystem is None:  # an open file or a buffer of the caller's
        return fragment.format.make_fragment(fragment.open()).metadata
    return fragment.format.make_fragment(fragment.path, filesystem=fragment.filesystem).metadata


def same_metadata(now: Any, kept: Any) -> bool:
    """Whether metadata of a Parquet file describe the same rows at the same places. Those of a ``_metadata`` file name
    the file of each column, which the file itself does not."""
    if now.equals(kept):
        return True
    groups = kept.num_row_groups
    if not groups or not kept.num_columns or not kept.row_group(0).column(0).file_path:
        return False
    return (
        now.num_row_groups == groups
        and now.schema.equals(kept.schema)
        and all(_places(now.row_group(at)) == _places(kept.row_group(at)) for at in range(groups))
    )


def _places(group: Any) -> list[Any]:
    chunks = [group.column(at) for at in range(group.num_columns)]
    places = [(c.path_in_schema, c.num_values, c.data_page_offset, c.total_compressed_size) for c in chunks]
    return [group.num_rows, places]


def _close(fragment: Any, reader: Any) -> None:
    """Close a reader, and its file unless that is an open file of the caller's."""
    reader.close(force=fragment.filesystem is not None)


class Group(Piece):
    """A row group of a Parquet file in a data set, which fills in columns that the file lacks.

    A file that has the columns itself is read without the scanner of the data set, in two thirds of the time.
    """

    def __init__(self, fragment: Any, info: Any, whole: Any, wanted: Any, is_plain: bool, readers: Readers) -> None:
        self.is_plain, self.readers = is_plain, readers
        self.fragment, self.info, self.whole, self.wanted = fragment, info, whole, wanted
        self.rows = info.num_rows
        self.name = f"row group {info.id} of {fragment.path or 'a buffer'}"

    def tables(self, columns: Sequence[int]) -> Iterable[Any]:
        if self.is_plain:
            names = [self.wanted.field(at).name for at in columns]
            with self.readers.of(self.fragment) as file:
                return (file.read_row_group(self.info.id, columns=names, use_threads=False).select(names),)
        self.readers.check(self.fragment)
        group = self.fragment.subset(row_group_ids=[self.info.id])
        return (_scanned(group, self.whole, self.wanted, columns).to_table(),)

    def bytes(self, columns: Sequence[int]) -> int:
        return _decoded(self.info.metadata, self.rows, [self.wanted.field(at) for at in columns])


class GroupOfFile(Piece):
    """A row group of a `ParquetFile`. Its reader may buffer for one call at a time, so the calls of all threads take
    turns; pyarrow shares the columns of each among its own threads, unless these are more than the call may use."""

    turns: ClassVar[weakref.WeakKeyDictionary[Any, threading.Lock]] = weakref.WeakKeyDictionary()
    of_turns: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, file: Any, at: int, names: Any, threads: int) -> None:
        self.file, self.at, self.names = file, at, names
        with self.of_turns:
            self.lock = self.turns.setdefault(file, threading.Lock())
        self.rows = file.metadata.row_group(at).num_rows
        self.name = f"row group {at} of the ParquetFile"
        self.use_threads = threads >= pa.cpu_count()

    def tables(self, columns: Sequence[int]) -> Iterable[Any]:
        with self.lock:
            if self.names is None:
                return (self.file.read_row_group(self.at, use_threads=self.use_threads).select(list(columns)),)
            names = [self.names[at] for at in columns]
            return (self.file.read_row_group(self.at, columns=names, use_threads=self.use_threads).select(names),)

    def bytes(self, columns: Sequence[int]) -> int:
        schema = self.file.schema_arrow
        fields = [schema.field(at if self.names is None else self.names[at]) for at in columns]
        return _decoded(self.file.metadata.row_group(self.at), self.rows, fields)


class Batch(Piece):
    """A record batch of an IPC file. A local file is mapped, so that only compressed buffers become memory."""

    is_mapped = True

    def __init__(self, fragment: Any, at: int, rows: int, wanted: Any, parallel: bool) -> None:
        self.fragment, self.at, self.rows, self.wanted, self.parallel = fragment, at, rows, wanted, parallel
        self.name = f"record batch {at} of {fragment.path or 'a buffer'}"

    @classmethod
    def of_file(cls, fragment: Any, wanted: Any, threads: int) -> Iterator[Batch]:
        schema = fragment.physical_schema
        parallel = threads >= pa.cpu_count()
        # The number of rows comes with the columns only, so the shortest column of the file is read for it.
        fixed = [at for at, field in enumerate(schema) if _bits(field.type)]
        first = min(fixed, key=lambda at: _bits(schema.field(at).type) or 0) if fixed else 0
        counter = _ipc_reader(fragment, [first] if len(schema) else [], parallel)
        for at in range(counter.num_record_batches):
            batch = counter.get_batch(at)
            batch.validate()
            yield cls(fragment, at, batch.num_rows, wanted, parallel)

    def tables(self, columns: Sequence[int]) -> Iterable[Any]:
        # The file is opened here, so that a data set of many files never has all of them open.
        names = [self.wanted.field(at).name for at in columns]
        own = self.fragment.physical_schema
        fields = [own.get_field_index(name) for name in names]
        batch = _ipc_reader(self.fragment, fields, self.parallel).get_batch(self.at)
        if not batch.schema.equals(pa.schema([own.field(at) for at in sorted(fields)])):
            raise OSError(CHANGED)
        return (pa.Table.from_batches([batch]).select(names),)


class MappedFile(Piece):
    """All record batches of a local IPC file that is not compressed. Its columns are memory of the file, so that it is
    decoded once: a thread each for 200 batches took 15 times as much processor time."""

    is_mapped = True
    counts_memory = False
    MOST_CHUNKS = 1 << 16  # whose parts are listed in some 0.1 s, whichever rows are wanted

    def __init__(self, table: Any, name: str, wanted: Any) -> None:
        self.table, self.name, self.wanted, self.rows = table, name, wanted, table.num_rows

    @classmethod
    def of_file(cls, fragment: Any, wanted: Any) -> MappedFile | None:
        """None for a file that is compressed, has far more columns and batches than rows that a call may want, or
        cannot be read as a whole."""
        if not _is_local(fragment):
            return None
        own = fragment.physical_schema
        try:
            with pa.memory_map(fragment.path) as file:  # the columns keep the map
                if not len(own) or _is_compressed(file):
                    return None
                reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=False))
                if reader.num_record_batches * len(own) > cls.MOST_CHUNKS:
                    return None
                # All columns, of which no page is read: a choice of them takes pyarrow six times as long.
                table = reader.read_all()
            if not table.schema.equals(own):
                return None
            table = table.select(wanted.names)
            table.validate()
        except (pa.ArrowException, OSError, struct.error):  # batch by batch, so that the error names the batch
            return None
        return cls(table, f"the record batches of {fragment.path}", wanted)

    def tables(self, columns: Sequence[int]) -> Iterable[Any]:
        return (self.table.select([self.wanted.field(at).name for at in columns]),)


def _is_compressed(file: Any) -> bool:
    """Whether the first record batch of an open IPC file is compressed, by the table `RecordBatch` of its message
    (https://github.com/apache/arrow/blob/main/format/Message.fbs), whose field 3 is `compression`."""
    file.seek(8)  # behind the magic bytes a file is a stream
    for message in pa.ipc.MessageReader.open_stream(file):
        if message.type == "record batch":
            data = memoryview(message.metadata)
            header = _field(data, _place(data, 0), 2)
            return header is None or _field(data, _place(data, header), 3) is not None
    return False


def _place(data: memoryview, at: int) -> int:
    """The place of the table of FlatBuffers that the offset at `at` leads to."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: memoryview, table: int, number: int) -> int | None:
    """The place of a field of a table of FlatBuffers; None where the table lacks it."""
    slots = table - int(struct.unpack_from("<i", data, table)[0])
    if 4 + 2 * number >= struct.unpack_from("<H", data, slots)[0]:
        return None
    offset = int(struct.unpack_from("<H", data, slots + 4 + 2 * number)[0])
    return table + offset if offset else None


class Stream(Piece):
    """A fragment without parts of known length, such as a CSV file. It is read from its start, batch by batch."""

    def __init__(self, fragment: Any, name: str | None, rows: int, whole: Any, wanted: Any, is_of_ipc: bool) -> None:
        self.fragment, self.rows, self.whole, self.wanted = fragment, rows, whole, wanted
        self.name = name or "a fragment in memory"
        self.is_mapped = self.is_of_ipc = is_of_ipc
        self.counts_memory = type(fragment).__name__ != "InMemoryFragment"

    def tables(self, columns: Sequence[int]) -> Iterable[Any]:
        if self.is_of_ipc:
            _check_batches(self.fragment, [self.wanted.field(at).name for at in columns])
        for batch in _scanned(self.fragment, self.whole, self.wanted, columns).to_batches():
            yield pa.Table.from_batches([batch])


def _scanned(fragment: Any, whole: Any, wanted: Any, columns: Sequence[int]) -> Any:
    names = {wanted.field(at).name: ds.field(wanted.field(at).name) for at in columns}
    return fragment.scanner(schema=whole, columns=names, use_threads=False, batch_readahead=1, batch_size=1 << 20)


def mapped(fragment: Any) -> Any:
    """The fragment of an IPC file over a map of it, if it is local.

    A scan reads ahead in threads of pyarrow, which go on after an error and then use memory that is freed (pyarrow 26);
    a map is read at once.
    """
    if not _is_local(fragment):
        return fragment
    file = pa.memory_map(fragment.path)
    now = fragment.format.make_fragment(file, partition_expression=fragment.partition_expression)
    if not now.physical_schema.equals(fragment.physical_schema):
        raise OSError(CHANGED)
    return now


def _check_batches(fragment: Any, names: Sequence[str]) -> None:
    """Raise ArrowInvalid for columns of an IPC file whose buffers are shorter than their rows. A scan, which casts
    columns, would read beyond them."""
    fields = [at for at, name in enumerate(fragment.physical_schema.names) if name in names]
    reader = pa.ipc.open_file(fragment.open(), options=pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False))
    for at in range(reader.num_record_batches if fields else 0):
        reader.get_batch(at).validate()


def _is_local(fragment: Any) -> bool:
    return isinstance(fragment.filesystem, importlib.import_module("pyarrow.fs").LocalFileSystem) and fragment.path


def _ipc_reader(fragment: Any, fields: list[int], parallel: bool) -> Any:
    source = pa.memory_map(fragment.path) if _is_local(fragment) else fragment.open()
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields, use_threads=parallel))


def _bits(kind: Any) -> int | None:
    """Bits of an item of a type of fixed size; None for all others."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return None


def _decoded(group: Any, rows: int, fields: Sequence[Any]) -> int:
    """The bytes of columns of a row group: as they lie in the file, and decoded. Text counts with its encoded length,
    so it takes more where the file has a dictionary of it."""
    chunks = [group.column(at) for at in range(group.num_columns)]
    total = 0
    for field in fields:
        prefix = f"{field.name}."
        own = [c for c in chunks if c.path_in_schema == field.name or c.path_in_schema.startswith(prefix)]
        bits = _bits(field.type)
        total += sum(c.total_compressed_size for c in own)
        total += rows * 4 + sum(c.total_uncompressed_size for c in own) if bits is None else rows * (bits + 1) // 8
    return total
