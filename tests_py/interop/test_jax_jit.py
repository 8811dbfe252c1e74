"""test_jax_jit.py: operators in jitted functions give what they give outside, and the same texts of errors."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import child_process
import gatherscatter as gs
from gatherscatter.compat import mindspore

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")

X = np.arange(24, dtype=np.float32).reshape(4, 6) * 1.5
ALONG = np.array([[5, 0], [1, -1], [2, 3], [0, 0]], np.int32)
ROWS = np.array([[3, 0, -1], [1, 1, 2]], np.int32)
POINTS = np.array([[0, 5], [3, -2], [1, 1]], np.int32)
MASK = np.array([[True, False], [True, True], [False, False], [True, True]])
VALUES = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32)

# Each call of arrays (input, index, mask), and the arrays.
CALLS = {
    "gather": (lambda x, i, m: gs.gather(x, 1, i), X, ALONG),
    "gather, masked": (lambda x, i, m: gs.gather(x, 1, i, mask=m, fill_value=-3), X, ALONG),
    "gather, slices": (lambda x, i, m: gs.gather(x, i, axis=0), X, ROWS),
    "gather, a row by number": (lambda x, i, m: gs.gather(x, 1, axis=0), X, ROWS),
    "gather, batch_dims": (lambda x, i, m: gs.gather(x, i, axis=1, batch_dims=1), X, ALONG),
    "gather, fill": (lambda x, i, m: gs.gather(x, 1, i + 9, bounds="fill", fill_value=7.5), X, ALONG),
    "gather, clip": (lambda x, i, m: gs.gather(x, 1, i + 9, bounds="clip"), X, ALONG),
    "gather, wrap": (lambda x, i, m: gs.gather(x, 1, i + 9, bounds="wrap"), X, ALONG),
    "take": (lambda x, i, m: gs.take(x, i), X, ROWS),
    "take, axis": (lambda x, i, m: gs.take(x, i, axis=-1), X, ROWS),
    "take, mode": (lambda x, i, m: gs.take(x, i - 9, axis=0, mode="clip"), X, ROWS),
    "take_along_axis": (lambda x, i, m: gs.take_along_axis(x, i, 1), X, ALONG),
    "take_along_axis, broadcast": (lambda x, i, m: gs.take_along_axis(x, i[:1], 1), X, ALONG),
    "take_along_axis, flat": (lambda x, i, m: gs.take_along_axis(x, i[:, 0], None), X, ALONG),
    "gather_nd": (lambda x, i, m: gs.gather_nd(x, i), X, POINTS),
    "tile_gather": (lambda x, i, m: gs.tile_gather(x, (i[:, 0], i[:, 1]), padding_value=-1), X, POINTS),
    "mindspore.gather": (lambda x, i, m: mindspore.gather(x, 1, i), X, ALONG),
    "roll": (lambda x, i, m: gs.roll(x, 2, axis=1), X, ALONG),
    "scatter": (lambda x, i, m: gs.scatter(x, 1, i, VALUES), X, ALONG),
    "scatter, number": (lambda x, i, m: gs.scatter(x, 1, i, 5), X, ALONG),
    "scatter, first": (lambda x, i, m: gs.scatter(x, 1, i, VALUES, duplicates="first"), X, ALONG),
    "scatter, drop": (lambda x, i, m: gs.scatter(x, 1, i * 3, VALUES, bounds="drop"), X, ALONG),
    "scatter, masked": (lambda x, i, m: gs.scatter(x, 1, i, VALUES, mask=m), X, ALONG),
    "scatter, slices": (lambda x, i, m: gs.scatter(x, i, x[:3] * 2, reduce="add"), X, POINTS[:, 0]),
    "scatter, a row by number": (lambda x, i, m: gs.scatter(x, 1, x[0] * 2, axis=0), X, ROWS),
    "scatter_nd": (lambda x, i, m: gs.scatter_nd(x, i, np.float32([1, 2, 3])), X, POINTS),
    "jax.put_along_axis": (lambda x, i, m: gs.jax.put_along_axis(x, i, VALUES, 1), X, ALONG),
    **{
        f"scatter, {reduce}, {include_self}": (
            lambda x, i, m, r=reduce, s=include_self: gs.scatter(x, 1, i, VALUES, reduce=r, include_self=s),
            X,
            ALONG,
        )
        for reduce in ("add", "mul", "min", "max", "mean")
        for include_self in (True, False)
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_a_jitted_call_gives_what_a_call_of_numpy_gives(name):
    call, x, index = CALLS[name]
    expected = np.asarray(call(x, index, MASK))
    result = jax.jit(call)(x, index, MASK)
    assert isinstance(result, jax.Array) and result.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(result), expected)
    eager = call(jnp.asarray(x), jnp.asarray(index), jnp.asarray(MASK))
    np.testing.assert_array_equal(np.asarray(eager), expected)


@pytest.mark.parametrize("name", CALLS)
def test_one_tracer_is_enough(name):
    call, x, index = CALLS[name]
    expected = np.asarray(call(x, index, MASK))
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda t: call(t, index, MASK))(x)), expected)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda t: call(jnp.asarray(x), t, MASK))(index)), expected)


DTYPES = (
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32"),
    *("float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"),
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    values = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 9, (7, 6)).astype(jnp.dtype(dtype))
    index = np.random.default_rng(4).integers(-6, 6, (7, 5)).astype(np.int32)
    taken = jax.jit(lambda x, i: gs.gather(x, 1, i))(values, index)
    assert taken.dtype == values.dtype
    np.testing.assert_array_equal(np.asarray(taken).view(np.uint8), gs.gather(values, 1, index).view(np.uint8))
    source = values[:, :5]
    for reduce in (None, "add", "max"):
        if dtype == "complex64" and reduce == "max":
            continue
        expected = gs.scatter(values, 1, index, source, reduce=reduce)
        result = jax.jit(lambda x, i, s, r=reduce: gs.scatter(x, 1, i, s, reduce=r))(values, index, source)
        np.testing.assert_array_equal(np.asarray(result).view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32"])
def test_every_index_dtype(dtype):
    index = np.array([0, 7, 100], dtype)
    assert jax.jit(lambda i: gs.take(jnp.arange(300.0), i))(index).tolist() == [0, 7, 100]


WIDE = """
import numpy as np, jax, gatherscatter as gs
x = np.arange(5) * (1 + 2j)
for dtype in (np.float64, np.int64, np.uint64, np.complex128):
    given = np.abs(x).astype(dtype) if dtype is not np.complex128 else x
    index = np.array([4, -1, 0, 2])
    assert jax.jit(lambda a, i: gs.take(a, i))(given, index).dtype == dtype
    added = jax.jit(lambda a, i: gs.scatter(a, 0, i, a[:4], reduce="add"))(given, index)
    np.testing.assert_array_equal(np.asarray(added), gs.scatter(given, 0, index, given[:4], reduce="add"))
