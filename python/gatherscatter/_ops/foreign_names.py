"""foreign_names.py: names of functions of other libraries, each with the call of this package that does the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

__all__ = ["FOREIGN", "FOREIGN_OF_TABLES", "no_attribute", "refuser_of"]

_ADD = 'gs.scatter(x, rows, src, reduce="add")'
_SET = "gs.scatter(x, rows, src)"
_TAKE = "gs.take(x, rows, axis=0)"
_ALONG = "gs.gather(x, dim, index)"
_ADD_ALONG = 'gs.scatter(x, dim, index, along, reduce="add")'
_OF_GROUPS = {"max": "max", "min": "min", "mean": "mean", "prod": "mul"}
_SEGMENTS = {
    name: f'gs.scatter(x, rows, src, reduce="{word}", include_self=False)' for name, word in _OF_GROUPS.items()
}
_ADD_POINTS = 'gs.scatter_nd(x, (r, c), updates, reduce="add")'
_ADD_ND = 'gs.scatter_nd(x, indices, updates, reduce="add")'

# By name: our call. x is the array, `rows` are row numbers, `index` has the rank of x, `mask` is of bool.
FOREIGN: dict[str, str] = {
    # whole rows, and elements along an axis
    **dict.fromkeys(("index_select", "take_rows", "gather_rows", "get_rows"), _TAKE),
    "embedding": "gs.gather(x, rows, axis=0)",
    **dict.fromkeys(("gather_d", "gather_elements", "batch_gather"), _ALONG),
    "take_along_dim": "gs.take_along_axis(x, index, dim)",
    "index_sample": "gs.gather(x, 1, index)",
    "embedding_bag": "gs.scatter(zeros, bags, gs.take(x, rows, axis=0), reduce='add')",
    **dict.fromkeys(("index_copy", "scatter_rows", "put_rows", "set_rows", "scatter_update"), _SET),
    "scatter_elements": "gs.scatter(x, dim, index, along)",
    "scatter_": "gs.scatter(x, dim, index, along, out=x)",
    "index_fill": "gs.scatter(x, rows, 0.0)",
    "index_add": _ADD,
    "index_reduce": _SEGMENTS["mean"],
    **dict.fromkeys(("scatter_add", "scatter_sum"), _ADD_ALONG),
    "scatter_reduce": 'gs.scatter(x, dim, index, along, reduce="max")',
    **{
        f"scatter_{name}": f'gs.scatter(x, dim, index, along, reduce="{word}", include_self=False)'
        for name, word in (*_OF_GROUPS.items(), ("mul", "mul"))
    },
    "scatter_apply": _ADD,
    "at": f"{_ADD}, or {_ADD_POINTS}",
    "bincount": 'gs.scatter(counts, 0, rows, 1.0, reduce="add")',
    # groups: x has one row for each group, `rows` say the group of each row of src
    **dict.fromkeys(("segment_sum", "unsorted_segment_sum", "segment_add"), _ADD),
    **{f"{kind}segment_{word}": call for kind in ("", "unsorted_") for word, call in _SEGMENTS.items()},
    **dict.fromkeys(("segment_csr", "segment_coo"), 'gs.scatter(x, gs.repeat(groups, lengths), src, reduce="add")'),
    "gather_csr": "gs.gather(x, gs.repeat(groups, lengths), axis=0)",
    "gather_coo": "gs.gather(x, rows, axis=0)",
    **dict.fromkeys(("groupby", "group_by"), _ADD),
    # points
    **dict.fromkeys(("tensor_scatter_nd_update", "tensor_scatter_update"), "gs.scatter_nd(x, indices, updates)"),
    **dict.fromkeys(("tensor_scatter_nd_add", "tensor_scatter_add", "scatter_nd_add"), _ADD_ND),
    **{f"tensor_scatter_{nd}{word}": _ADD_ND.replace("add", word) for nd in ("", "nd_") for word in ("max", "min")},
    "index_put": "gs.scatter_nd(x, (r, c), updates)",
    # masks
    **dict.fromkeys(("masked_select", "boolean_mask", "extract"), "gs.compress(mask.reshape(-1), x)"),
    "masked_fill": "gs.putmask(x, mask, 0.0)",
    **dict.fromkeys(("masked_scatter", "masked_put"), "gs.place(x, mask, values)"),
    "delete": "gs.compress(keep, x, axis=0)",
    # the rest
    "repeat_interleave": "gs.repeat(x, 2, axis=0)",
    "load": "gs.open(path)",
    "memmap": "gs.open(path)",
    # tables
    "filter": "gs.compress(keep, x, axis=0), and of tables gs.table.filter(table, keep)",
    "boolean_mask_scatter": "gs.place(x, mask, values), and of tables gs.table.boolean_mask_scatter(row, table, keep)",
    "copy_if_else": "gs.table.copy_if_else(column, column, keep)",
    "segmented_gather": "gs.table.segmented_gather(lists, places)",
    "gather_table": "gs.table.gather(table, rows)",
    "scatter_table": "gs.table.scatter(table, rows, target)",
}

_OF_TABLE = "gs.table.gather(table, rows)"

# The same for gatherscatter.table.
FOREIGN_OF_TABLES: dict[str, str] = {
    **dict.fromkeys(("take", "iloc", "slice", "gather_rows", "take_rows", "permute", "sample"), _OF_TABLE),
    **dict.fromkeys(("reindex", "gather_nullify", "left_join"), 'gs.table.gather(table, rows, bounds="nullify")'),
    "select": 'gs.table.gather(table, rows, columns=["a"])',
    **dict.fromkeys(("put", "update", "replace_rows"), "gs.table.scatter(table, rows, target)"),
    **dict.fromkeys(("apply_boolean_mask", "mask", "compress", "drop", "boolean_mask"), "gs.table.filter(table, keep)"),
    **dict.fromkeys(("place", "putmask", "replace_with_mask"), "gs.table.boolean_mask_scatter(row, table, keep)"),
    **dict.fromkeys(("fillna", "fill_null", "replace_nulls"), "gs.table.boolean_mask_scatter(0, column, is_null)"),
    **dict.fromkeys(("where", "if_else", "zip_with", "copy_if"), "gs.table.copy_if_else(column, column, keep)"),
    **dict.fromkeys(("get_indexer", "index_in", "lookup", "search", "join", "merge"), "gs.table.rows_of(keys, wanted)"),
    **dict.fromkeys(("list_gather", "list_take"), "gs.table.segmented_gather(lists, places)"),
}


def refuser_of(module: str, names: dict[str, str]) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module, for attributes that it lacks."""

    def refuse(name: str) -> NoReturn:
        raise no_attribute(module, name, names)

    return refuse


def no_attribute(module: str, name: str, names: dict[str, str]) -> AttributeError:
    """The error for an attribute that a module lacks; for a name of another library it shows our call."""
    text = f"module {module!r} has no attribute {name!r}"
    call = names.get(name)
    if call is None and name.endswith("_") and name[:-1] in names:  # torch's names of what writes in place
        call = f"{names[name[:-1]]}; out=x writes in place"
    if call is not None:
        text += f"; what it does elsewhere is {call}"
    return AttributeError(text, name=name)
