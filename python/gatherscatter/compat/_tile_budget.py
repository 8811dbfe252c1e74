"""_tile_budget.py: the memory that one tile of pypto's gather accesses, and the checks of its shapes and tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from gatherscatter._values.integers import integer
from gatherscatter.compat._strict import item_bytes
from gatherscatter.errors import axis_error

__all__ = ["BUDGET_BYTES", "TileBudget", "check_shapes", "tile_budget"]

Shape = Sequence[int]

BUDGET_BYTES = 196_608  # the unified buffer of the products that the document names
MAX_RANK = 8


class TileBudget(NamedTuple):
    """Numbers of elements and bytes that one tile of a gather accesses.

    Attributes
    ----------
    input_tile_elems : int
        Elements of the input that the tile may read: the tile's extents, but the whole extent of `dim`.
    index_tile_elems : int
        Elements of the index that the tile reads, and of the result that it writes.
    bytes : int
        Bytes of these elements of the input, the index and the result together.
    fits : bool
        Whether `bytes` is at most the budget.
    """

    input_tile_elems: int
    index_tile_elems: int
    bytes: int
    fits: bool


def tile_budget(
    input_shape: Shape,
    input_dtype: Any,
    index_shape: Shape,
    index_dtype: Any,
    dim: int,
    tile_shape: Shape,
    budget_bytes: int = BUDGET_BYTES,
) -> TileBudget:
    """Count the bytes that the largest tile of a `gather` accesses, and compare them with a budget.

    Parameters
    ----------
    input_shape, index_shape : sequence of int
    input_dtype, index_dtype : dtype
        Dtypes of any library; the result of the gather has `input_dtype`.
    dim : int
        The tile never cuts this axis of the input.
    tile_shape : sequence of int
        One extent for each axis, clipped to the tensors.
    budget_bytes : int, default 196608

    Returns
    -------
    TileBudget

    Raises
    ------
    TypeError, ValueError
        For shapes, `dim` or a tile that `gather` rejects.

    Examples
    --------
    >>> tile_budget((8, 16), "float32", (8, 16), "int64", 0, (4, 16))
    TileBudget(input_tile_elems=128, index_tile_elems=64, bytes=1280, fits=True)
    """
    check_shapes(input_shape, index_shape, dim)
    _check_tile(index_shape, tile_shape)
    whole = integer("tile_budget", "dim", dim) % len(input_shape)
    extents = [n if d == whole else min(n, tile_shape[d]) for d, n in enumerate(input_shape)]
    read, moved = math.prod(extents), math.prod(map(min, index_shape, tile_shape))
    touched = read * item_bytes(input_dtype) + moved * (item_bytes(index_dtype) + item_bytes(input_dtype))
    return TileBudget(read, moved, touched, touched <= integer("tile_budget", "budget_bytes", budget_bytes))


def check_shapes(shape: Shape, index_shape: Shape, dim: int) -> None:
    """Check two shapes and a dim by the rules of pypto's document."""
    rank = len(shape)
    if not 1 <= rank <= MAX_RANK or len(index_shape) != rank:
        raise ValueError(
            f"gather: input has rank {rank}, index {len(index_shape)}, expected equal ranks from 1 to {MAX_RANK}"
        )
    number = integer("gather", "dim", dim)
    if not -rank <= number < rank:
        raise axis_error("gather", number, rank)
    axis = number % rank
    shapes = f"input of shape {tuple(shape)} and index of shape {tuple(index_shape)}"
    if 0 in (*shape, *index_shape):
        raise ValueError(f"gather: {shapes}: empty tensors are not accepted")
    for d in range(rank):
        if d != axis and index_shape[d] > shape[d]:
            raise ValueError(f"gather: {shapes}: the index may be longer on dim {axis} only, not on axis {d}")


def _check_tile(index_shape: Shape, tile: Shape) -> None:
    if len(tile) != len(index_shape) or any(integer("gather", "an extent of the tile", n) < 1 for n in tile):
        raise ValueError(f"gather: tile {list(tile)}, expected {len(index_shape)} extents above 0, one for each axis")
