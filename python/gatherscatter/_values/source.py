"""source.py: the values of a scatter: arrays pass unchanged, numbers and lists become arrays of the target's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries import of_jax, of_torch
from gatherscatter._libraries.adopt import (
    has_values,
    is_recorded,
    is_table,
    must_have_values,
    plain_values,
    refuse_recorded,
)
from gatherscatter._libraries.devices import is_on_device
from gatherscatter._libraries.number_lists import plain_numbers
from gatherscatter._libraries.of_python import LiteralArray
from gatherscatter._libraries.recognise import has_interface
from gatherscatter._values.fill import array_like_of, as_fill
from gatherscatter.errors import shown

__all__ = ["as_source", "zero_item"]

_LITERALS = (bool, int, float)
_NUMPYS = "?bBhHiIlLqQefdFD"  # dtypes of numbers of NumPy itself, of at most 64 bits a part
_MOST_ITEMS = 2**31  # most items of a range, because each item becomes a Python object before it becomes a number


def as_source(op: str, like: Any, source: Any, what: str = "src") -> Any:
    """Convert the values of a scatter to the form that `_core` reads.

    Arrays of rank 1 and more are returned unchanged: `_core` compares their dtype with the target's. A number, a 0-d
    array and every item of a list must fit the dtype as a fill value must.

    Parameters
    ----------
    op : str
        Public name of the operator, for messages.
    like : array
        The target.
    source : scalar, nested list or array
    what : str, default "src"
        Public name of the argument, for messages.

    Raises
    ------
    TypeError
        If `source` is None.
    ValueError
        If the dtype cannot hold a value, or a list is ragged.

    Examples
    --------
    >>> as_source("scatter", np.zeros(3, np.int8), [[7], [8.0]])
    array([[7],
           [8]], dtype=int8)
    >>> as_source("scatter", np.zeros(3, np.int8), [7, 300])
    Traceback (most recent call last):
        ...
    ValueError: scatter: src 300 does not fit dtype int8
    """
    if getattr(source, "ndim", 0):
        return source
    item = _core.item_of(like, source)
    if item is not None:
        return item
    if _is_array_without_rank(source):
        return source
    source = plain_values(op, what, source)
    if getattr(source, "ndim", 0):
        return source
    is_array = hasattr(like, "dtype") or hasattr(like, "__dlpack__") or has_interface(like)
    readable = is_array and not is_table(like) and (has_values(like) or is_recorded(like))
    if not readable or not has_values(source):
        return np.zeros(()) if isinstance(source, list | tuple) else source  # `_core` refuses the target or the source
    if source is None:
        raise TypeError(f"{op}: {what} is None, expected a scalar, an array or a nested list")
    on_device = is_on_device(like)
    if not hasattr(like, "dtype"):
        like = array_like_of(f"{op}: input", like)
    if type(source) is type(like) and source.dtype == like.dtype:
        return source
    if getattr(getattr(like, "dtype", None), "hasobject", False):
        return like  # the items are references: `_core` refuses such a target for any source
    if _is_nested(like, source):
        values = _array_of_list(op, like, source, what)
        return LiteralArray(values) if on_device else values
    return _item(op, like, source, what)


def zero_item(like: Any) -> Any:
    """One item of zero bytes, of exactly the dtype of `like`."""
    return of_torch.zero_item(like) if of_torch.is_tensor(like) else np.zeros((), like.dtype)


def _is_array_without_rank(source: Any) -> bool:
    if hasattr(source, "ndim"):
        return False
    return hasattr(source, "__dlpack__") or hasattr(source, "__array_interface__") or has_interface(source)


def _is_nested(like: Any, value: Any) -> bool:
    """Whether a value contains several items. A tuple is a single item if the dtype is structured."""
    if isinstance(value, tuple):
        return getattr(getattr(like, "dtype", None), "names", None) is None
    rank = getattr(value, "ndim", 0)
    return isinstance(value, list | range) or (isinstance(rank, int) and rank > 0)


def _item(op: str, like: Any, value: Any, what: str) -> Any:
    if value is None:
        raise TypeError(f"{op}: {what} contains None, expected numbers")
    must_have_values(op, what, value)
    item = as_fill(op, like, value, what)
    return zero_item(like) if item is None else item


def _array_of_list(op: str, like: Any, values: Any, what: str) -> Any:
    numbers = None if isinstance(values, range) and _is_too_long(values) else plain_numbers(values)
    if numbers is not None and isinstance(like.dtype, np.dtype) and like.dtype.char in _NUMPYS:
        return _fitted(op, like, numbers, what)
    try:
        shape, leaves = _shape_and_leaves(op, like, values, what)
    except RecursionError:
        raise ValueError(f"{op}: {what} is a list that is nested too deeply, or contains itself") from None
    is_recorded_by_jax = of_jax.is_array(like) and any(map(of_jax.is_tracer, leaves))
    if isinstance(like.dtype, np.dtype) and not is_recorded_by_jax:
        if all(type(leaf) in _LITERALS for leaf in leaves):
            natural = np.array(leaves)
            if natural.dtype == like.dtype:
                return natural.reshape(shape)
        result = np.empty(len(leaves), like.dtype)
        for i, leaf in enumerate(leaves):
            refuse_recorded(op, what, leaf)
            result[i] = _item(op, result, leaf, what)
        return result.reshape(shape)
    items = [_item(op, like, leaf, what) for leaf in leaves]
    if of_torch.is_tensor(like):
        return of_torch.stacked(like, items, shape)
    library = like.__array_namespace__()
    return library.reshape(library.stack(items), shape) if items else library.empty(shape, dtype=like.dtype)


def _fitted(op: str, like: Any, numbers: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Numbers of Python, which NumPy has made an array of, in the dtype of the target: each as `_item` converts it."""
    dtype = like.dtype
    if numbers.dtype == dtype:
        return numbers
    with np.errstate(all="ignore"):
        result = numbers.astype(dtype)
    others = [] if _all_fit(dtype, numbers) else np.flatnonzero(~_surely_fit(dtype, numbers)).tolist()
    for at in others:
        result.flat[at] = _item(op, result, numbers.flat[at].item(), what)
    return result


