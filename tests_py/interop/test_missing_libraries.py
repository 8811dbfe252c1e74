"""test_missing_libraries.py: without torch or JAX the package works, and what needs them says what to install."""

from __future__ import annotations

import pytest

import child_process

# `None` in sys.modules is how Python itself marks a module that must not be found.
HIDDEN = "import sys; sys.modules['torch'] = sys.modules['jax'] = None\n"
NEEDS = {
    "import gatherscatter.torch": "gatherscatter.torch needs torch: pip install torch",
    "from gatherscatter.torch import Embedding": "gatherscatter.torch needs torch: pip install torch",
    "gs.jax.register()": "gatherscatter.jax needs JAX for this call: pip install jax",
}
ASKED = """
import gatherscatter as gs
for _ in range(2):  # a failed import leaves nothing half imported
    try:
        {statement}
    except ImportError as error:
        print(type(error).__name__, error.name, error)
"""


@pytest.mark.parametrize("statement", NEEDS)
def test_the_error_says_what_to_install(statement):
    lines = child_process.run(HIDDEN + ASKED.format(statement=statement)).splitlines()
    library = NEEDS[statement].rsplit(" ", 1)[1]
    assert lines == [f"ModuleNotFoundError {library} {NEEDS[statement]}"] * 2


def test_a_test_that_needs_them_is_skipped():
    """pytest skips without a warning only at this class of error."""
    code = """
import pytest
for name in ("gatherscatter.torch", "gatherscatter._xla"):
    try:
        pytest.importorskip(name)
    except pytest.skip.Exception as reason:
        print(reason)
"""
    lines = child_process.run(HIDDEN + code, options=("-W", "error")).splitlines()
    assert len(lines) == 2 and "pip install torch" in lines[0] and "pip install jax" in lines[1]


@pytest.mark.parametrize(("library", "module"), [("torch", "gatherscatter.torch"), ("jax", "gatherscatter._xla")])
def test_what_the_library_itself_lacks_is_named(library, module, tmp_path):
    (tmp_path / f"{library}.py").write_text("import a_module_that_is_not_there\n", encoding="utf-8")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
try:
    import {module}
except ModuleNotFoundError as error:
    print(error.name, error.__cause__)
"""
    assert child_process.run(code).strip() == "a_module_that_is_not_there None"


def test_everything_else_works_without_them():
    code = """
import numpy as np, gatherscatter as gs
x, i = np.arange(4.0), np.array([3, 1])
print(gs.take(x, i).tolist(), gs.jax.put_along_axis(x, i, 9.0).tolist(), gs.jax.gather is gs.gather)
"""
    assert child_process.run(HIDDEN + code).strip() == "[3.0, 1.0] [0.0, 9.0, 2.0, 9.0] True"
