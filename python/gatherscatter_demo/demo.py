"""demo.py: runs the demo, prints its table and draws its picture. Each result is compared with another library's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import gatherscatter as gs
from gatherscatter_demo.digits import Row, average, classify, confuse, look_up, move, paste
from gatherscatter_demo.measure import aligned, enumerated, require, seconds_text

if TYPE_CHECKING:
    from gatherscatter_demo.flights import TableTask


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = Path("gatherscatter-demo.png")
    parser.add_argument(
        "--output", type=Path, default=default, metavar="FILE", help="the picture (default: %(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small data: seconds instead of half a minute; times mean little"
    )


def table_text(rows: list[Row], quick: bool) -> str:
    """Format one line per task; the last column, the ratios, is left out for small data."""
    head = ["task", "size", "result", "check", "gatherscatter", "NumPy"]
    times = [(row, seconds_text(row.ours), seconds_text(row.plain)) for row in rows]
    lines = [[row.task, row.size, row.result, "= NumPy", *shown] for row, *shown in times]
    if not quick:
        head.append("NumPy / ours")
        for line, row in zip(lines, rows, strict=True):
            line.append(f"{row.plain / row.ours:.1f}")
    return aligned(head, lines, left=4)


def flight_jobs(quick: bool, rounds: int) -> list[TableTask]:
    """Run and print the table tasks; print only a message if a required package is missing."""
    from gatherscatter_demo import flights

    if absent := flights.missing():
        print(f"\nThe tables of flights are left out: they need {enumerated(absent)}; type:  pip install '.[demo]'")
        return []
    jobs = flights.run(quick, rounds)
    print(f"\nFlights from New York in 2013, as tables of each library\n\n{flights.table_text(jobs)}")
    if absent := [name for name in flights.LIBRARIES if name not in jobs[0].seconds]:
        print(f"\nleft out, because not installed: {enumerated(absent)}")
    return jobs


def run(arguments: argparse.Namespace) -> int:
    """Run all tasks, print the results and write the picture."""
    datasets = require("sklearn.datasets")
    require("matplotlib")
    from gatherscatter_demo import picture

    digits = datasets.load_digits()
    images = digits.images.astype(np.float32)
    rounds = 3 if arguments.quick else 9
    print(f"gatherscatter {gs.__version__} beside NumPy {np.__version__}, {gs.get_num_threads()} threads\n")

    classified_row, classified, accuracy = classify(images, digits.target, rounds)
    confusion_row, confusion = confuse(classified, rounds)
    means_row, means = average(images, digits.target, rounds)
    moved_rows, moved = move(images[:64] if arguments.quick else images, rounds)
    pasted_row, sheet = paste(images, rounds)
    count, wanted = (1 << 14, 1 << 13) if arguments.quick else (1 << 20, 1 << 19)
    lookup_row, lookup = look_up(count, wanted, 64, rounds)

    print(table_text([classified_row, confusion_row, means_row, *moved_rows, pasted_row, lookup_row], arguments.quick))
    flights = flight_jobs(arguments.quick, rounds)
    drawn = [] if arguments.quick else flights  # the picture draws ratios of them
    shown = picture.PictureData(moved, classified, accuracy, confusion, means, sheet, lookup, lookup_row.size, drawn)
    picture.draw(shown, arguments.output)
    others = "with NumPy"
    if flights:
        others += ";\nthose on tables with the library's own, the joins with pandas' merge too"
    if arguments.quick:
        print("\n--quick: data of this size say nothing about speed, so there are no ratios.")
    print(f"\nMedians of {rounds} interleaved rounds. Every result was compared {others}.")
    print(f"Picture: {arguments.output}")
    return 0
