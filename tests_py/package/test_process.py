"""test_process.py: import, fork, Ctrl-C and exit of a process."""

import importlib.metadata

import pytest

import child_process
from sanitized import own_allocator

# ---- import


def test_import_brings_nothing_but_numpy():
    code = """
import sys, json, numpy
before = set(sys.modules)
import gatherscatter as gs
gs.take(numpy.arange(5.0), [1]), gs.gather(numpy.ones((2, 2)), 0, numpy.zeros((1, 2), int)), gs.show_config()
others = "torch jax jaxlib cupy pandas pyarrow polars ml_dtypes scipy sklearn matplotlib dask".split()
print(json.dumps([name for name in others if name in sys.modules]))
"""
    assert child_process.run_json(code) == []


def test_numpy_is_the_only_dependency():
    requires = importlib.metadata.requires("gatherscatter") or []
    hard = [line for line in requires if "extra ==" not in line]
    assert len(hard) == 1 and hard[0].startswith("numpy")


@pytest.mark.parametrize("options", [("-W", "error"), ("-bb", "-W", "error"), ("-X", "dev", "-W", "error"), ("-O",)])
def test_import_and_calls_without_warnings(options):
    code = """
import numpy as np, gatherscatter as gs
assert gs.take(np.arange(5.0), [4, 0]).tolist() == [4, 0]
assert gs.gather(np.arange(4).reshape(2, 2), 1, np.array([[1], [0]])).tolist() == [[1], [2]]
assert gs.tile_gather(np.arange(4), np.array([9, 1]), padding_value=-1).tolist() == [-1, 1]
repr(gs.explain(gs.take, np.arange(5.0), [4, 0]))
gs.show_config()
try:
    gs.take(np.arange(5), [9])
except gs.OutOfBoundsError as error:
    print(error)
"""
    assert child_process.run(code, options=options).startswith("index 9 is out of bounds for axis 0 with size 5")


def test_a_second_import_works_or_raises_import_error():
    code = """
import sys, numpy as np
import gatherscatter as first
kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "gatherscatter"}
for name in kept:
    del sys.modules[name]
try:
    import gatherscatter as second
    assert second.take(np.arange(5), [4]) == [4]
except ImportError:
    pass
assert first.take(np.arange(5), [3, -1]).tolist() == [3, 4]
"""
    child_process.run(code)


def test_a_sub_interpreter_is_no_crash():
    # NumPy itself does not support sub-interpreters in all versions, so an ImportError is accepted.
    code = """
import warnings
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import numpy as np, gatherscatter as gs
inner = '''
import warnings
warnings.simplefilter("ignore")
try:
    import numpy as np, gatherscatter as gs
    assert gs.take(np.arange(5), [3, -1]).tolist() == [3, 4]
except ImportError:
    pass
'''
made = interpreters.create()
failure = interpreters.run_string(made, inner)
assert failure is None, failure
interpreters.destroy(made)
assert gs.take(np.arange(5), [3, -1]).tolist() == [3, 4]
"""
    child_process.run(code)


# ---- fork

FORK = """
import os, signal, sys, threading, time
import numpy as np, gatherscatter as gs

gs.set_num_threads(4)
x = np.arange(1 << 20, dtype=np.float32).reshape(1 << 14, 64)
index = np.random.default_rng(1).integers(0, 1 << 14, 60_000)
answer = x[index]

def right():
    return np.array_equal(gs.take(x, index, axis=0), answer)

def in_a_child():
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a signal ends a child that hangs
        good = right() and right()
        try:
            gs.take(x, [1 << 14], axis=0)
            good = False
        except gs.OutOfBoundsError:
            pass
        os._exit(0 if good else 3)
    return os.waitpid(child, 0)[1]
"""


def test_fork_after_the_pool_was_used():
    code = FORK + "assert right()\nprint([in_a_child() for _ in range(20)], right())"
    assert child_process.run(code, env={}).strip() == f"{[0] * 20} True"


