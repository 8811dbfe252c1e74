"""of_jax.py: conversion of results to JAX arrays with the properties that JAX's own operations give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["back_like"]


def back_like(jax: Any, obj: Any) -> Callable[[Any], Any]:
    """The function that converts a result to a JAX array with the sharding, weak type and commitment of `obj`."""
    sharding = obj.sharding
    is_weak, is_committed = bool(getattr(obj, "weak_type", False)), bool(getattr(obj, "committed", True))

    def back(result: Any) -> Any:
        placed = jax.device_put(result, sharding)
        return placed if is_committed and not is_weak else _with_flags(placed, is_weak, is_committed)

    return back


def _with_flags(placed: Any, is_weak: bool, is_committed: bool) -> Any:
    """A JAX array on the memory of `placed` with these flags. JAX has no public call that sets them on any device."""
    try:
        return type(placed)(placed.aval.update(weak_type=is_weak), placed.sharding, [placed], is_committed)
    except (AttributeError, TypeError):  # other versions of JAX have other constructors; the values are right anyway
        return placed
