"""device_adapter.py: how the memory of an array on a GPU is borrowed, and how results are returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gatherscatter import _core

__all__ = ["DeviceAdapter"]


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
