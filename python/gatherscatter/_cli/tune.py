"""`python -m gatherscatter tune`: measures the sizes from which prefetching, streaming stores and threads save time.

Two processes make equal calls in turns, one with a technique always switched on and one with it switched off. The
threshold is the size from which the technique saves time. Run as a module, this file is one of these processes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter import _core

ALWAYS, NEVER = 1, 2**63 - 1
CLEAR = 1.05  # a threshold is recommended if the sizes for which it changes the decision gain this factor in the mean
ROUNDS, SAMPLE_SECONDS = 11, 3e-3
SETS = 3  # index arrays, which the calls use in turns
Ki, Mi = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Threshold:
    """One threshold: its name, the sizes to measure, and the call to measure at each size."""

    name: str  # key in show_config
    what: str
    sizes: tuple[int, ...]
    call: Callable[[int], tuple[int, int, int]]  # size -> items of the source array, items of a row, rows taken
    threads: bool = False  # whether the threshold needs more than one thread
    in_force: str = ""  # key in show_config of the value that applies to these calls, if it is not `name`

    @property
    def variable(self) -> str:
        return f"GS_{self.name.upper()}"

    @property
    def unit(self) -> str:
        return "points" if "points" in self.name else "bytes"


@dataclass
class Measurement:
    threshold: Threshold
    present: int
    gains: dict[int, float] = field(default_factory=dict)  # size: time without / time with

    @property
    def measured(self) -> int:
        """The threshold that loses the least time over all sizes; NEVER if switching the technique off is best."""
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
        """The geometric mean of the gains at the sizes for which measured and present value decide differently."""
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
        "prefetch from a source array of",
        _sizes(512 * Ki, 256 * Mi),
        lambda size: (size // 4, 1, Mi),
        in_force="far_vector_bytes",
    ),
    Threshold(
        "stream_bytes",
        "streaming stores for a result of",
        _sizes(Mi, 128 * Mi),
        lambda size: (Mi, 64, size // 256),
    ),
    Threshold(
        "serial_points",
        "several threads for short units, source array in a cache,",
        _sizes(2 * Ki, Mi),
        lambda size: (4 * Ki, 1, size),
        threads=True,
    ),
)


def _sampler(items: int, width: int, count: int) -> Callable[[], float]:
    """A function that makes enough calls for a sample and returns the mean seconds of one call."""
    random = np.random.default_rng(1)
    rows = random.integers(0, 2**32, items, dtype=np.uint32).view(np.float32).reshape(-1, width)
    indices = [random.integers(0, len(rows), count, dtype=np.int32) for _ in range(SETS)]
    source: Any = rows[:, 0] if width == 1 else rows
    take: Callable[[Any, Any], Any] = partial(gs.take, axis=0)
    turn = 0

    def run(calls: int) -> float:
        nonlocal turn
        start = time.perf_counter()
        for _ in range(calls):
            take(source, indices[turn % SETS])
            turn += 1
        return (time.perf_counter() - start) / calls

    once = min(run(1) for _ in range(SETS))
    calls = max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-7)))
    return lambda: run(calls)


def serve() -> None:
    """Serve the requests on stdin: a line with a call prepares this call, an empty line measures one sample of it."""
    sample: Callable[[], float] = float
    for line in sys.stdin:
        if line.strip():
            sample = _sampler(*json.loads(line))
            print("ready", flush=True)
        else:
            print(sample(), flush=True)


@contextmanager
def _process(settings: dict[str, int]) -> Iterator[Callable[[str], str]]:
    """Start a process with these settings, which ends with the block; the given function sends it one request."""
    environment = {name: value for name, value in os.environ.items() if name != "GS_BACKEND"}
    environment |= {name: str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "gatherscatter._cli.tune"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        if child.stdin is None or child.stdout is None:  # impossible with PIPE; the check is for mypy
            raise RuntimeError("the child process has no pipes")
        reader, writer = child.stdout, child.stdin

        def request(line: str) -> str:
            writer.write(line + "\n")
            writer.flush()
            reply = reader.readline()
            if not reply:
                raise RuntimeError(f"{' '.join(command)} ended early")
            return reply

        yield request
        writer.close()


def measure(threshold: Threshold, present: int, quick: bool) -> Measurement:
    found = Measurement(threshold, present)
    sizes, rounds = (threshold.sizes[:2], 2) if quick else (threshold.sizes, ROUNDS)
    with (
        _process({threshold.variable: NEVER}) as request_off,
        _process({threshold.variable: ALWAYS}) as request_on,
    ):
        for size in sizes:
            call = json.dumps(threshold.call(size))
            for request in (request_off, request_on):
                request(call)
            times = [(float(request_off("")), float(request_on(""))) for _ in range(rounds)]
            found.gains[size] = statistics.median(off / on for off, on in times)
    return found


def size_text(size: int, unit: str) -> str:
    if size == NEVER:
        return "no size"
    for scale, prefix in ((Mi, "Mi"), (Ki, "Ki")):
        if size >= scale:
            return f"{size / scale:.4g} {prefix}{'B' if unit == 'bytes' else ' ' + unit}"
    return f"{size} {'B' if unit == 'bytes' else unit}"


def quick_report(results: list[Measurement]) -> str:
    """What was measured by --quick: two sizes say nothing about a threshold, so nothing is advised."""
    rows: list[tuple[str, ...]] = [("technique, used from a size", "now", "sizes measured")]
    for found in results:
        unit = found.threshold.unit
        measured = ", ".join(size_text(size, unit) for size in found.gains)
        rows.append((found.threshold.what, size_text(found.present, unit), measured))
    return "\n".join(
        [*aligned(rows), "", "--quick: two sizes are too few to determine a threshold; nothing is advised"]
    )


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """The lines of a table of text with a rule below its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    return lines


