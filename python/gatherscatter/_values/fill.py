"""fill.py: conversion of one value to exactly the dtype of the input, with an error if the dtype cannot hold it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries import of_dlpack, of_jax, of_numpy, of_torch
from gatherscatter._libraries.adopt import has_values, is_recorded, is_table
from gatherscatter._libraries.columns import is_scalar, scalar_of
from gatherscatter._libraries.devices import is_on_device, stand_in
from gatherscatter._libraries.numbers import Numbers
from gatherscatter._libraries.of_dlpack import as_numpy, import_dlpack
from gatherscatter._libraries.recognise import has_interface, is_ndarray, no_array
from gatherscatter._libraries.torch_symbols import is_symbol, number_now, tensor_of
from gatherscatter.errors import is_large, shown

__all__ = ["array_like_of", "as_fill", "check_fill_is_used", "fill_of", "item_of_graph", "numbers_of"]


class _DoesNotFit(Exception):
    """The dtype cannot hold the value."""


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
    if of_torch.is_tensor(like):
        return of_torch.numbers(like)
    if isinstance(like.dtype, np.dtype):
        numbers = of_numpy.numbers(like.dtype)
        if numbers is None or is_ndarray(like):
            return numbers
        make = numbers.make
        return Numbers(numbers.category, numbers.low, numbers.high, lambda value: _in_library_of(like, make(value)))
    return of_dlpack.numbers(like)


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
    ValueError: gather: fill_value 7.5 does not fit dtype int8; cast the input to a floating-point dtype that holds it
    """
    if fill_value is None:
        return None
    item = _core.item_of(like, fill_value)
    if item is not None:
        return item
    if not hasattr(like, "dtype"):
        if not hasattr(like, "__dlpack__") and not has_interface(like):
            raise no_array(op, "input", like)
        like = array_like_of(f"{op}: input", like)
    if is_on_device(fill_value) and _is_item_of(like, fill_value) and is_on_device(like):
        return fill_value  # it is read on the GPU
    if of_torch.is_live(fill_value) and of_torch.is_tensor(like) and fill_value.ndim == 0:
        if not of_torch.is_recorded(fill_value):
            with of_torch.without_modes():
                as_fill(op, like, fill_value.detach(), what)  # raises if the value of this run does not fit
        return of_torch.fitted(op, what, like, fill_value)  # its gradient is recorded, so it stays a tensor
    if of_jax.is_tracer(fill_value) and of_jax.is_array(like) and fill_value.ndim == 0:
        return fill_value.astype(like.dtype)
    has_dtype = has_values(like) or is_recorded(like)
    if is_table(like) or not has_dtype or not has_values(fill_value):
        return None if not has_dtype else fill_value  # `_core` refuses the argument with the message for it
    try:
        numbers = numbers_of(like)
    except TypeError as error:
        raise TypeError(f"{op}: {error}") from None
    try:
        if numbers is not None:
            if is_symbol(fill_value):
                item = item_of_graph(like, numbers, fill_value)
                if item is not None:
                    return item
                fill_value = number_now(fill_value)
            with of_torch.without_modes() if of_torch.is_tensor(like) else nullcontext():
                return _number(numbers, fill_value, f"{op}: {what}")
        if type(fill_value) is int and fill_value == 0:
            return None
        return _in_library_of(like, _without_numbers(like.dtype, fill_value))
    except _DoesNotFit:
        if is_scalar(fill_value):
            return as_fill(op, like, scalar_of(op, what, fill_value), what)
        dtype = str(like.dtype) if isinstance(like.dtype, np.dtype) else like.dtype
        text = f"({shown(fill_value)})" if is_large(fill_value) else shown(fill_value)
        cast = ""
        if isinstance(fill_value, float) and getattr(like.dtype, "kind", "") in ("i", "u", "b"):
            cast = "; cast the input to a floating-point dtype that holds it"
        elif isinstance(fill_value, str):
            cast = _step_for_text(like.dtype, fill_value)
        raise ValueError(f"{op}: {what} {text} does not fit dtype {dtype}{cast}") from None