def test_fork_before_the_pool_was_used():
    assert child_process.run(FORK + "print(in_a_child(), right())", env={}).strip() == "0 True"


@own_allocator
def test_fork_while_calls_run():
    code = (
        FORK
        + """
stop, wrong = [], []
def work():
    while not stop:
        if not right():
            wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
statuses = []
for turn in range(20):
    time.sleep(0.002 * (turn % 5))
    statuses.append(in_a_child())
stop.append(1)
for thread in threads:
    thread.join()
print(statuses, wrong, right())
"""
    )
    assert child_process.run(code, env={}).strip() == f"{[0] * 20} [] True"


def test_fork_in_a_fork():
    code = (
        FORK
        + """
assert right()
child = os.fork()
if child == 0:
    assert right()
    os._exit(in_a_child())
print(os.waitpid(child, 0)[1], right())
"""
    )
    assert child_process.run(code, env={}).strip() == "0 True"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, tmp_path):
    script = tmp_path / "job.py"
    script.write_text(f"""
import multiprocessing, numpy as np, gatherscatter as gs

x, index = np.arange(1 << 20), np.arange(1 << 20)[::-1].copy()

def work(bad):
    if bad:
        return gs.take(x, index + 1).sum()
    return int(gs.take(x, index)[0])

if __name__ == "__main__":
    gs.take(x, index)
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        assert pool.map(work, [0] * 4, 1) == [(1 << 20) - 1] * 4
        try:
            pool.map(work, [1])
        except gs.OutOfBoundsError as error:
            assert (error.index, error.position, error.size, error.count) == (1 << 20, (0,), 1 << 20, 1)
            print("right")
""")
    code = f"import runpy, sys; sys.argv = ['job']; runpy.run_path({str(script)!r}, run_name='__main__')"
    if method != "fork":
        # spawn and forkserver import the script again, so it must be the main program
        code = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, {str(script)!r}]).returncode)"
    assert child_process.run(code, env={}).strip() == "right"


# ---- Ctrl-C

INTERRUPT = """
import os, json, signal, threading, time
import numpy as np, gatherscatter as gs

small = np.random.default_rng(1).integers(0, 250, 20_000)
big = np.zeros((250, 250), np.uint8)
calls = {
    "points": lambda n: gs.tile_gather(big, (small[:n, None], small)),
    "elements": lambda n: gs.gather(np.zeros((n, 250), np.uint8), 1, np.broadcast_to(small, (n, small.size))),
    "strided": lambda n: gs.gather(np.zeros((250, n), np.uint8).T, 1, np.broadcast_to(small, (n, small.size))),
    "scan of the indices": lambda n: gs.take(big[0], np.broadcast_to(small, (n, small.size)),
                                             out=np.empty((n, small.size), np.uint8)),
}
call = calls[CASE]
gs.set_num_threads(THREADS)
call(2)
n = 1000
while True:
    start = time.perf_counter()
    call(n)
    full = time.perf_counter() - start
    if full > 1.0 or n == small.size:
        break
    n = small.size if full == 0 else min(small.size, int(n * min(10, 1.5 / full)) + 1)
"""

# A busy machine can delay any attempt, so that there are several; a call that looks for no interrupt is late in each.
KEYBOARD = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for background processes
def delay():
    global full
    sent, ended = [], False
    def interrupt():
        time.sleep(0.3 * full)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    start = time.perf_counter()
    try:
        thread.start()
        call(n)
        ended = time.perf_counter()
        time.sleep(60)  # the interrupt comes here
    except KeyboardInterrupt:
        raised = time.perf_counter()
    thread.join()
    if ended and ended < sent[0]:  # the call was much faster than the one that was timed
        full = ended - start
        return 1.0
    return raised - sent[0]
delays = []
while len(delays) < 5 and not (delays and delays[-1] < 0.3):
    delays.append(delay())
