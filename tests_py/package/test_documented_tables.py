"""test_documented_tables.py: libcudf's examples, rules and error rows, by the uniform calls and the strict interface.

The rows with values are in documented_tables.py; rows of the catalogue that need more than one line are here.
"""

from __future__ import annotations

import decimal
import random

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from documented_tables import (
    ERRORS,
    GATHER,
    MASK_SCATTER,
    SCATTER,
    SEGMENTED,
    column_of,
    source_of,
    table_of,
    type_of,
)
from gatherscatter.compat import libcudf

INT_MAX = 2**31 - 1


class Native:
    """The uniform calls under the names of the catalogue."""

    boolean_mask_scatter = staticmethod(gs.table.boolean_mask_scatter)

    @staticmethod
    def scatter(source, scatter_map, target):
        """Of the source's first rows only: libcudf ignores further ones, which the uniform call refuses."""
        some = isinstance(source, (pa.Table, pa.Array, pa.ChunkedArray)) and len(scatter_map) < len(source)
        if some:
            with pytest.raises((ValueError, TypeError)):
                gs.table.scatter(source, scatter_map, target)
        return gs.table.scatter(source[: len(scatter_map)] if some else source, scatter_map, target)

    @staticmethod
    def gather(source, gather_map, policy="DONT_CHECK"):
        """libcudf's rule for negative numbers, for which the uniform call asks under "nullify"."""
        bounds = "nullify" if policy == "NULLIFY" else "raise"
        return gs.table.gather(source, gather_map, bounds, negative="from_end")

    @staticmethod
    def segmented_gather(source, gather_map_list, policy="DONT_CHECK"):
        return gs.table.segmented_gather(source, gather_map_list, "nullify" if policy == "NULLIFY" else "raise")


class Strict:
    """gs.compat.libcudf."""

    scatter = staticmethod(libcudf.scatter)
    boolean_mask_scatter = staticmethod(libcudf.boolean_mask_scatter)

    @staticmethod
    def gather(source, gather_map, policy="DONT_CHECK"):
        return libcudf.gather(source, gather_map, libcudf.out_of_bounds_policy[policy])

    @staticmethod
    def segmented_gather(source, gather_map_list, policy="DONT_CHECK"):
        return libcudf.segmented_gather(source, gather_map_list, libcudf.out_of_bounds_policy[policy])


@pytest.fixture(params=[Native, Strict], ids=["native", "strict"])
def face(request):
    return request.param


def same(result, expected):
    """Check kind, type, names and values; dictionaries by their decoded values."""
    assert type(result) is type(expected)
    result.validate(full=True)
    if isinstance(expected, pa.Table):
        assert result.schema == expected.schema and result.num_rows == expected.num_rows
    else:
        assert result.type == expected.type
    assert result.to_pylist() == expected.to_pylist()


def agree(call, expected, parse):
    """Check that `call` gives the answer of a row, or raises the class that the row names."""
    if expected not in ERRORS:
        return same(call(), parse(expected))
    name, builtins = ERRORS[expected]
    with pytest.raises(getattr(gs.errors, name)) as error:
        call()
    assert all(isinstance(error.value, builtin) for builtin in builtins)


@pytest.mark.parametrize("name", GATHER)
def test_gather(face, name):
    source, gather_map, policy, expected = GATHER[name]
    agree(lambda: face.gather(table_of(source), column_of(gather_map), policy), expected, table_of)


@pytest.mark.parametrize("name", SCATTER)
def test_scatter(face, name):
    source, scatter_map, target, expected = SCATTER[name]
    target = table_of(target)
    before = target.to_pylist()
    agree(lambda: face.scatter(source_of(source), column_of(scatter_map), target), expected, table_of)
    assert target.to_pylist() == before


@pytest.mark.parametrize("name", MASK_SCATTER)
def test_boolean_mask_scatter(face, name):
    source, mask, target, expected = MASK_SCATTER[name]
    target = table_of(target)
    before = target.to_pylist()
    agree(lambda: face.boolean_mask_scatter(source_of(source), target, column_of(mask)), expected, table_of)
    assert target.to_pylist() == before


