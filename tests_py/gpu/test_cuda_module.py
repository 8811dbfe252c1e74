"""test_cuda_module.py: the CUDA module without a driver: it is imported only when needed, and its errors are clear."""

import importlib.util
import json
import re
import subprocess

import pytest

import child_process
import gatherscatter as gs

BUILT = importlib.util.find_spec("gatherscatter._cuda") is not None
needs_module = pytest.mark.skipif(not BUILT, reason="built without CUDA (there was no GPU or no nvcc, or GS_CUDA=OFF)")


def facts():
    return gs.show_config()["cuda"]


def needs_no_gpu():
    if facts()["devices"]:
        pytest.skip("there is a GPU here")


# ---- the installation


def test_importing_the_package_touches_neither_module_nor_driver():
    code = """
import json, sys
import numpy as np, gatherscatter as gs
gs.take(np.arange(4.0), [1, 2])
gs.trim()
maps = open("/proc/self/maps").read()
print(json.dumps(["gatherscatter._cuda" in sys.modules, "libcuda" in maps]))
"""
    assert child_process.run_json(code) == [False, False]


def test_show_config_says_what_was_built():
    cuda = facts()
    json.dumps(cuda)
    assert cuda["built"] is BUILT
    if not BUILT:
        assert "built without CUDA" in cuda["reason"]


def test_a_module_that_cannot_be_loaded_is_a_reason_too():
    code = """
import json, sys
import gatherscatter as gs
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "gatherscatter._cuda":
            raise ImportError("wrong ELF class")
sys.modules.pop("gatherscatter._cuda", None)
sys.meta_path.insert(0, Broken())
print(json.dumps(gs.show_config()["cuda"]))
"""
    cuda = child_process.run_json(code)
    assert cuda == {"built": False, "reason": "the CUDA module cannot be loaded: wrong ELF class"}


@needs_module
def test_the_module_links_only_the_system():
    from gatherscatter import _cuda

    libraries = subprocess.run(["ldd", _cuda.__file__], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in libraries
    assert not re.search(r"libcuda|libcudart|libpython|not found", libraries)


@needs_module
def test_facts_of_the_build():
    cuda = facts()
    assert re.fullmatch(r"\d+(-real|-virtual)?(,\d+(-real|-virtual)?)*", cuda["architectures"])
    assert re.fullmatch(r"1[2-9]\.\d", cuda["runtime"])


# ---- without a GPU


@needs_module
def test_no_gpu_has_a_reason():
    needs_no_gpu()
    cuda = facts()
    assert cuda["reason"].startswith("no GPU: ")
    if cuda["driver"] is None:
        major = cuda["runtime"].split(".")[0]
        assert f"the driver is missing or too old (CUDA {major} needs" in cuda["reason"]


@needs_module
def test_nothing_was_asked_of_a_gpu_that_is_not_there():
    needs_no_gpu()
    from gatherscatter import _cuda

    assert _cuda.counts() == {"launches": 0, "waits": 0, "allocations": 0}
    assert _cuda.trim() == 0


@needs_module
def test_a_forked_child_may_ask_again():
    code = """
import json, os
import gatherscatter as gs
before = gs.show_config()["cuda"]
child = os.fork()
if child == 0:
    os._exit(0 if gs.show_config()["cuda"] == before and gs.trim() >= 0 else 1)
print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""
    assert child_process.run_json(code) == 0


@needs_module
def test_the_core_takes_the_offer_of_this_build():
    code = """
import json
from gatherscatter import _core, _cuda
_core.offer_devices(_cuda.devices)
try:
    _core.offer_devices(object())
except TypeError:
    print(json.dumps("refused"))
"""
    assert child_process.run_json(code) == "refused"


# ---- with one


@needs_module
def test_every_gpu_is_described():
    cuda = facts()
    if not cuda["devices"]:
        pytest.skip(cuda["reason"])
    assert cuda["reason"] is None
    for device in cuda["devices"]:
        assert device["name"] and device["memory_bytes"] > 0
        assert re.fullmatch(r"\d+\.\d", device["compute_capability"])
        assert device["reason"] is None or "compute capability" in device["reason"]
