"""arrow_scalars.py: Python values as Arrow arrays of one element, exactly of a column's type or refused."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import ItemsView, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.words import called
from gatherscatter.errors import DataTypeError, shown

__all__ = [
    "as_number",
    "column_of",
    "is_nat",
    "is_null",
    "is_scalar",
    "numbers_like",
    "one_array",
    "one_row",
    "plain",
    "refusal",
    "survived",
]


def one_row(op: str, table: _core.ArrowTable, values: list[Any], fields: list[Any] | None = None) -> Any:
    """A record batch (an array for a column) of one row with the types of a table.

    Parameters
    ----------
    fields : list of pyarrow.Field, optional
        The types, where the caller knows more than the table says: extension types that are not registered.

    Raises
    ------
    DataTypeError
        If a value is not exactly one of its column's type.
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
    """A pyarrow array of one value of a type.

    Raises
    ------
    DataTypeError
        If it is not exactly a value of the type.
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
        fits = not is_nat(value) and _is_whole(pa, kind, value)
        array = _of_value(pa, kind, value) if fits else None
        kept = array is not None and _is_kept(value, array) and _keeps_nulls_out(pa, kind, array)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, np.ma.MaskError) as error:
        raise refusal(op, name, kind, value) from error
    if not kept:
        raise refusal(op, name, kind, value)
    return array


def column_of(op: str, role: str, table: _core.ArrowTable, values: np.ndarray[Any, Any]) -> Any:
    """The elements of a NumPy array as a pyarrow array with the type of a column.

    Raises
    ------
    DataTypeError
        If it is of another type; numbers may be of another one that holds them all as they are.
    """
    pa = _pyarrow(op)
    kind = pa.field(table).type
    try:
        array = pa.array(numbers_like(values, _numbers_in(pa, kind)))
    except pa.ArrowException:  # several axes, Python objects
        array = None
    if array is None or array.type != kind:
        raise DataTypeError(
            f"{op}: {role} is an array of {values.dtype}, which the column of {kind} does not hold without a change: "
            "make it a column of the target's library first"
        )
    return array


def numbers_like(values: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """An array of numbers as another dtype of numbers, if that changes none of them; else as it is."""
    if dtype is None or values.dtype.kind not in "iuf":
        return values
    with np.errstate(all="ignore"):
        other = values.astype(dtype)
        kept = (other == values) & (other.astype(values.dtype) == values) | ((values != values) & (other != other))
    return other if kept.all() else values


def _numbers_in(pa: Any, kind: Any) -> Any:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return kind.to_pandas_dtype() if is_number else None


def _pyarrow(op: str) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise TypeError(f"{op}: values for this target need pyarrow; a table of one row does without") from None


def _null(pa: Any, kind: Any) -> Any:
    """A null of any type: a row that an empty column does not have. Those that pyarrow makes of run ends are broken."""
    nothing = _core.ArrowTable(pa.chunked_array([], kind), False)
    missing = _core.Selection.gather("null", np.zeros(1, np.int64), None, nothing.lengths, "nullify", "from_end", -1)
    null = pa.array(nothing.take(missing))
    return null if null.type == kind else null.cast(kind)


def _of_value(pa: Any, kind: Any, value: Any) -> Any:
    """An array of a Python value; pyarrow does not know all types of values as dictionaries."""
    if pa.types.is_dictionary(kind):
        return _keyed(pa, kind, _of_value(pa, kind.value_type, value))
    kinds = ((int, pa.types.is_integer), (float, pa.types.is_floating), (Decimal, pa.types.is_decimal))
    number: Any = next((number for number, holds in kinds if holds(kind)), None)
    return pa.array([as_number(value, number)], type=kind)


def _keyed(pa: Any, kind: Any, values: Any) -> Any:
    key = pa.array([0 if values[0].is_valid else None], kind.index_type)
    return pa.DictionaryArray.from_arrays(key, values.drop_null(), ordered=kind.ordered)


def _of_scalar(pa: Any, kind: Any, value: Any) -> Any:
    """An array of a scalar of exactly this type; encoded columns take one of the type of their values."""
    if value.type == kind:
        return pa.repeat(value, 1) if value.is_valid else _null(pa, kind)
    if value.type != getattr(kind, "value_type", None):
        return None
    if pa.types.is_dictionary(kind):
        return _keyed(pa, kind, pa.repeat(value, 1))
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays(pa.array([1], kind.run_end_type), pa.repeat(value, 1))
    return None


def _is_whole(pa: Any, kind: Any, value: Any) -> bool:
    """Whether no map in a value has an entry that is null: pyarrow ends the process over it."""
    kind = getattr(kind, "storage_type", kind)
    if not pa.types.is_nested(kind) or "map<" not in str(kind):
        return True
    if is_null(value) or is_scalar(value):  # a null in a list or a struct; a scalar was made by pyarrow
        return True
    if pa.types.is_struct(kind):
        return isinstance(value, Mapping) and all(
            _is_whole(pa, kind.field(i).type, value.get(kind.field(i).name)) for i in range(kind.num_fields)
        )
    entries = value.items() if isinstance(value, Mapping) else value
    if not isinstance(entries, (list, tuple, ItemsView, np.ndarray)):
        return False
    if not pa.types.is_map(kind):
        inner = kind.field(0).type
        return all(_is_whole(pa, inner, entry) for entry in entries)
    return all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries) and all(
        _is_whole(pa, kind.key_type, key) and _is_whole(pa, kind.item_type, item) for key, item in entries
    )


def _keeps_nulls_out(pa: Any, kind: Any, array: Any) -> bool:
    """Whether there is no null in a field inside of an array that is not nullable, which pyarrow does not look at."""
    if hasattr(kind, "storage_type"):
        return _keeps_nulls_out(pa, kind.storage_type, array.storage)
    if pa.types.is_struct(kind):
        parts = list(zip(kind, array.filter(array.is_valid()).flatten(), strict=True))
    elif pa.types.is_map(kind):
        parts = [(kind.key_field, array.keys), (kind.item_field, array.items)]
    elif hasattr(kind, "value_field"):
        parts = [(kind.value_field, array.flatten())]
    else:
        return True
    return all((f.nullable or not part.null_count) and _keeps_nulls_out(pa, f.type, part) for f, part in parts)


def _is_kept(value: Any, array: Any) -> bool:
    if survived(value, array[0].as_py()):
        return True
    return hasattr(array, "storage") and survived(value, array.storage[0].as_py())


def is_null(value: Any) -> bool:
    """Whether it stands for a null in a column of any type: None, pandas.NA, the scalar of pyarrow's null type."""
    return type(value).__name__ in ("NoneType", "NAType", "NullScalar")


