"""test_torch_training.py: models that learn by our operators: the same bits for all threads, workers, no leaks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import child_process
import gatherscatter as gs

torch = pytest.importorskip("torch", reason="torch is not installed")
Embedding = pytest.importorskip("gatherscatter.torch").Embedding

DOCS = Path(__file__).resolve().parents[2] / "docs" / "torch.md"


# ---- Embedding


def ids_of(*shape, most=50):
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("padding_idx", [None, 3, -1])
@pytest.mark.parametrize("planned", [False, True])
def test_embedding_agrees_with_torchs(padding_idx, planned):
    ours, theirs = Embedding(50, 8, padding_idx), torch.nn.Embedding(50, 8, padding_idx)
    theirs.load_state_dict(ours.state_dict())
    ids = ids_of(7, 300)
    ids[0, :3] = torch.tensor([3, 49, 3])
    plan = ours.plan(ids) if planned else None
    weights = torch.linspace(-1, 1, 7 * 300 * 8).reshape(7, 300, 8)
    for _ in range(2):  # a plan serves any number of batches
        found, expected = ours(ids, plan), theirs(ids)
        assert torch.equal(found, expected)
        (found * weights).sum().backward()
        (expected * weights).sum().backward()
        ids = ids.flip(1).contiguous()
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
    if padding_idx is not None:
        assert ours.weight[padding_idx].tolist() == ours.weight.grad[padding_idx].tolist() == [0] * 8
    ours.load_state_dict(theirs.state_dict())


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("planned", [False, True])
def test_a_backward_pass_is_one_sum(planned, padding_idx, monkeypatch):
    """A GPU sorts the ids once for each sum, so once in a backward pass; the CPU sorts none."""
    calls = []
    for name in ("take_axis", "scatter_axis"):
        move = getattr(gs._core, name)
        monkeypatch.setattr(gs._core, name, lambda *a, n=name, move=move: calls.append(n) or move(*a))
    table, ids = Embedding(50, 8, padding_idx), ids_of(7, 300)
    plan = table.plan(ids) if planned else None
    loss = table(ids, plan).square().sum()
    calls.clear()
    loss.backward()
    assert calls == ["scatter_axis"]


def test_embedding_of_vectors_that_exist():
    vectors = torch.arange(6.0).reshape(3, 2)
    frozen = Embedding.from_pretrained(vectors)
    assert frozen.weight.data_ptr() == vectors.data_ptr() and not frozen.weight.requires_grad
    assert frozen(torch.tensor([2, 0])).tolist() == [[4, 5], [0, 1]]
    learning = Embedding.from_pretrained(vectors, freeze=False, padding_idx=1)
    learning([2, 1, 2]).sum().backward()
    assert learning.weight.grad.tolist() == [[0, 0], [0, 0], [2, 2]]
    assert repr(learning) == "Embedding(3, 2, padding_idx=1)"


def test_embedding_of_integers_is_frozen():
    vectors = torch.arange(6).reshape(3, 2)
    for padding_idx in (None, 0):
        table = Embedding.from_pretrained(vectors, padding_idx=padding_idx)
        assert table.weight.data_ptr() == vectors.data_ptr() and not table.weight.requires_grad
        expected = torch.nn.Embedding.from_pretrained(vectors, padding_idx=padding_idx)(torch.tensor([2, 0]))
        assert torch.equal(table(torch.tensor([2, 0])), expected) and expected.dtype == torch.int64
    with pytest.raises(TypeError, match=r"embeddings has dtype torch\.int64, which has no gradients; pass freeze=True"):
        Embedding.from_pretrained(vectors, freeze=False)


def test_embedding_refuses_what_it_cannot_read():
    table = Embedding(4, 2)
    for ids, bad in ((torch.tensor([1, -1]), -1), (torch.tensor([4]), 4)):
        for plan in (None, table.plan(ids)):
            with pytest.raises(gs.OutOfBoundsError) as caught:
                table(ids, plan)
            assert caught.value.index == bad
    with pytest.raises(ValueError, match=r"made for index int64 \(2,\), not for int64 \(3,\)"):
        table(torch.tensor([0, 1, 2]), table.plan(torch.tensor([0, 1])))
    with pytest.raises(ValueError, match=r"padding_idx 4 is not in \[-4, 4\)"):
        Embedding(4, 2, 4)
    with pytest.raises(ValueError, match="expected two axes"):
        Embedding.from_pretrained(torch.zeros(3))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int64"])
@pytest.mark.parametrize("of_numpy", [False, True])
def test_a_padding_idx_beyond_the_dtype_of_the_ids_is_no_other_vector(dtype, of_numpy):
    table = Embedding(65_600, 2, 65_536 + 44)  # 44 in eight bits, and in sixteen
    ids = np.array([44, 1], dtype) if of_numpy else torch.tensor([44, 1], dtype=getattr(torch, dtype))
    table(ids).sum().backward()
    assert table.weight.grad[[44, 1]].tolist() == [[1, 1], [1, 1]] and table.weight.grad.sum() == 4


def frozen(array):
    array.flags.writeable = False
    return array


HOSTS = {
    "big-endian": lambda ids: ids.astype(">i8"),
    "reversed": lambda ids: ids[::-1].copy()[::-1],
    "read-only": frozen,
    "list": np.ndarray.tolist,
    "xarray": lambda ids: pytest.importorskip("xarray", reason="xarray is not installed").DataArray(ids),
    "pyarrow": lambda ids: pytest.importorskip("pyarrow", reason="pyarrow is not installed").chunked_array([ids]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", HOSTS.values(), ids=HOSTS)
def test_a_table_with_padding_takes_the_ids_of_one_without(make):
    ids = make(np.array([2, 0, 1, 2]))
    for padding_idx, expected in ((None, [1, 1, 2, 0]), (2, [1, 1, 0, 0])):
        table = Embedding(4, 2, padding_idx)
        table(ids).sum().backward()
        assert table.weight.grad[:, 1].tolist() == expected


def test_embedding_says_which_argument_is_of_another_type():
    for bad, words in ((1.5, r"1\.5"), ("a", "'a'")):
        with pytest.raises(TypeError, match=f"Embedding: padding_idx is {words}, expected an integer"):
            Embedding(4, 2, padding_idx=bad)
    for bad, words in (([[1.0]], "list"), (np.ones((2, 2)), r"numpy\.ndarray")):
        with pytest.raises(TypeError, match=rf"embeddings is of type {words}, expected a tensor; torch\.tensor"):
            Embedding.from_pretrained(bad)
    for bad, words in ((5, "5"), (torch.tensor([1]), r"a torch\.Tensor of shape \(1,\)")):
        with pytest.raises(TypeError, match=rf"Embedding: plan is {words}, expected a plan that Embedding\.plan made"):
            Embedding(4, 2)(torch.tensor([1]), bad)


def test_embedding_is_a_module_like_any():
    table = Embedding(4, 2, dtype=torch.float64)
    assert Embedding.__module__ == "gatherscatter.torch"
    compiled = torch.compile(table, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(torch.tensor([1, 3])), table(torch.tensor([1, 3])))


# ---- training


def example(threads):
    """The code of the page with other numbers of threads."""
    code = re.search(r"## A model that learns.*?```python\n(.*?)```", DOCS.read_text(), re.S)[1]
    assert "(1, 2, 7)" in code
    return code.replace("(1, 2, 7)", threads).replace("steps: int = 30", "steps: int = 4")


def test_the_example_of_the_page_has_one_loss_for_every_number_of_threads():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    printed = child_process.run(example("(1, 2, 7, 2)"), timeout=300)
    losses = [float(word) for word in printed.strip("{}\n").split(",")]
    assert len(losses) == 1 and losses[0] < 2.2


def learn(seed, steps):
    """The table of a model after some steps on numbers of a fixed sequence."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(100, 4, generator=generator).requires_grad_()
    for _ in range(steps):
        ids = torch.randint(0, 100, (500,), generator=generator)
        sums = gs.scatter(torch.zeros(10, 4), ids % 10, gs.take(table, ids, axis=0), reduce="mean")
        (gradient,) = torch.autograd.grad(((sums - 1) ** 2).sum(), table)
        with torch.no_grad():
            table -= gradient
    return table.detach()


