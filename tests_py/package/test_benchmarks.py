"""test_benchmarks.py: the benchmark suite runs and detects wrong results. Nothing here is timed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark_results import load_result

ROOT = Path(__file__).resolve().parents[2]
needs_suite = pytest.mark.skipif(
    not (ROOT / "benchmarks" / "__main__.py").exists(), reason="tests run outside the repository: no benchmarks/ here"
)


def _suite(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def suite(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import cases, harness, peers, report

    return cases, harness, peers, report


@needs_suite
def test_suite_writes_json_and_a_table(tmp_path):
    result_file = tmp_path / "result.json"
    only = ["rows_64B", "24a", "30", "33a"]
    done = _suite("--quick", "--threads", "1", "--json", result_file, "--only", *only)
    assert done.returncode == 0, done.stderr
    assert "| 10 rows_64B |" in done.stdout and "| form | small_16 |" in done.stdout
    result = load_result(result_file)
    assert [case["name"] for case in result["cases"]] == ["rows_64B", "small_16", "table_chunks", "table_10_rows_1"]
    # One line per library, and lines for our call with one chunk and for the bare protocol.
    lines = [
        line for line in done.stdout.splitlines() if re.match(r"\| (30|33a) \w+ \| (pyarrow|polars|pandas) \|", line)
    ]
    assert len(lines) == 5
    assert sum("gs.table.gather(one, i, bounds='nullify')" in line for line in lines) == 1
    assert sum(re.search(r" -?[0-9.]+ µs \|", line) is not None and "(h)" in line for line in lines) == 2
    assert {"cpu", "caches", "kernel", "versions", "command", "date"} <= result["machine"].keys()
    assert str(tmp_path) not in result_file.read_text()
    forms = result["cases"][0]["forms"]
    assert {"ours", "peer"} <= {form["role"] for form in forms}
    assert all(0 < form["q1"] <= form["median"] <= form["q3"] for form in forms)


@needs_suite
def test_suite_has_every_case_once(suite):
    cases = suite[0].CASES
    numbers = [case.number for case in cases]
    assert len(set(numbers)) == len(numbers)
    assert {int(re.match(r"\d+", number)[0]) for number in numbers} == {*range(1, 40)}


@needs_suite
def test_every_form_of_every_case_is_right(suite):
    cases, harness, _, _ = suite
    modules, _ = harness.available(None)
    modules.pop("jax", None)  # it needs 64-bit mode, which other tests of this process do not set; see the next test
    for case in cases.CASES:
        work = case.build(True)
        roles = {runner.role for runner in harness.runners_of(case, work, modules, None, 1)}  # also checks all results
        assert roles - {"beside", "by hand"} == {"ours", "peer"}, case.name
        if "numba" in modules:
            assert ("by hand" in roles) == (not case.name.startswith("table_")), case.name
        assert ("beside" in roles) == (case.kind in ("chunks", "few")), case.name


@needs_suite
@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta:UserWarning")  # the only call of torch for such a mean
def test_every_form_of_more_cases_is_right(suite):
    _, harness, _, _ = suite
    from benchmarks.group_cases import GROUPS
    from benchmarks.more_cases import MORE

    modules, _ = harness.available(None)
    modules.pop("jax", None)  # as above
    for case in (*MORE, *GROUPS):
        if case.name.startswith("brain_") and "torch" not in modules:
            continue  # NumPy has no bfloat16
        work = case.build(True)
        roles = {runner.role for runner in harness.runners_of(case, work, modules, None, 1)}  # also checks all results
        assert roles - {"beside", "by hand"} == {"ours", "peer"}, case.name
    numbers = [case.number for case in MORE]
    assert len(set(numbers)) == len(numbers)
    assert {int(re.match(r"\d+", number)[0]) for number in numbers} == {*range(40, 59)}


@needs_suite
def test_more_cases_have_a_table_of_their_own(suite, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    only = ["mean_apart", "small_put", "table_5_rows_100", "53e"]
    result_file = tmp_path / "m.json"
    done = _suite("--more", "--quick", "--note", "a shared machine", "--only", *only, "--json", result_file)
    assert done.returncode == 0, done.stderr
    for start in ("40b mean_apart", "49a small_put", "51a table_5_rows_100", "53e table_series_gather_100"):
        assert f"| {start} |" in done.stdout
    assert "* a shared machine" in done.stdout
    result = load_result(result_file)
    assert result["more"] and result["note"] == "a shared machine"
    page = tmp_path / "page.md"
    page.write_text("<!-- benchmarks: more -->\n<!-- end -->\n<!-- benchmarks: cases -->\nold\n<!-- end -->\n")
    suite[3].write(result | {"quick": False}, page)
    text = page.read_text()
    assert "| 49a small_put |" in text and "<!-- benchmarks: cases -->\nold\n" in text


@needs_suite
def test_every_form_of_jax_is_right(tmp_path):
    pytest.importorskip("jax", reason="jax is not installed")
    only = ["take_DRAM_f64", "rows_64B", "15", "17", "18", "19", "22", "23", "26", "27", "28", "24a"]
    done = _suite("--quick", "--peers", "jax", "--json", tmp_path / "r.json", "--only", *only)
    assert done.returncode == 0, done.stderr
    for case in load_result(tmp_path / "r.json")["cases"]:
        forms = [form for form in case["forms"] if form["library"] == "jax"]
        assert {form["fresh"] for form in forms} == {True, False}, case["name"]


@needs_suite
@pytest.mark.parametrize(
    ("kind", "code", "result"),
    [
        ("take", "x[i][::-1]", ""),
        ("take", "x[i] if out is None else x[i]", ""),
        ("bad", "np.take(x, i, mode='clip')", ""),
        ("set", "r = x.copy(); r[i[::-1]] = b[::-1]", "r"),  # the first of duplicates is stored
        ("set", "r = out.copy(); r[i] = b", "r"),  # not in place
        ("add", "out[i] += b", "out"),  # only one of several additions is executed
    ],
)
def test_suite_stops_at_a_wrong_form(suite, monkeypatch, kind, code, result):
    cases, harness, peers, _ = suite
    monkeypatch.setattr(harness, "FORMS", (peers.Form("numpy", kind, code, result=result),))
    case = next(case for case in cases.CASES if case.kind == kind)
    with pytest.raises(harness.WrongResult):
        harness.runners_of(case, case.build(True), {"numpy": np}, None, 1)


@needs_suite
@pytest.mark.parametrize(
    ("kind", "library", "code"),
    [
        ("nullify", "pyarrow", "x.take(i.fill_null(0))"),  # a row instead of nulls
        ("nullify", "polars", "x.select(pl.all().gather(i)).cast({pl.Int8: pl.Int16})"),
        ("frame", "polars", "x[i].reverse()"),
        ("replace", "polars", "x"),
        ("mask", "pandas", "x"),
        ("fill", "pyarrow", "x"),
        ("few", "gatherscatter, pyarrow", "x"),
    ],
)
def test_suite_stops_at_a_wrong_table(suite, monkeypatch, kind, library, code):
    cases, harness, peers, _ = suite
    modules, _ = harness.available(None)
    monkeypatch.setattr(harness, "FORMS", (peers.Form(library, kind, code),))
    case = next(case for case in cases.CASES if case.kind == kind)
    with pytest.raises(harness.WrongResult):
        harness.runners_of(case, case.build(True), modules, None, 1)


@needs_suite
def test_compare_finds_what_became_slower(suite):
    report = suite[3]

    def result(median: float) -> dict:
        form = {"role": "ours", "library": "gatherscatter", "code": "gs.take(x, i)", "fresh": True}
        form |= {"median": median, "q1": 0.95 * median, "q3": 1.05 * median}
        case = {"case": "5", "name": "take_DRAM", "forms": [form]}
        return {"machine": {"cpu": "one"}, "threads": 2, "quick": False, "cases": [case]}

    text, regressions = report.compare(result(1.0), result(1.5))
    assert regressions == 1 and "**slower**" in text
    text, regressions = report.compare(result(1.0), result(1.05))
    assert regressions == 0 and "**slower**" not in text


@needs_suite
@pytest.mark.parametrize("sweep", ["table", "row"])
def test_sweeps_are_drawn(tmp_path, sweep):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "sweep.png"
    sizes = ["16KiB", "16KiB-int32", "1MiB-int32", "64B"]
    known = [line.split()[0] for line in _suite("--list", "--sweep", sweep).stdout.splitlines()]
    only = [size for size in sizes if size in known]
    done = _suite("--quick", "--sweep", sweep, "--peers", "numpy", "--plot", picture, "--only", *only)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


@needs_suite
def test_pages_are_filled(suite, tmp_path):
    report = suite[3]
    results = [report.load(path) for path in sorted((ROOT / "benchmarks" / "results").glob("*.json"))]
    results.sort(key=lambda result: "cases" in result and not result.get("sweep"))
    page = tmp_path / "page.md"
    for result in results:
        if result.get("more"):
            continue  # it has a part of its own
        if result.get("sweep") or "cases" not in result:
            with pytest.raises(SystemExit, match="at their full sizes"):
                report.write(result, page)
            continue
        page.write_text("before\n<!-- benchmarks: short -->\nold\n<!-- end -->\nafter\n")
        report.write(result, page)
        lines = page.read_text().splitlines()
        assert (lines[0], lines[-1], lines[-2]) == ("before", "after", "<!-- end -->")
        rows = [case for case in result["cases"] if not case["name"].startswith("table_")]
        assert len(lines) == 6 + len(rows)
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="has no"):
        report.write(result, page)
    page.write_text("<!-- benchmarks: shirt -->\n<!-- end -->\n")
    with pytest.raises(SystemExit, match="shirt"):
        report.write(result, page)


@needs_suite
def test_only_the_fastest_form_of_a_library_is_timed(suite):
    harness = suite[1]

    def runner(role, library, seconds):
        one = harness.Runner(role, library, "", "", True, lambda first, calls: seconds)
        one.first = [seconds]
        return one

    runners = [runner("ours", "gs", 1.0), runner("peer", "a", 1.0), runner("peer", "a", 3.5), runner("peer", "b", 2.5)]
    harness._plan_rounds(runners, 10.0, False)
    assert [one.rounds for one in runners] == [5, 5, 0, 3]
    assert runners[2].summary()["rounds"] == 0 and runners[2].outdone


@needs_suite
def test_every_form_of_the_gpu_suite_is_right():
    """On the CPU the GPU suite checks results, and that only our forms are given our bounds rules; nothing is timed."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", "--quick", "--device", "cpu"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "| 27 gather_nd |" in done.stdout and "Incompatible" not in done.stdout


