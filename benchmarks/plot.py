"""Plots of results: cases as bars beside the best library, sweeps as lines. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .report import TIMES, Entry, fastest, summary
from .scale import costs
from .sweeps import size_text
from .tasks import TASKS

OURS, LIBRARY, BY_HAND, LIMIT = "#0b5fa5", "#d1651f", "#7a4fa3", "#7d7d7d"
KINDS = (
    ("ours", "gatherscatter", OURS, "o"),
    ("peer", "best library", LIBRARY, "s"),
    ("by_hand", "numba by hand", BY_HAND, "D"),
)


def library() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt


def draw(result: Entry, path: Path) -> None:
    plt = library()
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure = (_scale if result.get("scale") else _sweep if result.get("sweep") else _cases)(plt, result)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _where(result: Entry) -> str:
    machine = result["machine"]
    return f"{machine['cpu'].split(' (')[0]}, {result['threads']} threads, {machine['date'][:10]}"


def _bars(result: Entry) -> dict[str, list[tuple[str, str, float]]]:
    """For arrays and for tables: the task, the best library, and the time of its best form divided by ours."""
    bars: dict[str, list[tuple[str, str, float]]] = {"arrays": [], "tables": []}
    for case in result["cases"]:
        task = TASKS[case["name"]]
        if not case["name"].startswith("table_"):
            found = summary(case)
            if found["ours"] and found["peer"]:
                bars["arrays"].append((task, found["peer_form"]["library"], found["peer"] / found["ours"]))
            continue
        for library in sorted({form["library"] for form in case["forms"] if form["role"] == "peer"}):
            ours = fastest(case["forms"], role="ours", library=f"gatherscatter, {library}")
            own = fastest(case["forms"], role="peer", library=library)
            if ours and own:
                bars["tables"].append((task, library, own["median"] / ours["median"]))
    return {kind: sorted(of_kind, key=lambda bar: bar[2]) for kind, of_kind in bars.items() if of_kind}


def _cases(plt: Any, result: Entry) -> Any:
    """Sorted bars, one a task: how many times as fast as the best library."""
    bars = _bars(result)
    most = max(map(len, bars.values()))
    width = 6.4 * len(bars)
    figure, panels = plt.subplots(1, len(bars), figsize=(width, 1.3 + 0.21 * most), layout="constrained", squeeze=False)
    for axes, (kind, of_kind) in zip(panels[0], bars.items(), strict=True):
        ratios = [ratio for *_, ratio in of_kind]
        colours = [OURS if ratio >= 1 else LIBRARY for ratio in ratios]
        axes.barh(range(len(ratios)), [ratio - 1 for ratio in ratios], left=1, color=colours, height=0.7)
        for y, (_, library, ratio) in enumerate(of_kind):
            text = f"{ratio:.2g} {TIMES} {library}"
            axes.annotate(text, (max(ratio, 1), y), (4, 0), textcoords="offset points", va="center", fontsize=7.5)
        axes.axvline(1, color="#333333", lw=1)
        axes.set_xscale("log")
        axes.set_xlim(min(*ratios, 0.5) / 1.8, max(*ratios, 2) * 2.2)
        low, high = axes.get_xlim()
        ticks = [tick for tick in (0.25, 0.5, 1, 2, 5, 10, 20) if low <= tick <= high]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(ratios)), [task for task, *_ in of_kind])
        axes.set_ylim(-0.7, most - 0.3)
        axes.set_title(kind, fontsize=9, loc="left")
        axes.set_xlabel("times as fast as the best library")
    figure.suptitle(_where(result), fontsize=9)
    return figure


def _lines(axes: Any, cases: list[Entry], value: Callable[[float, Entry], float], label: bool) -> None:
    ends = []
    for kind, name, colour, marker in (*KINDS, ("limit", "limit", LIMIT, "")):
        points = [(case["at"], value(found[kind], case)) for case in cases if (found := summary(case))[kind]]
        if points:
            style = "--" if kind == "limit" else "-"
            axes.plot(*zip(*points, strict=True), style, marker=marker, ms=4, color=colour, lw=1.6)
            ends.append((points[-1], name, colour))
    if not label:
        return
    # Labels beside the last points, moved apart where they would overlap.
    axes.figure.canvas.draw()
    places: list[float] = []
    for (x, y), name, colour in sorted(ends, key=lambda end: end[0][1]):
        height = axes.transData.transform((x, y))[1]
        wanted = max(height, places[-1] + 14) if places else height
        places.append(wanted)
        offset = (wanted - height) * 72 / axes.figure.dpi
        axes.annotate(
            name, (x, y), (7, offset), textcoords="offset points", color=colour, va="center", annotation_clip=False
        )


def _sweep(plt: Any, result: Entry) -> Any:
    over_tables = result["sweep"] == "table"
    series = list(dict.fromkeys(case["series"] for case in result["cases"]))
    width = 8.6 if len(series) > 1 else 6.4
    figure, panels = plt.subplots(1, len(series), figsize=(width, 3.8), sharey=True, squeeze=False)
    figure.subplots_adjust(left=0.08, right=0.85, top=0.8, bottom=0.16, wspace=0.08)
    for axes, name in zip(panels[0], series, strict=True):
        cases = [case for case in result["cases"] if case["series"] == name]
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        sizes = [case["at"] for case in cases]
        axes.set_xticks(sizes, [size_text(size) for size in sizes], rotation=45, ha="right", fontsize=8)
        axes.set_title(name, fontsize=9, loc="left")
        axes.grid(axis="y", which="both", color="#ececec", lw=0.6)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        if over_tables:
            _lines(axes, cases, lambda seconds, case: seconds / case["elements"] * 1e9, axes is panels[0][-1])
        else:
            _lines(axes, cases, lambda seconds, case: case["bytes"] / seconds * 1e-9, axes is panels[0][-1])
    panels[0][0].set_ylabel("ns per element (less is better)" if over_tables else "GB/s of result (more is better)")
    what = "4 Mi random f32 out of tables of this size" if over_tables else "random rows of this size out of 256 MiB"
    figure.suptitle(f"{what}\n{_where(result)}", fontsize=9, x=0.08, ha="left")
    return figure


# Each source of the scale run has its colour, from cache to memory and from light to dark.
SOURCES = {"L1": "#7cb8e8", "L2": "#3d8fd1", "LLC": "#0b5fa5", "DRAM": "#083a66", "bytes": "#7a4fa3"}


def _scale(plt: Any, result: Entry) -> Any:
    entries = result["scale"]
    panels = list(dict.fromkeys((entry["threads"], entry["form"]) for entry in entries))
    panels.sort()
    figure, grid = plt.subplots(1, len(panels), figsize=(3.1 * len(panels) + 1, 4), sharey=True, squeeze=False)
    figure.subplots_adjust(left=0.06, right=0.99, top=0.74, bottom=0.14, wspace=0.06)
    for axes, panel in zip(grid[0], panels, strict=True):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{panel[0]} thread{'s' if panel[0] > 1 else ''}, {panel[1]}", fontsize=9, loc="left")
        axes.grid(axis="y", which="both", color="#ececec", lw=0.6)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
        axes.set_xticks([1 << power for power in range(10, 34, 5)])
        axes.set_xlabel("elements of a call")
        for entry in entries:
            if (entry["threads"], entry["form"]) != panel:
                continue
            cost = {count: seconds * 1e9 for count, seconds in costs(entry).items()}
            colour = SOURCES[entry["series"]]
            axes.plot(list(cost), list(cost.values()), "-", marker="o", ms=3, color=colour, lw=1.4)
            fixed = [entry["fixed"] * 1e9 / count for count in cost]
            if entry["series"] == "L1":
                axes.plot(list(cost), fixed, ":", color=LIMIT, lw=1.2)
    values = [seconds * 1e9 for entry in entries for seconds in costs(entry).values()]
    grid[0][0].set_ylim(min(values) / 5, max(values) * 1.3)
    grid[0][0].set_ylabel("ns per element (less is better)")
    about = {entry["series"]: entry["about"] for entry in entries}
    handles = [grid[0][0].plot([], [], "o-", ms=3, color=SOURCES[name], label=text)[0] for name, text in about.items()]
    handles.append(grid[0][0].plot([], [], ":", color=LIMIT, label="fixed cost of a call ÷ elements")[0])
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.05, 0.94), ncols=3, frameon=False, fontsize=8)
    figure.suptitle(f"Random elements of a source of one size\n{_where(result)}", fontsize=9, x=0.06, ha="left", y=1.0)
    return figure
