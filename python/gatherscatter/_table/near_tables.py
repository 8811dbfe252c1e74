"""near_tables.py: objects of table libraries that are no tables, such as groups and expressions, and the next step."""

from __future__ import annotations

from os import PathLike
from typing import Any

from gatherscatter.errors import name_of

__all__ = ["step_to_a_table", "step_to_read"]

# Package, name of a class, and the call that gives a table, a column or a map.
_STEPS = (
    ("pandas", "DataFrameGroupBy", "x.obj is the table, and x.indices[key] the map of the rows of one group"),
    ("pandas", "SeriesGroupBy", "x.obj is the column, and x.indices[key] the map of the rows of one group"),
    ("polars", "GroupBy", "x.agg(...) gives a table"),
    ("polars", "LazyGroupBy", "x.agg(...) gives a LazyFrame"),
    ("polars", "Expr", "df.select(x) gives a table, and df.select(x).to_series() a column"),
    ("pyarrow", "TableGroupBy", "x.aggregate(...) gives a table"),
    ("pyarrow", "Expression", "dataset.to_table(filter=x) gives a table"),
    ("pyarrow", "Scanner", "x.to_table() gives a table"),
    ("duckdb", "Expression", "relation.select(x) gives a relation"),
    ("narwhals", "Expr", "df.select(x) gives a table"),
    ("narwhals", "GroupBy", "x.agg(...) gives a table"),
    ("narwhals", "LazyGroupBy", "x.agg(...) gives a LazyFrame"),
)


def step_to_a_table(obj: Any) -> str:
    """The end of an error message for an object that is no table, with the call that gives one; else ""."""
    for base in type(obj).__mro__:
        package = name_of(base).partition(".")[0].lstrip("_")
        for library, name, step in _STEPS:
            if package == library and base.__name__ == name:
                return f"; {step}"
    return ""


def step_to_read(obj: Any) -> str:
    """The end of an error message for the path of a file where only tables in memory are taken; else ""."""
    if not isinstance(obj, str | PathLike):
        return ""
    return "; pyarrow.parquet.read_table(path) reads a file, and only table.gather takes rows out of files"
