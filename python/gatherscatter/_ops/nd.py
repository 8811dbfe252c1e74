"""nd.py: `gather_nd` and `scatter_nd`, whose indices are coordinates along an axis, or one array for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._libraries.nested import has_arrays
from gatherscatter._ops.forms import array_of, check_exchange, check_number
from gatherscatter._ops.keywords import Bounds, Duplicates, Negative, Reduce, ScatterBounds
from gatherscatter._ops.operator import GATHER_KEYWORDS, SCATTER_KEYWORDS, CallForm, operator
from gatherscatter._values.fill import fill_of
from gatherscatter._values.source import as_source
from gatherscatter.errors import shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gatherscatter._ops.keywords import GatherKeywords, ScatterKeywords

__all__ = ["gather_nd", "scatter_nd"]

ArrayT = TypeVar("ArrayT")
ScalarT = TypeVar("ScalarT", bound=np.generic)


@overload
def gather_nd(
    input: Sequence[Any], indices: Any, batch_dims: int = 0, **keywords: Unpack[GatherKeywords[Any]]
) -> npt.NDArray[Any]: ...
@overload
def gather_nd(
    input: npt.NDArray[ScalarT],
    indices: Any,
    batch_dims: int = 0,
    **keywords: Unpack[GatherKeywords[npt.NDArray[ScalarT]]],
) -> npt.NDArray[ScalarT]: ...
@overload
def gather_nd(
    input: ArrayT, indices: Any, batch_dims: int = 0, **keywords: Unpack[GatherKeywords[ArrayT]]
) -> ArrayT: ...
@operator(CallForm("coordinates", "input", "index", keywords=("out", *GATHER_KEYWORDS)))
def gather_nd(
    input: Any,
    indices: Any,
    batch_dims: int = 0,
    *,
    bounds: Bounds = "raise",
    negative: Negative = "from_end",
    fill_value: Any = None,
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Gather elements or slices at coordinates.

    A coordinate has k numbers; `input` and `indices` share `batch_dims` leading axes B::

        result[B, I, T] = input[B, indices[B, I, 0], .., indices[B, I, k - 1], T]

    The numbers may also be in k arrays, as in ``input[r, c]``: ``gather_nd(input, (r, c))``.

    Parameters
    ----------
    input : array of rank r
        Any array, as in `gather`.
    indices : array of integers, shape (B.., I.., k), or tuple of k arrays
        Coordinates along the last axis, with 0 <= k <= r - batch_dims. Any integer dtype of any library, or lists, but
        none that is empty: no points are an array of shape (0, k), and without coordinates a point is all of it. Row
        numbers of shape (n,) are n coordinates of one number each as ``indices[:, None]``. A tuple that holds an array
        has one index for each axis: arrays, lists and numbers, each of its own integer dtype, which broadcast together
        to (B.., I..). A tuple of numbers or lists alone is read as the list of the same items, so that
        ``((0, 1), (2, 3))`` are the coordinates (0, 1) and (2, 3), which NumPy's indexing reads as two arrays.
    batch_dims : int, default 0
        Number of leading axes that `input` and `indices` share; below the rank of `indices`, or of the tuple at most
        the rank to which its arrays broadcast.
    bounds : {"raise", "deferred", "fill", "clip", "wrap", "unchecked"}, default "raise"
        Handling of a coordinate with a number that is out of bounds for its axis, as in `gather`.
    negative : {"from_end", "out_of_bounds"}, default "from_end"
        Whether -1 is the last position or out of bounds.
    fill_value : scalar, optional
        Value of points that are out of bounds (``bounds="fill"``) or masked; an error without either. The default is
        0, NaT for dates and durations, and zero bytes for other dtypes without numbers.
    mask : array of bool, optional
        Broadcasts one way to ``indices.shape[:-1]``, of a tuple to the shape of its arrays. Where it is False, the
        result is `fill_value` and the coordinate is ignored.
    out : array, optional
        Written to and returned. It may overlap the arguments; the result is as if they had been copied.

    Returns
    -------
    array, shape ``indices.shape[:-1] + input.shape[batch_dims + k:]``
        Of the library, dtype and device of `input`, C-contiguous. For NumPy a result of rank 0 is a scalar.

    Raises
    ------
    OutOfBoundsError
        If a coordinate is out of bounds; its `position` is a coordinate in ``indices.shape[:-1]``.
    TypeError
        If `indices` are not of integers, `mask` not of bool, `out` of another dtype.
    ValueError
        If ranks, shapes, k or `batch_dims` do not fit, or `fill_value` does not fit the dtype.

    Notes
    -----
    Semantics of ``tf.gather_nd`` and of ONNX's ``GatherND``. Negative coordinates are those of ONNX; TensorFlow has
    none.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> x = np.array([["a", "b"], ["c", "d"]])
    >>> gs.gather_nd(x, [[0, 0], [1, -1]])
    array(['a', 'd'], dtype='<U1')
    >>> gs.gather_nd(x, (np.array([0, 1]), np.array([0, -1])))  # x[[0, 1], [0, -1]]
    array(['a', 'd'], dtype='<U1')
    >>> gs.gather_nd(x, [[1], [0]])
    array([['c', 'd'],
           ['a', 'b']], dtype='<U1')
    >>> gs.gather_nd(x, [[1], [0]], batch_dims=1)
    array(['b', 'c'], dtype='<U1')
    """
    input = array_of("gather_nd", input)
    check_number("gather_nd", "batch_dims", batch_dims)
    fill = fill_of("gather_nd", input, fill_value, bounds, mask)
    check_exchange("gather_nd", indices, input, "gather_nd(input, indices)")
    points = _points("gather_nd", input, indices)
    return _core.at_points("gather_nd", input, points, batch_dims, bounds, negative, fill, mask, out)


