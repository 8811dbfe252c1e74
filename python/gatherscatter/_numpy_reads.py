"""_numpy_reads.py: everything about NumPy's take, take_along_axis and compress that is not the usual call."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gatherscatter import _core
from gatherscatter._device import is_on_device
from gatherscatter._fill import as_fill
from gatherscatter._no_arrays import is_masked_array, is_ndarray
from gatherscatter._numpy_rules import (
    NUMPYS_MODES,
    as_index_array,
    axis_of_index,
    cast_to_integers,
    is_literal,
    memory_of,
    only_numpys_keywords,
    prefers_numpy,
    that_differ,
    true_positions,
    two_arrays,
    with_shape,
)
from gatherscatter._types import Bounds, Negative
from gatherscatter.errors import DeferredOutOfBoundsError, EmptyAxisError, OutOfBoundsError

__all__ = ["compress_anything", "take_anything", "take_anything_along_axis"]

_ndarray = np.ndarray


def take_anything(
    a: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> Any:
    """`take` without its short cut."""

    def again(part: Any, index: Any, into: Any, fill: Any) -> Any:
        return take_anything(part, index, axis, into, bounds, negative, fill, mask)

    if is_literal(a):
        a = np.asarray(a)
    if is_masked_array(a):
        return _take_masked(again, a, indices, axis, out, fill_value)
    if prefers_numpy(a, "take"):
        only_numpys_keywords("take", a, (bounds, negative) in NUMPYS_MODES, fill_value, mask)
        mode = NUMPYS_MODES[bounds, negative]
        return np.take(a, indices, axis=axis, **that_differ(out=(out, None), mode=(mode, "raise")))
    return _take_from("take", a, indices, axis, out, bounds, negative, fill_value, mask)


def compress_anything(condition: Any, a: Any, axis: Any, out: Any) -> Any:
    """`compress`: a take of the places where the condition holds."""

    def again(part: Any, index: Any, into: Any, fill: Any) -> Any:
        return _take_from("compress", part, index, axis, into, "raise", "from_end", fill, None)

    if is_literal(a):
        a = np.asarray(a)
    if prefers_numpy(a, "compress") and not is_masked_array(a):
        return np.compress(condition, a, axis=axis, **that_differ(out=(out, None)))
    condition = with_shape("compress", "condition", condition)
    if not is_on_device(condition):
        condition = np.asarray(condition)
    if len(condition.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    indices = true_positions("compress", "condition", condition)
    if is_masked_array(a):
        return _same_points_masked(again, a, indices, out, None)
    return again(a, indices, out, None)


def _take_from(
    op: str, a: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> Any:
    base = a
    if is_ndarray(a):
        base = memory_of(a)
        indices = cast_to_integers(op, indices, "same_kind")
        if base.ndim == 0:
            base = base.reshape(1)  # NumPy lets a scalar have the axes 0 and -1
        if axis is None and isinstance(a, np.matrix):
            base, axis = base.reshape(1, -1), 1  # a matrix that is flattened still has two axes
        axis = _axis_number(axis, base.ndim)
        if out is not None:
            _check_out(out, base, indices, axis)
    try:
        result = _core.take_axis(
            op, base, indices, axis, 0, bounds, negative, as_fill(op, base, fill_value), mask, memory_of(out)
        )
    except OutOfBoundsError as error:
        is_own = not isinstance(error, DeferredOutOfBoundsError)
        if is_own and error.size == 0 and _is_all_that_is_empty(error.axis, base, axis):
            raise EmptyAxisError(*error.fields()) from None
        raise
    if isinstance(result, _core.Plan):
        return result
    return _in_class_of(a, result) if out is None else out


def take_anything_along_axis(
    arr: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> Any:
    """`take_along_axis` without its short cut."""

    def again(part: Any, index: Any, into: Any, fill: Any) -> Any:
        return take_anything_along_axis(part, index, axis, into, bounds, negative, fill, mask)

    if is_literal(arr):
        arr = np.asarray(arr)
    if is_masked_array(arr):
        return _same_points_masked(again, arr, indices, out, fill_value)
    if prefers_numpy(arr, None):
        only_numpys_keywords("take_along_axis", arr, (bounds, negative) == ("raise", "from_end"), fill_value, mask, out)
        return np.take_along_axis(arr, indices, axis)

    base = arr
    if is_ndarray(arr):
        base = memory_of(arr)
        indices = as_index_array("take_along_axis", indices)
        axis = axis_of_index(base, indices, axis)
    result = _core.along_axis(
        "take_along_axis",
        base,
        indices,
        axis,
        "broadcast",
        bounds,
        negative,
        as_fill("take_along_axis", base, fill_value),
        mask,
        memory_of(out),
    )
    if isinstance(result, _core.Plan):
        return result
    if out is not None:
        return out
    return result if axis is None else _in_class_of(arr, result)  # flattening forgets the class, as in NumPy


def _axis_number(axis: Any, rank: int) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, bool | np.bool_):
        raise TypeError("an integer is required for the axis")
    return normalize_axis_index(operator.index(axis), rank)


def _check_out(out: Any, base: np.ndarray[Any, Any], indices: Any, axis: int | None) -> None:
    """NumPy's words for an unsuitable `out`; its dtype, flags and overlap are looked at below."""
    if not is_ndarray(out):
        raise TypeError("output must be an array")
    if not hasattr(indices, "shape"):
        return
    shape = tuple(indices.shape)
    if axis is not None:
        shape = base.shape[:axis] + shape + base.shape[axis + 1 :]
    if out.shape != shape:
        raise ValueError(
            f"output array does not match result of ndarray.take: it has shape {out.shape}, the result {shape}"
        )


