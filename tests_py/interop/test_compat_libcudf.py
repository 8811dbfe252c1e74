"""test_compat_libcudf.py: gs.compat.libcudf: its names, its kinds of tables, and comparisons with pyarrow.

What it rejects is in test_compat_libcudf_strict.py; the examples of its documents are in test_documented_tables.py.
"""

from __future__ import annotations

import copy
import doctest
import enum
import inspect
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter.compat import libcudf

DONT_CHECK, NULLIFY = libcudf.out_of_bounds_policy.DONT_CHECK, libcudf.out_of_bounds_policy.NULLIFY
TABLE = pa.table({"a": pa.array([10, 20, None], pa.int32()), "b": pa.array(["x", None, "z"])})


# ---- names


def test_out_of_bounds_policy():
    policy = libcudf.out_of_bounds_policy
    assert issubclass(policy, enum.IntEnum) and libcudf.OutOfBoundsPolicy is policy
    assert {member.name: member.value for member in policy} == {"NULLIFY": 0, "DONT_CHECK": 1}
    assert policy(0) is policy.NULLIFY and policy["DONT_CHECK"] == 1
    assert pickle.loads(pickle.dumps(policy.NULLIFY)) is policy.NULLIFY
    with pytest.raises(ValueError):
        policy(2)


@pytest.mark.parametrize(
    ("name", "cls", "bases"),
    [
        ("invalid_argument", gs.errors.InvalidArgument, (ValueError,)),
        ("data_type_error", gs.errors.DataTypeError, (libcudf.invalid_argument, TypeError)),
        ("logic_error", gs.errors.LogicError, (RuntimeError,)),
    ],
)
def test_exceptions(name, cls, bases):
    assert getattr(libcudf, name) is cls and cls.__bases__ == bases
    error = cls("why")
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(other) is cls and str(other) == "why"


def test_data_type_error_is_caught_by_both_names():
    for caught in (ValueError, TypeError, libcudf.invalid_argument):
        with pytest.raises(caught):
            raise libcudf.data_type_error("int32 is not int64")
    assert not issubclass(libcudf.logic_error, (ValueError, libcudf.invalid_argument))


def test_the_out_of_bounds_error_suits_every_caller():
    """DONT_CHECK is undefined in libcudf; here its error is an IndexError, a ValueError and a RuntimeError."""
    assert issubclass(gs.OutOfBoundsError, (IndexError, ValueError, RuntimeError))
    assert {IndexError, ValueError, RuntimeError} <= set(gs.OutOfBoundsError.__mro__)


SIGNATURES = {
    "gather": {
        "source_table": None,
        "gather_map": None,
        "bounds_policy": DONT_CHECK,
        "negative_index_policy": libcudf.negative_index_policy.ALLOWED,
    },
    "boolean_mask_scatter": {"input": None, "target": None, "boolean_mask": None},
    "copy_if_else": {"lhs": None, "rhs": None, "boolean_mask": None},
    "apply_boolean_mask": {"input": None, "boolean_mask": None},
    "apply_deletion_mask": {"input": None, "deletion_mask": None},
    "segmented_gather": {"source_column": None, "gather_map_list": None, "bounds_policy": DONT_CHECK},
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    parameters = inspect.signature(getattr(libcudf, name)).parameters
    found = {key: None if p.default is p.empty else p.default for key, p in parameters.items()}
    assert found == SIGNATURES[name]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())


def test_docstrings():
    results = doctest.testmod(libcudf)
    assert results.attempted >= 14 and results.failed == 0


@pytest.mark.parametrize("policy", [NULLIFY, 0, np.int64(0)])
def test_policy_and_the_int_that_it_equals(policy):
    assert libcudf.gather(TABLE, [5], policy)["a"].to_pylist() == [None]
    lists, maps = pa.array([[1]]), pa.array([[5]])
    assert libcudf.segmented_gather(lists, maps, policy).to_pylist() == [[None]]


@pytest.mark.parametrize("policy", ["NULLIFY", "nullify", None, True, False, 2, -1, 1.0])
def test_no_policy(policy):
    with pytest.raises(TypeError, match="bounds_policy"):
        libcudf.gather(TABLE, [0], policy)
    with pytest.raises(TypeError, match="bounds_policy"):
        libcudf.segmented_gather(pa.array([[1]]), pa.array([[0]]), policy)


# ---- scatter's two forms


def test_scatter_keywords():
    target = pa.table({"a": [1, 2, 3]})
    row = pa.table({"a": [9]})
    for source in (row, [9]):
        results = [
            libcudf.scatter(source, [1], target),
            libcudf.scatter(source=source, scatter_map=[1], target=target),
            libcudf.scatter(source=source, indices=[1], target=target),
            libcudf.scatter(source, indices=[1], target=target),
        ]
        assert all(result.to_pydict() == {"a": [1, 9, 3]} for result in results)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        (([9],), {"target": TABLE}),
        (([9], [0]), {}),
        (([9], [0], TABLE), {"indices": [0]}),
        (([9],), {"scatter_map": [0], "indices": [0], "target": TABLE}),
    ],
    ids=["no-map", "no-target", "both-maps", "both-maps-by-name"],
)
def test_scatter_without_its_arguments(arguments, keywords):
    with pytest.raises(TypeError, match="scatter"):
        libcudf.scatter(*arguments, **keywords)


