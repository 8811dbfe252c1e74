"""adopt.py: arguments whose type the extension module does not recognise: access to memory, conversion of results."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries import of_jax, of_numpy, of_torch
from gatherscatter._libraries.columns import is_column, is_frame, is_scalar, scalar_of, values_of
from gatherscatter._libraries.devices import borrowable
from gatherscatter._libraries.nested import array_of_list, check_index
from gatherscatter._libraries.number_lists import plain_numbers
from gatherscatter._libraries.of_dlpack import back_to, import_dlpack
from gatherscatter._libraries.of_python import (
    NUMPYS_OPERATORS,
    BigIntegers,
    LiteralArray,
    exceeds_int64,
    integers_in,
)
from gatherscatter._libraries.private_lists import private
from gatherscatter._libraries.recognise import has_interface, is_ndarray, library_of, needs_step, no_array, pretends
from gatherscatter.errors import type_name

Wrap = Callable[[Any], Any]
_LITERALS = frozenset((bool, int, float, complex, str, bytes, list, tuple, range))
_PLAIN = _LITERALS | {np.ndarray}
TABLES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")


def adopt(op: str, role: str, obj: Any) -> tuple[Any, Wrap | None]:
    """Convert an argument into a form that the extension module reads.

    The extension module calls this function for every argument except exact NumPy arrays and torch tensors. All Python
    code of the argument runs here, before the extension module reads any memory.

    Returns
    -------
    tuple
        A NumPy array, a torch tensor or a `_core.DLPackArray` on the argument's memory, and a function that converts
        such a result into an array of the argument's library (None where no conversion is needed). For an array on a
        GPU the first element is a `DeviceAdapter`, which holds that function itself. For Python numbers and lists it
        may be a `LiteralArray` or `BigIntegers`.

    Raises
    ------
    TypeError
        If the object is not an array.
    """
    if type(obj) in _LITERALS:
        return _adopt_literal(op, role, obj), None
    if is_ndarray(obj):
        return of_numpy.adopt(op, role, obj), None
    if pretends(obj, np.ndarray) or of_torch.imitates_tensor(obj):
        raise TypeError(
            f"{op}: {role} is of type {type_name(obj)}, expected an array: its __class__ is an array type, but its "
            "type does not derive from it"
        )
    if of_torch.is_tensor(obj):
        return of_torch.adopt(op, role, obj)
    if isinstance(obj, LiteralArray | BigIntegers):
        return obj, None
    if library_of(obj, TABLES):
        return _adopt_column(op, role, obj), None
    if isinstance(obj, (bool, int, float, complex, str, bytes, list, tuple, range, np.generic)):
        return _adopt_literal(op, role, obj), None
    on_device = borrowable(op, role, obj)
    if on_device is not None:
        return on_device, None
    if type(obj).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return of_jax.adopt(op, role, obj)
    if isinstance(obj, _core.DLPackArray):
        return obj, None
    if hasattr(obj, "__dlpack__"):
        return import_dlpack(obj), back_to(obj)
    if hasattr(obj, "__array_interface__") or _has_buffer(obj):
        return np.asarray(obj), None
    if is_table(obj):
        return _adopt_column(op, role, obj), None
    raise no_array(op, role, obj)


def has_values(array: Any) -> bool:
    """Whether the values of an array can be read.

    This is False for JAX tracers, tensors without plain memory, tables, containers and mocks.
    """
    if type(array) in _PLAIN:
        return True
    if is_container(array):
        return False
    if pretends(array, np.ndarray):
        return False
    if of_torch.is_tensor(array):
        return not of_torch.imitates_tensor(array) and of_torch.has_plain_memory(array)
    return not of_jax.is_tracer(array)


def must_have_values(op: str, role: str, array: Any) -> None:
    """Raise an error for an argument without values before its attributes are read: a nested tensor has no shape.

    An argument that is recorded passes: it has shape and dtype.
    """
    if type(array) is not np.ndarray and not has_values(array) and not is_recorded(array):
        adopt(op, role, array)


def is_recorded(array: Any) -> bool:
    """Whether an argument has a shape and a dtype, but no values yet: torch or JAX records what is done with it."""
    return of_torch.is_recorded(array) or of_jax.is_tracer(array)


def refuse_recorded(op: str, role: str, array: Any) -> None:
    """Raise an error for an argument of a call that torch or JAX records, where its values would have to be read."""
    of_jax.refuse_tracer(op, role, array)
    if of_torch.is_of_graph(array):
        raise TypeError(
            f"{op}: {role} is a tensor of a graph or transform of torch, whose values this call would have to read; "
            "make the call outside, or pass values that are the same in every run"
        )


def is_container(obj: Any) -> bool:
    """Whether an object holds values that need a method call to become an array: a table, a file, a sparse matrix."""
    if hasattr(type(obj), "__dlpack__"):
        return False
    return needs_step(obj) or (is_table(obj) and is_frame(obj))


def is_table(obj: Any) -> bool:
    """Whether an object is a table, a column or a query rather than an array.

    Tables and columns implement Arrow's PyCapsule interface; queries are recognised by their library. The times,
    durations and the NA of pandas are scalars.
    """
    if isinstance(obj, datetime.date | datetime.timedelta) or type(obj).__name__ == "NAType":
        return False
    if hasattr(obj, "__dlpack__") or isinstance(getattr(obj, "dtype", None), np.dtype) or has_interface(obj):
        return False
    exports_arrow = hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__")
    return exports_arrow or library_of(obj, TABLES) != ""


def plain_values(op: str, role: str, obj: Any) -> Any:
    """Convert a column to a NumPy array and an Arrow scalar to a NumPy scalar; return every other value unchanged.

    Raises
    ------
    TypeError
        For tables, which NumPy would read as arrays of one dtype, and for columns whose values no NumPy array can hold.
    ValueError
        For nulls.
    """
    if type(obj) in _PLAIN:
        return obj
    if is_column(obj):
        return values_of(op, role, obj)
    if is_scalar(obj):
        return scalar_of(op, role, obj)
    if is_table(obj):
        if is_frame(obj) or not hasattr(type(obj), "__array__"):
            raise _is_table(op, role, obj)
        return values_of(op, role, obj)
    return obj


def _is_table(op: str, role: str, obj: Any) -> TypeError:
    return no_array(op, role, obj, "tables and their columns belong to gatherscatter.table (gs.table)")


def _adopt_literal(op: str, role: str, obj: Any) -> Any:
    if role == "out" or (role == "input" and not isinstance(obj, np.generic)):
        raise no_array(op, role, obj)
    numbers = plain_numbers(obj)
    if numbers is not None:
        return numbers
    obj = private(obj)
    if role == "index" and op not in NUMPYS_OPERATORS:
        check_index(op, obj)
    array = np.asarray(obj) if op in NUMPYS_OPERATORS else array_of_list(op, role, obj)
    if role == "index" and array.size and op not in NUMPYS_OPERATORS and exceeds_int64(obj, array):
        found = integers_in(obj)
        return array if found is None else found
    # NumPy gives an empty list a floating dtype. An empty list is a valid index, so it becomes an integer array.
    return array.astype(np.intp) if role == "index" and array.size == 0 and not isinstance(obj, np.generic) else array


def _adopt_column(op: str, role: str, obj: Any) -> np.ndarray[Any, Any]:
    # A column is refused as `out`: `__array__` may return a copy, and a write to a copy does not reach the column.
    if role in ("input", "out") or not hasattr(obj, "__array__") or is_frame(obj):
        raise _is_table(op, role, obj)
    return values_of(op, role, obj)


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True
