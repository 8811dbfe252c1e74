"""private_lists.py: copies of nested lists whose items run code of their own, which could change the lists meanwhile.

NumPy reads a list in place while it calls methods of its items. A method that shortens the list ends the process.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

__all__ = ["private"]

# Types of items of which NumPy calls no method of Python.
_QUIET = frozenset(
    (
        *(bool, int, float, complex, str, bytes, type(None)),
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
    )
)
_LISTS = frozenset((list, tuple))
_MOST_LEVELS = 70  # more than NumPy takes
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")


def private(value: Any) -> Any:
    """A list or tuple whose lists the caller does not have, unless all of its items are plain numbers or text.

    Any other value is returned as it is.
    """
    if not isinstance(value, (list, tuple)) or _is_quiet(value):
        return value
    return _copied(value, {}, 0)


def _is_quiet(value: list[Any] | tuple[Any, ...]) -> bool:
    level: list[Any] = [value]
    for _ in range(_MOST_LEVELS):
        kinds = set(map(type, chain.from_iterable(level)))
        if kinds <= _QUIET:
            return True
        if not kinds - _QUIET <= _LISTS:
            return False
        # Each list once: one that holds itself twice has twice as many at every level.
        level = list({id(item): item for item in chain.from_iterable(level) if type(item) in _LISTS}.values())
    return False


def _copied(value: Any, known: dict[int, tuple[Any, Any]], level: int) -> Any:
    """A copy that holds itself where the list does; `known` has originals and copies by address."""
    kind = type(value)
    if id(value) in known:
        return known[id(value)][1]
    if level > _MOST_LEVELS or any(hasattr(kind, protocol) for protocol in _PROTOCOLS):
        return value
    if isinstance(value, list):
        copy: list[Any] = []
        known[id(value)] = value, copy
        copy += [_copied(item, known, level + 1) for item in list.copy(value)]
        return copy
    if isinstance(value, tuple):
        items = [_copied(item, known, level + 1) for item in tuple.__iter__(value)]
        is_same = all(new is old for new, old in zip(items, tuple.__iter__(value), strict=True))
        return value if is_same else tuple(items)
    return value
