"""Gather and scatter on any array: exact, checked, and as fast as the memory.

"Gather" and "scatter" as in indexing, not as in MPI.
"""

import typing as _typing

from gatherscatter._config import get_num_threads, set_num_threads, show_config, thread_limit, trim
from gatherscatter._version import __version__
from gatherscatter.errors import OutOfBoundsError
from gatherscatter.gather import gather
from gatherscatter.nd import gather_nd, scatter_nd
from gatherscatter.numpy_api import compress, take, take_along_axis
from gatherscatter.numpy_put import place, put, put_along_axis, putmask
from gatherscatter.plan import Plan, explain, plan
from gatherscatter.scatter import scatter
from gatherscatter.tile import tile_gather, tile_scatter

if _typing.TYPE_CHECKING:
    from gatherscatter import compat
else:

    def __getattr__(name):
        """`compat` is imported when it is first asked for: few programs want the faces of five systems."""
        if name == "compat":
            import importlib

            return importlib.import_module("gatherscatter.compat")
        raise AttributeError(f"module 'gatherscatter' has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "OutOfBoundsError",
    "Plan",
    "__version__",
    "compat",
    "compress",
    "explain",
    "gather",
    "gather_nd",
    "get_num_threads",
    "place",
    "plan",
    "put",
    "put_along_axis",
    "putmask",
    "scatter",
    "scatter_nd",
    "set_num_threads",
    "show_config",
    "take",
    "take_along_axis",
    "thread_limit",
    "tile_gather",
    "tile_scatter",
    "trim",
]
