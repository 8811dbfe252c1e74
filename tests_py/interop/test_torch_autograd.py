"""test_torch_autograd.py: calls inside torch's modes and transforms: in place, out=, hooks, lazy bits, torch.func."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gatherscatter as gs
import torch_calls

torch = pytest.importorskip("torch", reason="torch is not installed")

INDEX = torch.tensor([2, 0, 2])
GATHERS = list(torch_calls.gathers(torch))
SCATTERS = [
    call for words in ((None, True), ("add", True), ("max", False)) for call in torch_calls.scatters(torch, *words)
]
CALLS = [*GATHERS, *SCATTERS]

WRITES = {
    "put": lambda t, v: gs.put(t, [0, 1], v),
    "put_along_axis": lambda t, v: gs.put_along_axis(t, torch.tensor([0, 1]), v[:2], 0),
    "putmask": lambda t, v: gs.putmask(t, [True, True, False, False], v),
    "place": lambda t, v: gs.place(t, [True, True, False, False], v),
    "tile_scatter": lambda t, v: gs.tile_scatter(t, torch.tensor([0, 1, 9, 9]), v),
}


def four():
    return torch.arange(4.0, requires_grad=True)


# ---- writes


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_leaf_is_not_written(write):
    x = four()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        write(x, torch.ones(4))
    assert x.tolist() == [0, 1, 2, 3]
    with torch.no_grad():
        write(x, torch.ones(4))
    assert x.tolist()[:2] == [1, 1]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("recorded", [True, False])
def test_every_write_counts(write, recorded):
    x = four().clone() if recorded else torch.arange(4.0)
    before = x._version
    write(x, torch.ones(4))
    assert x._version > before


def test_out_counts_and_a_saved_tensor_that_was_written_is_noticed():
    out = torch.zeros(3)
    before = out._version
    gs.take(torch.ones(4), INDEX, out=out)
    assert out._version > before
    x, values = four(), torch.ones(3)
    saved = values.requires_grad_() * 1
    y = gs.scatter(x, 0, INDEX, saved, reduce="mul")
    with torch.no_grad():
        gs.put(saved, [0], 5.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_write_to_a_view_is_recorded_in_its_base():
    x = four()
    base = x * 2
    gs.put(base[1:3], [0], torch.tensor([7.0]))
    base.sum().backward()
    assert base.tolist() == [0, 7, 4, 6] and x.grad.tolist() == [2, 0, 2, 2]


def test_an_error_leaves_the_target_as_it_was():
    x = four() * 1
    version = x._version
    with pytest.raises(gs.OutOfBoundsError):
        gs.put(x, [0, 9], torch.ones(2))
    assert x.tolist() == [0, 1, 2, 3] and x._version == version


@pytest.mark.parametrize("where", ["input", "src", "out"])
def test_out_with_gradients_is_an_error(where):
    tensors = {"input": torch.zeros(4), "src": torch.ones(3), "out": torch.zeros(4)}
    tensors[where].requires_grad_()
    with pytest.raises(RuntimeError, match=r"out=.* do not support automatic differentiation"):
        gs.scatter(tensors["input"], 0, INDEX, tensors["src"], out=tensors["out"])
    assert tensors["out"].tolist() == [0] * 4
    with torch.no_grad():
        gs.scatter(tensors["input"], 0, INDEX, tensors["src"], out=tensors["out"])
    assert tensors["out"].tolist() == [1, 0, 1, 0]


def test_out_that_is_the_input_with_gradients_is_an_error():
    x = four() * 1
    with pytest.raises(RuntimeError, match="out="):
        gs.scatter(x, 0, INDEX, 1.0, out=x)


# ---- what gets a gradient


def test_only_the_source_requires_grad():
    s = torch.ones(3, requires_grad=True)
    gs.scatter(torch.zeros(4), 0, INDEX, s).sum().backward()
    assert s.grad.tolist() == [0, 1, 1]


def test_parameters_hooks_and_accumulated_gradients():
    table = torch.nn.Parameter(torch.zeros(4, 2))
    seen = []
    for _ in range(2):
        rows = gs.take(table, INDEX, axis=0)
        rows.register_hook(lambda g: seen.append(tuple(g.shape)) or g * 2)
        rows.sum().backward()
    assert seen == [(3, 2)] * 2 and table.grad[:, 0].tolist() == [4, 0, 8, 0]


def test_an_index_that_changed_is_noticed_and_one_of_numpy_is_kept():
    x, index = four(), INDEX.clone()
    y = gs.take(x, index)
    index.fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    numbers = np.array([2, 0, 2])
    y = gs.take(x, numbers)
    numbers[:] = 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradient_without_gradients(mode):
    with mode():
        assert not gs.take(four(), INDEX).requires_grad
        assert not gs.scatter(four(), 0, INDEX, four()[:3], reduce="max").requires_grad


def test_autocast():
    x = torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        rows = gs.take(x @ x, INDEX, axis=0)
    assert rows.dtype is torch.bfloat16
    rows.float().sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.abs().sum() > 0


def test_errors_are_the_same_with_gradients():
    x = four()
    for index, error in [([4], gs.OutOfBoundsError), ([-5], gs.OutOfBoundsError), ([2**70], gs.OutOfBoundsError)]:
        with pytest.raises(error):
            gs.gather(x, index, axis=0)
    with pytest.raises(gs.OutOfBoundsError, match="index 9 is out of bounds for axis 0 with size 4") as caught:
        gs.gather(x, 0, torch.tensor([0, 9]))
    assert caught.value.position == (1,)
    with pytest.raises(TypeError, match="dtype"):
        gs.scatter(x, 0, INDEX, torch.ones(3, dtype=torch.float64))
    with pytest.raises(ValueError):
        gs.scatter(x, 0, INDEX, torch.ones(5, 5))


# ---- lazy bits


@pytest.mark.parametrize("requires_grad", [True, False])
def test_lazy_bits_are_resolved(requires_grad):
    z = torch.tensor([1 + 2j, 3 - 4j, 5 + 6j, 0j], requires_grad=requires_grad)
    for lazy in (z.conj(), z.conj().imag):
        assert lazy.is_conj() or lazy.is_neg()
        expected = lazy.resolve_conj().resolve_neg()
        assert torch.equal(gs.take(lazy, INDEX), expected[INDEX])
        source = expected.detach().clone()
        written = gs.scatter(lazy, 0, INDEX, lazy[:3])
        assert torch.equal(written, gs.scatter(source, 0, INDEX, source[:3]))
    if requires_grad:
        gs.take(z.conj(), INDEX).imag.sum().backward()
        assert z.grad.tolist() == [-1j, 0, -2j, 0]


def test_lazy_bits_of_a_target():
    base = torch.zeros(3, dtype=torch.complex64)
    gs.put(base.conj(), [1], torch.tensor([1 + 2j]))
    gs.take(torch.tensor([3 + 1j, 5 + 1j]), [0], out=base.conj()[2:])
    assert base.tolist() == [0, 1 - 2j, 3 - 1j]


# ---- torch.func


def loop(function, tensors, dims):
    """vmap as a loop."""
    size = next(t.shape[d] for t, d in zip(tensors, dims, strict=True) if d is not None)
    parts = [[t if d is None else t.select(d, k) for t, d in zip(tensors, dims, strict=True)] for k in range(size)]
    return torch.stack([function(*part) for part in parts])


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_vmap_over_every_tensor(call):
    tensors = torch_calls.values(torch, call, torch.float64, requires_grad=False)
    for mapped in range(1, 2 ** len(tensors)):
        dims = tuple((t.ndim if k else 0) if mapped >> k & 1 else None for k, t in enumerate(tensors))
        batch = [t if d is None else torch.stack([t, t + 0.125, t * 3], d) for t, d in zip(tensors, dims, strict=True)]
        assert torch.equal(torch.func.vmap(call.function, dims)(*batch), loop(call.function, batch, dims))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("call", SCATTERS[::4] + GATHERS[::3], ids=lambda call: call.name)
def test_gradients_in_batches(call, create_graph):
    tensors = torch_calls.values(torch, call, torch.float64)
    result = call.function(*tensors)
    weights = torch.linspace(-1, 1, 3 * result.numel(), dtype=torch.float64).reshape(3, *result.shape)
    words = {"retain_graph": True, "create_graph": create_graph}
    found = torch.autograd.grad(result, tensors, weights, is_grads_batched=True, **words)
    each = [torch.autograd.grad(result, tensors, one, **words) for one in weights]
    for own, parts in zip(found, zip(*each, strict=True), strict=True):
        assert torch.equal(own, torch.stack(parts)) and own.requires_grad == parts[0].requires_grad


INDEXED = {
    "gather dim": (lambda x, i: gs.gather(x, 1, i), (3, 4), (2, 5)),
    "gather slices": (lambda x, i: gs.gather(x, i, axis=1), (3, 4), (2, 2)),
    "gather batch_dims": (lambda x, i: gs.gather(x, i, axis=1, batch_dims=1), (3, 4), (3, 2)),
    "take flat": (lambda x, i: gs.take(x, i), (3, 4), (5,)),
    "take_along_axis": (lambda x, i: gs.take_along_axis(x, i, 1), (3, 4), (1, 5)),
    "take_along_axis flat": (lambda x, i: gs.take_along_axis(x, i, None), (3, 4), (5,)),
    "gather_nd": (lambda x, i: gs.gather_nd(x, i), (3, 4), (5, 2)),
    "gather_nd slices": (lambda x, i: gs.gather_nd(x, i, mask=i[..., 0] > 0), (3, 4), (5, 1)),
    "tile_gather": (lambda x, i: gs.tile_gather(x, (i, torch.arange(4)), mask=i > 1), (3, 4), (5, 1)),
    "scatter dim": (lambda x, i: gs.scatter(x, 1, i, x[:2, :3] * 2, mask=i > 0), (3, 4), (2, 3)),
    "scatter slices": (lambda x, i: gs.scatter(x, i, x[:2] * 2), (3, 4), (2,)),
    "scatter add": (lambda x, i: gs.scatter(x, i, x[0, :1], reduce="add"), (3, 4), (2,)),
    "scatter max": (lambda x, i: gs.scatter(x, 0, i, x[:2] * 2, reduce="max", include_self=False), (3, 4), (2, 4)),
    "scatter_nd": (lambda x, i: gs.scatter_nd(x, i, x[0] * 2, reduce="mean"), (3, 4), (4, 2)),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (1, 1), (0, -1)])
def test_vmap_over_the_index(name, dims):
    function, shape, index_shape = INDEXED[name]
    generator = torch.Generator().manual_seed(5)
    x, i = torch.randn(2, *shape, generator=generator), torch.randint(0, 3, (2, *index_shape), generator=generator)
    batch = [t[0] if d is None else t.movedim(0, d) for t, d in zip((x, i), dims, strict=True)]
    assert torch.equal(torch.func.vmap(function, dims)(*batch), loop(function, batch, dims))
    nested = torch.func.vmap(torch.func.vmap(function, (0, None)), (None, 0))(x, i)
    assert torch.equal(nested, torch.stack([torch.stack([function(a, b) for a in x]) for b in i]))
    gradients = torch.func.vmap(torch.func.grad(lambda a, b: (function(a, b) ** 2).sum()), dims)(*batch)
    assert torch.allclose(gradients, loop(torch.func.grad(lambda a, b: (function(a, b) ** 2).sum()), batch, dims))


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (1, 1)])
def test_a_batch_is_one_move(name, dims):
    class Moves(pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode):
        found = ()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function.namespace == "gatherscatter":
                self.found += (str(function),)
            return function(*args, **(kwargs or {}))

    function, shape, index_shape = INDEXED[name]
    x, i = torch.rand(3, *shape), torch.randint(0, 3, (3, *index_shape))
    batch = [t[0] if d is None else t.movedim(0, d) for t, d in zip((x, i), dims, strict=True)]
    with Moves() as moves:
        torch.func.vmap(function, dims)(*batch)
    assert len(moves.found) == 1


@pytest.mark.filterwarnings("ignore")  # torch warns about its own compilation of decompositions
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_transforms_agree_with_backward(call):
    tensors = torch_calls.values(torch, call, torch.float64)
    plain = tuple(t.detach() for t in tensors)
    places = tuple(range(len(tensors)))

    def loss(*arguments):
        return (call.function(*arguments) ** 3).sum()

    expected = torch.autograd.grad(loss(*tensors), tensors)
    for own, other in zip(torch.func.grad(loss, places)(*plain), expected, strict=True):
        assert torch.allclose(own, other)
    tangents = tuple(torch.ones_like(t) * (k + 1) for k, t in enumerate(plain))
    _, tangent = torch.func.jvp(loss, plain, tangents)
    _, pull = torch.func.vjp(loss, *plain)
    by_vjp = sum((a * b).sum() for a, b in zip(pull(torch.ones(())), tangents, strict=True))
    assert torch.allclose(tangent, by_vjp)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reduce", [None, "add", "mul", "max", "mean"])
def test_jacobians_and_hessians(reduce):
    x, s = torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)

    def function(x, s):
        return gs.scatter(gs.take(x, INDEX), 0, INDEX, s, reduce=reduce)

    def loss(s):
        return (function(x, s) ** 3).sum()

    expected = torch.autograd.functional.jacobian(lambda s: function(x, s), s)
    assert torch.allclose(torch.func.jacrev(function, 1)(x, s), expected)
    assert torch.allclose(torch.func.jacfwd(function, 1)(x, s), expected)
    assert torch.allclose(torch.func.hessian(loss)(s), torch.autograd.functional.hessian(loss, s))


TRANSFORMED = {
    "grad": lambda f: lambda x, v: torch.func.grad(lambda *both: f(*both).sum(), (0, 1))(x, v),
    "jvp": lambda f: lambda x, v: torch.func.jvp(f, (x, v), (v, x)),
    "vmap": lambda f: lambda x, v: torch.func.vmap(f)(torch.stack([x, v]), torch.stack([v, x])),
    "functionalize": torch.func.functionalize,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("name", WRITES)
def test_writes_inside_a_transform(name, transform):
    def written(x, v):
        y = x * 2
        WRITES[name](y, v)
        return y * y * v

    def composed(x, v):
        return torch.cat([v[:2], 2 * x[2:]]) ** 2 * v

    x, v = torch.arange(1.0, 5.0), torch.full((4,), 3.0)
    own, expected = (TRANSFORMED[transform](function)(x, v) for function in (written, composed))
    torch.testing.assert_close(own, expected)


def test_a_batch_is_not_written_to_a_tensor_without_one():
    x = torch.zeros(4)
    with pytest.raises(RuntimeError, match="vmap: inplace"):
        torch.func.vmap(lambda v: gs.put(x, [0], v))(torch.ones(3))
    assert x.tolist() == [0] * 4


def four_true():
    return torch.ones(2, 2, dtype=torch.bool)


PAIR = torch.tensor([0, 1])
WRONG_MEMBERS = {
    "axis": (lambda x, i: gs.gather(x, -2, i), (0, None), "axis -2 is out of bounds for array of dimension 1"),
    "axis of both": (lambda x, i: gs.gather(x, -2, i), (0, 0), "axis -2 is out of bounds for array of dimension 1"),
    "axis of slices": (lambda x, i: gs.take(x, i, axis=-2), (0, None), "axis -2 is out of bounds"),
    "axis of a scatter": (lambda x, i: gs.scatter(x, -2, i, x[:2]), (0, None), "axis -2 is out of bounds"),
    "source": (lambda x, i: gs.scatter(x, 0, i, torch.ones(2, 2)), (0, None), r"src of shape \(2, 2\)"),
    "mask": (lambda x, i: gs.gather(x, 0, i, mask=four_true()), (0, None), r"mask of shape \(2, 2\)"),
    "mask of a scatter": (lambda x, i: gs.scatter(x, 0, i, x[:2], mask=four_true()), (0, None), "mask of shape"),
    "fill value": (lambda x, i: gs.gather(x, 0, i, bounds="fill", fill_value=x[:1]), (0, None), "fill_value"),
}


@pytest.mark.parametrize("name", WRONG_MEMBERS)
def test_vmap_refuses_what_a_call_of_one_member_refuses(name):
    function, dims, words = WRONG_MEMBERS[name]
    x, i = torch.zeros(2, 4), PAIR if dims[1] is None else torch.stack([PAIR, PAIR])
    with pytest.raises(ValueError, match=words) as expected:
        function(x[0], PAIR)
    with pytest.raises(ValueError, match=words) as caught:
        torch.func.vmap(function, dims)(x, i)
    assert caught.type is expected.type


@pytest.mark.parametrize(
    "function",
    [
        lambda x: gs.take(x, PAIR),
        lambda x: gs.take_along_axis(x, PAIR, None),
        lambda x: gs.gather(x, 0, PAIR),
        lambda x: gs.scatter(x, PAIR, 2.0),
        lambda x: (gs.put(x, PAIR, 2.0), x)[1],
    ],
)
def test_vmap_over_a_batch_of_no_members(function):
    x = torch.zeros(0, 3)
    assert torch.func.vmap(function)(x).shape == (0, *function(torch.zeros(3)).shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reduce", ["mul", "min", "max"])
def test_forward_over_forward_mode_of_values_is_an_error(reduce):
    def function(s):
        return gs.scatter(torch.ones(3), 0, INDEX, s * s, reduce=reduce).sum()

    s = torch.tensor([2.0, 3.0, 5.0])
    with pytest.raises(RuntimeError, match="forward over forward"):
        torch.func.jacfwd(torch.func.jacfwd(function))(s)
    with pytest.raises(RuntimeError, match="forward over forward"):
        torch.func.jvp(lambda s: torch.func.jvp(function, (s,), (s,))[1], (s,), (s,))
    assert torch.func.jacfwd(torch.func.jacrev(function))(s).shape == (3, 3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reduce", [None, "add", "mean"])
def test_forward_over_forward_mode_of_linear_calls(reduce):
    def function(s):
        return (gs.scatter(gs.take(s, INDEX), 0, INDEX, s * s, reduce=reduce) ** 2).sum()

    s = torch.tensor([2.0, 3.0, 5.0])
    assert torch.allclose(torch.func.jacfwd(torch.func.jacfwd(function))(s), torch.func.hessian(function)(s))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", SCATTERS[::3] + GATHERS[::5], ids=lambda call: call.name)
def test_linearize(call):
    tensors = torch_calls.values(torch, call, torch.float64, requires_grad=False)
    tangents = tuple(torch.ones_like(t) * (k + 1) for k, t in enumerate(tensors))
    value, push = torch.func.linearize(call.function, *tensors)
    expected, tangent = torch.func.jvp(call.function, tensors, tangents)
    assert torch.equal(value, expected) and torch.allclose(push(*tangents), tangent)


def test_dual_numbers():
    forward = torch.autograd.forward_ad
    with forward.dual_level(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = forward.make_dual(torch.arange(4.0), torch.tensor([1.0, 2.0, 3.0, 4.0]))
        assert forward.unpack_dual(gs.take(x, INDEX)).tangent.tolist() == [3, 1, 3]
        written = gs.scatter(torch.zeros(4), 0, INDEX, x[:3], reduce="add")
        assert forward.unpack_dual(written).tangent.tolist() == [2, 0, 4, 0]
        assert gs.take(torch.arange(4.0), INDEX).tolist() == [2, 0, 2]