def test_scalars_are_typed_or_plain():
    target = pa.table({"a": pa.array([1, 2], pa.int8()), "b": pa.array(["x", "y"])})
    for row in ([pa.scalar(7, pa.int8()), pa.scalar("z")], [7, "z"], (7, "z")):
        assert libcudf.scatter(row, [1], target).to_pydict() == {"a": [1, 7], "b": ["x", "z"]}
        assert libcudf.boolean_mask_scatter(row, target, [False, True]).to_pydict() == {"a": [1, 7], "b": ["x", "z"]}
    for call in (
        lambda row: libcudf.scatter(row, [1], target),
        lambda row: libcudf.boolean_mask_scatter(row, target, [True, True]),
    ):
        with pytest.raises(libcudf.data_type_error):
            call([pa.scalar(7, pa.int16()), "z"])
        with pytest.raises(libcudf.data_type_error):
            call(["z", "z"])
        with pytest.raises(libcudf.invalid_argument):
            call([7])


# ---- columns match by position


OTHER_NAMES = pa.table({"b": pa.array([1, 2], pa.int32()), "a": pa.array(["p", "q"])})
ANSWER = {"a": [10, 2, 1], "b": ["x", "q", "p"]}


def kinds(table):
    """A table in every kind that the strict interface accepts."""
    relation = duckdb.from_arrow(table)
    return {
        "pyarrow": table,
        "batch": table.combine_chunks().to_batches()[0],
        "list": [column.combine_chunks() for column in table.columns],
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "pandas": table.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": relation,
    }


def rows_of(result):
    """Lists of values for each column."""
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, duckdb.DuckDBPyRelation):
        result = result.to_arrow_table()
    if isinstance(result, pd.DataFrame):
        result = pa.Table.from_pandas(result, preserve_index=False)
    columns = result if isinstance(result, list) else [result[name] for name in names_of(result)]
    return [column.to_list() if isinstance(column, pl.Series) else column.to_pylist() for column in columns]


def names_of(result):
    return result.schema.names if isinstance(result, (pa.Table, pa.RecordBatch)) else list(result.columns)


KINDS = ["pyarrow", "batch", "list", "polars", "lazy", "pandas", "duckdb"]


@pytest.mark.parametrize("kind", KINDS)
def test_same_kind_out_and_names_are_not_compared(kind):
    target = kinds(TABLE)[kind]

    def rows(*numbers):
        return kinds(OTHER_NAMES.take(numbers))["polars" if kind == "lazy" else kind]

    results = [
        libcudf.scatter(rows(0, 1), [2, 1], target),
        libcudf.boolean_mask_scatter(rows(1, 0), target, [False, True, True]),
        libcudf.copy_if_else(target, rows(0, 1, 0), [True, False, None]),
    ]
    for result in results:
        assert isinstance(result, type(target)) and rows_of(result) == [*ANSWER.values()]
        if kind not in ("list", "lazy"):
            assert names_of(result) == names_of(target)


