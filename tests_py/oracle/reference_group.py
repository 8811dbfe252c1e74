"""reference_group.py: the definition of `group` as naive loops over Python ints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Grouped(NamedTuple):
    """What `gs.group` returns, as arrays of int64."""

    order: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray
    inverse: np.ndarray
    ids: np.ndarray
    num_groups: int


def _group_of(value: int, groups: int, bounds: str, negative: str) -> int | None:
    """The group that an id names; None for one that is out of bounds and has no other meaning."""
    position = value + groups if value < 0 and negative == "from_end" else value
    if 0 <= position < groups:
        return position
    if groups == 0:
        return None
    if bounds == "clip":
        return min(max(position, 0), groups - 1)
    return value % groups if bounds == "wrap" else None


def group(ids, num_groups=None, bounds="raise", negative="from_end", mask=None) -> Grouped | tuple[int, ...]:
    """The groups of the points of `ids`, or the position of the lowest id that `bounds` forbids."""
    ids = np.asarray(ids)
    kept = np.broadcast_to(True if mask is None else mask, ids.shape).reshape(-1)
    values = [int(value) for value in ids.reshape(-1)]
    if num_groups is None:
        num_groups = max([-1, *(value for value, keep in zip(values, kept, strict=True) if keep)]) + 1
    points: list[list[int]] = [[] for _ in range(num_groups)]
    for i, value in enumerate(values):
        if not kept[i]:
            continue
        found = _group_of(value, num_groups, bounds, negative)
        if found is not None:
            points[found].append(i)
        elif bounds == "raise" or (bounds in ("clip", "wrap") and num_groups == 0):
            return tuple(int(n) for n in np.unravel_index(i, ids.shape))
    order = [i for group_points in points for i in group_points]
    inverse = [-1] * len(values)
    for place, i in enumerate(order):
        inverse[i] = place
    counts = [len(group_points) for group_points in points]
    int64 = np.int64
    return Grouped(
        np.array(order, int64),
        np.cumsum([0, *counts], dtype=int64),
        np.array(counts, int64),
        np.array(inverse, int64).reshape(ids.shape),
        np.repeat(np.arange(num_groups), counts),
        num_groups,
    )
