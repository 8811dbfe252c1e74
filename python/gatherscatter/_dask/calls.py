"""calls.py: reads and checks the arguments of each operator on Dask arrays, as the operator does, for the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._dask.gathers import gathered
from gatherscatter._dask.graph import check_chunks, is_dask_array, stand_in
from gatherscatter._dask.points import as_data, points_along, points_at, points_of_slices
from gatherscatter._dask.scatters import scattered
from gatherscatter._libraries.adopt import adopt, plain_values
from gatherscatter._libraries.of_python import BigIntegers
from gatherscatter._libraries.recognise import no_array
from gatherscatter._numpy.rules import as_index_array, axis_of_index, cast_to_integers
from gatherscatter._numpy.take_general import axis_number
from gatherscatter._ops.forms import Slices, array_of
from gatherscatter._ops.tile import check_hints, index_tuple, one_way_mask, one_way_value
from gatherscatter._values.fill import as_fill, check_fill_is_used
from gatherscatter._values.integers import one_integer
from gatherscatter._values.source import as_source
from gatherscatter.errors import ShapeMismatchError, type_name

__all__ = [
    "gather_along",
    "gather_points",
    "gather_slices",
    "gather_tile",
    "put_values",
    "scatter_along",
    "scatter_points",
    "scatter_slices",
    "take_along",
    "take_items",
]


def _refuse_out(op: str, out: Any) -> None:
    if out is not None:
        raise TypeError(f"{op}: out is given, but Dask arrays are not written to; the call returns a new array")


def _known(op: str, role: str, array: Any) -> Any:
    """A Dask array with chunks of known size; one without bytes as a NumPy array, because Dask cannot rechunk it."""
    check_chunks(op, role, array)
    return np.empty(array.shape, array.dtype) if 0 in array.shape or not array.dtype.itemsize else array


def _array(op: str, role: str, obj: Any) -> Any:
    """An index, a mask or values as a Dask array with chunks of known size, or as a NumPy array."""
    if is_dask_array(obj):
        return _known(op, role, obj)
    if type(obj) is np.ndarray:
        return obj
    made = adopt(op, role, plain_values(op, role, obj))[0]
    return np.array(obj, dtype=object) if isinstance(made, BigIntegers) else np.asarray(made)


def _data(op: str, data: Any) -> Any:
    if is_dask_array(data):
        return as_data(op, "input", data)
    return as_data(op, "input", np.asarray(adopt(op, "input", array_of(op, data))[0]))


def _mask(op: str, mask: Any) -> Any:
    return None if mask is None else _array(op, "mask", mask)


def _rule(bounds: str) -> str:
    return "fill" if bounds == "drop" else bounds


def _fill(op: str, like: Any, fill: Any, bounds: Any, mask: Any) -> Any:
    check_fill_is_used(op, fill, bounds, mask)
    if is_dask_array(fill):
        raise no_array(op, "fill_value", fill)
    made = None if fill is None else as_fill(op, stand_in(like), fill)
    return None if made is None else np.asarray(made)


def _checked(call: Any) -> None:
    """Check geometry, types and words of a call on stand-ins of the arrays, with the errors of the operator."""
    call.plan()


def _for_plan(array: Any) -> Any:
    """A stand-in for the check; integers beyond 64 bits, whose type is object, are checked by their shape alone."""
    return np.zeros(array.shape, np.int64) if array.dtype.hasobject else stand_in(array)


def gather_along(
    op: str, data: Any, index: Any, dim: Any, bounds: Any, negative: Any, fill: Any, mask: Any, out: Any
) -> Any:
    """``gather(input, dim, index)``."""
    _refuse_out(op, out)
    data, index, mask = _data(op, data), _array(op, "index", index), _mask(op, mask)
    fill = _fill(op, data, fill, bounds, mask)
    like, at = stand_in(data), _for_plan(index)
    _checked(_core.along_axis(op, like, at, dim, "prefix", bounds, negative, fill, stand_in(mask), None))
    points = points_along(op, data, index, one_integer(op, "dim", dim), bounds, negative)
    return gathered(points, data, mask, fill)


def gather_slices(
    op: str, data: Any, slices: Slices, bounds: Any, negative: Any, fill: Any, mask: Any, out: Any
) -> Any:
    """``gather(input, indices, axis, batch_dims)``."""
    _refuse_out(op, out)
    data, indices, mask = _data(op, data), _array(op, "index", slices.indices), _mask(op, mask)
    fill = _fill(op, data, fill, bounds, mask)
    axis, count = slices.axis, slices.batch_dims
    _checked(
        _core.take_axis(
            op,
            stand_in(data),
            _for_plan(indices),
            axis,
            count,
            bounds,
            negative,
            fill,
            stand_in(mask),
            None,
        )
    )
    return gathered(points_of_slices(op, data, indices, axis, count, bounds, negative), data, mask, fill)


def gather_points(
    op: str, data: Any, indices: Any, batch_dims: Any, bounds: Any, negative: Any, fill: Any, mask: Any, out: Any
) -> Any:
    """``gather_nd(input, indices, batch_dims)``."""
    _refuse_out(op, out)
    indices = list(indices) if type(indices) is tuple else indices
    data, indices, mask = _data(op, data), _array(op, "index", indices), _mask(op, mask)
    fill = _fill(op, data, fill, bounds, mask)
    _checked(
        _core.at_points(
            op,
            stand_in(data),
            _for_plan(indices),
            batch_dims,
            bounds,
            negative,
            fill,
            stand_in(mask),
            None,
        )
    )
    points = points_at(op, data, indices, one_integer(op, "batch_dims", batch_dims), bounds, negative)
    return gathered(points, data, mask, fill)


def gather_tile(data: Any, indices: Any, mask: Any, padding: Any, check_bounds: Any, latency: Any) -> Any:
    """``tile_gather(array, indices)``."""
    op = "tile_gather"
    check_hints(op, check_bounds, latency)
    data = _data(op, data)
    like = stand_in(data)
    given = indices if isinstance(indices, tuple) else (indices,)
    read, shape = index_tuple(
        op, like, tuple(map(stand_in, given)) if isinstance(indices, tuple) else stand_in(indices)
    )
    lazy = any(map(is_dask_array, given))
    arrays = tuple(
        _array(op, "index", mine if is_dask_array(mine) else made) for mine, made in zip(given, read, strict=True)
    )
    checked = one_way_mask(op, stand_in(mask), shape)
    mask = None if checked is None else _array(op, "mask", mask if is_dask_array(mask) else checked)
    value = one_way_value(op, "padding_value", stand_in(padding), like, shape)
    if is_dask_array(padding):
        value = _known(op, "padding_value", padding).astype(data.dtype)
    elif value is not None:
        value = np.asarray(value)
    bounds = "fill" if check_bounds else "raise"
    if not arrays and not lazy:
        at = np.zeros(0, np.intp)  # an array of rank 0, at the one point ()
        points = points_at(op, data, at, 0, bounds, "out_of_bounds")
    else:
        points = points_at(op, data, arrays, 0, bounds, "out_of_bounds")
    is_scalar = value is None or (not is_dask_array(value) and value.ndim == 0)
    return gathered(points, data, mask, value if is_scalar else None, None if is_scalar else value)


def take_items(data: Any, indices: Any, axis: Any, bounds: Any, negative: Any, fill: Any, mask: Any, out: Any) -> Any:
    """``take(a, indices, axis)``."""
    op = "take"
    _refuse_out(op, out)
    data, mask = _data(op, data), _mask(op, mask)
    if not is_dask_array(indices):
        indices = cast_to_integers(op, indices, "same_kind")
    indices = _array(op, "index", indices)
    if is_dask_array(indices) and indices.dtype.kind not in "iu":
        cast = cast_to_integers(op, np.empty(0, indices.dtype), "same_kind")  # NumPy's error if they do not cast
        indices = indices.astype(cast.dtype)
    axis = axis_number(axis, max(data.ndim, 1))
    fill = _fill(op, data, fill, bounds, mask)
    like = stand_in(data).reshape(1) if data.ndim == 0 else stand_in(data)
    _checked(_core.take_axis(op, like, _for_plan(indices), axis, 0, bounds, negative, fill, stand_in(mask), None))
    return gathered(points_of_slices(op, data, indices, axis, 0, bounds, negative), data, mask, fill)


def take_along(data: Any, indices: Any, axis: Any, bounds: Any, negative: Any, fill: Any, mask: Any, out: Any) -> Any:
    """``take_along_axis(arr, indices, axis)``."""
    op = "take_along_axis"
    _refuse_out(op, out)
    data, mask = _data(op, data), _mask(op, mask)
    indices = _array(op, "index", indices if is_dask_array(indices) else as_index_array(op, indices))
    axis = axis_of_index(stand_in(data), _for_plan(indices), axis)
    fill = _fill(op, data, fill, bounds, mask)
    like, at = stand_in(data), _for_plan(indices)
    _checked(_core.along_axis(op, like, at, axis, "broadcast", bounds, negative, fill, stand_in(mask), None))
    points = points_along(op, data, indices, axis, bounds, negative, broadcast=True)
    return gathered(points, data, mask, fill)


def _source(op: str, data: Any, source: Any, what: str) -> Any:
    """The values of a scatter as a Dask or NumPy array."""
    if is_dask_array(source):
        return _known(op, what, source)
    return np.asarray(adopt(op, "source", as_source(op, stand_in(data), source, what))[0])


def _options(reduce: Any, include_self: Any, duplicates: Any) -> dict[str, Any]:
    return {"reduce": reduce, "include_self": include_self, "duplicates": duplicates}


def scatter_along(
    op: str, data: Any, index: Any, dim: Any, source: Any, bounds: Any, negative: Any, options: Any, mask: Any, out: Any
) -> Any:
    """``scatter(input, dim, index, src)``."""
    _refuse_out(op, out)
    words = _options(*options)
    data, index, mask = _data(op, data), _array(op, "index", index), _mask(op, mask)
    source = _source(op, data, source, "src")
    like, at, values = stand_in(data), _for_plan(index), stand_in(source)
    call = _core.scatter_along(
        op,
        like,
        at,
        dim,
        "prefix",
        values,
        bounds,
        negative,
        options[0],
        options[1],
        options[2],
        stand_in(mask),
        None,
    )
    _checked(call)
    if source.ndim == index.ndim and source.shape != index.shape and not _broadcasts(source.shape, index.shape):
        source = source[tuple(slice(n) for n in index.shape)]  # its leading part, as in torch
    points = points_along(op, data, index, one_integer(op, "dim", dim), _rule(bounds), negative)
    return scattered(points, data, source, mask, words, "src")


def _broadcasts(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(m in (1, n) for m, n in zip(own, shape, strict=True))


def scatter_slices(
    op: str, data: Any, slices: Slices, source: Any, bounds: Any, negative: Any, options: Any, mask: Any, out: Any
) -> Any:
    """``scatter(input, indices, src, axis, batch_dims)``."""
    _refuse_out(op, out)
    words = _options(*options)
    data, indices, mask = _data(op, data), _array(op, "index", slices.indices), _mask(op, mask)
    source = _source(op, data, source, "src")
    axis, count = slices.axis, slices.batch_dims
    like, at, values = stand_in(data), _for_plan(indices), stand_in(source)
    call = _core.scatter_axis(
        op,
        like,
        at,
        axis,
        count,
        values,
        bounds,
        negative,
        options[0],
        options[1],
        options[2],
        stand_in(mask),
        None,
    )
    _checked(call)
    return scattered(
        points_of_slices(op, data, indices, axis, count, _rule(bounds), negative), data, source, mask, words, "src"
    )


def scatter_points(
    op: str,
    data: Any,
    indices: Any,
    source: Any,
    batch_dims: Any,
    bounds: Any,
    negative: Any,
    options: Any,
    mask: Any,
    out: Any,
) -> Any:
    """``scatter_nd(input, indices, updates, batch_dims)``."""
    _refuse_out(op, out)
    words = _options(*options)
    indices = list(indices) if type(indices) is tuple else indices
    data, indices, mask = _data(op, data), _array(op, "index", indices), _mask(op, mask)
    source = _source(op, data, source, "updates")
    like, at, values = stand_in(data), _for_plan(indices), stand_in(source)
    call = _core.scatter_points(
        op,
        like,
        at,
        batch_dims,
        values,
        bounds,
        negative,
        options[0],
        options[1],
        options[2],
        stand_in(mask),
        None,
    )
    _checked(call)
    points = points_at(op, data, indices, one_integer(op, "batch_dims", batch_dims), _rule(bounds), negative)
    return scattered(points, data, source, mask, words, "updates")


def put_values(data: Any, indices: Any, values: Any, axis: Any, bounds: Any, negative: Any, mask: Any) -> Any:
    """``put_along_axis(arr, indices, values, axis)``, which returns a new array."""
    op = "put_along_axis"
    if not is_dask_array(data):
        raise TypeError(
            f"{op}: arr is of type {type_name(data)}, and an index or values are Dask arrays, so that nothing would be "
            "written to it; x.compute() makes arrays of them, dask.array.from_array(arr) makes a Dask array of arr"
        )
    data, mask = _data(op, data), _mask(op, mask)
    indices = _array(op, "index", indices if is_dask_array(indices) else as_index_array(op, indices))
    axis = axis_of_index(stand_in(data), _for_plan(indices), axis)
    # Values are cast as by an assignment of NumPy.
    if is_dask_array(values):
        source = _known(op, "values", values)
        source = source if source.dtype == data.dtype else source.astype(data.dtype)
    else:
        source = np.asarray(plain_values(op, "values", values)).astype(data.dtype)
    points = points_along(op, data, indices, axis, _rule(bounds), negative, broadcast=True)
    while source.ndim > len(points.shape) and source.shape[0] == 1:
        source = source[0]  # an assignment of NumPy drops leading axes of length 1
    lead = len(points.shape) - source.ndim
    if lead < 0 or not _broadcasts(source.shape, points.shape[lead:]):
        raise ShapeMismatchError(
            f"{op}: values of shape {source.shape} do not broadcast to the shape {points.shape} of the points"
        )
    like, at, shown = stand_in(data), _for_plan(indices), stand_in(source)
    call = _core.scatter_along(
        op,
        like,
        at,
        axis,
        "broadcast",
        shown,
        bounds,
        negative,
        None,
        True,
        "last",
        stand_in(mask),
        None,
    )
    _checked(call)
    return scattered(points, data, source, mask, _options(None, True, "last"), "values")
