"""test_wide_indices.py: lists of ints that no integer dtype can hold are indices with their full values."""

import pickle
import random

import numpy as np
import pytest

import gatherscatter as gs
import reference
import reference_write
from fake_cuda import LIBRARIES, host_of, played_gpu
from gatherscatter.errors import TileTypeError

FAR = [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, -(10**30), 2**63 - 1, -(2**63)]
READING = ["raise", "deferred", "fill", "clip", "wrap"]
WRITING = ["raise", "deferred", "drop", "clip", "wrap"]
NEGATIVE = ["from_end", "out_of_bounds"]


def exact(indices):
    return np.array(indices, object)


def numbers(rng, n, shape):
    """Nested lists of good, bad and far indices; at least one makes NumPy's conversion to an integer dtype fail."""

    def one():
        return rng.choice([rng.randrange(-n - 1, n + 2), rng.randrange(n), rng.choice(FAR), rng.choice(FAR) + n])

    flat = [one() for _ in range(int(np.prod(shape)))]
    flat[rng.randrange(len(flat))] = rng.choice([2**64, -(2**63) - 1, 10**40])
    return np.array(flat, object).reshape(shape).tolist()


def check(call, answer, out=None):
    before = None if out is None else out.copy()
    if answer.bad is None:
        result = call()
        np.testing.assert_array_equal(result, answer.result)
        return
    with pytest.raises(gs.OutOfBoundsError) as caught:
        call()
    e = caught.value
    assert (e.index, e.position, e.axis, e.size, e.count) == tuple(answer.bad)
    assert type(e.index) is int and str(e).startswith(f"index {answer.bad.index} is out of bounds")
    assert pickle.loads(pickle.dumps(e)) == e
    if out is not None:
        np.testing.assert_array_equal(out, before)


X = np.arange(60.0).reshape(3, 4, 5)


def bools(rng, shape):
    return np.array([rng.random() < 0.7 for _ in range(int(np.prod(shape)))]).reshape(shape)


def gather_round(rng, mask, rule):
    index, rule["mask"] = numbers(rng, 4, (2, 3, 4)), mask((2, 3, 4))
    want = reference.gather_dim(X, 1, exact(index), **rule)
    check(lambda: gs.gather(X, 1, index, **rule), want)
    plan = gs.plan(gs.gather, X, 1, index, **rule)
    check(lambda: plan(X, index, mask=rule["mask"]), want)


def gather_axis_round(rng, mask, rule):
    index, rule["mask"] = numbers(rng, 4, (3, 2)), mask((3, 2))
    check(lambda: gs.gather(X, index, 1, 1, **rule), reference.gather_axis(X, exact(index), 1, 1, **rule))


def gather_nd_round(rng, mask, rule):
    index, rule["mask"] = numbers(rng, 4, (3, 2, 2)), mask((3, 2))
    want = reference.gather_nd(X, exact(index), 1, **rule)
    check(lambda: gs.gather_nd(X, index, 1, **rule), want)
    check(lambda: gs.gather_nd(X, tuple(map(tuple, index)), 1, **rule), want)
    plan = gs.plan(gs.gather_nd, X, index, 1, **rule)
    check(lambda: plan(X, index, mask=rule["mask"]), want)


def scatter_round(rng, mask, rule):
    index, rule["mask"] = numbers(rng, 4, (2, 3, 4)), mask((2, 3, 4))
    src = np.arange(100.0, 124.0).reshape(2, 3, 4)
    want = reference_write.scatter(X, 1, exact(index), src, **rule)
    check(lambda: gs.scatter(X, 1, index, src, **rule), want)
    out = X.copy()
    check(lambda: gs.scatter(out, 1, index, src, out=out, **rule), want, out if want.bad else None)
    added = reference_write.scatter(X, 1, exact(index), src, reduce="add", **rule)
    check(lambda: gs.scatter(X, 1, index, src, reduce="add", **rule), added)
    plan = gs.plan(gs.scatter, X, 1, index, src, **rule)
    check(lambda: plan(X, index, src, mask=rule["mask"]), want)


