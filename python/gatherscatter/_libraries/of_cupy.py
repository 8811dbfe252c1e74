"""of_cupy.py: arrays of CuPy as arguments, and results that CuPy allocates."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.device_adapter import DeviceAdapter
from gatherscatter._libraries.of_cuda_interface import read_interface, view_of

__all__ = ["borrowable"]


def borrowable(obj: Any) -> DeviceAdapter | None:
    """Describe how the memory of an array of CuPy is borrowed; None for every other object."""
    cupy = sys.modules["cupy"]
    if not isinstance(obj, cupy.ndarray):
        return None
    device = int(obj.device.id)

    def borrow(_: int) -> _core.DLPackArray:
        return view_of(obj, read_interface(obj.__cuda_array_interface__, obj), device)

    def make(shape: tuple[int, ...], dtype: Any) -> tuple[Any, int]:
        with cupy.cuda.Device(device):
            fresh = cupy.empty(shape, np.dtype(dtype))
        return fresh, int(fresh.__cuda_array_interface__["data"][0])

    with cupy.cuda.Device(device):
        stream = int(cupy.cuda.get_current_stream().ptr)
    return DeviceAdapter(device, stream or 1, borrow, make, lambda result: result)
