"""late_parts.py: modules that lower layers need once an object of a library comes: the one place that names them.

No layer imports a higher one. What a lower layer uses of these modules, they register there themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["load"]

_PARTS = {
    "keys of pandas": "gatherscatter._table.pandas_keys",
    "keys of polars": "gatherscatter._table.polars_keys",
    "keys of pyarrow": "gatherscatter._table.pyarrow_keys",
    "operators of torch": "gatherscatter._torch.library",
    "tables of dask": "gatherscatter._dask.frames",
    "tables of duckdb": "gatherscatter._table.of_duckdb",
    "tables of narwhals": "gatherscatter._table.of_narwhals",
    "tables of pandas": "gatherscatter._table.of_pandas",
    "tables of polars": "gatherscatter._table.of_polars",
    "tables of pyarrow": "gatherscatter._table.of_pyarrow",
    "tables of pylibcudf": "gatherscatter._table.of_pylibcudf",
}


def load(part: str) -> Any:
    """The module of this name, imported when it is first asked for; None if there is none."""
    module = _PARTS.get(part)
    return None if module is None else import_module(module)
