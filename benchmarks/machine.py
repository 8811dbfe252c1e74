"""The description of a run in every JSON result: processor, caches, kernel, versions, command."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CPU = Path("/sys/devices/system/cpu/cpu0/cache")
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
PACKAGES = ("gatherscatter", "numpy", "torch", "pyarrow", "polars", "pandas", "duckdb", "jax", "numba")


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def cache_bytes() -> dict[str, int]:
    """The size of each data cache of processor 0, as {"L1": 32768, ...}."""
    sizes = {}
    for folder in sorted(CPU.glob("index*")):
        size = re.fullmatch(r"(\d+)([KMG]?)", _text(folder / "size"))
        if size and _text(folder / "type") != "Instruction":
            scale = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[2]]
            sizes["L" + _text(folder / "level")] = int(size[1]) * scale
    return sizes


def processors() -> int:
    return len(os.sched_getaffinity(0))


def cpu_model() -> str:
    info = _text(Path("/proc/cpuinfo"))
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in info.splitlines())}
    name = fields.get("model name") or platform.processor() or platform.machine()
    return f"{name} (family {fields.get('cpu family', '?')} model {fields.get('model', '?')})"


def commit() -> str | None:
    """The commit of the checkout, with a mark if it has local changes."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True)
        changed = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, text=True)
    except OSError:
        return None
    if head.returncode:
        return None
    return head.stdout.strip() + ("+changes" if changed.stdout.strip() else "")


def versions() -> dict[str, str]:
    absent = dict.fromkeys(PACKAGES, "not installed")
    return {"python": platform.python_version(), **absent, **versions_of(PACKAGES)}


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """The versions of the packages that are installed."""
    found = {}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def peak_bytes() -> int:
    """The peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def describe() -> dict[str, object]:
    # Paths are reduced to file names, because results are kept in the repository.
    arguments = [Path(word).name if word.startswith(os.sep) else word for word in sys.argv[1:]]
    return {
        "command": " ".join(["python -m benchmarks", *arguments]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "processors": processors(),
        "caches": cache_bytes(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "transparent_hugepage": _text(THP),
        "environment": {
            key: value
            for key, value in sorted(os.environ.items())
            if key.startswith(("GS_", "THP_", "OMP_", "POLARS_", "NUMBA_", "XLA_", "NPROC"))
        },
        "load_average": os.getloadavg()[0],
        "versions": versions(),
        "commit": commit(),
    }
