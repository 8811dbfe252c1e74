"""The libraries and forms for tables, as in `peers.py`: pyarrow, polars and pandas, and ours on the tables of each.

Names in the code, besides those of `peers.py`: `b` rows to write, `m` a boolean mask, `v` one scalar per column. A null
in a map stands for no row. pandas has no such maps, so -1 takes its place there, which is none of its labels.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .peers import Form, Library


def _polars_threads(pl: ModuleType, threads: int) -> None:
    if pl.thread_pool_size() != threads:
        raise SystemExit(f"polars has {pl.thread_pool_size()} threads: it was imported too early")


def _to_arrow(_: ModuleType | None, value: Any) -> Any:
    """Tables are Arrow's already; an array of NumPy is converted without a copy."""
    import pyarrow as pa

    return pa.array(value) if isinstance(value, np.ndarray) else value


def _to_polars(_: ModuleType, value: Any) -> Any:
    import polars as pl

    return pl.from_arrow(_to_arrow(None, value), rechunk=False)


def _to_pandas(_: ModuleType, value: Any) -> Any:
    """A frame of nullable columns; a mask or map as a NumPy array."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(value, pa.Table):
        return value.to_pandas(types_mapper=pd.ArrowDtype)
    return (value.fill_null(-1) if value.null_count else value).to_numpy(zero_copy_only=False)


def _to_pandas_for_ours(module: ModuleType, value: Any) -> Any:
    """As `_to_pandas`, but a map with nulls stays an Arrow array, because -1 would be the last row."""
    import pyarrow as pa

    return value if isinstance(value, pa.Array) and value.null_count else _to_pandas(module, value)


def _from_polars(frame: Any) -> Any:
    return frame.to_arrow() if hasattr(frame, "to_arrow") else frame


def _from_pandas(frame: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    if not isinstance(frame, pd.DataFrame):
        return frame
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def _ours(kind: str, adapt: Any, plain: Any) -> Library:
    return Library(
        f"gatherscatter, {kind}",
        "gatherscatter",
        "gs",
        adapt=adapt,
        plain=plain,
        set_threads=lambda gs, n: gs.set_num_threads(n),
        role="ours",
        needs=kind,
    )


LIBRARIES = (
    _ours("pyarrow", lambda gs, value: value, lambda table: table),
    _ours("polars", _to_polars, _from_polars),
    _ours("pandas", _to_pandas_for_ours, _from_pandas),
    Library(
        "pyarrow",
        "pyarrow",
        "pa",
        adapt=_to_arrow,
        plain=lambda table: table,
        set_threads=lambda pa, n: pa.set_cpu_count(n),
    ),
    Library(
        "polars",
        "polars",
        "pl",
        adapt=_to_polars,
        plain=_from_polars,
        set_threads=_polars_threads,
        thread_variables=("POLARS_MAX_THREADS",),
    ),
    Library("pandas", "pandas", "pd", adapt=_to_pandas, plain=_from_pandas, set_threads=lambda pd, n: None),
)

ARROW, POLARS, PANDAS = "pyarrow", "polars", "pandas"
OURS = tuple(f"gatherscatter, {kind}" for kind in (ARROW, POLARS, PANDAS))
OURS_ARROW, OURS_POLARS, OURS_PANDAS = OURS

# To replace rows, take from the concatenation of target and new rows, or write column by column.
PICKED = "w = np.arange(len(x)); w[{}] = np.arange(len(x), len(x) + len(b)); r = {}"
PICK_ARROW = "pa.concat_tables([x, b]).take(w)"
PICK_POLARS = "pl.concat([x, b], rechunk=True)[w]"
PICK_PANDAS = "pd.concat([x, b], ignore_index=True).take(w)"
ARROW_MASKED = "pa.table([pa.compute.replace_with_mask(c, m, {}) for c, s in zip(x.columns, {})], x.column_names)"
POLARS_SCATTER = "x.with_columns(x[c].scatter({}, b[c]) for c in x.columns)"
POLARS_WHEN = "x.select(pl.when({}).then({}).otherwise(pl.col(c)).alias(c) for c{} in {})"
PANDAS_COPY = "r = pd.DataFrame({c: x[c].array.copy() for c in x}, copy=False); "
# Only the Arrow protocol: the cost of exporting a table and of importing it again.
HANDED = "h = type('Handed', (), {'__arrow_c_stream__': lambda self, schema=None: x.__arrow_c_stream__(schema)})()"

FORMS = (
    # ---- gathers of rows; under "nullify" a null in the map gives a null row
    *(Form(library, "nullify chunks", "gs.table.gather(x, i, bounds='nullify')") for library in OURS),
    Form(OURS_ARROW, "chunks", "gs.table.gather(one, i, bounds='nullify')", beside=True),
    Form(ARROW, "nullify chunks", "x.take(i)"),
    Form(POLARS, "nullify chunks", "x.select(pl.all().gather(i))"),
    Form(PANDAS, "nullify chunks", "x.reindex(i)"),
    # ---- text, which is copied; and a frame of polars, which shares its text
    Form(OURS_ARROW, "text", "gs.table.gather(x, i)"),
    Form(ARROW, "text", "x.take(i)"),
    Form(POLARS, "text", "x.select(pl.all().gather(i)).to_arrow()"),
    Form(POLARS, "text", "x[i].to_arrow()"),
    Form(PANDAS, "text", "x.take(i)"),
    Form(OURS_POLARS, "frame", "gs.table.gather(x, i)"),
    Form(POLARS, "frame", "x[i]"),
    Form(POLARS, "frame", "x.select(pl.all().gather(i))"),
    # ---- dictionaries; and run-end encoded rows, which pyarrow can only decode first
    Form(OURS_ARROW, "keys", "gs.table.gather(x, i)"),
    Form(ARROW, "keys", "x.take(i)"),
    Form(OURS_ARROW, "runs", "gs.table.gather(x, i)"),
    Form(
        ARROW,
        "runs",
        "c = pa.compute.run_end_decode(x['c0'].chunk(0)).take(i); "
        "r = pa.table([pa.compute.run_end_encode(c, run_end_type=pa.int32())], ['c0'])",
        result="r",
    ),
    # ---- rows of a table replaced
    *(Form(library, "replace", "gs.table.scatter(b, i, x)") for library in OURS),
    Form(ARROW, "replace", PICKED.format("i.to_numpy()", PICK_ARROW), result="r"),
    Form(
        ARROW,
        "replace",
        "k = np.zeros(len(x), bool); k[i] = True; m = pa.array(k); s = b.take(np.argsort(i)); "
        f"r = {ARROW_MASKED.format('s.chunk(0)', 's.columns')}",
        result="r",
    ),
    Form(POLARS, "replace", POLARS_SCATTER.format("i")),
    Form(POLARS, "replace", PICKED.format("i.to_numpy()", PICK_POLARS), result="r"),
    Form(
        POLARS,
        "replace",
        "x.with_row_index('n').update(b.with_columns(n=i.cast(pl.UInt32)), on='n', include_nulls=True).drop('n')",
    ),
    Form(PANDAS, "replace", "r = x.copy(); r.loc[i] = b.set_axis(i)", result="r"),
    Form(PANDAS, "replace", PANDAS_COPY + "[r[c].array.__setitem__(i, b[c].array) for c in r]", result="r"),
    Form(PANDAS, "replace", PICKED.format("i", PICK_PANDAS), result="r"),
    # ---- the i-th row where the mask is true becomes row i
    *(Form(library, "mask", "gs.table.boolean_mask_scatter(b, x, m)") for library in OURS),
    Form(ARROW, "mask", ARROW_MASKED.format("s.chunk(0)", "b.columns")),
    Form(ARROW, "mask", PICKED.format("m.to_numpy(zero_copy_only=False)", PICK_ARROW), result="r"),
    Form(POLARS, "mask", f"i = m.arg_true(); r = {POLARS_SCATTER.format('i')}", result="r"),
    Form(POLARS, "mask", PICKED.format("m.to_numpy()", PICK_POLARS), result="r"),
    Form(
        POLARS,
        "mask",
        "w = np.zeros(len(x), np.int64); w[m.to_numpy()] = np.arange(len(b)); s = b[w]; "
        f"r = {POLARS_WHEN.format('m', 's[c]', '', 'x.columns')}",
        result="r",
    ),
    Form(PANDAS, "mask", "r = x.copy(); r.loc[m] = b.set_axis(np.flatnonzero(m))", result="r"),
    Form(PANDAS, "mask", PANDAS_COPY + "[r[c].array.__setitem__(m, b[c].array) for c in r]", result="r"),
    Form(PANDAS, "mask", PICKED.format("m", PICK_PANDAS), result="r"),
    # ---- one scalar per column where the mask is true
    *(Form(library, "fill", "gs.table.boolean_mask_scatter(v, x, m)") for library in OURS),
    Form(
        ARROW,
        "fill",
        "pa.table([pa.compute.if_else(m, s, c) for c, s in zip(x.columns, typed)], x.column_names)",
    ),
    Form(ARROW, "fill", ARROW_MASKED.format("s", "typed")),
    Form(POLARS, "fill", POLARS_WHEN.format("m", "pl.lit(s, x.schema[c])", ", s", "zip(x.columns, v)")),
    Form(
        POLARS,
        "fill",
        "i = m.arg_true(); r = x.with_columns(x[c].scatter(i, s) for c, s in zip(x.columns, v))",
        result="r",
    ),
    Form(PANDAS, "fill", "r = x.copy(); r.loc[m] = v", result="r"),
    Form(PANDAS, "fill", "pd.DataFrame({c: x[c].mask(m, s) for c, s in zip(x, v)})"),
    Form(PANDAS, "fill", PANDAS_COPY + "[r[c].array.__setitem__(m, s) for c, s in zip(r, v)]", result="r"),
    # ---- ten rows: the overhead of the call
    *(Form(library, "few", f"gs.table.gather(x, {rows})") for library in OURS[:2] for rows in "ik"),
    Form(OURS_ARROW, "few", "pa.table(h)", setup=f"import pyarrow as pa; {HANDED}", beside=True),
    Form(OURS_POLARS, "few", "pl.DataFrame(h)", setup=f"import polars as pl; {HANDED}", beside=True),
    Form(ARROW, "few", "x.take(i)"),
    Form(ARROW, "few", "x.take(k)"),
    Form(POLARS, "few", "x[i]"),
    Form(POLARS, "few", "x[k]"),
    Form(POLARS, "few", "x.select(pl.all().gather(i))"),
)
