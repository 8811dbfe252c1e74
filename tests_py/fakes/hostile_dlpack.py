"""hostile_dlpack.py: builds DLPack capsules field by field, for valid and for hostile producers.

Run as a program, it tries every hostile case in a forked process and prints one JSON line for each.
"""

import ctypes
import importlib
import json
import os
import sys
import traceback

import numpy as np

from fake_memory import device_address, placed

READ_ONLY, IS_COPIED = 1, 2
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Unversioned(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


assert (ctypes.sizeof(DLTensor), ctypes.sizeof(Unversioned), ctypes.sizeof(Versioned)) == (48, 64, 80)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, (ctypes.py_object,)


_alive = []  # keeps structs alive after their test, so that a late or second deleter call is counted and does not crash


class Export:
    """One capsule. It has no destructor: only a consumer that takes the capsule calls the deleter."""

    def __init__(self, array, *, versioned=True, name=None, deleter=True, **fields):
        on_gpu = fields.get("device_type") in (CUDA, CUDA_MANAGED)
        self.array = array = placed(array) if on_gpu else array
        self.calls = calls = [0]

        def count(_):
            calls[0] += 1

        self.deleter = Deleter(count) if deleter else Deleter(0)
        self.struct = (Versioned if versioned else Unversioned)(deleter=self.deleter)
        if versioned:
            self.struct.major, self.struct.minor = fields.pop("major", 1), fields.pop("minor", 0)
            self.struct.flags = fields.pop("flags", 0)
        shape = fields.pop("shape", array.shape)
        strides = fields.pop("strides", tuple(n // array.itemsize for n in array.strides))
        self.shape = None if shape is None else (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        tensor = self.struct.tensor
        data = device_address(array) if fields.get("device_type") == CUDA else array.ctypes.data
        tensor.data, tensor.device_type, tensor.ndim = data, CPU, array.ndim
        tensor.code, tensor.bits, tensor.lanes = CODES[array.dtype.kind], 8 * array.itemsize, 1
        for field, value in fields.items():
            setattr(tensor, field, value)
        if self.shape is not None:
            tensor.shape = self.shape
        if self.strides is not None:
            tensor.strides = self.strides
        self.name = name if name is not None else b"dltensor_versioned" if versioned else b"dltensor"
        self.capsule = _new(ctypes.addressof(self.struct), self.name, None)
        self.deletes = deleter
        _alive.append(self)

    def settled(self):
        """Whether the deleter was called once if the capsule was taken, and never if it was not."""
        taken = _name(self.capsule) != self.name
        return self.calls[0] == (1 if taken and self.deletes else 0)

    def taken(self):
        return _name(self.capsule) != self.name


class Producer:
    """An array of an unknown library that exports DLPack 1.x."""

    def __init__(self, array, **fields):
        self.array, self.fields = array, fields
        self.exports, self.requests = [], []

    def __dlpack_device__(self):
        return (self.fields.get("device_type", CPU), 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.requests.append({"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy})
        self.exports.append(Export(self.array, **self.fields))
        return self.exports[-1].capsule

    def settled(self):
        return all(export.settled() for export in self.exports)


class LegacyProducer(Producer):
    """A producer from before DLPack 1.0, with the argument `stream` only and the struct without a version."""

    def __init__(self, array, **fields):
        super().__init__(array, versioned=False, **fields)

    def __dlpack__(self, stream=None):
        return Producer.__dlpack__(self, stream=stream)


def returning(value):
    """A producer whose __dlpack__ returns or raises `value`."""

    def build(array):
        class Odd(Producer):
            def __dlpack__(self, **kwargs):
                if isinstance(value, BaseException):
                    raise value
                return self if value is Producer else value

        return Odd(array)

    return build


def on_device(value):
    """A producer whose __dlpack_device__ returns or raises `value`."""

    def build(array):
        class Odd(Producer):
            def __dlpack_device__(self):
                if isinstance(value, BaseException):
                    raise value
                return value

        return Odd(array)

    return build


def fields(**values):
    return lambda array: Producer(array, **values)


def legacy(**values):
    return lambda array: LegacyProducer(array, **values)


def says_cpu(device_type):
    def build(array):
        class Odd(Producer):
            def __dlpack_device__(self):
                return (CPU, 0)

        return Odd(array, device_type=device_type)

    return build


def no_device(array):
    class Odd:
        exports = ()

        def __dlpack__(self, **kwargs):
            return Export(array).capsule

    return Odd()


def not_callable(array):
    class Odd:
        exports = ()
        __dlpack__ = 3

        def __dlpack_device__(self):
            return (CPU, 0)

    return Odd()


def same_capsule(array):
    class Odd(Producer):
        def __dlpack__(self, **kwargs):
            self.exports = self.exports or [Export(self.array)]
            return self.exports[0].capsule

    odd = Odd(array)
    odd.exports = [Export(array)]
    return odd


def spent(array):
    """Exports one capsule, which was consumed before, in every call."""
    odd = same_capsule(array)
    np.from_dlpack(odd)
    return odd


STRUCTURE = ("BufferError",)
DTYPE = ("BufferError", "TypeError")
# The capsule itself names its device, so a consumer that does not call __dlpack_device__ gets the right result.
UNASKED = ("returned", "BufferError", "TypeError", "ValueError", "AttributeError", "OverflowError", "RuntimeError")
JUNK = ("BufferError", "TypeError", "ValueError", "AttributeError", "OverflowError")
DEVICE = ("BufferError", "TypeError", "ValueError", "RuntimeError")
REFUSED = ("BufferError", "TypeError", "ValueError")

# name: (how to build the producer from a valid array, the allowed exceptions)
CASES = {
    "major_0": (fields(major=0), STRUCTURE),
    "major_2": (fields(major=2), STRUCTURE),
    "major_max": (fields(major=2**32 - 1), STRUCTURE),
    "ndim_minus_1": (fields(ndim=-1), STRUCTURE),
    "ndim_min": (fields(ndim=-(2**31)), STRUCTURE),
    "legacy_ndim_minus_1": (legacy(ndim=-1), STRUCTURE),
    "ndim_65": (fields(ndim=65, shape=(6,) + (1,) * 64, strides=None), STRUCTURE),
    "ndim_1000": (fields(ndim=1000), STRUCTURE),
    "ndim_1000_and_data_null": (fields(ndim=1000, data=None), STRUCTURE),
    "ndim_max": (fields(ndim=2**31 - 1), STRUCTURE),
    "legacy_ndim_1000": (legacy(ndim=1000), STRUCTURE),
    "legacy_ndim_max": (legacy(ndim=2**31 - 1), STRUCTURE),
    "shape_null": (fields(shape=None), STRUCTURE),
    "shape_and_strides_null": (fields(shape=None, strides=None), STRUCTURE),
    "legacy_shape_null": (legacy(shape=None), STRUCTURE),
    "data_null": (fields(data=None), STRUCTURE),
    "legacy_data_null": (legacy(data=None), STRUCTURE),
    "lanes_0": (fields(lanes=0), DTYPE),
    "lanes_2": (fields(lanes=2), DTYPE),
    "lanes_max": (fields(lanes=65535), DTYPE),
    "legacy_lanes_4": (legacy(lanes=4), DTYPE),
    "bits_0": (fields(bits=0), DTYPE),
    "bits_1": (fields(bits=1), DTYPE),
    "bits_4": (fields(bits=4), DTYPE),
    "bits_7": (fields(bits=7), DTYPE),
    "bits_12": (fields(bits=12), DTYPE),
    "bits_255": (fields(bits=255), DTYPE),
    "legacy_bits_33": (legacy(bits=33), DTYPE),
    "code_handle": (fields(code=3), DTYPE),
    "code_99": (fields(code=99), DTYPE),
    "code_255": (fields(code=255), DTYPE),
    "device_unknown": (fields(device_type=77), DEVICE),
    "device_0": (fields(device_type=0), DEVICE),
    "device_negative": (fields(device_type=-1), DEVICE),
    "device_cuda": (fields(device_type=CUDA), DEVICE),
    "device_cuda_says_cpu": (says_cpu(CUDA), DEVICE),
    "device_unknown_says_cpu": (says_cpu(77), DEVICE),
    "extent_negative": (fields(shape=(-1,)), STRUCTURE),
    "extent_min": (fields(shape=(INT64_MIN,)), STRUCTURE),
    "extent_max": (fields(shape=(INT64_MAX,), strides=None), STRUCTURE),
    "extents_multiply_beyond": (fields(ndim=2, shape=(2**33, 2**33), strides=None), STRUCTURE),
    "extents_wrap_to_zero": (fields(ndim=2, shape=(2**32, 2**32), strides=None), STRUCTURE),
    "extents_wrap_to_small": (fields(ndim=3, shape=(2**62 + 1, 4, 1), strides=None), STRUCTURE),
    "negative_times_negative": (fields(ndim=2, shape=(-2, -3), strides=None), STRUCTURE),
    "legacy_extents_beyond": (legacy(ndim=2, shape=(2**40, 2**40), strides=None), STRUCTURE),
    "stride_max": (fields(strides=(INT64_MAX,)), STRUCTURE),
    "stride_min": (fields(strides=(INT64_MIN,)), STRUCTURE),
    "stride_wraps_to_zero": (fields(strides=(2**61,)), STRUCTURE),
    "strides_sum_beyond": (fields(ndim=2, shape=(2, 3), strides=(2**62, 2**62)), STRUCTURE),
    "byte_offset_max": (fields(byte_offset=2**64 - 1), STRUCTURE),
    "byte_offset_2_63": (fields(byte_offset=2**63), STRUCTURE),
    "legacy_byte_offset_2_63": (legacy(byte_offset=2**63), STRUCTURE),
    "name_used": (fields(name=b"used_dltensor_versioned"), JUNK),
    "legacy_name_used": (legacy(name=b"used_dltensor"), JUNK),
    "name_unknown": (fields(name=b"dltensor_versioned2"), JUNK),
    "name_empty": (fields(name=b""), JUNK),
    "name_arrow": (legacy(name=b"arrow_array"), JUNK),
    "consumed_before": (spent, JUNK),
    "dlpack_returns_none": (returning(None), JUNK),
    "dlpack_returns_int": (returning(42), JUNK),
    "dlpack_returns_text": (returning("dltensor"), JUNK),
    "dlpack_returns_self": (returning(Producer), JUNK),
    "dlpack_raises_runtime_error": (returning(RuntimeError("no export today")), ("RuntimeError", *JUNK)),
    "dlpack_raises_buffer_error": (returning(BufferError("no export today")), JUNK),
    "dlpack_raises_type_error": (returning(TypeError("no export today")), JUNK),
    "dlpack_raises_memory_error": (returning(MemoryError()), ("MemoryError", *JUNK)),
    "dlpack_raises_interrupt": (returning(KeyboardInterrupt()), ("KeyboardInterrupt",)),
    "dlpack_not_callable": (not_callable, JUNK),
    "device_missing": (no_device, UNASKED),
    "device_returns_none": (on_device(None), STRUCTURE),
    "device_returns_int": (on_device(1), STRUCTURE),
    "device_returns_one": (on_device((1,)), STRUCTURE),
    "device_returns_three": (on_device((1, 0, 0)), STRUCTURE),
    "device_returns_text": (on_device("cpu"), STRUCTURE),
    "device_returns_two_letters": (on_device("10"), STRUCTURE),
    "device_returns_text_in_a_tuple": (on_device(("cpu", 0)), STRUCTURE),
    "device_returns_floats": (on_device((1.0, 0.0)), STRUCTURE),
    "device_returns_huge": (on_device((2**70, 0)), STRUCTURE),
    "device_returns_beyond_printing": (on_device((1, 10**6000)), STRUCTURE),
    "device_returns_negative": (on_device((-1, 0)), STRUCTURE),
    "device_raises": (on_device(RuntimeError("no device today")), UNASKED),
}
ROLES = ("input", "index", "mask", "src", "out")


def call(gs, role, producer):
    """One gather or scatter with the producer as the argument `role`; the other arguments are valid."""
    if role == "src":
        return gs.scatter(np.zeros(6, np.float32), 0, np.arange(6)[::-1], producer)
    arguments = {"input": np.arange(6.0, dtype=np.float32), "index": np.arange(6)[::-1], "mask": None, "out": None}
    arguments[role] = producer
    return gs.gather(arguments["input"], arguments["index"], axis=0, mask=arguments["mask"], out=arguments["out"])


def honest(role):
    return {
        "input": np.arange(6.0, dtype=np.float32),
        "index": np.arange(6),
        "mask": np.ones(6, bool),
        "src": np.arange(6, dtype=np.float32),
        "out": np.zeros(6, np.float32),
    }[role]


def attempt(name, role):
    """The outcome of one hostile case, and whether gatherscatter still works after it."""
    import gatherscatter as gs

    producer = CASES[name][0](honest(role))
    try:
        result = call(gs, role, producer)
        expected = range(6) if role == "index" else range(6)[::-1]
        right = result is producer if role == "out" else np.from_dlpack(result).tolist() == list(expected)
        outcome, message = ["returned" if right else "wrong"], repr(result)
        del result
    except BaseException as error:
        outcome, message = [kind.__name__ for kind in type(error).__mro__], str(error)
        error.__traceback__ = None
    settled = all(export.settled() for export in producer.exports)
    exports = [(_name(export.capsule).decode(), export.calls[0]) for export in producer.exports]
    works = gs.take(np.arange(5), [4, 0, -1]).tolist() == [4, 0, 4]
    return {"outcome": outcome, "message": message, "settled": settled, "exports": exports, "works": works}


def in_a_fork(name, role):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = attempt(name, role)
        except BaseException:
            answer = {"outcome": ["broken"], "message": traceback.format_exc(), "settled": False, "works": False}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if status == 0 else {"outcome": ["crashed"], "message": f"wait status {status}"}


if __name__ == "__main__":
    importlib.import_module("gatherscatter")  # once, before the forks
    for case in CASES:
        for part in ROLES:
            print(json.dumps({"name": case, "role": part, **in_a_fork(case, part)}), flush=True)
    sys.exit(0)
