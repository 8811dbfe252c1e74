"""test_tune.py: the command `tune`: where it puts a threshold, what it advises, and that it runs."""

import json
import os
import re

import pytest

import child_process
import gatherscatter as gs
from gatherscatter._cli import tune


def found(gains, present=4):
    return tune.Measurement(tune.THRESHOLDS[0], present, dict(zip((1, 2, 4, 8, 16), gains, strict=True)))


@pytest.mark.parametrize(
    ("gains", "measured"),
    [
        ((0.5, 0.6, 0.9, 1.5, 2.0), 8),
        ((0.5, 1.1, 0.6, 1.5, 2.0), 8),  # one outlier upwards, before the threshold
        ((0.5, 1.5, 0.95, 1.5, 2.0), 2),  # one outlier downwards, after the threshold
        ((1.1, 1.2, 1.3, 1.4, 1.5), 1),
        ((0.9, 0.8, 0.7, 0.6, 0.5), tune.NEVER),
    ],
)
def test_where_the_threshold_is_put(gains, measured):
    assert found(gains).measured == measured


def test_only_what_is_clearly_better_is_advised():
    present = found((0.5, 0.6, 1.2, 1.5, 2.0))
    assert present.measured == 4 and present.gain == 1 and not present.is_clear
    slightly = found((0.5, 0.6, 0.97, 1.5, 2.0))
    assert slightly.measured == 8 and 1 < slightly.gain < 1.05 and not slightly.is_clear
    clearly = found((0.5, 0.6, 0.5, 1.5, 2.0))
    assert clearly.measured == 8 and clearly.gain == pytest.approx(2) and clearly.is_clear
    lower = found((0.5, 1.44, 1.2, 1.5, 2.0))
    assert lower.measured == 2 and lower.gain == pytest.approx(1.44)
    text = tune.report([present, clearly])
    assert text.count("export ") == 1 and text.endswith("export GS_FAR_TABLE_BYTES=8")
    assert tune.report([present, slightly]).endswith("Nothing would be clearly better.")
    assert "no size" in tune.report([found((0.9, 0.8, 0.7, 0.6, 0.5))])


def test_every_threshold_is_one_of_the_configuration():
    config = gs.show_config()
    for threshold in tune.THRESHOLDS:
        assert threshold.name in config
        child_process.start("import gatherscatter", env={threshold.variable: "1"}).check_returncode()


TUNE = "import sys, runpy; sys.argv = ['', 'tune', '--quick', '--curves']; "
TUNE += "runpy.run_module('gatherscatter', run_name='__main__')"


def test_it_runs():
    done = child_process.start(TUNE, env={"GS_NUM_THREADS": "2"})
    assert done.returncode == 0, done.stderr
    text, lines = done.stdout, done.stdout.splitlines()
    assert len([line for line in lines if re.match(r"GS_\w+: .* \d+\.\d\d, .* \d+\.\d\d$", line)]) == 3
    assert "prefetch from" in text and "--quick: two sizes are too few" in text
    assert "export" not in text and "would gain" not in text and "clearly better" not in text
    assert re.search(r"prefetch from a source array of +\S+ \S+ +512 KiB, 1 MiB$", text, re.MULTILINE)


def test_without_threads_there_is_no_threshold_for_them():
    done = child_process.start(TUNE, env={"GS_NUM_THREADS": "1"})
    assert done.returncode == 0 and "GS_SERIAL_POINTS: left out" in done.stderr
    assert "GS_SERIAL" not in done.stdout and "GS_STREAM_BYTES: " in done.stdout


# ---- saved thresholds

