"""test_porting_tables.py: both sides of every row "yours, ours" in docs/porting/ run and give the same."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "porting"
PAGES = ["numpy", "torch", "jax", "torch_scatter", "pandas", "polars", "systems"]
NEEDED = {"torch": "torch", "torch_scatter": "torch", "jax": "jax"}  # what a page needs beside the extra `test`


def setup_of(page):
    """The first Python block of a page, which defines the names that its table uses."""
    return re.search(r"^```python\n(.*?)^```$", (FOLDER / f"{page}.md").read_text(encoding="utf-8"), re.M | re.S)[1]


def rows_of(page):
    """The rows of the table: the code in the cells."""
    lines = (FOLDER / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return [re.findall(r"`(.+?)`(?= \|)", line) for line in lines if line.startswith("| `")]


def run(page, code):
    """The value of a piece of code, and the names that the page defines, after it has run."""
    names: dict = {}
    exec(setup_of(page), names)
    try:
        value = eval(compile(code, page, "eval"), names)
    except SyntaxError:
        exec(compile(code, page, "exec"), names)
        value = None
    return value, names


def same(left, right):
    """Whether two arrays, tensors, frames or columns hold the same; NaN equals NaN."""
    if hasattr(left, "equals"):
        return type(left) is type(right) and left.equals(right)
    np.testing.assert_array_equal(np.asarray(left), np.asarray(right))
    return True


CASES = [(page, row) for page in PAGES for row in rows_of(page)]


@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta:UserWarning")
@pytest.mark.parametrize(("page", "row"), CASES, ids=[f"{page}: {row[0]}" for page, row in CASES])
def test_row(page, row):
    if page in NEEDED:
        pytest.importorskip(NEEDED[page], reason=f"{NEEDED[page]} is not installed")
    *_, ours, theirs = row if len(row) == 3 else (row[1], row[0])  # a third cell is a loop, in place of the library
    (left, before), (right, after) = run(page, theirs), run(page, ours)
    if left is None or right is None:  # a statement, or a call in place: what counts is what it wrote
        name = "df" if page == "pandas" else "y"
        assert same(before[name], after[name])
        assert not unchanged(page, name, after[name])
    else:
        assert same(left, right)


def unchanged(page, name, value):
    """Whether the call has changed nothing, so that the comparison would mean nothing."""
    names: dict = {}
    exec(setup_of(page), names)
    try:
        return same(names[name], value)
    except AssertionError:
        return False


def test_every_page_has_rows():
    counts = {page: len(rows_of(page)) for page in PAGES}
    assert min(counts.values()) >= 6 and sum(counts.values()) >= 70
