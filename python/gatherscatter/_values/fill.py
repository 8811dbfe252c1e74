"""fill.py: conversion of one value to exactly the dtype of the input, with an error if the dtype cannot hold it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter._libraries.adopt import has_values, import_dlpack, is_table
from gatherscatter._libraries.columns import is_scalar, scalar_of
from gatherscatter._libraries.devices import as_numpy, has_interface, is_on_device, stand_in
from gatherscatter._libraries.of_torch import unnamed_dtype
from gatherscatter._libraries.recognise import is_ndarray, no_array
from gatherscatter.errors import is_large, shown

__all__ = ["Numbers", "as_fill", "numbers_of"]


class _Misfit(Exception):
    """The dtype cannot hold the value."""


@dataclass(frozen=True)
class Numbers:
    """The numbers that a dtype can hold, and a function that makes an item of it.

    Attributes
    ----------
    category : type
        ``bool``, ``int``, ``float`` or ``complex``.
    low, high : Any
        Limits of an integer or floating dtype; None for bool and complex.
    make : callable
        Takes a Python number, returns a 0-d array of the dtype; a number that does not fit is converted by the rules of
        the library.
    """

    category: type
    low: Any
    high: Any
    make: Callable[[Any], Any]


def numbers_of(like: Any) -> Numbers | None:
    """The numbers that the dtype of `like` holds; None for dtypes without numbers (datetime, string, structured).

    Parameters
    ----------
    like : array
        An array of NumPy, torch, JAX or any other library with ``__array_namespace__``.

    Raises
    ------
    TypeError
        If the library cannot make a value of that dtype.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return _torch_numbers(torch, like)
    if isinstance(like.dtype, np.dtype):
        numbers = _numpy_numbers(like.dtype)
        if numbers is None or is_ndarray(like):
            return numbers
        make = numbers.make
        return Numbers(numbers.category, numbers.low, numbers.high, lambda value: _in_library_of(like, make(value)))
    return _namespace_numbers(like)


def as_fill(op: str, like: Any, fill_value: Any, what: str = "fill_value") -> Any:
    """Convert a fill value for `_core`: None for zero bytes, else a 0-d array of exactly the dtype of `like`.

    A value fits if the dtype can represent it. A float may be rounded, but must not overflow; a float with an integral
    value fits an integer dtype; a complex value fits only a complex dtype. Dtypes without numbers accept values of
    their own kind that lose nothing, and 0, which means zero bytes.

    Parameters
    ----------
    op : str
        Public name of the operator, for the message.
    like : array
        The input.
    fill_value : scalar, 0-d array or None
    what : str, default "fill_value"
        Public name of the argument, for the message.

    Raises
    ------
    ValueError
        If the dtype cannot hold `fill_value`.

    Examples
    --------
    >>> as_fill("gather", np.zeros(3, np.int8), 7.0)
    array(7, dtype=int8)
    >>> as_fill("gather", np.zeros(3, np.int8), 7.5)
    Traceback (most recent call last):
        ...
    ValueError: gather: fill_value 7.5 does not fit dtype int8
    """
    if fill_value is None:
        return None
    if not hasattr(like, "dtype"):
        if not hasattr(like, "__dlpack__") and not has_interface(like):
            raise no_array(op, "input", like)
        like = array_like_of(f"{op}: input", like)
    if is_on_device(fill_value) and _is_item_of(like, fill_value) and is_on_device(like):
        return fill_value  # it is read on the GPU
    if is_table(like) or not has_values(like) or not has_values(fill_value):
        return None if not has_values(like) else fill_value  # `_core` refuses the argument with the message for it
    try:
        numbers = numbers_of(like)
    except TypeError as error:
        raise TypeError(f"{op}: {error}") from None
    try:
        if numbers is not None:
            return _number(numbers, fill_value, f"{op}: {what}")
        if type(fill_value) is int and fill_value == 0:
            return None
        return _in_library_of(like, _without_numbers(like.dtype, fill_value))
    except _Misfit:
        if is_scalar(fill_value):
            return as_fill(op, like, scalar_of(op, what, fill_value), what)
        dtype = str(like.dtype) if isinstance(like.dtype, np.dtype) else like.dtype
        text = f"({shown(fill_value)})" if is_large(fill_value) else shown(fill_value)
        raise ValueError(f"{op}: {what} {text} does not fit dtype {dtype}") from None


def array_like_of(what: str, array: Any) -> Any:
    """An array with the shape and dtype of a DLPack producer that has no such attributes."""
    return stand_in(array) if is_on_device(array) else as_numpy(what, import_dlpack(array))


def _is_item_of(like: Any, value: Any) -> bool:
    return type(value) is type(like) and getattr(value, "shape", None) == () and bool(value.dtype == like.dtype)


