"""`python -m benchmarks`: runs the suite, prints a Markdown table, writes JSON, compares with an earlier run."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Huge pages for torch's results, so that torch has its best form. torch reads this when it is imported.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

from . import (
    cluster,
    decisions,
    files,
    gradients,
    harness,
    jitted,
    limits,
    machine,
    memory,
    memory_cases,
    parquet,
    plot,
    report,
    scale,
    work,
)
from .cases import CASES, Case
from .decision_sizes import CELLS
from .edge_cases import EDGES
from .group_cases import GROUPS
from .harness import LIBRARIES
from .more_cases import MORE
from .sweeps import SECONDS, SWEEPS

CASE_SECONDS = 10.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--threads", type=int, default=machine.processors(), help="for all libraries (default: %(default)s)"
    )
    parser.add_argument("--only", nargs="+", metavar="CASE", help="numbers or parts of names, such as 5 or rows")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help="these libraries only, beside ours")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, two rounds: checks results, times nothing")
    parser.add_argument(
        "--sweep", choices=SWEEPS, help="instead of the cases: over the size of the table or of the row"
    )
    parser.add_argument(
        "--more", action="store_true", help="instead of the cases: more calls, each beside a peer or a plainer call"
    )
    parser.add_argument(
        "--seconds", type=float, help=f"of timing per case (default: {CASE_SECONDS:g}, in a sweep {SECONDS:g})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="show what became slower since that result; exit 1 if any"
    )
    parser.add_argument("--load", type=Path, metavar="FILE", help="show an earlier result and run nothing")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result (PNG, SVG; needs matplotlib)")
    parser.add_argument(
        "--write", type=Path, nargs="+", metavar="FILE", help="put the tables between the marks of these Markdown files"
    )
    parser.add_argument(
        "--decisions", action="store_true", help="our forms alone, with the main decisions forced the other way"
    )
    parser.add_argument(
        "--work", action="store_true", help="processor time of one call with 1 to 16 threads, for gathers and scatters"
    )
    parser.add_argument("--torch", action="store_true", help="calls that record gradients beside torch's own functions")
    parser.add_argument("--jax", action="store_true", help="calls in jitted functions beside JAX's own functions")
    parser.add_argument(
        "--scale", action="store_true", help="ours alone: the cost of an element from 2^10 elements to what fits memory"
    )
    parser.add_argument(
        "--memory", action="store_true", help="ours alone: the bytes that each operator allocates beyond its result"
    )
    parser.add_argument(
        "--files", action="store_true", help="rows at random from and into a file that is not in memory; 4 GiB of disk"
    )
    parser.add_argument("--folder", type=Path, help="of the file of --files (default: that for temporary files)")
    parser.add_argument(
        "--parquet", action="store_true", help="gathers from Parquet files, beside what reads such files"
    )
    parser.add_argument(
        "--bytes", type=int, default=8 << 30, metavar="N", help="of the table of --parquet (default: 8 GiB)"
    )
    parser.add_argument(
        "--dask",
        type=float,
        nargs="?",
        const=4.0,
        metavar="GIB",
        help="Dask arrays of so many GiB on 2 workers (default: 4)",
    )
    parser.add_argument("--sizes", action="store_true", help="the same over source arrays and results of all sizes")
    parser.add_argument(
        "--levels", action="store_true", help="our forms alone, with the instruction sets of older processors"
    )
    parser.add_argument("--note", metavar="TEXT", help="what a reader of the result has to know about the run")
    parser.add_argument("--list", action="store_true", help="list the cases")
    return parser


def chosen(only: list[str] | None, cases: Sequence[Case]) -> list[Case]:
    """Cases by number (5 is 5, 8 is 8a and 8b) or by a part of their name."""
    if only is None:
        return list(cases)

    def wanted(case: Case, word: str) -> bool:
        return word in (case.number, case.number.rstrip("abcdefg")) or (not word[0].isdigit() and word in case.name)

    unknown = [word for word in only if not any(wanted(case, word) for case in cases)]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)} (--list shows them)")
    return [case for case in cases if any(wanted(case, word) for word in only)]


def _cases(arguments: argparse.Namespace) -> Sequence[Case]:
    if arguments.sweep and arguments.more:
        raise SystemExit("--sweep and --more are runs of their own")
    return SWEEPS[arguments.sweep] if arguments.sweep else (*MORE, *EDGES, *GROUPS) if arguments.more else CASES


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.threads < 1:
        raise SystemExit("--threads: at least 1")
    known = [library.name for library in LIBRARIES if not library.ours]
    if unknown := set(arguments.peers or []) - set(known):
        raise SystemExit(f"no such peer: {', '.join(sorted(unknown))} (there are {', '.join(known)})")
    for variable in (name for library in LIBRARIES for name in library.thread_variables):
        os.environ[variable] = str(arguments.threads)
    modules, missing = harness.available(arguments.peers)
    cases = []
    for case in chosen(arguments.only, _cases(arguments)):
        if case.needs and case.needs not in modules:
            missing.append(f"{case.number} {case.name}: needs {case.needs}, left out")
        else:
            cases.append(case)
    if "gatherscatter" not in modules:
        raise SystemExit("gatherscatter is not installed: pip install .")
    for library in LIBRARIES:
        if library.name in modules:
            library.set_threads(modules[library.name], arguments.threads)
    probe = None
    try:
        probe = limits.load()
    except limits.Unavailable as reason:
        missing.append(f"the limit: {reason}")
    for line in missing:
        print(line, file=sys.stderr)
    result: dict[str, Any] = {
        "schema": 1,
        "machine": machine.describe(),
        "threads": arguments.threads,
        "quick": arguments.quick,
        "sweep": arguments.sweep,
        "more": arguments.more,
        **({"note": arguments.note} if arguments.note else {}),
        "missing": missing,
        "cases": [],
    }
    seconds = arguments.seconds or (SECONDS if arguments.sweep else CASE_SECONDS)
    for case in cases:
        start = time.perf_counter()
        print(f"{case.number:>4} {case.name} … ", end="", file=sys.stderr, flush=True)
        entry = harness.run_case(case, modules, probe, arguments.threads, seconds, arguments.quick)
        result["cases"].append(entry)
        result["peak_bytes"] = machine.peak_bytes()
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
        if arguments.json:
            report.save(result, arguments.json)  # after every case, so that a run that fails keeps its results
    return result


def _decisions(arguments: argparse.Namespace) -> int:
    """Our forms with other decisions or levels. A JSON file that exists gets the new entries beside those it has."""
    threads, quick, only = arguments.threads, arguments.quick, arguments.only
    level = importlib.import_module("gatherscatter").show_config()["isa_supported"]
    parts: dict[str, Iterator[dict[str, Any]]] = {}
    if arguments.decisions:
        parts["decisions"] = decisions.measure(chosen(only, CASES), threads, quick)
    if arguments.sizes:
        cells = [cell for cell in CELLS if only is None or any(cell.name.startswith(word) for word in only)]
        parts["sizes"] = decisions.measure_cells(cells, threads, quick)
    if arguments.levels:
        cases = chosen(only, CASES) if only else [case for case in CASES if case.name in decisions.LEVEL_CASES]
        parts["levels"] = decisions.measure(cases, threads, quick, decisions.levels(level))
    facts: dict[str, Any] = {"schema": 1, "runs": []}
    if arguments.json and arguments.json.exists():
        facts = report.load(arguments.json)
        if "runs" not in facts:
            raise SystemExit(f"{arguments.json} is a result of the suite, not of --decisions, --sizes or --levels")
    facts["runs"].append({"machine": machine.describe(), "threads": threads})
    for part, measured in parts.items():
        entries = []
        for entry in measured:
            entries.append(entry)
            facts[part] = [one for one in facts.get(part, []) if one["name"] != entry["name"]] + [entry]
            if arguments.json:
                report.save(facts, arguments.json)  # after every call, so that a run that fails keeps its results
        print((decisions.level_table(entries, level) if part == "levels" else decisions.table(entries)) + "\n")
    return 0


def _measured(arguments: argparse.Namespace, module: ModuleType, part: str) -> int:
    """Run a benchmark that has a table of its own, and save its entries under the name of the part."""
    entries = module.measure(arguments.only, arguments.quick)
    print(module.table(entries))
    if arguments.json:
        report.save({"schema": 1, "machine": machine.describe(), part: entries}, arguments.json)
    return 0


def _scale(arguments: argparse.Namespace) -> int:
    if arguments.plot:
        plot.library()
    if arguments.load:
        result = report.load(arguments.load)
    else:
        result = scale.run(arguments.only, arguments.threads, arguments.quick, arguments.json)
    text = f"{report.facts(result)}. {scale.HOW}\n\n{scale.table(result)}"
    print(text)
    return _shown(arguments, result, {"scale": text})


def _memory(arguments: argparse.Namespace) -> int:
    if arguments.load:
        result = report.load(arguments.load)
    else:
        sizes = memory.SIZES[:1] if arguments.quick else memory.SIZES
        try:
            entries = memory.measure(memory_cases.OPERATORS, sizes, arguments.threads)
        except limits.Unavailable as reason:
            raise SystemExit(f"--memory: {reason}") from None
        result = {"schema": 1, "machine": machine.describe(), "threads": arguments.threads, "quick": arguments.quick}
        result["memory"] = entries
        if arguments.json:
            report.save(result, arguments.json)
    text = f"{report.facts(result)}.\n\n{memory.table(result['memory'])}"
    print(text)
    exceeding = memory.over(result["memory"])
    print("\n".join(exceeding), file=sys.stderr)
    return _shown(arguments, result, {"memory": text}) or int(bool(exceeding))


def _files(arguments: argparse.Namespace) -> int:
    if arguments.load:
        result = report.load(arguments.load)
    else:
        result = {"schema": 1, "machine": machine.describe(), "threads": arguments.threads, "quick": arguments.quick}
        gs = importlib.import_module("gatherscatter")
        gs.set_num_threads(arguments.threads)
        result |= files.measure(gs, arguments.folder, arguments.quick)
        if arguments.json:
            report.save(result, arguments.json)
    text = f"{report.facts(result)}.\n\n{files.table(result)}"
    print(text)
    return _shown(arguments, result, {"files": text})


def _parquet(arguments: argparse.Namespace) -> int:
    if arguments.load:
        result = report.load(arguments.load)
    else:
        os.environ["POLARS_MAX_THREADS"] = str(arguments.threads)
        result = {"schema": 1, "machine": machine.describe(), "threads": arguments.threads, "quick": arguments.quick}
        result |= {"bytes": 1 << 20 if arguments.quick else arguments.bytes, "parquet": []}
        seconds = arguments.seconds or parquet.SECONDS
        for entry in parquet.measure(result["bytes"], arguments.threads, seconds, arguments.quick):
            result["parquet"].append(entry)
            if arguments.json:
                report.save(result, arguments.json)  # after every entry, so that a run that fails keeps its results
    text = f"{report.facts(result)}. {parquet.HOW}\n\n{parquet.table(result['parquet'])}"
    print(text)
    return _shown(arguments, result, {"parquet": text})


def _dask(arguments: argparse.Namespace) -> dict[str, Any]:
    result = cluster.run(arguments.quick, int(arguments.dask * cluster.GIB), target=arguments.json)
    if arguments.json:
        report.save(result, arguments.json)
    return result


def _shown(arguments: argparse.Namespace, result: dict[str, Any], parts: dict[str, str]) -> int:
    if arguments.plot:
        plot.draw(result, arguments.plot)
    if arguments.write and result["quick"]:
        raise SystemExit("--write wants a run at full sizes")
    for page in arguments.write or []:
        report.fill(page, parts)
    return 0


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.scale:
        return _scale(arguments)
    if arguments.files:
        return _files(arguments)
    if arguments.memory:
        return _memory(arguments)
    if arguments.parquet:
        return _parquet(arguments)
    if arguments.dask:
        result = report.load(arguments.load) if arguments.load else _dask(arguments)
        print(cluster.table(result))
        return 0
    if arguments.list:
        for case in _cases(arguments):
            print(f"{case.number:>4}  {case.name:<22} {case.about}")
        return 0
    if arguments.decisions or arguments.sizes or arguments.levels:
        return _decisions(arguments)
    if arguments.torch:
        return _measured(arguments, gradients, "gradients")
    if arguments.jax:
        return _measured(arguments, jitted, "jitted")
    if arguments.work:
        return _measured(arguments, work, "work")
    if arguments.plot:
        plot.library()  # fails before the run, which takes minutes, if matplotlib is missing
    earlier = report.load(arguments.compare) if arguments.compare else None  # the run may overwrite it
    result = report.load(arguments.load) if arguments.load else run(arguments)
    print(report.more_markdown(result) if result.get("more") else report.markdown(result))
    if arguments.plot:
        plot.draw(result, arguments.plot)
    for page in arguments.write or []:
        report.write(result, page)
    if earlier is None:
        return 0
    text, regressions = report.compare(earlier, result)
    print("\n" + text)
    return 1 if regressions else 0


if __name__ == "__main__":
    sys.exit(main())
