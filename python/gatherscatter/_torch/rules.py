"""rules.py: the derivatives of moves, which are moves: a gather backward is a sum, a scatter backward a gather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gatherscatter._torch import torch
from gatherscatter._torch.moves import (
    FLAT,
    SET,
    Combine,
    Move,
    Shape,
    gather_shape,
    index_axes,
    index_shape,
    numel,
    slots_of,
)

__all__ = ["Primitives", "ScatterRule", "gradient_of_fill"]


class Primitives(NamedTuple):
    """The three moves of which every derivative is made; each of them is differentiable."""

    gather: Callable[..., Any]
    accumulate: Callable[..., Any]
    scatter: Callable[..., Any]


def gradient_of_fill(
    moves: Primitives, move: Move, gradient: Any, shape: Shape, indices: Sequence[Any], mask: Any, fill: Shape
) -> Any:
    """The gradient of a fill value of shape `fill`: the sum over the points that it was given to."""
    no, yes = (torch.tensor(value, device=gradient.device) for value in (False, True))
    padded = moves.gather(move, no.expand(shape), indices, mask, yes)
    rank = len(index_shape(move, shape, [tuple(index.shape) for index in indices]))
    return _folded(moves, torch.where(padded, gradient, 0), fill, index_axes(move, len(shape), rank))


def _folded(moves: Primitives, values: Any, shape: Shape, axes: Sequence[int]) -> Any:
    """The sums of values over the axes along which an operand of this shape was repeated.

    The axes of the operand, right-aligned, are `axes` of the values. The order of the sums is that of the points,
    whereas the order of `torch.sum` depends on the number of threads.
    """
    if tuple(values.shape) == tuple(shape):
        return values
    size = numel(shape)
    view = [1] * values.ndim
    for axis, extent in zip(reversed(axes), reversed(shape), strict=False):
        view[axis] = extent
    slots = torch.arange(size, device=values.device).reshape(view).expand(values.shape)
    return moves.accumulate(FLAT, values, [slots], None, (size,)).reshape(shape)


class ScatterRule:
    """The derivatives of one scatter at its arguments.

    The result is ``to_result(input's tangent, source's tangent)``, which is linear; `to_input` and `to_source` are its
    adjoints. With Cx and Cs for the derivatives of an element with respect to itself and to one of its values::

        tangent[e]  = Cx[e] * input'[e] + sum over points p of e: Cs[p] * source'[p]
        d_input[e]  = conj(Cx[e]) * gradient[e]
        d_source[p] = conj(Cs[p]) * gradient[element of p]

    `input`, `source` and `result` are None where the derivatives do not depend on them.
    """

    def __init__(
        self,
        moves: Primitives,
        move: Move,
        combine: Combine,
        shape: Shape,
        source_shape: Shape,
        indices: Sequence[Any],
        mask: Any,
        input: Any = None,
        source: Any = None,
        result: Any = None,
    ) -> None:
        self.moves, self.move, self.combine = moves, move, combine
        self.shape, self.source_shape = shape, source_shape
        self.indices, self.mask = indices, mask
        self.input, self.source, self.result = input, source, result
        self._index_shapes = [tuple(index.shape) for index in indices]
        self._points = gather_shape(move, shape, self._index_shapes)
        self._found: tuple[Any, Any, Any] | None = None

    @staticmethod
    def needs_values(combine: Combine) -> bool:
        """Whether the derivatives depend on the arguments and the result."""
        return combine.reduce in ("mul", "min", "max")

    # ---- the adjoints

    def to_input(self, gradient: Any) -> Any:
        """The gradient of the input."""
        reduce, include_self, _ = self.combine
        if reduce in ("min", "max"):
            of_input, _, number = self._shares()
            return gradient / number * of_input
        if reduce is None or not include_self:
            return self._cleared(gradient)
        if reduce == "mean":
            return gradient / self._counts(gradient)
        if reduce == "mul":
            product = self._product(torch.ones_like(_wide(self.input)), _wide(self.source))
            return (gradient * product.conj()).to(gradient.dtype)
        return gradient

    def to_source(self, gradient: Any) -> Any:
        """The gradient of the source, in its own shape."""
        reduce = self.combine.reduce
        if reduce is None:
            at_points = self._read(gradient, self._kept())
        elif reduce == "mean":
            at_points = self._read(gradient / self._counts(gradient))
        elif reduce == "mul":
            at_points = self._read(gradient) * self._others().conj()
        elif reduce in ("min", "max"):
            _, of_source, number = self._shares()
            at_points = self._read(gradient / number) * of_source
        else:
            at_points = self._read(gradient)
        return self._in_source_shape(at_points).to(gradient.dtype)

    def to_result(self, input: Any, source: Any) -> Any:
        """The tangent of the result; a tangent that is None is zero."""
        like = source if input is None else input
        tangent = like.new_zeros(self.shape) if input is None else input
        reduce, include_self, _ = self.combine
        if not self.needs_values(self.combine):
            source = like.new_zeros(()) if source is None else source
            return self.moves.scatter(self.move, self.combine, tangent, self.indices, source, self.mask)
        values = None if source is None else self._at_points(source)
        if reduce == "mul":
            own = self._cleared(tangent) if not include_self else self.to_input(tangent.conj()).conj()
            return own if values is None else (own + self._sum(self._others() * values)).to(like.dtype)
        of_input, of_source, number = self._shares()
        own = tangent * (of_input / number)
        return own if values is None else own + self._sum(of_source * values) / number

    # ---- the points

    def _read(self, array: Any, mask: Any = None) -> Any:
        """For each point the element of its target; 0 at points that write nothing."""
        pad = self.move if self.move.bounds != "drop" else self.move._replace(bounds="fill")
        return self.moves.gather(pad, array, self.indices, self.mask if mask is None else mask, None)

    def _sum(self, values: Any) -> Any:
        return self.moves.accumulate(self.move, values, self.indices, self.mask, self.shape)

    def _is_leading(self) -> bool:
        """Whether the points use the leading part of a larger source."""
        if self.move.planner != "along_axis" or self.move.match != "prefix":
            return False
        own = self.source_shape
        fits = all(n in (1, m) for n, m in zip(reversed(own), reversed(self._points), strict=False))
        return len(own) == len(self._points) and not fits

    def _at_points(self, source: Any) -> Any:
        """The source with one value for each point."""
        if self._is_leading():
            return source[tuple(slice(extent) for extent in self._points)]
        return source.expand(self._points)

    def _in_source_shape(self, gradient: Any) -> Any:
        """The gradient of the source, given its gradient at each point."""
        if self._is_leading():
            pads = [(0, n - m) for n, m in zip(self.source_shape, self._points, strict=True)]
            return torch.nn.functional.pad(gradient, [side for pad in reversed(pads) for side in pad])
        return _folded(self.moves, gradient, self.source_shape, range(len(self._points)))

    def _cleared(self, array: Any) -> Any:
        """The array with zeros at the elements that a point writes to."""
        zero = array.new_zeros(())
        return self.moves.scatter(self.move, SET, array, self.indices, zero, self.mask)

    def _kept(self) -> Any:
        """A mask of the points whose value is in the result of a plain scatter; None stands for all that write."""
        if self.combine.duplicates == "error":
            return None
        move, slots, _ = slots_of(self.move, self.shape, self._index_shapes)
        shape = index_shape(move, slots, self._index_shapes)
        size = numel(shape)
        device = self.indices[0].device if self.indices else None
        numbers = torch.arange(size, device=device).reshape(shape)
        empty = torch.full(slots, -1, device=device)
        writers = self.moves.scatter(move, self.combine, empty, self.indices, numbers, self.mask)
        pad = move._replace(bounds="fill") if move.bounds == "drop" else move
        no_point = torch.full((), -2, device=device)
        return self.moves.gather(pad, writers, self.indices, self.mask, no_point) == numbers

    # ---- the coefficients of reductions

    def _counts(self, like: Any) -> Any:
        """How many values each element is the mean of, in a shape that broadcasts."""
        move, slots, view = slots_of(self.move, self.shape, self._index_shapes)
        real = like.real.dtype if like.is_complex() else like.dtype
        wide = real if real is torch.float64 else torch.float32
        one = torch.ones((), dtype=wide, device=like.device)
        ones = one.expand(index_shape(move, slots, self._index_shapes))
        counts = self.moves.accumulate(move, ones, self.indices, self.mask, slots)
        counts = counts + 1 if self.combine.include_self else counts.clamp(min=1)
        return counts.reshape(view).to(real)

    def _shares(self) -> tuple[Any, Any, Any]:
        """Which elements and values are the minimum or maximum, as 0 and 1, and how many of them share an element."""
        if self._found is None:
            self._found = self._find_shares()
        return self._found

    def _find_shares(self) -> tuple[Any, Any, Any]:
        result = self.result.detach()
        dtype = result.dtype
        # Without NaN, which only a look at the values can exclude, one comparison is enough.
        has_no_nan = _is_read() and not result.is_meta and not result.isnan().any()
        is_same = torch.eq if has_no_nan else _is_same
        of_input = is_same(self.input.detach(), result).to(dtype)
        if not self.combine.include_self:
            of_input = self._cleared(of_input)
        of_source = is_same(self._at_points(self.source.detach()), self._read(result)).to(dtype)
        number = of_input + self._sum(of_source)
        return of_input, of_source, number

    def _others(self) -> Any:
        """For each point the product of the other values of its element, the element itself among them if it counts.

        The result divided by the value, so that it is finite where both are. A value of 0 cannot divide: it gets the
        product of the values that are not 0, times the other zero where there is one more, for second derivatives.
        """
        source, input = _wide(self._at_points(self.source)), _wide(self.input)
        if self.mask is not None or self.move.bounds == "fill":  # values that are not written may be 0 or NaN
            everywhere = torch.ones((), dtype=torch.bool, device=source.device).expand(self.shape)
            source = torch.where(self._read(everywhere), source, 1)
        own = input if self.combine.include_self else torch.ones_like(input)
        is_zero = (source == 0).detach()
        without_zeros = torch.where(is_zero, 1, source)
        quotient = self._read(self._product(own, source)) / without_zeros
        if not _may_be(is_zero):
            return quotient
        zeros = self._read(self._sum(is_zero.to(torch.float64)))
        others = torch.where(is_zero & (zeros <= 2), self._read(self._product(own, without_zeros)), 0)
        if _may_be(is_zero & (zeros == 2)):
            zero = torch.where(is_zero, source, 0)
            others = others * torch.where(zeros == 2, self._read(self._sum(zero)) - zero, 1)
        return torch.where(is_zero, others, quotient)

    def _product(self, start: Any, values: Any) -> Any:
        return self.moves.scatter(self.move, Combine("mul", True, "last"), start, self.indices, values, self.mask)


def _wide(array: Any) -> Any:
    """The array with at least the range of float32, in which products of half-precision numbers are finite."""
    return array.to(torch.float32) if array.dtype in (torch.float16, torch.bfloat16) else array


def _may_be(condition: Any) -> bool:
    """Whether a condition may hold somewhere."""
    return not _is_read() or condition.is_meta or bool(condition.any())


def _is_read() -> bool:
    """Whether values can be read: in a graph and in a transform they cannot."""
    return not (torch._C._len_torch_dispatch_stack() or torch._C._are_functorch_transforms_active())


def _is_same(a: Any, b: Any) -> Any:
    """Whether two values are equal, or both are NaN."""
    return (a == b) | ((a != a) & (b != b))
