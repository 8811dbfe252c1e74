"""group.py: `group`, the stable permutation of points by the group that each id names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from gatherscatter import _core
from gatherscatter._libraries import of_torch
from gatherscatter._libraries.adopt import adopt, must_have_values, refuse_recorded
from gatherscatter._libraries.devices import is_on_device
from gatherscatter._libraries.private_lists import private
from gatherscatter._libraries.recognise import is_ndarray
from gatherscatter._ops.keywords import GroupBounds, Negative
from gatherscatter._ops.plan_html import as_html, size_text
from gatherscatter._ops.scatter import scatter
from gatherscatter._values.integers import one_integer
from gatherscatter.errors import shown

__all__ = ["Group", "group"]

ArrayT = TypeVar("ArrayT")
_BOUNDS = ("raise", "drop", "clip", "wrap", "unchecked")
_INT64 = np.empty(0, np.int64)
_HostArray = npt.NDArray[np.int64]


class Group(Generic[ArrayT]):
    """Points sorted by group, as `group` returns them.

    ``order, offsets, *_ = gs.group(ids)`` unpacks its six attributes in the order below. Arrays are of the library of
    the ids and int64 (in JAX without 64-bit types int32); those that no call has asked for are not computed. They
    belong to the object: what is written to one of them changes what is computed of it later.

    Attributes
    ----------
    order : array, shape (kept points,)
        Flat positions of the points, group after group and ascending inside of a group.
    offsets : array, shape (num_groups + 1,)
        Where each group begins in `order`; the last one is the number of kept points.
    counts : array, shape (num_groups,)
        The number of points of each group.
    inverse : array, shape of the ids
        The place of each point in `order`, -1 for one that was left out.
    ids : array, shape (kept points,)
        The group of each entry of `order`.
    num_groups : int
        The number of groups, with those that have no point.
    """

    _fields: ClassVar[tuple[str, ...]] = ("order", "offsets", "counts", "inverse", "ids", "num_groups")
    __slots__ = ("_back", "_host", "_in_order", "_kept", "_shape")

    def __init__(
        self,
        order: _HostArray | None,
        offsets: _HostArray,
        kept: int,
        shape: tuple[int, ...],
        back: Callable[[_HostArray], ArrayT] | None,
    ) -> None:
        self._in_order, self._kept, self._shape = order is None, kept, shape
        self._back = back
        # The attributes that were asked for. Arrays of other libraries are made of them anew at each access: one that
        # was made inside of a transform belongs to it.
        self._host: dict[str, _HostArray] = {"offsets": offsets}
        if order is not None:
            self._host["order"] = order

    @property
    def order(self) -> ArrayT:
        return self._array("order", self._new_order)

    @property
    def offsets(self) -> ArrayT:
        return self._array("offsets", self._new_counts)

    @property
    def counts(self) -> ArrayT:
        return self._array("counts", self._new_counts)

    @property
    def inverse(self) -> ArrayT:
        return self._array("inverse", self._new_inverse)

    @property
    def ids(self) -> ArrayT:
        return self._array("ids", self._new_ids)

    @property
    def num_groups(self) -> int:
        return len(self._host["offsets"]) - 1

    def _new_order(self) -> _HostArray:
        return np.arange(self._kept, dtype=np.int64)

    def _new_counts(self) -> _HostArray:
        return np.diff(self._host["offsets"])

    def _new_inverse(self) -> _HostArray:
        inverse = np.full(math.prod(self._shape), -1, np.int64)
        if self._in_order:
            inverse[: self._kept] = self._new_order()
        else:
            scatter(inverse, 0, self._host["order"], self._new_order(), out=inverse)
        return inverse.reshape(self._shape)

    def _new_ids(self) -> _HostArray:
        found = _core.repeated_positions("group", self._new_counts(), _INT64)
        if found is None:
            raise ValueError("group: the offsets were changed, and fall")
        return cast(_HostArray, found)

    def _array(self, name: str, make: Callable[[], _HostArray]) -> ArrayT:
        host = self._host.get(name)
        if host is None:
            host = self._host.setdefault(name, make())  # of several threads, all get the array of the first one
        return cast(ArrayT, host) if self._back is None else self._back(host)

    def __len__(self) -> int:
        return len(self._fields)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self._fields)

    def __getitem__(self, item: Any) -> Any:
        names = self._fields[item]
        return tuple(getattr(self, name) for name in names) if isinstance(names, tuple) else getattr(self, names)

    def __reduce__(self) -> tuple[Any, ...]:
        like = None if self._back is None else self._back(_INT64)
        order = None if self._in_order else self._host["order"]
        return _restored, (order, self._host["offsets"], self._kept, self._shape, like)

    def _facts(self) -> dict[str, Any]:
        facts = {"points": math.prod(self._shape), "groups": self.num_groups}
        left_out = facts["points"] - self._kept
        return {**facts, **({"left out": left_out} if left_out else {}), "in order": self._in_order}

    def __repr__(self) -> str:
        facts = ", ".join(f"{name.replace(' ', '_')}={value}" for name, value in self._facts().items())
        return f"Group({facts})"

    def _repr_html_(self) -> str:
        counts = self._new_counts()
        smallest, largest = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        held = sum(array.nbytes for array in self._host.values())
        details = [("points of a group", f"{smallest} to {largest}"), ("memory", size_text(held))]
        return as_html("Group", self._facts(), "", details)


def _restored(
    order: _HostArray | None, offsets: _HostArray, kept: int, shape: tuple[int, ...], like: Any
) -> Group[Any]:
    """The group of a pickle; `like` is an empty array of the library of its arrays, None for NumPy's."""
    return Group(order, offsets, kept, shape, _back_to(like))


