"""test_jax_gradients.py: derivatives of every move, against differences and against JAX's own operators."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gatherscatter as gs

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
check_grads = pytest.importorskip("jax.test_util", reason="jax is not installed").check_grads

BOTH = ("fwd", "rev")
TOLERANCE = {"atol": 6e-2, "rtol": 6e-2}  # float32, and differences of differences
ALONG = np.array([[4, 0], [1, -1], [1, 1]], np.int32)
MASK = np.array([[True, False], [True, True], [True, True]])


def values(*shape):
    """Values of which no two are equal, and none is near 0."""
    count = int(np.prod(shape))
    order = np.random.default_rng(5).permutation(count)
    return jnp.asarray((0.4 + order / count).reshape(shape), jnp.float32)


GATHERS = {
    "along": lambda x: gs.gather(x, 1, ALONG),
    "masked": lambda x: gs.gather(x, 1, ALONG, mask=MASK, fill_value=2),
    "clipped": lambda x: gs.gather(x, 1, ALONG * 3, bounds="clip"),
    "filled": lambda x: gs.gather(x, 1, ALONG * 3, bounds="fill"),
    "slices": lambda x: gs.gather(x, np.array([[2, 0], [2, 2]]), axis=0),
    "batches": lambda x: gs.gather(x, ALONG, axis=1, batch_dims=1),
    "flat": lambda x: gs.take(x, np.array([14, 0, 3, 3])),
    "coordinates": lambda x: gs.gather_nd(x, np.array([[0, 4], [2, -1], [0, 4]])),
    "points": lambda x: gs.tile_gather(x, (np.array([0, 2, 9]), np.array([1, 1, 1]))),
    "broadcast": lambda x: gs.take_along_axis(x, ALONG[:1], 1),
}


@pytest.mark.parametrize("name", GATHERS)
def test_gathers(name):
    check_grads(GATHERS[name], (values(3, 5),), order=2, modes=BOTH, **TOLERANCE)
    check_grads(jax.jit(GATHERS[name]), (values(3, 5),), order=1, modes=BOTH, **TOLERANCE)


def test_fill_values():
    index = jnp.asarray(ALONG * 3)

    def call(x, fill):
        return gs.gather(x, 1, index, bounds="fill", fill_value=fill)

    check_grads(call, (values(3, 5), jnp.float32(2.5)), order=2, modes=BOTH, **TOLERANCE)
    of_fill = jax.grad(lambda fill: call(values(3, 5), fill).sum())(jnp.float32(1))
    assert of_fill == np.count_nonzero((ALONG * 3 >= 5) | (ALONG * 3 < -5))


SCATTERS = [(None, True), *((r, s) for r in ("add", "mul", "min", "max", "mean") for s in (True, False))]
FORMS = {
    "along": (lambda x, s, **k: gs.scatter(x, 1, ALONG, s, **k), (3, 5), (3, 2)),
    "masked": (lambda x, s, **k: gs.scatter(x, 1, ALONG, s, mask=MASK, **k), (3, 5), (3, 2)),
    "dropped": (lambda x, s, **k: gs.scatter(x, 1, ALONG * 3, s, bounds="drop", **k), (3, 5), (3, 2)),
    "slices": (lambda x, s, **k: gs.scatter(x, np.array([2, 0, 2]), s, **k), (3, 5), (3, 5)),
    "one row for all": (lambda x, s, **k: gs.scatter(x, np.array([2, 0, 2]), s, **k), (3, 5), (1, 5)),
    "leading part": (lambda x, s, **k: gs.scatter(x, 1, ALONG, s, **k), (3, 5), (4, 3)),
    "coordinates": (lambda x, s, **k: gs.scatter_nd(x, np.array([[1], [1]]), s, **k), (3, 5), (2, 5)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("reduce", "include_self"), SCATTERS)
def test_scatters(form, reduce, include_self):
    call, shape, source_shape = FORMS[form]
    x = values(*shape)
    source = values(*source_shape) * 1.3 + 0.01

    def run(x, source):
        return call(x, source, reduce=reduce, include_self=include_self)

    if not (form == "one row for all" and reduce in ("min", "max")):  # equal values, at which a minimum has a corner
        check_grads(run, (x, source), order=2, modes=BOTH, **TOLERANCE)
    if reduce == "add":
        check_grads(jax.jit(run), (x, source), order=1, modes=("rev",), **TOLERANCE)


def test_duplicates_get_the_gradient_of_what_was_written():
    index = np.array([2, 0, 2])
    for duplicates, expected in (("last", [0, 1, 1]), ("first", [1, 1, 0])):
        gradient = jax.grad(lambda s, d=duplicates: gs.scatter(jnp.zeros(3), 0, index, s, duplicates=d).sum())
        assert gradient(jnp.ones(3)).tolist() == expected


def test_equal_values_share_the_gradient_of_a_maximum():
    index = np.array([0, 0, 1])
    of_input, of_source = jax.grad(lambda x, s: gs.scatter(x, 0, index, s, reduce="max").sum(), argnums=(0, 1))(
        jnp.array([5.0, 1.0]), jnp.array([5.0, 5.0, 0.0])
    )
    np.testing.assert_allclose(of_input, [1 / 3, 1])
    np.testing.assert_allclose(of_source, [1 / 3, 1 / 3, 0])


def test_products_with_zeros():
    source = jnp.array([0.0, 3.0, 4.0, 0.0, 0.0])
    index = np.array([0, 0, 1, 2, 2])

    def product(source):
        return gs.scatter(jnp.full(3, 2.0), 0, index, source, reduce="mul").sum()

    assert jax.jit(jax.grad(product))(source).tolist() == [6, 0, 2, 0, 0]
    assert jax.hessian(product)(source)[3].tolist() == [0, 0, 0, 0, 2]


def test_complex_numbers():
    x = (values(3, 5) + 1j * values(3, 5)[::-1]).astype(jnp.complex64)
    source = x[:, :2] * 1.5
    check_grads(lambda x: gs.gather(x, 1, ALONG), (x,), order=2, modes=BOTH, **TOLERANCE)
    for reduce in (None, "add", "mean", "mul"):
        call = jax.tree_util.Partial(gs.scatter, reduce=reduce)
        check_grads(lambda x, s, c=call: c(x, 1, ALONG, s), (x, source), order=1, modes=BOTH, **TOLERANCE)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_keep_their_dtype(dtype):
    x = values(3, 5).astype(dtype)
    for reduce in (None, "add", "mul", "max", "mean"):
        gradient = jax.grad(lambda x, r=reduce: gs.scatter(x, 1, ALONG, x[:, :2], reduce=r).sum().astype(jnp.float32))(
            x
        )
        assert gradient.dtype == x.dtype and bool(jnp.isfinite(gradient).all())


def test_an_index_has_no_gradient():
    gradient = jax.grad(lambda x, i: gs.take(x, i).sum(), argnums=1, allow_int=True)(values(4), jnp.array([1]))
    assert gradient.dtype == jax.dtypes.float0


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_gradients_are_those_of_jax(data):
    rows, columns, count = (data.draw(st.integers(1, 5)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, weights = values(rows, columns), jnp.asarray(rng.normal(size=(rows, count)), jnp.float32)
    along = rng.integers(0, columns, (rows, count)).astype(np.int32)
    places = rng.integers(0, rows, count).astype(np.int32)
    source = values(count, columns)
    pairs = (
        (lambda x: jnp.take_along_axis(x, along, 1) * weights, lambda x: gs.take_along_axis(x, along, 1) * weights, x),
        (lambda s: x.at[places].add(s) ** 2, lambda s: gs.scatter(x, places, s, reduce="add") ** 2, source),
        (lambda x: x.at[places].add(source) ** 2, lambda x: gs.scatter(x, places, source, reduce="add") ** 2, x),
        (
            lambda s: jax.ops.segment_sum(s, places, rows) ** 2,
            lambda s: gs.scatter(jnp.zeros((rows, columns)), places, s, reduce="add") ** 2,
            source,
        ),
    )
    for theirs, ours, at in pairs:
        expected = jax.grad(lambda each, f=theirs: f(each).sum())(at)
        np.testing.assert_allclose(jax.jit(jax.grad(lambda each, f=ours: f(each).sum()))(at), expected, rtol=1e-5)
