"""test_jax_shard_map.py: our calls inside of jax.shard_map beside JAX's own, on four host devices, with and without the
types that say over which axes of the mesh an array differs."""

import json

import pytest

import child_process

jax = pytest.importorskip("jax", reason="jax is not installed")
if not hasattr(jax, "shard_map"):
    pytest.skip("this jax has no jax.shard_map", allow_module_level=True)

ENVIRONMENT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}

# Each case of the child: two functions, in_specs, out_specs and arguments. "P" is the same on all devices, "D" is cut.
BODY = """
import functools, itertools, json
import numpy as np, jax, jax.numpy as jnp, gatherscatter as gs
from jax.sharding import PartitionSpec

P, D = PartitionSpec(), PartitionSpec("d")
mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
total = functools.partial(jax.lax.psum, axis_name="d")
TABLE = jnp.arange(12.0).reshape(4, 3) + 1
IDS = jnp.array([0, 1, 2, 2, 3, 3, 3, 0])
ROWS = jnp.arange(24.0).reshape(8, 3)
UNIQUE = jnp.array([0, 1, 2, 3, 0, 1, 2, 3])

take = lambda t, i: gs.take(t, i, axis=0), lambda t, i: t[i]
SCATTERS = {
    "add": (lambda t, i, s: gs.scatter(t, i, s, reduce="add"), lambda t, i, s: t.at[i].add(s)),
    "set": (lambda t, i, s: gs.scatter(t, i, s), lambda t, i, s: t.at[i].set(s)),
    "max": (lambda t, i, s: gs.scatter(t, i, s, reduce="max"), lambda t, i, s: t.at[i].max(s)),
}


def both(functions, in_specs, out_specs, arguments, check, derive=None):
    results = []
    for function in functions:
        call = jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check)
        results.append((jax.jit(call) if derive is None else derive(call))(*arguments))
    for own, other in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(np.asarray(own), np.asarray(other), rtol=1e-6)


def gradient(numbers):
    return lambda call: jax.jit(jax.grad(lambda *given: call(*given).sum(), numbers))


def sizes(specs):
    table, ids, rows = TABLE, UNIQUE, ROWS + 0.5
    if specs[0] == D:
        table = jnp.ones((16, 3))
    if specs[1] == P:
        ids = jnp.array([0, 2])
        rows = rows if specs[2] == D else rows[:2]
    elif specs[2] == P:
        rows = rows[:2]
    return table, ids, rows


def gathers(check):
    both(take, (P, D), D, (TABLE, IDS), check)
    both(take, (D, D), D, (jnp.ones((16, 3)), UNIQUE), check)
    squares = [lambda t, i, f=f: total((f(t, i) ** 2).sum()) for f in take]
    both(squares, (P, D), P, (TABLE, IDS), check, gradient(0))
    both([lambda t, i, f=f: f(t, i) ** 2 for f in take], (D, D), D, (jnp.ones((16, 3)), UNIQUE), check, gradient(0))
    inside = [lambda t, i, f=f: jax.grad(lambda t: total((f(t, i) ** 2).sum()))(t) for f in take]
    both(inside, (P, D), P, (TABLE, IDS), check)
    tangent = [
        lambda t, i, f=f: jax.jvp(jax.grad(lambda t: total((f(t, i) ** 3).sum())), (t,), (jnp.ones_like(t),))[1]
        for f in take
    ]
    both(tangent, (P, D), P, (TABLE, IDS), check, gradient(0))
    both([lambda t, i, f=f: jax.vmap(f, (None, 0))(t, i[:, None]) for f in take], (P, D), D, (TABLE, IDS), check)
    masked = [
        lambda t, i: total((gs.gather(t, 0, i, bounds="fill", fill_value=2.0, mask=i > 0) ** 2).sum()),
        lambda t, i: total((jnp.where(i > 0, jnp.take_along_axis(t, i, 0), 2.0) ** 2).sum()),
    ]
    both(masked, (P, D), P, (TABLE[:, 0], IDS), check, gradient(0))


def scatters(check):
    for functions, specs in itertools.product(SCATTERS.values(), itertools.product((P, D), repeat=3)):
        squares = [lambda *given, f=f: total((f(*given) ** 2).sum()) for f in functions]
        both(squares, specs, P, sizes(specs), check, gradient((0, 2)))


def loops(check):
    add = SCATTERS["add"][0], SCATTERS["add"][1]
    carried = [
        lambda t, i, f=f, g=g: jax.lax.scan(lambda c, _: (f(c, i, g(c, i) * 0.5), None), t, jnp.arange(3))[0]
        for f, g in zip(add, take)
    ]
    both(carried, (D, D), D, (jnp.ones((16, 3)), UNIQUE), check)
"""
PARTS = ("gathers", "scatters", "loops")


@pytest.mark.parametrize("check", [True, False], ids=["check_vma", "unchecked"])
@pytest.mark.parametrize("part", PARTS)
def test_as_jax(part, check):
    code = f"{BODY}\n{part}({check})\nprint(json.dumps('right'))"
    assert json.loads(child_process.run(code, env=ENVIRONMENT)) == "right"


def test_what_differs_is_not_taken_for_the_same():
    """JAX refuses a result that differs between devices where out_specs says that it does not."""
    code = f"""{BODY}
for function in take:
    call = jax.shard_map(function, mesh=mesh, in_specs=(P, D), out_specs=P)
    try:
        jax.jit(call)(TABLE, IDS)
    except ValueError as error:
        print("refused" if "out_specs" in str(error) else error)
"""
    assert child_process.run(code, env=ENVIRONMENT).split() == ["refused", "refused"]
