"""row_scalars.py: reads one value for each column of a table, which are given in place of a table of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._table.messages import counted
from gatherscatter._table.near_tables import no_table
from gatherscatter.errors import InvalidArgument

__all__ = ["PART", "scalars_of"]

PART = "partial=True changes the named columns alone"


def scalars_of(op: str, role: str, frame: Any, source: Any, target: str = "the target") -> list[Any]:
    """One value for each column, from a sequence, from a dict by column name, or from one value for a single column.

    `target` is the role of the table in messages.
    """
    names, width = frame.names, frame.width
    if isinstance(source, dict):
        if width and not names:
            raise InvalidArgument(f"{op}: {role} is a dict, but the column of {target} has no name: give [value]")
        if len(set(names)) < width:
            raise InvalidArgument(f"{op}: {role} is a dict, but names of columns occur twice: give a list")
        if source.keys() != set(names):
            lacking = [name for name in names if name not in source]
            unknown = [name for name in source if name not in set(names)]
            parts = [f"lacks {lacking}"] * bool(lacking)
            parts += [f"has {unknown}, which {target} does not have"] * bool(unknown)
            step = "" if unknown or target != "the target" else f"; {PART}"
            raise InvalidArgument(f"{op}: {role} {' and '.join(parts)}{step}")
        return [source[name] for name in names]
    if _is_array(source):
        raise no_table(op, role, source)
    values = list(source) if isinstance(source, (list, tuple)) else [source]
    if len(values) != width:
        step = ""
        if width == 1 and isinstance(source, (list, tuple)):
            step = "; values of several rows are an array or a column; write one value that is itself a list as [[..]]"
        elif any(isinstance(value, (dict, list, tuple)) for value in values):
            step = "; values of several rows are a table"
        has = f"{role} has {counted(len(values), 'scalar')}, {target} has {counted(width, 'column')}"
        raise InvalidArgument(f"{op}: {has}{step}")
    return values


def _is_array(source: Any) -> bool:
    if isinstance(source, np.generic) or type(source).__module__.partition(".")[0] == "pyarrow":  # these are scalars
        return False
    return hasattr(source, "__dlpack__") and not isinstance(source, np.ndarray)  # an ndarray has no axes here: a scalar
