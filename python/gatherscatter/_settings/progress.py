"""progress.py: progress of calls that take long, as a bar or by a callback, for the calls inside of a block."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from gatherscatter import _core
from gatherscatter._settings.blocks import Scope
from gatherscatter.errors import shown

__all__ = ["progress"]

Callback = Callable[[int, int], Any]


class progress(Scope[Callback]):
    """Show the progress of calls inside a block, or report it to a function.

    It holds for every operator of the package that runs longer than 0.5 s, in the context of the block, as
    `thread_limit` does: other threads and asyncio tasks do not see it. The callback is called at the polls that ask for
    Ctrl-C, on the thread of the call, at most 20 times a second. An exception that it raises stops the call as Ctrl-C
    does, and is raised by the call; an `out`, or a target that is written in place, may be half written then. Of
    several open blocks the one that was entered last holds. Without a block no timer is set.

    Parameters
    ----------
    callback : callable of (done, total), optional
        Both are ints. `total` is 1000: `done` counts thousandths of the call, does not decrease, and is `total` at the
        end of every call that reported anything and did not fail. Calls of operators inside of the callback report
        nothing. By default a bar of `tqdm.auto` is drawn where stderr is a terminal or a notebook runs, else nothing.
        In a notebook without ipywidgets it is a line of text.

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


def _is_in_kernel() -> bool:
    """Whether the process runs the cells of a notebook. IPython is not imported for this check."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return any(base.__module__.partition(".")[0] == "ipykernel" for base in type(shell).__mro__)


class _Bars:
    """A callback that draws a bar of tqdm for each call, in each thread its own."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():  # in a notebook without ipywidgets tqdm warns, and draws its bar as text
                warnings.simplefilter("ignore")
                self.tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError as error:
            raise ImportError(
                "progress: a bar needs tqdm (pip install tqdm); a callback, gs.progress(function), needs nothing"
            ) from error
        # tqdm takes a notebook for no terminal, so that it would draw nothing there.
        has_widgets = any(base.__module__ == "tqdm.notebook" for base in self.tqdm.__mro__)
        self.disable = False if has_widgets or _is_in_kernel() else None
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
