"""errors.py: the exceptions of the package, which can be compared, copied and pickled, and the texts of values."""

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
    "NegativeIndexError",
    "NullIndexError",
    "OutOfBoundsError",
    "ShapeMismatchError",
    "TileError",
    "TileTypeError",
    "TileValueError",
]


class OutOfBoundsError(IndexError, ValueError, RuntimeError):
    """An index is out of bounds for its axis; nothing was written.

    The systems that define the operators raise three different types for this error. It derives from all three, so
    that code written for any of them keeps working.

    Parameters
    ----------
    op : str
        Public name of the operator, such as ``"gather"``.
    index : int
        The index at full width: a ``uint64`` beyond 2**63 is not converted to a negative number.
    position : tuple of int
        Coordinates of the index in the (broadcast) shape of the indices. If several indices are bad, it is the lowest
        in C order, for any number of threads.
    axis : int
        Axis of the array that the index addresses; the lowest one if several indices at that position are bad.
    size : int
        Length of that axis.
    count : int or None, default 1
        Number of positions with a bad index. None if it is not known, because the index lies in chunks that different
        tasks read (Dask); `position` is then one of the bad ones, not always the lowest.
    total : int, default 1
        Number of all positions.
    from_end : bool, default True
        Whether negative indices count from the end. It is also False for unsigned indices.

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
    count: int | None
    total: int
    from_end: bool

    def __init__(
        self,
        op: str,
        index: int,
        position: tuple[int, ...],
        axis: int,
        size: int,
        count: int | None = 1,
        total: int = 1,
        from_end: bool = True,
    ) -> None:
        self.op = op
        self.index = int(index)
        self.position = tuple(position)
        self.axis = int(axis)
        self.size = int(size)
        self.count = None if count is None else int(count)
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
        if self.total <= 1 or self.count is None:
            return ""
        return f" ({self.count} of {self.total} indices {'is' if self.count == 1 else 'are'} out of bounds)"

    def fields(self) -> tuple[Any, ...]:
        """The constructor arguments that make an equal error."""
        return (self.op, self.index, self.position, self.axis, self.size, self.count, self.total, self.from_end)

    # BaseException pickles its args, which hold only the message. The state carries later attributes such as notes.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.fields(), dict(self.__dict__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((type(self), self.fields()))


class DeferredOutOfBoundsError(OutOfBoundsError):
    """An index was out of bounds in an earlier call with a deferred check (``bounds="deferred"`` on a GPU).

    Nothing was written for bad indices; all other points were written. `op` names the call.

    Parameters
    ----------
    op, index, position, axis, size, count, total, from_end
        As in `OutOfBoundsError`, read from the index array at the time when the error is raised.
    changed : bool, default False
        Whether the index array no longer has a bad index at that time. Then `position` is the one that the call
        recorded, and `index` is 0.

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
        count: int | None = 1,
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
        """The constructor arguments that make an equal error."""
        return (*super().fields(), self.changed)


class NegativeIndexError(OutOfBoundsError):
    """A map has a negative number, and the call does not say what it means; nothing was written.

    Where a number out of bounds is no error (``bounds="nullify"`` or ``"drop"`` of tables), -1 often means that a key
    was not found. It could also mean the last row, so ``negative=`` has to choose.

    Parameters
    ----------
    op, index, position, axis, size, total, from_end
        As in `OutOfBoundsError`, for the first negative number. The position is ``()`` and the index -1 if it is not
        known, as in a map with nulls on a GPU.
    count : int or None, default 1
        How many numbers are negative.
    bounds : {"nullify", "drop"}, default "nullify"
        The rule of the call.

    Examples
    --------
    >>> import gatherscatter as gs, pandas as pd
    >>> planes = pd.DataFrame({"seats": [55, 180]}, index=["N1", "N2"])
    >>> found = planes.index.get_indexer(["N2", "N9"])
    >>> try:
    ...     gs.table.gather(planes, found, bounds="nullify")
    ... except gs.errors.NegativeIndexError as error:
    ...     print(error.index, error.position)
    -1 (1,)
    >>> gs.table.gather(planes, found, bounds="nullify", negative="out_of_bounds")["seats"].tolist()
    [180.0, nan]
    """

    bounds: str

    def __init__(
        self,
        op: str,
        index: int,
        position: tuple[int, ...],
        axis: int,
        size: int,
        count: int | None = 1,
        total: int = 1,
        from_end: bool = False,
        bounds: str = "nullify",
    ) -> None:
        self.bounds = str(bounds)
        super().__init__(op, index, position, axis, size, count, total, from_end)

    def _message(self) -> str:
        missing = "leaves its row out" if self.bounds == "drop" else "makes it a null row"
        found = "the map has negative numbers"
        if self.position:
            found = f"index {shown(self.index)} at position {self.position} of the map is negative"
        return (
            f'{found}, and under bounds="{self.bounds}" {self.op} does not guess: negative="out_of_bounds" {missing}, '
            f'as for a key that was not found; negative="from_end" counts it from the end{self._how_many()}'
        )

    def _how_many(self) -> str:
        if self.total <= 1 or self.count is None:
            return ""
        return f" ({self.count} of {self.total} numbers {'is' if self.count == 1 else 'are'} negative)"

    def fields(self) -> tuple[Any, ...]:
        """The constructor arguments that make an equal error."""
        return (*super().fields(), self.bounds)


