"""test_table_properties.py: random tables of nested types, chunks, slices, maps and masks against the naive loops."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import reference_table as reference
from gatherscatter import table
from table_maps import INTEGERS, held_against, in_arrow
from table_types import DICTIONARIES, EXTENSIONS, PLAIN, VARIABLE, How, build, random_slice
from table_values import check, fingerprint, lists_of, values

LEAVES = st.sampled_from([*PLAIN.values(), *VARIABLE.values(), *DICTIONARIES.values(), *EXTENSIONS.values()])
KEYS = st.sampled_from([pa.string(), pa.int16(), pa.binary(3), pa.large_string()])
RUN_ENDS = st.sampled_from([pa.int16(), pa.int32(), pa.int64()])


@st.composite
def fields(draw, inner, least=0, required=True):
    """Fields with names that may repeat, with metadata, and with `required` some that are not nullable."""
    made = []
    for type in draw(st.lists(inner, min_size=least, max_size=3)):
        metadata = draw(st.sampled_from([None, {"key": "value"}]))
        nullable = not (required and may_be_required(type)) or draw(st.booleans())
        made.append(pa.field(draw(st.sampled_from(["a", "b", ""])), type, nullable, metadata))
    return made


def may_be_required(type):
    """Whether a type can be declared as not nullable: not the null type, and not types with nulls in children only."""
    return not (pa.types.is_null(type) or pa.types.is_union(type) or pa.types.is_run_end_encoded(type))


@st.composite
def unions(draw, inner):
    children = draw(fields(inner, least=1, required=False))  # a missing row must be null in a child
    codes = draw(st.lists(st.integers(0, 127), min_size=len(children), max_size=len(children), unique=True))
    return draw(st.sampled_from([pa.sparse_union, pa.dense_union]))(children, codes)


def nested(inner):
    """Types with one more level of nesting."""
    one_field = fields(inner, least=1).map(lambda made: made[0])
    lists = st.sampled_from([pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
    return st.one_of(
        st.builds(lambda make, field: make(field), lists, one_field),
        st.builds(pa.list_, one_field, st.integers(0, 3)),
        st.builds(pa.struct, fields(inner)),
        st.builds(pa.map_, KEYS, inner, st.booleans()),
        st.builds(pa.run_end_encoded, RUN_ENDS, inner.filter(may_be_required)),
        unions(inner),
    )


TYPES = st.recursive(LEAVES, nested, max_leaves=5)


@st.composite
def columns(draw, type, rows=None):
    """A column of this type, in chunks that were built separately or cut out of longer ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    how = How(nulls=draw(st.sampled_from([0.0, 0.3, 1.0])), cut=draw(st.booleans()))
    lengths = draw(st.lists(st.integers(0, 20), max_size=4))
    if rows is not None:
        cuts = sorted(min(length, rows) for length in lengths)
        lengths = np.diff([0, *cuts, rows]).tolist()
    chunks = [build(type, length, rng, how) for length in lengths]
    if rows is None and draw(st.booleans()):
        chunks = [random_slice(chunk, rng) for chunk in chunks]
    return pa.chunked_array(chunks, type)


@st.composite
def maps(draw, size, most=40, nulls=True, outside=True):
    """(row numbers, the map, whether it is signed) for a table of this size."""
    dtype = draw(st.sampled_from(INTEGERS))
    info = np.iinfo(dtype)
    inside = [st.integers(max(-size, info.min), min(size - 1, info.max))] if size else []
    beside = [i for i in (-size - 1, size, 2**32, info.min, info.max) if info.min <= i <= info.max]
    others = [st.sampled_from(beside)] * outside + [st.none()] * nulls
    kinds = draw(st.sampled_from([inside, inside + inside + others]))
    rows = draw(st.lists(st.one_of(kinds), max_size=most)) if kinds else []
    form = draw(st.sampled_from(["arrow", "arrow cut", "arrow chunks", "numpy"]))
    if form == "numpy" and None not in rows:
        return rows, np.array(rows, dtype), dtype[0] == "i"
    return rows, in_arrow(rows, pa.type_for_alias(dtype), form), dtype[0] == "i"


@st.composite
def masks(draw, size):
    bits = draw(st.lists(st.sampled_from([True, False, None]), min_size=size, max_size=size))
    return bits, in_arrow(bits, pa.bool_(), draw(st.sampled_from(["arrow", "arrow cut", "arrow chunks"])))


