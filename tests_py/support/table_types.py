"""table_types.py: Arrow arrays of every type in every memory layout that the format allows.

`build` writes the buffers itself, so that they contain what the format allows and builders do not produce: arbitrary
values of null rows and after the last row, offsets that begin above 0, children that are slices, views into several
buffers, dictionaries with repeated, unused and null keys, list views in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa


class Celsius(pa.ExtensionType):
    """An extension type of the tests, with a parameter in its metadata."""

    def __init__(self, scale: int = 1) -> None:
        self.scale = scale
        super().__init__(pa.float64(), "gatherscatter.test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return f"scale={self.scale}".encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Celsius:
        return cls(int(serialized.decode().removeprefix("scale=")))


class Labels(pa.ExtensionType):
    """An extension type over a nested type."""

    def __init__(self) -> None:
        super().__init__(pa.list_(pa.dictionary(pa.int8(), pa.string())), "gatherscatter.test.labels")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Labels:
        return cls()


for extension in (Celsius(3), Labels()):
    pa.register_extension_type(extension)


def field(name: str, type: pa.DataType, nullable: bool = True) -> pa.Field:
    """A field of a nested type, with metadata, which results must keep."""
    return pa.field(name, type, nullable, metadata={"of": name})


PLAIN = {
    "null": pa.null(),
    "bool": pa.bool_(),
    **{f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "half": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal32": pa.decimal32(7, 2),
    "decimal64": pa.decimal64(16, -3),
    "decimal128": pa.decimal128(38, 10),
    "decimal256": pa.decimal256(76, 20),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "time32[s]": pa.time32("s"),
    "time32[ms]": pa.time32("ms"),
    "time64[us]": pa.time64("us"),
    "time64[ns]": pa.time64("ns"),
    **{f"timestamp[{unit}]": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    "timestamp[ns, zone]": pa.timestamp("ns", "Europe/Berlin"),
    "timestamp[s, zone]": pa.timestamp("s", "+05:30"),
    **{f"duration[{unit}]": pa.duration(unit) for unit in ("s", "ms", "us", "ns")},
    "interval": pa.month_day_nano_interval(),
    "fixed_binary[0]": pa.binary(0),
    "fixed_binary[1]": pa.binary(1),
    "fixed_binary[3]": pa.binary(3),
    "fixed_binary[64]": pa.binary(64),
}
VARIABLE = {
    "binary": pa.binary(),
    "string": pa.string(),
    "large_binary": pa.large_binary(),
    "large_string": pa.large_string(),
    "binary_view": pa.binary_view(),
    "string_view": pa.string_view(),
}
DICTIONARIES = {
    "dictionary[int8, string]": pa.dictionary(pa.int8(), pa.string()),
    "dictionary[int32, string]": pa.dictionary(pa.int32(), pa.string(), ordered=True),
    "dictionary[uint16, int64]": pa.dictionary(pa.uint16(), pa.int64()),
    "dictionary[int64, large_string]": pa.dictionary(pa.int64(), pa.large_string()),
    "dictionary[int32, double]": pa.dictionary(pa.int32(), pa.float64()),
    "dictionary[uint8, bool]": pa.dictionary(pa.uint8(), pa.bool_()),
    "dictionary[int32, decimal128]": pa.dictionary(pa.int32(), pa.decimal128(20, 2)),
    "dictionary[int16, binary]": pa.dictionary(pa.int16(), pa.binary()),
    "dictionary[int32, fixed_binary]": pa.dictionary(pa.int32(), pa.binary(3)),
    "dictionary[uint32, string_view]": pa.dictionary(pa.uint32(), pa.string_view()),
}
NESTED = {
    "list[int16]": pa.list_(field("element", pa.int16())),
    "list[int32 required]": pa.list_(field("item", pa.int32(), nullable=False)),
    "large_list[string]": pa.large_list(pa.string()),
    "list_view[int64]": pa.list_view(field("element", pa.int64())),
    "large_list_view[string]": pa.large_list_view(pa.string()),
    "fixed_list[float, 3]": pa.list_(field("item", pa.float32()), 3),
    "fixed_list[int8, 0]": pa.list_(pa.int8(), 0),
    "struct": pa.struct([field("a", pa.int32()), field("b", pa.string(), False), field("a", pa.bool_())]),
    "struct[]": pa.struct([]),
    "map[string, int32]": pa.map_(pa.string(), field("value", pa.int32())),
    "map[int8, string, sorted]": pa.map_(pa.int8(), pa.string(), keys_sorted=True),
    "run_end[int16, string]": pa.run_end_encoded(pa.int16(), pa.string()),
    "run_end[int32, double]": pa.run_end_encoded(pa.int32(), pa.float64()),
    "run_end[int64, bool]": pa.run_end_encoded(pa.int64(), pa.bool_()),
    "sparse_union": pa.sparse_union([field("i", pa.int32()), field("s", pa.string())], [5, 99]),
    "dense_union": pa.dense_union([field("i", pa.int64()), field("s", pa.string()), field("b", pa.bool_())], [7, 0, 3]),
}
EXTENSIONS = {
    "uuid": pa.uuid(),
    "json": pa.json_(pa.string()),
    "bool8": pa.bool8(),
    "fixed_shape_tensor": pa.fixed_shape_tensor(pa.int32(), (2, 3), dim_names=["y", "x"]),
    "opaque": pa.opaque(pa.binary(5), "point", "vendor"),
    "celsius": Celsius(3),
    "labels": Labels(),
}
DEEP = {
    "list[struct[list[string]]]": pa.list_(pa.struct([field("l", pa.list_(pa.string())), field("i", pa.int8())])),
    "list[list[list[int32]]]": pa.list_(pa.list_(pa.large_list(pa.int32()))),
    "struct[dictionary]": pa.struct([field("d", DICTIONARIES["dictionary[int8, string]"])]),
    "list[dictionary]": pa.list_(DICTIONARIES["dictionary[int32, string]"]),
    "list[list_view[int16]]": pa.list_(pa.list_view(pa.int16())),
    "list[large_list_view[string_view]]": pa.list_(pa.large_list_view(pa.string_view())),
    "map[string, list[int32]]": pa.map_(pa.string(), pa.list_(pa.int32())),
    "fixed_list[struct]": pa.list_(pa.struct([field("x", pa.float64()), field("s", pa.string())]), 2),
    "fixed_list[fixed_list[bool]]": pa.list_(pa.list_(pa.bool_(), 3), 2),
    "struct[run_end]": pa.struct([field("r", pa.run_end_encoded(pa.int32(), pa.string())), field("n", pa.null())]),
    "struct[struct[struct]]": pa.struct(
        [field("u", pa.struct([field("v", NESTED["struct"]), field("z", pa.uint8())]))]
    ),
    "list[run_end]": pa.list_(pa.run_end_encoded(pa.int32(), pa.int64())),
    "list[sparse_union]": pa.list_(NESTED["sparse_union"]),
    "struct[dense_union]": pa.struct([field("o", NESTED["dense_union"])]),
    "dense_union[list, dictionary]": pa.dense_union(
        [field("l", pa.list_(pa.int8())), field("d", DICTIONARIES["dictionary[int8, string]"])]
    ),
    "run_end[struct]": pa.run_end_encoded(pa.int32(), pa.struct([field("s", pa.string()), field("i", pa.int8())])),
    "run_end[list]": pa.run_end_encoded(pa.int64(), pa.list_(pa.string())),
    "struct[extension]": pa.struct([field("t", Celsius(3)), field("u", pa.uuid())]),
    "list[fixed_binary[0]]": pa.list_(pa.binary(0)),
}
TYPES: dict[str, pa.DataType] = {**PLAIN, **VARIABLE, **DICTIONARIES, **NESTED, **EXTENSIONS, **DEEP}


@dataclass(frozen=True)
class How:
    """How an array and its children are laid out in memory."""

    nulls: float = 0.0
    cut: bool = False  # a slice of a longer array; its offset is no multiple of 8
    keys: int = 6  # number of distinct values of a dictionary, before some are repeated


def build(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Random rows of a type."""
    front, back = (int(rng.choice([1, 3, 9, 13])), 2) if how.cut else (0, 0)
    array = maker(type)(type, front + rows + back, rng, how)
    return array.slice(front, rows) if how.cut else array


