"""pandas_labels.py: row labels of gathered rows of pandas, which are never rounded, and the error for equal ones."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gatherscatter._table.pandas_columns import SelectedRows, values_of
from gatherscatter._table.pandas_exact import as_nullable, is_rounded, may_round, with_exact_gaps
from gatherscatter.errors import InvalidArgument

__all__ = ["duplicate_labels", "taken_labels"]

pd: Any = importlib.import_module("pandas")


class DuplicateLabels(InvalidArgument, pd.errors.DuplicateLabelError):  # type: ignore[misc]  # pandas is untyped here
    """Rows with equal labels for a result that, like its source, does not allow them; also an error of pandas."""


def duplicate_labels(op: str) -> DuplicateLabels:
    """The error for a gather that repeats a label."""
    return DuplicateLabels(
        f"{op}: the result has rows with equal labels, and the source does not allow them "
        '(flags.allows_duplicate_labels is False); index="reset" gives fresh labels, '
        "source.set_flags(allows_duplicate_labels=True) allows equal ones"
    )


def taken_labels(index: Any, selected: SelectedRows) -> Any:
    """Row labels of a result. They are taken like a column, so a missing row has a missing label.

    Integers become those of a nullable dtype then, whatever their values: a rounded label is one of another row.
    """
    positions = selected.positions
    if not selected.rows.missing:
        return index.take(positions)
    if isinstance(index, pd.MultiIndex):
        # -1 means missing in positions and codes.
        empty = np.full(len(positions), -1)
        codes = [np.where(positions < 0, -1, code[positions]) if len(code) else empty for code in index.codes]
        levels = [_nullable_level(level) for level in index.levels]
        return pd.MultiIndex(levels, codes, names=index.names, verify_integrity=False)
    # The labels of the rows alone: those of a RangeIndex are no array yet.
    present = ~selected.gaps
    values = values_of(index.take(positions[present]))
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        values = as_nullable(values, selected.gaps)
    elif may_round(values.dtype) and is_rounded(values):
        values = with_exact_gaps(values, selected.gaps)
    else:
        spread = np.where(present, np.cumsum(present) - 1, -1)
        values = pd.api.extensions.take(values, spread, allow_fill=True)
    return pd.Index(values, dtype=values.dtype, name=index.name, tupleize_cols=False)


def _nullable_level(level: Any) -> Any:
    """A level that has a missing label without a change of its others; pandas makes floats of integers there."""
    values, no_gaps = values_of(level), np.zeros(len(level), bool)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return pd.Index(as_nullable(values, no_gaps), name=level.name)
    if may_round(values.dtype) and is_rounded(values):
        return pd.Index(with_exact_gaps(values, no_gaps), name=level.name, dtype=object)
    return level
