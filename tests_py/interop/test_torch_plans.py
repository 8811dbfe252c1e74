"""test_torch_plans.py: plans called with tensors that have derivatives, beside the operators that were planned."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about its own compilation of decompositions

ROWS, ALONG = torch.tensor([2, 0, 2, 1]), torch.tensor([[0, 2, 1], [2, 2, 0]])
BATCH = torch.tensor([[0, 1], [1, 1], [2, 0], [0, 0]])
WILD = torch.tensor([[0, -9, 1], [2, 7, 0]])
MASK = torch.tensor([[True, False, True], [True, True, False]])
TRUTH = np.arange(12).reshape(4, 3) % 3 != 1

# The operator, its arguments after the tensor of shape (4, 3), its keywords; the mask and indices of the plan's call.
GATHERS = {
    "dim": (gs.gather, (0, ALONG), {}, ALONG),
    "dim with a mask": (gs.gather, (0, WILD), {"mask": MASK, "fill_value": 2.5, "bounds": "fill"}, WILD),
    "slices": (gs.gather, (ROWS,), {"axis": 0}, ROWS),
    "slices with a batch": (gs.gather, (BATCH,), {"axis": 1, "batch_dims": 1}, BATCH),
    "take flat": (gs.take, (ALONG * 5,), {}, ALONG * 5),
    "take clip": (gs.take, (WILD,), {"axis": 1, "mode": "clip"}, WILD),
    "take_along_axis": (gs.take_along_axis, (ALONG, 0), {}, ALONG),
    "gather_nd": (gs.gather_nd, (ALONG[:, :2],), {}, ALONG[:, :2]),
    "tile_gather": (gs.tile_gather, ((WILD, torch.arange(3)),), {"padding_value": -1.0}, (WILD, torch.arange(3))),
    "repeat": (gs.repeat, ([2, 0, 1, 1],), {"axis": 0}, torch.tensor([0, 0, 2, 3], dtype=torch.uint8)),
    "a list": (gs.take, ([2, 0, -1],), {"axis": 0}, [1, 1, 3]),
}
SCATTERS = {
    "dim": (gs.scatter, (0, ALONG, torch.ones(2, 3)), {}, ALONG, (2, 3)),
    "dim mean": (gs.scatter, (0, ALONG, torch.ones(2, 3)), {"reduce": "mean"}, ALONG, (2, 3)),
    "dim max": (gs.scatter, (0, ALONG, torch.ones(2, 3)), {"reduce": "max"}, ALONG, (2, 3)),
    "drop": (gs.scatter, (0, WILD, torch.ones(2, 3)), {"reduce": "add", "bounds": "drop"}, WILD, (2, 3)),
    "slices first": (gs.scatter, (ROWS, torch.ones(4, 3)), {"duplicates": "first"}, ROWS, (4, 3)),
    "scatter_nd": (gs.scatter_nd, (ALONG[:, :2], torch.ones(2)), {"reduce": "mul"}, ALONG[:, :2], (2,)),
    "put": (gs.put, (ROWS, torch.ones(4)), {}, ROWS, (4,)),
}


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape) + 1))


def derivatives(function, *tensors):
    """Result, gradients, second derivatives along a direction, the tangent, and the results of a batch."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    result = function(*leaves)
    weights = torch.linspace(1, 2, result.numel(), dtype=result.dtype).reshape(result.shape)
    first = torch.autograd.grad((result * result * weights).sum(), leaves, create_graph=True)
    second = torch.autograd.grad(sum((one * one).sum() for one in first), leaves)
    tangents = tuple(torch.ones_like(tensor) for tensor in tensors)
    _, tangent = torch.func.jvp(function, tensors, tangents)
    batch = torch.func.vmap(function)(*(torch.stack([tensor, tensor * 2]) for tensor in tensors))
    return [result, *first, *second, tangent, batch]


