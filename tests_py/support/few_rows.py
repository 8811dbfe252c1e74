"""few_rows.py: counts the pages that a gather of three rows touches, in columns of every type and kind.

`count` runs in a process of its own, because it turns huge pages off. Columns of both lengths have equal rows in equal
layouts, so that only work in proportion to the column tells their counts apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import gatherscatter as gs
import touched_pages
from table_types import TYPES, How, build

LENGTHS = (1 << 12, 1 << 20)
DISTINCT = 1 << 10  # rows of the column that is repeated
CHUNKS = 16
ROUNDS = 9
# One type of each kind. A Table has columns of all types; the other objects hand the same memory over.
KINDS = (
    *("null", "bool", "int8", "int64", "double", "decimal128", "timestamp[ns, zone]"),
    *("string", "large_binary", "string_view", "fixed_binary[3]"),
    *("list[int16]", "large_list[string]", "list_view[int64]", "fixed_list[float, 3]", "struct", "map[string, int32]"),
    *("dictionary[int8, string]", "list[dictionary]", "run_end[int32, double]", "sparse_union", "dense_union"),
)
CALLS: dict[str, Callable[[Any, list[int]], Any]] = {
    "gather": lambda column, rows: gs.table.gather(column, rows),
    "nullify": lambda column, rows: gs.table.gather(column, [rows[0], None, rows[2]], "nullify"),
}

Maker = Callable[[int], Callable[[], Any]]  # number of rows -> a function that gives the column in a new object


def repeated(type: pa.DataType, length: int) -> pa.Array:
    """A column of random rows, some of which are null."""
    rows = build(type, DISTINCT, np.random.default_rng(1), How(nulls=0.1))
    return gs.table.gather(rows, np.arange(length) % DISTINCT)


def many_keys(keys: pa.DataType, length: int) -> pa.Array:
    """A dictionary that has as many keys as rows."""
    numbers = np.random.default_rng(2).permutation(length)
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype("i4")), pa.array(range(length)).cast(keys))


def arrow_columns(names: Iterable[str]) -> dict[str, Callable[[int], pa.Array]]:
    columns: dict[str, Callable[[int], pa.Array]] = {
        name: lambda length, type=type: repeated(type, length)
        for name, type in ((name, TYPES[name]) for name in names)
        if name != "run_end[int16, string]"  # no such column is long
    }
    columns["dictionary, string keys, one a row"] = lambda length: many_keys(pa.string(), length)
    columns["dictionary, int64 keys, one a row"] = lambda length: many_keys(pa.int64(), length)
    return columns


def chunked(column: pa.Array) -> pa.ChunkedArray:
    step = len(column) // CHUNKS
    return pa.chunked_array([column.slice(at, step) for at in range(0, len(column), step)], column.type)


ARROW: dict[str, Callable[[pa.Array], Any]] = {
    "Array": lambda column: column.slice(0),  # its nulls are not counted yet
    "ChunkedArray": chunked,
    "RecordBatch": lambda column: pa.record_batch([column.slice(0)], ["x"]),
    "Table": lambda column: pa.table([column.slice(0)], ["x"]),
    "Table of two columns in chunks": lambda column: pa.table([chunked(column)] * 2, ["x", "y"]),
}


def of_arrow(wrap: Callable[[pa.Array], Any], names: Iterable[str]) -> dict[str, Maker]:
    def maker(column: Callable[[int], pa.Array]) -> Maker:
        def of_length(length: int) -> Callable[[], Any]:
            rows = column(length)
            return lambda: wrap(rows)

        return of_length

    return {name: maker(column) for name, column in arrow_columns(names).items()}


# ---- polars: types of Arrow that it reads, and its own

POLARS_FROM_ARROW = (
    *("null", "bool", "int8", "int64", "uint16", "uint64", "float", "double", "decimal128"),
    *("date32", "time64[ns]", "timestamp[us]", "timestamp[ns, zone]", "duration[ms]"),
    *("string", "large_string", "string_view", "binary", "binary_view"),
    *("list[int16]", "large_list[string]", "fixed_list[float, 3]", "struct", "list[struct[list[string]]]"),
    *("fixed_list[struct]", "struct[struct[struct]]"),
)


def polars_columns() -> dict[str, Callable[[int], Any]]:
    """By name: a function that makes a Series, which is made anew for each call."""
    import polars as pl

    def from_arrow(type: pa.DataType) -> Callable[[int], Any]:
        if pa.types.is_struct(type):  # polars refuses two fields of one name
            type = pa.struct([pa.field(f"f{k}", field.type) for k, field in enumerate(type)])
        return lambda length: pl.Series("x", pl.from_arrow(repeated(type, length)))

    def words(length: int, distinct: int) -> Any:
        return pl.Series("x", [f"word {k}" for k in np.arange(length) % distinct])

    columns = {name: from_arrow(TYPES[name]) for name in POLARS_FROM_ARROW}
    columns["Categorical"] = lambda length: words(length, 100).cast(pl.Categorical)
    columns["Categorical, a word a row"] = lambda length: words(length, length).cast(pl.Categorical)
    columns["Enum"] = lambda length: words(length, 100).cast(pl.Enum([f"word {k}" for k in range(100)]))
    columns["List of Categorical"] = lambda length: (
        words(length, 100).cast(pl.Categorical).reshape((-1, 1)).arr.to_list()
    )
    columns["Struct of Categorical"] = lambda length: words(length, 100).cast(pl.Categorical).to_frame().to_struct("x")
    return columns


def of_polars(wrap: Callable[[Any], Any]) -> dict[str, Maker]:
    def maker(column: Callable[[int], Any]) -> Maker:
        def of_length(length: int) -> Callable[[], Any]:
            series = column(length)
            return lambda: wrap(series.slice(0))

        return of_length

    return {name: maker(column) for name, column in polars_columns().items()}


# ---- pandas: its own dtypes, and those of Arrow


def pandas_columns() -> dict[str, Callable[[int], Any]]:
    import pandas as pd

    def numbers(length: int) -> np.ndarray:
        return np.arange(length) % DISTINCT

    def nullable(length: int, dtype: str) -> Any:
        values = pd.array(numbers(length) % 2 if dtype == "boolean" else numbers(length)).astype(dtype)
        values[::7] = pd.NA
        return values

    def dates(length: int) -> np.ndarray:
        return numbers(length).astype("M8[s]").astype("M8[ns]")

    def texts(length: int, dtype: Any) -> Any:
        return pd.array(np.array([f"text number {k}" for k in range(DISTINCT)], object)[numbers(length)], dtype=dtype)

    def words(length: int, distinct: int) -> Any:
        categories = pd.Index([f"word {k}" for k in range(distinct)])
        return pd.Categorical.from_codes(np.arange(length) % distinct, categories)

    columns: dict[str, Callable[[int], Any]] = {
        "float64": lambda n: numbers(n).astype("f8"),
        "bool": lambda n: numbers(n) % 2 == 0,
        "datetime64": dates,
        "timedelta64": lambda n: dates(n).view("m8[ns]"),
        "object": lambda n: np.array([None, "a", 7, 2.5], object)[np.arange(n) % 4],
        "Int64": lambda n: nullable(n, "Int64"),
        "Float32": lambda n: nullable(n, "Float32"),
        "boolean": lambda n: nullable(n, "boolean"),
        "str": lambda n: texts(n, "str"),
        "string[pyarrow]": lambda n: texts(n, "string[pyarrow]"),
        "string[python]": lambda n: texts(n, "string[python]"),
        "tz": lambda n: pd.DatetimeIndex(dates(n), tz="UTC").tz_convert("Europe/Berlin").array,
        "Categorical": lambda n: words(n, 100),
        "Categorical, a word a row": lambda n: words(n, n),
        "Period": lambda n: pd.arrays.PeriodArray(numbers(n), dtype=pd.PeriodDtype("D")),
        "Interval": lambda n: pd.arrays.IntervalArray.from_arrays(numbers(n), numbers(n) + 1),
        "Sparse": lambda n: pd.arrays.SparseArray(np.where(numbers(n) % 8, 0, numbers(n))),
    }
    for name, column in arrow_columns(KINDS).items():
        columns[f"ArrowDtype {name}"] = lambda n, column=column: pd.arrays.ArrowExtensionArray(column(n))
    return columns


def of_pandas(wrap: Callable[[Any], Any]) -> dict[str, Maker]:
    def maker(column: Callable[[int], Any]) -> Maker:
        def of_length(length: int) -> Callable[[], Any]:
            values = column(length)
            return lambda: wrap(values.view() if isinstance(values, np.ndarray) else values[:])

        return of_length

    return {name: maker(column) for name, column in pandas_columns().items()}


def _series(values: Any) -> Any:
    import pandas as pd

    return pd.Series(values, copy=False, name="x", dtype=values.dtype)


def containers() -> dict[str, Callable[[], dict[str, Maker]]]:
    """By name: a function that gives the columns in this kind of object."""
    found: dict[str, Callable[[], dict[str, Maker]]] = {}
    for name, wrap in ARROW.items():
        types = TYPES if name == "Table" else KINDS
        found[f"pyarrow {name}"] = lambda wrap=wrap, types=types: of_arrow(wrap, types)
    found["polars Series"] = lambda: of_polars(lambda series: series)
    found["polars DataFrame"] = lambda: of_polars(lambda series: series.to_frame())
    found["pandas Series"] = lambda: of_pandas(_series)
    found["pandas DataFrame"] = lambda: of_pandas(lambda values: _series(values).to_frame())
    return found


def growth(columns: dict[int, Callable[[], Any]], call: str) -> int:
    """How many pages, touched or new, three rows of the longer column need more than those of the shorter one.

    The median of calls in turns, each on a new object: what else the process does adds to some counts, and the state
    of its heap may add to all from one moment on, whatever the length.
    """
    rows = {length: [length - 3, 5, length // 2] for length in columns}
    for length, column in columns.items():
        CALLS[call](column(), rows[length])
    rounds = []
    for _ in range(ROUNDS):
        counts = []
        for length, column in columns.items():
            source = column()
            _, *pages = touched_pages.touched(lambda source=source, length=length: CALLS[call](source, rows[length]))
            counts.append(pages)
        few, many = np.array(counts)  # of the two LENGTHS
        rounds.append(many - few)
    return int(np.median(rounds, axis=0).max())


def count(container: str, only: Sequence[str] = ()) -> Iterator[tuple[str, str, int | str]]:
    """Type, call, and growth; in place of the growth the error of a call that has no result."""
    touched_pages.prepare()
    for name, maker in containers()[container]().items():
        if only and name not in only:
            continue
        columns = {length: maker(length) for length in LENGTHS}
        for call in CALLS:
            try:
                yield name, call, growth(columns, call)
            except Exception as error:
                yield name, call, f"{type(error).__name__}: {error}"