@overload
def scatter_nd(
    input: Sequence[Any], indices: Any, updates: Any, batch_dims: int = 0, **keywords: Unpack[ScatterKeywords[Any]]
) -> npt.NDArray[Any]: ...
@overload
def scatter_nd(
    input: npt.NDArray[ScalarT],
    indices: Any,
    updates: Any,
    batch_dims: int = 0,
    **keywords: Unpack[ScatterKeywords[npt.NDArray[ScalarT]]],
) -> npt.NDArray[ScalarT]: ...
@overload
def scatter_nd(
    input: ArrayT, indices: Any, updates: Any, batch_dims: int = 0, **keywords: Unpack[ScatterKeywords[ArrayT]]
) -> ArrayT: ...
@operator(CallForm("coordinates", "input", "index", "source", keywords=("out", *SCATTER_KEYWORDS)))
def scatter_nd(
    input: Any,
    indices: Any,
    updates: Any,
    batch_dims: int = 0,
    *,
    reduce: Reduce | None = None,
    include_self: bool = True,
    duplicates: Duplicates = "last",
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
    out: Any = None,
) -> Any:
    """Write elements or slices at coordinates of a copy of `input`, or accumulate them there.

    The reverse of `gather_nd`. A coordinate has k numbers; `input` and `indices` share `batch_dims` leading axes B::

        result[B, indices[B, I, 0], .., indices[B, I, k - 1], T] = updates[B, I, T]

    Every `reduce` starts from the element of `input`, so ``"mean"`` counts that element as one of the values;
    ``include_self=False`` leaves it out.

    Parameters
    ----------
    input : array of rank r
        Any array, as in `gather`. Elements that no coordinate refers to are copied to the result.
    indices : array of integers, shape (B.., I.., k), or tuple of k arrays
        Coordinates along the last axis, or one array for each axis, as in `gather_nd`: ``scatter_nd(input, (r, c), v)``
        is the copy that ``input[r, c] = v`` would make of `input`.
    updates : scalar, array or nested list
        An array has exactly the dtype of `input` and broadcasts to
        ``indices.shape[:-1] + input.shape[batch_dims + k:]``. Numbers must fit the dtype, alone and in lists.
    batch_dims : int, default 0
        As in `gather_nd`.
    reduce, include_self, duplicates, bounds, negative, out
        As in `scatter`.
    mask : array of bool, optional
        As in `gather_nd`. Where it is False, nothing is written and the coordinate is ignored.

    Returns
    -------
    array
        Of the library, shape, dtype and device of `input`, C-contiguous; or `out`.

    Raises
    ------
    OutOfBoundsError
        If a coordinate is out of bounds; its `position` is a coordinate in ``indices.shape[:-1]``.
    TypeError, ValueError
        As in `scatter`; a ValueError if k or `batch_dims` do not fit.

    Notes
    -----
    Semantics of ONNX's ``ScatterND`` and of ``tf.tensor_scatter_nd_update``, ``_add``, ``_min`` and ``_max``. Unlike
    there, duplicates are defined: without `reduce`, the last one in flat position is kept. ``tf.scatter_nd(indices,
    updates, shape)`` is a scatter with ``reduce="add"`` into zeros.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> gs.scatter_nd(np.ones((2, 3), int), [[0, 2], [1, -3]], [7, 8])
    array([[1, 1, 7],
           [8, 1, 1]])
    >>> gs.scatter_nd(np.ones((2, 3), int), (np.array([0, 1]), np.array([2, 0])), [7, 8])
    array([[1, 1, 7],
           [8, 1, 1]])
    >>> gs.scatter_nd(np.zeros((2, 3)), [[1], [1]], [[1, 2, 3], [4, 5, 6]], reduce="add")
    array([[0., 0., 0.],
           [5., 7., 9.]])
    """
    input = array_of("scatter_nd", input)
    check_exchange("scatter_nd", indices, updates, "scatter_nd(input, indices, updates)")
    source = as_source("scatter_nd", input, updates, "updates")
    points = _points("scatter_nd", input, indices)
    check_number("scatter_nd", "batch_dims", batch_dims)
    rules = bounds, negative, reduce, include_self, duplicates
    return _core.scatter_points("scatter_nd", input, points, batch_dims, source, *rules, mask, out)


def _points(op: str, input: Any, indices: Any) -> Any:
    """The indices as `_core` reads them: a tuple is one index array for each axis, all else are coordinates."""
    if isinstance(indices, list | tuple) and not len(indices) and getattr(input, "ndim", 0) > 0:
        # Such as list(zip(*np.nonzero(x))) of an x without such elements. As an array it is one point.
        raise ValueError(
            f"{op}: indices is an empty {type(indices).__name__}, which is one point without coordinates, the whole "
            f"array; no points are np.empty((0, k), int), and the whole array is np.empty((1, 0), int)"
        )
    if not isinstance(indices, tuple):
        return indices
    if not has_arrays(indices):
        return list(indices)
    for item in indices:
        if item is None or item is ... or isinstance(item, slice):
            raise TypeError(
                f"{op}: indices holds {shown(item)}, expected one array of integers for each axis; axes behind them "
                "move whole, and np.arange(n) with further axes of length 1 stands for a whole axis before them"
            )
    return tuple(indices)
