"""ranges.py: reads maps that are Python ranges of any length and magnitude, without iterating over their items."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter.errors import OutOfBoundsError

__all__ = ["as_map", "items_of", "within"]

_LOWEST, _BEYOND = -(2**63), 2**63


def items_of(given: range) -> int:
    """The number of items; `len` raises an error above `sys.maxsize`."""
    return max(0, -((given.start - given.stop) // given.step))


def as_map(op: str, given: range) -> Any:
    """The range as an array of int64, or the range itself if it exceeds int64; `within` converts it later."""
    first, beyond = _inside(given, _LOWEST, _BEYOND)
    return _array(op, given) if beyond - first == items_of(given) else given


def within(op: str, rows: Any, lengths: tuple[int, ...], bounds: str = "raise", negative: str = "from_end") -> Any:
    """A map in the form that `_core.Selection` reads: a range becomes an array.

    Raises
    ------
    OutOfBoundsError
        For a range that exceeds int64, because no table has so many rows; but not under "nullify" and "drop".
    MemoryError
        If the range has more items than an array can have.
    """
    if type(rows) is not range:
        return rows
    if bounds in ("nullify", "drop"):
        return _array(op, rows)
    size, count = sum(lengths), items_of(rows)
    first, beyond = _inside(rows, -size if negative == "from_end" else 0, size)
    bad = 0 if first > 0 else beyond
    raise OutOfBoundsError(op, rows[bad], (bad,), 0, size, count - (beyond - first), count, negative == "from_end")


def _inside(given: range, lowest: int, beyond: int) -> tuple[int, int]:
    """The half-open interval of positions in the range whose items lie in [lowest, beyond)."""
    start, step, count = given.start, given.step, items_of(given)
    if step > 0:
        ends = -((start - lowest) // step), -((start - beyond) // step)
    else:
        ends = (start - beyond) // -step + 1, (start - lowest) // -step + 1
    first, last = (min(max(end, 0), count) for end in ends)
    return first, last


def _array(op: str, given: range) -> np.ndarray[Any, Any]:
    """The items as int64. Items that int64 cannot hold become its minimum or maximum, which are no rows either."""
    count = items_of(given)
    if count >= 2**60:
        raise MemoryError(f"{op}: the map has {count} rows, more than memory can hold")
    first, last = _inside(given, _LOWEST, _BEYOND)
    rows = np.arange(last - first, dtype=np.uint64)  # uint64 arithmetic wraps, so that every step is possible
    if last > first:
        rows *= np.uint64(given.step % 2**64)
        rows += np.uint64(given[first] % 2**64)
    if last - first == count:
        return rows.view(np.int64)
    ends = (_LOWEST, _BEYOND - 1)[:: 1 if given.step > 0 else -1]
    before, after = np.full(first, ends[0]), np.full(count - last, ends[1])
    return np.concatenate([before, rows.view(np.int64), after])
