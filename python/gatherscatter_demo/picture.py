"""picture.py: draws digits moved, classified, counted, averaged and pasted, and times of row lookups and tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gatherscatter_demo.digits import Classification
    from gatherscatter_demo.flights import TableTask
    from gatherscatter_demo.measure import Array

INK, OURS, THEIRS, WRONG, PADDING, PAPER = "#14213d", "#e4572e", "#9aa5b8", "#c1121f", "#fde8c9", "#fbfbfd"
GREYS = LinearSegmentedColormap.from_list("ink", ["#ffffff", "#c9d3e6", "#4a6094", INK]).with_extremes(under=PADDING)
MOVED, SURE = 5, 6  # how many digits each part shows
WHAT = {
    "original": "8 x 8 pixels",
    "shifted": "down, left",
    "rotated": "by 25 degrees",
    "zoomed": "out, 1.6 times",
}


@dataclass(frozen=True)
class PictureData:
    """The data that the picture shows."""

    moved: dict[str, Array]  # name of the motion -> images, the originals first
    classified: Classification
    accuracy: float
    confusion: Array  # [true, predicted]
    means: Array  # one image per class
    sheet: Array
    lookup: dict[str, float]  # call -> seconds
    lookup_size: str
    flights: list[TableTask]  # drawn as ratios; empty if the tables were left out, and for small data


def _heading(part: SubFigure, text: str) -> None:
    part.set_facecolor(PAPER)
    inches = part.bbox.height / part.figure.dpi
    part.text(0.03, 1 - 0.2 / inches, text, ha="left", va="top", color=INK, weight="bold", fontsize=12.5)


def _image(axes: Axes, image: Array) -> None:
    axes.imshow(image, cmap=GREYS, vmin=0, vmax=16, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color("#d5dbe6")


def _moved(part: SubFigure, moved: dict[str, Array]) -> None:
    _heading(part, "tile_gather moves images; beyond the border is padding")
    grid = part.subplots(len(moved), MOVED, gridspec_kw={"wspace": 0.07, "hspace": 0.07})
    for line, (name, images) in zip(grid, moved.items(), strict=True):
        for axes, image in zip(line, images, strict=False):
            _image(axes, image)
        line[0].set_ylabel(f"{name}\n", color=INK, weight="bold", fontsize=10)
        line[0].text(
            -0.13, 0.5, WHAT[name], transform=line[0].transAxes, rotation=90, va="center", ha="center", fontsize=7.5
        )
    part.subplots_adjust(left=0.11, right=0.98, top=0.92, bottom=0.02)


def _chosen(classified: Classification) -> Array:
    """Choose digits in descending order of confidence, with at most two wrongly classified ones at the end."""
    right = np.flatnonzero(classified.predicted == classified.labels)
    wrong = np.flatnonzero(classified.predicted != classified.labels)[:2]
    by_confidence = right[np.argsort(-classified.confidence[right], kind="stable")]
    steps = np.linspace(0, len(by_confidence) - 1, SURE - len(wrong)).astype(int)
    return np.concatenate([by_confidence[steps], wrong])


def _classified(part: SubFigure, classified: Classification, accuracy: float) -> None:
    _heading(part, f"gather: five nearest neighbours vote, {accuracy:.1%} are right")
    chosen = _chosen(classified)
    grid = part.subplots(
        2, len(chosen), gridspec_kw={"wspace": 0.15, "hspace": 0.0, "height_ratios": [1, 0.35]}, squeeze=False
    )
    for (above, below), k in zip(grid.T, chosen, strict=True):
        _image(above, classified.images[k])
        right = classified.predicted[k] == classified.labels[k]
        title = f"{classified.predicted[k]}" if right else f"{classified.predicted[k]}, is {classified.labels[k]}"
        above.set_title(title, color=INK if right else WRONG, weight="bold", fontsize=13, pad=4)
        below.barh(0, 1, color="#e6eaf2", height=1)
        below.barh(0, classified.confidence[k], color=INK if right else WRONG, height=1)
        below.text(0.5, -1.3, f"{classified.confidence[k]:.0%} sure", ha="center", va="center", fontsize=9, color=INK)
        below.set(xlim=(0, 1), ylim=(-2.0, 1.0))
        below.axis("off")
    part.subplots_adjust(left=0.03, right=0.98, top=0.79, bottom=0.06)


def _lookup(part: SubFigure, lookup: dict[str, float], size: str) -> None:
    _heading(part, f"gather rows: {size}")
    axes = part.subplots()
    names = sorted(lookup, key=lambda name: -lookup[name])
    milliseconds = [lookup[name] * 1e3 for name in names]
    bars = axes.barh(
        names, milliseconds, color=[OURS if name.startswith("gs.") else THEIRS for name in names], height=0.7
    )
    axes.bar_label(bars, [f"{value:.3g} ms" for value in milliseconds], padding=4, fontsize=9.5, color=INK)
    axes.set_xlim(0, 1.18 * max(milliseconds))
    axes.set(xticks=[], facecolor=PAPER)
    axes.tick_params(axis="y", length=0, labelsize=9.5, labelcolor=INK, labelfontfamily="monospace")
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    part.subplots_adjust(left=0.33, right=0.98, top=0.88, bottom=0.05)


def _confusion(part: SubFigure, confusion: Array) -> None:
    _heading(part, "scatter adds up confusions")
    axes = part.subplots()
    axes.imshow(np.log1p(confusion), cmap=GREYS, interpolation="nearest")
    for (true, predicted), count in np.ndenumerate(confusion):
        if count:
            color = "white" if true == predicted else WRONG
            axes.text(predicted, true, str(count), ha="center", va="center", fontsize=7.5, color=color)
    axes.set(xticks=range(len(confusion)), yticks=range(len(confusion)))
    axes.set_xlabel("taken for", fontsize=9, color=INK, labelpad=2)
    axes.set_ylabel("is", fontsize=9, color=INK, labelpad=2)
    axes.tick_params(length=0, labelsize=8, labelcolor=INK)
    for spine in axes.spines.values():
        spine.set_color("#d5dbe6")
    part.subplots_adjust(left=0.1, right=0.98, top=0.87, bottom=0.13)


def _means(part: SubFigure, means: Array) -> None:
    _heading(part, "scatter averages: the mean of every class")
    grid = part.subplots(2, len(means) // 2, gridspec_kw={"wspace": 0.08, "hspace": 0.08})
    for axes, image in zip(grid.flat, means, strict=True):
        _image(axes, image)
    part.subplots_adjust(left=0.03, right=0.97, top=0.87, bottom=0.06)


def _pasted(part: SubFigure, sheet: Array) -> None:
    _heading(part, "tile_scatter pastes ink, cut at the border")
    _image(part.subplots(), sheet)
    part.subplots_adjust(left=0.03, right=0.97, top=0.87, bottom=0.06)


def _tables(part: SubFigure, library: str, jobs: list[TableTask]) -> None:
    """Draw our time for each job as a share of the library's own time, which is the grey bar behind it."""
    _heading(part, f"tables of {library}: our time, its own is 1")
    axes = part.subplots()
    shown = [(job.task, *job.seconds[library]) for job in reversed(jobs)]
    names = [task for task, _, _ in shown]
    shares = [ours / own for _, ours, own in shown]
    axes.barh(names, [1.0] * len(names), color=THEIRS, height=0.78)
    bars = axes.barh(names, shares, color=OURS, height=0.42)
    axes.bar_label(bars, [f"{share:.2f}" for share in shares], padding=4, fontsize=9, color=INK)
    axes.set_xlim(0, 1.15 * max(1.0, *shares))
    axes.set(xticks=[], facecolor=PAPER)
    axes.tick_params(axis="y", length=0, labelsize=8.5, labelcolor=INK)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    part.subplots_adjust(left=0.36, right=0.98, top=0.84, bottom=0.05)