def group(
    ids: Any,
    num_groups: int | None = None,
    *,
    bounds: GroupBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
) -> Group[Any]:
    """Sort points by the group that each id names: a stable permutation, with the offsets of the groups.

    ``order = [i for g in range(num_groups) for i in range(ids.size) if ids.flat[i] == g]``

    Parameters
    ----------
    ids : array of integers
        The group of each point: any shape, layout and integer dtype of any library in host memory, or lists.
    num_groups : int, optional
        The number of groups. The default is the largest id of a kept point + 1; then each id is read twice.
    bounds : {"raise", "drop", "clip", "wrap", "unchecked"}, default "raise"
        Handling of an id outside of [-num_groups, num_groups): an error, leave the point out, the nearest group, modulo
        num_groups, or the caller's promise that there is none.
    negative : {"from_end", "out_of_bounds"}, default "from_end"
        Whether -1 is the last group or out of bounds.
    mask : array of bool, optional
        Broadcasts one way to the shape of `ids`. Points where it is False are left out before their id is looked at.

    Returns
    -------
    Group
        `order`, `offsets`, `counts`, `inverse`, `ids` and `num_groups`: arrays of int64, of the library of `ids`, for
        lists of NumPy.

    Raises
    ------
    OutOfBoundsError
        If an id is out of bounds; its `position` is a coordinate in the shape of `ids`.
    TypeError
        If `ids` are not of integers or lie on a GPU, or `mask` is not of bool.
    ValueError
        If `num_groups` is negative, or `mask` does not broadcast.

    See Also
    --------
    numpy.argsort : ``np.argsort(ids, axis=None, kind="stable")`` is `order`, if all ids are in [0, num_groups).

    Notes
    -----
    A counting sort: its work grows with points + groups. The memory beyond the result is 2 to 10 bytes a point, and 8
    to 16 more if there are more than 4,096 groups. Ids whose groups never fall are found to be in order, and not
    sorted.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> g = gs.group(np.array([2, 0, 2, 3]))
    >>> g
    Group(points=4, groups=4, in_order=False)
    >>> g.order, g.offsets
    (array([1, 0, 2, 3]), array([0, 1, 1, 3, 4]))
    >>> g.counts, g.inverse
    (array([1, 0, 2, 1]), array([1, 0, 2, 3]))
    >>> gs.group([[0, 9], [1, 0]], 2, bounds="drop").inverse
    array([[ 0, -1],
           [ 2,  1]])
    """
    op = "group"
    ids, mask = private(ids), private(mask)
    if not isinstance(bounds, str) or bounds not in _BOUNDS:
        raise ValueError(f"{op}: bounds is {shown(bounds)}, expected one of {', '.join(map(repr, _BOUNDS))}")
    if num_groups is not None:
        num_groups = one_integer(op, "num_groups", num_groups)
        if num_groups < 0:
            raise ValueError(f"{op}: num_groups is {num_groups}, expected at least 0")
        if num_groups >= 2**60:
            raise ValueError(f"{op}: num_groups is {num_groups}; their offsets would not fit into any memory")
    for name, array in (("ids", ids), ("mask", mask)):
        refuse_recorded(op, name, array)
        if array is not None and is_on_device(array):
            raise TypeError(f"{op}: {name} lies on a GPU, expected an array in host memory")
    if not is_ndarray(ids):
        must_have_values(op, "ids", ids)
    order, offsets, kept, shape = _core.group(op, ids, num_groups, bounds, negative, mask, _INT64)
    return Group(order, offsets, kept, shape, _back_to(ids))


def _back_to(like: Any) -> Callable[[_HostArray], Any] | None:
    """The function that converts an array in host memory to the library of `like`; None for NumPy's."""
    if like is None or is_ndarray(like) or not (hasattr(like, "__dlpack__")):
        return None
    if of_torch.is_tensor(like):
        return cast(Callable[[_HostArray], Any], of_torch.namespace().from_numpy)
    return adopt("group", "ids", like)[1]
