"""test_table_wide.py: row numbers in lists that no integer type can hold: they are out of range and named in full."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import table
from gatherscatter.compat import libcudf
from gatherscatter.errors import IndexTypeError, NullIndexError

SOURCE = pa.chunked_array([[10, 11], [12, 13]])
SOURCES = {
    "pyarrow": SOURCE,
    "polars": pl.Series([10, 11, 12, 13]),
    "pandas": pd.Series([10, 11, 12, 13]),
    "pandas frame": pd.DataFrame({"v": [10, 11, 12, 13]}),
    "pyarrow table": pa.table({"v": SOURCE}),
}
FAR = [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, -(10**30), 10**5000]
KINDS = {
    "list": list,
    "tuple": tuple,
    "numpy integers": lambda rows: [np.int8(row) if -128 <= row < 128 else row for row in rows],
}


def refused(call, index, position, size, count, total):
    with pytest.raises(gs.OutOfBoundsError) as error:
        call()
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count, e.total) == (index, position, 0, size, count, total)
    assert type(e.index) is int and len(str(e)) < 300


@pytest.mark.parametrize("wrap", KINDS)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("far", FAR, ids=lambda far: f"{'-' if far < 0 else ''}{far.bit_length()} bits")
def test_maps(kind, wrap, far):
    source, wrap = SOURCES[kind], KINDS[wrap]
    refused(lambda: table.gather(source, wrap([-1, far, 9])), far, (1,), 4, 2, 3)
    refused(lambda: table.gather(source, wrap([-1, 9, far])), 9, (1,), 4, 2, 3)
    refused(lambda: table.scatter(source[:3], wrap([-1, far, 0]), source), far, (1,), 4, 1, 3)
    refused(lambda: table.scatter(source[:3], indices=wrap([-1, far, 0]), target=source), far, (1,), 4, 1, 3)
    refused(lambda: libcudf.gather(source, wrap([-1, far])), far, (1,), 4, 1, 2)
    refused(lambda: libcudf.scatter(source, wrap([-1, far]), source), far, (1,), 4, 1, 2)
    assert rows_of(table.gather(source, wrap([-1, far, 0]), "nullify", negative="from_end")) == [13, None, 10]
    assert rows_of(table.gather(source, wrap([-1, far, 0]), "nullify", negative="out_of_bounds")) == [None, None, 10]
    assert rows_of(libcudf.gather(source, wrap([-1, far]), libcudf.out_of_bounds_policy.NULLIFY)) == [13, None]
    written = table.scatter(source[:3], wrap([-1, far, 0]), source, bounds="drop", negative="from_end")
    assert rows_of(written) == [12, 11, 12, 10]


def rows_of(result):
    if isinstance(result, (pa.Table, pd.DataFrame)):
        result = result["v"]
    to_list = next(way for way in ("to_pylist", "to_list") if hasattr(result, way))
    rows = getattr(result, to_list)()
    return [None if row is None or row != row else row for row in rows]


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas"])
def test_nulls_stay_apart(kind):
    source = SOURCES[kind]
    assert rows_of(table.gather(source, [None, 2**64, 1], "nullify")) == [None, None, 11]
    for bounds in ({}, {"bounds": "raise"}):
        with pytest.raises(NullIndexError):
            table.gather(source, [2**64, None], **bounds)


def test_a_range():
    refused(lambda: table.gather(SOURCE, range(2, 2**64, 2**63)), 2**63 + 2, (1,), 4, 1, 2)
    rows, how = range(2, -(2**64), -(2**63)), {"negative": "from_end"}
    assert table.gather(SOURCE, rows, "nullify", **how).to_pylist() == [12, None, None]
    assert table.scatter(SOURCE[:3], rows, SOURCE, bounds="drop", **how).to_pylist() == [10, 11, 10, 13]
    with pytest.raises(gs.errors.NegativeIndexError) as caught:
        table.gather(SOURCE, rows, "nullify")
    assert (caught.value.index, caught.value.position, caught.value.count) == (rows[1], (1,), 2)


def test_lazy_frames():
    lazy = pl.LazyFrame({"v": [1, 2]})
    assert table.gather(lazy, [2**64, 1], "nullify").collect()["v"].to_list() == [None, 2]
    with pytest.raises((gs.OutOfBoundsError, pl.exceptions.ComputeError), match=str(2**64)):
        table.gather(lazy, [1, 2**64]).collect()


LISTS = [["a", "b", None], None, [], ["c"]]


@pytest.mark.parametrize(
    "wrap", [pa.array, pl.Series, lambda lists: pd.Series(lists, dtype=pd.ArrowDtype(pa.list_(pa.string())))]
)
@pytest.mark.parametrize("far", FAR, ids=lambda far: f"{'-' if far < 0 else ''}{far.bit_length()} bits")
def test_segments(wrap, far):
    source = wrap(LISTS)
    for maps in ([[2, 0, -3], [0], [], [-1, far]], [(2, 0, -3), [0], [], (-1, far)]):
        refused(lambda maps=maps: table.segmented_gather(source, maps), far, (3, 1), 1, 1, 6)
        refused(lambda maps=maps: libcudf.segmented_gather(source, maps), far, (3, 1), 1, 1, 6)
        picked = table.segmented_gather(source, maps, "nullify")
        rows = picked.to_pylist() if hasattr(picked, "to_pylist") else picked.to_list()
        assert [None if row is None or row is pd.NA else list(row) for row in rows] == [
            [None, "a", "a"],
            None,
            [],
            ["c", None],
        ]
    refused(lambda: table.segmented_gather(source, [[5], [], [], [far]]), 5, (0, 0), 3, 2, 2)
    with pytest.raises(NullIndexError):
        table.segmented_gather(source, [[None, far], [], [], []])


def test_unsigned_arrays_of_positions():
    positions = np.array([[1, 0], [0, 2**64 - 1]], np.uint64)
    refused(lambda: table.segmented_gather(pa.array([["a", "b"], ["c"]]), positions), 2**64 - 1, (1, 1), 1, 1, 4)


def test_unchecked_rejects_them():
    for call in (
        lambda: table.gather(SOURCE, [0, 2**64], "unchecked"),
        lambda: table.scatter(SOURCE, [0, 2**64], SOURCE, bounds="unchecked"),
        lambda: table.segmented_gather(pa.array([["a"]]), [[2**64]], "unchecked"),
    ):
        with pytest.raises(IndexTypeError, match="beyond 64 bits, which bounds='unchecked' does not take"):
            call()


@pytest.mark.parametrize("rows", [[2**64, 0.5], [2**64, True], [2**64, "1"]], ids=repr)
def test_other_lists_are_no_maps(rows):
    for call in (lambda: table.gather(SOURCE, rows), lambda: table.segmented_gather(pa.array([["a"]]), [rows])):
        with pytest.raises(IndexTypeError):
            call()


def test_arrays_of_objects_are_no_maps():
    with pytest.raises(IndexTypeError, match="the map is of dtype object"):
        table.gather(SOURCE, np.array([2**64], object))


RANGES = [
    (range(0, 2**70), 4, (4,), 2**70 - 4, 2**70),
    (range(2**64, 2**64 + 2**33), 2**64, (0,), 2**33, 2**33),
    (range(-3, 2**63 + 1), 4, (7,), 2**63 - 3, 2**63 + 4),
    (range(-(2**70), 2**70), -(2**70), (0,), 2**71 - 8, 2**71),
    (range(3, -(2**70), -1), -5, (8,), 2**70 - 5, 2**70 + 3),
    (range(2**70, -(2**70), -(2**69)), 2**70, (0,), 3, 4),
    (range(2, 2**64, 2**63), 2**63 + 2, (1,), 1, 2),
]


@pytest.mark.parametrize("rows, index, position, count, total", RANGES, ids=str)
def test_ranges_beyond_64_bits_are_refused_without_a_walk(rows, index, position, count, total):
    for call in (
        lambda: table.gather(SOURCE, rows),
        lambda: table.scatter(5, rows, SOURCE),
        lambda: libcudf.gather(SOURCE, rows),
        lambda: libcudf.scatter([5], rows, SOURCE),
    ):
        refused(call, index, position, 4, count, total)
    with pytest.raises(IndexTypeError, match="beyond 64 bits"):
        table.gather(SOURCE, rows, "unchecked")
    with pytest.raises(gs.errors.DataTypeError, match="expected bools"):
        table.filter(SOURCE, rows)
    if total >= 2**60:
        with pytest.raises(MemoryError, match=str(total)):
            table.gather(SOURCE, rows, "nullify", negative="from_end")
    else:
        with pytest.raises(gs.OutOfBoundsError):
            table.gather(SOURCE.slice(0, 0), rows)


def ranges():
    """Ranges of few items near the limits of int64 and of a table."""
    for start in (-(2**64), -(2**63) - 1, -(2**63), -5, -4, 0, 3, 4, 2**63 - 2, 2**63, 2**65):
        for step in (1, 2, 2**62, 2**63 - 1, 2**63, 2**64, 2**65):
            for count in range(5):
                for sign in (1, -1):
                    yield range(start, start + sign * step * count - sign * (count > 0 and step > 1), sign * step)


@pytest.mark.parametrize("negative", ["from_end", "out_of_bounds"])
def test_ranges_are_what_their_lists_are(negative):
    for rows in ranges():
        nulls = table.gather(SOURCE, rows, "nullify", negative=negative).to_pylist()
        assert nulls == table.gather(SOURCE, list(rows), "nullify", negative=negative).to_pylist(), rows
        try:
            want = table.gather(SOURCE, list(rows), negative=negative).to_pylist()
        except gs.OutOfBoundsError as error:
            with pytest.raises(gs.OutOfBoundsError) as found:
                table.gather(SOURCE, rows, negative=negative)
            assert found.value.fields()[:-1] == error.fields()[:-1], rows
        else:
            assert table.gather(SOURCE, rows, negative=negative).to_pylist() == want


def test_ranges_and_their_lists_ask_for_the_meaning_of_negative_numbers():
    def answer(rows):
        try:
            return table.gather(SOURCE, rows, "nullify").to_pylist()
        except gs.errors.NegativeIndexError as error:
            return error.fields()

    for rows in ranges():
        assert answer(rows) == answer(list(rows)), rows


@pytest.mark.parametrize("source", [range(2**70), range(2**70, 0, -3), [range(2**40)]], ids=str)
def test_a_source_is_no_endless_range(source):
    target = np.zeros(3)
    with pytest.raises(ValueError, match="pass an array"):
        gs.scatter(target, 0, [0, 1], source)
    assert not target.any()


LISTED = [
    range(2**63 - 2, 2**63),
    range(1, 2**64, 2**64),
    range(3, -(2**64), -(2**65)),
    range(-(2**63), 2**63 - 1, 2**62),
    range(0, 2**62 + 1, 2**61),
    range(2**62, -1, -(2**61)),
    range(2**63 - 3, 2**63 + 2),
    range(2**53, 2**53 + 5, 2),
    range(1, 4, 2**62),
]


@pytest.mark.parametrize("rows", LISTED, ids=str)
@pytest.mark.parametrize("kind", SOURCES)
def test_ranges_of_every_library_are_what_their_lists_are(kind, rows):
    def answer(rows, **how):
        try:
            return rows_of(table.gather(SOURCES[kind], rows, **how))
        except gs.OutOfBoundsError as error:
            return error.fields()[:-1]  # without the last field, which tells whether the row was counted from the end

    for how in ({}, {"bounds": "nullify"}, {"negative": "out_of_bounds"}):
        assert answer(rows, **how) == answer(list(rows), **how)


def test_ranges_that_no_memory_holds():
    for rows in (range(2**62), range(2**64), range(2**63, 2**63 + 2**60), range(-(2**70), 2**70)):
        with pytest.raises((MemoryError, ValueError)):
            table.gather(SOURCE, rows)
