"""labels.py: rows of pandas that go with the rows of a pandas table, brought into its order by their labels."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gatherscatter._table.frames import Roles
from gatherscatter._table.maps import Read, mask_of
from gatherscatter.errors import InvalidArgument, shown

__all__ = ["aligned", "mask_for"]


def mask_for(op: str, frame: Any, role: str, given: Any) -> Read:
    """The mask for the rows of a table, as `mask_of` gives it.

    Raises
    ------
    InvalidArgument
        If both have labels, and these do not say which value belongs to which row.
    """
    if _is_of(given, "Series"):  # a DataFrame is no mask, whatever its labels
        given = aligned(op, frame.source, (role, "boolean_mask"), given)
    return mask_of(op, given)


def aligned(op: str, table: Any, roles: Roles, given: Any) -> Any:
    """What has one row for each row of a table, in the order of the table's rows.

    Only pandas has labels, so everything else goes by position, and so do equal labels in equal order. Unique labels in
    another order say where each row belongs. Different lengths are left to the operator.

    Raises
    ------
    InvalidArgument
        If labels differ, or occur twice in another order.
    """
    if not (_is_of(given, "Series", "DataFrame") and _is_of(table, "Series", "DataFrame")):
        return given
    labels, theirs = table.index, given.index
    if theirs is labels or len(theirs) != len(labels):
        return given
    try:
        if theirs.equals(labels):
            return given
        is_unique = labels.is_unique and theirs.is_unique
        positions = theirs.get_indexer_for(labels) if is_unique else None
    except Exception as error:  # labels may be any objects, which are hashed and compared
        raise _unlike(op, roles, given, f"cannot be compared ({error})") from error
    if positions is None:
        raise _unlike(op, roles, given, "differ in order, and some occur twice")
    # pandas finds numbers in intervals, in several if they overlap, and texts among times: these are no equal labels.
    lacking = positions < 0 if len(positions) == len(labels) else np.ones(len(labels), bool)
    if not lacking.any():
        found = theirs.take(positions)
        if found.astype(object).equals(labels.astype(object)):
            return given.take(positions)
        lacking = np.ones(len(labels), bool)
    raise _unlike(op, roles, given, f"differ: {roles[1]} has no {shown(labels[lacking][0])}")


def _is_of(given: Any, *kinds: str) -> bool:
    """Whether it is of one of these types of pandas, which is not imported for it."""
    pd: Any = sys.modules.get("pandas")
    return pd is not None and isinstance(given, tuple(getattr(pd, kind) for kind in kinds))


def _unlike(op: str, roles: Roles, given: Any, what: str) -> InvalidArgument:
    mine, theirs = roles
    by_position = f"{theirs}.set_axis({mine}.index)"
    if theirs == "boolean_mask":
        by_position = f"{theirs}.{'to_numpy()' if isinstance(given.dtype, np.dtype) else 'array'}"
    return InvalidArgument(f"{op}: the row labels of {mine} and {theirs} {what}; {by_position} goes by position")