@pytest.mark.parametrize("name", SEGMENTED)
def test_segmented_gather(face, name):
    source, gather_map_list, policy, expected = SEGMENTED[name]
    agree(lambda: face.segmented_gather(column_of(source), column_of(gather_map_list), policy), expected, column_of)


def test_no_row_was_lost():
    rows = [*GATHER, *SCATTER, *MASK_SCATTER, *SEGMENTED]
    prefixes = ["cu-g", "cu-ge", "cu-s", "cu-se", "cu-ss", "cu-sse", "cu-b", "cu-be", "cu-bs", "cu-bse", "cu-n"]
    counts = {prefix: sum(name.startswith(prefix + "-") for name in rows) for prefix in prefixes}
    assert counts == dict(zip(prefixes, [15, 1, 9, 6, 9, 3, 5, 3, 4, 2, 5], strict=True))


# ---- X-cu-1 .. X-cu-4: whole columns

NUMERIC = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool_"]


def numbers(kind: pa.DataType, count: int) -> pa.Array:
    values = np.random.default_rng(7).integers(0, 100, count)
    return pa.array(values.astype(kind.to_pandas_dtype()), kind)


@pytest.mark.parametrize("kind", NUMERIC)
def test_x_cu_1_identity_and_reverse(face, kind):
    column, rows = numbers(getattr(pa, kind)(), 1000), np.arange(1000, dtype=np.int32)
    same(face.gather(column, rows), column)
    same(face.gather(column, rows[::-1]), pa.array(column.to_pylist()[::-1], column.type))


@pytest.mark.parametrize("kind", NUMERIC)
def test_x_cu_2_all_null(face, kind):
    column = pa.nulls(1000, getattr(pa, kind)())
    same(face.gather(column, np.random.default_rng(1).permutation(1000)), column)


@pytest.mark.parametrize("nullable", [True, False])
def test_x_cu_3_nullable_without_nulls(face, nullable):
    field = pa.field("a", pa.int32(), nullable)
    table = pa.table([numbers(pa.int32(), 1000)], pa.schema([field]))
    result = face.gather(table, np.arange(1000))
    same(result, table)
    assert result.schema.field("a").nullable is nullable and result["a"].null_count == 0


def test_x_cu_4_random_strings(face):
    random.seed(4)
    words = ["".join(random.choices("abcdéñ語🙂", k=random.randrange(20))) for _ in range(512)]
    rows = [random.randrange(512) for _ in range(128)]
    same(face.gather(pa.array(words), pa.array(rows, pa.int32())), pa.array([words[row] for row in rows]))


# ---- X-cu-5 .. X-cu-9: lists and structs

DEEP = pa.list_(pa.list_(pa.list_(pa.int32())))


@pytest.mark.parametrize(("rows", "expected"), [([1], [[]]), ([], [])])
def test_x_cu_5_incomplete_hierarchies(face, rows, expected):
    result = face.gather(pa.array([[[[1, 2]]], [], []], DEEP), pa.array(rows, pa.int32()))
    same(result, pa.array(expected, DEEP))
    assert len(result.flatten()) == 0


@pytest.mark.parametrize("rows", [[1, 2], [0, 2], [0, 3]])
@pytest.mark.parametrize("half", [slice(0, 4), slice(3, 8)])
def test_x_cu_6_sliced_lists(face, half, rows):
    values = [[1, 2, None], [], [3], None, [4, 5], [6, None], [7, 8, 9], []]
    column = pa.array(values, pa.list_(pa.int32()))[half]
    same(face.gather(column, rows), pa.array([values[half][row] for row in rows], column.type))


PERSON = pa.struct([("num", pa.int32()), ("str", pa.string())])
PERSONS = [{"num": i, "str": "x" * i} if i % 5 else None for i in range(1, 13)]
PERSONS[6]["num"] = PERSONS[7]["str"] = None


