"""test_device_unaligned.py: GPU arrays and columns at addresses that are not aligned to their items.

A GPU ends the context at a misaligned access; the CPU that emulates it does not. So the accesses are verified where
these tests run on interpreted PTX or on a GPU; `.ci/check_unaligned` checks the compiler's output.
"""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import gatherscatter as gs
from fake_cuda import FakeCupyArray, played_gpu
from fake_cudf import OnGpu, on_host


@pytest.fixture(autouse=True, scope="module")
def gpu():
    with played_gpu() as module:
        yield module


NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", *NARROW]
REDUCTIONS = ["add", "mul", "min", "max", "mean"]
INDICES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
RNG = np.random.default_rng(5)


def dtype_of(name):
    return np.dtype(getattr(pytest.importorskip("ml_dtypes"), name) if name in NARROW else name)


def shifted(array, by):
    """A copy of the array, `by` bytes after an address that is a multiple of 64."""
    room = np.zeros(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + by
    there = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    there[...] = array
    assert there.ctypes.data % 64 == by
    return there


def numbers(shape, dtype):
    return RNG.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)


def same(call):
    """Check that a call on the GPU gives the bytes of the call on the host."""
    there, wanted = call(FakeCupyArray), call(lambda array: array)
    assert there.host.dtype == wanted.dtype and there.host.tobytes() == wanted.tobytes()


UNORDERED = {
    ("?", "mean"),
    *((name, way) for name in ("c8", "c16") for way in ("min", "max")),
}


@pytest.mark.parametrize(("name", "reduce"), [pair for pair in product(NUMBERS, REDUCTIONS) if pair not in UNORDERED])
def test_reductions(name, reduce):
    dtype = dtype_of(name)
    size = dtype.itemsize
    x, src = numbers((9, 3), dtype), numbers((40, 3), dtype)
    index = RNG.integers(-9, 9, (40, 1))
    for to, source in [(1, 0), (0, 1), (1, 1), (size // 2, size // 2), (size, 3)]:
        for include_self in (True, False):
            target, values = shifted(x, to), shifted(src, source)
            same(
                lambda m, a=target, b=values, own=include_self: gs.scatter_nd(
                    m(a), m(index), m(b), reduce=reduce, include_self=own
                )
            )
    row = numbers((1, 3), dtype)  # no two points have one target, so that nothing is sorted
    same(lambda m: gs.scatter(m(shifted(x, 1)), 0, m(np.zeros((1, 3), np.int64)), m(shifted(row, 1)), reduce=reduce))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 8, 12, 16, 24])
@pytest.mark.parametrize("kind", INDICES)
def test_moves(size, kind):
    dtype = np.dtype(f"V{size}")
    x = np.frombuffer(RNG.bytes(90 * size), dtype).reshape(30, 3)
    column = np.ascontiguousarray(x[:, 0])
    rows = RNG.integers(0, 30, 37).astype(kind)
    values = x[np.arange(37) % 30]
    for by in (1, 2, 4, 8):
        check_moves(x, shifted(x, by), column, shifted(column, by), values, shifted(values, by), shifted(rows, by))


def check_moves(x, x_moved, column, column_moved, values, values_moved, i):
    same(lambda m: gs.take(m(column), m(i), axis=0))
    same(lambda m: gs.take(m(column_moved), m(i), axis=0))
    same(lambda m: gs.take(m(x), m(i), axis=0))
    same(lambda m: gs.take(m(x_moved), m(i), axis=0))
    same(lambda m: gs.scatter_nd(m(x), m(i[:, None]), m(values_moved)))
    same(lambda m: gs.scatter_nd(m(x_moved), m(i[:, None]), m(values)))
    same(lambda m: gs.scatter_nd(m(x_moved), m(i[:, None]), m(values), duplicates="first"))


@pytest.mark.parametrize("name", ["u1", "f2", "f4", "f8", "c16", "c8"])
def test_padding(name):
    dtype = np.dtype(name)
    x, rows, mask = numbers(30, dtype), RNG.integers(0, 30, 37), RNG.random(37) < 0.5
    for by in (1, 2, 4, 8, 0):
        check_padding(x, rows, shifted(mask, by), shifted(numbers((1,), dtype), by), shifted(numbers(37, dtype), by))


def check_padding(x, rows, mask, one, many):
    same(lambda m: gs.gather(m(x), m(rows), axis=0, mask=m(mask), fill_value=m(one.reshape(()))))
    same(lambda m: gs.tile_gather(m(x), (m(rows),), mask=m(mask), padding_value=m(many)))
    same(lambda m: gs.tile_gather(m(shifted(x, 1)), (m(rows),), mask=m(mask), padding_value=m(many)))


