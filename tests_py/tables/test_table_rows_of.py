"""test_table_rows_of.py: row numbers of keys, of every library and type of keys, beside a naive loop over a dict."""

import datetime
import math
import random
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter.errors import DataTypeError, InvalidArgument

rows_of = gs.table.rows_of
UTC = datetime.timezone.utc
NAN = float("nan")
DAY = datetime.datetime(2024, 2, 29)


def naive(keys, wanted, keep):
    """Row numbers by a dict of tuples; the two rows of a key that occurs twice if `keep` is None."""
    found = {}
    for row, key in enumerate(keys):
        if is_missing(key):
            continue
        if key in found and keep is None:
            return found[key], row
        if key not in found or keep == "last":
            found[key] = row
    return [None if is_missing(key) else found.get(key) for key in wanted]


def is_missing(key):
    return any(value is None or value != value for value in key)


VALUES = {
    "integer": [0, 1, -1, 7, 127, 255, -128, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1],
    "floating": [0.0, -0.0, 1.0, -1.0, 1.5, 7.0, 2.0**53, 2.0**63, 2.0**64, -(2.0**63), 1e300, math.inf, NAN],
    "bool": [True, False],
    "text": ["", "a", "b", "ä", "a\0", "N" * 40, "aa"],
    "bytes": [b"ab", b"\0\0", b"\xff\x00", b"zz"],
    "decimal": [Decimal(0), Decimal(1), Decimal("-1.00"), Decimal("1.50"), Decimal("7.25"), Decimal(2**31)],
    "time": [DAY + datetime.timedelta(microseconds=k * step) for k in (0, 1, -3) for step in (1, 1000, 10**6)],
    "instant": [(DAY + datetime.timedelta(seconds=k)).replace(tzinfo=UTC) for k in (0, 1, 3600)],
    "duration": [datetime.timedelta(microseconds=k * step) for k in (0, 1, -3) for step in (1, 1000, 10**6)],
    "date": [DAY.date(), datetime.date(1969, 12, 31), datetime.date(1970, 1, 1)],
    "clock": [datetime.time(0, 0), datetime.time(23, 59, 59), datetime.time(1, 2, 3)],
}
# Kinds whose values are compared, beside each kind with itself.
MIXED = [("integer", "floating"), ("floating", "integer"), ("integer", "decimal"), ("decimal", "integer")]
ARROW = {
    "integer": [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)],
    "floating": [pa.float32(), pa.float64(), pa.float16()],
    "bool": [pa.bool_()],
    "text": [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    "bytes": [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)],
    "decimal": [pa.decimal32(9, 0), pa.decimal64(12, 2), pa.decimal128(38, 4), pa.decimal256(60, 10)],
    "time": [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")],
    "instant": [pa.timestamp("s", "UTC"), pa.timestamp("ns", "Asia/Tokyo")],
    "duration": [pa.duration(unit) for unit in ("s", "ms", "us", "ns")],
    "date": [pa.date32(), pa.date64()],
    "clock": [pa.time32("s"), pa.time64("us"), pa.time64("ns")],
}
ARROW["integer"] += [pa.dictionary(pa.int8(), pa.int64()), pa.run_end_encoded(pa.int16(), pa.int32())]
POLARS = {
    "integer": [getattr(pl, f"{sign}Int{bits}") for sign in ("", "U") for bits in (8, 16, 32, 64)],
    "floating": [pl.Float32, pl.Float64],
    "bool": [pl.Boolean],
    "text": [pl.String, pl.Categorical, pl.Enum(VALUES["text"][1:]), pl.Enum(VALUES["text"][::-1])],
    "bytes": [pl.Binary],
    "decimal": [pl.Decimal(12, 2), pl.Decimal(30, 4)],
    "time": [pl.Datetime(unit) for unit in ("ms", "us", "ns")],
    "instant": [pl.Datetime("us", "UTC"), pl.Datetime("ms", "Asia/Tokyo")],
    "duration": [pl.Duration(unit) for unit in ("ms", "us", "ns")],
    "date": [pl.Date],
    "clock": [pl.Time],
}
PANDAS = {
    "integer": ["int8", "int64", "uint64", "Int16", "UInt64", "int32[pyarrow]", "category", object],
    "floating": ["float32", "float64", "Float64", "double[pyarrow]", "category", object],
    "bool": ["bool", "boolean", "bool[pyarrow]", object],
    "text": ["str", object, "string", "string[pyarrow]", "category", pd.ArrowDtype(pa.large_string())],
    "bytes": [object, pd.ArrowDtype(pa.binary())],
    "decimal": [object, pd.ArrowDtype(pa.decimal128(20, 2))],
    "time": ["M8[s]", "M8[us]", "M8[ns]", object, "category", pd.ArrowDtype(pa.timestamp("us"))],
    "instant": ["datetime64[us, UTC]", "datetime64[ns, Asia/Tokyo]", object, pd.ArrowDtype(pa.timestamp("ms", "UTC"))],
    "duration": ["m8[s]", "m8[us]", "m8[ns]", object, pd.ArrowDtype(pa.duration("us"))],
    "date": [object, pd.ArrowDtype(pa.date32())],
    "clock": [object, pd.ArrowDtype(pa.time64("us"))],
}
WITHOUT_NULL = ("int", "uint", "bool")


