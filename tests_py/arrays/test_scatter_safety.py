"""test_scatter_safety.py: a scatter that fails does not change its target, and no scatter writes outside of it."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

import numpy as np
import pytest

import gatherscatter as gs
from contract import ABOVE_THRESHOLDS

COUNT = ABOVE_THRESHOLDS
EXTENT = 50_000
GUARD = 4096  # elements on either side of a target
CANARY = -7


class Guarded:
    """A target between guard elements."""

    def __init__(self, extent=EXTENT, dtype=np.int64):
        self.room = np.full(extent + 2 * GUARD, CANARY, dtype)
        self.target = self.room[GUARD : GUARD + extent]
        self.target[:] = np.arange(extent)

    def canaries_live(self):
        return (self.room[:GUARD] == CANARY).all() and (self.room[-GUARD:] == CANARY).all()


# All operators that write to a target in place. They take any 1-d target, and index and source of equal length.
def by_scatter(target, index, src):
    gs.scatter(target, 0, index, src, out=target)


def by_first(target, index, src):
    gs.scatter(target, 0, index, src, duplicates="first", out=target)


def by_adding(target, index, src):
    gs.scatter(target, 0, index, src, reduce="add", out=target)


def by_mean(target, index, src):
    gs.scatter(target, 0, index, src, reduce="mean", include_self=False, out=target)


def by_scatter_nd(target, index, src):
    gs.scatter_nd(target, index[:, None], src, out=target)


def by_rows(target, index, src):
    rows = target[: len(target) // 2 * 2].reshape(-1, 2)
    gs.scatter_nd(rows, index[:, None] // 2, src[:, None], reduce="max", out=rows)


def by_put(target, index, src):
    gs.put(target, index, src)


def by_put_along_axis(target, index, src):
    gs.put_along_axis(target, index, src, 0)


def by_plan(target, index, src):
    gs.plan(gs.take, target, index).scatter(target, index, src, out=target)


def by_tile(target, index, src):
    gs.tile_scatter(target, (index,), src, check_bounds=False)


def by_columns(target, index, src):
    column = target[:, None]
    gs.scatter(column, 0, index[:, None], src[:, None], out=column)


WAYS = [
    by_scatter,
    by_first,
    by_adding,
    by_mean,
    by_scatter_nd,
    by_rows,
    by_put,
    by_put_along_axis,
    by_plan,
    by_tile,
    by_columns,
]


# ---- all or nothing

WHERE = {
    "first": [0],
    "middle": [COUNT // 2],
    "last": [COUNT - 1],
    "in_the_second_of_three_ranges": [COUNT // 3 + 17],
    "at_the_end_of_a_range": [COUNT // 2 - 1],
    "several": [COUNT - 5, COUNT // 4, COUNT // 4 * 3],
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("way", WAYS)
def test_a_bad_index_leaves_the_target_alone(way, where):
    rng = np.random.default_rng(1)
    index, src = rng.integers(0, EXTENT, COUNT), rng.integers(0, 99, COUNT)
    index[WHERE[where]] = EXTENT + 4
    for count, threads in ((COUNT, 1), (COUNT, 2), (COUNT, 3), (COUNT, 8)):
        guarded = Guarded()
        before = guarded.room.copy()
        with gs.thread_limit(threads), pytest.raises(gs.OutOfBoundsError) as caught:
            way(guarded.target, index[:count], src[:count])
        np.testing.assert_array_equal(guarded.room, before)
        assert caught.value.position[0] == min(WHERE[where]) and caught.value.count == len(WHERE[where])


@pytest.mark.parametrize("count", [1, 2, 17, 300])
@pytest.mark.parametrize("way", WAYS)
def test_a_bad_index_of_a_few_leaves_the_target_alone(way, count):
    rng = np.random.default_rng(2)
    for at in {0, count // 2, count - 1}:
        guarded, index = Guarded(100), rng.integers(0, 100, count)
        index[at] = rng.choice([104, 2**40, 2**62])
        before = guarded.room.copy()
        with pytest.raises(gs.OutOfBoundsError) as caught:
            way(guarded.target, index, np.zeros(count, int))
        np.testing.assert_array_equal(guarded.room, before)
        assert caught.value.position[0] == at


@pytest.mark.parametrize("where", WHERE)
def test_a_bad_index_leaves_out_alone(where):
    """An `out` apart from the input does not even get the copy of the input."""
    index, x = np.zeros(COUNT, int), np.arange(EXTENT)
    index[WHERE[where]] = -EXTENT - 1
    for reduce in (None, "add"):
        guarded = Guarded()
        guarded.target[:] = 5
        before = guarded.room.copy()
        with pytest.raises(gs.OutOfBoundsError):
            gs.scatter(x, 0, index, 1, reduce=reduce, out=guarded.target)
        np.testing.assert_array_equal(guarded.room, before)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, COUNT - 1), (COUNT // 2 - 1, COUNT // 2), (5, COUNT // 3)])
def test_a_duplicate_leaves_the_target_alone(first, second, threads):
    guarded = Guarded(COUNT)
    index = np.random.default_rng(3).permutation(COUNT)
    index[second] = index[first]
    before = guarded.room.copy()
    with gs.thread_limit(threads), pytest.raises(ValueError, match="scatter") as caught:
        gs.scatter(guarded.target, 0, index, 1, duplicates="error", out=guarded.target)
    np.testing.assert_array_equal(guarded.room, before)
    assert f"({second},)" in str(caught.value) and f"({first},)" in str(caught.value)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_no_duplicate_is_no_error(threads):
    guarded = Guarded(COUNT)
    index = np.random.default_rng(4).permutation(COUNT)
    with gs.thread_limit(threads):
        gs.scatter(guarded.target, 0, index, np.arange(COUNT), duplicates="error", out=guarded.target)
    np.testing.assert_array_equal(guarded.target[index], np.arange(COUNT))
    assert guarded.canaries_live()


# ---- targets that are refused


def refusals():
    locked = np.arange(8.0)
    locked.flags.writeable = False
    return {
        "read_only": locked,
        "stride_0": np.ndarray((8,), np.float64, np.zeros(1), 0, (0,)),
        "sliding": np.ndarray((4, 3), np.float64, np.arange(8.0), 0, (8, 8)),
        "half an element": np.ndarray((4,), np.float64, np.arange(8.0), 0, (4,)),
    }


@pytest.mark.parametrize("name", refusals())
def test_targets_that_cannot_be_written_to(name):
    target = refusals()[name]
    before = target.copy()
    index = np.zeros(target.shape, int)
    calls = {
        "scatter": lambda: gs.scatter(np.zeros(target.shape), 0, index, 1.0, out=target),
        "in place": lambda: gs.scatter(target, 0, index, 1.0, out=target),
        "reduce": lambda: gs.scatter(target, 0, index, 1.0, reduce="add", out=target),
        "scatter_nd": lambda: gs.scatter_nd(target, np.zeros((1, target.ndim), int), 1.0, out=target),
        "tile_scatter": lambda: gs.tile_scatter(target, (np.zeros(1, int),) * target.ndim, 1.0),
        "put": lambda: gs.put(target, [0], 1.0),
        "put_along_axis": lambda: gs.put_along_axis(target, index, 1.0, 0),
        "putmask": lambda: gs.putmask(target, index == 0, 1.0),
        "plan": lambda: gs.plan(gs.take, target, [0]).scatter(target, [0], 1.0, out=target),
    }
    for call in calls.values():
        with pytest.raises(ValueError, match=r"read-only|overlap"):
            call()
        np.testing.assert_array_equal(target, before)


def test_an_out_of_another_dtype_or_shape_is_refused():
    for out, error in [
        (np.zeros(4, np.float32), TypeError),
        (np.zeros(4, ">f8"), TypeError),
        (np.zeros(5), ValueError),
        (np.zeros((4, 1)), ValueError),
    ]:
        before = out.copy()
        with pytest.raises(error):
            gs.scatter(np.zeros(4), 0, [1], 1.0, out=out)
        with pytest.raises(error):
            gs.scatter_nd(np.zeros(4), [[1]], 1.0, out=out)
        np.testing.assert_array_equal(out, before)


@pytest.mark.parametrize("dtype", ["f4", "i8", ">f8", "c16", "?"])
def test_a_source_of_another_dtype_is_refused(dtype):
    target = np.arange(4.0)
    with pytest.raises(TypeError):
        gs.scatter(target, 0, [1, 2], np.ones(2, dtype), out=target)
    with pytest.raises(TypeError):
        gs.scatter_nd(target, [[1], [2]], np.ones(2, dtype), out=target)
    assert target.tolist() == [0, 1, 2, 3]


def test_jax_arrays_are_never_written_to():
    jnp = pytest.importorskip("jax.numpy")
    target = jnp.arange(4.0)
    for call in (
        lambda: gs.scatter(target, 0, jnp.array([1]), jnp.ones(1), out=target),
        lambda: gs.scatter_nd(target, jnp.array([[1]]), jnp.ones(1), out=target),
        lambda: gs.tile_scatter(target, (jnp.array([1]),), 1.0),
        lambda: gs.put(target, [1], 1.0),
        lambda: gs.put_along_axis(target, jnp.array([1]), 1.0, 0),
        lambda: gs.putmask(target, target > 0, 1.0),
    ):
        with pytest.raises(TypeError):
            call()
        assert target.tolist() == [0, 1, 2, 3]
    assert gs.scatter(target, 0, jnp.array([1]), jnp.ones(1)).tolist() == [0, 1, 2, 3]


# ---- an index that another thread changes


@pytest.fixture
def eager_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Changing:
    """An index that a thread switches between valid and bad values; a bad one would hit a guard or unmapped memory."""

    def __init__(self, count=100_000, extent=1000):
        rng = np.random.default_rng(5)
        self.good = rng.permutation(count) % extent
        near = self.good + rng.choice([-2 * extent, extent], count)
        far = rng.choice([2**62, -(2**63), 2**63 - 1, 2**40, -(2**40)], count)
        self.wild = [near, np.where(rng.random(count) < 0.01, far, self.good)]
        self.index, self.stop, self.turns = self.good.copy(), False, 0

    def change(self):
        while not self.stop:
            np.copyto(self.index, self.good)
            np.copyto(self.index, self.wild[self.turns % 2])
            self.turns += 1

    def run(self, call, seconds=0.5):
        writer = threading.Thread(target=self.change)
        writer.start()
        calls = 0
        try:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or calls == 0:
                call()
                calls += 1
        finally:
            self.stop = True
            writer.join()
        assert self.turns > 1, "the index was never changed"


def dropping(target, index, src):
    gs.scatter(target, 0, index, src, bounds="drop", out=target)


def clipping(target, index, src):
    gs.put(target, index, src, mode="clip")


def wrapping(target, index, src):
    gs.scatter_nd(target, index[:, None], src, bounds="wrap", out=target)


def adding_where_it_can(target, index, src):
    gs.scatter(target, 0, index, src, bounds="drop", reduce="add", out=target)


def without_duplicates(target, index, src):
    gs.scatter(target, 0, index, src, duplicates="error", bounds="drop", out=target)


def skipping(target, index, src):
    gs.tile_scatter(target, (index,), src)


MORE_WAYS = [dropping, clipping, wrapping, adding_where_it_can, without_duplicates, skipping]


@pytest.mark.parametrize("way", WAYS + MORE_WAYS)
def test_an_index_that_changes_during_the_call(way, eager_switching):
    changing, guarded = Changing(), Guarded(1000)
    src = np.full(changing.index.shape, 3)
    sums = way in (by_adding, adding_where_it_can)

    def call():
        guarded.target[:] = 5
        try:
            way(guarded.target, changing.index, src)
        except gs.OutOfBoundsError as error:
            assert not 0 <= error.index < error.size, "the error names a valid index"
        except ValueError:
            assert way is without_duplicates
        except RuntimeError as error:  # the check passed, the scatter found a bad index, and a second check found none
            assert "kept changing" in str(error)
        assert guarded.canaries_live(), "written outside of the target"
        assert sums or set(np.unique(guarded.target).tolist()) <= {3, 5}

    changing.run(call)


@pytest.mark.parametrize("reduce", [None, "add", "mean"])
def test_an_index_that_changes_while_a_new_array_is_made(reduce, eager_switching):
    changing, x = Changing(), np.arange(1000.0)
    src = np.ones(changing.index.shape)

    def call():
        try:
            result = gs.scatter(x, 0, changing.index, src, reduce=reduce)
        except gs.OutOfBoundsError:
            return
        except RuntimeError as error:
            assert "kept changing" in str(error)
            return
        assert result.shape == x.shape

    changing.run(call)
    np.testing.assert_array_equal(x, np.arange(1000.0))


def test_a_mask_that_changes_during_the_call(eager_switching):
    changing, guarded = Changing(), Guarded(1000)
    index, mask = changing.wild[0].copy(), np.zeros(changing.index.shape, bool)

    def change():
        while not changing.stop:
            mask[:] = True
            mask[:] = False
            changing.turns += 1

    def call():
        for reduce in (None, "add"):
            gs.scatter(guarded.target, 0, index, 3, mask=mask, bounds="drop", reduce=reduce, out=guarded.target)
        assert guarded.canaries_live()

    changing.change = change
    changing.run(call)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("reduce", [None, "add"])
def test_a_mask_that_changes_leaves_other_places_alone(reduce, threads, eager_switching):
    changing, target = Changing(), np.zeros(1000, np.int64)
    index, mask = np.full(changing.index.shape, 700), np.zeros(changing.index.shape, bool)

    def change():
        while not changing.stop:
            mask[::3] = True
            mask[:] = False
            changing.turns += 1

    def call():
        with gs.thread_limit(threads):
            gs.scatter(target, 0, index, 1, mask=mask, reduce=reduce, out=target)
        assert np.flatnonzero(target).tolist() in ([], [700])

    changing.change = change
    changing.run(call)


@pytest.mark.large
@pytest.mark.parametrize("way", WAYS + MORE_WAYS)
def test_an_index_that_changes_for_long(way, eager_switching):
    changing, guarded = Changing(1 << 20), Guarded(1000)
    src = np.full(changing.index.shape, 3)

    def call():
        with contextlib.suppress(ValueError, RuntimeError):  # OutOfBoundsError is both
            way(guarded.target, changing.index, src)
        assert guarded.canaries_live(), "written outside of the target"

    changing.run(call, 20)


@pytest.mark.parametrize("extent", [1000, 100_000])  # positions of 2 bytes and of 4
def test_a_gather_into_out_is_whole_or_has_not_begun(extent, eager_switching):
    changing = Changing(1 << 20, extent)  # more indices than L2 holds, so that the check keeps their positions
    x, room = np.arange(extent), np.full(len(changing.index) + 2 * GUARD, CANARY)
    out = room[GUARD:-GUARD]
    keeps_positions = gs.show_config()["backend"] == "cpu"

    def call():
        room[:] = CANARY
        try:
            gs.take(x, changing.index, out=out)
        except gs.OutOfBoundsError as error:
            assert not 0 <= error.index < error.size, "the error names a valid index"
            assert not keeps_positions or (out == CANARY).all(), "an error has changed a part of the result"
        except RuntimeError as error:  # the indices were never bad when they were searched for the error
            assert "kept changing" in str(error)
        else:
            assert (out != CANARY).all()
        assert (room[:GUARD] == CANARY).all()
        assert (room[-GUARD:] == CANARY).all()

    changing.run(call)