def _plain_number(value: Any, what: str) -> Any:
    """Convert a scalar or a 0-d array of a number to a Python number; return every other value unchanged."""
    if isinstance(value, bool | int | float | complex) or not hasattr(value, "item"):
        return value
    if getattr(value, "ndim", None) != 0 or getattr(getattr(value, "dtype", None), "kind", None) in ("m", "M"):
        return value
    if getattr(value, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
        raise RuntimeError(f"{what} is a tensor that requires grad, and its gradient would be lost; pass its .detach()")
    if hasattr(value, "requires_grad") and unnamed_dtype(value):
        raise TypeError(f"{what} has dtype {value.dtype}, which has no numbers")
    return value.item()


def _number(numbers: Numbers, fill_value: Any, what: str = "fill_value") -> Any:
    if isinstance(fill_value, np.ma.MaskedArray):
        raise _Misfit
    value: Any = _plain_number(fill_value, what)
    # Python has no type for a long double, so that one is not converted.
    if not isinstance(value, bool | int | float | complex | np.longdouble | np.clongdouble):
        raise _Misfit
    is_complex = isinstance(value, complex | np.clongdouble)
    if is_complex and numbers.category is not complex:
        raise _Misfit
    if numbers.category is bool:
        if value not in (0, 1):
            raise _Misfit
        return numbers.make(bool(value))
    if numbers.category is int:
        return numbers.make(_integer(numbers, value))
    try:
        made = numbers.make(value)
    except OverflowError:  # an integer beyond the range of every float
        raise _Misfit from None
    held = made.item()
    with np.errstate(all="ignore"):
        if numbers.category is complex:
            fits = _represents(held.real, value.real) and _represents(held.imag, value.imag)
        else:
            within = abs(value) == np.inf or value != value or numbers.low <= value <= numbers.high
            fits = within and _represents(held, value)
    if not fits:
        raise _Misfit
    return made


def _integer(numbers: Numbers, value: Any) -> int:
    if value != value or abs(value) == np.inf or value != int(value) or not numbers.low <= int(value) <= numbers.high:
        raise _Misfit
    return int(value)


def _represents(held: Any, wanted: Any) -> bool:
    """Whether `held` equals `wanted` except for rounding: some narrow floats have no infinity, NaN, sign or zero."""
    if wanted != wanted:
        return bool(held != held)
    if wanted == 0 or abs(wanted) == np.inf:
        return bool(held == wanted)
    return bool(abs(held) < np.inf and (held == 0 or (held < 0) == (wanted < 0)))


def _float_limits(info: Any) -> tuple[Any, Any]:
    """The limits within which a value rounds to a finite one: up to half a spacing beyond the largest finite value."""
    kind = np.longdouble if getattr(info, "dtype", None) == np.dtype(np.longdouble) else float
    slack = 1 + kind(info.eps) / 4
    low, high = kind(info.min), kind(info.max)
    with np.errstate(all="ignore"):
        return (low * slack, high * slack) if high * slack < np.inf else (low, high)


def _numpy_numbers(dtype: np.dtype[Any]) -> Numbers | None:
    def make(value: Any) -> np.ndarray[Any, Any]:
        with np.errstate(all="ignore"):
            return np.array(value, dtype)

    if dtype.kind == "b":
        return Numbers(bool, None, None, make)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return Numbers(int, int(info.min), int(info.max), make)
    if dtype.kind == "f" and issubclass(dtype.type, np.floating):
        return Numbers(float, *_float_limits(np.finfo(dtype)), make)
    if dtype.kind == "c" and issubclass(dtype.type, np.complexfloating):
        return Numbers(complex, None, None, make)
    if dtype.kind in "VfciuO" and not issubclass(dtype.type, np.void | np.object_):
        return _extension_numbers(dtype, make)
    return None


def _extension_numbers(dtype: np.dtype[Any], make: Callable[[Any], Any]) -> Numbers | None:
    """The numbers of a dtype that another package adds to NumPy, such as bfloat16, float8 and int4 of ml_dtypes."""
    category = type(np.zeros((), dtype).item())
    package: Any = sys.modules.get(dtype.type.__module__.partition(".")[0])
    if category is int and hasattr(package, "iinfo"):
        info = package.iinfo(dtype)
        return Numbers(int, int(info.min), int(info.max), make)
    if category is float and hasattr(package, "finfo"):
        return Numbers(float, *_float_limits(package.finfo(dtype)), make)
    if category in (bool, complex):
        return Numbers(category, None, None, make)
    return None


def _torch_numbers(torch: Any, like: Any) -> Numbers:
    dtype = like.dtype

    # The value is made in the widest dtype of its category and then cast, because torch.full refuses a value beyond the
    # range that rounds into it. It lies in host memory also for a tensor on a GPU: the binding copies it to the GPU
    # without waiting.
    def make_from(widest: Any) -> Callable[[Any], Any]:
        return lambda value: torch.tensor(value, dtype=widest, device="cpu").to(dtype)

    if dtype is torch.bool:
        return Numbers(bool, None, None, make_from(torch.bool))
    if like.is_complex():
        return Numbers(complex, None, None, make_from(torch.complex128))
    try:
        if like.is_floating_point():
            return Numbers(float, *_float_limits(torch.finfo(dtype)), make_from(torch.float64))
        info = torch.iinfo(dtype)
    except (TypeError, RuntimeError):
        step = "; pass tensor.view(torch.uint8)" if unnamed_dtype(like) else ""
        raise TypeError(f"torch cannot make a value of dtype {dtype}{step}") from None
    return Numbers(int, int(info.min), int(info.max), make_from(dtype))


def _namespace_numbers(like: Any) -> Numbers:
    """The numbers of a dtype of any other library that follows the array-API standard."""
    try:
        xp = like.__array_namespace__()
        dtype = like.dtype
        categories = {"bool": bool, "integral": int, "real floating": float, "complex floating": complex}
        category = next(kind for name, kind in categories.items() if xp.isdtype(dtype, name))
    except (AttributeError, StopIteration, TypeError):
        raise TypeError(f"cannot make a value of dtype {like.dtype} for {type(like).__name__}") from None

    def make(value: Any) -> Any:
        return xp.full((), value, dtype=dtype, device=like.device)

    if category is int:
        info = xp.iinfo(dtype)
        return Numbers(int, int(info.min), int(info.max), make)
    if category is float:
        return Numbers(float, *_float_limits(xp.finfo(dtype)), make)
    return Numbers(category, None, None, make)


def _in_library_of(like: Any, made: np.ndarray[Any, Any]) -> Any:
    """Convert a NumPy value to a library that uses NumPy's dtypes, such as JAX.

    The value stays a NumPy array where the library would narrow it, as JAX does after x64 has been disabled.
    """
    if is_ndarray(like) or not hasattr(like, "__array_namespace__") or is_on_device(like):
        return made
    converted = like.__array_namespace__().asarray(made)
    return converted if converted.dtype == made.dtype else made


def _without_numbers(dtype: np.dtype[Any], value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    made = np.zeros((), dtype)
    try:
        if dtype.names is not None:
            _fill_fields(made, value)
        elif dtype.kind in "mM":
            made[()] = _moment(dtype, value)
        elif dtype.kind in "SUV":
            made[()] = _text(dtype, value)
        else:
            raise _Misfit
    except (TypeError, ValueError, OverflowError):
        raise _Misfit from None
    return made


def _fill_fields(made: np.ndarray[Any, Any], value: Any) -> None:
    dtype = made.dtype
    assert dtype.names is not None
    if isinstance(value, np.void):
        if value.dtype != dtype:
            raise _Misfit
        made[()] = value
        return
    if not isinstance(value, tuple) or len(value) != len(dtype.names):
        raise _Misfit
    for name, part in zip(dtype.names, value, strict=True):
        field = dtype[name]
        if field.subdtype is None:
            made[name] = _item(field, part)
        else:
            base, shape = field.subdtype
            parts = np.empty(shape, object)
            parts[...] = part
            made[name] = np.array([_item(base, item) for item in parts.flat], base).reshape(shape)


def _item(dtype: np.dtype[Any], value: Any) -> np.ndarray[Any, Any]:
    numbers = _numpy_numbers(dtype)
    made: np.ndarray[Any, Any] = _without_numbers(dtype, value) if numbers is None else _number(numbers, value)
    return made


def _moment(dtype: np.dtype[Any], value: Any) -> Any:
    """Convert a date or duration to the unit of the dtype. It fits if converting it back gives an equal value."""
    kind = np.datetime64 if dtype.kind == "M" else np.timedelta64
    if not isinstance(value, np.generic):
        if isinstance(value, bool | int | float | complex | str | bytes):
            raise _Misfit
        value = kind(value)
    if not isinstance(value, kind):
        raise _Misfit
    moment = value.astype(dtype)
    same_unit_back = moment.astype(value.dtype)
    if not (np.isnat(value) and np.isnat(moment)) and same_unit_back != value:
        raise _Misfit
    return moment


def _text(dtype: np.dtype[Any], value: Any) -> Any:
    if dtype.kind == "U":
        if not isinstance(value, str) or 4 * len(value) > dtype.itemsize:
            raise _Misfit
        return value
    raw = value.tobytes() if dtype.kind == "V" and isinstance(value, np.void) else value
    if not isinstance(raw, bytes) or len(raw) > dtype.itemsize:
        raise _Misfit
    return np.void(raw.ljust(dtype.itemsize, b"\0")) if dtype.kind == "V" else raw
