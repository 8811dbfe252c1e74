"""test_numpy_put_rules.py: what the writing functions reject, with which errors; all or nothing, overlap, libraries."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.errors import OutOfBoundsError
from hostile_dlpack import Producer
from layouts import lay_out
from numpy_answers import assert_numpys_answer, assert_numpys_write
from numpy_put_arrays import WRITABLE, read_only, zeros

# ---- error texts


@pytest.mark.parametrize(
    "a", [[1, 2], (1,), 5, None, "text", {}, object()], ids=lambda value: repr(value).split(" at ")[0]
)
def test_what_is_no_array(a):
    mask = [True] * 2
    assert_numpys_answer(gs.put, np.put, a, 0, 1)
    assert_numpys_answer(gs.put, np.put, a, 0, 1, "no mode")
    assert_numpys_answer(gs.putmask, np.putmask, a, mask, 1)
    assert_numpys_answer(gs.place, np.place, a, mask, 1)
    with pytest.raises(TypeError, match="put_along_axis: arr is of type"):
        gs.put_along_axis(a, np.array([0]), 1, 0)


def test_scalars_of_numpy_cannot_be_written_to():
    """NumPy's put writes to a temporary copy, so the call has no effect."""
    for call in (
        lambda: gs.put(np.float64(1), 0, 2),
        lambda: gs.putmask(np.float64(1), True, 2),
        lambda: gs.place(np.float64(1), True, 2),
        lambda: gs.put_along_axis(np.float64(1), np.array([0]), 2, None),
    ):
        with pytest.raises(TypeError, match="array"):
            call()


def test_read_only():
    for shape in ((2, 3), (0,)):
        make = read_only(zeros(shape))
        assert_numpys_write(gs.put, np.put, make, [0], 1)
        assert_numpys_write(gs.put, np.put, make, [99], "text")
        assert_numpys_write(gs.putmask, np.putmask, make, [1, 0], [])
        with pytest.raises(ValueError, match="place: output array is read-only"):
            gs.place(make(), [0, 0], [])  # NumPy's text is about its own copy here
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, read_only(zeros()), np.array([[0], [1]]), 1, 1)
    for call in (
        lambda a: gs.put(a, 0, 1),
        lambda a: gs.putmask(a, [1] * 6, 1),
        lambda a: gs.place(a, [1] * 6, 1),
        lambda a: gs.put_along_axis(a, np.array([[0]]), 1, 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            call(np.broadcast_to(np.zeros(3), (2, 3)))


def test_elements_that_share_memory():
    a = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8), writeable=True)
    for call in (
        lambda: gs.put(a, 0, 1),
        lambda: gs.putmask(a, [1] * 6, 1),
        lambda: gs.place(a, [1] * 6, 1),
        lambda: gs.put_along_axis(a, np.array([[0], [0]]), 1, 1),
    ):
        with pytest.raises(ValueError):
            call()
    assert not a.any()


@pytest.mark.parametrize("dtype", [object, "O,i4", np.dtypes.StringDType()], ids=str)
def test_references(dtype):
    make = zeros(3, dtype)
    for call in (
        lambda a: gs.put(a, 0, a[:1]),
        lambda a: gs.putmask(a, [1, 0, 0], a),
        lambda a: gs.place(a, [1, 0, 0], a),
        lambda a: gs.put_along_axis(a, np.array([0]), a[:1], 0),
    ):
        with pytest.raises(TypeError, match=r"reference|outside of the array"):
            call(make())


ALONG = {
    "floats": (np.array([[0.0]]), 1, 1),
    "bools": (np.array([[True]]), 1, 1),
    "empty floats": (np.zeros((2, 0)), 1, 1),
    "rank": (np.array([0]), 1, 1),
    "no such axis": (np.array([[0]]), 1, 2),
    "no such axis from the end": (np.array([[0]]), 1, -3),
    "flat and 2-d": (np.array([[0]]), 1, None),
    "outside": (np.array([[0], [9]]), 1, 1),
    "outside below": (np.array([[0], [-4]]), 1, 1),
    "word": (np.array([[0]]), "word", 1),
}


@pytest.mark.parametrize("kind", ALONG)
def test_put_along_axis_has_the_results_and_errors_of_numpy(kind):
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros(), *ALONG[kind])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 1), (3, 2, 2), (2, 2, 2), (0,), (2, 0), (1, 3, 1, 2)])
def test_put_along_axis_of_values_that_do_not_broadcast(shape):
    indices = np.zeros((2, 2), int)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros(), indices, np.ones(shape), 1)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros((1, 3)), indices, np.ones(shape), 1)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros(), indices[0], np.ones(shape), None)


