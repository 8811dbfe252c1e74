"""calls.py: reads a call on Dask arrays: the definition of its operator checks it, on stand-ins of these arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from gatherscatter import _core
from gatherscatter._dask.gathers import gathered
from gatherscatter._dask.graph import check_chunks, check_sizes, is_dask_array
from gatherscatter._dask.points import Points, as_data, points_along, points_at, points_of_slices
from gatherscatter._dask.scatters import scattered
from gatherscatter._libraries.adopt import adopt, plain_values
from gatherscatter._libraries.of_dlpack import as_numpy
from gatherscatter._libraries.of_python import BigIntegers
from gatherscatter._libraries.of_xarray import is_labelled
from gatherscatter._libraries.private_lists import private
from gatherscatter._moves.request import Request
from gatherscatter._numpy.put import put_along_axis
from gatherscatter._numpy.rules import cast_to_integers
from gatherscatter._numpy.take import take, take_along_axis
from gatherscatter._ops.forms import array_of
from gatherscatter._ops.gather import gather
from gatherscatter._ops.nd import gather_nd, scatter_nd
from gatherscatter._ops.operator import bind
from gatherscatter._ops.scatter import scatter
from gatherscatter._ops.tile import tile_gather
from gatherscatter._values.implicit_cast import implicit_cast
from gatherscatter.errors import type_name

__all__ = ["on_dask"]

Function = TypeVar("Function", bound=Callable[..., Any])
Array = np.ndarray[Any, Any]

_OPERATORS: dict[str, Callable[..., Any]] = {
    "gather": gather,
    "gather_nd": gather_nd,
    "put_along_axis": put_along_axis,
    "scatter": scatter,
    "scatter_nd": scatter_nd,
    "take": take,
    "take_along_axis": take_along_axis,
    "tile_gather": tile_gather,
}
# The argument of each scatter that has the values.
_VALUES = {"scatter": "src", "scatter_nd": "updates", "put_along_axis": "values"}


def on_dask(function: Function) -> Function:
    """Give a function, which has a signature and a docstring alone, the meaning of the operator of its name."""
    op, signature = function.__name__, inspect.signature(function)

    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        try:
            given = signature.bind(*map(private, arguments), **{name: private(v) for name, v in keywords.items()})
        except TypeError as error:
            raise TypeError(f"{op}: {error}") from None
        return _lazily(op, given)

    return cast("Function", run)


def _lazily(op: str, given: inspect.BoundArguments) -> Any:
    """The Dask array of a call."""
    first = next(iter(given.signature.parameters))
    if given.arguments.get("out") is not None:
        raise TypeError(f"{op}: out is given, but Dask arrays are not written to; the call returns a new array")
    _refuse_labels(op, given.arguments)
    data = given.arguments[first] = _data(op, given.arguments[first])
    stand_ins = _StandIns(op)
    for name, value in given.arguments.items():
        if is_dask_array(value):
            if name == "fill_value":  # one value, which the stand-in of an array would not be
                raise _needs_value(op, name)
            value = _cast(op, name, value, data.dtype)
        each = [stand_ins.of(name, one) for one in (value if type(value) is tuple else (value,))]
        given.arguments[name] = tuple(each) if type(value) is tuple else each[0]
    call = bind(_OPERATORS[op], *given.args, **given.kwargs)
    call.plan()  # checks geometry, types and words
    read = Request._make(call.parts())
    back = stand_ins.back
    # A tuple has an array for each axis; else it is a nested list.
    is_tuple = type(read.index) is tuple and read.planner == "at_points"
    indices = tuple(back("index", one) for one in read.index) if is_tuple else back("index", read.index)
    points = _points(op, data, indices, read)
    mask = back("mask", read.mask)
    if read.scatters:
        role = _VALUES[op]
        source = back(role, read.source)
        stand_ins.require_all(data)
        if read.planner == "along_axis" and read.match == "prefix":
            source = _leading(source, points.shape)
        return scattered(points, data, source, mask, read.combine._asdict(), role)
    fill = back("padding_value" if op == "tile_gather" else "fill_value", read.fill)
    stand_ins.require_all(data)
    is_one = fill is None or (not is_dask_array(fill) and fill.ndim == 0)
    return gathered(points, data, mask, fill if is_one else None, None if is_one else fill)


def _points(op: str, data: Any, index: Any, read: Request) -> Points:
    rule = read.move.bounds, read.negative
    if read.planner == "take_axis":
        return points_of_slices(op, data, index, read.axis, read.batch_dims, *rule)
    if read.planner == "along_axis":
        return points_along(op, data, index, read.axis, *rule, broadcast=read.match == "broadcast")
    if type(index) is tuple and not index:
        index = np.zeros(0, np.intp)  # an array of rank 0, at its one point
    return points_at(op, data, index, read.batch_dims, *rule)


def _refuse_labels(op: str, arguments: dict[str, Any]) -> None:
    """Raise TypeError for a DataArray, whose labels would be lost and whose values must not be computed here."""
    for name, value in arguments.items():
        if any(map(is_labelled, value if type(value) is tuple else (value,))):
            raise TypeError(
                f"{op}: {name} is an xarray.DataArray, expected an array of Dask or NumPy; x.data is one, and "
                f"xarray.apply_ufunc(..., dask='allowed') calls gatherscatter.dask.{op} with dims matched by name"
            )


class _StandIns:
    """Arrays of one item of memory in the place of Dask arrays, and the way back to these."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.kept: dict[int, tuple[str, Any, Array]] = {}  # by address: name of the argument, Dask array, stand-in
        self.unseen: set[int] = set()

    def of(self, name: str, value: Any) -> Any:
        """The stand-in of a Dask array; other values unchanged."""
        if not is_dask_array(value):
            return value
        check_sizes(self.op, name, value)
        dtype = value.dtype
        if dtype.hasobject:
            made = np.broadcast_to(np.zeros((), dtype), value.shape)
        else:
            made = np.ndarray(value.shape, dtype, bytearray(max(1, dtype.itemsize)), strides=(0,) * value.ndim)
        self.kept[_address(made)] = name, value, made
        self.unseen.add(_address(made))
        return made

    def back(self, role: str, part: Any) -> Any:
        """The Dask array that a part of a call stands for. A part in memory becomes a NumPy array, None stays None.

        Dask cannot rechunk arrays without bytes, so these are NumPy arrays, too.
        """
        if part is None:
            return None
        address = _address(part) if type(part) is np.ndarray else None
        if address not in self.kept:
            return _array(self.op, role, part)
        self.unseen.discard(address)
        array = self.kept[address][1]
        check_chunks(self.op, role, array)
        while array.ndim > part.ndim:
            array = array[0]  # an assignment of NumPy drops leading axes of length 1
        return np.empty(array.shape, array.dtype) if 0 in array.shape or not array.dtype.itemsize else array

    def require_all(self, data: Any) -> None:
        """Raise TypeError for a Dask array whose value the definition has read, such as an axis or a fill value."""
        for address in self.unseen:
            name, array, _ = self.kept[address]
            if array is not data:
                raise _needs_value(self.op, name)


