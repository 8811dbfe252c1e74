"""devices.py: arrays on GPUs: loading the module that runs kernels, borrowing memory, and converting results."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any, cast

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.of_jax import back_like
from gatherscatter.errors import shown, type_name

_HOST, CUDA = 1, 2  # device types of DLPack
_Capsule = type(np.ndarray.__dlpack__(np.zeros(1)))
_MODULES = {"cuda": "_cuda", "reference": "_reference"}


@dataclass(frozen=True, slots=True, eq=False)
class DeviceAdapter:
    """An array on a GPU, whose memory is borrowed after the stream of the call has been chosen.

    Attributes
    ----------
    device : int
        Number of the GPU.
    stream : int or None
        Stream in which the library of the array uses the memory now. None: the library makes the stream that `borrow`
        receives wait for its own work.
    borrow : callable
        Takes the stream of the call, returns a `_core.DLPackArray` on the memory of the array.
    make : callable or None
        Takes a shape and a dtype (or its name), returns a new array of the library and its address. None: results are
        allocated by the extension module.
    wrap : callable
        Converts a result into an array of the library.
    """

    device: int
    stream: int | None
    borrow: Callable[[int], _core.DLPackArray]
    make: Callable[[tuple[int, ...], Any], tuple[Any, int]] | None
    wrap: Callable[[Any], Any]


class Values:
    """An array in host memory made of Python numbers. A call on a GPU copies it to the GPU instead of refusing it."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __getitem__(self, key: Any) -> Values:
        return Values(self.array[key])


def load() -> str:
    """Load the module that runs kernels on GPUs; return the reason why it cannot be used, or an empty string."""
    name = os.environ.get("GS_DEVICES", "cuda")
    if name not in _MODULES:
        return f"GS_DEVICES={name}: expected cuda or reference"
    try:
        module = importlib.import_module(f"gatherscatter.{_MODULES[name]}")
    except ImportError as error:
        built = importlib.util.find_spec(f"gatherscatter.{_MODULES[name]}") is not None
        return str(error) if built else f"this installation was built without the module {_MODULES[name]}"
    facts = getattr(module, "facts", None)
    problem = facts().get("reason") if callable(facts) else None
    if problem:
        return str(problem)
    _core.offer_devices(module.devices)
    return ""


def borrowable(op: str, role: str, obj: Any) -> DeviceAdapter | None:
    """Describe how the memory of an array on a GPU is borrowed; None for every other object."""
    library = type(obj).__module__.partition(".")[0]
    if library == "cupy":
        cupy = sys.modules["cupy"]
        if isinstance(obj, cupy.ndarray):
            return _borrowable_cupy(cupy, obj)
    if library in ("jax", "jaxlib"):
        return _borrowable_jax(sys.modules["jax"], op, role, obj)
    cls = type(obj)
    if hasattr(cls, "__dlpack__"):
        if not hasattr(cls, "__dlpack_device__"):
            return None
        kind, number = _device_of(op, role, obj)
        if kind != CUDA:
            return None
        return DeviceAdapter(number, None, lambda stream: _import(obj, stream), None, back_to(obj))
    return _borrowable_interface(op, role, obj) if has_interface(obj) else None


def has_interface(obj: Any) -> bool:
    """Whether an object describes memory of a GPU by ``__cuda_array_interface__``, as numba and others do."""
    return isinstance(getattr(obj, "__cuda_array_interface__", None), dict)


def is_on_device(obj: Any) -> bool:
    """Whether an array lies on a GPU, where host code cannot read its values."""
    if isinstance(obj, np.ndarray | np.generic | bool | int | float | complex | str | bytes | list | tuple):
        return False
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        return bool(obj.device.type == "cuda")
    device = getattr(obj, "__dlpack_device__", None)
    if device is None:
        return has_interface(obj)
    try:
        return bool(device()[0] == CUDA)
    except Exception:  # a tracer or an array sharded over several devices, which `adopt` refuses with a clear message
        return False


