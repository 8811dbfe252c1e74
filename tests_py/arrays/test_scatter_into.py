"""test_scatter_into.py: scatter into `out` and in place, all or nothing, and on arrays of every library."""

import numpy as np
import pytest

import gatherscatter as gs

X = np.arange(12.0).reshape(3, 4)
INDEX = np.array([[2, 0, 1], [0, 2, 2]])
SRC = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- out


def test_out_is_written_and_returned():
    out = np.full((3, 4), -1.0)
    before = X.copy()
    assert gs.scatter(X, 0, INDEX, SRC, out=out) is out
    same(out, gs.scatter(X, 0, INDEX, SRC))
    same(X, before)


@pytest.mark.parametrize("reduce", [None, "add", "mean"])
@pytest.mark.parametrize("layout", ["C", "F", "reversed", "strided"])
def test_in_place_in_every_layout(layout, reduce):
    room = np.zeros((6, 8))
    x = {"C": room[:3, :4], "F": room.T[:3, :4], "reversed": room[::-1, ::-1][:3, :4], "strided": room[::2, ::2]}[
        layout
    ]
    x[...] = X
    expected = gs.scatter(X, 1, INDEX, SRC, reduce=reduce)
    outside = room.copy()
    assert gs.scatter(x, 1, INDEX, SRC, reduce=reduce, out=x) is x
    same(x, expected)
    x[...] = X
    same(room, outside)


def test_out_that_overlaps_is_answered_as_if_copied():
    buffer = np.arange(10)
    expected = gs.scatter(buffer[:6].copy(), 0, buffer[2:5].copy(), buffer[4:7].copy())
    for out in (buffer[:6], buffer[3:9], buffer[5::-1]):
        buffer[...] = np.arange(10)
        assert gs.scatter(buffer[:6], 0, buffer[2:5], buffer[4:7], out=out) is out
        same(out, expected)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((3, 4), "f4"), TypeError),
        (np.zeros((3, 4), ">f8"), TypeError),
        (np.zeros((4, 3)), ValueError),
        (np.zeros((2, 3)), ValueError),
        (np.zeros(12), ValueError),
        (np.broadcast_to(0.0, (3, 4)), ValueError),
        (np.lib.stride_tricks.as_strided(np.zeros(4), (3, 4), (0, 8)), ValueError),
        ([[0.0] * 4] * 3, TypeError),
        (7.0, TypeError),
    ],
    ids=["dtype", "byte order", "shape", "index's shape", "rank", "read-only", "stride 0", "list", "number"],
)
@pytest.mark.parametrize("reduce", [None, "add"])
def test_out_that_does_not_fit(out, error, reduce):
    with pytest.raises(error, match="scatter: out"):
        gs.scatter(X, 0, INDEX, SRC, out=out, reduce=reduce)


def test_a_read_only_input_is_an_input_but_no_out():
    x = X.copy()
    x.flags.writeable = False
    same(gs.scatter(x, 0, INDEX, SRC), gs.scatter(X, 0, INDEX, SRC))
    with pytest.raises(ValueError, match="read-only"):
        gs.scatter(x, 0, INDEX, SRC, out=x)


@pytest.mark.parametrize("place", [0, 50_000, 99_999])
@pytest.mark.parametrize("keywords", [{}, {"reduce": "add"}, {"reduce": "mean"}, {"duplicates": "first"}], ids=str)
@pytest.mark.parametrize("into", ["input", "another"])
def test_an_error_writes_nothing(place, keywords, into):
    rng = np.random.default_rng(8)
    x, index = rng.standard_normal(1000), rng.integers(0, 1000, 100_000)
    index[place] = 1000
    out = x if into == "input" else np.full(1000, 5.0)
    before = x.tobytes(), out.tobytes()
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.scatter(x, 0, index, 1.0, out=out, **keywords)
    assert error.value.position == (place,)
    assert before == (x.tobytes(), out.tobytes())


def test_a_duplicate_writes_nothing():
    out = np.full(1000, 5.0)
    index = np.arange(1000)
    index[999] = 0
    with pytest.raises(ValueError, match=r"\(999,\)"):
        gs.scatter(out, 0, index, 1.0, duplicates="error", out=out)
    assert (out == 5).all()


def test_the_arguments_are_not_touched():
    before = X.tobytes(), INDEX.tobytes(), SRC.tobytes()
    for keywords in ({}, {"reduce": "mean"}, {"duplicates": "first"}):
        gs.scatter(X, 0, INDEX, SRC, **keywords)
    assert before == (X.tobytes(), INDEX.tobytes(), SRC.tobytes())


# ---- other libraries


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.zeros((2, 3), dtype=torch.bfloat16)
    index = torch.tensor([[0, 2], [1, 1]])
    result = gs.scatter(x, 1, index, 1.5, reduce="add")
    assert type(result) is torch.Tensor and result.dtype is torch.bfloat16
    assert result.tolist() == [[1.5, 0, 1.5], [0, 3, 0]] and not x.any()
    assert gs.scatter(x, 1, index, [[1, 2], [3, 4]]).tolist() == [[1, 0, 2], [0, 4, 0]]
    assert gs.scatter(x, 1, index.numpy(), torch.tensor(2.0)).tolist() == [[2, 0, 2], [0, 2, 0]]
    version = x._version
    assert gs.scatter(x, 1, index, 1, out=x) is x
    assert x.tolist() == [[1, 0, 1], [0, 1, 0]] and x._version > version
    with pytest.raises(TypeError, match="src"):
        gs.scatter(x, 1, index, torch.zeros(2, 2))
    with pytest.raises(ValueError, match="src"):
        gs.scatter(x, 1, index, 1j)


