"""layouts.py: the dtypes and memory layouts of the tests' arrays, and access to their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from optional import optional
from reference_reduce import FLOATS, PART_OF

ml_dtypes = optional("ml_dtypes")  # the terminal summary names it if it is missing
torch = optional("torch")

RECORD = np.dtype([("a", "i1"), ("b", ">f4"), ("c", "S3", (2,))])  # 11 bytes, fields unaligned

NUMBERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS += ["float16", "float32", "float64", "complex64", "complex128"]
OTHERS = ["longdouble", "clongdouble", "datetime64[ns]", "timedelta64[s]", "S3", "U5", "V0", "V7", ">f4", ">i2", ">c16"]

DTYPES: dict[str, np.dtype] = {name: np.dtype(name) for name in NUMBERS + OTHERS} | {"record": RECORD}
if ml_dtypes is not None:
    DTYPES |= {
        name: np.dtype(getattr(ml_dtypes, name))
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4")
    }

INDEX_TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4", ">u8", "list"]

# The dtypes that torch supports, and the NumPy dtype through which the bytes are converted.
TORCH_VIA: dict[str, str | None] = dict.fromkeys(NUMBERS)
if ml_dtypes is not None:
    TORCH_VIA |= {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}

LAYOUTS = ["C", "F", "reversed", "sliced", "transposed", "broadcast", "unaligned", "readonly"]
TORCH_LAYOUTS = ["C", "F", "sliced", "transposed", "broadcast"]


def random_items(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Random bit patterns, all that the dtype allows: NaNs with payloads, -0.0, NaT."""
    size = int(np.prod(shape, dtype=object))
    if dtype.kind == "U":  # code points have an upper limit
        items = rng.integers(1, 0x10000, size * dtype.itemsize // 4, "u4").astype(
            np.dtype("u4").newbyteorder(dtype.byteorder)
        )
    elif dtype == np.bool_:
        items = rng.integers(0, 2, size, "u1")
    elif dtype.name in ("int4", "uint4"):
        items = rng.integers(0, 8, size).astype(dtype)
    else:
        items = np.frombuffer(rng.bytes(size * dtype.itemsize), "u1")
    return np.ndarray(shape, dtype, buffer=bytearray(items.tobytes() + b"\0"))


def finite_items(shape: tuple[int, ...], dtype: np.dtype, rng: np.random.Generator, reduce: str = "") -> np.ndarray:
    """Numbers whose sums (or products for "mul") stay finite and not 0, so that another order gives other bytes."""
    if dtype.name in PART_OF:
        real, imaginary = (finite_items(shape, PART_OF[dtype.name], rng, kind) for kind in (reduce, ""))
        return (real + 1j * (imaginary / 512 if reduce == "mul" else imaginary)).astype(dtype)
    if dtype.name in FLOATS and reduce == "mul":
        return (rng.choice([-1, 1], shape) * (1 + rng.standard_normal(shape) / 256)).astype(dtype)
    if dtype.name in FLOATS:
        return (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 3, shape)).astype(dtype)
    return random_items(shape, dtype, rng)


def one_item(dtype: np.dtype) -> np.ndarray:
    """A 0-d array of a value that a caller would write as a literal; 5 for numbers."""
    if dtype.type is np.void:
        return random_items((), dtype, np.random.default_rng(5))
    return np.array("5" if dtype.kind in "SU" else 5).astype(dtype)


def lay_out(array: np.ndarray, layout: str, axis: int = 0) -> np.ndarray:
    """The array in another memory layout. `broadcast` repeats the first slice of `axis` by stride 0."""
    if array.ndim == 0:
        layout = {"F": "C", "reversed": "sliced", "transposed": "C", "broadcast": "C"}.get(layout, layout)
    if layout == "C":
        return np.array(array, order="C")
    if layout == "F":
        return np.array(array, order="F")
    if layout == "reversed":
        flip = (slice(None, None, -1),) * array.ndim
        return np.array(array[flip], order="C")[flip]
    if layout == "sliced":
        room = np.zeros(tuple(2 * n + 1 for n in array.shape) or (3,), array.dtype)
        view = room[(slice(1, None, 2),) * array.ndim] if array.ndim else room[1:2].reshape(())
        view[...] = array
        return view
    if layout == "transposed":  # the last axis becomes the first in memory
        return np.moveaxis(np.array(np.moveaxis(array, -1, 0), order="C"), 0, -1)
    if layout == "broadcast":
        first = np.array(array[(slice(None),) * axis + (slice(0, 1),)], order="C")
        strides = [0 if d == axis else stride for d, stride in enumerate(first.strides)]
        room = bytearray(first.tobytes() + b"\0")
        return np.ndarray(array.shape, array.dtype, buffer=room, strides=strides) if first.size else array.copy()
    if layout == "unaligned":
        room = bytearray(array.nbytes + 2)
        view = np.ndarray(array.shape, array.dtype, buffer=room, offset=1)
        view[...] = array
        return view
    assert layout == "readonly"
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def to_torch(array: np.ndarray) -> Any:
    """A tensor over the array's memory."""
    via = TORCH_VIA.get(array.dtype.name)
    if via is None:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(via)).view(getattr(torch, array.dtype.name))


def bytes_of(array: Any) -> bytes:
    """The items in C order, for an array of any library."""
    if torch is not None and isinstance(array, torch.Tensor):
        return array.reshape(-1).clone(memory_format=torch.contiguous_format).view(torch.uint8).numpy().tobytes()
    return array.tobytes() if isinstance(array, np.ndarray | np.generic) else repr(array).encode()


def significant(array: np.ndarray) -> bytes:
    """The bytes that carry values: x87 long doubles have 10 bytes in 16, and the padding is arbitrary."""
    if array.dtype.char in "gG" and np.finfo(array.dtype).nmant == 63:
        return np.ascontiguousarray(array).reshape(-1).view("u1").reshape(-1, 16)[:, :10].tobytes()
    return array.tobytes()


def root_of(array: np.ndarray) -> np.ndarray | bytearray:
    """The object that owns the memory of a view; its bytes outside of an `out` must not change."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array
