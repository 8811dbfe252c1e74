"""The cases of `--more`: calls beside the suite's own, each held against a peer or a plainer call of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import buffers, cases
from .cases import SETS, Case, Ki, Mi, Workload

SECONDS = 4.0  # most seconds of timing per case

Build = Callable[[bool], Workload]


def _whole(count: int | tuple[int, ...], seed: int, dtype: str) -> np.ndarray:
    """Small whole numbers, whose sums are exact."""
    return buffers.filled(np.random.default_rng(seed).integers(-2, 3, count), dtype)


def _values(source: np.ndarray, sets: list[dict[str, Any]], expected: Callable[..., Any], **constants: Any) -> Workload:
    out, scratch = (buffers.filled(source, source.dtype) for _ in range(2))
    return Workload(source, sets, out, expected, constants=constants, scratch=scratch)


# ---- reductions


def _reduced(quick: bool, dtype: str, combine: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Workload:
    """4 Mi values at random into 1 Mi. `combine` gives the result from target, indices and values of float32."""
    extent, n = (4 * Ki, 16 * Ki) if quick else (Mi, 4 * Mi)
    is_brain = dtype == "bfloat16"

    def stored(values: np.ndarray) -> np.ndarray:
        """The values in the dtype of the case; of bfloat16 the bits, which are the high half of those of float32."""
        if is_brain:
            values = (values.astype("f4").view("i4") >> 16).astype("i2")
        return buffers.filled(values, "int16" if is_brain else dtype)

    target = _whole(extent, 9, "float32")
    plain = [
        (cases.indices("uniform", extent, (n,), "int64", seed), _whole(n, 10 + seed, "float32")) for seed in range(SETS)
    ]
    sets = [{"i": i, "b": stored(b)} for i, b in plain]
    return _values(stored(target), sets, lambda i, b: stored(combine(target, i, plain[0][1])))


def _sum(x: np.ndarray, i: np.ndarray, b: np.ndarray) -> np.ndarray:
    return x + np.bincount(i, b, len(x))


def _max(x: np.ndarray, i: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = x.copy()
    np.maximum.at(result, i, b)
    return result


def _mean(x: np.ndarray, i: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _sum(x, i, b) / (1 + np.bincount(i, minlength=len(x)))


def _mean_apart(x: np.ndarray, i: np.ndarray, b: np.ndarray) -> np.ndarray:
    count = np.bincount(i, minlength=len(x))
    return np.where(count, np.bincount(i, b, len(x)) / np.maximum(count, 1), x)


def _rows_max(quick: bool) -> Workload:
    rows, width = (4 * Ki if quick else Mi), 32
    source = buffers.filled(np.full((rows, width), -np.inf), "float32")
    sets = [
        {"i": cases.indices("uniform", rows, (rows,), "int64", seed), "b": _whole((rows, width), 10 + seed, "float32")}
        for seed in range(SETS)
    ]

    def expected(i: np.ndarray, b: np.ndarray) -> np.ndarray:
        order = np.argsort(i, kind="stable")
        targets, starts = np.unique(i[order], return_index=True)
        result = source.copy()
        result[targets] = np.maximum.reduceat(b[order], starts, axis=0)
        return result

    return _values(source, sets, expected)


def _unique(quick: bool) -> Workload:
    n = 16 * Ki if quick else 4 * Mi
    sets = [
        {
            "i": buffers.filled(np.random.default_rng(seed).permutation(n), "int64"),
            "b": buffers.random((n,), "float32", seed=10 + seed),
        }
        for seed in range(SETS)
    ]

    def expected(i: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = np.empty_like(b)
        result[i] = b
        return result

    return _values(buffers.random((n,), "float32", seed=9), sets, expected)


# ---- masks of one value


def _masked(quick: bool, truth: bool, kind: str) -> Workload:
    """4 Mi float32. Indices are in order, so that a mask that is all true makes a copy of the values."""
    n = 16 * Ki if quick else 4 * Mi
    source = buffers.random((n,), "float32", seed=9)
    order = buffers.filled(np.arange(n), "int64")
    sets = []
    for seed in range(SETS):
        one = {"m": buffers.filled(np.full(n, truth), "bool"), "i": order}
        one["b"] = buffers.random((n,), "float32", seed=10 + seed)
        sets.append({name: one[name] for name in {"masked_set": "ibm", "place": "mb", "compress": "m"}[kind]})
    if kind == "compress":
        result = buffers.empty((n if truth else 0,), "float32")
        return Workload(source, sets, result, lambda m: source[m])
    return _values(source, sets, lambda m, b, i=order: np.where(m, b, source))


# ---- layouts


def _last_laid(quick: bool, side: int, sets: int) -> Workload:
    """A gather along the last axis of an array in Fortran order."""
    build: Build = cases._transposed(cases._along(1, (side, side), (side, side), sets), "x")
    return build(quick)


def _set_last_laid(quick: bool, side: int) -> Workload:
    """A scatter along the last axis of a target in Fortran order."""
    build: Build = cases._transposed(lambda quick: cases._set_last(quick, (side, side, side // 4)), "x")
    work = build(quick)
    return replace(work, out=buffers.filled(work.source.T, "float32").T)


def _first(quick: bool, add: bool) -> Workload:
    """A scatter along the first axis, no target twice in a column."""
    side = 128 if quick else 4096
    sets = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        # Odd multiples plus an offset, modulo a power of two.
        step, start = 2 * rng.integers(0, side // 2, side) + 1, rng.integers(0, side, side)
        index = buffers.filled((step * np.arange(side)[:, None] + start) % side, "int64")
        sets.append({"i": index, "b": buffers.filled(rng.random((side, side)), "float32")})
    column = np.arange(side)

    def expected(i: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = source.copy() if add else np.empty_like(source)
        result[i, column] = result[i, column] + b if add else b
        return result

    source = buffers.filled(np.random.default_rng(9).random((side, side)), "float32")
    return replace(_values(source, sets, expected), constants={"column": column})


def _sorted(quick: bool, add: bool) -> Workload:
    """8 Mi values at sorted indices into 16 Mi: most targets get none, many get several."""
    extent, n = (64 * Ki, 32 * Ki) if quick else (16 * Mi, 8 * Mi)
    source = _whole(extent, 9, "float32")
    sets = []
    for seed in range(2):
        index = np.sort(np.random.default_rng(seed).integers(0, extent, n))
        sets.append({"i": buffers.filled(index, "int64"), "b": _whole(n, 10 + seed, "float32")})

    def last(i: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = source.copy()
        is_last = np.append(i[1:] != i[:-1], True)
        result[i[is_last]] = b[is_last]
        return result

    return _values(source, sets, (lambda i, b: _sum(source, i, b).astype("f4")) if add else last)


# ---- small calls


def _few(quick: bool, kind: str) -> Workload:
    """16 items. `row` and `pad` are for NumPy's forms."""
    source = buffers.random((1024,), "float32", seed=6)
    rng = np.random.default_rng(7)
    sets: list[dict[str, Any]] = []
    constants: dict[str, Any] = {}
    if kind == "few_along":
        source = source.reshape(16, 64)
        row = np.arange(4)[:, None]
        source, constants = source[:4], {"row": row}
    elif kind == "few_points":
        source = source.reshape(32, 32)
    elif kind == "few_tile":
        constants = {"pad": np.float32(0)}
    for seed in range(SETS):
        index = rng.permutation(source.shape[-1])[:16]
        values = buffers.random((16,), "float32", seed=10 + seed)
        if kind == "few_list":
            sets.append({"k": index.tolist()})
        elif kind == "few_points":
            sets.append({"i": rng.integers(0, 32, (16, 2))})
        elif kind == "few_tile":
            sets.append({"i": index})
        elif kind == "few_along":
            sets.append({"i": index.reshape(4, 4), "b": values.reshape(4, 4)})
        else:
            sets.append({"i": index, "b": values})
    if kind == "few_list":
        return Workload(source, sets, buffers.empty((16,), "float32"), lambda k: source[k])
    if kind == "few_points":
        return Workload(source, sets, buffers.empty((16,), "float32"), lambda i: source[i[:, 0], i[:, 1]])
    if kind == "few_tile":
        return Workload(source, sets, buffers.empty((16,), "float32"), lambda i: source[i], constants=constants)

    def expected(i: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = source.copy()
        result[(constants["row"], i) if constants else i] = b
        return result

    return _values(source, sets, expected, **constants)


def _few_words(quick: bool, kind: str) -> Workload:
    """16 items, moved under a word of the call or by an operator of NumPy without an index."""
    source = buffers.random((1024 if kind in ("few_sum", "few_mask", "few_fill") else 16,), "float32", seed=6)
    rng = np.random.default_rng(7)
    sets = []
    for seed in range(SETS):
        index = rng.permutation(1024)[:16]
        one = {"m": rng.random(16) < 0.5, "b": buffers.random((16,), "float32", seed=10 + seed)}
        one["i"] = np.where(one["m"], index, 9999) if kind == "few_fill" else index
        one["c"], one["k"] = np.arange(16) % 3, 5 + seed
        names = {
            "few_sum": "ib",
            "few_mask": "im",
            "few_fill": "i",
            "few_repeat": "c",
            "few_compress": "m",
            "few_roll": "k",
        }
        sets.append({name: one[name] for name in names.get(kind, "mb")})
    if kind == "few_sum":
        return Workload(source, sets, buffers.empty((1024,), "float32"), lambda i, b: _added(source, i, b))
    if kind in ("few_putmask", "few_place"):
        return _values(source, sets, partial(_put, source, kind))
    expected = {
        "few_mask": lambda i, m: np.where(m, source[i], 0),
        "few_fill": lambda i: np.where(i < 1024, source[np.minimum(i, 1023)], 0),
        "few_repeat": lambda c: np.repeat(source, c),
        "few_compress": lambda m: source[m],
        "few_roll": lambda k: np.roll(source, k),
    }[kind]
    return Workload(source, sets, buffers.empty((16,), "float32"), expected)


def _added(source: np.ndarray, i: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = source.copy()
    np.add.at(result, i, b)
    return result


def _put(source: np.ndarray, kind: str, m: np.ndarray, b: np.ndarray) -> np.ndarray:
    result = source.copy()
    (np.putmask if kind == "few_putmask" else np.place)(result, m, b)
    return result


def _array(number: str, name: str, kind: str, about: str, build: Callable[..., Workload], *arguments: Any) -> Case:
    return Case(number, name, kind, about, lambda quick: build(quick, *arguments), seconds=SECONDS)


def _table(
    number: str, name: str, kind: str, about: str, builder: str, *arguments: Any, needs: str = "pyarrow"
) -> Case:
    """A case of `more_tables.py`, which needs pyarrow."""

    def build(quick: bool) -> Workload:
        from . import more_tables

        work: Workload = getattr(more_tables, builder)(quick, *arguments)
        return work

    return Case(number, name, kind, about, build, needs=needs, seconds=SECONDS)


REDUCTIONS = (
    ("40a", "mean", "mean", "4 Mi f32 into 1 Mi, int64 uniform; beside: the sum", "float32", _mean),
    ("40b", "mean_apart", "mean_apart", "the same with include_self=False; beside: the sum", "float32", _mean_apart),
    ("41a", "half_add", "half_add", "4 Mi float16 added into 1 Mi, int64 uniform", "float16", _sum),
    ("41b", "half_max", "half_max", "the same, the largest", "float16", _max),
    ("41c", "brain_add", "brain_add", "4 Mi bfloat16 added into 1 Mi, int64 uniform", "bfloat16", _sum),
    ("41d", "brain_max", "brain_max", "the same, the largest", "bfloat16", _max),
)
MASKS = (("44", "masked_set", "scatter in order"), ("45", "place", "place"), ("46", "compress", "compress"))
SMALL = (
    ("49a", "put", "few_put"),
    ("49b", "scatter", "few_scatter"),
    ("49c", "take_list", "few_list"),
    ("49d", "gather_nd", "few_points"),
    ("49e", "tile_gather", "few_tile"),
    ("49f", "tile_scatter", "few_tile_scatter"),
    ("49g", "put_along_axis", "few_along"),
)
SMALL_WORDS = (
    ("49h", "scatter_add", "few_sum"),
    ("49i", "gather_mask", "few_mask"),
    ("49j", "gather_fill", "few_fill"),
    ("49k", "compress", "few_compress"),
    ("49l", "repeat", "few_repeat"),
    ("49m", "roll", "few_roll"),
    ("49n", "putmask", "few_putmask"),
    ("49o", "place", "few_place"),
)
PANDAS = ("float64", "Int64", "category", "tz")

MORE = (
    *(_array(number, name, kind, about, _reduced, *more) for number, name, kind, about, *more in REDUCTIONS),
    _array("42", "rows_max", "rows_max", "1 Mi x 32 f32 into -inf, include_self=False; beside: with it", _rows_max),
    _array("43", "unique", "unique", 'permutation of 4 Mi f32, duplicates="error"; beside: "last"', _unique),
    *(
        _array(
            f"{number}{'ab'[truth]}",
            f"{kind}_{word}",
            kind,
            f"{about}, 4 Mi f32, mask all {word}",
            _masked,
            truth,
            kind,
        )
        for number, kind, about in MASKS
        for truth, word in ((False, "false"), (True, "true"))
    ),
    *(
        _table(
            f"{number}{'ab'[truth]}",
            f"table_{kind}_{word}",
            kind,
            f"12 columns, 1 Mi rows, mask all {word}",
            kind,
            truth,
        )
        for number, kind in (("47", "filter"), ("48", "if_else"))
        for truth, word in ((False, "false"), (True, "true"))
    ),
    *(_array(number, f"small_{name}", kind, "16 items", _few, kind) for number, name, kind in SMALL),
    *(_array(number, f"small_{name}", kind, "16 items", _few_words, kind) for number, name, kind in SMALL_WORDS),
    _table("50a", "table_list_text", "keys", "1 Mi lists of 0 to 3 strings, 1 Mi int32", "nested", "list<string>"),
    _table("50b", "table_map", "keys", "1 Mi maps of 0 to 3 strings to int32, 1 Mi int32", "nested", "map"),
    _table(
        "50c",
        "table_list_keys",
        "keys",
        "1 Mi lists of 0 to 3 words of a dictionary, 1 Mi int32",
        "nested",
        "list<dictionary>",
    ),
    _table("51a", "table_5_rows_100", "few", "5 of 10 rows x 100 columns", "wide_few", 100),
    _table("51b", "table_5_rows_1000", "few", "5 of 10 rows x 1,000 columns", "wide_few", 1000),
    _table(
        "52a",
        "table_categorical_3",
        "categories",
        "polars: 3 rows of 1 Mi; beside: a column of int32",
        "categories",
        3,
        needs="polars",
    ),
    _table(
        "52b",
        "table_categorical_all",
        "categories",
        "polars: 1 Mi rows of 1 Mi; beside: a column of int32",
        "categories",
        Mi,
        needs="polars",
    ),
    *(
        _table(
            f"53{'abcd'[k]}",
            f"table_series_gather_{dtype}",
            "series_gather",
            f"pandas: 100,000 of 100,000 {dtype}",
            "series_gather",
            dtype,
            needs="pandas",
        )
        for k, dtype in enumerate(PANDAS)
    ),
    _table(
        "53e",
        "table_series_gather_100",
        "series_gather",
        "pandas: 100 of 100,000 float64",
        "series_gather",
        "float64",
        100,
        needs="pandas",
    ),
    *(
        _table(
            f"54{'abcd'[k]}",
            f"table_series_scatter_{dtype}",
            "series_scatter",
            f"pandas: 10,000 into 100,000 {dtype}",
            "series_scatter",
            dtype,
            needs="pandas",
        )
        for k, dtype in enumerate(PANDAS)
    ),
    _array(
        "55a", "fortran_1MiB", "last", "[512,512] f32 in Fortran order, index same in C order", _last_laid, 512, SETS
    ),
    _array(
        "55b", "fortran_256MiB", "last", "[8192,8192] f32 in Fortran order, index same in C order", _last_laid, 8192, 2
    ),
    _array(
        "56a",
        "into_fortran_1MiB",
        "set_last_laid",
        "[512,512] f32 in Fortran order, index [512,128]",
        _set_last_laid,
        512,
    ),
    _array(
        "56b",
        "into_fortran_256MiB",
        "set_last_laid",
        "[8192,8192] f32 in Fortran order, index [8192,2048]",
        _set_last_laid,
        8192,
    ),
    _array("57a", "set_first", "set_first", "[4096,4096] f32, index same, unique in a column", _first, False),
    _array("57b", "add_first", "add_first", "the same, added", _first, True),
    _array("58a", "set_sorted", "set", "8 Mi f32 into 16 Mi, int64 sorted", _sorted, False),
    _array("58b", "add_sorted", "add", "the same, added", _sorted, True),
)
