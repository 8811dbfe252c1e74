"""of_pyarrow.py: the frames for pyarrow's Table, RecordBatch, Array and ChunkedArray."""

from __future__ import annotations

import importlib
import threading
import weakref
from abc import abstractmethod
from typing import Any

from gatherscatter import _core
from gatherscatter._table import arrow_scalars
from gatherscatter._table.arrow_types import with_type
from gatherscatter._table.frames import ArrowFrame, Frame
from gatherscatter._table.registry import gathers, register
from gatherscatter.errors import InvalidArgument

__all__ = ["rows_of_reader"]

pa: Any = importlib.import_module("pyarrow")
# Methods of pyarrow that are not public exchange batches by address. Without them the protocol of Arrow serves.
import_batch: Any = getattr(pa.RecordBatch, "_import_from_c", None)
BY_ADDRESS = import_batch is not None and hasattr(pa.RecordBatch, "_export_to_c_device")
INTEGERS = [getattr(pa, f"{sign}Int{bits}Array") for sign in ("", "U") for bits in (8, 16, 32, 64)]
if BY_ADDRESS:
    gathers[pa.Table] = _core.pyarrow_gather(import_batch, pa.Table.from_batches, INTEGERS)
    gathers[pa.RecordBatch] = _core.pyarrow_gather(import_batch, None, INTEGERS)


_read: weakref.WeakSet[Any] = weakref.WeakSet()  # readers that calls have read


class BatchesFrame(ArrowFrame):
    """Base class of the frames of tables, whose record batches `_core` exchanges with pyarrow by address.

    A schema takes longer to export and import than a few rows. `_core` keeps the types of recent schemas, and a result
    that has the types of the table gets its schema.
    """

    __slots__ = ("schema",)
    form = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.source, self.schema = source, source.schema
        table = self._by_address(op, full) if BY_ADDRESS else None
        if table is None:
            super().__init__(op, source, full)
        else:
            self.table = table

    def _by_address(self, op: str, full: bool) -> _core.ArrowTable | None:
        batches = self.few_batches(self.source)
        if batches is not None:
            return _core.ArrowTable.of_batches(batches, self.schema, full, op)
        if self.source.num_columns == 1:
            return _core.ArrowTable.of_column(self.source.column(0), self.schema, full, op)
        return None

    @staticmethod
    def names_of(source: Any) -> list[Any]:
        return list(source.schema.names)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        return source.select(places)

    @staticmethod
    @abstractmethod
    def few_batches(source: Any) -> list[Any] | None:
        """The record batches that have all rows; None for a table that another way reads faster."""

    def of_places(self, op: str, places: list[int]) -> Any:
        return type(self)(op, self.part(self.source, places), False)

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        columns = list(self.source.columns)
        for at, place in enumerate(places):
            columns[place] = part.column(at)
        return type(self.source).from_arrays(columns, schema=self.schema)

    def back(self, result: _core.ArrowTable) -> Any:
        batches = result.to_batches(self.table, import_batch, self.schema) if BY_ADDRESS else None
        return self.joined(result) if batches is None else self.of_batches(batches)

    @abstractmethod
    def of_batches(self, batches: list[Any]) -> Any:
        """The result of batches of its schema."""

    @abstractmethod
    def joined(self, result: _core.ArrowTable) -> Any:
        """The result by the protocol of Arrow, for other types than those of the table."""

    def one_row(self, op: str, values: list[Any]) -> Frame:
        return RecordBatchFrame(op, arrow_scalars.one_row(op, self.table, values, list(self.schema)), False)


class TableFrame(BatchesFrame):
    """A Table. Results have one chunk per column unless its 32-bit offsets would overflow."""

    __slots__ = ()

    @staticmethod
    def few_batches(source: Any) -> list[Any] | None:
        rows = source.num_rows
        if rows <= 0:  # a negative number is that of a corrupt file, of which pyarrow makes no batch
            return None
        if source.num_columns and source.column(0).num_chunks == 1:
            batches: list[Any] = source.to_batches()
            return batches if len(batches) == 1 and batches[0].num_rows == rows else None
        # The stream of a table frees a reader of pyarrow, whose destructor waits for the GIL. In a daemon thread, which
        # does not get it at exit, that ends the process.
        if source.num_columns > 1 and threading.current_thread().daemon:
            return list(source.to_batches())
        return None

    def of_batches(self, batches: list[Any]) -> Any:
        return pa.Table.from_batches(batches, self.schema)

    def joined(self, result: _core.ArrowTable) -> Any:
        return _retyped(pa.table(result), self.schema, result)


class ReaderFrame(TableFrame):
    """A RecordBatchReader, which is read to its end. Results are Tables."""

    __slots__ = ()

    def __init__(self, op: str, source: Any, full: bool) -> None:
        super().__init__(op, rows_of_reader(op, source), full)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        return rows_of_reader("table.gather", source).select(places)


def rows_of_reader(op: str, reader: Any) -> Any:
    """The rows of a reader; an error for one that an earlier call has read, which has none."""
    if not hasattr(reader, "read_all"):
        return reader
    if reader in _read:
        raise InvalidArgument(
            f"{op}: the RecordBatchReader has no rows left, because an earlier call has read it to its end; a call "
            "that raises reads it too: reader.read_all() is a table, which can be read again"
        )
    rows = reader.read_all()
    _read.add(reader)
    return rows


class RecordBatchFrame(BatchesFrame):
    """A RecordBatch, which is one chunk by definition."""

    __slots__ = ()

    @staticmethod
    def few_batches(source: Any) -> list[Any] | None:
        return [source]

    def back(self, result: _core.ArrowTable) -> Any:
        if result.num_chunks != 1:
            raise OverflowError(
                "the result does not fit one RecordBatch, because its 32-bit offsets would overflow: pass a Table"
            )
        return super().back(result)

    def of_batches(self, batches: list[Any]) -> Any:
        return batches[0]

    def joined(self, result: _core.ArrowTable) -> Any:
        return _retyped(pa.record_batch(result), self.schema, result)


class ColumnFrame(ArrowFrame):
    """A ChunkedArray."""

    __slots__ = ()
    form = False

    def back(self, result: _core.ArrowTable) -> Any:
        return _cast(pa.chunked_array(result), self.source.type, result)

    def one_row(self, op: str, values: list[Any]) -> Frame:
        return ColumnFrame(op, arrow_scalars.one_row(op, self.table, values, [pa.field("", self.source.type)]), False)


class ArrayFrame(ColumnFrame):
    """An Array. The result is a ChunkedArray if one array cannot hold it, as with ``pa.array``."""

    __slots__ = ()

    def back(self, result: _core.ArrowTable) -> Any:
        return _cast(pa.array(result), self.source.type, result) if result.num_chunks == 1 else super().back(result)


# pyarrow imports an extension type that is not registered as its storage type.
def _cast(column: Any, kind: Any, table: _core.ArrowTable) -> Any:
    return with_type(column, kind) if table.has_extensions else column


def _retyped(result: Any, schema: Any, table: _core.ArrowTable) -> Any:
    if not table.has_extensions or result.schema.types == schema.types:
        return result
    columns = [_cast(column, field.type, table) for column, field in zip(result.columns, schema, strict=True)]
    fields = [old.with_nullable(new.nullable) for old, new in zip(schema, result.schema, strict=True)]
    return type(result).from_arrays(columns, schema=pa.schema(fields, metadata=schema.metadata))


register(
    "pyarrow",
    Table=TableFrame,
    RecordBatch=RecordBatchFrame,
    RecordBatchReader=ReaderFrame,
    ChunkedArray=ColumnFrame,
    Array=ArrayFrame,
)
