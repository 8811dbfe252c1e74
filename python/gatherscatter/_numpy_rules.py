"""_numpy_rules.py: everything about NumPy's take and take_along_axis that is not the usual call on plain arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gatherscatter import _core
from gatherscatter._arrays import adopt
from gatherscatter._fill import as_fill
from gatherscatter._types import Bounds, Mode, Negative
from gatherscatter.errors import EmptyAxisError, OutOfBoundsError, ShapeMismatchError

__all__ = ["rule_of", "take_anything", "take_anything_along_axis"]

_ndarray = np.ndarray


def rule_of(mode: Any, bounds: Bounds | None, negative: Negative | None) -> tuple[Bounds, Negative]:
    """`mode` and `bounds` as one rule. The default mode says nothing when `bounds` speak."""
    own = cast(Mode, mode) if type(mode) is str and mode in ("raise", "wrap", "clip") else _unusual_mode(mode)
    if own != "raise" and bounds is not None and bounds != own:
        raise ValueError(f"take: mode={mode!r} and bounds={bounds!r} contradict each other")
    if negative is None:
        negative = "out_of_bounds" if own == "clip" else "from_end"
    return own if bounds is None else bounds, negative


def _unusual_mode(mode: Any) -> Mode:
    """Asks NumPy what an integer, bytes or anything else means as a mode, so that its errors are NumPy's too."""
    try:
        np.take(np.arange(3), 1, mode=mode)  # an index inside: any error is about the mode
        place = np.take(np.arange(3), 4, mode=mode)
    except IndexError:
        return "raise"
    return "clip" if place == 2 else "wrap"


def take_anything(
    a: Any, indices: Any, axis: Any, out: Any, bounds: Bounds, negative: Negative, fill_value: Any, mask: Any
) -> Any:
    """`take` without its short cut."""

    def again(part: Any, index: Any, into: Any, fill: Any) -> Any:
        return take_anything(part, index, axis, into, bounds, negative, fill, mask)

    if _is_literal(a):
        a = np.asarray(a)
    if isinstance(a, np.ma.MaskedArray):
        return _take_masked(again, a, indices, axis, out, fill_value)
    if _prefers_numpy(a, "take"):
        mode = {("raise", "from_end"): "raise", ("wrap", "from_end"): "wrap", ("clip", "out_of_bounds"): "clip"}
        _only_numpys_keywords("take", a, (bounds, negative) in mode, fill_value, mask)
        return np.take(a, indices, axis=axis, out=out, mode=mode[bounds, negative])  # type: ignore[call-overload]

    base = a
    if isinstance(a, _ndarray):
        base = _memory_of(a)
        indices = _cast_to_integers(indices)
        if base.ndim == 0:
            base = base.reshape(1)  # NumPy lets a scalar have the axes 0 and -1
        if axis is None and isinstance(a, np.matrix):
            base, axis = base.reshape(1, -1), 1  # a matrix that is flattened still has two axes
        axis = _axis_number(axis, base.ndim)
        if out is not None:
            _check_out(out, base, indices, axis)
    try:
        result = _core.take_axis(
            "take", base, indices, axis, 0, bounds, negative, as_fill("take", base, fill_value), mask, _memory_of(out)
        )
    except OutOfBoundsError as error:
        if error.size == 0 and _is_all_that_is_empty(error.axis, base, axis):
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

    if _is_literal(arr):
        arr = np.asarray(arr)
    if isinstance(arr, np.ma.MaskedArray):
        return _along_masked(again, arr, indices, out, fill_value)
    if _prefers_numpy(arr, None):
        _only_numpys_keywords(
            "take_along_axis", arr, (bounds, negative) == ("raise", "from_end"), fill_value, mask, out
        )
        return np.take_along_axis(arr, indices, axis)

    base = arr
    if isinstance(arr, _ndarray):
        base = _memory_of(arr)
        indices = _as_index_array(indices)
        axis = _check_along(base, indices, axis)
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
        _memory_of(out),
    )
    if isinstance(result, _core.Plan):
        return result
    if out is not None:
        return out
    return result if axis is None else _in_class_of(arr, result)  # flattening forgets the class, as in NumPy


def _prefers_numpy(a: Any, method: str | None) -> bool:
    """Whether NumPy's function would hand `a` over to code of its own class, which knows units and the like."""
    cls = type(a)
    if isinstance(a, _ndarray):
        own = method is not None and getattr(cls, method) is not getattr(_ndarray, method)
        return own or cls.__array_function__ is not _ndarray.__array_function__
    return hasattr(cls, "__array_function__") and not hasattr(cls, "__dlpack__")


def _only_numpys_keywords(op: str, a: Any, known: bool, *others: Any) -> None:
    if not known or any(other is not None for other in others):
        raise TypeError(f"{op}: {type(a).__name__} brings its own {op}, which only takes NumPy's arguments")


def _is_literal(value: Any) -> bool:
    return value is None or isinstance(value, np.generic | Sequence | int | float | complex)


