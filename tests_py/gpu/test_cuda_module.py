"""test_cuda_module.py: the CUDA module without a driver: it is imported only when needed, and its errors are clear."""

import importlib.util
import json
import re
import subprocess

import numpy as np
import pytest

import child_process
import gatherscatter as gs
from fake_cuda import LIBRARIES, played_gpu

NAMES = ("gatherscatter._cuda", "gatherscatter_cuda._cuda")
BUILT = any(importlib.util.find_spec(name.partition(".")[0]) and importlib.util.find_spec(name) for name in NAMES)
needs_module = pytest.mark.skipif(not BUILT, reason="built without CUDA (there was no GPU or no nvcc, or GS_CUDA=OFF)")


def facts():
    return gs.show_config()["cuda"]


def the_module():
    return importlib.import_module(facts()["module"])


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
print(json.dumps(["gatherscatter._cuda" in sys.modules, "gatherscatter_cuda" in sys.modules, "libcuda" in maps]))
"""
    assert child_process.run_json(code) == [False, False, False]


def test_show_config_says_what_was_built():
    cuda = facts()
    json.dumps(cuda)
    assert cuda["built"] is BUILT
    if BUILT:
        assert cuda["module"] in NAMES
    else:
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


FAKES = """
import importlib.abc, importlib.machinery, json, sys
import gatherscatter as gs

class Fakes(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in versions or any(known.startswith(name + ".") for known in versions):
            return importlib.machinery.ModuleSpec(name, self, is_package="." not in name)
        if name in ("gatherscatter._cuda", "gatherscatter_cuda"):
            raise ModuleNotFoundError(name=name)

    def exec_module(self, module):
        module.version = versions.get(module.__name__)
        module.facts = lambda: {"reason": "no GPU: this is a fake", "devices": []}
        module.trim = lambda: 5

sys.meta_path.insert(0, Fakes())
print(json.dumps([gs.show_config()["cuda"], gs.cuda.why_not(), gs.trim() >= 5]))
"""


@pytest.mark.parametrize("installed", [NAMES, NAMES[:1], NAMES[1:]], ids=["both", "own", "other"])
def test_the_module_of_the_package_is_found_first(installed):
    versions = {name: gs.__version__ for name in installed}
    cuda, why_not, trimmed = child_process.run_json(f"versions = {versions}{FAKES}")
    assert cuda["built"] and cuda["module"] == installed[0]
    assert why_not == "no GPU: this is a fake"
    assert trimmed


@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_another_version_is_refused(name):
    cuda, why_not, _ = child_process.run_json(f"versions = {{{name!r}: '0.0.9'}}{FAKES}")
    expected = f"{name} is of version 0.0.9 and gatherscatter of {gs.__version__}; install both in one version"
    assert cuda == {"built": False, "reason": f"the CUDA module cannot be loaded: {expected}"}
    assert why_not == expected


def test_without_any_module_the_reason_says_what_to_install():
    cuda, why_not, _ = child_process.run_json(f"versions = {{}}{FAKES}")
    assert not cuda["built"] and why_not == cuda["reason"]
    assert "GS_CUDA=ON" in why_not and "gatherscatter-cuda" in why_not


@needs_module
def test_the_module_links_only_the_system():
    _cuda = the_module()
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
    _cuda = the_module()
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
    code = f"""
import importlib, json
from gatherscatter import _core
_core.offer_devices(importlib.import_module({facts()["module"]!r}).devices)
try:
    _core.offer_devices(object())
except TypeError:
    print(json.dumps("refused"))
"""
    assert child_process.run_json(code) == "refused"


@needs_module
def test_memory_belongs_to_the_module_that_allocated_it():
    the_module()  # offered again when the emulated GPU is left
    with played_gpu() as module:
        rows = gs.take(LIBRARIES["interface"](np.arange(6.0)), [2, 0])
        assert module.take_record()["live"] == 1
    rows.__dlpack__(stream=0x77)  # which waits for the stream of the call
    assert [(order[0], order[-1]) for order in module.take_record()["orders"]] == [("go_before", 0x77)]
    del rows
    assert module.take_record()["live"] == 0


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
