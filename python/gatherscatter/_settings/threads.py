"""threads.py: the number of threads that a call may use: one number for the process, and limits for blocks of code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar, cast

from gatherscatter import _core
from gatherscatter._settings.scopes import decorated
from gatherscatter._values.integers import one_integer
from gatherscatter.errors import shown

_Function = TypeVar("_Function", bound=Callable[..., Any])

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


class _Block(list[int]):
    """A list of one item, the number of threads of a block; leaving the block clears the list.

    Every context that holds the list then sees that the block has ended. That is necessary because a task or a
    generator may leave a block in another context than the one in which it was entered, or after an outer block.
    """

    __slots__ = ("frame",)

    def __init__(self, count: int, frame: int) -> None:
        super().__init__((count,))
        self.frame = frame  # id of the stack frame that entered the block: `with` leaves it there, in any context


# The blocks that were entered in this context, the innermost last.
_blocks = _core.thread_limits


class thread_limit:
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
        self._count = _count("thread_limit", n)
        self._open: dict[int, _Block] = {}  # the open blocks of this instance in all contexts, by their id

    def __enter__(self) -> None:
        block = _Block(self._count, id(sys._getframe(1)))
        self._open[id(block)] = block
        _blocks.set((*filter(None, _blocks.get()), block))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for block in self._candidates(id(sys._getframe(1))):
            if self._open.pop(id(block), None) is not None:  # None if another thread has left this block meanwhile
                break
        else:
            raise RuntimeError("thread_limit: the block was not entered")
        block.clear()
        _blocks.set(tuple(filter(None, _blocks.get())))

    def __call__(self, function: _Function) -> _Function:
        return cast("_Function", decorated(function, _blocks, self._inside, self))

    def _candidates(self, frame: int) -> Iterator[_Block]:
        """The open blocks of this instance, in the order in which `__exit__` tries to leave one of them.

        Blocks that this stack frame entered precede all others; within each group those of this context come first.
        """
        known = map(self._open.get, map(id, reversed(_blocks.get())))
        here = [block for block in known if block is not None]
        yield from (block for block in here if block.frame == frame)
        everywhere = list(reversed(list(self._open.values())))
        yield from (block for block in everywhere if block.frame == frame)
        yield from here
        yield from everywhere

    @contextmanager
    def _inside(self) -> Iterator[tuple[list[int], ...]]:
        """The blocks that hold in the steps of a decorated generator or coroutine.

        The limit ends with the generator or coroutine, also in the tasks that it has started.
        """
        block = [self._count]
        try:
            yield (*_blocks.get(), block)
        finally:
            block.clear()
