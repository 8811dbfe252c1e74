"""test_small_literals.py: lists of integers, numbers and scalars in small calls give what the definition gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter._values.fill import as_fill
from gatherscatter._values.source import as_source
from small_arguments import definition, outcome

LISTS: list[Any] = [
    [2, 0, -1],
    [5],
    list(range(6)) * 11,  # more items than the lane reads
    list(range(6)) * 10 + [3] * 4,  # and as many as it reads
    [],
    [6],
    [-7],
    [2**63],
    [-(2**70)],
    [True, False],
    [1, True],
    [1.0],
    [np.int64(2), 1],
    [[2, 0], [1, 1]],
    (2, 0),
    [None],
    ["1"],
]
NUMBERS: list[Any] = [
    *(0, 1, -1, 7, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**24 + 1, -(2**24) - 1),
    *(
        2**31 - 1,
        2**31,
        -(2**31) - 1,
        2**32 - 1,
        2**32,
        2**53,
        2**53 + 1,
        -(2**53) - 1,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63),
    ),
    *(0.0, -0.0, 1.5, -2.0, 0.1, 3.5e38, 3.4028234e38, 1e-38, 1e-50, -1e300, float("inf"), float("nan")),
    *(True, False, None, "7", 1j, np.float64(2), np.int8(3), np.array(4), np.array([5.0])),
]
SCALARS: list[Any] = [
    *(np.dtype(name).type(number) for name in "bhilqBHILQefdgFDG" for number in (0, 1, 7)),
    *(np.int8(-1), np.int16(300), np.int64(-(2**63)), np.uint64(2**64 - 1), np.uint32(2**31), np.True_, np.False_),
    *(np.float16("nan"), np.float32("inf"), np.float32(-0.0), np.float64(-0.0), np.float64(0.1), np.float64(1e300)),
    *(np.float32(16777217), np.longdouble("1e400"), np.complex64(1j), np.datetime64("2020-01-01"), np.str_("7")),
    *(np.timedelta64(3, unit) for unit in ("s", "ns", "Y", "as")),
    *(np.timedelta64(7, "s").astype("m8"), np.datetime64(5, "ns"), np.datetime64(5, "fs"), np.bytes_(b"7")),
]
DTYPES = [
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "g",
    "c8",
    "c16",
    "?",
    ">i4",
    ">f8",
    "M8[s]",
    "S3",
]


@pytest.mark.filterwarnings("ignore")  # of NumPy's casts
@pytest.mark.parametrize("index", LISTS, ids=lambda given: repr(given)[:30])
def test_lists_of_integers(index: Any) -> None:
    x = np.arange(6.0)
    grid = np.arange(24.0).reshape(6, 4)
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (gs.take, (x, index), {}),
        (gs.take, (x, index), {"mode": "clip"}),
        (gs.take, (x, index), {"mode": "wrap"}),
        (gs.take, (grid, index, 0), {}),
        (gs.take, (grid, index), {"axis": -1}),
        (gs.take_along_axis, (x, index, 0), {}),
        (gs.gather, (x, 0, index), {}),
        (gs.gather, (grid, index, 0), {}),
        (gs.gather, (x, 0, index), {"negative": "out_of_bounds"}),
        (gs.gather_nd, (grid, index), {}),
        (gs.scatter, (x, 0, index, np.full(len(index), 9.0)), {}),
        (gs.scatter, (grid, index, 7.0), {}),
        (gs.scatter_nd, (grid, index, 7.0), {}),
    ]
    for op, args, keywords in calls:
        expected = outcome(definition(op), *args, **keywords)
        for _ in range(2):  # the second call has a cached plan
            assert outcome(op, *args, **keywords) == expected, op
    for values in (np.full(len(index), 9.0), 9.0, 9):
        want, got = x.copy(), x.copy()
        assert outcome(gs.put, got, index, values) == outcome(definition(gs.put), want, index, values)
        assert got.tobytes() == want.tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(dtype: str) -> None:
    x = np.zeros(6, dtype)
    grid = np.zeros((4, 3), dtype)
    index, along, points = np.array([2, 0, -1]), np.array([[1, 2, 0]]), np.array([[1, 2], [3, 0]])
    scalars = [] if dtype == "g" else SCALARS  # long doubles have bytes without a meaning
    for number in [*NUMBERS, *scalars]:
        for op, args in (
            (gs.scatter, (x, 0, index, number)),
            (gs.scatter, (x, index, number)),
            (gs.scatter, (grid, index, number)),
            (gs.scatter, (grid, index, number, 1)),
            (gs.scatter, (grid, index, number, -1)),
            (gs.scatter_nd, (grid, points, number)),
            (gs.scatter_nd, (grid, points[:, :1], number)),
        ):
            expected = outcome(definition(op), *args)
            for _ in range(2):
                assert outcome(op, *args) == expected, (op, number)
        for op, target, given, axis in (
            (gs.put, x, index, ()),
            (gs.put, grid, along, ()),
            (gs.put_along_axis, grid, along, (0,)),
            (gs.put_along_axis, grid, along, (1,)),
            (gs.put_along_axis, x, index, (0,)),
        ):
            want, got = target.copy(), target.copy()
            expected = outcome(definition(op), want, given, number, *axis)
            assert outcome(op, got, given, number, *axis) == expected, (op, number)
            assert got.tobytes() == want.tobytes(), (op, number)


class Named(np.float32):
    """A scalar whose class is not NumPy's."""

    def item(self) -> Any:
        raise RuntimeError("asked for its item")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_item_of_a_number_is_that_of_the_general_conversion(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros(3, dtype)
    numbers = [*NUMBERS, *([] if dtype == "g" else SCALARS), Named(1)]
    items = [outcome(as_fill, "gather", x, number) for number in numbers]
    sources = [outcome(as_source, "scatter", x, number) for number in numbers]
    assert any(_core.item_of(x, number) is not None for number in numbers) == (
        dtype not in ("g", ">i4", ">f8", "M8[s]", "S3")
    )
    monkeypatch.setattr(_core, "item_of", lambda like, number: None)
    assert items == [outcome(as_fill, "gather", x, number) for number in numbers]
    assert sources == [outcome(as_source, "scatter", x, number) for number in numbers]


def test_only_numbers_of_arrays_of_numpy_have_items() -> None:
    x = np.zeros(3, np.float32)
    item = _core.item_of(x, 1.5)
    assert type(item) is np.ndarray and item.dtype == x.dtype and item.shape == () and item.flags.owndata
    assert _core.item_of(x, Named(1)) is None
    for like in ([0.0], np.ma.array([0.0]), x.view(np.matrix), None, 3):
        assert _core.item_of(like, 1.5) is None
    for value in (None, "1", [1.0], np.zeros(()), x):
        assert _core.item_of(x, value) is None
    with pytest.raises(TypeError, match="item_of takes 2 arguments"):
        _core.item_of(x)  # type: ignore[call-arg]  # an argument too few is what the test is about


def test_a_number_for_many_points_and_a_bad_index() -> None:
    x = np.zeros(1000)
    index = np.random.default_rng(0).integers(0, 1000, 500)
    expected = x.copy()
    expected[index] = 2.5
    assert gs.scatter(x, 0, index, 2.5).tobytes() == expected.tobytes()
    target = np.arange(6.0)
    with pytest.raises(gs.errors.OutOfBoundsError, match="index 6 is out of bounds"):
        gs.scatter(target, 0, np.array([0, 6]), 1.0, out=target)
    with pytest.raises(gs.errors.OutOfBoundsError, match="index 6 is out of bounds"):
        gs.put(target, [0, 6], 1.0)
    assert target.tolist() == [0, 1, 2, 3, 4, 5]
    target.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gs.put(target, [0, 1], 1.0)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    index = torch.tensor([2, 0, -1])
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.uint8, torch.int64):
        x = torch.arange(6).to(dtype)
        for number in (3, -3, 200, 1.5, 1e300, float("nan"), True):
            want, got = x.clone(), x.clone()
            expected = outcome(lambda n=number, t=want: definition(gs.scatter)(t, 0, index, n, out=t).tolist())
            version = got._version
            assert outcome(lambda n=number, t=got: gs.scatter(t, 0, index, n, out=t).tolist()) == expected, (
                dtype,
                number,
            )
            assert torch.equal(got.nan_to_num(), want.nan_to_num())
            assert got._version - version == torch.any(got.nan_to_num() != x)
        assert torch.equal(gs.take(x, [2, 0, -1]), x[index])
        assert torch.equal(gs.gather(x, 0, [2, 0, -1]), x[index])
    truth = torch.zeros(3, dtype=torch.bool)
    assert gs.scatter(truth, 0, torch.tensor([1]), True).tolist() == [False, True, False]
    with pytest.raises(RuntimeError, match="requires grad"):
        gs.put(torch.zeros(3, requires_grad=True), index, 1.0)
