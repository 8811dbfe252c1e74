"""test_masked_twice.py: masked arrays, whose data and mask are two runs of one call, with arguments that change between
the runs, and targets whose mask cannot be written."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core

N = 7


def naive_put(data, mask, index, values, hidden):
    for j, i in enumerate(index):
        data[i], mask[i] = values[j % len(values)], hidden[j % len(values)]


def assert_holds(x, data, mask):
    np.testing.assert_array_equal(x.data, data)
    np.testing.assert_array_equal(np.ma.getmaskarray(x), mask)


# ---- arguments in the memory of the target


@pytest.mark.parametrize("along", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_arguments_that_are_views_of_the_target_are_read_before_it_is_written(seed, along):
    rng = np.random.default_rng(seed)
    x = np.ma.array(rng.permutation(N), mask=rng.random(N) < 0.5, hard_mask=False)
    step = int(rng.choice([-1, 1, 2]))
    index = [x.data, x.data[::-1], x.mask.view(np.int8), x.mask.view(np.uint8)[::-1]][rng.integers(4)][::step]
    source = x[::step] if rng.random() < 0.5 else np.ma.array(rng.permutation(len(index)) + 10, mask=index == 1)
    where = [None, x.mask[::step], x.mask[::-step]][rng.integers(3)]
    data, mask = x.data.copy(), x.mask.copy()
    kept = np.ones(len(index), bool) if where is None else where.copy()
    values, hidden = source.data.copy(), np.ma.getmaskarray(source).copy()
    naive_put(data, mask, index[kept].tolist(), values[kept], hidden[kept]) if kept.any() else None
    if along:
        gs.put_along_axis(x, index, source, 0, mask=where)
    else:
        gs.put(x, index, source, mask=where)
    assert_holds(x, data, mask)


def test_a_bad_index_in_the_memory_of_the_target_writes_nothing_and_good_ones_are_checked_once():
    x = np.ma.array(np.arange(6), mask=True)
    gs.put(x, x.data[:2], [5, 4])
    assert_holds(x, [5, 4, 2, 3, 4, 5], [0, 0, 1, 1, 1, 1])
    x = np.ma.array(np.arange(6), mask=True)
    gs.put(x, x.data[:2], [50, 40])
    assert_holds(x, [50, 40, 2, 3, 4, 5], [0, 0, 1, 1, 1, 1])
    x = np.ma.array([0, 99, 2], mask=True)
    with pytest.raises(IndexError):
        gs.put(x, x.data[:2], 1)
    assert_holds(x, [0, 99, 2], [1, 1, 1])


# ---- arguments that another thread changes between the two runs


X = np.ma.array(np.arange(N) * 10, mask=np.arange(N) % 2 == 0)
CALLS = {
    "take": lambda i, w, n: gs.take(X, i),
    "take, mask": lambda i, w, n: gs.take(X, i, mask=w, fill_value=-1),
    "take, masked index": lambda i, w, n: gs.take(X, np.ma.array(i, mask=w, copy=False)),
    "take_along_axis": lambda i, w, n: gs.take_along_axis(X, i, 0, mask=w, fill_value=-1),
    "compress": lambda i, w, n: gs.compress(w, X),
    "repeat": lambda i, w, n: gs.repeat(X, n),
    "roll": lambda i, w, n: gs.roll(X, n[:1]),
    "roll, axis": lambda i, w, n: gs.roll(X, n[0, ...], axis=n[1:2] * 0),
}
WRITES = {
    "put": lambda x, i, v, w: gs.put(x, i, v, mask=w),
    "put_along_axis": lambda x, i, v, w: gs.put_along_axis(x, i, v, 0, mask=w),
}


def arguments():
    rng = np.random.default_rng(3)
    return rng.integers(0, N, N), rng.random(N) < 0.5, rng.integers(0, 3, N)


@pytest.fixture
def flips(monkeypatch):
    """Makes every run change the arrays that the test names."""
    victims = []

    def run(call, *rest):
        result = run_it(call, *rest)
        for array in victims:
            array[...] = np.roll(array, 1)
        return result

    run_it = _core.run
    monkeypatch.setattr(_core, "run", run)
    return victims


@pytest.mark.parametrize("name", CALLS)
def test_reads_take_data_and_mask_at_the_same_points(name, flips):
    expected = CALLS[name](*arguments())
    given = arguments()
    flips += given
    found = CALLS[name](*given)
    assert any((a != b).any() for a, b in zip(given, arguments(), strict=True))  # they changed meanwhile
    assert_holds(found, expected.data, np.ma.getmaskarray(expected))


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_writes_write_data_and_mask_at_the_same_points(name, hard, flips):
    def run():
        index, where, numbers = arguments()
        x = np.ma.array(X, copy=True, hard_mask=hard)
        values = np.ma.array(numbers, mask=numbers == 1)
        flips.extend((index, where, values.mask) if changes else ())
        WRITES[name](x, index, values, where)
        flips.clear()
        return x

    changes = False
    expected = run()
    changes = True
    found = run()
    assert_holds(found, expected.data, expected.mask)


@pytest.mark.parametrize("name", ["take", "take_along_axis", "compress", "repeat"])
def test_another_thread_may_change_the_arguments(name):
    given = arguments()
    stop = threading.Event()

    def change():
        while not stop.is_set():
            for array in given:
                array[...] = array[::-1].copy()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            found = CALLS[name](*given)
            np.testing.assert_array_equal(np.ma.getmaskarray(found), found.data % 20 == 0)
    finally:
        stop.set()
        thread.join()


def test_the_index_may_be_of_another_library():
    torch = pytest.importorskip("torch")
    index = torch.tensor([1, 4, 1])
    assert_holds(gs.take(X, index), [10, 40, 10], [0, 1, 0])
    assert_holds(gs.take_along_axis(X, index, 0), [10, 40, 10], [0, 1, 0])
    x = np.ma.array(X, copy=True)
    gs.put(x, index, np.ma.array([7, 8, 9], mask=[0, 0, 1]))
    assert x.tolist() == [None, None, None, 30, 8, 50, None]


# ---- masks that cannot be written


def read_only():
    mask = np.array([True, False, False])
    mask.flags.writeable = False
    return np.array([1, 2, 3]), mask


def overlapping():
    return np.array([1, 2, 3]), np.lib.stride_tricks.as_strided(np.zeros(1, bool), (3,), (0,))


def shared():
    data = np.array([1, 0, 1], np.int8)
    return data, data.view(bool)


MASKED = np.ma.array([1, 0, 1], mask=[1, 0, 0])
WRITERS = {
    "put": lambda x: gs.put(x, [0], 0),
    "put_along_axis": lambda x: gs.put_along_axis(x, np.array([0]), 0, 0),
    "take": lambda x: gs.take(MASKED.astype(x.dtype), [1, 1, 0], out=x),
    "take_along_axis": lambda x: gs.take_along_axis(MASKED.astype(x.dtype), np.array([1, 1, 0]), 0, out=x),
    "compress": lambda x: gs.compress([1, 1, 1], MASKED.astype(x.dtype), out=x),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    ("make", "fault"),
    [(read_only, "is read-only"), (overlapping, "overlaps itself"), (shared, "shares memory with its data")],
)
def test_a_mask_that_cannot_be_written_is_an_error_before_the_data_are_written(writer, make, fault):
    data, mask = make()
    x = data.view(np.ma.MaskedArray)
    x._mask = mask
    before = data.copy()
    with pytest.raises(ValueError, match=f"{writer}: the mask of the array to write to {fault}"):
        WRITERS[writer](x)
    np.testing.assert_array_equal(data, before)
    WRITERS[writer](x.copy())  # as the message says


def test_a_mask_that_does_not_fit_its_records_is_an_error_before_the_data_are_written():
    x = np.ma.array([1, 2], mask=[1, 0])
    values = np.ma.array([(5, 1), (6, 1)], mask=[(1, 0), (0, 0)], dtype=[("a", int), ("b", int)])
    with pytest.raises((TypeError, ValueError)):
        gs.put(x, [0, 1], values)
    assert_holds(x, [1, 2], [1, 0])


def test_a_masked_index_masks_all_fields_of_a_record():
    records = np.ma.array([(1, 2.0), (3, 4.0)], mask=[(0, 1), (0, 0)], dtype=[("a", int), ("b", float)])
    found = gs.take(records, np.ma.array([1, 0], mask=[1, 0]))
    assert found.tolist() == [(None, None), (1, None)]


# ---- tiles, which know no masks of NumPy


@pytest.mark.parametrize("value", [MASKED, MASKED[:1], np.ma.array(3, mask=True), np.ma.masked], ids=repr)
def test_tiles_refuse_hidden_values(value):
    x = np.arange(3)
    for call in (
        lambda: gs.tile_scatter(x, np.arange(3), value),
        lambda: gs.tile_gather(x, np.array([0, 1, 9]), padding_value=value),
        lambda: gs.compat.cutile.scatter(x, np.arange(3), value),
    ):
        with pytest.raises(TypeError, match=r"numpy\.ma.*pass its \.data"):
            call()
    assert x.tolist() == [0, 1, 2]
