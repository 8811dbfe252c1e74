"""near_tables.py: the error for an object that is no table, such as an array or a group, with the next step."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from gatherscatter.errors import name_of, type_name

__all__ = ["no_table", "order_with_mask", "step_to_a_table", "step_to_read"]

_ONLY_GATHER = ", and only table.gather takes rows out of files"

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
    ("pyarrow", "Dataset", f"x.to_table() reads the files{_ONLY_GATHER}"),
    ("pyarrow", "ParquetFile", f"x.read() reads the file{_ONLY_GATHER}"),
    ("duckdb", "Expression", "relation.select(x) gives a relation"),
    ("narwhals", "Expr", "df.select(x) gives a table"),
    ("narwhals", "GroupBy", "x.agg(...) gives a table"),
    ("narwhals", "LazyGroupBy", "x.agg(...) gives a LazyFrame"),
)

_ACCEPTED = (
    "a table or column of pyarrow, polars, pandas or DuckDB, or an object with __arrow_c_stream__ or __arrow_c_array__"
)
_FOR_ARRAYS = {
    "table.gather": "gather",
    "table.scatter": "scatter",
    "table.boolean_mask_scatter": "place",
    "table.filter": "compress",
}
# The role of the table, which is often given in another place, and the order of the arguments.
_ORDERS = {
    "table.gather": ("source", "source, gather_map"),
    "table.scatter": ("target", "source, scatter_map, target"),
    "table.boolean_mask_scatter": ("target", "input, target, boolean_mask"),
    "table.filter": ("source", "source, boolean_mask"),
}
# Functions whose relatives elsewhere (numpy.where, numpy.place) have the mask in another place.
_MASK_LAST = {
    "table.copy_if_else": "lhs, rhs, boolean_mask",
    "table.boolean_mask_scatter": "input, target, boolean_mask",
}
_SCALARS = {bool, int, float, str, bytes}


def step_to_a_table(obj: Any) -> str:
    """The end of an error message for an object that is no table, with the call that gives one; else ""."""
    for base in type(obj).__mro__:
        package = name_of(base).partition(".")[0].lstrip("_")
        for library, name, step in _STEPS:
            if package == library and base.__name__ == name:
                return f"; {step}"
    return ""


def order_with_mask(op: str) -> str:
    """The end of an error message for what is no mask: the order of the arguments, where others have the mask first."""
    order = _MASK_LAST.get(op)
    return f"; the order is {op}({order})" if order else ""


def step_to_read(obj: Any) -> str:
    """The end of an error message for the path of a file where only tables in memory are taken; else ""."""
    if isinstance(obj, bytes):
        return "; a path is text or a pathlib.Path: os.fsdecode(path) is that of bytes"
    if not isinstance(obj, str | PathLike):
        return ""
    return f"; pyarrow.parquet.read_table(path) reads a file{_ONLY_GATHER}"


def no_table(op: str, role: str, source: Any) -> TypeError:
    """The error for an object that is no table, with the call that takes it, or that makes a table of it."""
    arrays = isinstance(source, (list, tuple, np.ndarray, np.generic)) or hasattr(source, "__dlpack__")
    hint = f"; arrays are served by gatherscatter.{_FOR_ARRAYS[op]}" if arrays and op in _FOR_ARRAYS else ""
    if op in _ORDERS and role == _ORDERS[op][0]:
        hint = f"; the order is {op}({_ORDERS[op][1]}){hint}"
    if op == "table.copy_if_else" and (type(source) in _SCALARS or isinstance(source, list)):
        hint = "; scalars may be one side, beside a table or column"
    else:
        hint = step_to_a_table(source) or step_to_read(source) or hint
    return TypeError(f"{op}: {role} is of type {type_name(source)}, expected {_ACCEPTED}{hint}")
