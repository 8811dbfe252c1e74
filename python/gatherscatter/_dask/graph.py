"""graph.py: collects the tasks of one call and makes a Dask array of them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from gatherscatter._dask.chunks import check_type, meta_of

__all__ = ["MOST_TASKS", "Graph", "Key", "array_module", "check_chunks", "check_sizes", "is_dask_array", "places"]

Chunks = tuple[tuple[int, ...], ...]
Place = tuple[int, ...]
Key = tuple[Any, ...]
MOST_TASKS = 100_000  # above this, the scheduler alone takes minutes


def array_module() -> Any:
    """`dask.array`, which is imported when the first Dask array is used."""
    return importlib.import_module("dask.array")


def is_dask_array(obj: Any) -> bool:
    """Whether an object is a Dask array. Dask is not imported for it."""
    return any(cls.__name__ == "Array" and cls.__module__.startswith("dask.array.") for cls in type(obj).__mro__)


def check_chunks(op: str, role: str, array: Any) -> None:
    """Raise an error for a Dask array some of whose chunks have no known size, or are not NumPy arrays."""
    check_type(op, role, type(meta_of(array)))
    check_sizes(op, role, array)


def check_sizes(op: str, role: str, array: Any) -> None:
    """Raise ValueError for a Dask array some of whose chunks have no known size."""
    if any(n != n for n in array.shape):
        raise ValueError(
            f"{op}: the chunks of {role} have unknown sizes, shape {array.shape}; call x.compute_chunk_sizes() first"
        )


def places(chunks: Chunks) -> Iterator[Place]:
    """The place of each block in C order."""
    return product(*(range(len(lengths)) for lengths in chunks))


class Graph:
    """The tasks of one call.

    A task is a function and its arguments, as a tuple; arguments that are keys stand for results of other tasks.
    """

    def __init__(self, op: str, *token: Any) -> None:
        self.op = op
        self.token = importlib.import_module("dask").base.tokenize(op, *token)
        self.name = f"{op}-{self.token}"
        self.tasks: dict[Key, Any] = {}
        self._sources: list[Any] = []

    def name_of(self, step: str) -> str:
        return f"{self.op}-{step}-{self.token}"

    def add(self, key: Key, function: Callable[..., Any], *arguments: Any) -> Key:
        self.tasks[key] = (function, *arguments)
        return key

    def keys_of(self, array: Any) -> dict[Place, Key]:
        """The key of each block of an array, which becomes a source of the graph."""
        if _has_expressions():
            array = array.optimize()
        self._sources.append(array)
        keys: list[Any] = [array.__dask_keys__()]
        for _ in range(array.ndim):
            keys = [key for row in keys for key in row]
        if not array.ndim:
            keys = list(keys[0])
        return dict(zip(places(array.chunks), keys, strict=True))

    def array(self, chunks: Chunks, dtype: Any) -> Any:
        """The array whose block at each place is the result of the task ``(name, *place)``."""
        if len(self.tasks) > MOST_TASKS:
            warnings.warn(
                f"{self.op}: the graph has {len(self.tasks):,} tasks, more than {MOST_TASKS:,}, because each chunk of "
                "the index may meet each chunk of the data; rechunk the index (or the data along the indexed axis) "
                "into fewer, larger chunks",
                UserWarning,
                stacklevel=5,
            )
        da = array_module()
        if not _has_expressions():
            layers = importlib.import_module("dask.highlevelgraph").HighLevelGraph
            graph = layers.from_collections(self.name, self.tasks, dependencies=self._sources)
            return da.Array(graph, self.name, chunks, dtype=dtype)
        # With query planning a collection is made of a graph by the protocol of collections.
        template = da.empty(tuple(map(sum, chunks)), chunks=chunks, dtype=dtype)
        tasks = dict(self.tasks)
        for source in self._sources:
            tasks.update(source.__dask_graph__())
        keys = template.__dask_keys__()
        for _ in range(len(chunks) - 1):
            keys = [key for row in keys for key in row]
        for place, key in zip(places(chunks), keys, strict=True):
            tasks[key] = (self.name, *place)
        rebuild, arguments = template.__dask_postpersist__()
        return rebuild(tasks, *arguments)


def _has_expressions() -> bool:
    """Whether arrays are expressions (`array.query-planning`), which older versions of Dask do not know."""
    enabled = getattr(array_module(), "array_expr_enabled", None)
    return enabled is not None and bool(enabled())
