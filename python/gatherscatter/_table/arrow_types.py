"""arrow_types.py: gives an array of pyarrow the extension types that it lost, because they are not registered."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

__all__ = ["with_type"]

_BYTES_OF_ARROW_ARRAY = 80  # struct ArrowArray: five integers of 64 bits and five pointers


def with_type(array: Any, kind: Any) -> Any:
    """An array, or a ChunkedArray, as one of a type that differs in the names of extension types alone; no copy.

    A cast does this too, but pyarrow has none for list views, unions and run-end encoded types.
    """
    if array.type == kind:
        return array
    pa = importlib.import_module("pyarrow")
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([with_type(chunk, kind) for chunk in array.chunks], kind)
    if not hasattr(array, "_export_to_c"):  # a method that is not public
        return array.cast(kind)
    struct = ctypes.create_string_buffer(_BYTES_OF_ARROW_ARRAY)
    array._export_to_c(ctypes.addressof(struct))
    return pa.Array._import_from_c(ctypes.addressof(struct), kind)
