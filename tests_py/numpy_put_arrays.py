"""numpy_put_arrays.py: the arrays that the tests of NumPy's writing calls write to: functions that make them anew."""

from __future__ import annotations

import numpy as np

from layouts import LAYOUTS, lay_out, random_items

WRITABLE = [layout for layout in LAYOUTS if layout not in ("broadcast", "readonly")]


def room(shape=(2, 3), dtype=float, layout="C"):
    """A function that makes the same array again and again."""

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
