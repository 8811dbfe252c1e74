"""test_stability.py: docs/stability.md lists exactly the names, exceptions, attributes and variables of the package."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import gatherscatter as gs
from gatherscatter._settings.environment import SETTINGS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "stability.md").read_text(encoding="utf-8")
PARAGRAPHS = {paragraph.partition(": ")[0].strip("`"): paragraph for paragraph in PAGE.split("\n\n")}
# They need a library when they are imported, so their names are read from their `__all__` only if it is installed.
NEEDS = {"gatherscatter.torch": "torch"}
HIDDEN = {"gatherscatter": ["dask", "jax", "open", "torch"]}  # public, but not in `__all__`


def public_modules():
    found = ["gatherscatter"]
    for package in (gs, gs.compat):
        names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name[0] != "_"]
        found += [f"{package.__name__}.{name}" for name in names]
    return sorted(found)


def listed(key):
    return re.findall(r"`([^`]+)`", PARAGRAPHS[key].partition(": ")[2])


def exceptions():
    """(class, base classes, attributes) of each line of the table."""
    for line in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE):
        yield line[0], re.findall(r"`(\w+)`", line[1]), re.findall(r"`(\w+)`", line[2])


def test_every_public_module_is_listed():
    assert sorted(key for key in PARAGRAPHS if key.startswith("gatherscatter")) == public_modules()


@pytest.mark.parametrize("name", public_modules())
def test_the_names_of_a_module_are_listed(name):
    if name == "gatherscatter.errors":
        assert [row[0] for row in exceptions()] == sorted(gs.errors.__all__)
        return
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    module = importlib.import_module(name)
    expected = sorted([*module.__all__, *HIDDEN.get(name, [])])
    assert listed(name) == expected
    assert all(hasattr(module, each) for each in expected)


@pytest.mark.parametrize(("name", "bases", "attributes"), list(exceptions()))
def test_base_classes_and_attributes_are_those_of_the_class(name, bases, attributes):
    cls = getattr(gs.errors, name)
    assert [base.__name__ for base in cls.__bases__] == bases
    own = [field for field in inspect.get_annotations(cls) if field[0] != "_"]
    assert own == attributes


def test_the_attributes_are_on_the_error():
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.gather([1, 2, 3], [0, 9], axis=0)
    fields = next(attributes for name, _, attributes in exceptions() if name == "OutOfBoundsError")
    assert {field: getattr(caught.value, field) for field in fields} == {
        "op": "gather",
        "index": 9,
        "position": (1,),
        "axis": 0,
        "size": 3,
        "count": 1,
        "total": 2,
        "from_end": True,
    }


def test_every_environment_variable_is_listed_once():
    assert sorted(listed("Stable") + listed("Not stable")) == sorted(SETTINGS)


def test_every_command_is_listed():
    source = (Path(gs.__file__).parent / "__main__.py").read_text(encoding="utf-8")
    commands = re.findall(r'add_parser\("(\w+)"', source)
    paragraph = next(text for text in PAGE.split("\n\n") if text.startswith("`python -m gatherscatter"))
    assert len(commands) == 3 and all(f"{command}`" in paragraph for command in commands)
