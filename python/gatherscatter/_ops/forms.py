"""forms.py: selects the form of a call of `gather` or `scatter`: elements along a dim, or slices along an axis."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.nested import check_index, check_items
from gatherscatter._libraries.of_python import is_integer
from gatherscatter._libraries.recognise import dtype_name
from gatherscatter._values.integers import number_of_axis
from gatherscatter.errors import is_large, shown

__all__ = ["UNSET", "Slices", "array_of", "check_exchange", "check_number", "scattered_slices_in", "slices_in"]


# Words that are often given by position, by the keyword that takes them.
_WORDS = {
    "reduce": _core.words["reduce_aliases"],
    "bounds": (*_core.words["bounds"], "drop"),
    "negative": _core.words["negative"],
    "duplicates": _core.words["duplicates"],
}


class _Unset:
    """The default of the arguments that select the form of a call, for which None would be an error."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET: Final = _Unset()


def array_of(op: str, input: Any) -> Any:
    """The array that NumPy makes of a nested list of numbers; any other input unchanged.

    Raises
    ------
    TypeError
        For a ragged list, and for one that holds anything but numbers, text or dates.
    ValueError
        For a list that holds a column with a null.
    """
    if not isinstance(input, list | tuple):
        return input
    check_items(op, "input", input)
    try:
        array = np.array(input)
    except (ValueError, TypeError, RecursionError) as error:
        raise TypeError(f"{op}: input is a {type(input).__name__} of which NumPy makes no array: {error}") from None
    if array.dtype.hasobject:
        raise TypeError(f"{op}: input is a {type(input).__name__} whose items are objects, expected numbers")
    return array


def check_number(op: str, name: str, value: Any) -> None:
    """Raise TypeError for a word in the place of an axis, with the keyword that takes it."""
    if isinstance(value, str):
        keyword = next((each for each, words in _WORDS.items() if value in words), None)
        step = f"; write {keyword}={value!r}" if keyword else ""
        raise TypeError(f"{op}: {shown(value)} is in the place of {name}, expected an integer{step}")


class Slices(NamedTuple):
    """The arguments that the slices form adds."""

    indices: Any
    axis: int
    batch_dims: int


def slices_in(
    op: str,
    dim: Any,
    third: Any,
    axis: Any,
    batch_dims: Any,
    *,
    default_axis: int | None = None,
    **indices: Any,
) -> Slices | None:
    """Read the arguments of the slices form; None if the call has the elementwise form.

    Parameters
    ----------
    op : str
        Public name of the operator, for messages.
    dim : object
        The second argument of the call: `dim` of the elementwise form, or the indices.
    third : object
        The argument that is the axis of the slices form if it is given by position.
    axis, batch_dims : object
        The keywords of these names, or `UNSET`.
    default_axis : int or None, default None
        With None, the axis must be given.
    **indices : object
        The keywords that give the indices, or `UNSET`.

    Raises
    ------
    TypeError
        If the arguments mix the forms, or the indices or the axis are missing.
    """
    for value in (third, axis, batch_dims):
        if isinstance(value, str):
            check_number(op, "axis or batch_dims", value)
    given = [value for value in indices.values() if value is not UNSET]
    is_dim = is_integer(dim)
    if is_dim and axis is not UNSET and third is UNSET and not given and not isinstance(dim, bool):
        is_dim = False  # gather(x, 2, axis=0): one row
    if not given and axis is UNSET and is_dim and batch_dims is UNSET:
        if isinstance(dim, bool):
            raise TypeError(f"{op}: dim is a bool, expected an integer")
        return None

    # From here on only the slices form is valid.
    if dim is None or isinstance(dim, (float, complex, str, bytes, np.bool_)):
        raise TypeError(f"{op}: the second argument is {shown(dim)}, expected a dim (an integer) or indices")
    if is_dim:
        raise TypeError(
            f"{op}: dim= (elementwise form) and axis=, indices= or batch_dims= (slices) exclude each other: elements "
            f"are {op}(input, dim, index), slices {op}(input, indices, axis=..)"
        )
    if dim is not UNSET:
        given.append(dim)
    if axis is not UNSET and third is not UNSET:
        # Either the axis was given twice or the forms were mixed.
        if not given:
            raise TypeError(
                f"{op}: index= needs dim= (elementwise form); axis= needs indices= (slices): write indices= for index="
            )
        raise TypeError(
            f"{op}: dim= with index= (elementwise) and axis= (slices) exclude each other: leave axis= out, or leave "
            "index= out, so that the second argument is the indices"
        )
    if len(given) > 1:
        names = " or ".join(f"{name}=" for name in indices)
        raise TypeError(f"{op}: the indices are given more than once; pass them as the second argument, {names}")
    if not given:
        needed = " and axis" if default_axis is None else ""
        step = f"; the elementwise form is {op}(input, dim, index)" if third is not UNSET else ""
        raise TypeError(f"{op}: dim and index, or indices{needed} are missing{step}")
    if axis is UNSET:
        axis = third
    if axis is UNSET:
        if default_axis is None:
            check_index(op, given[0])  # x[r, c] is meant, which has no axis to add
            raise TypeError(
                f"{op}: axis is missing; slices are {op}(input, indices, axis=0), elements {op}(input, dim, index)"
            )
        axis = default_axis
    if isinstance(axis, list | tuple) or is_large(axis):
        raise TypeError(
            f"{op}: the second argument is a list or an array, so it is the indices of slices, and the axis is "
            f"{shown(axis)}, expected an integer; slices are {op}(input, indices, axis=..), elements {op}(input, dim, "
            "index), in which dim= is one integer"
        )
    return Slices(given[0], number_of_axis(op, "axis", axis), _batch_dims(op, batch_dims, given[0]))


