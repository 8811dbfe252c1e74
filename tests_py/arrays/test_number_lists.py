"""test_number_lists.py: lists and ranges of Python numbers that one pass reads, beside what NumPy makes of them."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter._libraries.number_lists import plain_numbers
from gatherscatter._values import source

LEAVES = {
    "integers": lambda rng: int(rng.integers(-(2**62), 2**62)) >> int(rng.integers(0, 62)),
    "floats": lambda rng: float(rng.choice([rng.standard_normal(), 2.0, -0.0, 1e308, 5e-324, np.inf, np.nan, 70000.0])),
    "bools": lambda rng: bool(rng.integers(0, 2)),
}
OTHERS = [None, "a", 2**63, -(2**63) - 1, True, 1, 1.5, 1j, np.int64(1), np.float64(2), [1], (), np.array(1), object]


def drawn(rng, leaf, depth):
    shape = rng.integers(1, 4, depth)
    values = np.empty(shape, object)
    for at in np.ndindex(*shape):
        values[at] = leaf(rng)
    return nested(rng, values)


def nested(rng, values):
    """A nested list or tuple of the items of an array of objects."""
    items = [item if values.ndim == 1 else nested(rng, item) for item in values]
    return tuple(items) if rng.random() < 0.3 else items


@pytest.mark.parametrize("kind", LEAVES)
@pytest.mark.parametrize("seed", range(20))
def test_what_numpy_makes_of_them(kind, seed):
    rng = np.random.default_rng(seed)
    values = drawn(rng, LEAVES[kind], int(rng.integers(1, 5)))
    found, expected = _core.numbers_of(values), np.asarray(values)
    assert found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_all_other_lists_are_left_to_numpy(seed):
    rng = np.random.default_rng(seed)
    leaf = LEAVES[list(LEAVES)[seed % 3]]
    values = drawn(rng, leaf, int(rng.integers(1, 4)))
    inner = values
    while isinstance(inner[0], (list, tuple)):
        inner = inner[int(rng.integers(0, len(inner)))]
    other = OTHERS[int(rng.integers(0, len(OTHERS)))]
    if isinstance(inner, tuple) or (
        type(other) is type(leaf(rng)) and not (type(other) is int and abs(other) >= 2**63)
    ):
        return
    inner.insert(int(rng.integers(0, len(inner) + 1)), other) if rng.random() < 0.5 else inner.__setitem__(0, other)
    if (found := _core.numbers_of(values)) is not None:
        expected = np.asarray(values)
        assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def test_lists_without_one_shape_or_one_type():
    itself = [1]
    itself.append(itself)
    deep = [1]
    for _ in range(100):
        deep = [deep]
    for values in (
        itself,
        deep,
        [],
        [[]],
        [[1], []],
        [[1], [2, 3]],
        [1, [2]],
        [[1], 2],
        1,
        None,
        "12",
        [1, 2.0],
        [True, 1],
    ):
        assert _core.numbers_of(values) is None

    class Kept(list):
        pass

    class Integer(int):
        pass

    for values in (Kept([1]), [Kept([1])], [Integer(1)], [1, Integer(1)]):
        assert _core.numbers_of(values) is None


@pytest.mark.parametrize("seed", range(200))
def test_ranges(seed):
    rng = np.random.default_rng(seed)
    scale = 10 ** int(rng.integers(0, 20))
    first, step, count = (int(n) * scale // 7 for n in rng.integers(-9, 9, 3))
    count = abs(count) % 9
    step = step or 1
    given = range(first, first + count * step + int(rng.integers(0, 2)) * (1 if step > 0 else -1), step)
    found = plain_numbers(given)
    if found is None:
        assert not len(given) or max(map(abs, (given[0], given[-1], given.start + given.step))) >= 2**63 - 1
    else:
        assert found.dtype == np.int64 and found.tolist() == list(given)


def answer(call):
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    return found.dtype, found.shape, found.tobytes()


DTYPES = [*"?bBhHiIlLefdFD", ">f4", ">i2", "g", "M8[s]", "S3", "O"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(12))
def test_values_that_are_converted_together(dtype, seed, monkeypatch):
    """They have the bytes and the errors of values that are converted one by one."""
    rng = np.random.default_rng(seed)
    kind = list(LEAVES)[int(rng.integers(0, 3))]
    small = {"integers": lambda rng: int(rng.integers(0, 100)), "floats": lambda rng: float(rng.integers(0, 9)) / 2}
    leaf = small.get(kind, LEAVES[kind]) if seed % 2 else LEAVES[kind]
    values = drawn(rng, leaf, int(rng.integers(1, 3)))
    target = np.zeros(np.shape(values), dtype)
    index = np.zeros(np.shape(values), np.int64)
    calls = (
        lambda: source.as_source("scatter", target, values),
        lambda: gs.scatter(target, 0, index, values),
        lambda: gs.scatter(target, 0, index, range(4) if target.ndim == 1 and len(target) == 4 else values),
    )
    together = [answer(call) for call in calls]
    monkeypatch.setattr(source, "plain_numbers", lambda written: None)
    assert together == [answer(call) for call in calls]


@pytest.mark.parametrize(
    "written", [[3, 1, -1], (0, 2), [[1, 2], [0, 3]], range(4), range(3, -1, -2), [2**63], [True], []]
)
def test_indices_as_lists_are_those_as_arrays(written, monkeypatch):
    from gatherscatter._libraries import adopt, nested, of_python

    x = np.arange(8.0).reshape(4, 2)
    plan = gs.plan(gs.gather, x, np.array([0, 1]), axis=0)
    calls = (
        lambda: gs.take(x, written, axis=0),
        lambda: gs.gather(x, written, axis=0),
        lambda: gs.put(x.copy(), written, written) or x,
        lambda: gs.scatter(x, 0, written, 1.0) if np.ndim(written) == 2 else gs.scatter(x, written, 1.0, axis=0),
        lambda: plan(x, written),
    )
    found = [answer(call) for call in calls]
    for module in (adopt, nested, of_python):
        monkeypatch.setattr(module, "plain_numbers", lambda written: None)
    assert found == [answer(call) for call in calls]
