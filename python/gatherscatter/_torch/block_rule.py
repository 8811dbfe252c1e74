"""block_rule.py: gradients of minima, maxima and products that nothing records, computed in blocks of points."""

from __future__ import annotations

from typing import Any

from gatherscatter import _core
from gatherscatter._moves.geometry import ADD, numel, scatter_call
from gatherscatter._moves.rules import ScatterRule

__all__ = ["BlockRule"]

_MOST = 2**31 - 1  # `_core` counts in 32 bits


class BlockRule(ScatterRule):
    """The rule for tensors in host memory: no array with an item for each point is made but the gradient, and copies of
    values that are no packed float32 or float64."""

    def takes(self, gradient: Any) -> bool:
        """Whether a gradient that nothing records is one of them."""
        sizes = numel(self._points), numel(self.shape)
        if not (_core.is_plain(gradient) and gradient.is_floating_point() and gradient.device.type == "cpu"):
            return False
        return bool(min(sizes) > 0 and max(sizes) < _MOST)

    def gradients(self, gradient: Any, needs_input: bool, needs_source: bool) -> tuple[Any, Any]:
        """The gradients of input and source; None where none is needed."""
        dtype, gradient = gradient.dtype, self._packed(gradient)
        if self.combine.reduce == "mul":
            of_input = self._of_first_factor(gradient) if needs_input else None
            at_points = self._of_factors(gradient) if needs_source else None
        else:
            of_input, at_points = self._of_extremes(gradient)
        cast = self.arrays.cast
        return (
            cast(of_input, dtype) if needs_input else None,
            cast(self._in_source_shape(at_points), dtype) if needs_source else None,
        )

    def _of_extremes(self, gradient: Any) -> tuple[Any, Any]:
        """The shares of the elements and of their values in the gradient of a minimum or maximum."""
        own = self._packed(self.input) if self.combine.include_self else None
        values = self._packed(self._at_points(self.source))
        to_input, to_source = self._empty_like(gradient), self._empty_like(values)
        _core.share_extremes(self._call(self._packed(self.result), values), gradient, own, to_input, to_source)
        return to_input, to_source

    def _of_factors(self, gradient: Any) -> Any:
        """The gradient of each factor of a product."""
        values = self._packed(self._at_points(self.source))
        own = self._packed(self.input) if self.combine.include_self else None
        result = self._packed(self.result)
        if self.result.dtype != values.dtype:  # the result is rounded
            result = self._product(self._ones() if own is None else own, values)
        to = self._empty_like(values)
        _core.share_product(self._call(result, values), gradient, own, to)
        return to

    def _of_first_factor(self, gradient: Any) -> Any:
        """The gradient of the elements of a product, which are its first factors unless they do not take part."""
        if not self.combine.include_self:
            return self._cleared(gradient)
        one = gradient.new_ones(()).expand(self.shape)
        return self._product(one, self._packed(self._at_points(self.source))).mul_(gradient)

    def _empty_like(self, array: Any) -> Any:
        return _core.empty_like(self.move.op, array)

    def _packed(self, array: Any) -> Any:
        """The values of an array, in C order and of a dtype that holds products."""
        return self.arrays.wide(self.arrays.constant(array)).resolve_neg().contiguous()

    def _call(self, targets: Any, values: Any) -> Any:
        return scatter_call(self.move, ADD, targets, self.indices, values, self.mask)
