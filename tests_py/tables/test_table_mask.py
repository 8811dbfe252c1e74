"""test_table_mask.py: table.boolean_mask_scatter, filter and copy_if_else for every Arrow type, layout and mask."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import reference_table as reference
from gatherscatter import table
from gatherscatter.errors import DataTypeError, InvalidArgument
from pairwise import Row, all_pairs
from table_maps import MASKS, bits_for, held_against, mask_of, name_of, rng_of
from table_types import CHUNKS, LAYOUTS, TYPES, How, in_chunks, random_chunks, random_scalar
from table_values import KINDS, check, column_of, fingerprint, lists_of, pyarrow_says, scalar_value, wrapped

SHARES = (0.0, 0.1, 0.5, 1.0)  # shares of the mask that are true
FACTORS = {
    "type": tuple(TYPES),
    "layout": tuple(LAYOUTS),
    "mask": MASKS,
    "share": SHARES,
    "kind": KINDS,
}
PARTNERS = ("plain", "nulls", "cut", "chunks", "some_nulls")


def allows(case: Row) -> bool:
    get = case.get
    return get("kind") not in ("array", "batch") or not (get("layout") in CHUNKS or get("source") in CHUNKS)


def rows_like(case: Row, rows: int) -> object:
    """A source of at least this many rows, in the case's layout and kind."""
    rng, type = rng_of(("source", case)), TYPES[case["type"]]
    how = How(nulls=0.0 if case["source"] == "plain" else 0.3, cut=case["source"] != "plain")
    lengths = [rows // 2, 0, rows - rows // 2 + 1] if case["source"] in CHUNKS else [rows + 1]
    return wrapped(in_chunks(type, lengths, rng, how), case["kind"])


# ---- boolean_mask_scatter

SCATTER_CASES = all_pairs({**FACTORS, "source": PARTNERS}, allows)


@pytest.mark.parametrize("case", SCATTER_CASES, ids=name_of)
def test_boolean_mask_scatter(case):
    rng = rng_of(case)
    target = wrapped(LAYOUTS[case["layout"]](TYPES[case["type"]], rng), case["kind"])
    size = len(column_of(target))
    bits = bits_for(case["mask"], size, case["share"], rng)
    source = rows_like(case, sum(bit is True for bit in bits))
    mask, before = mask_of(case["mask"], bits), (fingerprint(source), fingerprint(target))
    result, want = held_against(
        lambda: reference.boolean_mask_scatter(lists_of(source), len(column_of(source)), lists_of(target), size, bits),
        lambda: table.boolean_mask_scatter(source, target, mask),
    )
    check(result, target, want)
    assert (fingerprint(source), fingerprint(target)) == before
    if case["kind"] == "array":
        chosen = pa.array([bit is True for bit in bits], pa.bool_())
        theirs = pyarrow_says(pc.replace_with_mask, target.type, target, chosen, source)
        if target.type == pa.bool_() and (target.offset or source.offset) and int(pa.__version__.split(".")[0]) < 26:
            theirs = None  # pyarrow 25 ignores the offset of bits (apache/arrow#51223); 26.0.1 does not
        assert theirs is None or theirs == want[0]


SCALAR_CASES = all_pairs({**FACTORS, "given": ("list", "tuple", "bare", "dict"), "nulls": (0.0, 1.0, 0.5)}, allows)


@pytest.mark.parametrize("case", SCALAR_CASES, ids=name_of)
def test_boolean_mask_scatter_of_scalars(case):
    rng, type = rng_of(case), TYPES[case["type"]]
    target = wrapped(LAYOUTS[case["layout"]](type, rng), case["kind"])
    size = len(column_of(target))
    bits = bits_for(case["mask"], size, case["share"], rng)
    scalar, array = random_scalar(type, case["nulls"], rng)
    if case["kind"] in ("batch", "table"):
        row, given = [scalar_value(array), None], [scalar, None]
        given = {"c": scalar, "row": None} if case["given"] == "dict" else tuple(given)
    else:
        row, given = [scalar_value(array)], scalar if case["given"] == "bare" else [scalar]
    before = fingerprint(target)
    result = table.boolean_mask_scatter(given, target, mask_of(case["mask"], bits))
    check(result, target, reference.boolean_mask_scatter_scalars(row, lists_of(target), size, bits))
    assert fingerprint(target) == before


# ---- filter

FILTER_CASES = all_pairs(FACTORS, allows)


@pytest.mark.parametrize("case", FILTER_CASES, ids=name_of)
def test_filter(case):
    rng = rng_of(case)
    column = LAYOUTS[case["layout"]](TYPES[case["type"]], rng)
    source = wrapped(column, case["kind"])
    bits = bits_for(case["mask"], len(column), case["share"], rng)
    mask, before = mask_of(case["mask"], bits), fingerprint(source)
    want = reference.filter(lists_of(source), len(column), bits)
    check(table.filter(source, mask), source, want)
    assert fingerprint(source) == before
    if case["layout"] not in CHUNKS:
        theirs = pyarrow_says(pc.filter, column.type, column.chunk(0), pa.array(bits, pa.bool_()))
        assert theirs is None or theirs == want[0]


# ---- copy_if_else

CHOICE_CASES = all_pairs({**FACTORS, "source": ("plain", "nulls", "cut", "chunks")}, allows)


@pytest.mark.parametrize("case", CHOICE_CASES, ids=name_of)
def test_copy_if_else(case):
    rng, type = rng_of(case), TYPES[case["type"]]
    rhs = LAYOUTS[case["layout"]](type, rng)
    size = len(rhs)
    lengths = [size // 3, 0, size - size // 3] if case["source"] == "chunks" else [size]
    how = How(nulls=0.0 if case["source"] == "plain" else 0.3, cut=case["source"] == "cut")
    lhs = in_chunks(type, lengths, rng, how)
    bits = bits_for(case["mask"], size, case["share"], rng)
    one, other = wrapped(lhs, case["kind"]), wrapped(rhs, case["kind"])
    mask, before = mask_of(case["mask"], bits), (fingerprint(one), fingerprint(other))
    want = reference.copy_if_else(lists_of(one), lists_of(other), size, bits)
    check(table.copy_if_else(one, other, mask), one, want)
    assert (fingerprint(one), fingerprint(other)) == before
    if case["kind"] == "array" and "dictionary" not in case["type"]:  # pyarrow cannot unify dictionaries with nulls
        chosen = pa.array([bit is True for bit in bits], pa.bool_())  # pyarrow's result is null where its mask is null
        theirs = pyarrow_says(pc.if_else, type, chosen, one, other)
        assert theirs is None or theirs == want[0]


CHOICE_SCALAR_CASES = all_pairs(
    {**FACTORS, "given": ("list", "tuple", "bare", "dict"), "nulls": (0.0, 1.0, 0.5), "side": ("lhs", "rhs")}, allows
)


@pytest.mark.parametrize("case", CHOICE_SCALAR_CASES, ids=name_of)
def test_copy_if_else_of_scalars(case):
    rng, type = rng_of(case), TYPES[case["type"]]
    kept = wrapped(LAYOUTS[case["layout"]](type, rng), case["kind"])
    size = len(column_of(kept))
    bits = bits_for(case["mask"], size, case["share"], rng)
    scalar, array = random_scalar(type, case["nulls"], rng)
    if case["kind"] in ("batch", "table"):
        row, given = [scalar_value(array), None], [scalar, None]
        given = {"c": scalar, "row": None} if case["given"] == "dict" else tuple(given)
    else:
        row, given = [scalar_value(array)], scalar if case["given"] == "bare" else [scalar]
    sides, before = [lists_of(kept), [[value] * size for value in row]], fingerprint(kept)
    given, sides = ((given, kept), sides[::-1]) if case["side"] == "lhs" else ((kept, given), sides)
    result = table.copy_if_else(*given, mask_of(case["mask"], bits))
    check(result, kept, reference.copy_if_else(*sides, size, bits))
    assert fingerprint(kept) == before


def test_the_samples_are_samples():
    for cases in (SCATTER_CASES, SCALAR_CASES, FILTER_CASES, CHOICE_CASES, CHOICE_SCALAR_CASES):
        assert len(cases) >= len(TYPES) * len(LAYOUTS)


# ---- the chunks of a mask make no difference


@pytest.mark.parametrize("size", [1, 63, 64, 65, 128, 511, 512, 513, 4097])
@pytest.mark.parametrize("nulls", [False, True], ids=["", "nulls"])
def test_masks_cut_anywhere(size, nulls):
    """Masks at every bit offset within a byte, and in chunks that end within a bitmap word."""
    rng = rng_of((size, nulls))
    bits = bits_for("nulls" if nulls else "", size, 0.5, rng)
    column, other = pa.array(range(size)), pa.array(range(-size, 0))
    kept = [row for row, bit in enumerate(bits) if bit is True]
    mixed = [row if bit is True else row - size for row, bit in enumerate(bits)]
    for offset in range(10):
        mask = pa.array([True] * offset + bits + [True, None], pa.bool_()).slice(offset, size)
        for form in (mask, random_chunks(mask, rng)):
            assert table.filter(column, form).to_pylist() == kept
            assert table.copy_if_else(column, other, form).to_pylist() == mixed


def test_null_is_false():
    target, mask = pa.array([1, 2, 3]), pa.array([None, True, None])
    assert table.boolean_mask_scatter(pa.array([9]), target, mask).to_pylist() == [1, 9, 3]
    assert table.boolean_mask_scatter([9], target, mask).to_pylist() == [1, 9, 3]
    assert table.filter(target, mask).to_pylist() == [2]
    assert table.copy_if_else(pa.array([7, 8, 9]), target, mask).to_pylist() == [1, 8, 3]


def test_the_bit_under_a_null_is_not_looked_at():
    bits = pa.py_buffer(bytes([0b1111]))
    mask = pa.Array.from_buffers(pa.bool_(), 4, [pa.py_buffer(bytes([0b0100])), bits])
    assert table.filter(pa.array([0, 1, 2, 3]), mask).to_pylist() == [2]


# ---- errors

CALLS = {
    "rows": lambda target, mask: table.boolean_mask_scatter(target, target, mask),
    "scalar": lambda target, mask: table.boolean_mask_scatter([5], target, mask),
    "filter": lambda target, mask: table.filter(target, mask),
    "copy_if_else": lambda target, mask: table.copy_if_else(target, target, mask),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["array", "chunked", "batch", "table"])
def test_length_of_the_mask(name, kind):
    column = pa.chunked_array([[1, 2, 3]])
    target = {
        "array": column.chunk(0),
        "chunked": column,
        "batch": pa.record_batch({"c": column.chunk(0)}),
        "table": pa.table({"c": column}),
    }[kind]
    before = fingerprint(target)
    for mask in ([True] * 2, np.ones(4, bool), pa.array([True] * 4), pa.array([], pa.bool_()), pa.array([None, False])):
        with pytest.raises(InvalidArgument) as caught:
            CALLS[name](target, mask)
        assert str(len(mask)) in str(caught.value) and "3" in str(caught.value)
    assert fingerprint(target) == before


NOT_MASKS = [
    np.array([1, 0, 1], np.int8),
    np.array([1.0, 0.0, 1.0]),
    [1, 0, 1],
    ["a", "b", "c"],
    pa.array([1, 0, 1], pa.int8()),
    pa.array(["a", "b", "c"]),
    pa.array([True, False, True]).dictionary_encode(),
    np.array([1, 0, 1], np.uint8)[:0],
    pa.array([], pa.int8()),
]


@pytest.mark.parametrize("mask", NOT_MASKS, ids=lambda mask: f"{type(mask).__name__} {getattr(mask, 'type', '')}")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_mask(name, mask):
    target = pa.array([1, 2, 3])[: len(mask)]
    with pytest.raises(DataTypeError):
        CALLS[name](target, mask)


def test_too_few_source_rows():
    """The message contains both counts. One true row more than the source has is an error; fewer are not."""
    target = pa.table({"a": range(40), "s": ["x"] * 40})
    mask, before = np.arange(40) < 18, fingerprint(target)
    with pytest.raises(InvalidArgument, match=r"(?s)(17.*18|18.*17)"):
        table.boolean_mask_scatter(target.slice(0, 17), target, mask)
    assert fingerprint(target) == before
    assert table.boolean_mask_scatter(target.slice(0, 18), target, mask).equals(target)
    assert table.boolean_mask_scatter(target.slice(20, 20), target, mask).to_pydict()["a"][:18] == list(range(20, 38))
    assert table.boolean_mask_scatter(target.slice(0, 0), target, np.zeros(40, bool)).equals(target)


def test_columns_must_fit():
    target = pa.table({"a": [1, 2], "b": ["x", "y"]})
    mask = [True, False]
    with pytest.raises(InvalidArgument, match=r"(?s)1.*2|2.*1"):
        table.boolean_mask_scatter(target.select(["a"]), target, mask)
    with pytest.raises(DataTypeError):
        table.boolean_mask_scatter(pa.table({"a": [1], "b": [2]}), target, mask)
    with pytest.raises(ValueError, match=r"(?s)'b'.*'z'|'z'.*'b'"):
        table.boolean_mask_scatter(target.rename_columns(["a", "z"]), target, mask)
    for scalars in ([1], [1, "x", 2], []):
        with pytest.raises(InvalidArgument):
            table.boolean_mask_scatter(scalars, target, mask)
    with pytest.raises((DataTypeError, InvalidArgument)):
        table.boolean_mask_scatter(["x", 1], target, mask)


def test_both_sides_of_a_choice_must_fit():
    lhs = pa.table({"a": [1, 2], "b": ["x", "y"]})
    with pytest.raises(InvalidArgument, match=r"(?s)1.*2|2.*1"):
        table.copy_if_else(lhs, lhs.slice(0, 1), [True, False])
    with pytest.raises(InvalidArgument):
        table.copy_if_else(lhs, lhs.select(["a"]), [True, False])
    with pytest.raises(DataTypeError):
        table.copy_if_else(lhs, pa.table({"a": [1, 2], "b": [1, 2]}), [True, False])
    with pytest.raises(ValueError, match=r"(?s)'a'.*'z'|'z'.*'a'"):
        table.copy_if_else(lhs, lhs.rename_columns(["z", "b"]), [True, False])


def test_zero_columns():
    target = pa.table({"a": range(5)}).select([])
    mask = pa.array([True, False, True, None, False])
    assert table.boolean_mask_scatter(target.slice(0, 2), target, mask).num_rows == 5
    assert table.filter(target, mask).num_rows == 2
    assert table.copy_if_else(target, target, mask).num_rows == 5
    with pytest.raises(InvalidArgument):
        table.boolean_mask_scatter(target.slice(0, 1), target, mask)
