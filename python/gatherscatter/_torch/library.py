"""library.py: registers the moves as operators of torch, torch.ops.gatherscatter.*, for graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from gatherscatter._moves.batching import batched_accumulate, batched_gather, batched_scatter
from gatherscatter._moves.geometry import ADD, Combine, Move, check_gather, check_scatter, gather_shape
from gatherscatter._moves.rules import ScatterRule, gradient_of_fill
from gatherscatter._torch import arrays, torch
from gatherscatter._torch.functions import MOVES, accumulate, gather, scatter
from gatherscatter._torch.moves import accumulate_plain, gather_plain, like, scatter_plain
from gatherscatter._values.fill import as_fill

__all__ = ["allow_in_graphs"]

_MOVE = "str op, str planner, int? axis, int batch_dims, str match, str bounds, str negative"
_COMBINE = "str? reduce, bool include_self, str duplicates"
_SCHEMAS = (
    f"gather(Tensor input, Tensor[] indices, Tensor? mask, Tensor? fill, {_MOVE}) -> Tensor",
    f"accumulate(Tensor values, Tensor[] indices, Tensor? mask, SymInt[] shape, {_MOVE}) -> Tensor",
    f"scatter(Tensor input, Tensor[] indices, Tensor source, Tensor? mask, {_MOVE}, {_COMBINE}) -> Tensor",
    "fit(Tensor value, ScalarType dtype, str op, str what) -> Tensor",
)
_libraries: list[Any] = []


def _register() -> None:
    """Define the operators of torch."""
    made = torch.library.Library("gatherscatter", "DEF")
    _libraries.append(made)  # the operators exist as long as this object
    for schema in _SCHEMAS:
        made.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    kernels: dict[str, Any] = {"gather": _gather_kernel, "accumulate": _accumulate_kernel}
    kernels |= {"scatter": _scatter_kernel, "fit": _fit_kernel}
    for name, kernel in kernels.items():
        for device in ("CPU", "CUDA"):
            made.impl(name, kernel, device)
    full = "gatherscatter::{}".format
    torch.library.register_fake(full("gather"), _fake_gather, lib=made)
    torch.library.register_fake(full("accumulate"), _fake_accumulate, lib=made)
    torch.library.register_fake(full("scatter"), _fake_scatter, lib=made)
    torch.library.register_fake(full("fit"), _fake_fit, lib=made)
    torch.library.register_autograd(full("gather"), _gather_backward, setup_context=_keep_gather, lib=made)
    torch.library.register_autograd(full("accumulate"), _accumulate_backward, setup_context=_keep_accumulate, lib=made)
    torch.library.register_autograd(full("scatter"), _scatter_backward, setup_context=_keep_scatter, lib=made)
    torch.library.register_autograd(full("fit"), _fit_backward, setup_context=_keep_fit, lib=made)
    torch.library.register_vmap(full("gather"), _vmap_gather, lib=made)
    torch.library.register_vmap(full("accumulate"), _vmap_accumulate, lib=made)
    torch.library.register_vmap(full("scatter"), _vmap_scatter, lib=made)


# ---- kernels


def _gather_kernel(input: Any, indices: Any, mask: Any, fill: Any, *move: Any) -> Any:
    with _kernel_context():
        fill = None if fill is None else _plain(fill)
        return gather_plain(Move(*move), _plain(input), indices, mask, fill)


def _accumulate_kernel(values: Any, indices: Any, mask: Any, shape: Any, *move: Any) -> Any:
    with _kernel_context():
        return accumulate_plain(Move(*move), _plain(values), indices, mask, tuple(shape))


def _scatter_kernel(input: Any, indices: Any, source: Any, mask: Any, *words: Any) -> Any:
    with _kernel_context():
        return scatter_plain(Move(*words[:7]), Combine(*words[7:]), _plain(input), indices, _plain(source), mask)


def _fit_kernel(value: Any, dtype: Any, op: str, what: str) -> Any:
    """Values in another dtype, with the error of a plain call for those that it cannot hold."""
    with _kernel_context():
        like = torch.empty((), dtype=dtype)
        items = [as_fill(op, like, number, what) for number in _plain(value).reshape(-1).tolist()]
        made = torch.stack(items) if items else like.new_empty(0)
        return made.reshape(value.shape).to(value.device)


@contextmanager
def _tangents_readable() -> Iterator[None]:
    """A kernel without gradients that may ask for tangents: below autograd, that is an internal error of torch."""
    keys, guard = torch._C.DispatchKey, torch._C._SetExcludeDispatchKeyGuard
    with torch.no_grad(), guard(keys.AutogradFunctionality, False), guard(keys.ADInplaceOrView, False):
        yield


def _kernel_context() -> AbstractContextManager[Any]:
    in_forward_mode = torch.autograd.forward_ad._current_level >= 0
    return _tangents_readable() if in_forward_mode else cast("AbstractContextManager[Any]", torch.no_grad())


def _plain(tensor: Any) -> Any:
    return tensor.resolve_conj().resolve_neg()


# ---- shapes, for graphs


def _shapes(indices: Any) -> list[Any]:
    return [tuple(index.shape) for index in indices]


def _fake_gather(input: Any, indices: Any, mask: Any, fill: Any, *move: Any) -> Any:
    check_gather(Move(*move), like(input), list(map(like, indices)), like(mask), like(fill))
    return input.new_empty(gather_shape(Move(*move), tuple(input.shape), _shapes(indices)))


def _fake_accumulate(values: Any, indices: Any, mask: Any, shape: Any, *move: Any) -> Any:
    check_scatter(Move(*move), ADD, like(values, tuple(shape)), list(map(like, indices)), like(values), like(mask))
    return values.new_empty(shape)


def _fake_scatter(input: Any, indices: Any, source: Any, mask: Any, *words: Any) -> Any:
    made = [like(each) for each in (input, source, mask)]
    check_scatter(Move(*words[:7]), Combine(*words[7:]), made[0], list(map(like, indices)), made[1], made[2])
    return input.new_empty(input.shape)


def _fake_fit(value: Any, dtype: Any, op: str, what: str) -> Any:
    return value.new_empty(value.shape, dtype=dtype)


# ---- gradients


def _keep_gather(ctx: Any, inputs: Any, output: Any) -> None:
    input, indices, mask, fill, *move = inputs
    ctx.save_for_backward(mask, *indices)
    ctx.move, ctx.shape = Move(*move), input.shape
    ctx.fill = None if fill is None else fill.shape


def _gather_backward(ctx: Any, gradient: Any) -> Any:
    mask, *indices = ctx.saved_tensors
    needs = ctx.needs_input_grad
    of_input = accumulate(ctx.move, gradient, indices, mask, ctx.shape) if needs[0] else None
    of_fill = gradient_of_fill(MOVES, ctx.move, gradient, ctx.shape, indices, mask, ctx.fill) if needs[3] else None
    return of_input, [None] * len(indices), None, of_fill, *(None,) * 7


def _keep_accumulate(ctx: Any, inputs: Any, output: Any) -> None:
    _, indices, mask, _, *move = inputs
    ctx.save_for_backward(mask, *indices)
    ctx.move = Move(*move)


def _accumulate_backward(ctx: Any, gradient: Any) -> Any:
    mask, *indices = ctx.saved_tensors
    of_values = gather(ctx.move, gradient, indices, mask)
    return of_values, [None] * len(indices), None, None, *(None,) * 7


def _keep_scatter(ctx: Any, inputs: Any, output: Any) -> None:
    input, indices, source, mask, *words = inputs
    ctx.move, ctx.combine = Move(*words[:7]), Combine(*words[7:])
    values = (input, source, output) if ScatterRule.needs_values(ctx.combine) else (None, None, None)
    ctx.save_for_backward(*values, mask, *indices)
    ctx.shape, ctx.source = input.shape, source.shape


def _scatter_backward(ctx: Any, gradient: Any) -> Any:
    input, source, result, mask, *indices = ctx.saved_tensors
    rule = ScatterRule(MOVES, ctx.move, ctx.combine, ctx.shape, ctx.source, indices, mask, input, source, result)
    needs = ctx.needs_input_grad
    of_input, of_source = rule.gradients(gradient, needs[0], needs[2])
    return of_input, [None] * len(indices), of_source, None, *(None,) * 10


def _keep_fit(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.dtype = inputs[0].dtype


def _fit_backward(ctx: Any, gradient: Any) -> Any:
    real = gradient.real if gradient.is_complex() and not ctx.dtype.is_complex else gradient
    return real.to(ctx.dtype), None, None, None


# ---- vmap


def _vmap_gather(info: Any, dims: Any, input: Any, indices: Any, mask: Any, fill: Any, *move: Any) -> Any:
    at = (dims[0], dims[1] or [None] * len(indices), dims[2], dims[3])
    return batched_gather(arrays, gather, info.batch_size, Move(*move), input, indices, mask, fill, at)


def _vmap_accumulate(info: Any, dims: Any, values: Any, indices: Any, mask: Any, shape: Any, *move: Any) -> Any:
    at = (dims[0], dims[1] or [None] * len(indices), dims[2])
    return batched_accumulate(arrays, accumulate, info.batch_size, Move(*move), values, indices, mask, tuple(shape), at)


def _vmap_scatter(info: Any, dims: Any, input: Any, indices: Any, source: Any, mask: Any, *words: Any) -> Any:
    at = (dims[0], dims[1] or [None] * len(indices), dims[2], dims[3])
    move, combine = Move(*words[:7]), Combine(*words[7:])
    return batched_scatter(arrays, scatter, info.batch_size, move, combine, input, indices, source, mask, at)


# ---- graphs


def allow_in_graphs(operators: Any) -> None:
    """Let Dynamo record calls of these operators as they are; the trace of the recorded graph then meets the moves."""
    for each in operators:
        torch.compiler.allow_in_graph(each)


_register()
