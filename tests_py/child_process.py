"""Runs Python code in a child process: for what ends, forks, limits or may crash the interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Put before the code of every child that measures its own memory.
MEMORY = """
import gc

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))

def peak_growth(call):
    # Bytes by which resident memory grew at most while `call` ran, and its result.
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the high-water mark
    before = status("VmRSS")
    result = call()
    return status("VmHWM") - before, result
"""


def settings(changes):
    """The environment as it is (None), or without any setting of ours but `changes`."""
    if changes is None:
        return dict(os.environ)
    return {name: value for name, value in os.environ.items() if not name.startswith("GS_")} | changes


def start(code, *, env=None, options=(), timeout=120):
    """Runs `code` and returns the finished process, whatever its end."""
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env=settings(env),
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def run(code, *, env=None, options=(), timeout=120):
    """Runs `code`, which has to end well and say nothing on stderr; returns what it printed."""
    done = start(code, env=env, options=options, timeout=timeout)
    assert done.returncode == 0, f"the child ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert done.stderr == "", f"the child wrote to stderr:\n{done.stderr}"
    return done.stdout


def run_json(code, **kwargs):
    """The last line that the child printed, read as JSON."""
    return json.loads(run(code, **kwargs).splitlines()[-1])
