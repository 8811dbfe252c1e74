"""Converts results to Markdown, and compares two results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import packed

NOTHING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
REGRESSION = 1.10  # a form is slower above this ratio, if it is also outside of the quartiles of both runs

Entry = dict[str, Any]


def seconds_text(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= scale or unit == "ns":
            return f"{seconds / scale:.3g} {unit}" if seconds < 100 * scale else f"{seconds / scale:.0f} {unit}"
    raise AssertionError("unreachable")


def _ratio(numerator: float | None, denominator: float | None) -> str:
    return NOTHING if numerator is None or denominator is None else f"{numerator / denominator:.2f}"


def shown(form: Entry) -> str:
    code: str = form.get("shown") or form["code"]
    return code


def fastest(forms: list[Entry], **wanted: Any) -> Entry | None:
    """The form with the least median among those whose fields equal `wanted`."""
    fitting = [form for form in forms if all(form[key] == value for key, value in wanted.items())]
    return min(fitting, key=lambda form: float(form["median"]), default=None)


def limit_of(case: Entry) -> tuple[float | None, Entry | None]:
    """max(best probe, best stream) in seconds, and the walk that it belongs to."""
    ends = [best for role in ("probe", "stream") if (best := fastest(case["forms"], role=role)) is not None]
    ruling = max(ends, key=lambda form: float(form["median"]), default=None)
    return (None if ruling is None else ruling["median"]), ruling


def summary(case: Entry) -> Entry:
    """The numbers of a case for the table."""
    # Forms with tensors have a table of their own (small calls); all forms here use one set of arrays.
    forms = [form for form in case["forms"] if form["library"] != "gatherscatter, torch tensors"]
    ours, peer = fastest(forms, role="ours"), fastest(forms, role="peer")
    by_hand, numpy = fastest(forms, role="by hand"), fastest(forms, library="numpy")
    limit, ruling = limit_of(case)

    def time(form: Entry | None) -> float | None:
        return None if form is None else form["median"]

    return {
        "fresh": time(fastest(forms, role="ours", fresh=True)),
        "out": time(fastest(forms, role="ours", fresh=False)),
        "ours": time(ours),
        "ours_form": ours,
        "peer": time(peer),
        "peer_form": peer,
        "by_hand": time(by_hand),
        "numpy": time(numpy),
        "limit": limit,
        "limit_form": ruling,
    }


def _code(form: Entry | None) -> str:
    return NOTHING if form is None else f"{form['library']}: `{shown(form)}`"


def table(result: Entry) -> str:
    """One line per case: our times, the best library and its form, and the ratios."""
    lines = [
        "| case | ours, fresh | ours, out= | best library | library / ours | numba / ours | NumPy / ours | limit "
        "| limit / ours | best library's form |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for case in result["cases"]:
        row = summary(case)
        cells = [
            f"{case['case']} {case['name']}",
            *(seconds_text(row[key]) for key in ("fresh", "out", "peer")),
            _ratio(row["peer"], row["ours"]),
            _ratio(row["by_hand"], row["ours"]),
            _ratio(row["numpy"], row["ours"]),
            seconds_text(row["limit"]),
            _ratio(row["limit"], row["ours"]),
            _code(row["peer_form"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def out_table(result: Entry) -> str:
    """`out=` beside a fresh result and one pass over the index bytes, which is all that it may cost more."""
    lines = ["| case | fresh | out= | pass over the indices | out= / (fresh + pass) |", "|---|--:|--:|--:|--:|"]
    for case in result["cases"]:
        row, once = summary(case), fastest(case["forms"], role="pass")
        if once is None or row["fresh"] is None or row["out"] is None:
            continue
        most = row["fresh"] + once["median"]
        cells = [
            f"{case['case']} {case['name']}",
            *(seconds_text(seconds) for seconds in (row["fresh"], row["out"], once["median"])),
            _ratio(row["out"], most),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def small_table(result: Entry) -> str:
    """All forms of the small calls, whose time is the overhead of the call."""
    cases = [case for case in result["cases"] if case["name"].startswith("small_")]
    if not cases:
        return ""
    lines = [
        "| form | " + " | ".join(case["name"] for case in cases) + " |",
        "|---|" + "--:|" * len(cases),
    ]
    times: dict[tuple[str, str], dict[str, float]] = {}
    for case in cases:
        for form in case["forms"]:
            times.setdefault((form["library"], shown(form)), {})[case["case"]] = form["median"]
    for (library, code), medians in sorted(times.items()):
        cells = [seconds_text(medians.get(case["case"])) for case in cases]
        lines.append(f"| {library}: `{code}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table_table(result: Entry) -> str:
    """For each library of tables: our call on its tables, its own best form, and the form beside ours."""
    lines = [
        "| case | on tables of | ours | its own best form | own / ours | beside | ours / beside | ours - beside "
        "| that form | beside is |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|---|",
    ]
    for case in result["cases"]:
        forms = case["forms"]
        for library in sorted({form["library"] for form in forms if form["role"] == "peer"}):
            mine = {"library": f"gatherscatter, {library}"}
            ours, own = fastest(forms, role="ours", **mine), fastest(forms, role="peer", library=library)
            beside = fastest(forms, role="beside", **mine)
            if ours is None or own is None:
                continue
            time = ours["median"]
            other = None if beside is None else beside["median"]
            cells = [
                f"{case['case']} {case['name']}",
                library,
                *(seconds_text(seconds) for seconds in (time, own["median"])),
                _ratio(own["median"], time),
                seconds_text(other),
                _ratio(time, other),
                NOTHING if other is None else f"{(time - other) * 1e6:.2f} µs",
                f"`{own['code']}`",
                NOTHING if beside is None else f"`{beside['code']}`",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def more_table(result: Entry) -> str:
    """Of `--more`, for the arrays or each library of tables: our time, the best peer's, and that of the form beside."""
    lines = [
        "| case | | on | ours | best library | library / ours | numba / ours | beside | ours / beside | limit / ours "
        "| best library's form |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for case in result["cases"]:
        forms = case["forms"]
        beside = fastest(forms, role="beside")
        libraries = sorted({form["library"] for form in forms if form["role"] == "ours"})
        is_table = case["name"].startswith("table_")
        for library in libraries if is_table else [""]:
            own = library.removeprefix("gatherscatter, ")
            mine = [form for form in forms if form["library"] == library] if is_table else forms
            theirs = [form for form in forms if form["library"] == own] if is_table else forms
            ours, peer = fastest(mine, role="ours"), fastest(theirs, role="peer")
            near = fastest(mine, role="beside") or (None if case["name"].startswith("table_5_rows") else beside)
            time, other, least = (None if form is None else form["median"] for form in (ours, peer, near))
            cells = [f"{case['case']} {case['name']}", case["about"], own or "arrays", seconds_text(time)]
            by_hand = fastest(theirs, role="by hand")
            cells += [seconds_text(other), _ratio(other, time), _ratio(by_hand and by_hand["median"], time)]
            cells += [seconds_text(least), _ratio(time, least), _ratio(limit_of(case)[0], time), _code(peer)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def more_markdown(result: Entry) -> str:
    """The whole report of a run of `--more`."""
    notes = "\n".join(f"* {line}" for line in warnings(result))
    return "\n\n".join(part for part in (head(result), more_table(result), notes) if part)


def warnings(result: Entry) -> list[str]:
    """Reasons to doubt the numbers."""
    machine, found = result["machine"], [result["note"]] if result.get("note") else []
    if machine["load_average"] > 0.3:
        found.append(f"the machine was busy when the run began (load average {machine['load_average']:.2f})")
    if result["quick"]:
        found.append("--quick: shrunk sizes, two rounds; only good for checking that everything runs")
    threads = result["threads"]
    for case in result["cases"]:
        ours = summary(case)["ours_form"]
        if ours and threads > 1 and ours["median"] > 2e-3 and ours["processors_busy"] < 0.7 * threads:
            found.append(f"{case['name']}: ours kept only {ours['processors_busy']} processors busy")
    return found


def markdown(result: Entry) -> str:
    parts = [head(result), table(result), out_table(result), small_table(result), table_table(result)]
    parts += ["\n".join(f"* {line}" for line in warnings(result))]
    return "\n\n".join(part for part in parts if part)


def short_table(result: Entry) -> str:
    """The short overview: the description of each case, our time, and three ratios."""
    lines = [
        "| case | | ours | best library | faster than it | than numba by hand | of the limit |",
        "|---|---|--:|---|--:|--:|--:|",
    ]
    for case in result["cases"]:
        row = summary(case)
        if row["ours"] is None or row["peer"] is None or case["name"].startswith("table_"):
            continue
        cells = [
            case["name"],
            case["about"],
            seconds_text(row["ours"]),
            f"{row['peer_form']['library']}, {seconds_text(row['peer'])}",
            *(f"{row[key] / row['ours']:.2f} {TIMES}" if row[key] else NOTHING for key in ("peer", "by_hand")),
            _ratio(row["limit"], row["ours"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short_table_table(result: Entry) -> str:
    """For each library of tables: our time on its tables, and the ratio of its own best form to it."""
    cases = [case for case in result["cases"] if case["name"].startswith("table_")]
    libraries = sorted({form["library"] for case in cases for form in case["forms"] if form["role"] == "peer"})
    if not libraries:
        return ""
    lines = [f"| case | | {' | '.join(libraries)} |", "|---|---|" + "--:|" * len(libraries)]
    for case in cases:
        cells = [case["name"], case["about"]]
        for library in libraries:
            ours = fastest(case["forms"], role="ours", library=f"gatherscatter, {library}")
            own = fastest(case["forms"], role="peer", library=library)
            both = ours and own and f"{seconds_text(ours['median'])}, {own['median'] / ours['median']:.2g} {TIMES}"
            cells.append(both or NOTHING)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gpu_table(result: Entry) -> str:
    """One line per case: our times under three bounds rules, the best library, the limit, and the ratios."""
    lines = [
        "| case | raise | deferred | unchecked | best peer | peer / ours | limit | limit / ours | deferred / unchecked "
        "| in a graph: ours, peer | empty kernel | best peer's form |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]

    def of(case: Entry, role: str, word: str) -> float | None:
        fitting = [form for form in case["forms"] if form["role"] == role and word in form["code"]]
        return min((form["median"] for form in fitting), default=None)

    for case in result["cases"]:
        checked = [form for form in case["forms"] if form["role"] == "ours" and "'unchecked'" not in form["code"]]
        ours = min((form["median"] for form in checked), default=None)
        plain = [form["median"] for form in checked if "bounds=" not in form["code"]]
        peer, limit = fastest(case["forms"], role="peer"), limit_of(case)[0]
        deferred, unchecked = (of(case, "ours", f"'{rule}'") for rule in ("deferred", "unchecked"))
        graphs = (seconds_text(of(case, role, "")) for role in ("ours, graph", "peer, graph"))
        cells = [
            f"{case['case']} {case['name']}",
            *(seconds_text(seconds) for seconds in (min(plain, default=None), deferred, unchecked)),
            seconds_text(None if peer is None else peer["median"]),
            _ratio(None if peer is None else peer["median"], ours),
            seconds_text(limit),
            _ratio(limit, ours),
            _ratio(deferred, unchecked),
            ", ".join(graphs),
            seconds_text(of(case, "floor", "")),
            _code(peer),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gpu_markdown(result: Entry) -> str:
    notes = [
        f"* {line}" for line in (*result["missing"], *(note for case in result["cases"] for note in case["left_out"]))
    ]
    if result["quick"]:
        notes.append("* --quick: shrunk sizes, two rounds; only good for checking that everything runs")
    return "\n\n".join(part for part in (head(result), gpu_table(result), "\n".join(notes)) if part)


def head(result: Entry) -> str:
    """The machine, the versions and the command of a result."""
    machine, versions = result["machine"], result["machine"]["versions"]
    gpu = machine.get("gpu")
    return (
        (f"{gpu['name']}, CUDA {gpu['cuda']}; " if gpu else "")
        + f"{machine['cpu']}, {machine['kernel']}, {result['threads']} threads; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + f"; {machine['date']}; `{machine['command']}`. Medians of interleaved rounds."
    )


def facts(result: Entry) -> str:
    """The machine and the command of a result of our forms alone."""
    machine = result["machine"]
    return (
        f"{machine['cpu']}, {machine['kernel']}, {result['threads']} threads; python {machine['versions']['python']}, "
        f"numpy {machine['versions']['numpy']}; {machine['date']}; `{machine['command']}`"
    )


PARTS: dict[str, Callable[[Entry], str]] = {
    "all": markdown,
    "head": head,
    "cases": table,
    "short": short_table,
    "small": small_table,
    "tables": table_table,
    "tables_short": short_table_table,
}
OTHER_PARTS = ("scale", "memory", "files", "more")  # of runs of their own
MARKED = re.compile(r"(<!-- benchmarks: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write(result: Entry, path: Path) -> None:
    """Replace the text in each `<!-- benchmarks: PART -->` ... `<!-- end -->` of a page by the generated part."""
    if "cases" not in result or result["quick"] or result.get("sweep"):
        raise SystemExit("--write wants a run of the cases at their full sizes")
    if result.get("more"):
        fill(path, {"more": more_markdown(result)})
        return
    fill(path, {name: part(result) for name, part in PARTS.items()})


def fill(path: Path, parts: dict[str, str]) -> None:
    """Put these parts between their marks of a page. A part without measurements is not changed."""

    def filled(match: re.Match[str]) -> str:
        if match[2] not in {*PARTS, *OTHER_PARTS}:
            raise SystemExit(f"{path}: there is no part {match[2]!r}, expected {', '.join((*PARTS, *OTHER_PARTS))}")
        part = parts.get(match[2])
        return f"{match[1]}{part}\n{match[3]}" if part else match[0]

    text, count = MARKED.subn(filled, path.read_text())
    if count == 0:
        raise SystemExit(f"{path} has no <!-- benchmarks: PART --> ... <!-- end -->")
    path.write_text(text)


def load(path: Path) -> Entry:
    result: Entry = packed.loads(path.read_text())
    if result.get("schema") != 1:
        raise ValueError(f"{path} is not a result of this suite")
    return result


def save(result: Entry, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(packed.dumps(result))


def compare(old: Entry, new: Entry) -> tuple[str, int]:
    """Our forms in both results by their slowdown, and the number of those that became significantly slower."""
    before = {
        (case["case"], form["library"], form["code"]): form
        for case in old["cases"]
        for form in case["forms"]
        if form["role"] == "ours"
    }
    # The ratio of the limits shows whether the machine itself became slower.
    old_limits = {case["case"]: limit_of(case)[0] for case in old["cases"]}
    rows, regressions = [], 0
    for case in new["cases"]:
        limit, old_limit = limit_of(case)[0], old_limits.get(case["case"])
        for form in case["forms"]:
            earlier = before.get((case["case"], form["library"], form["code"]))
            if earlier is None:
                continue
            change = form["median"] / earlier["median"]
            slower = change > REGRESSION and form["q1"] > earlier["q3"]
            regressions += slower
            rows.append(
                (
                    change,
                    f"| {case['case']} {case['name']} | {_code(form)} | {seconds_text(earlier['median'])}"
                    f" | {seconds_text(form['median'])} | {change:.2f} | {_ratio(limit, old_limit)} |"
                    f" {'**slower**' if slower else ''} |",
                )
            )
    lines = ["| case | form | before | now | now / before | limit: now / before | |", "|---|---|--:|--:|--:|--:|---|"]
    lines += [line for _, line in sorted(rows, key=lambda row: -row[0])]
    same = (old["machine"]["cpu"], old["threads"], old["quick"]) == (
        new["machine"]["cpu"],
        new["threads"],
        new["quick"],
    )
    if not same:
        lines.append("\nDifferent processor, thread count or sizes: the ratios say little.")
    return "\n".join(lines), regressions
