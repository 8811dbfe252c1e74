"""test_nd.py: gather_nd and scatter_nd: TensorFlow's and ONNX's examples, naive loops, all rules and errors."""

import numpy as np
import pytest

import gatherscatter as gs
import reference
import reference_write
from reference_reduce import REDUCTIONS

X = np.arange(24.0).reshape(2, 3, 4)
AT = np.array([[0, 2], [1, 0], [0, 0]])


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


def same_bytes(result, expected):
    result = np.asarray(result)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


# ---- documented examples

MATRIX = np.array([["a", "b"], ["c", "d"]])
CUBE = np.array([[["a0", "b0"], ["c0", "d0"]], [["a1", "b1"], ["c1", "d1"]]])
SQUARE, BLOCK = np.arange(4).reshape(2, 2), np.arange(8).reshape(2, 2, 2)

# name: input, indices, batch_dims, result
GATHER_ND = {
    "tf matrix": (MATRIX, [[0, 0], [1, 1]], 0, ["a", "d"]),
    "tf slices of a matrix": (MATRIX, [[1], [0]], 0, [["c", "d"], ["a", "b"]]),
    "tf cube, one slice": (CUBE, [[1]], 0, [[["a1", "b1"], ["c1", "d1"]]]),
    "tf cube, rows": (CUBE, [[0, 1], [1, 0]], 0, [["c0", "d0"], ["a1", "b1"]]),
    "tf cube, items": (CUBE, [[0, 0, 1], [1, 0, 1]], 0, ["b0", "b1"]),
    "tf batched matrix": (MATRIX, [[[0, 0]], [[0, 1]]], 0, [["a"], ["b"]]),
    "tf batched slices": (MATRIX, [[[1]], [[0]]], 0, [[["c", "d"]], [["a", "b"]]]),
    "tf batched cube": (CUBE, [[[1]], [[0]]], 0, [[CUBE[1]], [CUBE[0]]]),
    "tf batched rows":
        (CUBE, [[[0, 1], [1, 0]], [[0, 0], [1, 1]]], 0, [[["c0", "d0"], ["a1", "b1"]], [["a0", "b0"], ["c1", "d1"]]]),
    "tf batched items":
        (CUBE, [[[0, 0, 1], [1, 0, 1]], [[0, 1, 1], [1, 1, 0]]], 0, [["b0", "b1"], ["d0", "c1"]]),
    "tf batch_dims 1": (CUBE, [[1], [0]], 1, [["c0", "d0"], ["a1", "b1"]]),
    "tf batch_dims 1, more": (CUBE, [[[1]], [[0]]], 1, [[["c0", "d0"]], [["a1", "b1"]]]),
    "tf batch_dims 1, items": (CUBE, [[[1, 0]], [[0, 1]]], 1, [["c0"], ["b1"]]),
    "tf no coordinate": (MATRIX, [[], []], 0, [MATRIX, MATRIX]),
    "onnx 1": (SQUARE, [[0, 0], [1, 1]], 0, [0, 3]),
    "onnx 2": (SQUARE, [[1], [0]], 0, [[2, 3], [0, 1]]),
    "onnx 3": (BLOCK, [[0, 1], [1, 0]], 0, [[2, 3], [4, 5]]),
    "onnx 4": (BLOCK, [[[0, 1]], [[1, 0]]], 0, [[[2, 3]], [[4, 5]]]),
    "onnx 5": (BLOCK, [[1], [0]], 1, [[2, 3], [4, 5]]),
}  # fmt: skip


@pytest.mark.parametrize("name", GATHER_ND)
def test_documented_gather_nd(name):
    x, indices, batch_dims, result = GATHER_ND[name]
    expected = np.array(result, x.dtype)
    same(gs.gather_nd(x, indices, batch_dims), expected)
    same(gs.gather_nd(x, np.array(indices, "i4"), batch_dims=batch_dims), expected)


