"""take_general.py: the general cases of takes by NumPy's rules: subclasses, masked arrays, casts, `out`."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gatherscatter import _core
from gatherscatter._libraries.adopt import refuse_recorded
from gatherscatter._libraries.devices import is_on_device
from gatherscatter._libraries.recognise import is_masked_array, is_ndarray
from gatherscatter._numpy.masked import NO_NUMBERS, same_points_masked, take_masked, twice_read
from gatherscatter._numpy.rules import (
    NUMPYS_MODES,
    as_index_array,
    axis_of_index,
    by_numpy,
    cast_to_integers,
    is_literal,
    memory_of,
    non_defaults,
    prefers_numpy,
    require_numpy_arguments,
    true_positions,
    two_arrays,
    with_shape,
)
from gatherscatter._ops.keywords import Bounds, Negative
from gatherscatter._values.fill import fill_of
from gatherscatter.errors import DeferredOutOfBoundsError, EmptyAxisError, OutOfBoundsError

__all__ = [
    "axis_number",
    "compress_anything",
    "finished_as",
    "in_class_of",
    "take_anything",
    "take_anything_along_axis",
    "take_from",
]

_ndarray = np.ndarray


def take_anything(
    a: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> Any:
    """`take` for any arguments."""
    if is_literal(a):
        a = np.asarray(a)
    if is_masked_array(a):
        if not is_masked_array(indices):
            indices = cast_to_integers("take", indices, "same_kind")
        indices, mask = twice_read("take", "index", indices), twice_read("take", "mask", mask)
        gather_part = partial(_take_part, axis, bounds, negative, mask)
        run = partial(take_masked, gather_part, a, indices, axis, out, fill_value)
        return _core.steps("take", run, str(two_arrays(a)))
    if prefers_numpy(a, "take"):
        require_numpy_arguments("take", a, (bounds, negative) in NUMPYS_MODES, fill_value, mask)
        mode = NUMPYS_MODES[bounds, negative]
        return by_numpy("take", np.take, a, indices, axis=axis, **non_defaults(out=(out, None), mode=(mode, "raise")))
    return take_from("take", a, indices, axis, out, bounds, negative, fill_value, mask)


def _take_part(
    axis: Any, bounds: Bounds, negative: Negative, mask: Any, part: Any, index: Any, into: Any, fill: Any
) -> Any:
    """The take of one part of a masked array."""
    return take_anything(part, index, axis, into, bounds, negative, fill, mask)


def compress_anything(condition: Any, a: Any, axis: Any, out: Any) -> Any:
    """`compress` for any arguments: a take at the positions where the condition is true."""

    def gather_part(part: Any, index: Any, into: Any, fill: Any) -> Any:
        return take_from("compress", part, index, axis, into, "raise", "from_end", fill, None)

    if is_literal(a):
        a = np.asarray(a)
    if prefers_numpy(a, "compress") and not is_masked_array(a):
        return by_numpy("compress", np.compress, condition, a, axis=axis, **non_defaults(out=(out, None)))
    condition = with_shape("compress", "condition", condition)
    refuse_recorded("compress", "condition", condition)
    if not is_on_device(condition):
        condition = np.asarray(condition)
    if len(condition.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    if not is_on_device(condition):
        condition = np.array(condition, bool)  # a copy, which no other thread changes between count and list
        is_whole = type(a) is _ndarray and (a.ndim == 1 or (a.ndim > 1 and axis is not None))
        if is_whole and out is None and len(condition) and condition.all():
            first = _first_items(a, len(condition), axis_number(axis, a.ndim))
            if first is not None:
                return first
    is_own = is_ndarray(condition)
    indices = np.flatnonzero(condition) if is_own else true_positions("compress", "condition", condition)
    if is_masked_array(a):
        return _core.steps(
            "compress", lambda: same_points_masked("compress", gather_part, a, indices, out, None), str(two_arrays(a))
        )
    return gather_part(a, indices, out, None)


def _first_items(a: np.ndarray[Any, Any], count: int, axis: int | None) -> _core.Call | None:
    """A take of the first `count` items along an axis as a copy; None if the array has fewer."""
    axis = axis or 0
    if not 0 < count <= a.shape[axis]:
        return None
    items = a[(slice(None),) * axis + (slice(count),)]
    # A plan of the call reads no positions.
    call = _core.take_axis("compress", a, np.empty(count, np.intp), axis, 0, "raise", "from_end", None, None, None)
    return call.run_by(
        # A gather by coordinates of no numbers is a copy.
        lambda: _core.run(_core.at_points("compress", items, NO_NUMBERS, 0, "raise", "from_end", None, None, None))
    )


def take_from(
    op: str, a: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> _core.Call:
    """The take of an array that is neither masked nor of a class with a `take` of its own."""
    base = a
    if is_ndarray(a):
        base = memory_of(a)
        indices = cast_to_integers(op, indices, "same_kind")
        if base.ndim == 0:
            base = base.reshape(1)  # NumPy accepts the axes 0 and -1 for a 0-d array
        if axis is None and isinstance(a, np.matrix):
            base, axis = base.reshape(1, -1), 1  # a flattened matrix still has two axes
        axis = axis_number(axis, base.ndim)
        if out is not None:
            _check_out(out, base, indices, axis)
    call = _core.take_axis(
        op, base, indices, axis, 0, bounds, negative, fill_of(op, base, fill_value, bounds, mask), mask, memory_of(out)
    )
    return finished_as(a, out, call).otherwise(_error_of_empty_axis, base, axis)


def finished_as(a: Any, out: Any, call: _core.Call) -> _core.Call:
    """The call, with its result in the class of `a`, or `out` as its result."""
    if out is not None:
        return call.then(partial(_replaced, out))
    return call if type(a) is _ndarray or not is_ndarray(a) else call.then(partial(in_class_of, a))


def _replaced(out: Any, _: Any) -> Any:
    return out


def _error_of_empty_axis(error: Exception, base: Any, axis: int | None) -> Exception:
    """The error of a take; NumPy's error for a take from an empty axis where NumPy raises it."""
    if (
        isinstance(error, OutOfBoundsError)
        and not isinstance(error, DeferredOutOfBoundsError)
        and error.size == 0
        and _is_only_empty_axis(error.axis, base, axis)
    ):
        raise EmptyAxisError(*error.fields()) from None
    return error


