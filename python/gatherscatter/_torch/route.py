"""route.py: runs the calls of operators that torch has to know of. The extension module calls `route` for them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.adopt import adopt, refuse_recorded
from gatherscatter._libraries.nested import check_index
from gatherscatter._libraries.of_python import NUMPYS_OPERATORS, BigIntegers, LiteralArray
from gatherscatter._libraries.of_torch import distributed_step, is_of_graph, is_recorded
from gatherscatter._libraries.torch_symbols import graph_index, graph_mask
from gatherscatter._moves.geometry import FLAT, Combine, Move
from gatherscatter._moves.request import Request
from gatherscatter._moves.rules import ScatterRule
from gatherscatter._torch import library as _library  # noqa: F401  # its import registers the operators of graphs
from gatherscatter._torch import torch
from gatherscatter._torch.functions import gather, gather_eagerly, is_eager, is_traced, scatter, scatter_eagerly

__all__ = ["as_tensor", "is_strided", "route"]

# These write to their first argument, as torch's functions whose names end in an underscore.
_IN_PLACE = frozenset(("put", "put_along_axis", "putmask", "place", "tile_scatter"))
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_mode_count = torch._C._len_torch_dispatch_stack
_no_dispatch = torch._C._disabled_torch_dispatch_impl
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_unwrap_if_dead = torch._C._functorch.unwrap_if_dead
_forward_ad = torch.autograd.forward_ad
_SHARED = frozenset(np.dtype(code).name for code in "?bBhHiIlLqQefdFD")  # the dtypes that NumPy and torch share


class _Facts(NamedTuple):
    """What is known of the tensors of a call."""

    records: bool  # gradients
    traced: bool
    has_lazy: bool  # conjugate or negative bits
    is_wrapped: bool
    is_in_place: bool


def route(call: Any, reads_copies: bool = False) -> Any:
    """Run a call that has tensors with derivatives, lazy bits or no memory of their own; else NotImplemented.

    `reads_copies`: the arrays that are no tensors are copies that belong to this call.
    """
    given = Request._make(call.parts())
    op, input, out = given.op, given.input, given.out
    if not isinstance(input, torch.Tensor):
        # Gradients do not pass through an array of another library: `_core` refuses them. Values of a graph would pass.
        for role, value in given.operands():
            if is_of_graph(value) and not is_recorded(value):
                refuse_recorded(op, role, value)
        return NotImplemented
    if _is_frequent(given):
        return _run_frequent(call, given)
    others = (given.source, given.fill, given.mask, out, *given.indices)
    tensors = [t for t in (input, *others) if isinstance(t, torch.Tensor)]
    if not all(map(is_strided, tensors)):
        return NotImplemented
    records = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    is_in_place = out is input and op in _IN_PLACE
    if out is not None and not is_in_place:
        if records:
            raise RuntimeError(
                f"{op}: functions with out=... do not support automatic differentiation, but one of the arguments "
                "requires grad; call it without out=, or under torch.no_grad()"
            )
        if is_recorded(out) and not is_traced(*(t for t in tensors if t is not out)):
            return NotImplemented  # values cannot be written to a tensor that has none
    is_wrapped = any(map(_is_wrapped, tensors))
    if is_wrapped:  # a backward pass may run after its transform has ended
        given = _all_unwrapped(given)
    traced = is_traced(*tensors)
    if traced:
        _refuse_other_memory(given)
    if traced and not _mode_count() and hasattr(given.input, "fake_mode"):
        with given.input.fake_mode:  # in which the constants of the call become fake, too
            return call.run()
    has_lazy = any(t.is_conj() or t.is_neg() for t in tensors)
    if not (records or traced or has_lazy or is_wrapped or any(map(_is_dual, tensors))):
        return NotImplemented
    result = _moved(call, given, _Facts(records, traced, has_lazy, is_wrapped, is_in_place), reads_copies)
    return result if out is None else _written(op, result, out)


def _is_frequent(given: Request) -> bool:
    """Whether a call is of plain tensors that no mode or transform sees, which needs a few steps only."""
    if given.fill is not None or given.out is not None or given.planner in ("at_points", "elementwise"):
        return False
    read = [each for each in (given.input, given.index, given.source, given.mask) if each is not None]
    if not (is_eager() and all(map(_is_plain_tensor, read))) or given.input.is_neg():
        return False
    return not given.scatters or (not given.source.is_neg() and given.source.dtype == given.input.dtype)


def _run_frequent(call: Any, given: Request) -> Any:
    if not given.scatters:
        return gather_eagerly(call.run, given.move, given.input, given.mask, None, given.index)
    return scatter_eagerly(call.run, given.move, given.combine, given.input, given.source, given.mask, given.index)


def _refuse_other_memory(given: Request) -> None:
    """Raise TypeError for tensors of a graph that lie in several processes, or beside them on the meta device."""
    op, input = given.op, given.input
    one_each = (("src", given.source), ("fill_value", given.fill), ("mask", given.mask), ("out", given.out))
    _refuse_distributed(op, (("input", input), *one_each))
    _refuse_distributed(op, (("index", one) for one in given.indices))
    if _mode_count() or input.is_meta:
        return
    for role, value in given.operands():  # torch would return memory that nothing was written to
        if isinstance(value, torch.Tensor) and value.is_meta:
            raise TypeError(f"{op}: {role} is on the meta device, which has no values, and input is on {input.device}")


def _moved(call: Any, given: Request, facts: _Facts, reads_copies: bool) -> Any:
    """The result of a call, by the moves whose derivatives torch knows."""
    op, input, move, traced = given.op, given.input, given.move, facts.traced
    has_own_memory = not (traced or facts.is_wrapped or facts.has_lazy)
    refuse = call.run if has_own_memory else None
    indices = [as_tensor(op, "index", one, None, traced, refuse) for one in given.indices]
    mask = as_tensor(op, "mask", given.mask, None, traced, refuse)
    if refuse is not None and mask is not None and mask.dtype != torch.bool:
        raise _wrong_dtype(f"{op}: mask has dtype {mask.dtype}, expected bool", refuse)
    source = as_tensor(op, "src", given.source, input, traced, refuse)
    # The backward pass has copies of arrays of other libraries, and a thread may write to these: they are read once.
    read, used = [*given.indices, given.mask, given.source], [*indices, mask, source]
    is_read_once = reads_copies or all(map(operator.is_, read, used))
    saves = facts.records and not traced
    if saves:
        indices, mask = [_savable(one) for one in indices], _savable(mask)
    is_direct = is_read_once and not (facts.has_lazy or facts.is_wrapped or given.out is not None)
    run = call.run if is_direct else None
    if not given.scatters:
        fill = as_tensor(op, "fill_value", given.fill, input, traced)
        if given.planner != "at_points" and fill is not None and fill.ndim:
            raise ValueError(f"{op}: fill_value has shape {tuple(fill.shape)}, expected one value")
        return gather(move, _resolved(input), indices, mask, _resolved(fill), run)
    if source.dtype != input.dtype:
        raise _wrong_dtype(f"{op}: src has dtype {source.dtype}, input has dtype {input.dtype}", refuse)
    if saves:
        input, source = _savable(input), _savable(source)
    if facts.is_in_place and facts.records and ScatterRule.needs_values(given.combine):
        input = input.clone()  # the backward pass needs the values that the call overwrites
    return _scatter(move, given.combine, _resolved(input), indices, _resolved(source), mask, run)


def _written(op: str, result: Any, out: Any) -> Any:
    """`out` with the result, which torch writes by its rules for leaves, views, version counters and lazy bits."""
    if out.shape != result.shape:
        raise ValueError(f"{op}: out has shape {tuple(out.shape)}, the result has shape {tuple(result.shape)}")
    if out.dtype != result.dtype:
        raise TypeError(f"{op}: out has dtype {out.dtype}, the result has dtype {result.dtype}")
    out.copy_(result)
    return out


def _refuse_distributed(op: str, arguments: Iterable[tuple[str, Any]]) -> None:
    """Raise TypeError for a DTensor: an operator that moves elements among processes has no rule of ours."""
    for role, value in arguments:
        if step := distributed_step(value):
            raise TypeError(f"{op}: {role} is a DTensor, whose elements lie in several processes; {step}")


def _scatter(move: Move, combine: Combine, input: Any, indices: Any, source: Any, mask: Any, run: Any) -> Any:
    if move.planner == "elementwise":  # a choice between two tensors, which torch has
        return torch.where(mask, _repeated(source, input.shape), input)
    return scatter(move, combine, input, indices, source, mask, run)


def _repeated(source: Any, shape: Any) -> Any:
    """Values broadcast to a shape. Their gradients are summed by ours: the order of torch's sums depends on threads."""
    if source.shape == shape or not source.requires_grad:
        return source
    count = source.numel()
    slots = torch.arange(count, device=source.device).reshape(source.shape).expand(shape)
    return gather(FLAT, source.reshape(count), [slots])


