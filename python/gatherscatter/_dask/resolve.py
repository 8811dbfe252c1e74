"""resolve.py: resolves blocks of indices to positions by the rule of the operators, with errors in global positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import EmptyAxisError, OutOfBoundsError

__all__ = ["Rule", "resolve"]

Array = np.ndarray[Any, Any]
_INT64 = np.iinfo(np.int64)
_NOWHERE = _INT64.min  # what the core answers for an index without a position
_LIKE = np.empty(0, np.int64)


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
    others: int = 1  # the product of the sizes of the axes that are not indexed

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
    bounds = rule.bounds if rule.bounds in ("clip", "wrap") else "fill"
    negative = "from_end" if _from_end(index, rule) else "out_of_bounds"
    given = np.ascontiguousarray(_as_integers(index, size, rule))
    position = _core.resolve_index(rule.op, given, size, bounds, negative, _LIKE).reshape(index.shape)
    outside = position == _NOWHERE
    return position, outside if outside.any() else None


def _as_integers(index: Array, size: int, rule: Rule) -> Array:
    """Python's integers beyond 64 bits as ones that have the same position, or none either."""
    if not index.dtype.hasobject:
        return index
    if size and rule.bounds == "wrap":
        return np.asarray(index % size).astype(np.int64)
    return np.asarray(np.clip(index, _INT64.min, _INT64.max)).astype(np.int64)


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
    is_numpys = rule.op == "take" and rule.sizes[at] == 0 and rule.others > 0
    kind = EmptyAxisError if is_numpys else OutOfBoundsError
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
