"""fake_memory.py: memory of the GPU that the CPU emulates, for the arrays and tables that say that they lie there.

Its pages have two addresses. A test reads and writes at the host address. The device address, which gatherscatter is
told, is accessible only while a kernel runs: a library that follows it on the host dies. Where another module plays
`_reference` and has no such memory, what lies on the GPU stays in the host's.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def placed(array: np.ndarray) -> np.ndarray:
    """The array in memory of the GPU, at its host address: the same values, strides, flags and alignment.

    Views of such memory are left where they are, so arrays that are to overlap are views of one that was placed.
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
    """Where kernels find the first element of a placed array."""
    return moved("device_address", array.ctypes.data)


def host_address(address: int) -> int:
    """Where a test finds what kernels know by this address."""
    return moved("host_address", address)


def moved(way: str, address: int) -> int:
    from gatherscatter import _reference

    move = getattr(_reference, way, None)
    return address if move is None else move(address)


class Copies:
    """Copies of memory that does not change, kept as long as the tests run: a table may outlive its source."""

    def __init__(self) -> None:
        self._by_address: dict[int, tuple[Any, np.ndarray]] = {}

    def add(self, owner: Any, address: int, size: int) -> None:
        """`owner` is kept as well, so that the address stays its own."""
        if address not in self._by_address:
            there = (ctypes.c_uint8 * size).from_address(address) if size else bytearray(1)
            self._by_address[address] = (owner, placed(np.frombuffer(there, np.uint8)))

    def address_of(self, address: int) -> int:
        """What an exporter keeps for itself (the sizes of the buffers of views) stays in memory of the host."""
        found = self._by_address.get(address)
        return address if found is None else device_address(found[1])
