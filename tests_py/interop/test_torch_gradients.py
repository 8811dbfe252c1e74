"""test_torch_gradients.py: gradients and tangents of every operator, compared with differences and with naive loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gatherscatter as gs
import torch_calls

torch = pytest.importorskip("torch", reason="torch is not installed")

REDUCES = [
    (reduce, include_self)
    for reduce in (None, "add", "mul", "min", "max", "mean")
    for include_self in ((True,) if reduce is None else (True, False))
]
CALLS = [
    *torch_calls.gathers(torch),
    *(call for words in REDUCES for call in torch_calls.scatters(torch, *words)),
    *torch_calls.writes(torch),
]
NAMES = [call.name for call in CALLS]


def check(function, tensors):
    """Compare first and second derivatives, backward and forward, with differences of the function's values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own compilation of decompositions
        assert torch.autograd.gradcheck(function, tensors, check_forward_ad=True, fast_mode=True)
        assert torch.autograd.gradgradcheck(function, tensors, fast_mode=True)


@pytest.mark.parametrize("call", CALLS, ids=NAMES)
def test_derivatives(call):
    tensors = torch_calls.values(torch, call, torch.float64)
    with torch.no_grad():
        expected = call.function(*tensors)
    result = call.function(*tensors)
    assert torch.equal(result, expected) and result.requires_grad
    check(call.function, tensors)


# A rule for bounds decides where a point reads, which its dtype does not change.
COMPLEX = [
    call
    for call in CALLS
    if (call.is_linear or "mul" in call.name) and not any(word in call.name for word in ("clip", "wrap", "unchecked"))
]


@pytest.mark.parametrize("call", COMPLEX, ids=lambda call: call.name)
def test_complex_derivatives(call):
    check(call.function, torch_calls.values(torch, call, torch.complex128))


@pytest.mark.parametrize("reduce", ["min", "max"])
def test_complex_numbers_have_no_order(reduce):
    x = torch.zeros(3, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(TypeError, match="does not support"):
        gs.scatter(x, 0, torch.tensor([0]), x[:1], reduce=reduce)


# ---- naive loops


@pytest.mark.parametrize("call", list(torch_calls.gathers(torch)), ids=lambda call: call.name)
def test_the_gradient_of_a_gather_is_a_sum_over_its_points(call):
    """The gather of the numbers of the elements, of which fill values have none, says what each point read."""
    tensors = torch_calls.values(torch, call, torch.float64)
    result = call.function(*tensors)
    gradient = torch.arange(1.0, result.numel() + 1, dtype=torch.float64).reshape(result.shape)
    numbers = torch.arange(1000.0, 1000.0 + tensors[0].numel(), dtype=torch.float64).reshape(tensors[0].shape)
    read = call.function(numbers, *(t.detach() for t in tensors[1:]))
    expected = [0.0] * tensors[0].numel()
    for element, value in zip(read.reshape(-1).tolist(), gradient.reshape(-1).tolist(), strict=True):
        if element >= 1000:
            expected[int(element) - 1000] += value
    result.backward(gradient)
    assert tensors[0].grad.reshape(-1).tolist() == expected


PLAIN = [*torch_calls.scatters(torch, None, True), *torch_calls.writes(torch)]


@pytest.mark.parametrize("call", PLAIN, ids=lambda call: call.name)
def test_only_the_value_that_was_written_gets_a_gradient(call):
    tensors = torch_calls.values(torch, call, torch.float64)
    result = call.function(*tensors)
    gradient = torch.arange(1.0, result.numel() + 1, dtype=torch.float64).reshape(result.shape)
    labels, begin = [], 1000
    for tensor in tensors:
        labels.append(torch.arange(float(begin), begin + tensor.numel(), dtype=torch.float64).reshape(tensor.shape))
        begin += tensor.numel()
    writer = call.function(*labels)
    expected = [0.0] * (begin - 1000)
    for label, value in zip(writer.reshape(-1).tolist(), gradient.reshape(-1).tolist(), strict=True):
        if label >= 1000:
            expected[int(label) - 1000] += value
    result.backward(gradient)
    assert [n for tensor in tensors for n in tensor.grad.reshape(-1).tolist()] == expected


@pytest.mark.parametrize("reduce", ["min", "max"])
@pytest.mark.parametrize("include_self", [True, False])
def test_equal_values_share_the_gradient(reduce, include_self):
    x = torch.tensor([5.0, 1.0, 2.0], requires_grad=True)
    s = torch.tensor([5.0, 5.0, 5.0, 7.0], requires_grad=True)
    result = gs.scatter(x, 0, torch.tensor([0, 0, 0, 1]), s, reduce=reduce, include_self=include_self)
    result.backward(torch.tensor([12.0, 1.0, 3.0]))
    shares = [3.0] * 4 if include_self else [0.0, 4.0, 4.0, 4.0]
    takes_one = include_self and reduce == "min"
    assert x.grad.tolist() == [shares[0], 1.0 if takes_one else 0.0, 3.0]
    assert s.grad.tolist() == [*shares[1:], 0.0 if takes_one else 1.0]


@pytest.mark.parametrize("reduce", ["min", "max"])
def test_nan_is_the_minimum_and_the_maximum_and_gets_the_gradient(reduce):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    s = torch.tensor([torch.nan, 3.0], requires_grad=True)
    gs.scatter(x, 0, torch.tensor([0, 0]), s, reduce=reduce).sum().backward()
    assert x.grad.tolist() == [0, 1] and s.grad.tolist() == [1, 0]


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("own", [0.0, 3.0])
@pytest.mark.parametrize("include_self", [True, False])
def test_the_gradient_of_a_product_with_zeros(zeros, own, include_self):
    values = [2.0, 5.0, 7.0]
    values[:zeros] = [0.0] * zeros
    x = torch.tensor([own, 4.0], dtype=torch.float64, requires_grad=True)
    s = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    gs.scatter(x, 0, torch.tensor([0, 0, 0]), s, reduce="mul", include_self=include_self).sum().backward()
    first = own if include_self else 1.0
    expected = [first * float(np.prod([v for k, v in enumerate(values) if k != j])) for j in range(3)]
    assert s.grad.tolist() == expected
    assert x.grad.tolist() == [float(np.prod(values)) if include_self else 0.0, 1.0]


@pytest.mark.parametrize(
    ("dtype", "own", "values", "expected"),
    [
        (torch.float32, 1e-20, [1e20, 1e20], [1.0, 1.0]),
        (torch.float32, 1e20, [1e-20, 1e-30], [1e-10, 1.0]),
        (torch.complex64, 1e-20, [1e20, 1e20], [1.0, 1.0]),
        (torch.float16, 1e-3, [300, 300], [0.3, 0.3]),
        (torch.bfloat16, 1e-20, [1e20, 1e20], [1.0, 1.0]),
    ],
)
def test_the_gradient_of_a_product_is_finite_where_its_parts_are_not(dtype, own, values, expected):
    x = torch.tensor([own], dtype=dtype, requires_grad=True)
    s = torch.tensor(values, dtype=dtype, requires_grad=True)
    gs.scatter(x, 0, torch.tensor([0, 0]), s, reduce="mul").backward(torch.ones(1, dtype=dtype))
    assert s.grad.dtype is dtype
    torch.testing.assert_close(s.grad, torch.tensor(expected, dtype=dtype), rtol=0.02, atol=0)


def test_products_of_narrow_floats_are_rounded_once_in_the_gradient_of_the_input():
    x = torch.tensor([1e-3], dtype=torch.float16, requires_grad=True)
    s = torch.tensor([300, 300, 1e-3], dtype=torch.float16)
    gs.scatter(x, 0, torch.tensor([0, 0, 0]), s, reduce="mul").sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([90.0], dtype=torch.float16), rtol=0.01, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.float16])
