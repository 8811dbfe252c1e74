"""dask.py: the operators on Dask arrays, lazily: graphs of tasks that run on chunks and never collect the data.

Each function has the name and the arguments of the operator in `gatherscatter`, which calls it where an argument is a
Dask array. Called directly, it also takes data of NumPy, and the result is a Dask array in any case. Index, values and
mask are Dask or NumPy arrays with any chunks.
"""

from __future__ import annotations

from typing import Any

from gatherscatter._dask.calls import on_dask
from gatherscatter._ops.forms import UNSET
from gatherscatter._ops.keywords import Bounds, Duplicates, Mode, Negative, Reduce, ScatterBounds

__all__ = [
    "gather",
    "gather_nd",
    "put_along_axis",
    "scatter",
    "scatter_nd",
    "take",
    "take_along_axis",
    "tile_gather",
]


def __dir__() -> list[str]:
    return __all__


@on_dask
def gather(
    input: Any,
    dim: Any = UNSET,
    index: Any = UNSET,
    batch_dims: Any = UNSET,
    *,
    axis: Any = UNSET,
    indices: Any = UNSET,
    input_indices: Any = UNSET,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Gather elements along a dimension, or slices along an axis, of a Dask array.

    ``result[i, j, k] = input[index[i, j, k], j, k]`` for `dim` 0, or with `indices` and `axis`
    ``result[B, M, I, T] = input[B, M, indices[B, I], T]``, as `gatherscatter.gather`.

    Parameters
    ----------
    input : array of any rank
        A Dask array with chunks of known size, or an array in memory.
    dim, index, indices, input_indices, axis, batch_dims
        As in `gatherscatter.gather`; the index is a Dask array, a NumPy array or a list.
    bounds : {"raise", "deferred", "fill", "clip", "wrap", "unchecked"}, default "raise"
        As in `gatherscatter.gather`. ``"unchecked"`` is checked here, because an index out of bounds belongs to no
        chunk.
    negative, fill_value, mask
        As in `gatherscatter.gather`; the mask may be a Dask array.
    out : None
        Dask arrays are not written to.

    Returns
    -------
    dask.array.Array
        Of the shape and dtype of `gatherscatter.gather`. Its chunks are those of the index along its axes, and those of
        the input along the others.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds: in this call for an index in memory, else when the result is computed. Its
        `position` is one among all indices; for an index in several chunks, `count` is None.
    TypeError
        As in `gatherscatter.gather`, if `out` is given, and if chunks are masked arrays or no NumPy arrays: in this
        call where Dask knows it, else when the result is computed.
    ValueError
        As in `gatherscatter.gather`, and if a Dask array has chunks of unknown size.

    Warns
    -----
    UserWarning
        If the graph has more than 100,000 tasks.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> x = da.arange(12, chunks=5).reshape(3, 4)
    >>> gs.dask.gather(x, [2, 0], axis=0).compute()
    array([[ 8,  9, 10, 11],
           [ 0,  1,  2,  3]])
    """


@on_dask
def gather_nd(
    input: Any,
    indices: Any,
    batch_dims: int = 0,
    *,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Gather elements or slices of a Dask array at coordinates.

    ``result[B, I, T] = input[B, indices[B, I, 0], .., indices[B, I, k - 1], T]``, as `gatherscatter.gather_nd`.

    Parameters
    ----------
    input, indices, batch_dims, bounds, negative, fill_value, mask, out
        As in `gatherscatter.gather_nd` and `gather` of this module. The last axis of `indices` becomes one chunk.

    Returns
    -------
    dask.array.Array, shape ``indices.shape[:-1] + input.shape[batch_dims + k:]``

    Raises
    ------
    OutOfBoundsError, TypeError, ValueError
        As in `gather` of this module.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> x = da.arange(12, chunks=5).reshape(3, 4)
    >>> gs.dask.gather_nd(x, [[0, 1], [2, -1]]).compute()
    array([ 1, 11])
    """


@on_dask
def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    *,
    bounds: Bounds | None = None,
    negative: Negative | None = None,
    fill_value: Any = None,
    mask: Any = None,
) -> Any:
    """Take items of a Dask array along an axis, or of the flattened array.

    ``result[M, I, T] = a[M, indices[I], T]``, as `gatherscatter.take`.

    Parameters
    ----------
    a, indices, axis, out, mode, bounds, negative, fill_value, mask
        As in `gatherscatter.take` and `gather` of this module. Without an axis no chunk is reshaped or moved.

    Returns
    -------
    dask.array.Array, shape ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``

    Raises
    ------
    OutOfBoundsError, TypeError, ValueError
        As in `gatherscatter.take` and `gather` of this module.
    numpy.exceptions.AxisError
        If there is no such axis.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> gs.dask.take(da.arange(0, 60, 10, chunks=4), da.from_array([[0, 5], [-1, 1]], chunks=1)).compute()
    array([[ 0, 50],
           [50, 10]])
    """


