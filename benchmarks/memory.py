"""`python -m benchmarks --memory`: the most bytes that a call of each operator allocates beyond inputs and result.

The calls run in a process whose allocations byte_counter.cpp counts. The pool of recycled blocks is off there, so that
each block counts with its own size. The formula of an operator limits what it may allocate, and the tests hold calls of
several sizes to it. Run as a module, this file is that process.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import limits
from .memory_cases import BASE, OPERATORS, PRELUDE, Operator, Sizes

ROOT = Path(__file__).resolve().parents[1]
KIB, MIB = 1 << 10, 1 << 20
SIZES = ((1 << 16, 1 << 14), (1 << 20, 1 << 18), (1 << 22, 1 << 20))  # points and extent, of the page
SECONDS = 240

Entry = dict[str, Any]


def measure(operators: Sequence[Operator], sizes: Sequence[Sizes], threads: int) -> list[Entry]:
    """One entry for each operator and size. Raises limits.Unavailable if there is no compiler."""
    with tempfile.TemporaryDirectory(prefix="gs-bytes-") as folder:
        library = Path(folder) / "byte_counter.so"
        limits.compile_library("byte_counter.cpp", library, [])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GS_")}
        environment |= {"LD_PRELOAD": str(library), "GS_NUM_THREADS": str(threads)}
        environment |= {"GS_POOL": "0", "PYTHONMALLOC": "malloc"}  # every block comes from malloc, none is recycled
        request = {"calls": [[one.name, one.set_up, one.call] for one in operators], "sizes": list(sizes)}
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(request),
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    if done.returncode:
        raise RuntimeError(f"the counted process failed:\n{done.stderr}")
    entries: list[Entry] = json.loads(done.stdout.splitlines()[-1])
    l2 = entries[0]["l2_bytes"] if entries else 0
    limit = {one.name: one.limit for one in operators}
    for entry in entries:
        entry["threads"] = threads
        entry["limit"] = BASE * threads + limit[entry["name"]](entry["points"], entry["extent"], threads, l2)
    return entries


def over(entries: Sequence[Entry]) -> list[str]:
    """A line for each call that allocated more than its limit, or kept more than its result."""
    return [
        f"{entry['name']}, {entry['points']} points, extent {entry['extent']}, {entry['threads']} threads: "
        f"{entry['scratch']} bytes beyond the result, {entry['kept']} bytes kept; allowed are {entry['limit']}"
        for entry in entries
        if entry["scratch"] > entry["limit"] or entry["kept"] > BASE
    ]


def _bytes_of(result: Any) -> int:
    if isinstance(result, np.ndarray):
        return result.nbytes
    buffers: int = result.get_total_buffer_size()
    return buffers


def serve() -> None:
    """Make the calls of the request on stdin under the counter, and print what they allocated."""
    import gatherscatter as gs

    counter = ctypes.CDLL(None)
    live, peak, reset = counter.gs_live_bytes, counter.gs_peak_bytes, counter.gs_reset_peak
    live.restype = peak.restype = ctypes.c_int64
    request = json.load(sys.stdin)
    l2, threads = gs.show_config()["l2_bytes"], int(os.environ["GS_NUM_THREADS"])
    entries = []
    for name, set_up, call in request["calls"]:
        for points, extent in request["sizes"]:
            names: dict[str, Any] = {"n": points, "rows": extent}
            exec(PRELUDE + set_up, names)
            run: Callable[[], Any] = eval(f"lambda: {call}", names)
            run()  # starts threads, caches plans
            # A thread that had no part in the calls before allocates the scratch that it keeps.
            for _ in range(threads):
                result = None
                gc.collect()
                before = live()
                reset()
                result = run()
                most, after = peak(), live()
                is_argument = result is None or any(result is value for value in names.values())
                own = 0 if is_argument else _bytes_of(result)
                scratch, kept = most - before - own, after - before - own
                if kept <= BASE:
                    break
            entries.append(
                {
                    "name": name,
                    "call": call,
                    "points": points,
                    "extent": extent,
                    "l2_bytes": l2,
                    "result": own,
                    "scratch": scratch,
                    "kept": kept,
                }
            )
            del result, run
            names.clear()
    print(json.dumps(entries))


def bytes_text(count: int) -> str:
    """Whole KiB up to 10 MiB, else MiB; at most 4 KiB are the objects of the call itself."""
    if count <= 4 * KIB:
        return "\N{LESS-THAN OR EQUAL TO} 4 KiB"
    return f"{count / KIB:.0f} KiB" if count < 10 * MIB else f"{count / MIB:.1f} MiB"


def table(entries: Sequence[Entry]) -> str:
    """One line for each operator: its formula, and the measured bytes at each size."""
    sizes = list(dict.fromkeys((entry["points"], entry["extent"]) for entry in entries))
    heads = [f"n = 2^{points.bit_length() - 1}, m = 2^{extent.bit_length() - 1}" for points, extent in sizes]
    lines = ["| operator | call | at most | " + " | ".join(heads) + " |", "|---|---|---|" + "--:|" * len(sizes)]
    formula = {one.name: one.formula for one in OPERATORS}
    for name in dict.fromkeys(entry["name"] for entry in entries):
        own = [entry for entry in entries if entry["name"] == name]
        cells = [name, f"`{own[0]['call']}`", formula[name], *(bytes_text(entry["scratch"]) for entry in own)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def formulas() -> str:
    """One line for each formula, with the operators that it holds for."""
    names: dict[str, list[str]] = {}
    for one in OPERATORS:
        names.setdefault(one.formula, []).append(one.name)
    lines = [f"| {'; '.join(own)} | {formula} |" for formula, own in names.items()]
    return "\n".join(["| operators | at most |", "|---|---|", *lines])


if __name__ == "__main__":
    serve()