@pytest.mark.parametrize("kind", KINDS)
def test_same_kind_out_of_gather_and_mask(kind):
    source = kinds(TABLE)[kind]
    for result, expected in [
        (libcudf.gather(source, [-1, 0]), TABLE.take([2, 0])),
        (libcudf.gather(source, [5, 0], NULLIFY), TABLE.take(pa.array([None, 0], pa.int64()))),
        (libcudf.apply_boolean_mask(source, [True, None, True]), TABLE.take([0, 2])),
    ]:
        assert isinstance(result, type(source)) and rows_of(result) == rows_of(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_map_gives_a_copy_of_the_target(kind):
    target = kinds(TABLE)[kind]
    for source in (kinds(OTHER_NAMES)["polars" if kind == "lazy" else kind], [1, "p"], ["neither", "looked at"]):
        result = libcudf.scatter(source, pa.array([], pa.float32()), target)
        assert isinstance(result, type(target)) and rows_of(result) == rows_of(TABLE)


def test_a_lazy_source_is_refused():
    with pytest.raises(TypeError, match="source is a LazyFrame: collect it first"):
        libcudf.scatter(pl.LazyFrame({"a": [1]}), [0], pl.DataFrame({"a": [2]}))


def test_mixed_kinds_give_that_of_the_target():
    for source_kind in ("pyarrow", "batch", "list"):
        for target_kind in ("pyarrow", "batch", "list"):
            source, target = kinds(OTHER_NAMES)[source_kind], kinds(TABLE)[target_kind]
            result = libcudf.scatter(source, [2, 1], target)
            assert isinstance(result, type(target)) and rows_of(result) == [*ANSWER.values()]


def test_no_columns_and_no_scalars():
    target = TABLE.select([])
    result = libcudf.scatter([], [0, 2], target)
    assert result.num_rows == 3 and result.num_columns == 0
    assert libcudf.scatter([], np.array([], int), []) == []


def test_columns_with_equal_names():
    target = pa.table([[1, 2], ["x", "y"]], names=["a", "a"])
    assert [c.to_pylist() for c in libcudf.scatter([7, "z"], [0], target)] == [[7, 2], ["z", "y"]]
    assert [c.to_pylist() for c in libcudf.scatter(target, [1, 0], target)] == [[2, 1], ["y", "x"]]


def test_lists_of_columns():
    columns = [pa.array([1, 2, 3]), pa.chunked_array([["x"], ["y", "z"]])]
    first, second = libcudf.gather(columns, [2, 0])
    assert isinstance(first, pa.Array) and first.to_pylist() == [3, 1] and second.to_pylist() == ["z", "x"]
    assert libcudf.gather([], np.array([], int)) == []
    with pytest.raises(libcudf.invalid_argument, match=r"3 rows.*2"):
        libcudf.gather([pa.array([1, 2, 3]), pa.array([1, 2])], [0])
    with pytest.raises(libcudf.invalid_argument):
        libcudf.scatter([pa.array([1])], [0], columns)


def test_lists_of_columns_that_32_bit_offsets_cannot_hold():
    limit = _core.set_offset_limit(10)
    try:
        [numbers, text] = libcudf.gather([pa.array([1, 2]), pa.array(["seven..", "six..."])], [0, 1, 0])
    finally:
        _core.set_offset_limit(limit)
    assert numbers.to_pylist() == [1, 2, 1] and text.to_pylist() == ["seven..", "six...", "seven.."]
    assert isinstance(text, pa.ChunkedArray) and text.num_chunks == 3 and text.type == pa.string()


def test_single_columns():
    column = pa.array([1, 2, None])
    assert libcudf.gather(column, [2, 1]).to_pylist() == [None, 2]
    assert libcudf.scatter(pa.array([9]), [2], column).to_pylist() == [1, 2, 9]
    assert libcudf.scatter([9], [2], column).to_pylist() == [1, 2, 9]
    assert libcudf.boolean_mask_scatter(pa.array([9]), column, [False, True, False]).to_pylist() == [1, 9, None]
    assert column.to_pylist() == [1, 2, None]


# ---- comparisons with pyarrow


def columns_of(count):
    """Columns of many types with nulls, cut out of longer ones."""
    rng = np.random.default_rng(11)
    numbers = [int(value) if value % 7 else None for value in rng.integers(0, 1000, count + 3)]
    return pa.table(
        {
            "int": pa.array(numbers, pa.int16()),
            "float": pa.array(numbers, pa.float64()),
            "bool": pa.array([None if n is None else n % 2 == 0 for n in numbers]),
            "text": pa.array([None if n is None else "é" * (n % 9) for n in numbers]),
            "large": pa.array([None if n is None else str(n) for n in numbers], pa.large_string()),
            "decimal": pa.array(numbers, pa.int64()).cast(pa.decimal128(21, 2)),
            "time": pa.array(numbers, pa.timestamp("us", "Europe/Vienna")),
            "list": pa.array([None if n is None else [n, None] * (n % 3) for n in numbers], pa.list_(pa.int32())),
            "struct": pa.array(
                [None if n is None else {"x": n, "y": None} for n in numbers],
                pa.struct([("x", pa.int32()), ("y", pa.string())]),
            ),
            "dictionary": pa.array([None if n is None else f"key {n % 5}" for n in numbers]).dictionary_encode(),
        }
    )[3:]


@pytest.mark.parametrize("policy", [DONT_CHECK, NULLIFY])
def test_gather_is_take(policy):
    table, rng = columns_of(500), np.random.default_rng(12)
    rows = rng.integers(-500, 500 if policy is DONT_CHECK else 700, 800)
    nulls = pa.array(np.where(rows < 0, rows + 500, rows), pa.int64(), mask=rows >= 500)
    result = libcudf.gather(table, pa.array(rows), policy)
    result.validate(full=True)
    assert result.schema == table.schema and result.to_pylist() == table.take(nulls).to_pylist()


def test_masks_are_those_of_pyarrow():
    """Compared with pyarrow's `filter`, `if_else` and `replace_with_mask` for the types that they support."""
    table, rng = columns_of(300), np.random.default_rng(13)
    mask = pa.array([None if value == 0 else bool(value % 2) for value in rng.integers(0, 5, 300)])
    assert libcudf.apply_boolean_mask(table, mask).to_pylist() == table.filter(mask).to_pylist()
    false = pc.fill_null(mask, False)
    other = table.take(rng.permutation(300))
    result = libcudf.copy_if_else(other, table, mask)
    for name in table.column_names[:-1]:
        expected = pc.if_else(false, other[name], table[name])
        assert result[name].to_pylist() == expected.to_pylist(), name
    result = libcudf.boolean_mask_scatter(other, table, mask)
    for name in ["int", "float", "bool", "text", "large", "decimal", "time"]:
        values = other[name].combine_chunks()[: pc.sum(false).as_py()]
        expected = pc.replace_with_mask(table[name].combine_chunks(), false, values)
        assert result[name].to_pylist() == expected.to_pylist(), name
