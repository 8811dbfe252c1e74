"""test_table_leaks.py: every Arrow struct is released exactly once, by any thread, and memory does not grow."""

import gc
import os
import sys
import threading

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import arrow_samples as samples
import child_process
import gatherscatter as gs
from arrow_structs import ArrayProducer, Stream, StreamProducer
from gatherscatter import _core

pytestmark = pytest.mark.long

MIB = 1 << 20
THREADS = 4


def table_of(sample, chunks=2):
    """A producer of the sample as a table, in chunks of three rows."""

    def make():
        parts = [samples.as_table(sample) for _ in range(chunks)]
        return Stream(parts[0][0], [column for _, column in parts])

    return StreamProducer(make)


def fails(error, call, *arguments, **keywords):
    with pytest.raises(error):
        call(*arguments, **keywords)


def calls(source):
    """Calls of every function on a producer of six rows; half of the calls fail."""
    mask = [True, False, True, False, False, True]
    table = gs.table
    yield lambda: _core.ArrowTable(source)
    yield lambda: table.gather(source, [5, 0, 0, -1])
    yield lambda: table.gather(source, [5, None, 99], "nullify", validate="full")
    yield lambda: table.filter(source, mask)
    yield lambda: table.copy_if_else(source, source, mask)
    yield lambda: table.scatter(source, [3, 1, 0, 5, 2, 4], source)
    yield lambda: fails(ValueError, table.scatter, source, [3, 1], source)
    yield lambda: table.boolean_mask_scatter(source, source, mask, validate="full")
    yield lambda: fails(IndexError, table.gather, source, [6])
    yield lambda: fails(ValueError, table.gather, source, [None])
    yield lambda: fails(TypeError, table.gather, source, [0.5])
    yield lambda: fails(ValueError, table.gather, source, [0], "sideways")
    yield lambda: fails(ValueError, table.gather, source, [0], validate="half")
    yield lambda: fails(ValueError, table.filter, source, [True])
    yield lambda: fails(IndexError, table.scatter, source, [0, 1, 2, 3, 4, 9], source)
    yield lambda: fails(ValueError, table.scatter, [1, 2], [0], source)
    yield lambda: fails(TypeError, table.scatter, [object()], [0], source)
    yield lambda: fails(TypeError, table.copy_if_else, source, object(), mask)


@pytest.mark.parametrize("sample", samples.SAMPLES)
def test_every_struct_is_released_once(sample):
    source = table_of(sample)
    for call in calls(source):
        result = call()
        if result is not None:
            again = _core.ArrowTable(result)
            pa.table(again).validate(full=True)
            del again
        del result
    gc.collect()
    assert len(source.exports) > 15
    assert all(export.gave_schema and export.given == 2 and export.releases == 1 for export in source.exports)
    assert source.settled()


def test_a_single_array_is_released_once():
    source = ArrayProducer(samples.coded)
    result = gs.table.gather(source, [2, 0])
    assert pa.array(result).to_pylist() == ["a", "b"]
    fails(IndexError, gs.table.gather, source, [3])
    del result
    gc.collect()
    assert len(source.exports) == 4 and source.settled()


def columns(source):
    return [column for export in source.exports for column in export.columns]


def test_what_was_copied_lets_its_source_go():
    source = table_of(samples.text)
    result = gs.table.gather(source, [1, 5])
    assert source.settled() and all(column.releases == 1 for column in columns(source))
    assert pa.table(result).to_pydict() == {"x": ["", "ddd"]}


@pytest.mark.parametrize("sample", [samples.views, samples.coded], ids=lambda sample: sample.__name__)
def test_what_is_shared_outlives_its_source(sample):
    source = table_of(sample)
    values = pa.table(table_of(sample))["x"].to_pylist()
    result = gs.table.gather(source, [2, 4, 1])
    assert any(column.releases == 0 for column in columns(source))
    taken = pa.table(result)
    del result
    chunk = taken["x"].chunk(0)
    del taken
    gc.collect()
    assert any(column.releases == 0 for column in columns(source))
    assert chunk.to_pylist() == [values[2], values[4], values[1]]
    del chunk
    gc.collect()
    assert source.settled()


def test_an_import_keeps_its_source_until_the_last_column_of_it_is_dropped():
    source = table_of(samples.records)
    table = pa.table(_core.ArrowTable(source))
    column = table["x"]
    del table
    gc.collect()
    assert all(each.releases == 0 for each in columns(source))
    assert column.chunk(1).field("a").to_pylist() == [2, 3, None]
    del column
    gc.collect()
    assert source.settled()


def test_capsules_that_are_not_consumed_are_released():
    source = table_of(samples.lists, chunks=1)
    table = _core.ArrowTable(source)
    capsules = [table.__arrow_c_stream__(), table.__arrow_c_array__(), table.__arrow_c_schema__()]
    del table
    assert columns(source)[0].releases == 0
    del capsules
    gc.collect()
    assert source.settled()