class EmptyAxisError(OutOfBoundsError):
    """An index into an axis without elements, with NumPy's message.

    `take` raises it under every mode, as NumPy does: an empty axis has no position to clip or wrap to.

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
    """An index into an array without elements, with the message of NumPy's `put`.

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
    """Input and indices differ in their first `batch_dims` axes: a RuntimeError, as in MindSpore, and a ValueError."""


class ShapeMismatchError(IndexError, ValueError):
    """Shapes do not broadcast: NumPy raises an IndexError for it when indexing, and a ValueError elsewhere."""


class InvalidArgument(ValueError):
    """The counts or lengths of tables, maps and masks do not match: libcudf's ``std::invalid_argument``."""


class DataTypeError(InvalidArgument, TypeError):
    """The type of a column, scalar or mask does not match: libcudf's ``cudf::data_type_error``."""


class LogicError(RuntimeError):
    """An array is not a valid map: libcudf's ``cudf::logic_error``."""


class NullIndexError(InvalidArgument, LogicError):
    """A map has a null. Two documents of libcudf name a different class each, and this class derives from both."""


class IndexTypeError(LogicError, TypeError):
    """A map does not consist of integers."""


class TileError(Exception):
    """Base of the errors of tile operators for arguments that cuTile would not compile."""


class TileTypeError(TileError, TypeError):
    """A tile operator does not accept the dtype, shape or kind of an argument."""


class TileValueError(TileError, ValueError):
    """A constant is out of range: a padding literal, or `latency`."""


def axis_error(op: str, axis: Any, rank: int) -> AxisError:
    """The error for an axis out of range. `axis` may be an integer of any size."""
    number = index(axis)
    if number.bit_length() <= 256:
        return AxisError(number, rank, op)
    return AxisError(f"{op}: axis {shown(number)} is out of bounds for array of dimension {rank}")


def name_of(cls: type) -> str:
    """The name of a type with the name of its module, which is left out for the builtins."""
    return f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")


def type_name(value: object) -> str:
    """The name of an object's type as users of the library write it.

    It is ``polars.Series``, for example, although a submodule of polars defines the class.
    """
    cls = type(value)
    package = cls.__module__.partition(".")[0]
    is_public = getattr(sys.modules.get(package), "__dict__", {}).get(cls.__qualname__) is cls
    return f"{package}.{cls.__qualname__}".removeprefix("builtins.") if is_public else name_of(cls)


def shown(value: object) -> str:
    """Format a value of any size for a message, in one short line.

    Very large integers are abbreviated, because Python refuses to print integers of several thousand digits. Of arrays,
    columns and tables only type and shape are shown: their repr has many lines or reads the memory of a GPU.
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1}.."
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()  # NumPy writes np.int64(5) for 5
    name = f"a {type_name(value)}"
    if is_large(value):
        shape = _shape(value)
        return name if shape is None else f"{name} of shape {shape}"
    try:
        text = _items.repr(value) if type(value) in _CONTAINERS else repr(value)
    except Exception:  # the repr of the value's class, or of one of its items, may raise anything
        return name
    text = text.partition("\n")[0]
    return text if len(text) <= 80 else text[:77] + "..."


def is_large(value: object) -> bool:
    """Whether a value is an array, a column or a table, and not a scalar."""
    if isinstance(value, np.generic | type):
        return False
    # The attributes are looked up on the type, because an object such as a mock may have every attribute.
    protocols = ("__array__", "__dlpack__", "__cuda_array_interface__", "__arrow_c_stream__", "__arrow_c_array__")
    return any(hasattr(type(value), protocol) for protocol in protocols) and _shape(value) != ()


def _shape(value: object) -> tuple[Any, ...] | None:
    try:
        shape = getattr(value, "shape", None)
        return tuple(shape) if isinstance(shape, tuple) else None
    except Exception:  # nested tensors have no shape and raise
        return None


_CONTAINERS = {list, tuple, set, frozenset, dict}


class _Items(reprlib.Repr):
    """Formats a few items of a container, each of them by `shown`."""

    def repr1(self, x: Any, level: int) -> str:
        return super().repr1(x, level) if type(x) in _CONTAINERS else shown(x)


_items = _Items()
