"""test_device_torch.py: torch tensors on the emulated GPU, through torch's exchange table, with a fake torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("device_torch_run.py")
CHECKS = ["results", "layouts", "streams", "errors", "writes", "pinned"]


@pytest.mark.parametrize("check", CHECKS)
def test_on_the_emulated_gpu(check):
    sanitizer = {
        name: value for name, value in os.environ.items() if name == "LD_PRELOAD" or name.endswith("SAN_OPTIONS")
    }
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin", **sanitizer}
    done = subprocess.run([sys.executable, str(RUN), check], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
