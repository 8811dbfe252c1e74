"""gathers.py: the graph of a gather: split the index, pick what each chunk of the data has, merge by points."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from operator import getitem
from typing import Any

import numpy as np

from gatherscatter._dask.graph import Graph
from gatherscatter._dask.moves import merge, pick_all
from gatherscatter._dask.operands import Operand, own_copy
from gatherscatter._dask.parts import NO_POINTS, part_of
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
    slice_places = blocks.slice_places()
    # One task picks from a chunk of the data for all blocks of points, so that the chunk is freed soon.
    wanted: defaultdict[int, dict[int, Any]] = defaultdict(dict)
    every = blocks.each()
    for number, each in enumerate(every):
        for owner in each.owners:
            if each.parts is None:
                key = (graph.name_of("part"), *each.place, owner)
                wanted[owner][number] = graph.add(key, partial(part_of, owner), each.key)
            else:
                wanted[owner][number] = each.parts[owner]
    slice_places = blocks.slice_places()
    for owner, parts in wanted.items():
        for slices in slice_places:
            key, chunk = (graph.name_of("pick"), owner, *slices), blocks.data_keys[blocks.data_place(owner, slices)]
            if blocks.is_concrete:
                graph.add(key, partial(pick_all, op, points.axes, list(parts), list(parts.values())), chunk)
            else:
                graph.add(key, partial(pick_all, op, points.axes, list(parts)), list(parts.values()), chunk)
    for number, each in enumerate(every):
        kept = None if each.parts is None else {o: (NO_POINTS[0], part[1]) for o, part in each.parts.items()}
        for slices in slice_places:
            values = []
            for owner in each.owners:
                key = (graph.name_of("picked"), *each.place, owner, *slices)
                values.append(graph.add(key, getitem, (graph.name_of("pick"), owner, *slices), number))
            run = partial(merge, op, blocks.block(each.extents, slices), np.dtype(data.dtype), fill, each.owners)
            extra = () if paddings is None else (paddings.at(each.place),)
            key = (graph.name, *blocks.result_place(each.place, slices))
            if kept is None:
                graph.add(key, run, each.key, values, *extra)
            else:
                graph.add(key, partial(run, kept), values, *extra)
    return graph.array(blocks.result_chunks, data.dtype)
