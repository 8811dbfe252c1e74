"""test_packaging.py: the files that an installed package must contain, and imports that it must not need."""

import ast
import importlib.metadata
import inspect
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_version_is_the_same_everywhere():
    declared = re.search(r'^version = "(.*)"$', PYPROJECT, re.MULTILINE)[1]
    assert gs.__version__ == importlib.metadata.version("gatherscatter") == declared


def test_the_distribution_for_gpus_has_the_same_version():
    """gatherscatter-cuda shares C++ interfaces with gatherscatter, so it must ask for exactly this version."""
    other = (ROOT / "packages" / "cuda" / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{gs.__version__}"\n' in other
    assert f'\ndependencies = ["gatherscatter=={gs.__version__}"]\n' in other
    for key in ("requires", "requires-python", "build-backend", "minimum-version", "cmake.version"):
        line = re.search(rf"^{re.escape(key)} = .*$", PYPROJECT, re.MULTILINE)[0]
        assert line in other.splitlines(), key


def test_gs_cuda_is_a_variable_of_the_environment():
    """As docs/packages.md says: GS_CUDA=ON pip install . builds the module for GPUs."""
    assert '\nGS_CUDA = {env = "GS_CUDA", default = "AUTO"}\n' in PYPROJECT


@pytest.mark.skipif(not (ROOT / "cmake").exists(), reason="tests run outside the repository: no cmake/ here")
def test_a_core_of_another_version_is_not_linked(tmp_path):
    beside_python = Path(sys.executable).with_name("cmake")
    cmake = str(beside_python) if beside_python.exists() else shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed")

    def check():
        script = str(ROOT / "cmake" / "core_version.cmake")
        words = [cmake, f"-DGS_CORE={tmp_path}", "-DGS_VERSION=1.2.3", "-P", script]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, " ".join(done.stderr.split())

    status, text = check()
    assert status and "is no build folder" in text
    (tmp_path / "gs_layers.cmake").touch()
    status, text = check()
    assert status and "was built of an unknown version, and these sources are 1.2.3" in text
    (tmp_path / "gs_version.txt").write_text("1.2.2")
    status, text = check()
    assert status and "was built of 1.2.2, and these sources are 1.2.3" in text
    (tmp_path / "gs_version.txt").write_text("1.2.3")
    assert check() == (0, "")


def test_core_links_only_the_system():
    libraries = subprocess.run(["ldd", _core.__file__], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in libraries
    assert not re.search(r"libcuda|libcudart|libgomp|libomp|libtbb|libpython|not found", libraries)


def test_everything_public_exists_and_is_documented():
    assert len(gs.__all__) == len(set(gs.__all__))
    for name in gs.__all__:
        thing = getattr(gs, name)
        if inspect.isroutine(thing) or inspect.isclass(thing):
            assert inspect.getdoc(thing), name


def test_no_public_function_hides_a_module():
    """`gatherscatter.gather` is a function, so a module of that name could not be reached as an attribute."""
    folder = Path(gs.__file__).parent
    functions = [name for name in gs.__all__ if not inspect.ismodule(getattr(gs, name))]
    assert {"gather", "scatter", "plan"} <= {*functions}
    assert not [name for name in functions if (folder / f"{name}.py").exists() or (folder / name).is_dir()]


def test_public_objects_name_a_public_module():
    """Pickles name the module of a function or class, so it must not change when files move."""
    for name in gs.__all__:
        thing = getattr(gs, name)
        if inspect.ismodule(thing) or name == "__version__":
            continue
        assert thing.__module__ == ("gatherscatter.errors" if name == "OutOfBoundsError" else "gatherscatter"), name
        assert pickle.loads(pickle.dumps(thing)) is thing, name


def test_plans_name_a_public_module_in_pickles():
    plan = gs.plan(gs.take, np.arange(3.0), np.array([2, 0]))
    stored = pickle.dumps(plan, protocol=0)
    assert b"cgatherscatter\nPlan\n" in stored
    earlier = stored.replace(b"cgatherscatter\nPlan\n", b"cgatherscatter.plan\nPlan\n")  # of earlier versions
    assert pickle.loads(stored) == pickle.loads(earlier) == plan


# What the modules of the package may import, by folder; errors.py and the extension module are open to all. Circles and
# computed imports are reported by .ci/check_structure.
LAYERS = {
    "_libraries": {"_version"},
    "_values": {"_libraries"},
    "_ops": {"_libraries", "_values", "_settings"},
    "_numpy": {"_libraries", "_values", "_ops"},
    "_settings": {"_libraries", "_values", "_version"},
    "_table": {"_libraries", "_ops", "_settings"},
    "table": {"_table", "_ops"},
    "cuda": {"_libraries"},
    "_moves": set(),
    "_torch": {"_libraries", "_moves", "_values", "_ops", "_numpy", "_settings"},
    "_xla": {"_libraries", "_moves", "_jax"},
    "jax": {"_libraries", "_values", "_ops", "_numpy", "_xla"},
    "_dask": {"_libraries", "_moves", "_values", "_ops", "_numpy", "_settings", "_table", "table"},
    "compat": {"_libraries", "_values", "_ops", "_settings", "_table"},
    "errors": set(),
}


def test_modules_import_lower_layers_only():
    folder = Path(gs.__file__).parent
    seen = set()
    for path in folder.rglob("*.py"):
        layer = path.relative_to(folder).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if layer in LAYERS and isinstance(node, ast.ImportFrom) and node.module.startswith("gatherscatter"):
                names = [node.module] if "." in node.module else [f"gatherscatter.{each.name}" for each in node.names]
                above = {name.split(".")[1] for name in names} - LAYERS[layer] - {layer, "errors", "_core"}
                assert not above, f"{path.relative_to(folder)}:{node.lineno} imports {above}"
                seen.add(layer)
    assert seen == {*LAYERS} - {"errors"}


def test_operators_have_a_runnable_example():
    for name in ("gather", "tile_gather", "take", "take_along_axis", "plan", "explain"):
        assert ">>>" in inspect.getdoc(getattr(gs, name)), name


def test_a_star_import_keeps_what_python_and_others_call_so():
    names = {}
    exec("from gatherscatter import *", names)
    assert not {"open", "dask", "jax", "torch"} & set(names)
    assert gs.open.__module__ == "gatherscatter" and all(map(inspect.ismodule, (gs.dask, gs.jax, gs.torch)))
