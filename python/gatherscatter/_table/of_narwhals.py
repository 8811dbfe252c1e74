"""of_narwhals.py: the frame for objects of narwhals: that of what they wrap, with results wrapped in the same way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter._table.frames import frame_of

__all__ = ["FRAMES"]


def _wrapped(result: Any) -> Any:
    return sys.modules["narwhals"].from_native(result, allow_series=True)


class NarwhalsFrame:
    """A DataFrame, LazyFrame or Series of narwhals."""

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.frame = frame_of(op, "source", self.native(source), "full" if full else "basic")

    @staticmethod
    def native(source: Any) -> Any:
        """The object of another library that narwhals wraps."""
        return sys.modules["narwhals"].to_native(source)

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        made = cls.__new__(cls)
        made.frame = frame_of(op, "source", cls.native(source), "full" if full else "basic", columns)
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)

    def take(self, rows: Any, other: Any = None, nullable: bool = False) -> Any:
        return _wrapped(self.frame.take(rows, other, nullable))

    def taken_by_library(self, rows: np.ndarray[Any, Any]) -> Any:
        result = self.frame.taken_by_library(rows)
        return None if result is None else _wrapped(result)

    def relabelled_by_position(self, result: Any) -> Any:
        return _wrapped(self.frame.relabelled_by_position(self.native(result)))

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        return _wrapped(self.frame.replaced(op, places, part))

    def later(self, function: Callable[[Any], Any], columns_apart: bool) -> Any:
        return _wrapped(self.frame.later(function, columns_apart))


FRAMES = {"DataFrame": NarwhalsFrame, "LazyFrame": NarwhalsFrame, "Series": NarwhalsFrame}
