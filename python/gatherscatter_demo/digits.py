"""digits.py: images of digits are classified, moved and pasted, and rows of an embedding table are looked up."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter_demo.measure import Array, require_equal, time_interleaved

NEIGHBOURS = 5
PADDING = -1.0  # below every grey level, so that the picture can colour it
CANVAS = 64  # pixels per side of a moved digit; the originals have 8
CLASSES = 10
SHEET, ROWS, COLUMNS = (64, 128), 4, 9  # shape of the sheet in pixels, rows and columns of the digits on it
ENLARGED = 2  # factor by which digits are enlarged before they are pasted


@dataclass(frozen=True)
class Row:
    """One line of the printed table."""

    task: str
    size: str
    result: str
    ours: float
    plain: float


@dataclass(frozen=True)
class Classification:
    images: Array
    labels: Array
    predicted: Array
    confidence: Array


def classify(images: Array, labels: Array, rounds: int) -> tuple[Row, Classification, float]:
    """Classify digits by their k nearest neighbours.

    Votes are gathered along an axis, their weights with batch_dims, and confidences along a dim.
    """
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    pixels = images.reshape(len(images), -1).astype(np.float64)
    squares = (pixels**2).sum(axis=1)
    distances = squares[test, None] + squares[train] - 2 * pixels[test] @ pixels[train].T
    neighbours = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]
    known = labels[train]

    votes = require_equal("votes", gs.gather(known, neighbours, axis=0), known[neighbours])
    near = require_equal(
        "distances of the neighbours",
        gs.gather(distances, neighbours, axis=1, batch_dims=1),
        np.take_along_axis(distances, neighbours, axis=1),
    )
    weights = 1 / (1 + near)
    shares = ((votes[:, :, None] == np.arange(CLASSES)) * weights[:, :, None]).sum(axis=1) / weights.sum(
        axis=1, keepdims=True
    )
    predicted = shares.argmax(axis=1)
    winner = predicted[:, None]
    expected = np.take_along_axis(shares, winner, axis=1)
    confidence = require_equal("confidences", gs.gather(shares, 1, winner), expected)[:, 0]

    def ours() -> None:
        gs.gather(known, neighbours, axis=0)
        gs.gather(distances, neighbours, axis=1, batch_dims=1)
        gs.gather(shares, 1, winner)

    def plain() -> None:
        known[neighbours]
        np.take_along_axis(distances, neighbours, axis=1)
        np.take_along_axis(shares, winner, axis=1)

    accuracy = float((predicted == labels[test]).mean())
    row = Row(
        "classify digits, 3 gathers",
        f"{len(test)} by {len(train)}, k = {NEIGHBOURS}",
        f"{accuracy:.1%} right",
        *time_interleaved(rounds, ours, plain),
    )
    return row, Classification(images[test], labels[test], predicted, confidence), accuracy


def confuse(classified: Classification, rounds: int) -> tuple[Row, Array]:
    """Count how often each true digit was classified as each digit, by a scatter that adds ones."""
    true, predicted = classified.labels, classified.predicted

    def ours() -> Array:
        cells = gs.scatter(np.zeros(CLASSES * CLASSES, np.int64), 0, true * CLASSES + predicted, 1, reduce="add")
        return cells.reshape(CLASSES, CLASSES)

    def plain() -> Array:
        counts = np.zeros((CLASSES, CLASSES), np.int64)
        np.add.at(counts, (true, predicted), 1)
        return counts

    counts = require_equal("confusion matrix", ours(), plain())
    wrong = int(counts.sum() - counts.trace())
    times = time_interleaved(rounds, ours, plain)
    return Row("confusion matrix", f"{len(true)} digits", f"{wrong} wrong", *times), counts


def average(images: Array, labels: Array, rounds: int) -> tuple[Row, Array]:
    """Compute the mean image of every class by one scatter.

    Grey levels are whole numbers, so that the order of the additions does not change the sums.
    """
    pixels = images.reshape(len(images), -1)
    index = np.broadcast_to(labels[:, None], pixels.shape)
    empty = np.zeros((CLASSES, pixels.shape[1]), pixels.dtype)

    def ours() -> Array:
        return gs.scatter(empty, 0, index, pixels, reduce="mean", include_self=False)

    def plain() -> Array:
        return np.stack([pixels[labels == digit].mean(axis=0) for digit in range(CLASSES)])

    means = require_equal("class means", ours(), plain())
    row = Row("class means", f"{len(images)} images", f"{CLASSES} means", *time_interleaved(rounds, ours, plain))
    return row, means.reshape(CLASSES, *images.shape[1:])


def paste(images: Array, rounds: int) -> tuple[Row, Array]:
    """Paste enlarged digits on a sheet by one tile_scatter.

    Only ink is written, later digits cover earlier ones, and the border of the sheet cuts digits off.
    """
    digits = images[: ROWS * COLUMNS].repeat(ENLARGED, axis=1).repeat(ENLARGED, axis=2)
    ink = digits > 0
    side = digits.shape[-1]
    high, wide = SHEET
    down, right = np.divmod(np.arange(len(digits)), COLUMNS)
    shaken = np.random.default_rng(2).integers(-2, 3, (2, len(digits)))
    # A third of each outermost digit lies beyond the border.
    top, left = (
        down * (high - side // 3) // (ROWS - 1) - side // 3,
        right * (wide - side // 3) // (COLUMNS - 1) - side // 3,
    )
    row = ((top + shaken[0])[:, None] + np.arange(side))[:, :, None]
    column = ((left + shaken[1])[:, None] + np.arange(side))[:, None, :]
    mine, theirs = np.full(SHEET, PADDING, images.dtype), np.full(SHEET, PADDING, images.dtype)

    def ours() -> None:
        gs.tile_scatter(mine, (row, column), digits, mask=ink)

    def plain() -> None:
        keep = ink & (row >= 0) & (row < high) & (column >= 0) & (column < wide)
        rows, columns = np.broadcast_arrays(row, column)
        theirs[rows[keep], columns[keep]] = digits[keep]

    ours()
    plain()
    require_equal("pasted digits", mine, theirs)
    outside = ink & ((row < 0) | (row >= high) | (column < 0) | (column >= wide))
    cut = f"{outside.sum() / ink.sum():.0%} cut off"
    return Row("pasted digits", f"{len(digits)} on {high} x {wide}", cut, *time_interleaved(rounds, ours, plain)), mine


def motions(side: int) -> dict[str, tuple[Array, Array]]:
    """For each motion the source row and column of every canvas pixel; many of them lie outside of the image."""
    centre = (side - 1) / 2
    row, column = np.meshgrid(*2 * [np.linspace(-0.5, side - 0.5, CANVAS)], indexing="ij")
    angle = np.deg2rad(25)
    cosine, sine = np.cos(angle), np.sin(angle)
    down, right = row - centre, column - centre
    sources = {
        "shifted": (row - 1.5, column + 2),
        "rotated": (centre + cosine * down - sine * right, centre + sine * down + cosine * right),
        "zoomed": (centre + 1.6 * down, centre + 1.6 * right),
    }
    return {name: (np.rint(r).astype(np.int64), np.rint(c).astype(np.int64)) for name, (r, c) in sources.items()}


def move(images: Array, rounds: int) -> tuple[list[Row], dict[str, Array]]:
    """Move all images by one tile_gather for each motion; points outside of the image are padding."""
    side = images.shape[-1]
    which = np.arange(len(images))[:, None, None]
    rows, moved = [], {"original": images}
    for name, (row, column) in motions(side).items():
        inside = (row >= 0) & (row < side) & (column >= 0) & (column < side)

        def ours(row: Array = row, column: Array = column) -> Array:
            return gs.tile_gather(images, (which, row, column), padding_value=PADDING)

        def plain(row: Array = row, column: Array = column, inside: Array = inside) -> Array:
            return np.where(inside, images[:, row.clip(0, side - 1), column.clip(0, side - 1)], PADDING)

        moved[name] = require_equal(f"{name} digits", ours(), plain())
        size, padding = f"{len(images)} images of {CANVAS} x {CANVAS}", f"{1 - inside.mean():.0%} padding"
        rows.append(Row(f"{name} digits", size, padding, *time_interleaved(rounds, ours, plain)))
    return rows, moved


def look_up(count: int, wanted: int, width: int, rounds: int) -> tuple[Row, dict[str, float]]:
    """Gather rows of an embedding table, with repetitions, and time the calls of all installed libraries."""
    rng = np.random.default_rng(1)
    table = rng.standard_normal((count, width), dtype=np.float32)
    rows = rng.integers(0, count, wanted)
    out = np.empty((wanted, width), np.float32)
    calls: dict[str, Callable[[], Any]] = {
        "gs.gather": lambda: gs.gather(table, rows, axis=0),
        "gs.gather out=": lambda: gs.gather(table, rows, axis=0, out=out),
        "np.take": lambda: np.take(table, rows, axis=0),
        "np.take out=": lambda: np.take(table, rows, axis=0, mode="clip", out=out),
        "table[rows]": lambda: table[rows],
    }
    if importlib.util.find_spec("torch") is not None:
        torch = importlib.import_module("torch")
        torch.set_num_threads(gs.get_num_threads())
        tensor, wanted_rows, out_tensor = (torch.from_numpy(array) for array in (table, rows, out))
        calls["torch.index_select"] = lambda: torch.index_select(tensor, 0, wanted_rows)
        calls["torch.index_select out="] = lambda: torch.index_select(tensor, 0, wanted_rows, out=out_tensor)
    expected = table[rows]
    for name, call in calls.items():
        out.fill(np.nan)
        require_equal(f"row lookup by {name}", np.asarray(call()), expected)
    del expected
    seconds = dict(zip(calls, time_interleaved(rounds, *calls.values()), strict=True))
    size = f"{_count(wanted)} of {_count(count)} x {width} float32"
    row = Row("look up rows", size, f"{out.nbytes / 2**20:.0f} MiB", seconds["gs.gather"], seconds["np.take"])
    return row, seconds


def _count(number: int) -> str:
    return next((f"{number >> bits} {unit}" for bits, unit in ((20, "Mi"), (10, "Ki")) if number >> bits), str(number))
