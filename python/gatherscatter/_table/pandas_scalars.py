"""pandas_scalars.py: converts Python values to arrays of one element with a pandas column's dtype, or raises."""

from __future__ import annotations

import datetime
import importlib
from typing import Any

import numpy as np

from gatherscatter._libraries.recognise import is_masked_array
from gatherscatter._table.arrow_scalars import one_array, refusal
from gatherscatter._table.python_values import as_number, is_nat, is_null, is_scalar, is_unchanged, plain

__all__ = ["one_value"]

pd: Any = importlib.import_module("pandas")
# Of other values pandas makes years, or it iterates over them.
ONLY = {pd.PeriodDtype: pd.Period, pd.IntervalDtype: pd.Interval}
TEXTS = {"string", "large_string", "string_view"}


def one_value(op: str, name: object, column: Any, value: Any) -> Any:
    """An array of one element with the dtype of a column.

    Raises
    ------
    DataTypeError
        If the value is of another type, would change in the column, or is missing where the dtype has no missing value.
    """
    given, dtype = value, column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        null = is_null(value) or (isinstance(value, float) and value != value)
        return dtype.__from_arrow__(one_array(op, name, dtype.pyarrow_dtype, None if null else value))
    if is_scalar(value):
        if not _is_of(value, column):
            raise refusal(op, name, dtype, given)
        value = value.as_py()
    if _is_object(dtype):
        array = np.empty(1, dtype=object)
        array[0] = value
        return array
    try:
        array = _missing(column, value) if _is_missing(value) else _present(column, value)
    except (TypeError, ValueError, LookupError, OverflowError, RuntimeError, np.ma.MaskError) as error:
        raise refusal(op, name, dtype, given) from error
    if array is None:
        raise refusal(op, name, dtype, given, _step(dtype, value))
    return array


def _step(dtype: Any, value: Any) -> str:
    """The end of the error for a value that a dtype does not hold: how the column gets a dtype that does."""
    if isinstance(dtype, pd.CategoricalDtype):
        return "; cat.add_categories adds a category"
    if _is_missing(value) and isinstance(dtype, np.dtype) and dtype.kind in "biu":
        nullable = "boolean" if dtype.kind == "b" else dtype.name.replace("i", "I").replace("uI", "UI")
        return f'; the column as .astype("{nullable}") has missing values'
    return ""


def _is_of(scalar: Any, column: Any) -> bool:
    """Whether a pyarrow scalar has the type that pyarrow derives from a column. All string types count as one."""
    if is_null(scalar) or _is_object(column.dtype):
        return True
    rows = column[:0].to_dense() if isinstance(column.dtype, pd.SparseDtype) else column[:0]
    try:
        kind = importlib.import_module("pyarrow").array(pd.Series(rows)).type
    except (RuntimeError, TypeError, ValueError):  # pyarrow has no type for this dtype
        return False
    kinds = {str(kind), str(getattr(kind, "value_type", kind))}
    return str(scalar.type) in (kinds | TEXTS if kinds & TEXTS else kinds)


def _is_missing(value: Any) -> bool:
    return is_null(value) or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def _missing(column: Any, value: Any) -> Any:
    """An array of one missing value, or None if the dtype has none, or if `value` is NaT and the dtype has no NaT."""
    array = pd.api.extensions.take(column[:0], np.array([-1]), allow_fill=True)
    if array.dtype != column.dtype or not pd.isna(array)[0]:
        return None
    return array if not is_nat(value) or is_nat(array[0]) else None


def _is_object(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _present(column: Any, value: Any) -> Any:
    """An array of one value, or None if the dtype would change it."""
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if type(value) is datetime.date and kind == "M":  # pandas would convert a date to its midnight
        return None
    value = plain(value)
    if is_masked_array(value) or (pd.api.types.is_list_like(value) and _has_no_lists(dtype)):
        return None  # a masked element, here or in a list, would become NaN
    if isinstance(dtype, tuple(ONLY)) and not isinstance(value, ONLY[type(dtype)]):
        return None
    number = as_number(value, int if kind in "iu" else float if kind == "f" else None)
    if isinstance(dtype, pd.CategoricalDtype):
        # A value that is no category would need another dtype for the whole column.
        array = pd.Categorical([value], dtype=dtype) if value in column.categories else None
    elif not isinstance(dtype, np.dtype):
        array = pd.array([number], dtype=dtype)
    elif dtype.kind in "Mm":
        return _of_time(dtype, value)
    elif isinstance(value, complex) and dtype.kind != "c":
        return None
    else:
        with np.errstate(all="ignore"):  # a value that does not fit is found by the comparison below
            array = np.array([number]).astype(dtype)
    if array is None or array.shape != (1,):
        return None
    return array if is_unchanged(value, plain(array[0])) else None


def _has_no_lists(dtype: Any) -> bool:
    """Whether no value of a dtype is a list; categories may be tuples, and other libraries have dtypes of their own."""
    known = isinstance(dtype, np.dtype) or type(dtype).__module__.partition(".")[0] == "pandas"
    return known and not isinstance(dtype, pd.CategoricalDtype)


def _of_time(dtype: Any, value: Any) -> Any:
    """An array of one time or duration, or None if the dtype's unit cannot hold it, or if the value has a time zone."""
    if isinstance(value, (str, int, float)) or getattr(value, "tzinfo", None) is not None:
        return None
    exact = pd.Timestamp(value) if dtype.kind == "M" else pd.Timedelta(value)
    kept = exact.as_unit(np.datetime_data(dtype)[0])
    return np.array([kept.to_numpy()], dtype=dtype) if kept == exact else None
