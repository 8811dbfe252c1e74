"""test_table_arguments.py: what the table functions reject or accept in place of tables, and the texts of errors."""

import datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import _core, table
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, NullIndexError

DATA = {"n": [4, None, 6, 7], "s": ["a", "b", None, "dddddddddddddddddddd"], "l": [[1], [], None, [2, 3]]}
ARROW = pa.table(DATA)


class Producer:
    """A table of an unknown library."""

    def __init__(self, data):
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


def listed(column):
    if isinstance(column, _core.ArrowTable):
        column = pa.chunked_array(column)
    return column.to_list() if isinstance(column, pl.Series) else column.to_pylist()


@pytest.mark.parametrize("source", [[1, 2], {"a": [1]}, np.arange(3), (1,), 5, b"abc", None, range(3), object()])
def test_no_tables(source):
    with pytest.raises(
        TypeError, match=r"table.gather: source is of type .*expected a table or column of pyarrow"
    ) as e:
        table.gather(source, [0])
    assert ("gatherscatter.gather" in str(e.value)) == isinstance(source, (list, tuple, np.ndarray))
    for call in (
        lambda: table.filter(source, [True]),
        lambda: table.scatter([1], [0], source),
        lambda: table.boolean_mask_scatter([1], source, [True]),
        lambda: table.segmented_gather(source, [[0]]),
    ):
        with pytest.raises(TypeError):
            call()
    for lhs, rhs in ((source, ARROW), (ARROW, source)):  # either side may be scalars, of which there are not three
        with pytest.raises((TypeError, InvalidArgument)):
            table.copy_if_else(lhs, rhs, [True])


COLUMNS = {
    "pyarrow": lambda name: pa.nulls(3, name),
    "chunked": lambda name: pa.chunked_array([pa.nulls(3, name)]),
    "producer": lambda name: Producer(pa.chunked_array([pa.nulls(3, name)])),
    "polars": lambda name: pl.Series(pa.nulls(3, name)),
}


@pytest.mark.parametrize("library", COLUMNS)
def test_arrays_of_numpy_are_new_values_of_a_column(library):
    make = COLUMNS[library]
    for name in ("int8", "uint64", "int64", "float32", "float64"):
        for values in (np.array([5, 7]), np.array([5.0, 7.0]), np.array([5, 7], "u1"), np.array([7, 0, 5, 0])[2::-2]):
            assert listed(table.scatter(values, [2, 0], make(name))) == [7, None, 5]
            assert listed(table.boolean_mask_scatter(values, make(name), [True, False, True])) == [5, None, 7]
    assert listed(table.scatter(np.array(["a"]), [1], make("string"))) == [None, "a", None]
    assert listed(table.scatter(np.array([True]), [1], make("bool"))) == [None, True, None]
    nan = listed(table.scatter(np.array([np.nan, 1.5]), [0, 1], make("float32")))
    assert nan[0] != nan[0]
    assert nan[1:] == [1.5, None]
    lowest, highest = np.array([-(2.0**63)]), np.array([2.0**64 - 2048])  # the limits that are floats
    assert listed(table.scatter(lowest, [0], make("int64")))[0] == -(2**63)
    assert listed(table.scatter(highest, [0], make("uint64")))[0] == 2**64 - 2048
    for values, name in (
        (np.array([1.5]), "int64"),
        (np.array([300]), "int8"),
        (np.array([-1]), "uint64"),
        (np.array([2**53 + 1]), "float64"),
        (np.array([0.1]), "float32"),
        (np.array([1e300]), "float32"),
        (np.array([2.0**63]), "int64"),
        (np.array([2.0**63], "f4"), "int64"),
        (np.array([2.0**64]), "uint64"),
        (np.array([np.inf]), "uint64"),
        (np.array([True]), "int64"),
        (np.array([1]), "bool"),
        (np.array([1]), "string"),
        (np.array(["1"]), "int64"),
        (np.array([1]), "timestamp[s]"),
    ):
        with pytest.raises(DataTypeError, match=r"table.scatter: source is an array of .* without a change"):
            table.scatter(values, [0], make(name))


