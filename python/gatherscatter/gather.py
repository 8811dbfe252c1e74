"""`gather`: elements along a dimension, or slices along an axis."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._arrays import must_have_values
from gatherscatter._device import is_on_device
from gatherscatter._fill import as_fill
from gatherscatter._types import Bounds, Negative
from gatherscatter.errors import shown

ArrayT = TypeVar("ArrayT")
ScalarT = TypeVar("ScalarT", bound=np.generic)


class _Unset:
    """The default of arguments that decide which form of `gather` is meant, None being a mistake there."""

    def __repr__(self) -> str:
        return "<unset>"


_UNSET = _Unset()


@overload
def gather(
    input: npt.NDArray[ScalarT],
    dim: int | np.integer[Any],
    index: Any,
    *,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: npt.NDArray[ScalarT] | None = ...,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    dim: int | np.integer[Any],
    index: Any,
    *,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    *,
    dim: int | np.integer[Any],
    index: Any,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: npt.NDArray[ScalarT] | None = ...,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    *,
    dim: int | np.integer[Any],
    index: Any,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    indices: Any,
    axis: Any,
    /,
    batch_dims: int = ...,
    *,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: npt.NDArray[ScalarT] | None = ...,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    indices: Any,
    axis: Any,
    /,
    batch_dims: int = ...,
    *,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    indices: Any,
    /,
    *,
    axis: Any,
    batch_dims: int = ...,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: npt.NDArray[ScalarT] | None = ...,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    indices: Any,
    /,
    *,
    axis: Any,
    batch_dims: int = ...,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    *,
    indices: Any,
    axis: Any,
    batch_dims: int = ...,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: npt.NDArray[ScalarT] | None = ...,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    *,
    indices: Any,
    axis: Any,
    batch_dims: int = ...,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    *,
    input_indices: Any,
    axis: Any,
    batch_dims: int = ...,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: npt.NDArray[ScalarT] | None = ...,
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    *,
    input_indices: Any,
    axis: Any,
    batch_dims: int = ...,
    bounds: Bounds = ...,
    negative: Negative = ...,
    fill_value: Any = ...,
    mask: Any = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
@_core.operator_lane("gather")
def gather(
    input: Any,
    dim: Any = _UNSET,
    index: Any = _UNSET,
    batch_dims: Any = _UNSET,
    *,
    axis: Any = _UNSET,
    indices: Any = _UNSET,
    input_indices: Any = _UNSET,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Gather elements along a dimension, or slices along an axis.

    Two forms, told apart by their keywords or else by the type of the second argument: an integer is a `dim`, an array
    (a 0-d one too) or a list is `indices`.

    ``gather(input, dim, index)`` is elementwise::

        result[i, j, k] = input[index[i, j, k], j, k]     # dim = 0

    ``gather(input, indices, axis, batch_dims=0)`` takes slices; with `batch_dims` leading axes in common::

        result[B, M, I, T] = input[B, M, indices[B, I], T]

    Parameters
    ----------
    input : array, shape (n_0, .., n_r)
        Any array in host memory or on a CUDA device: NumPy, torch, CuPy, JAX, or anything with ``__dlpack__``. Any
        dtype whose items are plain bytes, any strides; it is never copied.
    dim : int
        Dimension of the elementwise form, in [-rank, rank).
    index : array of integers
        Of the rank of `input` and no longer than it on every axis but `dim`. Any integer dtype, any library, or lists.
    indices, input_indices : array of integers
        Of any shape; two names for the same argument of the second form.
    axis : int or integer array of one element
        Axis of the second form, in [-rank, rank).
    batch_dims : int, default 0
        Number of leading axes that `input` and `indices` share; at most `axis` and at most the rank of `indices`. A
        negative number counts from the rank of `indices`.
    bounds : {"raise", "deferred", "fill", "clip", "wrap", "unchecked"}, default "raise"
        What happens to an index outside: an error (``"deferred"``: on a GPU without waiting for it, raised by a later
        call or by `gatherscatter.cuda.synchronize`; the same on a CPU), `fill_value`, the nearest position, the
        position modulo the size, or no check at all: with ``"unchecked"`` the caller vouches for every index.
    negative : {"from_end", "out_of_bounds"}, default "from_end"
        Whether -1 is the last position or lies outside.
    fill_value : scalar, optional
        For points outside (``bounds="fill"``) and for masked ones; 0 by default, zero bytes for dtypes without numbers.
    mask : array of bool, optional
        Broadcasts one way to the shape of the index. Where it is False the result is `fill_value` and the index is not
        looked at.
    out : array, optional
        Written to and returned. It may overlap the arguments; the result is as if they had been copied.

    Returns
    -------
    array
        Of the library, dtype and device of `input`, C-contiguous. Its shape is that of `index`, or
        ``input.shape[:axis] + indices.shape[batch_dims:] + input.shape[axis + 1:]``. NumPy gives a scalar for rank 0.

    Raises
    ------
    OutOfBoundsError
        If an index lies outside. It is an IndexError, ValueError and RuntimeError, and names the lowest bad position.
    TypeError
        If an index is not of integers, a mask not of bool, `out` of another dtype, or both forms are mixed.
    ValueError
        If shapes, ranks or `batch_dims` do not fit, or `fill_value` does not fit the dtype.
    numpy.exceptions.AxisError
        If `dim` or `axis` is out of range (a ValueError and IndexError).

    Notes
    -----
    The first form is ``gather`` of pypto and ``Tensor.gather(dim, index)`` of MindSpore, the second one MindSpore's
    ``Tensor.gather(input_indices, axis, batch_dims)``. An error leaves `out` untouched.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> x = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]])
    >>> gs.gather(x, 0, [[0, 1, 2, 0], [1, 2, 0, 1], [2, 2, 1, 0]])
    array([[ 0,  6, 12,  3],
           [ 5, 11,  2,  8],
           [10, 11,  7,  3]])
    >>> gs.gather(x, [2, -1], axis=1)
    array([[ 2,  4],
           [ 7,  9],
           [12, 14]])
    >>> gs.gather(x, [[0, 9], [1, 1], [4, 0]], axis=1, batch_dims=1, bounds="fill", fill_value=-1)
    array([[ 0, -1],
           [ 6,  6],
           [14, 10]])
    """
    # The commonest calls come first: gather(input, int, index) and gather(input, array, axis[=]..).
    fill = None if fill_value is None else as_fill("gather", input, fill_value)
    if type(dim) is int and axis is _UNSET and batch_dims is _UNSET and indices is _UNSET and input_indices is _UNSET:
        if index is _UNSET:
            raise TypeError("gather: index is missing")
        return _core.along_axis("gather", input, index, dim, "prefix", bounds, negative, fill, mask, out)
    form, index, dim, batch_dims = _form(dim, index, batch_dims, axis, indices, input_indices)
    if form == "dim":
        return _core.along_axis("gather", input, index, dim, "prefix", bounds, negative, fill, mask, out)
    return _core.take_axis("gather", input, index, dim, batch_dims, bounds, negative, fill, mask, out)


