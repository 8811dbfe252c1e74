"""pandas_columns.py: takes rows of one pandas column, and writes rows of one column into another, by dtype."""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter.errors import shown

__all__ = ["SelectedRows", "difference", "is_arrow", "is_fixed", "merged", "taken", "values_of", "wrapped"]

pd: Any = importlib.import_module("pandas")
take = pd.api.extensions.take


class SelectedRows:
    """A selection of rows, and arrays derived from it that are computed at most once for all columns."""

    def __init__(self, rows: _core.Selection, size: int) -> None:
        self.rows = rows
        self.size = size

    @cached_property
    def positions(self) -> Any:
        return self.rows.positions()

    @cached_property
    def gaps(self) -> Any:
        """Which rows of the result are missing."""
        return self.positions < 0

    @cached_property
    def replaced(self) -> tuple[Any, Any]:
        """The rows of the target (of `size` rows) that are replaced, and the rows of the source that replace them."""
        return self.rows.replaced(self.size)


def values_of(column: Any) -> Any:
    """The values of a Series or Index without a copy: a NumPy array for NumPy's dtypes, else an extension array."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def taken(values: Any, selected: SelectedRows) -> Any:
    """The selected rows. If some are missing, the dtype becomes one that has a missing value, as in pandas."""
    missing = selected.rows.missing > 0
    if is_fixed(values):
        found = selected.rows.take([values])
        return _with_gaps(found, values, selected) if missing else found
    if isinstance(values, np.ndarray):
        return take(values, selected.positions, allow_fill=True)  # twice as fast as allow_fill=False
    result = _arrow_taken(values, None, selected.rows) if is_arrow(values) else None
    return values.take(selected.positions, allow_fill=missing) if result is None else result


def _with_gaps(found: Any, values: Any, selected: SelectedRows) -> Any:
    filler = take(values[:0], np.array([-1]), allow_fill=True)  # pandas chooses the missing value and the dtype
    found = found.astype(filler.dtype, copy=False)
    found[selected.gaps] = filler[0]
    return found


def merged(target: Any, source: Any, selected: SelectedRows) -> Any:
    """A copy of the target's values in which the selected rows of the source replace rows of the target."""
    if is_fixed(target):
        return selected.rows.take([target, source])
    result = _arrow_taken(target, source, selected.rows) if is_arrow(target) else None
    if result is not None:
        return result
    if isinstance(target.dtype, pd.SparseDtype):  # sparse arrays do not support assignment
        both = pd.concat([pd.Series(target), pd.Series(source)], ignore_index=True)
        return both.array.take(selected.positions)
    to, rows = selected.replaced
    source = source.take(rows)
    if isinstance(target.dtype, pd.CategoricalDtype) and source.dtype != target.dtype:
        source = source.set_categories(target.categories)
    result = target.copy()
    result[to] = source
    return result


def difference(target: Any, source: Any, roles: tuple[str, str]) -> str:
    """Why a column cannot be written into one of another dtype; empty if it can. Only a categorical column can be, if
    all its values are categories of the target.

    Categories that the column does not use are ignored. In ordered dtypes the used categories must have one order on
    both sides.
    """
    other = source.dtype
    if not (isinstance(target, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype)):
        return f"is of {target} in {roles[0]}, {other} in {roles[1]}"
    used = source.remove_unused_categories().categories
    if target.ordered != other.ordered:
        return "has ordered categories on one side only: give both columns one CategoricalDtype"
    if len(used) and used.dtype != target.categories.dtype:
        return f"has categories of {target.categories.dtype} and of {used.dtype}"
    places = target.categories.get_indexer_for(used)  # get_indexer rejects intervals that overlap
    if (places < 0).any():
        return f"has no category {shown(used[places < 0][0])} in {roles[0]}: add it there first, by cat.add_categories"
    if target.ordered and (np.diff(places) < 0).any():
        return "has categories in another order: give both columns one CategoricalDtype"
    return ""


def wrapped(values: Any, index: Any) -> Any:
    """A column for a DataFrame's constructor, which would infer another dtype for a bare array of objects."""
    if isinstance(values.dtype, np.dtype) and values.dtype.kind == "O":
        return pd.Series(values, index=index, dtype=object, copy=False)
    return values


def is_fixed(values: Any) -> bool:
    """Whether values are an array of NumPy without references to Python objects."""
    return isinstance(values, np.ndarray) and values.dtype.kind != "O"


def is_arrow(values: Any) -> bool:
    """Whether values lie in memory of Arrow."""
    dtype = values.dtype
    return isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow")


def _arrow_taken(values: Any, other: Any, rows: _core.Selection) -> Any:
    """Rows of columns in Arrow memory, or None if a column cannot be joined to one chunk."""
    columns = [_one_chunk(column) for column in (values, other) if column is not None]
    if any(column is None for column in columns):
        return None
    tables = [_core.ArrowTable(column, False) for column in columns]
    result = tables[0].take(rows, tables[1] if other is not None else None, True)
    pa = importlib.import_module("pyarrow")
    return values.dtype.__from_arrow__(pa.chunked_array(result))


def _one_chunk(values: Any) -> Any:
    column = values.__arrow_array__()
    if not hasattr(column, "num_chunks"):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return None if hasattr(joined, "num_chunks") else joined
