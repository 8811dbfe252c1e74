"""thread_numbers.py: a number of threads for the process in tests of limits, and what a call makes of it."""

import numpy as np
import pytest

import gatherscatter as gs

__all__ = ["DEFAULT", "planned", "process_number"]

DEFAULT = 6  # what the process has in these tests


@pytest.fixture(autouse=True)
def process_number():
    before = gs.get_num_threads()
    gs.set_num_threads(DEFAULT)
    yield
    assert gs.get_num_threads() == DEFAULT, "a limit outlived its block"
    gs.set_num_threads(before)


def planned():
    """Threads of a call that is large enough for any number."""
    return gs.explain(gs.take, np.zeros(1 << 16, "f4"), np.zeros(1 << 20, "i8")).to_dict()["threads"]