def scatter_nd_round(rng, mask, rule):
    index, rule["mask"] = numbers(rng, 4, (3, 2, 2)), mask((3, 2))
    src = np.arange(100.0, 106.0).reshape(3, 2)
    want = reference_write.scatter_nd(X, exact(index), src, 1, **rule)
    check(lambda: gs.scatter_nd(X, index, src, 1, **rule), want)


ROUNDS = {
    "gather": (gather_round, READING),
    "gather axis": (gather_axis_round, READING),
    "gather_nd": (gather_nd_round, READING),
    "scatter": (scatter_round, WRITING),
    "scatter_nd": (scatter_nd_round, WRITING),
}


@pytest.mark.parametrize("negative", NEGATIVE)
@pytest.mark.parametrize("operator", ROUNDS)
@pytest.mark.parametrize("masked", [False, True])
def test_every_operator_against_the_loops(operator, negative, masked):
    rng = random.Random(f"{operator} {negative} {masked}")
    play, bounds_words = ROUNDS[operator]
    for bounds in bounds_words * 6:
        play(rng, lambda shape: bools(rng, shape) if masked else None, {"bounds": bounds, "negative": negative})


def tile_round(rng, masked, check_bounds):
    x = np.arange(12.0).reshape(3, 4)
    rows, columns = numbers(rng, 3, (2, 1)), numbers(rng, 4, (3,))
    indices = rng.choice([(rows, columns), (rows, 1), (1, columns), (2**64, columns), (np.array([0, 1]), 2**70)])
    objects = tuple(map(exact, indices))
    shape = np.broadcast_shapes(*(index.shape for index in objects))
    given = {"mask": bools(rng, shape) if masked else None, "check_bounds": check_bounds}
    check(lambda: gs.tile_gather(x, indices, **given), reference.tile_gather(x, objects, **given))
    want = reference_write.tile_scatter(x, objects, np.array(-1.0), **given)
    out = x.copy()

    def write():
        gs.tile_scatter(out, indices, -1.0, **given)
        return out

    check(write, want, out if want.bad else None)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("check_bounds", [False, True])
def test_tiles_against_the_loops(masked, check_bounds):
    rng = random.Random(f"{masked} {check_bounds}")
    for _ in range(30):
        tile_round(rng, masked, check_bounds)


@pytest.mark.parametrize(
    ("index", "at"),
    [
        ([2**63, 1], (0,)),
        ([1, 2**64], (1,)),
        ((1, -(2**63) - 1), (1,)),
        ([np.uint64(2**63 + 5), -1], (0,)),
        ([np.int8(1), np.uint64(2**64 - 1)], (1,)),
        (range(2**64, 2**64 + 2), (0,)),
        ([0, 10**5000], (1,)),
    ],
    ids=["uint64 and int64", "above", "below", "numpy and python", "numpy", "range", "thousands of digits"],
)
def test_the_error_names_the_number_as_it_was_written(index, at):
    for call in (
        lambda: gs.gather(np.arange(3), 0, index),
        lambda: gs.gather(np.arange(3), index, axis=0),
        lambda: gs.scatter(np.arange(3), 0, index, 7),
        lambda: gs.plan(gs.gather, np.arange(3), 0, [0, 1])(np.arange(3), index),
        lambda: gs.plan(gs.take, np.arange(3), [0, 1]).scatter(np.arange(3), index, 7),
        lambda: gs.tile_gather(np.arange(3), (list(index),), check_bounds=False),
    ):
        with pytest.raises(gs.OutOfBoundsError) as error:
            call()
        e = error.value
        assert (e.index, e.position, e.axis, e.size) == (int(index[at[0]]), at, 0, 3)
        assert len(str(e)) < 300


def test_a_single_number():
    x = np.arange(6).reshape(2, 3)
    for far in (2**64, -(2**63) - 1):
        with pytest.raises(gs.OutOfBoundsError) as error:
            gs.gather(x, indices=far, axis=1)
        assert (error.value.index, error.value.position, error.value.axis) == (far, (), 1)
        assert gs.gather(x, indices=far, axis=1, bounds="wrap").tolist() == x[:, far % 3].tolist()
        with pytest.raises(gs.OutOfBoundsError) as error:
            gs.gather(np.array(7), 0, far)
        assert (error.value.index, error.value.size) == (far, 1)