def maker(type: pa.DataType) -> Callable[..., pa.Array]:
    """The function that makes arrays of a type."""
    for is_one, make in MAKERS:
        if is_one(type):
            return make
    return make_fixed


def packed(bits: np.ndarray) -> pa.Buffer:
    """Bits in Arrow's order; bits after the last one are set."""
    padded = np.ones(-(-len(bits) // 8) * 8 + 8, bool)
    padded[: len(bits)] = bits
    return pa.py_buffer(np.packbits(padded, bitorder="little"))


def validity(rows: int, rng: np.random.Generator, how: How) -> pa.Buffer | None:
    return packed(rng.random(rows) >= how.nulls) if how.nulls else None


def buffer_of(values: Any, dtype: Any) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values, dtype))


def make_null(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    return pa.nulls(rows)


def make_bool(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    return pa.Array.from_buffers(type, rows, [validity(rows, rng, how), packed(rng.random(rows) < 0.5)])


DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
SPECIAL = {  # bit patterns: -0.0, both infinities, NaNs of both signs and with a payload
    2: [0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE01],
    4: [0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001],
    8: [1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0xFFF8 << 48) + 1],
}


def make_fixed(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Random bytes for types where every bit pattern is a value, else random values."""
    width = type.bit_width // 8
    if pa.types.is_decimal(type):
        limit = 10**type.precision
        numbers = [int(x) for x in rng.integers(-(2**62), 2**62, rows)]
        numbers = [x**5 % limit * (1 if x > 0 else -1) if i % 5 else x % 7 for i, x in enumerate(numbers)]
        data = b"".join(x.to_bytes(width, "little", signed=True) for x in numbers)
    elif pa.types.is_date64(type):
        data = (rng.integers(-9999, 9999, rows) * DAY["ms"]).tobytes()
    elif pa.types.is_time(type):
        data = rng.integers(0, DAY[type.unit], rows).astype(f"i{width}").tobytes()
    elif pa.types.is_floating(type):
        patterns = rng.integers(0, 256**width - 1, rows, np.uint64, endpoint=True).astype(f"u{width}")
        special = rng.random(rows) < 0.3
        patterns[special] = rng.choice(np.array(SPECIAL[width], f"u{width}"), int(special.sum()))
        data = patterns.tobytes()
    else:
        data = rng.bytes(rows * width)
    return pa.Array.from_buffers(type, rows, [validity(rows, rng, how), pa.py_buffer(data)])


WORDS = ["", "", "a", "é", "日本", "\0", "no", "0123456789ab", "0123456789abc", "more than twelve bytes", "x" * 70]


def random_bytes(type: pa.DataType, rows: int, rng: np.random.Generator) -> list[bytes]:
    """Values for strings and binaries: empty, short, long, and of 12 bytes, the most that a view holds inline."""
    words = [WORDS[i].encode() for i in rng.integers(0, len(WORDS), rows)]
    if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return [word + str(i % 11).encode() if i % 3 else word for i, word in enumerate(words)]
    return [word + rng.bytes(int(rng.integers(0, 3))) if i % 3 else word for i, word in enumerate(words)]


def make_binary(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    values = random_bytes(type, rows, rng)  # null rows have bytes too
    prefix = b"junk" if how.cut else b""
    wide = pa.types.is_large_string(type) or pa.types.is_large_binary(type)
    offsets = np.cumsum([len(prefix), *(len(value) for value in values)])
    data = pa.py_buffer(prefix + b"".join(values) + b"tail")
    return pa.Array.from_buffers(
        type, rows, [validity(rows, rng, how), buffer_of(offsets, "i8" if wide else "i4"), data]
    )


def make_view(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Long values are in three buffers, one of which no view refers to."""
    data = [bytearray(b"front"), bytearray(), bytearray(b"no view refers to this")]
    views = bytearray()
    for i, value in enumerate(random_bytes(type, rows, rng)):
        views += len(value).to_bytes(4, "little")
        if len(value) <= 12:
            views += value.ljust(12, b"\0")
        else:
            place = data[i % 2]
            views += value[:4] + (i % 2).to_bytes(4, "little") + len(place).to_bytes(4, "little")
            place += value
    buffers = [validity(rows, rng, how), pa.py_buffer(bytes(views)), *(pa.py_buffer(bytes(part)) for part in data)]
    return pa.Array.from_buffers(type, rows, buffers)


def make_dictionary(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Some keys are repeated, the last one is unused; the indices of null rows are arbitrary."""
    keys = build(type.value_type, how.keys, rng, replace(how, nulls=how.nulls / 2))
    if how.nulls:
        keys = pa.concat_arrays([keys, keys.slice(0, 2)])
    dtype = np.dtype(type.index_type.to_pandas_dtype())
    indices = rng.integers(0, max(len(keys) - 1, 1), rows).astype(dtype)
    valid = rng.random(rows) >= how.nulls
    indices[~valid] = np.iinfo(dtype).max
    buffers = [packed(valid) if how.nulls else None, buffer_of(indices, dtype)]
    indices = pa.Array.from_buffers(type.index_type, rows, buffers)
    return pa.DictionaryArray.from_arrays(indices, keys, ordered=type.ordered, safe=False)


def child(field: pa.Field, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    return build(field.type, rows, rng, how if field.nullable else replace(how, nulls=0.0))


def make_list(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Null rows have elements too; there are elements before the first row and after the last."""
    offsets = np.cumsum([2 if how.cut else 0, *rng.integers(0, 4, rows)])
    elements = child(type.value_field, int(offsets[-1]) + 1, rng, how)
    buffers = [validity(rows, rng, how), buffer_of(offsets, "i8" if pa.types.is_large_list(type) else "i4")]
    return pa.Array.from_buffers(type, rows, buffers, children=[elements])


def make_map(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    offsets = np.cumsum([2 if how.cut else 0, *rng.integers(0, 4, rows)])
    entries = pa.struct([type.key_field, type.item_field])
    fields = [child(part, int(offsets[-1]) + 1, rng, how) for part in entries]
    pairs = pa.Array.from_buffers(entries, int(offsets[-1]) + 1, [None], children=fields)
    return pa.Array.from_buffers(type, rows, [validity(rows, rng, how), buffer_of(offsets, "i4")], children=[pairs])


def make_list_view(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Rows are in any order, and some share elements."""
    count = 2 * rows + 4
    sizes = rng.integers(0, 4, rows)
    offsets = rng.integers(0, count - 3, rows)
    dtype = "i8" if pa.types.is_large_list_view(type) else "i4"
    buffers = [validity(rows, rng, how), buffer_of(offsets, dtype), buffer_of(sizes, dtype)]
    return pa.Array.from_buffers(type, rows, buffers, children=[child(type.value_field, count, rng, how)])


def make_fixed_list(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    elements = child(type.value_field, rows * type.list_size, rng, how)
    return pa.Array.from_buffers(type, rows, [validity(rows, rng, how)], children=[elements])


def make_struct(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """Fields have values in rows where the struct is null, and nulls in rows where it is not."""
    fields = [child(part, rows, rng, how) for part in type]
    return pa.Array.from_buffers(type, rows, [validity(rows, rng, how)], children=fields)


def make_run_end(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """The last run may extend beyond the last row."""
    ends = np.cumsum(rng.integers(1, 5, rows // 2 + 1))
    ends = ends[: int(np.searchsorted(ends, rows)) + 1] if rows else ends[:0]
    if rows and ends[-1] < rows:
        ends[-1] = rows + 2
    run_ends = pa.array(ends, type.run_end_type)
    runs = build(type.value_type, len(ends), rng, how)
    return pa.Array.from_buffers(type, rows, [None], children=[run_ends, runs])


def make_union(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    """The children of a dense union have more rows than it uses."""
    parts = [type.field(i) for i in range(type.num_fields)]
    which = rng.integers(0, len(parts), rows)
    buffers = [None, buffer_of(np.array(type.type_codes)[which], "i1")]
    lengths = [rows] * len(parts)
    if type.mode == "dense":
        first = 1 if how.cut else 0
        offsets = [int((which[:i] == code).sum()) + first for i, code in enumerate(which)]
        buffers.append(buffer_of(offsets, "i4"))
        lengths = [int((which == i).sum()) + first + 1 for i in range(len(parts))]
    fields = [child(part, n, rng, how) for part, n in zip(parts, lengths, strict=True)]
    return pa.Array.from_buffers(type, rows, buffers, children=fields)


def make_extension(type: pa.DataType, rows: int, rng: np.random.Generator, how: How) -> pa.Array:
    return pa.ExtensionArray.from_storage(type, build(type.storage_type, rows, rng, how))


is_ = pa.types
MAKERS: list[tuple[Callable[[pa.DataType], bool], Callable[..., pa.Array]]] = [
    (lambda type: isinstance(type, pa.BaseExtensionType), make_extension),
    (is_.is_null, make_null),
    (is_.is_boolean, make_bool),
    (lambda t: is_.is_binary_view(t) or is_.is_string_view(t), make_view),
    (lambda t: is_.is_string(t) or is_.is_large_string(t) or is_.is_binary(t) or is_.is_large_binary(t), make_binary),
    (is_.is_dictionary, make_dictionary),
    (is_.is_map, make_map),
    (lambda t: is_.is_list(t) or is_.is_large_list(t), make_list),
    (lambda t: is_.is_list_view(t) or is_.is_large_list_view(t), make_list_view),
    (is_.is_fixed_size_list, make_fixed_list),
    (is_.is_struct, make_struct),
    (is_.is_run_end_encoded, make_run_end),
    (is_.is_union, make_union),
]


def random_scalar(type: pa.DataType, nulls: float, rng: np.random.Generator) -> tuple[pa.Scalar, pa.Array]:
    """A scalar, and an array of that row. Nested nulls are left out where pyarrow (26) has no scalars of them."""
    inner = is_.is_nested(type) and any(word in str(type) for word in ("run_end", "union"))
    array = build(type, 3, rng, How(nulls=nulls if nulls in (0, 1) or not inner else 0.0)).slice(1, 1)
    return array[0], array


def random_chunks(array: pa.Array, rng: np.random.Generator) -> pa.ChunkedArray:
    """The rows cut into chunks at random places; some chunks may be empty."""
    cuts = sorted(int(i) for i in rng.integers(0, len(array) + 1, rng.integers(0, 9)))
    return pa.chunked_array([array[a:b] for a, b in itertools.pairwise([0, *cuts, len(array)])], array.type)


def random_slice(array: pa.Array, rng: np.random.Generator) -> pa.Array:
    """Some of the rows, without a copy."""
    first = int(rng.integers(0, len(array) + 1))
    return array.slice(first, int(rng.integers(0, len(array) - first + 1)))


# ---- layouts: how a column of a table is cut into chunks

ROWS = 67


def in_chunks(type: pa.DataType, lengths: list[int], rng: np.random.Generator, how: How) -> pa.ChunkedArray:
    """Chunks that were built separately: each has its own buffers and its own dictionary."""
    return pa.chunked_array([build(type, rows, rng, how) for rows in lengths], type)


LAYOUTS: dict[str, Callable[[pa.DataType, np.random.Generator], pa.ChunkedArray]] = {
    "plain": lambda type, rng: in_chunks(type, [ROWS], rng, How()),
    "nulls": lambda type, rng: in_chunks(type, [ROWS], rng, How(nulls=0.3)),
    "cut": lambda type, rng: in_chunks(type, [ROWS], rng, How(nulls=0.3, cut=True)),
    "cut_plain": lambda type, rng: in_chunks(type, [ROWS], rng, How(cut=True)),
    "at_8": lambda type, rng: pa.chunked_array([build(type, ROWS + 9, rng, How(nulls=0.3)).slice(8, ROWS)]),
    "chunks": lambda type, rng: in_chunks(type, [0, 5, 1, 0, 40, 21], rng, How(nulls=0.2, cut=True)),
    "some_nulls": lambda type, rng: pa.chunked_array(  # only one chunk has a validity bitmap
        [build(type, 30, rng, How()), build(type, 20, rng, How(nulls=0.5)), build(type, 17, rng, How(cut=True))]
    ),
    "empty": lambda type, rng: in_chunks(type, [0], rng, How(nulls=0.3, cut=True)),
    "no_chunks": lambda type, rng: pa.chunked_array([], type),
    "one": lambda type, rng: in_chunks(type, [1], rng, How()),
    "one_null": lambda type, rng: in_chunks(type, [1], rng, How(nulls=1.0)),
    "many": lambda type, rng: in_chunks(type, [1021], rng, How(nulls=0.1, cut=True)),
}
CHUNKS = {"chunks": 6, "some_nulls": 3, "no_chunks": 0}  # number of chunks; layouts that are not listed have one
