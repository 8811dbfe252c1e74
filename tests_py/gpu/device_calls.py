"""device_calls.py: one call of every operator, on arrays that a given function converts from NumPy's.

The tests run each call with NumPy's arrays and with those of a library whose arrays are on a GPU, and compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gatherscatter as gs
from gatherscatter.compat import cutile, mindspore, pypto

Make = Callable[[np.ndarray], Any]

_RNG = np.random.default_rng(7)
X = _RNG.normal(size=(6, 5)).astype(np.float32)
ROWS = np.array([3, 0, -1, 5, 3])
ALONG = _RNG.integers(-6, 6, (4, 5))
POINTS = np.stack([_RNG.integers(-6, 6, 7), _RNG.integers(-5, 5, 7)], axis=-1)
MASK = np.array([True, False, True, True, False])
ONES = np.ones(5, np.float32)


def _into(shape: tuple[int, ...], call: Callable[[Any], Any]) -> Callable[[Make], Any]:
    """A call with `out`, which it returns."""

    def run(make: Make) -> Any:
        out = make(np.zeros(shape, X.dtype))
        assert call(out) is out
        return out

    return run


CALLS: dict[str, Callable[[Make], Any]] = {
    "gather_dim": lambda m: gs.gather(m(X), 0, m(ALONG)),
    "gather_axis": lambda m: gs.gather(m(X), m(ROWS), axis=0),
    "gather_of_columns": lambda m: gs.gather(m(X.T), m(ROWS), axis=1),
    "gather_fill": lambda m: gs.gather(m(X), m(ROWS + 2), axis=0, bounds="fill", fill_value=-1.5),
    "gather_mask": lambda m: gs.gather(m(X), m(ROWS), axis=0, mask=m(MASK), fill_value=9.0),
    "gather_clip": lambda m: gs.gather(m(X), m(ROWS + 40), axis=0, bounds="clip"),
    "gather_wrap": lambda m: gs.gather(m(X), m(ROWS + 40), axis=0, bounds="wrap"),
    "gather_unchecked": lambda m: gs.gather(m(X), m(ROWS), axis=0, bounds="unchecked"),
    "gather_deferred": lambda m: gs.gather(m(X), m(ROWS), axis=0, bounds="deferred"),
    "gather_empty": lambda m: gs.gather(m(X), m(ROWS[:0]), axis=0),
    "gather_host_index": lambda m: gs.gather(m(X), ROWS[::-1], axis=0, mask=MASK[::-1]),
    "gather_list_index": lambda m: gs.gather(m(X), [3, 0, -1], axis=0),
    "gather_int": lambda m: gs.gather(m(X), 2, axis=0),
    "gather_swapped_index": lambda m: gs.gather(m(X), ROWS.astype(">i4"), axis=0),
    "gather_nd": lambda m: gs.gather_nd(m(X), m(POINTS)),
    "take": lambda m: gs.take(m(X), m(ROWS)),
    "take_axis": lambda m: gs.take(m(X), m(ROWS), axis=0),
    "take_int": lambda m: gs.take(m(X), 2, axis=0),
    "take_mode": lambda m: gs.take(m(X), m(ROWS), axis=0, mode="clip"),
    "take_along_axis": lambda m: gs.take_along_axis(m(X), m(ALONG), axis=0),
    "tile_gather": lambda m: gs.tile_gather(m(X), (m(ROWS), m(ROWS - 1)), padding_value=-2),
    "tile_gather_padding": lambda m: gs.tile_gather(m(X), (m(ROWS), m(ROWS - 1)), padding_value=m(ONES)),
    "repeat": lambda m: gs.repeat(m(X), 3, 1),
    "repeat_counts": lambda m: gs.repeat(m(X), [2, 0, 1, 1, 0, 5], axis=0),
    "repeat_flat": lambda m: gs.repeat(m(X.T), 2),
    "roll": lambda m: gs.roll(m(X), 2, 0),
    "roll_flat": lambda m: gs.roll(m(X), -7),
    "roll_axes": lambda m: gs.roll(m(X.T), (1, -3), (0, 1)),
    "compress": lambda m: gs.compress(m(MASK), m(X), axis=1),
    "compress_flat": lambda m: gs.compress(m(X.ravel() > 0), m(X)),
    "compress_numbers": lambda m: gs.compress([0, 2, 0, 1], m(X), axis=0),
    "out": lambda m: _into((5, 5), lambda out: gs.gather(m(X), m(ROWS), axis=0, out=out))(m),
    "take_out": lambda m: _into((5, 5), lambda out: gs.take(m(X), m(ROWS), axis=0, out=out))(m),
    "scatter": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:4] * 2)),
    "scatter_first": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:4] * 2), duplicates="first"),
    "scatter_number": lambda m: gs.scatter(m(X), 0, m(ALONG), 3.5),
    "scatter_list": lambda m: gs.scatter(m(X), 0, m(ALONG[:1]), [[1, 2, 3, 4, 5]]),
    "scatter_drop": lambda m: gs.scatter(m(X), 0, m(ALONG * 2), m(X[:4] * 2), bounds="drop"),
    "scatter_masked": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:4] * 2), mask=m(MASK)),
    "scatter_rows": lambda m: gs.scatter(m(X), m(ROWS), m(X[:5] * 2)),
    "scatter_int": lambda m: gs.scatter(m(X), 2, m(X[0] * 2), axis=0),
    "scatter_rows_add": lambda m: gs.scatter(m(X), m(ROWS), m(X[:5] * 2), reduce="add"),
    "scatter_columns": lambda m: gs.scatter(m(X), [4, 0], 2.5, axis=1),
    "scatter_out": lambda m: _into((6, 5), lambda out: gs.scatter(m(X), 0, m(ALONG), 1.0, out=out))(m),
    "scatter_add": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:4]), reduce="add"),
    "scatter_mean": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:4]), reduce="mean", include_self=False),
    "scatter_max": lambda m: gs.scatter(m(X), 0, m(ALONG), 0.5, reduce="max"),
    "scatter_nd": lambda m: gs.scatter_nd(m(X), m(POINTS), m(np.arange(7, dtype=np.float32))),
    "scatter_nd_mul": lambda m: gs.scatter_nd(m(X), m(POINTS), 2.0, reduce="mul"),
    "put_axis_plan": lambda m: gs.plan(gs.take, X, ROWS, axis=0).scatter(m(X), m(ROWS), m(X[:5]), reduce="add"),
    "plan": lambda m: gs.plan(gs.take, X, ROWS, axis=0)(m(X), m(ROWS)),
    "plan_of_these": lambda m: gs.plan(gs.take, m(X), m(ROWS), axis=0)(m(X * 2), m(ROWS)),
    "plan_fill": lambda m: gs.plan(gs.gather, X, ROWS, axis=0, bounds="fill", fill_value=4)(m(X), m(ROWS + 2)),
    "plan_out": lambda m: _into((5, 5), lambda out: gs.plan(gs.take, X, ROWS, axis=0)(m(X), m(ROWS), out=out))(m),
    "cutile": lambda m: cutile.gather(m(X), (m(ROWS), m(ROWS - 1)), padding_value=1.0),
    "mindspore": lambda m: mindspore.gather(m(X), m(np.abs(ROWS)), 0),
    "pypto": lambda m: pypto.gather(m(X), 0, m(np.abs(ALONG) % 6)),
}


def _in_place(call: Callable[[Make, Any], Any]) -> Callable[[Make], Any]:
    def run(make: Make) -> Any:
        target = make(X.copy())
        assert call(make, target) is None
        return target

    return run


def _tiled(make: Make) -> Any:
    with pypto.options(vec_tile_shapes=[2, 3]):
        return pypto.gather(make(X), 0, make(np.abs(ALONG) % 6))


CALLS |= {
    "pypto_tiled": _tiled,
    "tile_scatter": _in_place(lambda m, a: gs.tile_scatter(a, (m(ROWS), m(ROWS - 1)), m(ONES))),
    "tile_scatter_number": _in_place(lambda m, a: gs.tile_scatter(a, (m(ROWS), m(ROWS - 1)), 3)),
    "cutile_scatter": _in_place(lambda m, a: cutile.scatter(a, (m(ROWS), m(ROWS - 1)), m(ONES))),
    "put": _in_place(lambda m, a: gs.put(a, m(ROWS), m(ONES))),
    "put_repeated": _in_place(lambda m, a: gs.put(a, m(ROWS), m(ONES[:2] * 4))),
    "put_list": _in_place(lambda m, a: gs.put(a, [1, 2, 3], [7, 8])),
    "put_mode": _in_place(lambda m, a: gs.put(a, m(ROWS + 40), 2.0, mode="wrap")),
    "put_along_axis": _in_place(lambda m, a: gs.put_along_axis(a, m(ALONG), m(X[:4] * 3), 0)),
    "putmask": _in_place(lambda m, a: gs.putmask(a, m(X > 0), m(X * 4))),
    "putmask_repeated": _in_place(lambda m, a: gs.putmask(a, m(X > 0), [1, 2, 3])),
    "putmask_host": _in_place(lambda m, a: gs.putmask(a, X > 0, 6.0)),
    "place": _in_place(lambda m, a: gs.place(a, m(X > 0), m(X.ravel()[:3]))),
    "place_host": _in_place(lambda m, a: gs.place(a, X > 0, [1, 2, 3, 4])),
}

# Calls with a bad index: the error must be that of the host. Calls in the second list write in place.
BAD = np.array([3, 0, -7, 6, 3])
BAD_CALLS: dict[str, Callable[[Make], Any]] = {
    "gather": lambda m: gs.gather(m(X), m(BAD), axis=0),
    "take": lambda m: gs.take(m(X), m(BAD), axis=0),
    "take_host_index": lambda m: gs.take(m(X), BAD, axis=0),
    "take_along_axis": lambda m: gs.take_along_axis(m(X), m(ALONG + 3), axis=0),
    "take_empty_axis": lambda m: gs.take(m(X[:0]), m(ROWS), axis=0),
    "gather_nd": lambda m: gs.gather_nd(m(X), m(POINTS * 2)),
    "nothing_to_move": lambda m: gs.take(m(X[:, :0]), m(BAD), axis=0),
    "tile_gather": lambda m: gs.tile_gather(m(X), (m(BAD), m(ROWS)), check_bounds=False),
    "scatter": lambda m: gs.scatter(m(X), 0, m(ALONG + 3), 1.0),
    "scatter_add": lambda m: gs.scatter(m(X), 0, m(ALONG + 3), 1.0, reduce="add"),
    "scatter_nd": lambda m: gs.scatter_nd(m(X), m(POINTS * 2), 1.0),
    "scatter_rows": lambda m: gs.scatter(m(X), m(BAD), m(X[:5])),
    "duplicates": lambda m: gs.scatter(m(X), 0, m(ALONG), 1.0, duplicates="error"),
    "compress": lambda m: gs.compress(m(np.ones(9, bool)), m(X), axis=0),
    "put_into_nothing": lambda m: gs.put(m(X[:0].copy()), m(ROWS), 1.0),
    "mindspore": lambda m: mindspore.gather(m(X), m(ROWS), 0),
    "pypto": lambda m: pypto.gather(m(X), 0, m(ALONG)),
    "float_index": lambda m: gs.gather(m(X), m(X[0]), axis=0),
    "mask_of_numbers": lambda m: gs.gather(m(X), m(ROWS), axis=0, mask=m(ROWS)),
    "other_dtype": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:4].astype("f8"))),
    "shapes": lambda m: gs.scatter(m(X), 0, m(ALONG), m(X[:1, :3])),
    "axis": lambda m: gs.gather(m(X), m(ROWS), axis=2),
    "fill_does_not_fit": lambda m: gs.gather(m(ROWS), m(ROWS), axis=0, bounds="fill", fill_value=1.5),
}
BAD_WRITES: dict[str, Callable[[Make, Any], Any]] = {
    "put": lambda m, a: gs.put(a, m(BAD * 9), m(ONES)),
    "put_along_axis": lambda m, a: gs.put_along_axis(a, m(ALONG + 3), 1.0, 0),
    "scatter_in_place": lambda m, a: gs.scatter(a, 0, m(ALONG + 3), 1.0, out=a),
    "scatter_add_in_place": lambda m, a: gs.scatter(a, 0, m(ALONG + 3), 1.0, reduce="add", out=a),
    "scatter_rows_in_place": lambda m, a: gs.scatter(a, m(BAD), m(X[:5]), out=a),
    "gather_out": lambda m, a: gs.gather(m(X), m(np.array([3, 0, -7, 6, 3, 1])), axis=0, out=a),
    "tile_scatter": lambda m, a: gs.tile_scatter(a, (m(BAD), m(ROWS)), 1.0, check_bounds=False),
}
