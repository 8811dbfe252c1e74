"""test_table_gather.py: table.gather for every Arrow type, layout and map, compared with loops and with pyarrow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import gatherscatter as gs
import reference_table as reference
from gatherscatter import table
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, LogicError, NullIndexError
from pairwise import Row, all_pairs
from table_maps import INTEGERS, MAPS, held_against, indices_for, is_signed, map_of, name_of, rng_of
from table_types import CHUNKS, LAYOUTS, ROWS, TYPES, How, build, in_chunks, random_chunks, random_slice
from table_values import KINDS, check, column_of, fingerprint, lists_of, pyarrow_says, values, wrapped

FACTORS = {
    "type": tuple(TYPES),
    "layout": tuple(LAYOUTS),
    "map": MAPS,
    "values": ("inside", "signed", "outside", "none"),
    "bounds": ("raise", "nullify", "unchecked"),
    "kind": KINDS,
}
WITHOUT_NULLS = ("plain", "cut_plain", "one")


def allows(case: Row) -> bool:
    get = case.get
    if get("kind") in ("array", "batch") and get("layout") in CHUNKS:
        return False  # they have one chunk
    if get("layout") in ("empty", "no_chunks") and get("values") in ("inside", "signed"):
        return False
    if get("values") == "signed" and not is_signed(get("map", "list")):
        return False
    if get("bounds") in ("raise", "unchecked") and "nulls" in get("map", "list"):
        return False  # nulls in the map are an error, tested below
    return get("bounds") != "unchecked" or get("values") != "outside"


CASES = all_pairs(FACTORS, allows)


def source_of(case: Row) -> tuple[pa.ChunkedArray, bool]:
    """The column, and whether its field is nullable."""
    column = LAYOUTS[case["layout"]](TYPES[case["type"]], rng_of(case))
    return column, case["layout"] not in WITHOUT_NULLS or case["type"] == "null"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_gather(case):
    column, nullable = source_of(case)
    source = wrapped(column, case["kind"], nullable)
    rng = rng_of(case)
    indices = indices_for(case["map"], case["values"], len(column), int(rng.choice([1, 40, 300])), rng)
    gather_map, bounds = map_of(case["map"], indices), case["bounds"]
    before = fingerprint(source)
    answer = held_against(
        lambda: reference.gather(lists_of(source), len(column), indices, is_signed(case["map"]), bounds),
        lambda: table.gather(source, gather_map, bounds, negative="from_end"),
    )
    assert fingerprint(source) == before
    if answer is not None:
        result, want = answer
        check(result, source, want, bounds == "nullify")
        if isinstance(column.type, pa.DictionaryType) and len(column.chunks) == 1 and dictionary_arrives(case):
            assert values(dictionary_of(result)) == values(column.chunk(0).dictionary)
        if bounds == "raise" and case["layout"] not in CHUNKS:
            rows = pa.array([i % len(column) for i in indices], pa.int64())
            theirs = pyarrow_says(pc.take, column.type, column.chunk(0), rows)
            assert theirs is None or theirs == want[0]


def dictionary_arrives(case: Row) -> bool:
    """pyarrow (26) exports tables without their empty chunks, and so without the dictionaries of these."""
    return case["kind"] != "table" or case["layout"] != "empty"


def dictionary_of(data) -> pa.Array:
    column = column_of(data)
    return (column.chunk(0) if isinstance(column, pa.ChunkedArray) else column).dictionary


def test_the_sample_is_one():
    """The sample contains cases of every outcome: results, errors, results with missing rows."""
    assert len(CASES) >= len(TYPES) * len(MAPS)
    errors = sum(case["bounds"] == "raise" and case["values"] == "outside" for case in CASES)
    missing = sum(case["bounds"] == "nullify" for case in CASES)
    arrays = [build(type, 3, rng_of(type), How()) for type in TYPES.values()]
    assert sum(pyarrow_says(pc.take, array.type, array, [0, 2]) is not None for array in arrays) >= 80
    assert 0.05 < errors / len(CASES) < 0.3 and 0.3 < missing / len(CASES) < 0.7


# ---- maps


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_type_of_arrow_is_a_map(dtype):
    column = build(pa.string(), 50, rng_of(dtype), How(nulls=0.2))
    for rows in ([3, 49, 0, 0], [3, None, 99], []):
        want = reference.gather([values(column)], 50, rows, bounds="nullify")
        check(table.gather(column, pa.array(rows, pa.type_for_alias(dtype)), "nullify"), column, want)


NOT_MAPS = {
    "float": np.array([0.0, 1.0]),
    "bool": np.array([True, False]),
    "datetime": np.array([0, 1], "datetime64[s]"),
    "text": ["a"],
    "arrow float": pa.array([0.0, 1.0]),
    "arrow bool": pa.array([True, False]),
    "arrow string": pa.array(["a"]),
    "arrow timestamp": pa.array([0, 1], pa.timestamp("ms")),
    "arrow date": pa.array([0, 1], pa.date32()),
    "arrow duration": pa.array([0, 1], pa.duration("s")),
    "arrow decimal": pa.array([0, 1], pa.decimal128(5, 0)),
    "arrow lists": pa.array([[0], [1]]),
    "arrow dictionary": pa.array([0, 1]).dictionary_encode(),
    "arrow chunks": pa.chunked_array([pa.array([0.5])]),
}


@pytest.mark.parametrize("bounds", ["raise", "nullify", "unchecked"])
@pytest.mark.parametrize("empty", [False, True], ids=["", "empty"])
@pytest.mark.parametrize("name", NOT_MAPS)
def test_what_is_no_map(name, empty, bounds):
    gather_map = NOT_MAPS[name]
    if empty and name == "text":
        return  # an empty list is an empty map
    with pytest.raises(IndexTypeError) as caught:
        table.gather(pa.array([1, 2, 3]), gather_map[:0] if empty else gather_map, bounds)
    assert isinstance(caught.value, LogicError) and isinstance(caught.value, TypeError)


def test_a_map_has_one_axis():
    with pytest.raises((ValueError, TypeError), match=r"1|one"):
        table.gather(pa.array([1, 2, 3]), np.zeros((2, 2), np.int64))


@pytest.mark.parametrize("kind", KINDS)
def test_empty_list_is_an_empty_map(kind):
    source = wrapped(LAYOUTS["nulls"](pa.string(), rng_of(kind)), kind)
    check(table.gather(source, []), source, [[] for _ in lists_of(source)])


@pytest.mark.parametrize("size", [0, 1, 5])
def test_full_width_of_a_map(size):
    """2**32 + 1 is not truncated to row 1, and -(2**63) is no row of any table."""
    column = pa.array(range(size), pa.int64())
    wide = [2**32, 2**32 + 1, 2**31, 2**33 + size - 1, 2**63 - 1]
    for dtype, rows in [
        (np.uint64, [*wide, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - max(size, 1)]),
        (np.int64, [*wide, -(2**63), -(2**63) + 1, -(2**32), -(2**32) + 1, -size - 1]),
        (np.uint32, [2**31, 2**32 - 1]),
        (np.int32, [2**31 - 1, -(2**31), -(2**31) + 1]),
    ]:
        for negative in ("from_end", "out_of_bounds"):
            result = table.gather(column, np.array(rows, dtype), "nullify", negative=negative)
            assert result.null_count == len(rows)
        for row in rows:
            with pytest.raises(gs.OutOfBoundsError) as caught:
                table.gather(column, np.array([row], dtype))
            assert caught.value.index == row and caught.value.size == size
            assert caught.value.from_end == (np.dtype(dtype).kind == "i")


def test_unsigned_maps_do_not_count_from_the_end():
    column = pa.array(range(200), pa.int16())
    assert table.gather(column, np.array([255, 128], np.uint8), "nullify").to_pylist() == [None, 128]
    assert table.gather(column, np.array([-1, -128], np.int8), "nullify", negative="from_end").to_pylist() == [199, 72]
    assert table.gather(column, np.array([-200, -201], np.int16), "nullify", negative="from_end").to_pylist() == [
        0,
        None,
    ]


# ---- errors


@pytest.mark.parametrize("kind", KINDS)
def test_first_bad_row(kind):
    source = wrapped(LAYOUTS["nulls"](pa.string(), rng_of(kind)), kind)
    gather_map = np.arange(5000) % ROWS
    gather_map[[1234, 1300, 4999]] = [ROWS, -ROWS - 1, 2**40]
    with pytest.raises(gs.OutOfBoundsError) as caught:
        table.gather(source, gather_map)
    error = caught.value
    assert (error.op, error.position, error.index, error.axis) == ("table.gather", (1234,), ROWS, 0)
    assert (error.size, error.count, error.total, error.from_end) == (ROWS, 3, 5000, True)


@pytest.mark.parametrize("name", TYPES)
def test_unchecked_never_reads_outside(name):
    """The result of a bad row number is not specified: an error, or any row of the source."""
    column = build(TYPES[name], 40, rng_of(name), How(nulls=0.2, cut=True))
    rows = np.array([0, 39, 40, -41, 2**62, -(2**63), 7])
    old = values(column)
    try:
        result = table.gather(column, rows, "unchecked")
    except gs.OutOfBoundsError as error:
        assert error.position == (2,)
    else:
        result.validate(full=True)
        new = values(result)
        assert [new[0], new[1], new[6]] == [old[0], old[39], old[7]] and all(row in old for row in new)
    with pytest.raises(gs.OutOfBoundsError):  # an empty source has no row to return
        table.gather(column.slice(0, 0), rows, "unchecked")


@pytest.mark.parametrize("bounds", ["raise", "unchecked"])
@pytest.mark.parametrize("form", ["arrow nulls int64", "arrow nulls cut uint16", "arrow chunks nulls int8"])
def test_null_in_a_map(form, bounds):
    column = pa.array(range(50))
    with pytest.raises(NullIndexError, match=r"\b3\b") as caught:
        table.gather(column, map_of(form, [0, 1, 2, None, 4, None]), bounds)
    assert isinstance(caught.value, InvalidArgument) and isinstance(caught.value, LogicError)
    empty = map_of(form, [])
    assert len(table.gather(column, empty, bounds)) == 0


def test_the_row_under_a_null_is_not_looked_at():
    """The number under a null is not read, for any value."""
    numbers = np.array([1, 77, -99, 2**60], np.int64)
    bits = pa.py_buffer(bytes([0b0001]))
    gather_map = pa.Array.from_buffers(pa.int64(), 4, [bits, pa.py_buffer(numbers)])
    assert table.gather(pa.array(["a", "b"]), gather_map, "nullify").to_pylist() == ["b", None, None, None]


@pytest.mark.parametrize("word", ["bounds", "validate"])
def test_unknown_options(word):
    with pytest.raises(ValueError, match="nothing"):
        table.gather(pa.array([1]), [0], **{word: "nothing"})


@pytest.mark.parametrize("level", ["basic", "full"])
@pytest.mark.parametrize("layout", ["cut", "chunks", "no_chunks"])
@pytest.mark.parametrize("name", TYPES)
def test_levels_of_validation_take_what_is_valid(name, layout, level):
    column = LAYOUTS[layout](TYPES[name], rng_of((name, layout)))
    rows = list(range(len(column)))[::-1]
    check(table.gather(column, rows, validate=level), column, [values(column)[::-1]])


# ---- tables


def test_zero_columns_have_rows():
    source = pa.table({"a": range(5)}).select([])
    assert source.num_rows == 5
    for bounds in ("raise", "nullify"):
        result = table.gather(source, [0, 2, 4, 1], bounds)
        assert isinstance(result, pa.Table) and (result.num_rows, result.num_columns) == (4, 0)
    with pytest.raises(gs.OutOfBoundsError):
        table.gather(source, [5])
    assert table.gather(source, [5, 6], "nullify").num_rows == 2


def test_every_type_in_one_table():
    """Columns with different chunks and one map: schema, duplicate names, metadata, order."""
    rng = rng_of("every type")
    columns = [in_chunks(type, [20, k % 7, 60 - k % 7], rng, How(nulls=0.2)) for k, type in enumerate(TYPES.values())]
    fields = [pa.field(f"c{k % 50}", type, metadata={"k": str(k)}) for k, type in enumerate(TYPES.values())]
    source = pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata={"pandas": "{}"}))
    rows = [int(i) for i in rng.integers(-80, 80, 200)]
    check(table.gather(source, rows), source, reference.gather(lists_of(source), 80, rows))
    rows += [80, -81]
    want = reference.gather(lists_of(source), 80, rows, bounds="nullify")
    check(table.gather(source, rows, "nullify", negative="from_end"), source, want, nullify=True)


@pytest.mark.parametrize("name", TYPES)
def test_every_chunking_gives_the_same(name):
    """The result does not depend on the chunks of source and map."""
    rng = rng_of(name)
    whole = build(TYPES[name], 60, rng, How(nulls=0.3, cut=True))
    rows = [int(i) for i in rng.integers(-60, 60, 90)]
    want = reference.gather([values(whole)], 60, rows)
    for _ in range(3):
        source, gather_map = random_chunks(whole, rng), random_chunks(pa.array(rows, pa.int32()), rng)
        check(table.gather(source, gather_map), source, want)


@pytest.mark.parametrize("name", TYPES)
def test_gather_of_a_gather(name):
    """A result can be an argument: results are sliced, gathered and exported by pyarrow without loss."""
    rng = rng_of(name)
    column = in_chunks(TYPES[name], [30, 30], rng, How(nulls=0.2))
    once = table.gather(column, [int(i) for i in rng.integers(0, 60, 100)])
    part = random_slice(once.chunk(0), rng)
    rows = [int(i) for i in rng.integers(0, len(part), 50)] if len(part) else []
    check(table.gather(part, rows), part, reference.gather([values(part)], len(part), rows))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("layout", ["empty", "no_chunks"])
def test_nullify_of_nothing(name, layout):
    """In a table without rows every row is missing."""
    source = wrapped(LAYOUTS[layout](TYPES[name], rng_of(name)), "table", nullable=name == "null")
    check(table.gather(source, [0, -1, 5], "nullify", negative="from_end"), source, [[None] * 3] * 2, nullify=True)
    check(table.gather(source, [], "nullify"), source, [[]] * 2, nullify=True)
    check(table.gather(source, []), source, [[]] * 2)


def test_missing_rows_of_a_union_are_null_in_a_child():
    for name in ("sparse_union", "dense_union", "dense_union[list, dictionary]"):
        column = build(TYPES[name], 9, rng_of(name), How())
        result = table.gather(column, [2, 9, 3], "nullify")
        result.validate(full=True)
        code, value = values(result)[1]
        assert code in column.type.type_codes and value is None
        assert values(result)[::2] == values(column)[2:4]


@pytest.mark.parametrize("make", [pa.sparse_union, pa.dense_union])
def test_missing_rows_of_a_union_of_required_children(make):
    """The child that holds the null becomes nullable, as a field of the table does."""
    type = make([pa.field("a", pa.int8(), nullable=False), pa.field("b", pa.string(), nullable=False)])
    column = build(type, 9, rng_of(type), How())
    check(table.gather(column, [3, 0]), column, reference.gather([values(column)], 9, [3, 0]))
    result = table.gather(column, [3, 9], "nullify")
    result.validate(full=True)
    assert values(result)[0] == values(column)[3] and values(result)[1][1] is None
    assert [result.type.field(i).type for i in range(2)] == [pa.int8(), pa.string()]


@pytest.mark.parametrize("make", [pa.sparse_union, pa.dense_union])
@pytest.mark.parametrize(
    "wrap", [lambda type: type, lambda type: pa.struct([("u", type)]), lambda type: pa.list_(type, 2)]
)
def test_a_union_without_fields_has_no_missing_row(make, wrap):
    source = pa.chunked_array([], wrap(make([])))
    assert len(table.gather(source, [], "nullify")) == 0
    with pytest.raises(DataTypeError, match=r"union<>.* has no field that could hold a missing row"):
        table.gather(source, [0], "nullify")


@pytest.mark.parametrize("wrap", [lambda field: pa.struct([field]), lambda field: pa.list_(field, 2)])
def test_missing_rows_over_required_keys(wrap):
    """A dictionary without keys has no key for a row that is missing in its parent."""
    type = wrap(pa.field("d", pa.dictionary(pa.int8(), pa.string()), nullable=False))
    for source in (pa.chunked_array([], type), pa.array([], type)):
        result = table.gather(source, [None, 3], "nullify")
        result.validate(full=True)
        assert values(result) == [None, None]


def test_missing_rows_of_a_required_child():
    """In a list of required elements, a missing row is null itself and has no elements."""
    type = TYPES["list[int32 required]"]
    column = build(type, 5, rng_of("required"), How())
    result = table.gather(column, [1, 7], "nullify")
    result.validate(full=True)
    assert result.type == type and result[1].as_py() is None and result.values.null_count == 0


# ---- views


@pytest.mark.parametrize("name", ["string_view", "binary_view", "list[large_list_view[string_view]]"])
@pytest.mark.parametrize("layout", ["nulls", "cut", "chunks"])
def test_views_share_their_text(name, layout):
    """Buffers of views are those of the source, at equal addresses: no text is copied."""
    column = LAYOUTS[layout](TYPES[name], rng_of((name, layout)))
    result = table.gather(column, np.arange(len(column)), "nullify")

    def texts(array):
        while hasattr(array, "values"):
            array = array.values
        return {(buffer.address, buffer.size) for buffer in array.buffers()[2:]}

    theirs = set().union(*(texts(chunk) for chunk in column.chunks))
    assert texts(result.chunk(0)) <= theirs
    assert values(result) == values(column)


def test_results_outlive_their_source():
    column = pa.array(["a text of more than twelve bytes", "b" * 40] * 100, pa.string_view())
    expected = column.to_pylist()
    result = table.gather(column, np.arange(200))
    del column
    pa.array(["overwritten " * 10] * 1000, pa.string_view())
    assert result.to_pylist() == expected
