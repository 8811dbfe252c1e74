"""scopes.py: decorated generators and coroutines whose steps run with their own value of a context variable."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import wraps
from typing import Any

__all__ = ["decorated"]


class ScopedSteps(Generator[Any, Any, Any]):
    """A generator or coroutine that runs each step with the context variable set to the value in `cell`.

    After each step the new value of the variable is stored in `cell`, and the value outside of the steps is restored.
    """

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

    def __await__(self) -> ScopedSteps:
        return self


def decorated(
    function: Callable[..., Any],
    variable: ContextVar[Any],
    inside: Callable[[], AbstractContextManager[Any]],
    block: AbstractContextManager[Any],
) -> Callable[..., Any]:
    """Wrap a function so that it runs inside of a block.

    A plain function runs inside of `block`. The steps of a generator or coroutine function run with the value of
    `variable` that `inside` gives; between the steps this value does not hold.
    """
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def async_items(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            items = function(*args, **kwargs)
            with inside() as value:
                cell = [value]
                step = items.asend(None)  # codespell:ignore asend
                while True:
                    try:
                        item = await ScopedSteps(step, variable, cell)
                    except StopAsyncIteration:
                        return
                    try:
                        step = items.asend((yield item))  # codespell:ignore asend
                    except GeneratorExit:
                        await ScopedSteps(items.aclose(), variable, cell)
                        raise
                    except BaseException as error:
                        step = items.athrow(error)

        return async_items
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def items(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with inside() as value:
                return (yield from ScopedSteps(function(*args, **kwargs), variable, [value]))

        return items
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with inside() as value:
                return await ScopedSteps(function(*args, **kwargs), variable, [value])

        return awaited

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with block:
            return function(*args, **kwargs)

    return called
