"""chunks.py: refuses chunks that are not NumPy arrays, because tasks would lose their masks or misread them."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from gatherscatter.errors import name_of

__all__ = ["check_chunk", "check_type", "meta_of", "rechunked"]

# A mapped file has the values of an array, and reductions make scalars of NumPy; other subclasses have their own rules.
_PLAIN = (np.ndarray, np.memmap)


def meta_of(array: Any) -> Any:
    """The array of no items that Dask notes for the chunks of an array: their type and dtype."""
    return importlib.import_module("dask.array.utils").meta_from_array(array, dtype=array.dtype)


def check_type(op: str, role: str, cls: type) -> None:
    """Raise TypeError for a type of chunks that is not NumPy's own array."""
    if cls in _PLAIN or issubclass(cls, np.generic):
        return
    if issubclass(cls, np.ma.MaskedArray):
        kind, step = "masked arrays", "x.map_blocks(numpy.ma.filled, value) gives chunks without masks"
    else:
        kind, step = f"of type {name_of(cls)}", "x.map_blocks(f) with an f that makes NumPy arrays gives such chunks"
    raise TypeError(f"{op}: the chunks of {role} are {kind}, expected NumPy arrays; {step}")


def check_chunk(op: str, role: str, chunk: Any) -> Any:
    """The chunk that a task got, if it is a NumPy array; the type that Dask noted for an array may be wrong."""
    check_type(op, role, type(chunk))
    return chunk


def rechunked(op: str, role: str, array: Any, chunks: Any) -> Any:
    """A Dask array in other chunks. Its chunks are checked before, because Dask may drop masks as it joins them."""
    if array.chunks == chunks:
        return array
    if array.ndim and not any(array.shape):  # Dask leaves such arrays in their chunks
        return importlib.import_module("dask.array").zeros(array.shape, dtype=array.dtype, chunks=chunks)
    return array.map_blocks(partial(check_chunk, op, role), dtype=array.dtype, meta=meta_of(array)).rechunk(chunks)
