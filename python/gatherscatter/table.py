"""table.py: libcudf's gather, scatter and related operators on tables of many libraries.

Every function takes tables and columns of pyarrow (`Table`, `RecordBatch`, `ChunkedArray`, `Array`), polars
(`DataFrame`, `Series`, `LazyFrame`), pandas (`DataFrame`, `Series`), DuckDB (relations) and, on GPUs, pylibcudf
(`Table`, `Column`), and any other object with ``__arrow_c_stream__``, ``__arrow_c_array__`` or
``__arrow_c_device_array__``. The result has the kind of the argument. The operation on a LazyFrame runs when the frame
is collected, a relation runs at the call, and for other libraries the result is an object with these methods of Arrow.
"""

from __future__ import annotations

from typing import Any, Literal

from gatherscatter import _core
from gatherscatter._ops.keywords import Negative, RowBounds, Validate
from gatherscatter._table import segments
from gatherscatter._table.frames import frame_of, partner_of, rows_of
from gatherscatter._table.labels import aligned, mask_for
from gatherscatter._table.maps import check_map_fits, gather_rows, map_of, scattered
from gatherscatter._table.messages import require_word

__all__ = ["boolean_mask_scatter", "copy_if_else", "filter", "gather", "scatter", "segmented_gather"]

BOUNDS = ("raise", "nullify", "unchecked")


def __dir__() -> list[str]:
    return __all__


def gather(
    source: Any,
    gather_map: Any,
    bounds: RowBounds = "raise",
    *,
    negative: Negative = "from_end",
    validate: Validate = "basic",
) -> Any:
    """Take rows of a table by their numbers.

    Row ``i`` of the result is row ``gather_map[i]`` of the source, in every column::

        result[c][i] = source[c][gather_map[i]]

    Parameters
    ----------
    source : table or column, n rows
        Of any kind that the module accepts. A LazyFrame is gathered when it is collected: ``lf.pipe(gather, rows)``.
    gather_map : array of integers, shape (m,)
        Lists, NumPy and masked arrays, tensors, Series, Arrow arrays, and relations of one column, of any integer type;
        in lists None is null. Labels of pandas are ignored. A number -n <= i < 0 of a signed type means row i + n;
        numbers of an unsigned type are never negative.
    bounds : {"raise", "nullify", "unchecked"}, default "raise"
        Handling of a number that is out of bounds.

        - ``"raise"``: it is an error, and so is a null in the map.
        - ``"nullify"``: it gives a row that is null in every column, and so does a null in the map: a left join.
        - ``"unchecked"``: the caller guarantees that there is none. Such a number gives an unspecified row, but no
          memory outside of the table is accessed. A null in the map is an error.
    negative : {"from_end", "out_of_bounds"}, default "from_end"
        Whether negative numbers count from the end, or are out of bounds. ``"out_of_bounds"`` with ``bounds="nullify"``
        suits maps such as those of ``Index.get_indexer``, in which -1 means no match.
    validate : {"basic", "full"}, default "basic"
        Which checks of Arrow memory precede the operation. ``"basic"``: its structure; data are checked when they are
        read. ``"full"``: also every offset, key, type id, run end and null count.

    Returns
    -------
    table or column, m rows
        Of the kind of `source`, with its names, types, metadata and order of columns. Under ``"nullify"`` every field
        of the top level is nullable.

    Raises
    ------
    OutOfBoundsError
        If a number is out of bounds; it gives the first one. It is an IndexError, ValueError and RuntimeError.
    NullIndexError
        If there is a null in the map, but not under ``"nullify"``. It is a ValueError and RuntimeError.
    IndexTypeError
        If the map is not of integers, also if it is empty. It is a TypeError and RuntimeError.
    InvalidArgument
        If the map has more than one dimension (a ValueError).
    ValueError
        If the value of `bounds`, `negative` or `validate` is not one of those listed.
    TypeError
        If `source` is not a table or column, or the map is a single number.
    OverflowError
        If a RecordBatch would have to be split because its 32-bit offsets overflow.
    BufferError
        If Arrow memory is invalid.

    Notes
    -----
    Semantics of ``cudf::gather``. Numbers are compared at full width, so 2**32 + 1 is never row 1. The keys of
    dictionary columns are kept, also unused ones. Chunks of columns are read in place, without concatenation, and the
    result has one chunk, or several if the 32-bit offsets of one chunk would overflow.

    The result of pandas is that of ``df.take(gather_map)``. Under ``"nullify"``, and only if a row is missing, dtypes
    change as by ``reindex`` (int64 to float64 with NaN, bool to object), and the index changes: the label of a missing
    row is missing, and all other rows keep their labels. ``result.index = left.index`` makes it a left join.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pyarrow as pa
    >>> planes = pa.table({"tail": ["N1", "N2", "N3"], "seats": [55, None, 180]})
    >>> gs.table.gather(planes, [2, 0, -1]).to_pylist()
    [{'tail': 'N3', 'seats': 180}, {'tail': 'N1', 'seats': 55}, {'tail': 'N3', 'seats': 180}]
    >>> gs.table.gather(planes, [0, None, 9], bounds="nullify").to_pydict()
    {'tail': ['N1', None, None], 'seats': [55, None, None]}

    The second half of a left join, after ``Index.get_indexer``:

    >>> import pandas as pd
    >>> found = pd.Index(planes["tail"]).get_indexer(["N3", "N9", "N1"])
    >>> found
    array([ 2, -1,  0])
    >>> gs.table.gather(planes, found, bounds="nullify", negative="out_of_bounds").to_pydict()
    {'tail': ['N3', None, 'N1'], 'seats': [180, None, 55]}
    """
    op = "table.gather"
    require_word(op, "bounds", bounds, BOUNDS)
    require_word(op, "negative", negative, ("from_end", "out_of_bounds"))
    frame = frame_of(op, "source", source, validate)
    numbers, valid = map_of(op, gather_map)
    check_map_fits(op, bounds, numbers)

    def taken(frame: Any) -> Any:
        return gather_rows(op, numbers, valid, frame, bounds, negative)

    if frame.lazy:
        return frame.later(lambda whole: taken(frame_of(op, "source", whole, validate)), True)
    return taken(frame)


