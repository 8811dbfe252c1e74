"""operands.py: index, mask and value arrays cut into the blocks of the points that they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from gatherscatter._dask.chunks import rechunked
from gatherscatter._dask.graph import Chunks, Graph, Place, is_dask_array, places

__all__ = ["Operand", "chunks_of_points", "cuts_of", "joined_chunks", "own_copy"]


class Operand:
    """An array that broadcasts one way to axes with the given chunks, as Dask blocks or slices of a NumPy array.

    Parameters
    ----------
    graph : Graph
        Of which a Dask array becomes a source.
    role : str
        The argument, for errors.
    array : array
    chunks : tuple of tuple of int
        Those of the axes, of which the last belong to the array.
    extra : int, default 0
        How many further axes the array has at its end; they become one chunk.
    is_kept : bool, default True
        Whether the graph keeps blocks of an array in memory, so that they must be copies.
    """

    def __init__(
        self, graph: Graph, role: str, array: Any, chunks: Chunks, extra: int = 0, is_kept: bool = True
    ) -> None:
        own = array.ndim - extra
        self.lead = len(chunks) - own
        self.is_whole = [n == sum(chunks[self.lead + d]) and n != 1 for d, n in enumerate(array.shape[:own])]
        self.is_lazy = is_dask_array(array)
        self.array = own_copy(array) if is_kept and not self.is_lazy else array
        if self.is_lazy:
            wanted = tuple(
                chunks[self.lead + d] if whole else (array.shape[d],) for d, whole in enumerate(self.is_whole)
            )
            wanted += tuple((n,) for n in array.shape[own:])
            self.keys = graph.keys_of(rechunked(graph.op, role, array, wanted))
            self.extra = extra
        else:
            self.ends = [list(accumulate(lengths, initial=0)) for lengths in chunks[self.lead :]]

    def at(self, place: Place) -> Any:
        """The block of the points at a place: its key, or for an array in memory the slice."""
        own = place[self.lead :]
        if self.is_lazy:
            return self.keys[
                tuple(i if whole else 0 for i, whole in zip(own, self.is_whole, strict=True)) + (0,) * self.extra
            ]
        return self.array[
            tuple(
                slice(ends[i], ends[i + 1]) if whole else slice(None)
                for i, whole, ends in zip(own, self.is_whole, self.ends, strict=True)
            )
        ]


def own_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy for the graph, which later writes to the caller's array do not change; repeated axes stay repeated."""
    first = (..., *(slice(None) if stride else slice(1) for stride in array.strides))  # the ellipsis is for rank 0
    return np.broadcast_to(array[first].copy(), array.shape)


def chunks_of_points(
    shape: tuple[int, ...], lazy: list[tuple[Any, int]], aligned: dict[int, tuple[int, ...]], most: int
) -> Chunks:
    """The chunks of the points of a call.

    Parameters
    ----------
    shape : tuple of int
        The points.
    lazy : list of (array, int)
        Dask arrays that broadcast to the points, and how many further axes each has. The first that has an axis at
        full length gives its chunks.
    aligned : dict
        Chunks of the data along axes of the points that are also axes of the data.
    most : int
        About how many points a block has where neither gives its chunks.
    """
    chunks: list[tuple[int, ...] | None] = []
    for d, n in enumerate(shape):
        found: tuple[int, ...] | None = None
        for array, extra in lazy:
            own = d - (len(shape) - (array.ndim - extra))
            if own >= 0 and array.shape[own] == n and (n != 1 or found is None) and found is None:
                found = array.chunks[own]
        if found is None and d in aligned:
            found = _first_items(aligned[d], n)
        chunks.append(found)
    room = most
    for lengths in chunks:
        room = room // max(1, max(lengths, default=1)) if lengths is not None else room
    for d in reversed(range(len(shape))):
        if chunks[d] is None:
            step = max(1, min(shape[d], room))
            chunks[d] = _uniform(shape[d], step)
            room //= step
    return tuple(lengths for lengths in chunks if lengths is not None)


def joined_chunks(chunks: Chunks, fixed: set[int], most: int) -> Chunks:
    """Neighbouring chunks joined, first along the last axis, into blocks of up to `most` points; not along axes that
    are `fixed`, where each block would then meet more chunks of the data."""
    found = list(chunks)
    for d in reversed(range(len(chunks))):
        if d in fixed:
            continue
        room = most // max(1, math.prod(max(lengths) for at, lengths in enumerate(found) if at != d))
        joined: list[int] = []
        for n in chunks[d]:
            if joined and joined[-1] + n <= room:
                joined[-1] += n
            else:
                joined.append(n)
        if 2 * len(joined) <= len(chunks[d]):  # else cutting the result again costs more tasks than it saves
            found[d] = tuple(joined)
    return tuple(found)


def cuts_of(chunks: Chunks, joined: Chunks) -> Iterator[tuple[Place, Place, tuple[slice, ...]]]:
    """For each chunk its place, the place of the joined chunk that has it, and where it lies there."""
    along = []
    for lengths, wider in zip(chunks, joined, strict=True):
        ends = list(accumulate(wider))
        found, start, at = [], 0, 0
        for n in lengths:
            while start + n > ends[at]:
                at += 1
            first = ends[at] - wider[at]
            found.append((at, slice(start - first, start - first + n)))
            start += n
        along.append(found)
    for place in places(chunks):
        at_axes = [found[i] for found, i in zip(along, place, strict=True)]
        yield place, tuple(at for at, _ in at_axes), tuple(cut for _, cut in at_axes)


def _uniform(n: int, step: int) -> tuple[int, ...]:
    return (*[step] * (n // step), *[n % step] * (n % step > 0)) or (0,)


def _first_items(lengths: tuple[int, ...], n: int) -> tuple[int, ...]:
    """The chunks of the first n items."""
    found, left = [], n
    for length in lengths:
        if left <= 0:
            break
        found.append(min(length, left))
        left -= length
    return tuple(found) or (0,)
