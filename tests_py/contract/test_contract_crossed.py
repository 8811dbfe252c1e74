"""test_contract_crossed.py: each backend and instruction set runs its cases of the crossed contract."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: the crossed contract has table operators too")

from contract_children import child_environment, skip_if_this_cpu_lacks
from contract_crossed import CROSSED, EXECUTORS, REGISTRIES, cases_of
from pairwise import allowed_pairs

PROGRAM = Path(__file__).parent / "contract_crossed.py"


@pytest.mark.parametrize("kind", REGISTRIES)
def test_each_pair_of_values_meets(kind):
    registry = REGISTRIES[kind]
    factors = {name: registry.factors[name] for name in CROSSED}
    missing = []
    for a, b in itertools.combinations(CROSSED, 2):
        met = {(case[a], case[b]) for case in registry.cases}
        wanted = {(x, y) for p, x, q, y in allowed_pairs(factors, registry.allows) if (p, q) == (a, b)}
        assert len(wanted) > max(len(factors[a]), len(factors[b]))
        missing += [(a, b, pair) for pair in wanted - met]
    assert not missing


@pytest.mark.parametrize("isa", EXECUTORS["isa"])
@pytest.mark.parametrize("backend", EXECUTORS["backend"])
def test_crossed_contract(backend, isa):
    environment = child_environment(isa) | {"GS_BACKEND": backend, "GS_CPU": isa}
    skip_if_this_cpu_lacks(isa)
    done = subprocess.run([sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["backend"], answer["isa"]) == (backend, isa)
    assert answer["cases"] == len(cases_of(backend, isa)) > 20
