"""test_table_scalar_rules.py: one rule for scalars in all libraries: a value is accepted by all columns of a kind."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gatherscatter import table
from gatherscatter.errors import DataTypeError

NOON = dt.datetime(2020, 1, 1, 12, 0, 0, 5)


def many(values, dtype=None):
    return pd.Series(values, dtype=dtype, name="x")


INTS = [
    pa.nulls(1, pa.int64()),
    pl.Series([7]),
    pd.Series([7]),
    pd.Series([7], dtype="Int64"),
    many([7], "int64[pyarrow]"),
]
FLOATS = [pa.nulls(1, pa.float64()), pl.Series([7.5]), pd.Series([7.5]), pd.Series([7.5], dtype="Float64")]
FLOATS += [many([7.5], "double[pyarrow]")]
BOOLS = [pa.nulls(1, pa.bool_()), pl.Series([True]), pd.Series([True]), pd.Series([True], dtype="boolean")]
BOOLS += [many([True], "bool[pyarrow]")]
TEXTS = [pa.array(["x"]), pl.Series(["x"]), pd.Series(["x"]), many(["x"], "string[python]")]
TEXTS += [
    many(["x"], pd.ArrowDtype(pa.string())),
    pd.Series(["x"], dtype=pd.CategoricalDtype(["x", "new"])),
    pl.Series(["x"], dtype=pl.Categorical),
]
STAMPS = [pa.nulls(1, pa.timestamp("us")), pl.Series([NOON]), pd.Series([NOON]).astype("M8[us]")]
STAMPS += [many([NOON], pd.ArrowDtype(pa.timestamp("us")))]
SPANS = [pa.nulls(1, pa.duration("us")), pl.Series([dt.timedelta(1)]), pd.Series([dt.timedelta(1)]).astype("m8[us]")]
DECIMALS = [pa.nulls(1, pa.decimal128(9, 2)), pl.Series([Decimal("1.00")], dtype=pl.Decimal(9, 2))]
DECIMALS += [many([Decimal(1)], pd.ArrowDtype(pa.decimal128(9, 2)))]
LISTS = [pa.array([[1]]), pl.Series([[1]]), many([[1]], pd.ArrowDtype(pa.list_(pa.int64())))]
ALL = {
    "ints": INTS,
    "floats": FLOATS,
    "bools": BOOLS,
    "texts": TEXTS,
    "times": STAMPS,
    "spans": SPANS,
    "decimals": DECIMALS,
    "lists": LISTS,
}
NAT = [pd.NaT, np.datetime64("NaT", "s"), np.timedelta64("NaT", "s")]
NULLS = {"None": None, "NA": pd.NA, "null": pa.scalar(None)}
SAME = {
    "ints": [(2.0, 2), (np.float32(2), 2), (Decimal("2.0"), 2), (np.array(2), 2), (pa.scalar(2), 2)],
    "floats": [(2, 2.0), (Decimal("1.5"), 1.5), (np.float32(1.5), 1.5), (pa.scalar(1.5), 1.5)],
    "bools": [(np.True_, True), (pa.scalar(True), True)],
    "texts": [("new", "new"), (np.str_("new"), "new"), (pa.scalar("new"), "new")],
    "times": [(NOON, NOON), (np.datetime64(NOON), NOON), (pa.scalar(NOON), NOON)],
    "spans": [(dt.timedelta(2), dt.timedelta(2)), (pa.scalar(dt.timedelta(2)), dt.timedelta(2))],
    "decimals": [(2, Decimal(2)), (1.5, Decimal("1.5")), (pa.scalar(Decimal(1), pa.decimal128(9, 2)), Decimal(1))],
    "lists": [([1, None], [1, None]), (pa.scalar([1]), [1])],
}
OTHER = {
    "ints": [
        1.5,
        True,
        "1",
        2**63,
        Decimal("1.5"),
        [1],
        NOON,
        dt.date(2020, 1, 1),
        pa.scalar(2, pa.int8()),
        pa.scalar(2.0),
    ],
    "floats": [True, "1.5", 1j, 2**53 + 1, Decimal("0.1"), [1.5], NOON, pa.scalar(2), pa.scalar(1.5, pa.float32())],
    "bools": [1, 0.0, "true", [True], Decimal(1), dt.timedelta(1), pa.scalar(1)],
    "texts": [1, b"a", ["a"], NOON, pa.scalar(1), pa.scalar(b"a")],
    "times": [5, "2020-01-01", dt.date(2020, 1, 1), dt.timedelta(1), [NOON], pa.scalar(NOON, pa.timestamp("ms"))],
    "spans": [5, "1 day", NOON, [dt.timedelta(1)], pa.scalar(dt.timedelta(1), pa.duration("s"))],
    "decimals": [True, 0.1, "1", float("inf"), Decimal("Infinity"), Decimal("1.234"), [1], NOON, pa.scalar(2)],
    "lists": [5, 1.5, "ab", True, ["a"], [1.5], NOON, Decimal(1), pa.scalar(1), pa.scalar(["a"])],
}


def only(column):
    [value] = column.to_list() if isinstance(column, pl.Series | pd.Series) else column.to_pylist()
    return None if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)) else value


@pytest.mark.parametrize("kind", SAME)
def test_every_library_takes_the_same(kind):
    for target in ALL[kind]:
        for value, want in SAME[kind]:
            result = table.scatter([value], [0], target)
            assert only(result) == want
            if not isinstance(target, pd.Series) or not isinstance(target.dtype, pd.CategoricalDtype):
                assert type(result) is type(target)


@pytest.mark.parametrize("kind", OTHER)
def test_every_library_refuses_the_same(kind):
    for target in ALL[kind]:
        for value in OTHER[kind] + (NAT if kind not in ("times", "spans") else []):
            with pytest.raises(DataTypeError, match=r"table.scatter: .*column.* is of type .* does not hold"):
                table.scatter([value], [0], target)


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("kind", ALL)
def test_every_library_takes_nulls(kind, null):
    for target in ALL[kind]:
        if isinstance(target, pd.Series) and target.dtype in (np.int64, np.bool_):
            with pytest.raises(DataTypeError):
                table.scatter([NULLS[null]], [0], target)
        else:
            assert only(table.scatter([NULLS[null]], [0], target)) is None


@pytest.mark.parametrize("kind", ALL)
def test_nulls_of_another_type_are_refused(kind):
    for target in ALL[kind]:
        for other in (pa.int8(), pa.date32(), pa.list_(pa.string())):
            with pytest.raises(DataTypeError):
                table.scatter([pa.scalar(None, other)], [0], target)


def test_no_time_is_a_missing_time():
    for target in STAMPS + SPANS:
        for value in NAT[:1] + (NAT[1:2] if any(target is stamp for stamp in STAMPS) else NAT[2:]):
            assert only(table.scatter([value], [0], target)) is None


def test_objects_of_pandas_are_the_values_that_were_given():
    column = many([None, "x"], object)
    for value in (np.nan, pd.NA, pd.NaT, None, np.float32(2), np.datetime64("NaT", "s"), [1], {"a": 1}, NOON, object()):
        for result in (table.scatter([value], [1], column), table.scatter([value], [1], column.to_frame())["x"]):
            assert result.iloc[1] is value
    assert table.scatter([pa.scalar("y")], [1], column).iloc[1] == "y"


def test_scalars_into_no_rows():
    data = {"a": [1, 2], "b": ["x", "y"]}
    for empty in (pa.table(data).slice(0, 0), pl.DataFrame(data)[:0], pd.DataFrame(data)[:0]):
        assert len(table.scatter([1, "x"], [], empty)) == 0
    assert len(table.scatter([pd.Interval(0, 1)], [], many(pd.interval_range(0, 0)))) == 0
    for series in (many([], "Int64"), many([], "float64"), many([], "int8[pyarrow]")):
        assert len(table.scatter([5], [], series)) == 0
        with pytest.raises(DataTypeError):
            table.scatter(["x"], [], series)
