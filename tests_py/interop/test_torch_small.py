"""test_torch_small.py: small calls that torch's own functions record, beside the same calls recorded by ours."""

from __future__ import annotations

import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")

OURS = {"_GatherBackward", "_ScatterBackward"}


def generator():
    return torch.Generator().manual_seed(2)


def random(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape) + 1))


def derivatives(function, *tensors):
    """The result, the gradients of a weighted sum of its squares, and the gradients of these; who recorded the call."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    result = function(*leaves)
    weights = torch.linspace(1, 2, result.numel(), dtype=result.dtype).reshape(result.shape)
    first = torch.autograd.grad((result * result * weights).sum(), leaves, create_graph=True)
    second = torch.autograd.grad(sum((one * one * one).sum() for one in first), leaves)
    return (result, *first, *second), type(result.grad_fn).__name__


@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_gradients_of_small_gathers_are_those_of_large_ones(axis):
    """Small gathers run by functions of torch, and large ones by ours."""
    x, generator = random(40, 7), torch.Generator().manual_seed(2)
    size = x.numel() if axis is None else x.shape[axis]
    for count in (16, 5000):
        index = torch.randint(0, size, (count,), generator=generator)
        leaves = [x.clone().requires_grad_() for _ in range(2)]
        results = [gs.take(leaves[0], index, axis=axis), gs.take(leaves[1], index - size, axis=axis)]
        weights = torch.randn(results[0].shape, dtype=x.dtype, generator=generator)
        for result in results:
            result.backward(weights)
        assert torch.equal(*results) and torch.equal(leaves[0].grad, leaves[1].grad)
        names = [type(result.grad_fn).__name__ for result in results]
        assert names[1] == "_GatherBackward" and (names[0] == names[1]) == (count == 5000)
    along = index[: 7 * 30].reshape(30, 7) % 40
    for call in (gs.gather, lambda x, axis, index: gs.take_along_axis(x, index, axis)):
        grads = []
        for shift in (0, 40):
            leaf = x.clone().requires_grad_()
            call(leaf, 0, along - shift).square().sum().backward()
            grads.append(leaf.grad)
        assert torch.equal(*grads)


@pytest.mark.parametrize("is_slices", [False, True])
def test_small_sums_have_the_bytes_of_large_ones(is_slices):
    x, generator = random(40, 7).float(), torch.Generator().manual_seed(2)
    index = torch.randint(0, 40, (100,) if is_slices else (100, 7), generator=generator)
    source = torch.randn(100, 7, generator=generator)
    found = []
    for shift in (0, 40):  # torch does not take negative indices
        leaves = [tensor.clone().requires_grad_() for tensor in (x, source)]
        words = {"axis": 0} if is_slices else {"dim": 0}
        result = gs.scatter(
            leaves[0], **words, **{"indices" if is_slices else "index": index - shift}, src=leaves[1], reduce="add"
        )
        (result * result).sum().backward()
        found.append([result, leaves[0].grad, leaves[1].grad])
        assert (type(result.grad_fn).__name__ == "_ScatterBackward") == (shift == 40)
    assert all(map(torch.equal, *found))
    for wrong in (index + 40, index[:0, None, None]):
        with pytest.raises((gs.OutOfBoundsError, ValueError)):
            gs.scatter(leaves[0], **words, **{"indices" if is_slices else "index": wrong}, src=leaves[1], reduce="add")


# Points in a tensor of shape (40, 7), of which some repeat, and those of one call that torch does not take: a negative
# coordinate, whose call is recorded by ours.
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("count", [1, 16, 500])
def test_small_gathers_of_points_have_the_gradients_of_large_ones(depth, count):
    points = torch.stack([torch.randint(0, size, (count,), generator=generator()) for size in (40, 7)[:depth]], 1)
    x, shift = random(40, 7), torch.tensor([40, 7][:depth])
    small, by_torch = derivatives(lambda x: gs.gather_nd(x, points), x)
    large, by_us = derivatives(lambda x: gs.gather_nd(x, points - shift), x)
    assert (by_torch, by_us) == ("IndexBackward0", "_GatherBackward")
    assert all(map(torch.equal, small, large))


@pytest.mark.parametrize(
    "points",
    [
        torch.zeros(2, 3, 2, dtype=torch.int64),  # more than one list
        torch.zeros(3, 2, dtype=torch.int32),
        torch.zeros(2, 3, dtype=torch.int64).T,  # not contiguous
        torch.zeros(3, 0, dtype=torch.int64),  # the whole tensor for each point
        torch.zeros(0, 2, dtype=torch.int64),
        torch.zeros(1024, 1, dtype=torch.int64),  # more than 16 Ki values
    ],
)
def test_gathers_of_points_that_torch_would_not_record_alike(points):
    (result, first, _), name = derivatives(lambda x: gs.gather_nd(x, points), random(3, 20))
    assert name == "_GatherBackward"
    assert result.shape == points.shape[:-1] + (3, 20)[points.shape[-1] :] and first.shape == (3, 20)


def test_a_view_is_gathered_into_a_contiguous_tensor():
    (result, *_), _ = derivatives(lambda x: gs.gather_nd(x.T, torch.tensor([[0], [2]])), random(3, 5))
    assert result.is_contiguous() and torch.equal(result, random(3, 5).T[[0, 2]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("form", ["elements", "elements of a line", "rows", "columns"])
def test_small_scatters_that_write_no_element_twice(form, dtype):
    x = random(40, dtype=dtype) if form == "elements of a line" else random(40, 7, dtype=dtype)
    axis = 1 if form == "columns" else 0
    order = torch.randperm(x.shape[axis], generator=generator())[:5]
    if form == "elements":
        order = torch.stack([torch.randperm(40, generator=generator())[:5] for _ in range(7)], 1)
    source = random(40, 5, dtype=dtype) if form == "columns" else random(5, *x.shape[1:], dtype=dtype)

    def call(index):
        if form.startswith("elements"):
            return lambda x, source: gs.scatter(x, axis, index, source)
        return lambda x, source: gs.scatter(x, index, source, axis=axis)

    small, by_torch = derivatives(call(order), x, source)
    large, by_us = derivatives(call(order - x.shape[axis]), x, source)
    # torch changes the bytes of a NaN of a narrower type
    assert by_us == "_ScatterBackward" and (by_torch == "ScatterBackward0") == (dtype != torch.float16)
    assert all(map(torch.equal, small, large))
    repeats = order.clone()
    repeats[-1] = repeats[0]
    result, name = derivatives(call(repeats), x, source)
    others, _ = derivatives(call(repeats - x.shape[axis]), x, source)
    assert name == "_ScatterBackward" and all(map(torch.equal, result, others))
    lost = result[2].select(axis, 0)
    assert not lost.any(), "the value that was overwritten has a gradient"


@pytest.mark.parametrize("records", ["target", "source"])
def test_one_side_of_a_small_scatter_records(records):
    target, source, order = random(9), random(4), torch.tensor([8, 0, 3, 5])
    (target if records == "target" else source).requires_grad_()
    result = gs.scatter(target, 0, order, source)
    assert type(result.grad_fn).__name__ not in OURS
    result.sum().backward()
    gradient = target.grad if records == "target" else source.grad
    expected = torch.ones(9).index_fill(0, order, 0) if records == "target" else torch.ones(4)
    assert torch.equal(gradient, expected.double())


def test_errors_of_small_calls_are_ours():
    x, source = random(4, 3).requires_grad_(), random(2, 3)
    for wrong in (4, -5, 1 << 40):
        index = torch.tensor([1, wrong])
        with pytest.raises(gs.OutOfBoundsError, match=f"{wrong}"):
            gs.scatter(x, index, source)
        with pytest.raises(gs.OutOfBoundsError, match=f"{wrong}"):
            gs.gather_nd(x, index[:, None])
        with pytest.raises(gs.OutOfBoundsError, match=f"{wrong}"):
            gs.scatter(x[:, 0], 0, index, source[:, 0])
    for call in (
        lambda: gs.gather_nd(x, torch.zeros(2, 3, dtype=torch.int64)),
        lambda: gs.scatter(x, torch.tensor([0, 1]), source[:, :2]),
        lambda: gs.scatter(x, torch.tensor([0, 1]), source, axis=2),
        lambda: gs.scatter(x, torch.tensor([0, 1]), source.float()),
    ):
        with pytest.raises((ValueError, TypeError), match=r"scatter|gather_nd"):
            call()


def test_what_was_made_in_inference_mode_takes_part_in_small_calls():
    with torch.inference_mode():
        order, source = torch.tensor([2, 0]), random(2)
    x = random(4).requires_grad_()
    gs.scatter(x, 0, order, source).sum().backward()
    assert torch.equal(x.grad, torch.tensor([0.0, 1, 0, 1], dtype=torch.float64))
    gs.gather_nd(x, order[:, None]).sum().backward()
    assert torch.equal(x.grad, torch.tensor([1.0, 1, 1, 1], dtype=torch.float64))


@pytest.mark.parametrize("words", [{}, {"reduce": "add"}])
@pytest.mark.parametrize("records", ["target", "source"])
def test_a_broadcast_index_writes_all_rows(records, words):
    """A plan of take_along_axis is one of a scatter, too; torch's scatter does not broadcast."""
    x, index, source = random(3, 4), torch.tensor([[1]]), random(1, 1)
    plan = gs.plan(gs.take_along_axis, x, index, 1)
    expected = plan.scatter(x, index, source, **words)
    (x if records == "target" else source).requires_grad_()
    result = plan.scatter(x, index, source, **words)
    assert torch.equal(result, expected) and not torch.equal(result[2], x[2])
    result.sum().backward()
    if records == "source":
        assert source.grad.item() == 3
    else:
        assert x.grad.sum() == (12 if words else 9)


