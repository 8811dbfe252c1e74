"""scatters.py: the graph of a scatter: split the index, select the values of each chunk, apply them in order."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial
from typing import Any

from gatherscatter._dask.graph import Graph, is_dask_array, places
from gatherscatter._dask.moves import Writing, apply, select, select_all
from gatherscatter._dask.operands import Operand
from gatherscatter._dask.points import Blocks, Points

__all__ = ["scattered"]


def scattered(points: Points, data: Any, source: Any, mask: Any, options: dict[str, Any], role: str) -> Any:
    """The Dask array of a scatter: the data with the values of `source` written.

    Parameters
    ----------
    points : Points
    data : Dask array
    source : array, Dask or NumPy, of the dtype of the data
        It broadcasts to the shape that a gather of the points would have.
    mask : array of bool or None
    options : dict
        Keywords of `scatter`: how several values for one element are combined.
    role : str
        The argument that has the values, for errors.
    """
    graph = Graph(f"{points.rule.op}", data, points.rule, points.indices, points.axes, source, mask, options)
    blocks = Blocks(graph, points, data, mask, _hints(points, source))
    sources = Operand(graph, role, source, blocks.result_chunks)
    is_numbered = _is_numbered(points, blocks) or options.get("duplicates") == "error"
    writing = Writing(points.rule.op, role, points.axes, options, points.shape, is_numbered)
    slice_places = blocks.slice_places()
    selected: defaultdict[Any, list[Any]] = defaultdict(list)
    # One value in memory at known places needs no tasks of its own: the places are written into the graph.
    is_one_value = blocks.is_concrete and not is_dask_array(source) and source.ndim == 0
    for each in blocks.each():
        for slices in slice_places:
            block = blocks.block(each.extents, slices)
            if is_one_value and each.parts is not None:
                for owner, part in each.parts.items():
                    chosen = select(writing, block, each.origin, part, sources.array)
                    selected[blocks.data_place(owner, slices)].append(chosen)
                continue
            # One task selects for all chunks of the target, so that the values are freed before others are read.
            values = sources.at(blocks.result_place(each.place, slices))
            key = (graph.name_of("select"), *each.place, *slices)
            run = partial(select_all, writing, block, each.origin)
            if each.parts is None:
                graph.add(key, run, each.key, values)
            else:
                graph.add(key, partial(run, each.parts), values)
            for owner in each.owners:
                own = (graph.name_of("selected"), *each.place, owner, *slices)
                selected[blocks.data_place(owner, slices)].append(graph.add(own, selected_by, key, owner))
    for place in places(data.chunks):
        key, chunk = (graph.name, *place), blocks.data_keys[place]
        if is_one_value:
            graph.add(key, partial(apply, writing, given=selected[place]), chunk)
        else:
            graph.add(key, partial(apply, writing), chunk, selected[place])
    return graph.array(data.chunks, data.dtype)


def selected_by(selected: dict[int, Any], owner: int) -> Any:
    """What a block of points writes to one chunk; None if nothing."""
    return selected.get(owner)


def _hints(points: Points, source: Any) -> dict[int, tuple[int, ...]]:
    """The chunks of Dask values along the axes of the points."""
    if not is_dask_array(source):
        return {}
    lead = len(points.layout) - source.ndim
    return {
        n: source.chunks[at - lead]
        for at, (kind, n) in enumerate(points.layout)
        if kind == "point" and at >= lead and source.shape[at - lead] == points.shape[n]
    }


def _is_numbered(points: Points, blocks: Blocks) -> bool:
    """Whether the blocks of points that can have one target do not follow each other in C order.

    Points that differ along an axis of the data have different targets, so only the other axes matter.
    """
    free = [d for d, n in enumerate(points.shape) if d not in points.aligned and n > 1]
    return any(len(blocks.chunks[d]) > 1 for d in free[1:]) and math.prod(points.shape) > 0
