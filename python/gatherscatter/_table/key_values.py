"""key_values.py: wanted keys that are a list or an array, as an array of NumPy that engines turn into a column."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from gatherscatter._libraries.of_python import as_int
from gatherscatter._table.python_values import is_nat, is_null, plain
from gatherscatter.errors import DataTypeError, InvalidArgument, shown, type_name

__all__ = ["as_array", "listed"]

VALUES = (str, bytes, bool, int, float, Decimal, datetime.date, datetime.time, datetime.timedelta)
# Units of time that no other library has, and the one that holds them.
UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}


def as_array(op: str, wanted: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Wanted keys as an array of one axis, and which of them are not null. Those of a list may be Python objects.

    Raises
    ------
    TypeError
        If they are one value, or nothing that NumPy reads.
    InvalidArgument
        If the array has another number of axes than one.
    DataTypeError
        If a value is not a number, bool, text, bytes or time.
    """
    if isinstance(wanted, (list, tuple, range)):
        return _of_sequence(op, tuple(wanted))
    masked = isinstance(wanted, np.ma.MaskedArray)
    if not (isinstance(wanted, np.ndarray) or (hasattr(wanted, "__array__") and not isinstance(wanted, np.generic))):
        raise TypeError(f"{op}: wanted is {shown(wanted)}, expected a table, a column, a list or an array")
    values = np.asarray(wanted.data if masked else wanted)
    if values.ndim != 1:
        raise InvalidArgument(f"{op}: wanted is an array of {values.ndim} axes, expected one")
    valid = ~np.ma.getmaskarray(wanted) if masked else np.ones(len(values), bool)
    kind = values.dtype.kind
    if kind in ("O", "T"):
        objects, present = _of_sequence(op, tuple(values.tolist()))
        return objects, present & valid
    if kind in "mM":
        return _of_times(op, values), valid
    if kind not in "biufUS" or (kind == "f" and values.dtype.itemsize > 8):
        raise DataTypeError(f"{op}: wanted is an array of {values.dtype}, which is no type of keys")
    return values.astype(values.dtype.newbyteorder("="), copy=False), valid


def listed(values: np.ndarray[Any, Any], valid: np.ndarray[Any, Any]) -> list[Any]:
    """The values of an array of objects as a list, with None for null."""
    return [value if present else None for value, present in zip(values.tolist(), valid.tolist(), strict=True)]


def _of_sequence(op: str, values: tuple[Any, ...]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    plain_values = [None if is_null(value) or is_nat(value) else plain(value) for value in values]
    plain_values = [None if isinstance(value, (float, Decimal)) and value != value else value for value in plain_values]
    for value in plain_values:
        if value is not None and (not isinstance(value, VALUES) or getattr(value, "nanosecond", False)):
            raise DataTypeError(
                f"{op}: wanted holds {shown(value)} ({type_name(value)}), expected numbers, bools, text, bytes or times"
                " of microseconds"
            )
    valid = np.array([value is not None for value in plain_values], bool)
    if {type(value) for value in plain_values} <= {int, type(None)} and valid.any():
        numbers = [0 if value is None else as_int(value) for value in plain_values]
        for dtype in (np.int64, np.uint64):
            try:
                return np.array(numbers, dtype), valid
            except OverflowError:
                pass
    objects = np.empty(len(plain_values), object)
    objects[:] = plain_values
    return objects, valid


def _of_times(op: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    unit, step = np.datetime_data(values.dtype)
    if step == 1 and unit in ("D", "s", "ms", "us", "ns") and not (unit == "D" and values.dtype.kind == "m"):
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    wanted = UNITS.get(unit, unit) if values.dtype.kind == "M" else "s"
    if (unit in ("Y", "M") and values.dtype.kind == "m") or wanted not in ("D", "s", "ms", "us", "ns"):
        raise DataTypeError(f"{op}: wanted is an array of {values.dtype}, which is no type of keys")
    other = values.astype(f"{values.dtype.kind}8[{wanted}]")
    if not ((other.astype(values.dtype) == values) | np.isnat(values)).all():
        raise DataTypeError(f"{op}: wanted is an array of {values.dtype}, of which {wanted} does not hold a value")
    return other
