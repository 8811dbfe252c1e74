"""test_index_tuples.py: `gather_nd` and `scatter_nd` with one index array for each axis, as in ``x[r, c]``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gatherscatter as gs
from array_strategies import INDEX_DTYPES, strided

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def points(draw):
    """An array, an index tuple whose items broadcast together, and the shape of its points."""
    shape = draw(SHAPES)
    array = draw(
        strided(shape, draw(st.sampled_from([np.dtype(c) for c in ("i8", "f4", ">i2", "c16", "S3", "M8[s]")])))
    )
    extents = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    indices = []
    for n in shape[: draw(st.integers(1, len(shape)))]:
        own = tuple(draw(st.sampled_from([1, extent])) for extent in extents)[draw(st.integers(0, len(extents))) :]
        dtype = draw(st.sampled_from(INDEX_DTYPES))
        low = -n if dtype.kind == "i" else 0
        values = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(low, n, own)
        laid = draw(strided(own, dtype, broadcast=False))
        laid[...] = values
        kind = draw(st.sampled_from(["array", "array", "list"]))
        indices.append(laid.tolist() if kind == "list" and laid.size else laid)
    if not any(isinstance(each, np.ndarray) and each.ndim for each in indices):
        indices[0] = np.array(indices[0], ndmin=1)
    return array, tuple(indices)


def looped(array, indices):
    """The result of ``array[indices]`` by one loop over the points."""
    grids = np.broadcast_arrays(*indices)
    result = np.empty(grids[0].shape + array.shape[len(indices) :], array.dtype)
    for at in np.ndindex(grids[0].shape):
        result[at] = array[tuple(int(grid[at]) for grid in grids)]
    return result


@settings(max_examples=200)
@given(points())
def test_gather_nd_is_a_loop_over_the_points(drawn):
    array, indices = drawn
    expected = looped(array, indices)
    results = [gs.gather_nd(array, indices), gs.plan(gs.gather_nd, array, indices)(array, indices)]
    out = np.empty_like(expected)
    assert gs.gather_nd(array, indices, out=out) is out
    coordinates = np.stack(np.broadcast_arrays(*(np.asarray(each).astype("i8") for each in indices)), axis=-1)
    for result in (*results, out, gs.gather_nd(array, coordinates)):
        assert result.dtype == array.dtype and result.shape == expected.shape
        assert np.ascontiguousarray(result).tobytes() == expected.tobytes()
    assert gs.explain(gs.gather_nd, array, indices).to_dict()["result_shape"] == expected.shape


@settings(max_examples=150)
@given(points(), st.sampled_from([None, "add", "max"]), st.integers(0, 2**32 - 1))
def test_scatter_nd_is_a_loop_over_the_points(drawn, reduce, seed):
    array, indices = drawn
    if array.dtype.kind not in "if" or not array.dtype.isnative:
        reduce = None
    grids = np.broadcast_arrays(*indices)
    updates = np.zeros(grids[0].shape + array.shape[len(indices) :], array.dtype)
    if array.dtype.kind in "ifc":
        updates[...] = np.random.default_rng(seed).integers(-9, 9, updates.shape)
    expected = np.array(array)
    for at in np.ndindex(grids[0].shape):
        place = tuple(int(grid[at]) for grid in grids)
        if reduce is None:
            expected[place] = updates[at]
        else:
            expected[place] = (np.add if reduce == "add" else np.maximum)(expected[place], updates[at])
    plan = gs.plan(gs.scatter_nd, array, indices, updates, reduce=reduce)
    target = np.array(array)
    gs.scatter_nd(target, indices, updates, reduce=reduce, out=target)
    for result in (gs.scatter_nd(array, indices, updates, reduce=reduce), plan(array, indices, updates), target):
        assert np.ascontiguousarray(result).tobytes() == expected.tobytes()


X = np.arange(20.0).reshape(4, 5)
R, C = np.array([0, 3, 1]), np.array([2, -1, 4])


def test_the_other_rules_hold():
    mask = np.array([True, False, True])
    np.testing.assert_array_equal(gs.gather_nd(X, (R, C), mask=mask), [2, 0, 9])
    np.testing.assert_array_equal(gs.gather_nd(X, (R, C), bounds="fill", negative="out_of_bounds"), [2, 0, 9])
    np.testing.assert_array_equal(gs.gather_nd(X, (R, C + 9), bounds="clip"), [4, 19, 9])
    np.testing.assert_array_equal(gs.gather_nd(X, (R[:, None], 1), batch_dims=0), X[R[:, None], 1])
    np.testing.assert_array_equal(gs.gather_nd(X, (np.array([1, 2, 3, 0]),), batch_dims=1), X[range(4), [1, 2, 3, 0]])
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.gather_nd(X, (R, np.array([0, 9, 1])))
    assert (caught.value.index, caught.value.axis, caught.value.position) == (9, 1, (1,))
    with pytest.raises(gs.OutOfBoundsError, match=str(2**70)):
        gs.gather_nd(X, (R, 2**70))


@pytest.mark.parametrize(
    ("indices", "kind", "text"),
    [
        ((R, C[:2]), ValueError, "do not broadcast together"),
        ((R, C, R), ValueError, "too many for an array of shape"),
        ((R, C * 1.0), TypeError, "expected an integer dtype"),
        ((R, C > 0), TypeError, "expected an integer dtype"),
        ((R, np.ma.array(C, mask=C > 2)), TypeError, "MaskedArray"),
        ((slice(None), R), TypeError, "slice"),
        ((..., R), TypeError, "Ellipsis"),
        ((None, R), TypeError, "None"),
        ((R, ["a", "b", "c"]), TypeError, "integer"),
    ],
)
def test_what_is_no_index_is_refused(indices, kind, text):
    before = X.copy()
    for call in (
        lambda: gs.gather_nd(X, indices),
        lambda: gs.scatter_nd(X, indices, 0.0, out=X),
        lambda: gs.plan(gs.gather_nd, X, indices),
    ):
        with pytest.raises(kind, match=text):
            call()
    np.testing.assert_array_equal(X, before)


def test_a_plan_of_coordinates_and_one_of_a_tuple_differ():
    plan = gs.plan(gs.gather_nd, X, np.stack((R, C), -1))
    with pytest.raises(TypeError, match="tuple of arrays"):
        plan(X, (R, C))
    with pytest.raises(TypeError, match="tuple"):
        gs.plan(gs.gather_nd, X, (R, C))(X, np.stack((R, C), -1))


@pytest.mark.parametrize("operator", ["gather", "scatter"])
@pytest.mark.parametrize("form", ["slices", "elements"])
def test_one_index_is_not_a_tuple_of_arrays(operator, form):
    """`gather` and `scatter` wrote all rows that any of the arrays names."""
    before = X.copy()
    given = ((R, C), *((7.0,) if operator == "scatter" else ()))
    given = (0, *given) if form == "elements" else given
    words = {} if form == "elements" else {"axis": 0}
    for pair in ((R, C), (R, [1, 2, 3]), (R[:1], 1), ((R, C), R)):
        arguments = tuple(pair if each is given[-2 if operator == "scatter" else -1] else each for each in given)
        with pytest.raises(TypeError, match=r"tuple of arrays, expected one array; x\[r, c\]"):
            getattr(gs, operator)(X, *arguments, **words)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(gs.gather(X, (0, 2), axis=0), X[[0, 2]])
    np.testing.assert_array_equal(gs.gather(X, ([0, 2], [1, 1]), axis=0), X[[[0, 2], [1, 1]]])


def test_tensors_and_their_gradients():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.arange(20.0).reshape(4, 5)
    weights = torch.tensor([1.0, 2.0, 4.0])
    r, c = torch.tensor(R), torch.tensor(C)
    for indices in ((r, c), (r.int(), c), (R, c), (r, C), (r, [2, -1, 4])):
        own, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
        (gs.gather_nd(own, indices) * weights).sum().backward()
        (theirs[r, c] * weights).sum().backward()
        assert torch.equal(own.grad, theirs.grad)
        source = weights.clone().requires_grad_()
        written = gs.scatter_nd(x, indices, source)
        assert torch.equal(written, x.index_put((r, c), weights))
        (written * x).sum().backward()
        assert torch.equal(source.grad, x[r, c])


def test_compiled_calls():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("gatherscatter.torch")
    x, r, c = torch.arange(20.0).reshape(4, 5), torch.tensor(R), torch.tensor(C)
    for function in (
        lambda x, r, c: gs.gather_nd(x, (r, c)),
        lambda x, r, c: gs.gather_nd(x, (r[:, None], c)),
        lambda x, r, c: gs.gather_nd(x, (r, 1)),
        lambda x, r, c: gs.scatter_nd(x, (r, c), 7.0),
    ):
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(x, r, c), function(x, r, c))
    for refused in (
        lambda x, r, c: gs.scatter(x, (r, c), 7.0),
        lambda x, r, c: gs.scatter(x, 0, (r, c), 7.0),
        lambda x, r, c: gs.gather(x, (r, c), axis=0),
    ):
        with pytest.raises(Exception, match="tuple of arrays"):
            torch.compile(refused, backend="aot_eager")(x, r % 4, c % 4)


def test_arrays_of_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    x, r, c = jax.numpy.arange(20.0).reshape(4, 5), jax.numpy.array(R), jax.numpy.array(C)
    expected = np.asarray(X[R, C])
    np.testing.assert_array_equal(gs.gather_nd(x, (r, c)), expected)
    np.testing.assert_array_equal(jax.jit(lambda x, r, c: gs.gather_nd(x, (r, c)))(x, r, c), expected)
    written = jax.jit(lambda x, r, c: gs.scatter_nd(x, (r, c), 7.0))(x, r, c)
    np.testing.assert_array_equal(written, x.at[r, c].set(7.0))
    own = jax.grad(lambda x: (gs.gather_nd(x, (r, c)) ** 2).sum())(x)
    np.testing.assert_array_equal(own, jax.grad(lambda x: (x[r, c] ** 2).sum())(x))
    for refused in (lambda x, r, c: gs.scatter(x, (r, c), 7.0), lambda x, r, c: gs.gather(x, (r, c), axis=0)):
        with pytest.raises(TypeError, match="tuple of arrays"):
            jax.jit(refused)(x, r, c)


def test_arrays_of_dask():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy = da.from_array(X, chunks=(2, 3))
    expected = X.copy()
    expected[R, C] = 7
    for indices in ((R, C), (da.from_array(R, chunks=2), C), (da.from_array(R, chunks=1), da.from_array(C, chunks=2))):
        np.testing.assert_array_equal(gs.gather_nd(lazy, indices).compute(), X[R, C])
        np.testing.assert_array_equal(gs.scatter_nd(lazy, indices, 7.0).compute(), expected)
        with pytest.raises(TypeError, match="tuple of arrays"):
            gs.scatter(lazy, indices, 7.0)


def test_arrays_of_xarray_keep_the_labels_of_the_axes_that_are_not_indexed():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    x = xarray.DataArray(X, dims=("a", "b"), coords={"a": list("wxyz"), "b": range(5)})
    found = gs.gather_nd(x, (R,))
    assert list(found.coords) == ["b"] and found.dims == ("a", "b")
    np.testing.assert_array_equal(found.values, X[R])
    np.testing.assert_array_equal(gs.gather_nd(x, (xarray.DataArray(R), xarray.DataArray(C))), X[R, C])
    assert list(gs.scatter_nd(x, (R, C), 7.0).coords) == ["a", "b"]


def test_a_gather_of_a_tuple_without_an_axis_names_gather_nd():
    with pytest.raises(TypeError, match=r"tuple of arrays.*gather_nd"):
        gs.gather(X, (R, C))
    with pytest.raises(TypeError, match="axis is missing"):
        gs.gather(X, ([0, 2], [1, 1]))
