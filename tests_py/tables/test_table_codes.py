"""test_table_codes.py: Categorical columns of polars, which take part as their codes, and Enum columns beside them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from gatherscatter import table
from gatherscatter.errors import DataTypeError

NAMED = pl.Categorical(pl.Categories("flights", "tests", pl.UInt8))
DTYPES = {"categorical": pl.Categorical(), "named": NAMED, "enum": pl.Enum(["w", "z", "y", "x"])}


def column(dtype: pl.DataType, values: list[str | None], name: str = "c") -> pl.Series:
    return pl.Series(name, values, dtype=dtype)


def check(result: pl.Series, dtype: pl.DataType, values: list[str | None]) -> None:
    assert result.dtype == dtype
    assert result.to_list() == values
    assert result.cast(pl.String).to_list() == values


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_operators(dtype):
    a, b = column(dtype, ["x", "y", None, "x"]), column(dtype, ["z", None, "w", "y"])
    mask = pl.Series([True, None, False, True])
    check(table.gather(a, [3, 2, -3]), dtype, ["x", None, "y"])
    check(table.gather(a, [0, None, 9], "nullify"), dtype, ["x", None, None])
    check(table.gather(a, []), dtype, [])
    check(table.gather(a[:0], [4], "nullify"), dtype, [None])
    check(table.filter(a, mask), dtype, ["x", "x"])
    check(table.scatter(b[:2], [3, 0], a), dtype, [None, "y", None, "z"])
    check(table.boolean_mask_scatter(b, a, mask), dtype, ["z", "y", None, None])
    check(table.copy_if_else(a, b, mask), dtype, ["x", None, "w", "x"])
    check(table.scatter("z", [1], a), dtype, ["x", "z", None, "x"])
    check(table.scatter(None, [1], a), dtype, ["x", None, None, "x"])
    check(table.gather(pl.concat([a, b], rechunk=False), [7, 0, 4]), dtype, ["y", "x", "z"])


def test_frames():
    """Other columns of the frame, the order and the names of all stay as they are."""
    frame = pl.DataFrame(
        [
            pl.Series("n", [1, 2, 3]),
            *(column(dtype, ["x", None, "y"], name) for name, dtype in DTYPES.items()),
            pl.Series("text", ["a", "b", None]),
            pl.Series("nested", [["x"], None, ["y", "x"]], dtype=pl.List(pl.Categorical)),
        ]
    )
    results = [
        (table.gather(frame, [2, 0]), [2, 0]),
        (frame.lazy().pipe(table.gather, [2, 0]).collect(), [2, 0]),
        (table.filter(frame, [True, False, True]), [0, 2]),
        (table.scatter(frame[:0:-1], [2, 1], frame), [0, 1, 2]),
        (table.scatter(frame[1:], [2, 0], frame), [2, 1, 1]),
        (table.copy_if_else(frame, frame[::-1], [True, True, False]), [0, 1, 0]),
    ]
    for result, rows in results:
        assert result.schema == frame.schema
        assert result.equals(frame[rows])


def test_new_categories():
    """A column takes values that it had not, as Categorical columns of polars do; an Enum has a fixed set."""
    target = column(pl.Categorical(), ["x", "y"])
    check(table.scatter(column(pl.Categorical(), ["new"]), [1], target), pl.Categorical(), ["x", "new"])
    check(table.scatter("newer", [0], target), pl.Categorical(), ["newer", "y"])
    with pytest.raises(DataTypeError):
        table.scatter("new", [0], column(DTYPES["enum"], ["x"]))


def test_dtypes_that_differ():
    columns = [column(dtype, ["x"]) for dtype in DTYPES.values()]
    columns.append(column(pl.Enum(["x"]), ["x"]))
    columns.append(columns[0].to_physical())  # the type of the codes
    for target in columns:
        for source in columns:
            if source is not target:
                with pytest.raises(DataTypeError):
                    table.scatter(source, [0], target)


def test_partners_of_other_libraries():
    """A partner of Arrow has dictionaries of its own, so that the codes of polars mean nothing there."""
    dictionary = pa.dictionary(pa.uint32(), pa.string_view())
    source = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.uint32()), pa.array(["p", "q"], pa.string_view()))
    assert source.type == dictionary
    target = column(pl.Categorical(), ["x", "y", "z"])
    check(table.scatter(source, [0, 2], target), pl.Categorical(), ["q", "y", "p"])
    result = table.scatter(target[:1], [1], source)
    assert result.type == dictionary
    assert result.to_pylist() == ["q", "x"]


def test_many_rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, 100_000)
    words = np.array([f"word {n}" for n in range(300)])
    target = column(pl.Categorical(), words[codes].tolist())
    rows = rng.integers(0, len(codes), 100_000)
    check(table.gather(target, rows), pl.Categorical(), words[codes[rows]].tolist())
    check(table.gather(target, rows[:3]), pl.Categorical(), words[codes[rows[:3]]].tolist())
