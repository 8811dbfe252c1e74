"""table_values.py: Arrow data as lists of Python objects that compare exactly, and checks of results.

Null is None, and only null is. Floats are given as their bits, times as their integers, decimals as text (which has
the scale), rows of a struct as tuples, of a map as lists of pairs, of a union as (type code, value); dictionaries and
runs are decoded; extension arrays are given as their storage.
"""

from __future__ import annotations

import itertools
import zlib
from typing import Any

import numpy as np
import pyarrow as pa

is_ = pa.types


def values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The rows of a column."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in values(chunk)]
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return values(array.storage)
    if is_.is_run_end_encoded(type):
        return run_values(array)
    if is_.is_union(type):
        return union_values(array)
    if is_.is_null(type):
        return [None] * len(array)
    valid = array.is_valid().to_pylist()
    found = valid_values(array)
    return [value if ok else None for value, ok in zip(found, valid, strict=True)]


def valid_values(array: pa.Array) -> list[Any]:
    """The rows of a column, with arbitrary values for null rows."""
    type = array.type
    if is_.is_dictionary(type):
        keys = values(array.dictionary)
        return [None if i is None else keys[i] for i in array.indices.to_pylist()]
    if is_.is_map(type):
        pairs = list(zip(values(array.keys), values(array.items), strict=True))
        return cut(pairs, array.offsets.to_pylist())
    if is_.is_list(type) or is_.is_large_list(type):
        return cut(values(array.values), array.offsets.to_pylist())
    if is_.is_list_view(type) or is_.is_large_list_view(type):
        elements, sizes = values(array.values), array.sizes.to_pylist()
        return [elements[i : i + size] for i, size in zip(array.offsets.to_pylist(), sizes, strict=True)]
    if is_.is_fixed_size_list(type):
        elements, size = values(array.values), type.list_size
        return [elements[i * size : (i + 1) * size] for i in range(array.offset, array.offset + len(array))]
    if is_.is_struct(type):
        fields = [values(array.field(i)) for i in range(type.num_fields)]
        return [tuple(column[row] for column in fields) for row in range(len(array))]
    if is_.is_decimal(type):
        return [None if value is None else str(value) for value in array.to_pylist()]
    if is_.is_floating(type) or (is_.is_temporal(type) and not is_.is_interval(type)):
        unsigned = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[type.bit_width]
        return array.view(unsigned if is_.is_floating(type) else signed_as(unsigned)).to_pylist()
    return array.to_pylist()


def signed_as(unsigned: pa.DataType) -> pa.DataType:
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[unsigned.bit_width]


def cut(elements: list[Any], offsets: list[int]) -> list[list[Any]]:
    return [elements[first:last] for first, last in itertools.pairwise(offsets)]


def run_values(array: pa.RunEndEncodedArray) -> list[Any]:
    ends, runs = array.run_ends.to_pylist(), values(array.values)
    found, run = [], 0
    for row in range(array.offset, array.offset + len(array)):
        while ends[run] <= row:
            run += 1
        found.append(runs[run])
    return found


def union_values(array: pa.UnionArray) -> list[Any]:
    """The rows, read from the buffers: `type_codes` and `offsets` of a slice are those of the whole (pyarrow 26)."""
    type, count = array.type, len(array)
    buffers = array.buffers()
    codes = np.frombuffer(buffers[1], np.int8, array.offset + count)[array.offset :].tolist() if count else []
    rows = range(count)
    if type.mode == "dense" and count:
        rows = np.frombuffer(buffers[2], np.int32, array.offset + count)[array.offset :].tolist()
    fields = {code: values(array.field(i)) for i, code in enumerate(type.type_codes)}
    return [(code, fields[code][row]) for code, row in zip(codes, rows, strict=True)]


def differences(type: pa.DataType, got: list[Any], want: list[Any]) -> list[tuple[int, Any, Any]]:
    """The first rows that differ. Unions have no nulls of their own, so a missing row of one is null in a child."""
    if is_.is_union(type):
        got = null_like(type, got, want)
    elif is_.is_nested(type) and is_.is_union(getattr(type, "value_type", type)):  # or a missing element of a list
        pairs = zip(got, want, strict=True)
        got = [null_like(type.value_type, g, w) if g and w and len(g) == len(w) else g for g, w in pairs]
    return [(i, g, w) for i, (g, w) in enumerate(zip(got, want, strict=True)) if g != w][:3]


def null_like(type: pa.DataType, got: list[Any], want: list[Any]) -> list[Any]:
    """The rows of a union, with None for a null of any child where None is expected."""
    return [None if w is None and is_missing(type, g) else g for g, w in zip(got, want, strict=True)]


