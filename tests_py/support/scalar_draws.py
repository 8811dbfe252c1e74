"""scalar_draws.py: random types, values of every kind of Python, and the comparison of a value and what is stored.

Run as a program it draws scalars of values that a library may crash on, so a test starts it in a child process.
"""

import array as typed_array
import collections
import contextlib
import dataclasses
import datetime as dt
import enum
import fractions
import math
import random
import sys
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from gatherscatter import table
from gatherscatter.errors import DataTypeError, InvalidArgument


class Unknown(pa.ExtensionType):
    """An extension type that is not registered."""

    def __init__(self, storage):
        super().__init__(storage, "gatherscatter.test.unknown")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls(storage_type)


class Color(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    SMALL = 1


class Word(str, enum.Enum):
    A = "a"


@dataclasses.dataclass
class Point:
    a: int = 1


Pair = collections.namedtuple("Pair", "a b")
NOON = dt.datetime(2020, 1, 1, 12)
LEAVES = [
    (pa.int8(), [1, -7]),
    (pa.uint64(), [2**64 - 1, 0]),
    (pa.float32(), [0.5, math.nan]),
    (pa.bool_(), [True, False]),
    (pa.string(), ["a", ""]),
    (pa.string_view(), ["a text of more than 12 bytes", "a"]),
    (pa.large_binary(), [b"a", b""]),
    (pa.binary_view(), [b"a"]),
    (pa.binary(2), [b"ab"]),
    (pa.decimal128(5, 2), [Decimal("1.25")]),
    (pa.decimal256(40, 0), [Decimal(10**30)]),
    (pa.date32(), [dt.date(2020, 1, 1)]),
    (pa.time32("s"), [dt.time(1, 2, 3)]),
    (pa.timestamp("us"), [NOON]),
    (pa.timestamp("ns", "UTC"), [NOON.replace(tzinfo=dt.timezone.utc)]),
    (pa.duration("ms"), [dt.timedelta(milliseconds=5)]),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([1, 2, 3])]),
    (pa.null(), [None]),
    (pa.uuid(), [uuid.UUID(int=5)]),
    (pa.bool8(), [True, False]),
    (pa.opaque(pa.int16(), "a", "b"), [5]),
    (Unknown(pa.int16()), [5]),
]


def drawn(rng, depth):
    """A type, a function that draws a value of it, and one valid column of one row."""
    form = rng.choice(
        ["leaf"] * (2 if depth else 1)
        + ["list", "large_list", "list_view", "large_list_view", "fixed", "struct", "map", "dictionary", "ree"]
        * (depth > 0)
    )
    if form == "leaf":
        kind, values = rng.choice(LEAVES)
        return kind, lambda: rng.choice(values)
    inner, value = drawn(rng, depth - 1)

    def some():
        return value() if rng.random() < 0.8 else None

    if form == "struct":
        other, second = drawn(rng, depth - 1)
        return pa.struct([pa.field("a", inner), pa.field("b", other)]), lambda: {"a": some(), "b": second()}
    if form == "map":
        return pa.map_(pa.string(), inner), lambda: {key: some() for key in rng.sample("abc", rng.randrange(3))}
    if form == "fixed":
        return pa.list_(inner, 2), lambda: [some(), some()]
    if form == "dictionary":
        keys = rng.choice([pa.int8(), pa.uint32()])
        if pa.types.is_nested(inner) or pa.types.is_dictionary(inner) or isinstance(inner, pa.BaseExtensionType):
            inner, value = pa.string(), lambda: "a"
        return pa.dictionary(keys, inner), value
    if form == "ree":
        if pa.types.is_nested(inner) or pa.types.is_run_end_encoded(inner):
            inner, value = pa.int64(), lambda: 5
        return pa.run_end_encoded(pa.int32(), inner), value
    make = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view}.get(form, pa.large_list_view)
    return make(inner), lambda: [some() for _ in range(rng.randrange(4))]


