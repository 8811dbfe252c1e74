"""test_table_scalars.py: a scalar is stored unchanged or is an error that names it, in pyarrow, polars and pandas."""

import datetime as dt
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gatherscatter import _core, table
from gatherscatter.errors import DataTypeError, InvalidArgument

UTC = dt.timezone.utc
SUMMER = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2020, 1, 1, 12, 0, 0, 5)
KEY = uuid.UUID(int=5)
NAN = float("nan")


def same(a, b):
    return a == b or (a != a and b != b)


def arrow_answers(kind, value):
    """The scalar as stored in a column, a table and a batch of a type, in place of one of two nulls."""
    column = pa.nulls(2, kind) if not pa.types.is_union(kind) else UNION
    whole = pa.table({"x": column})
    results = [
        table.scatter([value], [1], column)[1],
        table.scatter({"x": value}, [1], whole)["x"][1],
        table.boolean_mask_scatter([value], whole.to_batches()[0], [False, True])["x"][1],
        pa.table(table.scatter([value], [1], _core.ArrowTable(whole)))["x"][1],
    ]
    assert all(result.type == kind for result in results)
    return results


UNION = pa.UnionArray.from_dense(
    pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
)
LIST, STRUCT = pa.list_(pa.int8()), pa.struct({"f": pa.int8(), "g": pa.string()})

TAKEN = [
    (pa.int64(), 5, 5),
    (pa.int64(), 5.0, 5),
    (pa.int64(), np.float32(5), 5),
    (pa.int64(), Decimal("5.0"), 5),
    (pa.int64(), np.array(5), 5),
    (pa.int64(), np.int8(5), 5),
    (pa.uint64(), 2**64 - 1, 2**64 - 1),
    (pa.float64(), 3, 3.0),
    (pa.float64(), NAN, NAN),
    (pa.float32(), 0.1, float(np.float32(0.1))),
    (pa.float32(), float("inf"), float("inf")),
    (pa.float16(), 0.1, float(np.float16(0.1))),
    (pa.bool_(), True, True),
    (pa.bool_(), np.False_, False),
    (pa.string(), "é", "é"),
    (pa.string(), np.str_("a"), "a"),
    (pa.large_string(), "", ""),
    (pa.string_view(), "a longer text, out of line", "a longer text, out of line"),
    (pa.binary(), b"\0", b"\0"),
    (pa.binary(3), b"abc", b"abc"),
    (pa.binary_view(), bytearray(b"a"), b"a"),
    (pa.decimal128(5, 2), Decimal("1.1"), Decimal("1.10")),
    (pa.decimal32(5, 2), 3, Decimal("3.00")),
    (pa.decimal256(50, 2), Decimal("-1.1"), Decimal("-1.10")),
    (pa.date32(), dt.date(2020, 1, 1), dt.date(2020, 1, 1)),
    (pa.date32(), np.datetime64("2020-01-01"), dt.date(2020, 1, 1)),
    (pa.time64("us"), dt.time(1, 2, 3, 4), dt.time(1, 2, 3, 4)),
    (pa.timestamp("us"), NOON, NOON),
    (pa.timestamp("us"), np.datetime64(NOON), NOON),
    (pa.timestamp("us"), np.datetime64(NOON, "ns"), NOON),
    (pa.timestamp("us", "Europe/Paris"), NOON.replace(tzinfo=SUMMER), NOON.replace(tzinfo=SUMMER)),
    (pa.duration("us"), dt.timedelta(microseconds=5), dt.timedelta(microseconds=5)),
    (pa.month_day_nano_interval(), pa.MonthDayNano([1, 2, 3]), pa.MonthDayNano([1, 2, 3])),
    (LIST, [1, None], [1, None]),
    (LIST, [], []),
    (LIST, (1, 2), [1, 2]),
    (LIST, np.array([1, 2]), [1, 2]),
    (pa.list_(pa.int8(), 2), [1, 2], [1, 2]),
    (pa.list_view(pa.int8()), [1], [1]),
    (pa.list_(pa.list_(pa.float32())), [[0.1], None], [[float(np.float32(0.1))], None]),
    (STRUCT, {"f": 1, "g": None}, {"f": 1, "g": None}),
    (pa.map_(pa.string(), pa.int8()), {"a": 1}, [("a", 1)]),
    (pa.map_(pa.string(), pa.int8()), [("a", 1), ("a", None)], [("a", 1), ("a", None)]),
    (pa.dictionary(pa.int8(), pa.string()), "a", "a"),
    (pa.dictionary(pa.int8(), pa.int64()), 7, 7),
    (pa.run_end_encoded(pa.int32(), pa.int64()), 7, 7),
    (pa.uuid(), KEY, KEY),
    (pa.uuid(), KEY.bytes, KEY),
]


