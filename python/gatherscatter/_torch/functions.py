"""functions.py: gather, accumulate and scatter as functions of torch.autograd and torch.func."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from gatherscatter import _core
from gatherscatter._moves.batching import batched_accumulate, batched_gather, batched_scatter
from gatherscatter._moves.geometry import Combine, Move, Shape
from gatherscatter._moves.rules import Primitives, ScatterRule, gradient_of_fill
from gatherscatter._torch import arrays, torch
from gatherscatter._torch.block_rule import BlockRule
from gatherscatter._torch.moves import accumulate_plain, gather_plain, scatter_plain

__all__ = [
    "MOVES",
    "accumulate",
    "gather",
    "gather_eagerly",
    "is_eager",
    "is_traced",
    "scatter",
    "scatter_eagerly",
]

_Function: Any = torch.autograd.Function
_forward_ad = torch.autograd.forward_ad
_mode_count = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_trace = torch._C._get_tracing_state  # of torch.jit.trace, which cannot record a Function of Python
_transforms_active = torch._C._are_functorch_transforms_active
_no_dispatch = torch._C._disabled_torch_dispatch_impl
_functorch = torch._C._functorch
_JVP, _FUNCTIONALIZE = _functorch.TransformType.Jvp, _functorch.TransformType.Functionalize
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_Rule = TypeVar("_Rule", bound=ScatterRule)


def is_traced(*tensors: Any) -> bool:
    """Whether the operation itself has to be recorded: by a mode or a trace, or for a fake, meta or wrapped tensor."""
    if _mode_count() or _is_functionalized() or _trace() is not None:
        return True
    for tensor in tensors:
        if tensor is None:
            continue
        if type(tensor) not in _PLAIN and type(tensor).__torch_dispatch__ is not _no_dispatch:
            return True
        if tensor.is_meta:
            return True
    return False


def _is_functionalized() -> bool:
    return bool(_transforms_active() and _functorch.peek_interpreter_stack().key() == _FUNCTIONALIZE)


def _in_transform() -> bool:
    """Whether a transform calls the rules of a Function; `functionalize` takes the operators of a graph instead."""
    return bool(_transforms_active() and not _is_functionalized())


def _in_forward_mode() -> bool:
    """Whether tensors may have tangents, for which operators of a graph have no rule; in a rule they have none."""
    return bool(_forward_ad._current_level >= 0 and torch._C._is_fwd_grad_enabled())


def _jvp_depth() -> int:
    """How many forward-mode transforms are active."""
    return sum(each.key() == _JVP for each in _functorch.get_interpreter_stack() or ())


def _has_derivative(*tensors: Any) -> bool:
    if _forward_ad._current_level >= 0:
        return True
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def gather(move: Move, input: Any, indices: Sequence[Any], mask: Any = None, fill: Any = None, run: Any = None) -> Any:
    """The gather of any tensors. `run` runs the call that was made of these tensors, if they are plain memory."""
    if _in_transform():
        return _GatherInTransform.apply(move, input, mask, fill, *indices)
    if is_traced(input, mask, fill, *indices):
        if not _in_forward_mode():
            return torch.ops.gatherscatter.gather(input, list(indices), mask, fill, *move)
        run = None
    if _has_derivative(input, fill):
        return _Gather.apply(run, move, input, mask, fill, *indices)
    return gather_plain(move, input, indices, mask, fill)


def accumulate(move: Move, values: Any, indices: Sequence[Any], mask: Any, shape: Shape) -> Any:
    """The sums of the values of a gather at the elements that it read: the adjoint of the gather."""
    if _in_transform():
        return _AccumulateInTransform.apply(move, shape, values, mask, *indices)
    if is_traced(values, mask, *indices) and not _in_forward_mode():
        return torch.ops.gatherscatter.accumulate(values, list(indices), mask, list(shape), *move)
    if _has_derivative(values):
        return _Accumulate.apply(move, shape, values, mask, *indices)
    return accumulate_plain(move, values, indices, mask, shape)


def scatter(
    move: Move, combine: Combine, input: Any, indices: Sequence[Any], source: Any, mask: Any = None, run: Any = None
) -> Any:
    """The scatter of any tensors, into a new one. `run` as in `gather`."""
    if _in_transform():
        if ScatterRule.needs_values(combine) and _jvp_depth() > 1:
            raise RuntimeError(
                f"{move.op}: reduce={combine.reduce!r} has no derivative by forward over forward mode (such as jvp of "
                "jvp), because torch gives the rule of the inner one no tangents; use torch.func.hessian, or jacrev"
            )
        return _ScatterInTransform.apply(move, combine, input, source, mask, *indices)
    if is_traced(input, source, mask, *indices):
        if not _in_forward_mode():
            return torch.ops.gatherscatter.scatter(input, list(indices), source, mask, *move, *combine)
        run = None
    if _has_derivative(input, source):
        return _Scatter.apply(run, move, combine, input, source, mask, *indices)
    return scatter_plain(move, combine, input, indices, source, mask)


MOVES = Primitives(gather, accumulate, scatter, arrays)


def is_eager() -> bool:
    """Whether no mode, transform or trace sees what tensors do."""
    if _mode_count() or _function_modes() or _transforms_active():
        return False
    return _forward_ad._current_level < 0 and _trace() is None


def _for_each_member(body: Any, gradient: Any) -> tuple[Any, ...]:
    """The gradients that `body` gives for a gradient, or for each member of the batch in ``is_grads_batched=True``.

    torch makes that batch by an older vmap than `torch.func.vmap`, with no rules for our functions.
    """
    if _core.is_plain(gradient):
        return body(gradient)  # type: ignore[no-any-return]  # `body` is of torch, whose types are not read
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    if not level:
        return body(gradient)  # type: ignore[no-any-return]  # as above
    given: list[bool] = []

    def found(member: Any) -> Any:
        results = body(member)
        given[:] = [one is not None for one in results]
        return tuple(one for one in results if one is not None)

    batches = iter(torch.func.vmap(found)(torch._remove_batch_dim(gradient, level, 0, 0)))
    return tuple(torch._add_batch_dim(next(batches), 0, level) if one else None for one in given)


# ---- derivatives, with what they need of the forward pass in `ctx`


class _GatherRule:
    """The gather is linear in input and fill value."""

    @staticmethod
    def keep(ctx: Any, move: Move, input: Any, mask: Any, fill: Any, indices: Sequence[Any]) -> None:
        ctx.save_for_backward(mask, *indices)
        if _forward_ad._current_level >= 0 or _transforms_active():
            ctx.save_for_forward(mask, *indices)
        ctx.move, ctx.shape = move, input.shape
        ctx.fill = None if fill is None else fill.shape

    @staticmethod
    def gradients(ctx: Any, gradient: Any, needs_input: bool, needs_fill: bool) -> tuple[Any, Any]:
        mask, *indices = ctx.saved_tensors
        if not (needs_fill or torch.is_grad_enabled()) and is_eager() and _core.is_plain(gradient):
            return accumulate_plain(ctx.move, gradient, indices, mask, ctx.shape), None  # the most frequent case
        of_input = accumulate(ctx.move, gradient, indices, mask, ctx.shape) if needs_input else None
        of_fill = (
            gradient_of_fill(MOVES, ctx.move, gradient, ctx.shape, indices, mask, ctx.fill) if needs_fill else None
        )
        return of_input, of_fill

    @staticmethod
    def tangent(ctx: Any, input: Any, fill: Any) -> Any:
        mask, *indices = ctx.saved_tensors
        if input is None:
            input = fill.new_zeros(()).expand(ctx.shape)
        return gather(ctx.move, input, indices, mask, fill)


class _Gather(_Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, run: Any, move: Move, input: Any, mask: Any, fill: Any, *indices: Any) -> Any:
        _GatherRule.keep(ctx, move, input, mask, fill, indices)
        return gather_plain(move, input, indices, mask, fill) if run is None else run()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        needs = ctx.needs_input_grad
        of_input, of_fill = _for_each_member(
            lambda each: _GatherRule.gradients(ctx, each, needs[2], needs[4]), gradient
        )
        return None, None, of_input, None, of_fill, *(None,) * (len(needs) - 5)

    @staticmethod
    def jvp(ctx: Any, _run: Any, _move: Any, input: Any, _mask: Any, fill: Any, *_: Any) -> Any:
        return _GatherRule.tangent(ctx, input, fill)


class _GatherInTransform(_Function):  # type: ignore[misc]
    @staticmethod
    def forward(move: Move, input: Any, mask: Any, fill: Any, *indices: Any) -> Any:
        return gather_plain(move, input, indices, mask, fill)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        move, input, mask, fill, *indices = inputs
        _GatherRule.keep(ctx, move, input, mask, fill, indices)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        needs = ctx.needs_input_grad
        of_input, of_fill = _GatherRule.gradients(ctx, gradient, needs[1], needs[3])
        return None, of_input, None, of_fill, *(None,) * (len(needs) - 4)

    @staticmethod
    def jvp(ctx: Any, _move: Any, input: Any, _mask: Any, fill: Any, *_: Any) -> Any:
        return _GatherRule.tangent(ctx, input, fill)

    @staticmethod
    def vmap(info: Any, dims: Any, move: Move, input: Any, mask: Any, fill: Any, *indices: Any) -> Any:
        _, at_input, at_mask, at_fill, *at_indices = dims
        at = (at_input, at_indices, at_mask, at_fill)
        return batched_gather(arrays, gather, info.batch_size, move, input, indices, mask, fill, at)


class _AccumulateRule:
    """The accumulation is linear in its values, and the gather is its adjoint."""

    @staticmethod
    def keep(ctx: Any, move: Move, shape: Shape, mask: Any, indices: Sequence[Any]) -> None:
        ctx.save_for_backward(mask, *indices)
        if _forward_ad._current_level >= 0 or _transforms_active():
            ctx.save_for_forward(mask, *indices)
        ctx.move, ctx.shape = move, shape

    @staticmethod
    def gradient(ctx: Any, gradient: Any) -> Any:
        mask, *indices = ctx.saved_tensors
        return gather(ctx.move, gradient, indices, mask)

    @staticmethod
    def tangent(ctx: Any, values: Any) -> Any:
        mask, *indices = ctx.saved_tensors
        return accumulate(ctx.move, values, indices, mask, ctx.shape)


class _Accumulate(_Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, move: Move, shape: Shape, values: Any, mask: Any, *indices: Any) -> Any:
        _AccumulateRule.keep(ctx, move, shape, mask, indices)
        return accumulate_plain(move, values, indices, mask, shape)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (of_values,) = _for_each_member(lambda each: (_AccumulateRule.gradient(ctx, each),), gradient)
        return None, None, of_values, *(None,) * (len(ctx.needs_input_grad) - 3)

    @staticmethod
    def jvp(ctx: Any, _move: Any, _shape: Any, values: Any, *_: Any) -> Any:
        return _AccumulateRule.tangent(ctx, values)


class _AccumulateInTransform(_Accumulate):
    @staticmethod
    def forward(move: Move, shape: Shape, values: Any, mask: Any, *indices: Any) -> Any:  # type: ignore[override]
        return accumulate_plain(move, values, indices, mask, shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        move, shape, _, mask, *indices = inputs
        _AccumulateRule.keep(ctx, move, shape, mask, indices)

    @staticmethod
    def vmap(info: Any, dims: Any, move: Move, shape: Shape, values: Any, mask: Any, *indices: Any) -> Any:
        _, _, at_values, at_mask, *at_indices = dims
        at = (at_values, at_indices, at_mask)
        return batched_accumulate(arrays, accumulate, info.batch_size, move, values, indices, mask, shape, at)


class _ScatterContext:
    """What a scatter keeps: its values only if the derivatives depend on them."""

    @staticmethod
    def keep(
        ctx: Any,
        move: Move,
        combine: Combine,
        input: Any,
        source: Any,
        mask: Any,
        indices: Sequence[Any],
        result: Any,
    ) -> None:
        values = (input, source, result) if ScatterRule.needs_values(combine) else (None, None, None)
        ctx.save_for_backward(*values, mask, *indices)
        if _forward_ad._current_level >= 0 or _transforms_active():
            ctx.save_for_forward(*values, mask, *indices)
        ctx.move, ctx.combine, ctx.shape, ctx.source = move, combine, input.shape, source.shape

    @staticmethod
    def rule(ctx: Any, kind: type[_Rule]) -> _Rule:
        input, source, result, mask, *indices = ctx.saved_tensors
        return kind(MOVES, ctx.move, ctx.combine, ctx.shape, ctx.source, indices, mask, input, source, result)


def _gradients_of_scatter(ctx: Any, gradient: Any, needs_input: bool, needs_source: bool) -> tuple[Any, Any]:
    """The gradients of input and source of a scatter; None where none is needed."""
    if ScatterRule.needs_values(ctx.combine) and not torch.is_grad_enabled() and is_eager():
        in_blocks = _ScatterContext.rule(ctx, BlockRule)
        if in_blocks.takes(gradient):
            return in_blocks.gradients(gradient, needs_input, needs_source)
    return _ScatterContext.rule(ctx, ScatterRule).gradients(gradient, needs_input, needs_source)


class _Scatter(_Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any, run: Any, move: Move, combine: Combine, input: Any, source: Any, mask: Any, *indices: Any
    ) -> Any:
        result = scatter_plain(move, combine, input, indices, source, mask) if run is None else run()
        _ScatterContext.keep(ctx, move, combine, input, source, mask, indices, result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        needs = ctx.needs_input_grad
        of_input, of_source = _for_each_member(
            lambda each: _gradients_of_scatter(ctx, each, needs[3], needs[4]), gradient
        )
        return None, None, None, of_input, of_source, *(None,) * (len(needs) - 5)

    @staticmethod
    def jvp(ctx: Any, _run: Any, _move: Any, _combine: Any, input: Any, source: Any, *_: Any) -> Any:
        return _ScatterContext.rule(ctx, ScatterRule).to_result(input, source)


class _ScatterInTransform(_Function):  # type: ignore[misc]
    @staticmethod
    def forward(move: Move, combine: Combine, input: Any, source: Any, mask: Any, *indices: Any) -> Any:
        return scatter_plain(move, combine, input, indices, source, mask)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        move, combine, input, source, mask, *indices = inputs
        _ScatterContext.keep(ctx, move, combine, input, source, mask, indices, output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        needs = ctx.needs_input_grad
        of_input, of_source = _ScatterContext.rule(ctx, ScatterRule).gradients(gradient, needs[2], needs[3])
        return None, None, of_input, of_source, *(None,) * (len(needs) - 4)

    @staticmethod
    def jvp(ctx: Any, _move: Any, _combine: Any, input: Any, source: Any, *_: Any) -> Any:
        return _ScatterContext.rule(ctx, ScatterRule).to_result(input, source)

    @staticmethod
    def vmap(
        info: Any, dims: Any, move: Move, combine: Combine, input: Any, source: Any, mask: Any, *indices: Any
    ) -> Any:
        _, _, at_input, at_source, at_mask, *at_indices = dims
        at = (at_input, at_indices, at_source, at_mask)
        return batched_scatter(arrays, scatter, info.batch_size, move, combine, input, indices, source, mask, at)


# What `Function.apply` does besides serves transforms.
gather_eagerly = super(_Function, _Gather).apply
scatter_eagerly = super(_Function, _Scatter).apply
