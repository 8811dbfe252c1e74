"""test_table_segmented.py: table.segmented_gather for every list type, element type, layout and map."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
import reference_table as reference
from gatherscatter import table
from gatherscatter.errors import InvalidArgument, LogicError, NullIndexError
from pairwise import Row, all_pairs
from table_maps import INTEGERS, held_against, name_of, rng_of
from table_types import CHUNKS, LAYOUTS, TYPES, How, build, random_chunks
from table_values import check, fingerprint, values

LISTS = {
    "list": pa.list_,
    "large_list": pa.large_list,
    "list_view": pa.list_view,
    "large_list_view": pa.large_list_view,
    "fixed_list": lambda element: pa.list_(element, 3),
}
MAP_LISTS = tuple(LISTS)
FACTORS = {
    "element": tuple(TYPES),
    "lists": ("list", "large_list", "list_view", "large_list_view"),
    "layout": tuple(LAYOUTS),
    "map": INTEGERS,
    "map_lists": ("list", "large_list", "list_view", "fixed_list"),
    "map_layout": ("plain", "nulls", "cut", "chunks"),
    "values": ("inside", "signed", "outside"),
    "bounds": ("raise", "nullify", "unchecked"),
}


def allows(case: Row) -> bool:
    get = case.get
    if get("values") == "signed" and get("map", "int8").startswith("u"):
        return False
    if get("map_layout") == "nulls" and get("bounds") != "nullify":
        return False  # nulls in the map are an error, tested below
    if get("map_lists") == "fixed_list" and (get("values") != "outside" or get("bounds") == "unchecked"):
        return False  # every list has equally many positions, also a shorter or empty one
    return get("bounds") != "unchecked" or get("values") != "outside"


CASES = all_pairs(FACTORS, allows)


def row_map(elements: list | None, case: Row, rng: np.random.Generator) -> list[int | None]:
    """Positions in one list for the case."""
    size, count = len(elements or ()), 3 if case["map_lists"] == "fixed_list" else int(rng.integers(0, 5))
    info = np.iinfo(case["map"])
    if case["values"] == "outside" and (size == 0 or rng.random() < 0.1):
        beside = [i for i in (size, -size - 1, 2**32, 2**32 + 1, info.max, info.min) if info.min <= i <= info.max]
        beside = [i for i in beside if not -size <= i < size]
        found = [int(beside[i]) for i in rng.integers(0, len(beside), count)]
    elif size == 0:
        return []
    else:
        low = 0 if case["values"] == "inside" or info.min == 0 else -size
        found = [int(i) for i in rng.integers(low, size, count)]
    return [None if case["map_layout"] == "nulls" and rng.random() < 0.3 else i for i in found]


def map_lists(rows: list, case: Row, rng: np.random.Generator) -> pa.Array | pa.ChunkedArray:
    integer = pa.type_for_alias(case["map"])
    type = LISTS[case["map_lists"]](integer)
    if case["map_layout"] != "cut":
        array = pa.array(rows, type)
        return random_chunks(array, rng) if case["map_layout"] == "chunks" else array
    return pa.array([[1, 2, 3], *rows, [1, 2, 3], None], type).slice(1, len(rows))


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_segmented_gather(case):
    rng = rng_of(case)
    column = LAYOUTS[case["layout"]](LISTS[case["lists"]](TYPES[case["element"]]), rng)
    source = column if case["layout"] in CHUNKS else column.chunk(0)
    lists = values(source)
    rows = [row_map(elements, case, rng) for elements in lists]
    maps, before = map_lists(rows, case, rng), fingerprint(source)
    signed = not case["map"].startswith("u")
    answer = held_against(
        lambda: reference.segmented_gather(lists, rows, signed, case["bounds"]),
        lambda: table.segmented_gather(source, maps, case["bounds"]),
    )
    assert fingerprint(source) == before
    if answer is not None:
        check(answer[0], source, [answer[1]])


# ---- nulls


def test_null_lists_and_null_elements():
    lists = pa.array([["a", "b", None, "c"], None, [], [None, "A", "B", "C", "D"]])
    maps = pa.array([[-3, 0, 2, 3, 4], [], [1], [1, -4, 5, -1, -6]], pa.list_(pa.int32()))
    want = [["b", "a", None, "c", None], None, [None], ["A", "A", None, "D", None]]
    assert table.segmented_gather(lists, maps, "nullify").to_pylist() == want


def test_nothing_is_taken_from_a_null_list():
    """The row stays null for any positions."""
    lists = pa.array([[1, 2], None, [3]])
    maps = pa.array([[1], [0, 5], [0]])
    for bounds in ("raise", "nullify", "unchecked"):
        assert table.segmented_gather(lists, maps, bounds).to_pylist() == [[2], None, [3]]


@pytest.mark.parametrize("bounds", ["raise", "unchecked"])
def test_null_positions(bounds):
    with pytest.raises(NullIndexError):
        table.segmented_gather(pa.array([[1, 2], [3]]), pa.array([[0], [None]], pa.list_(pa.int8())), bounds)


@pytest.mark.parametrize("bounds", ["raise", "nullify", "unchecked"])
def test_null_map_rows(bounds):
    with pytest.raises(InvalidArgument, match=r"\b1\b"):
        table.segmented_gather(pa.array([[1, 2], [3]]), pa.array([[0], None], pa.list_(pa.int8())), bounds)


# ---- errors


@pytest.mark.parametrize(
    "maps",
    [
        pa.array([0, 1]),
        pa.array([["a"], ["b"]]),
        pa.array([[0.0], [1.0]]),
        pa.array([[True], [False]]),
        pa.array([[[0]], [[1]]]),
        pa.array([], pa.list_(pa.string())),
    ],
    ids=lambda maps: str(maps.type),
)
def test_objects_that_are_no_maps(maps):
    with pytest.raises(LogicError):
        table.segmented_gather(pa.array([[1], [2]])[: len(maps)], maps)


def test_sources_that_are_no_lists():
    for source in (pa.array([1, 2]), pa.array(["a", "b"]), pa.array([{"a": [1]}, {"a": [2]}])):
        with pytest.raises((LogicError, InvalidArgument, TypeError)):
            table.segmented_gather(source, pa.array([[0], [0]]))


def test_lengths_must_agree():
    for rows in ([[0]], [[0], [0], [0]], []):
        with pytest.raises((LogicError, InvalidArgument), match=r"2"):
            table.segmented_gather(pa.array([[1], [2]]), pa.array(rows, pa.list_(pa.int64())))


def test_first_bad_position():
    lists = pa.array([[1, 2, 3]] * 500)
    maps = [[0, -1]] * 500
    maps[300], maps[400] = [2, 3], [-4, 9]
    with pytest.raises(gs.OutOfBoundsError) as caught:
        table.segmented_gather(lists, pa.array(maps))
    error = caught.value
    assert (error.op, error.index, error.size, error.count) == ("table.segmented_gather", 3, 3, 3)
    assert error.position == (300, 1)


# ---- layouts


@pytest.mark.parametrize("name", [name for name in TYPES if name.split("[")[0] == "list"])
def test_every_chunking_gives_the_same(name):
    rng = rng_of(name)
    whole = build(TYPES[name], 80, rng, How(nulls=0.2, cut=True))
    lists = values(whole)
    rows = [[int(i) for i in rng.integers(-5, 5, 3)] for _ in range(80)]
    want = reference.segmented_gather(lists, rows, bounds="nullify")
    for _ in range(3):
        source, maps = random_chunks(whole, rng), random_chunks(pa.array(rows), rng)
        like = source.cast(pa.list_(source.type.value_field.with_nullable(True)))
        check(table.segmented_gather(source, maps, "nullify"), like, [want])


def test_many_lists():
    """Enough lists for several threads; each list is a run of numbers."""
    rng = rng_of("many")
    lengths = rng.integers(1, 9, 100_000)
    starts = np.append(0, np.cumsum(lengths))
    numbers = pa.array(np.arange(starts[-1]))
    lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), numbers)
    takes = rng.integers(0, 1 << 30, 300_000) % np.repeat(lengths, 3)
    maps = pa.FixedSizeListArray.from_arrays(pa.array(takes), 3).cast(pa.list_(pa.int64()))
    for threads in (1, 2, 5):
        with gs.thread_limit(threads):
            result = table.segmented_gather(lists, maps)
        result.validate(full=True)
        assert (result.values.to_numpy() == np.repeat(starts[:-1], 3) + takes).all()
        assert (np.diff(result.offsets.to_numpy()) == 3).all()


# ---- slices of maps


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("seed", range(6))
def test_sliced_maps(kind, seed):
    """Maps that are slices of slices, over numbers that are a slice themselves, whole and in chunks."""
    rng = np.random.default_rng(seed)
    lists = [[int(n) for n in rng.integers(0, 99, rng.integers(0, 4))] for _ in range(30)]
    rows = [[int(n) for n in rng.integers(-4, 5, 3 if kind == "fixed_list" else rng.integers(0, 4))] for _ in lists]
    flat = [number for row in rows for number in row]
    numbers = pa.array([77, 77, *flat, 88], pa.int16()).slice(2, len(flat))
    offsets = np.cumsum([0, *map(len, rows)])
    whole = {
        "list": lambda: pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), numbers),
        "large_list": lambda: pa.LargeListArray.from_arrays(pa.array(offsets), numbers),
        "list_view": lambda: pa.ListViewArray.from_arrays(*_starts(offsets, pa.int32()), numbers),
        "large_list_view": lambda: pa.LargeListViewArray.from_arrays(*_starts(offsets, pa.int64()), numbers),
        "fixed_list": lambda: pa.FixedSizeListArray.from_arrays(numbers, 3),
    }[kind]()
    first, last = sorted(int(n) for n in rng.integers(0, 31, 2))
    for maps in (whole.slice(first).slice(0, last - first), random_chunks(whole.slice(first, last - first), rng)):
        source = pa.array(lists, pa.list_(pa.int8())).slice(first, last - first)
        want = reference.segmented_gather(lists[first:last], rows[first:last], bounds="nullify")
        assert table.segmented_gather(source, maps, "nullify").to_pylist() == want


def _starts(offsets, type):
    return pa.array(offsets[:-1], type), pa.array(np.diff(offsets), type)
