"""numpy_api.py: NumPy's take, take_along_axis and compress, with its signatures, answers and words, on any array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter._core import along_axis as _along_axis
from gatherscatter._core import operator_lane
from gatherscatter._core import take_axis as _take_axis
from gatherscatter._numpy_reads import compress_anything, take_anything, take_anything_along_axis
from gatherscatter._numpy_rules import is_foreign, rule_of
from gatherscatter._types import Bounds, Mode, Negative
from gatherscatter.errors import OutOfBoundsError

__all__ = ["compress", "take", "take_along_axis"]

_ndarray = np.ndarray
_RAISE: Final = "raise"
_FROM_END: Final = "from_end"

# A list or a number, which NumPy makes an array of.
_Nested = Sequence[Any] | complex


class _HasShape(Protocol):
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


_Array = TypeVar("_Array", bound=_HasShape)
_Scalar = TypeVar("_Scalar", bound=np.generic)


@overload
def take(
    a: _Nested,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    *,
    bounds: Bounds | None = None,
    negative: Negative | None = None,
    fill_value: Any = None,
    mask: Any = None,
) -> npt.NDArray[Any]: ...
@overload
def take(
    a: npt.NDArray[_Scalar],
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    *,
    bounds: Bounds | None = None,
    negative: Negative | None = None,
    fill_value: Any = None,
    mask: Any = None,
) -> npt.NDArray[_Scalar]: ...
@overload
def take(
    a: _Array,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    *,
    bounds: Bounds | None = None,
    negative: Negative | None = None,
    fill_value: Any = None,
    mask: Any = None,
) -> _Array: ...
@operator_lane("take")
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
    """Take slices of an array along an axis, as `numpy.take` does.

    ``result[i, j, k] = a[i, indices[j], k]`` with `i` before `axis`, `k` after it, and `j` of any rank.

    Parameters
    ----------
    a : array_like of shape (Ni..., M, Nk...)
        Any dtype of fixed-size items, any strides. An array of NumPy, torch, JAX or any other library with
        ``__dlpack__``, and what NumPy makes an array of: lists, scalars, masked arrays (data and mask are both taken).
    indices : array_like of integers, of shape (Nj...)
        Booleans count as 0 and 1, as in NumPy.
    axis : int, optional
        None takes from the flattened array.
    out : array of shape (Ni..., Nj..., Nk...), optional
        Receives the result: all of it, or nothing when an error is raised. It has the dtype of `a`; other dtypes, some
        of which NumPy casts to, are refused. It may overlap `a`.
    mode : {"raise", "wrap", "clip"}, default "raise"
        NumPy's three, with NumPy's meaning: "clip" turns negative indices into 0.
    bounds : {"raise", "deferred", "fill", "clip", "wrap", "unchecked"}, optional
        The rule of `gather` in place of `mode`: here negatives count from the end before anything is clipped.
    negative : {"from_end", "out_of_bounds"}, optional
        Meaning of negative indices. The default is "from_end", and "out_of_bounds" with ``mode="clip"``.
    fill_value : scalar, optional
        What masked points get, and points outside with ``bounds="fill"``; default 0.
    mask : boolean array that broadcasts to the shape of `indices`, optional
        False: the point is `fill_value` and its index is not looked at.

    Returns
    -------
    array of shape (Ni..., Nj..., Nk...)
        Of the library, dtype and subclass of `a`; `out` where that is given; a scalar where NumPy gives one.

    Raises
    ------
    OutOfBoundsError
        An index outside; it is an IndexError. An EmptyAxisError where the axis has no elements.
    TypeError
        Indices that do not cast to integers, in NumPy's words; `out` of another dtype; items that are references.
    ValueError
        Wrong `mode`, `bounds` that contradict it, `out` of another shape, a `fill_value` that does not fit the dtype.
    numpy.exceptions.AxisError
        No such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.take`; also valid as the array-API standard's ``take(x, indices, /, *, axis)``.
    ``uint64`` indices are compared at full width, where NumPy folds them into int64.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.array([4, 3, 5, 7, 6, 8])
    >>> gs.take(a, np.array([[0, 1], [-1, -2]]))
    array([[4, 3],
           [8, 6]])
    >>> gs.take(a, np.array([-1, 9]), mode="clip"), gs.take(a, np.array([-1, 9]), bounds="clip")
    (array([4, 8]), array([8, 8]))
    >>> gs.take(a, np.array([1, 9]), bounds="fill", fill_value=-1)
    array([ 3, -1])
    """
    if (
        mode is _RAISE
        and bounds is None
        and mask is None
        and out is None
        and negative is None
        and fill_value is None
        and ((type(a) is _ndarray and type(indices) is _ndarray) or is_foreign(a))
    ):
        try:
            return _take_axis("take", a, indices, axis, 0, _RAISE, _FROM_END, None, None, None)
        except OutOfBoundsError as error:
            if error.size or type(error) is not OutOfBoundsError:
                raise
        except (TypeError, ValueError):
            pass  # the long way finds NumPy's answer or NumPy's words
    return take_anything(a, indices, axis, out, *rule_of("take", mode, bounds, negative), fill_value, mask)


@overload
def take_along_axis(
    arr: _Nested,
    indices: Any,
    axis: int | None = -1,
    *,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> npt.NDArray[Any]: ...
@overload
def take_along_axis(
    arr: npt.NDArray[_Scalar],
    indices: Any,
    axis: int | None = -1,
    *,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> npt.NDArray[_Scalar]: ...
@overload
def take_along_axis(
    arr: _Array,
    indices: Any,
    axis: int | None = -1,
    *,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> _Array: ...
@operator_lane("take_along_axis")
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
    """Take one element for each index along an axis, as `numpy.take_along_axis` does.

    ``result[i, j, k] = arr[i, indices[i, j, k], k]`` with `i` before `axis` and `k` after it.

    Parameters
    ----------
    arr : array_like of shape (Ni..., M, Nk...)
        As in `take`.
    indices : integer array of shape (Ni..., J, Nk...)
        The axes other than `axis` broadcast with those of `arr`, in both directions.
    axis : int, default -1
        None: `arr` is flattened and `indices` have one axis.
    bounds, negative, fill_value, mask, out
        As in `gather`; `mask` broadcasts to the shape of the result.

    Returns
    -------
    array of shape (Ni..., J, Nk...)
        Of the library, dtype and subclass of `arr`; `out` where that is given.

    Raises
    ------
    OutOfBoundsError
        An index outside; it is an IndexError.
    IndexError
        Indices of a NumPy array that are no integers.
    ValueError
        `arr` and `indices` differ in rank, or do not broadcast (this one is an IndexError too).
    TypeError
        `out` of another dtype; items that are references.
    numpy.exceptions.AxisError
        No such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.take_along_axis`; also valid as the array-API standard's function of that name.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.array([[10, 30, 20], [60, 40, 50]])
    >>> gs.take_along_axis(a, np.argsort(a, axis=1), axis=1)
    array([[10, 20, 30],
           [40, 50, 60]])
    >>> gs.take_along_axis(a, np.array([[2], [7]]), bounds="fill", fill_value=-1)
    array([[20],
           [-1]])
    """
    if (
        bounds is _RAISE
        and negative is _FROM_END
        and mask is None
        and out is None
        and fill_value is None
        and ((type(arr) is _ndarray and type(indices) is _ndarray and arr.ndim) or is_foreign(arr))
    ):
        try:
            return _along_axis("take_along_axis", arr, indices, axis, "broadcast", bounds, negative, None, None, None)
        except OutOfBoundsError:
            raise
        except (TypeError, ValueError):
            pass  # the long way finds NumPy's answer or NumPy's words
    return take_anything_along_axis(arr, indices, axis, out, bounds, negative, fill_value, mask)


@overload
def compress(condition: Any, a: _Nested, axis: int | None = None, out: Any = None) -> npt.NDArray[Any]: ...
@overload
def compress(
    condition: Any, a: npt.NDArray[_Scalar], axis: int | None = None, out: Any = None
) -> npt.NDArray[_Scalar]: ...
@overload
def compress(condition: Any, a: _Array, axis: int | None = None, out: Any = None) -> _Array: ...
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """Take the slices of an array along an axis at which a condition holds, as `numpy.compress` does.

    ``result = take(a, [j for j in range(len(condition)) if condition[j]], axis)``

    Parameters
    ----------
    condition : array_like of shape (K,)
        What counts as true is NumPy's: numbers other than 0, strings that are not empty. It may be shorter than the
        axis, and longer where it is false.
    a : array_like of shape (Ni..., M, Nk...)
        As in `take`.
    axis : int, optional
        None takes from the flattened array.
    out : array, optional
        Receives the result, as in `take`.

    Returns
    -------
    array of shape (Ni..., J, Nk...)
        J is the number of true items. Of the library, dtype and subclass of `a`; `out` where that is given.

    Raises
    ------
    ValueError
        `condition` has not one axis; `out` of another shape.
    OutOfBoundsError
        A true item beyond the axis; it is an IndexError. An EmptyAxisError where the axis has no elements.
    TypeError
        `out` of another dtype; items that are references.
    numpy.exceptions.AxisError
        No such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.compress`. A masked `out` gets the mask as well, which NumPy forgets.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.array([[1, 2, 3], [4, 5, 6]])
    >>> gs.compress([False, True, True], a, axis=1)
    array([[2, 3],
           [5, 6]])
    >>> gs.compress(a.ravel() > 3, a)
    array([4, 5, 6])
    """
    return compress_anything(condition, a, axis, out)