def is_scalar(value: Any) -> bool:
    """Whether it is a scalar of pyarrow, which is not imported for it."""
    pa: Any = sys.modules.get("pyarrow")
    return pa is not None and isinstance(value, pa.Scalar)


def is_nat(value: Any) -> bool:
    """Whether it is a time or duration that is none, of NumPy or pandas."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ == "NaTType"


def as_number(value: Any, kind: type[int] | type[float] | type[Decimal] | None) -> Any:
    """An int, float or Decimal as another one of these that is equal to it, if there is one; else as it is."""
    if kind is None or isinstance(value, (bool, kind)) or not isinstance(value, (int, float, Decimal)):
        return value
    try:
        number = kind(value)
    except (ValueError, ArithmeticError):  # NaN, infinity, too large
        return value
    return number if number == value and math.isfinite(number) else value


def plain(value: Any) -> Any:
    """The Python value of a NumPy scalar. Times that Python has not stay as they are: finer ones, months and years."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, np.generic) or is_nat(value):
        return value
    item = value.item()
    if isinstance(value, np.timedelta64) and np.datetime_data(value)[0] in "YM":  # of no fixed length
        return value
    if isinstance(value, (np.datetime64, np.timedelta64)) and isinstance(item, int):
        coarse = value.astype("M8[us]" if isinstance(value, np.datetime64) else "m8[us]")
        return coarse.item() if coarse == value else value
    return item


def survived(given: Any, back: Any) -> bool:
    """Whether a value is what it was before its conversion.

    Floats may be rounded to a narrower type, as every assignment to such a column does, but not become infinite.
    """
    if isinstance(given, bool) != isinstance(back, bool):
        return False
    if isinstance(given, (np.datetime64, np.timedelta64)) and isinstance(back, (int, float, Decimal)):
        return False  # NumPy compares them with numbers
    if isinstance(given, float) and isinstance(back, float):
        return math.isinf(given) == math.isinf(back) and math.isnan(given) == math.isnan(back)
    if isinstance(back, dict):
        return (
            isinstance(given, Mapping)
            and given.keys() == back.keys()
            and all(survived(given[k], back[k]) for k in back)
        )
    if isinstance(back, (list, tuple)):
        given = list(given.items()) if isinstance(given, Mapping) else given
        given = list(given) if hasattr(given, "__len__") and not isinstance(given, (str, bytes)) else [given]
        return len(given) == len(back) and all(map(survived, map(plain, given), back))
    try:
        return bool(given == back)
    except (TypeError, ValueError):
        return False


def refusal(op: str, name: object, dtype: object, value: Any, hint: str = "") -> DataTypeError:
    """The error for a scalar that a column cannot hold as it is."""
    what = type(value).__name__
    if is_scalar(value):
        value, what = _in_python(value), f"a pyarrow scalar of {value.type}"
    return DataTypeError(
        f"{op}: {called(name)} is of type {dtype}, which does not hold {shown(value)} ({what}) without a change{hint}"
    )


def _in_python(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (TypeError, ValueError, OverflowError):  # a time beyond those of Python, a struct with a name twice
        return scalar
