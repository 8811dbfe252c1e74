"""test_segmented_maps.py: maps of a segmented gather as arrays of any library, whole or row by row, and the advice."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

LIBRARIES = {
    "torch": "tensor",
    "jax.numpy": "asarray",
    "xarray": "DataArray",
    "numpy": "asarray",
    "pandas": "Series",
    "polars": "Series",
}
LISTS = [["a", "b", "c"], ["d", "e"], ["f"]]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", range(2))
def test_arrays_of_every_library(library, seed):
    make = getattr(pytest.importorskip(library, reason="not installed"), LIBRARIES[library])
    rng = np.random.default_rng(seed)
    dtype = rng.choice(["int8", "int32", "uint8"])
    rows = np.stack([rng.integers(0 if dtype == "uint8" else -len(each), len(each), 4) for each in LISTS]).astype(dtype)
    want = [[each[at] for at in row] for each, row in zip(LISTS, rows, strict=True)]
    if library not in ("pandas", "polars"):
        assert gs.table.segmented_gather(pa.array(LISTS), make(rows)).to_pylist() == want
    assert gs.table.segmented_gather(pa.array(LISTS), [make(row) for row in rows]).to_pylist() == want


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "xarray", "numpy"])
def test_arrays_that_are_no_maps(library):
    make = getattr(pytest.importorskip(library, reason="not installed"), LIBRARIES[library])
    for values, error in (
        (np.zeros((3, 1), np.float32), IndexTypeError),
        (np.zeros((3, 1), bool), IndexTypeError),
        (np.zeros(3, np.int32), InvalidArgument),
        (np.zeros((3, 1, 1), np.int32), InvalidArgument),
    ):
        with pytest.raises(error, match=r"^table\.segmented_gather: gather_map_list"):
            gs.table.segmented_gather(pa.array(LISTS), make(values))
    with pytest.raises(IndexTypeError, match="row 0 of gather_map_list"):
        gs.table.segmented_gather(pa.array(LISTS), [make(np.zeros(1, np.float32))] * 3)


def test_a_series_of_lists_is_a_map_and_the_advice_makes_a_source():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    x = pd.Series(LISTS, index=[7, 8, 9])
    with pytest.raises(DataTypeError, match="makes one") as caught:
        gs.table.segmented_gather(x, [[0]] * 3)
    step = str(caught.value).rpartition("Arrow: ")[2].removesuffix(" makes one")
    source = eval(step, {"pd": pd, "pa": pa, "x": x})
    result = gs.table.segmented_gather(source, pd.Series([[-1], [0, 0], []], index=[7, 8, 9]))
    assert result.array.__arrow_array__().to_pylist() == [["c"], ["d", "d"], []] and result.index.tolist() == [7, 8, 9]


def random_map(rng, sizes, form):
    """A map of lists of these sizes in one of the forms that are read without a Python object for each position, its
    rows and its dtype; the numbers are in bounds of most of the lists."""
    dtype = np.dtype(rng.choice(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]))
    low = -2 if dtype.kind == "i" else 0
    if form in ("lists", "tuples", "arrays", "objects"):
        rows = [rng.integers(low, 3, rng.integers(0, 4)).astype(dtype) for _ in sizes]
        made = {"lists": lambda row: row.tolist(), "tuples": lambda row: tuple(row.tolist())}.get(form, lambda row: row)
        given = [made(row) for row in rows]
        if form == "objects":
            given = np.fromiter(given, object, len(given))
        return given, [row.tolist() for row in rows], dtype
    width = int(rng.integers(0, 4))
    whole = rng.integers(low, 3, (2 * len(sizes), 3 * width)).astype(dtype)
    views = {
        "strided": lambda: whole[::2, ::3],
        "reversed": lambda: whole[::-2, : 3 * width][:, :width],
        "fortran": lambda: np.asfortranarray(whole[: len(sizes), :width]),
        "swapped": lambda: whole[: len(sizes), :width].astype(dtype.newbyteorder()),
        "plain": lambda: np.ascontiguousarray(whole[: len(sizes), :width]),
    }
    given = views[form]()
    return given, given.tolist(), dtype


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "form", ["lists", "tuples", "arrays", "objects", "strided", "reversed", "fortran", "swapped", "plain"]
)
def test_arrays_and_lists_are_read_as_a_column_of_lists_is(form, seed):
    rng = np.random.default_rng([seed, len(form)])
    sizes = rng.integers(0 if seed % 2 else 3, 6, rng.integers(1, 30)).tolist()
    source = pa.array([list(range(10 * at, 10 * at + size)) for at, size in enumerate(sizes)], pa.list_(pa.int32()))
    given, rows, dtype = random_map(rng, sizes, form)
    kind = pa.int64() if form in ("lists", "tuples") else pa.from_numpy_dtype(dtype)
    for bounds in ("raise", "nullify"):
        answers = []
        for maps in (given, pa.array(rows, pa.list_(kind))):
            try:
                answers.append(gs.table.segmented_gather(source, maps, bounds))
            except gs.OutOfBoundsError as error:
                answers.append(error.fields())
        assert answers[0] == answers[1]
        if isinstance(answers[0], pa.Array):
            pairs = zip(source.to_pylist(), rows, answers[0].to_pylist(), strict=True)
            for items, row, found in pairs:
                assert found == [items[at] if -len(items) <= at < len(items) else None for at in row]


@pytest.mark.parametrize(
    "maps",
    [
        np.array([[2**63], [0], [0]], np.uint64),
        [[2**63], [0], [0]],
        [np.array([2**64 - 1], np.uint64), np.array([0], np.uint64), np.array([0], np.uint64)],
    ],
    ids=["matrix", "lists", "arrays"],
)
def test_positions_beyond_int64_keep_their_error(maps):
    number = int(maps[0][0])
    with pytest.raises(gs.OutOfBoundsError, match=f"index {number} is out of bounds") as caught:
        gs.table.segmented_gather(pa.array(LISTS), maps)
    assert (caught.value.index, caught.value.position) == (number, (0, 0))
    with pytest.raises(IndexTypeError):
        gs.table.segmented_gather(pa.array(LISTS), maps, "unchecked")
    assert gs.table.segmented_gather(pa.array(LISTS), maps, "nullify").to_pylist() == [[None], ["d"], ["f"]]


def test_masked_arrays_and_mixed_rows_keep_their_meaning():
    masked = np.ma.MaskedArray([[0], [1], [0]], mask=[[False], [True], [False]])
    assert gs.table.segmented_gather(pa.array(LISTS), masked, "nullify").to_pylist() == [["a"], [None], ["f"]]
    mixed = [np.array([0], np.int8), [True], (0,)]
    with pytest.raises(IndexTypeError, match="row 1 of gather_map_list holds"):
        gs.table.segmented_gather(pa.array(LISTS), mixed)
    assert gs.table.segmented_gather(pa.array(LISTS), [[0], [None], [0]], "nullify").to_pylist() == [
        ["a"],
        [None],
        ["f"],
    ]


def test_a_map_is_kept_no_longer_than_the_call():
    import sys

    rows = np.zeros((3, 2), np.int64)
    before = sys.getrefcount(rows)
    gs.table.segmented_gather(pa.array(LISTS), rows)
    assert sys.getrefcount(rows) == before