def test_the_lowest_position_may_be_an_ordinary_one():
    with pytest.raises(gs.OutOfBoundsError) as error:
        gs.gather(np.arange(3), 0, [0, 5, 2**64, -4, 1])
    assert (error.value.index, error.value.position, error.value.count, error.value.total) == (5, (1,), 3, 5)


def test_lists_whose_numbers_all_fit_are_ordinary():
    assert gs.gather(np.arange(3), 0, [np.uint64(2), -1], bounds="unchecked").tolist() == [2, 2]
    assert gs.tile_gather(np.arange(3), [np.uint64(2), 0]).tolist() == [2, 0]
    assert gs.tile_gather(np.arange(3), [np.uint64(2), -1], padding_value=9).tolist() == [2, 9]


def test_an_empty_axis_has_no_position():
    for bounds in ("raise", "clip", "wrap"):
        with pytest.raises(gs.OutOfBoundsError) as error:
            gs.gather(np.zeros(0), 0, [2**64, 0], bounds=bounds)
        assert (error.value.index, error.value.size, error.value.count) == (2**64, 0, 2)
    assert gs.gather(np.zeros(0), 0, [2**64, 0], bounds="fill", fill_value=5).tolist() == [5, 5]


def test_unchecked_rejects_them():
    x = np.arange(3)
    for call in (
        lambda index: gs.gather(x, 0, index, bounds="unchecked"),
        lambda index: gs.gather_nd(x, [[i] for i in index], bounds="unchecked"),
        lambda index: gs.scatter(x, 0, index, 1, bounds="unchecked"),
        lambda index: gs.plan(gs.gather, x, 0, [0, 1], bounds="unchecked")(x, index),
    ):
        with pytest.raises(TypeError, match="beyond 64 bits"):
            call([1, 2**64])


def test_plans_look_at_no_value():
    x = np.arange(3)
    facts = gs.explain(gs.gather, x, 0, [1, 2**64]).to_dict()
    assert facts["indices"] == ["int64 (2,)"] and facts["bounds"] == "raise"
    assert gs.plan(gs.gather, x, 0, [1, 2**64]) == gs.plan(gs.gather, x, 0, [1, 2])
    wrapping = gs.plan(gs.gather, x, 0, [1, 2], bounds="wrap")
    assert wrapping(x, [2**64, 5]).tolist() == [2**64 % 3, 2]
    assert wrapping(x, [4, 5]).tolist() == [1, 2]
    deferred = gs.plan(gs.gather, x, 0, [1, 2], bounds="deferred")
    with pytest.raises(gs.OutOfBoundsError, match=f"index {2**64} "):
        deferred(x, [2**64, 5])


@pytest.mark.parametrize(
    "index",
    [[1.0, 2**64], [True, 2**64], [None, 2**64], ["1", 2**64], [np.timedelta64(1, "s"), 2**64], [0.5]],
    ids=repr,
)
def test_other_lists_are_no_integers(index):
    x = np.arange(3)
    for call in (lambda: gs.gather(x, 0, index), lambda: gs.gather_nd(x, [[i] for i in index])):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TileTypeError):
        gs.tile_gather(x, index)


def test_arrays_of_objects_are_no_integers():
    for values in ([2**64, 1], [0, 1]):
        with pytest.raises(TypeError, match="index has dtype object"):
            gs.gather(np.arange(3), 0, np.array(values, object))


@pytest.mark.parametrize("index", [[2**63, 1], [2**64], [-(2**63) - 1], 2**64])
def test_the_faces_of_numpy_keep_numpys_error(index):
    a = np.arange(3)
    nested = np.array(index, object).reshape(-1).tolist()
    for ours, numpys in (
        (lambda: gs.take(a, index), lambda: np.take(a, index)),
        (lambda: gs.put(a, index, 1), lambda: np.put(a, index, 1)),
    ):
        with pytest.raises((TypeError, OverflowError)) as theirs:
            numpys()
        with pytest.raises(type(theirs.value)):
            ours()
    with pytest.raises(IndexError):
        gs.take_along_axis(a, nested, 0)
    with pytest.raises(IndexError):
        gs.put_along_axis(a, nested, 1, 0)


