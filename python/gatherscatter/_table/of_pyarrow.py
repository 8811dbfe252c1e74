"""of_pyarrow.py: the frames for pyarrow's Table, RecordBatch, Array and ChunkedArray."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from typing import Any

from gatherscatter import _core
from gatherscatter._table import arrow_scalars
from gatherscatter._table.frames import ArrowFrame, Frame, gathers

__all__ = ["FRAMES"]

pa: Any = importlib.import_module("pyarrow")
# Methods of pyarrow that are not public exchange batches by address. Without them the protocol of Arrow serves.
import_batch: Any = getattr(pa.RecordBatch, "_import_from_c", None)
BY_ADDRESS = import_batch is not None and hasattr(pa.RecordBatch, "_export_to_c_device")
INTEGERS = [getattr(pa, f"{sign}Int{bits}Array") for sign in ("", "U") for bits in (8, 16, 32, 64)]
if BY_ADDRESS:
    gathers[pa.Table] = _core.pyarrow_gather(import_batch, pa.Table.from_batches, INTEGERS)
    gathers[pa.RecordBatch] = _core.pyarrow_gather(import_batch, None, INTEGERS)


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
        batch = self.only_batch(self.source)
        if batch is not None:
            return _core.ArrowTable.of_batch(batch, self.schema, full, op)
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
    def only_batch(source: Any) -> Any:
        """The record batch that has all rows; None if there is no such batch."""

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
    def only_batch(source: Any) -> Any:
        rows = source.num_rows
        batch = source.to_reader().read_next_batch() if rows else None
        return batch if batch is not None and batch.num_rows == rows else None

    def of_batches(self, batches: list[Any]) -> Any:
        return pa.Table.from_batches(batches, self.schema)

    def joined(self, result: _core.ArrowTable) -> Any:
        return _retyped(pa.table(result), self.schema, result)


class ReaderFrame(TableFrame):
    """A RecordBatchReader, which is read to its end. Results are Tables."""

    __slots__ = ()

    def __init__(self, op: str, source: Any, full: bool) -> None:
        super().__init__(op, source.read_all() if hasattr(source, "read_all") else source, full)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        return (source.read_all() if hasattr(source, "read_all") else source).select(places)


class RecordBatchFrame(BatchesFrame):
    """A RecordBatch, which is one chunk by definition."""

    __slots__ = ()

    @staticmethod
    def only_batch(source: Any) -> Any:
        return source

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


# pyarrow imports an extension type that is not registered as its storage type; a cast restores it without a copy.
def _cast(column: Any, kind: Any, table: _core.ArrowTable) -> Any:
    return column.cast(kind) if table.has_extensions and column.type != kind else column


def _retyped(result: Any, schema: Any, table: _core.ArrowTable) -> Any:
    if not table.has_extensions or result.schema.types == schema.types:
        return result
    columns = [_cast(column, field.type, table) for column, field in zip(result.columns, schema, strict=True)]
    fields = [old.with_nullable(new.nullable) for old, new in zip(schema, result.schema, strict=True)]
    return type(result).from_arrays(columns, schema=pa.schema(fields, metadata=schema.metadata))


FRAMES = {
    "Table": TableFrame,
    "RecordBatch": RecordBatchFrame,
    "RecordBatchReader": ReaderFrame,
    "ChunkedArray": ColumnFrame,
    "Array": ArrayFrame,
}