def _needs_value(op: str, name: str) -> TypeError:
    return TypeError(f"{op}: {name} is a Dask array, but this call needs its value; x.compute() gives it")


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _array(op: str, role: str, obj: Any) -> Array:
    if type(obj) is np.ndarray:
        return obj
    made = adopt(op, "source" if role in _VALUES.values() else role, plain_values(op, role, obj))[0]
    if isinstance(made, BigIntegers):
        return np.array(made.values, object).reshape(made.shape)
    return _in_memory(op, role, made)


def _in_memory(op: str, role: str, adopted: Any) -> Array:
    """A NumPy array on the memory of an argument that `adopt` has read, such as a tensor."""
    return as_numpy(f"{op}: {role}", adopted) if isinstance(adopted, _core.DLPackArray) else np.asarray(adopted)


def _data(op: str, data: Any) -> Any:
    if not is_dask_array(data) and op == "put_along_axis":
        raise TypeError(
            f"{op}: arr is of type {type_name(data)}, and an index or values are Dask arrays, so that nothing would be "
            "written to it; x.compute() makes arrays of them, dask.array.from_array(arr) makes a Dask array of arr"
        )
    if not is_dask_array(data):
        data = _in_memory(op, "input", adopt(op, "input", array_of(op, data))[0])
    return as_data(op, "input", data)


def _cast(op: str, name: str, array: Any, dtype: np.dtype[Any]) -> Any:
    """A Dask array of the type to which the operator casts this argument."""
    if (op, name) == ("take", "indices"):
        dtype = cast_to_integers(op, np.empty(0, array.dtype), "same_kind").dtype
    elif (op, name) == ("tile_gather", "padding_value"):
        implicit_cast(op, name, np.zeros((), array.dtype), np.empty(0, dtype))
    elif (op, name) != ("put_along_axis", "values"):
        return array
    return array if array.dtype == dtype else array.astype(dtype)


def _leading(source: Any, shape: tuple[int, ...]) -> Any:
    """The leading part of values that are longer than the points, as in torch."""
    if source.ndim != len(shape) or all(m in (1, n) for m, n in zip(source.shape, shape, strict=True)):
        return source
    return source[tuple(map(slice, shape))]
