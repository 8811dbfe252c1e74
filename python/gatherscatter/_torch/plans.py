"""plans.py: runs the calls of plans that torch has to know of. The extension module calls `run` for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.of_torch import without_modes
from gatherscatter._ops.keywords import Duplicates, Reduce
from gatherscatter._torch import torch
from gatherscatter._torch.route import is_strided, route

__all__ = ["run"]

_Array = tuple[str, tuple[int, ...]]  # name of the dtype, shape


class _Facts(NamedTuple):
    """What a plan was made for, in the words of `route`."""

    op: str
    planner: str
    axis: int | None
    batch_dims: int
    rule: tuple[str, str, str]  # match, bounds, negative
    scatters: bool
    combine: tuple[str | None, bool, str]  # reduce, include_self, duplicates
    fill: Any
    arrays: dict[str, _Array | None]  # by their names in messages
    indices: tuple[_Array, ...]


class _Call(NamedTuple):
    """What `route` needs of a call: its run, which then finds no gradient to record."""

    run: Callable[[], Any]


@functools.lru_cache(maxsize=64)
def _facts_of(plan: _core.Plan) -> _Facts:
    state, texts = plan.__reduce__()[1][0], plan.to_dict()

    def array(text: str, signature: dict[str, Any]) -> _Array:
        return text.split(" (")[0], tuple(signature["shape"])

    scatters = state["direction"] == "scatter"
    bounds = "drop" if scatters and state["bounds"] == "fill" else state["bounds"]
    reduce = None if state["reduce"] == "set" else state["reduce"]
    arrays = {
        name: None if state[key] is None else array(texts[key], state[key])
        for name, key in (("input", "input"), ("src", "src"), ("mask", "mask"))
    }
    return _Facts(
        state["op"],
        "coordinates" if state["coordinates"] else state["planner"],
        state["axis"],
        state["batch_dims"],
        (state["match"], bounds, state["negative"]),
        scatters,
        (reduce, state["include_self"], state["duplicates"]),
        state["fill_value"],
        arrays,
        tuple(map(array, texts["indices"], state["indices"])),
    )


def run(
    plan: _core.Plan,
    input: Any,
    indices: Any,
    source: Any,
    mask: Any,
    out: Any,
    words: tuple[Reduce | None, bool, Duplicates] | None,
) -> Any:
    """Run a plan on tensors with derivatives, lazy bits or no memory of their own; NotImplemented as in `route`.

    `words` are reduce, include_self and duplicates of ``Plan.scatter``, and None in a call of the plan.
    """
    arrays = (input, *(indices if isinstance(indices, tuple) else (indices,)), source, mask)
    if any(isinstance(each, torch.Tensor) and not is_strided(each) for each in arrays):
        return NotImplemented  # `_core` says which one has no plain memory, and what to do
    facts = _facts_of(plan)
    op, (match, bounds, negative) = facts.op, facts.rule
    own_indices = indices if facts.planner == "at_points" else () if facts.planner == "elementwise" else (indices,)
    _check(op, "input", facts.arrays["input"], input)
    if len(own_indices) != len(facts.indices):
        raise ValueError(f"{op}: the plan was made for {len(facts.indices)} index arrays, got {len(own_indices)}")
    for planned, given in zip(facts.indices, own_indices, strict=True):
        _check(op, "index", planned, given)
    if words is None:
        _check(op, "src", facts.arrays["src"], source)
        _check(op, "mask", facts.arrays["mask"], mask)
        made = _Call(lambda: plan(input, indices, source, mask=mask, out=out))
        scatters, combine, fill = facts.scatters, facts.combine, _fill_for(facts.fill, input)
    else:
        made = _Call(lambda: plan.scatter(input, indices, source, *words, mask, out))
        op = op if facts.scatters else "Plan.scatter"
        scatters, combine, fill = True, words, None
        bounds = "drop" if bounds == "fill" else bounds
    index = None if facts.planner == "elementwise" else indices
    return route(
        made, op, facts.planner, input, index, facts.axis, facts.batch_dims, match, bounds, negative, scatters,
        *combine, fill, mask, source, out,
    )  # fmt: skip


def _check(op: str, what: str, planned: _Array | None, given: Any) -> None:
    """Raise the error of a plan for an array of another shape or dtype; the run of the plan compares strides too."""
    if given is not None and not isinstance(given, torch.Tensor | np.ndarray):
        return
    found = None if given is None else (str(given.dtype).removeprefix("torch."), tuple(given.shape))
    if found != planned:
        expected, got = (_text(each) for each in (planned, found))
        raise ValueError(f"{op}: the plan was made for {what} {expected}, not for {got}")


def _text(array: _Array | None) -> str:
    return "none" if array is None else f"{array[0]} {array[1]}"


def _fill_for(fill: Any, input: Any) -> Any:
    """The fill value of a plan, which has its bytes, as a tensor."""
    if fill is None or not isinstance(input, torch.Tensor):
        return None
    with without_modes():
        if not fill.size:
            return torch.empty(fill.shape, dtype=input.dtype)
        return torch.frombuffer(bytearray(fill.tobytes()), dtype=input.dtype).reshape(fill.shape)
