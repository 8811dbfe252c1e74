"""files.py: opens files as mapped arrays of NumPy."""

from __future__ import annotations

import builtins
import math
import os
import stat
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gatherscatter._libraries.of_python import as_int
from gatherscatter.errors import shown

__all__ = ["open"]

MAGIC = b"\x93NUMPY"
Mode = Literal["r", "r+", "c"]
Path = str | os.PathLike[str]


def open(
    path: Path,
    *,
    dtype: npt.DTypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    offset: int = 0,
    mode: Mode = "r",
) -> np.memmap[Any, Any]:
    """Map a file as an array, whose pages are read when they are used.

    Without `dtype` the file is an ``.npy`` file, which knows its dtype, shape and order. With `dtype` it is a raw file
    of items in C order. The array is a `numpy.memmap`; this function only adds checks. All operators ask for the pages
    of any mapped file of 64 MiB or more before they read them.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    dtype : dtype-like, optional
        The dtype of the items of a raw file; it must not hold Python objects.
    shape : int or sequence of int, optional
        The shape of the array in a raw file. Default: one axis of all items from `offset` to the end of the file.
    offset : int, default 0
        The bytes in front of the first item of a raw file.
    mode : {'r', 'r+', 'c'}, default 'r'
        Read only; read and write, so that writes reach the file; or copy-on-write, so that writes stay in memory.

    Returns
    -------
    numpy.memmap
        The array. Writes to it reach the disk some time later, and at the latest with its method ``flush``.

    Raises
    ------
    ValueError
        The file is no ``.npy`` file, is shorter than its array, or holds pickled objects; or an argument does not fit.
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> folder = tempfile.TemporaryDirectory()
    >>> name = os.path.join(folder.name, "x.npy")
    >>> np.save(name, np.arange(6.0).reshape(3, 2))
    >>> gs.take(gs.open(name), [2, 0], axis=0).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    >>> gs.open(name, dtype=np.uint8)
    Traceback (most recent call last):
      ...
    ValueError: open: ...x.npy' is an .npy file, which knows its dtype; leave `dtype` out, or give the `offset` ...
    >>> folder.cleanup()
    """
    name = os.fspath(path)
    if mode not in get_args(Mode):
        step = "; numpy.lib.format.open_memmap(path, 'w+', dtype, shape) makes a file" if mode in ("w", "w+") else ""
        words = "'r' (read), 'r+' (read and write) or 'c' (copy-on-write)"
        raise ValueError(f"open: mode={shown(mode)}; expected {words}{step}")
    start = _size_of("offset", offset)
    kind = stat.S_IFMT(os.stat(name).st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):  # a pipe would be waited for, and a folder has an error of the system
        raise ValueError(f"open: {name!r} is not a regular file, so it cannot be mapped as an array")
    with builtins.open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            raise ValueError(f"open: {name!r} is empty; an empty file cannot be mapped")
        is_npy = file.read(len(MAGIC)) == MAGIC
        if dtype is None:
            if shape is not None or start != 0:
                raise ValueError("open: `shape` and `offset` describe a raw file, whose `dtype` is needed as well")
            if not is_npy:
                file.seek(0)
                if file.read(4) == b"PK\3\4":
                    raise ValueError(
                        f"open: {name!r} is a zip archive, as .npz files are, whose arrays cannot be mapped; "
                        "numpy.load(path)[key] reads one, and numpy.save writes it to an .npy file"
                    )
                file.seek(0)
                raise ValueError(
                    f"open: {name!r} begins with {file.read(len(MAGIC))!r}; an .npy file begins with {MAGIC!r}. "
                    "A raw file needs its `dtype`"
                )
            _check_npy(name, file, size)
            return np.lib.format.open_memmap(name, mode=mode)
    if is_npy and start < len(MAGIC):
        raise ValueError(
            f"open: {name!r} is an .npy file, which knows its dtype; "
            "leave `dtype` out, or give the `offset` of its items"
        )
    return _map_raw(name, np.dtype(dtype), shape, start, mode, size)


def _size_of(argument: str, value: Any) -> int:
    """An argument that is a number of bytes or items."""
    size = as_int(value)
    if size is None:
        raise TypeError(f"open: {argument} has {value!r} of type {type(value).__name__}; expected an integer")
    if size < 0:
        raise ValueError(f"open: {argument} has {size}; expected 0 or more")
    return size


def _check_npy(name: str, file: Any, size: int) -> None:
    """Read the header of an .npy file, and compare the length of the file with it."""
    file.seek(0)
    try:
        version = np.lib.format.read_magic(file)
        # Version 3 differs from 2 in the encoding of field names alone, which have no influence on the length.
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    except Exception as error:  # NumPy parses the header as Python code, whose errors are of many types
        raise ValueError(f"open: the header of {name!r} cannot be read: {error}") from None
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise ValueError(f"open: the header of {name!r} has shape {shape}; expected integers of 0 or more")
    if dtype.hasobject:
        raise ValueError(f"open: {name!r} holds pickled objects of dtype {dtype}; such an array cannot be mapped")
    _check_size(name, size, file.tell(), shape, dtype)


def _check_size(name: str, size: int, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if math.prod(extent or 1 for extent in shape) * dtype.itemsize >= 1 << 63:
        raise ValueError(f"open: shape {shape} of {dtype} has more bytes than an array can have")
    needed = offset + math.prod(shape) * dtype.itemsize
    if size < needed:
        raise ValueError(
            f"open: {name!r} has {size} bytes, but shape {shape} of {dtype} from byte {offset} on needs {needed}"
        )


def _map_raw(
    name: str, dtype: np.dtype[Any], shape: int | Sequence[int] | None, offset: int, mode: Mode, size: int
) -> np.memmap[Any, Any]:
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"open: dtype {dtype} has no fixed bytes in a file")
    if offset > size:
        raise ValueError(f"open: offset is {offset}, but {name!r} has {size} bytes; expected {size} or less")
    if shape is None:
        rest = size - offset
        if rest % dtype.itemsize != 0:
            raise ValueError(
                f"open: {name!r} has {rest} bytes from byte {offset} on, which is no number of items of "
                f"{dtype.itemsize} bytes ({dtype})"
            )
        extents: tuple[int, ...] = (rest // dtype.itemsize,)
    else:
        sizes = shape if isinstance(shape, Sequence) else (shape,)
        extents = tuple(_size_of("shape", extent) for extent in sizes)
    _check_size(name, size, offset, extents, dtype)
    # Without this check, mode 'r+' of NumPy would make a short file longer.
    return np.memmap(name, dtype=dtype, mode=mode, offset=offset, shape=extents)
