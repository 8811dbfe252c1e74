"""Libraries that compile: JAX with jit, and numba with hand-written kernels. Entries as in `peers.py`.

JAX's arrays cannot be written to. In place of `out=` the result's memory is donated to the next call, so that it is
recycled as in the other libraries; XLA copies the first of them.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .peers import Form, Library

JAX, NUMBA = "jax", "numba"


def _jax_view(jax: ModuleType, array: np.ndarray) -> Any:
    return jax.dlpack.from_dlpack(array)


def _set_jax_up(jax: ModuleType, threads: int) -> None:
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)  # else JAX converts int64 and float64 to 32 bits


LIBRARIES = (
    Library(
        JAX,
        "jax",
        "jax",
        adapt=_jax_view,
        plain=np.asarray,
        set_threads=_set_jax_up,
        thread_variables=("NPROC",),  # XLA reads it as the number of processors
    ),
    Library(
        NUMBA,
        "numba",
        "numba",
        adapt=lambda numba, array: array,
        plain=np.asarray,
        set_threads=lambda numba, n: numba.set_num_threads(n),
        thread_variables=("NUMBA_NUM_THREADS",),
        role="by hand",
    ),
)


def _jitted(kinds: str, expression: str, arrays: str = "x, i") -> tuple[Form, Form]:
    """A jitted function of `arrays`, with a new result and with a recycled one."""
    setup = "from jax import jit, numpy as jnp; "
    return (
        Form(
            JAX,
            kinds,
            f"f({arrays}).block_until_ready()",
            setup=f"{setup}f = jit(lambda {arrays}: {expression})",
            shown=f"jit: {expression}",
        ),
        Form(
            JAX,
            kinds,
            f"out.append(f(out.pop(), {arrays}).block_until_ready())",
            setup=f"{setup}out = [jnp.copy(out)]; f = jit(lambda old, {arrays}: {expression}, donate_argnums=0, "
            "keep_unused=True)",
            result="out[0]",
            shown=f"jit, recycled: {expression}",
            apart=True,
        ),
    )


def _jitted_write(kinds: str, expression: str) -> tuple[Form, Form]:
    """A jitted write to `x`, with a new result, and in place on the result of the previous call."""
    setup = "from jax import jit, numpy as jnp; "
    return (
        Form(
            JAX,
            kinds,
            "f(x, i, b).block_until_ready()",
            setup=f"{setup}f = jit(lambda x, i, b: {expression})",
            shown=f"jit: {expression}",
        ),
        Form(
            JAX,
            kinds,
            "out.append(f(out.pop(), i, b).block_until_ready())",
            setup=f"{setup}out = [jnp.copy(x)]; f = jit(lambda x, i, b: {expression}, donate_argnums=0)",
            result="out[0]",
            shown=f"jit, donated: {expression}",
            apart=True,
        ),
    )


def _kernel(kinds: str, name: str, *, arrays: str = "x, i", empty: str = "i.shape, x.dtype") -> tuple[Form, Form]:
    """A kernel of `numba_kernels.py`, with a new result and with a recycled one."""
    setup = f"from benchmarks.numba_kernels import {name}"
    return (
        Form(NUMBA, kinds, f"{name}({arrays}, np.empty({empty}))", setup=setup),
        Form(NUMBA, kinds, f"{name}({arrays}, out)", setup=setup),
    )


def _written(kinds: str, name: str) -> tuple[Form, Form]:
    setup = f"from benchmarks.numba_kernels import {name}"
    return (
        Form(NUMBA, kinds, f"{name}(x.copy(), i, b)", setup=setup),
        Form(NUMBA, kinds, f"{name}(out, i, b)", setup=setup),
    )


INSIDE = "m & (i >= 0) & (i < n)"

FORMS = (
    *_jitted("take rows small", "x[i]"),
    *_jitted("take rows small", "jnp.take(x, i, axis=0, mode='clip')"),
    *_jitted("take rows", "jnp.take(x, i, axis=0)"),
    *_jitted("last", "jnp.take_along_axis(x, i, 1)"),
    *_jitted("last", "jnp.take_along_axis(x, i, 1, mode='clip')"),
    *_jitted("last", "jnp.take(x.reshape(-1), i + row_start, mode='clip')"),
    *_jitted("first", "jnp.take_along_axis(x, i, 0)"),
    *_jitted("first", "jnp.take_along_axis(x, i, 0, mode='clip')"),
    *_jitted("first", "jnp.take(x.reshape(-1), i * width + column, mode='clip')"),
    *_jitted("batch", "x[batch, i]"),
    *_jitted("batch", "jnp.take_along_axis(x, i[:, :, None], 1, mode='clip')"),
    *_jitted("batch", "jnp.take(x.reshape(-1, width), i + batch_start, axis=0, mode='clip')"),
    *_jitted("tile", f"jnp.where({INSIDE}, jnp.take(x, i, mode='clip'), pad)", "x, i, m"),
    *_jitted("points", "x[i[:, 0], i[:, 1], i[:, 2]]"),
    *_jitted("points", "jnp.take(x.reshape(-1), (i[:, 0] * side + i[:, 1]) * side + i[:, 2], mode='clip')"),
    *_jitted("roll", "jnp.roll(x, i)"),
    *_jitted("repeat", "jnp.repeat(x, i, total_repeat_length=total)"),
    *_jitted_write("set_rows", "x.at[i].set(b)"),
    *_jitted_write("set_rows", "x.at[i].set(b, unique_indices=True)"),
    *_jitted_write("set", "x.at[i].set(b)"),
    *_jitted_write("add", "x.at[i].add(b)"),
    *_jitted_write("set_last", "jnp.put_along_axis(x, i, b, 1, inplace=False)"),
    *_jitted_write("set_last", "x.at[row, i].set(b, unique_indices=True)"),
    *_kernel("take small bad", "take"),
    *_kernel("take bad", "take_by_blocks"),
    *_kernel("rows", "rows", empty="(len(i), x.shape[1]), x.dtype"),
    *_kernel("rows", "rows_as_slices", empty="(len(i), x.shape[1]), x.dtype"),
    *_kernel("last", "along_last"),
    *_kernel("first", "along_first"),
    *_kernel("first", "along_first_by_columns"),
    *_kernel("batch", "batch", empty="out_shape, x.dtype"),
    *_kernel("tile", "tile", arrays="x, i, m, pad"),
    *_kernel("points", "points", empty="len(i), x.dtype"),
    *_kernel("repeat", "repeat", empty="total, x.dtype"),
    *_kernel("roll", "roll", empty="x.shape, x.dtype"),
    *_written("set_rows", "set_rows"),
    *_written("set_last", "set_last"),
    *_written("set", "set_elements"),
    *_written("add", "add_elements"),
)
