"""test_small_calls.py: the fast path of small calls gives the results and errors of the Python functions."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from small_arguments import INDEX_TYPES, ITEMS, definition, outcome, values


def calls(x: Any, index: Any, axis: int, out: Any = None) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    extra = {} if out is None else {"out": out}
    flat = [(gs.take, (x, index), extra)] if np.ndim(x) == 1 else []
    along = [(gs.gather, (x, axis, index), extra), (gs.take_along_axis, (x, index, axis), extra)]
    return [
        *flat,
        (gs.take, (x, index), {"axis": axis, **extra}),
        (gs.take, (x, index, axis), extra),
        (gs.gather, (x, index), {"axis": axis, **extra}),
        (gs.gather, (x, index, axis), extra),
        *(along if np.ndim(x) == np.ndim(index) else []),
    ]


@pytest.mark.parametrize("item", ITEMS, ids=str)
@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_as_the_python_functions(item: Any, index_type: str) -> None:
    rng = np.random.default_rng(7)
    for count in (1, 7, 8, 9, 64, 100):
        x = values(item, count)
        low = 0 if index_type.startswith("u") else -count
        index = rng.integers(low, count, 23).astype(index_type)
        for op, args, kwargs in calls(x, index, 0):
            expected = outcome(definition(op), *args, **kwargs)
            assert outcome(op, *args, **kwargs) == expected
            assert outcome(op, *args, **kwargs) == expected  # now with a cached plan
            assert expected[3] == x[index].tobytes()


@pytest.mark.parametrize("count", [1, 7, 8, 9, 255, 4095, 4096, 4097, 20000])
@pytest.mark.parametrize("bad", [None, 0, -1])
def test_sizes_and_indices_outside(count: int, bad: int | None) -> None:
    x = np.arange(100.0)
    for index_type in ("int32", "int64", "uint16"):
        index = (np.arange(count) * 37 % 100).astype(index_type)
        if bad is not None:
            index[bad] = 100
        out = np.full(count, -1.0)
        for op, args, kwargs in [*calls(x, index, 0), *calls(x, index, 0, out)]:
            result = outcome(op, *args, **kwargs)
            assert result == outcome(definition(op), *args, **kwargs)
            if bad is None:
                assert result[3] == x[index].tobytes()
            else:
                assert result[0] is gs.OutOfBoundsError
                assert (out == -1).all()


def test_other_geometry_in_the_same_place() -> None:
    # Many geometries in turn, so that each one evicts others from the cache.
    rng = np.random.default_rng(3)
    for turn in range(3):
        for rows in range(1, 7):
            for columns in range(1, 7):
                x = rng.standard_normal((rows, columns + turn))
                for axis in (0, 1, -1):
                    index = rng.integers(-x.shape[axis], x.shape[axis], (2, 3))
                    assert np.array_equal(gs.take(x, index, axis=axis), np.take(x, index, axis=axis))
                    points = rng.integers(0, x.shape[axis], x.shape)
                    assert np.array_equal(gs.gather(x, axis, points), np.take_along_axis(x, points, axis))


@pytest.mark.parametrize(
    "x",
    [
        np.arange(12.0)[::-1],
        np.arange(24.0)[::2],
        np.arange(12.0).reshape(3, 4),
        np.arange(12.0).reshape(3, 4).T,
        np.broadcast_to(np.arange(4.0), (3, 4)),
        np.frombuffer(bytes(range(97)), np.uint8)[1:].view("f4"),
        np.float64(3),
        np.array(3.0),
        np.zeros(0),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.zeros((1, 1, 1, 1, 2)),
        np.zeros((2,) * 12),
        np.ma.masked_equal(np.arange(6), 2),
        np.arange(6.0).view(np.recarray),
        np.array([None, 1], dtype=object),
        np.zeros(3, "S0"),
        [1, 2, 3],
    ],
    ids=lambda x: f"{type(x).__name__}{getattr(x, 'shape', '')}{getattr(x, 'strides', '')}",
)
@pytest.mark.parametrize(
    "index",
    [
        np.array([1, 0, -1]),
        np.array([1, 0, -1], ">i8"),
        np.array([1, 0, 9, -1])[::2],
        np.frombuffer(bytes(8) + bytes([1]) + bytes(16), np.uint8)[1:].view(np.int64),
        np.array([[0, 0], [0, 0]]),
        np.array(0),
        np.array([], int),
        np.array([], float),
        np.array([1.0]),
        np.array([True, False]),
        np.array([5]),
        [0, 0],
        0,
        None,
        np.zeros((1,) * 12, int),
    ],
    ids=lambda i: f"{type(i).__name__}{getattr(i, 'shape', '')}{getattr(i, 'dtype', '')}",
)
def test_unusual_arguments(x: Any, index: Any) -> None:
    for axis in (0, -1, 5):
        for op, args, kwargs in calls(x, index, axis):
            expected = outcome(definition(op), *args, **kwargs)
            assert outcome(op, *args, **kwargs) == expected
            assert outcome(op, *args, **kwargs) == expected


def outs(x: np.ndarray[Any, Any], index: np.ndarray[Any, Any]) -> list[Any]:
    n = index.size
    frozen = np.zeros(n)
    frozen.flags.writeable = False
    return [
        np.zeros(n),
        np.zeros(2 * n)[::2],
        np.zeros(n)[::-1],
        np.zeros(n + 1),
        np.zeros((1, n)),
        np.zeros(n, "f4"),
        np.zeros(n, ">f8"),
        np.zeros(n).view(np.recarray),
        frozen,
        x[:n],
        x[1 : n + 1],
        index.view(float),
        [0.0] * n,
        None,
        np.broadcast_to(np.zeros(1), (n,)),
    ]


@pytest.mark.parametrize("which", range(15))
def test_out(which: int) -> None:
    def run(op: Any, form: int, direct: bool) -> tuple[Any, ...]:
        x, index = np.arange(1.0, 9.0), np.array([2, 0, -1, 5])
        out = outs(x, index)[which]
        call, args, kwargs = [c for c in calls(x, index, 0) if c[0] is op][form]
        result = outcome(call if direct else definition(call), *args, **kwargs, out=out)
        return *result, x.tobytes(), index.tobytes(), np.asarray(out).tobytes() if out is not None else None

    for op, forms in ((gs.take, 3), (gs.gather, 3), (gs.take_along_axis, 1)):
        for form in range(forms):
            for _ in range(2):
                assert run(op, form, True) == run(op, form, False)


def test_out_is_returned() -> None:
    x, index, out = np.arange(5.0), np.array([1, -1]), np.zeros(2)
    plan = gs.plan(gs.take, x, index)
    for call in (gs.take, plan):
        out[:] = 0
        assert call(x, index, out=out) is out
        assert out.tolist() == [1, 4]


@pytest.mark.parametrize("which", range(15))
def test_plans(which: int) -> None:
    x, index = np.arange(1.0, 9.0), np.array([2, 0, -1, 5])
    for op, args, kwargs in calls(x, index, 0):
        plan = gs.plan(op, *args, **kwargs)
        for again in (plan, pickle.loads(pickle.dumps(plan))):
            shown = []
            for call in (again, lambda *a, p=again, **k: type(p).__call__(p, *a, **k)):
                own, places = x.copy(), index.copy()
                out = outs(own, places)[which]
                result = outcome(call, own, places, out=out)
                shown.append((*result, own.tobytes(), places.tobytes()))
            assert shown[0] == shown[1]


def test_plan_of_other_arguments() -> None:
    x, index = np.arange(6.0), np.array([2, 0])
    plan = gs.plan(gs.gather, x, 0, index)
    assert plan(x, index).tolist() == [2, 0]
    assert plan(input=x, indices=index).tolist() == [2, 0]
    assert plan(x, index, None, mask=None, out=None).tolist() == [2, 0]
    others = [x[:3], x[::2], x[::-1], x.astype("f4"), x.astype(">f8")]
    places = [index.astype("i4"), index[:1], index[::-1], np.array([2, 9, 0])[::2]]
    for arguments in [*((other, index) for other in others), *((x, other) for other in places)]:
        with pytest.raises(ValueError, match="the plan was made for"):
            plan(*arguments)
    with pytest.raises(gs.OutOfBoundsError, match="index 6"):
        plan(x, np.array([0, 6]))
    with pytest.raises(TypeError):
        plan(x)
    with pytest.raises(TypeError):
        plan(x, index, wrong=1)


def test_plan_is_still_a_class() -> None:
    x, index = np.arange(6.0), np.array([2, 0])
    plan = gs.plan(gs.take, x, index)
    assert list(inspect.signature(plan).parameters) == ["input", "indices", "src", "mask", "out"]

    class Loud(gs.Plan):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return "loud"

    class Quiet(gs.Plan):
        pass

    assert Loud(plan._core)(x, index) == "loud"
    assert Quiet(plan._core)(x, index).tolist() == [2, 0]
    with pytest.raises(TypeError, match="cannot be replaced"):
        plan._core = plan._core
    with pytest.raises(TypeError):
        gs.Plan(None)  # type: ignore[arg-type]  # wrong on purpose
    bare = gs._core.PlanBase()
    bare._core = plan._core
    assert bare(x, index).tolist() == [2, 0]
    with pytest.raises(TypeError, match="alone"):
        bare(x, index[:1])
    with pytest.raises(TypeError, match="derives from PlanBase"):
        gs._core.plan_class(int)
    with pytest.raises(AttributeError):
        gs.Plan.__new__(gs.Plan)(x, index)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    index = torch.tensor([2, 0, -1])
    kinds = [torch.float64, torch.float32, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.float8_e5m2]
    for dtype in kinds:
        x = torch.arange(6).to(torch.float32).to(dtype)
        for op, args, kwargs in calls(x, index, 0):
            for _ in range(2):
                result = op(*args, **kwargs)
                assert type(result) is torch.Tensor
                assert result.dtype is dtype
                assert result.tolist() == [x.tolist()[i] for i in (2, 0, -1)]
    x = torch.arange(6.0)
    out = torch.zeros(3)
    before = out._version
    plan = gs.plan(gs.gather, x, 0, index)
    for call in (lambda: gs.gather(x, 0, index, out=out), lambda: plan(x, index, out=out)):
        out.zero_()
        assert call() is out
        assert out.tolist() == [2, 0, 5]
    assert out._version == before + 4


def test_torch_with_flags() -> None:
    torch = pytest.importorskip("torch")
    x, index = torch.arange(6.0), torch.tensor([2, 0, -1])
    plan = gs.plan(gs.take, x, index)
    live, lazy, shape = x.clone().requires_grad_(), torch._neg_view(x), x.to("meta")
    for call in (gs.take, plan):
        assert call(x, index).tolist() == [2, 0, 5]
        with torch.no_grad():
            assert call(live, index).tolist() == [2, 0, 5]
        with pytest.raises((TypeError, RuntimeError)):
            call(x, index, out=torch.zeros(3, requires_grad=True))
        assert call(live, index).requires_grad and call(lazy, index).tolist() == [-2, 0, -5]
        assert call(shape, index).is_meta
    parameter = torch.nn.Parameter(x, requires_grad=False)
    assert type(gs.take(parameter, index)) is torch.Tensor


def test_mixed_libraries() -> None:
    torch = pytest.importorskip("torch")
    x, index = np.arange(6.0), np.array([2, 0])
    for _ in range(2):
        assert type(gs.take(x, torch.from_numpy(index))) is np.ndarray
        assert type(gs.take(torch.from_numpy(x), index)) is torch.Tensor
        plan = gs.plan(gs.take, x, index)
        assert type(plan(torch.from_numpy(x), index)) is torch.Tensor
        out = torch.zeros(2, dtype=torch.float64)
        assert plan(x, index, out=out) is out
        assert out.tolist() == [2, 0]
