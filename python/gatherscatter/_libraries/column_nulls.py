"""column_nulls.py: number of nulls and plain values of a column, read with the calls of the column's library."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["check_sizes", "reader_of"]

Reader = tuple[int, Callable[[], Any]]


def reader_of(column: Any) -> Reader:
    """The number of nulls in a column, and a function that returns its values if it has no nulls.

    Raises
    ------
    Exception
        If the column has no plain values. Each library raises an exception class of its own.
    """
    for cls in type(column).__mro__:
        read = _READERS.get(cls.__module__.partition(".")[0])
        if read is not None:
            return read(column)
    pa = importlib.import_module("pyarrow")  # imports any column that has Arrow's PyCapsule interface
    make = pa.chunked_array if hasattr(column, "__arrow_c_stream__") else pa.array
    return _of_arrow(make(column))


def check_sizes(column: Any) -> None:
    """Raise BufferError for a column of pyarrow whose buffers are shorter than its rows, as one from a corrupt file."""
    try:
        column.validate()
    except ValueError as error:  # ArrowInvalid
        raise BufferError(str(error)) from None


def _of_arrow(column: Any) -> Reader:
    check_sizes(column)
    decoded = _decoded(column)
    return decoded.null_count, lambda: _plain(decoded.to_numpy(zero_copy_only=False))


def _decoded(column: Any) -> Any:
    """Decode dictionaries, run-end encoding and extension types: `null_count` omits nulls among encoded values."""
    pa, types = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.types")
    while True:
        kind = column.type
        if types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif types.is_run_end_encoded(kind):
            column = importlib.import_module("pyarrow.compute").run_end_decode(column)
        elif getattr(kind, "extension_name", "") == "arrow.bool8":
            column = column.cast(pa.bool_())  # arrow.bool8 stores int8; every value but 0 means true
        elif isinstance(kind, pa.BaseExtensionType):
            column = column.cast(kind.storage_type)
        else:
            return column


def _of_pandas(column: Any) -> Reader:
    """Count nulls as pandas does: NaN is a value in a column with a numeric NumPy dtype and a null in all others."""
    dtype, array = column.dtype, getattr(column, "array", column)
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(array.__arrow_array__())
    is_numpy_dtype = isinstance(dtype, np.dtype) or type(dtype).__name__ == "NumpyEADtype"
    if is_numpy_dtype and dtype.kind != "O":
        return 0, lambda: np.asarray(column)
    nulls = int(np.count_nonzero(column.isna()))
    if is_numpy_dtype:
        return nulls, lambda: np.asarray(column)
    if nulls == 0 and type(dtype).__name__ == "CategoricalDtype":
        return _of_pandas(array.categories.take(array.codes))
    if type(dtype.na_value).__name__ == "NAType" and hasattr(dtype, "numpy_dtype"):  # a masked dtype such as Int64
        return nulls, lambda: column.to_numpy(dtype=dtype.numpy_dtype)
    return nulls, lambda: _plain(np.asarray(column))


def _of_polars(column: Any) -> Reader:
    """Count the nulls of every level: a column of type Array becomes further axes, and each level has its own nulls."""
    pl, parts = sys.modules["polars"], column
    nulls = column.null_count()
    while isinstance(parts.dtype, pl.Array):
        parts = parts.explode()
        nulls = max(nulls, parts.null_count())
    if isinstance(parts.dtype, pl.Struct):
        raise TypeError("NumPy reads the fields of a struct as an axis")
    return nulls, lambda: _plain(np.asarray(column))


_READERS: dict[str, Callable[[Any], Reader]] = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}


def _plain(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Refuse arrays of objects, except text and bytes, the only objects that NumPy converts without loss."""
    if values.dtype.hasobject and not all(isinstance(item, str | bytes) for item in values.flat):
        raise TypeError("the items are objects")
    return values
