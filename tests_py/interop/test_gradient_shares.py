"""test_gradient_shares.py: gradients of mean, min and max, which many values share, against naive loops."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pytest

import gatherscatter as gs

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about its own compilation of decompositions
SHARED = ("mean", "min", "max")
ROUNDING = {"float64": 1e-12, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2, "float8_e5m2": 0.26}


class Torch:
    """The derivatives of torch, of arrays and as arrays of float64."""

    def __init__(self):
        self.np = pytest.importorskip("torch", reason="torch is not installed")

    def array(self, values, dtype):
        return self.np.as_tensor(np.asarray(values)).to(getattr(self.np, dtype))

    def numbers(self, tensor):
        return tensor.detach().to(self.np.float64).numpy()

    def backward(self, call, arrays, gradient):
        leaves = [each.detach().clone().requires_grad_() for each in arrays]
        call(*leaves).backward(gradient)
        return [self.numbers(each.grad) for each in leaves]

    def forward(self, call, arrays, tangents):
        return self.numbers(self.np.func.jvp(call, tuple(arrays), tuple(tangents))[1])

    def by_vmap(self, call, arrays, gradients):
        _, pull = self.np.func.vjp(call, *arrays)
        return [self.numbers(each) for each in self.np.func.vmap(pull)(gradients)]


class Jax(Torch):
    """Those of JAX."""

    def __init__(self):
        self.np = pytest.importorskip("jax.numpy", reason="jax is not installed")
        self.jax = pytest.importorskip("jax", reason="jax is not installed")

    def array(self, values, dtype):
        return self.np.asarray(np.asarray(values)).astype(dtype)

    def numbers(self, array):
        return np.asarray(array.astype("float32"), np.float64)

    def backward(self, call, arrays, gradient):
        return [self.numbers(each) for each in self.jax.jit(self.jax.vjp(call, *arrays)[1])(gradient)]

    def forward(self, call, arrays, tangents):
        return self.numbers(self.jax.jvp(call, tuple(arrays), tuple(tangents))[1])

    def by_vmap(self, call, arrays, gradients):
        _, pull = self.jax.vjp(call, *arrays)
        return [self.numbers(each) for each in self.jax.vmap(pull)(gradients)]


LIBRARIES = {"torch": Torch, "jax": Jax}


def loops(x, rows, values, reduce, include_self, gradient):
    """The gradients of a scatter of rows by loops: of the input, and of one value at each point."""
    of_input, of_values = np.zeros(x.shape), np.zeros(values.shape)
    for row, column in np.ndindex(x.shape):
        points = [p for p, target in enumerate(rows) if target == row]
        members = [(of_input, (row, column), x[row, column])] if include_self or not points else []
        members += [(of_values, (p, column), values[p, column]) for p in points]
        if reduce != "mean":
            best = (min if reduce == "min" else max)(value for *_, value in members)
            members = [member for member in members if member[2] == best]
        for array, place, _ in members:
            array[place] += gradient[row, column] / len(members)
    return of_input, of_values


def tangent_of(x, rows, values, reduce, include_self, tangents):
    """The tangent of the result: the inner product of the tangents with the gradients of each element."""
    result = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        unit = np.zeros(x.shape)
        unit[place] = 1
        found = loops(x, rows, values, reduce, include_self, unit)
        result[place] = sum((a * b).sum() for a, b in zip(found, tangents, strict=True))
    return result


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e5m2"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_random_ties(library, dtype):
    """Values that are often equal, in rows and along an axis, forward, backward and by vmap."""
    its = LIBRARIES[library]()
    if library == "jax" and dtype == "float64":
        pytest.skip("the 64-bit dtypes of JAX are off")
    rng = np.random.default_rng(40)
    close = {"rtol": ROUNDING[dtype], "atol": ROUNDING[dtype]}
    for round_ in range(6):
        count, width = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        rows = rng.integers(0, count, int(rng.integers(0, 9)))
        x, values = rng.integers(-1, 2, (count, width)), rng.integers(-1, 2, (len(rows), width))
        gradient = rng.integers(-8, 9, (count, width)) / 4
        tangents = rng.integers(-4, 5, x.shape) / 2, rng.integers(-4, 5, values.shape) / 2
        for reduce in SHARED:
            include_self = bool(rng.integers(2))
            how = {"reduce": reduce, "include_self": include_self}
            index = rows if round_ % 2 else np.repeat(rows[:, None], width, 1)

            def call(x, values, index=index, how=how):
                return (
                    gs.scatter(x, index, values, **how) if index.ndim == 1 else gs.scatter(x, 0, index, values, **how)
                )

            arrays = [its.array(each, dtype) for each in (x, values)]
            want = loops(x, rows, values, reduce, include_self, gradient)
            for found, wanted in zip(its.backward(call, arrays, its.array(gradient, dtype)), want, strict=True):
                np.testing.assert_allclose(found, wanted, **close)
            batch = its.array(np.stack((gradient, 2 * gradient)), dtype)
            for found, wanted in zip(its.by_vmap(call, arrays, batch), want, strict=True):
                np.testing.assert_allclose(found, np.stack((wanted, 2 * wanted)), **close)
            found = its.forward(call, arrays, [its.array(each, dtype) for each in tangents])
            wanted = tangent_of(x, rows, values, reduce, include_self, tangents)
            np.testing.assert_allclose(found, wanted, rtol=close["rtol"], atol=4 * close["atol"])


@pytest.mark.parametrize("reduce", SHARED)
@pytest.mark.parametrize(("dtype", "count"), [("float16", 65_520), ("bfloat16", 65_520), ("float8_e4m3fn", 500)])
@pytest.mark.parametrize("library", LIBRARIES)
def test_counts_beyond_the_dtype(library, dtype, count, reduce):
    """So many values of one element that the dtype has no such number, or no such sum of tangents."""
    its = LIBRARIES[library]()
    zeros = np.zeros(count, np.int32)
    x, values = its.array([0, 0], dtype), its.array(zeros, dtype)
    for include_self in (True, False):
        how = {"reduce": reduce, "include_self": include_self}

        def call(x, values, how=how):
            return gs.scatter(x, 0, zeros, values, **how)

        def alone(x, value, how=how):
            return gs.scatter(x, zeros, value, **how)

        members = count + include_self
        share = its.numbers(its.array(1 / members, dtype))
        of_input, of_values = its.backward(call, (x, values), its.array([1, 1], dtype))
        assert of_input.tolist() == [share if include_self else 0, 1]
        assert set(of_values.tolist()) == {float(share)} and share > 0
        of_input, of_value = its.backward(alone, (x, its.array(0, dtype)), its.array([1, 1], dtype))
        assert float(of_value) == its.numbers(its.array(count / members, dtype))
        most = 60_000 if dtype == "float16" else 400
        tangents = its.array([most, 1], dtype), its.array(np.full(count, most), dtype)
        np.testing.assert_allclose(its.forward(call, (x, values), tangents), [most, 1], rtol=0.04)


@pytest.mark.parametrize("reduce", SHARED)
@pytest.mark.parametrize("library", LIBRARIES)
def test_counts_beyond_float32(library, reduce):
    """Ones in float32 add up to 2**24 only."""
    its = LIBRARIES[library]()
    count = 2**24 + 2**22
    index = np.broadcast_to(np.int8(0), count)

    def call(x, value):
        return gs.scatter(x, 0, index, value, reduce=reduce)

    of_input, of_value = its.backward(
        call, (its.array([0.0], "float32"), its.array(0.0, "float32")), its.array([1.0], "float32")
    )
    np.testing.assert_allclose(of_input, 1 / (count + 1), rtol=1e-6)
    np.testing.assert_allclose(of_value, 1, rtol=2e-2)  # a sum of so many shares in float32


@pytest.mark.parametrize("reduce", ["min", "max"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_tangents_near_the_largest_number(library, reduce):
    its = LIBRARIES[library]()
    x, values = its.array([0.0], "float32"), its.array(np.zeros(4), "float32")
    for include_self in (True, False):

        def call(x, values, include_self=include_self):
            return gs.scatter(x, 0, np.zeros(4, int), values, reduce=reduce, include_self=include_self)

        found = its.forward(call, (x, values), (its.array([3e38], "float32"), its.array(np.full(4, 3e38), "float32")))
        np.testing.assert_allclose(found, 3e38, rtol=1e-6)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
def test_means_of_complex_numbers(library, include_self):
    its = LIBRARIES[library]()
    rng = np.random.default_rng(3)
    index, gradient = np.array([1, 1, 0, 1]), rng.normal(size=3) + 1j * rng.normal(size=3)
    counts = np.maximum(np.array([1, 3, 0]) + include_self, 1)
    own = gradient / counts * (1 if include_self else np.array([0, 0, 1]))
    for part in (1, 1j):  # the real and the imaginary part of the gradients

        def call(x, values, part=part):
            x, values = (each * its.array(part, "complex64") for each in (x, values))
            mean = gs.scatter(x, 0, index, values, reduce="mean", include_self=include_self)
            return (mean * its.array(gradient.conj(), "complex64")).real

        found = its.backward(
            call, [its.array(np.zeros(n), "float32") for n in (3, 4)], its.array(np.ones(3), "float32")
        )
        for each, wanted in zip(found, (own, (gradient / counts)[index]), strict=True):
            np.testing.assert_allclose(each, (wanted.conj() * part).real, atol=1e-6)
