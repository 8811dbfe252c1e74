"""of_jax.py: arrays of JAX as arguments, and results with the properties that JAX's own operations give them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter._libraries.device_adapter import DeviceAdapter
from gatherscatter._libraries.of_dlpack import import_on_stream
from gatherscatter._libraries.recognise import no_array

__all__ = ["adopt", "borrowable", "is_array", "is_tracer", "refuse_symbols", "refuse_tracer"]


def is_tracer(obj: Any) -> bool:
    """Whether an object is a JAX tracer, which has no values. JAX is not imported for this check."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(obj, jax.core.Tracer)


def refuse_tracer(op: str, role: str, obj: Any) -> None:
    """Raise an error for a tracer where values would have to be read."""
    if is_tracer(obj):
        raise TypeError(
            f"{op}: {role} is a JAX tracer (inside jit, grad or vmap), whose values this call would have to read; make "
            "the call outside, or use an operator whose result has a shape that does not depend on values"
        )


def refuse_symbols(op: str, role: str, obj: Any, step: str) -> None:
    """Raise an error for a tracer whose shape has symbols of `jax.export`, where numbers are needed."""
    if is_tracer(obj) and not all(isinstance(extent, int) for extent in obj.shape):
        shape = ", ".join(map(str, obj.shape))
        raise TypeError(f"{op}: {role} has the symbolic shape ({shape}), expected numbers; {step}")


def is_array(obj: Any) -> bool:
    """Whether an object is an array of JAX or a tracer of one."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(obj, jax.Array)


def adopt(op: str, role: str, obj: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The memory of an array in host memory as a NumPy array, and the function that converts results."""
    jax = sys.modules["jax"]
    refuse_tracer(op, role, obj)
    if not isinstance(obj, jax.Array):
        raise no_array(op, role, obj)
    if role == "out":
        raise TypeError(
            f"{op}: cannot write to a JAX array, which is immutable; gatherscatter.scatter without out= "
            "returns a new array"
        )
    devices = obj.devices()
    if len(devices) != 1 or any(device.platform != "cpu" for device in devices):
        raise TypeError(
            f"{op}: {role} is a JAX array on {obj.sharding}; only one CPU or GPU is supported outside of jax.jit"
        )
    if jax.dtypes.issubdtype(obj.dtype, jax.dtypes.extended):
        raise no_array(op, role, obj, "jax.random.key_data(x) gives an array of numbers")
    return np.asarray(obj), _back_like(jax, obj)


def borrowable(op: str, role: str, obj: Any) -> DeviceAdapter | None:
    """Describe how the memory of an array on a GPU is borrowed; None for every other object of JAX."""
    jax = sys.modules["jax"]
    if isinstance(obj, jax.core.Tracer) or not isinstance(obj, jax.Array):
        return None
    devices = obj.devices()
    if any(device.platform not in ("gpu", "cuda") for device in devices):
        return None
    if len(devices) != 1:
        raise TypeError(f"{op}: {role} is a JAX array on {obj.sharding}; only arrays on one device are supported")
    if role == "out":
        raise TypeError(
            f"{op}: cannot write to a JAX array, which is immutable; gatherscatter.scatter without out= "
            "returns a new array"
        )
    back = _back_like(jax, obj)

    def wrap(result: Any) -> Any:
        return back(jax.dlpack.from_dlpack(result))

    device = int(obj.__dlpack_device__()[1])
    return DeviceAdapter(device, None, lambda stream: import_on_stream(obj, stream), None, wrap)


def _back_like(jax: Any, obj: Any) -> Callable[[Any], Any]:
    """The function that converts a result to a JAX array with the sharding, weak type and commitment of `obj`."""
    sharding = obj.sharding
    is_weak, is_committed = bool(getattr(obj, "weak_type", False)), bool(getattr(obj, "committed", True))

    def back(result: Any) -> Any:
        placed = jax.device_put(result, sharding)
        return placed if is_committed and not is_weak else _with_flags(placed, is_weak, is_committed)

    return back


def _with_flags(placed: Any, is_weak: bool, is_committed: bool) -> Any:
    """A JAX array on the memory of `placed` with these flags. JAX has no public call that sets them on any device."""
    try:
        return type(placed)(placed.aval.update(weak_type=is_weak), placed.sharding, [placed], is_committed)
    except (AttributeError, TypeError):  # other versions of JAX have other constructors; the values are right anyway
        return placed
