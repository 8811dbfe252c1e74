"""cuda_module.py: finds the module for NVIDIA GPUs: part of gatherscatter, or installed as gatherscatter-cuda."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

from gatherscatter._version import __version__

__all__ = ["import_cuda", "imported_cuda"]

# The first is there if gatherscatter was built with CUDA; the second is all of the distribution gatherscatter-cuda.
_NAMES: Final = ("gatherscatter._cuda", "gatherscatter_cuda._cuda")
_NOT_INSTALLED: Final = (
    "built without CUDA: there was no GPU or no nvcc, or GS_CUDA was OFF; pip install with "
    "-Ccmake.define.GS_CUDA=ON builds it, and gatherscatter-cuda adds it"
)


def import_cuda() -> Any:
    """Import the first of the modules that is installed.

    Raises
    ------
    ModuleNotFoundError
        If none is installed.
    ImportError
        If the first one that is installed cannot be loaded, or is of another version.
    """
    for name in _NAMES:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in (name, name.partition(".")[0]):
                raise
            continue
        version = getattr(module, "version", __version__)
        if version != __version__:
            raise ImportError(
                f"{name} is of version {version} and gatherscatter of {__version__}; install both in one version"
            )
        return module
    raise ModuleNotFoundError(_NOT_INSTALLED)


def imported_cuda() -> Any | None:
    """The module if this process has imported it; None otherwise."""
    return next((sys.modules[name] for name in _NAMES if name in sys.modules), None)
