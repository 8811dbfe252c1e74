"""numpy_put_arrays.py: functions that make the arrays to which the tests of NumPy's writing functions write."""

from __future__ import annotations

import numpy as np

from layouts import LAYOUTS, lay_out, random_items

WRITABLE = [layout for layout in LAYOUTS if layout not in ("broadcast", "readonly")]


def room(shape=(2, 3), dtype=float, layout="C"):
    """A function that makes an equal, new array in each call."""

    def make():
        return lay_out(random_items(shape, np.dtype(dtype), np.random.default_rng(1)), layout)

    return make


def zeros(shape=(2, 3), dtype=float):
    return lambda: np.zeros(shape, dtype)


def read_only(make):
    def frozen():
        array = make()
        array.flags.writeable = False
        return array

    return frozen
