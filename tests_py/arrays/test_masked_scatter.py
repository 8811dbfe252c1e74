"""test_masked_scatter.py: masks with long runs, and masks of one value, for scatters of elements of every size."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from contract import ABOVE_THRESHOLDS

# Around the groups and blocks of points that kernels handle at a time, and for several threads.
COUNTS = [1, 63, 64, 65, 128, 255, 256, 257, 320, 1000, ABOVE_THRESHOLDS]
OUTSIDE = 2**40


def masks_of(count, rng):
    at = np.arange(count)
    yield "none", np.zeros(count, bool)
    yield "all", np.ones(count, bool)
    yield "some", rng.random(count) < 0.5
    yield "runs of 64", at // 64 % 2 == 0
    yield "long runs", at // 300 % 2 == 1
    yield "first", at == 0
    yield "last", at == count - 1
    yield "but one", at != count // 2


def expected(x, index, values, mask, reduce):
    result = x.copy()
    kept = np.flatnonzero(mask)
    if reduce is None:
        result[index[kept]] = values[kept]  # NumPy keeps the last of duplicates
    else:
        {"add": np.add, "max": np.maximum}[reduce].at(result, index[kept], values[kept])
    return result


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [
        (dtype, reduce)
        for dtype in ("u1", "i2", "f4", "f8", "c16")
        for reduce in (None, "add", "max")
        if (dtype, reduce) != ("c16", "max")  # complex numbers have no order
    ],
)
def test_masks(dtype, reduce):
    rng = np.random.default_rng(7)
    for count in COUNTS:
        extent = max(count // 3, 1)
        x, values = (rng.integers(0, 50, n).astype(dtype) for n in (extent, count))
        for index_type in ("i8", "i4", "u2"):
            index = rng.integers(0, min(extent, 2**16), count).astype(index_type)
            for name, mask in masks_of(count, rng):
                wanted = expected(x, index.astype("i8"), values, mask, reduce)
                for threads in (1, 2, 5):
                    with gs.thread_limit(threads):
                        found = gs.scatter(x, 0, index, values, mask=mask, reduce=reduce)
                    assert found.tobytes() == wanted.tobytes(), (count, index_type, name, threads)


@pytest.mark.parametrize("bounds", ["raise", "drop", "clip"])
def test_indices_of_masked_points_are_not_looked_at(bounds):
    rng = np.random.default_rng(8)
    for count in COUNTS:
        x, values = np.arange(100.0), rng.random(count)
        for name, mask in masks_of(count, rng):
            good = rng.integers(0, 100, count)
            index = np.where(mask, good, OUTSIDE)
            for threads in (1, 2, 5):
                with gs.thread_limit(threads):
                    found = gs.scatter(x, 0, index, values, mask=mask, bounds=bounds)
                assert found.tobytes() == expected(x, good, values, mask, None).tobytes(), (count, name, threads)


def test_a_bad_index_of_a_kept_point_is_an_error_and_nothing_is_written():
    rng = np.random.default_rng(9)
    for count in COUNTS:
        for name, mask in masks_of(count, rng):
            kept = np.flatnonzero(mask)
            for at in {*kept[:1], *kept[-1:], *kept[len(kept) // 2 :][:1]}:
                target, index = np.arange(100.0), rng.integers(0, 100, count)
                index[at] = 100
                for threads in (1, 2, 5):
                    with gs.thread_limit(threads), pytest.raises(gs.OutOfBoundsError) as error:
                        gs.scatter(target, 0, index, rng.random(count), mask=mask, out=target)
                    assert error.value.position == (at,), (count, name, threads)
                    assert target.tolist() == list(range(100))


def test_rows_of_points_whose_masks_are_rows_too():
    rng = np.random.default_rng(10)
    x, values = rng.random((40, 500)), rng.random((40, 300))
    index = np.argsort(rng.random((40, 500)), axis=1)[:, :300].copy()
    for name, mask in masks_of(index.size, rng):
        rows = mask.reshape(index.shape)
        wanted = x.copy()
        row, column = np.nonzero(rows)
        wanted[row, index[row, column]] = values[row, column]
        for given in (rows, np.asfortranarray(rows)):
            for threads in (1, 2, 5):
                with gs.thread_limit(threads):
                    found = gs.scatter(x, 1, index, values, mask=given)
                assert found.tobytes() == wanted.tobytes(), (name, threads)
