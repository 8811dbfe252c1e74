"""casts.py: text and bytes of one Arrow layout cast to another, and the cast that an error about types names."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from gatherscatter import _core
from gatherscatter._libraries.recognise import library_of

__all__ = ["as_layout", "cast_step", "in_layouts_of"]

# Types of Arrow that differ in how they store a value, and not in which values they have.
_TEXT = frozenset(("string", "large_string", "string_view"))
_BYTES = frozenset(("binary", "large_binary", "binary_view"))


def in_layouts_of(op: str, target: _core.ArrowTable, source: _core.ArrowTable) -> _core.ArrowTable | None:
    """The source with its columns of text and bytes in the layouts of those of the target; nulls stay.

    None if no column differs in its layout alone, on GPUs, without pyarrow, and where pyarrow does not have the cast.
    """
    pairs = list(zip(target.column_types, source.column_types, strict=True))
    places = [
        at
        for at, pair in enumerate(pairs)
        if len(set(pair)) == 2 and (_TEXT.issuperset(pair) or _BYTES.issuperset(pair))
    ]
    if not places or source.device >= 0:
        return None
    try:
        pa: Any = importlib.import_module("pyarrow")
    except ModuleNotFoundError:
        return None
    source = _core.ArrowTable(source, source.is_table, True, op)  # pyarrow trusts the offsets that it casts
    given = pa.table(source) if source.is_table else pa.chunked_array(source)
    try:
        if not source.is_table:
            return _core.ArrowTable(as_layout(pa, given, pairs[0][0]), False, False, op)
        for at in places:
            column = as_layout(pa, given.column(at), pairs[at][0])
            given = given.set_column(at, given.schema.field(at).with_type(column.type), column)
        return _core.ArrowTable(given, True, False, op)
    except pa.lib.ArrowException:  # offsets of 32 bits overflow; an old version has no such cast
        return None


def as_layout(pa: Any, column: Any, layout: str) -> Any:
    """A ChunkedArray of text or bytes, which was validated in full, in another layout of Arrow."""
    chunks = [
        _cleared(pa, chunk) for chunk in column.chunks if len(chunk)
    ]  # pyarrow refuses some empty slices of views
    return pa.chunked_array(chunks, column.type).cast(getattr(pa, layout)())


def _cleared(pa: Any, chunk: Any) -> Any:
    """A chunk whose nulls have empty views: their bytes mean nothing, but a cast of pyarrow follows them."""
    if chunk.null_count == 0 or not str(chunk.type).endswith("_view"):
        return chunk
    valid = chunk.is_valid()
    _, views, *data = chunk.buffers()
    words = np.frombuffer(views, np.int64, 2 * len(chunk), 16 * chunk.offset).reshape(-1, 2)
    words = words * valid.to_numpy(zero_copy_only=False)[:, None]
    return pa.Array.from_buffers(chunk.type, len(chunk), [valid.buffers()[1], pa.py_buffer(words), *data])


def cast_step(target: Any, source: Any, roles: tuple[str, str]) -> str:
    """The end of an error about differing types: the cast of the source to the types of the target, in its library.

    `target` and `source` are frames; the target's may be a part of the table that the caller has.
    """
    mine, theirs = (role.removeprefix("the ") for role in roles)
    part = {
        "pyarrow": f"{mine}.select({theirs}.column_names)",
        "polars": f"{mine}.select({theirs}.columns)",
        "pandas": f"{mine}[{theirs}.columns]",
    }
    for library, method in (("pyarrow", "cast"), ("polars", "cast"), ("pandas", "astype")):
        if library_of(target.source, (library,)) and library_of(source.source, (library,)):
            names = ("schema", "type", "dtypes", "dtype") if library != "pandas" else ("dtypes", "dtype")
            is_table = hasattr(type(source.source), "columns")
            kind = next(
                name for name in names if hasattr(target.source, name) and (name in ("schema", "dtypes")) == is_table
            )
            return f"; {theirs}.{method}({part[library] if hasattr(target, 'whole') else mine}.{kind}) casts it"
    return ""
