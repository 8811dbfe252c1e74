"""test_scatter_slices.py: scatter along an axis: its forms of call, its errors, and the functions of torch and JAX."""

from __future__ import annotations

import numpy as np
import pytest

import gatherscatter as gs
import reference_write
from layouts import torch

X = np.arange(12.0).reshape(3, 4)
ROWS = np.array([2, 0])
SRC = np.array([[10.0, 20.0, 30.0, 40.0], [50.0, 60.0, 70.0, 80.0]])


def expected(axis=0):
    result = X.copy()
    if axis == 0:
        result[ROWS] = SRC
    else:
        result[:, ROWS] = SRC[:, :3].T
    return result


def same(result, answer):
    np.testing.assert_array_equal(result, answer, strict=True)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((X, ROWS, SRC), {}),
        ((X, ROWS, SRC, 0), {}),
        ((X, ROWS, SRC, -2, 0), {}),
        ((X, ROWS, SRC), {"axis": 0, "batch_dims": 0}),
        ((X, ROWS), {"src": SRC}),
        ((X, ROWS), {"src": SRC, "axis": np.array(0)}),
        ((X,), {"indices": ROWS, "src": SRC}),
        ((X,), {"src": SRC, "indices": ROWS, "axis": 0}),
        ((), {"input": X, "indices": ROWS, "src": SRC, "axis": -2, "batch_dims": 0}),
        ((X, [2, 0], SRC.tolist()), {}),
        ((X, ROWS.astype(">i2"), SRC), {"out": None}),
    ],
)
def test_every_way_to_name_the_arguments(arguments, keywords):
    same(gs.scatter(*arguments, **keywords), expected())


def test_the_keyword_decides_before_the_types():
    same(gs.scatter(X, indices=2, src=1.0), reference_write.scatter_axis(X, 2, 0, 0, 1.0).result)
    same(gs.scatter(X, index=[[1]], dim=np.int64(0), src=5.0), gs.scatter(X, 0, [[1]], 5.0))


def test_a_0d_array_is_an_index_and_a_scalar_is_a_dim():
    same(gs.scatter(X, np.array(1), SRC[0]), reference_write.scatter_axis(X, 1, 0, 0, SRC[0]).result)
    same(gs.scatter(X, 1, [[1]], SRC), gs.scatter(X, dim=1, index=np.array([[1]]), src=SRC))


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((X,), {}, "dim and index, or indices are missing"),
        ((X,), {"src": SRC}, "dim and index, or indices are missing"),
        ((X, ROWS), {}, "src is missing"),
        ((X,), {"indices": ROWS}, "src is missing"),
        ((X, 0), {"src": SRC}, "index is missing"),
        ((X, 0, ROWS), {}, "src is missing"),
        ((X, 0, [[0]], SRC), {"axis": 0}, "exclude each other"),
        ((X, 0, [[0]], SRC, 0), {}, "exclude each other"),
        ((X, 0), {"src": SRC, "axis": 0, "index": ROWS}, "exclude each other"),
        ((X, 0), {"indices": ROWS, "src": SRC}, "exclude each other"),
        ((X, ROWS, SRC, 0), {"axis": 0}, "exclude each other"),
        ((X, ROWS, SRC), {"indices": ROWS}, "the indices are given more than once"),
        ((X,), {"indices": ROWS, "index": ROWS, "src": SRC}, "index= needs dim="),
        ((X,), {"index": ROWS, "src": SRC}, "index= needs dim="),
        ((X, None, SRC), {}, "the second argument is None"),
        ((X, 0.0, SRC), {}, "the second argument is 0.0"),
        ((X, "0", SRC), {}, "the second argument is '0'"),
        ((X, True, [[0]], SRC), {}, "dim is a bool"),
        ((X, ROWS, SRC, True), {}, "axis is True"),
        ((X, ROWS, SRC, 0, 1.5), {}, "batch_dims is 1.5"),
        ((X, ROWS, None), {}, "src is None"),
        ((X, ROWS * 1.0, SRC), {}, "index has dtype float64"),
        ((X, ROWS, SRC.astype("f4")), {}, "float32"),
    ],
)
def test_mixed_and_missing_arguments(arguments, keywords, words):
    before = X.tobytes()
    with pytest.raises(TypeError, match=f"^scatter: .*{words}"):
        gs.scatter(*arguments, **keywords)
    assert X.tobytes() == before


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((ROWS, SRC.T), {}),
        ((ROWS, SRC[:, :3]), {}),
        ((ROWS, np.zeros((3, 4))), {}),  # a longer source is cut in the elementwise form only
        ((ROWS, SRC[None]), {}),
        ((ROWS, SRC), {"batch_dims": 1}),
        ((ROWS, SRC), {"axis": 1, "batch_dims": 2}),
        ((ROWS, SRC), {"axis": 1, "batch_dims": 1}),  # the leading axes have sizes 3 and 2
        ((ROWS, SRC), {"batch_dims": -2}),
        ((ROWS, SRC), {"duplicates": "error", "reduce": "add"}),
        ((ROWS, SRC), {"mask": np.ones((2, 2), bool)}),
        (([1, 1], SRC), {"duplicates": "error"}),
        ((ROWS, [1, "x"]), {}),
        ((ROWS, SRC), {"axis": 2}),
        (([2, 3], SRC), {}),
        (([2, -4], SRC), {"reduce": "add"}),
    ],
)
def test_an_error_leaves_out_untouched(arguments, keywords):
    for out in (X.copy(), np.asfortranarray(X)):
        before = out.copy()
        with pytest.raises((ValueError, TypeError)):
            gs.scatter(X, *arguments, **keywords, out=out)
        with pytest.raises((ValueError, TypeError)):
            gs.scatter(out, *arguments, **keywords, out=out)
        same(out, before)