def test_a_stream_may_be_left_in_the_middle():
    source = table_of(samples.numbers, chunks=3)
    reader = pa.RecordBatchReader.from_stream(_core.ArrowTable(source))
    batch = reader.read_next_batch()
    reader.close()
    del reader
    gc.collect()
    assert [column.releases for column in columns(source)] == [0, 1, 1]
    assert batch.num_rows == 3
    del batch
    gc.collect()
    assert source.settled()


def in_a_thread(call):
    errors = []

    def run():
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not errors, errors


@pytest.mark.parametrize("sample", [samples.views, samples.numbers, samples.maps], ids=lambda sample: sample.__name__)
def test_another_thread_may_release(sample):
    source, kept = table_of(sample), []
    kept.append(_core.ArrowTable(source))
    kept.append(gs.table.gather(source, [0, 5]))
    kept.append(pa.table(gs.table.gather(source, [0, 5])))
    noticed = []
    for column in columns(source):
        column.noticed = lambda: noticed.append(threading.get_ident())
    in_a_thread(kept.clear)
    gc.collect()
    assert source.settled()
    assert threading.get_ident() not in noticed and len(noticed) > 0


def test_many_threads_import_gather_and_drop():
    sources = [table_of(samples.views) for _ in range(THREADS)]
    shared = [_core.ArrowTable(sources[0])]
    results, errors, start = [], [], threading.Barrier(THREADS)

    def work(source):
        try:
            start.wait()
            for turn in range(200):
                results.append(gs.table.gather(source, [turn % 6, 0]))
                results.append(gs.table.gather(shared[0], [turn % 6]))
                if turn % 3 == 0:
                    results.pop()  # it may be the result of another thread
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    results.clear()
    shared.clear()
    gc.collect()
    assert all(source.settled() for source in sources)


def test_references_are_given_back():
    held = {
        "pyarrow": pa.table({"a": [1, None, 3], "b": ["x", "y", None]}),
        "polars": pl.DataFrame({"a": [1, None, 3], "b": ["x", "y", None]}),
        "rows": np.array([2, 0]),
        "order": np.array([2, 0, 1]),
        "mask": np.array([True, False, True]),
        "nulls": pa.array([0, None]),
    }

    def counts():
        gc.collect()
        return {key: sys.getrefcount(value) for key, value in held.items()}

    def use():
        for kind in ("pyarrow", "polars"):
            gs.table.gather(held[kind], held["rows"])
            gs.table.gather(held[kind], held["nulls"], "nullify")
            gs.table.filter(held[kind], held["mask"])
            gs.table.scatter(held[kind], held["order"], held[kind])
            gs.table.scatter([5, None], held["rows"], held[kind])
            fails(ValueError, gs.table.gather, held[kind], held["nulls"])
            fails(ValueError, gs.table.filter, held[kind], held["mask"][:2])

    use()
    before = counts()
    for _ in range(5):
        use()
    assert counts() == before


MEMORY = (
    child_process.MEMORY
    + """
import json, numpy as np, pyarrow as pa, polars as pl, pandas as pd, gatherscatter as gs

rng = np.random.default_rng(3)
text = [None if i % 7 == 0 else "row %d of some length" % i for i in range(300)]
data = {"i": np.arange(300), "f": rng.random(300), "s": text, "l": [[i, None] for i in range(300)]}
table = pa.table(data | {"d": pa.array(text).dictionary_encode(), "v": pa.array(text).cast(pa.string_view())})
chunks = pa.concat_tables([table.slice(0, 100), table.slice(100)])
frame, panda = pl.DataFrame(data), pd.DataFrame(data)
rows, order = rng.integers(-300, 300, 200), rng.permutation(300)
mask, bad = rng.random(300) < 0.5, np.array([300])
holes = pa.array([None if i % 5 == 0 else i for i in range(100)])

def fails(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except Exception as error:
        return str(error)
    raise AssertionError("no error")

def rounds(count):
    for _ in range(count):
        for source in (table, chunks, frame, panda):
            gs.table.gather(source, rows)
            gs.table.gather(source, holes, "nullify")
            gs.table.filter(source, mask)
            gs.table.scatter(source, order, source)
            fails(gs.table.gather, source, bad)
            fails(gs.table.gather, source, holes)
            fails(gs.table.filter, source, mask[1:])
            fails(gs.table.scatter, [1], rows, source)
        gs.table.copy_if_else(table, chunks, mask)
        gs.table.boolean_mask_scatter(table, chunks, mask)
        gs.table.segmented_gather(table["l"], pa.array([[0]] * 300))

rounds(WARM)
gc.collect()
before, arrow = status("VmRSS"), pa.total_allocated_bytes()
rounds(ROUNDS)
gc.collect()
print(json.dumps({"growth": status("VmRSS") - before, "arrow": pa.total_allocated_bytes() - arrow}))
"""
)


