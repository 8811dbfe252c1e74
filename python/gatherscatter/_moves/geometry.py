"""geometry.py: what a gather or scatter is apart from its arrays: planner, rule, shapes, and the call of `_core`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from gatherscatter import _core

__all__ = [
    "ADD",
    "FLAT",
    "SET",
    "UNKNOWN",
    "Combine",
    "Move",
    "axis_in",
    "check_gather",
    "check_scatter",
    "gather_call",
    "gather_shape",
    "index_axes",
    "index_shape",
    "numel",
    "scatter_call",
    "slots_of",
    "without_dimensions",
]

Shape = tuple[Any, ...]  # ints, or the symbols of a graph with dynamic shapes


class Move(NamedTuple):
    """The geometry and the rule of a move, which are those of a request of `_core`."""

    op: str
    planner: str  # take_axis, along_axis, at_points, or coordinates (at_points with one index array)
    axis: int | None
    batch_dims: int
    match: str
    bounds: str  # the words of a gather: what a scatter drops, a gather fills
    negative: str


class Combine(NamedTuple):
    """How a scatter combines values; without `reduce` it writes them."""

    reduce: str | None
    include_self: bool
    duplicates: str


ADD = Combine("add", True, "last")
SET = Combine(None, True, "last")
FLAT = Move("scatter", "take_axis", None, 0, "prefix", "raise", "from_end")


def gather_call(move: Move, input: Any, indices: Sequence[Any], mask: Any, fill: Any) -> Any:
    """The call of `_core` that is a gather of these arrays."""
    op, planner, axis, batch_dims, match, bounds, negative = move
    rule: Any = (bounds, negative, fill, mask, None)
    if planner == "take_axis":
        return _core.take_axis(op, input, indices[0], axis, batch_dims, *rule)
    if planner == "along_axis":
        return _core.along_axis(op, input, indices[0], axis, match, *rule)
    points = indices[0] if planner == "coordinates" else tuple(indices)
    return _core.at_points(op, input, points, batch_dims, *rule)


def scatter_call(move: Move, combine: Combine, input: Any, indices: Sequence[Any], source: Any, mask: Any) -> Any:
    """The call of `_core` that is a scatter of these arrays."""
    op, planner, axis, batch_dims, match, bounds, negative = move
    rule: Any = (source, "drop" if bounds == "fill" else bounds, negative, *combine, mask, None)
    if planner == "take_axis":
        return _core.scatter_axis(op, input, indices[0], axis, batch_dims, *rule)
    if planner == "along_axis":
        return _core.scatter_along(op, input, indices[0], axis, match, *rule)
    points = indices[0] if planner == "coordinates" else tuple(indices)
    return _core.scatter_points(op, input, points, batch_dims, *rule)


def check_gather(move: Move, input: Any, indices: Sequence[Any], mask: Any, fill: Any) -> None:
    """Raise the error of a gather of arrays of these shapes and dtypes, unless a graph has yet to decide a shape."""
    if _are_known(input, *indices, mask, fill):
        gather_call(move, input, indices, mask, fill).plan()


def check_scatter(move: Move, combine: Combine, input: Any, indices: Sequence[Any], source: Any, mask: Any) -> None:
    """The same for a scatter."""
    if _are_known(input, *indices, source, mask):
        scatter_call(move, combine, input, indices, source, mask).plan()


UNKNOWN = object()  # an array whose shape or dtype cannot be checked


def _are_known(*arrays: Any) -> bool:
    return not any(array is UNKNOWN for array in arrays)


def without_dimensions(move: Move, shape: Shape) -> bool:
    """Whether the move is one along an axis of a scalar, which counts as an array of one element."""
    return move.planner == "along_axis" and move.axis is not None and not shape


def axis_in(move: Move, rank: int) -> int:
    """The axis of a move that has one, counted from the front."""
    axis = 0 if move.axis is None else move.axis
    return axis + rank if axis < 0 else axis


def index_shape(move: Move, input: Shape, indices: Sequence[Shape]) -> Shape:
    """The shape of the points without the axes of their slices: that of the index, broadcast."""
    if move.planner == "coordinates":
        return indices[0][:-1]
    if move.planner == "at_points":
        return _broadcast(indices)
    if move.match == "prefix" or move.axis is None or move.planner == "take_axis":
        return indices[0]
    axis = axis_in(move, len(input))
    pairs = enumerate(zip(input, indices[0], strict=True))
    return tuple(own if d == axis or own != 1 else extent for d, (extent, own) in pairs)


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape to which shapes broadcast that were checked, or that have symbols for numbers."""
    extents = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for axis in range(1, len(shape) + 1):
            if shape[-axis] != 1:
                extents[-axis] = shape[-axis]
    return tuple(extents)


def gather_shape(move: Move, input: Shape, indices: Sequence[Shape]) -> Shape:
    """The shape of the result of a gather, and of the values of a scatter."""
    points = index_shape(move, input, indices)
    if move.planner == "along_axis" or (move.planner == "take_axis" and move.axis is None):
        return points
    if move.planner == "take_axis":
        axis = axis_in(move, len(input))
        return (*input[:axis], *points[move.batch_dims :], *input[axis + 1 :])
    return (*points, *input[move.batch_dims + _coordinates(move, indices) :])


def index_axes(move: Move, rank: int, points: int) -> list[int]:
    """The axes of the result that are those of an index of rank `points`."""
    if move.planner != "take_axis" or move.axis is None:
        return list(range(points))
    axis, batch = axis_in(move, rank), move.batch_dims
    return [d if d < batch else d - batch + axis for d in range(points)]


def slots_of(move: Move, shape: Shape, indices: Sequence[Shape]) -> tuple[Move, Shape, Shape]:
    """A move of single elements with the indices of a move of slices.

    Its target has one element for each slice that an index may name. Returned with the shape of that target, and the
    shape in which it broadcasts to `shape`.
    """
    if move.planner == "along_axis" or (move.planner == "take_axis" and move.axis is None):
        return move, shape, shape
    if move.planner == "take_axis":
        axis, batch = axis_in(move, len(shape)), move.batch_dims
        slots = (*shape[:batch], shape[axis])
        view = (*shape[:batch], *(1,) * (axis - batch), shape[axis], *(1,) * (len(shape) - axis - 1))
        return move._replace(axis=batch), slots, view
    count = move.batch_dims + _coordinates(move, indices)
    return move, shape[:count], (*shape[:count], *(1,) * (len(shape) - count))


def _coordinates(move: Move, indices: Sequence[Shape]) -> int:
    return int(indices[0][-1]) if move.planner == "coordinates" else len(indices)


def numel(shape: Shape) -> Any:
    """The number of elements of a shape."""
    return math.prod(shape)
