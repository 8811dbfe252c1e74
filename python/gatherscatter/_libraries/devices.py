"""devices.py: arrays on GPUs: loading the module that runs kernels, and what is done with the array's own library."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries import of_cuda_interface, of_cupy, of_dlpack, of_jax
from gatherscatter._libraries.cuda_module import import_cuda
from gatherscatter._libraries.device_adapter import DeviceAdapter
from gatherscatter._libraries.of_torch import is_tensor
from gatherscatter._libraries.recognise import has_interface

__all__ = ["borrowable", "is_on_device", "load", "reshaped", "stand_in", "truth_of"]


def load() -> str:
    """Load the module that runs kernels on GPUs; return the reason why it cannot be used, or an empty string."""
    name = os.environ.get("GS_DEVICES", "cuda")
    if name not in ("cuda", "reference"):
        return f"GS_DEVICES={name}: expected cuda or reference"
    try:
        module = import_cuda() if name == "cuda" else importlib.import_module("gatherscatter._reference")
    except ImportError as error:
        return str(error)
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
        adapter = of_cupy.borrowable(obj)
        if adapter is not None:
            return adapter
    if library in ("jax", "jaxlib"):
        return of_jax.borrowable(op, role, obj)
    if hasattr(type(obj), "__dlpack__"):
        return of_dlpack.borrowable(op, role, obj)
    return of_cuda_interface.borrowable(op, role, obj) if has_interface(obj) else None


def is_on_device(obj: Any) -> bool:
    """Whether an array lies on a GPU, where host code cannot read its values."""
    if isinstance(obj, np.ndarray | np.generic | bool | int | float | complex | str | bytes | list | tuple):
        return False
    if is_tensor(obj):
        return bool(obj.device.type == "cuda")
    device = getattr(obj, "__dlpack_device__", None)
    if device is None:
        return has_interface(obj)
    try:
        return bool(device()[0] == of_dlpack.CUDA)
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
