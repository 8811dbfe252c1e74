"""device_torch_run.py: the checks of test_device_torch.py, for processes where fake_torch replaces torch."""

from __future__ import annotations

import sys

import numpy as np

import fake_torch

fake_torch.install()

import fake_cuda  # noqa: E402
import gatherscatter as gs  # noqa: E402
from fake_torch import PINNED, Parameter, Tensor, log  # noqa: E402
from gatherscatter import _core  # noqa: E402
from gatherscatter.errors import DeferredOutOfBoundsError  # noqa: E402

X = np.arange(12, dtype=np.float32).reshape(4, 3)
ROWS = np.array([2, 0, -1])


def raised(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind}")


def results(gpu):
    """Results are torch tensors from torch's allocator, on the device and the current stream of the data."""
    for device in (0, 1):
        log["allocated"].clear()
        for call in (
            lambda m: gs.take(m(X), m(ROWS), axis=0),
            lambda m: gs.gather(m(X), m(ROWS), axis=0),
            lambda m: gs.take(m(X), ROWS, axis=0),
            lambda m: gs.plan(gs.take, X, ROWS, axis=0)(m(X), m(ROWS)),
            lambda m: gs.gather(m(X), m(ROWS), axis=0, bounds="deferred"),
        ):
            result = call(lambda array, d=device: Tensor(array, d))
            assert type(result) is Tensor and result.number == device
            assert result.host.dtype == X.dtype and result.host.tobytes() == X[ROWS].tobytes()
            assert log["allocated"].pop() == ((3, 3), "float32", 2, device) and not log["allocated"]
    gs.cuda.synchronize()
    assert gpu.take_record()["orders"] == []
    assert fake_torch._alive == {}, "no allocation was left behind"


def layouts(gpu):
    for x in (X.T, X[::-1, ::2], np.broadcast_to(X[:1], (4, 3))):
        assert gs.gather(Tensor(x), Tensor(ROWS[:2]), axis=0).host.tolist() == x[ROWS[:2]].tolist()
    assert gs.take(Tensor(X[:0]), Tensor(ROWS[:0]), axis=0).shape == (0, 3)


def streams(gpu):
    assert gs.gather(Tensor(X), fake_cuda.FakeCupyArray(ROWS), axis=0).host.tolist() == X[ROWS].tolist()
    cupy = fake_cuda.STREAMS["cupy"]
    assert gpu.take_record()["orders"] == [("wait_for", 0, 0x5000, cupy), ("go_before", 0, 0x5000, cupy)]
    unknown = fake_cuda.DLPackOnly(ROWS)
    gs.gather(Tensor(X), unknown, axis=0)
    assert unknown.streams == [0x5000]
    log["stream"][0] = 0
    unknown = fake_cuda.DLPackOnly(ROWS)
    gs.gather(Tensor(X), unknown, axis=0)
    assert unknown.streams == [1], "torch's null stream is the legacy default one"


def errors(gpu):
    at_once = raised(IndexError, lambda: gs.take(X, ROWS + 2, axis=0))
    there = raised(IndexError, lambda: gs.take(Tensor(X), Tensor(ROWS + 2), axis=0))
    assert there == at_once and str(there) == str(at_once)
    gs.take(Tensor(X), Tensor(ROWS + 2), axis=0, bounds="deferred")
    late = raised(DeferredOutOfBoundsError, lambda: gs.take(Tensor(X), Tensor(ROWS), axis=0))
    assert late.fields()[:-1] == at_once.fields()
    problem = raised(TypeError, lambda: gs.take(Tensor(X), Tensor(ROWS, 1), axis=0))
    assert "index lies on CUDA device 1, input on CUDA device 0" in str(problem)
    log["full"] = True
    raised(MemoryError, lambda: gs.take(Tensor(X), Tensor(ROWS), axis=0))
    log["full"] = False
    assert fake_torch._alive == {}


def writes(gpu):
    """Only arrays that are written to get a new version in torch."""
    target = Tensor(X.copy())
    gs.put(target, Tensor(ROWS), Tensor(np.full(3, 9, np.float32)))
    assert log["written"] == [target] and target.host.ravel()[ROWS].tolist() == [9, 9, 9]
    out = Parameter(np.zeros((3, 3), np.float32))
    assert gs.take(Tensor(X), Tensor(ROWS), axis=0, out=out) is out and log["written"][1:] == [out]
    assert out.host.tolist() == X[ROWS].tolist()
    scattered = gs.scatter(Tensor(X), 0, Tensor(np.zeros((1, 3), int)), Tensor(X[:1] + 50))
    assert scattered.host[0].tolist() == [50, 51, 52] and len(log["written"]) == 2
    raised(IndexError, lambda: gs.put(target, Tensor(ROWS + 90), Tensor(np.zeros(3, np.float32))))
    assert len(log["written"]) == 2


def pinned(gpu):
    """Rows of pinned host memory give a result of the index's library."""
    from hostile_dlpack import CUDA_HOST, Producer

    result = gs.gather(Producer(X, device_type=CUDA_HOST), Tensor(ROWS, 1), axis=0)
    assert type(result) is Tensor and result.number == 1 and result.host.tolist() == X[ROWS].tolist()
    for bounds in ("raise", "clip"):
        result = gs.gather(Tensor(X, PINNED), Tensor(np.abs(ROWS), 1), axis=0, bounds=bounds)
        assert type(result) is Tensor and result.number == 1 and result.host.tolist() == X[np.abs(ROWS)].tolist()
    # The last call did not wait, so its rows are kept until it has finished.
    assert _core.pending_calls() == 1
    gs.cuda.synchronize()
    assert _core.pending_calls() == 0


if __name__ == "__main__":
    with fake_cuda.played_gpu() as gpu:
        globals()[sys.argv[1]](gpu)
    print("done")
