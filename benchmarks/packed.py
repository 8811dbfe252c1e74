"""The form in which results are kept: lists of records as rows below their names, numbers with four digits."""

from __future__ import annotations

import json
from typing import Any


def dumps(result: dict[str, Any]) -> str:
    """A result as JSON, one record a line."""
    return _text(result, 0) + "\n"


def loads(text: str) -> dict[str, Any]:
    result: dict[str, Any] = _unpacked(json.loads(text))
    return result


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _line(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_line(name)}:{_line(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_line, value)) + "]"
    return json.dumps(_rounded(value), ensure_ascii=False)


def _text(value: Any, depth: int) -> str:
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        parts = (f"{_line(name)}: {_text(part, depth + 1)}" for name, part in value.items())
        return "{" + inner + f",{inner}".join(parts) + outer + "}"
    if not _are_records(value):
        if isinstance(value, list) and any(isinstance(part, dict) for part in value):
            return "[" + inner + f",{inner}".join(_text(part, depth + 1) for part in value) + outer + "]"
        return _line(value)
    names = list(value[0])
    rows = (_line([record[name] for name in names]) for record in value)
    return f'{{"fields": {_line(names)}, "rows": [{inner}' + f",{inner}".join(rows) + f"{outer}]}}"


def _are_records(value: Any) -> bool:
    """Whether a value is a list of flat records with the same names."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(each, dict) and each for each in value):
        return False
    names = list(value[0])
    return all(list(each) == names and not any(map(_has_records, each.values())) for each in value)


def _has_records(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_records, value)))


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"fields", "rows"}:
        return [dict(zip(value["fields"], row, strict=True)) for row in value["rows"]]
    return {name: _unpacked(part) for name, part in value.items()}
