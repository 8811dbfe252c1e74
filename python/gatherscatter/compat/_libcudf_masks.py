"""_libcudf_masks.py: the calls of the libcudf face that choose and delete rows by a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.choices import choose_row
from gatherscatter._table.maps import mask_of
from gatherscatter._table.messages import counted
from gatherscatter._table.own_copies import own_copies
from gatherscatter.compat import _libcudf_tables as tables
from gatherscatter.errors import InvalidArgument

__all__ = ["apply_boolean_mask", "apply_deletion_mask", "copy_if_else"]


def copy_if_else(lhs: Any, rhs: Any, boolean_mask: Any) -> Any:
    """Select each row from one of two columns or tables. A side may be a scalar.

    ``result[i] = lhs[i] if boolean_mask[i] else rhs[i]``

    Parameters
    ----------
    lhs, rhs : table, column or list of columns, n rows; or scalars
        Of equal types; names are not compared. Beside a table, scalars are a list, as in `scatter`; beside a column
        also the bare scalar. If both sides are scalars, they are pyarrow scalars of one type.
    boolean_mask : column of bool, shape (n,)
        A null counts as false.

    Returns
    -------
    table, column or list of columns, n rows
        Of the kind of `lhs`, or of `rhs` where `lhs` is scalars, with its names; of two scalars a pyarrow Array with
        one value for each value of the mask.

    Raises
    ------
    invalid_argument
        The lengths or numbers of columns or scalars differ.
    data_type_error
        The types differ, or the mask is not of bool.
    TypeError
        A side is neither a table nor scalars, or no side has a type.

    Notes
    -----
    Semantics of ``cudf::copy_if_else`` in all of its forms. The uniform call is `gatherscatter.table.copy_if_else`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> libcudf.copy_if_else(pa.array([1, 2, 3]), pa.array([-1, None, -3]), pa.array([True, False, None])).to_pylist()
    [1, None, -3]
    >>> libcudf.copy_if_else(pa.array([1, 2, 3]), pa.scalar(0), pa.array([True, False, None])).to_pylist()
    [1, 0, 0]
    """
    op = "copy_if_else"
    if tables.is_scalar(lhs) and tables.is_scalar(rhs):
        return tables.scalar_rows(op, lhs, rhs, boolean_mask)
    if not (tables.has_table(lhs) and tables.has_table(rhs)):
        return _copy_if_else_scalars(op, lhs, rhs, boolean_mask)
    frame = tables.frame_of(op, "lhs", lhs)
    if frame.lazy:
        rhs, boolean_mask = own_copies(rhs, boolean_mask)
        return frame.later(lambda whole: copy_if_else(whole, rhs, boolean_mask), False)
    other = tables.partner_of(op, ("lhs", "rhs"), frame, rhs)
    rows = tables.row_count(frame)
    tables.check_mask(op, boolean_mask, rows)
    if tables.row_count(other) != rows:
        raise InvalidArgument(f"{op}: lhs has {counted(rows, 'row')}, rhs has {tables.row_count(other)}")
    frame.check_like(op, other, ("lhs", "rhs"))
    mask, valid = mask_of(op, boolean_mask)
    selection = _core.Selection.choose(op, mask, valid, frame.lengths, other.lengths, frame.device)
    return frame.take(selection, other)


def _copy_if_else_scalars(op: str, lhs: Any, rhs: Any, boolean_mask: Any) -> Any:
    """`copy_if_else` of a table and scalars."""
    is_left = tables.has_table(lhs) or not tables.has_table(rhs)
    role, table, other_role, given = ("lhs", lhs, "rhs", rhs) if is_left else ("rhs", rhs, "lhs", lhs)
    frame = tables.frame_of(op, role, table)
    if frame.lazy:
        given, boolean_mask = own_copies(given, boolean_mask)

        def chosen(whole: Any) -> Any:
            lhs, rhs = (whole, given) if is_left else (given, whole)
            return copy_if_else(lhs, rhs, boolean_mask)

        return frame.later(chosen, False)
    is_bare = not frame.is_table and not isinstance(given, (list, tuple))
    scalars = tables.rows_of(op, other_role, frame, [given] if is_bare else given, role)
    tables.check_mask(op, boolean_mask, tables.row_count(frame))
    row = frame.one_row(op, scalars)
    mask, valid = mask_of(op, boolean_mask)
    return choose_row(op, frame, row, mask, valid, is_left)


def apply_boolean_mask(input: Any, boolean_mask: Any) -> Any:
    """Keep the rows where a mask is true.

    Parameters
    ----------
    input : table, column or list of columns, n rows
    boolean_mask : column of bool, shape (n,)
        A null counts as false. If `input` has no rows, the mask may have any length.

    Returns
    -------
    table, column or list of columns
        Of the kind of `input`: its rows where the mask is true, in their order.

    Raises
    ------
    invalid_argument
        The mask is not as long as the table.
    data_type_error
        The mask is not of bool.
    TypeError
        `input` is no table.

    Notes
    -----
    Semantics of ``cudf::apply_boolean_mask``. The uniform call is `gatherscatter.table.filter`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> libcudf.apply_boolean_mask(pa.table({"a": [1, 2, 3]}), pa.array([True, None, True]))["a"].to_pylist()
    [1, 3]
    """
    return _filtered("apply_boolean_mask", input, boolean_mask, "true")


def apply_deletion_mask(input: Any, deletion_mask: Any) -> Any:
    """Delete the rows where a mask is true or null.

    Parameters
    ----------
    input : table, column or list of columns, n rows
    deletion_mask : column of bool, shape (n,)
        A null deletes, as true does. If `input` has no rows, the mask may have any length.

    Returns
    -------
    table, column or list of columns
        Of the kind of `input`: its rows where the mask is false, in their order.

    Raises
    ------
    invalid_argument
        The mask is not as long as the table.
    data_type_error
        The mask is not of bool.
    TypeError
        `input` is no table.

    Notes
    -----
    Semantics of ``cudf::apply_deletion_mask``. The uniform call is `gatherscatter.table.filter` with the mask of the
    rows to keep.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> libcudf.apply_deletion_mask(pa.table({"a": [1, 2, 3]}), pa.array([True, None, False]))["a"].to_pylist()
    [3]
    """
    return _filtered("apply_deletion_mask", input, deletion_mask, "false")


def _filtered(op: str, input: Any, given: Any, named: str) -> Any:
    """The rows that a mask names: those where it is true, or those where it is false."""
    frame = tables.frame_of(op, "input", input)
    if frame.lazy:
        (given,) = own_copies(given)
        return frame.later(lambda whole: _filtered(op, whole, given, named), True)
    rows, count = tables.row_count(frame), tables.count_of(op, given, mask_of)
    mask, valid = mask_of(op, given)
    if rows == 0:
        _core.Selection.filter(op, mask, valid, (count,), frame.device)  # checks the type of the mask
        mask, valid = np.empty(0, bool), None
    else:
        tables.check_mask(op, given, rows)
    return frame.take(_core.Selection.filter(op, mask, valid, frame.lengths, frame.device, named))
