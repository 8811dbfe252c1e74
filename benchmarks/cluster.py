"""`python -m benchmarks --dask`: gathers and scatters of Dask arrays beside Dask's and xarray's own, on a cluster.

Each call runs in a process of its own, with a new cluster. The data are made by tasks, so that they need not fit the
workers; a checksum of each chunk of the result is what comes back. Run as a module, this file is that process.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from . import machine, report

ROOT = Path(__file__).resolve().parents[1]
MIB, GIB = 1 << 20, 1 << 30
COLUMNS = 512
ROUNDS = 3
SECONDS = 300
Entry = dict[str, Any]


def _block(block_info: Any = None) -> Any:
    """A chunk of the data: an item is its flat position, rounded."""
    (r0, r1), (c0, c1) = block_info[None]["array-location"]
    return (np.arange(r0, r1)[:, None] * COLUMNS + np.arange(c0, c1)).astype(np.float64)


def _data(setting: Entry) -> Any:
    import dask.array as da

    rows = setting["data_bytes"] // (8 * COLUMNS)
    chunks = da.core.normalize_chunks((rows // setting["chunks"], COLUMNS), (rows, COLUMNS))
    return da.map_blocks(_block, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


def _rows(setting: Entry) -> Any:
    """Random rows, a quarter as many as the data have."""
    count = setting["data_bytes"] // (8 * COLUMNS)
    return np.random.default_rng(1).integers(0, count, count // 4)


def _points(setting: Entry) -> Any:
    """A row for each item of a result that is a thirty-second of the data."""
    count = setting["data_bytes"] // (8 * COLUMNS)
    return np.random.default_rng(2).integers(0, count, (count // 32, COLUMNS))


def _ours_rows(x: Any, setting: Entry) -> Any:
    import gatherscatter as gs

    return gs.gather(x, _rows(setting), 0)


def _ours_rows_lazy(x: Any, setting: Entry) -> Any:
    import dask.array as da

    import gatherscatter as gs

    rows = _rows(setting)
    return gs.gather(x, da.from_array(rows, chunks=max(1, rows.size // 16)), 0)


def _hand(x: Any, setting: Entry) -> Any:
    """What users write: each chunk gives its own rows, and one task puts them in order."""
    import dask.array as da

    rows = _rows(setting)
    ends = np.cumsum(x.chunks[0])
    owner = np.searchsorted(ends, rows, side="right")
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=len(ends))
    starts = np.concatenate([[0], np.cumsum(counts)])
    local = [
        rows[order[a:b]] - (end - n) for a, b, end, n in zip(starts[:-1], starts[1:], ends, x.chunks[0], strict=True)
    ]
    own = da.map_blocks(
        lambda block, block_info=None: block[local[block_info[0]["chunk-location"][0]]],
        x,
        chunks=(tuple(map(int, counts)), x.chunks[1]),
        dtype=x.dtype,
        meta=np.empty((0, 0)),
    )
    back = np.argsort(order)
    return own.rechunk((-1, COLUMNS)).map_blocks(lambda block: block[back], dtype=x.dtype, meta=np.empty((0, 0)))


def _xarray(x: Any, index: Any, *, pointwise: bool) -> Any:
    import xarray

    array = xarray.DataArray(x, dims=("row", "column"))
    dims = ("i", "column") if pointwise else ("i",)
    other = {"column": xarray.DataArray(np.arange(COLUMNS), dims="column")} if pointwise else {}
    return array.isel(row=xarray.DataArray(index, dims=dims), **other).data


def _shuffle(x: Any, setting: Entry) -> Any:
    rows = _rows(setting)
    return x.shuffle([each.tolist() for each in np.array_split(rows, 16)], axis=0)


def _ours_points(x: Any, setting: Entry) -> Any:
    import gatherscatter as gs

    return gs.gather(x, 0, _points(setting))


def _ours_scatter(x: Any, setting: Entry) -> Any:
    import gatherscatter as gs

    return gs.scatter(x, _rows(setting), 1.0, 0)


def _dask_scatter(x: Any, setting: Entry) -> Any:
    x = x.copy()
    x[np.unique(_rows(setting))] = 1.0
    return x


CASES: dict[str, dict[str, Callable[[Any, Entry], Any]]] = {
    "rows": {
        "gatherscatter": _ours_rows,
        "gatherscatter, Dask index": _ours_rows_lazy,
        "x[idx]": lambda x, s: x[_rows(s)],
        "x.vindex": lambda x, s: x.vindex[_rows(s), :],
        "x.shuffle": _shuffle,
        "xarray": lambda x, s: _xarray(x, _rows(s), pointwise=False),
        "map_blocks by hand": _hand,
    },
    "points": {
        "gatherscatter": _ours_points,
        "x.vindex": lambda x, s: x.vindex[_points(s), np.arange(COLUMNS)],
        "xarray": lambda x, s: _xarray(x, _points(s), pointwise=True),
    },
    "write rows": {"gatherscatter": _ours_scatter, "x[idx] = v": _dask_scatter},
}


def _checksum(block: Any) -> Any:
    return np.array([[block.sum()]])


class _Peak:
    """The most memory that the workers had together, read every 20 ms."""

    def __init__(self, pids: list[int]) -> None:
        import psutil

        self._processes = [psutil.Process(pid) for pid in pids]
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        import psutil

        while not self._stop.wait(0.02):
            try:
                self.bytes = max(self.bytes, sum(process.memory_info().rss for process in self._processes))
            except psutil.Error:
                continue  # a worker has ended

    def __enter__(self) -> _Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _import_all() -> None:
    for name in ("dask.array", "gatherscatter", "xarray"):
        import_module(name)


def _one(setting: Entry) -> Entry:
    """Time, memory, tasks and bytes between workers of one call."""
    import os

    from distributed import Client, LocalCluster

    processes = setting["workers"] if setting["processes"] else 1
    with (
        LocalCluster(
            n_workers=processes,
            threads_per_worker=1 if setting["processes"] else setting["workers"],
            processes=setting["processes"],
            memory_limit=setting["memory_limit"]
            if setting["processes"]
            else setting["memory_limit"] * setting["workers"],
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        _import_all()  # every call finds its library imported, here and on the workers
        client.run(_import_all)
        x = _data(setting)
        start = time.perf_counter()
        made = CASES[setting["case"]][setting["peer"]](x, setting)
        graph = time.perf_counter() - start
        sums = made.map_blocks(_checksum, chunks=(1, 1), dtype=np.float64, meta=np.empty((0, 0)))
        pids = list(client.run(os.getpid).values())
        with _Peak(pids) as peak:
            answer = float(sums.sum().compute())
        seconds = time.perf_counter() - start
        moved = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        return {
            "seconds": seconds,
            "graph_seconds": graph,
            "peak_bytes": peak.bytes,
            "tasks": len(made.__dask_graph__()),
            "moved_bytes": sum(moved.values()),
            "result_bytes": made.nbytes,
            "checksum": answer,
        }


def _run(setting: Entry) -> Entry:
    """`_one` in a process; an entry with "failed" if it needs more time or memory than it may."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", __name__, json.dumps(setting)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no result after {SECONDS} s"}
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line and not line.startswith((" ", "20"))]
        return {"failed": (lines or ["no message"])[-1][:200]}
    entry: Entry = json.loads(done.stdout.splitlines()[-1])
    return entry


