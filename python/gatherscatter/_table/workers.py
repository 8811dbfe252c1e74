"""workers.py: runs Python functions on several threads, in a way that Ctrl-C and errors stop all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from gatherscatter._settings.threads import thread_limit

__all__ = ["each"]

Item = TypeVar("Item")


def each(
    items: Iterable[Item], work: Callable[[Item], None], threads: int, done: Callable[[Item], Any] | None = None
) -> None:
    """Call ``work(item)`` for all items, on up to `threads` threads; operators that it calls use one thread each.

    `done` is called on the calling thread for each item whose work has ended. After an exception in either of them, or
    Ctrl-C, no further work begins, and the exception is raised when the work that runs has ended.
    """
    items = list(items)
    if threads == 1 or len(items) <= 1:
        for item in items:
            work(item)
            if done is not None:
                done(item)
        return

    def alone(item: Item) -> Item:
        with thread_limit(1):
            work(item)
        return item

    with ThreadPoolExecutor(min(threads, len(items)), "gatherscatter") as pool:
        futures = [pool.submit(alone, item) for item in items]
        try:
            for future in as_completed(futures):
                item = future.result()
                if done is not None:
                    done(item)
        except BaseException:
            for future in futures:
                future.cancel()
            raise
