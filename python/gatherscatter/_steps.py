"""_steps.py: runs the steps of generators and coroutines with a value of a context variable that only they see."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from typing import Any

__all__ = ["AsyncSteps", "Steps"]


class Steps(Generator[Any, Any, Any]):
    """A generator or coroutine whose every step runs with the value in `cell`, and leaves the one it sets there."""

    def __init__(self, steps: Any, variable: ContextVar[Any], cell: list[Any]) -> None:
        self._steps, self._variable, self._cell = steps, variable, cell

    def _step(self, call: Callable[..., Any], *args: Any) -> Any:
        outside = self._variable.get()
        self._variable.set(self._cell[0])
        try:
            return call(*args)
        finally:
            self._cell[0] = self._variable.get()
            self._variable.set(outside)

    def send(self, value: Any) -> Any:
        return self._step(self._steps.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._steps.throw, *error)

    def __await__(self) -> Steps:
        return self


class AsyncSteps(AsyncGenerator[Any, Any]):
    """The same for an asynchronous generator, which gives something to await for every item."""

    def __init__(self, steps: AsyncGenerator[Any, Any], variable: ContextVar[Any], value: Any) -> None:
        self._steps, self._variable, self._cell = steps, variable, [value]

    async def asend(self, value: Any) -> Any:  # codespell:ignore asend
        return await Steps(self._steps.asend(value), self._variable, self._cell)  # codespell:ignore asend

    async def athrow(self, *error: Any) -> Any:
        return await Steps(self._steps.athrow(*error), self._variable, self._cell)

    async def aclose(self) -> None:
        await Steps(self._steps.aclose(), self._variable, self._cell)
