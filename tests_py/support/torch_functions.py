"""torch_functions.py: torch's functions that gather and scatter, written with ours, by their names in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gatherscatter as gs


def gather(input, dim, index, *, out=None):
    return gs.gather(input, dim, index, out=out)


def take(input, index, *, out=None):
    return gs.take(input, index, out=out)


def take_along_dim(input, indices, dim=None, *, out=None):
    """Without a dim torch flattens input and indices, take_along_axis only the input."""
    return gs.take_along_axis(input, indices.reshape(-1) if dim is None else indices, dim, out=out)


def index_select(input, dim, index, *, out=None):
    """An array of rank 0 has no axis here; in torch it has one of size 1, which the result does not have."""
    if input.ndim == 0:
        input, index = input.reshape(1), index.reshape(())
    return gs.take(input, index, axis=dim, out=out)


def scatter(input, dim, index, src, *, reduce=None, out=None):
    return gs.scatter(input, dim, index, src, reduce=reduce, out=out)


def scatter_add(input, dim, index, src, *, out=None):
    return gs.scatter(input, dim, index, src, reduce="add", out=out)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    return gs.scatter(input, dim, index, src, reduce=reduce, include_self=include_self, out=out)


def along(input, dim, index):
    """A 1-d index for whole slices, converted to the elementwise index of a scatter."""
    if input.ndim == 0:
        return index.reshape(())
    shape = [1] * input.ndim
    shape[dim] = -1
    extents = list(input.shape)
    extents[dim] = len(index)
    return index.reshape(shape).expand(extents)


def index_copy(input, dim, index, source, *, out=None):
    return gs.scatter(input, dim, along(input, dim, index), source, out=out)


def index_add(input, dim, index, source, *, alpha=1, out=None):
    """`alpha` multiplies the source first, rounded to its dtype, as in torch without its fused kernels."""
    scaled = source & alpha if str(source.dtype) == "torch.bool" else source * alpha
    return gs.scatter(input, dim, along(input, dim, index), scaled, reduce="add", out=out)


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    return gs.scatter(input, dim, along(input, dim, index), source, reduce=reduce, include_self=include_self)


def put(input, index, source, accumulate=False):
    flat = gs.scatter(input.reshape(-1), index.reshape(-1), source.reshape(-1), reduce="add" if accumulate else None)
    return flat.reshape(input.shape)


def index_put(input, indices, values, accumulate=False):
    """A mask stands for the positions where it is true."""
    arrays = []
    for index in indices:
        arrays += index.nonzero(as_tuple=True) if str(index.dtype) == "torch.bool" else [index]
    return gs.scatter_nd(input, coordinates(arrays), values, reduce="add" if accumulate else None)


def coordinates(arrays):
    """Arrays of indices that broadcast, side by side."""
    shape = sum(array * 0 for array in arrays).shape
    points = arrays[0].new_empty((*shape, len(arrays)))
    for axis, array in enumerate(arrays):
        points[..., axis] = array
    return points


OURS: dict[str, Callable[..., Any]] = {
    "gather": gather,
    "take": take,
    "take_along_dim": take_along_dim,
    "index_select": index_select,
    "index_copy": index_copy,
    "index_add": index_add,
    "index_reduce": index_reduce,
    "scatter": scatter,
    "scatter_add": scatter_add,
    "scatter_reduce": scatter_reduce,
    "put": put,
    "index_put": index_put,
}
