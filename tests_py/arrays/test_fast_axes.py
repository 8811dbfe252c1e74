"""test_fast_axes.py: elements of arrays that are fast along different axes, enough of them for walks in tiles."""

import itertools

import numpy as np
import pytest

import gatherscatter as gs

SHAPE = (130, 9, 70)
ORDERS = list(itertools.permutations(range(3)))


def laid(array, order):
    """The same elements, with the axes in another order in memory."""
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


def arrays(dtype, seed):
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 100, SHAPE).astype(dtype)
    return rng, source


@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gathers_of_every_layout(axis, dtype):
    rng, source = arrays(dtype, axis)
    index = rng.integers(-SHAPE[axis], SHAPE[axis], SHAPE)
    expected = np.take_along_axis(source, index, axis)
    for of_source, of_index, of_out in itertools.product(ORDERS, ORDERS, ORDERS[::2]):
        x, i, out = laid(source, of_source), laid(index, of_index), laid(np.zeros_like(source), of_out)
        np.testing.assert_array_equal(gs.take_along_axis(x, i, axis), expected)
        np.testing.assert_array_equal(gs.take_along_axis(x, i, axis, out=out), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_takes_along_an_axis_of_every_layout(axis):
    rng, source = arrays("f4", 7)
    index = rng.integers(0, SHAPE[axis], 64)
    for order in ORDERS:
        np.testing.assert_array_equal(gs.take(laid(source, order), index, axis), np.take(source, index, axis))


def test_indices_and_masks_that_lie_apart():
    rng = np.random.default_rng(3)
    source = rng.random(1000)
    index = rng.integers(0, 1000, (5000, 3))
    for one in (index[:, 1], index[::-1, 2], index[::7, 0], index.T, np.asfortranarray(index)):
        np.testing.assert_array_equal(gs.take(source, one), source[one])
        np.testing.assert_array_equal(gs.take(np.repeat(source, 2)[::2], one), source[one])
        mask = np.asfortranarray(rng.random(one.shape) < 0.5)
        np.testing.assert_array_equal(gs.tile_gather(source, (one,), mask=mask), np.where(mask, source[one], 0))


@pytest.mark.parametrize("reduce", [None, "add"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatters_of_every_layout_keep_the_order_of_points(axis, reduce):
    rng, target = arrays("f4", axis)
    index = rng.integers(0, SHAPE[axis], SHAPE)
    values = (rng.random(SHAPE) * 10.0 ** rng.integers(-6, 6, SHAPE)).astype("f4")
    expected = gs.scatter(target, axis, index, values, reduce=reduce)  # all in C order
    for of_target, of_index, of_values in itertools.product(ORDERS, ORDERS, ORDERS[::2]):
        t, i, v = laid(target, of_target), laid(index, of_index), laid(values, of_values)
        np.testing.assert_array_equal(gs.scatter(t, axis, i, v, reduce=reduce), expected)
        if reduce is None:
            gs.put_along_axis(t, i, v, axis)
            np.testing.assert_array_equal(t, expected)


@pytest.mark.parametrize("duplicates", ["last", "first"])
def test_flat_targets_with_duplicates(duplicates):
    rng = np.random.default_rng(5)
    target = np.zeros(500)
    index, values = rng.integers(0, 500, (90, 80)), rng.random((90, 80))
    expected = gs.scatter_nd(target, index[..., None], values, duplicates=duplicates)
    for i, v in itertools.product((index, np.asfortranarray(index)), (values, np.asfortranarray(values))):
        np.testing.assert_array_equal(gs.scatter_nd(target, i[..., None], v, duplicates=duplicates), expected)


def test_a_bad_index_in_a_tile_is_named_in_c_order_and_leaves_out_as_it_was():
    source, index = np.arange(5000.0).reshape(50, 100), np.zeros((50, 100), int)
    index[40, 3] = index[7, 60] = 100
    out = np.full((50, 100), 3.0, order="F")
    for i in (index, np.asfortranarray(index)):
        with pytest.raises(gs.OutOfBoundsError, match=r"7, 60|760"):
            gs.take_along_axis(source, i, 1, out=out)
        assert (out == 3).all()


# ---- columns that lie in few sets of the caches, or far apart: they are packed tile by tile


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("u1", (2048, 70)),
        ("i2", (512, 130)),
        ("f4", (300, 256)),
        ("f4", (256, 300)),
        ("f8", (256, 200)),
        ("c16", (128, 256)),
    ],
)
def test_columns_in_few_sets(dtype, shape):
    rng = np.random.default_rng(8)
    c_order = rng.integers(0, 100, shape).astype(dtype)
    target = np.asfortranarray(c_order)
    index = rng.integers(-shape[1], shape[1], (shape[0], 256))
    values = rng.integers(0, 100, index.shape).astype(dtype)
    kernels = {
        gs.explain(gs.put_along_axis, t, index, values, 1).to_dict()["kernel"].split(" ", 1)[1]
        for t in (c_order, target)
    }
    assert ("column tiles" in kernels) == (shape[0] * target.itemsize % 256 == 0)
    expected = np.take_along_axis(c_order, index, 1)
    for threads in (1, 2):
        with gs.thread_limit(threads):
            np.testing.assert_array_equal(gs.gather(target, 1, index), expected)
            for reduce in (None, "add", "mul") if dtype == "c16" else (None, "add", "mul", "min", "max", "mean"):
                for duplicates in ("last", "first") if reduce is None else ("last",):
                    result = gs.scatter(c_order, 1, index, values, reduce=reduce, duplicates=duplicates)
                    out = target.copy(order="K")
                    assert gs.scatter(out, 1, index, values, reduce=reduce, duplicates=duplicates, out=out) is out
                    np.testing.assert_array_equal(out, result)
                    np.testing.assert_array_equal(
                        gs.scatter(target, 1, index, values, reduce=reduce, duplicates=duplicates), result
                    )


@pytest.mark.parametrize("order", "CF")
def test_a_bad_index_leaves_packed_targets_alone(order):
    target = np.zeros((512, 512), "f4", order)
    index = np.random.default_rng(9).integers(0, 512, (512, 512))
    index[-1, -1] = 512
    for call in (
        lambda: gs.put_along_axis(target, index, 1.0, 1),
        lambda: gs.scatter(target, 1, index, np.ones((512, 512), "f4"), reduce="add", out=target),
    ):
        with pytest.raises(gs.OutOfBoundsError, match="index 512 is out of bounds for axis 1"):
            call()
        assert not target.any()


@pytest.mark.parametrize("reduce", [None, "add", "max"])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_rows_of_a_far_target(dtype, reduce):
    rng = np.random.default_rng(10)
    target = rng.integers(0, 100, (4100, 8192 if dtype == "u1" else 1024)).astype(dtype)
    index = rng.integers(0, 4100, (2100, target.shape[1]))
    values = rng.integers(0, 100, index.shape).astype(dtype)
    columns = np.broadcast_to(np.arange(target.shape[1]), index.shape)
    expected = target.copy()
    if reduce is None:  # row by row, so that the last row wins
        for row in range(2100):
            expected[index[row], columns[row]] = values[row]
    else:
        {"add": np.add, "max": np.maximum}[reduce].at(expected, (index, columns), values)
    for threads in (1, 2):
        with gs.thread_limit(threads):
            out = target.copy()
            gs.scatter(out, 0, index, values, reduce=reduce, out=out)
            np.testing.assert_array_equal(out, expected)
