"""mindspore.py: a strict version of ``mindspore.Tensor.gather`` in both of its forms."""

from __future__ import annotations

import math
from typing import Any, TypeVar, overload

import numpy as np

from gatherscatter._libraries.of_python import is_integer
from gatherscatter._libraries.recognise import dtype_name
from gatherscatter._ops.gather import gather as _gather
from gatherscatter._ops.operator import bind, operator
from gatherscatter._values.integers import integer, one_integer
from gatherscatter.compat._strict import INTEGERS, Dtypes, array_like, check_index_dtype

__all__ = ["gather"]

Array = TypeVar("Array")

_DTYPES = Dtypes("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


@overload
def gather(self: Array, /, dim: int, index: Any) -> Array: ...
@overload
def gather(self: Array, /, input_indices: Any, axis: Any, batch_dims: int = 0) -> Array: ...
@operator()
def gather(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Gather elements along a dimension, or slices along an axis.

    ``gather(self, dim, index)``::

        output[i, j, k] = self[i, index[i, j, k], k]     # dim = 1

    ``gather(self, input_indices, axis, batch_dims=0)``, where `batch_dims` leading axes match::

        output[B, M, I, T] = self[B, M, input_indices[B, I], T]

    The names of keywords decide which form is called, else the type of the second argument: an int is `dim`, an array
    is `input_indices`.

    Parameters
    ----------
    self : array
        Of bool, integers, floats of 16 to 64 bits or complex numbers. A torch tensor that requires grad gets a
        gradient: for each element the sum over all points that read it. The index gets none.
    dim : int
        In [-rank, rank).
    index : array of int32 or int64
        Its rank is that of `self`, and it is no longer than `self` on every axis except `dim`. Values in [-n, n):
        negative ones count from the end. It is not modified.
    input_indices : array of int32 or int64
        Of any shape. Values in [0, n): negative ones are errors.
    axis : int or integer array of one element
        In [-rank, rank), counted from the end if negative; the resulting axis is at least `batch_dims`.
    batch_dims : int, default 0
        At most the rank of `input_indices`, which is added to a negative value.

    Returns
    -------
    array
        Of the dtype and library of `self`, with the shape of `index`, or
        ``self.shape[:axis] + input_indices.shape[batch_dims:] + self.shape[axis + 1:]``.

    Raises
    ------
    TypeError
        `self` is no array of such a dtype, an index is no array of int32 or int64, or `dim`, `axis` or `batch_dims` is
        no integer.
    ValueError
        `dim`, `axis` or `batch_dims` is out of range, ranks or shapes do not match, or an `axis` array has more or less
        than one element. The error for batch axes that differ is also a RuntimeError.
    OutOfBoundsError
        An index value is out of range, compared at full width. It is a ValueError and a RuntimeError.

    Notes
    -----
    Semantics of ``mindspore.Tensor.gather``. The uniform call is `gatherscatter.gather`.

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter.compat import mindspore
    >>> x = np.array([[-0.1, 0.3, 3.6], [0.4, 0.5, -3.2]])
    >>> mindspore.gather(x, 1, np.array([[0, 0], [1, -1]]))
    array([[-0.1, -0.1],
           [ 0.5, -3.2]])
    >>> mindspore.gather(x, np.array([2, 0]), 1)
    array([[ 3.6, -0.1],
           [-3.2,  0.4]])
    """
    form = _along_dim if _means_dim(args, kwargs) else _slices
    return form(self, *args, **kwargs)


def _means_dim(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if "dim" in kwargs or "index" in kwargs:
        return True
    if kwargs:
        return False
    if not args:
        raise TypeError("gather: dim and index, or input_indices and axis, are missing")
    if is_integer(args[0]):
        return True
    array_like("gather", "the second argument, which is no int,", args[0])
    return False


def _along_dim(self: Any, /, dim: Any, index: Any) -> Any:
    if _is_scalar(dim) and not isinstance(dim, np.generic):
        raise TypeError("gather: dim is a 0-d array, expected an integer: write int(dim)")
    dim = integer("gather", "dim", dim)
    _check_arrays(self, "index", index)
    if _is_scalar(index) and len(self.shape) == 1:  # a scalar counts as shape (1,); the result has the index's own
        return bind(_gather, self, index, axis=dim)
    return bind(_gather, self if _is_scalar(index) else _with_axis(self), dim, index)


def _slices(self: Any, /, input_indices: Any, axis: Any, batch_dims: Any = 0) -> Any:
    _check_arrays(self, "input_indices", input_indices)
    if _is_scalar(input_indices) and math.prod(getattr(axis, "shape", ())) != 1:
        raise ValueError(
            f"gather: the second argument is a 0-d array, which is input_indices, but the third has shape "
            f"{tuple(axis.shape)} and is no axis; for gather(self, dim, index) write int(dim)"
        )
    axis = one_integer("gather", "axis", axis)
    self = _with_axis(self)
    return bind(_gather, self, input_indices=input_indices, axis=axis, batch_dims=batch_dims, negative="out_of_bounds")


# Python's own errors about missing and unknown arguments then name the public function.
_along_dim.__qualname__ = _slices.__qualname__ = "gather"


def _is_scalar(array: Any) -> bool:
    return getattr(array, "shape", None) == ()


def _with_axis(array: Any) -> Any:
    """The array, or one of shape (1,) in place of a scalar."""
    return array.reshape(1) if _is_scalar(array) else array


def _check_arrays(source: Any, role: str, index: Any) -> None:
    source = array_like("gather", "self", source)
    if source not in _DTYPES:
        raise TypeError(
            f"gather: self has dtype {dtype_name(source)}, expected bool, integers, floats of 16 to 64 bits or complex"
        )
    check_index_dtype("gather", role, array_like("gather", role, index))
