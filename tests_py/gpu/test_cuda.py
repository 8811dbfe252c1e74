"""test_cuda.py: tests that need a real GPU, with torch tensors and arrays of CuPy and JAX; run by run_on_gpu.sh.

Without a GPU the tests called smoke run on CPU tensors, so that their own code is tested; the others are skipped by
name. GS_TEST_NEEDS_GPU=1 makes the absence of a GPU a failure.
"""

from __future__ import annotations

import gc
import os
import re
import threading

import numpy as np
import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch")

HAS_GPU = torch.cuda.is_available() and gs.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="needs an NVIDIA GPU: streams, graphs, and memory of its own")

DTYPES = ("uint8", "float16", "float32", "float64", "complex128", "bfloat16", "bool")
INDEX_DTYPES = ("int8", "int16", "int32", "int64", "uint8")


def test_there_is_a_gpu_where_one_is_promised():
    if os.environ.get("GS_TEST_NEEDS_GPU") == "1":
        assert torch.cuda.is_available(), "torch sees no GPU"
        assert gs.cuda.is_available(), gs.cuda.why_not()
    else:
        assert HAS_GPU or not (torch.cuda.is_available() and gs.cuda.is_available())


def random(shape, dtype="float32", seed=0):
    """A CPU tensor of random bytes, and its copy on the device."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == "bool":
        host = torch.randint(0, 2, shape, generator=generator).bool()
    elif dtype.startswith(("float", "bfloat", "complex")):
        host = torch.randn(shape, generator=generator, dtype=torch.float64).to(getattr(torch, dtype))
    else:
        host = torch.randint(0, 200, shape, generator=generator).to(getattr(torch, dtype))
    return host, host.to(DEVICE)


def places(shape, extent, dtype="int64", seed=1):
    host = torch.randint(0, extent, shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))
    return host, host.to(DEVICE)


def same(result, expected):
    result = torch.from_dlpack(result) if not isinstance(result, torch.Tensor) else result
    assert result.device.type == DEVICE
    assert result.dtype == expected.dtype and result.shape == expected.shape
    left, right = (one.cpu().contiguous().reshape(-1).view(torch.uint8) for one in (result, expected))
    assert torch.equal(left, right)


# ---- equal bytes on GPU and host


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", INDEX_DTYPES)
def test_smoke_takes(dtype, index):
    host, x = random((97, 33), dtype)
    at, i = places((71, 33), 97, index)
    same(gs.gather(x, 0, i), gs.gather(host, 0, at))
    same(gs.gather(x, i[:, 0], axis=0), gs.gather(host, at[:, 0], axis=0))
    same(gs.take(x, i), gs.take(host, at))
    same(gs.take_along_axis(x, i, 0), gs.take_along_axis(host, at, 0))
    same(gs.gather(x, 0, -1 - i if index[0] == "i" else i), gs.gather(host, 0, -1 - at if index[0] == "i" else at))


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 255, 256, 257, 4095, 4097, 100_003])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_smoke_sizes(count, dtype):
    host, x = random((513,), dtype)
    at, i = places((count,), 513)
    same(gs.take(x, i), gs.take(host, at))
    same(gs.take(x, i[1:]), gs.take(host, at[1:]))  # not aligned to vector loads


@pytest.mark.parametrize("width", [1, 3, 4, 7, 16, 25, 31, 64, 100, 257, 2048, 5000])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_smoke_rows(width, dtype):
    host, x = random((130, width), dtype)
    at, i = places((77,), 130, "int32")
    same(gs.gather(x, i, axis=0), gs.gather(host, at, axis=0))
    same(gs.gather(x[:, 1:], i, axis=0), gs.gather(host[:, 1:], at, axis=0))
    same(gs.gather(x.t(), i, axis=1), gs.gather(host.t(), at, axis=1))


@pytest.mark.parametrize("bounds", ["raise", "deferred", "fill", "clip", "wrap", "unchecked"])
def test_smoke_rules(bounds):
    host, x = random((4, 50, 6))
    at, i = places((4, 9), 50)
    if bounds in ("fill", "clip", "wrap"):
        at[:, ::3] += 70
        i = at.to(DEVICE)
    options = {"axis": 1, "batch_dims": 1, "bounds": bounds}
    same(gs.gather(x, i, **options), gs.gather(host, at, **options))
    gs.cuda.synchronize()


def test_smoke_points_and_tiles():
    host, x = random((20, 21, 22))
    at, i = places((300, 3), 20)
    same(gs.gather_nd(x, i), gs.gather_nd(host, at))
    flat, t = random((1000,))
    spots = torch.randint(-300, 1300, (40, 32), generator=torch.Generator().manual_seed(2))
    mask = torch.rand((40, 32), generator=torch.Generator().manual_seed(3)) > 0.4
    same(
        gs.tile_gather(t, spots.to(DEVICE), mask=mask.to(DEVICE), padding_value=-1.0),
        gs.tile_gather(flat, spots, mask=mask, padding_value=-1.0),
    )
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(4))[:640].view(20, 32)
    value, v = random((20, 32))
    gs.tile_scatter(flat, order, value)
    gs.tile_scatter(t, order.to(DEVICE), v)
    same(t, flat)


@pytest.mark.parametrize("reduce", [None, "add", "mul", "min", "max", "mean"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_smoke_scatters(reduce, dtype):
    """Duplicates included: the last one is stored and sums are taken in order, so every bit is that of the host."""
    host, x = random((60, 5), dtype)
    at, i = places((400, 5), 60)
    source, b = random((400, 5), dtype, seed=7)
    options = {} if reduce is None else {"reduce": reduce}
    same(gs.scatter(x, 0, i, b, **options), gs.scatter(host, 0, at, source, **options))
    target, t = host.clone(), x.clone()
    gs.scatter(target, 0, at, source, out=target, **options)
    gs.scatter(t, 0, i, b, out=t, **options)
    same(t, target)


def test_smoke_writes():
    host, x = random((100, 8))
    at, i = places((100, 8), 100)
    source, b = random((100, 8), seed=5)
    for first, second in ((host.clone(), x.clone()),):
        gs.put_along_axis(first, at, source, 0)
        gs.put_along_axis(second, i, b, 0)
        same(second, first)
        gs.put(first, at[:, 0], source[:, 0].contiguous())
        gs.put(second, i[:, 0], b[:, 0].contiguous())
        same(second, first)
    same(gs.scatter_nd(x, i[:, :1], b), gs.scatter_nd(host, at[:, :1], source))
    same(
        gs.scatter(x, 0, i, b, duplicates="first"),
        gs.scatter(host, 0, at, source, duplicates="first"),
    )


def test_smoke_plans():
    host, x = random((200, 16))
    at, i = places((64,), 200)
    plan = gs.plan(gs.gather, x, i, axis=0)
    same(plan(x, i), gs.gather(host, at, axis=0))
    out = torch.empty((64, 16), device=DEVICE)
    assert plan(x, i, out=out) is out
    same(out, gs.gather(host, at, axis=0))


# ---- errors


@pytest.mark.parametrize("bad", [200, -201, 2**40])
def test_smoke_a_bad_index_is_named_and_the_next_call_works(bad):
    host, x = random((200, 4))
    at, _ = places((1000,), 200)
    at[[333, 777]] = bad
    i = at.to(DEVICE)
    with pytest.raises(gs.OutOfBoundsError) as expected:
        gs.gather(host, at, axis=0)
    with pytest.raises(gs.OutOfBoundsError, match=re.escape(str(expected.value))):
        gs.gather(x, i, axis=0)
    out = torch.full((1000, 4), 7.0, device=DEVICE)
    with pytest.raises(gs.OutOfBoundsError, match=re.escape(str(expected.value))):
        gs.gather(x, i, axis=0, out=out)
    assert bool((out == 7.0).all())
    target = x.clone()
    with pytest.raises(gs.OutOfBoundsError):
        gs.scatter_nd(target, i[:, None], torch.zeros((1000, 4), device=DEVICE), out=target)
    same(target, host)
    good, g = places((1000,), 200, seed=9)
    same(gs.gather(x, g, axis=0), gs.gather(host, good, axis=0))


def test_smoke_duplicates_are_named():
    at = torch.tensor([5, 3, 9, 3, 5])
    x, b = torch.zeros(10), torch.arange(5.0)
    with pytest.raises(ValueError) as expected:
        gs.scatter(x, 0, at, b, duplicates="error")
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        gs.scatter(x.to(DEVICE), 0, at.to(DEVICE), b.to(DEVICE), duplicates="error")


@needs_gpu
def test_a_deferred_error_comes_later_and_does_no_harm():
    host, x = random((200, 4))
    _, i = places((1000,), 200)
    i[500] = 200
    gs.gather(x, i, axis=0, bounds="deferred")  # raises nothing yet
    with pytest.raises(gs.OutOfBoundsError, match=r"index 200 .*500"):
        gs.cuda.synchronize()
    gs.cuda.synchronize()  # the error is raised only once
    gs.gather(x, i, axis=0, bounds="deferred")
    torch.cuda.synchronize()
    with pytest.raises(gs.OutOfBoundsError, match="deferred"):
        gs.take(x, places((3,), 4)[1])
    good = places((100,), 200, seed=3)
    same(gs.gather(x, good[1], axis=0), gs.gather(host, good[0], axis=0))


@needs_gpu
def test_a_deferred_error_keeps_its_index_array():
    _, x = random((200,))
    i = torch.zeros(1000, dtype=torch.int64, device=DEVICE)
    i[7] = 999
    gs.gather(x, i, axis=0, bounds="deferred")
    del i
    gc.collect()
    torch.cuda.empty_cache()
    junk = [torch.zeros(1000, dtype=torch.int64, device=DEVICE) for _ in range(50)]
    with pytest.raises(gs.OutOfBoundsError, match="index 999"):
        gs.cuda.synchronize()
    del junk


# ---- streams, graphs, memory


@needs_gpu
@pytest.mark.parametrize("bounds", ["raise", "deferred", "clip"])
def test_work_goes_to_the_callers_stream(bounds):
    host, x = random((1000, 64))
    at, i = places((5000,), 1000)
    late = torch.zeros_like(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)  # about a tenth of a second: a gather that does not wait reads zeros
        late.copy_(x)
        result = gs.gather(late, i, axis=0, bounds=bounds)
    side.synchronize()
    same(result, gs.gather(host, at, axis=0))
    gs.cuda.synchronize()


@needs_gpu
@pytest.mark.parametrize("bounds", ["deferred", "fill", "clip", "wrap", "unchecked"])
def test_nothing_waits_but_raise(bounds):
    _, x = random((1000, 64))
    _, i = places((5000,), 1000)
    gs.gather(x, i, axis=0, bounds=bounds)  # creates memory pools and status slots
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    end = torch.cuda.Event()
    for _ in range(20):
        gs.gather(x, i, axis=0, bounds=bounds)
    end.record()
    assert not end.query(), "a call waited for the stream"
    torch.cuda.synchronize()
    gs.cuda.synchronize()


@needs_gpu
def test_nothing_is_allocated_and_only_raise_waits():
    """Counts of the module's own driver calls after warm-up; torch's are not counted."""
    from gatherscatter._libraries.cuda_module import import_cuda

    _cuda = import_cuda()
    _, x = random((1000, 64))
    _, i = places((5000,), 1000)
    asked = {}
    for bounds in ("raise", "fill", "clip", "wrap", "unchecked", "deferred"):
        for _ in range(3):
            gs.gather(x, i, axis=0, bounds=bounds)
        gs.cuda.synchronize()
        before = _cuda.counts()
        for _ in range(20):
            gs.gather(x, i, axis=0, bounds=bounds)
        asked[bounds] = {name: number - before[name] for name, number in _cuda.counts().items()}
        gs.cuda.synchronize()
    assert {one["allocations"] for one in asked.values()} == {0}
    assert {one["launches"] for one in asked.values()} == {20}
    # Under "deferred" a result that is ready is fetched, which is counted as a wait.
    assert {bounds: asked[bounds]["waits"] for bounds in asked if bounds != "deferred"} == {
        "raise": 20,
        **dict.fromkeys(("fill", "clip", "wrap", "unchecked"), 0),
    }


# On a GPU a part of a row has several words from 135,168 times as many words on (132 multiprocessors).
@pytest.mark.parametrize("items", [5, 33, 256, 259, 2048])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_smoke_parts_of_rows(items, dtype):
    count = (24 << 20 if HAS_GPU else 24 << 10) // items
    _, x = random((count, items), dtype)
    _, i = places((count,), count)
    same(gs.gather(x, i, axis=0), x[i].cpu())
    at = torch.randperm(count).to(DEVICE)
    same(gs.scatter(torch.zeros_like(x), at, x, axis=0)[at], x.cpu())


@needs_gpu
@pytest.mark.parametrize("bounds", ["deferred", "fill", "unchecked"])
def test_graphs_replay_on_new_values(bounds):
    host, x = random((500, 16))
    _, i = places((2000,), 500)
    b = torch.randn((2000, 16), device=DEVICE)
    target = x.clone()
    gs.gather(x, i, axis=0, bounds=bounds)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rows = gs.gather(x, i, axis=0, bounds=bounds)
        gs.scatter_nd(target, i[:, None], b, out=target, bounds="drop" if bounds == "fill" else bounds)
    for seed in range(4):
        at = places((2000,), 500, seed=seed)[0]
        i.copy_(at)
        target.copy_(x)
        graph.replay()
        same(rows, gs.gather(host, at, axis=0))
        same(target, gs.scatter_nd(host, at[:, None], b.cpu()))
    gs.cuda.synchronize()
    if bounds == "deferred":
        i[3] = 5000
        graph.replay()
        torch.cuda.synchronize()  # nothing else waits for a replay
        for name in ("gather", "scatter_nd"):  # each call of the graph has an error of its own
            with pytest.raises(gs.OutOfBoundsError, match=f"earlier call of {name}"):
                gs.cuda.synchronize()
        i[3] = 3
        graph.replay()
        gs.cuda.synchronize()


@needs_gpu
def test_raise_inside_of_a_capture_says_so():
    host, x = random((500,))
    at, i = places((20,), 500)
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="deferred"), torch.cuda.graph(graph):
        gs.gather(x, i, axis=0)
    torch.cuda.synchronize()
    same(gs.gather(x, i, axis=0), gs.gather(host, at, axis=0))


@needs_gpu
def test_arguments_on_two_sides():
    host, x = random((50, 3))
    at, i = places((20,), 50)
    same(gs.gather(x, at.numpy(), axis=0), gs.gather(host, at, axis=0))  # host indices are copied once
    same(gs.gather(x, [3, 1, -1], axis=0), gs.gather(host, torch.tensor([3, 1, -1]), axis=0))
    same(gs.gather(host.pin_memory(), i, axis=0), gs.gather(host, at, axis=0))  # rows are read over the bus
    for arguments in ((host, i), (host.numpy(), i)):
        with pytest.raises((TypeError, ValueError), match=r"device|cuda|GPU"):
            gs.gather(*arguments, axis=0)
    with pytest.raises((TypeError, ValueError), match=r"device|cuda|GPU"):
        gs.gather(x, i, axis=0, out=torch.empty((20, 3)))


@needs_gpu
def test_threads_do_not_disturb_each_other():
    host, x = random((1000, 32))
    wrong = []

    def work(seed):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            for turn in range(30):
                at, i = places((777,), 1000, seed=seed * 100 + turn)
                if turn % 3 == 0:
                    i[turn] = 1000
                    try:
                        gs.gather(x, i, axis=0)
                        wrong.append("no error")
                    except gs.OutOfBoundsError:
                        pass
                    i[turn] = at[turn]
                if not torch.equal(gs.gather(x, i, axis=0).cpu(), host[at]):
                    wrong.append("another result")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_gpu
def test_sums_are_the_same_bits_every_time():
    generator = torch.Generator().manual_seed(0)
    at = (torch.rand(300_000, generator=generator) ** 4 * 1000).long()
    source = torch.randn(300_000, generator=generator)
    host = gs.scatter(torch.zeros(1000), 0, at, source, reduce="add")
    for _ in range(3):
        same(gs.scatter(torch.zeros(1000, device=DEVICE), 0, at.to(DEVICE), source.to(DEVICE), reduce="add"), host)


@needs_gpu
@pytest.mark.large
def test_more_than_two_to_the_31_elements():
    extent = 2**31 + 77
    x = torch.zeros(extent, dtype=torch.int8, device=DEVICE)
    x[-5:] = torch.arange(1, 6, dtype=torch.int8, device=DEVICE)
    i = torch.arange(extent - 5, extent, device=DEVICE)
    assert gs.gather(x, i, axis=0).tolist() == [1, 2, 3, 4, 5]
    many = torch.full((extent,), extent - 1, dtype=torch.int64, device=DEVICE)
    many[-1] = extent - 2
    result = gs.gather(x, many, axis=0)
    assert bool((result[:-1] == 5).all()) and int(result[-1]) == 4
    many[-1] = extent
    with pytest.raises(gs.OutOfBoundsError, match=str(extent - 1)):
        gs.gather(x, many, axis=0)


@needs_gpu
def test_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    host, values = np.random.default_rng(0).random((80, 9)), np.arange(79, -1, -3)
    with cupy.cuda.Stream(non_blocking=True):
        x, i = cupy.asarray(host), cupy.asarray(values)
        result = gs.gather(x, i, axis=0)
        assert isinstance(result, cupy.ndarray)
        np.testing.assert_array_equal(cupy.asnumpy(result), host[values])
        target = cupy.zeros(80)
        gs.scatter(target, 0, i, cupy.ones(len(values)), reduce="add", out=target)
        assert float(target.sum()) == len(values)


@needs_gpu
def test_jax_arrays():
    jax = pytest.importorskip("jax")
    devices = [device for device in jax.devices() if device.platform in ("gpu", "cuda")]
    if not devices:
        pytest.skip("JAX has no GPU here")
    host = np.random.default_rng(0).random((80, 9)).astype(np.float32)
    values = np.arange(79, -1, -3).astype(np.int32)
    x, i = jax.device_put(host, devices[0]), jax.device_put(values, devices[0])
    result = gs.gather(x * 2, i, axis=0)
    assert isinstance(result, jax.Array) and result.devices() == {devices[0]}
    np.testing.assert_array_equal(np.asarray(result + 1), host[values] * 2 + 1)
