"""pandas_dtypes.py: random columns of every kind of dtype that pandas has."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

WORDS = ["", "a", "bb", "é", "a longer text, out of line", "x", "y"]
PLAIN = [
    *("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex128"),
    *("datetime64[s]", "datetime64[ns]", "timedelta64[us]"),
]
NULLABLE = ["Int8", "Int64", "UInt64", "Float32", "Float64", "boolean"]
ARROW = {
    "arrow bool": pa.bool_(),
    "arrow int64": pa.int64(),
    "arrow string": pa.string(),
    "arrow large_string": pa.large_string(),
    "arrow list": pa.list_(pa.int8()),
    "arrow struct": pa.struct({"a": pa.int8(), "b": pa.string()}),
    "arrow decimal": pa.decimal128(9, 2),
    "arrow date": pa.date32(),
    "arrow zoned": pa.timestamp("ms", "UTC"),
}
CATEGORIES = ["category", "category of integers", "category of times", "ordered"]
NAMES = [
    *PLAIN,
    *NULLABLE,
    *ARROW,
    *CATEGORIES,
    *("object", "str", "string[python]", "string[pyarrow]", "arrow dictionary", "zoned", "period"),
    *("interval", "interval of floats", "interval of times", "sparse", "sparse floats", "sparse bools"),
]


def column(name: str, rows: int, rng: np.random.Generator) -> pd.Series:
    """A column of random values, some of them missing where its dtype has a missing value."""
    numbers = rng.integers(0, 100, rows)
    missing = rng.random(rows) < 0.25
    words = np.array([None if gap else WORDS[n % len(WORDS)] for n, gap in zip(numbers, missing, strict=True)], object)
    if name in PLAIN:
        values = (numbers % 2 if name == "bool" else numbers).astype(name)
        return pd.Series(values)
    if name in NULLABLE:
        values = [
            None if gap else bool(n % 2) if name == "boolean" else n for n, gap in zip(numbers, missing, strict=True)
        ]
        return pd.Series(pd.array(values, dtype=name))
    if name in ARROW:
        return pd.Series(pd.array(_arrow(ARROW[name], numbers, missing), dtype=pd.ArrowDtype(ARROW[name])))
    if name == "arrow dictionary":
        chunk = pa.array(list(words), pa.string()).dictionary_encode()
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([chunk])))
    if name in ("object", "str", "string[python]", "string[pyarrow]", "category"):
        return pd.Series(words, dtype=name)
    if name == "ordered":
        return pd.Series(pd.Categorical(words, categories=WORDS, ordered=True))
    times = pd.Series(pd.to_datetime(numbers, unit="D")).mask(missing)
    if name.startswith("category of"):
        return (pd.Series(numbers) if name.endswith("integers") else times).astype("category")
    if name == "zoned":
        return times.dt.tz_localize("Europe/Paris")
    if name == "period":
        return times.dt.to_period("M")
    if name.startswith("interval"):
        kind = "M8[ns]" if name.endswith("times") else "f8" if name.endswith("floats") else "i8"
        left, right = numbers.astype("m8[D]" if kind == "M8[ns]" else kind), (numbers + 2)
        if kind == "M8[ns]":
            return pd.Series(pd.arrays.IntervalArray.from_arrays(times, times + pd.Timedelta(days=1)))
        return pd.Series(pd.arrays.IntervalArray.from_arrays(left, right.astype(kind)))
    kind = {"sparse": np.int64, "sparse floats": np.float64, "sparse bools": np.bool_}[name]
    return pd.Series(pd.arrays.SparseArray(np.where(missing, 0, numbers % 2).astype(kind)))


def _arrow(type: pa.DataType, numbers: np.ndarray, missing: np.ndarray) -> list[Any]:
    if pa.types.is_boolean(type):
        values: list[Any] = [bool(n % 2) for n in numbers]
    elif pa.types.is_string(type) or pa.types.is_large_string(type):
        values = [WORDS[n % len(WORDS)] for n in numbers]
    elif pa.types.is_list(type):
        values = [[1] * (n % 4) for n in numbers]
    elif pa.types.is_struct(type):
        values = [{"a": int(n), "b": WORDS[n % len(WORDS)]} for n in numbers]
    elif pa.types.is_temporal(type):
        values = [datetime.datetime(2000, 1, 1) + datetime.timedelta(days=int(n)) for n in numbers]
        values = [value.date() for value in values] if pa.types.is_date(type) else values
    else:
        values = [int(n) for n in numbers]
    return [None if gap else value for value, gap in zip(values, missing, strict=True)]
