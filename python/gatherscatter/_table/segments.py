"""segments.py: columns of lists and the lists of positions that belong to them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from gatherscatter import _core
from gatherscatter._table.frames import ArrowFrame, frame_of
from gatherscatter.errors import DataTypeError, InvalidArgument

__all__ = ["lists_of", "positions_of"]


def lists_of(op: str, source: Any, validate: str) -> tuple[ArrowFrame, Any]:
    """The frame of a column of lists, and what turns its result into the caller's kind."""
    inner = _of_pandas(op, "source", source)
    frame = frame_of(op, "source", source if inner is None else inner, validate)
    if frame.lazy or frame.is_table:
        raise InvalidArgument(f"{op}: source is a table, expected a column of lists")
    if inner is None:
        return frame, frame.back
    return frame, lambda result: _back_to_pandas(source, frame.back(result))


def positions_of(op: str, frame: ArrowFrame, given: Any, validate: str) -> _core.ArrowTable:
    """The column of lists of positions; lists of Python become one where the source's library can make it."""
    if isinstance(given, (list, tuple)):
        given = _made_by(op, frame, list(given))
    inner = _of_pandas(op, "gather_map_list", given)
    maps = frame_of(op, "gather_map_list", given if inner is None else inner, validate)
    if maps.lazy or maps.is_table:
        raise InvalidArgument(f"{op}: gather_map_list is a table, expected a column of lists")
    return maps.table  # type: ignore[no-any-return]


def _made_by(op: str, frame: ArrowFrame, given: list[Any]) -> Any:
    library = type(frame.source).__module__.partition(".")[0]
    if library == "polars":
        pl: Any = sys.modules["polars"]
        return pl.Series(given, dtype=pl.List(pl.Int64), strict=True)
    try:
        pa: Any = importlib.import_module("pyarrow")
    except ImportError:
        raise TypeError(f"{op}: lists of Python need pyarrow here, expected a column of lists") from None
    return pa.array(given, pa.large_list(pa.int64()))


def _of_pandas(op: str, role: str, column: Any) -> Any:
    """The Arrow memory of a pandas Series, None for everything else."""
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
    return source._constructor(pd.Series(values, index=source.index, name=source.name)).__finalize__(source)
