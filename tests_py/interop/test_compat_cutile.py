"""test_compat_cutile.py: gs.compat.cutile by its document and by the rows of the catalogue (ct-..., X-ct-...)."""

from __future__ import annotations

import doctest
import inspect

import numpy as np
import pytest

import gatherscatter as gs
from documented_cases import ROWS, SCATTER_ROWS, arguments_of, value_of
from gatherscatter.compat import cutile as ct


def same(result, expected):
    np.testing.assert_array_equal(np.asarray(result), expected, strict=True)


# ---- signatures and classes as in the document


def test_signatures():
    plain = {"mask": None, "check_bounds": True, "latency": None}
    for function, own, defaults in [
        (ct.gather, ["array", "indices"], {"padding_value": 0, **plain}),
        (ct.scatter, ["array", "indices", "value"], plain),
    ]:
        parameters = inspect.signature(function).parameters.values()
        assert [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY] == own
        assert {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY} == defaults
        assert len(parameters) == len(own) + len(defaults)


def test_the_arguments_have_their_kinds():
    array = np.arange(3)
    for call in (
        lambda: ct.gather(array=array, indices=0),
        lambda: ct.gather(array, 0, None),
        lambda: ct.scatter(array, indices=0, value=1),
        lambda: ct.scatter(array, 0, 1, True),
    ):
        with pytest.raises(TypeError):
            call()


def test_errors_are_those_of_the_package():
    assert ct.TileError is gs.errors.TileError and not issubclass(ct.TileError, (TypeError, ValueError))
    assert ct.TileTypeError.__mro__[1:3] == (ct.TileError, TypeError)
    assert ct.TileValueError.__mro__[1:3] == (ct.TileError, ValueError)


def test_docstrings():
    assert doctest.testmod(ct).attempted >= 6 and doctest.testmod(ct).failed == 0


# ---- rows of the catalogue


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("ct")])
def test_row(name):
    arguments, expected = ROWS[name]
    a = arguments_of(arguments)
    array = a.pop("array")
    result = ct.gather(array, a.pop("indices"), **a)
    assert result.dtype == array.dtype
    same(result, np.asarray(value_of(expected), array.dtype))


@pytest.mark.parametrize("name", SCATTER_ROWS)
def test_scatter_row(name):
    arguments, expected = SCATTER_ROWS[name]
    a = arguments_of(arguments)
    array = a.pop("array")
    assert ct.scatter(array, a.pop("indices"), a.pop("value"), **a) is None
    same(array, np.asarray(value_of(expected), array.dtype))


def test_ct_e_mask_bigger_than_index():
    array, mask = np.arange(8, dtype="f4"), np.ones(8, bool)
    with pytest.raises(ct.TileTypeError, match="not broadcastable"):
        ct.gather(array, np.array([3], "i4"), mask=mask)
    with pytest.raises(ct.TileTypeError, match="not broadcastable"):
        ct.scatter(array, np.array([3], "i4"), 0, mask=mask)


X_CT_1 = ["f2", "bf16", "f4", "i1", "i2", "i4", "i8", "?"]


def implicit_target(source: str, target: str) -> bool:
    """cuTile's implicit casts of X-ct-1: bool to all, integers to wider ones and floats, f16 and bf16 to f32."""
    if source == target or source == "?":
        return True
    if target == "?" or (source in ("f2", "bf16", "f4") and target[0] == "i"):
        return False
    if source[0] == "i":
        return target[0] != "i" or int(source[1]) < int(target[1])
    return target == "f4"