def scatter(
    source: Any,
    scatter_map: Any = None,
    target: Any = None,
    *,
    indices: Any = None,
    bounds: Literal["raise", "unchecked"] = "raise",
    validate: Validate = "basic",
) -> Any:
    """Write rows into a copy of a table.

    Row ``scatter_map[i]`` of the result is row ``i`` of the source, every other row is the target's::

        result = copy(target)
        result[c][scatter_map[i]] = source[c][i]      # a table
        result[c][scatter_map[i]] = source[c]         # one scalar per column

    Parameters
    ----------
    source : table or column of at least m rows, or scalars
        A table has the columns of `target` in equal order and of equal types; rows from m on are ignored. It may be of
        another library, unless the target is of pandas. Scalars are one per column, in a list, a tuple, or a dict by
        name: Python values or pyarrow scalars, None for null; for a single column also the bare value or a NumPy array.
    scatter_map : array of integers, shape (m,)
        As the map of `gather`, without nulls. Of several rows for one target row the last one is kept.
    target : table or column, n rows
        It is not changed. The operation on a LazyFrame runs when the frame is collected.
    indices : array of integers, optional
        Another name of `scatter_map`.
    bounds : {"raise", "unchecked"}, default "raise"
        Whether the caller guarantees that the map is valid. (In this version it is checked in both cases.)
    validate : {"basic", "full"}, default "basic"
        As in `gather`.

    Returns
    -------
    table or column, n rows
        Of the kind of `target`, with its names, types, metadata and, in pandas, index and dtypes.

    Raises
    ------
    InvalidArgument
        If the number of columns differs, or their names if both sides are tables; if the map is longer than the
        source; if scalars do not match the columns in number or by name. It is a ValueError.
    DataTypeError
        If the type of a column differs, or a scalar is not exactly a value of its column. 2.0 fits int64, but 1.5 does
        not; 300 does not fit int8, a time without a zone does not fit a type with one, and None does not fit a pandas
        dtype without missing values. Only floats are rounded to a narrower type. It is a ValueError and TypeError.
    OutOfBoundsError, NullIndexError, IndexTypeError, ValueError, TypeError, BufferError
        As in `gather`; TypeError also if the map or the target is left out.

    Notes
    -----
    Semantics of ``cudf::scatter``, but the results of duplicates and of numbers out of bounds, which are undefined
    there, are defined. Arrow's dictionaries are merged, also with a scalar that is a new key; categories of pandas are
    not merged, and values that are not in the target's categories are refused. The index of a pandas source is ignored.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pandas as pd
    >>> flights = pd.DataFrame({"delay": [3, -999, 7, -999], "from": ["JFK", "LGA", "EWR", "JFK"]})
    >>> right = pd.DataFrame({"delay": [12, 5], "from": ["LGA", "JFK"]})
    >>> gs.table.scatter(right, [1, -1], flights)
       delay from
    0      3  JFK
    1     12  LGA
    2      7  EWR
    3      5  JFK
    >>> gs.table.scatter({"delay": 0, "from": "???"}, [1, 3], flights)["from"].tolist()
    ['JFK', '???', 'EWR', '???']
    """
    op = "table.scatter"
    if (scatter_map is None) == (indices is None) or target is None:
        raise TypeError(f"{op}: expected source, scatter_map (or indices=, not both) and target")
    require_word(op, "bounds", bounds, ("raise", "unchecked"))
    frame = frame_of(op, "target", target, validate)

    def written(frame: Any) -> Any:
        other, one_row = rows_of(op, "source", frame, source, validate)
        rows = scattered(op, numbers, valid, frame, other, one_row)
        return frame.take(rows, other)

    numbers, valid = map_of(op, indices if scatter_map is None else scatter_map)
    check_map_fits(op, bounds, numbers)
    if frame.lazy:
        return frame.later(lambda whole: written(frame_of(op, "target", whole, validate)), False)
    return written(frame)