def _is_all_that_is_empty(at: int, base: Any, axis: int | None) -> bool:
    """Whether a result would have elements, were it not for this axis: then NumPy speaks of an empty take."""
    shape = tuple(getattr(base, "shape", ()))
    return axis is None or 0 not in shape[:at] + shape[at + 1 :]


_Again = Callable[[Any, Any, Any, Any], Any]


def _take_masked(again: _Again, a: Any, indices: Any, axis: Any, out: Any, fill_value: Any) -> Any:
    """NumPy's rule: the mask is taken as the data is, and a masked index, read as 0, gives masked items."""
    index_mask = np.ma.getmask(indices)
    if index_mask is not np.ma.nomask:
        indices = indices.filled(0)
    # A copy where nothing is masked: an index may still be.
    own_mask = a.mask if index_mask is np.ma.nomask else np.ma.getmaskarray(a)
    result_mask = own_mask if own_mask is np.ma.nomask else _array_of(a, again(own_mask, indices, None, None))
    if index_mask is not np.ma.nomask:
        # NumPy lines the two up at their last axes, which is wrong where slices are taken.
        behind = 0 if axis is None or a.ndim == 0 else a.ndim - 1 - normalize_axis_index(axis, a.ndim)
        result_mask = result_mask | index_mask.reshape(index_mask.shape + (1,) * behind)
    data = again(a.data, indices, out, fill_value)
    if out is None:
        out = _array_of(a, data).view(type(a))
    if is_masked_array(out):
        out.mask = result_mask
    return out[()]


def _same_points_masked(again: _Again, arr: Any, indices: Any, out: Any, fill_value: Any) -> Any:
    """As indexing a masked array: data and mask alike, and the result keeps what else the array carries."""
    own_mask = arr.mask
    result_mask = own_mask if own_mask is np.ma.nomask else _array_of(arr, again(own_mask, indices, None, None))
    data = again(arr.data, indices, out, fill_value)
    if out is None:
        out = _array_of(arr, data).view(type(arr))
        out.__array_finalize__(arr)
    if is_masked_array(out):
        out.mask = result_mask
    return out


def _array_of(a: Any, data: Any) -> Any:
    if isinstance(data, _core.Plan):
        raise two_arrays(a)
    return np.asanyarray(data)


def _in_class_of(a: Any, result: Any) -> Any:
    """`result` as NumPy returns it from a subclass: seen, and perhaps reshaped, by its `__array_finalize__`."""
    if type(a) is _ndarray or not is_ndarray(a):
        return result
    view = np.asarray(result).view(type(a))
    view.__array_finalize__(a)
    return view if view.ndim else result
