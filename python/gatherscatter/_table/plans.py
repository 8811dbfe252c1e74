"""plans.py: what `plan` and `explain` make of a function of `gatherscatter.table`: its keywords and the schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from gatherscatter._ops.plan import Plan, plan_by
from gatherscatter._ops.plan_html import as_html
from gatherscatter._settings.threads import get_num_threads
from gatherscatter._table.fill_values import read_fills
from gatherscatter._table.frames import BY_COLUMNS, ArrowFrame, frame_of, is_known, kind_of
from gatherscatter._table.maps import map_of, mask_of
from gatherscatter._table.messages import READ_BOUNDS, SIGNS, WRITE_BOUNDS, counted, require_bool, require_word
from gatherscatter._table.near_keywords import refuse_unknown
from gatherscatter._table.own_copies import own_copies
from gatherscatter._table.paths import is_in_files, is_of_pyarrow
from gatherscatter._table.schemas import Schema, rows_in, schema_of
from gatherscatter.errors import DataTypeError, type_name

__all__ = ["TablePlan", "make_plannable"]


class TablePlan(Plan[Any]):
    """A call of a function of `gatherscatter.table` with its keywords, and the schema that its tables must have.

    Calling it runs the function with other tables and maps; rows and row numbers are free. Of tables in files given as
    paths the schema is not known, and so it is not compared.

    Parameters
    ----------
    *data
        The tables and the map or mask, as in the function.

    Raises
    ------
    DataTypeError
        If a table has other columns or types than that of the plan.
    """

    __slots__ = ("_facts", "_function", "_keywords", "_role", "_schema")

    def __init__(
        self,
        function: Callable[..., Any],
        role: str,
        keywords: dict[str, Any],
        schema: Schema | None,
        facts: dict[str, Any],
    ) -> None:
        self._function, self._role, self._keywords = function, role, keywords
        self._schema, self._facts = schema, facts

    def __call__(self, *data: Any, **words: Any) -> Any:
        given = inspect.signature(self._function).bind(*data, **{**self._keywords, **words})
        table = given.arguments[self._role]
        found = schema_of(table)
        if found != self._schema:
            raise DataTypeError(f"{self._facts['op']}: {self._role} {_difference(self._schema, found)}")
        return self._function(*given.args, **given.kwargs)

    def scatter(self, *_: Any, **__: Any) -> Any:
        """Refused: a plan of a table call has one direction."""
        raise TypeError(
            f"Plan.scatter: this is a plan of {self._facts['op']}; plan gatherscatter.table.scatter instead"
        )

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by plain Python values.

        Returns
        -------
        dict
            ``op``, ``table`` (type of the table), ``schema`` (pairs of name and type; None for paths), ``rows``,
            ``map`` or ``mask`` (its type and length), ``result_rows`` (None where only the run can tell),
            ``moved_by`` (the library that takes the rows), ``threads`` and ``keywords``.
        """
        return {**self._facts, "keywords": _copied(self._facts["keywords"])}

    def __repr__(self) -> str:
        facts = self._facts
        columns = "columns known when it is read" if self._schema is None else counted(len(self._schema), "column")
        first = f"Plan({facts['op']}: {_summary(facts)}, {columns}; moved by {facts['moved_by']})"
        return "\n  ".join([first, *(f"{name}: {kind}" for name, kind in self._schema or ())])

    def _repr_html_(self) -> str:
        facts = self._facts
        keys = ("table", "rows", "map", "mask", "result_rows", "threads")
        shown: dict[str, Any] = {
            key.replace("_", " "): "known when it runs" if facts[key] is None else facts[key]
            for key in keys
            if key in facts
        }
        shown["columns"] = "unknown" if self._schema is None else len(self._schema)
        return as_html(f"Plan of {facts['op']}", shown, f"moved by {facts['moved_by']}", facts["schema"] or ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TablePlan) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((self._facts["op"], self._schema))

    def __reduce__(self) -> tuple[Any, ...]:
        return TablePlan, self._state()

    def _state(self) -> tuple[Any, ...]:
        return self._function, self._role, self._keywords, self._schema, self._facts


def _summary(facts: dict[str, Any]) -> str:
    rows, result = facts["rows"], facts["result_rows"]
    before = "rows known when it runs" if rows is None else counted(rows, "row")
    return f"{facts['table']}, {before}" + ("" if result is None else f" -> {counted(result, 'row')}")