def _summary(found: list[Entry]) -> Entry:
    failed = next((each for each in found if "failed" in each), None)
    if failed:
        return failed
    middle = {name: statistics.median(each[name] for each in found) for name in found[0] if name != "checksum"}
    return {**middle, "checksum": found[0]["checksum"], "rounds": len(found)}


def run(quick: bool, data_bytes: int, rounds: int = ROUNDS, target: Path | None = None) -> Entry:
    """All cases with processes and with threads, in interleaved rounds, then the runs for the cost model."""
    size = 64 * MIB if quick else data_bytes
    base = {"data_bytes": size, "chunks": 64, "workers": 2, "memory_limit": max(size // 2, 512 * MIB)}
    result: Entry = {
        "schema": 1,
        "machine": machine.describe(),
        "threads": 2,
        "quick": quick,
        **base,
        "dask": [],
        "model": [],
    }
    result["machine"]["versions"] |= {name: version(name) for name in ("dask", "distributed", "xarray")}
    for processes in (True, False):
        for case, peers in CASES.items():
            found: dict[str, list[Entry]] = {peer: [] for peer in peers}
            for _ in range(1 if quick else rounds):
                for peer in peers:
                    if not any("failed" in each for each in found[peer]):
                        found[peer].append(_run({**base, "processes": processes, "case": case, "peer": peer}))
                        print(case, peer, found[peer][-1], file=sys.stderr)
            for peer, each in found.items():
                result["dask"].append({"case": case, "peer": peer, "processes": processes, **_summary(each)})
            if target:
                report.save(result, target)
    for workers in (1, 2, 4):
        for chunks in (10, 100, 1000) if workers == 2 else (100,):
            for peer in ("gatherscatter", "gatherscatter, Dask index"):
                small = {**base, "data_bytes": 64 * MIB if quick else 512 * MIB, "chunks": chunks, "workers": workers}
                entry = _run({**small, "processes": True, "case": "rows", "peer": peer})
                result["model"].append({"workers": workers, "chunks": chunks, "peer": peer, **entry})
        if target:
            report.save(result, target)
    return result


def table(result: Entry) -> str:
    """The cases as Markdown."""
    lines = ["| case | workers | call | s | peak memory, MiB | tasks | moved, MiB |", "|---|---|---|---|---|---|---|"]
    for each in result["dask"]:
        kind = "processes" if each["processes"] else "threads"
        head = f"| {each['case']} | 2 {kind} | {each['peer']} |"
        if "failed" in each:
            lines.append(f"{head} failed: {each['failed'].replace('|', ' ')} | | | |")
            continue
        peak, moved = each["peak_bytes"] / MIB, each["moved_bytes"] / MIB
        lines.append(f"{head} {each['seconds']:.2f} | {peak:,.0f} | {int(each['tasks']):,} | {moved:,.0f} |")
    lines += [
        "",
        "| workers | chunks | call | s | tasks | moved, MiB | moved / result |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in result["model"]:
        head = f"| {each['workers']} | {each['chunks']} | {each['peer']} |"
        if "failed" in each:
            lines.append(f"{head} failed: {each['failed'].replace('|', ' ')} | | | |")
            continue
        moved = each["moved_bytes"]
        share = moved / each["result_bytes"]
        lines.append(f"{head} {each['seconds']:.2f} | {int(each['tasks']):,} | {moved / MIB:,.0f} | {share:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(_one(json.loads(sys.argv[1]))))
