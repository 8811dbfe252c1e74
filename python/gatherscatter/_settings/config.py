"""config.py: `trim`, which releases cached memory, and `show_config`, which describes the installation."""

from __future__ import annotations

import os
from typing import Any, Final

from gatherscatter import _core
from gatherscatter._libraries.cuda_module import import_cuda, imported_cuda
from gatherscatter._version import __version__

# The environment variables that decide each threshold, the strongest first. They are read once, at import.
_THRESHOLDS: Final = {
    "far_table_bytes": ("GS_FAR_TABLE_BYTES", "GS_L2_BYTES"),
    "far_vector_bytes": ("GS_FAR_TABLE_BYTES", "GS_L2_BYTES"),
    "far_target_bytes": ("GS_FAR_TABLE_BYTES", "GS_L2_BYTES"),
    "far_element_bytes": ("GS_FAR_TABLE_BYTES", "GS_L2_BYTES"),
    "far_column_bytes": ("GS_FAR_TABLE_BYTES", "GS_L2_BYTES"),
    "stream_bytes": ("GS_STREAM_BYTES", "GS_LLC_BYTES"),
    "stream_late_bytes": ("GS_STREAM_BYTES", "GS_LLC_BYTES"),
    "serial_points": ("GS_SERIAL_POINTS",),
    "serial_points_far": ("GS_SERIAL_POINTS",),
    "serial_row_bytes": ("GS_SERIAL_POINTS",),
    "serial_near_bytes": ("GS_SERIAL_POINTS",),
    "gather_percent": ("GS_GATHER_PERCENT",),
    "gather_percent_sparse": ("GS_GATHER_PERCENT",),
}
_AT_IMPORT: Final = frozenset(name for name in os.environ if name.startswith("GS_"))


def _source_of(variables: tuple[str, ...], saved: dict[str, Any]) -> str:
    """Where the value of a threshold comes from."""
    for variable in variables:
        if variable in _AT_IMPORT:
            return variable
        if variable in saved["values"]:
            path: str = saved["path"]
            return path
    return "default"


def threshold_sources() -> dict[str, str]:
    """Where the value of each threshold comes from: "default", an environment variable, or a file of thresholds."""
    saved = _core.saved_tuning()
    return {name: _source_of(variables, saved) for name, variables in _THRESHOLDS.items()}


def trim() -> int:
    """Release memory that is kept for reuse.

    Memory of results of 256 KiB and more is kept when a result is freed and reused for later results, because
    allocating fresh memory takes more time than most gathers. Temporary memory on GPUs is kept in the same way.

    Returns
    -------
    int
        Number of bytes released.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.trim() >= 0
    True
    """
    cuda = imported_cuda()
    freed = _core.trim()
    return freed if cuda is None else freed + int(cuda.trim())


def _cuda_facts() -> dict[str, Any]:
    """Facts about the CUDA module and the GPUs of this machine."""
    try:
        cuda = import_cuda()
    except ModuleNotFoundError as error:
        return {"built": False, "reason": str(error)}
    except ImportError as error:
        return {"built": False, "reason": f"the CUDA module cannot be loaded: {error}"}
    return {"built": True, "module": cuda.__name__, **cuda.facts()}


def show_config() -> dict[str, Any]:
    """Describe this installation and machine.

    Returns
    -------
    dict
        ``version``, ``backend`` (which runs calls on host arrays), ``isa`` (instruction set level in use),
        ``isa_supported``, ``cpu_model``, ``processors``, ``threads``, ``l2_bytes``, ``llc_bytes``, the thresholds that
        ``python -m gatherscatter tune`` measures (``far_table_bytes`` and so on; ``far_vector_bytes`` replaces
        ``far_table_bytes`` for units of 4 and 8 bytes, ``far_target_bytes`` for the targets of scatters,
        ``far_element_bytes`` for targets of up to 16 bytes,
        ``far_column_bytes`` for columns of tables, ``stream_late_bytes`` replaces ``stream_bytes`` for units of up to
        16 bytes from anywhere in at least ``stream_bytes`` and for longer ones from less, ``serial_near_bytes``
        replaces ``serial_row_bytes`` for source arrays in a cache, ``gather_percent`` is the measured time of single
        loads, in percent of that of gather instructions, from which on the latter are used, and
        ``gather_percent_sparse`` the same for few units of each row of a large array), their ``sources``
        (``"default"``, an environment variable, or the path of the file that ``tune --save`` wrote), the state of the
        memory pool, and
        ``cuda``: whether a CUDA module was ``built``, its name (``module``), for which ``architectures``, with which
        ``runtime``; the version of CUDA that the ``driver`` supports; the ``devices``; and the ``reason`` where no GPU
        can be used.

    Notes
    -----
    The call queries the CUDA driver, if there is one, but allocates no memory on a GPU. As after any use of CUDA,
    processes that are forked later cannot use CUDA.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.show_config()["isa"] in ("baseline", "v3", "v4")
    True
    """
    facts = _core.config()
    sources = {name: source for name, source in threshold_sources().items() if name in facts}
    return {"version": __version__, **facts, "sources": sources, "cuda": _cuda_facts()}
