"""opinfo_samples.py: the sample inputs and error inputs of torch's own tests (OpInfo).

Run as a script, it writes them to a file: importing torch's test modules freezes flags of torch and changes settings of
hypothesis and of warnings, so it must happen in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest


def write(path: str, names: set[str], dtypes: set[str], references: bool) -> None:
    """Write {"samples": {(op, dtype): [(input, args, kwargs)]}, "errors": {op: [(input, args, kwargs, regex)]}}."""
    torch = pytest.importorskip("torch")
    op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

    samples: dict[tuple[str, str], list[Any]] = {}
    errors: dict[str, list[Any]] = {}
    for op in op_db:
        if op.name not in names:
            continue
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        for dtype in op.dtypes:
            word = str(dtype).removeprefix("torch.")
            if dtypes and word not in dtypes:
                continue
            torch.manual_seed(7)
            several = [*op.sample_inputs("cpu", dtype)]
            if references and op.reference_inputs_func is not None:  # otherwise they are the sample inputs
                several += op.reference_inputs("cpu", dtype)
            samples[name, word] = [
                (one.input, one.args, one.kwargs) for sample in several for one in (sample, sample.noncontiguous())
            ]
        if op.error_inputs_func is not None:
            errors[name] = [
                (error.sample_input.input, error.sample_input.args, error.sample_input.kwargs, error.error_regex)
                for error in op.error_inputs("cpu")
            ]
    torch.save({"samples": samples, "errors": errors}, path)


def read(path: Path, names: Iterable[str], dtypes: Iterable[str] = (), references: bool = True) -> dict[str, Any]:
    """The samples of these functions in these dtypes, or in all, with torch's reference inputs or without."""
    words = [str(path), ",".join(names), ",".join(dtypes), str(int(references))]
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = pytest.importorskip("torch").load(path, weights_only=True)
    return loaded


if __name__ == "__main__":
    write(sys.argv[1], set(sys.argv[2].split(",")), {*filter(None, sys.argv[3].split(","))}, sys.argv[4] == "1")
