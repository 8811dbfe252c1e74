"""arrow_values.py: builds Arrow arrays of Python values level by level, of which pyarrow converts the leaves alone.

pyarrow's own conversion of nested values crashes the process for some (dictionaries inside of lists, nulls inside of
maps) and builds invalid arrays of others (sets for lists of a fixed size).
"""

from __future__ import annotations

import datetime
import importlib
import uuid
from array import array as typed_array
from collections import deque
from collections.abc import ItemsView, KeysView, Mapping, Sequence, ValuesView
from decimal import Decimal
from itertools import accumulate
from typing import Any

import numpy as np

from gatherscatter._libraries.columns import is_column
from gatherscatter._libraries.recognise import is_masked_array, library_of
from gatherscatter._table.python_values import as_number, is_nat, is_null, is_unchanged, plain

__all__ = ["UnfitValue", "array_of", "items_of"]


class UnfitValue(ValueError):
    """A type cannot hold a value without a change."""


# All classes whose values pyarrow reads; MonthDayNano is a tuple. Of other objects it would call methods.
_LEAVES = (
    *(bool, int, float, Decimal, str, bytes, bytearray, memoryview, np.datetime64, np.timedelta64),
    *(datetime.date, datetime.time, datetime.timedelta, tuple),
)


def array_of(kind: Any, values: Sequence[Any]) -> Any:
    """A pyarrow array of a type that holds exactly these values.

    Raises
    ------
    UnfitValue
        If a value is of another kind, or would change, or is null where a field is not nullable.
    pyarrow.ArrowException, TypeError, ValueError, OverflowError
        If pyarrow itself refuses a value.
    """
    pa = importlib.import_module("pyarrow")
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        stored = [_storage_of(pa, kind, value) for value in values]
        return pa.ExtensionArray.from_storage(kind, array_of(kind.storage_type, stored))
    if types.is_struct(kind):
        return _structs(pa, kind, values)
    if types.is_map(kind):
        return _lists(pa, kind, [None if is_null(value) else _entries(value) for value in values])
    if types.is_nested(kind) and hasattr(kind, "value_field"):
        return _lists(pa, kind, [None if is_null(value) else items_of(value) for value in values])
    if types.is_dictionary(kind):
        return _dictionary(pa, kind, values)
    if types.is_run_end_encoded(kind):
        ends = pa.array(range(1, len(values) + 1), kind.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, array_of(kind.value_type, values))
    if types.is_union(kind):
        raise UnfitValue("a value does not say to which field of a union it belongs")
    return _leaves(pa, kind, values)


def items_of(value: Any) -> tuple[Any, ...]:
    """The items of a value for a list, read once; a set has no order, and a string is one value."""
    if isinstance(value, np.ndarray):
        if is_masked_array(value) or value.ndim == 0:
            raise UnfitValue("no list")
        return tuple(value.tolist() if value.dtype.kind in "biuf" else value)
    if isinstance(value, (list, tuple, range, deque, typed_array, KeysView, ValuesView)):
        return tuple(value)
    if library_of(value, ("pandas", "polars")) and is_column(value):
        return tuple(value.to_list())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        return tuple(value)
    raise UnfitValue("no list")


def _lists(pa: Any, kind: Any, rows: Sequence[tuple[Any, ...] | None]) -> Any:
    """Lists of every layout, and maps, whose items are structs of a key and a value."""
    field = kind.field(0)
    is_fixed = pa.types.is_fixed_size_list(kind)
    if is_fixed:
        if any(row is not None and len(row) != kind.list_size for row in rows):
            raise UnfitValue("a list of another length")
        missing = (None,) * kind.list_size
        items = [item for row in rows for item in (missing if row is None else row)]
        if not field.nullable and any(map(_is_missing, (item for row in rows for item in row or ()))):
            raise UnfitValue("a null in a field that is not nullable")
    else:
        items = [item for row in rows for item in row or ()]
        if not field.nullable and any(map(_is_missing, items)):
            raise UnfitValue("a null in a field that is not nullable")
    children = [_structs(pa, field.type, items, False) if pa.types.is_map(kind) else array_of(field.type, items)]
    sizes = [len(row or ()) for row in rows]
    ends = list(accumulate(sizes, initial=0))
    width = np.int64 if str(kind).startswith("large_") else np.int32
    if ends[-1] > np.iinfo(width).max:
        raise UnfitValue("a list that is too long")
    buffers = [_validity(pa, rows)]
    if str(kind).startswith(("list_view", "large_list_view")):
        buffers += [pa.py_buffer(np.array(ends[:-1], width)), pa.py_buffer(np.array(sizes, width))]
    elif not is_fixed:
        buffers.append(pa.py_buffer(np.array(ends, width)))
    return pa.Array.from_buffers(kind, len(rows), buffers, rows.count(None), 0, children)


