"""points.py: what a call means in points: the indexed axes of the data, the axes of the result, and their blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product
from typing import Any, Literal

import numpy as np

from gatherscatter._dask.chunks import check_chunk
from gatherscatter._dask.graph import Chunks, Graph, Place, array_module, check_chunks, is_dask_array
from gatherscatter._dask.moves import Block
from gatherscatter._dask.operands import Operand, chunks_of_points, joined_chunks
from gatherscatter._dask.parts import Grid, Part, Source, split
from gatherscatter._dask.resolve import Rule, resolve

__all__ = ["PointBlock", "Points", "as_data", "points_along", "points_at", "points_of_slices"]

# An axis of the result: axis d of the points, or axis a of the data, along which whole slices move.
Entry = tuple[Literal["point", "slice"], int]
_PICK_BYTES = 4 << 20  # what a task should move, so that it takes longer than the scheduler needs for it
_SPLIT_POINTS = 1 << 20  # what one task may divide of a Dask index whose chunks are joined: a tenth of a second
_PART_BYTES = 64  # of values for each point and chunk whose positions a task is handed: they take 2 to 12 bytes


@dataclass(frozen=True)
class Points:
    """The points of a call.

    Parameters
    ----------
    rule : Rule
    axes : tuple of int
        The indexed axes of the data.
    sources : tuple of Source
        One for each of `axes`.
    layout : tuple of Entry
        The axes of the result.
    indices : tuple of arrays
        The index arrays, Dask or NumPy, which broadcast to the points.
    flat, packed : bool
        As in `Grid`.
    """

    rule: Rule
    axes: tuple[int, ...]
    sources: tuple[Source, ...]
    layout: tuple[Entry, ...]
    indices: tuple[Any, ...]
    flat: bool = False
    packed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rule.shape

    @property
    def aligned(self) -> dict[int, int]:
        """Axes of the points that are axes of the data: their place among `axes`."""
        return {d: at for at, (kind, d) in enumerate(self.sources) if kind == "point"}


@dataclass(frozen=True)
class PointBlock:
    """One block of points: where it is, and the parts of the data that it meets."""

    place: Place
    origin: tuple[int, ...]
    extents: tuple[int, ...]
    owners: list[int]
    parts: dict[int, Part] | None  # None: a task computes them
    key: Any  # of that task


@dataclass
class Blocks:
    """The blocks of the points and of the data of one call, in its graph."""

    graph: Graph
    points: Points
    data: Any
    mask: Any
    hints: dict[int, tuple[int, ...]] = field(default_factory=dict)  # chunks of the values along axes of the points

    def __post_init__(self) -> None:
        points = self.points
        self.grid = Grid(
            points.rule, points.sources, tuple(self.data.chunks[a] for a in points.axes), points.flat, points.packed
        )
        self.slices = [a for a in range(self.data.ndim) if a not in points.axes]
        self.data_keys = self.graph.keys_of(self.data)
        extra = int(points.packed)
        lazy = [(index, extra) for index in points.indices if is_dask_array(index)]
        if is_dask_array(self.mask):
            lazy.append((self.mask, 0))
        aligned = {d: self.grid.chunks[at] for d, at in points.aligned.items()}
        most = self._most_points()
        self.own_chunks = self.chunks = chunks_of_points(points.shape, lazy, {**aligned, **self.hints}, most)
        if lazy:
            room = max(1, _chunk_bytes() // 2 // max(1, self._item_bytes()))
            self.chunks = joined_chunks(self.chunks, set(aligned), min(most, room, _SPLIT_POINTS))
        self.operands = [
            Operand(self.graph, "index", index, self.chunks, extra, is_kept=bool(lazy)) for index in points.indices
        ]
        self.masks = (
            None if self.mask is None else Operand(self.graph, "mask", self.mask, self.chunks, is_kept=bool(lazy))
        )
        self.is_concrete = not lazy

    def _most_points(self) -> int:
        """Points of a block of an index in memory: its result is about as large as a chunk of the data.

        Where it meets many chunks, it grows until it takes enough from each, up to Dask's own size of chunks.
        """
        most = max(1, math.prod(max(lengths) for lengths in self.grid.chunks))
        item = self._item_bytes()
        owners = math.prod(self.grid.counts)
        while most * item < min(owners * _PICK_BYTES, _chunk_bytes() // 2) and most < math.prod(self.points.shape):
            most *= 2
        return most

    def _item_bytes(self) -> int:
        """The bytes that move at one point, of the largest block of slices."""
        return int(math.prod(max(self.data.chunks[a]) for a in self.slices) * self.data.dtype.itemsize)

    def group_size(self) -> int:
        """For how many chunks of the data a task hands on the parts of a block: more of them are fewer tasks, but more
        positions that a worker gets and does not need."""
        return max(1, self._item_bytes() // _PART_BYTES)

    @cached_property
    def lead(self) -> list[int]:
        """Axes of slices that stay in front of the points, where one axis is indexed."""
        axes = self.points.axes
        return [a for a in self.slices if a < axes[0]] if len(axes) == 1 else []

    @cached_property
    def result_chunks(self) -> Chunks:
        return tuple(self.chunks[n] if kind == "point" else self.data.chunks[n] for kind, n in self.points.layout)

    @cached_property
    def own_result_chunks(self) -> Chunks:
        """The chunks of the result before those of the points were joined."""
        return tuple(self.own_chunks[n] if kind == "point" else self.data.chunks[n] for kind, n in self.points.layout)

    def result_place(self, place: Place, slices: Place) -> Place:
        """The place in the result of a block of points and a block of slices."""
        at = dict(zip(self.slices, slices, strict=True))
        return tuple(place[n] if kind == "point" else at[n] for kind, n in self.points.layout)

    def data_place(self, owner: int, slices: Place) -> Place:
        at = dict(zip(self.slices, slices, strict=True))
        counts = self.grid.counts
        at.update(zip(self.points.axes, map(int, np.unravel_index(owner, counts)) if counts else (), strict=True))
        return tuple(at[a] for a in range(self.data.ndim))

    def slice_places(self) -> list[Place]:
        return list(product(*(range(len(self.data.chunks[a])) for a in self.slices)))

    def block(self, extents: tuple[int, ...], slices: Place) -> Block:
        sizes = {a: self.data.chunks[a][i] for a, i in zip(self.slices, slices, strict=True)}
        trail = [a for a in self.slices if a not in self.lead]
        grouped: list[Entry] = [("slice", a) for a in self.lead]
        grouped += [("point", d) for d in range(len(extents))]
        grouped += [("slice", a) for a in trail]
        order = tuple(grouped.index(entry) for entry in self.points.layout)
        return Block(tuple(sizes[a] for a in self.lead), extents, tuple(sizes[a] for a in trail), order)

    def each(self) -> list[PointBlock]:
        """All blocks of points. The parts of an index in memory are known, so only chunks that meet are listed."""
        starts = [list(accumulate(lengths, initial=0)) for lengths in self.chunks]
        found = []
        all_places = list(product(*(range(len(lengths)) for lengths in self.chunks)))
        is_whole = len(all_places) == 1
        if self.is_concrete and not is_whole:
            self._check_all()
        for place in all_places:
            origin = tuple(ends[i] for ends, i in zip(starts, place, strict=True))
            extents = tuple(lengths[i] for lengths, i in zip(self.chunks, place, strict=True))
            mask = None if self.masks is None else self.masks.at(place)
            arguments = (mask, *(operand.at(place) for operand in self.operands))
            if self.is_concrete:
                parts = split(self.grid, origin, extents, is_whole, *arguments)
                found.append(PointBlock(place, origin, extents, sorted(parts), parts, None))
                continue
            key = (self.graph.name_of("split"), *place)
            self.graph.tasks[key] = (_Split(self.grid, origin, extents, is_whole), *arguments)
            stops = tuple(a + n for a, n in zip(origin, extents, strict=True))
            owners = self.grid.reached(origin, stops) if 0 not in extents else []
            found.append(PointBlock(place, origin, extents, owners, None, key))
        return found

    def _check_all(self) -> None:
        """Raise the error for the first of all bad indices, with their number."""
        indices = self.points.indices
        arrays = [*np.moveaxis(indices[0], -1, 0)] if self.points.packed else list(indices)
        shape = self.points.shape
        resolve(self.points.rule, arrays, self.mask, (0,) * len(shape), shape, True)


@dataclass(frozen=True)
class _Split:
    """The task `split` of one block."""

    grid: Grid
    origin: tuple[int, ...]
    extents: tuple[int, ...]
    whole: bool

    def __call__(self, mask: Any, *indices: Any) -> dict[int, Part]:
        op = self.grid.rule.op
        for role, chunks in (("mask", () if mask is None else (mask,)), ("index", indices)):
            for chunk in chunks:
                check_chunk(op, role, chunk)
        return split(self.grid, self.origin, self.extents, self.whole, mask, *indices)


def _chunk_bytes() -> int:
    import dask
    from dask.utils import parse_bytes

    return int(parse_bytes(dask.config.get("array.chunk-size", "128MiB")))


def as_data(op: str, role: str, data: Any) -> Any:
    """The input as a Dask array with chunks of known size."""
    if not is_dask_array(data):
        return array_module().from_array(np.asarray(data), chunks="auto")
    check_chunks(op, role, data)
    return data


def points_along(
    op: str, data: Any, index: Any, axis: int | None, bounds: str, negative: str, broadcast: bool = False
) -> Points:
    """The points of an elementwise call along an axis; None flattens the data, and the index has one axis."""
    if axis is None or data.ndim == 0:
        return _points_in_flat(op, data, index, bounds, negative)
    axis %= data.ndim
    shape = tuple(index.shape)
    if broadcast:
        pairs = zip(data.shape, shape, strict=True)
        shape = tuple(m if d == axis or n == 1 else n for d, (n, m) in enumerate(pairs))
    sources: list[Source] = []
    for d, n in enumerate(data.shape):
        kind: Literal["index", "zero", "point"] = "index" if d == axis else "point"
        if broadcast and d != axis and n == 1:
            kind = "zero"
        sources.append((kind, 0 if d == axis else d))
    rule = Rule(op, bounds, negative, (axis,), (data.shape[axis],), shape)
    layout: tuple[Entry, ...] = tuple(("point", d) for d in range(len(shape)))
    return Points(rule, tuple(range(data.ndim)), tuple(sources), layout, (index,))


def _points_in_flat(op: str, data: Any, index: Any, bounds: str, negative: str) -> Points:
    rule = Rule(op, bounds, negative, (0,), (math.prod(data.shape),), tuple(index.shape))
    layout: tuple[Entry, ...] = tuple(("point", d) for d in range(index.ndim))
    axes = tuple(range(data.ndim))
    sources: tuple[Source, ...] = tuple(("index", a) for a in axes)  # the coordinates of the position
    return Points(rule, axes, sources, layout, (index,), flat=True)


def points_of_slices(
    op: str, data: Any, indices: Any, axis: int | None, batch_dims: int, bounds: str, negative: str
) -> Points:
    """The points of a call that moves slices along an axis; None flattens the data."""
    if axis is None or data.ndim == 0:
        return _points_in_flat(op, data, indices, bounds, negative)
    axis %= data.ndim
    shape = tuple(indices.shape)
    layout: list[Entry] = [("point", d) for d in range(batch_dims)]
    layout += [("slice", a) for a in range(batch_dims, axis)]
    layout += [("point", d) for d in range(batch_dims, len(shape))]
    layout += [("slice", a) for a in range(axis + 1, data.ndim)]
    sources: list[Source] = [*(("point", d) for d in range(batch_dims)), ("index", 0)]
    others = math.prod(data.shape[:axis] + data.shape[axis + 1 :])
    rule = Rule(op, bounds, negative, (axis,), (data.shape[axis],), shape, others)
    return Points(rule, (*range(batch_dims), axis), tuple(sources), tuple(layout), (indices,))


def points_at(op: str, data: Any, indices: Any, batch_dims: int, bounds: str, negative: str) -> Points:
    """The points of a call with coordinates, along the last axis of one array or in a tuple of arrays."""
    packed = not isinstance(indices, tuple)
    if packed:
        shape, count = tuple(indices.shape[:-1]), int(indices.shape[-1])
        arrays = (indices,)
    else:
        shape = np.broadcast_shapes(*(tuple(index.shape) for index in indices))
        count, arrays = len(indices), indices
    indexed = tuple(range(batch_dims, batch_dims + count))
    sources: list[Source] = [*(("point", d) for d in range(batch_dims)), *(("index", i) for i in range(count))]
    layout: list[Entry] = [("point", d) for d in range(len(shape))]
    layout += [("slice", a) for a in range(batch_dims + count, data.ndim)]
    rule = Rule(op, bounds, negative, indexed, tuple(data.shape[a] for a in indexed), shape)
    axes = (*range(batch_dims), *indexed)
    return Points(rule, axes, tuple(sources), tuple(layout), arrays, packed=packed)
