"""test_compat_mindspore_gradients.py: gradients of torch tensors through gs.compat.mindspore.gather."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.compat import mindspore as ms

torch = pytest.importorskip("torch")

# ---- rows of the catalogue


def test_ms_db_1d():
    x = torch.zeros(4, requires_grad=True)
    ms.gather(x, 0, torch.tensor([0, 0, 1, 2], dtype=torch.int32)).backward(torch.ones(4))
    assert x.grad.tolist() == [2, 1, 1, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_X_ms_12(dtype):
    x = torch.ones(3, 4, dtype=getattr(torch, dtype), requires_grad=True)
    ms.gather(x, 0, torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])).sum().backward()
    assert x.grad.shape == (3, 4) and x.grad.dtype == x.dtype
    assert x.grad.tolist() == [[1, 0, 1, 2], [0, 2, 0, 0], [1, 0, 1, 0]]


# ---- compared with torch

CASES = [
    ("dim", (3, 4, 5), (3, 6, 5), {"dim": 1}),
    ("dim shorter", (3, 4, 5), (2, 4, 3), {"dim": 0}),
    ("dim last", (4, 6), (3, 9), {"dim": -1}),
    ("dim of a scalar", (), (), {"dim": 0}),
    ("dim empty index", (4,), (0,), {"dim": 0}),
    ("axis", (3, 4, 5), (2, 3), {"axis": 1}),
    ("axis 0", (7,), (20,), {"axis": 0}),
    ("axis by a scalar", (3, 4), (), {"axis": 1}),
    ("axis with a batch", (2, 3, 4, 5), (2, 6), {"axis": 2, "batch_dims": 1}),
    ("axis with two", (2, 3, 4), (2, 3, 5), {"axis": 2, "batch_dims": 2}),
]


def made(shape, index_shape, form, dtype, layout="C"):
    rng = np.random.default_rng(11)
    key = "dim" if "dim" in form else "axis"
    n = shape[form[key]] if shape else 1
    index = torch.from_numpy(rng.integers(-n if key == "dim" else 0, n, index_shape))
    if layout == "F" and len(shape) > 1:
        x = torch.from_numpy(rng.random(shape[::-1])).permute(*range(len(shape))[::-1])
    elif layout == "sliced" and len(shape) > 0:
        x = torch.from_numpy(rng.random((*shape[:-1], 2 * shape[-1])))[..., ::2]
    elif layout == "expanded" and len(shape) > 0:
        x = torch.from_numpy(rng.random((1, *shape[1:]))).expand(*shape)
    else:
        x = torch.from_numpy(rng.random(shape))
    return x.to(dtype).detach().requires_grad_(), index


def call(x, index, form):
    return ms.gather(x, index=index, **form) if "dim" in form else ms.gather(x, input_indices=index, **form)


def by_torch(x, index, form):
    """The operation by torch's own functions, which have gradients of their own."""
    if "dim" in form:
        n = x.shape[form["dim"]] if x.ndim else 1
        return torch.gather(x, form["dim"], index % n)
    axis, batch = form["axis"], form.get("batch_dims", 0)
    if batch:
        return torch.stack(
            [by_torch(a, i, {"axis": axis - 1, "batch_dims": batch - 1}) for a, i in zip(x, index, strict=True)]
        )
    taken = torch.index_select(x, axis, index.reshape(-1))
    return taken.reshape(x.shape[:axis] + index.shape + x.shape[axis + 1 :])


@pytest.mark.parametrize("layout", ["C", "F", "sliced", "expanded"])
@pytest.mark.parametrize(("name", "shape", "index_shape", "form"), CASES, ids=[case[0] for case in CASES])
def test_gradients_are_those_of_torch(name, shape, index_shape, form, layout):
    x, index = made(shape, index_shape, form, torch.float64, layout)
    twin = x.detach().requires_grad_()
    result, expected = call(x, index, form), by_torch(twin, index, form)
    assert torch.equal(result, expected) and result.requires_grad and result.dtype is x.dtype
    grad = torch.from_numpy(np.random.default_rng(2).integers(-9, 9, tuple(result.shape)).astype("f8"))
    result.backward(grad)
    expected.backward(grad)
    assert torch.equal(x.grad, twin.grad)  # sums of small integers do not round in any order


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("name", "shape", "index_shape", "form"), CASES, ids=[case[0] for case in CASES])
def test_gradcheck(name, shape, index_shape, form, dtype):
    x, index = made(shape, index_shape, form, getattr(torch, dtype))
    assert torch.autograd.gradcheck(lambda a: call(a, index, form), x)
    assert torch.autograd.gradgradcheck(lambda a: call(a, index, form), x)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_duplicates_add_up_in_float32_and_are_rounded_once(index_dtype):
    """256 + 1 is no bfloat16 and 2048 + 1 is no float16, so a sum in the dtype itself would stop growing there."""
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.zeros(2, dtype=dtype, requires_grad=True)
        ms.gather(x, 0, torch.zeros(4096, dtype=getattr(torch, index_dtype))).sum().backward()
        assert x.grad.tolist() == [4096, 0] and x.grad.dtype is dtype


def test_gradients_of_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = torch.tensor([2, 2, 0, -1])
    (first,) = torch.autograd.grad((ms.gather(x, 0, index) ** 3).sum(), x, create_graph=True)
    assert first.tolist() == [3, 0, 81]
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 0, 54]


@pytest.mark.parametrize("dtype", ["i8", "i4", ">i4"])
def test_an_index_of_another_library_is_kept_as_it_was(dtype):
    x, index = torch.zeros(3, requires_grad=True), np.array([2, 2, 0], dtype)
    result = ms.gather(x, 0, index)
    index[:] = 1
    result.sum().backward()
    assert x.grad.tolist() == [1, 0, 2]


def test_an_index_tensor_that_changed_is_noticed():
    x, index = torch.zeros(3, requires_grad=True), torch.tensor([2, 2, 0])
    result = ms.gather(x, 0, index)
    index.fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_no_gradient_where_none_is_wanted():
    x, index = torch.zeros(3, requires_grad=True), torch.tensor([2, 0])
    assert not ms.gather(x.detach(), 0, index).requires_grad
    with torch.no_grad():
        assert not ms.gather(x, 0, index).requires_grad
    with torch.inference_mode():
        assert ms.gather(x, index, 0).tolist() == [0, 0]
    assert ms.gather(torch.nn.Parameter(x), 0, index).requires_grad


@pytest.mark.parametrize("how", ["dim", "axis"])
def test_errors_are_the_same_with_gradients(how):
    x = torch.zeros(3, requires_grad=True)
    for index, error in [([3], gs.OutOfBoundsError), ([-4], gs.OutOfBoundsError), ([0.5], TypeError)]:
        with pytest.raises(error):
            call(x, torch.tensor(index), {how: 0})
    with pytest.raises(ValueError):
        call(x, torch.tensor([0]), {how: 1})


def test_gradients_are_deterministic():
    """With many duplicates in float32 the order of additions is that of the points, for any number of threads."""
    rng = np.random.default_rng(3)
    index = torch.from_numpy(rng.integers(0, 50, 100_000))
    grad = torch.from_numpy(rng.standard_normal(100_000).astype("f4"))
    gradients = set()
    for threads, _ in itertools.product((1, 2, 5), range(2)):
        x = torch.zeros(50, requires_grad=True)
        with gs.thread_limit(threads):
            ms.gather(x, 0, index).backward(grad)
        gradients.add(x.grad.numpy().tobytes())
    expected = np.zeros(50, "f4")
    np.add.at(expected, index.numpy(), grad.numpy())
    assert gradients == {expected.tobytes()}