def is_strided(tensor: Any) -> bool:
    """Whether the operators have a meaning for a tensor: it is dense, and of a class that says what operations do."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        return False
    return type(tensor) in _PLAIN or type(tensor).__torch_dispatch__ is not _no_dispatch


def _is_plain_tensor(value: Any) -> bool:
    """Whether a value is a tensor without subclass or lazy bits that torch can save for a backward pass."""
    return isinstance(value, torch.Tensor) and _core.is_plain(value) and not value.is_inference()


def _savable(tensor: Any) -> Any:
    """A tensor that torch saves for a backward pass, which it refuses for those made in inference mode."""
    return tensor.clone() if tensor is not None and tensor.is_inference() else tensor


def _all_unwrapped(given: Request) -> Request:
    """A call without the wrappers of transforms that have ended."""
    index = tuple(map(_unwrapped, given.index)) if given.planner == "at_points" else _unwrapped(given.index)
    read = {name: _unwrapped(getattr(given, name)) for name in ("input", "mask", "fill", "source")}
    return given._replace(index=index, **read)


def _unwrapped(value: Any) -> Any:
    return _unwrap_if_dead(value) if isinstance(value, torch.Tensor) else value


def _is_dual(tensor: Any) -> bool:
    return _forward_ad._current_level >= 0 and _forward_ad.unpack_dual(tensor).tangent is not None


def _resolved(tensor: Any) -> Any:
    """A tensor without lazy conjugate and negative bits, of which gradients are recorded."""
    if tensor is None or not (tensor.is_conj() or tensor.is_neg()):
        return tensor
    return tensor.resolve_conj().resolve_neg()


def _wrong_dtype(message: str, refuse: Any) -> TypeError:
    """The error of a dtype. `refuse` runs the call without gradients, which raises the same error with more words."""
    if refuse is not None:
        with torch.no_grad():
            refuse()
    return TypeError(message)


def as_tensor(op: str, role: str, value: Any, like: Any, traced: bool, refuse: Any = None) -> Any:
    """An argument of any kind as a tensor of its own memory, which the caller cannot change before the backward pass.

    In a graph it becomes a constant of the graph. `refuse` raises the error of a dtype that torch does not have.
    """
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        # A number that became a tensor of rank 0 is a constant of the graph.
        is_number = like is not None and type(value) is torch.Tensor and value.ndim == 0 and not value.is_meta
        return torch.ops.aten.lift_fresh_copy(value) if traced and is_number and _mode_count() else value
    if isinstance(value, bool | int | float | complex) and like is not None:
        return torch.full((), value, dtype=like.dtype, device=like.device)
    if role == "index" and op not in NUMPYS_OPERATORS:
        check_index(op, value)
    made = (graph_mask(value) if role == "mask" else graph_index(value)) if traced else None
    if made is not None:
        return made
    adopted = value if isinstance(value, np.ndarray) else adopt(op, role, value)[0]
    if isinstance(adopted, BigIntegers):
        raise _wrong_dtype(f"{op}: {role} has integers beyond 64 bits, for which torch has no dtype", refuse)
    array = adopted.array if isinstance(adopted, LiteralArray) else adopted
    if isinstance(array, torch.Tensor):
        return array
    if isinstance(array, _core.DLPackArray):
        return torch.from_dlpack(array).clone()
    if like is not None and array.dtype.name not in _SHARED and str(like.dtype) == f"torch.{array.dtype.name}":
        # Such as bfloat16, which NumPy has from another package: the same bytes.
        return torch.from_numpy(np.array(array).view(f"u{array.dtype.itemsize}")).view(like.dtype)
    if array.dtype.name not in _SHARED:
        raise _wrong_dtype(f"{op}: {role} has dtype {array.dtype}, which torch does not have", refuse)
    native = np.array(array, array.dtype.newbyteorder("="))
    return torch.tensor(native) if traced else torch.from_numpy(native)
