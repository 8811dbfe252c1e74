"""contract.py: the registry of reading operators, and the set of cases that each of them runs.

Adding an operator is one entry in OPERATORS: its shapes for every geometry, its public call, its two oracles. Writing
operators are in contract_write.py; contract_run.py runs both.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import gatherscatter as gs
import reference
import second_reference
from contract_shapes import (
    GEOMETRIES,
    Geometry,
    coordinates_geometry,
    covering,
    elementwise_geometry,
    index_values,
    points_geometry,
    repeated_geometry,
    rolled_geometry,
    sizes_of_axis,
    sizes_of_coordinates,
    slices_geometry,
)
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
ABOVE_THRESHOLDS = 300_001  # points; test_contract.py checks that calls of this size run on more than one thread
SIZES = (0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, ABOVE_THRESHOLDS)
LOOPS_UP_TO = 5000  # points up to which the naive oracle is used

FACTORS: dict[str, tuple] = {
    "operator": ("gather_dim", "gather_axis", "gather_nd", "tile_gather", "take", "take_along_axis", "roll", "repeat"),
    "geometry": GEOMETRIES,
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


# The only values of these factors for an operator without a rule and a mask.
WITHOUT_RULE = {"bounds": ("raise",), "negative": ("from_end",), "mask": ("none",), "fill": ("none",), "out": ("none",)}
ONLY = {
    "roll": WITHOUT_RULE | {"values": ("inside", "signed", "edge")},
    "repeat": WITHOUT_RULE
    | {"values": ("inside",), "index_type": tuple(t for t in INDEX_TYPES if t not in ("uint64", ">u8"))},
}


def allows(case: Row) -> bool:
    """Whether these values (of some or all factors) are a valid case."""
    get = case.get
    if any(name in case and case[name] not in values for name, values in ONLY.get(get("operator"), {}).items()):
        return False
    varied = get("fill") in ("row", "full")  # only the padding of a tile may differ from point to point
    if varied and get("operator", "tile_gather") != "tile_gather":
        return False
    if get("operator") == "tile_gather" or varied:  # it has other keywords: check_bounds, padding_value, and no out
        if get("bounds", "fill") not in ("fill", "raise") or get("negative") == "from_end":
            return False
        if get("out", "none") != "none":
            return False
    return can_be_written_down(case)


def can_be_written_down(case: Row) -> bool:
    """Rules of both directions: what "unchecked" requires of indices, what lists can express, what torch supports."""
    get = case.get
    if get("bounds") == "unchecked" and (
        get("values") in ("edge", "one_bad")
        or get("geometry") == "empty_axis"
        or (get("values") == "signed" and get("negative") == "out_of_bounds")
    ):
        return False  # with "unchecked" the caller guarantees that every index is valid
    if get("index_type") == "list" and (
        get("index_layout", "C") != "C"
        or get("library") == "torch_index"
        or get("size") == 0
        or get("geometry") == "empty_other"
        or (get("geometry") == "zero_d" and get("operator") in ("gather_nd", "scatter_nd"))
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
class Problem:
    """All arguments of a call. `mask`, `fill` and `out` may be None; the last four are for writing operators."""

    source: Any
    indices: list[Any]
    axis: int | None
    batch_dims: int
    bounds: str
    negative: str
    mask: Any = None
    fill: Any = None
    out: Any = None
    src: Any = None
    reduce: str | None = None
    include_self: bool = True
    duplicates: str = "last"

    def arguments(self) -> list[Any]:
        return [self.source, *self.indices, self.mask, self.fill, self.src]


@dataclass
class Operator:
    geometry: Callable[[str, int], Geometry]
    points: Callable[[Geometry], tuple[int, ...]]  # the index space: the shape of mask and fill value
    call: Callable[[Problem], Any]
    oracle: Callable[[Any, Problem], reference.Answer]  # a function of one of the two reference modules
    sizes: Callable[[Geometry], list[int]] = sizes_of_axis
    dense: Callable[[Geometry], tuple[int, ...]] = lambda g: ()  # shape of a writing operator's values
    on_host: bool = False  # whether its numbers, which the case has as indices, are read on the host


class Contract(NamedTuple):
    factors: dict[str, tuple]
    allows: Callable[[Row], bool]
    operators: dict[str, Operator]
    build: Callable[[Row], Problem]
    oracles: tuple[ModuleType, ModuleType]


def shared(p: Problem) -> dict[str, Any]:
    """The keywords that all array operators except the tile operators have."""
    has_fill = p.mask is not None or p.bounds == "fill"  # no other point has it, so it is an error without them
    optional = {"mask": p.mask, "fill_value": p.fill if has_fill else None, "out": p.out}
    return {"bounds": p.bounds, "negative": p.negative} | {k: v for k, v in optional.items() if v is not None}


def tile_call(p: Problem) -> Any:
    indices = tuple(p.indices)
    keywords = {} if p.fill is None else {"padding_value": p.fill}
    return gs.tile_gather(p.source, indices, mask=p.mask, check_bounds=p.bounds == "fill", **keywords)


def rule(p: Problem) -> dict[str, Any]:
    fill = p.fill
    if fill is None and p.source.dtype.kind in ("m", "M"):  # the loops know bytes alone, whose default is zero
        fill = np.array("NaT", p.source.dtype)
    return {"bounds": p.bounds, "negative": p.negative, "mask": p.mask, "fill": fill}


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
    "gather_nd": Operator(
        coordinates_geometry,
        lambda g: g.index[0][:-1],
        lambda p: gs.gather_nd(p.source, p.indices[0], p.batch_dims, **shared(p)),
        lambda oracle, p: oracle.gather_nd(p.source, p.indices[0], p.batch_dims, **rule(p)),
        sizes_of_coordinates,
    ),
    "tile_gather": Operator(
        points_geometry,
        lambda g: np.broadcast_shapes(*g.index),
        tile_call,
        lambda oracle, p: oracle.tile_gather(
            p.source, tuple(p.indices), mask=p.mask, padding=p.fill, check_bounds=p.bounds == "fill"
        ),
        lambda g: list(g.source),
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
    "repeat": Operator(
        repeated_geometry,
        lambda g: g.source,
        lambda p: gs.repeat(p.source, p.indices[0], p.axis),
        lambda oracle, p: oracle.repeat(p.source, p.indices[0], p.axis),
        lambda g: [4],  # counts up to 3
        on_host=True,
    ),
    "roll": Operator(
        rolled_geometry,
        lambda g: g.source,
        lambda p: gs.roll(p.source, p.indices[0], p.axis),
        lambda oracle, p: oracle.roll(p.source, p.indices[0], p.axis),
        on_host=True,
    ),
}


# ---- from a case to its arrays


def build(case: Row) -> Problem:
    """The arrays of a case. Equal cases give equal bytes."""
    operator, rng = OPERATORS[case["operator"]], rng_of(case)
    g = operator.geometry(case["geometry"], case["size"])
    p = begin(case, operator, g, rng)
    if case["fill"] == "one":
        p.fill = one_item(p.source.dtype)
    elif case["fill"] != "none":
        p.fill = random_items(covering(operator.points(g), case["fill"]), p.source.dtype, rng)
    return p


def rng_of(case: Row) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(sorted(case.items())).encode()))


def begin(case: Row, operator: Operator, g: Geometry, rng: np.random.Generator) -> Problem:
    """Source, indices, rule and mask, which reading and writing operators both have."""
    index_type = np.dtype("int64" if case["index_type"] == "list" else case["index_type"])
    sizes, indices = operator.sizes(g), []
    if operator.sizes is sizes_of_coordinates:
        points = operator.points(g)
        parts = [index_values(points, n, case["values"], index_type, rng) for n in sizes]
        values = np.stack(parts, axis=-1) if parts else np.zeros(g.index[0], index_type)
        indices.append(lay_out(values, case["index_layout"], max(len(points) - 1, 0)))
    else:
        for shape, n in zip(g.index, sizes, strict=True):
            values = index_values(shape, n, case["values"], index_type, rng)
            indices.append(lay_out(values, case["index_layout"], max(len(shape) - 1, 0)))
    if case["index_type"] == "list":
        indices = [values.tolist() for values in indices]
    away = next((d for d in range(len(g.source)) if g.axis is None or d != g.axis % len(g.source)), 0)
    source = lay_out(random_items(g.source, DTYPES[case["dtype"]], rng), case["layout"], away)
    p = Problem(source, indices, g.axis, g.batch_dims, case["bounds"], case["negative"])
    if case["mask"] != "none":
        mask = rng.random(covering(operator.points(g), case["mask"])) < 0.7
        p.mask = lay_out(np.asarray(mask), "sliced" if case["mask"] == "strided" else "C")
    return p


READING = Contract(FACTORS, allows, OPERATORS, build, (reference, second_reference))


def solve(contract: Contract, case: Row, p: Problem, loops_up_to: int = LOOPS_UP_TO) -> reference.Answer:
    """The answer of the first oracle, or of the second one above `loops_up_to` points."""
    operator = contract.operators[case["operator"]]
    g = Geometry(p.source.shape, [np.shape(i) for i in p.indices], p.axis, p.batch_dims)
    work = max(np.prod(operator.points(g)), np.prod(operator.dense(g)), p.source.size)
    return operator.oracle(contract.oracles[0 if work <= loops_up_to else 1], p)


def with_out(case: Row, p: Problem, shape: tuple[int, ...]) -> Problem:
    """Set the problem's `out` as the case requires: the source itself, or an array of other random bytes."""
    if case["out"] == "in_place":
        p.out = p.source
    elif case["out"] != "none":
        room = random_items(shape, p.source.dtype, np.random.default_rng(1))
        p.out = lay_out(room, case["out"])
    return p


def in_library(case: Row, p: Problem) -> Problem:
    """The problem with its arrays converted to the case's library."""
    if case["library"] == "numpy":
        return p

    def tensor(value: Any) -> Any:
        return to_torch(value) if isinstance(value, np.ndarray) else value

    other = replace(p, indices=[tensor(i) for i in p.indices], mask=tensor(p.mask))
    if case["library"] == "torch":
        other = replace(other, source=tensor(p.source), fill=tensor(p.fill), src=tensor(p.src))
        other.out = other.source if p.out is p.source else tensor(p.out)
    return other


def state(p: Problem) -> list[bytes]:
    return [b"" if a is None else bytes_of(a) for a in p.arguments()]
