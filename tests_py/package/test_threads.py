"""test_threads.py: calls from many Python threads, arguments that change during a call, and settings of our threads."""

import sys
import threading
import time

import numpy as np
import pytest

import gatherscatter as gs
from parallel_calls import together


@pytest.fixture
def eager_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def thread_count():
    """Restore the number of threads after a test that sets it."""
    before = gs.get_num_threads()
    yield before
    gs.set_num_threads(before)


# ---- shared arguments

X = np.random.default_rng(1).integers(0, 1 << 40, (4096, 64))
SMALL = np.array([4095, 0, -1, 17])
LARGE = np.random.default_rng(2).integers(-4096, 4096, 20_000)

PER_ROW = LARGE[:8192].reshape(4096, 2) % 64
WITH_ERROR = np.append(LARGE, 4096)


def position_of_error():
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.take(X, WITH_ERROR, axis=0)
    return caught.value.position


CALLS = {
    "small rows": (lambda: gs.take(X, SMALL, axis=0), lambda: X[SMALL]),
    "large rows": (lambda: gs.take(X, LARGE, axis=0), lambda: X[LARGE]),
    "elements": (lambda: gs.gather(X, 1, PER_ROW), lambda: np.take_along_axis(X, PER_ROW, 1)),
    "points": (
        lambda: gs.tile_gather(X, (LARGE, LARGE % 64), padding_value=-1),
        lambda: np.where(LARGE >= 0, X[LARGE, LARGE % 64], -1),
    ),
    "error": (position_of_error, lambda: (20_000,)),
}


@pytest.mark.parametrize("count", [2, 8, 32])
def test_calls_on_shared_arguments(count, eager_switching):
    answers = {name: answer() for name, (_, answer) in CALLS.items()}

    def work(number):
        names = list(CALLS)
        for turn in range(6):
            name = names[(number + turn) % len(names)]
            np.testing.assert_array_equal(CALLS[name][0](), answers[name])

    together(count, work)


def test_one_plan_in_many_threads(eager_switching):
    plan = gs.plan(gs.take, X, LARGE, axis=0)
    answers = [X[(LARGE + shift) % 4096] for shift in range(8)]

    def work(number):
        for _ in range(5):
            np.testing.assert_array_equal(plan(X, (LARGE + number) % 4096), answers[number])

    together(8, work)


def test_disjoint_parts_of_one_out(eager_switching):
    out = np.zeros((8, 20_000, 64), X.dtype)

    def work(number):
        for _ in range(3):
            gs.take(X, LARGE, axis=0, out=out[number])

    together(8, work)
    for part in out:
        np.testing.assert_array_equal(part, X[LARGE])


def test_results_that_die_while_others_are_made(eager_switching):
    def work(number):
        index = np.full(1 << 18, number)
        for _ in range(20):
            assert (gs.take(np.arange(100.0), index) == number).all(), "a block of the pool had two owners"

    together(8, work)


# ---- arguments that another thread changes

CANARY = -7


class Changing:
    """A source between guard elements, and an index that a thread switches between valid and bad values."""

    def __init__(self, count=100_000, extent=1000):
        around = np.full(3 * extent, CANARY)
        self.x = around[extent : 2 * extent]
        self.x[:] = np.arange(extent) + 10_000
        rng = np.random.default_rng(3)
        self.good = rng.integers(0, extent, count)
        near = self.good + rng.choice([-2 * extent, extent], count)  # such an index would read a guard
        far = rng.choice([2**62, -(2**63), 2**63 - 1, 2**40, -(2**40)], count)
        self.wild = [near, np.where(rng.random(count) < 0.01, far, self.good)]
        self.index = self.good.copy()
        self.stop = False

    def change(self):
        turn = 0
        while not self.stop:
            np.copyto(self.index, self.good)
            np.copyto(self.index, self.wild[turn % 2])
            turn += 1

    def run(self, call, seconds):
        """Call for this long while the index changes; return how many calls gave a result and how many raised."""
        writer = threading.Thread(target=self.change)
        writer.start()
        answers = errors = 0
        try:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                try:
                    yield call(self.x, self.index)
                    answers += 1
                except gs.OutOfBoundsError as error:
                    assert not -error.size <= error.index < error.size, "the error names a valid index"
                    errors += 1
        finally:
            self.stop = True
            writer.join()
        assert answers + errors > 0


def raising(x, index):
    return gs.take(x, index)


def filling(x, index):
    return gs.gather(x, index, axis=0, bounds="fill", fill_value=-1)


def clipping(x, index):
    return gs.take(x, index, mode="clip")


def wrapping(x, index):
    return gs.take(x, index, mode="wrap")


def along_axis(x, index):
    return gs.gather(x[:, None], 0, index[:, None])


def rows(x, index):
    return gs.gather(x.reshape(500, 2), index, axis=0, bounds="fill", fill_value=-1)


def points(x, index):
    return gs.tile_gather(x, (index,), padding_value=-1)


