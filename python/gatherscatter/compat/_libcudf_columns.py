"""_libcudf_columns.py: the frame for a list of pyarrow columns, which stands for libcudf's table_view."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from gatherscatter import _core
from gatherscatter._table.messages import counted
from gatherscatter._table.of_pyarrow import TableFrame
from gatherscatter.errors import InvalidArgument

__all__ = ["ColumnsFrame"]

pa: Any = importlib.import_module("pyarrow")


class ColumnsFrame(TableFrame):
    """A list of Arrays and ChunkedArrays of equal length. A result is a list; an Array remains one if one chunk can
    hold it."""

    __slots__ = ("given",)

    def __init__(self, op: str, source: Sequence[Any], full: bool) -> None:
        lengths = [len(column) for column in source]
        if len(set(lengths)) > 1:
            other = next(at for at, length in enumerate(lengths) if length != lengths[0])
            raise InvalidArgument(
                f"{op}: column 0 has {counted(lengths[0], 'row')}, column {other} has {lengths[other]}"
            )
        self.given = source
        super().__init__(op, pa.table(list(source), names=[str(at) for at in range(len(source))]), full)

    def back(self, result: _core.ArrowTable) -> Any:
        pairs = zip(self.given, super().back(result).columns, strict=True)
        return [new.chunk(0) if isinstance(old, pa.Array) and new.num_chunks == 1 else new for old, new in pairs]
