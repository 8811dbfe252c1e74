"""of_pyarrow.py: the frames for pyarrow's Table, RecordBatch, Array and ChunkedArray."""

from __future__ import annotations

import importlib
from typing import Any

from gatherscatter import _core
from gatherscatter._table import arrow_scalars
from gatherscatter._table.frames import ArrowFrame, Frame

__all__ = ["FRAMES"]

pa: Any = importlib.import_module("pyarrow")


class TableFrame(ArrowFrame):
    """A Table. Results have one chunk per column unless its 32-bit offsets would overflow."""

    __slots__ = ()
    form = True

    def back(self, result: _core.ArrowTable) -> Any:
        return _retyped(pa.table(result), self.source.schema, result)

    def one_row(self, op: str, values: list[Any]) -> Frame:
        return TableFrame(op, arrow_scalars.one_row(op, self.table, values, list(self.source.schema)), False)


class BatchExport:
    """A record batch without `__arrow_c_stream__`: pyarrow's export of streams takes more than twice as long."""

    __slots__ = ("__arrow_c_array__",)

    def __init__(self, source: Any) -> None:
        self.__arrow_c_array__ = source.__arrow_c_array__


class RecordBatchFrame(TableFrame):
    """A RecordBatch, which is one chunk by definition."""

    __slots__ = ()

    def __init__(self, op: str, source: Any, full: bool) -> None:
        super().__init__(op, BatchExport(source), full)
        self.source = source

    def back(self, result: _core.ArrowTable) -> Any:
        if result.num_chunks != 1:
            raise OverflowError(
                "the result does not fit one RecordBatch, because its 32-bit offsets would overflow: pass a Table"
            )
        return _retyped(pa.record_batch(result), self.source.schema, result)


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


FRAMES = {"Table": TableFrame, "RecordBatch": RecordBatchFrame, "ChunkedArray": ColumnFrame, "Array": ArrayFrame}
