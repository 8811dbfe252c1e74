"""frames.py: finds the frame of a table or column, and defines the frame for Arrow data."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np

from gatherscatter import _core
from gatherscatter._table import arrow_scalars
from gatherscatter._table.casts import cast_step, in_layouts_of
from gatherscatter._table.column_names import places_of, refuse_columns
from gatherscatter._table.fill_values import over
from gatherscatter._table.messages import counted
from gatherscatter._table.near_tables import no_table, step_to_a_table
from gatherscatter._table.registry import Kind, library_of_type, registered
from gatherscatter._table.row_scalars import PART, scalars_of
from gatherscatter.errors import DataTypeError, InvalidArgument, shown, type_name

__all__ = [
    "BY_COLUMNS",
    "ROLES",
    "AnyFrame",
    "ArrowFrame",
    "Frame",
    "Roles",
    "frame_of",
    "is_full",
    "is_known",
    "kind_of",
    "partner_of",
    "rows_to_write",
]

Roles: TypeAlias = tuple[str, str]  # names of a table and its partner in error messages
ROLES = ("the target", "the source")
BY_COLUMNS = "gatherscatter, column by column"  # who moves the rows, in a plan
_TAKES_PART = ("table.scatter", "table.boolean_mask_scatter")


class AnyFrame:
    """What is asked of every frame, also of one whose rows are moved later."""

    __slots__ = ()
    lazy: ClassVar[bool] = False
    tasks_of: ClassVar[str] = ""  # the library whose tasks move the rows, made by gather, scatter and mask_scatter

    def moved_by(self, function: str, rows: int | None, result: int | None) -> str:
        """The library that moves the rows in a function of `gatherscatter.table`, and why it is another one."""
        return BY_COLUMNS


class Frame(AnyFrame, ABC):
    """A table or column: its size, the selection of its rows, and results of the caller's kind."""

    __slots__ = ("source", "whole")
    source: Any
    whole: Any  # of a part: the frame with all columns of the caller's table; else not set

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        """The frame of a part of a table: the columns with these names, in their order."""
        names = cls.names_of(source)
        if names is None:
            raise refuse_columns(op, source)
        return cls(op, cls.part(source, places_of(op, names, columns)), full)

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.source = source

    @staticmethod
    def names_of(source: Any) -> list[Any] | None:
        """Names of the columns of a table; None for a column."""
        return None

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        """The table with the columns at some places, without a copy of them. A column is not asked for a part."""
        return source

    def of_places(self, op: str, places: list[int]) -> Any:
        """The frame of the columns at some places of this table."""
        return type(self)(op, self.part(self.source, places), False)

    @abstractmethod
    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        """The table with the columns at these places replaced by those of `part`, a result of `of_places`."""

    @property
    @abstractmethod
    def is_table(self) -> bool: ...

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """Rows of each chunk."""

    @property
    def device(self) -> int:
        """The GPU whose memory holds the data; -1 for host memory."""
        return -1

    def relabelled_by_position(self, result: Any) -> Any:
        """A result with fresh row labels 0, 1 and so on, where the library has row labels."""
        return result

    def without_labels(self) -> Frame:
        """The frame whose rows are taken for `relabelled_by_position`."""
        return self

    def expect(self, rows: int) -> None:
        """Before rows are selected for a gather: how many they are."""

    def expect_mask(self) -> None:
        """Before the rows are selected where a mask is true."""

    def taken_by_library(self, rows: np.ndarray[Any, Any]) -> Any:
        """The rows with these numbers, which count from the end if they are negative, where the library checks and
        takes them in less time than a selection; None in all other cases, also for a number that is out of bounds."""
        return None

    def written_by_library(self, rows: np.ndarray[Any, Any], other: Any) -> Any:
        """As `taken_by_library`: a copy of the table in which rows of `other` replace those with these numbers."""
        return None

    @property
    @abstractmethod
    def names(self) -> list[Any]:
        """Names of the columns; an empty list for a column without a name."""

    @property
    def width(self) -> int:
        """Number of columns; 1 for a column."""
        return len(self.names)

    @abstractmethod
    def take(self, rows: _core.Selection, other: Any = None, nullable: bool = False) -> Any:
        """The selected rows of this frame, or of this frame and `other`, as a table of the caller's kind."""

    def take_filled(self, op: str, rows: _core.Selection, places: list[int], values: list[Any]) -> Any:
        """The selected rows, of which the missing ones have these values in the columns at some places, else nulls."""
        whole = frame_of(op, "source", self.take(rows, None, True), "basic")
        part = whole
        if whole.is_table:
            part = whole.of_places(op, places)
            part.whole = whole
        found = over(op, part, rows.positions() < 0, part.one_row(op, values))
        return whole.replaced(op, places, found) if whole.is_table else found

    @abstractmethod
    def adopt(self, op: str, source: Any, kind: Kind, full: bool) -> Any:
        """The frame of another table, in a form that `take` of this frame accepts as `other`."""

    @abstractmethod
    def one_row(self, op: str, values: list[Any]) -> Any:
        """A frame of one row that has exactly this frame's types."""

    def check_like(self, op: str, other: Any, roles: Roles = ROLES) -> None:
        """Raise an error for a frame whose columns differ in number, name or type."""
        own_role, other_role = roles
        if self.is_table != other.is_table:
            kinds = ("table", "column") if self.is_table else ("column", "table")
            raise InvalidArgument(f"{op}: {own_role} is a {kinds[0]}, {other_role} is a {kinds[1]}")
        if self.width != other.width:
            width = counted(self.width, "column")
            step = f"; {PART}" if op in _TAKES_PART and set() < set(other.names) < set(self.names) else ""
            raise InvalidArgument(f"{op}: {own_role} has {width}, {other_role} has {other.width}{step}")
        if self.is_table and not self.has_names_of(other):
            at = next(i for i, (a, b) in enumerate(zip(self.names, other.names, strict=True)) if a != b)
            raise InvalidArgument(
                f"{op}: columns match by position, and column {at} is called {shown(self.names[at])} in {own_role}, "
                f"{shown(other.names[at])} in {other_role}"
            )
        self.check_types(op, other, roles)

    def has_names_of(self, other: Any) -> bool:
        return bool(self.names == other.names)

    @abstractmethod
    def check_types(self, op: str, other: Any, roles: Roles) -> None:
        """Raise DataTypeError for a frame of equal width that has a column of another type."""

    @abstractmethod
    def of_array(self, op: str, role: str, values: np.ndarray[Any, Any]) -> Any:
        """For a column: a frame of the elements of an array, converted to the column's type."""


