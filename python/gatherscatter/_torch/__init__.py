"""Calls that torch has to know of: gradients, tangents, vmap, graphs. Imported when a call has such a tensor."""

from importlib import import_module
from typing import Any

# Its types are not read: a type check must not depend on whether torch is installed.
try:
    torch: Any = import_module("torch")
except ModuleNotFoundError as _error:
    if _error.name != "torch":  # torch is installed, and lacks something itself
        raise
    raise ModuleNotFoundError("gatherscatter.torch needs torch: pip install torch", name="torch") from _error

if not hasattr(torch.library, "register_vmap"):
    raise ImportError(
        f"gatherscatter records gradients with torch 2.5 or newer, and this is torch {torch.__version__}; pass "
        "tensor.detach(), or call under torch.no_grad()"
    )
