"""test_interop_jax.py: JAX arrays give JAX arrays; a JAX array is never written to."""

import gc
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pytest

import child_process
import gatherscatter as gs

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")

DTYPES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32"),
    *("float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2"),
)
INDEX_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32")


def random_array(dtype, shape):
    rng = np.random.default_rng(20)
    if dtype == "bool":
        return jnp.asarray(rng.integers(0, 2, shape).astype(bool))
    return jnp.asarray(rng.integers(-9 if "uint" not in dtype else 0, 9, shape).astype(jnp.dtype(dtype)))


def raw(array):
    array = np.ascontiguousarray(np.asarray(array))
    return np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.dtype.itemsize)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    x = random_array(dtype, (7, 6))
    result = gs.take(x, jnp.array([6, 0, -1]), axis=0)
    assert isinstance(result, jax.Array) and result.dtype == x.dtype and result.devices() == x.devices()
    np.testing.assert_array_equal(raw(result), raw(x)[[6, 0, -1]])
    index = jnp.array([[5, 0], [1, 1], [2, 3], [0, 0], [4, 5], [3, 3], [5, 5]])
    result = gs.gather(x, 1, index)
    np.testing.assert_array_equal(raw(result), raw(x)[np.arange(7)[:, None], np.asarray(index)])


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype(dtype):
    values = [0, 7, 127] if dtype == "int8" else [0, 7, 255]
    assert gs.take(jnp.arange(300.0), jnp.array(values, dtype)).tolist() == values


@pytest.mark.parametrize("dtype", ["bool", "float32", "bfloat16"])
def test_what_is_no_index(dtype):
    with pytest.raises(TypeError):
        gs.gather(jnp.arange(5.0), jnp.zeros(3, dtype), axis=0)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,)])
def test_odd_shapes(shape):
    x = jnp.ones(shape)
    index = jnp.zeros(shape, jnp.int32)
    result = gs.gather(x, 0, index)
    assert isinstance(result, jax.Array) and result.shape == shape


def test_a_scalar_index_removes_the_axis():
    result = gs.take(jnp.arange(6.0).reshape(2, 3), 1, axis=0)
    assert isinstance(result, jax.Array) and result.tolist() == [3, 4, 5]


def test_libraries_mixed():
    x, index = np.arange(50.0, dtype=np.float32), np.array([3, 49])
    assert isinstance(gs.take(jnp.asarray(x), index), jax.Array)
    result = gs.take(x, jnp.asarray(index))
    assert type(result) is np.ndarray and result.tolist() == [3, 49]
    mask = jnp.array([True, False])
    result = gs.gather(jnp.asarray(x), index, axis=0, mask=mask, fill_value=-1)
    assert isinstance(result, jax.Array) and result.tolist() == [3, -1]


def test_wide_numpy_indices_are_not_narrowed():
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.take(jnp.arange(5.0), np.array([1, 2**32 + 1]))
    assert caught.value.index == 2**32 + 1


def test_errors_are_those_of_every_library():
    with pytest.raises(gs.OutOfBoundsError, match="index 7 is out of bounds for axis 0 with size 5") as caught:
        gs.take(jnp.arange(5.0), jnp.array([[0, 1], [2, 7]]))
    assert caught.value.position == (1, 1)


@pytest.mark.parametrize("count", [16, 1 << 20])
def test_results_outlive_their_arguments_and_later_calls(count):
    x = jnp.arange(float(count))
    index = np.arange(count)[::-1]
    results = [gs.take(x, index) for _ in range(3)]
    views = [result[:5] for result in results]
    del x, index
    gc.collect()
    _ = [gs.take(np.zeros(count, np.float32), np.arange(count)) for _ in range(3)]
    for result, view in zip(results, views, strict=True):
        np.testing.assert_array_equal(np.asarray(result), np.arange(count, dtype=np.float32)[::-1])
        assert view.tolist() == [count - 1.0 - i for i in range(5)]


