"""test_memory.py: the peak memory of calls, the memory that the pool keeps, and sizes that are too large."""

import numpy as np
import pytest

import child_process
import gatherscatter as gs

pytestmark = pytest.mark.long

MIB = 1 << 20

# ---- peak: inputs, output and a little scratch memory only

# name: (set-up, call, bytes of the result)
PEAKS = {
    "rows": ("x = zeros((1 << 14, 1024)); i = index(1 << 16, 1 << 14)", "gs.take(x, i, axis=0)", 64 * MIB),
    "rows of a transposed array": (
        "x = zeros((1024, 1 << 16)).T; i = index(1 << 16, 1 << 16)",
        "gs.take(x, i, axis=0)",
        64 * MIB,
    ),
    "one row of a transposed array": ("x = zeros((1 << 13, 1 << 13)).T", "gs.take(x, [5], axis=0)", 1 << 13),
    "flat, of a transposed array": (
        "x = zeros((1 << 13, 1 << 13)).T; i = index(1 << 25, 1 << 26, 'i4')",
        "gs.take(x, i)",
        32 * MIB,
    ),
    "elements": (
        "x = zeros((64, 1 << 20), 'f4'); i = index((64, 1 << 18), 1 << 20, 'i4')",
        "gs.gather(x, 1, i)",
        64 * MIB,
    ),
    "axis": (
        "x = zeros((1 << 12, 1 << 12), 'f4'); i = index((1 << 12, 1 << 12), 1 << 12, 'i2')",
        "gs.gather(x, 0, i)",
        64 * MIB,
    ),
    "narrow indices": ("x = zeros(128); i = index(1 << 26, 128, 'i1')", "gs.take(x, i)", 64 * MIB),
    "unsigned indices": ("x = zeros(256); i = index(1 << 26, 256, 'u1')", "gs.take(x, i, mode='wrap')", 64 * MIB),
    "transposed indices": (
        "x = zeros(99); i = index((1 << 11, 1 << 11), 99, 'i4').T",
        "gs.take(x, i)",
        4 * MIB,
    ),
    "broadcast indices": (
        "x = zeros((1 << 13, 99)); i = np.broadcast_to(index(1 << 13, 99), (1 << 13, 1 << 13))",
        "gs.gather(x, 1, i)",
        64 * MIB,
    ),
    "mask and fill": (
        "x = zeros(256); i = index(1 << 26, 256, 'u1'); m = index(1 << 26, 2, 'i1').view(bool)",
        "gs.gather(x, i, axis=0, mask=m, fill_value=3)",
        64 * MIB,
    ),
    "points": (
        "x = zeros((256, 256)); i = index((1 << 13, 1), 256); j = index(1 << 13, 300)",
        "gs.tile_gather(x, (i, j))",
        64 * MIB,
    ),
    "byte-swapped": (
        "x = zeros((1 << 14, 256), '>f4'); i = index(1 << 16, 1 << 14)",
        "gs.take(x, i, axis=0)",
        64 * MIB,
    ),
    "into out": (
        "x = zeros((1 << 14, 1024)); i = index(1 << 16, 1 << 14); out = zeros((1 << 16, 1024))",
        "gs.take(x, i, axis=0, out=out)",
        0,
    ),
    "out that overlaps the larger input": (
        "x = zeros(1 << 26); i = index(1 << 20, 1 << 25, 'i4')",
        "gs.take(x[: 1 << 25], i, out=x[1000 : 1000 + (1 << 20)])",
        1 * MIB,
    ),
    "out that overlaps the smaller input": (
        "x = zeros(1 << 26); i = index(1 << 25, 1 << 20, 'i4')",
        "gs.take(x[: 1 << 20], i, out=x[1000 : 1000 + (1 << 25)])",
        1 * MIB,
    ),
}

PEAK = (
    child_process.MEMORY
    + """
import json, numpy as np, gatherscatter as gs

def zeros(shape, dtype="u1"):
    array = np.empty(shape, dtype)
    array.fill(0)  # writes to all pages, so that they are allocated
    return array

def index(shape, extent, dtype="i8"):
    return np.random.default_rng(1).integers(0, extent, shape, dtype)

gs.take(np.arange(1 << 20), np.arange(1 << 20))  # starts the threads
gs.trim()
"""
)


