"""partitions.py: what a Dask DataFrame does not know of its partitions, their lengths and categories, read once."""

from __future__ import annotations

import importlib
import weakref
from typing import Any, NamedTuple

import numpy as np

from gatherscatter._dask.categories import recoded, union_of

__all__ = ["Partitions", "columns_of", "lengths_of", "meta_of_frame", "partitions_of", "with_columns"]


class Partitions(NamedTuple):
    """The partitions of a frame: their numbers of rows, and no rows of the dtypes that all of them are brought to."""

    lengths: tuple[int, ...]
    meta: Any

    def of(self, op: str, frame: Any) -> list[Any]:
        """A task for each partition, which gives it with these dtypes, and checks that it still has its rows."""
        brought = _dask().delayed(_brought, pure=True)
        pairs = zip(frame.to_delayed(), self.lengths, strict=True)
        return [brought(op, number, count, self.meta, part) for number, (part, count) in enumerate(pairs)]


# By identity of the frame, while it lives: a weak reference, its token (a column may be set in place), what was read. A
# frame made anew of the same files has an equal token, but not always equal lengths.
_kept: dict[int, tuple[Any, str, Partitions]] = {}


def _dask() -> Any:
    return importlib.import_module("dask")


def partitions_of(frame: Any) -> Partitions:
    """What is known of the partitions of a frame. They are computed once for each frame, at the first call."""
    token, key = _dask().base.tokenize(frame), id(frame)
    kept = _kept.get(key)
    if kept is not None and kept[0]() is frame and kept[1] == token:
        return kept[2]
    dask = _dask()
    facts = dask.compute(*(dask.delayed(_facts)(part) for part in frame.to_delayed()))
    known = Partitions(tuple(count for count, _ in facts), _unified(meta_of_frame(frame), [each for _, each in facts]))
    _kept[key] = weakref.ref(frame, lambda _: _kept.pop(key, None)), token, known
    return known


def lengths_of(frame: Any) -> tuple[int, ...]:
    """The number of rows of each partition."""
    return partitions_of(frame).lengths


def meta_of_frame(frame: Any) -> Any:
    """The frame of no rows that Dask notes for the dtypes of a frame."""
    return importlib.import_module("dask.dataframe.utils").make_meta(frame).iloc[:0]


def columns_of(frame: Any) -> list[Any]:
    """The columns of a table of pandas, or the one that a Series is."""
    return [frame] if frame.ndim == 1 else [frame.iloc[:, at] for at in range(frame.shape[1])]


def with_columns(frame: Any, columns: dict[int, Any]) -> Any:
    """A frame with the columns at these places replaced by arrays; at -1 are the row labels."""
    if not columns:
        return frame
    labels = columns.get(-1)
    if frame.ndim == 1:
        changed = (
            type(frame)(columns[0], index=frame.index, name=frame.name, dtype=columns[0].dtype)
            if 0 in columns
            else frame.copy(deep=False)
        )
    else:
        changed = frame.copy(deep=False)
        for at, values in columns.items():
            if at >= 0:
                # As a Series: of an array of objects pandas would make text or times.
                changed.isetitem(at, type(changed.iloc[:, at])(values, index=frame.index, dtype=values.dtype))
    if labels is not None:
        changed.index = labels
    return changed.__finalize__(frame)


def _parts_of(frame: Any) -> dict[int, Any]:
    """The columns of a table by their places, and at -1 its row labels."""
    return {-1: frame.index, **dict(enumerate(columns_of(frame)))}


def _facts(frame: Any) -> tuple[int, dict[int, Any]]:
    """The number of rows of a partition, and the dtypes of its categorical columns and labels."""
    dtypes = {at: getattr(part, "dtype", None) for at, part in _parts_of(frame).items()}
    return len(frame), {at: dtype for at, dtype in dtypes.items() if hasattr(dtype, "categories")}


def _unified(meta: Any, found: list[dict[int, Any]]) -> Any:
    """No rows with the categories of all partitions, in columns that are categorical in each of them."""
    shared = set.intersection(*map(set, found)) if found else set()
    parts = _parts_of(meta)
    none = np.zeros(0, np.int64)
    return with_columns(
        meta,
        {at: recoded(none, union_of([each[at] for each in found]), parts[at].name, at < 0) for at in sorted(shared)},
    )


def _brought(op: str, number: int, count: int, meta: Any, frame: Any) -> Any:
    if len(frame) != count:
        raise OSError(
            f"{op}: partition {number} has {len(frame)} rows, and had {count} when they were counted: its data have "
            "changed since then; a Dask frame that is made anew counts them again"
        )
    wanted, changed = _parts_of(meta), {}
    for at, part in _parts_of(frame).items():
        dtype = wanted[at].dtype
        if hasattr(dtype, "categories") and hasattr(part.dtype, "categories"):
            own = part.array if at >= 0 else part.values
            if own.ordered != dtype.ordered or not own.categories.equals(dtype.categories):
                places = dtype.categories.get_indexer_for(own.categories)
                if len(places) != len(own.categories) or (places < 0).any():
                    raise OSError(
                        f"{op}: {'the row labels' if at < 0 else f'column {part.name!r}'} of partition {number} have "
                        "categories that they had not when they were read first: its data have changed since then"
                    )
                codes = np.append(places, -1)[own.codes]  # the code -1 of a missing value stays
                changed[at] = recoded(codes, dtype, part.name, at < 0)
    return with_columns(frame, changed)
