"""rules.py: NumPy's rules for reading the arguments of its calls: modes, indices, axes, subclasses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gatherscatter import _core
from gatherscatter._libraries.adopt import adopt, must_have_values, refuse_recorded
from gatherscatter._libraries.columns import is_column, values_of
from gatherscatter._libraries.device_adapter import DeviceAdapter
from gatherscatter._libraries.devices import is_on_device, truth_of
from gatherscatter._libraries.nested import array_as_numpy
from gatherscatter._libraries.of_dlpack import as_numpy, import_dlpack
from gatherscatter._libraries.recognise import has_interface, hint, is_ndarray
from gatherscatter._ops.keywords import Mode, Negative
from gatherscatter._ops.operator import RuleWord
from gatherscatter.errors import ShapeMismatchError, shown, type_name

__all__ = [
    "MODE_RULES",
    "NUMPYS_MODES",
    "as_index_array",
    "axis_of_index",
    "by_numpy",
    "cast_to_integers",
    "index_type",
    "is_foreign",
    "is_literal",
    "memory_of",
    "non_defaults",
    "prefers_numpy",
    "require_numpy_arguments",
    "rule_of",
    "shape_of",
    "true_positions",
    "two_arrays",
    "with_shape",
]

_ndarray = np.ndarray

# The pairs of bounds and negative that a mode of NumPy expresses, and that mode.
NUMPYS_MODES: Final[dict[tuple[str, Negative], Mode]] = {
    ("raise", "from_end"): "raise",
    ("wrap", "from_end"): "wrap",
    ("clip", "out_of_bounds"): "clip",
}
MODE_RULES: Final[tuple[RuleWord, ...]] = (
    *(("mode", mode, bounds, negative) for (bounds, negative), mode in NUMPYS_MODES.items()),
)


def rule_of(op: str, mode: Any, bounds: str | None, negative: Negative | None) -> tuple[Any, Negative]:
    """Combine `mode` and `bounds` into one rule. Where `bounds` is given, the default mode is ignored."""
    own = cast(Mode, mode) if type(mode) is str and mode in ("raise", "wrap", "clip") else _unusual_mode(mode)
    if own != "raise" and bounds is not None and bounds != own:
        raise ValueError(f"{op}: mode={mode!r} and bounds={shown(bounds)} contradict each other")
    if negative is None:
        negative = "out_of_bounds" if own == "clip" else "from_end"
    return own if bounds is None else bounds, negative


def _unusual_mode(mode: Any) -> Mode:
    """Resolve a mode that is not one of the three strings, such as an integer or bytes.

    The mode is passed to NumPy, so that invalid modes raise NumPy's errors.
    """
    try:
        np.take(np.arange(3), 1, mode=mode)  # the index is valid, so an error is due to the mode
        taken = np.take(np.arange(3), 4, mode=mode)
    except IndexError:
        return "raise"
    return "clip" if taken == 2 else "wrap"


def prefers_numpy(a: Any, method: str | None) -> bool:
    """Whether NumPy's function would dispatch to an override of the class of `a`, such as one that handles units."""
    cls = type(a)
    if is_ndarray(a):
        own = method is not None and getattr(cls, method) is not getattr(_ndarray, method)
        return own or cls.__array_function__ is not _ndarray.__array_function__
    return hasattr(cls, "__array_function__") and not hasattr(cls, "__dlpack__") and not hint(a)


def non_defaults(**arguments: tuple[Any, Any]) -> dict[str, Any]:
    """The arguments, given as (value, default), that differ from their default.

    Only these are passed on, because the override of a class may not accept the other keywords.
    """
    return {name: value for name, (value, default) in arguments.items() if value is not default}


def require_numpy_arguments(op: str, a: Any, known: bool, *others: Any) -> None:
    """Raise an error for arguments that the override of a class cannot accept."""
    if not known or any(other is not None for other in others):
        raise TypeError(f"{op}: {type(a).__name__} overrides {op}, and its {op} only takes NumPy's arguments")


def is_foreign(array: Any) -> bool:
    """Whether a value is an array of a library other than NumPy, to which NumPy's conversions do not apply."""
    if is_ndarray(array) or isinstance(array, np.generic):
        return False
    return hasattr(array, "__dlpack__") or has_interface(array)


