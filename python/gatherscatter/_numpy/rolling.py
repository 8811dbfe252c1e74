"""rolling.py: NumPy's roll on any array: a take by the rolled positions, or copies of blocks where these are faster."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any, Final, TypeVar, overload

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from gatherscatter import _core
from gatherscatter._libraries import of_torch
from gatherscatter._libraries.adopt import refuse_recorded
from gatherscatter._libraries.columns import is_column, values_of
from gatherscatter._libraries.of_jax import refuse_symbols
from gatherscatter._libraries.recognise import is_masked_array, is_ndarray
from gatherscatter._libraries.torch_symbols import is_symbol, positions
from gatherscatter._numpy.masked import NO_NUMBERS, same_points_masked
from gatherscatter._numpy.rules import index_type, is_literal, memory_of, prefers_numpy, shape_of, two_arrays
from gatherscatter._numpy.take_general import finished_as, in_class_of
from gatherscatter._ops.keywords import HasShape, Nested
from gatherscatter._ops.operator import CallForm, operator
from gatherscatter._ops.progress_parts import Parts

__all__ = ["roll"]

_Array = TypeVar("_Array", bound=HasShape)
_Scalar = TypeVar("_Scalar", bound=np.generic)

# An array of more points than this, with rows of fewer bytes, is rolled by copies of blocks: writing and reading one
# index for each of 10**7 items of one byte takes 25 times as long as numpy.roll, and the copies as long.
_MOST_POINTS: Final = 4096
_ROW_BYTES: Final = 64


@overload
def roll(a: Nested, shift: Any, axis: Any = None) -> npt.NDArray[Any]: ...
@overload
def roll(a: npt.NDArray[_Scalar], shift: Any, axis: Any = None) -> npt.NDArray[_Scalar]: ...
@overload
def roll(a: _Array, shift: Any, axis: Any = None) -> _Array: ...
@operator(CallForm("roll", "input", "index", "axis", keywords=("axis",), axis=None))
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Shift the items of an array along axes; items that leave at one end come back at the other, as in `numpy.roll`.

    ``result[i, j, k] = a[i, (j - shift) % M, k]`` with `i` before `axis`, `k` after it.

    Parameters
    ----------
    a : array_like of shape (Ni..., M, Nk...)
        As in `take`: any library, dtype of fixed-size items, strides and subclass.
    shift : int or tuple of ints
        It may be negative and exceed the axis. It broadcasts with `axis`; shifts of one axis add up.
    axis : int or tuple of ints, optional
        None rolls the flattened array and restores the shape.

    Returns
    -------
    array of the shape of `a`
        Of the library, dtype and subclass of `a`, C-contiguous.

    Raises
    ------
    TypeError
        If a shift or an axis is no number; if items are references.
    ValueError
        If `shift` and `axis` do not broadcast, or have more than one axis.
    numpy.exceptions.AxisError
        If there is no such axis.

    Notes
    -----
    Semantics of NumPy 2's `numpy.roll`, whose result keeps the order of axes of `a` in memory instead. The call is a
    take by an index of M items of the smallest unsigned type: 4 bytes for each position up to 2**32 of them, and in a
    flattened array for each item. A large NumPy array or torch tensor in host memory whose rows are short is copied
    block by block instead. A plan is one of the take: it is called with an array and an index, and with one index for
    each axis up to the last rolled one if there are several.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> gs.roll(np.arange(5), 2)
    array([3, 4, 0, 1, 2])
    >>> gs.roll(np.arange(6).reshape(2, 3), (1, -1), axis=(0, 1))
    array([[4, 5, 3],
           [1, 2, 0]])
    """
    if is_literal(a):
        a = np.asarray(a)
    if is_masked_array(a):
        # Numbers of their own, because shift and axis may be arrays that another thread changes.
        offsets = _offsets(shift, 0, (a.size,)) if axis is None else _offsets(shift, axis, a.shape)
        axes = None if axis is None else tuple(range(a.ndim))

        def roll_part(part: Any, *_: Any) -> Any:
            return _roll_array(part, tuple(offsets), axes)

        run = partial(same_points_masked, "roll", roll_part, a, None, None, None)
        return _core.steps("roll", run, str(two_arrays(a)))
    if prefers_numpy(a, None):
        return np.roll(a, shift, axis)
    return _roll_array(a, shift, axis)


