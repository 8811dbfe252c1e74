"""batching.py: vmap: the batch axis becomes one more axis of the move, so that no loop runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gatherscatter._moves.geometry import (
    Combine,
    Move,
    Shape,
    axis_in,
    check_gather,
    check_scatter,
    gather_shape,
    index_shape,
    numel,
    without_dimensions,
)

__all__ = ["batched_accumulate", "batched_gather", "batched_scatter"]

Run = Callable[..., Any]
Dim = int | None


def batched_gather(
    arrays: Any,
    run: Run,
    size: int,
    move: Move,
    input: Any,
    indices: Sequence[Any],
    mask: Any,
    fill: Any,
    dims: tuple[Any, ...],
) -> tuple[Any, int]:
    """Run a gather whose tensors have a batch axis at `dims` (input, indices, mask, fill), or None. Returns its own."""
    at_input, at_indices, at_mask, at_fill = dims
    shape, shapes = _own(input, at_input), [_own(index, at) for index, at in zip(indices, at_indices, strict=True)]
    members = [_member(arrays, index, at) for index, at in zip(indices, at_indices, strict=True)]
    check_gather(
        move, _member(arrays, input, at_input), members, _member(arrays, mask, at_mask), _member(arrays, fill, at_fill)
    )
    if without_dimensions(move, shape):
        flat = [array[..., None] for array in (input, indices[0])]
        result, at = batched_gather(arrays, run, size, move._replace(axis=0), flat[0], flat[1:], mask, fill, dims)
        return arrays.to_front(result, at).squeeze(-1), 0
    rank = len(index_shape(move, shape, shapes))
    mask, fill = _front(arrays, mask, at_mask, rank), _front(arrays, fill, at_fill, rank)
    has_batch = any(at is not None for at in (*at_indices, at_mask, at_fill))
    if move.planner == "take_axis" and move.batch_dims == 0 and not (has_batch and at_input is not None):
        # Only one side has the batch axis, so that it is an axis of slices or one more axis of the index.
        if not has_batch:
            input, move = _with_axis(move, _lead(arrays, input, at_input, size))
            return run(move, input, indices, mask, fill), 0
        at = 0 if move.axis is None else axis_in(move, len(shape))
        return run(move, input, [_lead(arrays, indices[0], at_indices[0], size)], mask, fill), at
    place = (arrays, move, input, at_input, indices, at_indices, rank, size)
    input, move, indices = _shared(*place) or _led(*place)
    return run(move, input, indices, mask, fill), 0


def batched_scatter(
    arrays: Any,
    run: Run,
    size: int,
    move: Move,
    combine: Combine,
    input: Any,
    indices: Sequence[Any],
    source: Any,
    mask: Any,
    dims: tuple[Any, ...],
) -> tuple[Any, int]:
    """Run a scatter whose tensors have a batch axis at `dims` (input, indices, source, mask), or None."""
    at_input, at_indices, at_source, at_mask = dims
    shape, shapes = _own(input, at_input), [_own(index, at) for index, at in zip(indices, at_indices, strict=True)]
    members = [_member(arrays, index, at) for index, at in zip(indices, at_indices, strict=True)]
    own_source, own_mask = _member(arrays, source, at_source), _member(arrays, mask, at_mask)
    check_scatter(move, combine, _member(arrays, input, at_input), members, own_source, own_mask)
    if without_dimensions(move, shape):
        input, indices = input[..., None], [indices[0][..., None]]
        result, _ = batched_scatter(
            arrays, run, size, move._replace(axis=0), combine, input, indices, source[..., None], mask, dims
        )
        return result.squeeze(-1), 0
    points = len(gather_shape(move, shape, shapes))
    if at_source is None and source.ndim == points and points:
        source = arrays.repeat(source, (size, *source.shape))
    else:
        source = _front(arrays, source, at_source, points)
    move, input, indices, mask = _target(
        arrays, size, move, input, at_input, indices, at_indices, mask, at_mask, len(index_shape(move, shape, shapes))
    )
    return run(move, combine, input, indices, source, mask).reshape(size, *shape), 0


def batched_accumulate(
    arrays: Any,
    run: Run,
    size: int,
    move: Move,
    values: Any,
    indices: Sequence[Any],
    mask: Any,
    shape: Shape,
    dims: tuple[Any, ...],
) -> tuple[Any, int]:
    """Run an accumulation whose tensors have a batch axis at `dims` (values, indices, mask), or None."""
    at_values, at_indices, at_mask = dims
    values = _lead(arrays, values, at_values, size)
    if without_dimensions(move, shape):
        move, values, indices, shape = move._replace(axis=0), values[..., None], [indices[0][..., None]], (1,)
        result, _ = batched_accumulate(arrays, run, size, move, values, indices, mask, shape, (0, at_indices, at_mask))
        return result.squeeze(-1), 0
    shapes = [_own(index, at) for index, at in zip(indices, at_indices, strict=True)]
    target = arrays.repeat(arrays.zeros((), values), shape)  # without memory: only its shape is read
    move, target, indices, mask = _target(
        arrays, size, move, target, None, indices, at_indices, mask, at_mask, len(index_shape(move, shape, shapes))
    )
    return run(move, values, indices, mask, tuple(target.shape)).reshape(size, *shape), 0


def _target(
    arrays: Any,
    size: int,
    move: Move,
    input: Any,
    at_input: Dim,
    indices: Sequence[Any],
    at_indices: Sequence[Dim],
    mask: Any,
    at_mask: Dim,
    rank: int,
) -> tuple[Move, Any, Sequence[Any], Any]:
    """The move whose target has the batch axis first, and its tensors."""
    mask = _front(arrays, mask, at_mask, rank)
    if (
        move.planner == "take_axis"
        and move.batch_dims == 0
        and at_mask is None
        and all(at is None for at in at_indices)
    ):
        input, move = _with_axis(move, _lead(arrays, input, at_input, size))
        return move, input, indices, mask
    input, move, indices = _led(arrays, move, input, at_input, indices, at_indices, rank, size)
    return move, input, indices, mask


def _led(
    arrays: Any,
    move: Move,
    input: Any,
    at_input: Dim,
    indices: Sequence[Any],
    at_indices: Sequence[Dim],
    rank: int,
    size: int,
) -> tuple[Any, Move, Sequence[Any]]:
    """Input and indices with the batch axis first, as one more batch axis of the move."""
    input = _lead(arrays, input, at_input, size)
    if move.planner == "at_points":
        if not indices:  # no axis is indexed, which only an array of coordinates can say of a batch
            points = arrays.no_points(size, input)
            return input, move._replace(planner="coordinates", batch_dims=1), [points]
        led = _points_led(arrays, move, indices, at_indices, rank, size)
        return input, move._replace(batch_dims=move.batch_dims + 1), led
    led = [_lead(arrays, index, at, size) for index, at in zip(indices, at_indices, strict=True)]
    input, moved = _with_axis(move, input)
    return input, moved._replace(batch_dims=0 if move.planner == "along_axis" else move.batch_dims + 1), led


def _shared(
    arrays: Any,
    move: Move,
    input: Any,
    at_input: Dim,
    indices: Sequence[Any],
    at_indices: Sequence[Dim],
    rank: int,
    size: int,
) -> tuple[Any, Move, Sequence[Any]] | None:
    """Input, move and indices of a gather whose members share an input or an index, which is not repeated for them.

    None if no members share one, or if each needs its own.
    """
    if move.planner in ("at_points", "coordinates"):
        if at_input is not None or move.batch_dims != 0 or not indices:
            return None
        return input, move, _points_led(arrays, move, indices, at_indices, rank, size)
    own = _own(input, at_input), _own(indices[0], at_indices[0])
    if move.planner != "along_axis" or None not in (at_input, *at_indices) or not _may_stretch(move, *own):
        return None
    shares_index = at_indices[0] is None and at_input is not None
    index = indices[0][None] if shares_index else _lead(arrays, indices[0], at_indices[0], size)
    input, move = _with_axis(move, input[None] if at_input is None else arrays.to_front(input, at_input))
    return input, move._replace(match="broadcast"), [index]


def _may_stretch(move: Move, input: Shape, index: Shape) -> bool:
    """Whether a batch axis of one element may be stretched along that of the index."""
    if move.match == "broadcast" or move.axis is None:
        return True
    at = axis_in(move, len(input))
    return input[:at] == index[:at] and input[at + 1 :] == index[at + 1 :]


def _points_led(
    arrays: Any, move: Move, indices: Sequence[Any], at_indices: Sequence[Dim], rank: int, size: int
) -> list[Any]:
    """The index arrays of points with the batch axis first."""
    if move.planner == "coordinates":
        return [_lead(arrays, indices[0], at_indices[0], size)]
    aligned = [_front(arrays, index, at, rank) for index, at in zip(indices, at_indices, strict=True)]
    if at_indices[0] is None:  # one index must have the batch axis
        first = indices[0]
        aligned[0] = arrays.repeat(first, (size, *(1,) * (rank - first.ndim), *first.shape))
    return aligned


def _with_axis(move: Move, input: Any) -> tuple[Any, Move]:
    """The input, whose first axis is the batch axis, and the move along the same axis of the others."""
    if move.planner == "coordinates":
        return input, move
    if move.axis is None:
        return input.reshape(input.shape[0], numel(input.shape[1:])), move._replace(axis=1)
    return input, move._replace(axis=axis_in(move, input.ndim - 1) + 1)


def _own(tensor: Any, at: Dim) -> Shape:
    """The shape of one member of the batch."""
    shape = tuple(tensor.shape)
    return shape if at is None else shape[:at] + shape[at + 1 :]


def _member(arrays: Any, tensor: Any, at: Dim) -> Any:
    """One member of the batch as an array, to check a call by."""
    return None if tensor is None else arrays.like(tensor, _own(tensor, at))


def _lead(arrays: Any, tensor: Any, at: Dim, size: int) -> Any:
    """The tensor with the batch axis first; one that has none is repeated, by torch without a copy."""
    return arrays.repeat(tensor, (size, *tensor.shape)) if at is None else arrays.to_front(tensor, at)


def _front(arrays: Any, tensor: Any, at: Dim, rank: int) -> Any:
    """The tensor with the batch axis in front of `rank` axes, to whose last ones its own are aligned."""
    if tensor is None or at is None:
        return tensor
    tensor = arrays.to_front(tensor, at)
    return tensor.reshape(tensor.shape[0], *(1,) * (rank + 1 - tensor.ndim), *tensor.shape[1:])
