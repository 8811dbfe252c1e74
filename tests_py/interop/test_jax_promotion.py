"""test_jax_promotion.py: all calls give the same under JAX's strict promotion of dtypes, which refuses mixed ones."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pytest

import gatherscatter as gs

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy
FLOATS = ("float32", "float16", "bfloat16", "float8_e4m3fn", "complex64")
DTYPES = (*FLOATS, "int32", "uint8")


def same(found, wanted):
    found, wanted = (jax.tree_util.tree_leaves(each) for each in (found, wanted))
    for left, right in zip(found, wanted, strict=True):
        assert left.dtype == right.dtype
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes()


def moves(rng):
    """Calls of an array of shape (3, 4), of rows and of an array of the same shape as these."""
    index = rng.integers(-3, 3, 5).astype(rng.choice(["int8", "int32", "int64"]))
    index = jnp.asarray(index) if rng.integers(2) else index
    columns = jnp.tile(jnp.asarray(index)[:, None], (1, 4))
    keeps = jnp.asarray(rng.integers(0, 2, 5), bool)
    yield "take", lambda x, v: gs.take(x, index, axis=0)
    yield "fill", lambda x, v: gs.gather(x, 0, columns, bounds="fill", fill_value=1)
    yield "fill of an array", lambda x, v: gs.gather(x, index, axis=0, bounds="fill", fill_value=v[0, 0])
    yield "tile", lambda x, v: gs.tile_gather(x, (index, index), mask=keeps, padding_value=0)
    yield "nd", lambda x, v: gs.gather_nd(x, index[:, None], bounds="wrap")
    yield "repeat", lambda x, v: gs.repeat(x, 2, axis=0)
    yield "roll", lambda x, v: gs.roll(x, 1, axis=1)
    yield "scatter", lambda x, v: gs.scatter(x, index, v)
    yield "scatter of a number", lambda x, v: gs.scatter(x, index, 1)
    for reduce in ("add", "mul", "min", "max", "mean"):
        for include_self in (True, False):
            how = {"reduce": reduce, "include_self": include_self}
            yield f"{how}", lambda x, v, how=how: gs.scatter(x, index, v, **how)
            yield f"{how} along", lambda x, v, how=how: gs.scatter(x, 0, columns, v, **how, mask=keeps[:, None])


def transforms(call, x, v):
    """The call, plain, compiled and batched, and for floats five derivatives behind these."""
    yield lambda: call(x, v)
    yield lambda: jax.jit(call)(x, v)
    yield lambda: jax.vmap(call)(jnp.stack((x, x)), jnp.stack((v, v)))
    if str(x.dtype) in FLOATS:
        one = jnp.ones(call(x, v).shape, x.dtype)
        yield lambda: jax.jvp(call, (x, v), (x, v))
        yield lambda: jax.vjp(call, x, v)[1](one)
        yield lambda: jax.jit(lambda x, v, one: jax.vjp(call, x, v)[1](one))(x, v, one)
        yield lambda: jax.vmap(jax.vjp(call, x, v)[1])(jnp.stack((one, one)))
        yield lambda: jax.jvp(lambda x, v: jax.vjp(call, x, v)[1](one), (x, v), (x, v))


@pytest.mark.parametrize("dtype", DTYPES)
def test_strict_promotion(dtype):
    rng = np.random.default_rng(DTYPES.index(dtype))
    x, v = (jnp.asarray(rng.integers(0, 4, shape)).astype(dtype) for shape in ((3, 4), (5, 4)))
    refused = []
    for name, call in moves(rng):
        try:
            call(x, v)
        except TypeError:
            refused.append(name)
            continue
        each = list(transforms(call, x, v))[-int(rng.integers(1, 6 if dtype in FLOATS else 4))]
        wanted = each()
        with jax.numpy_dtype_promotion("strict"):
            same(each(), wanted)
    assert len(refused) <= (8 if dtype == "complex64" else 0), refused