def strange(rng, depth=2):
    """A value of any kind, most of which no column holds."""
    inner = [strange(rng, depth - 1) for _ in range(rng.randrange(3))] if depth else [1]
    hashable = [value for value in inner if isinstance(value, (int, str, float))]
    makers = [
        lambda: set(hashable),
        lambda: frozenset(hashable),
        lambda: (value for value in inner),
        lambda: iter(inner),
        lambda: {"a": inner[0] if inner else None, "b": None},
        lambda: {"a": inner},
        lambda: dict.fromkeys(hashable),
        lambda: {1: None, None: 2},
        lambda: [("a", 1), ("b", None)],
        lambda: [(None, 1)],
        lambda: {"a": 1}.items(),
        lambda: {"a": 1}.keys(),
        lambda: list(inner),
        lambda: tuple(inner),
        lambda: collections.deque(inner),
        lambda: range(2),
        lambda: typed_array.array("i", [1, 2]),
        lambda: memoryview(b"ab"),
        lambda: bytearray(b"ab"),
        lambda: np.array([1, 2]),
        lambda: np.array([[1, 2], [3, 4]]),
        lambda: np.array([None, "a"], object),
        lambda: np.array(["a", "b"]),
        lambda: np.array([(1, 2)], "i4,i4"),
        lambda: np.ma.array([1, 2], mask=[True, False]),
        lambda: np.ma.masked,
        lambda: [np.ma.masked],
        lambda: [np.ma.array([1, 2], mask=[True, False])],
        lambda: np.datetime64("NaT"),
        lambda: np.timedelta64(5, "ms"),
        lambda: np.datetime64("2020-01-01T00:00:00.000000001"),
        lambda: np.float16(1),
        lambda: np.longdouble(1),
        lambda: np.str_("a"),
        lambda: np.void(b"ab"),
        lambda: np.array(5),
        lambda: pa.scalar(1),
        lambda: pa.scalar([1, 2]),
        lambda: pa.scalar({"a": 1}),
        lambda: [pa.scalar(1)],
        lambda: pa.array([1, 2]),
        lambda: pa.array(["a", "b"]),
        lambda: pa.array([[1], None]),
        lambda: pa.array(["a", "b"]).dictionary_encode(),
        lambda: pa.array(["a", "b"]).dictionary_encode()[0],
        lambda: pa.nulls(2),
        lambda: pa.chunked_array([[1], [2]]),
        lambda: pd.NA,
        lambda: [pd.NA],
        lambda: pd.NaT,
        lambda: pd.Timestamp("2020-01-01"),
        lambda: pd.Timedelta("5ms"),
        lambda: pd.Interval(0, 1),
        lambda: pd.Series([1, 2]),
        lambda: [pd.Series([1, 2]), pd.Series(["a"])],
        lambda: pd.DataFrame({"a": [1]}),
        lambda: pl.Series([1, 2]),
        lambda: Decimal("1.25"),
        lambda: Decimal("NaN"),
        lambda: fractions.Fraction(1, 2),
        lambda: Color.RED,
        lambda: Size.SMALL,
        lambda: Word.A,
        lambda: Point(),
        lambda: Pair(1, None),
        lambda: uuid.UUID(int=5),
        lambda: NOON,
        lambda: dt.date(2020, 1, 1),
        lambda: dt.time(1, tzinfo=dt.timezone.utc),
        lambda: 1j,
        lambda: 2**70,
        lambda: math.inf,
        lambda: -0.0,
        lambda: "\ud800",
        lambda: "a",
        lambda: b"ab",
        lambda: object(),
        lambda: int,
        lambda: len,
    ]
    return rng.choice(makers)()


