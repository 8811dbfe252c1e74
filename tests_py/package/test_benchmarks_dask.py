"""test_benchmarks_dask.py: all calls that `python -m benchmarks --dask` compares give the same result."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("xarray", reason="xarray is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks import cluster

SETTING = {
    "data_bytes": 1 << 21,
    "chunks": 8,
    "workers": 2,
    "memory_limit": 1 << 40,
    "processes": False,
}  # a worker in this process pauses beyond its limit


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", cluster.CASES)
def test_equal_results(case):
    entries = {peer: cluster._one({**SETTING, "case": case, "peer": peer}) for peer in cluster.CASES[case]}
    assert len({entry["checksum"] for entry in entries.values()}) == 1
    assert all(entry["tasks"] > 0 and entry["peak_bytes"] > 0 for entry in entries.values())
    table = cluster.table(
        {"dask": [{"case": case, "peer": p, "processes": False, **e} for p, e in entries.items()], "model": []}
    )
    assert all(f"| {peer} |" in table for peer in entries)
