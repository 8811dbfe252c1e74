"""test_compat_libcudf_strict.py: what gs.compat.libcudf rejects, the order of its checks, and what it must accept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter.compat import libcudf
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, NullIndexError

DONT_CHECK, NULLIFY = libcudf.out_of_bounds_policy.DONT_CHECK, libcudf.out_of_bounds_policy.NULLIFY
TABLE = pa.table({"a": pa.array([10, 20, None], pa.int32()), "b": pa.array(["x", None, "z"])})


# ---- maps


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_map_dtypes(dtype):
    rows = np.array([2, 0, 1], dtype)
    for gather_map in (rows, pa.array(rows), pl.Series(rows), pd.Series(rows), pa.chunked_array([rows[:1], rows[1:]])):
        assert libcudf.gather(TABLE, gather_map)["a"].to_pylist() == [None, 10, 20]
        assert libcudf.scatter(TABLE, gather_map, TABLE)["a"].to_pylist() == [20, None, 10]


WRONG_MAPS = {
    "float": pa.array([], pa.float64()),
    "bool": pa.array([], pa.bool_()),
    "string": pa.array([], pa.string()),
    "timestamp": pa.array([], pa.timestamp("s")),
    "duration": pa.array([], pa.duration("s")),
    "decimal": pa.array([], pa.decimal128(5)),
    "list": pa.array([], pa.list_(pa.int32())),
    "numpy-float": np.array([], "f4"),
    "numpy-bool": np.array([], "?"),
    "numpy-datetime": np.array([], "M8[s]"),
    "polars-float": pl.Series([], dtype=pl.Float64),
    "pandas-float": pd.Series([], dtype="float64"),
}


@pytest.mark.parametrize("name", WRONG_MAPS)
def test_empty_maps_of_another_type(name):
    """A gather checks the type of an empty map; a scatter does not and returns a copy of its target."""
    with pytest.raises(IndexTypeError):
        libcudf.gather(TABLE, WRONG_MAPS[name])
    for source in (TABLE, [1, "p"]):
        assert libcudf.scatter(source, WRONG_MAPS[name], TABLE).equals(TABLE)


@pytest.mark.parametrize(
    "wrong",
    [pa.array([0.0]), np.array([True]), pa.array(["0"]), pa.array([0], pa.timestamp("s")), pd.Series([1.0]), [0.0]],
    ids=["float", "bool", "string", "timestamp", "pandas-float", "list-of-floats"],
)
def test_maps_of_another_type(wrong):
    for call in (lambda: libcudf.gather(TABLE, wrong), lambda: libcudf.scatter(TABLE, wrong, TABLE)):
        with pytest.raises(libcudf.logic_error) as error:
            call()
        assert isinstance(error.value, TypeError) and not isinstance(error.value, ValueError)


def null_maps(values):
    """A map with nulls in every form."""
    holes = [value is None for value in values]
    filled = [0 if value is None else value for value in values]
    return {
        "list": values,
        "arrow": pa.array(values, pa.int64()),
        "arrow-sliced": pa.array([1, *values], pa.int64())[1:],
        "chunked": pa.chunked_array([pa.array([], pa.int64()), pa.array(values, pa.int64())]),
        "polars": pl.Series(values, dtype=pl.Int64),
        "pandas": pd.Series(pd.arrays.IntegerArray(np.array(filled), np.array(holes))),
        "pandas-arrow": pd.Series(values, dtype=pd.ArrowDtype(pa.int64())),
    }


@pytest.mark.parametrize("form", null_maps([None]))
@pytest.mark.parametrize("policy", [DONT_CHECK, NULLIFY])
@pytest.mark.parametrize(
    "values", [[0, None], [None, 9], [9, None, 0], [9] * 100 + [None]], ids=["valid", "before", "after", "far"]
)
def test_a_null_in_a_gather_map(form, policy, values):
    """A null is an error under both policies, of both classes, and is checked before the row numbers."""
    with pytest.raises(NullIndexError) as error:
        libcudf.gather(TABLE, null_maps(values)[form], policy)
    assert isinstance(error.value, libcudf.invalid_argument) and isinstance(error.value, libcudf.logic_error)


@pytest.mark.parametrize("form", null_maps([None]))
@pytest.mark.parametrize("values", [[0, None], [9, None]], ids=["valid", "after"])
def test_a_null_in_a_scatter_map(form, values):
    for source in (TABLE, [1, "p"]):
        with pytest.raises(NullIndexError):
            libcudf.scatter(source, null_maps(values)[form], TABLE)


def test_uniform_calls_take_nulls_where_the_face_refuses_them():
    assert gs.table.gather(TABLE, [None, 0], "nullify")["a"].to_pylist() == [None, 10]


@pytest.mark.parametrize("row", [3, -4, 2**31, -(2**31) - 1, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)])
def test_rows_are_compared_at_full_width(row):
    gather_map = pa.array([0, row, 0], pa.int64())
    assert libcudf.gather(TABLE, gather_map, NULLIFY)["a"].to_pylist() == [10, None, 10]
    for call in (
        lambda: libcudf.gather(TABLE, gather_map),
        lambda: libcudf.scatter(TABLE, gather_map, TABLE),
        lambda: libcudf.scatter([1, "p"], gather_map, TABLE),
    ):
        with pytest.raises(gs.OutOfBoundsError) as error:
            call()
        assert (error.value.index, error.value.position, error.value.size) == (row, (1,), 3)


@pytest.mark.parametrize("row", [3, 255, 2**32 + 1, 2**63, 2**64 - 1])
def test_unsigned_rows_never_count_from_the_end(row):
    gather_map = pa.array([row], pa.uint64())
    assert libcudf.gather(TABLE, gather_map, NULLIFY)["a"].to_pylist() == [None]
    with pytest.raises(gs.OutOfBoundsError, match=str(row)):
        libcudf.gather(TABLE, gather_map)


def test_an_empty_source():
    empty = TABLE[:0]
    assert libcudf.gather(empty, [0, -1], NULLIFY).to_pydict() == {"a": [None, None], "b": [None, None]}
    with pytest.raises(gs.OutOfBoundsError):
        libcudf.gather(empty, [0])
    assert libcudf.boolean_mask_scatter(empty, empty, pa.array([], pa.bool_())).equals(empty)


def test_nullify_makes_every_column_nullable():
    schema = pa.schema(
        [pa.field("a", pa.int32(), False), pa.field("b", pa.list_(pa.field("item", pa.int32(), False)), False)]
    )
    table = pa.table([pa.array([1], pa.int32()), pa.array([[1]], schema.field("b").type)], schema)
    assert libcudf.gather(table, [0]).schema == schema
    fields = libcudf.gather(table, [0], NULLIFY).schema
    assert [field.nullable for field in fields] == [True, True] and fields.types == schema.types


# ---- arguments of another kind


class Capsules:
    """An Arrow array of an unknown library, without a length."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def test_maps_and_masks_of_an_unknown_library():
    assert libcudf.gather(TABLE, Capsules(pa.array([1, 0])))["a"].to_pylist() == [20, 10]
    assert libcudf.scatter(TABLE, Capsules(pa.array([1])), TABLE)["a"].to_pylist() == [10, 10, None]
    mask = Capsules(pa.array([True, None, False]))
    assert libcudf.apply_boolean_mask(TABLE, mask)["a"].to_pylist() == [10]
    assert libcudf.boolean_mask_scatter([7, "p"], TABLE, mask)["a"].to_pylist() == [7, 20, None]
    for call in (
        lambda: libcudf.gather(TABLE, Capsules(pa.array([9, None])), NULLIFY),
        lambda: libcudf.scatter(TABLE, Capsules(pa.array([9, None])), TABLE),
    ):
        with pytest.raises(NullIndexError):
            call()


