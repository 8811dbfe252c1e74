"""of_pylibcudf.py: the frames for pylibcudf's Table and Column, which are in GPU memory."""

from __future__ import annotations

import sys
from typing import Any

from gatherscatter import _core
from gatherscatter._table.frames import ArrowFrame
from gatherscatter._table.registry import register

__all__: list[str] = []  # the frames register themselves


def _back(kind: str, result: _core.ArrowTable) -> Any:
    """A table or column of pylibcudf over the memory of a result. pylibcudf has no chunks, so the result must be one
    chunk."""
    if result.num_chunks != 1:
        raise OverflowError(
            f"the result does not fit one {kind} of pylibcudf, because its 32-bit offsets would overflow: "
            "use a type with 64-bit offsets"
        )
    return getattr(sys.modules["pylibcudf"], kind).from_arrow(result)


class TableFrame(ArrowFrame):
    """A Table."""

    __slots__ = ()
    form = True

    def back(self, result: _core.ArrowTable) -> Any:
        return _back("Table", result)


class ColumnFrame(ArrowFrame):
    """A Column."""

    __slots__ = ()
    form = False

    def back(self, result: _core.ArrowTable) -> Any:
        return _back("Column", result)


register("pylibcudf", Table=TableFrame, Column=ColumnFrame)
