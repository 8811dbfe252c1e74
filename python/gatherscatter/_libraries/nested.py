"""nested.py: checks of nested lists before NumPy makes arrays of them: what an array of their items would lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gatherscatter._libraries.column_nulls import check_sizes
from gatherscatter._libraries.columns import is_column, is_frame, is_scalar, scalar_of, values_of
from gatherscatter._libraries.number_lists import plain_numbers
from gatherscatter._libraries.recognise import is_masked_array, library_of, no_array
from gatherscatter.errors import is_large, type_name

__all__ = ["array_as_numpy", "array_of_list", "check_index", "check_items", "has_arrays"]

_PLAIN = frozenset((bool, int, float, complex, str, bytes, np.ndarray))
_NUMBERS = frozenset((bool, int, list, tuple, range))
_TABLES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb")


def check_items(
    op: str, role: str, values: Sequence[Any], check: Callable[[str, str, Any], None] | None = None
) -> None:
    """Refuse what NumPy would read in another meaning: it drops masks, makes NaN of nulls, and arrays of tables.

    `check` is called in place of these checks, for each item that is no number.

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
                (check or _check)(op, role, item)


def array_as_numpy(op: str, role: str, values: Any) -> np.ndarray[Any, Any]:
    """The array that NumPy makes of a number or a nested list, which drops masks. Columns must have all their rows."""
    numbers = plain_numbers(values)
    if numbers is not None:
        return numbers
    if isinstance(values, list | tuple):
        check_items(op, role, values, _check_sizes)
    return np.asarray(values)


def array_of_list(op: str, role: str, values: Any) -> np.ndarray[Any, Any]:
    """The array that NumPy makes of a number or a nested list; a ragged list is named in the error."""
    numbers = plain_numbers(values)
    if numbers is not None:
        return numbers
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


def has_arrays(indices: Sequence[Any]) -> bool:
    """Whether an item is an array of any library and any rank, so that the items are one index for each axis."""
    return any(type(item) not in _NUMBERS and (is_large(item) or _is_array(item)) for item in indices)


def check_index(op: str, indices: Any) -> None:
    """Refuse a tuple of arrays where one index is expected: in ``x[r, c]`` each array belongs to one axis.

    Raises
    ------
    TypeError
        If the index is a tuple that holds an array of rank 1 or more. Numbers and lists in a tuple are a nested list.
    """
    if not isinstance(indices, tuple) or not any(type(item) not in _NUMBERS and is_large(item) for item in indices):
        return
    torch = any(library_of(item, ("torch",)) for item in indices)
    stack = "torch.stack((r, c), dim=-1)" if torch else "np.stack((r, c), axis=-1)"
    writes = "put" in op or "scatter" in op
    points = "x[r, c] = v is gs.scatter_nd(x, (r, c), v)" if writes else "x[r, c] is gs.gather_nd(x, (r, c))"
    raise TypeError(
        f"{op}: the index is a tuple of arrays, expected one array; {points}, which also takes the points as one "
        f"array, {stack}"
    )


def _is_array(item: Any) -> bool:
    kind = type(item)
    return not issubclass(kind, np.generic) and (hasattr(kind, "__array__") or hasattr(kind, "__dlpack__"))


def _check_sizes(op: str, role: str, item: Any) -> None:
    if is_column(item) and library_of(item, ("pyarrow",)):
        try:
            check_sizes(item)
        except BufferError as error:
            raise BufferError(f"{op}: {role} is a list with a {type_name(item)} that cannot be read: {error}") from None


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
