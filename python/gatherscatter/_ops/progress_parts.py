"""progress_parts.py: the progress of calls that Python code divides into operators or steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gatherscatter import _core

__all__ = ["Parts", "Steps"]

Callback = Callable[[int, int], Any]

TOTAL = 1000
FIRST = 250  # thousandths of an operator on tables for its map, as in `_core`
BETWEEN = 0.05  # seconds


def _callback_of_context() -> Callback | None:
    open_blocks = [block for block in _core.progress_blocks.get() if block]
    return open_blocks[-1][0] if open_blocks and not _core.progress_is_hidden() else None


class Parts:
    """The progress of a call that runs several operators one after the other: each is an equal part of the call."""

    def __init__(self, count: int) -> None:
        self.count, self.done = count, 0
        self.callback: Callback | None = None
        self.any = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """The block of the call. What its operators report becomes the share of the whole call."""
        self.callback = _callback_of_context()
        if self.callback is None:
            yield
            return
        blocks = _core.progress_blocks.get()
        token = _core.progress_blocks.set((*blocks, [self._report]))
        try:
            yield
            if self.any:
                _core.progress_blocks.set((*blocks, [None]))  # operators of the callback report nothing
                self.callback(TOTAL, TOTAL)
        finally:
            _core.progress_blocks.reset(token)

    def next(self) -> None:
        """An operator has ended."""
        self.done += 1

    def _report(self, done: int, total: int) -> None:
        assert self.callback is not None
        self.any = True
        self.callback(min((self.done * total + done) // self.count, TOTAL - 1), TOTAL)


class Steps:
    """The progress of a call that Python code divides into steps. Operators inside of the call report nothing.

    `has_begun` says whether the map in front of the steps has reported, so that the steps have to report their end.
    """

    def __init__(self, count: int, after_map: bool = False, has_begun: bool = False) -> None:
        self.first = FIRST if after_map else 0  # thousandths before the first step
        self.count, self.done = count, 0
        self.callback: Callback | None = None
        self.begun = self.last = 0.0
        self.any = has_begun

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """The block of the call: the callback of its context is that of the steps."""
        self.callback = _callback_of_context()
        if self.callback is None:
            yield
            return
        self.begun = self.last = time.monotonic()
        token = _core.progress_blocks.set((*_core.progress_blocks.get(), [None]))
        try:
            yield
            if self.any:
                self.callback(TOTAL, TOTAL)
        finally:
            _core.progress_blocks.reset(token)

    def next(self) -> None:
        """A step is done."""
        self.done += 1
        if self.callback is None:
            return
        now = time.monotonic()
        silence = BETWEEN if self.any else _core.progress_silence() / 1000
        if now - (self.last if self.any else self.begun) < silence:
            return
        self.any, self.last = True, now
        done = self.first + self.done * (TOTAL - self.first) // max(self.count, 1)
        self.callback(min(done, TOTAL - 1), TOTAL)

    def ended(self, result: Any) -> Any:
        """The result of a step, which is done."""
        self.next()
        return result
