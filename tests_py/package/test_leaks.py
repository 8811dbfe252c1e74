"""test_leaks.py: after many calls, half of which fail, memory and reference counts are as before."""

import gc
import sys

import numpy as np
import pytest

import child_process
import gatherscatter as gs

pytestmark = pytest.mark.long

MIB = 1 << 20

LEAK = (
    child_process.MEMORY
    + child_process.MIXED
    + """
def rounds(count):
    for turn in range(count):
        for call in calls:
            call()
        if turn % 20 == 0:
            for call in rare:
                call()

rounds(ROUNDS // 10 + 50)
gc.collect()
before = status("VmRSS")
rounds(ROUNDS)
gc.collect()
print(json.dumps({"growth": status("VmRSS") - before, "calls": ROUNDS * len(calls)}))
"""
)


def leak(rounds):
    answer = child_process.run_json(f"ROUNDS = {rounds}\n{LEAK}", env={}, timeout=600)
    assert answer["growth"] < MIB, answer
    return answer["calls"]


def test_no_leak_in_mixed_and_failing_calls():
    assert leak(3500) >= 100_000


@pytest.mark.large
def test_no_leak_in_a_million_calls():
    assert leak(35_000) >= 1_000_000


def test_no_leak_with_tensors_and_capsules():
    pytest.importorskip("torch", reason="torch is not installed")
    code = (
        child_process.MEMORY
        + """
import json, numpy as np, torch, gatherscatter as gs
class Legacy:  # exports a tensor by the legacy protocol only
    def __init__(self, tensor): self.tensor = tensor
    def __dlpack_device__(self): return self.tensor.__dlpack_device__()
    def __dlpack__(self, **keywords): return self.tensor.__dlpack__()
torch.set_num_threads(1)
many = torch.arange(100_000) % 600
x, i, grad = torch.arange(600.0).reshape(20, 30), torch.tensor([[3, -1], [0, 19]]), torch.ones(3, requires_grad=True)
def fails(operator, *arguments, **keywords):
    try:
        operator(*arguments, **keywords)
    except Exception as error:
        return str(error)
    raise AssertionError("no error")
def rounds(count):
    for turn in range(count):
        gs.take(x, i, axis=0), gs.gather(x, 1, i), gs.take(x.numpy(), i), gs.take(Legacy(x), [3, 4])
        gs.take(x, Legacy(i)), gs.take(x, many)
        fails(gs.take, x, i + 600), fails(gs.take, grad, [3]), fails(gs.take, x, x), fails(gs.take, Legacy(x), [999])
        if turn % 20 == 0:  # each of them takes milliseconds in torch
            gs.take(grad, [0, 2]).sum().backward(), gs.take(torch.ones(3, device="meta"), [0])
            fails(gs.take, x.to_sparse(), [0])
rounds(600)
gc.collect()
before = status("VmRSS")
rounds(1500)
gc.collect()
print(json.dumps(status("VmRSS") - before))
"""
    )
    assert child_process.run_json(code, env={}, timeout=300) < 2 * MIB


def arguments():
    x, index = np.arange(600.0).reshape(20, 30), np.array([[3, -1], [0, 19]])
    return {
        "x": x,
        "index": index,
        "mask": np.ones((2, 2), bool),
        "fill": np.array(1.5),
        "out": np.zeros((2, 2, 30)),
        "bad": index + 20,
        "floats": index + 0.5,
        "small": np.zeros((1, 2, 30)),
        "frozen": np.broadcast_to(0.0, (2, 2, 30)),
        "objects": x.astype(object),
    }


USES = {
    "take": lambda a: gs.take(a["x"], a["index"], axis=0, out=a["out"]),
    "gather": lambda a: gs.gather(a["x"], a["index"], axis=0, mask=a["mask"], fill_value=a["fill"], out=a["out"]),
    "elements": lambda a: gs.gather(a["x"], 1, a["index"]),
    "points": lambda a: gs.tile_gather(a["x"], (a["index"], a["index"]), mask=a["mask"], padding_value=a["fill"]),
    "plan": lambda a: gs.plan(gs.take, a["x"], a["index"], axis=0)(a["x"], a["index"], out=a["out"]),
    "out of bounds": lambda a: gs.take(a["x"], a["bad"], axis=0, out=a["out"]),
    "out of bounds, masked": lambda a: gs.gather(a["x"], a["bad"], axis=0, mask=a["mask"], fill_value=a["fill"]),
    "floats": lambda a: gs.gather(a["x"], a["floats"], axis=0, mask=a["mask"], out=a["out"]),
    "axis": lambda a: gs.take(a["x"], a["index"], axis=5, out=a["out"]),
    "small out": lambda a: gs.take(a["x"], a["index"], axis=0, out=a["small"]),
    "frozen out": lambda a: gs.take(a["x"], a["index"], axis=0, out=a["frozen"]),
    "objects": lambda a: gs.take(a["objects"], a["index"], axis=0),
    "mask of floats": lambda a: gs.gather(a["x"], a["index"], axis=0, mask=a["floats"], out=a["out"]),
    "bad fill": lambda a: gs.gather(a["x"], a["index"], axis=0, bounds="fill", fill_value=a["out"], out=a["out"]),
    "bad points": lambda a: gs.tile_gather(a["x"], (a["index"], a["floats"]), mask=a["mask"]),
    "bad plan": lambda a: gs.plan(gs.take, a["x"], a["index"], axis=0)(a["x"], a["bad"], out=a["out"]),
}


@pytest.mark.parametrize("name", USES)
def test_references_are_given_back(name):
    held = arguments()

    def counts():
        gc.collect()
        return {key: sys.getrefcount(array) for key, array in held.items()}

    before = counts()
    for _ in range(5):
        try:
            USES[name](held)
        except (TypeError, ValueError, IndexError):
            assert name not in ("take", "gather", "elements", "points", "plan")
    assert counts() == before
