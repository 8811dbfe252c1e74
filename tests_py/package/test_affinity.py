"""test_affinity.py: the number of threads and the helpers' processors follow the affinity mask of the caller."""

import os

import pytest

import child_process

ALL = sorted(os.sched_getaffinity(0))
FIRST, LAST = {ALL[0]}, {ALL[-1]}

needs_two = pytest.mark.skipif(len(ALL) < 2, reason="this process may use one processor only")

# Calls that run in parallel if several threads are allowed; then the processors that the helpers may use.
WORK = """
import json, os, threading, numpy as np
known = {int(task) for task in os.listdir("/proc/self/task")}
import gatherscatter as gs
known |= {int(task) for task in os.listdir("/proc/self/task")}

x = np.random.default_rng(0).integers(0, 1 << 40, (1 << 14, 64))
index = np.random.default_rng(1).integers(0, 1 << 14, 40_000)
expected = x[index]
target = x.copy()
target[index[::-1]] = expected[::-1]

def calls():
    for _ in range(3):
        assert (gs.take(x, index, axis=0) == expected).all()
        assert (gs.scatter_nd(x, index[::-1, None], expected[::-1]) == target).all()

def helpers():
    found = []
    for task in {int(task) for task in os.listdir("/proc/self/task")} - known:
        try:
            found.append(os.sched_getaffinity(task))
        except ProcessLookupError:
            pass
    return found

def planned():
    return gs.explain(gs.take, x, index, axis=0).to_dict()["threads"]
"""


def run(code, env=None):
    child_process.run(f"{WORK}ALL, FIRST, LAST = {set(ALL)}, {FIRST}, {LAST}\n{code}", env=env or {})


@needs_two
def test_the_number_follows_a_mask_that_changes_after_the_import():
    run("""
default = gs.get_num_threads()
assert 1 <= default <= len(ALL)
for mask in (FIRST, ALL, LAST, ALL):
    os.sched_setaffinity(0, mask)
    wanted = min(len(mask), default)
    assert gs.get_num_threads() == planned() == wanted, (mask, gs.get_num_threads(), planned())
    assert gs.show_config()["threads"] == gs.show_config()["processors"] == wanted
    calls()
""")


@needs_two
def test_each_thread_has_the_number_of_its_own_mask():
    run("""
default, seen = gs.get_num_threads(), {}
def work(name, mask):
    os.sched_setaffinity(0, mask)
    for _ in range(20):
        seen.setdefault(name, set()).add((gs.get_num_threads(), planned()))
        calls()
threads = [threading.Thread(target=work, args=arguments) for arguments in (("one", LAST), ("all", ALL))]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert seen == {"one": {(1, 1)}, "all": {(default, default)}}, seen
assert gs.get_num_threads() == default
""")


@needs_two
@pytest.mark.parametrize("how", ["GS_NUM_THREADS", "set_num_threads", "thread_limit"])
def test_a_number_that_was_set_stays_and_helpers_run_where_the_caller_may(how):
    setting = {"GS_NUM_THREADS": "", "set_num_threads": "gs.set_num_threads(4)"}
    code = f"""
{setting.get(how, "gs.thread_limit(4).__enter__()")}
for mask in (FIRST, ALL, LAST, FIRST, ALL):
    os.sched_setaffinity(0, mask)
    assert gs.get_num_threads() == planned() == 4
    calls()
    found = helpers()
    assert len(found) == 3 and all(found), found
    assert all(helper <= mask for helper in found), (mask, found)
"""
    run(code, env={"GS_NUM_THREADS": "4"} if how == "GS_NUM_THREADS" else {})


@needs_two
def test_helpers_follow_whichever_thread_calls():
    run("""
gs.set_num_threads(3)
calls()
def work(mask):
    os.sched_setaffinity(0, mask)
    known.add(threading.get_native_id())
    calls()
    found = helpers()
    assert len(found) == 2 and all(helper and helper <= mask for helper in found), (mask, found)
for mask in (FIRST, LAST, ALL, FIRST):
    errors = []
    thread = threading.Thread(target=lambda: errors.append(None) or work(mask) or errors.clear())
    thread.start(), thread.join()
    assert not errors
""")


@needs_two
def test_a_forked_child_follows_its_own_mask():
    run("""
import warnings
warnings.simplefilter("ignore")
default = gs.get_num_threads()
calls()
child = os.fork()
if child == 0:
    os.sched_setaffinity(0, LAST)
    good = gs.get_num_threads() == 1
    calls()
    gs.set_num_threads(2)
    known.clear(), known.add(threading.get_native_id())
    calls()
    os._exit(0 if good and helpers() == [LAST] else 1)
assert os.waitpid(child, 0)[1] == 0
assert gs.get_num_threads() == default
""")


def test_many_threads_on_one_processor_are_right_and_end():
    run("""
os.sched_setaffinity(0, LAST)
for count in (4, 1, 16, 2):
    gs.set_num_threads(count)
    calls()
""")
