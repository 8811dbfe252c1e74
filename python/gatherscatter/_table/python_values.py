"""python_values.py: what a Python value means for a column of any library: nulls, numbers of NumPy, equal values."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

__all__ = ["as_number", "is_nat", "is_null", "is_scalar", "is_unchanged", "plain"]


def is_null(value: Any) -> bool:
    """Whether a value is a null for columns of every type: None, pandas.NA, or a scalar of pyarrow's null type."""
    return type(value).__name__ in ("NoneType", "NAType", "NullScalar")


def is_scalar(value: Any) -> bool:
    """Whether a value is a pyarrow scalar. pyarrow is not imported for this check."""
    pa: Any = sys.modules.get("pyarrow")
    return pa is not None and isinstance(value, pa.Scalar)


def is_nat(value: Any) -> bool:
    """Whether a value is NaT of NumPy or pandas."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ == "NaTType"


def as_number(value: Any, kind: type[int] | type[float] | type[Decimal] | None) -> Any:
    """An int, float or Decimal converted to another of these types if the result is equal; else the value itself."""
    if kind is None or isinstance(value, (bool, kind)) or not isinstance(value, (int, float, Decimal)):
        return value
    try:
        number = kind(value)
    except (ValueError, ArithmeticError):  # the value is NaN, infinite or too large
        return value
    return number if number == value and math.isfinite(number) else value


def plain(value: Any) -> Any:
    """The Python value of a NumPy scalar. Times that have no Python type (finer than microseconds, or durations in
    months and years) are returned unchanged."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, np.generic) or is_nat(value):
        return value
    item = value.item()
    if isinstance(value, np.timedelta64) and np.datetime_data(value)[0] in "YM":  # their length in days is not fixed
        return value
    if isinstance(value, (np.datetime64, np.timedelta64)) and isinstance(item, int):
        coarse = value.astype("M8[us]" if isinstance(value, np.datetime64) else "m8[us]")
        return coarse.item() if coarse == value else value
    return item


def is_unchanged(given: Any, back: Any) -> bool:
    """Whether a value `given` for a column is equal to the value `back` that the column returns.

    Rounding a float to a narrower type is accepted, as in every assignment to such a column. Overflow to infinity is
    not.
    """
    if isinstance(given, bool) != isinstance(back, bool):
        return False
    if isinstance(given, (np.datetime64, np.timedelta64)) and isinstance(back, (int, float, Decimal)):
        return False  # NumPy would compare the time with the number, as if both were numbers
    if isinstance(given, float) and isinstance(back, float):
        return math.isinf(given) == math.isinf(back) and math.isnan(given) == math.isnan(back)
    if isinstance(back, dict):
        return (
            isinstance(given, Mapping)
            and given.keys() == back.keys()
            and all(is_unchanged(given[k], back[k]) for k in back)
        )
    if isinstance(back, (list, tuple)):
        given = list(given.items()) if isinstance(given, Mapping) else given
        given = list(given) if hasattr(given, "__len__") and not isinstance(given, (str, bytes)) else [given]
        return len(given) == len(back) and all(map(is_unchanged, map(plain, given), back))
    try:
        return bool(given == back)
    except (TypeError, ValueError):
        return False
