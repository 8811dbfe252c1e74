"""pandas_columns.py: takes rows of one pandas column, and writes rows of one column into another, by dtype."""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._table.arrow_types import with_type
from gatherscatter._table.pandas_exact import is_rounded, may_round, with_exact_gaps
from gatherscatter.errors import shown

__all__ = [
    "SelectedRows",
    "difference",
    "is_arrow",
    "is_fixed",
    "merged",
    "short_buffers",
    "taken",
    "values_of",
    "wrapped",
]

pd: Any = importlib.import_module("pandas")
take = pd.api.extensions.take


class SelectedRows:
    """A selection of rows, and arrays derived from it that are computed at most once for all columns."""

    def __init__(self, rows: _core.Selection, size: int) -> None:
        self.rows = rows
        self.size = size
        self._by_lengths: dict[tuple[int, ...], _core.Selection] = {}

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

    def in_chunks(self, lengths: tuple[int, ...]) -> _core.Selection:
        """The selection for a column of one piece that lies in chunks of these lengths."""
        found = self._by_lengths.get(lengths)
        if found is None:
            given = "nullify", "out_of_bounds", -1
            found = self._by_lengths[lengths] = _core.Selection.gather("take", self.positions, None, lengths, *given)
        return found


def values_of(column: Any) -> Any:
    """The values of a Series or Index without a copy: a NumPy array for NumPy's dtypes, else an extension array."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def taken(values: Any, selected: SelectedRows) -> Any:
    """The selected rows. If some are missing, the dtype becomes one that has a missing value, as in pandas."""
    missing = selected.rows.missing > 0
    if missing and may_round(values.dtype):
        exact = _exactly_taken(values, selected)
        if exact is not None:
            return exact
    if is_fixed(values):
        found = selected.rows.take([values])
        return _with_gaps(found, values, selected) if missing else found
    if isinstance(values, np.ndarray):
        return take(values, selected.positions, allow_fill=True)  # twice as fast as allow_fill=False
    if is_arrow(values):
        return _arrow_taken(values, None, selected)
    return values.take(selected.positions, allow_fill=missing)


def _exactly_taken(values: Any, selected: SelectedRows) -> Any:
    """The selected rows of integers that floats would round; None if pandas' own dtype holds them."""
    if len(values) == 0 or not is_rounded(values):  # of all rows: for most columns this takes one pass
        return None
    present = values.take(selected.positions[~selected.gaps])
    return with_exact_gaps(present, selected.gaps) if is_rounded(present) else None


def _with_gaps(found: Any, values: Any, selected: SelectedRows) -> Any:
    none = values[:0].astype(values.dtype.newbyteorder("="), copy=False)  # pandas takes none of the other byte order
    filler = take(none, np.array([-1]), allow_fill=True)  # pandas chooses the missing value and the dtype
    found = found.astype(filler.dtype, copy=False)
    found[selected.gaps] = filler[0]
    return found


def merged(target: Any, source: Any, selected: SelectedRows) -> Any:
    """A copy of the target's values in which the selected rows of the source replace rows of the target."""
    if is_fixed(target):
        return selected.rows.take([target, source])
    if is_arrow(target):
        return _arrow_taken(target, source, selected)
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
    """A column for a DataFrame, which would infer another dtype, of text or times, for a bare array of objects."""
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


def short_buffers(source: Any) -> str:
    """What is wrong with a column or index in Arrow memory whose buffers are shorter than its rows, as one that was
    read from a corrupt file: pandas would read beyond them. Empty if there is none."""
    arrays = getattr(getattr(source, "_mgr", None), "arrays", None)  # without the objects that public columns are
    if arrays is None:
        arrays = [source.array] if source.ndim == 1 else [source.iloc[:, at].array for at in range(source.shape[1])]
    indexes = source.index.levels if isinstance(source.index, pd.MultiIndex) else (source.index,)
    labels = [index.array for index in indexes if isinstance(index.dtype, pd.api.extensions.ExtensionDtype)]
    for values in (*arrays, *labels):
        if not isinstance(values, np.ndarray) and is_arrow(values):
            try:
                values.__arrow_array__().validate()
            except ValueError as error:  # ArrowInvalid
                return str(error)
    return ""


def _arrow_taken(values: Any, other: Any, selected: SelectedRows) -> Any:
    """Rows of columns in Arrow memory, which are read in their chunks."""
    pa = importlib.import_module("pyarrow")
    chunks = [_chunks_of(column) for column in (values, other) if column is not None]
    if all(len(each) == 1 for each in chunks):
        tables = [_core.ArrowTable(each[0], False) for each in chunks]
        result = tables[0].take(selected.rows, tables[1] if other is not None else None, True)
    else:
        joined = pa.chunked_array([chunk for each in chunks for chunk in each])
        table = _core.ArrowTable(joined, False)
        result = table.take(selected.in_chunks(table.lengths), None, True)
    column = pa.chunked_array(result)
    kind = getattr(values.dtype, "pyarrow_dtype", column.type)  # a StringDtype has none
    return values.dtype.__from_arrow__(with_type(column, kind))


def _chunks_of(values: Any) -> list[Any]:
    """The chunks of an array in Arrow memory, at least one."""
    column = values.__arrow_array__()
    if not hasattr(column, "chunks"):
        return [column]
    return list(column.chunks) or [column.combine_chunks()]