@pytest.mark.parametrize("call", [raising, filling, clipping, wrapping, along_axis, rows, points])
def test_an_index_that_changes_during_the_call(call, eager_switching):
    changing = Changing()
    allowed = {*changing.x.tolist(), -1}
    for result in changing.run(call, 0.6):
        assert set(np.unique(result).tolist()) <= allowed


def test_an_index_that_changes_while_out_is_written(eager_switching):
    changing = Changing()
    out = np.zeros(changing.index.shape, int)
    allowed = {*changing.x.tolist(), 0}

    def into_out(x, index):
        return gs.take(x, index, out=out)

    for result in changing.run(into_out, 0.6):
        assert result is out
        assert set(np.unique(out).tolist()) <= allowed


def test_a_mask_that_changes_during_the_call(eager_switching):
    changing = Changing()
    index = changing.wild[0].copy()
    mask = np.zeros(index.shape, bool)

    def change():
        while not changing.stop:
            mask[:] = True
            mask[:] = False

    changing.change = change
    allowed = {*changing.x.tolist(), -1}
    for result in changing.run(lambda x, _: gs.gather(x, index, axis=0, mask=mask, fill_value=-1), 0.6):
        assert set(np.unique(result).tolist()) <= allowed


@pytest.mark.large
@pytest.mark.parametrize("call", [raising, filling, clipping, wrapping, along_axis, rows, points])
def test_an_index_that_changes_for_long(call, eager_switching):
    changing = Changing(count=1 << 20)
    allowed = np.append(changing.x, -1)
    for result in changing.run(call, 20):
        assert np.isin(result, allowed).all()


# ---- any number of threads gives equal bytes


@pytest.mark.parametrize("name", ["large rows", "elements", "points"])
def test_the_number_of_threads_does_not_change_the_answer(name, thread_count):
    answers = []
    for count in range(1, 9):
        gs.set_num_threads(count)
        answers.append(CALLS[name][0]().tobytes())
    assert len(set(answers)) == 1


def test_the_number_of_threads_does_not_change_the_error(thread_count):
    x, index = np.arange(1000.0), np.random.default_rng(4).integers(0, 1000, 3_000_000)
    index[[1_234_567, 1_234_999, 2_999_999]] = [-5000, 2000, 3000]
    for count in range(1, 9):
        gs.set_num_threads(count)
        for _ in range(3):
            with pytest.raises(gs.OutOfBoundsError) as caught:
                gs.take(x, index)
            error = caught.value
            assert (error.index, error.position, error.size, error.count) == (-5000, (1_234_567,), 1000, 3)


# ---- settings


def test_set_num_threads(thread_count):
    for count in (1, 3, 8, np.int64(2)):
        gs.set_num_threads(count)
        assert gs.get_num_threads() == count and type(gs.get_num_threads()) is int


@pytest.mark.parametrize("count", [0, -1, -(2**31), np.int64(0)])
def test_less_than_one_thread_is_a_value_error(count, thread_count):
    with pytest.raises(ValueError):
        gs.set_num_threads(count)
    with pytest.raises(ValueError), gs.thread_limit(count):
        pass
    assert gs.get_num_threads() == thread_count


@pytest.mark.parametrize("count", [2**31, 2**63, 2**64, 10**30])
def test_a_count_beyond_all_sense_is_no_crash(count, thread_count):
    try:
        gs.set_num_threads(count)
    except (ValueError, OverflowError):
        assert gs.get_num_threads() == thread_count
    np.testing.assert_array_equal(gs.take(X, LARGE, axis=0), X[LARGE])


@pytest.mark.parametrize("count", [1.0, "2", None, [1], 2.5, True, np.True_, np.float64(2), np.array([True])])
def test_a_count_that_is_no_integer_is_a_type_error(count, thread_count):
    for call in (gs.set_num_threads, gs.thread_limit):
        with pytest.raises(TypeError, match=f"^{call.__name__}: the number of threads .*, expected an integer$"):
            call(count)
    assert gs.get_num_threads() == thread_count


def test_thread_limit_nests_and_ends(thread_count):
    gs.set_num_threads(6)
    with gs.thread_limit(4):
        assert gs.get_num_threads() == 4
        with gs.thread_limit(2):
            assert gs.get_num_threads() == 2
            np.testing.assert_array_equal(gs.take(X, LARGE, axis=0), X[LARGE])
        assert gs.get_num_threads() == 4
        with pytest.raises(KeyError), gs.thread_limit(1):
            raise KeyError
        assert gs.get_num_threads() == 4
    assert gs.get_num_threads() == 6


def test_thread_limit_is_of_one_thread_only(thread_count):
    gs.set_num_threads(5)
    seen = {}

    def work(number):
        with gs.thread_limit(number + 1):
            time.sleep(0.02)
            seen[number] = gs.get_num_threads()
        seen[number, "after"] = gs.get_num_threads()

    together(4, work)
    assert seen == {n: n + 1 for n in range(4)} | {(n, "after"): 5 for n in range(4)}


def test_thread_limit_is_seen_in_plans(thread_count):
    gs.set_num_threads(4)
    with gs.thread_limit(1):
        assert gs.explain(gs.take, X, LARGE, axis=0).to_dict()["threads"] == 1