@pytest.mark.parametrize("n", [128, 225, 260])
@pytest.mark.parametrize("target", X_CT_1)
@pytest.mark.parametrize("source", X_CT_1)
def test_X_ct_1(source, target, n):
    """A copy tile by tile to an array of every other dtype, with tiles that extend past the end."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = {"bf16": np.dtype(ml_dtypes.bfloat16)}
    x = (np.arange(n) % 100).astype(dtype.get(source, source))
    y = np.zeros(n, dtype.get(target, target))
    for tile in (128, 256):
        for start in range(0, n, tile):
            index = np.arange(tile, dtype="i8") + start
            part = ct.gather(x, index)
            same(part, np.array([x[i] if i < n else 0 for i in index], x.dtype))
            if implicit_target(source, target):
                ct.scatter(y, index, part)
            else:
                with pytest.raises(ct.TileTypeError, match="cannot implicitly cast"):
                    ct.scatter(y, index, part)
    same(y, x.astype(y.dtype) if implicit_target(source, target) else np.zeros(n, y.dtype))


@pytest.mark.parametrize("shape", [(128, 128), (192, 192), (128, 192)])
@pytest.mark.parametrize("tile", [(64, 64), (128, 32)])
def test_X_ct_2(shape, tile):
    x = np.arange(shape[0] * shape[1], dtype="f4").reshape(shape)
    y = np.zeros_like(x)
    for row in range(0, shape[0], tile[0]):
        for column in range(0, shape[1], tile[1]):
            place = (np.arange(tile[0])[:, None] + row, np.arange(tile[1]) + column)
            part = ct.gather(x, place)
            expected = np.zeros(tile, "f4")
            inside = x[row : row + tile[0], column : column + tile[1]]
            expected[: inside.shape[0], : inside.shape[1]] = inside
            same(part, expected)
            ct.scatter(y, place, part)
    same(y, x)


def test_X_ct_3():
    result = ct.gather(np.arange(100, 106, dtype="f4"), np.arange(8), padding_value=-np.inf)
    same(result, np.array([100, 101, 102, 103, 104, 105, -np.inf, -np.inf], "f4"))


def test_X_ct_4():
    x, y = np.arange(10, 18, dtype="f4"), np.zeros(8, "f4")
    ct.scatter(y, np.arange(8), ct.gather(x, np.arange(8), check_bounds=False), check_bounds=False)
    same(y, x)


def test_X_ct_5():
    """The checked and unchecked calls have different plans; planning writes nothing."""
    x, i = np.zeros(10, "f4"), np.arange(8)
    assert gs.explain(ct.gather, x, i).to_dict()["bounds"] == "fill"
    assert gs.explain(ct.gather, x, i, check_bounds=False).to_dict()["bounds"] == "raise"
    checked, unchecked = gs.explain(ct.scatter, x, i, 1.0), gs.explain(ct.scatter, x, i, 1.0, check_bounds=False)
    assert checked.to_dict()["bounds"] != unchecked.to_dict()["bounds"] == "raise"
    same(x, np.zeros(10, "f4"))


def test_X_ct_6():
    x, mask = np.arange(8, dtype="f4"), np.array([True, False] * 4)
    result = ct.gather(x, np.arange(8), mask=mask, padding_value=-999, check_bounds=False)
    same(result, np.array([0, -999, 2, -999, 4, -999, 6, -999], "f4"))


@pytest.mark.parametrize("latency", [None, 1, 5, 10])
def test_X_ct_7(latency):
    x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
    ct.scatter(y, np.arange(8), ct.gather(x, np.arange(8), latency=latency), latency=latency)
    same(y, x)


def test_X_ct_8():
    offset = np.arange(8)
    result = ct.gather(np.arange(100, 108, dtype="f4"), offset, mask=offset < 5, padding_value=-1)
    same(result, np.array([100, 101, 102, 103, 104, -1, -1, -1], "f4"))


def test_X_ct_9():
    x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
    same(ct.gather(x, np.arange(8), mask=np.ones(1, bool)), x)
    ct.scatter(y, np.arange(8), x, mask=np.ones(1, bool))
    same(y, x)


def test_X_ct_10():
    y = np.zeros(8, "f4")
    with pytest.raises(ct.TileTypeError, match="broadcastable"):
        ct.scatter(y, np.zeros(1, int), np.ones(8, "f4"))
    with pytest.raises(ct.TileTypeError, match="broadcastable"):
        ct.gather(y, np.zeros(1, int), padding_value=np.ones(8, "f4"))
    same(y, np.zeros(8, "f4"))


def test_X_ct_11():
    x, y = np.arange(1, 65, dtype="f4").reshape(8, 8), np.zeros((8, 8), "f4")
    place = (np.array([0, 1, 2, 5, 3, 6, 7, 4]), np.array([0, 3, 1, 4, 7, 2, 5, 6]))
    ct.scatter(y, place, ct.gather(x, place))
    for cell in np.ndindex(8, 8):
        assert y[cell] == (x[cell] if cell in set(zip(*map(list, place), strict=True)) else 0)


def test_X_ct_12():
    z = np.array(0, "i4")
    ct.scatter(z, (), 77)
    assert z == 77 and ct.gather(z, ()) == 77
    ct.scatter(z, (), 5, mask=False)
    assert z == 77


def test_X_ct_13():
    x = np.arange(32, dtype="i4").reshape(8, 4)
    same(ct.gather(x, (np.array([[6], [7], [8], [9]]), np.arange(4))), np.concatenate([x[6:], np.zeros((2, 4), "i4")]))


# ---- the document, sentence by sentence


def test_document_formula():
    """t[i, j, k] = array[ind0[i, j, 0], ind1[i, 0, k]] for ind0 (M, N, 1) and ind1 (M, 1, K)"""
    rng = np.random.default_rng(1)
    array, m, n, k = rng.random((5, 7)), 2, 3, 4
    ind0, ind1 = rng.integers(0, 5, (m, n, 1)), rng.integers(0, 7, (m, 1, k))
    t = ct.gather(array, (ind0, ind1))
    assert t.shape == (m, n, k)
    for c in np.ndindex(m, n, k):
        assert t[c] == array[ind0[c[0], c[1], 0], ind1[c[0], 0, c[2]]]


def test_document_bare_index_is_a_tuple_of_one():
    array, index = np.arange(5.0), np.array([4, -1, 9])
    same(ct.gather(array, index), ct.gather(array, (index,)))
    ct.scatter(array, index, 7)
    assert array.tolist() == [0, 1, 2, 3, 7]


def test_document_effective_mask_is_mask_and_bounds():
    index, mask = np.array([0, 1, -1, 4, 2]), np.array([1, 0, 1, 1, 1], bool)
    array = np.arange(10, 14)
    assert ct.gather(array, index, mask=mask, padding_value=-5).tolist() == [10, -5, -5, -5, 12]
    ct.scatter(array, index, np.arange(5), mask=mask)
    assert array.tolist() == [0, 11, 4, 13]


@pytest.mark.parametrize("bad", [5, -1, 2**40])
def test_an_unmasked_bad_point_raises_without_check_bounds(bad):
    """Undefined in the document. Masked points are still skipped, and nothing is written."""
    array, index = np.arange(5), np.array([0, bad, 4])
    guard = np.array([True, False, True])
    assert ct.gather(array, index, mask=guard, check_bounds=False).tolist() == [0, 0, 4]
    with pytest.raises(gs.OutOfBoundsError) as error:
        ct.gather(array, index, check_bounds=False)
    assert (error.value.index, error.value.position, error.value.size) == (bad, (1,), 5)
    with pytest.raises(gs.OutOfBoundsError):
        ct.scatter(array, index, 9, check_bounds=False)
    assert array.tolist() == [0, 1, 2, 3, 4]
    ct.scatter(array, index, 9, mask=guard, check_bounds=False)
    assert array.tolist() == [9, 1, 2, 3, 9]


def test_the_last_of_several_values_for_one_target_stays():
    array = np.zeros(2)
    ct.scatter(array, np.array([1, 1, 1]), np.array([1.0, 2.0, 3.0]))
    assert array.tolist() == [0, 3]


# ---- other libraries


def test_torch():
    torch = pytest.importorskip("torch")
    for dtype in (torch.bfloat16, torch.float8_e5m2, torch.uint16, torch.bool):
        array = torch.zeros(3, 4).to(dtype)
        rows, columns = torch.tensor([[0], [2], [3]]), torch.tensor([1, -1], dtype=torch.int8)
        ct.scatter(array, (rows, columns), torch.ones(1).to(dtype))
        result = ct.gather(array, (rows, columns), padding_value=torch.ones(1).to(dtype))
        assert type(result) is torch.Tensor and result.dtype is dtype
        assert result.to(torch.float32).tolist() == [[1, 1], [1, 1], [1, 1]]
        assert array.to(torch.float32).sum() == 2
    with pytest.raises(ct.TileTypeError, match="which cuTile does not have"):
        ct.gather(torch.zeros(3, dtype=torch.complex64), 0)


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.arange(5.0)
    result = ct.gather(array, jnp.array([0, 9, -1]), mask=jnp.array(True), padding_value=jnp.float32(7))
    assert type(result) is type(array) and result.tolist() == [0, 7, 7]
    with pytest.raises(TypeError, match="immutable"):
        ct.scatter(array, jnp.array([0]), 1)
    assert array.tolist() == [0, 1, 2, 3, 4]
