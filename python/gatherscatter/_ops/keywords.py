"""keywords.py: types of the keyword arguments that several operators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

Bounds = Literal["raise", "deferred", "fill", "clip", "wrap", "unchecked"]
ScatterBounds = Literal["raise", "deferred", "drop", "clip", "wrap", "unchecked"]
GroupBounds = Literal["raise", "drop", "clip", "wrap", "unchecked"]
RowBounds = Literal["raise", "nullify", "unchecked"]
WriteBounds = Literal["raise", "drop", "unchecked"]
Validate = Literal["basic", "full"]
Labels = Literal["take", "reset"]
Negative = Literal["from_end", "out_of_bounds"]
Mode = Literal["raise", "wrap", "clip"]
Reduce = Literal["add", "sum", "mul", "prod", "multiply", "min", "amin", "max", "amax", "mean"]
Duplicates = Literal["last", "first", "error"]

# A nested list or a number, which NumPy converts to an array.
Nested = Sequence[Any] | complex


class HasShape(Protocol):
    """An array of any library."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


# The overloads of operators name these keywords as `**keywords: Unpack[...]`. At run time only the functions
# themselves exist, with all keywords in their signatures: Python 3.10 has neither Unpack nor generic TypedDicts.
if TYPE_CHECKING:
    from typing_extensions import TypedDict

    _Out = TypeVar("_Out")

    class GatherKeywords(TypedDict, Generic[_Out], total=False):
        """Keywords of the operators that gather; `out` is an array like the input."""

        bounds: Bounds
        negative: Negative
        fill_value: Any
        mask: Any
        out: _Out | None

    class ScatterKeywords(TypedDict, Generic[_Out], total=False):
        """Keywords of the operators that scatter; `out` is an array like the input."""

        reduce: Reduce | None
        include_self: bool
        duplicates: Duplicates
        bounds: ScatterBounds
        negative: Negative
        mask: Any
        out: _Out | None

    class TakeKeywords(TypedDict, total=False):
        """Keywords of `take` that NumPy does not have."""

        bounds: Bounds | None
        negative: Negative | None
        fill_value: Any
        mask: Any

    class TileKeywords(TypedDict, total=False):
        """Keywords of `tile_gather`."""

        mask: Any
        padding_value: Any
        check_bounds: bool
        latency: int | None

    class TableGatherKeywords(TypedDict, total=False):
        """Keywords of `table.gather`."""

        columns: Sequence[Any] | None
        negative: Negative | None
        validate: Validate
        memory_budget: int | None
        index: Labels
        fill_value: Any
