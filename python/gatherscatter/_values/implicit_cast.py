"""implicit_cast.py: implicit casts of the values of a tile operator to the dtype of its array.

The rules are cuTile's. A Python literal is loosely typed: it may be cast upwards in bool < int < float < complex, and
an int must be in range. A value with a dtype is typed, NumPy scalars included: it may be widened within its kind.
Signed and unsigned integers do not mix, floats are not cast to integers nor numbers to bool, float16 and bfloat16 are
not cast to each other, and a float narrower than 16 bits is cast neither to nor from another dtype. Complex numbers
extend these rules. A dtype without numbers (datetime, string, void, structured) accepts the literal 0, which means zero
bytes, an array of the same dtype, or one value of its own kind that loses nothing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gatherscatter._libraries import of_torch
from gatherscatter._libraries.adopt import must_have_values
from gatherscatter._libraries.devices import is_on_device
from gatherscatter._libraries.of_jax import is_tracer
from gatherscatter._libraries.recognise import dtype_name
from gatherscatter._libraries.torch_symbols import is_symbol, number_now
from gatherscatter._values.fill import as_fill, item_of_graph, numbers_of
from gatherscatter.errors import TileTypeError, TileValueError, shown

__all__ = ["implicit_cast"]

_LITERALS: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
_NUMBER = re.compile(r"(bool|int|uint|float|bfloat|complex)(\d*)")


def implicit_cast(op: str, what: str, value: Any, array: Any) -> Any:
    """Cast `value` to exactly the dtype of `array`; None stands for zero bytes.

    Parameters
    ----------
    op : str
        Public name of the operator, for messages.
    what : str
        Name of the argument, such as ``"padding_value"``.
    value : scalar or array
        Its shape is not checked.
    array : array
        Determines dtype and library.

    Raises
    ------
    TileTypeError
        If the kind of `value` does not cast to that dtype.
    TileValueError
        If an int literal is out of range.

    Examples
    --------
    >>> implicit_cast("tile_gather", "padding_value", 7, np.zeros(3, np.float32))
    array(7., dtype=float32)
    >>> implicit_cast("tile_gather", "padding_value", 128, np.zeros(3, np.int8))
    Traceback (most recent call last):
        ...
    gatherscatter.errors.TileValueError: tile_gather: padding_value 128 is out of range of int8
    """
    if type(value) is int and value == 0:
        return None
    if type(value) in _LITERALS:
        return _literal(op, what, value, array)
    if is_symbol(value):
        item = item_of_graph(array, numbers_of(array), value)
        return implicit_cast(op, what, number_now(value), array) if item is None else item
    if _is_typed(value):
        return _typed(op, what, value, array)
    return _other(op, what, value, array)


def _refusal(op: str, what: str, value: str, array: Any) -> TileTypeError:
    return TileTypeError(f"{op}: cannot implicitly cast {what} {value} to {dtype_name(array)}")


def _literal(op: str, what: str, value: Any, array: Any) -> Any:
    try:
        numbers = numbers_of(array)
    except TypeError as error:
        raise TileTypeError(f"{op}: {error}") from None
    if numbers is None:
        raise _refusal(op, what, shown(value), array)
    if type(value) is int and not -(2**63) <= value < 2**64:
        raise TileValueError(f"{op}: {what} {shown(value)} is out of range of any supported integer type")
    if numbers.category is bool:
        if type(value) not in (bool, int) or value not in (0, 1):
            raise _refusal(op, what, shown(value), array)
    elif _LITERALS[type(value)] > _LITERALS[numbers.category]:
        raise _refusal(op, what, shown(value), array)
    elif numbers.category is int and not numbers.low <= value <= numbers.high:
        raise TileValueError(f"{op}: {what} {shown(value)} is out of range of {dtype_name(array)}")
    return numbers.make(numbers.category(value))


def _is_typed(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _typed(op: str, what: str, value: Any, array: Any) -> Any:
    if of_torch.is_tensor(value):
        must_have_values(op, what, value)
        if not of_torch.is_tensor(array):
            of_torch.refuse_gradient(f"{op}: {what}", value)
        value = of_torch.resolved(value)
    source, target = dtype_name(value), dtype_name(array)
    if source == target and _same_dtype(value, array):
        return _converted(value, array)
    if value.shape == () and _NUMBER.fullmatch(source) is None and _NUMBER.fullmatch(target) is None:
        return _other(op, what, value, array)
    if source == target or not _widens(source, target):
        raise _refusal(op, what, f"of dtype {source}", array)
    return _converted(value, array)


def _same_dtype(value: Any, array: Any) -> bool:
    """Whether two dtypes of equal name are equal. Structured dtypes of one size share a name, so they are compared."""
    if isinstance(value.dtype, np.dtype) and isinstance(array.dtype, np.dtype):
        same_order = value.dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
        return same_order if array.dtype.names is None else value.dtype == array.dtype
    return True


def _widens(source: str, target: str) -> bool:
    """Whether cuTile promotes the two dtypes to the target."""
    a, b = _NUMBER.fullmatch(source), _NUMBER.fullmatch(target)
    if a is None or b is None:  # narrow floats, and dtypes without numbers
        return False
    kind, other = a[1], b[1]
    if kind == "bool" or other == "bool":
        return kind == "bool"
    bits, other_bits = int(a[2]), int(b[2])
    if other == "complex":
        component = other_bits // 2
        if kind == "complex":
            return bits < other_bits
        return kind in ("int", "uint") or bits < component or (kind == "float" and bits == component)
    if other in ("float", "bfloat"):
        return kind in ("int", "uint") or (kind in ("float", "bfloat") and bits < other_bits)
    return kind == other and bits < other_bits


def _converted(value: Any, array: Any) -> Any:
    if is_on_device(value) and not of_torch.is_tensor(value):
        is_same = _same_dtype(value, array) and dtype_name(value) == dtype_name(array)
        return value if is_same else _cast_on_device(value, array)
    if of_torch.is_tensor(array):
        return of_torch.cast_to(array, value)
    if is_tracer(value):
        return value.astype(array.dtype)
    if of_torch.is_tensor(value):
        name = dtype_name(value)
        if name == dtype_name(array) and (name == "bfloat16" or _NUMBER.fullmatch(name) is None):
            return value  # a bfloat16 or a narrow float: NumPy cannot read it, and its bytes need no conversion
        if name == "bfloat16":
            value = value.float()
    return np.asarray(value).astype(array.dtype, copy=False)


def _cast_on_device(value: Any, array: Any) -> Any:
    """Cast an array on a GPU with its own library, on the device."""
    if not hasattr(value, "astype"):
        raise TypeError(
            f"an array of type {type(value).__name__} on a GPU cannot be cast, because it has no astype; pass an array "
            f"of dtype {dtype_name(array)}"
        )
    return value.astype(array.dtype)


def _other(op: str, what: str, value: Any, array: Any) -> Any:
    """Convert a value for a dtype without numbers."""
    try:
        if value is not None and isinstance(array.dtype, np.dtype) and numbers_of(array) is None:
            return as_fill(op, array, value)
    except (TypeError, ValueError):
        pass
    if isinstance(value, list | tuple):
        kind = type(value).__name__
        raise TileTypeError(f"{op}: cannot implicitly cast {what}, a {kind}; expected a scalar or an array")
    raise _refusal(op, what, shown(value), array)
