"""test_small_words.py: small calls with masks, fill values, reductions and other words do what the definitions do."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from small_arguments import INDEX_TYPES, ITEMS, definition, outcome, values

NUMBERS = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
REDUCTIONS = [None, "add", "sum", "mul", "prod", "min", "amax", "max", "mean"]


def same(op: Any, *args: Any, copies: tuple[int, ...] = (), **kwargs: Any) -> tuple[Any, ...]:
    """The outcome of a call, which must be that of the definition, twice; arguments `copies` are written to."""
    shown = []
    for call in (definition(op), op, op):
        own = [each.copy() if at in copies else each for at, each in enumerate(args)]
        out = kwargs["out"].copy() if "out" in kwargs else None
        words = {**kwargs, **({} if out is None else {"out": out})}
        shown.append(
            (outcome(call, *own, **words), [own[at].tobytes() for at in copies], out is not None and out.tobytes())
        )
    assert shown[0] == shown[1] == shown[2], (op, args, kwargs)
    first: tuple[Any, ...] = shown[0][0]
    return first


def laid_out(rng: np.random.Generator, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values of an array in another layout of memory."""
    kind = rng.integers(5)
    if kind == 0 and array.ndim:
        return array[::-1].copy()[::-1]
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2 and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if kind == 3:
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        raw[...] = array
        return raw
    return array


def mask_for(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    kind = rng.integers(8)
    mask = rng.random(shape) < 0.6
    if kind == 0:
        return None
    if kind == 1 and shape:
        return mask[..., :1]
    if kind == 2 and shape:
        return mask[0]
    if kind == 3:
        return [mask.astype("u1"), mask.tolist(), np.zeros((*shape, 2), bool)][rng.integers(3)]
    return laid_out(rng, mask)


def test_gathers_at_random() -> None:
    rng = np.random.default_rng(41)
    for _ in range(1500):
        dtype = rng.choice(np.array([*ITEMS[:-1], *NUMBERS], object))
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 5, rank))
        x = laid_out(rng, values(dtype, int(np.prod(shape))).reshape(shape))
        axis = int(rng.integers(-rank, rank))
        n = shape[axis]
        along = rng.random() < 0.5
        points = tuple(shape) if along else tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 3)))
        spread = 0 if rng.random() < 0.4 else 2
        index = rng.integers(-n - spread, n + spread, points).astype(rng.choice(INDEX_TYPES[:4]))
        words: dict[str, Any] = {}
        if rng.random() < 0.6:
            words["bounds"] = rng.choice(["raise", "fill", "clip", "wrap", "deferred", "drop"])
            words["bounds"] = str(words["bounds"])
        if rng.random() < 0.3:
            words["negative"] = str(rng.choice(["from_end", "out_of_bounds"]))
        if rng.random() < 0.6:
            words["mask"] = mask_for(rng, points)
        if rng.random() < 0.5:
            fills = [0, 1, -1, 2.5, True, None, float("nan"), 1e300, np.float32(2), np.int64(7), 300, "x", np.array(3)]
            words["fill_value"] = fills[rng.integers(len(fills))]
        if along:
            same(gs.gather, x, axis, laid_out(rng, index), **words)
            same(gs.take_along_axis, x, laid_out(rng, index), axis, **words)
        else:
            same(gs.gather, x, laid_out(rng, index), axis=axis, **words)
            same(gs.take, x, laid_out(rng, index), axis=axis, **words)
        if rank == 1:
            same(gs.gather_nd, x, index.reshape(*points, 1), **words)


def test_gathers_into_an_array() -> None:
    rng = np.random.default_rng(5)
    x = np.arange(10.0)
    for turn in range(200):
        index = rng.integers(-12, 12, 6)
        out = np.full(6, 9.0)
        if turn % 5 == 0:
            out = np.full(12, 9.0)[::2]
        if turn % 7 == 0:
            out.flags.writeable = False
        mask = rng.random(6) < 0.5
        for words in ({"mask": mask}, {"bounds": "fill"}, {"bounds": "fill", "mask": mask, "fill_value": -1}):
            same(gs.gather, x, 0, index, out=out, **words)
    shared = np.zeros(24, np.uint8)
    x, out = shared[:16].view(float), shared[:16].view(float)
    hidden = shared.view(bool)[:2]
    for op in (gs.gather, definition(gs.gather)):
        shared[:] = np.arange(24) % 2
        op(x, 0, np.array([1, 0]), mask=hidden, out=out)
        assert shared[16:].tolist() == [0, 1] * 4


