"""duckdb_export.py: which types and values DuckDB's export to Arrow changes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gatherscatter.errors import DataTypeError, shown

__all__ = ["guarded", "quoted", "unlike_arrow"]

# DuckDB exports these types as other Arrow types, from which they cannot be restored.
_NOT_IN_ARROW = ("bit", "time with time zone")
# Arrow's interval has nanoseconds in 64 bits, and wide integers go out as decimals of 128 bits; both wrap silently.
_MOST_MICROSECONDS = (2**63 - 1) // 1000
_MOST_OF_DECIMAL = 2**127 - 1
_MARK = "gatherscatter: not in Arrow: column "


def unlike_arrow(kind: Any, in_array: bool = False) -> bool:
    """Whether DuckDB cannot restore a type from Arrow, such as enums inside of arrays, of which it reads the keys."""
    if kind.id in _NOT_IN_ARROW or (in_array and kind.id == "enum"):
        return True
    return any(unlike_arrow(child, in_array or kind.id == "array") for _, child in _children(kind))


@contextmanager
def guarded(op: str, relation: Any) -> Iterator[Any]:
    """A relation with the rows of another, whose export to Arrow raises DataTypeError where it would change a value.

    The check is a part of the query, which therefore runs once.
    """
    checks = [_exact(kind, f"#{at}", 0) for at, kind in enumerate(relation.types, 1)]
    if not any(checks):
        yield relation
        return
    columns = (
        f"{value if check is None else _checked(value, check, at)} AS {quoted(name)}"
        for at, (name, check) in enumerate(zip(relation.columns, checks, strict=True))
        for value in [f"#{at + 1}"]
    )
    try:
        yield relation.project(", ".join(columns))
    except (importlib.import_module("duckdb").Error, ValueError, OSError, RuntimeError) as error:
        _, mark, rest = str(error).partition(_MARK)
        if not mark:
            raise
        at = int(rest.split(";")[0])
        raise DataTypeError(
            f"{op}: column {shown(relation.columns[at])} of DuckDB's type {relation.types[at]} has a value that Arrow "
            "does not hold, an interval of more than 2**63 nanoseconds or an integer of 2**127 or more: cast it first"
        ) from None


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _checked(value: str, check: str, at: int) -> str:
    return f"CASE WHEN coalesce({check}, true) THEN {value} ELSE error('{_MARK}{at};') END"


def _exact(kind: Any, value: str, depth: int) -> str | None:
    """The condition in SQL that Arrow holds a value; None if it holds all of a type. NULL stands for true."""
    if kind.id == "interval":
        parts = (
            f"datepart('hour', {value})::HUGEINT * 3600000000",
            f"datepart('minute', {value}) * 60000000",
            f"datepart('microseconds', {value})",
        )
        return f"abs({' + '.join(parts)}) <= {_MOST_MICROSECONDS}"
    if kind.id == "uhugeint":
        return f"{value} <= {_MOST_OF_DECIMAL}"
    children = _children(kind)
    if kind.id in ("struct", "tuple"):
        names = [repr(at) if not name else _text(name) for at, (name, _) in enumerate(children, 1)]
        parts_of = [f"struct_extract({value}, {name})" for name in names]
    elif kind.id == "union":
        parts_of = [f"union_extract({value}, {_text(name)})" for name, _ in children]
    elif kind.id == "map":
        parts_of = [f"map_keys({value})", f"map_values({value})"]
    else:
        parts_of = [f"CAST({value} AS {child}[])" for _, child in children]
    item = f"gatherscatter_{depth}"
    checks = []
    for (_, child), part in zip(children, parts_of, strict=True):
        inside = kind.id in ("struct", "tuple", "union")
        check = _exact(child, part if inside else item, depth + 1)
        if check is not None:
            check = check if inside else f"list_bool_and([{check} for {item} in {part}])"
            checks.append(f"coalesce({check}, true)")
    return " AND ".join(checks) or None


def _children(kind: Any) -> list[tuple[str, Any]]:
    """Names and types of what a nested type consists of."""
    if kind.id not in ("list", "array", "struct", "tuple", "map", "union"):
        return []
    children = [(name, child) for name, child in kind.children if isinstance(child, type(kind))]
    return children[1:] if kind.id == "union" and children and not children[0][0] else children


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
