"""Gather and scatter on any array: exact, checked, and as fast as the memory.

The words "gather" and "scatter" have the meaning of array indexing here, not that of MPI.
"""

# All submodules are imported at once. Loading them lazily needs a module-level __getattr__, which makes every `gs.take`
# a third slower.
import sys as _sys

from gatherscatter import compat, cuda, errors, table
from gatherscatter import dask as dask
from gatherscatter import jax as jax
from gatherscatter._libraries.files import open as open
from gatherscatter._numpy.put import place, put, put_along_axis, putmask
from gatherscatter._numpy.repeating import repeat
from gatherscatter._numpy.rolling import roll
from gatherscatter._numpy.take import compress, take, take_along_axis
from gatherscatter._ops import plan as _plan_module
from gatherscatter._ops.gather import gather
from gatherscatter._ops.nd import gather_nd, scatter_nd
from gatherscatter._ops.plan import Plan, explain, plan
from gatherscatter._ops.scatter import scatter
from gatherscatter._ops.tile import tile_gather, tile_scatter
from gatherscatter._settings.config import show_config, trim
from gatherscatter._settings.environment import check_environment as _check_environment
from gatherscatter._settings.progress import progress
from gatherscatter._settings.threads import get_num_threads, set_num_threads, thread_limit
from gatherscatter._version import __version__
from gatherscatter.errors import OutOfBoundsError

_check_environment()

# `open`, `dask` and `jax` are public too; `import *` leaves them out, because it would replace a function and packages.
__all__ = [
    "OutOfBoundsError",
    "Plan",
    "__version__",
    "compat",
    "compress",
    "cuda",
    "errors",
    "explain",
    "gather",
    "gather_nd",
    "get_num_threads",
    "place",
    "plan",
    "progress",
    "put",
    "put_along_axis",
    "putmask",
    "repeat",
    "roll",
    "scatter",
    "scatter_nd",
    "set_num_threads",
    "show_config",
    "table",
    "take",
    "take_along_axis",
    "thread_limit",
    "tile_gather",
    "tile_scatter",
    "trim",
]

# Public functions and classes name the module in which users find them, so pickles of them do not depend on folders.
for _name in (*__all__, "open"):
    _public = globals()[_name]
    if getattr(_public, "__module__", "").startswith("gatherscatter._"):
        _public.__module__ = __name__

# Pickles of plans from before the modules were moved name this module.
_sys.modules["gatherscatter.plan"] = _plan_module