def _all_fit(dtype: np.dtype[Any], numbers: np.ndarray[Any, Any]) -> bool:
    """Whether the lowest and the highest of some integers fit, so that all do."""
    return numbers.dtype == np.int64 and bool(_surely_fit(dtype, np.array([numbers.min(), numbers.max()])).all())


def _surely_fit(dtype: np.dtype[Any], numbers: np.ndarray[Any, Any]) -> Any:
    """Which numbers a dtype holds exactly or, of floats, rounds within its normal range. `_item` judges the others."""
    if numbers.dtype.kind == "b" or dtype.kind == "b":
        return np.zeros(numbers.shape, bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if numbers.dtype.kind == "f":
            is_whole = (numbers == np.floor(numbers)) & (abs(numbers) < 2.0**53)
            return is_whole & (numbers >= limits.min) & (numbers <= limits.max)
        return (numbers >= limits.min) & (numbers <= min(limits.max, 2**63 - 1))
    floats = np.finfo(dtype)
    if numbers.dtype.kind == "i":
        most = 2 ** min(floats.nmant + 1, floats.maxexp - 1)
        return (numbers >= -most) & (numbers <= most)
    sizes = abs(numbers)
    return (numbers == 0) | ((sizes >= float(floats.smallest_normal)) & (sizes <= float(floats.max)))


def _is_too_long(values: range) -> bool:
    return bool(values) and abs(values[-1] - values[0]) // abs(values.step) >= _MOST_ITEMS


def _shape_and_leaves(op: str, like: Any, value: Any, what: str) -> tuple[tuple[int, ...], list[Any]]:
    if type(value) in _LITERALS:
        return (), [value]
    value = plain_values(op, what, value)
    if not _is_nested(like, value):
        return (), [value]
    if isinstance(value, range) and _is_too_long(value):
        raise ValueError(f"{op}: {what} is {shown(value)} with more than 2**31 items; pass an array instead")
    if not isinstance(value, list | tuple | range):
        must_have_values(op, what, value)
    parts = [_shape_and_leaves(op, like, part, what) for part in value]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise ValueError(f"{op}: {what} is a ragged list, with items of shapes {sorted(shapes)}")
    return (len(parts), *shapes.pop()) if shapes else (0,), [leaf for _, leaves in parts for leaf in leaves]
