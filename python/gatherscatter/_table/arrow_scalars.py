"""arrow_scalars.py: converts Python values to Arrow arrays of one element; a value that would change is an error."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import ItemsView, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.messages import called
from gatherscatter.errors import DataTypeError, is_large, shown

__all__ = [
    "as_number",
    "column_of",
    "is_nat",
    "is_null",
    "is_scalar",
    "is_unchanged",
    "numbers_like",
    "one_array",
    "one_row",
    "plain",
    "refusal",
]


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
    if is_scalar(value):
        array = _of_scalar(pa, kind, value)
        if array is None:
            raise refusal(op, name, kind, value)
        return array
    value = plain(value)
    try:
        fits = not is_nat(value) and _has_no_null_entry(pa, kind, value)
        array = _of_value(pa, kind, value) if fits else None
        kept = array is not None and _is_stored_unchanged(value, array) and _has_no_forbidden_null(pa, kind, array)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, np.ma.MaskError) as error:
        raise refusal(op, name, kind, value) from error
    if not kept:
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
        array = pa.array(numbers_like(values, _numbers_in(pa, kind)))
    except pa.ArrowException:  # the array has several axes, or holds Python objects
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
    return null if null.type == kind else null.cast(kind)


def _of_value(pa: Any, kind: Any, value: Any) -> Any:
    """An array of one Python value. Dictionaries are built from a key and a value, because pyarrow does not convert
    values of every type to dictionaries."""
    if pa.types.is_dictionary(kind):
        return _keyed(pa, kind, _of_value(pa, kind.value_type, value))
    kinds = ((int, pa.types.is_integer), (float, pa.types.is_floating), (Decimal, pa.types.is_decimal))
    number: Any = next((number for number, holds in kinds if holds(kind)), None)
    return pa.array([as_number(value, number)], type=kind)


def _keyed(pa: Any, kind: Any, values: Any) -> Any:
    key = pa.array([0 if values[0].is_valid else None], kind.index_type)
    return pa.DictionaryArray.from_arrays(key, values.drop_null(), ordered=kind.ordered)


def _of_scalar(pa: Any, kind: Any, value: Any) -> Any:
    """An array of one pyarrow scalar, or None if it is of another type.

    Dictionary and run-end encoded types take a scalar of their value type, too.
    """
    if value.type == kind:
        return pa.repeat(value, 1) if value.is_valid else _null(pa, kind)
    if value.type != getattr(kind, "value_type", None):
        return None
    if pa.types.is_dictionary(kind):
        return _keyed(pa, kind, pa.repeat(value, 1))
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays(pa.array([1], kind.run_end_type), pa.repeat(value, 1))
    return None


def _has_no_null_entry(pa: Any, kind: Any, value: Any) -> bool:
    """Whether no map inside a value has a null entry; pyarrow crashes the process on one."""
    kind = getattr(kind, "storage_type", kind)
    if not pa.types.is_nested(kind) or "map<" not in str(kind):
        return True
    if is_null(value) or is_scalar(value):  # lists and structs may hold nulls; pyarrow itself made the scalar
        return True
    if pa.types.is_struct(kind):
        return isinstance(value, Mapping) and all(
            _has_no_null_entry(pa, kind.field(i).type, value.get(kind.field(i).name)) for i in range(kind.num_fields)
        )
    entries = value.items() if isinstance(value, Mapping) else value
    if not isinstance(entries, (list, tuple, ItemsView, np.ndarray)):
        return False
    if not pa.types.is_map(kind):
        inner = kind.field(0).type
        return all(_has_no_null_entry(pa, inner, entry) for entry in entries)
    return all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries) and all(
        _has_no_null_entry(pa, kind.key_type, key) and _has_no_null_entry(pa, kind.item_type, item)
        for key, item in entries
    )


def _has_no_forbidden_null(pa: Any, kind: Any, array: Any) -> bool:
    """Whether the nested fields of an array that are not nullable hold no null; pyarrow does not check this."""
    if hasattr(kind, "storage_type"):
        return _has_no_forbidden_null(pa, kind.storage_type, array.storage)
    if pa.types.is_struct(kind):
        parts = list(zip(kind, array.filter(array.is_valid()).flatten(), strict=True))
    elif pa.types.is_map(kind):
        parts = [(kind.key_field, array.keys), (kind.item_field, array.items)]
    elif hasattr(kind, "value_field"):
        parts = [(kind.value_field, array.flatten())]
    else:
        return True
    return all((f.nullable or not part.null_count) and _has_no_forbidden_null(pa, f.type, part) for f, part in parts)


def _is_stored_unchanged(value: Any, array: Any) -> bool:
    if is_unchanged(value, array[0].as_py()):
        return True
    return hasattr(array, "storage") and is_unchanged(value, array.storage[0].as_py())


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


def refusal(op: str, name: object, dtype: object, value: Any, hint: str = "") -> DataTypeError:
    """The error for a scalar that a column cannot hold without a change."""
    what = type(value).__name__
    if is_scalar(value):
        value, what = _in_python(value), f"a pyarrow scalar of {value.type}"
    elif isinstance(value, (list, tuple)) or is_large(value):
        hint = "; one value goes to all rows of a column, and values of several rows are a table"
    return DataTypeError(
        f"{op}: {called(name)} is of type {dtype}, which does not hold {shown(value)} ({what}) without a change{hint}"
    )


def _in_python(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (TypeError, ValueError, OverflowError):  # a time outside Python's range, or a struct with duplicate names
        return scalar
