"""messages.py: parts of error messages: counts, names of columns, and the check of keyword words."""

from __future__ import annotations

from typing import get_args

import numpy as np

from gatherscatter._libraries.of_python import as_int
from gatherscatter._ops.keywords import Negative, RowBounds, WriteBounds
from gatherscatter.errors import InvalidArgument, shown

__all__ = [
    "READ_BOUNDS",
    "SIGNS",
    "WRITE_BOUNDS",
    "called",
    "counted",
    "require_bool",
    "require_budget",
    "require_word",
]

# The words of `bounds` for what reads rows and for what writes rows, and those of `negative`.
READ_BOUNDS: tuple[str, ...] = get_args(RowBounds)
WRITE_BOUNDS: tuple[str, ...] = get_args(WriteBounds)
SIGNS: tuple[str, ...] = get_args(Negative)


def counted(count: int, noun: str) -> str:
    """A number and its noun, singular or plural: ``1 row``, ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def called(name: object) -> str:
    """The text for a column in a message: ``column 'a'``, or ``the column`` if it has no name."""
    return "the column" if name is None or name == "" else f"column {shown(name)}"


def require_word(op: str, parameter: str, given: object, words: tuple[str, ...]) -> None:
    """Raise ValueError for an argument that is not one of `words`."""
    if not isinstance(given, str) or given not in words:
        *first, last = (f'"{word}"' for word in words)
        of_others = isinstance(given, str) and given in ("fill", "drop", "nullify", "clip", "wrap")
        step = _OTHER_BOUNDS.get(words, "") if of_others else ""
        raise ValueError(f"{op}: {parameter} is {shown(given)}, expected {', '.join(first)} or {last}{step}")


_OTHER_BOUNDS: dict[tuple[str, ...], str] = {
    READ_BOUNDS: '; tables have nulls: bounds="nullify" gives a row of nulls',
    WRITE_BOUNDS: '; bounds="drop" leaves such rows out',
}


def require_bool(op: str, parameter: str, given: object) -> None:
    """Raise TypeError for an argument that is not a bool."""
    if type(given) not in (bool, np.bool_):
        raise TypeError(f"{op}: {parameter} is {shown(given)}, expected a bool")


def require_budget(op: str, given: object) -> int:
    """A number of bytes; raise TypeError for what is no integer, ValueError for a number below 1."""
    count = as_int(given)
    if count is None:
        raise TypeError(f"{op}: memory_budget is {shown(given)}, expected a number of bytes")
    if count < 1:
        raise InvalidArgument(f"{op}: memory_budget is {shown(count)}, expected at least 1 byte")
    return count
