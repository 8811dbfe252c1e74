"""arrow_scalars.py: Python values as Arrow arrays of one element, exactly of a column's type or refused."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import DataTypeError, shown

__all__ = ["one_row", "plain", "refusal", "survived"]


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
    try:
        pa: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise TypeError(f"{op}: scalars for this target need pyarrow; a table of one row does without") from None
    if fields is None:
        fields = list(pa.schema(table)) if table.is_table else [pa.field(table)]
    arrays = [_one_array(pa, op, field, value) for field, value in zip(fields, values, strict=True)]
    if not table.is_table:
        return arrays[0]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _one_array(pa: Any, op: str, field: Any, value: Any) -> Any:
    if isinstance(value, pa.Scalar):
        array = _of_scalar(pa, field.type, value)
        if array is None:
            raise refusal(op, field.name, field.type, value.as_py(), f"a pyarrow scalar of {value.type}")
    elif value is None:
        array = _null(pa, field.type)
    else:
        value = plain(value)
        try:
            array = _of_value(pa, field.type, value)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise refusal(op, field.name, field.type, value) from error
        if not _is_kept(value, array):
            raise refusal(op, field.name, field.type, value)
    if array.null_count and not field.nullable:
        raise DataTypeError(f"{op}: column {field.name!r} is not nullable, got a null")
    return array


def _null(pa: Any, kind: Any) -> Any:
    """A null of any type: a row that an empty column does not have. Those that pyarrow makes of run ends are broken."""
    nothing = _core.ArrowTable(pa.chunked_array([], kind), False)
    missing = _core.Selection.gather("null", np.zeros(1, np.int64), None, nothing.lengths, "nullify")
    null = pa.array(nothing.take(missing))
    return null if null.type == kind else null.cast(kind)


def _of_value(pa: Any, kind: Any, value: Any) -> Any:
    """An array of a Python value; pyarrow does not know all types of values as dictionaries."""
    if not pa.types.is_dictionary(kind):
        return pa.array([value], type=kind)
    return _keyed(pa, kind, pa.array([value], type=kind.value_type))


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


def _is_kept(value: Any, array: Any) -> bool:
    if survived(value, array[0].as_py()):
        return True
    return hasattr(array, "storage") and survived(value, array.storage[0].as_py())


def plain(value: Any) -> Any:
    """The Python value of a NumPy scalar. Times finer than microseconds, which Python has not, stay as they are."""
    if not isinstance(value, np.generic):
        return value
    item = value.item()
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


def refusal(op: str, name: object, dtype: object, value: Any, what: str | None = None) -> DataTypeError:
    """The error for a scalar that a column cannot hold as it is."""
    return DataTypeError(
        f"{op}: {f'column {name!r}' if name else 'the column'} is of type {dtype}, which does not hold {shown(value)} "
        f"({what or type(value).__name__}) without a change"
    )