def arrow_column(values, kind, draw):
    """A ChunkedArray of several chunks, one of them empty; its dictionaries differ between chunks."""
    base = getattr(kind, "value_type", kind)
    cut = draw.randrange(len(values) + 1)
    chunks = [pa.array(part, base) for part in (values[:cut], [], [None, *values[cut:]])]
    chunks[2] = chunks[2].slice(1)
    if pa.types.is_dictionary(kind):
        chunks = [chunk.dictionary_encode().cast(kind) for chunk in chunks]
    if pa.types.is_run_end_encoded(kind):
        chunks = [pa.compute.run_end_encode(chunk, kind.run_end_type) for chunk in chunks]
    return pa.chunked_array(chunks)


def polars_column(values, kind, draw):
    column = pl.Series([None, *values], dtype=kind, strict=True)[1:]
    return pl.concat([column[: len(values) // 2], column[len(values) // 2 :]], rechunk=False)


def pandas_column(values, kind, draw):
    if str(kind).startswith(WITHOUT_NULL) and "[" not in str(kind) and None in values:
        raise ValueError("no null")
    return pd.Series(values, dtype=object).astype(kind).set_axis(np.arange(len(values)) + 5)


LIBRARIES = {
    "pyarrow": (ARROW, arrow_column, lambda columns: pa.table(columns)),
    "polars": (POLARS, polars_column, lambda columns: pl.DataFrame(columns)),
    "pandas": (PANDAS, pandas_column, lambda columns: pd.DataFrame(columns)),
}


def holds(library, kind, value, draw):
    """Whether a column of the type gives the value back."""
    make = LIBRARIES[library][1]
    try:
        column = make([value], kind, draw)
        back = column.to_pylist()[0] if library == "pyarrow" else next(iter(column))
        return bool(back == value) or (value != value and library != "pandas")
    except Exception:  # each library has errors of its own for values that do not fit
        return False


_fitting = {}


def side(draw, library, kind, rows):
    """Values and column of a random type of one kind."""
    types, make, _ = LIBRARIES[library]
    dtype = draw.choice(types[kind])
    key = library, kind, str(dtype)
    if key not in _fitting:
        _fitting[key] = [value for value in VALUES[kind] if holds(library, dtype, value, draw)]
    fitting = _fitting[key]
    assert fitting, (library, kind, dtype)
    has_nulls = not (library == "pandas" and str(dtype).startswith(WITHOUT_NULL) and "[" not in str(dtype))
    values = [draw.choice([*fitting, *[None] * has_nulls]) for _ in range(rows)]
    return values, make(values, dtype, draw)


def answer(found):
    """A map as a list with None for null."""
    if isinstance(found, pd.Series):
        return [None if value is pd.NA else int(value) for value in found]
    return found.to_list() if isinstance(found, pl.Series) else found.to_pylist()


def compare(expected, keys, wanted, keep):
    if isinstance(expected, tuple):
        first, second = expected
        with pytest.raises(InvalidArgument, match=rf"occurs twice in keys, in rows {first} and {second}; keep="):
            rows_of(keys, wanted, keep=keep)
        return
    assert answer(rows_of(keys, wanted, keep=keep)) == expected


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", range(120))
def test_any_keys(library, seed):
    draw = random.Random(seed)
    width, sizes = draw.choice([1, 1, 2, 3]), (draw.choice([0, 1, 5, 20]), draw.choice([0, 3, 30]))
    kinds = [draw.choice([(kind, kind) for kind in VALUES] + MIXED) for _ in range(width)]
    sides = [[side(draw, library, pair[at], sizes[at]) for pair in kinds] for at in (0, 1)]
    rows = [list(zip(*(values for values, _ in columns), strict=True)) or [()] * 0 for columns in sides]
    keys, wanted = ([column for _, column in columns] for columns in sides)
    if width > 1 or draw.random() < 0.3:
        table = LIBRARIES[library][2]
        keys, wanted = (table({f"c{k}": column for k, column in enumerate(each)}) for each in (keys, wanted))
    else:
        keys, wanted = keys[0], wanted[0]
    keep = draw.choice([None, "first", "last"])
    compare(naive(*rows, keep), keys, wanted, keep)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", VALUES)
def test_wanted_keys_of_a_list(library, kind):
    draw = random.Random(kind)
    for _ in range(6):
        values, keys = side(draw, library, kind, 6)
        wanted = [draw.choice([*values, None]) for _ in range(8)]
        expected = naive([(value,) for value in values], [(value,) for value in wanted], "last")
        compare(expected, keys, wanted, "last")
        if kind in ("integer", "floating", "bool", "text") and None not in wanted:
            compare(expected, keys, np.array(wanted), "last")


@pytest.mark.parametrize("pair", [(a, b) for a in LIBRARIES for b in LIBRARIES if a != b], ids="-".join)
def test_sides_of_two_libraries_give_an_array_of_pyarrow(pair):
    draw = random.Random(str(pair))
    for kind in VALUES:
        (values, keys), (asked, wanted) = (side(draw, library, kind, 12) for library in pair)
        dtypes = {str(getattr(each, "dtype", "")) for each in (keys, wanted)}
        if dtypes & {"object", "category"} and kind in ("integer", "bytes"):
            continue  # pandas cannot export all integers of such columns
        found = rows_of(keys, wanted, keep="last")
        assert isinstance(found, pa.Int64Array)
        assert found.to_pylist() == naive([(value,) for value in values], [(value,) for value in asked], "last")


@pytest.mark.parametrize("seed", range(20))
def test_relations_and_objects_of_narwhals(seed):
    draw = random.Random(seed)
    kinds = [draw.choice(["integer", "floating", "bool", "text", "time"]) for _ in range(draw.choice([1, 2]))]
    sides = [[side(draw, "polars", kind, 12) for kind in kinds] for _ in range(2)]
    rows = [list(zip(*(values for values, _ in columns), strict=True)) for columns in sides]
    keys, wanted = (pl.DataFrame({f"c{k}": c for k, (_, c) in enumerate(columns)}) for columns in sides)
    keep = draw.choice(["first", "last"])
    expected = naive(*rows, keep)
    relations = [duckdb.from_arrow(each.to_arrow()) for each in (keys, wanted)]
    assert rows_of(*relations, keep=keep).to_pylist() == expected
    narwhals = pytest.importorskip("narwhals")
    found = rows_of(narwhals.from_native(keys), narwhals.from_native(wanted), keep=keep)
    assert isinstance(found, narwhals.Series) and found.to_list() == expected
    assert gs.table.gather(narwhals.from_native(keys), found, bounds="nullify").to_native().height == 12


def test_relations_and_structs():
    con = duckdb.connect()
    con.sql("create table k as select * from (values (1, 'a'), (2, 'b'), (1, 'b'), (null, 'a')) t(n, s)")
    con.sql("create table w as select * from (values (1::utinyint, 'b'), (2, 'a'), (null, 'a')) t(n, s)")
    assert rows_of(con.table("k"), con.table("w")).to_pylist() == [2, None, None]
    packed = con.sql("select {'n': n, 's': s} as key from k"), con.sql("select {'n': n, 's': s} as key from w")
    assert rows_of(*packed).to_pylist() == [2, None, None]
    for wrap in (lambda each: each.arrow().read_all(), lambda each: each.pl()):
        assert answer(rows_of(*map(wrap, packed))) == [2, None, None]
    keys = pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int8())]))
    assert rows_of(keys, pa.chunked_array([keys, keys])).to_pylist() == [0, None, None] * 2
    assert answer(rows_of(pl.Series(keys), pl.Series(keys))) == [0, None, None]
    series = pd.Series(keys, dtype=pd.ArrowDtype(keys.type))
    assert answer(rows_of(series, series)) == [0, None, None]


