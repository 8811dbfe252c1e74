"""test_config.py: show_config, and the settings from the environment."""

import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path

import pytest

import child_process
import gatherscatter as gs

# ---- show_config


def test_version():
    assert gs.__version__ == importlib.metadata.version("gatherscatter")
    assert gs.show_config()["version"] == gs.__version__


def test_show_config_has_plausible_values():
    config = gs.show_config()
    json.dumps(config)
    assert config["isa"] in processor_levels()
    assert config["threads"] == gs.get_num_threads() >= 1
    assert config["backend"] in ("cpu", "reference")
    assert config["l2_bytes"] >= 1 << 16 and config["llc_bytes"] >= config["l2_bytes"]
    assert config["pool_enabled"] in (True, False)
    assert config["cuda"]["built"] or config["cuda"]["reason"]


def test_show_config_is_a_copy():
    gs.show_config().clear()
    assert gs.show_config()["version"] == gs.__version__


def test_info_on_the_command_line():
    code = "import sys, runpy; sys.argv = ['', 'info']; runpy.run_module('gatherscatter', run_name='__main__')"
    text = child_process.run(code)
    assert gs.__version__ in text and gs.show_config()["isa"] in text


def test_public_names_are_there():
    for name in gs.__all__:
        assert getattr(gs, name) is not None
    assert {"gather", "take", "take_along_axis", "tile_gather", "plan", "explain", "OutOfBoundsError"} <= set(
        gs.__all__
    )


# ---- settings from the environment

THRESHOLDS = {  # its name in show_config: the variable
    "far_table_bytes": "GS_FAR_TABLE_BYTES",
    "stream_bytes": "GS_STREAM_BYTES",
    "serial_points": "GS_SERIAL_POINTS",
    "gather_percent": "GS_GATHER_PERCENT",
}
REFUSED = [
    *[("GS_NUM_THREADS", value) for value in ("0", "-2", "many", "1.5", "2 3", "9" * 30)],
    *[("GS_CPU", value) for value in ("avx9", "v5", "V3 ", "3")],
    *[("GS_BACKEND", value) for value in ("cuda", "gpu", "none")],
    *[("GS_POOL", value) for value in ("maybe", "2", "-1")],
    *[("GS_L2_BYTES", value) for value in ("-1", "big", "1e6", "9" * 30)],
    *[("GS_LLC_BYTES", value) for value in ("-1", "big", "1MB", "9" * 30)],
    *[("GS_DEVICES", value) for value in ("foo", "CUDA", "")],
    *[("GS_REFERENCE_SHUFFLE", value) for value in ("-1", "x", "1.5", "9" * 5000)],
    *[(name, value) for name in THRESHOLDS.values() for value in ("0", "-1", "4M", "", "9" * 30)],
]
IMPORT = "import gatherscatter"
CONFIG = "import json, gatherscatter as gs; print(json.dumps(gs.show_config(), default=str))"


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=lambda text: text)
def test_a_setting_that_makes_no_sense_is_an_import_error(name, value):
    done = child_process.start(IMPORT, env={name: value})
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError") and name in last, done.stderr


