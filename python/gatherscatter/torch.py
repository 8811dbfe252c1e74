"""torch.py: the operators for tensors, by name. Its import registers ``torch.ops.gatherscatter`` and teaches
``torch.compile`` the operators, so that a compiled function has no break at them, but for `place` and `repeat`.

The functions are those of `gatherscatter`. The package imports this module when ``gs.torch`` is used, and with
Dynamo, so that neither gradients nor ``torch.compile`` need an import of it.
"""

from gatherscatter._numpy.put import place, put, put_along_axis, putmask
from gatherscatter._numpy.repeating import repeat
from gatherscatter._numpy.rolling import roll
from gatherscatter._numpy.take import take, take_along_axis
from gatherscatter._ops.gather import gather
from gatherscatter._ops.nd import gather_nd, scatter_nd
from gatherscatter._ops.scatter import scatter
from gatherscatter._ops.tile import tile_gather, tile_scatter
from gatherscatter._torch import library as _library
from gatherscatter._torch.embedding import Embedding
from gatherscatter.compat.mindspore import gather as _mindspore_gather

__all__ = [
    "Embedding",
    "gather",
    "gather_nd",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "repeat",
    "roll",
    "scatter",
    "scatter_nd",
    "take",
    "take_along_axis",
    "tile_gather",
    "tile_scatter",
]

# How much these two read depends on values, which a graph does not have: a graph breaks at them.
_BREAK_GRAPHS = ("place", "repeat")
_OPERATORS = [_name for _name in __all__ if _name != "Embedding"]
_library.allow_in_graphs([*(globals()[_name] for _name in _OPERATORS if _name not in _BREAK_GRAPHS), _mindspore_gather])
Embedding.__module__ = __name__
