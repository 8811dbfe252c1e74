"""torch_calls.py: calls of every operator as functions of the tensors that have gradients, for the tests with torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import gatherscatter as gs
from gatherscatter.compat import mindspore

Tensors = tuple[Any, ...]


class TorchCall(NamedTuple):
    """A function of tensors of these shapes; the indices are constants of it."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    is_linear: bool = True  # in all of its tensors together, so that it has no kinks and takes complex numbers


def index(torch: Any, *values: Any) -> Any:
    return torch.tensor(values if len(values) > 1 else values[0])


def gathers(torch: Any) -> Iterator[TorchCall]:
    """Every operator that gathers, with every rule for bounds and masks."""
    along = index(torch, [[0, -1, 2, 3], [3, 3, -4, 0], [1, 1, 1, 2]])
    wild = index(torch, [[0, -9, 2, 3], [7, 3, -4, 0], [1, 1, 4, 2]])
    rows, batch = index(torch, [2, 0, 2, -1]), index(torch, [[0, 2], [1, 1], [2, -1], [0, 0]])
    mask = index(torch, [[True, False, True, True], [True, True, True, True], [False, True, True, False]])
    x = ((4, 5),)

    def call(name: str, function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...] = x) -> TorchCall:
        return TorchCall(name, function, shapes)

    yield call("gather dim", lambda a: gs.gather(a, 0, along))
    yield call("gather dim of a scalar", lambda a: gs.gather(a, 0, torch.tensor(0)), ((),))
    yield call("gather nothing", lambda a: gs.gather(a, 0, torch.zeros((0, 3), dtype=torch.int64)))
    for bounds in ("fill", "clip", "wrap"):
        yield call(f"gather dim {bounds}", lambda a, b=bounds: gs.gather(a, 0, wild, bounds=b))
        yield call(f"gather slices {bounds}", lambda a, b=bounds: gs.gather(a, wild, axis=1, bounds=b))
        yield call(f"gather_nd {bounds}", lambda a, b=bounds: gs.gather_nd(a, wild[:, :2], bounds=b))
        yield call(f"take {bounds}", lambda a, b=bounds: gs.take(a, wild, axis=0, bounds=b))
        yield call(
            f"take_along_axis {bounds}", lambda a, b=bounds: gs.take_along_axis(a, wild[:1], 0, bounds=b), ((4, 4),)
        )
    for bounds in ("unchecked", "deferred"):
        yield call(f"gather dim {bounds}", lambda a, b=bounds: gs.gather(a, 0, along, bounds=b))
    yield call("gather masked", lambda a: gs.gather(a, 0, wild, mask=mask, bounds="clip", fill_value=3.0))
    yield call("gather slices masked", lambda a: gs.gather(a, along, axis=0, mask=mask[0], fill_value=3.0))
    yield call(
        "gather with a fill value", lambda a, f: gs.gather(a, wild, axis=1, bounds="fill", fill_value=f), (*x, ())
    )
    yield call("gather slices", lambda a: gs.gather(a, rows, axis=0))
    yield call("gather slices of axis 1", lambda a: gs.gather(a, along, axis=1))
    yield call("gather slices with a batch", lambda a: gs.gather(a, batch, axis=1, batch_dims=1), ((4, 3, 2),))
    yield call("gather_nd elements", lambda a: gs.gather_nd(a, along[:, :2]))
    yield call("gather_nd slices", lambda a: gs.gather_nd(a, rows[:, None]))
    yield call("gather_nd with a batch", lambda a: gs.gather_nd(a, batch[:, :, None], batch_dims=1), ((4, 3, 2),))
    yield call("gather_nd of no coordinates", lambda a: gs.gather_nd(a, torch.zeros((2, 0), dtype=torch.int64)))
    yield call("take", lambda a: gs.take(a, along, axis=1))
    yield call("take flat", lambda a: gs.take(a, along * 4))
    yield call("take from a transposed tensor", lambda a: gs.take(a.T, along * 4))
    for mode in ("clip", "wrap"):
        yield call(f"take mode {mode}", lambda a, m=mode: gs.take(a, wild * 3, mode=m))
    yield call("take_along_axis", lambda a: gs.take_along_axis(a, along[:, :1], 1), ((3, 5),))
    yield call("take_along_axis broadcast", lambda a: gs.take_along_axis(a, along, 1), ((1, 5),))
    yield call("take_along_axis flat", lambda a: gs.take_along_axis(a, rows, None))
    yield call("tile_gather", lambda a: gs.tile_gather(a, (wild, torch.arange(4))))
    yield call(
        "tile_gather with padding",
        lambda a, p: gs.tile_gather(a, (wild, torch.arange(4)), mask=mask, padding_value=p),
        (*x, (3, 1)),
    )
    yield call("tile_gather of a scalar", lambda a: gs.tile_gather(a, ()), ((),))
    yield call("mindspore dim", lambda a: mindspore.gather(a, 0, along))
    yield call("mindspore slices", lambda a: mindspore.gather(a, rows % 4, 0))
    yield call("gather one row by number", lambda a: gs.gather(a, 2, axis=0))
    yield call("take one column by number", lambda a: gs.take(a, -1, axis=1))
    yield call("a list as index", lambda a: gs.gather(a, [1, 1, 0], axis=0))
    yield call("a NumPy index", lambda a: gs.take(a, np.array([[1, 1], [0, 3]], np.uint16), axis=0))
    yield call("roll", lambda a: gs.roll(a, 2, axis=0))
    yield call("repeat", lambda a: gs.repeat(a, [2, 0, 1, 3], axis=0))
    yield call("compress", lambda a: gs.compress([True, False, True], a, axis=0))


