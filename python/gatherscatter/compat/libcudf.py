"""libcudf.py: strict versions of libcudf's gather, scatter and related functions, for tables in host or GPU memory."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table import segments
from gatherscatter._table.maps import map_of, mask_of, scattered
from gatherscatter._table.messages import counted
from gatherscatter._table.own_copies import own_copies
from gatherscatter._values.integers import integer
from gatherscatter.compat import _libcudf_tables as tables
from gatherscatter.compat._libcudf_masks import apply_boolean_mask, apply_deletion_mask, copy_if_else
from gatherscatter.errors import DataTypeError, InvalidArgument, LogicError, OutOfBoundsError

__all__ = [
    "NegativeIndexPolicy",
    "OutOfBoundsPolicy",
    "apply_boolean_mask",
    "apply_deletion_mask",
    "boolean_mask_scatter",
    "copy_if_else",
    "data_type_error",
    "gather",
    "invalid_argument",
    "logic_error",
    "negative_index_policy",
    "out_of_bounds_policy",
    "scatter",
    "segmented_gather",
]

# as users name them, also in pickles
copy_if_else.__module__ = apply_boolean_mask.__module__ = apply_deletion_mask.__module__ = __name__


class out_of_bounds_policy(enum.IntEnum):
    """What a gather does with a row number that is out of range.

    Attributes
    ----------
    NULLIFY
        The row of the result is null in every column.
    DONT_CHECK
        The caller guarantees that every row number is in range. The document leaves a violation undefined; here it
        raises `OutOfBoundsError`.

    Notes
    -----
    Semantics of ``cudf::out_of_bounds_policy``.

    Examples
    --------
    >>> out_of_bounds_policy(1)
    <out_of_bounds_policy.DONT_CHECK: 1>
    """

    NULLIFY = 0
    DONT_CHECK = 1


OutOfBoundsPolicy = out_of_bounds_policy


class negative_index_policy(enum.IntEnum):
    """What a negative row number of a gather means.

    Attributes
    ----------
    ALLOWED
        A number i means row i + n.
    NOT_ALLOWED
        It stays as it is, so that it is out of range: a null row under NULLIFY, an error under DONT_CHECK.

    Notes
    -----
    Semantics of ``cudf::negative_index_policy``.

    Examples
    --------
    >>> negative_index_policy.ALLOWED is NegativeIndexPolicy.ALLOWED
    True
    """

    ALLOWED = 0
    NOT_ALLOWED = 1


NegativeIndexPolicy = negative_index_policy

invalid_argument = InvalidArgument
data_type_error = DataTypeError
logic_error = LogicError


def gather(
    source_table: Any,
    gather_map: Any,
    bounds_policy: out_of_bounds_policy = out_of_bounds_policy.DONT_CHECK,
    negative_index_policy: negative_index_policy = negative_index_policy.ALLOWED,
) -> Any:
    """Gather the specified rows, including null values, of a set of columns.

    ``result[c][i] = source_table[c][gather_map[i]]``

    Parameters
    ----------
    source_table : table, column or list of columns, n rows
        Of every kind that `gatherscatter.table` accepts, or a list of pyarrow Arrays and ChunkedArrays.
    gather_map : column of integers, shape (m,)
        int8 to int64 or uint8 to uint64, without nulls. A negative number i means row i + n; n is added once only.
    bounds_policy : out_of_bounds_policy, default DONT_CHECK
        The result of a row number outside [-n, n): a null row or an error.
    negative_index_policy : negative_index_policy, default ALLOWED
        With NOT_ALLOWED, negative numbers are out of range.

    Returns
    -------
    table, column or list of columns, m rows
        Of the kind of `source_table`. Under NULLIFY every column is nullable. Unused keys of dictionaries are kept.

    Raises
    ------
    logic_error
        The map is not of integers, even if it is empty (also a TypeError), or has a null (also an `invalid_argument`).
        Nulls are checked first.
    OutOfBoundsError
        ``DONT_CHECK`` and a row number out of range. The document leaves it undefined.
    TypeError
        `source_table` is no table, or a policy is none.

    Notes
    -----
    Semantics of ``cudf::gather``. The uniform call is `gatherscatter.table.gather`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> table = pa.table({"a": [1, 2, 3, 4, 5], "b": ["A", "AA", None, "AAAA", ""]})
    >>> libcudf.gather(table, pa.array([0, 2, 4, -2])).to_pydict()
    {'a': [1, 3, 5, 4], 'b': ['A', None, '', 'AAAA']}
    >>> libcudf.gather(table, [9, 0], libcudf.out_of_bounds_policy.NULLIFY).to_pydict()
    {'a': [None, 1], 'b': [None, 'A']}
    >>> both = libcudf.out_of_bounds_policy.NULLIFY, libcudf.negative_index_policy.NOT_ALLOWED
    >>> libcudf.gather(table, [-1, 0], *both).to_pydict()
    {'a': [None, 1], 'b': [None, 'A']}
    """
    nullify = _nullifies("gather", bounds_policy)
    negative = _signs("gather", negative_index_policy)
    frame = tables.frame_of("gather", "source_table", source_table)
    if frame.lazy:
        (gather_map,) = own_copies(gather_map)
        return frame.later(lambda whole: gather(whole, gather_map, bounds_policy, negative_index_policy), True)
    return frame.take(tables.by_map("gather", gather_map, frame, nullify, negative), None, nullify)


def scatter(source: Any, scatter_map: Any = None, target: Any = None, *, indices: Any = None) -> Any:
    """Write the rows of a table, or one row of scalars, into a copy of the target.

    ``result = copy(target)``; ``result[c][scatter_map[i]] = source[c][i]``, or ``source[c]`` for scalars.

    Parameters
    ----------
    source : table, column or list of columns of at least m rows; or a list of scalars
        It has as many columns as `target`, of equal types; names are not compared. Scalars are pyarrow scalars of
        exactly the column's type (the value type of a dictionary column), Python values, or None.
    scatter_map : column of integers, shape (m,)
        int8 to int64 or uint8 to uint64, without nulls. A negative number i means row i + n; n is added once only. Of
        several source rows for one row of the target, the last one is stored.
    target : table, column or list of columns, n rows
        It is not modified.
    indices : column of integers
        The document's name of `scatter_map` for a `source` of scalars.

    Returns
    -------
    table, column or list of columns, n rows
        Of the kind of `target`, with its names.

    Raises
    ------
    invalid_argument
        The number of columns or scalars differs from the target's, the map is longer than the source, or it has a null
        (also a `logic_error`).
    data_type_error
        A column or scalar is of another type than the target's column.
    logic_error
        The map is not of integers (also a TypeError). The type of an empty map is not checked: the result is a copy of
        the target.
    OutOfBoundsError
        A row number out of range. The document leaves it undefined.
    TypeError
        An argument is missing or no table.

    Notes
    -----
    Semantics of both forms of ``cudf::scatter``. The uniform call is `gatherscatter.table.scatter`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> target = pa.table({"a": [10, 20, 30, 40]})
    >>> libcudf.scatter(pa.table({"a": [1, None]}), pa.array([-1, 0]), target)["a"].to_pylist()
    [None, 20, 30, 1]
    >>> libcudf.scatter([100], indices=pa.array([-3, 3]), target=target)["a"].to_pylist()
    [10, 100, 30, 100]
    """
    if (scatter_map is None) == (indices is None) or target is None:
        raise TypeError("scatter: expected source, scatter_map (or indices=, not both) and target")
    rows = indices if scatter_map is None else scatter_map
    frame = tables.frame_of("scatter", "target", target)
    if frame.lazy:
        source, rows = own_copies(source, rows)
        return frame.later(lambda whole: scatter(source, rows, whole), False)
    other = tables.rows_of("scatter", "source", frame, source)
    one_row = isinstance(other, list)
    count = tables.count_of("scatter", rows, map_of)
    if not one_row:
        if count > tables.row_count(other):
            many = counted(count, "row")
            raise InvalidArgument(f"scatter: the map has {many}, the source has {tables.row_count(other)}")
        frame.check_like("scatter", other)
    if count == 0:
        no_rows = np.empty(0, np.int64)
        copy = _core.Selection.scatter(
            "scatter", no_rows, None, frame.lengths, (), False, "raise", "from_end", frame.device
        )
        return frame.take(copy)
    tables.check_nulls("scatter", rows)
    if one_row:
        other = frame.one_row("scatter", other)
    numbers, valid = map_of("scatter", rows)
    selection = scattered("scatter", numbers, valid, frame, other, one_row)
    return frame.take(selection, other)


def boolean_mask_scatter(input: Any, target: Any, boolean_mask: Any) -> Any:
    """Write rows of a table, or scalars, into the rows of a copy of the target where a mask is true.

    ``result = copy(target)``; the k-th row where the mask is true becomes row k of `input`, or the scalars.

    Parameters
    ----------
    input : table, column or list of columns; or a list of scalars
        As the source of `scatter`. A table has at least as many rows as the mask has true values.
    target : table, column or list of columns, n rows
        It is not modified.
    boolean_mask : column of bool, shape (n,)
        A null counts as false.

    Returns
    -------
    table, column or list of columns, n rows
        Of the kind of `target`, with its names.

    Raises
    ------
    invalid_argument
        The number of columns or scalars differs from the target's, the mask is not as long as the target, or it has
        more true values than `input` has rows.
    data_type_error
        The mask is not of bool, or a column or scalar is of another type than the target's column.
    TypeError
        An argument is no table.

    Notes
    -----
    Semantics of both forms of ``cudf::boolean_mask_scatter``. The uniform call is
    `gatherscatter.table.boolean_mask_scatter`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> target, mask = pa.array([2, 2, 3, 4, 4]), pa.array([True, False, False, None, True])
    >>> libcudf.boolean_mask_scatter(pa.array([1, 5, 6]), target, mask).to_pylist()
    [1, 2, 3, 4, 5]
    >>> libcudf.boolean_mask_scatter([11], target, mask).to_pylist()
    [11, 2, 3, 4, 11]
    """
    op = "boolean_mask_scatter"
    frame = tables.frame_of(op, "target", target)
    if frame.lazy:
        input, boolean_mask = own_copies(input, boolean_mask)
        return frame.later(lambda whole: boolean_mask_scatter(input, whole, boolean_mask), False)
    other = tables.rows_of(op, "input", frame, input)
    tables.check_mask(op, boolean_mask, tables.row_count(frame))
    mask, valid = mask_of(op, boolean_mask)
    one_row = isinstance(other, list)
    if one_row:
        other = frame.one_row(op, other)
    else:
        frame.check_like(op, other)
    rows = _core.Selection.mask_scatter(op, mask, valid, frame.lengths, other.lengths, one_row, frame.device)
    return frame.take(rows, other)


def segmented_gather(
    source_column: Any, gather_map_list: Any, bounds_policy: out_of_bounds_policy = out_of_bounds_policy.DONT_CHECK
) -> Any:
    """Gather elements within each list of a column.

    ``result[i][j] = source_column[i][gather_map_list[i][j]]``

    Parameters
    ----------
    source_column : column of lists, n rows
    gather_map_list : column of lists of integers, n rows
        Without nulls. Negative positions count from the end of the list in their row.
    bounds_policy : out_of_bounds_policy, default DONT_CHECK
        The result of a position outside its list: a null element (NULLIFY) or an error.

    Returns
    -------
    column of lists, n rows
        Of the kind of `source_column`. A null list stays null.

    Raises
    ------
    logic_error
        A column is not of lists, the map is not of lists of integers (also a TypeError), or the numbers of rows differ.
    invalid_argument
        The map has a null (also a `logic_error`).
    OutOfBoundsError
        ``DONT_CHECK`` and a position out of range.
    TypeError
        An argument is no column, or `bounds_policy` is no policy.

    Notes
    -----
    Semantics of ``cudf::lists::segmented_gather``. The uniform call is `gatherscatter.table.segmented_gather`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gatherscatter.compat import libcudf
    >>> lists, maps = pa.array([["a", "b", "c"], ["d"]]), pa.array([[2, -3], [1]])
    >>> libcudf.segmented_gather(lists, maps, libcudf.out_of_bounds_policy.NULLIFY).to_pylist()
    [['c', 'a'], [None]]
    """
    op = "segmented_gather"
    nullify = _nullifies(op, bounds_policy)
    try:
        frame, back = segments.lists_of(op, source_column, "basic")
        positions = segments.positions_of(op, frame, gather_map_list, "basic")
        if frame.table.num_rows != positions.table.num_rows:
            raise LogicError(
                f"{op}: source_column has {counted(frame.table.num_rows, 'list')}, the map {positions.table.num_rows}"
            )
        try:
            # The rule "raise" reports a null before a position out of range.
            result = segments.gathered_elements(op, frame, positions, "raise")
        except OutOfBoundsError:
            if not nullify:
                raise
    except DataTypeError as error:  # the columns are not of lists
        raise LogicError(str(error)) from None
    return back(segments.gathered_elements(op, frame, positions, "nullify") if nullify else result)


def _nullifies(op: str, policy: Any) -> bool:
    if integer(op, "bounds_policy", policy) not in (0, 1):
        raise TypeError(f"{op}: bounds_policy is {policy}, expected NULLIFY (0) or DONT_CHECK (1)")
    return bool(policy == out_of_bounds_policy.NULLIFY)


def _signs(op: str, policy: Any) -> str:
    if integer(op, "negative_index_policy", policy) not in (0, 1):
        raise TypeError(f"{op}: negative_index_policy is {policy}, expected ALLOWED (0) or NOT_ALLOWED (1)")
    return "from_end" if policy == negative_index_policy.ALLOWED else "out_of_bounds"
