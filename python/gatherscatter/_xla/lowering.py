"""lowering.py: what a move becomes in a compiled function: a call of our handler, or a callback to Python."""

from __future__ import annotations

import functools
import logging
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._moves.geometry import ADD, SET, Combine, Move, gather_call, gather_shape, scatter_call
from gatherscatter._xla import jax, mlir

__all__ = [
    "accumulate_by_callback",
    "ffi_is_usable",
    "gather_by_callback",
    "lower_accumulate",
    "lower_gather",
    "lower_scatter",
    "register_lowering",
    "scatter_by_callback",
]

_TARGET = "gatherscatter_move"
_log = logging.getLogger("gatherscatter")

# The number of this layout of the words of `move`; the other words are places in the tuples of `_core.words`, which are
# those of the enumerators in C++ (src/calls/words.h), and of the tuple below (src/jax/call_frame.h).
_LAYOUT = 1
_OPERATIONS = ("gather", "accumulate", "scatter")
_WORDS = _core.words


@functools.cache
def ffi_is_usable() -> bool:
    """Whether jaxlib takes our handler. If not, one line of the log says why, and calls go through Python."""
    try:
        from gatherscatter import _jax

        jax.ffi.register_ffi_target(_TARGET, _jax.handler, platform="cpu")
    except Exception as error:  # what jaxlib raises for another version of its interface is no part of that interface
        reason = str(error).partition("\n")[0]
        _log.warning(
            "jitted calls go through jax.pure_callback, because jaxlib refuses the compiled handler: %s", reason
        )
        return False
    return True


def register_lowering(primitive: Any, lower: Any, callback: Any) -> None:
    """Set what a primitive becomes: `lower` on the CPU, and on other platforms a callback to Python."""
    by_callback = mlir.lower_fun(callback, multiple_results=False)
    mlir.register_lowering(primitive, by_callback)

    def on_cpu(ctx: Any, *operands: Any, **parameters: Any) -> Any:
        chosen = lower if ffi_is_usable() else by_callback
        return chosen(ctx, *operands, **parameters)

    mlir.register_lowering(primitive, on_cpu, platform="cpu")


def lower_gather(ctx: Any, *operands: Any, move: Move, count: int, has_mask: bool, has_fill: bool) -> Any:
    """The operands are input, `count` indices, mask and fill value."""
    return _call(ctx, operands, "gather", move, SET, count, has_mask, has_fill)


def lower_accumulate(ctx: Any, *operands: Any, move: Move, shape: Any, count: int, has_mask: bool) -> Any:
    """The operands are the values, `count` indices and the mask."""
    return _call(ctx, operands, "accumulate", move, ADD, count, has_mask, False)


def lower_scatter(ctx: Any, *operands: Any, move: Move, combine: Combine, count: int, has_mask: bool) -> Any:
    """The operands are input, source, `count` indices and mask; the result takes the memory of the input.

    XLA copies the input first where something else still needs it, which it does not for donated arguments and for what
    a loop carries.
    """
    return _call(ctx, operands, "scatter", move, combine, count, has_mask, False, {0: 0})


def _call(
    ctx: Any,
    operands: Any,
    operation: str,
    move: Move,
    combine: Combine,
    count: int,
    has_mask: bool,
    has_fill: bool,
    aliases: dict[int, int] | None = None,
) -> Any:
    coordinates = move.planner == "coordinates"
    words = (
        _LAYOUT,
        _OPERATIONS.index(operation),
        _WORDS["planner"].index("at_points" if coordinates else move.planner),
        coordinates,
        move.axis is not None,
        0 if move.axis is None else move.axis,
        move.batch_dims,
        _WORDS["match"].index(move.match),
        _WORDS["bounds"].index(move.bounds),
        _WORDS["negative"].index(move.negative),
        _WORDS["reduce"].index(combine.reduce or "set"),
        combine.include_self,
        _WORDS["duplicates"].index(combine.duplicates),
        count,
        has_mask,
        has_fill,
    )
    rule = jax.ffi.ffi_lowering(_TARGET, operand_output_aliases=aliases)
    return rule(ctx, *operands, move=np.array(words, np.int64), op=move.op)


# ---- callbacks, which get arrays in host memory


def gather_by_callback(*operands: Any, move: Move, count: int, has_mask: bool, has_fill: bool) -> Any:
    """The gather as a callback to Python."""

    def run(*given: Any) -> Any:
        (input,), indices, mask, (fill,) = _parts(given, 1, count, has_mask, int(has_fill))
        return np.asarray(gather_call(move, input, indices, mask, fill).run())

    shapes = [operand.shape for operand in operands[1 : 1 + count]]
    return _callback(run, gather_shape(move, operands[0].shape, shapes), operands)


def accumulate_by_callback(*operands: Any, move: Move, shape: Any, count: int, has_mask: bool) -> Any:
    """The accumulation as a callback to Python."""

    def run(*given: Any) -> Any:
        (values,), indices, mask, _ = _parts(given, 1, count, has_mask)
        zeros = np.broadcast_to(np.zeros((), values.dtype), shape)
        return np.asarray(scatter_call(move, ADD, zeros, indices, values, mask).run())

    return _callback(run, shape, operands)


def scatter_by_callback(*operands: Any, move: Move, combine: Combine, count: int, has_mask: bool) -> Any:
    """The scatter as a callback to Python."""

    def run(*given: Any) -> Any:
        (input, source), indices, mask, _ = _parts(given, 2, count, has_mask)
        return np.asarray(scatter_call(move, combine, input, indices, source, mask).run())

    return _callback(run, operands[0].shape, operands)


def _parts(given: Any, lead: int, count: int, has_mask: bool, fills: int = 0) -> tuple[Any, Any, Any, Any]:
    """The arrays before the indices, the indices, the mask and the fill value, as NumPy arrays."""
    arrays = [np.asarray(array) for array in given]
    rest = arrays[lead + count :]
    mask = rest.pop(0) if has_mask else None
    return arrays[:lead], arrays[lead : lead + count], mask, rest if fills else [None]


def _callback(run: Any, shape: Any, operands: Any) -> Any:
    result = jax.ShapeDtypeStruct(tuple(shape), operands[0].dtype)
    return jax.pure_callback(run, result, *operands, vmap_method="sequential")
