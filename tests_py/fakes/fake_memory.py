"""fake_memory.py: memory of the emulated GPU, for the arrays and tables of tests that are exported as memory of a GPU.

Its pages have two addresses. A test reads and writes at the host address. The device address, which gatherscatter
gets, is accessible only while a kernel runs: an access by host code ends the process. Another module in the place of
`_reference` may not have such memory; the arrays then stay in host memory.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def placed(array: np.ndarray) -> np.ndarray:
    """The array in memory of the GPU, at its host address, with equal values, strides, flags and alignment.

    An array that is in such memory already is not copied, so arrays that must overlap are views of one placed array.
    """
    from gatherscatter import _reference

    allocate = getattr(_reference, "device_memory", None)
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    if allocate is None or _reference.device_address(low) != low:
        return array
    ahead = low % 64
    room = allocate(ahead + high - low)
    if high > low:
        ctypes.memmove(room.ctypes.data + ahead, low, high - low)
    start = ahead + array.ctypes.data - low
    there = (
        np.ndarray(array.shape, array.dtype, room, start, array.strides) if array.size else _empty(array, room, ahead)
    )
    there.flags.writeable = array.flags.writeable
    return there


def _empty(array: np.ndarray, room: np.ndarray, ahead: int) -> np.ndarray:
    return room[ahead:ahead].view(array.dtype if array.itemsize else "u1").reshape(array.shape)


def device_address(array: np.ndarray) -> int:
    """The address of a placed array's first element for kernels."""
    return moved("device_address", array.ctypes.data)


def host_address(address: int) -> int:
    """The host address of memory that kernels access at `address`."""
    return moved("host_address", address)


def moved(way: str, address: int) -> int:
    from gatherscatter import _reference

    move = getattr(_reference, way, None)
    return address if move is None else move(address)


class Copies:
    """Copies of memory that does not change, kept until the tests end, because a table may outlive its source."""

    def __init__(self) -> None:
        self._by_address: dict[int, tuple[Any, np.ndarray]] = {}

    def add(self, owner: Any, address: int, size: int) -> None:
        """Copy memory once. `owner` is kept too, so that its address is not reused."""
        if address not in self._by_address:
            there = (ctypes.c_uint8 * size).from_address(address) if size else bytearray(1)
            self._by_address[address] = (owner, placed(np.frombuffer(there, np.uint8)))

    def address_of(self, address: int) -> int:
        """The device address of copied memory; an exporter's own memory (buffer sizes of views) stays on the host."""
        found = self._by_address.get(address)
        return address if found is None else device_address(found[1])