@pytest.mark.parametrize("rows", [[1, 5, 3], [1, 5, 4, 2]])
def test_x_cu_7_sliced_structs(face, rows):
    column = pa.array(PERSONS, PERSON)[4:10]
    same(face.gather(column, pa.array(rows, pa.int8())), pa.array([PERSONS[4:10][row] for row in rows], PERSON))


def test_x_cu_8_struct_of_structs(face):
    kind = pa.struct([("inner", pa.struct([("value", pa.int32())]))])
    values = [{"inner": {"value": None if i % 3 == 0 else i}} for i in range(12)]
    values[11] = None
    rows = [INT_MAX, 11, 0, 1, 2, 3, 4, 5, 11]
    result = face.gather(pa.array(values, kind), pa.array(rows, pa.int32()), "NULLIFY")
    same(result, pa.array([None if row == INT_MAX else values[row] for row in rows], kind))
    [inner] = result.flatten()
    assert inner.is_null().to_pylist() == [True, True] + [False] * 6 + [True]
    [value] = inner.flatten()
    assert value.to_pylist() == [None, None, None, 1, 2, None, 4, 5, None]


def test_x_cu_8_nulls_are_pushed_down(face):
    """The children of a row that no index selects are null themselves, not only under their parent."""
    table = pa.table({"s": pa.array([{"num": 1, "str": "a"}, {"num": 2, "str": "b"}], PERSON)})
    struct = face.gather(table, [1, 9], "NULLIFY")["s"].chunk(0)
    assert [struct.field(i).is_null().to_pylist() for i in range(2)] == [[False, True]] * 2


@pytest.mark.parametrize("policy", ["DONT_CHECK", "NULLIFY"])
def test_x_cu_9_struct_and_no_row(face, policy):
    same(face.gather(pa.array(PERSONS, PERSON), pa.array([], pa.int32()), policy), pa.array([], PERSON))


# ---- X-cu-10, X-cu-16: dictionaries

WORDS = pa.array(["eee", "aaa", "ddd", "bbb", None, "eee"]).dictionary_encode()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([0, 4, 3, 1], ["apple", "fruit", "apple", "fruit"]),
        ([0, 6, 3, 1], ["apple", "pear", "apple", "fruit"]),
        ([0, 2, 4, 3], ["apple", "pear", "fruit", "apple"]),
        ([6, 0, 2, 1], ["pear", "apple", "pear", "fruit"]),
    ],
)
def test_x_cu_10_duplicate_keys(face, rows, expected):
    column = pa.DictionaryArray.from_arrays(
        pa.array([1, 2, 3, 1, 2, 3, 0], pa.int32()), pa.array(["pear", "apple", "fruit", "pear"])
    )
    result = face.gather(column, rows)
    assert result.to_pylist() == expected
    assert result.dictionary.to_pylist() == ["pear", "apple", "fruit", "pear"]  # the dictionary is copied in full


def test_x_cu_16_empty_dictionaries(face):
    some, none = pa.table({"a": WORDS}), pa.table({"a": WORDS[:0]})
    empty_map = pa.array([], pa.int32())
    same(face.scatter(some, empty_map, some), some)
    same(face.scatter(some, empty_map, none), none)
    same(face.gather(WORDS, empty_map), WORDS[:0])


# ---- X-cu-11 .. X-cu-15: scatter


def test_x_cu_11_sliced_lists(face):
    kind = pa.list_(pa.int32())
    source = pa.array([[1, 1], [9, 9, 9, 9], [8, 8, 8], [5]], kind)[1:3]
    target = pa.array([[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6]], kind)[1:6]
    expected = pa.array([[8, 8, 8], [2, 2], [9, 9, 9, 9], [4, 4], [5, 5]], kind)
    same(face.scatter(source, pa.array([2, 0], pa.int32()), target), expected)


def test_x_cu_12_lists_of_null_structs(face):
    kind = pa.list_(PERSON)
    source = [[{"num": 9, "str": None}, None, {"num": None, "str": "nine"}], [None, {"num": 8, "str": "eight"}]]
    target = [[{"num": i, "str": str(i)}] * 2 for i in range(4)]
    expected = [source[1], target[1], source[0], target[3]]
    same(face.scatter(pa.array(source, kind), [2, 0], pa.array(target, kind)), pa.array(expected, kind))


