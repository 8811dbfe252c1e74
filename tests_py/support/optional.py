"""optional.py: imports libraries that test helpers use if they are installed."""

from __future__ import annotations

from types import ModuleType

import pytest


def optional(name: str) -> ModuleType | None:
    """The module, or None if it is not installed. Tests that need it skip by pytest.importorskip."""
    try:
        return pytest.importorskip(name, exc_type=ImportError)
    except pytest.skip.Exception:
        return None