@pytest.mark.parametrize("name", PEAKS)
def test_peak(name):
    set_up, call, result = PEAKS[name]
    code = f"{PEAK}\n{set_up}\ngrowth, result = peak_growth(lambda: {call})\nprint(json.dumps(growth))"
    growth = child_process.run_json(code, env={"GS_NUM_THREADS": "2"})
    allowed = result + 2 * max(64 * 1024, gs.show_config()["l2_bytes"]) + 3 * MIB  # for rounding to huge pages
    assert growth <= allowed, f"{growth / MIB:.1f} MiB, allowed are {allowed / MIB:.1f}"


# ---- the pool


def test_large_results_are_recycled():
    code = """
import json, numpy as np, gatherscatter as gs
x = np.arange(1 << 16)
def make(): return gs.take(x, x)
first = make()
address = first.ctypes.data
second = make()
apart = second.ctypes.data != address
del first
third = make()
print(json.dumps([apart, third.ctypes.data == address, bool((second == x).all()), address % 64]))
"""
    assert child_process.run_json(code, env={}) == [True, True, True, 0]
    assert child_process.run_json(code, env={"GS_POOL": "0"})[2] is True


TRIM = (
    child_process.MEMORY
    + """
import json, numpy as np, gatherscatter as gs
index = np.broadcast_to(np.int64(0), (1 << 26,))
gs.take(np.ones(5, 'u1'), index[:1000])
before = status("VmRSS")
result = gs.take(np.ones(5, 'u1'), index)
alive = status("VmRSS") - before
del result
cached = status("VmRSS") - before
gs.trim()
print(json.dumps([alive, cached, status("VmRSS") - before]))
"""
)


def test_trim_gives_the_cache_back():
    alive, cached, trimmed = child_process.run_json(TRIM, env={})
    assert alive > 60 * MIB and cached > 60 * MIB, "the block waits for its next use"
    assert trimmed < 4 * MIB


def test_without_the_pool_memory_goes_back_at_once():
    alive, cached, _ = child_process.run_json(TRIM, env={"GS_POOL": "0"})
    assert alive > 60 * MIB and cached < 4 * MIB


def test_trim_leaves_results_alone():
    x = np.arange(1 << 18)
    results = [gs.take(x, x) for _ in range(3)]
    gs.trim()
    assert all((result == x).all() for result in results)


# ---- sizes that are too large


def in_a_child(code, **kwargs):
    return child_process.run("import numpy as np, gatherscatter as gs\n" + code, timeout=240, **kwargs).split()


def outcome(call):
    return f"""
try:
    {call}
    print("returned")
except Exception as error:
    print(type(error).__name__)
"""


HUGE = "np.broadcast_to(np.int8(0), (1 << {power},))"


@pytest.mark.parametrize("power", [45, 50, 55, 59])
@pytest.mark.parametrize(
    "call",
    [
        "gs.take(np.ones(4, 'f8'), index)",
        "gs.gather(np.ones(4, 'f8'), 0, index)",
        "gs.gather(np.ones((4, 2), 'f4'), index, axis=0)",
        "gs.tile_gather(np.ones(4, 'f8'), (index,))",
        "gs.take(np.ones((1, 4), 'f8'), index, axis=1)",
    ],
)
def test_a_result_beyond_memory_is_a_memory_error(call, power):
    code = f"index = {HUGE.format(power=power)}" + outcome(call) + "print(gs.take(np.arange(5), [4])[0])"
    assert in_a_child(code) == ["MemoryError", "4"]


@pytest.mark.parametrize(
    "call",
    [
        "gs.take(np.ones((4, 1024)), index, axis=0)",
        "gs.gather(np.ones(4, 'c16'), index, axis=0)",
        "gs.take(np.ones((1 << 10, 4), 'f8'), index, axis=1)",
        "gs.gather(np.broadcast_to(0.0, (1 << 20, 1 << 20, 4)), index, axis=2)",
        "gs.tile_gather(np.ones((4, 4)), (index[: 1 << 32, None], index[: 1 << 32]))",
    ],
)
def test_a_size_beyond_64_bits_is_a_value_error(call):
    code = f"index = {HUGE.format(power=60)}" + outcome(call) + "print(gs.take(np.arange(5), [4])[0])"
    assert in_a_child(code) == ["ValueError", "4"]


