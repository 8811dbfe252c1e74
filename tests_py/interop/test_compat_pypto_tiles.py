"""test_compat_pypto_tiles.py: every tile gives equal bytes, the budget is exact, and tile shapes have scopes."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading

import numpy as np
import pytest

import reference
from gatherscatter.compat import pypto

X, INDEX = np.arange(15, dtype="i4").reshape(3, 5), np.array([[0, 1, 2, 0], [1, 2, 0, 1], [2, 2, 1, 0]], "i4")
ANSWER = [[0, 6, 12, 3], [5, 11, 2, 8], [10, 11, 7, 3]]


@pytest.fixture(autouse=True)
def no_tile():
    pypto.reset_options()
    yield
    pypto.reset_options()


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- tiles: equal bytes, and an exact budget


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_every_legal_tile_gives_the_same_bytes(dim, layout):
    rng = np.random.default_rng(dim)
    x = rng.random((3, 4, 5))
    x = {"C": x, "F": np.asfortranarray(x), "reversed": x[::-1, :, ::-1]}[layout]
    index_shape = [3, 3, 4]
    index_shape[dim] = 6
    index = rng.integers(0, x.shape[dim], index_shape).astype("i4")
    expected = reference.gather_dim(x, dim, index).result
    for tile in itertools.product(*(range(1, n + 2) for n in index_shape)):
        with pypto.options(vec_tile_shapes=tile):
            same(pypto.gather(x, dim, index), expected)


def test_the_tile_is_what_the_work_is_walked_by(monkeypatch):
    """Results do not depend on the tile, so calls of the core are recorded; without a tile shape there are none."""
    walked, real = [], pypto._core.gather_tiled
    monkeypatch.setattr(pypto._core, "gather_tiled", lambda *args: walked.append(args[3:]) or real(*args))
    pypto.gather(X, 0, INDEX)
    for shape in [(2, 3), (1, 9), (7, 1)]:
        with pypto.options(vec_tile_shapes=shape):
            assert pypto.gather(X, 0, INDEX).tolist() == ANSWER
    assert walked == [(0, (2, 3)), (0, (1, 4)), (0, (3, 1))]


def test_tiles_far_beyond_the_tensor():
    for tile in [(2**31, 2**63 - 1), (10**30, 1)]:
        with pypto.options(vec_tile_shapes=tile):
            assert pypto.gather(X, 0, INDEX).tolist() == ANSWER


def walked_budget(shape, item, index_shape, index_item, dim, tile) -> int:
    """The most bytes that one tile accesses, computed by a loop over all tiles as the tiling guide describes."""
    most = 0
    for origin in itertools.product(*(range(0, n, t) for n, t in zip(index_shape, tile, strict=True))):
        moved = read = 1
        for d, o in enumerate(origin):
            moved *= min(tile[d], index_shape[d] - o)
            read *= shape[d] if d == dim else min(tile[d], shape[d] - o)
        most = max(most, read * item + moved * (index_item + item))
    return most


@pytest.mark.parametrize("seed", range(20))
def test_the_budget_is_that_of_the_largest_tile(seed):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    shape, dim = tuple(map(int, rng.integers(1, 7, rank))), int(rng.integers(0, rank))
    index_shape = tuple(int(rng.integers(1, 9 if d == dim else n + 1)) for d, n in enumerate(shape))
    tile = tuple(map(int, rng.integers(1, 9, rank)))
    budget = pypto.tile_budget(shape, np.int16, index_shape, np.dtype("i4"), dim, tile)
    assert budget.bytes == walked_budget(shape, 2, index_shape, 4, dim, tile)
    assert budget.bytes == budget.input_tile_elems * 2 + budget.index_tile_elems * (4 + 2)
    assert budget.fits
    assert pypto.tile_budget(shape, "i2", index_shape, "i4", dim, tile, budget.bytes).fits
    assert not pypto.tile_budget(shape, "i2", index_shape, "i4", dim, tile, budget.bytes - 1).fits


def test_a_tile_over_the_budget_names_the_bytes_and_the_budget():
    x, index = np.zeros((192, 64), "f4"), np.zeros((192, 64), "i8")  # 48 KiB and 96 KiB: exactly the budget together
    with pypto.options(vec_tile_shapes=[192, 64]):
        assert pypto.tile_budget(x.shape, x.dtype, index.shape, index.dtype, 0, (192, 64)).bytes == 196608
        same(pypto.gather(x, 0, index), x)
        wider = np.zeros((192, 65), "f4")
        same(pypto.gather(wider, 0, index), x)  # the tile is clipped, but the input is not: 64 columns are accessed
    with pypto.options(vec_tile_shapes=[193, 65]):
        same(pypto.gather(x, 0, index), x)  # clipped to the tensors
        with pytest.raises(ValueError, match=r"196\d+ bytes") as error:
            pypto.gather(np.zeros((193, 64), "f4"), 0, np.zeros((193, 64), "i8"))
        assert str(193 * 64 * 16) in str(error.value) and "196608" in str(error.value)
    same(pypto.gather(np.zeros((193, 64)), 0, np.zeros((193, 64), "i8")), np.zeros((193, 64)))  # no tile, no budget


def test_an_axis_that_is_too_long_for_any_tile():
    """dim is never divided: 1 MiB of it is over every budget, but without a tile shape it works."""
    x, index = np.arange(2**18, dtype="f4"), np.array([2**18 - 1], "i4")
    with pypto.options(vec_tile_shapes=[1]), pytest.raises(ValueError, match=f"{4 * 2**18 + 8} bytes"):
        pypto.gather(x, 0, index)
    assert pypto.gather(x, 0, index) == 2**18 - 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"dim": 2}, ValueError),
        ({"dim": 0.5}, TypeError),
        ({"index_shape": (3,)}, ValueError),
        ({"index_shape": (3, 6)}, ValueError),
        ({"index_shape": (3, 0)}, ValueError),
        ({"tile_shape": (1,)}, ValueError),
        ({"tile_shape": (1, 0)}, ValueError),
        ({"tile_shape": (1, 1.5)}, TypeError),
        ({"budget_bytes": "1"}, TypeError),
        ({"input_dtype": "no dtype"}, TypeError),
    ],
    ids=str,
)
def test_budget_errors(change, error):
    good = dict(input_shape=(3, 5), input_dtype="f4", index_shape=(3, 4), index_dtype="i4", dim=0, tile_shape=(2, 2))
    assert pypto.tile_budget(**good).fits
    with pytest.raises(error):
        pypto.tile_budget(**good | change)


def test_budget_takes_dtypes_of_every_library():
    torch = pytest.importorskip("torch")
    assert pypto.tile_budget((4,), torch.bfloat16, (4,), torch.int64, 0, (4,)).bytes == 4 * 2 + 4 * (8 + 2)
    assert pypto.tile_budget((4,), np.float16, (4,), np.int32, 0, (4,)).bytes == 4 * 2 + 4 * (4 + 2)


# ---- state: scopes, threads, contexts


def tile():
    return pypto.get_vec_tile_shapes()


@pytest.mark.parametrize("extent", [1.0, True, "8", None, [1, 1, 8, 8], np.array([1])])
def test_extents_are_integers(extent):
    pypto.set_vec_tile_shapes(4)
    for call in (lambda: pypto.set_vec_tile_shapes(extent), lambda: pypto.options(vec_tile_shapes=[extent])):
        with pytest.raises(TypeError, match="extent of the tile"):
            call()
    assert tile() == [4]
    pypto.set_vec_tile_shapes(np.int64(8))
    assert tile() == [8] and type(tile()[0]) is int


def test_none_is_set_at_first_and_after_a_reset():
    assert tile() == []
    pypto.set_vec_tile_shapes(1, 2)
    pypto.reset_options()
    assert tile() == []
    pypto.set_vec_tile_shapes(1, 2)
    pypto.set_vec_tile_shapes()
    assert tile() == []


def test_what_get_returns_is_a_copy():
    pypto.set_vec_tile_shapes(1, 2)
    tile().append(3)
    assert tile() == [1, 2]


def test_a_scope_undoes_what_was_set_inside():
    pypto.set_vec_tile_shapes(1)
    with pypto.options("label") as scope:
        assert tile() == [1] and scope.name == "label"
        pypto.set_vec_tile_shapes(2)
        with pypto.options(vec_tile_shapes=[3]):
            assert tile() == [3]
            pypto.reset_options()
            assert tile() == []
        assert tile() == [2]
    assert tile() == [1]


def test_a_scope_ends_with_an_error_too():
    pypto.set_vec_tile_shapes(1)
    with pytest.raises(ZeroDivisionError), pypto.options(vec_tile_shapes=(2,)):
        pypto.set_vec_tile_shapes(3)
        raise ZeroDivisionError
    assert tile() == [1]


def test_one_instance_may_be_entered_again():
    scope = pypto.options(vec_tile_shapes=[2])
    with scope:
        pypto.set_vec_tile_shapes(5)
        with scope:
            assert tile() == [2]
        assert tile() == [5]
    assert tile() == []
    with scope:
        assert tile() == [2]


def test_a_decorator():
    @pypto.options(vec_tile_shapes=[2, 2])
    def deeper(depth):
        """What it does."""
        before = tile()
        pypto.set_vec_tile_shapes(depth)
        return [before, *(deeper(depth - 1) if depth else []), tile()]

    assert deeper.__name__ == "deeper" and deeper.__doc__ == "What it does."
    assert deeper(1) == [[2, 2], [2, 2], [0], [1]]
    assert tile() == []


def test_a_decorated_generator_has_its_scope_and_its_caller_has_not():
    @pypto.options(vec_tile_shapes=[2])
    def steps():
        pypto.set_vec_tile_shapes(*tile(), 3)
        try:
            got = yield tile()
            yield (tile(), got)
        except ValueError:
            yield "caught", tile()
        return "end"

    pypto.set_vec_tile_shapes(7)
    a, b = steps(), steps()
    assert next(a) == [2, 3] and tile() == [7]
    pypto.set_vec_tile_shapes(8)
    assert next(b) == [2, 3] and tile() == [8]
    assert a.send("sent") == ([2, 3], "sent") and tile() == [8]
    assert b.throw(ValueError()) == ("caught", [2, 3]) and tile() == [8]
    with pytest.raises(StopIteration) as stop:
        next(a)
    assert stop.value.value == "end"
    b.close()
    assert list(b) == [] and tile() == [8]


def test_decorated_coroutines_and_asynchronous_generators():
    log = []

    @pypto.options(vec_tile_shapes=[2])
    async def work(name):
        for _ in range(3):
            log.append((name, tile()))
            pypto.set_vec_tile_shapes(*tile(), len(log))
            await asyncio.sleep(0)
        return name, len(tile())

    @pypto.options(vec_tile_shapes=[5])
    async def items():
        for _ in range(2):
            pypto.set_vec_tile_shapes(*tile(), 6)
            await asyncio.sleep(0)
            yield tile()

    async def main():
        pypto.set_vec_tile_shapes(9)
        assert await work("alone") == ("alone", 4) and tile() == [9]
        assert await asyncio.gather(work("a"), work("b")) == [("a", 4), ("b", 4)]
        seen = []
        async for item in items():
            seen.append((item, tile()))
        assert seen == [([5, 6], [9]), ([5, 6, 6], [9])]
        broken = items()
        await broken.__anext__()
        await broken.aclose()
        assert tile() == [9]

    asyncio.run(main())
    assert [name for name, _ in log[3:]] == ["a", "b"] * 3  # they alternated, and each kept its own tile shape
    assert tile() == []


def test_undecorated_tasks_are_apart():
    async def one(n):
        pypto.set_vec_tile_shapes(n)
        await asyncio.sleep(0)
        with pypto.options(vec_tile_shapes=[n, n]):
            await asyncio.sleep(0)
            assert tile() == [n, n]
        return tile()

    async def main():
        return await asyncio.gather(*map(one, range(1, 9)))

    assert asyncio.run(main()) == [[n] for n in range(1, 9)]
    assert tile() == []


def test_contexts_are_apart():
    pypto.set_vec_tile_shapes(1)
    context = contextvars.copy_context()
    context.run(pypto.set_vec_tile_shapes, 2)
    assert tile() == [1] and context.run(tile) == [2]


def test_threads_are_apart():
    """Threads that set tile shapes, enter one shared scope and gather at once; each has its own tile shape only."""
    shared = pypto.options(vec_tile_shapes=[1, 1])
    together, wrong = threading.Barrier(8), []

    def run(n):
        together.wait()
        for _ in range(50):
            pypto.set_vec_tile_shapes(n, n)
            with shared:
                if tile() != [1, 1] or pypto.gather(X, 0, INDEX).tolist() != ANSWER:
                    wrong.append(n)
            if tile() != [n, n]:
                wrong.append(n)

    pypto.set_vec_tile_shapes(99, 99)
    threads = [threading.Thread(target=run, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and tile() == [99, 99]


def test_a_scope_left_where_it_was_not_entered_ends_without_a_tile():
    scope = pypto.options(vec_tile_shapes=[2])
    context = contextvars.Context()
    context.run(scope.__enter__)
    scope.__exit__(None, None, None)
    assert tile() == [] and context.run(tile) == [2]
