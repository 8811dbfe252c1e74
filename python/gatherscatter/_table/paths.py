"""paths.py: recognises tables that lie in files, and the format of a file by its first bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gatherscatter.errors import InvalidArgument, shown

__all__ = ["STEP_TO_DECRYPT", "format_of", "is_in_files", "is_of_pyarrow"]

STEP_TO_DECRYPT = "; open it as pyarrow.parquet.ParquetFile(path, decryption_properties=...), and give that"
FORMATS = {b"PAR1": "parquet", b"ARROW1": "ipc"}


def is_in_files(source: Any) -> bool:
    """Whether a source is a table in files: paths, or a data set or Parquet file of pyarrow, which is not imported."""
    if isinstance(source, (str, os.PathLike)):
        return True
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(item, (str, os.PathLike)) for item in source)
    return is_of_pyarrow(source, "Dataset") or is_of_pyarrow(source, "ParquetFile")


def is_of_pyarrow(source: Any, name: str) -> bool:
    """Whether an object is an instance of a class of pyarrow."""
    return any(base.__name__ == name and base.__module__.startswith("pyarrow.") for base in type(source).__mro__)


def format_of(op: str, path: Path) -> str:
    """The name that pyarrow has for the format of a file.

    Raises
    ------
    InvalidArgument
        For a folder, and for a file of any other format.
    OSError
        If there is no such file, or it cannot be read.
    """
    if path.is_dir():
        raise InvalidArgument(
            f"{op}: {path} is a folder: open it as pyarrow.dataset.dataset({shown(str(path))}, format=..., "
            "partitioning=...), and give that"
        )
    if not path.exists() and any(character in str(path) for character in "*?["):
        raise FileNotFoundError(
            f"{op}: there is no file {shown(str(path))}, and patterns are not expanded; "
            "sorted(glob.glob(pattern)) is the list of paths"
        )
    if path.exists() and not path.is_file():
        raise InvalidArgument(f"{op}: {path} is not a regular file")
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"PARE"):
        raise InvalidArgument(f"{op}: {path} is an encrypted Parquet file{STEP_TO_DECRYPT}")
    for magic, name in FORMATS.items():
        if start.startswith(magic):
            return name
    raise InvalidArgument(
        f"{op}: {path} is neither a Parquet file nor an Arrow IPC file (Feather version 2): "
        "open it as pyarrow.dataset.dataset(path, format=...), and give that"
    )
