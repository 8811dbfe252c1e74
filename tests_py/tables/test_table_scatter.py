"""test_table_scatter.py: table.scatter of rows and scalars, for every Arrow type and layout, compared with loops."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
import reference_table as reference
from gatherscatter import table
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, NullIndexError
from pairwise import Row, all_pairs
from table_maps import INTEGERS, MAPS, held_against, indices_for, is_signed, map_of, name_of, rng_of
from table_types import CHUNKS, DICTIONARIES, LAYOUTS, PLAIN, TYPES, VARIABLE, How, build, in_chunks, random_scalar
from table_values import KINDS, check, column_of, fingerprint, lists_of, scalar_value, values, wrapped

NO_ROWS = ("empty", "no_chunks")
FACTORS = {
    "type": tuple(TYPES),
    "target": tuple(LAYOUTS),
    "source": ("plain", "nulls", "cut", "chunks", "some_nulls", "empty", "no_chunks"),
    "map": MAPS,
    "values": ("inside", "signed", "outside", "none"),
    "bounds": ("raise", "drop", "unchecked"),
    "negative": ("from_end", "out_of_bounds"),
    "kind": KINDS,
}


def allows(case: Row) -> bool:
    get = case.get
    if get("kind") in ("array", "batch") and (get("target") in CHUNKS or get("source") in CHUNKS):
        return False
    if get("target") in NO_ROWS and get("values") in ("inside", "signed"):
        return False
    if get("values") == "signed" and get("negative") == "out_of_bounds" and get("bounds") != "drop":
        return False  # errors, of which "outside" has enough
    if "nulls" in get("map", "") and get("bounds") in ("raise", "unchecked"):
        return False
    return get("values") != "signed" or is_signed(get("map", "list"))


CASES = all_pairs(FACTORS, allows)


def rules(case: Row) -> tuple[bool, str]:
    """Whether negative numbers count from the end, and the handling of those out of bounds."""
    return is_signed(case["map"]) and case["negative"] == "from_end", case["bounds"]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_scatter(case):
    rng, type = rng_of(case), TYPES[case["type"]]
    source = wrapped(LAYOUTS[case["source"]](type, rng), case["kind"])
    target = wrapped(LAYOUTS[case["target"]](type, rng), case["kind"])
    size, rows = len(column_of(target)), len(column_of(source))
    count = int(rng.choice([1, rows // 2, rows]))  # the last choice is every row of the source; duplicates are common
    indices = indices_for(case["map"], case["values"], size, min(count, rows), rng)[:rows]
    source = source.slice(0, len(indices))
    scatter_map, before = map_of(case["map"], indices), (fingerprint(source), fingerprint(target))
    answer = held_against(
        lambda: reference.scatter(lists_of(source), len(indices), indices, lists_of(target), size, *rules(case)),
        lambda: table.scatter(source, scatter_map, target, bounds=case["bounds"], negative=case["negative"]),
    )
    assert (fingerprint(source), fingerprint(target)) == before
    if answer is not None:
        check(answer[0], target, answer[1])


def test_the_sample_is_one():
    assert len(CASES) >= len(TYPES) * len(LAYOUTS)
    outside = [case for case in CASES if case["values"] == "outside"]
    dropped = sum(case["bounds"] == "drop" for case in outside)
    assert 0.05 < dropped / len(CASES) < 0.5
    assert 0.05 < (len(outside) - dropped) / len(CASES) < 0.5


# ---- scalars


SCALAR_FACTORS = {
    "type": tuple(TYPES),
    "target": tuple(LAYOUTS),
    "map": MAPS,
    "values": ("inside", "signed", "outside", "none"),
    "bounds": ("raise", "drop"),
    "negative": FACTORS["negative"],
    "nulls": (0.0, 1.0, 0.4),
    "given": ("bare", "list", "tuple", "dict"),
    "kind": KINDS,
}


def scalar_allows(case: Row) -> bool:
    get = case.get
    if get("given") == "dict" and get("kind") in ("array", "chunked"):
        return False  # a column has no names
    if get("given") == "bare" and get("kind") in ("batch", "table"):
        return False  # the kind has two columns
    if get("values") == "outside" and get("bounds") == "raise":
        return False  # as for rows
    return allows(case)


SCALAR_CASES = all_pairs(SCALAR_FACTORS, scalar_allows)


@pytest.mark.parametrize("case", SCALAR_CASES, ids=name_of)
def test_scatter_of_scalars(case):
    rng, type = rng_of(case), TYPES[case["type"]]
    scalar, row_of_it = random_scalar(type, case["nulls"], rng)
    target = wrapped(LAYOUTS[case["target"]](type, rng), case["kind"])
    size = len(column_of(target))
    indices = indices_for(case["map"], case["values"], size, 20, rng)
    named = case["kind"] in ("batch", "table")
    row = [scalar, -7] if named else [scalar]
    given = {
        "bare": lambda: scalar,
        "list": lambda: row,
        "tuple": lambda: tuple(row),
        "dict": lambda: {"row": -7, "c": scalar},
    }[case["given"]]()
    before = fingerprint(target)
    how = {"bounds": case["bounds"], "negative": case["negative"]}
    result = table.scatter(given, map_of(case["map"], indices), target, **how)
    new = [scalar_value(row_of_it), -7][: len(row)]
    want = reference.scatter_scalars(new, indices, lists_of(target), size, *rules(case))
    check(result, target, want)
    assert fingerprint(target) == before


PYTHON_VALUES = [
    *(name for name in PLAIN | VARIABLE | DICTIONARIES if name != "null"),
    *("list[int16]", "large_list[string]", "list_view[int64]", "fixed_list[float, 3]", "fixed_list[int8, 0]"),
    *("struct[]", "fixed_list[struct]", "map[string, int32]", "map[string, list[int32]]", "list[list[list[int32]]]"),
]


@pytest.mark.parametrize("name", PYTHON_VALUES)
def test_python_values_are_scalars(name):
    """Values from `to_pylist` can be written, also None. Scalars of a dictionary column are those of its value type."""
    type = TYPES[name]
    key_type = type.value_type if isinstance(type, pa.DictionaryType) else type
    target = build(type, 6, rng_of(name), How(nulls=0.3))
    given = build(key_type, 4, rng_of(name), How(nulls=0.3))
    if pa.types.is_temporal(type) and not pa.types.is_interval(type):  # values within the range of datetime
        given = pa.array([0, 86_399, None], f"int{type.bit_width}").view(type)
    for value in [*given.to_pylist(), None]:
        result = table.scatter([value], [1, -1, 1], target)
        new = values(pa.array([value], key_type))
        check(result, target, reference.scatter_scalars(new, [1, -1, 1], [values(target)], 6))


@pytest.mark.parametrize("name", DICTIONARIES)
def test_scalars_of_a_dictionary_are_its_keys(name):
    """As in libcudf, scalars have the value type and are added if new; pyarrow's scalars of the column's type work."""
    type = TYPES[name]
    target = build(type, 20, rng_of(name), How())
    for key in build(type.value_type, 5, rng_of((name, "keys")), How()):
        result = table.scatter([key], [3], target)
        new = values(pa.repeat(key, 1))
        check(result, target, reference.scatter_scalars(new, [3], [values(target)], 20))
        keys, old = values(result.dictionary), values(target.dictionary)
        assert keys == old + [value for value in new if value not in old]


def test_scalars_by_name_in_any_order():
    target = pa.table({"a": [1, 2, 3], "b": ["x", "y", None], "c": [[1], [], None]})
    result = table.scatter({"c": [7, None], "a": None, "b": ""}, [0, -1], target)
    assert result.to_pydict() == {"a": [None, 2, None], "b": ["", "y", ""], "c": [[7, None], [], [7, None]]}
    for names in ({"a": 1, "b": "x"}, {"a": 1, "b": "x", "d": []}, {"a": 1, "b": "x", "c": [], "d": 1}):
        with pytest.raises(InvalidArgument, match=r"'[cd]'|column"):
            table.scatter(names, [0], target)


def test_indices_is_another_name_of_the_map():
    target = pa.table({"a": [1, 2, 3]})
    assert table.scatter([9], indices=[1], target=target).to_pydict() == {"a": [1, 9, 3]}
    assert table.scatter(pa.table({"a": [9]}), indices=[1], target=target).to_pydict() == {"a": [1, 9, 3]}
    with pytest.raises(TypeError):
        table.scatter([9], [1], target, indices=[1])
    with pytest.raises(TypeError):
        table.scatter([9], target=target)
    with pytest.raises(TypeError):
        table.scatter([9], [1])


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (pa.int8(), 128),
        (pa.int8(), "1"),
        (pa.uint16(), -1),
        (pa.string(), 5),
        (pa.list_(pa.int8()), 5),
        (pa.bool_(), "yes"),
        (pa.binary(3), b"four"),
        (pa.int64(), pa.scalar(1, pa.int32())),
        (pa.decimal128(10, 2), pa.scalar(1, pa.decimal128(10, 3))),
        (pa.timestamp("us"), pa.scalar(1, pa.timestamp("ms"))),
        (pa.timestamp("us"), pa.scalar(1, pa.timestamp("us", "UTC"))),
        (pa.list_(pa.int8()), pa.scalar([1], pa.list_(pa.int16()))),
        (pa.struct([("a", pa.int8())]), pa.scalar({"a": 1}, pa.struct([("a", pa.int16())]))),
        (pa.string(), pa.scalar(None, pa.int8())),
    ],
)
def test_scalar_of_the_wrong_type(type, value):
    target = pa.nulls(3, type)
    with pytest.raises((DataTypeError, InvalidArgument)) as caught:
        table.scatter([value], [0], target)
    assert str(type) in str(caught.value) or "column" in str(caught.value)


def test_wrong_number_of_scalars():
    target = pa.table({"a": [1, 2], "b": [3, 4]})
    for scalars in ([], [1], [1, 2, 3], (1,)):
        with pytest.raises(InvalidArgument, match="2"):
            table.scatter(scalars, [0], target)


# ---- validity


def test_a_valid_row_over_a_null_one_is_valid():
    """Its text is kept, and "" does not become null (libcudf's issue 10717)."""
    cases = [
        (pa.string(), [None, "", "x"], ["", "new"]),
        (pa.struct([("f", pa.int32())]), [None, {"f": None}, {"f": 2}], [{"f": 20}, {"f": None}]),
        (pa.list_(pa.int8()), [None, [], [1]], [[], [None]]),
        (pa.map_(pa.string(), pa.int8()), [None, [], [("k", 1)]], [[], [("k", None)]]),
        (pa.string_view(), [None, "", "x" * 20], ["", "y" * 20]),
        (pa.struct([("s", pa.struct([("f", pa.string())]))]), [None, {"s": None}], [{"s": {"f": ""}}, {"s": None}]),
    ]
    for type, target, source in cases:
        target, source = pa.array(target, type), pa.array(source, type)
        for rows in ([0, 1], [1, 0], [-1, 0], [0, 0]):
            result = table.scatter(source, rows, target)
            check(result, target, reference.scatter([values(source)], 2, rows, [values(target)], len(target)))
            back = table.scatter(target[:2], [0, 1], table.scatter(source, rows, target))
            assert values(back)[:2] == values(target)[:2]


def test_empty_is_not_null():
    """For every pair of null, empty and non-empty rows."""
    for type, empty, full in [
        (pa.list_(pa.string()), [], [""]),
        (pa.large_string(), "", "x"),
        (pa.binary(), b"", b"y"),
    ]:
        rows = [None, empty, full]
        for old in rows:
            for new in rows:
                assert table.scatter(pa.array([new], type), [0], pa.array([old], type)).to_pylist() == [new]
                assert table.scatter([new], [0], pa.array([old], type)).to_pylist() == [new]


@pytest.mark.parametrize("name", TYPES)
def test_last_of_duplicates_wins(name):
    """Also for so many writes that several threads share them."""
    type, rng = TYPES[name], rng_of(name)
    source, target = build(type, 50, rng, How(nulls=0.3)), build(type, 10, rng, How(nulls=0.3))
    indices = [int(i) for i in rng.integers(-10, 10, 50)]
    want = reference.scatter([values(source)], 50, indices, [values(target)], 10)
    check(table.scatter(source, indices, target), target, want)


def test_last_of_many_duplicates_wins():
    rng = rng_of("duplicates")
    source, target = pa.array(range(600_000)), pa.array([-1] * 1000)
    indices = rng.integers(-1000, 990, 600_000)
    want = np.full(1000, -1)
    want[indices] = np.arange(600_000)  # NumPy keeps the last one too
    result = table.scatter(source, indices, target)
    assert result.to_numpy().tolist() == want.tolist()
    text = pa.array([str(i) for i in range(600_000)])
    assert table.scatter(text, indices, target.cast(pa.string())).to_pylist() == [str(i) for i in want]


# ---- errors do not change the target, and name the cause


def unchanged(call, target):
    before = fingerprint(target), lists_of(target)
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        call()
    assert (fingerprint(target), lists_of(target)) == before
    return caught.value


def test_first_bad_row():
    target = pa.table({"a": range(10), "s": ["x"] * 10})
    rows = np.zeros(2000, np.int32)
    rows[[700, 1500]] = [10, -11]
    for source in (pa.table({"a": range(2000), "s": ["y"] * 2000}), [1, "y"]):
        error = unchanged(lambda source=source: table.scatter(source, rows, target), target)
        assert isinstance(error, gs.OutOfBoundsError)
        assert (error.op, error.position, error.index, error.axis) == ("table.scatter", (700,), 10, 0)
        assert (error.size, error.count, error.total, error.from_end) == (10, 2, 2000, True)


def test_counts_and_lengths():
    target = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    error = unchanged(lambda: table.scatter(target.select(["a"]), [0], target), target)
    assert isinstance(error, InvalidArgument) and "1" in str(error) and "2" in str(error)
    error = unchanged(lambda: table.scatter(target, [0, 1, 2, 0], target), target)
    assert isinstance(error, InvalidArgument) and "4" in str(error) and "3" in str(error)
    assert table.scatter(target[:0], [], target).equals(target)
    error = unchanged(lambda: table.scatter(target, [0, 1], target), target)
    assert isinstance(error, InvalidArgument) and "give source[:2]" in str(error)
    assert table.scatter(target.slice(2, 1), [0], target).to_pydict()["a"] == [3, 2, 3]


def test_names_must_agree_where_both_have_them():
    target = pa.table({"a": [1, 2, 3], "b": [4, 5, 6]})
    error = unchanged(lambda: table.scatter(target.rename_columns(["a", "x"]), [0], target), target)
    assert isinstance(error, ValueError) and "'b'" in str(error) and "'x'" in str(error)
    error = unchanged(lambda: table.scatter(target.select(["b", "a"]), [0], target), target)
    assert isinstance(error, ValueError)
    column = target.column("a")  # the column has no name
    assert table.scatter(pa.array([9]), [0], column).to_pylist() == [9, 2, 3]


def test_kinds_mix():
    """Rows for a table may be a record batch, rows for a column an array; the target decides the kind of the result."""
    target = pa.table({"a": [1, 2, 3]})
    batch = pa.record_batch({"a": [9]})
    assert table.scatter(batch, [1], target).equals(pa.table({"a": [1, 9, 3]}))
    assert isinstance(table.scatter(target, [0, 0, 0], batch), pa.RecordBatch)
    column = pa.chunked_array([[1, 2], [3]])
    assert table.scatter(pa.array([9]), [1], column).to_pylist() == [1, 9, 3]


OTHER_TYPES = [
    ("int32", "int64"),
    ("decimal128", "decimal256"),
    ("timestamp[us]", "timestamp[ms]"),
    ("timestamp[ns]", "timestamp[ns, zone]"),
    ("string", "binary"),
    ("fixed_binary[1]", "fixed_binary[3]"),
    ("list[int16]", "list[int32 required]"),
    ("list[int16]", "list_view[int64]"),
    ("fixed_list[float, 3]", "fixed_list[int8, 0]"),
    ("struct", "struct[]"),
    ("struct[dictionary]", "struct[run_end]"),
    ("dictionary[int8, string]", "dictionary[int32, string]"),
    ("dictionary[int32, string]", "dictionary[int32, double]"),
    ("map[string, int32]", "map[int8, string, sorted]"),
    ("run_end[int16, string]", "run_end[int32, double]"),
    ("sparse_union", "dense_union"),
    ("null", "bool"),
]


@pytest.mark.parametrize(("one", "other"), [*OTHER_TYPES, *(pair[::-1] for pair in OTHER_TYPES)])
def test_types_must_be_the_same(one, other):
    rng = rng_of((one, other))
    source, target = build(TYPES[one], 3, rng, How()), build(TYPES[other], 3, rng, How())
    for kind in ("array", "table"):
        a, b = (wrapped(pa.chunked_array([column]), kind) for column in (source, target))
        error = unchanged(lambda a=a, b=b: table.scatter(a, [0], b), target)
        assert isinstance(error, DataTypeError)
        assert isinstance(unchanged(lambda a=a, b=b: table.scatter(a, [], b), target), DataTypeError)


def test_types_that_differ_in_names_alone_are_the_same():
    target = pa.array([[1], None, [2, 3]], pa.list_(pa.field("element", pa.int8())))
    source = pa.array([[7]], pa.list_(pa.field("item", pa.int8())))
    result = table.scatter(source, [1], target)
    assert result.type.equals(target.type, check_metadata=True) and result.to_pylist() == [[1], [7], [2, 3]]


@pytest.mark.parametrize("dtype", ["float32", "bool", "datetime64[s]"])
def test_wrong_maps(dtype):
    target = pa.array([1, 2, 3])
    for rows in (np.zeros(2, dtype), np.zeros(0, dtype)):
        for source in (target, [1]):
            error = unchanged(lambda source=source, rows=rows: table.scatter(source, rows, target), target)
            assert isinstance(error, IndexTypeError)


def test_null_in_a_map():
    target = pa.array([1, 2, 3])
    for source in (target, [1]):
        for bounds in ("raise", "unchecked"):
            rows = pa.array([0, 1, None], pa.int8())
            error = unchanged(lambda s=source, b=bounds, r=rows: table.scatter(s, r, target, bounds=b), target)
            assert isinstance(error, NullIndexError) and "2" in str(error)


def test_words_of_a_gather_are_answered_with_those_of_a_scatter():
    for word in ("nullify", "fill"):
        with pytest.raises(ValueError, match=f"bounds is '{word}', .*; bounds=\"drop\" leaves such rows out"):
            table.scatter([1], [0], pa.array([1]), bounds=word)
    with pytest.raises(ValueError, match='negative is 1, expected "from_end" or "out_of_bounds"'):
        table.scatter([1], [0], pa.array([1]), negative=1)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_type_of_arrow_is_a_map(dtype):
    target, source = pa.array(list("abcdef")), pa.array(["1", None, "3"])
    rows = [5, 0, 5]
    want = reference.scatter([values(source)], 3, rows, [values(target)], 6)
    check(table.scatter(source, pa.array(rows, pa.type_for_alias(dtype)), target), target, want)


def test_zero_columns():
    target = pa.table({"a": range(5)}).select([])
    result = table.scatter(target.slice(0, 2), [0, 3], target)
    assert (result.num_rows, result.num_columns) == (5, 0)
    assert table.scatter([], [0, 3], target).num_rows == 5


@pytest.mark.parametrize("name", TYPES)
def test_identity_and_empty_maps(name):
    type, rng = TYPES[name], rng_of(name)
    source, target = in_chunks(type, [20, 5], rng, How(nulls=0.3)), in_chunks(type, [3, 22], rng, How(nulls=0.3))
    check(table.scatter(source, np.arange(25), target), target, [values(source)])
    check(table.scatter(source[:0], [], target), target, [values(target)])
    check(table.scatter(target, np.arange(25)[::-1], target), target, [values(target)[::-1]])
