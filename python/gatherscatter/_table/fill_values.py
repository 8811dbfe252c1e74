"""fill_values.py: values in place of the nulls of rows that a gather does not find: they are read, and written."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.messages import counted
from gatherscatter.errors import InvalidArgument, shown

__all__ = ["Fills", "over", "places_and_values", "present_only", "read_fills"]

Fills = dict[Any, Any] | list[Any]  # values by name of column, or that of a single column


def read_fills(op: str, bounds: str, given: Any) -> Fills | None:
    """The values of ``fill_value=``; None if it is left out.

    Raises
    ------
    InvalidArgument
        If rows that are not found give no nulls.
    """
    if given is None:
        return None
    if bounds != "nullify":
        raise InvalidArgument(
            f'{op}: fill_value has the values of rows that are not found, and with bounds="{bounds}" there are none: '
            'bounds="nullify" takes it'
        )
    if isinstance(given, dict):
        return dict(given)
    return list(given) if isinstance(given, (list, tuple)) else [given]


def present_only(fills: Fills | None, names: list[Any]) -> Fills | None:
    """The values of columns that a query has kept; it may drop those that its result does not use."""
    return {name: fills[name] for name in fills if name in names} if isinstance(fills, dict) else fills


def places_and_values(op: str, names: list[Any], is_table: bool, fills: Fills) -> tuple[list[int], list[Any]]:
    """The places of the columns that get a value, and their values.

    Raises
    ------
    InvalidArgument
        If a table is given a value without a name, or a name that it lacks or has twice, or a column several values.
    """
    if isinstance(fills, list) and is_table:
        example = f", as {{{names[0]!r}: {shown(fills[0])}}}" if names and fills else ""
        raise InvalidArgument(
            f"{op}: fill_value names no columns, and the source is a table: give a dict of values by name{example}"
        )
    if isinstance(fills, list):
        if len(fills) != 1:
            raise InvalidArgument(
                f"{op}: fill_value has {counted(len(fills), 'value')}, and the source is one column: write one value "
                "that is itself a list as [[..]]"
            )
        return [0], fills
    if not names:
        raise InvalidArgument(
            f"{op}: fill_value is a dict, but the source's column has no name: give its value alone, and one that is "
            "itself a dict as [value]"
        )
    for name in fills:
        if names.count(name) != 1:
            what = "two columns have" if name in names else "no column of the result has"
            raise InvalidArgument(f"{op}: fill_value has a value for {shown(name)}, a name that {what}")
    return [names.index(name) for name in fills], list(fills.values())


def over(op: str, frame: Any, missing: np.ndarray[Any, Any], one: Any) -> Any:
    """The rows of a frame, with a row of values in place of the missing ones."""
    sizes = frame.lengths, one.lengths
    return frame.take(_core.Selection.mask_scatter(op, missing, None, *sizes, True, frame.device), one)
