"""keywords.py: type aliases for the words that keyword arguments accept."""

from __future__ import annotations

from typing import Literal

Bounds = Literal["raise", "deferred", "fill", "clip", "wrap", "unchecked"]
ScatterBounds = Literal["raise", "deferred", "drop", "clip", "wrap", "unchecked"]
RowBounds = Literal["raise", "nullify", "unchecked"]
Validate = Literal["basic", "full"]
Negative = Literal["from_end", "out_of_bounds"]
Mode = Literal["raise", "wrap", "clip"]
Reduce = Literal["add", "sum", "mul", "prod", "multiply", "min", "amin", "max", "amax", "mean"]
Duplicates = Literal["last", "first", "error"]
