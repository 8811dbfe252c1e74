"""fake_torch.py: a module in the place of torch, whose tensors are on the emulated GPU.

gatherscatter reads torch through a table of C functions (DLPack's exchange API), so this module emulates that table,
torch's allocator for its current stream, and the few Python attributes that are read. It is for a process that has not
imported torch.
"""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any

import numpy as np

from fake_memory import device_address, placed
from hostile_dlpack import CODES, Deleter, DLTensor, Versioned

CPU, CUDA = 1, 2
_LETTERS = {code: letter for letter, code in CODES.items()}
_alive: dict[int, Any] = {}
log: dict[str, Any] = {"stream": {0: 0x5000, 1: 0x5001}, "allocated": [], "written": [], "full": False}


class Tensor:
    requires_grad = property(lambda self: self._requires_grad)
    layout = "strided"
    is_quantized = False

    def __init__(self, host: np.ndarray, device: int = 0, requires_grad: bool = False) -> None:
        self.host = placed(host) if device >= 0 else host
        self.number, self._requires_grad = device, requires_grad
        self._shape = (ctypes.c_int64 * host.ndim)(*host.shape)
        self._strides = (ctypes.c_int64 * host.ndim)(*(n // host.itemsize for n in host.strides))

    @property
    def device(self) -> Any:
        return types.SimpleNamespace(type="cuda" if self.number >= 0 else "cpu", index=self.number)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.host.shape

    @property
    def ndim(self) -> int:
        return self.host.ndim

    @property
    def dtype(self) -> Any:
        return self.host.dtype.name

    def dim(self) -> int:
        return self.host.ndim

    def is_pinned(self) -> bool:
        return self.number < 0

    def is_neg(self) -> bool:
        return False

    def is_conj(self) -> bool:
        return False

    def is_inference(self) -> bool:
        return False

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("tensors are read through the table")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("memory of a GPU was looked at from the host")


class Parameter(Tensor):
    pass


PINNED = -1  # takes the place of a device number


def _describe(tensor: Any, host: np.ndarray, device: int, shape: Any, strides: Any) -> None:
    tensor.data, tensor.byte_offset, tensor.ndim = device_address(host) if host.size else None, 0, host.ndim
    # For pinned memory torch's table reports the host as the device.
    tensor.device_type, tensor.device_id = (CUDA, device) if device != PINNED else (CPU, 0)
    tensor.code, tensor.bits, tensor.lanes = CODES[host.dtype.kind], 8 * host.itemsize, 1
    tensor.shape, tensor.strides = shape, strides


_Report = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
_Tensor = ctypes.POINTER(DLTensor)
_Out = ctypes.POINTER(ctypes.c_void_p)


@ctypes.PYFUNCTYPE(ctypes.c_int, _Tensor, _Out, ctypes.c_void_p, _Report)
def _allocate(prototype: Any, out: Any, context: Any, report: Any) -> int:
    like = prototype.contents
    if log["full"]:
        report(context, b"RuntimeError", b"CUDA out of memory. Tried to allocate 1 GiB")
        return -1
    shape = tuple(like.shape[i] for i in range(like.ndim))
    host = np.zeros(shape, f"{_LETTERS[like.code]}{like.bits // 8}")
    log["allocated"].append((shape, host.dtype.name, like.device_type, like.device_id))
    fresh = Tensor(host, like.device_id)
    deleter = Deleter(lambda address: _alive.pop(address, None) and None)
    managed = Versioned(major=1, minor=3, deleter=deleter)
    _describe(managed.tensor, fresh.host, like.device_id, fresh._shape, fresh._strides)
    address = ctypes.addressof(managed)
    _alive[address] = (managed, deleter, fresh)
    out[0] = address
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _Out)
def _from_object(_: Any, __: Any) -> int:
    raise AssertionError("not asked for")


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _Out)
def _to_object(address: Any, out: Any) -> int:
    tensor = _alive.pop(address)[2]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    out[0] = id(tensor)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _Tensor)
def _tensor_from_object(address: Any, out: Any) -> int:
    tensor = ctypes.cast(address, ctypes.py_object).value
    _describe(out.contents, tensor.host, tensor.number, tensor._shape, tensor._strides)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, _Out)
def _current_stream(kind: int, number: int, out: Any) -> int:
    assert kind == CUDA
    out[0] = log["stream"][number]
    return 0


_FUNCTIONS = (_allocate, _from_object, _to_object, _tensor_from_object, _current_stream)


class _Table(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * len(_FUNCTIONS)),
    )


_addresses = [ctypes.cast(function, ctypes.c_void_p) for function in _FUNCTIONS]
_table = _Table(1, 3, None, (ctypes.c_void_p * len(_FUNCTIONS))(*_addresses))


def install() -> Any:
    """Replace torch by this module."""
    assert "torch" not in sys.modules
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    Tensor.__dlpack_c_exchange_api__ = new(ctypes.addressof(_table), b"dlpack_exchange_api", None)  # type: ignore[attr-defined]
    module: Any = types.ModuleType("torch")
    module.Tensor, module.strided = Tensor, "strided"
    module.nn = types.SimpleNamespace(Parameter=Parameter)
    module.is_grad_enabled = lambda: True
    module.autograd = types.SimpleNamespace(
        graph=types.SimpleNamespace(increment_version=lambda tensor: log["written"].append(tensor))
    )
    sys.modules["torch"] = module
    return module