EIGHT, ONES = np.zeros(8, int), np.ones(8, int)
FOURS = np.array([[5] * 4, [6] * 4, [7] * 4, [8] * 4])
LAYERS = np.arange(64).reshape(4, 4, 4)
FOUR_POINTS, FOUR_VALUES = [[4], [3], [1], [7]], [9, 10, 11, 12]

# name: input, indices, updates, keywords, result
SCATTER_ND = {
    "onnx 1": (np.arange(1, 9), FOUR_POINTS, FOUR_VALUES, {}, [1, 11, 3, 10, 9, 6, 7, 12]),
    "onnx 2": (LAYERS, [[0], [2]], [FOURS, FOURS - 4], {}, [FOURS, LAYERS[1], FOURS - 4, LAYERS[3]]),
    "onnx add":
        (LAYERS, [[0], [0]], [FOURS, FOURS - 4], {"reduce": "add"}, [LAYERS[0] + 2 * FOURS - 4, *LAYERS[1:]]),
    "onnx mul":
        (LAYERS, [[0], [0]], [FOURS, FOURS - 4], {"reduce": "mul"}, [LAYERS[0] * FOURS * (FOURS - 4), *LAYERS[1:]]),
    "tf scatter_nd": (EIGHT, FOUR_POINTS, FOUR_VALUES, {"reduce": "add"}, [0, 11, 0, 10, 9, 0, 0, 12]),
    "tf scatter_nd slices":
        (0 * LAYERS, [[0], [2]], [FOURS, FOURS], {"reduce": "add"}, [FOURS, 0 * FOURS, FOURS, 0 * FOURS]),
    "tf scatter_nd duplicates": (EIGHT, [[4], [4], [4]], [1, 2, 3], {"reduce": "add"}, [0, 0, 0, 0, 6, 0, 0, 0]),
    "tf update": (EIGHT, [[1], [3], [4], [7]], FOUR_VALUES, {}, [0, 9, 0, 10, 11, 0, 0, 12]),
    "tf update rows":
        (np.zeros((6, 3), int), [[2], [4]], [[1, 2, 3], [4, 5, 6]], {},
         [[0] * 3, [0] * 3, [1, 2, 3], [0] * 3, [4, 5, 6], [0] * 3]),
    "tf add": (ONES, FOUR_POINTS, FOUR_VALUES, {"reduce": "add"}, [1, 12, 1, 11, 10, 1, 1, 13]),
    "tf max": (EIGHT, [[1], [4], [5]], [1, -1, 1], {"reduce": "max"}, [0, 1, 0, 0, 0, 1, 0, 0]),
    "tf min": (EIGHT, [[1], [4], [5]], [1, -1, 1], {"reduce": "min"}, [0, 0, 0, 0, -1, 0, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCATTER_ND)
def test_documented_scatter_nd(name):
    x, indices, updates, keywords, result = SCATTER_ND[name]
    expected = np.array(result, x.dtype)
    for own in (updates, np.array(updates)):
        before = x.copy()
        same(gs.scatter_nd(before, indices, own, **keywords), expected)
        same(before, x)
        assert gs.scatter_nd(before, indices, own, out=before, **keywords) is before
        same(before, expected)


# ---- against naive loops


def random_points(seed):
    """(input, indices, batch_dims, shape of the updates)"""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, int(rng.integers(0, 5))).tolist())
    x = rng.integers(0, 99, shape).astype(rng.choice(["i1", "i2", "f4", "f8", "c16"]))
    x = x.transpose(rng.permutation(x.ndim))[(slice(None, None, -1),) * x.ndim]
    batch_dims = int(rng.integers(0, x.ndim + 1))
    k = int(rng.integers(0, x.ndim - batch_dims + 1))
    points = x.shape[:batch_dims] + tuple(rng.integers(0, 4, int(rng.integers(0, 3))).tolist())
    sizes = np.array(x.shape[batch_dims : batch_dims + k], int)
    indices = rng.integers(-sizes, sizes, (*points, k)).astype(rng.choice(["i1", "i8", "i4", ">i2"]))
    return rng, x, indices, batch_dims, points + x.shape[batch_dims + k :]


