"""test_table_device.py: tables on a GPU, emulated or real: all operators, the Arrow device interface, releases."""

import contextlib
import ctypes
import gc
import os
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import arrow_samples as samples
import fake_cudf
import gatherscatter as gs
import real_memory
from fake_cuda import DLPackOnly
from fake_cudf import CPU, CUDA_HOST, MANAGED, Handmade, OnGpu, on_host
from gatherscatter import _core, errors
from optional import optional

pytestmark = pytest.mark.long

table = gs.table


@pytest.fixture(autouse=True, scope="module", params=["emulated", "real"])
def gpu(request):
    if request.param == "real":
        cupy = optional("cupy")
        why = "no cupy" if cupy is None else gs.cuda.why_not()
        if why:
            pytest.skip(f"tables on a GPU: {why}")
        with real_memory.in_use(cupy):
            yield
        return
    from gatherscatter import _reference

    before, os.environ["GS_DEVICES"] = os.environ.get("GS_DEVICES"), "reference"
    _core.offer_devices(_reference.devices)
    yield
    os.environ.pop("GS_DEVICES")
    if before is not None:
        os.environ["GS_DEVICES"] = before


on_emulated_gpu = pytest.mark.parametrize("gpu", ["emulated"], indirect=True)
on_real_gpu = pytest.mark.parametrize("gpu", ["real"], indirect=True)

ROWS = 300


def batch(rows=ROWS, seed=0, nulls=True, extra=0):
    """A record batch of every type that device kernels support; `extra`: the number of further columns of numbers."""
    random = np.random.default_rng(seed)

    def column(values, kind):
        mask = random.random(rows) < 0.2 if nulls else np.zeros(rows, bool)
        return pa.array([None if null else value for null, value in zip(mask, values, strict=True)], kind)

    words = ["", "a", "é", "twelve chars", "a text of some more characters than that"]
    text = [words[i] for i in random.integers(0, len(words), rows)]
    lists = [[int(v) for v in random.integers(0, 99, n)] for n in random.integers(0, 5, rows)]
    names = [[words[v] for v in random.integers(0, 5, n)] for n in random.integers(0, 4, rows)]
    columns = {
        "i8": column(random.integers(-99, 99, rows).tolist(), pa.int8()),
        "f64": column(random.random(rows).tolist(), pa.float64()),
        "flag": column((random.random(rows) < 0.5).tolist(), pa.bool_()),
        "when": column(random.integers(0, 10**9, rows).tolist(), pa.timestamp("us", "UTC")),
        "decimal": column([int(v) for v in random.integers(0, 999, rows)], pa.decimal128(20, 0)),
        "bytes5": column([b"%05d" % v for v in random.integers(0, 9999, rows)], pa.binary(5)),
        "bytes40": column([b"%040d" % v for v in random.integers(0, 9999, rows)], pa.binary(40)),
        "text": column(text, pa.string()),
        "large": column(text, pa.large_string()),
        "ints": column(lists, pa.list_(pa.int32())),
        "names": column(names, pa.large_list(pa.string())),
        "pairs": column([[v, v + 1] for v in random.integers(0, 9, rows).tolist()], pa.list_(pa.int16(), 2)),
        "couples": column([["x", None]] * rows, pa.list_(pa.string(), 2)),
        "record": column(
            [{"a": i, "b": t} for i, t in enumerate(text)], pa.struct({"a": pa.int64(), "b": pa.string()})
        ),
        "map": column([[(t, 1)] for t in text], pa.map_(pa.string(), pa.int8())),
        "key": column(text, pa.string()).dictionary_encode(),
        "nothing": pa.nulls(rows),
    }
    columns |= {f"more{i}": column(random.integers(0, 9, rows).tolist(), pa.int32()) for i in range(extra)}
    return pa.RecordBatch.from_pydict(columns)


def runs(call):
    """The result of a call, after a check that it ran on device kernels once."""
    before = _core.kernel_takes()
    result = call()
    assert _core.kernel_takes() == before + 1
    return on_host(result)


