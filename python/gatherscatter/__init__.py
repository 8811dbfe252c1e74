"""Gather and scatter on any array: exact, checked, and as fast as the memory.

The words "gather" and "scatter" have the meaning of array indexing here, not that of MPI.
"""

# All submodules but `torch` are imported at once.
import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from gatherscatter import compat, cuda, errors, table
from gatherscatter import dask as dask
from gatherscatter import jax as jax
from gatherscatter._libraries.files import open as open
from gatherscatter._numpy.put import place, put, put_along_axis, putmask
from gatherscatter._numpy.repeating import repeat
from gatherscatter._numpy.rolling import roll
from gatherscatter._numpy.take import compress, take, take_along_axis
from gatherscatter._ops import foreign_names as _foreign_names
from gatherscatter._ops import plan as _plan_module
from gatherscatter._ops.gather import gather
from gatherscatter._ops.group import Group, group
from gatherscatter._ops.nd import gather_nd, scatter_nd
from gatherscatter._ops.plan import Plan, explain, plan
from gatherscatter._ops.scatter import scatter
from gatherscatter._ops.tile import tile_gather, tile_scatter
from gatherscatter._settings.config import show_config, trim
from gatherscatter._settings.environment import check_environment as _check_environment
from gatherscatter._settings.late_modules import LateModule as _LateModule
from gatherscatter._settings.late_modules import when_imported as _when_imported
from gatherscatter._settings.progress import progress
from gatherscatter._settings.threads import get_num_threads, set_num_threads, thread_limit
from gatherscatter._version import __version__
from gatherscatter.errors import OutOfBoundsError

if _typing.TYPE_CHECKING:
    from gatherscatter import torch as torch
else:
    torch = _LateModule("gatherscatter.torch")

_check_environment()

# `open`, `dask`, `jax` and `torch` are public too; `import *` leaves them out, because it would replace a function and
# packages.
__all__ = [
    "Group",
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
    "group",
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

# CPython 3.11 does not specialise lookups in a module with this function: each `gs.take` takes 10 to 25 ns more, and
# `from gatherscatter import take` does not. To a type checker such a module has every name.
if not _typing.TYPE_CHECKING:
    __getattr__ = _foreign_names.refuser_of(__name__, _foreign_names.FOREIGN)

# Pickles of plans from before the modules were moved name this module.
_sys.modules["gatherscatter.plan"] = _plan_module

# Dynamo, of which torch.compile and torch.export consist, then knows the operators, whichever package came first.
_when_imported("torch._dynamo", lambda: _import_module("gatherscatter.torch"))
