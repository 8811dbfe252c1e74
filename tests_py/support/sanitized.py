"""sanitized.py: whether a sanitizer has replaced the allocator of this process (.ci/sanitize)."""

from __future__ import annotations

import os

import pytest

SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")

own_allocator = pytest.mark.skipif(
    SANITIZED, reason="a sanitizer replaces malloc, whose memory is counted here, or that forks without its lock"
)
