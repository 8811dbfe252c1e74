"""gradients.py: calls that record gradients, forward and backward, beside torch's own functions.

Run as a module, this file is the process that measures the peak of memory of one call.
"""

from __future__ import annotations

import functools
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import training

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 9
SAMPLE_SECONDS = 0.02
MIB = 1 << 20
Entry = dict[str, Any]


class Case(NamedTuple):
    """A call of torch and ours, which give the same result; the tensors that get a gradient, and its weights."""

    name: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    inputs: tuple[Any, ...]
    weights: Any
    is_large: bool = True  # its peak of memory is measured


def cases(quick: bool) -> Iterator[Case]:
    """The calls; with `quick` on small tensors."""
    import numpy as np
    import torch

    import gatherscatter as gs

    shrink = 64 if quick else 1
    seed = torch.Generator().manual_seed(1)

    def values(*shape: int) -> Any:
        return torch.randn(*shape, generator=seed).requires_grad_()

    def index(size: int, *shape: int) -> Any:
        return torch.randint(0, size, shape, generator=seed)

    yield from _small_cases(values, index)
    rows, count = (1 << 20) // shrink, (1 << 17) // shrink
    zipf = np.minimum(np.random.default_rng(1).zipf(1.2, count), rows) - 1
    table, ids = values(rows, 128), torch.from_numpy(zipf.astype(np.int64))
    yield Case(
        f"embedding of {rows} x 128, {count} Zipf indices",
        lambda: torch.nn.functional.embedding(ids, table),
        lambda: gs.take(table, ids, axis=0),
        (table,),
        torch.randn(count, 128, generator=seed),
    )
    n = 4096 // shrink
    x, s, along, weights = values(n, 1024), values(n, 1024), index(1024, n, 1024), torch.randn(n, 1024, generator=seed)
    yield Case("gather, last axis", lambda: torch.gather(x, 1, along), lambda: gs.gather(x, 1, along), (x,), weights)
    yield Case(
        "take_along_dim, last axis",
        lambda: torch.take_along_dim(x, along, 1),
        lambda: gs.take_along_axis(x, along, 1),
        (x,),
        weights,
    )
    yield Case(
        "scatter_reduce amax, last axis",
        lambda: torch.scatter_reduce(x, 1, along, s, "amax"),
        lambda: gs.scatter(x, 1, along, s, reduce="max"),
        (x, s),
        weights,
    )
    slots, count = (1 << 16) // shrink, (1 << 18) // shrink
    target, source, places = values(slots, 64), values(count, 64), index(slots, count)
    yield Case(
        "index_add of rows of 64",
        lambda: torch.index_add(target, 0, places, source),
        lambda: gs.scatter(target, places, source, reduce="add"),
        (target, source),
        torch.randn(slots, 64, generator=seed),
    )

    yield from _sums_of_edges(values, index)
    yield from _reductions_of_rows(values, index, shrink)


def _sums_of_edges(values: Callable[..., Any], index: Callable[..., Any]) -> Iterator[Case]:
    """Forward sums of a batch of molecules: edges to atoms. Nothing but the recording is large beside the sum."""
    import torch

    import gatherscatter as gs

    for edges, atoms, features in ((2048, 256, ()), (2048, 256, (32,)), (8192, 1024, ())):
        target, source, places = torch.zeros(atoms, *features), values(edges, *features), index(atoms, edges)
        yield Case(
            f"sum of {edges} x {features[0] if features else 1}, forward alone",
            functools.partial(torch.index_add, target, 0, places, source),
            functools.partial(gs.scatter, target, places, source, reduce="add"),
            (),
            None,
            False,
        )


def _reductions_of_rows(values: Callable[..., Any], index: Callable[..., Any], shrink: int) -> Iterator[Case]:
    """Reductions whose gradients look at each value, and the mean, whose gradient does not."""
    import torch

    import gatherscatter as gs

    rows, count = 10_000 // shrink, 100_000 // shrink
    x, source, places = values(rows, 64), values(count, 64), index(rows, count)
    spread = places[:, None].expand(count, 64)
    for ours, theirs in (("mean", "mean"), ("max", "amax"), ("min", "amin"), ("mul", "prod")):
        yield Case(
            f"{ours} of {count} rows of 64",
            functools.partial(torch.scatter_reduce, x, 0, spread, source, theirs),
            functools.partial(gs.scatter, x, places, source, reduce=ours),
            (x, source),
            torch.ones(rows, 64),
        )


