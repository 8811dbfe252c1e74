"""of_files.py: opens tables that lie in files: data sets and Parquet files of pyarrow, and paths."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gatherscatter._table.column_names import places_of
from gatherscatter._table.file_paths import common_schema, fragments_at
from gatherscatter._table.file_pieces import (
    Batch,
    Group,
    GroupOfFile,
    MappedFile,
    Piece,
    Readers,
    Stream,
    mapped,
    reading,
)
from gatherscatter._table.paths import is_of_pyarrow
from gatherscatter._table.workers import each
from gatherscatter.errors import InvalidArgument

__all__ = ["Files", "open_files"]

MOST_MAPS = 1024  # files that are mapped at a time: Linux allows a process 65,530 maps


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
    paths: Any = None
    if is_of_pyarrow(source, "Dataset"):
        fragments = _fragments_of(op, source)
    else:
        paths, fragments = fragments_at(op, source)
    readers = Readers(threads, are_new=paths is not None)
    found: list[list[Piece]] = [[] for _ in fragments]
    schemas: list[Any] = [None] * len(fragments)

    def load(at: int) -> None:
        with reading(op, f"the metadata of {_name(fragments[at])}"):
            if _is_parquet(fragments[at]):
                fragments[at].ensure_complete_metadata()
            schemas[at] = fragments[at].physical_schema

    def divide(at: int) -> None:
        with reading(op, f"the metadata of {_name(fragments[at])}"):
            found[at] = list(_pieces(fragments[at], whole, schema, readers, threads, len(fragments) <= MOST_MAPS))

    of_parquet = [at for at, fragment in enumerate(fragments) if _is_parquet(fragment)]
    others = [at for at, fragment in enumerate(fragments) if not _is_parquet(fragment)]
    each(of_parquet if paths is None else range(len(fragments)), load, threads)
    whole = source.schema if paths is None else common_schema(op, paths, schemas, columns)
    schema = _schema(op, whole, columns)
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


def _fragments_of(op: str, dataset: Any) -> list[Any]:
    try:
        return list(dataset.get_fragments())
    except ValueError as error:
        raise InvalidArgument(
            f"{op}: the data set has a filter, so that its rows have no numbers before it is read: "
            "gather from dataset.to_table(), or from the data set without the filter"
        ) from error


def _name(fragment: Any) -> str:
    return str(getattr(fragment, "path", None) or fragment)


def _is_parquet(fragment: Any) -> bool:
    return type(fragment).__name__ == "ParquetFileFragment"


def _pieces(fragment: Any, whole: Any, wanted: Any, readers: Readers, threads: int, may_map: bool) -> Iterable[Piece]:
    """The row groups of a Parquet file, the record batches of an IPC file, or all rows of any other fragment."""
    if _is_parquet(fragment):
        usual = type(fragment.format)()
        scan = fragment.format.default_fragment_scan_options == usual.default_fragment_scan_options
        is_plain = scan and fragment.format == usual and _has(fragment, wanted)
        for info in fragment.row_groups:
            yield Group(fragment, info, whole, wanted, is_plain, readers)
    elif getattr(getattr(fragment, "format", None), "default_extname", "") in ("ipc", "arrow", "feather"):
        if _has(fragment, wanted):
            whole_file = MappedFile.of_file(fragment, wanted) if may_map else None
            yield from Batch.of_file(fragment, wanted, threads) if whole_file is None else [whole_file]
        else:
            yield Stream(mapped(fragment), fragment.path, fragment.count_rows(), whole, wanted, True)
    else:
        yield Stream(fragment, getattr(fragment, "path", None), fragment.count_rows(), whole, wanted, False)


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
