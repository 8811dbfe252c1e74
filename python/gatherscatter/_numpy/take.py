"""take.py: NumPy's take, take_along_axis and compress on any array, with NumPy's signatures and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter._numpy.rules import MODE_RULES, rule_of
from gatherscatter._numpy.take_general import compress_anything, take_anything, take_anything_along_axis
from gatherscatter._ops.keywords import Bounds, HasShape, Mode, Negative, Nested
from gatherscatter._ops.operator import GATHER_KEYWORDS, CallForm, operator
from gatherscatter._values.fill import check_fill_is_used

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gatherscatter._ops.keywords import GatherKeywords, TakeKeywords

__all__ = ["compress", "take", "take_along_axis"]

_Array = TypeVar("_Array", bound=HasShape)
_Scalar = TypeVar("_Scalar", bound=np.generic)


@overload
def take(
    a: Nested,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    **keywords: Unpack[TakeKeywords],
) -> npt.NDArray[Any]: ...
@overload
def take(
    a: npt.NDArray[_Scalar],
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    **keywords: Unpack[TakeKeywords],
) -> npt.NDArray[_Scalar]: ...
@overload
def take(
    a: _Array,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    **keywords: Unpack[TakeKeywords],
) -> _Array: ...
@operator(
    CallForm(
        "take_axis",
        "input",
        "index",
        "axis",
        keywords=("axis", "out", *GATHER_KEYWORDS),
        axis=None,
        rules=MODE_RULES,
    )
)
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
        An array of NumPy, torch, JAX or any other library with ``__dlpack__``, with any dtype of fixed-size items and
        any strides; or a list, scalar or masked array (data and mask are both taken).
    indices : array_like of integers, of shape (Nj...)
        Booleans count as 0 and 1, as in NumPy.
    axis : int, optional
        None takes from the flattened array.
    out : array of shape (Ni..., Nj..., Nk...), optional
        Receives the whole result, or stays unchanged if an error is raised. It must have the dtype of `a`; NumPy would
        cast to some other dtypes. It may overlap `a`.
    mode : {"raise", "wrap", "clip"}, default "raise"
        The modes of NumPy with NumPy's meaning: "clip" converts negative indices to 0.
    bounds : {"raise", "deferred", "fill", "clip", "wrap", "unchecked"}, optional
        The rule of `gather` in place of `mode`: negative indices count from the end before an index is clipped.
    negative : {"from_end", "out_of_bounds"}, optional
        Meaning of negative indices. The default is "from_end", and "out_of_bounds" with ``mode="clip"``.
    fill_value : scalar, optional
        Value of masked points, and with ``bounds="fill"`` of points that are out of bounds; default 0, NaT for dates
        and durations. It is an error without either.
    mask : boolean array that broadcasts to the shape of `indices`, optional
        Where it is False, the result is `fill_value` and the index is ignored.

    Returns
    -------
    array of shape (Ni..., Nj..., Nk...)
        Of the library, dtype and subclass of `a`; `out` if that is given; a scalar where NumPy returns one.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds; it is an IndexError. It is an EmptyAxisError if the axis has no elements.
    TypeError
        If indices do not cast to integers, with NumPy's message; if `out` has another dtype; if items are references.
    ValueError
        If `mode` is invalid, `bounds` contradicts it, `out` has another shape, or `fill_value` does not fit the dtype.
    numpy.exceptions.AxisError
        If there is no such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.take`; also valid as the array-API standard's ``take(x, indices, /, *, axis)``.
    ``uint64`` indices are compared at full width, whereas NumPy casts them to int64.

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
    rule = rule_of("take", mode, bounds, negative)
    check_fill_is_used("take", fill_value, rule[0], mask)
    return take_anything(a, indices, axis, out, *rule, fill_value, mask)


@overload
def take_along_axis(
    arr: Nested, indices: Any, axis: int | None = -1, **keywords: Unpack[GatherKeywords[Any]]
) -> npt.NDArray[Any]: ...
@overload
def take_along_axis(
    arr: npt.NDArray[_Scalar], indices: Any, axis: int | None = -1, **keywords: Unpack[GatherKeywords[Any]]
) -> npt.NDArray[_Scalar]: ...
@overload
def take_along_axis(
    arr: _Array, indices: Any, axis: int | None = -1, **keywords: Unpack[GatherKeywords[Any]]
) -> _Array: ...
@operator(
    CallForm(
        "along_axis",
        "input",
        "index",
        "axis",
        keywords=("axis", "out", *GATHER_KEYWORDS),
        axis=-1,
        match="broadcast",
    ),
)
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
        With None, `arr` is flattened and `indices` must have one axis.
    bounds, negative, fill_value, mask, out
        As in `gather`; `mask` broadcasts to the shape of the result.

    Returns
    -------
    array of shape (Ni..., J, Nk...)
        Of the library, dtype and subclass of `arr`; `out` if that is given.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds; it is an IndexError.
    IndexError
        If `arr` is a NumPy array and `indices` are not integers.
    ValueError
        If `arr` and `indices` differ in rank, or do not broadcast (this error is an IndexError, too).
    TypeError
        If `out` has another dtype; if items are references.
    numpy.exceptions.AxisError
        If there is no such axis.

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
    check_fill_is_used("take_along_axis", fill_value, bounds, mask)
    return take_anything_along_axis(arr, indices, axis, out, bounds, negative, fill_value, mask)


@overload
def compress(condition: Any, a: Nested, axis: int | None = None, out: Any = None) -> npt.NDArray[Any]: ...
@overload
def compress(
    condition: Any, a: npt.NDArray[_Scalar], axis: int | None = None, out: Any = None
) -> npt.NDArray[_Scalar]: ...
@overload
def compress(condition: Any, a: _Array, axis: int | None = None, out: Any = None) -> _Array: ...
@operator(CallForm("compress", "index", "input", "axis", keywords=("axis",), axis=None))
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """Take the slices of an array along an axis at which a condition holds, as `numpy.compress` does.

    ``result = take(a, [j for j in range(len(condition)) if condition[j]], axis)``

    Parameters
    ----------
    condition : array_like of shape (K,)
        True values are those of NumPy: numbers other than 0 and non-empty strings. It may be shorter than the axis, and
        it may be longer if the additional items are false.
    a : array_like of shape (Ni..., M, Nk...)
        As in `take`.
    axis : int, optional
        None takes from the flattened array.
    out : array, optional
        Receives the result, as in `take`.

    Returns
    -------
    array of shape (Ni..., J, Nk...)
        J is the number of true items. Of the library, dtype and subclass of `a`; `out` if that is given.

    Raises
    ------
    ValueError
        If `condition` does not have one axis, or `out` has another shape.
    OutOfBoundsError
        If a true item is beyond the axis; it is an IndexError. It is an EmptyAxisError if the axis has no elements.
    TypeError
        If `out` has another dtype; if items are references.
    numpy.exceptions.AxisError
        If there is no such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.compress`. The mask of a masked `out` is written as well, which NumPy does not do.

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
