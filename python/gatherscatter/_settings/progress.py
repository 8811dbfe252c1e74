"""progress.py: progress of calls that take long, as a bar or by a callback, for the calls inside of a block."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gatherscatter import _core
from gatherscatter._settings.blocks import Scope
from gatherscatter.errors import shown

__all__ = ["Parts", "Steps", "progress"]

Callback = Callable[[int, int], Any]

TOTAL = 1000
FIRST = 250  # thousandths of an operator on tables for its map, as in `_core`
SILENT = 0.5  # seconds
BETWEEN = 0.05


class progress(Scope[Callback]):
    """Show the progress of calls inside a block, or report it to a function.

    It holds for every operator of the package that runs longer than 0.5 s, in the context of the block, as
    `thread_limit` does: other threads and asyncio tasks do not see it. The callback is called at the polls that ask for
    Ctrl-C, on the thread of the call, at most 20 times a second. An exception that it raises stops the call as Ctrl-C
    does, and is raised by the call; an `out`, or a target that is written in place, may be half written then. Of
    several open blocks the one that was entered last holds. Without a block nothing is looked up before the poll.

    Parameters
    ----------
    callback : callable of (done, total), optional
        Both are ints. `total` is 1000: `done` counts thousandths of the call, does not decrease, and is `total` at the
        end of every call that reported anything and did not fail. Calls of operators inside of the callback report
        nothing. By default a bar of `tqdm.auto` is drawn where stderr is a terminal or a notebook runs, else nothing.

    Raises
    ------
    ImportError
        If there is no callback and tqdm is not installed.
    TypeError
        If `callback` is not callable.

    Notes
    -----
    The first quarter of an operator on tables is its map, whatever time it takes. Calls on GPUs report where they poll
    for Ctrl-C, without a share that is done before the end.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> with gs.progress(lambda done, total: print(f"{done / total:.0%}")):
    ...     gs.take([10, 20], 1)  # a short call reports nothing
    np.int64(20)
    """

    def __init__(self, callback: Callback | None = None) -> None:
        if callback is None:
            callback = _Bars()
        elif not callable(callback):
            raise TypeError(f"progress: callback is {shown(callback)}, expected a function of done and total")
        super().__init__(_core.progress_blocks, callback)

    def _left(self) -> None:
        if isinstance(self._value, _Bars):
            self._value.close()


class _Bars:
    """A callback that draws a bar of tqdm for each call, in each thread its own."""

    def __init__(self) -> None:
        try:
            self.tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError as error:
            raise ImportError(
                "progress: a bar needs tqdm (pip install tqdm); a callback, gs.progress(function), needs nothing"
            ) from error
        # tqdm takes a notebook for no terminal, so that it would draw nothing there.
        is_notebook = any(base.__module__ == "tqdm.notebook" for base in self.tqdm.__mro__)
        self.disable = False if is_notebook else None
        self.bars = threading.local()

    def __call__(self, done: int, total: int) -> None:
        bar = getattr(self.bars, "bar", None)
        if bar is not None and done < bar.n:  # the call before it was stopped
            self.close()
            bar = None
        if bar is None:
            bar = self.bars.bar = self.tqdm(
                total=total,
                disable=self.disable,
                bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
            )
        bar.update(done - bar.n)
        if done >= total:
            self.close()

    def close(self) -> None:
        bar = getattr(self.bars, "bar", None)
        if bar is not None:
            self.bars.bar = None
            bar.close()


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
        self.begun = self.last = time.monotonic()
        self.any = has_begun

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """The block of the call: the callback of its context is that of the steps."""
        self.callback = _callback_of_context()
        if self.callback is None:
            yield
            return
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
        now = time.monotonic()
        if self.callback is None or now - (self.last if self.any else self.begun) < (BETWEEN if self.any else SILENT):
            return
        self.any, self.last = True, now
        done = self.first + self.done * (TOTAL - self.first) // max(self.count, 1)
        self.callback(min(done, TOTAL - 1), TOTAL)

    def ended(self, result: Any) -> Any:
        """The result of a step, which is done."""
        self.next()
        return result