def test_fill_values_by_hand() -> None:
    x, index = np.array([5, 6, 7], "i4"), np.array([2, 3, -4, 0])
    mask = np.array([True, True, True, False])
    for _ in range(2):
        assert gs.gather(x, 0, index, bounds="fill").tolist() == [7, 0, 0, 5]
        assert gs.gather(x, 0, index, bounds="fill", fill_value=-2).tolist() == [7, -2, -2, 5]
        assert gs.gather(x, 0, index, bounds="fill", mask=mask, fill_value=9).tolist() == [7, 9, 9, 9]
        assert gs.gather(x, 0, np.array([2, 1, 0, 99]), mask=mask).tolist() == [7, 6, 5, 0]
        rows = gs.gather(np.arange(6).reshape(3, 2), index, axis=0, bounds="fill", fill_value=4)
        assert rows.tolist() == [[4, 5], [4, 4], [4, 4], [0, 1]]
        days = np.array(["2001-01-01"], "M8[D]")
        assert np.isnat(gs.gather(days, 0, np.array([3]), bounds="fill")[0])


def reduced(target: np.ndarray[Any, Any], index: Any, source: Any, mask: Any, reduce: Any, include_self: bool) -> Any:
    """A scatter into one axis as a loop, in float64 or int64."""
    result = target.copy()
    for place in range(len(target)):
        found = [source[k] for k in range(len(index)) if index[k] % len(target) == place and (mask is None or mask[k])]
        if not found:
            continue
        if reduce is None:
            result[place] = found[-1]
            continue
        all_values = [target[place], *found] if include_self else found
        total = all_values[0]
        for value in all_values[1:]:
            total = {"add": total + value, "mul": total * value, "min": min(total, value), "max": max(total, value)}[
                "add" if reduce == "mean" else reduce
            ]
        result[place] = total / len(all_values) if reduce == "mean" else total
    return result


@pytest.mark.parametrize("reduce", [None, "add", "mul", "min", "max", "mean"])
def test_reductions_by_hand(reduce: str | None) -> None:
    rng = np.random.default_rng(11)
    for turn in range(60):
        target, source = rng.integers(-9, 9, 7).astype("f8"), rng.integers(-9, 9, 12).astype("f8")
        index = rng.integers(-7, 7, 12)
        mask = rng.random(12) < 0.5 if turn % 2 else None
        include_self = reduce is None or turn % 3 > 0
        words: dict[str, Any] = {"reduce": reduce, "mask": mask, "include_self": include_self}
        expected = reduced(target, index, source, mask, reduce, include_self)
        assert gs.scatter(target, 0, index, source, **words).tolist() == expected.tolist()
        assert gs.scatter(target, index, source, axis=0, **words).tolist() == expected.tolist()
        out = np.zeros(7)
        assert gs.scatter(target, 0, index, source, out=out, **words) is out
        assert out.tolist() == expected.tolist()
        assert gs.scatter(target, 0, index, source, out=target, **words) is target
        assert target.tolist() == expected.tolist()


