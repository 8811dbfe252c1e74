"""torch_symbols.py: numbers that a compiled graph of torch takes as arguments, because they differ from call to call.

torch is never imported here: a symbol can only come from a torch that is imported already.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["holds_symbol", "is_integer_symbol", "is_symbol", "number_now", "tensor_of"]


def is_symbol(value: Any) -> bool:
    """Whether a value is such a number."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def is_integer_symbol(value: Any) -> bool:
    """Whether a value is such a number, and an integer."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.SymInt)


def holds_symbol(value: Any) -> bool:
    """Whether a value is such a number, or a nested list that holds one."""
    return any(map(holds_symbol, value)) if isinstance(value, list | tuple) else is_symbol(value)


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
