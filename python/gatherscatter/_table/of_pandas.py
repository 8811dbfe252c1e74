"""of_pandas.py: the frames for pandas' DataFrame and Series; labels and dtypes of results follow pandas' own take."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._ops.progress_parts import Steps
from gatherscatter._table import pandas_columns
from gatherscatter._table.casts import cast_step
from gatherscatter._table.fill_values import over
from gatherscatter._table.frames import Frame, Roles
from gatherscatter._table.messages import called
from gatherscatter._table.pandas_columns import SelectedRows, difference, merged, short_buffers, taken, values_of
from gatherscatter._table.pandas_exact import is_rounded, may_round
from gatherscatter._table.pandas_labels import duplicate_labels, taken_labels
from gatherscatter._table.pandas_maps import are_alike, has_rows_at, labels_at, rows_at, write_at
from gatherscatter._table.pandas_scalars import one_value
from gatherscatter._table.registry import Kind, gathers, register
from gatherscatter.errors import DataTypeError, type_name

__all__: list[str] = []  # the frames register themselves

pd: Any = importlib.import_module("pandas")

# Below this number of rows pandas takes all columns at once in less time than it needs to hand them over one by one.
# For merging the limit is lower, because pandas copies twice there.
FEW = 1 << 16
FEW_TO_MERGE = 1 << 14
COPIES_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3
# More columns share the numbers of a selection, which are narrower than those of the map.
MOST_BY_MAP = 2
MOST_WRITTEN, MOST_WRITTEN_COLUMNS = 1 << 16, 8
# What pandas raises for rows that our own columns hold: pyarrow has no take for some types (RuntimeError), and none
# beyond 2 GiB of text or for chunks of some dictionaries (ValueError); equal missing labels, where none may be equal,
# are a KeyError.
LIMITS_OF_LIBRARY = (RuntimeError, ValueError, KeyError)


class PandasFrame(Frame):
    """Base class of both frames. pandas itself takes the rows where there are few; else they are moved by column."""

    __slots__ = ("op", "recodes")

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.op = op
        self.source = source
        if problem := short_buffers(source):
            raise BufferError(f"{op}: a column of pandas cannot be read: {problem}")
        # Operator and roles for error messages, set if a column of the source has other categories.
        self.recodes: tuple[str, Roles] | None = None

    @property
    def lengths(self) -> tuple[int, ...]:
        return (len(self.source),)

    def moved_by(self, function: str, rows: int | None, result: int | None) -> str:
        merges = function not in ("gather", "filter")
        most, size = (FEW_TO_MERGE, rows) if merges else (FEW, rows if result is None else result)
        if size is not None and size < most:
            return f"pandas, because there are fewer than {most:,} rows"
        return super().moved_by(function, rows, result)

    def take(self, rows: _core.Selection, other: Any = None, nullable: bool = False) -> Any:
        selected = SelectedRows(rows, len(self.source))
        if self._has_few(other) if other is not None else rows.count < FEW:
            try:
                result = self._few_taken(selected) if other is None else self._few_merged(selected, other)
                if result is not None:
                    return result
            except LIMITS_OF_LIBRARY:
                pass
        if other is not None:
            return self._merged(selected, other)
        columns = self.columns()
        steps = Steps(len(columns), after_map=True, has_begun=_core.progress_has_begun())
        with steps.hidden():
            labels = taken_labels(self.source.index, selected)
            return self.built([steps.ended(taken(column, selected)) for column in columns], labels)

    def take_filled(self, op: str, rows: _core.Selection, places: list[int], values: list[Any]) -> Any:
        # Columns that get a value keep their dtypes, as in `reindex`: of integers no floats are made on the way.
        own = self.part(self.source, places) if self.is_table else self.source
        part = type(self)(op, own.set_flags(allows_duplicate_labels=True), False)
        one = part.one_row(op, values)
        result = self.take(rows, None, True)
        if not rows.missing:
            return result
        positions = rows.positions()
        missing = positions < 0
        some = part if len(own) else one  # any row stands for a missing one
        chosen = _core.Selection.gather(
            op, np.where(missing, 0, positions), None, some.lengths, "raise", "out_of_bounds", -1
        )
        found = over(op, type(self)(op, some.take(chosen), False), missing, one)
        if self.is_table:
            return type(self)(op, result, False).replaced(op, places, found)
        return self.built([values_of(found)], result.index)

    def taken_by_library(self, rows: np.ndarray[Any, Any]) -> Any:
        if rows.dtype != np.intp or rows.ndim != 1:
            return None
        if len(rows) < FEW:
            return few_taken(self.source, rows)
        if self.width > MOST_BY_MAP or not all(map(has_rows_at, self.columns())):
            return None
        rows = rows.copy()  # no other thread changes the copy between check and use
        try:
            columns = [rows_at(column, rows) for column in self.columns()]
        except IndexError:  # the selection names the number
            return None
        return self.built(columns, labels_at(self.source.index, rows))

    def written_by_library(self, rows: np.ndarray[Any, Any], other: Any) -> Any:
        if rows.dtype != np.intp or rows.ndim != 1 or not len(rows) == len(other.source) <= MOST_WRITTEN:
            return None
        if self.recodes or self.width > MOST_WRITTEN_COLUMNS:
            return None
        given = other.columns()
        if not all(map(are_alike, self.columns(), given)):
            return None
        rows = rows.copy()  # as above
        result = self.source.copy()
        try:
            written = [write_at(*pair, rows) for pair in zip(self.arrays_of(result), given, strict=True)]
            return result if all(written) else None
        except IndexError:  # the selection names the number
            return None

    def relabelled_by_position(self, result: Any) -> Any:
        result.index = pd.RangeIndex(len(result))
        return result if self.source.flags.allows_duplicate_labels else result.set_flags(allows_duplicate_labels=False)

    def without_labels(self) -> Frame:
        return type(self)(self.op, self.source.set_flags(allows_duplicate_labels=True), False)

    def _few_taken(self, selected: SelectedRows) -> Any:
        """The rows as pandas itself takes them; None where it would round integers to floats."""
        if not selected.rows.missing:
            return self.source.take(selected.positions)
        # `reindex` of the whole source takes time in proportion to it: pandas makes an array of its labels.
        present = ~selected.gaps
        found = self.source.take(selected.positions[present]).set_axis(pd.Index(np.flatnonzero(present)))
        if any(map(is_rounded, self.rounding_columns(found))):
            return None
        labels = taken_labels(self.source.index, selected)
        self.check_labels(labels)
        result = found.reindex(pd.RangeIndex(len(present)))
        result.index = labels
        return result

    def _merged(self, selected: SelectedRows, other: Any) -> Any:
        pairs = list(zip(self.columns(), other.columns(), strict=True))
        if self.recodes:
            self._check_categories(selected, pairs, *self.recodes)
        steps = Steps(len(pairs), after_map=True, has_begun=_core.progress_has_begun())
        with steps.hidden():
            columns = [steps.ended(merged(mine, theirs, selected)) for mine, theirs in pairs]
            return self.built(columns, self.source.index.view())

    def _check_categories(self, selected: SelectedRows, pairs: list[Any], op: str, roles: Roles) -> None:
        """Raise DataTypeError if a selected row of the source has a value that is no category of the target."""
        for name, (mine, theirs) in zip(self.names, pairs, strict=True):
            if mine.dtype != theirs.dtype:
                problem = difference(mine.dtype, theirs.take(selected.replaced[1]), roles)
                if problem:
                    raise DataTypeError(f"{op}: {called(name)} {problem}")

    def _has_few(self, other: Any) -> bool:
        return not self.recodes and max(len(self.source), len(other.source)) < FEW_TO_MERGE

    def _few_merged(self, selected: SelectedRows, other: Any) -> Any:
        # `take` may repeat a row, and with it a label, which a target with the flag against duplicate labels rejects.
        mine = self.source.set_flags(allows_duplicate_labels=True)
        both = pd.concat([mine, self.relabelled(other.source)], ignore_index=True)
        result = both.take(selected.positions)
        result.index = self.source.index.view()
        return result.__finalize__(self.source)

    def adopt(self, op: str, source: Any, kind: Kind, full: bool) -> Frame:
        if not (isinstance(kind, type) and issubclass(kind, PandasFrame)):
            raise TypeError(
                f"{op}: the target is of pandas, the source is a {type_name(source)}: convert one of them first"
                + ("; source.to_pandas() converts it" if hasattr(source, "to_pandas") else "")
            )
        return kind(op, source, full)

    def check_types(self, op: str, other: Any, roles: Roles) -> None:
        dtypes = self.dtypes()
        differing = [at for at, (mine, theirs) in enumerate(zip(dtypes, other.dtypes(), strict=True)) if mine != theirs]
        columns = other.columns() if differing else []
        for at in differing:
            # Only dtypes are compared for a source, because rows that the map does not use may hold any category.
            compared = columns[at] if roles[1] == "rhs" else columns[at][:0]
            problem = difference(dtypes[at], compared, roles)
            if problem:
                # A cast to categories would make missing values of all others.
                step = "" if isinstance(dtypes[at], pd.CategoricalDtype) else cast_step(self, other, roles)
                raise DataTypeError(f"{op}: {called(self.names[at])} {problem}{step}")
            self.recodes = op, roles

    def of_array(self, op: str, role: str, values: np.ndarray[Any, Any]) -> Any:
        (dtype,) = self.dtypes()
        if values.ndim != 1 or values.dtype != dtype:
            raise DataTypeError(
                f"{op}: {role} is an array of {values.dtype}, the target is of {dtype}: "
                f"convert it to a Series of that dtype first; pandas.Series({role}, dtype='{dtype}') is one"
            )
        return type(self)(op, pd.Series(values), False)

    def one_row(self, op: str, values: list[Any]) -> Frame:
        columns = self.columns()
        row = [one_value(op, name, c, value) for name, c, value in zip(self.names, columns, values, strict=True)]
        return type(self)(op, self.built(row, pd.RangeIndex(1)), False)

    @abstractmethod
    def columns(self) -> list[Any]:
        """The values of each column, as a NumPy array or an extension array."""

    @staticmethod
    @abstractmethod
    def arrays_of(source: Any) -> list[Any]:
        """The array of pandas for each column; a write to it is one to the object."""

    @staticmethod
    @abstractmethod
    def rounding_columns(source: Any) -> list[Any]:
        """The values of each column of whose dtype float64 does not hold every value."""

    @abstractmethod
    def dtypes(self) -> list[Any]: ...

    @abstractmethod
    def built(self, columns: list[Any], index: Any) -> Any:
        """A result with these columns and row labels."""

    def finalized(self, result: Any) -> Any:
        """A result with the attributes and flags of the source."""
        self.check_labels(result.index)
        return result.__finalize__(self.source)

    def check_labels(self, labels: Any) -> None:
        """Raise DuplicateLabels for labels of a result that the source does not allow."""
        if not (self.source.flags.allows_duplicate_labels or labels.is_unique):
            raise duplicate_labels(self.op)

    @abstractmethod
    def relabelled(self, source: Any) -> Any:
        """Another object with its columns renamed to the names of this one."""


class DataFrameFrame(PandasFrame):
    """A DataFrame or a subclass of it."""

    __slots__ = ("arrays",)
    is_table = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        super().__init__(op, source, full)
        self.arrays: list[Any] | None = None  # the columns, once they are needed

    @staticmethod
    def names_of(source: Any) -> list[Any]:
        return list(source.columns)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        return source.iloc[:, places]

    @property
    def names(self) -> list[Any]:
        return list(self.source.columns)

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        result = self.source.copy(deep=not COPIES_ON_WRITE)
        for at, place in enumerate(places):
            result.isetitem(place, pandas_columns.wrapped(values_of(part.iloc[:, at]), result.index))
        return result

    def has_names_of(self, other: Any) -> bool:
        # pandas makes an object of each name, which takes longer than the comparison of two indexes.
        mine, theirs = self.source.columns, other.source.columns
        return bool(mine.dtype == theirs.dtype and mine.equals(theirs)) or super().has_names_of(other)

    @property
    def width(self) -> int:
        return len(self.source.columns)

    def columns(self) -> list[Any]:
        if self.arrays is None:
            self.arrays = [values_of(column) for _, column in self.source.items()]
        return self.arrays

    @staticmethod
    def arrays_of(source: Any) -> list[Any]:
        return [column.array for _, column in source.items()]

    @staticmethod
    def rounding_columns(source: Any) -> list[Any]:
        if not any(map(may_round, source.dtypes)):
            return []
        return [values_of(column) for _, column in source.items() if may_round(column.dtype)]

    def dtypes(self) -> list[Any]:
        return [column.dtype for column in self.columns()]

    def built(self, columns: list[Any], index: Any) -> Any:
        # A dict with positions as keys copies nothing and permits duplicate column names.
        series = {at: pandas_columns.wrapped(column, index) for at, column in enumerate(columns)}
        result = pd.DataFrame(series, index=index, copy=False)
        result.columns = self.source.columns.view()  # a view has names of levels of its own
        if type(self.source) is not pd.DataFrame:
            result = self.source._constructor(result)  # the hook that pandas documents for subclasses
        return self.finalized(result)

    def relabelled(self, source: Any) -> Any:
        columns = self.source.columns
        return source if source.columns.equals(columns) else source.set_axis(columns, axis=1)


class SeriesFrame(PandasFrame):
    """A Series or a subclass of it; its name is kept."""

    __slots__ = ()
    is_table = False

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        return part

    @property
    def names(self) -> list[Any]:
        return [self.source.name]

    def columns(self) -> list[Any]:
        return [values_of(self.source)]

    @staticmethod
    def arrays_of(source: Any) -> list[Any]:
        return [source.array]

    @staticmethod
    def rounding_columns(source: Any) -> list[Any]:
        return [values_of(source)] if may_round(source.dtype) else []

    def dtypes(self) -> list[Any]:
        return [self.source.dtype]

    def built(self, columns: list[Any], index: Any) -> Any:
        values = columns[0]
        result = pd.Series(values, index=index, name=self.source.name, dtype=values.dtype, copy=False)
        if type(self.source) is not pd.Series:
            result = self.source._constructor(result)
        return self.finalized(result)

    def relabelled(self, source: Any) -> Any:
        return source.rename(self.source.name)


def few_taken(source: Any, rows: Any) -> Any:
    """Few rows of a table or column as `taken_by_library` takes them; None in all other cases."""
    if (
        type(rows) is not np.ndarray
        or rows.dtype != np.intp
        or rows.ndim != 1
        or len(rows) >= FEW
        or short_buffers(source)
    ):
        return None
    try:
        return source.take(rows.copy())  # no other thread changes the copy between check and use
    except (IndexError, *LIMITS_OF_LIBRARY):  # the selection names the number
        return None


register("pandas", DataFrame=DataFrameFrame, Series=SeriesFrame)
gathers.update({pd.DataFrame: few_taken, pd.Series: few_taken})
