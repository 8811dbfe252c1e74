"""schemas.py: names and types of the columns of a table of any library, and its rows, without reading any row."""

from __future__ import annotations

from typing import Any

from gatherscatter import _core
from gatherscatter._libraries.recognise import library_of

__all__ = ["Schema", "rows_in", "schema_of"]

Schema = tuple[tuple[Any, str], ...]  # name of each column, which may be any object, and its type as text


def schema_of(table: Any) -> Schema | None:
    """Names and types of the columns of a table or column; None for paths, whose files are not opened."""
    if hasattr(type(table), "collect_schema"):  # a DataFrame or LazyFrame of polars or narwhals
        return _pairs(dict(table.collect_schema()).items())
    if library_of(table, ("duckdb", "_duckdb")):
        return _pairs(zip(table.columns, table.types, strict=True))
    dtypes = getattr(table, "dtypes", None)
    if dtypes is not None and hasattr(type(table), "columns"):  # pandas and Dask
        return _pairs(zip(table.columns, dtypes, strict=True))
    for name in ("schema", "schema_arrow"):
        schema: Any = getattr(table, name, None)
        if hasattr(schema, "names") and hasattr(schema, "types"):
            return _pairs(zip(schema.names, schema.types, strict=True))
    if isinstance(table, _core.ArrowTable):
        return _of_arrow(table)
    for name in ("dtype", "type"):
        if hasattr(table, name):
            return ((getattr(table, "name", ""), _text_of(getattr(table, name))),)
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return _of_arrow(_core.ArrowTable(table))
    return None


def rows_in(table: Any) -> int | None:
    """The number of rows; None where only a run can tell it."""
    for name in ("num_rows", "height"):
        rows = getattr(table, name, None)
        if isinstance(rows, int):
            return rows
    if library_of(table, ("pandas", "polars", "pyarrow", "narwhals")) and hasattr(type(table), "__len__"):
        return len(table)
    return None


def _pairs(columns: Any) -> Schema:
    return tuple((name, _text_of(kind)) for name, kind in columns)


def _text_of(kind: Any) -> str:
    """A type as its library prints it; of categories in pandas also their dtype and whether they have an order."""
    categories = getattr(kind, "categories", None)
    if categories is None or not library_of(kind, ("pandas",)):
        return str(kind)
    return f"{kind}[{categories.dtype}{', ordered' if kind.ordered else ''}]"


def _of_arrow(table: _core.ArrowTable) -> Schema:
    return tuple(zip(table.column_names if table.is_table else [""], table.column_types, strict=True))
