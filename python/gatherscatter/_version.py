"""The version, as pyproject.toml has it."""

from importlib.metadata import version

__version__ = version("gatherscatter")
