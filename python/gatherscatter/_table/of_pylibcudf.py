"""of_pylibcudf.py: the frames of pylibcudf, whose tables and columns lie on a GPU."""

from __future__ import annotations

import sys
from typing import Any

from gatherscatter import _core
from gatherscatter._table.frames import ArrowFrame

__all__ = ["FRAMES"]


def _back(kind: str, result: _core.ArrowTable) -> Any:
    """A table or column of pylibcudf on the memory of the result, which is one chunk there by definition."""
    if result.num_chunks != 1:
        raise OverflowError(
            f"the result does not fit one {kind} of pylibcudf, because 32-bit offsets end: use 64-bit ones"
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


FRAMES = {"Table": TableFrame, "Column": ColumnFrame}