def _roll_array(a: Any, shift: Any, axis: Any) -> _core.Call:
    shape = shape_of("roll", a)
    refuse_symbols("roll", "a", a, "jax.numpy.roll takes them")
    base = memory_of(a)
    if axis is None:
        # NumPy rolls the first axis of the flattened array; that of a flattened matrix has one item.
        extents = (1,) if isinstance(a, np.matrix) else (math.prod(shape),)
        return _roll_flat(a, base, shape, *_offsets(shift, 0, extents))
    offsets = _offsets(shift, axis, shape)
    if not shape:
        return _roll_flat(a, base, shape, 0)
    rolled = [at for at, offset in enumerate(offsets) if offset]
    last = rolled[-1] if rolled else 0
    by_copies = _is_copied(base, math.prod(shape[: last + 1]), math.prod(shape[last + 1 :]))
    if len(rolled) < 2:
        index = _index_of(base, shape[last], offsets[last], by_copies)
        call = _core.take_axis("roll", base, index, last, 0, "raise", "from_end", None, None, None)
    else:
        indices = (_index_of(base, shape[at], offsets[at], False) for at in range(last + 1))
        spread = tuple(index.reshape((-1,) + (1,) * (last - at)) for at, index in enumerate(indices))
        call = _core.at_points("roll", base, spread, 0, "raise", "from_end", None, None, None)
    if by_copies:
        return call.run_by(lambda: in_class_of(a, _copied(base, offsets)))
    return finished_as(a, None, call)


def _roll_flat(a: Any, base: Any, shape: tuple[int, ...], offset: int) -> _core.Call:
    """The roll of the flattened array, as a take whose index has the shape of the array."""
    if is_ndarray(a) and not shape:  # NumPy returns a 0-d array here, and no scalar
        return _roll_flat(base.reshape(1), base.reshape(1), (1,), 0).then(lambda one: in_class_of(a, one).reshape(()))
    size = math.prod(shape)
    by_copies = _is_copied(base, size, 1)
    index = _index_of(base, size, offset, by_copies).reshape(shape)
    call = _core.take_axis("roll", base, index, None, 0, "raise", "from_end", None, None, None)
    if by_copies:
        return call.run_by(lambda: in_class_of(a, _copied(base.reshape(-1), [offset]).reshape(shape)))
    return finished_as(a, None, call)


def _offsets(shift: Any, axis: Any, shape: tuple[int, ...]) -> list[int]:
    """By how many positions each axis is rolled, in [0, size) if that is no symbol; errors are those of NumPy."""
    refuse_recorded("roll", "shift", shift)
    axes = normalize_axis_tuple(axis, len(shape), allow_duplicate=True)
    if is_column(shift):
        shift = values_of("roll", "shift", shift)
    pairs = np.broadcast(shift, axes)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    offsets = [0] * len(shape)
    for number, at in pairs:
        offsets[at] += int(number)
    return [offset if is_symbol(n) else offset % (n or 1) for offset, n in zip(offsets, shape, strict=True)]


def _index_of(base: Any, n: int, offset: int, unread: bool) -> Any:
    """The positions of an axis of n items after a roll; without values if only a plan needs it, which reads none."""
    if is_symbol(n):
        return (positions(n, base) - offset) % n
    index: npt.NDArray[Any] = np.empty(n, index_type(n))
    if not unread:
        index[:offset] = np.arange(n - offset, n, dtype=index.dtype)
        index[offset:] = np.arange(n - offset, dtype=index.dtype)
    return index


def _is_copied(base: Any, points: int, row: int) -> bool:
    """Whether copies of blocks are faster than a take of this many points with rows of this many items."""
    # The numbers of a tensor without memory may be symbols, which are not compared.
    if not (is_ndarray(base) or (of_torch.is_tensor(base) and _core.is_plain(base))) or points <= _MOST_POINTS:
        return False
    if of_torch.is_live(base):
        return False  # torch records one move, and no copies into parts of a result
    return bool(row * base.dtype.itemsize < _ROW_BYTES)


def _copied(base: Any, offsets: list[int]) -> Any:
    """The rolled array: each axis has two parts, which change places."""
    result = _core.empty_like("roll", base)
    whole = slice(None)
    parts = [
        [(slice(None, n - offset), slice(offset, None)), (slice(n - offset, None), slice(None, offset))]
        if offset
        else [(whole, whole)]
        for n, offset in zip(base.shape, offsets, strict=True)
    ]
    progress = Parts(math.prod(map(len, parts)))
    with progress.shared():
        for block in itertools.product(*parts):
            source, target = zip(*block, strict=True)
            # A gather by coordinates of no numbers is a copy.
            copy = _core.at_points("roll", base[source], NO_NUMBERS, 0, "raise", "from_end", None, None, result[target])
            _core.run(copy)
            progress.next()
    return result
