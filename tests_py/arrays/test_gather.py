"""test_gather.py: how gather chooses between its two forms, the shape rules of both, and degenerate shapes."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
import reference

X = np.arange(12.0).reshape(3, 4)
INDEX = np.array([[0, 2, 1, 1], [2, 2, 0, 0]])


def same(result, expected):
    np.testing.assert_array_equal(result, expected, strict=True)


# ---- choice of the form


ALONG_0 = np.take_along_axis(X, INDEX, 0)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((X, 0, INDEX), {}),
        ((X, 0), {"index": INDEX}),
        ((X,), {"dim": 0, "index": INDEX}),
        ((), {"input": X, "dim": 0, "index": INDEX}),
        ((X, -2, INDEX), {}),
        ((X, np.int64(0), INDEX), {}),
        ((X, np.uint8(0), INDEX), {}),
        ((X, 0, INDEX.tolist()), {}),
    ],
)
def test_dim_form(arguments, keywords):
    same(gs.gather(*arguments, **keywords), ALONG_0)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((X, INDEX, 0), {}),
        ((X, INDEX), {"axis": 0}),
        ((X,), {"indices": INDEX, "axis": 0}),
        ((X,), {"input_indices": INDEX, "axis": 0}),
        ((), {"input": X, "input_indices": INDEX, "axis": 0, "batch_dims": 0}),
        ((X, INDEX, 0, 0), {}),
        ((X, INDEX), {"axis": -2}),
        ((X, INDEX.tolist(), 0), {}),
        ((X, INDEX), {"axis": np.int32(0)}),
        ((X, INDEX), {"axis": np.array(0)}),
        ((X, INDEX, np.array(-2, "i1")), {}),
    ],
)
def test_axis_form(arguments, keywords):
    same(gs.gather(*arguments, **keywords), X[INDEX])


def test_a_0d_array_is_an_index_and_a_scalar_is_a_dim():
    same(gs.gather(X, np.array(1), 0), X[1])
    same(gs.gather(X, np.array(1), axis=1), X[:, 1])
    same(gs.gather(X, 1, np.zeros((3, 1), int)), X[:, :1])


def test_the_keyword_decides_before_the_types():
    same(gs.gather(X, indices=2, axis=0), X[2])
    same(gs.gather(X, index=INDEX, dim=np.int64(0)), ALONG_0)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((X,), {}),
        ((X, INDEX), {}),
        ((X, 0), {}),
        ((X,), {"dim": 0}),
        ((X,), {"axis": 0}),
        ((X,), {"index": INDEX}),
        ((X,), {"indices": INDEX}),
        ((X, 0, INDEX), {"axis": 0}),
        ((X,), {"dim": 0, "axis": 0, "index": INDEX}),
        ((X,), {"dim": 0, "index": INDEX, "batch_dims": 1}),
        ((X, INDEX), {"axis": 0, "indices": INDEX}),
        ((X, INDEX), {"axis": 0, "input_indices": INDEX}),
        ((X,), {"axis": 0, "indices": INDEX, "input_indices": INDEX}),
        ((X, True, INDEX), {}),
        ((X, np.True_, INDEX), {}),
        ((X, False, 0), {}),
        ((X, INDEX, True), {}),
        ((X, INDEX), {"axis": np.array([True])}),
        ((X, 0.0, INDEX), {}),
        ((X, "0", INDEX), {}),
        ((X, INDEX), {"axis": None}),
        ((X, 0, INDEX), {"unknown": 1}),
    ],
)
def test_no_form(arguments, keywords):
    with pytest.raises(TypeError):
        gs.gather(*arguments, **keywords)


# ---- the axis form's shapes


@pytest.mark.parametrize(("axis", "batch_dims"), [(0, 0), (2, 0), (1, 1), (3, 1), (2, 2), (-1, 2), (3, 3)])
def test_batch_dims(axis, batch_dims):
    rng = np.random.default_rng(8)
    x = rng.random((2, 3, 4, 5))
    indices = rng.integers(0, x.shape[axis], (*x.shape[:batch_dims], 3, 2))
    same(gs.gather(x, indices, axis, batch_dims), reference.gather_axis(x, indices, axis, batch_dims).result)


def test_batch_dims_up_to_the_rank_of_the_indices():
    x, indices = np.arange(24).reshape(2, 3, 4), np.array([[3, 0, 1], [2, 2, 0]])
    same(gs.gather(x, indices, 2, 2), np.take_along_axis(x, indices[..., None], 2)[..., 0])


def test_negative_batch_dims_count_from_the_rank_of_the_indices():
    """This follows the document that defines the rule; one of its own kernels counts from the rank of the input."""
    x, indices = np.arange(24).reshape(2, 3, 4), np.array([[3, 0], [2, 2]])
    try:
        result = gs.gather(x, indices, 2, -1)
    except ValueError as error:
        assert "batch_dims" in str(error)
    else:
        same(result, gs.gather(x, indices, 2, 1))


@pytest.mark.parametrize(
    ("shape", "index_shape", "axis", "batch_dims"),
    [
        ((3, 4), (3,), 1, 2),
        ((3, 4), (3, 4), 0, 1),
        ((3, 4), (2, 2), 1, 1),
        ((3, 4, 5), (3, 5, 1), 2, 2),
        ((3, 4), (), 1, 1),
        ((3, 4), (3,), 1, -5),
    ],
)
def test_batch_dims_that_do_not_fit(shape, index_shape, axis, batch_dims):
    with pytest.raises(ValueError):
        gs.gather(np.zeros(shape), np.zeros(index_shape, int), axis, batch_dims)


def test_batch_shape_error_names_both_shapes():
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(3, 4\)|\(3, 4\).*\(2, 2\)"):
        gs.gather(np.zeros((3, 4)), np.zeros((2, 2), int), 1, 1)


# ---- the dim form's shapes


@pytest.mark.parametrize(
    ("shape", "index_shape", "dim"),
    [
        ((3, 4), (3, 9), 1),
        ((3, 4), (9, 4), 0),
        ((3, 4), (2, 2), 0),
        ((3, 4), (0, 4), 0),
        ((3, 4), (3, 0), 0),
        ((1,), (5,), 0),
    ],
)
def test_index_may_be_shorter_beside_dim_and_of_any_length_on_it(shape, index_shape, dim):
    x = np.random.default_rng(0).random(shape)
    index = np.random.default_rng(1).integers(-shape[dim], shape[dim], index_shape)
    same(gs.gather(x, dim, index), reference.gather_dim(x, dim, index).result)


@pytest.mark.parametrize(
    ("shape", "index_shape", "dim"), [((3, 4), (4, 4), 1), ((3, 4), (3, 5), 0), ((0, 4), (1, 4), 1)]
)
def test_index_longer_beside_dim(shape, index_shape, dim):
    with pytest.raises(ValueError) as error:
        gs.gather(np.zeros(shape), dim, np.zeros(index_shape, int))
    assert str(shape) in str(error.value) and str(index_shape) in str(error.value)


@pytest.mark.parametrize("index_shape", [(), (3,), (3, 4, 1)])
def test_rank_error_names_both_shapes(index_shape):
    with pytest.raises(ValueError) as error:
        gs.gather(X, 0, np.zeros(index_shape, int))
    assert str(X.shape) in str(error.value) and str(index_shape) in str(error.value)


@pytest.mark.parametrize("dim", [2, -3, 2**31, -(2**63), 2**63 - 1])
def test_dim_or_axis_outside_the_rank(dim):
    for call in (lambda: gs.gather(X, dim, INDEX), lambda: gs.gather(X, INDEX, axis=dim)):
        with pytest.raises(np.exceptions.AxisError) as error:
            call()
        assert isinstance(error.value, ValueError) and isinstance(error.value, IndexError)
        assert str(error.value).endswith(f"axis {dim} is out of bounds for array of dimension 2")


def test_axis_beyond_64_bits():
    for call in (lambda: gs.gather(X, 2**64, INDEX), lambda: gs.gather(X, INDEX, axis=-(2**70))):
        with pytest.raises((ValueError, OverflowError)):
            call()


# ---- degenerate shapes


def test_rank_0():
    x = np.array(7.0)
    for dim in (0, -1):
        for index in (0, -1):
            result = gs.gather(x, dim, np.array(index))
            assert type(result) is np.float64 and result == 7
    with pytest.raises(np.exceptions.AxisError):
        gs.gather(x, 1, np.array(0))
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.gather(x, 0, np.array(1))
    assert (error.value.index, error.value.position, error.value.axis, error.value.size) == (1, (), 0, 1)


def test_empties():
    assert gs.gather(np.zeros((0, 4)), 0, np.zeros((0, 4), int)).shape == (0, 4)
    assert gs.gather(np.zeros((3, 0)), 1, np.zeros((2, 0), int)).shape == (2, 0)
    assert gs.gather(np.zeros((0, 4)), np.zeros((0, 2), int), 0).shape == (0, 2, 4)
    assert gs.gather(np.zeros((3, 4)), np.zeros(0, int), 1).shape == (3, 0)
    assert gs.gather(np.zeros((2, 0, 4)), np.zeros((2, 0), int), 1, 1).shape == (2, 0, 4)
    assert gs.gather(np.zeros(3, "V0"), 0, np.zeros(5, int)).shape == (5,)


@pytest.mark.parametrize("bounds", ["raise", "clip", "wrap", "deferred"])
def test_nothing_comes_from_an_empty_axis(bounds):
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.gather(np.zeros((2, 0)), 1, np.array([[0], [5]]), bounds=bounds)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.count) == (0, (0, 0), 1, 0, 2)
    with pytest.raises(gs.OutOfBoundsError):
        gs.gather(np.zeros((0, 2)), [0], axis=0, bounds=bounds)


def test_an_empty_axis_can_be_filled_and_masked():
    same(gs.gather(np.zeros((2, 0)), 1, np.zeros((2, 3), int), bounds="fill", fill_value=4), np.full((2, 3), 4.0))
    same(gs.gather(np.zeros((2, 0)), 1, np.zeros((2, 3), int), mask=np.False_, fill_value=4), np.full((2, 3), 4.0))


def test_rank_64():
    shape = [1] * 64
    shape[0], shape[31], shape[63] = 2, 3, 4
    x = np.arange(24).reshape(shape)
    index_shape = list(shape)
    index_shape[31] = 5
    index = np.random.default_rng(2).integers(0, 3, index_shape)
    same(gs.gather(x, 31, index), reference.gather_dim(x, 31, index).result)
    same(gs.gather(x, np.array([2, 0]), 31), np.take(x, [2, 0], 31))
    same(gs.gather(x.T, np.array(1), -1), np.take(x.T, 1, -1))


def test_a_result_of_more_than_64_axes_is_an_error():
    x = np.zeros([1] * 40)
    with pytest.raises(ValueError):
        gs.gather(x, np.zeros([1] * 30, int), 0)


# ---- more than 2^31


HUGE = 2**40


def test_more_than_2_31_elements_by_stride_0():
    x = np.broadcast_to(np.arange(3.0)[:, None], (3, HUGE))
    index = np.array([0, HUGE - 1, -HUGE, 2**31, 2**32 + 1])
    same(gs.gather(x, index, 1), np.repeat(np.arange(3.0)[:, None], 5, axis=1))
    same(gs.gather(x, 1, np.tile(index, (3, 1))), np.repeat(np.arange(3.0)[:, None], 5, axis=1))
    same(gs.tile_gather(x, (np.array(2), index)), np.array([2.0, 2, 0, 2, 2]))
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.gather(x, index + 1, 1)
    assert (error.value.index, error.value.position, error.value.size) == (HUGE, (1,), HUGE)


def test_a_flat_position_beyond_2_31():
    x = np.broadcast_to(np.arange(6, dtype="u1").reshape(3, 1, 2), (3, 2**33, 2))
    index = np.array([0, 2**34 + 3, -1, 2**34 * 2 + 2**34 - 1])
    same(gs.take(x, index), np.array([0, 3, 5, 5], "u1"))


def test_dim_axis_positions_with_huge_extents_beside():
    x = np.lib.stride_tricks.as_strided(np.arange(4.0), (2, 2**35, 2), (16, 0, 8))
    same(gs.gather(x, 2, np.array([[[1], [0]], [[0], [1]]])), np.array([[[1.0], [0.0]], [[2.0], [3.0]]]))


@pytest.mark.large
@pytest.mark.parametrize("index_dtype", ["i8", "u4"])
def test_more_than_2_31_elements_in_memory(index_dtype):
    n = 2**31 + 100
    x = np.zeros(n, "u1")
    x[-50:] = np.arange(50)
    x[2**31] = 77
    index = np.array([n - 1, 2**31, 0, n - 50], index_dtype)
    assert gs.gather(x, 0, index).tolist() == [49, 77, 0, 0]
    assert gs.take(x.reshape(2, -1), index).tolist() == [49, 77, 0, 0]
    result = gs.gather(np.arange(256, dtype="u1"), 0, np.broadcast_to(np.array([3], "u1"), (n,)))
    assert result.shape == (n,) and result[0] == result[-1] == 3 and int(result[:: 2**20].min()) == 3


# ---- keywords that both forms share


def test_bounds():
    x, index = np.arange(10, 14), [0, 4, -5, 9]
    assert gs.gather(x, index, 0, bounds="fill").tolist() == [10, 0, 0, 0]
    assert gs.gather(x, index, 0, bounds="fill", fill_value=-1).tolist() == [10, -1, -1, -1]
    assert gs.gather(x, index, 0, bounds="clip").tolist() == [10, 13, 10, 13]
    assert gs.gather(x, index, 0, bounds="wrap").tolist() == [10, 10, 13, 11]
    assert gs.gather(x, [0, -1], 0, bounds="clip", negative="out_of_bounds").tolist() == [10, 10]
    assert gs.gather(x, [0, -1], 0, bounds="fill", negative="out_of_bounds").tolist() == [10, 0]
    assert gs.gather(x, [0, -1], 0, bounds="unchecked").tolist() == [10, 13]


def test_a_masked_point_is_never_looked_at():
    index = np.array([2**62, 0, -(2**62), 3])
    mask = np.array([False, True, False, True])
    assert gs.gather(np.arange(4), index, 0, mask=mask, fill_value=9).tolist() == [9, 0, 9, 3]
    assert gs.gather(np.arange(4), 0, index, mask=mask).tolist() == [0, 0, 0, 3]


def test_mask_broadcasts_one_way():
    assert gs.gather(X, INDEX, 0, mask=np.array([[True], [False]])).shape == (2, 4, 4)
    same(gs.gather(X, 0, INDEX, mask=np.array([True, False, True, True])), ALONG_0 * [1, 0, 1, 1])
    for mask in (np.ones((2, 2, 4), bool), np.ones(3, bool)):
        with pytest.raises(ValueError):
            gs.gather(X, 0, INDEX, mask=mask)
    with pytest.raises(ValueError):
        gs.gather(X, [0], 0, mask=np.ones(4, bool))


def test_masked_points_are_written_to_out_as_well():
    out = np.full(3, 7)
    result = gs.gather(np.arange(4), [1, 2, 3], 0, mask=np.array([True, False, True]), fill_value=-1, out=out)
    assert result is out and out.tolist() == [1, -1, 3]


def test_wrap_is_a_modulo():
    """NumPy's loop would take years here."""
    for index in (-(2**63), 2**63 - 1):
        assert gs.gather(np.arange(3), [index], 0, bounds="wrap")[0] == index % 3
    assert gs.gather(np.arange(10), np.array([2**64 - 1], "u8"), 0, bounds="wrap")[0] == (2**64 - 1) % 10


def test_results_are_c_contiguous():
    x = np.arange(60.0).reshape(3, 4, 5).T
    assert gs.gather(x, 1, np.asfortranarray(np.zeros((5, 4, 3), int))).flags.c_contiguous
    assert gs.gather(x, np.asfortranarray(np.zeros((2, 3), int)), 1).flags.c_contiguous


def test_a_view_of_the_result_keeps_it_alive():
    result = gs.gather(np.arange(300_001), 0, np.arange(300_001))[::2]
    gs.gather(np.ones(300_001, int), 0, np.arange(300_001))
    np.testing.assert_array_equal(result, np.arange(0, 300_001, 2))
