"""of_polars.py: the frames for polars' DataFrame, Series and LazyFrame."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gatherscatter import _core
from gatherscatter._table.casts import cast_step
from gatherscatter._table.column_names import places_of
from gatherscatter._table.frames import AnyFrame, ArrowFrame, Frame, Roles
from gatherscatter._table.messages import called
from gatherscatter._table.polars_scalars import one_series, series_of
from gatherscatter._table.registry import Kind, register
from gatherscatter.errors import DataTypeError

__all__: list[str] = []  # the frames register themselves

pl: Any = importlib.import_module("polars")
INSPECTED = {pl.Object, pl.Array, pl.List, pl.Struct}  # classes, because they compare much faster than dtypes
# Columns whose codes mean the same in every column of an equal dtype, which polars 1.32 introduced. The export of an
# Enum takes less time than its codes, unless it has thousands of categories.
CODED = {pl.Categorical} if hasattr(pl, "Categories") else set()
# polars takes fewer rows of a frame of so many columns in less time than it needs to export and import these columns.
# Up to LAZY columns, a lazy gather takes less time than an eager one; its method came with polars 2.
WIDE, FEW = 24, 1024
FILTERED = 1 << 16  # of a mask so many, because both sides write far fewer bytes than columns take to exchange
LAZY = 256 if hasattr(pl.DataFrame, "gather") else 0
INDEX = np.dtype("uint32") if pl.get_index_type() == pl.UInt32 else np.dtype("uint64")


class PolarsFrame(ArrowFrame):
    """Base class of the eager frames: it compares dtypes that Arrow does not distinguish, and converts scalars.

    Categorical columns take part as their codes, because polars' export of them takes time in proportion to the column
    and its categories. They are exported as dictionaries only for a partner of another library.
    """

    __slots__ = ("coded", "exported", "full", "op")
    coded: bool  # whether the table has codes in place of Categorical columns
    exported: _core.ArrowTable | None

    def __init__(self, op: str, source: Any, full: bool, coded: bool) -> None:
        self.op, self.source, self.coded, self.full = op, source, coded, full
        self.exported = None
        if full:
            self.exported = self.table

    @property
    def table(self) -> _core.ArrowTable:
        """The exported table; a frame whose rows polars takes itself is not exported."""
        if self.exported is None:
            source = self._codes(self.source) if self.coded else self.source
            self.exported = _core.ArrowTable(source, self.form, self.full, self.op)
        return self.exported

    @table.setter
    def table(self, table: _core.ArrowTable) -> None:
        self.exported = table

    def as_arrow(self, op: str) -> None:
        if self.coded:
            self.coded, self.exported = False, None

    def adopt(self, op: str, source: Any, kind: Kind, full: bool) -> Any:
        is_own = isinstance(kind, type) and issubclass(kind, PolarsFrame)
        if is_own:
            return self.on_own_device(op, kind(op, source, full))
        self.as_arrow(op)
        return super().adopt(op, source, kind, full)

    @staticmethod
    @abstractmethod
    def _codes(source: Any) -> Any: ...

    def check_types(self, op: str, other: Any, roles: Roles) -> None:
        # Arrow does not distinguish all dtypes: two Enums of different categories are one type there.
        if isinstance(other, PolarsFrame):
            mine, theirs = self._series(), other._series()
            for a, b in zip(mine, theirs, strict=True):
                if a.dtype != b.dtype:
                    raise DataTypeError(
                        f"{op}: {called(a.name)} is of {a.dtype} in {roles[0]}, {b.dtype} in {roles[1]}"
                        f"{cast_step(self, other, roles)}"
                    )
        super().check_types(op, other, roles)

    def one_row(self, op: str, values: list[Any]) -> Frame:
        columns = [one_series(op, c.name, c.dtype, v) for c, v in zip(self._series(), values, strict=True)]
        return self._one_row(op, columns)

    @abstractmethod
    def _series(self) -> list[Any]: ...

    @abstractmethod
    def _one_row(self, op: str, columns: list[Any]) -> Frame: ...


class DataFrameFrame(PolarsFrame):
    """A DataFrame. Of a wide one, and of one with Categorical columns, polars itself takes few rows: no column is
    exported for them."""

    __slots__ = ("is_few",)
    form = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        kinds = set(map(type, source.dtypes))
        if not INSPECTED.isdisjoint(kinds):
            for name, dtype in source.schema.items():
                require_arrow(op, f"column {name!r}", dtype)
        super().__init__(op, source, full, not CODED.isdisjoint(kinds))
        self.is_few = False

    @staticmethod
    def names_of(source: Any) -> list[Any]:
        return list(source.columns)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        return source[:, places] if places else source.drop(source.columns)  # a frame without columns keeps its height

    def of_places(self, op: str, places: list[int]) -> Any:
        return DataFrameFrame(op, self.part(self.source, places), False)

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        return self.source.with_columns(part.get_columns())

    def expect(self, rows: int) -> None:
        self.is_few = rows < FEW and self._exports_slowly()

    def expect_mask(self) -> None:
        self.is_few = self.source.height < FILTERED and self._exports_slowly()

    def _exports_slowly(self) -> bool:
        is_wide = self.source.width >= WIDE or self.coded
        return is_wide and type(self.source) is pl.DataFrame and not self.full

    @property
    def lengths(self) -> tuple[int, ...]:
        return (self.source.height,) if self.is_few else self.table.lengths

    @property
    def device(self) -> int:
        return -1

    def take(self, rows: _core.Selection, other: Any = None, nullable: bool = False) -> Any:
        if not self.is_few:
            return super().take(rows, other, nullable)
        positions = rows.positions()
        index = pl.Series(positions.astype(INDEX))
        if rows.missing:
            index = index.set(pl.Series(positions < 0), None)
        return self.source.gather(index) if self.source.width < LAZY else self.source[index]

    def moved_by(self, function: str, rows: int | None, result: int | None) -> str:
        most, size = {"gather": (FEW, result), "filter": (FILTERED, rows)}.get(function, (0, None))
        if size is not None and size < most and self._exports_slowly():
            what = f"at least {WIDE} columns" if self.source.width >= WIDE else "Categorical columns"
            return f"polars, because there are fewer than {most:,} rows of {what}"
        return super().moved_by(function, rows, result)

    def back(self, result: _core.ArrowTable) -> Any:
        frame = pl.DataFrame(result)
        if self.coded:
            frame = frame.with_columns(pl.col(n).cat.to(d) for n, d in self.source.schema.items() if type(d) in CODED)
        return of_class_of(self.source, frame, "_from_pydf", "_df")

    @staticmethod
    def _codes(source: Any) -> Any:
        return source.with_columns(pl.col(n).to_physical() for n, d in source.schema.items() if type(d) in CODED)

    def _series(self) -> list[Any]:
        return list(self.source.get_columns())

    def _one_row(self, op: str, columns: list[Any]) -> Frame:
        if columns:
            return DataFrameFrame(op, pl.DataFrame(columns), False)
        return DataFrameFrame(op, pl.DataFrame([pl.Series("row", [0])]).drop("row"), False)


class SeriesFrame(PolarsFrame):
    """A Series; its name is kept."""

    __slots__ = ()
    form = False

    def __init__(self, op: str, source: Any, full: bool) -> None:
        if type(source.dtype) in INSPECTED:
            require_arrow(op, f"the Series {source.name!r}", source.dtype)
        super().__init__(op, source, full, type(source.dtype) in CODED)

    @property
    def names(self) -> list[Any]:
        return [self.source.name]

    def back(self, result: _core.ArrowTable) -> Any:
        series = pl.Series(result).cat.to(self.source.dtype) if self.coded else pl.Series(result)
        return of_class_of(self.source, series, "_from_pyseries", "_s")

    @staticmethod
    def _codes(source: Any) -> Any:
        return source.to_physical()

    def _series(self) -> list[Any]:
        return [self.source]

    def _one_row(self, op: str, columns: list[Any]) -> Frame:
        return SeriesFrame(op, columns[0], False)

    def of_array(self, op: str, role: str, values: np.ndarray[Any, Any]) -> Frame:
        column = series_of(self.source.dtype, values)
        if column is None:
            raise DataTypeError(
                f"{op}: {role} is an array of {values.dtype}, which the column of {self.source.dtype} does not hold "
                "without a change: make it a Series first"
            )
        return SeriesFrame(op, column, False)


class LazyFrameFrame(AnyFrame):
    """A LazyFrame. The operator runs when the query is collected, on all rows at once."""

    __slots__ = ("source",)
    lazy: ClassVar[bool] = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.source = source

    @property
    def names(self) -> list[Any]:
        names: list[Any] = self.source.collect_schema().names()
        return names

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        names = source.collect_schema().names()
        places_of(op, names, columns)
        if columns:
            return cls(op, source.select(pl.selectors.by_name(*columns)), full)
        return RowsOfLazyFrame(op, source.select(names[:1]) if names else source, full)

    def later(self, function: Callable[[Any], Any], columns_apart: bool) -> Any:
        """`function` as a step of the query. polars moves no filter and no slice of rows in front of it. It may drop
        unused columns before it if `columns_apart`, that is, if the function treats each column on its own."""
        return self.source.map_batches(
            function,
            predicate_pushdown=False,
            slice_pushdown=False,
            projection_pushdown=columns_apart,
            streamable=False,
        )


class RowsOfLazyFrame(LazyFrameFrame):
    """The rows of a LazyFrame without its columns. A query that selects no column has no rows, so it selects one."""

    __slots__ = ()

    def later(self, function: Callable[[Any], Any], columns_apart: bool) -> Any:
        return self.source.map_batches(
            lambda whole: function(DataFrameFrame.part(whole, [])),
            predicate_pushdown=False,
            slice_pushdown=False,
            projection_pushdown=False,
            streamable=False,
            schema={},
        )


def of_class_of(source: Any, result: Any, maker: str, inside: str) -> Any:
    """A result as one of the class of the source, which may derive from that of polars, as polars' methods do it."""
    kind = type(source)
    if kind is type(result) or not hasattr(kind, maker) or not hasattr(result, inside):  # these are not public
        return result
    return getattr(kind, maker)(getattr(result, inside))


def require_arrow(op: str, what: str, dtype: Any) -> None:
    """Raise DataTypeError for a dtype that polars cannot export to Arrow, or that makes it panic on import."""
    kind = type(dtype)
    if kind is pl.Object:
        raise DataTypeError(
            f"{op}: {what} is of polars' Object type, which holds Python objects and cannot leave polars: cast it first"
        )
    if kind is pl.Array and dtype.size == 0:
        raise DataTypeError(
            f"{op}: {what} is of {dtype}, arrays of no elements, which polars cannot read from Arrow: cast it to a List"
        )
    if kind in INSPECTED:
        for inner in [field.dtype for field in dtype.fields] if kind is pl.Struct else [dtype.inner]:
            require_arrow(op, what, inner)


register("polars", DataFrame=DataFrameFrame, Series=SeriesFrame, LazyFrame=LazyFrameFrame)