def same(found, wanted):
    assert found.schema.equals(wanted.schema)
    assert found.to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("int8", 1), ("int16", 31), ("int32", 32), ("int64", 33),
        ("uint8", 64), ("uint16", 256), ("uint32", 257), ("uint64", ROWS),
    ],
)  # fmt: skip
def test_gather(kind, rows):
    source = batch(rows)
    number = np.random.default_rng(1).integers(0, min(rows, 127), 2 * rows)
    if kind.startswith("i"):
        number[::3] -= min(rows, 127)
    number = number.astype(kind)
    same(runs(lambda: table.gather(OnGpu(source), number)), table.gather(source, number))


def test_many_columns_and_none():
    source = batch(extra=150)
    same(runs(lambda: table.gather(OnGpu(source), [5, -1, 5])), table.gather(source, [5, -1, 5]))
    nothing = source.select([])
    assert runs(lambda: table.gather(OnGpu(nothing), [0, 1])).num_rows == 2


@pytest.mark.parametrize("nulls", [False, True])
def test_rows_that_are_missing(nulls):
    source = batch(nulls=nulls)
    rows = [0, None, ROWS, -ROWS - 1, -ROWS, None, 7]
    wanted = table.gather(source, rows, "nullify", negative="from_end")
    same(runs(lambda: table.gather(OnGpu(source), rows, "nullify", negative="from_end")), wanted)
    same(
        runs(lambda: table.gather(OnGpu(source.slice(0, 0)), [0, 1], "nullify")),
        table.gather(source.slice(0, 0), [0, 1], "nullify"),
    )
    from_index = np.array([3, -1, 0])
    found = runs(lambda: table.gather(OnGpu(source), from_index, "nullify", negative="out_of_bounds"))
    same(found, table.gather(source, from_index, "nullify", negative="out_of_bounds"))
    assert runs(lambda: table.gather(OnGpu(source), [0, 999], "unchecked"))[0:1] == source[0:1]


@pytest.mark.parametrize("rows", [0, ROWS])
def test_values_of_rows_that_are_missing(rows):
    source, numbers = batch(rows), [0, None, ROWS, 7, 2**40]
    fills = {"f64": 2.5, "text": "none" * 9}
    wanted = table.gather(source, numbers, "nullify", fill_value=fills)
    before = _core.kernel_takes()
    found = table.gather(OnGpu(source), numbers, "nullify", fill_value=fills)
    assert _core.kernel_takes() == before + 2  # one gathers, one writes the values
    same(on_host(found), wanted)


@pytest.mark.parametrize("offset", [0, 3, 64])
def test_slices(offset):
    source = batch().slice(offset, 130)
    rows = np.arange(-130, 130)
    same(runs(lambda: table.gather(OnGpu(source), rows)), table.gather(source, rows))


# Two different dictionaries cannot be unified by device kernels, so dictionary columns are dropped.
def plain(source):
    return source.drop_columns(["key"])


def test_scatter():
    target, source = plain(batch()), plain(batch(70, seed=1))
    rows = np.random.default_rng(2).integers(-ROWS, ROWS, 70)
    wanted = table.scatter(source, rows, target)
    same(runs(lambda: table.scatter(OnGpu(source), rows, OnGpu(target))), wanted)
    same(runs(lambda: table.scatter(source, rows, OnGpu(target))), wanted)  # copied to the GPU
    same(runs(lambda: table.scatter(OnGpu(source[:0]), [], OnGpu(target))), target)


def test_scatter_of_scalars():
    target = pa.record_batch({"a": [1, None, 3], "b": ["x", "y", None]})
    found = runs(lambda: table.scatter([9, None], [0, -1, 0], OnGpu(target)))
    assert found.to_pydict() == {"a": [9, None, 9], "b": [None, "y", None]}
    found = runs(lambda: table.boolean_mask_scatter(["7" * 30], OnGpu(target["b"]), [True, False, True]))
    assert found.to_pylist() == ["7" * 30, "y", "7" * 30]


def test_negative_numbers_on_the_gpu_ask_for_their_meaning():
    source = batch()
    for rows, words in (
        ([3, -1, 0, -2], r"index -1 at position \(1,\) .*\(2 of 4 numbers are negative\)"),
        ([3, None, -1], r"the map has negative numbers.*\(1 of 3 numbers is negative\)"),  # the null is found first
    ):
        with pytest.raises(errors.NegativeIndexError, match=words):
            table.gather(OnGpu(source), OnGpu(pa.array(rows)), "nullify")
        with pytest.raises(errors.NegativeIndexError, match=words):
            table.scatter([0.0], OnGpu(pa.array(rows)), OnGpu(source["f64"]), bounds="drop")


