"""numpy_faces.py: NumPy's own test modules, compiled with our functions in place of take and take_along_axis.

Most of NumPy's tests call methods, `a.take(...)`, which cannot be patched on a built-in type. So the source of a
module is rewritten before it runs: each attribute `<x>.take` becomes `_face(<x>, "take")`, which gives our function
bound to `x` if `x` is an array, our function itself if `x` is the module numpy, and the plain attribute otherwise.
Names that a module imports are replaced after it has run.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import gatherscatter as gs

FACES = {"take": gs.take, "take_along_axis": gs.take_along_axis}


class Calls:
    """Counts the calls of our functions, so that a test which no longer reaches them is noticed."""

    count = 0


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        Calls.count += 1
        return function(*args, **kwargs)

    return call


OURS = {name: counted(function) for name, function in FACES.items()}


def masked_take(a: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.ma.take` is the method of the argument made masked."""
    return OURS["take"](np.ma.asanyarray(a), *args, **kwargs)


def face(owner: Any, name: str) -> Any:
    if owner is np or isinstance(owner, np.ndarray | np.generic):
        return OURS[name] if owner is np else functools.partial(OURS[name], owner)
    return masked_take if owner is np.ma and name == "take" else getattr(owner, name)


PYTEST_MARKS = {"parametrize", "skipif", "skip", "xfail", "usefixtures", "filterwarnings"}


def unmarked(*args: Any, **kwargs: Any) -> Any:
    """Stands for a mark of NumPy's own, with or without arguments, which this project has not registered."""
    return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else lambda test: test


class _Rewrite(ast.NodeTransformer):
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


def load(name: str) -> types.ModuleType:
    """A module of NumPy's tests, rewritten and run under another name, so that the original stays what it is."""
    path, tree = source(name)
    tree = ast.fix_missing_locations(_Rewrite().visit(tree))
    module = types.ModuleType(f"{name}_on_gatherscatter")
    module.__package__ = name.rpartition(".")[0]  # for relative imports
    module.__file__ = path
    vars(module).update(_face=face, _unmarked=unmarked)
    exec(compile(tree, path, "exec"), vars(module))
    for word in FACES:
        imported = vars(module).get(word)
        if imported is not None:
            ours = masked_take if getattr(imported, "__module__", "").startswith("numpy.ma") else OURS[word]
            vars(module)[word] = ours
    return module


@functools.cache
def uses_of_the_faces(name: str) -> list[tuple[str | None, str]]:
    """(class or None, function) of each test in a module whose own source names one of the two functions."""
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