@given(st.data())
def test_gather(data):
    source = data.draw(columns(data.draw(TYPES)))
    rows, gather_map, signed = data.draw(maps(len(source)))
    bounds = data.draw(st.sampled_from(["raise", "nullify"]))
    before = fingerprint(source)
    try:
        answer = held_against(
            lambda: reference.gather([values(source)], len(source), rows, signed, bounds),
            lambda: table.gather(source, gather_map, bounds, negative="from_end"),
        )
    finally:
        assert fingerprint(source) == before
    if answer is not None:
        check(answer[0], source, answer[1])


@given(st.data())
def test_gather_of_tables(data):
    """Columns of several types with chunks of their own."""
    rows = data.draw(st.integers(0, 30))
    types = data.draw(st.lists(TYPES, min_size=1, max_size=4))
    source = pa.table([data.draw(columns(type, rows)) for type in types], names=[str(i) for i in range(len(types))])
    picked, gather_map, signed = data.draw(maps(rows))
    want = reference.gather(lists_of(source), rows, picked, signed, "nullify")
    check(table.gather(source, gather_map, "nullify", negative="from_end"), source, want, nullify=True)


@given(st.data())
def test_scatter(data):
    type = data.draw(TYPES)
    source, target = data.draw(columns(type)), data.draw(columns(type))
    rows, scatter_map, signed = data.draw(maps(len(target), most=len(source) + 1, nulls=False))
    source = source[: len(rows)]
    answer = held_against(
        lambda: reference.scatter([values(source)], len(source), rows, [values(target)], len(target), signed),
        lambda: table.scatter(source, scatter_map, target),
    )
    if answer is not None:
        check(answer[0], target, answer[1])


@given(st.data())
def test_masks(data):
    type = data.draw(TYPES)
    target, source = data.draw(columns(type)), data.draw(columns(type))
    size = len(target)
    bits, mask = data.draw(masks(size))
    old, new = [values(target)], [values(source)]
    check(table.filter(target, mask), target, reference.filter(old, size, bits))
    answer = held_against(
        lambda: reference.boolean_mask_scatter(new, len(source), old, size, bits),
        lambda: table.boolean_mask_scatter(source, target, mask),
    )
    if answer is not None:
        check(answer[0], target, answer[1])
    other = data.draw(columns(type, size))
    check(table.copy_if_else(target, other, mask), target, reference.copy_if_else(old, [values(other)], size, bits))


@given(st.data())
def test_segmented_gather(data):
    make = data.draw(st.sampled_from([pa.list_, pa.large_list, pa.list_view, pa.large_list_view]))
    source = data.draw(columns(make(data.draw(TYPES))))
    lists = values(source)
    rows = [data.draw(st.lists(st.integers(-4, 4), max_size=4)) for _ in lists]
    bounds = data.draw(st.sampled_from(["raise", "nullify"]))
    answer = held_against(
        lambda: reference.segmented_gather(lists, rows, True, bounds),
        lambda: table.segmented_gather(source, pa.array(rows, pa.list_(pa.int8())), bounds),
    )
    if answer is not None:
        check(answer[0], source, [answer[1]])


@given(st.data())
def test_gathers_compose_and_undo_scatters(data):
    """A gather of a gather is one gather; scattered rows can be gathered; a filter is a gather of the true rows."""
    source = data.draw(columns(data.draw(TYPES)))
    size = len(source)
    first, _, _ = data.draw(maps(size, nulls=False, outside=False))
    second, _, _ = data.draw(maps(len(first), nulls=False, outside=False))
    once = table.gather(table.gather(source, first), second)
    assert values(once) == values(table.gather(source, [first[i] for i in second]))
    order = data.draw(st.permutations(range(size)))
    back = table.gather(table.scatter(source, order, source), order)
    assert values(back) == values(source)
    bits, mask = data.draw(masks(size))
    rows = [row for row, bit in enumerate(bits) if bit]
    assert values(table.filter(source, mask)) == values(table.gather(source, rows))
    assert values(table.boolean_mask_scatter(table.filter(source, mask), source, mask)) == values(source)
    kept = table.copy_if_else(source, source, mask)
    check(kept, source, [values(source)])