@pytest.mark.parametrize("unused", [torch.nan, 0.0])
@pytest.mark.parametrize("own", [1.0, torch.nan])
def test_values_that_are_not_written_have_no_part_in_a_product(dtype, unused, own):
    x, s = torch.tensor([1.0, own], dtype=dtype), torch.tensor([unused, 2.0], dtype=dtype)
    calls = [
        lambda s: gs.scatter(x, 0, torch.tensor([0, 0]), s, reduce="mul", mask=torch.tensor([False, True])),
        lambda s: gs.scatter(x, 0, torch.tensor([7, 0]), s, reduce="mul", bounds="drop"),
    ]
    for call in calls:
        leaf = s.clone().requires_grad_()
        call(leaf)[0].backward(torch.ones((), dtype=dtype))
        assert leaf.grad.tolist() == [0, 1]
        assert torch.func.grad(lambda s, call=call: call(s)[0].real)(s).tolist() == [0, 1]


@pytest.mark.parametrize("zeros", [1, 2, 3])
@pytest.mark.parametrize("include_self", [True, False])
def test_second_derivatives_of_products_with_zeros(zeros, include_self):
    index = torch.tensor([0, 1, 0, 0, 1])
    x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    values = [0.0 if k in (0, 2, 3)[:zeros] else k + 2.0 for k in range(5)]
    s = torch.tensor(values, dtype=torch.float64, requires_grad=True)

    def function(x, s):
        return gs.scatter(x, 0, index, s, reduce="mul", include_self=include_self)

    def loop(x, s):
        first, second = s[0] * s[2] * s[3], s[1] * s[4]
        return torch.stack([x[0] * first, x[1] * second] if include_self else [first, second])

    check(function, (x, s))
    for hessian in (torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacrev(f))):
        found, expected = (hessian(lambda s, f=f: f(x.detach(), s).sum())(s.detach()) for f in (function, loop))
        assert torch.allclose(found, expected)


