"""own_copies.py: private copies of the arguments of a call that runs later, so that later writes do not change it."""

from __future__ import annotations

from array import array as typed_array
from collections import deque
from typing import Any

import numpy as np

from gatherscatter._libraries.recognise import library_of

__all__ = ["own_copies"]

# By library: the method that copies what its caller can write to. Arrays of pyarrow and JAX are not written to.
_METHODS = {
    "cupy": "copy",
    "narwhals": "clone",
    "pandas": "copy",
    "polars": "clone",
    "torch": "clone",
    "xarray": "copy",
}


def own_copies(*values: Any) -> tuple[Any, ...]:
    """Copies of arguments, also of what lists and dicts hold. Values that do not change are returned as they are.

    Readers are read to their end, as by a call that runs at once, because a query may run several times.
    """
    return tuple(map(_own, values))


def _own(value: Any) -> Any:
    try:
        return _copied(value)
    except RecursionError:  # a list that holds itself, which the call refuses
        return value


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, (tuple, list, deque)):
        return (tuple if isinstance(value, tuple) else list)(map(_copied, value))
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    if isinstance(value, (set, bytearray, typed_array)):
        return value.copy() if isinstance(value, set) else value[:]
    if isinstance(value, memoryview):
        return np.array(value)
    if hasattr(value, "read_all"):
        return value.read_all()
    if type(value).__module__.startswith("narwhals.") and hasattr(value, "to_native") and not hasattr(value, "clone"):
        return _copied(value.to_native())  # a Series, which has no method that copies
    method = getattr(value, _METHODS.get(library_of(value, tuple(_METHODS)), ""), None)
    return value if method is None else method()


def _array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    copy: np.ndarray[Any, Any] = array.copy()
    if array.dtype.kind == "O" and type(array) is np.ndarray:
        for place in np.ndindex(array.shape):
            copy[place] = _copied(array[place])
    return copy
