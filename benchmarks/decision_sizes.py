"""The calls of `--decisions --sizes`: families of calls over the sizes of source arrays and of results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import buffers
from .sweeps import size_text

Ki, Mi = 1 << 10, 1 << 20
SIZES = tuple(64 * Ki << k for k in range(0, 15, 2))  # 64 KiB to 1 GiB
NEAR, FAR = 256 * Ki, 64 * Mi  # the source arrays of the calls over the size of the result
MOST_NEAR = 64 * Mi  # the largest result from the near source
RESULT = 4 * Mi  # the result of the calls over the size of the source array
COLD = 64 * Mi  # bytes of the cache lines that all index arrays in rotation lead to, so that none is in a cache
LEAST_SETS, MOST_SETS, MOST_SET_BYTES = 3, 1024, 256 * Mi

Call = Callable[[], Any]
Arrays = tuple[np.ndarray, ...]


def _numbers(points: int, unit: int, dtype: str) -> np.ndarray:
    """Memory for the index arrays in rotation: as many as `COLD` asks for and memory allows."""
    index_bytes = points * np.dtype(dtype).itemsize
    wanted = min(max(COLD // (points * max(unit, 64)), LEAST_SETS), MOST_SETS)
    return buffers.empty((max(min(wanted, MOST_SET_BYTES // index_bytes), 1), points), dtype)


def _uniform(points: int, unit: int, extent: int) -> list[np.ndarray]:
    sets = _numbers(points, unit, "int32")
    flat, rng = sets.reshape(-1), np.random.default_rng(1)
    for first in range(0, flat.size, Mi):
        flat[first : first + Mi] = rng.integers(0, extent, flat[first : first + Mi].size, "int32")
    return list(sets)


def _unique(points: int, unit: int, extent: int) -> list[np.ndarray]:
    """Different positions in no order: odd multiples modulo the extent, which is a power of two."""
    sets, rng = _numbers(points, unit, "int64"), np.random.default_rng(1)
    for one in sets:
        step, start = 2 * rng.integers(extent // 4, extent // 2) + 1, rng.integers(extent)
        one[:] = (np.arange(points) * step + start) & (extent - 1)
    return list(sets)


def _takes(dtype: str, width: int, source: int, result: int) -> list[Call]:
    import gatherscatter as gs

    unit = np.dtype(dtype).itemsize * width
    shape = (source // unit, width) if width > 1 else (source // unit,)
    x = buffers.random(shape, dtype, seed=1)
    return [partial(gs.take, x, i, 0) for i in _uniform(result // unit, unit, shape[0])]


def _strided(source: int, result: int) -> list[Call]:
    import gatherscatter as gs

    wide = 1 << ((source // 4).bit_length() // 2)
    x = buffers.random((source // 4 // wide, wide), "float32", seed=1)
    high = max(result // 4 // wide, 1)
    return [partial(gs.gather, x, 0, i.reshape(high, wide)) for i in _uniform(high * wide, 4, len(x))]


def _table(source: int, result: int) -> list[Call]:
    import pyarrow as pa

    import gatherscatter as gs

    rows = source // 16
    x = pa.table([pa.array(buffers.random((rows,), "int32", seed)) for seed in range(4)], list("abcd"))
    return [partial(gs.table.gather, x, i) for i in _uniform(result // 16, 4 * 64, rows)]


def _scatter_rows(source: int, result: int) -> list[Call]:
    import gatherscatter as gs

    n = result // 128
    x, values = (buffers.random((count, 32), "float32", seed=count) for count in (source // 128, n))
    return [partial(gs.scatter, x, i, values, out=x) for i in _unique(n, 128, len(x))]


def _scatter_elements(source: int, result: int) -> list[Call]:
    import gatherscatter as gs

    n = result // 4
    x, values = (buffers.random((count,), "float32", seed=count) for count in (source // 4, n))
    return [partial(gs.scatter, x, 0, i, values, out=x) for i in _uniform(n, 4, len(x))]


FAMILIES: dict[str, Callable[[int, int], list[Call]]] = {
    "elements": partial(_takes, "float32", 1),
    "elements_2B": partial(_takes, "uint16", 1),
    "rows_64B": partial(_takes, "float32", 16),
    "rows_256B": partial(_takes, "float32", 64),
    "strided": _strided,
    "table": _table,
    "scatter_rows": _scatter_rows,
    "scatter_elements": _scatter_elements,
}


@dataclass(frozen=True)
class Cell:
    """A call of one family at one size. For a scatter `source` is the target, and `result` are the values."""

    family: str
    source: int
    result: int

    @property
    def name(self) -> str:
        source, result = (size_text(size).replace(" ", "") for size in (self.source, self.result))
        return f"{self.family}-{source}-{result}"

    @property
    def is_large(self) -> bool:
        return max(self.source, self.result) > 256 * Mi

    def calls(self, quick: bool) -> list[Call]:
        if quick:
            return FAMILIES[self.family](min(self.source, 16 * Ki), min(self.result, 8 * Ki))
        return FAMILIES[self.family](self.source, self.result)


def _places() -> list[tuple[int, int]]:
    """(source, result) of each call, each once, in ascending order."""
    places = {(size, min(RESULT, size)) for size in SIZES}
    places |= {(FAR, size) for size in SIZES} | {(NEAR, size) for size in SIZES if size <= MOST_NEAR}
    return sorted(places, key=lambda place: (math.prod(place), place))


CELLS = tuple(
    Cell(family, source, result)
    for family in FAMILIES
    for source, result in _places()
    if family != "scatter_rows" or result <= source
)
