"""test_table_plans.py: `plan` and `explain` of functions on tables: the schema is kept, and what would run is said."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import gatherscatter as gs

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = {"k": [1, 2, 3], "v": [0.5, 1.5, 2.5]}
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "batch": lambda columns: pa.table(columns).to_batches()[0],
    "column": lambda columns: pd.Series(columns["v"], name="v"),
    "array": lambda columns: pa.array(columns["v"]),
    "series": lambda columns: pl.Series("v", columns["v"]),
    "foreign": lambda columns: gs._core.ArrowTable(pa.table(columns)),
    "duckdb": lambda columns: pytest.importorskip("duckdb").from_arrow(pa.table(columns)),
}
EVERY = pytest.mark.parametrize("kind", MAKERS)


def listed(table):
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    for name in ("to_pylist", "to_list", "rows", "fetchall"):
        if hasattr(table, name):
            return list(map(str, getattr(table, name)()))
    return list(map(str, table.values.tolist() if hasattr(table, "values") else pa.table(table).to_pylist()))


@EVERY
def test_a_plan_runs_the_call_on_other_tables(kind):
    table, other = MAKERS[kind](COLUMNS), MAKERS[kind]({"k": [7, 8, 9, 10], "v": [1.0, 2.0, 3.0, 4.0]})
    plan = gs.plan(gs.table.gather, table, [0, 2], bounds="nullify")
    assert listed(plan(table, [0, 2])) == listed(gs.table.gather(table, [0, 2], "nullify"))
    assert listed(plan(other, [3, None])) == listed(gs.table.gather(other, [3, None], "nullify"))
    with pytest.raises(gs.errors.DataTypeError, match=r"table\.gather: source has"):
        plan(MAKERS[kind]({"k": [1], "v": ["text"]}), [0])
    assert isinstance(plan, gs.Plan)


@EVERY
def test_the_facts_and_the_texts(kind):
    table = MAKERS[kind](COLUMNS)
    plan = gs.explain(gs.table.gather, table, np.array([0, 2]))
    facts, text, html = plan.to_dict(), repr(plan), plan._repr_html_()
    known = kind not in ("lazy", "duckdb", "foreign")
    assert facts["op"] == "table.gather" and facts["result_rows"] == 2
    assert facts["rows"] == (3 if known or kind == "foreign" else None)
    assert [name for name, _ in facts["schema"]] in (["k", "v"], ["v"], [""])
    assert facts["map"] == "numpy.ndarray of 2" and facts["threads"] >= 1
    assert "table.gather" in text and "moved by" in text and str(facts["schema"][-1][1]) in text
    assert html.count("<details>") == 1 and facts["moved_by"].partition(",")[0] in html
    assert "result rows" in html and "None" not in html.partition("<details>")[0]


def test_each_function_has_plans():
    frame, mask = pd.DataFrame(COLUMNS), [True, False, True]
    calls = {
        gs.table.scatter: ((frame[:2], [2, 0], frame), {}),
        gs.table.boolean_mask_scatter: (({"v": 0.0}, frame, mask), {"partial": True}),
        gs.table.copy_if_else: ((frame, frame + 1, mask), {}),
        gs.table.filter: ((frame, mask), {}),
        gs.table.gather: ((frame, [1]), {"columns": ["v"], "index": "reset"}),
    }
    for function, (arguments, keywords) in calls.items():
        plan = gs.plan(function, *arguments, **keywords)
        pd.testing.assert_frame_equal(plan(*arguments), function(*arguments, **keywords))
        assert plan == gs.explain(function, *arguments, **keywords)
        assert plan == pickle.loads(pickle.dumps(plan)) == copy.deepcopy(plan) and hash(plan) == hash(copy.copy(plan))
    lists = pa.array([[1, 2], [3]])
    assert gs.plan(gs.table.segmented_gather, lists, [[1], [0]])(lists, [[0], [0]]).to_pylist() == [[1], [3]]
    by_name = gs.plan(gs.table.scatter, frame, indices=[2, 0, 1], target=frame)
    assert by_name.to_dict()["map"] == "list of 3"
    assert gs.plan(partial(gs.table.gather, bounds="nullify"), frame, [0]).to_dict()["keywords"] == {
        "bounds": "nullify"
    }


def test_nothing_runs_and_no_row_is_checked():
    frame = pl.DataFrame(COLUMNS)
    plan = gs.plan(gs.table.gather, frame, [99])
    with pytest.raises(gs.OutOfBoundsError):
        plan(frame, [99])
    assert gs.explain(gs.table.gather, "no such file.parquet", [0]).to_dict()["schema"] is None


def test_errors_are_those_of_the_call():
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(gs.errors.IndexTypeError):
        gs.plan(gs.table.gather, frame, [0.5])
    with pytest.raises(gs.errors.DataTypeError):
        gs.plan(gs.table.filter, frame, [1, 0, 1])
    with pytest.raises(TypeError, match="unexpected keyword"):
        gs.plan(gs.table.gather, frame, [0], axis=0)
    with pytest.raises(TypeError, match=r"plan gatherscatter\.table\.scatter"):
        gs.plan(gs.table.gather, frame, [0]).scatter(frame, [0], frame)
    assert gs.plan(gs.table.gather, frame, [0]) != gs.plan(gs.take, np.zeros(3), [0])


def test_the_library_that_moves_the_rows_is_named():
    few, many = pd.DataFrame({"a": [1]}), np.zeros(1 << 17, int)
    assert "pandas, because" in gs.explain(gs.table.gather, few, [0]).to_dict()["moved_by"]
    assert "gatherscatter" in gs.explain(gs.table.gather, few, many).to_dict()["moved_by"]
    wide = pl.DataFrame({f"c{i}": [0] for i in range(30)})
    assert "polars, because" in gs.explain(gs.table.gather, wide, [0]).to_dict()["moved_by"]
    coded = pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Categorical)})
    assert "rows of Categorical columns" in gs.explain(gs.table.gather, coded, [0]).to_dict()["moved_by"]
    for checked in (wide, coded):  # a check in full exports the columns anyway
        assert "gatherscatter" in gs.explain(gs.table.gather, checked, [0], validate="full").to_dict()["moved_by"]
        assert "polars, because" in gs.explain(gs.table.filter, checked, [True] * len(checked)).to_dict()["moved_by"]
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    lazy = frames.from_pandas(few, npartitions=1)
    plan = gs.plan(gs.table.gather, lazy, [0])
    assert "tasks of Dask" in plan.to_dict()["moved_by"] and plan(lazy, [0]).compute()["a"].tolist() == [1]


def test_a_plan_does_not_read_a_stream():
    reader = pa.table(COLUMNS).to_reader()
    for function in (gs.plan, gs.explain):
        with pytest.raises(TypeError, match=r"read only once.*x\.read_all\(\)"):
            function(gs.table.gather, reader, [0])
    assert gs.table.gather(reader, [2]).to_pydict() == {"k": [3], "v": [2.5]}


class Stream:
    """An object of no known library that can be read once."""

    def __init__(self, reader):
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


class Sized(Stream):
    """As a table of a library that is not known."""

    def __init__(self, table):
        super().__init__(table)
        self.num_rows = table.num_rows


def test_a_plan_does_not_read_a_stream_of_another_library():
    row = pa.table({name: values[:1] for name, values in COLUMNS.items()})
    tables = {"source": lambda x: (gs.table.gather, x, [0]), "target": lambda x: (gs.table.scatter, row, [0], x)}
    for role, call in tables.items():
        stream = Stream(pa.table(COLUMNS).to_reader())
        with pytest.raises(TypeError, match=rf"{role} is a .*Stream, .* only once.*pyarrow\.table\(x\)"):
            gs.plan(*call(stream))
        assert pa.table(stream).to_pydict() == COLUMNS
    numbers = Stream(pa.chunked_array([[2, 0]]))
    for function, role, chosen in (
        (gs.table.gather, "gather_map", numbers),
        (gs.table.filter, "boolean_mask", Stream(pa.chunked_array([[True]]))),
    ):
        with pytest.raises(TypeError, match=f"{role} is a .* only once"):
            gs.plan(function, pa.table(COLUMNS), chosen)
    # Objects that have a length can be read again.
    plan = gs.plan(gs.table.gather, Sized(pa.table(COLUMNS)), [2])
    assert pa.table(plan(Sized(pa.table(COLUMNS)), [1])).num_rows == 1


def test_a_plan_takes_a_map_of_another_library():
    class Column:
        def __arrow_c_array__(self, requested_schema=None):
            return pa.array([2, 0]).__arrow_c_array__(requested_schema)

    plan = gs.plan(gs.table.gather, pa.table(COLUMNS), Column())
    assert plan(pa.table(COLUMNS), Column()).to_pydict() == gs.table.gather(pa.table(COLUMNS), [2, 0]).to_pydict()


def test_a_plan_cannot_be_changed_from_outside():
    frame, columns = pd.DataFrame(COLUMNS), ["v"]
    plan = gs.plan(gs.table.gather, frame, [0], columns=columns)
    columns.append("k")
    plan.to_dict()["keywords"].update(bounds="nullify")
    plan.to_dict()["keywords"]["columns"].append("k")
    assert plan.to_dict()["keywords"] == {"columns": ["v"]} and list(plan(frame, [0])) == ["v"]


@pytest.mark.parametrize("keyword", ["bounds", "negative", "index", "validate"])
def test_words_are_checked_when_the_plan_is_made(keyword):
    with pytest.raises(ValueError, match=f"{keyword} is 'other'"):
        gs.plan(gs.table.gather, pd.DataFrame(COLUMNS), [0], **{keyword: "other"})


def test_partial_of_a_plan_is_a_bool():
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(TypeError, match="partial is 'no', expected a bool"):
        gs.plan(gs.table.scatter, {"v": 0.0}, [0], frame, partial="no")


@pytest.mark.parametrize(
    ("planned", "found"),
    [
        (pd.DataFrame({1: [0]}), pd.DataFrame({"1": [0]})),
        (pd.DataFrame({("a", "b"): [0]}), pd.DataFrame({"('a', 'b')": [0]})),
        (pd.Series([1]).astype("category"), pd.Series(["x"]).astype("category")),
        (pd.Series([1]).astype("category"), pd.Series(pd.Categorical([1], ordered=True))),
    ],
)
def test_what_prints_alike_is_another_schema(planned, found):
    plan = gs.plan(gs.table.gather, planned, [0])
    assert len(plan(planned, [0])) == 1 and plan._repr_html_()
    with pytest.raises(gs.errors.DataTypeError, match="the plan"):
        plan(found, [0])
