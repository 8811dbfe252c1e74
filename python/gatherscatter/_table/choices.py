"""choices.py: `table.copy_if_else`, each row from one of two tables, or from a table and a row of scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from gatherscatter import _core
from gatherscatter._ops.keywords import Validate
from gatherscatter._table.frames import frame_of, kind_of, partner_of
from gatherscatter._table.labels import aligned, mask_for
from gatherscatter._table.near_keywords import explains_keywords
from gatherscatter._table.near_tables import no_table, step_to_a_table
from gatherscatter._table.own_copies import own_copies
from gatherscatter._table.row_scalars import scalars_of

__all__ = ["choose_row", "copy_if_else", "has_table"]

TableT = TypeVar("TableT")
_Scalars = bool | int | float | str | bytes | np.generic | Sequence[Any] | Mapping[Any, Any] | None


@overload
def copy_if_else(lhs: _Scalars, rhs: TableT, boolean_mask: Any, *, validate: Validate = ...) -> TableT: ...
@overload
def copy_if_else(lhs: TableT, rhs: Any, boolean_mask: Any, *, validate: Validate = ...) -> TableT: ...
@explains_keywords
def copy_if_else(lhs: Any, rhs: Any, boolean_mask: Any, *, validate: Validate = "basic") -> Any:
    """Take each row from one of two tables, selected by a mask. One of them may be a row of scalars.

    ::

        result[c][i] = lhs[c][i] if boolean_mask[i] else rhs[c][i]     # two tables
        result[c][i] = lhs[c][i] if boolean_mask[i] else rhs[c]        # one scalar per column; also for lhs

    Parameters
    ----------
    lhs, rhs : table or column, n rows; or scalars
        Two tables have equal columns in equal order. If `lhs` is a LazyFrame, the operation runs when the frame is
        collected. Rows of pandas are matched by label. Scalars, on one side only, are those of `scatter`: one per
        column in a list, a tuple, or a dict by name, or the bare value for a single column; None is null.
    boolean_mask : array of bool, shape (n,)
        Of any library, or a list; null counts as false. A pandas mask is matched to the rows by label.
    validate : {"basic", "full"}, default "basic"
        As in `gather`.

    Returns
    -------
    table or column, n rows
        Of the kind of `lhs`, or of the table if one side is scalars, with its names, metadata and, in pandas, its
        index.

    Raises
    ------
    InvalidArgument, DataTypeError, TypeError, BufferError
        As in `boolean_mask_scatter`; TypeError also if neither side is a table or column.

    Notes
    -----
    Semantics of ``cudf::copy_if_else``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pyarrow as pa
    >>> gs.table.copy_if_else(pa.array(["a", "b", "c"]), pa.array(["x", "y", "z"]), [True, False, None]).to_pylist()
    ['a', 'y', 'z']
    >>> gs.table.copy_if_else(pa.array(["a", "b", "c"]), "?", [True, False, None]).to_pylist()
    ['a', '?', '?']
    >>> gs.table.copy_if_else(None, pa.array([1, 2]), [False, True]).to_pylist()
    [1, None]
    """
    op = "table.copy_if_else"
    is_left = has_table(lhs) or not has_table(rhs)
    role, table, other_role, given = ("lhs", lhs, "rhs", rhs) if is_left else ("rhs", rhs, "lhs", lhs)
    frame = frame_of(op, role, table, validate)
    mask, valid = mask_for(op, frame, role, boolean_mask)
    is_row = not has_table(given)

    def chosen(frame: Any) -> Any:
        if is_row:
            _refuse_arrays(op, other_role, given)
            row = frame.one_row(op, scalars_of(op, other_role, frame, given, role))
            return choose_row(op, frame, row, mask, valid, is_left)
        other = partner_of(op, (role, other_role), frame, aligned(op, table, (role, other_role), given), validate)
        return frame.take(_core.Selection.choose(op, mask, valid, frame.lengths, other.lengths, frame.device), other)

    if frame.lazy:
        given, mask, valid = own_copies(given, mask, valid)
        return frame.later(lambda whole: chosen(frame_of(op, role, whole, validate)), False)
    return chosen(frame)


def choose_row(op: str, frame: Any, row: Any, mask: Any, valid: Any, keeps_true: bool) -> Any:
    """The rows of a table where a mask is true, or those where it is not; the frame of one row in place of the others.

    A null in the mask is not true.
    """
    named = "other" if keeps_true else "true"
    rows = _core.Selection.mask_scatter(op, mask, valid, frame.lengths, row.lengths, True, frame.device, named)
    return frame.take(rows, row)


def has_table(source: Any) -> bool:
    """Whether a side is a table or column, as opposed to scalars."""
    return kind_of(source) is not None


def _refuse_arrays(op: str, role: str, given: Any) -> None:
    """Raise TypeError for what has values of several rows and is no table, and for what makes a table."""
    if isinstance(given, np.ndarray) and given.ndim:
        raise no_table(op, role, given)
    if type(given).__module__ != "builtins" and step_to_a_table(given):
        raise no_table(op, role, given)
