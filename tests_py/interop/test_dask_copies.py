"""test_dask_copies.py: what a caller writes to arrays of NumPy after a lazy call does not change its result."""

import random

import numpy as np
import pytest

import gatherscatter as gs

da = pytest.importorskip("dask.array")
lazily = pytest.importorskip("gatherscatter.dask")

ROWS, COLUMNS = 6, 4


def data():
    return np.arange(24.0).reshape(ROWS, COLUMNS)


def lazy(array=None):
    array = data() if array is None else array
    return da.from_array(array, chunks=2)


def arguments(rng):
    """Arrays of NumPy that the calls take, each with the arrays of other values that are written to it later."""

    def integers(*shape):
        return [np.array([rng.randrange(ROWS - 2) for _ in range(np.prod(shape))]).reshape(shape) for _ in range(2)]

    def floats(*shape):
        return [np.array([rng.random() for _ in range(int(np.prod(shape)))]).reshape(shape) for _ in range(2)]

    bools = [np.array([rng.random() < 0.5 for _ in range(3)]) for _ in range(2)]
    return {
        "rows": integers(3),
        "places": integers(2, COLUMNS),
        "points": integers(2, 2),
        "values": floats(3, COLUMNS),
        "one": floats(),
        "two": floats(2),
        "mask": bools,
        "data": [data(), data()[::-1]],
    }


CALLS = {
    "take": lambda rows, **_: gs.take(lazy(), rows, axis=0),
    "take from memory": lambda data, **_: lazily.take(data, lazy(np.array([5, 1, 0])), axis=0),
    "gather": lambda rows, mask, one, **_: gs.gather(lazy(), rows, axis=0, mask=mask, fill_value=one),
    "gather elements": lambda places, **_: gs.gather(lazy(), 0, places),
    "along an axis": lambda places, **_: gs.take_along_axis(lazy(), places, axis=0),
    "gather points": lambda points, **_: gs.gather_nd(lazy(), points),
    "tile": lambda two, rows, **_: lazily.tile_gather(lazy(), (rows[:2], [0, 9]), padding_value=two),
    "scatter": lambda rows, values, mask, **_: gs.scatter(lazy(), rows, values, axis=0, mask=mask),
    "scatter one": lambda rows, one, **_: gs.scatter(lazy(), rows, one, axis=0),
    "scatter values": lambda values, **_: gs.scatter(lazy(), lazy(np.array([5, 1, 0])), values, axis=0),
    "scatter into memory": lambda data, values, **_: lazily.scatter(data, lazy(np.array([5, 1, 0])), values, axis=0),
    "scatter points": lambda points, two, **_: gs.scatter_nd(lazy(), points, two),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_later_writes_change_nothing(call):
    rng = random.Random(40)
    for _ in range(4):
        drawn = arguments(rng)
        given = {name: array.copy() for name, (array, _) in drawn.items()}
        want = call(**given).compute()
        later = call(**given)
        for name, (_, other) in drawn.items():
            given[name][...] = other
        np.testing.assert_array_equal(later.compute(), want, strict=True)


def test_plans_keep_copies_of_their_values():
    fill = np.array(7.0)
    plan = gs.plan(gs.gather, data(), np.array([9, 1]), axis=0, bounds="fill", fill_value=fill)
    want = plan(data(), np.array([9, 1]))
    fill[()] = 8
    np.testing.assert_array_equal(plan(data(), np.array([9, 1])), want, strict=True)
