"""threads.py: the number of threads that a call may use: one number for the process, and limits for blocks of code."""

from __future__ import annotations

from typing import Any

from gatherscatter import _core
from gatherscatter._settings.blocks import Scope
from gatherscatter._values.integers import one_integer
from gatherscatter.errors import shown

MAX_THREADS = 1024  # also the limit of GS_NUM_THREADS


def _count(name: str, n: Any) -> int:
    count = one_integer(name, "the number of threads", n)
    if not 1 <= count <= MAX_THREADS:
        raise ValueError(f"{name}: the number of threads is {shown(count)}, expected 1 to {MAX_THREADS}")
    return count


def set_num_threads(n: int) -> None:
    """Set how many threads an operator may use, for the whole process.

    Parameters
    ----------
    n : int
        From 1 to 1024. If neither this function nor GS_NUM_THREADS sets a number, an operator uses the number of
        processors that the calling thread may use at the time of the call (affinity mask and cgroup quota respected).
        A number that is set holds even if it is larger.

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
    """Return the number of threads that an operator called at this place may use.

    Returns
    -------
    int
        The limit of the current context (`thread_limit`) if there is one, else the number of the process
        (`set_num_threads`, GS_NUM_THREADS), else the number of processors that the calling thread may use now.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


class thread_limit(Scope[int]):
    """Set the number of threads for the calls inside a block.

    The limit belongs to the context (`contextvars`): it does not hold in other threads and asyncio tasks. Work that is
    started inside of a block with a copy of its context (`asyncio.create_task`, `asyncio.to_thread`) has the limit
    until the block is left. If several blocks are open, the limit of the block that was entered last holds.
    Blocks may be left in any order; leaving one ends only that one, and after all have been left the number is the one
    from before. A generator that is suspended inside of a block has not left it, so its caller has the limit too, as
    with `numpy.errstate`.

    An instance may be used any number of times, also inside of its own block, and as a decorator. A decorated generator
    or coroutine has the limit while it runs, and its caller does not. If several blocks of one instance are open,
    `with` leaves the block that it entered. Without `with` (`contextlib.ExitStack`) the innermost block of the context
    is left, so there a block must be left in the context in which it was entered.

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

    def __init__(self, n: int) -> None:
        super().__init__(_core.thread_limits, _count("thread_limit", n))
