"""pandas_maps.py: takes and writes rows of pandas' columns by a map of NumPy, for which no selection is made."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gatherscatter._ops.gather import gather
from gatherscatter._ops.scatter import scatter
from gatherscatter._table.pandas_columns import is_fixed, values_of

__all__ = ["are_alike", "has_rows_at", "labels_at", "rows_at", "write_at"]

pd: Any = importlib.import_module("pandas")


def parts_of(values: Any) -> list[Any] | None:
    """The arrays of a fixed size that the values of a column consist of; a write to them is one to the column.

    None for values that consist of anything else, and where a version of pandas keeps its arrays elsewhere.
    """
    if type(values).__module__.partition(".")[0] == "pandas":
        is_nullable = hasattr(values, "_mask")
        parts: list[Any] = [
            getattr(values, name, None) for name in (("_data", "_mask") if is_nullable else ("_ndarray",))
        ]
    else:
        parts = [values]
    return parts if all(is_fixed(part) and part.ndim == 1 for part in parts) else None


def has_rows_at(values: Any) -> bool:
    """Whether `rows_at` can take rows of the values of a column."""
    return is_fixed(values) or (
        parts_of(values) is not None and (hasattr(values, "_mask") or hasattr(values, "_from_backing_data"))
    )


def rows_at(values: Any, rows: np.ndarray[Any, Any]) -> Any:
    """A copy of the rows of a column with these numbers; IndexError for one that is out of bounds."""
    if is_fixed(values):
        return gather(values, 0, rows)
    found = [gather(part, 0, rows) for part in parts_of(values) or ()]
    if hasattr(values, "_mask"):
        return type(values)(*found)  # of the values and the mask
    return values._from_backing_data(*found)  # which keeps the dtype, with its zone, frequency or categories


def labels_at(index: Any, rows: np.ndarray[Any, Any]) -> Any:
    """The labels of rows, as `index.take`; the numbers are in bounds, and no other object writes to their array."""
    if type(index) is pd.RangeIndex:
        # pandas makes a range of labels with equal distances. It reads all of them twice before it looks for that.
        if index.start == 0 and index.step == 1 and not _may_be_range(rows) and rows.min() >= 0:
            return pd.Index(rows, name=index.name, copy=False)
    elif type(index) is pd.Index and is_fixed(values := values_of(index)):
        return pd.Index(rows_at(values, rows), name=index.name, copy=False)
    return index.take(rows)


def _may_be_range(rows: np.ndarray[Any, Any]) -> bool:
    if len(rows) < 3:
        return True
    first, second, last = int(rows[0]), int(rows[1]), int(rows[-1])
    return last - first == (second - first) * (len(rows) - 1)


def are_alike(target: Any, source: Any) -> bool:
    """Whether values of equal dtype consist of arrays that `write_at` can copy rows between."""
    dtype = target.dtype
    if isinstance(dtype, np.dtype):
        return bool(dtype.kind != "O")
    if isinstance(dtype, pd.CategoricalDtype) and not target.categories.equals(source.categories):
        return False  # dtypes are equal too if only the order of categories differs
    return parts_of(target) is not None and parts_of(source) is not None


def write_at(target: Any, source: Any, rows: np.ndarray[Any, Any]) -> bool:
    """Let row ``rows[i]`` of the target be row i of the source; the last of equal numbers stays.

    False for values that are read-only, or not alike; IndexError for a number that is out of bounds.
    """
    mine, theirs = parts_of(target), parts_of(source)
    if mine is None or theirs is None or len(mine) != len(theirs):
        return False
    for part, new in zip(mine, theirs, strict=True):
        if part.dtype != new.dtype or not part.flags.writeable:
            return False
        scatter(part, 0, rows, new[: len(rows)], out=part)
    return True
