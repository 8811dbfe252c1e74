"""fake_cudf.py: Arrow tables in host memory that say that they lie on a GPU, for tests with GS_DEVICES=reference.

They speak the device interface alone, so whoever looks for them on the host finds nothing.
"""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any

import pyarrow as pa

from arrow_structs import Array, Column, Field, capsule

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


class OnGpu:
    """A record batch or array of pyarrow that says that it lies on a GPU."""

    def __init__(self, source: Any, kind: int = CUDA, number: int = 0, event: int | None = None) -> None:
        self.source, self.kind, self.number, self.event = source, kind, number, event

    def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
        schema, array = self.source.__arrow_c_device_array__(requested_schema, **words)
        struct = struct_in(array)
        struct.device_type, struct.device_id, struct.sync_event = self.kind, self.number, self.event
        return schema, array


class _OnHost:
    def __init__(self, source: Any) -> None:
        self.source = source

    def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
        schema, array = self.source.__arrow_c_device_array__(requested_schema, **words)
        struct = struct_in(array)
        assert struct.device_type == CUDA and struct.device_id >= 0 and not struct.sync_event
        struct.device_type, struct.device_id = CPU, -1
        return schema, array


def on_host(result: Any) -> Any:
    """What lies in a result on the GPU that is played, checked in full."""
    there = pa.record_batch(_OnHost(result)) if getattr(result, "is_table", False) else pa.array(_OnHost(result))
    there.validate(full=True)
    return there


class Handmade:
    """Structs by hand, which count how often they were released. `make` gives a new Field and Column."""

    def __init__(self, make: Any, kind: int = CUDA, number: int = 0) -> None:
        self.make, self.kind, self.number = make, kind, number
        self.exports: list[tuple[Field, Column, DeviceArray]] = []

    def __arrow_c_device_array__(self, requested_schema: Any = None, **words: Any) -> Any:
        field, column = self.make()
        struct = DeviceArray(column.struct, self.number, self.kind, None)
        self.exports.append((field, column, struct))
        return capsule(field.struct, b"arrow_schema"), capsule(struct, b"arrow_device_array")

    def settled(self) -> bool:
        """What was taken was released once, the array in its device struct; what nobody took was not."""
        return all(
            field.settled(not field.struct.release) and column.settled(not struct.array.release)
            for field, column, struct in self.exports
        )


def fake_pylibcudf() -> types.ModuleType:
    """A module whose Table and Column hand over and take as those of pylibcudf do."""
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
