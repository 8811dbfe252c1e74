"""test_roll.py: roll has NumPy's results and errors, on arrays of every library, by a take and by copies of blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gatherscatter as gs
import reference
from layouts import LAYOUTS, lay_out, torch
from numpy_answers import matrix

A = np.arange(24).reshape(2, 3, 4)
SHIFTS = [
    0,
    1,
    -1,
    5,
    2**70,
    -(2**70),
    1.5,
    True,
    np.int8(-3),
    (1, 2),
    [3],
    (1, 1, 1),
    [[1]],
    "a",
    None,
    (),
    np.array([1, -1]),
]
AXES = [None, 0, -1, 2, (0, 1), (0, 0), (1, -1), [2, 0], 5, (0, 9), 1.0, "0", True, ()]
SOURCES = {
    "3-d": A,
    "1-d": np.arange(5),
    "F order": np.asfortranarray(A[0]),
    "reversed": A[::-1, :, ::-2],
    "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "read-only": np.frombuffer(b"abcdef", "u1"),
    "empty": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "0-d": np.array(5),
    "number": 5,
    "numpy scalar": np.float32(2),
    "list": [1, 2, 3],
    "nested list": [[1, 2], [3, 4]],
    "matrix": matrix([[1, 2], [3, 4]]),
    "recarray": np.rec.array([(1, b"a"), (2, b"b")], dtype=[("a", "i4"), ("b", "S1")]),
    "strings": np.array(["a", "bc"]),
    "dates": np.array([1, 2, 3], "M8[s]"),
    "large": np.arange(30_000).reshape(100, 300),
    "large, transposed": np.arange(30_000, dtype="i2").reshape(100, 3, 100).T,
    "large, rows": np.arange(60_000).reshape(6000, 10),
}


def numpys(a, shift, axis):
    try:
        return np.roll(a, shift, axis), None
    except Exception as error:
        return None, error


# Without axes, NumPy fails to unpack the shape of a 0-d array; see the next test.
@pytest.mark.parametrize(
    ("kind", "axis"), [pair for pair in itertools.product(SOURCES, AXES) if pair[1] != () or np.ndim(SOURCES[pair[0]])]
)
def test_results_and_errors_are_numpys(kind, axis):
    a = SOURCES[kind]
    for shift in SHIFTS:
        expected, error = numpys(a, shift, axis)
        if error is None:
            result = gs.roll(a, shift, axis)
            assert type(result) is type(expected)
            np.testing.assert_array_equal(result, expected, strict=True)
            assert result.flags.c_contiguous and result.flags.writeable
        else:
            with pytest.raises(type(error)) as raised:
                gs.roll(a, shift, axis)
            assert str(raised.value) == str(error)


def test_a_0d_array_without_axes():
    assert gs.roll(np.array(5), 1, ()) == 5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((40, 50, 4), 1), ((40, 50, 4), (0, 2)), ((9, 1000), None), ((5, 6, 400), -1)]
)
def test_copies_of_blocks(shape, axis, layout):
    """These arrays have more points, and shorter rows, than a take by an index is for."""
    rng = np.random.default_rng(4)
    for dtype in ("u1", ">f4", "c16", "V7"):
        x = lay_out(rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), "u1").view(dtype)[..., 0], layout)
        before = x.tobytes()
        for shift in (1, -3, 17, 10**9 + 7):
            assert gs.roll(x, shift, axis).tobytes() == np.roll(x, shift, axis).tobytes("C")
        assert x.tobytes() == before


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads):
    x = np.random.default_rng(5).random((700, 900))
    with gs.thread_limit(threads):
        for axis in (None, 0, 1, (0, 1)):
            np.testing.assert_array_equal(gs.roll(x, 123, axis), np.roll(x, 123, axis), strict=True)


def test_masked_arrays():
    for masked in (
        np.ma.array(A, mask=A % 5 == 0, fill_value=-7),
        np.ma.array(A),
        np.ma.array(np.arange(20_000), mask=np.arange(20_000) % 7 == 0),
    ):
        for shift, axis in ((3, None), (1, 0), ((1, 2), (0, 0))):
            result, expected = gs.roll(masked, shift, axis), np.roll(masked, shift, axis)
            assert type(result) is type(expected) and result.fill_value == expected.fill_value
            np.testing.assert_array_equal(result.data, expected.data, strict=True)
            np.testing.assert_array_equal(np.ma.getmaskarray(result), np.ma.getmaskarray(expected), strict=True)
    with pytest.raises(TypeError, match="consists of two arrays"):
        gs.plan(gs.roll, np.ma.array([1, 2]), 1)


def test_subclasses_stay_and_overrides_are_called():
    class Own(np.ndarray):
        pass

    class Other(np.ndarray):
        def __array_function__(self, function, types, args, kwargs):
            return function.__name__

    assert type(gs.roll(A.view(Own), 1)) is Own and type(gs.roll(np.zeros((99, 99)).view(Own), 1, 1)) is Own
    assert gs.roll(A.view(Other), 1) == "roll"


def test_references_are_refused():
    for a in (np.array([1, None]), np.array([None] * 9999)):
        with pytest.raises(TypeError, match="roll: "):
            gs.roll(a, 1)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("shape", [(7,), (3, 4), (60, 70), (2, 3, 4, 5, 600)])
def test_torch(shape):
    x = torch.arange(np.prod(shape)).reshape(shape)
    for tensor in (x, x.to(torch.bfloat16), x.transpose(0, -1), x.flip(0)):
        for shift, axis in ((1, None), (-5, None), (2, 0), (3, -1)):
            result = gs.roll(tensor, shift, axis)
            assert type(result) is torch.Tensor and result.is_contiguous() and result.dtype is tensor.dtype
            assert torch.equal(result, torch.roll(tensor, shift, axis))
        axes = (0, tensor.ndim - 1)
        assert torch.equal(gs.roll(tensor, (1, 2), axes), torch.roll(tensor, (1, 2), axes))
    assert torch.equal(gs.roll(x, torch.tensor([1]), 0), torch.roll(x, 1, 0))
    assert gs.roll(torch.tensor(3), 1).item() == 3
    for size in (5, 9999):
        x = torch.zeros(size, requires_grad=True)
        gs.roll(x, 1)[:2].sum().backward()
        assert x.grad.nonzero().flatten().tolist() == [0, size - 1]
        with pytest.raises(TypeError, match="sparse"):
            gs.roll(torch.zeros(size).to_sparse(), 1)


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    for shape in ((7,), (3, 4), (100, 100)):
        x = jax.numpy.arange(np.prod(shape), dtype="f4").reshape(shape)
        for shift, axis in ((3, None), (-1, 0)):
            result = gs.roll(x, shift, axis)
            assert isinstance(result, jax.Array) and (result == jax.numpy.roll(x, shift, axis)).all()


def test_a_dlpack_producer_without_a_shape():
    class Bare:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    for shift, axis in ((1, None), (2, 1), ((1, 1), (0, 2))):
        np.testing.assert_array_equal(gs.roll(Bare(A), shift, axis), np.roll(A, shift, axis), strict=True)


def test_plans():
    rows = gs.plan(gs.roll, A, 1, 1)
    assert (rows.to_dict()["op"], rows.to_dict()["planner"]) == ("roll", "take_axis")
    np.testing.assert_array_equal(rows(A, np.array([2, 0, 1], np.uint8)), np.roll(A, 1, 1))
    both = gs.plan(gs.roll, A, (1, 2), (0, 1))
    index = (np.array([[1], [0]], np.uint8), np.array([1, 2, 0], np.uint8))
    np.testing.assert_array_equal(both(A, index), np.roll(A, (1, 2), (0, 1)))
    x = np.arange(70_000.0)
    flat = gs.plan(gs.roll, x, 5)
    assert "uint32 (70000,)" in str(flat)
    np.testing.assert_array_equal(flat(x, np.roll(np.arange(70_000, dtype=np.uint32), 5)), np.roll(x, 5))
    with pytest.raises(gs.OutOfBoundsError):
        flat(x, np.full(70_000, 70_000, np.uint32))


@pytest.mark.parametrize("n", [1, 255, 256, 257, 65536, 65537])
def test_index_types_hold_every_position(n):
    x = np.arange(n)
    for shift in (1, n - 1, n // 2):
        np.testing.assert_array_equal(gs.roll(x[:, None] * np.ones(9), shift, 0)[:, 0], np.roll(x, shift))
        np.testing.assert_array_equal(gs.roll(x, shift), np.roll(x, shift), strict=True)


def test_the_oracle_agrees():
    for shift, axis in itertools.product((2, -7), (None, 0, (0, 2))):
        assert gs.roll(A, shift, axis).tobytes() == reference.roll(A, shift, axis).result.tobytes()
