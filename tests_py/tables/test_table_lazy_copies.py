"""test_table_lazy_copies.py: what a caller writes to arguments after a lazy call does not change its result."""

import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import table
from gatherscatter.compat import libcudf
from gatherscatter.errors import DataTypeError

nw = pytest.importorskip("narwhals", reason="narwhals is not installed")

ROWS = 6


def lazy_frame():
    return pl.LazyFrame({"a": list(range(ROWS)), "t": [[n] for n in range(ROWS)]})


MAPS = {
    "NumPy": np.array,
    "strided": lambda rows: np.array([rows, rows]).T[:, 0],
    "masked": lambda rows: np.ma.array(rows, mask=[False] * len(rows)),
    "list": list,
    "pandas": pd.Series,
    "nullable": lambda rows: pd.Series(rows, dtype="Int64"),
    "polars": pl.Series,
    "narwhals": lambda rows: nw.from_native(pl.Series(rows), series_only=True),
}
MASKS = {name: MAPS[name] for name in ("NumPy", "strided", "masked", "list", "pandas", "polars", "narwhals")}


def flipped(given):
    """Write another valid value to every item of a map or a mask in place."""
    given = given.to_native() if isinstance(given, nw.Series) else given
    for at in range(len(given)):
        value = given[at]
        given[at] = (not value) if isinstance(value, (bool, np.bool_)) else ROWS - 1 - value


SOURCES = {
    "dict": lambda: {"a": 50, "t": [7, 8]},
    "list": lambda: [50, [7, 8]],
    "arrays": lambda: {"a": np.array(50), "t": np.array([7, 8])},
    "objects": lambda: [50, np.array([7, 8], object)],
    "polars": lambda: pl.DataFrame({"a": [50, 51, 52, 53, 54, 55], "t": [[7]] * ROWS}),
}


def written(source):
    if isinstance(source, pl.DataFrame):
        source[0, "a"] = -1
        source.replace_column(0, pl.Series("a", [-1] * ROWS))
        return
    nested = source["t"] if isinstance(source, dict) else source[1]
    nested[0] = -1
    if isinstance(source, dict):
        if isinstance(source["a"], np.ndarray):
            source["a"][()] = -1
        source["a"] = -1
    else:
        source[0] = -1


def calls(rng, wrapped):
    """A lazy call, and the arguments that are changed after it, each with the function that changes it."""
    rows = [rng.randrange(ROWS) for _ in range(ROWS)]
    rows_map = MAPS[rng.choice(list(MAPS))](rows)
    mask = MASKS[rng.choice(list(MASKS))]([rng.random() < 0.5 for _ in range(ROWS)])
    source = SOURCES[rng.choice(list(SOURCES))]()
    other = pl.DataFrame({"a": [n + 90 for n in range(ROWS)], "t": [[9]] * ROWS})
    own = [
        (lambda lf: table.gather(lf, rows_map), [(rows_map, flipped)]),
        (lambda lf: table.gather(lf, rows_map, "nullify", columns=["a"]), [(rows_map, flipped)]),
        (lambda lf: table.scatter(source, rows_map, lf), [(rows_map, flipped), (source, written)]),
        (lambda lf: table.filter(lf, mask), [(mask, flipped)]),
        (lambda lf: table.boolean_mask_scatter(source, lf, mask), [(mask, flipped), (source, written)]),
        (lambda lf: table.copy_if_else(lf, other, mask), [(mask, flipped), (other, written)]),
        (lambda lf: table.copy_if_else(lf, source, mask), [(mask, flipped), (source, written)]),
    ]
    as_cudf = [
        (lambda lf: libcudf.gather(lf, rows_map), [(rows_map, flipped)]),
        (lambda lf: libcudf.scatter(other, rows_map, lf), [(rows_map, flipped), (other, written)]),
        (lambda lf: libcudf.apply_boolean_mask(lf, mask), [(mask, flipped)]),
        (lambda lf: libcudf.apply_deletion_mask(lf, mask), [(mask, flipped)]),
        (lambda lf: libcudf.boolean_mask_scatter(other, lf, mask), [(mask, flipped), (other, written)]),
        (lambda lf: libcudf.copy_if_else(lf, other, mask), [(mask, flipped), (other, written)]),
    ]
    return rng.choice(own if wrapped else own + as_cudf)


@pytest.mark.parametrize("wrapped", [False, True])
def test_later_writes_change_nothing(wrapped):
    nw = pytest.importorskip("narwhals") if wrapped else None
    rng = random.Random(40)
    for _ in range(300):
        call, changes = calls(rng, wrapped)
        want = call(lazy_frame()).collect()
        later = call(nw.from_native(lazy_frame()) if wrapped else lazy_frame())
        for given, change in changes:
            change(given)
        found = later.collect()
        found = found.to_native() if wrapped else found
        assert found.equals(want)


def test_dask_frames_keep_copies_of_nested_scalars():
    dd = pytest.importorskip("dask.dataframe")
    kind = pd.ArrowDtype(pa.list_(pa.int64()))
    frame = pd.DataFrame({"a": [1, 2, 3], "t": pd.array([[1], [2], [3]], dtype=kind)})
    lazy = dd.from_pandas(frame, npartitions=2)
    mask = np.array([False, True, False])
    rows = np.array([1])
    for call in (
        lambda source: table.scatter(source, rows, lazy),
        lambda source: table.boolean_mask_scatter(source, lazy, mask),
    ):
        source = {"a": 9, "t": [7, 8]}
        later = call(source)
        source["a"], source["t"][0], mask[:], rows[0] = 5, 5, True, 0
        assert [list(each) for each in later.compute()["t"]] == [[1], [7, 8], [3]]
        mask[:], rows[0] = [False, True, False], 1


def test_plans_keep_copies_of_their_keywords():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    columns, value = ["a"], np.array(7)
    fills = {"a": value}
    plan = gs.plan(table.gather, frame, [0, 9], "nullify", columns=columns, fill_value=fills)
    columns[0], value[()] = "b", 8
    fills["a"] = fills["c"] = 9
    assert plan(frame, [0, 9])["a"].tolist() == [1, 7]
    plan.to_dict()["keywords"]["fill_value"]["a"][()] = 10
    assert plan(frame, [0, 9])["a"].tolist() == [1, 7]


def test_a_reader_is_read_at_the_call():
    source = pl.DataFrame({"a": [50], "t": [[5]]}).to_arrow()
    later = table.scatter(source.to_reader(), [1], lazy_frame())
    for _ in range(2):
        assert later.collect()["a"].to_list() == [0, 50, 2, 3, 4, 5]


def test_lists_that_hold_themselves_are_refused_when_the_query_runs():
    rows = [50]
    rows.append(rows)
    later = table.scatter(rows, [1], lazy_frame())
    with pytest.raises(DataTypeError, match="column 't'"):
        later.collect()


def test_no_columns_of_a_lazy_frame():
    for lazy in (lazy_frame(), lazy_frame().filter(pl.col("a") < 3)):
        for rows in ([], [0, 2, 2]):
            result = table.gather(lazy, rows, columns=[])
            assert result.collect_schema() == {} and result.collect().shape == (len(rows), 0)
        assert table.gather(lazy, [0, 99], "nullify", columns=[]).collect().shape == (2, 0)
        with pytest.raises(IndexError, match="99"):
            table.gather(lazy, [99], columns=[]).collect()
    assert table.gather(pl.LazyFrame(), [], columns=[]).collect().shape == (0, 0)
