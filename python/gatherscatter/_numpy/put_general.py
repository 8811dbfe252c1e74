"""put_general.py: put, put_along_axis, putmask and place for any arguments, with NumPy's rules and messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.adopt import plain_values, refuse_recorded
from gatherscatter._libraries.devices import is_on_device, reshaped, truth_of
from gatherscatter._libraries.of_python import LiteralArray
from gatherscatter._libraries.of_torch import is_of_graph, is_tensor
from gatherscatter._libraries.recognise import hint, is_masked_array, is_ndarray, library_of
from gatherscatter._libraries.torch_symbols import graph_index, positions
from gatherscatter._numpy.masked import NO_NUMBERS, twice_read, write_masked
from gatherscatter._numpy.put_blocks import has_blocks, place_by_blocks, putmask_by_blocks
from gatherscatter._numpy.rules import (
    NUMPYS_MODES,
    as_index_array,
    axis_of_index,
    by_numpy,
    cast_to_integers,
    is_foreign,
    memory_of,
    non_defaults,
    prefers_numpy,
    require_numpy_arguments,
    rule_of,
    true_positions,
    two_arrays,
    with_shape,
)
from gatherscatter._ops.keywords import Bounds, Negative, ScatterBounds
from gatherscatter._values.source import as_source
from gatherscatter.errors import DeferredOutOfBoundsError, EmptyTargetError, OutOfBoundsError, type_name

__all__ = ["place_anything", "put_anything", "put_anything_along_axis", "putmask_anything"]

_Casting = Literal["safe", "unsafe"]


def _step(target: Any) -> str:
    """The end of the error for a target that is no array of NumPy."""
    is_lazy = library_of(target, ("dask",)) != ""
    return hint(target) + ("; gatherscatter.scatter takes it and returns a new one" if is_lazy else "")


def put_anything(
    a: Any, ind: Any, v: Any, mode: Any, bounds: ScatterBounds | None, negative: Negative | None, mask: Any
) -> Any:
    """`put` for any arguments.

    Like all functions of this file that write, it returns the call that writes, or None if there is nothing to write.
    """
    is_masked = is_masked_array(a)
    if prefers_numpy(a, "put") and not is_masked:
        rule = rule_of("put", mode, bounds, negative)
        require_numpy_arguments("put", a, rule in NUMPYS_MODES, mask)
        return by_numpy("put", np.put, a, ind, v, **non_defaults(mode=(NUMPYS_MODES[rule], "raise")))
    if not (is_ndarray(a) or is_foreign(a)):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type(a)}{_step(a)}")
    rule = rule_of("put", mode, bounds, negative)
    if not is_masked:
        return _put(a, ind, v, *rule, mask)
    indices = twice_read("put", "index", cast_to_integers("put", ind, "safe"))
    mask = twice_read("put", "mask", mask)

    def read(part: Any) -> Any:
        reading: Bounds = "fill" if rule[0] == "drop" else rule[0]
        return _core.take_axis("put", part, indices, None, 0, reading, rule[1], None, mask, None).run()

    def write(part: Any, values: Any, where: Any) -> Any:
        return _core.run(_put(part, indices, values, *rule, where))

    def run() -> None:
        write_masked("put", a, v, mask, read, write)
        a.shrink_mask()

    return _core.steps("put", run, str(two_arrays(a)))


def _put(a: Any, ind: Any, v: Any, bounds: ScatterBounds, negative: Negative, mask: Any) -> Any:
    base = _target("put", a)
    if is_tensor(base):
        made = graph_index(ind)
        ind = ind if made is None else made
    indices = with_shape("put", "index", cast_to_integers("put", ind, "safe"))
    shape = tuple(indices.shape)
    if 0 in base.shape and 0 not in shape and mask is None and bounds != "drop" and not is_on_device(indices):
        raise _empty_target(indices, negative)
    values = _values("put", base, v, "v", "unsafe")
    if 0 in values.shape:
        return None  # as in NumPy, nothing is written and the indices are not checked

    def write(repeated: Any) -> _core.Call:
        call = _core.scatter_axis(
            "put", base, indices, None, 0, repeated, bounds, negative, None, True, "last", mask, base
        )
        return call if mask is not None else call.otherwise(_error_of_empty_target)

    return _with_repeated("put", values, shape, write)


def _error_of_empty_target(error: Exception) -> Exception:
    """The error of a put; NumPy's error if the target is empty."""
    if isinstance(error, OutOfBoundsError) and not error.size and not isinstance(error, DeferredOutOfBoundsError):
        raise EmptyTargetError(*error.fields()) from None
    return error


def _empty_target(indices: Any, negative: Negative) -> EmptyTargetError:
    values = np.asarray(indices)
    from_end = negative == "from_end" and values.dtype.kind == "i"
    first = int(values.reshape(-1)[0])
    return EmptyTargetError("put", first, (0,) * values.ndim, 0, 0, values.size, values.size, from_end)


