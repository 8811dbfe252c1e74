"""categories.py: one categorical dtype for the partitions of a Dask frame, which may differ in their categories."""

from __future__ import annotations

import graphlib
import importlib
from typing import Any

__all__ = ["recoded", "union_of"]


def union_of(dtypes: list[Any]) -> Any:
    """A categorical dtype with the categories of all of these.

    It is ordered where all are, and where their orders together leave one order of all categories. Any other order
    would be invented. So else the categories are in the order in which they occur, and the dtype has no order, as that
    of ``union_categoricals(..., ignore_order=True)``.
    """
    first = dtypes[0]
    if all(_is_same(each, first) for each in dtypes):
        return first
    pd: Any = importlib.import_module("pandas")
    own = [each for each in dtypes if len(each.categories)] or [first]
    kinds = {str(each.categories.dtype) for each in own}
    parts = [each.categories if len(kinds) == 1 else each.categories.astype(object) for each in own]
    union = parts[0].append(parts[1:]).unique()
    order = _order_of(parts) if all(each.ordered for each in own) else None
    if order is None:
        return pd.CategoricalDtype(union, ordered=False)
    places = {category: at for at, category in enumerate(union)}
    return pd.CategoricalDtype(union.take([places[category] for category in order]), ordered=True)


def _is_same(mine: Any, other: Any) -> bool:
    """Whether two dtypes have the same categories in the same order. (pandas' == raises for intervals that overlap.)"""
    return bool(mine.ordered == other.ordered and mine.categories.equals(other.categories))


def _order_of(parts: list[Any]) -> list[Any] | None:
    """The only order of all categories in which those of each part have their order; None if there is none, or more."""
    graph: graphlib.TopologicalSorter[Any] = graphlib.TopologicalSorter()
    for categories in parts:
        before: tuple[Any, ...] = ()
        for category in categories:
            graph.add(category, *before)
            before = (category,)
    try:
        graph.prepare()
    except graphlib.CycleError:
        return None
    order: list[Any] = []
    while graph.is_active():
        ready = graph.get_ready()
        if len(ready) > 1:
            return None
        order += ready
        graph.done(*ready)
    return order


def recoded(codes: Any, dtype: Any, name: Any, is_index: bool) -> Any:
    """A categorical array, or row labels, of these codes; -1 is a missing value."""
    pd: Any = importlib.import_module("pandas")
    made = pd.Categorical.from_codes(codes, dtype=dtype)
    return pd.CategoricalIndex(made, name=name) if is_index else made
