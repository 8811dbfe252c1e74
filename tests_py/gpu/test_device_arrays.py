"""test_device_arrays.py: every operator on arrays of the emulated GPU, compared with its results on the host."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gatherscatter as gs
from device_calls import BAD_CALLS, BAD_WRITES, CALLS, ROWS, X
from fake_cuda import LIBRARIES, host_of, played_gpu

pytestmark = pytest.mark.long

TYPES_OF_RESULTS = {"dlpack": "DLPackArray", "interface": "DLPackArray", "cupy": "FakeCupyArray"} | {
    "namespace": "Namespaced"
}


@pytest.fixture(autouse=True)
def gpu():
    with played_gpu() as module:
        yield module


# These operators read the shape of an array.
NEED_SHAPES = ("tile_", "cutile")
libraries = pytest.mark.parametrize("library", LIBRARIES)


def pairs(calls):
    """The pairs of calls and libraries that are supported."""
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


def test_a_pickled_plan_keeps_its_device():
    there, rows = LIBRARIES["cupy"](X), LIBRARIES["cupy"](ROWS)
    plan, on_host = gs.plan(gs.take, there, rows, axis=0), gs.plan(gs.take, X, ROWS, axis=0)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert again.to_dict() == plan.to_dict()
    assert again.to_dict()["backend"] != on_host.to_dict()["backend"]
    assert pickle.loads(pickle.dumps(on_host)) == on_host != plan
    assert np.array_equal(host_of(again(there, rows)), X[ROWS])


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


@libraries
def test_values_that_are_cut_or_reshaped(library):
    make = LIBRARIES[library]
    target = make(np.array(1, "f4"))
    gs.put(target, 0, make(np.array([7, 8, 9], "f4")))
    assert target.host == 7
    gs.putmask(target, make(np.array(True)), make(np.array([5, 6], "f4")))
    assert target.host == 5


def test_values_lose_leading_axes_of_one():
    target = LIBRARIES["interface"](X.copy())
    index = np.array([[0], [1], [0], [2], [3], [4]])
    gs.put_along_axis(target, index, LIBRARIES["interface"](np.ones((1, 1, 6, 1), np.float32)), 1)
    expected = X.copy()
    np.put_along_axis(expected, index, 1, 1)
    assert target.host.tolist() == expected.tolist()


def test_a_fill_value_that_does_not_say_its_rank():
    make = LIBRARIES["interface"]
    result = gs.gather(make(X), [0, 9], axis=0, bounds="fill", fill_value=make(np.array(3, "f4")))
    assert host_of(result).tolist() == [X[0].tolist(), [3.0] * 5]
    with pytest.raises(ValueError, match="does not fit dtype"):
        gs.gather(make(X), [0, 9], axis=0, bounds="fill", fill_value=LIBRARIES["dlpack"](np.array(3, "f4")))


@pytest.mark.parametrize("dtype", ["u1", "i2", "V3", "f4", "f8"])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("rows", [1, 5])
def test_padding_of_units_of_several_items(dtype, count, rows):
    x = np.arange(1, 2 * count * np.dtype(dtype).itemsize + 1, dtype=np.uint8).view(dtype).reshape(2, count)
    fill = np.frombuffer(b"\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8"[: x.itemsize], dtype)[0]
    index, mask = np.arange(rows) % 2, np.arange(rows) % 2 == 1
    make = LIBRARIES["cupy"]
    result = gs.gather(make(x), make(index), axis=0, mask=make(mask), fill_value=fill)
    expected = x[index]
    expected[~mask] = fill
    assert host_of(result).tobytes() == expected.tobytes()
