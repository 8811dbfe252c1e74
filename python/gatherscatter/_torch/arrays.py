"""arrays.py: what the rules of moves ask of torch, under the names that they share with other libraries."""

from __future__ import annotations

from typing import Any

from gatherscatter._torch import torch
from gatherscatter._torch.moves import like

__all__ = [
    "at_least_one",
    "cast",
    "constant",
    "counted",
    "divide",
    "equality",
    "filled",
    "like",
    "may_be",
    "no_points",
    "numbers",
    "one",
    "pad",
    "repeat",
    "to_front",
    "truth",
    "where",
    "wide",
    "zeros",
]

Shape = tuple[Any, ...]
where: Any = torch.where


def repeat(array: Any, shape: Shape) -> Any:
    """The array, broadcast to a shape without a copy."""
    return array.expand(shape)


def to_front(array: Any, axis: int) -> Any:
    """The array with one of its axes moved to the front."""
    return array.movedim(axis, 0)


def zeros(shape: Shape, like: Any) -> Any:
    """Zeros of the dtype and on the device of `like`."""
    return like.new_zeros(shape)


def no_points(size: int, like: Any) -> Any:
    """Points of a batch without coordinates."""
    return torch.empty((size, 0), dtype=torch.int64, device=like.device)


def truth(value: bool, like: Any) -> Any:
    """One boolean."""
    return torch.tensor(value, device=like.device)


def numbers(count: Any, like: Any) -> Any:
    """The integers from 0."""
    return torch.arange(count, device=_device(like))


def filled(shape: Shape, value: int, like: Any) -> Any:
    """An array of one integer, of the dtype of `numbers`."""
    return torch.full(shape, value, device=_device(like))


def _device(like: Any) -> Any:
    return None if like is None else like.device


def pad(array: Any, shape: Shape) -> Any:
    """The array with zeros behind it, up to a shape."""
    pads = [(0, n - m) for n, m in zip(shape, array.shape, strict=True)]
    return torch.nn.functional.pad(array, [side for pair in reversed(pads) for side in pair])


def cast(array: Any, dtype: Any) -> Any:
    """The array in another dtype."""
    return array.to(dtype)


def wide(array: Any) -> Any:
    """The array with at least the range of float32, in which products of half-precision numbers are finite."""
    dtype = array.dtype
    if dtype is torch.complex32:
        return array.to(torch.complex64)
    return array.to(torch.float32) if dtype.is_floating_point and dtype.itemsize < 4 else array


def divide(array: Any, numbers: Any) -> Any:
    """The array, divided by integers in its own dtype."""
    return array / numbers


def one(most: Any, like: Any) -> Any:
    """A one, of integers that count up to `most`."""
    return torch.ones((), dtype=_count_dtype(most), device=_device(like))


def counted(condition: Any, most: Any) -> Any:
    """A condition as 0 and 1, of integers that count up to `most`."""
    return condition.to(_count_dtype(most))


def _count_dtype(most: Any) -> Any:
    return torch.int32 if isinstance(most, int) and most < 2**31 - 1 else torch.int64


def at_least_one(counts: Any) -> Any:
    """The counts, but 1 for 0."""
    return counts.clamp(min=1)


def constant(array: Any) -> Any:
    """The array without its derivative."""
    return array.detach()


def equality(values: Any) -> Any:
    """The function that tells whether two arrays are equal or both NaN, where one of them has the NaN of `values`."""
    # Without NaN, which only a look at the values can exclude, one comparison is enough.
    has_no_nan = _is_read() and not values.is_meta and not values.isnan().any()
    return torch.eq if has_no_nan else _is_same


def _is_same(a: Any, b: Any) -> Any:
    return (a == b) | ((a != a) & (b != b))


def may_be(condition: Any) -> bool:
    """Whether a condition may hold somewhere."""
    return not _is_read() or condition.is_meta or bool(condition.any())


def _is_read() -> bool:
    """Whether values can be read: in a graph and in a transform they cannot."""
    return not (torch._C._len_torch_dispatch_stack() or torch._C._are_functorch_transforms_active())
