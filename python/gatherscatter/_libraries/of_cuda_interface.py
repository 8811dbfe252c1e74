"""of_cuda_interface.py: arrays on a GPU that describe themselves by ``__cuda_array_interface__``, such as numba's."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.device_adapter import DeviceAdapter
from gatherscatter._libraries.of_python import as_int
from gatherscatter.errors import shown

__all__ = ["CudaInterface", "borrowable", "read_interface", "view_of"]


@dataclass(frozen=True, slots=True)
class CudaInterface:
    """The checked contents of a ``__cuda_array_interface__``."""

    address: int
    read_only: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    stream: int | None


def borrowable(op: str, role: str, obj: Any) -> DeviceAdapter:
    """Describe how the memory of an array with this interface is borrowed."""
    facts: dict[str, Any] = obj.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise TypeError(f"{op}: {role} has a mask in its __cuda_array_interface__, which is not supported")
    try:
        described = read_interface(facts, obj)
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
            return view_of(obj, described, int(device))
        except (BufferError, ValueError) as error:  # address, shape and strides are inconsistent
            raise type(error)(f"{op}: {role}: {error}") from None

    numba = sys.modules.get("numba.cuda")
    is_numba = type(obj).__module__.startswith("numba") and numba is not None
    wrap = numba.as_cuda_array if is_numba and numba is not None else (lambda result: result)
    # The interface has no stream where the producer needs no synchronisation. The default stream is used then.
    return DeviceAdapter(int(device), 1 if described.stream is None else described.stream, borrow, None, wrap)


def read_interface(facts: dict[str, Any], obj: Any) -> CudaInterface:
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
    return CudaInterface(
        address,
        bool(data[1]),
        shape,
        strides,
        _dtype_of(facts, obj),
        None if stream is None else _integer("stream", stream),
    )


def _integer(name: str, number: Any) -> int:
    whole = as_int(number, arrays=True)
    if whole is None:
        raise TypeError(f"{name} has {shown(number)} where an integer is expected")
    return whole


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


def view_of(obj: Any, described: CudaInterface, device: int) -> _core.DLPackArray:
    return _core.DLPackArray.from_interface(
        obj,
        described.address,
        described.shape,
        described.strides,
        described.dtype,
        not described.read_only,
        device,
    )
