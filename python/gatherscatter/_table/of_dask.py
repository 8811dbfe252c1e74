"""of_dask.py: recognises Dask DataFrames and Series, whose rows `gatherscatter._dask.frames` moves lazily."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

from gatherscatter._table.column_names import places_of, refuse_columns

__all__ = ["FRAMES", "DaskFrame"]


class DaskFrame:
    """A Dask DataFrame or Series, as `frame_of` returns it; it has partitions in place of chunks in memory."""

    lazy: ClassVar[bool] = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        if op not in ("table.gather", "table.scatter", "table.boolean_mask_scatter"):
            lazily = "; x[mask] filters lazily" if op == "table.filter" else ""
            raise TypeError(
                f"{op}: a {type(source).__name__} of Dask has partitions, which {op} does not take; "
                f"call x.compute(){lazily}"
            )
        self.source = source

    @classmethod
    def of_columns(cls, op: str, source: Any, full: bool, columns: Any) -> Any:
        """The frame of the columns with these names, in their order."""
        names = getattr(source, "columns", None)
        if names is None:
            raise refuse_columns(op, source)
        places = places_of(op, list(names), columns)
        return cls(op, source[[names[at] for at in places]], full)

    def tasks(self) -> Any:
        """The functions that make the tasks, which call those of `gatherscatter.table`."""
        return importlib.import_module("gatherscatter._dask.frames")


FRAMES = {"DataFrame": DaskFrame, "Series": DaskFrame}