CONFIG = """
import json, logging
lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("gatherscatter").addHandler(handler)
import gatherscatter as gs
print(json.dumps({"config": gs.show_config(), "file": gs._core.saved_tuning(), "lines": lines}))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A configuration folder of its own, which child processes inherit."""
    for name in [name for name in os.environ if name.startswith("GS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def save_in_child(values, env=None):
    """Save measurements with these values in a process that reads the folder; returns the path of the file."""
    done = child_process.start(saving(values), env=env or {})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def saving(values):
    return f"""
import json
from gatherscatter._cli import tune
by_name = {{threshold.variable: threshold for threshold in tune.THRESHOLDS}}
results = [
    tune.Measurement(by_name[name], 2 * value, {{value // 2: 0.5, value: 2.0, 2 * value: 2.0}})
    for name, value in {values!r}.items()
]
print(json.dumps(tune.save(results)))
"""


def test_saved_thresholds_count_in_later_processes(folder):
    before = child_process.run_json(CONFIG, env={})
    assert set(before["config"]["sources"].values()) == {"default"} and not before["lines"]
    path = save_in_child({"GS_STREAM_BYTES": 1 << 22, "GS_SERIAL_POINTS": 4096})
    assert path == before["file"]["path"] and os.path.dirname(path) == str(folder / "gatherscatter")
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    after = child_process.run_json(CONFIG, env={})
    config, sources = after["config"], after["config"]["sources"]
    assert (config["stream_bytes"], config["serial_points"]) == (1 << 22, 4096)
    assert (sources["stream_bytes"], sources["serial_points"], sources["far_table_bytes"]) == (path, path, "default")
    assert config["far_table_bytes"] == before["config"]["far_table_bytes"] and not after["lines"]
    save_in_child({"GS_FAR_TABLE_BYTES": 1 << 23})  # what was saved before stays
    both = child_process.run_json(CONFIG, env={"GS_SERIAL_POINTS": "77"})["config"]
    assert (both["stream_bytes"], both["far_table_bytes"], both["far_vector_bytes"]) == (1 << 22, 1 << 23, 1 << 23)
    assert both["far_column_bytes"] == 1 << 23 and both["sources"]["far_column_bytes"] == path
    assert (both["serial_points"], both["sources"]["serial_points"]) == (77, "GS_SERIAL_POINTS")
    none = child_process.run_json(CONFIG, env={"GS_TUNING_FILE": ""})["config"]
    assert set(none["sources"].values()) == {"default"}
    elsewhere = child_process.run_json(CONFIG, env={"GS_NUM_THREADS": "5"})["config"]  # the key of another host
    assert set(elsewhere["sources"].values()) == {"default"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace("version ", "version 0."), 'not for "version'),
        (lambda text: text + "GS_STREAM_BYTES many\n", 'the line "GS_STREAM_BYTES many"'),
        (lambda text: "", "does not begin"),
    ],
    ids=["stale", "broken", "empty"],
)
def test_a_file_that_does_not_fit_is_ignored_with_one_line(folder, change, reason):
    path = save_in_child({"GS_STREAM_BYTES": 1 << 22})
    with open(path, encoding="utf-8") as file:
        text = change(file.read())
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    found = child_process.run_json(CONFIG, env={})
    assert set(found["config"]["sources"].values()) == {"default"}
    assert len(found["lines"]) == 1 and path in found["lines"][0] and reason in found["lines"][0]
    save_in_child({"GS_STREAM_BYTES": 1 << 21})  # a new file replaces it
    assert child_process.run_json(CONFIG, env={})["config"]["stream_bytes"] == 1 << 21


def test_saving_needs_a_folder_and_all_sizes(folder):
    refused = child_process.start(saving({"GS_STREAM_BYTES": 1 << 22}), env={"GS_TUNING_FILE": ""})
    assert refused.returncode == 1
    assert refused.stderr == (
        "tune --save: there is no folder to save to; set HOME, XDG_CONFIG_HOME or GS_TUNING_FILE\n"
    )
    argv = "import runpy, sys; sys.argv[1:] = ['tune', '--quick', '--save']"
    command = f"{argv}; runpy.run_module('gatherscatter', run_name='__main__')"
    refused = child_process.start(command, env={})
    assert refused.returncode == 2 and "not allowed with argument" in refused.stderr
    assert not list(folder.iterdir())
