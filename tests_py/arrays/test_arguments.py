"""test_arguments.py: axes and other numbers given as objects with __index__, numbers of any size, invalid operators."""

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.compat import mindspore, pypto

X = np.arange(12).reshape(3, 4)


class Index:
    """An object that is no integer and has __index__."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


I0 = np.array([[0, 2, 1, 0]])
CALLS = {
    "gather dim": lambda n: gs.gather(X, n, I0),
    "gather dim=": lambda n: gs.gather(X, dim=n, index=I0),
    "gather axis": lambda n: gs.gather(X, [0, 2], n),
    "gather axis=": lambda n: gs.gather(X, [0, 2], axis=n),
    "scatter": lambda n: gs.scatter(X, n, I0, 99),
    "scatter axis": lambda n: gs.scatter(X, [0, 2], 99, n),
    "scatter axis=": lambda n: gs.scatter(X, [0, 2], 99, axis=n),
    "batch_dims of scatter": lambda n: gs.scatter(X, np.array([[0], [1], [2]]), 99, 1, n),
    "take": lambda n: gs.take(X, [0, 2], n),
    "take_along_axis": lambda n: gs.take_along_axis(X, I0, n),
    "batch_dims": lambda n: gs.gather(X, np.array([[0], [1], [2]]), 1, n),
    "batch_dims of gather_nd": lambda n: gs.gather_nd(X, [[[0]], [[1]], [[2]]], n),
    "batch_dims of scatter_nd": lambda n: gs.scatter_nd(X, [[[0]], [[1]], [[2]]], 99, n),
    "mindspore dim": lambda n: mindspore.gather(X, n, I0),
    "mindspore axis": lambda n: mindspore.gather(X, np.array([0, 2]), n),
    "pypto": lambda n: pypto.gather(X, n, I0),
}
ZERO_OR_ONE = {name: 1 if name.startswith("batch_dims") else 0 for name in CALLS}


@pytest.mark.parametrize("make", [Index, np.int8, np.uint64, lambda n: np.array(n)[()]])
@pytest.mark.parametrize("name", CALLS)
def test_what_gives_an_integer_is_one(name, make):
    number = ZERO_OR_ONE[name]
    np.testing.assert_array_equal(CALLS[name](make(number)), CALLS[name](number))


def test_pypto_with_a_tile():
    with pypto.options(vec_tile_shapes=[2, 3]):
        np.testing.assert_array_equal(pypto.gather(X, Index(0), I0), np.take_along_axis(X, I0, 0))


@pytest.mark.parametrize("number", [True, np.True_, 0.0, "0", 1j, None], ids=repr)
@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("take")])
def test_what_is_no_integer_is_none(name, number):
    with pytest.raises(TypeError, match=r"expected (an integer|a dim|an array|int32)|is missing"):
        CALLS[name](number)


def test_an_index_that_raises_is_heard():
    class Loud:
        def __index__(self):
            raise KeyError("loud")

    for name in ("gather dim", "gather axis", "scatter", "scatter axis", "batch_dims", "batch_dims of gather_nd"):
        with pytest.raises(KeyError, match="loud"):
            CALLS[name](Loud())


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**63, 2**70, -(2**70)])
@pytest.mark.parametrize(
    "name",
    [
        "gather dim",
        "gather dim=",
        "gather axis",
        "gather axis=",
        "scatter",
        "scatter axis",
        "scatter axis=",
        "mindspore dim",
        "mindspore axis",
        "pypto",
    ],
)
def test_an_axis_is_named_in_full(name, number):
    with pytest.raises(np.exceptions.AxisError) as error:
        CALLS[name](number)
    assert str(error.value).endswith(f": axis {number} is out of bounds for array of dimension 2")
    assert (error.value.axis, error.value.ndim) == (number, 2)


@pytest.mark.parametrize("name", ["gather dim", "gather axis", "scatter", "scatter axis"])
def test_an_axis_of_thousands_of_digits(name):
    with pytest.raises(np.exceptions.AxisError, match=r"axis 2\*\*16609\.\. is out of bounds for array of dimension 2"):
        CALLS[name](10**5000)


@pytest.mark.parametrize(
    "name", ["batch_dims", "batch_dims of scatter", "batch_dims of gather_nd", "batch_dims of scatter_nd"]
)
@pytest.mark.parametrize("number", [2**63, 2**70, -(2**70)])
def test_a_number_of_axes_is_named_in_full(name, number):
    with pytest.raises(ValueError, match=f"batch_dims {number} is"):
        CALLS[name](number)


@pytest.mark.parametrize("op", [None, 1, "gather", np.arange(1000), [gs.gather]], ids=lambda op: type(op).__name__)
@pytest.mark.parametrize("ask", [gs.plan, gs.explain])
def test_what_cannot_be_planned(ask, op):
    expected = r"^plan and explain: op is .*, expected an operator such as gatherscatter\.gather$"
    with pytest.raises(TypeError, match=expected):
        ask(op, 1)


def test_a_callable_that_is_no_operator():
    with pytest.raises(TypeError, match="is not an operator that can be planned"):
        gs.plan(len, [1])
    with pytest.raises(TypeError, match="is not an operator that can be planned"):
        gs.plan(lambda: 1 // 0)  # not called


@pytest.mark.parametrize("operator", [gs.scatter, gs.scatter_nd], ids=["scatter", "scatter_nd"])
def test_the_docstring_says_that_a_mean_counts_the_old_element(operator):
    first = operator.__doc__.partition("Parameters")[0]
    assert "mean" in first and "include_self=False" in first
    indices = [0, 0] if operator is gs.scatter else [[0], [0]]
    arguments = (0, indices) if operator is gs.scatter else (indices,)
    assert operator(np.array([30.0]), *arguments, [1.0, 2.0], reduce="mean").tolist() == [11.0]
    assert operator(np.array([30.0]), *arguments, [1.0, 2.0], reduce="mean", include_self=False).tolist() == [1.5]


def test_include_self_is_a_bool_of_python_or_numpy():
    x, index, values = np.array([30.0]), [0, 0], [1.0, 2.0]
    plan = gs.plan(gs.scatter, x, 0, index, values, reduce="mean", include_self=np.False_)
    assert gs.scatter(x, 0, index, values, reduce="mean", include_self=np.False_).tolist() == [1.5]
    assert gs.scatter(x, 0, index, values, reduce="mean", include_self=np.True_).tolist() == [11.0]
    assert plan(x, index, values).tolist() == [1.5]
    for wrong in (0, 1, None, "no", np.int64(0), np.array([False])):
        with pytest.raises(TypeError, match=r"include_self is .*, expected a bool"):
            gs.scatter(x, 0, index, values, reduce="mean", include_self=wrong)
