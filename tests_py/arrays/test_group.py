"""test_group.py: groups of points are those of naive loops, for ids of every type, layout, rule and library."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gatherscatter as gs
import reference_group
from layouts import INDEX_TYPES, LAYOUTS, lay_out, torch
from optional import optional
from parallel_calls import together

pandas = optional("pandas")
polars = optional("polars")

BOUNDS = ["raise", "drop", "clip", "wrap", "unchecked"]
NAMES = ("order", "offsets", "counts", "inverse", "ids")


def check(ids, num_groups=None, bounds="raise", negative="from_end", mask=None, given=None):
    """Compare a call with the loop; `given` is the argument that has the values of `ids`."""
    expected = reference_group.group(ids, num_groups, bounds, negative, mask)
    call = dict(bounds=bounds, negative=negative, mask=mask)
    given = ids if given is None else given
    if not isinstance(expected, reference_group.Grouped):
        with pytest.raises(gs.OutOfBoundsError) as caught:
            gs.group(given, num_groups, **call)
        assert caught.value.position == expected
        assert caught.value.op == "group"
        return
    found = gs.group(given, num_groups, **call)
    for name in NAMES:
        array = getattr(found, name)
        assert type(array) is np.ndarray
        assert array.dtype == np.int64
        np.testing.assert_array_equal(array, getattr(expected, name), strict=True, err_msg=name)
    assert found.num_groups == expected.num_groups


@pytest.mark.parametrize("kind", INDEX_TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_types_and_layouts(kind, layout):
    rng = np.random.default_rng(1)
    for shape in [(), (0,), (7,), (40, 5), (3, 0), (2, 3, 4)]:
        ids = rng.integers(0, 9, shape)
        if layout == "broadcast" and ids.ndim and len(ids):
            ids[:] = ids[:1]
        given = ids.tolist() if kind == "list" else lay_out(ids.astype(kind), layout)
        check(ids, 9, given=given)
        check(ids, given=given)
        check(ids, 9, mask=rng.integers(0, 2, shape, dtype=bool), given=given)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("negative", ["from_end", "out_of_bounds"])
@pytest.mark.parametrize("groups", [0, 1, 5, 4096, 4097, 70000])
def test_rules(bounds, negative, groups):
    rng = np.random.default_rng(2)
    for n in (0, 1, 5, 1023, 1024, 1025, 9000):
        inside = rng.integers(-groups if negative == "from_end" else 0, groups, n) if groups else np.zeros(0, int)
        check(inside, groups, bounds, negative)
        if bounds == "unchecked":
            continue
        check(rng.integers(-2 * groups - 2, 2 * groups + 2, n), groups, bounds, negative)
        check(rng.integers(-groups - 1, groups + 1, n), groups, bounds, negative, rng.random(n) < 0.9)


@pytest.mark.parametrize("threads", [1, 2, 5, 16])
def test_threads_and_sizes(threads):
    rng = np.random.default_rng(3)
    with gs.thread_limit(threads):
        for n in (16383, 16384, 16385, 200_000):
            for groups in (1, 300, 4096, 5000, 100_000):
                ids = rng.integers(0, groups, n)
                check_fast(ids, groups)
                check_fast(np.sort(ids), groups)
                check_fast(np.minimum(rng.zipf(1.3, n), groups) - 1, groups)


def check_fast(ids, groups):
    """Compare a large call with NumPy's stable sort."""
    found = gs.group(ids, groups)
    order = np.argsort(ids, kind="stable")
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.counts, np.bincount(ids, minlength=groups))
    np.testing.assert_array_equal(found.offsets, np.searchsorted(ids[order], np.arange(groups + 1)))
    np.testing.assert_array_equal(found.ids, ids[order])
    np.testing.assert_array_equal(found.inverse[order], np.arange(len(ids)))


