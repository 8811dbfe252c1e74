"""tile.py: cuTile's gather and scatter on any array, with masks, bounds checks and padding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._libraries import of_numpy
from gatherscatter._libraries.adopt import must_have_values, plain_values
from gatherscatter._libraries.nested import array_of_list
from gatherscatter._libraries.of_python import exceeds_int64, fits_int64, integers_in
from gatherscatter._libraries.of_torch import is_tensor
from gatherscatter._libraries.recognise import dtype_name, hint, is_ndarray
from gatherscatter._libraries.torch_symbols import graph_index, graph_mask, is_symbol, number_now
from gatherscatter._ops.keywords import Bounds, Reduce, ScatterBounds
from gatherscatter._ops.operator import CallForm, operator
from gatherscatter._values.implicit_cast import implicit_cast
from gatherscatter._values.source import zero_item
from gatherscatter.errors import TileTypeError, TileValueError, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gatherscatter._ops.keywords import TileKeywords

__all__ = ["tile_gather", "tile_scatter"]

Array = TypeVar("Array")
Scalar = TypeVar("Scalar", bound=np.generic)
Shape = tuple[int, ...]

# Names of dtypes of libraries other than NumPy. Torch, JAX and the array-API standard use equal names.
_INDEX_DTYPE = re.compile(r"u?int(8|16|32|64)")
_MASK_DTYPE = re.compile("bool")


@overload
def tile_gather(
    array: npt.NDArray[Scalar], indices: Any, /, **keywords: Unpack[TileKeywords]
) -> npt.NDArray[Scalar]: ...
@overload
def tile_gather(array: Array, indices: Any, /, **keywords: Unpack[TileKeywords]) -> Array: ...
@operator(CallForm("tile", "input", "index"))
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
    """Load a tile of elements at the indices, and padding at points that are masked or out of bounds.

    ``result[c] = array[indices[0][c], ..., indices[r-1][c]]`` where ``mask[c]`` is true and every index lies in
    ``[0, n)`` of its own axis, else ``padding_value[c]``. `array` is not read at points that give padding.

    Parameters
    ----------
    array : array of rank r
        Any dtype of fixed-size items, any strides. A NumPy, torch or JAX array, or one with ``__dlpack__``.
    indices : tuple of r integer arrays or ints
        Any integer dtypes, also mixed and unsigned; broadcast together. A rank-1 array also takes the bare index (a
        list is an index, a tuple is the tuple of indices). Negative values are out of bounds: they do not count from
        the end. An array of rank 0 takes ``()``.
    mask : bool or boolean array, optional
        Broadcasts to the shape of the indices and never enlarges it. The index of a masked point is ignored.
    padding_value : scalar or array, default 0
        Broadcasts like `mask`. It is always checked, also if no point needs it. It casts to the dtype of `array`
        implicitly: a Python literal may be cast upwards in bool < int < float < complex, and an int must be in range; a
        value with a dtype, NumPy scalars included, may only be widened within its kind (bool and integers also to
        floats; signed and unsigned do not mix). For dtypes without numbers (datetime, string, structured) 0 means zero
        bytes, and other values must be of that dtype or fit it without loss.
    check_bounds : bool, default True
        With False the caller guarantees that every point that is not masked is in bounds. cuTile leaves the other case
        undefined; here it raises.
    latency : int from 1 to 10, optional
        A performance hint for the device; it does not change the result.

    Returns
    -------
    array
        Of the broadcast shape of the indices, with the dtype and library of `array`; a scalar where NumPy returns one.

    Raises
    ------
    TileTypeError
        If the number of indices is wrong, an index is not of integers, shapes do not broadcast, the mask is not
        boolean, the padding does not cast, `check_bounds` is not a bool, or `latency` is not an int. It is a TypeError.
    TileValueError
        If a padding literal or `latency` is out of range. It is a ValueError.
    OutOfBoundsError
        If a point is neither masked nor in bounds under ``check_bounds=False``.

    Notes
    -----
    Semantics of ``cuda.tile.gather``.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.array([[1, 2, 3], [4, 5, 6]])
    >>> gs.tile_gather(a, (np.array([[0], [1], [2]]), np.array([2, -1])), padding_value=-9)
    array([[ 3, -9],
           [ 6, -9],
           [-9, -9]])
    >>> gs.tile_gather(a[0], np.arange(3), mask=np.array([True, False, True]))
    array([1, 0, 3])
    """
    check_hints("tile_gather", check_bounds, latency)
    points, shape = index_tuple("tile_gather", array, indices)
    mask = one_way_mask("tile_gather", array, mask, shape)
    padding = one_way_value("tile_gather", "padding_value", padding_value, array, shape)
    bounds: Bounds = "fill" if check_bounds else "raise"
    return _core.at_points("tile_gather", array, points, 0, bounds, "out_of_bounds", padding, mask, None)


@operator(CallForm("tile", "out", "index", "source"), returns_none=True)
def tile_scatter(
    array: Any,
    indices: Any,
    value: Any,
    /,
    *,
    reduce: Reduce | None = None,
    mask: Any = None,
    check_bounds: bool = True,
    latency: int | None = None,
) -> None:
    """Store a tile to the elements at the indices, and nothing at points that are masked or out of bounds.

    ``array[indices[0][c], ..., indices[r-1][c]] = value[c]``, or ``+= value[c]`` with ``reduce="add"``, where
    ``mask[c]`` is true and every index lies in ``[0, n)`` of its own axis. The other points store nothing.

    Parameters
    ----------
    array : array of rank r
        The array to write to. Any dtype of fixed-size items, any strides in which no two elements share memory. A NumPy
        array, a torch tensor, or an array with ``__dlpack__`` that is not read-only.
    indices : tuple of r integer arrays or ints
        As in `tile_gather`. If several points refer to one element, the last one in C order is stored, or all are
        combined in C order with `reduce`; cuTile leaves both undefined.
    value : scalar or array
        Broadcasts to the shape of the indices and never enlarges it. It casts to the dtype of `array` by the rules of
        the `padding_value` of `tile_gather`. It may overlap `array`; the result is as if it had been copied.
    reduce : {"add", "mul", "min", "max", "mean"}, optional
        As in `scatter`, with its other names: combines the values with the element, which is one of them. "add", "max"
        and "min" are cuTile's ``atomic_add``, ``atomic_max`` and ``atomic_min`` where the old values are not used.
    mask : bool or boolean array, optional
        Broadcasts to the shape of the indices and never enlarges it. The index of a masked point is ignored.
    check_bounds : bool, default True
        With False the caller guarantees that every point that is not masked is in bounds. cuTile leaves the other case
        undefined; here it raises, and nothing is stored.
    latency : int from 1 to 10, optional
        A performance hint for the device; it does not change the result.

    Raises
    ------
    TileTypeError
        If the number of indices is wrong, an index is not of integers, shapes do not broadcast, the mask is not
        boolean, the value does not cast, `check_bounds` is not a bool, or `latency` is not an int. It is a TypeError.
    TileValueError
        If a value literal or `latency` is out of range. It is a ValueError.
    OutOfBoundsError
        If a point is neither masked nor in bounds under ``check_bounds=False``.
    TypeError
        If `array` is a JAX array, which is immutable, or `reduce` is not defined for its dtype.
    ValueError
        If `array` is read-only, several of its elements share one address, or `reduce` is no such word.

    Notes
    -----
    Semantics of ``cuda.tile.scatter``, and with `reduce` of ``cuda.tile.atomic_add``, ``atomic_max`` and
    ``atomic_min`` without their results. A sum has the same bytes for every number of threads.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.zeros((2, 3), int)
    >>> gs.tile_scatter(a, (np.array([[0], [1], [2]]), np.array([2, -1])), np.array([[7], [8], [9]]))
    >>> a
    array([[0, 0, 7],
           [0, 0, 8]])
    >>> gs.tile_scatter(a[0], np.arange(3), 5, mask=np.array([True, False, True]))
    >>> a[0]
    array([5, 0, 5])
    >>> gs.tile_scatter(a[1], np.array([0, 0, 3]), np.array([1, 2, 4]), reduce="add")
    >>> a[1]
    array([3, 0, 8])
    """
    check_hints("tile_scatter", check_bounds, latency)
    points, shape = index_tuple("tile_scatter", array, indices)
    mask = one_way_mask("tile_scatter", array, mask, shape)
    source = one_way_value("tile_scatter", "value", value, array, shape)
    if source is None:
        source = zero_item(array)
    bounds: ScatterBounds = "drop" if check_bounds else "raise"
    call: Any = _core.scatter_points(
        "tile_scatter", array, points, 0, source, bounds, "out_of_bounds", reduce, True, "last", mask, array
    )
    return call  # type: ignore[no-any-return]  # the operator runs it and returns None


def check_hints(op: str, check_bounds: Any, latency: Any) -> None:
    """Check the two constants that every tile operator takes."""
    if check_bounds is not True and check_bounds is not False:
        raise TileTypeError(f"{op}: check_bounds must be a bool, got {shown(check_bounds)}")
    if latency is None:
        return
    if not isinstance(latency, int) or isinstance(latency, bool):
        raise TileTypeError(f"{op}: latency must be None or an int, got {shown(latency)}")
    if not 1 <= latency <= 10:
        raise TileValueError(f"{op}: latency must be between 1 and 10, got {latency}")


def index_tuple(op: str, array: Any, indices: Any) -> tuple[tuple[Any, ...], Shape]:
    """One index array for each axis of `array`, and the shape that they broadcast to."""
    must_have_values(op, "array", array)
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise TileTypeError(f"{op}: expected an array, got {type(array).__name__}{hint(array)}")
    rank = len(array.shape)
    if not isinstance(indices, tuple):
        if rank != 1:
            raise TileTypeError(
                f"{op}: indices must be a tuple of length {rank}, the rank of the array; only rank 1 takes a bare index"
            )
        indices = (indices,)
    if len(indices) != rank:
        raise TileTypeError(
            f"{op}: {len(indices)} indices for an array of rank {rank}; each axis has one, and they broadcast: "
            "numpy.arange(n) takes a whole last axis beside indices[..., None]"
        )
    points = tuple(_index_array(op, array, index) for index in indices)
    shape: Shape = ()
    for point in points:
        other = tuple(point.shape)
        if other != shape:
            shape = _broadcast(op, shape, other)
    return points, shape


def one_way_mask(op: str, array: Any, mask: Any, shape: Shape) -> Any:
    """Check a mask and return it in the form that `_core` reads; None if no point is masked."""
    if is_symbol(mask):
        mask = number_now(mask)
    if mask is None or mask is True:
        return None
    if isinstance(mask, list | bool):
        made = graph_mask(mask) if is_tensor(array) else None
        mask = np.asarray(mask) if made is None else made
    must_have_values(op, "mask", mask)
    mask = plain_values(op, "mask", mask)
    if not _has_kind(mask, "b", _MASK_DTYPE):
        kind = dtype_name(mask) if hasattr(mask, "dtype") else type(mask).__name__
        raise TileTypeError(f"{op}: mask must be boolean, got {kind}")
    _check_one_way(op, "mask", mask, shape)
    return np.asarray(mask) if isinstance(mask, np.generic) else mask


def one_way_value(op: str, what: str, value: Any, array: Any, shape: Shape) -> Any:
    """Cast a value to exactly the dtype of `array`, in the form that `_core` reads; None stands for zero bytes."""
    must_have_values(op, what, value)
    value = plain_values(op, what, value)
    if is_ndarray(value) and type(value) is not np.ndarray:
        value = of_numpy.adopt(op, what, value)  # refuses masked arrays, whose hidden values would show
    if hasattr(value, "shape"):
        _check_one_way(op, what, value, shape)
        if type(value) is np.ndarray and type(array) is np.ndarray and value.dtype == array.dtype:
            return value  # the most frequent case, which takes a tenth of the time of `implicit_cast`
    return implicit_cast(op, what, value, array)


def _index_array(op: str, like: Any, index: Any) -> Any:
    if isinstance(index, int) and not isinstance(index, bool):
        return np.asarray(index) if fits_int64(index) else integers_in(index)
    made = graph_index(index) if is_tensor(like) else None
    if made is not None:
        return made
    if isinstance(index, list | tuple):
        array = array_of_list(op, "index", index)
        if array.size == 0:
            return array.astype(np.intp)
        found = integers_in(index) if exceeds_int64(index, array) else None
        index = array if found is None else found
    must_have_values(op, "an index", index)
    index = plain_values(op, "index", index)
    if not _has_kind(index, "iu", _INDEX_DTYPE):
        kind = dtype_name(index) if hasattr(index, "dtype") else type(index).__name__
        raise TileTypeError(f"{op}: an index must be an integer array or an int, got {kind}")
    return np.asarray(index) if isinstance(index, np.generic) else index


def _has_kind(array: Any, kinds: str, names: re.Pattern[str]) -> bool:
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in kinds
    return dtype is not None and hasattr(array, "shape") and names.fullmatch(dtype_name(array)) is not None


def _broadcast(op: str, a: Shape, b: Shape) -> Shape:
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    shape = list(long)
    for axis in range(1, len(short) + 1):
        if shape[-axis] == 1:
            shape[-axis] = short[-axis]
        elif short[-axis] not in (1, shape[-axis]):
            raise TileTypeError(f"{op}: indices of shapes {a} and {b} are not broadcastable to a common shape")
    return tuple(shape)


def _check_one_way(op: str, what: str, value: Any, shape: Shape) -> None:
    own = tuple(value.shape)
    lead = len(shape) - len(own)
    if lead < 0 or any(n not in (1, shape[lead + axis]) for axis, n in enumerate(own)):
        raise TileTypeError(f"{op}: {what} of shape {own} is not broadcastable to the shape {shape} of the indices")
