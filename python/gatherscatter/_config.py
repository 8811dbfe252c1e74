"""Threads, memory and facts about the installation."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from typing import Any

from gatherscatter import _core
from gatherscatter._version import __version__
from gatherscatter.errors import shown

MAX_THREADS = 1024  # as GS_NUM_THREADS


def _count(name: str, n: Any) -> int:
    if isinstance(n, bool):
        raise TypeError(f"{name}: the number of threads is a bool, expected an integer")
    count = index(n)
    if not 1 <= count <= MAX_THREADS:
        raise ValueError(f"{name}: the number of threads is {shown(count)}, expected 1 to {MAX_THREADS}")
    return count


def set_num_threads(n: int) -> None:
    """Set how many threads an operator may use, for the whole process.

    Parameters
    ----------
    n : int
        From 1 to 1024. The number at start is GS_NUM_THREADS, else the processors that this process may use (affinity
        mask and cgroup quota respected).

    Raises
    ------
    ValueError
        If `n` is less than 1 or more than 1024.
    TypeError
        If `n` is not an integer.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.set_num_threads(gs.get_num_threads())
    """
    _core.set_num_threads(_count("set_num_threads", n))


def get_num_threads() -> int:
    """Number of threads that an operator called from here may use.

    Returns
    -------
    int
        The limit of this thread of Python (`thread_limit`) if there is one, else the process-wide number.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


@contextmanager
def thread_limit(n: int) -> Iterator[None]:
    """Set the number of threads for the calls that this thread of Python makes inside a block.

    Parameters
    ----------
    n : int
        From 1 to 1024.

    Raises
    ------
    ValueError
        If `n` is less than 1 or more than 1024.
    TypeError
        If `n` is not an integer.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> with gs.thread_limit(1):
    ...     gs.get_num_threads()
    1
    """
    count = _count("thread_limit", n)
    before = _core.get_thread_limit()
    _core.set_thread_limit(count)
    try:
        yield
    finally:
        _core.set_thread_limit(before)


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
