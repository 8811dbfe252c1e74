"""_version.py: the version of the installed package, which is the one in pyproject.toml."""

from importlib.metadata import version

__version__ = version("gatherscatter")
