"""negatives.py: negative row numbers of a call that does not say what they mean, where a mistake would not show."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.column_nulls import check_sizes
from gatherscatter._libraries.of_python import BigIntegers
from gatherscatter._table.messages import SIGNS, require_word
from gatherscatter._table.ranges import items_of
from gatherscatter.errors import NegativeIndexError, NullIndexError, OutOfBoundsError

__all__ = ["refuse_negative", "sign_of"]

_MOST_ROWS = 2**48  # that a table of `_core` has


def sign_of(op: str, negative: object, bounds: str) -> str:
    """The meaning of negative numbers: `negative`, or the default for these bounds if it is None.

    Where a number out of bounds is an error, negative ones count from the end by default. Elsewhere a -1 that means "no
    such row" would silently be the last row, so they are "refused".

    Raises
    ------
    ValueError
        If `negative` is another object.
    """
    if negative is None:
        return "refused" if bounds in ("nullify", "drop") else "from_end"
    require_word(op, "negative", negative, SIGNS)
    return str(negative)


def refuse_negative(
    op: str, rows: Any, valid: Any, bounds: str, sign: str, frame: Any = None, size: int = 0
) -> tuple[Any, Any, str]:
    """A map in memory and the rule for it in `_core`; `frame` is the table that it selects from, if that was read.

    Raises
    ------
    NegativeIndexError
        If `sign` is "refused", and a number that is not null is negative.
    """
    if sign != "refused":
        return rows, valid, sign
    size, device = (size, -1) if frame is None or frame.lazy else (sum(frame.lengths), frame.device)
    if type(rows) is range:
        _refuse_range(op, rows, bounds, size)
        return rows, valid, "out_of_bounds"
    values, known = _in_memory(rows, valid)
    if values is None:
        rows = _to_read_again(op, rows)
        _refuse_by_core(op, rows, valid, bounds, size, device)
    elif values.dtype.kind == "i" and values.size and values.min() < 0:
        is_negative = values < 0 if known is None else (values < 0) & known
        if is_negative.any():
            at = int(is_negative.argmax())
            index = rows.values[at] if isinstance(rows, BigIntegers) else int(values[at])
            count = int(is_negative.sum())
            raise NegativeIndexError(op, index, (at,), 0, size, count, values.size, False, bounds)
    return rows, valid, "out_of_bounds"


def _refuse_range(op: str, rows: range, bounds: str, size: int) -> None:
    total, falls = items_of(rows), rows.step < 0
    part = range(rows.start, max(rows.stop, -1) if falls else min(rows.stop, 0), rows.step)
    count = total - items_of(part) if falls else items_of(part)
    if count > 0:
        at = total - count if falls else 0
        raise NegativeIndexError(op, rows[at], (at,), 0, size, count, total, False, bounds)


def _in_memory(rows: Any, valid: Any) -> tuple[Any, Any]:
    """The numbers of a map as an array of NumPy and which are not null; None if `_core` alone reads it."""
    if isinstance(rows, BigIntegers):
        return rows.array, valid
    if isinstance(rows, np.ndarray):
        return (rows, valid) if rows.ndim == 1 else (np.empty(0, np.int64), None)  # which `_core` refuses
    library = type(rows).__module__.partition(".")[0]
    if library in ("pyarrow", "polars"):
        lowest = _lowest_of_arrow(rows) if library == "pyarrow" else _lowest_of_polars(rows)
        if lowest is None or lowest < 0:
            return (None if lowest is None else np.asarray(rows.fill_null(0))), None
        return np.empty(0, np.int64), None
    try:
        return np.from_dlpack(rows), valid  # such as tensors
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError):
        return None, None


def _lowest_of_arrow(rows: Any) -> int | None:
    """The lowest number of a column, 0 if it has none, found without a copy; None if it has no integers of the host."""
    types, compute = importlib.import_module("pyarrow.types"), importlib.import_module("pyarrow.compute")
    if not hasattr(rows, "type") or not types.is_integer(rows.type) or not getattr(rows, "is_cpu", True):
        return None
    try:
        check_sizes(rows)
    except BufferError:
        return None  # `_core` says so in its own words
    return compute.min(rows).as_py() or 0


def _lowest_of_polars(rows: Any) -> int | None:
    return (rows.min() or 0) if rows.dtype.is_integer() else None


def _to_read_again(op: str, rows: Any) -> Any:
    """The map, as a column of ours if it has nothing but Arrow's methods: a stream can perhaps be read once only."""
    methods = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__")
    is_exported = any(hasattr(rows, method) for method in methods)
    return _core.ArrowTable(rows, False, False, op) if is_exported else rows


def _refuse_by_core(op: str, rows: Any, valid: Any, bounds: str, size: int, device: int) -> None:
    """As `refuse_negative`, for a map of any library and place: of negative numbers, more are rows from the end."""
    rule = op, rows, valid, (_MOST_ROWS,)
    try:
        outside = _core.Selection.gather(*rule, "nullify", "out_of_bounds", device)
        from_end = _core.Selection.gather(*rule, "nullify", "from_end", device)
    except (TypeError, ValueError, RuntimeError):
        return  # another device, or what is no map, which the call itself refuses
    count = outside.missing - from_end.missing
    if count == 0:
        return
    index, position = -1, tuple[int, ...]()
    if device < 0:
        numbers = from_end.positions()
        position = (int((numbers != outside.positions()).argmax()),)
        index = int(numbers[position]) - _MOST_ROWS
    else:
        try:
            _core.Selection.gather(*rule, "raise", "out_of_bounds", device)
        except NullIndexError:
            pass  # it is reported first, so the place of the number is not known
        except OutOfBoundsError as error:
            if error.index < 0:
                index, position = error.index, error.position
    raise NegativeIndexError(op, index, position, 0, size, count, outside.count, False, bounds)
