"""put_blocks.py: putmask and place of many elements by blocks, so that neither values nor positions are written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.recognise import is_ndarray
from gatherscatter._ops.progress_parts import Steps

__all__ = ["has_blocks", "place_by_blocks", "putmask_by_blocks"]

LEAST = 1 << 16  # elements, below which a call of its own for each block would take longer
MOSTLY = 15 / 16  # true elements of a block from which NumPy's loop over the mask is faster than one over positions
BLOCK = 1 << 14  # elements of a block, whose positions take 128 KiB and stay in the caches of one thread


def has_blocks(base: Any, values: Any) -> bool:
    """Whether the elements of a target lie in order in memory that the values do not share, and are many."""
    if not (is_ndarray(base) and is_ndarray(values) and base.size >= LEAST and base.flags.c_contiguous):
        return False
    return not base.dtype.hasobject and not np.may_share_memory(base, values)


def _is_of_numpy(array: np.ndarray[Any, Any]) -> bool:
    """Whether NumPy allocated the memory of an array, so that it is no part of a file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return bool(array.flags.owndata)


def putmask_by_blocks(base: np.ndarray[Any, Any], truth: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
    """Write values that are repeated in C order: the target is rows of some rounds of them, to which they broadcast."""
    flat, mask, round_of = base.reshape(-1), truth.reshape(-1), values.reshape(-1)
    row = np.tile(round_of, max(1, LEAST // round_of.size))
    whole = flat.size - flat.size % row.size
    rest, tail = flat[whole:], row[: flat.size - whole]
    if whole:
        rows = flat[:whole].reshape(-1, row.size)
        _core.run(_core.scatter_masked("putmask", rows, mask[:whole].reshape(rows.shape), row, rows))
    if rest.size:
        _core.run(_core.scatter_masked("putmask", rest, mask[whole:], tail, rest))


def place_by_blocks(base: np.ndarray[Any, Any], truth: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
    """Write the next of some values, again and again, to each element whose mask is true."""
    if not (_is_of_numpy(base) or _is_of_numpy(values)):
        values = values.copy()  # both may map one file, which no address shows
    flat, mask, given = base.reshape(-1), truth.reshape(-1), values.reshape(-1)
    if given.size < BLOCK:  # rounds of them, of which each block takes one slice
        given = np.tile(given, -(-BLOCK // given.size) + 1)
    steps = Steps(-(-flat.size // BLOCK))
    with steps.hidden():
        _place_blocks(flat, mask, given, steps)


def _place_blocks(
    flat: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], given: np.ndarray[Any, Any], steps: Steps
) -> None:
    """Write block after block; the values of one follow those of the block before it."""
    done = 0
    for begin in range(0, flat.size, BLOCK):
        part, where = flat[begin : begin + BLOCK], mask[begin : begin + BLOCK]
        count = int(np.count_nonzero(where))
        first = done % given.size
        taken = given[first : first + count]
        if taken.size < count:  # not by np.concatenate, which changes byte order and the layout of fields
            ends = taken
            taken = np.empty(count, given.dtype)
            taken[: ends.size], taken[ends.size :] = ends, given[: count - ends.size]
        done += count
        if count >= MOSTLY * part.size:
            part[where] = taken
        else:
            _place(part, np.flatnonzero(where), taken)
        steps.next()


def _place(part: np.ndarray[Any, Any], index: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
    """Write values at positions, which are within the part. Its own function, whose end frees the positions."""
    _core.run(
        _core.scatter_axis(
            "place", part, index, None, 0, values, "unchecked", "from_end", None, True, "last", None, part
        )
    )
