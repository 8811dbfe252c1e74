"""segments.py: the arguments of a segmented gather: a column of lists and a list of positions for each of them."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.of_python import clip_to_int64, fits_int64, unchecked_text, with_full_index
from gatherscatter._table.frames import ArrowFrame, frame_of
from gatherscatter._table.maps import is_null_type, item_of_map
from gatherscatter.errors import DataTypeError, IndexTypeError, InvalidArgument, OutOfBoundsError, shown

__all__ = ["gathered_elements", "lists_of", "positions_of"]


def lists_of(op: str, source: Any, validate: str) -> tuple[ArrowFrame, Any]:
    """The frame of a column of lists, and the function that converts its result to the caller's kind."""
    inner = _of_pandas(op, "source", source)
    frame = frame_of(op, "source", source if inner is None else inner, validate)
    if frame.lazy or frame.is_table:
        raise InvalidArgument(f"{op}: source is a table, expected a column of lists")
    if inner is None:
        return frame, frame.back
    return frame, lambda result: _back_to_pandas(source, frame.back(result))


class Positions(NamedTuple):
    """A column of lists of positions."""

    table: _core.ArrowTable
    rows: list[Any] | None  # the positions as given, if int64 cannot hold some of them


def positions_of(op: str, frame: ArrowFrame, given: Any, validate: str) -> Positions:
    """The column of lists of positions. Lists of Python become a column of polars for a source of polars, else of
    pyarrow."""
    rows: list[Any] | None = None
    if isinstance(given, np.ndarray):
        given = _rows_of_array(op, given)
    if isinstance(given, (list, tuple)):
        beyond: list[int] = []
        given = [_checked(op, at, row, beyond) for at, row in enumerate(given)]
        if beyond:
            rows = given
            given = [None if row is None else [n if n is None else clip_to_int64(n) for n in row] for row in rows]
        given = _made_by(op, frame, given)
    inner = _of_pandas(op, "gather_map_list", given)
    maps = frame_of(op, "gather_map_list", given if inner is None else inner, validate)
    if maps.lazy or maps.is_table:
        raise InvalidArgument(f"{op}: gather_map_list is a table, expected a column of lists")
    return Positions(maps.table, rows)


def gathered_elements(op: str, frame: ArrowFrame, positions: Positions, bounds: str) -> _core.ArrowTable:
    """The elements of each list at its positions."""
    if bounds == "unchecked" and positions.rows is not None:
        raise IndexTypeError(f"{op}: {unchecked_text('gather_map_list')}")
    try:
        return _core.segmented_gather(op, frame.table, positions.table, bounds)
    except OutOfBoundsError as error:
        if positions.rows is None:
            raise
        raise with_full_index(error, positions.rows) from None


def _rows_of_array(op: str, given: np.ndarray[Any, Any]) -> list[Any]:
    if given.dtype.kind == "O" and given.ndim == 1:  # an array of lists, as pandas stores them
        return list(given)
    if given.dtype.kind not in "iu":
        raise IndexTypeError(f"{op}: gather_map_list is of dtype {given.dtype}, expected integers")
    if given.ndim != 2:
        raise InvalidArgument(f"{op}: gather_map_list has shape {given.shape}, expected one row of positions per list")
    return list(given.tolist())


def _checked(op: str, at: int, row: Any, beyond: list[int]) -> list[Any] | None:
    """One row of positions as Python ints and None. Positions that int64 cannot hold are also appended to `beyond`.

    The types are checked here, because the libraries would convert floats and bools to integers.
    """
    if row is None:
        return None
    if isinstance(row, np.ndarray) and row.ndim == 1:
        row = row.tolist()
    if not isinstance(row, (list, tuple, range)):
        raise IndexTypeError(f"{op}: row {at} of gather_map_list is {shown(row)}, expected a list of positions")

    def refuse(value: Any) -> Exception:
        return IndexTypeError(f"{op}: row {at} of gather_map_list holds {shown(value)}, which is no integer")

    def position(value: Any) -> int | None:
        if is_null_type(type(value)):
            return None
        number = item_of_map(value, refuse)
        if not fits_int64(number):
            beyond.append(number)
        return number

    return [position(value) for value in row]


def _made_by(op: str, frame: ArrowFrame, given: list[Any]) -> Any:
    library = type(frame.source).__module__.partition(".")[0]
    if library == "polars":
        pl: Any = sys.modules["polars"]
        return pl.Series(given, dtype=pl.List(pl.Int64), strict=True)
    try:
        pa: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise TypeError(
            f"{op}: gather_map_list is a list of Python, which only pyarrow can convert here: install it, or give a "
            "column of lists"
        ) from None
    return pa.array(given, pa.large_list(pa.int64()))


def _of_pandas(op: str, role: str, column: Any) -> Any:
    """The Arrow column of a pandas Series; None for any other object."""
    pd: Any = sys.modules.get("pandas")
    if pd is None or not isinstance(column, pd.Series):
        return None
    if not isinstance(column.dtype, pd.ArrowDtype):
        raise DataTypeError(
            f"{op}: {role} is a Series of dtype {column.dtype}, expected lists of Arrow: "
            "convert it with astype(pd.ArrowDtype(pa.list_(..)))"
        )
    return column.array.__arrow_array__()


def _back_to_pandas(source: Any, result: Any) -> Any:
    pa: Any = sys.modules["pyarrow"]
    pd: Any = sys.modules["pandas"]
    chunks = result if isinstance(result, pa.ChunkedArray) else pa.chunked_array([result])
    values = source.dtype.__from_arrow__(chunks)
    index = source.index.view()
    return source._constructor(pd.Series(values, index=index, name=source.name)).__finalize__(source)
