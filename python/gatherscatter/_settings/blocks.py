"""blocks.py: settings that hold inside of a `with` block, for its context alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from gatherscatter._settings.scopes import decorated

__all__ = ["Scope"]

Value = TypeVar("Value")
Function = TypeVar("Function", bound=Callable[..., Any])


class Block(list[Value]):
    """A list of one item, the value of a block; leaving the block clears the list.

    Every context that holds the list then sees that the block has ended. That is necessary because a task or a
    generator may leave a block in another context than the one in which it was entered, or after an outer block.
    """

    __slots__ = ("frame",)

    def __init__(self, value: Value, frame: int) -> None:
        super().__init__((value,))
        self.frame = frame  # id of the stack frame that entered the block: `with` leaves it there, in any context


class Scope(Generic[Value]):
    """Base class of context managers and decorators that set a value for the calls inside of a block.

    The context variable holds the blocks that were entered in a context, the innermost last.
    """

    def __init__(self, variable: ContextVar[tuple[list[Value], ...]], value: Value) -> None:
        self._blocks, self._value = variable, value
        self._open: dict[int, Block[Value]] = {}  # the open blocks of this instance in all contexts, by their id

    def __enter__(self) -> None:
        block = Block(self._value, id(sys._getframe(1)))
        self._open[id(block)] = block
        self._blocks.set((*filter(None, self._blocks.get()), block))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for block in self._candidates(id(sys._getframe(1))):
            if self._open.pop(id(block), None) is not None:  # None if another thread has left this block meanwhile
                break
        else:
            raise RuntimeError(f"{type(self).__name__}: the block was not entered")
        block.clear()
        self._blocks.set(tuple(filter(None, self._blocks.get())))
        self._left()

    def _left(self) -> None:
        """Called when a block was left, also one of a decorated function."""

    def __call__(self, function: Function) -> Function:
        return cast("Function", decorated(function, self._blocks, self._inside, self))

    def _candidates(self, frame: int) -> Iterator[Block[Value]]:
        """The open blocks of this instance, in the order in which `__exit__` tries to leave one of them.

        Blocks that this stack frame entered precede all others; within each group those of this context come first.
        """
        known = map(self._open.get, map(id, reversed(self._blocks.get())))
        here = [block for block in known if block is not None]
        yield from (block for block in here if block.frame == frame)
        everywhere = list(reversed(list(self._open.values())))
        yield from (block for block in everywhere if block.frame == frame)
        yield from here
        yield from everywhere

    @contextmanager
    def _inside(self) -> Iterator[tuple[list[Value], ...]]:
        """The blocks that hold in the steps of a decorated generator or coroutine.

        The value ends with the generator or coroutine, also in the tasks that it has started.
        """
        block = [self._value]
        try:
            yield (*self._blocks.get(), block)
        finally:
            block.clear()
            self._left()
