"""Corrupt Arrow IPC files: buffers that are shorter than their rows are an error, in files and in memory."""

import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import gatherscatter as gs
from child_process import run
from mutated_files import run_children
from table_types import LAYOUTS, TYPES

N = 101


def test_mutants():
    """Files with changed bytes, in a process of their own."""
    results, errors = run_children(0, 200, 0)
    assert results > 200 and errors > 200


def ipc(table, at_most=N):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=at_most)
    return sink.getvalue().to_pybytes()


def longer(data, rows=N, new=150):
    """The file with `new` rows where it has `rows`, in all of its metadata."""
    return data.replace(struct.pack("<q", rows), struct.pack("<q", new))


DICTIONARY = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50, np.int8)), pa.array([f"{k}" for k in range(N)]))
CORRUPT = {
    "int64": pa.array(range(N)),
    "string": pa.array(["text"] * N),
    "view": pa.array(["a long text, not inline"] * N, pa.string_view()),
    "list": pa.ListArray.from_arrays([0, 1, N], pa.array(range(N))),
    "list view": pa.ListViewArray.from_arrays([0, 50], [50, 51], pa.array(range(N))),
    "struct": pa.StructArray.from_arrays([pa.array(range(N))], ["a"]),
    "dictionary": DICTIONARY,
    "list of dictionary": pa.ListArray.from_arrays([0, 20, 50], DICTIONARY),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 0], pa.int8()), pa.array([3, N - 1], pa.int32()), [pa.array(range(N))]
    ),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array(np.arange(1, N + 1), pa.int32()), pa.array(range(N))),
}


@pytest.mark.parametrize("validate", ["basic", "full"])
@pytest.mark.parametrize("name", CORRUPT)
def test_lengths_beyond_the_buffers(tmp_path, name, validate):
    column = CORRUPT[name]
    path = tmp_path / "x.arrow"
    path.write_bytes(ipc(pa.table({"c": column})))
    whole = gs.table.gather(path, range(len(column)), validate=validate)
    assert whole.column(0).combine_chunks().cast(column.type).to_pylist() == column.to_pylist()
    path.write_bytes(longer(ipc(pa.table({"c": column}))))
    with pytest.raises(OSError, match=r"x\.arrow cannot be read"):
        gs.table.gather(path, [0, 1, 1], validate=validate)
    filled = pa.schema([("c", column.type), ("absent", pa.int8())])
    cast = pa.schema([("c", pa.float64())]) if name == "int64" else filled
    for schema in (None, filled, cast):  # the last two are read by a scan, which fills columns in and casts
        source = pa.dataset.dataset(path, format="ipc", schema=schema)
        with pytest.raises(OSError, match=r"x\.arrow cannot be read"):
            gs.table.gather(source, [0, 1, 1], validate=validate)


@pytest.mark.parametrize("rows", [-1, -(1 << 40), 1 << 40, (1 << 63) - 1])
def test_numbers_of_rows_that_no_table_has(tmp_path, rows):
    """In a process of its own, which pyarrow ends for some calls with such a table."""
    path = tmp_path / "x.arrow"
    path.write_bytes(longer(ipc(pa.table({"c": pa.array(range(N)), "d": pa.array(["t"] * N)})), N, rows))
    code = f"""
import numpy as np, pyarrow as pa, pyarrow.dataset as ds, gatherscatter as gs
path = {str(path)!r}
for call in (
    lambda: gs.table.gather(path, [0]),
    lambda: gs.table.gather(path, np.array([0]), "nullify", memory_budget=1 << 20),
    lambda: gs.table.gather(ds.dataset(path, format="ipc"), [0]),
    lambda: gs.table.gather(pa.ipc.open_file(path).read_all(), [0]),
    lambda: gs.table.gather(pa.ipc.open_file(path).read_all(), np.array([0])),
    lambda: gs.table.gather(pa.ipc.open_file(path).get_batch(0), np.array([0])),
    lambda: gs.table.filter(pa.ipc.open_file(path).read_all(), [True]),
):
    try:
        call()
    except (OSError, BufferError, ValueError):
        continue
    raise AssertionError("no error")
"""
    run(code)


@pytest.mark.parametrize("name", CORRUPT)
def test_objects_of_pyarrow_with_short_buffers(name):
    table, two = (
        pa.ipc.open_file(pa.py_buffer(longer(ipc(pa.table(dict.fromkeys(names, CORRUPT[name])))))).read_all()
        for names in ("c", "cd")
    )
    column, batch = table["c"], table.to_batches()[0]
    good = gs.table.gather(pa.table({"c": CORRUPT[name]}), [0, 1])
    calls = (
        lambda: gs.table.gather(table, [0, 1]),
        lambda: gs.table.gather(table, np.array([0, 1])),
        lambda: gs.table.gather(batch, np.array([0, 1])),
        lambda: gs.table.gather(column, [0]),
        lambda: gs.table.gather(column.chunk(0), [0]),
        lambda: gs.table.gather(pa.RecordBatchReader.from_batches(table.schema, [batch]), [0]),
        lambda: gs.table.gather(two, [0]),
        lambda: gs.table.filter(table, np.arange(len(table)) < 2),
        lambda: gs.table.scatter(good, [1, 0], table),
        lambda: gs.table.scatter(table, [1] * len(table), good),
        lambda: gs.table.gather(pa.dataset.dataset(table), [0]),
    )
    for call in calls:
        with pytest.raises((BufferError, OSError)):
            call()


