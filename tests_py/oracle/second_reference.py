"""second_reference.py: a second oracle in whole-array NumPy, for sizes where the loops of reference.py take too long.

It is checked itself: test_contract.py runs every small case with it and with reference.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference import Answer, Bad

I64 = np.iinfo(np.int64)


def resolve_all(values: np.ndarray, n: int, bounds: str, negative: str) -> tuple[np.ndarray, np.ndarray]:
    """Positions as int64 (0 for indices without one), and the mask of the indices without one."""
    native = values.astype(values.dtype.newbyteorder("="))
    if native.dtype == np.uint64:
        wide = np.minimum(native, np.uint64(I64.max)).astype(np.int64)  # stays outside of every axis, and not negative
    else:
        wide = native.astype(np.int64)
    position = wide + np.where(wide < 0, n, 0) if negative == "from_end" else wide
    outside = (position < 0) | (position >= n)
    if n > 0 and bounds == "clip":
        position = np.where(outside, np.where(position < 0, 0, n - 1), position)
        outside = np.zeros_like(outside)
    if n > 0 and bounds == "wrap":
        modulo = (native % np.uint64(n)).astype(np.int64) if native.dtype == np.uint64 else wide % n
        position = np.where(outside, modulo, position)
        outside = np.zeros_like(outside)
    return np.where(outside, 0, position), outside


def resolve_points(
    shape, axes, sizes, indices, bounds, negative, mask
) -> tuple[list[np.ndarray], np.ndarray, Bad | None]:
    """Position arrays of the index shape, the mask of padding, and the lowest bad point."""
    positions, outside = [], []
    for size, index in zip(sizes, indices, strict=True):
        p, o = resolve_all(np.broadcast_to(np.asarray(index), shape), size, bounds, negative)
        positions.append(p)
        outside.append(o)
    active = np.broadcast_to(np.asarray(True if mask is None else mask), shape)
    nowhere = np.zeros(shape, bool)
    for o in outside:
        nowhere = nowhere | o
    bad = None
    if bounds not in ("fill", "drop") and (nowhere & active).any():
        flat = int(np.flatnonzero(nowhere & active)[0])
        point = tuple(int(c) for c in np.unravel_index(flat, shape))
        k = next(k for k, o in enumerate(outside) if o[point])
        value = int(np.broadcast_to(np.asarray(indices[k]), shape)[point])
        bad = Bad(value, point, axes[k], sizes[k], int((nowhere & active).sum()))
    return positions, nowhere | ~active, bad


def opaque(array: np.ndarray) -> np.ndarray:
    """The items with a void dtype, so that NumPy can only copy their bytes."""
    return array.view(f"V{array.dtype.itemsize}") if array.dtype.itemsize else array


def finish(source: np.ndarray, place: tuple, padding: np.ndarray, fill: Any) -> Answer:
    """result[c] = source[place(c)], or the fill value where `padding` is true; both arrays have the result's shape."""
    result = np.zeros(padding.shape, source.dtype)
    if source.size and result.size:
        opaque(result)[...] = opaque(source)[place]
    if fill is None:
        fill = np.ndarray((), source.dtype, buffer=bytearray(source.dtype.itemsize + 1))
    items = opaque(np.ascontiguousarray(np.broadcast_to(fill, padding.shape)).reshape(padding.shape))
    opaque(result)[padding] = items[padding]
    return Answer(result, None)


def grid(shape: tuple[int, ...]) -> list[np.ndarray]:
    return list(np.indices(shape, sparse=True))


