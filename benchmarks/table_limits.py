"""The physical limit of a gather from a table: probe.cpp reads every cache line that it accesses in each column."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .limits import DISTANCES, Sample, pointers_to


@dataclass(frozen=True)
class Column:
    """The memory of a column: fixed-width values, or text and its int32 offsets."""

    values: np.ndarray
    width: int
    offsets: np.ndarray | None = None
    validity: np.ndarray | None = None


class _Column(ctypes.Structure):
    _fields_ = (
        ("values", ctypes.c_void_p),
        ("width", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("validity", ctypes.c_void_p),
    )


def _address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


def probes(
    library: ctypes.CDLL, columns: Sequence[Column], rows: Sequence[np.ndarray], threads: int
) -> dict[str, Sample]:
    """Walks over the rows (uint32, one array per set) of each column, with and without prefetching."""
    library.gs_probe_columns.restype = ctypes.c_double
    described = (_Column * len(columns))(
        *(_Column(_address(one.values), one.width, _address(one.offsets), _address(one.validity)) for one in columns)
    )
    pointers = pointers_to(rows)
    points = (ctypes.c_int64 * len(rows))(*map(len, rows))

    def walk(distance: int) -> Sample:
        def sample(first: int, calls: int) -> float:
            seconds: float = library.gs_probe_columns(
                described,
                len(columns),
                pointers,
                points,
                len(rows),
                first % len(rows),
                calls,
                ctypes.c_int64(distance),
                threads,
            )
            return seconds

        return sample

    return {f"columns, prefetch {distance}" if distance else "columns": walk(distance) for distance in DISTANCES}
