"""test_table_duckdb.py: values that DuckDB's export to Arrow changes, and values that its columns do not hold."""

import random
import uuid

import duckdb
import pyarrow as pa
import pytest

from gatherscatter import table
from gatherscatter.errors import DataTypeError

KEY = "4d0cca1d-f370-48b1-96de-1deb75a75878"
EDGE = 2**63 // 1000  # microseconds, of which Arrow's intervals have no room for more
LEAVES = {
    "INTERVAL": ["to_hours(3)", "to_months(-5)", "to_days(9)", "NULL"]
    + [f"to_microseconds({n})" for n in (EDGE - 1, EDGE, EDGE + 1, -EDGE, -EDGE - 1, 2**63 - 1)]
    + ["to_hours(3000000)", "to_hours(-3000000)", f"to_microseconds({EDGE}) + to_days(7)"],
    "UHUGEINT": [f"{n}::UHUGEINT" for n in (0, 7, 2**127 - 1, 2**127, 2**128 - 1)] + ["NULL"],
    "HUGEINT": [f"({n})::HUGEINT" for n in (0, -(2**127), 2**127 - 1, 10**38)],
    "ENUM('a', 'b')": ["'a'", "'b'", "NULL"],
    "UUID": [f"'{KEY}'", "NULL"],
    "JSON": ["'{}'", """'{"a":  [1]}'"""],
    "TIME": ["'24:00:00'", "'12:34:56.789'"],
    "DATE": ["'infinity'", "'-infinity'", "'5877642-06-25 (BC)'"],
    "TIMESTAMP": ["'infinity'", "'-infinity'", "'290000-01-01'"],
    "TIMESTAMP_NS": ["'infinity'", "'2020-01-01 00:00:00.123456789'"],
    "TIMETZ": ["'12:00:00+02'"],
    "BIT": ["'101'"],
    "VARCHAR": ["'a'"],
    "BIGNUM": ["12345678901234567890123456789012345678901234567890::BIGNUM"],
}


def drawn(rng, depth):
    """A type of DuckDB, and a function that draws a value of it in SQL."""
    form = rng.choice(["leaf", "list", "array", "struct", "tuple", "map", "union"]) if depth else "leaf"
    if form == "leaf":
        kind = rng.choice(list(LEAVES))
        return kind, lambda: f"({rng.choice(LEAVES[kind])})::{kind}"
    inner, value = drawn(rng, depth - 1)
    if form == "list":
        return f"{inner}[]", lambda: f"[{', '.join(value() for _ in range(rng.randrange(3)))}]::{inner}[]"
    if form == "array":
        return f"{inner}[2]", lambda: f"[{value()}, {value()}]::{inner}[2]"
    if form == "struct":
        return f'STRUCT("f 1" {inner}, g INT)', lambda: f"{{'f 1': {value()}, 'g': 5}}"
    if form == "map":
        return f"MAP(INT, {inner})", lambda: f"map{{1: {value()}, 2: {value()}}}"
    if form == "union":
        return f"UNION(u {inner}, v INT)", lambda: union_of(inner, value)
    return f"TUPLE({inner}, INT)", lambda: f"row({value()}, 1)"


def union_of(inner, value):
    text = value()
    while text.startswith("(NULL)"):  # to Arrow, a null inside of a union is a null
        text = value()
    return f"union_value(u := {text})::UNION(u {inner}, v INT)"


def test_rows_are_those_of_duckdb_or_an_error():
    rng, kept, refused = random.Random(40), 0, 0
    connection = duckdb.connect()
    for _ in range(250):
        _, value = drawn(rng, rng.randrange(3))
        rows = " UNION ALL ".join(f"SELECT {at} AS n, {value()} AS x" for at in range(2))
        relation = connection.sql(rows).order("n").project("x")
        want = relation.project("x::VARCHAR").fetchall()
        try:
            found = table.gather(relation, [1, 0, 1]).project("x::VARCHAR").fetchall()
        except DataTypeError as error:
            refused += 1
            texts = str(want)
            is_of_no_arrow = "cannot read back" in str(error)
            assert is_of_no_arrow or any(word in texts for word in (":", str(2**127), str(2**128 - 1))), (rows, error)
            continue
        assert found == [want[1], want[0], want[1]], rows
        kept += 1
    assert kept > 50 and refused > 20