def test_masks_in_another_place_are_answered_with_the_order():
    column, mask = pa.array([1, 2]), pa.array([True, False])
    with pytest.raises(TypeError, match=r"the order is table.copy_if_else\(lhs, rhs, boolean_mask\)"):
        table.copy_if_else(mask, column, 0)
    with pytest.raises(TypeError, match=r"the order is table.boolean_mask_scatter\(input, target, boolean_mask\)"):
        table.boolean_mask_scatter(column, mask, 0)


@pytest.mark.parametrize("make", [pa.array, pl.Series, pd.Series])
def test_what_looks_like_a_time_is_answered_with_the_object_that_is_one(make):
    moments = make([datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1)])
    for value, step in (
        ("2020-05-05", r"give an object of the module datetime$"),
        (datetime.date(2020, 5, 5), r"; datetime\.datetime\(2020, 5, 5, 0, 0\) is its midnight$"),
    ):
        with pytest.raises(DataTypeError, match=step):
            table.gather(moments, [0, None], "nullify", fill_value=value)
        with pytest.raises(DataTypeError, match=step):
            table.scatter(value, [0], moments)
    got = table.gather(moments, [0, None], "nullify", fill_value=datetime.datetime(2020, 5, 5))
    assert [each.day for each in (got if make is pd.Series else listed(got))] == [31, 5]
    with pytest.raises(DataTypeError, match=r"without a change$"):
        table.scatter("2020-05-05", [0], make([1, 2]))


def test_arrays_of_numpy_are_new_values_of_a_series_of_their_dtype():
    for values in (
        np.array([5, 7]),
        np.array([1.5, np.nan]),
        np.array(["2020", "2021"], "M8[s]"),
        np.array([True] * 2),
    ):
        target = pd.Series(values[:1].repeat(3), index=list("abc"), name="s")
        got = table.scatter(values, [2, 0], target)
        pd.testing.assert_series_equal(got, pd.Series(values[[1, 0, 0]], index=list("abc"), name="s"))
    for values, target in ((np.array([5.0]), pd.Series([1])), (np.array([5]), pd.Series([1], dtype="Int64"))):
        with pytest.raises(DataTypeError, match=r"source is an array of .*: convert it to a Series of that dtype"):
            table.scatter(values, [0], target)


def test_arrays_are_no_tables():
    for target in (pa.table({"a": [1]}), pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]})):
        with pytest.raises(TypeError, match="source is an array, the target is a table: give a table, or scalars"):
            table.scatter(np.arange(1), [0], target)
    for wrong in (np.zeros((1, 1), int), np.array([{}], dtype=object)):
        for target in (pa.array([1]), pl.Series([1]), pd.Series([1])):
            with pytest.raises(DataTypeError, match=r"source is an array of"):
                table.scatter(wrong, [0], target)


@pytest.mark.parametrize("arguments", [([1], [0]), ([1],), ([1], None, pa.array([1]))])
def test_scatter_needs_a_map_and_a_target(arguments):
    with pytest.raises(TypeError, match="scatter_map"):
        table.scatter(*arguments)
    with pytest.raises(TypeError, match="not both"):
        table.scatter([1], [0], pa.array([1]), indices=[0])


@pytest.mark.parametrize("wrong", [None, True, "drop", "RAISE", ["raise"], 0])
@pytest.mark.parametrize("source", [ARROW, pl.LazyFrame(DATA)], ids=["table", "lazy"])
def test_unknown_options_name_the_allowed_ones(source, wrong):
    """The error is raised at once, also for a LazyFrame."""
    expected = '"raise", "nullify" or "unchecked"'
    for call, parameter, words in (
        (lambda: table.gather(source, [0], wrong), "bounds", expected),
        (lambda: table.segmented_gather(pa.array([[1]]), [[0]], wrong), "bounds", expected),
        (lambda: table.gather(source, [0], negative=wrong), "negative", '"from_end" or "out_of_bounds"'),
        (lambda: table.scatter([1], [0], source, negative=wrong), "negative", '"from_end" or "out_of_bounds"'),
        (lambda: table.gather(source, [0], validate=wrong), "validate", '"basic" or "full"'),
    ):
        if parameter == "negative" and wrong is None:
            continue  # the default, whose meaning depends on the bounds
        with pytest.raises(ValueError, match="table") as e:
            call()
        assert type(e.value) is ValueError
        step = (
            '; tables have nulls: bounds="nullify" gives a row of nulls'
            if words == expected and wrong == "drop"
            else ""
        )
        assert str(e.value).endswith(f": {parameter} is {wrong!r}, expected {words}{step}")


