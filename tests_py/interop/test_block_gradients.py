"""test_block_gradients.py: gradients of minima, maxima and products that nothing records, beside those in a graph."""

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")
REDUCTIONS = ("min", "max", "mul")
DTYPES = ("float64", "float32", "float16", "bfloat16", "float8_e5m2")


def values_of(rng, dtype, *shape):
    """Few different values, among them both zeros and, in some arrays, a NaN and infinity."""
    values = rng.choice([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 2.0], shape)
    if values.size and rng.integers(3) == 0:
        values.flat[rng.integers(values.size, size=2)] = np.nan, np.inf
    return torch.from_numpy(values).to(getattr(torch, dtype))


def numbers(tensor):
    return tensor.double().numpy()


def gradients(call, tensors, weights, **options):
    leaves = [each.detach().clone().requires_grad_() for each in tensors]
    return torch.autograd.grad(call(*leaves), leaves, weights, **options)


def check(call, tensors, rng):
    """The gradients are those of the rule that a graph records, for each number of threads."""
    weights = values_of(rng, "float64", *call(*tensors).shape).to(tensors[0].dtype)
    wanted = gradients(call, tensors, weights, create_graph=True)
    for threads in (1, 2, 7):
        with gs.thread_limit(threads):
            found = gradients(call, tensors, weights)
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            np.testing.assert_array_equal(numbers(ours), numbers(theirs.detach()))
            assert (np.signbit(numbers(ours)) == np.signbit(numbers(theirs.detach())))[
                ~numbers(ours).astype(bool)
            ].all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_rows_and_axes(reduce, dtype):
    rng = np.random.default_rng(5)
    for round_ in range(12):
        how = {"reduce": reduce, "include_self": bool(rng.integers(2))}
        rows, width, count = rng.integers(1, 5), rng.integers(1, 20), rng.integers(0, 9)
        x = values_of(rng, dtype, rows, width)
        index = torch.from_numpy(rng.integers(-rows, rows, count))
        if round_ % 3 == 0:  # rows
            check(lambda x, s, i=index, h=how: gs.scatter(x, i, s, **h), (x, values_of(rng, dtype, count, width)), rng)
        elif round_ % 3 == 1:  # single elements
            along = torch.from_numpy(rng.integers(0, rows, (count, width)))
            source = values_of(rng, dtype, count, width)
            check(lambda x, s, i=along, h=how: gs.scatter(x, 0, i, s, **h), (x, source), rng)
        else:  # one value for all
            check(lambda x, s, i=index, h=how: gs.scatter(x, i, s, **h), (x, values_of(rng, dtype)), rng)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_points_that_are_nowhere(reduce):
    """Masked points and points out of bounds take no part, whatever their value is."""
    rng = np.random.default_rng(6)
    for _ in range(12):
        how = {
            "reduce": reduce,
            "include_self": bool(rng.integers(2)),
            "bounds": str(rng.choice(["drop", "clip", "wrap"])),
        }
        x, source = values_of(rng, "float32", 4, 3), values_of(rng, "float32", 9, 3)
        index, mask = torch.from_numpy(rng.integers(-9, 9, 9)), torch.from_numpy(rng.integers(0, 2, 9).astype(bool))
        check(lambda x, s, i=index, m=mask, h=how: gs.scatter(x, i, s, mask=m, **h), (x, source), rng)
        check(lambda x, s, i=index, h=how: gs.scatter(x, i, s, **h), (x, source), rng)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("width", [1, 5, 64])
def test_many_blocks(reduce, width):
    """More points than a block has, also along another axis, by coordinates and of layouts that are not packed."""
    rng = np.random.default_rng(7)
    count = 200_000 // width
    x, source = values_of(rng, "float32", 500, width), values_of(rng, "float32", count, width)
    index = torch.from_numpy(rng.integers(0, 500, count))
    how = {"reduce": reduce, "include_self": False}
    check(lambda x, s: gs.scatter(x, index, s, **how), (x, source), rng)
    check(lambda x, s: gs.scatter(x.T, index, s.T, axis=1, **how), (x, source), rng)
    check(lambda x, s: gs.scatter_nd(x, index[:, None], s, reduce=reduce), (x, source), rng)
    check(lambda x, s: gs.scatter(x, index[::2], s[::2], **how), (x, source), rng)


def test_only_one_gradient():
    x, source = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 2.0, 0.0], requires_grad=True)
    index = torch.tensor([1, 1, 0])
    for reduce, wanted in (("max", [1 / 3, 1 / 3, 0]), ("min", [1 / 3, 1 / 3, 1]), ("mul", [4, 4, 1])):
        (found,) = torch.autograd.grad(gs.scatter(x, index, source, reduce=reduce).sum(), source)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)
        own = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(gs.scatter(own, index, source.detach(), reduce=reduce).sum(), own)
        np.testing.assert_allclose(
            found.numpy(), {"max": [1, 1 / 3], "min": [0, 1 / 3], "mul": [0, 4]}[reduce], rtol=1e-6
        )


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_parts_of_longer_rows(reduce):
    """An index that is expanded makes units of several items, which need not divide the row that they are a part of."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        rank = int(rng.integers(2, 5))
        shape = [int(n) for n in rng.integers(1, 8, rank)]
        axis = int(rng.integers(0, rank))
        points = [int(rng.integers(1, n + 1)) for n in shape]
        points[axis] = int(rng.integers(1, 6))
        narrow = [1 if at != axis and rng.integers(2) else n for at, n in enumerate(points)]
        index = torch.from_numpy(rng.integers(-shape[axis], shape[axis], narrow)).expand(points)
        how = {"reduce": reduce, "include_self": bool(rng.integers(2))}
        x, source = values_of(rng, "float32", *shape), values_of(rng, "float32", *points)
        check(lambda x, s, a=axis, i=index, h=how: gs.scatter(x, a, i, s, **h), (x, source), rng)
    x, source = values_of(rng, "float32", 2, 4096, 3), values_of(rng, "float32", 2, 4096, 2)
    index = torch.tensor([0, 1]).reshape(2, 1, 1).expand(2, 4096, 2)
    check(lambda x, s: gs.scatter(x, 0, index, s, reduce=reduce), (x, source), rng)


def test_an_error_of_a_hook_is_not_swallowed():
    """A sum that records runs without the definition of the operator, which runs again for an error of ours alone."""
    calls = []

    def pack(tensor):
        calls.append(tensor)
        raise ValueError("of the hook")

    x, source = torch.zeros(9, 2), torch.ones(20_000, 2, requires_grad=True)
    index = torch.arange(20_000) % 9
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, pytest.raises(ValueError, match="of the hook"):
        gs.scatter(x, index, source, reduce="add")
    assert len(calls) == 1
