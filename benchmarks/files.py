"""`python -m benchmarks --files`: rows at random from a file that is not in memory, and into one.

The file is dropped from memory before each call (`posix_fadvise` after `fsync`, checked by the page faults of a probe).
The disk's own rates stand beside the calls: random pages read with O_DIRECT by as many threads as `preadv` has, and the
file from front to back.
"""

from __future__ import annotations

import copy
import importlib.util
import mmap
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .report import Entry

KIB, GIB = 1 << 10, 1 << 30
ROW, PAGE = KIB, 4 * KIB
FILE = 4 * GIB
THREADS = 32
ROUNDS = 3
RATE_READS = 20_000
# Rows, and the part of the file in which they lie: of the last take, a third of the pages is wanted.
TAKES = ((2_000, 1), (20_000, 1), (100_000, 4))
SCATTERS = ((2_000, 1), (20_000, 1))
TABLES = ((2_000, 1), (20_000, 1))
HOW = f"Medians of {ROUNDS} rounds in which all forms take turns; the file is not in memory when a call begins."

Call = Callable[[], object]


class Rows:
    """A file of rows that a call reads or writes at random."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size, self.count = path, size, size // ROW
        block = np.random.default_rng(1).bytes(1 << 24)
        with path.open("wb") as file:
            for written in range(0, size, len(block)):
                file.write(block[: size - written])
            os.fsync(file.fileno())

    def part(self, divisor: int) -> Rows:
        """The first rows of the same file."""
        part = copy.copy(self)
        part.count = self.count // divisor
        return part

    def open(self, mode: Any = "r") -> np.memmap[Any, Any]:
        return np.memmap(self.path, np.uint8, mode, shape=(self.count, ROW))

    def drop(self) -> None:
        """Drop the file from memory. It must not be mapped."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as probe:
                probe[self.size // 2]
            if resource.getrusage(resource.RUSAGE_SELF).ru_majflt == before:
                raise SystemExit(f"--files: the file system of {self.path.parent} keeps its pages in memory")
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _advise(x: np.memmap[Any, Any], index: Any) -> None:
    memory: mmap.mmap = x._mmap  # type: ignore[attr-defined]
    for page in np.unique(index // (PAGE // ROW)):
        memory.madvise(mmap.MADV_WILLNEED, int(page) * PAGE, PAGE)


def _random(x: np.memmap[Any, Any]) -> None:
    x._mmap.madvise(mmap.MADV_RANDOM)  # type: ignore[attr-defined]


def _preadv(rows: Rows, index: Any) -> Any:
    out = np.empty((len(index), ROW), np.uint8)
    file = os.open(rows.path, os.O_RDONLY)

    def part(first: int) -> None:
        for k in range(first, len(index), THREADS):
            os.preadv(file, [out[k]], int(index[k]) * ROW)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(part, range(THREADS)))
    os.close(file)
    return out


def _sorted(x: Any, index: Any) -> Any:
    order = np.argsort(index)
    out = np.empty((len(index), ROW), np.uint8)
    out[order] = np.take(x, index[order], axis=0)
    return out


def _takes(gs: Any, rows: Rows, index: Any) -> dict[str, Call]:
    def with_advice(advice: Callable[..., None], *arguments: Any) -> Any:
        x = rows.open()
        advice(x, *arguments)
        return np.take(x, index, axis=0)

    return {
        "gs.take": lambda: gs.take(rows.open(), index, axis=0),
        "np.take": lambda: np.take(rows.open(), index, axis=0),
        "np.take, sorted": lambda: _sorted(rows.open(), index),
        "MADV_RANDOM, np.take": lambda: with_advice(_random),
        "MADV_WILLNEED by hand, np.take": lambda: with_advice(_advise, index),
        f"preadv, {THREADS} threads": lambda: _preadv(rows, index),
    }


def _tables(gs: Any, rows: Rows, index: Any) -> dict[str, Call]:
    """The same rows as a column of fixed-size binary that lies in the file, as in an Arrow file that is mapped."""
    import pyarrow as pa

    def column(advice: Callable[..., None] | None = None, *arguments: Any) -> Any:
        x = rows.open()
        if advice is not None:
            advice(x, *arguments)
        return pa.table({"row": pa.Array.from_buffers(pa.binary(ROW), rows.count, [None, pa.py_buffer(x)])})

    def items(table: Any) -> Any:
        return np.frombuffer(table["row"].combine_chunks().buffers()[1], np.uint8, len(table) * ROW)

    numbers = pa.array(index)
    return {
        "gs.table.gather": lambda: items(gs.table.gather(column(), numbers)),
        "pyarrow.Table.take": lambda: items(column().take(numbers)),
        "MADV_RANDOM, pyarrow.Table.take": lambda: items(column(_random).take(numbers)),
        "MADV_WILLNEED by hand, pyarrow.Table.take": lambda: items(column(_advise, index).take(numbers)),
    }


def _scatters(gs: Any, rows: Rows, index: Any) -> dict[str, Call]:
    values = np.random.default_rng(3).integers(0, 255, (len(index), ROW), np.uint8)

    def numpys(advice: Callable[..., None] | None, *arguments: Any) -> None:
        x = rows.open("r+")
        if advice is not None:
            advice(x, *arguments)
        x[index] = values

    def ours() -> None:
        x = rows.open("r+")
        gs.scatter(x, index, values, axis=0, out=x)

    return {
        "gs.scatter": ours,
        "x[i] = v": lambda: numpys(None),
        "MADV_RANDOM, x[i] = v": lambda: numpys(_random),
        "MADV_WILLNEED by hand, x[i] = v": lambda: numpys(_advise, index),
    }


def _timed(call: Call) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def _measure(name: str, rows: Rows, index: Any, calls: dict[str, Call]) -> Entry:
    seconds: dict[str, list[float]] = {form: [] for form in calls}
    expected = None
    for _ in range(ROUNDS):
        for form, call in calls.items():
            rows.drop()
            taken, result = _timed(call)
            seconds[form].append(taken)
            if result is not None:
                expected = result if expected is None else expected
                if not np.array_equal(result, expected):
                    raise SystemExit(f"--files: {form} gives another result")
            del result
    medians = {form: statistics.median(times) for form, times in seconds.items()}
    print(name, {form: round(median, 3) for form, median in medians.items()}, file=sys.stderr)
    return {"case": name, "rows": len(index), "seconds": medians, "all": seconds}


def _warm(gs: Any, rows: Rows, index: Any) -> Entry:
    """The same take from the file in memory, and from an array: what the look at the file costs."""
    from_file = rows.open()
    array = np.array(from_file)
    forms = {"from the file": from_file, "from an array": array}
    seconds: dict[str, list[float]] = {form: [] for form in forms}
    for _ in range(21):
        for form, x in forms.items():
            seconds[form].append(_timed(lambda x=x: gs.take(x, index, axis=0))[0])
    return {
        "case": f"warm take of {len(index)} rows",
        "rows": len(index),
        "seconds": {form: statistics.median(times) for form, times in seconds.items()},
    }


def _rates(rows: Rows) -> dict[str, float]:
    """Pages a second at random, and bytes a second from front to back, past the memory of the system."""
    pages = np.random.default_rng(5).integers(0, rows.size // PAGE, min(RATE_READS, rows.size // PAGE))
    file = os.open(rows.path, os.O_RDONLY | os.O_DIRECT)

    def part(first: int) -> None:
        buffer = mmap.mmap(-1, PAGE)
        for k in range(first, len(pages), THREADS):
            os.preadv(file, [buffer], int(pages[k]) * PAGE)

    def at_random() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(part, range(THREADS)))

    whole = mmap.mmap(-1, 1 << 23)

    def in_order() -> None:
        for offset in range(0, rows.size // 4, len(whole)):
            os.preadv(file, [whole], offset)

    random_seconds, order_seconds = _timed(at_random)[0], _timed(in_order)[0]
    os.close(file)
    return {"random_pages_per_second": len(pages) / random_seconds, "bytes_per_second": rows.size // 4 / order_seconds}


def measure(gs: Any, folder: Path | None, quick: bool) -> Entry:
    """The rates of the disk and an entry for each case. `folder`: where the file is made."""
    with tempfile.TemporaryDirectory(prefix="gs-files-", dir=folder) as place:
        rows = Rows(Path(place) / "rows", 72 << 20 if quick else FILE)
        generator = np.random.default_rng(7)
        rows.drop()
        facts: Entry = {"file_bytes": rows.size, "row_bytes": ROW, "rounds": ROUNDS, "disk": _rates(rows), "files": []}
        cases = [(TAKES, _takes, "take"), (TABLES, _tables, "table gather"), (SCATTERS, _scatters, "scatter")]
        if importlib.util.find_spec("pyarrow") is None:
            print("pyarrow: not installed, left out", file=sys.stderr)
            del cases[1]
        for counts, forms_of, verb in cases:
            for count, divisor in counts:
                part = rows.part(divisor)
                index = generator.integers(0, part.count, count // 100 if quick else count)
                name = f"{verb} of {len(index)} rows" + (f", 1/{divisor} of the file" if divisor > 1 else "")
                facts["files"].append(_measure(name, rows, index, forms_of(gs, part, index)))
        for count, _ in TAKES[:1] if quick else TAKES[:2]:
            facts["files"].append(_warm(gs, rows, generator.integers(0, rows.count, count)))
    return facts


def table(facts: Entry) -> str:
    """A Markdown table: seconds of each form, and its ratio to ours."""
    disk = facts["disk"]
    lines = [
        f"File of {facts['file_bytes'] / GIB:.3g} GiB, rows of {facts['row_bytes']} bytes. {HOW} The disk alone reads "
        f"{disk['random_pages_per_second']:,.0f} random pages of 4 KiB a second ({THREADS} threads), or "
        f"{disk['bytes_per_second'] / 1e6:,.0f} MB a second in order.",
        "",
        "| case | form | seconds | times ours |",
        "|---|---|---:|---:|",
    ]
    for entry in facts["files"]:
        ours = next(iter(entry["seconds"].values()))
        for form, seconds in entry["seconds"].items():
            lines.append(f"| {entry['case']} | `{form}` | {seconds:.4f} | {seconds / ours:.2f} |")
    return "\n".join(lines)
