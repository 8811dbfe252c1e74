"""test_plan.py: plans check geometry once and are called again with new data; every call checks values; gs.explain."""

import copy
import json
import pickle
from operator import ne

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter import _core
from gatherscatter._ops.plan_html import size_text

X = np.arange(24.0).reshape(4, 6)
INDEX = np.array([[5, 0], [1, 1], [2, 4], [0, 3]])
ROWS = np.array([[3, 0], [1, -1]])
MASK = np.array([[True, False], [True, True]])


def new(array):
    """An array of equal geometry with other values."""
    return (array * 3 + 1).astype(array.dtype)


# name: (operator, arguments, keywords)
CALLS = {
    "gather dim": (gs.gather, (X, 1, INDEX), {}),
    "gather dim keyword": (gs.gather, (X,), {"dim": 1, "index": INDEX}),
    "gather axis": (gs.gather, (X, ROWS), {"axis": 0}),
    "gather batch_dims": (gs.gather, (X, INDEX), {"axis": 1, "batch_dims": 1}),
    "gather fill": (gs.gather, (X, ROWS), {"axis": 0, "bounds": "fill", "fill_value": -1}),
    "gather mask": (gs.gather, (X, ROWS), {"axis": 0, "mask": MASK, "fill_value": 9}),
    "gather clip": (gs.gather, (X, ROWS), {"axis": 0, "bounds": "clip", "negative": "out_of_bounds"}),
    "take": (gs.take, (X, ROWS), {"axis": 1}),
    "take flat": (gs.take, (X, ROWS), {}),
    "take wrap": (gs.take, (X, ROWS), {"mode": "wrap"}),
    "take_along_axis": (gs.take_along_axis, (X, INDEX), {"axis": 1}),
    "take_along_axis broadcast": (gs.take_along_axis, (X, INDEX[:1]), {"axis": 1}),
    "gather_nd": (gs.gather_nd, (X, ROWS), {}),
    "gather_nd slices": (gs.gather_nd, (X, ROWS[:, :1]), {"bounds": "fill", "fill_value": -1}),
    "tile_gather": (gs.tile_gather, (X, (ROWS, ROWS)), {"padding_value": -1.0}),
    "tile_gather mask": (gs.tile_gather, (X, (ROWS, ROWS)), {"mask": MASK}),
}
ALL = pytest.mark.parametrize("name", CALLS)


def planned(name):
    operator, arguments, keywords = CALLS[name]
    return gs.plan(operator, *arguments, **keywords), operator(*arguments, **keywords)


def call(plan, name, data=X, **out):
    """Call a plan with the data, then the index array or arrays, and the mask if it was made with one."""
    _, arguments, keywords = CALLS[name]
    index = keywords["index"] if "index" in keywords else arguments[-1]
    mask = {"mask": keywords["mask"]} if "mask" in keywords else {}
    return plan(data, index, **mask, **out)


# ---- calls


@ALL
def test_a_plan_gives_what_the_call_gives(name):
    plan, expected = planned(name)
    result = call(plan, name)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@ALL
def test_a_plan_takes_new_data(name):
    plan, _ = planned(name)
    operator, arguments, keywords = CALLS[name]
    for _ in range(3):
        np.testing.assert_array_equal(call(plan, name, new(X)), operator(new(arguments[0]), *arguments[1:], **keywords))


def test_a_plan_takes_new_indices():
    plan = gs.plan(gs.gather, X, 1, INDEX)
    np.testing.assert_array_equal(plan(X, 5 - INDEX), np.take_along_axis(X, 5 - INDEX, 1))


@ALL
def test_a_plan_writes_into_out(name):
    plan, expected = planned(name)
    out = np.full(expected.shape, -99.0)
    assert call(plan, name, out=out) is out
    np.testing.assert_array_equal(out, expected)


@ALL
def test_a_plan_does_not_touch_its_arguments(name):
    before = X.tobytes(), INDEX.tobytes(), ROWS.tobytes(), MASK.tobytes()
    plan, _ = planned(name)
    call(plan, name)
    assert before == (X.tobytes(), INDEX.tobytes(), ROWS.tobytes(), MASK.tobytes())


