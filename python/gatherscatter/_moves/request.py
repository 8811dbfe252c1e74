"""request.py: a call of an operator as torch, JAX and Dask see it: what `parts` of a call of `_core` gives, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gatherscatter._moves.geometry import Combine, Move

__all__ = ["Request"]


class Request(NamedTuple):
    """The words and arguments of a call, in the order of ``call.parts()``."""

    op: str
    planner: str
    input: Any
    index: Any
    axis: int | None
    batch_dims: int
    match: str
    bounds: str  # "drop" in a scatter, where a gather has "fill"
    negative: str
    scatters: bool
    reduce: str | None
    include_self: bool
    duplicates: str
    fill: Any
    mask: Any
    source: Any
    out: Any  # the input, for the operators that work in place

    @property
    def move(self) -> Move:
        bounds = "fill" if self.bounds == "drop" else self.bounds
        return Move(self.op, self.planner, self.axis, self.batch_dims, self.match, bounds, self.negative)

    @property
    def combine(self) -> Combine:
        return Combine(self.reduce, self.include_self, self.duplicates)

    @property
    def indices(self) -> tuple[Any, ...]:
        """The index arrays: none, one, or one for each coordinate."""
        if self.planner == "at_points":
            return tuple(self.index)
        return () if self.index is None else (self.index,)

    def operands(self) -> Iterator[tuple[str, Any]]:
        """The arguments that are read beside the input, by their names in messages."""
        yield from (("src", self.source), ("fill_value", self.fill), ("mask", self.mask))
        yield from (("index", one) for one in self.indices)