def put_anything_along_axis(
    arr: Any, indices: Any, values: Any, axis: Any, bounds: ScatterBounds, negative: Negative, mask: Any
) -> Any:
    """`put_along_axis` for any arguments."""
    is_masked = is_masked_array(arr)
    if prefers_numpy(arr, "__setitem__") and not is_masked:
        require_numpy_arguments("put_along_axis", arr, (bounds, negative) == ("raise", "from_end"), mask)
        return by_numpy("put_along_axis", np.put_along_axis, arr, indices, values, axis)
    if not (is_ndarray(arr) or is_foreign(arr)):
        raise TypeError(f"put_along_axis: arr is of type {type(arr).__name__}, expected an array{hint(arr)}")
    if not is_masked:
        return _put_along(arr, indices, values, axis, bounds, negative, mask)
    op = "put_along_axis"
    indices = twice_read(op, "index", as_index_array(op, indices))
    mask = twice_read(op, "mask", mask)

    def read(part: Any) -> Any:
        reading: Bounds = "fill" if bounds == "drop" else bounds
        checked = axis_of_index(part, indices, axis)
        return _core.along_axis(
            "put_along_axis", part, indices, checked, "broadcast", reading, negative, None, mask, None
        ).run()

    def write(part: Any, part_of_values: Any, where: Any) -> Any:
        return _core.run(_put_along(part, indices, part_of_values, axis, bounds, negative, where))

    return _core.steps(op, lambda: write_masked(op, arr, values, mask, read, write), str(two_arrays(arr)))


def _put_along(
    arr: Any, indices: Any, values: Any, axis: Any, bounds: ScatterBounds, negative: Negative, mask: Any
) -> Any:
    if is_ndarray(arr):
        indices = as_index_array("put_along_axis", indices)
        axis = axis_of_index(arr, indices, axis)
    base = _target("put_along_axis", arr)
    values = _values("put_along_axis", base, values, "values", "unsafe")
    if is_ndarray(arr) and hasattr(indices, "shape"):
        _check_broadcast(tuple(values.shape), base.shape, tuple(indices.shape), axis)
    rank = 1 if axis is None else max(len(base.shape), 1)
    while len(values.shape) > rank and values.shape[0] == 1:
        # An assignment of NumPy drops leading axes of length 1.
        fewer = tuple(values.shape[1:])
        values = reshaped("put_along_axis", "values", values, fewer) if is_on_device(values) else values[0]
    return _core.scatter_along(
        "put_along_axis", base, indices, axis, "broadcast", values, bounds, negative, None, True, "last", mask, base
    )


def _check_broadcast(own: tuple[int, ...], base: tuple[int, ...], index: tuple[int, ...], axis: int | None) -> None:
    """Raise NumPy's error for values that do not broadcast to the shape of the points."""
    points = index
    if axis is not None:
        points = tuple(m if d == axis or n == 1 else n for d, (n, m) in enumerate(zip(base, index, strict=True)))
    # np.broadcast_shapes has a limit of 32 axes.
    lead = own[: max(len(own) - len(points), 0)]
    fits = set(lead) <= {1} and all(m in (1, n) for m, n in zip(reversed(own), reversed(points), strict=False))
    if not fits:
        text = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"
        raise ValueError(text.format(*(str(shape).replace(" ", "") for shape in (own, points))))


def putmask_anything(a: Any, mask: Any, values: Any) -> Any:
    """`putmask` for any arguments: a true element of the mask writes the value at its own flat position."""
    if prefers_numpy(a, None):
        return by_numpy("putmask", np.putmask, a, mask, values)
    if not (is_ndarray(a) or is_foreign(a)):
        raise TypeError(f"putmask: first argument must be an array{_step(a)}")
    base = _target("putmask", a)
    shape = tuple(base.shape)
    truth = _truth("putmask", mask, base)
    values = _values("putmask", base, values, "values", "safe")
    if 0 in values.shape:
        return None

    def write(repeated: Any) -> _core.Call:
        return _core.scatter_masked("putmask", base, truth, repeated, base)

    if is_ndarray(truth) and has_blocks(base, values) and 1 < values.size < base.size:
        # A plan is made of the geometry alone: the target has that of the values, which are not written out.
        return write(base).run_by(lambda: putmask_by_blocks(base, truth, values))
    return _with_repeated("putmask", values, shape, write)


