"""table.py: libcudf's gather, scatter and related operators on tables of many libraries.

Every function takes tables and columns of pyarrow, polars (also LazyFrames), pandas, DuckDB, on GPUs pylibcudf, and
any other object with ``__arrow_c_stream__``, ``__arrow_c_array__`` or ``__arrow_c_device_array__``; three take Dask
DataFrames. The result has the kind of the argument. The operation on a LazyFrame runs when the frame is collected, a
relation runs at the call, and for other libraries the result is an object with these methods of Arrow. `gather` also
takes tables in files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from gatherscatter import _core
from gatherscatter._ops.foreign_names import FOREIGN_OF_TABLES, refuser_of
from gatherscatter._ops.keywords import Negative, RowBounds, Validate, WriteBounds
from gatherscatter._table import segments
from gatherscatter._table.choices import copy_if_else
from gatherscatter._table.frames import frame_of, rows_to_write
from gatherscatter._table.labels import aligned, mask_for
from gatherscatter._table.maps import check_map_fits, map_of, scatter_rows
from gatherscatter._table.messages import READ_BOUNDS, WRITE_BOUNDS, require_bool, require_word
from gatherscatter._table.named_columns import written_columns
from gatherscatter._table.near_keywords import explains_keywords
from gatherscatter._table.negatives import refuse_negative, sign_of
from gatherscatter._table.own_copies import own_copies
from gatherscatter._table.plans import make_plannable
from gatherscatter._table.row_gather import gather
from gatherscatter._table.row_lookup import rows_of

__all__ = ["boolean_mask_scatter", "copy_if_else", "filter", "gather", "rows_of", "scatter", "segmented_gather"]

gather.__module__ = rows_of.__module__ = copy_if_else.__module__ = __name__  # as users name them, also in pickles


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # to a type checker, a module with this function has every name
    __getattr__ = refuser_of(__name__, FOREIGN_OF_TABLES)

TableT = TypeVar("TableT")


@overload
def scatter(
    source: Any,
    scatter_map: Any,
    target: TableT,
    *,
    bounds: WriteBounds = ...,
    negative: Negative | None = ...,
    validate: Validate = ...,
    partial: bool = ...,
) -> TableT: ...
@overload
def scatter(
    source: Any,
    *,
    indices: Any,
    target: TableT,
    bounds: WriteBounds = ...,
    negative: Negative | None = ...,
    validate: Validate = ...,
    partial: bool = ...,
) -> TableT: ...
@explains_keywords
def scatter(
    source: Any,
    scatter_map: Any = None,
    target: Any = None,
    *,
    indices: Any = None,
    bounds: WriteBounds = "raise",
    negative: Negative | None = None,
    validate: Validate = "basic",
    partial: bool = False,
) -> Any:
    """Write rows into a copy of a table.

    The order is source, map, target, the opposite of `gatherscatter.scatter`, whose order is target, index, source.
    Row ``scatter_map[i]`` of the result is row ``i`` of the source, every other row is the target's::

        result = copy(target)
        result[c][scatter_map[i]] = source[c][i]      # a table
        result[c][scatter_map[i]] = source[c]         # one scalar per column

    Parameters
    ----------
    source : table or column, m rows, or scalars
        A table has the columns of `target` in equal order and of equal types. It may be of another library, unless the
        target is of pandas; then its text and bytes may have another layout of Arrow, such as string in place of
        string_view, which pyarrow casts. Scalars are one per column, in a list, a tuple, or a dict by name: Python
        values or pyarrow scalars, None for null; for a single column also the bare value or an array of NumPy.
    scatter_map : array of integers, shape (m,)
        As the map of `gather`. Of several rows for one target row the last one is kept.
    target : table or column, n rows
        It is not changed. The operation on a LazyFrame runs when the frame is collected.
    indices : array of integers, optional
        Another name of `scatter_map`.
    bounds : {"raise", "drop", "unchecked"}, default "raise"
        Handling of a number that is out of bounds.

        - ``"raise"``: it is an error, and so is a null in the map.
        - ``"drop"``: its row of the source is left out, and so is one with a null in the map.
        - ``"unchecked"``: the caller guarantees that there is none. (In this version it is checked as for "raise".)
    negative : {"from_end", "out_of_bounds"}, optional
        Whether negative numbers count from the end, or are out of bounds as the -1 of ``Index.get_indexer``, which
        means no match. The default is ``"from_end"``; but under ``"drop"``, where no error would show that the other
        one was meant, a negative number is an error unless `negative` is given.
    validate : {"basic", "full"}, default "basic"
        As in `gather`.
    partial : bool, default False
        Whether `source`, a dict or a table, may name some columns of the target only. The others stay as they are.

    Returns
    -------
    table or column, n rows
        Of the kind of `target`, with its names, types, metadata and, in pandas, index and dtypes.

    Raises
    ------
    InvalidArgument
        If the number of columns differs, or their names if both sides are tables; if the source has more or fewer rows
        than the map has numbers; if scalars do not match the columns in number or by name. It is a ValueError.
    DataTypeError
        If the type of a column differs, or a scalar is not exactly a value of its column. 2.0 fits int64, but 1.5 does
        not; 300 does not fit int8, a time without a zone does not fit a type with one, and None does not fit a pandas
        dtype without missing values. Only floats are rounded to a narrower type. It is a ValueError and TypeError.
    OutOfBoundsError, NegativeIndexError, NullIndexError, IndexTypeError, ValueError, TypeError, BufferError
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
    >>> gs.table.scatter({"delay": 0}, [1, 3], flights, partial=True)["from"].tolist()
    ['JFK', 'LGA', 'EWR', 'JFK']

    Rows that are found by a key, of which one is not there:

    >>> found = pd.Index(flights["from"]).drop_duplicates().get_indexer(["EWR", "SFO"])
    >>> found
    array([ 2, -1])
    >>> gs.table.scatter(right, found, flights, bounds="drop", negative="out_of_bounds")["delay"].tolist()
    [3, -999, 12, -999]
    """
    op = "table.scatter"
    if (scatter_map is None) == (indices is None) or target is None:
        raise TypeError(f"{op}: expected source, scatter_map (or indices=, not both) and target")
    require_word(op, "bounds", bounds, WRITE_BOUNDS)
    sign = sign_of(op, negative, bounds)
    require_bool(op, "partial", partial)
    frame = frame_of(op, "target", target, validate)
    if frame.tasks_of:
        return frame.scatter(source, indices if scatter_map is None else scatter_map, partial, bounds, sign)

    def written(frame: Any) -> Any:
        if partial:
            return written_columns(op, "source", frame, source, validate, written_in)
        return written_in(frame)

    def written_in(frame: Any) -> Any:
        other, one_row = rows_to_write(op, "source", frame, source, validate)
        return scatter_rows(op, numbers, valid, frame, other, one_row, bounds, sign)

    numbers, valid = map_of(op, indices if scatter_map is None else scatter_map)
    check_map_fits(op, bounds, numbers)
    numbers, valid, sign = refuse_negative(op, numbers, valid, bounds, sign, frame)
    if frame.lazy:
        source, numbers, valid = own_copies(source, numbers, valid)
        return frame.later(lambda whole: written(frame_of(op, "target", whole, validate)), False)
    return written(frame)


@explains_keywords
def boolean_mask_scatter(
    input: Any, target: TableT, boolean_mask: Any, *, validate: Validate = "basic", partial: bool = False
) -> TableT:
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
    partial : bool, default False
        As in `scatter`.

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
    require_bool(op, "partial", partial)
    frame = frame_of(op, "target", target, validate)
    if frame.tasks_of:
        tasks: TableT = frame.mask_scatter(input, boolean_mask, partial)
        return tasks
    mask, valid = mask_for(op, frame, "target", boolean_mask)

    def written(frame: Any) -> TableT:
        write = partial_write if partial else written_in
        result: TableT = write(frame)
        return result

    def partial_write(frame: Any) -> Any:
        return written_columns(op, "input", frame, input, validate, written_in)

    def written_in(frame: Any) -> Any:
        other, one_row = rows_to_write(op, "input", frame, input, validate)
        rows = _core.Selection.mask_scatter(op, mask, valid, frame.lengths, other.lengths, one_row, frame.device)
        return frame.take(rows, other)

    if frame.lazy:
        input, mask, valid = own_copies(input, mask, valid)
        later: TableT = frame.later(lambda whole: written(frame_of(op, "target", whole, validate)), False)
        return later
    return written(frame)


@explains_keywords
def segmented_gather(
    source: TableT, gather_map_list: Any, bounds: RowBounds = "raise", *, validate: Validate = "basic"
) -> TableT:
    """Take elements of every list of a column by their positions in the list.

    ::

        result[i][j] = source[i][gather_map_list[i][j]]

    Parameters
    ----------
    source : column of lists, n rows
        Of pyarrow, polars, or pandas with an `ArrowDtype`, or another object with Arrow's methods.
    gather_map_list : column of lists of integers, n rows
        Of these kinds, or lists of lists, or an array of shape (n, k) of NumPy, torch, JAX or xarray. Without null
        rows. A negative position counts from the end of its own list.
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
    require_word(op, "bounds", bounds, READ_BOUNDS)
    frame, back = segments.lists_of(op, source, validate)
    given = aligned(op, source, ("source", "gather_map_list"), gather_map_list)
    positions = segments.positions_of(op, frame, given, validate)
    result: TableT = back(segments.gathered_elements(op, frame, positions, bounds))
    return result


@explains_keywords
def filter(source: TableT, boolean_mask: Any, *, validate: Validate = "basic") -> TableT:
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
    >>> import gatherscatter as gs, pandas as pd
    >>> gs.table.filter(pd.Series([1.5, 2.5, 3.5], index=["a", "b", "c"]), [True, None, True]).to_dict()
    {'a': 1.5, 'c': 3.5}
    """
    op = "table.filter"
    frame = frame_of(op, "source", source, validate)
    mask, valid = mask_for(op, frame, "source", boolean_mask)

    def kept(frame: Any) -> TableT:
        frame.expect_mask()
        result: TableT = frame.take(_core.Selection.filter(op, mask, valid, frame.lengths, frame.device))
        return result

    if frame.lazy:
        mask, valid = own_copies(mask, valid)
        later: TableT = frame.later(lambda whole: kept(frame_of(op, "source", whole, validate)), True)
        return later
    return kept(frame)


make_plannable(
    {
        gather: ("source", "gather_map"),
        scatter: ("target", "scatter_map"),
        boolean_mask_scatter: ("target", "boolean_mask"),
        segmented_gather: ("source", "gather_map_list"),
        copy_if_else: ("lhs", "boolean_mask"),
        filter: ("source", "boolean_mask"),
    }
)