def along(source, axis, index, shape, bounds, negative, mask, fill) -> Answer:
    positions, padding, bad = resolve_points(shape, [axis], [source.shape[axis]], [index], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    place = [np.minimum(c, max(n - 1, 0)) if n == 1 else c for c, n in zip(grid(shape), source.shape, strict=True)]
    place[axis] = positions[0]
    return finish(source, tuple(place), padding, fill)


def along_shape(source: tuple[int, ...], index: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Both shapes broadcast together, except along the axis, where it is the extent of the index."""
    shape = np.broadcast_shapes(source[:axis] + source[axis + 1 :], index[:axis] + index[axis + 1 :])
    return (*shape[:axis], index[axis], *shape[axis:])


def gather_dim(source, dim, index, *, bounds="raise", negative="from_end", mask=None, fill=None) -> Answer:
    if source.ndim == 0:
        positions, padding, bad = resolve_points((), [0], [1], [index], bounds, negative, mask)
        return Answer(None, bad) if bad is not None else finish(source.reshape(1), (positions[0],), padding, fill)
    return along(source, dim % source.ndim, index, np.shape(index), bounds, negative, mask, fill)


def take_along_axis(source, indices, axis, *, bounds="raise", negative="from_end", mask=None, fill=None) -> Answer:
    if axis is None:
        source, axis = source.reshape(-1), 0
    axis = axis % source.ndim
    index = np.asarray(indices)
    return along(source, axis, index, along_shape(source.shape, index.shape, axis), bounds, negative, mask, fill)


def gather_axis(
    source, indices, axis, batch_dims=0, *, bounds="raise", negative="from_end", mask=None, fill=None
) -> Answer:
    indices = np.asarray(indices)
    axis, b = axis % source.ndim, batch_dims
    n = source.shape[axis]
    positions, padding, bad = resolve_points(indices.shape, [axis], [n], [indices], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    shape = source.shape[:axis] + indices.shape[b:] + source.shape[axis + 1 :]
    after = axis + indices.ndim - b

    def spread(array: np.ndarray) -> np.ndarray:  # from index shape to result shape: B, 1 for M, I, 1 for T
        spaced = (*indices.shape[:b], *(1,) * (axis - b), *indices.shape[b:], *(1,) * (source.ndim - axis - 1))
        return np.broadcast_to(np.asarray(array).reshape(spaced), shape)

    coordinates = grid(shape)
    place = (*coordinates[:axis], spread(positions[0]), *coordinates[after:])
    if fill is not None:
        fill = spread(np.ascontiguousarray(np.broadcast_to(fill, indices.shape)))
    return finish(source, place, spread(padding), fill)


def take(source, indices, axis, *, bounds="raise", negative="from_end", mask=None, fill=None) -> Answer:
    if axis is None:
        source, axis = source.reshape(-1), 0
    return gather_axis(source, indices, axis, 0, bounds=bounds, negative=negative, mask=mask, fill=fill)


def repeat(source, repeats, axis) -> Answer:
    n = source.size if axis is None else source.shape[axis]
    counts = np.asarray(repeats).astype(np.int64)
    ends = np.cumsum(np.broadcast_to(counts, (n,)))
    positions = np.searchsorted(ends, np.arange(ends[-1] if n else 0), side="right")
    return take(source, positions, axis)


def roll(source, shift, axis) -> Answer:
    n = source.size if axis is None else source.shape[axis]
    positions = (np.arange(n) - sum(map(int, np.ravel(shift))) % max(n, 1)) % max(n, 1)
    answer = take(source, positions, axis)
    return Answer(answer.result.reshape(source.shape), None)


def tile_gather(source, indices, *, mask=None, padding=None, check_bounds=True) -> Answer:
    shape = np.broadcast_shapes(*(np.shape(index) for index in indices))
    bounds = "fill" if check_bounds else "raise"
    axes, sizes = list(range(source.ndim)), list(source.shape)
    positions, where, bad = resolve_points(shape, axes, sizes, list(indices), bounds, "out_of_bounds", mask)
    return Answer(None, bad) if bad is not None else finish(source, tuple(positions), where, padding)


def gather_nd(source, indices, batch_dims=0, *, bounds="raise", negative="from_end", mask=None, fill=None) -> Answer:
    indices = np.asarray(indices)
    points, k = indices.shape[:-1], indices.shape[-1]
    axes = list(range(batch_dims, batch_dims + k))
    sizes, parts = [source.shape[a] for a in axes], [indices[..., j] for j in range(k)]
    positions, padding, bad = resolve_points(points, axes, sizes, parts, bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    tail = source.shape[batch_dims + k :]
    everywhere = grid(points + tail)

    def spread(array: np.ndarray) -> np.ndarray:  # from the shape of the points to that of the result
        return np.broadcast_to(np.asarray(array).reshape(points + (1,) * len(tail)), points + tail)

    place = (*everywhere[:batch_dims], *map(spread, positions), *everywhere[len(points) :])
    if fill is not None:
        fill = spread(np.ascontiguousarray(np.broadcast_to(fill, points)))
    return finish(source, place, spread(padding), fill)