def test_named_columns_alone():
    target, source = plain(batch()), plain(batch(70, seed=1)).select(["text", "i8"])
    rows = np.random.default_rng(4).integers(-ROWS, ROWS, 70)
    wanted = table.scatter(source, rows, target, partial=True)
    same(runs(lambda: table.scatter(OnGpu(source), rows, OnGpu(target), partial=True)), wanted)
    wanted = table.scatter({"f64": 2.5}, rows, target, partial=True)
    same(runs(lambda: table.scatter({"f64": 2.5}, rows, OnGpu(target), partial=True)), wanted)
    mask = np.arange(ROWS) % 5 == 0
    wanted = table.boolean_mask_scatter(source, target, mask, partial=True)
    same(runs(lambda: table.boolean_mask_scatter(OnGpu(source), OnGpu(target), mask, partial=True)), wanted)


def test_masks():
    target, source = plain(batch()), plain(batch(ROWS, seed=1))
    random = np.random.default_rng(3)
    mask = pa.array([None if v == 2 else bool(v) for v in random.integers(0, 3, ROWS)])
    plain_mask = np.asarray(mask.fill_null(False))
    for given in (mask, plain_mask, plain_mask[::-1].copy()[::-1], mask.to_pylist()):
        same(runs(partial(table.filter, OnGpu(target), given)), table.filter(target, mask))
        found = runs(partial(table.boolean_mask_scatter, OnGpu(source), OnGpu(target), given))
        same(found, table.boolean_mask_scatter(source, target, mask))
        found = runs(partial(table.copy_if_else, OnGpu(target), OnGpu(source), given))
        same(found, table.copy_if_else(target, source, mask))
    assert runs(lambda: table.filter(OnGpu(target), np.zeros(ROWS, bool))).num_rows == 0


@on_emulated_gpu
def test_maps_and_masks_on_the_gpu():
    source = batch()
    rows = np.array([4, -2, 0, 4], np.int32)
    mask = np.arange(ROWS) % 3 == 0
    same(runs(lambda: table.gather(OnGpu(source), DLPackOnly(rows))), table.gather(source, rows))
    same(runs(lambda: table.gather(OnGpu(source), OnGpu(pa.array(rows)))), table.gather(source, rows))
    same(runs(lambda: table.filter(OnGpu(source), DLPackOnly(mask))), table.filter(source, mask))
    same(runs(lambda: table.filter(OnGpu(source), OnGpu(pa.array(mask)))), table.filter(source, mask))
    for given in (DLPackOnly(rows), OnGpu(pa.array(rows))):
        with pytest.raises(errors.InvalidArgument, match="map or mask lies on GPU 0, the table in host memory"):
            table.gather(source, given)
    with pytest.raises(errors.InvalidArgument, match="lies on GPU 1, the table on GPU 0"):
        table.gather(OnGpu(source), DLPackOnly(rows, device=1))


@on_real_gpu
def test_maps_and_masks_of_cupy():
    cupy = optional("cupy")
    source = batch()
    rows, mask = np.array([4, -2, 0, 4], np.int32), np.arange(ROWS) % 3 == 0
    same(runs(lambda: table.gather(OnGpu(source), cupy.asarray(rows))), table.gather(source, rows))
    same(runs(lambda: table.gather(OnGpu(source), OnGpu(pa.array(rows)))), table.gather(source, rows))
    same(runs(lambda: table.filter(OnGpu(source), cupy.asarray(mask))), table.filter(source, mask))
    same(runs(lambda: table.filter(OnGpu(source), OnGpu(pa.array(mask)))), table.filter(source, mask))


