"""test_scatter_rules.py: the result of duplicates for every dtype, reduction and number of threads, byte for byte."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gatherscatter as gs
import reference_write
import second_reference_write
from contract import ABOVE_THRESHOLDS
from layouts import DTYPES, finite_items, random_items
from reference_reduce import REDUCTIONS, reducible

KINDS = tuple(dict.fromkeys(REDUCTIONS.values()))
RULES = [(kind, include_self) for kind in KINDS for include_self in (True, False)]
SMALL = (0, 1, 2, 7, 64, 65, 300)  # numbers of points, for 11 targets
THREADS = range(1, 9)


def any_bits(shape, dtype, rng, kind):
    return random_items(shape, dtype, rng)


# ---- small: compared with loops


@pytest.mark.parametrize(("kind", "include_self"), RULES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_are_those_of_the_loops(dtype, kind, include_self):
    dtype, rng = DTYPES[dtype], np.random.default_rng(1)
    how = {"reduce": kind, "include_self": include_self}
    if not reducible(dtype, kind):
        source = random_items((11,), dtype, rng)
        with pytest.raises(TypeError, match="scatter"):
            gs.scatter(source, 0, np.arange(3), random_items((3,), dtype, rng), **how)
        return
    for count, items in itertools.product(SMALL, (any_bits, finite_items)):
        source, src = items((11,), dtype, rng, kind), items((count,), dtype, rng, kind)
        index = rng.integers(0, 9, count)  # two targets are never written, so they keep their bytes
        expected = reference_write.scatter(source, 0, index, src, **how).result
        assert gs.scatter(source, 0, index, src, **how).tobytes() == expected.tobytes()
        target = source.copy()
        assert gs.scatter(target, 0, index, src, **how, out=target) is target
        assert target.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("kind", "include_self"), RULES)
@pytest.mark.parametrize("dtype", ["int16", "float16", "float64", "complex64"])
def test_reductions_of_rows(dtype, kind, include_self):
    """scatter_nd and plans of gathers write whole rows, of lengths near the widths of registers."""
    dtype, rng = DTYPES[dtype], np.random.default_rng(2)
    if not reducible(dtype, kind):
        return
    how = {"reduce": kind, "include_self": include_self}
    for width in (1, 2, 3, 7, 8, 16, 31, 33):
        source, src = finite_items((5, width), dtype, rng), finite_items((40, width), dtype, rng)
        index = rng.integers(-5, 4, 40)
        expected = reference_write.scatter_axis(source, index, 0, 0, src, **how).result.tobytes()
        assert gs.scatter_nd(source, index[:, None], src, **how).tobytes() == expected
        plan = gs.plan(gs.take, source, index, axis=0)
        assert plan.scatter(source, index, src, **how).tobytes() == expected


@pytest.mark.parametrize("duplicates", ["last", "first", "error"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_sets_are_those_of_the_loops(dtype, duplicates):
    dtype, rng = DTYPES[dtype], np.random.default_rng(3)
    for count in SMALL:
        source, src = random_items((400,), dtype, rng), random_items((count,), dtype, rng)
        for index in (rng.integers(0, 11, count), rng.permutation(400)[:count], np.zeros(count, int)):
            answer = reference_write.scatter(source, 0, index, src, duplicates=duplicates)
            if answer.bad is None:
                assert gs.scatter(source, 0, index, src, duplicates=duplicates).tobytes() == answer.result.tobytes()
                continue
            with pytest.raises(ValueError, match="scatter") as caught:
                gs.scatter(source, 0, index, src, duplicates=duplicates)
            assert str(answer.bad.position) in str(caught.value) and str(answer.bad.first) in str(caught.value)
            assert not isinstance(caught.value, gs.OutOfBoundsError)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_name_means_what_its_kind_means(name):
    index, src = np.array([0, 1, 0, 1]), np.array([3, 4, 5, -6])
    expected = reference_write.scatter(np.arange(3), 0, index, src, reduce=REDUCTIONS[name]).result
    np.testing.assert_array_equal(gs.scatter(np.arange(3), 0, index, src, reduce=name), expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_and_drop_leave_places_unhit(kind, include_self):
    """A target that only masked or dropped points address keeps its bytes, also a NaN with a payload."""
    rng = np.random.default_rng(4)
    source, src = random_items((20,), DTYPES["float32"], rng), random_items((60,), DTYPES["float32"], rng)
    source.view("u4")[:5] = 0xFFC00001
    index, mask = rng.integers(-30, 30, 60), rng.random(60) < 0.4
    how = {"bounds": "drop", "mask": mask, "reduce": kind, "include_self": include_self}
    expected = reference_write.scatter(source, 0, index, src, **how).result
    assert gs.scatter(source, 0, index, src, **how).tobytes() == expected.tobytes()


# ---- large: any number of threads gives equal bytes

CHAINS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "mean": np.add}
WIDE = ({"float16": "float32"}, {"float16": "float32", "uint16": "uint64"})  # without and with a mean

TARGETS = 20_000
COUNT = ABOVE_THRESHOLDS


def index_of(kind, rng):
    if kind == "zipf":
        return (rng.zipf(1.05, COUNT) - 1) % TARGETS
    if kind == "equal":
        return np.full(COUNT, TARGETS // 2)
    if kind == "runs":  # neighbours are equal, so one target occurs on both sides of every border between threads
        return np.arange(COUNT) * TARGETS // COUNT
    return rng.permutation(COUNT) % TARGETS


def on_every_number_of_threads(call):
    answers = []
    for n in THREADS:
        with gs.thread_limit(n):
            answers.append(call().tobytes())
    assert len(set(answers)) == 1, f"threads that answer as one does: {[a == answers[0] for a in answers]}"
    return answers[0]


@pytest.mark.parametrize("items", [any_bits, finite_items])
@pytest.mark.parametrize("values", ["zipf", "permuted", "runs"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex128"])
def test_threads_do_not_change_a_reduction(dtype, kind, values, items):
    dtype, rng = DTYPES[dtype], np.random.default_rng(5)
    if not reducible(dtype, kind) or (values != "permuted" and items is any_bits):
        return
    index = index_of(values, rng)
    source, src = items((TARGETS,), dtype, rng, kind), items((COUNT,), dtype, rng, kind)
    expected = second_reference_write.scatter(source, 0, index, src, reduce=kind).result
    assert on_every_number_of_threads(lambda: gs.scatter(source, 0, index, src, reduce=kind)) == expected.tobytes()


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["uint16", "float32", "float16"])
def test_all_points_on_one_place(dtype, kind, include_self):
    """One chain of operations over all points. NumPy's accumulate is defined as such a chain."""
    dtype, rng = DTYPES[dtype], np.random.default_rng(6)
    source, src, at = finite_items((TARGETS,), dtype, rng, kind), finite_items((COUNT,), dtype, rng, kind), TARGETS // 2
    index, how = index_of("equal", rng), {"reduce": kind, "include_self": include_self}
    wide = np.dtype(WIDE[kind == "mean"].get(dtype.name, dtype.name))
    chain = np.append(source[at], src)[0 if include_self else 1 :].astype(wide)
    total = CHAINS[kind].accumulate(chain, dtype=wide)[-1]
    if kind == "mean":
        total = total / wide.type(chain.size) if dtype.kind == "f" else total // wide.type(chain.size)
    expected = source.copy()
    expected[at] = total.astype(dtype)
    assert np.isfinite(expected[at]) and (expected[at] != 0 or dtype.kind == "u")
    assert on_every_number_of_threads(lambda: gs.scatter(source, 0, index, src, **how)) == expected.tobytes()


