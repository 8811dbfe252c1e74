"""of_files.py: opens tables that lie in files: data sets and Parquet files of pyarrow, and paths."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatherscatter._table.column_names import places_of
from gatherscatter._table.file_pieces import Batch, Group, GroupOfFile, Piece, Readers, Stream, mapped, reading
from gatherscatter._table.paths import format_of, is_of_pyarrow
from gatherscatter._table.workers import each
from gatherscatter.errors import InvalidArgument, shown

__all__ = ["Files", "open_files"]


@dataclass(frozen=True)
class Files:
    """A table in files: the schema of the columns that are wanted, its rows in pieces, and what was opened for them."""

    schema: Any
    pieces: Sequence[Piece]
    readers: Readers


def open_files(op: str, source: Any, columns: Any, threads: int) -> Files:
    """The pieces of a table in files. Of the files themselves only their metadata are read.

    Raises
    ------
    InvalidArgument
        For a data set with a filter, a folder, files of two formats or of none that is known, and unknown columns.
    OSError
        If a file cannot be read.
    """
    if is_of_pyarrow(source, "ParquetFile"):
        return _of_parquet_file(op, source, columns, threads)
    dataset = source if is_of_pyarrow(source, "Dataset") else _dataset(op, source)
    schema = _schema(op, dataset.schema, columns)
    try:
        fragments = list(dataset.get_fragments())
    except ValueError as error:
        raise InvalidArgument(
            f"{op}: the data set has a filter, so that its rows have no numbers before it is read: "
            "gather from dataset.to_table(), or from the data set without the filter"
        ) from error
    readers = Readers(threads)
    found: list[list[Piece]] = [[] for _ in fragments]

    def load(at: int) -> None:
        with reading(op, f"the metadata of {_name(fragments[at])}"):
            fragments[at].ensure_complete_metadata()

    def divide(at: int) -> None:
        with reading(op, f"the metadata of {_name(fragments[at])}"):
            found[at] = list(_pieces(fragments[at], dataset.schema, schema, readers, threads))

    of_parquet = [at for at, fragment in enumerate(fragments) if _is_parquet(fragment)]
    others = [at for at, fragment in enumerate(fragments) if not _is_parquet(fragment)]
    each(of_parquet, load, threads)
    each(others, divide, threads)
    for at in of_parquet:  # metadata in memory, for which threads would only take turns
        divide(at)
    return Files(schema, [piece for pieces in found for piece in pieces], readers)


def _schema(op: str, schema: Any, columns: Any) -> Any:
    if columns is None:
        return schema
    places = places_of(op, schema.names, columns)
    return importlib.import_module("pyarrow").schema([schema.field(at) for at in places], metadata=schema.metadata)


def _of_parquet_file(op: str, file: Any, columns: Any, threads: int) -> Files:
    schema = _schema(op, file.schema_arrow, columns)
    names = None if columns is None else schema.names
    groups = [GroupOfFile(file, at, names, threads) for at in range(file.num_row_groups)]
    return Files(schema, groups, Readers(0))


def _dataset(op: str, source: Any) -> Any:
    """A data set of the files at some paths, whose format is read from their first bytes."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    names = [os.fsdecode(path) for path in given]
    for name in names:
        if not name or "://" in name:
            raise InvalidArgument(
                f"{op}: {shown(name)} is not a path of a file here: open it as pyarrow.dataset.dataset(...), "
                "and give that"
            )
    paths = [Path(name).expanduser() for name in names]
    formats = {format_of(op, path): path for path in paths}
    if len(formats) > 1:
        (one, first), (other, second) = list(formats.items())[:2]
        raise InvalidArgument(f"{op}: {first} is a file of {one}, {second} one of {other}: give files of one format")
    dataset = importlib.import_module("pyarrow.dataset").dataset
    with reading(op, f"the metadata of {paths[0]}"):
        return dataset([str(path) for path in paths], format=next(iter(formats)))


def _name(fragment: Any) -> str:
    return str(getattr(fragment, "path", None) or fragment)


def _is_parquet(fragment: Any) -> bool:
    return type(fragment).__name__ == "ParquetFileFragment"


def _pieces(fragment: Any, whole: Any, wanted: Any, readers: Readers, threads: int) -> Iterable[Piece]:
    """The row groups of a Parquet file, the record batches of an IPC file, or all rows of any other fragment."""
    if _is_parquet(fragment):
        usual = type(fragment.format)()
        scan = fragment.format.default_fragment_scan_options == usual.default_fragment_scan_options
        is_plain = scan and fragment.format == usual and _has(fragment, wanted)
        for info in fragment.row_groups:
            yield Group(fragment, info, whole, wanted, is_plain, readers)
    elif getattr(getattr(fragment, "format", None), "default_extname", "") in ("ipc", "arrow", "feather"):
        if _has(fragment, wanted):
            yield from Batch.of_file(fragment, wanted, threads)
        else:
            yield Stream(mapped(fragment), fragment.path, fragment.count_rows(), whole, wanted)
    else:
        yield Stream(fragment, getattr(fragment, "path", None), fragment.count_rows(), whole, wanted)


def _has(fragment: Any, wanted: Any) -> bool:
    """Whether the file itself has the columns, in their types, so that its record batches need no scanner.

    A column by which the data set is partitioned has the value of the partition, whatever the file holds.
    """
    own = fragment.physical_schema
    keys = importlib.import_module("pyarrow.dataset").get_partition_keys(fragment.partition_expression)
    return all(
        field.name not in keys and own.names.count(field.name) == 1 and own.field(field.name).type == field.type
        for field in wanted
    )
