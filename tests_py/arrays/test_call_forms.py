"""test_call_forms.py: what a form of call reads without the Python function: parts, rules, coordinates, any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from small_arguments import definition, outcome


def made(**changes: Any) -> Any:
    record = {"planner": "take_axis", "match": "prefix", "positional": ("input", "index"), "keywords": (), "axis": 0}
    record |= {"rules": ()} | changes
    return gs._core.operator(gs.take.__wrapped__, [{k: v for k, v in record.items() if v != "left out"}])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"planner": "at_points"}, "no lane for planner at_points"),
        ({"match": "suffix"}, "match"),
        ({"positional": ("input", "rows")}, "no part named rows"),
        ({"keywords": ("index",)}, "keywords of a lane"),
        ({"positional": ("index",)}, "either an input or an array"),
        ({"positional": ("input", "out", "index")}, "either an input or an array"),
        ({"positional": ("input",)}, "has no index"),
        ({"positional": ("input", "index", "index")}, "twice"),
        ({"positional": ("input", "axis", "index")}, "optional part before"),
        ({"positional": ("input", "axis", "index"), "keywords": ("axis",), "axis": "left out"}, "optional part before"),
        ({"planner": "coordinates"}, "coordinates have no axis"),
        ({"rules": (("mode", "near", "nearest", "from_end"),)}, "nearest"),
    ],
    ids=str,
)
def test_forms_that_no_call_can_have(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises((ValueError, TypeError), match=problem):
        made(**changes)


def test_a_form_decides_what_the_lane_reads() -> None:
    x, index = np.arange(6.0), np.array([2, 0])
    swapped = made(positional=("index", "input"))
    assert swapped(index, x).tolist() == [2, 0]  # the lane; the definition would take from the index
    out = np.zeros(2)
    keyword = made(keywords=("out",))
    assert keyword(x, index, out=out) is out
    assert made(axis="left out", positional=("input", "index", "axis"))(x, index, 0).tolist() == [2, 0]
    ruled = made(rules=(("mode", "last", "clip", "from_end"), ("mode", "first", "wrap", "out_of_bounds")))
    assert ruled(x, np.array([9, -1]), mode="last").tolist() == [5, 5]
    assert ruled(x, np.array([7, -8]), mode="first").tolist() == [1, 4]
    with pytest.raises(TypeError, match="mode"):  # no word of the form: the definition, which has other words
        ruled(x, index, mode=["last"])


# ---- rules and coordinates


RULES: list[dict[str, str]] = [
    {"bounds": bounds} for bounds in ("raise", "deferred", "fill", "drop", "clip", "wrap", "unchecked", "nearest")
]
RULES += [{"mode": mode} for mode in ("raise", "wrap", "clip", "Clip")]
RULES += [{"mode": "clip", "bounds": "clip"}, {"mode": "clip", "bounds": "wrap"}, {"mode": "raise", "bounds": "wrap"}]
RULES += [{"bounds": "clip", "negative": "out_of_bounds"}]


# With "unchecked" the caller guarantees that every index is in bounds.
@pytest.mark.parametrize(
    ("how", "outside"),
    [(how, outside) for how in RULES for outside in (False, True) if not (outside and how == {"bounds": "unchecked"})],
    ids=str,
)
def test_rules(how: dict[str, str], outside: bool) -> None:
    x, grid = np.arange(24.0), np.arange(24.0).reshape(4, 6)
    index = np.array([1, -2, 23, 0] + [-25, 24, 10**12, -(10**12)] * outside)
    points = np.array([[1, 5], [-1, 0], [3, -6]] + [[4, 0], [0, -7], [-(10**12), 10**12]] * outside)
    src = -1.0 - np.arange(index.size)
    gathers = [
        (gs.take, (x, index)),
        (gs.gather, (x, 0, index)),
        (gs.gather, (x, index, 0)),
        (gs.gather_nd, (grid, points)),
    ]
    scatters = [
        (gs.scatter, (x, 0, index, src)),
        (gs.scatter, (x, index, src)),
        (gs.scatter_nd, (grid, points, src[: len(points)])),
    ]
    for op, args in [*gathers, *scatters]:
        expected = outcome(definition(op), *args, **how)
        for _ in range(3):  # the second and third call have a cached plan
            assert outcome(op, *args, **how) == expected, op
    for op in (gs.put, lambda *a, **k: gs.put_along_axis(*a, 0, **k)):
        written = [x.copy(), x.copy()]
        error = [outcome(op, target, index, src, **how)[0] for target in written]
        expected_target = x.copy()
        run = definition(gs.put) if op is gs.put else (lambda *a, **k: definition(gs.put_along_axis)(*a, 0, **k))
        assert [outcome(run, expected_target, index, src, **how)[0]] * 2 == error
        assert written[0].tobytes() == written[1].tobytes() == expected_target.tobytes()


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("index_type", ["int64", "uint8", "int32"])
def test_coordinates(k: int, index_type: str) -> None:
    rng = np.random.default_rng(k)
    x = rng.random((3, 4, 5)).astype("float32")
    for shape in ((), (6,), (2, 3), (0,), (700,)):
        points = rng.integers(0, 3, (*shape, k)).astype(index_type)
        strided = np.asfortranarray(points) if points.ndim > 1 else points
        updates = rng.random((*shape, *x.shape[k:])).astype("float32")
        for index in (points, strided, points[::-1] if shape else points):
            expected = x[tuple(np.moveaxis(index, -1, 0))] if k else np.broadcast_to(x, (*shape, 3, 4, 5))
            for _ in range(2):
                assert np.array_equal(gs.gather_nd(x, index), expected)
                out = np.zeros(expected.shape, x.dtype)
                if shape:
                    assert gs.gather_nd(x, index, out=out) is out
                    assert np.array_equal(out, expected)
                written = gs.scatter_nd(x, index, updates)
                want = outcome(definition(gs.scatter_nd), x, index, updates)
                assert written.tobytes() == want[3]
    plan = gs.plan(gs.gather_nd, x, rng.integers(0, 3, (6, k)))
    index = rng.integers(-3, 3, (6, k))
    for _ in range(2):
        assert np.array_equal(plan(x, index), gs.gather_nd(x, index))
    if k:
        index[3, -1] = 5
        with pytest.raises(gs.OutOfBoundsError) as caught:
            gs.gather_nd(x, index)
        assert (caught.value.position, caught.value.axis) == ((3,), k - 1)
    with pytest.raises(ValueError, match="coordinates"):
        gs.gather_nd(x, np.zeros((2, 4), int))
    with pytest.raises(ValueError, match="scalar"):
        gs.gather_nd(x, np.array(1))


@pytest.mark.parametrize("count", [16, 4096, 5000, 100_000])
@pytest.mark.parametrize("extent", [64, 100_000])
def test_scatters_of_any_size_in_place(count: int, extent: int) -> None:
    rng = np.random.default_rng(3)
    target = rng.random(extent)
    index, src = rng.integers(-extent, extent, count), rng.random(count)
    expected = target.copy()
    expected[index] = src  # NumPy keeps the last of duplicates here
    bad = index.copy()
    bad[-1] = extent
    for run in (
        lambda into, at: gs.put(into, at, src),
        lambda into, at: gs.put_along_axis(into, at, src, 0),
        lambda into, at: gs.scatter(into, 0, at, src, out=into),
        lambda into, at: gs.scatter(into, at, src, out=into),
    ):
        for _ in range(2):
            into = target.copy()
            run(into, index)
            assert np.array_equal(into, expected)
        into = target.copy()
        with pytest.raises(gs.OutOfBoundsError, match=f"index {extent} is out of bounds for axis 0 with size {extent}"):
            run(into, bad)
        assert np.array_equal(into, target)
        into.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            run(into, index)
    twice = np.arange(64)  # source, index and target in one array
    gs.put(twice, twice, twice[::-1].copy())
    assert twice.tolist() == list(range(63, -1, -1))
    overlapping = np.arange(64)
    gs.put(overlapping[:32], np.arange(32), overlapping[16:48])
    assert overlapping[:32].tolist() == list(range(16, 48))
