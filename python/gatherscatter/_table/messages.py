"""messages.py: parts of error messages: counts, names of columns, and the check of keyword words."""

from __future__ import annotations

from gatherscatter.errors import shown

__all__ = ["called", "counted", "require_word"]


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
        raise ValueError(f"{op}: {parameter} is {shown(given)}, expected {', '.join(first)} or {last}")
