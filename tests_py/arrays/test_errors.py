"""test_errors.py: the error for every kind of invalid argument."""

from __future__ import annotations

import contextlib
import gc
import weakref

import numpy as np
import pytest

import gatherscatter as gs

X = np.arange(12.0).reshape(3, 4)
OOB = gs.OutOfBoundsError

# Every operator on one problem: items of X along axis 1, all rows.
CALLS = {
    "gather_dim": lambda index, **kw: gs.gather(X, 1, np.broadcast_to(index, (3, len(index))), **kw),
    "gather_axis": lambda index, **kw: gs.gather(X, index, 1, **kw),
    "take": lambda index, **kw: gs.take(X, index, 1, **kw),
    "take_along_axis": lambda index, **kw: gs.take_along_axis(X, np.asarray(index)[None], 1, **kw),
    "tile_gather": lambda index, **kw: gs.tile_gather(X, (np.arange(3)[:, None], index), check_bounds=False, **kw),
}
NATIVE = ["gather_dim", "gather_axis", "tile_gather"]
NUMPY_FACES = ["take", "take_along_axis"]
PER_ROW = ["gather_dim", "take_along_axis", "tile_gather"]  # every index is used once for each of the 3 rows
every = pytest.mark.parametrize("operator", CALLS)


# ---- index out of range


@every
def test_index_out_of_range(operator):
    with pytest.raises(OOB) as error:
        CALLS[operator](np.array([0, 1, 4, 2, 9, 3]))
    e = error.value
    rows = 3 if operator in PER_ROW else 1
    assert isinstance(e, IndexError) and isinstance(e, ValueError) and isinstance(e, RuntimeError)
    assert (e.index, e.position, e.axis, e.size, e.count) == (4, (0, 2) if rows == 3 else (2,), 1, 4, 2 * rows)
    assert str(e).startswith("index 4 is out of bounds for axis 1 with size 4")
    name = {"gather_dim": "gather", "gather_axis": "gather"}.get(operator, operator)
    assert name in str(e) and str(e.position) in str(e)
    assert f"{2 * rows} of {6 * rows}" in str(e)


@pytest.mark.parametrize(
    ("dtype", "bad"),
    [
        ("u8", 2**64 - 1),
        ("u8", 2**63),
        ("u8", 2**32 + 1),
        ("i8", 2**63 - 1),
        ("i8", -(2**63)),
        ("i8", 2**32 + 1),
        ("i8", 2**32),
        ("i8", -(2**32)),
        ("u4", 2**32 - 1),
        ("i4", -(2**31)),
        ("i4", 2**31 - 1),
        ("u2", 2**16 - 1),
        ("i2", -(2**15)),
        ("u1", 255),
        ("u1", 128),
        ("i1", -128),
        ("i1", 127),
        ("i1", -5),
        (">i4", 2**24),
        (">u8", 2**56),
        ("<i8", 4),
    ],
)
@every
def test_the_extremes_of_every_index_type(operator, dtype, bad):
    with pytest.raises(OOB) as error:
        CALLS[operator](np.array([0, bad], dtype))
    assert error.value.index == bad and type(error.value.index) is int
    assert str(error.value).startswith(f"index {bad} is out of bounds for axis 1 with size 4")


@pytest.mark.parametrize("n", [200, 128, 255])
def test_a_byte_as_index_is_not_sign_extended(n):
    x = np.arange(n)
    index = np.arange(n).astype("u1")
    np.testing.assert_array_equal(gs.gather(x, 0, index), x)
    with pytest.raises(OOB, match=f"index {n} is out of bounds"):
        gs.gather(x, 0, np.array([n], "u1"))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("bad", [[299_999], [5, 299_999], [150_000, 200_000, 250_000], list(range(10, 300_000, 7))])
def test_the_lowest_position_on_every_thread_count(threads, bad):
    index = np.zeros(300_000, "i4")
    index[bad] = np.arange(len(bad)) + 100
    with gs.thread_limit(threads), pytest.raises(OOB) as error:
        gs.gather(np.arange(50.0), 0, index)
    e = error.value
    assert (e.index, e.position, e.count) == (100, (bad[0],), len(bad))


def test_the_lowest_axis_at_that_position():
    i, j = np.array([0, 5, 5]), np.array([9, 9, 0])
    with pytest.raises(OOB) as error:
        gs.tile_gather(X, (i, j), check_bounds=False)
    assert (error.value.index, error.value.position, error.value.axis, error.value.count) == (9, (0,), 1, 3)
    with pytest.raises(OOB) as error:
        gs.tile_gather(X, (i[1:], j[1:]), check_bounds=False)
    assert (error.value.index, error.value.position, error.value.axis, error.value.size) == (5, (0,), 0, 3)


