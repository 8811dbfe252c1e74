"""near_keywords.py: completes Python's error for a keyword that an operator lacks by the one that it has instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

__all__ = ["explain_keyword"]

_VALUES = ("src", "updates", "value", "values", "v", "vals")
_INDICES = ("index", "indices", "ind")
_LIMITS = ("bounds", "mode", "check_bounds")
_FILLS = ("fill_value", "padding_value")
_AXES = ("axis", "dim")
# By keyword of another operator or library: the keywords of this package with its meaning.
_NEAR: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_VALUES, "source", "tensor"), _VALUES),
    **dict.fromkeys((*_INDICES, "indexes", "ids", "rows"), _INDICES),
    **dict.fromkeys(_LIMITS, _LIMITS),
    **dict.fromkeys((*_FILLS, "fill", "default"), _FILLS),
    **dict.fromkeys((*_AXES, "dims"), _AXES),
    **dict.fromkeys(("where", "boolean_mask", "condition"), ("mask", "condition")),
    **dict.fromkeys(("inplace", "copy"), ("out",)),
    **dict.fromkeys(("accumulate", "reduction", "op", "aggr"), ("reduce",)),
}
# Keywords that no other keyword of an operator stands for, and that of `gather` or `scatter` with their meaning.
_ELSEWHERE = {"reduce": "reduce", "reduction": "reduce", "accumulate": "reduce", "axis": "axis", "dim": "dim"}
# torch_scatter and PyTorch Geometric make the target themselves.
_OF_GROUPS = (
    "; torch_scatter's scatter(src, index, dim=0, dim_size=n, reduce='sum') is scatter(zeros of n rows, index, src, "
    "axis=0, reduce='add')"
)


def explain_keyword(function: Callable[..., Any], error: TypeError) -> None:
    """Append the right keyword to the text of an error of Python about a keyword; leave every other error as it is."""
    found = re.match(r"(\w+)\(\) got (an unexpected keyword|multiple values for) argument '(\w+)'", str(error))
    if found is None or found[1] != function.__qualname__:
        return
    word, names = found[3], inspect.signature(function).parameters
    if found[2].startswith("multiple"):
        step = f"; slices are {found[1]}(.., axis=..) without dim=" if word == "dim" and "axis" in names else ""
        step += _OF_GROUPS if word == "dim" and "src" in names else ""
    else:
        step = _step(word, [name for name in names if name not in ("args", "kwargs")])
    error.args = (f"{found[0]}{step}",)


def _step(word: str, names: list[str]) -> str:
    if word == "dim_size" and "src" in names:
        return _OF_GROUPS
    right = next((name for name in _NEAR.get(word, ()) if name in names), None)
    if word == "fill_value" and right is None and "bounds" in names:
        return "; a scatter has no fill value: bounds='drop' writes nothing for an index that is out of bounds"
    if right is None and word not in _ELSEWHERE:
        right = next(iter(get_close_matches(word, names, 1, 0.75)), None)
    if right == "check_bounds" and word in _LIMITS:
        return "; what lies outside is padding or not written, and an error with check_bounds=False"
    if right is not None:
        return f"; the keyword is {right}=" + (", and out=input writes in place" if word == "inplace" else "")
    if word in _ELSEWHERE:
        writes = _ELSEWHERE[word] == "reduce" or not set(_VALUES).isdisjoint(names)
        return f"; gatherscatter.{'scatter' if writes else 'gather'} has {_ELSEWHERE[word]}="
    return f"; the parameters are {', '.join(names)}" if names else ""
