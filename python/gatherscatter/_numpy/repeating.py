"""repeating.py: NumPy's repeat on any array: a take by the repeated positions."""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._libraries.adopt import refuse_recorded
from gatherscatter._libraries.columns import is_column, values_of
from gatherscatter._libraries.devices import is_on_device
from gatherscatter._libraries.recognise import is_masked_array
from gatherscatter._numpy.masked import same_points_masked
from gatherscatter._numpy.rules import index_type, is_literal, prefers_numpy, shape_of, two_arrays
from gatherscatter._numpy.take_general import axis_number, take_from
from gatherscatter._ops.keywords import HasShape, Nested
from gatherscatter._ops.operator import CallForm, operator
from gatherscatter._ops.progress_parts import Steps

__all__ = ["repeat"]

_Array = TypeVar("_Array", bound=HasShape)
_Scalar = TypeVar("_Scalar", bound=np.generic)


@overload
def repeat(a: Nested, repeats: Any, axis: int | None = None) -> npt.NDArray[Any]: ...
@overload
def repeat(a: npt.NDArray[_Scalar], repeats: Any, axis: int | None = None) -> npt.NDArray[_Scalar]: ...
@overload
def repeat(a: _Array, repeats: Any, axis: int | None = None) -> _Array: ...
@operator(CallForm("repeat", "input", "index", "axis", keywords=("axis",), axis=None))
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeat the slices of an array along an axis, each as many times as its count says, as in `numpy.repeat`.

    ``result = take(a, [j for j in range(M) for _ in range(repeats[j])], axis)``

    Parameters
    ----------
    a : array_like of shape (Ni..., M, Nk...)
        As in `take`: any library, dtype of fixed-size items, strides and subclass.
    repeats : int or array_like of ints
        The counts: one for each position of the axis, or one for all of them. They lie in host memory.
    axis : int, optional
        None repeats the items of the flattened array.

    Returns
    -------
    array of shape (Ni..., sum of the counts, Nk...)
        Of the library, dtype and subclass of `a`, C-contiguous.

    Raises
    ------
    TypeError
        If counts do not cast to int64 safely, with NumPy's message; if they lie on a GPU; if items are references.
    ValueError
        If a count is negative, if their number is neither 1 nor M, or if their sum is beyond int64.
    numpy.exceptions.AxisError
        If there is no such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.repeat`. The call is a take by an index of the smallest unsigned type for M: one index
    for each position of the result along the axis, so that repeating single items of a large flattened array writes and
    reads an index for each of them. A plan is one of the take: it is called with an array and an index.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> gs.repeat(np.array([4, 5, 6]), [2, 0, 3])
    array([4, 4, 6, 6, 6])
    >>> gs.repeat(np.array([[1, 2], [3, 4]]), 2, axis=1)
    array([[1, 1, 2, 2],
           [3, 3, 4, 4]])
    """
    if is_literal(a):
        a = np.asarray(a)
    if is_masked_array(a):
        at, index = _points(a, repeats, axis)

        def repeat_part(part: Any, *_: Any) -> Any:
            return take_from("repeat", part, index, at, None, "raise", "from_end", None, None)

        run = partial(same_points_masked, "repeat", repeat_part, a, None, None, None)
        return _core.steps("repeat", run, str(two_arrays(a)))
    if prefers_numpy(a, "repeat"):
        return np.repeat(a, repeats, axis)
    return _repeat_array(a, repeats, axis)


def _repeat_array(a: Any, repeats: Any, axis: Any) -> _core.Call:
    at, index = _points(a, repeats, axis)
    return take_from("repeat", a, index, at, None, "raise", "from_end", None, None)


def _points(a: Any, repeats: Any, axis: Any) -> tuple[int | None, npt.NDArray[Any]]:
    """The axis of the take, and its index."""
    shape = shape_of("repeat", a)
    counts = _counts(repeats)
    at = axis_number(axis, len(shape) or 1)
    if not shape:
        at = None  # NumPy accepts the axes 0 and -1 for a 0-d array
    n = math.prod(shape) if at is None else shape[at]
    return at, _index_of(n, counts)


def _index_of(n: int, counts: Any) -> npt.NDArray[Any]:
    """The positions of n items, each as often as its count says; errors are those of NumPy."""
    kind = index_type(n)
    values = np.asarray(counts)
    if values.dtype.kind in "iub" and np.can_cast(values.dtype, np.int64, "safe"):
        counts = values if values.ndim <= 1 else counts  # what is checked is what is used
        if values.shape == (n,) and n > 1:
            values = np.ascontiguousarray(values, np.int64)
            # The positions report nothing, because what the gather reports begins at 0.
            with Steps(1).hidden() if _core.progress_blocks.get() else nullcontext():
                index = _core.repeated_positions("repeat", values, np.empty(0, kind))
            if index is not None:
                return index
        elif values.size == 1:  # NumPy 2.4 multiplies without a check: it crashes, or leaves its result unwritten
            if values.item() * n > sys.maxsize:
                raise ValueError(f"repeat: {n} times {values.item()} positions are more than {sys.maxsize}")
            if values.item() * n < 0:
                raise ValueError("negative dimensions are not allowed")
    return np.repeat(np.arange(n, dtype=kind), counts)


def _counts(repeats: Any) -> Any:
    if is_on_device(repeats):
        raise TypeError("repeat: repeats lies on a GPU; pass host integers, because reading it would wait for the GPU")
    refuse_recorded("repeat", "repeats", repeats)
    if is_literal(repeats):
        return repeats
    # NumPy reads counts twice, so an array is copied: another thread may change it in between. The copy has the dtype
    # that positions are made from, so that there is no second one.
    counts = values_of("repeat", "repeats", repeats) if is_column(repeats) else np.asarray(repeats)
    is_safe = counts.dtype.kind in "iub" and np.can_cast(counts.dtype, np.int64, "safe")
    return np.array(counts, np.int64 if is_safe else None)
