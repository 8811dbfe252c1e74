"""test_device_rules.py: which arrays may be combined on a GPU, how streams wait for each other, and what is copied."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import fake_cuda
import gatherscatter as gs
from fake_cuda import LIBRARIES, STREAMS, DLPackOnly, FakeCupyArray, Interface, Namespaced, host_of, played_gpu
from fake_memory import placed
from hostile_dlpack import CUDA_HOST, Export, Producer

pytestmark = pytest.mark.long

X = np.arange(12.0).reshape(4, 3)
ROWS = np.array([2, 0, -1])


@pytest.fixture(autouse=True)
def gpu():
    with played_gpu() as module:
        yield module


libraries = pytest.mark.parametrize("library", LIBRARIES)


# ---- places


# For arrays of the interface the driver reports the device, and the emulated one has only device 0.
@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "interface"])
def test_two_devices_do_not_meet(library):
    make = LIBRARIES[library]
    with pytest.raises(TypeError, match="index lies on CUDA device 1, input on CUDA device 0"):
        gs.gather(make(X), make(ROWS, 1), axis=0)
    with pytest.raises(ValueError, match="out lies on CUDA device 1, input on CUDA device 0"):
        gs.gather(make(X), make(ROWS), axis=0, out=make(np.zeros((3, 3)), 1))
    with pytest.raises(TypeError, match="mask lies on CUDA device 1"):
        gs.gather(make(X), ROWS, axis=0, mask=make(np.ones(3, bool), 1))
    assert host_of(gs.gather(make(X, 1), make(ROWS, 1), axis=0)).tolist() == X[ROWS].tolist()


@libraries
def test_host_data_does_not_meet_indices_on_a_gpu(library):
    make = LIBRARIES[library]
    with pytest.raises(TypeError, match="input lies in host memory, index on CUDA device 0"):
        gs.gather(X, make(ROWS), axis=0)
    with pytest.raises(TypeError, match="src lies in host memory"):
        gs.scatter(make(X), 0, make(np.zeros((2, 3), int)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="out lies in host memory"):
        gs.gather(make(X), make(ROWS), axis=0, out=np.zeros((3, 3)))
    with pytest.raises(TypeError, match="input lies in host memory, mask on CUDA device 0"):
        gs.gather(X, ROWS, axis=0, mask=make(np.ones(3, bool)))


@libraries
@pytest.mark.parametrize("index", [ROWS, ROWS[::-1], ROWS.astype(np.uint8) % 3, ROWS.astype(">i2"), [2, 0, -1], (2, 0)])
def test_host_indices_and_masks_are_copied_once(library, index, gpu):
    make = LIBRARIES[library]
    expected = gs.gather(X, index, axis=0)
    x = make(X)
    gpu.take_record()
    without = gs.gather(x, make(np.asarray(index, "i8")), axis=0, bounds="clip")
    writes = gpu.take_record()["writes"]
    result = gs.gather(x, index, axis=0, bounds="clip")
    assert gpu.take_record()["writes"] == writes + 1
    assert host_of(result).tolist() == host_of(without).tolist() == np.asarray(expected).tolist()


def test_pinned_input_is_read_where_it_lies(gpu):
    pinned = Producer(X, device_type=CUDA_HOST)
    with fake_cuda.installed_cupy() as cupy:
        index = FakeCupyArray(ROWS)
        result = gs.gather(pinned, index, axis=0)
        assert type(result) is FakeCupyArray and result is cupy.made[-1], "the result lies where the index lies"
        assert result.host.tolist() == X[ROWS].tolist()
    assert gs.gather(pinned, ROWS, axis=0).tolist() == X[ROWS].tolist(), "on the host it is host memory"
    with pytest.raises(TypeError, match="src lies in pinned host memory"):
        gs.scatter(DLPackOnly(X), 0, [[0, 1, 2]], Producer(X[:1], device_type=CUDA_HOST))


def test_managed_memory_is_used_on_the_host_and_on_the_gpu(gpu):
    managed = Producer(X, device_type=13)
    assert host_of(gs.gather(managed, DLPackOnly(ROWS), axis=0)).tolist() == X[ROWS].tolist()
    assert np.from_dlpack(gs.gather(managed, ROWS, axis=0)).tolist() == X[ROWS].tolist()
    assert host_of(gs.gather(DLPackOnly(X), Producer(ROWS, device_type=13), axis=0)).tolist() == X[ROWS].tolist()


def test_written_numbers_are_no_arrays_of_the_host():
    y = DLPackOnly(np.zeros(4))
    gs.put(y, [0, 1], [5, 6])
    gs.put(y, [3], 7)
    assert y.host.tolist() == [5, 6, 0, 7]
    with pytest.raises(TypeError, match="src lies in host memory"):
        gs.put(y, [0, 1], np.zeros(2))


def test_immutable_and_read_only_arrays_are_not_written_to():
    class ReadOnly(DLPackOnly):
        def __dlpack__(self, **_):
            return Export(self.host, device_type=2, flags=1).capsule

    class Frozen(Interface):
        @property
        def __cuda_array_interface__(self):
            facts = super().__cuda_array_interface__
            return facts | {"data": (facts["data"][0], True)}

    for kind in (ReadOnly, Frozen):
        target = kind(np.zeros(3))
        with pytest.raises(ValueError, match="read-only"):
            gs.put(target, [0], 1.0)
        assert host_of(gs.take(target, [0])).tolist() == [0]


def test_overlap_is_answered_as_if_copied():
    for make in LIBRARIES.values():
        x = placed(np.arange(6))
        gs.take(make(x), make(x[::-1]), out=make(x))
        assert x.tolist() == [5, 4, 3, 2, 1, 0]
        x = placed(np.arange(6))
        gs.gather(make(x), make(np.array([5, 0, 5, 1])), axis=0, out=make(x[1:5]))
        assert x.tolist() == [0, 5, 0, 5, 1, 5]
        x = placed(np.arange(6))
        gs.scatter(make(x), 0, make(np.array([5, 0, 1])), make(x[:3]), out=make(x))
        assert x.tolist() == [1, 2, 2, 3, 4, 0]


# ---- streams


def orders(gpu):
    return gpu.take_record()["orders"]


def test_the_first_library_with_a_stream_decides(gpu):
    x, index = DLPackOnly(X), FakeCupyArray(ROWS)
    gs.gather(x, index, axis=0)
    assert x.streams == [STREAMS["cupy"]], "an array without a stream is exported for that stream"
    assert orders(gpu) == []
    y = DLPackOnly(X)
    gs.gather(y, ROWS, axis=0)
    assert y.streams == [1], "else it is the default stream"


def test_other_streams_go_before_and_come_after(gpu):
    gs.gather(FakeCupyArray(X), Interface(ROWS), axis=0)
    cupy, numba = STREAMS["cupy"], STREAMS["interface"]
    assert orders(gpu) == [("wait_for", 0, cupy, numba), ("go_before", 0, cupy, numba)]
    out = Interface(np.zeros((3, 3)))
    gs.gather(FakeCupyArray(X), FakeCupyArray(ROWS), axis=0, out=out)
    assert orders(gpu) == [("wait_for", 0, cupy, numba), ("go_before", 0, cupy, numba)]


def test_the_null_stream_has_a_number(gpu):
    sys.modules["cupy"].stream = 0
    gs.gather(FakeCupyArray(X), Interface(ROWS), axis=0)
    assert orders(gpu) == [("wait_for", 0, 1, STREAMS["interface"]), ("go_before", 0, 1, STREAMS["interface"])]


def test_an_interface_without_a_stream_means_the_default_one(gpu):
    class Old(Interface):
        stream = None

    gs.gather(FakeCupyArray(X), Old(ROWS), axis=0)
    assert orders(gpu)[0] == ("wait_for", 0, STREAMS["cupy"], 1)

    class Wrong(Interface):
        stream = 0

    with pytest.raises(BufferError, match="stream 0"):
        gs.gather(FakeCupyArray(X), Wrong(ROWS), axis=0)


def test_a_result_of_ours_waits_for_its_consumer_and_the_other_way_round(gpu):
    result = gs.gather(DLPackOnly(X), ROWS, axis=0)
    orders(gpu)
    assert result.__dlpack_device__() == (2, 0)
    result.__dlpack__(stream=0x77)
    assert orders(gpu) == [("go_before", 0, 1, 0x77)]
    result.__dlpack__(stream=-1)
    result.__dlpack__(stream=1)
    result.__dlpack__()
    assert orders(gpu) == []
    with pytest.raises(BufferError, match="stream 0"):
        result.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="another device"):
        result.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="copy"):
        result.__dlpack__(copy=True)
    assert result.__cuda_array_interface__["stream"] == 1
    live = gpu.take_record()["live"]
    del result
    facts = gpu.take_record()
    assert facts["orders"] == [("wait_for", 0, 1, 0x77)], "its memory goes back after the consumer's work"
    assert facts["live"] == live - 1


def test_our_result_is_an_argument_like_any_other(gpu):
    first = gs.gather(DLPackOnly(X), ROWS, axis=0)
    again = gs.gather(first, [0, 2], axis=0)
    assert host_of(again).tolist() == X[ROWS][[0, 2]].tolist()
    picked = gs.compress(DLPackOnly(np.array([True, False, True])), first, axis=0)
    assert host_of(picked).tolist() == X[ROWS][[0, 2]].tolist()


def test_memory_without_a_stream_stays_alive_until_the_work_is_done(gpu):
    import weakref

    gpu.hold_receipts(True)
    try:
        x = DLPackOnly(X.copy())
        gone = weakref.ref(x)
        result = gs.gather(x, ROWS, axis=0, bounds="clip")
        del x
        assert gone() is not None, "else its library could reuse the memory"
        gs.gather(FakeCupyArray(X), ROWS, axis=0)
        assert gone() is not None
        gpu.hold_receipts(False)
        gs.gather(FakeCupyArray(X), ROWS, axis=0)
        assert gone() is None
        assert host_of(result).tolist() == X[ROWS].tolist()
    finally:
        gpu.hold_receipts(False)


# ---- no call waits without a reason


@libraries
@pytest.mark.parametrize("bounds", ["fill", "clip", "wrap", "unchecked", "deferred"])
@pytest.mark.parametrize("index", ["there", "host"])
def test_only_calls_that_must_wait_do(library, bounds, index, gpu):
    make = LIBRARIES[library]
    x, i, y = make(X), make(ROWS) if index == "there" else ROWS, make(X.copy())
    out = make(np.zeros((3, 3)))
    gpu.take_record()
    gs.gather(x, i, axis=0, bounds=bounds)
    gs.gather(x, i, axis=0, bounds=bounds, out=out)
    gs.take(x, i, axis=0, bounds=bounds, mask=np.array([True, False, True]))
    writing = "drop" if bounds == "fill" else bounds
    gs.scatter(y, 0, make(np.zeros((2, 3), int)), 2.0, bounds=writing)
    gs.scatter(y, 0, [[0, 1, 2]], 2.0, bounds=writing, out=y)
    gs.put(y, i, 5.0, bounds=writing)
    gs.putmask(y, make(X > 3), 2.0)
    assert gpu.take_record()["waits"] == 0


@libraries
def test_an_error_costs_one_wait(library, gpu):
    make = LIBRARIES[library]
    x, i, out = make(X), make(ROWS), make(np.zeros((3, 3)))
    gpu.take_record()
    gs.gather(x, i, axis=0)
    assert gpu.take_record()["waits"] == 1
    gs.gather(x, i, axis=0, out=out)
    assert gpu.take_record()["waits"] <= 1
    gs.put(make(X.copy()), i, 5.0)
    assert gpu.take_record()["waits"] <= 1


# ---- malformed interfaces


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ({"shape": (-1,)}, "gather: input: .* negative extent"),
        ({"shape": (2**62, 8)}, "gather: input: array is too big"),
        ({"shape": (2**70,)}, "malformed .* shape is .* 64 bits"),
        ({"shape": (1,) * 65, "strides": None}, "gather: input: .* with 65 dimensions, expected at most 64"),
        ({"shape": 6}, "malformed .* shape is 6, expected a tuple of integers"),
        ({"shape": (6.0, 5)}, "malformed .* shape has 6.0 where an integer is expected"),
        ({"shape": None}, "malformed .* shape is None"),
        ({"strides": (8,)}, "malformed .* strides have 1 axes, shape has 2"),
        ({"strides": (2**62, 2**62)}, "gather: input: array is too big"),
        ({"strides": "ab"}, "malformed .* strides"),
        ({"data": (0, False)}, "gather: input: .* without data"),
        ({"data": 7}, "malformed .* data is 7"),
        ({"data": (1,)}, "malformed .* data is"),
        ({"data": ("x", False)}, "malformed .* data has 'x'"),
        ({"data": (-8, False)}, "malformed .* data begins at -8"),
        ({"typestr": "|O"}, "dtype object"),
        ({"typestr": "nonsense"}, "malformed .* typestr is 'nonsense'"),
        ({"typestr": ","}, "malformed .* typestr is ','"),
        ({"typestr": None}, "malformed .* typestr is None"),
        ({"mask": object()}, "mask"),
        ({"stream": 0}, "ambiguous"),
        ({"stream": "s"}, "malformed .* stream has 's'"),
    ],
)
def test_interfaces_that_contradict_themselves(lie, words):
    class Liar(Interface):
        def __init__(self, host):
            super().__init__(host)
            del self.dtype

        @property
        def __cuda_array_interface__(self):
            return super().__cuda_array_interface__ | lie

    with pytest.raises((BufferError, TypeError, ValueError), match=words):
        gs.gather(Liar(X), ROWS, axis=0)


@pytest.mark.parametrize("key", ["data", "shape", "typestr"])
def test_interfaces_that_lack_something(key):
    class Lacking(Interface):
        @property
        def __cuda_array_interface__(self):
            facts = super().__cuda_array_interface__
            return {name: value for name, value in facts.items() if name != key}

    with pytest.raises(
        BufferError, match=f"gather: input has a malformed __cuda_array_interface__: the key '{key}' is missing"
    ):
        gs.gather(Lacking(X), ROWS, axis=0)


@pytest.mark.parametrize("typestr", ["<V2", "<y2"])
def test_dtypes_without_a_letter_come_from_the_array(typestr):
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)

    class Narrow(Interface):
        @property
        def __cuda_array_interface__(self):
            return super().__cuda_array_interface__ | {"typestr": typestr}

    x = X.astype(bfloat16)
    result = gs.gather(Narrow(x), ROWS, axis=0, bounds="fill", fill_value=1.5)
    assert host_of(result).tobytes() == x[ROWS].tobytes()

    class Lying(Interface):
        @property
        def __cuda_array_interface__(self):
            return super().__cuda_array_interface__ | {"typestr": "<y4"}

    with pytest.raises(BufferError, match="no dtype of NumPy"):
        gs.gather(Lying(x), ROWS, axis=0)


def test_a_producer_with_a_wrong_device_is_refused():
    class Liar(DLPackOnly):
        def __dlpack__(self, **_):
            return Export(self.host).capsule

    with pytest.raises(BufferError, match="reports a CUDA device"):
        gs.gather(Liar(X), ROWS, axis=0)

    class Other(DLPackOnly):
        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(BufferError, match="reports another device"):
        gs.gather(Other(X), ROWS, axis=0)


def test_a_legacy_producer_is_read():
    class Legacy(DLPackOnly):
        def __dlpack__(self, stream=None):
            self.streams.append(stream)
            return Export(self.host, versioned=False, device_type=2).capsule

    x = Legacy(X)
    assert host_of(gs.gather(x, ROWS, axis=0)).tolist() == X[ROWS].tolist()
    assert x.streams == [1]


# ---- no GPU


def test_without_the_module_the_error_says_so():
    code = (
        "import os, numpy as np, gatherscatter as gs, fake_cuda\n"
        "os.environ['GS_DEVICES'] = 'nothing'\n"
        "try: gs.take(fake_cuda.DLPackOnly(np.arange(3)), [0])\n"
        "except TypeError as error: print(error)\n"
        "print(gs.cuda.is_available(), gs.cuda.devices(), gs.cuda.why_not())\n"
        "gs.cuda.synchronize()\n"
    )
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said, asked = done.stdout.splitlines()
    assert said == (
        "take: an array lies on a CUDA device, and gatherscatter cannot reach it: GS_DEVICES=nothing: expected cuda or "
        "reference"
    )
    assert asked == "False () GS_DEVICES=nothing: expected cuda or reference"


def test_the_fake_memory_is_hidden_from_the_host():
    with pytest.raises(AssertionError):
        np.asarray(Namespaced(X))
    assert isinstance(ctypes.c_void_p, type)
