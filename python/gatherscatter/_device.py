"""_device.py: arrays on GPUs: who runs kernels there, how each library lends its memory, and how it gets a result."""

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
from gatherscatter._jax_arrays import back_like
from gatherscatter.errors import shown, type_name

_HOST, CUDA = 1, 2  # device types of DLPack
_Capsule = type(np.ndarray.__dlpack__(np.zeros(1)))
_MODULES = {"cuda": "_cuda", "reference": "_reference"}


@dataclass(frozen=True, slots=True, eq=False)
class Lent:
    """An array on a GPU, which lends its memory once the stream of the call is known.

    Attributes
    ----------
    device : int
    stream : int or None
        On which its library uses it now. None: the library lets the stream that it is lent to wait.
    borrow : callable
        Takes the stream of the call, gives a `_core.DLPackArray`.
    make : callable or None
        Takes a shape and a dtype (or its name), gives a fresh array of the library and its address. None: a result is
        memory of ours.
    wrap : callable
        Turns such memory into an array of the library.
    """

    device: int
    stream: int | None
    borrow: Callable[[int], _core.DLPackArray]
    make: Callable[[tuple[int, ...], Any], tuple[Any, int]] | None
    wrap: Callable[[Any], Any]


class Values:
    """Numbers that a caller wrote down, as an array in host memory: they are copied to where the call runs."""

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
    """Load the module that runs kernels on GPUs, and say why there is none where that is so."""
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


def lend(op: str, role: str, obj: Any) -> Lent | None:
    """How an array on a GPU lends its memory; None for everything else."""
    library = type(obj).__module__.partition(".")[0]
    if library == "cupy":
        cupy = sys.modules["cupy"]
        if isinstance(obj, cupy.ndarray):
            return _lend_cupy(cupy, obj)
    if library in ("jax", "jaxlib"):
        return _lend_jax(sys.modules["jax"], op, role, obj)
    cls = type(obj)
    if hasattr(cls, "__dlpack__"):
        if not hasattr(cls, "__dlpack_device__"):
            return None
        kind, number = _device_of(op, role, obj)
        if kind != CUDA:
            return None
        return Lent(number, None, lambda stream: _import(obj, stream), None, back_to(obj))
    return _lend_interface(op, role, obj) if has_interface(obj) else None


def has_interface(obj: Any) -> bool:
    """Whether it describes memory of a GPU in the way that numba and others do."""
    return isinstance(getattr(obj, "__cuda_array_interface__", None), dict)


def is_on_device(obj: Any) -> bool:
    """Whether an array lies on a GPU, so that its values cannot be looked at from here."""
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
    except Exception:  # a tracer, or an array that is spread over several devices: refused elsewhere, in better words
        return False


def truth_of(op: str, role: str, array: Any) -> Any:
    """An array on a GPU as one of bool: what is not 0 is true. By its own library, on the device."""
    dtype = str(getattr(array, "dtype", "bool"))
    if dtype.rpartition(".")[2] in ("bool", "bool_"):
        return array
    truth = array != 0
    if not is_on_device(truth):
        raise TypeError(f"{op}: {role} has dtype {dtype}, expected bool")
    return truth


def reshaped(op: str, role: str, array: Any, shape: tuple[int, ...]) -> Any:
    """An array on a GPU in another shape of the same size, by its own library."""
    if tuple(array.shape) == shape:
        return array
    if not hasattr(array, "reshape"):
        raise ValueError(f"{op}: {role} has shape {tuple(array.shape)}, expected {shape}")
    return array.reshape(shape)


def stand_in(array: Any) -> np.ndarray[Any, Any]:
    """A NumPy array without memory of the shape and dtype of one that says neither."""
    lent = lend("", "input", array)
    if lent is None:
        raise TypeError(f"{type(array).__name__} is not on a GPU")
    borrowed = lent.borrow(1)
    return np.broadcast_to(np.zeros((), borrowed.dtype), borrowed.shape)


def _lend_cupy(cupy: Any, obj: Any) -> Lent:
    device = int(obj.device.id)

    def borrow(_: int) -> _core.DLPackArray:
        return _from_described(obj, _described(obj.__cuda_array_interface__, obj), device)

    def make(shape: tuple[int, ...], dtype: Any) -> tuple[Any, int]:
        with cupy.cuda.Device(device):
            fresh = cupy.empty(shape, np.dtype(dtype))
        return fresh, int(fresh.__cuda_array_interface__["data"][0])

    with cupy.cuda.Device(device):
        stream = int(cupy.cuda.get_current_stream().ptr)
    return Lent(device, stream or 1, borrow, make, lambda result: result)


def _lend_jax(jax: Any, op: str, role: str, obj: Any) -> Lent | None:
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

    return Lent(int(obj.__dlpack_device__()[1]), None, lambda stream: _import(obj, stream), None, wrap)


