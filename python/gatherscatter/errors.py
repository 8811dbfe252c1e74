"""errors.py: the exceptions of the package, as values: they compare, copy and travel between processes."""

from __future__ import annotations

import reprlib
import sys
from operator import index
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

__all__ = [
    "BatchShapeError",
    "DataTypeError",
    "DeferredOutOfBoundsError",
    "EmptyAxisError",
    "EmptyTargetError",
    "IndexTypeError",
    "InvalidArgument",
    "LogicError",
    "NullIndexError",
    "OutOfBoundsError",
    "ShapeMismatchError",
    "TileError",
    "TileTypeError",
    "TileValueError",
]


class OutOfBoundsError(IndexError, ValueError, RuntimeError):
    """An index lies outside its axis; nothing was written.

    The systems that the operators come from name three different types for this error. It is all three, so code
    written for any of them keeps working.

    Parameters
    ----------
    op : str
        Public name of the operator, such as ``"gather"``.
    index : int
        The value found, at full width: a ``uint64`` beyond 2**63 is not folded into a negative number.
    position : tuple of int
        Where it was found: coordinates in the (broadcast) shape of the indices. Of several bad positions it is the
        lowest in C order, whatever the number of threads.
    axis : int
        Axis of the array that it addresses; of several bad axes at that position the lowest.
    size : int
        Length of that axis.
    count : int, default 1
        How many positions are bad.
    total : int, default 1
        How many positions there are.
    from_end : bool, default True
        Whether negative values count from the end there. False as well for unsigned indices.

    Examples
    --------
    >>> import gatherscatter as gs, numpy as np
    >>> try:
    ...     gs.take(np.arange(3), np.array([0, 7]))
    ... except gs.OutOfBoundsError as error:
    ...     print(error.index, error.position, error.axis, error.size, error.count)
    ...     print(str(error)[:79])
    7 (1,) 0 3 1
    index 7 is out of bounds for axis 0 with size 3: at position (1,) of the index,
    """

    op: str
    index: int
    position: tuple[int, ...]
    axis: int
    size: int
    count: int
    total: int
    from_end: bool

    def __init__(
        self,
        op: str,
        index: int,
        position: tuple[int, ...],
        axis: int,
        size: int,
        count: int = 1,
        total: int = 1,
        from_end: bool = True,
    ) -> None:
        self.op = op
        self.index = int(index)
        self.position = tuple(position)
        self.axis = int(axis)
        self.size = int(size)
        self.count = int(count)
        self.total = int(total)
        self.from_end = bool(from_end)
        super().__init__(self._message())

    def _message(self) -> str:
        where = f"at position {self.position} of the index, " if self.position else ""
        return (
            f"index {shown(self.index)} is out of bounds for axis {self.axis} with size {self.size}: "
            f"{where}{self.op} accepts {self._valid_range()}{self._how_many()}"
        )

    def _valid_range(self) -> str:
        if self.size == 0:
            return "no index, because the axis is empty"
        lowest = -self.size if self.from_end else 0
        return f"{lowest} to {self.size - 1}" if lowest < self.size - 1 else f"only {lowest}"

    def _how_many(self) -> str:
        if self.total <= 1:
            return ""
        return f" ({self.count} of {self.total} indices {'is' if self.count == 1 else 'are'} out of bounds)"

    def fields(self) -> tuple[Any, ...]:
        """The arguments that make an equal error."""
        return (self.op, self.index, self.position, self.axis, self.size, self.count, self.total, self.from_end)

    # BaseException pickles its args, which hold only the message. The state carries what was added, such as notes.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.fields(), dict(self.__dict__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((type(self), self.fields()))


class DeferredOutOfBoundsError(OutOfBoundsError):
    """An index that lay outside in an earlier call, which did not wait for it (``bounds="deferred"`` on a GPU).

    Nothing was written for that index, everything else was. `op` names the call.

    Parameters
    ----------
    op, index, position, axis, size, count, total, from_end
        As in `OutOfBoundsError`, found in the index array as it is when the error is raised.
    changed : bool, default False
        Whether that array holds no bad index any more. Then `position` is the one that was recorded, and `index` is 0.

    Examples
    --------
    >>> from gatherscatter.errors import DeferredOutOfBoundsError
    >>> print(str(DeferredOutOfBoundsError("take", 9, (1,), 0, 3, 1, 2)).partition("; ")[2])
    deferred from an earlier call of take
    """

    changed: bool

    def __init__(
        self,
        op: str,
        index: int,
        position: tuple[int, ...],
        axis: int,
        size: int,
        count: int = 1,
        total: int = 1,
        from_end: bool = True,
        changed: bool = False,
    ) -> None:
        self.changed = bool(changed)
        super().__init__(op, index, position, axis, size, count, total, from_end)

    def _message(self) -> str:
        late = f"; deferred from an earlier call of {self.op}"
        if not self.changed:
            return super()._message() + late
        return (
            f"an index was out of bounds for axis {self.axis} with size {self.size}: at position {self.position} of "
            f"the index, whose value has changed since{late}"
        )

    def fields(self) -> tuple[Any, ...]:
        """The arguments that make an equal error."""
        return (*super().fields(), self.changed)


