"""Calls that torch has to know of: gradients, tangents, vmap, graphs. Imported when a call has such a tensor."""

from importlib import import_module
from typing import Any

# Its types are not read: a type check must not depend on whether torch is installed.
torch: Any = import_module("torch")

if not hasattr(torch.library, "register_vmap"):
    raise ImportError(
        f"gatherscatter records gradients with torch 2.5 or newer, and this is torch {torch.__version__}; pass "
        "tensor.detach(), or call under torch.no_grad()"
    )
