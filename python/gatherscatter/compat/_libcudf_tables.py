"""_libcudf_tables.py: reads the arguments of `compat.libcudf`: columns match by position, checks in libcudf's order."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table import frames
from gatherscatter._table.frames import ROLES, Roles
from gatherscatter._table.maps import gathered, map_of, mask_of
from gatherscatter._table.messages import counted
from gatherscatter._table.ranges import items_of
from gatherscatter.errors import DataTypeError, InvalidArgument, NullIndexError, OutOfBoundsError, type_name

__all__ = [
    "by_map",
    "check_mask",
    "check_nulls",
    "count_of",
    "frame_of",
    "has_table",
    "is_scalar",
    "partner_of",
    "row_count",
    "rows_of",
    "scalar_rows",
]


def frame_of(op: str, role: str, table: Any) -> Any:
    """The frame of a table, a column, or a list of columns."""
    kind = _kind_of(table)
    if kind is None and isinstance(table, (list, tuple)):
        wrong = next(column for column in table if not _is_column(column))
        raise TypeError(
            f"{op}: {role} has a {type(wrong).__qualname__} in it, expected pyarrow Arrays or ChunkedArrays"
        )
    if kind is None:
        return frames.frame_of(op, role, table, "basic")  # raises the error that lists the accepted types
    return kind(op, table, False)


def rows_of(op: str, role: str, frame: Any, source: Any, target: str = "the target") -> Any:
    """The frame of the rows that are written into a target, or a list of scalars, one for each column of the target.

    `target` is the role of the target in messages.

    Raises
    ------
    InvalidArgument
        If the source has another number of columns or scalars than the target has columns.
    """
    kind = _kind_of(source)
    if kind is None and not isinstance(source, (list, tuple)):
        raise TypeError(f"{op}: {role} is of type {type(source).__qualname__}, expected a table or a list of scalars")
    if kind is None or (isinstance(source, (list, tuple)) and not source):
        if len(source) != frame.width:
            width = counted(frame.width, "column")
            raise InvalidArgument(f"{op}: {role} has {counted(len(source), 'scalar')}, {target} has {width}")
        return list(source)
    return partner_of(op, (ROLES[0], role), frame, source)


def partner_of(op: str, roles: Roles, frame: Any, source: Any) -> Any:
    """The frame of a table that must have as many columns as `frame`.

    Raises
    ------
    InvalidArgument
        If the numbers of columns differ.
    """
    kind = _kind_of(source)
    if kind is None:
        is_list = isinstance(source, (list, tuple))
        what = "a list of scalars" if is_list else f"of type {type(source).__qualname__}"
        raise TypeError(f"{op}: {roles[1]} is {what}, expected a table, a column or a list of columns")
    if kind.lazy:
        raise TypeError(f"{op}: {roles[1]} is a {type(source).__qualname__}: collect it first")
    other = frame.adopt(op, source, kind, False)
    if other.width != frame.width:
        raise InvalidArgument(f"{op}: {roles[1]} has {counted(other.width, 'column')}, {roles[0]} has {frame.width}")
    return other


def row_count(frame: Any) -> int:
    """Rows in all chunks of a frame."""
    return sum(frame.lengths)


def count_of(op: str, values: Any, read: Callable[[str, Any], Any]) -> int:
    """The number of values of a map or mask of any type. `read` raises the error for an object that is neither."""
    shape = getattr(values, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    if type(values) is range:
        return items_of(values)
    if hasattr(values, "__len__") and not isinstance(values, (str, bytes)):
        return len(values)
    read(op, values)
    return _core.ArrowTable(values, False).num_rows


def check_nulls(op: str, values: Any) -> None:
    """Raise NullIndexError for a map of any type that has nulls, if its library counts them."""
    if isinstance(values, (list, tuple)):
        found = any(value is None for value in values)
    elif hasattr(values, "null_count"):  # an attribute in pyarrow, a method in polars
        found = bool(values.null_count() if callable(values.null_count) else values.null_count)
    else:
        found = bool(getattr(values, "hasnans", False)) or np.ma.is_masked(values)
    if found:
        raise NullIndexError(f"{op}: the map has a null, expected only row numbers")


def check_mask(op: str, values: Any, rows: int) -> None:
    """Raise InvalidArgument for a mask whose length is not the number of rows of its table."""
    count = count_of(op, values, mask_of)
    if count != rows:
        raise InvalidArgument(f"{op}: the mask has {counted(count, 'row')}, the table has {rows}")


def by_map(op: str, gather_map: Any, frame: Any, nullify: bool, negative: str) -> _core.Selection:
    """The selection of the rows in a map. A null in the map is an error, also under NULLIFY."""
    check_nulls(op, gather_map)
    numbers, valid = map_of(op, gather_map)

    def selection(bounds: str) -> _core.Selection:
        return gathered(op, numbers, valid, frame, bounds, negative)

    try:
        return selection("raise")  # reports a null in the map before a number out of range
    except OutOfBoundsError:
        if not nullify:
            raise
    return selection("nullify")


def has_table(side: Any) -> bool:
    """Whether a side of a choice is a table, a column or a list of columns, as opposed to scalars."""
    return _kind_of(side) is not None


def is_scalar(side: Any) -> bool:
    """Whether a side of a choice is a scalar with a type."""
    return type(side).__module__.startswith("pyarrow.") and hasattr(side, "as_py")


def scalar_rows(op: str, lhs: Any, rhs: Any, boolean_mask: Any) -> Any:
    """The column of one of two scalars for each value of a mask.

    Raises
    ------
    DataTypeError
        If the scalars are of different types.
    """
    if lhs.type != rhs.type:
        raise DataTypeError(f"{op}: lhs is a scalar of {lhs.type}, rhs of {rhs.type}")
    pa: Any = importlib.import_module("pyarrow")
    both = frames.frame_of(op, "lhs", pa.concat_arrays([pa.repeat(lhs, 1), pa.repeat(rhs, 1)]), "basic")
    mask, valid = mask_of(op, boolean_mask)
    count = (count_of(op, boolean_mask, mask_of),)
    sides = [np.broadcast_to(np.int8(side), count) for side in (0, 1)]
    numbers = _core.Selection.choose(op, mask, valid, count, count, -1).take([np.ascontiguousarray(s) for s in sides])
    return both.take(gathered(op, numbers, None, both, "raise"))


def _kind_of(table: Any) -> Any:
    """The frame class of a table or column; None for any other object."""
    if isinstance(table, (list, tuple)):
        if not all(map(_is_column, table)):
            return None
        return _positional(importlib.import_module("gatherscatter.compat._libcudf_columns").ColumnsFrame)
    kind = frames.kind_of(table)
    if hasattr(kind, "native"):
        raise TypeError(f"libcudf: a {type_name(table)} of narwhals wraps a table: pass x.to_native()")
    return None if kind is None else _positional(kind)


def _is_column(value: Any) -> bool:
    """Whether a value is a pyarrow Array or ChunkedArray. pyarrow's scalars have a `type` too, but no `nbytes`."""
    return type(value).__module__.startswith("pyarrow.") and hasattr(value, "type") and hasattr(value, "nbytes")


_by_position: dict[Any, Any] = {}


def _positional(kind: Any) -> Any:
    """A subclass of a frame class whose column names are positions, so that the real names need not be equal."""
    if kind.lazy:  # the table gets a frame of its own when it is collected
        return kind
    if kind not in _by_position:
        names = kind.names.fget
        places = property(lambda frame: list(range(len(names(frame)))))
        _by_position[kind] = type(
            f"Positional{kind.__name__}", (kind,), {"__slots__": (), "names": places, "by_name": False}
        )
    return _by_position[kind]