def _step_for_text(dtype: Any, text: str) -> str:
    """The end of the error for a text that a dtype does not hold; "" if there is none."""
    kind = getattr(dtype, "kind", "")
    if kind == "M":
        return "; numpy.datetime64(text) is a date, which fits if the unit of the dtype holds it"
    return f"; input.astype('<U{len(text)}') has room for it" if kind == "U" else ""


def fill_of(op: str, like: Any, fill_value: Any, bounds: Any, mask: Any) -> Any:
    """The fill value of a call for `_core`, as `as_fill` gives it; of dates and durations the default is NaT.

    Raises
    ------
    TypeError
        As `check_fill_is_used`.
    ValueError
        If the dtype cannot hold it.
    """
    if fill_value is None:
        return None if mask is None and bounds != "fill" else _default_fill(like)
    check_fill_is_used(op, fill_value, bounds, mask)
    return as_fill(op, like, fill_value)


def check_fill_is_used(op: str, fill_value: Any, bounds: Any, mask: Any) -> None:
    """Raise TypeError for a fill value that no point can have: there is no mask, and `bounds` is not "fill"."""
    if fill_value is not None and mask is None and bounds != "fill":
        raise TypeError(
            f'{op}: fill_value= has no effect without mask= and with bounds={shown(bounds)}; bounds="fill" gives it '
            "where an index is out of bounds"
        )


