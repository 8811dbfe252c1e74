"""test_nested_lists.py: lists that hold arrays and columns: refused where NumPy would lose a mask or a null."""

import numpy as np
import pytest

import gatherscatter as gs

X = np.arange(12.0).reshape(4, 3)
MASKED = np.ma.array([1, 2], mask=[False, True])

CALLS = {
    "gather input": lambda items: gs.gather(items, [0], axis=0),
    "gather_nd input": lambda items: gs.gather_nd(items, [[0]]),
    "scatter input": lambda items: gs.scatter(items, [0], 1),
    "scatter_nd input": lambda items: gs.scatter_nd(items, [[0]], 1),
    "gather index": lambda items: gs.gather(X, items, axis=0),
    "gather elements": lambda items: gs.gather(X, 0, items),
    "gather_nd indices": lambda items: gs.gather_nd(X, items),
    "scatter index": lambda items: gs.scatter(X, items, 1.0),
    "gather mask": lambda items: gs.gather(X, [[0, 1]], axis=0, mask=items),
    "tile_gather index": lambda items: gs.tile_gather(X, (items, 0)),
    "plan": lambda items: gs.plan(gs.gather, X, items, axis=0),
    "call of a plan": lambda items: gs.plan(gs.gather, X, [[0, 1]], axis=0)(X, items),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "wrap", [lambda x: [x], lambda x: [[0, 1], x], lambda x: [(x,)]], ids=["one", "second", "deep"]
)
@pytest.mark.parametrize("item", [MASKED, np.ma.array([1, 2]), np.ma.masked], ids=["masked", "no mask", "constant"])
def test_a_mask_is_never_dropped(call, wrap, item):
    with pytest.raises(TypeError, match="mask would be lost"):
        call(wrap(item))


def test_masked_items_are_no_values_of_a_scatter():
    zeros = np.zeros((1, 2), int)
    for values in ([MASKED], [[np.ma.masked, 1]], [[0, np.ma.masked]]):
        with pytest.raises(ValueError, match="masked does not fit"):
            gs.scatter(zeros, [0], values)
    assert gs.scatter(zeros, [0], [np.ma.array([1, 2])]).tolist() == [[1, 2]]


def test_operators_of_numpy_drop_masks_as_numpy_does():
    np.testing.assert_array_equal(gs.take(X, [MASKED], axis=0), np.take(X, [MASKED], axis=0))


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_null_is_never_read_as_a_number(call, library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    column = {
        "polars": lambda values: module.Series(values),
        "pandas": lambda values: module.Series(values, dtype="Int64"),
        "pyarrow": lambda values: module.array(values),
    }[library]
    for items in ([column([1, None])], [[0, 1], column([None, 1])]):
        with pytest.raises(ValueError, match="null"):
            call(items)
    if call is not CALLS["gather mask"]:  # the mask of integers is refused for its dtype
        call([column([1, 0])])
    frame = {"polars": "DataFrame", "pandas": "DataFrame", "pyarrow": "table"}[library]
    with pytest.raises(TypeError):
        call([getattr(module, frame)({"a": [1, 0]})])


def test_items_without_nulls_are_the_array_that_numpy_makes_of_them():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    rows = [pl.Series([1, 2]), np.array([3, 4]), [5, 6], (7, 8)]
    np.testing.assert_array_equal(gs.gather(rows, [3, 0], axis=0), [[7, 8], [1, 2]], strict=True)
    np.testing.assert_array_equal(gs.gather(X, [pl.Series([0, 1]), [2, 3]], axis=0), X[[[0, 1], [2, 3]]], strict=True)


RAGGED = {
    "gather": lambda items: gs.gather(X, items, axis=0),
    "gather elements": lambda items: gs.gather(X, 0, items),
    "gather_nd": lambda items: gs.gather_nd(X, items),
    "scatter": lambda items: gs.scatter(X, items, 1.0),
    "scatter_nd": lambda items: gs.scatter_nd(X, items, 1.0),
    "mask": lambda items: gs.gather(X, [0, 1], axis=0, mask=items),
    "tile_gather": lambda items: gs.tile_gather(X, (items, 0)),
    "plan": lambda items: gs.plan(gs.gather_nd, X, [[0, 0]])(X, items),
}


@pytest.mark.parametrize("call", RAGGED.values(), ids=RAGGED)
@pytest.mark.parametrize("items", [[[0, 1], [0]], [[0, 1], 0], [[[0, 1]], [[0]]], ([0, 1], [0])], ids=str)
def test_a_ragged_list_is_named(call, items):
    with pytest.raises(ValueError, match=r"^\w+: (index|mask) is a ragged (list|tuple): .* of one length"):
        call(items)


def test_a_list_that_contains_itself_is_refused():
    items = [0]
    items += [items, items]
    for call in (CALLS["gather input"], CALLS["gather index"]):
        with pytest.raises((TypeError, ValueError)):
            call(items)
