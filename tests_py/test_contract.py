"""test_contract.py: every operator under one contract, whatever the memory looks like.

The default is a sample in which every pair of factor values meets; `--full-contract` runs the product of the factors
that kernels are chosen by. GS_BACKEND and GS_CPU choose who runs it; `--every-backend` runs all, one child each.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gatherscatter as gs
from contract import ABOVE_THRESHOLDS, DEGENERATE, FACTORS, OPERATORS, allows, build
from contract_run import cases, check, name_of, who_ran

HERE = Path(__file__).parent
BACKENDS = {
    "reference": {"GS_BACKEND": "reference"},
    "baseline": {"GS_BACKEND": "cpu", "GS_CPU": "baseline"},
    "v3": {"GS_BACKEND": "cpu", "GS_CPU": "v3"},
    "v4": {"GS_BACKEND": "cpu", "GS_CPU": "v4"},
    # every table is far away, every large result bypasses the caches, and no memory is recycled
    "small_caches": {"GS_BACKEND": "cpu", "GS_L2_BYTES": "4096", "GS_LLC_BYTES": "65536", "GS_POOL": "0"},
}
ISA_LEVELS = ("baseline", "v3", "v4")


@pytest.mark.parametrize("case", cases(), ids=name_of)
def test_contract(case):
    check(case)


def test_no_case_is_missing():
    assert len(cases()) >= len(FACTORS["dtype"]) * len(FACTORS["size"])
    assert {case["operator"] for case in cases()} == set(OPERATORS)


def test_enough_cases_end_in_errors_and_enough_do_not():
    """A contract whose cases all fail, or none, would prove little."""
    errors = sum(case["bounds"] in ("raise", "deferred") and case["values"] in ("edge", "one_bad") for case in cases())
    assert 0.1 < errors / len(cases()) < 0.5


# ---- who ran


def test_the_environment_decides_who_runs():
    wanted = {"backend": os.environ.get("GS_BACKEND", "cpu"), "isa": os.environ.get("GS_CPU")}
    found = who_ran()
    assert found["backend"] == wanted["backend"]
    assert found["isa"] in ((wanted["isa"],) if wanted["isa"] else ISA_LEVELS)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_largest_size_is_above_every_threshold(operator):
    """So that the large cases of the contract do run on several threads, with every kernel."""
    case = dict(zip(FACTORS, (values[0] for values in FACTORS.values()), strict=True))
    case |= {
        "operator": operator,
        "size": ABOVE_THRESHOLDS,
        "dtype": "float64",
        "bounds": "raise",
        "negative": "from_end",
    }
    if operator == "tile_gather":
        case["negative"] = "out_of_bounds"
    p = build(case)
    arguments = {
        "gather_dim": (gs.gather, p.source, p.axis, p.indices[0]),
        "gather_axis": (gs.gather, p.source, p.indices[0], p.axis),
        "tile_gather": (gs.tile_gather, p.source, tuple(p.indices)),
        "take": (gs.take, p.source, p.indices[0], p.axis),
        "take_along_axis": (gs.take_along_axis, p.source, p.indices[0], p.axis),
    }[operator]
    with gs.thread_limit(3):
        threads = gs.explain(*arguments).to_dict()["threads"]
    assert threads == (1 if who_ran()["backend"] == "reference" else 3)


def child_environment(backend: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GS_")}
    return {**kept, **BACKENDS[backend]}


def skip_if_this_cpu_lacks(backend: str) -> None:
    """A level that the CPU does not have is refused at import, by name."""
    attempt = [sys.executable, "-c", "import gatherscatter"]
    tried = subprocess.run(attempt, env=child_environment(backend), capture_output=True, text=True, timeout=120)
    if tried.returncode:
        assert "ImportError" in tried.stderr and "GS_CPU" in tried.stderr, tried.stderr
        pytest.skip(f"this CPU has no {backend}")


def sample_on(backend: str, step: int) -> dict[str, object]:
    command = [sys.executable, str(HERE / "contract_run.py"), str(step)]
    done = subprocess.run(command, env=child_environment(backend), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answer_of_the_reference() -> dict[str, object]:
    return sample_on("reference", 4)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "reference"])
def test_every_backend_gives_the_same_bytes(backend, answer_of_the_reference):
    skip_if_this_cpu_lacks(backend)
    answer = sample_on(backend, 4)
    assert answer["backend"] == "cpu" and answer["isa"] in ((backend,) if backend in ISA_LEVELS else ISA_LEVELS)
    assert answer_of_the_reference["backend"] == "reference"
    assert answer["cases"] == answer_of_the_reference["cases"] > 100
    assert answer["digest"] == answer_of_the_reference["digest"]


@pytest.mark.every_backend
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backend", BACKENDS)
def test_contract_on_every_backend(backend, request):
    skip_if_this_cpu_lacks(backend)
    tests = ["test_contract", "test_the_environment_decides_who_runs", "test_contract_product"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", *(f"{HERE / 'test_contract.py'}::{test}" for test in tests)]
    if request.config.getoption("full_contract"):
        command.append("--full-contract")
    done = subprocess.run(command, env=child_environment(backend), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]


# ---- the product

ONE_PER_ITEM_SIZE = ["V0", "int8", "float16", "V7", "float32", "float64", "record", "complex128", "clongdouble"]
TURNING = ["geometry", "index_layout", "values", "mask", "fill", "out", "library"]  # do not multiply, but take turns


def product(operator: str, dtype: str, layout: str):
    """The product of what kernels depend on. The other factors take turns with periods that have no common divisor."""
    turns = {name: itertools.cycle(FACTORS[name] + FACTORS[name][:1] * k) for k, name in enumerate(TURNING)}
    small = [n for n in FACTORS["size"] if n != ABOVE_THRESHOLDS]
    for index_type, bounds, negative in itertools.product(
        FACTORS["index_type"], FACTORS["bounds"], FACTORS["negative"]
    ):
        large = [ABOVE_THRESHOLDS] if index_type == "int64" and negative == FACTORS["negative"][-1] else []
        for size in small + large:
            case = {
                "operator": operator,
                "dtype": dtype,
                "layout": layout,
                "index_type": index_type,
                "bounds": bounds,
                "negative": negative,
                "size": size,
            }
            if not allows(case):
                continue
            for name, turn in turns.items():
                case[name] = next(value for value in turn if allows({**case, name: value}))
            if case["geometry"] in DEGENERATE and size > 17:
                case["geometry"] = "flat"
            yield {name: case[name] for name in FACTORS}


@pytest.mark.full_contract
@pytest.mark.parametrize("layout", FACTORS["layout"])
@pytest.mark.parametrize("dtype", ONE_PER_ITEM_SIZE)
@pytest.mark.parametrize("operator", FACTORS["operator"])
def test_contract_product(operator, dtype, layout):
    count = 0
    for case in product(operator, dtype, layout):
        count += 1
        try:
            check(case, loops_up_to=100)  # the second oracle is much faster, and checked against the loops
        except BaseException as error:
            error.add_note(f"case: {case}")
            raise
    assert count > 300


@pytest.mark.full_contract
@pytest.mark.parametrize("dtype", FACTORS["dtype"])
@pytest.mark.parametrize("operator", FACTORS["operator"])
def test_contract_every_dtype(operator, dtype):
    count = 0
    for layout in FACTORS["layout"]:
        for case in itertools.islice(product(operator, dtype, layout), 0, None, 61):
            count += 1
            check(case, loops_up_to=100)
    assert count == 0 or count > 30
