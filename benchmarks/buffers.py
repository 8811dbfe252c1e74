"""Memory for the suite: aligned to 2 MiB, advised as huge pages, touched, filled with random bytes."""

from __future__ import annotations

import math
import mmap

import numpy as np

HUGE = 2 << 20
CHUNK_WORDS = 1 << 20


def empty(shape: tuple[int, ...], dtype: np.typing.DTypeLike) -> np.ndarray:
    """A C-contiguous array on pages of its own, which all libraries read and write."""
    dtype = np.dtype(dtype)
    nbytes = math.prod(shape) * dtype.itemsize
    pages = mmap.mmap(-1, nbytes + 2 * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    raw = np.frombuffer(pages, np.uint8)
    start = -raw.ctypes.data % HUGE
    array = raw[start : start + nbytes].view(dtype).reshape(shape)
    array.view(np.uint8).reshape(-1)[:: mmap.PAGESIZE] = 1  # first touch of all pages, so that no call pays for it
    return array


def random(shape: tuple[int, ...], dtype: np.typing.DTypeLike, seed: int) -> np.ndarray:
    """Random bytes, because zeros and untouched pages would be faster than real data."""
    array = empty(shape, dtype)
    raw = array.view(np.uint8).reshape(-1)
    words = raw[: raw.size // 8 * 8].view(np.uint64)
    generator = np.random.SFC64(seed)
    for first in range(0, words.size, CHUNK_WORDS):
        part = words[first : first + CHUNK_WORDS]
        part[:] = generator.random_raw(part.size)
    raw[words.nbytes :] = 0x5A
    return array


def filled(values: np.ndarray, dtype: np.typing.DTypeLike) -> np.ndarray:
    """A copy of `values` in such memory."""
    array = empty(values.shape, dtype)
    array[...] = values
    return array
