"""nested.py: checks of nested lists before NumPy makes arrays of them: what an array of their items would lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter._libraries.columns import is_column, is_frame, is_scalar, scalar_of, values_of
from gatherscatter._libraries.recognise import is_masked_array, library_of, no_array
from gatherscatter.errors import is_large, type_name

__all__ = ["array_of_list", "check_items", "check_points"]

_PLAIN = frozenset((bool, int, float, complex, str, bytes, np.ndarray))
_TABLES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")


def check_items(op: str, role: str, values: Sequence[Any]) -> None:
    """Refuse what NumPy would read in another meaning: it drops masks, makes NaN of nulls, and arrays of tables.

    Raises
    ------
    TypeError
        If a list holds a masked array or a table.
    ValueError
        If it holds a column or an Arrow scalar with a null.
    """
    pending: list[Sequence[Any]] = [values]
    seen: set[int] = set()  # a list may contain itself
    while pending:
        items = pending.pop()
        if id(items) in seen:
            continue
        seen.add(id(items))
        if _PLAIN.issuperset(map(type, items)):
            continue
        for item in items:
            if isinstance(item, list | tuple):
                pending.append(item)
            elif type(item) not in _PLAIN:
                _check(op, role, item)


def array_of_list(op: str, role: str, values: Any) -> np.ndarray[Any, Any]:
    """The array that NumPy makes of a number or a nested list; a ragged list is named in the error."""
    nested = isinstance(values, list | tuple)
    if nested:
        check_items(op, role, values)
    try:
        return np.asarray(values)
    except ValueError as error:
        if not nested or "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{op}: {role} is a ragged {type(values).__name__}: the items of one level must be of one length ({error})"
        ) from None


def check_points(op: str, indices: Any) -> None:
    """Refuse a tuple of arrays as coordinates of points: in ``a[r, c]`` each array belongs to one axis.

    Raises
    ------
    TypeError
        If the indices are a tuple that holds an array. Numbers and lists in a tuple are one nested list.
    """
    is_by_points = op in ("gather_nd", "scatter_nd") and isinstance(indices, tuple)
    if not is_by_points or not any(map(is_large, indices)):
        return
    torch = any(library_of(item, ("torch",)) for item in indices)
    step = "torch.stack((r, c), dim=-1)" if torch else "np.stack((r, c), axis=-1)"
    raise TypeError(
        f"{op}: indices is a tuple of arrays, expected one array with the coordinates of each point along its last "
        f"axis; for the points of a[r, c] write {step}"
    )


def _check(op: str, role: str, item: Any) -> None:
    if is_masked_array(item):
        raise TypeError(
            f"{op}: {role} is a list that holds a {type_name(item)}, whose mask would be lost; "
            "x.filled(value) and x.data are arrays without a mask"
        )
    if is_column(item):
        values_of(op, role, item)
    elif is_scalar(item):
        scalar_of(op, role, item)
    elif library_of(item, _TABLES) and hasattr(type(item), "__array__") and is_frame(item):
        raise no_array(op, role, item, "a list of tables is not an array")
