"""test_benchmarks_scale.py: the benchmark over the number of elements: calls, table, page. Nothing is timed."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs
from benchmark_results import load_result

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT / "benchmarks" / "notes"
RESULT = ROOT / "benchmarks" / "results" / "amd-epyc-zen4-2-threads-scale.json"
pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks" / "__main__.py").exists(), reason="tests run outside the repository: no benchmarks/ here"
)


@pytest.fixture
def scale(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import scale

    return scale


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--scale", "--quick", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_scale_writes_json_a_table_and_a_picture(tmp_path, scale):
    pytest.importorskip("matplotlib")
    file, picture = tmp_path / "scale.json", tmp_path / "scale.png"
    shown = run("--threads", 2, "--only", "L1", "bytes", "--json", file, "--plot", picture)
    result = load_result(file)
    lines = {(entry["series"], entry["form"], entry["threads"]) for entry in result["scale"]}
    expected = {("L1", 1), ("L1", 2), ("bytes", 2)}
    assert lines == {(series, form, many) for series, many in expected for form in scale.FORMS}
    for entry in result["scale"]:
        counts = [point["count"] for point in entry["points"]]
        assert counts == sorted(set(counts)) and len(counts) == 3
        assert entry["fixed"] > 0 and all(0 < p["q1"] <= p["median"] <= p["q3"] for p in entry["points"])
        assert f"| {entry['series']}: {entry['about']} | `{entry['code']}` | {entry['threads']} |" in shown
    assert picture.read_bytes().startswith(b"\x89PNG")
    # Lines that are not measured again stay in the file.
    run("--threads", 1, "--only", "L1", "L2", "--json", file)
    again = load_result(file)["scale"]
    lines = [(entry["series"], entry["form"], entry["threads"]) for entry in again]
    forms = list(scale.FORMS)
    assert lines[:4] == [("L1", form, many) for form in forms for many in (1, 2)]
    assert lines[4:] == [("L2", form, 1) for form in forms] + [("bytes", form, 2) for form in forms]
    same = [entry["threads"] == 2 for entry in again]
    assert same == [entry in result["scale"] for entry in again]


def test_a_wrong_result_stops_the_run(scale, monkeypatch):
    arrays = scale.Arrays(scale.SERIES[0], True)
    scale.check(arrays, gs, "fresh", 1 << 12)
    take = gs.take
    monkeypatch.setattr(gs, "take", lambda x, i, **options: np.roll(take(x, i, **options), 1))
    with pytest.raises(ValueError, match="L1, fresh, 4096 elements: wrong result"):
        scale.check(arrays, gs, "fresh", 1 << 12)


def test_successive_calls_use_other_memory_until_no_cache_holds_it(scale):
    arrays = scale.Arrays(scale.SERIES[0], True)
    index = np.arange(scale.COLD // 4, dtype=np.int32)
    windows = arrays.windows(index, 1 << 12)
    assert len(windows) * windows[0].nbytes == scale.COLD
    assert np.array_equal(np.concatenate(windows), index)
    assert [len(window) for window in arrays.windows(index[:10], 8)] == [8]
    assert [one.shape for one in arrays.indices(1)] == [(1,)]


def test_a_repeated_index_needs_memory_for_one_row(scale):
    series = next(series for series in scale.SERIES if series.repeats)
    arrays = scale.Arrays(series, True)
    (index,) = arrays.indices(1 << 18)
    assert index.size == 1 << 18 and index.strides[0] == 0 and arrays.index.size == scale.ROW
    assert series.counts(False)[-1] == 1 << 33


def test_counts_are_powers_of_two_up_to_the_largest(scale):
    for series in scale.SERIES:
        counts = series.counts(False)
        assert counts[0] == 1 << series.least and counts[-1] == 1 << series.most
        assert all(2 <= later // count <= 8 for count, later in itertools.pairwise(counts))


@pytest.mark.parametrize(
    ("cost", "holds"),
    [
        ({10: 3.0, 12: 1.4, 14: 1.0, 16: 1.5}, 12),
        ({10: 3.0, 12: 1.4, 14: 1.0, 16: 1.6}, None),
        ({10: 1.0, 12: 1.0}, 10),
    ],
)
def test_from_which_count_on_the_cost_stays_near_the_least(scale, cost, holds):
    points = [{"count": 1 << power, "q1": seconds * (1 << power)} for power, seconds in cost.items()]
    assert scale.holds_from({"points": points}) == (None if holds is None else 1 << holds)


def test_the_page_shows_the_committed_result(scale):
    result = load_result(RESULT)
    page = (NOTES / "2026-11-scale.md").read_text()
    assert not result["quick"] and scale.table(result) in page
    assert {entry["series"] for entry in result["scale"]} == {series.name for series in scale.SERIES}
    assert (NOTES / "performance-scale.png").exists() and "](performance-scale.png)" in page
