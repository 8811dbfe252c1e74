"""named_columns.py: scatters into some columns of a table, which the values name; all others stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatherscatter._table.frames import frame_of
from gatherscatter.errors import InvalidArgument, type_name

__all__ = ["names_of_values", "written_columns"]


def names_of_values(op: str, role: str, source: Any, validate: str) -> list[Any]:
    """The columns that a dict of scalars or a table names."""
    if isinstance(source, dict):
        return list(source)
    if hasattr(source, "read_all"):  # a reader, whose rows can be read once
        return list(source.schema.names)
    if not isinstance(source, (list, tuple)):
        frame = frame_of(op, role, source, validate)
        if not getattr(frame, "lazy", False) and frame.is_table:
            return list(frame.names)
    raise InvalidArgument(
        f"{op}: partial=True needs the names of columns, and {role} is a {type_name(source)}: give a dict of scalars "
        "or a table"
    )


def written_columns(op: str, role: str, frame: Any, source: Any, validate: str, write: Callable[[Any], Any]) -> Any:
    """The table of a frame with the columns that `source` names replaced by ``write(frame of these columns)``.

    Raises
    ------
    InvalidArgument
        If the target is one column, or lacks a name or has it twice; if there are no names.
    """
    if not frame.is_table:
        raise InvalidArgument(f"{op}: partial=True is for tables, and the target is one column")
    names, wanted = frame.names, names_of_values(op, role, source, validate)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InvalidArgument(f"{op}: {role} has {unknown}, which the target does not have")
    if not wanted:
        raise InvalidArgument(f"{op}: {role} names no column")
    twice = [name for name in wanted if names.count(name) > 1 or wanted.count(name) > 1]
    if twice:
        raise InvalidArgument(f"{op}: {role} names {twice}, which occur twice")
    places = [names.index(name) for name in wanted]
    part = frame.of_places(op, places)
    part.whole = frame
    return frame.replaced(op, places, write(part))