def test_scatters_at_random() -> None:
    rng = np.random.default_rng(43)
    for _ in range(2000):
        dtype = str(rng.choice(NUMBERS)) if rng.random() < 0.8 else rng.choice(np.array(ITEMS[:-1], object))
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 5, rank))
        x = values(dtype, int(np.prod(shape))).reshape(shape)
        if np.dtype(dtype).kind in "fc" and rng.random() < 0.3:
            x = x.copy()
            x.flat[0] = np.nan
        x = x if rng.random() < 0.7 else laid_out(rng, x)
        axis = int(rng.integers(-rank, rank))
        n = shape[axis]
        along = rng.random() < 0.5
        spread = 0 if rng.random() < 0.5 else 2
        points = shape if along else tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 3)))
        index = rng.integers(-n - spread, n + spread, points).astype(rng.choice(INDEX_TYPES[:4]))
        front = axis % rank
        result = points if along else (*shape[:front], *points, *shape[front + 1 :])
        source: Any = values(dtype, int(np.prod(result)) + 3)[3:].reshape(result)
        pick = rng.random()
        if pick < 0.1:
            source = source[..., :1]
        elif pick < 0.2:
            source = [1, 2.5, True, -1, 300][rng.integers(5)]
        elif pick < 0.25:
            source = np.ones(result, "f8" if np.dtype(dtype) != np.dtype("f8") else "f4")
        words: dict[str, Any] = {}
        if rng.random() < 0.8:
            words["reduce"] = REDUCTIONS[rng.integers(len(REDUCTIONS))]
        if rng.random() < 0.3:
            words["include_self"] = bool(rng.random() < 0.5)
        if rng.random() < 0.2:
            words["duplicates"] = str(rng.choice(["last", "first", "error"]))
        if rng.random() < 0.4:
            words["bounds"] = str(rng.choice(["raise", "drop", "clip", "wrap", "deferred", "fill"]))
        if rng.random() < 0.2:
            words["negative"] = str(rng.choice(["from_end", "out_of_bounds"]))
        if rng.random() < 0.4:
            words["mask"] = mask_for(rng, points)
        kind = rng.integers(4)
        if kind == 1:
            words["out"] = np.zeros(shape, dtype)
        elif kind == 2:
            words["out"] = laid_out(rng, np.zeros(shape, dtype))
        arguments = (x, axis, index, source) if along else (x, index, source)
        same(gs.scatter, *arguments, **({} if along else {"axis": axis}), **words)
        own = [x.copy(), x.copy()]  # in place
        for call, target in zip((gs.scatter, definition(gs.scatter)), own, strict=True):
            words["out"] = target
            outcome(call, target, *arguments[1:], **({} if along else {"axis": axis}), **words)
        assert own[0].tobytes() == own[1].tobytes()
        some = {name: word for name, word in words.items() if name in ("bounds", "negative", "mask")}
        if along:
            same(gs.put_along_axis, x, index, source, axis, copies=(0,), **some)
        if rank == 1:
            some = {name: word for name, word in words.items() if name != "out"}
            same(gs.scatter_nd, x, index.reshape(*points, 1), source, **some)


def test_words_that_are_not_interned() -> None:
    x, index, source = np.arange(4.0), np.array([1, 1]), np.ones(2)
    word = "".join(["a", "dd"])
    assert gs.scatter(x, 0, index, source, reduce=word).tolist() == [0, 3, 2, 3]
    assert gs.gather(x, 0, np.array([9]), bounds="".join(["fi", "ll"])).tolist() == [0]
    assert gs.gather(x, 0, index, **{"".join(["ma", "sk"]): np.array([True, False])}).tolist() == [1, 0]


@pytest.mark.parametrize(
    "words",
    [
        {"reduce": "Add"},
        {"reduce": 1},
        {"include_self": False},
        {"include_self": 1},
        {"reduce": "add", "duplicates": "first"},
        {"duplicates": "none"},
        {"bounds": "fill"},
        {"bounds": None},
        {"negative": "no"},
        {"fill_value": 1},
        {"mask": np.zeros(3, bool)},
        {"mask": np.zeros(2)},
        {"mask": [True, False]},
        {"mask": np.zeros((1, 2), bool)},
        {"mask": np.ma.masked_array([True, False])},
        {"wrong": 1},
    ],
    ids=str,
)
def test_unusual_words(words: dict[str, Any]) -> None:
    x, index, source = np.arange(4.0), np.array([1, 1]), np.ones(2)
    same(gs.scatter, x, 0, index, source, **words)
    same(gs.gather, x, 0, index, **{name: word for name, word in words.items() if name in ("bounds", "mask")})
    same(gs.gather, x, 0, index, fill_value=1, **{name: word for name, word in words.items() if name == "mask"})
    same(gs.take, x, index, mode="clip", **{name: word for name, word in words.items() if name in ("bounds", "mask")})


