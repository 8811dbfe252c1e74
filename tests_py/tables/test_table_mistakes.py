"""test_table_mistakes.py: the frequent mistakes in calls on tables: each error says what to write instead."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gatherscatter import table
from gatherscatter.errors import InvalidArgument

TABLE = pa.table({"a": [1, 2, 3]})
FRAME = TABLE.to_pandas()
MASK = np.array([True, False, True])
LABELS = "df.index.get_indexer(labels)"

# call, exception, and words that are in its text
MISTAKES = {
    "order of scatter": (
        lambda: table.scatter(TABLE, TABLE, [0, 1]),
        TypeError,
        "scatter(source, scatter_map, target)",
    ),
    "order of gather": (lambda: table.gather([0, 1], TABLE), TypeError, "table.gather(source, gather_map)"),
    "order of filter": (lambda: table.filter([True], TABLE), TypeError, "table.filter(source, boolean_mask)"),
    "order of a mask scatter": (
        lambda: table.boolean_mask_scatter(TABLE, MASK, TABLE),
        TypeError,
        "table.boolean_mask_scatter(input, target, boolean_mask)",
    ),
    "scalars on both sides": (lambda: table.copy_if_else(1, 0, MASK), TypeError, "one side, beside a table or column"),
    "array in place of rhs": (lambda: table.copy_if_else(TABLE["a"], np.zeros(3), MASK), TypeError, "rhs is of type"),
    "array in place of lhs": (lambda: table.copy_if_else(np.zeros(3), TABLE["a"], MASK), TypeError, "lhs is of type"),
    "scalar of another type": (
        lambda: table.copy_if_else("x", TABLE["a"], MASK),
        TypeError,
        "of type int64, which does not hold 'x'",
    ),
    "two scalars for one column": (
        lambda: table.copy_if_else([1, 2, 3], TABLE["a"], MASK),
        InvalidArgument,
        "lhs has 3 scalars, rhs has 1 column; values of several rows are an array or a column",
    ),
    "labels": (lambda: table.gather(FRAME, ["x", "y"]), TypeError, LABELS),
    "labels of pandas": (lambda: table.gather(FRAME, pd.Series(["x", "y"])), TypeError, LABELS),
    "labels of NumPy": (lambda: table.gather(FRAME, np.array(["x"])), TypeError, "get_indexer(index)"),
    "one label": (lambda: table.gather(FRAME, "x"), TypeError, LABELS),
    "slice": (lambda: table.gather(FRAME, slice(0, 2)), TypeError, "range(start, stop) is a map"),
    "one number": (lambda: table.gather(FRAME, 1), TypeError, "for one row give a list of one number"),
    "None in a column of integers": (lambda: table.scatter([None], [0], FRAME), TypeError, '.astype("Int64") has'),
    "None in a column of unsigned integers": (
        lambda: table.scatter(None, [0], FRAME["a"].astype("uint8")),
        TypeError,
        '.astype("UInt8") has',
    ),
    "None in a column of bool": (lambda: table.scatter(None, [0], FRAME["a"] > 1), TypeError, '.astype("boolean") has'),
    "scalar that does not fit": (
        lambda: table.scatter(np.int64(500), [0], FRAME["a"].astype("i1")),
        TypeError,
        "hold 500",
    ),
    "float in a map": (lambda: table.gather(FRAME, [np.float64(1.5)]), TypeError, "the map holds 1.5,"),
    "table of arrow into pandas": (lambda: table.scatter(TABLE, [0, 1, 2], FRAME), TypeError, "source.to_pandas()"),
    "array of another dtype": (
        lambda: table.scatter(np.zeros(1, "i4"), [0], FRAME["a"]),
        TypeError,
        "pandas.Series(source, dtype='int64')",
    ),
    "path as the target": (lambda: table.scatter(TABLE, [0, 1, 2], "x.parquet"), TypeError, "read_table(path)"),
    "path to filter": (lambda: table.filter("x.parquet", MASK), TypeError, "only table.gather takes rows out of"),
    "pattern": (lambda: table.gather("no/*.parquet", [0]), FileNotFoundError, "glob.glob(pattern)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_says_what_to_write(name):
    call, kind, words = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value) and "np." not in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 360


def test_what_the_errors_name_works():
    assert table.gather(FRAME, range(0, 2))["a"].tolist() == [1, 2]
    assert table.boolean_mask_scatter(0, TABLE["a"], ~MASK).to_pylist() == [1, 0, 3]
    assert table.scatter(None, [0], FRAME["a"].astype("Int64")).isna().tolist() == [True, False, False]
    assert table.gather(FRAME, pd.Index(["x", "y", "z"]).get_indexer(["z", "x"]))["a"].tolist() == [3, 1]


def test_a_frame_of_dask_names_the_lazy_filter():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    lazy = dd.from_pandas(FRAME, npartitions=2)
    with pytest.raises(
        TypeError, match=r"a DataFrame of Dask has partitions.*x\.compute\(\); x\[mask\] filters lazily"
    ):
        table.filter(lazy, MASK)
    with pytest.raises(TypeError, match=r"a DataFrame of Dask has partitions.*x\.compute\(\)$"):
        table.copy_if_else(lazy, lazy, MASK)