@given(st.data())
def test_random_calls(data):
    shape = data.draw(st.lists(st.integers(0, 6), max_size=3).map(tuple))
    groups = data.draw(st.none() | st.integers(0, 12))
    kind = data.draw(st.sampled_from([kind for kind in INDEX_TYPES if kind != "list"]))
    lowest = 0 if kind in ("uint8", "uint16", "uint32", "uint64", ">u8") else -14
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    ids = rng.integers(lowest, 14, shape)
    mask = rng.random(shape) < 0.6 if data.draw(st.booleans()) else None
    bounds = data.draw(st.sampled_from([word for word in BOUNDS if word != "unchecked"]))
    negative = data.draw(st.sampled_from(["from_end", "out_of_bounds"]))
    layout = data.draw(st.sampled_from([layout for layout in LAYOUTS if layout != "broadcast"]))
    check(ids, groups, bounds, negative, mask, lay_out(ids.astype(kind), layout))


def test_mask_leaves_out_before_anything_is_checked():
    ids = np.array([5, 2**62, -(2**63), 1])
    found = gs.group(ids, mask=[True, False, False, True])
    assert found.num_groups == 6
    assert found.inverse.tolist() == [1, -1, -1, 0]
    assert gs.group(ids.reshape(2, 2), 6, mask=np.array([True, False]), bounds="drop").order.tolist() == [0]
    assert gs.group(ids, mask=np.zeros(4, bool)).num_groups == 0


def test_ids_beyond_int64():
    assert gs.group([2**70, 1, 2**63 + 1], 4, bounds="wrap").ids.tolist() == [0, 1, 1]
    assert gs.group(np.array([2**64 - 1, 1], np.uint64), 4, bounds="wrap").order.tolist() == [1, 0]
    assert gs.group([2**70, 1], 4, bounds="drop").inverse.tolist() == [-1, 0]
    with pytest.raises(gs.OutOfBoundsError) as caught:
        gs.group([1, 2**70], 4)
    assert caught.value.index == 2**70
    for ids in (np.array([2**64 - 1], np.uint64), np.array([2**63 - 1])):
        with pytest.raises(ValueError, match="group: the largest id has no group"):
            gs.group(ids)
    with pytest.raises(ValueError, match="group: ids beyond int64 need num_groups"):
        gs.group([2**70])
    with pytest.raises(MemoryError):
        gs.group([10**14])


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (dict(ids=[0.5]), TypeError, "group: index has dtype float64, expected an integer dtype"),
        (dict(ids=None), TypeError, "group: index is None"),
        (dict(ids=[True]), TypeError, "group: index has dtype bool"),
        (dict(ids=[1], num_groups=-1), ValueError, "group: num_groups is -1, expected at least 0"),
        (dict(ids=[1], num_groups=True), TypeError, "group: num_groups is True, expected an integer"),
        (dict(ids=[1], num_groups="clip"), TypeError, "group: num_groups is 'clip', expected an integer"),
        (dict(ids=[1], num_groups=2**62), ValueError, "would not fit into any memory"),
        (dict(ids=[1], num_groups=2**50), MemoryError, "group: not enough memory"),
        (dict(ids=[1], bounds="fill"), ValueError, "group: bounds is 'fill', expected one of 'raise', 'drop'"),
        (dict(ids=[1], bounds=np.array(["drop", "clip"])), ValueError, "group: bounds is"),
        (dict(ids=[1], negative="no"), ValueError, "group: negative"),
        (dict(ids=[1], mask=[1]), TypeError, "group: mask has dtype int64, expected bool"),
        (dict(ids=[1], mask=[True, False]), ValueError, "group: "),
    ],
    ids=lambda value: str(value)[:40],
)
def test_errors(arguments, kind, text):
    with pytest.raises(kind) as caught:
        gs.group(**arguments)
    assert text in str(caught.value)


def test_the_object():
    found = gs.group(np.array([[2, 0], [2, 3]]), 5)
    order, offsets, counts, inverse, ids, num_groups = found
    assert (len(found), found[0] is order, found[-1], found[1:3]) == (6, True, 5, (offsets, counts))
    assert inverse.shape == (2, 2)
    assert found.ids is ids  # NumPy's are kept
    assert num_groups == 5
    assert repr(found) == "Group(points=4, groups=5, in_order=False)"
    assert repr(gs.group([0, 7], 2, bounds="drop")) == "Group(points=2, groups=2, left_out=1, in_order=True)"
    html = found._repr_html_()
    assert all(word in html for word in ("Group", "points of a group", "0 to 2"))
    assert "0 to 0" in gs.group([], 0)._repr_html_()
    for twin in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        assert [np.asarray(each).tolist() for each in twin] == [np.asarray(each).tolist() for each in found]
        assert repr(twin) == repr(found)
    with pytest.raises(AttributeError):
        found.num_groups = 3
    with pytest.raises(IndexError):
        found[6]


