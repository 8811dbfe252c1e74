"""test_jax_transforms.py: vmap, scan, checkpoint, donation, devices, threads, and memory over many steps."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import itertools
import re
import threading

import numpy as np
import pytest

import child_process
import gatherscatter as gs

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")

B = 3
RNG = np.random.default_rng(8)
X = RNG.normal(size=(B, 4, 6)).astype(np.float32)
ALONG = RNG.integers(-6, 6, (B, 4, 2)).astype(np.int32)
ROWS = RNG.integers(-4, 4, (B, 5)).astype(np.int32)
POINTS = (RNG.integers(0, 24, (B, 5, 2)) % [4, 6]).astype(np.int32)
SOURCE = RNG.normal(size=(B, 4, 2)).astype(np.float32)
LINES = RNG.normal(size=(B, 5, 6)).astype(np.float32)

# A call of arrays, and the arrays with a batch axis in front of each.
BATCHED = {
    "gather": (lambda x, i: gs.gather(x, 1, i), (X, ALONG)),
    "slices": (lambda x, i: gs.gather(x, i, axis=0), (X, ROWS)),
    "one row by number": (lambda x: gs.gather(x, 2, axis=0), (X,)),
    "inner slices": (lambda x, i: gs.take(x, i, axis=1), (X, ROWS)),
    "batch_dims": (lambda x, i: gs.gather(x, i, axis=1, batch_dims=1), (X, ALONG)),
    "flat": (lambda x, i: gs.take(x, i), (X, ROWS)),
    "along": (lambda x, i: gs.take_along_axis(x, i, 1), (X, ALONG)),
    "one row along": (lambda x, i: gs.take_along_axis(x, i[:1], 1), (X, ALONG)),
    "fewer rows": (lambda x, i: gs.gather(x, 1, i[:2]), (X, ALONG)),
    "nd": (lambda x, i: gs.gather_nd(x, i), (X, POINTS)),
    "flat along": (lambda x, i: gs.take_along_axis(x, i, None), (X, ROWS)),
    "tile": (lambda x, i: gs.tile_gather(x, (i[:, 0], i[:, 1])), (X, POINTS)),
    "scalars": (lambda x, i: gs.take(x, i), (X[:, 0], ROWS[:, 0])),
    "masked": (lambda x, i, m: gs.gather(x, 1, i, mask=m, fill_value=2), (X, ALONG, SOURCE > 0)),
    "fill": (lambda x, i, f: gs.gather(x, 1, i * 3, bounds="fill", fill_value=f), (X, ALONG, X[:, 0, 0])),
    "scatter": (lambda x, i, s: gs.scatter(x, 1, i, s), (X, ALONG, SOURCE)),
    "add": (lambda x, i, s: gs.scatter(x, 1, i, s, reduce="add"), (X, ALONG, SOURCE)),
    "mean": (lambda x, i, s: gs.scatter(x, 1, i, s, reduce="mean", include_self=False), (X, ALONG, SOURCE)),
    "rows": (lambda x, i, s: gs.scatter(x, i, s, reduce="add"), (X, ROWS, LINES)),
    "to one row by number": (lambda x, s: gs.scatter(x, 1, s, axis=0), (X, LINES[:, 0])),
    "scatter_nd": (lambda x, i, s: gs.scatter_nd(x, i, s, reduce="max"), (X, POINTS, LINES[:, :, 0])),
    "put": (lambda x, i, s: gs.jax.put_along_axis(x, i, s, 1), (X, ALONG, SOURCE)),
}


@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_gives_what_its_members_give(name):
    call, arrays = BATCHED[name]
    for batched in itertools.product((True, False), repeat=len(arrays)):
        if not any(batched):
            continue
        members = [
            [a[b] if is_batched else a[0] for a, is_batched in zip(arrays, batched, strict=True)] for b in range(B)
        ]
        expected = np.stack([np.asarray(call(*each)) for each in members])
        given = [jnp.asarray(a if is_batched else a[0]) for a, is_batched in zip(arrays, batched, strict=True)]
        axes = tuple(0 if is_batched else None for is_batched in batched)
        for run in (jax.vmap(call, axes), jax.jit(jax.vmap(call, axes))):
            np.testing.assert_array_equal(np.asarray(run(*given)), expected)
        moved = [jnp.moveaxis(a, 0, -1) if is_batched else a for a, is_batched in zip(given, batched, strict=True)]
        last = tuple(-1 if is_batched else None for is_batched in batched)
        np.testing.assert_array_equal(np.asarray(jax.vmap(call, last)(*moved)), expected)


@pytest.mark.parametrize("name", ["gather", "slices", "nd", "add", "rows", "scatter_nd"])
def test_a_batch_of_batches_and_of_gradients(name):
    call, arrays = BATCHED[name]
    twice = [jnp.stack([a, a[::-1]]) for a in arrays]
    expected = np.stack([np.asarray(jax.vmap(call)(*(a[b] for a in twice))) for b in range(2)])
    np.testing.assert_array_equal(np.asarray(jax.jit(jax.vmap(jax.vmap(call)))(*twice)), expected)

    def loss(x, *rest):
        return (call(x, *rest) ** 2).sum()

    each = np.stack([np.asarray(jax.grad(loss)(*(a[b] for a in arrays))) for b in range(B)])
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss)))(*arrays), each, rtol=1e-5)


@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_is_one_move(name):
    call, arrays = BATCHED[name]
    names = [each.primitive.name for each in jax.make_jaxpr(jax.vmap(call))(*arrays).eqns]
    assert sum(each.startswith("gatherscatter") for each in names) == 1 and not {"scan", "while"} & set(names)


SHARED = ["gather", "along", "one row along", "flat along", "nd", "tile", "masked", "fill", "slices"]


@pytest.mark.parametrize("name", SHARED)
def test_a_batch_shares_an_input_without_a_copy(name):
    call, arrays = BATCHED[name]
    x, rest = X[0], arrays[1:]
    run = jax.vmap(call, (None, *(0 for _ in rest)))
    made = [out.aval.shape for each in jax.make_jaxpr(run)(x, *rest).eqns for out in each.outvars]
    assert (B, *x.shape) not in made and (B, x.size) not in made

    def loss(x, call=run):
        return (call(x, *rest) ** 2).sum()

    def members(x, *rest):
        return jnp.stack([call(x, *(a[b] for a in rest)) for b in range(B)])

    np.testing.assert_allclose(jax.grad(loss)(x), jax.grad(lambda x: loss(x, members))(x), rtol=1e-5)


@pytest.mark.parametrize("name", ["along", "one row along", "gather"])
def test_a_batch_shares_an_index_without_a_copy(name):
    call, arrays = BATCHED[name]
    jaxpr = jax.make_jaxpr(jax.vmap(call, (0, None)))(X, arrays[1][0])
    moves = [each for each in jaxpr.eqns if each.primitive.name == "gatherscatter_gather"]
    assert [each.invars[1].aval.shape[0] for each in moves] == [1]


def test_scan_and_checkpoint():
    index = jnp.asarray(ROWS % 4)

    def step(table, i):
        return gs.scatter(table, i, gs.take(table, i, axis=0) * 0.5, reduce="add"), table.sum()

    def loss(table, body=step):
        return (jax.lax.scan(body, table, index)[0] ** 2).sum()

    def loop(table):
        for i in index:
            table = table.at[i].add(table[i] * 0.5)
        return (table**2).sum()

    x = jnp.asarray(X[0])
    np.testing.assert_allclose(jax.jit(loss)(x), loop(x), rtol=1e-5)
    expected = jax.grad(loop)(x)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda t: loss(t, jax.checkpoint(step)))(x), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(jax.checkpoint(loop)))(x), expected, rtol=1e-5)


def test_a_donated_target_is_written_in_place():
    add = jax.jit(lambda x, i, s: gs.scatter(x, i, s, reduce="add"), donate_argnums=0)
    x = jnp.zeros((1 << 12, 64), jnp.float32)  # memory of JAX: that of an aligned NumPy array cannot be donated
    place = x.unsafe_buffer_pointer()
    result = add(x, np.array([5, 5, 0]), np.ones((3, 64), np.float32))
    assert result.unsafe_buffer_pointer() == place and x.is_deleted()
    assert result[:, 0].sum() == 3 and result[5, 0] == 2
    kept = jax.jit(lambda x, i: gs.scatter(x, 0, i, 1.0))
    y = jnp.zeros(9)
    assert kept(y, np.array([3])).sum() == 1 and y.sum() == 0
    both = jax.jit(lambda x, i: (gs.scatter(x, 0, i, 1.0), x + 1), donate_argnums=0)
    written, other = both(jnp.zeros(9), np.array([3]))
    assert written.sum() == 1 and other.sum() == 9


def test_a_large_result_is_advised_as_huge_pages():
    if not os.path.exists("/sys/kernel/mm/transparent_hugepage/enabled"):
        pytest.skip("the system has no transparent huge pages")
    result = jax.jit(lambda x, i: gs.take(x, i, axis=0))(X[0], np.zeros(1 << 20, np.int32))  # 24 MiB
    middle = jax.block_until_ready(result).unsafe_buffer_pointer() + result.nbytes // 2
    is_here = False
    with open("/proc/self/smaps") as maps:
        for line in maps:
            span = re.match("([0-9a-f]+)-([0-9a-f]+) ", line)
            if span:
                is_here = int(span[1], 16) <= middle < int(span[2], 16)
            if is_here and line.startswith("VmFlags:"):
                assert "hg" in line.split()
                return
    pytest.fail("no mapping has the result")


def test_a_sum_has_the_same_bytes_for_every_number_of_threads():
    source = np.random.default_rng(1).normal(size=1 << 17).astype(np.float32)
    index = np.random.default_rng(2).integers(0, 999, 1 << 17).astype(np.int32)
    add = jax.jit(lambda s, i: gs.scatter(jnp.zeros(999), 0, i, s, reduce="add"))
    threads = gs.get_num_threads()
    try:
        results = []
        for count in (1, 2, 5):
            gs.set_num_threads(count)
            results.append(np.asarray(add(source, index)).tobytes())
    finally:
        gs.set_num_threads(threads)
    assert len(set(results)) == 1
    assert results[0] == gs.scatter(np.zeros(999, np.float32), 0, index, source, reduce="add").tobytes()


def test_threads_share_a_compiled_function():
    call = jax.jit(lambda x, i: gs.scatter(gs.take(x, i, axis=0), 1, ALONG[0] % 6, 1.0, reduce="add"))
    expected = [np.asarray(call(X[b], np.arange(4))) for b in range(B)]
    wrong = []

    def work(b):
        for _ in range(200):
            if not np.array_equal(np.asarray(call(X[b], np.arange(4))), expected[b]):
                wrong.append(b)
            try:
                jax.block_until_ready(call(X[b], np.array([0, 1, 9, 2])))
            except (ValueError, RuntimeError) as error:
                if "index 9" not in str(error):
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(b % B,)) for b in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


DEVICES = """
import numpy as np, jax, jax.numpy as jnp, gatherscatter as gs
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4,), ("d",))
x = np.arange(64, dtype=np.float32).reshape(8, 8)
i = np.random.default_rng(0).integers(0, 8, (8, 4)).astype(np.int32)
calls = {
    "along": lambda x, i: gs.gather(x, 1, i),
    "rows": lambda x, i: gs.take(x, i[:, 0], axis=0),
    "add": lambda x, i: gs.scatter(x, 1, i, x[:, :4], reduce="add"),
    "gradient": lambda x, i: jax.grad(lambda t: (gs.gather(t, 1, i) ** 2).sum())(x),
}
for name, call in calls.items():
    expected = np.asarray(jax.jit(call)(x, i))
    for spec in (P("d"), P(None, "d"), P()):
        for index_spec in (P("d"), P()):
            given = (jax.device_put(x, NamedSharding(mesh, spec)), jax.device_put(i, NamedSharding(mesh, index_spec)))
            result = jax.jit(call)(*given)
            np.testing.assert_array_equal(np.asarray(result), expected, err_msg=f"{name} {spec} {index_spec}")