@pytest.mark.parametrize("kind, value, want", TAKEN, ids=str)
def test_pyarrow_takes(kind, value, want):
    for result in arrow_answers(kind, value):
        assert same(result.as_py(), want)


@pytest.mark.parametrize("kind", {str(kind): kind for kind, _, _ in TAKEN}.values(), ids=str)
def test_null_goes_anywhere_in_arrow(kind):
    for null in (None, pa.nulls(1, kind)[0]):
        column = pa.array([value for k, value, _ in TAKEN if k == kind][:1], kind)
        result = table.scatter([null], [0], column)
        assert (result.type, result.to_pylist()) == (kind, [None])


@pytest.mark.parametrize("kind, value, want", TAKEN, ids=str)
def test_pyarrow_scalars(kind, value, want):
    if isinstance(value, np.ndarray | np.datetime64):
        return
    scalar = pa.array([value], kind)[0]
    for result in arrow_answers(kind, scalar):
        assert same(result.as_py(), want)


def test_scalars_of_unions():
    for result in arrow_answers(UNION.type, UNION[0]):
        assert result.as_py() == 1
    with pytest.raises(DataTypeError):
        table.scatter([5], [0], UNION)


def test_encoded_columns_take_scalars_of_their_values():
    kinds = (pa.dictionary(pa.uint8(), pa.int16()), pa.run_end_encoded(pa.int32(), pa.int16()))
    for kind in kinds:
        for value in (7, None):
            for result in arrow_answers(kind, pa.scalar(value, pa.int16())):
                assert result.as_py() == value
        with pytest.raises(DataTypeError, match="a pyarrow scalar of int64"):
            table.scatter([pa.scalar(7)], [0], pa.nulls(1, kind))


REFUSED = [
    *[(pa.int64(), value) for value in (1.5, NAN, True, np.True_, "1", Decimal("1.5"))],
    (pa.int8(), 300),
    (pa.int8(), -129),
    (pa.uint64(), -1),
    (pa.uint64(), 10**500),
    (pa.bool_(), 1),
    (pa.bool_(), "true"),
    (pa.float64(), 2**53 + 1),
    (pa.float64(), True),
    (pa.float64(), "1.5"),
    (pa.float64(), 1j),
    (pa.float32(), 2**24 + 1),
    (pa.float32(), 1e300),
    (pa.float16(), 2049),
    (pa.float16(), 1e6),
    (pa.string(), 1),
    (pa.string(), b"a"),
    (pa.binary(), "a"),
    (pa.binary(3), b"ab"),
    (pa.binary(2), "é"),
    (pa.decimal128(5, 2), Decimal("1.234")),
    (pa.decimal128(5, 2), Decimal("12345")),
    (pa.decimal128(5, 2), 0.1),
    (pa.decimal128(5, 2), True),
    (pa.date32(), NOON),
    (pa.date32(), "2020-01-01"),
    (pa.date32(), 5),
    (pa.time32("s"), dt.time(1, 2, 3, 4)),
    (pa.time64("us"), dt.time(1, tzinfo=UTC)),
    (pa.timestamp("s"), NOON),
    (pa.timestamp("us"), NOON.replace(tzinfo=UTC)),
    (pa.timestamp("us", "UTC"), NOON),
    (pa.timestamp("us", "UTC"), np.datetime64(NOON)),
    (pa.timestamp("ns", "UTC"), np.datetime64("2020-01-01T00:00:00.000000001")),
    (pa.timestamp("us"), np.datetime64("2020-01-01T00:00:00.000000001")),
    (pa.timestamp("us"), 5),
    (pa.timestamp("us"), "2020-01-01"),
    (pa.duration("ms"), dt.timedelta(microseconds=5)),
    (pa.duration("s"), 5),
    (LIST, [1.5]),
    (LIST, [300]),
    (LIST, ["a"]),
    (LIST, 5),
    (LIST, "ab"),
    (pa.list_(pa.int8(), 2), [1]),
    (STRUCT, {"f": 1}),
    (STRUCT, {"f": 1, "g": "x", "h": 2}),
    (STRUCT, {"f": 1.5, "g": "x"}),
    (STRUCT, 5),
    (pa.map_(pa.string(), pa.int8()), {"a": 1.5}),
    (pa.dictionary(pa.int8(), pa.string()), 1),
    (pa.run_end_encoded(pa.int32(), pa.int64()), 1.5),
    (pa.null(), 1),
    (pa.uuid(), "text"),
    (pa.int64(), object()),
    (pa.int64(), pa.scalar(5, pa.int8())),
    (pa.int64(), pa.scalar(None, pa.int8())),
    (pa.string(), pa.scalar("a", pa.large_string())),
]


