"""test_reference.py: checks the oracles of the reading operators against NumPy and torch, before others use them.

Those of the writing operators: test_reference_write.py.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import reference
from contract import ABOVE_THRESHOLDS, LOOPS_UP_TO, solve
from contract_run import CONTRACTS, cases, name_of
from layouts import LAYOUTS, bytes_of, lay_out, to_torch, torch
from pairwise import all_pairs, allowed_pairs

RNG = np.random.default_rng(20)
SOURCE = np.arange(2 * 3 * 4.0).reshape(2, 3, 4)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_take_is_numpys(mode, axis):
    n = SOURCE.size if axis is None else SOURCE.shape[axis]
    indices = RNG.integers(-n, n, (2, 5)) if mode == "raise" else RNG.integers(-3 * n, 3 * n, (2, 5))
    negative = "out_of_bounds" if mode == "clip" else "from_end"  # NumPy's clip converts negative values to 0
    answer = reference.take(SOURCE, indices, axis, bounds=mode, negative=negative)
    np.testing.assert_array_equal(answer.result, SOURCE.take(indices, axis, mode=mode), strict=True)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_repeat_is_numpys(axis):
    n = SOURCE.size if axis is None else SOURCE.shape[axis]
    for counts in (0, 2, [3], RNG.integers(0, 4, n)):
        answer = reference.repeat(SOURCE, counts, axis)
        np.testing.assert_array_equal(answer.result, np.repeat(SOURCE, counts, axis), strict=True)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, 1)])
@pytest.mark.parametrize("shift", [0, 3, -2, 10**30])
def test_roll_is_numpys(shift, axis):
    np.testing.assert_array_equal(reference.roll(SOURCE, shift, axis).result, np.roll(SOURCE, shift, axis), strict=True)
    if isinstance(axis, tuple):
        expected = np.roll(SOURCE, (shift, 1), axis)
        np.testing.assert_array_equal(reference.roll(SOURCE, (shift, 1), axis).result, expected, strict=True)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_take_along_axis_is_numpys(axis):
    if axis is None:
        indices = RNG.integers(-24, 24, 30)
    else:
        shape = [2, 1, 4] if axis % 3 != 1 else [1, 3, 4]
        shape[axis] = 6
        indices = RNG.integers(-SOURCE.shape[axis], SOURCE.shape[axis], shape)
    answer = reference.take_along_axis(SOURCE, indices, axis)
    np.testing.assert_array_equal(answer.result, np.take_along_axis(SOURCE, indices, axis), strict=True)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_gather_dim_is_torchs(dim):
    pytest.importorskip("torch")
    shape = [1, 2, 3]
    shape[dim] = 7
    index = RNG.integers(0, SOURCE.shape[dim], shape)
    expected = torch.gather(torch.from_numpy(SOURCE), dim, torch.from_numpy(index)).numpy()
    np.testing.assert_array_equal(reference.gather_dim(SOURCE, dim, index).result, expected, strict=True)


def test_gather_axis_is_take_per_batch():
    source = RNG.random((2, 3, 4, 5, 6))
    indices = RNG.integers(0, 5, (2, 3, 2, 2))
    result = reference.gather_axis(source, indices, 3, 2).result
    assert result.shape == (2, 3, 4, 2, 2, 6)
    for b in np.ndindex(2, 3):
        np.testing.assert_array_equal(result[b], np.take(source[b], indices[b], axis=1))


def test_tile_gather_is_fancy_indexing_with_padding():
    a = np.arange(12).reshape(3, 4)
    i, j = np.arange(-1, 4)[:, None], np.arange(6)[None]
    inside = (i >= 0) & (i < 3) & (j < 4)
    expected = np.where(inside, a[np.clip(i, 0, 2), np.clip(j, 0, 3)], -7)
    np.testing.assert_array_equal(reference.tile_gather(a, (i, j), padding=np.array(-7)).result, expected)


@pytest.mark.parametrize(
    ("value", "n", "bounds", "negative", "position"),
    [
        (2, 3, "raise", "from_end", 2),
        (-3, 3, "raise", "from_end", 0),
        (-4, 3, "fill", "from_end", None),
        (-1, 3, "fill", "out_of_bounds", None),
        (-1, 3, "clip", "out_of_bounds", 0),
        (-1, 3, "clip", "from_end", 2),
        (-4, 3, "clip", "from_end", 0),
        (9, 3, "clip", "from_end", 2),
        (-4, 3, "wrap", "from_end", 2),
        (-4, 3, "wrap", "out_of_bounds", 2),
        (2**64 - 1, 10, "wrap", "from_end", 5),
        (-(2**63), 10, "wrap", "from_end", 2),
        (5, 0, "fill", "from_end", None),
        (1, 3, "unchecked", "out_of_bounds", 1),
    ],
)
def test_resolve(value, n, bounds, negative, position):
    assert reference.resolve(value, n, bounds, negative) == position


@pytest.mark.parametrize(
    ("value", "n", "bounds", "negative"),
    [(3, 3, "raise", "from_end"), (-4, 3, "raise", "from_end"), (-1, 3, "deferred", "out_of_bounds")]
    + [(0, 0, bounds, negative) for bounds in ("raise", "clip", "wrap") for negative in ("from_end", "out_of_bounds")],
)
def test_resolve_refuses(value, n, bounds, negative):
    with pytest.raises(reference.Outside):
        reference.resolve(value, n, bounds, negative)


def test_gather_nd_is_fancy_indexing():
    indices = np.stack([RNG.integers(-2, 2, (3, 5)), RNG.integers(-3, 3, (3, 5))], axis=-1)
    for k in (0, 1, 2):
        expected = SOURCE[tuple(indices[..., j] for j in range(k))] if k else np.broadcast_to(SOURCE, (3, 5, 2, 3, 4))
        np.testing.assert_array_equal(reference.gather_nd(SOURCE, indices[..., :k]).result, expected, strict=True)


def test_gather_nd_with_batch_axes_is_gather_nd_per_batch():
    source, indices = RNG.random((2, 3, 4, 5, 2)), RNG.integers(0, 4, (2, 3, 7, 2))
    result = reference.gather_nd(source, indices, 2).result
    assert result.shape == (2, 3, 7, 2)
    for b in np.ndindex(2, 3):
        np.testing.assert_array_equal(result[b], source[b][indices[b][:, 0], indices[b][:, 1]])


def test_the_axis_of_a_bad_coordinate():
    bad = reference.gather_nd(np.zeros((2, 3, 4)), np.array([[[0, 0], [1, 4]], [[3, 0], [0, 0]]]), 1).bad
    assert bad == reference.Bad(index=4, position=(0, 1), axis=2, size=4, count=2)


def test_the_lowest_bad_point_and_axis_and_the_count():
    i, j = np.array([[0, 5], [-1, 0]]), np.array([[0, 9], [9, 3]])
    bad = reference.tile_gather(np.zeros((3, 3)), (i, j), check_bounds=False).bad
    assert bad == reference.Bad(index=5, position=(0, 1), axis=0, size=3, count=3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (1, 1, 3), (2, 0)])
def test_a_layout_keeps_the_values(layout, shape):
    array = RNG.integers(0, 99, shape)
    laid = lay_out(array, layout, 0)
    assert laid.shape == shape and laid.dtype == array.dtype
    np.testing.assert_array_equal(laid, np.broadcast_to(array[:1], shape) if layout == "broadcast" and shape else array)
    if array.size > 3 and array.ndim == 2:
        assert laid.flags.c_contiguous == (layout in ("C", "unaligned", "readonly"))
        assert laid.flags.aligned == (layout != "unaligned")


def test_layouts_have_the_strides_that_they_are_named_for():
    array = np.zeros((3, 4), "i4")
    strides = {layout: lay_out(array, layout).strides for layout in LAYOUTS}
    assert strides["C"] == (16, 4) and strides["F"] == strides["transposed"] == (4, 12)
    assert strides["reversed"] == (-16, -4) and strides["sliced"] == (72, 8) and strides["broadcast"] == (0, 4)


@pytest.mark.parametrize(
    ("kind", "case"),
    [(kind, c) for kind in CONTRACTS for c in cases(kind) if c["size"] != ABOVE_THRESHOLDS],
    ids=lambda part: part if isinstance(part, str) else name_of(part),
)
def test_both_oracles_agree(kind, case):
    contract = CONTRACTS[kind]
    p = contract.build(case)
    if p.source.size > LOOPS_UP_TO * 4:
        case = {**case, "size": 65}
        p = contract.build(case)
    naive, quick = solve(contract, case, p, sys.maxsize), solve(contract, case, p, -1)
    assert naive.bad == quick.bad
    if naive.bad is None:
        assert naive.result.dtype == quick.result.dtype == p.source.dtype
        assert naive.result.shape == quick.result.shape and naive.result.tobytes() == quick.result.tobytes()


@pytest.mark.parametrize("kind", CONTRACTS)
def test_the_cases_cover_all_pairs(kind):
    factors, allows = CONTRACTS[kind].factors, CONTRACTS[kind].allows
    rows = all_pairs(factors, allows)
    assert all(allows(row) and list(row) == list(factors) for row in rows)
    for a, x, b, y in allowed_pairs(factors, allows):
        assert any(row[a] == x and row[b] == y for row in rows), (a, x, b, y)
    for name, values in factors.items():  # no constraint may exclude a value from all cases
        assert {row[name] for row in rows} == set(values)
    assert rows == all_pairs(factors, allows), "deterministic"
    assert len(rows) < 1000


@pytest.mark.parametrize("kind", CONTRACTS)
def test_the_same_case_has_the_same_bytes(kind):
    case = cases(kind)[7]
    first, second = CONTRACTS[kind].build(case), CONTRACTS[kind].build(case)
    assert [bytes_of(a) for a in first.arguments()] == [bytes_of(a) for a in second.arguments()]


def test_to_torch_shares_the_memory():
    pytest.importorskip("torch")
    array = np.arange(4.0)
    to_torch(array)[0] = 9
    assert array[0] == 9
