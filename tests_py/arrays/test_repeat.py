"""test_repeat.py: repeat has NumPy's results and errors, on arrays of every library."""

from __future__ import annotations

import itertools
from array import array as python_array

import numpy as np
import pytest

import gatherscatter as gs
import reference
from layouts import LAYOUTS, lay_out, torch
from numpy_answers import matrix

A = np.arange(24).reshape(2, 3, 4)
COUNTS = {
    "zero": 0,
    "one": 1,
    "three": 3,
    "bool": True,
    "numpy scalar": np.int8(2),
    "unsigned": np.uint32(2),
    "uint64": np.uint64(2),
    "0-d": np.array(2),
    "one in a list": [2],
    "two": (1, 2),
    "three in an array": np.array([2, 0, 1], "i2"),
    "byte-swapped": np.array([2, 0, 1], ">i4"),
    "bools": [True, False, True],
    "four": [0, 1, 2, 3],
    "24": np.arange(24) % 3,
    "buffer": python_array("l", [1, 0, 3]),
    "negative": -1,
    "negative among others": [1, -1, 2],
    "float": 1.5,
    "floats": np.array([1.0, 2.0, 3.0]),
    "list of floats": [1.0, 2.0, 3.0],
    "2-d": [[1, 2, 3]],
    "empty": [],
    "empty integers": np.zeros(0, int),
    "huge": 2**70,
    "word": "a",
    "None": None,
    "datetime": np.array([1, 2, 3], "m8[s]"),
}
# The axes that no source has are tested with valid counts: of two errors NumPy raises the first one.
AXES = [None, 0, -1, 1, True, 1.0, "0", (0,)]
SOURCES = {
    "3-d": A,
    "1-d": np.arange(3),
    "F order": np.asfortranarray(A[0]),
    "reversed": A[::-1, :, ::-1],
    "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "read-only": np.frombuffer(b"abc", "u1"),
    "empty": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "0-d": np.array(5),
    "number": 5,
    "numpy scalar": np.float32(2),
    "list": [1, 2, 3],
    "nested list": [[1, 2], [3, 4]],
    "matrix": matrix([[1, 2], [3, 4]]),
    "recarray": np.rec.array([(1, b"a"), (2, b"b")], dtype=[("a", "i4"), ("b", "S1")]),
    "strings": np.array(["a", "bc", "d"]),
    "dates": np.array([1, 2, 3], "M8[s]"),
}


def assert_numpys(a, counts, axis):
    try:
        expected, error = np.repeat(a, counts, axis), None
    except Exception as raised:
        expected, error = None, raised
    if error is None:
        result = gs.repeat(a, counts, axis)
        assert type(result) is type(expected)
        np.testing.assert_array_equal(result, expected, strict=True)
        assert result.flags.c_contiguous and result.flags.writeable
    else:
        with pytest.raises(type(error)) as raised:
            gs.repeat(a, counts, axis)
        assert str(raised.value) == str(error)


@pytest.mark.parametrize("axis", AXES, ids=repr)
@pytest.mark.parametrize("kind", SOURCES)
def test_results_and_errors_are_numpys(kind, axis):
    a = SOURCES[kind]
    has_axis = axis != 1 or type(axis) is not int or np.ndim(a) > 1
    for counts in COUNTS.values() if has_axis else (2, [3]):
        assert_numpys(a, counts, axis)


@pytest.mark.parametrize("axis", [3, -4, 10**30])
def test_an_axis_that_is_none_of_the_array(axis):
    assert_numpys(A, 2, axis)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("shape", "axis"), [((40, 50, 4), 1), ((40, 50, 4), 2), ((90, 100), None), ((5, 6, 400), 0)])
def test_larger_arrays(shape, axis, layout):
    rng = np.random.default_rng(4)
    n = int(np.prod(shape)) if axis is None else shape[axis]
    for dtype in ("u1", ">f4", "c16", "V7"):
        x = lay_out(rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), "u1").view(dtype)[..., 0], layout)
        before = x.tobytes()
        for counts in (3, rng.integers(0, 4, n)):
            assert gs.repeat(x, counts, axis).tobytes() == np.repeat(x, counts, axis).tobytes()
        assert x.tobytes() == before


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads):
    x, counts = np.random.default_rng(5).random((700, 900)), np.arange(700) % 4
    with gs.thread_limit(threads):
        for n, axis in ((2, None), (counts, 0), (3, 1)):
            np.testing.assert_array_equal(gs.repeat(x, n, axis), np.repeat(x, n, axis), strict=True)


def test_masked_arrays():
    for masked in (np.ma.array(A, mask=A % 5 == 0, fill_value=-7), np.ma.array(A)):
        for counts, axis in ((3, None), ([1, 2], 0), (2, -1)):
            result, expected = gs.repeat(masked, counts, axis), np.repeat(masked, counts, axis)
            assert type(result) is type(expected) and result.fill_value == expected.fill_value
            np.testing.assert_array_equal(result.data, expected.data, strict=True)
            np.testing.assert_array_equal(np.ma.getmaskarray(result), np.ma.getmaskarray(expected), strict=True)
    with pytest.raises(TypeError, match="consists of two arrays"):
        gs.plan(gs.repeat, np.ma.array([1, 2]), 1)


def test_subclasses_stay_and_overrides_are_called():
    class Own(np.ndarray):
        pass

    class Other(np.ndarray):
        def repeat(self, repeats, axis=None):
            return "its own", repeats, axis

    assert type(gs.repeat(A.view(Own), 2)) is Own
    assert gs.repeat(A.view(Other), 2, 1) == ("its own", 2, 1) == np.repeat(A.view(Other), 2, 1)


