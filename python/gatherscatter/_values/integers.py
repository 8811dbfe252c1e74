"""integers.py: checks of arguments that are one integer, such as an axis or a number of batch axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._libraries.adopt import is_container, must_have_values
from gatherscatter._libraries.devices import is_on_device
from gatherscatter._libraries.of_python import as_int, is_integer
from gatherscatter.errors import is_large, shown

__all__ = ["integer", "number_of_axis", "one_integer"]


def integer(op: str, what: str, value: Any) -> int:
    """Convert an integer to int; refuse bools and arrays."""
    number = as_int(value)
    if number is None:
        raise TypeError(f"{op}: {what} is {shown(value)}, expected an integer")
    return number


def number_of_axis(op: str, what: str, value: Any) -> int:
    """Convert an integer, or an array of integers of rank 0, to int; refuse bools.

    An array of one element and one axis is more often an index in the wrong place than an axis.
    """
    if type(value) is not int and is_large(value):
        raise TypeError(f"{op}: {what} is {shown(value)}, expected an integer")
    return one_integer(op, what, value)


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
