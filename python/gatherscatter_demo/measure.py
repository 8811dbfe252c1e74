"""measure.py: what all parts of the demo need: comparisons of results, times, and tables as text."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]

PACKAGES = {"sklearn": "scikit-learn"}  # package names of modules, where the two differ


class ResultMismatch(RuntimeError):
    """A result differs from the result of plain NumPy or of a table library, which stops the demo."""


def require(module: str) -> Any:
    """Import an optional module of the demo, or exit with a message that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        name = str(missing.name).partition(".")[0]
        name = PACKAGES.get(name, name)
        raise SystemExit(f"the demo needs {name}, which is not installed; type:  pip install '.[demo]'") from missing


def enumerated(names: Sequence[str]) -> str:
    """Join names for a sentence: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def require_equal(task: str, ours: Array, plain: Array) -> Array:
    """Return `ours` if its shape, dtype and bytes equal those of `plain`, else raise `ResultMismatch`."""
    if ours.shape != plain.shape or ours.dtype != plain.dtype or ours.tobytes() != plain.tobytes():
        raise ResultMismatch(f"{task}: the result differs from plain NumPy")
    return ours


def time_interleaved(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """Median seconds of each call. The rounds are interleaved, so that other load of the machine affects all calls."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds + 1):
        for call, times in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [statistics.median(times[1:]) for times in seconds]  # the first round warms up


def seconds_text(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def aligned(head: Sequence[str], lines: Sequence[Sequence[str]], left: int) -> str:
    """Format a table as plain text; the first `left` columns are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rule = tuple("─" * width for width in widths)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, rule, *lines]
    )
