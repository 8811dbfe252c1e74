"""test_small_scatters.py: the fast path of small scatters writes what the Python functions write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from small_arguments import INDEX_TYPES, ITEMS, definition, outcome, values


def both(op: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, ...]]:
    """The outcomes of the operator and of its Python function, with the arguments after the call, each on copies."""
    found = []
    for function in (op, definition(op), op):
        own = [a.copy(order="K") if type(a) is np.ndarray else a for a in args]
        own = [
            a if type(b) is not np.ndarray or b.flags.writeable else _frozen(a) for a, b in zip(own, args, strict=True)
        ]
        named = {name: own[0] if value is args[0] else value for name, value in kwargs.items()}
        found.append((*outcome(function, *own, **named), *(np.asarray(a).tobytes() for a in own)))
    assert found[0] == found[1] == found[2]
    return found


def _frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("item", ITEMS, ids=str)
@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_as_the_python_functions(item: Any, index_type: str) -> None:
    rng = np.random.default_rng(7)
    for count in (1, 7, 64, 100):
        x, source = values(item, count), values(item, 23)
        low = 0 if index_type.startswith("u") else -count
        index = rng.integers(low, count, 23).astype(index_type)
        expected = x.copy()
        for k in range(23):  # the last write is kept
            expected[index[k]] = source[k]
        for op, args, kwargs in (
            (gs.scatter, (x, 0, index, source), {}),
            (gs.scatter, (x, 0, index, source), {"out": x}),
            (gs.scatter, (x, index, source), {}),
            (gs.scatter, (x, index, source, 0), {"out": x}),
            (gs.put, (x, index, source), {}),
            (gs.put_along_axis, (x, index, source, 0), {}),
        ):
            found = both(op, *args, **kwargs)[0]
            written = found[3] if op is gs.scatter else found[2]
            assert written == expected.tobytes()


@pytest.mark.parametrize("count", [1, 9, 4095, 4096, 4097, 20000])
@pytest.mark.parametrize("bad", [None, 0, -1])
def test_sizes_and_indices_outside(count: int, bad: int | None) -> None:
    x, source = np.arange(100.0), np.arange(float(count))
    index = np.arange(count) * 37 % 100
    if bad is not None:
        index[bad] = 100
    both(gs.scatter, x, 0, index, source)
    both(gs.scatter, x, 0, index, source, out=x)
    both(gs.scatter, x, index, source)
    both(gs.scatter, x, index, source, out=x)
    both(gs.put, x, index, source)
    both(gs.put_along_axis, x, index, source, 0)
    big = np.arange(10000.0)
    both(gs.scatter, big, 0, index, source)
    both(gs.put, big, index, source)


@pytest.mark.parametrize("axis", [0, 1, -1, 2])
def test_more_axes(axis: int) -> None:
    rng = np.random.default_rng(5)
    for x in (np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4).T, np.zeros((0, 4)), np.zeros((2, 1))):
        for shape in ((3, 4), (2, 3), (1, 4), (3, 1), (0, 4), (4, 3), (2, 1), (5,), ()):
            index = rng.integers(-1, 1, shape)
            source = rng.standard_normal(shape)
            both(gs.scatter, x, axis, index, source)
            both(gs.scatter, x, axis, index, source, out=x)
            both(gs.put, x, index, source)
            both(gs.put_along_axis, x, index, source, axis)
            both(gs.put_along_axis, x, index, source, axis=axis)


@pytest.mark.parametrize("which", range(14))
def test_unusual_arguments(which: int) -> None:
    x, index, source = np.arange(1.0, 9.0), np.array([2, 0, -1, 5]), np.arange(10.0, 14.0)
    frozen = x.copy()
    frozen.flags.writeable = False
    x, index, source = [
        (frozen, index, source),
        (x, index, source.astype("f4")),
        (x, index, 3.5),
        (x, index, [1.0, 2.0, 3.0, 4.0]),
        (x, index, source[:1]),
        (x, index, np.arange(8.0)[::2]),
        (x, index.tolist(), source),
        (x, index.astype(float), source),
        (x, index.astype(">i8"), source),
        (x.astype(">f8"), index, source),
        (x.astype(object), index, source.astype(object)),
        (x.tolist(), index, source),
        (np.ma.masked_equal(x, 2), index, source),
        (x, None, None),
    ][which]
    both(gs.scatter, x, 0, index, source)
    both(gs.scatter, x, 0, index, source, out=x)
    both(gs.scatter, x, True, index, source)
    both(gs.scatter, x, index, source)
    both(gs.scatter, x, index, source, out=x)
    both(gs.scatter, x, index, source, axis=0)
    both(gs.scatter, x, index, source, reduce="add")
    both(gs.scatter, x, 0, index, source, reduce="add")
    both(gs.put, x, index, source)
    both(gs.put, x, index, source, "clip")
    both(gs.put_along_axis, x, index, source, 0)
    both(gs.put_along_axis, x, index, source, None)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3, 3])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (), (0,), (1,)])
def test_slices(axis: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    for x in (np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(4, 3, 2).T, np.zeros((2, 0, 4))):
        index = rng.integers(-1, 2, shape)
        at = axis % 3
        source = rng.standard_normal(x.shape[:at] + shape + x.shape[at + 1 :])
        both(gs.scatter, x, index, source, axis)
        both(gs.scatter, x, index, source, axis, out=x)
        both(gs.scatter, x, index, source, axis=axis, out=x)
        both(gs.scatter, x, index, source)  # its source fits axis 0 only
        both(gs.scatter, x, index, source[..., :1], axis)
        if axis in range(-3, 3) and x.size:
            expected = x.copy()
            expected[(slice(None),) * at + (index,)] = source
            if np.unique(index).size == index.size:
                np.testing.assert_array_equal(gs.scatter(x, index, source, axis), expected, strict=True)


def test_arguments_that_overlap() -> None:
    for op in (gs.scatter, gs.put):
        found = []
        for function in (op, definition(op), op):
            x = np.arange(8)
            index, source = x[2:5], x[4:7]
            if op is gs.scatter:
                function(x, 0, index, source, out=x)
            else:
                function(x, index, source)
            found.append(x.tolist())
        assert found[0] == found[1] == found[2] == [0, 1, 4, 5, 6, 5, 6, 7]


def test_plans_are_still_made() -> None:
    x, index, source = np.arange(8.0), np.array([2, 0]), np.array([5.0, 6.0])
    gs.scatter(x, 0, index, source)
    plan = gs.plan(gs.scatter, x, 0, index, source)
    assert plan(x, index, source).tolist() == [6, 1, 5, 3, 4, 5, 6, 7]
    rows = gs.plan(gs.scatter, x, index, source)
    assert rows(x, index, source).tolist() == [6, 1, 5, 3, 4, 5, 6, 7]
    assert rows.to_dict()["planner"] == "take_axis" and rows.to_dict()["direction"] == "scatter"
    assert type(gs.plan(gs.put, x, index, source)) is gs.Plan
    assert x.tolist() == list(range(8))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    index = torch.tensor([2, 0, -1])
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.int8, torch.bool, torch.complex64):
        x = torch.arange(6).to(dtype)
        source = torch.tensor([3, 4, 5]).to(dtype)
        expected = x.clone()
        expected[index] = source
        for _ in range(2):
            result = gs.scatter(x, 0, index, source)
            assert type(result) is torch.Tensor
            assert result.dtype is dtype
            assert torch.equal(result, expected)
            for write in (
                lambda t, s=source: gs.scatter(t, 0, index, s, out=t),
                lambda t, s=source: gs.scatter(t, index, s, out=t),
                lambda t, s=source: gs.put(t, index, s),
                lambda t, s=source: gs.put_along_axis(t, index, s, 0),
            ):
                target = x.clone()
                before = target._version
                write(target)
                assert torch.equal(target, expected)
                assert target._version == before + 1
    x = torch.arange(6.0)
    assert gs.scatter(x, 0, index, torch.zeros(3, requires_grad=True)).requires_grad
    with pytest.raises(RuntimeError, match="requires grad"):
        gs.put(x.clone().requires_grad_(), index, torch.zeros(3))
    lazy = gs.scatter(x, 0, index, torch._neg_view(torch.ones(3)))
    assert torch.equal(lazy, gs.scatter(x, 0, index, -torch.ones(3)))
