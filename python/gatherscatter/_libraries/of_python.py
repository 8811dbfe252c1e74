"""of_python.py: integers, numbers and lists of Python as arguments, also indices that exceed int64."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._libraries.devices import Values
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

# The operators whose indices NumPy itself converts from lists.
NUMPYS_OPERATORS = frozenset({"take", "take_along_axis", "compress", "put", "put_along_axis", "putmask", "place"})

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def cut(number: int) -> int:
    """The int64 value nearest to a number. If the number exceeds int64, both lie beyond the same end of any axis."""
    return min(max(number, _LOWEST), _HIGHEST)


def fits(number: int) -> bool:
    """Whether int64 can hold a number."""
    return _LOWEST <= number <= _HIGHEST


def unchecked(what: str) -> str:
    """The error text for a number that exceeds 64 bits under bounds="unchecked": it is outside of every axis."""
    return f"{what} holds a number beyond 64 bits, which bounds='unchecked' does not take"


class Wide:
    """Indices of which some do not fit int64.

    Attributes
    ----------
    array : ndarray of int64
        The indices. Those that exceed int64 are replaced by the nearest int64 value, which lies beyond the same end of
        any axis.
    values : list of int
        All indices in full, in C order.
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
    """Whether a number or list may hold integers that exceed int64, by the dtype that NumPy gives it."""
    if array.dtype.kind == "u":
        return not isinstance(written, np.generic) and int(array.max()) > _HIGHEST
    return array.dtype.kind in "Of"


def integers_in(written: Any) -> np.ndarray[Any, Any] | Wide | None:
    """Convert a number or nested list of integers to int64 or `Wide`; None if it holds anything else."""
    items = np.array(written, object)
    values = items.reshape(-1).tolist()
    if not all(_is_integer(kind) for kind in set(map(type, values))):
        return None
    values = list(map(int, values))
    if all(map(fits, values)):
        return np.array(values, np.int64).reshape(items.shape)
    return Wide(values, items.shape)


def as_planned(op: str, written: Any, dtype: str) -> Any:
    """Convert Python integers to the index dtype of a plan; to `Wide` if they do not fit it."""
    try:
        items = np.array(written)
    except (ValueError, OverflowError):  # a ragged list or a range that is too long, for which the operator raises
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
    """A copy of an error with the full value of the index, read from (nested) lists at the position of the error."""
    for at in error.position:
        values = values[at]
    op, _, *others = error.fields()
    return type(error)(op, values, *others)


def _is_integer(kind: type) -> bool:
    return issubclass(kind, (int, np.integer)) and not issubclass(kind, (bool, np.timedelta64))
