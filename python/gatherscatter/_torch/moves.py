"""moves.py: runs moves on plain tensors, and makes arrays like a tensor by which its calls are checked."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter._moves.geometry import ADD, UNKNOWN, Combine, Move, Shape, gather_call, scatter_call
from gatherscatter._torch import torch

__all__ = ["accumulate_plain", "gather_plain", "like", "scatter_plain", "settled"]


def gather_plain(move: Move, input: Any, indices: Sequence[Any], mask: Any, fill: Any) -> Any:
    """The gather of tensors that are plain memory."""
    return gather_call(move, input, indices, mask, fill).run()


def scatter_plain(move: Move, combine: Combine, input: Any, indices: Sequence[Any], source: Any, mask: Any) -> Any:
    """The scatter of tensors that are plain memory."""
    return scatter_call(move, combine, input, indices, source, mask).run()


def accumulate_plain(move: Move, values: Any, indices: Sequence[Any], mask: Any, shape: Shape) -> Any:
    """The sums of the values of a gather at the elements that it read, in the order of the points."""
    if values.dtype is torch.complex32:  # which no sum takes
        return accumulate_plain(move, values.to(torch.complex64), indices, mask, shape).to(torch.complex32)
    is_traced = torch._C._len_torch_dispatch_stack() or values.is_meta
    zero = values.new_zeros(()) if is_traced else _zero(values.dtype, values.device)
    return scatter_plain(move, ADD, zero.expand(shape), indices, values, mask)


def settled(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gradients whose NaNs are those of our sums, of tensors that have no memory to change."""
    return tuple(None if one is None else torch.where(one.isnan(), torch.nan, one) for one in gradients)


# NumPy's dtypes that take part in the same operators
_NUMPY_NAMES = {"bfloat16": "float16", "complex32": "complex64"}


def like(tensor: Any, shape: Shape | None = None) -> Any:
    """An array of the shape and dtype of a tensor, or of another shape, in which every element is the same zero."""
    if tensor is None:
        return None
    name = str(tensor.dtype).removeprefix("torch.")
    dtype = getattr(np, _NUMPY_NAMES.get(name, name), None)
    shape = tuple(tensor.shape) if shape is None else shape
    if dtype is None or not all(type(extent) is int for extent in shape):
        return UNKNOWN
    return np.broadcast_to(np.zeros((), dtype), shape)


@functools.cache
def _zero(dtype: Any, device: Any) -> Any:
    """One zero, whose memory every target of zeros shares."""
    with torch.inference_mode(False):
        return torch.zeros((), dtype=dtype, device=device)
