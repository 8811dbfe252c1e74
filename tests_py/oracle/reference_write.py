"""reference_write.py: the definition of every writing operator as naive loops, in the way of reference.py.

An operator lists its writes in ascending flat position of the index space; `apply` executes them in that order. Points
that are masked or dropped are not listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from reference import Answer, Clash, Point, coordinates, flattened, from_items, item, resolve_points
from reference_reduce import combined

Write = tuple[Point, Point, bytes]  # the point of the index space, the target's coordinates, the item


def apply(source: np.ndarray, writes: Iterable[Write], reduce=None, include_self=True, duplicates="last") -> Answer:
    """A copy of `source` after these writes."""
    assert duplicates in ("last", "first", "error") and (reduce is None or duplicates == "last")
    items = {place: item(source, place) for place in np.ndindex(source.shape)}
    if reduce is not None:
        met: dict[Point, list[bytes]] = {}
        for _, place, new in writes:
            met.setdefault(place, [items[place]] if include_self else []).append(new)
        for place, together in met.items():
            items[place] = combined(together, source.dtype, reduce)
    else:
        first: dict[Point, Point] = {}
        for point, place, new in writes:
            if place in first and duplicates == "error" and new:  # items without bytes cannot clash
                return Answer(None, Clash(point, first[place]))
            if place in first and duplicates == "first":
                continue
            first.setdefault(place, point)
            items[place] = new
    return Answer(from_items(list(items.values()), source.shape, source.dtype), None)


def spread(src: Any, shape: Point, leading: bool = False) -> np.ndarray:
    """`src` broadcast to the shape; with `leading`, an array of equal rank that is at least as large is cut to it."""
    src = np.asarray(src)
    if leading and src.ndim == len(shape) and all(m >= n for m, n in zip(src.shape, shape, strict=True)):
        return src[(*(slice(n) for n in shape), ...)]  # the Ellipsis keeps it an array
    return np.broadcast_to(src, shape)


def along(source, axis, index, shape, src, bounds, negative, mask, how) -> Answer:
    points, bad = resolve_points(shape, [axis], [source.shape[axis]], [index], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    writes = []
    for c in np.ndindex(shape):
        positions = points[c]
        if positions is not None:
            place = [c[d] if source.shape[d] != 1 else 0 for d in range(source.ndim)]
            place[axis] = positions[0]
            writes.append((c, tuple(place), item(src, c)))
    return apply(source, writes, **how)


def scatter(
    source: np.ndarray, dim: int, index: Any, src: Any, *, bounds="raise", negative="from_end", mask=None, **how
) -> Answer:
    """result = source, then result[c with c[dim] replaced by index[c]] = src[c]"""
    index = np.asarray(index)
    src = spread(src, index.shape, leading=True)
    if source.ndim == 0:  # both are treated as shape (1,); errors have the shape of the index
        assert dim in (-1, 0) and index.ndim == 0
        points, bad = resolve_points((), [0], [1], [index], bounds, negative, mask)
        if bad is not None:
            return Answer(None, bad)
        return apply(source, [] if points[()] is None else [((), (), item(src, ()))], **how)
    assert index.ndim == source.ndim and -source.ndim <= dim < source.ndim
    dim = dim % source.ndim
    for axis in range(source.ndim):
        assert axis == dim or index.shape[axis] <= source.shape[axis]
    return along(source, dim, index, index.shape, src, bounds, negative, mask, how)


def put_along_axis(
    source: np.ndarray, indices: Any, values: Any, axis: int | None, *, bounds="raise", negative="from_end", mask=None
) -> Answer:
    """NumPy's put_along_axis: as scatter, but source and indices are broadcast on all other axes."""
    index = np.asarray(indices)
    if axis is None:
        answer = put_along_axis(flattened(source), index, values, 0, bounds=bounds, negative=negative, mask=mask)
        return reshaped(answer, source.shape)
    assert index.ndim == source.ndim and -source.ndim <= axis < source.ndim
    axis = axis % source.ndim
    shape = []
    for d in range(source.ndim):
        n, m = source.shape[d], index.shape[d]
        assert d == axis or n == m or n == 1 or m == 1
        shape.append(m if d == axis or n == 1 else n)
    return along(source, axis, index, tuple(shape), spread(values, tuple(shape)), bounds, negative, mask, {})


def reshaped(answer: Answer, shape: Point) -> Answer:
    return answer if answer.result is None else Answer(answer.result.reshape(shape), None)