@pytest.mark.parametrize("seed", range(60))
def test_random_gather_nd(seed):
    rng, x, indices, batch_dims, shape = random_points(seed)
    mask = rng.random(indices.shape[:-1]) < 0.7
    fill = np.array(-7, x.dtype)
    answer = reference.gather_nd(x, indices, batch_dims, mask=mask, fill=fill)
    assert answer.result.shape == shape
    same_bytes(gs.gather_nd(x, indices, batch_dims, mask=mask, fill_value=-7), answer.result)
    same_bytes(gs.gather_nd(x, indices, batch_dims), reference.gather_nd(x, indices, batch_dims).result)


@pytest.mark.parametrize("seed", range(60))
def test_random_scatter_nd(seed):
    rng, x, indices, batch_dims, shape = random_points(seed)
    mask = rng.random(indices.shape[:-1]) < 0.7
    updates = rng.integers(0, 99, shape[int(rng.integers(0, len(shape) + 1)) :]).astype(x.dtype)
    how = [{}, {"duplicates": "first"}, {"reduce": "add"}, {"reduce": "mean", "include_self": False}][seed % 4]
    answer = reference_write.scatter_nd(x, indices, updates, batch_dims, mask=mask, **how)
    same_bytes(gs.scatter_nd(x, indices, updates, batch_dims, mask=mask, **how), answer.result)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_reductions(reduce):
    rng = np.random.default_rng(1)
    updates = rng.integers(1, 5, (5, 4)).astype(float)
    indices = rng.integers(0, 2, (5, 2))
    for include_self in (True, False):
        how = {"reduce": reduce, "include_self": include_self}
        answer = reference_write.scatter_nd(X, indices, updates, **how)
        same_bytes(gs.scatter_nd(X, indices, updates, **how), answer.result)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_was_scattered_is_gathered(k):
    points = np.stack(np.unravel_index(np.arange(np.prod(X.shape[:k])), X.shape[:k]), -1)[::-1]
    updates = gs.gather_nd(X, points)
    same(updates, X[tuple(points.T)])
    same(gs.scatter_nd(np.zeros_like(X), points, updates, duplicates="error"), X)


def test_a_tuple_is_a_nested_list():
    same(gs.gather_nd(X, ((0, 2), (1, 0))), X[[0, 1], [2, 0]])
    same(gs.gather_nd(X, (0, 2)), X[0, 2])
    same(gs.scatter_nd(X, ((0, 2, 1),), -1), gs.scatter_nd(X, np.array([[0, 2, 1]]), -1.0))


def test_coordinates_in_any_layout():
    wide = np.zeros((6, 4), int)
    wide[::2, ::2] = AT
    for indices in (wide[::2, ::2], np.asfortranarray(AT), AT[::-1, ::-1][::-1, ::-1], AT.astype(">u2")):
        same(gs.gather_nd(X, indices), X[AT[:, 0], AT[:, 1]])
        same(gs.scatter_nd(X, indices, 5), gs.scatter_nd(X, AT, 5))


def test_empties():
    same(gs.gather_nd(X, np.zeros((0, 2), int)), np.zeros((0, 4)))
    same(gs.gather_nd(X, np.zeros((3, 0), int)), np.stack([X] * 3))
    same(gs.gather_nd(np.array(5.0), np.zeros((2, 0), int)), np.array([5.0, 5.0]))
    same(gs.scatter_nd(X, np.zeros((0, 3), int), np.zeros(0)), X)
    same(gs.scatter_nd(X, np.zeros((1, 0), int), X[None] + 1), X + 1)
    same(gs.gather_nd(np.zeros((2, 0)), [[1], [0]]), np.zeros((2, 0)))
    with pytest.raises(gs.OutOfBoundsError):
        gs.gather_nd(np.zeros((2, 0)), [[1, 0]])
    assert gs.gather_nd(X, [1, 2, 3]) == 23 and np.ndim(gs.gather_nd(X, [1, 2, 3])) == 0


