"""polars_keys.py: columns of keys of polars, numbered by its join."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from gatherscatter._table.key_columns import TICKS, Indices, KeyColumn, of_numbers, refused
from gatherscatter._table.key_values import as_array, listed
from gatherscatter._table.polars_scalars import FAILURES
from gatherscatter.errors import DataTypeError

__all__ = ["as_map", "codes", "key_columns", "paired_decimals", "paired_objects", "wanted_columns"]

pl: Any = importlib.import_module("polars")
WIDE = tuple(getattr(pl, name) for name in ("Int128", "UInt128") if hasattr(pl, name))


def key_columns(op: str, role: str, source: Any) -> list[KeyColumn]:
    columns = source.get_columns() if isinstance(source, pl.DataFrame) else [source]
    return [part for column in columns for part in _columns(op, role, column.name, column)]


def wanted_columns(op: str, wanted: Any, keys: list[KeyColumn]) -> list[KeyColumn]:
    if isinstance(wanted, (pl.DataFrame, pl.Series)):
        return key_columns(op, "wanted", wanted)
    values, valid = as_array(op, wanted)
    try:
        column = pl.Series(listed(values, valid)) if values.dtype.kind == "O" else pl.Series(values)
    except FAILURES as error:
        raise DataTypeError(f"{op}: wanted is no column of polars: {error}") from error
    return [_without(part, valid) for part in _columns(op, "wanted", None, column)]


def _without(column: KeyColumn, valid: Indices) -> KeyColumn:
    """A column of which the rows that are not `valid` become null."""
    kept = valid[column.valid]
    return column if kept.all() else replace(column, values=_filtered(column.values, kept), valid=column.valid & valid)


def _filtered(values: Any, kept: Indices) -> Any:
    return values[kept] if isinstance(values, np.ndarray) else values.filter(pl.Series(kept))


def _columns(op: str, role: str, name: Any, values: Any) -> list[KeyColumn]:
    """The columns of a Series: one, or those of the fields of a struct."""
    if isinstance(values.dtype, pl.Struct):
        valid = values.is_not_null().to_numpy()
        fields = values.struct.unnest().get_columns()
        parts = [part for field in fields for part in _columns(op, role, f"{name or ''}.{field.name}", field)]
        return [_without(part, valid) for part in parts]
    return [replace(_column(op, role, name, values), item=lambda row: values[row])]


def _column(op: str, role: str, name: Any, values: Any) -> KeyColumn:
    dtype, text = values.dtype, str(values.dtype)
    valid = values.is_not_null().to_numpy()
    if dtype == pl.Null:
        return KeyColumn(name, "", np.empty(0, np.int64), valid, text)
    if isinstance(dtype, WIDE):
        values = _narrow(op, role, name, values)
    if dtype.is_integer() or dtype.is_float():
        return of_numbers(name, "integer" if dtype.is_integer() else "floating", _plain(values), valid, text)
    if dtype == pl.Boolean:
        return of_numbers(name, "bool", _plain(values.cast(pl.UInt8)), valid, text)
    if dtype.is_temporal():
        what, unit = _of_time(dtype)
        return of_numbers(name, what, _plain(values.to_physical()), valid, text, TICKS[unit])
    if dtype.is_decimal():
        return KeyColumn(name, "decimal", values.drop_nulls(), valid, text)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return KeyColumn(name, "text", values.drop_nulls().cast(pl.String), valid, text)
    if dtype == pl.Binary:
        return KeyColumn(name, "bytes", values.drop_nulls(), valid, text)
    raise refused(op, role, name, text)


def _narrow(op: str, role: str, name: Any, values: Any) -> Any:
    for dtype in (pl.Int64, pl.UInt64):
        narrow = values.cast(dtype, strict=False)
        if narrow.null_count() == values.null_count():
            return narrow
    raise refused(op, role, name, f"{values.dtype} with values beyond 64 bits")


def _plain(values: Any) -> Indices:
    """Numbers as an array, of which those of null rows mean nothing."""
    array: Indices = values.fill_null(0).to_numpy()
    return array


def _of_time(dtype: Any) -> tuple[str, str]:
    if dtype == pl.Date:
        return "date", "D"
    if dtype == pl.Time:
        return "time of day", "ns"
    if dtype == pl.Duration:
        return "duration", dtype.time_unit
    return "time without a zone" if dtype.time_zone is None else "time with a zone", dtype.time_unit


def paired_decimals(op: str, keys: KeyColumn, wanted: KeyColumn) -> tuple[KeyColumn, KeyColumn]:
    """Wanted keys in the dtype of `keys`; those that it does not hold become null."""
    own, theirs = pl.Series(keys.values), pl.Series(wanted.values)
    other = theirs.cast(own.dtype, strict=False)
    kept = (other.cast(theirs.dtype, strict=False) == theirs).fill_null(False).to_numpy()
    values = other.filter(pl.Series(kept))
    if not own.dtype.is_decimal():
        values = values.to_numpy().view(np.int64)
        keys = replace(keys, values=keys.values.view(np.int64))
    valid = wanted.valid.copy()
    valid[wanted.valid] = kept
    return keys, replace(wanted, values=values, valid=valid)


def paired_objects(keys: KeyColumn, wanted: KeyColumn) -> tuple[KeyColumn, KeyColumn]:
    return keys, wanted  # text and bytes have one dtype each


def codes(keys: Any, wanted: Any) -> tuple[Indices, Indices, int]:
    """A number for each value of `keys` below the count of different ones; of other values -1."""
    own, theirs = (
        pl.Series("key", each) if isinstance(each, np.ndarray) else each.alias("key") for each in (keys, wanted)
    )
    known = own.unique(maintain_order=True)
    numbered = known.to_frame().with_columns(pl.Series("code", np.arange(len(known))))
    first = np.arange(len(known)) if len(known) == len(own) else _numbers(own, numbered)
    return first, _numbers(theirs, numbered), len(known)


def _numbers(values: Any, numbered: Any) -> Indices:
    joined = values.to_frame().join(numbered, on="key", how="left", maintain_order="left")
    found: Indices = joined["code"].fill_null(-1).to_numpy()
    return found


def as_map(found: Indices, wanted: Any) -> Any:
    rows = pl.Series("row", found)
    return rows.set(rows < 0, None).cast(pl.get_index_type())
