"""numbers.py: the numbers that a dtype can hold, whatever its library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Numbers", "float_limits"]


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


def float_limits(info: Any) -> tuple[Any, Any]:
    """The limits within which a value rounds to a finite one: up to half a spacing beyond the largest finite value."""
    kind = np.longdouble if getattr(info, "dtype", None) == np.dtype(np.longdouble) else float
    slack = 1 + kind(info.eps) / 4
    low, high = kind(info.min), kind(info.max)
    with np.errstate(all="ignore"):
        return (low * slack, high * slack) if high * slack < np.inf else (low, high)