# ---- bounds, negatives, masks, fill values


def test_negatives_count_from_the_end():
    same(gs.gather_nd(X, [[-1, -3]]), X[1:, 0])
    with pytest.raises(gs.OutOfBoundsError):
        gs.gather_nd(X, [[-1, -3]], negative="out_of_bounds")


def test_fill_drop_clip_wrap():
    indices = [[0, 3], [1, -1], [-3, 0]]
    same(gs.gather_nd(X, indices, bounds="fill", fill_value=9), np.stack([np.full(4, 9.0), X[1, 2], np.full(4, 9.0)]))
    same(gs.gather_nd(X, indices, bounds="clip"), np.stack([X[0, 2], X[1, 2], X[0, 0]]))
    same(gs.gather_nd(X, indices, bounds="wrap"), np.stack([X[0, 0], X[1, 2], X[1, 0]]))
    expected = X.copy()
    expected[1, 2] = 7
    same(gs.scatter_nd(X, indices, 7, bounds="drop"), expected)
    expected[0, 2] = expected[0, 0] = 7
    same(gs.scatter_nd(X, indices, 7, bounds="clip"), expected)


def test_a_bad_coordinate_is_named_without_its_last_axis():
    for call in (gs.gather_nd, lambda x, i, **kw: gs.scatter_nd(x, i, 1.0, **kw)):
        with pytest.raises(gs.OutOfBoundsError) as error:
            call(X, [[[0, 0], [1, 3]], [[2, -4], [1, 1]]])
        e = error.value
        assert (e.index, e.position, e.axis, e.size, e.count, e.total) == (3, (0, 1), 1, 3, 2, 4)
        with pytest.raises(gs.OutOfBoundsError) as error:
            call(X, [[2, -4]])
        assert (error.value.index, error.value.axis, error.value.size) == (2, 0, 2), "the lowest bad axis"
        with pytest.raises(gs.OutOfBoundsError) as error:
            call(X, [[[0]], [[3]]], batch_dims=1)
        assert (error.value.position, error.value.axis) == ((1, 0), 1)


def test_masks():
    indices, mask = [[0, 2], [99, 99], [1, 0]], [True, False, True]
    same(gs.gather_nd(X, indices, mask=mask, fill_value=-1), np.stack([X[0, 2], np.full(4, -1.0), X[1, 0]]))
    expected = X.copy()
    expected[0, 2] = expected[1, 0] = 5
    same(gs.scatter_nd(X, indices, 5, mask=mask), expected)
    same(gs.scatter_nd(X, indices, 5, mask=False), X)
    for call in (gs.gather_nd, lambda x, i, **kw: gs.scatter_nd(x, i, 1.0, **kw)):
        for bad in (np.ones((3, 2), bool), np.ones(4, bool), np.ones((1, 3), bool)):
            with pytest.raises(ValueError):
                call(X, AT, mask=bad)
        with pytest.raises(TypeError):
            call(X, AT, mask=np.ones(3))


# ---- updates, duplicates, out


def test_updates_broadcast():
    full = np.arange(12.0).reshape(3, 4)
    for part in (full, full[0], full[:, :1], full[0, 0], full[:1]):
        same(gs.scatter_nd(X, AT, part), gs.scatter_nd(X, AT, np.broadcast_to(part, (3, 4)).copy()))
    for shape in [(3,), (4, 4), (2, 4), (3, 5), (1, 3, 4), (0, 4)]:
        with pytest.raises(ValueError, match="scatter_nd"):
            gs.scatter_nd(X, AT, np.zeros(shape))


