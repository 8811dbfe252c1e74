"""plan.py: `plan`, which checks the geometry of a call once, and `explain`, which describes a call before it runs."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable
from typing import Any

from gatherscatter import _core
from gatherscatter._ops.keywords import Duplicates, Reduce
from gatherscatter._settings.config import threshold_sources
from gatherscatter._values.source import as_source


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


@_core.plan_class
class Plan(_core.PlanBase):
    """An operator for arrays of one geometry, which has been checked and can run any number of times.

    `plan` makes it, and calling it runs the operator. Index values are checked at every call.

    Parameters
    ----------
    input : array
        Of the shape, strides and dtype that the plan was made for; any library.
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

    def __call__(self, input: Any, indices: Any, src: Any = None, *, mask: Any = None, out: Any = None) -> Any:
        if src is None:
            return self._core(input, indices, mask=mask, out=out)
        return self._core(input, indices, as_source("plan", input, src), mask=mask, out=out)

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
            As in `scatter`; valid for plans that were made with or without a mask.
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
        source = as_source("Plan.scatter", target, src)
        return self._core.scatter(target, indices, source, reduce, include_self, duplicates, mask, out)

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
        cells = [(key, str(value)) for key, value in facts.items() if key != "decisions"]
        cells += [("decision", _decision_text(decision)) for decision in facts["decisions"]]
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in cells
        )
        return f"<table>{rows}</table>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __reduce__(self) -> tuple[type[Plan], tuple[_core.Plan]]:
        return Plan, (self._core,)


def plan(op: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Plan:
    """Check the geometry of a call once, and return a plan that runs the call with other data.

    Parameters
    ----------
    op : callable
        An operator of this package, such as `gather`.
    *args, **kwargs
        Its arguments. Nothing is computed, and index values are not read.

    Returns
    -------
    Plan
        Call it with new data of the planned geometry.

    Raises
    ------
    TypeError, ValueError
        As in the operator for arguments that do not fit; TypeError if `op` is not an operator.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> rows = gs.plan(gs.take, np.zeros((100, 8)), np.arange(5), axis=0)
    >>> rows.to_dict()["result_shape"], rows.to_dict()["unit_bytes"]
    ((5, 8), 64)
    """
    operator: Any = op
    while isinstance(operator, functools.partial):
        operator, args, kwargs = operator.func, operator.args + args, {**operator.keywords, **kwargs}
    return Plan(_core.plan_of(operator, *args, **kwargs))


def explain(op: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Plan:
    """Describe a call without running it.

    Parameters
    ----------
    op : callable
        An operator of this package.
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
