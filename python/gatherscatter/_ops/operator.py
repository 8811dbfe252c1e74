"""operator.py: the decorator that makes an operator of the Python function that defines it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, Literal, TypeVar

from gatherscatter import _core
from gatherscatter._libraries.private_lists import private

__all__ = ["GATHER_KEYWORDS", "SCATTER_KEYWORDS", "CallForm", "Keyword", "RuleWord", "bind", "operator", "overloaded"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Required:
    """The default of an axis that must be given."""


_REQUIRED: Final = _Required()
Part = Literal["input", "index", "source", "axis", "out"]


# A keyword, its value, and the bounds and negative that it stands for.
RuleWord = tuple[str, str, str, str]

# The keywords that the binding knows, with their words.
Keyword = Literal["axis", "out", "bounds", "negative", "fill_value", "mask", "reduce", "include_self", "duplicates"]
GATHER_KEYWORDS: Final[tuple[Keyword, ...]] = ("bounds", "negative", "fill_value", "mask")
SCATTER_KEYWORDS: Final[tuple[Keyword, ...]] = (
    "bounds",
    "negative",
    "reduce",
    "include_self",
    "duplicates",
    "mask",
)


class CallForm:
    """A form of call that runs without a Python frame if its arrays are NumPy arrays or torch tensors.

    The arguments of a call are read by the first form that they fit. A call that no form reads, and a call whose
    arguments do not fit together, is run by the definition of the operator, which must do the same. Without a word that
    says otherwise, the rule is ``bounds="raise", negative="from_end"``, and a scatter sets and keeps the last of
    duplicates.

    Parameters
    ----------
    planner : str
        What makes the plan. With "coordinates", the last axis of the index holds a number for each axis of the input.
        "tile" is for the tile operators, whose index may be a tuple and whose keywords the form reads all: a small call
        on NumPy arrays runs without a plan. "compress", "repeat", "roll", "putmask" and "place" are for the operators
        of these names, whose index is a condition, counts, a shift or a mask.
    *positional : str
        What each positional argument is: "input", "index", "source" (the form is a scatter), "axis" (an int), or "out"
        (in place of "input": the call writes to this array).
    keywords : tuple of str
        The keywords that the form reads.
    axis : int or None
        The default of the axis; None means the flattened input. Without it, the axis must be given.
    match : {"prefix", "broadcast"}
        How input and index fit, for "along_axis".
    rules : tuple of RuleWord
        Words of NumPy that set the whole rule, of which a call may have one.
    """

    def __init__(
        self,
        planner: Literal[
            "take_axis", "along_axis", "coordinates", "tile", "compress", "repeat", "roll", "putmask", "place"
        ],
        *positional: Part,
        keywords: tuple[Keyword, ...] = (),
        axis: int | _Required | None = _REQUIRED,
        match: Literal["prefix", "broadcast"] = "prefix",
        rules: tuple[RuleWord, ...] = (),
    ) -> None:
        self.record: dict[str, Any] = {
            "planner": planner,
            "positional": positional,
            "keywords": keywords,
            "match": match,
            "rules": rules,
        }
        if not isinstance(axis, _Required):
            self.record["axis"] = axis


def bind(op: Callable[..., Any], *args: Any, **kwargs: Any) -> _core.Call:
    """The call that an operator would run on these arguments."""
    made: _core.Call = op.bind(*args, **kwargs)  # type: ignore[attr-defined]  # operators are typed as functions
    return made


def overloaded(op: Callable[..., Any]) -> Callable[..., Any]:
    """The operator itself; to type checkers it takes anything, so that overloads may name parameters by their form."""
    return op


def operator(*forms: CallForm, returns_none: bool = False) -> Callable[[_Function], _Function]:
    """Make an operator of the function that defines it.

    The function returns a `_core.Call`, made by a function such as `_core.take_axis`; the operator runs it, and
    `gatherscatter.plan` makes a plan of it. An object of any other type is the result of a call that is no move.

    Parameters
    ----------
    *forms : CallForm
        The most frequent forms of call.
    returns_none : bool
        Whether the operator returns None in place of the array that it has written to.
    """

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            return function(*map(private, args), **{name: private(value) for name, value in kwargs.items()})

        made: Any = _core.operator(run, [form.record for form in forms], returns_none)
        return made  # type: ignore[no-any-return]  # its calls are those of the function

    return decorate
