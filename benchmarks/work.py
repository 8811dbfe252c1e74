"""`python -m benchmarks --work`: the processor time of one call with 1, 2, 4, 8 and 16 threads.

Processor time (user and system) needs no machine with many processors: a call whose work grows with the threads would
not scale on one. The calls take turns, so that a change of the clock frequency meets all numbers of threads alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from . import buffers, cases

THREADS = (1, 2, 4, 8, 16)
ROUNDS = 11
SAMPLE_SECONDS = 0.05
POINTS, TARGETS = 4 << 20, 1 << 20

Entry = dict[str, Any]
Call = Callable[[], object]


def _gathers(gs: Any, scale: int) -> Iterator[tuple[str, Call]]:
    generator = np.random.default_rng(1)
    source = buffers.random(((64 << 20) // scale,), "float32", 2)
    index = buffers.filled(generator.integers(0, source.size, POINTS // scale), "int64")
    yield "take from 256 MiB", lambda: gs.take(source, index)
    rows = source.reshape(-1, 32)
    row = buffers.filled(generator.integers(0, len(rows), POINTS // 8 // scale), "int64")
    yield "rows of 128 B", lambda: gs.take(rows, row, axis=0)
    square = source[: (4 << 20) // scale].reshape(2048 // scale, 2048)
    places = buffers.filled(generator.integers(0, len(square), square.shape), "int64")
    yield "gather dim 0", lambda: gs.gather(square, 0, places)


def _tables(gs: Any, scale: int) -> Iterator[tuple[str, Call]]:
    try:
        import pyarrow as pa
    except ImportError:
        return
    generator = np.random.default_rng(3)
    n = TARGETS // scale
    columns = {f"c{k}": pa.array(generator.integers(0, 100, n), mask=generator.random(n) < 0.1) for k in range(9)}
    table = pa.table(columns)
    rows = generator.integers(0, n, n).astype(np.int32)
    yield "table gather, 9 columns", lambda: gs.table.gather(table, rows)
    some = generator.permutation(n)[: n // 10].astype(np.int32)
    source = table.slice(0, len(some))
    yield "table scatter, 10 %", lambda: gs.table.scatter(source, some, table)


def _scatters(gs: Any, scale: int) -> Iterator[tuple[str, Call]]:
    points, targets = POINTS // scale, TARGETS // scale
    generator = np.random.default_rng(5)
    indices = {spread: cases.indices(spread, targets, (points,), "int64", 4) for spread in ("uniform", "zipf")}
    values = buffers.filled(generator.standard_normal(points), "float32")
    half = buffers.filled(values, "float16")
    full, narrow = (
        buffers.random((targets,), "uint32", 6).view(np.float32),
        buffers.filled(np.zeros(targets), "float16"),
    )
    full[:] = 0

    def element(out: np.ndarray, value: np.ndarray, reduce: str | None, index: np.ndarray) -> Call:
        return lambda: gs.scatter(out, 0, index, value, reduce=reduce, out=out)

    for spread, index in indices.items():
        yield f"last wins, {spread}", element(full, values, None, index)
        yield f"add, {spread}", element(full, values, "add", index)
        yield f"mean, {spread}", element(full, values, "mean", index)
        yield f"add float16, {spread}", element(narrow, half, "add", index)
        yield f"max float16, {spread}", element(narrow, half, "max", index)
    place = np.stack(np.divmod(indices["uniform"], 1024), axis=1)
    square = full.reshape(-1, 1024)
    yield "coordinates, uniform", lambda: gs.scatter_nd(square, place, values, out=square)
    target = buffers.random((targets, 32), "float32", 7)
    block = buffers.random((targets, 32), "float32", 8)
    target[:], block[:] = 0, 1
    unique = buffers.filled(generator.permutation(targets), "int64")
    yield "unique rows of 128 B", lambda: gs.scatter(target, unique, block, out=target)
    for spread, index in indices.items():
        yield f"rows of 128 B, {spread}", lambda index=index: gs.scatter(target, index[:targets], block, out=target)
        yield (
            f"rows of 128 B, add, {spread}",
            lambda index=index: gs.scatter(target, index[:targets], block, reduce="add", out=target),
        )


def calls(quick: bool) -> Iterator[tuple[str, Call]]:
    import gatherscatter as gs

    for group in (_gathers, _tables, _scatters):
        yield from group(gs, 64 if quick else 1)


def _sample(call: Call, times: int) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        call()
    return (time.process_time() - cpu) / times, (time.perf_counter() - wall) / times


def measure(only: Iterable[str] | None, quick: bool) -> list[Entry]:
    """One entry for each call: medians of processor time and of time, in seconds, by number of threads."""
    import gatherscatter as gs

    words = None if only is None else tuple(only)
    entries: list[Entry] = []
    for name, call in calls(quick):
        if words is not None and not any(word in name for word in words):
            continue
        with gs.thread_limit(1):
            once = min(_sample(call, 1)[1] for _ in range(3))
        times = 1 if quick else max(1, round(SAMPLE_SECONDS / max(once, 1e-7)))
        samples: dict[int, list[tuple[float, float]]] = {threads: [] for threads in THREADS}
        for _ in range(2 if quick else ROUNDS):
            for threads in THREADS:
                with gs.thread_limit(threads):
                    samples[threads].append(_sample(call, times))
        cpu = {str(threads): statistics.median(cpu for cpu, _ in samples[threads]) for threads in THREADS}
        wall = {str(threads): statistics.median(wall for _, wall in samples[threads]) for threads in THREADS}
        entries.append({"call": name, "cpu": cpu, "wall": wall})
    return entries


def table(entries: list[Entry]) -> str:
    """Processor time in ms by number of threads, its growth from 1 to 16, and the time of 2 threads over that of 1."""
    head = " | ".join(map(str, THREADS))
    lines = [f"| call, ms of processor time | {head} | 16 ÷ 1 | time, 2 ÷ 1 |", "|---|" + "--:|" * (len(THREADS) + 2)]
    for entry in entries:
        cpu, wall = entry["cpu"], entry["wall"]
        row = " | ".join(f"{cpu[str(threads)] * 1e3:.1f}" for threads in THREADS)
        growth, speed = cpu["16"] / cpu["1"], wall["2"] / wall["1"]
        lines.append(f"| {entry['call']} | {row} | {growth:.2f} | {speed:.2f} |")
    return "\n".join(lines)
