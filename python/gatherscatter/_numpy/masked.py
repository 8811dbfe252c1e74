"""masked.py: calls on masked arrays, which run twice: once for the data and once for the mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gatherscatter import _core
from gatherscatter._libraries.adopt import must_have_values, refuse_recorded
from gatherscatter._libraries.columns import is_column, values_of
from gatherscatter._libraries.nested import array_of_list
from gatherscatter._libraries.recognise import is_masked_array, is_ndarray
from gatherscatter._numpy.rules import is_literal, memory_of

__all__ = ["NO_NUMBERS", "same_points_masked", "take_masked", "twice_read", "write_masked"]

NO_NUMBERS: Final = np.empty(0, np.intp)

_GatherPart = Callable[[Any, Any, Any, Any], Any]  # part (data or mask), indices, out, fill value -> call or result


def twice_read(op: str, role: str, value: Any) -> Any:
    """A private copy of an index or a mask, which both runs of a call read.

    The write of the data may change the argument itself, and another thread may change it between the two runs.
    """
    if value is None or isinstance(value, bool | np.generic):
        return value
    if is_ndarray(value):
        return value.copy()
    if is_literal(value):
        return array_of_list(op, role, value)
    if is_column(value):
        return values_of(op, role, value).copy()
    must_have_values(op, role, value)
    refuse_recorded(op, role, value)
    # A gather by coordinates of no numbers is a copy, in the library of the argument.
    return _core.run(_core.at_points(op, value, NO_NUMBERS, 0, "raise", "from_end", None, None, None))


def take_masked(gather_part: _GatherPart, a: Any, indices: Any, axis: Any, out: Any, fill_value: Any) -> Any:
    """Take from data and mask, as NumPy does. A masked index is read as 0, and its items are masked.

    `indices` belong to this call alone, as those of the other functions of this file do.
    """
    index_mask = np.ma.getmask(indices)
    if index_mask is not np.ma.nomask:
        indices = indices.filled(0)
    # If indices are masked, the result needs a mask also where the array has none, so a full mask array is made.
    own_mask = a.mask if index_mask is np.ma.nomask else np.ma.getmaskarray(a)
    result_mask = _gathered_mask(gather_part, own_mask, indices)
    if index_mask is not np.ma.nomask:
        # The mask of the indices gets the trailing axes of the slices. NumPy aligns the two masks at their last axes
        # instead, which is wrong for slices.
        trailing = 0 if axis is None or a.ndim == 0 else a.ndim - 1 - normalize_axis_index(axis, a.ndim)
        hidden = index_mask.reshape(index_mask.shape + (1,) * trailing)
        result_mask[np.broadcast_to(hidden, result_mask.shape)] = True  # of a structured mask all fields
    _require_own_mask("take", out)
    data = _core.run(gather_part(a.data, indices, out, fill_value))
    if out is None:
        out = np.asanyarray(data).view(type(a))
    if is_masked_array(out):
        out.mask = result_mask
    return out[()]


def same_points_masked(op: str, gather_part: _GatherPart, arr: Any, indices: Any, out: Any, fill_value: Any) -> Any:
    """Gather data and mask at equal points, as indexing does; the result keeps the other attributes of the array."""
    result_mask = _gathered_mask(gather_part, arr.mask, indices)
    _require_own_mask(op, out)
    data = _core.run(gather_part(arr.data, indices, out, fill_value))
    if out is None:
        out = np.asanyarray(data).view(type(arr))
        out.__array_finalize__(arr)
    if is_masked_array(out):
        out.mask = result_mask
    return out


def _gathered_mask(gather_part: _GatherPart, mask: Any, indices: Any) -> Any:
    return mask if mask is np.ma.nomask else np.asanyarray(_core.run(gather_part(mask, indices, None, None)))


def _require_own_mask(op: str, target: Any) -> None:
    """Raise an error for a masked array whose mask cannot be written element by element."""
    mask: Any = np.ma.getmask(target) if is_masked_array(target) else np.ma.nomask
    if mask is np.ma.nomask:
        return
    fault = ""
    if not mask.flags.writeable:
        fault = "is read-only"
    elif np.may_share_memory(mask, target.data) and np.shares_memory(mask, target.data):
        fault = "shares memory with its data"
    elif _overlaps_itself(op, mask):
        fault = "overlaps itself: several of its elements share one address"
    if fault:
        raise ValueError(f"{op}: the mask of the array to write to {fault}; its copy() has a mask of its own")


def _overlaps_itself(op: str, mask: np.ndarray[Any, Any]) -> bool:
    nothing = np.empty(0, mask.dtype)
    try:  # a write of no elements, which checks its target
        _core.run(
            _core.scatter_axis(
                op, mask, NO_NUMBERS, None, 0, nothing, "raise", "from_end", None, True, "last", None, mask
            )
        )
    except ValueError:
        return True
    return False


def write_masked(
    op: str,
    a: Any,
    values: Any,
    mask: Any,
    read: Callable[[Any], Any],
    write: Callable[[Any, Any, Any], Any],
) -> None:
    """Write data and mask of a masked array, as NumPy does.

    A masked value masks its target and any other value unmasks it. A hard mask protects masked targets from writes.
    """
    # What the second write needs is copied and checked before the first one, so that no data are written without it.
    hidden: Any = False
    if is_masked_array(values) and np.ma.getmask(values) is not np.ma.nomask:
        hidden = np.array(np.ma.getmask(values), np.ma.make_mask_descr(a.dtype))
    _require_own_mask(op, a)
    own_mask = np.ma.getmask(a)
    if own_mask is not np.ma.nomask and a.hardmask:
        if a.dtype.names is not None:
            raise TypeError(
                "a structured array with a hard mask cannot be written to (nor in NumPy); call its soften_mask() first"
            )
        is_unmasked = ~np.asarray(read(own_mask))
        mask = is_unmasked if mask is None else np.asarray(mask) & is_unmasked
    if values is not np.ma.masked:  # the constant np.ma.masked has no value to write
        write(a.data, memory_of(values), mask)
    if own_mask is np.ma.nomask and hidden is False:
        return
    new_mask = np.ma.getmaskarray(a)
    write(new_mask, hidden, mask)
    if own_mask is np.ma.nomask:
        a.mask = new_mask
