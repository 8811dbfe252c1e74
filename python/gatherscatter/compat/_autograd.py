"""_autograd.py: gradients of a gather for torch: the gather's plan, run as a scatter. The caller has imported torch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._ops.plan import Plan

__all__ = ["gather"]

Call = Callable[[Any, Any], _core.Call]


def gather(call: Call, input: Any, index: Any) -> Any:
    """The result of ``call(input, index)``, with gradients for `input`; the index has none."""
    torch = sys.modules["torch"]
    if not isinstance(index, torch.Tensor):
        # A copy, because torch cannot detect that the caller changes its own array before the backward pass reads it.
        index = torch.from_numpy(np.array(index, np.int64))
    return _apply(_Gather, input, index, call)


class _Gather:
    """The gather. It is linear, so the gradient of an element is the sum over all points that read it."""

    @staticmethod
    def forward(ctx: Any, input: Any, index: Any, call: Call) -> Any:
        ctx.save_for_backward(index)
        ctx.call, ctx.shape = call, input.shape
        return call(input, index).run()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _apply(_ScatterAdd, grad, *ctx.saved_tensors, ctx.call, ctx.shape), None, None


class _ScatterAdd:
    """The gradient of the gather: its plan, run as a scatter that adds. It is linear, so its gradient is the gather."""

    @staticmethod
    def forward(ctx: Any, grad: Any, index: Any, call: Call, shape: Any) -> Any:
        ctx.save_for_backward(index)
        ctx.call = call
        target = grad.new_zeros(shape)
        return Plan(call(target, index).plan()).scatter(target, index, grad, reduce="add", out=target)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _apply(_Gather, grad, *ctx.saved_tensors, ctx.call), None, None, None


_functions: dict[type, Any] = {}


def _apply(direction: type, *args: Any) -> Any:
    """Apply a class above as a torch.autograd.Function. It is made at first use, because torch may be absent before."""
    if direction not in _functions:
        base = sys.modules["torch"].autograd.Function
        _functions[direction] = type(direction.__name__, (direction, base), {})
    return _functions[direction].apply(*args)