def test_put_along_axis_shapes():
    target, indices = np.zeros((2, 3)), np.zeros((3, 1), int)
    for put_along_axis in (np.put_along_axis, gs.put_along_axis):
        with pytest.raises(IndexError, match="shape mismatch: indexing arrays could not be broadcast together"):
            put_along_axis(target, indices, 1, 1)
    assert not target.any()
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros(), indices[:2], np.ones((1, 1, 2, 1)), 1)


def test_put_along_axis_of_a_list():
    a = np.zeros((1, 3))
    gs.put_along_axis(a, [[2, 0]], [[5, 6]], 1)
    assert a.tolist() == [[6, 0, 5]]


def test_put_along_axis_flattened():
    for layout in WRITABLE:  # NumPy rejects targets that are not contiguous
        a = lay_out(np.arange(6.0).reshape(2, 3), layout)
        gs.put_along_axis(a, np.array([0, -1, 4]), [7, 8, 9], None)
        assert a.tolist() == [[7, 1, 2], [3, 9, 8]]
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros(), np.array([3, 3]), [1, 2], None)
    assert_numpys_write(gs.put_along_axis, np.put_along_axis, zeros(()), np.array([0]), 5, None)


# ---- all or nothing


@pytest.mark.parametrize("size", [4, 1000, 300_000])
@pytest.mark.parametrize("at", [0, 0.5, 1])
def test_nothing_is_written_when_an_index_is_outside(size, at):
    """NumPy's put has written all elements before the bad index."""
    a = np.arange(size + 1.0)
    indices = np.random.default_rng(3).integers(-size, size, size)
    position = int(at * (size - 1))
    for outside in (size + 1, -size - 2):
        indices[position] = outside
        for call in (
            lambda: gs.put(a, indices, -1),
            lambda: gs.put(a[::-1], indices, np.arange(size, dtype=float)),
            lambda: gs.put(a.reshape(1, -1), indices, [-1, -2], bounds="deferred"),
            lambda: gs.put_along_axis(a, indices, -1, 0),
            lambda: gs.put_along_axis(a, indices, -1, None),
        ):
            with pytest.raises(OutOfBoundsError) as error:
                call()
            assert error.value.position == (position,) and error.value.index == outside
            assert np.array_equal(a, np.arange(size + 1))


# ---- overlap


def test_overlap_is_answered_as_if_copied():
    rng = np.random.default_rng(11)

    def views(buffer):
        start, step = int(rng.integers(0, 6)), int(rng.choice([-2, -1, 1, 2]))
        yield buffer[start : start + 8]
        yield buffer[::step][:8]
        yield buffer[:8].reshape(2, 4).T.reshape(-1)[::step] if step > 0 else buffer[8:][::-1]

    for _ in range(200):
        buffer = rng.integers(0, 4, 20)
        a, ind, v = (list(views(buffer))[int(rng.integers(0, 3))] for _ in range(3))
        for call in (
            lambda a, ind, v: gs.put(a, ind, v),
            lambda a, ind, v: gs.put(a, ind[:3], v[:2]),
            lambda a, ind, v: gs.put_along_axis(a, ind, v[:1], 0),
            lambda a, ind, v: gs.putmask(a, np.resize(ind, a.shape), v),
            lambda a, ind, v: gs.place(a, np.resize(ind, a.shape), v),
        ):
            before = buffer.copy()
            expected = a.copy()
            call(expected, ind.copy(), v.copy())
            call(a, ind, v)
            np.testing.assert_array_equal(a, expected)
            buffer[...] = before


def test_overlap_with_masks():
    for call, numpys in ((gs.putmask, np.putmask), (gs.place, np.place)):
        for first, second in itertools.product((slice(0, 3), slice(1, 4), slice(None, None, -1)), repeat=2):
            mine, expected = np.array([True, False, True, False]), np.array([True, False, True, False])
            if mine[first].size != mine[1:4].size:
                continue
            call(mine[1:4], mine[first], mine[second])
            numpys(expected[1:4], expected[first].copy(), expected[second].copy())
            assert mine.tolist() == expected.tolist()
    a = np.array([True, False, True])
    gs.put(a, [0, 1, 2], 0, mask=a)
    assert a.tolist() == [False, False, False]


# ---- keywords that NumPy does not have


