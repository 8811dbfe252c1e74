"""of_torch.py: detection of torch tensors whose values are not in plain memory, and the errors for them."""

from __future__ import annotations

import re
import sys
from typing import Any

from gatherscatter import _core

_SUB_BYTE = re.compile(r"torch\.u?int[1-7]")


def kind_of_tensor(tensor: Any) -> str:
    """Describe why a torch tensor has no plain memory, with the call that makes a tensor that has, if there is one."""
    torch = sys.modules["torch"]
    if _is_wrapped(torch, tensor):
        return "inside torch.func or vmap"
    if tensor.device.type == "meta":
        return "on the meta device"
    if tensor.is_quantized:
        return "quantised; pass tensor.dequantize() or tensor.int_repr()"
    if tensor.is_nested:
        return "nested; pass its parts, tensor.unbind(), or tensor.to_padded_tensor(0)"
    if tensor.layout is not torch.strided:
        layout = str(tensor.layout).removeprefix("torch.").removeprefix("_")
        return f"of layout {layout}; pass tensor.to_dense()"
    return f"of dtype {tensor.dtype} on device {tensor.device}"


def unnamed_dtype(tensor: Any) -> str:
    """The name of a tensor's dtype if DLPack has no code for it, so that a result would get another dtype; else ""."""
    name = str(tensor.dtype)
    return name if _SUB_BYTE.fullmatch(name) else ""


def short_storage(tensor: Any) -> str:
    """Describe how far the elements of a tensor reach beyond its storage, which may have been shrunk; else ""."""
    if not hasattr(tensor, "untyped_storage") or tensor.numel() == 0:
        return ""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = tensor.storage_offset() + sum((extent - 1) * step for extent, step in steps)
    needed, held = (last + 1) * tensor.element_size(), tensor.untyped_storage().nbytes()
    return f"reaches byte {needed} of a storage of {held} bytes" if needed > held else ""


def problem_of(tensor: Any, has_header: bool = True) -> tuple[type[Exception], str] | None:
    """The class and text of the error for a tensor whose memory cannot be read; None if it can be read.

    If torch gives no header for a tensor (`has_header` is False), the tensor has no plain memory, even if its
    attributes do not show it.
    """
    if _has_storage(tensor):
        if dtype := unnamed_dtype(tensor):
            return TypeError, f"has dtype {dtype}, which has no name in DLPack; pass tensor.view(torch.uint8)"
        if problem := short_storage(tensor):
            return BufferError, f"is a tensor that {problem}"
        if has_header:
            return None
    return _no_memory(tensor)


def _no_memory(tensor: Any) -> tuple[type[Exception], str]:
    return TypeError, f"is a tensor without plain memory ({kind_of_tensor(tensor)})"


def refusal(op: str, role: str, tensor: Any) -> Exception:
    """The error for a tensor whose values cannot be read."""
    kind, words = problem_of(tensor) or _no_memory(tensor)
    return kind(f"{op}: {role} {words}")


def has_plain_memory(tensor: Any) -> bool:
    """Whether the values of a tensor can be read: it is not meta, sparse, nested or quantised, and fits its storage."""
    return _core.is_plain(tensor) or (_has_storage(tensor) and not short_storage(tensor))


def _has_storage(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    if tensor.device.type == "meta" or tensor.layout is not torch.strided or tensor.is_quantized:
        return False
    return not getattr(tensor, "is_nested", False) and not _is_wrapped(torch, tensor)


def _is_wrapped(torch: Any, tensor: Any) -> bool:
    functorch = getattr(getattr(torch, "_C", None), "_functorch", None)
    return functorch is not None and functorch.is_functorch_wrapped_tensor(tensor)
