"""The libraries and their forms: one entry for each library, and one for each way to write the call.

The code of a form is what a user would write, and is what is timed. Names in the code: `x` source, `i` index, `m`
mask, `b` values, `out` result memory, and the constants of the case; all are arrays of the library over shared memory.
In a scatter `out` is the target in place, and `x` the target of a call with a new result. Tables: `table_peers.py`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Library:
    name: str
    module: str  # imported; the report names a missing one
    alias: str  # its name in the code
    adapt: Callable[[ModuleType, Any], Any]  # a NumPy array or Arrow table as the library's view of it
    plain: Callable[[Any], Any]  # converts a result to a NumPy array or Arrow table for the comparison
    set_threads: Callable[[ModuleType, int], object]
    role: str = "peer"  # "peer", "ours", or "by hand": code that an expert would write instead of installing a library
    needs: str = ""  # the library whose arrays it uses
    thread_variables: tuple[str, ...] = ()  # environment variables that must hold the number of threads at import

    @property
    def ours(self) -> bool:
        return self.role == "ours"

    def load(self) -> ModuleType | str:
        """The module, or the reason why it is left out."""
        try:
            return importlib.import_module(self.module)
        except ModuleNotFoundError as missing:
            if missing.name != self.module:
                raise
            return "not installed"
        except ImportError as reason:  # numba raises it for a NumPy that is too new
            if self.ours:
                raise
            return str(reason)


def _torch_view(_: ModuleType, array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array)


LIBRARIES = (
    Library(
        "gatherscatter",
        "gatherscatter",
        "gs",
        adapt=lambda gs, array: array,
        plain=np.asarray,
        set_threads=lambda gs, n: gs.set_num_threads(n),
        role="ours",
    ),
    Library(
        "gatherscatter, torch tensors",
        "gatherscatter",
        "gs",
        adapt=_torch_view,
        plain=lambda tensor: tensor.numpy(),
        set_threads=lambda gs, n: gs.set_num_threads(n),
        role="ours",
        needs="torch",
    ),
    Library(
        "numpy",
        "numpy",
        "np",
        adapt=lambda np_, array: array,
        plain=np.asarray,
        set_threads=lambda np_, n: None,  # NumPy always uses one thread
    ),
    Library(
        "torch",
        "torch",
        "torch",
        adapt=_torch_view,
        plain=lambda tensor: tensor.numpy(),
        set_threads=lambda torch, n: torch.set_num_threads(n),
    ),
)


@dataclass(frozen=True)
class Form:
    library: str
    kinds: str  # the kinds of cases that it supports
    code: str
    setup: str = ""  # a statement that is run once and not timed
    index: str = ""  # supported index dtypes; all if empty
    result: str = ""  # if the code is a statement: the variable that holds the result
    shown: str = ""  # text for tables, if the code is not clear
    apart: bool = False  # `out` in the code is other memory than the case's
    beside: bool = False  # neither ours nor a peer: a comparison for ours, such as equal rows in one chunk

    @property
    def fresh(self) -> bool:
        return re.search(r"\bout\b", self.code) is None

    @property
    def statement(self) -> str:
        """The code in the timed loop: a new result is deleted at once, as that of an expression is."""
        return f"{self.code}; del {self.result}" if self.result and self.fresh else self.code

    def fits(self, kind: str, index_dtype: str) -> bool:
        return kind in self.kinds.split() and (not self.index or index_dtype in self.index.split())


GS, GS_TORCH, NP, TORCH = "gatherscatter", "gatherscatter, torch tensors", "numpy", "torch"
ARROW, POLARS = "pyarrow", "polars"  # libraries of table_peers.py
COMPUTE = "from pyarrow import compute as pc"
TAKE_PLAN = "plan = gs.plan(gs.take, x, i)"
# As unsigned numbers negative indices are large, so one comparison checks both limits.
NP_INSIDE = "m & (i.view(np.uint32) < n)"
TORCH_INSIDE = "m & (i >= 0) & (i < n)"
FLAT = "(i[:, 0] * side + i[:, 1]) * side + i[:, 2]"
SURE = "torch.use_deterministic_algorithms"

FORMS = (
    # ---- one-dimensional take; "bad" has one index out of range and must raise
    Form(GS, "take small bad", "gs.take(x, i)"),
    Form(GS, "take small", "gs.take(x, i, out=out)"),
    Form(GS, "small", "gs.gather(x, 0, i)"),
    Form(GS, "small", "gs.gather(x, i, axis=0)"),
    Form(GS, "small", "gs.take_along_axis(x, i, 0)"),
    Form(GS, "small", "plan(x, i)", setup=TAKE_PLAN),
    Form(GS, "small", "plan(x, i, out=out)", setup=TAKE_PLAN),
    Form(GS_TORCH, "small", "gs.gather(x, 0, i)"),
    Form(GS_TORCH, "small", "gs.gather(x, 0, i, out=out)"),
    Form(GS_TORCH, "small", "gs.gather(x, i, axis=0)"),
    Form(NP, "take small bad", "np.take(x, i)"),
    Form(NP, "take small bad", "x[i]"),
    Form(NP, "take small", "x.take(i)"),
    Form(NP, "take small", "np.take(x, i, mode='clip')"),
    Form(NP, "take small", "np.take(x, i, mode='clip', out=out)"),
    Form(NP, "take small", "x.take(i, mode='clip', out=out)"),
    Form(NP, "small", "np.take_along_axis(x, i, 0)"),
    Form(TORCH, "take small bad", "torch.index_select(x, 0, i)", index="int32 int64"),
    Form(TORCH, "take small", "torch.index_select(x, 0, i, out=out)", index="int32 int64"),
    Form(TORCH, "take small bad", "x[i]", index="int32 int64"),
    Form(TORCH, "take small", "torch.gather(x, 0, i)", index="int64"),
    Form(TORCH, "take small", "torch.gather(x, 0, i, out=out)", index="int64"),
    Form(TORCH, "take", "torch.gather(x, 0, i.long())", index="int32"),
    Form(TORCH, "take", "torch.index_select(x, 0, i.int())", index="uint8 uint16"),
    Form(TORCH, "take", "torch.index_select(x, 0, i.int(), out=out)", index="uint8 uint16"),
    Form(TORCH, "take", "x[i.int()]", index="uint8 uint16"),
    Form(ARROW, "take small bad", "pc.take(x, i)", setup=COMPUTE),
    Form(ARROW, "take", "pc.take(x, i, boundscheck=False)", setup=COMPUTE),
    Form(POLARS, "take small bad", "x.gather(i)"),
    Form(POLARS, "take small bad", "x[i]"),
    Form(POLARS, "take", "f.select(pl.col('x').gather(i))['x']", setup="f = pl.DataFrame({'x': x})"),
    # ---- rows
    Form(GS, "rows", "gs.gather(x, i, axis=0)"),
    Form(GS, "rows", "gs.gather(x, i, axis=0, out=out)"),
    Form(NP, "rows", "np.take(x, i, axis=0)"),
    Form(NP, "rows", "x[i]"),
    Form(NP, "rows", "np.take(x, i, axis=0, mode='clip')"),
    Form(NP, "rows", "np.take(x, i, axis=0, mode='clip', out=out)"),
    Form(TORCH, "rows", "torch.index_select(x, 0, i)"),
    Form(TORCH, "rows", "torch.index_select(x, 0, i, out=out)"),
    Form(TORCH, "rows", "x[i]"),
    Form(TORCH, "rows", "torch.nn.functional.embedding(i, x)"),
    # ---- elementwise along the last axis; `row_start` turns an index into a flat one
    Form(GS, "last", "gs.gather(x, 1, i)"),
    Form(GS, "last", "gs.gather(x, 1, i, out=out)"),
    Form(NP, "last", "np.take_along_axis(x, i, axis=1)"),
    Form(NP, "last", "x[row, i]"),
    Form(NP, "last", "x.reshape(-1).take(i + row_start)"),
    Form(NP, "last", "x.reshape(-1).take(i + row_start, mode='clip', out=out)"),
    Form(TORCH, "last", "torch.gather(x, 1, i)"),
    Form(TORCH, "last", "torch.gather(x, 1, i, out=out)"),
    # ---- elementwise along axis 0
    Form(GS, "first", "gs.gather(x, 0, i)"),
    Form(GS, "first", "gs.gather(x, 0, i, out=out)"),
    Form(NP, "first", "np.take_along_axis(x, i, axis=0)"),
    Form(NP, "first", "x[i, column]"),
    Form(NP, "first", "x.reshape(-1).take(i * width + column)"),
    Form(NP, "first", "x.reshape(-1).take(i * width + column, mode='clip', out=out)"),
    Form(TORCH, "first", "torch.gather(x, 0, i)"),
    Form(TORCH, "first", "torch.gather(x, 0, i, out=out)"),
    Form(TORCH, "first", "torch.take(x, i * width + column)"),
    # ---- rows of every batch
    Form(GS, "batch", "gs.gather(x, i, axis=1, batch_dims=1)"),
    Form(GS, "batch", "gs.gather(x, i, axis=1, batch_dims=1, out=out)"),
    Form(NP, "batch", "np.take_along_axis(x, i[:, :, None], axis=1)"),
    Form(NP, "batch", "x[batch, i]"),
    Form(NP, "batch", "x.reshape(-1, width).take(i + batch_start, axis=0)"),
    Form(NP, "batch", "x.reshape(-1, width).take(i + batch_start, axis=0, mode='clip', out=out)"),
    Form(TORCH, "batch", "torch.gather(x, 1, i.long()[:, :, None].expand(-1, -1, width))"),
    Form(TORCH, "batch", "x[batch, i]"),
    Form(TORCH, "batch", "torch.index_select(x.view(-1, width), 0, (i + batch_start).view(-1)).view(out_shape)"),
    Form(
        TORCH,
        "batch",
        "torch.index_select(x.view(-1, width), 0, (i + batch_start).view(-1), out=out.view(-1, width)).view(out_shape)",
    ),
    # ---- masked, bounds-checked, padded
    Form(GS, "tile", "gs.tile_gather(x, i, mask=m, padding_value=pad)"),
    Form(NP, "tile", f"np.where({NP_INSIDE}, np.take(x, i, mode='clip'), pad)"),
    Form(NP, "tile", f"np.where({NP_INSIDE}, np.take(x, i, mode='clip', out=out), pad)", apart=True),
    Form(NP, "tile", f"np.putmask(np.take(x, i, mode='clip', out=out), ~({NP_INSIDE}), pad) or out"),
    Form(TORCH, "tile", f"torch.where({TORCH_INSIDE}, x[i.clamp(0, n - 1)], pad)"),
    Form(
        TORCH,
        "tile",
        f"torch.where({TORCH_INSIDE}, torch.index_select(x, 0, i.clamp(0, n - 1).view(-1)).view(out_shape), pad)",
    ),
    Form(
        TORCH,
        "tile",
        f"torch.index_select(x, 0, i.clamp(0, n - 1).view(-1), out=out.view(-1)).view(out_shape)"
        f".masked_fill_(~({TORCH_INSIDE}), pad)",
    ),
    # ---- single elements by three coordinates each
    Form(GS, "points", "gs.gather_nd(x, i)"),
    Form(GS, "points", "gs.gather_nd(x, i, out=out)"),
    Form(NP, "points", "x[i[:, 0], i[:, 1], i[:, 2]]"),
    Form(NP, "points", "x[tuple(i.T)]"),
    Form(NP, "points", f"x.reshape(-1).take({FLAT})"),
    Form(NP, "points", f"x.reshape(-1).take({FLAT}, mode='clip', out=out)"),
    Form(NP, "points", "x.reshape(-1).take(np.ravel_multi_index(tuple(i.T), x.shape), mode='clip', out=out)"),
    Form(TORCH, "points", "x[i[:, 0], i[:, 1], i[:, 2]]"),
    Form(TORCH, "points", "x[i.unbind(1)]"),
    Form(TORCH, "points", f"torch.take(x, {FLAT})"),
    Form(TORCH, "points", f"torch.take(x, {FLAT}, out=out)"),
    Form(TORCH, "points", f"torch.index_select(x.view(-1), 0, {FLAT}, out=out)"),
    # ---- an array rolled along its only axis
    Form(GS, "roll", "gs.roll(x, i)"),
    Form(NP, "roll", "np.roll(x, i)"),
    Form(NP, "roll", "np.concatenate((x[-i:], x[:-i]))"),
    Form(TORCH, "roll", "torch.roll(x, int(i))"),
    # ---- items repeated, each as many times as its count says
    Form(GS, "repeat", "gs.repeat(x, i)"),
    Form(NP, "repeat", "np.repeat(x, i)"),
    Form(NP, "repeat", "x[np.repeat(np.arange(len(x)), i)]"),
    Form(TORCH, "repeat", "torch.repeat_interleave(x, i)"),
    # ---- rows written, no target twice
    Form(GS, "set_rows", "gs.scatter(x, i, b)"),
    Form(GS, "set_rows", "gs.scatter(out, i, b, out=out)"),
    Form(GS, "set_rows", "gs.scatter_nd(x, i[:, None], b)"),
    Form(GS, "set_rows", "gs.scatter_nd(out, i[:, None], b, out=out)"),
    Form(NP, "set_rows", "r = x.copy(); r[i] = b", result="r"),
    Form(NP, "set_rows", "out[i] = b", result="out"),
    Form(TORCH, "set_rows", "torch.index_copy(x, 0, i, b)"),
    Form(TORCH, "set_rows", "out.index_copy_(0, i, b)"),
    Form(TORCH, "set_rows", "torch.index_put(x, (i,), b)"),
    Form(TORCH, "set_rows", "out.index_put_((i,), b)"),
    Form(TORCH, "set_rows", "out.scatter_(0, i[:, None].expand(b.shape), b)"),
    # ---- elements written, many of them several times; the last one has to win, which torch promises in one mode only
    Form(GS, "set", "gs.scatter(x, 0, i, b)"),
    Form(GS, "set", "gs.scatter(out, 0, i, b, out=out)"),
    Form(GS, "set", "gs.put(out, i, b)", result="out"),
    Form(NP, "set", "r = x.copy(); r[i] = b", result="r"),
    Form(NP, "set", "out[i] = b", result="out"),
    Form(NP, "set", "np.put(out, i, b)", result="out"),
    Form(TORCH, "set", f"{SURE}(True); r = x.clone().index_put_((i,), b); {SURE}(False)", result="r"),
    Form(TORCH, "set", f"{SURE}(True); out.index_put_((i,), b); {SURE}(False)", result="out"),
    Form(TORCH, "set", "torch.scatter(x, 0, i.long(), b)"),
    Form(TORCH, "set", "out.scatter_(0, i.long(), b)"),
    # ---- elements added up; whole numbers, so that every order of additions gives the same sum
    Form(GS, "add", "gs.scatter(x, 0, i, b, reduce='add')"),
    Form(GS, "add", "gs.scatter(out, 0, i, b, reduce='add', out=out)"),
    Form(NP, "add", "r = x.copy(); np.add.at(r, i, b)", result="r"),
    Form(NP, "add", "np.add.at(out, i, b)", result="out"),
    Form(NP, "add", "(x + np.bincount(i, b, len(x))).astype(x.dtype)"),
    Form(NP, "add", "np.add(out, np.bincount(i, b, len(out)), out=out)"),
    Form(TORCH, "add", "torch.scatter_add(x, 0, i, b)"),
    Form(TORCH, "add", "out.scatter_add_(0, i, b)"),
    Form(TORCH, "add", "torch.index_add(x, 0, i, b)"),
    Form(TORCH, "add", "out.index_add_(0, i, b)"),
    Form(TORCH, "add", "torch.index_put(x, (i,), b, accumulate=True)"),
    Form(TORCH, "add", "out.index_put_((i,), b, accumulate=True)"),
    Form(TORCH, "add", "out.add_(torch.bincount(i, b, len(out)))"),
    # ---- elements written along the last axis, no target twice
    Form(GS, "set_last", "gs.scatter(x, 1, i, b)"),
    Form(GS, "set_last", "gs.scatter(out, 1, i, b, out=out)"),
    Form(GS, "set_last", "gs.put_along_axis(out, i, b, 1)", result="out"),
    Form(NP, "set_last", "r = x.copy(); np.put_along_axis(r, i, b, 1)", result="r"),
    Form(NP, "set_last", "np.put_along_axis(out, i, b, 1)", result="out"),
    Form(NP, "set_last", "out[row, i] = b", result="out"),
    Form(NP, "set_last", "out.reshape(-1)[i + row_start] = b", result="out"),
    Form(TORCH, "set_last", "torch.scatter(x, 1, i, b)"),
    Form(TORCH, "set_last", "out.scatter_(1, i, b)"),
)