def report(results: list[Measurement]) -> str:
    rows: list[tuple[str, ...]] = [("technique, used from a size", "now", "measured", "would gain")]
    for found in results:
        unit = found.threshold.unit
        now, measured = (size_text(value, unit) for value in (found.present, found.measured))
        gain = f"{(found.gain - 1) * 100:.0f} %" if found.is_clear else "-"
        rows.append((found.threshold.what, now, measured, gain))
    lines = aligned(rows)
    clear = [found for found in results if found.is_clear]
    lines += ["", "# clearly better on this machine" if clear else "Nothing would be clearly better."]
    lines += [f"export {found.threshold.variable}={found.measured}" for found in clear]
    return "\n".join(lines)


def save(results: list[Measurement]) -> str:
    """Write the thresholds that are clearly better, beside those saved before, to the file of this host; its path."""
    saved = _core.saved_tuning()
    path: str = saved["path"]
    if not path:
        raise SystemExit("tune --save: there is no folder to save to; set HOME, XDG_CONFIG_HOME or GS_TUNING_FILE")
    values: dict[str, int] = saved["values"] | {
        found.threshold.variable: found.measured for found in results if found.is_clear
    }
    text = "gatherscatter tuning 1\n" + saved["key"] + "".join(f"{name} {value}\n" for name, value in values.items())
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)  # a process that starts meanwhile reads the old file or the new one
    return path


def curves(results: list[Measurement]) -> str:
    lines = ["time without / time with, by size:"]
    for found in results:
        gains = ", ".join(f"{size_text(size, found.threshold.unit)} {gain:.2f}" for size, gain in found.gains.items())
        lines.append(f"{found.threshold.variable}: {gains}")
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="measure two small sizes each, only to show that it runs")
    how.add_argument(
        "--save", action="store_true", help="save what is clearly better, for later imports on this machine"
    )
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
    print(quick_report(results) if arguments.quick else report(results))
    if arguments.curves:
        print("\n" + curves(results))
    if arguments.save:
        print(f"\nsaved to {save(results)}")
    return 0


if __name__ == "__main__":
    serve()