def is_same(given, back):
    """Whether a stored value is that given; a float may be rounded, and numbers of different types may be equal."""
    if given is None or given is pd.NA or given is pd.NaT or (is_time(given) and np.isnat(given)):
        return back is None
    if back is None and isinstance(given, (float, Decimal)):  # in a column of pandas
        return math.isnan(given)
    if isinstance(given, pa.Scalar):
        return is_same(given.as_py(), back)
    if isinstance(given, (np.generic, np.ndarray)) and np.ndim(given) == 0:
        item = given.item()
        return (type(item) is not type(given) and is_same(item, back)) or bool(given == back)
    if isinstance(back, dict):
        given = dict(given) if isinstance(given, (list, tuple)) else given  # DuckDB gives maps as dicts
        return isinstance(given, dict) and given.keys() == back.keys() and all(is_same(given[k], back[k]) for k in back)
    if isinstance(back, (list, tuple)) and not isinstance(back, pa.MonthDayNano):
        given = list(given.items() if isinstance(given, dict) else given)
        return len(given) == len(back) and all(map(is_same, given, back))
    if isinstance(given, float) and isinstance(back, float):
        return given == back or (given != given and back != back) or abs(given - back) <= 1e-6 * abs(given)
    if isinstance(given, bool) != isinstance(back, bool):
        return False
    return bool(given == back)


def is_time(value):
    return isinstance(value, (np.datetime64, np.timedelta64))


def column_of(kind, value):
    """A column of one row; of a null where the value is None."""
    return table.scatter([value], [0], start_of(kind))


