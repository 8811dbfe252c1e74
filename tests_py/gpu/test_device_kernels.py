"""test_device_kernels.py: sizes around which device kernels work differently: parts of units, long runs of targets."""

import numpy as np
import pytest

import gatherscatter as gs
from device_libraries import LIBRARIES, in_use

RNG = np.random.default_rng(11)


@pytest.fixture(params=["cupy_emulated", "torch"])
def library(request):
    why = LIBRARIES[request.param].why_not()
    if why is None and not request.param.endswith("emulated"):
        why = gs.cuda.why_not()
    if why:
        pytest.skip(f"arrays of {request.param} on a GPU: {why}")
    with in_use(request.param) as library:
        yield library


def floats(shape):
    """Numbers of many magnitudes, so that every order of a sum gives other bytes."""
    return (RNG.standard_normal(shape) * 10.0 ** RNG.integers(-6, 6, shape)).astype(np.float32)


# ---- units are moved in parts of at most 64 words, 64 parts a turn of a warp

# Rows in bytes: words of 16, 8, 4, 2 bytes and 1 byte, in one part and in several, whose last one is shorter.
ROW_BYTES = [16, 48, 512, 1024, 1040, 16 * 131, 8, 24, 264, 520, 4, 12, 100, 132, 260, 2, 66, 134, 1, 3, 31, 33, 67]


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
@pytest.mark.parametrize("rows", [1, 31, 63, 64, 65, 700])
def test_parts_of_rows(library, row_bytes, rows):
    table = RNG.integers(0, 256, (50, row_bytes)).astype(np.uint8)
    index = RNG.integers(-50, 50, rows)
    found = gs.gather(library.there(table), library.there(index), axis=0)
    assert np.array_equal(library.back(found), table[index])

    index[::7] = 99
    found = gs.gather(library.there(table), library.there(index), axis=0, bounds="fill", fill_value=7)
    wanted = np.where((index == 99)[:, None], np.uint8(7), table[np.minimum(index, 49)])
    assert np.array_equal(library.back(found), wanted)

    source = RNG.integers(0, 256, (rows, row_bytes)).astype(np.uint8)
    wanted = table.copy()
    for i, row in zip(index, source, strict=True):
        if i != 99:
            wanted[i] = row
    found = gs.scatter(library.there(table), library.there(index), library.there(source), axis=0, bounds="drop")
    assert np.array_equal(library.back(found), wanted)


def test_the_lowest_bad_row_is_named(library):
    table, index = np.zeros((50, 1024), np.uint8), np.zeros(300, np.int64)
    index[[77, 201, 299]] = 50
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.gather(library.there(table), library.there(index), axis=0)
    assert error.value.position == (77,)


# ---- where marks need more than 32 MiB, one bit for each slot tells first whether any two points share one

MANY = 9 << 20


@pytest.mark.parametrize("shared", [0, 1, 1000])
def test_many_slots(library, shared):
    index = RNG.permutation(MANY)[:300_000]
    if shared:
        index[-shared:] = index[:shared]
    old, values = RNG.integers(0, 256, MANY).astype(np.uint8), RNG.integers(0, 256, len(index)).astype(np.uint8)
    wanted = old.copy()
    last = dict(zip(index.tolist(), values.tolist(), strict=True))
    wanted[list(last)] = list(last.values())
    found = gs.scatter(library.there(old), library.there(index), library.there(values), axis=0)
    assert np.array_equal(library.back(found), wanted)
    index[[5, 777]] = MANY
    call = (library.there(old), library.there(index), library.there(values))
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.scatter(*call, axis=0)
    assert error.value.position == (5,)
    kept = index < MANY
    found = gs.scatter(*call, axis=0, bounds="drop")
    assert np.array_equal(library.back(found), gs.scatter(old, index[kept], values[kept], axis=0))


# ---- a run of more than 64 values of one target is combined by a whole warp if the unit has fewer than 32 items

REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum}


@pytest.mark.parametrize("items", [1, 3, 31, 32, 33])
@pytest.mark.parametrize("length", [63, 64, 65, 66, 96, 97, 256, 257, 320, 321, 1000, 2500])
def test_long_runs(library, items, length):
    runs = [3, length, 1, length + 1, 64]
    index = RNG.permutation(np.repeat(np.arange(len(runs)), runs))
    values = floats((len(index), items))
    old = floats((len(runs) + 1, items))
    for reduce, operation in REDUCTIONS.items():
        if reduce == "mul":
            values = (1 + values * np.float32(1e-9)).astype(np.float32)
        for include_self in (True, False):
            wanted = old.copy()
            seen = np.full(len(old), include_self)
            for i, value in zip(index, values, strict=True):
                wanted[i] = operation(wanted[i], value) if seen[i] else value
                seen[i] = True
            found = gs.scatter(
                library.there(old),
                library.there(index),
                library.there(values),
                axis=0,
                reduce=reduce,
                include_self=include_self,
            )
            assert library.back(found).tobytes() == wanted.tobytes()


def same_as_on_the_host(library, old, index, values, reduce):
    for include_self in (True, False):
        words = {"axis": 0, "reduce": reduce, "include_self": include_self}
        found = gs.scatter(library.there(old), library.there(index), library.there(values), **words)
        assert library.back(found).tobytes() == gs.scatter(old, index, values, **words).tobytes()


ORDERED = ["float16", "int16", "int64", "float64"]


@pytest.mark.parametrize(
    ("dtype", "reduce"),
    [
        *((dtype, reduce) for dtype in ORDERED for reduce in ("add", "mean", "mul", "min")),
        *((dtype, reduce) for dtype in ("complex64", "complex128") for reduce in ("add", "mean", "mul")),
        *(("bool", reduce) for reduce in ("add", "mul", "min")),
    ],
)
def test_long_runs_of_dtypes(library, dtype, reduce):
    index = np.repeat([2, 0, 1], [500, 1, 90])
    values = RNG.integers(-99, 99, len(index)).astype(dtype)
    same_as_on_the_host(library, np.ones(4, dtype), index, values, reduce)


@pytest.mark.parametrize("reduce", ["add", "max", "mean"])
def test_nan_in_a_long_run(library, reduce):
    values = np.ones(300, np.float32)
    values[100:101].view(np.uint32)[:] = 0xFF800123
    same_as_on_the_host(library, np.ones(1, np.float32), np.zeros(300, np.int64), values, reduce)