def test_a_bad_index_is_described():
    with pytest.raises(gs.OutOfBoundsError, match="index 7 is out of bounds for axis 1 with size 4") as error:
        gs.scatter(X, [[0, 1], [7, -9]], 1.0, axis=1)
    assert (error.value.position, error.value.axis, error.value.count) == ((1, 0), 1, 2)
    with pytest.raises(np.exceptions.AxisError):
        gs.scatter(X, ROWS, SRC, axis=2)


def test_it_is_numpys_assignment():
    same(gs.scatter(X, ROWS, SRC), expected())
    same(gs.scatter(X, ROWS, SRC[:, :3].T, axis=1), expected(1))
    target, i, s = X.copy(), np.array([[0, 1], [1, 2]]), np.arange(16.0).reshape(2, 2, 4)
    np.add.at(target, i, s)
    same(gs.scatter(X, i, s, reduce="add"), target)


def test_batch_dims_are_one_scatter_for_each_batch():
    rng = np.random.default_rng(8)
    x, indices = rng.random((2, 3, 4, 5)), rng.integers(-4, 4, (2, 3, 2))
    src = rng.random((2, 3, 2, 5))
    for count in (2, -1):
        result = gs.scatter(x, indices, src, 2, count)
        for b in np.ndindex(2, 3):
            same(result[b], gs.scatter(x[b], indices[b], src[b]))


def test_gather_and_scatter_are_reverses():
    rng = np.random.default_rng(9)
    x, indices = rng.random((4, 6, 3)), rng.permutation(6)
    same(gs.scatter(np.zeros_like(x), indices, gs.gather(x, indices, 1), 1), x)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_torchs_index_copy_and_index_add(axis):
    generator = torch.Generator().manual_seed(3)
    x = torch.rand((5, 6, 7), generator=generator)
    index = torch.randperm(x.shape[axis], generator=generator)[:3]
    src = torch.rand(x.index_select(axis, index).shape, generator=generator)
    for layout in (lambda t: t, lambda t: t.transpose(0, 1).contiguous().transpose(0, 1)):
        target, source = layout(x), layout(src)
        result = gs.scatter(target, index, source, axis)
        assert type(result) is torch.Tensor and result.is_contiguous()
        assert torch.equal(result, x.index_copy(axis, index, src))
        assert torch.equal(gs.scatter(target, index, source, axis, reduce="add"), x.index_add(axis, index, src))
        whole = torch.randint(-9, 9, x.shape, generator=generator)
        again = torch.cat((index, index))
        twice = torch.randint(-9, 9, torch.cat((src, src), axis).shape, generator=generator)
        assert torch.equal(gs.scatter(whole, again, twice, axis, reduce="add"), whole.index_add(axis, again, twice))
        own = target.clone()
        assert gs.scatter(own, index, source, axis, out=own) is own
        assert torch.equal(own, x.index_copy(axis, index, src))


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    x = jax.numpy.asarray(X.astype("f4"))
    result = gs.scatter(x, ROWS, SRC.astype("f4"))
    assert isinstance(result, jax.Array) and (result == x.at[ROWS].set(SRC)).all()
    assert (gs.scatter(x, [1, 1], 2.0, reduce="add") == x.at[np.array([1, 1])].add(2.0)).all()


def test_plans_and_explain():
    plan = gs.plan(gs.scatter, X, ROWS, SRC, reduce="add")
    facts = plan.to_dict()
    assert (facts["op"], facts["planner"], facts["direction"]) == ("scatter", "take_axis", "scatter")
    assert (facts["result_shape"], facts["unit_bytes"], facts["reduce"]) == ((2, 4), 32, "add")
    same(plan(X, ROWS, SRC), gs.scatter(X, ROWS, SRC, reduce="add"))
    same(plan(X, ROWS[::-1].copy(), 1.0 + SRC), gs.scatter(X, ROWS[::-1], 1.0 + SRC, reduce="add"))
    assert gs.explain(gs.scatter, X, indices=ROWS, src=SRC).to_dict()["kind"] == "rows"
    with pytest.raises(ValueError):
        plan(X, np.array([0, 1, 2]), SRC)
