"""contract_write.py: the registry of writing operators, and the set of cases that each of them runs."""

from __future__ import annotations

from typing import Any

import numpy as np

import gatherscatter as gs
import reference_write
import second_reference
import second_reference_write
from contract import SIZES, Contract, Operator, Problem, begin, can_be_written_down, rng_of
from contract_shapes import (
    GEOMETRIES,
    Geometry,
    coordinates_geometry,
    covering,
    elementwise_geometry,
    points_geometry,
    sizes_of_coordinates,
    slices_geometry,
)
from layouts import DTYPES, INDEX_TYPES, LAYOUTS, NUMBERS, TORCH_LAYOUTS, lay_out, one_item, random_items, torch
from pairwise import Row
from reference_reduce import REDUCTIONS, reducible

FUNCTIONS = ("scatter", "scatter_axis", "scatter_nd", "plan_scatter")  # they return a new array, or fill `out`
PROCEDURES = ("tile_scatter", "put", "put_along_axis", "putmask")  # they write in place and return nothing
KINDS = tuple(dict.fromkeys(REDUCTIONS.values()))

FACTORS: dict[str, tuple] = {
    "operator": FUNCTIONS + PROCEDURES,
    "geometry": GEOMETRIES,
    "size": SIZES,
    "dtype": tuple(DTYPES),
    "layout": tuple(LAYOUTS),
    "index_type": tuple(INDEX_TYPES),
    "index_layout": tuple(LAYOUTS),
    "values": ("inside", "signed", "edge", "one_bad", "equal", "spread"),
    "bounds": ("raise", "deferred", "drop", "clip", "wrap", "unchecked"),
    "negative": ("from_end", "out_of_bounds"),
    "mask": ("none", "full", "strided", "row", "column", "one"),
    "src": ("full", "row", "column", "one", "literal", "larger"),
    "src_layout": tuple(LAYOUTS),
    "how": ("last", "first", "error", *KINDS),
    "include_self": (True, False),
    "out": ("none", "in_place", "C", "F", "sliced", "reversed", "unaligned"),
    "library": ("numpy",) if torch is None else ("numpy", "torch", "torch_index"),
}


# The only values of these factors for an operator without an index.
WITHOUT_INDEX = {
    "index_type": ("int64",),
    "index_layout": ("C",),
    "values": ("inside",),
    "bounds": ("raise",),
    "negative": ("from_end",),
    "mask": ("full", "strided"),
    "library": ("numpy", "torch"),
}
TILE_RULE = {"bounds": ("drop", "raise"), "negative": ("out_of_bounds",)}  # it has the keyword check_bounds instead


def allows(case: Row) -> bool:
    """Whether these values (of some or all factors) are a valid case."""
    operator = case.get("operator")
    only = {"putmask": WITHOUT_INDEX, "tile_scatter": TILE_RULE}.get(operator, {})
    if any(name in case and case[name] not in values for name, values in only.items()):
        return False
    nothing_there = case.get("geometry") == "empty_other" or case.get("size") == 0
    if operator == "put" and case.get("bounds") == "unchecked" and nothing_there:  # it indexes an empty flat target
        return False
    return goes_in_place(case) and can_be_combined(case) and source_fits(case) and can_be_written_down(case)


def goes_in_place(case: Row) -> bool:
    """A procedure has no `out`, and an array that is written in place must be writable and must not repeat elements."""
    procedure = case.get("operator") in PROCEDURES
    if procedure and case.get("out", "in_place") != "in_place":
        return False
    return not (procedure or case.get("out") == "in_place") or case.get("layout") not in ("broadcast", "readonly")


def can_be_combined(case: Row) -> bool:
    """A procedure keeps the last of duplicates; reductions exist for some dtypes; only reductions have include_self."""
    kind, dtype = case.get("how"), case.get("dtype")
    if case.get("operator") in PROCEDURES and (kind not in (None, "last") or case.get("include_self") is False):
        return False
    if kind in REDUCTIONS and dtype is not None and not reducible(DTYPES[dtype], kind):
        return False
    return case.get("include_self") is not False or (kind in (None, *REDUCTIONS) and has_some_reduction(dtype))


def source_fits(case: Row) -> bool:
    """Python numbers are for numeric dtypes and have no layout; few operators accept values larger than needed."""
    kind = case.get("src")
    if kind == "larger" and case.get("operator") not in ("scatter", "put", None):
        return False
    if kind == "literal" and case.get("dtype", "bool") not in NUMBERS:
        return False
    if kind in ("one", "literal") and case.get("src_layout", "C") != "C":
        return False
    return case.get("library") != "torch" or case.get("src_layout", "C") in TORCH_LAYOUTS


def has_some_reduction(dtype: Any) -> bool:
    return dtype is None or any(reducible(DTYPES[dtype], kind) for kind in KINDS)


def sources_geometry(kind: str, n: int) -> Geometry:
    """Shapes of a target for an operator without an index."""
    return Geometry(elementwise_geometry(kind, n, broadcast=False).index[0], [])


def slices_dense(g: Geometry) -> tuple[int, ...]:
    axis = g.axis % len(g.source)
    return g.source[:axis] + g.index[0][g.batch_dims :] + g.source[axis + 1 :]


def along_dense(g: Geometry) -> tuple[int, ...]:
    return g.index[0] if g.axis is None else second_reference.along_shape(g.source, g.index[0], g.axis % len(g.source))


def coordinates_dense(g: Geometry) -> tuple[int, ...]:
    return g.index[0][:-1] + g.source[g.batch_dims + g.index[0][-1] :]


def rule(p: Problem) -> dict[str, Any]:
    return {"bounds": p.bounds, "negative": p.negative, "mask": p.mask}


