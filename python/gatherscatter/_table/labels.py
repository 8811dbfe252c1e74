"""labels.py: aligns masks and partners of a pandas table with its rows by their row labels."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gatherscatter._table.frames import Roles
from gatherscatter._table.maps import ValuesAndValidity, mask_of
from gatherscatter.errors import InvalidArgument, shown

__all__ = ["aligned", "mask_for"]


def mask_for(op: str, frame: Any, role: str, given: Any) -> ValuesAndValidity:
    """The mask of a table's rows in the form that `mask_of` returns, aligned by its labels if both have labels.

    Raises
    ------
    InvalidArgument
        If both have labels, and these do not assign one value of the mask to each row.
    """
    if _is_of(given, "Series"):  # `mask_of` rejects a DataFrame, so its labels are not compared
        positions = _positions(op, frame.source, (role, "boolean_mask"), given)
        if positions is not None:  # `take` of a Series would take its labels, too
            values = given.to_numpy() if isinstance(given.dtype, np.dtype) else given.array
            given = values.take(positions)
    return mask_of(op, given)


def aligned(op: str, table: Any, roles: Roles, given: Any) -> Any:
    """An object with one row for each row of a table, reordered to the order of the table's rows.

    Only pandas objects have labels; all others are matched by position, and so are labels that are equal in equal
    order. Unique labels in another order decide to which row a value belongs. An object of another length is returned
    unchanged, because the operator raises the error for it.

    Raises
    ------
    InvalidArgument
        If the labels differ, or are in another order and some occur twice.
    """
    positions = _positions(op, table, roles, given)
    return given if positions is None else given.take(positions)


def _positions(op: str, table: Any, roles: Roles, given: Any) -> np.ndarray[Any, Any] | None:
    """For each row of a table the position of its row in `given`; None where rows are matched by position."""
    if not (_is_of(given, "Series", "DataFrame") and _is_of(table, "Series", "DataFrame")):
        return None
    labels, theirs = table.index, given.index
    if theirs is labels or len(theirs) != len(labels):
        return None
    try:
        if theirs.equals(labels):
            return None
        positions: Any = theirs.get_indexer_for(labels) if theirs.is_unique else None
        is_matched = positions is not None and _is_permutation(positions)
        if not is_matched and not labels.is_unique:  # of matched labels no two are equal
            positions = None
    except Exception as error:  # labels may be any objects, and hashing or comparing them may raise any error
        raise _unlike(op, roles, given, f"cannot be compared ({error})") from error
    if positions is None:
        raise _unlike(op, roles, given, "differ in order, and some occur twice")
    if is_matched and _finds_equal_labels(labels, theirs):
        return np.asarray(positions)
    # get_indexer_for also matches numbers with the intervals that contain them (several, if these overlap) and strings
    # with times. Such labels are not equal, so the labels at the positions found are compared again.
    lacking = positions < 0 if len(positions) == len(labels) else np.ones(len(labels), bool)
    if not lacking.any():
        found = theirs.take(positions)
        if found.astype(object).equals(labels.astype(object)):
            return np.asarray(positions)
        lacking = np.ones(len(labels), bool)
    raise _unlike(op, roles, given, f"differ: {roles[1]} has no {shown(labels[lacking][0])}")


def _is_permutation(positions: np.ndarray[Any, Any]) -> bool:
    seen = np.zeros(len(positions), bool)
    if positions.size and (positions.min() < 0 or positions.max() >= len(seen)):
        return False
    seen[positions] = True
    return bool(seen.all())


def _finds_equal_labels(labels: Any, theirs: Any) -> bool:
    """Whether a lookup of labels finds equal ones only: both are numbers, times or text of one dtype."""
    dtype = labels.dtype
    is_plain = isinstance(dtype, np.dtype) and dtype.kind in "iufmM"
    pd: Any = sys.modules["pandas"]
    return bool(theirs.dtype == dtype and (is_plain or isinstance(dtype, (pd.DatetimeTZDtype, pd.StringDtype))))


def _is_of(given: Any, *kinds: str) -> bool:
    """Whether an object is an instance of one of these pandas classes. pandas is not imported for this check."""
    pd: Any = sys.modules.get("pandas")
    return pd is not None and isinstance(given, tuple(getattr(pd, kind) for kind in kinds))


def _unlike(op: str, roles: Roles, given: Any, what: str) -> InvalidArgument:
    table, partner = roles
    by_position = f"{partner}.set_axis({table}.index)"
    if partner == "boolean_mask":
        by_position = f"{partner}.{'to_numpy()' if isinstance(given.dtype, np.dtype) else 'array'}"
    return InvalidArgument(f"{op}: the row labels of {table} and {partner} {what}; {by_position} goes by position")