def truth_of(op: str, role: str, array: Any) -> Any:
    """Convert an array on a GPU to bool with its own library, on the device: every value except 0 is true."""
    dtype = str(getattr(array, "dtype", "bool"))
    if dtype.rpartition(".")[2] in ("bool", "bool_"):
        return array
    truth = array != 0
    if not is_on_device(truth):
        raise TypeError(f"{op}: {role} has dtype {dtype}, expected bool")
    return truth


def reshaped(op: str, role: str, array: Any, shape: tuple[int, ...]) -> Any:
    """Reshape an array on a GPU with its own library; the number of elements stays."""
    if tuple(array.shape) == shape:
        return array
    if not hasattr(array, "reshape"):
        raise ValueError(f"{op}: {role} has shape {tuple(array.shape)}, expected {shape}")
    return array.reshape(shape)


def stand_in(array: Any) -> np.ndarray[Any, Any]:
    """A NumPy array with the shape and dtype of an array on a GPU that has no such attributes.

    All elements of the NumPy array share one item, so that it needs no memory.
    """
    operand = borrowable("", "input", array)
    if operand is None:
        raise TypeError(f"{type(array).__name__} is not on a GPU")
    borrowed = operand.borrow(1)
    return np.broadcast_to(np.zeros((), borrowed.dtype), borrowed.shape)


def _borrowable_cupy(cupy: Any, obj: Any) -> DeviceAdapter:
    device = int(obj.device.id)

    def borrow(_: int) -> _core.DLPackArray:
        return _from_described(obj, _described(obj.__cuda_array_interface__, obj), device)

    def make(shape: tuple[int, ...], dtype: Any) -> tuple[Any, int]:
        with cupy.cuda.Device(device):
            fresh = cupy.empty(shape, np.dtype(dtype))
        return fresh, int(fresh.__cuda_array_interface__["data"][0])

    with cupy.cuda.Device(device):
        stream = int(cupy.cuda.get_current_stream().ptr)
    return DeviceAdapter(device, stream or 1, borrow, make, lambda result: result)


def _borrowable_jax(jax: Any, op: str, role: str, obj: Any) -> DeviceAdapter | None:
    if isinstance(obj, jax.core.Tracer) or not isinstance(obj, jax.Array):
        return None
    devices = obj.devices()
    if any(device.platform not in ("gpu", "cuda") for device in devices):
        return None
    if len(devices) != 1:
        raise TypeError(f"{op}: {role} is a JAX array on {obj.sharding}; only arrays on one device are supported")
    if role == "out":
        raise TypeError(f"{op}: cannot write to a JAX array, which is immutable")
    back = back_like(jax, obj)

    def wrap(result: Any) -> Any:
        return back(jax.dlpack.from_dlpack(result))

    return DeviceAdapter(int(obj.__dlpack_device__()[1]), None, lambda stream: _import(obj, stream), None, wrap)


@dataclass(frozen=True, slots=True)
class _Described:
    """The checked contents of a ``__cuda_array_interface__``."""

    address: int
    read_only: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    stream: int | None


def _borrowable_interface(op: str, role: str, obj: Any) -> DeviceAdapter | None:
    facts: dict[str, Any] = obj.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise TypeError(f"{op}: {role} has a mask in its __cuda_array_interface__, which is not supported")
    try:
        described = _described(facts, obj)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        problem = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise BufferError(f"{op}: {role} has a malformed __cuda_array_interface__: {problem}") from None
    kind, device = _core.place_of(described.address)
    is_empty = 0 in described.shape
    if kind == "host" and described.address and is_empty:
        # An empty array may begin at the end of its allocation, so the byte before it is queried.
        kind, device = _core.place_of(described.address - 1)
    if kind == "host" and described.address and not is_empty:
        raise BufferError(f"{op}: the address in the __cuda_array_interface__ of {role} is not in memory of a GPU")
    if kind == "pinned_host" and role == "out":
        raise ValueError(f"{op}: out lies in pinned host memory, expected memory of a GPU")
    if described.stream == 0:
        raise BufferError(
            f"{op}: the __cuda_array_interface__ of {role} has stream 0, which is ambiguous: 1 is the default stream"
        )

    def borrow(_: int) -> _core.DLPackArray:
        try:
            return _from_described(obj, described, int(device))
        except (BufferError, ValueError) as error:  # address, shape and strides are inconsistent
            raise type(error)(f"{op}: {role}: {error}") from None

    numba = sys.modules.get("numba.cuda")
    is_numba = type(obj).__module__.startswith("numba") and numba is not None
    wrap = numba.as_cuda_array if is_numba and numba is not None else (lambda result: result)
    # The interface has no stream where the producer needs no synchronisation. The default stream is used then.
    return DeviceAdapter(int(device), 1 if described.stream is None else described.stream, borrow, None, wrap)