# ---- the same bytes for every number of threads


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i, s: gs.gather(x, i, axis=0),
        lambda x, i, s: gs.take(x, i * 3),
        lambda x, i, s: gs.scatter(x, i, s, reduce="add"),
        lambda x, i, s: gs.scatter(x, i, s, reduce="mean"),
        lambda x, i, s: gs.scatter(x, i, s[:1], reduce="add"),
        lambda x, i, s: gs.scatter(x, i, s, reduce="max"),
        lambda x, i, s: gs.scatter(x, i, s),
        lambda x, i, s: gs.gather(x, i, axis=0, mask=i > 20, fill_value=s[0, 0]),
    ],
)
def test_gradients_are_byte_equal_for_every_number_of_threads(call):
    generator = torch.Generator().manual_seed(3)
    index = torch.randint(0, 50, (20_000,), generator=generator)
    values = [torch.randn(n, 8, generator=generator) for n in (50, 20_000)]
    found = set()
    for threads in (1, 2, 7):
        x, s = (value.clone().requires_grad_() for value in values)
        with gs.thread_limit(threads):
            result = call(x, index, s)
            weights = torch.linspace(0, 1, result.numel()).reshape(result.shape)
            grads = torch.autograd.grad(result, (x, s), weights, allow_unused=True)
        found.add(b"".join(b"" if grad is None else grad.numpy().tobytes() for grad in grads))
    assert len(found) == 1


def test_sums_of_narrow_floats_are_rounded_once():
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.zeros(2, dtype=dtype, requires_grad=True)
        gs.take(x, torch.zeros(4096, dtype=torch.int64)).sum().backward()
        assert x.grad.tolist() == [4096, 0] and x.grad.dtype is dtype


@pytest.mark.parametrize("count", [2, 5000])
@pytest.mark.parametrize("reduce", [None, "add", "mul", "gather", "mask"])
def test_tensors_made_in_inference_mode_are_no_obstacle_to_gradients(reduce, count):
    with torch.inference_mode():
        index, values, mask = torch.arange(count) % 3, torch.full((count,), 2.0), torch.arange(count) % 2 == 0
    found = []
    for of_call in ((index, values, mask), (index.clone(), values.clone(), mask.clone())):
        x = torch.arange(1.0, 5.0, requires_grad=True)
        if reduce in ("gather", "mask"):
            words = {"mask": of_call[2], "fill_value": 1.0, "bounds": "fill"} if reduce == "mask" else {}
            result = gs.gather(x, 0, of_call[0], **words)
        else:
            result = gs.scatter(x, 0, *of_call[:2], reduce=reduce)
        result.sum().backward()
        found.append((result, x.grad))
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1])


WRONG = {
    "datetime": np.array(["2020"], "M8[D]"),
    "text": np.array(["a"]),
    "structured": np.zeros(1, [("a", "i4")]),
    "longdouble": np.zeros(1, np.longdouble),
    "object": np.array([None], object),
    "bool": np.zeros(1, bool),
    "list of text": ["a"],
}
ZERO = torch.tensor([0])
WRONG_IN = {
    "gather": lambda x, bad: gs.gather(x, bad, axis=0),
    "scatter": lambda x, bad: gs.scatter(x, 0, ZERO, bad),
    "scatter_nd": lambda x, bad: gs.scatter_nd(x, ZERO[None], bad),
    "put": lambda x, bad: gs.put(x, [0], bad),
    "mask": lambda x, bad: gs.gather(x, 0, ZERO, mask=np.ones(1) if bad is WRONG["bool"] else bad, bounds="fill"),
}


@pytest.mark.parametrize("bad", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("call", WRONG_IN.values(), ids=WRONG_IN)
def test_a_wrong_dtype_has_the_same_error_with_and_without_gradients(call, bad):
    errors = []
    for requires_grad in (False, True):
        x = torch.ones(3, requires_grad=requires_grad) * 1
        with pytest.raises((TypeError, ValueError)) as caught:
            call(x, bad)
        errors.append((type(caught.value), str(caught.value)))
        assert x.tolist() == [1, 1, 1]
    assert errors[0] == errors[1]


def test_a_wrong_dtype_in_a_transform_is_named():
    for bad in (WRONG["datetime"], WRONG["text"], WRONG["object"]):
        with pytest.raises(TypeError, match=r"index has dtype .*, which torch does not have"):
            torch.func.vmap(lambda x, bad=bad: gs.gather(x, bad, axis=0))(torch.ones(2, 3))


def test_values_of_narrow_floats_of_numpy_are_scattered():
    bfloat16 = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    x = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    result = gs.scatter(x, 0, ZERO, np.full(1, 3, bfloat16))
    result.sum().backward()
    assert result.tolist() == [3, 1, 1] and x.grad.tolist() == [0, 1, 1]
