"""test_explain.py: a plan says which decisions were made, and by which number."""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gatherscatter as gs

needs_cpu_backend = pytest.mark.skipif(
    gs.show_config()["backend"] != "cpu", reason="the reference backend has no thresholds"
)


def _decisions(operator, *arguments, **keywords):
    plan = gs.explain(operator, *arguments, **keywords)
    return {decision["decision"]: decision for decision in plan.to_dict()["decisions"]}, repr(plan)


@needs_cpu_backend
def test_decisions_say_what_was_compared_with_which_threshold():
    config = gs.show_config()
    near, far = np.zeros(1 << 10, np.float32), np.zeros(1 << 24, np.float32)
    few, many = np.zeros(1 << 8, np.int32), np.zeros(1 << 23, np.int32)
    decisions, text = _decisions(gs.take, far, many)
    assert [decision["chosen"] for decision in decisions.values()][1:3] == ["yes", "yes"]
    stream, prefetch = decisions["stream"], decisions["prefetch"]
    assert stream["amount"] == 1 << 25 and prefetch["amount"] == far.nbytes
    assert prefetch["threshold"] == ("far_vector_bytes" if config["isa"] == "v4" else "far_table_bytes")
    for decision in (stream, prefetch):
        assert decision["value"] == config[decision["threshold"]]
        assert decision["source"] == config["sources"][decision["threshold"]]
    assert stream["threshold"] == "stream_bytes"
    assert f"stream: yes, bytes written 32 MiB >= stream_bytes {config['stream_bytes'] >> 20} MiB" in text
    decisions, text = _decisions(gs.take, near, few)
    assert [decision["chosen"] for decision in decisions.values()][:3] == ["1", "no", "no"]
    assert "prefetch: no, indexed bytes 4 KiB < " in text
    assert "stream: no, bytes written 1 KiB < stream_bytes " in text


@needs_cpu_backend
def test_decisions_without_a_number_have_a_reason():
    decisions, text = _decisions(gs.scatter, np.zeros(1 << 20), 0, np.zeros(1 << 10, int), 1.0, reduce="mean")
    assert decisions["stream"]["reason"] == decisions["prefetch"]["reason"] == "values are combined with their targets"
    assert "threshold" not in decisions["stream"] and "stream: no, values are combined" in text


@needs_cpu_backend
def test_decisions_name_the_setting_that_decides():
    code = """
import gatherscatter as gs, numpy as np
print(repr(gs.explain(gs.take, np.zeros(100, np.float32), np.zeros(1000, int))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"GS_STREAM_BYTES": "3000", "GS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[3].strip() == "stream: yes, bytes written 4,000 B >= stream_bytes 3,000 B (GS_STREAM_BYTES)"
    assert lines[1].strip() == "threads: 1, the call may use one"


@needs_cpu_backend
@pytest.mark.skipif(gs.show_config()["isa"] != "v4", reason="gather instructions are used with AVX-512 only")
@pytest.mark.parametrize(("percent", "chosen"), [(1, "yes"), (2**63 - 1, "no")])
def test_decisions_tell_of_gather_instructions(percent, chosen):
    code = """
import gatherscatter as gs, numpy as np, json
x, i = np.zeros(100, np.float32), np.zeros(100_000, int)
last = gs.explain(gs.take, x, i).to_dict()["decisions"][-1]
words = [decision["decision"] for decision in gs.explain(gs.take, x.astype(np.int16), i).to_dict()["decisions"]]
print(json.dumps([last, words]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"GS_GATHER_PERCENT": str(percent)},
        capture_output=True,
        text=True,
        check=True,
    )
    last, words = json.loads(done.stdout)
    assert (last["decision"], last["chosen"]) == ("gather instructions", chosen)
    assert (last["threshold"], last["value"], last["source"]) == ("gather_percent", percent, "GS_GATHER_PERCENT")
    assert 5 < last["amount"] < 2000
    assert "gather instructions" not in words


@needs_cpu_backend
def test_the_first_duplicate_is_explained_in_the_order_that_runs():
    x, index, values = np.zeros(100, np.float32), np.arange(16), np.ones(16, np.float32)
    kernels = {
        duplicates: gs.explain(gs.scatter, x, 0, index, values, duplicates=duplicates).to_dict()["kernel"]
        for duplicates in ("last", "first")
    }
    assert kernels["last"].endswith(" short")
    assert not kernels["first"].endswith(" short")  # points in reverse order have no short form


def test_an_empty_call_decides_nothing():
    plan = gs.explain(gs.take, np.zeros(4), np.zeros(0, int))
    assert plan.to_dict()["decisions"] == [] and "\n" not in repr(plan)


@pytest.mark.parametrize("plan", [gs.plan, gs.explain])
@pytest.mark.parametrize(
    "call",
    [
        lambda once: (gs.roll, np.zeros((2, 3)), (1, 1), once),  # numpy.roll reads its axes from an iterator
        lambda once: (gs.gather, np.zeros((2, 3)), 0, once),
        lambda once: (gs.take, once, [0]),
        lambda once: (functools.partial(gs.gather, once), [0]),
    ],
    ids=["axis", "index", "input", "partial"],
)
def test_a_plan_does_not_read_what_can_be_read_only_once(plan, call):
    for once in ((axis for axis in (0, 1)), iter([0, 1]), map(int, (0, 1))):
        with pytest.raises(TypeError, match="only once"):
            plan(*call(once))
        assert list(once) == [0, 1]