class ArrowFrame(Frame):
    """A table or column that exports its buffers by the Arrow PyCapsule protocol. Its results are `ArrowTable`."""

    __slots__ = ("table",)
    by_name: ClassVar[bool] = True  # whether fields of structs inside of columns must have equal names
    form: ClassVar[bool | None] = None  # True: a table; False: a column; None: a table if its Arrow format is "+s"

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.source = source
        self.table = _core.ArrowTable(source, self.form, full, op)

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        if cls.names_of is not Frame.names_of:
            return super().of_columns(op, source, full, columns)
        frame = cls(op, source, full)
        if not frame.is_table:
            raise refuse_columns(op, source)
        frame.table = frame.table.with_columns(places_of(op, frame.names, columns))
        return frame

    @property
    def is_table(self) -> bool:
        return self.table.is_table

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.table.lengths

    @property
    def device(self) -> int:
        return self.table.device

    @property
    def names(self) -> list[Any]:
        return self.table.column_names

    @property
    def width(self) -> int:
        return self.table.num_columns

    def take(self, rows: _core.Selection, other: Any = None, nullable: bool = False) -> Any:
        return self.back(self.table.take(rows, None if other is None else other.table, nullable))

    def back(self, result: _core.ArrowTable) -> Any:
        return result

    def of_places(self, op: str, places: list[int]) -> Any:
        return ArrowFrame(op, self.table.with_columns(places), False)

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        if part.device == self.table.device and part.lengths == self.table.lengths:
            return self.back(self.table.with_replaced(places, part))
        try:
            pa: Any = importlib.import_module("pyarrow")
        except ModuleNotFoundError:
            raise TypeError(f"{op}: partial=True for a {type_name(self.source)} needs pyarrow") from None
        whole, columns = pa.table(self.table), pa.table(part)
        for at, place in enumerate(places):
            whole = whole.set_column(place, columns.schema.field(at), columns.column(at))
        return self.back(_core.ArrowTable(whole, True, False, op))

    def adopt(self, op: str, source: Any, kind: Kind, full: bool) -> Any:
        arrow = isinstance(kind, type) and issubclass(kind, ArrowFrame)
        other = kind(op, source, full) if arrow else ArrowFrame(op, ArrowExport(op, source), full)
        other.as_arrow(op)
        return self.on_own_device(op, other)

    def as_arrow(self, op: str) -> None:
        """Make the table one that frames of other libraries can take as a partner."""

    def one_row(self, op: str, values: list[Any]) -> Any:
        return self.on_own_device(op, ArrowFrame(op, arrow_scalars.one_row(op, self.table, values), False))

    def of_array(self, op: str, role: str, values: np.ndarray[Any, Any]) -> Any:
        return self.on_own_device(op, ArrowFrame(op, arrow_scalars.column_of(op, role, self.table, values), False))

    def on_own_device(self, op: str, other: Any) -> Any:
        """The frame of a partner, copied to this table's GPU if this table is on one."""
        if self.table.device >= 0:
            other.table = other.table.to_device(op, self.table.device)
        return other

    def check_types(self, op: str, other: Any, roles: Roles) -> None:
        check = self.table.check_names if self.by_name else self.table.check_like
        try:
            check(other.table, op, *roles)
        except DataTypeError as error:
            cast = in_layouts_of(op, self.table, other.table)
            if cast is not None:
                other.table = cast
                check(cast, op, *roles)
                return
            step = cast_step(self, other, roles)
            if not step and "polars" in map(library_of_type, (type(self.source), type(other.source))):
                step = "; polars keeps text and bytes as views: cast one side first" if "_view" in str(error) else ""
            raise DataTypeError(f"{error}{step}") from None