def test_long_columns():
    random, rows = np.random.default_rng(7), 70_000
    text = np.array(["", "a", "twelve chars", "a text of some more characters than that"])
    source = pa.record_batch(
        {
            "i64": pa.array(random.integers(-9, 9, rows), mask=random.random(rows) < 0.1),
            "f32": random.random(rows, np.float32),
            "text": pa.array(text[random.integers(0, 4, rows)]),
        }
    )
    places = random.integers(-rows, rows, 3 * rows // 2)
    assert runs(lambda: table.gather(OnGpu(source), places)).equals(table.gather(source, places))
    places = random.integers(-rows, rows, rows)
    wanted = table.scatter(source, places, source)
    assert runs(lambda: table.scatter(OnGpu(source), places, OnGpu(source))).equals(wanted)


def test_errors_are_those_of_the_host():
    source = plain(batch())
    calls = [
        lambda t: table.gather(t, [0, ROWS, -ROWS - 1]),
        lambda t: table.gather(t, np.array([2**63 + 1], np.uint64)),
        lambda t: table.gather(t, [-1], negative="out_of_bounds"),
        lambda t: table.gather(t, [1, None, None]),
        lambda t: table.gather(t, [1, None, 999], "unchecked"),
        lambda t: table.scatter(t, [0, -999] * (ROWS // 2), t),
        lambda t: table.scatter(t, [0, -9], t),
        lambda t: table.scatter(t, [0] * (ROWS + 1), t),
        lambda t: table.filter(t, [True]),
        lambda t: table.filter(t, np.zeros(ROWS)),
        lambda t: table.gather(t, np.zeros(3)),
        lambda t: table.scatter([1], [0], t),
    ]
    for call in calls:
        with pytest.raises(Exception) as on_cpu:
            call(source)
        with pytest.raises(type(on_cpu.value)) as there:
            call(OnGpu(source))
        assert str(there.value) == str(on_cpu.value)


def test_types_without_kernels_are_refused():
    views = pa.record_batch({"v": pa.array(["x"], pa.string_view())})
    with pytest.raises(BufferError, match="column 'v': is string_view on a GPU"):
        table.gather(OnGpu(views), [0])
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(errors.DataTypeError, match=r"sparse_union.* on a GPU is not supported"):
        table.gather(OnGpu(pa.record_batch({"u": union})), [0])
    keys = [pa.record_batch({"k": pa.array([word]).dictionary_encode()}) for word in "ab"]
    with pytest.raises(errors.DataTypeError, match="with several dictionaries on a GPU"):
        table.scatter(OnGpu(keys[0]), [0], OnGpu(keys[1]))
    lists = pa.array([[1, 2]])
    with pytest.raises(BufferError, match="lies on GPU 0"):
        table.segmented_gather(OnGpu(lists), [[0]])


@on_emulated_gpu
def test_tables_that_lie_apart():
    source = plain(batch(10))
    with pytest.raises(errors.InvalidArgument, match="one table lies on GPU 1, the other on GPU 0"):
        table.scatter(OnGpu(source, number=1), list(range(10)), OnGpu(source))
    with pytest.raises(errors.InvalidArgument, match="one table lies in host memory, the other on GPU 0"):
        table.scatter(OnGpu(source), list(range(10)), source)
    with pytest.raises(BufferError, match="lies on device 2, expected 0 to 1"):
        table.gather(OnGpu(source, number=2), [0])
    with pytest.raises(BufferError, match="device type 8"):
        table.gather(OnGpu(source, kind=8), [0])
    assert runs(lambda: table.gather(OnGpu(source, number=1), [0])).num_rows == 1


@on_emulated_gpu
@pytest.mark.parametrize(("kind", "device"), [(CPU, -1), (CUDA_HOST, 0), (MANAGED, 0)])
def test_kinds_of_memory(kind, device):
    source = batch(10)
    result = table.gather(OnGpu(source, kind=kind), [3, 1])
    assert result.device == device
    same(on_host(result) if device == 0 else pa.record_batch(result), table.gather(source, [3, 1]))


@on_emulated_gpu
def test_an_event_is_waited_for():
    event = ctypes.c_void_p(1)
    source = OnGpu(batch(10), event=ctypes.addressof(event))
    same(runs(lambda: table.gather(source, [3])), table.gather(source.source, [3]))


def test_a_result_is_not_read_on_the_host():
    result = table.gather(OnGpu(batch(10)), [3])
    for method in ("__arrow_c_stream__", "__arrow_c_array__"):
        with pytest.raises(BufferError, match="lies on GPU 0: use __arrow_c_device_array__"):
            getattr(result, method)()
    with pytest.raises(TypeError, match="unknown argument stream"):
        result.__arrow_c_device_array__(stream=1)
    same(runs(lambda: table.gather(result, [0, 0])), table.gather(batch(10), [3, 3]))
    assert len(result.__arrow_c_device_array__()) == 2  # no consumer takes these capsules


@pytest.mark.parametrize("sample", [s for s in samples.SAMPLES if s not in (samples.views, samples.runs)])
def test_everything_is_released_once(sample):
    source = Handmade(lambda: samples.as_table(sample))
    for call in (
        lambda: table.gather(source, [2, 0, -1]),
        lambda: table.gather(source, [2, 9, None], "nullify", validate="full"),
        lambda: table.filter(source, [True, False, True]),
        lambda: table.scatter(source, [1, 0, 2], source),
        lambda: table.gather(source, [3]),
        lambda: table.gather(source, [0.5]),
        lambda: table.filter(source, [True]),
        lambda: table.gather(Handmade(source.make, kind=99), [0]),
    ):
        with contextlib.suppress(ValueError, TypeError, BufferError):
            call()
        gc.collect()
        assert source.settled() and source.exports


@on_emulated_gpu
def test_device_memory_is_released():
    from gatherscatter import _reference

    gc.collect()
    before = _reference.take_record()["live"]
    for _ in range(3):
        result = table.gather(OnGpu(batch(50)), [1, 2])
        assert _reference.take_record()["live"] > before
        held = on_host(result)
        del result
        gc.collect()
        assert held.num_rows == 2
        del held
        gc.collect()
        assert _reference.take_record()["live"] == before


@on_emulated_gpu
def test_a_gather_of_numbers_waits_once_for_the_map_and_once_at_the_end():
    from gatherscatter import _reference

    source = OnGpu(pa.record_batch({f"c{i}": np.arange(100) for i in range(40)}))
    _reference.take_record()
    table.gather(source, np.arange(50))
    facts = _reference.take_record()
    assert facts["waits"] == 2 and facts["launches"] == 2
    table.gather(source, np.arange(50), "unchecked")
    assert _reference.take_record()["waits"] == 1


def test_offsets_that_do_not_suffice():
    source = pa.record_batch({"t": ["x" * 40] * 4})
    before = _core.set_offset_limit(100)
    try:
        result = table.gather(OnGpu(source), [0, 1, 2, 3])
        assert result.num_chunks == 2
        with pytest.raises(ValueError, match="2 chunks"):
            result.__arrow_c_device_array__()
    finally:
        _core.set_offset_limit(before)


def test_offsets_out_of_order():
    offsets = pa.py_buffer(np.array([0, 5, 2, 6], np.int32))
    text = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abcdef")])
    with pytest.raises(BufferError, match=r"offsets of '' \(string\) are not in order"):
        table.gather(OnGpu(text), [0, 1])
    beyond = pa.py_buffer(np.array([0, 9, 6], np.int32))
    text = pa.Array.from_buffers(pa.string(), 2, [None, beyond, pa.py_buffer(b"abcdef")])
    with pytest.raises(BufferError, match="not in order"):
        table.gather(OnGpu(text), [0])


def test_pylibcudf():
    before = sys.modules.get("pylibcudf")
    plc = fake_cudf.fake_pylibcudf()
    try:
        source = plain(batch(20))
        result = table.gather(plc.Table(OnGpu(source)), [3, 1])
        assert type(result) is plc.Table
        same(on_host(result.source), table.gather(source, [3, 1]))
        column = plc.Column(OnGpu(source["text"]))
        result = table.scatter("new", plc.Column(OnGpu(pa.array([1, 1]))), column)
        assert type(result) is plc.Column
        assert on_host(result.source).to_pylist() == table.scatter("new", [1], source["text"]).to_pylist()
        limit = _core.set_offset_limit(1)
        try:
            with pytest.raises(OverflowError, match="one Table of pylibcudf"):
                table.gather(plc.Table(OnGpu(pa.record_batch({"t": ["ab", "c"]}))), [1, 1])
        finally:
            _core.set_offset_limit(limit)
    finally:
        del sys.modules["pylibcudf"]
        if before is not None:
            sys.modules["pylibcudf"] = before


def test_text_whose_bytes_are_a_null_pointer():
    def make():
        field, column = samples.large_text()
        column.addresses[2] = None
        return field, column

    with pytest.raises(BufferError, match="offset"):
        table.gather(Handmade(make), [0, 1])
