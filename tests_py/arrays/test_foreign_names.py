"""test_foreign_names.py: a name of another library is answered with our call, which runs and is that of the tables."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._ops.foreign_names import FOREIGN, FOREIGN_OF_TABLES, no_attribute

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "porting"
PAGES = ("numpy", "torch", "jax", "torch_scatter", "pandas", "polars")
# Names on the left side of the porting tables that say nothing by themselves: methods of many objects, constructors.
PLAIN = {
    "DataFrame",
    "Series",
    "add",
    "all",
    "array",
    "astype",
    "collect",
    "get",
    "grad",
    "groupby",
    "isna",
    "is_null",
    "jit",
    "lazy",
    "max",
    "mean",
    "replace",
    "reset_index",
    "set",
    "sum",
    "tensor",
    "to_numpy",
    "transform",
    "with_columns",
}


def names_used():
    """What each call of a page can name, and the values of these names."""
    x, rows, src = np.arange(12.0).reshape(4, 3), np.array([2, 0]), np.ones((2, 3))
    index, along = np.zeros((2, 3), int), np.ones((2, 3))
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": [1, 2, 3, 4]})
    return {
        "gs": gs,
        "x": x,
        "rows": rows,
        "src": src,
        "dim": 0,
        "index": index,
        "along": along,
        "indices": np.array([[0, 1], [3, 2]]),
        "updates": np.ones(2),
        "r": np.array([0, 3]),
        "c": np.array([1, 2]),
        "mask": x > 5,
        "keep": np.array([True, False, True, True]),
        "values": np.arange(6.0),
        "counts": np.zeros(3),
        "zeros": np.zeros((4, 3)),
        "bags": np.array([1, 1]),
        "groups": np.arange(3),
        "lengths": np.array([1, 0, 1]),
        "table": table,
        "target": table,
        "row": [9],
        "column": table["a"],
        "is_null": table["a"].isna(),
        "lists": pa.array([[1, 2], [3]]),
        "places": pa.array([[0], [0]]),
        "keys": table["a"],
        "wanted": [3, 9],
    }


def calls_in(text):
    """The calls of an entry, which may name one for arrays and one for tables."""
    return re.split(r", or |, and of tables ", text)


@pytest.mark.parametrize("name", sorted(FOREIGN) + [f"table.{name}" for name in sorted(FOREIGN_OF_TABLES)])
def test_the_call_that_is_shown_runs(name, tmp_path):
    module, last = (gs.table, name[6:]) if name.startswith("table.") else (gs, name)
    assert not hasattr(module, last)
    with pytest.raises(AttributeError, match=rf"has no attribute '{last}'; what it does elsewhere is gs\.") as caught:
        getattr(module, last)
    assert caught.value.name == last
    names = names_used()
    np.save(tmp_path / "x.npy", names["x"])
    names["path"] = tmp_path / "x.npy"
    for call in calls_in(str(caught.value).partition("elsewhere is ")[2]):
        if "table.scatter(table" in call:
            names["table"] = names["table"][:2]
        eval(call, names)


def left_names(page):
    """The functions called on the left side of the rows of a page, not in arguments, each with the right side."""
    for line in (FOLDER / f"{page}.md").read_text(encoding="utf-8").splitlines():
        cells = re.findall(r"`(.+?)`(?= \|)", line)
        if line.startswith("| `") and len(cells) > 1:
            for found in re.finditer(r"(\w+)\(", cells[0]):
                before = cells[0][: found.start()]
                if before.count("(") == before.count(")"):
                    yield found[1], cells[1]


def test_the_names_of_the_porting_tables_are_known():
    """A function that a porting page replaces is in the list, with the operator and the reduction of that page."""
    found = 0
    for page in PAGES:
        for name, ours in left_names(page):
            tables = page in ("pandas", "polars")
            known = FOREIGN_OF_TABLES if tables else FOREIGN
            module = gs.table if tables else gs
            plain = name.rstrip("_")
            if plain in PLAIN or hasattr(module, plain):
                continue
            assert plain in known, f"{page}: {name} is not in the list, its call is {ours}"
            operators = set(re.findall(r"gs\.(?:table\.)?\w+", known[plain]))
            assert operators & set(re.findall(r"gs\.(?:table\.)?\w+", ours)), (name, known[plain], ours)
            assert ("reduce=" in ours) == ("reduce=" in known[plain]), (name, known[plain], ours)
            found += 1
    assert found >= 20


@pytest.mark.parametrize("name", ["index_add_", "scatter_add_", "masked_fill_", "index_copy_"])
def test_names_that_end_in_an_underscore_write_in_place(name):
    with pytest.raises(AttributeError, match=r"; out=x writes in place$"):
        getattr(gs, name)


def test_other_names_have_the_error_of_python():
    for module in (gs, gs.table):
        for name in ("no_such_name", "__wrapped__", "_scatter_add", "scatter_add__"):
            with pytest.raises(AttributeError) as caught:
                getattr(module, name)
            assert str(caught.value) == f"module {module.__name__!r} has no attribute {name!r}"
            assert caught.value.name == name
    assert str(no_attribute("m", "a", {"a": "b"})) == "module 'm' has no attribute 'a'; what it does elsewhere is b"


def test_the_list_changes_neither_dir_nor_an_import():
    assert not set(FOREIGN) & set(dir(gs)) and not set(FOREIGN_OF_TABLES) & set(dir(gs.table))
    with pytest.raises(ImportError, match="cannot import name 'scatter_add'"):
        from gatherscatter import scatter_add  # noqa: F401  # the import itself fails
    assert sys.modules["gatherscatter"] is gs
