"""test_numpy_own_tests.py: the tests that NumPy ships for take, put, compress and related functions, on ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numpy_faces import Calls, load, uses_of_the_faces

# NumPy's tests expect other warning filters.
pytestmark = pytest.mark.filterwarnings("default", "ignore::PendingDeprecationWarning")

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
    "numpy.lib.tests.test_function_base",
    "numpy.lib.tests.test_nanfunctions",
    "numpy.lib.tests.test_shape_base",
    "numpy.ma.tests.test_core",
    "numpy.ma.tests.test_old_ma",
]

# Tests that call the functions in their helper methods, or find them by name.
THROUGH_HELPERS = [
    ("numpy._core.tests.test_multiarray", "TestTake", "test_ip_types"),
    ("numpy._core.tests.test_multiarray", "TestPutmask", "test_ip_types"),
    ("numpy._core.tests.test_regression", "TestRegression", "test_method_args"),
    ("numpy.matrixlib.tests.test_defmatrix", "TestMatrixReturn", "test_instance_methods"),
    ("numpy._core.tests.test_indexing", "TestMultiIndexingAutomated", "test_multidim"),
    ("numpy._core.tests.test_indexing", "TestMultiIndexingAutomated", "test_1d"),
]

REFERENCES = "items that are references to Python objects are refused (docs/design.md)"
OF_STRINGS = REFERENCES + "; this one is of StringDType"
SIGNATURE = "about signatures of NumPy's own functions, calls none"
DESELECTED = {
    ("TestTake", "test_refcounting"): REFERENCES,
    ("TestRegression", "test_take_object_fail"): REFERENCES,
    ("TestRegression", "test_object_array_refcounting"): REFERENCES,
    ("TestMaskedArrayArithmetic", "test_TakeTransposeInnerOuter"): REFERENCES,
    ("TestMa", "test_testTakeTransposeInnerOuter"): REFERENCES,
    (None, "test_take"): OF_STRINGS,
    ("TestTextSignatures", "test_c_func_dispatcher_signature"): SIGNATURE,
    (None, "test_frommethod_signature"): SIGNATURE,
    ("TestMaskedArrayMethods", "test_putmask"): "numpy.ma.putmask is another function, which writes masks too",
    (
        "TestFFTShift",
        "test_equal_to_original",
    ): "take is only called by the test's own second implementation of fftshift",
}

if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    for test in (("TestTake", "test_out_dtype"), ("TestRegression", "test_compress_small_type")):
        DESELECTED[test] = "out must have the dtype of the result: NumPy casts it, and unsafely"
    for name in ("put", "putmask", "place", "indexing_ops"):
        DESELECTED[None, f"test_{name}_distinct_allocators"] = OF_STRINGS
    DESELECTED[None, "test_putmask_distinct_allocators_na"] = OF_STRINGS
    # The test of 2.5.2 takes from no such axis; NumPy 2.4 hangs there.
    if np.lib.NumpyVersion(np.__version__) >= "2.5.5":
        DESELECTED["TestTake", "test_wrap"] = "an axis of size 0 has no position, also under wrap (docs/indices.md)"
else:
    DESELECTED["TestStructuredObjectRefcounting", "test_structured_object_take_and_repeat"] = REFERENCES

# In a test that loops over several dtypes, another dtype replaces that of references.
STAND_INS = {
    "numpy._core.tests.test_indexerrors": {
        "test_put_exceptions": {"object": "S4"},
        "test_take_from_object": {"object": "S4"},
    },
    "numpy._core.tests.test_item_selection": {
        "test_empty": {"i,O": "i,f"},
        "test_simple": {"i,O": "i,f", "object": "S4"},
    },
    "numpy._core.tests.test_multiarray": {"test_put": {"O": "D"}},
}

# The number of these tests in NumPy 2.0. With fewer tests in a release, this file would silently check less.
FEWEST = 58


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
    """The class with only these of its tests, and with its setup and helpers."""
    keep = {name: part for name, part in vars(cls).items() if not name.startswith("test") or name in tests}
    keep.pop("__dict__", None)
    keep.pop("__weakref__", None)
    return type(cls.__name__, cls.__bases__, keep)


SELECTED = selected()
LOADED = {module: load(module, STAND_INS.get(module, {})) for module in {module for module, _ in SELECTED}}

for (_module, _class), _tests in SELECTED.items():
    globals()[f"{_class}_in_{_module.rpartition('.')[2]}"] = only(vars(LOADED[_module])[_class], _tests)


@pytest.fixture(autouse=True)
def reaches_our_functions(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.node.name == "test_ip_types":  # the test loops over all types of NumPy
        others = [kind for kind in np._core.sctypes["others"] if kind is not np.object_]
        monkeypatch.setitem(np._core.sctypes, "others", others)
    before = Calls.count
    yield
    if "_in_" in (request.node.cls.__name__ if request.node.cls else ""):
        assert Calls.count > before, "the rewritten test calls none of our functions"


def test_enough_of_numpys_tests_are_here():
    assert sum(len(tests) for tests in SELECTED.values()) >= FEWEST
    owners = {owner for _, owner in SELECTED}
    assert owners >= {"TestTake", "TestTakeAlongAxis", "TestPut", "TestPutMask", "TestPutAlongAxis", "TestCompress"}
    assert owners >= {"TestMaskedArrayMethods", "TestExtins", "TestWritebackIfCopy"}


def test_what_is_deselected_exists():
    """A test that NumPy no longer has must be removed from the list."""
    existing = {case for module in MODULES for case in uses_of_the_faces(module)}
    assert DESELECTED.keys() <= existing
