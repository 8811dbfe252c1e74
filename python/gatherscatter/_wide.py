"""_wide.py: integers in lists that NumPy has no integer dtype for: what lies outside alike, and the values in full."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._device import Values
from gatherscatter.errors import OutOfBoundsError

__all__ = [
    "NUMPYS_OPERATORS",
    "Wide",
    "as_planned",
    "cut",
    "exceeds_int64",
    "fits",
    "in_full",
    "integers_in",
    "unchecked",
]

# Their indices are what NumPy reads in them.
NUMPYS_OPERATORS = frozenset({"take", "take_along_axis", "compress", "put", "put_along_axis", "putmask", "place"})

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def cut(number: int) -> int:
    """The integer of int64 that is nearest: outside of every axis where the number is, on the same side."""
    return min(max(number, _LOWEST), _HIGHEST)


def fits(number: int) -> bool:
    """Whether int64 holds it."""
    return _LOWEST <= number <= _HIGHEST


def unchecked(what: str) -> str:
    """The words for a caller who vouches for a number that lies outside of every axis."""
    return f"{what} holds a number beyond 64 bits, which bounds='unchecked' does not take"


class Wide:
    """Indices of which some do not fit int64.

    Attributes
    ----------
    array : ndarray of int64
        The values, those beyond int64 cut to its ends: these lie outside of every axis, on the same side.
    values : list of int
        All values as they were written, in C order.
    """

    __slots__ = ("array", "values")

    def __init__(self, values: list[int], shape: tuple[int, ...]) -> None:
        self.values = values
        self.array = np.array(list(map(cut, values)), np.int64).reshape(shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype


def exceeds_int64(written: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether what NumPy made of something written down shows that it may hold integers beyond int64."""
    if array.dtype.kind == "u":
        return not isinstance(written, np.generic) and int(array.max()) > _HIGHEST
    return array.dtype.kind in "Of"


def integers_in(written: Any) -> np.ndarray[Any, Any] | Wide | None:
    """The integers of a number or nested list, as int64 or `Wide`; None if it holds anything else."""
    items = np.array(written, object)
    values = items.reshape(-1).tolist()
    if not all(_is_integer(kind) for kind in set(map(type, values))):
        return None
    values = list(map(int, values))
    if all(map(fits, values)):
        return np.array(values, np.int64).reshape(items.shape)
    return Wide(values, items.shape)


def as_planned(op: str, written: Any, dtype: str) -> Any:
    """Integers that were written down, in the dtype that a plan was made for; `Wide` where they do not fit it."""
    try:
        items = np.array(written)
    except (ValueError, OverflowError):  # ragged, or a range that is too long: the operator says so
        return written
    found = integers_in(written) if items.size and items.dtype.kind in "iufO" else None
    if found is None:
        return written
    values = found.values if isinstance(found, Wide) else found.reshape(-1).tolist()
    limits = np.iinfo(dtype)
    if all(limits.min <= value <= limits.max for value in values):
        return Values(np.array(values, dtype).reshape(found.shape))
    return written if op in NUMPYS_OPERATORS else Wide(values, found.shape)


def in_full(error: OutOfBoundsError, values: Any) -> OutOfBoundsError:
    """An error of a map with the value as it was written, found in (nested) lists by the position."""
    for at in error.position:
        values = values[at]
    op, _, *others = error.fields()
    return type(error)(op, values, *others)


def _is_integer(kind: type) -> bool:
    return issubclass(kind, (int, np.integer)) and not issubclass(kind, (bool, np.timedelta64))
