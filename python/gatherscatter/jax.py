"""jax.py: the operators for arrays of JAX, by name. The module does not import JAX.

The functions are those of `gatherscatter`, which take arrays and tracers of JAX as they are, but for `put_along_axis`,
which returns a new array here, because arrays of JAX are immutable, and `register`, for functions that `jax.export` has
saved.
"""

from __future__ import annotations

from typing import Any

from gatherscatter import _core
from gatherscatter._libraries.adopt import must_have_values
from gatherscatter._numpy.rolling import roll
from gatherscatter._numpy.take import take, take_along_axis
from gatherscatter._ops.gather import gather
from gatherscatter._ops.keywords import Negative, ScatterBounds
from gatherscatter._ops.nd import gather_nd, scatter_nd
from gatherscatter._ops.scatter import scatter
from gatherscatter._ops.tile import tile_gather
from gatherscatter._values.source import as_source

__all__ = [
    "gather",
    "gather_nd",
    "put_along_axis",
    "register",
    "roll",
    "scatter",
    "scatter_nd",
    "take",
    "take_along_axis",
    "tile_gather",
]


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None = -1,
    *,
    bounds: ScatterBounds = "raise",
    negative: Negative = "from_end",
    mask: Any = None,
) -> Any:
    """A copy of an array with values written to the elements that `take_along_axis` would read.

    ``result[i, indices[i, j, k], k] = values[i, j, k]`` with `i` before `axis` and `k` after it.

    Parameters
    ----------
    arr : array of shape (Ni..., M, Nk...)
    indices : integer array of shape (Ni..., J, Nk...)
        The axes other than `axis` broadcast with those of `arr`, in both directions.
    values : scalar or array
        Broadcasts to the shape of the points, in the dtype of `arr`. Of several values for one element, the last one
        is kept.
    axis : int or None, default -1
        With None, `arr` is flattened and `indices` must have one axis. The default is that of `take_along_axis`; the
        functions of NumPy and `jax.numpy` have none.
    bounds, negative, mask
        As in `gatherscatter.scatter`.

    Returns
    -------
    array
        Of the library, shape and dtype of `arr`.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds. Under jit it is the error of JAX, with the same text.
    TypeError, ValueError
        As `gatherscatter.scatter`.

    Notes
    -----
    Semantics of ``jax.numpy.put_along_axis(..., inplace=False)``, with checked indices.

    Examples
    --------
    >>> import numpy as np, gatherscatter as gs
    >>> gs.jax.put_along_axis(np.array([[10, 30, 20]]), np.array([[1]]), 99)
    array([[10, 99, 20]])
    """
    must_have_values("put_along_axis", "arr", arr)
    source = as_source("put_along_axis", arr, values, "values")
    call = _core.scatter_along(
        "put_along_axis", arr, indices, axis, "broadcast", source, bounds, negative, None, True, "last", mask, None
    )
    return call.run()


def register() -> None:
    """Let this process run functions with calls of gatherscatter that `jax.export` has saved in another one.

    A process that compiles such a call itself needs no registration.

    Raises
    ------
    ImportError
        If JAX is not installed.
    RuntimeError
        If jaxlib refuses the handler of the calls; the log of `gatherscatter` says why.

    Examples
    --------
    >>> import jax, gatherscatter as gs
    >>> gs.jax.register()
    >>> ours = jax.export.DisabledSafetyCheck.custom_call("gatherscatter_move")
    >>> n = jax.export.symbolic_shape("n")[0]
    >>> shapes = jax.ShapeDtypeStruct((n, 2), "float32"), jax.ShapeDtypeStruct((3,), "int32")
    >>> take = jax.jit(lambda x, i: gs.take(x, i, axis=0))
    >>> saved = jax.export.export(take, disabled_checks=[ours])(*shapes)  # saved.serialize() needs flatbuffers
    >>> saved.call(jax.numpy.ones((4, 2)), jax.numpy.array([3, 0, 1])).shape
    (3, 2)
    """
    from gatherscatter._xla.lowering import ffi_is_usable

    if not ffi_is_usable():
        raise RuntimeError(
            "register: jaxlib refuses the compiled handler; the log of gatherscatter says why, and calls in functions "
            "that this process compiles go through jax.pure_callback"
        )