def test_bounds_speak_our_rules():
    def put(indices, **rule):
        a = np.zeros(3, int)
        gs.put(a, np.array(indices), [1, 2, 3], **rule)
        return a.tolist()

    far = [-1, -4, 5]
    assert put(far, bounds="clip") == [2, 0, 3]  # negative values are counted from the end before they are clipped
    assert put(far, mode="clip") == [2, 0, 3]
    assert put([-1], bounds="clip") == [0, 0, 1] and put([-1], mode="clip") == [1, 0, 0]
    assert put([-1], mode="clip", negative="from_end") == [0, 0, 1]
    assert put(far, bounds="wrap") == put(far, mode="wrap") == [0, 0, 3]
    assert put(far, bounds="drop") == [0, 0, 1]
    assert put(far, bounds="drop", negative="out_of_bounds") == [0, 0, 0]
    assert put([1, -1], bounds="unchecked") == [0, 1, 2]
    for bounds in ("raise", "deferred"):
        with pytest.raises(OutOfBoundsError):
            put(far, bounds=bounds)
    a = np.zeros((2, 3), int)
    gs.put_along_axis(a, np.array([[0, 7], [-1, -7]]), [[1, 2], [3, 4]], 1, bounds="drop")
    assert a.tolist() == [[1, 0, 0], [0, 0, 3]]
    gs.put_along_axis(a, np.array([[7], [-1]]), 9, 1, bounds="clip", negative="out_of_bounds")
    assert a.tolist() == [[1, 0, 9], [9, 0, 3]]


def test_unknown_and_contradictory_rules():
    a = np.zeros(3)
    with pytest.raises(ValueError, match="put: mode='clip' and bounds='drop' contradict"):
        gs.put(a, [0], 1, mode="clip", bounds="drop")
    for rule in ({"bounds": "fill"}, {"bounds": ""}, {"negative": ""}):
        with pytest.raises(ValueError):
            gs.put(a, [0], 1, **rule)
        with pytest.raises(ValueError):
            gs.put_along_axis(a, np.array([0]), 1, 0, **rule)
    assert not a.any()


def test_the_mask_hides_bad_indices():
    a = np.zeros(4)
    gs.put(a, np.array([[1, 99], [2, -99]]), [[1, 2], [3, 4]], mask=np.array([True, False]))
    assert a.tolist() == [0, 1, 3, 0]
    gs.put_along_axis(a, np.array([0, 99]), [5, 6], 0, mask=np.array([True, False]))
    assert a.tolist() == [5, 1, 3, 0]
    with pytest.raises(TypeError, match="mask"):
        gs.put(a, [0], 1, mask=np.array([1]))
    with pytest.raises(ValueError, match="mask"):
        gs.put(a, [0], 1, mask=np.ones(2, bool))
    assert a.tolist() == [5, 1, 3, 0]


# ---- plans


def test_plans():
    a, b = np.zeros((2, 3)), np.zeros((2, 3))
    for plan, arguments in (
        (gs.plan(gs.put, a, np.array([4, 0]), np.ones(2)), (np.array([5, 1]), np.array([7.0, 8.0]))),
        (
            gs.plan(gs.put_along_axis, a, np.array([[2], [0]]), np.ones((2, 1)), 1),
            (np.array([[1], [1]]), np.ones((2, 1))),
        ),
    ):
        assert not a.any()
        expected = np.zeros((2, 3))
        operator = {"put": gs.put, "put_along_axis": lambda *rest: gs.put_along_axis(*rest, 1)}[plan.to_dict()["op"]]
        operator(expected, *arguments)
        np.testing.assert_array_equal(plan(b, *arguments), expected)
        assert not b.any()
    repeated = gs.plan(gs.put, a, np.arange(4), np.arange(1.0, 4))
    assert repeated(b, np.arange(4), np.array([1.0, 2, 3, 1])).tolist() == [[1, 2, 3], [1, 0, 0]]
    for operator in (gs.putmask, gs.place):
        assert gs.explain(operator, a, a == 0, [1, 2]).to_dict()["op"] == operator.__name__
    with pytest.raises(OutOfBoundsError):
        gs.plan(gs.put, a, np.array([1, 9]), np.ones(2))(b, np.array([1, 9]), np.ones(2))
    with pytest.raises(TypeError, match="data and mask"):
        gs.plan(gs.put, np.ma.array([1.0, 2.0]), [0], 1)
    assert not a.any()


# ---- arrays of other libraries


def test_torch():
    torch = pytest.importorskip("torch")
    a = torch.zeros(2, 3, dtype=torch.float32)
    assert gs.put(a, [0, 4, -1], [7, 8]) is None
    assert a.tolist() == [[7, 0, 0], [0, 8, 7]]
    gs.put(a.T, torch.tensor([1]), torch.tensor([5.0, 6.0]), mode="wrap")
    assert a.tolist() == [[7, 0, 0], [5, 8, 7]]
    gs.put_along_axis(a, torch.tensor([[0], [2]]), np.ones((1, 1), np.float32), 1)
    assert a.tolist() == [[1, 0, 0], [5, 8, 1]]
    gs.putmask(a, a > 4, torch.tensor([2.0, 3.0]))
    assert a.tolist() == [[1, 0, 0], [3, 2, 1]]
    gs.place(a, a < 1, [4, 5])
    assert a.tolist() == [[1, 4, 5], [3, 2, 1]]
    b = torch.zeros(3, dtype=torch.bfloat16)
    gs.put(b, [2, 0], 1.5)
    gs.putmask(b, [0, 1, 0], torch.tensor([2.0], dtype=torch.bfloat16))
    assert b.tolist() == [1.5, 2, 1.5]
    gs.put(np.zeros(3), torch.tensor([1]), torch.tensor([1]))
    assert gs.compress(torch.tensor([True, False, True]), a, 1).tolist() == [[1, 5], [3, 1]]


