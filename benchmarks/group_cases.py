"""The cases of `--more` of groups, and their forms: the stable order of points by group."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .cases import SETS, Case, Ki, Mi, Workload
from .compiled_peers import NUMBA
from .peers import GS, NP, TORCH, Form
from .table_peers import PANDAS, POLARS

SECONDS = 6.0  # most seconds of timing per case


def _stable(i: np.ndarray) -> np.ndarray:
    return np.argsort(i, kind="stable")


def _grouped(quick: bool, groups: int, kind: str) -> Workload:
    """Ids of int64. The source is one item for each group; the result is the order."""
    n, groups = (16 * Ki, min(groups, 5 * Ki)) if quick else (16 * Mi, groups)
    sets: list[dict[str, Any]] = []
    for seed in range(SETS):
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, groups, n) if kind != "zipf" else np.minimum(rng.zipf(1.2, n), groups) - 1
        sets.append({"i": np.sort(ids) if kind == "sorted" else ids})
    return Workload(np.empty(groups), sets, np.empty(0), _stable, adaptable=(), same=np.array_equal)


def _case(number: str, name: str, about: str, groups: int, kind: str) -> Case:
    return Case(number, name, name, about, partial(_grouped, groups=groups, kind=kind), seconds=SECONDS)


GROUPS = (
    _case("70a", "group_few", "order of 16 Mi int64 ids by 1 Ki groups", Ki, "uniform"),
    _case("70b", "group_many", "order of 16 Mi int64 ids by 4 Mi groups", 4 * Mi, "uniform"),
    _case("70c", "group_zipf", "order of 16 Mi int64 ids by 1 Mi groups, Zipf", Mi, "zipf"),
    _case("70d", "group_sorted", "order of 16 Mi sorted int64 ids by 1 Mi groups", Mi, "sorted"),
)

_ALL = "group_few group_many group_zipf group_sorted"
FORMS = (
    Form(GS, _ALL, "gs.group(i, len(x)).order"),
    Form(NP, _ALL, "np.argsort(i, kind='stable')"),
    Form(TORCH, _ALL, "torch.argsort(torch.from_numpy(i), stable=True)", setup="import torch"),
    Form(
        PANDAS,
        _ALL,
        "groupsort_indexer(i, len(x))[0]",
        setup="from pandas._libs.algos import groupsort_indexer",
    ),
    Form(
        POLARS,
        _ALL,
        "pl.DataFrame({'i': i}).select(pl.arg_sort_by('i', maintain_order=True)).to_series().to_numpy()",
        setup="import polars as pl",
    ),
    Form(NUMBA, _ALL, "group(i, len(x))", setup="from benchmarks.numba_kernels import group"),
)