def scatters(torch: Any, reduce: str | None, include_self: bool) -> Iterator[TorchCall]:
    """Every form of a scatter with one way to combine values."""
    along = index(torch, [[0, -1, 2, 3], [3, 3, -4, 0], [0, 1, 1, 2]])
    wild = index(torch, [[0, -9, 2, 3], [7, 3, -4, 0], [0, 1, 4, 2]])
    rows, batch = index(torch, [2, 0, 2, -1]), index(torch, [[0, 2], [1, 1], [2, -1], [0, 0]])
    mask = index(torch, [[True, False, True, True], [True, True, True, True], [False, True, True, False]])
    words: Any = {"reduce": reduce, "include_self": include_self}
    is_linear = reduce in (None, "add", "mean")

    def call(name: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> TorchCall:
        return TorchCall(f"{name}, {reduce}{'' if include_self else ' without self'}", function, shapes, is_linear)

    yield call("scatter dim", lambda a, s: gs.scatter(a, 0, along, s, **words), (4, 5), (3, 4))
    yield call("scatter dim of a scalar", lambda a, s: gs.scatter(a, 0, torch.tensor(0), s, **words), (), ())
    yield call("scatter dim, larger source", lambda a, s: gs.scatter(a, 0, along, s, **words), (4, 5), (4, 6))
    for bounds in ("drop", "clip", "wrap"):
        yield call(
            f"scatter dim {bounds}", lambda a, s, b=bounds: gs.scatter(a, 0, wild, s, bounds=b, **words), (4, 5), (3, 4)
        )
    yield call("scatter masked", lambda a, s: gs.scatter(a, 0, along, s, mask=mask, **words), (4, 5), (3, 4))
    yield call("scatter slices", lambda a, s: gs.scatter(a, rows, s, **words), (4, 3), (4, 3))
    yield call("scatter one row by number", lambda a, s: gs.scatter(a, 1, s, axis=0, **words), (4, 3), (3,))
    yield call("scatter slices of axis 1", lambda a, s: gs.scatter(a, rows, s, axis=1, **words), (2, 3), (2, 4))
    yield call(
        "scatter slices with a batch",
        lambda a, s: gs.scatter(a, batch, s, axis=1, batch_dims=1, **words),
        (4, 3, 2),
        (4, 2, 2),
    )
    yield call("scatter_nd", lambda a, s: gs.scatter_nd(a, along[:, :2], s, **words), (4, 5), (3,))
    yield call("scatter_nd slices", lambda a, s: gs.scatter_nd(a, rows[:, None], s, **words), (4, 3), (4, 3))
    if is_linear or reduce == "mul":  # one value of several points is a tie, where a minimum has a kink
        yield call("scatter dim, one row", lambda a, s: gs.scatter(a, 0, along, s, **words), (4, 5), (4,))
        yield call("scatter dim, one value", lambda a, s: gs.scatter(a, 0, along, s, **words), (4, 5), ())
        yield call("scatter slices, one row", lambda a, s: gs.scatter(a, rows, s, **words), (4, 3), (3,))
    if reduce is None:
        yield call("scatter first", lambda a, s: gs.scatter(a, 0, along, s, duplicates="first"), (4, 5), (3, 4))
        unique = index(torch, [[0, 1, 2, 3], [3, 2, 1, 0]])
        yield call("scatter error", lambda a, s: gs.scatter(a, 0, unique, s, duplicates="error"), (4, 5), (2, 4))


def writes(torch: Any) -> Iterator[TorchCall]:
    """Every operator that works in place, on a copy of its first tensor."""
    along = index(torch, [[0, 1, 2, 3, 0], [3, 3, 0, 0, 1], [0, 1, 1, 2, 1]])
    truth = np.arange(20).reshape(4, 5) % 3 != 1

    def call(name: str, write: Callable[..., Any], *shapes: tuple[int, ...]) -> TorchCall:
        def function(a: Any, *values: Any) -> Any:
            target = a.clone()
            assert write(target, *values) is None
            return target

        return TorchCall(name, function, shapes)

    yield call("put", lambda t, v: gs.put(t, [0, 7, 7, -1], v), (4, 5), (4,))
    yield call("put repeated", lambda t, v: gs.put(t, [0, 7, 7, -1, 3], v), (4, 5), (2,))
    yield call("put clip", lambda t, v: gs.put(t, [0, 70, -7], v, mode="clip"), (4, 5), (3,))
    yield call("put a number", lambda t: gs.put(t, [0, 7], 2.5), (4, 5))
    yield call("put_along_axis", lambda t, v: gs.put_along_axis(t, along, v, 0), (4, 5), (3, 5))
    yield call("put_along_axis broadcast", lambda t, v: gs.put_along_axis(t, along[:1], v, 0), (4, 5), (5,))
    yield call("put_along_axis flat", lambda t, v: gs.put_along_axis(t, along[0] * 5, v, None), (4, 5), (5,))
    yield call("putmask", lambda t, v: gs.putmask(t, truth, v), (4, 5), (4, 5))
    yield call("putmask repeated", lambda t, v: gs.putmask(t, truth, v), (4, 5), (3,))
    yield call("place", lambda t, v: gs.place(t, truth, v), (4, 5), (3,))
    yield call("place everywhere", lambda t, v: gs.place(t, np.ones((4, 5), bool), v), (4, 5), (20,))
    yield call("tile_scatter", lambda t, v: gs.tile_scatter(t, (along * 2, torch.arange(5)), v), (4, 5), (3, 5))
    yield call(
        "tile_scatter masked", lambda t, v: gs.tile_scatter(t, (along[0], torch.arange(5)), v, mask=True), (4, 5), (1,)
    )


def values(torch: Any, call: TorchCall, dtype: Any, requires_grad: bool = True) -> Tensors:
    """Random tensors for a call, no two values of which are close to each other."""
    generator = np.random.default_rng(5)
    total = sum(int(np.prod(shape)) for shape in call.shapes)
    numbers = generator.permutation(total) / 4 - total / 9 + generator.random(total) / 16
    made, begin = [], 0
    for shape in call.shapes:
        end = begin + int(np.prod(shape))
        part = torch.from_numpy(numbers[begin:end].reshape(shape)).to(dtype)
        if dtype.is_complex:
            part = part * (1 + 0.5j)
        made.append(part.requires_grad_(requires_grad))
        begin = end
    return tuple(made)
