"""test_benchmarks_files.py: the benchmark of files that are not in memory: forms, JSON, page. Nothing is timed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark_results import load_result

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks" / "results" / "amd-epyc-zen4-2-threads-files.json"
needs_suite = pytest.mark.skipif(
    not (ROOT / "benchmarks" / "__main__.py").exists(), reason="tests run outside the repository: no benchmarks/ here"
)


def _files(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--files", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )


@needs_suite
def test_every_form_is_run_and_written(tmp_path):
    done = _files("--quick", "--folder", tmp_path, "--json", tmp_path / "f.json")
    if "keeps its pages in memory" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    result = load_result(tmp_path / "f.json")
    tables = [4, 4] if importlib.util.find_spec("pyarrow") else []
    cases = {entry["case"]: entry["seconds"] for entry in result["files"]}
    assert [len(forms) for forms in cases.values()] == [6, 6, 6, *tables, 4, 4, 2]
    assert all(seconds > 0 for forms in cases.values() for seconds in forms.values())
    assert result["disk"]["random_pages_per_second"] > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "f.json"]  # its own file is gone
    again = _files("--load", tmp_path / "f.json")
    assert again.returncode == 0, again.stderr
    for case, forms in cases.items():
        for form in forms:
            assert f"| {case} | `{form}` |" in again.stdout


@needs_suite
def test_the_note_shows_the_committed_result(tmp_path):
    page = tmp_path / "files.md"
    before = (ROOT / "benchmarks" / "notes" / "2026-11-files.md").read_text()
    page.write_text(before)
    done = _files("--load", RESULT, "--write", page)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == before
