"""of_python.py: integers, numbers and lists of Python as arguments, also indices that exceed int64."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from gatherscatter._libraries.nested import check_index, check_items
from gatherscatter._libraries.number_lists import plain_numbers
from gatherscatter._libraries.private_lists import private
from gatherscatter._libraries.recognise import has_interface, is_masked_array
from gatherscatter.errors import OutOfBoundsError

__all__ = [
    "NUMPYS_OPERATORS",
    "BigIntegers",
    "LiteralArray",
    "as_int",
    "as_plan_index",
    "clip_to_int64",
    "exceeds_int64",
    "fits_int64",
    "integers_in",
    "is_integer",
    "is_integer_type",
    "unchecked_text",
    "with_full_index",
]

# The operators whose indices NumPy itself converts from lists.
NUMPYS_OPERATORS = frozenset({"take", "take_along_axis", "compress", "put", "put_along_axis", "putmask", "place"})

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def is_integer_type(kind: type) -> bool:
    """Whether a type is one of Python's or NumPy's integers; bool and durations, which derive from these, are not."""
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer and not an array.

    Integers of Python and NumPy, Python's bool and objects with ``__index__`` are integers.
    """
    if isinstance(value, int | np.integer):
        return True
    return hasattr(type(value), "__index__") and not isinstance(value, np.bool_) and not _is_array(value)


def as_int(value: Any, *, arrays: bool = False) -> int | None:
    """An integer as an int; None for a bool and for any other value. With `arrays`, a 0-d array is an integer too.

    A masked 0-d array has no value.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool | np.bool_) or not (arrays or is_integer(value)):
        return None
    if is_masked_array(value) and np.ma.is_masked(value):
        return None
    try:
        return index(value)
    except TypeError:
        return None


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__") or has_interface(value)


class LiteralArray:
    """An array in host memory made of Python numbers. A call on a GPU copies it to the GPU instead of refusing it."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __getitem__(self, key: Any) -> LiteralArray:
        return LiteralArray(self.array[key])


def clip_to_int64(number: int) -> int:
    """The int64 value nearest to a number. If the number exceeds int64, both lie beyond the same end of any axis."""
    return min(max(number, _LOWEST), _HIGHEST)


def fits_int64(number: int) -> bool:
    """Whether int64 can hold a number."""
    return _LOWEST <= number <= _HIGHEST


def unchecked_text(what: str) -> str:
    """The error text for a number that exceeds 64 bits under bounds="unchecked": it is outside of every axis."""
    return f"{what} holds a number beyond 64 bits, which bounds='unchecked' does not take"


class BigIntegers:
    """Indices of which some do not fit int64.

    Attributes
    ----------
    array : ndarray of int64
        The indices. Those that exceed int64 are replaced by the nearest int64 value, which lies beyond the same end of
        any axis.
    values : list of int
        All indices in full, in C order.
    """

    __slots__ = ("array", "values")

    def __init__(self, values: list[int], shape: tuple[int, ...]) -> None:
        self.values = values
        self.array = np.array(list(map(clip_to_int64, values)), np.int64).reshape(shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype


def exceeds_int64(written: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether a number or list may hold integers that exceed int64, by the dtype that NumPy gives it."""
    if array.dtype.kind == "u":
        return not isinstance(written, np.generic) and int(array.max()) > _HIGHEST
    return array.dtype.kind in "Of"


def integers_in(written: Any) -> np.ndarray[Any, Any] | BigIntegers | None:
    """Convert a number or nested list of integers to int64 or `BigIntegers`; None if it holds anything else."""
    items = np.array(written, object)
    values = items.reshape(-1).tolist()
    if not all(is_integer_type(kind) for kind in set(map(type, values))):
        return None
    values = list(map(int, values))
    if all(map(fits_int64, values)):
        return np.array(values, np.int64).reshape(items.shape)
    return BigIntegers(values, items.shape)


def as_plan_index(op: str, written: Any, dtype: str) -> Any:
    """Convert Python integers to the index dtype of a plan; to `BigIntegers` if they do not fit it."""
    numbers = plain_numbers(written)
    if numbers is not None and numbers.dtype == np.int64:
        limits = np.iinfo(dtype)
        if limits.min <= numbers.min() and numbers.max() <= limits.max:
            return LiteralArray(numbers.astype(dtype))
    written = private(written)
    if isinstance(written, list | tuple) and op not in NUMPYS_OPERATORS:
        check_index(op, written)
        check_items(op, "index", written)
    try:
        items = np.array(written)
    except (ValueError, OverflowError):  # a ragged list or a range that is too long, for which the operator raises
        return written
    found = integers_in(written) if items.size and items.dtype.kind in "iufO" else None
    if found is None:
        return written
    values = found.values if isinstance(found, BigIntegers) else found.reshape(-1).tolist()
    limits = np.iinfo(dtype)
    if all(limits.min <= value <= limits.max for value in values):
        return LiteralArray(np.array(values, dtype).reshape(found.shape))
    return written if op in NUMPYS_OPERATORS else BigIntegers(values, found.shape)


def with_full_index(error: OutOfBoundsError, values: Any) -> OutOfBoundsError:
    """A copy of an error with the full value of the index, read from (nested) lists at the position of the error."""
    for at in error.position:
        values = values[at]
    op, _, *others = error.fields()
    return type(error)(op, values, *others)
