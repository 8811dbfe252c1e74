"""test_torch_threads.py: the first calls that record gradients, on several threads at once."""

import pytest

import child_process

pytest.importorskip("torch", reason="torch is not installed")

FIRST = """
import sys, threading
import torch, gatherscatter as gs
sys.setswitchinterval(1e-5)
start, found = threading.Barrier(4), []

def work():
    x = torch.ones(3, requires_grad=True)
    start.wait()
    gs.take(x, torch.tensor([0, 0, 2])).sum().backward()
    found.append(x.grad.tolist())

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(found == [[2.0, 0.0, 1.0]] * 4)
"""


def test_first_gradients_on_several_threads():
    for _ in range(2):
        assert child_process.run(FIRST) == "True\n"
