"""test_numpy_put_properties.py: NumPy's writing functions and ours write equal bytes for random shapes and indices."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gatherscatter as gs
from array_strategies import SIDES, index_array, strided
from gatherscatter.errors import OutOfBoundsError
from layouts import DTYPES, root_of, significant
from numpy_answers import memory

MODES = st.sampled_from(["raise", "raise", "wrap", "clip"])


def as_numpy_takes_them(indices):
    """The indices clipped to int64, which NumPy casts to. Clipped values are out of bounds as before."""
    return np.array([min(max(int(i), -(2**63)), 2**63 - 1) for i in indices.flat], np.int64).reshape(indices.shape)


def wraps_slowly(indices, n):
    """NumPy's put subtracts the size in a loop, once for each wrap."""
    return any(abs(int(i)) > 100 * max(n, 1) for i in indices.flat)


def check(target, ours, numpys):
    """Compare with what NumPy writes to a copy; nothing around it changes, and on an error nothing at all."""
    before, expected, original = memory(target), target.copy(), target.copy()
    try:
        numpys(expected)
    except IndexError as error:
        with pytest.raises(IndexError) as found:
            ours(target)
        assert isinstance(found.value, OutOfBoundsError) or str(found.value) == str(error)
        assert memory(target) == before
        return
    assert ours(target) is None
    assert significant(np.ascontiguousarray(target)) == significant(np.ascontiguousarray(expected))
    target[...] = original
    if target.dtype.char not in "gG":
        assert memory(target) == before, root_of(target)


@given(st.data())
def test_put(data):
    target = data.draw(strided(data.draw(st.lists(SIDES, max_size=4)), broadcast=False))
    indices = data.draw(index_array(data.draw(st.lists(SIDES, max_size=3)), target.size))
    values = data.draw(strided(data.draw(st.lists(SIDES, max_size=3)), target.dtype))
    mode = data.draw(MODES)
    assume(mode != "wrap" or not wraps_slowly(indices, target.size))
    check(
        target,
        lambda a: gs.put(a, indices, values, mode),
        lambda a: np.put(a, as_numpy_takes_them(indices), values, mode),
    )


@given(st.data())
def test_put_along_axis(data):
    sides = data.draw(st.lists(SIDES, min_size=1, max_size=4))
    axis = data.draw(st.integers(-len(sides), len(sides) - 1))

    def broadcastable():
        return [data.draw(st.sampled_from([n, n, 1])) for n in sides]

    shape, index_shape, value_shape = broadcastable(), broadcastable(), broadcastable()
    shape[axis], index_shape[axis] = sides[axis], data.draw(SIDES)
    value_shape[axis] = data.draw(st.sampled_from([index_shape[axis], 1]))
    dense = [n if m == 1 else m for n, m in zip(shape, index_shape, strict=True)]
    dense[axis] = index_shape[axis]
    value_shape = [min(n, m) if n else 1 for n, m in zip(value_shape, dense, strict=True)]  # at most the dense shape
    target = data.draw(strided(shape, broadcast=False))
    indices = data.draw(index_array(index_shape, shape[axis]))
    values = data.draw(strided(value_shape[data.draw(st.integers(0, len(sides))) :], target.dtype))
    if 0 in dense:  # NumPy does not check the indices of an assignment that writes nothing
        assume(shape[axis])
        indices = np.arange(indices.size).reshape(indices.shape) % shape[axis]
    check(
        target,
        lambda a: gs.put_along_axis(a, indices, values, axis),
        lambda a: np.put_along_axis(a, as_numpy_takes_them(indices), values, axis),
    )


@given(st.data())
def test_putmask_and_place(data):
    target = data.draw(strided(data.draw(st.lists(SIDES, max_size=4)), broadcast=False))
    mask = data.draw(hnp.arrays(st.sampled_from([np.bool_, np.int8]), target.shape, elements=st.integers(0, 1)))
    mask = data.draw(st.sampled_from([mask, mask.ravel(), np.asfortranarray(mask), mask[::-1] if mask.ndim else mask]))
    values = data.draw(strided(data.draw(st.lists(st.integers(1, 6), max_size=3)), target.dtype))
    check(target, lambda a: gs.putmask(a, mask, values), lambda a: np.putmask(a, mask, values))
    check(target, lambda a: gs.place(a, mask, values), lambda a: np.place(a, mask, values))


@given(st.data())
def test_compress(data):
    source = data.draw(strided(data.draw(st.lists(SIDES, min_size=1, max_size=4))))
    axis = data.draw(st.none() | st.integers(-source.ndim, source.ndim - 1))
    n = source.size if axis is None else source.shape[axis]
    condition = data.draw(hnp.arrays(np.bool_, st.integers(0, n)))
    found, expected = gs.compress(condition, source, axis), np.compress(condition, source, axis)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert significant(found) == significant(expected)


NUMBERS = [dtype for dtype in DTYPES.values() if dtype.kind in "biufc" and dtype.isbuiltin == 1]


@given(st.data())
def test_casts(data):
    """From any numeric dtype to any other: put casts all, the functions with masks cast what is safe."""
    target = np.zeros(6, data.draw(st.sampled_from(NUMBERS)))
    kind = data.draw(st.sampled_from(NUMBERS))
    assume(kind.kind != "c" or target.dtype.kind == "c")  # such a cast emits a warning
    values = data.draw(hnp.arrays(kind, st.integers(1, 7), elements=st.integers(0, 1))) * kind.type(3)
    check(target, lambda a: gs.put(a, [3, 0, 5], values), lambda a: np.put(a, [3, 0, 5], values))
    mask = [1, 0, 1, 1, 0, 1]
    for ours, numpys in ((gs.putmask, np.putmask), (gs.place, np.place)):
        if np.can_cast(values.dtype, target.dtype, "safe"):
            check(target, lambda a, ours=ours: ours(a, mask, values), lambda a, numpys=numpys: numpys(a, mask, values))
        else:
            with pytest.raises(TypeError, match="according to the rule 'safe'"):
                ours(target, mask, values)
