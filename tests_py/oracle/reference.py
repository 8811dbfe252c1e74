"""reference.py: the definition of every reading operator as naive loops over Python ints; the oracle of all tests.

The code is simple on purpose and neither fast nor clever. Items are moved as bytes, so that every dtype and bit pattern
is exact. An operator has two steps: `resolve_points` computes where each point of the index space lies (or that it is
padding, or bad), then a loop over the result moves one item at a time. Writing operators are in reference_write.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Point = tuple[int, ...]


class Bad(NamedTuple):
    """The lowest point with a bad index, and the number of such points."""

    index: int
    position: Point
    axis: int
    size: int
    count: int


class Clash(NamedTuple):
    """With duplicates="error": the lowest point whose target was written before, and the first point that wrote it."""

    position: Point
    first: Point


class Answer(NamedTuple):
    """Either a result, or the reason why there is none."""

    result: np.ndarray | None
    bad: Bad | Clash | None


class Outside(Exception):
    """The rule forbids this index value."""


def resolve(value: int, n: int, bounds: str = "raise", negative: str = "from_end") -> int | None:
    """The position of index `value` on an axis of size `n`; None for padding or no write; Outside for an error."""
    assert bounds in ("raise", "deferred", "fill", "drop", "clip", "wrap", "unchecked")
    assert negative in ("from_end", "out_of_bounds")
    position = value
    if negative == "from_end" and value < 0:
        position = value + n
    if 0 <= position < n:
        return position
    assert bounds != "unchecked", "with bounds='unchecked' every index must be valid"
    if bounds in ("fill", "drop"):
        return None
    if n == 0:
        raise Outside
    if bounds == "clip":
        return 0 if position < 0 else n - 1
    if bounds == "wrap":
        return value % n  # Python's modulo is never negative
    raise Outside


def resolve_points(
    shape: Point, axes: list[int], sizes: list[int], indices: list[Any], bounds: str, negative: str, mask: Any
) -> tuple[dict[Point, tuple[int, ...] | None], Bad | None]:
    """Positions (one for each index array) of every point of the index space; None for a point that is padding."""
    indices = [np.broadcast_to(np.asarray(index), shape) for index in indices]
    if mask is not None:
        mask = np.broadcast_to(np.asarray(mask), shape)
    points: dict[Point, tuple[int, ...] | None] = {}
    first: Bad | None = None
    count = 0
    for point in np.ndindex(shape):
        if mask is not None and not mask[point]:
            points[point] = None  # the index of a masked point is not read
            continue
        positions: list[int | None] = []
        bad: Bad | None = None
        for axis, size, index in zip(axes, sizes, indices, strict=True):
            value = int(index[point])
            try:
                positions.append(resolve(value, size, bounds, negative))
            except Outside:
                if bad is None:
                    bad = Bad(value, point, axis, size, 0)
        if bad is not None:
            count += 1
            first = bad if first is None else first
        elif None in positions:
            points[point] = None
        else:
            points[point] = tuple(p for p in positions if p is not None)
    return points, None if first is None else first._replace(count=count)


def item(array: np.ndarray, place: Point) -> bytes:
    """The bytes of one item. The Ellipsis keeps it an array, because a scalar may lose bits."""
    return array[(*place, ...)].tobytes()


def from_items(items: list[bytes], shape: Point, dtype: np.dtype) -> np.ndarray:
    """A C-ordered array of these items. One byte is added, because NumPy rejects an empty buffer."""
    return np.ndarray(shape, dtype, buffer=bytearray(b"".join(items) + b"\0"))


def fill_item(fill: Any, dtype: np.dtype, shape: Point, point: Point) -> bytes:
    if fill is None:
        return bytes(dtype.itemsize)
    assert fill.dtype == dtype
    return item(np.broadcast_to(fill, shape), point)


def gather_dim(
    source: np.ndarray, dim: int, index: Any, *, bounds="raise", negative="from_end", mask=None, fill=None
) -> Answer:
    """result[c] = source[c with c[dim] replaced by index[c]]"""
    index = np.asarray(index)
    if source.ndim == 0:  # both are treated as shape (1,); the answer has the shape of the index
        assert dim in (-1, 0)
        points, bad = resolve_points((), [0], [1], [index], bounds, negative, mask)
        if bad is not None:
            return Answer(None, bad)
        one = fill_item(fill, source.dtype, (), ()) if points[()] is None else item(source, ())
        return Answer(from_items([one], (), source.dtype), None)
    assert index.ndim == source.ndim and -source.ndim <= dim < source.ndim
    dim = dim % source.ndim
    for axis in range(source.ndim):
        assert axis == dim or index.shape[axis] <= source.shape[axis]
    return along(source, dim, index, index.shape, bounds, negative, mask, fill)


def take_along_axis(
    source: np.ndarray, indices: Any, axis: int | None, *, bounds="raise", negative="from_end", mask=None, fill=None
) -> Answer:
    """NumPy's take_along_axis: as gather_dim, but source and indices are broadcast on all other axes."""
    index = np.asarray(indices)
    if axis is None:
        assert index.ndim == 1
        source, axis = flattened(source), 0
    assert index.ndim == source.ndim and -source.ndim <= axis < source.ndim
    axis = axis % source.ndim
    shape = []
    for d in range(source.ndim):
        n, m = source.shape[d], index.shape[d]
        assert d == axis or n == m or n == 1 or m == 1
        shape.append(m if d == axis or n == 1 else n)
    return along(source, axis, index, tuple(shape), bounds, negative, mask, fill)


