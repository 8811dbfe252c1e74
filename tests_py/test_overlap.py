"""out= that overlaps an argument: found exactly, and answered as if the arguments had been copied first."""

import numpy as np
import pytest

import gatherscatter as gs

BUFFER = 60  # elements of the buffer that all windows share


def window(rng, buffer, shape):
    """A view of the buffer of this shape: any start, steps of either sign that never visit an element twice."""
    span, steps = 0, [0] * len(shape)
    for axis in rng.permutation(len(shape)):
        step = span + 1 + int(rng.integers(0, 3))  # beyond all that the axes before can reach: no self-overlap
        steps[axis] = step * int(rng.choice([-1, 1]))
        span += step * max(shape[axis] - 1, 0)
    if span >= buffer.size:
        return None
    low = sum(min(step * (n - 1), 0) for step, n in zip(steps, shape, strict=True))
    start = int(rng.integers(0, buffer.size - span)) - low
    strides = tuple(step * buffer.itemsize for step in steps)
    return np.ndarray(shape, buffer.dtype, buffer, start * buffer.itemsize, strides)


def windows(rng, buffer, *shapes):
    while True:
        views = [window(rng, buffer, shape) for shape in shapes]
        if all(view is not None for view in views):
            return views


def agree(call, buffer, out, **arguments):
    """`call` into `out` gives what it gives for copies, and writes nowhere else."""
    expected = buffer.copy()
    place = np.ndarray(out.shape, out.dtype, expected, address(out) - address(buffer), out.strides)
    place[...] = call(**{name: value.copy() for name, value in arguments.items()}, out=None)
    assert call(**arguments, out=out) is out
    np.testing.assert_array_equal(buffer, expected)


def address(array):
    return array.__array_interface__["data"][0]


def gather_elements(x, index, out):
    return gs.gather(x, 1, index, out=out)


def gather_rows(x, index, out):
    return gs.gather(x, index, axis=0, out=out)


def gather_columns(x, index, out):
    return gs.gather(x, index, axis=1, out=out)


def take_clipped(x, index, out):
    return gs.take(x, index, axis=0, mode="clip", out=out)


OPERATORS = [gather_elements, gather_rows, gather_columns, take_clipped]


def shapes(operator, rng):
    rows, columns, count = (int(n) for n in rng.integers(1, 6, 3))
    if operator is gather_elements:
        return (rows, columns), (rows, count), (rows, count)
    if operator is gather_columns:
        return (rows, columns), (count,), (rows, count)
    return (rows, columns), (count,), (count, columns)


def positions(operator, rng, x, shape):
    return rng.integers(0, x.shape[1] if operator in (gather_elements, gather_columns) else x.shape[0], shape)


@pytest.mark.parametrize("operator", OPERATORS)
def test_out_overlaps_the_input(operator):
    rng = np.random.default_rng(1)
    overlapping = 0
    for _ in range(1000):
        x_shape, index_shape, out_shape = shapes(operator, rng)
        buffer = np.arange(BUFFER, dtype=rng.choice(["i1", "i2", "f4", "f8", "c16"]))
        x, out = windows(rng, buffer, x_shape, out_shape)
        overlapping += np.shares_memory(x, out)
        agree(operator, buffer, out, x=x, index=positions(operator, rng, x, index_shape))
    assert overlapping > 250


@pytest.mark.parametrize("operator", OPERATORS)
def test_out_overlaps_the_index(operator):
    rng = np.random.default_rng(2)
    overlapping = 0
    for _ in range(1000):
        x_shape, index_shape, out_shape = shapes(operator, rng)
        dtype = rng.choice(["i1", "u2", "i4", "i8", "u8"])
        x = rng.integers(0, 100, x_shape).astype(dtype)
        buffer = positions(operator, rng, x, BUFFER).astype(dtype)
        index, out = windows(rng, buffer, index_shape, out_shape)
        overlapping += np.shares_memory(index, out)
        agree(operator, buffer, out, x=x, index=index)
    assert overlapping > 250


def test_out_overlaps_all_of_them():
    rng = np.random.default_rng(3)
    for _ in range(1000):
        x_shape, index_shape, out_shape = shapes(gather_rows, rng)
        buffer = rng.integers(0, x_shape[0], BUFFER)
        x, index, out = windows(rng, buffer, x_shape, index_shape, out_shape)
        agree(gather_rows, buffer, out, x=x, index=index)