works = gs.take(np.arange(1 << 20), np.arange(1 << 20)[::-1])[0] == (1 << 20) - 1
print(json.dumps({"full": full, "delays": delays, "works": bool(works)}))
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", ["points", "elements", "strided", "scan of the indices"])
def test_control_c_ends_a_long_call(case, threads):
    code = f"CASE, THREADS = {case!r}, {threads}\n" + INTERRUPT + KEYBOARD
    answer = child_process.run_json(code, env={})
    assert answer["delays"][-1] < 0.3 and answer["works"], answer


def test_a_handler_that_returns_lets_the_call_go_on():
    code = (
        "CASE, THREADS = 'points', 2\n"
        + INTERRUPT
        + """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(time.perf_counter()))
for _ in range(10):  # a call may be much faster than the one that was timed
    signal.setitimer(signal.ITIMER_REAL, 0.1 * full, 0.1 * full)
    start = time.perf_counter()
    result = call(n)
    end = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0)
    during = sum(start < t < end for t in seen)
    if during >= 2:
        break
print(json.dumps({"during": during, "sum": int(result.sum()), "shape": list(result.shape)}))
"""
    )
    answer = child_process.run_json(code, env={})
    assert answer["during"] >= 2 and answer["sum"] == 0


def test_a_handler_may_call_us():
    code = (
        "CASE, THREADS = 'points', 2\n"
        + INTERRUPT
        + """
inner = []
def handler(*_):
    inner.append(int(gs.take(np.arange(1 << 20), np.arange(1 << 20)[::-1])[0]))
signal.signal(signal.SIGALRM, handler)
during = 0
for _ in range(10):  # a call may be much faster than the one that was timed
    signal.setitimer(signal.ITIMER_REAL, 0.3 * full)
    call(n)
    during = len(inner)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if during:
        break
print(json.dumps(inner[:during]))
"""
    )
    assert child_process.run_json(code, env={}) == [(1 << 20) - 1]


# ---- exit


@pytest.mark.parametrize("columns", [1, 300])
def test_daemon_threads_at_exit(columns):
    # While the interpreter ends, threads that need the GIL are unwound: after short calls, and inside of long ones.
    code = f"""
import threading, time, numpy as np, gatherscatter as gs
gs.set_num_threads(4)
x, index = np.zeros((250, 250), np.uint8), np.arange(1 << 18) % 250
def work():
    while True:
        gs.tile_gather(x, (index[:, None], index[:{columns}]))
class Slow:
    def __init__(self, sleep):
        self.sleep = sleep
    def __del__(self):
        self.sleep(0.1)
slow = Slow(time.sleep)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(5):
        assert child_process.run(code, env={}) == ""


def test_results_that_live_until_the_exit():
    code = """
import atexit, sys, threading, numpy as np, gatherscatter as gs
sys.kept = gs.take(np.arange(1 << 20), np.arange(1 << 20))
sys.plan = gs.plan(gs.take, np.arange(10), [1, 2])
kept = [sys.kept[5:]]
kept.append(kept)
atexit.register(lambda: gs.take(np.arange(1 << 20), np.arange(1 << 20)).sum())
class Late:
    def __init__(self): self.take = gs.take
    def __del__(self): self.take(np_arange(1 << 18), np_arange(1 << 18))
np_arange = np.arange
late = Late()
"""
    assert child_process.run(code, env={}) == ""


def test_the_library_prints_nothing():
    # The library never prints, neither output nor warnings.
    code = """
import numpy as np, gatherscatter as gs
for bad in ([9], [-9], 2.5, "a", None, [[]], object()):
    try:
        gs.gather(np.arange(3.0), bad, axis=0)
    except Exception as error:
        assert str(error)
    try:
        gs.take(np.arange(3.0), bad)
    except Exception as error:
        assert str(error)
gs.trim()
"""
    assert child_process.run(code, env={}) == ""
