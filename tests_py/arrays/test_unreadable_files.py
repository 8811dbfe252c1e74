"""test_unreadable_files.py: arrays in a file on a disk that fails: one page cannot be read, or not be written to."""

import errno
import signal
import subprocess
import sys

import numpy as np
import pytest

from faulty_disk import PAGE, FaultyDisk

ITEMS = 80 << 17  # u8: 80 MiB, a file that is looked up
ROW = PAGE // 8  # a row is a page
BAD = 5000  # the page that fails

# In a process of its own: see faulty_disk.py. `x` has a page as each row; an item is its position.
BEFORE = f"""
import sys
import numpy as np, gatherscatter as gs
path, bad = sys.argv[1], {BAD}
x = gs.open(path, dtype="u8", shape=({ITEMS // ROW}, {ROW}), mode="r+")
generator = np.random.default_rng(0)
few, many = generator.integers(0, len(x), 300), generator.integers(0, len(x), len(x) // 3)
"""


@pytest.fixture
def disk(tmp_path):
    with FaultyDisk(tmp_path / "disk", np.arange(ITEMS, dtype="<u8").tobytes()) as disk:
        yield disk


def child(code, path):
    return subprocess.run([sys.executable, "-c", BEFORE + code, str(path)], timeout=120, capture_output=True, text=True)


@pytest.mark.parametrize("rows", ["few", "many"])
def test_pages_around_it_are_read(disk, rows):
    """Also where `many` rows have the file read from front to back."""
    disk.unreadable.add(BAD)
    code = f"""
rows = {rows}[{rows} != bad]
first = gs.take(x, rows * {ROW})
assert (first == rows * {ROW}).all()
assert (gs.take(x, rows, axis=0)[:, -1] == rows * {ROW} + {ROW - 1}).all()
gs.scatter(x, rows, 0, axis=0, out=x)
x.flush()
"""
    done = child(code, disk.path)
    assert done.returncode == 0, done.stderr
    left = np.flatnonzero(disk.content.view("<u8").reshape(-1, ROW).any(axis=1))
    assert BAD in left and ITEMS // ROW * 0.6 < len(left) < ITEMS // ROW  # few are 300 rows, many less than a third


CALLS = {
    "take": ("gs.take(x, rows, axis=0)", "np.take(x, rows, axis=0)"),
    "scatter": ("gs.scatter(x, rows, 1, axis=0, out=x)", "x[rows] = 1"),
}


@pytest.mark.parametrize("library", ["ours", "numpy"])
@pytest.mark.parametrize("name", CALLS)
def test_the_page_ends_the_process_as_with_numpy(disk, name, library):
    disk.unreadable.add(BAD)
    done = child(f"rows = np.append(few, bad)\n{CALLS[name][library == 'numpy']}", disk.path)
    assert done.returncode == -signal.SIGBUS, done.stderr


def test_bad_indices_are_an_error_before_the_page_is_touched(disk):
    disk.unreadable.add(BAD)
    before = disk.content.copy()
    code = """
out = np.ones((3, x.shape[1]), "u8")
for call in (
    lambda: gs.take(x, [3, bad, len(x)], axis=0, out=out, mode="raise"),
    lambda: gs.scatter(x, [3, bad, len(x)], 1, axis=0, out=x),
):
    try:
        call()
    except gs.OutOfBoundsError as error:
        print(error.index)
assert (out == 1).all()
x.flush()
"""
    done = child(code, disk.path)
    assert (done.returncode, done.stdout) == (0, f"{ITEMS // ROW}\n" * 2), done.stderr
    np.testing.assert_array_equal(disk.content, before)


def test_a_write_that_fails_is_an_error_of_flush(disk):
    """The system writes later, so that the call itself cannot know; the other pages are written."""
    disk.unwritable.add(BAD)
    code = """
gs.scatter(x, [3, bad, bad + 5000], 1, axis=0, out=x)
try:
    x.flush()
except OSError as error:
    print(error.errno)
"""
    done = child(code, disk.path)
    assert (done.returncode, done.stdout) == (0, f"{errno.EIO}\n"), done.stderr
    rows = disk.content.view("<u8").reshape(-1, ROW)
    assert (rows[[3, BAD + 5000]] == 1).all() and rows[BAD, 1] == BAD * ROW + 1


def test_a_header_that_cannot_be_read_is_an_error(disk):
    disk.unreadable.add(0)
    code = """
import sys, gatherscatter as gs
try:
    gs.open(sys.argv[1])
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code, disk.path], timeout=120, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{errno.EIO}\n"), done.stderr