def test_references_are_refused():
    with pytest.raises(TypeError, match="repeat: "):
        gs.repeat(np.array([1, None]), 2)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("shape", [(7,), (3, 4), (60, 70)])
def test_torch(shape):
    x = torch.arange(np.prod(shape)).reshape(shape)
    for tensor in (x, x.to(torch.bfloat16), x.transpose(0, -1)):
        for axis in (None, 0, -1):
            n = tensor.numel() if axis is None else tensor.shape[axis]
            for counts in (2, torch.arange(n) % 3):
                result = gs.repeat(tensor, counts, axis)
                assert type(result) is torch.Tensor and result.is_contiguous() and result.dtype is tensor.dtype
                assert torch.equal(result, torch.repeat_interleave(tensor, counts, axis))
    assert gs.repeat(torch.tensor(3), 2, 0).tolist() == gs.repeat(torch.tensor(3), 2).tolist() == [3, 3]
    assert gs.repeat(torch.zeros(5, requires_grad=True), 2).requires_grad


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    x = jax.numpy.arange(12, dtype="f4").reshape(3, 4)
    for counts, axis in ((2, None), (np.array([2, 0, 1]), 0), (jax.numpy.array([1, 2, 0, 1]), 1)):
        result = gs.repeat(x, counts, axis)
        assert isinstance(result, jax.Array) and (result == jax.numpy.repeat(x, counts, axis)).all()


def test_plans():
    plan = gs.plan(gs.repeat, A, [2, 0, 1], 1)
    assert (plan.to_dict()["op"], plan.to_dict()["planner"]) == ("repeat", "take_axis")
    assert plan.to_dict()["result_shape"] == (2, 3, 4)
    np.testing.assert_array_equal(plan(A, np.array([0, 0, 2], np.uint8)), np.repeat(A, [2, 0, 1], 1))
    np.testing.assert_array_equal(
        plan.scatter(0 * A, np.array([0, 0, 2], np.uint8), 1, reduce="add")[0, :, 0], [2, 0, 1]
    )
    with pytest.raises(gs.OutOfBoundsError):
        plan(A, np.array([0, 0, 3], np.uint8))


@pytest.mark.parametrize("n", [1, 255, 256, 257, 65536, 65537])
def test_index_types_hold_every_position(n):
    np.testing.assert_array_equal(gs.repeat(np.arange(n), 2), np.repeat(np.arange(n), 2), strict=True)


def test_the_oracle_agrees():
    for counts, axis in itertools.product((2, [1]), (None, 0, -1)):
        assert gs.repeat(A, counts, axis).tobytes() == reference.repeat(A, counts, axis).result.tobytes()


MANY = 40_000  # counts, in three blocks that threads share


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "i8", "?"])
@pytest.mark.parametrize("most", [1, 7, 100])
def test_many_counts(dtype, most):
    """Counts below and above the positions that are written at a time, zeros and a large one among them."""
    rng = np.random.default_rng(most)
    counts = rng.integers(0, most + 1, MANY).astype(dtype)
    counts[[0, 5, -1]] = [0, min(most, 1) if dtype == "?" else 90, 1]
    x = rng.integers(0, 1 << 30, MANY)
    for threads in (1, 3):
        with gs.thread_limit(threads):
            np.testing.assert_array_equal(gs.repeat(x, counts), np.repeat(x, counts))
    np.testing.assert_array_equal(
        gs.repeat(x.reshape(-1, 2), counts[:20_000], axis=0)[:, 1], np.repeat(x[1::2], counts[:20_000])
    )


@pytest.mark.parametrize("position", [0, 17_000, MANY - 1])
def test_a_negative_count_among_many(position):
    counts = np.ones(MANY, np.int64)
    counts[position] = -1
    with pytest.raises(ValueError, match="may not contain negative values"):
        gs.repeat(np.arange(MANY), counts)


@pytest.mark.parametrize(("n", "count"), [(256, 5 - 2**56), (2, 5 - 2**63), (4, -(2**62)), (15, -(2**62)), (3, -1)])
@pytest.mark.parametrize("kind", [int, lambda count: [count], np.array, lambda count: np.array([count])])
def test_a_negative_count_whose_product_wraps_to_a_length(n, count, kind):
    for repeat in (gs.repeat, lambda x, c: gs.explain(gs.repeat, x, c)):
        with pytest.raises(ValueError, match="negative dimensions are not allowed"):
            repeat(np.arange(n), kind(count))
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        gs.repeat(np.zeros((1, n)), kind(count), axis=1)


@pytest.mark.parametrize(
    "counts", [np.full(MANY, 2**60), [2**62] * 4, np.full(4, 2**62), 2**62, [2**62], np.array(2**62), np.full(2, 2**62)]
)
def test_counts_whose_sum_is_beyond_int64(counts):
    """NumPy 2.4 adds counts without a check and crashes."""
    n = len(counts) if isinstance(counts, (list, np.ndarray)) and np.ndim(counts) and len(counts) > 1 else 4
    with pytest.raises((ValueError, MemoryError), match="repeat: "):
        gs.repeat(np.arange(n, dtype=np.int8), counts)


def test_counts_of_a_type_that_does_not_cast_safely():
    for counts in (np.ones(MANY, np.uint64), np.ones(MANY, "m8[s]"), np.ones(MANY)):
        answers = []
        for function in (np.repeat, gs.repeat):
            try:
                answers.append(function(np.arange(MANY), counts).sum())
            except TypeError as error:
                answers.append(str(error).removeprefix("repeat: "))
        assert answers[0] == answers[1]