def _form(
    dim: Any, index: Any, batch_dims: Any, axis: Any, indices: Any, input_indices: Any
) -> tuple[Literal["dim", "axis"], Any, Any, int]:
    """Decide which form is meant: (form, index array, dim or axis, batch_dims)."""
    given = [value for value in (indices, input_indices) if value is not _UNSET]
    second_is_int = isinstance(dim, (int, np.integer))
    if not given and axis is _UNSET and second_is_int and batch_dims is _UNSET:
        if isinstance(dim, bool):
            raise TypeError("gather: dim is a bool, expected an integer")
        if index is _UNSET:
            raise TypeError("gather: index is missing")
        return "dim", index, dim, 0

    # The second form: gather(input, indices, axis, batch_dims) with any of them by keyword.
    if dim is None or isinstance(dim, (float, complex, str, bytes, np.bool_)):
        raise TypeError(f"gather: the second argument is {dim!r}, expected a dim (an integer) or indices")
    if dim is not _UNSET and second_is_int:
        raise TypeError(
            "gather: dim= (elementwise form) and axis=, indices= or batch_dims= (slices) exclude each other"
        )
    if dim is not _UNSET:
        given.append(dim)
    if axis is not _UNSET and index is not _UNSET:
        # gather(input, indices, batch..)? The third place is the axis, so two of them were given.
        if dim is _UNSET and not given:
            raise TypeError("gather: index= belongs to dim=, indices= to axis=")
        raise TypeError("gather: dim= with index= (elementwise) and axis= (slices) exclude each other")
    if len(given) != 1:
        raise TypeError(
            "gather: dim and index, or indices and axis are missing" if not given else "gather: indices twice"
        )
    axis = index if axis is _UNSET else axis
    if axis is _UNSET:
        raise TypeError("gather: axis is missing")
    return "axis", given[0], one_integer("gather", "axis", axis), _batch_dims(batch_dims, given[0])


def one_integer(op: str, what: str, value: Any) -> int:
    """An integer, or an array of integers with exactly one element."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, (bool, float, str, bytes)) or not hasattr(value, "__array__"):
        raise TypeError(f"{op}: {what} is {shown(value)}, expected an integer")
    if is_on_device(value):
        raise TypeError(f"{op}: {what} lies on a GPU; pass an int, so that nothing has to wait for it")
    must_have_values(op, what, value)
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{op}: {what} has dtype {array.dtype}, expected an integer")
    if array.size != 1:
        raise ValueError(f"{op}: {what} has {array.size} elements, expected 1")
    return int(array.reshape(-1)[0])


def _batch_dims(value: Any, indices: Any) -> int:
    if value is _UNSET:
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"gather: batch_dims is {shown(value)}, expected an integer")
    if value >= 0:
        return int(value)
    rank = cast(int, getattr(indices, "ndim", None) if hasattr(indices, "ndim") else np.ndim(indices))
    if value < -rank:
        raise ValueError(f"gather: batch_dims {shown(value)} is not in [{-rank}, {rank}], the rank of the indices")
    return int(value) + rank
