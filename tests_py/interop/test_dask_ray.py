"""test_dask_ray.py: Dask arrays whose tasks run on Ray."""

import tempfile

import pytest

from child_process import start

pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("ray", reason="ray is not installed")

CODE = """
import dask.array as da, numpy as np, ray
from ray.util.dask import ray_dask_get
import gatherscatter as gs

ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False, _temp_dir=folder)
x, rows = np.arange(4000.0).reshape(400, 10), np.random.default_rng(0).integers(-400, 400, 90)
lazy, index = da.from_array(x, chunks=(70, 5)), da.from_array(rows, chunks=40)
np.testing.assert_array_equal(gs.gather(lazy, index, 0).compute(scheduler=ray_dask_get), x[rows])
made = gs.scatter(lazy, index, x[:90], 0, reduce="add").compute(scheduler=ray_dask_get)
assert made.tobytes() == gs.scatter(x, rows, x[:90], 0, reduce="add").tobytes()
try:
    gs.gather(lazy, index * 9, 0).compute(scheduler=ray_dask_get)
except Exception as error:  # Ray's error, which is also the one of the task
    assert isinstance(error, gs.OutOfBoundsError) and "is out of bounds for axis 0 with size 400" in str(error)
else:
    raise AssertionError("no error")
ray.shutdown()
print("done")
"""


def test_arrays_on_ray():
    """A smoke test: one node on this machine. Its sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="gs-ray-", ignore_cleanup_errors=True) as folder:
        done = start(f"folder = {folder!r}\n{CODE}")  # Ray writes its log to stderr
    assert done.returncode == 0 and done.stdout.strip().endswith("done"), done.stderr
