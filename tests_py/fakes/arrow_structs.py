"""arrow_structs.py: Arrow's C structs, built field by field, with a count of the releases of each."""

import ctypes

import numpy as np

NULLABLE = 2
_OWNERS = {}  # keeps structs alive after their test, so that a late or second release is counted and does not crash


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class Array(ctypes.Structure):
    pass


Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class ArrayStream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


assert (ctypes.sizeof(Schema), ctypes.sizeof(Array), ctypes.sizeof(ArrayStream)) == (72, 80, 40)

_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def _release(kind):
    @ctypes.CFUNCTYPE(None, ctypes.POINTER(kind))
    def release(pointer):
        node = _OWNERS[pointer[0].private_data]
        node.releases += 1
        if node.noticed is not None:
            node.noticed()
        for below in node.below():
            if below.struct.release:
                release(ctypes.pointer(below.struct))
        pointer[0].release = None

    return release


_RELEASE = {kind: _release(kind) for kind in (Schema, Array)}


def address(callback):
    return ctypes.cast(callback, ctypes.c_void_p).value


class Node:
    """A struct, its child structs, and how often it was released."""

    noticed = None  # a function that is called at each release
    gone = False

    def __init__(self, kind, children, dictionary, **fields):
        self.struct, self.children, self.dictionary, self.releases = kind(**fields), list(children), dictionary, 0
        self.pointers = (ctypes.POINTER(kind) * max(1, len(children)))()
        for i, child in enumerate(self.children):
            self.pointers[i] = ctypes.pointer(child.struct)
        if self.children:
            self.struct.n_children, self.struct.children = len(children), self.pointers
        if dictionary is not None:
            self.struct.dictionary = ctypes.pointer(dictionary.struct)
        self.struct.release, self.struct.private_data = address(_RELEASE[kind]), id(self)
        _OWNERS[id(self)] = self

    def below(self):
        return self.children + ([] if self.dictionary is None else [self.dictionary])

    def settled(self, taken=True):
        """Whether this struct and all below it were released exactly once if `taken` by a consumer, else never."""
        taken = taken and not self.gone
        return self.releases == taken and all(node.settled(taken) for node in self.below())

    def not_there(self):
        """Mark the struct as one that was released before it is exported."""
        self.struct.release, self.gone = None, True


class Field(Node):
    def __init__(self, format, name="", children=(), dictionary=None, flags=NULLABLE, metadata=None):
        format = format if isinstance(format, bytes) else format.encode()
        name = name if isinstance(name, bytes) else name.encode()
        super().__init__(Schema, children, dictionary, format=format, name=name, metadata=metadata, flags=flags)


class Column(Node):
    """An ArrowArray. Buffers are NumPy arrays, bytes, or None for a null pointer."""

    def __init__(self, length, buffers, children=(), dictionary=None, offset=0, null_count=-1):
        super().__init__(Array, children, dictionary, length=length, offset=offset, null_count=null_count)
        self.buffers = [bytearray(b) if isinstance(b, bytes) else b for b in buffers]
        self.arrays = [
            None if b is None else np.frombuffer(b, "u1") if isinstance(b, bytearray) else b for b in self.buffers
        ]
        self.addresses = (ctypes.c_void_p * max(1, len(buffers)))()
        for i, array in enumerate(self.arrays):
            self.addresses[i] = None if array is None else array.ctypes.data
        if buffers:
            self.struct.n_buffers, self.struct.buffers = len(buffers), self.addresses


class Stream:
    """A stream of a field and its columns. `fails`: the call of get_next that fails (-1: get_schema), and its code."""

    gone = False

    def __init__(self, field, columns, fails=None, error=b"the disk is gone"):
        self.field, self.columns, self.gave_schema, self.given, self.releases = field, list(columns), False, 0, 0

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Schema))
        def get_schema(_, out):
            if fails is not None and fails[0] < 0:
                return fails[1]
            ctypes.memmove(out, ctypes.byref(field.struct), ctypes.sizeof(Schema))
            field.struct.release, self.gave_schema = None, True
            return 0

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Array))
        def get_next(_, out):
            if fails is not None and self.given == fails[0]:
                return fails[1]
            if self.given == len(self.columns):
                out[0].release = None
                return 0
            column = self.columns[self.given]
            self.given += 1
            ctypes.memmove(out, ctypes.byref(column.struct), ctypes.sizeof(Array))
            column.struct.release = None
            return 0

        @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        def get_last_error(_):
            return None if error is None else ctypes.cast(error, ctypes.c_void_p).value

        @ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrayStream))
        def release(pointer):
            self.releases += 1
            pointer[0].release = None

        self.callbacks = (get_schema, get_next, get_last_error, release)
        self.struct = ArrayStream(*map(address, self.callbacks), None)
        _OWNERS[id(self)] = self

    def settled(self):
        """Whether the stream and all that it returned were released exactly once, if a consumer took the stream."""
        if self.struct.release:
            return self.releases == 0  # no consumer took the stream
        return (
            self.releases == (not self.gone)
            and self.field.settled(self.gave_schema)
            and all(column.settled(i < self.given) for i, column in enumerate(self.columns))
        )


def capsule(struct, name):
    """A capsule without a destructor: only a consumer that takes the struct releases it."""
    return _capsule(ctypes.addressof(struct), name, None)


class StreamProducer:
    """An object of an unknown library. `make` returns a new Stream for each export."""

    def __init__(self, make):
        self.make, self.exports = make, []

    def __arrow_c_stream__(self, requested_schema=None):
        self.exports.append(self.make())
        return capsule(self.exports[-1].struct, b"arrow_array_stream")

    def settled(self):
        return all(export.settled() for export in self.exports)


class ArrayProducer:
    """An object of an unknown library. `make` returns a new Field and Column for each export."""

    def __init__(self, make):
        self.make, self.exports = make, []

    def __arrow_c_array__(self, requested_schema=None):
        field, column = self.make()
        self.exports += [field, column]
        return capsule(field.struct, b"arrow_schema"), capsule(column.struct, b"arrow_array")

    def settled(self):
        """Whether each struct that a consumer took was released once, and no other struct was released."""
        return all(node.settled(not node.struct.release) for node in self.exports)
