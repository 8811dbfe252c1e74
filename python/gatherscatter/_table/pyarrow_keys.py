"""pyarrow_keys.py: columns of keys of pyarrow, and of all that export Arrow memory, numbered by its hash table."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.recognise import library_of
from gatherscatter._table.casts import as_layout
from gatherscatter._table.frames import ArrowExport
from gatherscatter._table.key_columns import TICKS, Indices, KeyColumn, of_numbers, refused
from gatherscatter._table.key_values import as_array, listed
from gatherscatter._table.of_pyarrow import rows_of_reader
from gatherscatter.errors import DataTypeError

__all__ = [
    "as_map",
    "codes",
    "column_of",
    "columns_of_arrow",
    "key_columns",
    "paired_decimals",
    "paired_objects",
    "wanted_columns",
]

pa: Any = importlib.import_module("pyarrow")
pc: Any = importlib.import_module("pyarrow.compute")
MOST = (1 << 31) - 1  # index_in gives numbers of 32 bits
WIDEST = 76  # digits of a decimal256
TEXT = ("large_string", "string", "string_view")  # first the layout in which keys are compared
BYTES = ("large_binary", "binary", "binary_view", "fixed_size_binary")


def key_columns(op: str, role: str, source: Any) -> list[KeyColumn]:
    if library_of(source, ("pandas",)):
        source = ArrowExport(op, source.to_frame(index=False) if hasattr(source, "levels") else _series(source))
    form = True if hasattr(source, "column_names") or library_of(source, ("duckdb", "_duckdb")) else None
    if isinstance(source, (pa.Array, pa.ChunkedArray)):
        form = False
    if isinstance(source, pa.RecordBatchReader):  # whose batches the table compares with their buffers
        source = rows_of_reader(op, source)
    # pyarrow trusts offsets, keys and texts, so that they are checked before it reads them.
    checked = _core.ArrowTable(source, form, True, op)
    if not checked.is_table:
        return columns_of_arrow(op, role, getattr(source, "name", None), pa.chunked_array(checked))
    table = pa.table(checked)
    return [
        column
        for name, values in zip(table.column_names, table.columns, strict=True)
        for column in columns_of_arrow(op, role, name, values)
    ]


def wanted_columns(op: str, wanted: Any, keys: list[KeyColumn]) -> list[KeyColumn]:
    if hasattr(wanted, "__arrow_c_stream__") or hasattr(wanted, "__arrow_c_array__") or library_of(wanted, ("pandas",)):
        return key_columns(op, "wanted", wanted)
    values, valid = as_array(op, wanted)
    try:
        array = pa.array(listed(values, valid)) if values.dtype.kind == "O" else pa.array(values, mask=~valid)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataTypeError(f"{op}: wanted is no column of pyarrow: {error}") from error
    return columns_of_arrow(op, "wanted", None, pa.chunked_array([array]))


def _series(source: Any) -> Any:
    """An Index or an array of pandas as a Series; other objects as they are."""
    return source if hasattr(source, "iloc") else importlib.import_module("pandas").Series(source)


def columns_of_arrow(op: str, role: str, name: Any, values: Any) -> list[KeyColumn]:
    """The columns of a ChunkedArray: one, or those of the fields of a struct."""
    kind = values.type
    if not pa.types.is_struct(kind):
        return [replace(column_of(op, role, name, values, str(kind)), item=lambda row: _python(values[row]))]
    fields = values.flatten()
    return [
        column
        for field, part in zip(kind, fields, strict=True)
        for column in columns_of_arrow(op, role, f"{name or ''}.{field.name}", part)
    ]


def column_of(op: str, role: str, name: Any, values: Any, text: str) -> KeyColumn:
    """The column of a ChunkedArray of any type of keys."""
    kind, types = values.type, pa.types
    if types.is_dictionary(kind):
        return column_of(op, role, name, _decoded(values), text)
    if types.is_run_end_encoded(kind):
        flat = pa.chunked_array([pc.run_end_decode(chunk) for chunk in values.chunks], kind.value_type)
        return column_of(op, role, name, flat, text)
    if hasattr(kind, "storage_type"):
        storage = pa.chunked_array([chunk.storage for chunk in values.chunks], kind.storage_type)
        column = column_of(op, role, name, storage, text)
        return replace(column, kind=f"{kind.extension_name} {column.kind}")
    if types.is_null(kind):
        return KeyColumn(name, "", np.empty(0, np.int64), np.zeros(len(values), bool), text)
    valid = values.is_valid().to_numpy()
    if types.is_integer(kind) or types.is_floating(kind):
        return of_numbers(name, "integer" if types.is_integer(kind) else "floating", _plain(values), valid, text)
    if types.is_boolean(kind):
        return of_numbers(name, "bool", _plain(values.cast(pa.uint8())), valid, text)
    if types.is_temporal(kind) and kind != pa.month_day_nano_interval():
        what, unit = _of_time(kind)
        wide = values.cast(pa.int32()) if kind.bit_width == 32 else values
        numbers = _plain(wide.cast(pa.int64()))
        return of_numbers(name, what, numbers, valid, text, TICKS[unit])
    if types.is_decimal(kind):
        wide = values if kind.bit_width >= 128 else values.cast(pa.decimal128(kind.precision, kind.scale))
        return KeyColumn(name, "decimal", wide.drop_null(), valid, text)
    layout = str(kind).partition("[")[0]
    for what, layouts in (("text", TEXT), ("bytes", BYTES)):
        if layout in layouts:
            return KeyColumn(name, what, as_layout(pa, values, layouts[0]).drop_null(), valid, text)
    raise refused(op, role, name, text)


def _python(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, TypeError, OverflowError):  # a time outside of Python's range
        return scalar


def _decoded(values: Any) -> Any:
    """The values of a column of dictionaries; those of text in a layout that pyarrow can take."""
    kind = values.type.value_type
    layout = next((layouts[0] for layouts in (TEXT, BYTES) if str(kind) in layouts), None)
    chunks = []
    for chunk in values.chunks:
        keys = pa.chunked_array([chunk.dictionary])
        chunks.append((as_layout(pa, keys, layout) if layout else keys).take(chunk.indices))
    flat = [part for chunk in chunks for part in chunk.chunks]
    return pa.chunked_array(flat, getattr(pa, layout)() if layout else kind)


def _plain(values: Any) -> Indices:
    """Numbers as an array, of which those of null rows mean nothing."""
    parts = [np.asarray(chunk.fill_null(0) if chunk.null_count else chunk) for chunk in values.chunks]
    return np.concatenate(parts) if parts else np.empty(0, values.type.to_pandas_dtype())


def _of_time(kind: Any) -> tuple[str, str]:
    types = pa.types
    if types.is_date(kind):
        return "date", "D" if kind == pa.date32() else "ms"
    if types.is_timestamp(kind):
        return "time without a zone" if kind.tz is None else "time with a zone", kind.unit
    return "duration" if types.is_duration(kind) else "time of day", kind.unit


def paired_decimals(op: str, keys: KeyColumn, wanted: KeyColumn) -> tuple[KeyColumn, KeyColumn]:
    """Both columns as decimals of one type that holds all values of both."""
    sides = [_as_decimal(keys), _as_decimal(wanted)]
    kinds = [side.values.type for side in sides]
    scale = max(kind.scale for kind in kinds)
    digits = max(kind.precision - kind.scale for kind in kinds) + scale
    if digits > WIDEST:
        raise DataTypeError(f"{op}: {kinds[0]} of keys and {kinds[1]} of wanted have no common type: cast one side")
    kind = pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)
    keys, wanted = (replace(side, values=side.values.cast(kind)) for side in sides)
    return keys, wanted


def _as_decimal(column: KeyColumn) -> KeyColumn:
    if column.kind == "decimal":
        return column
    return replace(column, values=pa.chunked_array([pa.array(column.values)]).cast(pa.decimal128(20, 0)))


def paired_objects(keys: KeyColumn, wanted: KeyColumn) -> tuple[KeyColumn, KeyColumn]:
    return keys, wanted  # text and bytes have one layout each


def codes(keys: Any, wanted: Any) -> tuple[Indices, Indices, int]:
    """A number for each value of `keys` below the count of different ones; of other values -1."""
    own, theirs = (
        each if isinstance(each, pa.ChunkedArray) else pa.chunked_array([pa.array(each)]) for each in (keys, wanted)
    )
    known = own.unique()
    if len(known) > MOST:
        raise OverflowError(f"table.rows_of: keys has {len(known)} different keys, and pyarrow numbers at most {MOST}")
    numbers = [_numbers(pc.index_in(each, value_set=known)) for each in (own, theirs)]
    return numbers[0], numbers[1], len(known)


def _numbers(found: Any) -> Indices:
    return _plain(pa.chunked_array([chunk.fill_null(-1) for chunk in found.chunks], pa.int32())).astype(np.int64)


def as_map(found: Indices, wanted: Any) -> Any:
    return pa.array(found, mask=found < 0)
