"""test_small_picks.py: small calls of compress, repeat, roll, putmask and place do as their definitions and NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from small_arguments import ITEMS, definition, outcome, values

NUMPYS = {gs.compress: np.compress, gs.repeat: np.repeat, gs.roll: np.roll, gs.putmask: np.putmask, gs.place: np.place}


def same(op: Any, *args: Any, written: int | None = None, **kwargs: Any) -> None:
    """Compares a call with the definition, twice, and with NumPy; argument `written` is written to."""
    shown = []
    for call in (NUMPYS[op], definition(op), op, op):
        own = [each.copy("K") if at == written else each for at, each in enumerate(args)]
        result = outcome(call, *own, **kwargs)
        if written is not None and len(result) == 2 and result[0] in (type(None), tuple):
            result = (None, "")  # some definitions return the array, and the operator returns None
        if written is not None and len(result) == 5:
            result = (None, "")
        shown.append((result, None if written is None else own[written].tobytes()))
    assert shown[1] == shown[2] == shown[3], (op, args, kwargs)
    if not issubclass(shown[0][0][0] if isinstance(shown[0][0][0], type) else int, Exception):
        assert (shown[0][0][:4], shown[0][1]) == (shown[1][0][:4], shown[1][1]), (op, args, kwargs)  # not the layout


def sources(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    dtype = rng.choice(np.array([*ITEMS[:-1], "?", "f4"], object))
    rank = int(rng.integers(0, 4))
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    x = values(dtype, int(np.prod(shape))).reshape(shape)
    if np.dtype(dtype) == bool:
        x = x > 0
    return [x, x[..., ::-1] if rank else x, np.asfortranarray(x)][rng.integers(3)]


def drawn_axis(rng: np.random.Generator, x: np.ndarray[Any, Any]) -> tuple[int | None, int]:
    """An axis, which may be out of bounds, or None, and the length along it."""
    axis = [None, *range(-x.ndim - 1, x.ndim + 1)][rng.integers(2 * x.ndim + 3)]
    return axis, x.size if axis is None or not -x.ndim <= axis < x.ndim else x.shape[axis]


def test_compress_at_random() -> None:
    rng = np.random.default_rng(1)
    for _ in range(600):
        x = sources(rng)
        axis, n = drawn_axis(rng, x)
        condition: Any = rng.random(max(n + int(rng.integers(-1, 2)), 0)) < 0.6
        condition = [condition, condition[::-1], condition.tolist(), condition.astype(int), condition][rng.integers(5)]
        same(gs.compress, condition, x, axis)
        same(gs.compress, condition, x, axis=axis)


def test_repeat_at_random() -> None:
    rng = np.random.default_rng(2)
    for _ in range(600):
        x = sources(rng)
        axis, n = drawn_axis(rng, x)
        counts: Any = rng.integers(0, 4, n)
        counts = [counts, counts.tolist(), counts.astype("i1"), 2, 0, -1, True, 100, np.array([3]), counts[::-1]][
            rng.integers(10)
        ]
        same(gs.repeat, x, counts, axis)
        same(gs.repeat, x, counts, axis=axis)
    same(gs.repeat, np.arange(3), np.array([1, -1, 2]))
    same(gs.repeat, np.arange(3), 2**70)


def test_roll_at_random() -> None:
    rng = np.random.default_rng(3)
    for _ in range(600):
        x = sources(rng)
        axis, _ = drawn_axis(rng, x)
        shift: Any = [0, 1, -1, 5, -300, 2**62, True, np.int64(2), (1,)][rng.integers(9)]
        same(gs.roll, x, shift, axis)
        same(gs.roll, x, shift, axis=axis)
    for n in (0, 1, 1023, 1024, 1025, 4095, 4096, 4097):
        same(gs.roll, np.arange(n), 3)
        same(gs.roll, np.arange(n), 3, 0)


@pytest.mark.parametrize("op", [gs.putmask, gs.place])
def test_writes_at_random(op: Any) -> None:
    rng = np.random.default_rng(4)
    for _ in range(1500):
        x = sources(rng)
        mask: Any = rng.random(x.shape) < rng.choice([0.2, 0.6, 1.1, -1])
        mask = [mask, mask.astype("u1"), mask.tolist(), mask.ravel(), np.asfortranarray(mask), mask.ravel()[1:]][
            rng.integers(6)
        ]
        count = int(rng.choice([0, 1, 2, x.size, x.size + 2]))
        source: Any = values(x.dtype, count + 1)[1:] if x.dtype != bool else rng.random(count) < 0.5
        source = [source, source[::-1], 1, 1.5, True, source.tolist(), source.astype(object), source.reshape(1, -1)][
            rng.choice(8, p=[0.5, 0.1, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1])
        ]
        same(op, x, mask, source, written=0)


@pytest.mark.parametrize("op", [gs.putmask, gs.place])
def test_writes_by_hand(op: Any) -> None:
    for _ in range(2):
        x = np.arange(5.0)
        assert op(x, np.array([False, True, True, False, True]), np.array([7.0, 8.0])) is None
        assert x.tolist() == ([0, 8, 7, 3, 7] if op is gs.putmask else [0, 7, 8, 3, 7])
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        op(frozen, np.ones(3, bool), frozen)


@pytest.mark.parametrize("op", [gs.putmask, gs.place])
def test_overlap(op: Any) -> None:
    results = []
    for call in (op, definition(op)):
        x = np.arange(8.0)
        call(x[:6], np.array([True, False] * 3), x[1:7])
        call(x[:4], np.array([True, False, True, True]), x[::-1][:4])
        bits = x.view(bool)[:8].copy()
        call(x, bits, x)
        call(x[:1], x.view(bool)[:1], x[1:2])
        results.append(x.tobytes())
    assert results[0] == results[1]


def test_other_classes_and_many_points() -> None:
    masked = np.ma.masked_equal(np.arange(6), 2)
    assert type(gs.roll(masked, 1)) is np.ma.MaskedArray
    assert type(gs.repeat(np.arange(3).view(np.recarray), 2)) is np.recarray
    for n in (255, 256, 257, 1024, 1025, 2000, 4096, 4097, 10_000):
        x = np.arange(n)
        mask = x % 3 == 0
        same(gs.compress, mask, x)
        same(gs.repeat, x, mask.astype(int))
        same(gs.putmask, x, mask, np.array([1, 2]), written=0)
        same(gs.place, x, mask, np.array([1, 2]), written=0)
        same(gs.putmask, x, mask, -x, written=0)


X, ROWS, V, M = np.arange(10.0), np.array([3, 1, 4]), np.ones(3), np.array([True, False, True])
ALL = np.arange(10) % 2 == 0
WITHOUT_A_FRAME = {
    "mask": lambda: gs.gather(X, ROWS, axis=0, mask=M, bounds="fill"),
    "fill": lambda: gs.gather(X, ROWS, axis=0, bounds="fill", fill_value=2.0),
    "drop": lambda: gs.scatter(X, 0, ROWS, V, bounds="drop"),
    "add": lambda: gs.scatter(X, 0, ROWS, V, reduce="add"),
    "mean": lambda: gs.scatter(X, 0, ROWS, V, reduce="mean", include_self=False),
    "masked scatter": lambda: gs.scatter(X, 0, ROWS, V, mask=M),
    "out": lambda: gs.scatter(X, 0, ROWS, V, out=np.empty(10)),
    "take_along_axis": lambda: gs.take_along_axis(X, ROWS, 0, mask=M),
    "compress": lambda: gs.compress(ALL, X),
    "repeat": lambda: gs.repeat(X, 2),
    "roll": lambda: gs.roll(X, 3),
    "putmask": lambda: gs.putmask(X, ALL, X.copy()),
    "place": lambda: gs.place(X, ALL, X.copy()),
}


@pytest.mark.parametrize("call", WITHOUT_A_FRAME.values(), ids=WITHOUT_A_FRAME)
def test_small_calls_run_without_a_python_frame(call: Any) -> None:
    frames = []
    call()
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    assert [file for file in frames if file != __file__] == []
