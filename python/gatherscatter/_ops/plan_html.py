"""plan_html.py: what notebooks show of a plan: a title, the facts that matter, one line of reasons, folded details."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["as_html", "size_text"]


def size_text(count: int) -> str:
    """A number of bytes in the largest of B, KiB, MiB and GiB in which it is at least 1."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count} B"


def as_html(title: str, facts: Mapping[str, Any], why: str, details: Iterable[tuple[str, Any]]) -> str:
    """A title, a table of facts, a line that says why, and a table of details that unfolds at a click."""
    reason = f"<p>{html.escape(why)}</p>" if why else ""
    return (
        f"<div><strong>{html.escape(title)}</strong>{_rows(facts.items())}{reason}"
        f"<details><summary>details</summary>{_rows(details)}</details></div>"
    )


def _rows(cells: Iterable[tuple[str, Any]]) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(key))}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for key, value in cells
    )
    return f"<table>{rows}</table>"
