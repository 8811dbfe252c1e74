"""test_table_few_rows.py: three rows of a long column take no work in proportion to the column.

Work is counted, not timed: the pages of memory that a call touches. It may touch those of the wanted rows, and those of
a search among runs or chunks, whose number grows with the logarithm of the column.
"""

import os

import pytest

import child_process
from sanitized import own_allocator

pytest.importorskip("pyarrow")
pytestmark = [
    pytest.mark.skipif(
        not os.access("/proc/self/clear_refs", os.W_OK), reason="the kernel has no marks of accessed pages (clear_refs)"
    ),
    own_allocator,
]

# A bitmap of 2^20 rows has 32 pages, and is the least that a call in proportion to the column would touch more.
MOST_PAGES = 24
MOST_PAGES_OF_RUNS = MOST_PAGES + 3 * 10  # three searches among the ends of 2^19 runs, which fill at most 2^10 pages
# polars hands over all categories with a column that has a Categorical inside; of a plain one the codes are taken.
WHOLE_DICTIONARIES = ("List of Categorical", "Struct of Categorical")
CALLS = ("gather", "nullify")
CONTAINERS = (
    *(
        f"pyarrow {name}"
        for name in ("Array", "ChunkedArray", "RecordBatch", "Table", "Table of two columns in chunks")
    ),
    *("polars Series", "polars DataFrame", "pandas Series", "pandas DataFrame"),
)
COUNT = """
import json, few_rows
print(json.dumps(list(few_rows.count({container!r}, {only!r}))))
"""
SUPPORTED = """
import json, numpy as np, touched_pages
touched_pages.prepare()
bitmap, target = np.full(1 << 17, 255, np.uint8), np.zeros(1 << 17, np.uint8)
rows, near = np.array([5, 1 << 16, (1 << 17) - 3]), np.array([5, 9, 13])
def least(call):
    call()
    return min(touched_pages.touched(call)[1] for _ in range(5))
few = np.ones(16, np.uint8)
print(json.dumps({
    "three": least(lambda: bitmap[rows]) - least(lambda: few[near]),
    "read": least(lambda: bitmap.sum()) - least(lambda: few.sum()),
    "written": least(lambda: target.fill(1)) - least(lambda: few.fill(1)),
}))
"""


def test_a_pass_over_a_bitmap_is_counted():
    counted = child_process.run_json(SUPPORTED)
    assert counted["three"] <= MOST_PAGES // 2
    assert min(counted["read"], counted["written"]) >= MOST_PAGES + 4


def failed(counted):
    """The errors of calls that have no result, by type and call."""
    return {(name, call): pages for name, call, pages in counted if isinstance(pages, str)}


def grown(counted):
    """Of the counts by type and call those of more pages than allowed."""
    return {
        (name, call): pages
        for name, call, pages in counted
        if pages > (MOST_PAGES_OF_RUNS if "run_end" in name else MOST_PAGES)
    }


@pytest.mark.parametrize(
    "container, names",
    [
        ("pandas Series", ("float64", "Categorical")),
        ("pandas DataFrame", ("float64", "Categorical")),
        ("pyarrow ChunkedArray", ("int64", "run_end[int32, double]")),  # most chunks have none of the rows
    ],
)
def test_three_rows_of_some_columns(container, names):
    pytest.importorskip(container.partition(" ")[0])
    counted = child_process.run_json(COUNT.format(container=container, only=names))
    assert [(name, call) for name, call, _ in counted] == [(name, call) for name in names for call in CALLS]
    assert not failed(counted)
    assert not grown(counted)


@pytest.mark.full_contract  # a minute and more for each kind of table
@pytest.mark.parametrize("container", CONTAINERS)
def test_three_rows_of_a_long_column(container):
    pytest.importorskip(container.partition(" ")[0])
    counted = child_process.run_json(COUNT.format(container=container, only=()), timeout=600)
    assert len(counted) > 30
    assert not failed(counted)
    few = [one for one in counted if one[0] in WHOLE_DICTIONARIES and one[2] <= MOST_PAGES]
    assert not few, "these are no exceptions any more"
    assert not grown(one for one in counted if one[0] not in WHOLE_DICTIONARIES)
