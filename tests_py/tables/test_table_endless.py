"""test_table_endless.py: maps and masks of stride 0, which have more rows than memory can hold, in one byte."""

import pytest

import child_process

CHILD = """
import json
import numpy as np, pyarrow as pa
import gatherscatter as gs

table = gs.table
rows = np.broadcast_to(np.uint8(0), (count,))
signed = np.broadcast_to(np.int8(-1), (count,))
flags = np.broadcast_to(np.bool_(True), (count,))
one = pa.array([1])
many = pa.chunked_array([[1, 2], [3]])
sources = {
    "int64": one, "chunks": many, "text": pa.array(["a"]), "null": pa.nulls(1), "bool": pa.array([True]),
    "struct": pa.array([{"a": 1}]), "list": pa.array([[1, 2]]), "table": pa.table({"a": [1], "b": ["x"]}),
}
calls = {}
for name, source in sources.items():
    for bounds in ("raise", "nullify", "unchecked"):
        calls[f"gather {name} {bounds}"] = lambda source=source, bounds=bounds: table.gather(source, rows, bounds)
calls["gather signed"] = lambda: table.gather(one, signed)
calls["scatter a scalar"] = lambda: table.scatter(5, rows, one)
calls["scatter a scalar into chunks"] = lambda: table.scatter(5, rows, many)
calls["scatter rows"] = lambda: table.scatter(one, rows, one)
calls["mask scatter"] = lambda: table.boolean_mask_scatter(5, one, flags)
calls["filter"] = lambda: table.filter(one, flags)
calls["choose"] = lambda: table.copy_if_else(one, one, flags)
calls["segments"] = lambda: table.segmented_gather(pa.array([[1]]), np.broadcast_to(np.int8(0), (1, count)))
calls["segments of many rows"] = lambda: table.segmented_gather(
    pa.array([[1]]), np.broadcast_to(np.int8(0), (count, 1)))
calls["masked"] = lambda: table.gather(one, np.ma.MaskedArray(rows, mask=False, shrink=True))
found = {}
for name, call in calls.items():
    try:
        found[name] = repr(call())
    except (MemoryError, ValueError, RuntimeError) as error:
        found[name] = type(error).__name__
print(json.dumps(found))
"""


@pytest.mark.parametrize("count", [2**60, 2**61, 2**62, 2**63 - 1], ids=["2**60", "2**61", "2**62", "2**63 - 1"])
def test_more_rows_than_memory_holds(count):
    found = child_process.run_json(f"count = {count}\n{CHILD}", timeout=60)
    assert len(found) > 30
    fitting = {"MemoryError", "ValueError", "InvalidArgument"}
    assert {name: what for name, what in found.items() if what not in fitting} == {}
    assert found["gather int64 raise"] == "MemoryError"
