"""test_daemon_threads.py: threads that are at work in calls of Python and pyarrow while the interpreter ends."""

import pytest

import child_process

# Before Python 3.14 a thread that asks for the GIL then is unwound, which must not pass through frames of the library.
CODE = """
import threading, time, numpy as np, gatherscatter as gs

index = np.arange(50)
{}
class Slow:
    def __init__(self, sleep):
        self.sleep = sleep
    def __del__(self):
        self.sleep(0.1)
slow = Slow(time.sleep)
def work():
    while True:
        call()
call()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""

TABLE = """
import pyarrow as pa
table = pa.table({"a": np.arange(1000), "t": [str(k) for k in range(1000)]})
"""
TABLES = {
    "table": "call = lambda: gs.table.gather(table, index)",
    "batch": "batch = table.to_batches()[0]; call = lambda: gs.table.gather(batch, index)",
    "map of pyarrow": "rows = pa.array(index); call = lambda: gs.table.gather(table, rows)",
    "map in a list": "rows = index.tolist(); call = lambda: gs.table.gather(table, rows)",
    "chunks": "chunks = pa.concat_tables([table, table]); call = lambda: gs.table.gather(chunks, index)",
    "scatter": "rows = table.slice(0, 50); call = lambda: gs.table.scatter(rows, index, table)",
    "error": "def call():\n    try:\n        gs.table.gather(table, [5000])\n    except IndexError:\n        pass",
}
ARRAYS = {
    "put": "x = np.zeros(9); call = lambda: gs.put(x, [1, 2], [3.0, 4.0, 5.0])",
    "masked": "x = np.ma.array(np.arange(50), mask=index > 9); call = lambda: gs.take(x, index)",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    pytest.importorskip("pyarrow")
    for _ in range(6):
        assert child_process.run(CODE.replace("{}", TABLE + TABLES[name]), env={"GS_NUM_THREADS": "1"}) == ""


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    for _ in range(3):
        assert child_process.run(CODE.replace("{}", ARRAYS[name]), env={"GS_NUM_THREADS": "1"}) == ""
