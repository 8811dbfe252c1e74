"""test_emulated_memory.py: memory of the emulated GPU: host code that accesses its addresses ends with SIGSEGV."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from fake_cuda import LIBRARIES, FakeCupyArray, Interface, host_of, played_gpu
from fake_memory import device_address, placed
from gatherscatter import _core
from hostile_dlpack import CUDA, Producer


@pytest.fixture(autouse=True, scope="module")
def gpu():
    with played_gpu() as module:
        yield module


CRASH = """
import ctypes
import numpy as np
import gatherscatter as gs
import fake_cuda
from fake_memory import device_address, placed

with fake_cuda.played_gpu():
    x = fake_cuda.FakeCupyArray(placed(np.arange(5.0)))
    result = gs.take(x, [1, 2], axis=0)
    assert result.host.tolist() == [1, 2]
    made = gs.take(fake_cuda.Interface(x.host), [3])
    address = {address}
    print("alive", flush=True)
    ctypes.{touch}
"""


@pytest.mark.parametrize("touch", ["string_at(address, 1)", "memset(address, 0, 1)"])
@pytest.mark.parametrize("address", ["device_address(x.host)", "made.__cuda_array_interface__['data'][0]"])
def test_host_code_that_accesses_device_memory_is_killed(address, touch):
    code = CRASH.format(address=address, touch=touch)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    died = found.returncode == -signal.SIGSEGV or "SEGV" in found.stderr  # a sanitizer prints it
    assert died and found.stdout == "alive\n", found.stderr


def test_one_memory_has_two_addresses():
    x = placed(np.arange(6)[::-2])
    assert x.tolist() == [5, 3, 1] and x.strides == (-16,)
    assert placed(x[1:]).ctypes.data == x.ctypes.data - 16, "views of it stay where they are"
    assert _core.place_of(device_address(x)) == ("device", 0)
    assert _core.place_of(x.ctypes.data) == ("managed", 0)
    assert _core.place_of(np.zeros(1).ctypes.data) == ("host", 0)
    assert device_address(np.zeros(3)[:0]) > 0


def test_emulated_memory_is_released():
    addresses = {device_address(placed(np.zeros(100_000))) // 2**20 for _ in range(50)}
    assert len(addresses) <= 2


def test_addresses_outside_of_device_memory_are_refused():
    class Wrong(Interface):
        @property
        def __cuda_array_interface__(self):
            return super().__cuda_array_interface__ | {"data": (np.zeros(9).ctypes.data, False)}

    with pytest.raises(BufferError, match="of input is not in memory of a GPU"):
        gs.take(Wrong(np.zeros(3)), [0])
    with pytest.raises(BufferError, match="does not belong to any GPU"):
        gs.take(Producer(np.zeros(3), device_type=CUDA, data=np.zeros(9).ctypes.data), [0])


# The address of `x[n:]` is the end of the allocation, where another allocation may begin.
@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
def test_an_empty_array_may_begin_where_its_allocation_ends(make):
    x = placed(np.arange(4.0))
    nothing = np.ndarray(0, x.dtype, x, x.nbytes)  # a slice made by NumPy would begin at x
    assert _core.place_of(device_address(nothing)) == ("host", 0)
    assert host_of(gs.take(make(nothing), np.array([], np.int64))).tolist() == []
    assert host_of(gs.gather(make(x), make(nothing.view("i8")), axis=0)).tolist() == []
    with pytest.raises(gs.errors.OutOfBoundsError):
        gs.take(make(nothing), [0])
    out = make(nothing)
    assert gs.take(make(x), np.array([], np.int64), out=out) is out


def test_kernels_reach_memory_of_the_host_as_well():
    x = np.arange(10.0)
    index = FakeCupyArray(np.array([3, 1]))
    result = gs.gather(Producer(placed(x), device_type=13), index, axis=0)
    assert host_of(result).tolist() == [3, 1]