@pytest.mark.parametrize("duplicates", ["last", "first"])
@pytest.mark.parametrize("values", ["zipf", "equal", "permuted", "runs"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "V7", "float64", "complex128"])
def test_threads_do_not_change_who_wins(dtype, values, duplicates):
    dtype, rng = DTYPES[dtype], np.random.default_rng(7)
    index = index_of(values, rng)
    source, src = random_items((TARGETS,), dtype, rng), random_items((COUNT,), dtype, rng)
    expected = second_reference_write.scatter(source, 0, index, src, duplicates=duplicates).result.tobytes()
    assert on_every_number_of_threads(lambda: gs.scatter(source, 0, index, src, duplicates=duplicates)) == expected

    def in_place():
        target = source.copy()
        return gs.scatter(target, 0, index, src, duplicates=duplicates, out=target)

    assert on_every_number_of_threads(in_place) == expected


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_threads_do_not_change_rows(kind):
    """Duplicate rows through scatter_nd in a target that is not contiguous."""
    rng = np.random.default_rng(8)
    room = finite_items((2000, 64), DTYPES["float32"], rng)
    target, index = room[:, ::2][:, :17], (rng.zipf(1.3, 30_000) - 1) % 2000
    src = finite_items((30_000, 17), DTYPES["float32"], rng)
    expected = second_reference_write.scatter_nd(target, index[:, None], src, reduce=kind).result.tobytes()
    assert on_every_number_of_threads(lambda: gs.scatter_nd(target, index[:, None], src, reduce=kind)) == expected


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", [None, "add", "min"])
def test_threads_do_not_change_either_dimension(dim, kind):
    rng = np.random.default_rng(9)
    shape = (700, 500)
    target, src = finite_items(shape, DTYPES["float64"], rng), finite_items(shape, DTYPES["float64"], rng)
    index = rng.integers(0, 40, shape)
    expected = second_reference_write.scatter(target, dim, index, src, reduce=kind).result.tobytes()
    assert on_every_number_of_threads(lambda: gs.scatter(target, dim, index, src, reduce=kind)) == expected