def boolean_mask_scatter(input: Any, target: Any, boolean_mask: Any, *, validate: Validate = "basic") -> Any:
    """Write rows into a copy of a table where a mask is true.

    The k-th true row of the result is row ``k`` of the input, every other row is the target's::

        result = copy(target)
        result[c][boolean_mask] = input[c][0 .. number of trues]     # a table
        result[c][boolean_mask] = input[c]                           # one scalar per column

    Parameters
    ----------
    input : table or column, or scalars
        As the source of `scatter`. A table has at least as many rows as the mask has trues; the others are ignored.
    target : table or column, n rows
        It is not changed. The operation on a LazyFrame runs when the frame is collected.
    boolean_mask : array of bool, shape (n,)
        Of any library, or a list; null counts as false. A pandas mask is matched to the rows by label.
    validate : {"basic", "full"}, default "basic"
        As in `gather`.

    Returns
    -------
    table or column, n rows
        Of the kind of `target`, with its names, types, metadata and, in pandas, index and dtypes.

    Raises
    ------
    InvalidArgument
        If the number or names of columns, or the length of the mask, differ, or there are too few rows.
    DataTypeError
        If the mask is not of bool, the type of a column differs, or a scalar is not a value of its column.
    TypeError, BufferError
        As in `scatter`.

    Notes
    -----
    Semantics of ``cudf::boolean_mask_scatter``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import polars as pl
    >>> delays = pl.Series("delay", [4, None, 9, None])
    >>> gs.table.boolean_mask_scatter(pl.Series("mean", [5, 6]), delays, delays.is_null()).to_list()
    [4, 5, 9, 6]
    >>> gs.table.boolean_mask_scatter(0, delays, [False, True, False, None]).to_list()
    [4, 0, 9, None]
    """
    op = "table.boolean_mask_scatter"
    frame = frame_of(op, "target", target, validate)
    mask, valid = mask_for(op, frame, "target", boolean_mask)

    def written(frame: Any) -> Any:
        other, one_row = rows_of(op, "input", frame, input, validate)
        rows = _core.Selection.mask_scatter(op, mask, valid, frame.lengths, other.lengths, one_row, frame.device)
        return frame.take(rows, other)

    if frame.lazy:
        return frame.later(lambda whole: written(frame_of(op, "target", whole, validate)), False)
    return written(frame)


