"""small_arguments.py: dtypes and arrays for tests of small calls, and the outcome of a call as values to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter._ops.near_keywords import explain_keyword

INDEX_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ITEMS = ["i1", "f2", "i4", "f8", "c16", "S3", "M8[s]", ">i4", [("a", "i4"), ("b", "u1")]]


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The result or error of a call, as values that can be compared."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    if isinstance(result, np.ndarray):
        return type(result), result.dtype, result.shape, result.tobytes(), result.flags.c_contiguous
    return type(result), repr(result)


def values(dtype: Any, count: int) -> np.ndarray[Any, Any]:
    items = np.dtype(dtype).itemsize
    return np.random.default_rng(count).integers(0, 127, count * items, dtype=np.uint8).view(dtype)


def definition(op: Any) -> Any:
    """The operator without its fast path: its Python function, and the run of the call that this function makes."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            made = op.__wrapped__(*args, **kwargs)
        except TypeError as error:
            explain_keyword(op.__wrapped__, error)
            raise
        result = _core.run(made)
        return None if op in (gs.put, gs.put_along_axis, gs.tile_scatter) else result

    return run
