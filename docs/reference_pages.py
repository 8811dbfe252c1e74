"""reference_pages.py: writes one page for every public name of the package, from the package itself.

A module is public if no part of its name begins with an underscore; its public names are those of `__all__`. A name
that only repeats one of another public module is a line with a link, so that everything is described once.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import gatherscatter

# `import *` leaves it out, because it would replace the function of Python.
NOT_IN_ALL = {"gatherscatter": ["open"]}


def modules():
    """The names of all public modules, the package first."""
    found = pkgutil.walk_packages(gatherscatter.__path__, "gatherscatter.", onerror=None)
    names = [each.name for each in found if not any(part.startswith("_") for part in each.name.split("."))]
    return ["gatherscatter", *sorted(names)]


def public_names(module):
    """The public names of a module, without those of modules."""
    names = {*module.__all__, *NOT_IN_ALL.get(module.__name__, [])}
    return sorted((name for name in names if not inspect.ismodule(getattr(module, name))), key=str.casefold)


def home(module, name):
    """The module and name under which an object is described."""
    thing = getattr(module, name)
    where, own = getattr(thing, "__module__", None), getattr(thing, "__name__", name)
    if where in modules() and getattr(importlib.import_module(where), own, None) is thing:
        return where, own
    return module.__name__, name


def pages():
    """For every module, its public names with the module and name under which each is described."""
    result = {}
    for each in modules():
        module = importlib.import_module(each)
        result[each] = {name: home(module, name) for name in public_names(module)}
    return result


def without_file(lines):
    """The lines of a module's docstring without the name of its file, which they begin with."""
    first = re.sub(r"^(\w+\.py|`+[\w.]+`+): (.)", lambda match: match[2].upper(), lines[0])
    return [first, *lines[1:]]


def summary(thing):
    """The first sentence of a docstring."""
    if not (inspect.ismodule(thing) or callable(thing)):
        return f"A {type(thing).__name__}."
    lines = without_file((inspect.getdoc(thing) or "").split("\n\n")[0].split("\n"))
    return " ".join(line.strip() for line in lines)


def directive(thing, target):
    """The directive that describes an object."""
    if inspect.isclass(thing):
        if issubclass(thing, BaseException):  # what an except clause may name
            return f".. autoexception:: {target}\n   :members:\n   :show-inheritance:\n"
        return f".. autoclass:: {target}\n   :members:\n"
    if callable(thing):
        return f".. autofunction:: {target}\n"
    return f".. py:data:: {target}\n   :type: {type(thing).__name__}\n"


def title(text):
    return f"{text}\n{'=' * len(text)}\n"


def module_page(each, names):
    """The page of a module: its docstring, a table of its names, and its pages in the sidebar."""
    module = importlib.import_module(each)
    below = [other for other in modules() if other.rpartition(".")[0] == each]
    rows = [
        f"   * - :doc:`{other} <{other}.module>`\n     - {summary(importlib.import_module(other))}" for other in below
    ]
    for name, (where, own) in names.items():
        link = f":doc:`{name} <{where}.{own}>`"
        also = "" if (where, own) == (each, name) else f" The same as ``{where}.{own}``."
        rows.append(f"   * - {link}\n     - {summary(getattr(module, name))}{also}")
    own_pages = [f"   {where}.{own}" for name, (where, own) in names.items() if (where, own) == (each, name)]
    parts = [title(each), f".. automodule:: {each}\n"]
    if rows:
        parts.append(".. list-table::\n   :widths: 30 70\n\n" + "\n".join(rows) + "\n")
    if own_pages:
        parts.append(".. toctree::\n   :hidden:\n\n" + "\n".join(own_pages) + "\n")
    return "\n".join(parts)


def write(folder: Path):
    """Write all pages into `folder`. What has not changed keeps its time, so that Sphinx does not read it again."""
    texts = {}
    for each, names in pages().items():
        texts[f"{each}.module.rst"] = module_page(each, names)
        for name, (where, own) in names.items():
            if (where, own) == (each, name):
                thing = getattr(importlib.import_module(each), name)
                texts[f"{each}.{name}.rst"] = f"{title(f'{each}.{name}')}\n{directive(thing, f'{each}.{name}')}"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
