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
    if own == "raise":
        return bounds or own, negative or "from_end"
    if bounds is not None and bounds != own:
        raise ValueError(f"take: mode={mode!r} and bounds={bounds!r} contradict each other")
    return own, negative or ("out_of_bounds" if own == "clip" else "from_end")


def _unusual_mode(mode: Any) -> Mode:
    """Asks NumPy what an integer, bytes or anything else means as a mode, so that its errors are NumPy's too."""
    try:
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
        return _take_masked(again, a, indices, out, fill_value)
    if _prefers_numpy(a, "take"):
        mode = {("raise", "from_end"): "raise", ("wrap", "from_end"): "wrap", ("clip", "out_of_bounds"): "clip"}
        _only_numpys_keywords("take", a, (bounds, negative) in mode, fill_value, mask)
        return np.take(a, indices, axis=axis, out=out, mode=mode[bounds, negative])  # type: ignore[call-overload]

    base = a
    if isinstance(a, _ndarray):
        base = a.view(_ndarray)
        indices = _cast_to_integers(indices)
        if base.ndim == 0:
            base = base.reshape(1)  # NumPy lets a scalar have the axes 0 and -1
        axis = _axis_number(axis, base.ndim)
        if out is not None:
            _check_out(out, base, indices, axis)
    try:
        result = _core.take_axis(
            "take", base, indices, axis, 0, bounds, negative, as_fill("take", base, fill_value), mask, out
        )
    except OutOfBoundsError as error:
        shape = tuple(base.shape)
        if error.size == 0 and (axis is None or 0 not in shape[:axis] + shape[axis + 1 :]):
            raise EmptyAxisError(*error.fields()) from None
        raise
    return result if out is not None else _in_class_of(a, result)


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
        base = arr.view(_ndarray)
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
        out,
    )
    return result if out is not None else _in_class_of(arr, result)


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
    indices = indices.view(_ndarray)
    return indices if indices.dtype.kind in "iu" else indices.astype(np.intp, casting="same_kind")


def _as_index_array(indices: Any) -> Any:
    """Indices of `take_along_axis`. Lists are taken for what they hold, and empty ones for integers."""
    if _is_literal(indices):
        array = np.asarray(indices)
        return array if array.size or isinstance(indices, np.generic) else array.astype(np.intp)
    if _is_column(indices):
        return adopt("take_along_axis", "index", indices)[0]
    return indices.view(_ndarray) if isinstance(indices, _ndarray) else indices


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
    shape = tuple(indices.shape)
    if axis is not None:
        shape = base.shape[:axis] + shape + base.shape[axis + 1 :]
    if out.shape != shape:
        raise ValueError(
            f"output array does not match result of ndarray.take: it has shape {out.shape}, the result {shape}"
        )


def _check_along(base: np.ndarray[Any, Any], indices: Any, axis: Any) -> int | None:
    """NumPy's checks, in its order and words. Gives the axis without a sign."""
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


def _take_masked(again: _Again, a: Any, indices: Any, out: Any, fill_value: Any) -> Any:
    """NumPy's rule: the mask is taken as the data is, and a masked index, read as 0, gives a masked item."""
    nomask = np.ma.nomask
    index_mask = np.ma.getmask(indices)
    if index_mask is not nomask:
        indices = indices.filled(0)
    result_mask = index_mask
    if a.mask is not nomask:
        result_mask = again(a.mask, indices, None, None)
        if index_mask is not nomask:
            result_mask = result_mask | index_mask
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
    if not isinstance(data, _ndarray | np.generic):
        raise TypeError(f"{type(a).__name__} is two arrays, data and mask; plan each of them")
    return np.asanyarray(data)


def _in_class_of(a: Any, result: Any) -> Any:
    """`result` as NumPy returns it from a subclass: seen, and perhaps reshaped, by its `__array_finalize__`."""
    if type(a) is _ndarray or not isinstance(a, _ndarray) or not isinstance(result, _ndarray | np.generic):
        return result
    view = np.asarray(result).view(type(a))
    view.__array_finalize__(a)
    return view if view.ndim else result