def test_few_points_and_a_large_target():
    for dtype in ("i2", "f8", "V12"):
        x = np.zeros((70_000, 2), dtype)
        src = np.frombuffer(RNG.bytes(20 * x.itemsize), dtype).reshape(10, 2)
        index = shifted(RNG.integers(0, 70_000, (10, 1)).astype("i4"), 2)
        same(lambda m, a=x, b=src, i=index: gs.scatter_nd(m(shifted(a, 1)), m(i), m(shifted(b, 3))))


def test_masks():
    x, mask = numbers(70, np.dtype("f8")), RNG.random(70) < 0.5
    same(lambda m: gs.compress(m(shifted(mask, 3)), m(shifted(x, 1))))


# ---- tables


def moved(array, by):
    """A copy of the column with every buffer `by` bytes after an address that is a multiple of 64."""
    buffers = [
        None if one is None else pa.py_buffer(shifted(np.frombuffer(one, np.uint8), by)) for one in array.buffers()
    ]
    return rebuilt(array.type, array, buffers)


def rebuilt(kind, array, buffers):
    own, count = [], kind.num_buffers
    own, rest = buffers[:count], buffers[count:]
    children = []
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            child = array.field(i)
            used = len(child.buffers())
            children.append(rebuilt(child.type, child, rest[:used]))
            rest = rest[used:]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        children.append(rebuilt(array.values.type, array.values, rest))
    return pa.Array.from_buffers(kind, len(array), own, array.null_count, array.offset, children)


def batch(rows, by):
    words = ["", "a", "é", "a text of some more characters than that"]
    text = [None if i == 4 else words[i] for i in RNG.integers(0, 5, rows)]
    lists = [[int(v)] * int(v) for v in RNG.integers(0, 4, rows)]
    plain = {
        "i1": pa.array(RNG.integers(0, 9, rows), pa.int8()),
        "i2": pa.array(RNG.integers(0, 9, rows), pa.int16()),
        "f4": pa.array(RNG.random(rows), pa.float32()),
        "i8": pa.array([None if v == 3 else int(v) for v in RNG.integers(0, 9, rows)]),
        "decimal": pa.array([int(v) for v in RNG.integers(0, 9, rows)], pa.decimal128(20, 0)),
        "b3": pa.array([b"%03d" % v for v in RNG.integers(0, 999, rows)], pa.binary(3)),
        "b12": pa.array([b"%012d" % v for v in RNG.integers(0, 999, rows)], pa.binary(12)),
        "b40": pa.array([b"%040d" % v for v in RNG.integers(0, 999, rows)], pa.binary(40)),
        "flag": pa.array(RNG.random(rows) < 0.5),
        "text": pa.array(text),
        "large": pa.array(text, pa.large_string()),
        "list": pa.array(lists, pa.list_(pa.int32())),
        "large_list": pa.array(lists, pa.large_list(pa.int64())),
        "pair": pa.array([[v, v + 1] for v in range(rows)], pa.list_(pa.int32(), 2)),
        "record": pa.array([{"a": v, "b": t} for v, t in enumerate(text)]),
    }
    return pa.record_batch({name: moved(column, by) for name, column in plain.items()})


@pytest.mark.parametrize("by", [1, 2, 4, 8, 12])
def test_tables(by):
    target, source, rows = batch(70, by), batch(70, by + 1), RNG.integers(-70, 70, 70)
    mask = moved(pa.array([None, True, False, True, False] * 14), by)
    calls = [lambda m, kind=kind: gs.table.gather(m(target), m(moved(pa.array(rows % 70, kind), by))) for kind in KINDS]
    calls += [
        lambda m: gs.table.gather(m(target), shifted(rows, by)),
        lambda m: gs.table.gather(m(target), [1, None, 99], "nullify"),
        lambda m: gs.table.scatter(m(source), shifted(rows, by), m(target)),
        lambda m: gs.table.filter(m(target), m(mask)),
        lambda m: gs.table.boolean_mask_scatter(m(source), m(target), m(mask)),
        lambda m: gs.table.copy_if_else(m(target), m(source), m(mask)),
    ]
    for call in calls:
        found, wanted = on_host(call(OnGpu)), call(lambda given: given)
        assert found.to_pylist() == wanted.to_pylist()


KINDS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
