"""touched_pages.py: counts the pages of memory that a call of this process reads or writes.

The kernel marks a page when the processor first accesses it. Marks are cleared before a call and counted after it, so
the count is one of work and not of time. It needs Linux, and a process without huge pages.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import resource
from collections.abc import Callable
from typing import Any

PAGE = 4096
PR_SET_THP_DISABLE = 41
M_TRIM_THRESHOLD = -1
_TEXT = bytearray(b"-" * (16 << 20))  # touched now, not in a call that is counted
FLUSHED = 64  # pages; Linux forgets all translations of a process that unmaps more than 33


def prepare() -> None:
    """From now on this process gets no huge pages, one mark of which would count as 512 pages, and keeps its heap.

    A heap that shrinks and grows has new pages for each call that happens to need its end.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "huge pages stay on")
    # Of glibc; elsewhere the counts have more noise.
    if hasattr(libc, "mallopt") and not libc.mallopt(M_TRIM_THRESHOLD, 1 << 30):
        raise OSError("the end of the heap is given back as before")


def _flush() -> None:
    """Unmap a few pages: a page whose translation the processor still has would get no mark."""
    with mmap.mmap(-1, FLUSHED * PAGE) as pages:
        for at in range(0, FLUSHED * PAGE, PAGE):
            pages[at] = 1


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def touched(call: Callable[[], Any]) -> tuple[Any, int, int]:
    """The result of a call; the pages that it touched and that still exist; the pages that it touched as new ones.

    Pages of files do not count, because other processes that have them in use mark them too.
    """
    clear = os.open("/proc/self/clear_refs", os.O_WRONLY)
    mappings = os.open("/proc/self/smaps", os.O_RDONLY)
    text, filled = memoryview(_TEXT), 0
    gc.disable()
    try:
        os.write(clear, b"1")
        _flush()
        before = _faults()
        result = call()
        fresh = _faults() - before
        while got := os.readv(mappings, [text[filled:]]):
            filled += got
    finally:
        gc.enable()
        os.close(clear)
        os.close(mappings)
    if filled == len(_TEXT):
        raise MemoryError("the process has more mappings than expected")
    return result, _marked(bytes(text[:filled])), fresh


def _marked(smaps: bytes) -> int:
    """The marked pages in mappings of no file."""
    kib, is_memory = 0, False
    for line in smaps.splitlines():
        word, *more = line.split()
        if not word.endswith(b":"):
            is_memory = more[3] == b"0"  # the inode
        elif is_memory and word == b"Referenced:":
            kib += int(more[0])
    return kib * 1024 // PAGE
