"""test_packaging.py: the files that an installed package must contain, and imports that it must not need."""

import importlib.metadata
import inspect
import re
import subprocess
from pathlib import Path

import gatherscatter as gs
from gatherscatter import _core

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_version_is_the_same_everywhere():
    declared = re.search(r'^version = "(.*)"$', PYPROJECT, re.MULTILINE)[1]
    assert gs.__version__ == importlib.metadata.version("gatherscatter") == declared


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


def test_operators_have_a_runnable_example():
    for name in ("gather", "tile_gather", "take", "take_along_axis", "plan", "explain"):
        assert ">>>" in inspect.getdoc(getattr(gs, name)), name
