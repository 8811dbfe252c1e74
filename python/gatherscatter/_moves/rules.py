"""rules.py: the derivatives of moves, which are moves: a gather backward is a sum, a scatter backward a gather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gatherscatter._moves.geometry import (
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
    """The three moves of which every derivative is made, each of them differentiable, and the functions for arrays."""

    gather: Callable[..., Any]
    accumulate: Callable[..., Any]
    scatter: Callable[..., Any]
    arrays: Any


def gradient_of_fill(
    moves: Primitives, move: Move, gradient: Any, shape: Shape, indices: Sequence[Any], mask: Any, fill: Shape
) -> Any:
    """The gradient of a fill value of shape `fill`: the sum over the points that it was given to."""
    arrays = moves.arrays
    no, yes = (arrays.truth(value, gradient) for value in (False, True))
    padded = moves.gather(move, arrays.repeat(no, shape), indices, mask, yes)
    rank = len(index_shape(move, shape, [tuple(index.shape) for index in indices]))
    return _folded(moves, arrays.where(padded, gradient, 0), fill, index_axes(move, len(shape), rank))


def _folded(moves: Primitives, values: Any, shape: Shape, axes: Sequence[int]) -> Any:
    """The sums of values over the axes along which an operand of this shape was repeated.

    The axes of the operand, right-aligned, are `axes` of the values. The order of the sums is that of the points,
    whereas the order of a sum of torch depends on the number of threads.
    """
    if tuple(values.shape) == tuple(shape):
        return values
    size = numel(shape)
    view = [1] * values.ndim
    for axis, extent in zip(reversed(axes), reversed(shape), strict=False):
        view[axis] = extent
    arrays = moves.arrays
    slots = arrays.repeat(arrays.numbers(size, values).reshape(view), values.shape)
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
        self.moves, self.move, self.combine, self.arrays = moves, move, combine, moves.arrays
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

    def gradients(self, gradient: Any, needs_input: bool, needs_source: bool) -> tuple[Any, Any]:
        """The gradients of input and source; None where none is needed."""
        return self.to_input(gradient) if needs_input else None, self.to_source(gradient) if needs_source else None

    def to_input(self, gradient: Any) -> Any:
        """The gradient of the input."""
        reduce, include_self, _ = self.combine
        if reduce in ("min", "max"):
            of_input, _, number = self._shares()
            return self.arrays.cast(self.arrays.where(of_input, self._share(gradient, number), 0), gradient.dtype)
        if reduce is None or not include_self:
            return self._cleared(gradient)
        if reduce == "mean":
            return self.arrays.cast(self._share(gradient, self._counts()), gradient.dtype)
        if reduce == "mul":
            product = self._product(self._ones(), self.arrays.wide(self.source))
            return self.arrays.cast(self.arrays.wide(gradient) * product.conj(), gradient.dtype)
        return gradient

    def to_source(self, gradient: Any) -> Any:
        """The gradient of the source, in its own shape."""
        reduce = self.combine.reduce
        if reduce is None:
            at_points = self._read(gradient, self._kept())
        elif reduce == "mean":
            at_points = self._read(self._kept_narrow(self._share(gradient, self._counts()), gradient.dtype))
        elif reduce == "mul":
            at_points = self.arrays.wide(self._read(gradient)) * self._others().conj()
        elif reduce in ("min", "max"):
            _, of_source, number = self._shares()
            at_points = self._read(self._kept_narrow(self._share(gradient, number), gradient.dtype))
            at_points = self.arrays.where(of_source, at_points, 0)
        else:
            at_points = self._read(gradient)
        return self.arrays.cast(self._in_source_shape(at_points), gradient.dtype)

    def to_result(self, input: Any, source: Any) -> Any:
        """The tangent of the result; a tangent that is None is zero."""
        like = source if input is None else input
        tangent = self.arrays.zeros(self.shape, like) if input is None else input
        reduce, include_self, _ = self.combine
        if not self.needs_values(self.combine):
            source = self.arrays.zeros((), like) if source is None else source
            return self.moves.scatter(self.move, self.combine, tangent, self.indices, source, self.mask)
        if reduce == "mul":
            own = self._cleared(tangent) if not include_self else self.to_input(tangent.conj()).conj()
            if source is None:
                return own
            values = self._sum(self._others() * self._at_points(self.arrays.wide(source)))
            return self.arrays.cast(self.arrays.wide(own) + values, like.dtype)
        own = self.to_input(tangent)
        if source is None:
            return own
        # Each value is divided before the sum, because a sum of whole ones may overflow.
        _, of_source, number = self._shares()
        number = self.arrays.at_least_one(self._read(number))
        values = self._share(self._at_points(self.arrays.wide(source)), number)
        shares = self.arrays.where(of_source, values, 0)
        return self.arrays.cast(self.arrays.wide(own) + self._sum(shares), like.dtype)

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
        return self.arrays.repeat(source, self._points)

    def _in_source_shape(self, gradient: Any) -> Any:
        """The gradient of the source, given its gradient at each point."""
        if self._is_leading():
            return self.arrays.pad(gradient, self.source_shape)
        return _folded(self.moves, gradient, self.source_shape, range(len(self._points)))

    def _cleared(self, array: Any) -> Any:
        """The array with zeros at the elements that a point writes to."""
        return self.moves.scatter(self.move, SET, array, self.indices, self.arrays.zeros((), array), self.mask)

    def _kept(self) -> Any:
        """A mask of the points whose value is in the result of a plain scatter; None stands for all that write."""
        if self.combine.duplicates == "error":
            return None
        move, slots, _ = slots_of(self.move, self.shape, self._index_shapes)
        shape = index_shape(move, slots, self._index_shapes)
        size = numel(shape)
        index = self.indices[0] if self.indices else None
        numbers = self.arrays.numbers(size, index).reshape(shape)
        empty = self.arrays.filled(slots, -1, index)
        writers = self.moves.scatter(move, self.combine, empty, self.indices, numbers, self.mask)
        pad = move._replace(bounds="fill") if move.bounds == "drop" else move
        no_point = self.arrays.filled((), -2, index)
        return self.moves.gather(pad, writers, self.indices, self.mask, no_point) == numbers

    # ---- the coefficients of reductions

    def _share(self, array: Any, number: Any) -> Any:
        """The array divided by integers, in a dtype that holds both them and the quotients."""
        return self.arrays.divide(self.arrays.wide(array), number)

    def _kept_narrow(self, shares: Any, dtype: Any) -> Any:
        """The shares in a dtype of the caller, but as they are where several of them are summed for a repeated source.

        Each is read at many points, so that they are cast before.
        """
        is_repeated = not self._is_leading() and tuple(self.source_shape) != tuple(self._points)
        return shares if is_repeated else self.arrays.cast(shares, dtype)

    def _counts(self) -> Any:
        """How many values each element is the mean of, as integers in a shape that broadcasts."""
        move, slots, view = slots_of(self.move, self.shape, self._index_shapes)
        points = index_shape(move, slots, self._index_shapes)
        index = self.indices[0] if self.indices else None
        ones = self.arrays.repeat(self.arrays.one(numel(points), index), points)
        counts = self.moves.accumulate(move, ones, self.indices, self.mask, slots)
        counts = counts + 1 if self.combine.include_self else self.arrays.at_least_one(counts)
        return counts.reshape(view)

    def _shares(self) -> tuple[Any, Any, Any]:
        """Which elements and values are the minimum or maximum, and how many of them share an element."""
        if self._found is None:
            self._found = self._find_shares()
        return self._found

    def _find_shares(self) -> tuple[Any, Any, Any]:
        arrays = self.arrays
        result = arrays.constant(self.result)
        is_same = arrays.equality(result)
        of_input = is_same(arrays.constant(self.input), result)
        if not self.combine.include_self:
            of_input = self._cleared(of_input)
        values = self._at_points(arrays.constant(self.source))
        of_source = is_same(values, self._read(result))
        most = numel(self._points)
        number = arrays.counted(of_input, most) + self._sum(arrays.counted(of_source, most))
        return of_input, of_source, number

    def _others(self) -> Any:
        """For each point the product of the other values of its element, the element itself among them if it counts.

        The result divided by the value, so that it is finite where both are. A value of 0 cannot divide: it gets the
        product of the values that are not 0, times the other zero where there is one more, for second derivatives.
        """
        arrays = self.arrays
        source = arrays.wide(self._at_points(self.source))
        if self.mask is not None or self.move.bounds == "fill":  # values that are not written may be 0 or NaN
            everywhere = arrays.repeat(arrays.truth(True, source), self.shape)
            source = arrays.where(self._read(everywhere), source, 1)
        own = arrays.wide(self.input) if self.combine.include_self else self._ones()
        is_zero = arrays.constant(source == 0)
        without_zeros = arrays.where(is_zero, 1, source)
        quotient = self._read(self._product(own, source)) / without_zeros
        if not arrays.may_be(is_zero):
            return quotient
        zeros = self._read(self._sum(arrays.counted(is_zero, numel(self._points))))
        others = arrays.where(is_zero & (zeros <= 2), self._read(self._product(own, without_zeros)), 0)
        if arrays.may_be(is_zero & (zeros == 2)):
            zero = arrays.where(is_zero, source, 0)
            others = others * arrays.where(zeros == 2, self._read(self._sum(zero)) - zero, 1)
        return arrays.where(is_zero, others, quotient)

    def _ones(self) -> Any:
        """What a product starts from that does not include the element."""
        return self.arrays.zeros(self.shape, self.arrays.wide(self.input)) + 1

    def _product(self, start: Any, values: Any) -> Any:
        return self.moves.scatter(self.move, Combine("mul", True, "last"), start, self.indices, values, self.mask)
