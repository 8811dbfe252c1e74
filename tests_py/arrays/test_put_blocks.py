"""test_put_blocks.py: putmask and place of many elements run by blocks; beside NumPy and the way of one call."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._numpy import put_blocks
from sanitized import own_allocator


@pytest.mark.parametrize("seed", range(60))
def test_blocks_write_what_numpy_writes(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(put_blocks, "LEAST", int(rng.integers(1, 50)))
    monkeypatch.setattr(put_blocks, "BLOCK", int(rng.integers(1, 60)))
    dtype = rng.choice(["u1", "i2", "f4", "f8", "c16", "M8[s]", "S3", ">i4", "?"])
    shape = tuple(rng.integers(0, 20, int(rng.integers(1, 4))))
    a = rng.integers(0, 99, shape).astype(dtype)
    mask = rng.random(shape) < rng.choice([0, 0.3, 0.95, 1])
    values = rng.integers(0, 99, int(rng.choice([1, 2, 3, 7, 40, 300, 5000]))).astype(dtype)
    if rng.random() < 0.2:
        values = values[::-1]
    layouts = [lambda x: x, lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, axis=-1)[..., ::2]]
    layout = layouts[rng.choice(3, p=[0.7, 0.15, 0.15])]
    for ours, theirs in ((gs.putmask, np.putmask), (gs.place, np.place)):
        mine, other = layout(a.copy()), layout(a.copy())
        given = mask if seed % 3 else mask.reshape(-1)
        assert ours(mine, given, values) is None
        theirs(other, given, values)
        assert mine.tobytes() == other.tobytes()


GAPS = {"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [8, 0], "itemsize": 16}


@pytest.mark.parametrize("dtype", [">f8", ">i2", ">M8[s]", ">U3", [("a", ">i4")], GAPS, "V5", "m8[D]"], ids=str)
def test_values_keep_byte_order_and_fields(dtype, monkeypatch):
    """The values of a block may be the end of one round of them and the begin of the next."""
    monkeypatch.setattr(put_blocks, "LEAST", 4)
    monkeypatch.setattr(put_blocks, "BLOCK", 50)
    rng = np.random.default_rng(3)
    a, values = (np.zeros(n, dtype) for n in (500, 7))
    if values.dtype.names:
        values["a"] = rng.integers(1, 99, 7)
    elif values.dtype.kind == "V":
        values = rng.integers(1, 99, 35).astype("u1").view(dtype)
    else:
        values[:] = rng.integers(1, 99, 7).astype("i8" if values.dtype.kind in "Mm" else values.dtype)
    for function, theirs in ((gs.putmask, np.putmask), (gs.place, np.place)):
        for share in (0.3, 0.9):
            mask = rng.random(500) < share
            mine, other = a.copy(), a.copy()
            function(mine, mask, values)
            theirs(other, mask, values)
            assert (mine == other).all() and mine.dtype == other.dtype


@pytest.mark.parametrize("name", ["putmask", "place"])
def test_values_in_the_memory_of_the_target(name, monkeypatch):
    monkeypatch.setattr(put_blocks, "LEAST", 4)
    monkeypatch.setattr(put_blocks, "BLOCK", 5)
    a = np.arange(40.0)
    expected = a.copy()
    getattr(np, name)(expected, a % 3 == 0, a[3:10].copy())
    getattr(gs, name)(a, a % 3 == 0, a[3:10])
    np.testing.assert_array_equal(a, expected)


def test_errors_leave_the_target_untouched(monkeypatch):
    monkeypatch.setattr(put_blocks, "LEAST", 4)
    a = np.arange(40)
    before = a.copy()
    for call in (
        lambda: gs.putmask(a, np.ones(41, bool), [1, 2]),
        lambda: gs.place(a, np.ones(41, bool), [1, 2]),
        lambda: gs.putmask(a, np.ones(40, bool), np.array([1.5, 2])),
        lambda: gs.place(a, np.ones(40, bool), np.array([1.5, 2])),
        lambda: gs.place(a, a % 2 == 0, np.zeros(0, np.int64)),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
        np.testing.assert_array_equal(a, before)


def test_plans_are_those_of_one_call():
    a, mask = np.zeros(1 << 17, np.float32), np.arange(1 << 17) % 3 == 0
    for function in (gs.putmask, gs.place):
        plan = gs.plan(function, a, mask, np.array([1, 2], np.float32))
        assert "131,072" in repr(plan) or "(131072,)" in repr(plan)


@own_allocator
@pytest.mark.parametrize("name", ["putmask", "place"])
def test_no_memory_beside_the_copy_of_the_mask(name):
    def of_process(field):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field + ":"))

    n = 1 << 25
    a, mask = np.zeros(n, np.uint8), np.arange(n, dtype=np.uint8) % 8 != 0
    values = np.array([1, 2], np.uint8)
    getattr(gs, name)(a, mask, values)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = of_process("VmRSS")
    getattr(gs, name)(a, mask, values)
    assert of_process("VmHWM") - before < n + (16 << 20)