@needs_suite
def test_decisions_are_forced_in_processes_of_their_own(tmp_path):
    done = _suite("--decisions", "--quick", "--only", "take_L1", "bad_index", "--json", tmp_path / "d.json")
    assert done.returncode == 0, done.stderr
    entries = load_result(tmp_path / "d.json")["decisions"]
    assert [entry["name"] for entry in entries] == ["take_L1", "bad_index"]
    for entry in entries:
        forced = ("stream always", "stream never", "fetch always", "fetch never", "one thread", "all threads")
        assert all(entry[name] > 0 for name in ("median", *forced))
        assert f"| {entry['name']} |" in done.stdout


@needs_suite
def test_work_is_measured_for_each_number_of_threads(tmp_path):
    done = _suite("--work", "--quick", "--only", "last wins", "table", "--json", tmp_path / "w.json")
    assert done.returncode == 0, done.stderr
    entries = load_result(tmp_path / "w.json")["work"]
    assert {"last wins, uniform", "last wins, zipf"} <= {entry["call"] for entry in entries}
    for entry in entries:
        assert list(entry["cpu"]) == list(entry["wall"]) == ["1", "2", "4", "8", "16"]
        assert all(seconds >= 0 for seconds in [*entry["cpu"].values(), *entry["wall"].values()])
        assert f"| {entry['call']} |" in done.stdout


