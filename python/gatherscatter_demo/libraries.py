"""libraries.py: calls of pyarrow, polars and pandas that do the work of `gs.table`, in their fastest forms."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Protocol

import numpy as np

from gatherscatter_demo.measure import Array


class Library(Protocol):
    """One table library.

    `own` converts tables and columns of pyarrow to those of the library. `new_rows` converts rows that are to be
    written into `target`; `rows` converts a map, in which null means no row. `equals` compares names, types, nulls,
    labels and values.
    """

    name: str

    def own(self, data: Any) -> Any: ...
    def new_rows(self, table: Any, target: Any) -> Any: ...
    def rows(self, rows: Any) -> Any: ...
    def equals(self, left: Any, right: Any) -> bool: ...
    def without_labels(self, table: Any) -> Any: ...
    def is_null(self, column: Any) -> Any: ...
    def take(self, table: Any, rows: Any) -> Any: ...
    def materialise(self, table: Any, rows: Any) -> Any: ...
    def replace(self, new: Any, at: Array, target: Any) -> Any: ...
    def replace_where(self, new: Any, target: Any, mask: Any) -> Any: ...
    def fill(self, column: Any, value: object) -> Any: ...


class Arrow:
    name = "pyarrow"

    def __init__(self) -> None:
        self.pa, self.pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")

    def own(self, data: Any) -> Any:
        return data

    def new_rows(self, table: Any, target: Any) -> Any:
        return table

    def rows(self, rows: Any) -> Any:
        return rows

    def equals(self, left: Any, right: Any) -> bool:
        alike = not hasattr(left, "schema") or left.schema.equals(right.schema, check_metadata=True)
        return alike and bool(left.equals(right))

    def without_labels(self, table: Any) -> Any:
        return table

    def is_null(self, column: Any) -> Any:
        return column.is_null()

    def take(self, table: Any, rows: Any) -> Any:
        return table.take(rows)

    def materialise(self, table: Any, rows: Any) -> Any:
        return table.take(rows)

    def replace(self, new: Any, at: Array, target: Any) -> Any:
        pick = np.arange(len(target))
        pick[at] = np.arange(len(target), len(target) + len(new))
        return self.pa.concat_tables([target, new]).take(pick)

    def replace_where(self, new: Any, target: Any, mask: Any) -> Any:
        return self.pa.table(
            [
                self.pc.replace_with_mask(old, mask, values.combine_chunks())
                for old, values in zip(target.columns, new.columns, strict=True)
            ],
            schema=target.schema,
        )

    def fill(self, column: Any, value: object) -> Any:
        return column.fill_null(value)


class Polars:
    name = "polars"

    def __init__(self) -> None:
        self.pl = importlib.import_module("polars")

    def own(self, data: Any) -> Any:
        return self.pl.from_arrow(data)

    def new_rows(self, table: Any, target: Any) -> Any:
        return self.own(table)

    def rows(self, rows: Any) -> Any:
        return self.pl.from_arrow(rows).cast(self.pl.get_index_type())

    def equals(self, left: Any, right: Any) -> bool:
        alike = left.schema == right.schema if hasattr(left, "schema") else left.dtype == right.dtype
        return alike and bool(left.equals(right, null_equal=True))

    def without_labels(self, table: Any) -> Any:
        return table

    def is_null(self, column: Any) -> Any:
        return column.is_null()

    def take(self, table: Any, rows: Any) -> Any:
        return table[rows]

    def materialise(self, table: Any, rows: Any) -> Any:
        return table.select(self.pl.all().gather(rows))

    def replace(self, new: Any, at: Array, target: Any) -> Any:
        return target.with_columns(target[name].scatter(at, new[name]) for name in target.columns)

    def replace_where(self, new: Any, target: Any, mask: Any) -> Any:
        return self.replace(new, mask.arg_true(), target)

    def fill(self, column: Any, value: object) -> Any:
        return column.fill_null(value)


class Pandas:
    name = "pandas"

    def __init__(self) -> None:
        self.testing = importlib.import_module("pandas.testing")

    def own(self, data: Any) -> Any:
        return data.to_pandas()

    def new_rows(self, table: Any, target: Any) -> Any:
        return self.own(table).astype(target.dtypes)  # integers without nulls may belong to a float column with NaN

    def rows(self, rows: Any) -> Any:
        return (rows.fill_null(-1) if rows.null_count else rows).to_numpy()  # -1 is no label: reindex() gives nulls

    def equals(self, left: Any, right: Any) -> bool:
        check = self.testing.assert_frame_equal if left.ndim == 2 else self.testing.assert_series_equal
        try:
            check(left, right, check_exact=True)
        except AssertionError:
            return False
        return True

    def without_labels(self, table: Any) -> Any:
        return table.reset_index(drop=True)

    def is_null(self, column: Any) -> Any:
        return column.isna()

    def take(self, table: Any, rows: Any) -> Any:
        return table.take(rows)

    def materialise(self, table: Any, rows: Any) -> Any:
        return table.reindex(rows)

    def replace(self, new: Any, at: Array, target: Any) -> Any:
        result = target.copy()
        result.loc[at] = new.set_axis(at)
        return result

    def replace_where(self, new: Any, target: Any, mask: Any) -> Any:
        result = target.copy()
        result.loc[mask] = new.to_numpy()  # the two columns have the same dtype, so that nothing is cast
        return result

    def fill(self, column: Any, value: object) -> Any:
        return column.fillna(value)


def installed() -> list[Library]:
    """All libraries that are installed; only polars may be missing."""
    return [Arrow(), *([Polars()] if importlib.util.find_spec("polars") else []), Pandas()]
