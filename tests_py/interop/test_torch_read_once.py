"""test_torch_read_once.py: an array that is no tensor is read once, for the forward and the backward pass.

A thread that writes to it is played by the rule of the gradient, which writes before the values move.
"""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")
functions = pytest.importorskip("gatherscatter._torch.functions")

CALLS = {
    "take": lambda x, i, s: gs.take(x, i, axis=0),
    "gather": lambda x, i, s: gs.gather(x, 0, i),
    "gather_nd": lambda x, i, s: gs.gather_nd(x, i[:, None]),
    "gather with bounds": lambda x, i, s: gs.gather(x, i, axis=0, bounds="fill"),
    "scatter": lambda x, i, s: gs.scatter(x, i, s, axis=0),
    "scatter add": lambda x, i, s: gs.scatter(x, i, s, axis=0, reduce="add"),
    "scatter max": lambda x, i, s: gs.scatter(x, i, s, axis=0, reduce="max"),
    "plan of a gather": lambda x, i, s: gs.plan(gs.take, x.detach(), i, axis=0)(x, i),
    "plan of a scatter": lambda x, i, s: gs.plan(gs.scatter, x.detach(), i, s.detach(), axis=0)(x, i, s),
}
LAYOUTS = {
    "contiguous": lambda i: i,
    "every second": lambda i: np.repeat(i, 2)[::2],
    "reversed": lambda i: i[::-1].copy()[::-1],
    "other byte order": lambda i: i.astype(i.dtype.newbyteorder()),
}


# Plans take arrays of the byte order of the machine.
CASES = [(name, layout) for name in CALLS for layout in LAYOUTS if "plan" not in name or "order" not in layout]


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_both_passes_have_the_index_of_one_moment(name, layout, monkeypatch):
    """The index changes after the call has read it, before its values move."""
    base = LAYOUTS[layout](np.array([6, 1, 4], np.int64))
    old = np.array(base)
    x, s = torch.rand(8, 3, dtype=torch.float64).requires_grad_(), torch.rand(3, 3, dtype=torch.float64)
    if name == "gather":
        base, old = (np.repeat(each[:, None], 3, 1) for each in (base, old))
    s.requires_grad_()
    w = torch.rand(3 if "gather" in name or "take" in name else 8, 3, dtype=torch.float64)

    def results(index, change):
        with monkeypatch.context() as patched:
            for rule in (functions._Gather, functions._Scatter):
                forward = rule.forward

                def changed(ctx, *arguments, forward=forward):
                    if change:
                        index[...] = 0
                    return forward(ctx, *arguments)

                patched.setattr(rule, "forward", staticmethod(changed))
            result = CALLS[name](x, index, s)
        return result, torch.autograd.grad(result, [x, s], w, allow_unused=True)

    expected, expected_gradients = results(old, False)
    result, gradients = results(base, True)
    assert not base.any() and torch.equal(result, expected)
    for own, other in zip(gradients, expected_gradients, strict=True):
        assert (own is None and other is None) or torch.equal(own, other)


def test_a_mask_and_values_of_numpy_are_read_once(monkeypatch):
    x, values = torch.rand(8).requires_grad_(), np.full(3, 2.0, np.float32)
    mask, index = np.array([True, False, True]), torch.tensor([6, 1, 4], dtype=torch.int32)
    forward = functions._Scatter.forward

    def changed(ctx, *arguments):
        values[:], mask[:] = 7.0, False
        return forward(ctx, *arguments)

    monkeypatch.setattr(functions._Scatter, "forward", staticmethod(changed))
    result = gs.scatter(x, index, values, axis=0, reduce="max", mask=mask)
    assert result[6] == result[4] == 2 and result[1] == x[1]
    (gradient,) = torch.autograd.grad(result.sum(), x)
    assert gradient.tolist() == [1, 1, 1, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("has_plan", [False, True])
def test_the_padding_of_an_embedding_is_that_of_the_rows(has_plan, monkeypatch):
    module = pytest.importorskip("gatherscatter.torch")
    table, ids = module.Embedding(5, 2, padding_idx=3), np.array([3, 1, 3])
    plan = table.plan(ids) if has_plan else None
    forward = functions._Gather.forward

    def changed(ctx, *arguments):
        ids[:] = 1
        return forward(ctx, *arguments)

    monkeypatch.setattr(functions._Gather, "forward", staticmethod(changed))
    table(ids, plan).sum().backward()
    assert table.weight.grad[:, 0].tolist() == [0, 1, 0, 0, 0]


def test_the_strides_of_a_plan_are_still_compared():
    x, i = torch.rand(8, 3, requires_grad=True), np.array([6, 1, 4])
    plan = gs.plan(gs.take, x.detach(), i, axis=0)
    with pytest.raises(ValueError, match="plan was made for"):
        plan(x, np.repeat(i, 2)[::2])
