"""test_table_maps.py: row numbers and masks of every library: types, nulls, and the errors for wrong ones."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import _core, table
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, LogicError, NullIndexError

torch = pytest.importorskip("torch", reason="torch is not installed")
jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")

SOURCE = pa.chunked_array([[10, 11], [12, 13]])
FRAME = pd.DataFrame({"v": SOURCE.to_pylist()})
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]

MAPS = {
    "list": list,
    "tuple": tuple,
    "numpy integers": lambda rows: [np.int16(row) for row in rows],
    **{f"numpy {name}": lambda rows, name=name: np.array(rows, name) for name in INTEGERS},
    "numpy strided": lambda rows: np.repeat(np.array(rows, int), 2)[::2],
    "numpy big endian": lambda rows: np.array(rows, ">i4"),
    "numpy subclass": lambda rows: np.array(rows, int).view(type("Sub", (np.ndarray,), {})),
    "masked array": lambda rows: np.ma.MaskedArray(rows, dtype=int),
    "torch": lambda rows: torch.tensor(rows, dtype=torch.int64),
    "jax": lambda rows: jnp.array(rows, "int32"),
    "polars": lambda rows: pl.Series("rows", rows, dtype=pl.UInt32),
    "polars chunks": lambda rows: pl.concat(
        [pl.Series(part, dtype=pl.Int8) for part in (rows[:1], rows[1:])], rechunk=False
    ),
    **{f"pyarrow {name}": lambda rows, name=name: pa.array(rows, name) for name in INTEGERS},
    "pyarrow slice": lambda rows: pa.array([9, 9, 9, *rows])[3:],
    "pyarrow chunks": lambda rows: pa.chunked_array([rows[:2], [], rows[2:]], pa.int64()),
    "own": lambda rows: _core.ArrowTable(pa.array(rows, pa.int64())),
    "pandas": lambda rows: pd.Series(rows, index=[7] * len(rows), dtype=int),
    "pandas index": lambda rows: pd.Index(rows, dtype=int),
    "pandas Int64": lambda rows: pd.Series(rows, dtype="Int64"),
    "pandas UInt8": lambda rows: pd.Series(rows, dtype="UInt8"),
    "pandas arrow": lambda rows: pd.Series(rows, dtype="int32[pyarrow]"),
    "pandas nullable index": lambda rows: pd.Index(rows, dtype="Int64"),
    "pandas array": lambda rows: pd.array(rows, "Int32"),
    "pandas arrow array": lambda rows: pd.array(rows, "uint8[pyarrow]"),
    "pandas numpy array": lambda rows: pd.Series(rows, dtype=int).array,
    "torch integers": lambda rows: [torch.tensor(row) for row in rows],
}
WITH_NULLS = {
    "list": list,
    "tuple": tuple,
    "masked array": lambda rows: np.ma.MaskedArray([99 if r is None else r for r in rows], [r is None for r in rows]),
    "polars": lambda rows: pl.Series(rows, dtype=pl.Int8),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    "pandas Int64": lambda rows: pd.Series(rows, dtype="Int64"),
    "pandas UInt16": lambda rows: pd.Series(rows, dtype="UInt16"),
    "pandas arrow": lambda rows: pd.Series(rows, dtype="int64[pyarrow]"),
    "pandas index": lambda rows: pd.Index(rows, dtype="Int64"),
    "list with NA": lambda rows: [pd.NA if row is None else row for row in rows],
    "pandas array": lambda rows: pd.array(rows, "Int64"),
    "pandas arrow array": lambda rows: pd.array(rows, "int8[pyarrow]"),
}


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("rows", [[3, 0, 0, 2], []])
def test_maps(kind, rows):
    given = MAPS[kind](rows)
    assert table.gather(SOURCE, given).to_pylist() == [10 + row for row in rows]
    assert table.gather(FRAME, given)["v"].tolist() == [10 + row for row in rows]
    unsigned = [row for row in rows if rows.index(row) == len(rows) - 1 - rows[::-1].index(row)]
    given = MAPS[kind](unsigned)
    want = [5 if row in unsigned else 10 + row for row in range(4)]
    assert table.scatter([5], given, SOURCE).to_pylist() == want
    assert table.scatter([5], given, FRAME)["v"].tolist() == want


def test_a_range():
    assert table.gather(SOURCE, range(3, -1, -2)).to_pylist() == [13, 11]
    assert table.gather(SOURCE, range(0)).to_pylist() == []


@pytest.mark.parametrize("kind", WITH_NULLS)
def test_nulls_in_maps(kind):
    given = WITH_NULLS[kind]([3, None, 0])
    assert table.gather(SOURCE, given, "nullify").to_pylist() == [13, None, 10]
    column = table.gather(FRAME, given, "nullify")["v"]
    pd.testing.assert_series_equal(
        column, pd.Series([13, np.nan, 10], index=pd.Index([3, None, 0], dtype="Int64"), name="v")
    )
    for call in (
        lambda: table.gather(SOURCE, given),
        lambda: table.gather(FRAME, given),
        lambda: table.scatter(SOURCE[:3], given, SOURCE),
        lambda: table.scatter([1], given, SOURCE),
    ):
        with pytest.raises(NullIndexError):
            call()


@pytest.mark.parametrize("kind", WITH_NULLS)
def test_maps_of_nulls_alone(kind):
    given = WITH_NULLS[kind]([None, None])
    assert table.gather(SOURCE, given, "nullify").to_pylist() == [None, None]


@pytest.mark.parametrize(
    "make",
    [
        pa.nulls,
        lambda n: pa.chunked_array([pa.nulls(1)] * n, pa.null()),
        lambda n: pl.Series([None] * n),
        lambda n: pd.Series([None] * n, dtype=pd.ArrowDtype(pa.null())),
    ],
    ids=["pyarrow", "pyarrow chunks", "polars", "pandas arrow"],
)
def test_maps_and_masks_of_the_null_type(make):
    assert table.gather(SOURCE, make(2), "nullify").to_pylist() == [None, None]
    assert table.gather(SOURCE, make(0)).to_pylist() == []
    assert table.scatter(SOURCE[:0], make(0), SOURCE).to_pylist() == [10, 11, 12, 13]
    assert table.filter(SOURCE, make(4)).to_pylist() == []
    for call in (lambda: table.gather(SOURCE, make(2)), lambda: table.scatter(SOURCE[:2], make(2), SOURCE)):
        with pytest.raises(NullIndexError):
            call()


def test_relations_of_one_column():
    rows = duckdb.sql("select unnest([3, null, 0]) as r")
    assert table.gather(SOURCE, rows, "nullify").to_pylist() == [13, None, 10]
    assert table.gather(SOURCE, duckdb.sql("select 2::utinyint as r")).to_pylist() == [12]
    assert table.filter(SOURCE, duckdb.sql("select unnest([true, null, false, true])")).to_pylist() == [10, 13]
    assert table.filter(duckdb.sql("select 5 as n"), duckdb.sql("select true")).fetchall() == [(5,)]
    with pytest.raises(NullIndexError):
        table.gather(SOURCE, rows)
    with pytest.raises(IndexTypeError):
        table.gather(SOURCE, duckdb.sql("select 0.5::double"))
    with pytest.raises(InvalidArgument, match="the map is a relation of 2 columns, expected one"):
        table.gather(SOURCE, duckdb.sql("select 1, 2"))
    with pytest.raises(InvalidArgument, match="the mask is a relation of 2 columns, expected one"):
        table.filter(SOURCE, duckdb.sql("select true, true"))


def test_texts_say_what_came():
    for given, text in (
        ([0, np.nan], "the map holds nan, expected integers; None is null"),
        ([0, "1"], "the map holds '1', expected integers; None is null"),
        (np.array([0, None], dtype=object), "the map is of dtype object, expected integers; in a list None is null"),
        (pd.Series([0, None], dtype=object), "the map is of dtype object, expected integers; in a list None is null"),
    ):
        with pytest.raises(IndexTypeError, match=text):
            table.gather(SOURCE, given)
    bools = [True, False, True, False]
    for wrap in (list, np.array, pd.Series, pl.Series, pa.array, torch.tensor, lambda b: pd.array(b, "boolean")):
        with pytest.raises(IndexTypeError, match="masks are for filter and boolean_mask_scatter"):
            table.gather(SOURCE, wrap(bools))
    with pytest.raises(DataTypeError, match="the mask is of dtype object, expected bools; in a list None is null"):
        table.filter(SOURCE, np.array([True, None, False, True], dtype=object))
    with pytest.raises(DataTypeError, match="the mask holds nan, expected bools; None is null"):
        table.filter(SOURCE, [True, np.nan, False, True])


CASTS = {
    "numpy": (np.array, r"index.astype\('int64'\)", r"mask.astype\(bool\)"),
    "pandas": (pd.Series, r'map.astype\("Int64"\)', r"mask.astype\(bool\)"),
    "pandas, nullable": (lambda v: pd.Series(v).convert_dtypes(), None, r"mask.astype\(bool\)"),
    "polars": (pl.Series, r"map.cast\(pl.Int64\)", r"mask.cast\(pl.Boolean\)"),
    "pyarrow": (pa.array, r"map.cast\('int64'\)", r"mask.cast\('bool'\)"),
    "torch": (torch.tensor, r"map.long\(\)", r"mask.bool\(\)"),
    "jax": (jnp.array, r"map.astype\(int\)", r"mask.astype\(bool\)"),
}


@pytest.mark.parametrize("library", CASTS)
def test_numbers_of_another_dtype_name_the_cast(library):
    make, to_map, to_mask = CASTS[library]
    if to_map is not None:
        with pytest.raises(IndexTypeError, match=f"{to_map} (has|casts)"):
            table.gather(SOURCE, make([0.5, 1.0]))
    with pytest.raises(DataTypeError, match=f"mask is of dtype .*, expected bools; {to_mask} casts it"):
        table.filter(SOURCE, make([1, 0, 1, 0]))


def test_a_table_is_neither_a_map_nor_a_mask():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    for wrap in (pd.DataFrame, pl.DataFrame, pa.table, lambda columns: narwhals.from_native(pd.DataFrame(columns))):
        with pytest.raises(IndexTypeError, match=r"the map is a .*, expected integers; one column of it may be a map"):
            table.gather(SOURCE, wrap({"row": [1, 0]}))
        with pytest.raises(DataTypeError, match=r"the mask is a .*, expected bools; one column of it may be a mask"):
            table.filter(SOURCE, wrap({"keep": [True, False, True, False]}))


def test_a_data_array_is_a_map_and_a_mask():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    rows, keep = (xarray.DataArray(np.array(each), dims="row") for each in ([3, 0], [True, False, False, True]))
    assert table.gather(SOURCE, rows).to_pylist() == [13, 10]
    assert table.filter(FRAME, keep)["v"].tolist() == [10, 13]
    assert table.scatter(SOURCE[:2], rows, SOURCE).to_pylist() == [11, 11, 12, 10]
    with pytest.raises(IndexTypeError, match="astype"):
        table.gather(SOURCE, rows.astype(float))
    pytest.importorskip("dask.array", reason="Dask is not installed")
    with pytest.raises(TypeError, match=r"x\.compute\(\)"):
        table.gather(SOURCE, rows.chunk(1))


def test_negative_rows_are_those_of_signed_types():
    assert table.gather(SOURCE, np.array([-1, -4], np.int8)).to_pylist() == [13, 10]
    assert table.gather(SOURCE, [-1, 5], "nullify", negative="from_end").to_pylist() == [13, None]
    with pytest.raises(gs.OutOfBoundsError):
        table.gather(SOURCE, np.array([255], np.uint8))
    for far in (2**32 + 1, 2**63, 2**64 - 1):
        with pytest.raises(gs.OutOfBoundsError) as e:
            table.gather(SOURCE, np.array([0, far], np.uint64))
        assert (e.value.index, e.value.position) == (far, (1,))
        assert table.gather(SOURCE, np.array([1, far], np.uint64), "nullify").to_pylist() == [11, None]


WRONG_MAPS = {
    "floats": [0.0, 1.0],
    "text": ["a"],
    "bools": [True, False],
    "a bool among integers": [0, True],
    "mixed": [0, 1.5],
    "numpy floats": np.array([0.0]),
    "numpy floats, empty": np.empty(0),
    "numpy bools": np.array([True]),
    "numpy bools, empty": np.empty(0, bool),
    "numpy text": np.array(["a"]),
    "numpy times": np.array([0], "M8[s]"),
    "numpy objects": np.array([0, None], dtype=object),
    "masked floats": np.ma.MaskedArray([0.0], [False]),
    "torch floats": torch.tensor([0.0]),
    "polars floats": pl.Series([0.0]),
    "polars bools, empty": pl.Series([], dtype=pl.Boolean),
    "polars text": pl.Series(["a"]),
    "pyarrow floats": pa.array([0.0]),
    "pyarrow bools, empty": pa.array([], pa.bool_()),
    "pyarrow times": pa.array([0], pa.timestamp("s")),
    "pyarrow decimals": pa.array([0], pa.decimal128(5, 0)),
    "pandas floats": pd.Series([0.0, np.nan]),
    "pandas floats, empty": pd.Series([], dtype=float),
    "pandas objects": pd.Series([0, None], dtype=object),
    "pandas Float64": pd.Series([0.0], dtype="Float64"),
    "pandas boolean": pd.Series([True], dtype="boolean"),
    "pandas arrow floats": pd.Series([0.0], dtype="double[pyarrow]"),
    "pandas text": pd.Series(["a"]),
    "pandas categories": pd.Series([0, 1], dtype="category"),
    "pandas zoned times": pd.Series(pd.to_datetime([0], utc=True)),
}


@pytest.mark.parametrize("name", [*WRONG_MAPS, "jax bools"])
def test_maps_that_are_not_of_integers(name):
    wrong = jnp.array([True]) if name == "jax bools" else WRONG_MAPS[name]  # nothing of JAX runs before a test does
    for call in (
        lambda: table.gather(SOURCE, wrong),
        lambda: table.gather(SOURCE, wrong, "nullify"),
        lambda: table.gather(FRAME, wrong),
        lambda: table.scatter([1], wrong, SOURCE),
    ):
        with pytest.raises(IndexTypeError) as e:
            call()
        assert isinstance(e.value, (LogicError, TypeError))
        assert "table." in str(e.value)


@pytest.mark.parametrize(
    "given", [np.zeros((2, 2), int), np.array(0), [[0, 1], [2, 3]], torch.zeros((1, 2), dtype=torch.int64), [[0], [1]]]
)
def test_maps_of_other_ranks(given):
    with pytest.raises(InvalidArgument):
        table.gather(SOURCE, given)


def test_a_masked_number_in_a_map_is_no_row_number():
    source = pa.table({"a": [1, 2, 3]})
    for number in (np.ma.array(1, mask=True), np.ma.masked):
        with pytest.raises(gs.errors.IndexTypeError, match="expected integers"):
            gs.table.gather(source, [0, number])
    assert gs.table.gather(source, [0, np.ma.array(1)]).to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize("given", [0, np.int64(0), True, 1.5, b"0", None, object()])
def test_objects_that_are_no_maps(given):
    with pytest.raises(TypeError, match=r"table.gather: the map is .*; for one row give a list of one number"):
        table.gather(SOURCE, given)


MASKS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy bools": lambda mask: [np.bool_(value) for value in mask],
    "masked array": lambda mask: np.ma.MaskedArray(mask, [False] * 4),
    "torch": torch.tensor,
    "jax": jnp.array,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow slice": lambda mask: pa.array([True, None, *mask])[2:],
    "pyarrow chunks": lambda mask: pa.chunked_array([mask[:1], mask[1:]]),
    "pandas": lambda mask: pd.Series(mask, index=[3, 2, 1, 0]),
    "pandas boolean": lambda mask: pd.Series(mask, dtype="boolean"),
    "pandas arrow": lambda mask: pd.Series(mask, dtype="bool[pyarrow]"),
}
MASKS_WITH_NULLS = {
    "list": list,
    "masked array": lambda mask: np.ma.MaskedArray([m is not False for m in mask], [m is None for m in mask]),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pandas boolean": lambda mask: pd.Series(mask, dtype="boolean"),
    "pandas arrow": lambda mask: pd.Series(mask, dtype="bool[pyarrow]"),
    "list with NA": lambda mask: [pd.NA if value is None else value for value in mask],
    "pandas array": lambda mask: pd.array(mask, "boolean"),
    "pandas arrow array": lambda mask: pd.array(mask, "bool[pyarrow]"),
}


def check_mask(given, mask):
    trues = [row for row in range(4) if mask[row]]
    left = [20, 21, 22, 23]
    assert table.filter(SOURCE, given).to_pylist() == [10 + row for row in trues]
    assert table.filter(FRAME, given)["v"].tolist() == [10 + row for row in trues]
    want = [left[trues.index(row)] if row in trues else 10 + row for row in range(4)]
    assert table.boolean_mask_scatter(pa.array(left), SOURCE, given).to_pylist() == want
    assert table.boolean_mask_scatter(pd.DataFrame({"v": left}), FRAME, given)["v"].tolist() == want
    assert table.boolean_mask_scatter([0], FRAME, given)["v"].tolist() == [0 if mask[r] else 10 + r for r in range(4)]
    want = [left[row] if mask[row] else 10 + row for row in range(4)]
    assert table.copy_if_else(pa.array(left), SOURCE, given).to_pylist() == want
    assert table.copy_if_else(pd.DataFrame({"v": left}), FRAME, given)["v"].tolist() == want


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("mask", [[True, False, False, True], [False] * 4, [True] * 4])
def test_masks(kind, mask):
    check_mask(MASKS[kind](mask), mask)


@pytest.mark.parametrize("kind", MASKS_WITH_NULLS)
@pytest.mark.parametrize("mask", [[True, None, False, True], [None, True, None, False]])
def test_nulls_in_masks_are_false(kind, mask):
    check_mask(MASKS_WITH_NULLS[kind](mask), mask)


@pytest.mark.parametrize(
    "mask",
    [
        [1, 0, 0, 1],
        ["a"] * 4,
        [True, 0, 1, False],
        np.array([1, 0, 0, 1]),
        np.array([1, 0, 0, 1], np.int8),
        np.array([True, None, False, True], dtype=object),
        torch.tensor([1, 0, 0, 1]),
        pl.Series([1, 0, 0, 1]),
        pa.array([1, 0, 0, 1]),
        pd.Series([1, 0, 0, 1]),
        pd.Series([1, 0, 0, 1], dtype="Int64"),
        pd.Series([True, None, False, True], dtype=object),
        pd.Series([1.0, 0.0, 0.0, 1.0], dtype="double[pyarrow]"),
    ],
    ids=str,
)
def test_masks_that_are_not_of_bools(mask):
    for call in (
        lambda: table.filter(SOURCE, mask),
        lambda: table.boolean_mask_scatter([1], FRAME, mask),
        lambda: table.copy_if_else(SOURCE, SOURCE, mask),
    ):
        with pytest.raises(DataTypeError, match=r"table\."):
            call()


@pytest.mark.parametrize("mask", [[True], [], [True] * 5, np.ones(3, bool), pa.array([True] * 5)], ids=str)
def test_masks_of_another_length(mask):
    for call in (
        lambda: table.filter(SOURCE, mask),
        lambda: table.filter(FRAME, mask),
        lambda: table.boolean_mask_scatter([1], SOURCE, mask),
        lambda: table.copy_if_else(SOURCE, SOURCE, mask),
    ):
        with pytest.raises(InvalidArgument):
            call()


@pytest.mark.parametrize("mask", [True, None, "yes", np.True_])
def test_objects_that_are_no_masks(mask):
    with pytest.raises(TypeError, match=r"table.filter: the mask is"):
        table.filter(SOURCE, mask)


def test_too_few_rows_for_a_mask():
    for source, target in ((pa.array([1]), SOURCE), (pd.DataFrame({"v": [1]}), FRAME)):
        with pytest.raises(InvalidArgument):
            table.boolean_mask_scatter(source, target, [True, False, True, False])
