"""plan.py: `plan`, which checks the geometry of a call once, and `explain`, which describes a call before it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.of_xarray import on_plain_values, values_in
from gatherscatter._libraries.private_lists import private
from gatherscatter._ops.forms import array_of
from gatherscatter._ops.keywords import Duplicates, Reduce
from gatherscatter._ops.plan_html import as_html, size_text
from gatherscatter._settings.config import threshold_sources
from gatherscatter._values.source import as_source
from gatherscatter.errors import type_name

_P = ParamSpec("_P")
_Result = TypeVar("_Result")
# The makers of plans of functions that are no operators of arrays, by function; `gatherscatter.table` adds its own.
_makers: dict[Any, Callable[..., Any]] = {}


def plan_by(function: Callable[..., Any], make: Callable[..., Any]) -> None:
    """Have `plan` call ``make(*args, **kwargs)`` for this function."""
    _makers[function] = make


def _amount(number: int, name: str) -> str:
    """A number with its unit; of bytes the largest of which it is a multiple of a quarter."""
    if "bytes" in name:
        for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if number >= scale and number * 4 % scale == 0:
                return f"{number / scale:,.12g} {unit}"
        return f"{number:,} B"
    return f"{number:,}"


def _decision_text(facts: dict[str, Any]) -> str:
    """One decision as a line: what was chosen, and the comparison by which."""
    start = f"{facts['decision']}: {facts['chosen']}, "
    if "reason" in facts:
        return f"{start}{facts['reason']}"
    quantity, threshold, amount, value = (facts[key] for key in ("quantity", "threshold", "amount", "value"))
    sign = ">=" if amount >= value else "<"
    numbers = f"{quantity} {_amount(amount, quantity)} {sign} {threshold} {_amount(value, threshold)}"
    return f"{start}{numbers} ({facts['source']})"


def _planned_array(core: _core.Plan, given: Any) -> Any:
    """The array of a call of a plan. A list has no dtype of its own; it gets the planned one if that loses nothing."""
    if not isinstance(given, list | tuple):
        return values_in(given)
    facts = core.to_dict()
    array = array_of(facts["op"], private(given))
    try:
        planned = np.dtype(facts["input"].partition(" ")[0])
    except TypeError:  # a dtype that NumPy does not have, such as bfloat16
        return array
    if array.dtype == planned or not {array.dtype.kind, planned.kind} <= set("iufc"):
        return array
    with np.errstate(all="ignore"):
        cast = array.astype(planned)
    is_rounded = array.dtype.kind + planned.kind in ("ff", "fc", "cc")
    return cast if is_rounded or np.array_equal(cast, array) else array


@_core.plan_class
class Plan(_core.PlanBase, Generic[_Result]):
    """An operator for arrays of one geometry, which has been checked and can run any number of times.

    `plan` makes it, and calling it runs the operator. Index values are checked at every call. To type checkers it is a
    ``Plan`` of the type that the operator returns. Of a function of `gatherscatter.table` it keeps the schema instead
    of the geometry, and takes the tables and the map or mask of that function.

    Parameters
    ----------
    input : array
        Of the shape, strides and dtype that the plan was made for; any library. A list becomes an array of NumPy.
    indices : array of integers, or a tuple of them
        As in the planned operator: `index` or `indices`, a tuple for `tile_gather` and `tile_scatter`.
    src : scalar, array or nested list
        The new values, as in the operator; required by plans of scatters and only valid there. Also a plan of
        `tile_scatter` returns a new array, unless `out` is given.
    mask : array of bool, optional
        Required if the plan was made with a mask, and else not valid.
    out : array, optional
        Written to and returned.

    Raises
    ------
    ValueError
        If geometry or dtype of an argument differ from those of the plan.
    OutOfBoundsError
        As in the operator.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> again = gs.plan(gs.gather, x, 1, np.array([[2], [0]]))
    >>> again(10 * x, np.array([[1], [1]]))
    array([[10.],
           [40.]])
    """

    __slots__ = ()

    def __init__(self, core: _core.Plan) -> None:
        self._core = core

    def __call__(self, input: Any, indices: Any, src: Any = None, *, mask: Any = None, out: Any = None) -> _Result:
        input, indices, src = _planned_array(self._core, input), values_in(indices), values_in(src)
        source = None if src is None else as_source("plan", input, private(src))
        result: _Result = self._core(input, indices, source, mask=values_in(mask), out=out)
        return result

    def scatter(
        self,
        target: Any,
        indices: Any,
        src: Any,
        *,
        reduce: Reduce | None = None,
        include_self: bool = True,
        duplicates: Duplicates = "last",
        mask: Any = None,
        out: Any = None,
    ) -> Any:
        """Run the plan in the scatter direction: write `src` where a gather would read, or accumulate it there.

        ``plan.scatter(zeros, indices, gradient, reduce="add")`` is the gradient of the planned gather.

        Parameters
        ----------
        target : array
            Of the shape and dtype of the input that the plan was made for, any strides. It is copied first, unless it
            is also `out`.
        indices : array of integers, or a tuple of them
            As in the call of the plan.
        src : scalar, array or nested list
            Of the dtype of `target`; an array broadcasts to the shape of the gather's result.
        reduce, include_self, duplicates
            As in `scatter`. They hold for this call; those of the plan of a scatter are not used here.
        mask : array of bool, optional
            As in `scatter`; valid for all plans, and needed for those that were made with one.
        out : array, optional
            Of the shape and dtype of `target`. Written to and returned; ``out=target`` works in place.

        Returns
        -------
        array
            Of the shape and dtype of `target`; or `out`.

        Raises
        ------
        OutOfBoundsError
            If an index is out of bounds. Points for which a gather gives the fill value write nothing.
        TypeError, ValueError
            As in `scatter`; a ValueError if an argument has another geometry than planned.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> x, ids = np.zeros((3, 2)), np.array([2, 0, 2])
        >>> rows = gs.plan(gs.take, x, ids, axis=0)
        >>> rows.scatter(x, ids, np.ones((3, 2)), reduce="add")
        array([[1., 1.],
               [0., 0.],
               [2., 2.]])
        """
        target, indices, src = _planned_array(self._core, target), values_in(indices), values_in(src)
        source = as_source("Plan.scatter", target, private(src))
        return self._core.scatter(target, indices, source, reduce, include_self, duplicates, values_in(mask), out)

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by plain Python values.

        Returns
        -------
        dict
            ``op``, ``planner``, ``input``, ``indices``, ``mask``, ``result_shape`` (in a scatter the shape to which
            `src` broadcasts), ``direction``, ``bounds``, ``negative``, ``kind`` (class of the innermost loop),
            ``unit_bytes`` (bytes moved at one point), ``points``, ``bytes_moved``, ``tiles``, ``backend``, ``kernel``,
            ``threads`` and ``decisions``; in a scatter also ``src``, ``reduce`` and ``duplicates``. Each of the
            ``decisions`` is a dict with ``decision`` (its name) and ``chosen``; and with ``quantity`` and ``amount``
            (what was measured), ``threshold`` and ``value`` (what it was compared with) and ``source`` (where the value
            comes from, as in `show_config`), or with the ``reason`` if no threshold decided.
        """
        facts: dict[str, Any] = self._core.to_dict()
        sources = threshold_sources()
        for decision in facts["decisions"]:
            if "threshold" in decision:
                decision["source"] = sources[decision["threshold"]]
        return facts

    def __repr__(self) -> str:
        facts = self.to_dict()
        indices = ", ".join(facts["indices"]) or f"mask {facts['mask']}"
        first = (
            f"Plan({facts['op']}: {facts['input']} by {indices} -> {facts['result_shape']}; {facts['kind']} of "
            f"{facts['unit_bytes']} B, {facts['bytes_moved']:,} B in all, kernel {facts['kernel']}, "
            f"{facts['threads']} thread{'s' if facts['threads'] != 1 else ''})"
        )
        return "\n  ".join([first, *map(_decision_text, facts["decisions"])])

    def _repr_html_(self) -> str:
        facts = self.to_dict()
        decisions = [(str(facts_of["decision"]), _decision_text(facts_of)) for facts_of in facts["decisions"]]
        why = dict(decisions).get("threads", decisions[0][1] if decisions else "")
        shown = {
            "input": facts["input"],
            "indices": ", ".join(facts["indices"]) or f"mask {facts['mask']}",
            "result": facts["result_shape"],
            "bytes moved": f"{size_text(facts['bytes_moved'])} in units of {size_text(facts['unit_bytes'])}",
            "kernel": facts["kernel"],
            "threads": facts["threads"],
        }
        details = [(key, value) for key, value in facts.items() if key != "decisions"]
        details += [("decision", text) for _, text in decisions]
        return as_html(f"Plan of {facts['op']}", shown, why, details)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (self._core,)


