"""test_tile_reduce.py: tile_scatter with a reduction, which stands for cuTile's atomics, compared with naive loops."""

import numpy as np
import pytest

import gatherscatter as gs
import reference_write
from gatherscatter.errors import TileTypeError
from reference_reduce import REDUCTIONS, reducible


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


@pytest.mark.parametrize("reduce", [*REDUCTIONS])
@pytest.mark.parametrize("seed", range(6))
def test_random_reductions(seed, reduce):
    """The values and the elements, combined in C order, for dtypes that have the reduction."""
    rng = np.random.default_rng(seed + 100)
    dtype = rng.choice([d for d in ("?", "i1", "u8", "f2", "f4", "f8", "c8") if reducible(np.dtype(d), reduce)])
    array = rng.integers(0, 9, (5, 4)).astype(dtype)
    array = array.T if seed % 2 else array
    shape = int(rng.integers(1, 30)), 1
    rows, columns = (rng.integers(-2, n + 2, shape[k:]) for k, n in enumerate(array.shape))
    common = np.broadcast_shapes(rows.shape, columns.shape)
    mask = rng.random(common) < 0.7
    value = rng.integers(0, 9, common[int(rng.integers(0, 3)) :]).astype(dtype)
    answer = reference_write.tile_scatter(array, (rows, columns), value, mask=mask, reduce=reduce)
    plan = gs.plan(gs.tile_scatter, array, (rows, columns), value, reduce=reduce, mask=mask)
    same(plan(array, (rows, columns), value, mask=mask), answer.result)
    gs.tile_scatter(array, (rows, columns), value, reduce=reduce, mask=mask)
    same(array, answer.result)


def test_reductions_without_checks():
    """An index outside is an error, and nothing has been added."""
    array = np.zeros(3)
    with pytest.raises(gs.OutOfBoundsError, match="tile_scatter"):
        gs.tile_scatter(array, np.array([0, 3]), 1.0, reduce="add", check_bounds=False)
    assert not array.any()
    gs.tile_scatter(
        array, np.array([0, 0, 3]), 1.0, reduce="add", check_bounds=False, mask=np.array([True, True, False])
    )
    same(array, np.array([2.0, 0, 0]))


def test_reductions_that_are_refused():
    with pytest.raises(ValueError, match="tile_scatter: reduce"):
        gs.tile_scatter(np.zeros(3), np.arange(3), 1.0, reduce="xor")
    with pytest.raises(TypeError, match=r"tile_scatter: .* which reduce='max' does not support"):
        gs.tile_scatter(np.zeros(3, "c8"), np.arange(3), 1.0, reduce="max")
    with pytest.raises(TileTypeError, match="implicitly cast"):
        gs.tile_scatter(np.zeros(3, "f4"), np.arange(3), np.ones(3), reduce="add")


@pytest.mark.parametrize("reduce", ["add", "mul", "max", "mean"])
def test_reductions_of_tensors(reduce):
    """In place, with the gradients of torch's own reductions."""
    torch = pytest.importorskip("torch")
    at, value = torch.tensor([2, 0, 2, 5]), torch.tensor([3.0, 5.0, 7.0, 11.0], requires_grad=True)
    leaf = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    array = leaf * 1
    assert gs.tile_scatter(array, at, value, reduce=reduce) is None
    (array * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    own, values = leaf.detach().clone().requires_grad_(), value.detach()[:3].clone().requires_grad_()
    name = {"add": "sum", "mul": "prod", "max": "amax", "mean": "mean"}[reduce]
    want = own.scatter_reduce(0, at[:3], values, name)
    (want * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert torch.equal(array, want) and torch.allclose(leaf.grad, own.grad)
    assert torch.allclose(value.grad[:3], values.grad) and value.grad[3] == 0