def test_memory_stays_flat_over_thousands_of_calls():
    # AddressSanitizer keeps memory that was freed for a while, which is no growth.
    options = [os.environ.get("ASAN_OPTIONS", ""), "quarantine_size_mb=0", "thread_local_quarantine_size_kb=0"]
    env = {"ASAN_OPTIONS": ":".join(filter(None, options))}
    answer = child_process.run_json(f"WARM, ROUNDS = 60, 120\n{MEMORY}", env=env, timeout=500)
    assert answer["growth"] < 2 * MIB and answer["arrow"] == 0, answer


LARGE = (
    child_process.MEMORY
    + """
import json, numpy as np, pyarrow as pa, gatherscatter as gs
table = pa.table({"a": np.arange(1 << 18), "s": pa.array(["a text that is longer than a view"] * (1 << 18))})
rows = np.arange(1 << 18)[::-1].copy()
bad = np.append(rows, 1 << 18)
def rounds(count):
    for _ in range(count):
        result = gs.table.gather(table, rows)
        assert result.num_rows == 1 << 18
        try:
            gs.table.gather(table, bad)
        except IndexError:
            pass
rounds(5)
gs.trim()
before = status("VmRSS")
rounds(60)
gs.trim()
print(json.dumps(status("VmRSS") - before))
"""
)


def test_large_results_are_given_back():
    assert child_process.run_json(LARGE, env={}, timeout=300) < 4 * MIB


# The callback and the buffers are never deleted and use no globals, because only our release is tested.
COUNTED = """
import ctypes, os, sys, types
import arrow_samples as samples
from arrow_structs import Array, ArrayProducer, address
from gatherscatter import _core

def noted(at, write=os.write, fill=ctypes.memset, field=Array.release.offset):
    fill(at + field, 0, 8)
    write(1, b"released\\n")

noted = types.FunctionType(noted.__code__, {}, "noted", noted.__defaults__)
release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(noted)

def kept_for_ever():
    field, column = samples.views()
    column.struct.release = address(release)
    for each in (release, column):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
    return _core.ArrowTable(ArrayProducer(lambda: (field, column)))

if WHERE == "main":
    kept = kept_for_ever()
elif WHERE == "sys":
    sys.kept = kept_for_ever()
else:
    kept = [kept_for_ever()]
    kept.append(kept)
"""

EXIT = {
    "results in globals": """
import pyarrow as pa, polars as pl, pandas as pd, duckdb, gatherscatter as gs
data = {"a": [1, 2, None], "s": ["one", "a text that is longer than a view", None]}
sources = [pa.table(data), pl.DataFrame(data), pd.DataFrame(data), pl.DataFrame(data).lazy()]
results = [gs.table.gather(source, [2, 0]) for source in sources]
relation = duckdb.from_arrow(pa.table(data))
results.append(gs.table.gather(relation, [1, 1]))
print("released")
""",
    "imports and capsules in globals": """
import pyarrow as pa, polars as pl
from gatherscatter import _core
tables = [_core.ArrowTable(pa.table({"a": [1]})), _core.ArrowTable(pl.DataFrame({"s": ["x", None]}))]
capsules = [table.__arrow_c_stream__() for table in tables]
reader = pa.RecordBatchReader.from_stream(tables[0])
print("released")
""",
    "in a cycle": """
import gc, pyarrow as pa, gatherscatter as gs
gc.disable()
class Holder: pass
holder = Holder()
holder.me, holder.result = holder, gs.table.gather(pa.table({"s": pa.array(["x"] * 9, pa.string_view())}), [3])
del holder
print("released")
""",
    "in a thread that is still at work": """
import threading, pyarrow as pa, gatherscatter as gs
begun = threading.Event()
# Not a pyarrow table: its __arrow_c_stream__ aborts in one of five runs (26.0.1) if the interpreter ends meanwhile.
source = gs.table.gather(gs._core.ArrowTable(pa.table({"s": ["x"] * 9})), range(9))
def work():
    while True:
        kept = gs.table.gather(source, [3, 2])
        begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
print("released")
""",
}


@pytest.mark.parametrize("name", EXIT)
def test_the_interpreter_may_end_with_tables_alive(name):
    assert child_process.run(EXIT[name]).split() == ["released"]


@pytest.mark.parametrize("where", ["main", "sys", "cycle"])
def test_what_lives_when_the_interpreter_ends_is_released_once_by_then(where):
    assert child_process.run(f"WHERE = {where!r}\n{COUNTED}").split() == ["released"]
