"""test_call_forms.py: what a form of call reads without the Python function: parts, rules, coordinates, any size."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter._numpy.rules import MODE_RULES, rule_of
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
        ({"keywords": ("index",)}, "reads no keyword index"),
        ({"positional": ("index",)}, "either an input or an array"),
        ({"positional": ("input", "out", "index")}, "either an input or an array"),
        ({"positional": ("input",)}, "has no index"),
        ({"positional": ("input", "index", "index")}, "twice"),
        ({"positional": ("input", "axis", "index")}, "optional part before"),
        ({"positional": ("input", "axis", "index"), "keywords": ("axis",), "axis": "left out"}, "optional part before"),
        ({"planner": "coordinates"}, "coordinates have no axis"),
        ({"planner": "tile"}, "coordinates have no axis"),
        ({"planner": "tile", "axis": "left out", "positional": ("input", "index", "source")}, "a tile form"),
        ({"planner": "tile", "axis": "left out", "positional": ("out", "index")}, "a tile form"),
        ({"planner": "tile", "axis": "left out", "keywords": ("out",)}, "a tile form"),
        ({"planner": "tile", "axis": "left out", "keywords": ("axis",)}, "a tile form"),
        ({"planner": "tile", "axis": "left out", "rules": (("mode", "near", "clip", "from_end"),)}, "a tile form"),
        ({"rules": (("mode", "near", "nearest", "from_end"),)}, "nearest"),
        ({"rules": (("mode", "near", "clip"),)}, "a rule of a form is a tuple"),
        ({"rules": ("abcd",)}, "a rule of a form is a tuple"),
        ({"rules": ((1, "near", "clip", "from_end"),)}, "a rule of a form is a tuple"),
        ({"rules": (("axis", "last", "clip", "from_end"),)}, "axis is no rule"),
        ({"rules": (("bounds", "clip", "clip", "from_end"),)}, "bounds is no rule"),
        ({"axis": -(2**63)}, "an axis that no array has"),
        ({"axis": 2**64}, "an axis that no array has"),
        ({"positional": ("out", "index", "source"), "keywords": ("out",)}, "writes to two arrays"),
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
RULES += [{"bounds": "clip", "negative": "out_of_bounds"}, {"negative": "out_of_bounds"}, {"negative": "from_end"}]


@pytest.mark.parametrize("word", MODE_RULES, ids=str)
def test_rule_words_say_what_the_definition_reads(word: tuple[str, str, str, str]) -> None:
    keyword, value, bounds, negative = word
    given = {"mode": "raise", "bounds": None, "negative": None} | {keyword: value}
    assert rule_of("take", **given) == (bounds, negative)


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
    for op, axis in ((gs.put, ()), (gs.put_along_axis, (0,))):
        want = x.copy()
        expected = outcome(definition(op), want, index, src, *axis, **how)
        for _ in range(3):
            target = x.copy()
            assert outcome(op, target, index, src, *axis, **how) == expected
            assert target.tobytes() == want.tobytes()


def test_one_geometry_under_many_rules_and_types() -> None:
    x = np.arange(16.0)
    index = np.array([3, -2, 0, 15])
    grid, square = x.reshape(4, 4), np.array([[1, 0, 3, 2]] * 4)
    alternating = [
        lambda: gs.take(x, index),
        lambda: gs.take(x, index, mode="clip"),
        lambda: gs.take(x, index, bounds="clip"),
        lambda: gs.take(x, index.view("u8"), mode="wrap"),
        lambda: gs.gather(x, index, 0),
        lambda: gs.gather(x, 0, index),
        lambda: gs.take_along_axis(x, index, 0),
        lambda: gs.take(x.view("i8"), index),
        lambda: gs.scatter(x, 0, index, x[:4]),
        lambda: gs.scatter(x, 0, index, x[:4], bounds="clip"),
        lambda: gs.gather(grid, 0, square),
        lambda: gs.gather(grid, 1, square),
        lambda: gs.take(grid, square),
        lambda: gs.take(grid, square, axis=1),
        lambda: gs.gather_nd(grid, square),
    ]
    expected = [
        x[index],
        x[np.clip(index, 0, 15)],
        x[index],
        x[index.view("u8") % 16],
        *[x[index]] * 3,
        x[index].view("i8"),
        *[np.where(np.isin(np.arange(16), index % 16), -1, x)] * 2,
        np.take_along_axis(grid, square, 0),
        np.take_along_axis(grid, square, 1),
        x[square],
        grid[:, square],
        None,  # four numbers for two axes
    ]
    for want in expected[8:10]:
        want[index] = x[:4]
    for _ in range(3):
        for call, want in zip(alternating, expected, strict=True):
            if want is None:
                with pytest.raises(ValueError, match="coordinates"):
                    call()
            else:
                assert np.array_equal(call(), want)


def test_sources_of_other_shapes_after_a_cached_one() -> None:
    x, index = np.zeros((4, 3)), np.array([[0, 1, 2], [2, 1, 0]])
    for _ in range(2):
        for src in (
            np.ones((2, 3)),
            np.full((4, 3), 2.0),
            np.full((2, 3), 3.0),
            np.ones((1, 3)),
            np.ones(3),
            np.ones(6),
        ):
            for op, args in ((gs.scatter, (x, 0, index, src)), (gs.scatter, (x, index[0], src))):
                assert outcome(op, *args) == outcome(definition(op), *args)
            for op, axis in ((gs.put, ()), (gs.put_along_axis, (0,))):
                got, want = x.copy(), x.copy()
                result = outcome(definition(op), want, index, src, *axis)
                assert outcome(op, got, index, src, *axis) == result
                assert got.tobytes() == want.tobytes()


def test_arrays_of_several_libraries() -> None:
    torch = pytest.importorskip("torch")
    kinds = (lambda array: array.copy(), lambda array: torch.from_numpy(array.copy()))
    x, index, src, out = np.arange(6.0), np.array([2, 0, 1]), np.array([7.0, 8, 9]), np.zeros(3)
    for make in itertools.product(kinds, repeat=4):
        for op, args in [
            (gs.take, (x, index)),
            (gs.take_along_axis, (x, index, 0)),
            (gs.gather, (x, index, 0)),
            (gs.gather, (x, 0, index)),
            (gs.gather_nd, (x, index[:, None])),
        ]:
            own = [m(arg) if isinstance(arg, np.ndarray) else arg for m, arg in zip(make, args, strict=False)]
            own += [make[1](arg) if isinstance(arg, np.ndarray) else arg for arg in args[len(own) :]]
            into, want = make[3](out), make[3](out)
            for how in ({}, {"bounds": "clip"}):
                assert outcome(op, *own, out=into, **how) == outcome(definition(op), *own, out=want, **how)
                assert np.asarray(into).tobytes() == np.asarray(want).tobytes()
        for op, order in ((gs.put, "xis"), (gs.put_along_axis, "xis0"), (gs.scatter, "x0is"), (gs.scatter, "xis")):
            got, want = [
                dict(zip("xis", (m(a) for m, a in zip(make, (x, index, src), strict=False)), strict=True)) | {"0": 0}
                for _ in range(2)
            ]
            expected = outcome(definition(op), *(want[name] for name in order))
            assert outcome(op, *(got[name] for name in order)) == expected
            assert np.asarray(got["x"]).tobytes() == np.asarray(want["x"]).tobytes()


@pytest.mark.parametrize("name", ["put", "put_along_axis", "scatter", "scatter_rows"])
def test_scatters_of_arrays_that_are_not_contiguous(name: str) -> None:
    rng = np.random.default_rng(5)
    base, index = rng.random((6, 5, 4, 3, 2)), rng.integers(0, 5, (6, 5, 4, 3, 2))
    values = rng.random(base.shape)
    for cut in (np.s_[::2], np.s_[:, ::-1], np.s_[..., 1:], np.s_[0], np.s_[0, 0], np.s_[0, 0, 0, :, 0]):
        for each in (base[cut], base[cut].T):
            where, src = (index[cut], values[cut]) if each.shape == base[cut].shape else (index[cut].T, values[cut].T)
            where = where % each.shape[0]
            op, args = {
                "put": (gs.put, (where, src)),
                "put_along_axis": (gs.put_along_axis, (where, src, 0)),
                "scatter": (gs.scatter, (0, where, src)),
                "scatter_rows": (gs.scatter, (where.reshape(-1)[:3], src[:3])),
            }[name]
            got, want = (base.copy()[cut] if each.shape == base[cut].shape else base.copy()[cut].T for _ in range(2))
            assert outcome(op, got, *args) == outcome(definition(op), want, *args)
            assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("index_type", ["int64", "uint8", "int32"])
def test_coordinates(k: int, index_type: str) -> None:
    rng = np.random.default_rng(k)
    x = rng.random((3, 4, 5)).astype("float32")
    for shape in ((), (6,), (2, 3), (0,), (700,)):
        points = rng.integers(0, 3, (*shape, k)).astype(index_type)
        strided = np.asfortranarray(points) if points.ndim > 1 else points
        updates = rng.random((*shape, *x.shape[k:])).astype("float32")
        for index in (points, strided, points[::-1] if shape else points, points[..., ::-1].copy()[..., ::-1]):
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
