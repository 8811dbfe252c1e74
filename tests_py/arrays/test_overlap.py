"""test_overlap.py: an `out` or target that overlaps an argument is detected; results are those of copied arguments."""

import numpy as np
import pytest

import gatherscatter as gs

BUFFER = 60  # elements of the buffer that all windows share


def window(rng, buffer, shape):
    """A view of the buffer with this shape and random start and steps of either sign, without repeated elements."""
    span, steps = 0, [0] * len(shape)
    for axis in rng.permutation(len(shape)):
        step = span + 1 + int(rng.integers(0, 3))  # beyond the span of the other axes: no self-overlap
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
    """Check that `call` into `out` gives the result for copied arguments and writes nowhere else."""
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
    x = np.arange(1 << 21, dtype=np.int32)  # above all thresholds: threads, blocks, pool
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


# ---- writing: target, index, source and mask in one buffer


def scatter_elements(target, index, src, out):
    return gs.scatter(target, 1, index, src, out=out)


def scatter_first(target, index, src, out):
    return gs.scatter(target, 1, index, src, duplicates="first", out=out)


def scatter_adding(target, index, src, out):
    return gs.scatter(target, 1, index, src, reduce="add", out=out)


def scatter_mean(target, index, src, out):
    return gs.scatter(target, 1, index, src, reduce="mean", include_self=False, out=out)


def scatter_points(target, index, src, out):
    return gs.scatter_nd(target.T, index[..., None], src[..., None], out=None if out is None else out.T)


def scatter_plan(target, index, src, out):
    return gs.plan(gs.gather, target, 1, index).scatter(target, index, src, out=out)


def put_flat(target, index, src, out):
    return procedure(gs.put, target, out, index, src)


def put_along(target, index, src, out):
    return procedure(gs.put_along_axis, target, out, index, src, 1)


def tile_points(target, index, src, out):
    return procedure(gs.tile_scatter, target, out, (np.zeros(1, int), index), src)


def procedure(call, target, out, *arguments):
    """A call that works in place; without `out` it works on a copy, as a function would."""
    assert out is target or out is None
    result = target.copy() if out is None else out
    assert call(result, *arguments) is None
    return result


FUNCTIONS = [scatter_elements, scatter_first, scatter_adding, scatter_mean, scatter_points, scatter_plan]
PROCEDURES = [put_flat, put_along, tile_points]


def written_shapes(rng, call):
    rows, columns, count = (int(n) for n in rng.integers(1, 6, 3))
    if call is scatter_points:  # the target is transposed, so that whole columns overlap
        return (rows, columns), (count,), (count,)
    return (rows, columns), (rows, count), (rows, count)


def agree_when_writing(call, buffer, out, **arguments):
    """As `agree`, but `out` may be the target itself."""
    expected = buffer.copy()
    place = np.ndarray(out.shape, out.dtype, expected, address(out) - address(buffer), out.strides)
    result = call(**{name: value.copy() for name, value in arguments.items()}, out=None)
    place[...] = result.T if call is scatter_points else result
    call(**arguments, out=out)
    np.testing.assert_array_equal(buffer, expected)


@pytest.mark.parametrize("call", FUNCTIONS + PROCEDURES)
def test_a_target_written_in_place_overlaps_index_and_source(call):
    rng = np.random.default_rng(8)
    overlapping = 0
    for _ in range(1000):
        target_shape, index_shape, src_shape = written_shapes(rng, call)
        dtype = rng.choice(["i1", "u2", "i4", "i8", "u8"])
        buffer = rng.integers(0, target_shape[1], BUFFER).astype(dtype)
        target, index, src = windows(rng, buffer, target_shape, index_shape, src_shape)
        overlapping += np.shares_memory(target, index) or np.shares_memory(target, src)
        agree_when_writing(call, buffer, target, target=target, index=index, src=src)
    assert overlapping > 400


@pytest.mark.parametrize("call", FUNCTIONS)
def test_an_out_beside_the_input_overlaps_all_of_them(call):
    rng = np.random.default_rng(9)
    overlapping = 0
    for _ in range(1000):
        target_shape, index_shape, src_shape = written_shapes(rng, call)
        buffer = rng.integers(0, target_shape[1], BUFFER)
        target, index, src, out = windows(rng, buffer, target_shape, index_shape, src_shape, target_shape)
        overlapping += np.shares_memory(target, out) or np.shares_memory(index, out) or np.shares_memory(src, out)
        agree_when_writing(call, buffer, out, target=target, index=index, src=src)
    assert overlapping > 500


def test_a_target_overlaps_its_mask():
    rng = np.random.default_rng(10)

    def scatter_masked(target, index, mask, out):
        return gs.scatter(target, 0, index, True, mask=mask, out=out)

    def and_masked(target, index, mask, out):
        return gs.scatter(target, 0, index, mask, reduce="min", mask=mask, out=out)

    def mask_put(target, index, mask, out):
        return procedure(gs.putmask, target, out, mask, ~mask)

    for call in (scatter_masked, and_masked, mask_put):
        for _ in range(700):
            count = int(rng.integers(1, 20))
            buffer = rng.integers(0, 2, BUFFER).astype(bool)
            target, mask = windows(rng, buffer, (count,), (count,))
            index = rng.integers(0, count, count)
            agree_when_writing(call, buffer, target, target=target, index=index, mask=mask)


def test_values_that_overlap_the_target_of_putmask_and_place():
    rng = np.random.default_rng(11)

    def mask_put(target, mask, src, out):
        return procedure(gs.putmask, target, out, mask, src)

    def place(target, mask, src, out):
        return procedure(gs.place, target, out, mask, src)

    for call in (mask_put, place):
        for _ in range(700):
            count, others = int(rng.integers(1, 20)), int(rng.integers(1, 20))
            buffer = rng.integers(0, 99, BUFFER)
            target, src = windows(rng, buffer, (count,), (others,))
            agree_when_writing(call, buffer, target, target=target, mask=rng.random(count) < 0.6, src=src)


@pytest.mark.parametrize("reduce", [None, "add"])
def test_large_windows_that_overlap_when_writing(reduce):
    count = 1 << 20
    rng = np.random.default_rng(12)
    for start in (0, 1, 1000, count):
        buffer = rng.integers(0, count, 2 * count)
        target, index, src = buffer[:count], buffer[start : start + count], buffer[count // 2 :][:count]
        expected = buffer.copy()
        expected[:count] = gs.scatter(target.copy(), 0, index.copy(), src.copy(), reduce=reduce)
        gs.scatter(target, 0, index, src, reduce=reduce, out=target)
        np.testing.assert_array_equal(buffer, expected)


def test_an_error_of_a_scatter_leaves_overlapping_memory_as_it_was():
    rng = np.random.default_rng(13)
    for _ in range(200):
        buffer = np.arange(BUFFER)
        target, src = windows(rng, buffer, (6,), (4,))
        for bad, how in (
            ([0, 1, 2, 6], {}),
            ([0, 1, 1, 2], {"duplicates": "error"}),
            ([6, 0, 0, 0], {"reduce": "add"}),
        ):
            with pytest.raises(ValueError, match="scatter"):
                gs.scatter(target, 0, bad, src, **how, out=target)
            np.testing.assert_array_equal(buffer, np.arange(BUFFER))


# ---- an `out` that overlaps itself


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
