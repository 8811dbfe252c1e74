"""The cases of `--more` of calls beside the fast path, and their forms: each is held against the plainer call, of ours
or of its peer, that a caller would otherwise write.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .cases import SETS, Case, Workload
from .peers import GS, NP, Form
from .table_peers import ARROW, OURS_ARROW, OURS_PANDAS, OURS_POLARS, PANDAS, POLARS

MAPPED = "pa.ipc.open_file(pa.memory_map(x)).read_all()"
SECONDS = 4.0  # most seconds of timing per case


def _case(number: str, name: str, about: str, build: Callable[[bool], Workload], needs: str = "") -> Case:
    return Case(number, name, name, about, build, needs=needs, seconds=SECONDS)


def _segmented(quick: bool) -> Workload:
    """Four of the eight items of each list; `k` is the map as a column of lists."""
    import pyarrow as pa

    rows = 2_000 if quick else 200_000
    values = np.random.default_rng(1).random((rows, 8))
    source = pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32) * 8, values.ravel())
    sets: list[dict[str, Any]] = []
    for seed in range(SETS):
        index = np.random.default_rng(seed).integers(0, 8, (rows, 4))
        column = pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32) * 4, index.ravel())
        sets.append({"i": index, "k": column})

    def expected(i: np.ndarray, k: Any) -> Any:
        return np.take_along_axis(values, i, 1)

    def same(result: Any, items: Any) -> bool:
        return bool((result.values.to_numpy().reshape(rows, 4) == items).all())

    return Workload(source, sets, np.empty(0), expected, adaptable=(), same=same)


def _feather(quick: bool) -> Workload:
    """1,000 rows of a Feather file; the batches of `p` have 10,000 rows."""
    import pyarrow as pa

    batches, rows = (20, 1_000) if quick else (200, 10_000)
    path = Path(tempfile.mkdtemp()) / "batches.arrow"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    rng = np.random.default_rng(1)
    columns = {f"c{k}": rng.random(batches * rows) for k in range(8)}
    whole = pa.table({**columns, "t": [f"text {k}" for k in range(rows)] * batches})
    with pa.ipc.new_file(str(path), whole.schema) as file:
        file.write_table(whole, max_chunksize=rows)
    sets = [{"i": np.random.default_rng(seed).integers(0, len(whole), 1_000)} for seed in range(SETS)]
    return Workload(str(path), sets, np.empty(0), lambda i: whole.take(i), adaptable=(), same=_equal)


def _equal(result: Any, expected: Any) -> bool:
    return bool(result.equals(expected))


def _wide_filter(quick: bool) -> Workload:
    """Half of the rows of a frame of polars of 3,000 columns."""
    import polars as pl

    rows = 1_000
    source = pl.DataFrame(np.random.default_rng(1).random((rows, 100 if quick else 3_000)))
    sets = [{"m": pl.Series(np.random.default_rng(seed).random(rows) < 0.5)} for seed in range(SETS)]
    return Workload(source, sets, np.empty(0), lambda m: source.filter(m), adaptable=(), same=_equal)


def _shuffled_mask(quick: bool) -> Workload:
    """A mask of pandas with the labels of the rows in another order."""
    import pandas as pd

    rows = 1_000 if quick else 1_000_000
    rng = np.random.default_rng(1)
    labels = rng.permutation(rows)
    source = pd.DataFrame({"a": rng.random(rows), "b": rng.integers(0, 9, rows)}, index=labels)
    masks = [pd.Series(rng.random(rows) < 0.5, index=rng.permutation(labels)) for _ in range(SETS)]

    def expected(m: Any) -> Any:
        return source[m.reindex(source.index)]

    return Workload(source, [{"m": mask} for mask in masks], np.empty(0), expected, adaptable=(), same=_equal)


def _listed(quick: bool, kind: str) -> Workload:
    """A million numbers as a list: an index, or the values of a scatter in order; or the index as a range."""
    count = 1_000 if quick else 1_000_000
    source = np.random.default_rng(1).random(count)
    if kind == "range":
        return Workload(source, [{"k": range(count)}], np.empty(count), lambda k: source)
    order = np.arange(count)
    if kind == "values":
        values = np.random.default_rng(2).random(count)
        return Workload(source, [{"k": values.tolist()}], np.empty(count), lambda k: values, constants={"i": order})
    index = np.random.default_rng(2).permutation(count)
    return Workload(source, [{"k": index.tolist()}], np.empty(count), lambda k: source[index])


def _written(quick: bool, kind: str) -> Workload:
    """50 M bytes: two values by turns where half of a mask is true, or the next of all values where 99 % are."""
    count = 100_000 if quick else 50_000_000
    rng = np.random.default_rng(1)
    source = rng.integers(0, 9, count, dtype=np.uint8)
    mask = rng.random(count) < (0.5 if kind == "putmask" else 0.99)
    values = np.array([1, 2], np.uint8) if kind == "putmask" else rng.integers(0, 9, count, dtype=np.uint8)
    out, scratch = source.copy(), source.copy()

    def expected(m: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = source.copy()
        (np.putmask if kind == "putmask" else np.place)(result, m, b)
        return result

    return Workload(source, [{"m": mask, "b": values}], out, expected, scratch=scratch)


EDGES = (
    _case("60", "segmented_array", "4 of 8 float64 of 200,000 lists, map of NumPy", _segmented, "pyarrow"),
    _case("61", "feather_rows", "1,000 rows of 200 batches of 10,000 in a file, not compressed", _feather, "pyarrow"),
    _case("62", "wide_filter", "polars: half of 1,000 rows of 3,000 float64 columns", _wide_filter, "polars"),
    _case("63", "shuffled_mask", "pandas: 1 M rows, a mask with shuffled labels", _shuffled_mask, "pandas"),
    _case("64a", "index_list", "1 M Python integers as an index of 1 M float64", lambda quick: _listed(quick, "index")),
    _case("64b", "values_list", "1 M Python floats as values", lambda quick: _listed(quick, "values")),
    _case("64c", "index_range", "range of 1 M as an index of 1 M float64", lambda quick: _listed(quick, "range")),
    _case("65a", "putmask_two", "50 M uint8, half of the mask, 2 values", lambda quick: _written(quick, "putmask")),
    _case("65b", "place_most", "50 M uint8, 99 % of the mask, as many values", lambda quick: _written(quick, "place")),
)

FORMS = (
    Form(OURS_ARROW, "segmented_array", "gs.table.segmented_gather(x, i)"),
    Form(OURS_ARROW, "segmented_array", "gs.table.segmented_gather(x, k)", beside=True),
    Form(OURS_ARROW, "feather_rows", "gs.table.gather(x, i)"),
    Form(OURS_ARROW, "feather_rows", f"gs.table.gather({MAPPED}, i)", setup="import pyarrow as pa", beside=True),
    Form(ARROW, "feather_rows", f"{MAPPED}.take(i)"),
    Form(OURS_POLARS, "wide_filter", "gs.table.filter(x, m)"),
    Form(POLARS, "wide_filter", "x.filter(m)"),
    Form(OURS_PANDAS, "shuffled_mask", "gs.table.filter(x, m)"),
    Form(GS, "index_list index_range", "gs.take(x, k)"),
    Form(NP, "index_list", "np.take(x, k)"),
    Form(NP, "index_range", "np.take(x, np.arange(len(k)))"),
    Form(GS, "values_list", "gs.scatter(x, i, k)"),
    Form(NP, "values_list", "r = x.copy(); r[i] = k", result="r"),
    Form(GS, "putmask_two", "gs.putmask(out, m, b)", result="out"),
    Form(NP, "putmask_two", "np.putmask(out, m, b)", result="out"),
    Form(GS, "place_most", "gs.place(out, m, b)", result="out"),
    Form(NP, "place_most", "np.place(out, m, b)", result="out"),
    Form(PANDAS, "shuffled_mask", "x[m.reindex(x.index)]"),
)
