"""Who competes on a GPU and how: one row per way to write a call, as in `peers.py`."""

from __future__ import annotations

from ..peers import Form

GS, GS_CUPY, TORCH, CUPY, JAX = "gatherscatter", "gatherscatter, CuPy arrays", "torch", "cupy", "jax"
SURE = "torch.use_deterministic_algorithms"
INSIDE = "m & (i >= 0) & (i < n)"
BOUNDS = ("raise", "deferred", "unchecked")
FLAT = "(i[:, 0] * side + i[:, 1]) * side + i[:, 2]"


def _ours(kinds: str, call: str, result: str = "") -> tuple[Form, ...]:
    """`call` has BOUNDS in the place of its options: once for each rule that differs on a GPU."""
    forms = []
    for bounds in BOUNDS:
        option = "" if bounds == "raise" else f", bounds='{bounds}'"
        forms.append(Form(GS, kinds, call.replace("BOUNDS", option), result=result))
    return tuple(forms)


def _jitted(kinds: str, expression: str, arrays: str = "x, i") -> Form:
    return Form(
        JAX,
        kinds,
        f"f({arrays}).block_until_ready()",
        setup=f"from jax import jit, numpy as jnp; f = jit(lambda {arrays}: {expression})",
        shown=f"jit: {expression}",
    )


FORMS = (
    *_ours("take rows", "gs.gather(x, i, axis=0BOUNDS)"),
    *_ours("take rows", "gs.gather(x, i, axis=0BOUNDS, out=out)"),
    Form(GS_CUPY, "take rows", "gs.gather(x, i, axis=0, bounds='deferred')"),
    Form(TORCH, "take rows", "torch.index_select(x, 0, i)", index="int32 int64"),
    Form(TORCH, "take rows", "torch.index_select(x, 0, i, out=out)", index="int32 int64"),
    Form(TORCH, "take rows", "x[i]", index="int32 int64"),
    Form(TORCH, "take", "torch.gather(x, 0, i)", index="int64"),
    Form(TORCH, "take", "torch.index_select(x, 0, i.int())", index="uint8"),
    Form(TORCH, "rows", "torch.nn.functional.embedding(i, x)"),
    Form(CUPY, "take rows", "cupy.take(x, i, axis=0)"),
    Form(CUPY, "take rows", "cupy.take(x, i, axis=0, out=out)"),
    Form(CUPY, "take rows", "x[i]"),
    _jitted("take rows", "jnp.take(x, i, axis=0, mode='clip')"),
    *_ours("last", "gs.gather(x, 1, iBOUNDS)"),
    *_ours("last", "gs.gather(x, 1, iBOUNDS, out=out)"),
    Form(TORCH, "last", "torch.gather(x, 1, i)"),
    Form(TORCH, "last", "torch.gather(x, 1, i, out=out)"),
    Form(CUPY, "last", "cupy.take_along_axis(x, i, 1)"),
    _jitted("last", "jnp.take_along_axis(x, i, 1, mode='clip')"),
    *_ours("first", "gs.gather(x, 0, iBOUNDS)"),
    *_ours("first", "gs.gather(x, 0, iBOUNDS, out=out)"),
    Form(TORCH, "first", "torch.gather(x, 0, i)"),
    Form(TORCH, "first", "torch.gather(x, 0, i, out=out)"),
    Form(CUPY, "first", "cupy.take_along_axis(x, i, 0)"),
    _jitted("first", "jnp.take_along_axis(x, i, 0, mode='clip')"),
    *_ours("batch", "gs.gather(x, i, axis=1, batch_dims=1BOUNDS)"),
    *_ours("batch", "gs.gather(x, i, axis=1, batch_dims=1BOUNDS, out=out)"),
    Form(TORCH, "batch", "x[batch, i]"),
    Form(TORCH, "batch", "torch.index_select(x.view(-1, width), 0, (i + batch_start).view(-1)).view(out_shape)"),
    Form(CUPY, "batch", "x[batch, i]"),
    Form(GS, "tile", "gs.tile_gather(x, i, mask=m, padding_value=pad)"),
    Form(TORCH, "tile", f"torch.where({INSIDE}, x[i.clamp(0, n - 1)], pad)"),
    Form(CUPY, "tile", f"cupy.where({INSIDE}, x[i.clip(0, n - 1)], cupy.float32(pad))"),
    *_ours("points", "gs.gather_nd(x, iBOUNDS)"),
    Form(TORCH, "points", "x[i[:, 0], i[:, 1], i[:, 2]]"),
    Form(TORCH, "points", f"torch.index_select(x.view(-1), 0, {FLAT})"),
    Form(CUPY, "points", "x[i[:, 0], i[:, 1], i[:, 2]]"),
    *_ours("set_rows", "gs.scatter(x, i, bBOUNDS)"),
    *_ours("set_rows", "gs.scatter(out, i, bBOUNDS, out=out)"),
    *_ours("set_rows", "gs.scatter_nd(x, i[:, None], bBOUNDS)"),
    *_ours("set_rows", "gs.scatter_nd(out, i[:, None], bBOUNDS, out=out)"),
    Form(TORCH, "set_rows", "torch.index_copy(x, 0, i, b)"),
    Form(TORCH, "set_rows", "out.index_copy_(0, i, b)"),
    Form(TORCH, "set_rows", "out.index_put_((i,), b)"),
    Form(CUPY, "set_rows", "out[i] = b", result="out"),
    *_ours("set", "gs.scatter(x, 0, i, bBOUNDS)"),
    *_ours("set", "gs.scatter(out, 0, i, bBOUNDS, out=out)"),
    # The last of several duplicates has to win: torch promises that in one mode only, CuPy in none.
    Form(TORCH, "set", f"{SURE}(True); out.index_put_((i,), b); {SURE}(False)", result="out"),
    *_ours("add", "gs.scatter(x, 0, i, b, reduce='add'BOUNDS)"),
    *_ours("add", "gs.scatter(out, 0, i, b, reduce='add'BOUNDS, out=out)"),
    Form(TORCH, "add", "out.scatter_add_(0, i, b)"),
    Form(TORCH, "add", f"{SURE}(True); out.index_add_(0, i, b); {SURE}(False)", result="out"),
    Form(TORCH, "add", "out.index_add_(0, i, b)"),
    Form(CUPY, "add", "cupy.add.at(out, i, b)", result="out"),
)
