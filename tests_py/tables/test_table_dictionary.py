"""test_table_dictionary.py: keys of dictionary columns: a gather keeps all of them, two dictionaries are merged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
import reference_table as reference
from gatherscatter import table
from table_maps import rng_of
from table_types import DICTIONARIES, TYPES, How, build
from table_values import check, values


def encoded(rows, keys, ordered=False):
    return pa.DictionaryArray.from_arrays(pa.array(rows, pa.int8()), pa.array(keys, pa.string()), ordered=ordered)


def keys_of(result):
    return values((result.chunk(0) if isinstance(result, pa.ChunkedArray) else result).dictionary)


@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("rows", [[], [0], [3, 3, -1], None], ids=str)
def test_unused_keys_stay(name, rows):
    """All keys are kept for any map, also if under "nullify" no row uses them."""
    column = build(TYPES[name], 12, rng_of(name), How(nulls=0.3, cut=True))
    rows = [99, 100] if rows is None else rows
    result = table.gather(column, rows, "nullify", negative="from_end")
    check(result, column, reference.gather([values(column)], 12, rows, bounds="nullify"))
    assert keys_of(result) == values(column.dictionary)
    result = table.filter(column, [False] * 12)
    assert keys_of(result) == values(column.dictionary)


def test_duplicate_keys_of_one_dictionary():
    """libcudf's DuplicateKeys: decoded values are compared; a single dictionary is not merged."""
    column = encoded([1, 2, 3, 1, 2, 3, 0], ["pear", "apple", "fruit", "pear"])
    for rows, want in [
        ([0, 4, 3, 1], ["apple", "fruit", "apple", "fruit"]),
        ([0, 6, 3, 1], ["apple", "pear", "apple", "fruit"]),
        ([0, 2, 4, 3], ["apple", "pear", "fruit", "apple"]),
        ([6, 0, 2, 1], ["pear", "apple", "pear", "fruit"]),
    ]:
        result = table.gather(column, rows)
        assert result.to_pylist() == want and keys_of(result) == ["pear", "apple", "fruit", "pear"]


def test_chunks_with_one_dictionary():
    """Slices of one array share its dictionary, which the result has unchanged."""
    whole = encoded([0, 1, None, 2, 0], ["x", "y", "x", None])
    result = table.gather(pa.chunked_array([whole[:2], whole[2:2], whole[2:]]), [4, 3, 2, 1, 0])
    assert result.to_pylist() == ["x", "x", None, "y", "x"] and keys_of(result) == ["x", "y", "x", None]


def test_chunks_with_equal_dictionaries():
    chunks = [encoded([0, 1], ["x", "y"]), encoded([1, 0], ["x", "y"])]
    result = table.gather(pa.chunked_array(chunks), [3, 2, 1, 0])
    assert result.to_pylist() == ["x", "y", "y", "x"] and keys_of(result) == ["x", "y"]


def merged(first, *others):
    """The expected merged dictionary: the first one, then each new key once."""
    keys = list(first)
    for other in others:
        keys += [key for i, key in enumerate(other) if key not in keys and key not in other[:i]]
    return keys


@pytest.mark.parametrize("name", DICTIONARIES)
def test_chunks_with_different_dictionaries(name):
    rng = rng_of(name)
    parts = [
        build(TYPES[name], rows, rng, How(nulls=nulls, cut=True)) for rows, nulls in [(9, 0.0), (0, 0.3), (7, 0.3)]
    ]
    column = pa.chunked_array([*parts, parts[0]])
    result = table.gather(column, list(range(25))[::-1])
    check(result, column, [values(column)[::-1]])
    found = keys_of(result)
    first = values(parts[0].dictionary)
    later = [key for part in parts[1:] for key in values(part.dictionary)]
    assert found[: len(first)] == first
    new = found[len(first) :]
    assert len(new) == len({repr(key) for key in new}) and not any(key in first for key in new)
    assert all(key in later for key in new)
    assert all(value in found for value in values(column) if value is not None)


def test_order_of_merged_keys():
    a, b = encoded([0, 1], ["b", "a"], True), encoded([1, 0, 2], ["c", "a", "d"], True)
    result = table.gather(pa.chunked_array([a, b]), [0, 1, 2, 3, 4])
    assert result.type.ordered and result.to_pylist() == ["b", "a", "a", "c", "d"]
    assert keys_of(result) == merged(["b", "a"], ["c", "a", "d"]) == ["b", "a", "c", "d"]


