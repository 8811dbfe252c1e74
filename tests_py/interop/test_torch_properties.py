"""test_torch_properties.py: random shapes, indices, masks and rules: results and gradients as torch's, and as loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gatherscatter as gs
import reference

torch = pytest.importorskip("torch", reason="torch is not installed")

SOME = settings(max_examples=60, deadline=None)
REDUCTIONS = st.sampled_from(["add", "mul", "min", "max", "mean"])
OF_TORCH = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}


class Problem:
    """A tensor, an axis of it, and an index for that axis with the extents of an elementwise call."""

    def __init__(self, draw, reach=1, least=0):
        """Indices lie in `reach` axes on each side of 0; with a reach of 0 they are not negative."""
        rank = draw(st.integers(1, 3))
        self.shape = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
        self.dim = draw(st.integers(-rank, rank - 1))
        extents = [draw(st.integers(least, n)) for n in self.shape]
        extents[self.dim] = draw(st.integers(least, 5))
        self.size = self.shape[self.dim]
        self.rng = np.random.default_rng(draw(st.integers(0, 999)))
        self.index = self.rng.integers(-self.size * reach, self.size * max(reach, 1), extents)
        self.mask = self.rng.integers(0, 2, extents).astype(bool) if draw(st.booleans()) else None

    def values(self, shape):
        """Whole numbers, so that sums and products are exact, with zeros and equal ones among them."""
        return self.rng.integers(-3, 4, shape).astype(np.float64)

    def points(self, bounds):
        """For each point of the index that has an element: the point and its element, in C order."""
        for point in np.ndindex(self.index.shape):
            if self.mask is None or self.mask[point]:
                position = reference.resolve(int(self.index[point]), self.size, bounds)
                if position is not None:
                    element = list(point)
                    element[self.dim] = position
                    yield point, tuple(element)


def leaves(*arrays):
    return [torch.from_numpy(array.copy()).requires_grad_() for array in arrays]


def weights(shape):
    return torch.arange(1.0, 1 + int(np.prod(shape)), dtype=torch.float64).reshape(shape)


def gradients(result, inputs):
    return torch.autograd.grad(result, inputs, weights(result.shape))


def assert_as(ours, theirs, arrays):
    """Two functions give the same result of these arrays, and the same gradients up to rounding."""
    own, other = leaves(*arrays), leaves(*arrays)
    result, expected = ours(*own), theirs(*other)
    torch.testing.assert_close(result, expected)
    for found, wanted in zip(gradients(result, own), gradients(expected, other), strict=True):
        torch.testing.assert_close(found, wanted)


# ---- where torch has the call


@given(st.data())
@SOME
def test_gathers_as_torch(data):
    one = Problem(data.draw)
    index, dim = torch.from_numpy(one.index), one.dim
    positive = index % one.size  # torch takes no negative index
    x = one.values(one.shape)
    assert_as(lambda x: gs.gather(x, dim, index), lambda x: torch.gather(x, dim, positive), [x])
    rows = index.reshape(-1)[:5]
    assert_as(
        lambda x: gs.gather(x, rows, axis=dim), lambda x: torch.index_select(x, dim, positive.reshape(-1)[:5]), [x]
    )
    assert_as(lambda x: gs.take(x, rows), lambda x: torch.take(x, rows), [x])
    if all(m in (1, n) for d, (m, n) in enumerate(zip(index.shape, x.shape, strict=True)) if d != dim % x.ndim):
        assert_as(lambda x: gs.take_along_axis(x, index, dim), lambda x: torch.take_along_dim(x, index, dim), [x])


@given(st.data())
@SOME
def test_reductions_as_torch(data):
    one, reduce, include_self = Problem(data.draw, reach=0), data.draw(REDUCTIONS), data.draw(st.booleans())
    index, dim, words = torch.from_numpy(one.index), one.dim, {"reduce": reduce, "include_self": include_self}
    x = one.values(one.shape)
    if not include_self:
        x += 0.25  # torch 2.13 counts an input that does not take part among equal values, and loses its share
    assert_as(
        lambda x, s: gs.scatter(x, dim, index, s, **words),
        lambda x, s: torch.scatter_reduce(x, dim, index, s, OF_TORCH[reduce], include_self=include_self),
        [x, one.values(index.shape)],
    )


@given(st.data())
@SOME
def test_sums_of_slices_as_torch(data):
    one = Problem(data.draw, reach=0)
    rows, dim = torch.from_numpy(one.index.reshape(-1)[:5]), one.dim
    shape = list(one.shape)
    shape[dim] = len(rows)
    assert_as(
        lambda x, s: gs.scatter(x, rows, s, axis=dim, reduce="add"),
        lambda x, s: torch.index_add(x, dim, rows, s),
        [one.values(one.shape), one.values(shape)],
    )


# ---- where it has none: loops over the points


@given(st.data())
@SOME
def test_plain_scatters_by_rules_as_a_loop(data):
    bounds, keeps = (
        data.draw(st.sampled_from(["raise", "drop", "clip", "wrap"])),
        data.draw(st.sampled_from(["last", "first"])),
    )
    one = Problem(data.draw, reach=1 if bounds == "raise" else 3)
    x, source = leaves(one.values(one.shape), one.values(one.index.shape))
    result = gs.scatter(x, one.dim, one.index, source, bounds=bounds, mask=one.mask, duplicates=keeps)
    writers = {}
    for point, element in one.points(bounds):
        if keeps == "last" or element not in writers:
            writers[element] = point
    upstream = weights(one.shape)
    expected, of_x, of_source = x.detach().clone(), upstream.clone(), torch.zeros(one.index.shape).double()
    for element, point in writers.items():
        expected[element] = source.detach()[point]
        of_x[element] = 0
        of_source[point] = upstream[element]
    assert torch.equal(result, expected)
    found = gradients(result, [x, source])
    assert torch.equal(found[0], of_x) and torch.equal(found[1], of_source)