@pytest.mark.parametrize("kind, value", REFUSED, ids=lambda x: str(x).partition(" at 0x")[0][:30])
def test_pyarrow_refuses(kind, value):
    column = pa.nulls(2, kind)
    whole = pa.table({"x": column})
    for target in (whole, whole.to_batches()[0], _core.ArrowTable(whole)):
        for call in (
            lambda target=target: table.scatter([value], [0], target),
            lambda target=target: table.boolean_mask_scatter({"x": value}, target, [True, False]),
        ):
            with pytest.raises(DataTypeError, match=r"table\..*column 'x' is of type .* does not hold") as e:
                call()
            assert str(kind) in str(e.value)
    with pytest.raises(DataTypeError):
        table.scatter([value], [0], column)


def test_no_null_in_a_column_that_says_so():
    schema = pa.schema([pa.field("k", pa.int8(), nullable=False)])
    with pytest.raises(DataTypeError, match="column 'k' is not nullable"):
        table.scatter([None], [0], pa.table([[1]], schema=schema))


def test_duckdb_takes_scalars():
    target = duckdb.sql("SELECT 1::TINYINT AS i, 'a'::ENUM('a', 'b') AS e")
    assert table.scatter([9, "b"], [0], target).fetchall() == [(9, "b")]
    with pytest.raises(DataTypeError, match="column 'i'"):
        table.scatter([300, "b"], [0], target)


POLARS_TAKEN = [
    (pl.Int64, 5, 5),
    (pl.Int64, np.int8(5), 5),
    (pl.Int64, None, None),
    (pl.Float64, 1, 1.0),
    (pl.Float32, 0.1, float(np.float32(0.1))),
    (pl.Float64, NAN, NAN),
    (pl.Boolean, True, True),
    (pl.String, "a", "a"),
    (pl.Binary, b"a", b"a"),
    (pl.Decimal(5, 2), Decimal("1.1"), Decimal("1.10")),
    (pl.Date, dt.date(2020, 1, 1), dt.date(2020, 1, 1)),
    (pl.Time, dt.time(1, 2), dt.time(1, 2)),
    (pl.Datetime("us"), NOON, NOON),
    (pl.Datetime("us"), np.datetime64(NOON), NOON),
    (pl.Datetime("us", "Europe/Paris"), NOON.replace(tzinfo=SUMMER), NOON.replace(tzinfo=SUMMER)),
    (pl.Duration("ms"), dt.timedelta(1), dt.timedelta(1)),
    (pl.Categorical, "new", "new"),
    (pl.Enum(["p", "q"]), "q", "q"),
    (pl.List(pl.Int8), [1, None], [1, None]),
    (pl.List(pl.Int8), [], []),
    (pl.Array(pl.Int8, 2), [1, 2], [1, 2]),
    (pl.Struct({"f": pl.Int8}), {"f": 1}, {"f": 1}),
    (pl.Struct({"f": pl.Int8}), None, None),
    (pl.Null, None, None),
    (pl.Int8, pa.scalar(5, pa.int8()), 5),
    (pl.String, pa.scalar("a"), "a"),
    (pl.Categorical, pa.scalar("a"), "a"),
    (pl.Enum(["p", "q"]), pa.scalar("q"), "q"),
    (pl.Int8, pa.scalar(None, pa.int8()), None),
]
POLARS_REFUSED = [
    (pl.Int64, 1.5),
    (pl.Int64, True),
    (pl.Int64, NAN),
    (pl.Int8, 300),
    (pl.UInt8, -1),
    (pl.Int32, "1"),
    (pl.Boolean, 1),
    (pl.Float64, 2**53 + 1),
    (pl.Float32, 1e300),
    (pl.String, 1),
    (pl.Binary, "a"),
    (pl.String, b"a"),
    (pl.Decimal(5, 2), Decimal("1.234")),
    (pl.Date, NOON),
    (pl.Date, "2020-01-01"),
    (pl.Date, 5),
    (pl.Datetime("ms"), NOON),
    (pl.Datetime("us"), NOON.replace(tzinfo=UTC)),
    (pl.Datetime("us", "UTC"), NOON),
    (pl.Duration("ms"), dt.timedelta(microseconds=5)),
    (pl.Enum(["p"]), "q"),
    (pl.List(pl.Int8), [1.5]),
    (pl.Array(pl.Int8, 2), [1]),
    (pl.Struct({"f": pl.Int8}), {"g": 1}),
    (pl.Null, 1),
    (pl.Int64, pa.scalar(5, pa.int8())),
]