def test_the_flat_axis():
    with pytest.raises(OOB) as error:
        gs.take(X, [[0, 1], [-13, 12]])
    assert (error.value.index, error.value.position, error.value.axis, error.value.size) == (-13, (1, 0), 0, 12)


def test_the_valid_range_follows_the_rule():
    with pytest.raises(OOB, match="-4 to 3"):
        gs.gather(X, [4], 1)
    with pytest.raises(OOB, match=r"\b0 to 3"):
        gs.gather(X, [-1], 1, negative="out_of_bounds")
    with pytest.raises(OOB, match=r"\b0 to 3"):
        gs.gather(X, np.array([4], "u2"), 1)


@pytest.mark.parametrize("bounds", ["raise", "clip", "wrap"])
@pytest.mark.parametrize("n", [0])
def test_non_empty_gather_from_an_empty_axis(bounds, n):
    empty = np.zeros((3, n))
    calls = [
        lambda: gs.gather(empty, 1, np.zeros((3, 1), int), bounds=bounds),
        lambda: gs.gather(empty, [0], 1, bounds=bounds),
        lambda: gs.take(empty, [0], 1, bounds=bounds),
        lambda: gs.take(empty, [0], bounds=bounds),
        lambda: gs.take(empty, [0], 1, mode=bounds),
        lambda: gs.take_along_axis(empty, np.zeros((3, 1), int), 1, bounds=bounds),
    ]
    for call in calls:
        with pytest.raises(OOB):
            call()


# ---- dtypes

WRONG_INDICES = {
    "float": np.array([0.0, 1.0]),
    "bool": np.array([True, False]),
    "object": np.array([0, 1], object),
    "string": np.array(["0", "1"]),
    "bytes": np.array([b"0", b"1"]),
    "complex": np.array([0j, 1j]),
    "datetime": np.array([0, 1], "M8[s]"),
    "timedelta": np.array([0, 1], "m8[s]"),
    "void": np.zeros(2, "V8"),
}


@pytest.mark.parametrize("kind", WRONG_INDICES)
@pytest.mark.parametrize("operator", NATIVE)
def test_index_of_a_wrong_type(operator, kind):
    with pytest.raises(TypeError):
        CALLS[operator](WRONG_INDICES[kind])


@pytest.mark.parametrize("kind", WRONG_INDICES)
def test_index_of_a_wrong_type_in_the_numpy_functions(kind):
    """Exactly NumPy's behaviour, also where NumPy returns a result."""
    wrong = WRONG_INDICES[kind]
    for ours, numpys in [
        (lambda: gs.take(X, wrong, 1), lambda: X.take(wrong, 1)),
        (lambda: gs.take_along_axis(X, wrong[None], 1), lambda: np.take_along_axis(X, wrong[None], 1)),
    ]:
        try:
            expected = numpys()
        except Exception as error:
            with pytest.raises(type(error)) as ours_raised:
                ours()
            assert type(ours_raised.value) is type(error)
        else:
            np.testing.assert_array_equal(ours(), expected, strict=True)


@pytest.mark.parametrize(
    "index", [None, "abc", 1.5, object(), {0}, {"a": 1}, [[0], [1, 2]], [0.5], ["a"], [None], slice(2), ...]
)
def test_index_that_is_no_array(index):
    with pytest.raises((TypeError, ValueError)):
        gs.gather(X, index, axis=0)
    with pytest.raises((TypeError, ValueError)):
        gs.gather(X, 0, index)


STRUCT_WITH_OBJECT = np.dtype([("a", "i4"), ("b", "O")])


@pytest.mark.parametrize("dtype", [np.dtype(object), STRUCT_WITH_OBJECT, np.dtypes.StringDType()], ids=str)
@every
def test_references_are_refused(operator, dtype):
    x = np.zeros((3, 4), dtype)
    index = np.zeros((3, 1), int)
    call = {
        "gather_dim": lambda: gs.gather(x, 1, index),
        "gather_axis": lambda: gs.gather(x, index, 1),
        "take": lambda: gs.take(x, index, 1),
        "take_along_axis": lambda: gs.take_along_axis(x, index, 1),
        "tile_gather": lambda: gs.tile_gather(x, (index, index)),
    }[operator]
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("mask", [np.ones(2, "u1"), np.ones(2), np.ones(2, object), [1, 0], 1, "x"], ids=repr)
@pytest.mark.parametrize("operator", ["gather_axis", "take", "take_along_axis", "gather_dim"])
def test_mask_not_bool(operator, mask):
    with pytest.raises(TypeError):
        CALLS[operator](np.array([0, 1]), mask=mask)