def test_torch_refusals():
    torch = pytest.importorskip("torch")
    a = torch.arange(3)
    for call in (
        lambda: gs.put(a, [0], 1.5),
        lambda: gs.put(a, [0], 2**70),
        lambda: gs.put(a, [3], 1),
        lambda: gs.putmask(a, [1, 0, 0], [1, 2.5]),
        lambda: gs.putmask(a, [1, 0], 1),
        lambda: gs.place(a, [1, 0, 0], []),
        lambda: gs.put(a.expand(2, 3), [0], 1),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (
        lambda: gs.put(a, [0], torch.tensor([1.0])),
        lambda: gs.put(a, torch.tensor([0.0]), 1),
        lambda: gs.put_along_axis(a, [0], torch.tensor([1], dtype=torch.int32), 0),
        lambda: gs.put(a, [0], None),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(RuntimeError, match="grad"):
        gs.put(torch.zeros(3, requires_grad=True), [0], 1)
    with pytest.raises(TypeError, match="repeated to shape"):
        gs.plan(gs.put, a, [0, 1, 2], torch.tensor([7, 8]))
    assert a.tolist() == [0, 1, 2]


def test_jax_arrays_are_never_written_to():
    jnp = pytest.importorskip("jax.numpy")
    a = jnp.zeros(3)
    for call in (
        lambda: gs.put(a, [0], 1),
        lambda: gs.put_along_axis(a, np.array([0]), 1, 0),
        lambda: gs.putmask(a, [1, 0, 0], 1),
        lambda: gs.place(a, [1, 0, 0], 1),
    ):
        with pytest.raises(TypeError, match="immutable"):
            call()
    assert a.tolist() == [0, 0, 0]
    b = np.zeros(3)
    gs.put(b, jnp.array([1]), jnp.array([5]))
    gs.putmask(b, jnp.array([True, False, False]), jnp.array([6.0]))
    assert b.tolist() == [6, 5, 0]
    assert gs.compress(jnp.array([0, 1, 1]), jnp.arange(3)).tolist() == [1, 2]


def test_bare_dlpack_producers():
    a = np.zeros(4)
    gs.put(Producer(a), Producer(np.array([1, -1])), Producer(np.array([5.0])))
    gs.putmask(Producer(a), Producer(np.array([True, False, False, False])), 7)
    gs.place(Producer(a), [0, 0, 1, 0], Producer(np.array([8.0])))
    assert a.tolist() == [7, 5, 8, 5]
    gs.put_along_axis(Producer(a), Producer(np.array([0])), 9, 0)
    assert a.tolist() == [9, 5, 8, 5]
    gs.put_along_axis(Producer(a.reshape(2, 2)), np.array([[1, 0, 1]]), [[1, 2, 3], [4, 5, 6]], -1)
    assert a.tolist() == [2, 3, 5, 6]
    gs.put(a, 0, 9)
    gs.put(a, 2, 8)
    assert gs.compress(Producer(np.array([True, False, True])), a).tolist() == [9, 8]


def test_put_along_a_flattened_array_takes_values_with_leading_axes():
    x, y = np.zeros((2, 3), int), np.zeros((2, 3), int)
    gs.put_along_axis(x, np.array([1, 0, 0]), np.array([[8, 0, 7]]), None)
    np.put_along_axis(y, np.array([1, 0, 0]), np.array([[8, 0, 7]]), None)
    assert (x == y).all()


def test_a_mask_of_a_masked_array_that_cannot_be_written_keeps_the_data():
    x = np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])
    x._mask.flags.writeable = False
    with pytest.raises(ValueError, match="mask"):
        gs.put(x, [0, 1], np.ma.array([9.0, 8.0], mask=[1, 0]))
    assert x.data.tolist() == [1, 2, 3]


@pytest.mark.parametrize("op", ["place", "compress"])
def test_a_mask_that_another_thread_changes_names_no_other_positions(op):
    n = 20_000
    mask, stop = np.zeros(n, bool), threading.Event()

    def change():
        while not stop.is_set():
            mask[: n // 2 : 3] ^= True

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(300):
            if op == "place":
                target = np.zeros(n, np.int8)
                gs.place(target, mask, [1])
                found = np.flatnonzero(target)
            else:
                found = gs.compress(mask, np.arange(n))
            assert (found % 3 == 0).all() and (found < n // 2).all()
    finally:
        stop.set()
        other.join()
