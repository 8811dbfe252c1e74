"""The forms of `more_cases.py`. A form beside ours that does less than its case returns the source."""

from __future__ import annotations

from .compiled_peers import NUMBA
from .peers import GS, GS_TORCH, NP, TORCH, Form
from .table_peers import ARROW, OURS, OURS_ARROW, OURS_PANDAS, OURS_POLARS, PANDAS, POLARS

BRAIN = "import torch; h, d = torch.bfloat16, torch.int16"  # bfloat16, which NumPy lacks, lies in arrays of int16
COPY = "into = x.copy()"
COPIED = "np.copyto(into, x) or x"
RAW = "raw = np.ones(x.nbytes, np.uint8); into = raw.copy()"
RAW_COPIED = "np.copyto(into, raw) or x"
INSIDE = "np.where((i >= 0) & (i < len(x)), x.take(i, mode='clip'), pad)"
FLAGS = "include_self=False"
FIRST = "from benchmarks.numba_kernels import scatter_first"


def _beside(code: str) -> str:
    return f"({code}, x)[1]"


def _reduced(kinds: str, reduce: str, flags: str = "") -> tuple[Form, ...]:
    words = f"reduce='{reduce}'" + (f", {flags}" if flags else "")
    return (
        Form(GS, kinds, f"gs.scatter(x, 0, i, b, {words})"),
        Form(GS, kinds, f"gs.scatter(out, 0, i, b, {words}, out=out)"),
    )


def _torch_reduced(kinds: str, reduce: str, flags: str = "") -> tuple[Form, ...]:
    """torch's elementwise reductions, by both of its functions, with a new result and in place."""
    words = f"'{reduce}'" + (f", {flags}" if flags else "")
    forms = [Form(TORCH, kinds, f"torch.scatter_reduce(x, 0, i, b, {words})")]
    forms.append(Form(TORCH, kinds, f"out.scatter_reduce_(0, i, b, {words})"))
    if reduce != "sum":
        forms.append(Form(TORCH, kinds, f"torch.index_reduce(x, 0, i, b, {words})"))
        forms.append(Form(TORCH, kinds, f"out.index_reduce_(0, i, b, {words})"))
    return tuple(forms)


def _brain(kinds: str, ours: str, *theirs: str) -> tuple[Form, ...]:
    """Reductions of bfloat16: `{x}`, `{b}` and `{out}` stand for views of that dtype."""
    views = {"x": "x.view(h)", "b": "b.view(h)", "out": "out.view(h)"}
    forms = [Form(GS_TORCH, kinds, f"gs.scatter({views['x']}, 0, i, {views['b']}, reduce='{ours}').view(d)", BRAIN)]
    in_place = f"gs.scatter({views['out']}, 0, i, {views['b']}, reduce='{ours}', out={views['out']}).view(d)"
    forms.append(Form(GS_TORCH, kinds, in_place, BRAIN))
    forms += [Form(TORCH, kinds, f"{code.format(**views)}.view(d)", BRAIN) for code in theirs]
    return tuple(forms)


