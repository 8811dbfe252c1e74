"""Arrays in files: calls wait for few page faults, results are right, and files that cannot be read are errors."""

import inspect
import json
import mmap
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import child_process
import gatherscatter as gs
from mapped_files import drop, major_faults, read_single_pages, sparse

ROWS, WIDTH = 72 * 1024, 256  # float32: 72 MiB
COUNT = 300
KEPT = 0.12  # seconds after which a call looks at its file again
FEW = 8  # faults: those of the sample, and those of pages that hold no rows

INDEX = np.random.default_rng(5).choice(ROWS, COUNT, replace=False)
ITEMS = INDEX * WIDTH + np.arange(COUNT) % WIDTH
ALONG = np.broadcast_to(INDEX[:, None], (COUNT, WIDTH))
VALUES = np.random.default_rng(6).random((COUNT, WIDTH), np.float32)

GATHERS = {
    "take": lambda x: gs.take(x, INDEX, axis=0),
    "take of few": lambda x: gs.take(x, INDEX[:20], axis=0),
    "take of items": lambda x: gs.take(x, ITEMS),
    "take into out": lambda x: gs.take(x, INDEX, axis=0, out=np.empty((COUNT, WIDTH), np.float32)),
    "take of two axes": lambda x: gs.take(x.reshape(2, ROWS // 2, WIDTH), INDEX // 2, axis=1),
    "take_along_axis": lambda x: gs.take_along_axis(x, ALONG, 0),
    "gather of slices": lambda x: gs.gather(x, INDEX, axis=0),
    "gather": lambda x: gs.gather(x, 0, ALONG),
    "gather_nd": lambda x: gs.gather_nd(x, np.stack([INDEX, INDEX % WIDTH], 1)),
    "tile_gather": lambda x: gs.tile_gather(x, (INDEX, INDEX % WIDTH), mask=INDEX % 3 > 0, padding_value=2.0),
    "a plan": lambda x: gs.plan(gs.take, x, INDEX, axis=0)(x, INDEX),
    "fill": lambda x: gs.gather(x, np.append(INDEX, ROWS), axis=0, bounds="fill", fill_value=3.0),
}
WRITES = {
    "put_along_axis": lambda x: gs.put_along_axis(x, ALONG, VALUES, 0),
    "put": lambda x: gs.put(x, ITEMS, VALUES[:, 0]),
    "put of few": lambda x: gs.put(x, ITEMS[:50], VALUES[:50, 0]),
    "scatter": lambda x: gs.scatter(x, INDEX, VALUES, axis=0, out=x),
    "scatter, last of duplicates": lambda x: gs.scatter(x, INDEX // 2, VALUES, axis=0, out=x),
    "scatter, first of duplicates": lambda x: gs.scatter(x, INDEX // 2, VALUES, axis=0, duplicates="first", out=x),
    "scatter_nd": lambda x: gs.scatter_nd(x, np.stack([INDEX, INDEX % WIDTH], 1), VALUES[:, 0], out=x),
    "sums": lambda x: gs.scatter(x, INDEX // 2, VALUES, axis=0, reduce="add", out=x),
    "means": lambda x: gs.scatter(x, INDEX // 2, VALUES, axis=0, reduce="mean", out=x),
    "tile_scatter": lambda x: gs.tile_scatter(x, (INDEX, INDEX % WIDTH), VALUES[:, 0], mask=INDEX % 3 > 0),
}


@pytest.fixture(scope="module")
def content():
    x = np.zeros((ROWS, WIDTH), np.float32)
    x[INDEX] = np.random.default_rng(7).random((COUNT, WIDTH), np.float32)
    x[INDEX // 2, 0] = INDEX
    return x


@pytest.fixture
def path(content, tmp_path):
    name = tmp_path / "x.npy"
    np.save(name, content)
    return name


def opened(path, mode="r"):
    drop(path)
    time.sleep(KEPT)
    x = gs.open(path, mode=mode)
    read_single_pages(x.ctypes.data, x.nbytes)
    return x


def test_without_a_request_numpy_waits_for_every_row(path):
    x = opened(path)
    assert major_faults(lambda: np.take(x, INDEX, axis=0))[1] >= COUNT - FEW


@pytest.mark.parametrize("name", GATHERS)
def test_gathers_of_a_cold_file(name, path, content):
    x = opened(path)
    result, faults = major_faults(lambda: GATHERS[name](x))
    assert faults <= FEW
    np.testing.assert_array_equal(result, GATHERS[name](content))


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_a_cold_file(name, path, content):
    x = opened(path, "r+")
    expected = content.copy()
    _, faults = major_faults(lambda: WRITES[name](x))
    assert faults <= FEW
    WRITES[name](expected)
    x.flush()
    np.testing.assert_array_equal(np.load(path), expected)


def test_dense_gathers_read_the_file_from_front_to_back(path, content):
    x = opened(path)
    index = np.random.default_rng(8).integers(0, ROWS, 20_000)
    result, faults = major_faults(lambda: gs.take(x, index, axis=0))
    assert faults <= FEW
    np.testing.assert_array_equal(result, content[index])


def test_bad_indices_leave_a_file_as_it_was(path, content):
    x = opened(path, "r+")
    bad = INDEX.copy()
    bad[-1] = ROWS
    for call in (
        lambda: gs.put(x, bad * WIDTH, 1.0),
        lambda: gs.scatter(x, bad, VALUES, axis=0, out=x),
        lambda: gs.put_along_axis(x, np.broadcast_to(bad[:, None], ALONG.shape), VALUES, 0),
    ):
        with pytest.raises(IndexError, match=r"out of bounds"):
            call()
    x.flush()
    np.testing.assert_array_equal(np.load(path), content)


def test_producers_of_mapped_memory(path, content):
    expected = content[INDEX]
    offset = np.lib.format.open_memmap(path).offset
    drop(path)
    time.sleep(KEPT)
    with open(path, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    x = np.frombuffer(memory, np.float32, offset=offset).reshape(ROWS, WIDTH)
    read_single_pages(x.ctypes.data, x.nbytes)
    result, faults = major_faults(lambda: gs.take(x, INDEX, axis=0))
    assert faults <= FEW
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shared", [False, True])
def test_torch_from_file(shared, tmp_path, content):
    torch = pytest.importorskip("torch")
    raw = tmp_path / "x.bin"
    content.tofile(raw)
    drop(raw)
    time.sleep(KEPT)
    x = torch.from_file(str(raw), shared=shared, size=content.size, dtype=torch.float32).reshape(ROWS, WIDTH)
    read_single_pages(x.data_ptr(), x.nbytes)
    result, faults = major_faults(lambda: gs.gather(x, torch.from_numpy(INDEX), axis=0))
    assert faults <= FEW
    np.testing.assert_array_equal(result.numpy(), content[INDEX])


def test_a_file_that_was_truncated_is_an_error_before_anything_is_written(tmp_path):
    path = sparse(tmp_path / "x", 80 << 20)
    x = gs.open(path, dtype="f4", shape=(80 << 10, 256), mode="r+")
    out = np.ones((40, 256), np.float32)
    gs.take(x, np.arange(40), axis=0)
    os.truncate(path, 10 << 20)
    time.sleep(KEPT)
    plain = np.asarray(x)  # of the class whose small calls have a path of their own
    words = r"x' has 10485760 bytes, but the array is mapped from it up to byte 83886080: the file was truncated"
    for call in (
        lambda: gs.take(x, np.arange(40), axis=0),
        lambda: gs.take(x, np.arange(40), axis=0, out=out),
        lambda: gs.take(x, np.arange(2), axis=0),
        lambda: gs.put(x, [0], 1.0),
        lambda: gs.scatter(x, np.arange(40), out, axis=0, out=x),
        lambda: gs.scatter(x, np.arange(40), out, axis=0, reduce="add", out=x),
        lambda: gs.scatter(plain, np.arange(2), out[:2], axis=0, reduce="add", out=plain),
        lambda: gs.scatter(plain, np.arange(2), out[:2], axis=0, reduce="mean", out=plain),
    ):
        with pytest.raises(OSError, match=words):
            call()
    assert (out == 1).all()
    assert (np.fromfile(path, np.float32) == 0).all()
    os.truncate(path, 80 << 20)
    time.sleep(KEPT)
    gs.put(x, [80 * (1 << 18) - 1], 1.0)
    assert gs.take(x, [-1]).tolist() == [1.0]


def memfd(path):
    file = os.memfd_create("x")
    os.truncate(file, 80 << 20)
    return mmap.mmap(file, 0), lambda size: os.truncate(file, size)


def removed(path):
    file = os.open(sparse(path, 80 << 20), os.O_RDWR)
    os.unlink(path)
    return mmap.mmap(file, 0), lambda size: os.truncate(file, size)


def replaced(path):
    file = os.open(sparse(path, 80 << 20), os.O_RDWR)
    os.replace(sparse(path.parent / "y", 80 << 20), path)
    return mmap.mmap(file, 0), lambda size: os.truncate(file, size)


def of_no_descriptor(path):
    """The only descriptor is that of the mapping object, which has a number of its own."""
    with open(sparse(path, 80 << 20), "rb+") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    os.link(path, path.parent / "y")
    os.unlink(path)
    return mapped, lambda size: os.truncate(path.parent / "y", size)


@pytest.mark.parametrize("make", [memfd, removed, replaced, of_no_descriptor])
def test_a_truncated_file_without_a_path_is_an_error(tmp_path, make):
    """In a process of its own, which the system would end."""
    source = "\n".join(inspect.getsource(function) for function in (sparse, memfd, removed, replaced, of_no_descriptor))
    code = f"""
import mmap, os, pathlib, time
import numpy as np, gatherscatter as gs
{source}
mapped, truncate = {make.__name__}(pathlib.Path({str(tmp_path / "x")!r}))
x = np.frombuffer(mapped, "f4").reshape(80 << 10, 256)
gs.take(x, np.arange(40), axis=0)
for call in (lambda: gs.take(x, np.arange(40), axis=0), lambda: gs.scatter(x, [5], 1, axis=0, out=x)):
    truncate(10 << 20)
    time.sleep({KEPT})
    try:
        call()
    except OSError as error:
        assert "has 10485760 bytes, but the array is mapped from it up to byte 83886080" in str(error), error
    else:
        raise AssertionError("no error")
    truncate(80 << 20)
    time.sleep({KEPT})
assert (gs.take(x, [-1, 5], axis=0) == 0).all()
"""
    child_process.run(code)


DURING = """
import os, sys
import numpy as np, gatherscatter as gs
path, library = sys.argv[1:]
with open(path, "wb") as file:
    file.truncate(128 << 20)
x = gs.open(path, dtype="f4", shape=(128 << 10, 256))
gs.take(x, np.arange(4), axis=0)
os.truncate(path, 1 << 20)  # at once, so that the length that the last call saw still counts
rows = np.arange(100, 128 << 10, 7)
try:
    {"ours": gs.take, "numpy": np.take}[library](x, rows, axis=0)
except OSError:
    sys.exit(3)
"""

FULL = """
import sys
import numpy as np, gatherscatter as gs
path, library = sys.argv[1:]
with open(path, "wb") as file:
    file.truncate(256 << 20)
x = gs.open(path, dtype="f4", shape=(256 << 10, 256), mode="r+")
rows = np.arange(0, 256 << 10, 2)
if library == "ours":
    gs.scatter(x, rows, np.ones((128 << 10, 256), np.float32), axis=0, out=x)
else:
    x[rows] = 1
"""


def exit_status(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], timeout=120).returncode


def test_a_file_that_is_truncated_during_a_call_ends_the_process_as_with_numpy(tmp_path):
    assert exit_status(DURING, tmp_path / "x", "numpy") == -signal.SIGBUS
    assert exit_status(DURING, tmp_path / "x", "ours") in (-signal.SIGBUS, 3)  # 3: after 50 ms it is an error


def test_a_full_disk_ends_the_process_as_with_numpy(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o size=80m none {folder} 2>/dev/null") != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        for library in ("numpy", "ours"):
            assert exit_status(FULL, folder / "x", library) == -signal.SIGBUS
    finally:
        os.system(f"umount {folder}")


def test_the_length_of_another_file_at_the_same_address_is_not_reported(tmp_path):
    first, second = (sparse(tmp_path / name, 80 << 20) for name in "ab")
    for _ in range(5):
        os.truncate(first, 80 << 20)
        x = gs.open(first, dtype="f4", shape=(80 << 10, 256))
        gs.take(x, [0], axis=0)
        os.truncate(first, 1 << 20)
        time.sleep(KEPT)
        with pytest.raises(OSError, match="a' has"):
            gs.take(x, [0], axis=0)
        del x
        y = gs.open(second, dtype="f4", shape=(80 << 10, 256))  # often at the address of the first one
        assert gs.take(y, [0, 1], axis=0).shape == (2, 256)
        del y


LIMITED = """
import gc, json, os, threading, time
import numpy as np, gatherscatter as gs

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))

size, count, item = 20 << 30, 100_000, 1024
rows = np.random.default_rng(0).integers(0, size // item, count)
with open(PATH, "wb") as file:
    file.truncate(size)
    for row in rows:
        os.pwrite(file.fileno(), int(row).to_bytes(8, "little"), int(row) * item)
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
with open(GROUP + "/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
x = gs.open(PATH, dtype="u8", shape=(size // item, item // 8), mode="r+")
peak, stop = [0], threading.Event()
def watch():
    while not stop.wait(0.002):
        peak[0] = max(peak[0], status("RssAnon"))
watcher = threading.Thread(target=watch)
gc.collect()
before = status("RssAnon")
watcher.start()
start = time.monotonic()
result = gs.take(x, rows, axis=0)
seconds = time.monotonic() - start
good = bool((result[:, 0] == rows).all())
bytes_of_result = result.nbytes
del result
gs.trim()
values = np.repeat(rows[:, None] + 1, item // 8, 1).astype("u8")
before_write = status("RssAnon")
gs.scatter(x, rows, values, axis=0, out=x)
good = good and bool((gs.take(x, rows * (item // 8)) == rows + 1).all())
stop.set()
watcher.join()
print(json.dumps({"good": good, "beyond": peak[0] - max(before + bytes_of_result, before_write), "seconds": seconds}))
"""


def memory_group(limit):
    """A control group of this limit; None where none can be made."""
    name = f"gs_test_{os.getpid()}"
    for root, setting in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = os.path.join(root, name)
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            with open(os.path.join(folder, setting), "w") as file:
                file.write(str(limit))
            return folder
        except OSError:
            os.rmdir(folder)
    return None


@pytest.mark.large
def test_a_file_of_20_gib_in_1_gib_of_memory(tmp_path):
    group = memory_group(1 << 30)
    if group is None:
        pytest.skip("making a control group with a limit of memory needs root")
    try:
        facts = child_process.run_json(f"PATH = {str(tmp_path / 'x')!r}\nGROUP = {group!r}\n{LIMITED}")
    finally:
        os.rmdir(group)
    assert facts["good"]
    assert facts["beyond"] < 200 << 20, json.dumps(facts)