def plan(op: Callable[_P, _Result], /, *args: _P.args, **kwargs: _P.kwargs) -> Plan[_Result]:
    """Check the geometry of a call once, and return a plan that runs the call with other data.

    Parameters
    ----------
    op : callable
        An operator of this package, such as `gather`, or a function of `gatherscatter.table`.
    *args, **kwargs
        Its arguments, which type checkers compare with its parameters. Nothing is computed, and index values are not
        read.

    Returns
    -------
    Plan
        Call it with new data of the planned geometry; that of a table function with new tables of the planned schema.

    Raises
    ------
    TypeError, ValueError
        As in the operator for arguments that do not fit; TypeError if `op` is not an operator, and for what can be read
        only once, such as a generator or a reader.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> rows = gs.plan(gs.take, np.zeros((100, 8)), np.arange(5), axis=0)
    >>> rows.to_dict()["result_shape"], rows.to_dict()["unit_bytes"]
    ((5, 8), 64)
    """
    operator: Any = op
    given: tuple[Any, ...] = args
    words: dict[str, Any] = kwargs
    while isinstance(operator, functools.partial):
        operator, given, words = operator.func, operator.args + given, {**operator.keywords, **words}
    make = _makers.get(operator) if isinstance(operator, FunctionType) else None
    if make is not None:
        made: Plan[_Result] = make(*given, **words)
        return made
    for value in (*given, *words.values()):
        if hasattr(type(value), "__next__"):
            raise TypeError(
                f"plan: an argument is a {type_name(value)}, expected an array: making the plan would use up its "
                "items, which can be read only once; list(x) keeps them"
            )
    given, words = on_plain_values(operator, given, words)
    return Plan(_core.plan_of(operator, *given, **words))


def explain(op: Callable[_P, _Result], /, *args: _P.args, **kwargs: _P.kwargs) -> Plan[_Result]:
    """Describe a call without running it.

    Parameters
    ----------
    op : callable
        An operator of this package, or a function of `gatherscatter.table`.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    Plan
        The result of `plan`; its ``repr`` and its notebook display show kind, kernel, bytes, threads, and by
        which number each decision was made.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.explain(gs.take, np.zeros(10), np.arange(3)).to_dict()["kind"]
    'elements'
    """
    return plan(op, *args, **kwargs)