SLIPS = {
    "GS_NUM_THREAD": "GS_NUM_THREADS",
    "GS_NUMTHREADS": "GS_NUM_THREADS",
    "gs_num_threads": "GS_NUM_THREADS",
    "GS_NUM_TRHEADS": "GS_NUM_THREADS",
    "GS_CPUS": "GS_CPU",
    "GS_POLO": "GS_POOL",
    "GS_PLOO": "GS_POOL",
    "GS_POLL": "GS_POOL",
    "GS_BACKENDS": "GS_BACKEND",
    "Gs_Stream_Byte": "GS_STREAM_BYTES",
    "GS_DEVISES": "GS_DEVICES",
    "GS_BAKENDS": "GS_BACKEND",
    "GS_NUMTHREAD": "GS_NUM_THREADS",
    "GS_NMTHREAD": "GS_NUM_THREADS",
    "GS_CPUU1": "GS_CPU",
    "GS_ROOT": None,
    "GS_PORT": None,
    # Not logged: names that are settings, names of Ghostscript or of the build, and names that differ too much.
    "GS_SERIAL_POINTS": None,
    "GS_SERIAL_POINTS_FAR": "GS_SERIAL_POINTS",
    "GS_DEVICE": None,
    "GS_LIB": None,
    "GS_OPTIONS": None,
    "GS_FONTPATH": None,
    "GS_PTX_DEVICES": None,
    "GS_PTX_POOL": None,
    "GS_CUDA": None,
    "GS_MESSAGES": None,
    "GSNUM_THREADS": None,
    "NUM_THREADS": None,
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_name_that_is_nearly_a_setting_is_logged(name):
    done = child_process.start(IMPORT, env={name: "1"})
    assert done.returncode == 0, done.stderr
    meant = SLIPS[name]
    told = (
        []
        if meant is None
        else [f"the environment variable {name} is not a setting of gatherscatter; did you mean {meant}?"]
    )
    assert done.stderr.splitlines() == told


def test_unknown_settings_are_logged_as_warnings():
    code = (
        "import logging, sys\n"
        "logging.basicConfig(format='%(name)s %(levelname)s %(message)s', stream=sys.stdout)\n"
        "import gatherscatter"
    )
    said = child_process.run(code, env={"GS_NUM_THREAD": "1", "GS_CPUU": "v3"}).splitlines()
    assert sorted(line.partition(" the")[0] for line in said) == ["gatherscatter WARNING"] * 2


def test_every_setting_that_the_documents_name_is_known():
    from gatherscatter._settings import environment

    root = Path(__file__).resolve().parents[2]
    texts = [root / "README.md", *(root / "docs").rglob("*.md")]
    named = {name for text in texts for name in re.findall(r"`(GS_[A-Z0-9_]+)", text.read_text())}
    others = {"GS_CUDA", "GS_CUDA_ARCHITECTURES", "GS_NUM_THREAD"}
    assert {name for name in named - others if not name.startswith("GS_PTX_")} == {*environment.SETTINGS}


def processor_levels():
    """The levels of this processor as /proc/cpuinfo shows them, independent of gatherscatter."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ["baseline"]
    with open("/proc/cpuinfo") as lines:
        flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    levels = ["baseline"]
    if {"avx2", "bmi1", "bmi2", "fma", "f16c", "movbe"} <= flags:
        levels.append("v3")
        if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
            levels.append("v4")
    return levels


@pytest.mark.parametrize("level", ["baseline", "v3", "v4"])
def test_the_level_of_the_processor(level):
    if level in processor_levels():
        assert child_process.run_json(CONFIG, env={"GS_CPU": level})["isa"] == level
    else:
        done = child_process.start(IMPORT, env={"GS_CPU": level})
        assert done.returncode == 1 and "ImportError" in done.stderr and "GS_CPU" in done.stderr


def test_the_best_level_is_the_default():
    assert child_process.run_json(CONFIG, env={})["isa"] == processor_levels()[-1]


WORK = """
import json, numpy as np, gatherscatter as gs
x = np.arange(1 << 20).reshape(1 << 14, 64)
index = np.random.default_rng(1).integers(-(1 << 14), 1 << 14, 30_000)
assert (gs.take(x, index, axis=0) == x[index]).all()
rows = index[:1 << 14, None] % 64
assert (gs.gather(x, 1, rows) == np.take_along_axis(x, rows, 1)).all()
inside = (index >= 0)
assert (gs.tile_gather(x, (index, index % 64), padding_value=-5) == np.where(inside, x[index, index % 64], -5)).all()
plan = gs.explain(gs.take, x, index, axis=0).to_dict()
print(json.dumps({"config": gs.show_config(), "plan": plan, "threads": gs.get_num_threads()}, default=str))
"""


@pytest.mark.parametrize("level", ["baseline", "v3", "v4"])
def test_every_level_gives_the_answer(level):
    if level not in processor_levels():
        pytest.skip(f"this processor has no level {level}")
    assert child_process.run_json(WORK, env={"GS_CPU": level})["config"]["isa"] == level


def test_the_reference_backend_gives_the_answer():
    answer = child_process.run_json(WORK, env={"GS_BACKEND": "reference"})
    assert answer["config"]["backend"] == "reference" and answer["plan"]["backend"] == "reference"
    assert child_process.run_json(WORK, env={"GS_BACKEND": "cpu"})["config"]["backend"] == "cpu"


def test_the_number_of_threads():
    assert child_process.run_json(WORK, env={"GS_NUM_THREADS": "3"})["threads"] == 3


def test_the_default_number_of_threads_is_what_we_may_use():
    assert 1 <= child_process.run_json(WORK, env={})["threads"] <= len(os.sched_getaffinity(0))


def test_the_affinity_mask_counts():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + WORK
    assert child_process.run_json(code, env={})["threads"] == 1


def test_the_pool_can_be_off():
    assert child_process.run_json(WORK, env={"GS_POOL": "0"})["config"]["pool_enabled"] is False
    assert child_process.run_json(WORK, env={})["config"]["pool_enabled"] is True


def test_cache_sizes():
    answer = child_process.run_json(WORK, env={"GS_L2_BYTES": "1048576", "GS_LLC_BYTES": "33554432"})
    assert (answer["config"]["l2_bytes"], answer["config"]["llc_bytes"]) == (1 << 20, 1 << 25)


def test_the_thresholds_follow_the_caches():
    sizes = child_process.run_json(CONFIG, env={"GS_L2_BYTES": "1000", "GS_LLC_BYTES": "50000"})
    assert (sizes["far_table_bytes"], sizes["stream_bytes"]) == (4000, 25000)
    assert sizes["far_vector_bytes"] == (9000 if sizes["isa"] == "v4" else 4000)
    assert sizes["far_column_bytes"] == 2000
    far = child_process.run_json(CONFIG, env={"GS_FAR_TABLE_BYTES": "7"})
    assert (far["far_vector_bytes"], far["far_column_bytes"]) == (7, 7)
    assert child_process.run_json(CONFIG, env={"GS_L2_BYTES": str(2**63 - 1)})["far_table_bytes"] == 2**63 - 1
    assert child_process.run_json(CONFIG, env={"GS_LLC_BYTES": "1"})["stream_bytes"] == 1


def test_only_a_cache_size_from_the_user_decides_what_bypasses_it():
    """The cache that the processor reports may be shared with hundreds of processors of other tenants."""
    assert child_process.run_json(CONFIG)["stream_bytes"] == 16 << 20
    for size in (64 << 20, 480 << 20):
        assert child_process.run_json(CONFIG, env={"GS_LLC_BYTES": str(size)})["stream_bytes"] == size // 2


@pytest.mark.parametrize("value", [1, 2**63 - 1])
def test_every_threshold_can_be_set(value):
    """Thresholds that turn on prefetching, streaming stores and threads for all calls, or for none."""
    answer = child_process.run_json(WORK, env=dict.fromkeys(THRESHOLDS.values(), str(value)))
    assert {name: answer["config"][name] for name in THRESHOLDS} == dict.fromkeys(THRESHOLDS, value)
    assert answer["plan"]["threads"] == (answer["threads"] if value == 1 else 1)


@pytest.mark.parametrize("value", [1, 8, 16384, 2**63 - 1])
def test_one_number_of_points_says_when_threads_pay(value):
    config = child_process.run_json(CONFIG, env={"GS_SERIAL_POINTS": str(value)})
    assert config["serial_points_far"] == max(value // 4, 1)
    assert config["serial_row_bytes"] == min(8 * value, 2**63 - 1)
    assert config["serial_near_bytes"] == min(32 * value, 2**63 - 1)
    assert {config["sources"][name] for name in config["sources"] if "serial" in name} == {"GS_SERIAL_POINTS"}
    if value == 16384:
        default = child_process.run_json(CONFIG)
        assert {name: default[name] for name in default if "serial" in name} == {
            name: config[name] for name in config if "serial" in name
        }


@pytest.mark.parametrize("value", [1, 2**63 - 1])
def test_columns_are_right_on_both_sides_of_their_threshold(value):
    """With prefetching from all columns, or from none, the rows are those of pyarrow."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    code = """
import json, numpy as np, pyarrow as pa, gatherscatter as gs
n = 5000
texts = [None if k % 7 == 0 else "x" * (k % 50) for k in range(n)]
columns = {"i": pa.array(range(n), pa.int32()), "t": pa.array(texts), "l": pa.array([[k] * (k % 4) for k in range(n)])}
table, rows = pa.table(columns), np.random.default_rng(1).integers(0, n, 3 * n)
chunks = pa.concat_tables([table, table.slice(17)])
same = all(gs.table.gather(source, rows).equals(source.take(rows).combine_chunks()) for source in (table, chunks))
print(json.dumps([same, gs.show_config()["far_column_bytes"]]))
"""
    assert child_process.run_json(code, env={"GS_FAR_TABLE_BYTES": str(value)}) == [True, value]


def test_every_form_of_a_gather_says_its_name():
    code = """
import json, numpy as np, gatherscatter as gs
square, columns = np.zeros((512, 4096), "f4"), np.zeros((512, 4096), "i8")
calls = [(gs.take, np.zeros(100, "u1"), np.zeros(1000, "u1")), (gs.gather, square, 0, columns)]
print(json.dumps([gs.explain(*call).to_dict()["kernel"] for call in calls]))
"""
    byte_table, tiles = child_process.run_json(code)
    assert byte_table.split(" ", 1)[1] in ("byte table", "elements")  # "byte table" where the processor has VBMI
    assert tiles.split(" ", 1)[1] == "column tiles"


@pytest.mark.parametrize("level", ["baseline", "v3", "v4"])
def test_the_kernels_in_use_are_those_of_the_level_that_was_asked_for(level):
    levels = ["baseline", "v3", "v4"]
    if levels.index(level) > levels.index(gs.show_config()["isa_supported"]):
        pytest.skip(f"this processor lacks {level}")
    code = """
import json, numpy as np, gatherscatter as gs
x, index = np.arange(9.0), np.arange(4)
many = np.zeros(100_000, "i8")
plans = [
    gs.explain(gs.take, x, index),
    gs.explain(gs.take, x, index, mode="wrap"),
    gs.explain(gs.gather, x, 0, index),
    gs.explain(gs.take, x, many),
]
print(json.dumps([plan.to_dict()["kernel"] for plan in plans]))
"""
    kernels = child_process.run_json(code, env={"GS_CPU": level})
    large = "vectors" if level == "v4" else "elements"
    assert kernels == [f"{level} short", f"{level} blocks", f"{level} short", f"{level} {large}"]