try:
    jax.block_until_ready(jax.jit(lambda i: gs.take(x, i))(np.array([2**63], np.uint64)))
except Exception as error:
    print("index 9223372036854775808 is out of bounds" in str(error))
"""


def test_dtypes_of_64_bits():
    assert child_process.run(WIDE, env={"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}).strip() == "True"


def test_an_index_that_jax_would_narrow_is_refused():
    with pytest.raises(TypeError, match="jax_enable_x64"):
        jax.jit(lambda x: gs.take(x, np.array([2**40])))(jnp.arange(3.0))
    assert jax.jit(lambda x: gs.take(x, np.array([2])))(jnp.arange(3.0)).tolist() == [2]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_shapes_as_numpy_gathers_and_scatters_them(data):
    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    dim = data.draw(st.integers(-rank, rank - 1))
    lengths = [data.draw(st.integers(0, n)) for n in shape]
    lengths[dim] = data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    bounds = data.draw(st.sampled_from(["raise", "fill", "clip", "wrap"]))
    reach = 1 if bounds == "raise" else 3
    index = rng.integers(-shape[dim] * reach, shape[dim] * reach, lengths).astype(np.int32)
    x = rng.integers(-50, 50, shape).astype(np.float32)
    source = rng.integers(-50, 50, lengths).astype(np.float32)
    mask = rng.integers(0, 2, lengths).astype(bool) if data.draw(st.booleans()) else None
    reduce = data.draw(st.sampled_from([None, "add", "mul", "min", "max", "mean"]))
    taken = jax.jit(lambda x, i: gs.gather(x, dim, i, bounds=bounds, mask=mask))(x, index)
    np.testing.assert_array_equal(np.asarray(taken), gs.gather(x, dim, index, bounds=bounds, mask=mask))
    drop = {"bounds": "drop" if bounds == "fill" else bounds, "mask": mask, "reduce": reduce}
    placed = jax.jit(lambda x, i, s: gs.scatter(x, dim, i, s, **drop))(x, index, source)
    np.testing.assert_array_equal(np.asarray(placed), gs.scatter(x, dim, index, source, **drop))


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_shapes_as_jax_takes_and_adds(data):
    rows, columns, count = (data.draw(st.integers(1, 6)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.integers(-9, 9, (rows, columns)).astype(np.float32)
    along = rng.integers(-columns, columns, (rows, count)).astype(np.int32)
    places, source = rng.integers(0, rows, count), rng.integers(-9, 9, (count, columns)).astype(np.float32)
    pairs = (
        (jnp.take_along_axis(x, along, 1), jax.jit(lambda x, i: gs.take_along_axis(x, i, 1))(x, along)),
        (jnp.take(x, places, axis=0), jax.jit(lambda x, i: gs.take(x, i, axis=0))(x, places)),
        (jnp.asarray(x).at[places].add(source), jax.jit(_add_rows)(x, places, source)),
        (jax.ops.segment_sum(source, places, rows), jax.jit(_add_rows)(np.zeros_like(x), places, source)),
        (jnp.asarray(x).at[places].max(source), jax.jit(_greatest_rows)(x, places, source)),
    )
    for theirs, ours in pairs:
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def _add_rows(x, places, source):
    return gs.scatter(x, places, source, reduce="add")


def _greatest_rows(x, places, source):
    return gs.scatter(x, places, source, reduce="max")


# ---- effects

# Calls of arrays (input, index) and a rule for bounds, forward and backward.
UNDER_RULES = {
    "gather": lambda x, i, rule: gs.gather(x, 1, i, bounds=rule),
    "gather, slices": lambda x, i, rule: gs.gather(x, i, axis=0, bounds=rule),
    "take": lambda x, i, rule: gs.take(x, i, bounds=rule),
    "take_along_axis": lambda x, i, rule: gs.take_along_axis(x, i, 1, bounds=rule),
    "gather_nd": lambda x, i, rule: gs.gather_nd(x, i, bounds=rule),
    "scatter": lambda x, i, rule: gs.scatter(x, 1, i, VALUES, bounds=rule),
    "scatter, add": lambda x, i, rule: gs.scatter(x, 1, i, VALUES, reduce="add", bounds=rule),
    "scatter_nd": lambda x, i, rule: gs.scatter_nd(x, i, VALUES[:, 0], bounds=rule),
}


def effects_of(function, *arrays):
    """The effects of a traced function, the foreign functions that XLA is to call, and how many have side effects."""
    text = jax.jit(function).lower(*arrays).as_text()
    foreign = set(re.findall(r"custom_call @(\w+)", text))
    return jax.make_jaxpr(function)(*arrays).effects, foreign, text.count("has_side_effect = true")


@pytest.mark.parametrize("rule", ["raise", "fill or drop", "clip", "wrap"])
@pytest.mark.parametrize("name", UNDER_RULES)
def test_no_rule_for_bounds_has_an_effect(name, rule):
    """XLA may reorder and drop such calls, and nothing waits for them. That holds for "raise" too: its error is the
    status with which the call of the handler ends.
    """
    call = UNDER_RULES[name]
    rule = {"fill or drop": "drop" if name.startswith("scatter") else "fill"}.get(rule, rule)

    def forward(x, i):
        return call(x, i, rule)

    backward = jax.grad(lambda x, i: (forward(x, i) ** 2).sum())
    batch = np.stack([X, X]), np.stack([ALONG, ALONG])
    for function, arrays in ((forward, (X, ALONG)), (backward, (X, ALONG)), (jax.vmap(forward), batch)):
        assert effects_of(function, *arrays) == (set(), {"gatherscatter_move"}, 0)


def test_effects_of_others_are_seen():
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
    io_callback = pytest.importorskip("jax.experimental").io_callback
    effects, foreign, _ = effects_of(lambda x: io_callback(np.sin, shape, x), X)
    assert len(effects) == 1 and foreign and foreign != {"gatherscatter_move"}
    _, foreign, _ = effects_of(lambda x: jax.pure_callback(np.sin, shape, x), X)
    assert foreign and foreign != {"gatherscatter_move"}
    effects, foreign, count = effects_of(lambda x: jax.ffi.ffi_call("some_name", shape, has_side_effect=True)(x), X)
    assert len(effects) == 1 and foreign == {"some_name"} and count == 1


# ---- errors


def error_of(function, *arguments):
    with pytest.raises((ValueError, RuntimeError)) as caught:
        jax.block_until_ready(function(*arguments))
    return str(caught.value)


def test_a_bad_index_has_the_text_of_the_error_outside_of_jit():
    bad = ALONG.copy()
    bad[2, 1] = 7
    with pytest.raises(gs.OutOfBoundsError) as expected:
        gs.gather(X, 1, bad)
    assert str(expected.value) in error_of(jax.jit(lambda x, i: gs.gather(x, 1, i)), X, bad)
    assert "index 7 is out of bounds for axis 1 with size 6: at position (2, 1)" in str(expected.value)
    text = error_of(jax.jit(lambda x, i: gs.scatter(x, 1, i, 0, reduce="add")), X, bad)
    assert "index 7 is out of bounds for axis 1 with size 6: at position (2, 1)" in text and "scatter" in text


def test_a_bad_index_inside_of_vmap_scan_and_grad():
    batch = np.array([[0, 1], [2, 9], [1, 1]], np.int32)
    take = jax.vmap(lambda i: gs.take(jnp.arange(4.0), i))
    assert "index 9 is out of bounds for axis 0 with size 4: at position (1, 1)" in error_of(jax.jit(take), batch)
    assert "index 9 is out of bounds" in error_of(take, batch)

    def scanned(rows):
        return jax.lax.scan(lambda total, i: (total + gs.take(jnp.arange(4.0), i).sum(), None), 0.0, rows)[0]

    assert "index 9 is out of bounds for axis 0 with size 4: at position (1,)" in error_of(jax.jit(scanned), batch)
    gradient = jax.jit(jax.grad(lambda x, i: gs.take(x, i).sum()))
    assert gradient(jnp.arange(4.0), batch[:1]).tolist() == [1, 1, 0, 0]
    assert "index 9 is out of bounds" in error_of(gradient, jnp.arange(4.0), batch)


def test_what_xla_drops_is_not_checked():
    def unused(x, i):
        gs.take(x, i)
        return x + 1

    assert jax.jit(unused)(jnp.arange(2.0), np.array([9])).tolist() == [1, 2]


def test_duplicates_are_an_error_on_request():
    call = jax.jit(lambda x, i: gs.scatter(x, 0, i, 1.0, duplicates="error"))
    assert call(jnp.zeros(4), np.array([3, 1])).tolist() == [0, 1, 0, 1]
    with pytest.raises((ValueError, RuntimeError), match=r"positions \(0,\) and \(2,\) write to the same element"):
        jax.block_until_ready(call(jnp.zeros(4), np.array([3, 1, -1])))


def test_an_empty_axis_has_no_position():
    assert "index 0 is out of bounds for axis 0 with size 0" in error_of(
        jax.jit(lambda i: gs.take(jnp.zeros(0), i, bounds="clip")), np.array([0])
    )
    assert jax.jit(lambda i: gs.take(jnp.zeros((0, 3)), i, axis=0, bounds="fill"))(np.array([0])).tolist() == [
        [0, 0, 0]
    ]


def test_shapes_and_dtypes_are_checked_while_jax_traces():
    with pytest.raises(ValueError, match="gather"):
        jax.jit(lambda x, i: gs.gather(x, 0, i))(X, ALONG[:, 0])
    with pytest.raises(np.exceptions.AxisError):
        jax.jit(lambda x, i: gs.gather(x, 2, i))(X, ALONG)
    with pytest.raises(TypeError, match="index has dtype float32"):
        jax.jit(lambda x, i: gs.gather(x, 0, i))(X, X)
    with pytest.raises(TypeError, match="src has dtype int32"):
        jax.jit(lambda x, i: gs.scatter(x, 1, i, i))(X, ALONG)
    with pytest.raises(TypeError, match="mask has dtype"):
        jax.jit(lambda x, i: gs.gather(x, 1, i, mask=i))(X, ALONG)


def test_what_cannot_be_traced_is_refused_by_name():
    with pytest.raises(TypeError, match="immutable"):
        jax.jit(lambda x: gs.put(x, [0], 1))(jnp.zeros(3))
    with pytest.raises(TypeError, match=r"gatherscatter\.jax\.put_along_axis"):
        jax.jit(lambda x: gs.put_along_axis(x, jnp.array([0]), 1, 0))(jnp.zeros(3))
    with pytest.raises(TypeError, match="immutable"):
        jax.jit(lambda x: gs.gather(x, 0, np.array([0]), out=np.zeros(1, np.float32)))(jnp.zeros(3))
    with pytest.raises(TypeError, match="compress"):
        jax.jit(lambda m: gs.compress(m, jnp.zeros(3)))(jnp.array([True, False, True]))
    with pytest.raises(TypeError, match="axis"):
        jax.jit(lambda a: gs.gather(jnp.zeros(3), np.array([0]), axis=a))(0)
    with pytest.raises(TypeError, match=r"jax\.random\.key_data"):
        jax.jit(lambda k: gs.take(k, np.array([0])))(jax.random.split(jax.random.key(0), 3))
    with pytest.raises(TypeError, match="input is a JAX tracer"):
        jax.jit(lambda x: gs.plan(gs.take, x, np.array([0]))(x))(jnp.zeros(3))


def test_a_list_of_values_may_hold_numbers_of_a_trace():
    def both(x, k):
        return gs.scatter(x, 0, np.array([0, 2]), [k, 2])

    for x, k in ((jnp.zeros(3), 5), (jnp.zeros(3, jnp.int8), 2)):
        np.testing.assert_array_equal(jax.jit(both)(x, k), jax.jit(lambda x, k: x.at[0].set(k).at[2].set(2))(x, k))
    assert jax.grad(lambda k: both(jnp.zeros(3), k).sum())(5.0) == 1
    with pytest.raises(TypeError, match="scatter: src is a JAX tracer"):
        jax.jit(lambda k: both(np.zeros(3), k))(5.0)
    with pytest.raises(ValueError, match="ragged list"):
        jax.jit(lambda k: gs.scatter(jnp.zeros(3), 0, np.array([0, 2]), [k, [k]]))(5.0)


def test_the_module_has_the_names_and_imports_no_jax():
    code = "import sys, gatherscatter as gs; print(gs.jax.gather is gs.gather, 'jax' in sys.modules)"
    assert child_process.run(code).split() == ["True", "False"]
    assert {"gather", "scatter", "take", "take_along_axis", "gather_nd", "scatter_nd"} <= set(gs.jax.__all__)


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="with x64 nothing is narrowed")
@pytest.mark.parametrize("value", [np.array([2**40 + 3]), np.array([2**63], np.uint64), np.array([1e300])], ids=str)
def test_constants_that_jax_would_change_are_refused(value):
    x = jnp.zeros(3, jnp.float32 if value.dtype.kind == "f" else jnp.int32)
    for call in (lambda x: gs.scatter(x, [0], value), lambda x: gs.take(value, x.astype(int))):
        with pytest.raises(TypeError, match=r"has values beyond .* set jax_enable_x64"):
            jax.jit(call)(x)


def test_floats_of_four_bits_are_refused_when_the_call_is_traced():
    x = jnp.arange(3).astype(jnp.float4_e2m1fn)
    with pytest.raises(TypeError, match=r"float4_e2m1fn; pass x\.astype\('float8_e4m3fn'\)"):
        jax.jit(lambda x, i: gs.gather(x, i, axis=0))(x, jnp.array([0]))
