"""test_compat_mindspore.py: gs.compat.mindspore by its document and the rows of the catalogue (ms-..., X-ms-...)."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest

import gatherscatter as gs
import reference
from documented_cases import MS_AXIS_ERRORS, MS_DIM_ERRORS, ROWS, X_MS, arguments_of, value_of
from gatherscatter.compat import mindspore as ms

X = np.arange(6.0).reshape(2, 3)
INDEX = np.array([[0, 0], [1, 1]], "i4")


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


def test_docstrings():
    results = doctest.testmod(ms)
    assert results.attempted >= 5 and results.failed == 0


# ---- rows of the catalogue


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith(("ms", "X-ms"))])
def test_row(name):
    arguments, expected = ROWS[name]
    a = arguments_of(arguments)
    x = a.pop("input")
    expected = np.asarray(value_of(expected), x.dtype)
    assert ms.gather(x, **a).dtype == x.dtype
    same(ms.gather(x, **a), expected)
    order = ("dim", "index") if "dim" in a else ("input_indices", "axis", "batch_dims")
    same(ms.gather(x, *(a[key] for key in order)), expected)


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i4", "i8", "?", "c8", "c16"])  # X-ms-1, X-ms-4
@pytest.mark.parametrize(("name", "shape", "index_shape", "dim", "index_dtype"), X_MS, ids=[row[0] for row in X_MS])
def test_X_ms(name, shape, index_shape, dim, index_dtype, dtype):
    rng = np.random.default_rng(4)
    n = shape[dim] if shape else 1
    x = rng.integers(0, 100, shape).astype(dtype)
    index = rng.integers(-n, n, index_shape).astype(index_dtype)  # n is added once to negative values
    same(ms.gather(x, dim, index), reference.gather_dim(x, dim, index).result)


def test_X_ms_6():
    x = np.arange(20.0).reshape(5, 4).T
    index = np.array([[0, 4, 2], [1, 1, 1], [3, 2, 0], [4, 0, 1]])
    same(ms.gather(x, 1, index), np.take_along_axis(x, index, 1))


def test_X_ms_8():
    x = np.arange(12).reshape(2, 1, 2, 3)
    result = ms.gather(np.moveaxis(x, (3, 2), (0, 1)), -1, np.zeros((3, 2, 2, 1), "i8"))
    assert result.tolist() == [[[[0], [6]], [[3], [9]]], [[[1], [7]], [[4], [10]]], [[[2], [8]], [[5], [11]]]]


# ---- the document: elements along dim


def test_document_dim_formula():
    rng = np.random.default_rng(1)
    x, index = rng.random((3, 4, 5)), rng.integers(-4, 4, (2, 6, 3))
    out = ms.gather(x, 1, index)
    for i, j, k in np.ndindex(2, 6, 3):
        assert out[i, j, k] == x[i, index[i, j, k], k]


@pytest.mark.parametrize("name", MS_DIM_ERRORS)
def test_document_dim_error(name):
    error, dim, index = MS_DIM_ERRORS[name]
    with pytest.raises(error):
        ms.gather(X, dim, index)
    with pytest.raises(error):
        ms.gather(X, index=index, dim=dim)


@pytest.mark.parametrize("dim", [1.0, True, None, "1", np.float64(1), [1], np.array(1)])
def test_dim_is_an_integer(dim):
    with pytest.raises(TypeError):
        ms.gather(X, dim=dim, index=INDEX)


def test_the_index_is_never_written_to():
    index = np.array([[-1, -2], [1, -3]])
    for i in (index, read_only(index)):
        assert ms.gather(X, 1, i).tolist() == [[2, 1], [4, 3]]
        assert i.tolist() == [[-1, -2], [1, -3]]
    torch = pytest.importorskip("torch")
    i = torch.from_numpy(index)
    ms.gather(torch.from_numpy(X).requires_grad_(), 1, i).sum().backward()
    assert i.tolist() == [[-1, -2], [1, -3]] and i._version == 0


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


def test_empties_and_scalars_are_accepted():
    assert ms.gather(np.arange(5), 0, np.zeros(0, "i4")).shape == (0,)
    assert ms.gather(np.float32(7)[...], -1, np.array(0)) == 7
    with pytest.raises(ValueError, match="index 0 is out of bounds for axis 1 with size 0"):
        ms.gather(np.zeros((2, 0)), 1, np.zeros((2, 1), "i8"))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_scalar_counts_as_shape_1(library):
    """On either side, in both forms; the result has the shape that the form gives."""
    make = np.asarray if library == "numpy" else pytest.importorskip("torch").as_tensor
    for dim in (0, -1):
        for index, want in ((0, 7.0), ([0], [7.0]), ([0, -1, 0], [7.0] * 3)):
            assert ms.gather(make(7.0), dim, make(index)).tolist() == want
        assert ms.gather(make([5.0, 6.0]), dim, make(-1)).tolist() == 6
        for index in (0, [0], [[0, 0]], []):
            index = make(np.array(index, int))
            found = ms.gather(make(7.0), index, dim)
            assert tuple(found.shape) == tuple(index.shape) and set(np.ravel(found).tolist()) <= {7.0}
    with pytest.raises(gs.OutOfBoundsError):
        ms.gather(make(7.0), 0, make([0, 1]))
    with pytest.raises(gs.OutOfBoundsError):
        ms.gather(make(7.0), make([-1]), 0)
    for axis in (1, -2):
        with pytest.raises(ValueError, match=f"{axis} is out of"):
            ms.gather(make(7.0), make([0]), axis)
        with pytest.raises(ValueError, match=f"{axis} is out of"):
            ms.gather(make([7.0]), axis, make(0))


def test_gradients_of_a_scalar():
    torch = pytest.importorskip("torch")
    for call in (lambda x: ms.gather(x, 0, torch.tensor([0, 0])), lambda x: ms.gather(x, torch.tensor([0, 0]), 0)):
        x = torch.tensor(5.0, requires_grad=True)
        call(x).sum().backward()
        assert x.grad == 2


@pytest.mark.parametrize("array", [np.array(1), np.array(-1, "i4")], ids=repr)
def test_a_dim_is_no_array(array):
    """A 0-d array is input_indices; who means a dim learns what to write."""
    for dim in (array, pytest.importorskip("torch").as_tensor(array)):
        with pytest.raises(TypeError, match=r"dim is a 0-d array, expected an integer: write int\(dim\)"):
            ms.gather(X, dim=dim, index=INDEX)
        with pytest.raises(ValueError, match=r"the third has shape \(2, 2\) and is no axis; .* write int\(dim\)"):
            ms.gather(X, dim, INDEX)
    same(ms.gather(X, np.array(1), np.array([1])), X[:, 1])


# ---- the document: slices along axis


def test_document_axis_shape():
    """self.shape[:axis] + input_indices.shape[batch_dims:] + self.shape[axis + 1:]"""
    x, indices = np.zeros((2, 3, 4, 5)), np.zeros((2, 3, 6, 7), "i4")
    for batch_dims, axis in [(0, 0), (0, 3), (1, 1), (1, 3), (2, 2), (2, 3)]:
        expected = x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1 :]
        assert ms.gather(x, indices, axis, batch_dims).shape == expected
        assert ms.gather(x, indices, axis - 4, batch_dims=batch_dims).shape == expected
        assert ms.gather(x, indices, axis, batch_dims - 4).shape == expected  # from the indices' rank
    assert ms.gather(x, np.array(1), 2).shape == (2, 3, 5)


def test_document_axis_formula():
    """out[B, M, I, T] = self[B, M, input_indices[B, I], T]"""
    rng = np.random.default_rng(5)
    x, indices = rng.random((2, 3, 4, 5)), rng.integers(0, 4, (2, 6, 7))
    out = ms.gather(x, indices, 2, 1)
    for b, m, i, j, t in np.ndindex(*out.shape):
        assert out[b, m, i, j, t] == x[b, m, indices[b, i, j], t]


@pytest.mark.parametrize("axis", [1, -1, np.int8(1), np.array(1), np.array([1]), np.array([[-1]], "i1")], ids=repr)
def test_axis_may_be_a_tensor_of_one(axis):
    x, indices = np.arange(12.0).reshape(3, 4), np.array([0, 2])
    same(ms.gather(x, indices, axis), x[:, [0, 2]])
    torch = pytest.importorskip("torch")
    same(ms.gather(x, indices, axis=torch.as_tensor(axis)), x[:, [0, 2]])


@pytest.mark.parametrize("name", MS_AXIS_ERRORS)
def test_document_axis_error(name):
    error, indices, keywords = MS_AXIS_ERRORS[name]
    indices = np.asarray(indices, "i4") if isinstance(indices, list) else indices
    x = np.arange(6.0).reshape(3, 2)
    with pytest.raises(error):
        ms.gather(x, indices, **keywords)
    with pytest.raises(error):
        ms.gather(x, indices, *keywords.values())


@pytest.mark.parametrize("axis", [True, None, 1.0, "1", [1], np.array([True]), np.float32(1)], ids=repr)
def test_axis_is_an_integer(axis):
    with pytest.raises(TypeError, match="axis"):
        ms.gather(X, INDEX, axis)


@pytest.mark.parametrize("batch_dims", [True, None, 1.0, "1", np.array([1.0])], ids=repr)
def test_batch_dims_is_an_integer(batch_dims):
    with pytest.raises(TypeError, match="batch_dims"):
        ms.gather(X, INDEX, 1, batch_dims)


def test_batch_axes_that_differ_are_both_errors():
    for kind in (ValueError, RuntimeError, gs.errors.BatchShapeError):
        with pytest.raises(kind):
            ms.gather(np.zeros((3, 2)), np.zeros((2, 1), "i4"), 1, 1)


WIDE = [2**31, 2**32, 2**32 + 1, 2**63 - 1, -(2**32), -(2**63)]


@pytest.mark.parametrize("value", [3, -4, *WIDE])
def test_dim_form_compares_at_full_width(value):
    index = np.array([[0, 1], [2, value]])
    with pytest.raises(gs.OutOfBoundsError) as error:
        ms.gather(X, 1, index)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.from_end) == (value, (1, 1), 1, 3, True)


@pytest.mark.parametrize("value", [3, -1, -3, *WIDE])
def test_axis_form_compares_at_full_width_and_has_no_negatives(value):
    with pytest.raises(gs.OutOfBoundsError) as error:
        ms.gather(X, np.array([2, value]), 1)
    e = error.value
    assert (e.index, e.position, e.axis, e.size, e.from_end) == (value, (1,), 1, 3, False)


# ---- which form, and what may be given


def test_keywords_decide():
    by_dim, by_axis = ms.gather(X, 1, INDEX), ms.gather(X, INDEX, 1)
    assert by_dim.shape == (2, 2) and by_axis.shape == (2, 2, 2)
    for call in (
        lambda: ms.gather(X, index=INDEX, dim=1),
        lambda: ms.gather(X, dim=1, index=INDEX),
        lambda: ms.gather(X, 1, index=INDEX),
        lambda: ms.gather(X, np.int64(1), INDEX),
    ):
        same(call(), by_dim)
    for call in (
        lambda: ms.gather(X, input_indices=INDEX, axis=1),
        lambda: ms.gather(X, axis=1, batch_dims=0, input_indices=INDEX),
        lambda: ms.gather(X, INDEX, axis=1),
        lambda: ms.gather(X, INDEX, 1, 0),
        lambda: ms.gather(X, INDEX, 1, batch_dims=0),
    ):
        same(call(), by_axis)


CALLS = {
    "nothing": ((), {}, "missing"),
    "dim only": ((1,), {}, r"gather\(\) missing 1 required positional argument: 'index'"),
    "index only": ((), {"index": INDEX}, "missing 1 required positional argument: 'dim'"),
    "indices only": ((INDEX,), {}, "missing 1 required positional argument: 'axis'"),
    "axis only": ((), {"axis": 0}, "missing 1 required positional argument: 'input_indices'"),
    "dim and axis": ((), {"dim": 0, "axis": 0, "index": INDEX}, "unexpected keyword argument 'axis'"),
    "index and indices": ((0,), {"index": INDEX, "input_indices": INDEX}, "unexpected keyword"),
    "dim twice": ((0, INDEX), {"dim": 0}, "multiple values for argument 'dim'"),
    "index as dim": ((INDEX,), {"index": INDEX}, "dim is"),
    "dim form with batch_dims": ((0, INDEX, 0), {}, "takes 3 positional arguments but 4 were given"),
    "dim form with batch_dims=": ((0, INDEX), {"batch_dims": 0}, "input_indices is of type int"),
    "four": ((INDEX, 0, 0, 0), {}, "positional arguments"),
    "unknown": ((INDEX, 0), {"mode": "clip"}, "unexpected keyword argument 'mode'"),
    "float": ((1.0, INDEX), {}, "the second argument, which is no int, is of type float"),
    "None": ((None, INDEX), {}, "the second argument, which is no int, is of type NoneType"),
    "list": (([0, 1], 0), {}, "the second argument, which is no int, is of type list"),
    "self by name": ((0, INDEX), {"self": X}, "self"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_no_form(name):
    args, kwargs, words = CALLS[name]
    with pytest.raises(TypeError, match=words):
        ms.gather(X, *args, **kwargs)


@pytest.mark.parametrize("dtype", ["i1", "i2", "u1", "u2", "u4", "u8", "?", "f4", "c8", "m8[s]", "O"])
def test_index_dtypes_that_are_refused(dtype):
    index = np.zeros((2, 2), dtype)
    with pytest.raises(TypeError, match="expected int32 or int64"):
        ms.gather(X, 0, index)
    with pytest.raises(TypeError, match="expected int32 or int64"):
        ms.gather(X, index, 0)


@pytest.mark.parametrize("dtype", ["i4", "i8", ">i8"])
def test_index_dtypes_that_are_taken(dtype):
    assert ms.gather(X, 0, INDEX.astype(dtype)).tolist() == [[0, 1], [3, 4]]
    assert ms.gather(X, INDEX.astype(dtype), 0).shape == (2, 2, 3)


INPUTS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "bfloat16", "f4", "f8", "c8", "c16"]
NO_INPUTS = ["g", "m8[s]", "M8[D]", "S2", "U1", "V3", "i4,f4", "float8_e4m3fn", "int4"]


def counting(dtype: str):
    """Items that count up if the dtype has numbers, else zero bytes."""
    if dtype in ("bfloat16", "float8_e4m3fn", "int4"):
        dtype = getattr(pytest.importorskip("ml_dtypes"), dtype)
    numbers = not issubclass(np.dtype(dtype).type, (np.flexible, np.datetime64, np.timedelta64))
    return np.arange(6).reshape(2, 3).astype(dtype) if numbers else np.zeros((2, 3), dtype)


@pytest.mark.parametrize("dtype", INPUTS)
def test_input_dtypes_that_are_taken(dtype):
    x = counting(dtype)
    same(ms.gather(x, 0, INDEX), x[:, :2])
    same(ms.gather(x, INDEX, 0), x[INDEX])


@pytest.mark.parametrize("dtype", NO_INPUTS)
def test_input_dtypes_that_are_refused(dtype):
    x = counting(dtype)
    for call in (lambda: ms.gather(x, 0, INDEX), lambda: ms.gather(x, INDEX, 0)):
        with pytest.raises(TypeError, match="self has dtype"):
            call()


@pytest.mark.parametrize("x", [[[1.0, 2.0]], 3.0, None, "abc"])
def test_input_is_a_tensor(x):
    for call in (lambda: ms.gather(x, 0, INDEX), lambda: ms.gather(x, INDEX, 0)):
        with pytest.raises(TypeError, match="self is of type"):
            call()


@pytest.mark.parametrize("index", [[[0, 0]], 0.5, None, (0, 1)], ids=repr)
def test_indices_are_tensors(index):
    for call in (lambda: ms.gather(X, 0, index), lambda: ms.gather(X, input_indices=index, axis=0)):
        with pytest.raises(TypeError, match="is of type"):
            call()


# ---- other libraries, plans


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    x, index = jnp.asarray(X), jnp.asarray(INDEX)
    assert type(ms.gather(x, 1, index)) is type(x)
    assert ms.gather(x, 1, index).tolist() == [[0, 0], [4, 4]]
    assert ms.gather(x, jnp.array([2]), jnp.array([1])).tolist() == [[2], [5]]


def test_plans():
    for arguments in [(1, INDEX), (INDEX, 1)]:
        plan = gs.plan(ms.gather, X, *arguments)
        same(plan(10 * X, INDEX), ms.gather(10 * X, *arguments))
    torch = pytest.importorskip("torch")
    assert gs.explain(ms.gather, torch.from_numpy(X).requires_grad_(), 1, INDEX).to_dict()["result_shape"] == (2, 2)


def test_torch_is_not_imported_for_others():
    code = "import sys, numpy as np, gatherscatter as gs; "
    code += "gs.compat.mindspore.gather(np.zeros(3), 0, np.array([1])); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