@pytest.mark.parametrize("dtype, value, want", POLARS_TAKEN, ids=str)
def test_polars_takes(dtype, value, want):
    column = pl.Series("x", [None, None], dtype=dtype)
    for result in (table.scatter([value], [1], column), table.scatter({"x": value}, [1], column.to_frame())["x"]):
        assert (result.dtype, result[0]) == (column.dtype, None)
        assert same(result.to_list()[1], want)


@pytest.mark.parametrize("dtype, value", POLARS_REFUSED, ids=str)
def test_polars_refuses(dtype, value):
    column = pl.Series("x", [None, None], dtype=dtype)
    for target in (column, column.to_frame()):
        with pytest.raises(DataTypeError, match=r"table.scatter: column 'x' is of type .* does not hold"):
            table.scatter([value], [0], target)


def many(values, dtype=None):
    return pd.Series(values, dtype=dtype, name="x")


TIMES = many(np.array(["2020", "2021"], "M8[ms]"))
ZONED = many(pd.to_datetime(["2020", "2021"], utc=True).as_unit("us"))
PANDAS_TAKEN = [
    (many([1, 2]), 5, 5),
    (many([1, 2]), 5.0, 5),
    (many([1, 2], "uint8"), 255, 255),
    (many([1.5, 2]), 3, 3.0),
    (many([1.5, 2]), None, NAN),
    (many([1.5, 2]), pd.NA, NAN),
    (many([1.5, 2], "float32"), 0.1, float(np.float32(0.1))),
    (many([1j, 2]), 5, 5),
    (many([True, False]), np.True_, True),
    (many([None, [1]], object), [1, 2], [1, 2]),
    (many([None, [1]], object), "text", "text"),
    (many(["a", "b"]), "new", "new"),
    (many(["a", "b"]), None, NAN),
    (many(["a", "b"], "string[python]"), "new", "new"),
    (TIMES, dt.datetime(2000, 1, 1, 0, 0, 1), pd.Timestamp("2000-01-01 00:00:01")),
    (TIMES, np.datetime64("2000"), pd.Timestamp("2000")),
    (TIMES, pd.Timestamp("2000"), pd.Timestamp("2000")),
    (ZONED, NOON.replace(tzinfo=SUMMER), pd.Timestamp(NOON.replace(tzinfo=SUMMER))),
    (many(np.array([1, 2], "m8[s]")), dt.timedelta(minutes=1), pd.Timedelta(minutes=1)),
    (many([1, 2], "Int64"), 5, 5),
    (many([1.5, 2], "Float32"), 2.5, 2.5),
    (many([True, None], "boolean"), False, False),
    (many(["x", "y"], "category"), "y", "y"),
    (many(pd.period_range("2020", periods=2, freq="M")), pd.Period("2000-01", "M"), pd.Period("2000-01", "M")),
    (many(pd.interval_range(0, 2)), pd.Interval(5, 6), pd.Interval(5, 6)),
    (many(pd.arrays.SparseArray([0, 1])), 7, 7),
    (many([1, 2], "int64[pyarrow]"), 5, 5),
    (many([[1], None], pd.ArrowDtype(LIST)), [1, 2], [1, 2]),
    (many([None, None], pd.ArrowDtype(STRUCT)), {"f": 1, "g": "x"}, {"f": 1, "g": "x"}),
    (many([1, 2]), pa.scalar(7), 7),
]
MISSING = [None, pd.NA, NAN]
PANDAS_REFUSED = [
    *[(many([1, 2]), value) for value in (1.5, True, "1", 2**63, float("inf"), 1j, *MISSING)],
    (many([1, 2], "int8"), 300),
    (many([1, 2], "uint8"), -1),
    *[(many([True, False]), value) for value in MISSING],
    (many([True, False]), 1),
    (many([1.5, 2]), "1.5"),
    (many([1.5, 2]), True),
    (many([1.5, 2]), 2**53 + 1),
    (many([1.5, 2], "float32"), 1e300),
    (many(["a", "b"]), 5),
    (many(["a", "b"], "string[python]"), 5),
    *[(TIMES, value) for value in (NOON, NOON.replace(tzinfo=UTC), "2020-01-01", 5)],
    (ZONED, NOON),
    (ZONED, "2020-01-01"),
    (many(np.array([1, 2], "m8[s]")), dt.timedelta(milliseconds=1)),
    *[(many([1, 2], "Int64"), value) for value in (1.5, "1", True)],
    (many([1, 2], "UInt8"), 300),
    (many([True, None], "boolean"), 1),
    (many(["x", "y"], pd.CategoricalDtype(["x", "y"], ordered=True)), "new"),
    *[(many(["x", "y"], "category"), value) for value in (5, "new")],
    *[(many([1, 2], "category"), value) for value in (1.5, "x", 3, True)],
    (many(pd.period_range("2020", periods=2, freq="M")), pd.Period("2000-01-01", "D")),
    (many(pd.interval_range(0, 2)), pd.Interval(5, 6, closed="left")),
    (many(pd.interval_range(0, 2)), None),
    (many(pd.arrays.SparseArray([0, 1])), 1.5),
    (many(pd.arrays.SparseArray([0, 1])), None),
    *[(many([1, 2], "int8[pyarrow]"), value) for value in (1.5, 300)],
    (many([[1], None], pd.ArrowDtype(LIST)), [1.5]),
]


