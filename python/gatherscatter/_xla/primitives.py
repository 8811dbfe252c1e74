"""primitives.py: gather, accumulate and scatter as primitives of JAX, with their derivatives and batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gatherscatter._moves.batching import batched_accumulate, batched_gather, batched_scatter
from gatherscatter._moves.geometry import ADD, Combine, Move, Shape, check_gather, check_scatter, gather_shape
from gatherscatter._moves.rules import Primitives, ScatterRule, gradient_of_fill
from gatherscatter._xla import ad, arrays, batching, jax, lowering
from gatherscatter._xla.arrays import like

__all__ = ["accumulate", "gather", "scatter"]

_MOST_COMPILED = 4096  # calls outside of jit, each compiled once for its parameters


def gather(move: Move, input: Any, indices: Sequence[Any], mask: Any = None, fill: Any = None) -> Any:
    """The gather of arrays of JAX."""
    given = [each for each in (mask, fill) if each is not None]
    flags = {"has_mask": mask is not None, "has_fill": fill is not None}
    return _gather.bind(*_alike(input, *indices, *given), move=move, count=len(indices), **flags)


def accumulate(move: Move, values: Any, indices: Sequence[Any], mask: Any, shape: Shape) -> Any:
    """The sums of the values of a gather at the elements that it read: the adjoint of the gather."""
    given = [] if mask is None else [mask]
    flags = {"has_mask": mask is not None}
    operands = _alike(values, *indices, *given)
    return _accumulate.bind(*operands, move=move, shape=tuple(shape), count=len(indices), **flags)


def scatter(move: Move, combine: Combine, input: Any, indices: Sequence[Any], source: Any, mask: Any = None) -> Any:
    """The scatter of arrays of JAX, into a new one."""
    given = [] if mask is None else [mask]
    flags = {"has_mask": mask is not None}
    operands = _alike(input, source, *indices, *given)
    return _scatter.bind(*operands, move=move, combine=combine, count=len(indices), **flags)


MOVES = Primitives(gather, accumulate, scatter, arrays)


def _varies_over(aval: Any) -> Any:
    """The axes of the mesh over which an array differs inside of `jax.shard_map`; none in a JAX without such types."""
    facts = getattr(aval, "manual_axis_type", None)
    return getattr(aval, "vma", frozenset()) if facts is None else facts.varying


def _alike(*operands: Any) -> Sequence[Any]:
    """The operands, each of which differs over all axes of the mesh over which one of them does.

    The gradient of an operand that was the same on all devices is then the sum over them.
    """
    axes = [_varies_over(jax.typeof(each)) if hasattr(jax, "typeof") else frozenset() for each in operands]
    every = frozenset().union(*axes)
    return [
        each if own == every else jax.lax.pcast(each, tuple(sorted(every - own, key=str)), to="varying")
        for each, own in zip(operands, axes, strict=True)
    ]


def _primitive(name: str, shape_of: Callable[..., Any]) -> Any:
    made = jax.extend.core.Primitive(name)
    made.def_abstract_eval(shape_of)

    @functools.lru_cache(_MOST_COMPILED)
    def compiled(parameters: tuple[Any, ...]) -> Any:
        return jax.jit(functools.partial(made.bind, **dict(parameters)))

    made.def_impl(lambda *operands, **parameters: compiled(tuple(sorted(parameters.items())))(*operands))
    return made


def _rest(operands: Sequence[Any], count: int, has_mask: bool) -> tuple[Sequence[Any], Any, Any]:
    """Indices, mask and fill value among the operands that begin with the indices."""
    rest = list(operands[count:])
    mask = rest.pop(0) if has_mask else None
    return operands[:count], mask, rest[0] if rest else None


def _result(shape: Shape, array: Any) -> Any:
    if not _varies_over(array):
        return jax.core.ShapedArray(tuple(shape), array.dtype, weak_type=array.weak_type)
    spec = jax.sharding.PartitionSpec(*[None] * len(shape))
    return array.update(shape=tuple(shape), sharding=jax.sharding.NamedSharding(array.sharding.mesh, spec))


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero


def _dense(tangent: Any) -> Any:
    return ad.instantiate_zeros(tangent)


def _size(operands: Sequence[Any], dims: Sequence[Any]) -> Any:
    return next(each.shape[at] for each, at in zip(operands, dims, strict=True) if at is not None)


# ---- gather: linear in the input and the fill value


def _gather_shape(input: Any, *others: Any, move: Move, count: int, has_mask: bool, has_fill: bool) -> Any:
    indices, mask, fill = _rest(others, count, has_mask)
    check_gather(move, like(input), list(map(like, indices)), like(mask), like(fill))
    return _result(gather_shape(move, input.shape, [index.shape for index in indices]), input)


def _gather_tangent(primals: Any, tangents: Any, *, move: Move, count: int, has_mask: bool, has_fill: bool) -> Any:
    input, *others = primals
    indices, mask, fill = _rest(others, count, has_mask)
    result = gather(move, input, indices, mask, fill)
    of_fill = tangents[-1] if has_fill else None
    if _is_zero(tangents[0]) and (of_fill is None or _is_zero(of_fill)):
        return result, ad.Zero.from_primal_value(result)
    of_fill = None if of_fill is None or _is_zero(of_fill) else of_fill
    return result, gather(move, _dense(tangents[0]), indices, mask, of_fill)


def _gather_transpose(
    gradient: Any, input: Any, *others: Any, move: Move, count: int, has_mask: bool, has_fill: bool
) -> Any:
    indices, mask, fill = _rest(others, count, has_mask)
    found: list[Any] = [None] * (1 + len(others))
    shape = input.aval.shape if ad.is_undefined_primal(input) else input.shape
    if ad.is_undefined_primal(input):
        found[0] = ad.Zero(input.aval) if _is_zero(gradient) else accumulate(move, gradient, indices, mask, shape)
    if has_fill and ad.is_undefined_primal(fill):
        found[-1] = (
            ad.Zero(fill.aval)
            if _is_zero(gradient)
            else gradient_of_fill(MOVES, move, gradient, shape, indices, mask, fill.aval.shape)
        )
    return found


def _gather_batch(
    operands: Any, dims: Any, *, move: Move, count: int, has_mask: bool, has_fill: bool
) -> tuple[Any, int]:
    indices, mask, fill = _rest(operands[1:], count, has_mask)
    at_indices, at_mask, at_fill = _rest(dims[1:], count, has_mask)
    at = (dims[0], at_indices, at_mask, at_fill)
    return batched_gather(arrays, gather, _size(operands, dims), move, operands[0], indices, mask, fill, at)


# ---- accumulate: linear in the values, and the gather is its adjoint


def _accumulate_shape(values: Any, *others: Any, move: Move, shape: Shape, count: int, has_mask: bool) -> Any:
    indices, mask, _ = _rest(others, count, has_mask)
    check_scatter(move, ADD, like(values, shape), list(map(like, indices)), like(values), like(mask))
    return _result(shape, values)


def _accumulate_tangent(primals: Any, tangents: Any, *, move: Move, shape: Shape, count: int, has_mask: bool) -> Any:
    indices, mask, _ = _rest(primals[1:], count, has_mask)
    result = accumulate(move, primals[0], indices, mask, shape)
    if _is_zero(tangents[0]):
        return result, ad.Zero.from_primal_value(result)
    return result, accumulate(move, tangents[0], indices, mask, shape)


def _accumulate_transpose(
    gradient: Any, values: Any, *others: Any, move: Move, shape: Shape, count: int, has_mask: bool
) -> Any:
    indices, mask, _ = _rest(others, count, has_mask)
    of_values = ad.Zero(values.aval) if _is_zero(gradient) else gather(move, gradient, indices, mask)
    return [of_values, *[None] * len(others)]


def _accumulate_batch(
    operands: Any, dims: Any, *, move: Move, shape: Shape, count: int, has_mask: bool
) -> tuple[Any, int]:
    indices, mask, _ = _rest(operands[1:], count, has_mask)
    at_indices, at_mask, _ = _rest(dims[1:], count, has_mask)
    at = (dims[0], at_indices, at_mask)
    return batched_accumulate(arrays, accumulate, _size(operands, dims), move, operands[0], indices, mask, shape, at)


# ---- scatter: linear in input and source, unless it multiplies or compares them


def _scatter_shape(
    input: Any, source: Any, *others: Any, move: Move, combine: Combine, count: int, has_mask: bool
) -> Any:
    indices, mask, _ = _rest(others, count, has_mask)
    check_scatter(move, combine, like(input), list(map(like, indices)), like(source), like(mask))
    return _result(input.shape, input)


def _scatter_tangent(primals: Any, tangents: Any, *, move: Move, combine: Combine, count: int, has_mask: bool) -> Any:
    input, source, *others = primals
    indices, mask, _ = _rest(others, count, has_mask)
    result = scatter(move, combine, input, indices, source, mask)
    if _is_zero(tangents[0]) and _is_zero(tangents[1]):
        return result, ad.Zero.from_primal_value(result)
    if not ScatterRule.needs_values(combine):
        return result, scatter(move, combine, _dense(tangents[0]), indices, _dense(tangents[1]), mask)
    rule = ScatterRule(MOVES, move, combine, input.shape, source.shape, indices, mask, input, source, result)
    own, values = (None if _is_zero(tangent) else tangent for tangent in tangents[:2])
    return result, rule.to_result(own, values)


def _scatter_transpose(
    gradient: Any, input: Any, source: Any, *others: Any, move: Move, combine: Combine, count: int, has_mask: bool
) -> Any:
    indices, mask, _ = _rest(others, count, has_mask)
    shapes = [each.aval.shape if ad.is_undefined_primal(each) else each.shape for each in (input, source)]
    rule = ScatterRule(MOVES, move, combine, shapes[0], shapes[1], indices, mask)
    adjoints = (rule.to_input, rule.to_source)
    found = [
        None if not ad.is_undefined_primal(each) else ad.Zero(each.aval) if _is_zero(gradient) else adjoint(gradient)
        for each, adjoint in zip((input, source), adjoints, strict=True)
    ]
    return [*found, *[None] * len(others)]


def _scatter_batch(
    operands: Any, dims: Any, *, move: Move, combine: Combine, count: int, has_mask: bool
) -> tuple[Any, int]:
    input, source, *others = operands
    indices, mask, _ = _rest(others, count, has_mask)
    at_indices, at_mask, _ = _rest(dims[2:], count, has_mask)
    at = (dims[0], at_indices, dims[1], at_mask)
    return batched_scatter(arrays, scatter, _size(operands, dims), move, combine, input, indices, source, mask, at)


_gather = _primitive("gatherscatter_gather", _gather_shape)
_accumulate = _primitive("gatherscatter_accumulate", _accumulate_shape)
_scatter = _primitive("gatherscatter_scatter", _scatter_shape)
for _each, _tangent, _transpose, _batch in (
    (_gather, _gather_tangent, _gather_transpose, _gather_batch),
    (_accumulate, _accumulate_tangent, _accumulate_transpose, _accumulate_batch),
    (_scatter, _scatter_tangent, _scatter_transpose, _scatter_batch),
):
    ad.primitive_jvps[_each] = _tangent
    ad.primitive_transposes[_each] = _transpose
    batching.primitive_batchers[_each] = _batch
lowering.register_lowering(_gather, lowering.lower_gather, lowering.gather_by_callback)
lowering.register_lowering(_accumulate, lowering.lower_accumulate, lowering.accumulate_by_callback)
lowering.register_lowering(_scatter, lowering.lower_scatter, lowering.scatter_by_callback)
