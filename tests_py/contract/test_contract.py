"""test_contract.py: one contract for all reading and writing operators, for every layout of memory.

The default is a sample in which every pair of factor values occurs; `--full-contract` runs the product of the factors
that kernels depend on. GS_BACKEND and GS_CPU select the backend; `--every-backend` runs each one in a child process.
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
from contract import ABOVE_THRESHOLDS, READING
from contract_children import BACKENDS, ISA_LEVELS, child_environment, skip_if_this_cpu_lacks
from contract_run import CONTRACTS, cases, check, name_of, who_ran
from contract_shapes import DEGENERATE
from contract_write import WRITING
from reference_reduce import REDUCTIONS

HERE = Path(__file__).parent
FEW = ("putmask", "roll", "repeat")  # operators with few factors
KINDS_OF_OPERATORS = [(kind, name) for kind in CONTRACTS for name in CONTRACTS[kind].operators]


@pytest.mark.parametrize("case", cases("reading"), ids=name_of)
def test_contract(case):
    check(READING, case)


@pytest.mark.parametrize("case", cases("writing"), ids=name_of)
def test_contract_of_writing(case):
    check(WRITING, case)


@pytest.mark.parametrize("kind", CONTRACTS)
def test_no_case_is_missing(kind):
    factors = CONTRACTS[kind].factors
    assert len(cases(kind)) >= len(factors["dtype"]) * len(factors["size"])
    assert {case["operator"] for case in cases(kind)} == set(CONTRACTS[kind].operators)


@pytest.mark.parametrize("kind", CONTRACTS)
def test_enough_cases_end_in_errors_and_enough_do_not(kind):
    """A contract whose cases all raise, or none of them, would test little."""
    errors = sum(
        case["bounds"] in ("raise", "deferred") and case["values"] in ("edge", "one_bad") for case in cases(kind)
    )
    assert 0.1 < errors / len(cases(kind)) < 0.5


def test_enough_cases_reduce():
    assert sum(case["how"] in REDUCTIONS for case in cases("writing")) > 60


# ---- backend and level


def test_the_environment_selects_backend_and_level():
    wanted = {"backend": os.environ.get("GS_BACKEND", "cpu"), "isa": os.environ.get("GS_CPU")}
    found = who_ran()
    assert found["backend"] == wanted["backend"]
    assert found["isa"] in ((wanted["isa"],) if wanted["isa"] else ISA_LEVELS)


@pytest.mark.parametrize(("kind", "operator"), KINDS_OF_OPERATORS)
def test_the_largest_size_is_above_every_threshold(kind, operator):
    """The large cases of the contract must run on several threads and with every kernel."""
    factors = CONTRACTS[kind].factors
    case = dict(zip(factors, (values[0] for values in factors.values()), strict=True))
    case |= {
        "operator": operator,
        "size": ABOVE_THRESHOLDS,
        "dtype": "float64",
        "bounds": "raise",
        "negative": "from_end",
    }
    if operator.startswith("tile_"):
        case["negative"] = "out_of_bounds"
    if operator == "putmask":
        case["mask"] = "full"
    p = CONTRACTS[kind].build(case)
    arguments = {
        "gather_dim": (gs.gather, p.source, p.axis, p.indices),
        "gather_axis": (gs.gather, p.source, p.indices, p.axis),
        "gather_nd": (gs.gather_nd, p.source, p.indices),
        "tile_gather": (gs.tile_gather, p.source, tuple(p.indices)),
        "take": (gs.take, p.source, p.indices, p.axis),
        "repeat": (gs.repeat, p.source, p.indices, p.axis),
        "roll": (gs.roll, p.source, p.indices, p.axis),
        "take_along_axis": (gs.take_along_axis, p.source, p.indices, p.axis),
        "scatter": (gs.scatter, p.source, p.axis, p.indices, p.src),
        "scatter_axis": (gs.scatter, p.source, p.indices, p.src, p.axis),
        "scatter_nd": (gs.scatter_nd, p.source, p.indices, p.src),
        "plan_scatter": (gs.gather, p.source, p.indices, p.axis),
        "tile_scatter": (gs.tile_scatter, p.source, tuple(p.indices), p.src),
        "put": (gs.put, p.source, p.indices, p.src),
        "put_along_axis": (gs.put_along_axis, p.source, p.indices, p.src, p.axis),
        "putmask": (gs.putmask, p.source, p.mask, p.src),
    }[operator]
    arguments = tuple(p.indices[0] if argument is p.indices else argument for argument in arguments)
    with gs.thread_limit(3):
        threads = gs.explain(*arguments).to_dict()["threads"]
    assert threads == (1 if who_ran()["backend"] == "reference" else 3)


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
    assert answer["backend"] == BACKENDS[backend]["GS_BACKEND"]
    assert answer["isa"] in ((backend,) if backend in ISA_LEVELS else ISA_LEVELS)
    assert answer_of_the_reference["backend"] == "reference"
    assert answer["cases"] == answer_of_the_reference["cases"] > 100
    assert answer["digest"] == answer_of_the_reference["digest"]


@pytest.mark.every_backend
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backend", BACKENDS)
def test_contract_on_every_backend(backend, request):
    skip_if_this_cpu_lacks(backend)
    tests = ["test_contract", "test_contract_of_writing", "test_the_environment_selects_backend_and_level"]
    tests += ["test_contract_product"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", *(f"{HERE / 'test_contract.py'}::{test}" for test in tests)]
    if request.config.getoption("full_contract"):
        command.append("--full-contract")
    done = subprocess.run(command, env=child_environment(backend), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]


# ---- the product

ONE_PER_ITEM_SIZE = ["V0", "int8", "float16", "V7", "float32", "float64", "record", "complex128", "clongdouble"]
MULTIPLIED = ("operator", "dtype", "layout", "index_type", "bounds", "negative", "size")


def product(kind: str, operator: str, dtype: str, layout: str):
    """The product of the factors that kernels depend on; the others vary with periods that have no common divisor."""
    factors, allows = CONTRACTS[kind].factors, CONTRACTS[kind].allows
    others = [name for name in factors if name not in MULTIPLIED]
    turns = {name: itertools.cycle(factors[name] + factors[name][:1] * k) for k, name in enumerate(others)}
    small = [n for n in factors["size"] if n != ABOVE_THRESHOLDS]
    for index_type, bounds, negative in itertools.product(
        factors["index_type"], factors["bounds"], factors["negative"]
    ):
        large = [ABOVE_THRESHOLDS] if index_type == "int64" and negative == factors["negative"][-1] else []
        for size in small + large:
            values = (operator, dtype, layout, index_type, bounds, negative, size)
            case = dict(zip(MULTIPLIED, values, strict=True))
            if not allows(case):
                continue
            for name, turn in turns.items():
                case[name] = next(value for value in itertools.islice(turn, 99) if allows({**case, name: value}))
            if case["geometry"] in DEGENERATE and size > 17:
                case["geometry"] = "flat"
            yield {name: case[name] for name in factors}


@pytest.mark.full_contract
@pytest.mark.parametrize("layout", READING.factors["layout"])
@pytest.mark.parametrize("dtype", ONE_PER_ITEM_SIZE)
@pytest.mark.parametrize(("kind", "operator"), KINDS_OF_OPERATORS)
def test_contract_product(kind, operator, dtype, layout):
    if not CONTRACTS[kind].allows({"operator": operator, "layout": layout}):
        return  # a read-only target is rejected
    count = 0
    for case in product(kind, operator, dtype, layout):
        count += 1
        try:
            check(CONTRACTS[kind], case, loops_up_to=100)  # the second oracle is much faster, and the loops check it
        except BaseException as error:
            error.add_note(f"case: {case}")
            raise
    assert count > (300 if operator not in FEW else 10)


@pytest.mark.full_contract
@pytest.mark.parametrize("dtype", READING.factors["dtype"])
@pytest.mark.parametrize(("kind", "operator"), KINDS_OF_OPERATORS)
def test_contract_every_dtype(kind, operator, dtype):
    count = 0
    for layout in READING.factors["layout"]:
        for case in itertools.islice(product(kind, operator, dtype, layout), 0, None, 61):
            count += 1
            check(CONTRACTS[kind], case, loops_up_to=100)
    assert count == 0 or count > (30 if operator not in FEW else 3)
