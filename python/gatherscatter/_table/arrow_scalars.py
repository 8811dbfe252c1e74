"""arrow_scalars.py: converts Python values to Arrow arrays of one element; a value that would change is an error."""

from __future__ import annotations

import datetime
import importlib
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.arrow_types import with_type
from gatherscatter._table.arrow_values import array_of
from gatherscatter._table.messages import called
from gatherscatter._table.python_values import is_nat, is_null, is_scalar
from gatherscatter.errors import DataTypeError, is_large, shown

__all__ = ["column_of", "numbers_like", "one_array", "one_row", "refusal"]


def one_row(op: str, table: _core.ArrowTable, values: list[Any], fields: list[Any] | None = None) -> Any:
    """A record batch of one row with a table's types; for a column, an array of one element.

    Parameters
    ----------
    fields : list of pyarrow.Field, optional
        The fields to use in place of the table's own. The caller gives them because pyarrow reads an extension type
        that is not registered as its storage type.

    Raises
    ------
    DataTypeError
        If a column cannot hold its value without a change.
    """
    pa = _pyarrow(op)
    if fields is None:
        fields = list(pa.schema(table)) if table.is_table else [pa.field(table)]
    arrays = [one_array(op, field.name, field.type, value) for field, value in zip(fields, values, strict=True)]
    for field, array in zip(fields, arrays, strict=True):
        if array.null_count and not field.nullable:
            raise DataTypeError(f"{op}: {called(field.name)} is not nullable, got a null")
    if not table.is_table:
        return arrays[0]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def one_array(op: str, name: object, kind: Any, value: Any) -> Any:
    """A pyarrow array of type `kind` that holds one value.

    Raises
    ------
    DataTypeError
        If the type cannot hold the value without a change.
    """
    pa = _pyarrow(op)
    if is_null(value) or (is_nat(value) and (pa.types.is_timestamp(kind) or pa.types.is_duration(kind))):
        return _null(pa, kind)
    try:
        array = _of_scalar(pa, kind, value) if is_scalar(value) else array_of(kind, [value])
        if array is not None:
            array.validate(full=True)  # before anything looks into it
    except (pa.ArrowException, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise refusal(op, name, kind, value) from error
    if array is None or array.type != kind:
        raise refusal(op, name, kind, value)
    return array


def column_of(op: str, role: str, table: _core.ArrowTable, values: np.ndarray[Any, Any]) -> Any:
    """A NumPy array converted to a pyarrow array of a column's type.

    Raises
    ------
    DataTypeError
        If the array is not of the column's type. Numbers of another numeric dtype are converted if none changes.
    """
    pa = _pyarrow(op)
    kind = pa.field(table).type
    try:
        if values.dtype.kind == "O" and values.ndim == 1:
            array = array_of(kind, tuple(values))
        else:
            array = pa.array(numbers_like(values, _numbers_in(pa, kind)))
        array.validate(full=True)
    except (pa.ArrowException, TypeError, ValueError, ArithmeticError, RecursionError):  # also of several axes
        array = None
    if array is None or array.type != kind:
        raise DataTypeError(
            f"{op}: {role} is an array of {values.dtype}, which the column of {kind} does not hold without a change: "
            "convert it to a column of the target's library first"
        )
    return array


def numbers_like(values: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """An array of numbers converted to another numeric dtype if none of them changes; else the array itself."""
    if dtype is None or values.dtype.kind not in "iuf":
        return values
    with np.errstate(all="ignore"):
        other = values.astype(dtype)
        kept = (other == values) & (other.astype(values.dtype) == values) | ((values != values) & (other != other))
        if values.dtype.kind == "f" and other.dtype.kind in "iu":
            # aarch64 converts 2.0**63 to 2**63 - 1, and NumPy compares that with a float as a float: they are equal.
            limits = np.iinfo(other.dtype)
            kept &= (values >= float(limits.min)) & (values < float(limits.max + 1))
    return other if kept.all() else values


def _numbers_in(pa: Any, kind: Any) -> Any:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return kind.to_pandas_dtype() if is_number else None


def _pyarrow(op: str) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise TypeError(
            f"{op}: scalars and arrays for this target need pyarrow, which is not installed; "
            "a table of one row does not need it"
        ) from None


def _null(pa: Any, kind: Any) -> Any:
    """An array of one null of any type, made by a gather with "nullify" from an empty column.

    pyarrow's own arrays of nulls are not used, because they are invalid for run-end encoded types.
    """
    nothing = _core.ArrowTable(pa.chunked_array([], kind), False)
    missing = _core.Selection.gather("null", np.zeros(1, np.int64), None, nothing.lengths, "nullify", "from_end", -1)
    null = pa.array(nothing.take(missing))
    return with_type(null, kind)


def _of_scalar(pa: Any, kind: Any, value: Any) -> Any:
    """An array of one pyarrow scalar, or None if it is of another type.

    Dictionary and run-end encoded types take a scalar of their value type, too.
    """
    value.validate(full=True)
    if value.type == kind:
        return pa.repeat(value, 1) if value.is_valid else _null(pa, kind)
    if value.type != getattr(kind, "value_type", None):
        return None
    if pa.types.is_dictionary(kind):
        key = pa.array([0 if value.is_valid else None], kind.index_type)
        return pa.DictionaryArray.from_arrays(key, pa.repeat(value, 1).drop_null(), ordered=kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays(pa.array([1], kind.run_end_type), pa.repeat(value, 1))
    return None


def refusal(op: str, name: object, dtype: object, value: Any, hint: str = "") -> DataTypeError:
    """The error for a scalar that a column cannot hold without a change."""
    what = type(value).__name__
    if is_scalar(value):
        value, what = _in_python(value), f"a pyarrow scalar of {value.type}"
    elif isinstance(value, (list, tuple)) or is_large(value):
        hint = "; one value goes to all rows of a column, and values of several rows are a table"
    hint = hint or _step_to_a_time(str(dtype).lower(), value)
    return DataTypeError(
        f"{op}: {called(name)} is of type {dtype}, which does not hold {shown(value)} ({what}) without a change{hint}"
    )


def _step_to_a_time(dtype: str, value: Any) -> str:
    """The end of the error for a scalar that looks like a time of the column, with the object that is one; else ""."""
    if not any(word in dtype for word in ("date", "time", "duration")):
        return ""
    if isinstance(value, str):
        return "; text is not read as a time: give an object of the module datetime"
    if type(value) is datetime.date:
        return f"; {datetime.datetime(value.year, value.month, value.day)!r} is its midnight"
    return ""


def _in_python(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (TypeError, ValueError, OverflowError):  # a time outside Python's range, or a struct with duplicate names
        return scalar
