"""put.py: NumPy's put, put_along_axis, putmask and place on any array, with NumPy's signatures and messages."""

from __future__ import annotations

from typing import Any, Final, cast

from gatherscatter._numpy.put_general import place_anything, put_anything, put_anything_along_axis, putmask_anything
from gatherscatter._numpy.rules import MODE_RULES
from gatherscatter._ops.keywords import Mode, Negative, ScatterBounds
from gatherscatter._ops.operator import CallForm, Keyword, operator

__all__ = ["place", "put", "put_along_axis", "putmask"]

_KEYWORDS: Final[tuple[Keyword, ...]] = ("bounds", "negative", "mask")


@operator(
    CallForm("take_axis", "out", "index", "source", keywords=_KEYWORDS, axis=None, rules=MODE_RULES), returns_none=True
)
def put(
    a: Any,
    ind: Any,
    v: Any,
    mode: Mode = "raise",
    *,
    bounds: ScatterBounds | None = None,
    negative: Negative | None = None,
    mask: Any = None,
) -> None:
    """Write values at flat positions of an array, in place, as `numpy.put` does.

    ``a.flat[ind[j]] = v[j]``, in ascending flat position j: of several values for one element the last one is kept. `v`
    is read in C order and repeated cyclically.

    Parameters
    ----------
    a : array
        A writable array of NumPy, torch or any other library with ``__dlpack__``; any strides, and for NumPy any dtype
        of fixed-size items. Values and masks of a masked array are written, as by ``MaskedArray.put``.
    ind : array_like of integers
        Booleans count as 0 and 1.
    v : array_like
        If `a` is a NumPy array, `v` is cast to its dtype as NumPy does (``casting="unsafe"``). For other arrays it is a
        number or nested list whose values fit the dtype, or an array of that dtype. If it is empty, nothing is written
        and no index is checked.
    mode : {"raise", "wrap", "clip"}, default "raise"
        The modes of NumPy with NumPy's meaning: "clip" converts negative indices to 0.
    bounds : {"raise", "deferred", "drop", "clip", "wrap", "unchecked"}, optional
        The rule of `scatter` in place of `mode`: negative indices count from the end before an index is clipped.
    negative : {"from_end", "out_of_bounds"}, optional
        Meaning of negative indices. The default is "from_end", and "out_of_bounds" with ``mode="clip"``.
    mask : boolean array that broadcasts to the shape of `ind`, optional
        Where it is False, nothing is written and the index is ignored.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds; it is an IndexError, and nothing was written. It is an EmptyTargetError if `a` has
        no elements.
    TypeError
        If `a` is not an array, or is immutable; if indices do not cast to integers; if values do not cast; if items are
        references.
    ValueError
        If `a` is read-only or has elements that share memory; if `mode` is invalid or `bounds` contradicts it; if
        values do not convert.

    Notes
    -----
    Semantics of NumPy 2's `numpy.put`, with three differences. An error leaves `a` unchanged, whereas NumPy has written
    the values before it. NumPy's scalars are refused, whereas NumPy writes to a copy. ``uint64`` indices are accepted.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.zeros((2, 3), int)
    >>> gs.put(a, [0, 4, -1], [7, 8])
    >>> a
    array([[7, 0, 0],
           [0, 8, 7]])
    >>> gs.put(a, [1, 99], 5, bounds="drop")
    >>> a[0]
    array([7, 5, 0])
    """
    return cast(None, put_anything(a, ind, v, mode, bounds, negative, mask))


