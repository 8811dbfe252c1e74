"""of_numpy.py: arrays of subclasses of numpy.ndarray as arguments, and the numbers of NumPy's dtypes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter._libraries.numbers import Numbers, float_limits
from gatherscatter.errors import type_name

__all__ = ["adopt", "numbers"]


def adopt(op: str, role: str, obj: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of a subclass of `numpy.ndarray`, as an argument of an operator that has no rules for subclasses."""
    if isinstance(obj, (np.ma.MaskedArray, np.matrix)):
        raise TypeError(
            f"{op}: {role} is a {type_name(obj)}; use NumPy's calls, such as gatherscatter.take, take_along_axis, put "
            "or put_along_axis, which treat it as NumPy does, or pass its .data, with "
            "mask=~numpy.ma.getmaskarray(..) for what it hides"
        )
    if isinstance(obj, np.memmap) or role != "input":
        return obj.view(np.ndarray)
    return obj


def numbers(dtype: np.dtype[Any]) -> Numbers | None:
    """The numbers of a dtype of NumPy; None for dtypes without numbers (datetime, string, structured)."""

    def make(value: Any) -> np.ndarray[Any, Any]:
        with np.errstate(all="ignore"):
            return np.array(value, dtype)

    if dtype.kind == "b":
        return Numbers(bool, None, None, make)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return Numbers(int, int(info.min), int(info.max), make)
    if dtype.kind == "f" and issubclass(dtype.type, np.floating):
        return Numbers(float, *float_limits(np.finfo(dtype)), make)
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
        return Numbers(float, *float_limits(package.finfo(dtype)), make)
    if category in (bool, complex):
        return Numbers(category, None, None, make)
    return None