def short(x):
    return f"{x.dtype}" if isinstance(x, pd.Series) else f"{x!s}"[:30]


@pytest.mark.parametrize("target, value, want", PANDAS_TAKEN, ids=short)
def test_pandas_takes(target, value, want):
    for result in (table.scatter([value], [1], target), table.scatter({"x": value}, [1], target.to_frame())["x"]):
        assert result.dtype == target.dtype
        assert result.iloc[0] is target.iloc[0] or result.iloc[0] == target.iloc[0]
        assert same(result.iloc[1], want)


@pytest.mark.parametrize("target, value", PANDAS_REFUSED, ids=short)
def test_pandas_refuses(target, value):
    before = target.copy()
    for aim in (target, target.to_frame()):
        with pytest.raises(DataTypeError, match=r"table.scatter: column 'x' is of type .* does not hold"):
            table.scatter([value], [0], aim)
    pd.testing.assert_series_equal(target, before)


TARGETS = [
    pa.table({"a": [1, 2], "b": ["x", "y"]}),
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: type(t).__module__)
def test_as_many_scalars_as_columns(target):
    for wrong in ([], [1], (1, "x", 2), 1, "ab", {"a": 1}, {"a": 1, "c": "x"}, {"a": 1, "b": "x", "c": 2}, {}):
        with pytest.raises(InvalidArgument, match=r"table.scatter: source"):
            table.scatter(wrong, [0], target)
        with pytest.raises(InvalidArgument, match=r"table.boolean_mask_scatter: input"):
            table.boolean_mask_scatter(wrong, target, [True, False])


def test_bare_values_are_for_one_column():
    for target in (pa.table({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 2]})):
        result = table.scatter(7, [1], target)
        assert list(result["a"].to_pylist() if isinstance(result, pa.Table) else result["a"]) == [1, 7]
    assert table.scatter("ab", [0], pl.Series(["x"])).to_list() == ["ab"]
    assert table.scatter(pa.scalar(5), [0], pa.array([1])).to_pylist() == [5]


def test_a_dict_is_by_name():
    assert table.scatter({"s": 5}, [0], pl.Series("s", [1])).to_list() == [5]
    assert table.scatter({"s": 5}, [0], pd.Series([1], name="s")).tolist() == [5]
    with pytest.raises(InvalidArgument, match=r"has no name: give \[value\]"):
        table.scatter({"f": 1, "g": "x"}, [0], pa.nulls(1, STRUCT))
    two = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidArgument, match="names of columns occur twice: give a list"):
        table.scatter({"a": 1}, [0], two)
    assert table.scatter([3, 4], [0], two).to_numpy().tolist() == [[3, 4]]
