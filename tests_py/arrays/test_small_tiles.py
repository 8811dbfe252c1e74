"""test_small_tiles.py: small tile calls without a Python frame give what naive loops and the Python functions give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from small_arguments import INDEX_TYPES, ITEMS, definition, outcome, values

PADDINGS: list[Any] = [0, 1, -1, 7, 127, 128, 2**24 + 1, 2**63, 2**64, -(2**63), 0.0, -0.0, 1.5, 0.1, 1e300, 1e-45]
PADDINGS += [float("inf"), float("nan"), True, False, None, "7", b"ab", 1j, np.float64(2), np.int8(3), np.array(4), [1]]
DTYPES = [
    "?",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "g",
    "c8",
    "c16",
    "S3",
    "M8[s]",
    ">i4",
    ">f8",
]


class Counted:
    """An operator as `tile_gather` or `tile_scatter`, which counts the calls that its definition gets."""

    def __init__(self, op: Any) -> None:
        self.calls = 0

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return op.__wrapped__(*args, **kwargs)

        parts = ("input", "index") if op is gs.tile_gather else ("out", "index", "source")
        form = {"planner": "tile", "match": "prefix", "positional": parts, "keywords": (), "rules": ()}
        self.op = gs._core.operator(counting, [form], op is gs.tile_scatter)

    def takes(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the call runs without the definition."""
        before = self.calls
        outcome(self.op, *args, **kwargs)
        return self.calls == before