def agree(found, expected):
    assert len(found) == len(expected) and all(map(torch.equal, found, expected))


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("name", GATHERS)
def test_plans_of_gathers(name, pickled):
    op, arguments, keywords, indices = GATHERS[name]
    x = random(4, 3)
    plan = gs.plan(op, x.clone().requires_grad_(), *arguments, **keywords)
    plan = pickle.loads(pickle.dumps(plan)) if pickled else plan
    given = {"mask": keywords["mask"]} if "mask" in keywords else {}
    if name == "a list":
        arguments = ([1, 1, 3],)
    agree(derivatives(lambda x: plan(x, indices, **given), x), derivatives(lambda x: op(x, *arguments, **keywords), x))


@pytest.mark.parametrize("name", SCATTERS)
def test_plans_of_scatters(name):
    op, arguments, keywords, indices, shape = SCATTERS[name]

    def planned_op(x, s):
        if op is not gs.put:
            return op(x, *arguments[:-1], s, **keywords)
        target = x * 1
        op(target, *arguments[:-1], s)
        return target

    x, s = random(4, 3), random(*shape)
    plan = gs.plan(op, x, *arguments[:-1], s.clone().requires_grad_(), **keywords)
    agree(derivatives(lambda x, s: plan(x, indices, s), x, s), derivatives(planned_op, x, s))


def test_a_plan_of_a_mask():
    x, s = random(4, 3), random(4, 3)
    plan = gs.plan(gs.putmask, x, TRUTH, s)
    mask = torch.from_numpy(TRUTH)
    agree(
        derivatives(lambda x, s: plan(x, (), s, mask=mask), x, s),
        derivatives(lambda x, s: torch.where(mask, s, x), x, s),
    )


@pytest.mark.parametrize("words", [{}, {"reduce": "add"}, {"reduce": "amax", "include_self": False}, {"reduce": "sum"}])
def test_plans_the_other_way(words):
    x, s = random(4, 3), random(2, 3)
    plan = gs.plan(gs.gather, x, 0, ALONG)
    agree(
        derivatives(lambda x, s: plan.scatter(x, ALONG, s, **words), x, s),
        derivatives(lambda x, s: gs.scatter(x, 0, ALONG, s, **words), x, s),
    )


def test_another_geometry_is_an_error_with_and_without_values():
    x = random(4, 3).requires_grad_()
    plan = gs.plan(gs.gather, x, 0, ALONG)
    wrong = {
        "input float64": (random(5, 3).requires_grad_(), ALONG),
        "input float": (x.float(), ALONG),
        "index int64": (x, ALONG[:1]),
        "index int": (x, ALONG.int()),
    }
    for words, arguments in wrong.items():
        for call in (plan, lambda x, i: plan.scatter(x, i, 1.0), lambda x, i: plan(x.to("meta"), i.to("meta"))):
            with pytest.raises(ValueError, match=f"the plan was made for {words}"):
                call(*arguments)
    with pytest.raises(ValueError, match="the plan was made for mask none, not for bool"):
        plan(x, ALONG, mask=MASK)
    with pytest.raises(ValueError, match="with strides"):
        plan(random(3, 4).T.requires_grad_(), ALONG)
    with pytest.raises(gs.OutOfBoundsError):
        plan(x, WILD)
    assert plan(x.to("meta"), ALONG.to("meta")).shape == ALONG.shape


def test_a_fill_value_that_requires_grad_is_no_part_of_a_plan():
    fill = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        gs.plan(gs.gather, torch.zeros(3), 0, torch.tensor([9]), bounds="fill", fill_value=fill)


def test_a_plan_with_a_mask_asks_for_one_the_other_way_too():
    index, mask, values = torch.tensor([2, 0]), torch.tensor([True, False]), torch.ones(2, 2, requires_grad=True)
    plan = gs.plan(gs.gather, torch.zeros(3, 2), index, axis=0, mask=mask)
    for given in (values, values.detach()):
        with pytest.raises(ValueError, match="made for mask bool"):
            plan.scatter(torch.zeros(3, 2), index, given, reduce="add")
        result = plan.scatter(torch.zeros(3, 2), index, given, mask=mask, reduce="add")
        assert result.tolist() == [[0, 0], [0, 0], [1, 1]]
