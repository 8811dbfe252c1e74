"""second_reference_write.py: reference_write.py in whole-array NumPy, for sizes where its loops take too long.

Writes are sorted by target, in ascending flat position for each target. A reduction runs in rounds: round r applies the
r-th write of every target that has one, so that each target gets its writes in order, one operation at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reference import Answer, Clash
from reference_reduce import FLOATS, PART_OF, QUIET_NAN, REDUCTIONS
from reference_write import reshaped, spread
from second_reference import along_shape, grid, opaque, resolve_points


class Writes(NamedTuple):
    """Flat positions in the target, the (ascending) dense positions that are written there, and the items as bytes."""

    targets: np.ndarray
    dense: np.ndarray
    items: np.ndarray


def listed(source: np.ndarray, place: list[np.ndarray], nowhere: np.ndarray, src: np.ndarray) -> Writes:
    """All writes of a dense shape: coordinates in the target, the mask of points that write nothing, the items."""
    dense = np.flatnonzero(~nowhere)
    flat = np.zeros(nowhere.shape, np.int64)
    for coordinate, n in zip(place, source.shape, strict=True):
        flat = flat * n + coordinate
    items = opaque(np.ascontiguousarray(src).reshape(-1))[dense]
    return Writes(np.broadcast_to(flat, nowhere.shape).reshape(-1)[dense], dense, items)


def apply(source, writes: Writes, point_of, reduce=None, include_self=True, duplicates="last") -> Answer:
    """A copy of `source` after these writes; `point_of` maps a dense position to a point of the index space."""
    result = np.ascontiguousarray(source).reshape(-1).copy()
    if not writes.targets.size:
        return Answer(result.reshape(source.shape), None)
    order = np.argsort(writes.targets, kind="stable")
    keys, dense = writes.targets[order], writes.dense[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    counts = np.diff(np.r_[starts, keys.size])
    hit, items = keys[starts], writes.items[order]
    if duplicates == "error" and source.dtype.itemsize and (counts > 1).any():
        several = starts[counts > 1]
        lowest = several[np.argmin(dense[several + 1])]
        return Answer(None, Clash(point_of(dense[lowest + 1]), point_of(dense[lowest])))
    if reduce is None:
        chosen = starts if duplicates == "first" else starts + counts - 1
        opaque(result)[hit] = items[chosen]
    else:
        own = result[hit] if include_self else None
        result[hit] = reduced(own, items.view(source.dtype), starts, counts, REDUCTIONS[reduce])
    return Answer(result.reshape(source.shape), None)


def reduced(own: np.ndarray | None, items: np.ndarray, starts, counts, kind: str) -> np.ndarray:
    """The reduced item of every target."""
    dtype = items.dtype
    with np.errstate(all="ignore"):
        values = parts(items, kind)
        order = np.argsort(-counts, kind="stable")  # so that the targets with an r-th write come first
        starts, counts = starts[order], counts[order]
        if own is None:
            total, begin = [part[starts] for part in values], 1
        else:
            total, begin = [part[order] for part in parts(own, kind)], 0
        alive = np.searchsorted(-counts, -np.arange(counts[0] + 1), side="left")  # numbers of targets with > r writes
        for r in range(begin, int(counts[0])):
            k = alive[r]
            step([part[:k] for part in total], [part[starts[:k] + r] for part in values], kind)
        if kind == "mean":
            n = counts + (own is not None)
            divide = np.floor_divide if dtype.kind in "iu" else np.divide
            total = [divide(part, n.astype(part.dtype)) for part in total]
        answer = np.empty(starts.size, dtype)
        answer[order] = joined(total, dtype)
    return answer


def parts(items: np.ndarray, kind: str) -> list[np.ndarray]:
    """Arrays for the arithmetic: real and imaginary part, narrow floats as float32, the sums of means in 64 bits."""
    if items.dtype.name in PART_OF:
        return [items.real.copy(), items.imag.copy()]
    if items.dtype.kind in "iu" and kind == "mean":
        return [items.astype(f"{items.dtype.kind}8")]
    return [items.astype(np.float32) if items.dtype.name in FLOATS and items.itemsize < 4 else items.copy()]


def step(total: list[np.ndarray], new: list[np.ndarray], kind: str) -> None:
    """Update the totals, which are views, in place."""
    a, b = total[0], new[0]
    if kind in ("min", "max"):
        better = b < a if kind == "min" else b > a
        a[...] = np.where((better | (b != b)) & (a == a), b, a)
    elif kind == "mul" and len(total) == 2:
        c, d = total[1].copy(), new[1]
        real, imaginary = a * b - c * d, a * d + c * b
        total[0][...], total[1][...] = real, imaginary
    else:
        for x, y in zip(total, new, strict=True):
            x[...] = x * y if kind == "mul" else x + y


def joined(total: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    if dtype.name in PART_OF:
        whole = np.empty(total[0].shape, dtype)
        whole.real, whole.imag = (joined([part], PART_OF[dtype.name]) for part in total)
        return whole
    rounded = total[0].astype(dtype)
    if dtype.name in FLOATS:
        rounded.view(f"u{dtype.itemsize}")[np.isnan(rounded)] = QUIET_NAN[dtype.name]
    return rounded


def finish(source, place, nowhere, src, point_of, how) -> Answer:
    return apply(source, listed(source, place, nowhere, src), point_of, **how)


def unraveler(shape: tuple[int, ...], points: tuple[int, ...] | None = None):
    """A function from a dense position to a point: the first coordinates, or those whose axes `points` lists."""

    def point_of(flat: int) -> tuple[int, ...]:
        c = tuple(int(n) for n in np.unravel_index(flat, shape)) if shape else ()
        return c if points is None else tuple(c[d] for d in points)

    return point_of


def along(source, axis, index, shape, src, bounds, negative, mask, how) -> Answer:
    positions, nowhere, bad = resolve_points(shape, [axis], [source.shape[axis]], [index], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    place = [c * 0 if n == 1 else c for c, n in zip(grid(shape), source.shape, strict=True)]
    place[axis] = positions[0]
    return finish(source, place, nowhere, src, unraveler(shape), how)


def scatter(source, dim, index, src, *, bounds="raise", negative="from_end", mask=None, **how) -> Answer:
    index = np.asarray(index)
    src = spread(src, index.shape, leading=True)
    if source.ndim == 0:
        _, nowhere, bad = resolve_points((), [0], [1], [index], bounds, negative, mask)
        return Answer(None, bad) if bad is not None else finish(source, [], nowhere, src, unraveler(()), how)
    return along(source, dim % source.ndim, index, index.shape, src, bounds, negative, mask, how)


def put_along_axis(source, indices, values, axis, *, bounds="raise", negative="from_end", mask=None) -> Answer:
    index = np.asarray(indices)
    flat, axis = (source.reshape(-1), 0) if axis is None else (source, axis % source.ndim)
    shape = along_shape(flat.shape, index.shape, axis)
    answer = along(flat, axis, index, shape, spread(values, shape), bounds, negative, mask, {})
    return reshaped(answer, source.shape)


def scatter_axis(
    source, indices, axis, batch_dims, src, *, bounds="raise", negative="from_end", mask=None, **how
) -> Answer:
    indices = np.asarray(indices)
    axis, b = axis % source.ndim, batch_dims
    n = source.shape[axis]
    positions, nowhere, bad = resolve_points(indices.shape, [axis], [n], [indices], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    after = axis + indices.ndim - b
    shape = source.shape[:axis] + indices.shape[b:] + source.shape[axis + 1 :]
    spaced = (*indices.shape[:b], *(1,) * (axis - b), *indices.shape[b:], *(1,) * (source.ndim - axis - 1))
    everywhere = grid(shape)
    place = [*everywhere[:axis], positions[0].reshape(spaced), *everywhere[after:]]
    nowhere = np.broadcast_to(nowhere.reshape(spaced), shape)
    points = (*range(b), *range(axis, after))
    return finish(source, place, nowhere, spread(src, shape), unraveler(shape, points), how)


def scatter_nd(
    source, indices, updates, batch_dims=0, *, bounds="raise", negative="from_end", mask=None, **how
) -> Answer:
    indices = np.asarray(indices)
    points, k = indices.shape[:-1], indices.shape[-1]
    axes = list(range(batch_dims, batch_dims + k))
    sizes, indices_of = [source.shape[a] for a in axes], [indices[..., j] for j in range(k)]
    positions, nowhere, bad = resolve_points(points, axes, sizes, indices_of, bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    shape = points + source.shape[batch_dims + k :]
    tail = (1,) * (source.ndim - batch_dims - k)
    everywhere = grid(shape)
    place = [*everywhere[:batch_dims], *(p.reshape(points + tail) for p in positions), *everywhere[len(points) :]]
    nowhere = np.broadcast_to(nowhere.reshape(points + tail), shape)
    return finish(source, place, nowhere, spread(updates, shape), unraveler(shape, tuple(range(len(points)))), how)


def tile_scatter(source, indices, value, *, mask=None, check_bounds=True) -> Answer:
    shape = np.broadcast_shapes(*(np.shape(index) for index in indices))
    bounds = "drop" if check_bounds else "raise"
    axes, sizes = list(range(source.ndim)), list(source.shape)
    positions, nowhere, bad = resolve_points(shape, axes, sizes, list(indices), bounds, "out_of_bounds", mask)
    if bad is not None:
        return Answer(None, bad)
    return finish(source, positions, nowhere, spread(value, shape), unraveler(shape), {})


def cycled(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The values repeated to the size of the shape."""
    values = opaque(np.ascontiguousarray(values).reshape(-1))
    return values[np.arange(int(np.prod(shape))) % values.size].reshape(shape)


def put(source, ind, v, *, bounds="raise", negative="from_end", mask=None) -> Answer:
    ind, v = np.asarray(ind), np.asarray(v)
    if not v.size:
        return Answer(np.array(source, order="C"), None)
    positions, nowhere, bad = resolve_points(ind.shape, [0], [source.size], [ind], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    flat = np.ascontiguousarray(source).reshape(-1)
    return reshaped(finish(flat, positions, nowhere, cycled(v, ind.shape), unraveler(ind.shape), {}), source.shape)


def putmask(source, mask, values) -> Answer:
    result = np.array(source, order="C")
    if np.size(values):
        mask = np.ascontiguousarray(mask).reshape(source.shape)
        opaque(result)[mask] = opaque(cycled(values, source.shape))[mask]
    return Answer(result, None)
