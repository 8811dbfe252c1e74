"""of_xarray.py: operators on DataArrays of xarray: calls on their values, results with the labels that still hold."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter._libraries.of_python import is_integer

__all__ = ["on_values", "values_in"]

# What the operators call the array whose items they move, and the operators that return all items in their places.
_DATA = ("input", "a", "arr", "array")
_WRITES = ("scatter", "scatter_nd")


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

    The result is a DataArray with the dims, name and attributes of the input, and the coordinates of the axes that the
    call does not index, if it has an axis for each dim of the input; else it is what the operator returns.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        result = op(*map(values_in, args), **{name: values_in(value) for name, value in kwargs.items()})
        given = inspect.signature(op).bind(*args, **kwargs).arguments
        out = given.get("out")
        if out is not None:
            return out
        data: Any = next((given[name] for name in _DATA if name in given), None)
        if not is_labelled(data) or getattr(result, "ndim", -1) != data.ndim:
            return result
        return _labelled(result, data, _indexed_axes(str(getattr(op, "__name__", "")), given, data.ndim))

    return call


def _labelled(result: Any, data: Any, indexed: set[int]) -> Any:
    """A DataArray of a result, with the coordinates of the axes along which it has the order of `data`."""
    xarray = sys.modules["xarray"]
    shape = result.shape
    lost = {dim for axis, dim in enumerate(data.dims) if axis in indexed or shape[axis] > data.shape[axis]}
    kept = [name for name, labels in data.coords.items() if not lost.intersection(labels.dims)]
    # An elementwise index may be shorter than the input: its points have the first labels.
    first = {dim: slice(0, n) for dim, n in zip(data.dims, shape, strict=True) if dim not in lost}
    labels = data.drop_vars([name for name in data.coords if name not in kept]).isel(first).coords
    return xarray.DataArray(result, coords=labels, dims=data.dims, name=data.name, attrs=data.attrs)


def _indexed_axes(op: str, given: dict[str, Any], rank: int) -> set[int]:
    """The axes of the input that a call indexes; a scatter returns every element in its place."""
    if op in _WRITES:
        return set()
    if op == "gather_nd":
        first, indices = given.get("batch_dims", 0), given["indices"]
        return set(range(first, first + np.shape(indices)[-1]))
    second = given.get("dim")
    axis = second if op == "gather" and is_integer(second) and "axis" not in given else given.get("axis")
    if axis is None and op == "gather":
        axis = given.get("index")  # by position: gather(input, indices, axis)
    if axis is None and op == "take_along_axis" and "axis" not in given:
        axis = -1
    if axis is None:
        return set(range(rank))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    return {int(each) % rank for each in axes} if rank else set()
