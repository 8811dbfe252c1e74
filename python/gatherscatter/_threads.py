"""_threads.py: how many threads a call may use: the number of the process, and limits for blocks of code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from operator import index
from types import TracebackType
from typing import Any, TypeVar, cast

from gatherscatter import _core
from gatherscatter._steps import AsyncSteps, Steps
from gatherscatter.errors import shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

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
        From 1 to 1024. Without this call, and without GS_NUM_THREADS, it is the number of processors that the calling
        thread may use at the time of the call (affinity mask and cgroup quota respected). A number that is set stays,
        also where it is larger than that.

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
        The limit that holds here (`thread_limit`) if there is one, else the number of the process (`set_num_threads`,
        GS_NUM_THREADS), else the number of processors that the calling thread may use now.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()


# The blocks that were entered in this context, innermost last. A block is a list of its number, emptied when it is left
# and so ended in every context that has it: a task or a generator may leave it elsewhere, or later than others.
_blocks = _core.thread_limits


class thread_limit:
    """Set the number of threads for the calls inside a block.

    The limit belongs to the context (`contextvars`): threads and tasks of asyncio do not see each other's limits, and
    what is started inside of a block with its context (`asyncio.create_task`, `asyncio.to_thread`) has the limit
    until the block is left. Of several blocks that are open the one that was entered last counts. Leaving a block ends
    that block alone, in any order; after all of them the number is what it was before. A generator that is suspended
    inside of a block has not left it, so its caller has the limit too, as with `numpy.errstate`.

    An instance may be used any number of times, also inside of its own block, and as a decorator. A decorated
    generator or coroutine has the limit while it runs, and its caller has not.

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
        self._count = _count("thread_limit", n)
        self._open: dict[int, list[int]] = {}  # by id, in all contexts

    def __enter__(self) -> None:
        block = [self._count]
        self._open[id(block)] = block
        _blocks.set((*filter(None, _blocks.get()), block))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        blocks = _blocks.get()
        for block in reversed(blocks):
            if id(block) in self._open:
                break
        else:  # it was entered in another context
            if not self._open:
                raise RuntimeError("thread_limit: the block was not entered")
            block = next(reversed(self._open.values()))
        del self._open[id(block)]
        block.clear()
        _blocks.set(tuple(filter(None, blocks)))

    def __call__(self, function: _Function) -> _Function:
        return cast("_Function", self._decorated(function))

    def _decorated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(function):
            return wraps(function)(
                lambda *args, **kwargs: AsyncSteps(function(*args, **kwargs), _blocks, self._inside())
            )
        if inspect.isgeneratorfunction(function):
            return wraps(function)(lambda *args, **kwargs: Steps(function(*args, **kwargs), _blocks, [self._inside()]))
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return awaited

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return called

    def _inside(self) -> tuple[list[int], ...]:
        return (*_blocks.get(), [self._count])
