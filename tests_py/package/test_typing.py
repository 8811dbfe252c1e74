"""test_typing.py: type checkers see the promised types: both forms of gather keep the type of the array."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gatherscatter as gs

HERE = Path(__file__).parent
PACKAGE = Path(gs.__file__).parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE.parts:  # type checkers do not follow the import hook of an editable install
        environment["MYPYPATH"] = str(PACKAGE.parent)

    def check(path: Path) -> tuple[int, str]:
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(cache)]
        done = subprocess.run([*command, str(path)], env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    return check


def test_public_types(mypy):
    code, text = mypy(HERE / "typing_snippet.py")
    assert code == 0, text


def test_a_wrong_type_is_noticed(mypy, tmp_path):
    """Checks that the test above does not pass without checking anything."""
    wrong = tmp_path / "wrong.py"
    text = (HERE / "typing_snippet.py").read_text()
    before = "assert_type(gs.gather(x, 0, i), Floats)"
    assert before in text
    wrong.write_text(text.replace(before, "assert_type(gs.gather(x, 0, i), int)"))
    code, text = mypy(wrong)
    assert code == 1 and "assert-type" in text and text.count("error:") == 1, text


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()
