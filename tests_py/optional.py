"""optional.py: libraries that helpers use where they are there."""

from __future__ import annotations

from types import ModuleType

import pytest


def optional(name: str) -> ModuleType | None:
    """The module, or None where it is not installed; tests that need it skip by pytest.importorskip."""
    try:
        return pytest.importorskip(name, exc_type=ImportError)
    except pytest.skip.Exception:
        return None
