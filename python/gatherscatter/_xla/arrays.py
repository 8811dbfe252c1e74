"""arrays.py: what the rules of moves ask of JAX, under the names that they share with other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter._moves.geometry import UNKNOWN
from gatherscatter._xla import jax, jnp

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


def like(array: Any, shape: Shape | None = None) -> Any:
    """A NumPy array of the dtype of an array, and its shape or another, in which every element is the same zero.

    UNKNOWN if the shape has symbols, as those of `jax.export` may: the run of the call checks it.
    """
    if array is None:
        return None
    if not all(isinstance(extent, int) for extent in (array.shape if shape is None else shape)):
        return UNKNOWN
    return np.broadcast_to(np.zeros((), array.dtype), array.shape if shape is None else shape)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` or `b` at each point, in the dtype of the one that is an array; a number never widens it."""
    dtype = a.dtype if hasattr(a, "dtype") else b.dtype
    return jnp.where(condition, jnp.asarray(a, dtype), jnp.asarray(b, dtype))


def repeat(array: Any, shape: Shape) -> Any:
    """The array, broadcast to a shape."""
    return jnp.broadcast_to(array, shape)


def to_front(array: Any, axis: int) -> Any:
    """The array with one of its axes moved to the front."""
    return jnp.moveaxis(array, axis, 0)


def zeros(shape: Shape, like: Any) -> Any:
    """Zeros of the dtype of `like`."""
    return jnp.zeros(shape, like.dtype)


def no_points(size: int, like: Any) -> Any:
    """Points of a batch without coordinates."""
    return jnp.zeros((size, 0), np.int32)


def truth(value: bool, like: Any) -> Any:
    """One boolean."""
    return jnp.array(value)


def numbers(count: int, like: Any) -> Any:
    """The integers from 0."""
    return jnp.arange(count, dtype=_number_dtype())


def filled(shape: Shape, value: int, like: Any) -> Any:
    """An array of one integer, of the dtype of `numbers`."""
    return jnp.full(shape, value, _number_dtype())


def _number_dtype() -> Any:
    return jax.dtypes.canonicalize_dtype(np.int64)


def pad(array: Any, shape: Shape) -> Any:
    """The array with zeros behind it, up to a shape."""
    return jnp.pad(array, [(0, n - m) for n, m in zip(shape, array.shape, strict=True)])


def cast(array: Any, dtype: Any) -> Any:
    """The array in another dtype."""
    return array.astype(dtype)


def wide(array: Any) -> Any:
    """The array with at least the range of float32, in which products of half-precision numbers are finite."""
    is_narrow = jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.itemsize < 4
    return array.astype(jnp.float32) if is_narrow else array


def divide(array: Any, numbers: Any) -> Any:
    """The array, divided by integers in its own dtype."""
    return array / numbers.astype(array.dtype)


def one(most: Any, like: Any) -> Any:
    """A one, of integers that count up to `most`."""
    return jnp.ones((), _count_dtype(most))


def counted(condition: Any, most: Any) -> Any:
    """A condition as 0 and 1, of integers that count up to `most`."""
    return condition.astype(_count_dtype(most))


def _count_dtype(most: Any) -> Any:
    return np.int32 if isinstance(most, int) and most < 2**31 - 1 else _number_dtype()


def at_least_one(counts: Any) -> Any:
    """The counts, but 1 for 0."""
    return jnp.maximum(counts, jnp.ones((), counts.dtype))


def constant(array: Any) -> Any:
    """The array without its derivative."""
    return jax.lax.stop_gradient(array)


def equality(values: Any) -> Any:
    """The function that tells whether two arrays are equal or both NaN."""
    return lambda a, b: (a == b) | ((a != a) & (b != b))


def may_be(condition: Any) -> bool:
    """Whether a condition may hold somewhere: JAX does not show values while it traces."""
    return True
