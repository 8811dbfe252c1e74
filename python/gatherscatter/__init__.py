"""Gather and scatter on any array: exact, checked, and as fast as the memory.

The words "gather" and "scatter" have the meaning of array indexing here, not that of MPI.
"""

# All submodules are imported at once. Loading them lazily needs a module-level __getattr__, which makes every `gs.take`
# a third slower.
from gatherscatter import compat, cuda, table
from gatherscatter._config import show_config, trim
from gatherscatter._environment import check_environment as _check_environment
from gatherscatter._threads import get_num_threads, set_num_threads, thread_limit
from gatherscatter._version import __version__
from gatherscatter.errors import OutOfBoundsError
from gatherscatter.gather import gather
from gatherscatter.nd import gather_nd, scatter_nd
from gatherscatter.numpy_api import compress, take, take_along_axis
from gatherscatter.numpy_put import place, put, put_along_axis, putmask
from gatherscatter.plan import Plan, explain, plan
from gatherscatter.scatter import scatter
from gatherscatter.tile import tile_gather, tile_scatter

_check_environment()

__all__ = [
    "OutOfBoundsError",
    "Plan",
    "__version__",
    "compat",
    "compress",
    "cuda",
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
    "table",
    "take",
    "take_along_axis",
    "thread_limit",
    "tile_gather",
    "tile_scatter",
    "trim",
]
