"""moves.py: the tasks that move values: pick and merge for gathers, select and apply for scatters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter._dask.chunks import check_chunk
from gatherscatter._dask.parts import Part, part_of
from gatherscatter._numpy.take import take
from gatherscatter._ops.nd import gather_nd
from gatherscatter._ops.scatter import scatter
from gatherscatter._settings.threads import thread_limit

__all__ = ["Block", "Writing", "apply", "merge", "pick", "pick_all", "pick_own", "select", "select_all"]

Array = np.ndarray[Any, Any]
Selected = tuple[Array, Array, "Array | None"]


@dataclass(frozen=True)
class Block:
    """The shape of the values of a block: slice axes before the points, the points, slice axes after them.

    Parameters
    ----------
    lead, extents, trail : tuple of int
    order : tuple of int
        Axis d of the block in the caller's order is axis ``order[d]`` of the three groups together.
    """

    lead: tuple[int, ...]
    extents: tuple[int, ...]
    trail: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.extents)

    @property
    def shape(self) -> tuple[int, ...]:
        """The caller's shape."""
        grouped = self.lead + self.extents + self.trail
        return tuple(grouped[d] for d in self.order)

    def in_order(self, rows: Array) -> Array:
        """Values with all points along one axis, in the caller's shape."""
        return np.asarray(rows.reshape(self.lead + self.extents + self.trail).transpose(self.order))

    def rows_of(self, values: Array) -> Array:
        """Values that broadcast to the block, with all points along one axis."""
        grouped = np.broadcast_to(values, self.shape).transpose(tuple(np.argsort(self.order, kind="stable")))
        return np.asarray(grouped.reshape((*self.lead, self.count, *self.trail)))


def pick(axes: tuple[int, ...], part: Part, chunk: Array) -> Array:
    """The items of one part: its points lie on one axis, at the place of the only indexed axis or else in front."""
    local = part[0]
    with thread_limit(1):
        if len(axes) == 1:
            return np.asarray(take(chunk, local, axis=axes[0]))
        indexed_first = np.moveaxis(chunk, axes, range(len(axes)))
        if len(axes) == chunk.ndim:
            return np.asarray(take(indexed_first, local))
        columns = np.unravel_index(local, indexed_first.shape[: len(axes)]) if axes else ()
        coordinates = np.stack(columns, axis=-1) if axes else np.empty((local.size, 0), np.intp)
        return np.asarray(gather_nd(indexed_first, coordinates))


def pick_all(op: str, axes: tuple[int, ...], numbers: list[int], parts: list[Part], chunk: Array) -> dict[int, Array]:
    """`pick` for several blocks of points, by their numbers."""
    check_chunk(op, "input", chunk)
    return {number: pick(axes, part, chunk) for number, part in zip(numbers, parts, strict=True)}


def pick_own(
    op: str, axes: tuple[int, ...], owner: int, numbers: list[int], parts: list[dict[int, Part]], chunk: Array
) -> dict[int, Array]:
    """`pick_all` for the parts of one owner, each among those of other chunks."""
    return pick_all(op, axes, numbers, [part_of(owner, each) for each in parts], chunk)


def merge(
    op: str,
    block: Block,
    dtype: np.dtype[Any],
    fill: Array | None,
    owners: list[int],
    parts: dict[int, Part],
    values: list[Array],
    padding: Array | None = None,
) -> Array:
    """The block of a result from the values of its parts; points in no part have the fill value or the padding."""
    if padding is not None:
        check_chunk(op, "padding_value", padding)
    with thread_limit(1):
        covered = sum(points.size for _, points in parts.values())
        if covered == block.count and len(parts) == 1:
            return block.in_order(values[owners.index(next(iter(parts)))])
        shape = (*block.lead, block.count, *block.trail)
        if covered == block.count:
            result = np.empty(shape, dtype)
        elif padding is not None:
            result = np.array(block.rows_of(padding), dtype, order="C")
        else:
            result = np.zeros(shape, dtype)
            if fill is not None:
                result[...] = fill
        for owner, taken in zip(owners, values, strict=True):
            points = part_of(owner, parts)[1]
            if points.size:
                scatter(result, points, taken, axis=len(block.lead), out=result)
        return block.in_order(result)


