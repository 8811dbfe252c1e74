"""maps.py: row numbers and masks of every library in the two forms that the selections read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gatherscatter.errors import DataTypeError, IndexTypeError, shown

__all__ = ["map_of", "mask_of"]

# What a reader gives: something of integers (or bools) and which of them are there, None if all are.
Read = tuple[Any, Any]
BOOLS = {bool, np.bool_, type(None)}


def map_of(op: str, given: Any) -> Read:
    """Row numbers and, where the library keeps nulls apart from the values, which of them are not null.

    Raises
    ------
    IndexTypeError
        If a list or a pandas column does not consist of integers.
    TypeError
        For a single number, or something that is neither an array nor a sequence.
    """
    read = _readers.get(type(given)) or _reader_of(given)
    if read is None:
        raise TypeError(f"{op}: the map is {shown(given)}, expected an array or a list: for one row, a list of one")
    return read(op, given, False)


def mask_of(op: str, given: Any) -> Read:
    """The bools of a mask and, where the library keeps nulls apart from the values, which of them are not null.

    Raises
    ------
    DataTypeError
        If a list or a pandas column does not consist of bools.
    TypeError
        For a single bool, or something that is neither an array nor a sequence.
    """
    read = _readers.get(type(given)) or _reader_of(given)
    if read is None:
        raise TypeError(f"{op}: the mask is {shown(given)}, expected an array or a list of bools")
    return read(op, given, True)


def _as_it_is(op: str, given: Any, bools: bool) -> Read:
    return given, None


def _range(op: str, given: Any, bools: bool) -> Read:
    return np.arange(given.start, given.stop, given.step), None


def _masked(op: str, given: Any, bools: bool) -> Read:
    return np.asarray(given.data), ~np.ma.getmaskarray(given)


def _sequence(op: str, given: Sequence[Any], bools: bool) -> Read:
    kinds = set(map(type, given))
    if bools and not kinds <= BOOLS:
        wrong = next(value for value in given if type(value) not in BOOLS)
        raise DataTypeError(f"{op}: the mask holds {shown(wrong)}, expected bools")
    if not bools and (bool in kinds or np.bool_ in kinds):
        raise IndexTypeError(f"{op}: the map holds bools, expected integers")
    valid = None
    if type(None) in kinds:
        valid = np.array([value is not None for value in given])
        given = [False if value is None else value for value in given] if bools else [value or 0 for value in given]
    if bools or not given:
        return np.array(given, bool if bools else np.int64), valid
    return list(given), valid


def _pandas(op: str, given: Any, bools: bool) -> Read:
    """The values of a Series or Index by position: its labels are not looked at."""
    dtype = given.dtype
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, np.dtype):
        if kind == "O":
            raise _wrong(op, dtype, bools)
        return given.to_numpy(), None
    if kind not in ("b" if bools else "iu") or not hasattr(dtype, "numpy_dtype"):
        raise _wrong(op, dtype, bools)
    valid = ~given.isna()
    return given.array.to_numpy(dtype=dtype.numpy_dtype, na_value=False if bools else 0), np.asarray(valid)


def _wrong(op: str, dtype: Any, bools: bool) -> Exception:
    if bools:
        return DataTypeError(f"{op}: the mask is of dtype {dtype}, expected bool")
    return IndexTypeError(f"{op}: the map is of dtype {dtype}, expected integers")


_readers: dict[type, Callable[[str, Any, bool], Read] | None] = {
    np.ndarray: _as_it_is,
    list: _sequence,
    tuple: _sequence,
    range: _range,
    np.ma.MaskedArray: _masked,
}


def _reader_of(given: Any) -> Callable[[str, Any, bool], Read] | None:
    """How a type is read, found by its nearest base that is known, then kept."""
    kind = type(given)
    if kind not in _readers:
        _readers[kind] = _known(kind) or (_as_it_is if _is_column(given) else None)
    return _readers[kind]


def _known(kind: type) -> Callable[[str, Any, bool], Read] | None:
    for base in kind.__mro__:
        if base in _readers:
            return _readers[base]
        if base.__module__.partition(".")[0] == "pandas" and base.__name__ in ("Series", "Index"):
            return _pandas
    return None


def _is_column(given: Any) -> bool:
    if isinstance(given, (np.generic, int, float, complex, str, bytes)):
        return False
    return any(
        hasattr(given, way)
        for way in ("__arrow_c_array__", "__arrow_c_stream__", "__dlpack__", "__array_interface__", "__array__")
    )
