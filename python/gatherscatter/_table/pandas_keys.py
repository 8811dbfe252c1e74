"""pandas_keys.py: columns of keys of pandas, numbered by `factorize` and `Index.get_indexer`."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.key_columns import TICKS, Indices, KeyColumn, of_numbers, refused
from gatherscatter._table.key_values import as_array
from gatherscatter.errors import DataTypeError

__all__ = ["as_map", "codes", "key_columns", "paired_decimals", "paired_objects", "wanted_columns"]

pd: Any = importlib.import_module("pandas")


def key_columns(op: str, role: str, source: Any) -> list[KeyColumn]:
    if isinstance(source, pd.MultiIndex):
        source = source.to_frame(index=False, allow_duplicates=True)
    if isinstance(source, pd.DataFrame):
        return [part for name, column in source.items() for part in _columns(op, role, name, column)]
    return _columns(op, role, getattr(source, "name", None), source)


def wanted_columns(op: str, wanted: Any, keys: list[KeyColumn]) -> list[KeyColumn]:
    if isinstance(wanted, (pd.DataFrame, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return key_columns(op, "wanted", wanted)
    values, valid = as_array(op, wanted)
    (column,) = _columns(op, "wanted", None, values[valid])
    return [_spread(column, valid)]


def _spread(column: KeyColumn, valid: Indices) -> KeyColumn:
    """The column of the valid rows as one of all rows."""
    whole = valid.copy()
    whole[valid] = column.valid
    return replace(column, valid=whole)


def _columns(op: str, role: str, name: Any, source: Any) -> list[KeyColumn]:
    """The columns of a Series, an Index or an array: one, or those of the fields of a struct of Arrow."""
    series = pd.Series(source).reset_index(drop=True)
    if isinstance(series.dtype, pd.ArrowDtype) or getattr(series.dtype, "storage", "") == "pyarrow":
        return _of_arrow(op, role, name, series)
    column = _column(op, role, name, series)
    return [replace(column, item=lambda row: series.iloc[row], type=column.type or str(series.dtype))]


def _of_arrow(op: str, role: str, name: Any, series: Any) -> list[KeyColumn]:
    engine: Any = importlib.import_module("gatherscatter._table.pyarrow_keys")
    checked = _core.ArrowTable(series.array.__arrow_array__(), False, True, op)
    found: list[KeyColumn] = engine.columns_of_arrow(op, role, name, engine.pa.chunked_array(checked))
    return [replace(column, type=str(series.dtype)) for column in found]


def _column(op: str, role: str, name: Any, series: Any) -> KeyColumn:
    dtype, text = series.dtype, str(series.dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categories(op, role, name, series.array)
    if isinstance(dtype, pd.SparseDtype):
        return _column(op, role, name, pd.Series(series.array.to_dense()))
    valid = series.notna().to_numpy()
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _of_times(name, "time with a zone", series.dt.tz_convert(None).to_numpy(), valid, text)
    if isinstance(dtype, pd.PeriodDtype):
        numbers = series[valid].astype("int64").to_numpy()
        return KeyColumn(name, f"{dtype}", numbers, valid, text)
    if hasattr(dtype, "numpy_dtype"):
        values = series.array.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _of_array(op, role, name, values, valid, text)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return _of_array(op, role, name, series.to_numpy(), valid, text)
    return _of_objects(op, role, name, series, valid)


def _of_array(op: str, role: str, name: Any, values: Indices, valid: Indices, text: str) -> KeyColumn:
    kind = values.dtype.kind
    if kind in "mM":
        return _of_times(name, "duration" if kind == "m" else "time without a zone", values, valid, text)
    if kind == "b":
        return of_numbers(name, "bool", values.view(np.uint8), valid, text)
    if kind in "iu" or (kind == "f" and values.dtype.itemsize <= 8):
        return of_numbers(name, "floating" if kind == "f" else "integer", values, valid, text)
    raise refused(op, role, name, text)


def _of_times(name: Any, kind: str, values: Indices, valid: Indices, text: str) -> KeyColumn:
    return of_numbers(name, kind, values.view(np.int64), valid, text, TICKS[np.datetime_data(values.dtype)[0]])


def _of_categories(op: str, role: str, name: Any, values: Any) -> KeyColumn:
    found = _columns(op, role, name, values.categories)
    if len(found) != 1 or not found[0].valid.all():
        raise refused(op, role, name, f"categories of {values.categories.dtype}")
    valid = values.codes >= 0
    codes = values.codes[valid]
    taken = found[0].values[codes] if isinstance(found[0].values, np.ndarray) else found[0].values.take(codes)
    return replace(found[0], values=taken, valid=valid, type=f"category of {found[0].type}")


def _of_objects(op: str, role: str, name: Any, series: Any, valid: Indices) -> KeyColumn:
    """A column of Python objects, which are compared as Python does where they are not of one known type."""
    text = str(series.dtype)
    present = series[valid].astype(object)
    kind = pd.api.types.infer_dtype(present, skipna=False)
    if kind in ("integer", "floating", "boolean", "datetime", "datetime64", "timedelta", "timedelta64"):
        inferred = present.infer_objects()
        if inferred.dtype != object:
            return _spread(replace(_column(op, role, name, inferred.reset_index(drop=True)), type=text), valid)
    values = present.to_numpy()
    if kind == "date":
        return KeyColumn(name, "date", values.astype("M8[D]").view(np.int64), valid, text, TICKS["D"])
    if kind == "time" and not any(value.tzinfo for value in values):
        ticks = [((t.hour * 60 + t.minute) * 60 + t.second) * 10**6 + t.microsecond for t in values]
        return KeyColumn(name, "time of day", np.array(ticks, np.int64), valid, text, TICKS["us"])
    known = {"string": "text", "bytes": "bytes", "decimal": "decimal", "integer": "integer", "empty": ""}
    return KeyColumn(name, known.get(kind, f"{kind} objects"), values, valid, text)


def paired_decimals(op: str, keys: KeyColumn, wanted: KeyColumn) -> tuple[KeyColumn, KeyColumn]:
    return _as_objects(keys), _as_objects(wanted)  # Python's decimals and integers have equal hashes if they are equal


def paired_objects(keys: KeyColumn, wanted: KeyColumn) -> tuple[KeyColumn, KeyColumn]:
    if type(keys.values) is type(wanted.values) and not isinstance(keys.values, np.ndarray):
        return keys, wanted  # columns of pyarrow
    return _as_objects(keys), _as_objects(wanted)


def _as_objects(column: KeyColumn) -> KeyColumn:
    values = column.values
    if isinstance(values, np.ndarray):
        return replace(column, values=values.astype(object))
    objects = np.empty(len(values), object)
    objects[:] = values.to_pylist()
    return replace(column, values=objects)


def codes(keys: Any, wanted: Any) -> tuple[Indices, Indices, int]:
    """A number for each value of `keys` below the count of different ones; of other values -1."""
    if not isinstance(keys, np.ndarray):
        engine: Any = importlib.import_module("gatherscatter._table.pyarrow_keys")
        found: tuple[Indices, Indices, int] = engine.codes(keys, wanted)
        return found
    try:
        known, values = pd.factorize(keys)
        asked = pd.Index(values, dtype=keys.dtype, tupleize_cols=False).get_indexer(
            pd.Index(wanted, dtype=keys.dtype, tupleize_cols=False)
        )
    except TypeError as error:
        raise DataTypeError(f"table.rows_of: keys that are Python objects need a hash: {error}") from error
    return known, asked, len(values)


def as_map(found: Indices, wanted: Any) -> Any:
    missing = found < 0
    index = wanted.index if isinstance(wanted, (pd.DataFrame, pd.Series)) else None
    return pd.Series(pd.arrays.IntegerArray(np.where(missing, 0, found), missing), index=index)
