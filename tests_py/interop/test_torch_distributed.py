"""test_torch_distributed.py: a DTensor is refused with the calls that make a tensor of it."""

from __future__ import annotations

import pytest

import child_process

pytest.importorskip("torch.distributed.tensor", reason="this torch has no DTensor")

CODE = """
import torch, numpy as np, gatherscatter as gs
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
mesh = init_device_mesh("cpu", (2,))

def whole(tensor):
    return distribute_tensor(tensor, mesh, [Replicate()])

x, i = torch.arange(6.0), torch.tensor([0, 1])
d = distribute_tensor(x, mesh, [Shard(0)])
calls = {
    "input": lambda: gs.take(d, i, axis=0),
    "input of a scatter": lambda: gs.scatter(d, i, 1.0, axis=0, reduce="add"),
    "input with a gradient": lambda: gs.take(distribute_tensor(x.clone().requires_grad_(), mesh, [Shard(0)]), i),
    "all": lambda: gs.take(d, whole(i), axis=0),
    "index": lambda: gs.gather_nd(x, whole(i[:, None])),
    "src": lambda: gs.scatter(x, i, whole(torch.ones(2)), axis=0),
    "mask": lambda: gs.tile_gather(x, (i,), mask=whole(i > 0)),
    "fill_value": lambda: gs.gather(x, i, axis=0, bounds="fill", fill_value=whole(torch.tensor(1.0))),
    "out": lambda: gs.take(x, i, axis=0, out=whole(torch.ones(2))),
    "in place": lambda: gs.put(d, i, 1.0),
    "plan": lambda: gs.plan(gs.take, d, i, axis=0),
    "index of NumPy": lambda: gs.take(np.arange(6.0), whole(i), axis=0),
}
for name, call in calls.items():
    try:
        print(name, call())
    except TypeError as error:
        words = ("DTensor", "tensor.to_local()", "tensor.full_tensor()")
        print(all(word in str(error) for word in words), name)
"""


def test_every_argument_is_refused():
    lines = child_process.run(CODE, options=("-W", "ignore")).splitlines()
    assert len(lines) == 12 and all(line.startswith("True ") for line in lines), lines
