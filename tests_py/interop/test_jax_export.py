"""test_jax_export.py: functions that jax.export saves, with shapes of numbers and of symbols."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pytest

import child_process
import gatherscatter as gs

jax = pytest.importorskip("jax", reason="jax is not installed")
export = pytest.importorskip("jax.export", reason="this jax has no jax.export")

OURS = [export.DisabledSafetyCheck.custom_call("gatherscatter_move")]
FLOAT, INT = np.float32, np.int32


def sum_of_squares(call):
    return lambda x, *rest: (call(x, *rest) ** 2).sum()


# A call of arrays, and the dtypes and shapes of these for the symbols n and m; every value is an index below both.
CALLS = {
    "along": (lambda x, i: gs.gather(x, 1, i), lambda n, m: ((FLOAT, n, m), (INT, n, m))),
    "broadcast": (lambda x, i: gs.take_along_axis(x, i, 1), lambda n, m: ((FLOAT, n, m), (INT, 1, 2))),
    "slices": (lambda x, i: gs.take(x, i, axis=0), lambda n, m: ((FLOAT, n, m), (INT, m))),
    "flat": (lambda x, i: gs.take(x, i), lambda n, m: ((FLOAT, n, m), (INT, m))),
    "batch_dims": (lambda x, i: gs.gather(x, i, axis=1, batch_dims=1), lambda n, m: ((FLOAT, n, m), (INT, n, 2))),
    "fill": (
        lambda x, i: gs.gather(x, 1, i + 1, bounds="fill", fill_value=9),
        lambda n, m: ((FLOAT, n, m), (INT, n, m)),
    ),
    "nd": (lambda x, i: gs.gather_nd(x, i), lambda n, m: ((FLOAT, n, m), (INT, m, 2))),
    "add": (lambda x, i, s: gs.scatter(x, i, s, reduce="add"), lambda n, m: ((FLOAT, n, m), (INT, m), (FLOAT, m, m))),
    "put": (
        lambda x, i, s: gs.jax.put_along_axis(x, i, s, 1),
        lambda n, m: ((FLOAT, n, m), (INT, n, 1), (FLOAT, n, 1)),
    ),
    "scatter_nd": (lambda x, i, s: gs.scatter_nd(x, i, s), lambda n, m: ((FLOAT, n, m), (INT, m, 1), (FLOAT, m, m))),
    "batch": (jax.vmap(lambda x, i: gs.take(x, i)), lambda n, m: ((FLOAT, n, m), (INT, n, 2))),
    "shared": (jax.vmap(lambda x, i: gs.gather(x, 0, i), (None, 0)), lambda n, m: ((FLOAT, m), (INT, n, m))),
}
for name in ("along", "slices", "nd", "add"):
    CALLS[f"gradient of {name}"] = (jax.grad(sum_of_squares(CALLS[name][0])), CALLS[name][1])


def exported(call, shapes):
    given = [jax.ShapeDtypeStruct(shape, dtype) for dtype, *shape in shapes]
    return export.export(jax.jit(call), disabled_checks=OURS)(*given)


@pytest.mark.parametrize("name", CALLS)
def test_one_function_serves_every_size(name):
    call, shapes = CALLS[name]
    saved = exported(call, shapes(*export.symbolic_shape("n, m")))
    for n, m in ((5, 3), (3, 8)):
        rng = np.random.default_rng(n)
        given = [rng.integers(0, min(n, m), shape).astype(dtype) for dtype, *shape in shapes(n, m)]
        np.testing.assert_allclose(saved.call(*given), call(*map(jax.numpy.asarray, given)), rtol=1e-6)


def test_shapes_that_tracing_cannot_check_are_checked_by_the_call():
    n, m = export.symbolic_shape("n, m")
    saved = exported(lambda x, i: gs.gather(x, 1, i), ((FLOAT, n, 4), (INT, m, 2)))
    assert saved.call(np.ones((3, 4), FLOAT), np.zeros((2, 2), INT)).shape == (2, 2)
    with pytest.raises((ValueError, RuntimeError), match="is longer than the input of shape"):
        jax.block_until_ready(saved.call(np.ones((3, 4), FLOAT), np.zeros((5, 2), INT)))
    with pytest.raises((ValueError, RuntimeError), match="index 4 is out of bounds for axis 1 with size 4"):
        jax.block_until_ready(saved.call(np.ones((3, 4), FLOAT), np.full((2, 2), 4, INT)))


def test_an_operator_that_needs_numbers_names_the_symbols():
    with pytest.raises(TypeError, match=r"roll: a has the symbolic shape \(n, 3\), expected numbers; jax\.numpy\.roll"):
        exported(lambda x: gs.roll(x, 1, axis=0), ((FLOAT, *export.symbolic_shape("n, 3")),))


# A call as a saved function has it: a take of rows, which this process has not compiled by an operator.
SAVED = """
import numpy as np, jax, gatherscatter as gs
if {registers}:
    gs.jax.register()
move = np.array([{layout}, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0])
take = jax.ffi.ffi_call("gatherscatter_move", jax.ShapeDtypeStruct((2, 2), np.float32))
call = jax.jit(lambda x, i: take(x, i, move=move, op="take"))
try:
    print(np.asarray(call(np.arange(8, dtype=np.float32).reshape(4, 2), np.array([3, 0], np.int32))).tolist())
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize(("registers", "printed"), [(True, "[[6.0, 7.0], [0.0, 1.0]]"), (False, "gatherscatter_move")])
def test_another_process_runs_what_was_saved_once_it_has_registered(registers, printed):
    out = child_process.run(SAVED.format(registers=registers, layout=1), env={"JAX_PLATFORMS": "cpu"})
    assert printed in out


def test_a_function_that_another_version_has_saved_is_refused():
    out = child_process.run(SAVED.format(registers=True, layout=0), env={"JAX_PLATFORMS": "cpu"})
    assert "saved by another version of gatherscatter" in out


@pytest.mark.parametrize(("n", "k", "gives"), [(4, 1, "(4, 2)"), (1, 4, None), (3_000_000, 1, "(3000000, 2)")])
def test_a_symbol_that_is_one_does_not_write_beyond_the_result(n, k, gives):
    shapes = export.symbolic_shape("n, k")
    saved = exported(lambda x, i: gs.take_along_axis(x, i, 1), ((FLOAT, shapes[0], 3), (INT, shapes[1], 2)))
    given = np.ones((n, 3), FLOAT), np.zeros((k, 2), INT)
    if gives is None:
        assert saved.call(*given).shape == (k, 2)
        return
    with pytest.raises((ValueError, RuntimeError), match="take_along_axis: the result was traced as") as caught:
        jax.block_until_ready(saved.call(*given))
    assert gives in str(caught.value)
