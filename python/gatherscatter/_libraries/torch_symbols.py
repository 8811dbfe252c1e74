"""torch_symbols.py: numbers of a graph of torch, which differ from call to call, alone and in lists.

A compiled graph takes a Python number as an argument once it has changed. A tensor of rank 0 is a number, too.

torch is never imported here: a symbol can only come from a torch that is imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gatherscatter._libraries.of_python import fits_int64
from gatherscatter._libraries.of_torch import is_of_graph

__all__ = ["is_symbol", "is_symbolic_index", "is_symbolic_mask", "number_now", "positions", "tensor_of"]


_INTEGERS = frozenset(f"torch.{name}" for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"))


def _has_type(value: Any, *names: str) -> bool:
    return type(value).__module__ == "torch" and type(value).__name__ in names


def is_symbol(value: Any) -> bool:
    """Whether a value is a Python number that a graph takes as an argument."""
    return _has_type(value, "SymInt", "SymFloat", "SymBool")


def is_symbolic_index(value: Any) -> bool:
    """Whether an index is such an integer, or a nested list of integers some of which are of a graph."""
    if not isinstance(value, list | tuple):
        return _has_type(value, "SymInt")

    def is_integer(leaf: Any) -> bool:
        return _has_type(leaf, "SymInt") or (_is_item(leaf) and str(leaf.dtype) in _INTEGERS)

    return _some_of_graph(value, lambda leaf: type(leaf) is int and fits_int64(leaf), is_integer)


def is_symbolic_mask(value: Any) -> bool:
    """Whether a mask is a nested list of bools some of which are of a graph."""
    if not isinstance(value, list | tuple):
        return False

    def is_bool(leaf: Any) -> bool:
        return _has_type(leaf, "SymBool") or (_is_item(leaf) and str(leaf.dtype) == "torch.bool")

    return _some_of_graph(value, lambda leaf: type(leaf) is bool, is_bool)


def number_now(symbol: Any) -> bool | int | float:
    """The number of this call. torch compiles the graph again for another one."""
    if _has_type(symbol, "SymInt"):
        return int(symbol)
    return float(symbol) if _has_type(symbol, "SymFloat") else bool(symbol)


def tensor_of(value: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of the graph, made of a symbol, or of a nested list of numbers some of which are of the graph."""
    torch: Any = sys.modules["torch"]
    if isinstance(value, list | tuple):
        return torch.stack([tensor_of(item, dtype, device) for item in value])
    if isinstance(value, torch.Tensor):
        return value.to(dtype or (value.dtype if value.dtype is torch.bool else torch.int64))
    return torch.full((), number_now(value) if _has_type(value, "SymBool") else value, dtype=dtype, device=device)


def positions(count: Any, like: Any) -> Any:
    """The numbers from 0 to below `count`: an array, or a tensor of the graph of `like` if the count is a symbol."""
    if is_symbol(count):
        return sys.modules["torch"].arange(count, device=like.device)
    return np.arange(count)


def _is_item(leaf: Any) -> bool:
    return is_of_graph(leaf) and leaf.ndim == 0


def _some_of_graph(value: Any, is_constant: Callable[[Any], bool], is_number: Callable[[Any], bool]) -> bool:
    try:
        found = [is_number(leaf) for leaf in _leaves(value) if not is_constant(leaf)]
    except RecursionError:  # a list that contains itself is refused where NumPy reads it
        return False
    return bool(found) and all(found)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
