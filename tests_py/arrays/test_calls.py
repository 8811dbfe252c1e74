"""test_calls.py: the calls that operators build, which are run, planned, or handed to what follows an error."""

import functools

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core

X = np.arange(24.0).reshape(4, 6)
ROWS = np.array([[3, 0], [1, -1]])


def test_what_a_call_is():
    call = gs.take.bind(X, ROWS, axis=0)
    assert type(call) is _core.Call
    np.testing.assert_array_equal(call.run(), X[ROWS])
    np.testing.assert_array_equal(call.run(), X[ROWS])  # a call can be run again
    assert gs.Plan(call.plan()) == gs.plan(gs.take, X, ROWS, axis=0)
    assert _core.run(call).shape == X[ROWS].shape and _core.run(5) == 5
    with pytest.raises(TypeError, match="cannot create"):
        _core.Call()


def test_what_follows_a_run():
    call = _core.take_axis("take", X, ROWS, 0, 0, "raise", "from_end", None, None, None)
    assert call.then(lambda result: result.shape) is call
    assert call.run() == X[ROWS].shape
    call.plan()  # without the function


def test_an_error_goes_to_the_handler():
    seen = []

    def handler(error, *arguments):
        seen.append((type(error), arguments))
        return gs.take.bind(X, ROWS, axis=0)

    def bad(index, axis):
        return _core.take_axis("take", X, index, axis, 0, "raise", "from_end", None, None, None)

    for call in (bad([99], 0), bad(ROWS, 5), bad([0.5], 0)):
        np.testing.assert_array_equal(call.otherwise(handler, 1, "two").run(), X[ROWS])
    assert [arguments for _, arguments in seen] == [(1, "two")] * 3
    assert issubclass(seen[0][0], gs.OutOfBoundsError) and issubclass(seen[1][0], ValueError)
    assert seen[2][0] is TypeError
    assert gs.Plan(bad(ROWS, 5).otherwise(handler).plan()) == gs.plan(gs.take, X, ROWS, axis=0)
    with pytest.raises(TypeError, match="handler is missing"):
        bad(ROWS, 0).otherwise()


def test_only_functions_follow_a_call():
    """A chain of calls would be freed by recursion."""
    call = gs.take.bind(X, ROWS, axis=0)
    for wrong in (None, 3, gs.take.bind(X, ROWS)):
        for follow in (call.then, call.run_by, call.otherwise):
            with pytest.raises(TypeError, match="expected a function, got <class"):
                follow(wrong)
    np.testing.assert_array_equal(call.run(), X[ROWS])


def test_a_handler_raises_what_it_likes():
    def handler(error):
        raise KeyError("own") from error

    call = _core.take_axis("take", X, [99], 0, 0, "raise", "from_end", None, None, None)
    with pytest.raises(KeyError, match="own"):
        call.otherwise(handler).run()


def test_a_call_of_several_steps():
    call = _core.steps("take", lambda: 7, "take: no plan for sevens")
    assert call.run() == 7
    with pytest.raises(TypeError, match=r"^take: no plan for sevens$"):
        call.plan()
    call = gs.take.bind(X, ROWS, axis=0).run_by(lambda: 8)
    assert call.run() == 8
    assert gs.Plan(call.plan()) == gs.plan(gs.take, X, ROWS, axis=0)


def test_partial_operators_are_planned():
    rows = functools.partial(gs.take, axis=0)
    assert gs.plan(rows, X, ROWS) == gs.plan(gs.take, X, ROWS, axis=0)
    assert gs.plan(functools.partial(rows, X), ROWS) == gs.plan(gs.take, X, ROWS, axis=0)


def test_planning_a_masked_array_writes_nothing():
    a = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    before = a.copy()
    for op, arguments in [(gs.put, (a, [0], 9.0)), (gs.put_along_axis, (a, np.array([0]), 9.0, 0))]:
        with pytest.raises(TypeError, match="two arrays"):
            gs.plan(op, *arguments)
    np.testing.assert_array_equal(a.data, before.data)
    np.testing.assert_array_equal(a.mask, before.mask)


def test_a_handler_that_returns_the_error_lets_it_stand():
    call = _core.take_axis("take", X, [99], 0, 0, "raise", "from_end", None, None, None)
    with pytest.raises(gs.OutOfBoundsError, match="99"):
        call.otherwise(lambda error: error).run()


def test_a_handler_that_returns_its_own_call_ends():
    call = _core.take_axis("take", X, [99], 0, 0, "raise", "from_end", None, None, None)
    call.otherwise(lambda error: call)
    with pytest.raises(RecursionError):
        call.run()
    call = _core.take_axis("take", X, [0], 9, 0, "raise", "from_end", None, None, None)
    call.otherwise(lambda error: call)
    with pytest.raises(RecursionError):
        call.plan()


def test_a_plan_without_index_arrays_takes_a_tuple():
    plan = gs.plan(gs.tile_gather, np.array(3.0), ())
    for indices in (np.array([0]), [0], None):
        with pytest.raises(TypeError, match="pass a tuple"):
            plan(np.array(3.0), indices)
        with pytest.raises(TypeError, match="pass a tuple"):
            plan.scatter(np.array(3.0), indices, 1.0)
    assert plan(np.array(3.0), ()) == 3


class Own(np.ndarray):
    """A class with NumPy's methods of its own, which write and return what NumPy's do not."""

    def take(self, indices, axis=None, out=None, mode="raise"):
        out[...] = 7
        return out

    def put(self, indices, values, mode="raise"):
        self[0] = 7
        return "own"


def test_planning_a_call_that_numpy_runs_runs_nothing():
    x, out = np.zeros(3).view(Own), np.zeros(1)
    for op, arguments in [(gs.take, (x, [1], None, out)), (gs.put, (x, [1], 2.0))]:
        with pytest.raises(TypeError, match=r"NumPy runs the call for a .*Own.*no plan"):
            gs.plan(op, *arguments)
    assert out.tolist() == [0] and x.tolist() == [0, 0, 0]
    assert gs.take(x, [1], None, out) is out and out.tolist() == [7]


def test_what_a_method_of_a_class_returns_is_returned():
    assert gs.put(np.zeros(3).view(Own), [1], 2.0) == "own"


def test_the_name_of_an_operator_is_text():
    with pytest.raises(TypeError, match="op is b'x', expected the name of an operator"):
        _core.take_axis(b"x", X, ROWS, 0, 0, "raise", "from_end", None, None, None)
