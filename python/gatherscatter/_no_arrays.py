"""_no_arrays.py: what is no array, and the call that makes one of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from gatherscatter.errors import name_of, type_name

__all__ = ["hint", "is_masked_array", "is_ndarray", "library_of", "needs_step", "no_array", "pretends"]

# Where a type comes from, or its whole name, and what its user can do next. A longer name goes before a shorter one.
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
    "tensorflow": "x.numpy() gives one",
    "xarray.core.dataset": "x[name].values is one",
    "xarray": "x.values is one",
    "zarr.core.group": "x[name][...] reads one of its arrays",
    "zarr.hierarchy": "x[name][...] reads one of its arrays",
    "zarr": "x[...] reads it into one",
}

_WAYS = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")


def library_of(obj: Any, libraries: Collection[str]) -> str:
    """The first of some libraries that an object's type or one of its bases comes from, else "".

    A class that a user derived from one of a library is as good as that.
    """
    for cls in type(obj).__mro__:
        library = cls.__module__.partition(".")[0]
        if library in libraries:
            return library
    return ""


def hint(obj: Any) -> str:
    """The end of a message: what makes an array of an object of a library that is known here, else "".

    The library is known by name, and never imported.
    """
    for cls in type(obj).__mro__:
        name = name_of(cls)
        for origin, step in _STEPS.items():
            if name == origin or name.startswith(origin + "."):
                return f"; {step}"
    return ""


def needs_step(obj: Any) -> bool:
    """Whether an object of a library that is known here shares no memory, so that a call has to make an array of it."""
    cls = type(obj)
    if issubclass(cls, list | tuple) or any(hasattr(cls, way) for way in _WAYS):
        return False
    return hint(obj) != ""


def no_array(op: str, role: str, obj: Any, otherwise: str = "") -> TypeError:
    """An error that says what came in the place of an array, and what to do: `otherwise` if nothing else is known."""
    step = hint(obj) or (f"; {otherwise}" if otherwise else "")
    return TypeError(f"{op}: {role} is of type {type_name(obj)}, expected an array{step}")


def is_ndarray(obj: Any) -> bool:
    """Whether an object is an array of NumPy or of a subclass, whatever class it claims to be of."""
    return issubclass(type(obj), np.ndarray)


def pretends(obj: Any, cls: type) -> bool:
    """Whether an object claims to be of a class that its type has nothing to do with, as mocks do."""
    return isinstance(obj, cls) and not issubclass(type(obj), cls)


def is_masked_array(obj: Any) -> bool:
    """Likewise a masked array of NumPy."""
    return issubclass(type(obj), np.ma.MaskedArray)
