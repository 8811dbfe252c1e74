"""recognise.py: what kind of object an argument is, and messages for arguments that are not arrays."""

from __future__ import annotations

import math
from collections.abc import Collection
from os import PathLike
from typing import Any

import numpy as np

from gatherscatter.errors import name_of, type_name

__all__ = [
    "dtype_name",
    "has_interface",
    "hint",
    "is_masked_array",
    "is_ndarray",
    "library_of",
    "needs_step",
    "no_array",
    "pretends",
]

# The module or the full name of a type, and the call that makes an array of it. The first match is used, so a longer
# name must precede its prefixes.
_STEPS = {
    "list": "numpy.asarray(x) makes one",
    "tuple": "numpy.asarray(x) makes one",
    "awkward": "awkward.to_numpy(x) makes one, where all lists of a level are of one length",
    "cudf": "gatherscatter.table (gs.table) takes it as it is, and the .values of a column are a CuPy array",
    "dask.dataframe": "x.compute() gives a pandas object, for gatherscatter.table (gs.table)",
    "dask": "x.compute() gives one",
    "h5py._hl.files": "x[name][...] reads one of its arrays",
    "h5py._hl.group": "x[name][...] reads one of its arrays",
    "h5py": "x[...] reads it into one",
    "narwhals": "narwhals.to_native(x) gives what it wraps, for gatherscatter.table (gs.table)",
    "scipy.sparse": "x.toarray() makes one",
    "slice": "numpy.arange(start, stop) makes one",
    "tensorflow": "x.numpy() gives one",
    "xarray.core.dataset": "x[name].values is one",
    "xarray": "x.values is one",
    "zarr.core.group": "x[name][...] reads one of its arrays",
    "zarr.hierarchy": "x[name][...] reads one of its arrays",
    "zarr": "x[...] reads it into one",
}

_MUCH = 1 << 28  # bytes; of so many, an array of a sparse matrix is not advised
_PROTOCOLS = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")


def library_of(obj: Any, libraries: Collection[str]) -> str:
    """The library among `libraries` that defines the type of an object, else "".

    Base classes are searched as well, so that a user's class derived from a library's class belongs to the library.
    """
    for cls in type(obj).__mro__:
        library = cls.__module__.partition(".")[0]
        if library in libraries:
            return library
    return ""


def hint(obj: Any) -> str:
    """The end of an error message that names the call which makes an array of an object, else "".

    Types are recognised by the name of their module, so that no library is imported.
    """
    for cls in type(obj).__mro__:
        name = name_of(cls)
        for origin, step in _STEPS.items():
            if name == origin or name.startswith(origin + "."):
                return f"; {_step_of_sparse(obj) if origin == 'scipy.sparse' else step}"
    return ""


def _step_of_sparse(obj: Any) -> str:
    """What to do with a sparse matrix, whose array may be far larger than the memory."""
    try:
        size = math.prod(map(int, obj.shape)) * int(obj.dtype.itemsize)
    except (AttributeError, TypeError, ValueError):
        size = 0
    if size < _MUCH:
        return "x.toarray() makes one"
    return (
        f"x[rows] takes rows of it, x.data and x.indices are arrays, and as an array it would have {size / 1e9:,.1f} GB"
    )


def needs_step(obj: Any) -> bool:
    """Whether an object of a library in `_STEPS` shares no memory, so that the user must convert it to an array."""
    cls = type(obj)
    if issubclass(cls, list | tuple) or any(hasattr(cls, protocol) for protocol in _PROTOCOLS):
        return False
    return hint(obj) != ""


def no_array(op: str, role: str, obj: Any, otherwise: str = "") -> TypeError:
    """The error for an argument that is not an array. `otherwise` is the next step where `hint` has none."""
    if isinstance(obj, str | PathLike):
        otherwise = "gatherscatter.open(path) maps the array of a .npy file"
    step = hint(obj) or (f"; {otherwise}" if otherwise else "")
    return TypeError(f"{op}: {role} is of type {type_name(obj)}, expected an array{step}")


def is_ndarray(obj: Any) -> bool:
    """Whether the type of an object, not its ``__class__``, is `numpy.ndarray` or a subclass of it."""
    return issubclass(type(obj), np.ndarray)


def pretends(obj: Any, cls: type) -> bool:
    """Whether an object is an instance of a class only by its ``__class__`` and not by its type, as mocks are."""
    return isinstance(obj, cls) and not issubclass(type(obj), cls)


def is_masked_array(obj: Any) -> bool:
    """Whether the type of an object, not its ``__class__``, is a masked array of NumPy or a subclass of it."""
    return issubclass(type(obj), np.ma.MaskedArray)


def has_interface(obj: Any) -> bool:
    """Whether an object describes memory of a GPU by ``__cuda_array_interface__``, as numba and others do."""
    return isinstance(getattr(obj, "__cuda_array_interface__", None), dict)


def dtype_name(array: Any) -> str:
    """Name of an array's dtype without the name of its library: ``int64``, ``bfloat16``, ``float8_e4m3fn``."""
    dtype = array.dtype
    return dtype.name if isinstance(dtype, np.dtype) else str(dtype).rpartition(".")[2]