def test_updates_that_do_not_fit():
    with pytest.raises(TypeError):
        gs.scatter_nd(X, AT, np.zeros((3, 4), "f4"))
    for updates in (1j, "1", [1, "1"]):
        with pytest.raises(ValueError, match=r"scatter_nd: updates .* does not fit dtype float64"):
            gs.scatter_nd(X, AT, updates)
    with pytest.raises(TypeError, match="scatter_nd: updates"):
        gs.scatter_nd(X, AT, None)


def test_duplicates():
    indices, updates = [[1], [0], [1]], [1, 2, 3]
    same(gs.scatter_nd(np.zeros(3, int), indices, updates), np.array([2, 3, 0]))
    same(gs.scatter_nd(np.zeros(3, int), indices, updates, duplicates="first"), np.array([2, 1, 0]))
    with pytest.raises(ValueError, match=r"scatter_nd.*\(2,\).*\(0,\)|scatter_nd.*\(0,\).*\(2,\)"):
        gs.scatter_nd(np.zeros(3, int), indices, updates, duplicates="error")
    with pytest.raises(ValueError, match="duplicates"):
        gs.scatter_nd(np.zeros(3, int), indices, updates, duplicates="first", reduce="add")
    same(gs.scatter_nd(np.zeros((2, 2), int), [[[1]], [[1]]], 4, 1, duplicates="error"), np.array([[0, 4], [0, 4]]))


def test_points_without_a_number_all_meet_the_whole_array():
    x, none = np.zeros(1 << 17, "f4"), np.zeros((24, 0), int)
    updates = np.random.default_rng(3).standard_normal((24, x.size)).astype("f4")
    total = x
    for one in updates:
        total = total + one
    for threads in (1, 2, 4):
        with gs.thread_limit(threads):
            for _ in range(5):
                same(gs.scatter_nd(x, none, updates), updates[-1])
                same(gs.scatter_nd(x, none, updates, duplicates="first"), updates[0])
                same(gs.scatter_nd(x, none, updates, reduce="add"), total)
    with pytest.raises(ValueError, match="duplicate"):
        gs.scatter_nd(x, none, updates, duplicates="error")
    same(gs.scatter_nd(x, none[:1], updates[:1], duplicates="error"), updates[0])


def test_out():
    out = np.full((3, 4), -1.0)
    assert gs.gather_nd(X, AT, out=out) is out
    same(out, X[AT[:, 0], AT[:, 1]])
    x = X.copy()
    assert gs.scatter_nd(x, AT, 5, out=x) is x
    same(x, gs.scatter_nd(X, AT, 5))
    for bad in (np.zeros((3, 5)), np.zeros(3), np.broadcast_to(0.0, X.shape)):
        with pytest.raises(ValueError):
            gs.gather_nd(X, AT, out=bad)
        with pytest.raises(ValueError):
            gs.scatter_nd(X, AT, 5, out=bad)
    for call in (lambda out: gs.gather_nd(X, AT, out=out[0]), lambda out: gs.scatter_nd(X, AT, 5, out=out)):
        with pytest.raises(TypeError):
            call(np.zeros((2, 3, 4), "f4"))


@pytest.mark.parametrize("bad", [0, 500, 999])
@pytest.mark.parametrize("reduce", [None, "add"])
def test_an_error_writes_nothing(bad, reduce):
    rng = np.random.default_rng(2)
    indices = rng.integers(0, 9, (1000, 2))
    indices[bad, 1] = 9
    x = rng.standard_normal((9, 9))
    before = x.tobytes()
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.scatter_nd(x, indices, 1.0, reduce=reduce, out=x)
    assert error.value.position == (bad,) and before == x.tobytes()


def test_coordinates_inside_of_the_target():
    x = np.array([[0, 1], [1, 0], [2, 2]])
    expected = gs.scatter_nd(x.copy(), x[:2].copy(), [7, 8])
    same(gs.scatter_nd(x, x[:2], [7, 8], out=x), expected)


# ---- errors of geometry and types

BOTH = pytest.mark.parametrize(
    "call", [gs.gather_nd, lambda x, i, b=0: gs.scatter_nd(x, i, 1.0, b)], ids=["gather", "scatter"]
)


