"""test_dask_cluster.py: Dask arrays on worker processes behind TCP, and what happens when one of them fails."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

import gatherscatter as gs

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # closing sockets and lost workers are warnings of distributed

RNG = np.random.default_rng(3)
X = RNG.random((4000, 5))
INDEX = RNG.integers(-4000, 4000, (3000, 5))
EXPECTED = gs.gather(X, 0, INDEX)


@pytest.fixture(scope="module")
def client():
    """Two worker processes and a scheduler, which talk by TCP on the loopback interface."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, protocol="tcp", host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def lazily():
    return da.from_array(X, chunks=(500, 3)), da.from_array(INDEX, chunks=(700, 5))


def test_gather_and_scatter(client):
    assert client.scheduler.address.startswith("tcp://127.0.0.1")
    x, index = lazily()
    np.testing.assert_array_equal(gs.gather(x, 0, index).compute(), EXPECTED)
    made = gs.scatter(x, 0, index, da.from_array(EXPECTED, chunks=(900, 2)), reduce="add").compute()
    assert made.tobytes() == gs.scatter(X, 0, INDEX, EXPECTED, reduce="add").tobytes()


def test_a_bad_index_reaches_the_client(client):
    x, index = lazily()
    bad = INDEX.copy()
    bad[2222, 3] = 4000
    with pytest.raises(gs.OutOfBoundsError, match=r"index 4000 is out of bounds.*position \(2222, 3\)") as caught:
        gs.gather(x, 0, da.from_array(bad, chunks=index.chunks)).compute()
    error = caught.value
    assert (error.op, error.index, error.position, error.axis, error.size) == ("gather", 4000, (2222, 3), 0, 4000)


def test_a_chunk_that_raises_reaches_the_client(client):
    def load(block, block_info=None):
        if block_info[0]["chunk-location"] == (3, 0):
            raise OSError(5, "cannot read", "chunk 3")
        return block

    x, index = lazily()
    with pytest.raises(OSError, match="cannot read") as caught:
        gs.gather(x.map_blocks(load, dtype=x.dtype, meta=np.empty((0, 0))), 0, index).compute()
    assert (caught.value.errno, caught.value.filename) == (5, "chunk 3")
    np.testing.assert_array_equal(gs.gather(x, 0, index).compute(), EXPECTED)


def test_cancelled_futures(client):
    def wait(block):
        time.sleep(0.3)
        return block

    x, index = lazily()
    future = client.compute(gs.gather(x.map_blocks(wait, dtype=x.dtype, meta=np.empty((0, 0))), 0, index))
    future.cancel()
    with pytest.raises(Exception, match=r"cancelled"):
        future.result(timeout=30)
    np.testing.assert_array_equal(gs.gather(x, 0, index).compute(), EXPECTED)


def test_a_thousand_chunks(client):
    values, rows = RNG.random(50_000), RNG.integers(0, 50_000, 2000)
    x = da.from_array(values, chunks=50)
    np.testing.assert_array_equal(gs.take(x, rows).compute(), values[rows])
    made = gs.scatter(x, 0, da.from_array(rows, chunks=1000), 1.5)
    np.testing.assert_array_equal(made.compute(), gs.scatter(values, 0, rows, 1.5))
    # A Dask index of 1000 chunks, which are joined.
    index = da.from_array(rows, chunks=2)
    taken = gs.take(x, index)
    assert taken.chunks == index.chunks and len(taken.chunks[0]) == 1000
    assert len(taken.__dask_graph__()) < 7 * 1000 + 100  # seven for each chunk, those of the arguments among them
    written = gs.scatter(x, 0, index, 1.5)
    assert len(written.__dask_graph__()) < 7 * 1000 + 100


def test_a_killed_worker(client):
    """The lost chunks are computed again."""

    def slowly(block):
        time.sleep(0.1)
        return block

    x, index = lazily()
    future = client.compute(gs.gather(x.map_blocks(slowly, dtype=x.dtype, meta=np.empty((0, 0))), 0, index))
    workers = client.run(os.getpid)
    time.sleep(0.5)
    assert not future.done()
    os.kill(next(iter(workers.values())), signal.SIGKILL)
    np.testing.assert_array_equal(future.result(timeout=120), EXPECTED)


def test_spilled_chunks():
    """The data are twice the memory that a worker keeps; the rest lies on its disk."""
    settings = {"distributed.worker.memory.target": 0.04, "distributed.worker.memory.spill": False}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="500MiB"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        x = da.arange(5_000_000, chunks=500_000).persist()
        distributed.wait(x)
        assert sum(client.run(lambda dask_worker: len(dask_worker.data.slow)).values()) > 0
        rows = RNG.integers(0, 5_000_000, 300_000)
        made = gs.take(x, da.from_array(rows, chunks=100_000)).compute()
        np.testing.assert_array_equal(made, rows)