@pytest.mark.parametrize("mask", [np.ones(2, "u1"), np.ones(2), 1], ids=repr)
def test_tile_mask_not_bool(mask):
    with pytest.raises(gs.errors.TileTypeError):
        gs.tile_gather(np.arange(3), np.array([0, 1]), mask=mask)


def test_padding_that_does_not_cast():
    with pytest.raises(gs.errors.TileTypeError):
        gs.tile_gather(np.arange(3), np.array([0]), padding_value=7.0)
    with pytest.raises(gs.errors.TileValueError):
        gs.tile_gather(np.arange(3, dtype="i1"), np.array([0]), padding_value=128)


def test_tile_errors_are_type_and_value_errors():
    assert issubclass(gs.errors.TileTypeError, gs.errors.TileError)
    assert issubclass(gs.errors.TileTypeError, TypeError)
    assert issubclass(gs.errors.TileValueError, gs.errors.TileError) and issubclass(
        gs.errors.TileValueError, ValueError
    )


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i1", 128),
        ("i1", -129),
        ("u1", -1),
        ("u1", 256),
        ("i8", 2**63),
        ("i4", 0.5),
        ("i4", np.nan),
        ("?", 2),
        ("f4", 1j),
        ("f4", 1e300),
        ("f4", "1"),
        ("f4", [1.0, 2.0]),
        ("M8[s]", 5),
        ("S2", b"abc"),
        ("U2", "abc"),
    ],
)
def test_fill_value_that_does_not_fit(dtype, value):
    x = np.zeros(3, dtype)
    for call in (
        lambda: gs.gather(x, 0, np.array([9]), bounds="fill", fill_value=value),
        lambda: gs.gather(x, 0, np.array([0]), bounds="fill", fill_value=value),  # also if no point needs it
        lambda: gs.take(x, [0], bounds="fill", fill_value=value),
    ):
        with pytest.raises(ValueError):
            call()


# ---- out


def out_of(dtype="f8", shape=(3, 2)):
    return np.full(shape, 7, dtype)


@pytest.mark.parametrize("dtype", ["f4", "i8", "c16", ">f8", "M8[s]", "V8", "O"])
@pytest.mark.parametrize("operator", ["gather_dim", "gather_axis", "take", "take_along_axis"])
def test_out_of_another_dtype(operator, dtype):
    out = np.zeros((3, 2), dtype)
    with pytest.raises(TypeError):
        CALLS[operator](np.array([0, 1]), out=out)
    assert out.tobytes() == np.zeros((3, 2), dtype).tobytes()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2, 1), (3, 3), (), (0,), (1, 2)])
@pytest.mark.parametrize("operator", ["gather_dim", "gather_axis", "take", "take_along_axis"])
def test_out_of_another_shape(operator, shape):
    with pytest.raises(ValueError) as error:
        CALLS[operator](np.array([0, 1]), out=out_of(shape=shape))
    assert str(shape) in str(error.value) and "(3, 2)" in str(error.value)


