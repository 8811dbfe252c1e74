"""number_lists.py: ranges, and lists of Python numbers of one type, as arrays that one pass fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core

__all__ = ["plain_numbers"]

_MOST = 2**63 - 1


def plain_numbers(written: Any) -> np.ndarray[Any, Any] | None:
    """The array that NumPy makes of a range, or of a nested list of Python bools, integers or floats alone; None for
    all other values, also for integers beyond int64."""
    if type(written) is not range:
        return _core.numbers_of(written)
    if not written or max(map(abs, (written[0], written[-1], written[0] + written.step))) > _MOST:
        return None
    # NumPy divides to find the length, which is exact for a stop that is one step behind the last number.
    return np.arange(written[0], written[-1] + written.step, written.step, dtype=np.int64)
