"""real_memory.py: memory of a real GPU in the place of the emulated one's (fake_memory.py), by CuPy and the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import fake_cudf
import fake_memory


class RealMemory:
    """Copies between the host and GPU 0. What was copied is kept: a table may outlive its source."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._there: dict[tuple[int, int], tuple[np.ndarray, Any]] = {}
        self._here: list[np.ndarray] = []

    def device_address(self, array: np.ndarray) -> int:
        """The address of a copy on the GPU; one copy is made of an array."""
        address = array.ctypes.data, array.nbytes
        if address not in self._there:
            copy = self._cupy.asarray(array if array.size else np.zeros(1, np.uint8))
            self._there[address] = (array, copy)
        return int(self._there[address][1].data.ptr)

    def host_address(self, address: int) -> int:
        """The address of a copy on the host, of everything from there to the end of the allocation."""
        base, size = ctypes.c_uint64(), ctypes.c_size_t()
        status = self._driver.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(address))
        assert status == 0, f"cuMemGetAddressRange answered {status} for {address:#x}"
        copy = np.empty(base.value + size.value - address, np.uint8)
        runtime = self._cupy.cuda.runtime
        runtime.memcpy(copy.ctypes.data, address, copy.nbytes, runtime.memcpyDeviceToHost)
        self._here.append(copy)
        return copy.ctypes.data


@contextmanager
def in_use(cupy: Any) -> Iterator[None]:
    """Have the tables of fake_cudf lie on the real GPU."""
    memory = RealMemory(cupy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake_memory, "placed", lambda array: array)
        patch.setattr(fake_memory, "device_address", memory.device_address)
        patch.setattr(fake_cudf, "host_address", memory.host_address)
        patch.setattr(fake_cudf, "_copies", fake_memory.Copies())
        yield
