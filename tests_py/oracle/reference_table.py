"""reference_table.py: the definition of the table operators as naive loops over rows of Python objects.

A table is a list of columns, a column a list, None is null. The rules are those of libcudf's documents. Where these
leave something undefined: a bad index is an error, the last of several writes to a row is kept, a null in a mask is
false.
"""

from __future__ import annotations

from typing import Any

Column = list[Any]
Table = list[Column]


class Outside(Exception):
    """Row numbers out of range: the first position, its number, and their count."""

    def __init__(self, position: tuple[int, ...], index: int, size: int, count: int) -> None:
        self.position, self.index, self.size, self.count = position, index, size, count


class NullIndex(Exception):
    """A null in a map: its first position."""

    def __init__(self, position: tuple[int, ...]) -> None:
        self.position = position


class TooFewRows(Exception):
    """A source with fewer rows than must be written."""


class WrongLength(Exception):
    """A mask whose length is not that of its table."""


def row_of(index: int | None, size: int, signed: bool) -> int | None:
    """The row of an index, None if there is none. Only signed integers count from the end, and only once."""
    if index is None:
        return None
    if signed and index < 0:
        index += size
    return index if 0 <= index < size else None


def resolved(indices: list[int | None], size: int, signed: bool, bounds: str = "raise") -> list[int | None]:
    """The row of every index; None occurs only under "nullify" and "drop"."""
    rows = [row_of(index, size, signed) for index in indices]
    if bounds not in ("nullify", "drop"):
        for place, index in enumerate(indices):
            if index is None:
                raise NullIndex((place,))
        outside = [place for place, row in enumerate(rows) if row is None]
        if outside:
            raise Outside((outside[0],), indices[outside[0]], size, len(outside))
    return rows


def gather(source: Table, size: int, indices: list[int | None], signed: bool = True, bounds: str = "raise") -> Table:
    """result[i] = source[indices[i]] for a table of `size` rows; under "nullify" null for a row that does not exist."""
    rows = resolved(indices, size, signed, bounds)
    return [[None if row is None else column[row] for row in rows] for column in source]


def scatter(
    source: Table,
    source_size: int,
    indices: list[int | None],
    target: Table,
    size: int,
    signed: bool = True,
    bounds: str = "raise",
):
    """A copy of target; then result[indices[i]] = source[i], in order of i; under "drop" only for rows that exist."""
    if len(indices) > source_size:
        raise TooFewRows
    rows = resolved(indices, size, signed, bounds)
    result = [list(column) for column in target]
    for place, row in enumerate(rows):
        for column, new in zip(result, source, strict=True):
            if row is not None:
                column[row] = new[place]
    return result


def scatter_scalars(
    scalars: list[Any],
    indices: list[int | None],
    target: Table,
    size: int,
    signed: bool = True,
    bounds: str = "raise",
):
    """A copy of target; then result[indices[i]] = scalars."""
    rows = [[value] * len(indices) for value in scalars]
    return scatter(rows, len(indices), indices, target, size, signed, bounds)


def true_rows(mask: list[bool | None], size: int) -> list[int]:
    """The rows where the mask is true; null is false."""
    if len(mask) != size:
        raise WrongLength
    return [row for row, bit in enumerate(mask) if bit is True]


def boolean_mask_scatter(source: Table, source_size: int, target: Table, size: int, mask: list[bool | None]) -> Table:
    """A copy of target in which the i-th row where the mask is true becomes row i of source."""
    return scatter(source, source_size, true_rows(mask, size), target, size)


def boolean_mask_scatter_scalars(scalars: list[Any], target: Table, size: int, mask: list[bool | None]) -> Table:
    """A copy of target in which every row where the mask is true becomes the scalars."""
    return scatter_scalars(scalars, true_rows(mask, size), target, size)


def filter(source: Table, size: int, mask: list[bool | None]) -> Table:
    """The rows of source where the mask is true."""
    return gather(source, size, true_rows(mask, size))


def copy_if_else(lhs: Table, rhs: Table, size: int, mask: list[bool | None]) -> Table:
    """Row i of lhs where the mask is true, else of rhs."""
    chosen = set(true_rows(mask, size))
    return [
        [(one if row in chosen else other)[row] for row in range(size)] for one, other in zip(lhs, rhs, strict=True)
    ]


def segmented_gather(lists: Column, maps: list[list[int | None]], signed: bool = True, bounds: str = "raise") -> Column:
    """result[i][j] = lists[i][maps[i][j]]; null if lists[i] is null."""
    if len(maps) != len(lists):
        raise WrongLength
    result: Column = []
    for elements, indices in zip(lists, maps, strict=True):
        if elements is None:
            result.append(None)
            continue
        rows = [row_of(index, len(elements), signed) for index in indices]
        result.append([None if row is None else elements[row] for row in rows])
    if bounds != "nullify":
        check_segments(lists, maps, signed)
    return result


def check_segments(lists: Column, maps: list[list[int | None]], signed: bool) -> None:
    """Check that every index is in range for its list. The map of a null list is not checked for range."""
    outside = []
    for i, (elements, indices) in enumerate(zip(lists, maps, strict=True)):
        for j, index in enumerate(indices):
            if index is None:
                raise NullIndex((i, j))
            if elements is not None and row_of(index, len(elements), signed) is None:
                outside.append((i, j, index, len(elements)))
    if outside:
        i, j, index, size = outside[0]
        raise Outside((i, j), index, size, len(outside))
