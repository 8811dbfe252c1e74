"""`python -m benchmarks --parquet`: gathers from a table in Parquet files, beside the libraries that read such files.

The files are written to a temporary folder, which is removed afterwards. Reading is from the page cache where memory
holds the files.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

FILES = 64
GROUPS = 8  # row groups of a file
ROW = 64  # bytes of a decoded row
ROWS = (1 << 10, 100 << 10, 10 << 20)
PATTERNS = ("uniform", "clustered")  # anywhere; anywhere in a sixteenth of the table
SECONDS = 40.0
HOW = (
    "Seconds of a gather of all columns, medians of interleaved rounds, and how many times as long the others take. "
    "*decoding* is pyarrow's reading of the row groups that are wanted, without any gather."
)

Entry = dict[str, Any]
Form = Callable[[], Any]


def write_files(folder: Path, rows: int) -> list[str]:
    """Files of columns of numbers, some of them null, times and text; 64 bytes a row once decoded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = []
    for at in range(FILES):
        rng = np.random.default_rng(at)
        text = pa.array(rng.integers(10**7, 10**8, rows).astype("U8"))
        columns = {
            "id": np.arange(at * rows, (at + 1) * rows),
            "x": rng.random(rows),
            "y": pa.array(rng.random(rows), mask=rng.random(rows) < 0.1),
            "count": rng.integers(0, 1000, rows),
            "time": pa.array(rng.integers(0, 1 << 50, rows), pa.timestamp("us")),
            "kind": rng.integers(0, 100, rows).astype(np.int32),
            "weight": rng.random(rows).astype(np.float32),
            "key": text,
        }
        paths.append(str(folder / f"{at:02}.parquet"))
        pq.write_table(pa.table(columns), paths[-1], row_group_size=-(-rows // GROUPS))
    return paths


def measure(total: int, threads: int, seconds: float, quick: bool) -> Iterator[Entry]:
    """One entry for each number of rows and pattern."""
    rows = max(GROUPS, total // (FILES * ROW))
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 1.25 * rows * FILES * ROW:
        raise SystemExit(
            f"--parquet: {rows * FILES * ROW} bytes of files do not fit {free} bytes of free disk: --bytes N"
        )
    with tempfile.TemporaryDirectory(prefix="gs-parquet-") as folder:
        paths = write_files(Path(folder), rows)
        size = sum(os.path.getsize(path) for path in paths)
        for pattern in PATTERNS:
            for count in (16, 64) if quick else ROWS:
                numbers = rows_of(pattern, count, rows * FILES)
                yield {
                    "name": f"{pattern} {count}",
                    "pattern": pattern,
                    "rows": count,
                    "table_rows": rows * FILES,
                    "file_bytes": size,
                    **timed(numbers, paths, rows, threads, 0.0 if quick else seconds),
                }


def rows_of(pattern: str, count: int, total: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    rng = np.random.default_rng(count)
    window = total if pattern == "uniform" else max(1, total // 16)
    return rng.integers(0, window, count) + (total - window) // 2


def timed(numbers: Any, paths: list[str], rows: int, threads: int, seconds: float) -> dict[str, Any]:
    """Medians of each form. A form that has used up its time is not run again."""
    group = -(-rows // GROUPS)
    wanted = np.unique(numbers // rows * GROUPS + numbers % rows // group)
    calls = forms(numbers, paths, rows, wanted, threads)
    expected = calls["pyarrow"]()
    for name, call in calls.items():  # also the first reading of the files
        if name != "decoding" and not call().equals(expected):
            raise SystemExit(f"--parquet: {name} gives other rows than pyarrow")
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(7):
        for name, call in calls.items():
            if times[name] and sum(times[name]) + times[name][-1] > seconds / len(calls):
                continue
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {
        "wanted_groups": len(wanted),
        "groups": FILES * GROUPS,
        "seconds": {name: statistics.median(all_of) for name, all_of in times.items()},
        "rounds": {name: len(all_of) for name, all_of in times.items()},
    }


def forms(numbers: Any, paths: list[str], rows: int, wanted: Any, threads: int) -> dict[str, Form]:
    """Ours and each peer that is installed, with results that are pyarrow's tables."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    import gatherscatter as gs

    pa.set_cpu_count(threads)
    gs.set_num_threads(threads)
    dataset = ds.dataset(paths)
    fragments = list(dataset.get_fragments())

    def decoding() -> None:
        for file in np.unique(wanted // GROUPS):
            groups = [int(at % GROUPS) for at in wanted if at // GROUPS == file]
            for _ in fragments[file].subset(row_group_ids=groups).to_batches(schema=dataset.schema):
                pass

    def decoding_all() -> None:
        for _ in dataset.to_batches():
            pass

    calls: dict[str, Form] = {
        "ours": lambda: gs.table.gather(dataset, numbers),
        "pyarrow": lambda: dataset.take(pa.array(numbers)),
        "decoding": decoding_all if len(wanted) == FILES * GROUPS else decoding,
    }
    try:
        import polars as pl

        def of_polars() -> Any:
            index = pl.lit(pl.Series(numbers))
            table = pl.scan_parquet(paths).select(pl.all().gather(index)).collect().to_arrow()
            return table.cast(dataset.schema)

        calls["polars"] = of_polars
    except ImportError:
        print("polars: not installed, left out", file=sys.stderr)
    try:
        import duckdb

        connection = duckdb.connect()
        connection.execute(f"SET threads = {threads}")
        names = ", ".join(f"t.{name}" for name in dataset.schema.names)

        def of_duckdb() -> Any:
            wanted_rows = pa.table(  # noqa: F841  # DuckDB finds it by its name
                {
                    "place": np.arange(len(numbers)),
                    "file": pa.DictionaryArray.from_arrays(numbers // rows, paths).cast(pa.string()),
                    "row": numbers % rows,
                }
            )
            query = (
                f"SELECT {names} FROM wanted_rows w "
                "JOIN read_parquet($paths, filename = true, file_row_number = true) t "
                "ON t.filename = w.file AND t.file_row_number = w.row ORDER BY w.place"
            )
            return connection.sql(query, params={"paths": paths}).to_arrow_table().cast(dataset.schema)

        calls["DuckDB"] = of_duckdb
    except ImportError:
        print("duckdb: not installed, left out", file=sys.stderr)
    return calls


def table(entries: list[Entry]) -> str:
    """A Markdown table: seconds of ours, and how many times as long the others take."""
    names = [name for name in entries[0]["seconds"] if name != "ours"] if entries else []
    lines = ["| rows | row groups | ours | " + " | ".join(names) + " |", "|---|---|---|" + "---|" * len(names)]
    for entry in entries:
        seconds = entry["seconds"]
        ratios = " | ".join(f"{seconds[name] / seconds['ours']:.2f}" for name in names)
        lines.append(
            f"| {entry['rows']:,} {entry['pattern']} | {entry['wanted_groups']} of {entry['groups']} "
            f"| {seconds['ours']:.3g} s | {ratios} |"
        )
    return "\n".join(lines)