def test_models_that_learn_on_several_threads():
    expected = [learn(seed, 20) for seed in range(4)]
    found = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: learn(k, 20)})) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(found[seed], expected[seed]) for seed in range(4))


LOADED = """
import torch, gatherscatter as gs

class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.table = torch.arange(40000.0).reshape(200, 200).requires_grad_()
    def __len__(self):
        return 12
    def __getitem__(self, k):
        picked = gs.take(self.table, torch.arange(k, k + 30000) % 200, axis=0)
        (slope,) = torch.autograd.grad(picked.sum(), self.table)
        return picked[:2, 0].detach(), slope.sum()

if __name__ == "__main__":
    rows = Rows()
    gs.take(rows.table, torch.arange(30000) % 200, axis=0).sum().backward()  # the pool of threads of the parent
    loader = torch.utils.data.DataLoader(rows, 3, num_workers=2, multiprocessing_context="CONTEXT")
    batches = [(values.tolist(), sums.tolist()) for values, sums in loader]
    assert [pair for values, _ in batches for pair in values] == [[200.0 * k, 200.0 * (k + 1)] for k in range(12)]
    assert [one for _, sums in batches for one in sums] == [30000.0 * 200] * 12
    print("loaded")
"""


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader(context, tmp_path):
    script = tmp_path / "loaded.py"
    script.write_text(LOADED.replace("CONTEXT", context))
    # With a GPU, torch refuses gradients in forked workers, because its threads do not exist there.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout, done.stderr) == (0, "loaded\n", "")


LEAK = (
    child_process.MEMORY
    + """
import json, torch, gatherscatter as gs
from gatherscatter.torch import Embedding
torch.set_num_threads(1)
torch.manual_seed(0)
table, target = Embedding(200, 4, 0), torch.zeros(10, 4)
optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
ids = torch.arange(600) % 200
plan = table.plan(ids)

def steps(count):
    for turn in range(count):
        optimizer.zero_grad()
        rows = table(ids, plan if turn % 2 else None)
        sums = gs.scatter(target, ids % 10, rows, reduce=("add", "mean", "max", "mul")[turn % 4])
        small = gs.take(table.weight, ids[:16], axis=0)
        (sums.square().mean() + gs.gather(small, 0, ids[:4].reshape(1, 4)).sum()).backward()
        optimizer.step()
        try:
            table(ids + turn % 3 * 100, plan)
        except gs.OutOfBoundsError:
            pass

steps(1000)
gc.collect()
before = status("VmRSS")
steps(10_000)
gc.collect()
print(json.dumps(status("VmRSS") - before))
"""
)


@pytest.mark.long
def test_no_leak_in_ten_thousand_steps():
    assert child_process.run_json(LEAK, env={}, timeout=500) < 2 << 20
