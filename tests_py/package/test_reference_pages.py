"""test_reference_pages.py: the reference of the site has one page for every public name, and none for a private one."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import gatherscatter as gs

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def reference_pages():
    # The site documents these modules, which need their libraries.
    for name in ("torch", "jax", "dask.array"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    spec = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_a_home(reference_pages):
    pages = reference_pages.pages()
    assert {"gatherscatter", "gatherscatter.table", "gatherscatter.errors", "gatherscatter.torch"} <= {*pages}
    for name in gs.__all__:
        if inspect.ismodule(getattr(gs, name)):
            assert f"gatherscatter.{name}" in pages
        else:
            assert name in pages["gatherscatter"]
    for names in pages.values():
        for where, own in names.values():
            assert pages[where][own] == (where, own)


def test_private_names_have_no_page(reference_pages):
    for module, names in reference_pages.pages().items():
        assert not any(part.startswith("_") for part in module.split("."))
        assert not [name for name in names if name.startswith("_") and name != "__version__"]


def test_names_that_repeat_another_have_no_page_of_their_own(reference_pages):
    pages = reference_pages.pages()
    assert pages["gatherscatter.torch"]["gather"] == ("gatherscatter", "gather")
    assert pages["gatherscatter"]["OutOfBoundsError"] == ("gatherscatter.errors", "OutOfBoundsError")
    assert pages["gatherscatter.table"]["gather"] == ("gatherscatter.table", "gather")


def test_written_pages(reference_pages, tmp_path):
    (tmp_path / "old.rst").write_text("a page of a name that is gone")
    reference_pages.write(tmp_path)
    written = {path.stem for path in tmp_path.glob("*.rst")}
    own = {f"{where}.{name}" for names in reference_pages.pages().values() for where, name in names.values()}
    assert written == own | {f"{module}.module" for module in reference_pages.modules()}
    assert ".. autofunction:: gatherscatter.gather\n" in (tmp_path / "gatherscatter.gather.rst").read_text()
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.rst")}
    reference_pages.write(tmp_path)
    assert times == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.rst")}


def test_the_first_page_names_every_module(reference_pages):
    linked = set(re.findall(r"<reference/(.*?)\.module>", (DOCS / "reference.md").read_text(encoding="utf-8")))
    assert linked == {name for name in reference_pages.modules() if not name.startswith("gatherscatter.compat.")}


def test_summaries_are_sentences(reference_pages):
    assert reference_pages.summary(gs.gather) == "Gather elements along a dimension, or slices along an axis."
    assert reference_pages.summary(gs.errors).startswith("The exceptions of the package")
    assert reference_pages.summary(gs.cuda).startswith("Availability and names of GPUs")
