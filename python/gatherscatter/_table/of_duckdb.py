"""of_duckdb.py: the frame for DuckDB's relations."""

from __future__ import annotations

import importlib
import uuid
from typing import Any

from gatherscatter import _core
from gatherscatter._table.arrow_scalars import refusal
from gatherscatter._table.duckdb_export import guarded, quoted, unlike_arrow
from gatherscatter._table.frames import ArrowFrame, Roles
from gatherscatter._table.messages import called
from gatherscatter._table.registry import register
from gatherscatter.errors import DataTypeError, InvalidArgument

__all__: list[str] = []  # the frames register themselves


class RelationFrame(ArrowFrame):
    """A relation. The constructor runs its query once; the result is a relation of its connection over the rows."""

    __slots__ = ()
    form = True

    def __init__(self, op: str, source: Any, full: bool) -> None:
        for name, kind in zip(source.columns, source.types, strict=True):
            if unlike_arrow(kind):
                raise DataTypeError(
                    f"{op}: column {name!r} is of DuckDB's type {kind}, which DuckDB cannot read back from Arrow: "
                    "cast it first"
                )
        with guarded(op, source) as rows:
            super().__init__(op, rows, full)
        self.source = source

    @staticmethod
    def names_of(source: Any) -> list[Any]:
        return list(source.columns)

    @staticmethod
    def part(source: Any, places: list[int]) -> Any:
        if not places:
            raise InvalidArgument("table.gather: columns is empty, but DuckDB has no relation without columns")
        return source.project(", ".join(quoted(source.columns[at]) for at in places))

    def of_places(self, op: str, places: list[int]) -> Any:
        part = PartFrame.__new__(PartFrame)
        part.source = self.source.project(", ".join(f"#{at + 1} AS {quoted(self.source.columns[at])}" for at in places))
        part.table = self.table.with_columns(places)
        return part

    def check_types(self, op: str, other: Any, roles: Roles) -> None:
        super().check_types(op, other, roles)
        names, mine = self.source.columns, self.source.types
        if not isinstance(other, RelationFrame):
            for name, kind, error in self._misfits(other.table):
                raise DataTypeError(
                    f"{op}: {called(name)} is of DuckDB's type {kind} in {roles[0]}, which does not hold each value "
                    f"of {roles[1]}{error}"
                )
            return
        for name, one, two in zip(names, mine, other.source.types, strict=True):
            if one != two:  # Arrow has no such types, so they were equal there
                raise DataTypeError(
                    f"{op}: {called(name)} is of DuckDB's type {one} in {roles[0]}, {two} in {roles[1]}: cast it first"
                )

    def one_row(self, op: str, values: list[Any]) -> Any:
        kinds = self.source.types
        texts = [
            str(value) if isinstance(value, uuid.UUID) and kind.id == "uuid" else value
            for value, kind in zip(values, kinds, strict=True)
        ]
        row = super().one_row(op, texts)
        for name, kind, _ in self._misfits(row.table):
            raise refusal(op, name, kind, values[self.source.columns.index(name)])
        return row

    def _misfits(self, table: _core.ArrowTable) -> list[tuple[str, Any, str]]:
        """The columns of a table in Arrow that have a value that DuckDB's type does not hold without a change.

        DuckDB exports enums, UUIDs, JSON and wide integers as types that hold more than they do.
        """
        error = importlib.import_module("duckdb").Error
        found = []
        rows = self._imported(table)
        for at, (name, kind, given) in enumerate(zip(self.source.columns, self.source.types, rows.types, strict=True)):
            if given == kind:
                continue
            value = f"#{at + 1}"
            try:
                changed = rows.project(f"CAST(CAST({value} AS {kind}) AS {given}) IS DISTINCT FROM {value} AS changed")
                if changed.filter("changed").limit(1).fetchall():
                    found.append((name, kind, ""))
            except error as reason:
                found.append((name, kind, f" ({str(reason).splitlines()[0]})"))
        return found

    def _imported(self, table: _core.ArrowTable) -> Any:
        connection = getattr(self.source, "_con", None)
        return connection.from_arrow(table) if connection is not None else by_query(self.source, table)

    def back(self, result: _core.ArrowTable) -> Any:
        rows = self._imported(result)
        if rows.types == self.source.types and rows.columns == self.source.columns:
            return rows
        # DuckDB exports enums, UUIDs, wide integers and JSON as simpler types, so the result is cast back. DuckDB also
        # numbers duplicate column names on import, so the names are restored.
        casts = (
            f"CAST(#{at} AS {kind}) AS {quoted(name)}"
            for at, (name, kind) in enumerate(zip(self.source.columns, self.source.types, strict=True), 1)
        )
        return rows.project(", ".join(casts))


class PartFrame(RelationFrame):
    """Some columns of a relation, whose results stay in Arrow."""

    __slots__ = ()

    def back(self, result: _core.ArrowTable) -> Any:
        return result


def by_query(relation: Any, gatherscatter_rows: _core.ArrowTable) -> Any:
    """A relation over an Arrow table in the connection of `relation`, for versions of DuckDB that do not expose it.

    DuckDB finds the table by the name of the Python variable, here the argument `gatherscatter_rows`.
    """
    return relation.query("gatherscatter_source", "SELECT * FROM gatherscatter_rows")


register("duckdb", DuckDBPyRelation=RelationFrame)