class ArrowExport:
    """A pandas object exported to Arrow memory, without its row labels, because they are not a column."""

    __slots__ = ("stream",)

    def __init__(self, op: str, source: Any) -> None:
        try:
            self.stream = source.reset_index(drop=True).__arrow_c_stream__()
        except (TypeError, ValueError, ArithmeticError, RuntimeError) as error:  # pyarrow cannot convert a value
            raise DataTypeError(f"{op}: the {type_name(source)} cannot be turned into Arrow memory: {error}") from error

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.stream


_kinds: dict[type, Kind | None] = {_core.ArrowTable: ArrowFrame}


def frame_of(op: str, role: str, source: Any, validate: str, columns: Any = None) -> Any:
    """The frame of a table or column, or of the columns of a table with these names.

    Raises
    ------
    TypeError
        If the object is neither a table nor a column.
    InvalidArgument
        If a column has none of the names, or the object is a column.
    """
    kind: Any = _kinds.get(type(source)) or kind_of(source)
    if kind is None:
        raise no_table(op, role, source)
    full = validate != "basic" and is_full(op, validate)
    return kind(op, source, full) if columns is None else kind.of_columns(op, source, full, columns)


def partner_of(op: str, roles: Roles, frame: Any, source: Any, validate: str) -> Any:
    """The frame of a table whose rows are written into the table of `frame`; their columns must match.

    Raises
    ------
    TypeError
        If the object is neither a table nor a column, or is lazy.
    InvalidArgument, DataTypeError
        If the columns differ in number, name or type.
    """
    role = roles[1].removeprefix("the ")
    kind = _kinds.get(type(source)) or kind_of(source)
    if kind is None:
        raise no_table(op, role, source)
    if hasattr(kind, "native"):  # a wrapper, whose own kind decides
        return partner_of(op, roles, frame, kind.native(source), validate)
    if getattr(kind, "lazy", False):
        raise TypeError(f"{op}: {role} is a {type_name(source)}: collect it first")
    other = frame.adopt(op, source, kind, validate != "basic" and is_full(op, validate))
    frame.check_like(op, other, roles)
    return other


def rows_to_write(op: str, role: str, frame: Any, source: Any, validate: str) -> tuple[Any, bool]:
    """The frame of the rows to write, and whether it is one row that was made of scalars, one for each column.

    Tables and columns are read as by `partner_of`.
    """
    if (_kinds.get(type(source)) or kind_of(source)) is not None:
        return partner_of(op, (ROLES[0], f"the {role}"), frame, source, validate), False
    if type(source).__module__ != "builtins" and step_to_a_table(source):
        raise no_table(op, role, source)
    if isinstance(source, np.ndarray) and source.ndim:
        if frame.is_table:
            raise TypeError(f"{op}: {role} is an array, the target is a table: give a table, or scalars in a list")
        return frame.of_array(op, role, source), False
    return frame.one_row(op, scalars_of(op, role, frame, source)), True


def is_known(source: Any) -> bool:
    """Whether the object is a table or column of a type that was given before."""
    return type(source) in _kinds


def kind_of(source: Any) -> Kind | None:
    """The frame class of an object, found by the nearest base class of its type in a known library.

    These are cached by type. Objects of other libraries are checked for the Arrow protocols in each call.
    """
    known = registered(type(source))
    if known is None:
        return ArrowFrame if _exports_arrow(source) else None
    _kinds[type(source)] = known
    return known


def _exports_arrow(source: Any) -> bool:
    return any(hasattr(source, f"__arrow_c_{protocol}__") for protocol in ("stream", "array", "device_array"))


def is_full(op: str, validate: object) -> bool:
    """Whether ``validate="full"`` is given, for a value other than "basic"; raise ValueError for all others."""
    if validate != "full":
        raise ValueError(f'{op}: validate is {shown(validate)}, expected "basic" or "full"')
    return True