def along(source, axis, index, shape, bounds, negative, mask, fill) -> Answer:
    points, bad = resolve_points(shape, [axis], [source.shape[axis]], [index], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    items = []
    for c in np.ndindex(shape):
        positions = points[c]
        if positions is None:
            items.append(fill_item(fill, source.dtype, shape, c))
        else:
            place = [c[d] if source.shape[d] != 1 else 0 for d in range(source.ndim)]
            place[axis] = positions[0]
            items.append(item(source, tuple(place)))
    return Answer(from_items(items, shape, source.dtype), None)


def gather_axis(
    source: np.ndarray,
    indices: Any,
    axis: int,
    batch_dims=0,
    *,
    bounds="raise",
    negative="from_end",
    mask=None,
    fill=None,
) -> Answer:
    """result[B, M, I, T] = source[B, M, indices[B, I], T] with batch_dims axes in B and M up to `axis`"""
    indices = np.asarray(indices)
    assert source.ndim > 0 and -source.ndim <= axis < source.ndim
    axis = axis % source.ndim
    b = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    assert 0 <= b <= min(indices.ndim, axis) and indices.shape[:b] == source.shape[:b]
    points, bad = resolve_points(indices.shape, [axis], [source.shape[axis]], [indices], bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    shape = source.shape[:axis] + indices.shape[b:] + source.shape[axis + 1 :]
    after = axis + indices.ndim - b  # the axis at which T begins in the result
    items = []
    for c in np.ndindex(shape):
        point = c[:b] + c[axis:after]
        positions = points[point]
        if positions is None:
            items.append(fill_item(fill, source.dtype, indices.shape, point))
        else:
            items.append(item(source, (*c[:axis], positions[0], *c[after:])))
    return Answer(from_items(items, shape, source.dtype), None)


def take(
    source: np.ndarray, indices: Any, axis: int | None, *, bounds="raise", negative="from_end", mask=None, fill=None
) -> Answer:
    """NumPy's take: slices along `axis`, or items of the flattened array if axis is None."""
    if axis is None:
        source, axis = flattened(source), 0
    return gather_axis(source, indices, axis, 0, bounds=bounds, negative=negative, mask=mask, fill=fill)


def repeat(source: np.ndarray, repeats: Any, axis: int | None) -> Answer:
    """NumPy's repeat: a take in which every position of the axis occurs as many times as its count says."""
    n = source.size if axis is None else source.shape[axis]
    counts = np.asarray(repeats).reshape(-1).tolist()
    assert len(counts) in (1, n) and all(count >= 0 for count in counts)
    positions = [j for j in range(n) for _ in range(counts[j % len(counts)])]
    return take(source, np.array(positions, np.int64), axis)


def roll(source: np.ndarray, shift: Any, axis: int | tuple[int, ...] | None) -> Answer:
    """NumPy's roll: result[c] = source[c with c[a] replaced by (c[a] - shift) mod size], for each pair (shift, a)."""
    if axis is None:
        rolled = roll(flattened(source), shift, 0).result
        return Answer(rolled.reshape(source.shape), None)
    shifts, axes = (np.atleast_1d(np.array(part, object)).tolist() for part in (shift, axis))
    count = len(axes) if len(shifts) == 1 else len(shifts)
    pairs = [(shifts[k % len(shifts)], axes[k % len(axes)]) for k in range(count)]
    items = []
    for c in np.ndindex(source.shape):
        place = list(c)
        for number, a in pairs:
            place[a] = (place[a] - int(number)) % source.shape[a]
        items.append(item(source, tuple(place)))
    return Answer(from_items(items, source.shape, source.dtype), None)


def flattened(source: np.ndarray) -> np.ndarray:
    return from_items([item(source, c) for c in np.ndindex(source.shape)], (source.size,), source.dtype)


def tile_gather(source: np.ndarray, indices: tuple, *, mask=None, padding=None, check_bounds=True) -> Answer:
    """result[c] = source[indices[0][c], indices[1][c], …]; negative indices are outside; outside is padding."""
    assert len(indices) == source.ndim
    shape = np.broadcast_shapes(*(np.asarray(index).shape for index in indices))
    bounds = "fill" if check_bounds else "raise"
    axes = list(range(source.ndim))
    points, bad = resolve_points(shape, axes, list(source.shape), list(indices), bounds, "out_of_bounds", mask)
    if bad is not None:
        return Answer(None, bad)
    items = []
    for c in np.ndindex(shape):
        positions = points[c]
        items.append(fill_item(padding, source.dtype, shape, c) if positions is None else item(source, positions))
    return Answer(from_items(items, shape, source.dtype), None)


def gather_nd(
    source: np.ndarray, indices: Any, batch_dims=0, *, bounds="raise", negative="from_end", mask=None, fill=None
) -> Answer:
    """result[B, I, T] = source[B, *indices[B, I], T]: the last axis of the indices is a coordinate."""
    shape, axes, parts = coordinates(source, indices, batch_dims)
    points, bad = resolve_points(shape, axes, [source.shape[a] for a in axes], parts, bounds, negative, mask)
    if bad is not None:
        return Answer(None, bad)
    tail = source.shape[batch_dims + len(axes) :]
    items = []
    for point in np.ndindex(shape):
        for t in np.ndindex(tail):
            positions = points[point]
            if positions is None:
                items.append(fill_item(fill, source.dtype, shape, point))
            else:
                items.append(item(source, (*point[:batch_dims], *positions, *t)))
    return Answer(from_items(items, shape + tail, source.dtype), None)


def coordinates(source: np.ndarray, indices: Any, batch_dims: int) -> tuple[Point, list[int], list[np.ndarray]]:
    """The shape of the points, the axes that they address, and the index array of each of these axes."""
    indices = np.asarray(indices)
    assert indices.ndim > batch_dims >= 0 and indices.shape[:batch_dims] == source.shape[:batch_dims]
    k = indices.shape[-1]
    assert batch_dims + k <= source.ndim
    return indices.shape[:-1], [batch_dims + j for j in range(k)], [indices[..., j] for j in range(k)]
