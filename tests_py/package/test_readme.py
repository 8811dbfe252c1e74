"""test_readme.py: every example in README.md, docs/ and docstrings runs and prints what it shows."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import gatherscatter

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if DOCS / "_build" not in path.parents)]
BLOCK = re.compile(r"^```(pycon|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OPTIONAL = ("torch", "jax", "ml_dtypes", "xarray", "dask")
NEEDED_BY = {"gatherscatter.dask": "dask.array", "gatherscatter.jax": "jax"}  # modules whose examples need a library


class Checker(doctest.OutputChecker):
    """Accepts the kernel of every instruction set, because the pages show those of one machine."""

    def check_output(self, want, got, optionflags):
        want, got = (re.sub(r"\bkernel (baseline|v3|v4)\b", "kernel <isa>", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def title(value):
    """The name of a page, or of a library, in the ids of tests."""
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else value


def blocks(page):
    """(kind, code, first line) of every Python block of a page."""
    text = page.read_text(encoding="utf-8")
    return [(match[1], match[2], text.count("\n", 0, match.start()) + 1) for match in BLOCK.finditer(text)]


def library_of(code):
    """The optional library that a block imports, or ""."""
    return next((name for name in OPTIONAL if re.search(rf"\bimport (.*, )?{name}\b", code)), "")


def run(page, wanted):
    """Run the blocks that need no library except those in `wanted`; return the number of blocks."""
    namespace = {"__name__": "__example__"}
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    count = 0
    for kind, code, line in blocks(page):
        if library_of(code) not in ("", wanted):
            continue
        if kind == "python":
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
        else:
            test = doctest.DocTestParser().get_doctest(code, namespace, page.name, str(page), line)
            report = []
            assert runner.run(test, out=report.append, clear_globs=False).failed == 0, "".join(report)
            namespace = test.globs
        count += 1
    return count


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_examples(page):
    assert run(page, "") == sum(library_of(code) == "" for _, code, _ in blocks(page))


@pytest.mark.parametrize(
    ("page", "library"),
    [
        (page, name)
        for page in PAGES
        for name in OPTIONAL
        if any(library_of(code) == name for _, code, _ in blocks(page))
    ],
    ids=title,
)
def test_examples_of_a_library(page, library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    assert run(page, library) > 0


def test_there_are_examples():
    assert blocks(PAGES[0]) and sum(len(blocks(page)) for page in PAGES) >= 140
    assert any(blocks(page) for page in PAGES if page.name == "design.md")


def test_recipes_for_each_kind_of_user():
    """Every recipe has a block, and every block of the page is run by `test_examples` or with its library."""
    sections = re.split(r"^## ", (DOCS / "recipes.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    recipes = [re.split(r"^### ", section, flags=re.MULTILINE)[1:] for section in sections]
    assert [len(each) for each in recipes] == [15, 13, 12, 10]  # the pages that name a number say fifty
    assert all(len(BLOCK.findall(recipe)) == 1 for each in recipes for recipe in each)


def heading_anchor(heading):
    """The anchor that a forge makes of a heading: lower case, without punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name}: {path} does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(heading_anchor, headings), f"{page.name}: no heading for {path}#{anchor}"


def test_every_public_name_is_explained():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [
        name
        for name in (*gatherscatter.__all__, "dask", "jax", "open")
        if name[0] != "_" and not re.search(rf"\b{re.escape(name)}\b", text)
    ]
    assert not missing


def modules():
    """The modules of the package that need no table library; those of `compat` have tests of their own."""
    root = Path(gatherscatter.__file__).parent
    files = (path.relative_to(root.parent) for path in root.rglob("*.py"))
    kept = [path for path in files if path.stem != "__main__" and not {"_cli", "_table", "compat"} & {*path.parts}]
    return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in kept)


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    needed = "torch" if name.startswith(("gatherscatter._torch", "gatherscatter.torch")) else NEEDED_BY.get(name)
    needed = "jax" if name.startswith("gatherscatter._xla") else needed
    if needed:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    module = importlib.import_module(name)
    report = []
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        assert runner.run(test, out=report.append).failed == 0, "".join(report)
