"""of_torch.py: torch tensors: which have plain memory, how they become arguments, and which numbers they hold.

Torch is never imported here: a tensor can only come from a torch that is imported already.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.late_parts import load
from gatherscatter._libraries.numbers import Numbers, float_limits
from gatherscatter._libraries.of_dlpack import import_dlpack
from gatherscatter._libraries.recognise import dtype_name, pretends
from gatherscatter.errors import type_name

__all__ = [
    "adopt",
    "cast_to",
    "count_write",
    "distributed_step",
    "fitted",
    "has_plain_memory",
    "imitates_tensor",
    "is_live",
    "is_of_graph",
    "is_recorded",
    "is_tensor",
    "kind_of_tensor",
    "namespace",
    "needs_gradient",
    "numbers",
    "problem_of",
    "refusal",
    "refuse_gradient",
    "resolved",
    "short_storage",
    "stacked",
    "unnamed_dtype",
    "without_modes",
    "zero_item",
]

_SUB_BYTE = re.compile(r"torch\.u?int[1-7]")


def is_tensor(obj: Any) -> bool:
    """Whether an object is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.Tensor)


def imitates_tensor(obj: Any) -> bool:
    """Whether an object is a torch tensor only by its ``__class__`` and not by its type, as mocks are."""
    torch = sys.modules.get("torch")
    return torch is not None and pretends(obj, torch.Tensor)


def namespace() -> Any:
    """The module torch, for callers that have a tensor."""
    return sys.modules["torch"]


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
    if not hasattr(tensor, "untyped_storage") or is_recorded(tensor) or tensor.numel() == 0:
        return ""  # the storage of a recorded tensor holds nothing, and its size may be a symbol
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


