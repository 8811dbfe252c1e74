"""`python -m benchmarks --scale`: the cost of an element, from 2^10 to 2^33 elements, within each cache regime.

The source keeps its size and the number of elements grows. Indices, and results with `out=`, rotate through memory that
no cache holds: so a call of few elements finds them where a call of many does, in main memory. Beyond the memory of a
machine, items are bytes and the index repeats one row by a stride of zero, so that only the result needs memory.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import buffers, machine, report
from .report import Entry
from .sweeps import size_text

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
COLD = 128 * MIB  # the arrays of successive calls rotate through so many bytes
SAMPLE_SECONDS = 10e-3
LEAST_ROUNDS, MOST_ROUNDS = 3, 11
SECONDS = 2.0  # for each number of elements, unless the least rounds take longer
LONG_CALL = 10e-3
HOW = f"Lower quartiles of {LEAST_ROUNDS} to {MOST_ROUNDS} rounds, in which all numbers of elements take turns."
ROW = 1 << 16  # entries of a repeated index
WITHIN = 1.5  # the cost of an element over the least one of its series
FORMS = {"fresh": "gs.take(x, i)", "out=": "gs.take(x, i, out=out)"}


@dataclass(frozen=True)
class Series:
    name: str
    source_bytes: int
    dtype: str
    index: str
    most: int  # power of two of the largest number of elements
    repeats: bool = False  # the index repeats one row by a stride of zero
    least: int = 10

    def about(self) -> str:
        repeated = ", one row of 2^16 repeated" if self.repeats else ""
        return f"{size_text(self.source_bytes)} of {self.dtype}, {self.index}{repeated}"

    def counts(self, quick: bool) -> list[int]:
        """Every second power of two, and the last one in place of the one before."""
        most = min(self.most, self.least + 4) if quick else self.most
        return [1 << power for power in (*range(self.least, most - 1, 2), most)]


SERIES = (
    Series("L1", 16 * KIB, "float32", "int32", 30),
    Series("L2", 512 * KIB, "float32", "int32", 30),
    Series("LLC", 8 * MIB, "float32", "int32", 30),
    Series("DRAM", 1024 * MIB, "float32", "int32", 29),
    Series("bytes", 16 * KIB, "uint8", "uint16", 33, repeats=True, least=16),
)

Calls = Callable[[int], Any]  # the number of calls -> the last result


class Arrays:
    """The source, the index and the results of one series."""

    def __init__(self, series: Series, quick: bool) -> None:
        extent = series.source_bytes // np.dtype(series.dtype).itemsize >> (8 if quick else 0)
        self.series = series
        self.largest = max(series.counts(quick))
        self.source = buffers.random((extent,), series.dtype, seed=1)
        self.index = buffers.random((ROW if series.repeats else self.largest,), series.index, seed=2)
        self.index &= self.index.dtype.type(extent - 1)  # the extent is a power of two
        self.out: np.ndarray | None = None

    def read_source(self) -> None:
        """Bring the source back to its cache, from which the call of the most elements has evicted it."""
        if self.source.nbytes < COLD:
            self.source.view(np.uint8)[::64].max()  # every cache line

    def windows(self, array: np.ndarray, count: int) -> list[np.ndarray]:
        """Parts of `count` elements, which follow one another through COLD bytes."""
        places = max(min(array.size, COLD // array.itemsize) // count, 1) if count > 1 else 1
        return [array[first : first + count] for first in range(0, places * count, count)]

    def indices(self, count: int) -> list[np.ndarray]:
        if count == 1:
            return [self.index[:1]]
        if self.series.repeats:
            return [np.broadcast_to(self.index, (count // ROW, ROW))]
        return self.windows(self.index, count)

    def calls(self, gs: Any, form: str, count: int) -> Calls:
        """A function that makes so many calls on successive windows, and returns the last result."""
        source, indices = self.source, itertools.cycle(self.indices(count))
        if form == "fresh":

            def fresh(turns: int) -> Any:
                result = None
                for index in itertools.islice(indices, turns):
                    result = gs.take(source, index)
                return result

            return fresh
        if self.out is None:
            self.out = buffers.empty((self.largest,), self.series.dtype)
        shape = self.indices(count)[0].shape
        outs = itertools.cycle([out.reshape(shape) for out in self.windows(self.out, count)])

        def into(turns: int) -> Any:
            result = None
            for index, out in zip(itertools.islice(indices, turns), outs, strict=False):
                result = gs.take(source, index, out=out)
            return result

        return into


def check(arrays: Arrays, gs: Any, form: str, count: int) -> None:
    """Raise ValueError unless the first and last elements of a call are those of NumPy."""
    result, index = arrays.calls(gs, form, count)(1), arrays.indices(count)[0]
    ends = (0, -1) if index.ndim == 2 else (slice(None, ROW), slice(-ROW, None))
    for end in ends:
        if result[end].tobytes() != arrays.source[index[end]].tobytes():  # there are NaNs
            raise ValueError(f"{arrays.series.name}, {form}, {count} elements: wrong result")


def _elapsed(calls: Calls, turns: int) -> float:
    start = time.perf_counter()
    calls(turns)
    return time.perf_counter() - start


def run(names: Sequence[str] | None, threads: int, quick: bool, path: Path | None) -> Entry:
    """The result of the chosen series; those of `path` that are not chosen are kept."""
    import gatherscatter as gs

    if unknown := set(names or []) - {series.name for series in SERIES}:
        raise SystemExit(
            f"no such series: {', '.join(sorted(unknown))} (there are {', '.join(s.name for s in SERIES)})"
        )
    chosen = [series for series in SERIES if names is None or series.name in names]
    # Lines that are measured again replace those of the file; a run of all series begins a new file.
    entries = report.load(path)["scale"] if names is not None and path is not None and path.exists() else []
    facts = machine.describe()
    result: Entry = {"schema": 1, "machine": facts, "threads": threads, "quick": quick, "scale": entries}
    for series in chosen:
        print(f"{series.name}: {series.about()}", file=sys.stderr, flush=True)
        arrays = Arrays(series, quick)
        for form in FORMS:
            for count in series.counts(quick):
                check(arrays, gs, form, count)
            for many in (threads,) if series.repeats else sorted({1, threads}):
                with gs.thread_limit(many):
                    line = _measure(arrays, gs, form, many, quick)
                entries[:] = [entry for entry in entries if _key(entry) != _key(line)] + [line]
                entries.sort(key=_key)
                if path is not None:
                    report.save(result, path)  # after every line, so that a run that fails keeps its results
        del arrays
        gs.trim()
    return result


def _key(entry: Entry) -> tuple[int, int, int]:
    return [series.name for series in SERIES].index(entry["series"]), list(FORMS).index(entry["form"]), entry["threads"]


def _measure(arrays: Arrays, gs: Any, form: str, threads: int, quick: bool) -> Entry:
    """The points of one line: all counts take turns in each round."""
    series = arrays.series
    counts = series.counts(quick)
    forms = {count: arrays.calls(gs, form, count) for count in (1, *counts)}
    turns, rounds = dict.fromkeys(forms, 1), dict.fromkeys(forms, 2 if quick else MOST_ROUNDS)
    for count, calls in forms.items():
        seconds = _elapsed(calls, 1)  # starts threads, takes memory
        if seconds < LONG_CALL and not quick:
            turns[count] = math.ceil(SAMPLE_SECONDS * 3 / max(_elapsed(calls, 3), 1e-7))
        rounds[count] = min(rounds[count], max(round(SECONDS / seconds), LEAST_ROUNDS))
    samples: dict[int, list[float]] = {count: [] for count in forms}
    for turn in range(max(rounds.values())):
        for count, calls in forms.items():
            if turn >= rounds[count]:
                continue
            arrays.read_source()
            if turns[count] > 1:
                calls(2)  # wakes threads; the pool evicts the memory of the largest result when it keeps another one
            samples[count].append(_elapsed(calls, turns[count]) / turns[count])
    points = []
    for count in counts:
        q1, median, q3 = statistics.quantiles(samples[count], n=4, method="inclusive")
        more = {"q1": q1, "q3": q3, "calls": turns[count], "rounds": rounds[count]}
        points.append({"count": count, "median": median, **more})
    return {
        "series": series.name,
        "about": series.about(),
        "form": form,
        "code": FORMS[form],
        "threads": threads,
        "fixed": statistics.median(samples[1]),
        "points": points,
    }


def costs(entry: Entry) -> dict[int, float]:
    """Seconds of one element by the number of elements: lower quartiles, because other processes disturb a round."""
    return {point["count"]: point["q1"] / point["count"] for point in entry["points"]}


def holds_from(entry: Entry) -> int | None:
    """The least count from which on every cost is within WITHIN of the least one; None if the last one is not."""
    cost = costs(entry)
    best, found = min(cost.values()), None
    for count in sorted(cost, reverse=True):
        if cost[count] > WITHIN * best:
            break
        found = count
    return found


def power_text(count: int | None) -> str:
    return report.NOTHING if count is None else f"2^{count.bit_length() - 1}"


def table(result: Entry) -> str:
    """One line for each series, form and number of threads."""
    lines = [
        "| source, index | form | threads | one call | ns an element: 2^16 | 2^20 | 2^24 | most elements | least, at "
        f"| largest from 2^16 on ÷ least | within {WITHIN} from |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for entry in result["scale"]:
        cost = costs(entry)
        best = min(cost, key=lambda count: cost[count])
        large = [seconds for count, seconds in cost.items() if count >= 1 << 16]
        shown = [f"{cost[1 << power] * 1e9:.2f}" if 1 << power in cost else report.NOTHING for power in (16, 20, 24)]
        cells = [
            f"{entry['series']}: {entry['about']}",
            f"`{entry['code']}`",
            str(entry["threads"]),
            report.seconds_text(entry["fixed"]),
            *shown,
            f"{cost[max(cost)] * 1e9:.2f} ({power_text(max(cost))})",
            f"{cost[best] * 1e9:.2f} ({power_text(best)})",
            f"{max(large) / cost[best]:.2f}" if large else report.NOTHING,
            power_text(holds_from(entry)),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
