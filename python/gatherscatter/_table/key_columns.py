"""key_columns.py: columns of keys as values that a hash table compares, and wanted keys in their types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gatherscatter._table.messages import called
from gatherscatter.errors import DataTypeError

__all__ = ["TICKS", "Indices", "KeyColumn", "exactly", "of_numbers", "paired", "refused", "rescaled"]

Indices = np.ndarray[Any, np.dtype[Any]]
TICKS = {"D": 1, "s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}  # of a day, by unit
NUMBERS = ("integer", "floating")


@dataclass
class KeyColumn:
    """A column of keys, or of wanted keys.

    Attributes
    ----------
    name : object
        For messages; None for a column without a name.
    kind : str
        What its values are: only those of one kind are compared, except that integers are with floats and decimals.
        A column of no kind, "", has nulls only.
    values : ndarray or column of the engine
        The values that are not null, without NaN: int64 or uint64 for integers, times and bools, float64 for floats.
    valid : ndarray of bool
        For each row, whether it has a value.
    type : str
        The type of the column in its library, for messages.
    ticks : int
        Of times: units in a day.
    item : callable
        The Python value of a row, for messages.
    """

    name: Any
    kind: str
    values: Any
    valid: Indices
    type: str = ""
    ticks: int = 1
    item: Any = None

    def spread(self, codes: Indices) -> Indices:
        """A number for each row, from those of the rows with values; -1 for the others."""
        if len(codes) == len(self.valid):
            return codes
        result = np.full(len(self.valid), -1)
        result[self.valid] = codes
        return result

    def kept(self, values: Any, kept: Indices) -> KeyColumn:
        """The column with other values, of which those that are not `kept` become null."""
        valid = self.valid.copy()
        valid[self.valid] = kept
        return replace(self, values=values[kept], valid=valid)

    def emptied(self, like: Any) -> KeyColumn:
        """The column with nulls only, as a partner of values of any type."""
        return replace(self, values=like[:0], valid=np.zeros(len(self.valid), bool))


def of_numbers(name: Any, kind: str, values: Indices, valid: Indices, type: str, ticks: int = 1) -> KeyColumn:
    """The column of an array of numbers, bools, or times as integers; one entry for each row.

    NaN is null, and -0.0 is 0.0, since a hash table may compare bytes.
    """
    values = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind == "f":
        valid = valid & (values == values)
        return KeyColumn(name, kind, values[valid].astype(np.float64) + 0.0, valid, type)
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    return KeyColumn(name, kind, values[valid].astype(wide, copy=False), valid, type, ticks)


def paired(op: str, keys: KeyColumn, wanted: KeyColumn, engine: Any) -> tuple[KeyColumn, KeyColumn]:
    """Both columns with values that an engine compares: wanted keys that the type of `keys` does not hold are null.

    Raises
    ------
    DataTypeError
        If the kinds differ.
    """
    if not keys.kind:
        return keys, wanted.emptied(keys.values)
    if not wanted.kind:
        keys = _as_int64(keys)
        return keys, wanted.emptied(keys.values)
    kinds = {keys.kind, wanted.kind}
    if "decimal" in kinds and kinds <= {"decimal", "integer"}:
        return engine.paired_decimals(op, keys, wanted)  # type: ignore[no-any-return]  # an engine is a module
    if keys.kind != wanted.kind and not kinds <= set(NUMBERS):
        raise DataTypeError(
            f"{op}: {called(keys.name)} of keys is of type {keys.type}, {called(wanted.name)} of wanted of type "
            f"{wanted.type}, and {keys.kind} keys are never equal to {wanted.kind} ones: cast one side"
        )
    if not (_is_numeric(keys.values) and _is_numeric(wanted.values)):
        return engine.paired_objects(keys, wanted)  # type: ignore[no-any-return]  # as above
    if keys.ticks != wanted.ticks:
        wanted = wanted.kept(*rescaled(wanted.values, wanted.ticks, keys.ticks))
    elif keys.values.dtype != wanted.values.dtype:
        wanted = wanted.kept(*exactly(wanted.values, keys.values.dtype))
    return _as_int64(keys), _as_int64(wanted)


def exactly(values: Indices, dtype: Any) -> tuple[Indices, Indices]:
    """Numbers converted to another dtype, and which of them it holds exactly."""
    with np.errstate(all="ignore"):
        other = values.astype(dtype)
        if values.dtype.kind == "f":
            # aarch64 converts 2.0**63 to 2**63 - 1, which a conversion back would make 2.0**63 again.
            limits = np.iinfo(dtype)
            inside = (values >= float(limits.min)) & (values < float(limits.max + 1))
            return other, inside & (other.astype(values.dtype) == values)
        if other.dtype.kind == "f":
            inside = other < float(np.iinfo(values.dtype).max + 1)
            return other, inside & (other.astype(values.dtype) == values)
    return other, (values >= 0) & (other >= 0)  # one dtype is signed, the other is not


def rescaled(values: Indices, ticks: int, wanted: int) -> tuple[Indices, Indices]:
    """Times as integers in another unit, and which of them it holds exactly."""
    if wanted % ticks == 0:
        factor = wanted // ticks
        most = np.iinfo(np.int64).max // factor
        kept = (values <= most) & (values >= -most)
        return np.where(kept, values, 0) * factor, kept
    factor = ticks // wanted
    other = values // factor
    return other, other * factor == values


def refused(op: str, role: str, name: Any, type: Any) -> DataTypeError:
    """The error for a column whose type is no type of keys."""
    return DataTypeError(
        f"{op}: {called(name)} of {role} is of type {type}, which is no type of keys: those are numbers, bools, text, "
        "bytes, times, categories, and structs of these"
    )


def _is_numeric(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind != "O"


def _as_int64(column: KeyColumn) -> KeyColumn:
    """Numbers by their bytes, which are equal if the numbers are, so that engines hash no other type of numbers."""
    return replace(column, values=column.values.view(np.int64)) if _is_numeric(column.values) else column
