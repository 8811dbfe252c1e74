"""numpy_put.py: NumPy's put, put_along_axis, putmask and place, with its signatures and words, on any array."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from gatherscatter._core import operator_lane
from gatherscatter._core import scatter_along as _scatter_along
from gatherscatter._core import scatter_axis as _scatter_axis
from gatherscatter._numpy_writes import (
    place_anything,
    plan_in,
    put_anything,
    put_anything_along_axis,
    putmask_anything,
)
from gatherscatter._types import Mode, Negative, ScatterBounds
from gatherscatter.errors import OutOfBoundsError

__all__ = ["place", "put", "put_along_axis", "putmask"]

_ndarray = np.ndarray
_RAISE: Final = "raise"
_FROM_END: Final = "from_end"


@operator_lane("put")
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

    ``a.flat[ind[j]] = v[j]``, in ascending flat position j: of several values for one element the last one stays. `v`
    is read in C order, and begun anew where it ends.

    Parameters
    ----------
    a : array
        Of NumPy, torch or any other library with ``__dlpack__`` whose arrays can be written to; any strides, and of
        NumPy any dtype of fixed-size items. Masked arrays get values and masks, as from ``MaskedArray.put``.
    ind : array_like of integers
        Booleans count as 0 and 1.
    v : array_like
        For a NumPy array cast to its dtype as NumPy does (``casting="unsafe"``). For other arrays a number or nested
        list whose values fit the dtype, or an array of that dtype. Without any element nothing is written, and no
        index is looked at.
    mode : {"raise", "wrap", "clip"}, default "raise"
        NumPy's three, with NumPy's meaning: "clip" turns negative indices into 0.
    bounds : {"raise", "deferred", "drop", "clip", "wrap", "unchecked"}, optional
        The rule of `scatter` in place of `mode`: here negatives count from the end before anything is clipped.
    negative : {"from_end", "out_of_bounds"}, optional
        Meaning of negative indices. The default is "from_end", and "out_of_bounds" with ``mode="clip"``.
    mask : boolean array that broadcasts to the shape of `ind`, optional
        False: nothing is written and the index is not looked at.

    Raises
    ------
    OutOfBoundsError
        An index outside; it is an IndexError. Nothing was written. A plain IndexError where `a` has no elements.
    TypeError
        `a` is no array, or immutable; indices that do not cast to integers; values that do not cast; items that are
        references.
    ValueError
        `a` is read-only or has elements that share memory; wrong `mode`, `bounds` that contradict it; values that do
        not convert.

    Notes
    -----
    Semantics of NumPy 2's `numpy.put`, with three differences. An error leaves `a` as it was, where NumPy has written
    the values before it. NumPy's scalars are refused, where NumPy writes to a copy. ``uint64`` indices are taken.

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
    if (
        mode is _RAISE
        and bounds is None
        and mask is None
        and negative is None
        and type(a) is type(ind) is type(v) is _ndarray
        and v.dtype == a.dtype
        and v.shape == ind.shape
    ):
        try:
            result = _scatter_axis("put", a, ind, None, 0, v, _RAISE, _FROM_END, None, True, "last", None, a)
            return cast(None, plan_in(result))
        except OutOfBoundsError as error:
            if error.size or type(error) is not OutOfBoundsError:
                raise
        except (TypeError, ValueError):
            pass  # the long way finds NumPy's answer or NumPy's words; nothing was written
    return cast(None, put_anything(a, ind, v, mode, bounds, negative, mask))


@operator_lane("put_along_axis")
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
    position: of several values for one element the last one stays.

    Parameters
    ----------
    arr : array of shape (Ni..., M, Nk...)
        As in `put`.
    indices : integer array of shape (Ni..., J, Nk...)
        The axes other than `axis` broadcast with those of `arr`, in both directions.
    values : array_like that broadcasts to shape (Ni..., J, Nk...)
        Cast as in `put`.
    axis : int or None
        None: `arr` is flattened and `indices` have one axis.
    bounds, negative, mask
        As in `scatter`; `mask` broadcasts to the shape of the indices once they are broadcast.

    Raises
    ------
    OutOfBoundsError
        An index outside; it is an IndexError. Nothing was written.
    IndexError
        Indices of a NumPy array that are no integers.
    ValueError
        `arr` and `indices` differ in rank, or do not broadcast (this one is an IndexError too); `values` do not
        broadcast; `arr` is read-only or has elements that share memory.
    TypeError
        `arr` is no array, or immutable; values that do not cast; items that are references.
    numpy.exceptions.AxisError
        No such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.put_along_axis`. Without axis, an array that is not contiguous is written to as well,
    which NumPy refuses. Overlap of the arguments is answered as if they were copied first.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> a = np.array([[10, 30, 20], [60, 40, 50]])
    >>> gs.put_along_axis(a, a.argmax(axis=1, keepdims=True), 99, axis=1)
    >>> a
    array([[10, 99, 20],
           [99, 40, 50]])
    """
    if (
        bounds is _RAISE
        and negative is _FROM_END
        and mask is None
        and type(arr) is type(indices) is type(values) is _ndarray
        and values.dtype == arr.dtype
        and arr.ndim
    ):
        try:
            result = _scatter_along(
                "put_along_axis",
                arr,
                indices,
                axis,
                "broadcast",
                values,
                _RAISE,
                _FROM_END,
                None,
                True,
                "last",
                None,
                arr,
            )
            return cast(None, plan_in(result))
        except OutOfBoundsError:
            raise
        except (TypeError, ValueError):
            pass  # as above
    return cast(None, put_anything_along_axis(arr, indices, values, axis, bounds, negative, mask))


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Write values where a mask is true, in place, as `numpy.putmask` does.

    ``a.flat[j] = values.flat[j % values.size]`` for each j where ``mask.flat[j]``.

    Parameters
    ----------
    a : array
        As in `put`. Of a masked array only the values are written, as in NumPy.
    mask : array_like with as many elements as `a`
        What counts as true is NumPy's.
    values : array_like
        For a NumPy array cast to its dtype as NumPy does (arrays ``casting="safe"``). For other arrays as in `put`.
        Without any element nothing is written.

    Raises
    ------
    TypeError
        `a` is no array, or immutable; values that do not cast; items that are references.
    ValueError
        `mask` has another number of elements; `a` is read-only or has elements that share memory.

    See Also
    --------
    place : takes the next value at each true element.

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


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the next value wherever a mask is true, in place, as `numpy.place` does.

    ``arr.flat[j] = vals.flat[n % vals.size]`` for the n-th j where ``mask.flat[j]``.

    Parameters
    ----------
    arr : array
        As in `putmask`.
    mask : array_like with as many elements as `arr`
        What counts as true is NumPy's.
    vals : array_like
        Cast as in `putmask`. They may be empty if the mask is false everywhere.

    Raises
    ------
    TypeError
        `arr` is no array, or immutable; values that do not cast; items that are references.
    ValueError
        `mask` has another number of elements; `vals` is empty and needed; `arr` is read-only or has elements that
        share memory.

    See Also
    --------
    putmask : takes the value at the same flat position.

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