def segmented_gather(
    source: Any, gather_map_list: Any, bounds: RowBounds = "raise", *, validate: Validate = "basic"
) -> Any:
    """Take elements of every list of a column by their positions in the list.

    ::

        result[i][j] = source[i][gather_map_list[i][j]]

    Parameters
    ----------
    source : column of lists, n rows
        Of pyarrow, polars, or pandas with an `ArrowDtype`, or another object with Arrow's methods.
    gather_map_list : column of lists of integers, n rows
        Of these kinds, or lists of lists, or an array of shape (n, k). Without null rows. A negative position counts
        from the end of its own list.
    bounds : {"raise", "nullify", "unchecked"}, default "raise"
        As in `gather`, for positions in each list.
    validate : {"basic", "full"}, default "basic"
        As in `gather`.

    Returns
    -------
    column of lists, n rows
        Of the kind of `source`, with lists as long as those of the map. A null row of the source gives a null row.

    Raises
    ------
    OutOfBoundsError
        If a position is out of bounds for its list.
    IndexTypeError
        If the map is not of lists of integers; for Python lists it gives the row and the value.
    NullIndexError
        If there is a null position, but not under ``"nullify"``, or a null row in the map.
    DataTypeError
        If `source` is not of lists, or is a pandas Series without an `ArrowDtype` of lists.
    InvalidArgument
        If the columns differ in length, or a table is given.
    ValueError, TypeError, BufferError
        As in `gather`.
    OverflowError
        If the result would have more elements than 32-bit offsets allow: cast to ``large_list`` first.

    Notes
    -----
    Semantics of ``cudf::lists::segmented_gather``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pyarrow as pa
    >>> words = pa.array([["a", "b", "c"], ["d"], ["e", "f"]])
    >>> gs.table.segmented_gather(words, [[2, 0], [0, 0], [-1]]).to_pylist()
    [['c', 'a'], ['d', 'd'], ['f']]
    """
    op = "table.segmented_gather"
    require_word(op, "bounds", bounds, BOUNDS)
    frame, back = segments.lists_of(op, source, validate)
    given = aligned(op, source, ("source", "gather_map_list"), gather_map_list)
    positions = segments.positions_of(op, frame, given, validate)
    return back(segments.gathered_elements(op, frame, positions, bounds))


def copy_if_else(lhs: Any, rhs: Any, boolean_mask: Any, *, validate: Validate = "basic") -> Any:
    """Take each row from one of two tables, selected by a mask.

    ::

        result[c][i] = lhs[c][i] if boolean_mask[i] else rhs[c][i]

    Parameters
    ----------
    lhs, rhs : table or column, n rows
        With equal columns in equal order. If `lhs` is a LazyFrame, the operation runs when the frame is collected. Rows
        of pandas are matched by label.
    boolean_mask : array of bool, shape (n,)
        Of any library, or a list; null counts as false. A pandas mask is matched to the rows by label.
    validate : {"basic", "full"}, default "basic"
        As in `gather`.

    Returns
    -------
    table or column, n rows
        Of the kind of `lhs`, with its names, metadata and, in pandas, its index.

    Raises
    ------
    InvalidArgument, DataTypeError, TypeError, BufferError
        As in `boolean_mask_scatter`.

    Notes
    -----
    Semantics of ``cudf::copy_if_else``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pyarrow as pa
    >>> gs.table.copy_if_else(pa.array(["a", "b", "c"]), pa.array(["x", "y", "z"]), [True, False, None]).to_pylist()
    ['a', 'y', 'z']
    """
    op = "table.copy_if_else"
    frame = frame_of(op, "lhs", lhs, validate)
    mask, valid = mask_for(op, frame, "lhs", boolean_mask)

    def chosen(frame: Any) -> Any:
        other = partner_of(op, ("lhs", "rhs"), frame, aligned(op, lhs, ("lhs", "rhs"), rhs), validate)
        rows = _core.Selection.choose(op, mask, valid, frame.lengths, other.lengths, frame.device)
        return frame.take(rows, other)

    if frame.lazy:
        return frame.later(lambda whole: chosen(frame_of(op, "lhs", whole, validate)), False)
    return chosen(frame)


def filter(source: Any, boolean_mask: Any, *, validate: Validate = "basic") -> Any:
    """Take the rows of a table where a mask is true.

    Parameters
    ----------
    source : table or column, n rows
        Of any kind that the module accepts. The operation on a LazyFrame runs when the frame is collected.
    boolean_mask : array of bool, shape (n,)
        Of any library, or a list; null counts as false. A pandas mask is matched to the rows by label.
    validate : {"basic", "full"}, default "basic"
        As in `gather`.

    Returns
    -------
    table or column
        Of the kind of `source`, with as many rows as the mask has trues, in their order.

    Raises
    ------
    InvalidArgument
        If the lengths of mask and table differ.
    DataTypeError
        If the mask is not of bool.
    TypeError, BufferError
        As in `gather`.

    Notes
    -----
    Semantics of ``cudf::apply_boolean_mask``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pandas as pd
    >>> gs.table.filter(pd.Series([1.5, 2.5, 3.5], index=["a", "b", "c"]), [True, None, True]).to_dict()
    {'a': 1.5, 'c': 3.5}
    """
    op = "table.filter"
    frame = frame_of(op, "source", source, validate)
    mask, valid = mask_for(op, frame, "source", boolean_mask)

    def kept(frame: Any) -> Any:
        return frame.take(_core.Selection.filter(op, mask, valid, frame.lengths, frame.device))

    if frame.lazy:
        return frame.later(lambda whole: kept(frame_of(op, "source", whole, validate)), True)
    return kept(frame)