def test_every_writer_merges():
    """The target's keys come first; libcudf's DictionaryScatterTest."""
    target = encoded([3, 0, 2, 1, 4], ["aaa", "bbb", "ddd", "eee", "ccc"])
    source = encoded([3, 1, 0, 2, None], ["aaa", "bbb", "ccc", "xxx"])
    keys = ["aaa", "bbb", "ddd", "eee", "ccc", "xxx"]
    mask = [True, False, True, False, None]
    for result, want in [
        (table.scatter(source[:4], [0, 2, 4, 1], target), ["xxx", "ccc", "bbb", "bbb", "aaa"]),
        (table.boolean_mask_scatter(source, target, mask), ["xxx", "aaa", "bbb", "bbb", "ccc"]),
        (table.scatter(["xxx"], [1], target), ["eee", "xxx", "ddd", "bbb", "ccc"]),
        (table.boolean_mask_scatter(["xxx"], target, mask), ["xxx", "aaa", "xxx", "bbb", "ccc"]),
    ]:
        result.validate(full=True)
        assert result.to_pylist() == want and keys_of(result) == keys
    chosen = table.copy_if_else(source, target, mask)
    assert chosen.to_pylist() == ["xxx", "aaa", "aaa", "bbb", "ccc"]
    assert sorted(keys_of(chosen)) == sorted(keys)


def test_nothing_written_keeps_the_keys():
    target, source = encoded([0, 1], ["a", "b"]), encoded([0], ["c"])
    result = table.scatter(source[:0], [], target)
    assert result.to_pylist() == ["a", "b"] and keys_of(result)[:2] == ["a", "b"]
    assert table.scatter([None], [0], target).to_pylist() == [None, "b"]


@pytest.mark.parametrize("wrap", ["list", "struct", "fixed_list", "map", "list_view"])
def test_dictionaries_inside(wrap):
    """Dictionaries of children are merged in this way too."""
    chunks = [encoded([0, 1, None, 0], ["x", "y"]), encoded([2, 1, 0, 0], ["y", "z", "x"])]
    make = {
        "list": lambda inner: pa.ListArray.from_arrays(pa.array([0, 1, 4], pa.int32()), inner),
        "struct": lambda inner: pa.StructArray.from_arrays([inner], ["d"]),
        "fixed_list": lambda inner: pa.FixedSizeListArray.from_arrays(inner, 2),
        "map": lambda inner: pa.MapArray.from_arrays(pa.array([0, 1, 4], pa.int32()), pa.array(list("abcd")), inner),
        "list_view": lambda inner: pa.ListViewArray.from_arrays(
            pa.array([1, 0], pa.int32()), pa.array([2, 4], pa.int32()), inner
        ),
    }[wrap]
    column = pa.chunked_array([make(inner) for inner in chunks])
    rows = list(range(len(column)))[::-1]
    result = table.gather(column, rows)
    check(result, column, [values(column)[::-1]])
    whole = result.chunk(0)
    inner = whole.field(0) if wrap == "struct" else whole.items if wrap == "map" else whole.values
    assert values(inner.dictionary) == ["x", "y", "z"]
    scattered = table.scatter(column.chunk(1)[:2], [0, 1], column.chunk(0))
    source, target = values(column.chunk(1)), values(column.chunk(0))
    check(scattered, column.chunk(0), [source[:2] + target[2:]])


def test_null_keys():
    """A null in the dictionary counts as null, as one in the indices does."""
    a, b = encoded([0, 1, None], ["x", None]), encoded([0, 1, 2], [None, "y", "x"])
    column = pa.chunked_array([a, b])
    result = table.gather(column, [0, 1, 2, 3, 4, 5])
    result.validate(full=True)
    assert values(result) == ["x", None, None, None, "y", "x"]
    assert [key for key in keys_of(result) if key is not None] == ["x", "y"]


def test_dictionaries_beyond_their_keys(tmp_path):
    """The error names the column, of files, of chunks and inside of lists."""

    def keys(text):
        return pa.DictionaryArray.from_arrays(
            np.arange(100, dtype=np.int8), pa.array([f"{text}{k}" for k in range(100)])
        )

    nested = [pa.ListArray.from_arrays([0, 100], keys(text)) for text in "xy"]
    chunked = pa.table({"n": range(200), "key": pa.chunked_array([keys("x"), keys("y")])})
    paths = []
    for part, text in ((chunked.slice(0, 100), "x"), (chunked.slice(100), "y")):
        paths.append(tmp_path / f"{text}.arrow")
        with pa.ipc.new_file(paths[-1], part.schema) as file:
            file.write_table(part.combine_chunks())
    for source in (chunked, paths, pa.table({"key": pa.chunked_array(nested)})):
        with pytest.raises(gs.errors.DataTypeError, match=r"column 'key': .*200 values.*int8.*wider keys"):
            gs.table.gather(source, range(source.num_rows if isinstance(source, pa.Table) else 200))
    with pytest.raises(gs.errors.DataTypeError, match="200 values"):
        gs.table.gather(chunked["key"], [0, 150])
    with pytest.raises(gs.errors.DataTypeError, match="200 values"):
        gs.table.scatter(keys("x"), range(100), keys("y"))
    assert gs.table.gather(chunked, [0, 150], columns=["n"])["n"].to_pylist() == [0, 150]
