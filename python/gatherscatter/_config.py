"""_config.py: memory that is kept, and facts about the installation."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from gatherscatter import _core
from gatherscatter._version import __version__


def trim() -> int:
    """Give memory that is kept for reuse back to the system.

    Results from 256 KiB on live in blocks that are used again once a result is gone, because fresh memory costs more
    time than most gathers. Temporary memory on GPUs is kept in the same way.

    Returns
    -------
    int
        Number of bytes given back.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.trim() >= 0
    True
    """
    cuda = sys.modules.get("gatherscatter._cuda")
    freed = _core.trim()
    return freed if cuda is None else freed + int(cuda.trim())


def _cuda_facts() -> dict[str, Any]:
    """What the CUDA module says of itself and of the GPUs here."""
    try:
        cuda = importlib.import_module("gatherscatter._cuda")
    except ModuleNotFoundError:
        reason = (
            "this installation was built without CUDA: there was no GPU or no nvcc then, or GS_CUDA was OFF; "
            "pip install with -Ccmake.define.GS_CUDA=ON brings the module"
        )
        return {"built": False, "reason": reason}
    except ImportError as error:
        return {"built": False, "reason": f"the CUDA module cannot be loaded: {error}"}
    return {"built": True, **cuda.facts()}


def show_config() -> dict[str, Any]:
    """Facts about this installation and machine.

    Returns
    -------
    dict
        ``version``, ``backend`` (who serves host arrays), ``isa`` (instruction set level in use), ``isa_supported``,
        ``cpu_model``, ``processors``, ``threads``, ``l2_bytes``, ``llc_bytes``, the thresholds that
        ``python -m gatherscatter tune`` measures (``far_table_bytes`` and so on; ``far_vector_bytes`` is the first of
        them for units of 4 and 8 bytes), the state of the memory pool, and
        ``cuda``: whether a CUDA module was ``built``, for which ``architectures``, with which ``runtime``; the version
        of CUDA that the ``driver`` speaks; the ``devices``; and the ``reason`` where no GPU can be used.

    Notes
    -----
    Asks the CUDA driver, if there is one, but takes no memory of a GPU. Processes that are forked later cannot use CUDA
    then, as after any use of it.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.show_config()["isa"] in ("baseline", "v3", "v4")
    True
    """
    return {"version": __version__, **_core.config(), "cuda": _cuda_facts()}