@pytest.mark.parametrize("operator", ["gather_dim", "gather_axis", "take", "take_along_axis"])
def test_out_read_only(operator):
    out = out_of()
    out.flags.writeable = False
    with pytest.raises(ValueError):
        CALLS[operator](np.array([0, 1]), out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("out", [[1, 2], 5, "x", (), object()], ids=lambda value: repr(value).split(" at ")[0])
def test_out_that_is_no_array(out):
    with pytest.raises(TypeError):
        gs.gather(X, [0, 1], 1, out=out)


@pytest.mark.parametrize("operator", ["gather_dim", "gather_axis", "take", "take_along_axis"])
def test_an_error_leaves_out_and_arguments_untouched(operator):
    index, out, before = np.array([0, 1, 3, 4]), out_of(shape=(3, 4)), X.copy()
    with pytest.raises(OOB):
        CALLS[operator](index, out=out)
    assert (out == 7).all() and (before == X).all() and index.tolist() == [0, 1, 3, 4]


def test_an_error_leaves_a_large_out_untouched():
    out, index = np.full(300_001, 7.0), np.zeros(300_001, int)
    index[-1] = 5
    with pytest.raises(OOB):
        gs.gather(np.ones(3), 0, index, out=out)
    assert (out == 7).all()


# ---- shapes, sizes, keywords


def test_take_along_axis_shapes():
    with pytest.raises(ValueError) as error:
        gs.take_along_axis(X, np.zeros((2, 4), int), 1)
    assert "(3, 4)" in str(error.value) and "(2, 4)" in str(error.value)
    for wrong in (np.zeros(3, int), np.zeros((1, 3, 4), int)):
        with pytest.raises(ValueError):
            gs.take_along_axis(X, wrong, 1)
    with pytest.raises(ValueError):
        gs.take_along_axis(X, np.zeros((1, 3), int), None)


@pytest.mark.parametrize("axis", [2, -3])
@pytest.mark.parametrize("call", [lambda axis: gs.take(X, [0], axis), lambda axis: gs.take_along_axis(X, [[0]], axis)])
def test_axis_of_the_numpy_faces(call, axis):
    with pytest.raises(np.exceptions.AxisError):
        call(axis)


def test_sizes_that_overflow_64_bits():
    zero = np.int8(0)
    huge = np.broadcast_to(np.uint8(1), (2**30, 2, 2**30))
    with pytest.raises(ValueError):
        gs.gather(huge, np.broadcast_to(zero, (2**10,)), 1)
    with pytest.raises(ValueError):
        gs.take(huge, np.broadcast_to(zero, (2**10,)), 1)
    with pytest.raises(ValueError):
        gs.tile_gather(np.arange(3.0), np.broadcast_to(zero, (2**62,)))  # 2**65 bytes
    with pytest.raises(ValueError):
        gs.take_along_axis(np.broadcast_to(np.uint8(1), (2**32, 1, 1)), np.broadcast_to(zero, (1, 2**32, 4)), 2)


def test_too_large_for_the_memory():
    index = np.broadcast_to(np.intp(0), (2**50,))
    for call in (lambda: gs.gather(np.arange(3.0), 0, index), lambda: gs.take(np.arange(3.0), index)):
        with pytest.raises(MemoryError):
            call()
    assert gs.gather(np.arange(3.0), 0, [2]).tolist() == [2.0]


@pytest.mark.parametrize(
    "keyword", [{"bounds": "nearest"}, {"bounds": "drop"}, {"negative": "wrap"}, {"negative": ""}], ids=str
)
@pytest.mark.parametrize("operator", ["gather_dim", "gather_axis", "take", "take_along_axis"])
def test_unknown_rules(operator, keyword):
    with pytest.raises(ValueError) as error:
        CALLS[operator](np.array([0]), **keyword)
    assert next(iter(keyword)) in str(error.value)


@pytest.mark.parametrize("keyword", [{"bounds": 3}, {"negative": None}, {"bounds": b"raise"}], ids=str)
def test_rules_that_are_no_strings(keyword):
    with pytest.raises((TypeError, ValueError)):
        gs.gather(X, [0], 1, **keyword)


def test_mode_and_bounds_must_not_disagree():
    with pytest.raises(ValueError):
        gs.take(X, [0], mode="clip", bounds="wrap")
    with pytest.raises(ValueError):
        gs.take(X, [0], mode="nearest")


@pytest.mark.parametrize("n", [0, -1])
def test_threads_below_1(n):
    with pytest.raises(ValueError):
        gs.set_num_threads(n)
    with pytest.raises(ValueError), gs.thread_limit(n):
        pass


@pytest.mark.parametrize(
    "x", [None, 5, "abc", [[1, 2], [3]], object(), {1: 2}, b"abc"], ids=lambda value: repr(value).split(" at ")[0]
)
def test_input_that_is_no_array(x):
    with pytest.raises(TypeError):
        gs.gather(x, 0, np.array([0]))
    with pytest.raises(TypeError):
        gs.gather(x, 0, np.array([0]), bounds="fill", fill_value=1)
    with pytest.raises(TypeError):
        gs.gather(x, np.array([0]), axis=0)
    with pytest.raises(TypeError):
        gs.tile_gather(x, np.array([0]))


def test_masked_arrays_and_matrices_only_through_the_numpy_faces():
    for x in (np.ma.masked_array(X, X > 5), X.view(np.matrix)):
        with pytest.raises(TypeError):
            gs.gather(x, 1, np.zeros((3, 1), int))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: gs.take(x, [10**9], 0),
        lambda x: gs.take(x, np.array([0]), 0, out=np.zeros(1, "f4")),
        lambda x: gs.put(x, [10**9], 1.0),
        lambda x: gs.put(x, np.array([10**9]), np.array([1.0])),
        lambda x: gs.put_along_axis(x, np.array([10**9]), np.array([1.0]), 0),
        lambda x: gs.compress([False, False, False, True], x),
        lambda x: gs.take(np.ma.array(x), [10**9]),
    ],
    ids=["take", "out", "put", "put of arrays", "put_along_axis", "compress", "masked"],
)
def test_an_error_does_not_keep_the_arguments_alive(call):
    gc.collect()
    gc.disable()
    try:
        x = np.ones(3)
        alive = weakref.ref(x)
        with contextlib.suppress(IndexError, TypeError):
            call(x)
        del x
        assert alive() is None
    finally:
        gc.enable()


def test_operators_have_weak_references():
    assert weakref.ref(gs.take)() is gs.take
    assert weakref.ref(gs.gather_nd)() is gs.gather_nd
