"""info.py: the text of `python -m gatherscatter info`: what is installed, the machine, its thresholds, GPUs."""

from __future__ import annotations

from typing import Any

__all__ = ["text"]

# The titles of the groups, with the keys of `show_config` and the words for them. Thresholds are those with a source.
_GROUPS: dict[str, dict[str, str]] = {
    "Installation": {
        "version": "version",
        "backend": "backend",
        "isa": "instruction set",
        "isa_supported": "supported",
    },
    "Machine": {
        "cpu_model": "processor",
        "processors": "processors",
        "threads": "threads in use",
        "l2_bytes": "L2 cache",
        "llc_bytes": "last-level cache",
    },
}
_NO_SIZE = 2**63 - 1


def text(facts: dict[str, Any]) -> str:
    """The configuration as groups of lines, sizes in KiB, MiB or GiB."""
    left = dict(facts)
    sources, cuda = left.pop("sources", {}), left.pop("cuda", {})
    groups: dict[str, dict[str, str]] = {}
    for title, words in _GROUPS.items():
        groups[title] = {word: _shown(key, left.pop(key)) for key, word in words.items() if key in left}
    groups["Thresholds"] = {key: f"{_shown(key, left.pop(key))} ({source})" for key, source in sources.items()}
    groups["Memory and others"] = {key: _shown(key, value) for key, value in left.items()}
    groups["GPUs"] = _of_cuda(cuda)
    width = max(len(name) for lines in groups.values() for name in lines)
    parts = []
    for title, lines in groups.items():
        if lines:
            parts.append("\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in lines.items())]))
    return "\n\n".join(parts)


def _of_cuda(cuda: dict[str, Any]) -> dict[str, str]:
    lines: dict[str, str] = {}
    for key, value in cuda.items():
        if key == "devices" and value:
            lines |= {f"GPU {number}": _shown(key, device) for number, device in enumerate(value)}
        elif key != "devices":
            lines["CUDA module" if key == "built" else key] = _shown(key, value)
    return lines


def _shown(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(name, part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if not isinstance(value, int):
        return str(value)
    if value == _NO_SIZE:
        return "no size"
    if "bytes" not in key:
        return f"{value:,}"
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value} B"