@on_dask
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    *,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Take one element of a Dask array for each index along an axis.

    ``result[i, j, k] = arr[i, indices[i, j, k], k]``, as `gatherscatter.take_along_axis`.

    Parameters
    ----------
    arr, indices, axis, bounds, negative, fill_value, mask, out
        As in `gatherscatter.take_along_axis` and `gather` of this module.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    OutOfBoundsError, TypeError, ValueError
        As in `gatherscatter.take_along_axis` and `gather` of this module.
    numpy.exceptions.AxisError
        If there is no such axis.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> a = da.from_array([[10, 30, 20], [60, 40, 50]], chunks=2)
    >>> gs.dask.take_along_axis(a, [[2], [0]], axis=1).compute()
    array([[20],
           [60]])
    """


@on_dask
def scatter(
    input: Any,
    dim: Any = UNSET,
    index: Any = UNSET,
    src: Any = UNSET,
    batch_dims: Any = UNSET,
    *,
    axis: Any = UNSET,
    indices: Any = UNSET,
    reduce: Reduce | None = None,
    include_self: bool = True,
    duplicates: Duplicates = "last",
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Write elements along a dimension, or slices along an axis, of a Dask array, or accumulate them there.

    ``result[index[i, j, k], j, k] = src[i, j, k]`` for `dim` 0, as `gatherscatter.scatter`. The values for one element
    are combined by one task in ascending position among all points, so the bytes of the result do not depend on chunks.

    Parameters
    ----------
    input, dim, index, indices, axis, batch_dims, reduce, include_self, duplicates, bounds, negative, mask
        As in `gatherscatter.scatter` and `gather` of this module.
    src : scalar, nested list, or array of Dask or NumPy
        As in `gatherscatter.scatter`.
    out : None
        Dask arrays are not written to.

    Returns
    -------
    dask.array.Array
        Of the shape, dtype and chunks of `input`.

    Raises
    ------
    OutOfBoundsError, TypeError, ValueError
        As in `gatherscatter.scatter` and `gather` of this module.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> x, index = da.zeros(5, chunks=2, dtype=int), da.from_array([4, 1, 4], chunks=2)
    >>> gs.dask.scatter(x, 0, index, 1, reduce="add").compute()
    array([0, 1, 0, 0, 2])
    """


@on_dask
def scatter_nd(
    input: Any,
    indices: Any,
    updates: Any,
    batch_dims: int = 0,
    *,
    reduce: Reduce | None = None,
    include_self: bool = True,
    duplicates: Duplicates = "last",
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Write elements or slices of a Dask array at coordinates, or accumulate them there.

    ``result[B, indices[B, I, 0], .., indices[B, I, k - 1], T] = updates[B, I, T]``, as `gatherscatter.scatter_nd`.

    Parameters
    ----------
    input, indices, updates, batch_dims, reduce, include_self, duplicates, bounds, negative, mask, out
        As in `gatherscatter.scatter_nd` and `scatter` of this module.

    Returns
    -------
    dask.array.Array
        Of the shape, dtype and chunks of `input`.

    Raises
    ------
    OutOfBoundsError, TypeError, ValueError
        As in `gatherscatter.scatter_nd` and `gather` of this module.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> gs.dask.scatter_nd(da.zeros((2, 3), chunks=1, dtype=int), [[0, 2], [1, -3]], [7, 8]).compute()
    array([[0, 0, 7],
           [8, 0, 0]])
    """


@on_dask
def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    *,
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
) -> Any:
    """Return a Dask array with one element written for each index along an axis.

    ``result[i, indices[i, j, k], k] = values[i, j, k]``, as `gatherscatter.put_along_axis`, which writes in place;
    Dask arrays are not written to.

    Parameters
    ----------
    arr, indices, values, axis, bounds, negative, mask
        As in `gatherscatter.put_along_axis` and `gather` of this module.

    Returns
    -------
    dask.array.Array
        Of the shape, dtype and chunks of `arr`.

    Raises
    ------
    OutOfBoundsError, TypeError, ValueError
        As in `gatherscatter.put_along_axis` and `gather` of this module.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> a = da.from_array([[10, 30, 20], [60, 40, 50]], chunks=2)
    >>> gs.dask.put_along_axis(a, [[1], [0]], 99, axis=1).compute()
    array([[10, 99, 20],
           [99, 40, 50]])
    """


@on_dask
def tile_gather(
    array: Any,
    indices: Any,
    /,
    *,
    mask: Any = None,
    padding_value: Any = 0,
    check_bounds: bool = True,
    latency: int | None = None,
) -> Any:
    """Load a tile of a Dask array at the indices, and padding at points that are masked or out of bounds.

    ``result[c] = array[indices[0][c], .., indices[r - 1][c]]``, as `gatherscatter.tile_gather`.

    Parameters
    ----------
    array, indices, mask, padding_value, check_bounds, latency
        As in `gatherscatter.tile_gather`; each index, the mask and the padding may be a Dask array.

    Returns
    -------
    dask.array.Array
        Of the broadcast shape of the indices.

    Raises
    ------
    TileTypeError, TileValueError
        As in `gatherscatter.tile_gather`.
    OutOfBoundsError, ValueError
        As in `gather` of this module; OutOfBoundsError only under ``check_bounds=False``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import dask.array as da
    >>> a = da.from_array([[1, 2, 3], [4, 5, 6]], chunks=2)
    >>> gs.dask.tile_gather(a, (da.from_array([[0], [1], [2]], chunks=2), [2, -1]), padding_value=-9).compute()
    array([[ 3, -9],
           [ 6, -9],
           [-9, -9]])
    """
