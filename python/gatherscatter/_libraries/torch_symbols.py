"""torch_symbols.py: numbers that a compiled graph of torch takes as arguments, because they differ from call to call.

torch is never imported here: a symbol can only come from a torch that is imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from gatherscatter._libraries.of_python import fits_int64

__all__ = ["is_integer_symbol", "is_symbol", "is_symbolic_index", "number_now", "tensor_of"]


def is_symbol(value: Any) -> bool:
    """Whether a value is such a number."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def is_integer_symbol(value: Any) -> bool:
    """Whether a value is such a number, and an integer."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.SymInt)


def is_symbolic_index(value: Any) -> bool:
    """Whether an index is such an integer, or a nested list of integers some of which are."""
    if not isinstance(value, list | tuple):
        return is_integer_symbol(value)
    try:
        found = [is_integer_symbol(leaf) for leaf in _leaves(value) if type(leaf) is not int or not fits_int64(leaf)]
    except RecursionError:  # a list that contains itself is refused where NumPy reads it
        return False
    return bool(found) and all(found)


def number_now(symbol: Any) -> bool | int | float:
    """The number of this call. torch compiles the graph again for another one."""
    torch: Any = sys.modules["torch"]
    if isinstance(symbol, torch.SymInt):
        return int(symbol)
    return float(symbol) if isinstance(symbol, torch.SymFloat) else bool(symbol)


def tensor_of(value: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of the graph, made of a symbol, or of a nested list of numbers some of which are symbols."""
    torch: Any = sys.modules["torch"]
    if isinstance(value, list | tuple):
        return torch.stack([tensor_of(item, dtype, device) for item in value])
    return torch.full((), value, dtype=dtype, device=device)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