def test_index_values_are_checked_at_every_call():
    plan = gs.plan(gs.take, X, [0, 1], axis=0)
    for bad in (4, -5, 2**62):
        with pytest.raises(gs.OutOfBoundsError) as caught:
            plan(X, np.array([0, bad]))
        assert (caught.value.index, caught.value.position, caught.value.size) == (bad, (1,), 4)
    np.testing.assert_array_equal(plan(X, np.array([0, 3])), X[[0, 3]])


def test_planning_does_not_look_at_the_values():
    plan = gs.plan(gs.take, X, np.array([99, 100]), axis=0)
    np.testing.assert_array_equal(plan(X, np.array([2, 3])), X[[2, 3]])


def test_an_error_leaves_out_as_it_was():
    plan = gs.plan(gs.take, X, np.array([0, 1]), axis=0)
    out = np.full((2, 6), 5.0)
    with pytest.raises(gs.OutOfBoundsError):
        plan(X, np.array([0, 4]), out=out)
    assert (out == 5).all()


OTHERS = {
    "shape of the data": (np.zeros((5, 6)), ROWS),
    "rank of the data": (np.zeros((4, 6, 1)), ROWS),
    "strides of the data": (np.asfortranarray(X), ROWS),
    "dtype of the data": (X.astype(np.float32), ROWS),
    "kind of the data": (X.astype(np.int64), ROWS),
    "shape of the index": (X, ROWS[:1]),
    "rank of the index": (X, ROWS[0]),
    "strides of the index": (X, ROWS.T),
    "dtype of the index": (X, ROWS.astype(np.int32)),
    "sign of the index": (X, ROWS.astype(np.uint64)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_geometry_is_a_value_error(name):
    plan = gs.plan(gs.take, X, ROWS, axis=0)
    with pytest.raises(ValueError):
        plan(*OTHERS[name])
    with pytest.raises(ValueError):
        plan(X, ROWS, mask=MASK)
    np.testing.assert_array_equal(plan(X, ROWS), X[ROWS])


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((2, 2, 5)), ValueError),
        (np.zeros((2, 2, 6), np.float32), TypeError),
        (np.broadcast_to(0.0, (2, 2, 6)), ValueError),
        ([0], TypeError),
    ],
)
def test_out_that_does_not_fit(out, error):
    with pytest.raises(error):
        gs.plan(gs.take, X, ROWS, axis=0)(X, ROWS, out=out)


def test_what_is_wrong_with_a_call_is_wrong_with_its_plan():
    for error, operator, arguments, keywords in [
        (ValueError, gs.gather, (X, 1, np.zeros((5, 1), int)), {}),
        (np.exceptions.AxisError, gs.take, (X, ROWS), {"axis": 2}),
        (TypeError, gs.gather, (X, ROWS.astype(float)), {"axis": 0}),
        (TypeError, gs.take, (), {}),
    ]:
        with pytest.raises(error):
            gs.plan(operator, *arguments, **keywords)
        with pytest.raises(error):
            gs.explain(operator, *arguments, **keywords)


@pytest.mark.parametrize("operator", [len, np.take, None, "take", gs.plan, gs.show_config, lambda *_: None])
def test_what_is_no_operator(operator):
    with pytest.raises((TypeError, ValueError)):
        gs.plan(operator, X, ROWS)


def test_a_plan_for_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, index = torch.arange(12.0).reshape(3, 4), torch.tensor([[3], [0], [1]])
    plan = gs.plan(gs.gather, x, 1, index)
    result = plan(x * 2, index)
    assert type(result) is torch.Tensor and result.tolist() == [[6], [8], [18]]


# ---- the description of a plan


@ALL
def test_to_dict(name):
    plan, expected = planned(name)
    facts = plan.to_dict()
    assert json.loads(json.dumps(facts)).keys() == facts.keys()
    assert facts["op"] == CALLS[name][0].__name__
    assert facts["kind"] in ("copy", "elements", "axis", "rows", "strided")
    assert tuple(facts["result_shape"]) == expected.shape
    assert facts["bytes_moved"] == expected.nbytes
    assert facts["threads"] >= 1 and facts["kernel"] and facts["backend"] == gs.show_config()["backend"]


@ALL
def test_repr(name):
    plan, _ = planned(name)
    facts, text = plan.to_dict(), repr(plan)
    for fact in ("op", "kind", "kernel"):
        assert facts[fact] in text
    assert "object at 0x" not in text and str(plan) == text