def test_maps_and_masks_of_lazy_frames_are_read_at_once():
    lazy = pl.LazyFrame(DATA)
    for call in (
        lambda: table.gather(lazy, 5),
        lambda: table.gather(lazy, [0.5]),
        lambda: table.scatter([1, "x", None], ["a"], lazy),
    ):
        with pytest.raises(TypeError, match="the map"):
            call()
    for call in (
        lambda: table.filter(lazy, [1]),
        lambda: table.boolean_mask_scatter([1, "x", None], lazy, [1]),
        lambda: table.copy_if_else(lazy, lazy, [1]),
    ):
        with pytest.raises(DataTypeError, match="the mask holds 1, expected bools"):
            call()


def test_the_module_shows_its_functions():
    assert dir(table) == sorted(table.__all__)


def test_names_of_policies():
    with pytest.raises(ValueError, match=r"table.scatter: bounds is 'nullify'"):
        table.scatter([1], [0], pa.array([1]), bounds="nullify")
    with pytest.raises(ValueError, match=r"table.gather: validate is 'none'"):
        table.gather(ARROW, [0], validate="none")


def test_sides_are_called_as_the_parameters():
    one, two = pa.table({"a": [1]}), pa.table({"a": [1], "b": [2]})
    with pytest.raises(InvalidArgument, match="lhs has 1 column, rhs has 2"):
        table.copy_if_else(one, two, [True])
    with pytest.raises(InvalidArgument, match="column 0 is called 'a' in lhs, 'c' in rhs"):
        table.copy_if_else(one, pa.table({"c": [1]}), [True])
    with pytest.raises(InvalidArgument, match="column 0 is called 'a' in the target, 'c' in the input"):
        table.boolean_mask_scatter(pa.table({"c": [1]}), one, [True])
    for wrap in (lambda t: t, pl.DataFrame, lambda t: t.to_pandas()):
        with pytest.raises(DataTypeError) as e:
            table.copy_if_else(wrap(one), wrap(pa.table({"a": ["x"]})), [True])
        assert "lhs" in str(e.value)
        assert "target" not in str(e.value)


def test_columns_must_match():
    target = pa.table({"a": [1], "b": [2]})
    with pytest.raises(InvalidArgument, match=r"column 1 is called 'b' in the target, 'c' in the source"):
        table.scatter(pa.table({"a": [1], "c": [2]}), [0], target)
    with pytest.raises(InvalidArgument, match=r"2 columns.* 1"):
        table.scatter(pa.table({"a": [1]}), [0], target)
    with pytest.raises(InvalidArgument, match="the target is a table, the source is a column"):
        table.scatter(pa.array([1]), [0], pa.table({"a": [1]}))
    with pytest.raises(DataTypeError):
        table.scatter(pa.table({"a": [1], "b": ["x"]}), [0], target)
    assert table.scatter(pl.Series("other", [5]), [0], pl.Series("mine", [1])).name == "mine"


def test_one_library_into_another():
    target = pa.table({"i": [1, 2]})
    for source in (
        pl.DataFrame({"i": [9]}),
        pd.DataFrame({"i": [9]}),
        duckdb.sql("SELECT 9::BIGINT AS i"),
        Producer(target[:1]),
    ):
        assert table.scatter(source, [1], target)["i"].to_pylist()[0] == 1
    assert table.scatter(pd.DataFrame({"i": [9]}), [1], target)["i"].to_pylist() == [1, 9]
    assert table.scatter(target, [1, 0], pl.DataFrame({"i": [7, 8]})).rows() == [(2,), (1,)]
    assert table.scatter(pl.DataFrame({"s": ["x"]}), [0], pa.table({"s": ["y"]}))["s"].to_pylist() == ["x"]
    with pytest.raises(DataTypeError, match=r"(?i)string_view.*polars keeps text and bytes as views"):
        table.scatter(pl.DataFrame({"s": [["x"]]}), [0], pa.table({"s": [["y"]]}))
    labelled = pd.DataFrame({"i": [9, 5]}, index=pd.Index(["x", "y"], name="key"))
    assert table.scatter(labelled, [1, 0], target)["i"].to_pylist() == [5, 9]
    assert table.scatter(labelled["i"][:1], [1], target["i"].combine_chunks()).to_pylist() == [1, 9]
    assert table.scatter(labelled[:1], [0], pl.DataFrame({"i": [7, 8]})).rows() == [(9,), (8,)]
    assert labelled.index.tolist() == ["x", "y"]
    with pytest.raises(TypeError, match="the target is of pandas, the source is a pyarrow"):
        table.scatter(target, [0], pd.DataFrame({"i": [1]}))


