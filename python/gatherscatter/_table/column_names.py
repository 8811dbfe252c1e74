"""column_names.py: the places of named columns among the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter._table.messages import counted
from gatherscatter.errors import InvalidArgument, shown, type_name

__all__ = ["places_of", "refuse_columns"]

MOST_SHOWN = 12


def places_of(op: str, names: Sequence[Any], columns: Any) -> list[int]:
    """The place of each column of a list among the names of a table.

    Raises
    ------
    TypeError
        If `columns` is not a list or tuple.
    InvalidArgument
        For a name that the table does not have or has twice, and one that the list has twice.
    """
    if not isinstance(columns, (list, tuple)):
        raise TypeError(f"{op}: columns is {shown(columns)}, expected a list of names")
    places: list[int] = []
    names = [_plain(name) for name in names]
    for name in map(_plain, columns):
        found = [at for at, other in enumerate(names) if type(other) is type(name) and other == name]
        if len(found) != 1:
            problem = "has several columns of that name" if found else f"has {_listed(names)}"
            raise InvalidArgument(f"{op}: columns names {shown(name)}, but the source {problem}")
        if found[0] in places:
            raise InvalidArgument(f"{op}: columns names {shown(name)} twice")
        places.append(found[0])
    return places


def _plain(name: Any) -> Any:
    """A name of NumPy's type, such as `numpy.str_`, as the one of Python's that it is equal to."""
    is_plain = isinstance(name, (np.str_, np.bytes_, np.number, np.bool_)) and not isinstance(name, np.timedelta64)
    return name.item() if is_plain else name


def refuse_columns(op: str, source: Any) -> InvalidArgument:
    """The error for names of columns where the source is not a table."""
    return InvalidArgument(f"{op}: columns is for tables, and the source is a {type_name(source)}, one column")


def _listed(names: Sequence[Any]) -> str:
    if not names:
        return "no columns"
    listed = ", ".join(map(shown, names[:MOST_SHOWN]))
    return f"{counted(len(names), 'column')}: {listed}{', ...' if len(names) > MOST_SHOWN else ''}"