def test_narrow_values_that_broadcast_are_not_written_in_part():
    x, source = random(4, 3).requires_grad_(), random(2, 1)
    for spelled in (lambda i: gs.scatter(x, i, source), lambda i: gs.scatter(x, indices=i, src=source, axis=0)):
        result = spelled(torch.tensor([2, 0]))
        assert torch.equal(result, x.index_copy(0, torch.tensor([2, 0]), source.expand(2, 3)))


CALLS = {
    "points": lambda x, i: gs.gather_nd(x, i[:, None]),
    "rows": lambda x, i: gs.take(x, i, axis=0),
    "rows written": lambda x, i: gs.scatter(x, i, torch.ones(3, 4)),
    "columns written by keywords": lambda x, i: gs.scatter(x, indices=i, src=torch.ones(6, 3), axis=1),
    "elements written": lambda x, i: gs.scatter(x, 0, i[:, None], torch.ones(3, 1)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_checkpoints_and_hooks(call):
    """A checkpoint ends its recomputation by an exception, which a hook of the last saved tensor raises."""
    x, index = torch.randn(6, 4, generator=generator()).requires_grad_(), torch.tensor([0, 3, 2])
    call(x, index).square().sum().backward()
    expected, x.grad = x.grad, None
    result = torch.utils.checkpoint.checkpoint(call, x, index, use_reentrant=False)
    result.square().sum().backward()
    assert torch.equal(x.grad, expected)

    asked = []

    class Refused(Exception):
        pass

    def pack(tensor):
        asked.append(tensor)
        raise Refused

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), pytest.raises(Refused):
        call(x, index)
    assert len(asked) == 1


@pytest.mark.parametrize("by_keyword", [False, True])
def test_written_values_may_change_before_the_backward_pass(by_keyword):
    for x, source in ((random(4, 3), random(2, 3)), (random(4), random(2))):
        source.requires_grad_()
        index = torch.tensor([2, 0])
        result = gs.scatter(x, indices=index, src=source, axis=0) if by_keyword else gs.scatter(x, index, source)
        with torch.no_grad():
            source.mul_(2)
        result.sum().backward()
        assert torch.equal(source.grad, torch.ones_like(source))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("by_keyword", [False, True])
def test_the_bytes_of_a_nan_are_kept(dtype, by_keyword):
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    infinity = torch.tensor(float("inf"), dtype=dtype).view(kind).item()
    nans = torch.tensor([infinity + 1, infinity + 3, infinity + 2], dtype=kind).view(dtype)
    order = torch.tensor([0, 2])
    x = torch.cat([nans, nans]).requires_grad_()
    result = gs.scatter(x, dim=0, index=order, src=nans[:2]) if by_keyword else gs.scatter(x, 0, order, nans[:2])
    expected = gs.scatter(x.detach(), 0, order, nans[:2])
    assert torch.equal(result.detach().view(kind), expected.view(kind))


def test_no_operand_lies_on_the_meta_device_alone():
    index, source = torch.tensor([1, 2]), random(2, 3)
    for x in (random(4, 3), random(4, 3).requires_grad_()):
        for call, role in (
            (lambda x: gs.scatter(x, index, source.to("meta")), "src"),
            (lambda x: gs.scatter(x, index.to("meta"), source), "index"),
            (lambda x: gs.take(x, index.to("meta"), axis=0), "index"),
            (lambda x: gs.gather(x, 0, index[:, None], mask=torch.ones(2, 1, dtype=bool, device="meta")), "mask"),
        ):
            with pytest.raises(TypeError, match=rf"^\w+: {role} is on the meta device.* input is on cpu"):
                call(x)


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_trace_records_the_operator(call):
    """Not the functions of torch that run a small call, whose rules differ for a negative or repeated index."""
    x, index = random(6, 4).float().requires_grad_(), torch.tensor([0, 3, 2])
    traced = torch.jit.trace(call, (x, index), check_trace=False)
    assert "gatherscatter::" in str(traced.graph) and "aten::scatter" not in str(traced.graph)
    for other in (index, torch.tensor([-1, 0, -1])):
        assert torch.equal(traced(x * 2, other), call(x * 2, other))
    with pytest.raises(RuntimeError, match="9 is out of bounds"):
        traced(x, torch.tensor([0, 9, 2]))