@ALL
def test_html_is_escaped(name):
    plan, _ = planned(name)
    html = plan._repr_html_()
    assert CALLS[name][0].__name__ in html and html.count("<table") == html.count("</table>") == 2
    assert html.count("<td") == html.count("</td>")
    shown, _, folded = html.partition("<details>")
    facts = plan.to_dict()
    assert facts["kernel"] in shown and f"{facts['threads']}</td>" in shown and "planner" not in shown
    assert "planner" in folded and html.count("</details>") == 1


def test_html_has_bytes_in_large_units_and_the_reason_for_the_threads():
    html = gs.explain(gs.take, np.zeros((1 << 16, 64), np.float32), np.zeros(1 << 15, np.intp), axis=0)._repr_html_()
    assert "8 MiB in units of 256 B" in html and "<p>threads: " in html


def test_size_texts():
    sizes = {0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 5 << 20: "5 MiB", 3 << 30: "3 GiB"}
    assert {size: size_text(size) for size in sizes} == sizes


def test_html_escapes_what_a_dtype_says():
    x = np.zeros(4, [("<script>alert(1)</script>", "i4"), ("a&b", "i4")])
    assert "<script>" not in gs.plan(gs.take, x, [0])._repr_html_()


def test_kinds_are_those_of_the_geometry():
    x = np.zeros((100, 64), np.float32)
    rows, elements = np.zeros(50, int), np.zeros((100, 64), int)
    assert gs.explain(gs.take, x, rows, axis=0).to_dict()["kind"] == "rows"
    assert gs.explain(gs.gather, x, 1, elements).to_dict()["kind"] == "elements"
    assert gs.explain(gs.take, x.ravel(), rows).to_dict()["kind"] == "elements"
    assert gs.explain(gs.gather, x, 0, elements).to_dict()["kind"] == "axis"


# ---- plans as values


@ALL
def test_pickle(name):
    plan, expected = planned(name)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(plan, protocol))
        assert type(again) is type(plan) and again == plan and repr(again) == repr(plan)
        assert again.to_dict() == plan.to_dict()
        np.testing.assert_array_equal(call(again, name), expected)


def test_pickled_plans_are_small():
    x = np.zeros((1 << 20, 8))
    assert len(pickle.dumps(gs.plan(gs.take, x, np.arange(1 << 16), axis=0))) < 4096, "geometry, no data"


@ALL
def test_copies(name):
    plan, expected = planned(name)
    for again in (copy.copy(plan), copy.deepcopy(plan)):
        assert again == plan
        np.testing.assert_array_equal(call(again, name), expected)


@ALL
def test_equality(name):
    plan, _ = planned(name)
    operator, arguments, keywords = CALLS[name]
    assert plan == gs.plan(operator, new(arguments[0]), *arguments[1:], **keywords)
    assert ne(plan, gs.plan(operator, *arguments, **keywords)) is False
    assert plan != gs.plan(operator, arguments[0].astype(np.float32), *arguments[1:], **keywords)
    assert plan != name and plan is not None and plan != 3


def test_plans_of_different_calls_differ():
    plans = [planned(name)[0] for name in CALLS if name not in ("gather dim keyword",)]
    for i, plan in enumerate(plans):
        assert [j for j, other in enumerate(plans) if other == plan] == [i]


# ---- explain


@ALL
def test_explain_is_the_plan(name):
    operator, arguments, keywords = CALLS[name]
    explained = gs.explain(operator, *arguments, **keywords)
    assert explained == gs.plan(operator, *arguments, **keywords)
    assert explained.to_dict() == gs.plan(operator, *arguments, **keywords).to_dict()


def test_explain_does_not_run():
    out = np.full((2, 2, 6), 5.0)
    gs.explain(gs.take, X, np.array([[99, 0], [0, 0]]), axis=0, out=out)
    assert (out == 5).all()


def test_explain_of_a_result_beyond_memory():
    facts = gs.explain(gs.take, X, np.broadcast_to(np.int64(0), (1 << 50,))).to_dict()
    assert facts["bytes_moved"] == 1 << 53


def test_a_call_inside_of_planning_is_a_call():
    class Calls:
        """An index that calls an operator while it is exported."""

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            self.seen = gs.take(X, ROWS, axis=0)
            return ROWS.__dlpack__(**keywords)

    index = Calls()
    plan = gs.plan(gs.take, X, index, axis=0)
    np.testing.assert_array_equal(index.seen, X[ROWS])
    np.testing.assert_array_equal(plan(X, ROWS), X[ROWS])


