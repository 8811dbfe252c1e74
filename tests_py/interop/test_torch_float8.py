"""test_torch_float8.py: gradients of float8, for which torch has neither sums nor quotients.

They are those of the same numbers in float32, rounded once.
"""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")

DTYPES = [
    name for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz") if hasattr(torch, name)
]
REDUCTIONS = [(reduce, own) for reduce in (None, "add", "mean", "min", "max", "mul") for own in (True, False)]
VALUES = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0], np.float32)
OPERATORS = {
    "scatter of rows": lambda x, i, s, w: gs.scatter(x, i, s, axis=0, **w),
    "scatter with a mask": lambda x, i, s, w: gs.scatter(x, i, s, axis=0, mask=MASK[: len(i)], **w),
    "scatter along": lambda x, i, s, w: gs.scatter(x, 0, i[:, None].expand(len(i), 3), s, **w),
    "scatter of one row": lambda x, i, s, w: gs.scatter(x, i, s[:1], axis=0, **w),
}
MASK = torch.tensor([True, False, True, True, True, False, True, True])


def drawn(rng, *shape):
    return torch.from_numpy(rng.choice(VALUES, shape))


def gradients(function, dtype, gradient, *tensors):
    leaves = [tensor.to(dtype).requires_grad_() for tensor in tensors]
    return torch.autograd.grad(function(*leaves), leaves, gradient.to(dtype))


def assert_rounded(function, dtype, gradient, *tensors):
    found = gradients(function, dtype, gradient, *tensors)
    for own, wide in zip(found, gradients(function, torch.float32, gradient, *tensors), strict=True):
        assert own.dtype == dtype
        assert torch.equal(own.float(), wide.to(dtype).float())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("reduce", "include_self"), REDUCTIONS)
@pytest.mark.parametrize("name", OPERATORS)
def test_gradients_of_scatters(name, reduce, include_self, dtype):
    rng = np.random.default_rng([len(name), len(reduce or ""), include_self, DTYPES.index(dtype)])
    words = {} if reduce is None else {"reduce": reduce, "include_self": include_self}
    for _ in range(5):
        count = int(rng.integers(1, 8))
        index = torch.from_numpy(rng.integers(0, 5, count))
        assert_rounded(
            lambda x, s, index=index: OPERATORS[name](x, index, s, words),
            getattr(torch, dtype),
            drawn(rng, 5, 3),
            drawn(rng, 5, 3),
            drawn(rng, count, 3),
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_gathers(dtype):
    rng = np.random.default_rng(DTYPES.index(dtype))
    index = torch.from_numpy(rng.integers(0, 7, 9))  # two of seven are out of bounds
    x, fill, gradient = drawn(rng, 5, 3), drawn(rng), drawn(rng, 9, 3)
    assert_rounded(
        lambda x, fill: gs.gather(x, index, axis=0, bounds="fill", fill_value=fill),
        getattr(torch, dtype),
        gradient,
        x,
        fill,
    )
    assert_rounded(lambda x: gs.take(x, index % 5, axis=0), getattr(torch, dtype), gradient, x)
    assert_rounded(lambda x: gs.gather(x, 0, index[:, None].expand(9, 3) % 5), getattr(torch, dtype), gradient, x)