def test_errors_carry_their_position():
    with pytest.raises(gs.OutOfBoundsError) as e:
        table.gather(ARROW, [0, 1, 4, 9])
    assert (e.value.op, e.value.index, e.value.position, e.value.axis, e.value.size) == ("table.gather", 4, (2,), 0, 4)
    with pytest.raises(NullIndexError):
        table.gather(ARROW, [0, None])
    with pytest.raises(IndexTypeError):
        table.gather(ARROW, np.empty(0))
    with pytest.raises(InvalidArgument):
        table.filter(ARROW, [True])
    with pytest.raises(InvalidArgument):
        table.copy_if_else(ARROW, ARROW.slice(1), [True] * 4)
    with pytest.raises(InvalidArgument):
        table.scatter(ARROW.slice(0, 1), [0, 1], ARROW)


def test_missing_and_unknown_keys_of_a_dict_are_named():
    wide = pa.table({f"c{at}": [1] for at in range(30)})
    row = {f"c{at}": 1 for at in range(29)}
    for wrong, text in (
        (row, r"source lacks \['c29'\]; partial=True"),
        (row | {"c29": 1, "d": 2}, r"source has \['d'\], which the target does not have$"),
        (row | {"d": 2}, r"source lacks \['c29'\] and has \['d'\], which the target does not have$"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            table.scatter(wrong, [0], wide)


def test_a_list_as_one_value():
    lists = pa.array([[1], [2]])
    with pytest.raises(
        InvalidArgument,
        match=r"has 2 scalars, the target has 1 column; values .* one value that is itself a list as \[\[",
    ):
        table.scatter([1, 2], [0], lists)
    assert table.scatter([[1, 2]], [0], lists).to_pylist() == [[1, 2], [2]]


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame])
def test_values_of_several_rows_are_a_table(make):
    target = make({"v": [1.0, 2.0, 3.0], "n": [1, 2, 3]})
    for source in (
        {"v": [8.0, 7.0], "n": [1, 2]},
        {"v": np.array([8.0, 7.0]), "n": 1},
        {"v": pd.Series([8.0, 7.0]), "n": 1},
        [[8.0, 7.0], [1, 2]],
        [{"v": 8.0, "n": 1}],
        [(8.0, 1), (7.0, 2), (6.0, 3)],
    ):
        with pytest.raises((DataTypeError, InvalidArgument), match="values of several rows are a table"):
            table.scatter(source, [1, 2], target)
        with pytest.raises((DataTypeError, InvalidArgument), match="values of several rows are a table"):
            table.boolean_mask_scatter(source, target, [False, True, True])
    with pytest.raises(InvalidArgument, match="values of several rows are an array or a column"):
        table.scatter([8.0, 7.0], [1, 2], target["v"])


def test_arrays_calls_point_here():
    relation = duckdb.sql("SELECT 1 AS i")
    for source in (relation, pl.Series([1]), pl.DataFrame({"i": [1]}), pa.table({"i": [1]}), Producer(ARROW)):
        for call in (
            lambda source=source: gs.gather(source, [0], axis=0),
            lambda source=source: gs.scatter(source, 0, [0], [5]),
            lambda source=source: gs.scatter(source, 0, [0], 5),
            lambda source=source: gs.take(source, [0]),
        ):
            with pytest.raises(
                TypeError, match=r"input is of type .*; tables and their columns belong to gatherscatter.table"
            ):
                call()
