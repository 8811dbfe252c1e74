"""`python -m benchmarks --decisions`: each case with the two main decisions of the CPU backend forced either way.

One process leaves the decisions as they are; in each of the others one of them is forced: results are always or never
streamed past the caches, sources are always or never fetched in advance. All make the same call in turns. Where a
forced process is clearly faster, the threshold is wrong for this case on this machine. Run as a module, this file is
one of these processes.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

from . import harness
from .cases import CASES, Case
from .report import seconds_text

ALWAYS, NEVER = "1", str(2**63 - 1)
PREFETCH = ("GS_FAR_TABLE_BYTES", "GS_FAR_COLUMN_BYTES")
FORCED = {
    "as decided": {},
    "stream always": {"GS_STREAM_BYTES": ALWAYS},
    "stream never": {"GS_STREAM_BYTES": NEVER},
    "fetch always": dict.fromkeys(PREFETCH, ALWAYS),
    "fetch never": dict.fromkeys(PREFETCH, NEVER),
}
ROUNDS, SAMPLE_SECONDS = 11, 0.05
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

    def request(self, line: str) -> str:
        if self.child.stdin is None or self.child.stdout is None:  # impossible with PIPE; the check is for mypy
            raise RuntimeError("the child process has no pipes")
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        reply = self.child.stdout.readline()
        if not reply:
            raise RuntimeError("a benchmark process ended early; its error is above")
        return reply.strip()


def serve() -> None:
    """Serve the requests on stdin: a line with a case prepares it, an empty line measures one sample of it."""
    sample: Any = None
    for line in sys.stdin:
        if line.strip():
            sample = None  # frees the arrays of the case before
            code, sample = _prepare(**json.loads(line))
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
        library.set_threads(modules[library.name], threads)
        _, timed, loop = harness.compile_form(form, library, modules[library.name], work, case.kind == "bad")
        once = timed(loop) / len(loop)  # with the creation of threads and memory
        once = min(once, timed(loop) / len(loop))
        turns = 1 if quick else max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-7) / len(loop)))
        return form.code.replace("\n", "; "), partial(_sample, timed, loop * turns)
    return "", None


def _sample(timed: Any, calls: list[Any]) -> float:
    seconds: float = timed(calls)
    return seconds / len(calls)


def measure(cases: Iterable[Case], threads: int, quick: bool) -> list[Entry]:
    """One entry for each case in which we have a form."""
    entries = []
    with ExitStack() as stack:
        processes = {name: stack.enter_context(Process(settings)) for name, settings in FORCED.items()}
        for case in cases:
            print(f"{case.number:>4} {case.name}", file=sys.stderr, flush=True)
            ask = json.dumps({"name": case.name, "threads": threads, "quick": quick})
            codes = [process.request(ask) for process in processes.values()]
            if not codes[0]:
                continue
            samples: dict[str, list[float]] = {name: [] for name in processes}
            for _ in range(2 if quick else ROUNDS):
                for name, process in processes.items():
                    samples[name].append(float(process.request("")))
            decided = samples["as decided"]
            ratios = {
                name: statistics.median(forced / own for forced, own in zip(samples[name], decided, strict=True))
                for name in samples
                if name != "as decided"
            }
            entries.append(
                {
                    "case": case.number,
                    "name": case.name,
                    "code": codes[0],
                    "median": statistics.median(decided),
                    **ratios,
                }
            )
    return entries


def table(entries: list[Entry]) -> str:
    """Time as decided, and the time of each forced decision divided by it; less than 0.9 means a wrong decision."""
    forced = [name for name in FORCED if name != "as decided"]
    lines = ["| case | as decided | " + " | ".join(f"{name} ÷" for name in forced) + " | |"]
    lines.append("|---|--:|" + "--:|" * len(forced) + "---|")
    for entry in entries:
        best = min(forced, key=lambda name: float(entry[name]))
        verdict = f"**{best}**" if entry[best] < WRONG else ""
        ratios = " | ".join(f"{entry[name]:.2f}" for name in forced)
        lines.append(f"| {entry['name']} | {seconds_text(entry['median'])} | {ratios} | {verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    serve()
