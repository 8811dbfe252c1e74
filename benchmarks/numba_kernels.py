"""The hand-written alternative to a library: `prange` kernels with a bounds check. Needs numba.

An index is compared with both limits before it is used. A bad index is counted, because numba cannot raise within
`prange`, and raises at the end. Negative indices are not wrapped, which favours the kernels. numba compiles a kernel
at its first call, which is never timed.
"""

# numba infers all types from the arguments, so annotations would not be checked.
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

BLOCK = 1024

_parallel: Any = njit(parallel=True, cache=True)
_serial: Any = njit(cache=True)


@_parallel
def take(x, i, out):
    n, bad = len(x), 0
    for k in prange(len(i)):
        j = i[k]
        if j < 0 or j >= n:
            bad += 1
        else:
            out[k] = x[j]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def take_by_blocks(x, i, out):
    """Checks a block of indices before it moves anything, in two tight loops."""
    n, bad = np.uint64(len(x)), 0
    for b in prange((len(i) + BLOCK - 1) // BLOCK):
        block, result = i[b * BLOCK : (b + 1) * BLOCK], out[b * BLOCK : (b + 1) * BLOCK]
        wrong = False
        for k in range(len(block)):
            wrong |= np.uint64(block[k]) >= n
        if wrong:
            bad += 1
        else:
            for k in range(len(block)):
                result[k] = x[np.uint64(block[k])]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def rows(x, i, out):
    n, width, bad = len(x), x.shape[1], 0
    for k in prange(len(i)):
        j = i[k]
        if j < 0 or j >= n:
            bad += 1
        else:
            for c in range(width):
                out[k, c] = x[j, c]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def rows_as_slices(x, i, out):
    n, bad = len(x), 0
    for k in prange(len(i)):
        j = i[k]
        if j < 0 or j >= n:
            bad += 1
        else:
            out[k] = x[j]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def along_last(x, i, out):
    n, bad = x.shape[1], 0
    for r in prange(i.shape[0]):
        for k in range(i.shape[1]):
            j = i[r, k]
            if j < 0 or j >= n:
                bad += 1
            else:
                out[r, k] = x[r, j]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def along_first(x, i, out):
    n, bad = x.shape[0], 0
    for r in prange(i.shape[0]):
        for c in range(i.shape[1]):
            j = i[r, c]
            if j < 0 or j >= n:
                bad += 1
            else:
                out[r, c] = x[j, c]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def along_first_by_columns(x, i, out):
    """Sixteen columns at a time, so that the cache lines of the source array that they need stay in a cache."""
    n, columns, bad = x.shape[0], x.shape[1], 0
    for b in prange((columns + 15) // 16):
        for r in range(i.shape[0]):
            for c in range(b * 16, min(b * 16 + 16, columns)):
                j = i[r, c]
                if j < 0 or j >= n:
                    bad += 1
                else:
                    out[r, c] = x[j, c]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def batch(x, i, out):
    n, count, width, bad = x.shape[1], i.shape[1], x.shape[2], 0
    for k in prange(i.shape[0] * count):
        b, r = k // count, k % count
        j = i[b, r]
        if j < 0 or j >= n:
            bad += 1
        else:
            for c in range(width):
                out[b, r, c] = x[b, j, c]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def tile(x, i, m, pad, out):
    n = len(x)
    for r in prange(i.shape[0]):
        for k in range(i.shape[1]):
            j = i[r, k]
            if m[r, k] and j >= 0 and j < n:
                out[r, k] = x[j]
            else:
                out[r, k] = pad
    return out


@_parallel
def points(x, i, out):
    a, b, c = x.shape
    bad = 0
    for k in prange(len(i)):
        p, q, r = i[k, 0], i[k, 1], i[k, 2]
        if p < 0 or p >= a or q < 0 or q >= b or r < 0 or r >= c:
            bad += 1
        else:
            out[k] = x[p, q, r]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def repeat(x, i, out):
    ends = np.cumsum(i)
    for j in prange(len(x)):
        for k in range(ends[j] - i[j], ends[j]):
            out[k] = x[j]
    return out


@_parallel
def roll(x, i, out):
    n = len(x)
    shift = i[()] % n
    for k in prange(n):
        out[k] = x[k - shift if k >= shift else k - shift + n]
    return out


@_parallel
def set_rows(out, i, b):
    n, width, bad = len(out), out.shape[1], 0
    for k in prange(len(i)):
        j = i[k]
        if j < 0 or j >= n:
            bad += 1
        else:
            for c in range(width):
                out[j, c] = b[k, c]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def set_last(out, i, b):
    n, bad = out.shape[1], 0
    for r in prange(i.shape[0]):
        for k in range(i.shape[1]):
            j = i[r, k]
            if j < 0 or j >= n:
                bad += 1
            else:
                out[r, j] = b[r, k]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_parallel
def scatter_first(out, i, b, add):
    """Each thread has blocks of columns."""
    n, wide, block, bad = len(out), out.shape[1], 64, 0
    for part in prange((wide + block - 1) // block):
        for r in range(len(i)):
            for c in range(part * block, min(part * block + block, wide)):
                j = i[r, c]
                if j < 0 or j >= n:
                    bad += 1
                else:
                    out[j, c] = out[j, c] + b[r, c] if add else b[r, c]
    if bad:
        raise IndexError("index out of bounds")
    return out


@_serial
def set_elements(out, i, b):
    """One thread, because with more of them the last duplicate would not be kept."""
    n = len(out)
    for k in range(len(i)):
        j = i[k]
        if j < 0 or j >= n:
            raise IndexError("index out of bounds")
        out[j] = b[k]
    return out


@_serial
def add_elements(out, i, b):
    n = len(out)
    for k in range(len(i)):
        j = i[k]
        if j < 0 or j >= n:
            raise IndexError("index out of bounds")
        out[j] += b[k]
    return out


@_serial
def group(i, groups):
    """The stable order of points by group: a counting sort, in one pass."""
    place = np.zeros(groups + 1, np.int64)
    for k in range(len(i)):
        j = i[k]
        if j < 0 or j >= groups:
            raise IndexError("index out of bounds")
        place[j + 1] += 1
    for j in range(groups):
        place[j + 1] += place[j]
    order = np.empty(len(i), np.int64)
    for k in range(len(i)):
        order[place[i[k]]] = k
        place[i[k]] += 1
    return order