@dataclass(frozen=True, slots=True)
class _Described:
    """What a ``__cuda_array_interface__`` says, checked."""

    address: int
    read_only: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    stream: int | None


def _lend_interface(op: str, role: str, obj: Any) -> Lent | None:
    facts: dict[str, Any] = obj.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise TypeError(f"{op}: {role} carries a mask in its __cuda_array_interface__, which is not supported")
    try:
        described = _described(facts, obj)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        problem = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise BufferError(f"{op}: {role} has a malformed __cuda_array_interface__: {problem}") from None
    kind, device = _core.place_of(described.address)
    is_empty = 0 in described.shape
    if kind == "host" and described.address and is_empty:  # it may begin where its allocation ends
        kind, device = _core.place_of(described.address - 1)
    if kind == "host" and described.address and not is_empty:
        raise BufferError(f"{op}: {role} describes memory in its __cuda_array_interface__ that no GPU knows of")
    if kind == "pinned_host" and role == "out":
        raise ValueError(f"{op}: out lies in pinned host memory, expected memory of a GPU")
    if described.stream == 0:
        raise BufferError(f"{op}: {role} names stream 0, which is ambiguous: 1 is the default stream")

    def borrow(_: int) -> _core.DLPackArray:
        try:
            return _from_described(obj, described, int(device))
        except (BufferError, ValueError) as error:  # it contradicts itself
            raise type(error)(f"{op}: {role}: {error}") from None

    numba = sys.modules.get("numba.cuda")
    is_numbas = type(obj).__module__.startswith("numba") and numba is not None
    wrap = numba.as_cuda_array if is_numbas and numba is not None else (lambda result: result)
    # Without a stream the producer says that there is nothing to wait for; then the default one stands for it.
    return Lent(int(device), 1 if described.stream is None else described.stream, borrow, None, wrap)


def _described(facts: dict[str, Any], obj: Any) -> _Described:
    data = facts["data"]
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise ValueError(f"data is {shown(data)}, expected an address and whether it is read-only")
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
        raise TypeError(f"{name} says {shown(number)}, expected an integer") from None


def _extents(name: str, numbers: Any) -> tuple[int, ...]:
    if not isinstance(numbers, tuple | list):
        raise TypeError(f"{name} is {shown(numbers)}, expected a tuple of integers")
    extents = tuple(_integer(name, number) for number in numbers)
    if any(abs(number) >= 2**63 for number in extents):
        raise ValueError(f"{name} is {shown(numbers)}, expected integers of 64 bits")
    return extents


def _dtype_of(facts: dict[str, Any], obj: Any) -> np.dtype[Any]:
    """Fields come from `descr`; of dtypes that a type string has no letter for (bfloat16), only the array knows."""
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
    """What a producer of DLPack gives, asked for in the newest form first."""
    try:
        capsule = obj.__dlpack__(**stream, max_version=(1, 1))
    except TypeError:  # a producer older than DLPack 1.0
        capsule = obj.__dlpack__(**stream)
    if type(capsule) is not _Capsule:
        raise BufferError(f"{type_name(obj)}.__dlpack__ returned {type_name(capsule)}, expected a DLPack capsule")
    return capsule


def _device_of(op: str, role: str, obj: Any) -> tuple[int, int]:
    """Kind and number of the device that a producer of DLPack names."""
    device = obj.__dlpack_device__()
    try:
        kind, number = (index(part) for part in device)
    except (TypeError, ValueError):
        kind = number = -1
    if not (0 <= kind < 2**31 and 0 <= number < 2**31):
        said = f"({', '.join(map(shown, device))})" if isinstance(device, tuple) else shown(device)
        raise BufferError(
            f"{op}: {role} is of type {type_name(obj)}, whose __dlpack_device__ returned {said[:80]}, expected "
            "two integers: device type and number"
        )
    return kind, number


def back_to(obj: Any) -> Callable[[Any], Any]:
    """How a library takes a result over: `from_dlpack` of its namespace, or of the module it comes from, or NumPy's."""
    if hasattr(obj, "__array_namespace__"):
        namespace = obj.__array_namespace__()
    else:
        namespace = sys.modules.get(type(obj).__module__.partition(".")[0])
    from_dlpack = getattr(namespace, "from_dlpack", None)
    return from_dlpack if callable(from_dlpack) else _to_numpy


def _to_numpy(result: Any) -> Any:
    """A result on a GPU stays ours, since NumPy cannot have it."""
    return as_numpy("the result", result) if result.__dlpack_device__()[0] == _HOST else result


def as_numpy(what: str, array: _core.DLPackArray) -> Any:
    """Memory of ours, or lent to us, as a NumPy array."""
    try:
        return np.from_dlpack(cast(Any, array))
    except RuntimeError:
        raise TypeError(f"{what} has dtype {array.dtype}, which NumPy has not") from None
