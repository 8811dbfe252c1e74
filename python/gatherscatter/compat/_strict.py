"""_strict.py: checks that the strict interfaces share: whether an argument is an array, and its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._libraries.adopt import must_have_values
from gatherscatter._libraries.recognise import dtype_name, no_array
from gatherscatter._values.fill import array_like_of

__all__ = ["INTEGERS", "Dtypes", "array_like", "check_index_dtype", "item_bytes"]


class Dtypes:
    """A set of dtypes by name, which works for every library; ``array in dtypes`` checks the dtype of an array.

    NumPy's dtypes are also looked up as objects, because NumPy builds the string of a dtype's name at each access.
    """

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)
        self._known = frozenset(np.dtype(name) for name in names if hasattr(np, name))

    def __contains__(self, array: Any) -> bool:
        return array.dtype in self._known or dtype_name(array) in self._names


INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
INDEX = Dtypes("int32", "int64")


def array_like(op: str, role: str, obj: Any) -> Any:
    """`obj`, or a view of it, with a dtype and a shape. TypeError for objects that are no arrays, such as lists."""
    must_have_values(op, role, obj)
    if not hasattr(obj, "dtype") and hasattr(obj, "__dlpack__"):
        obj = array_like_of(f"{op}: {role}", obj)
    if not hasattr(obj, "dtype") or not hasattr(obj, "shape"):
        raise no_array(op, role, obj)
    return obj


def item_bytes(dtype: Any) -> int:
    """Bytes of an item. Dtype instances of every library have `itemsize`; NumPy reads classes, characters and names."""
    size = getattr(dtype, "itemsize", None)
    return size if isinstance(size, int) else np.dtype(dtype).itemsize


def check_index_dtype(op: str, role: str, index: Any) -> None:
    """Raise TypeError for indices that are neither int32 nor int64, the dtypes that pypto and MindSpore accept."""
    if index not in INDEX:
        raise TypeError(f"{op}: {role} has dtype {dtype_name(index)}, expected int32 or int64")
