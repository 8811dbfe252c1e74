"""`python -m gatherscatter tune`: from which sizes on prefetching, streaming stores and threads pay on this machine.

Two processes make the same call in turns, one with a way of running switched on and one without; where the one
overtakes the other, the threshold belongs. Run as a module, this file is such a process.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gatherscatter as gs

ALWAYS, NEVER = 1, 2**63 - 1
CLEAR = 1.05  # a threshold is worth setting if the sizes that it changes gain so much in the mean
ROUNDS, SAMPLE_SECONDS = 11, 3e-3
SETS = 3  # of indices, in turns
Ki, Mi = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Threshold:
    """What is switched, by which setting, and the call that shows it at each size."""

    name: str  # as show_config has it
    what: str
    sizes: tuple[int, ...]
    call: Callable[[int], tuple[int, int, int]]  # size -> items of the table, items of a row, rows taken
    threads: bool = False  # needs more than one
    besides: tuple[str, ...] = ()  # settings that are to stay out of it
    in_force: str = ""  # what show_config calls the value that holds for these calls, where that is another one

    @property
    def variable(self) -> str:
        return f"GS_{self.name.upper()}"

    @property
    def unit(self) -> str:
        return "points" if "points" in self.name else "bytes"


@dataclass
class Found:
    threshold: Threshold
    present: int
    gains: dict[int, float] = field(default_factory=dict)  # size: time without / time with

    @property
    def measured(self) -> int:
        """The first size from which on it pays, by the least time lost over all sizes."""
        sizes = list(self.gains)
        lost = [
            sum(max(math.log(gain), 0.0) for gain in list(self.gains.values())[:k])
            + sum(max(-math.log(gain), 0.0) for gain in list(self.gains.values())[k:])
            for k in range(len(sizes) + 1)
        ]
        first = min(range(len(lost)), key=lost.__getitem__)
        return sizes[first] if first < len(sizes) else NEVER

    @property
    def gain(self) -> float:
        """What the measured value would bring where it decides otherwise than the present one."""
        changed = [
            gain if size >= self.measured else 1 / gain
            for size, gain in self.gains.items()
            if (size >= self.measured) != (size >= self.present)
        ]
        return statistics.geometric_mean(changed) if changed else 1.0

    @property
    def is_clear(self) -> bool:
        return self.gain >= CLEAR


def _sizes(first: int, last: int) -> tuple[int, ...]:
    return tuple(first << k for k in range((last // first).bit_length()))


THRESHOLDS = (
    Threshold(
        "far_table_bytes",
        "fetch in advance from a table of",
        _sizes(512 * Ki, 256 * Mi),
        lambda size: (size // 4, 1, Mi),
        in_force="far_vector_bytes",
    ),
    Threshold(
        "stream_bytes",
        "bypass the caches with a result of",
        _sizes(Mi, 128 * Mi),
        lambda size: (Mi, 64, size // 256),
    ),
    Threshold(
        "serial_points",
        "several threads for short units, table in a cache,",
        _sizes(2 * Ki, Mi),
        lambda size: (4 * Ki, 1, size),
        threads=True,
    ),
    Threshold(
        "serial_points_far",
        "several threads for short units, table in memory,",
        _sizes(Ki, 512 * Ki),
        lambda size: (16 * Mi, 1, size),
        threads=True,
    ),
    Threshold(
        "serial_row_bytes",
        "several threads for longer units of together",
        _sizes(16 * Ki, 2 * Mi),
        lambda size: (Mi, 256, size // 1024),
        threads=True,
        besides=("GS_SERIAL_POINTS", "GS_SERIAL_POINTS_FAR"),
    ),
)


def _sampler(items: int, width: int, count: int) -> Callable[[], float]:
    """Seconds of one call, by as many as a sample takes."""
    random = np.random.default_rng(1)
    table = random.integers(0, 2**32, items, dtype=np.uint32).view(np.float32).reshape(-1, width)
    indices = [random.integers(0, len(table), count, dtype=np.int32) for _ in range(SETS)]
    source = table[:, 0] if width == 1 else table
    turn = 0

    def run(calls: int) -> float:
        nonlocal turn
        start = time.perf_counter()
        for _ in range(calls):
            gs.take(source, indices[turn % SETS], axis=0)
            turn += 1
        return (time.perf_counter() - start) / calls

    once = min(run(1) for _ in range(SETS))
    calls = max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-7)))
    return lambda: run(calls)


def serve() -> None:
    """A line with a call prepares it; an empty line asks for a sample."""
    sample: Callable[[], float] = float
    for line in sys.stdin:
        if line.strip():
            sample = _sampler(*json.loads(line))
            print("ready", flush=True)
        else:
            print(sample(), flush=True)


@contextmanager
def _process(settings: dict[str, int]) -> Iterator[Callable[[str], str]]:
    """Asks a process that runs with the settings; it ends with the block."""
    environment = {name: value for name, value in os.environ.items() if name != "GS_BACKEND"}
    environment |= {name: str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "gatherscatter._tune"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        if child.stdin is None or child.stdout is None:  # never, with pipes
            raise RuntimeError("no pipes")
        reader, writer = child.stdout, child.stdin

        def ask(line: str) -> str:
            writer.write(line + "\n")
            writer.flush()
            answer = reader.readline()
            if not answer:
                raise RuntimeError(f"{' '.join(command)} ended early")
            return answer

        yield ask
        writer.close()


def measure(threshold: Threshold, present: int, quick: bool) -> Found:
    found = Found(threshold, present)
    besides = dict.fromkeys(threshold.besides, NEVER)
    sizes, rounds = (threshold.sizes[:2], 2) if quick else (threshold.sizes, ROUNDS)
    with (
        _process({**besides, threshold.variable: NEVER}) as without,
        _process({**besides, threshold.variable: ALWAYS}) as having,
    ):
        for size in sizes:
            call = json.dumps(threshold.call(size))
            for ask in (without, having):
                ask(call)
            times = [(float(without("")), float(having(""))) for _ in range(rounds)]
            found.gains[size] = statistics.median(off / on for off, on in times)
    return found


def size_text(size: int, unit: str) -> str:
    if size == NEVER:
        return "no size"
    for scale, prefix in ((Mi, "Mi"), (Ki, "Ki")):
        if size >= scale:
            return f"{size / scale:.4g} {prefix}{'B' if unit == 'bytes' else ' points'}"
    return f"{size} {'B' if unit == 'bytes' else 'points'}"


def report(results: list[Found]) -> str:
    rows = [("from which size on", "now", "measured", "would gain")]
    for one in results:
        unit = one.threshold.unit
        now, measured = (size_text(value, unit) for value in (one.present, one.measured))
        rows.append((one.threshold.what, now, measured, f"{(one.gain - 1) * 100:.0f} %" if one.is_clear else "-"))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    clear = [one for one in results if one.is_clear]
    lines += ["", "# clearly better on this machine" if clear else "Nothing would be clearly better."]
    lines += [f"export {one.threshold.variable}={one.measured}" for one in clear]
    return "\n".join(lines)


def curves(results: list[Found]) -> str:
    lines = ["time without / time with, by size:"]
    for one in results:
        gains = ", ".join(f"{size_text(size, one.threshold.unit)} {gain:.2f}" for size, gain in one.gains.items())
        lines.append(f"{one.threshold.variable}: {gains}")
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="two small sizes each: shows that it runs")
    parser.add_argument("--curves", action="store_true", help="show the gain at every size as well")


def run(arguments: argparse.Namespace) -> int:
    config: dict[str, Any] = gs.show_config()
    results = []
    for threshold in THRESHOLDS:
        if threshold.threads and config["threads"] == 1:
            print(f"{threshold.variable}: left out, there is one thread", file=sys.stderr)
            continue
        print(f"{threshold.variable} ...", file=sys.stderr, flush=True)
        results.append(measure(threshold, config[threshold.in_force or threshold.name], arguments.quick))
    print(report(results))
    if arguments.quick:
        print("# --quick: two sizes say nothing about thresholds")
    if arguments.curves:
        print("\n" + curves(results))
    return 0


if __name__ == "__main__":
    serve()