@needs_suite
def test_calls_that_record_gradients_are_right(suite):
    pytest.importorskip("torch", reason="torch is not installed")
    from benchmarks import gradients

    cases = list(gradients.cases(True))
    for case in cases:
        gradients._check(case)
    assert sum(case.is_large for case in cases) == 9
    assert len([case for case in cases if case.inputs and not case.is_large]) == 7
    (entry,) = gradients.measure(["index_add"], True)  # one of the large calls, of which each has two processes
    assert entry["peak_bytes"].keys() == {"torch", "gatherscatter"}


@needs_suite
def test_gradients_are_measured_beside_torch(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    only = ["gather_nd", "embedding rows", "training step"]
    done = _suite("--torch", "--quick", "--only", *only, "--json", tmp_path / "g.json")
    assert done.returncode == 0, done.stderr
    entries = load_result(tmp_path / "g.json")["gradients"]
    names = ["gather_nd of 16", "embedding rows of 16", "training step, eager", "training step, compiled"]
    assert [entry["call"] for entry in entries] == names
    assert all(entry["torch"] > 0 and entry["gatherscatter"] > 0 for entry in entries)
    assert all(name in done.stdout for name in names)


@needs_suite
def test_jitted_calls_are_measured_beside_jax(tmp_path):
    pytest.importorskip("jax", reason="jax is not installed")
    done = _suite("--jax", "--quick", "--json", tmp_path / "j.json")
    entries = load_result(tmp_path / "j.json")["jitted"]
    assert len(entries) == 9 and all(entry["JAX"] > 0 and entry["gatherscatter"] > 0 for entry in entries)
    assert all(entry["call"] in done.stdout for entry in entries)


def test_growth_of_work_is_the_processor_time_of_sixteen_threads_over_one(suite):
    from benchmarks import work

    cpu = {"1": 2e-3, "2": 2e-3, "4": 3e-3, "8": 3e-3, "16": 5e-3}
    wall = cpu | {"2": 1.5e-3}
    row = work.table([{"call": "a call", "cpu": cpu, "wall": wall}]).splitlines()[2]
    assert row == "| a call | 2.0 | 2.0 | 3.0 | 3.0 | 5.0 | 2.50 | 0.75 |"


@needs_suite
def test_sizes_and_levels_are_added_to_one_file(tmp_path):
    result_file = tmp_path / "d.json"
    done = _suite("--sizes", "--quick", "--only", "rows_64B-64KiB", "scatter_rows-1024MiB", "--json", result_file)
    assert done.returncode == 0, done.stderr
    assert "| rows_64B-64KiB-64KiB |" in done.stdout and "| scatter_rows-1024MiB-4MiB |" in done.stdout
    done = _suite("--levels", "--quick", "--only", "take_LLC", "--json", result_file)
    assert done.returncode == 0, done.stderr
    result = load_result(result_file)
    assert [entry["name"] for entry in result["sizes"]] == ["rows_64B-64KiB-64KiB", "scatter_rows-1024MiB-4MiB"]
    assert all(entry["median"] > 0 and entry["one thread"] > 0 for entry in result["sizes"])
    assert [entry["name"] for entry in result["levels"]] == ["take_LLC"]
    assert result["levels"][0]["baseline"] > 0
    assert len(result["runs"]) == 2
    assert all({"cpu", "command", "commit"} <= run["machine"].keys() for run in result["runs"])


@needs_suite
def test_sizes_reach_from_64_kib_to_1_gib(suite):
    from benchmarks.decision_sizes import CELLS, FAMILIES

    for family in FAMILIES:
        cells = [cell for cell in CELLS if cell.family == family]
        assert len({cell.name for cell in cells}) == len(cells)
        assert {64 << 10, 1 << 30} <= {cell.source for cell in cells}
        assert {64 << 10, 64 << 20} <= {cell.result for cell in cells}


@needs_suite
def test_a_wrong_decision_is_named(suite):
    from benchmarks import decisions

    right = {"stream always": 1.3, "stream never": 1.0, "fetch always": 0.95, "fetch never": 1.1}
    entries = [
        {"case": "1", "name": "good", "code": "", "median": 1e-3, **right},
        {"case": "2", "name": "bad", "code": "", "median": 1e-3, **right, "stream always": 0.7, "fetch never": 0.8},
    ]
    lines = decisions.table(entries).splitlines()
    assert lines[2] == "| good | 1 ms | 1.30 | 1.00 | 0.95 | 1.10 |" + 4 * " \N{EN DASH} |" + "  |"
    assert lines[3].endswith("| **stream always** |")


@needs_suite
def test_parquet_files(tmp_path):
    done = _suite("--parquet", "--quick", "--threads", "2", "--json", tmp_path / "result.json")
    assert done.returncode == 0, done.stderr
    entries = load_result(tmp_path / "result.json")["parquet"]
    assert [entry["name"] for entry in entries] == [f"{how} {n}" for how in ("uniform", "clustered") for n in (16, 64)]
    assert all({"ours", "pyarrow", "decoding"} <= entry["seconds"].keys() for entry in entries)
    again = _suite("--parquet", "--load", tmp_path / "result.json")
    assert again.returncode == 0 and "| 16 uniform |" in again.stdout


@needs_suite
def test_kept_results_are_small_and_packed(suite, monkeypatch):
    """Results keep medians and quartiles: a run of the suite is one line for each form."""
    from benchmarks import packed

    files = sorted((ROOT / "benchmarks" / "results").rglob("*.json"))
    assert sum(file.stat().st_size for file in files) < 1_200_000
    for file in files:
        text = file.read_text()
        assert packed.dumps(packed.loads(text)) == text, file.name


@needs_suite
def test_every_case_has_a_name_in_plain_words(suite):
    from benchmarks import tasks

    assert set(tasks.TASKS) == {case.name for case in suite[0].CASES}
