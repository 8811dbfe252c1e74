"""test_streamed_writes.py: results written by streaming stores, small scatters, and Python code inside of a call."""

import numpy as np
import pytest

import gatherscatter as gs
from child_process import run

STREAMED = 64 * 1024  # bytes from which on results bypass the caches in the child processes

# A result whose rows begin at every offset from the alignment of their items: a field of a packed structured array.
WRITE = f"""
import numpy as np, gatherscatter as gs

def packed_rows(columns, rows=0):
    rows = max(rows, {STREAMED} // 4 // columns + 8)
    return np.zeros(rows, [("row", "f4", (columns,)), ("flag", "u1")])["row"]

assert gs.show_config()["stream_bytes"] == {STREAMED}
rng = np.random.default_rng(0)
"""


def _streamed(code):
    run(WRITE + code, env={"GS_STREAM_BYTES": str(STREAMED)})


@pytest.mark.parametrize("columns", [64, 1024])
def test_rows_of_a_streamed_result_lie_anywhere(columns):
    _streamed(f"""
for rows in (0, 700):
    out = packed_rows({columns}, rows)
    table = rng.random(out.shape, dtype=np.float32)
    index = rng.integers(0, {columns}, out.shape)
    gs.take_along_axis(table, index, axis=1, out=out)
    np.testing.assert_array_equal(out, np.take_along_axis(table, index, 1))
""")


def test_rows_of_a_streamed_result_from_a_small_table_lie_anywhere():
    _streamed("""
for rows in (0, 3000):
    out = packed_rows(64, rows)
    index = rng.integers(0, 1000, out.shape)
    gs.take(np.arange(1000, dtype=np.float32), index, out=out)
    np.testing.assert_array_equal(out, index.astype(np.float32))
""")


def test_rows_of_a_streamed_result_by_column_tiles_lie_anywhere():
    _streamed("""
out = packed_rows(2048, 2048)
table = rng.random(out.shape, dtype=np.float32)
index = rng.integers(0, len(table), out.shape)
assert "column tiles" in gs.explain(gs.take_along_axis, table, index, axis=0).to_dict()["kernel"]
gs.take_along_axis(table, index, axis=0, out=out)
np.testing.assert_array_equal(out, np.take_along_axis(table, index, 0))
""")


@pytest.mark.parametrize("item", [17, 24, 64, 128, 192])
def test_small_scatters_do_not_know_where_their_targets_lie(item):
    code = f"""
import numpy as np, gatherscatter as gs
row = np.dtype("V{item}")
index = np.arange(256).reshape(32, 8) % 32
values = np.frombuffer(np.random.default_rng(0).bytes(256 * {item}), row).reshape(32, 8)
for offset in (0, 1, 16, 63):
    memory = np.zeros(256 * {item} + 64, "u1")
    target = memory[offset : offset + 256 * {item}].view(row).reshape(32, 8)
    expected = target.copy()
    for k, i in enumerate(index):
        expected[i, np.arange(8)] = values[k]
    for call in range(20):
        assert gs.scatter(target, 0, index, values).tobytes() == expected.tobytes()
    gs.scatter(target, 0, index, values, out=target)
    assert target.tobytes() == expected.tobytes()
"""
    for settings in ({"GS_STREAM_BYTES": "1"}, {"GS_LLC_BYTES": "1000"}, {}):
        run(code, env=settings)


def _during(about, act):
    """A mode of torch that runs `act` when torch is first queried about the tensor `about`."""

    class During(pytest.importorskip("torch.overrides").TorchFunctionMode):
        done = False

        def __torch_function__(self, function, types, args=(), kwargs=None):
            if not self.done and args and args[0] is about:
                self.done = True
                act()
            return function(*args, **(kwargs or {}))

    return During()


def test_calls_in_the_middle_of_a_call_do_not_change_its_geometry():
    torch = pytest.importorskip("torch")
    table, out, good = torch.arange(100.0), torch.zeros(50), torch.arange(50)
    bad = good.clone()
    bad[7] = 50_000
    large = np.empty(60_000, "f4")
    gs.take(table, good, 0, out=out)
    kept = out.clone()

    def act():
        for k in range(300):
            gs.take(large[: 60_000 - k], np.arange(50), 0)

    with _during(out, act), pytest.raises(gs.OutOfBoundsError, match="index 50000 is out of bounds"):
        gs.take(table, bad, 0, out=out)
    assert torch.equal(out, kept)


def test_a_target_that_loses_its_memory_in_the_middle_of_a_call_is_not_written():
    torch = pytest.importorskip("torch")
    # The lazy bit of complex numbers is asked for by a method of Python, of which a mode hears.
    target, source, index = torch.zeros(4096, dtype=torch.cfloat), torch.ones(4, dtype=torch.cfloat), torch.arange(4)
    gs.put(target, index, source)
    mode = _during(source, lambda: target.untyped_storage().resize_(0))
    with mode, pytest.raises((BufferError, TypeError), match=r"a storage of 0 bytes|without memory"):
        gs.put(target, index, source)
    assert mode.done


def test_a_source_that_shrinks_in_the_middle_of_a_call_is_read_as_it_is_then():
    torch = pytest.importorskip("torch")
    table, out, index = torch.zeros(4000, dtype=torch.cfloat), torch.zeros(4000, dtype=torch.cfloat), torch.arange(4000)
    gs.take(table, index, 0, out=out)

    def act():
        with torch._C.DisableTorchFunction():
            table.set_(torch.zeros(1, dtype=torch.cfloat).untyped_storage(), 0, (1,), (1,))

    mode = _during(table, act)
    with mode, pytest.raises(gs.OutOfBoundsError, match="with size 1"):
        gs.take(table, index, 0, out=out)
    assert mode.done


def test_ctrl_c_in_a_scatter_whose_rows_meet_is_never_lost():
    code = """
import signal, time
import numpy as np, gatherscatter as gs

class Stop(Exception):
    pass

def handler(*_):
    raise Stop

signal.signal(signal.SIGALRM, handler)
n = 200_000
values, target = np.ones((n, 64), "f4"), np.zeros((n, 64), "f4")
rng = np.random.default_rng(0)
for k in range(60):
    index = rng.permutation(n)
    index[n * (60 + k % 35) // 100 :] = 0
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0003 * (k % 50))
        gs.scatter_nd(target, index[:, None], values, out=target)
        time.sleep(0.1)
    except Stop:
        continue
    raise SystemExit("an alarm was lost")
"""
    run(code)
