"""test_table_near.py: objects near tables (readers, narwhals, groups, expressions) and mistakes, with the next step."""

import contextlib
import importlib

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import InvalidArgument

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

FRAME = pd.DataFrame({"k": [1, 2, 1], "v": [0.5, 1.5, 2.5]}, index=["a", "b", "c"])


def of_scanners():
    return importlib.import_module("pyarrow.dataset").dataset(pa.table({"a": [1]})).scanner()


def of_narwhals(native):
    return pytest.importorskip("narwhals", reason="narwhals is not installed").from_native(native, allow_series=True)


# maker, and the next step
NO_TABLES = {
    "groups of pandas": (lambda: FRAME.groupby("k"), r"x\.obj.*x\.indices\[key\]"),
    "groups of a column": (lambda: FRAME.groupby("k")["v"], r"x\.obj.*x\.indices\[key\]"),
    "groups of polars": (lambda: pl.from_pandas(FRAME).group_by("k"), r"x\.agg"),
    "lazy groups of polars": (lambda: pl.from_pandas(FRAME).lazy().group_by("k"), r"x\.agg"),
    "groups of pyarrow": (lambda: pa.table({"k": [1]}).group_by("k"), r"x\.aggregate"),
    "expression of polars": (lambda: pl.col("k"), r"df\.select\(x\)"),
    "expression of pyarrow": (lambda: importlib.import_module("pyarrow.compute").field("k"), r"dataset\.to_table"),
    "expression of duckdb": (lambda: pytest.importorskip("duckdb").ColumnExpression("k"), r"relation\.select\(x\)"),
    "expression of narwhals": (lambda: pytest.importorskip("narwhals").col("k"), r"df\.select\(x\)"),
    "groups of narwhals": (lambda: of_narwhals(FRAME).group_by("k"), r"x\.agg"),
    "scanner": (of_scanners, r"x\.to_table"),
}
PLACES = {
    "source": lambda z: gs.table.gather(z, [0]),
    "filtered": lambda z: gs.table.filter(z, [True]),
    "target": lambda z: gs.table.scatter([1, 1.0], [0], z),
    "rows": lambda z: gs.table.scatter(z, [0], FRAME),
    "value": lambda z: gs.table.scatter(z, [0], FRAME["v"]),
    "masked rows": lambda z: gs.table.boolean_mask_scatter(z, FRAME, [True, False, False]),
    "other side": lambda z: gs.table.copy_if_else(FRAME, z, [True, False, False]),
    "map": lambda z: gs.table.gather(FRAME, z),
    "mask": lambda z: gs.table.filter(FRAME, z),
    "planned": lambda z: gs.plan(gs.table.gather, z, [0]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table_is_refused_with_the_next_step(kind, place):
    make, step = NO_TABLES[kind]
    with pytest.raises(TypeError, match=step) as caught:
        PLACES[place](make())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", sorted({*PLACES} - {"source", "planned"}))
@pytest.mark.parametrize("kind", ["dataset", "ParquetFile"])
def test_files_that_are_open_are_read_by_gather_alone(tmp_path, kind, place):
    parquet = importlib.import_module("pyarrow.parquet")
    parquet.write_table(pa.table({"k": [1]}), tmp_path / "a.parquet")
    dataset = importlib.import_module("pyarrow.dataset")
    with parquet.ParquetFile(tmp_path / "a.parquet") as file:
        given, step = (file, r"x\.read") if kind == "ParquetFile" else (dataset.dataset(tmp_path), r"x\.to_table")
        with pytest.raises(TypeError, match=rf"{step}\(\) reads the files?, and only table.gather"):
            PLACES[place](given)


def test_the_steps_give_what_they_say():
    groups = FRAME.groupby("k")
    assert gs.table.gather(groups.obj, groups.indices[1])["v"].tolist() == [0.5, 2.5]
    assert gs.table.gather(of_scanners().to_table(), [0]).to_pydict() == {"a": [1]}
    frame = pl.from_pandas(FRAME)
    assert gs.table.gather(frame, frame.select(pl.col("k")).to_series())["v"].to_list() == [1.5, 2.5, 1.5]


def test_a_reader_is_read_and_gives_a_table():
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    result = gs.table.gather(table.to_reader(max_chunksize=1), [2, 0])
    assert result.equals(table.take([2, 0]).combine_chunks()) and type(result) is pa.Table
    assert gs.table.gather(table.to_reader(), [0], columns=["b"]).to_pydict() == {"b": ["x"]}
    part = gs.table.scatter(table.select(["a"]).to_reader(), [2, 1, 0], table, partial=True)
    assert part.to_pydict() == {"a": [3, 2, 1], "b": ["x", None, "z"]}
    assert gs.table.filter(table.to_reader(), [False, True, False]).to_pydict() == {"a": [2], "b": [None]}
    assert gs.table.scatter(table.to_reader(), [2, 1, 0], table).to_pydict() == {"a": [3, 2, 1], "b": ["z", None, "x"]}


def test_a_reader_that_a_call_has_read_is_refused():
    table = pa.table({"a": [1, 2, 3]})
    calls = {
        "map": lambda reader: gs.table.gather(reader, [9]),
        "column": lambda reader: gs.table.gather(reader, [0], columns=["a"]),
        "mask": lambda reader: gs.table.filter(reader, [True]),
        "source": lambda reader: gs.table.scatter(reader, [0, 9, 1], table),
        "partial": lambda reader: gs.table.scatter(reader, [0, 9, 1], table, partial=True),
    }
    for call in calls.values():
        reader = table.to_reader()
        with contextlib.suppress(ValueError):
            call(reader)
        for again in calls.values():
            with pytest.raises(InvalidArgument, match=r"no rows left.*reader\.read_all\(\)"):
                again(reader)
    reader = table.to_reader()
    for wrong in (
        lambda: gs.table.gather(reader, [0], "sideways"),
        lambda: gs.table.gather(reader, [0], columns=["b"]),
    ):
        with pytest.raises(ValueError):  # before it is read
            wrong()
    assert gs.table.gather(reader, [0]).num_rows == 1


class OwnFrame(pl.DataFrame):
    """A class of a user, of frames."""


class OwnSeries(pl.Series):
    """A class of a user, of columns."""


@pytest.mark.parametrize("width", [1, 30])
def test_classes_derived_from_those_of_polars(width):
    texts = pl.Series(["a", "b", "c"], dtype=pl.Categorical)
    frame = OwnFrame({f"c{at}": pl.Series([1, 2, 3]) for at in range(width)} | {"t": texts})
    for source in (frame, OwnSeries("a", [1, 2, 3]), OwnSeries("t", texts)):
        plain = pl.DataFrame(source) if isinstance(source, pl.DataFrame) else pl.Series(source)
        for call in (
            lambda each: gs.table.gather(each, [2, 0]),
            lambda each: gs.table.gather(each, [2, 9], bounds="nullify"),
            lambda each: gs.table.scatter(each, [2, 1, 0], each),
            lambda each: gs.table.filter(each, [True, False, True]),
            lambda each: gs.table.copy_if_else(each, each, [True, False, True]),
        ):
            result = call(source)
            assert type(result) is type(source) and result.equals(call(plain))


@pytest.mark.parametrize("native", [FRAME, pl.from_pandas(FRAME), pa.table({"k": [1, 2, 1], "v": [0.5, 1.5, 2.5]})])
def test_objects_of_narwhals_give_objects_of_narwhals(native):
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    frame = of_narwhals(native)
    column = frame["v"]
    result = gs.table.gather(frame, [2, 0])
    assert type(result) is type(frame) and type(narwhals.to_native(result)) is type(native)
    assert result["v"].to_list() == [2.5, 0.5]
    assert type(gs.table.gather(column, [1])) is type(column)
    assert gs.table.gather(frame, [1], columns=["v"]).columns == ["v"]
    assert gs.table.gather(frame, [0, None], "nullify", index="reset")["k"].is_null().to_list() == [False, True]
    assert gs.table.filter(frame, frame["k"] == 1)["v"].to_list() == [0.5, 2.5]
    assert gs.table.scatter(frame, [2, 1, 0], frame)["v"].to_list() == [2.5, 1.5, 0.5]
    assert type(gs.table.scatter(frame, [2, 1, 0], native)) is type(native)
    assert gs.table.scatter([9, 9.0], [0], frame)["k"].to_list() == [9, 2, 1]
    assert gs.table.copy_if_else(column, column, [True, False, True]).to_list() == [0.5, 1.5, 2.5]
    assert gs.explain(gs.table.gather, frame, [0]).to_dict()["rows"] == 3


NATIVE = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "pyarrow": pa.table({"k": [1, 2, 1], "v": [0.5, 1.5, 2.5]})}
OPERATORS = {
    "gather": lambda x: gs.table.gather(x, [2, 1, 0]),
    "scatter": lambda x: gs.table.scatter(x, [2, 1, 0], x),
    "masked": lambda x: gs.table.boolean_mask_scatter(x, x, [True, True, False]),
    "chosen": lambda x: gs.table.copy_if_else(x, x, [True, True, False]),
    "filter": lambda x: gs.table.filter(x, [True, True, False]),
}


@pytest.mark.parametrize("namespace", ["narwhals", "narwhals.stable.v1", "narwhals.stable.v2"])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("library", NATIVE)
def test_every_operator_gives_objects_of_the_same_narwhals(library, operator, namespace):
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    narwhals = importlib.import_module(namespace)
    frame = narwhals.from_native(NATIVE[library], eager_only=True)
    for given in (frame, frame["v"]):
        result = OPERATORS[operator](given)
        assert type(result) is type(given) and type(result.to_native()) is type(given.to_native())


@pytest.mark.filterwarnings("ignore:Dask support is moving")
def test_a_dask_frame_in_narwhals_is_refused():
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    frame = of_narwhals(frames.from_pandas(FRAME, npartitions=1))
    for call in (
        lambda: gs.table.gather(frame, [0]),
        lambda: gs.table.gather(frame, [0], columns=["v"]),
        lambda: gs.table.scatter([1, 1.0], [0], frame),
        lambda: gs.table.boolean_mask_scatter([1, 1.0], frame, [True, False, False]),
        lambda: gs.plan(gs.table.gather, frame, [0]),
    ):
        with pytest.raises(TypeError, match=r"pass x\.to_native\(\)"):
            call()


def test_a_lazy_frame_of_narwhals_stays_lazy():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    frame = of_narwhals(pl.from_pandas(FRAME).lazy())
    result = gs.table.gather(frame, [2, 0])
    assert type(result) is narwhals.LazyFrame and result.collect()["v"].to_list() == [2.5, 0.5]


@pytest.mark.parametrize("rows", [pd.Series([0.0, np.nan]), pd.Index([1.0]), pd.Series([0.0, None], dtype="Float64")])
def test_a_map_of_floats_of_pandas_names_the_integers_with_nulls(rows):
    for call in (
        lambda: gs.table.gather(FRAME, rows, "nullify"),
        lambda: gs.table.scatter(FRAME, rows, FRAME),
    ):
        with pytest.raises(gs.errors.IndexTypeError, match=r'map\.astype\("Int64"\)'):
            call()


def test_the_named_cast_gives_a_left_join():
    rows = pd.Series([1.0, np.nan]).astype("Int64")
    assert gs.table.gather(FRAME, rows, "nullify")["k"].tolist()[0] == 2


@pytest.mark.parametrize("word", ["fill", "drop", "clip", "wrap"])
def test_words_of_arrays_name_that_of_tables(word):
    with pytest.raises(ValueError, match='bounds="nullify" gives a row of nulls'):
        gs.table.gather(FRAME, [0], word)


# ---- row labels of a join


def test_a_join_may_have_fresh_labels():
    for count in (3, 1 << 17):  # pandas takes few rows itself
        frame = pd.DataFrame({"v": np.arange(count)}, index=np.arange(count) + 100)
        rows = np.r_[np.arange(count), -1]
        joined = gs.table.gather(frame, rows, "nullify", negative="out_of_bounds", index="reset")
        assert type(joined.index) is pd.RangeIndex and joined.index.equals(pd.RangeIndex(count + 1))
        assert joined["v"].isna().tolist()[-2:] == [False, True]
        taken = gs.table.gather(frame, rows, "nullify", negative="out_of_bounds")
        assert taken.index[0] == 100 and frame.index[0] == 100
    series = gs.table.gather(FRAME["v"], [2, 0], index="reset")
    assert series.to_dict() == {0: 2.5, 1: 0.5}


def test_other_tables_have_no_labels_to_reset():
    assert gs.table.gather(pl.from_pandas(FRAME), [1], index="reset")["k"].to_list() == [2]
    assert gs.table.gather(pa.table({"k": [1, 2]}), [1], index="reset").to_pydict() == {"k": [2]}
    with pytest.raises(ValueError, match=r"index is .keep."):
        gs.table.gather(FRAME, [0], index="keep")


def test_dask_names_its_own_call():
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    with pytest.raises(TypeError, match=r"reset_index\(drop=True\)"):
        gs.table.gather(frames.from_pandas(FRAME, npartitions=1), [0], index="reset")


# ---- the repr of tables of other libraries


def test_the_repr_of_a_foreign_table_has_schema_and_rows():
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), ("b", pa.list_(pa.string()))])
    table = gs._core.ArrowTable(pa.table({"a": [1, 2], "b": [["x"], None]}, schema=schema))
    assert repr(table) == "<ArrowTable, 2 rows\n  a: int64 not null\n  b: list<string>>"
    column = gs._core.ArrowTable(pa.array([1.5]))
    assert repr(column) == "<ArrowTable, one column, 1 row: float64>"
    assert (table.column_types, column.column_types) == (["int64", "list<string>"], ["float64"])
    wide = gs._core.ArrowTable(pa.table({f"c{i}": [0] for i in range(50)}))
    assert repr(wide).endswith("\n  c39: int64\n  and 10 more columns>")
