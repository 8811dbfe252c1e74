"""test_exceptions.py: exceptions are values: they compare, copy and cross processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import gatherscatter as gs

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
@pytest.mark.filterwarnings("ignore:os.fork.. was called:RuntimeWarning")  # by JAX, where an earlier test has loaded it
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
