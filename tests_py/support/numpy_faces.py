"""numpy_faces.py: NumPy's own test modules, compiled with our functions in place of take, put and related functions.

Most of NumPy's tests call methods, `a.take(...)`, which cannot be patched on a built-in type. So the source of a
module is rewritten before it runs: each attribute `<x>.take` becomes `_face(<x>, "take")`, which gives our function
bound to `x` if `x` is an array, our function itself if `x` is the module numpy, and the plain attribute otherwise;
`getattr(<x>, name)` becomes the same. Names that a module imports are replaced after it has run.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gatherscatter as gs

FACES = {
    "compress": gs.compress,
    "place": gs.place,
    "put": gs.put,
    "put_along_axis": gs.put_along_axis,
    "putmask": gs.putmask,
    "take": gs.take,
    "take_along_axis": gs.take_along_axis,
}
METHODS = {"compress", "put", "take"}


class Calls:
    """Counts the calls of our functions, so that a test that no longer calls them is found."""

    count = 0


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        Calls.count += 1
        return function(*args, **kwargs)

    return call


OURS = {name: counted(function) for name, function in FACES.items()}


def masked_put(a: Any, *args: Any, **kwargs: Any) -> Any:
    return OURS["put"](a if isinstance(a, np.ndarray) else np.asarray(a), *args, **kwargs)


def masked_take(a: Any, *args: Any, **kwargs: Any) -> Any:
    return OURS["take"](np.ma.asanyarray(a), *args, **kwargs)


def masked_compress(condition: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    return OURS["compress"](condition, np.ma.asanyarray(a), *args, **kwargs)


# Functions of numpy.ma that are methods of their argument. Its putmask is left out, because it writes masks too.
MASKED = {"compress": masked_compress, "put": masked_put, "take": masked_take}


def method_of(owner: Any, name: str) -> Callable[..., Any]:
    if name == "compress":
        return lambda condition, *args, **kwargs: OURS[name](condition, owner, *args, **kwargs)
    return functools.partial(OURS[name], owner)


def face(owner: Any, name: str) -> Any:
    if owner is np and name in OURS:
        return OURS[name]
    if owner is np.ma and name in MASKED:
        return MASKED[name]
    is_array = isinstance(owner, np.ndarray) or (isinstance(owner, np.generic) and name != "put")
    return method_of(owner, name) if is_array and name in METHODS else getattr(owner, name)


PYTEST_MARKS = {"parametrize", "skipif", "skip", "xfail", "usefixtures", "filterwarnings"}


def unmarked(*args: Any, **kwargs: Any) -> Any:
    """Replaces a pytest mark of NumPy's own, with or without arguments, which this project has not registered."""
    return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else lambda test: test


class _Rewrite(ast.NodeTransformer):
    def __init__(self, stand_ins: dict[str, dict[str, str]]) -> None:
        self.stand_ins = stand_ins
        self.here: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.here = self.stand_ins.get(node.name, {})
        self.generic_visit(node)
        self.here = {}
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        known = isinstance(node.value, str) and node.value in self.here
        return ast.copy_location(ast.Constant(self.here[node.value]), node) if known else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.here:
            return ast.copy_location(ast.Constant(self.here[node.id]), node)
        return ast.copy_location(ast.Name("_getattr", node.ctx), node) if node.id == "getattr" else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        is_mark = isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
        if is_mark and node.attr not in PYTEST_MARKS:
            return ast.copy_location(ast.Name("_unmarked", ast.Load()), node)
        if node.attr not in FACES or not isinstance(node.ctx, ast.Load):
            return node
        call = ast.Call(ast.Name("_face", ast.Load()), [node.value, ast.Constant(node.attr)], [])
        return ast.copy_location(call, node)


def source(name: str) -> tuple[str, ast.Module]:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None, f"this NumPy comes without {name}"
    with open(spec.origin, encoding="utf-8") as file:
        return spec.origin, ast.parse(file.read())


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    return face(owner, name) if name in FACES else getattr(owner, name, *default)


def load(name: str, stand_ins: dict[str, dict[str, str]]) -> types.ModuleType:
    """A module of NumPy's tests, rewritten and run under another name, so that the original module is not changed.

    In the functions that `stand_ins` lists, names and strings are replaced by other strings. NumPy's list of all dtypes
    is given to the tests without the dtype of references.
    """
    path, tree = source(name)
    tree = ast.fix_missing_locations(_Rewrite(stand_ins).visit(tree))
    all_codes = np.typecodes["All"]
    module = types.ModuleType(f"{name}_on_gatherscatter")
    module.__package__ = name.rpartition(".")[0]  # relative imports need it
    module.__file__ = path
    vars(module).update(_face=face, _getattr=_getattr, _unmarked=unmarked)
    np.typecodes["All"] = all_codes.replace("O", "")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PendingDeprecationWarning)  # numpy.matrix raises it
            exec(compile(tree, path, "exec"), vars(module))
    finally:
        np.typecodes["All"] = all_codes
    for word in FACES:
        imported = vars(module).get(word)
        if imported is not None:
            is_masked = getattr(imported, "__module__", "").startswith("numpy.ma")
            vars(module)[word] = MASKED.get(word, imported) if is_masked else OURS[word]
    return module


@functools.cache
def uses_of_the_faces(name: str) -> list[tuple[str | None, str]]:
    """(class or None, function) of each test in a module whose own source uses one of our functions."""
    uses: list[tuple[str | None, str]] = []
    for node in source(name)[1].body:
        if isinstance(node, ast.ClassDef):
            uses += [(node.name, part.name) for part in node.body if _is_test_of_ours(part)]
        elif _is_test_of_ours(node):
            uses.append((None, node.name))
    return uses


def _is_test_of_ours(node: Any) -> bool:
    if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
        return False
    words = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    words |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bool(words & FACES.keys())
