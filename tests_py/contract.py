"""contract.py: the registry of operators, and the one set of cases that each of them runs.

Adding an operator is one entry in OPERATORS: its shapes for every geometry, its public call, its two oracles.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gatherscatter as gs
import reference
import second_reference
from layouts import (
    DTYPES,
    INDEX_TYPES,
    LAYOUTS,
    TORCH_LAYOUTS,
    TORCH_VIA,
    bytes_of,
    lay_out,
    one_item,
    random_items,
    to_torch,
    torch,
)
from pairwise import Row

THREADS = (1, 2, 3, 8)
ABOVE_THRESHOLDS = 300_001  # points; test_contract.py proves that this many run on more than one thread
SIZES = (0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, ABOVE_THRESHOLDS)
LOOPS_UP_TO = 5000  # points that the naive oracle gets

DEGENERATE = ("zero_d", "empty_axis", "empty_other")

FACTORS: dict[str, tuple] = {
    "operator": ("gather_dim", "gather_axis", "tile_gather", "take", "take_along_axis"),
    "geometry": ("flat", "first", "last", "middle", "outer", "wide", "batch", "ones", "high", *DEGENERATE),
    "size": SIZES,
    "dtype": tuple(DTYPES),
    "layout": tuple(LAYOUTS),
    "index_type": tuple(INDEX_TYPES),
    "index_layout": tuple(LAYOUTS),
    "values": ("inside", "signed", "edge", "one_bad"),
    "bounds": ("raise", "deferred", "fill", "clip", "wrap", "unchecked"),
    "negative": ("from_end", "out_of_bounds"),
    "mask": ("none", "full", "strided", "row", "column", "one"),
    "fill": ("none", "one", "row", "full"),
    "out": ("none", "C", "F", "sliced", "reversed", "unaligned"),
    "library": ("numpy",) if torch is None else ("numpy", "torch", "torch_index"),
}


def allows(case: Row) -> bool:
    """Whether these values (of some of the factors) may stand together."""
    get = case.get
    varied = get("fill") in ("row", "full")  # only a tile's padding may differ from point to point
    if varied and get("operator", "tile_gather") != "tile_gather":
        return False
    if get("operator") == "tile_gather" or varied:  # has its own keywords: check_bounds, padding_value, no out
        if get("bounds", "fill") not in ("fill", "raise") or get("negative") == "from_end":
            return False
        if get("out", "none") != "none":
            return False
    if get("bounds") == "unchecked" and (
        get("values") in ("edge", "one_bad")
        or get("geometry") == "empty_axis"
        or (get("values") == "signed" and get("negative") == "out_of_bounds")
    ):
        return False  # the caller of unchecked vouches for every index
    if get("index_type") == "list" and (
        get("index_layout", "C") != "C"
        or get("library") == "torch_index"
        or get("size") == 0
        or get("geometry") == "empty_other"
    ):
        return False  # an empty list has neither an integer dtype nor its shape
    if get("library") in ("torch", "torch_index") and (
        get("index_layout", "C") not in TORCH_LAYOUTS or str(get("index_type", "list"))[0] == ">"
    ):
        return False
    return get("library") != "torch" or (
        get("dtype", "int8") in TORCH_VIA
        and get("layout", "C") in TORCH_LAYOUTS
        and get("out", "C") not in ("reversed", "unaligned")
    )


@dataclass
class Geometry:
    source: tuple[int, ...]
    index: list[tuple[int, ...]]
    axis: int | None = 0
    batch_dims: int = 0


@dataclass
class Problem:
    """Everything that a call gets. `mask`, `fill` and `out` may be None."""

    source: Any
    indices: list[Any]
    axis: int | None
    batch_dims: int
    bounds: str
    negative: str
    mask: Any = None
    fill: Any = None
    out: Any = None
    keywords: dict[str, Any] = field(default_factory=dict)

    def arguments(self) -> list[Any]:
        return [self.source, *self.indices, self.mask, self.fill]


@dataclass
class Operator:
    geometry: Callable[[str, int], Geometry]
    index_shape: Callable[[Geometry], tuple[int, ...]]  # of mask and fill value
    call: Callable[[Problem], Any]
    oracle: Callable[[Any, Problem], reference.Answer]  # of reference or second_reference


def elementwise_geometry(kind: str, n: int, broadcast: bool) -> Geometry:
    """Shapes along an axis; with `broadcast` as in take_along_axis, else index <= source beside the axis."""
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
    """Shapes of gather(axis) and, without batch axes, of take."""
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


def points_geometry(kind: str, n: int) -> Geometry:
    """Shapes of the calls that take one index array for every axis."""
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


def shared(p: Problem) -> dict[str, Any]:
    """The keywords that every array operator but the tile ones has."""
    optional = {"mask": p.mask, "fill_value": p.fill, "out": p.out}
    return {"bounds": p.bounds, "negative": p.negative} | {k: v for k, v in optional.items() if v is not None}


def tile_call(p: Problem) -> Any:
    indices = tuple(p.indices)
    keywords = {} if p.fill is None else {"padding_value": p.fill}
    return gs.tile_gather(p.source, indices, mask=p.mask, check_bounds=p.bounds == "fill", **keywords)


def rule(p: Problem) -> dict[str, Any]:
    return {"bounds": p.bounds, "negative": p.negative, "mask": p.mask, "fill": p.fill}


OPERATORS: dict[str, Operator] = {
    "gather_dim": Operator(
        lambda kind, n: elementwise_geometry(kind, n, broadcast=False),
        lambda g: g.index[0],
        lambda p: gs.gather(p.source, p.axis, p.indices[0], **shared(p)),
        lambda oracle, p: oracle.gather_dim(p.source, p.axis, p.indices[0], **rule(p)),
    ),
    "gather_axis": Operator(
        lambda kind, n: slices_geometry(kind, n, batch=True),
        lambda g: g.index[0],
        lambda p: gs.gather(p.source, indices=p.indices[0], axis=p.axis, batch_dims=p.batch_dims, **shared(p)),
        lambda oracle, p: oracle.gather_axis(p.source, p.indices[0], p.axis, p.batch_dims, **rule(p)),
    ),
    "tile_gather": Operator(
        points_geometry,
        lambda g: np.broadcast_shapes(*g.index),
        tile_call,
        lambda oracle, p: oracle.tile_gather(
            p.source, tuple(p.indices), mask=p.mask, padding=p.fill, check_bounds=p.bounds == "fill"
        ),
    ),
    "take": Operator(
        lambda kind, n: slices_geometry(kind, n, batch=False),
        lambda g: g.index[0],
        lambda p: gs.take(p.source, p.indices[0], axis=p.axis, **shared(p)),
        lambda oracle, p: oracle.take(p.source, p.indices[0], p.axis, **rule(p)),
    ),
    "take_along_axis": Operator(
        lambda kind, n: elementwise_geometry(kind, n, broadcast=True),
        lambda g: second_reference.along_shape(g.source, g.index[0], g.axis % len(g.source)),
        lambda p: gs.take_along_axis(p.source, p.indices[0], axis=p.axis, **shared(p)),
        lambda oracle, p: oracle.take_along_axis(p.source, p.indices[0], p.axis, **rule(p)),
    ),
}


# ---- from a case to its arrays


def index_values(shape: tuple[int, ...], n: int, kind: str, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Values for an axis of size n: inside; signed: in [-n, n); edge: around and far beyond; one_bad: a single one."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    size = int(np.prod(shape))
    inside = rng.integers(0, max(min(n, high + 1), 1), size, "u8").astype(dtype)
    if kind == "signed" and low < 0 and n:
        inside = rng.integers(max(-n, low), min(n, high + 1), size).astype(dtype)
    bad = [v for v in (n, -n - 1, n + 1, -1, 2**31, 2**32, 2**32 + 1, 2**63, low, high) if low <= v <= high]
    bad = [v for v in bad if not 0 <= v < n] or [high]
    if kind == "edge":
        pool = np.array(bad + [v for v in (-n, n - 1, 0) if low <= v <= high], dtype)
        inside = np.where(rng.random(size) < 0.3, rng.choice(pool, size), inside)
    if kind == "one_bad" and size:
        inside[2 * size // 3] = bad[int(rng.integers(len(bad)))]
    return inside.reshape(shape)


def covering(shape: tuple[int, ...], kind: str) -> tuple[int, ...]:
    """A shape that broadcasts one way to `shape`."""
    if kind == "one":
        return ()
    if kind == "row":
        return shape[-1:]
    return (*shape[:-1], 1) if kind == "column" and shape else shape


def build(case: Row) -> Problem:
    """The arrays of a case; the same case always gives the same bytes."""
    rng = np.random.default_rng(zlib.crc32(repr(sorted(case.items())).encode()))
    g = OPERATORS[case["operator"]].geometry(case["geometry"], case["size"])
    dtype = DTYPES[case["dtype"]]
    sizes = [g.source[g.axis]] if g.source and g.axis is not None else [int(np.prod(g.source))]
    if case["operator"] == "tile_gather":
        sizes = list(g.source)
    index_type = np.dtype("int64" if case["index_type"] == "list" else case["index_type"])
    points = OPERATORS[case["operator"]].index_shape(g)

    indices: list[Any] = []
    for shape, n in zip(g.index, sizes, strict=True):
        values = index_values(shape, n, case["values"], index_type, rng)
        values = lay_out(values, case["index_layout"], max(len(shape) - 1, 0))
        indices.append(values.tolist() if case["index_type"] == "list" else values)
    away = next((d for d in range(len(g.source)) if g.axis is None or d != g.axis % len(g.source)), 0)
    p = Problem(
        lay_out(random_items(g.source, dtype, rng), case["layout"], away),
        indices,
        g.axis,
        g.batch_dims,
        case["bounds"],
        case["negative"],
    )
    if case["mask"] != "none":
        mask = rng.random(covering(points, case["mask"])) < 0.7
        p.mask = lay_out(np.asarray(mask), "sliced" if case["mask"] == "strided" else "C")
    if case["fill"] != "none":
        p.fill = one_item(dtype) if case["fill"] == "one" else random_items(covering(points, case["fill"]), dtype, rng)
    return p


def solve(case: Row, p: Problem, loops_up_to: int = LOOPS_UP_TO) -> reference.Answer:
    """The oracle's answer; beyond so many points that of the second one."""
    operator = OPERATORS[case["operator"]]
    points = operator.index_shape(Geometry(p.source.shape, [np.shape(i) for i in p.indices], p.axis))
    return operator.oracle(reference if max(np.prod(points), p.source.size) <= loops_up_to else second_reference, p)


def with_out(case: Row, p: Problem, shape: tuple[int, ...]) -> Problem:
    """Gives the problem an `out` full of other bytes, in the layout that the case asks for."""
    if case["out"] != "none":
        room = random_items(shape, p.source.dtype, np.random.default_rng(1))
        p.out = lay_out(room, case["out"])
    return p


def in_library(case: Row, p: Problem) -> Problem:
    """The same problem with the arrays of another library."""
    if case["library"] == "numpy":
        return p
    index = [i if isinstance(i, list | int) else to_torch(i) for i in p.indices]
    mask = None if p.mask is None else to_torch(p.mask)
    other = Problem(p.source, index, p.axis, p.batch_dims, p.bounds, p.negative, mask, p.fill, p.out)
    if case["library"] == "torch":
        other.source = to_torch(p.source)
        other.fill = None if p.fill is None else to_torch(p.fill)
        other.out = None if p.out is None else to_torch(p.out)
    return other


def state(p: Problem) -> list[bytes]:
    return [b"" if a is None else bytes_of(a) for a in p.arguments()]
