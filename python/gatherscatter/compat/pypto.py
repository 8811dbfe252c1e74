"""pypto.py: a strict version of ``pypto.gather``, which is computed tile by tile if a tile shape is set."""

from __future__ import annotations

from typing import Any, TypeVar

from gatherscatter import _core
from gatherscatter._ops.gather import gather as _gather
from gatherscatter._ops.operator import bind, operator
from gatherscatter.compat._strict import array_like, check_index_dtype
from gatherscatter.compat._tile_budget import BUDGET_BYTES, TileBudget, check_shapes, tile_budget
from gatherscatter.compat._tile_options import get_vec_tile_shapes, options, reset_options, set_vec_tile_shapes

__all__ = [
    "TileBudget",
    "gather",
    "get_vec_tile_shapes",
    "options",
    "reset_options",
    "set_vec_tile_shapes",
    "tile_budget",
]

Array = TypeVar("Array")


@operator()
def gather(input: Array, dim: int, index: Any) -> Array:
    """Take values of `input` along `dim` at the positions in `index`.

    ``output[i, j, k] = input[index[i, j, k], j, k]`` for dim = 0, and so on for every other dim. If a tile shape is set
    (`set_vec_tile_shapes`, `options`), the result is computed tile by tile, in row-major order; its bytes do not depend
    on the tile.

    Parameters
    ----------
    input : array of rank 1 to 8, not empty
        Of any dtype whose items are plain bytes.
    dim : int
        In [-rank, rank).
    index : array of int32 or int64, not empty
        Its rank is that of `input`, and it is no longer than `input` on every axis except `dim`. Values in [0, n),
        compared at full width.

    Returns
    -------
    array
        Of the shape of `index`, with the dtype and library of `input`.

    Raises
    ------
    TypeError
        `index` is neither int32 nor int64, `dim` is no integer, or an argument is no array.
    ValueError
        Ranks or shapes do not match, `dim` is out of range, a tensor is empty, the tile has another rank or an extent
        below 1, or it exceeds the budget of 196608 bytes.
    OutOfBoundsError
        A value of `index` lies outside [0, n), which every negative value does. It is an IndexError.

    Notes
    -----
    Semantics of ``pypto.gather``. The uniform call is ``gatherscatter.gather(input, dim, index)``.

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter.compat import pypto
    >>> x = np.arange(15, dtype=np.int32).reshape(3, 5)
    >>> index = np.array([[0, 1, 2, 0], [1, 2, 0, 1], [2, 2, 1, 0]], np.int32)
    >>> with pypto.options(vec_tile_shapes=[2, 3]):
    ...     y = pypto.gather(x, 0, index)
    >>> y
    array([[ 0,  6, 12,  3],
           [ 5, 11,  2,  8],
           [10, 11,  7,  3]], dtype=int32)
    """
    source, points = array_like("gather", "input", input), array_like("gather", "index", index)
    check_index_dtype("gather", "index", points)
    tile = get_vec_tile_shapes()
    if not tile:
        check_shapes(source.shape, points.shape, dim)
        call: Any = bind(_gather, input, dim, index, negative="out_of_bounds")
        return call  # type: ignore[no-any-return]  # the operator runs it
    budget = tile_budget(source.shape, source.dtype, points.shape, points.dtype, dim, tile)
    if not budget.fits:
        raise ValueError(f"gather: a tile {tile} touches {budget.bytes} bytes, over the budget of {BUDGET_BYTES} bytes")
    call = _core.gather_tiled("gather", input, index, dim, tuple(map(min, points.shape, tile)))
    return call  # type: ignore[no-any-return]  # the operator runs it