@pytest.mark.parametrize(
    "kind, start, good, bad",
    [
        ("ENUM('a', 'b')", "'a'", "b", "zz"),
        ("ENUM('a', 'b')[]", "['a']", ["b", None], ["zz"]),
        ("STRUCT(k ENUM('a', 'b'))", "{'k': 'a'}", {"k": "b"}, {"k": "zz"}),
        ("UUID", f"'{KEY}'", str(uuid.UUID(int=5)), "zz"),
        ("UUID[2]", f"['{KEY}', NULL]", [str(uuid.UUID(int=5)), None], ["zz", None]),
        ("JSON", "'{}'", "[1]", "{"),
        ("UHUGEINT", "1", 7, -1),
        ("UHUGEINT", "1", 10**37, 2**127),
    ],
)
def test_values_of_no_column_are_errors_at_the_call(kind, start, good, bad):
    target = duckdb.sql(f"SELECT ({start})::{kind} AS x, n FROM range(3) t(n)")
    calls = [
        lambda value: table.scatter([value, 9], [1], target),
        lambda value: table.scatter({"x": value}, [1], target, partial=True),
        lambda value: table.boolean_mask_scatter({"x": value, "n": 9}, target, [False, True, False]),
    ]
    for call in calls:
        assert call(good).project("x::VARCHAR").fetchall()[1] != target.project("x::VARCHAR").fetchall()[0]
        with pytest.raises(DataTypeError, match="column 'x'"):
            call(bad)


def test_each_column_is_checked():
    target = duckdb.sql(f"SELECT '{KEY}'::UUID AS x, 'a'::ENUM('a', 'b') AS y, 1::UHUGEINT AS z FROM range(2)")
    assert table.scatter([KEY, "b", 2], [1], target).fetchall()[1] == (uuid.UUID(KEY), "b", 2)
    for values, name in (
        [("zz", "b", 2), "x"],
        [(KEY, "c", 2), "y"],
        [(KEY, "b", 2**127), "z"],
        [("zz", "c", -1), "x"],
    ):
        with pytest.raises(DataTypeError, match=f"column '{name}'"):
            table.scatter(values, [1], target)


def test_uuids_are_scalars():
    target = duckdb.sql(f"SELECT '{KEY}'::UUID AS x")
    assert table.scatter([uuid.UUID(int=5)], [0], target).fetchall() == [(uuid.UUID(int=5),)]


def test_types_that_arrow_does_not_have_differ():
    target = duckdb.sql(f"SELECT '{KEY}'::UUID AS x FROM range(2)")
    for source in (f"SELECT '{KEY}' AS x", "SELECT 'zz' AS x"):
        with pytest.raises(DataTypeError, match="UUID in the target, VARCHAR in the source"):
            table.scatter(duckdb.sql(source), [0], target)
    lhs, rhs = (duckdb.sql(f"SELECT 'a'::ENUM('a', '{other}') AS x") for other in "bc")
    with pytest.raises(DataTypeError, match=r"'b'.* in lhs, .*'c'.* in rhs"):
        table.copy_if_else(lhs, rhs, [True])


def test_tables_of_arrow_are_checked_value_by_value():
    target = duckdb.sql(f"SELECT '{KEY}'::UUID AS x FROM range(2)")
    other = str(uuid.UUID(int=0xABC))
    assert table.scatter(pa.table({"x": [other]}), [1], target).fetchall() == [(uuid.UUID(KEY),), (uuid.UUID(other),)]
    for text in ("zz", other.upper(), other.replace("-", "")[:-1] + "A"):
        with pytest.raises(DataTypeError, match="does not hold each value of the source"):
            table.scatter(pa.table({"x": [text]}), [1], target)
