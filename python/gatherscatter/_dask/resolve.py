"""resolve.py: resolves blocks of indices to positions by the rule of the operators, with errors in global positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter.errors import EmptyAxisError, OutOfBoundsError

__all__ = ["Rule", "resolve"]

Array = np.ndarray[Any, Any]
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Rule:
    """How indices become positions: `bounds` and `negative` of the operators, and the axes that indices address.

    ``bounds="unchecked"`` is checked here, because an index without an owner among the chunks has no meaning.
    """

    op: str
    bounds: str
    negative: str
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]  # of all points

    @property
    def fills(self) -> bool:
        """Whether an index out of bounds is no error."""
        return self.bounds in ("fill", "drop")


def resolve(
    rule: Rule, indices: list[Array], mask: Array | None, origin: tuple[int, ...], extents: tuple[int, ...], whole: bool
) -> tuple[list[Array], Array | None]:
    """Positions along each indexed axis, and where a point has one (None: everywhere).

    Parameters
    ----------
    indices : list of arrays
        One for each axis of the rule; each broadcasts to `extents`, and so does the mask.
    origin, extents : tuple of int
        The place of this block among all points, and its shape.
    whole : bool
        Whether the block is all points, so that the number of bad indices is known.

    Raises
    ------
    OutOfBoundsError
        Its position is the one among all points; its count is None unless the block is the whole.
    """
    positions, bad = [], []
    for given, size in zip(indices, rule.sizes, strict=True):
        index = given.astype(given.dtype.newbyteorder("="), copy=False)
        position, outside = _positions(index, size, rule)
        positions.append(position)
        bad.append(outside)
    valid = None if mask is None or mask.all() else np.broadcast_to(mask, extents)
    nowhere: Array | None = None
    for outside in bad:
        if outside is not None:
            nowhere = outside if nowhere is None else nowhere | outside
    if nowhere is None:
        return positions, valid
    nowhere = np.broadcast_to(nowhere, extents)
    if valid is not None:
        nowhere = nowhere & valid
    if not nowhere.any():
        return positions, valid
    if not rule.fills:
        raise _error(rule, indices, bad, nowhere, origin, whole)
    return positions, ~nowhere if valid is None else valid & ~nowhere


def _positions(index: Array, size: int, rule: Rule) -> tuple[Array, Array | None]:
    """Positions on an axis, and where an index is out of bounds (None: nowhere)."""
    wide = _as_int64(index)
    position = wide
    if _from_end(index, rule) and wide.size and wide.min() < 0:
        position = np.where(wide < 0, wide + size, wide)
    if not position.size or (position.min() >= 0 and position.max() < size):
        return position, None
    outside = (position < 0) | (position >= size)
    if size and rule.bounds == "clip":
        return np.asarray(np.clip(position, 0, size - 1)), None
    if size and rule.bounds == "wrap":
        return np.where(outside, _remainder(index, wide, size), position), None
    return position, outside


def _remainder(index: Array, wide: Array, size: int) -> Array:
    """The values modulo the size; integers beyond int64 are divided as they are."""
    if index.dtype == np.uint64:
        return np.asarray(index % np.uint64(size)).astype(np.int64)
    return np.asarray((index % size).astype(np.int64) if index.dtype.hasobject else wide % size)


def _as_int64(index: Array) -> Array:
    """The values as int64; those beyond it become its largest or smallest value, which are outside of every axis."""
    if index.dtype == np.uint64:
        return np.asarray(np.minimum(index, np.uint64(_INT64.max))).astype(np.int64)
    if index.dtype.hasobject:
        return np.asarray(np.clip(index, _INT64.min, _INT64.max)).astype(np.int64)
    return np.asarray(index.astype(np.int64, copy=False))


def _from_end(index: Array, rule: Rule) -> bool:
    return rule.negative == "from_end" and index.dtype.kind != "u"


def _error(
    rule: Rule, indices: list[Array], bad: list[Array | None], nowhere: Array, origin: tuple[int, ...], whole: bool
) -> OutOfBoundsError:
    """The error for the first bad point of a block in C order, and for its first bad axis."""
    here = np.unravel_index(int(np.argmax(nowhere.ravel())), nowhere.shape) if nowhere.ndim else ()
    at = next(
        i for i, outside in enumerate(bad) if outside is not None and np.broadcast_to(outside, nowhere.shape)[here]
    )
    value = int(np.broadcast_to(indices[at], nowhere.shape)[here])
    position = tuple(int(start + offset) for start, offset in zip(origin, here, strict=True))
    kind = EmptyAxisError if rule.op == "take" and rule.sizes[at] == 0 else OutOfBoundsError
    return kind(
        rule.op,
        value,
        position,
        rule.axes[at],
        rule.sizes[at],
        int(nowhere.sum()) if whole else None,
        math.prod(rule.shape),
        _from_end(indices[at], rule),
    )
