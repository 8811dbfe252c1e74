"""route.py: runs the calls of operators that torch has to know of. The extension module calls `route` for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.adopt import adopt, refuse_recorded
from gatherscatter._libraries.of_python import BigIntegers, LiteralArray
from gatherscatter._libraries.of_torch import is_of_graph, is_recorded
from gatherscatter._libraries.torch_symbols import graph_index, graph_mask
from gatherscatter._moves.geometry import Combine, Move, scatter_call
from gatherscatter._torch import library, torch
from gatherscatter._torch.functions import gather, gather_eagerly, is_eager, is_traced, scatter, scatter_eagerly

__all__ = ["as_tensor", "is_strided", "route"]

library.register()

# These write to their first argument, as torch's functions whose names end in an underscore.
_IN_PLACE = frozenset(("put", "put_along_axis", "putmask", "place", "tile_scatter"))
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_mode_count = torch._C._len_torch_dispatch_stack
_no_dispatch = torch._C._disabled_torch_dispatch_impl
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_unwrap_if_dead = torch._C._functorch.unwrap_if_dead
_forward_ad = torch.autograd.forward_ad
# Calls of at most so many indices and elements run by torch's functions: chosen, the crossing was not measured. torch
# adds narrower floats by other roundings.
_FEW, _SMALL, _WIDE = 1024, 16 * 1024, (torch.float32, torch.float64)
_UNIQUE = Combine(None, True, "error")
_SHARED = frozenset(np.dtype(code).name for code in "?bBhHiIlLqQefdFD")  # the dtypes that NumPy and torch share


def route(
    call: Any,
    op: str,
    planner: str,
    input: Any,
    index: Any,
    axis: int | None,
    batch_dims: int,
    match: str,
    bounds: str,
    negative: str,
    scatters: bool,
    reduce: str | None,
    include_self: bool,
    duplicates: str,
    fill: Any,
    mask: Any,
    source: Any,
    out: Any,
) -> Any:
    """Run a call that has tensors with derivatives, lazy bits or no memory of their own; else NotImplemented.

    All arguments after `call` are those of the call. `out` is the input for the operators that work in place.
    """
    given = index if planner == "at_points" else () if index is None else (index,)
    if not isinstance(input, torch.Tensor):
        # Gradients do not pass through an array of another library: `_core` refuses them. Values of a graph would pass.
        for role, value in (("src", source), ("fill_value", fill), ("mask", mask), *(("index", one) for one in given)):
            if is_of_graph(value) and not is_recorded(value):
                refuse_recorded(op, role, value)
        return NotImplemented
    if fill is None and out is None and planner not in ("at_points", "elementwise") and is_eager():
        plain = [each for each in (input, index, source, mask) if each is not None]
        if all(map(_is_plain_tensor, plain)) and not input.is_neg():  # the most frequent case, in a few steps
            move = Move(op, planner, axis, batch_dims, match, "fill" if bounds == "drop" else bounds, negative)
            if not scatters:
                return gather_eagerly(call.run, move, input, mask, None, index)
            if not source.is_neg() and source.dtype == input.dtype:
                combine = Combine(reduce, include_self, duplicates)
                result = _scatter_small(move, combine, input, index, source) if mask is None else None
                if result is not None:
                    return result
                return scatter_eagerly(call.run, move, combine, input, source, mask, index)
    tensors = [t for t in (input, source, fill, mask, out, *given) if isinstance(t, torch.Tensor)]
    if not all(map(is_strided, tensors)):
        return NotImplemented
    records = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    is_in_place = out is input and op in _IN_PLACE
    if records and out is not None and not is_in_place:
        raise RuntimeError(
            f"{op}: functions with out=... do not support automatic differentiation, but one of the arguments requires "
            "grad; call it without out=, or under torch.no_grad()"
        )
    if (
        out is not None
        and not is_in_place
        and is_recorded(out)
        and not is_traced(*(t for t in tensors if t is not out))
    ):
        return NotImplemented  # values cannot be written to a tensor that has none
    is_wrapped = any(map(_is_wrapped, tensors))
    if is_wrapped:  # a backward pass may run after its transform has ended
        input, mask, fill, source = (_unwrapped(each) for each in (input, mask, fill, source))
        given = tuple(map(_unwrapped, given))
    traced = is_traced(*tensors)
    if traced and not _mode_count() and not input.is_meta:  # torch would return memory that nothing was written to
        for role, value in (("src", source), ("fill_value", fill), ("mask", mask), *(("index", one) for one in given)):
            if isinstance(value, torch.Tensor) and value.is_meta:
                raise TypeError(
                    f"{op}: {role} is on the meta device, which has no values, and input is on {input.device}"
                )
    if traced and not _mode_count() and hasattr(input, "fake_mode"):
        with input.fake_mode:  # in which the constants of the call become fake, too
            return call.run()
    has_lazy = any(t.is_conj() or t.is_neg() for t in tensors)
    if not (records or traced or has_lazy or is_wrapped or any(map(_is_dual, tensors))):
        return NotImplemented

    move = Move(op, planner, axis, batch_dims, match, "fill" if bounds == "drop" else bounds, negative)
    has_own_memory = not (traced or is_wrapped or has_lazy)
    refuse = call.run if has_own_memory else None
    indices = [as_tensor(op, "index", one, None, traced, refuse) for one in given]
    mask = as_tensor(op, "mask", mask, None, traced, refuse)
    if records and not traced:
        indices, mask = [_savable(one) for one in indices], _savable(mask)
    run = None if has_lazy or is_wrapped or out is not None else call.run
    if scatters:
        source = as_tensor(op, "src", source, input, traced, refuse)
        if source.dtype != input.dtype:
            raise _wrong_dtype(f"{op}: src has dtype {source.dtype}, input has dtype {input.dtype}", refuse)
        if records and not traced:
            input, source = _savable(input), _savable(source)
        combine = Combine(reduce, include_self, duplicates)
        result = _scatter(move, combine, _resolved(input), indices, _resolved(source), mask, run)
    else:
        fill = as_tensor(op, "fill_value", fill, input, traced)
        if planner != "at_points" and fill is not None and fill.ndim:
            raise ValueError(f"{op}: fill_value has shape {tuple(fill.shape)}, expected one value")
        result = gather(move, _resolved(input), indices, mask, _resolved(fill), run)
    if out is None:
        return result
    if out.shape != result.shape:
        raise ValueError(f"{op}: out has shape {tuple(out.shape)}, the result has shape {tuple(result.shape)}")
    if out.dtype != result.dtype:
        raise TypeError(f"{op}: out has dtype {out.dtype}, the result has dtype {result.dtype}")
    # torch's own write follows its rules for leaves, views, version counters and lazy bits.
    out.copy_(result)
    return out


def _scatter_small(move: Move, combine: Combine, input: Any, index: Any, source: Any) -> Any:
    """A scatter by torch's own function, which records it in less time; None if it has another meaning, or is large.

    Where two points write one element, torch has no right gradient; such a call is None, too.
    """
    adds = combine.reduce == "add" and combine.include_self
    if not (adds or combine.reduce is None) or move.bounds != "raise" or move.axis is None or move.batch_dims:
        return None
    if not 0 < index.numel() <= _FEW or input.numel() > _SMALL or input.dtype not in _WIDE or not input.ndim:
        return None
    is_rows = move.planner == "take_axis"
    if is_rows:
        rows = list(input.shape)
        if index.ndim != 1 or not -input.ndim <= move.axis < input.ndim:
            return None
        rows[move.axis] = len(index)
        if list(source.shape) != rows:
            return None
    elif move.match != "prefix" or index.shape != source.shape or index.ndim != input.ndim:
        return None
    if not all(each.device.type == "cpu" for each in (input, index, source)):
        return None
    try:
        if adds:
            return (torch.index_add if is_rows else torch.scatter_add)(input, move.axis, index, source)
        scatter_call(move, _UNIQUE, input.detach(), (index,), source.detach(), None).run()
        if is_rows:  # torch.index_copy would keep the source for the backward pass, and refuse one that changed
            line = [1] * source.ndim
            line[move.axis] = -1
            index = index.view(line).expand(source.shape)
        return torch.scatter(input, move.axis, index, source)
    except (RuntimeError, IndexError, TypeError, ValueError):  # such as for a negative index, which it does not take
        return None


def _scatter(move: Move, combine: Combine, input: Any, indices: Any, source: Any, mask: Any, run: Any) -> Any:
    if move.planner == "elementwise":  # a choice between two tensors, which torch has
        return torch.where(mask, source, input)
    return scatter(move, combine, input, indices, source, mask, run)


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