def test_other_libraries():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.arange(3)
    assert gs.gather(x, 0, [2**64, 1], bounds="wrap").tolist() == [2**64 % 3, 1]
    with pytest.raises(gs.OutOfBoundsError, match=f"index {2**64} "):
        gs.scatter(x, 0, [2**64, 1], 5)
    for call in (lambda: gs.take(x, [2**64, 1]), lambda: gs.put(x, [2**64, 1], 1)):
        with pytest.raises((TypeError, OverflowError)):
            call()


@pytest.mark.parametrize("bounds", ["raise", "deferred", "fill", "clip", "wrap"])
def test_arrays_of_the_emulated_gpu(bounds):
    index = [[2**64 + 1, 1, -(2**70)], [0, 10**30, 2]]
    want = reference.gather_dim(X[0], 0, exact(index), bounds=bounds)
    points = [[2**64, 1], [1, -(2**64)]]
    wrapped = [[2**64 % 4, 1], [1, -(2**64) % 5]]
    with played_gpu():
        data = LIBRARIES["namespace"](X[0].copy())
        check(lambda: host_of(gs.gather(data, 0, index, bounds=bounds)), want)
        plan = gs.plan(gs.gather, data, 0, index, bounds=bounds)
        check(lambda: host_of(plan(data, index)), want)
        gs.cuda.synchronize()  # no deferred error is left
        if bounds == "wrap":
            result = gs.scatter_nd(data, points, [7.0, 8.0], bounds=bounds)
            np.testing.assert_array_equal(host_of(result), gs.scatter_nd(X[0], wrapped, [7.0, 8.0]))
        elif bounds in ("raise", "deferred"):
            with pytest.raises(gs.OutOfBoundsError) as error:
                gs.scatter_nd(data, points, [7.0, 8.0], bounds=bounds)
            e = error.value
            assert (e.index, e.position, e.axis, e.size, e.count) == (2**64, (0,), 0, 4, 2)


@pytest.mark.parametrize("bounds", READING)
@pytest.mark.parametrize("far", FAR, ids=str)
def test_a_plan_of_int64_takes_lists_of_any_integers(bounds, far):
    x = np.arange(5.0)
    for made in (np.zeros(2, np.int64), [0, 0], [2**63, 0]):
        plan = gs.plan(gs.gather, x, 0, made, bounds=bounds)
        assert plan.to_dict()["indices"] == ["int64 (2,)"]
        for index in ([far, 1], [1, far], [1, 2]):
            check(
                lambda plan=plan, index=index: plan(x, index), reference.gather_dim(x, 0, exact(index), bounds=bounds)
            )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_a_list_takes_the_planned_dtype(dtype):
    x = np.arange(5)
    plan = gs.plan(gs.gather, x, 0, np.zeros(2, dtype))
    assert plan(x, [4, 1]).tolist() == [4, 1]
    assert plan.scatter(x, [4, 1], 9).tolist() == [0, 9, 2, 3, 9]
    for far in (300, 2**40, 2**63, 2**64):
        with pytest.raises(gs.OutOfBoundsError, match=f"index {far} "):
            plan(x, [1, far])
        with pytest.raises(gs.OutOfBoundsError, match=f"index {far} "):
            plan.scatter(x, [1, far], 9)
    with pytest.raises(ValueError, match="the plan was made for index"):
        plan(x, [1, 2, 3])
    with pytest.raises(ValueError, match="the plan was made for index"):
        plan(x, np.array([1, 2], "int16"))


def test_plans_of_scatters_and_tiles_take_lists_too():
    x = np.arange(5)
    plan = gs.plan(gs.scatter, x, 0, np.zeros(2, np.int64), 7, bounds="drop")
    assert plan(x, [2**63, 1], 7).tolist() == [0, 7, 2, 3, 4]
    tile = gs.plan(gs.tile_gather, x, (np.zeros(2, np.int32),))
    assert tile(x, ([2**63, 1],)).tolist() == [0, 1]
