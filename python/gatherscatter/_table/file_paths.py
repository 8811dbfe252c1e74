"""file_paths.py: the files at some paths as fragments of pyarrow, and the schema that all of them have."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gatherscatter._table.column_names import places_of
from gatherscatter._table.file_pieces import reading
from gatherscatter._table.paths import format_of
from gatherscatter.errors import InvalidArgument, shown

__all__ = ["common_schema", "fragments_at"]

pa: Any = importlib.import_module("pyarrow")
ds: Any = importlib.import_module("pyarrow.dataset")
fs: Any = importlib.import_module("pyarrow.fs")


def fragments_at(op: str, source: Any) -> tuple[list[Path], list[Any]]:
    """The files at a path or a list of paths, whose format is read from their first bytes.

    Raises
    ------
    InvalidArgument
        For a name that is no path, a folder, and files of two formats or of none that is known.
    OSError
        If there is no such file, or it cannot be read.
    """
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    paths = [_path(op, os.fsdecode(path)) for path in given]
    formats = {format_of(op, path): path for path in paths}
    if len(formats) > 1:
        (one, first), (other, second) = list(formats.items())[:2]
        raise InvalidArgument(f"{op}: {first} is a file of {one}, {second} one of {other}: give files of one format")
    form = ds.ParquetFileFormat() if "parquet" in formats else ds.IpcFileFormat()
    local = fs.LocalFileSystem()
    return paths, [_fragment(op, form, local, path) for path in paths]


def _path(op: str, name: str) -> Path:
    """The path with a name. An absolute one, because pyarrow takes a relative one with a colon for an address."""
    if not name or "://" in name or "\0" in name:
        raise InvalidArgument(
            f"{op}: {shown(name)} is not a path of a file here: open it as pyarrow.dataset.dataset(...), and give that"
        )
    is_of_home = name == "~" or name.startswith("~/") or (name.startswith("~") and not os.path.lexists(name))
    return Path(os.path.abspath(os.path.expanduser(name) if is_of_home else name))


def _fragment(op: str, form: Any, local: Any, path: Path) -> Any:
    try:
        str(path).encode()
    except UnicodeEncodeError:  # pyarrow opens such a file by the bytes of its name only, and fragments have text
        with reading(op, f"the file {str(path)!a}"):
            return form.make_fragment(pa.OSFile(os.fsencode(path)))
    return form.make_fragment(str(path), filesystem=local)


def common_schema(op: str, paths: Sequence[Path], schemas: Sequence[Any], columns: Any) -> Any:
    """The schema of the wanted columns of some files, all columns if `columns` is None.

    The columns match by their names. A column is nullable if it is in one of the files.

    Raises
    ------
    InvalidArgument
        If the files do not have the same columns, or a column has another type in one of them.
    """
    first = schemas[0]
    places = range(len(first)) if columns is None else places_of(op, first.names, columns)
    fields = [first.field(at) for at in places]
    for path, schema in zip(paths[1:], schemas[1:], strict=True):
        if schema.equals(first):
            continue
        if columns is None:
            _require_columns_of(op, paths[0], first, path, schema)
            _require_columns_of(op, path, schema, paths[0], first)
        for at, field in enumerate(fields):
            found = schema.get_all_field_indices(field.name)
            if len(found) != 1:
                problem = f"{len(found)} columns" if found else "no column"
                raise InvalidArgument(f"{op}: {path} has {problem} {shown(field.name)}, which {paths[0]} has; {_STEP}")
            other = schema.field(found[0])
            if other.type != field.type:
                kinds = f"{field.type} in {paths[0]} and {other.type} in {path}"
                raise InvalidArgument(f"{op}: column {shown(field.name)} is {kinds}; {_STEP}")
            fields[at] = field.with_nullable(field.nullable or other.nullable)
    return pa.schema(fields, metadata=first.metadata)


_STEP = (
    "give columns=[...] that all files have alike, or pyarrow.dataset.dataset(paths, schema=...), "
    "which casts columns and has nulls in place of missing ones"
)


def _require_columns_of(op: str, path: Path, schema: Any, other_path: Path, other: Any) -> None:
    """Raise InvalidArgument for a column of one file that another one lacks."""
    for name in Counter(schema.names) - Counter(other.names):
        raise InvalidArgument(f"{op}: {path} has a column {shown(name)}, which {other_path} lacks; {_STEP}")
