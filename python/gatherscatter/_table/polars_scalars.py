"""polars_scalars.py: converts Python values to Series of one element with a polars dtype, or raises.

polars panics on some values, which prints a trace of its stack, so it gets values of the class of its dtype alone.
"""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from gatherscatter._table.arrow_scalars import numbers_like, refusal
from gatherscatter._table.arrow_values import UnfitValue, items_of
from gatherscatter._table.python_values import as_number, is_nat, is_null, is_scalar, is_unchanged, plain

__all__ = ["FAILURES", "one_series", "series_of"]

pl: Any = importlib.import_module("polars")
# PanicException is not an Exception. polars raises it where its Rust code panics.
FAILURES = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
    *(TypeError, ValueError, ArithmeticError, RuntimeError),
)
# By dtype: the classes of its values, and those of values that are none though they derive from these.
CLASSES: dict[Any, tuple[tuple[type, ...], tuple[type, ...]]] = {
    pl.Boolean: ((bool,), ()),
    pl.String: ((str,), ()),
    pl.Categorical: ((str,), ()),
    pl.Enum: ((str,), ()),
    pl.Binary: ((bytes, bytearray), ()),
    pl.Date: ((datetime.date, np.datetime64), (datetime.datetime,)),
    pl.Datetime: ((datetime.datetime, np.datetime64), ()),
    pl.Duration: ((datetime.timedelta, np.timedelta64), ()),
    pl.Time: ((datetime.time,), ()),
}


def one_series(op: str, name: str, dtype: Any, value: Any) -> Any:
    """A Series of one element.

    Raises
    ------
    DataTypeError
        If the dtype cannot hold the value without a change.
    """
    try:
        if is_scalar(value) and not is_null(value):
            column = _of_scalar(name, dtype, value)
        else:
            column = _of_values(name, dtype, [value])
    except (*FAILURES, RecursionError) as error:
        raise refusal(op, name, dtype, value) from error
    return column


def series_of(dtype: Any, values: np.ndarray[Any, Any]) -> Any:
    """A Series of the elements of an array, or None if the dtype cannot hold one of them without a change."""
    try:
        if values.dtype.kind == "O" and values.ndim == 1:
            return _of_values("", dtype, list(values))
        is_number = dtype.is_integer() or dtype.is_float()
        column = pl.Series(numbers_like(values, pl.Series([], dtype=dtype).to_numpy().dtype if is_number else None))
    except (*FAILURES, RecursionError):
        return None
    return column if column.dtype == dtype else None


def _of_values(name: str, dtype: Any, values: list[Any]) -> Any:
    """A Series of Python values."""
    kept = [_value_for(dtype, value) for value in values]
    column = pl.Series(name, [_number_for(dtype, value) for value in kept], dtype=dtype, strict=True)
    if column.dtype != dtype or not all(map(is_unchanged, kept, column.to_list())):
        raise UnfitValue
    return column


def _of_scalar(name: str, dtype: Any, scalar: Any) -> Any:
    """A Series of a pyarrow scalar; categories take one of text."""
    pa = importlib.import_module("pyarrow")
    if not _is_of_polars(pa, scalar.type):
        raise UnfitValue
    scalar.validate(full=True)
    column = pl.Series(name, pa.repeat(scalar, 1))
    if column.dtype == pl.String and dtype in (pl.Categorical, pl.Enum):
        return pl.Series(name, [scalar.as_py()], dtype=dtype, strict=True)
    if column.dtype != dtype:
        raise UnfitValue
    return column


def _is_of_polars(pa: Any, kind: Any) -> bool:
    """Whether polars reads an Arrow type as a dtype of its own with these values."""
    types = pa.types
    if types.is_struct(kind) or types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return all(_is_of_polars(pa, kind.field(at).type) for at in range(kind.num_fields))
    if types.is_dictionary(kind):
        return str(kind.value_type) in ("string", "large_string", "string_view")
    if types.is_decimal(kind):
        return bool(types.is_decimal128(kind))
    return not (types.is_nested(kind) or types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType))


def _value_for(dtype: Any, value: Any) -> Any:
    """A value in lists, dicts and values of the class of a dtype, each read once."""
    kind = type(dtype)
    if is_null(value) or (is_nat(value) and kind in (pl.Datetime, pl.Duration)):
        return None
    if kind in (pl.List, pl.Array):
        items = items_of(value)
        if kind is pl.Array and len(items) != dtype.shape[0]:
            raise UnfitValue
        inner = dtype.inner
        return [_value_for(inner, item) for item in items]
    if kind is pl.Struct:
        if not isinstance(value, Mapping):
            raise UnfitValue
        given = dict(value)
        if given.keys() != {field.name for field in dtype.fields}:
            raise UnfitValue
        return {field.name: _value_for(field.dtype, given[field.name]) for field in dtype.fields}
    value = plain(value)
    if dtype.is_numeric():
        fits = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
        if isinstance(value, Decimal) and not value.is_finite():
            fits = False
    else:
        classes, others = CLASSES.get(kind, ((), ()))
        fits = isinstance(value, classes) and not isinstance(value, others) and not is_nat(value)
    if not fits:
        raise UnfitValue
    return value


def _number_for(dtype: Any, value: Any) -> Any:
    """A number of another class that is equal, which polars takes; else the value."""
    if isinstance(value, list) and hasattr(dtype, "inner"):
        return [_number_for(dtype.inner, item) for item in value]
    if isinstance(value, dict):
        return {field.name: _number_for(field.dtype, value[field.name]) for field in dtype.fields}
    number: Any = Decimal if dtype.is_decimal() else float if dtype.is_float() else int if dtype.is_integer() else None
    made = as_number(value, number)
    if number is int and made is not None and not isinstance(made, int):
        raise UnfitValue
    return made
