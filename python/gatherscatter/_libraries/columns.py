"""columns.py: columns of pandas, polars and pyarrow as array arguments: conversion to NumPy, errors for nulls."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gatherscatter._libraries.column_nulls import reader_of
from gatherscatter._libraries.recognise import library_of
from gatherscatter.errors import type_name

__all__ = ["is_column", "is_frame", "is_scalar", "scalar_of", "values_of"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def is_column(obj: Any) -> bool:
    """Whether an object is a Series, an Index, or an (extension) array of pandas, polars or pyarrow."""
    if type(obj) is np.ndarray or not library_of(obj, _LIBRARIES):
        return False
    return hasattr(type(obj), "__array__") and not is_frame(obj)


def is_frame(obj: Any) -> bool:
    """Whether an object that is a table or a column is a table."""
    # `columns` is looked up on the type: a pandas Series also has its row labels as attributes.
    return getattr(obj, "ndim", 1) != 1 or hasattr(type(obj), "columns")


def is_scalar(obj: Any) -> bool:
    """Whether an object is an Arrow scalar, which may be null."""
    return library_of(obj, ("pyarrow",)) != "" and hasattr(type(obj), "as_py")


def scalar_of(op: str, role: str, scalar: Any) -> Any:
    """Convert an Arrow scalar to a NumPy scalar of the corresponding dtype, so that no digit is lost.

    Raises
    ------
    TypeError
        If NumPy has no corresponding dtype.
    ValueError
        If the scalar is null.
    """
    pa = importlib.import_module("pyarrow")
    return values_of(op, role, pa.repeat(scalar, 1), scalar)[0]


def values_of(op: str, role: str, column: Any, given: Any = None) -> np.ndarray[Any, Any]:
    """Convert a column to a NumPy array of the corresponding dtype.

    Parameters
    ----------
    op, role : str
        Operator and argument, for messages.
    column : column
    given : optional
        The caller's argument, for messages, where `column` was made from it.

    Raises
    ------
    TypeError
        If no NumPy array can hold the values of the column.
    ValueError
        If the column has a null: a NumPy array of its dtype cannot hold one.
    """
    given = column if given is None else given
    name = type_name(given)
    try:
        nulls, read = reader_of(column)
        values = None if nulls else np.asarray(read())
    except BufferError as error:
        raise BufferError(f"{op}: {role} is a {name} of {_type(given)} that cannot be read: {error}") from error
    except Exception as error:  # each library raises its own exception class for a type without a NumPy dtype
        raise TypeError(f"{op}: {role} is a {name} of {_type(given)}, which no NumPy array can hold") from error
    if values is None:
        many = "a null" if nulls == 1 else f"{nulls} nulls"
        step = "; mask= leaves out points, whose number may then be any" if role in ("index", "indices") else ""
        raise ValueError(
            f"{op}: {role} is a {name} with {many}, which a NumPy array cannot hold: fill or drop nulls first{step}"
        )
    return values


def _type(column: Any) -> Any:
    return getattr(column, "dtype", None) or getattr(column, "type", "a type")
