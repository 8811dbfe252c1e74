"""The cases of the suite: sizes, index patterns, expected results, and the bytes that the operator must access."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import buffers

SETS = 3  # index sets in rotation, so that no call finds the cache lines of the previous one in a cache


@dataclass(frozen=True)
class Touch:
    """The memory of one pass: index k at (o, i) selects `bytes` at o*outer_step + k*index_step + i*inner_step."""

    extent: int
    outer: int
    inner: int
    outer_step: int
    index_step: int
    inner_step: int
    bytes: int
    walks: tuple[str, ...] = ("points",)


@dataclass
class Workload:
    """The arrays or tables of one case. `sets` holds those that rotate, by their names in the forms."""

    source: Any
    sets: list[dict[str, Any]]
    out: np.ndarray
    expected: Callable[..., Any]
    touch: Touch | None = None  # None: the memory limit is not measured
    constants: dict[str, Any] = field(default_factory=dict)
    in_order: bool = False  # indices are sequential: the source array is read as a stream
    scratch: np.ndarray | None = None  # for a scatter: memory like its target `out`, which the probe may write
    needed: list[np.ndarray] | None = None  # the positions that the probe must read, if they are not all of `i`
    # For tables: the types that libraries convert, the comparison, the walks of the limit.
    adaptable: tuple[type, ...] = (np.ndarray,)
    same: Callable[[Any, Any], bool] | None = None
    walks: Callable[[Any, int], dict[str, dict[str, Any]]] | None = None
    adapted: dict[Any, Any] = field(default_factory=dict)  # cache of the arrays that libraries converted

    @property
    def index_dtype(self) -> str:
        index = self.sets[0].get("i")
        return index.dtype.name if isinstance(index, np.ndarray) else ""


@dataclass(frozen=True)
class Case:
    number: str
    name: str
    kind: str  # selects the forms
    about: str
    build: Callable[[bool], Workload]
    needs: str = ""  # a module that the case needs
    seconds: float = math.inf  # most seconds of timing
    place: dict[str, Any] = field(default_factory=dict)  # in a sweep: the place of the case in the plot


def indices(pattern: str, extent: int, shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    count = math.prod(shape)
    if pattern == "arange":
        values = np.arange(count, dtype=dtype) % extent
    elif pattern == "zipf":
        # Zipf of exponent 1 by its inverse distribution; an odd multiplier spreads frequent values over the extent 2^k.
        rank = np.minimum(np.exp(rng.random(count) * math.log(extent + 1)).astype(np.int64) - 1, extent - 1)
        values = (rank * 2654435761) & (extent - 1)
    else:
        values = rng.integers(0, extent, count, dtype=dtype)
        if pattern == "sorted":
            values.sort()
    return buffers.filled(values.reshape(shape), dtype)


def take(extent: int, count: int, dtype: str, index: str, pattern: str = "uniform", bad: bool = False) -> Any:
    def build(quick: bool) -> Workload:
        rows, n = (max(extent >> 8, 256), max(count >> 10, 16)) if quick else (extent, count)
        source = buffers.random((rows,), dtype, seed=1)
        sets = [{"i": indices(pattern, rows, (n,), index, seed)} for seed in range(SETS)]
        if bad:
            for one in sets:
                one["i"][n * 9 // 10] = rows
        return Workload(
            source=source,
            sets=sets,
            out=buffers.empty((n,), dtype),
            expected=lambda i: source[i],
            touch=None if bad else Touch(rows, 1, n, 0, source.itemsize, 0, source.itemsize),
            in_order=pattern == "arange",
        )

    return build


def rows(extent: int, width: int, count: int, index: str, pattern: str = "uniform") -> Any:
    def build(quick: bool) -> Workload:
        rows, n = (max(extent >> 8, 128), count >> 8) if quick else (extent, count)
        source = buffers.random((rows, width), "float32", seed=2)
        return Workload(
            source=source,
            sets=[{"i": indices(pattern, rows, (n,), index, seed)} for seed in range(SETS)],
            out=buffers.empty((n, width), "float32"),
            expected=lambda i: source[i],
            touch=Touch(rows, 1, n, 0, width * 4, 0, width * 4),
        )

    return build


def _along(axis: int, shape: tuple[int, int], index_shape: tuple[int, int], sets: int = SETS) -> Any:
    def build(quick: bool) -> Workload:
        (high, wide), (index_high, index_wide) = shape, index_shape
        if quick:
            high, wide = max(high >> 5, 16), max(wide >> 5, 16)
            index_high, index_wide = max(index_high >> 5, 16), max(index_wide >> 5, 16)
        source = buffers.random((high, wide), "float32", seed=3)
        extent, index = source.shape[axis], (index_high, index_wide)
        row, column = np.arange(index_high)[:, None], np.arange(index_wide)[None, :]
        last = axis == 1
        return Workload(
            source=source,
            sets=[{"i": indices("uniform", extent, index, "int64", seed)} for seed in range(sets)],
            out=buffers.empty(index, "float32"),
            expected=lambda i: source[row, i] if last else source[i, column],
            touch=Touch(
                extent,
                *index,
                outer_step=wide * 4 if last else 0,
                index_step=4 if last else wide * 4,
                inner_step=0 if last else 4,
                bytes=4,
                walks=("points", "row_first") if last else ("points", "slab"),
            ),
            constants={"row": row, "row_start": row * wide, "column": column, "width": wide},
        )

    return build


def _batch(quick: bool) -> Workload:
    batches, extent, width, count = (4, 256, 16, 64) if quick else (64, 8192, 64, 1024)
    source = buffers.random((batches, extent, width), "float32", seed=4)
    batch = np.arange(batches, dtype=np.int32)[:, None]
    return Workload(
        source=source,
        sets=[{"i": indices("uniform", extent, (batches, count), "int32", seed)} for seed in range(8)],
        out=buffers.empty((batches, count, width), "float32"),
        expected=lambda i: source[batch, i],
        touch=Touch(extent, batches, count, extent * width * 4, width * 4, 0, width * 4),
        constants={
            "batch": batch,
            "batch_start": batch * np.int32(extent),
            "width": width,
            "out_shape": (batches, count, width),
        },
    )


def _tile(quick: bool) -> Workload:
    extent, shape = (8192, (256, 32)) if quick else (2 << 20, (65536, 32))
    pad = np.float32(-1)
    source = buffers.random((extent,), "float32", seed=5)
    sets, needed = [], []
    for seed in range(SETS):
        rng = np.random.default_rng(seed)
        index = indices("uniform", extent, shape, "int32", seed)
        outside = rng.random(shape) < 0.1
        index[outside] = np.where(rng.random(shape) < 0.5, -1 - index, index + extent)[outside]
        mask = buffers.filled(rng.random(shape) >= 0.4, "bool")
        sets.append({"i": index, "m": mask})
        needed.append(buffers.filled(index[mask & ~outside], "int32"))

    def expected(i: np.ndarray, m: np.ndarray) -> np.ndarray:
        result = np.full(shape, pad)
        inside = m & (i >= 0) & (i < extent)
        result[inside] = source[i[inside]]
        return result

    return Workload(
        source=source,
        sets=sets,
        out=buffers.empty(shape, "float32"),
        expected=expected,
        touch=Touch(extent, 1, min(len(one) for one in needed), 0, 4, 0, 4),
        constants={"n": extent, "pad": float(pad), "out_shape": shape},
        needed=needed,
    )


def _points(quick: bool) -> Workload:
    side, n = (32, 2 << 10) if quick else (256, 2 << 20)
    source = buffers.random((side, side, side), "float32", seed=8)
    sets = [{"i": indices("uniform", side, (n, 3), "int64", seed)} for seed in range(SETS)]
    return Workload(
        source=source,
        sets=sets,
        out=buffers.empty((n,), "float32"),
        expected=lambda i: source[i[:, 0], i[:, 1], i[:, 2]],
        touch=Touch(source.size, 1, n, 0, 4, 0, 4),
        constants={"side": side},
        needed=[buffers.filled(one["i"] @ np.array([side * side, side, 1]), "int64") for one in sets],
    )


def _scatter(
    source: np.ndarray, sets: list[dict[str, np.ndarray]], write: Callable[..., object], touch: Touch, **constants: Any
) -> Workload:
    """A scatter of values `b` into a target like `source`; `write` is the plain NumPy equivalent."""

    def expected(i: np.ndarray, b: np.ndarray) -> np.ndarray:
        target = source.copy()
        write(target, i, b)
        return target

    out, scratch = (buffers.filled(source, source.dtype) for _ in range(2))
    return Workload(source, sets, out, expected, touch, constants, scratch=scratch)


def _set_rows(quick: bool) -> Workload:
    rows, width = (4 << 10 if quick else 1 << 20), 32
    sets = [
        {
            "i": buffers.filled(np.random.default_rng(seed).permutation(rows), "int64"),
            "b": buffers.random((rows, width), "float32", seed=10 + seed),
        }
        for seed in range(SETS)
    ]
    touch = Touch(rows, 1, rows, 0, width * 4, 0, width * 4, ("points", "write", "write_past_caches"))
    return _scatter(buffers.random((rows, width), "float32", seed=9), sets, np.ndarray.__setitem__, touch)


def _set_or_add(index: str, add: bool) -> Any:
    def build(quick: bool) -> Workload:
        extent, n = (4 << 10, 16 << 10) if quick else (1 << 20, 4 << 20)

        def values(count: int, seed: int) -> np.ndarray:
            if not add:
                return buffers.random((count,), "float32", seed)
            return buffers.filled(np.random.default_rng(seed).integers(-8, 9, count), "float32")

        sets = [{"i": indices("zipf", extent, (n,), index, seed), "b": values(n, 10 + seed)} for seed in range(SETS)]
        touch = Touch(extent, 1, n, 0, 4, 0, 4, ("points", "write"))
        return _scatter(values(extent, 9), sets, np.add.at if add else np.ndarray.__setitem__, touch)

    return build


def _set_last(quick: bool, shape: tuple[int, int, int] = (4096, 4096, 1024)) -> Workload:
    high, wide, count = (128, 128, 32) if quick else shape
    sets = []
    for seed in range(SETS):
        rng = np.random.default_rng(seed)
        # Odd multiples plus an offset, modulo a power of two: no duplicate targets in a row.
        step, start = 2 * rng.integers(0, wide // 2, (high, 1)) + 1, rng.integers(0, wide, (high, 1))
        index = buffers.filled((step * np.arange(count) + start) % wide, "int64")
        sets.append({"i": index, "b": buffers.random((high, count), "float32", seed=10 + seed)})
    row = np.arange(high)[:, None]
    return _scatter(
        buffers.random((high, wide), "float32", seed=9),
        sets,
        lambda target, i, b: target.__setitem__((row, i), b),
        Touch(wide, high, count, wide * 4, 4, 0, 4, ("points", "row_first", "write")),
        row=row,
        row_start=row * wide,
    )


def _transposed(build: Callable[[bool], Workload], name: str) -> Any:
    """A workload with one of its arrays in Fortran order: `x`, or one of those that rotate."""

    def fortran(array: np.ndarray) -> np.ndarray:
        return buffers.filled(array.T, array.dtype).T

    def laid(quick: bool) -> Workload:
        work = build(quick)
        work.needed = [one["i"] for one in work.sets]  # the limit is that of the same arrays in C order
        if name == "x":
            return replace(work, source=fortran(work.source))
        return replace(work, sets=[{**one, name: fortran(one[name])} for one in work.sets])

    return laid


def _roll(quick: bool) -> Workload:
    count = 16 << 10 if quick else 16 << 20
    source = buffers.random((count,), "float32", seed=11)
    shifts = [count // 3 + seed for seed in range(SETS)]  # odd and even ones
    return Workload(
        source=source,
        sets=[{"i": np.array(shift)} for shift in shifts],
        out=buffers.empty((count,), "float32"),
        expected=lambda i: np.roll(source, int(i)),
    )


def _repeat(quick: bool) -> Workload:
    count = 4 << 10 if quick else 4 << 20
    source = buffers.random((count,), "float32", seed=12)
    counts = np.arange(count) % 8
    sets = [{"i": buffers.filled(np.random.default_rng(seed).permutation(counts), "int64")} for seed in range(SETS)]
    total = int(counts.sum())
    return Workload(
        source=source,
        sets=sets,
        out=buffers.empty((total,), "float32"),
        expected=lambda i: np.repeat(source, i),
        constants={"total": total},
    )


def _small(count: int) -> Any:
    def build(quick: bool) -> Workload:
        source = buffers.random((1024,), "float32", seed=6)
        return Workload(
            source=source,
            sets=[{"i": indices("uniform", 1024, (count,), "int64", seed)} for seed in range(SETS)],
            out=buffers.empty((count,), "float32"),
            expected=lambda i: source[i],
        )

    return build


def _table(number: str, name: str, kind: str, about: str, builder: str, *arguments: Any) -> Case:
    """A case of `tables.py`, which needs pyarrow."""

    def build(quick: bool) -> Workload:
        from . import tables

        work: Workload = getattr(tables, builder)(quick, *arguments)
        return work

    return Case(number, name, kind, about, build, needs="pyarrow", seconds=TABLE_SECONDS)


Ki, Mi = 1 << 10, 1 << 20
TABLE_SECONDS = 5.0
CASES = (
    Case("1", "take_lut_u8", "take", "256 u8, 64 Mi uint8 uniform", take(256, 64 * Mi, "uint8", "uint8")),
    Case("2", "take_L1", "take", "4 Ki f32, 4 Mi int64 uniform", take(4 * Ki, 4 * Mi, "float32", "int64")),
    Case("3", "take_L2", "take", "128 Ki f32, 4 Mi int32 uniform", take(128 * Ki, 4 * Mi, "float32", "int32")),
    Case("39a", "take_u8", "take", "256 f32, 16 Mi uint8 uniform", take(256, 16 * Mi, "float32", "uint8")),
    Case("39b", "take_u16", "take", "64 Ki f32, 16 Mi uint16 uniform", take(64 * Ki, 16 * Mi, "float32", "uint16")),
    Case("4", "take_LLC", "take", "2 Mi f32, 4 Mi int64 uniform", take(2 * Mi, 4 * Mi, "float32", "int64")),
    Case("5", "take_DRAM", "take", "64 Mi f32, 16 Mi int32 uniform", take(64 * Mi, 16 * Mi, "float32", "int32")),
    Case("6", "take_DRAM_f64", "take", "32 Mi f64, 16 Mi int64 uniform", take(32 * Mi, 16 * Mi, "float64", "int64")),
    Case(
        "7", "take_seq", "take", "64 Mi f32, 16 Mi int64 arange", take(64 * Mi, 16 * Mi, "float32", "int64", "arange")
    ),
    Case(
        "8a",
        "take_zipf",
        "take",
        "64 Mi f32, 16 Mi int32 zipf 1.0",
        take(64 * Mi, 16 * Mi, "float32", "int32", "zipf"),
    ),
    Case(
        "8b",
        "take_sorted",
        "take",
        "64 Mi f32, 16 Mi int32 sorted",
        take(64 * Mi, 16 * Mi, "float32", "int32", "sorted"),
    ),
    Case("9", "rows_16B", "rows", "1 Mi x 4 f32, 1 Mi int64 uniform", rows(Mi, 4, Mi, "int64")),
    Case("10", "rows_64B", "rows", "1 Mi x 16 f32, 512 Ki int64 uniform", rows(Mi, 16, 512 * Ki, "int64")),
    Case("11", "rows_100B", "rows", "1 Mi x 25 f32, 512 Ki int32 uniform", rows(Mi, 25, 512 * Ki, "int32")),
    Case("12", "rows_256B", "rows", "1 Mi x 64 f32, 256 Ki int64 zipf", rows(Mi, 64, 256 * Ki, "int64", "zipf")),
    Case("13", "rows_1KB", "rows", "256 Ki x 256 f32, 64 Ki int64 uniform", rows(256 * Ki, 256, 64 * Ki, "int64")),
    Case("14", "rows_8KB", "rows", "32 Ki x 2048 f32, 8 Ki int32 uniform", rows(32 * Ki, 2048, 8 * Ki, "int32")),
    Case("15", "gather_last_wide", "last", "[4096,4096] f32, index [4096,1024]", _along(1, (4096, 4096), (4096, 1024))),
    # The narrow index repeats so fast that three sets would stay in a cache.
    Case(
        "16a", "gather_last_vocab_64", "last", "[128,50000] f32, index [128,64]", _along(1, (128, 50000), (128, 64), 64)
    ),
    Case("16b", "gather_last_vocab_all", "last", "[128,50000] f32, index same", _along(1, (128, 50000), (128, 50000))),
    Case("17", "gather_dim0", "first", "[4096,4096] f32, index same", _along(0, (4096, 4096), (4096, 4096))),
    Case("18", "gather_batch", "batch", "[64,8192,64] f32, index [64,1024] int32, batch_dims=1", _batch),
    Case("19", "tile_masked", "tile", "8 MiB f32, index [65536,32] int32, 10 % outside, 40 % masked", _tile),
    _table("20", "table_wide", "nullify", "32 columns of 1 to 16 B, 10 % null, 1 Mi int32, 5 % null", "wide"),
    _table("21", "table_strings", "text", "1 Mi strings of 20 B, 1 Mi int32 uniform", "strings"),
    Case("22", "scatter_rows_unique", "set_rows", "1 Mi x 32 f32, int64 permutation", _set_rows),
    Case(
        "23",
        "scatter_dups_det",
        "set",
        "4 Mi f32 into 1 Mi, int32 zipf, the last one wins",
        _set_or_add("int32", False),
    ),
    Case("24a", "small_16", "small", "1 Ki f32, 16 int64", _small(16)),
    Case("24b", "small_256", "small", "1 Ki f32, 256 int64", _small(256)),
    Case("24c", "small_4096", "small", "1 Ki f32, 4096 int64", _small(4096)),
    Case(
        "25",
        "bad_index",
        "bad",
        "case 5 with one bad index at 90 %",
        take(64 * Mi, 16 * Mi, "float32", "int32", bad=True),
    ),
    Case("26", "scatter_add_zipf", "add", "4 Mi f32 into 1 Mi, int64 zipf 1.0", _set_or_add("int64", True)),
    Case("27", "gather_nd", "points", "[256,256,256] f32, 2 Mi int64 coordinates", _points),
    Case("28", "put_along_axis", "set_last", "[4096,4096] f32, index [4096,1024] unique in a row", _set_last),
    Case("34", "roll", "roll", "16 Mi f32 by a third", _roll),
    Case("35", "repeat", "repeat", "4 Mi f32, each 0 to 7 times, int64", _repeat),
    _table("29", "table_polars", "frame", "polars: 12 columns, 3 of strings, 10 % null, 1 Mi uint32", "frame"),
    _table("30", "table_chunks", "chunks", "12 nullable columns in 64 chunks, 1 Mi int32, 5 % null", "chunks"),
    _table("31a", "table_scatter_10", "replace", "12 columns, 2 of strings, 1 Mi rows, 10 % replaced", "replaced", 0.1),
    _table("31b", "table_scatter_50", "replace", "the same, 50 % replaced", "replaced", 0.5),
    _table("32a", "table_mask", "mask", "the same, 10 % true, the i-th true gets the i-th row", "masked"),
    _table("32b", "table_mask_scalars", "fill", "the same, one scalar per column", "filled"),
    _table("33a", "table_10_rows_1", "few", "10 rows x 1 column", "few", 1),
    _table("33b", "table_10_rows_10", "few", "10 rows x 10 columns", "few", 10),
    _table("33c", "table_10_rows_32", "few", "10 rows x 32 columns", "few", 32),
    _table("36", "table_keys", "keys", "64 chunks, 1,000 texts in a dictionary of each, 1 Mi int32", "keys"),
    Case(
        "38a",
        "gather_transposed",
        "last",
        "[4096,4096] f32 in Fortran order, index same in C order",
        _transposed(_along(1, (4096, 4096), (4096, 4096)), "x"),
    ),
    Case(
        "38b",
        "gather_transposed_index",
        "last",
        "[4096,4096] f32, index same in Fortran order",
        _transposed(_along(1, (4096, 4096), (4096, 4096)), "i"),
    ),
    Case(
        "38c",
        "put_transposed_values",
        "set_last",
        "[4096,4096] f32, index [4096,1024], values in Fortran order",
        _transposed(_set_last, "b"),
    ),
    _table("37", "table_runs", "runs", "run-end encoded, ten rows a run, 1 Mi int32", "runs"),
)