def test_x_cu_13_empty_and_identity_map(face):
    source, target = pa.array(PERSONS, PERSON), pa.array(PERSONS[::-1], PERSON)
    same(face.scatter(source, pa.array([], pa.int32()), target), target)
    same(face.scatter(source, np.arange(len(source)), target), source)


def test_x_cu_14_source_smaller_than_target(face):
    kind = pa.struct([("f", pa.int32())])
    source, target = ([{"f": value} for value in values] for values in ([22, 55], range(7)))
    result = face.scatter(pa.array(source, kind), pa.array([2, 5], pa.int8()), pa.array(target, kind))
    assert result.field("f").to_pylist() == [0, 1, 22, 3, 4, 55, 6]


@pytest.mark.parametrize("element", ["list<int32>", "struct<f:int32>", "string"])
@pytest.mark.parametrize("holes", [True, False])
@pytest.mark.parametrize("value", [None, []])
def test_x_cu_15_list_scalars_of_anything(face, element, holes, value):
    kind = pa.list_(type_of(element))
    some = {"list<int32>": [[1, 2], None], "struct<f:int32>": [{"f": 1}, None], "string": ["a", None]}[element]
    rows = [some, None if holes else some[:1], some[1:], [], some]
    target = pa.table({"a": pa.array(rows, kind)})
    result = face.scatter([pa.scalar(value, kind)], pa.array([0, 1, -1], pa.int32()), target)
    same(result, pa.table({"a": pa.array([value, value, rows[2], rows[3], value], kind)}))


# ---- X-cu-17: what pylibcudf's own tests expect to be rejected

TARGET = pa.table({"a": pa.array([1, 2, 3], pa.int32()), "b": pa.array(["x", "y", "z"])})


@pytest.mark.parametrize(
    ("source", "scatter_map", "builtin"),
    [
        (TARGET.select(["a"]), [0], ValueError),
        ([pa.scalar(1, pa.int32())], [0], ValueError),
        (TARGET, [0, 1, 2, 0], ValueError),
        (TARGET, pa.array([0, None], pa.int32()), ValueError),
        (pa.table({"a": TARGET["b"], "b": TARGET["b"]}), [0], TypeError),
        ([pa.scalar("x"), pa.scalar("x")], [0], TypeError),
        (TARGET, pa.array([decimal.Decimal(1)]), TypeError),
    ],
    ids=["columns", "scalars", "long-map", "null-map", "table-type", "scalar-type", "decimal-map"],
)
def test_x_cu_17_scatter_mismatches(face, source, scatter_map, builtin):
    with pytest.raises(builtin):
        face.scatter(source, scatter_map, TARGET)


# ---- X-cu-18


@pytest.mark.parametrize(
    ("gather_map_list", "error"),
    [
        (pa.array([0, 1], pa.int32()), gs.errors.LogicError),
        (pa.array([["0"], ["1"]]), gs.errors.LogicError),
        (pa.array([[0], None], pa.list_(pa.int32())), gs.errors.InvalidArgument),
        (pa.array([[0], [None]], pa.list_(pa.int32())), gs.errors.InvalidArgument),
    ],
    ids=["no-list", "strings", "null-row", "null-position"],
)
def test_x_cu_18_segmented_gather_refuses(face, gather_map_list, error):
    with pytest.raises(error):
        face.segmented_gather(pa.array([[1, 2], [3]]), gather_map_list)


def test_x_cu_18_other_length():
    maps = pa.array([[0]], pa.list_(pa.int32()))
    with pytest.raises(gs.errors.InvalidArgument):
        Native.segmented_gather(pa.array([[1, 2], [3]]), maps)
    with pytest.raises(gs.errors.LogicError):
        Strict.segmented_gather(pa.array([[1, 2], [3]]), maps)
