"""dask_chunks.py: Dask arrays with random chunks for tests, also chunks of no items."""

from __future__ import annotations

import numpy as np
import pytest


def random_lengths(n: int, rng: np.random.Generator, most: int = 4) -> tuple[int, ...]:
    """Lengths of one to `most` chunks that add up to n; some of them may be 0."""
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, most)))
    return tuple(int(length) for length in np.diff([0, *cuts, n]))


def random_chunks(shape: tuple[int, ...], rng: np.random.Generator, most: int = 4) -> tuple[tuple[int, ...], ...]:
    return tuple(random_lengths(n, rng, most) for n in shape)


def as_dask(array, rng: np.random.Generator, most: int = 4):
    """The array in random chunks."""
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    return da.from_array(array, chunks=random_chunks(array.shape, rng, most), name=False)
