"""integers.py: checks of arguments that are one integer, such as an axis or a number of batch axes."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from gatherscatter._libraries.adopt import is_container, must_have_values
from gatherscatter._libraries.devices import has_interface, is_on_device
from gatherscatter.errors import shown

__all__ = ["integer", "is_integer", "one_integer"]


def is_integer(value: Any) -> bool:
    """Whether a value is an integer and not an array.

    Integers of Python and NumPy, Python's bool and objects with ``__index__`` are integers.
    """
    if isinstance(value, int | np.integer):
        return True
    return hasattr(type(value), "__index__") and not isinstance(value, np.bool_) and not _is_array(value)


def integer(op: str, what: str, value: Any) -> int:
    """Convert an integer to int; refuse bools and arrays."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not is_integer(value):
        raise TypeError(f"{op}: {what} is {shown(value)}, expected an integer")
    return index(value)


def one_integer(op: str, what: str, value: Any) -> int:
    """Convert an integer, or an array of integers with exactly one element, to int; refuse bools."""
    if type(value) is int:
        return value
    if is_integer(value) or isinstance(value, np.bool_) or not hasattr(value, "__array__"):
        return integer(op, what, value)
    if is_on_device(value):
        raise TypeError(f"{op}: {what} lies on a GPU; pass an int, because reading it there would wait for the GPU")
    if not is_container(value):
        must_have_values(op, what, value)
    try:
        array = np.asarray(value)
    except Exception as error:  # each library raises an exception class of its own
        raise TypeError(f"{op}: {what} is {shown(value)}, expected an integer") from error
    if array.dtype.kind not in "iu":
        raise TypeError(f"{op}: {what} has dtype {array.dtype}, expected an integer")
    if array.size != 1:
        raise ValueError(f"{op}: {what} has {array.size} elements, expected 1")
    return int(array.reshape(-1)[0])


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__") or has_interface(value)
