"""of_duckdb.py: the frame for DuckDB's relations."""

from __future__ import annotations

from typing import Any

from gatherscatter import _core
from gatherscatter._table.frames import ArrowFrame
from gatherscatter.errors import DataTypeError, InvalidArgument

__all__ = ["FRAMES"]

# DuckDB exports these types as other Arrow types, from which they cannot be restored.
NOT_IN_ARROW = ("bit", "time with time zone")


class RelationFrame(ArrowFrame):
    """A relation. The constructor runs its query once; the result is a relation of its connection over the rows."""

    __slots__ = ()
    form = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        for name, kind in zip(source.columns, source.types, strict=True):
            if not _in_arrow(kind):
                raise DataTypeError(
                    f"{op}: column {name!r} is of DuckDB's type {kind}, which Arrow does not have: cast it first"
                )
        super().__init__(op, source, full)

    @staticmethod
    def names_of(source: Any) -> list[Any]:
        return list(source.columns)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        if not places:
            raise InvalidArgument("table.gather: columns is empty, but DuckDB has no relation without columns")
        return source.project(", ".join(quoted(source.columns[at]) for at in places))

    def back(self, result: _core.ArrowTable) -> Any:
        connection = getattr(self.source, "_con", None)
        rows = connection.from_arrow(result) if connection is not None else by_query(self.source, result)
        if rows.types == self.source.types and rows.columns == self.source.columns:
            return rows
        # DuckDB exports enums, UUIDs, wide integers and JSON as simpler types, so the result is cast back. DuckDB also
        # numbers duplicate column names on import, so the names are restored.
        casts = (
            f"CAST(#{at} AS {kind}) AS {quoted(name)}"
            for at, (name, kind) in enumerate(zip(self.source.columns, self.source.types, strict=True), 1)
        )
        return rows.project(", ".join(casts))


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def by_query(relation: Any, gatherscatter_rows: _core.ArrowTable) -> Any:
    """A relation over an Arrow table in the connection of `relation`, for versions of DuckDB that do not expose it.

    DuckDB finds the table by the name of the Python variable, here the argument `gatherscatter_rows`.
    """
    return relation.query("gatherscatter_source", "SELECT * FROM gatherscatter_rows")


def _in_arrow(kind: Any) -> bool:
    if kind.id in NOT_IN_ARROW:
        return False
    if kind.id not in ("list", "array", "struct", "map", "union"):
        return True
    return all(_in_arrow(child) for _, child in kind.children if isinstance(child, type(kind)))


FRAMES = {"DuckDBPyRelation": RelationFrame}
