"""test_progress_bar.py: the bar of gs.progress() without a callback, in notebooks, in terminals and in files."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import types

import numpy as np
import pytest

import gatherscatter as gs
from child_process import run
from gatherscatter import _core


@pytest.fixture
def data():
    """A call that reports as soon as it is asked."""
    before = _core.progress_silence()
    _core.set_progress_silence(0)
    n = 1 << 24
    yield np.zeros(n, np.float32), np.random.default_rng(0).integers(0, n, 4 * n, np.int32)
    _core.set_progress_silence(before)


BAR = """
import numpy as np, gatherscatter as gs
gs._core.set_progress_silence(0)
x, i = np.zeros(1 << 24, np.float32), np.random.default_rng(0).integers(0, 1 << 24, 4 << 24, np.int32)
with gs.thread_limit(1), gs.progress():
    gs.take(x, i)
    gs.take(x, [1])
print("done")
"""


def test_a_bar_in_a_notebook(data, monkeypatch):
    """A stand-in for the bar that tqdm.auto gives in a notebook: it is drawn although stderr is no terminal."""
    bars = []

    class NotebookBar:
        def __init__(self, **options):
            self.n, self.options, self.is_open = 0, options, True
            bars.append(self)

        def update(self, more):
            assert self.is_open and more >= 0
            self.n += more

        def close(self):
            self.is_open = False

    NotebookBar.__module__ = "tqdm.notebook"
    auto = type("AutoBar", (NotebookBar,), {"__module__": "tqdm.auto"})
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=auto))
    with gs.thread_limit(1), gs.progress():
        gs.take(*data)
        gs.take(*data)
    assert [(bar.n, bar.is_open) for bar in bars] == [(1000, False)] * 2
    assert all(bar.options["disable"] is False and bar.options["total"] == 1000 for bar in bars)


def test_the_bar_of_tqdm_in_a_notebook_is_told_from_that_of_a_terminal(monkeypatch):
    """By the classes of tqdm itself, as tqdm.auto composes them."""
    pytest.importorskip("tqdm")
    from tqdm.asyncio import tqdm_asyncio
    from tqdm.notebook import tqdm_notebook

    composed = type("tqdm", (tqdm_notebook, tqdm_asyncio), {})
    for bar, disable in ((composed, False), (tqdm_notebook, False), (tqdm_asyncio, None)):
        monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=bar))
        assert gs.progress()._value.disable is disable


IN_A_KERNEL = """
import sys, types, warnings
warnings.simplefilter("error")

class Shell:
    __module__ = "ipykernel.zmqshell"

sys.modules["ipykernel.zmqshell"] = types.ModuleType("ipykernel.zmqshell")
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: %s
sys.modules["ipywidgets"] = None
"""


def test_a_bar_in_a_notebook_without_widgets_is_text():
    """tqdm itself, in a process that looks to it like the kernel of a notebook; its stderr is no terminal."""
    pytest.importorskip("tqdm")
    child = subprocess.run(
        [sys.executable, "-c", IN_A_KERNEL % "Shell()" + BAR.replace("24", "22")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout == "done\n" and "Warning" not in child.stderr
    assert re.search(r"100%\|.*\| \d\d:\d\d<", child.stderr)


def test_no_bar_where_a_kernel_is_only_installed():
    pytest.importorskip("tqdm")
    assert run(IN_A_KERNEL % "None" + BAR.replace("24", "22")) == "done\n"


def test_no_bar_without_a_terminal():
    pytest.importorskip("tqdm")
    assert run(BAR) == "done\n"  # and nothing on stderr


def test_a_bar_on_a_terminal():
    pytest.importorskip("tqdm")
    terminal, stderr = os.openpty()
    fcntl.ioctl(stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen([sys.executable, "-c", BAR], stderr=stderr, stdout=subprocess.PIPE)
    os.close(stderr)
    written = b""
    try:
        while part := os.read(terminal, 1 << 16):
            written += part
    except OSError:  # the terminal of a process that has ended
        pass
    os.close(terminal)
    assert child.communicate(timeout=60) == (b"done\n", None)
    assert child.returncode == 0
    assert b"%|" in written and b"100%" in written