def _small_cases(values: Callable[..., Any], index: Callable[..., Any]) -> Iterator[Case]:
    """Calls of 16 points, of which most of the time is not the move."""
    import torch

    import gatherscatter as gs

    x, source, i = values(16), values(16), index(16, 16)
    square, rows, order = values(4, 4), values(16, 16), torch.randperm(16)
    points = index(4, 16, 2)
    first, second = points.unbind(1)
    plain = x.detach()
    yield Case(
        "gather of 16, no gradient", lambda: torch.gather(plain, 0, i), lambda: gs.gather(plain, 0, i), (), None, False
    )
    calls: dict[str, tuple[Callable[[], Any], Callable[[], Any], tuple[Any, ...]]] = {
        "gather": (lambda: torch.gather(x, 0, i), lambda: gs.gather(x, 0, i), (x,)),
        "index_select": (lambda: torch.index_select(x, 0, i), lambda: gs.take(x, i, axis=0), (x,)),
        "take_along_dim": (lambda: torch.take_along_dim(x, i, 0), lambda: gs.take_along_axis(x, i, 0), (x,)),
        "gather_nd": (lambda: square[first, second], lambda: gs.gather_nd(square, points), (square,)),
        "embedding rows": (
            lambda: torch.nn.functional.embedding(i, rows),
            lambda: gs.take(rows, i, axis=0),
            (rows,),
        ),
        # The index has no duplicates, for which torch's gradient of a plain scatter has no meaning.
        "scatter": (
            lambda: torch.scatter(x, 0, order, source),
            lambda: gs.scatter(x, 0, order, source),
            (x, source),
        ),
        "scatter add": (
            lambda: torch.scatter_add(x, 0, i, source),
            lambda: gs.scatter(x, 0, i, source, reduce="add"),
            (x, source),
        ),
    }
    for name, (theirs, ours, inputs) in calls.items():
        yield Case(f"{name} of 16", theirs, ours, inputs, torch.ones_like(theirs()), False)


def _run(call: Callable[[], Any], case: Case) -> Any:
    import torch

    result = call()
    return torch.autograd.grad(result, case.inputs, case.weights) if case.inputs else result


def _check(case: Case) -> None:
    """Both give the same result and, up to the rounding of sums in another order, the same gradients."""
    import torch

    torch.testing.assert_close(_run(case.ours, case), _run(case.theirs, case), rtol=1e-3, atol=1e-3)


def _resident(field: str) -> int:
    """Bytes of memory that this process has now (VmRSS), or has had at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field + ":"))


def _peak_here(place: int, library: str, quick: bool) -> int:
    """The bytes by which memory grew at most in forward and backward of one call, results included."""
    for small in cases(True):  # what the first call allocates once
        _run(small.theirs if library == "torch" else small.ours, small)
    case = next(case for number, case in enumerate(cases(quick)) if number == place)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the highest value
    before = _resident("VmRSS")
    result = _run(case.theirs if library == "torch" else case.ours, case)
    peak = _resident("VmHWM") - before
    del result
    return peak


def _peak(place: int, library: str, quick: bool) -> int:
    """The same, measured in a process of its own."""
    words = [sys.executable, "-m", __name__, str(place), library, str(int(quick))]
    done = subprocess.run(words, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"the measured process failed:\n{done.stderr}")
    return int(done.stdout)


def measure(only: Iterable[str] | None, quick: bool) -> list[Entry]:
    """One entry for each call and step: medians of seconds of rounds in which torch and ours take turns, and of large
    calls the peaks of bytes.
    """
    words = ("",) if only is None else tuple(only)
    entries: list[Entry] = []
    for place, case in enumerate(cases(quick)):
        if not any(word in case.name for word in words):
            continue
        _check(case)
        runs = [functools.partial(_run, call, case) for call in (case.theirs, case.ours)]
        entry = interleaved(case.name, "torch", *runs, quick)
        if case.is_large:
            entry["peak_bytes"] = {name: _peak(place, name, quick) for name in ("torch", "gatherscatter")}
        entries.append(entry)
    for step in training.steps(quick):
        if any(word in step.name for word in words):
            training.check(step)
            entries.append(interleaved(step.name, "torch", step.theirs, step.ours, quick))
    return entries


def interleaved(name: str, peer: str, theirs: Callable[[], Any], ours: Callable[[], Any], quick: bool) -> Entry:
    """Medians of seconds of two calls, of rounds in which they take turns. Both have run once."""
    begin = time.perf_counter()
    theirs()
    times = 1 if quick else max(1, round(SAMPLE_SECONDS / (time.perf_counter() - begin)))
    samples: dict[str, list[float]] = {peer: [], "gatherscatter": []}
    for _ in range(2 if quick else ROUNDS):
        for who, call in ((peer, theirs), ("gatherscatter", ours)):
            begin = time.perf_counter()
            for _ in range(times):
                call()
            samples[who].append((time.perf_counter() - begin) / times)
    return {"call": name, **{who: statistics.median(taken) for who, taken in samples.items()}}


def table(entries: list[Entry]) -> str:
    """The time of torch and ours, forward and backward, their ratio, and the peaks of memory of large calls."""
    lines = [
        "| call, forward and backward | torch, µs | ours, µs | torch ÷ ours | peak of torch, MiB | ours, MiB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for entry in entries:
        theirs, ours = entry["torch"], entry["gatherscatter"]
        peaks = entry.get("peak_bytes")
        memory = [f"{peaks[name] / MIB:.0f}" for name in ("torch", "gatherscatter")] if peaks else ["", ""]
        times = f"{theirs * 1e6:.1f} | {ours * 1e6:.1f} | {theirs / ours:.2f}"
        lines.append(f"| {entry['call']} | {times} | {memory[0]} | {memory[1]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(_peak_here(int(sys.argv[1]), sys.argv[2], sys.argv[3] == "1"))