def test_out_overlaps_the_mask():
    rng = np.random.default_rng(4)

    def masked(x, index, mask, out):
        return gs.gather(x, index, axis=0, mask=mask, fill_value=True, out=out)

    for _ in range(1000):
        count = int(rng.integers(1, 20))
        buffer = rng.integers(0, 2, BUFFER).astype(bool)
        x, mask, out = windows(rng, buffer, (5,), (count,), (count,))
        agree(masked, buffer, out, x=x, index=rng.integers(0, 5, count), mask=mask)


def test_out_overlaps_the_fill_value():
    rng = np.random.default_rng(5)

    def padded(x, index, fill, out):
        return gs.gather(x, index, axis=0, bounds="fill", fill_value=fill, out=out)

    for _ in range(300):
        count = int(rng.integers(1, 20))
        buffer = rng.integers(0, 99, BUFFER)
        fill, out = windows(rng, buffer, (), (count,))
        agree(padded, buffer, out, x=np.arange(5), index=rng.integers(-9, 9, count), fill=fill)


def test_large_windows_that_overlap():
    x = np.arange(1 << 21, dtype=np.int32)  # beyond every threshold: threads, blocks, pool
    index = np.random.default_rng(6).integers(0, 1 << 20, 1 << 20)
    buffer = x.copy()
    gs.take(buffer[: 1 << 20], index, out=buffer[1000 : 1000 + (1 << 20)])
    x[1000 : 1000 + (1 << 20)] = x[index]
    np.testing.assert_array_equal(buffer, x)


def test_interleaved_windows_do_not_overlap():
    buffer = np.arange(1 << 21, dtype=np.int64)
    index = np.arange(1 << 20)[::-1]
    gs.take(buffer[::2], index, out=buffer[1::2])
    np.testing.assert_array_equal(buffer[1::2], buffer[::2][::-1])


def test_an_error_leaves_overlapping_memory_as_it_was():
    rng = np.random.default_rng(7)
    for _ in range(200):
        buffer = np.arange(BUFFER)
        x, out = windows(rng, buffer, (6,), (4,))
        with pytest.raises(gs.OutOfBoundsError):
            gs.take(x, [0, 1, 2, 6], out=out)
        np.testing.assert_array_equal(buffer, np.arange(BUFFER))


# ---- an out that is its own neighbour


def out_of(shape, strides, dtype=np.int64):
    return np.ndarray(shape, dtype, np.zeros(64, np.int64), 0, strides)


SELF_OVERLAPPING = {
    "stride zero": ((4,), (0,)),
    "sliding window": ((3, 3), (8, 8)),
    "half an element": ((4,), (4,)),
    "one axis of two": ((3, 4), (0, 8)),
    "two strides that meet": ((4, 3), (16, 24)),
    "one byte short": ((2, 2), (15, 8)),
}


@pytest.mark.parametrize("name", SELF_OVERLAPPING)
def test_self_overlapping_out_is_refused(name):
    out = out_of(*SELF_OVERLAPPING[name])
    before = out.copy()
    with pytest.raises(ValueError, match="overlap"):
        gs.gather(np.arange(9), np.ones(out.shape, int), axis=0, out=out)
    np.testing.assert_array_equal(out, before)


NEIGHBOURLY = {
    "stride zero along one element": ((1, 4), (0, 8)),
    "stride zero and empty": ((0, 4), (0, 0)),
    "interlocking strides": ((2, 3), (24, 16)),
    "negative": ((4, 3), (-24, 8)),
}


@pytest.mark.parametrize("name", NEIGHBOURLY)
def test_odd_strides_without_self_overlap_are_fine(name):
    shape, strides = NEIGHBOURLY[name]
    out = np.ndarray(shape, np.int64, np.zeros(64, np.int64), 8 * 20, strides)
    index = np.arange(out.size).reshape(shape)
    gs.gather(np.arange(100, 120), index, axis=0, out=out)
    np.testing.assert_array_equal(out, index + 100)


def test_read_only_out_is_refused():
    out = np.zeros(3)
    out.flags.writeable = False
    for call in (
        lambda: gs.gather(np.arange(4.0), np.arange(3), axis=0, out=out),
        lambda: gs.gather(np.arange(4.0), 0, np.arange(3), out=out),
        lambda: gs.take(np.arange(4.0), [0, 1, 2], out=out),
        lambda: gs.take(np.arange(4.0), [], out=out[:0]),
        lambda: gs.take(np.arange(4.0), [0, 1, 2], out=np.broadcast_to(0.0, 3)),
    ):
        with pytest.raises(ValueError):
            call()
    assert out.tolist() == [0, 0, 0]
