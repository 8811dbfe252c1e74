"""contract_children.py: the environment of a child process that runs the contract on one backend or ISA level."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

BACKENDS = {
    "reference": {"GS_BACKEND": "reference"},
    # blocks run in random order, and new memory is filled with noise: no result may depend on either
    "shuffled": {"GS_BACKEND": "reference", "GS_REFERENCE_SHUFFLE": "1"},
    "baseline": {"GS_BACKEND": "cpu", "GS_CPU": "baseline"},
    "v3": {"GS_BACKEND": "cpu", "GS_CPU": "v3"},
    "v4": {"GS_BACKEND": "cpu", "GS_CPU": "v4"},
    # every source array is far, every large result bypasses the caches, and no memory is recycled
    "small_caches": {"GS_BACKEND": "cpu", "GS_L2_BYTES": "4096", "GS_LLC_BYTES": "65536", "GS_POOL": "0"},
}
ISA_LEVELS = ("baseline", "v3", "v4")


def child_environment(backend: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GS_")}
    return {**kept, **BACKENDS[backend]}


def skip_if_this_cpu_lacks(backend: str) -> None:
    """A level that the CPU lacks is an error at import that names GS_CPU."""
    attempt = [sys.executable, "-c", "import gatherscatter"]
    tried = subprocess.run(attempt, env=child_environment(backend), capture_output=True, text=True, timeout=120)
    if tried.returncode:
        assert "ImportError" in tried.stderr and "GS_CPU" in tried.stderr, tried.stderr
        pytest.skip(f"this CPU has no {backend}")