def _structs(pa: Any, kind: Any, values: Sequence[Any], by_name: bool = True) -> Any:
    """Structs of mappings; of tuples in the order of the fields unless `by_name`."""
    fields = [kind.field(at) for at in range(kind.num_fields)]
    names = [field.name for field in fields]
    rows: list[tuple[Any, ...] | None] = []
    for value in values:
        if is_null(value):
            rows.append(None)
        elif not by_name:
            rows.append(value)
        else:
            if not isinstance(value, Mapping) or len(set(names)) < len(names):
                raise UnfitValue("no mapping")
            given = dict(value)
            if given.keys() != set(names):
                raise UnfitValue("other fields")
            rows.append(tuple(given[name] for name in names))
    for at, field in enumerate(fields):
        if not field.nullable and any(row is not None and _is_missing(row[at]) for row in rows):
            raise UnfitValue("a null in a field that is not nullable")
    children = [array_of(field.type, [row and row[at] for row in rows]) for at, field in enumerate(fields)]
    return pa.Array.from_buffers(kind, len(rows), [_validity(pa, rows)], rows.count(None), 0, children)


def _entries(value: Any) -> tuple[tuple[Any, Any], ...]:
    """The pairs of key and value of a map."""
    entries = tuple(value.items()) if isinstance(value, Mapping) else None
    if entries is None:
        entries = tuple(value) if isinstance(value, ItemsView) else items_of(value)
    if not all(type(entry) is tuple and len(entry) == 2 and not _is_missing(entry[0]) for entry in entries):
        raise UnfitValue("no entries of a map")
    return entries


def _dictionary(pa: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Keys, and each different value once; pyarrow does not convert values of every type to dictionaries."""
    places: dict[Any, int] = {}
    keys: list[int | None] = []
    different: list[Any] = []
    for value in map(plain, values):
        if _is_missing(value):
            keys.append(None)
            continue
        try:
            place = places.setdefault((type(value), value), len(different))
        except TypeError:  # a list, which has no hash
            place = len(different)
        if place == len(different):
            different.append(value)
        keys.append(place)
    dictionary = array_of(kind.value_type, different)
    return pa.DictionaryArray.from_arrays(pa.array(keys, kind.index_type), dictionary, ordered=kind.ordered)


def _leaves(pa: Any, kind: Any, values: Sequence[Any]) -> Any:
    is_time = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    kinds = ((int, pa.types.is_integer), (float, pa.types.is_floating), (Decimal, pa.types.is_decimal))
    number: Any = next((number for number, holds in kinds if holds(kind)), None)
    given = [None if is_null(value) or (is_time and is_nat(value)) else plain(value) for value in values]
    if not all(value is None or (isinstance(value, _LEAVES) and not is_nat(value)) for value in given):
        raise UnfitValue("a value of another kind")
    leaves = pa.array([as_number(value, number) for value in given], type=kind)
    leaves.validate(full=True)
    if leaves.type != kind or not all(map(is_unchanged, given, leaves.to_pylist())):
        raise UnfitValue("a value that would change")
    return leaves


def _storage_of(pa: Any, kind: Any, value: Any) -> Any:
    """What the storage of an extension type holds for a value."""
    if isinstance(value, uuid.UUID) and pa.types.is_fixed_size_binary(kind.storage_type):
        return value.bytes
    if kind.extension_name == "arrow.bool8" and not _is_missing(value):
        if not isinstance(value, (bool, np.bool_)):
            raise UnfitValue("no bool")
        return int(value)
    return value


def _validity(pa: Any, rows: Sequence[Any]) -> Any:
    if None not in rows:
        return None
    return pa.py_buffer(np.packbits([row is not None for row in rows], bitorder="little"))


def _is_missing(value: Any) -> bool:
    return is_null(value) or is_nat(value)
