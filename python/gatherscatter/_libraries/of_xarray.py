"""of_xarray.py: operators on DataArrays of xarray: calls on their values, results with the labels that still hold."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter._libraries.nested import has_arrays
from gatherscatter._libraries.of_python import is_integer
from gatherscatter.errors import InvalidArgument

__all__ = ["on_plain_values", "on_values", "values_in"]

# What the operators call the array whose items they move, and the operators that return all items in their places.
_DATA = ("input", "a", "arr", "array")
_WRITES = ("scatter", "scatter_nd")
# Arguments that hold an axis in some form of call, and those that hold row numbers.
_AXES = ("axis", "dim", "index")
_INDICES = ("dim", "index", "indices", "input_indices", "condition", "repeats", "shift")


def is_labelled(obj: Any) -> bool:
    """Whether an object is a DataArray. xarray is not imported for this check."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(obj, xarray.DataArray)


def values_in(argument: Any) -> Any:
    """The array inside of a DataArray, also in a tuple of index arrays; every other argument unchanged."""
    if is_labelled(argument):
        return argument.data
    if type(argument) is tuple and any(map(is_labelled, argument)):
        return tuple(map(values_in, argument))
    return argument


def on_values(op: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs a call of an operator on the values of its DataArrays.

    An axis may be the name of a dim. The result is a DataArray with the dims, name and attributes of the input, if it
    has an axis for each dim of the input; else it is what the operator returns. Labels of an axis along which whole
    slices are taken are taken too; of another axis that the call indexes they are left out.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        bound, role, data, out = _read(op, args, kwargs)
        given, name = bound.arguments, str(getattr(op, "__name__", ""))
        has_labels = is_labelled(data)
        for each in _INDICES if has_labels else ():
            if type(given.get(each)) is np.ndarray:
                given[each] = given[each].copy()  # data and labels are taken by the same numbers
        result = op(*bound.args, **bound.kwargs)
        if out is not None:
            return out
        if not has_labels or getattr(result, "ndim", -1) != data.ndim:
            return result
        indexed = _indexed_axes(name, given, data.ndim)
        rows = _rows_taken(op, bound, role, data, indexed)
        return _labelled(result, data, indexed, {} if rows is None else {data.dims[min(indexed)]: rows})

    return call


def on_plain_values(
    op: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with arrays in place of DataArrays, and the numbers of axes in place of their names."""
    if not any(map(is_labelled, (*args, *kwargs.values()))):
        return tuple(map(values_in, args)), {name: values_in(value) for name, value in kwargs.items()}
    bound = _read(op, args, kwargs)[0]
    return bound.args, bound.kwargs


def _read(
    op: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[inspect.BoundArguments, str, Any, Any]:
    """A call on plain values, the name of the argument that is the data, and the data and `out` as given."""
    name = str(getattr(op, "__name__", ""))
    try:
        bound = inspect.signature(op).bind(*args, **kwargs)
    except TypeError as error:
        step = "" if "axis" in kwargs or "dim" not in kwargs else f"; slices are {name}(.., axis=..) without dim="
        raise TypeError(f"{name}: {error}{step}") from None
    given = bound.arguments
    role = next((each for each in _DATA if each in given), "")
    data, out = given.get(role), given.get("out")
    named = _may_name_axes(name, given) if is_labelled(data) else ()
    for each, value in given.items():
        given[each] = _numbered(name, each, value, data) if each in named else values_in(value)
    return bound, role, data, out


def _may_name_axes(op: str, given: dict[str, Any]) -> tuple[str, ...]:
    """The arguments of a call that hold an axis where they hold a text."""
    if op != "scatter":
        return _AXES
    dim = given.get("dim")
    is_fourth = "index" in given and not (isinstance(dim, str) or is_integer(dim))  # scatter(input, indices, src, axis)
    return ("axis", "dim", "src") if is_fourth else ("axis", "dim")


def _numbered(op: str, role: str, value: Any, data: Any) -> Any:
    """An axis, or several, with the numbers of dims in place of their names; other arguments as their values."""
    if isinstance(value, str):
        if value not in data.dims:
            raise InvalidArgument(
                f"{op}: {role} is {value!r}, which is no dim of the DataArray; its dims are {data.dims}"
            )
        return data.get_axis_num(value)
    if isinstance(value, tuple | list) and any(isinstance(each, str) for each in value):
        return type(value)(_numbered(op, role, each, data) for each in value)
    return values_in(value)


def _rows_taken(op: Callable[..., Any], bound: inspect.BoundArguments, role: str, data: Any, indexed: set[int]) -> Any:
    """The row numbers that a call takes along its one axis, the same for all slices; None if it takes others."""
    given = bound.arguments
    name = str(getattr(op, "__name__", ""))
    if len(indexed) != 1 or name in (*_WRITES, "gather_nd"):
        return None
    slot = _slot_of_axis(name, given)
    is_elementwise = name == "take_along_axis" or (name == "gather" and "index" in given and slot != "index")
    if data.ndim > 1 and (is_elementwise or given.get("batch_dims", 0) != 0):
        return None
    if given.get("mask") is not None or given.get("bounds") == "fill":
        return None  # a point without a row has no label
    rows = inspect.BoundArguments(bound.signature, given.copy())
    rows.arguments[role] = np.arange(data.shape[min(indexed)])
    if slot is not None:
        rows.arguments[slot] = 0
    taken = op(*rows.args, **rows.kwargs)
    return taken if type(taken) is np.ndarray and taken.ndim == 1 else None


def _slot_of_axis(op: str, given: dict[str, Any]) -> str | None:
    """The argument of a gather that holds the axis."""
    if given.get("axis") is not None:
        return "axis"
    if op != "gather":
        return None
    if is_integer(given.get("dim")):
        return "dim"
    return "index" if "index" in given else None  # by position: gather(input, indices, axis)


def _labelled(result: Any, data: Any, indexed: set[int], rows: dict[Any, Any]) -> Any:
    """A DataArray of a result, with the labels of the rows that it takes along dims, and of dims in their order."""
    xarray = sys.modules["xarray"]
    shape = result.shape
    lost = {dim for axis, dim in enumerate(data.dims) if axis in indexed or shape[axis] > data.shape[axis]} - set(rows)
    kept = [name for name, labels in data.coords.items() if not lost.intersection(labels.dims)]
    # An elementwise index may be shorter than the input: its points have the first labels.
    taken = {dim: slice(0, n) for dim, n in zip(data.dims, shape, strict=True) if dim not in lost} | rows
    labels = data.coords.to_dataset().drop_vars([name for name in data.coords if name not in kept])
    labels = labels.isel(taken, missing_dims="ignore").coords
    return xarray.DataArray(result, coords=labels, dims=data.dims, name=data.name, attrs=data.attrs)


def _indexed_axes(op: str, given: dict[str, Any], rank: int) -> set[int]:
    """The axes of the input that a call indexes; a scatter returns every element in its place."""
    if op in _WRITES:
        return set()
    if op == "gather_nd":
        first, indices = given.get("batch_dims", 0), given["indices"]
        by_axis = isinstance(indices, tuple) and has_arrays(indices)
        return set(range(first, first + (len(indices) if by_axis else np.shape(indices)[-1])))
    slot = _slot_of_axis(op, given)
    axis = None if slot is None else given[slot]
    if axis is None and op == "take_along_axis" and "axis" not in given:
        axis = -1
    if axis is None:
        return set(range(rank))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    return {int(each) % rank for each in axes} if rank else set()
