"""late_modules.py: modules that are imported when they are used, and what happens once another package is imported."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["LateModule", "when_imported"]


class LateModule(ModuleType):
    """Stands for a submodule that needs a library, until one of its names is read.

    The import of the submodule puts it in the place of this object.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # asked by tools about every object
            raise AttributeError(f"module {self.__name__!r} is not imported yet, and has no attribute {name!r}")
        return getattr(import_module(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(import_module(self.__name__))


class _Waiter:
    """A finder that finds nothing itself, and sees when a module is imported."""

    def __init__(self, name: str, act: Callable[[], Any]) -> None:
        self.name, self.act = name, act

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        finders = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in finders if spec is not None), None)
        if spec is None or spec.loader is None or isinstance(spec.loader, type):
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _try(self.act)

        loader.exec_module = execute_and_act
        return spec


def when_imported(name: str, act: Callable[[], Any]) -> None:
    """Call a function once a module has been imported, now or later. An error of it is logged."""
    if name in sys.modules:
        _try(act)
    else:
        sys.meta_path.insert(0, _Waiter(name, act))


def _try(act: Callable[[], Any]) -> None:
    try:
        act()
    except Exception:
        logging.getLogger("gatherscatter").info("could not act on the import of another package", exc_info=True)
