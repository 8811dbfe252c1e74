"""typing_real_use.py: real use for type checkers: training data, joins, plans. It is checked and never run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import gatherscatter as gs

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


class Table:
    """A table of a library that the checker does not know."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError


@dataclass
class Batches:
    """Rows of features by shuffled numbers, with one plan for all batches of a size."""

    features: Floats
    order: Integers
    size: int

    def __iter__(self) -> Iterator[Floats]:
        plan = gs.plan(gs.gather, self.features, self.order[: self.size], axis=0)
        assert_type(plan, gs.Plan[Floats])
        for start in range(0, len(self.order), self.size):
            rows = self.order[start : start + self.size]
            yield plan(self.features, rows) if len(rows) == self.size else gs.gather(self.features, rows, axis=0)


def messages(nodes: Floats, source: Integers, target: Integers) -> Floats:
    """Sums of the rows of neighbours, as in a layer on a graph."""
    sent = gs.gather(nodes, source, axis=0)
    return gs.scatter(np.zeros_like(nodes), target, sent, reduce="add")


def masked_loss(scores: Floats, labels: Integers, ignore: int) -> float:
    picked = gs.gather(scores, 1, labels[:, None], mask=labels[:, None] != ignore, fill_value=0.0)
    return float(-picked.sum())


def lists() -> None:
    made = gs.gather([[1, 2], [3, 4]], 0, [[0, 1]])
    print(made.shape, made.dtype, gs.gather_nd([1, 2], [[0]]).sum(), gs.scatter([0, 0], 0, [1], 5).tolist())
    print(gs.scatter_nd([0, 0], [[1]], 5).tolist(), gs.take([1, 2], [0]).tolist())


def one_row(x: Floats, row: Floats) -> None:
    assert_type(gs.gather(x, 2, axis=0), Floats)
    assert_type(gs.scatter(x, 2, row, axis=0), Floats)


def joined(left: Table, rows: Integers, mask: npt.NDArray[np.bool_]) -> Table:
    found = gs.table.gather(left, rows, bounds="nullify", negative="out_of_bounds", index="reset")
    assert_type(found, Table)
    kept = gs.table.filter(found, mask)
    print(gs.table.rows_of(left, ["a"], keep="first"))
    filled = gs.table.boolean_mask_scatter({"delay": 0}, kept, mask, partial=True)
    written = gs.table.scatter({"delay": 0}, rows, filled, partial=True)
    assert_type(gs.table.scatter(filled, indices=rows, target=written), Table)
    assert_type(gs.table.segmented_gather(written, [[0]]), Table)
    return gs.table.copy_if_else(written, found, mask)


def from_files(path: Path) -> int:
    table = gs.table.gather([path, "more.parquet"], [0, 1], columns=["a"], memory_budget=1 << 20)
    gs.table.gather(table, [0, 9], "nullify", fill_value={"a": 0})
    return int(table.num_rows)


def plans(x: Floats, i: Integers, table: Table) -> None:
    assert_type(gs.plan(gs.take, x, i, axis=0), gs.Plan[Floats])
    assert_type(gs.plan(gs.take, x, i, axis=0)(x, i), Floats)
    assert_type(gs.plan(gs.gather, x, 0, i), gs.Plan[Floats])
    assert_type(gs.explain(gs.scatter, x, i, x), gs.Plan[Floats])
    assert_type(gs.plan(gs.table.filter, table, [True]), gs.Plan[Table])
    print(gs.plan(partial(gs.roll, shift=1), x), gs.explain(gs.gather_nd, x, i).to_dict()["kernel"])


def caught(x: Floats, i: Integers) -> tuple[int, int] | None:
    try:
        gs.gather(x, i, axis=0)
    except gs.OutOfBoundsError as error:
        return error.index, error.size
    except gs.errors.ShapeMismatchError:
        return None
    return None
