"""test_device_arrays.py: every operator on arrays of a GPU that the CPU plays, against its answers on the host."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
from device_calls import BAD_CALLS, BAD_WRITES, CALLS, X
from fake_cuda import LIBRARIES, host_of, played_gpu

TYPES_OF_RESULTS = {"dlpack": "DLPackArray", "interface": "DLPackArray", "cupy": "FakeCupyArray"} | {
    "namespace": "Namespaced"
}


@pytest.fixture(autouse=True)
def gpu():
    with played_gpu() as module:
        yield module


# These ask an array for its shape, as on the host.
NEED_SHAPES = ("tile_", "cutile")
libraries = pytest.mark.parametrize("library", LIBRARIES)


def pairs(calls):
    """Calls and libraries that go together."""
    return [(n, k) for n in calls for k in LIBRARIES if k != "dlpack" or not n.startswith(NEED_SHAPES)]


@pytest.mark.parametrize(("name", "library"), pairs(CALLS))
def test_every_operator_gives_the_bytes_of_the_host(name, library):
    expected = np.asarray(CALLS[name](lambda array: array.copy()))
    result = CALLS[name](lambda array: LIBRARIES[library](array.copy()))
    if "out" not in name and isinstance(result, LIBRARIES[library]) is False:
        assert type(result).__name__ == TYPES_OF_RESULTS[library]
    found = host_of(result)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "library"), pairs(BAD_CALLS))
def test_errors_are_those_of_the_host(name, library):
    with pytest.raises(Exception) as expected:
        BAD_CALLS[name](lambda array: array.copy())
    with pytest.raises(type(expected.value)) as found:
        BAD_CALLS[name](lambda array: LIBRARIES[library](array.copy()))
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)
    assert not isinstance(expected.value, gs.OutOfBoundsError) or found.value == expected.value


@pytest.mark.parametrize(("name", "library"), pairs(BAD_WRITES))
def test_an_error_leaves_what_is_written_to_as_it_was(name, library):
    with pytest.raises(gs.OutOfBoundsError) as expected:
        BAD_WRITES[name](lambda array: array.copy(), X.copy())
    target = LIBRARIES[library](X.copy())
    with pytest.raises(gs.OutOfBoundsError) as found:
        BAD_WRITES[name](lambda array: LIBRARIES[library](array.copy()), target)
    assert found.value == expected.value
    assert target.host.tobytes() == X.tobytes()


@libraries
@pytest.mark.parametrize("name", ["gather_axis", "scatter", "compress", "put", "place", "plan", "gather_fill"])
def test_no_memory_of_the_gpu_is_lost(name, library, gpu):
    CALLS[name](lambda array: LIBRARIES[library](array.copy()))
    gs.cuda.synchronize()
    before = gpu.take_record()["live"]
    for _ in range(20):
        CALLS[name](lambda array: LIBRARIES[library](array.copy()))
    gs.cuda.synchronize()
    assert gpu.take_record()["live"] == before


@libraries
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex128"])
def test_dtypes(library, dtype):
    x = (np.arange(12) % 2).astype(dtype).reshape(4, 3)
    result = gs.gather(LIBRARIES[library](x), LIBRARIES[library](np.array([2, 0], np.uint8)), axis=0)
    assert host_of(result).dtype == x.dtype
    assert host_of(result).tobytes() == x[[2, 0]].tobytes()


@pytest.mark.parametrize("dtype", ["M8[s]", "V5", "S3", [("a", "<i4"), ("b", "<f8", (8,))]])
def test_dtypes_that_only_interfaces_have(dtype):
    x = np.frombuffer(np.arange(4 * np.dtype(dtype).itemsize, dtype=np.uint8).tobytes(), dtype)
    x = x.copy()
    result = gs.take(LIBRARIES["cupy"](x), [2, 0])
    assert host_of(result).dtype == x.dtype
    assert host_of(result).tobytes() == x[[2, 0]].tobytes()


def test_padding_of_short_rows_repeats_the_item():
    """Rows of two bytes move as one unit, the padding is an item of one."""
    x, index = np.arange(20, dtype=np.uint8).reshape(10, 2), np.arange(-3, 61)
    with played_gpu():
        result = gs.gather(FakeCupyArray(x), FakeCupyArray(index), axis=0, bounds="fill", fill_value=7)
    assert host_of(result).tolist() == gs.gather(x, index, axis=0, bounds="fill", fill_value=7).tolist()
