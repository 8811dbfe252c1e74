"""row_lookup.py: the operator `table.rows_of`: the row numbers of keys, by a hash table of the caller's library."""

from __future__ import annotations

import importlib
from typing import Any, Literal

import numpy as np

from gatherscatter._libraries.late_parts import load
from gatherscatter._libraries.recognise import library_of
from gatherscatter._ops.gather import gather
from gatherscatter._ops.scatter import scatter
from gatherscatter._table.key_columns import Indices, KeyColumn, paired
from gatherscatter._table.messages import counted
from gatherscatter._table.near_keywords import explains_keywords
from gatherscatter._table.near_tables import no_table
from gatherscatter.errors import InvalidArgument, shown, type_name

__all__ = ["rows_of"]

OP = "table.rows_of"
LIBRARIES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "dask")
ENGINES = ("pandas", "polars")  # keys of all other libraries are read by pyarrow


@explains_keywords
def rows_of(keys: Any, wanted: Any, *, keep: Literal["first", "last"] | None = None) -> Any:
    """Find the rows of a table that have the wanted keys.

    ::

        result[i] = the row r for which keys[r] == wanted[i], or null if there is none

    With `gather` and ``bounds="nullify"`` it is a left join.

    Parameters
    ----------
    keys : table or column, n rows
        The key of each row: one column, or a table of which all columns together are the key, of pyarrow, polars,
        pandas (also an Index), DuckDB, or another object that exports Arrow memory.
    wanted : table or column, m rows, or a list or array of shape (m,)
        As many columns as `keys` has, which are matched by position; names may differ. A list or an array is one
        column.
    keep : {"first", "last"}, optional
        The row that is found of a key that occurs twice in `keys`. Without it, such a key is an error.

    Returns
    -------
    map, m rows
        Row numbers, and nulls, which `gather` and `scatter` take as they are. Where both sides are of pandas, or one is
        and the other is a list or an array, it is a Series of dtype Int64 with the labels of `wanted`; of polars in the
        same way a Series; else an Array of pyarrow, which must be installed then.

    Raises
    ------
    InvalidArgument
        If a key occurs twice in `keys` and `keep` is left out; it gives the key and the first two rows that have it. If
        the numbers of columns differ, or equal names are in another order. It is a ValueError.
    DataTypeError
        If the types of two columns are of different kinds, such as integers and text, or are no types of keys, such as
        lists. It is a ValueError and TypeError.
    TypeError
        If `keys` is not a table or column, or is lazy.
    ValueError
        If the value of `keep` is not one of those listed.

    Notes
    -----
    One rule holds for all libraries. Keys are equal if their values are: integers of any width, floats of any width
    and integers (2.0 is 2, but 2**53 + 1 is not 2.0**53), decimals and integers of any scale, text of any layout,
    categories and dictionaries by their values, times of any unit, and times with a zone by their instant. 0.0 is -0.0.
    A null, NaN or NaT in any column of a key is equal to nothing, as in a join of SQL, and may occur many times. A
    column of structs counts as its fields.

    The relation of DuckDB is run at the call, and again by the gather: its rows need an order, such as that of a table.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> import pyarrow as pa
    >>> planes = pa.table({"tail": ["N1", "N2", "N3"], "seats": [55, 149, 180]})
    >>> flights = pa.table({"tail": ["N3", "N9", None, "N1"]})
    >>> row = gs.table.rows_of(planes["tail"], flights["tail"])
    >>> row.to_pylist()
    [2, None, None, 0]
    >>> gs.table.gather(planes["seats"], row, bounds="nullify").to_pylist()
    [180, None, None, 55]
    """
    if keep not in (None, "first", "last"):
        raise ValueError(f'{OP}: keep is {shown(keep)}, expected "first" or "last", or None')
    keys, wanted, back = _native(keys), _native(wanted), _wrapper(wanted)
    engine = _engine(keys, wanted)
    own: list[KeyColumn] = engine.key_columns(OP, "keys", keys)
    theirs: list[KeyColumn] = engine.wanted_columns(OP, wanted, own)
    _check_columns(own, theirs)
    pairs = [paired(OP, *pair, engine) for pair in zip(own, theirs, strict=True)]
    known, asked, count = _codes(pairs, engine)
    rows = _rows_by_code(known, count, keep, own)
    found: Indices = gather(rows, asked, axis=0, bounds="fill", fill_value=-1, negative="out_of_bounds")
    return back(engine.as_map(found, wanted))


