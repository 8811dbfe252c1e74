"""_columns.py: columns of pandas, polars and pyarrow in the place of arrays: their values, which nulls have not."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._no_arrays import library_of
from gatherscatter.errors import type_name

__all__ = ["is_column", "is_frame", "plain_values", "values_of"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def is_column(obj: Any) -> bool:
    """Whether it is a Series, an Index, or an (extension) array of pandas, polars or pyarrow."""
    if type(obj) is np.ndarray or not library_of(obj, _LIBRARIES):
        return False
    return hasattr(type(obj), "__array__") and not is_frame(obj)


def is_frame(obj: Any) -> bool:
    """Whether a table or column is a table."""
    return getattr(obj, "ndim", 1) != 1 or hasattr(type(obj), "columns")  # a Series gives its rows as attributes


def plain_values(op: str, role: str, obj: Any) -> Any:
    """The values of a column as a NumPy array; everything else as it is."""
    return values_of(op, role, obj) if is_column(obj) else obj


def values_of(op: str, role: str, column: Any) -> np.ndarray[Any, Any]:
    """The values of a column, of the dtype that the column has.

    Raises
    ------
    ValueError
        If there is a null, which no array of that dtype has.
    """
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "pyarrow_dtype"):  # of pandas, in Arrow's memory
        column = getattr(column, "array", column).__arrow_array__()
    elif hasattr(dtype, "numpy_dtype") and type(getattr(dtype, "na_value", None)).__name__ == "NAType":  # with a mask
        _refuse_nulls(op, role, column, int(np.count_nonzero(column.isna())))
        return np.asarray(column.to_numpy(dtype=dtype.numpy_dtype))
    if hasattr(type(column), "null_count"):  # an attribute in pyarrow, a method in polars
        nulls = column.null_count
        _refuse_nulls(op, role, column, nulls() if callable(nulls) else nulls)
    try:
        if library_of(column, ("pyarrow",)):
            return np.asarray(column.to_numpy(zero_copy_only=False))
        return np.asarray(column)
    except Exception as error:  # each library has a class of its own for a type that NumPy has not
        raise TypeError(f"{op}: {role} is a {type_name(column)} of {_type(column)}, which no array holds") from error


def _type(column: Any) -> Any:
    return getattr(column, "dtype", None) or getattr(column, "type", "a type")


def _refuse_nulls(op: str, role: str, column: Any, count: int) -> None:
    if count:
        many = "a null" if count == 1 else f"{count} nulls"
        raise ValueError(
            f"{op}: {role} is a {type_name(column)} with {many}, which no array holds: fill or drop them first"
        )
