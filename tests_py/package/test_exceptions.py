"""test_exceptions.py: exceptions are values: they can be compared, copied and sent between processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gatherscatter as gs
from gatherscatter import errors, table

OOB = gs.OutOfBoundsError
ERROR = OOB("gather", 2**64 - 1, (1, 2), 1, 4, 3, 12, False)


def fail(_):
    gs.gather(np.arange(3), 0, np.array([0, 7, 9], "u8"))


def test_attributes_are_plain():
    assert (ERROR.index, ERROR.position, ERROR.axis, ERROR.size, ERROR.count) == (2**64 - 1, (1, 2), 1, 4, 3)
    assert OOB.__bases__ == (IndexError, ValueError, RuntimeError)
    assert gs.errors.OutOfBoundsError is OOB


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_pickle(protocol):
    again = pickle.loads(pickle.dumps(ERROR, protocol))
    assert again == ERROR and hash(again) == hash(ERROR) and str(again) == str(ERROR) and type(again) is OOB


def test_errors_copy_and_compare():
    assert copy.copy(ERROR) == copy.deepcopy(ERROR) == ERROR
    assert OOB("gather", 7, (0,), 0, 3) != OOB("gather", 7, (1,), 0, 3)
    assert IndexError(str(ERROR)) != ERROR and ERROR != "index"


def test_raised_errors_compare():
    def raised():
        with pytest.raises(OOB) as error:
            fail(0)
        return error.value

    assert raised() == raised()
    assert pickle.loads(pickle.dumps(raised())) == raised()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning")  # if JAX is imported
def test_errors_cross_processes(method):
    with multiprocessing.get_context(method).Pool(1) as pool, pytest.raises(OOB) as error:
        pool.map(fail, [0])
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count) == (7, (1,), 0, 3, 2)
    assert str(e).startswith("index 7 is out of bounds for axis 0 with size 3")


@pytest.mark.parametrize("kind", [gs.errors.TileTypeError, gs.errors.TileValueError])
def test_tile_errors_pickle(kind):
    again = pickle.loads(pickle.dumps(kind("text")))
    assert type(again) is kind and again.args == ("text",)


class Anything:
    """Has every attribute, and records the names that are read."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        return ()

    def __repr__(self):
        return "<anything>"


class Broken:
    def __repr__(self):
        raise RuntimeError("no words")


class Odd(list):
    """A list subclass, whose repr may run its own code."""


HUGE = 10**5000
SHOWN = [
    (HUGE, "2**16609.."),
    ([HUGE], "[2**16609..]"),
    ((-HUGE, 1), "(-2**16609.., 1)"),
    ({1: HUGE}, "{1: 2**16609..}"),
    ({HUGE: 1}, "{2**16609..: 1}"),
    ({HUGE}, "{2**16609..}"),
    ([[HUGE], {"a": (HUGE,)}], "[[2**16609..], {'a': (2**16609..,)}]"),
    (Odd([HUGE]), "a tests_py.test_exceptions.Odd"),
    ([np.zeros(10**6)], "[a numpy.ndarray of shape (1000000,)]"),
    ([Broken()], "[a tests_py.test_exceptions.Broken]"),
    (Broken(), "a tests_py.test_exceptions.Broken"),
    ([1, "two", 3.0, None], "[1, 'two', 3.0, None]"),
    ("x" * 1000, "'" + "x" * 76 + "..."),
    ([], "[]"),
]


@pytest.mark.parametrize(("value", "text"), SHOWN, ids=range(len(SHOWN)))
def test_every_value_can_be_shown(value, text):
    assert errors.shown(value) == text.replace("tests_py.test_exceptions", __name__)


def test_values_are_shown_without_running_their_attributes():
    value = Anything()
    assert errors.shown(value) == "<anything>" and errors.shown([value]) == "[<anything>]"
    assert value.asked == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: gs.gather(np.arange(3), 0, np.array([0]), bounds=[HUGE]),
        lambda: gs.scatter(np.arange(3), 0, np.array([0]), np.array([1]), reduce=[HUGE]),
        lambda: table.gather(pa.table({"v": [1]}), {1: HUGE}),
        lambda: gs.set_num_threads((HUGE,)),
        lambda: gs.tile_gather(np.arange(3), np.array([0]), latency=[HUGE]),
    ],
)
def test_errors_about_containers_of_huge_integers_are_ours(call):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert "2**16609.." in str(error.value) and len(str(error.value)) < 300


def test_columns_and_interfaces_with_huge_integers_are_named():
    shape = {"shape": (HUGE,), "typestr": "<f4", "data": (0, False), "version": 3}
    far = type("Far", (), {"__cuda_array_interface__": shape})()
    with pytest.raises(BufferError, match=r"2\*\*16609\.\."):
        gs.gather(far, 0, np.array([0]))
    frame = pd.DataFrame({HUGE: [1, 2]})
    with pytest.raises(ValueError, match=r"column 2\*\*16609\.\."):
        table.scatter(["x"], [0], frame)
    with pytest.raises(ValueError, match=r"2\*\*16609\.\."):
        table.scatter(frame, [0, 1], frame.set_axis(["v"], axis=1))
