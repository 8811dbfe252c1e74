"""test_tune.py: the command `tune`: where it puts a threshold, what it advises, and that it runs."""

import importlib.util
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
    tables = 1 if importlib.util.find_spec("pyarrow") else 0
    assert len([line for line in lines if re.match(r"GS_\w+: .* \d+\.\d\d, .* \d+\.\d\d$", line)]) == 5 + tables
    assert "prefetch from" in text and "--quick" in text


def test_without_threads_there_is_no_threshold_for_them():
    done = child_process.start(TUNE, env={"GS_NUM_THREADS": "1"})
    assert done.returncode == 0 and "GS_SERIAL_POINTS: left out" in done.stderr
    assert "GS_SERIAL" not in done.stdout and "GS_STREAM_BYTES: " in done.stdout
