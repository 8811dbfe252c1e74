"""test_progress.py: progress of calls that run longer than half a second, by callback and as a bar."""

import asyncio
import signal
import sys
import threading
import types
from textwrap import dedent

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gatherscatter as gs
from child_process import run
from gatherscatter import _core


class Stop(Exception):
    """What a callback raises."""


@pytest.fixture(scope="module")
def arrays():
    """A source beyond the caches and random indices: one thread is asked several times for each operator."""
    n = 1 << 24
    return np.zeros(n, np.float32), np.random.default_rng(0).integers(0, n, 4 * n, np.int32)


@pytest.fixture
def prompt():
    """Calls report as soon as they are asked, so that these tests do not depend on the speed of a machine."""
    before = _core.progress_silence()
    _core.set_progress_silence(0)
    yield
    _core.set_progress_silence(before)


@pytest.fixture
def data(arrays, prompt):
    """The arrays, for calls that report at once."""
    return arrays


OPERATORS = {
    "take": lambda x, i: gs.take(x, i),
    "take out": lambda x, i: gs.take(x, i, out=np.empty(len(i), x.dtype)),
    "put": lambda x, i: gs.put(x, i, 1.5),
    "add": lambda x, i: gs.scatter(x, 0, i, np.ones(len(i), np.float32), reduce="add"),
    "mean": lambda x, i: gs.scatter(x, 0, i, np.ones(len(i), np.float32), reduce="mean"),
    "table": lambda x, i: gs.table.gather(pa.table(dict.fromkeys("abcd", x)), i[: len(x)]),
    "frame": lambda x, i: gs.table.gather(pd.DataFrame(dict.fromkeys("abcd", x)), i[: len(x)]),
    "gather": lambda x, i: gs.gather(x, 0, i[: len(x)]),
    "gather with a mask": lambda x, i: gs.gather(x, 0, i[: len(x)], mask=half(x, i), fill_value=2.5),
    "gather_nd": lambda x, i: gs.gather_nd(x, i[: len(x), None]),
    "tile_gather": lambda x, i: gs.tile_gather(x, (i[: len(x)],), mask=half(x, i), padding_value=2.5),
    "take_along_axis": lambda x, i: gs.take_along_axis(x, i[: len(x)], 0),
    "compress": lambda x, i: gs.compress(i > len(x) // 2, np.broadcast_to(x[:1], i.shape)),
    "roll": lambda x, i: gs.roll(i, len(x) // 3),
    "repeat": lambda x, i: gs.repeat(x, i[: len(x)] % 7),
    "repeat by one number": lambda x, i: gs.repeat(x, 5),
    "scatter of a copy": lambda x, i: gs.scatter(x, 0, i[: len(x)], 1.5),
    "scatter with a mask": lambda x, i: gs.scatter(x, 0, i[: len(x)], 1.5, mask=half(x, i)),
    "scatter_nd": lambda x, i: gs.scatter_nd(x, i[: len(x), None], np.ones(len(x), np.float32)),
    "tile_scatter": lambda x, i: gs.tile_scatter(x, (i[: len(x)],), 1.5),
    "put_along_axis": lambda x, i: gs.put_along_axis(x, i[: len(x)], 1.5, 0),
    "putmask": lambda x, i: gs.putmask(i.copy(), i > len(x) // 2, i),
    "place": lambda x, i: gs.place(i.copy(), i > len(x) // 2, i),
    "table.scatter": lambda x, i: gs.table.scatter(columns(x), i[: len(x)], columns(x)),
    "table.scatter of scalars": lambda x, i: gs.table.scatter([1.5] * 4, i[: len(x)], columns(x)),
    "table.boolean_mask_scatter": lambda x, i: gs.table.boolean_mask_scatter(columns(x), columns(x), half(x, i)),
    "table.copy_if_else": lambda x, i: gs.table.copy_if_else(columns(x), columns(x), half(x, i)),
    "table.filter": lambda x, i: gs.table.filter(columns(x), half(x, i)),
    "table.segmented_gather": lambda x, i: gs.table.segmented_gather(lists(x), lists(i[: len(x)] % 16)),
}


def columns(x):
    return pa.table(dict.fromkeys("abcd", x))


def half(x, i):
    return i[: len(x)] > len(x) // 2


def lists(values):
    """Lists of 16 values."""
    return pa.ListArray.from_arrays(np.arange(0, len(values) + 1, 16, dtype=np.int32), values)


def reports_of(call, threads=1):
    """What a call reports to a callback."""
    seen = []
    with gs.thread_limit(threads), gs.progress(lambda done, total: seen.append((done, total, threading.get_ident()))):
        call()
    return seen


@pytest.mark.parametrize(
    ("name", "threads"),
    [
        *((name, 1) for name in OPERATORS),
        *((name, 2) for name in ("take", "take out", "put", "add", "mean", "table", "frame", "gather", "roll")),
    ],
)
def test_values_increase_to_the_total(data, name, threads):
    seen = reports_of(lambda: OPERATORS[name](*data), threads)
    assert len(seen) >= 2 or threads == 2
    done = [number for number, _, _ in seen]
    assert done == sorted(done)
    assert not seen or done[-1] == 1000
    assert all(0 <= number < 1000 for number in done[:-1])
    assert {total for _, total, _ in seen} <= {1000}
    assert {thread for _, _, thread in seen} <= {threading.get_ident()}
    if name == "take" and threads == 1:
        assert any(0 < number < 1000 for number in done)  # a share of the call, not its beginning and end alone


def test_a_map_that_has_reported_is_followed_by_the_end(data, monkeypatch):
    """Also where the steps of the DataFrame behind it end before they report by themselves."""
    monkeypatch.setattr(_core, "progress_silence", lambda: 3_600_000)  # of the steps alone, which Python makes
    rows = data[1] % 1000
    seen = reports_of(lambda: gs.table.gather(pd.DataFrame({"a": np.zeros(1000, np.int8)}), rows))
    done = [number for number, *_ in seen]
    assert done[0] < 250 and done == sorted(done) and done[-1] == 1000 and done.count(1000) == 1


def test_calls_are_silent_for_half_a_second():
    assert _core.progress_silence() == 500
    index, out = np.arange(1 << 16), np.empty(1 << 16, np.int64)  # far below a second, on a busy machine too
    assert reports_of(lambda: [gs.take(index, index, out=out) for _ in range(20)]) == []


def test_calls_report_nothing_before_their_silence_is_over(data):
    _core.set_progress_silence(3_600_000)  # the fixture restores it
    assert reports_of(lambda: [OPERATORS[name](*data) for name in ("take", "frame", "roll")]) == []


@pytest.mark.parametrize("name", OPERATORS)
def test_an_exception_stops_the_call(data, name):
    error = Stop("enough")

    def stop(done, total):
        assert done < total
        raise error

    with gs.thread_limit(1), gs.progress(stop), pytest.raises(Stop) as caught:
        OPERATORS[name](*data)
    assert caught.value is error
    assert gs.take(np.arange(3), [2, 0]).tolist() == [2, 0]
    assert [done for done, *_ in reports_of(lambda: OPERATORS["take"](*data))][-1] == 1000


def test_an_exception_at_the_end(data):
    def stop(done, total):
        if done == total:
            raise Stop

    with gs.thread_limit(1), gs.progress(stop), pytest.raises(Stop):
        gs.take(*data)
    assert gs.take([7, 8], [1]).tolist() == [8]


def test_the_innermost_block_holds(data):
    outer, inner = [], []
    with gs.thread_limit(1), gs.progress(lambda *report: outer.append(report)):
        with gs.progress(lambda *report: inner.append(report)):
            gs.take(*data)
        assert inner and not outer
        count = len(inner)
        gs.take(*data)
        assert len(inner) == count and outer
    count = len(outer)
    gs.take(*data)
    assert len(outer) == count


def test_other_threads_and_tasks_see_nothing(data):
    seen = []

    async def main():
        async def task():
            with gs.progress(lambda *report: seen.append(report)):
                await asyncio.sleep(0.05)

        inside = asyncio.create_task(task())
        await asyncio.sleep(0.01)
        gs.take(*data)
        await inside

    with gs.thread_limit(1):
        asyncio.run(main())
        with gs.progress(lambda *report: seen.append(report)):
            thread = threading.Thread(target=lambda: by_one(lambda: gs.take(*data)))
            thread.start()
            thread.join()
    assert seen == []


def by_one(call):
    with gs.thread_limit(1):
        return call()


def test_a_decorator_and_a_generator(data):
    seen = []

    @gs.progress(lambda *report: seen.append(report))
    def rows():
        yield by_one(lambda: gs.take(*data))

    for _ in rows():
        count = len(seen)
        assert count
        by_one(lambda: gs.take(*data))
        assert len(seen) == count


class Bar:
    """In the place of tqdm's bar: raises Stop at the second report."""

    open = 0

    def __init__(self, **options):
        self.n = 0
        Bar.open += 1

    def update(self, more):
        if self.n:
            raise Stop
        self.n += more

    def close(self):
        Bar.open -= 1


@pytest.mark.parametrize("form", ["function", "generator", "coroutine"])
def test_a_decorated_call_that_was_stopped_leaves_no_bar(data, monkeypatch, form):
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))

    def function():
        by_one(lambda: [gs.take(*data) for _ in range(4)])

    def generator():
        yield function()

    async def coroutine():
        function()

    run = gs.progress()({"function": function, "generator": generator, "coroutine": coroutine}[form])
    before = Bar.open
    with pytest.raises(Stop):
        {"function": lambda: run(), "generator": lambda: list(run()), "coroutine": lambda: asyncio.run(run())}[form]()
    assert Bar.open == before


def test_operators_inside_of_the_callback(data):
    seen = []

    def callback(done, total):
        seen.append(done)
        if len(seen) == 2:
            gs.take(*data)  # as long as the call outside

    with gs.thread_limit(1), gs.progress(callback):
        expected = gs.take(*data)
    assert seen == sorted(seen) and seen[-1] == 1000
    assert len(expected) == len(data[1])


def test_frames_inside_of_the_callback_report_nothing(data):
    frame, depth = pd.DataFrame({"a": np.zeros(100_000), "b": np.zeros(100_000)}), []

    def callback(done, total):
        assert not depth
        depth.append(done)
        gs.table.gather(frame, np.zeros(100_000, int))
        depth.pop()

    with gs.thread_limit(1), gs.progress(callback):
        gs.take(*data)
        gs.table.gather(frame, np.zeros(100_000, int))


def test_a_signal_handler_does_not_begin_the_call_anew(data):
    seen = []

    def handler(number, frame):
        gs.take(np.arange(100_000), np.zeros(100_000, int))
        seen.append("signal")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    try:
        with gs.thread_limit(1), gs.progress(lambda done, total: seen.append(done)):
            gs.take(*data)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    numbers = [number for number in seen if number != "signal"]
    assert "signal" in seen
    assert numbers == sorted(numbers) and numbers[-1] == 1000


def test_tables_in_files(tmp_path, prompt, monkeypatch):
    from gatherscatter._ops import progress_parts

    monkeypatch.setattr(progress_parts, "BETWEEN", 0.0)
    table = pa.table({"x": np.arange(1000), "y": np.arange(1000.0)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=100)
    others = threading.active_count()  # of libraries that other tests have used
    for threads in (1, 3):
        seen = reports_of(lambda: gs.table.gather(tmp_path / "x.parquet", np.arange(1000)), threads)
        assert [done for done, *_ in seen] == [*(250 + 750 * k // 12 for k in range(1, 12)), 999, 1000]
        with gs.thread_limit(threads), pytest.raises(Stop), gs.progress(raising):
            gs.table.gather(tmp_path / "x.parquet", np.arange(1000))
        assert gs.table.gather(tmp_path / "x.parquet", [999]).to_pylist() == [{"x": 999, "y": 999.0}]
    assert threading.active_count() <= others


def raising(done, total):
    raise Stop


def test_calls_outside_of_a_block_do_nothing_for_it(tmp_path):
    """In a process of its own, which has not imported tqdm. Other calls, not divided in Python, are C++ alone; that
    short ones make no system call, such as one that sets a timer, is tested in test_system_calls.py."""
    code = """
        import contextvars, signal, sys, types
        import numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq, gatherscatter as gs
        from gatherscatter import _core
        from gatherscatter._ops import progress_parts
        x = np.arange(1 << 17)
        frame = pd.DataFrame({name: x for name in "abcd"})
        pq.write_table(pa.table({"x": x}), PATH, row_group_size=10_000)

        def run():
            gs.table.gather(PATH, x)
            gs.table.gather(frame, x)
            gs.table.scatter(frame, x, frame)
            gs.roll(x, 3)

        asked = []
        progress_parts.time = types.SimpleNamespace(monotonic=lambda: asked.append(None) or 0.0)
        run()
        assert not asked and _core.progress_blocks not in contextvars.copy_context()
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0) and "tqdm" not in sys.modules
        with gs.progress(print):
            run()
        assert len(asked) > 20  # the steps of a call in a block ask for the time
        """
    run(dedent(code).replace("PATH", repr(str(tmp_path / "x.parquet"))))


def test_arguments(monkeypatch):
    with pytest.raises(TypeError, match="callback is 5, expected a function of done and total"):
        gs.progress(5)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"needs tqdm \(pip install tqdm\)"):
        gs.progress()
    with gs.progress(print):
        pass
    with pytest.raises(RuntimeError, match="progress: the block was not entered"):
        gs.progress(print).__exit__(None, None, None)
