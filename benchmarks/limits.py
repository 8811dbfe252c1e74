"""The physical limit of a case, measured in the same process and rounds by walks of probe.cpp, which is compiled here.

limit = max(probe, stream). probe: read one word of every cache line that the operator accesses, by the fastest of
several walks on pinned threads. For a scatter some walks read the target and others write it; the faster ones count.
stream: read the bytes of indices and values and write those of the result; for sequential indices also read the source.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from . import machine
from .cases import Workload

WALKS = {"points": 0, "row_first": 1, "slab": 2, "write": 3, "write_past_caches": 4}
AHEAD = ("points", "write")  # walks that can prefetch
DISTANCES = (0, 32, 64)  # numbers of indices to prefetch ahead; rows of kilobytes need fewer
ROW_DISTANCES = (0, 4, 16)
LONG_ROW = 512
FLAGS = ["-std=c++20", "-O3", "-shared", "-fPIC", "-pthread"]

Sample = Callable[[int, int], float]  # (first set, calls) -> seconds


class _Geometry(ctypes.Structure):
    _fields_ = [("table", ctypes.c_void_p)] + [
        (name, ctypes.c_int64)
        for name in ("extent", "outer", "inner", "outer_step", "index_step", "inner_step", "touch_bytes")
    ]


class Unavailable(RuntimeError):
    """The limit cannot be measured here; the text gives the reason."""


def compile_library(name: str, target: Path, options: Sequence[str]) -> None:
    """Compile a file of this folder to a shared library with the system's C++ compiler."""
    compilers = [os.environ.get("CXX", ""), "c++", "g++", "clang++"]
    compiler = next((found for name in compilers if name and (found := shutil.which(name))), None)
    if compiler is None:
        raise Unavailable("no C++ compiler: set CXX or install g++")
    command = [compiler, *FLAGS, *options, str(Path(__file__).with_name(name)), "-o", str(target)]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        raise Unavailable(f"{compiler} cannot build {name}: {built.stderr.strip()[-400:]}")


def load() -> ctypes.CDLL:
    """Compile the probe; it stays loaded until the process ends."""
    with tempfile.TemporaryDirectory(prefix="gs-probe-") as folder:
        library = Path(folder) / "probe.so"
        try:
            compile_library("probe.cpp", library, ["-march=native"])
        except Unavailable:  # some compilers and processors do not support "native"
            compile_library("probe.cpp", library, [])
        probe = ctypes.CDLL(str(library))
    probe.gs_probe.restype = probe.gs_stream.restype = ctypes.c_double
    return probe


def pointers_to(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def walks(work: Workload) -> Callable[[ctypes.CDLL, int], dict[str, dict[str, Sample]]]:
    """A function that gives the walks of an array case by role, for a compiled probe and a number of threads."""

    def measured(library: ctypes.CDLL, threads: int) -> dict[str, dict[str, Sample]]:
        roles = {"probe": probes(library, work, threads)}
        if work.touch is not None:
            inputs = [
                list(one.values()) + ([work.source[: work.out.size]] if work.in_order else []) for one in work.sets
            ]
            written = work.out if work.scratch is None else work.scratch
            roles["stream"] = streams(library, inputs, written, threads)
            roles["pass"] = {"index bytes": index_pass(library, work, threads)}
        return roles

    return measured


def probes(library: ctypes.CDLL, work: Workload, threads: int) -> dict[str, Sample]:
    """Walks over the cache lines that the case accesses; none for a source array that fits the first-level cache."""
    touch = work.touch
    if touch is None or work.source.nbytes <= machine.cache_bytes().get("L1", 32 << 10):
        return {}
    indices = work.needed or [one["i"] for one in work.sets]
    touched = work.source if work.scratch is None else work.scratch
    geometry = _Geometry(
        touched.ctypes.data,
        touch.extent,
        touch.outer,
        touch.inner,
        touch.outer_step,
        touch.index_step,
        touch.inner_step,
        touch.bytes,
    )
    pointers = pointers_to(indices)

    def walk(kind: str, distance: int) -> Sample:
        def sample(first: int, calls: int) -> float:
            seconds: float = library.gs_probe(
                ctypes.byref(geometry),
                pointers,
                len(indices),
                first % len(indices),
                calls,
                indices[0].itemsize,
                WALKS[kind],
                ctypes.c_int64(distance),
                threads,
            )
            if seconds < 0:
                raise ValueError(f"probe.cpp has no index of {indices[0].itemsize} bytes")
            return seconds

        return sample

    distances = ROW_DISTANCES if touch.bytes >= LONG_ROW else DISTANCES
    found = {}
    for kind in touch.walks:
        for distance in distances if kind in AHEAD else (0,):
            found[f"{kind}, prefetch {distance}" if distance else kind] = walk(kind, distance)
    return found


def index_pass(library: ctypes.CDLL, work: Workload, threads: int) -> Sample:
    """Read the index arrays and write nothing: what a check of all indices before the first write must cost."""
    indices = [[one["i"]] for one in work.sets]
    return streams(library, indices, np.empty(0, np.uint8), threads)["ordinary stores"]


def streams(
    library: ctypes.CDLL, inputs: Sequence[Sequence[np.ndarray]], written: np.ndarray, threads: int
) -> dict[str, Sample]:
    """Read the rotating arrays, one list for each set, and write a result at an equal pace."""
    pointers = pointers_to([array for one in inputs for array in one])
    sizes = (ctypes.c_int64 * len(inputs[0]))(*(array.nbytes for array in inputs[0]))

    def stream(nontemporal: int) -> Sample:
        def sample(first: int, calls: int) -> float:
            seconds: float = library.gs_stream(
                pointers,
                len(inputs),
                len(inputs[0]),
                sizes,
                ctypes.c_void_p(written.ctypes.data),
                ctypes.c_int64(written.nbytes),
                nontemporal,
                first % len(inputs),
                calls,
                threads,
            )
            return seconds

        return sample

    return {"ordinary stores": stream(0), "non-temporal stores": stream(1)}