def draw(shown: PictureData, path: Path) -> None:
    """Write the picture in the format that the suffix of the path names. Without flights it has one band fewer."""
    heights = [6.2, 3.2, 2.3][: 3 if shown.flights else 2]
    figure = Figure(figsize=(14, sum(heights)), facecolor=PAPER)
    bands = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    above, below = figure.add_subfigure(bands[0]), figure.add_subfigure(bands[1])
    halves = above.add_gridspec(1, 2, width_ratios=[0.92, 1])
    right = above.add_subfigure(halves[1])
    quarters = right.add_gridspec(2, 1, height_ratios=[0.8, 1])
    _moved(above.add_subfigure(halves[0]), shown.moved)
    _classified(right.add_subfigure(quarters[0]), shown.classified, shown.accuracy)
    _lookup(right.add_subfigure(quarters[1]), shown.lookup, shown.lookup_size)
    thirds = below.add_gridspec(1, 3, width_ratios=[0.75, 1.1, 1.25])
    _confusion(below.add_subfigure(thirds[0]), shown.confusion)
    _means(below.add_subfigure(thirds[1]), shown.means)
    _pasted(below.add_subfigure(thirds[2]), shown.sheet)
    if shown.flights:
        tables, libraries = figure.add_subfigure(bands[2]), list(shown.flights[0].seconds)
        cells = tables.add_gridspec(1, len(libraries))
        for k, library in enumerate(libraries):
            _tables(tables.add_subfigure(cells[k]), library, shown.flights)
    figure.savefig(path, dpi=130, facecolor=PAPER)