FORMS = (
    # ---- means, with and without the target; beside them the plain sum
    *_reduced("mean", "mean"),
    Form(GS, "mean mean_apart", _beside("gs.scatter(x, 0, i, b, reduce='add')"), beside=True),
    *_torch_reduced("mean", "mean"),
    Form(TORCH, "mean", "torch.scatter_add(x, 0, i, b) / (torch.bincount(i, minlength=len(x)) + 1)"),
    Form(
        NP,
        "mean",
        "((x + np.bincount(i, b, len(x))) / (1 + np.bincount(i, minlength=len(x)))).astype(x.dtype)",
    ),
    *_reduced("mean_apart", "mean", FLAGS),
    *_torch_reduced("mean_apart", "mean", FLAGS),
    Form(
        NP,
        "mean_apart",
        "n = np.bincount(i, minlength=len(x)); r = np.where(n > 0, np.bincount(i, b, len(x)) / np.maximum(n, 1), x)"
        ".astype(x.dtype)",
        result="r",
    ),
    # ---- narrow floats; whole numbers, so that every order of additions gives the same sum
    *_reduced("half_add", "add"),
    *_torch_reduced("half_add", "sum"),
    Form(TORCH, "half_add", "torch.scatter_add(x, 0, i, b)"),
    Form(TORCH, "half_add", "out.scatter_add_(0, i, b)"),
    Form(TORCH, "half_add", "torch.index_add(x, 0, i, b)"),
    Form(TORCH, "half_add", "out.index_add_(0, i, b)"),
    Form(NP, "half_add", "np.add.at(out, i, b)", result="out"),
    *_reduced("half_max", "max"),
    *_torch_reduced("half_max", "amax"),
    Form(NP, "half_max", "np.maximum.at(out, i, b)", result="out"),
    *_brain(
        "brain_add",
        "add",
        "torch.scatter_reduce({x}, 0, i, {b}, 'sum')",
        "{out}.scatter_reduce_(0, i, {b}, 'sum')",
        "torch.scatter_add({x}, 0, i, {b})",
        "{out}.scatter_add_(0, i, {b})",
        "torch.index_add({x}, 0, i, {b})",
        "{out}.index_add_(0, i, {b})",
    ),
    *_brain(
        "brain_max",
        "max",
        "torch.scatter_reduce({x}, 0, i, {b}, 'amax')",
        "{out}.scatter_reduce_(0, i, {b}, 'amax')",
        "torch.index_reduce({x}, 0, i, {b}, 'amax')",
        "{out}.index_reduce_(0, i, {b}, 'amax')",
    ),
    # ---- maxima of rows without the target, which is -inf, so that the plain ones are the same
    Form(GS, "rows_max", f"gs.scatter(x, i, b, reduce='max', {FLAGS})"),
    Form(GS, "rows_max", f"gs.scatter(out, i, b, reduce='max', {FLAGS}, out=out)"),
    Form(GS, "rows_max", "gs.scatter(x, i, b, reduce='max')", beside=True),
    Form(GS, "rows_max", "gs.scatter(out, i, b, reduce='max', out=out)", beside=True),
    Form(NP, "rows_max", "np.maximum.at(out, i, b)", result="out"),
    Form(TORCH, "rows_max", "torch.index_reduce(x, 0, i, b, 'amax')"),
    Form(TORCH, "rows_max", "out.index_reduce_(0, i, b, 'amax')"),
    Form(TORCH, "rows_max", f"torch.index_reduce(x, 0, i, b, 'amax', {FLAGS})"),
    Form(TORCH, "rows_max", "torch.scatter_reduce(x, 0, i[:, None].expand(b.shape), b, 'amax')"),
    Form(TORCH, "rows_max", "out.scatter_reduce_(0, i[:, None].expand(b.shape), b, 'amax')"),
    Form(TORCH, "rows_max", f"torch.scatter_reduce(x, 0, i[:, None].expand(b.shape), b, 'amax', {FLAGS})"),
    # ---- duplicates forbidden, where there are none
    Form(GS, "unique", "gs.scatter(x, 0, i, b, duplicates='error')"),
    Form(GS, "unique", "gs.scatter(out, 0, i, b, duplicates='error', out=out)"),
    Form(GS, "unique", "gs.scatter(x, 0, i, b)", beside=True),
    Form(GS, "unique", "gs.scatter(out, 0, i, b, out=out)", beside=True),
    Form(NP, "unique", "r = x.copy(); r[i] = b", result="r"),
    Form(NP, "unique", "out[i] = b", result="out"),
    Form(TORCH, "unique", "torch.scatter(x, 0, i, b)"),
    Form(TORCH, "unique", "out.scatter_(0, i, b)"),
    Form(TORCH, "unique", "out.index_copy_(0, i, b)"),
    # ---- masks that are all true or all false, beside a copy of the source into recycled memory, by one thread
    Form(GS, "masked_set", "gs.scatter(x, 0, i, b, mask=m)"),
    Form(GS, "masked_set", "gs.scatter(out, 0, i, b, mask=m, out=out)"),
    Form(NP, "masked_set", "r = x.copy(); r[i[m]] = b[m]", result="r"),
    Form(NP, "masked_set", "out[i[m]] = b[m]", result="out"),
    Form(TORCH, "masked_set", "out.index_put_((i[m],), b[m])"),
    Form(GS, "place", "gs.place(out, m, b)", result="out"),
    Form(NP, "place", "np.place(out, m, b)", result="out"),
    Form(NP, "place", "out[m] = b[:np.count_nonzero(m)]", result="out"),
    Form(TORCH, "place", "out.masked_scatter_(m, b)"),
    Form(GS, "compress", "gs.compress(m, x)"),
    Form(GS, "compress", "gs.compress(m, x, out=out)"),
    Form(NP, "compress", "np.compress(m, x)"),
    Form(NP, "compress", "np.compress(m, x, out=out)"),
    Form(NP, "compress", "x[m]"),
    Form(TORCH, "compress", "torch.masked_select(x, m)"),
    Form(TORCH, "compress", "x[m]"),
    Form(GS, "masked_set place compress", COPIED, setup=COPY, shown="a copy of the source", beside=True),
    *(Form(library, "filter", "gs.table.filter(x, m)") for library in OURS),
    Form(ARROW, "filter", "x.filter(m)"),
    Form(POLARS, "filter", "x.filter(m)"),
    Form(PANDAS, "filter", "x[m]"),
    *(Form(library, "if_else", "gs.table.copy_if_else(x, b, m)") for library in OURS),
    Form(
        ARROW,
        "if_else",
        "pa.table([pa.compute.if_else(m, p, q) for p, q in zip(x.columns, b.columns)], x.column_names)",
    ),
    Form(POLARS, "if_else", "x.select(pl.when(m).then(pl.col(c)).otherwise(b[c]).alias(c) for c in x.columns)"),
    Form(PANDAS, "if_else", "pd.DataFrame({c: x[c].where(m, b[c]) for c in x})"),
    Form(OURS_ARROW, "filter if_else", RAW_COPIED, setup=RAW, shown="a copy of as many bytes", beside=True),
    # ---- polars: Categorical columns, beside a column of integers
    Form(OURS_POLARS, "categories", "gs.table.gather(x, i)"),
    Form(OURS_POLARS, "categories", _beside("gs.table.gather(numbers, i)"), beside=True),
    Form(POLARS, "categories", "x[i]"),
    Form(POLARS, "categories", "x.select(pl.all().gather(i))"),
    # ---- pandas: one column
    Form(OURS_PANDAS, "series_gather", "gs.table.gather(x, i)"),
    Form(PANDAS, "series_gather", "x.take(i)"),
    Form(PANDAS, "series_gather", "x.iloc[i]"),
    Form(OURS_PANDAS, "series_scatter", "gs.table.scatter(b, i, x)"),
    Form(PANDAS, "series_scatter", "r = x.copy(); r.iloc[i] = b.array", result="r"),
    # ---- small calls
    Form(GS, "few_put", "gs.put(out, i, b)", result="out"),
    Form(NP, "few_put", "np.put(out, i, b)", result="out"),
    Form(NP, "few_put", "out.put(i, b)", result="out"),
    Form(GS, "few_scatter", "gs.scatter(out, 0, i, b, out=out)"),
    Form(NP, "few_put few_scatter", "out[i] = b", result="out"),
    Form(GS, "few_list", "gs.take(x, k)"),
    Form(NP, "few_list", "x.take(k)"),
    Form(NP, "few_list", "np.take(x, k)"),
    Form(NP, "few_list", "x[k]"),
    Form(GS, "few_points", "gs.gather_nd(x, i)"),
    Form(NP, "few_points", "x[i[:, 0], i[:, 1]]"),
    Form(NP, "few_points", "x[tuple(i.T)]"),
    Form(GS, "few_tile", "gs.tile_gather(x, i, padding_value=pad)"),
    Form(NP, "few_tile", INSIDE),
    Form(NP, "few_tile", "x.take(i)"),
    Form(NP, "few_tile", "x[i]"),
    Form(GS, "few_tile_scatter", "gs.tile_scatter(out, i, b)", result="out"),
    Form(NP, "few_tile_scatter", "out[i] = b", result="out"),
    Form(GS, "few_along", "gs.put_along_axis(out, i, b, 1)", result="out"),
    Form(NP, "few_along", "np.put_along_axis(out, i, b, 1)", result="out"),
    Form(NP, "few_along", "out[row, i] = b", result="out"),
    Form(GS, "few_sum", 'gs.scatter(x, 0, i, b, reduce="add")'),
    Form(NP, "few_sum", "r = x.copy(); np.add.at(r, i, b)", result="r"),
    Form(GS, "few_mask", "gs.gather(x, 0, i, mask=m)"),
    Form(NP, "few_mask", "np.where(m, x[i], np.float32(0))"),
    Form(GS, "few_fill", 'gs.gather(x, 0, i, bounds="fill")'),
    Form(NP, "few_fill", "np.where(i < 1024, x[np.minimum(i, 1023)], np.float32(0))"),
    Form(GS, "few_compress", "gs.compress(m, x)"),
    Form(NP, "few_compress", "np.compress(m, x)"),
    Form(NP, "few_compress", "x[m]"),
    Form(GS, "few_repeat", "gs.repeat(x, c)"),
    Form(NP, "few_repeat", "np.repeat(x, c)"),
    Form(NP, "few_repeat", "x.repeat(c)"),
    Form(GS, "few_roll", "gs.roll(x, k)"),
    Form(NP, "few_roll", "np.roll(x, k)"),
    Form(GS, "few_putmask", "gs.putmask(out, m, b)", result="out"),
    Form(NP, "few_putmask", "np.putmask(out, m, b)", result="out"),
    Form(GS, "few_place", "gs.place(out, m, b)", result="out"),
    Form(NP, "few_place", "np.place(out, m, b)", result="out"),
    # ---- a target in Fortran order, no target twice
    Form(GS, "set_last_laid", "gs.scatter(x, 1, i, b)"),
    Form(GS, "set_last_laid", "gs.scatter(out, 1, i, b, out=out)"),
    Form(GS, "set_last_laid", "gs.put_along_axis(out, i, b, 1)", result="out"),
    Form(NP, "set_last_laid", "np.put_along_axis(out, i, b, 1)", result="out"),
    Form(NP, "set_last_laid", "out[row, i] = b", result="out"),
    Form(TORCH, "set_last_laid", "torch.scatter(x, 1, i, b)"),
    Form(TORCH, "set_last_laid", "out.scatter_(1, i, b)"),
    Form(NUMBA, "set_last_laid", "set_last(out, i, b)", setup="from benchmarks.numba_kernels import set_last"),
    # ---- along the first axis, no target twice
    Form(GS, "set_first", "gs.scatter(x, 0, i, b)"),
    Form(GS, "set_first", "gs.put_along_axis(out, i, b, 0)", result="out"),
    Form(NP, "set_first", "np.put_along_axis(out, i, b, 0)", result="out"),
    Form(NP, "set_first", "out[i, column] = b", result="out"),
    Form(TORCH, "set_first", "torch.scatter(x, 0, i, b)"),
    Form(TORCH, "set_first", "out.scatter_(0, i, b)"),
    Form(NUMBA, "set_first", "scatter_first(out, i, b, False)", setup=FIRST),
    Form(GS, "add_first", "gs.scatter(x, 0, i, b, reduce='add')"),
    Form(NP, "add_first", "np.add.at(out, (i, column), b)", result="out"),
    Form(TORCH, "add_first", "torch.scatter_add(x, 0, i, b)"),
    Form(NUMBA, "add_first", "scatter_first(x.copy(), i, b, True)", setup=FIRST),
)
