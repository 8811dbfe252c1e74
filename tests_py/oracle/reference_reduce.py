"""reference_reduce.py: the definition of a reduction of items, one step at a time, for the loops of reference_write.py.

Integers are Python's, wrapped to their type after every step (the sum of a mean to 64 bits). Floats narrower than 32
bits are kept in float32 and rounded once, at the end. Nothing is reordered or contracted, and there is only one NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

REDUCTIONS = {
    "add": "add",
    "sum": "add",
    "mul": "mul",
    "prod": "mul",
    "multiply": "mul",
    "min": "min",
    "amin": "min",
    "max": "max",
    "amax": "max",
    "mean": "mean",
}

# The bits of the NaN that a reduction gives: quiet, positive, without a payload.
QUIET_NAN = {
    "float16": 0x7E00,
    "bfloat16": 0x7FC0,
    "float32": 0x7FC00000,
    "float64": 0x7FF8000000000000,
    "float8_e4m3fn": 0x7F,
    "float8_e4m3": 0x7C,
    "float8_e3m4": 0x78,
    "float8_e5m2": 0x7E,
    "float8_e4m3fnuz": 0x80,
    "float8_e4m3b11fnuz": 0x80,
    "float8_e5m2fnuz": 0x80,
}
FLOATS = tuple(QUIET_NAN)
PART_OF = {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}


def reducible(dtype: np.dtype, reduce: str) -> bool:
    """Whether items of this dtype support this reduction."""
    kind = REDUCTIONS[reduce]
    if not dtype.isnative:
        return False
    if dtype.name in PART_OF:
        return kind not in ("min", "max")
    if dtype.kind == "b":
        return kind != "mean"
    return dtype.name in FLOATS or (dtype.kind in "iu" and dtype.itemsize <= 8)


def combined(items: list[bytes], dtype: np.dtype, reduce: str) -> bytes:
    """The bytes of the items, reduced from the first to the last."""
    assert items and reducible(dtype, reduce)
    kind = REDUCTIONS[reduce]
    with np.errstate(all="ignore"):
        total = number(items[0], dtype)
        for item in items[1:]:
            total = step(kind, total, number(item, dtype), dtype)
        if kind == "mean":
            total = divided(total, len(items))
        return encoded(total, dtype)


def number(item: bytes, dtype: np.dtype) -> Any:
    """The value used in the arithmetic: a bool, an int, a float of 32 or 64 bits, or a pair of them."""
    value = np.frombuffer(item, dtype)[0]
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind in "iu":
        return int(value)
    if dtype.name in PART_OF:
        return value.real, value.imag
    return np.float32(value) if dtype.itemsize < 4 else value


def step(kind: str, a: Any, b: Any, dtype: np.dtype) -> Any:
    if kind in ("min", "max"):
        return picked(kind, a, b)
    if dtype.kind == "b":
        return (a and b) if kind == "mul" else (a or b)
    if dtype.name in PART_OF:
        if kind == "mul":
            return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]
        return a[0] + b[0], a[1] + b[1]
    result = a * b if kind == "mul" else a + b
    if dtype.kind in "iu":
        return wrapped(result, dtype.kind, 8 if kind == "mean" else dtype.itemsize)
    return result


def picked(kind: str, a: Any, b: Any) -> Any:
    """The extremum of two values: a NaN if there is one, and of equal values (also -0.0 and 0.0) the earlier one."""
    if a != a or b != b:
        return a if a != a else b
    return b if (b < a if kind == "min" else b > a) else a


def wrapped(value: int, kind: str, size: int) -> int:
    bits = 8 * size
    value %= 1 << bits
    return value - (1 << bits) if kind == "i" and value >> (bits - 1) else value


def divided(total: Any, count: int) -> Any:
    """The mean. Integers are rounded down, as in torch; both parts of complex numbers are divided."""
    if isinstance(total, tuple):
        return tuple(divided(part, count) for part in total)
    return total // count if isinstance(total, int) else total / type(total)(count)


def encoded(total: Any, dtype: np.dtype) -> bytes:
    if isinstance(total, tuple):
        return b"".join(encoded(part, PART_OF[dtype.name]) for part in total)
    rounded = np.asarray(total, type(total) if dtype.name in FLOATS else dtype).astype(dtype)
    if dtype.name in FLOATS and np.isnan(rounded):
        return QUIET_NAN[dtype.name].to_bytes(dtype.itemsize, "little")
    return rounded.tobytes()