def test_a_left_join_in_two_calls():
    planes = pd.DataFrame({"tail": ["N1", "N2"], "seats": [55, 149]})
    flights = pd.DataFrame({"tail": ["N2", "N9", "N1"]}, index=[7, 8, 9])
    row = rows_of(planes["tail"], flights["tail"])
    assert row.index.tolist() == [7, 8, 9] and str(row.dtype) == "Int64"
    joined = gs.table.gather(planes, row, bounds="nullify", index="reset")
    pd.testing.assert_series_equal(joined["seats"], flights.merge(planes, how="left")["seats"])
    found = rows_of(pl.from_pandas(planes)["tail"], pl.Series(["N2", None]))
    assert found.dtype == pl.get_index_type()
    assert gs.table.gather(pl.from_pandas(planes), found, bounds="nullify")["seats"].to_list() == [149, None]
    index = pd.MultiIndex.from_frame(planes)
    assert answer(rows_of(index, index[::-1])) == [1, 0]


def test_the_text_of_errors():
    words = pa.array(["b", "a", "b", "a"])
    with pytest.raises(InvalidArgument, match="the key 'b' occurs twice in keys, in rows 0 and 2"):
        rows_of(words, words)
    pairs = pl.DataFrame({"n": [1, 2, 1], "s": ["x", "x", "x"]})
    with pytest.raises(InvalidArgument, match=r"the key \(1, 'x'\) occurs twice in keys, in rows 0 and 2"):
        rows_of(pairs, pairs)
    for make in (pa.array, pl.Series, pd.Series):
        with pytest.raises(DataTypeError, match="integer keys are never equal to text ones: cast one side"):
            rows_of(make([1, 2]), make(["1"]))
        with pytest.raises(DataTypeError, match="bool keys are never equal to integer ones"):
            rows_of(make([True]), [1])
        with pytest.raises(InvalidArgument, match="wanted is an array of 2 axes, expected one"):
            rows_of(make([1]), np.zeros((1, 1), int))
        with pytest.raises(TypeError, match="wanted is 1, expected a table, a column, a list or an array"):
            rows_of(make([1]), 1)
        with pytest.raises(DataTypeError, match=r"wanted holds \[1\] \(list\)"):
            rows_of(make([1]), [[1]])
        with pytest.raises(ValueError, match='expected "first" or "last", or None'):
            rows_of(make([1]), [1], keep="no")
    with pytest.raises(InvalidArgument, match=r"keys has 2 columns, wanted has 1; .* choose those of the key"):
        rows_of(pairs, [1])
    with pytest.raises(InvalidArgument, match=r"in the order \['n', 's'\] in keys, \['s', 'n'\] in wanted"):
        rows_of(pairs, pairs.select("s", "n"))
    with pytest.raises(DataTypeError, match="is no type of keys"):
        rows_of(pa.array([[1]]), pa.array([[1]]))
    with pytest.raises(DataTypeError, match="is no type of keys"):
        rows_of(pl.Series([[1]]), pl.Series([[1]]))
    with pytest.raises(DataTypeError, match="need a hash"):
        rows_of(pd.Series([[1]]), pd.Series([[1]]))
    with pytest.raises(TypeError, match=r"rows of keys are found at the call: x.collect\(\)"):
        rows_of(pairs.lazy(), pairs)
    with pytest.raises(TypeError, match="keys is of type"):
        rows_of("planes.parquet", ["a"])


def test_corrupt_keys_are_refused():
    """Offsets beyond the data, which pyarrow's hash table would follow."""
    offsets = pa.py_buffer(np.array([0, 1 << 30, 3], np.int32))
    bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    for keys, wanted in ((bad, ["a"]), (pa.array(["a"]), bad), (pa.table({"a": bad}), pa.table({"a": ["a"]}))):
        with pytest.raises(BufferError):
            rows_of(keys, wanted)