def take_anything_along_axis(
    arr: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> Any:
    """`take_along_axis` for any arguments."""
    if is_literal(arr):
        arr = np.asarray(arr)
    if is_masked_array(arr):
        op = "take_along_axis"
        gather_part = partial(_take_part_along_axis, axis, bounds, negative, twice_read(op, "mask", mask))
        index = twice_read(op, "index", as_index_array(op, indices))
        run = partial(same_points_masked, op, gather_part, arr, index, out, fill_value)
        return _core.steps("take_along_axis", run, str(two_arrays(arr)))
    if prefers_numpy(arr, None):
        require_numpy_arguments(
            "take_along_axis", arr, (bounds, negative) == ("raise", "from_end"), fill_value, mask, out
        )
        return by_numpy("take_along_axis", np.take_along_axis, arr, indices, axis)

    base = arr
    if is_ndarray(arr):
        base = memory_of(arr)
        indices = as_index_array("take_along_axis", indices)
        axis = axis_of_index(base, indices, axis)
    call = _core.along_axis(
        "take_along_axis",
        base,
        indices,
        axis,
        "broadcast",
        bounds,
        negative,
        fill_of("take_along_axis", base, fill_value, bounds, mask),
        mask,
        memory_of(out),
    )
    # Without an axis NumPy returns no subclass.
    return finished_as(base if axis is None else arr, out, call)


def _take_part_along_axis(
    axis: Any, bounds: Bounds, negative: Negative, mask: Any, part: Any, index: Any, into: Any, fill: Any
) -> Any:
    """The take along an axis of one part of a masked array."""
    return take_anything_along_axis(part, index, axis, into, bounds, negative, fill, mask)


def axis_number(axis: Any, rank: int) -> int | None:
    """An axis in [0, rank), or None, with NumPy's messages."""
    if axis is None:
        return None
    if isinstance(axis, bool | np.bool_):
        raise TypeError("an integer is required for the axis")
    return normalize_axis_index(operator.index(axis), rank)


def _check_out(out: Any, base: np.ndarray[Any, Any], indices: Any, axis: int | None) -> None:
    """Check type and shape of `out`, with NumPy's messages. `_core` checks its dtype, flags and overlap."""
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


def _is_only_empty_axis(at: int, base: Any, axis: int | None) -> bool:
    """Whether no axis except `at` is empty; only then NumPy raises its error for a take from an empty axis."""
    shape = tuple(getattr(base, "shape", ()))
    return axis is None or 0 not in shape[:at] + shape[at + 1 :]


def in_class_of(a: Any, result: Any) -> Any:
    """Convert `result` to the subclass of `a`, as NumPy does; `__array_finalize__` of the subclass may reshape it."""
    if type(a) is _ndarray or not is_ndarray(a):
        return result
    view = np.asarray(result).view(type(a))
    view.__array_finalize__(a)
    return view if view.ndim else result
