"""route.py: runs the calls of operators inside of transforms of JAX. The extension module calls `route` for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.adopt import adopt
from gatherscatter._libraries.of_dlpack import as_numpy
from gatherscatter._libraries.of_jax import is_tracer
from gatherscatter._libraries.of_python import BigIntegers, LiteralArray
from gatherscatter._moves.request import Request
from gatherscatter._xla import jax, jnp
from gatherscatter._xla.primitives import gather, scatter

__all__ = ["route"]


def route(call: Any) -> Any:
    """Run a call that has tracers."""
    given = Request._make(call.parts())
    op = given.op
    if given.out is not None:
        step = "gatherscatter.jax.put_along_axis returns a new array" if op == "put_along_axis" else _NEXT_STEP
        raise TypeError(f"{op}: cannot write to a JAX array, which is immutable; {step}")
    input = _as_array(op, "input", given.input)
    indices = [_as_array(op, "index", one) for one in given.indices]
    mask = None if given.mask is None else _as_array(op, "mask", given.mask)
    if not given.scatters:
        fill = None if given.fill is None else _as_array(op, "fill_value", given.fill)
        return gather(given.move, input, indices, mask, fill)
    source = _as_array(op, "src", given.source)
    return scatter(given.move, given.combine, input, indices, source, mask)


_NEXT_STEP = "call gatherscatter.scatter without out=, which returns a new array"


def _as_array(op: str, role: str, value: Any) -> Any:
    """An argument of any kind as an array of JAX."""
    if is_tracer(value) or isinstance(value, jax.Array):
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            raise TypeError(f"{op}: {role} has dtype {value.dtype}; jax.random.key_data(x) gives an array of numbers")
        if "int" in value.dtype.name and jnp.iinfo(value.dtype).bits < 8:
            raise TypeError(f"{op}: {role} has dtype {value.dtype}; pass x.astype('int8')")
        if "float" in value.dtype.name and jnp.finfo(value.dtype).bits < 8:
            raise TypeError(f"{op}: {role} has dtype {value.dtype}; pass x.astype('float8_e4m3fn')")
        return value
    adopted = value if isinstance(value, np.ndarray) else adopt(op, role, value)[0]
    if isinstance(adopted, BigIntegers) or (isinstance(adopted, np.ndarray) and adopted.dtype == object):
        raise TypeError(f"{op}: {role} has integers beyond 64 bits, for which JAX has no dtype")
    array = adopted.array if isinstance(adopted, LiteralArray) else adopted
    if isinstance(array, _core.DLPackArray):
        array = as_numpy(f"{op}: {role}", array)
    array = np.asarray(array)
    if array.dtype.kind not in "biufcV" or array.dtype.names is not None:
        raise TypeError(f"{op}: {role} has dtype {array.dtype}, for which JAX has no dtype")
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
    dtype = jax.dtypes.canonicalize_dtype(native.dtype)
    if dtype != native.dtype and _goes_beyond(native, dtype):
        raise TypeError(
            f"{op}: {role} has values beyond {dtype}, to which JAX narrows {native.dtype}; set jax_enable_x64"
        )
    return jnp.asarray(native)


def _goes_beyond(values: np.ndarray[Any, Any], dtype: Any) -> bool:
    """Whether a narrower dtype wraps an integer around, or makes a finite number infinite."""
    with np.errstate(over="ignore"):
        narrow = values.astype(dtype)
    if values.dtype.kind in "iu":
        return not np.array_equal(narrow, values)
    return bool(np.any(np.isinf(narrow) & ~np.isinf(values)))