@operator(
    CallForm("along_axis", "out", "index", "source", "axis", keywords=("axis", *_KEYWORDS), match="broadcast"),
    returns_none=True,
)
def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    *,
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
) -> None:
    """Write one element for each index along an axis, in place, as `numpy.put_along_axis` does.

    ``arr[i, indices[i, j, k], k] = values[i, j, k]`` with `i` before `axis` and `k` after it, in ascending flat
    position: of several values for one element the last one is kept.

    Parameters
    ----------
    arr : array of shape (Ni..., M, Nk...)
        As in `put`.
    indices : integer array of shape (Ni..., J, Nk...)
        The axes other than `axis` broadcast with those of `arr`, in both directions.
    values : array_like that broadcasts to shape (Ni..., J, Nk...)
        Cast as in `put`.
    axis : int or None
        With None, `arr` is flattened and `indices` must have one axis.
    bounds, negative, mask
        As in `scatter`; `mask` broadcasts to the shape of the broadcast indices.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds; it is an IndexError, and nothing was written.
    IndexError
        If `arr` is a NumPy array and `indices` are not integers.
    ValueError
        If `arr` and `indices` differ in rank, or do not broadcast (this error is an IndexError, too); if `values` do
        not broadcast; if `arr` is read-only or has elements that share memory.
    TypeError
        If `arr` is not an array, or is immutable; if values do not cast; if items are references.
    numpy.exceptions.AxisError
        If there is no such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.put_along_axis`. With ``axis=None`` arrays that are not contiguous are accepted, which
    NumPy refuses. Arguments may overlap; the result is as if they had been copied first.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.array([[10, 30, 20], [60, 40, 50]])
    >>> gs.put_along_axis(a, a.argmax(axis=1, keepdims=True), 99, axis=1)
    >>> a
    array([[10, 99, 20],
           [99, 40, 50]])
    """
    return cast(None, put_anything_along_axis(arr, indices, values, axis, bounds, negative, mask))


@operator(CallForm("putmask", "out", "index", "source", axis=None), returns_none=True)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Write values where a mask is true, in place, as `numpy.putmask` does.

    ``a.flat[j] = values.flat[j % values.size]`` for each j where ``mask.flat[j]``.

    Parameters
    ----------
    a : array
        As in `put`. Only the values of a masked array are written, not its mask, as in NumPy.
    mask : array_like with as many elements as `a`
        Its true values are those of NumPy.
    values : array_like
        If `a` is a NumPy array, they are cast to its dtype as NumPy does (arrays with ``casting="safe"``). For other
        arrays as in `put`. If they are empty, nothing is written.

    Raises
    ------
    TypeError
        If `a` is not an array, or is immutable; if values do not cast; if items are references.
    ValueError
        If `mask` has another number of elements; if `a` is read-only or has elements that share memory.

    See Also
    --------
    place : writes the next value at each true element.

    Notes
    -----
    Semantics of NumPy 2's `numpy.putmask`.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.arange(5)
    >>> gs.putmask(a, a > 1, [-33, -44])
    >>> a
    array([  0,   1, -33, -44, -33])
    """
    return cast(None, putmask_anything(a, mask, values))


@operator(CallForm("place", "out", "index", "source", axis=None), returns_none=True)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the next value wherever a mask is true, in place, as `numpy.place` does.

    ``arr.flat[j] = vals.flat[n % vals.size]`` for the n-th j where ``mask.flat[j]``.

    Parameters
    ----------
    arr : array
        As in `putmask`.
    mask : array_like with as many elements as `arr`
        Its true values are those of NumPy.
    vals : array_like
        Cast as in `putmask`. They may be empty if the mask is false everywhere.

    Raises
    ------
    TypeError
        If `arr` is not an array, or is immutable; if values do not cast; if items are references.
    ValueError
        If `mask` has another number of elements; if `vals` is empty and `mask` has a true element; if `arr` is
        read-only or has elements that share memory.

    See Also
    --------
    putmask : writes the value at the flat position of the true element.

    Notes
    -----
    Semantics of NumPy 2's `numpy.place`.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.arange(5)
    >>> gs.place(a, a > 1, [-33, -44])
    >>> a
    array([  0,   1, -33, -44, -33])
    >>> gs.place(a, a == 1, [7, 8])
    >>> a
    array([  0,   7, -33, -44, -33])
    """
    return cast(None, place_anything(arr, mask, vals))
