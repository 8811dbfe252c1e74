"""scatter.py: the operator `scatter`, which writes or accumulates elements along a dim, or slices along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._ops.forms import UNSET, array_of, check_exchange, scattered_slices_in
from gatherscatter._ops.keywords import Duplicates, HasShape, Negative, Reduce, ScatterBounds
from gatherscatter._ops.operator import SCATTER_KEYWORDS, CallForm, operator, overloaded
from gatherscatter._values.integers import number_of_axis
from gatherscatter._values.source import as_source

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gatherscatter._ops.keywords import ScatterKeywords

__all__ = ["scatter"]

ArrayT = TypeVar("ArrayT")
ScalarT = TypeVar("ScalarT", bound=np.generic)


# No integer: an integer in second place is a dim.
_Indices = Sequence[Any] | HasShape


@overload
def scatter(
    input: Sequence[Any],
    dim: Any = ...,
    index: Any = ...,
    src: Any = ...,
    batch_dims: int = ...,
    *,
    axis: Any = ...,
    indices: Any = ...,
    **keywords: Unpack[ScatterKeywords[Any]],
) -> npt.NDArray[Any]: ...
@overload
def scatter(
    input: npt.NDArray[ScalarT],
    dim: int | np.integer[Any],
    index: Any,
    src: Any,
    **keywords: Unpack[ScatterKeywords[npt.NDArray[ScalarT]]],
) -> npt.NDArray[ScalarT]: ...
@overload
def scatter(
    input: npt.NDArray[ScalarT],
    indices: _Indices,
    src: Any,
    axis: int | np.integer[Any] = ...,
    batch_dims: int = ...,
    **keywords: Unpack[ScatterKeywords[npt.NDArray[ScalarT]]],
) -> npt.NDArray[ScalarT]: ...
@overload
def scatter(
    input: ArrayT,
    dim: int | np.integer[Any],
    index: Any,
    src: Any,
    **keywords: Unpack[ScatterKeywords[ArrayT]],
) -> ArrayT: ...
@overload
def scatter(
    input: ArrayT,
    indices: _Indices,
    src: Any,
    axis: int | np.integer[Any] = ...,
    batch_dims: int = ...,
    **keywords: Unpack[ScatterKeywords[ArrayT]],
) -> ArrayT: ...
@overload
def scatter(
    input: ArrayT,
    indices: int | np.integer[Any],
    src: Any,
    *,
    axis: int | np.integer[Any],
    **keywords: Unpack[ScatterKeywords[ArrayT]],
) -> ArrayT: ...
@overloaded
@operator(
    CallForm("along_axis", "input", "axis", "index", "source", keywords=("out", *SCATTER_KEYWORDS)),
    CallForm("take_axis", "input", "index", "source", "axis", keywords=("axis", "out", *SCATTER_KEYWORDS), axis=0),
)
def scatter(
    input: Any,
    dim: Any = UNSET,
    index: Any = UNSET,
    src: Any = UNSET,
    batch_dims: Any = UNSET,
    *,
    axis: Any = UNSET,
    indices: Any = UNSET,
    reduce: Reduce | None = None,
    include_self: bool = True,
    duplicates: Duplicates = "last",
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Write elements along a dimension, or slices along an axis, of a copy of `input`, or accumulate them there.

    The reverse of `gather`. There are two forms. Keywords select the form, or else the type of the second argument: an
    integer is a `dim`, an array (also a 0-d array) or a list is `indices`. With ``axis=`` and `src` alone, an integer
    is one number of `indices`: ``scatter(x, 2, row, axis=0)`` writes one row.

    ``scatter(input, dim, index, src)`` is elementwise: for every point of the index, in ascending flat position::

        result[index[i, j, k], j, k]  = src[i, j, k]     # dim = 0
        result[index[i, j, k], j, k] += src[i, j, k]     # reduce = "add"

    ``scatter(input, indices, src, axis=0, batch_dims=0)`` writes slices; `input` and `indices` share `batch_dims`
    leading axes::

        result[B, M, indices[B, I], T]  = src[B, M, I, T]
        result[B, M, indices[B, I], T] += src[B, M, I, T]     # reduce = "add"

    Every `reduce` starts from the element of `input`, so ``"mean"`` counts that element as one of the values, as torch
    does; ``include_self=False`` leaves it out.

    Parameters
    ----------
    input : array, shape (n_0, .., n_r)
        Any array, as in `gather`, or a list. Elements that no index refers to are copied to the result.
    dim : int
        Dimension of the elementwise form, in [-rank, rank).
    index : array of integers
        It has the rank of `input` and is at most as long on every axis except `dim`. Any integer dtype of any library,
        or lists. One of shape (n, 1) with `dim` 0 fills the first column alone, whatever the width of `src`; whole rows
        are ``scatter(input, indices, src, axis=0)`` with `indices` of shape (n,).
    src : scalar, array or nested list
        An array has exactly the dtype of `input`. In the elementwise form it broadcasts to the shape of `index`; or it
        has the rank of `index` and is at least as long on every axis, and its leading part is used. In the slices form
        it broadcasts to the shape of ``gather(input, indices, axis, batch_dims)``. Numbers must fit the dtype, alone
        and in lists.
    indices : array of integers
        Of any shape; the second argument of the slices form.
    axis : int or integer array of rank 0, default 0
        Axis of the slices form, in [-rank, rank).
    batch_dims : int, default 0
        Number of leading axes that `input` and `indices` share, as in `gather`.
    reduce : str, optional
        None writes. ``"add"`` (or ``"sum"``), ``"mul"`` (``"prod"``, ``"multiply"``), ``"min"`` (``"amin"``), ``"max"``
        (``"amax"``) and ``"mean"`` combine all values that belong to one element.
    include_self : bool, default True
        With `reduce`: whether the element of `input` is one of the combined values. If False, an element to which the
        index refers starts from its first value; all other elements stay unchanged.
    duplicates : {"last", "first", "error"}, default "last"
        Without `reduce`: which of several values for one element is kept, by flat position in the index; ``"error"``
        raises an error if there are several.
    bounds : {"raise", "deferred", "drop", "clip", "wrap", "unchecked"}, default "raise"
        Handling of an index that is out of bounds. ``"raise"`` raises an error, ``"deferred"`` as in `gather`.
        ``"drop"`` writes nothing, ``"clip"`` writes to the nearest position, ``"wrap"`` to the index modulo the size.
        ``"unchecked"`` checks nothing: the caller guarantees that every index is in bounds.
    negative : {"from_end", "out_of_bounds"}, default "from_end"
        Whether -1 is the last position or out of bounds.
    mask : array of bool, optional
        Broadcasts one way to the shape of the index or the indices. Where it is False, nothing is written and the index
        is ignored.
    out : array, optional
        Of the shape and dtype of `input`. Written to and returned; ``out=input`` works in place. It may overlap any
        argument; the result is as if they had been copied.

    Returns
    -------
    array
        Of the library, shape, dtype and device of `input`, C-contiguous; or `out`.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds. It is an IndexError, ValueError and RuntimeError, and gives the lowest bad
        position.
    TypeError
        If an index is not of integers, a mask not of bool, `src` or `out` of another dtype; if `reduce` is not defined
        for the dtype (`min` of complex numbers, `mean` of bool, any `reduce` of dtypes without numbers); if the two
        forms are mixed.
    ValueError
        If shapes, ranks or `batch_dims` do not fit, a number does not fit the dtype, two positions refer to one element
        under ``duplicates="error"``, `out` is read-only or overlaps itself, or `duplicates` is given together with
        `reduce`.
    numpy.exceptions.AxisError
        If `dim` or `axis` is out of range (a ValueError and IndexError).

    Notes
    -----
    Semantics of ``torch.Tensor.scatter`` and ``scatter_reduce``, with negative indices and defined duplicates. The
    slices form is NumPy's ``t[i] = s`` for axis 0, and torch's ``index_copy`` and ``index_add`` for any axis. An error
    leaves all arguments unchanged, also `out`. The bytes of a reduction do not depend on the number of threads: values
    are combined in ascending flat position, integers wrap around, and floats narrower than 32 bits are accumulated in
    float32 and rounded once. `min` and `max` propagate NaN. Every computed NaN is the positive quiet NaN. An integer
    `mean` divides a sum in 64 bits and is rounded down.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.scatter(np.zeros((3, 3), int), 0, [[0, 1, 2], [2, 0, 0]], [[1, 2, 3], [4, 5, 6]])
    array([[1, 5, 6],
           [0, 2, 0],
           [4, 0, 3]])
    >>> gs.scatter(np.zeros(3, int), 0, [1, 0, 1, -1], 1, reduce="add")
    array([1, 2, 1])
    >>> gs.scatter(np.zeros((3, 2), int), [2, 0], [[1, 2], [3, 4]])
    array([[3, 4],
           [0, 0],
           [1, 2]])
    >>> gs.scatter(np.zeros((2, 3), int), [0, 0, 2], 5, axis=1, reduce="add")
    array([[10,  0,  5],
           [10,  0,  5]])
    >>> x = np.array([10.0, 20.0, 30.0])
    >>> gs.scatter(x, 0, [2, 2], [1.0, 2.0], reduce="mean", include_self=False, out=x) is x, x
    (True, array([10. , 20. ,  1.5]))
    """
    input = array_of("scatter", input)
    if type(dim) is not int or not (axis is batch_dims is indices is UNSET):
        found = scattered_slices_in("scatter", dim, index, src, axis, batch_dims, indices)
        if found is not None:
            slices, source = found
            check_exchange("scatter", slices.indices, source, "scatter(input, indices, src)")
            source = as_source("scatter", input, _given("src", source))
            rules = bounds, negative, reduce, include_self, duplicates
            return _core.scatter_axis(
                "scatter", input, slices.indices, slices.axis, slices.batch_dims, source, *rules, mask, out
            )
        dim = number_of_axis("scatter", "dim", dim)
    check_exchange("scatter", index, src, "scatter(input, dim, index, src)")
    index, source = _given("index", index), as_source("scatter", input, _given("src", src))
    rules = bounds, negative, reduce, include_self, duplicates
    return _core.scatter_along("scatter", input, index, dim, "prefix", source, *rules, mask, out)


def _given(name: str, value: Any) -> Any:
    if value is UNSET:
        raise TypeError(
            f"scatter: {name} is missing; elements are scatter(input, dim, index, src), rows "
            "scatter(input, indices, src, axis=0)"
        )
    return value
