"""test_properties.py: random shapes, strides, dtypes and values against the oracle, for all operators."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gatherscatter as gs
import reference
import reference_write
from array_strategies import INDEX_DTYPES, SIDES, index_array, strided
from contract import READING, Problem
from contract_run import verify
from contract_shapes import Geometry, covering
from contract_write import PROCEDURES, WRITING, source_items
from layouts import one_item, significant
from reference_reduce import REDUCTIONS, reducible

RULES = st.sampled_from(["raise", "raise", "deferred", "fill", "clip", "wrap"])


@st.composite
def coordinates(draw, points, sizes):
    """Coordinates on the last axis, in one dtype; values that it cannot hold wrap to other integers."""
    if not sizes:
        return np.zeros((*points, 0), draw(st.sampled_from(INDEX_DTYPES)))
    parts = [draw(index_array(points, n)) for n in sizes]
    dtype = parts[0].dtype
    laid = draw(strided((*points, len(parts)), dtype, broadcast=False))
    laid[...] = np.stack([part.astype(dtype) for part in parts], axis=-1)
    return laid


@st.composite
def problem(draw, operator, repeated=True):
    """A problem for a reading operator; with `repeated` the source may have strides of 0."""
    if operator == "tile_gather":
        source = draw(strided(draw(st.lists(SIDES, max_size=4)), broadcast=repeated))
        shapes, points = [], ()
        if source.ndim:
            drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=source.ndim, max_dims=3, max_side=5, min_side=0))
            shapes, points = list(drawn.input_shapes), drawn.result_shape
        indices = [draw(index_array(shape, n)) for shape, n in zip(shapes, source.shape, strict=True)]
        bounds, negative, axis, batch_dims = draw(st.sampled_from(["fill", "raise"])), "out_of_bounds", None, 0
    elif operator == "gather_nd":
        source = draw(strided(draw(st.lists(SIDES, max_size=4)), broadcast=repeated))
        batch_dims = draw(st.integers(0, source.ndim))
        k, axis = draw(st.integers(0, source.ndim - batch_dims)), None
        points = (*source.shape[:batch_dims], *draw(st.lists(SIDES, max_size=2)))
        indices = [draw(coordinates(points, source.shape[batch_dims : batch_dims + k]))]
        bounds, negative = draw(RULES), draw(st.sampled_from(["from_end", "out_of_bounds"]))
    else:
        least = 0 if operator in ("take", "gather_dim") else 1
        shape = draw(st.lists(SIDES, min_size=least, max_size=4))
        source = draw(strided(shape, broadcast=repeated))
        axis = draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1))
        at, batch_dims = axis % max(len(shape), 1), 0
        if operator in ("take", "take_along_axis") and (not shape or draw(st.booleans())):
            axis = None
        n = source.size if axis is None else source.shape[at] if shape else 1
        index_shape = draw(st.lists(SIDES, max_size=3))
        if operator == "gather_axis":
            batch_dims = draw(st.integers(0, at))
            index_shape = shape[:batch_dims] + index_shape
        elif operator == "take_along_axis" and axis is None:
            index_shape = [draw(SIDES)]
        elif operator in ("gather_dim", "take_along_axis"):
            index_shape = [draw(st.integers(0, m)) for m in shape]
            if operator == "take_along_axis":
                index_shape = [draw(st.sampled_from([1, m] if m != 1 else [1, draw(SIDES)])) for m in shape]
            if shape:
                index_shape[at] = draw(st.integers(0, 9))
        indices = [draw(index_array(tuple(index_shape), n))]
        points = tuple(index_shape)
        if operator == "take_along_axis" and axis is not None:
            others = [1 if d == at else m for d, m in enumerate(shape)]
            points = np.broadcast_shapes(points, others) if points[at] else tuple(index_shape)
            assume(points[at] == index_shape[at])
        bounds, negative = draw(RULES), draw(st.sampled_from(["from_end", "out_of_bounds"]))
    p = Problem(source, indices, axis, batch_dims, bounds, negative)
    if draw(st.booleans()):
        mask_shape = covering(points, draw(st.sampled_from(["full", "row", "column", "one"])))
        p.mask = draw(strided(mask_shape, np.dtype(bool)))
    if draw(st.booleans()):
        p.fill = one_item(source.dtype)
    return p


def run(operator: str, data: st.DataObject) -> None:
    p = data.draw(problem(operator), label=operator)
    answer = READING.operators[operator].oracle(reference, p)
    if operator != "tile_gather" and answer.result is not None and data.draw(st.booleans(), label="with out"):
        p.out = data.draw(strided(answer.result.shape, p.source.dtype, broadcast=False), label="out")
    verify(READING.operators[operator], p, answer, p.out, threads=(1, 3))


# The reading operator that takes the arguments of a writing operator.
MIRRORED = {
    "scatter": "gather_dim",
    "scatter_axis": "gather_axis",
    "scatter_nd": "gather_nd",
    "plan_scatter": "gather_axis",
    "tile_scatter": "tile_gather",
    "put": "take",
    "put_along_axis": "take_along_axis",
}


@st.composite
def writing_problem(draw, operator):
    in_place = operator in PROCEDURES or draw(st.booleans())
    if operator == "putmask":
        source = draw(strided(draw(st.lists(SIDES, max_size=4)), broadcast=False))
        p = Problem(source, [], None, 0, "raise", "from_end", draw(strided(source.shape, np.dtype(bool))))
        dense = source.shape
    else:
        p = draw(problem(MIRRORED[operator], repeated=not in_place))
        p.fill, p.bounds = None, "drop" if p.bounds == "fill" else p.bounds
        if operator == "put":
            assume(p.axis is None)
        g = Geometry(p.source.shape, [np.shape(i) for i in p.indices], p.axis, p.batch_dims)
        dense = WRITING.operators[operator].dense(g)
    dtype = p.source.dtype
    if draw(st.booleans()):
        p.src = draw(strided(covering(dense, draw(st.sampled_from(["full", "row", "column", "one"]))), dtype))
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        p.src = source_items("larger" if operator in ("scatter", "put") else "full", dense, dtype, "C", rng)
    if operator not in PROCEDURES:
        kinds = [kind for kind in REDUCTIONS if reducible(dtype, kind)]
        p.duplicates = draw(st.sampled_from(["last", "last", "first", "error"]))
        if p.duplicates == "last" and kinds:
            p.reduce = draw(st.sampled_from([None, *kinds]))
            p.include_self = p.reduce is None or draw(st.booleans())
    if in_place:
        p.out = p.source
    elif draw(st.booleans()):
        p.out = draw(strided(p.source.shape, dtype, broadcast=False))
    return p


def run_writing(operator: str, data: st.DataObject) -> None:
    p = data.draw(writing_problem(operator), label=operator)
    verify(WRITING.operators[operator], p, WRITING.operators[operator].oracle(reference_write, p), p.out, (1, 3))


@given(st.data())
def test_gather_dim(data):
    run("gather_dim", data)


@given(st.data())
def test_gather_axis(data):
    run("gather_axis", data)


@given(st.data())
def test_take(data):
    run("take", data)


@given(st.data())
def test_take_along_axis(data):
    run("take_along_axis", data)


@given(st.data())
def test_roll(data):
    x = data.draw(strided(data.draw(st.lists(SIDES, max_size=4))), label="x")
    axes = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.nothing()
    axis = data.draw(st.none() | axes | st.lists(axes, min_size=1, max_size=4).map(tuple), label="axis")
    number = st.one_of(st.integers(-9, 9), st.integers(-(2**70), 2**70))
    several = st.lists(number, min_size=len(axis), max_size=len(axis)) if isinstance(axis, tuple) else number
    shift = data.draw(number | several, label="shift")
    result = gs.roll(x, shift, axis)
    assert result.shape == x.shape and result.dtype == x.dtype and result.flags.c_contiguous
    assert significant(result) == significant(reference.roll(x, shift, axis).result)


@given(st.data())
def test_repeat(data):
    x = data.draw(strided(data.draw(st.lists(SIDES, max_size=4))), label="x")
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none(), label="axis")
    n = x.size if axis is None else x.shape[axis]
    size = data.draw(st.sampled_from([(), (1,), (n,)]))
    dtypes = st.sampled_from([dtype for dtype in INDEX_DTYPES if dtype != np.dtype("u8")])
    counts = data.draw(hnp.arrays(data.draw(dtypes), size, elements=st.integers(0, 4)), label="counts")
    result = gs.repeat(x, counts, axis)
    answer = reference.repeat(x, counts, axis).result
    assert result.shape == answer.shape and result.dtype == x.dtype and result.flags.c_contiguous
    assert significant(result) == significant(answer)


@given(st.data())
def test_tile_gather(data):
    run("tile_gather", data)


@given(st.data())
def test_gather_nd(data):
    run("gather_nd", data)


@given(st.data())
def test_scatter(data):
    run_writing("scatter", data)


@given(st.data())
def test_scatter_axis(data):
    run_writing("scatter_axis", data)


@given(st.data())
def test_scatter_nd(data):
    run_writing("scatter_nd", data)


@given(st.data())
def test_plan_scatter(data):
    run_writing("plan_scatter", data)


@given(st.data())
def test_tile_scatter(data):
    run_writing("tile_scatter", data)


@given(st.data())
def test_put(data):
    run_writing("put", data)


@given(st.data())
def test_put_along_axis(data):
    run_writing("put_along_axis", data)


@given(st.data())
def test_putmask(data):
    run_writing("putmask", data)


def test_every_operator_has_a_property():
    assert {f"test_{operator}" for operator in (*READING.operators, *WRITING.operators)} <= set(globals())


# ---- properties without an oracle


@given(st.data(), st.sampled_from(["wrap", "clip", "raise"]))
def test_take_is_numpys_take(data, mode):
    a = data.draw(strided(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)), np.dtype("i4")))
    axis = data.draw(st.sampled_from([None, *range(-a.ndim, a.ndim)]))
    indices = data.draw(hnp.arrays("i8", st.lists(SIDES, max_size=2).map(tuple), elements=st.integers(-70, 70)))
    try:
        expected = np.take(a, indices, axis, mode=mode)
    except IndexError as error:
        try:
            gs.take(a, indices, axis, mode=mode)
        except IndexError as ours:
            assert str(ours).startswith(str(error).rstrip("."))
        else:
            raise AssertionError("NumPy raises") from error
    else:
        np.testing.assert_array_equal(gs.take(a, indices, axis, mode=mode), expected, strict=True)


@given(st.data())
def test_a_permutation_and_its_inverse(data):
    x = data.draw(strided((data.draw(st.integers(1, 300)),)))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(x))
    again = gs.gather(gs.gather(x, 0, order), np.argsort(order), 0)
    assert again.tobytes() == np.ascontiguousarray(x).tobytes()


@given(st.data())
def test_both_forms_agree(data):
    """Slices along an axis equal elements along it with the index repeated over the other axes."""
    x = data.draw(strided(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))))
    axis = data.draw(st.integers(0, x.ndim - 1))
    n = x.shape[axis]
    indices = data.draw(hnp.arrays("i2", st.integers(0, 8), elements=st.integers(-n, n - 1)))
    spread = indices.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    full = np.broadcast_to(spread, [len(indices) if d == axis else m for d, m in enumerate(x.shape)])
    slices, elements = gs.gather(x, indices, axis), gs.gather(x, axis, full)
    assert slices.shape == elements.shape and slices.tobytes() == elements.tobytes()
    assert gs.take_along_axis(x, spread, axis).tobytes() == slices.tobytes()
    coordinates = list(np.indices(full.shape, sparse=True))
    coordinates[axis] = np.where(full < 0, full + n, full)
    assert gs.tile_gather(x, tuple(coordinates)).tobytes() == slices.tobytes()


@given(st.data())
def test_a_scatter_of_what_was_gathered_changes_nothing(data):
    x = data.draw(strided(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))))
    dim = data.draw(st.integers(0, x.ndim - 1))
    shape = [data.draw(st.integers(1, n)) if d != dim else data.draw(st.integers(0, 9)) for d, n in enumerate(x.shape)]
    n = x.shape[dim]
    index = data.draw(hnp.arrays("i4", tuple(shape), elements=st.integers(-n, n - 1)))
    again = gs.scatter(x, dim, index, gs.gather(x, dim, index))
    assert again.tobytes() == np.ascontiguousarray(x).tobytes()


@given(st.data())
def test_adding_ones_counts(data):
    """A histogram equals that of NumPy, for every dtype of index."""
    n = data.draw(st.integers(1, 50))
    index = data.draw(
        hnp.arrays(data.draw(st.sampled_from(["u1", "i2", "i8"])), st.integers(0, 300), elements=st.integers(0, n - 1))
    )
    counts = gs.scatter(np.zeros(n, int), 0, index, 1, reduce="add")
    np.testing.assert_array_equal(counts, np.bincount(index, minlength=n))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_threads_never_change_an_answer(threads, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200_000))
    x = rng.integers(0, 256, (int(rng.integers(1, 500)), int(rng.integers(1, 9))), "u1")
    index = rng.integers(-len(x), len(x), n)
    with gs.thread_limit(1):
        alone = gs.gather(x, index, 0).tobytes()
    with gs.thread_limit(threads):
        assert gs.gather(x, index, 0).tobytes() == alone
