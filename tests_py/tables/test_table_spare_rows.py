"""test_table_spare_rows.py: rows of a source without a row number are an error; libcudf's face ignores them."""

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.compat import libcudf
from gatherscatter.errors import InvalidArgument

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 5
KINDS = {
    "pandas": pd.DataFrame,
    "series": lambda data: pd.Series(data["v"], name="v", dtype="int64"),
    "arrow": pa.table,
    "chunks": lambda data: pa.table({"v": pa.chunked_array([pa.array(data["v"][:1], pa.int64()), data["v"][1:]])}),
    "batch": pa.record_batch,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
}
MAPS = {
    "list": list,
    "range": lambda rows: range(rows[0], rows[-1] + 1) if rows else range(0),
    "NumPy": lambda rows: np.array(rows, np.int64),
    "narrow": lambda rows: np.array(rows, np.uint8),
    "arrow": lambda rows: pa.array(rows, pa.int32()),
    "nulls": lambda rows: pa.array([*rows[:-1], None][: len(rows)], pa.int32()),
    "pandas": lambda rows: pd.Series(rows, dtype="Int64"),
}


def listed(result):
    """The column of a result of any kind, as a list."""
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    column = result if isinstance(result, pd.Series) else result["v"]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", MAPS)
def test_a_scatter_of_another_number_of_rows(kind, form):
    rng = np.random.default_rng([len(kind), len(form)])
    target = KINDS[kind]({"v": list(range(N))})
    for count in range(N + 1):
        size = int(rng.integers(0, N + 1))
        data = {"v": rng.integers(10, 99, size).tolist()}
        source = KINDS["polars" if kind == "lazy" else kind](data)
        if size == 0 and kind != "series":
            source = KINDS["polars" if kind == "lazy" else kind]({"v": [0]})[:0]
        rows = MAPS[form](list(range(count)))
        bounds = "drop" if form == "nulls" else str(rng.choice(["raise", "drop", "unchecked"]))
        if count == size:
            wanted = [data["v"][i] if i < count - (form == "nulls") else i for i in range(N)]
            assert listed(gs.table.scatter(source, rows, target, bounds=bounds)) == wanted
            continue
        words = rf"there (are|is) {count} row numbers? for {size} rows of the source.*give source\[:{count}\]"
        for partial in (False, kind != "series"):
            with pytest.raises(InvalidArgument, match=words if count < size else "the source only"):
                listed(gs.table.scatter(source, rows, target, bounds=bounds, partial=partial))
        scalars = listed(gs.table.scatter([7], rows, target, bounds=bounds))  # one value for all rows
        assert scalars == [7 if i < count - (form == "nulls") else i for i in range(N)]


def test_a_plan_refuses_them():
    source, target = pa.table({"v": [7, 8]}), pa.table({"v": [0, 1, 2]})
    plan = gs.plan(gs.table.scatter, source, [0, 1], target)
    assert plan(source, [2, 0], target)["v"].to_pylist() == [8, 1, 7]
    with pytest.raises(InvalidArgument, match=r"give source\[:1\]"):
        plan(source, [2], target)


def test_columns_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    target = duckdb.sql("select unnest([0, 1, 2]) as v")
    source = duckdb.sql("select unnest([7, 8]) as v")
    with pytest.raises(InvalidArgument, match="there is 1 row number for 2 rows of the source"):
        gs.table.scatter(source, [1], target).fetchall()
    assert gs.table.scatter(source.limit(1), [1], target).fetchall() == [(0,), (7,), (2,)]


def test_frames_of_dask():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    target = dd.from_pandas(pd.DataFrame({"v": range(5)}), npartitions=2)
    source = pd.DataFrame({"v": [7, 8, 9]})
    for given in (source, dd.from_pandas(source, npartitions=2)):
        for rows in ([0, 4], da.from_array(np.array([0, 4]), chunks=1)):
            with pytest.raises(InvalidArgument, match=r"there are 2 row numbers for 3 rows .*give source(\.head)?"):
                gs.table.scatter(given, rows, target)
    for given in (source[:2], dd.from_pandas(source, npartitions=2).head(2, npartitions=-1, compute=False)):
        result = gs.table.scatter(given, [0, 4], target).compute(scheduler="sync")
        assert result["v"].tolist() == [7, 1, 2, 3, 8]


def test_the_face_of_libcudf_ignores_them():
    source, target = pa.table({"v": [7, 8, 9]}), pa.table({"v": [0, 1, 2, 3]})
    assert libcudf.scatter(source, np.array([3], "i4"), target)["v"].to_pylist() == [0, 1, 2, 7]
    mask = pa.array([False, True, False, False])
    assert libcudf.boolean_mask_scatter(source, target, mask)["v"].to_pylist() == [0, 7, 2, 3]
    frame = pd.DataFrame({"v": [7, 8, 9]})
    assert libcudf.scatter(frame, np.array([1]), frame)["v"].tolist() == [7, 7, 9]
