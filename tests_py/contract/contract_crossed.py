"""contract_crossed.py: a small contract for every executor, with array and table operators.

Each pair of values of operator, backend, instruction set, bounds mode and index type occurs in at least one case; the
other factors of the contract take their values in turn. Backend and instruction set are read at import, so each pair of
them is an executor that needs a process of its own. Run as a program, this file runs the cases of the executor that the
environment selects, and prints one line of JSON: the executor, and the number of its cases.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable

import pyarrow as pa

import reference_table
from contract_run import CONTRACTS, check, who_ran
from gatherscatter import table
from pairwise import Row, all_pairs
from table_maps import INTEGERS, held_against, indices_for, is_signed, map_of, rng_of
from table_types import LAYOUTS, TYPES
from table_values import check as check_table
from table_values import lists_of, values, wrapped

CROSSED = ("operator", "backend", "isa", "bounds", "index_type")
EXECUTORS = {"backend": ("cpu", "reference"), "isa": ("baseline", "v3", "v4")}

TABLE_FACTORS: dict[str, tuple] = {
    "operator": ("gather", "segmented_gather", "scatter", "scatter_scalars"),
    "bounds": ("raise", "nullify", "unchecked"),
    "index_type": ("list", *INTEGERS),
    "values": ("inside", "signed", "outside", "none"),
    "type": ("int32", "string", "bool", "list[int16]", "dictionary[int8, string]", "decimal128"),
    "layout": ("plain", "nulls", "cut"),
}


def table_allows(case: Row) -> bool:
    """Scatters have one bounds mode, "unchecked" allows no bad rows, unsigned numbers are never negative."""
    get = case.get
    if get("operator") in ("scatter", "scatter_scalars") and get("bounds", "raise") != "raise":
        return False
    if get("operator") == "segmented_gather" and get("index_type") == "list":
        return False  # its map is a column of lists, not a list
    if get("values") == "signed" and not is_signed(get("index_type", "list")):
        return False
    return get("bounds") != "unchecked" or get("values") != "outside"


def check_rows(case: Row) -> None:
    """Compare one call of a table operator with naive loops."""
    rng, form, bounds = rng_of(case), case["index_type"], case["bounds"]
    column = LAYOUTS[case["layout"]](TYPES[case["type"]], rng)
    if case["operator"] == "segmented_gather":
        return check_segments(case, column)
    source = wrapped(column, "table")
    size = len(column)
    rows = indices_for(form, case["values"], size, 50, rng)
    gather_map, columns, signed = map_of(form, rows), lists_of(source), is_signed(form)
    if case["operator"] == "gather":
        answer = held_against(
            lambda: reference_table.gather(columns, size, rows, signed, bounds),
            lambda: table.gather(source, gather_map, bounds, negative="from_end"),
        )
    elif case["operator"] == "scatter":
        new = wrapped(LAYOUTS[case["layout"]](TYPES[case["type"]], rng), "table").slice(0, len(rows))
        answer = held_against(
            lambda: reference_table.scatter(lists_of(new), new.num_rows, rows, columns, size, signed),
            lambda: table.scatter(new, gather_map, source),
        )
    else:
        scalars = [source.column(i)[0] for i in range(source.num_columns)]
        answer = held_against(
            lambda: reference_table.scatter_scalars([x[0] for x in columns], rows, columns, size, signed),
            lambda: table.scatter(scalars, gather_map, source),
        )
    if answer is not None:
        check_table(answer[0], source, answer[1], bounds == "nullify")


def check_segments(case: Row, column: pa.ChunkedArray) -> None:
    """Compare segmented_gather of lists of up to four elements with naive loops."""
    rng, form, bounds = rng_of(case), case["index_type"], case["bounds"]
    elements = column.combine_chunks()
    starts, lengths = rng.integers(0, len(elements) - 4, 30), rng.integers(0, 5, 30)
    rows = [elements.slice(start, n).to_pylist() for start, n in zip(starts, lengths, strict=True)]
    lists = pa.array([None if k % 7 == 3 else row for k, row in enumerate(rows)], pa.list_(elements.type))
    want = values(lists)
    maps = []
    for row in want:
        size = len(row or ())
        outside = case["values"] == "outside" and (size == 0 or rng.random() < 0.2)
        maps.append(
            []
            if size == 0 and not outside
            else indices_for(form, "outside" if outside else case["values"], size, 3, rng)
        )
    gather_maps = pa.array(maps, pa.list_(pa.type_for_alias(form)))
    answer = held_against(
        lambda: reference_table.segmented_gather(want, maps, is_signed(form), bounds),
        lambda: table.segmented_gather(lists, gather_maps, bounds),
    )
    if answer is not None:
        check_table(answer[0], lists, [answer[1]])


class Registry:
    """The cases of one group of operators, and the function that checks a case."""

    def __init__(
        self, factors: dict[str, tuple], allows: Callable[[Row], bool], check: Callable[[Row], object]
    ) -> None:
        self.factors, self.allows, self.check = {**factors, **EXECUTORS}, allows, check

    @functools.cached_property
    def cases(self) -> list[Row]:
        return all_pairs(self.factors, self.allows, CROSSED)


REGISTRIES = {
    kind: Registry(contract.factors, contract.allows, functools.partial(check, contract))
    for kind, contract in CONTRACTS.items()
}
REGISTRIES["table"] = Registry(TABLE_FACTORS, table_allows, check_rows)


def cases_of(backend: str, isa: str) -> list[tuple[str, Row]]:
    """(kind, case) of all cases that this executor must run."""
    return [
        (kind, case)
        for kind, registry in REGISTRIES.items()
        for case in registry.cases
        if (case["backend"], case["isa"]) == (backend, isa)
    ]


def main() -> None:
    ran = who_ran()
    cases = cases_of(ran["backend"], ran["isa"])
    for kind, case in cases:
        try:
            REGISTRIES[kind].check({name: value for name, value in case.items() if name not in EXECUTORS})
        except BaseException as error:
            error.add_note(f"{kind}: {case}")
            raise
    print(json.dumps({**ran, "cases": len(cases)}))


if __name__ == "__main__":
    main()
