"""gathers.py: the graph of a gather: split the index, pick what each chunk of the data has, merge by points."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import groupby
from operator import getitem
from typing import Any

import numpy as np

from gatherscatter._dask.graph import Graph
from gatherscatter._dask.moves import merge, pick_all, pick_own
from gatherscatter._dask.operands import Operand, cuts_of, own_copy
from gatherscatter._dask.parts import NO_POINTS, parts_of
from gatherscatter._dask.points import Blocks, Points

__all__ = ["gathered"]


def gathered(points: Points, data: Any, mask: Any, fill: Any, padding: Any = None) -> Any:
    """The Dask array of a gather.

    Parameters
    ----------
    points : Points
    data : Dask array
    mask : array of bool or None
    fill : 0-d array of the dtype of the data, or None for zero bytes
    padding : array of that dtype that broadcasts to the points, or None
        In place of `fill`.
    """
    op = points.rule.op
    graph = Graph(op, data, points.rule, points.indices, points.axes, mask, fill, padding)
    blocks = Blocks(graph, points, data, mask)
    fill = None if fill is None else own_copy(fill)
    paddings = None if padding is None else Operand(graph, "padding_value", padding, blocks.chunks)
    # One task picks from a chunk of the data for all blocks of points, so that the chunk is freed soon.
    wanted: defaultdict[int, dict[int, Any]] = defaultdict(dict)
    every = blocks.each()
    size = blocks.group_size()
    is_joined = blocks.own_chunks != blocks.chunks
    merged = graph.name_of("merged") if is_joined else graph.name
    for number, each in enumerate(every):
        for group, members in groupby(each.owners, lambda owner: owner // size):
            owners = list(members)
            key = each.key
            if each.parts is None and len(owners) < len(each.owners):
                key = (graph.name_of("part"), *each.place, group)
                graph.add(key, partial(parts_of, owners), each.key)
            for owner in owners:
                wanted[owner][number] = key if each.parts is None else each.parts[owner]
    slice_places = blocks.slice_places()
    for owner, parts in wanted.items():
        for slices in slice_places:
            key, chunk = (graph.name_of("pick"), owner, *slices), blocks.data_keys[blocks.data_place(owner, slices)]
            if blocks.is_concrete:
                graph.add(key, partial(pick_all, op, points.axes, list(parts), list(parts.values())), chunk)
            else:
                graph.add(key, partial(pick_own, op, points.axes, owner, list(parts)), list(parts.values()), chunk)
    for number, each in enumerate(every):
        kept = None if each.parts is None else {o: (NO_POINTS[0], part[1]) for o, part in each.parts.items()}
        for slices in slice_places:
            values = []
            for owner in each.owners:
                key = (graph.name_of("picked"), *each.place, owner, *slices)
                values.append(graph.add(key, getitem, (graph.name_of("pick"), owner, *slices), number))
            run = partial(merge, op, blocks.block(each.extents, slices), np.dtype(data.dtype), fill, each.owners)
            extra = () if paddings is None else (paddings.at(each.place),)
            key = (merged, *blocks.result_place(each.place, slices))
            if kept is None:
                graph.add(key, run, each.key, values, *extra)
            else:
                graph.add(key, partial(run, kept), values, *extra)
    if is_joined:
        for place, whole, cut in cuts_of(blocks.own_result_chunks, blocks.result_chunks):
            graph.add((graph.name, *place), partial(_cut, cut), (merged, *whole))
    return graph.array(blocks.own_result_chunks, data.dtype)


def _cut(cut: tuple[slice, ...], block: Any) -> Any:
    """The chunk of the result that lies at one place of a block. A view would keep the whole block alive."""
    part = block[cut]
    return part if part.size == block.size else part.copy()
