"""registry.py: which class is the frame of a type of tables, and which types have a gather of one step.

The module of each library registers its classes when it is imported, which happens at the first object of the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gatherscatter._libraries.late_parts import load

__all__ = ["Kind", "gathers", "library_of_type", "register", "registered"]

Kind: TypeAlias = Callable[[str, Any, bool], Any]  # operator, object, whether to validate in full -> frame

# By type of table: a function that gathers rows with the default options in one step, (table, map) -> result. It gives
# None for what it cannot read in place.
gathers: dict[type, Callable[[Any, Any], Any]] = {}
_kinds: dict[str, dict[str, Kind]] = {}  # by library, then by the name of a class of it


def register(library: str, **kinds: Kind) -> None:
    """Name the frames of the tables and columns of a library, by the names of their classes."""
    _kinds[library] = kinds


def registered(kind: type) -> Kind | None:
    """The frame for objects of a type, by the nearest base class that has one; else None."""
    for base in kind.__mro__:
        library = library_of_type(base)
        if library in _kinds or load(f"tables of {library}") is not None:
            frame = _kinds[library].get(base.__name__)
            if frame is not None:
                return frame
    return None


def library_of_type(kind: type) -> str:
    return kind.__module__.partition(".")[0].lstrip("_")
