"""environment.py: checks of the environment variables that Python reads, and warnings for misspelt names."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gatherscatter import _core

__all__ = ["check_environment", "misspellings"]

SETTINGS = (
    "GS_NUM_THREADS",
    "GS_TUNING_FILE",
    "GS_CPU",
    "GS_BACKEND",
    "GS_POOL",
    "GS_L2_BYTES",
    "GS_LLC_BYTES",
    "GS_FAR_TABLE_BYTES",
    "GS_STREAM_BYTES",
    "GS_SERIAL_POINTS",
    "GS_GATHER_PERCENT",
    "GS_DEVICES",
    "GS_REFERENCE_SHUFFLE",
)
# Variables of Ghostscript, and options of this package's build; they are not misspelt settings.
_OTHERS = {"GS_LIB", "GS_LIB_DEFAULT", "GS_OPTIONS", "GS_DEVICE", "GS_FONTPATH", "GS_FONTMAP", "GS_PROG", "GS_DLL"}
_OTHERS |= {"GS_CUDA", "GS_CUDA_ARCHITECTURES"}
_ALIKE = 0.85  # least ratio of difflib for a slip: GS_POLL and GS_POOL have 0.857, names of others such as GS_ROOT less


def check_environment() -> None:
    """Check the values of settings; log a warning for each name that resembles a setting, and for ignored thresholds.

    Raises
    ------
    ImportError
        If a setting has an invalid value. `_core` checks the settings that it reads itself.
    """
    devices = os.environ.get("GS_DEVICES", "cuda")
    if devices not in ("cuda", "reference"):
        raise ImportError(f"GS_DEVICES={devices}: expected cuda or reference")
    seed = os.environ.get("GS_REFERENCE_SHUFFLE", "")
    if seed and not (seed.isascii() and seed.isdecimal() and int(seed[:21]) < 2**64):
        raise ImportError(f"GS_REFERENCE_SHUFFLE={seed}: expected a whole number below 2**64")
    for name, meant in misspellings(os.environ):
        _warn(f"the environment variable {name} is not a setting of gatherscatter; did you mean {meant}?")
    saved = _core.saved_tuning()
    if saved["problem"]:
        _warn(f"the saved thresholds in {saved['path']} are ignored: {saved['problem']}")


def _warn(text: str) -> None:
    import logging  # imported only when it is needed, because its import takes longer than that of this module

    logging.getLogger("gatherscatter").warning(text)


def misspellings(names: Iterable[str]) -> list[tuple[str, str]]:
    """The names that are no settings but resemble one, each with the setting that may be meant."""
    found = []
    for name in names:
        upper = name.upper()
        if not upper.startswith("GS_") or upper.startswith("GS_PTX_") or name in SETTINGS or upper in _OTHERS:
            continue
        from difflib import get_close_matches  # as `logging` above

        found += [(name, meant) for meant in get_close_matches(upper, SETTINGS, 1, _ALIKE)]
    return found