def test_tables_of_an_unknown_library():
    result = libcudf.scatter(
        Capsules(TABLE.to_struct_array().chunk(0)), [2], Capsules(TABLE.to_struct_array().chunk(0))
    )
    assert pa.table(result).to_pydict() == {"a": [10, 20, 10], "b": ["x", None, "x"]}


LISTS = pa.array([[1], [2]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: libcudf.gather(5, [0]), "source_table is of type int"),
        (lambda: libcudf.gather([1, 2], [0]), "source_table has a int in it"),
        (lambda: libcudf.gather([pa.table({"a": [1]})], [0]), "source_table has a Table in it"),
        (lambda: libcudf.gather(TABLE, 5), "the map is 5"),
        (lambda: libcudf.gather(TABLE, "abc"), "the map is 'abc'"),
        (lambda: libcudf.scatter(5, [0], TABLE), "source is of type int"),
        (lambda: libcudf.scatter({"a": 1, "b": "p"}, [0], TABLE), "source is of type dict"),
        (lambda: libcudf.scatter(pa.scalar(1), [0], pa.array([1])), "source is of type Int64Scalar"),
        (lambda: libcudf.scatter(np.array([1]), [0], pa.array([1])), "source is of type ndarray"),
        (lambda: libcudf.scatter([1, "p"], 5, TABLE), "the map is 5"),
        (lambda: libcudf.scatter([1], [0], np.array([1])), "target is of type numpy.ndarray"),
        (lambda: libcudf.boolean_mask_scatter([1, "p"], TABLE, True), "the mask is True"),
        (lambda: libcudf.boolean_mask_scatter("ab", TABLE, [True]), "input is of type str"),
        (lambda: libcudf.copy_if_else(1, TABLE, [True]), "lhs is of type int"),
        (lambda: libcudf.copy_if_else(TABLE, {"a": 1, "b": "p"}, [True]), "rhs is of type dict"),
        (lambda: libcudf.copy_if_else([1], [2], [True]), "lhs has a int in it"),
        (lambda: libcudf.copy_if_else(pa.scalar(1), 2, [True]), "lhs is of type pyarrow.Int64Scalar"),
        (lambda: libcudf.apply_boolean_mask(5, [True]), "input is of type int"),
        (lambda: libcudf.segmented_gather(5, LISTS), "source is of type int"),
        (lambda: libcudf.segmented_gather(LISTS, 5), "gather_map_list is of type int"),
    ],
)
def test_arguments_of_another_kind(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("shape", [(), (1, 1)])
def test_maps_have_one_axis(shape):
    for call in (
        lambda: libcudf.gather(TABLE, np.zeros(shape, int)),
        lambda: libcudf.scatter(TABLE, np.zeros(shape, int), TABLE),
    ):
        with pytest.raises(libcudf.invalid_argument, match="one axis"):
            call()


def test_a_table_is_no_column():
    for source, target in ((TABLE.select(["a"]), TABLE["a"]), (TABLE["a"], TABLE.select(["a"]))):
        with pytest.raises(libcudf.invalid_argument, match="table"):
            libcudf.scatter(source, [0], target)


# ---- masks


@pytest.mark.parametrize(
    "mask",
    [pa.array([1, 0, 1], pa.int8()), np.array([1, 0, 1]), pa.array(["T", "F", "T"]), [1, 0, 1], pl.Series([1, 0, 1])],
    ids=["int8", "numpy", "string", "list", "polars"],
)
def test_masks_are_of_bools(mask):
    for call in (
        lambda: libcudf.boolean_mask_scatter(TABLE, TABLE, mask),
        lambda: libcudf.boolean_mask_scatter([1, "p"], TABLE, mask),
        lambda: libcudf.copy_if_else(TABLE, TABLE, mask),
        lambda: libcudf.apply_boolean_mask(TABLE, mask),
    ):
        with pytest.raises(libcudf.data_type_error):
            call()


@pytest.mark.parametrize("mask", [[True], [True] * 4, pa.array([], pa.bool_())], ids=["short", "long", "empty"])
def test_masks_of_another_length(mask):
    for call in (
        lambda: libcudf.boolean_mask_scatter(TABLE, TABLE, mask),
        lambda: libcudf.boolean_mask_scatter([1, "p"], TABLE, mask),
        lambda: libcudf.copy_if_else(TABLE, TABLE, mask),
    ):
        with pytest.raises(libcudf.invalid_argument) as error:
            call()
        assert not isinstance(error.value, libcudf.data_type_error)


def test_apply_boolean_mask_of_another_length():
    with pytest.raises(libcudf.invalid_argument):
        libcudf.apply_boolean_mask(TABLE, [True])


def test_a_table_without_rows_takes_any_mask():
    empty = TABLE[:0]
    assert libcudf.apply_boolean_mask(empty, [True, False]).equals(empty)
    with pytest.raises(libcudf.data_type_error):
        libcudf.apply_boolean_mask(empty, pa.array([1, 0], pa.int8()))


def test_nulls_in_masks_are_false():
    mask = pa.array([None, True, None])
    assert libcudf.boolean_mask_scatter([7, "p"], TABLE, mask)["a"].to_pylist() == [10, 7, None]
    assert libcudf.boolean_mask_scatter(TABLE, TABLE, mask)["a"].to_pylist() == [10, 10, None]
    assert libcudf.copy_if_else(TABLE, TABLE.take([2, 2, 0]), mask)["a"].to_pylist() == [None, 20, 10]
    assert libcudf.apply_boolean_mask(TABLE, mask)["a"].to_pylist() == [20]


def test_fewer_trues_than_rows():
    assert libcudf.boolean_mask_scatter(TABLE, TABLE, [False, False, True])["a"].to_pylist() == [10, 20, 10]


def test_copy_if_else_refuses():
    for lhs, rhs, error in [
        (TABLE, TABLE[:2], libcudf.invalid_argument),
        (TABLE, TABLE.select(["a"]), libcudf.invalid_argument),
        (pa.array([1, 2, 3]), pa.array([1.0, 2.0, 3.0]), libcudf.data_type_error),
    ]:
        with pytest.raises(error) as raised:
            libcudf.copy_if_else(lhs, rhs, [True, False, True])
        assert type(raised.value) is error


# ---- the order of checks


LONG, NARROW = pa.table({"a": [1, 2]}), pa.table({"a": pa.array([1, 2], pa.int8())})
WIDE = pa.table({"a": [1, 2], "b": [1, 2]})


@pytest.mark.parametrize(
    ("source", "scatter_map", "error"),
    [
        (WIDE, pa.array([0.0] * 3), InvalidArgument),
        (NARROW, pa.array([0.0] * 3), InvalidArgument),
        (NARROW, pa.array([0.0, None]), DataTypeError),
        (NARROW, pa.array([], pa.float32()), DataTypeError),
        (LONG, pa.array([0.0, None]), NullIndexError),
        (LONG, pa.array([9, None]), NullIndexError),
        (LONG, pa.array([0.0, 9.0]), IndexTypeError),
        ([1, 2], pa.array([None], pa.int8()), InvalidArgument),
        (["x"], pa.array([None], pa.int8()), NullIndexError),
        (["x"], pa.array([0.0]), DataTypeError),
        ([1], pa.array([0.0]), IndexTypeError),
    ],
)
def test_order_of_checks_of_scatter(source, scatter_map, error):
    """Columns, length of the map, types, its nulls, its type, its values; for scalars: count, nulls, types, values."""
    with pytest.raises(error) as raised:
        libcudf.scatter(source, scatter_map, pa.table({"a": [5, 6, 7]}))
    assert type(raised.value) is error


def test_scalars_are_not_looked_at_where_no_row_takes_them():
    target = pa.table({"a": [5, 6, 7]})
    assert libcudf.scatter(["x"], pa.array([], pa.float32()), target).equals(target)


@pytest.mark.parametrize(
    "gather_map",
    [
        [0.0, None],
        pa.array([0.0, None]),
        pl.Series([0.0, None]),
        pd.Series([0.0, None]),
        pd.Series([0.0, None], dtype="Float64"),
        pd.Index([0.0, None]),
        np.ma.array([0.0, 1.0], mask=[False, True]),
    ],
    ids=["list", "arrow", "polars", "pandas", "pandas-nullable", "pandas-index", "masked"],
)
def test_nulls_come_before_the_type_of_a_map(gather_map):
    for call in (lambda: libcudf.gather(TABLE, gather_map), lambda: libcudf.scatter(TABLE, gather_map, TABLE)):
        with pytest.raises(NullIndexError):
            call()


def test_numbers_of_columns_come_first():
    target = pa.table({"a": [5, 6, 7]})
    for call in (
        lambda: libcudf.scatter(WIDE, pa.array([0.0] * 3), target),
        lambda: libcudf.boolean_mask_scatter(WIDE, target, [1]),
    ):
        with pytest.raises(libcudf.invalid_argument, match="has 2 columns, the target has 1"):
            call()
    with pytest.raises(libcudf.invalid_argument, match="copy_if_else: rhs has 2 columns, lhs has 1"):
        libcudf.copy_if_else(target, WIDE, [1])


def test_texts_of_copy_if_else():
    column = pa.array([1])
    with pytest.raises(libcudf.invalid_argument, match="copy_if_else: lhs has 2 scalars, rhs has 1 column"):
        libcudf.copy_if_else([1, 2], column, [True])
    with pytest.raises(libcudf.data_type_error) as error:
        libcudf.copy_if_else([column], [pa.array(["x"])], [True])
    assert "rhs" in str(error.value) and "target" not in str(error.value)


def test_lengths_come_before_types():
    with pytest.raises(InvalidArgument, match="lhs has 3 rows, rhs has 2"):
        libcudf.copy_if_else(pa.array([1, 2, 3]), pa.array(["x", "y"]), [1, 1, 1])


@pytest.mark.parametrize(
    ("source", "mask", "error"),
    [
        (WIDE, [1], InvalidArgument),
        ([1, 2], [1], InvalidArgument),
        (NARROW, [1], InvalidArgument),
        (NARROW, [1, 1, 1], DataTypeError),
        (NARROW, [True, True, True], DataTypeError),
        (LONG, [True, True, True], InvalidArgument),
    ],
)
def test_order_of_checks_of_boolean_mask_scatter(source, mask, error):
    with pytest.raises(error) as raised:
        libcudf.boolean_mask_scatter(source, pa.table({"a": [5, 6, 7]}), mask)
    assert type(raised.value) is error


# ---- segmented gather


@pytest.mark.parametrize("policy", [DONT_CHECK, NULLIFY])
def test_segmented_gather_refuses(policy):
    lists, maps = pa.array([[1], [2]]), pa.array([[0], [0]])
    for source, gather_map, error in [
        (lists, maps[:1], libcudf.logic_error),
        (lists, pa.array([0, 0]), libcudf.logic_error),
        (pa.array([1, 2]), maps, libcudf.logic_error),
        (lists, pa.array([["0"], ["0"]]), libcudf.logic_error),
        (lists, pa.array([[0.0], [0.0]]), libcudf.logic_error),
        (lists, pa.array([[0], None]), NullIndexError),
        (lists, pa.array([[0], [None]]), NullIndexError),
        (lists, pa.array([[9], [None]]), NullIndexError),
    ]:
        with pytest.raises(error):
            libcudf.segmented_gather(source, gather_map, policy)


def test_segmented_gather_out_of_range():
    with pytest.raises(gs.OutOfBoundsError):
        libcudf.segmented_gather(pa.array([[1], [2, 3]]), pa.array([[0], [2]]))
