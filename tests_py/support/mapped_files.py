"""mapped_files.py: files that are not in memory, and the page faults for which a call had to wait."""

import ctypes
import os
import resource

import numpy as np
import pytest

PAGE = 4096
MADV_RANDOM = 1


def read_single_pages(address, size):
    """From now on, a page fault in this memory reads one page, and none around it."""
    first = address // PAGE * PAGE
    library = ctypes.CDLL(None, use_errno=True)
    assert library.madvise(ctypes.c_void_p(first), ctypes.c_size_t(address + size - first), MADV_RANDOM) == 0


def major_faults(call):
    """The result of a call, and the page faults of the process for which a thread had to wait."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    result = call()
    return result, resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before


def drop(path):
    """Drop the pages of a file that is not mapped from memory; skip where the system keeps them."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if major_faults(lambda: np.memmap(path, np.uint8, "r")[-1])[1] == 0:
            pytest.skip(f"the file system of {path} keeps its pages in memory")
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sparse(path, size):
    """Make a file of zeros that takes no space."""
    with open(path, "wb") as file:
        file.truncate(size)
    return path
