"""of_dlpack.py: arrays of any library that has DLPack, and the numbers of dtypes of the array-API standard."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import index
from typing import Any, cast

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.device_adapter import DeviceAdapter
from gatherscatter._libraries.numbers import Numbers, float_limits
from gatherscatter.errors import shown, type_name

__all__ = ["CUDA", "as_numpy", "back_to", "borrowable", "import_dlpack", "import_on_stream", "numbers"]

_HOST, CUDA = 1, 2  # device types of DLPack
_Capsule = type(np.ndarray.__dlpack__(np.zeros(1)))


def import_dlpack(obj: Any) -> _core.DLPackArray:
    """Import an array of any library through the DLPack protocol."""
    return _core.DLPackArray.from_capsule(_capsule_of(obj))


def borrowable(op: str, role: str, obj: Any) -> DeviceAdapter | None:
    """Describe how the memory of a DLPack producer on a GPU is borrowed; None for one in host memory."""
    if not hasattr(type(obj), "__dlpack_device__"):
        return None
    kind, number = _device_of(op, role, obj)
    if kind != CUDA:
        return None
    return DeviceAdapter(number, None, lambda stream: import_on_stream(obj, stream), None, back_to(obj))


def import_on_stream(obj: Any, stream: int) -> _core.DLPackArray:
    """Import an array on a GPU, after whose pending work the stream of the call waits."""
    if isinstance(obj, _core.DLPackArray):
        return obj
    return _core.DLPackArray.from_capsule(_capsule_of(obj, stream=stream), on_device=True)


def _capsule_of(obj: Any, **stream: int) -> Any:
    """The DLPack capsule of a producer, of version 1.1 where the producer supports versions."""
    try:
        capsule = obj.__dlpack__(**stream, max_version=(1, 1))
    except TypeError:  # a producer older than DLPack 1.0 does not accept max_version
        capsule = obj.__dlpack__(**stream)
    if type(capsule) is not _Capsule:
        raise BufferError(f"{type_name(obj)}.__dlpack__ returned {type_name(capsule)}, expected a DLPack capsule")
    return capsule


def _device_of(op: str, role: str, obj: Any) -> tuple[int, int]:
    """Type and number of the device that a DLPack producer reports."""
    device = obj.__dlpack_device__()
    try:
        kind, number = (index(part) for part in device)
    except (TypeError, ValueError):
        kind = number = -1
    if not (0 <= kind < 2**31 and 0 <= number < 2**31):
        returned = f"({', '.join(map(shown, device))})" if isinstance(device, tuple) else shown(device)
        raise BufferError(
            f"{op}: {role} is of type {type_name(obj)}, whose __dlpack_device__ returned {returned[:80]}, expected "
            "two integers: device type and number"
        )
    return kind, number


def back_to(obj: Any) -> Callable[[Any], Any]:
    """The function that converts a result into an array of the library of `obj`.

    It is `from_dlpack` of the library's array namespace, else of the package that defines the type of `obj`, else a
    conversion to NumPy.
    """
    if hasattr(obj, "__array_namespace__"):
        namespace = obj.__array_namespace__()
    else:
        namespace = sys.modules.get(type(obj).__module__.partition(".")[0])
    from_dlpack = getattr(namespace, "from_dlpack", None)
    return from_dlpack if callable(from_dlpack) else _to_numpy


def _to_numpy(result: Any) -> Any:
    """Convert a result in host memory to NumPy. A result on a GPU stays a `DLPackArray`: NumPy cannot import it."""
    return as_numpy("the result", result) if result.__dlpack_device__()[0] == _HOST else result


def as_numpy(what: str, array: _core.DLPackArray) -> Any:
    """A NumPy array on the memory of a `DLPackArray`."""
    try:
        return np.from_dlpack(cast(Any, array))
    except (RuntimeError, BufferError):  # the latter since NumPy 2.5
        if _is_built_in(array.dtype):
            raise
        raise TypeError(f"{what} has dtype {array.dtype}, which NumPy does not have") from None


def _is_built_in(dtype: Any) -> bool:
    """Whether `numpy.from_dlpack` imports a dtype. It does not import those that ml_dtypes adds, nor long doubles."""
    if not isinstance(dtype, np.dtype) or dtype.isbuiltin != 1:
        return False
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def numbers(like: Any) -> Numbers:
    """The numbers of a dtype of any other library that follows the array-API standard."""
    try:
        xp = like.__array_namespace__()
        dtype = like.dtype
        categories = {"bool": bool, "integral": int, "real floating": float, "complex floating": complex}
        category = next(kind for name, kind in categories.items() if xp.isdtype(dtype, name))
    except (AttributeError, StopIteration, TypeError):
        raise TypeError(f"cannot make a value of dtype {like.dtype} for {type(like).__name__}") from None

    def make(value: Any) -> Any:
        return xp.full((), value, dtype=dtype, device=like.device)

    if category is int:
        info = xp.iinfo(dtype)
        return Numbers(int, int(info.min), int(info.max), make)
    if category is float:
        return Numbers(float, *float_limits(xp.finfo(dtype)), make)
    return Numbers(category, None, None, make)
