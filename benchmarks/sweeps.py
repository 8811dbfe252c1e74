"""Sweeps: generated cases over a range of sizes, measured like all others and drawn as lines."""

from __future__ import annotations

from .cases import Case, rows, take

Ki, Mi = 1 << 10, 1 << 20
TAKEN = 4 * Mi  # elements of the result, for every source size
ROW_TABLE, ROW_RESULT, MOST_ROWS = 256 * Mi, 64 * Mi, Mi


def size_text(size: float) -> str:
    for scale, unit in ((Mi, "MiB"), (Ki, "KiB")):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size:g} B"


def _table(size: int, index: str) -> Case:
    return Case(
        f"{size_text(size).replace(' ', '')}-{index}",
        "table",
        "take",
        f"{size_text(size)} of f32, 4 Mi {index} uniform",
        take(size // 4, TAKEN, "float32", index),
        place={"at": size, "series": f"{index} indices", "elements": TAKEN, "bytes": TAKEN * 4},
    )


def _row(size: int) -> Case:
    count = min(ROW_RESULT // size, MOST_ROWS)
    return Case(
        size_text(size).replace(" ", ""),
        "row",
        "rows",
        f"{count} rows of {size_text(size)} from 256 MiB, int64 uniform",
        rows(ROW_TABLE // size, size // 4, count, "int64"),
        place={"at": size, "series": "", "elements": count, "bytes": count * size},
    )


SWEEPS = {
    "table": tuple(_table(16 * Ki << k, index) for index in ("int32", "int64") for k in range(0, 15, 2)),
    "row": tuple(_row(16 << k) for k in range(11)),
}
SECONDS = 5.0  # most seconds of timing per case
