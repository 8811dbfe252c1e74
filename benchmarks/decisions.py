"""`python -m benchmarks --decisions` and `--levels`: our calls with decisions of the CPU backend forced either way.

One process leaves the decisions as they are; in each of the others one of them is forced: results are always or never
streamed past the caches, sources are always or never fetched in advance, calls have one thread or, however short, all
of them, gather instructions load always or never. With `--levels` the processes have the instruction sets of older
processors instead. All make the same call in turns. Where a forced process is clearly faster, the threshold is wrong
for this call on this machine. Run as a module, this file is one of these processes.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

from . import harness
from .cases import CASES, Case
from .decision_sizes import Call, Cell
from .report import NOTHING, seconds_text

ALWAYS, NEVER = "1", str(2**63 - 1)
DECIDED = "as decided"
Settings = dict[str, dict[str, str]]
FORCED: Settings = {
    DECIDED: {},
    "stream always": {"GS_STREAM_BYTES": ALWAYS},
    "stream never": {"GS_STREAM_BYTES": NEVER},
    "fetch always": {"GS_FAR_TABLE_BYTES": ALWAYS},
    "fetch never": {"GS_FAR_TABLE_BYTES": NEVER},
    "one thread": {"GS_NUM_THREADS": "1"},
    "all threads": {"GS_SERIAL_POINTS": ALWAYS},
    "gather always": {"GS_GATHER_PERCENT": ALWAYS},
    "gather never": {"GS_GATHER_PERCENT": NEVER},
}
ONE_WAY = (DECIDED, "stream never", "fetch never", "one thread")  # for the largest sizes, because memory is limited
LEVELS = ("v4", "v3", "baseline")
LEVEL_CASES = ("take_LLC", "take_DRAM", "rows_256B", "gather_dim0", "scatter_dups_det")
ROUNDS, SAMPLE_SECONDS = 11, 0.05
CELL_SAMPLE_SECONDS = 0.02
LONG_CALL, LONG_ROUNDS = 0.1, 5
SEEMS_WRONG = 0.93
WRONG = 0.9  # a decision is wrong if the other one takes less than this part of its time

Entry = dict[str, Any]


class Process:
    """A process with these settings, which serves requests."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", __name__],
            env=os.environ | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.communicate()

    def send(self, line: str) -> None:
        if self.child.stdin is None:  # impossible with PIPE; the check is for mypy
            raise RuntimeError("the child process has no pipes")
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def reply(self) -> str:
        if self.child.stdout is None:
            raise RuntimeError("the child process has no pipes")
        reply = self.child.stdout.readline()
        if not reply:
            raise RuntimeError("a benchmark process ended early; its error is above")
        return reply.strip()

    def request(self, line: str) -> str:
        self.send(line)
        return self.reply()


def serve() -> None:
    """Serve the requests on stdin: a line with a call prepares it, an empty line measures one sample of it."""
    sample: Any = None
    for line in sys.stdin:
        if line.strip():
            sample = None  # frees the arrays of the call before
            request = json.loads(line)
            code, sample = _prepare_cell(**request) if "family" in request else _prepare(**request)
            print(code, flush=True)
        else:
            print(sample(), flush=True)


def _prepare(name: str, threads: int, quick: bool) -> tuple[str, Any]:
    """The code of our first form of a case, and a function that measures it; an empty code if there is none."""
    case = next(case for case in CASES if case.name == name)
    modules, _ = harness.available(["pyarrow"])
    work = case.build(quick)
    for form, library in itertools.product(harness.FORMS, harness.LIBRARIES):
        fits = library.name == form.library and library.ours and form.fits(case.kind, work.index_dtype)
        if not fits or form.beside or library.name not in modules:
            continue
        library.set_threads(modules[library.name], _limited(threads))
        _, timed, loop = harness.compile_form(form, library, modules[library.name], work, case.kind == "bad")
        once = timed(loop) / len(loop)  # with the creation of threads and memory
        once = min(once, timed(loop) / len(loop))
        turns = 1 if quick else max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-7) / len(loop)))
        return form.code.replace("\n", "; "), partial(_sample, timed, loop * turns)
    return "", None


def _prepare_cell(family: str, source: int, result: int, threads: int, quick: bool) -> tuple[str, Any]:
    """The seconds of a first call of a cell, and a function that measures it."""
    import gatherscatter as gs

    gs.trim()
    gs.set_num_threads(_limited(threads))
    loop = Cell(family, source, result).calls(quick)
    _timed(loop)  # with the creation of threads and memory
    once = _timed(loop) / len(loop)
    turns = 1 if quick else max(1, math.ceil(CELL_SAMPLE_SECONDS / max(once, 1e-7) / len(loop)))
    return str(once), partial(_sample, _timed, loop * turns)


def _limited(threads: int) -> int:
    """The limit of the process counts more than that of the run."""
    return min(threads, int(os.environ.get("GS_NUM_THREADS", threads)))


def _timed(calls: list[Call]) -> float:
    start = time.perf_counter()
    for call in calls:
        call()
    return time.perf_counter() - start


