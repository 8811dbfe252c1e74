"""test_lenient.py: forms of calls that users of NumPy expect: lists as input, and one row by its number."""

import numpy as np
import pytest

import gatherscatter as gs

LISTS = [[1, 2, 3], (1.5, 2.5, 3.5), [[1, 2], [3, 4], [5, 6]], [True, False, True], ["a", "bc", "d"], [1j, 2, 3]]


@pytest.mark.parametrize("values", LISTS, ids=str)
def test_a_list_is_the_array_that_numpy_makes_of_it(values):
    x = np.array(values)
    rows = [0, -1]
    points = np.zeros((2,) * x.ndim, int)
    pairs = [
        (gs.gather(values, rows, axis=0), x[rows]),
        (gs.gather(values, 0, points), np.take_along_axis(x, points, 0)),
        (gs.gather_nd(values, [[2], [0]]), x[[2, 0]]),
        (gs.scatter(values, [1], x[:1]), np.concatenate([x[:1], x[:1], x[2:]])),
        (gs.scatter_nd(values, [[1]], x[:1]), np.concatenate([x[:1], x[:1], x[2:]])),
        (gs.plan(gs.gather, values, rows, axis=0)(x, [1, 1]), x[[1, 1]]),
    ]
    for result, expected in pairs:
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, expected, strict=True)


def test_a_list_has_fill_values_masks_and_errors():
    assert gs.gather([1, 2, 3], [0, 9], axis=0, bounds="fill", fill_value=-1).tolist() == [1, -1]
    assert gs.gather([1, 2, 3], [0, 9], axis=0, mask=[True, False]).tolist() == [1, 0]
    with pytest.raises(gs.OutOfBoundsError, match="index 9"):
        gs.gather([1, 2, 3], [0, 9], axis=0)
    with pytest.raises(ValueError, match="does not fit dtype int64"):
        gs.scatter([1, 2, 3], 0, [0], 1.5)


def test_a_list_is_not_written_to():
    values = [1, 2, 3]
    assert gs.scatter(values, 0, [1], 9).tolist() == [1, 9, 3] and values == [1, 2, 3]
    with pytest.raises(TypeError, match=r"numpy\.asarray"):
        gs.scatter(values, 0, [1], 9, out=values)


@pytest.mark.parametrize(
    "values", [[[1], [2, 3]], [None, 1], [object()], [[1, [2]]]], ids=["ragged", "none", "object", "deeper"]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: gs.gather(x, [0], axis=0),
        lambda x: gs.gather_nd(x, [[0]]),
        lambda x: gs.scatter(x, [0], 1),
        lambda x: gs.scatter_nd(x, [[0]], 1),
    ],
)
def test_a_list_of_anything_else_is_refused(values, call):
    with pytest.raises(TypeError, match="input is a list"):
        call(values)


def test_one_row_by_its_number():
    x = np.arange(24).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1):
        for number in (0, 1, -1, np.int8(1)):
            np.testing.assert_array_equal(gs.gather(x, number, axis=axis), x.take(number, axis), strict=True)
            row = np.full(x.take(0, axis).shape, 7)
            expected = x.copy()
            expected[(slice(None),) * (axis % 3) + (number,)] = row
            np.testing.assert_array_equal(gs.scatter(x, number, row, axis=axis), expected)
            np.testing.assert_array_equal(gs.scatter(x, number, src=7, axis=axis), expected)
            expected[(slice(None),) * (axis % 3) + (number,)] += x.take(number, axis)
            np.testing.assert_array_equal(
                gs.scatter(x, number, src=x.take(number, axis) + 7, axis=axis),
                expected,
            )
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.gather(x, 3, axis=1)
    assert (caught.value.index, caught.value.axis, caught.value.size) == (3, 1, 3)
    assert gs.gather(x[0, 0], 1, axis=0) == 1
    planned = gs.plan(gs.gather, x, 1, axis=0)
    np.testing.assert_array_equal(planned(x, 0), x[0])


def test_a_bool_is_no_number_of_a_row():
    x = np.arange(6).reshape(2, 3)
    for call in (lambda: gs.gather(x, True, axis=0), lambda: gs.scatter(x, True, 1, axis=0)):
        with pytest.raises(TypeError, match=r"exclude each other|bool"):
            call()


def test_one_row_of_a_tensor_has_a_gradient():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    gs.gather(x, 1, axis=0).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [1, 1, 1]]
    row = torch.zeros(3, requires_grad=True)
    gs.scatter(x.detach(), 1, row, axis=0).sum().backward()
    assert row.grad.tolist() == [1, 1, 1]


def test_one_row_of_a_dask_array_and_a_list_beside_one():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    x = np.arange(12).reshape(4, 3)
    lazy = da.from_array(x, chunks=2)
    np.testing.assert_array_equal(gs.gather(lazy, 2, axis=0).compute(), x[2])
    expected = x.copy()
    expected[2] = 7
    np.testing.assert_array_equal(gs.scatter(lazy, 2, np.full(3, 7), axis=0).compute(), expected)
    index = da.from_array(np.array([2, 0]), chunks=1)
    assert gs.gather([10, 20, 30], index, axis=0).compute().tolist() == [30, 10]
    with pytest.raises(TypeError, match='bounds="fill"'):
        gs.gather(lazy, index, axis=0, fill_value=1)


@pytest.mark.parametrize("row", [2**70, -(2**70), 3, -4], ids=str)
def test_one_row_that_does_not_exist(row):
    x = np.zeros((3, 2))
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.gather(x, row, axis=0)
    assert error.value.index == row
    assert gs.gather(x, row, axis=0, bounds="fill", fill_value=7).tolist() == [7, 7]