def adopt(op: str, role: str, obj: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The memory of a tensor that the extension module does not read itself, and the function that converts results."""
    torch = sys.modules["torch"]
    if not has_plain_memory(obj):
        raise refusal(op, role, obj)
    # The extension module passes a plain tensor only where this version of torch has no DLPack exchange table.
    if type(obj) is torch.Tensor or type(obj) is torch.nn.Parameter:
        if obj.device.type != "cpu":
            error = ValueError if role == "out" else TypeError
            raise error(
                f"{op}: {role} is a tensor on device {obj.device}; this version of torch has no DLPack exchange table, "
                "which tensors outside of host memory need"
            )
        if obj.is_conj() or obj.is_neg():
            raise TypeError(
                f"{op}: {role} is a tensor with a lazy conjugate or negative bit; pass tensor.resolve_conj() or "
                ".resolve_neg()"
            )
        forward_mode = torch.autograd.forward_ad
        if forward_mode._current_level >= 0 and forward_mode.unpack_dual(obj).tangent is not None:
            raise TypeError(
                f"{op}: {role} is a dual tensor of forward-mode differentiation, whose tangent would be lost"
            )
        if needs_gradient(obj):
            raise RuntimeError(
                f"{op}: {role} is a tensor that requires grad, and its gradient would be lost. Pass tensor.detach(), "
                "or call under torch.no_grad()"
            )
        if unnamed_dtype(obj):
            raise refusal(op, role, obj)
        return import_dlpack(obj.detach()), torch.from_dlpack
    step = distributed_step(obj) or "pass a plain torch.Tensor on its memory"
    raise TypeError(f"{op}: {role} is of type {type_name(obj)}, a subclass of torch.Tensor; {step}")


def distributed_step(obj: Any) -> str:
    """What to pass in place of a DTensor, whose elements lie in several processes; "" for all other objects."""
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not isinstance(obj, module.DTensor):
        return ""
    return "pass tensor.to_local(), the part in this process, or tensor.full_tensor(), a copy of the whole"


def count_write(tensor: Any) -> None:
    """Increment the version counter of a torch tensor after a write.

    Torch then raises an error when it computes a gradient from values that were saved before the write.
    """
    if not is_tensor(tensor) or tensor.is_inference():
        return
    bump = getattr(namespace().autograd.graph, "increment_version", None)
    if bump is not None:
        bump(tensor)


def needs_gradient(obj: Any) -> bool:
    """Whether an object is a tensor whose gradient torch computes, so that an operator would lose it."""
    return is_tensor(obj) and bool(obj.requires_grad) and namespace().is_grad_enabled()


def is_recorded(obj: Any) -> bool:
    """Whether an object is a tensor that has a shape and a dtype, but no values until torch runs what it records.

    These are tensors inside of torch.func, fake and meta tensors, and classes with rules of their own for operations.
    """
    if not is_tensor(obj) or imitates_tensor(obj) or _core.is_plain(obj):
        return False
    torch = sys.modules["torch"]
    if obj.layout is not torch.strided or obj.is_quantized or getattr(obj, "is_nested", False):
        return False
    no_rules = torch._C._disabled_torch_dispatch_impl
    plain = type(obj) in (torch.Tensor, torch.nn.Parameter) or type(obj).__torch_dispatch__ is no_rules
    return not plain or obj.device.type == "meta" or _is_wrapped(torch, obj)


def is_of_graph(obj: Any) -> bool:
    """Whether an object is a tensor of a graph that torch records, so that another run of it has other values.

    It is recorded, or has values while make_fx records what is done with them.
    """
    if is_recorded(obj):
        return True
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if proxies is None or not is_tensor(obj):
        return False
    mode = proxies.get_proxy_mode()
    return mode is not None and bool(proxies.has_proxy_slot(obj, mode.tracer))


def is_live(obj: Any) -> bool:
    """Whether a tensor is more than its value: it is part of a graph, requires grad, or has a tangent."""
    if not is_tensor(obj):
        return False
    forward_mode = namespace().autograd.forward_ad
    is_dual = forward_mode._current_level >= 0 and forward_mode.unpack_dual(obj).tangent is not None
    return is_dual or needs_gradient(obj) or is_of_graph(obj)


def without_modes() -> AbstractContextManager[Any]:
    """A context in which new tensors have values, also while torch traces."""
    torch = sys.modules["torch"]
    if not torch._C._len_torch_dispatch_stack():
        return nullcontext()
    modes = sys.modules["torch.utils._python_dispatch"]
    return cast("AbstractContextManager[Any]", modes._disable_current_modes())


def stacked(like: Any, items: list[Any], shape: tuple[int, ...]) -> Any:
    """Tensors of rank 0 as one of that shape. In a graph, those that do not belong to it become constants."""
    torch = namespace()
    in_graph = torch._C._len_torch_dispatch_stack() > 0 and any(map(is_of_graph, (like, *items)))
    constant = torch.ops.aten.lift_fresh_copy if in_graph else lambda made: made
    if in_graph and any(map(is_of_graph, items)):
        return torch.stack([item if is_of_graph(item) else constant(item) for item in items]).reshape(shape)
    with without_modes():
        made = torch.stack(items).reshape(shape) if items else torch.empty(shape, dtype=like.dtype)
    return constant(made)


def fitted(op: str, what: str, like: Any, value: Any) -> Any:
    """A tensor of rank 0, cast to the dtype of the tensor `like`. A graph checks the value whenever it runs."""
    torch = namespace()
    # Operators of a graph have no rule for forward mode, and none for transforms together with gradients.
    in_transform = torch.autograd.forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()
    if value.dtype == like.dtype or in_transform or value.is_meta or not is_of_graph(value):
        return value.to(like.dtype)
    load("operators of torch")
    return torch.ops.gatherscatter.fit(value, like.dtype, op, what)


def refuse_gradient(what: str, value: Any) -> None:
    """Raise RuntimeError for a tensor whose gradient would be lost."""
    if needs_gradient(value):
        raise RuntimeError(f"{what} is a tensor that requires grad, and its gradient would be lost; pass its .detach()")


def resolved(tensor: Any) -> Any:
    """A tensor without lazy conjugate and negative bits."""
    return tensor.resolve_conj().resolve_neg()


def cast_to(like: Any, value: Any) -> Any:
    """A tensor or an array in host memory, cast to the dtype of the tensor `like`."""
    if is_tensor(value):
        return value.to(like.dtype)
    array = np.asarray(value)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if dtype_name(native) == dtype_name(like):
        return native
    if native.dtype.kind not in "biufc":
        native = native.astype(np.float32)
    return namespace().from_numpy(native.copy()).to(like.dtype)


def numbers(like: Any) -> Numbers:
    """The numbers that the dtype of a tensor holds."""
    torch, dtype = namespace(), like.dtype

    # The value is made in the widest dtype of its category and then cast, because torch.full refuses a value beyond the
    # range that rounds into it. It lies in host memory also for a tensor on a GPU: the binding copies it to the GPU
    # without waiting.
    def make_from(widest: Any) -> Callable[[Any], Any]:
        def make(value: Any) -> Any:
            with without_modes():
                return torch.tensor(value, dtype=widest, device="cpu").to(dtype)

        return make

    if dtype is torch.bool:
        return Numbers(bool, None, None, make_from(torch.bool))
    if like.is_complex():
        return Numbers(complex, None, None, make_from(torch.complex128))
    try:
        if like.is_floating_point():
            return Numbers(float, *float_limits(torch.finfo(dtype)), make_from(torch.float64))
        info = torch.iinfo(dtype)
    except (TypeError, RuntimeError):
        step = "; pass tensor.view(torch.uint8)" if unnamed_dtype(like) else ""
        raise TypeError(f"torch cannot make a value of dtype {dtype}{step}") from None
    return Numbers(int, int(info.min), int(info.max), make_from(dtype))


def zero_item(like: Any) -> Any:
    """One item of zero bytes, of exactly the dtype of a tensor."""
    torch = namespace()
    return torch.zeros(like.dtype.itemsize, dtype=torch.uint8).view(like.dtype)[0]
