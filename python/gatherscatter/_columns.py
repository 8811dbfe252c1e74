"""_columns.py: columns of pandas, polars and pyarrow in the place of arrays: their values, which nulls have not."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gatherscatter._column_nulls import reader_of
from gatherscatter._no_arrays import library_of
from gatherscatter.errors import type_name

__all__ = ["is_column", "is_frame", "is_scalar", "scalar_of", "values_of"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def is_column(obj: Any) -> bool:
    """Whether it is a Series, an Index, or an (extension) array of pandas, polars or pyarrow."""
    if type(obj) is np.ndarray or not library_of(obj, _LIBRARIES):
        return False
    return hasattr(type(obj), "__array__") and not is_frame(obj)


def is_frame(obj: Any) -> bool:
    """Whether a table or column is a table."""
    return getattr(obj, "ndim", 1) != 1 or hasattr(type(obj), "columns")  # a Series gives its rows as attributes


def is_scalar(obj: Any) -> bool:
    """Whether it is a scalar of Arrow, which may be null."""
    return library_of(obj, ("pyarrow",)) != "" and hasattr(type(obj), "as_py")


def scalar_of(op: str, role: str, scalar: Any) -> Any:
    """The value of a scalar of Arrow: one of NumPy, of its own type, so that no digit is lost.

    Raises
    ------
    TypeError
        If NumPy has no such value.
    ValueError
        If it is null.
    """
    pa = importlib.import_module("pyarrow")
    return values_of(op, role, pa.repeat(scalar, 1), scalar)[0]


def values_of(op: str, role: str, column: Any, given: Any = None) -> np.ndarray[Any, Any]:
    """The values of a column, of the dtype that the column has.

    Parameters
    ----------
    op, role : str
        Operator and argument, for messages.
    column : column
    given : optional
        What the caller gave, where the column was made of it.

    Raises
    ------
    TypeError
        If no array holds what the column holds.
    ValueError
        If there is a null, which no array of that dtype has.
    """
    given = column if given is None else given
    name = type_name(given)
    try:
        nulls, read = reader_of(column)
        values = None if nulls else np.asarray(read())
    except Exception as error:  # each library has a class of its own for a type that NumPy has not
        raise TypeError(f"{op}: {role} is a {name} of {_type(given)}, which no array holds") from error
    if values is None:
        many = "a null" if nulls == 1 else f"{nulls} nulls"
        raise ValueError(f"{op}: {role} is a {name} with {many}, which no array holds: fill or drop them first")
    return values


def _type(column: Any) -> Any:
    return getattr(column, "dtype", None) or getattr(column, "type", "a type")
