"""Names for the words that keyword arguments take."""

from __future__ import annotations

from typing import Literal

Bounds = Literal["raise", "deferred", "fill", "clip", "wrap", "unchecked"]
Negative = Literal["from_end", "out_of_bounds"]
Mode = Literal["raise", "wrap", "clip"]