def scattered_slices_in(
    op: str, dim: Any, index: Any, src: Any, axis: Any, batch_dims: Any, indices: Any
) -> tuple[Slices, Any] | None:
    """The slices form of a scatter and its values; None if the call has the elementwise form.

    By position, the third and fourth arguments are `index` and `src`, or in the slices form `src` and the axis. With
    ``axis=``, an integer in second place is one row number, as in a gather.
    """
    is_row = axis is not UNSET and is_integer(dim) and (index is UNSET) != (src is UNSET) and indices is UNSET
    is_third = index is not UNSET and (is_row or not is_integer(dim))
    if is_third and dim is UNSET:
        raise TypeError(f"{op}: index= needs dim= (elementwise form); indices= takes src= (slices)")
    third = src if is_third else UNSET if is_row else index if axis is not UNSET and is_integer(dim) else UNSET
    slices = slices_in(op, dim, third, axis, batch_dims, default_axis=0, indices=indices)
    return None if slices is None else (slices, index if is_third else src)


def _batch_dims(op: str, value: Any, indices: Any) -> int:
    if value is UNSET:
        return 0
    count = number_of_axis(op, "batch_dims", value)
    if count >= 0:
        return count
    rank = cast(int, getattr(indices, "ndim", None) if hasattr(indices, "ndim") else np.ndim(indices))
    if count < -rank:
        raise ValueError(f"{op}: batch_dims {shown(count)} is not in [{-rank}, {rank}], the rank of the indices")
    return count + rank


def check_exchange(op: str, index: Any, values: Any, order: str) -> None:
    """Raise TypeError for an index of floats if the values are integers: exchanged, which a cast would hide."""
    if _kind(index) != "f":
        return
    if isinstance(values, list | range) and len(values) and all(map(is_integer, values)):
        found = "are integers"
    elif _kind(values) in ("i", "u"):
        found = f"have {dtype_name(values)}"
    else:
        return
    raise TypeError(
        f"{op}: the index has dtype {dtype_name(index)}, expected an integer dtype, and the values {found}: if they "
        f"are exchanged, the order is {order}"
    )


def _kind(array: Any) -> str:
    """The kind of an array's dtype in NumPy's letters, of torch's only "f" and "i"; else ""."""
    dtype = getattr(array, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if isinstance(kind, str):
        return kind
    name = str(dtype).rpartition(".")[2]
    return "f" if "float" in name else "i" if name.startswith(("int", "uint")) else ""
