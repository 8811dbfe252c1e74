"""cutile.py: strict versions of ``cuda.tile.gather`` and ``cuda.tile.scatter``."""

from __future__ import annotations

from typing import Any, TypeVar

from gatherscatter._libraries.adopt import must_have_values
from gatherscatter._libraries.recognise import dtype_name
from gatherscatter._ops.operator import bind, operator
from gatherscatter._ops.tile import tile_gather, tile_scatter
from gatherscatter.compat._strict import INTEGERS, Dtypes
from gatherscatter.errors import TileError, TileTypeError, TileValueError

__all__ = ["TileError", "TileTypeError", "TileValueError", "gather", "scatter"]

Array = TypeVar("Array")

# tfloat32 is missing: no array library has it.
_DTYPES = Dtypes(
    *["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"],
    *["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"],
)


@operator()
def gather(
    array: Array,
    indices: Any,
    /,
    *,
    mask: Any = None,
    padding_value: Any = 0,
    check_bounds: bool = True,
    latency: int | None = None,
) -> Array:
    """Load a tile from the array elements that `indices` specify.

    ``t[i, j, k] = array[ind0[i, j, 0], ind1[i, 0, k]]`` for indices of shapes (M, N, 1) and (M, 1, K); `padding_value`
    where the mask is False or an index lies outside.

    Parameters
    ----------
    array : array of rank r
        bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2, float8_e8m0fnu
        or float4_e2m1fn.
    indices : tuple of r ints or integer arrays
        Of any integer dtypes, broadcast together. For rank 1 a single index needs no tuple; for rank 0 the tuple is
        ``()``. Lists are not accepted. Negative values are out of bounds.
    mask : bool or boolean array, optional
        Broadcasts one way to the shape of the indices.
    padding_value : scalar or array, default 0
        Broadcasts one way to the shape of the indices, and casts implicitly to the dtype of `array`.
    check_bounds : bool, default True
        False: the caller guarantees that every unmasked point is in bounds. The document leaves a violation undefined;
        here it raises.
    latency : int from 1 to 10, optional
        A performance hint, which does not change the result.

    Returns
    -------
    array
        Of the broadcast shape of the indices and the dtype of `array`.

    Raises
    ------
    TileTypeError
        Dtype, rank, number of indices, an index that is no integer, shapes that do not broadcast, a mask that is not
        boolean, a forbidden cast, `check_bounds` or `latency` of the wrong type.
    TileValueError
        A literal that is out of range of the dtype, or `latency` outside 1 to 10.
    OutOfBoundsError
        ``check_bounds=False`` and a point that is neither masked nor in bounds.

    Notes
    -----
    Semantics of ``cuda.tile.gather``. The uniform call is `gatherscatter.tile_gather`, which takes more dtypes.

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter.compat import cutile as ct
    >>> ct.gather(np.array([10, 20, 30]), np.array([2, 3, -1]), padding_value=-5)
    array([30, -5, -5])
    """
    _check("gather", array, indices, mask)
    call: Any = bind(
        tile_gather, array, indices, mask=mask, padding_value=padding_value, check_bounds=check_bounds, latency=latency
    )
    return call  # type: ignore[no-any-return]  # the operator runs it


@operator(returns_none=True)
def scatter(
    array: Any,
    indices: Any,
    value: Any,
    /,
    *,
    mask: Any = None,
    check_bounds: bool = True,
    latency: int | None = None,
) -> None:
    """Store a tile to the array elements that `indices` specify, in place.

    ``array[ind0[i, j, 0], ind1[i, 0, k]] = t[i, j, k]`` where the mask is True and every index lies inside.

    Parameters
    ----------
    array : array of rank r
        Of the dtypes that `gather` accepts; it is written to. Of several points with one target the last is stored.
    indices, mask, check_bounds, latency
        As in `gather`.
    value : scalar or array
        Broadcasts one way to the shape of the indices, and casts implicitly to the dtype of `array`.

    Raises
    ------
    TileTypeError, TileValueError, OutOfBoundsError
        As `gather`. Nothing is written if an error is raised.

    Notes
    -----
    Semantics of ``cuda.tile.scatter``. The uniform call is `gatherscatter.tile_scatter`.

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter.compat import cutile as ct
    >>> array = np.zeros(4, np.float32)
    >>> ct.scatter(array, np.array([3, 4, 0]), np.array([1, 2, 3]))
    >>> array
    array([3., 0., 0., 1.], dtype=float32)
    """
    _check("scatter", array, indices, mask)
    call: Any = bind(tile_scatter, array, indices, value, mask=mask, check_bounds=check_bounds, latency=latency)
    return call  # type: ignore[no-any-return]  # the operator runs it and returns None


def _check(op: str, array: Any, indices: Any, mask: Any) -> None:
    """Raise an error for arguments that the uniform calls accept and cuTile does not: other dtypes, and lists."""
    must_have_values(op, "array", array)
    if hasattr(array, "dtype") and array not in _DTYPES:
        raise TileTypeError(f"{op}: array has dtype {dtype_name(array)}, which cuTile does not have")
    entries = indices if isinstance(indices, tuple) else (indices,)
    for what, value in [*(("an index", index) for index in entries), ("mask", mask)]:
        if isinstance(value, (list, tuple)):
            raise TileTypeError(f"{op}: {what} is a {type(value).__name__}, expected a scalar or an array")
