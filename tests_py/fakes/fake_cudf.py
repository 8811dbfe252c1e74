"""fake_cudf.py: Arrow tables in memory of the emulated GPU (fake_memory.py), for tests with GS_DEVICES=reference.

They export the device interface only, so code that looks for host interfaces finds none.
"""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any

import pyarrow as pa

from arrow_structs import Array, Column, Field, capsule
from fake_memory import Copies, host_address

CPU, CUDA, CUDA_HOST, MANAGED = 1, 2, 3, 13


class DeviceArray(ctypes.Structure):
    _fields_ = (
        ("array", Array),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    )


assert ctypes.sizeof(DeviceArray) == 128

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def struct_in(array_capsule: Any) -> DeviceArray:
    return DeviceArray.from_address(_pointer(array_capsule, b"arrow_device_array"))


def move(array: Array, to: Any) -> None:
    """Replace all buffer addresses of a struct and its children by the addresses that `to` returns for them."""
    for i in range(array.n_buffers):
        if array.buffers[i]:
            array.buffers[i] = to(array.buffers[i])
    for i in range(array.n_children):
        move(array.children[i].contents, to)
    if array.dictionary:
        move(array.dictionary.contents, to)


_copies = Copies()


def _copy_buffers(source: Any) -> None:
    for column in getattr(source, "columns", [source]):
        for buffer in column.buffers():
            if buffer is not None:
                _copies.add(buffer, buffer.address, buffer.size)
        if isinstance(column, pa.DictionaryArray):
            _copy_buffers(column.dictionary)


def _copy_arrays(column: Column) -> None:
    for array in column.arrays:
        if array is not None:
            _copies.add(array, array.ctypes.data, array.nbytes)
    for below in column.below():
        _copy_arrays(below)


class OnGpu:
    """A record batch or array of pyarrow that is exported as memory of a GPU."""

    def __init__(self, source: Any, kind: int = CUDA, number: int = 0, event: int | None = None) -> None:
        self.source, self.kind, self.number, self.event = source, kind, number, event

    def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
        schema, array = self.source.__arrow_c_device_array__(requested_schema, **words)
        struct = struct_in(array)
        if self.kind == CUDA:
            _copy_buffers(self.source)
            move(struct.array, _copies.address_of)
        struct.device_type, struct.device_id, struct.sync_event = self.kind, self.number, self.event
        return schema, array


class _OnHost:
    def __init__(self, source: Any) -> None:
        self.source = source

    def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
        schema, array = self.source.__arrow_c_device_array__(requested_schema, **words)
        struct = struct_in(array)
        assert struct.device_type == CUDA and struct.device_id >= 0 and not struct.sync_event
        move(struct.array, host_address)
        struct.device_type, struct.device_id = CPU, -1
        return schema, array


def on_host(result: Any) -> Any:
    """A result on the emulated GPU as an object of pyarrow, validated in full."""
    there = pa.record_batch(_OnHost(result)) if getattr(result, "is_table", False) else pa.array(_OnHost(result))
    there.validate(full=True)
    return there


class Handmade:
    """Hand-made structs that count how often they were released. `make` returns a new Field and Column."""

    def __init__(self, make: Any, kind: int = CUDA, number: int = 0) -> None:
        self.make, self.kind, self.number = make, kind, number
        self.exports: list[tuple[Field, Column, DeviceArray]] = []

    def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
        field, column = self.make()
        if self.kind == CUDA:
            _copy_arrays(column)
            move(column.struct, _copies.address_of)
        struct = DeviceArray(column.struct, self.number, self.kind, None)
        self.exports.append((field, column, struct))
        return capsule(field.struct, b"arrow_schema"), capsule(struct, b"arrow_device_array")

    def settled(self) -> bool:
        """Whether each struct that a consumer took was released once (an array in its device struct), and no other."""
        return all(
            field.settled(not field.struct.release) and column.settled(not struct.array.release)
            for field, column, struct in self.exports
        )


def fake_pylibcudf() -> types.ModuleType:
    """A module whose Table and Column export and import Arrow data as those of pylibcudf do."""
    module = types.ModuleType("pylibcudf")

    class Held:
        def __init__(self, source: Any) -> None:
            self.source = source

        def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
            return self.source.__arrow_c_device_array__(requested_schema, **words)

        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            raise AssertionError("a table of a GPU was copied to the host")

        @classmethod
        def from_arrow(cls, obj: Any) -> Any:
            return cls(obj)

    for name in ("Table", "Column"):
        setattr(module, name, type(name, (Held,), {"__module__": f"pylibcudf.{name.lower()}"}))
    sys.modules["pylibcudf"] = module
    return module