def test_errors_in_planning_leave_the_mode():
    with pytest.raises(ValueError):
        gs.plan(gs.gather, X, 1, np.zeros((9, 9), int))
    np.testing.assert_array_equal(gs.take(X, ROWS, axis=0), X[ROWS])


# ---- the type of a plan


def test_plans_of_other_geometry_differ_even_where_the_moves_agree():
    index = np.array([0, 2])
    short, long = (gs.plan(gs.take, np.zeros((rows, 5)), index, axis=0) for rows in (3, 4))
    assert short != long
    assert short == gs.plan(gs.take, np.zeros((3, 5)), index, axis=0)
    assert hash(short) == hash(gs.plan(gs.take, np.zeros((3, 5)), index, axis=0))
    assert short != gs.plan(gs.take, np.zeros((3, 5)), index, axis=0, out=np.zeros((2, 5)))
    assert short != gs.plan(gs.take, np.zeros((3, 5)), index, axis=0, mode="clip")
    assert short != gs.plan(gs.take, np.zeros((3, 5)), index.astype(np.int32), axis=0)


@pytest.mark.parametrize(
    ("a", "indices", "axis"),
    [
        (np.arange(3), np.array([True, False]), None),
        (np.array(5), np.array([0]), 0),
        ([3, 4, 5], [0, 2], None),
        (np.arange(3), np.array([0], dtype=">i8"), None),
        (np.arange(3), [], None),
    ],
    ids=["bool indices", "0-d array", "lists", "byte-swapped indices", "empty list"],
)
def test_forms_that_only_numpy_knows_can_be_planned(a, indices, axis):
    plan = gs.plan(gs.take, a, indices, axis)
    assert plan.to_dict()["op"] == "take"
    np.testing.assert_array_equal(gs.take(a, indices, axis), np.take(a, indices, axis))


def corrupted(state, place, value):
    """A copy of the state with another value at a path of names."""
    name, *rest = place
    if not rest:
        return {**state, name: value}
    if name == "indices":
        return {**state, name: [corrupted(state[name][0], rest, value)]}
    return {**state, name: corrupted(state[name], rest, value)}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("version",), 1),
        (("device",), -2),
        (("device",), "cpu"),
        (("version",), "1"),
        (("planner",), "take"),
        (("planner",), 0),
        (("match",), "any"),
        (("bounds",), "maybe"),
        (("negative",), None),
        (("direction",), "both"),
        (("indices",), []),
        (("indices",), None),
        (("fill_value",), np.zeros(1, np.int8)),
        (("indices", "index_type"), "int128"),
        (("indices", "index_type"), 3),
        (("input", "itemsize"), 1 << 20),
        (("input", "itemsize"), 0),
        (("input", "shape"), (-5, 3)),
        (("input", "strides"), (8,)),
        (("indices", "itemsize"), 1),
        (("input",), 5),
        (("input",), (3,)),
        (("input",), None),
        (("input", "shape"), 5),
        (("input", "strides"), (8.5,)),
        (("op",), "\ud800"),
        (("op",), 7),
        (("mask",), 255),
        (("coordinates",), True),
        (("coordinates",), 0),
        (("tile",), 7),
        (("tile",), (2, 2)),
    ],
)
def test_a_corrupt_state_is_refused(place, value):
    plan = gs.plan(gs.take, X, ROWS, axis=0)._core
    restore, (state,) = plan.__reduce__()
    assert restore(state) == plan
    with pytest.raises((ValueError, TypeError)):
        restore(corrupted(state, place, value))


def test_each_name_of_a_state_is_needed():
    plan = gs.plan(gs.take, X, ROWS, axis=0)._core
    restore, (state,) = plan.__reduce__()
    for name in state:
        with pytest.raises(ValueError, match=name):
            restore({other: value for other, value in state.items() if other != name})


@pytest.mark.parametrize("cls", [_core.Plan, _core.DLPackArray])
def test_objects_without_a_value_cannot_be_made(cls):
    for make in (cls, lambda: cls.__new__(cls), lambda: object.__new__(cls)):
        with pytest.raises(TypeError):
            make()
