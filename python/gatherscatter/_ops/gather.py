"""gather.py: the operator `gather`: elements along a dimension, or slices along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._ops.forms import UNSET, array_of, check_exchange, slices_in
from gatherscatter._ops.keywords import Bounds, Negative
from gatherscatter._ops.operator import GATHER_KEYWORDS, CallForm, operator, overloaded
from gatherscatter._values.fill import fill_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gatherscatter._ops.keywords import GatherKeywords

ArrayT = TypeVar("ArrayT")
ScalarT = TypeVar("ScalarT", bound=np.generic)


@overload
def gather(
    input: Sequence[Any],
    dim: Any = ...,
    index: Any = ...,
    batch_dims: int = ...,
    *,
    axis: Any = ...,
    indices: Any = ...,
    input_indices: Any = ...,
    **keywords: Unpack[GatherKeywords[Any]],
) -> npt.NDArray[Any]: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    dim: int | np.integer[Any],
    index: Any,
    **keywords: Unpack[GatherKeywords[npt.NDArray[ScalarT]]],
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: npt.NDArray[ScalarT],
    indices: Any,
    axis: Any,
    batch_dims: int = ...,
    **keywords: Unpack[GatherKeywords[npt.NDArray[ScalarT]]],
) -> npt.NDArray[ScalarT]: ...
@overload
def gather(
    input: ArrayT,
    dim: int | np.integer[Any],
    index: Any,
    **keywords: Unpack[GatherKeywords[ArrayT]],
) -> ArrayT: ...
@overload
def gather(
    input: ArrayT,
    indices: Any,
    axis: Any,
    batch_dims: int = ...,
    **keywords: Unpack[GatherKeywords[ArrayT]],
) -> ArrayT: ...
@overload
def gather(
    input: ArrayT,
    *,
    input_indices: Any,
    axis: Any,
    batch_dims: int = ...,
    **keywords: Unpack[GatherKeywords[ArrayT]],
) -> ArrayT: ...
@overloaded
@operator(
    CallForm("along_axis", "input", "axis", "index", keywords=("out", *GATHER_KEYWORDS)),
    CallForm("take_axis", "input", "index", "axis", keywords=("axis", "out", *GATHER_KEYWORDS)),
)
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
    """Gather elements along a dimension, or slices along an axis.

    There are two forms. Keywords select the form, or else the type of the second argument: an integer is a `dim`, an
    array (also a 0-d array) or a list is `indices`. With ``axis=`` and no `index`, an integer is one number of
    `indices`: ``gather(x, 2, axis=0)`` is one row.

    ``gather(input, dim, index)`` is elementwise::

        result[i, j, k] = input[index[i, j, k], j, k]     # dim = 0

    ``gather(input, indices, axis, batch_dims=0)`` takes slices; `input` and `indices` share `batch_dims` leading axes::

        result[B, M, I, T] = input[B, M, indices[B, I], T]

    Parameters
    ----------
    input : array, shape (n_0, .., n_r)
        Any array in host memory or on a CUDA device: NumPy, torch, CuPy, JAX, or anything with ``__dlpack__``. Any
        dtype whose items are plain bytes, any strides; it is never copied. A list becomes an array of NumPy. A
        DataArray of xarray gives one with the same dims and the labels of the rows that were taken, if the result has
        an axis for each dim; the axis may be the name of a dim.
    dim : int
        Dimension of the elementwise form, in [-rank, rank).
    index : array of integers
        It has the rank of `input` and is at most as long on every axis except `dim`, so one of shape (n, 1) with `dim`
        0 reads the first column alone; whole rows are ``gather(input, indices, axis=0)``. Any integer dtype of any
        library, or lists.
    indices, input_indices : array of integers
        Of any shape; these are two names of one argument of the second form.
    axis : int or integer array of rank 0
        Axis of the second form, in [-rank, rank).
    batch_dims : int, default 0
        Number of leading axes that `input` and `indices` share; at most `axis` and at most the rank of `indices`. A
        negative number counts from the rank of `indices`.
    bounds : {"raise", "deferred", "fill", "clip", "wrap", "unchecked"}, default "raise"
        Handling of an index that is out of bounds. ``"raise"`` raises an error. ``"deferred"`` does so on a CPU; on a
        GPU the call does not wait for the check, and a later call or `gatherscatter.cuda.synchronize` raises the
        error. ``"fill"`` gives `fill_value`, ``"clip"`` the nearest position, ``"wrap"`` the index modulo the size.
        ``"unchecked"`` checks nothing: the caller guarantees that every index is in bounds.
    negative : {"from_end", "out_of_bounds"}, default "from_end"
        Whether -1 is the last position or out of bounds.
    fill_value : scalar, optional
        Value of points that are out of bounds (``bounds="fill"``) or masked; an error without either. The default is
        0, NaT for dates and durations, and zero bytes for other dtypes without numbers.
    mask : array of bool, optional
        Broadcasts one way to the shape of the index. Where it is False, the result is `fill_value` and the index is
        ignored.
    out : array, optional
        Written to and returned. It may overlap the arguments; the result is as if they had been copied.

    Returns
    -------
    array
        Of the library, dtype and device of `input`, C-contiguous. Its shape is that of `index`, or
        ``input.shape[:axis] + indices.shape[batch_dims:] + input.shape[axis + 1:]``. For NumPy a result of rank 0 is a
        scalar.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds. It is an IndexError, ValueError and RuntimeError, and gives the lowest bad
        position.
    TypeError
        If an index is not of integers, a mask not of bool, `out` of another dtype, or the two forms are mixed; if there
        is a `fill_value`, but neither `mask` nor ``bounds="fill"``.
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
    # The most frequent call, gather(input, int, index), is handled without `slices_in`, which takes time.
    input = array_of("gather", input)
    fill = fill_of("gather", input, fill_value, bounds, mask)
    is_elementwise = type(dim) is int and axis is batch_dims is indices is input_indices is UNSET
    slices = (
        None
        if is_elementwise
        else slices_in("gather", dim, index, axis, batch_dims, indices=indices, input_indices=input_indices)
    )
    if slices is not None:
        check_exchange("gather", slices.indices, input, "gather(input, indices, axis)")
        at, count = slices.axis, slices.batch_dims
        return _core.take_axis("gather", input, slices.indices, at, count, bounds, negative, fill, mask, out)
    if index is UNSET:
        raise TypeError("gather: index is missing; for the row of one number write gather(input, number, axis=0)")
    return _core.along_axis("gather", input, index, dim, "prefix", bounds, negative, fill, mask, out)
