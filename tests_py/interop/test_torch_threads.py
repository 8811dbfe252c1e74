"""test_torch_threads.py: the first call that records a gradient: on several threads at once, and by an old torch."""

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


OLD = """
import torch, gatherscatter as gs
del torch.library.register_vmap
x = torch.ones(3, requires_grad=True)
print(gs.take(x.detach(), torch.tensor([0, 2])).tolist())
try:
    gs.scatter(x, 0, torch.tensor([0]), 2.0)
except ImportError as error:
    print(error)
"""


def test_a_torch_without_what_gradients_need_is_refused_by_name():
    plain, refused = child_process.run(OLD).splitlines()
    assert plain == "[1.0, 1.0]"
    assert refused.startswith("gatherscatter records gradients with torch 2.5 or newer, and this is torch 2.")