def test_an_empty_result_may_have_huge_extents():
    index = np.broadcast_to(np.int8(0), (1 << 40,))
    assert gs.take(np.ones((4, 0)), index, axis=0, mode="clip").shape == (1 << 40, 0)


def test_a_limit_on_memory_is_a_memory_error():
    code = """
import resource
x = np.zeros(1 << 20, 'u1')
index = np.broadcast_to(np.int64(0), (1 << 29,))
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), -1))
for turn in range(3):
    try:
        gs.take(x, index)
        print("returned")
    except MemoryError:
        print("MemoryError")
    assert (gs.take(np.arange(1 << 20), np.arange(1 << 20)) == np.arange(1 << 20)).all()
"""
    assert in_a_child(code) == ["MemoryError"] * 3


SCARCE = """
import os, resource, traceback
x, index = np.arange(1 << 18), np.random.default_rng(1).integers(0, 1 << 18, 1 << 18)
square, out = x.reshape(512, 512).T, np.zeros(1 << 18, int)
calls = [
    (lambda: gs.take(x, index), x[index]),
    (lambda: gs.take(square, index), square.ravel()[index]),
    (lambda: gs.take(out, index, out=out), out * 0),
    (lambda: gs.tile_gather(x, (index,)), x[index]),
]
gs.set_num_threads(4)

def limited(call, expected, extra):
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, resource.RLIM_INFINITY))
    try:
        outcome = "right" if np.array_equal(call(), expected) else "wrong"
    except MemoryError:
        outcome = "MemoryError"
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    assert np.array_equal(gs.take(x, index), x[index])
    return ["right", "MemoryError", "wrong"].index(outcome)

statuses = []
for call, expected in calls:
    for extra in (0, 1 << 12, 1 << 16, *range(1 << 18, 12 << 20, 1 << 20)):
        child = os.fork()
        if child == 0:
            status = 9
            try:
                status = limited(call, expected, extra)
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(*sorted(set(statuses)))
"""


def test_memory_that_ends_anywhere_in_a_call():
    # Every child has a little more memory than the one before; in the first ones even the threads cannot start.
    assert in_a_child(SCARCE, env={}) == ["0", "1"]


def test_memory_that_starts_as_garbage_changes_nothing():
    # glibc fills allocated and freed memory with a pattern, which breaks code that relies on zeros in new memory.
    code = (
        child_process.MIXED
        + """
large = large.astype("i4")
for _ in range(20):
    for call in calls + rare:
        call()
    assert (gs.take(x, i, axis=0) == x[i]).all()
    assert (gs.gather(x, 1, i) == np.take_along_axis(x[:2], i, 1)).all()
    assert (gs.gather(x, i * 9, axis=0, bounds="fill")[1, 1] == 0).all()
    assert (gs.gather(x, i, axis=0, mask=i > 99) == 0).all()
    assert (gs.tile_gather(x, (i, i)) == np.where(i < 0, 0, x[i, i])).all()
    assert (gs.take(large, large[::-1]) == large[::-1]).all()
    assert not gs.gather(large, large + (1 << 20), axis=0, bounds="fill").any()
print("right")
"""
    )
    assert in_a_child(code, env={"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"}) == ["right"]


@pytest.mark.parametrize(
    "call", ["gs.gather_nd(x, wide)", "gs.scatter_nd(x, wide, x[:1])", "gs.scatter_nd(x, wide, x[:1], out=x)"]
)
def test_too_many_coordinates_are_refused_before_they_are_listed(call):
    code = f"""{child_process.MEMORY}
import json, numpy as np, gatherscatter as gs
x, wide = np.arange(6.0), np.broadcast_to(np.int64(0), (1, 30_000_000))

def refused():
    try:
        {call}
    except ValueError as error:
        return str(error)

refused()
print(json.dumps(peak_growth(refused)))
"""
    growth, message = child_process.run_json(code)
    assert "coordinates of 30000000" in message
    assert growth < 50 << 20