def _described(facts: dict[str, Any], obj: Any) -> _Described:
    data = facts["data"]
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise ValueError(f"data is {shown(data)}, expected a pair of an address and a read-only flag")
    address = 0 if data[0] is None else _integer("data", data[0])
    if not 0 <= address < 2**64:
        raise ValueError(f"data begins at {address}, expected an address of 64 bits")
    shape = _extents("shape", facts["shape"])
    strides = None if facts.get("strides") is None else _extents("strides", facts["strides"])
    if strides is not None and len(strides) != len(shape):
        raise ValueError(f"strides have {len(strides)} axes, shape has {len(shape)}")
    stream = facts.get("stream")
    return _Described(
        address,
        bool(data[1]),
        shape,
        strides,
        _dtype_of(facts, obj),
        None if stream is None else _integer("stream", stream),
    )


def _integer(name: str, number: Any) -> int:
    try:
        return index(number)
    except TypeError:
        raise TypeError(f"{name} has {shown(number)} where an integer is expected") from None


def _extents(name: str, numbers: Any) -> tuple[int, ...]:
    if not isinstance(numbers, tuple | list):
        raise TypeError(f"{name} is {shown(numbers)}, expected a tuple of integers")
    extents = tuple(_integer(name, number) for number in numbers)
    if any(abs(number) >= 2**63 for number in extents):
        raise ValueError(f"{name} is {shown(numbers)}, expected integers of 64 bits")
    return extents


def _dtype_of(facts: dict[str, Any], obj: Any) -> np.dtype[Any]:
    """The dtype that a ``__cuda_array_interface__`` describes.

    The fields of a structured dtype come from `descr`. A type string has no letter for dtypes such as bfloat16; their
    dtype comes from the `dtype` attribute of the array.
    """
    typestr = facts["typestr"]
    match = re.fullmatch(r"[<>|=]?[a-zA-Z]([0-9]*)(\[[a-z0-9]+\])?", typestr) if isinstance(typestr, str) else None
    own = getattr(obj, "dtype", None)
    try:
        if match is None:
            raise TypeError
        plain: np.dtype[Any] = np.dtype(typestr)
    except TypeError:
        if match is not None and isinstance(own, np.dtype) and str(own.itemsize) == match[1]:
            return own
        raise TypeError(f"typestr is {typestr!r}, which is no dtype of NumPy") from None
    if plain.kind != "V":
        return plain
    if len(facts.get("descr", ())) > 1:
        fields: np.dtype[Any] = np.dtype(facts["descr"])
        return fields
    return own if isinstance(own, np.dtype) and own.itemsize == plain.itemsize else plain


def _from_described(obj: Any, described: _Described, device: int) -> _core.DLPackArray:
    return _core.DLPackArray.from_interface(
        obj,
        described.address,
        described.shape,
        described.strides,
        described.dtype,
        not described.read_only,
        device,
    )


def _import(obj: Any, stream: int) -> _core.DLPackArray:
    if isinstance(obj, _core.DLPackArray):
        return obj
    return _core.DLPackArray.from_capsule(capsule_of(obj, stream=stream), on_device=True)


def capsule_of(obj: Any, **stream: int) -> Any:
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
    except RuntimeError:
        raise TypeError(f"{what} has dtype {array.dtype}, which NumPy does not have") from None
