"""fake_cuda.py: arrays in memory of the emulated GPU (fake_memory.py), for tests with GS_DEVICES=reference.

Each class has the interface of one real library and records the streams that it was given. None of them lets NumPy read
its values: an access from the host fails, as with real memory of a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import types
from contextlib import contextmanager
from typing import Any

import numpy as np

import hostile_dlpack as structs
from fake_memory import device_address, host_address, placed
from gatherscatter._libraries.cuda_module import imported_cuda

CUDA = 2
STREAMS = {"cupy": 0x1000, "interface": 0x2000}


class _Hidden:
    """An array in memory of the emulated GPU. `host` gives a test access to its values."""

    def __init__(self, host: np.ndarray, device: int = 0) -> None:
        self.host = placed(host)
        self.device_number = device
        self.streams: list[Any] = []

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("memory of a GPU was looked at from the host")

    __iter__ = __len__ = __bool__ = __float__ = __int__ = __index__ = __array__  # type: ignore[assignment]


class DLPackOnly(_Hidden):
    """Exports DLPack only: no shape, no dtype."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device_number

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        return _export(self.host, device_type=CUDA, device_id=self.device_number)


_exports: list[structs.Export] = []


def _export(host: np.ndarray, **fields: Any) -> Any:
    """A capsule whose struct is kept until its consumer calls the deleter."""
    _exports[:] = [export for export in _exports if not export.calls[0]]
    _exports.append(structs.Export(host, **fields))
    structs._alive.remove(_exports[-1])
    return _exports[-1].capsule


class Namespaced(DLPackOnly):
    """Exports DLPack and the array-API standard, as JAX and others do; results return through `from_dlpack`."""

    def __init__(self, host: np.ndarray, device: int = 0) -> None:
        super().__init__(host, device)
        self.shape, self.dtype, self.ndim = host.shape, host.dtype, host.ndim

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        return _namespace

    def reshape(self, shape: Any) -> Namespaced:
        return type(self)(self.host.reshape(shape), self.device_number)

    def astype(self, dtype: Any) -> Namespaced:
        return type(self)(self.host.astype(dtype), self.device_number)

    def __ne__(self, other: Any) -> Any:
        return type(self)(np.asarray(self.host != other), self.device_number)

    __hash__ = None  # type: ignore[assignment]


def host_of(array: Any) -> np.ndarray:
    """The values of an array of gatherscatter's, or of one of these classes."""
    if isinstance(array, _Hidden):
        return array.host
    facts = array.__cuda_array_interface__
    return from_address(facts["data"][0], facts["shape"], np.dtype(array.dtype), array)


def from_address(address: int, shape: tuple[int, ...], dtype: np.dtype, owner: Any) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if count == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * count).from_address(host_address(address))
    memory._owner = owner
    return np.frombuffer(memory, dtype).reshape(shape)


def _from_dlpack(array: Any) -> Namespaced:
    array.__dlpack__(stream=0x3000, max_version=(1, 1))  # the capsule is released at once; the array keeps the memory
    result = Namespaced(host_of(array), array.__dlpack_device__()[1])
    result.streams.append(0x3000)
    return result


_namespace = types.SimpleNamespace(from_dlpack=_from_dlpack)


class Interface(_Hidden):
    """Exports `__cuda_array_interface__` only, and names its stream there."""

    stream: int | None = STREAMS["interface"]

    def __init__(self, host: np.ndarray, device: int = 0) -> None:
        super().__init__(host, device)
        self.shape, self.dtype = host.shape, host.dtype

    def reshape(self, shape: Any) -> Interface:
        return Interface(self.host.reshape(shape), self.device_number)

    def __ne__(self, other: Any) -> Any:
        return Interface(np.asarray(self.host != other), self.device_number)

    __hash__ = None  # type: ignore[assignment]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        facts = dict(self.host.__array_interface__)
        facts["data"] = (device_address(self.host), facts["data"][1])
        contiguous = self.host.flags.c_contiguous
        facts["strides"] = None if contiguous else self.host.strides
        facts["version"] = 3
        facts["stream"] = self.stream
        return facts


class FakeCupyArray(Interface):
    """The part of cupy.ndarray that gatherscatter uses."""

    @property
    def device(self) -> Any:
        return types.SimpleNamespace(id=self.device_number)

    @property
    def ndim(self) -> int:
        return self.host.ndim

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device_number

    def __dlpack__(self, **keywords: Any) -> Any:
        raise AssertionError("cupy's arrays are read through their interface")

    def reshape(self, shape: Any) -> FakeCupyArray:
        return FakeCupyArray(self.host.reshape(shape), self.device_number)

    def astype(self, dtype: Any) -> FakeCupyArray:
        return FakeCupyArray(self.host.astype(dtype), self.device_number)

    def __ne__(self, other: Any) -> Any:
        return FakeCupyArray(np.asarray(self.host != other), self.device_number)

    __hash__ = None  # type: ignore[assignment]


FakeCupyArray.__module__ = "cupy"


class _Device:
    current = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> _Device:
        self.before, _Device.current = _Device.current, self.number
        return self

    def __exit__(self, *_: Any) -> None:
        _Device.current = self.before


def fake_cupy() -> Any:
    """A module with the part of cupy that is used: ndarray, empty, cuda.Device, cuda.get_current_stream."""
    module: Any = types.ModuleType("cupy")
    module.ndarray = FakeCupyArray
    module.made = []
    module.stream = STREAMS["cupy"]

    def empty(shape: Any, dtype: Any = float) -> FakeCupyArray:
        fresh = FakeCupyArray(np.full(shape, 0, dtype), _Device.current)
        if fresh.host.size and fresh.host.dtype.itemsize:  # noise, because new memory of a GPU is not zero
            fresh.host.reshape(-1).view("u1")[...] = 0xA5
        module.made.append(fresh)
        return fresh

    module.empty = empty
    module.cuda = types.SimpleNamespace(
        Device=_Device, get_current_stream=lambda: types.SimpleNamespace(ptr=module.stream)
    )
    return module


@contextmanager
def installed_cupy() -> Any:
    """Replace cupy by the fake module."""
    before = sys.modules.get("cupy")
    sys.modules["cupy"] = module = fake_cupy()
    try:
        yield module
    finally:
        del sys.modules["cupy"]
        if before is not None:
            sys.modules["cupy"] = before


LIBRARIES: dict[str, Any] = {
    "dlpack": DLPackOnly,
    "namespace": Namespaced,
    "interface": Interface,
    "cupy": FakeCupyArray,
}


@contextmanager
def played_gpu() -> Any:
    """Replace real GPUs by the emulated GPU. Yields the module that emulates it."""
    from gatherscatter import _core, _reference

    before, os.environ["GS_DEVICES"] = os.environ.get("GS_DEVICES"), "reference"
    _core.offer_devices(_reference.devices)
    _reference.take_record()
    try:
        with installed_cupy():
            yield _reference
    finally:
        gc.collect()
        _core.synchronize(-1)
        del os.environ["GS_DEVICES"]
        if before is not None:
            os.environ["GS_DEVICES"] = before
        cuda = imported_cuda()
        if cuda is not None:
            _core.offer_devices(cuda.devices)
