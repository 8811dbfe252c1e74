"""row_gather.py: the operator `table.gather`, for tables in memory and in files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from gatherscatter._ops.keywords import Labels, Negative, RowBounds, Validate
from gatherscatter._table.fill_values import Fills, places_and_values, present_only, read_fills
from gatherscatter._table.frames import frame_of, is_known
from gatherscatter._table.maps import check_map_fits, gather_rows, gathered, map_of
from gatherscatter._table.messages import READ_BOUNDS, require_word
from gatherscatter._table.near_keywords import explains_keywords
from gatherscatter._table.negatives import refuse_negative, sign_of
from gatherscatter._table.own_copies import own_copies
from gatherscatter._table.paths import is_in_files
from gatherscatter._table.registry import gathers
from gatherscatter.errors import InvalidArgument, type_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gatherscatter._ops.keywords import TableGatherKeywords

__all__ = ["gather"]

TableT = TypeVar("TableT")


class _Fragments(Protocol):
    """A data set of pyarrow."""

    def get_fragments(self) -> Any: ...


class _RowGroups(Protocol):
    """A Parquet file of pyarrow."""

    def read_row_group(self, i: int) -> Any: ...


_InFiles = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | _Fragments | _RowGroups


@overload
def gather(
    source: _InFiles, gather_map: Any, bounds: RowBounds = "raise", **keywords: Unpack[TableGatherKeywords]
) -> Any: ...
@overload
def gather(
    source: TableT, gather_map: Any, bounds: RowBounds = "raise", **keywords: Unpack[TableGatherKeywords]
) -> TableT: ...
@explains_keywords
def gather(
    source: Any,
    gather_map: Any,
    bounds: RowBounds = "raise",
    *,
    columns: Sequence[Any] | None = None,
    negative: Negative | None = None,
    validate: Validate = "basic",
    memory_budget: int | None = None,
    index: Labels = "take",
    fill_value: Any = None,
) -> Any:
    """Take rows of a table by their numbers.

    Row ``i`` of the result is row ``gather_map[i]`` of the source, in every column::

        result[c][i] = source[c][gather_map[i]]

    Parameters
    ----------
    source : table or column, n rows
        Of any kind that the module accepts. A LazyFrame is gathered when it is collected: ``lf.pipe(gather, rows)``.
        Also a table in files: a `pyarrow.dataset.Dataset`, a `pyarrow.parquet.ParquetFile`, or a path or a list of
        paths of Parquet or Arrow IPC (Feather) files. Only row groups and columns that are wanted are read.
    gather_map : array of integers, shape (m,)
        Lists, NumPy and masked arrays, tensors, Series, Arrow arrays, and relations of one column, of any integer type;
        in lists None is null. Labels of pandas are ignored. Numbers of an unsigned type are never negative.
    bounds : {"raise", "nullify", "unchecked"}, default "raise"
        Handling of a number that is out of bounds.

        - ``"raise"``: it is an error, and so is a null in the map.
        - ``"nullify"``: it gives a row that is null in every column, and so does a null in the map: a left join.
        - ``"unchecked"``: the caller guarantees that there is none. Such a number gives an unspecified row, but no
          memory outside of the table is accessed. A null in the map is an error.
    columns : list of names, optional
        The columns of the result, in this order; those of the source if it is left out.
    negative : {"from_end", "out_of_bounds"}, optional
        Whether a number -n <= i < 0 means row i + n, or is out of bounds as the -1 of ``Index.get_indexer``, which
        means no match. The default is ``"from_end"``; but under ``"nullify"``, where no error would show that the
        other one was meant, a negative number is an error unless `negative` is given.
    validate : {"basic", "full"}, default "basic"
        Which checks of Arrow memory precede the operation. ``"basic"``: its structure; data are checked when they are
        read. ``"full"``: also every offset, key, type id, run end and null count.
    memory_budget : int, optional
        For tables in files: the bytes that row groups which are being decoded may take together. It limits how many
        are decoded at a time; without it each thread decodes one.
    index : {"take", "reset"}, default "take"
        Row labels of a result of pandas: those of the rows, or a fresh RangeIndex, as for the joined rows of
        ``"nullify"``, where the label of a missing row is missing. Other tables have no row labels.
    fill_value : dict, or a value, optional
        For ``bounds="nullify"``: the values of rows that are not found, by name of column, such as ``{"seats": 0}``; of
        a source that is one column also the bare value. Other columns of such rows are null. Nulls that the source has
        stay. A value is one that the column holds as it is, as in `scatter`. In pandas these columns keep their dtypes.

    Returns
    -------
    table or column, m rows
        Of the kind of `source`, with its names, types, metadata and order of columns; of tables in files a
        `pyarrow.Table`. Under ``"nullify"`` every field of the top level is nullable.

    Raises
    ------
    OutOfBoundsError
        If a number is out of bounds; it gives the first one. It is an IndexError, ValueError and RuntimeError.
    NegativeIndexError
        If a number is negative under ``"nullify"`` and `negative` is not given. It is an OutOfBoundsError.
    NullIndexError
        If there is a null in the map, but not under ``"nullify"``. It is a ValueError and RuntimeError.
    IndexTypeError
        If the map is not of integers, also if it is empty. It is a TypeError and RuntimeError.
    DataTypeError
        If a value of `fill_value` is not exactly one of its column. It is a ValueError and TypeError.
    InvalidArgument
        If the map has more than one dimension; if `columns` has a name that the source lacks or has twice, or the
        source is a column; if `fill_value` is given without ``"nullify"``, or not for a column of the result; if one
        row group exceeds `memory_budget`; if a data set has a filter. It is a ValueError.
    ValueError
        If the value of `bounds`, `negative` or `validate` is not one of those listed.
    TypeError
        If `source` is not a table or column, or the map is a single number.
    OverflowError
        If a RecordBatch would have to be split because its 32-bit offsets overflow.
    BufferError
        If Arrow memory is invalid.
    OSError
        If a file cannot be read; the text names the file and the row group.

    Notes
    -----
    Semantics of ``cudf::gather``. Numbers are compared at full width, so 2**32 + 1 is never row 1. The keys of
    dictionary columns are kept, also unused ones. Chunks of columns are read in place, without concatenation, and the
    result has one chunk, or several if the 32-bit offsets of one chunk would overflow.

    The result of pandas is that of ``df.take(gather_map)``. Under ``"nullify"``, and only if a row is missing, dtypes
    change as by ``reindex`` (int64 to float64 with NaN, bool to object), and the index changes: the label of a missing
    row is missing, and all other rows keep their labels. ``index="reset"`` gives the rows of a left join the labels of
    ``merge``.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pyarrow as pa
    >>> planes = pa.table({"tail": ["N1", "N2", "N3"], "seats": [55, None, 180]})
    >>> gs.table.gather(planes, [2, 0, -1]).to_pylist()
    [{'tail': 'N3', 'seats': 180}, {'tail': 'N1', 'seats': 55}, {'tail': 'N3', 'seats': 180}]
    >>> gs.table.gather(planes, [0, None, 9], bounds="nullify").to_pydict()
    {'tail': ['N1', None, None], 'seats': [55, None, None]}
    >>> gs.table.gather(planes, [1, 9], bounds="nullify", fill_value={"seats": 0}).to_pydict()
    {'tail': ['N2', None], 'seats': [None, 0]}

    A table in files, of which one row group is read:

    >>> import os, tempfile
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "planes.parquet")
    ...     pq.write_table(planes, path, row_group_size=1)
    ...     gs.table.gather(path, [-1], columns=["seats"]).to_pydict()
    {'seats': [180]}

    The second half of a left join, after ``Index.get_indexer``:

    >>> import pandas as pd
    >>> found = pd.Index(planes["tail"]).get_indexer(["N3", "N9", "N1"])
    >>> found
    array([ 2, -1,  0])
    >>> gs.table.gather(planes, found, bounds="nullify", negative="out_of_bounds").to_pydict()
    {'tail': ['N3', None, 'N1'], 'seats': [180, None, 55]}
    """
    op = "table.gather"
    at_once = gathers.get(type(source))
    is_default = bounds == "raise" and (negative is None or negative == "from_end") and index == "take"
    is_default = is_default and validate == "basic" and fill_value is None
    if at_once and is_default and columns is None and memory_budget is None:
        result = at_once(source, gather_map)
        if result is not None:
            return result
    require_word(op, "bounds", bounds, READ_BOUNDS)
    sign = sign_of(op, negative, bounds)
    require_word(op, "index", index, ("take", "reset"))
    fills = read_fills(op, bounds, fill_value)
    if not is_known(source) and is_in_files(source):
        numbers, valid = map_of(op, gather_map)
        check_map_fits(op, bounds, numbers)
        numbers, valid, sign = refuse_negative(op, numbers, valid, bounds, sign)
        files = importlib.import_module("gatherscatter._table.row_groups")  # imports pyarrow
        return files.gather_files(op, source, (numbers, valid), bounds, sign, validate, columns, memory_budget, fills)
    if memory_budget is not None:
        raise InvalidArgument(f"{op}: memory_budget is for tables in files, and the source is a {type_name(source)}")
    frame = frame_of(op, "source", source, validate, columns)
    if frame.tasks_of:
        return frame.gather(gather_map, bounds, sign, index, fills)
    numbers, valid = map_of(op, gather_map)
    check_map_fits(op, bounds, numbers)
    numbers, valid, sign = refuse_negative(op, numbers, valid, bounds, sign, frame)

    def taken(frame: Any, fills: Fills | None) -> Any:
        labelled = frame if index == "take" else frame.without_labels()
        places, values = ([], []) if fills is None else places_and_values(op, frame.names, frame.is_table, fills)
        if places:
            rows = gathered(op, numbers, valid, frame, bounds, sign)
            result = labelled.take_filled(op, rows, places, values)
        else:
            result = gather_rows(op, numbers, valid, labelled, bounds, sign)
        return result if index == "take" else frame.relabelled_by_position(result)

    def taken_later(whole: Any) -> Any:
        frame = frame_of(op, "source", whole, validate)
        return taken(frame, present_only(fills, frame.names))

    if frame.lazy:
        if fills is not None:
            places_and_values(op, frame.names, True, fills)
        numbers, valid, fills = own_copies(numbers, valid, fills)
        return frame.later(taken_later, True)
    return taken(frame, fills)