@BOTH
@pytest.mark.parametrize(
    ("indices", "batch_dims"),
    [
        (np.zeros((2, 4), int), 0),
        (np.zeros((2, 3), int), 1),
        (np.zeros((2, 2), int), 2),
        (np.zeros((2, 3, 4, 1), int), 3),
        (np.zeros((2, 1), int), 4),
        (np.zeros((2, 1), int), -1),
        (np.zeros((3, 1), int), 1),
        (np.zeros((2, 2, 1), int), 2),
        (np.array(0), 0),
    ],
    ids=["k > rank", "k > rest", "all batch", "no rest", "batch > rank", "negative", "batch shape", "batch 2", "0-d"],
)  # fmt: skip
def test_geometry_that_does_not_fit(call, indices, batch_dims):
    with pytest.raises(ValueError):
        call(X, indices, batch_dims)


@BOTH
@pytest.mark.parametrize("indices", [AT * 1.0, AT > 0, None, "01", [[0.5]]], ids=repr)
def test_coordinates_are_integers(call, indices):
    with pytest.raises(TypeError):
        call(X, indices)


@BOTH
@pytest.mark.parametrize("batch_dims", [True, 1.0, None, "1"], ids=repr)
def test_batch_dims_is_an_integer(call, batch_dims):
    with pytest.raises(TypeError, match="batch_dims"):
        call(X, np.zeros((2, 1), int), batch_dims)


@pytest.mark.parametrize("x", [None, "abc", np.array([None])], ids=repr)
def test_an_array_is_expected(x):
    with pytest.raises(TypeError):
        gs.gather_nd(x, [[0]])
    with pytest.raises(TypeError):
        gs.scatter_nd(x, [[0]], np.zeros(1))


# ---- other libraries


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, at = torch.arange(24.0).reshape(2, 3, 4).to(torch.bfloat16), torch.tensor(AT)
    result = gs.gather_nd(x, at)
    assert type(result) is torch.Tensor and torch.equal(result, x[at[:, 0], at[:, 1]])
    result = gs.scatter_nd(x, at, 1, reduce="add")
    expected = x.clone()
    expected.index_put_((at[:, 0], at[:, 1]), torch.tensor(1.0).bfloat16(), accumulate=True)
    assert result.dtype is torch.bfloat16 and torch.equal(result, expected)
    assert gs.scatter_nd(x, AT, result[at[:, 0], at[:, 1]], out=x) is x and torch.equal(x, result)


def test_jax():
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    x, at = jnp.arange(24.0).reshape(2, 3, 4), jnp.array(AT)
    result = gs.gather_nd(x, at)
    assert type(result) is type(x) and (result == x[at[:, 0], at[:, 1]]).all()
    result = gs.scatter_nd(x, at, jnp.ones(4), reduce="add")
    assert type(result) is type(x) and (result == x.at[at[:, 0], at[:, 1]].add(1.0)).all()
    with pytest.raises(TypeError, match="immutable"):
        gs.scatter_nd(x, at, 1, out=x)


@pytest.mark.parametrize("empty", [[], ()], ids=repr)
def test_an_empty_list_of_points_is_not_the_whole_array(empty):
    x = np.arange(6.0).reshape(2, 3)
    for call in (
        lambda: gs.gather_nd(x, empty),
        lambda: gs.scatter_nd(x, empty, 1.0),
        lambda: gs.scatter_nd(x, empty, 1.0, out=x),
        lambda: gs.plan(gs.gather_nd, x, empty),
    ):
        with pytest.raises(ValueError, match=r"empty (list|tuple), which is one point .* np.empty\(\(0, k\), int\)"):
            call()
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert gs.scatter_nd(x, np.empty((0, 2), int), 1.0).tolist() == x.tolist()
    assert gs.gather_nd(x, np.empty((1, 0), int)).tolist() == [x.tolist()]
    assert gs.gather_nd(np.float64(3), []) == 3