def _cast_to_integers(indices: Any) -> Any:
    """Indices as `numpy.take` reads them: arrays cast within their kind, everything else is converted item by item."""
    if _is_literal(indices):
        array = np.asarray(indices)
        return array if array.dtype.kind in "iu" else np.asarray(indices, dtype=np.intp)
    if _is_column(indices):
        indices = adopt("take", "index", indices)[0]
    if not isinstance(indices, _ndarray):
        return indices
    indices = _memory_of(indices)
    return indices if indices.dtype.kind in "iu" else indices.astype(np.intp, casting="same_kind")


def _as_index_array(indices: Any) -> Any:
    """Indices of `take_along_axis`. Lists are taken for what they hold, and empty ones for integers."""
    if _is_literal(indices):
        array = np.asarray(indices)
        return array if array.size or isinstance(indices, np.generic) else array.astype(np.intp)
    if _is_column(indices):
        return adopt("take_along_axis", "index", indices)[0]
    return _memory_of(indices)


def _is_column(indices: Any) -> bool:
    """Whether it is array-like without being an array: a Series, a memoryview."""
    return not isinstance(indices, _ndarray) and not hasattr(indices, "__dlpack__")


def _axis_number(axis: Any, rank: int) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, bool | np.bool_):
        raise TypeError("an integer is required for the axis")
    return normalize_axis_index(operator.index(axis), rank)


def _check_out(out: Any, base: np.ndarray[Any, Any], indices: Any, axis: int | None) -> None:
    """NumPy's words for an unsuitable `out`; its dtype, flags and overlap are looked at below."""
    if not isinstance(out, _ndarray):
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


def _memory_of(array: Any) -> Any:
    """A masked array, a matrix or another subclass as the plain array that it is. A plain one stays the same object."""
    return array.view(_ndarray) if isinstance(array, _ndarray) and type(array) is not _ndarray else array


def _check_along(base: np.ndarray[Any, Any], indices: Any, axis: Any) -> int | None:
    """NumPy's checks, in its order and words. Gives the axis without a sign."""
    if not hasattr(indices, "shape"):  # a bare DLPack producer: what follows finds the shape in its memory
        return None if axis is None else normalize_axis_index(axis, base.ndim)
    shape = tuple(indices.shape)
    if axis is None:
        if len(shape) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
    else:
        axis = normalize_axis_index(axis, base.ndim)
    if isinstance(indices, _ndarray) and indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        return None
    if len(shape) != base.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    for d, (n, m) in enumerate(zip(base.shape, shape, strict=True)):
        if d != axis and n != m and n != 1 and m != 1:
            raise ShapeMismatchError(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{base.shape} {shape} on axis {d}"
            )
    number: int = axis
    return number


_Again = Callable[[Any, Any, Any, Any], Any]


def _take_masked(again: _Again, a: Any, indices: Any, axis: Any, out: Any, fill_value: Any) -> Any:
    """NumPy's rule: the mask is taken as the data is, and a masked index, read as 0, gives masked items."""
    index_mask = np.ma.getmask(indices)
    if index_mask is not np.ma.nomask:
        indices = indices.filled(0)
    # A copy where nothing is masked: an index may still be.
    own_mask = a.mask if index_mask is np.ma.nomask else np.ma.getmaskarray(a)
    result_mask = own_mask if own_mask is np.ma.nomask else again(own_mask, indices, None, None)
    if index_mask is not np.ma.nomask:
        # NumPy lines the two up at their last axes, which is wrong where slices are taken.
        behind = 0 if axis is None or a.ndim == 0 else a.ndim - 1 - normalize_axis_index(axis, a.ndim)
        result_mask = result_mask | index_mask.reshape(index_mask.shape + (1,) * behind)
    data = again(a.data, indices, out, fill_value)
    if out is None:
        out = _array_of(a, data).view(type(a))
    if isinstance(out, np.ma.MaskedArray):
        out.mask = result_mask
    return out[()]


def _along_masked(again: _Again, arr: Any, indices: Any, out: Any, fill_value: Any) -> Any:
    """As indexing a masked array: data and mask alike, and the result keeps what else the array carries."""
    result_mask = np.ma.nomask if arr.mask is np.ma.nomask else again(arr.mask, indices, None, None)
    data = again(arr.data, indices, out, fill_value)
    if out is None:
        out = _array_of(arr, data).view(type(arr))
        out.__array_finalize__(arr)
    if isinstance(out, np.ma.MaskedArray):
        out.mask = result_mask
    return out


def _array_of(a: Any, data: Any) -> Any:
    if isinstance(data, _core.Plan):
        raise TypeError(f"{type(a).__name__} is two arrays, data and mask; plan each of them")
    return np.asanyarray(data)


def _in_class_of(a: Any, result: Any) -> Any:
    """`result` as NumPy returns it from a subclass: seen, and perhaps reshaped, by its `__array_finalize__`."""
    if type(a) is _ndarray or not isinstance(a, _ndarray):
        return result
    view = np.asarray(result).view(type(a))
    view.__array_finalize__(a)
    return view if view.ndim else result
