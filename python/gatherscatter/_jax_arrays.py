"""_jax_arrays.py: results in the place of a JAX array, as JAX itself would give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["back_like"]


def back_like(jax: Any, obj: Any) -> Callable[[Any], Any]:
    """How a result becomes a JAX array on the device of `obj`: of a weak type, or uncommitted, if `obj` is."""
    sharding = obj.sharding
    is_weak, is_committed = bool(getattr(obj, "weak_type", False)), bool(getattr(obj, "committed", True))

    def back(result: Any) -> Any:
        placed = jax.device_put(result, sharding)
        return placed if is_committed and not is_weak else _relabelled(placed, is_weak, is_committed)

    return back


def _relabelled(placed: Any, is_weak: bool, is_committed: bool) -> Any:
    """The same memory, called otherwise: JAX has no public call that does this to an array on any device."""
    try:
        return type(placed)(placed.aval.update(weak_type=is_weak), placed.sharding, [placed], is_committed)
    except (AttributeError, TypeError):  # a JAX that makes its arrays in another way: the values are right
        return placed
