"""child_process.py: runs Python code in a child process, for tests that exit, fork, set limits or may crash."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# This code precedes that of every child that measures its own memory.
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


# Calls of every kind, half of which fail. This code precedes that of a child that repeats them.
MIXED = """
import json, pickle, numpy as np, gatherscatter as gs

x, i = np.arange(600.0).reshape(20, 30), np.array([[3, -1], [0, 19]])
out, large = np.zeros((2, 2, 30)), np.arange(1 << 16)
strange = np.zeros(4, [("a", "i4"), ("b", "S3")])

def fails(operator, *arguments, **keywords):
    try:
        operator(*arguments, **keywords)
    except Exception as error:
        return str(error)
    raise AssertionError("no error")

plan = gs.plan(gs.take, x, i, axis=0)
calls = [
    lambda: gs.take(x, i, axis=0),
    lambda: gs.take(x, 5),
    lambda: gs.take(x, [1, 2, 3], axis=1, mode="clip"),
    lambda: gs.take(x, i, axis=0, out=out),
    lambda: gs.gather(x, 1, i),
    lambda: gs.gather(x, i, axis=0, mask=i > 0, fill_value=1.5),
    lambda: gs.gather(x, i, axis=0, bounds="fill", fill_value=np.float64(3)),
    lambda: gs.take_along_axis(x, i[:1], axis=1),
    lambda: gs.tile_gather(x, (i, [5, 99]), padding_value=-1.0),
    lambda: gs.take(strange, [3, 0]),
    lambda: plan(x, i),
    lambda: fails(gs.take, x, [99]  + [0] * 9, axis=0),
    lambda: fails(gs.take, x, i, axis=7),
    lambda: fails(gs.take, x, i, axis="0"),
    lambda: fails(gs.take, x, i + 0.5),
    lambda: fails(gs.take, x, "a"),
    lambda: fails(gs.take, x, None),
    lambda: fails(gs.take, x, i, mode="sideways"),
    lambda: fails(gs.take, x, i, axis=0, out=out[:1]),
    lambda: fails(gs.take, x, i, axis=0, out=out.astype(int)),
    lambda: fails(gs.gather, x, 1, i[:, :, None]),
    lambda: fails(gs.gather, x, i, axis=0, mask=[1, 2]),
    lambda: fails(gs.gather, x, i, axis=0, bounds="fill", fill_value="no number"),
    lambda: fails(gs.gather, x.astype(object), i, axis=0),
    lambda: fails(gs.tile_gather, x, (i,)),
    lambda: fails(plan, x, i[0]),
    lambda: fails(gs.plan, gs.take, x, i + 0.5),
    lambda: gs.plan(gs.take, x, i, axis=0).to_dict(),
    lambda: pickle.loads(pickle.dumps(plan)),
    lambda: repr(gs.explain(gs.gather, x, 1, i)),
]
rare = [lambda: gs.take(large, large), lambda: fails(gs.take, large, large + 1), gs.trim]
"""


def settings(changes):
    """The environment: unchanged for None, else without settings of gatherscatter except `changes`."""
    if changes is None:
        return dict(os.environ)
    return {name: value for name, value in os.environ.items() if not name.startswith("GS_")} | changes


def start(code, *, env=None, options=(), timeout=240):
    """Run `code` and return the finished process, also if it failed."""
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env=settings(env),
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def run(code, *, env=None, options=(), timeout=240):
    """Run `code`, which must exit with status 0 and write nothing to stderr; return what it printed."""
    done = start(code, env=env, options=options, timeout=timeout)
    assert done.returncode == 0, f"the child ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    errors = re.sub(r"==\d+==WARNING: AddressSanitizer failed to allocate .*\n", "", done.stderr)  # MemoryError follows
    assert errors == "", f"the child wrote to stderr:\n{errors}"
    return done.stdout


def run_json(code, **kwargs):
    """The last line that the child printed, parsed as JSON."""
    return json.loads(run(code, **kwargs).splitlines()[-1])
