"""_steps.py: runs the steps of generators and coroutines with a value of a context variable that only they see."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import wraps
from typing import Any

__all__ = ["decorated"]


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


def decorated(
    function: Callable[..., Any],
    variable: ContextVar[Any],
    inside: Callable[[], AbstractContextManager[Any]],
    block: AbstractContextManager[Any],
) -> Callable[..., Any]:
    """A function inside of a block; if it has steps, they alone see the value of `variable` that `inside` gives."""
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def async_items(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            items = function(*args, **kwargs)
            with inside() as value:
                cell = [value]
                step = items.asend(None)  # codespell:ignore asend
                while True:
                    try:
                        item = await Steps(step, variable, cell)
                    except StopAsyncIteration:
                        return
                    try:
                        step = items.asend((yield item))  # codespell:ignore asend
                    except GeneratorExit:
                        await Steps(items.aclose(), variable, cell)
                        raise
                    except BaseException as error:
                        step = items.athrow(error)

        return async_items
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def items(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with inside() as value:
                return (yield from Steps(function(*args, **kwargs), variable, [value]))

        return items
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with inside() as value:
                return await Steps(function(*args, **kwargs), variable, [value])

        return awaited

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with block:
            return function(*args, **kwargs)

    return called