def same(op: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The outcome of the operator and the bytes of its array afterwards, which its Python function gives too."""
    found = []
    for function in (op, definition(op), op):
        array = args[0].copy(order="K") if type(args[0]) is np.ndarray else args[0]
        if array is not args[0]:
            array.flags.writeable = args[0].flags.writeable
        found.append((*outcome(function, array, *args[1:], **kwargs), np.asarray(array).tobytes()))
    assert found[0] == found[1] == found[2]
    return found[0]


def points(array: Any, indices: Any, mask: Any) -> list[tuple[int, ...] | None]:
    """The position of each point in C order, or None for one that is masked or out of bounds."""
    shape = np.broadcast_shapes(*(np.shape(i) for i in indices))
    wide = [np.broadcast_to(i, shape) for i in indices]
    wanted = np.broadcast_to(True if mask is None else mask, shape)
    found: list[tuple[int, ...] | None] = []
    for c in np.ndindex(shape):
        position = tuple(int(i[c]) for i in wide)
        inside = all(0 <= p < n for p, n in zip(position, array.shape, strict=True))
        found.append(position if wanted[c] and inside else None)
    return found


# ---- against naive loops


@pytest.mark.parametrize("item", ITEMS, ids=str)
@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_every_item_and_index(item: Any, index_type: str) -> None:
    rng = np.random.default_rng(3)
    for count in (1, 9, 100):
        x, value, mask = values(item, count), values(item, 23), rng.random(23) < 0.7
        low = 0 if index_type.startswith("u") else -3
        index = rng.integers(low, min(count + 4, 120), 23).astype(index_type)
        index[rng.integers(0, 23, 3)] = [np.iinfo(index_type).max, np.iinfo(index_type).min, 0]
        for own in (None, mask):
            at = points(x, (index,), own)
            gathered = np.array([x[p] if p else np.zeros((), x.dtype)[()] for p in at], x.dtype)
            written = x.copy()
            for k, p in enumerate(at):  # the last write is kept
                if p:
                    written[p] = value[k]
            for where in (index, (index,)):
                assert same(gs.tile_gather, x, where, mask=own)[3] == gathered.tobytes()
                assert same(gs.tile_scatter, x, where, value, mask=own)[-1] == written.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_tiles_of_more_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    x = rng.integers(0, 100, tuple(rng.integers(0, 5, rank))).astype(rng.choice(["i1", "i2", "f4", "f8", "c16"]))
    x = x.transpose(rng.permutation(rank))[(slice(None, None, rng.choice([-1, 1])),) * rank]
    shape = tuple(rng.integers(1, 5, int(rng.integers(1, 5))))

    def part(of: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(1 if rng.random() < 0.3 else n for n in of[int(rng.integers(0, len(of) + 1)) :])

    indices: list[Any] = []
    for n in x.shape:
        index = rng.integers(-2, n + 2, part(shape)).astype(rng.choice(["i1", "i4", "i8", ">i2"]))
        index = index.T.copy().T if rng.random() < 0.3 else index  # not contiguous
        indices.append(index.tolist() if rng.random() < 0.3 and index.ndim < 2 else index)
    common = np.broadcast_shapes(*(np.shape(i) for i in indices))
    mask = None if rng.random() < 0.3 else rng.random(part(common)) < 0.7
    value = rng.integers(0, 100, part(common)).astype(x.dtype)
    at = points(x, indices, mask)
    wide = np.broadcast_to(value, common).reshape(-1)
    gathered = np.array([wide[k] if p is None else x[p] for k, p in enumerate(at)], x.dtype)
    written = x.copy()
    for k, p in enumerate(at):
        if p is not None:
            written[p] = wide[k]
    args = tuple(indices)
    found = same(gs.tile_gather, x, args, mask=mask, padding_value=value)
    assert (found[2:4] == (common, gathered.tobytes())) if common else (np.asarray(gathered[0]) == gathered).all()
    with_gaps = np.empty((*x.shape, 2), x.dtype)[..., 0]
    with_gaps[...] = x
    for target in (x.copy(order="K"), with_gaps):
        gs.tile_scatter(target, args, value, mask=mask)
        np.testing.assert_array_equal(target, written, strict=True)
    same(gs.tile_scatter, x, args, value, mask=mask)
    for op, rest in ((gs.tile_gather, ()), (gs.tile_scatter, (value,))):
        same(op, x, args, *rest, mask=mask, check_bounds=False)


@pytest.mark.parametrize("count", [0, 1, 64, 65, 511, 512, 513, 700, 5000])
def test_counts_about_the_limit(count: int) -> None:
    rng = np.random.default_rng(count)
    x, index, mask = rng.random(300), rng.integers(-9, 309, count), rng.random(count) < 0.5
    inside = (index >= 0) & (index < 300) & mask
    clipped = np.clip(index, 0, 299)
    assert np.array_equal(gs.tile_gather(x, index, mask=mask, padding_value=2.5), np.where(inside, x[clipped], 2.5))
    target, expected, value = x.copy(), x.copy(), rng.random(count)
    gs.tile_scatter(target, index, value, mask=mask)
    expected[index[inside]] = value[inside]
    assert target.tobytes() == expected.tobytes()
    same(gs.tile_gather, x, clipped.tolist())
    same(gs.tile_gather, x.reshape(20, 15), (clipped // 15, clipped % 15))
    for dtype in ("S63", "S64", "S65", "V0", "S0"):  # and of the size of an item
        same(gs.tile_gather, x.astype(dtype) if dtype[0] == "S" else np.zeros(300, dtype), index)
        same(gs.tile_scatter, np.zeros(300, dtype), index, 0)


# ---- which calls run without the definition


def test_the_frequent_calls_need_no_definition() -> None:
    gather, scatter = Counted(gs.tile_gather), Counted(gs.tile_scatter)
    x, index, mask, value = np.arange(12.0), np.arange(16) - 2, np.ones(16, bool), np.ones(16)
    grid, rows, columns = x.reshape(3, 4), np.array([[0], [7]]), np.array([2, -1, 0])
    for how in ({}, {"mask": mask}, {"mask": None, "latency": 3}, {"mask": True, "check_bounds": True}):
        assert gather.takes(x, index, **how) and scatter.takes(x, index, value, **how)
        assert gather.takes(x, (index,), padding_value=-1.5, **how) and scatter.takes(x, (index,), 2, **how)
        assert gather.takes(grid, (index, index[::-1]), padding_value=value, **how)
    assert gather.takes(grid, (rows, columns)) and scatter.takes(grid, (rows, columns), 3.0, mask=mask[:2, None])
    assert gather.takes(grid.T, (rows, 2)) and gather.takes(x, [2, 99]) and scatter.takes(grid.T, ([2, 1], 1), 3)
    assert gather.takes(x, index % 12, check_bounds=False) and scatter.takes(x, index % 12, 1.0, check_bounds=False)
    assert not gather.takes(x, index, check_bounds=False)  # an index outside: the definition raises
    assert gather.takes(x, index, mask=(index >= 0) & (index < 12), check_bounds=False)
    assert not gather.takes(x, 2)  # a scalar
    assert not gather.takes(x, index, mask=mask.astype(int)) and not gather.takes(x, index, padding_value=np.int8(1))
    assert not scatter.takes(x, np.arange(12), x[::-1])  # the value overlaps the array


# ---- values and their casts


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_cast_or_refused_as_by_the_definition(dtype: str) -> None:
    x, index = np.ones(5, "i1").astype(dtype), np.array([4, 9, 0])
    for padding in PADDINGS:
        for where in (index, (index,), index % 5, [0, 7]):
            same(gs.tile_gather, x, where, padding_value=padding)
            same(gs.tile_scatter, x, where, padding)
            same(gs.tile_scatter, x, where, padding, mask=np.zeros(1, bool))


def test_values_of_other_dtypes_and_shapes() -> None:
    x, index = np.arange(6.0), np.array([[4, 9, 0], [-1, 1, 4]])
    for dtype in ("f8", "f4", "i8", "?", ">f8", "c16", "O", "U3"):
        for shape in ((2, 3), (1, 3), (3,), (1,), (), (2, 1), (2, 2), (1, 2, 3), (6,)):
            value = np.full(shape, 2).astype(dtype)
            same(gs.tile_gather, x, index, padding_value=value)
            same(gs.tile_scatter, x, index, value)
            same(gs.tile_scatter, x.astype(">f8"), index, value)
            same(gs.tile_gather, x, index, mask=value)
    for mask in (False, 1, None, [True, False, True], np.True_, np.ones((2, 3), "u1"), np.ones(2, bool), "x"):
        same(gs.tile_gather, x, index, mask=mask, padding_value=3.0)
        same(gs.tile_scatter, x, index, 3.0, mask=mask)
    odd = np.array([0, 1, 2, 255, 0, 7], "u1").view(bool).reshape(2, 3)  # every byte but 0 is true
    found = same(gs.tile_gather, x + 1, index % 6, mask=odd)
    assert np.frombuffer(found[3]).astype(bool).tolist() == [False, True, True, True, False, True]


# ---- errors


@pytest.mark.parametrize("bad", [-1, 6, 2**40, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("place", [0, 7, 15])
def test_an_index_outside_without_a_check_writes_nothing(bad: int, place: int) -> None:
    x, index = np.arange(6.0), np.arange(16) % 6
    index[place] = bad
    for array, where, axis in ((x, index, 0), (x.reshape(1, 6), (0, index), 1), (x.reshape(6, 1), (index, 0), 0)):
        target = array.copy()
        for call in (
            lambda a=target, i=where: gs.tile_gather(a, i, check_bounds=False),
            lambda a=target, i=where: gs.tile_scatter(a, i, -1.0, check_bounds=False),
        ):
            with pytest.raises(gs.OutOfBoundsError) as error:
                call()
            assert (error.value.index, error.value.position, error.value.axis) == (bad, (place,), axis)
            assert target.tobytes() == array.tobytes()
        same(gs.tile_scatter, array, where, 7.0, check_bounds=False)
        same(gs.tile_gather, array, where, check_bounds=False)
        wanted = np.arange(16) != place
        assert same(gs.tile_gather, array, where, mask=wanted, check_bounds=False)[0] is np.ndarray
        assert same(gs.tile_scatter, array, where, 7.0, mask=wanted, check_bounds=False)[1] == "None"


class OwnTuple(tuple):  # its items are not those of the tuple
    def __iter__(self) -> Any:
        return iter((np.array([5, 5]),))


@pytest.mark.parametrize(
    "indices",
    [
        (),
        (0,),
        (0, 0, 0),
        None,
        [0],
        0,
        2**70,
        "1",
        1.0,
        True,
        [],
        [True],
        [1.5],
        ([1], [2, 3, 4], 5),
        (np.int64(1),),
        np.zeros((2, 3)),
        np.zeros(3, bool),
        np.zeros(3, "m8[s]"),
        np.zeros(3, "O"),
        np.ma.array([1, 2], mask=[0, 1]),
        np.zeros((1,) * 5, int),
        np.array(2),
        (np.array(2),),
        (np.zeros(2, int), np.zeros(3, int)),
        ((1, 2),),
        [[1], [2]],
        OwnTuple((np.array([1, 2]),)),
        ([2**63, 1],),
        (2**63,),
        (np.array([1]), 2**64),
        (-1, np.array([0, 1])),
    ],
    ids=repr,
)
def test_unusual_indices(indices: Any) -> None:
    x = np.arange(6.0)
    frozen = x.copy()
    frozen.flags.writeable = False
    for array in (x, x.reshape(2, 3), frozen, x[:0], x[2], np.array(3.0), x.tolist(), x.astype(object), None):
        for check in (True, False, 1, None):
            same(gs.tile_gather, array, indices, check_bounds=check)
            same(gs.tile_scatter, array, indices, 5, check_bounds=check)


def test_unusual_keywords() -> None:
    x, index = np.arange(6.0), np.array([1, 9])
    for how in ({"latency": n} for n in (None, 1, 10, 0, 11, 2**70, 1.0, True, np.int64(2))):
        same(gs.tile_gather, x, index, **how)
        same(gs.tile_scatter, x, index, 1.0, **how)
    for how in ({"padding": 1}, {"out": x}, {"mode": "clip"}, {"".join(["ma", "sk"]): None}, {"array": x}):
        same(gs.tile_gather, x, index, **how)
        same(gs.tile_scatter, x, index, 1.0, **how)
    same(gs.tile_scatter, x, index, 1.0, padding_value=1)
    for args in ((), (x,), (x, index), (x, index, 1.0), (x, index, 1.0, None)):
        assert outcome(gs.tile_gather, *args) == outcome(definition(gs.tile_gather), *args)
        assert outcome(gs.tile_scatter, *args) == outcome(definition(gs.tile_scatter), *args)


# ---- memory


def test_targets_that_cannot_be_written() -> None:
    frozen = np.zeros(5)
    frozen.flags.writeable = False
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(9), (5, 5), (8, 8))
    for array, where in ((frozen, [0]), (np.broadcast_to(0.0, 5), [0]), (overlapping, (np.arange(3), np.arange(3)))):
        expected = outcome(definition(gs.tile_scatter), array, where, 1.0)
        assert expected[0] is ValueError
        assert outcome(gs.tile_scatter, array, where, 1.0) == expected
        assert not array.any()


def test_arguments_that_overlap() -> None:
    for function in (gs.tile_scatter, definition(gs.tile_scatter)):
        x = np.arange(8)
        function(x, np.arange(1, 8), x[:7])  # as if the value had been copied
        assert x.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
        x = np.arange(8)
        function(x, x[::-1], x)
        assert x.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
        x = np.array([3, 0, 2, 1])
        function(x, x, 9)  # the indices are those before the call
        assert x.tolist() == [9, 9, 9, 9]
        flags = np.array([True, False, True, True])
        function(flags, np.array([1, 0, 1, 2]), False, mask=flags)
        assert flags.tolist() == [True, False, False, True]


def test_objects_keep_their_references() -> None:
    import sys

    x, index, mask = np.arange(6.0), np.array([1, 9]), np.ones(2, bool)
    held = [x, index, mask, x.dtype]
    before = [sys.getrefcount(each) for each in held]
    for _ in range(100):
        gs.tile_gather(x, (index,), mask=mask, padding_value=1.5)
        gs.tile_scatter(x, (index,), 1.5, mask=mask)
        outcome(gs.tile_scatter, x, index, 1.5, check_bounds=False)
    assert np.abs(np.subtract([sys.getrefcount(each) for each in held], before)).max() < 20  # the dtype is shared


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x, index, mask = torch.arange(6.0), torch.tensor([4, 9, -1]), torch.tensor([True, True, False])
    for own in (index, index.numpy()):
        assert gs.tile_gather(x, own, mask=mask, padding_value=2.5).tolist() == [4, 2.5, 2.5]
        assert gs.tile_gather(x.numpy(), own, mask=mask, padding_value=2.5).tolist() == [4, 2.5, 2.5]
        target = x.clone()
        assert gs.tile_scatter(target, own, 7, mask=mask) is None
        assert target.tolist() == [0, 1, 2, 3, 7, 5]
