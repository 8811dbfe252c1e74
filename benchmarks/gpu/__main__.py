"""`python -m benchmarks.gpu`: times the suite on a GPU beside torch, CuPy and JAX; a Markdown table and JSON."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the memory

from .. import machine, report
from ..__main__ import chosen
from . import harness
from .cases import CASES
from .forms import CUPY, GS, GS_CUPY, JAX, TORCH

MODULES = {CUPY: "cupy", JAX: "jax"}
PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "jax-cuda13-plugin", "triton")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help="of torch; cpu only checks that every form is right")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="numbers or parts of names")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, two rounds: checks results, times nothing")
    parser.add_argument("--seconds", type=float, default=3.0, help="of timing per case (default: %(default)g)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--load", type=Path, metavar="FILE", help="show an earlier result and run nothing")
    parser.add_argument("--list", action="store_true", help="list the cases")
    return parser


def describe(torch: Any, device: str) -> dict[str, object]:
    facts = machine.describe()
    facts["command"] = str(facts["command"]).replace("benchmarks", "benchmarks.gpu", 1)
    facts["versions"] = {**machine.versions(), **machine.versions_of(PACKAGES)}
    if device != "cpu":
        properties = torch.cuda.get_device_properties(device)
        facts["gpu"] = {
            "name": properties.name,
            "multiprocessors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "l2_bytes": properties.L2_cache_size,
            "cuda": torch.version.cuda,
        }
    return facts


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        raise SystemExit("the suite needs torch: it makes the data, and its events are the clock") from None
    import gatherscatter

    if arguments.device == "cpu" and not arguments.quick:
        raise SystemExit("--device cpu goes with --quick: the CPU has a suite of its own, python -m benchmarks")
    if arguments.device != "cpu" and not torch.cuda.is_available():
        raise SystemExit("torch sees no GPU")
    modules: dict[str, Any] = {GS: gatherscatter, TORCH: torch}
    missing = []
    for library, name in MODULES.items():
        try:
            modules[library] = importlib.import_module(name)
        except ImportError as reason:
            missing.append(f"{library}: {reason}, left out")
    if CUPY in modules:
        modules[GS_CUPY] = gatherscatter
    if JAX in modules:
        modules[JAX].config.update("jax_enable_x64", True)
        if arguments.device == "cpu":
            modules[JAX].config.update("jax_platforms", "cpu")
    for line in missing:
        print(line, file=sys.stderr)
    lab = harness.Lab(torch, arguments.device, modules)
    result: dict[str, Any] = {
        "schema": 1,
        "machine": describe(torch, arguments.device),
        "threads": 1,
        "quick": arguments.quick,
        "missing": missing,
        "cases": [],
    }
    for case in chosen(arguments.only, CASES):
        start = time.perf_counter()
        print(f"{case.number:>4} {case.name} … ", end="", file=sys.stderr, flush=True)
        result["cases"].append(harness.run_case(lab, case, arguments.seconds, arguments.quick))
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
        if arguments.json:
            report.save(result, arguments.json)
        if lab.on_gpu:
            torch.cuda.empty_cache()
    return result


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.list:
        for case in CASES:
            print(f"{case.number:>4}  {case.name:<22} {case.about}")
        return 0
    result = report.load(arguments.load) if arguments.load else run(arguments)
    print(report.gpu_markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