def given(p: Problem) -> np.ndarray:
    """The values to write, in the dtype of the target."""
    return p.src if isinstance(p.src, np.ndarray) else np.asarray(p.src, p.source.dtype)


def how(p: Problem) -> dict[str, Any]:
    return {"reduce": p.reduce, "include_self": p.include_self, "duplicates": p.duplicates}


def in_place(p: Problem, result: None) -> Any:
    assert result is None
    return p.out


def run_plan_backwards(p: Problem) -> Any:
    """Scatter with the plan of a gather; making the plan reads nothing."""
    bounds = "fill" if p.bounds == "drop" else p.bounds
    keywords = {"axis": p.axis, "batch_dims": p.batch_dims, "bounds": bounds, "negative": p.negative, "mask": p.mask}
    plan = gs.plan(gs.gather, p.source, indices=p.indices[0], **keywords)
    return plan.scatter(p.source, p.indices[0], p.src, mask=p.mask, out=p.out, **how(p))


OPERATORS: dict[str, Operator] = {
    "scatter": Operator(
        lambda kind, n: elementwise_geometry(kind, n, broadcast=False),
        lambda g: g.index[0],
        lambda p: gs.scatter(p.source, p.axis, p.indices[0], p.src, **rule(p), **how(p), out=p.out),
        lambda oracle, p: oracle.scatter(p.source, p.axis, p.indices[0], given(p), **rule(p), **how(p)),
        dense=lambda g: g.index[0],
    ),
    "scatter_axis": Operator(
        lambda kind, n: slices_geometry(kind, n, batch=True),
        lambda g: g.index[0],
        lambda p: gs.scatter(
            p.source,
            indices=p.indices[0],
            src=p.src,
            axis=p.axis,
            batch_dims=p.batch_dims,
            **rule(p),
            **how(p),
            out=p.out,
        ),
        lambda oracle, p: oracle.scatter_axis(
            p.source, p.indices[0], p.axis, p.batch_dims, given(p), **rule(p), **how(p)
        ),
        dense=slices_dense,
    ),
    "scatter_nd": Operator(
        coordinates_geometry,
        lambda g: g.index[0][:-1],
        lambda p: gs.scatter_nd(p.source, p.indices[0], p.src, p.batch_dims, **rule(p), **how(p), out=p.out),
        lambda oracle, p: oracle.scatter_nd(p.source, p.indices[0], given(p), p.batch_dims, **rule(p), **how(p)),
        sizes_of_coordinates,
        coordinates_dense,
    ),
    "plan_scatter": Operator(
        lambda kind, n: slices_geometry(kind, n, batch=True),
        lambda g: g.index[0],
        run_plan_backwards,
        lambda oracle, p: oracle.scatter_axis(
            p.source, p.indices[0], p.axis, p.batch_dims, given(p), **rule(p), **how(p)
        ),
        dense=slices_dense,
    ),
    "tile_scatter": Operator(
        points_geometry,
        lambda g: np.broadcast_shapes(*g.index),
        lambda p: in_place(
            p, gs.tile_scatter(p.out, tuple(p.indices), p.src, mask=p.mask, check_bounds=p.bounds == "drop")
        ),
        lambda oracle, p: oracle.tile_scatter(
            p.source, tuple(p.indices), given(p), mask=p.mask, check_bounds=p.bounds == "drop"
        ),
        lambda g: list(g.source),
        lambda g: np.broadcast_shapes(*g.index),
    ),
    "put": Operator(
        lambda kind, n: slices_geometry(kind, n, batch=False),
        lambda g: g.index[0],
        lambda p: in_place(p, gs.put(p.out, p.indices[0], p.src, **rule(p))),
        lambda oracle, p: oracle.put(p.source, p.indices[0], given(p), **rule(p)),
        lambda g: [int(np.prod(g.source))],
        lambda g: g.index[0],
    ),
    "put_along_axis": Operator(
        lambda kind, n: elementwise_geometry(kind, n, broadcast=True),
        along_dense,
        lambda p: in_place(p, gs.put_along_axis(p.out, p.indices[0], p.src, p.axis, **rule(p))),
        lambda oracle, p: oracle.put_along_axis(p.source, p.indices[0], given(p), p.axis, **rule(p)),
        dense=along_dense,
    ),
    "putmask": Operator(
        sources_geometry,
        lambda g: g.source,
        lambda p: in_place(p, gs.putmask(p.out, p.mask, p.src)),
        lambda oracle, p: oracle.putmask(p.source, p.mask, given(p)),
        lambda g: [],
        lambda g: g.source,
    ),
}


def build(case: Row) -> Problem:
    """The arrays of a case. Equal cases give equal bytes."""
    operator, rng = OPERATORS[case["operator"]], rng_of(case)
    g = operator.geometry(case["geometry"], case["size"])
    p = begin(case, operator, g, rng)
    if case["how"] in REDUCTIONS:
        p.reduce, p.include_self = case["how"], case["include_self"]
    else:
        p.duplicates = case["how"]
    p.src = source_items(case["src"], operator.dense(g), p.source.dtype, case["src_layout"], rng)
    return p


def source_items(kind: str, shape: tuple[int, ...], dtype: np.dtype, layout: str, rng: np.random.Generator) -> Any:
    """The values to write: broadcast to the dense shape, larger than it, or a Python number."""
    if kind == "literal":
        return one_item(dtype).item()
    wanted = tuple(n + 1 + d for d, n in enumerate(shape)) if kind == "larger" else covering(shape, kind)
    return lay_out(random_items(wanted, dtype, rng), layout)


WRITING = Contract(FACTORS, allows, OPERATORS, build, (reference_write, second_reference_write))