def is_missing(type: pa.DataType, value: Any) -> bool:
    """Whether a row of a union is null in a child, or in a nested union's child."""
    if not is_.is_union(type) or value is None:
        return value is None
    return is_missing(type.field(list(type.type_codes).index(value[0])).type, value[1])


def fingerprint(data: Any) -> int:
    """A number that changes if any byte of a column or table changes."""
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return zlib.crc32(repr([fingerprint(column) for column in data.columns]).encode())
    total = 0
    for array in data.chunks if isinstance(data, pa.ChunkedArray) else [data]:
        for part in parts(array):
            for buffer in part.buffers():
                if buffer is not None:
                    total = zlib.crc32(memoryview(buffer), total + buffer.address % 65_537)
    return total


def parts(array: pa.Array) -> list[pa.Array]:
    """The array and the dictionaries in it: `buffers` includes the buffers of children, but not of dictionaries."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return parts(array.storage)
    if is_.is_dictionary(type):
        return [array, *parts(array.dictionary)]
    children: list[pa.Array] = []
    if is_.is_map(type):
        children = [array.keys, array.items]
    elif is_.is_nested(type) and hasattr(array, "values"):
        children = [array.values]
    elif is_.is_struct(type) or is_.is_union(type):
        children = [array.field(i) for i in range(type.num_fields)]
    elif is_.is_run_end_encoded(type):
        children = [array.run_ends, array.values]
    return [array, *(part for inner in children for part in parts(inner)[1:])]


def pyarrow_says(function: Any, type: pa.DataType, *arguments: Any) -> list[Any] | None:
    """The rows of pyarrow's result; None if pyarrow has no kernel for the type, or returns another type."""
    try:
        answer = function(*arguments)
    except pa.ArrowNotImplementedError:
        return None
    return values(answer) if answer.type.equals(type) else None


def scalar_value(array: pa.Array) -> Any:
    """The only row of an array as a scalar represents it: for a null in a union, a scalar does not record the child."""
    (value,) = values(array)
    return None if is_missing(array.type, value) else value


# ---- the kinds of pyarrow objects for a column

KINDS = ("array", "chunked", "batch", "table")


def wrapped(column: pa.ChunkedArray, kind: str, nullable: bool = True) -> Any:
    """The column as one of KINDS; tables have row numbers as a second column, and metadata."""
    if kind == "chunked":
        return column
    if kind == "array":
        return column.chunk(0)
    numbers = pa.array(np.arange(len(column), dtype=np.int64))
    named = pa.field("c", column.type, nullable, metadata={"unit": "m"})
    schema = pa.schema([named, pa.field("row", pa.int64(), nullable)], metadata={"about": "test"})
    if kind == "batch":
        return pa.RecordBatch.from_arrays([column.chunk(0), numbers], schema=schema)
    return pa.Table.from_arrays([column, numbers], schema=schema)


def column_of(data: Any) -> Any:
    """The first column of a table, or the column itself."""
    return data.column(0) if isinstance(data, (pa.Table, pa.RecordBatch)) else data


def lists_of(data: Any) -> list[list[Any]]:
    """All columns as lists, for the oracle."""
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return [values(column) for column in data.columns]
    return [values(data)]


def all_nullable(schema: pa.Schema) -> pa.Schema:
    fields = [schema.field(i).with_nullable(True) for i in range(len(schema))]
    return pa.schema(fields, metadata=schema.metadata)


def check(got: Any, like: Any, want: list[list[Any]], nullify: bool = False) -> None:
    """Check that a result is valid, equals `want`, has `like`'s kind, schema and type, and is one chunk."""
    assert type(got) is type(like), f"{type(got)} from {type(like)}"
    got.validate(full=True)
    if isinstance(like, (pa.Table, pa.RecordBatch)):
        schema = all_nullable(like.schema) if nullify else like.schema
        assert got.schema.equals(schema, check_metadata=True), f"{got.schema} is not {schema}"
        columns = got.columns
        assert got.num_rows == len(want[0]) if want else True
    else:
        assert got.type.equals(like.type, check_metadata=True), f"{got.type} is not {like.type}"
        columns = [got]
    assert len(columns) == len(want)
    for column, rows in zip(columns, want, strict=True):
        if isinstance(column, pa.ChunkedArray):
            assert column.num_chunks == 1, f"{column.num_chunks} chunks"
        assert len(column) == len(rows)
        wrong = differences(column.type, values(column), rows)
        assert not wrong, f"{column.type}: (row, got, wanted): {wrong}"
        check_null_count(column, rows)


def check_null_count(column: pa.Array | pa.ChunkedArray, rows: list[Any]) -> None:
    """Check that the null count of an array is that of its bits. Types without a bitmap have no count to check."""
    t = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
    if is_.is_union(t) or is_.is_run_end_encoded(t) or is_.is_dictionary(t):
        return
    assert column.null_count == sum(row is None for row in rows)
