"""test_numpy_api.py: take and compress have NumPy's results and errors; and the extensions of gatherscatter."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import gatherscatter as gs
import reference
from gatherscatter.errors import EmptyAxisError, OutOfBoundsError
from numpy_answers import INDICES, OWN_WORDS, assert_numpys_answer, matrix

A = np.arange(6.0).reshape(2, 3)
I2 = np.array([[0, 1]])


# ---- take


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("kind", [kind for kind in INDICES if kind not in OWN_WORDS])
def test_take_indices(kind, axis):
    assert_numpys_answer(gs.take, np.take, A, INDICES[kind], axis)


@pytest.mark.parametrize("kind", sorted(OWN_WORDS))
def test_take_of_no_indices_at_all(kind):
    with pytest.raises(TypeError):
        np.take(A, INDICES[kind])
    with pytest.raises(TypeError):
        gs.take(A, INDICES[kind])


SOURCES = {
    "0-d": np.array(5),
    "number": 5,
    "float": 0.5,
    "complex": 1j,
    "bool": True,
    "numpy scalar": np.float32(2),
    "list": [1, 2, 3],
    "nested list": [[1, 2], [3, 4]],
    "tuple": (1, 2),
    "range": range(3),
    "string": "abc",
    "F order": np.asfortranarray(A),
    "reversed": A[::-1, ::-1],
    "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "record": np.array([(1, b"a"), (2, b"b")], [("a", "i4"), ("b", "S1")]),
    "recarray": np.rec.array([(1, b"a"), (2, b"b")], dtype=[("a", "i4"), ("b", "S1")]),
    "matrix": matrix([[1, 2], [3, 4]]),
    "empty": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
}


@pytest.mark.parametrize("axis", [None, 0, -1, 1, 2, -3])
@pytest.mark.parametrize("indices", [0, [0, 0], [[0], [-1]], [], 9], ids=repr)
@pytest.mark.parametrize("kind", SOURCES)
def test_take_sources(kind, indices, axis):
    if kind == "empty" and indices == 9 and axis in (1, -1):
        # NumPy does not check the indices of a call that moves nothing; here a bad index is always an error.
        assert np.take(SOURCES[kind], indices, axis).size == 0
        with pytest.raises(OutOfBoundsError, match="index 9 is out of bounds for axis 1 with size 3"):
            gs.take(SOURCES[kind], indices, axis)
        return
    assert_numpys_answer(gs.take, np.take, SOURCES[kind], indices, axis)


@pytest.mark.parametrize(
    "axis", [1.0, True, False, np.True_, "0", [0], np.array([1]), A, (0,), np.float64(1)], ids=repr
)
def test_take_axis_that_is_no_integer(axis):
    for indices in ([0], np.array([0])):
        assert_numpys_answer(gs.take, np.take, A, indices, axis)


@pytest.mark.parametrize("axis", [np.int8(1), np.array(1), np.uint64(0)], ids=repr)
def test_take_axis_of_numpys_integers(axis):
    assert_numpys_answer(gs.take, np.take, A, np.array([0]), axis)


MODES = ["raise", "wrap", "clip", 0, 1, 2, None, np.int64(1), np.str_("clip"), b"clip", "".join(["ra", "ise"])]
MODES += ["ra", "Raise", "CLIP", "w", "x", "", b"c", True, 1.0, [], "\xe4"]


@pytest.mark.parametrize("values", [[0, 1], [-1, 5], [-100, 100, 7], 9], ids=repr)
@pytest.mark.parametrize("mode", MODES, ids=repr)
def test_take_modes(mode, values):
    for indices in (values, np.array(values)):
        assert_numpys_answer(gs.take, np.take, A, indices, 1, mode=mode)


def test_take_wrap_is_a_modulo():
    far = np.array([2**62, -(2**62) - 1, 2**63 - 1, -(2**63)])
    assert gs.take(np.arange(7), far, mode="wrap").tolist() == [int(i) % 7 for i in far]


def test_take_compares_uint64_at_full_width():
    with pytest.raises(OutOfBoundsError, match=f"index {2**64 - 1} is out of bounds for axis 0 with size 6"):
        gs.take(A, np.array([2**64 - 1], "u8"))
    with pytest.raises(OutOfBoundsError, match=f"index {2**63} is out"):
        gs.take(A, [2**63])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_random(mode):
    rng = np.random.default_rng(3)
    for _ in range(60):
        rank = int(rng.integers(1, 5))
        x = rng.random(tuple(rng.integers(1, 5, rank))).transpose(rng.permutation(rank))
        axis = None if rng.random() < 0.2 else int(rng.integers(-rank, rank))
        n = x.size if axis is None else x.shape[axis]
        span = 1 if mode == "raise" else 3
        indices = rng.integers(-span * n, span * n, tuple(rng.integers(0, 4, int(rng.integers(0, 3)))))
        result = gs.take(x, indices, axis, mode=mode)
        np.testing.assert_array_equal(result, np.take(x, indices, axis, mode=mode), strict=True)
        assert type(result) is type(np.take(x, indices, axis, mode=mode))


def test_take_has_numpys_signature():
    assert gs.take(A, [0], 1).tolist() == gs.take(a=A, indices=[0], axis=1).tolist() == [[0], [3]]
    out = np.zeros((2, 1))
    assert gs.take(A, [9], 1, out, "clip") is out and out.tolist() == [[2], [5]]
    with pytest.raises(TypeError):
        gs.take(A, [0], 0, None, "raise", "fill")


# ---- an axis without elements

EMPTY = "cannot do a non-empty take from an empty axes."


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((0,), None), ((0,), 0), ((0, 3), None), ((0, 3), 0), ((3, 0), 1), ((2, 0, 3), -2)]
)
def test_non_empty_take_from_an_empty_axis(shape, axis, mode):
    for indices in ([0], np.array([0]), 0, np.array([[1], [2]])):
        with pytest.raises(IndexError, match=EMPTY):
            np.take(np.zeros(shape), indices, axis, mode=mode)
        with pytest.raises(EmptyAxisError, match=EMPTY) as error:
            gs.take(np.zeros(shape), indices, axis, mode=mode)
        assert isinstance(error.value, OutOfBoundsError) and error.value.size == 0
        assert pickle.loads(pickle.dumps(error.value)) == error.value and str(error.value).startswith(EMPTY)


def test_an_empty_take_from_an_empty_axis():
    for mode in ("raise", "wrap", "clip"):
        assert_numpys_answer(gs.take, np.take, np.zeros((0, 3)), np.zeros((0, 2), int), 0, mode=mode)


def test_a_result_without_elements_still_checks_its_indices():
    assert_numpys_answer(gs.take, np.take, np.zeros((3, 0)), np.array([10]), 0)
    assert_numpys_answer(gs.take, np.take, np.zeros((0, 0)), np.array([10]), 0)
    assert_numpys_answer(gs.take, np.take, np.zeros((3, 0)), np.array([2]), 0)


def test_an_empty_axis_has_padding():
    assert gs.take(np.zeros(0), np.array([0, -1]), bounds="fill", fill_value=4).tolist() == [4, 4]


# ---- out


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("shape", [(), (2,), (1, 2)])
def test_take_out(mode, shape):
    indices = np.ones(shape, int)
    out = np.zeros(shape)
    assert gs.take(A, indices, out=out, mode=mode) is out
    np.testing.assert_array_equal(out, np.ones(shape))


def test_take_out_of_any_layout_and_class():
    room = np.zeros((6, 4))[::2, ::-2]
    assert gs.take(A, [0, 2, 1], 1, out=room.T[:2]).tolist() == [[0, 2, 1], [3, 5, 4]]
    out = matrix(np.zeros((2, 1)))
    assert gs.take(A, [1], 1, out=out) is out and out.tolist() == [[1], [4]]


@pytest.mark.parametrize("out", [[0.0], (np.zeros(1),), 0.0, "x", np.float64(0)], ids=repr)
def test_take_out_that_is_no_array(out):
    assert_numpys_answer(gs.take, np.take, A, [0], out=out)


@pytest.mark.parametrize("shape", [(3,), (2, 1), (1, 2), ()])
def test_take_out_of_another_shape(shape):
    for mode in ("raise", "clip"):
        assert_numpys_answer(gs.take, np.take, A, np.array([0, 1]), out=np.zeros(shape), mode=mode)
        assert_numpys_answer(gs.take, np.take, A, np.array([0, 1]), 0, out=np.zeros(shape), mode=mode)


@pytest.mark.parametrize("dtype", ["f4", "i8", "?", "c16", "S8", "M8[s]", ">f8", "V8"])
def test_take_out_of_another_dtype(dtype):
    """NumPy casts to some dtypes, even to narrower ones; gatherscatter never casts."""
    out = np.zeros(2, dtype)
    before = out.tobytes()
    with pytest.raises(TypeError, match="out has dtype"):
        gs.take(A, [0, 1], out=out)
    assert out.tobytes() == before


def test_take_out_read_only():
    out = np.zeros(2)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gs.take(A, [0, 1], out=out)


def test_take_out_is_all_or_nothing():
    out = np.full(3, 7.0)
    for axis, bad in itertools.product((None, 0), ([0, 1, 99], np.array([-99, 0, 1]))):
        with pytest.raises(OutOfBoundsError):
            gs.take(np.arange(6.0), bad, axis, out=out)
    assert out.tolist() == [7, 7, 7]


def test_take_out_may_overlap():
    x = np.arange(6)
    assert gs.take(x, [5, 4, 3, 2, 1, 0], out=x) is x and x.tolist() == [5, 4, 3, 2, 1, 0]
    index = np.array([2, 0, 1])
    assert gs.take(np.array([7, 8, 9]), index, out=index).tolist() == [9, 7, 8]


# ---- keywords that NumPy does not have


def test_bounds_speak_our_rules():
    x, far = np.arange(3), np.array([-1, -4, 5])
    assert gs.take(x, far, bounds="clip").tolist() == [2, 0, 2]  # from the end, then clipped
    assert gs.take(x, far, mode="clip").tolist() == [0, 0, 2]  # as in NumPy
    assert gs.take(x, far, mode="clip", bounds="clip").tolist() == [0, 0, 2]
    assert gs.take(x, far, mode="clip", negative="from_end").tolist() == [2, 0, 2]
    assert gs.take(x, far, bounds="wrap").tolist() == gs.take(x, far, mode="wrap").tolist() == [2, 2, 2]
    assert gs.take(x, far, bounds="fill", fill_value=-7).tolist() == [2, -7, -7]
    assert gs.take(x, far, bounds="fill", negative="out_of_bounds").tolist() == [0, 0, 0]
    for bounds in ("raise", "deferred"):
        with pytest.raises(OutOfBoundsError):
            gs.take(x, far, bounds=bounds)
    assert gs.take(x, np.array([1, -1]), bounds="unchecked").tolist() == [1, 2]


@pytest.mark.parametrize(("mode", "bounds"), [("clip", "wrap"), ("wrap", "raise"), ("clip", "fill"), (0, "wrap")])
def test_mode_and_bounds_must_agree(mode, bounds):
    with pytest.raises(ValueError, match="contradict"):
        gs.take(A, [0], mode=mode, bounds=bounds)


@pytest.mark.parametrize("keyword", [{"bounds": "drop"}, {"bounds": ""}, {"negative": ""}, {"negative": "wrap"}])
def test_unknown_options(keyword):
    with pytest.raises(ValueError, match="expected one of"):
        gs.take(A, [0], **keyword)
    with pytest.raises(ValueError, match="expected one of"):
        gs.take_along_axis(A, I2, **keyword)


RULES = [("raise", "from_end"), ("fill", "from_end"), ("fill", "out_of_bounds"), ("clip", "from_end")]
RULES += [("clip", "out_of_bounds"), ("wrap", "from_end"), ("wrap", "out_of_bounds")]


@pytest.mark.parametrize(("bounds", "negative"), RULES)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_rules_and_mask_against_the_loops(bounds, negative, axis):
    rng = np.random.default_rng(5)
    x = np.arange(12).reshape(3, 4)
    n = 12 if axis is None else x.shape[axis]
    span = n if bounds == "raise" else 3 * n
    indices = rng.integers(-span, span, (2, 3))
    mask = np.array([[True, False, True]])
    for keywords in ({}, {"mask": mask}):
        rule = {"bounds": bounds, "negative": negative}
        fill = {"fill_value": -9} if keywords or bounds == "fill" else {}
        answer = reference.take(x, indices, axis, fill=np.array(-9), **rule, **keywords)
        np.testing.assert_array_equal(gs.take(x, indices, axis, **fill, **rule, **keywords), answer.result)
        if axis is not None:
            along = rng.integers(-span, span, (3, 4))
            answer = reference.take_along_axis(x, along, axis, fill=np.array(-9), **rule)
            fill = {"fill_value": -9} if bounds == "fill" else {}
            result = gs.take_along_axis(x, along, axis, **fill, **rule)
            np.testing.assert_array_equal(result, answer.result)


def test_the_mask_hides_bad_indices():
    out = np.zeros(3)
    gs.take(A, np.array([1, 99, -99]), mask=np.array([True, False, False]), fill_value=5, out=out)
    assert out.tolist() == [1, 5, 5]
    with pytest.raises(TypeError, match="mask"):
        gs.take(A, [0], mask=np.array([1]))
    with pytest.raises(ValueError, match="mask"):
        gs.take(A, [0], mask=np.ones(2, bool))


# ---- compress

CONDITIONS = {
    "bools": np.array([True, False, True]),
    "list": [0, 1],
    "longer but false there": [1, 0, 1, 0, 0, 0, 0, 0],
    "longer": [1] * 7,
    "none": [0, 0],
    "empty": [],
    "floats": [0.5, 0.0, np.nan],
    "strings": ["a", "", "b"],
    "objects": np.array([None, "x", 0], object),
    "dates": np.array([1, 0], "M8[s]"),
    "strided": np.array([1, 0, 0, 1, 1, 0])[::2],
    "matrix": matrix([[1, 0]]),
    "masked": np.ma.array([1, 0, 1], mask=[1, 0, 0]),
    "tuple": (True, False),
    "range": range(2),
    "2-d": [[True, False]],
    "0-d": np.array(True),
    "scalar": True,
    "None": None,
    "text": "ab",
    "ragged": [[1], [1, 0]],
    "buffer": memoryview(np.array([True, False])),
}


@pytest.mark.parametrize("axis", [None, 0, 1, -1, -2, 2])
@pytest.mark.parametrize("kind", CONDITIONS)
def test_compress_conditions(kind, axis):
    assert_numpys_answer(gs.compress, np.compress, CONDITIONS[kind], A, axis)


@pytest.mark.parametrize("axis", [True, 1.0, "0", [0], np.int8(1), np.array(0)], ids=repr)
def test_compress_axis_of_other_types(axis):
    assert_numpys_answer(gs.compress, np.compress, [1], A, axis)


@pytest.mark.parametrize("axis", [None, 0, -1, 1, 2])
@pytest.mark.parametrize("condition", [[1], [0, 1], [0], [], [0, 0, 0, 0, 0, 0, 0, 1]], ids=repr)
@pytest.mark.parametrize("kind", SOURCES)
def test_compress_sources(kind, condition, axis):
    if kind == "empty" and condition[3:] and axis in (1, -1):
        with pytest.raises(OutOfBoundsError, match="index 7 is out of bounds for axis 1 with size 3"):
            gs.compress(condition, SOURCES[kind], axis)  # as in take, also if nothing moves
        return
    assert_numpys_answer(gs.compress, np.compress, condition, SOURCES[kind], axis)


def test_compress_random():
    rng = np.random.default_rng(4)
    for _ in range(100):
        rank = int(rng.integers(1, 5))
        x = rng.random(tuple(rng.integers(0, 5, rank))).transpose(rng.permutation(rank))[::-1]
        axis = None if rng.random() < 0.2 else int(rng.integers(-rank, rank))
        condition = rng.random(int(rng.integers(0, (x.size if axis is None else x.shape[axis]) + 1))) < 0.6
        np.testing.assert_array_equal(gs.compress(condition, x, axis), np.compress(condition, x, axis), strict=True)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_compress_by_a_condition_that_is_true_everywhere(layout, axis):
    a = np.arange(60 * 70 * 4.0).reshape(60, 70, 4)
    a = {"C": a, "F": np.asfortranarray(a), "strided": a[::2, ::-3]}[layout]
    size = a.size if axis is None else a.shape[axis]
    for count in (1, size - 1, size):
        result = gs.compress(np.ones(count, bool), a, axis)
        np.testing.assert_array_equal(result, np.compress(np.ones(count, bool), a, axis), strict=True)
        assert not np.shares_memory(result, a)
    with pytest.raises(OutOfBoundsError):
        gs.compress(np.ones(size + 1, bool), a, axis)


@pytest.mark.parametrize("shape", [(4,), (2, 1), (1, 2, 2), ()])
def test_compress_out_of_another_shape(shape):
    assert_numpys_answer(gs.compress, np.compress, [1, 0, 1], A, 1, np.zeros(shape))


def test_compress_out():
    out = np.zeros((2, 2))
    assert gs.compress(condition=[1, 0, 1], a=A, axis=1, out=out) is out
    assert out.tolist() == [[0, 2], [3, 5]]
    x = np.arange(6)
    gs.compress([0, 1, 1, 1, 1], x, out=x[:4])
    assert x.tolist() == [1, 2, 3, 4, 4, 5]
    for bad, error in (
        (lambda: gs.compress([1] * 7, A, out=np.zeros(7)), OutOfBoundsError),
        (lambda: gs.compress([1, 0, 0, 0, 0, 0, 1], A, out=out[0]), OutOfBoundsError),
        (lambda: gs.compress([1, 0, 1], A, 1, np.zeros((2, 2), "f4")), TypeError),
        (lambda: gs.compress([1, 0, 1], A, 1, [[0, 0], [0, 0]]), TypeError),
    ):
        with pytest.raises(error):
            bad()
    assert out.tolist() == [[0, 2], [3, 5]]
