"""contract_shapes.py: the shapes and index values from which the cases of the contract are built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DEGENERATE = ("zero_d", "empty_axis", "empty_other")
GEOMETRIES = ("flat", "first", "last", "middle", "outer", "wide", "batch", "ones", "high", *DEGENERATE)


@dataclass
class Geometry:
    source: tuple[int, ...]
    index: list[tuple[int, ...]]
    axis: int | None = 0
    batch_dims: int = 0


def elementwise_geometry(kind: str, n: int, broadcast: bool) -> Geometry:
    """Shapes along an axis. Other axes broadcast as in take_along_axis, or else the index is at most as long there."""
    b = broadcast
    return {
        "flat": Geometry((200,), [(n,)]),
        "first": Geometry((7, n) if b else (7, n + 2), [(2, n)]),
        "last": Geometry((3, 37), [(1 if b else 2, n)], -1),
        "middle": Geometry((1 if b else 2, 5, n), [(2, 3, n)], 1),
        "outer": Geometry((n, 5), [(n, 2)], 1),
        "wide": Geometry((300, 1 if b else 2), [(n, 2)]),
        "batch": Geometry((2, 3, 11), [(2, 1 if b else 3, n)], 2),
        "ones": Geometry((1, 9, 1), [(1, n, 1)], 1),
        "high": Geometry((2, 1, 3, 1, 2, 4), [(2, 1, 1 if b else 2, 1, 2, min(n, 700))], 5),
        "zero_d": Geometry((), [()]) if not b else Geometry((1,), [(1,)]),
        "empty_axis": Geometry((3, 0), [(3, n)], 1),
        "empty_other": Geometry((0, 5), [(0, n)], 1),
    }[kind]


def slices_geometry(kind: str, n: int, batch: bool) -> Geometry:
    """Shapes of gather(axis), and without batch axes of take."""
    return {
        "flat": Geometry((200,), [(n,)]),
        "first": Geometry((50, 5), [(n,)]),
        "last": Geometry((3, 37), [(n,)], -1),
        "middle": Geometry((2, 5, 3), [(n, 2)], 1),
        "outer": Geometry((n, 5), [(2,)], 1),
        "wide": Geometry((7, n), [(3,)]),
        "batch": Geometry((2, 3, 4, 11, 2), [(2, 3, min(n, 700))], 3, 2)
        if batch
        else Geometry((4, 5, 6), [(n,)], None),
        "ones": Geometry((1, 9, 1), [(1, n, 1)], 1),
        "high": Geometry((2, 1, 3, 4, 1, 2), [(2, 1, min(n, 700))], 3, 2 if batch else 0),
        "zero_d": Geometry((200,), [()]) if batch else Geometry((), [()], None),
        "empty_axis": Geometry((3, 0, 2), [(n,)], 1),
        "empty_other": Geometry((0, 5), [(n,)], 1),
    }[kind]


def rolled_geometry(kind: str, n: int) -> Geometry:
    """Shapes of arrays that are rearranged along an axis, and of two numbers for that axis."""
    source, axis = {
        "flat": ((n,), 0),
        "first": ((n, 5), 0),
        "last": ((3, n), -1),
        "middle": ((2, n, 3), 1),
        "outer": ((n, 5), 1),
        "wide": ((7, n), 0),
        "batch": ((n, 2, 3), None),
        "ones": ((1, 9, 1), 1),
        "high": ((2, 1, 3, min(n, 700), 1, 2), 3),
        "zero_d": ((1,), None),
        "empty_axis": ((3, 0, 2), 1),
        "empty_other": ((0, 5), 1),
    }[kind]
    return Geometry(source, [(2,)], axis)


def repeated_geometry(kind: str, n: int) -> Geometry:
    """Shapes of arrays that are repeated along an axis, and of the counts: one for each position, or one for all."""
    g = rolled_geometry(kind, n)
    for_all = kind in ("outer", "high", "empty_axis")
    return Geometry(g.source, [(1,) if for_all else (sizes_of_axis(g)[0],)], g.axis)


def points_geometry(kind: str, n: int) -> Geometry:
    """Shapes of calls with one index array for every axis."""
    return {
        "flat": Geometry((200,), [(n,)]),
        "first": Geometry((7, 37), [(2, 1), (n,)]),
        "last": Geometry((7, 37), [(n, 1), (1, 2)]),
        "middle": Geometry((3, 4, 5), [(n, 1, 1), (2, 1), ()]),
        "outer": Geometry((n, 5), [(n,), (n,)]),
        "wide": Geometry((300, 3), [(2, n), (2, n)]),
        "batch": Geometry((2, 3, 11), [(2, 1, 1), (3, 1), (n,)]),
        "ones": Geometry((1, 9, 1), [(1, 1, 1), (1, n, 1), ()]),
        "high": Geometry((2, 1, 3, 1, 2, 4), [(2, 1), (), (n,), (1,), (2, n), ()]),
        "zero_d": Geometry((), []),
        "empty_axis": Geometry((3, 0), [(n,), ()]),
        "empty_other": Geometry((0, 5), [(0, 1), (n,)]),
    }[kind]


def coordinates_geometry(kind: str, n: int) -> Geometry:
    """Shapes of calls whose index array has coordinates on its last axis."""
    return {
        "flat": Geometry((200,), [(n, 1)]),
        "first": Geometry((7, 37), [(n, 2)]),
        "last": Geometry((30, 4), [(n, 1)]),
        "middle": Geometry((3, 4, 5), [(2, n, 3)]),
        "outer": Geometry((n, 5), [(n, 2)]),
        "wide": Geometry((7, n), [(3, 1)]),
        "batch": Geometry((2, 3, 11, 2), [(2, 3, min(n, 700), 1)], batch_dims=2),
        "ones": Geometry((1, 9, 1), [(1, n, 3)]),
        "high": Geometry((2, 1, 3, 1, 2, 4), [(2, min(n, 700), 4)], batch_dims=1),
        "zero_d": Geometry((), [(0,)]),
        "empty_axis": Geometry((3, 0), [(n, 2)]),
        "empty_other": Geometry((5, 0), [(n, 1)]),
    }[kind]


def sizes_of_axis(g: Geometry) -> list[int]:
    """The extent of the axis that the only index array addresses; without an axis, the size of the array."""
    return [g.source[g.axis]] if g.source and g.axis is not None else [int(np.prod(g.source))]


def sizes_of_coordinates(g: Geometry) -> list[int]:
    return list(g.source[g.batch_dims : g.batch_dims + g.index[0][-1]])


def index_values(shape: tuple[int, ...], n: int, kind: str, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Values for an axis of size n.

    inside, equal, spread (neighbours differ): in [0, n); signed: in [-n, n); edge: near the limits and far outside;
    one_bad: inside except for one value.
    """
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    size = int(np.prod(shape))
    inside = rng.integers(0, max(min(n, high + 1), 1), size, "u8").astype(dtype)
    if kind == "signed" and low < 0 and n:
        inside = rng.integers(max(-n, low), min(n, high + 1), size).astype(dtype)
    if kind == "equal":
        inside[:] = inside[:1]
    if kind == "spread":
        inside[:] = (np.arange(size) % max(min(n, high + 1), 1)).astype(dtype)
    bad = [v for v in (n, -n - 1, n + 1, -1, 2**31, 2**32, 2**32 + 1, 2**63, low, high) if low <= v <= high]
    bad = [v for v in bad if not 0 <= v < n] or [high]
    if kind == "edge":
        pool = np.array(bad + [v for v in (-n, n - 1, 0) if low <= v <= high], dtype)
        inside = np.where(rng.random(size) < 0.3, rng.choice(pool, size), inside)
    if kind == "one_bad" and size:
        inside[2 * size // 3] = bad[int(rng.integers(len(bad)))]
    return inside.reshape(shape)


def covering(shape: tuple[int, ...], kind: str) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`."""
    if kind == "one":
        return ()
    if kind == "row":
        return shape[-1:]
    return (*shape[:-1], 1) if kind == "column" and shape else shape