def with_shape(op: str, role: str, array: Any) -> Any:
    """Convert an index, a mask or values to an object with a shape: columns and bare DLPack producers become arrays."""
    if is_ndarray(array):
        return memory_of(array)
    if role != "input" and is_column(array):
        return values_of(op, role, array)
    if is_foreign(array):
        must_have_values(op, role, array)
        if isinstance(getattr(array, "shape", None), tuple):
            return array
        if is_on_device(array):
            operand = cast(DeviceAdapter, adopt(op, role, array)[0])
            return operand.borrow(operand.stream or 1)
        return as_numpy(f"{op}: {role}", import_dlpack(array))
    return array if is_literal(array) else adopt(op, role, array)[0]


def shape_of(op: str, array: Any) -> tuple[int, ...]:
    """The shape of an input of any library."""
    return tuple(with_shape(op, "input", array).shape)


def index_type(n: int) -> np.dtype[Any]:
    """The smallest type for positions on an axis of n items."""
    return np.min_scalar_type(max(n - 1, 0))


def true_positions(op: str, role: str, mask: Any) -> Any:
    """Flat positions of the true elements of an array; those of an array on a GPU lie on the GPU."""
    if is_on_device(mask):
        return _core.positions(op, truth_of(op, role, mask))
    refuse_recorded(op, role, mask)
    # The mask is copied, because NumPy counts the true elements before it lists them, and another thread may change the
    # mask in between.
    return np.flatnonzero(np.array(mask, bool))


def is_literal(value: Any) -> bool:
    return value is None or isinstance(value, np.generic | Sequence | int | float | complex)


def cast_to_integers(op: str, indices: Any, casting: Literal["safe", "same_kind"]) -> Any:
    """Convert indices as NumPy does: arrays are cast by the casting rule, everything else item by item."""
    if not is_ndarray(indices):
        if is_literal(indices):
            array = array_as_numpy(op, "index", indices)
            return array if array.dtype.kind in "iu" else np.asarray(indices, dtype=np.intp)
        if is_foreign(indices):
            must_have_values(op, "index", indices)
            return indices
        indices = adopt(op, "index", indices)[0]
    indices = memory_of(indices)
    return indices if indices.dtype.kind in "iu" else indices.astype(np.intp, casting=casting)


def as_index_array(op: str, indices: Any) -> Any:
    """Convert indices along an axis. The dtype of a list is that of its items; an empty list becomes integers."""
    if is_literal(indices):
        array = array_as_numpy(op, "index", indices)
        return array if array.size or isinstance(indices, np.generic) else array.astype(np.intp)
    if _is_column(indices):
        return adopt(op, "index", indices)[0]
    must_have_values(op, "index", indices)
    return memory_of(indices)


def _is_column(indices: Any) -> bool:
    """Whether a value is array-like but not an array, such as a Series or a memoryview."""
    return not is_ndarray(indices) and not is_foreign(indices)


def memory_of(array: Any) -> Any:
    """A masked array, a matrix or another subclass as a plain NumPy array; every other value is returned unchanged."""
    return array.view(_ndarray) if is_ndarray(array) and type(array) is not _ndarray else array


def axis_of_index(base: np.ndarray[Any, Any], indices: Any, axis: Any) -> int | None:
    """Check indices and axis with NumPy's messages, in NumPy's order; return the axis as a non-negative number."""
    if not hasattr(indices, "shape"):  # a bare DLPack producer, whose shape `_core` checks
        return None if axis is None else normalize_axis_index(axis, base.ndim)
    shape = tuple(indices.shape)
    if axis is None:
        if len(shape) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
    else:
        axis = normalize_axis_index(axis, base.ndim)
    if is_ndarray(indices) and indices.dtype.kind not in "iu":
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


def two_arrays(a: Any) -> TypeError:
    """The error for a plan of a masked array, which would need a plan for each of its two arrays."""
    return TypeError(f"a {type(a).__name__} consists of two arrays, data and mask; make a plan for each of them")


def by_numpy(op: str, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> _core.Call:
    """The call of a class that has NumPy's method of its own: NumPy runs it."""
    owner = next((type_name(each) for each in arguments if is_ndarray(each)), type_name(arguments[0]))
    reason = f"{op}: NumPy runs the call for a {owner}, so that it has no plan"
    return _core.steps(op, lambda: function(*arguments, **keywords), reason)
