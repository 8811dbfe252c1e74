"""parts.py: divides the points of one block of indices among the chunks of the data that they fall in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from typing import Any, Literal

import numpy as np

from gatherscatter._dask.resolve import Rule, resolve
from gatherscatter._settings.threads import thread_limit

__all__ = ["NO_POINTS", "Grid", "Part", "part_of", "parts_of", "smallest_type", "split"]

Array = np.ndarray[Any, Any]
# Positions in a chunk of the data (flat among its indexed axes), and the flat points of the block that they belong to,
# in ascending order.
Part = tuple[Array, Array]
# Where the coordinate along an indexed axis comes from: index array number k, the coordinate of the point along its
# axis d, or 0, because the axis has one element and the points broadcast.
Source = tuple[Literal["index", "point", "zero"], int]
NO_POINTS: Part = (np.empty(0, np.uint8), np.empty(0, np.uint8))


@dataclass(frozen=True)
class Grid:
    """The chunks along the indexed axes of the data, and how points address these axes.

    Parameters
    ----------
    rule : Rule
    sources : tuple of Source
        One for each indexed axis, in the order of `chunks`.
    chunks : tuple of tuple of int
        The lengths of the chunks along each indexed axis.
    flat : bool
        Whether the only index addresses the flattened data, all of whose axes are indexed.
    packed : bool
        Whether the last axis of one array holds all index arrays.
    """

    rule: Rule
    sources: tuple[Source, ...]
    chunks: tuple[tuple[int, ...], ...]
    flat: bool = False
    packed: bool = False

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of chunks along each indexed axis. An owner is a flat position in this shape."""
        return tuple(map(len, self.chunks))

    def reached(self, starts: tuple[int, ...], stops: tuple[int, ...]) -> list[int]:
        """The owners that points from `starts` to `stops` can have, whatever their index values are."""
        along = []
        for (kind, d), lengths in zip(self.sources, self.chunks, strict=True):
            ends = list(accumulate(lengths))
            if kind == "index":  # with an empty axis, the first chunk raises the error of the index
                along.append([i for i, n in enumerate(lengths) if n] or [0])
            elif kind == "zero":
                along.append([next((i for i, n in enumerate(lengths) if n), 0)])
            else:
                spans = zip(ends, lengths, strict=True)
                along.append([i for i, (end, n) in enumerate(spans) if end - n < stops[d] and end > starts[d] and n])
        return [_ravel(place, self.counts) for place in product(*along)]


def _ravel(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    flat = 0
    for i, n in zip(place, shape, strict=True):
        flat = flat * n + i
    return flat


def smallest_type(count: int) -> np.dtype[Any]:
    """The smallest type for positions among `count` items, so that little is sent between workers."""
    return np.min_scalar_type(max(count - 1, 0))


def split(
    grid: Grid, origin: tuple[int, ...], extents: tuple[int, ...], whole: bool, mask: Array | None, *indices: Array
) -> dict[int, Part]:
    """The parts of a block of points, by owner. Points without a position are in no part.

    Parameters
    ----------
    origin, extents : tuple of int
        The first point of the block, and its shape.
    whole : bool
        Whether the block is all points.
    mask, *indices : arrays
        Of this block; they broadcast to `extents`.
    """
    if 0 in extents:
        return {}
    with thread_limit(1):
        arrays = [*np.moveaxis(indices[0], -1, 0)] if grid.packed else list(indices)
        positions, valid = resolve(grid.rule, arrays, mask, origin, extents, whole)
        if valid is not None:
            positions = [np.where(valid, position, 0) for position in positions]
        if grid.flat:
            shape = tuple(map(sum, grid.chunks))
            # Of an empty array no position is valid; any coordinates serve.
            flat = positions[0]
            positions = [0 * flat] * len(shape) if 0 in shape or not shape else list(np.unravel_index(flat, shape))
        owner, local = _owners(grid, positions, origin, extents)
        return _grouped(owner, local, valid, extents)


def _owners(
    grid: Grid, positions: list[Array], origin: tuple[int, ...], extents: tuple[int, ...]
) -> tuple[Array, Array]:
    """The owner of each point, and its flat position in the chunk. Both broadcast to `extents`."""
    owner: Array = np.zeros((), np.int64)
    local: Array = np.zeros((), np.int64)
    for (kind, d), lengths in zip(grid.sources, grid.chunks, strict=True):
        if kind == "index":
            coordinate = positions[d]
        elif kind == "point":
            along = np.arange(origin[d], origin[d] + extents[d])
            coordinate = along.reshape((-1,) + (1,) * (len(extents) - d - 1))
        else:
            coordinate = np.zeros((), np.int64)
        if len(lengths) == 1:
            local = local * lengths[0] + coordinate
            continue
        ends = np.cumsum(lengths)
        if lengths[0] and all(n == lengths[0] for n in lengths[:-1]) and lengths[-1] <= lengths[0]:
            chunk = coordinate // lengths[0]
        else:
            chunk = np.minimum(np.searchsorted(ends, coordinate, side="right"), len(lengths) - 1)
        extent = np.asarray(lengths)[chunk]
        owner = owner * len(lengths) + chunk
        local = local * extent + (coordinate - (ends[chunk] - extent))
    return owner, local


def _grouped(owner: Array, local: Array, valid: Array | None, extents: tuple[int, ...]) -> dict[int, Part]:
    """Points by owner; of one owner in ascending order, because the sort is stable."""
    count = math.prod(extents)
    points = np.arange(count, dtype=smallest_type(count)) if valid is None else np.flatnonzero(valid)
    if not points.size:
        return {}
    local = _flattened(local, valid, extents)
    if owner.ndim == 0 or owner.min() == owner.max():
        first = int(owner.reshape(-1)[0])
        return {first: (_narrow(local), _narrow(points))}
    owner = _flattened(owner, valid, extents)
    low = int(owner.min())
    # NumPy sorts integers of 16 bits and fewer by their digits, in linear time.
    order = np.argsort(_narrow(owner - low), kind="stable")
    owner, local, points = owner[order], local[order], points[order]
    cuts = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), owner.size]
    return {
        int(owner[start]): (_narrow(local[start:stop]), _narrow(points[start:stop])) for start, stop in pairwise(cuts)
    }


def _flattened(array: Array, valid: Array | None, extents: tuple[int, ...]) -> Array:
    array = np.broadcast_to(array, extents)
    return array.reshape(-1) if valid is None else array[valid]


def _narrow(numbers: Array) -> Array:
    return numbers.astype(np.min_scalar_type(int(numbers.max())) if numbers.size else np.uint8, copy=False)


def part_of(owner: int, parts: dict[int, Part]) -> Part:
    """The part of one owner."""
    return parts.get(owner, NO_POINTS)


def parts_of(owners: list[int], parts: dict[int, Part]) -> dict[int, Part]:
    """The parts of some owners."""
    return {owner: parts[owner] for owner in owners if owner in parts}