def test_order_of_sorted_ids_is_made_when_asked_for():
    found = gs.group(np.repeat(np.arange(50), 400))
    assert found.counts.tolist() == [400] * 50
    assert found.inverse.tolist() == list(range(20_000))
    assert "order" not in found._host
    np.testing.assert_array_equal(found.order, np.arange(20_000))
    assert repr(found) == repr(pickle.loads(pickle.dumps(found))) == "Group(points=20000, groups=50, in_order=True)"


def test_tensors():
    if torch is None:
        pytest.skip("torch is missing")
    ids = torch.tensor([[3, 1], [1, -1]], dtype=torch.int32).T
    found = gs.group(ids, 4, mask=torch.tensor([True, True]))
    expected = reference_group.group(ids.numpy(), 4)
    for twin in (found, pickle.loads(pickle.dumps(found))):
        for name in NAMES:
            array = getattr(twin, name)
            assert isinstance(array, torch.Tensor)
            assert array.dtype == torch.int64
            np.testing.assert_array_equal(array.numpy(), getattr(expected, name))
    with pytest.raises(TypeError, match=r"group: ids is a tensor of a graph or transform"):
        torch.func.vmap(lambda part: gs.group(part, 4).order)(ids)


def test_arrays_that_a_transform_made_stay_in_it():
    if torch is None:
        pytest.skip("torch is missing")
    found = gs.group(torch.tensor([2, 0, 2, 3]))
    with torch.inference_mode():
        assert found.order.is_inference()
    weight = torch.ones(4, 2, requires_grad=True)
    weight[found.order].sum().backward()
    with torch._subclasses.FakeTensorMode():
        _ = found.counts
    assert torch.arange(4)[found.counts].tolist() == [1, 0, 2, 1]


def test_arrays_that_a_transform_of_jax_made_stay_in_it():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    found = gs.group(jax.numpy.array([2, 0, 2, 3]))
    for dtype in (int, float):
        assert jax.jit(lambda x: x[found.order])(jax.numpy.arange(4).astype(dtype)).tolist() == [1, 0, 2, 3]
    assert (found.order + 1).tolist() == [2, 1, 3, 4]


def test_threads_get_one_array():
    for _ in range(50):
        found = gs.group(np.arange(3000))
        arrays = [None] * 4
        together(4, lambda number, found=found, arrays=arrays: arrays.__setitem__(number, found.order))
        assert all(array is found.order for array in arrays)


def test_columns():
    for library in (pandas, polars):
        if library is not None:
            assert gs.group(library.Series([2, 0, 2])).order.tolist() == [1, 0, 2]


def test_ids_that_change_meanwhile():
    """What is checked is what is used: the result is a permutation of the kept points, or an error."""
    ids = np.zeros(400_000, np.int64)
    stop = threading.Event()

    def change():
        rng = np.random.default_rng(4)
        while not stop.is_set():
            ids[rng.integers(0, len(ids), 1000)] = rng.integers(-(2**62), 2**62)
            ids[rng.integers(0, len(ids), 1000)] = rng.integers(0, 9000)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for groups in (9000, 100) * 10:
            found = gs.group(ids, groups, bounds="drop")
            assert len(np.unique(found.order)) == len(found.order) == found.offsets[-1]
            assert (np.diff(found.offsets) >= 0).all()
    finally:
        stop.set()
        thread.join()


def test_ctrl_c():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread alone")
    ids = np.random.default_rng(5).integers(0, 2**20, 8_000_000, dtype=np.int32)
    timer = threading.Timer(0.02, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            gs.group(ids, 2**20)
    timer.join()
