"""test_system_calls.py: the system calls of short calls on arrays and on files that are in memory."""

import json
from collections import Counter

from system_calls import listed_calls

POINTS = 64  # of a call, whose pages are looked at
ROUNDS = 8

CODE = """
import time
import numpy as np, gatherscatter as gs

array = np.ones((ROWS, 256), np.float32)
array.tofile(PATH)
file = gs.open(PATH, dtype="f4", shape=array.shape, mode="r+")
rows = np.arange(100) * (ROWS // 100)
out = np.empty((100, 256), np.float32)
calls = [
    lambda x: gs.take(x, rows, axis=0, out=out),
    lambda x: gs.scatter(x, rows, out, axis=0, out=x),
]
for call in calls:
    call(file)  # reads all pages that are wanted
    call(array)
trace()
for _ in range(ROUNDS):
    for call in calls:
        for x in (file, array):
            time.sleep(0.12)  # after this the mapping is looked up again
            listed(lambda: call(x))
            listed(lambda: [call(x) for _ in range(20)])
os._exit(0)
"""


def calls_of(path, mib):
    """Of each operator on a file and on an array: the system calls of one call, and those of 20 more right behind it.

    A call that the machine has held up for 50 ms looks once more, so the least of several rounds counts.
    """
    values = f"PATH, ROWS, ROUNDS = {json.dumps(str(path))}, {mib << 10}, {ROUNDS}\n"
    found = listed_calls(values + CODE, GS_NUM_THREADS="1")
    kinds = len(found) // ROUNDS
    assert kinds == 8
    least = [Counter(min(found[kind::kinds], key=len)) for kind in range(kinds)]
    return {name: list(zip(least[at::4], least[at + 1 :: 4], strict=True)) for at, name in ((0, "file"), (2, "array"))}


def test_operands_below_64_mib_need_no_system_call(tmp_path):
    nothing = [(Counter(), Counter())] * 2
    assert calls_of(tmp_path / "x", 60) == {"file": nothing, "array": nothing}


def test_larger_operands_are_looked_up_once_in_50_ms(tmp_path):
    calls = calls_of(tmp_path / "x", 72)
    for first, more in (*calls["file"], *calls["array"]):
        assert 1 <= first["openat"] <= 2  # of the list of mappings; Linux before 6.11 gives it as text alone
        assert more == Counter()
    for first, _ in calls["file"]:
        assert 1 <= first["mincore"] <= POINTS
    for first, _ in calls["array"]:
        assert first["mincore"] == 0