def _sample(timed: Callable[[list[Any]], float], calls: list[Any]) -> float:
    return timed(calls) / len(calls)


def _measure_once(processes: dict[str, Process], request: Entry, quick: bool) -> tuple[str, Entry]:
    """The first reply of the processes to a request, the median of the call, and the ratio of each other process."""
    for process in processes.values():
        process.send(json.dumps(request))  # they prepare at the same time
    replies = [process.reply() for process in processes.values()]
    if not replies[0]:
        return "", {}
    rounds = 2 if quick else ROUNDS
    if "family" in request and float(replies[0]) > LONG_CALL:
        rounds = min(rounds, LONG_ROUNDS)
    samples: dict[str, list[float]] = {name: [] for name in processes}
    names = list(processes)
    for _ in range(rounds):
        for name in names:
            samples[name].append(float(processes[name].request("")))
        names = names[1:] + names[:1]  # no process always comes after the same other one
    decided = samples[DECIDED]
    ratios = {
        name: statistics.median(forced / own for forced, own in zip(samples[name], decided, strict=True))
        for name in samples
        if name != DECIDED
    }
    fastest = {name: min(values) for name, values in samples.items()}  # what other programs disturb least
    return replies[0], {"median": statistics.median(decided), **ratios, "fastest": fastest}


def _measure_call(processes: dict[str, Process], request: Entry, quick: bool) -> tuple[str, Entry]:
    """As `_measure_once`; but where a ratio seems wrong, the median of three, each with newly allocated arrays.

    The memory of one process may lie worse in the caches than that of another one, until it is allocated again.
    """
    code, found = _measure_once(processes, request, quick)
    if not code or quick or min(found[name] for name in processes if name != DECIDED) >= SEEMS_WRONG:
        return code, found
    again = [found, *(_measure_once(processes, request, quick)[1] for _ in range(2))]
    fastest = {name: min(one["fastest"][name] for one in again) for name in processes}
    return code, {
        **{name: statistics.median(one[name] for one in again) for name in found if name != "fastest"},
        "fastest": fastest,
    }


def measure(cases: Iterable[Case], threads: int, quick: bool, settings: Settings = FORCED) -> Iterator[Entry]:
    """One entry for each case in which we have a form."""
    with ExitStack() as stack:
        processes = {name: stack.enter_context(Process(own)) for name, own in settings.items()}
        for case in cases:
            print(f"{case.number:>4} {case.name}", file=sys.stderr, flush=True)
            code, found = _measure_call(processes, {"name": case.name, "threads": threads, "quick": quick}, quick)
            if code:
                yield {"case": case.number, "name": case.name, "code": code, **found}


def measure_cells(cells: Iterable[Cell], threads: int, quick: bool) -> Iterator[Entry]:
    """One entry for each cell. Calls of the largest sizes are forced one way only."""
    for large, group in itertools.groupby(
        sorted(cells, key=lambda cell: cell.is_large), key=lambda cell: cell.is_large and not quick
    ):
        forced = {name: own for name, own in FORCED.items() if not large or name in ONE_WAY}
        with ExitStack() as stack:
            processes = {name: stack.enter_context(Process(own)) for name, own in forced.items()}
            for cell in group:
                print(cell.name, file=sys.stderr, flush=True)
                place = {"family": cell.family, "source": cell.source, "result": cell.result}
                _, found = _measure_call(processes, {**place, "threads": threads, "quick": quick}, quick)
                yield {"name": cell.name, **place, **found}


def table(entries: list[Entry]) -> str:
    """Time as decided, and the time of each forced decision divided by it; less than 0.9 means a wrong decision."""
    forced = [name for name in FORCED if name != DECIDED]
    lines = ["| call | as decided | " + " | ".join(f"{name} ÷" for name in forced) + " | |"]
    lines.append("|---|--:|" + "--:|" * len(forced) + "---|")
    for entry in entries:
        best = min((name for name in forced if name in entry), key=lambda name: float(entry[name]))
        verdict = f"**{best}**" if entry[best] < WRONG else ""
        ratios = " | ".join(f"{entry[name]:.2f}" if name in entry else NOTHING for name in forced)
        lines.append(f"| {entry['name']} | {seconds_text(entry['median'])} | {ratios} | {verdict} |")
    return "\n".join(lines)


def levels(supported: str) -> Settings:
    """The best level of this processor, and those of older ones."""
    older = LEVELS[LEVELS.index(supported) + 1 :]
    return {DECIDED: {"GS_CPU": supported}, **{level: {"GS_CPU": level} for level in older}}


def level_table(entries: list[Entry], level: str) -> str:
    """The time of each case at the best level, and how many times longer the levels of older processors take."""
    older = [name for name in LEVELS if name in entries[0]]
    lines = [f"| case | {level} | " + " | ".join(f"{name} ÷ {level}" for name in older) + " |"]
    lines.append("|---|--:|" + "--:|" * len(older))
    for entry in entries:
        ratios = " | ".join(f"{entry[name]:.2f}" for name in older)
        lines.append(f"| {entry['name']} | {seconds_text(entry['median'])} | {ratios} |")
    return "\n".join(lines)


if __name__ == "__main__":
    serve()