def _difference(planned: Schema | None, found: Schema | None) -> str:
    if planned is None or found is None or len(planned) != len(found):
        sizes = [counted(len(each), "column") if each is not None else "columns in files" for each in (found, planned)]
        return f"has {sizes[0]}, the plan {sizes[1]}"
    at = next(i for i, (a, b) in enumerate(zip(found, planned, strict=True)) if a != b)
    (name, kind), (own, own_kind) = found[at], planned[at]
    return f"has column {at} {name!r} of {kind}, the plan {own!r} of {own_kind}"


def make_plannable(functions: dict[Callable[..., Any], tuple[str, str]]) -> None:
    """Have `plan` and `explain` take these functions, each with its parameters for the table and the map or mask."""
    for function, (role, selector) in functions.items():
        plan_by(function, partial(_planned, function, role, selector))


def _planned(function: Callable[..., Any], role: str, selector: str, *args: Any, **kwargs: Any) -> TablePlan:
    op = f"table.{function.__name__}"
    refuse_unknown(function, kwargs)
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    if "indices" in given:
        given[selector] = given.pop("indices")
    if role == "lhs" and kind_of(given.get(role)) is None and kind_of(given.get("rhs")) is not None:
        role = "rhs"  # the left side is scalars
    table, chosen = given.get(role), given.get(selector)
    for role_of_reader, value in ((role, table), (selector, chosen)):
        is_reader = is_of_pyarrow(value, "RecordBatchReader")
        if is_reader or _has_only_a_stream(value):
            once, step = ("can", "x.read_all()") if is_reader else ("has no length and may", "pyarrow.table(x)")
            raise TypeError(
                f"{op}: {role_of_reader} is a {type_name(value)}, which {once} be read only once, and making the plan "
                f"would use up its rows; {step} keeps them"
            )
    _check_keywords(op, given)
    in_files = function.__name__ == "gather" and is_in_files(table)
    frame: Any = None
    if not in_files:
        frame = frame_of(op, role, table, given.get("validate", "basic"), given.get("columns"))
    count = None
    if function.__name__ != "segmented_gather" and not getattr(frame, "tasks_of", ""):
        read = mask_of if selector == "boolean_mask" else map_of
        numbers, _ = read(op, chosen)
        count = len(numbers) if hasattr(numbers, "__len__") else getattr(numbers, "shape", (None,))[0]
    rows = rows_in(table)
    result = {"gather": count, "filter": None}.get(function.__name__, rows)
    keywords = _copied({name: value for name, value in given.items() if name in _KEYWORDS})
    schema = schema_of(table)
    name = "mask" if selector == "boolean_mask" else "map"
    facts = {
        "op": op,
        "table": type_name(table),
        "schema": None if schema is None else tuple((str(column), kind) for column, kind in schema),
        "rows": rows,
        name: type_name(chosen) + ("" if count is None else f" of {count:,}"),
        "result_rows": result,
        "moved_by": frame.moved_by(function.__name__, rows, result) if frame is not None else BY_COLUMNS,
        "threads": get_num_threads(),
        "keywords": _copied(keywords),
    }
    return TablePlan(function, role, keywords, schema, facts)


def _has_only_a_stream(value: Any) -> bool:
    """Whether an object of an unknown library exports a stream and has no length, as a reader and unlike a table."""
    if not hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return False
    if kind_of(value) is not ArrowFrame or is_known(value):
        return False
    return not any(hasattr(value, name) for name in ("__len__", "num_rows", "height", "shape"))


_KEYWORDS = ("bounds", "columns", "negative", "validate", "memory_budget", "index", "fill_value", "partial")


def _copied(keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords apart from those of the caller, who may change his list of columns or dict of values."""
    return dict(zip(keywords, own_copies(*keywords.values()), strict=True))


def _check_keywords(op: str, given: dict[str, Any]) -> None:
    """Raise the errors of the call for keywords of a wrong value."""
    words = {
        "bounds": WRITE_BOUNDS if op == "table.scatter" else READ_BOUNDS,
        "negative": SIGNS,
        "index": ("take", "reset"),
        "validate": ("basic", "full"),
    }
    for name, accepted in words.items():
        if name in given and (name != "negative" or given[name] is not None):
            require_word(op, name, given[name], accepted)
    require_bool(op, "partial", given.get("partial", False))
    read_fills(op, given.get("bounds", "raise"), given.get("fill_value"))
