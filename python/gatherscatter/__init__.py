"""Gather and scatter on any array: exact, checked, and as fast as the memory.

"Gather" and "scatter" as in indexing, not as in MPI.
"""

from gatherscatter._config import get_num_threads, set_num_threads, show_config, thread_limit, trim
from gatherscatter._version import __version__
from gatherscatter.errors import OutOfBoundsError
from gatherscatter.gather import gather
from gatherscatter.numpy_api import take, take_along_axis
from gatherscatter.plan import Plan, explain, plan
from gatherscatter.tile import tile_gather

__all__ = [
    "OutOfBoundsError",
    "Plan",
    "__version__",
    "explain",
    "gather",
    "get_num_threads",
    "plan",
    "set_num_threads",
    "show_config",
    "take",
    "take_along_axis",
    "thread_limit",
    "tile_gather",
    "trim",
]