def test_torch_gradients_are_not_lost():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, needs = torch.zeros(3), torch.ones(1, requires_grad=True)
    for arguments in [(needs, 0, [0], 1.0), (x, 0, [0], needs), (x, 0, [0], needs.sum())]:
        assert gs.scatter(*arguments).requires_grad
    with pytest.raises(RuntimeError, match="requires grad"):
        gs.scatter(torch.zeros(1), 0, [0], 1.0, out=needs)


def test_jax():
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    x = jnp.zeros(4)
    result = gs.scatter(x, 0, jnp.array([1, 1, 3]), jnp.array([1.0, 2.0, 3.0]), reduce="add")
    assert type(result) is type(x) and result.tolist() == [0, 3, 0, 3] and not x.any()
    assert gs.scatter(x, 0, [1], 7).tolist() == [0, 7, 0, 0]
    assert gs.scatter(x, 0, [1, 2], [7, 8]).tolist() == [0, 7, 8, 0]
    assert gs.scatter(jnp.zeros(2, "bfloat16"), 0, [1, 1], 1.5, reduce="mul", include_self=False).tolist() == [0, 2.25]
    with pytest.raises(TypeError, match="immutable"):
        gs.scatter(x, 0, [1], 7, out=x)


def test_libraries_mix():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    result = gs.scatter(
        np.zeros(3, "f4"), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False])
    )
    same(result, np.array([0, 0, 1], "f4"))
    result = gs.scatter(torch.zeros(3), 0, np.array([2, 0], ">u2"), np.array([1, 2], "f4"))
    assert type(result) is torch.Tensor and result.tolist() == [2, 0, 1]
    with pytest.raises(TypeError, match="src"):
        gs.scatter(torch.zeros(3), 0, [2, 0], np.array([1.0, 2.0]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_of_two_libraries(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    narrow = getattr(pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed"), dtype)
    tensor, array = torch.tensor([1.0, 1.5]).to(getattr(torch, dtype)), np.array([1.0, 1.5], narrow)
    result = gs.scatter(tensor, 0, [1], array, reduce="add")
    assert type(result) is torch.Tensor and result.float().tolist() == [1.0, 2.5]
    same(gs.scatter(array, 0, [0], tensor[1:]), np.array([1.5, 1.5], narrow))


def test_any_array_with_dlpack():
    class Producer:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x, src = np.zeros(3), np.array([1.0, 2.0])
    same(gs.scatter(Producer(x), 0, Producer(np.array([2, 0])), Producer(src)), np.array([2.0, 0, 1]))
    same(gs.scatter(Producer(x), 0, [1], 7), np.array([0.0, 7, 0]))
    same(gs.scatter(Producer(x), 0, [1, 2], [7, 8]), np.array([0.0, 7, 8]))


def test_a_scalar_of_numpy_is_no_place_to_write_to():
    zero = np.zeros(())
    for write in (
        lambda: gs.scatter(zero, 0, 0, 1.0, out=np.float64(3)),
        lambda: gs.gather(zero, 0, 0, out=np.float64(3)),
        lambda: gs.tile_scatter(np.float64(3), (), 1.0),
        lambda: gs.plan(gs.gather, zero, 0, 0).scatter(zero, 0, 1.0, out=np.float64(2)),
    ):
        with pytest.raises(TypeError, match="expected an array"):
            write()


def test_include_self_says_something_about_a_reduction_only():
    with pytest.raises(ValueError, match="include_self"):
        gs.scatter(np.zeros(3), 0, [1], 1.0, include_self=False)


@pytest.mark.parametrize("reduce", ["add", "mean"])
def test_totals_of_a_few_elements_far_apart(reduce):
    """The elements between them are not read and have no totals: a column of a large matrix is a small target."""
    matrix = np.ones((50, 200_000), np.float16)
    column, index = matrix[:, 7], np.arange(500) % 50
    expected = gs.scatter(column.copy(), 0, index, np.float16(2), reduce=reduce)
    assert gs.scatter(column, 0, index, np.float16(2), reduce=reduce, out=column) is column
    assert (column == expected).all() and (matrix[:, :7] == 1).all() and (matrix[:, 8:] == 1).all()


def test_units_longer_than_a_window_of_totals():
    rows = np.zeros((2, 9 << 20), np.float16)
    result = gs.scatter_nd(rows, [[1], [1]], np.float16(1.5), reduce="add")
    assert (result[1] == 3).all() and not result[0].any()


@pytest.mark.parametrize("items", [1, 15, 16 * 4096, 16 * 4096 + 1, 3 << 20])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f8", "c16", "S3", [("a", "u1"), ("b", "f4")]])
def test_one_value_for_the_whole_target(dtype, items):
    """Large targets are filled by rows of 4 KiB and a rest, where the value fits a row a whole number of times."""
    count = -(-items // np.dtype(dtype).itemsize)
    value = np.frombuffer(bytes(range(1, 33)), np.dtype(dtype), 1)[0]
    base = np.broadcast_to(np.asarray(value), (count,))
    points = np.array([0, count - 1, count // 2])
    source = np.zeros(3, dtype)
    expected = np.full(count, value, np.dtype(dtype))
    expected[points] = source
    assert gs.scatter(base, 0, points, source).tobytes() == expected.tobytes()
    if dtype in ("u1", "f8"):
        ones = np.ones(3, dtype)
        expected = np.full(count, value)
        np.add.at(expected, points, ones)
        assert gs.scatter(base, 0, points, ones, reduce="add").tobytes() == expected.tobytes()
    wide = np.broadcast_to(np.asarray(value), (2, count))
    out = np.zeros((2, count), dtype)[:, ::-1]
    gs.scatter(wide, 1, points[None], source[None], out=out)
    again = np.full((2, count), value, np.dtype(dtype))
    again[0, points] = source
    assert out.tobytes() == again.tobytes()