def test_a_bad_index_leaves_the_target_untouched() -> None:
    x, out = np.arange(4.0), np.full(4, 7.0)
    index, source = np.array([0, 1, 9]), np.ones(3)
    for reduce in ("add", "mean", None):
        with pytest.raises(gs.OutOfBoundsError, match="index 9"):
            gs.scatter(x, 0, index, source, reduce=reduce, out=x)
        with pytest.raises(gs.OutOfBoundsError, match="index 9"):
            gs.scatter(x, 0, index, source, reduce=reduce, out=out)
    assert x.tolist() == [0, 1, 2, 3] and out.tolist() == [7] * 4
    hidden = np.array([True, True, False])
    assert gs.scatter(x, 0, index, source, reduce="add", mask=hidden, out=x).tolist() == [1, 2, 2, 3]


def test_overlap() -> None:
    for reduce in (None, "add"):
        for op in (gs.scatter, definition(gs.scatter)):
            x = np.arange(6.0)
            op(x, 0, np.array([0, 1, 2]), x[3:], reduce=reduce, out=x)  # apart, one allocation
            op(x, 0, np.array([0, 1, 2]), x[1:4], reduce=reduce, out=x)
            op(x[:3], 0, np.array([0, 1, 2]), x[3:], reduce=reduce, out=x[1:4])
            bits = x.view(bool)[:3]
            op(x, 0, np.array([0, 1, 2]), np.ones(3), reduce=reduce, mask=bits, out=x)
            if op is gs.scatter:
                first = x.tobytes()
        assert x.tobytes() == first


def test_threads_have_calls_of_their_own() -> None:
    x, index, source = np.zeros(50), np.arange(40) % 7, np.ones(40)
    expected = gs.scatter(x, 0, index, source, reduce="add").tobytes()
    wrong: list[int] = []

    def run(seed: int) -> None:
        for turn in range(300):
            mask = np.arange(40) % (seed + 2) == 0
            if gs.scatter(x, 0, index, source, reduce="add").tobytes() != expected:
                wrong.append(turn)
            if gs.gather(source, 0, index, mask=mask, fill_value=seed).tolist() != np.where(mask, 1, seed).tolist():
                wrong.append(turn)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x, index, source = torch.arange(5.0), torch.tensor([1, 1, -1]), torch.tensor([1.0, 2.0, 3.0])
    mask = torch.tensor([True, False, True])
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool):
        a, s = x.to(dtype), source.to(dtype)
        for reduce in (None, "add", "mul", "max", "mean"):
            for words in ({}, {"mask": mask}, {"mask": mask.numpy()}, {"bounds": "drop"}):
                shown = []
                for call in (definition(gs.scatter), gs.scatter, gs.scatter):
                    try:
                        shown.append(call(a, 0, index, s, reduce=reduce, **words).tolist())
                    except TypeError as error:
                        shown.append([str(error)])
                assert shown[0] == shown[1] == shown[2]
        for words in ({"mask": mask}, {"bounds": "fill", "mask": mask}, {"bounds": "fill", "fill_value": 1}):
            places = torch.tensor([1, 9, 0]) if "bounds" in words else index
            results = [call(a, 0, places, **words) for call in (definition(gs.gather), gs.gather, gs.gather)]
            assert all(type(each) is torch.Tensor and each.dtype is dtype for each in results)
            assert results[0].tolist() == results[1].tolist() == results[2].tolist()
    out = torch.zeros(5)
    before = out._version
    assert gs.scatter(x, 0, index, source, reduce="add", out=out) is out
    assert out.tolist() == [0, 4, 2, 3, 7] and out._version > before
    live = x.clone().requires_grad_()
    assert gs.gather(live, 0, index, mask=mask).requires_grad
    assert gs.scatter(live, 0, index, source, reduce="add").requires_grad
    assert gs.scatter(x, 0, index, source.clone().requires_grad_(), mask=mask).requires_grad
    plain = gs.scatter(live, 0, index, source, reduce="add")
    made = gs.scatter.bind(live, 0, index, source, reduce="add").run()
    assert plain.tolist() == made.tolist() and type(plain.grad_fn) is type(made.grad_fn)