def _engine(keys: Any, wanted: Any) -> Any:
    """The module that reads both sides: that of their library if they share one, else that of pyarrow."""
    libraries = [library_of(each, LIBRARIES) for each in (keys, wanted)]
    for role, each, library in zip(("keys", "wanted"), (keys, wanted), libraries, strict=True):
        if library == "dask" or type(each).__name__ == "LazyFrame":
            step = "compute" if library == "dask" else "collect"
            raise TypeError(
                f"{OP}: {role} is a {type_name(each)}, and the rows of keys are found at the call: x.{step}() of the "
                "key columns gives them"
            )
    is_values = isinstance(wanted, (list, tuple, range, np.ndarray)) or not (libraries[1] or _exports_arrow(wanted))
    if not libraries[0] and not _exports_arrow(keys):
        raise no_table(OP, "keys", keys)
    same = libraries[0] == libraries[1] or is_values
    engine = libraries[0] if same and libraries[0] in ENGINES else "pyarrow"
    try:
        return load(f"keys of {engine}")
    except ModuleNotFoundError:
        raise TypeError(
            f"{OP}: keys is a {type_name(keys)}, wanted a {type_name(wanted)}: reading them together needs pyarrow, "
            "which is not installed"
        ) from None


def _exports_arrow(given: Any) -> bool:
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")


def _native(given: Any) -> Any:
    """What an object of narwhals wraps; other objects as they are."""
    return given.to_native() if library_of(given, ("narwhals",)) and hasattr(given, "to_native") else given


def _wrapper(wanted: Any) -> Any:
    if library_of(wanted, ("narwhals",)) and hasattr(wanted, "to_native"):
        wrap = importlib.import_module("narwhals").from_native
        return lambda rows: wrap(rows, allow_series=True, pass_through=True)
    return lambda rows: rows


def _check_columns(own: list[KeyColumn], theirs: list[KeyColumn]) -> None:
    if len(own) != len(theirs):
        raise InvalidArgument(
            f"{OP}: keys has {counted(len(own), 'column')}, wanted has {len(theirs)}; all columns are the key, so "
            "choose those of the key on both sides first"
        )
    if not own:
        raise InvalidArgument(f"{OP}: keys has no columns")
    names, others = [column.name for column in own], [column.name for column in theirs]
    if len(own) > 1 and names != others and sorted(map(repr, names)) == sorted(map(repr, others)):
        raise InvalidArgument(
            f"{OP}: columns match by position, and are in the order {shown(names)} in keys, {shown(others)} in wanted"
        )


def _codes(pairs: list[tuple[KeyColumn, KeyColumn]], engine: Any) -> tuple[Indices, Indices, int]:
    """For each key of both sides a number below `count`; -1 for one with a null, or of wanted keys one that is new.

    Columns are joined one by one: two numbers are made one, and numbered again, so that they stay below the rows.
    """
    known, asked, count = _column_codes(*pairs[0], engine)
    for pair in pairs[1:]:
        more_known, more_asked, more = _column_codes(*pair, engine)
        both, both_asked = _joined(known, more_known, more), _joined(asked, more_asked, more)
        known, asked, count = _column_codes(both, both_asked, engine)
    return known, asked, count


def _joined(first: Indices, second: Indices, most: int) -> KeyColumn:
    """One number for each pair of numbers, of which the second ones are below `most`."""
    valid = (first >= 0) & (second >= 0)
    return KeyColumn(None, "integer", (first * most + second)[valid], valid)


def _column_codes(keys: KeyColumn, wanted: KeyColumn, engine: Any) -> tuple[Indices, Indices, int]:
    known, asked, count = engine.codes(keys.values, wanted.values)
    return keys.spread(known), wanted.spread(asked), count


def _rows_by_code(known: Indices, count: int, keep: str | None, columns: list[KeyColumn]) -> Indices:
    """The row of each code, the first or the last one of a code that occurs twice."""
    rows = np.arange(len(known))
    options: Any = {"bounds": "drop", "negative": "out_of_bounds", "duplicates": keep or "first"}
    found: Indices = scatter(np.full(count, -1), 0, known, rows, **options)
    if keep is None and np.count_nonzero(known >= 0) > count:
        earlier = gather(found, known, axis=0, bounds="fill", fill_value=-1, negative="out_of_bounds")
        second = int(np.flatnonzero((known >= 0) & (earlier != rows))[0])
        first = int(earlier[second])
        key = tuple(column.item(first) for column in columns)
        raise InvalidArgument(
            f"{OP}: the key {shown(key[0] if len(key) == 1 else key)} occurs twice in keys, in rows {first} and "
            f'{second}; keep="first" or keep="last" chooses one'
        )
    return found