class EmptyAxisError(OutOfBoundsError):
    """An index into an axis without elements, in the words that NumPy has for it.

    Raised by `take`, as NumPy does under every mode: an empty axis has nothing to clip or wrap to.

    Examples
    --------
    >>> import gatherscatter as gs, numpy as np
    >>> gs.take(np.empty(0), np.array([0]), mode="clip")
    Traceback (most recent call last):
        ...
    gatherscatter.errors.EmptyAxisError: cannot do a non-empty take from an empty axes.
    """

    def _message(self) -> str:
        return "cannot do a non-empty take from an empty axes."


class EmptyTargetError(OutOfBoundsError):
    """An index into an array without elements, in the words that NumPy's `put` has for it.

    Examples
    --------
    >>> import gatherscatter as gs, numpy as np
    >>> gs.put(np.empty(0), [0], 1.0)
    Traceback (most recent call last):
        ...
    gatherscatter.errors.EmptyTargetError: cannot replace elements of an empty array
    """

    def _message(self) -> str:
        return "cannot replace elements of an empty array"


class BatchShapeError(ValueError, RuntimeError):
    """Input and indices differ in their first `batch_dims` axes: a RuntimeError in MindSpore, else a ValueError."""


class ShapeMismatchError(IndexError, ValueError):
    """Shapes that do not broadcast. NumPy calls this an IndexError where it indexes, everyone else a ValueError."""


class InvalidArgument(ValueError):
    """Tables, maps and masks whose counts or lengths do not fit together: libcudf's ``std::invalid_argument``."""


class DataTypeError(InvalidArgument, TypeError):
    """A column, scalar or mask of another type than its partner: libcudf's ``cudf::data_type_error``."""


class LogicError(RuntimeError):
    """A map that cannot serve as one: libcudf's ``cudf::logic_error``."""


class NullIndexError(InvalidArgument, LogicError):
    """A null where a row number belongs. The two documents of libcudf name one class each; this is both."""


class IndexTypeError(LogicError, TypeError):
    """A map that does not consist of integers."""


class TileError(Exception):
    """Base of what the tile operators raise for arguments that cuTile would not compile."""


class TileTypeError(TileError, TypeError):
    """A dtype, shape or kind of argument that a tile operator does not take."""


class TileValueError(TileError, ValueError):
    """A constant that is out of range: a padding literal, or `latency`."""


def axis_error(op: str, axis: Any, rank: int) -> AxisError:
    """No array has an axis of that number, which may be any integer."""
    number = index(axis)
    if number.bit_length() <= 256:
        return AxisError(number, rank, op)
    return AxisError(f"{op}: axis {shown(number)} is out of bounds for array of dimension {rank}")


def name_of(cls: type) -> str:
    """The name of a type with that of its module, but for those of Python itself."""
    return f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")


def type_name(value: object) -> str:
    """The same of an object's type, as its users write it: ``polars.Series``, wherever polars has defined it."""
    cls = type(value)
    package = cls.__module__.partition(".")[0]
    is_public = getattr(sys.modules.get(package), "__dict__", {}).get(cls.__qualname__) is cls
    return f"{package}.{cls.__qualname__}".removeprefix("builtins.") if is_public else name_of(cls)


def shown(value: object) -> str:
    """A value for a message, in one line, whatever its size.

    Python refuses to print integers of several thousand digits; arrays, columns and tables print pages, or read the
    memory of a GPU, so only their type and shape are told.
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1}.."
    name = f"a {type_name(value)}"
    if is_large(value):
        shape = _shape(value)
        return name if shape is None else f"{name} of shape {shape}"
    try:
        text = _items.repr(value) if type(value) in _CONTAINERS else repr(value)
    except Exception:  # the words of another class, and what it holds
        return name
    text = text.partition("\n")[0]
    return text if len(text) <= 80 else text[:77] + "..."


def is_large(value: object) -> bool:
    """Whether it is an array, a column or a table, and no scalar."""
    if isinstance(value, np.generic | type):
        return False
    # The type is asked: an object may answer to every name.
    ways = ("__array__", "__dlpack__", "__cuda_array_interface__", "__arrow_c_stream__", "__arrow_c_array__")
    return any(hasattr(type(value), way) for way in ways) and _shape(value) != ()


def _shape(value: object) -> tuple[Any, ...] | None:
    try:
        shape = getattr(value, "shape", None)
        return tuple(shape) if isinstance(shape, tuple) else None
    except Exception:  # nested tensors have none
        return None


_CONTAINERS = {list, tuple, set, frozenset, dict}


class _Items(reprlib.Repr):
    """Prints a few items of a container, each as a value by itself."""

    def repr1(self, x: Any, level: int) -> str:
        return super().repr1(x, level) if type(x) in _CONTAINERS else shown(x)


_items = _Items()