def test_results_are_ordinary_jax_arrays():
    result = gs.take(jnp.arange(6.0), jnp.array([5, 1]))
    assert jax.jit(lambda a: a * 2)(result).tolist() == [10, 2]
    assert result.at[0].set(9).tolist() == [9, 1] and result.tolist() == [5, 1]


# ---- weak types and devices, as in JAX's own results


def weak(values):
    return jax.lax.broadcast_in_dim(jnp.asarray(values), (4,), ())


@pytest.mark.parametrize("value", [2, 2.5, 2j], ids=repr)
@pytest.mark.parametrize("index", [np.array([3, 1]), [3, 1], jnp.array([3, 1])], ids=["numpy", "list", "jax"])
def test_a_weak_type_stays_weak(value, index):
    x = weak(value)
    assert x.weak_type
    for result in (
        gs.take(x, index),
        gs.gather(x, 0, index, bounds="fill", fill_value=1),
        gs.scatter(x, 0, index, 1),
        gs.plan(gs.take, x, np.asarray(index))(x, index),
    ):
        assert result.weak_type and result.dtype == x.dtype
        assert (result + jnp.zeros((), jnp.complex64)).dtype == jnp.complex64
    assert gs.take(x, index).tolist() == [value] * 2 and gs.scatter(x, 0, index, 1).tolist() == [value, 1, value, 1]
    assert not gs.take(jnp.ones(4), index).weak_type


def test_a_weak_result_gives_way_to_a_narrow_type():
    assert (gs.take(weak(2.5), [0]) * jnp.ones(1, jnp.bfloat16)).dtype == jnp.bfloat16


PLACES = """
import jax, jax.numpy as jnp, numpy as np, gatherscatter as gs
first, second = jax.devices()
with jax.default_device(second):
    elsewhere = jnp.arange(4.0)
arrays = {
    "uncommitted": jnp.arange(4.0),
    "uncommitted on the second": elsewhere,
    "weak on the second": jax.lax.broadcast_in_dim(jax.device_put(2.5, second), (4,), ()),
    "committed to the first": jax.device_put(np.arange(4.0), first),
    "committed to the second": jax.device_put(np.arange(4.0), second),
}
for name, x in arrays.items():
    for result in (gs.take(x, [3, 1]), gs.take(x, jnp.array([3, 1])), gs.scatter(x, 0, [1], 7)):
        same = (result.devices(), result.committed, result.weak_type) == (x.devices(), x.committed, x.weak_type)
        assert same, (name, result.devices(), result.committed, result.weak_type)
        assert (result + 1).devices() == (x + 1).devices()
mixed = gs.take(arrays["uncommitted"], [0]) + arrays["committed to the second"][:1]
assert mixed.devices() == {second}
print("same places")
"""


def test_a_result_is_committed_where_its_input_is():
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    assert child_process.run(PLACES, env=environment).strip() == "same places"


def test_jax_is_never_imported_for_others():
    code = "import sys, numpy as np, gatherscatter as gs; gs.take(np.arange(4), [1]); print('jax' in sys.modules)"
    assert child_process.run(code).strip() == "False"


# ---- refused


def test_keys_are_refused_with_the_next_step():
    with pytest.raises(TypeError, match=r"jax\.random\.key_data"):
        gs.take(jax.random.key(0), [0])


def test_abstract_values_are_a_type_error():
    with pytest.raises(TypeError):
        gs.take(jax.ShapeDtypeStruct((4,), jnp.float32), np.array([0]))


def test_a_jax_array_is_never_written_to():
    out = jnp.zeros(2)
    with pytest.raises((TypeError, ValueError, BufferError)):
        gs.gather(jnp.arange(4.0), jnp.array([1, 2]), axis=0, out=out)
    with pytest.raises((TypeError, ValueError, BufferError)):
        gs.gather(np.arange(4.0, dtype=np.float32), np.array([1, 2]), axis=0, out=out)
    assert out.tolist() == [0, 0]


def test_a_deleted_jax_array_is_an_error():
    x = jnp.arange(4.0)
    x.delete()
    with pytest.raises((RuntimeError, ValueError, TypeError, BufferError)):
        gs.take(x, np.array([0]))
