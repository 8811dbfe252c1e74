"""thread_numbers.py: the process's number of threads in tests of limits, and the number that a call plans with."""

import numpy as np
import pytest

import gatherscatter as gs

__all__ = ["DEFAULT", "planned", "process_number"]

DEFAULT = 6  # the process's number of threads in these tests


@pytest.fixture(autouse=True)
def process_number():
    before = gs.get_num_threads()
    gs.set_num_threads(DEFAULT)
    yield
    assert gs.get_num_threads() == DEFAULT, "a limit outlived its block"
    gs.set_num_threads(before)


def planned():
    """Threads of a call that is large enough to use any number of them."""
    return gs.explain(gs.take, np.zeros(1 << 16, "f4"), np.zeros(1 << 20, "i8")).to_dict()["threads"]
