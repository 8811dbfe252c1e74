"""table_maps.py: maps and masks in every form that the table operators accept, and the comparison with the oracle."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
import reference_table as reference
from gatherscatter.errors import InvalidArgument, NullIndexError
from pairwise import Row

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MAPS = (
    "list",
    *INTEGERS,
    "strided int32",
    "reversed uint64",
    "arrow int32",
    "arrow uint64",
    "arrow cut uint8",
    "arrow nulls int64",
    "arrow nulls cut uint16",
    "arrow chunks int16",
    "arrow chunks nulls int8",
)
MASKS = ("list", "numpy", "strided", "arrow", "arrow cut", "arrow nulls", "arrow nulls cut", "arrow chunks nulls")


def name_of(case: Row) -> str:
    return "-".join(str(value) for value in case.values())


def rng_of(case: Any) -> np.random.Generator:
    """A random generator that is seeded by the case only."""
    return np.random.default_rng(zlib.crc32(repr(case).encode()))


def integer_of(form: str) -> str:
    return "int64" if form == "list" else form.split()[-1]


def is_signed(form: str) -> bool:
    return integer_of(form).startswith("int")


def indices_for(form: str, values: str, size: int, count: int, rng: np.random.Generator) -> list[int | None]:
    """Row numbers that fit the map's type: "inside", "signed" (from both ends), "outside" (some of them), "none"."""
    if values == "none":
        return []
    info = np.iinfo(integer_of(form))
    low, high = (max(-size, info.min) if values != "inside" else 0), min(size - 1, info.max)
    low = low if is_signed(form) else 0
    found: list[int | None] = [int(i) for i in rng.integers(low, high, count, endpoint=True)] if size else []
    if values == "outside":
        beside = [-size - 1, size, 2**32 + 1, 2**32, 2**31, -(2**31), -(2**63), 2**63, 2**64 - 1, info.min, info.max]
        beside = [i for i in beside if info.min <= i <= info.max]
        beside = [i for i in beside if reference.row_of(i, size, is_signed(form)) is None]
        for i in beside:
            found.insert(int(rng.integers(0, len(found) + 1)), i)
    if "nulls" in form and found:
        found = [None if rng.random() < 0.2 else i for i in found]
    return found


def in_arrow(rows: list[Any], type: pa.DataType, form: str) -> Any:
    """A list as an Arrow array in the layout that `form` names."""
    if "chunks" in form:
        cuts = [0, len(rows) // 3, len(rows) // 3, max(len(rows) - 1, 0), len(rows)]
        return pa.chunked_array([pa.array(rows[a:b], type) for a, b in itertools.pairwise(sorted(cuts))], type)
    if "cut" in form:
        return pa.array([None, None, None, *rows, None], type).slice(3, len(rows))
    return pa.array(rows, type)


def map_of(form: str, indices: Sequence[int | None]) -> Any:
    """Indices in the given form."""
    dtype = integer_of(form)
    if form == "list":
        return list(indices)
    if form.startswith("arrow"):
        return in_arrow(list(indices), pa.type_for_alias(dtype), form)
    if form.startswith("strided"):
        room = np.full(3 * len(indices) + 1, 99, dtype)
        room[: 3 * len(indices) : 3] = indices
        return room[: 3 * len(indices) : 3]
    if form.startswith("reversed"):
        return np.array(indices[::-1], dtype)[::-1]
    return np.array(indices, dtype)


def bits_for(form: str, size: int, share: float, rng: np.random.Generator) -> list[bool | None]:
    """A mask of this length, of which this share is true."""
    bits: list[bool | None] = [bool(bit) for bit in rng.random(size) < share]
    return [None if "nulls" in form and rng.random() < 0.3 else bit for bit in bits]


def mask_of(form: str, bits: list[bool | None]) -> Any:
    """Mask bits in the given form."""
    if form == "list":
        return bits if bits else np.array([], bool)  # an empty list has no type
    if form == "numpy":
        return np.array(bits, bool)
    if form == "strided":
        return np.repeat(np.array(bits, bool), 2)[::2]
    if "cut" in form:
        return pa.array([True, None, False, *bits, True], pa.bool_()).slice(3, len(bits))
    return in_arrow(bits, pa.bool_(), form)


def held_against(oracle: Callable[[], Any], call: Callable[[], Any]) -> tuple[Any, Any] | None:
    """(result, the oracle's result); None if both raise, after a comparison of the errors."""
    try:
        want = oracle()
    except reference.Outside as bad:
        with pytest.raises(gs.OutOfBoundsError) as caught:
            call()
        error = caught.value
        assert (error.position, error.index, error.axis) == (bad.position, bad.index, 0)
        assert (error.size, error.count) == (bad.size, bad.count)
        return None
    except reference.NullIndex as bad:
        with pytest.raises(NullIndexError, match=rf"\b{bad.position[0]}\b"):
            call()
        return None
    except (reference.TooFewRows, reference.WrongLength):
        with pytest.raises(InvalidArgument):
            call()
        return None
    return call(), want
