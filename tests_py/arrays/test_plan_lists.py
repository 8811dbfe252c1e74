"""test_plan_lists.py: a plan takes lists for its array, as the operator does, which get the planned dtype."""

import numpy as np
import pytest

import gatherscatter as gs

LISTS = {
    "gather": (lambda x, i: gs.plan(gs.gather, x, i, axis=0), lambda x, i: gs.gather(x, i, axis=0)),
    "take": (lambda x, i: gs.plan(gs.take, x, i, axis=0), lambda x, i: gs.take(x, i, axis=0)),
    "points": (lambda x, i: gs.plan(gs.gather_nd, x, [i]), lambda x, i: gs.gather_nd(x, [i])),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_plan_made_from_lists_takes_lists(name):
    make, call = LISTS[name]
    for first, second in (
        ([[1, 2], [3, 4]], [[5, 6], [7, 8]]),
        ([[0.5, 2.0], [3.0, 4.0]], [[5, 6], [7, 8]]),
        ([["a", "b"], ["c", "d"]], [["e", "f"], ["g", "h"]]),
        ([[True, False], [True, True]], [[False, True], [True, False]]),
        (np.array([[1, 2], [3, 4]], "i1"), [[5, 6], [7, 8]]),
        (np.array([[1, 2], [3, 4]], "f4"), [[0.1, 6], [7, 8]]),
        (np.array([[1, 2], [3, 4]], "c8"), [[0.1, 6j], [7, 8]]),
    ):
        dtype = np.asarray(first).dtype
        plan = make(first, [1, 0])
        index = [[0, 1]] if name == "points" else [0, 1]
        for given in (second, tuple(map(tuple, second)), np.asarray(second, dtype)):
            result, expected = (
                plan(given, index),
                call(np.asarray(second, dtype), index if name != "points" else [0, 1]),
            )
            assert np.asarray(result).dtype == dtype and np.array_equal(result, expected)


def test_a_list_that_the_planned_dtype_does_not_hold_is_refused():
    plan = gs.plan(gs.take, [1, 2], [0])
    for given in ([1.5, 2], [1, 2, 3], ["a", "b"], [[1, 2], [3]], [None, 1]):
        with pytest.raises((TypeError, ValueError)):
            plan(given, [0])
    with pytest.raises(ValueError, match="made for input int8"):
        gs.plan(gs.take, np.array([1, 2], "i1"), [0])([1, 300], [0])
    with pytest.raises(TypeError, match="out is of type list"):
        plan([1, 2], [0], out=[0])


def test_a_plan_scatters_into_lists():
    assert gs.plan(gs.scatter, [1, 2, 3], [0], [9])([4, 5, 6], [2], [7]).tolist() == [4, 5, 7]
    assert gs.plan(gs.take, [1.0, 2, 3], [0]).scatter([4, 5, 6], [2], 7, reduce="add").tolist() == [4, 5, 13]
