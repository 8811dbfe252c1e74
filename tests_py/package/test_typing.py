"""test_typing.py: type checkers see the promised types: both forms of gather keep the type of the array."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter._ops import keywords as shared

HERE = Path(__file__).parent
PACKAGE = Path(gs.__file__).parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE.parts:  # type checkers do not follow the import hook of an editable install
        environment["MYPYPATH"] = str(PACKAGE.parent)

    def check(path: Path) -> tuple[int, str]:
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(cache)]
        done = subprocess.run([*command, str(path)], env=environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    return check


def test_public_types(mypy):
    code, text = mypy(HERE / "typing_snippet.py")
    assert code == 0, text


def test_real_use(mypy):
    code, text = mypy(HERE / "typing_real_use.py")
    assert code == 0, text


def test_wrong_calls_are_noticed_with_few_overloads(mypy):
    """Also those of `plan` and `explain`, which compare the arguments with the parameters of the operator."""
    path = HERE / "typing_mistakes.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    wrong = [at for at, line in enumerate(lines, 1) if line.startswith("    gs.")]
    code, text = mypy(path)
    errors = [int(line.split(":")[1]) for line in text.splitlines() if ": error: " in line]
    assert code == 1 and errors == wrong and len(wrong) > 5, text
    for number in wrong:
        shown = [line for line in text.splitlines() if f":{number}: note:     def " in line]
        assert len(shown) <= 6, "\n".join(shown)


@pytest.fixture(scope="module")
def basedpyright(tmp_path_factory):
    pytest.importorskip("basedpyright", reason="basedpyright is not installed")
    folder = tmp_path_factory.mktemp("basedpyright")

    def check(path: Path) -> tuple[int, str]:
        # Rules about the style of the checked file, not about the types of the package.
        rules = dict.fromkeys(("reportAny", "reportExplicitAny", "reportUnusedCallResult"), "none")
        roots = [] if "site-packages" in PACKAGE.parts else [str(PACKAGE.parent)]
        config = {"include": [str(path)], "extraPaths": roots, "typeCheckingMode": "recommended", **rules}
        (folder / "config.json").write_text(json.dumps(config))
        command = [sys.executable, "-m", "basedpyright", "--project", str(folder / "config.json"), "--warnings"]
        done = subprocess.run(
            [*command, "--pythonpath", sys.executable], cwd=folder, capture_output=True, text=True, timeout=300
        )
        return done.returncode, done.stdout + done.stderr

    return check


def test_real_use_by_another_checker(basedpyright, tmp_path):
    code, text = basedpyright(HERE / "typing_real_use.py")
    assert code == 0 and "0 errors, 0 warnings" in text, text
    wrong = tmp_path / "wrong.py"
    before = "assert_type(gs.gather(x, 2, axis=0), Floats)"
    source = (HERE / "typing_real_use.py").read_text(encoding="utf-8")
    assert before in source
    wrong.write_text(source.replace(before, "assert_type(gs.gather(x, 2, axis=0), int)"))
    code, text = basedpyright(wrong)
    assert code == 1 and "reportAssertTypeFailure" in text and "1 error, 0 warnings" in text, text


def test_a_wrong_type_is_noticed(mypy, tmp_path):
    """Checks that the test above does not pass without checking anything."""
    wrong = tmp_path / "wrong.py"
    text = (HERE / "typing_snippet.py").read_text()
    before = "assert_type(gs.gather(x, 0, i), Floats)"
    assert before in text
    wrong.write_text(text.replace(before, "assert_type(gs.gather(x, 0, i), int)"))
    code, text = mypy(wrong)
    assert code == 1 and "assert-type" in text and text.count("error:") == 1, text


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()


def keyword_types():
    """For each TypedDict of keywords its fields, as (name, type)."""
    tree = ast.parse((PACKAGE / "_ops" / "keywords.py").read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {
        node.name: {field.target.id: ast.unparse(field.annotation) for field in node.body if hasattr(field, "target")}
        for node in classes
    }


def functions_with_shared_keywords():
    """(name, TypedDict of an overload, keyword-only parameters of the function itself), for each overload."""
    for path in sorted([*(PACKAGE / "_ops").glob("*.py"), *(PACKAGE / "_numpy").glob("*.py")]):
        nodes = [n for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.FunctionDef)]
        own = {node.name: {arg.arg: ast.unparse(arg.annotation) for arg in node.args.kwonlyargs} for node in nodes}
        for node in nodes:
            if any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list) and node.args.kwarg:
                unpacked = ast.unparse(node.args.kwarg.annotation).removeprefix("Unpack[").partition("[")[0]
                yield node.name, unpacked.removesuffix("]"), own[node.name]


def test_overloads_have_the_keywords_of_the_functions():
    """A type checker sees the TypedDict only, and Python the function only."""
    types, seen = keyword_types(), set()
    for name, keywords, own in functions_with_shared_keywords():
        if name in ("gather", "scatter"):  # the keywords that select the form are parameters of the overloads
            own = {key: kind for key, kind in own.items() if key not in ("axis", "indices", "input_indices")}
        expected = {key: "Any" if key == "out" else kind for key, kind in types[keywords].items()}
        assert own == expected, name
        seen.add(name)
    assert seen == {"gather", "gather_nd", "scatter", "scatter_nd", "take", "take_along_axis", "tile_gather"}


def test_public_functions_name_their_keywords():
    """At run time no signature hides keywords in **keywords; `plan` and `explain` pass theirs on to an operator."""
    for name in gs.__all__:
        if callable(getattr(gs, name)) and name not in ("plan", "explain"):
            kinds = {parameter.kind for parameter in inspect.signature(getattr(gs, name)).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    keywords = [*inspect.signature(gs.scatter).parameters][5:]
    assert keywords == ["axis", "indices", "reduce", "include_self", "duplicates", "bounds", "negative", "mask", "out"]


def test_types_name_the_words_of_the_core():
    words = _core.words
    assert get_args(shared.Bounds) == words["bounds"]
    assert get_args(shared.ScatterBounds) == words["scatter_bounds"]
    assert get_args(shared.Negative) == words["negative"]
    assert get_args(shared.Duplicates) == words["duplicates"]
    assert get_args(shared.Reduce) == words["reduce_aliases"]
    assert set(words["reduce"]) - {"set"} <= set(words["reduce_aliases"])
