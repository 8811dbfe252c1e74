"""near_keywords.py: the error for a keyword that a function of `gatherscatter.table` lacks, and what it has instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["explains_keywords", "refuse_unknown"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MAPS = ("gather_map", "scatter_map", "gather_map_list")
_MASKS = ("boolean_mask",)
_ROWS = ("source", "input", "lhs")
_TABLES = ("target", "source", "lhs")
# By keyword of another function or library: the keywords of these functions with its meaning.
_NEAR: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("map", "index", "indices", "indexer", "rows", "row_numbers", "ids", "indexes", *_MAPS), _MAPS),
    **dict.fromkeys(("mask", "where", "condition", "cond", "predicate", *_MASKS), _MASKS),
    **dict.fromkeys(("src", "values", "value", "updates", "scalars", *_ROWS), _ROWS),
    **dict.fromkeys(("table", "df", "frame", "data", "column", "target_table", "into", *_TABLES), _TABLES),
    **dict.fromkeys(("other", "when_false", "y"), ("rhs",)),
    **dict.fromkeys(("mode", "check_bounds", "bounds_policy", "out_of_bounds", "out_of_bounds_policy"), ("bounds",)),
    **dict.fromkeys(("negative_index_policy", "negative_indices"), ("negative",)),
    **dict.fromkeys(("names", "usecols", "subset", "column_names", "select"), ("columns", "partial")),
    **dict.fromkeys(("ignore_index", "reset_index", "labels"), ("index",)),
    **dict.fromkeys(("check", "validation"), ("validate",)),
    **dict.fromkeys(("fill", "default", "fill_null", "fillna"), ("fill_value",)),
    **dict.fromkeys(("memory", "memory_limit", "max_memory", "budget"), ("memory_budget",)),
}
# Keywords that no other keyword stands for, and what to do instead.
_STEPS: dict[str, str] = {
    "on": "the columns of the key are chosen first: rows_of(right[names], left[names]), or select(names)",
    **dict.fromkeys(("how", "nullify"), 'bounds="nullify" of table.gather gives a row of nulls where there is none'),
    **dict.fromkeys(("axis", "dim"), "rows are the only axis, and columns= of table.gather chooses columns"),
    **dict.fromkeys(("out", "inplace", "copy"), "a table is never changed, and the result is a new one"),
    **dict.fromkeys(("reduce", "accumulate", "duplicates"), "gatherscatter.scatter has reduce= and duplicates="),
    **dict.fromkeys(("fill_value", "fill", "default"), 'table.gather has fill_value= for bounds="nullify"'),
    **dict.fromkeys(_MASKS, "table.filter and table.boolean_mask_scatter have boolean_mask="),
    **dict.fromkeys(_MAPS, "table.gather has gather_map=, table.scatter scatter_map="),
}


def explains_keywords(function: _Function) -> _Function:
    """A decorator: an unknown keyword is answered with the keyword that the function has instead."""
    start = f"{function.__name__}() got an unexpected keyword argument "

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if str(error).startswith(start):
                refuse_unknown(function, kwargs)
            raise

    return cast(_Function, call)


def refuse_unknown(function: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise a TypeError for the first keyword that a function does not have, with the one that it has instead."""
    names = list(inspect.signature(function).parameters)
    for word in keywords:
        if word not in names:
            text = f"{function.__name__}() got an unexpected keyword argument '{word}'; {_step(word, names)}"
            raise TypeError(text) from None


def _step(word: str, names: list[str]) -> str:
    right = next((name for name in _NEAR.get(word, ()) if name in names), None)
    other = next((name for name in _NEAR.get(word, ()) if name in _STEPS), None)
    if right is None and word not in _STEPS and other is None:
        right = next(iter(get_close_matches(word, names, 1, 0.75)), None)
    if right is not None:
        return f"the keyword is {right}="
    return _STEPS.get(word) or _STEPS.get(other or "") or f"the parameters are {', '.join(names)}"
