"""torch_symbols.py: numbers of a graph of torch, which differ from call to call, alone and in lists.

A compiled graph takes a Python number as an argument once it has changed. Tensors of the graph hold numbers, too.

torch is never imported here: a symbol can only come from a torch that is imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gatherscatter._libraries.of_python import fits_int64
from gatherscatter._libraries.of_torch import is_of_graph

__all__ = ["graph_index", "graph_mask", "is_symbol", "number_now", "positions", "tensor_of"]

_INTEGERS = frozenset(f"torch.{name}" for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"))


def _has_type(value: Any, *names: str) -> bool:
    return type(value).__module__ == "torch" and type(value).__name__ in names


def is_symbol(value: Any) -> bool:
    """Whether a value is a Python number that a graph takes as an argument."""
    return _has_type(value, "SymInt", "SymFloat", "SymBool")


def graph_index(value: Any) -> Any:
    """An index as a tensor of int64, if it is an integer of a graph, or a nested list some of which are; else None."""
    if not isinstance(value, list | tuple):
        return tensor_of(value) if _has_type(value, "SymInt") else None
    if not _some_of_graph(value, _is_integer, _is_graph_integer):
        return None
    return tensor_of(value, sys.modules["torch"].int64)


def graph_mask(value: Any) -> Any:
    """A mask as a tensor of bool, if it is a nested list of bools some of which are of a graph; else None."""
    if not isinstance(value, list | tuple) or not _some_of_graph(value, _is_bool, _is_graph_bool):
        return None
    return tensor_of(value, sys.modules["torch"].bool)


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
        return value.to(dtype)
    return torch.full((), number_now(value) if _has_type(value, "SymBool") else value, dtype=dtype, device=device)


def positions(count: Any, like: Any) -> Any:
    """The numbers from 0 to below `count`: an array, or a tensor of the graph of `like` if the count is a symbol."""
    if is_symbol(count):
        return sys.modules["torch"].arange(count, device=like.device)
    return np.arange(count)


def _is_integer(leaf: Any) -> bool:
    return isinstance(leaf, int | np.integer) and fits_int64(int(leaf))


def _is_graph_integer(leaf: Any) -> bool:
    return _has_type(leaf, "SymInt") or (is_of_graph(leaf) and str(leaf.dtype) in _INTEGERS)


def _is_bool(leaf: Any) -> bool:
    return isinstance(leaf, bool | np.bool_)


def _is_graph_bool(leaf: Any) -> bool:
    return _has_type(leaf, "SymBool") or (is_of_graph(leaf) and str(leaf.dtype) == "torch.bool")


def _some_of_graph(value: Any, is_constant: Callable[[Any], bool], is_number: Callable[[Any], bool]) -> bool:
    """Whether a nested list holds constants and numbers of a graph, and at least one of the latter."""
    found = False
    try:
        for leaf in _leaves(value):
            if not is_constant(leaf):
                if not is_number(leaf):
                    return False
                found = True
    except RecursionError:  # a list that contains itself is refused where NumPy reads it
        return False
    return found


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