sharded = jax.device_put(x, NamedSharding(mesh, P("d")))
parts = jax.shard_map(lambda x, i: gs.gather(x, 1, i), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
result = jax.jit(parts)(sharded, jax.device_put(i, NamedSharding(mesh, P("d"))))
np.testing.assert_array_equal(np.asarray(result), np.take_along_axis(x, i, 1))
assert len(result.devices()) == 4
try:
    gs.take(sharded, np.array([0]))
except TypeError as error:
    assert "jax.jit" in str(error), error
    print("right")
"""


def test_arrays_on_several_devices():
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    assert child_process.run(DEVICES, env=environment).strip() == "right"


LEAKS = (
    child_process.MEMORY
    + """
import numpy as np, jax, jax.numpy as jnp, gatherscatter as gs

@jax.jit
def step(table, ids, targets):
    def loss(table):
        return ((gs.take(table, ids, axis=0) - targets) ** 2).mean()
    return gs.scatter(table, ids, -jax.grad(loss)(table)[ids], reduce="add")

bad = jax.jit(lambda x, i: gs.take(x, i))

def steps(count):
    table, ids, targets = jnp.ones((64, 8)), jnp.arange(16) * 3, jnp.zeros((16, 8))
    for n in range(count):
        table = step(table, ids, targets)
        if n % 10 == 0:
            try:
                jax.block_until_ready(bad(table[0], np.array([9])))
            except (ValueError, RuntimeError):
                pass
    jax.block_until_ready(table)

steps(1000)
gc.collect()
before = status("VmRSS")
steps(10_000)
gc.collect()
print(status("VmRSS") - before)
"""
)


def test_memory_does_not_grow_over_10000_steps():
    assert int(child_process.run(LEAKS, env={"JAX_PLATFORMS": "cpu"})) < 8 << 20
