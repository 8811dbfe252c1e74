"""plans.py: runs the calls of plans that torch has to know of. The extension module calls `run` for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.of_torch import without_modes
from gatherscatter._moves.request import Request
from gatherscatter._ops.keywords import Duplicates, Reduce
from gatherscatter._torch import torch
from gatherscatter._torch.route import is_strided, route

__all__ = ["private_copy", "run"]

_Array = tuple[str, tuple[int, ...]]  # name of the dtype, shape


class _Facts(NamedTuple):
    """What a plan was made for."""

    words: Request  # with the fill value and without arrays
    arrays: dict[str, _Array | None]  # by their names in messages
    indices: tuple[_Array, ...]


class _Call(NamedTuple):
    """What `route` needs of a call: its parts, and its run, which then finds no gradient to record."""

    given: Request
    run: Callable[[], Any]

    def parts(self) -> Request:
        return self.given


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
    words = Request(
        op=state["op"],
        planner="coordinates" if state["coordinates"] else state["planner"],
        axis=state["axis"],
        batch_dims=state["batch_dims"],
        match=state["match"],
        bounds=bounds,
        negative=state["negative"],
        scatters=scatters,
        reduce=reduce,
        include_self=state["include_self"],
        duplicates=state["duplicates"],
        fill=state["fill_value"],
        **dict.fromkeys(("input", "index", "mask", "source", "out")),
    )
    return _Facts(words, arrays, tuple(map(array, texts["indices"], state["indices"])))


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
    indices = tuple(map(private_copy, indices)) if isinstance(indices, tuple) else private_copy(indices)
    source, mask = private_copy(source), private_copy(mask)
    facts = _facts_of(plan)
    planned_for, op = facts.words, facts.words.op
    read = planned_for._replace(
        input=input, index=None if planned_for.planner == "elementwise" else indices, mask=mask, source=source, out=out
    )
    _check(op, "input", facts.arrays["input"], input)
    if len(read.indices) != len(facts.indices):
        raise ValueError(f"{op}: the plan was made for {len(facts.indices)} index arrays, got {len(read.indices)}")
    for planned, given in zip(facts.indices, read.indices, strict=True):
        _check(op, "index", planned, given)
    if words is None:
        _check(op, "src", facts.arrays["src"], source)
        _check(op, "mask", facts.arrays["mask"], mask)
        read = read._replace(fill=_fill_for(planned_for.fill, input))
        return route(_Call(read, lambda: plan(input, indices, source, mask=mask, out=out)), True)
    if mask is None:
        _check(op, "mask", facts.arrays["mask"], mask)
    reduce, include_self, duplicates = words
    read = read._replace(
        op=op if planned_for.scatters else "Plan.scatter",
        bounds="drop" if planned_for.bounds == "fill" else planned_for.bounds,
        scatters=True,
        reduce=reduce,
        include_self=include_self,
        duplicates=duplicates,
        fill=None,
    )
    return route(_Call(read, lambda: plan.scatter(input, indices, source, *words, mask, out)), True)


def private_copy(given: Any) -> Any:
    """An array of NumPy as a copy with the same strides; every other argument as it is.

    The backward pass has a copy, too, and another thread may write to the array between the two.
    """
    if type(given) is not np.ndarray or given.size == 0:
        return given
    steps = [(extent - 1) * stride for extent, stride in zip(given.shape, given.strides, strict=True)]
    before, after = -sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
    memory = np.empty(before + after + given.itemsize, np.uint8)
    copy: np.ndarray[Any, Any] = np.ndarray(given.shape, given.dtype, memory, before, given.strides)
    copy[...] = given
    return copy


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