def test_maps_and_masks_with_short_buffers():
    data = ipc(pa.table({"m": pa.array(range(N)), "b": pa.array([True] * N), "n": pa.array([None, *range(1, N)])}))
    table = pa.ipc.open_file(pa.py_buffer(longer(data, N, 100_000))).read_all()
    target = pa.table({"x": np.arange(200_000)})
    for name in "mn":
        for given in (table[name], table[name].chunk(0)):
            for call in (
                lambda given=given: gs.table.gather(target, given, "nullify"),
                lambda given=given: gs.table.gather(target, given),
                lambda given=given: gs.take(np.arange(200_000), given),
                lambda given=given: gs.table.scatter([1], given, target),
            ):
                with pytest.raises(BufferError):
                    call()
    for given in (table["b"], table["b"].chunk(0)):
        with pytest.raises(BufferError):
            gs.table.filter(target.slice(0, 100_000), given)
    with pytest.raises(BufferError):
        gs.put(np.zeros(100_000), range(100_000), table["m"].chunk(0))


@pytest.mark.parametrize("name", CORRUPT)
def test_pandas_in_short_buffers(name):
    """pandas takes few rows by itself, and of many rows ours are moved by column."""
    column = pa.ipc.open_file(pa.py_buffer(longer(ipc(pa.table({"c": CORRUPT[name]}))))).read_all()["c"]
    series = pd.Series(pd.arrays.ArrowExtensionArray(column))
    plain = pd.Series(range(len(column)))
    calls = [
        lambda: gs.table.filter(series, [False] * (len(column) - 1) + [True]),
        lambda: gs.table.scatter(plain.to_frame("c")[:1], [0], series.to_frame("c")),
        lambda: gs.table.scatter(series, [0] * len(column), series),
        lambda: gs.table.gather(plain, series),
    ]
    for source in (series, series.to_frame("c"), pd.DataFrame({"a": plain, "c": series}), plain.set_axis(series)):
        for rows in ([0, 1], np.array([1]), np.zeros(5000, int), [len(column)]):
            calls.append(lambda source=source, rows=rows: gs.table.gather(source, rows, "nullify"))
            calls.append(lambda source=source, rows=rows: gs.table.gather(source, rows))
    for call in calls[:3] + calls[3 + (name != "int64") :]:
        with pytest.raises(BufferError):
            call()


@pytest.mark.parametrize("name", TYPES)
def test_budget_of_batches_without_rows(tmp_path, name):
    """`nbytes` of pyarrow reads null pointers where a nested union has no rows."""
    empty = LAYOUTS["empty"](TYPES[name], np.random.default_rng(0))
    some = LAYOUTS["one"](TYPES[name], np.random.default_rng(0))
    lists = pa.chunked_array([pa.ListArray.from_arrays([0, 0], chunk) for chunk in empty.chunks])
    for at, column in enumerate([empty, lists, pa.chunked_array([*empty.chunks, *some.chunks, *empty.chunks])]):
        table = pa.table({"c": column})
        with pa.ipc.new_file(tmp_path / f"{at}.arrow", table.schema) as file:
            try:
                for chunk in column.chunks:
                    file.write_batch(pa.RecordBatch.from_arrays([chunk], schema=table.schema))
            except pa.ArrowInvalid as error:  # a file has one dictionary for each column
                assert at == 2 and "Dictionary replacement" in str(error)
                continue
        rows = [0] * min(1, len(column))
        for budget in (1, 1 << 20):
            try:
                result = gs.table.gather(tmp_path / f"{at}.arrow", rows, memory_budget=budget)
            except gs.errors.InvalidArgument as error:
                assert budget == 1 and "memory_budget is 1 bytes" in str(error)
            else:
                assert result.num_rows == len(rows)


def test_keys_of_a_corrupt_stream():
    """The batches of a reader are compared with their buffers, as those of a table."""
    table, rows = pa.table({"k": np.arange(N)}), 90_000_000
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    raw = sink.getvalue().to_pybytes()
    start = raw.index(np.arange(8).tobytes())
    corrupt = raw[:start].replace(struct.pack("<q", N), struct.pack("<q", rows)) + raw[start:]
    for data, error in ((raw, None), (corrupt, BufferError)):
        for call in (lambda keys: gs.table.rows_of(keys, [5]), lambda keys: gs.table.rows_of(table["k"], keys)):
            reader = pa.ipc.open_stream(data)
            if error is None:
                assert call(reader)[0].as_py() in (0, 5)
            else:
                with pytest.raises(error, match="too small"):
                    call(reader)


def test_nulls_that_say_to_be_longer_than_any_column():
    """Their length has no buffers to be compared with, and pyarrow's own sum of lengths is negative."""
    half = pa.Array.from_buffers(pa.null(), 1 << 62, [None])
    column = pa.chunked_array([half, half])
    table = pa.table({"x": [1, 2]})
    for call in (gs.table.gather, gs.table.filter):
        with pytest.raises(BufferError, match="no column is as long as it says"):
            call(table, column)
    with pytest.raises(BufferError):
        gs.table.gather(column, [0])
