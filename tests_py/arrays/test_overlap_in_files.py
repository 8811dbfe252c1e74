"""test_overlap_in_files.py: `out` and arguments in two mappings of one file; results are those of copied arguments."""

import mmap
import os

import numpy as np
import pytest

import gatherscatter as gs

PAGE = mmap.PAGESIZE
ITEMS = 4 * PAGE // 8


CALLS = {
    "gather": lambda x, i, v, m: gs.gather(v, i, axis=0, out=x),
    "gather with a mask": lambda x, i, v, m: gs.gather(v, i, axis=0, mask=m, fill_value=-1, out=x),
    "take": lambda x, i, v, m: gs.take(v, i, out=x),
    "take of clipped": lambda x, i, v, m: gs.take(v, i, mode="clip", out=x),
    "a plan": lambda x, i, v, m: gs.plan(gs.gather, v, 0, i)(v, i, out=x),
    "gather_nd": lambda x, i, v, m: gs.gather_nd(v, i[:, None], out=x),
    "scatter": lambda x, i, v, m: gs.scatter(x, 0, i, v, out=x),
    "scatter of another": lambda x, i, v, m: gs.scatter(v, 0, i, v[::-1], out=x),
    "sums": lambda x, i, v, m: gs.scatter(x, 0, i, v, reduce="add", out=x),
    "scatter_nd": lambda x, i, v, m: gs.scatter_nd(x, i[:, None], v, out=x),
    "put": lambda x, i, v, m: gs.put(x, i, v),
    "put_along_axis": lambda x, i, v, m: gs.put_along_axis(x, i, v, 0),
    "putmask": lambda x, i, v, m: gs.putmask(x, m, v),
    "place": lambda x, i, v, m: gs.place(x, m, v),
    "tile_scatter": lambda x, i, v, m: gs.tile_scatter(x, (i,), v, mask=m),
}


def of_memmap(path, offset):
    return np.memmap(path, np.int64, "r+", offset)


def of_mmap(path, offset):
    with open(path, "rb+") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, offset=offset), np.int64)


def of_open(path, offset):
    return gs.open(path, dtype="i8", offset=offset, mode="r+")


def of_torch(path, offset):
    torch = pytest.importorskip("torch")
    return torch.from_file(str(path), shared=True, size=ITEMS, dtype=torch.int64)[offset // 8 :].numpy()


MAPPINGS = [of_memmap, of_mmap, of_open, of_torch]


def window(rng, buffer, count):
    step = int(rng.integers(1, 3)) * int(rng.choice([-1, 1]))
    first = int(rng.integers(0, len(buffer) - abs(step) * (count - 1)))
    found = buffer[first : first + abs(step) * (count - 1) + 1 : abs(step)]
    return found[:: 1 if step > 0 else -1]


@pytest.mark.parametrize("read", MAPPINGS)
@pytest.mark.parametrize("written", MAPPINGS)
def test_two_mappings(tmp_path, written, read):
    rng = np.random.default_rng(MAPPINGS.index(written) * 7 + MAPPINGS.index(read))
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(8 * ITEMS))
    for number, (name, call) in enumerate(list(CALLS.items()) * 12):
        count = int(rng.choice([3, 40, 400]))
        whole = np.memmap(path, np.int64, "r+")
        whole[:] = rng.integers(0, count, ITEMS)
        start = written(path, 0)
        target = window(rng, start, count)
        # What is read lies near the target, half of the time in a mapping that begins behind the first page.
        offset = PAGE if number % 2 else 0
        others = read(path, offset)
        near = others[: 4 * count] if rng.random() < 0.7 else others
        index, value = window(rng, near, count), window(rng, near, count)
        mask = rng.random(count) < 0.6
        expected = whole.copy()
        place = np.ndarray(target.shape, target.dtype, expected, target.ctypes.data - start.ctypes.data, target.strides)
        call(place, index.copy(), value.copy(), mask)
        call(target, index, value, mask)
        np.testing.assert_array_equal(whole, expected, err_msg=name)


@pytest.mark.parametrize("make", ["memfd", "removed"])
def test_files_without_a_path(tmp_path, make):
    file = os.memfd_create("x") if make == "memfd" else os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    os.truncate(file, 8 * ITEMS)
    one, two = (np.frombuffer(mmap.mmap(file, 0), np.int64) for _ in range(2))
    os.close(file)
    if make == "removed":
        os.unlink(tmp_path / "x")
    one[:] = np.arange(ITEMS)
    index = np.arange(ITEMS)[::-1] // 2
    gs.take(two, index, out=one)
    np.testing.assert_array_equal(two, index)


def test_large_mappings(tmp_path):
    """Above all thresholds: threads, blocks, parts."""
    count = 1 << 19
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(16 * count))
    one, two = (gs.open(path, dtype="i8", mode="r+") for _ in range(2))
    for reduce in (None, "add"):
        for start in (0, 1, 1000, count):
            one[:] = np.random.default_rng(start).integers(0, count, 2 * count)
            expected = one.copy()
            index, value = two[start : start + count], two[count // 2 :][:count]
            expected[:count] = gs.scatter(one[:count].copy(), 0, index.copy(), value.copy(), reduce=reduce)
            gs.scatter(one[:count], 0, index, value, reduce=reduce, out=one[:count])
            np.testing.assert_array_equal(one, expected)


def test_place_of_many_elements(tmp_path):
    """Runs by blocks, of which the first one writes to the values of later ones."""
    count = 1 << 17
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(8 * (count + 1000)))
    one, two = (gs.open(path, dtype="i8", mode="r+") for _ in range(2))
    for part in (0.5, 1.0):
        for start in (0, 1000):
            rng = np.random.default_rng(start)
            one[:] = rng.integers(0, count, len(one))
            mask = rng.random(count) < part
            expected, values = one.copy(), two[1000 - start :][:count]
            np.place(expected[start : start + count], mask, values.copy())
            gs.place(one[start : start + count], mask, values)
            np.testing.assert_array_equal(one, expected)


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "x.bin"
    np.arange(ITEMS).tofile(path)
    one, two = (gs.open(path, dtype="i8", mode="r+") for _ in range(2))
    for call in (
        lambda: gs.take(two, [0, 1, ITEMS], out=one[:3]),
        lambda: gs.scatter(one, 0, [0, 1, ITEMS], two[:3], out=one),
        lambda: gs.put(one, [5, -ITEMS - 1], two[2:4]),
    ):
        with pytest.raises(gs.OutOfBoundsError):
            call()
    np.testing.assert_array_equal(two, np.arange(ITEMS))