def start_of(kind):
    """A column of one row of any type, made without a conversion of values."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, start_of(kind.storage_type))
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays(pa.array([1], kind.run_end_type), start_of(kind.value_type))
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array([None], kind.index_type), start_of(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays([start_of(field.type) for field in kind], fields=list(kind))
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays([0, 0], pa.array([], kind.key_type), start_of(kind.item_type).slice(0, 0))
    empty = {"buffers": [None, pa.py_buffer(bytes(16))], "children": []}
    if hasattr(kind, "value_field"):
        inner = kind.field(0).type
        items = start_of(inner)
        if pa.types.is_fixed_size_list(kind):
            return pa.Array.from_buffers(kind, 1, [None], children=[table.gather(items, [0] * kind.list_size)])
        views = [pa.py_buffer(bytes(16))] * str(kind).startswith(("list_view", "large_list_view"))
        return pa.Array.from_buffers(kind, 1, [*empty["buffers"], *views], children=[items.slice(0, 0)])
    return pa.nulls(1, kind)


def check(target, library, given, must_fit):
    """One scatter of a scalar: what is stored is the value, or one of our own errors says that it does not fit."""
    try:
        result = table.scatter([given], [1], target)
    except (DataTypeError, InvalidArgument) as error:
        assert not must_fit, (target.type if library == "pyarrow" else target, given, error)
        return 0
    if library == "duckdb":
        back = result.fetchall()[1][0]
        assert result.types == target.types
    elif library == "pyarrow":
        assert result.type == target.type
        result.validate(full=True)
        back = result[1].as_py() if result[1].is_valid else None
        assert repr(result[0].as_py()) == repr(target[0].as_py()), (target, result)
    else:
        assert result.dtype == target.dtype
        back = result.to_list()[1]
        back = None if library == "pandas" and (back is pd.NA or back is pd.NaT or back != back) else back
    assert is_same(given, back), (target, given, back)
    return 1


POLARS = [
    (pl.Int8, [1]),
    (pl.Float32, [0.5]),
    (pl.String, ["a"]),
    (pl.Binary, [b"a"]),
    (pl.Boolean, [True]),
    (pl.Decimal(5, 2), [Decimal("1.25")]),
    (pl.Date, [dt.date(2020, 1, 1)]),
    (pl.Datetime("ns"), [NOON]),
    (pl.Duration("ms"), [dt.timedelta(1)]),
    (pl.Categorical, ["a"]),
    (pl.Enum(["a", "b"]), ["a"]),
    (pl.Null, [None]),
]


def drawn_of_polars(rng, depth):
    form = rng.choice(["leaf", "list", "array", "struct"]) if depth else "leaf"
    if form == "leaf":
        dtype, values = rng.choice(POLARS)
        return dtype, lambda: rng.choice(values)
    inner, value = drawn_of_polars(rng, depth - 1)
    if form == "list":
        return pl.List(inner), lambda: [value() for _ in range(rng.randrange(3))]
    if form == "array":
        return pl.Array(inner, 2), lambda: [value(), value()]
    return pl.Struct({"a": inner, "b": pl.Int8}), lambda: {"a": value(), "b": None}


PANDAS = [
    ("int8", [1, -7]),
    ("Int8", [1, None]),
    ("uint64", [2**64 - 1]),
    ("float32", [0.5, None]),
    ("Float64", [0.5, None]),
    ("bool", [True]),
    ("boolean", [False, None]),
    ("string", ["a", None]),
    (pd.CategoricalDtype(["a", 1]), ["a", 1, None]),
    ("datetime64[us]", [NOON, None]),
    ("datetime64[ns, UTC]", [NOON.replace(tzinfo=dt.timezone.utc)]),
    ("timedelta64[ms]", [dt.timedelta(milliseconds=5)]),
    (pd.SparseDtype("float64"), [0.5]),
    ("period[D]", [pd.Period("2020-01-01", "D")]),
    ("interval[int64]", [pd.Interval(0, 1)]),
]


DUCKDB = [
    ("INT", [1]),
    ("VARCHAR", ["a"]),
    ("INT[]", [[1, None], []]),
    ("INT[2]", [[1, 2]]),
    ("STRUCT(a INT, b INT)", [{"a": 1, "b": None}]),
    ("MAP(VARCHAR, INT)", [{"a": 1}]),
    ("UUID", [uuid.UUID(int=5)]),
    ("JSON", ["[1]"]),
    ("HUGEINT", [2**100]),
    ("UHUGEINT", [2**100]),
    ("INTERVAL", [None]),
    ("DECIMAL(5, 2)", [Decimal("1.25")]),
    ("ENUM('a', 'b')", ["a"]),
    ("ENUM('a')[]", [["a"]]),
    ("TIMESTAMP", [NOON]),
    ("BLOB", [b"ab"]),
    ("TIME", [dt.time(1)]),
]


def column_for(rng, library):
    """A column of two rows of a random type of a library, and a value that it holds."""
    if library == "duckdb":
        text, values = rng.choice(DUCKDB)
        return duckdb.sql(f"SELECT NULL::{text} AS x FROM range(2)"), rng.choice(values)
    if library == "polars":
        dtype, value = drawn_of_polars(rng, 2)
        return pl.Series("x", [None, None], dtype=dtype), value()
    if library == "pandas" and rng.random() < 0.7:
        dtype, values = rng.choice(PANDAS)
        first = next(value for value in values if value is not None)
        return pd.Series([first, first], dtype=dtype), rng.choice(values)
    kind, value = drawn(rng, 2 if library == "pandas" else 3)
    column = table.gather(column_of(kind, value()), [0, 0])
    column.validate(full=True)
    return (pd.Series(pd.array(column, dtype=pd.ArrowDtype(kind))) if library == "pandas" else column), value()


def main(seed, rounds, library):
    rng, stored = random.Random(seed), 0
    for _ in range(rounds):
        column, value = column_for(rng, library)
        stored += check(column, library, value, library != "polars")
        for _ in range(3):
            check(column, library, strange(rng), False)
        if library == "duckdb":  # a relation takes no arrays
            continue
        for pair in ((value, value), (strange(rng), value), (strange(rng), strange(rng))):
            array = np.empty(2, object)
            array[0], array[1] = pair
            with contextlib.suppress(DataTypeError, InvalidArgument):
                table.scatter(array, [0, 1], column)
    print(stored)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
