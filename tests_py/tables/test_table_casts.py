"""test_table_casts.py: text and bytes of one layout of Arrow written into another; errors that name a cast."""

from itertools import permutations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import reference_table as reference
from gatherscatter import table
from gatherscatter.errors import DataTypeError
from table_maps import rng_of
from table_types import How, in_chunks
from table_values import check, fingerprint, lists_of, wrapped

LAYOUTS_OF_TEXT = ("string", "large_string", "string_view")
LAYOUTS_OF_BYTES = ("binary", "large_binary", "binary_view")


@pytest.mark.parametrize("form", ["chunked", "table"])
@pytest.mark.parametrize("layouts", [LAYOUTS_OF_TEXT, LAYOUTS_OF_BYTES])
def test_text_and_bytes_of_another_layout_are_cast(layouts, form):
    rng = rng_of((layouts, form))
    for one, other in permutations(layouts, 2):
        for how in (How(), How(nulls=0.4, cut=True)):
            source = wrapped(in_chunks(pa.type_for_alias(one), [0, 4, 5], rng, how), form)
            target = wrapped(in_chunks(pa.type_for_alias(other), [5, 0, 15], rng, how), form)
            before = fingerprint(source), fingerprint(target)
            rows = [3, -1, 3, 0, 7]
            new, old = lists_of(source), lists_of(target)
            check(table.scatter(source[:5], rows, target), target, reference.scatter(new, 9, rows, old, 20))
            check(table.scatter(source[:0], [], target), target, old)
            mask = [row % 3 == 0 for row in range(20)]
            want = reference.boolean_mask_scatter(new, 9, old, 20, mask)
            check(table.boolean_mask_scatter(source, target, mask), target, want)
            part, mask = target.slice(4, 9), mask[:9]
            chosen = reference.copy_if_else(lists_of(part), new, 9, mask)
            check(table.copy_if_else(part, source, mask), part, chosen)
            assert (fingerprint(source), fingerprint(target)) == before


def test_text_of_another_library_is_cast():
    data = {"s": ["a", None, "a text of more than twelve bytes"], "n": [1, 2, 3]}
    arrow, frame = pa.table(data), pd.DataFrame(data)
    sources = (arrow, pl.DataFrame(data), frame, duckdb.from_arrow(arrow))
    for source in sources:
        for target in (arrow, pl.DataFrame(data), duckdb.from_arrow(arrow)):
            result = table.scatter(source, [2, 0, 1], target)
            assert type(result) is type(target)
            assert pa.table(result).to_pylist() == [arrow.to_pylist()[row] for row in (1, 2, 0)]
        result = table.scatter(source, [0, 2, 1], pl.LazyFrame(data)).collect()
        assert result.schema == pl.DataFrame(data).schema


def test_text_with_invalid_offsets_is_not_cast():
    offsets = pa.py_buffer(np.array([0, 10**6, 2], np.int32))
    source = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    for target in (pa.array(["x", "y"], pa.string_view()), pa.array(["x", "y"], pa.large_string())):
        with pytest.raises(BufferError):
            table.scatter(source, [1, 0], target)


def test_the_error_for_another_type_names_the_cast():
    for make in (pa.table, pl.DataFrame, pd.DataFrame):
        narrow, wide = make({"a": np.array([1, 2], "i4")}), make({"a": np.array([1, 2, 3], "i8")})
        with pytest.raises(DataTypeError, match=r"; source\.(cast|astype)\(target\.\w+\) casts it") as caught:
            table.scatter(narrow, [2, 0], wide)
        step = str(caught.value).split("; ")[-1].removesuffix(" casts it")
        result = table.scatter(eval(step, {"source": narrow, "target": wide}), [2, 0], wide)
        assert pa.table(result).column("a").to_pylist() == [2, 2, 1]
        with pytest.raises(DataTypeError, match=r"; source\.(cast|astype)\(target\.\w+\) casts it") as caught:
            table.scatter(narrow["a"], [2, 0], wide["a"])
        step = str(caught.value).split("; ")[-1].removesuffix(" casts it")
        result = table.scatter(eval(step, {"source": narrow["a"], "target": wide["a"]}), [2, 0], wide["a"])
        assert list(map(int, result.to_numpy())) == [2, 2, 1]
        whole = make({"b": ["x", "y"], "c": [True, False], "a": np.array([1, 2], "i8")})
        part = make({"a": np.array([3], "i4"), "b": ["z"]})
        with pytest.raises(DataTypeError, match=r"; source\.(cast|astype)\(target.+\) casts it") as caught:
            table.scatter(part, [1], whole, partial=True)
        step = str(caught.value).split("; ")[-1].removesuffix(" casts it")
        result = table.scatter(eval(step, {"source": part, "target": whole}), [1], whole, partial=True)
        assert pa.table(result).to_pydict() == {"b": ["x", "z"], "c": [True, False], "a": [1, 3]}
    categories = pd.Series(["x"], dtype="category")
    with pytest.raises(DataTypeError, match="is of category in the target") as caught:
        table.scatter(pd.Series(["y"]), [0], categories)
    assert "astype" not in str(caught.value)


@pytest.mark.parametrize("cut", [0, 1])
@pytest.mark.parametrize("layouts", [LAYOUTS_OF_TEXT, LAYOUTS_OF_BYTES])
def test_views_under_nulls_are_not_followed(layouts, cut):
    """Their bytes mean nothing; a cast of pyarrow reads a text of that length."""
    views = np.array([[13, 0x72696874, 0, 0], [1, 97, 0, 0], [-5, 0, 0, 0], [-9, 1, 2, 3]], np.int32)
    buffers = [pa.py_buffer(bytes([0b0011])), pa.py_buffer(views), pa.py_buffer(b"thirteen char")]
    source = pa.Array.from_buffers(pa.type_for_alias(layouts[2]), 4, buffers).slice(cut)
    source.validate(full=True)
    want = [None if item is None else item.as_py() for item in source]
    for layout in layouts:
        target = pa.array(["t"] * 4, pa.type_for_alias(layout)).slice(cut)
        for validate in ("basic", "full"):
            result = table.scatter(source, range(4 - cut), target, validate=validate)
            assert result.type == target.type and result.to_pylist() == want