def place_anything(arr: Any, mask: Any, vals: Any) -> Any:
    """`place` for any arguments: each true element of the mask writes the next value."""
    if prefers_numpy(arr, None):
        return by_numpy("place", np.place, arr, mask, vals)
    if not (is_ndarray(arr) or is_foreign(arr)):
        raise TypeError(f"place() argument 1 must be numpy.ndarray, not {type_name(arr)}{_step(arr)}")
    base = _target("place", arr)
    truth = _truth("place", mask, base)
    values = _values("place", base, vals, "vals", "safe")
    if is_ndarray(base) and 0 not in values.shape and truth.all():
        return _with_repeated("place", values, base.shape, lambda repeated: _place_all(base, truth, repeated))

    def write(repeated: Any) -> _core.Call:
        return _core.scatter_axis(
            "place", base, indices, None, 0, repeated, "raise", "from_end", None, True, "last", None, base
        )

    if is_ndarray(truth) and 0 not in values.shape and has_blocks(base, values):
        # As in `putmask_anything`: these positions and values are never read, and memory of them is not touched.
        indices = np.empty(np.count_nonzero(truth), np.intp)
        return write(base.reshape(-1)[: indices.size]).run_by(lambda: place_by_blocks(base, truth, values))
    indices = np.flatnonzero(truth) if is_ndarray(truth) else true_positions("place", "mask", truth)
    if 0 in values.shape:
        if 0 not in indices.shape:
            raise ValueError("Cannot insert from an empty array!")
        return None
    return _with_repeated("place", values, indices.shape, write)


def _place_all(base: np.ndarray[Any, Any], truth: np.ndarray[Any, Any], values: Any) -> _core.Call:
    """The call that places values at all elements: it needs no positions, and is a copy if `base` is contiguous."""
    call = _core.scatter_masked("place", base, truth, values, base)
    if not base.flags.forc or not is_ndarray(values):
        return call

    def copy() -> None:
        # A gather by coordinates of no numbers is a copy.
        whole = np.broadcast_to(values, base.shape)
        _core.run(_core.at_points("place", whole, NO_NUMBERS, 0, "raise", "from_end", None, None, base))

    return call.run_by(copy)


def _target(op: str, a: Any) -> Any:
    """The target as a plain array of its library; an error if a NumPy array is read-only."""
    base = with_shape(op, "input", a)
    if is_ndarray(base) and not base.flags.writeable:
        what = "assignment destination" if op == "put_along_axis" else f"{op}: output array"
        step = "; mode='r+' opens its file for writing" if isinstance(a, np.memmap) else ""
        raise ValueError(f"{what} is read-only{step}")
    return base


def _values(op: str, base: Any, values: Any, what: str, casting: _Casting) -> Any:
    """Convert values to the dtype of `base`.

    For a NumPy array they are cast by the casting rule, for an array of another library they must fit the dtype.
    """
    if not is_ndarray(base):
        return with_shape(op, what, as_source(op, base, values, what))
    values = plain_values(op, what, values)
    if is_foreign(values):
        values = np.asarray(with_shape(op, what, values))
    if is_ndarray(values):
        plain = memory_of(values)
        return plain if plain.dtype == base.dtype else plain.astype(base.dtype, casting=casting)
    if casting == "safe":
        with np.errstate(all="ignore"):
            # This call writes nothing, but raises NumPy's error if NumPy does not cast these values.
            np.putmask(np.empty(1, base.dtype), [False], values)
    return np.asarray(values, dtype=base.dtype)


def _with_repeated(op: str, values: Any, shape: tuple[int, ...], write: Callable[[Any], _core.Call]) -> _core.Call:
    """The call that writes values repeated cyclically, in C order, to `shape`.

    Values that broadcasting repeats so are written as they are.
    """
    own = tuple(values.shape)
    if len(own) <= len(shape):
        while own[:1] == (1,):
            own = own[1:]
        if own == shape[len(shape) - len(own) :]:
            return write(values)
    count = math.prod(shape)
    is_literal = isinstance(values, LiteralArray)
    memory = values.array if is_literal else values
    if is_ndarray(memory):
        rounds = np.broadcast_to(memory.reshape(-1), (-(-count // memory.size), memory.size))
        repeated = rounds.reshape(-1)[:count].reshape(shape)
        return write(LiteralArray(repeated) if is_literal else repeated)
    reason = (
        f"{op}: values of shape {tuple(values.shape)} are repeated to shape {shape} in a separate step, which a "
        f"plan cannot contain; make the plan with values of shape {shape}"
    )

    def run() -> None:
        order = positions(count, values).reshape(shape)
        repeated = _core.take_axis(op, values, order, None, 0, "wrap", "from_end", None, None, None).run()
        write(repeated).run()

    return _core.steps(op, run, reason)


def _truth(op: str, mask: Any, base: Any) -> Any:
    shape = tuple(base.shape)
    mask = with_shape(op, "mask", mask)
    if is_on_device(mask):
        if math.prod(mask.shape) != math.prod(shape):
            raise ValueError(f"{op}: mask and data must be the same size")
        return reshaped(op, "mask", truth_of(op, "mask", mask), shape)
    if op == "putmask" and is_tensor(base) and is_of_graph(mask):
        if math.prod(mask.shape) != math.prod(shape):
            raise ValueError(f"{op}: mask and data must be the same size")
        return mask.bool().reshape(shape)
    refuse_recorded(op, "mask", mask)  # how many values are placed depends on its own
    # The mask is copied, because its true elements are counted before they are listed, and another thread may change
    # the mask in between.
    truth = np.array(np.asarray(mask), dtype=bool)
    if truth.size != math.prod(shape):
        raise ValueError(f"{op}: mask and data must be the same size")
    return truth.reshape(shape)
