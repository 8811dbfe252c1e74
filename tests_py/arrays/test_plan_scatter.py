"""test_plan_scatter.py: plans of scatters, and plan.scatter, which runs the geometry of any plan as a scatter."""

import copy
import json
import pickle

import numpy as np
import pytest

import gatherscatter as gs
import reference_write

X = np.arange(24.0).reshape(4, 6)
INDEX = np.array([[5, 0], [1, 1], [2, 4], [0, 3]])
SRC = np.arange(100.0, 108.0).reshape(4, 2)
ROWS = np.array([[3, 0], [1, -1]])
MASK = np.array([[True, False], [True, True]])
AT = np.array([[0, 5], [3, 1], [0, 5]])


def same_bytes(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


# ---- plans of scatters

# name: (operator, arguments before the source, source, keywords)
SCATTERS = {
    "scatter": (gs.scatter, (X, 1, INDEX), SRC, {}),
    "scatter first": (gs.scatter, (X, 1, INDEX), SRC, {"duplicates": "first"}),
    "scatter add": (gs.scatter, (X, 1, INDEX), SRC, {"reduce": "add"}),
    "scatter mean, not self": (gs.scatter, (X, 1, INDEX), SRC, {"reduce": "mean", "include_self": False}),
    "scatter mean": (gs.scatter, (X, 1, INDEX), SRC, {"reduce": "mean"}),
    "scatter mask": (gs.scatter, (X, 1, ROWS), SRC[:2], {"mask": MASK}),
    "scatter drop": (gs.scatter, (X, 0, ROWS + 2), SRC[:2], {"bounds": "drop", "negative": "out_of_bounds"}),
    "scatter_nd": (gs.scatter_nd, (X, AT), SRC[:3, 0].copy(), {}),
    "scatter_nd rows": (gs.scatter_nd, (X, AT[:, :1]), X[:3] + 1, {"reduce": "max"}),
}
ALL = pytest.mark.parametrize("name", SCATTERS)


def planned(name):
    operator, arguments, src, keywords = SCATTERS[name]
    return gs.plan(operator, *arguments, src, **keywords), operator(*arguments, src, **keywords)


def call(plan, name, data=X, src=None, **out):
    _, arguments, own, keywords = SCATTERS[name]
    mask = {"mask": keywords["mask"]} if "mask" in keywords else {}
    return plan(data, arguments[-1], own if src is None else src, **mask, **out)


@ALL
def test_a_plan_gives_what_the_call_gives(name):
    before = X.tobytes(), INDEX.tobytes(), SRC.tobytes()
    plan, expected = planned(name)
    same_bytes(call(plan, name), expected)
    assert before == (X.tobytes(), INDEX.tobytes(), SRC.tobytes())


@ALL
def test_a_plan_takes_new_data(name):
    plan, _ = planned(name)
    operator, arguments, src, keywords = SCATTERS[name]
    for factor in (2, -3):
        expected = operator(factor * X, *arguments[1:], factor + src, **keywords)
        same_bytes(call(plan, name, factor * X, factor + src), expected)


@ALL
def test_a_plan_works_in_place(name):
    plan, expected = planned(name)
    x, out = X.copy(), np.zeros_like(X)
    assert call(plan, name, x, out=x) is x
    assert call(plan, name, out=out) is out
    same_bytes(x, expected)
    same_bytes(out, expected)


def test_planning_writes_nothing_and_looks_at_no_value():
    x = X.copy()
    plan = gs.plan(gs.scatter, x, 1, INDEX + 99, SRC, out=x)
    same_bytes(x, X)
    same_bytes(plan(x, INDEX, SRC, out=x), gs.scatter(X, 1, INDEX, SRC))


def test_the_source_is_needed():
    plan, _ = planned("scatter")
    with pytest.raises(TypeError):
        plan(X, INDEX)
    with pytest.raises(ValueError, match="src"):
        gs.plan(gs.take, X, ROWS, axis=0)(X, ROWS, X)


def test_numbers_and_lists_are_sources():
    plan = gs.plan(gs.scatter, X, 1, INDEX, SRC)
    same_bytes(plan(X, INDEX, SRC.tolist()), gs.scatter(X, 1, INDEX, SRC))
    scalar = gs.plan(gs.scatter, X, 1, INDEX, 5)
    same_bytes(scalar(X, INDEX, 7), gs.scatter(X, 1, INDEX, 7))
    with pytest.raises(ValueError, match="does not fit"):
        scalar(X, INDEX, 1j)


def test_index_values_are_checked_at_every_call():
    plan, expected = planned("scatter")
    x = X.copy()
    for bad in (6, -7, 2**62):
        wrong = INDEX.copy()
        wrong[2, 1] = bad
        with pytest.raises(gs.OutOfBoundsError) as caught:
            plan(x, wrong, SRC, out=x)
        assert (caught.value.index, caught.value.position, caught.value.size) == (bad, (2, 1), 6)
        same_bytes(x, X)
    same_bytes(plan(X, INDEX, SRC), expected)


def test_duplicates_are_looked_for_at_every_call():
    plan = gs.plan(gs.scatter, X, 1, INDEX, SRC, duplicates="error")
    with pytest.raises(ValueError, match=r"\(1, 1\)"):
        plan(X, INDEX, SRC)
    other = INDEX.copy()
    other[1, 1] = 4
    same_bytes(plan(X, other, SRC), gs.scatter(X, 1, other, SRC))


OTHERS = {
    "shape of the data": (np.zeros((5, 6)), INDEX, SRC),
    "strides of the data": (np.asfortranarray(X), INDEX, SRC),
    "dtype of the data": (X.astype("f4"), INDEX, SRC.astype("f4")),
    "shape of the index": (X, INDEX[:2], SRC[:2]),
    "dtype of the index": (X, INDEX.astype("i4"), SRC),
    "strides of the index": (X, np.asfortranarray(INDEX), SRC),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_geometry_is_a_value_error(name):
    with pytest.raises(ValueError):
        planned("scatter")[0](*OTHERS[name])


def test_a_source_of_another_dtype_is_a_type_error():
    with pytest.raises(TypeError):
        planned("scatter")[0](X, INDEX, SRC.astype("f4"))


@ALL
def test_facts(name):
    plan, expected = planned(name)
    operator, arguments, src, keywords = SCATTERS[name]
    facts = plan.to_dict()
    assert json.loads(json.dumps(facts)).keys() == facts.keys()
    assert facts["op"] == operator.__name__ and facts["threads"] >= 1 and facts["kernel"]
    assert facts["bounds"] == keywords.get("bounds", "raise") and facts["direction"] == "scatter"
    assert (facts["reduce"], facts["duplicates"]) == (keywords.get("reduce"), keywords.get("duplicates", "last"))
    assert facts["src"].startswith("float64") and facts["result_shape"] == src.shape
    assert facts["op"] in repr(plan) and facts["op"] in plan._repr_html_()
    explained = gs.explain(operator, *arguments, src, **keywords)
    assert explained == plan and explained.to_dict() == facts
    assert expected.shape == X.shape


@ALL
def test_pickles_and_copies(name):
    plan, expected = planned(name)
    copies = [pickle.loads(pickle.dumps(plan, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for again in (*copies, copy.copy(plan), copy.deepcopy(plan)):
        assert type(again) is type(plan) and again == plan and hash(again) == hash(plan)
        assert again.to_dict() == plan.to_dict()
        same_bytes(call(again, name), expected)


def test_plans_of_different_calls_differ():
    plans = [planned(name)[0] for name in SCATTERS]
    plans.append(gs.plan(gs.gather, X, 1, INDEX))
    plans.append(gs.plan(gs.scatter, X, 1, INDEX, SRC, duplicates="error"))
    plans.append(gs.plan(gs.scatter, X, 1, INDEX, SRC, bounds="clip"))
    for i, plan in enumerate(plans):
        assert [j for j, other in enumerate(plans) if other == plan] == [i]


def test_what_is_wrong_with_a_call_is_wrong_with_its_plan():
    for error, arguments, keywords in [
        (ValueError, (X, 1, np.zeros((5, 1), int), 1.0), {}),
        (ValueError, (X, 1, INDEX, np.zeros((3, 2))), {}),
        (ValueError, (X, 1, INDEX, SRC), {"duplicates": "first", "reduce": "add"}),
        (ValueError, (X, 1, INDEX, SRC), {"bounds": "fill"}),
        (TypeError, (X, 1, INDEX, SRC.astype("f4")), {}),
        (TypeError, (X.astype("S3"), 1, INDEX, b"a"), {"reduce": "add"}),
        (np.exceptions.AxisError, (X, 2, INDEX, SRC), {}),
    ]:
        with pytest.raises(error):
            gs.plan(gs.scatter, *arguments, **keywords)


# ---- plan.scatter

# name: (operator, arguments, keywords, the naive loops that define the scatter of its geometry)
GATHERS = {
    "gather dim": (gs.gather, (X, 1, INDEX), {}, lambda src, **how: reference_write.scatter(X, 1, INDEX, src, **how)),
    "gather axis": (
        gs.gather,
        (X, ROWS, 1),
        {},
        lambda src, **how: reference_write.scatter_axis(X, ROWS, 1, 0, src, **how),
    ),
    "gather batch_dims": (
        gs.gather,
        (X, INDEX, 1, 1),
        {},
        lambda src, **how: reference_write.scatter_axis(X, INDEX, 1, 1, src, **how),
    ),
    "take": (
        gs.take,
        (X, ROWS, 0),
        {},
        lambda src, **how: reference_write.scatter_axis(X, ROWS, 0, 0, src, **how),
    ),
    "take_along_axis": (
        gs.take_along_axis,
        (X, INDEX, 1),
        {},
        lambda src, **how: reference_write.scatter(X, 1, INDEX, src, **how),
    ),
    "gather_nd": (gs.gather_nd, (X, AT), {}, lambda src, **how: reference_write.scatter_nd(X, AT, src, **how)),
    "tile_gather": (
        gs.tile_gather,
        (X, (ROWS, ROWS)),
        {},
        lambda src, **how: reference_write.scatter_nd(
            X, np.stack([ROWS, ROWS], -1), src, bounds="drop", negative="out_of_bounds", **how
        ),
    ),
    "gather fill": (
        gs.gather,
        (X, ROWS + 2, 1),
        {"bounds": "fill", "fill_value": 9, "negative": "out_of_bounds"},
        lambda src, **how: reference_write.scatter_axis(
            X, ROWS + 2, 1, 0, src, bounds="drop", negative="out_of_bounds", **how
        ),
    ),
    "gather clip": (
        gs.gather,
        (X, ROWS + 2, 0),
        {"bounds": "clip"},
        lambda src, **how: reference_write.scatter_axis(X, ROWS + 2, 0, 0, src, bounds="clip", **how),
    ),
    "gather mask": (
        gs.gather,
        (X, ROWS, 0),
        {"mask": MASK, "fill_value": 9},
        lambda src, **how: reference_write.scatter_axis(X, ROWS, 0, 0, src, mask=MASK, **how),
    ),
}
EVERY = pytest.mark.parametrize("name", GATHERS)
HOWS = [{}, {"duplicates": "first"}, {"reduce": "add"}, {"reduce": "mean", "include_self": False}, {"reduce": "min"}]


def indices_of(name):
    operator, arguments, _, _ = GATHERS[name]
    return arguments[2] if operator is gs.gather and isinstance(arguments[1], int) else arguments[1]


@pytest.mark.parametrize("how", HOWS, ids=str)
@EVERY
def test_a_plan_runs_the_other_way(name, how):
    operator, arguments, keywords, loops = GATHERS[name]
    plan = gs.plan(operator, *arguments, **keywords)
    mask = {"mask": keywords["mask"]} if "mask" in keywords else {}
    src = np.random.default_rng(1).integers(1, 9, plan.to_dict()["result_shape"]).astype(float)
    expected = loops(src, **how).result
    same_bytes(plan.scatter(X, indices_of(name), src, **how, **mask), expected)
    same_bytes(plan.scatter(X, indices_of(name), 1.0, **how, **mask), loops(1.0, **how).result)
    x = X.copy()
    assert plan.scatter(x, indices_of(name), src, **how, **mask, out=x) is x
    same_bytes(x, expected)
    same_bytes(plan(X, indices_of(name), **mask), operator(*arguments, **keywords))


@EVERY
def test_a_pickled_plan_runs_the_other_way(name):
    operator, arguments, keywords, loops = GATHERS[name]
    plan = pickle.loads(pickle.dumps(gs.plan(operator, *arguments, **keywords)))
    mask = {"mask": keywords["mask"]} if "mask" in keywords else {}
    same_bytes(plan.scatter(X, indices_of(name), 5, reduce="add", **mask), loops(5.0, reduce="add").result)


def test_a_plan_of_a_scatter_runs_as_another_scatter():
    plan = gs.plan(gs.scatter, X, 1, INDEX, SRC)
    same_bytes(plan.scatter(X, INDEX, SRC, reduce="mul"), gs.scatter(X, 1, INDEX, SRC, reduce="mul"))
    same_bytes(plan.scatter(X, INDEX, 3), gs.scatter(X, 1, INDEX, 3))


def test_strides_of_the_target_and_the_mask_are_those_of_the_call():
    plan = gs.plan(gs.take, X, ROWS, axis=0)
    expected = reference_write.scatter_axis(X, ROWS, 0, 0, 5.0, mask=MASK).result
    for x in (X.copy(), np.asfortranarray(X), np.repeat(X, 2, 0)[::2]):
        same_bytes(plan.scatter(x, ROWS, 5, mask=MASK), expected)
        assert plan.scatter(x, ROWS, 5, mask=MASK, out=x) is x
        np.testing.assert_array_equal(x, expected)
    masked = gs.plan(gs.take, X, ROWS, axis=0, mask=MASK)
    same_bytes(masked.scatter(X, ROWS, 5, mask=MASK), expected)


@pytest.mark.parametrize("operator", [gs.take, gs.gather, gs.scatter])
@pytest.mark.parametrize("reduce", [None, "add"])
def test_a_plan_with_a_mask_asks_for_one_the_other_way_too(operator, reduce):
    words = {"src": X[ROWS]} if operator is gs.scatter else {}
    masked = gs.plan(operator, X, ROWS, axis=0, mask=MASK, **words)
    target = X.copy()
    with pytest.raises(ValueError, match=r"made for mask bool \(2, 2\), not for none"):
        masked.scatter(target, ROWS, 5.0, reduce=reduce, out=target)
    np.testing.assert_array_equal(target, X)
    expected = gs.scatter(X, ROWS, 5.0, axis=0, mask=MASK, reduce=reduce)
    same_bytes(masked.scatter(X, ROWS, 5.0, mask=MASK, reduce=reduce), expected)


def test_the_gradient_of_a_gather():
    plan = gs.plan(gs.take, X, ROWS, axis=0)
    ones = np.ones((2, 2, 6))
    expected = np.zeros_like(X)
    np.add.at(expected, ROWS, ones)
    same_bytes(plan.scatter(np.zeros_like(X), ROWS, ones, reduce="add"), expected)


def test_errors_of_the_other_way():
    plan = gs.plan(gs.take, X, ROWS, axis=0)
    src, x = np.ones((2, 2, 6)), X.copy()
    for error, arguments, keywords in [
        (ValueError, (X[:3], ROWS, src), {}),
        (ValueError, (X, ROWS[:1], src[:1]), {}),
        (ValueError, (X, ROWS, src[:, :, :5]), {}),
        (ValueError, (X, ROWS, 1j), {}),
        (ValueError, (X, ROWS, src), {"mask": np.ones(3, bool)}),
        (TypeError, (X, ROWS, src), {"mask": np.ones((2, 2))}),
        (ValueError, (X, ROWS, src), {"duplicates": "error"}),
        (ValueError, (X, ROWS, src), {"duplicates": "first", "reduce": "add"}),
        (ValueError, (X, ROWS, src), {"duplicates": "none"}),
        (ValueError, (X, ROWS, src), {"reduce": "plus"}),
        (ValueError, (x, ROWS, src), {"out": np.broadcast_to(0.0, X.shape)}),
        (ValueError, (x, ROWS, src), {"out": np.zeros((2, 2, 6))}),
        (TypeError, (X, ROWS, src.astype("f4")), {}),
        (TypeError, (X, ROWS, None), {}),
        (TypeError, (x, ROWS, src), {"out": np.zeros(X.shape, "f4")}),
        (gs.OutOfBoundsError, (x, ROWS + 2, src), {"out": x}),
    ]:
        same = [array + 0 if isinstance(array, np.ndarray) else array for array in arguments[1:]]
        with pytest.raises(error):
            plan.scatter(arguments[0], *same, **keywords)
        same_bytes(x, X)
    with pytest.raises(ValueError, match=r"\(1, 1.*\(0, 0|\(0, 0.*\(1, 1"):
        plan.scatter(X, ROWS, src, duplicates="error")


def test_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, index, src = torch.zeros((3, 4)), torch.tensor([[3, 3], [0, 1], [1, 1]]), torch.ones((3, 2))
    result = gs.plan(gs.gather, x, 1, index).scatter(x, index, src, reduce="add")
    assert type(result) is torch.Tensor and torch.equal(result, x.scatter_add(1, index, src))
    plan = gs.plan(gs.scatter, x, 1, index, src)
    assert plan(x, index, 2 * src, out=x) is x and torch.equal(x, torch.zeros((3, 4)).scatter(1, index, 2 * src))


def test_the_source_of_a_gathers_plan_is_never_cut():
    plan = gs.plan(gs.gather, np.zeros((3, 4)), 1, [[3, 0], [1, 1], [0, 2]])
    with pytest.raises(ValueError, match="broadcast"):
        plan.scatter(np.zeros((3, 4)), np.array([[3, 0], [1, 1], [0, 2]]), np.ones((7, 9)), reduce="add")
    with pytest.raises(TypeError, match="include_self"):
        plan.scatter(np.zeros((3, 4)), np.array([[3, 0], [1, 1], [0, 2]]), 1.0, reduce="add", include_self=1)