def scatter_axis(
    source: np.ndarray,
    indices: Any,
    axis: int,
    batch_dims: int,
    src: Any,
    *,
    bounds="raise",
    negative="from_end",
    mask=None,
    **how,
) -> Answer:
    """result = source, then result[B, M, indices[B, I], T] = src[B, M, I, T]"""
    indices = np.asarray(indices)
    axis, b = axis % source.ndim, batch_dims
    points, bad = resolve_points(indices.shape, [axis], [source.shape[axis]], [indices], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    after = axis + indices.ndim - b
    shape = source.shape[:axis] + indices.shape[b:] + source.shape[axis + 1 :]
    src = spread(src, shape)
    writes = []
    for c in np.ndindex(shape):
        point = c[:b] + c[axis:after]
        positions = points[point]
        if positions is not None:
            writes.append((point, (*c[:axis], positions[0], *c[after:]), item(src, c)))
    return apply(source, writes, **how)


def scatter_nd(
    source: np.ndarray,
    indices: Any,
    updates: Any,
    batch_dims=0,
    *,
    bounds="raise",
    negative="from_end",
    mask=None,
    **how,
) -> Answer:
    """result = source, then result[B, *indices[B, I], T] = updates[B, I, T]"""
    shape, axes, parts = coordinates(source, indices, batch_dims)
    points, bad = resolve_points(shape, axes, [source.shape[a] for a in axes], parts, bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    tail = source.shape[batch_dims + len(axes) :]
    updates = spread(updates, shape + tail)
    writes = []
    for point in np.ndindex(shape):
        positions = points[point]
        if positions is not None:
            for t in np.ndindex(tail):
                writes.append((point, (*point[:batch_dims], *positions, *t), item(updates, point + t)))
    return apply(source, writes, **how)


def tile_scatter(
    source: np.ndarray, indices: tuple, value: Any, *, mask=None, check_bounds=True, reduce=None
) -> Answer:
    """result[indices[0][c], indices[1][c], …] = value[c], or reduced; negative indices write nothing."""
    assert len(indices) == source.ndim
    shape = np.broadcast_shapes(*(np.asarray(index).shape for index in indices))
    bounds = "drop" if check_bounds else "raise"
    axes = list(range(source.ndim))
    points, bad = resolve_points(shape, axes, list(source.shape), list(indices), bounds, "out_of_bounds", mask)
    if bad is not None:
        return Answer(None, bad)
    value = spread(value, shape)
    writes = [(c, points[c], item(value, c)) for c in np.ndindex(shape) if points[c] is not None]
    return apply(source, writes, reduce)


def put(source: np.ndarray, ind: Any, v: Any, *, bounds="raise", negative="from_end", mask=None) -> Answer:
    """NumPy's put: result.flat[ind[j]] = v[j], with the values repeated if there are fewer of them than indices."""
    ind, v = np.asarray(ind), np.asarray(v)
    values = [item(v, c) for c in np.ndindex(v.shape)]
    if not values:
        return apply(source, [])  # the indices are not read
    points, bad = resolve_points(ind.shape, [0], [source.size], [ind], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    writes = []
    for j, c in enumerate(np.ndindex(ind.shape)):
        positions = points[c]
        if positions is not None:
            writes.append((c, positions, values[j % len(values)]))
    return reshaped(apply(flattened(source), writes), source.shape)


def putmask(source: np.ndarray, mask: Any, values: Any) -> Answer:
    """NumPy's putmask: result.flat[j] = values[j] where mask.flat[j], with the values repeated as in `put`."""
    mask, values = np.asarray(mask), np.asarray(values)
    assert mask.shape == source.shape
    cycle = [item(values, c) for c in np.ndindex(values.shape)]
    places = enumerate(np.ndindex(source.shape))
    return apply(source, [(c, c, cycle[j % len(cycle)]) for j, c in places if mask[c] and cycle])


def place(source: np.ndarray, mask: Any, values: Any) -> Answer:
    """NumPy's place: the elements where the mask is true become the values in order, repeated."""
    mask, values = np.asarray(mask), np.asarray(values)
    assert mask.size == source.size
    cycle = [item(values, c) for c in np.ndindex(values.shape)]
    chosen = [c for c, on in zip(np.ndindex(source.shape), mask.ravel(), strict=True) if on]
    return apply(source, [(c, c, cycle[j % len(cycle)]) for j, c in enumerate(chosen)])