def _default_fill(like: Any) -> Any:
    """NaT for dates and durations, also in the fields of a structured dtype; None, for zero bytes, elsewhere."""
    dtype = getattr(like, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "mMV" or not _has_moments(dtype):
        return None
    made = np.zeros((), dtype)
    _set_to_nat(made)
    return _in_library_of(like, made)


def _has_moments(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "mM" or any(_has_moments(dtype[name].base) for name in dtype.names or ())


def _set_to_nat(made: np.ndarray[Any, Any]) -> None:
    if made.dtype.kind in "mM":
        made[...] = "NaT"
    for name in made.dtype.names or ():
        _set_to_nat(made[name])


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
    of_torch.refuse_gradient(what, value)
    if of_torch.is_tensor(value) and of_torch.unnamed_dtype(value):
        raise TypeError(f"{what} has dtype {value.dtype}, which has no numbers")
    return value.item()


def _number(numbers: Numbers, fill_value: Any, what: str = "fill_value") -> Any:
    if isinstance(fill_value, np.ma.MaskedArray):
        raise _DoesNotFit
    value: Any = _plain_number(fill_value, what)
    # Python has no type for a long double, so that one is not converted.
    if not isinstance(value, bool | int | float | complex | np.longdouble | np.clongdouble):
        raise _DoesNotFit
    is_complex = isinstance(value, complex | np.clongdouble)
    if is_complex and numbers.category is not complex:
        raise _DoesNotFit
    if numbers.category is bool:
        if value not in (0, 1):
            raise _DoesNotFit
        return numbers.make(bool(value))
    if numbers.category is int:
        return numbers.make(_integral(numbers, value))
    try:
        made = _made(numbers, value)
    except OverflowError:  # an integer beyond the range of every float
        raise _DoesNotFit from None
    held = made.item()
    with np.errstate(all="ignore"):
        if numbers.category is complex:
            fits = _represents(held.real, value.real) and _represents(held.imag, value.imag)
        else:
            within = abs(value) == np.inf or value != value or numbers.low <= value <= numbers.high
            fits = within and _represents(held, value)
    if not fits:
        raise _DoesNotFit
    return made


def _made(numbers: Numbers, value: Any) -> Any:
    try:
        return numbers.make(value)
    except TypeError:  # ml_dtypes takes no integers of more than 64 bits with a sign
        if type(value) is not int:
            raise
        return numbers.make(float(value))


def item_of_graph(like: Any, numbers: Numbers | None, symbol: Any) -> Any:
    """An item made of a number that a graph of torch takes as an argument; None if that depends on more than limits.

    That the number is within the limits of the dtype becomes a condition of the graph.
    """
    if not of_torch.is_tensor(like) or numbers is None or numbers.low is None:  # bool and complex have no limits
        return None
    torch = of_torch.namespace()
    if isinstance(symbol, torch.SymInt):
        wide, low, high = torch.int64, int(max(numbers.low, -(2**63))), int(min(numbers.high, 2**63 - 1))
    elif isinstance(symbol, torch.SymFloat) and numbers.category is float:
        wide, low, high = torch.float64, numbers.low, numbers.high
    else:
        return None
    return tensor_of(symbol, wide, like.device).to(like.dtype) if low <= symbol <= high else None


def _integral(numbers: Numbers, value: Any) -> int:
    if value != value or abs(value) == np.inf or value != int(value) or not numbers.low <= int(value) <= numbers.high:
        raise _DoesNotFit
    return int(value)


def _represents(held: Any, wanted: Any) -> bool:
    """Whether `held` equals `wanted` except for rounding: some narrow floats have no infinity, NaN, sign or zero."""
    if wanted != wanted:
        return bool(held != held)
    if wanted == 0 or abs(wanted) == np.inf:
        return bool(held == wanted)
    return bool(abs(held) < np.inf and (held == 0 or (held < 0) == (wanted < 0)))


def _in_library_of(like: Any, made: np.ndarray[Any, Any]) -> Any:
    """Convert a NumPy value to a library that uses NumPy's dtypes, such as JAX.

    The value stays a NumPy array where the library would narrow it, and for JAX, which makes a tracer of it under jit.
    """
    if is_ndarray(like) or of_jax.is_array(like) or not hasattr(like, "__array_namespace__") or is_on_device(like):
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
            raise _DoesNotFit
    except (TypeError, ValueError, OverflowError):
        raise _DoesNotFit from None
    return made


def _fill_fields(made: np.ndarray[Any, Any], value: Any) -> None:
    dtype = made.dtype
    assert dtype.names is not None
    if isinstance(value, np.void):
        if value.dtype != dtype:
            raise _DoesNotFit
        made[()] = value
        return
    if not isinstance(value, tuple) or len(value) != len(dtype.names):
        raise _DoesNotFit
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
    numbers = of_numpy.numbers(dtype)
    made: np.ndarray[Any, Any] = _without_numbers(dtype, value) if numbers is None else _number(numbers, value)
    return made


def _moment(dtype: np.dtype[Any], value: Any) -> Any:
    """Convert a date or duration to the unit of the dtype. It fits if converting it back gives an equal value."""
    kind = np.datetime64 if dtype.kind == "M" else np.timedelta64
    if not isinstance(value, np.generic):
        if isinstance(value, bool | int | float | complex | str | bytes):
            raise _DoesNotFit
        value = kind("NaT") if type(value).__name__ == "NaTType" else kind(value)  # pandas.NaT is of both kinds
    if not isinstance(value, kind):
        raise _DoesNotFit
    moment = value.astype(dtype)
    same_unit_back = moment.astype(value.dtype)
    if not (np.isnat(value) and np.isnat(moment)) and same_unit_back != value:
        raise _DoesNotFit
    return moment


def _text(dtype: np.dtype[Any], value: Any) -> Any:
    if dtype.kind == "U":
        if not isinstance(value, str) or 4 * len(value) > dtype.itemsize:
            raise _DoesNotFit
        return value
    raw = value.tobytes() if dtype.kind == "V" and isinstance(value, np.void) else value
    if not isinstance(raw, bytes) or len(raw) > dtype.itemsize:
        raise _DoesNotFit
    return np.void(raw.ljust(dtype.itemsize, b"\0")) if dtype.kind == "V" else raw
