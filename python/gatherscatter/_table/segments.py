"""segments.py: the arguments of a segmented gather: a column of lists and a list of positions for each of them."""

from __future__ import annotations

import importlib
import sys
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.of_python import clip_to_int64, fits_int64, unchecked_text, with_full_index
from gatherscatter._libraries.of_xarray import values_in
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
    given = _as_numpy(given)
    if type(given) is np.ndarray and (joined := _of_matrix(given)) is not None:
        return Positions(joined, None)
    if isinstance(given, np.ndarray):
        given = _rows_of_array(op, given)
    elif _is_series_of_objects(given):
        given = list(given)
    if isinstance(given, (list, tuple)):
        given = tuple(given)  # another thread may change a list
        if (joined := _of_plain_rows(given)) is not None:
            return Positions(joined, None)
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


def _as_numpy(given: Any) -> Any:
    """An array of torch, JAX, xarray or another library with DLPack as one of NumPy; other objects unchanged."""
    given = values_in(given)
    kind = type(given)
    if isinstance(given, np.ma.MaskedArray):  # its masked positions are null
        return given
    if kind is np.ndarray or not hasattr(kind, "__dlpack__") or hasattr(kind, "__arrow_c_array__"):
        return given
    if hasattr(kind, "__arrow_c_stream__"):  # a column
        return given
    try:
        return np.asarray(given) if hasattr(kind, "__array__") else np.from_dlpack(given)
    except (TypeError, ValueError, RuntimeError, BufferError):  # memory of a GPU, or a dtype that NumPy does not have
        return given


def _is_series_of_objects(given: Any) -> bool:
    """Whether a map is a Series of pandas with lists of Python."""
    pd: Any = sys.modules.get("pandas")
    return pd is not None and isinstance(given, pd.Series) and given.dtype == object


def _rows_of_array(op: str, given: np.ndarray[Any, Any]) -> list[Any]:
    if given.dtype.kind == "O" and given.ndim == 1:  # an array of lists, as pandas stores them
        return list(given)
    if given.dtype.kind not in "iu":
        raise IndexTypeError(f"{op}: gather_map_list is of dtype {given.dtype}, expected integers")
    if given.ndim != 2:
        raise InvalidArgument(f"{op}: gather_map_list has shape {given.shape}, expected one row of positions per list")
    return list(given.tolist())


def _of_matrix(given: np.ndarray[Any, Any]) -> _core.ArrowTable | None:
    """The column of lists of an array of integers with two axes, which shares its memory where it can; None for other
    arrays, and for numbers that int64 cannot hold."""
    if given.dtype.kind not in "iu" or given.ndim != 2 or not _fits(given):
        return None
    values = np.ascontiguousarray(given, given.dtype.newbyteorder("=")).reshape(-1)
    return _core.lists_of(values, np.arange(len(given) + 1, dtype=np.int64) * given.shape[1])


def _fits(numbers: np.ndarray[Any, Any]) -> bool:
    """Whether int64 holds all items of an array of integers."""
    return numbers.dtype.kind == "i" or numbers.dtype.itemsize < 8 or not numbers.size or int(numbers.max()) < 2**63


def _of_plain_rows(given: tuple[Any, ...]) -> _core.ArrowTable | None:
    """The column of lists of rows that are lists of Python integers, or arrays of one dtype of integers; else None."""
    kinds = set(map(type, given))
    if kinds == {np.ndarray}:
        dtype = given[0].dtype
        if dtype.kind not in "iu" or any(row.ndim != 1 or row.dtype != dtype for row in given):
            return None
        lengths = [row.size for row in given]
        values = np.concatenate(given, dtype=dtype.newbyteorder("="))
        if not _fits(values):
            return None
    elif kinds and kinds <= {list, tuple}:
        rows = tuple(map(tuple, given))  # another thread may change a list
        lengths = [len(row) for row in rows]
        numbers = list(chain.from_iterable(rows))
        found = _core.numbers_of(numbers) if numbers else np.zeros(0, np.int64)
        if found is None or found.ndim != 1 or found.dtype != np.int64:
            return None
        values = found
    else:
        return None
    offsets = np.zeros(len(given) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return _core.lists_of(values, offsets) if offsets[-1] == values.size else None


def _checked(op: str, at: int, row: Any, beyond: list[int]) -> list[Any] | None:
    """One row of positions as Python ints and None. Positions that int64 cannot hold are also appended to `beyond`.

    The types are checked here, because the libraries would convert floats and bools to integers.
    """
    if row is None:
        return None
    row = _as_numpy(row)
    if isinstance(row, np.ndarray) and row.ndim == 1:
        row = row.tolist()
    elif hasattr(row, "to_pylist") or (hasattr(row, "to_list") and getattr(row, "ndim", 1) == 1):  # a column
        row = row.to_pylist() if hasattr(row, "to_pylist") else row.to_list()
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
        if column.dtype == object:
            step = "pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(x)])), index=x.index) makes one"
        else:
            step = "a Series of one number per row is none"
        raise DataTypeError(f"{op}: {role} is a Series of dtype {column.dtype}, expected lists of Arrow: {step}")
    return column.array.__arrow_array__()


def _back_to_pandas(source: Any, result: Any) -> Any:
    pa: Any = sys.modules["pyarrow"]
    pd: Any = sys.modules["pandas"]
    chunks = result if isinstance(result, pa.ChunkedArray) else pa.chunked_array([result])
    values = source.dtype.__from_arrow__(chunks)
    index = source.index.view()
    return source._constructor(pd.Series(values, index=index, name=source.name)).__finalize__(source)
