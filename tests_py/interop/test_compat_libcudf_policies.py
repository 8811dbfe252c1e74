"""test_compat_libcudf_policies.py: libcudf's policy of negative numbers, its deletion mask and choices with scalars."""

from __future__ import annotations

import enum
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
import reference_table as reference
from gatherscatter.compat import libcudf

DONT_CHECK, NULLIFY = libcudf.out_of_bounds_policy.DONT_CHECK, libcudf.out_of_bounds_policy.NULLIFY
ALLOWED, NOT_ALLOWED = libcudf.negative_index_policy.ALLOWED, libcudf.negative_index_policy.NOT_ALLOWED
TABLE = pa.table({"a": pa.array([10, 20, None], pa.int32()), "b": pa.array(["x", None, "z"])})
KINDS = {
    "pyarrow": lambda table: table,
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "list": lambda table: [column.combine_chunks() for column in table.columns],
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


def rows_of(result):
    """Lists of values for each column."""
    if isinstance(result, list):
        return [column.to_pylist() for column in result]
    result = result.collect() if isinstance(result, pl.LazyFrame) else result
    return [column.to_pylist() for column in pa.table(result).columns[:2]]


def random_table(rng, rows):
    """Columns of numbers and texts with nulls, in a random number of chunks."""
    numbers = [int(n) if n % 5 else None for n in rng.integers(0, 99, rows)]
    whole = pa.table({"a": pa.array(numbers, pa.int32()), "b": pa.array([n and f"t{n}" for n in numbers])})
    cut = int(rng.integers(0, rows + 1))
    return whole if rng.integers(2) else pa.concat_tables([whole[:cut], whole[cut:]])


# ---- negative numbers


def test_negative_index_policy():
    policy = libcudf.negative_index_policy
    assert issubclass(policy, enum.IntEnum) and libcudf.NegativeIndexPolicy is policy
    assert {member.name: member.value for member in policy} == {"ALLOWED": 0, "NOT_ALLOWED": 1}
    assert pickle.loads(pickle.dumps(policy.NOT_ALLOWED)) is policy.NOT_ALLOWED


@pytest.mark.parametrize("policy", ["ALLOWED", None, True, 2, -1, 1.0])
def test_no_policy(policy):
    with pytest.raises(TypeError, match="negative_index_policy"):
        libcudf.gather(TABLE, [0], NULLIFY, policy)


@pytest.mark.parametrize("kind", KINDS)
def test_random_gathers(kind):
    rng = np.random.default_rng(list(KINDS).index(kind))
    for _ in range(40):
        table = random_table(rng, int(rng.integers(1, 40)))
        size, dtype = len(table), rng.choice(["int8", "int32", "int64", "uint8", "uint64"])
        low = 0 if dtype.startswith("u") else -size - 2
        numbers = rng.integers(low, size + 3, rng.integers(0, 50)).astype(dtype)
        columns, is_bad = rows_of(table), [n < 0 or n >= size for n in numbers.tolist()]
        for policy in (ALLOWED, NOT_ALLOWED, 0, np.int64(1)):
            found = [None if bad and policy else int(n) for n, bad in zip(numbers, is_bad, strict=True)]
            want = reference.gather(columns, size, found, bounds="nullify")
            assert rows_of(libcudf.gather(KINDS[kind](table), numbers, NULLIFY, policy)) == want
        if kind != "lazy" and any(is_bad):
            with pytest.raises(gs.OutOfBoundsError) as caught:
                libcudf.gather(KINDS[kind](table), numbers, DONT_CHECK, NOT_ALLOWED)
            assert caught.value.index == numbers[is_bad.index(True)] and caught.value.position == (is_bad.index(True),)


def test_the_default_counts_from_the_end():
    assert libcudf.gather(TABLE, [-3, -4], NULLIFY)["a"].to_pylist() == [10, None]
    assert libcudf.gather(TABLE, [-3], negative_index_policy=ALLOWED)["a"].to_pylist() == [10]


# ---- deletion masks


@pytest.mark.parametrize("form", ["arrow", "chunks", "cut", "list", "numpy"])
@pytest.mark.parametrize("kind", KINDS)
def test_random_deletions(kind, form):
    rng = np.random.default_rng(len(kind) * 7 + len(form))
    for size in (1, 2, 63, 64, 65, 200, 1000):
        table, share = random_table(rng, size), rng.choice([0, 0.02, 0.5, 0.98, 1])
        bits = [bool(bit) for bit in rng.random(size) < share]
        if form != "numpy":
            bits = [None if hole else bit for bit, hole in zip(bits, rng.random(size) < 0.1, strict=True)]
        mask = {
            "arrow": lambda bits: pa.array(bits, pa.bool_()),
            "chunks": lambda bits: pa.chunked_array([bits[:9], bits[9:]], pa.bool_()),
            "cut": lambda bits: pa.array([True, None, *bits, False], pa.bool_()).slice(2, len(bits)),
            "list": list,
            "numpy": np.array,
        }[form](bits)
        want = [[v for v, bit in zip(column, bits, strict=True) if bit is False] for column in rows_of(table)]
        result = libcudf.apply_deletion_mask(KINDS[kind](table), mask)
        assert isinstance(result, type(KINDS[kind](table))) and rows_of(result) == want


def test_deletion_masks_that_are_refused():
    with pytest.raises(libcudf.data_type_error, match="apply_deletion_mask"):
        libcudf.apply_deletion_mask(TABLE, [1, 0, 1])
    with pytest.raises(libcudf.invalid_argument, match="apply_deletion_mask: the mask has 2 rows, the table has 3"):
        libcudf.apply_deletion_mask(TABLE, [True, False])
    with pytest.raises(TypeError, match="input is of type int"):
        libcudf.apply_deletion_mask(5, [True])
    assert libcudf.apply_deletion_mask(TABLE[:0], [True, False]).num_rows == 0


# ---- choices with scalars


@pytest.mark.parametrize("kind", KINDS)
def test_random_choices(kind):
    rng = np.random.default_rng(len(kind))
    for size in (1, 64, 65, 300):
        table, share = random_table(rng, size), rng.choice([0, 0.03, 0.5, 1])
        bits = [[None, True, False][int(n)] for n in np.where(rng.random(size) < share, 1, rng.choice([0, 2], size))]
        row = [7, None] if rng.integers(2) else [pa.scalar(8, pa.int32()), pa.scalar("w")]
        plain = [value.as_py() if hasattr(value, "as_py") else value for value in row]
        columns, rows = rows_of(table), [[value] * size for value in plain]
        source, mask = KINDS[kind](table), pa.array(bits, pa.bool_())
        for result, sides in (
            (libcudf.copy_if_else(source, row, mask), (columns, rows)),
            (libcudf.copy_if_else(row, source, mask), (rows, columns)),
        ):
            assert isinstance(result, type(source)) and rows_of(result) == reference.copy_if_else(*sides, size, bits)


def test_columns_and_scalars():
    column, mask = pa.array([1, 2, 3]), pa.array([True, False, None])
    for scalar in (0, pa.scalar(0), [0], [pa.scalar(0)]):
        assert libcudf.copy_if_else(column, scalar, mask).to_pylist() == [1, 0, 0]
        assert libcudf.copy_if_else(scalar, column, mask).to_pylist() == [0, 2, 3]
    assert libcudf.copy_if_else(None, column, mask).to_pylist() == [None, 2, 3]
    assert libcudf.copy_if_else([column], [0], mask)[0].to_pylist() == [1, 0, 0]


@pytest.mark.parametrize(
    "mask", [[True, None, False, True], np.array([True, False, False, True])], ids=["list", "array"]
)
@pytest.mark.parametrize("pair", [(1, 2), (None, 2), ("a", "b"), ([1], [2, 3])], ids=repr)
def test_two_scalars(pair, mask):
    type = pa.array([pair[1]]).type
    lhs, rhs = (pa.scalar(value, type) for value in pair)
    result = libcudf.copy_if_else(lhs, rhs, mask)
    assert result.type == type and result.to_pylist() == [pair[0], pair[1], pair[1], pair[0]]


def test_choices_that_are_refused():
    with pytest.raises(libcudf.data_type_error, match="lhs is a scalar of int64, rhs of string"):
        libcudf.copy_if_else(pa.scalar(1), pa.scalar("x"), [True])
    for wrong in (pa.scalar(1, pa.int8()), "x", pa.scalar(1.5)):
        with pytest.raises(libcudf.data_type_error):
            libcudf.copy_if_else(pa.array([1], pa.int32()), wrong, [False])
    with pytest.raises(libcudf.invalid_argument, match="the mask has 1 row, the table has 3"):
        libcudf.copy_if_else(TABLE, [1, "p"], [True])
    with pytest.raises(libcudf.data_type_error, match="bool"):
        libcudf.copy_if_else(TABLE, [1, "p"], [1, 0, 1])


@pytest.mark.parametrize("wrap", [lambda table: table, pl.from_arrow, lambda table: pl.from_arrow(table).lazy()])
def test_objects_of_narwhals_are_named(wrap):
    frame = pytest.importorskip("narwhals").from_native(wrap(TABLE))
    for call in (
        lambda: libcudf.gather(frame, [0]),
        lambda: libcudf.scatter([1, "p"], [0], frame),
        lambda: libcudf.scatter(frame, [0], TABLE),
        lambda: libcudf.apply_boolean_mask(frame, [True, True, False]),
        lambda: libcudf.copy_if_else(TABLE, frame, [True, True, False]),
    ):
        with pytest.raises(TypeError, match=r"narwhals wraps a table: pass x\.to_native\(\)"):
            call()
