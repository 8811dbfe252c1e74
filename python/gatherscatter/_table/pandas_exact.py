"""pandas_exact.py: 64-bit integers of pandas beside missing rows, exact where pandas would make floats of them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

__all__ = ["as_nullable", "is_rounded", "may_round", "with_exact_gaps"]

pd: Any = importlib.import_module("pandas")
_EXACT = 1 << 53  # up to here float64 holds every integer


def may_round(dtype: Any) -> bool:
    """Whether float64, which pandas takes for integers beside a missing value, does not hold every value of a dtype."""
    dtype = getattr(dtype, "subtype", dtype)  # that of intervals and sparse arrays
    return isinstance(dtype, np.dtype) and dtype.kind in "iu" and dtype.itemsize == 8


def is_rounded(values: Any) -> bool:
    """Whether a missing value beside these values would change one of them, for values of a dtype that may round."""
    return not all(map(_is_exact, _integers_of(values)))


def with_exact_gaps(values: Any, gaps: Any) -> Any:
    """Values without loss in a column with these gaps: integers as nullable ones, intervals of integers as objects.

    `values` are those of the rows that are not missing.
    """
    if isinstance(values.dtype, pd.IntervalDtype):
        spread = np.full(len(gaps), np.nan, object)
        spread[~gaps] = np.asarray(values, dtype=object)
        return spread
    (integers,) = _integers_of(values)
    return as_nullable(integers, gaps)


def as_nullable(integers: Any, gaps: Any) -> Any:
    """An array of a nullable dtype of pandas with these integers in the rows that are not missing."""
    spread = np.zeros(len(gaps), integers.dtype.newbyteorder("="))
    spread[~gaps] = integers
    return pd.arrays.IntegerArray(spread, gaps.copy())


def _integers_of(values: Any) -> list[Any]:
    """The arrays of integers that values of a dtype that may round consist of."""
    if isinstance(values.dtype, pd.IntervalDtype):
        return [np.asarray(values.left), np.asarray(values.right)]
    return [np.asarray(values)]


def _is_exact(integers: Any) -> bool:
    if not len(integers) or (int(integers.min()) >= -_EXACT and int(integers.max()) <= _EXACT):
        return True
    floats = integers.astype(np.float64)
    beyond = floats >= 2.0 ** (63 if integers.dtype.kind == "i" else 64)  # rounded up, out of the type of integers
    return not beyond.any() and bool((floats.astype(integers.dtype) == integers).all())
