"""test_numpy_own_tests.py: the tests that NumPy ships for take and take_along_axis, run on our functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numpy_faces import Calls, load, uses_of_the_faces

pytestmark = pytest.mark.filterwarnings("default")  # NumPy's tests have their own idea of warnings

MODULES = [
    "numpy._core.tests.test_dtype",
    "numpy._core.tests.test_indexerrors",
    "numpy._core.tests.test_indexing",
    "numpy._core.tests.test_item_selection",
    "numpy._core.tests.test_multiarray",
    "numpy._core.tests.test_numeric",
    "numpy._core.tests.test_regression",
    "numpy._core.tests.test_stringdtype",
    "numpy.fft.tests.test_helper",
    "numpy.lib.tests.test_arraysetops",
    "numpy.lib.tests.test_shape_base",
    "numpy.ma.tests.test_core",
    "numpy.ma.tests.test_old_ma",
]

# Tests whose helper methods call take.
THROUGH_HELPERS = [
    ("numpy._core.tests.test_multiarray", "TestTake", "test_ip_types"),
    ("numpy._core.tests.test_indexing", "TestMultiIndexingAutomated", "test_multidim"),
    ("numpy._core.tests.test_indexing", "TestMultiIndexingAutomated", "test_1d"),
]

REFERENCES = "items that are references to Python objects are refused (docs/design.md)"
DESELECTED = {
    ("TestStructuredObjectRefcounting", "test_structured_object_take_and_repeat"): REFERENCES,
    ("TestIndexErrors", "test_take_from_object"): REFERENCES,
    ("TestTake", "test_refcounting"): REFERENCES,
    ("TestRegression", "test_take_object_fail"): REFERENCES,
    ("TestRegression", "test_object_array_refcounting"): REFERENCES,
    ("TestMaskedArrayArithmetic", "test_TakeTransposeInnerOuter"): REFERENCES,
    ("TestMa", "test_testTakeTransposeInnerOuter"): REFERENCES,
    (None, "test_take"): REFERENCES + "; this one is of StringDType",
    (
        "TestFFTShift",
        "test_equal_to_original",
    ): "take is only called by the test's own second implementation of fftshift",
    ("TestPutAlongAxis", "test_broadcast"): "needs put_along_axis, which comes with scatter",
}

# At least as many as NumPy 2.0 has; a NumPy that ships fewer would make this file say less than it seems to.
FEWEST = 25


def selected() -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for module in MODULES:
        for owner, test in uses_of_the_faces(module):
            if (owner, test) not in DESELECTED:
                assert owner is not None, f"{module}::{test} needs a place here"
                found.setdefault((module, owner), set()).add(test)
    for module, owner, test in THROUGH_HELPERS:
        found.setdefault((module, owner), set()).add(test)
    return found


def only(cls: type, tests: set[str]) -> type:
    """The class with those of its tests, its setup and its helpers."""
    keep = {name: part for name, part in vars(cls).items() if not name.startswith("test") or name in tests}
    keep.pop("__dict__", None)
    keep.pop("__weakref__", None)
    return type(cls.__name__, cls.__bases__, keep)


SELECTED = selected()
LOADED = {module: load(module) for module in {module for module, _ in SELECTED}}
# One test loops over int, object and a structured type: strings of four bytes stand in for the second.
vars(LOADED["numpy._core.tests.test_item_selection"])["object"] = np.dtype("S4")

for (_module, _class), _tests in SELECTED.items():
    globals()[f"{_class}_in_{_module.rpartition('.')[2]}"] = only(vars(LOADED[_module])[_class], _tests)


@pytest.fixture(autouse=True)
def reaches_our_functions(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.node.name == "test_ip_types":  # loops over all types of NumPy
        others = [kind for kind in np._core.sctypes["others"] if kind is not np.object_]
        monkeypatch.setitem(np._core.sctypes, "others", others)
    before = Calls.count
    yield
    if "_in_" in (request.node.cls.__name__ if request.node.cls else ""):
        assert Calls.count > before, "the rewritten test does not call take or take_along_axis"


def test_enough_of_numpys_tests_are_here():
    assert sum(len(tests) for tests in SELECTED.values()) >= FEWEST
    assert {owner for _, owner in SELECTED} >= {"TestTake", "TestTakeAlongAxis", "TestMaskedArrayMethods"}


def test_what_is_deselected_exists():
    """A name that NumPy no longer has is no reason to leave anything out."""
    existing = {case for module in MODULES for case in uses_of_the_faces(module)}
    assert DESELECTED.keys() <= existing
