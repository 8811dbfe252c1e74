"""conftest.py: options and hypothesis profiles, and a summary of all tests that were left out."""

from __future__ import annotations

import importlib.util
import os
import xml.etree.ElementTree
import zlib
from typing import Any

import numpy as np
import pytest

LEFT_OUT_WITHOUT = {
    "torch": "tensors of torch as inputs, indices, masks and outputs; the comparison with torch.gather",
    "jax": "arrays of JAX",
    "ml_dtypes": "bfloat16, float8 and int4 in NumPy arrays",
    "sklearn": "the demo on handwritten digits",
    "matplotlib": "the picture of the demo",
    "onnx": "the node tests of the ONNX standard",
    "expecttest": "the sample and error inputs of torch's own tests, which import it",
    "hypothesis": "the property tests",
    "dask": "Dask arrays and DataFrames",
    "distributed": "Dask on worker processes that fail",
    "pyarrow": "tables: most tests read and compare them by it",
    "polars": "tables of polars",
    "pandas": "tables of pandas",
    "duckdb": "relations of DuckDB",
    "mypy": "the type checks",
    "tqdm": "the bar of progress",
}

OPTIONS = {
    "large": ("--run-large", "tests that need several GiB of memory or of a fast disk"),
    "full_contract": ("--full-contract", "the product of the contract's factors (about an hour) instead of a sample"),
    "every_sample": ("--every-sample", "all of torch's sample inputs instead of some, and every mode compiled"),
    "every_backend": ("--every-backend", "the whole contract once more on every backend and ISA level"),
}

# Tests with this mark run unless --short leaves them out.
LONG = "emulated GPUs, leaks and peaks of memory, the full lists of hostile producers"

if importlib.util.find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile("short", max_examples=150, derandomize=True, deadline=None, suppress_health_check=slow)
    settings.register_profile("long", max_examples=5_000, deadline=None, suppress_health_check=slow)
    settings.load_profile("short")
else:
    collect_ignore = [
        "arrays/test_properties.py",
        "arrays/test_numpy_put_properties.py",
        "interop/test_torch_properties.py",
        "tables/test_table_pandas.py",
        "tables/test_table_properties.py",
    ]


NOT_ASKED_FOR = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    for mark, (option, what) in OPTIONS.items():
        parser.addoption(option, dest=mark, action="store_true", help=f"run {what}")
    parser.addoption("--short", action="store_true", help=f"leave out the tests that are marked long: {LONG}")
    parser.addoption("--except-passed", metavar="FILE", help="leave out what passed according to a file of --junit-xml")


def pytest_configure(config: pytest.Config) -> None:
    for mark, (option, what) in OPTIONS.items():
        config.addinivalue_line("markers", f"{mark}: {what}; run with {option}")
    config.addinivalue_line("markers", f"long: {LONG}; left out with --short")
    # Child processes of the tests import helpers too, and `pythonpath` serves this process only.
    folders = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), *map(str, config.getini("pythonpath"))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))
    # Python 3.12 and newer warn of a fork beside threads, which is what tests of forks are about, on stderr.
    filters = [*os.environ.get("PYTHONWARNINGS", "").split(","), "ignore:This process:DeprecationWarning"]
    os.environ["PYTHONWARNINGS"] = ",".join(dict.fromkeys(one for one in filters if one))


def passed_in(file: str) -> set[tuple[str, str]]:
    """The class and the name of each test that passed, as the file of --junit-xml has them."""
    cases = xml.etree.ElementTree.parse(file).iter("testcase")
    return {(case.get("classname", ""), case.get("name", "")) for case in cases if not list(case)}


def address_of(item: pytest.Item) -> tuple[str, str]:
    path, _, rest = item.nodeid.partition("::")
    return path.removesuffix(".py").replace("/", "."), rest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if file := config.getoption("except_passed"):
        passed = passed_in(file)
        config.hook.pytest_deselected(items=[item for item in items if address_of(item) in passed])
        items[:] = [item for item in items if address_of(item) not in passed]

    def missing_option(item: pytest.Item) -> str | None:
        if config.getoption("short") and item.get_closest_marker("long"):
            return "long"
        return next((m for m in OPTIONS if item.get_closest_marker(m) and not config.getoption(m)), None)

    config.stash[NOT_ASKED_FOR] = [mark for item in items if (mark := missing_option(item))]
    config.hook.pytest_deselected(items=[item for item in items if missing_option(item)])
    items[:] = [item for item in items if not missing_option(item)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin the random numbers of a module anew, so that those of a test do not depend on the tests before it."""
    module = getattr(item, "module", None)
    if hasattr(module, "RNG"):
        module.RNG = np.random.default_rng(zlib.crc32(item.nodeid.encode()))


# Of pytest -n, whose workers choose the tests, all of them the same ones.
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["not_asked_for"] = session.config.stash.get(NOT_ASKED_FOR, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[NOT_ASKED_FOR] = getattr(node, "workeroutput", {}).get("not_asked_for", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    absent = {name: what for name, what in LEFT_OUT_WITHOUT.items() if importlib.util.find_spec(name) is None}
    terminalreporter.section("left out")
    for name, what in absent.items():
        terminalreporter.line(f"{name} is not installed: {what}")
    left = config.stash.get(NOT_ASKED_FOR, [])
    for mark, (option, what) in OPTIONS.items():
        if mark in left:
            terminalreporter.line(f"{left.count(mark)} tests were not asked for ({option}): {what}")
    if "long" in left:
        terminalreporter.line(f"{left.count('long')} tests were left out (--short): {LONG}")
    reasons = [r.longrepr[2] for r in terminalreporter.stats.get("skipped", []) if isinstance(r.longrepr, tuple)]
    for reason in dict.fromkeys(reasons):
        terminalreporter.line(f"{reasons.count(reason)} tests: {reason}")
    if not (absent or left or reasons):
        terminalreporter.line("nothing")
