"""of_narwhals.py: the frame for objects of narwhals: that of what they wrap, with results wrapped in the same way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter._table.frames import frame_of
from gatherscatter._table.registry import register
from gatherscatter.errors import type_name

__all__: list[str] = []  # the frames register themselves


def _namespace(source: Any) -> Any:
    """The module of narwhals that made an object: narwhals itself, or one of its stable versions."""
    for base in type(source).__mro__:
        name = base.__module__
        if name.startswith("narwhals."):
            stable = ".".join(name.split(".")[:3])
            return sys.modules[stable if name.startswith("narwhals.stable.") else "narwhals"]
    return sys.modules["narwhals"]


def _moved_now(op: str, frame: Any, source: Any) -> Any:
    """A frame without tasks, which would be made for the frame itself, and narwhals hides it."""
    if frame.tasks_of:
        raise TypeError(f"{op}: a {type_name(source)} of narwhals wraps a {frame.tasks_of} frame; pass x.to_native()")
    return frame


class NarwhalsFrame:
    """A DataFrame, LazyFrame or Series of narwhals."""

    def __init__(self, op: str, source: Any, full: bool) -> None:
        self.narwhals = _namespace(source)
        self.frame = _moved_now(op, frame_of(op, "source", self.native(source), "full" if full else "basic"), source)

    def _wrapped(self, result: Any) -> Any:
        return self.narwhals.from_native(result, allow_series=True)

    @staticmethod
    def native(source: Any) -> Any:
        """The object of another library that narwhals wraps."""
        return sys.modules["narwhals"].to_native(source)

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        made = cls.__new__(cls)
        made.narwhals = _namespace(source)
        frame = frame_of(op, "source", cls.native(source), "full" if full else "basic", columns)
        made.frame = _moved_now(op, frame, source)
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)

    def take(self, rows: Any, other: Any = None, nullable: bool = False) -> Any:
        return self._wrapped(self.frame.take(rows, other, nullable))

    def take_filled(self, op: str, rows: Any, places: list[int], values: list[Any]) -> Any:
        return self._wrapped(self.frame.take_filled(op, rows, places, values))

    def taken_by_library(self, rows: np.ndarray[Any, Any]) -> Any:
        result = self.frame.taken_by_library(rows)
        return None if result is None else self._wrapped(result)

    def written_by_library(self, rows: np.ndarray[Any, Any], other: Any) -> Any:
        result = self.frame.written_by_library(rows, other)
        return None if result is None else self._wrapped(result)

    def without_labels(self) -> Any:
        made = type(self).__new__(type(self))
        made.narwhals, made.frame = self.narwhals, self.frame.without_labels()
        return made

    def relabelled_by_position(self, result: Any) -> Any:
        return self._wrapped(self.frame.relabelled_by_position(self.native(result)))

    def replaced(self, op: str, places: list[int], part: Any) -> Any:
        return self._wrapped(self.frame.replaced(op, places, part))

    def later(self, function: Callable[[Any], Any], columns_apart: bool) -> Any:
        return self._wrapped(self.frame.later(function, columns_apart))


register("narwhals", DataFrame=NarwhalsFrame, LazyFrame=NarwhalsFrame, Series=NarwhalsFrame)