@dataclass(frozen=True)
class Writing:
    """How values are written: the options of `scatter`, and whether points must be sorted by their global number.

    Parameters
    ----------
    op : str
    role : str
        The argument that has the values.
    axes : tuple of int
        The indexed axes of the target.
    options : dict
        Keywords of `scatter`.
    shape : tuple of int
        All points.
    is_numbered : bool
        Whether parts bring the global numbers of their points, by which they are sorted: blocks that are cut along
        several axes do not follow each other in C order.
    """

    op: str
    role: str
    axes: tuple[int, ...]
    options: dict[str, Any]
    shape: tuple[int, ...]
    is_numbered: bool


def select_all(
    writing: Writing, block: Block, origin: tuple[int, ...], parts: dict[int, Part], source: Array
) -> dict[int, Selected]:
    """`select` for all parts of a block, by owner."""
    check_chunk(writing.op, writing.role, source)
    return {owner: select(writing, block, origin, part, source) for owner, part in parts.items()}


def select(writing: Writing, block: Block, origin: tuple[int, ...], part: Part, source: Array) -> Selected:
    """What one part writes: positions in the chunk, values (of rank 0 where all are equal), numbers of its points."""
    local, points = part
    numbers = None
    with thread_limit(1):
        if writing.is_numbered:
            within = np.unravel_index(points.astype(np.intp), block.extents) if block.extents else ()
            along = tuple(start + at for start, at in zip(origin, within, strict=True))
            numbers = np.ravel_multi_index(along, writing.shape) if along else points.astype(np.intp)
        if source.ndim == 0:
            return local, source, numbers
        rows = block.rows_of(source)
        if points.size < block.count:
            rows = np.asarray(take(rows, points, axis=len(block.lead)))
        return local, rows, numbers


def apply(writing: Writing, chunk: Array, given: list[Selected | None]) -> Array:
    """A chunk of the target with the selected values written, in the order of the points."""
    check_chunk(writing.op, "input", chunk)
    selected = [each for each in given if each is not None and each[0].size]
    if not selected or not chunk.nbytes:
        return chunk
    axes = writing.axes
    axis = axes[0] if len(axes) == 1 else 0
    with thread_limit(1):
        local = np.concatenate([each[0] for each in selected])
        values = selected[0][1]
        if values.ndim:
            values = (
                values
                if len(selected) == 1
                else np.concatenate([each[1] for each in selected], axis=axis, dtype=chunk.dtype)
            )
        if writing.is_numbered:
            numbers = np.concatenate([each[2] for each in selected if each[2] is not None])
            if writing.options.get("duplicates") == "error":
                _check_duplicates(writing, local, numbers)
            order = np.argsort(numbers, kind="stable")
            local = local[order]
            values = np.asarray(take(values, order, axis=axis)) if values.ndim else values
        if len(axes) == 1:
            return np.asarray(scatter(chunk, local, values, axis=axis, **writing.options))
        count = len(axes)
        moved = np.ascontiguousarray(np.moveaxis(chunk, axes, range(count)))
        flat = (math.prod(moved.shape[:count]), *moved.shape[count:])
        rows = scatter(moved.reshape(flat), local, values, axis=0, **writing.options)
        return np.moveaxis(np.asarray(rows).reshape(moved.shape), range(count), axes)


def _check_duplicates(writing: Writing, local: Array, numbers: Array) -> None:
    """Raise the error of ``duplicates="error"``, which names two positions among all points."""
    order = np.lexsort((numbers, local))
    same = np.flatnonzero(local[order][1:] == local[order][:-1])
    if same.size:
        at = same[np.argmin(numbers[order[same + 1]])]
        first, second = (tuple(map(int, np.unravel_index(int(numbers[order[i]]), writing.shape))) for i in (at, at + 1))
        raise ValueError(
            f"{writing.op}: duplicate indices: positions {second} and {first} write to the same element, which "
            "duplicates='error' forbids"
        )
